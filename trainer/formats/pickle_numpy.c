/* pickle_numpy.c - see pickle_numpy.h. */
#include "trainer/formats/pickle_numpy.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum function { RECONSTRUCT, NDARRAY, DTYPE, FROM_BUFFER, ENCODE };

/* NumPy 2 renamed numpy.core to numpy._core. */
static const struct {
    enum function function;
    const char *module, *name;
} functions[] = {
    {RECONSTRUCT, "numpy.core.multiarray", "_reconstruct"},
    {RECONSTRUCT, "numpy._core.multiarray", "_reconstruct"},
    {NDARRAY, "numpy", "ndarray"},
    {DTYPE, "numpy", "dtype"},
    {FROM_BUFFER, "numpy.core.numeric", "_frombuffer"},
    {FROM_BUFFER, "numpy._core.numeric", "_frombuffer"},
    {ENCODE, "_codecs", "encode"},
};

static int is_text(const char *bytes, size_t n, const char *text)
{
    return n == strlen(text) && !memcmp(bytes, text, n);
}

struct pickle_value *pickle_function(struct pickle *p, const char *module, size_t n_module, const char *name,
                                     size_t n_name, struct dcr_err *err)
{
    char why[160];
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (is_text(module, n_module, functions[i].module) && is_text(name, n_name, functions[i].name)) {
            struct pickle_value *v = pickle_new(p, PICKLE_FUNCTION);
            v->integer = functions[i].function;
            return v;
        }
    snprintf(why, sizeof why, "it wants to run %.*s.%.*s, which no array needs", n_module < 60 ? (int)n_module : 60,
             module, n_name < 60 ? (int)n_name : 60, name);
    pickle_refuse(p, why, err);
    return NULL;
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static const struct pickle_value *item(const struct pickle_value *v, size_t k, enum pickle_type type)
{
    return k < v->n && v->items[k]->type == type ? v->items[k] : NULL;
}

/* Two numbers of a shape, and as many bytes as they promise. */
static int complete_array(struct pickle_value *array, const struct pickle_value *shape,
                          const struct pickle_value *dtype, const struct pickle_value *data, int is_fortran)
{
    if (!shape || !dtype || !data || !dtype->type_of_items.kind || shape->n < 1 || shape->n > 2)
        return -1;
    size_t n = dtype->type_of_items.item_bytes;
    for (size_t i = 0; i < shape->n; i++) {
        const struct pickle_value *dim = item(shape, i, PICKLE_INT);
        if (!dim || dim->integer < 0 || dim->integer > INT32_MAX)
            return -1;
        if (dim->integer && n > SIZE_MAX / (size_t)dim->integer)
            return -1;
        n *= (size_t)dim->integer;
    }
    if (n != data->n)
        return -1;
    array->shape = shape;
    array->dtype = dtype;
    array->data = data;
    array->is_fortran = is_fortran;
    return 0;
}

/* The characters up to U+00FF of a Unicode text as the bytes of Latin-1: how Python 3 stores bytes in protocols 0 to 2.
 */
static struct pickle_value *encode_latin1(struct pickle *p, const struct pickle_value *text)
{
    struct pickle_value *v = pickle_new(p, PICKLE_TEXT);
    unsigned char *out = dcr_arena_alloc(p->arena, text->n + 1);
    const unsigned char *in = (const unsigned char *)text->bytes;
    v->bytes = (const char *)out;
    for (size_t i = 0; i < text->n; i++) {
        unsigned c = in[i];
        if (text->is_utf8 && c >= 0x80) {
            if ((c != 0xc2 && c != 0xc3) || i + 1 == text->n || (in[i + 1] & 0xc0) != 0x80)
                return NULL;
            c = (c & 3) << 6 | (in[++i] & 0x3f);
        }
        out[v->n++] = (unsigned char)c;
    }
    return v;
}

struct pickle_value *pickle_reduce(struct pickle *p, const struct pickle_value *function,
                                   const struct pickle_value *arguments, struct dcr_err *err)
{
    struct pickle_value *v = NULL;
    const struct pickle_value *text = item(arguments, 0, PICKLE_TEXT);
    if (function->type != PICKLE_FUNCTION)
        text = NULL;
    else if (function->integer == RECONSTRUCT)
        v = pickle_new(p, PICKLE_ARRAY); /* empty until BUILD */
    else if (function->integer == DTYPE && text) {
        v = pickle_new(p, PICKLE_DTYPE);
        v->type_of_items = npy_type_parse(text->bytes, text->n);
    } else if (function->integer == ENCODE && text && item(arguments, 1, PICKLE_TEXT) &&
               is_text(arguments->items[1]->bytes, arguments->items[1]->n, "latin1")) {
        v = encode_latin1(p, text);
    } else if (function->integer == FROM_BUFFER && text) {
        const struct pickle_value *order = item(arguments, 3, PICKLE_TEXT);
        v = pickle_new(p, PICKLE_ARRAY);
        if (!order || complete_array(v, item(arguments, 2, PICKLE_TUPLE), item(arguments, 1, PICKLE_DTYPE), text,
                                     is_text(order->bytes, order->n, "F")))
            v = NULL;
    }
    if (!v)
        pickle_refuse(p, "an array or type that is not read here", err);
    return v;
}

int pickle_build(struct pickle *p, struct pickle_value *object, const struct pickle_value *state, struct dcr_err *err)
{
    /* a type's state is (3, byte order, ...); an array's (1, shape, type, is_fortran, data) */
    const struct pickle_value *order = item(state, 1, PICKLE_TEXT), *is_fortran = item(state, 3, PICKLE_INT);
    int is_bad = 1;
    if (object->type == PICKLE_DTYPE && order && order->n == 1) {
        is_bad = !strchr("<>|=", order->bytes[0]);
        object->type_of_items.is_big_endian = order->bytes[0] == '>';
    } else if (object->type == PICKLE_ARRAY && is_fortran) {
        is_bad = complete_array(object, item(state, 1, PICKLE_TUPLE), item(state, 2, PICKLE_DTYPE),
                                item(state, 4, PICKLE_TEXT), is_fortran->integer != 0);
    }
    return is_bad ? pickle_refuse(p, "an array or type that is not read here", err) : 0;
}

/* ---- texts of protocol 0 ----------------------------------------------------------------------------------------- */

/* n hexadecimal digits, or -1. */
static int hex(const char *text, const char *end, int n)
{
    int v = 0;
    if (end - text < n)
        return -1;
    for (int i = 0; i < n; i++) {
        const char *digits = "0123456789abcdef", *at = text[i] ? strchr(digits, text[i] | 0x20) : NULL;
        if (!at)
            return -1;
        v = v * 16 + (int)(at - digits);
    }
    return v;
}

/* What stands behind a backslash, as one byte; *text moves behind it. -1: not an escape, or beyond U+00FF. */
static int escape(const char **text, const char *end, int is_quoted)
{
    static const char names[] = "\\\\''\"\"n\nr\rt\t";
    const char *t = *text;
    if (t == end)
        return -1;
    if (*t == (is_quoted ? 'x' : 'u')) {
        int n = is_quoted ? 2 : 4, v = hex(t + 1, end, n);
        *text = t + 1 + n;
        return v <= 0xff ? v : -1;
    }
    for (const char *k = names; is_quoted && *k; k += 2)
        if (*t == *k) {
            *text = t + 1;
            return k[1];
        }
    return -1;
}

struct pickle_value *pickle_unescape(struct pickle *p, const char *line, size_t n, int is_quoted, struct dcr_err *err)
{
    struct pickle_value *v = pickle_new(p, PICKLE_TEXT);
    char *out = dcr_arena_alloc(p->arena, n + 1);
    const char *end = line + n;
    int is_bad = 0;
    if (is_quoted) {
        is_bad = n < 2 || line[0] != end[-1] || (line[0] != '\'' && line[0] != '"');
        line += !is_bad;
        end -= !is_bad;
    }
    v->bytes = out;
    while (!is_bad && line < end) {
        int c = (unsigned char)*line++;
        if (c == '\\')
            c = escape(&line, end, is_quoted);
        is_bad = c < 0;
        out[v->n++] = (char)c;
    }
    if (!is_bad)
        return v;
    pickle_refuse(p, "a text that cannot be read", err);
    return NULL;
}
