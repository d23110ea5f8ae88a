/* pickle_stack.c - see pickle_stack.h. Called by pickle.c. */
#include "trainer/formats/pickle_stack.h"

#include <stdlib.h>
#include <string.h>

#define MAX_MEMO ((size_t)1 << 20)

int pickle_refuse(struct pickle *p, const char *why, struct dcr_err *err)
{
    return dcr_err_set(err, DCR_FAIL, "cannot read '%s': byte %zu: %s", p->name, p->at, why);
}

struct pickle_value *pickle_new(struct pickle *p, enum pickle_type type)
{
    struct pickle_value *v = dcr_arena_alloc(p->arena, sizeof *v);
    v->type = type;
    return v;
}

/* A mark on the stack. */
static struct pickle_value the_mark;

static int grow(struct pickle_value ***list, size_t *cap, size_t needed, struct dcr_err *err)
{
    if (needed <= *cap)
        return 0;
    size_t wanted = 2 * needed + 64;
    struct pickle_value **grown = realloc(*list, wanted * sizeof *grown);
    if (!grown)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    memset(grown + *cap, 0, (wanted - *cap) * sizeof *grown);
    *list = grown;
    *cap = wanted;
    return 0;
}

int pickle_push(struct pickle_machine *m, struct pickle_value *v, struct dcr_err *err)
{
    int rc = grow(&m->stack, &m->cap_stack, m->depth + 1, err);
    if (!rc)
        m->stack[m->depth++] = v;
    return rc;
}

int pickle_is_mark(const struct pickle_value *v)
{
    return v == &the_mark;
}

int pickle_push_mark(struct pickle_machine *m, struct dcr_err *err)
{
    return pickle_push(m, &the_mark, err);
}

struct pickle_value *pickle_top(const struct pickle_machine *m)
{
    struct pickle_value *v = m->depth ? m->stack[m->depth - 1] : NULL;
    return v == &the_mark ? NULL : v;
}

struct pickle_value *pickle_pop(struct pickle_machine *m)
{
    struct pickle_value *v = pickle_top(m);
    m->depth -= v != NULL;
    return v;
}

size_t pickle_above_mark(const struct pickle_machine *m)
{
    for (size_t i = m->depth; i-- > 0;)
        if (m->stack[i] == &the_mark)
            return m->depth - 1 - i;
    return SIZE_MAX;
}

int pickle_remember(struct pickle_machine *m, uint64_t index, struct dcr_err *err)
{
    if (index >= MAX_MEMO || !pickle_top(m))
        return pickle_refuse(&m->p, "it remembers nothing, or too much", err);
    int rc = grow(&m->memo, &m->cap_memo, (size_t)index + 1, err);
    if (rc)
        return rc;
    m->memo[index] = pickle_top(m);
    m->n_memo = index >= m->n_memo ? (size_t)index + 1 : m->n_memo;
    return 0;
}

int pickle_recall(struct pickle_machine *m, uint64_t index, struct dcr_err *err)
{
    if (index >= m->cap_memo || !m->memo[index])
        return pickle_refuse(&m->p, "it recalls what it never stored", err);
    return pickle_push(m, m->memo[index], err);
}

int pickle_gather(struct pickle_machine *m, struct pickle_value *into, size_t n, struct dcr_err *err)
{
    if (n > m->depth)
        return pickle_refuse(&m->p, "its stack is empty", err);
    if (n == 0) /* the stack may still be NULL */
        return 0;
    struct pickle_value **from = m->stack + m->depth - n;
    for (size_t i = 0; i < n; i++)
        if (from[i] == &the_mark)
            return pickle_refuse(&m->p, "its stack is in disorder", err);
    if (into->n + n > into->cap) {
        size_t cap = 2 * into->n + n;
        struct pickle_value **items = dcr_arena_alloc(m->p.arena, cap * sizeof *items);
        if (into->n)
            memcpy(items, into->items, into->n * sizeof *items);
        into->items = items;
        into->cap = cap;
    }
    memcpy(into->items + into->n, from, n * sizeof *from);
    into->n += n;
    m->depth -= n;
    return 0;
}
