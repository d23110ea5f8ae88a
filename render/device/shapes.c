/* shapes.c - see shapes.h. */
#include "render/device/shapes.h"

#include <string.h>

const char *shape_format(const char *type, size_t len, int64_t *bytes)
{
    static const struct {
        const char *type, *format;
        int64_t bytes;
    } known[] = {{"float", "FP32", 4},
                 {"double", "FP64", 8},
                 {"c10::Half", "FP16", 2},
                 {"c10::BFloat16", "BF16", 2},
                 {"c10::Float8_e4m3fn", "FP8", 1},
                 {"c10::Float8_e5m2", "FP8", 1}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].type) == len && memcmp(known[i].type, type, len) == 0) {
            *bytes = known[i].bytes;
            return known[i].format;
        }
    *bytes = 0;
    return "";
}

/* ---- numbers that stay unknown once one of them was ------------------------------------------------------------ */

static int64_t times(int64_t a, int64_t b)
{
    int64_t out;
    return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &out) ? -1 : out;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t out;
    return a < 0 || b < 0 || __builtin_add_overflow(a, b, &out) ? -1 : out;
}

/* The product of the dimensions from..to-1. */
static int64_t elements(const struct shape_input *x, int from, int to)
{
    int64_t n = x->n_dims < 0 ? -1 : 1;
    for (int i = from; i < to && n >= 0; i++)
        n = times(n, x->dim[i]);
    return n;
}

static int64_t all(const struct shape_input *x)
{
    return elements(x, 0, x->n_dims);
}

/* ---- the operators ---------------------------------------------------------------------------------------------- */

/* Where its arguments are; -1 = it has none. */
struct counted {
    const char *name;
    int64_t (*flop)(const struct counted *c, const struct shapes *s, int64_t *result);
    int a, b; /* factors; of a convolution input and kernel; of attention queries and keys */
    int c;    /* what else is read: bias or addend, values of attention, the gradient of a convolution */
    int stride, padding, dilation; /* of a convolution */
    int transposed;
    int mask;   /* of attention; of a convolution's gradients, which ones are wanted */
    int causal; /* of attention */
};

/* result: elements that are written. returns  -1: the shapes do not fit each other */
static int64_t flop_of_product(const struct counted *c, const struct shapes *s, int64_t *result)
{
    const struct shape_input *a = &s->in[c->a], *b = &s->in[c->b];
    int n = a->n_dims;
    if (n < 2 || n > 3 || b->n_dims != n || a->dim[n - 1] != b->dim[n - 2] || (n == 3 && a->dim[0] != b->dim[0]))
        return -1;
    *result = times(elements(a, 0, n - 1), b->dim[n - 1]);
    return times(2, times(all(a), b->dim[n - 1]));
}

/* Weights lie as (outputs, inputs). */
static int64_t flop_of_linear(const struct counted *c, const struct shapes *s, int64_t *result)
{
    const struct shape_input *a = &s->in[c->a], *b = &s->in[c->b];
    int n = a->n_dims;
    if (n < 1 || b->n_dims != 2 || a->dim[n - 1] != b->dim[1])
        return -1;
    *result = times(elements(a, 0, n - 1), b->dim[0]);
    return times(2, times(all(a), b->dim[0]));
}

/* The i-th value of a list. A list of one value stands for all dimensions. */
static int64_t value_at(const struct shape_input *x, int i)
{
    return x->n_values < 1 || (x->n_values > 1 && i >= x->n_values) ? -1 : x->value[x->n_values > 1 ? i : 0];
}

/* Positions of the output, by those of the input. */
static int64_t output_positions(const struct counted *c, const struct shapes *s)
{
    const struct shape_input *x = &s->in[c->a], *kernel = &s->in[c->b];
    int64_t n = 1;
    for (int i = 0; i < x->n_dims - 2; i++) {
        int64_t stride = value_at(&s->in[c->stride], i), padding = value_at(&s->in[c->padding], i),
                dilation = value_at(&s->in[c->dilation], i), k = kernel->dim[i + 2],
                reach = plus(times(dilation, k - 1), 1), room = plus(x->dim[i + 2], times(2, padding));
        if (stride < 1 || reach < 0 || room < reach)
            return -1;
        n = times(n, (room - reach) / stride + 1);
    }
    return n;
}

static int is_convolution(const struct shape_input *x, const struct shape_input *kernel)
{
    return x->n_dims >= 3 && x->n_dims <= 5 && kernel->n_dims == x->n_dims && kernel->dim[0] > 0 && kernel->dim[1] > 0;
}

/* Each weight is applied once at each position of the output (transposed: of the input), for every image. */
static int64_t flop_of_convolution(const struct counted *c, const struct shapes *s, int64_t *result)
{
    const struct shape_input *x = &s->in[c->a], *kernel = &s->in[c->b];
    if (!is_convolution(x, kernel) || (c->transposed >= 0 && value_at(&s->in[c->transposed], 0) != 0))
        return -1;
    int64_t at = times(x->dim[0], output_positions(c, s));
    *result = times(at, kernel->dim[0]);
    return times(2, times(at, all(kernel)));
}

/* The gradients of the input and of the weights take as much as the convolution, each. */
static int64_t flop_of_gradients(const struct counted *c, const struct shapes *s, int64_t *result)
{
    const struct shape_input *x = &s->in[c->a], *kernel = &s->in[c->b], *of_output = &s->in[c->c],
                             *wanted = &s->in[c->mask], *transposed = &s->in[c->transposed];
    if (!is_convolution(x, kernel) || of_output->n_dims != x->n_dims || wanted->n_values < 2 ||
        transposed->n_values != 1)
        return -1;
    const struct shape_input *at = transposed->value[0] ? x : of_output;
    int64_t one = times(2, times(times(at->dim[0], elements(at, 2, at->n_dims)), all(kernel)));
    *result = plus(wanted->value[0] ? all(x) : 0, wanted->value[1] ? all(kernel) : 0);
    return times(one, (wanted->value[0] != 0) + (wanted->value[1] != 0));
}

/* Queries x keys that count: with a causal mask query i sees keys 0..i. */
static int64_t pairs(int64_t queries, int64_t keys, int is_causal)
{
    if (!is_causal)
        return times(queries, keys);
    int64_t corner = queries < keys ? queries : keys;
    return plus(times(corner, plus(corner, 1)) / 2, times(queries - corner, keys));
}

/* Scores and their products with the values, of each head. */
static int64_t flop_of_attention(const struct counted *c, const struct shapes *s, int64_t *result)
{
    const struct shape_input *q = &s->in[c->a], *k = &s->in[c->b], *v = &s->in[c->c], *causal = &s->in[c->causal];
    int n = q->n_dims;
    if (n < 2 || k->n_dims != n || v->n_dims != n || q->dim[n - 1] != k->dim[n - 1] || k->dim[n - 2] != v->dim[n - 2] ||
        causal->n_values != 1)
        return -1;
    int64_t heads = elements(q, 0, n - 2);
    *result = times(times(heads, q->dim[n - 2]), v->dim[n - 1]);
    return times(2, times(times(heads, pairs(q->dim[n - 2], k->dim[n - 2], causal->value[0] != 0)),
                          plus(q->dim[n - 1], v->dim[n - 1])));
}

/* source: native_functions.yaml of PyTorch 2.11 for the order of arguments */
static const struct counted table[] = {
#define PRODUCT(name, a, b, c)                                 \
    {                                                          \
        name, flop_of_product, a, b, c, -1, -1, -1, -1, -1, -1 \
    }
#define CONVOLUTION(name, transposed)                                   \
    {                                                                   \
        name, flop_of_convolution, 0, 1, 2, 3, 4, 5, transposed, -1, -1 \
    }
#define ATTENTION(name, mask, causal)                                  \
    {                                                                  \
        name, flop_of_attention, 0, 1, 2, -1, -1, -1, -1, mask, causal \
    }
    PRODUCT("aten::mm", 0, 1, -1),
    PRODUCT("aten::bmm", 0, 1, -1),
    PRODUCT("aten::addmm", 1, 2, 0),
    PRODUCT("aten::baddbmm", 1, 2, 0),
    PRODUCT("aten::_addmm_activation", 1, 2, 0),
    {"aten::linear", flop_of_linear, 0, 1, 2, -1, -1, -1, -1, -1, -1},
    CONVOLUTION("aten::conv1d", -1),
    CONVOLUTION("aten::conv2d", -1),
    CONVOLUTION("aten::conv3d", -1),
    CONVOLUTION("aten::convolution", 6),
    {"aten::convolution_backward", flop_of_gradients, 1, 2, 0, -1, -1, -1, 7, 10, -1},
    ATTENTION("aten::scaled_dot_product_attention", 3, 5),
    ATTENTION("aten::_scaled_dot_product_flash_attention", -1, 4),
    ATTENTION("aten::_scaled_dot_product_flash_attention_for_cpu", -1, 4),
    ATTENTION("aten::_scaled_dot_product_efficient_attention", 3, 6),
    ATTENTION("aten::_scaled_dot_product_cudnn_attention", 3, 6),
#undef PRODUCT
#undef CONVOLUTION
#undef ATTENTION
};

static const struct counted *find(const char *name, size_t len)
{
    static const char space[] = "aten::";
    if (len < sizeof space || memcmp(name, space, sizeof space - 1) != 0 || !strchr("mbalcs_", name[sizeof space - 1]))
        return NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strlen(table[i].name) == len && memcmp(table[i].name, name, len) == 0)
            return &table[i];
    return NULL;
}

int shape_is_counted(const char *name, size_t len)
{
    return find(name, len) != NULL;
}

/* Bytes of an input that is read; 0 if the operator has no such input. */
static int64_t bytes_read(const struct shapes *s, int at)
{
    if (at < 0 || at >= s->n || s->in[at].n_dims == 0)
        return 0;
    return s->in[at].element_bytes ? times(all(&s->in[at]), s->in[at].element_bytes) : -1;
}

struct shape_work shape_work_of(const char *name, size_t len, const struct shapes *s)
{
    const struct counted *c = find(name, len);
    struct shape_work w = {-1, -1, s->format};
    int64_t result = -1;
    int last = c->a > c->b ? c->a : c->b;
    const int needed[] = {c->stride,
                          c->padding,
                          c->dilation,
                          c->transposed,
                          c->causal,
                          c->flop == flop_of_gradients ? c->mask : -1,
                          c->flop == flop_of_attention ? c->c : -1};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        last = needed[i] > last ? needed[i] : last;
    if (s->n <= last)
        return w;
    w.flop = c->flop(c, s, &result);
    if (w.flop >= 0 && s->in[c->a].element_bytes) {
        w.bytes = plus(plus(bytes_read(s, c->a), bytes_read(s, c->b)), bytes_read(s, c->c));
        w.bytes = plus(w.bytes, c->flop == flop_of_attention ? bytes_read(s, c->mask) : 0);
        w.bytes = plus(w.bytes, times(result, s->in[c->a].element_bytes));
    }
    return w;
}
