/* kineto_shapes.c - see kineto_shapes.h. */
#include "render/import/kineto/kineto_shapes.h"

#include "render/import/text/decimal.h"
#include "render/import/text/json_window.h"

/* The next element of the list that p is in: its first byte; NULL at the end of the list. */
static const char *next_element(const char *p, const char *end)
{
    p = json_space(p, end);
    if (p < end && *p == ',')
        p = json_space(p + 1, end);
    return p < end && *p != ']' ? p : NULL;
}

/* "[16, 16]", "True", "2": a number, a truth value or a list of numbers. */
static void take_values(struct shape_input *x, const char *p, const char *end)
{
    int is_list = p < end && *p == '[';
    x->n_values = -1;
    if (json_text_is(p, (size_t)(end - p), "True") || json_text_is(p, (size_t)(end - p), "False")) {
        x->n_values = 1;
        x->value[0] = *p == 'T';
        return;
    }
    int n = 0;
    for (p += is_list; (p = is_list ? next_element(p, end) : n ? NULL : p) != NULL; n++) {
        const char *after = p;
        while (after < end && *after != ',' && *after != ']' && *after != ' ')
            after++;
        int is_truth = json_text_is(p, (size_t)(after - p), "True") || json_text_is(p, (size_t)(after - p), "False");
        if (n == SHAPE_VALUES || after == p)
            return;
        if (is_truth)
            x->value[n] = *p == 'T';
        else if (decimal_scaled(p, after, 0, &x->value[n]) || x->value[n] < 0)
            return;
        p = after;
    }
    x->n_values = n ? n : -1;
}

static void take_dims(struct shape_input *x, const char *p, const char *end)
{
    x->n_dims = 0;
    for (p++; (p = next_element(p, end)) != NULL;) {
        const char *after = json_skip(p, end);
        if (!after || x->n_dims == SHAPE_DIMS || decimal_scaled(p, after, 0, &x->dim[x->n_dims]) ||
            x->dim[x->n_dims] < 0) { /* a list of tensors is no tensor either */
            x->n_dims = -1;
            return;
        }
        x->n_dims++;
        p = after;
    }
}

enum list { LIST_DIMS, LIST_TYPES, LIST_VALUES };

/* One list of all arguments, which begins at p. */
static void take_list(struct shapes *s, enum list what, const char *p, const char *end)
{
    int i = 0;
    for (p++; (p = next_element(p, end)) != NULL && i < SHAPE_INPUTS; i++) {
        const char *after = json_skip(p, end);
        struct shape_input *x = &s->in[i];
        if (!after)
            return;
        if (what == LIST_DIMS && *p == '[')
            take_dims(x, p, after);
        else if (what == LIST_VALUES && *p == '"')
            take_values(x, p + 1, after - 1);
        else if (what == LIST_TYPES && *p == '"') {
            const char *format = shape_format(p + 1, (size_t)(after - p) - 2, &x->element_bytes);
            s->format = *s->format ? s->format : format;
        }
        p = after;
    }
    s->n = what == LIST_DIMS ? i : s->n;
}

int kineto_work_of(struct kineto_text name, const struct kineto_raw *e, struct shape_work *out)
{
    struct shapes s = {.format = ""};
    for (int i = 0; i < SHAPE_INPUTS; i++)
        s.in[i].n_values = -1;
    const char *p = e->args + 1;
    for (struct json_pair pair; json_next_pair(&p, e->args_end, &pair);) {
        if (*pair.value != '[')
            continue;
        if (json_text_is(pair.key, pair.n, "Input Dims"))
            take_list(&s, LIST_DIMS, pair.value, pair.after);
        else if (json_text_is(pair.key, pair.n, "Input type"))
            take_list(&s, LIST_TYPES, pair.value, pair.after);
        else if (json_text_is(pair.key, pair.n, "Concrete Inputs"))
            take_list(&s, LIST_VALUES, pair.value, pair.after);
    }
    *out = shape_work_of(name.p, name.n, &s);
    return s.n > 0;
}
