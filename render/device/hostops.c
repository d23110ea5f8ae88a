/* hostops.c - see hostops.h. */
#include "render/device/hostops.h"

#include "render/device/codelines.h"
#include "render/device/hostwork.h"
#include "render/device/optable.h"
#include "render/device/spill.h"
#include "render/model/build.h"

#include <stdlib.h>
#include <string.h>

struct host_record {
    struct spill_key key; /* thread, start */
    int64_t end_ns;
    uint32_t name; /* index */
};

/* Where operators of a name were called; without padding. */
struct place {
    int64_t name, line;
};

/* A range that has begun, and how much time the ranges inside it took. */
struct open_range {
    int64_t start_ns, end_ns, inner_ns;
    int64_t line; /* line of the call; -1 = unknown */
    uint32_t name;
};

struct host_ops {
    struct dcr_arena arena;
    struct optable names; /* a "device" for every kind */
    struct spill *ops;
    enum host_name *is; /* by name */
    size_t n_is, is_cap;
    struct host_comm *comm;
    size_t n_comm, comm_cap;
    int64_t *self_ns; /* by name */
    int64_t n_calls;
    struct code_log *code; /* NULL = no lines are known */
    struct optable places; /* a name and a line, as the bytes of struct place */
    struct open_range *open;
    size_t n_open, open_cap;
};

struct host_ops *host_ops_new(size_t max_bytes)
{
    struct host_ops *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    h->ops = spill_new(sizeof(struct host_record), max_bytes);
    if (!h->ops) {
        host_ops_free(h);
        return NULL;
    }
    return h;
}

void host_ops_add(struct host_ops *h, int64_t thread, enum operator_kind kind, const char *name, size_t len,
                  int64_t start_ns, int64_t dur_ns)
{
    struct host_record r = {.key = {thread, start_ns}};
    dur_ns = dur_ns > 0 ? dur_ns : 0;
    if (__builtin_add_overflow(start_ns, dur_ns, &r.end_ns))
        return;
    char common[HOST_NAME_BYTES];
    const char *word = NULL;
    int64_t number;
    int is_step = 0;
    /* Old profilers write even their steps as operators. */
    if (kind != OPERATOR_OP || (len && name[0] == 'P'))
        is_step = host_step_of(name, len, &word, &number) == STEP_NAME_STEP;
    if (is_step && kind != OPERATOR_PROCESS) /* nothing nests in a range that belongs to no thread */
        kind = OPERATOR_STEP;
    if (word) {
        name = word;
        len = strlen(word);
    }
    len = host_name_without_attributes(name, len);
    if (len <= sizeof common && (memchr(name, '.', len) || memmem(name, len, "0x", 2))) {
        len = host_name_common(name, len, common);
        name = common;
    }
    struct name_entry *e = optable_entry(&h->names, (int)kind, OP_COMPUTE, name, len);
    r.name = e->index;
    for (; h->n_is < h->names.n; h->n_is++) { /* the name is new */
        h->is = arena_grow(&h->arena, h->is, h->n_is, &h->is_cap, sizeof *h->is);
        h->is[h->n_is] = host_name_of(e->text, e->len, kind != OPERATOR_OP);
    }
    if (h->is[r.name] == HOST_NAME_COMM || h->is[r.name] == HOST_NAME_COMM_CALL) {
        h->comm = arena_grow(&h->arena, h->comm, h->n_comm, &h->comm_cap, sizeof *h->comm);
        h->comm[h->n_comm++] = (struct host_comm){start_ns, r.end_ns, thread, h->is[r.name]};
    }
    spill_add(h->ops, &r);
}

/* PyTorch records some operators twice for one call: "detach_" directly inside "aten::detach_"
 * (source: RECORD_FUNCTION in torch/csrc/autograd/VariableTypeManual.cpp). */
static int is_same_call(const struct host_ops *h, const struct open_range *x, const struct open_range *around)
{
    static const char space[] = "aten::";
    const struct name_entry *inner = h->names.entries[x->name], *outer = h->names.entries[around->name];
    size_t n = sizeof space - 1;
    return outer->len == inner->len + n && memcmp(outer->text, space, n) == 0 &&
           memcmp(outer->text + n, inner->text, inner->len) == 0;
}

/* Closes the innermost open range. Its time is not self time of the range around it, unless both are one call. */
static void close_innermost(struct host_ops *h)
{
    const struct open_range *x = &h->open[--h->n_open];
    if (h->n_open && is_same_call(h, x, &h->open[h->n_open - 1])) {
        h->open[h->n_open - 1].inner_ns += x->inner_ns;
        return;
    }
    h->n_calls++;
    optable_add(h->names.entries[x->name], x->end_ns - x->start_ns);
    int64_t self = x->end_ns - x->start_ns - x->inner_ns;
    if (self > 0 && __builtin_add_overflow(h->self_ns[x->name], self, &h->self_ns[x->name]))
        h->self_ns[x->name] = INT64_MAX;
    if (self > 0 && h->code && x->line >= 0) {
        struct place p = {x->name, x->line};
        optable_add(optable_entry(&h->places, 0, OP_MEMCPY, (const char *)&p, sizeof p), self);
    }
    if (!h->n_open)
        return;
    struct open_range *around = &h->open[h->n_open - 1];
    int64_t end = x->end_ns < around->end_ns ? x->end_ns : around->end_ns;
    around->inner_ns += end > x->start_ns ? end - x->start_ns : 0;
}

/* Of ranges that begin together, the longest is the outermost; equal ones nest in the order in which they came. */
static void open_range(struct host_ops *h, const struct host_record *r)
{
    while (h->n_open && h->open[h->n_open - 1].end_ns <= r->key.b)
        close_innermost(h);
    h->open = arena_grow(&h->arena, h->open, h->n_open, &h->open_cap, sizeof *h->open);
    size_t at = h->n_open++;
    for (; at > 0 && h->open[at - 1].start_ns == r->key.b && h->open[at - 1].end_ns < r->end_ns; at--)
        h->open[at] = h->open[at - 1];
    h->open[at] = (struct open_range){.start_ns = r->key.b,
                                      .end_ns = r->end_ns,
                                      .line = h->code ? code_log_at(h->code, r->key.a, r->key.b) : -1,
                                      .name = r->name};
}

static int compare(const void *a, const void *b)
{
    const struct host_operator *x = a, *y = b;
    int steps = (x->kind == OPERATOR_STEP) - (y->kind == OPERATOR_STEP);
    if (steps)
        return steps;
    if (x->self_ns != y->self_ns)
        return x->self_ns > y->self_ns ? -1 : 1;
    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns ? -1 : 1;
    int c = strcmp(x->name, y->name);
    return c ? c : (int)x->kind - (int)y->kind;
}

/* Finds the line with most self time of each name; on a tie the first one. */
static void find_places(const struct host_ops *h, struct dcr_arena *arena, struct host_operators *out)
{
    const struct name_entry **most = dcr_arena_alloc(arena, (h->names.n + 1) * sizeof *most);
    for (size_t i = 0; i < h->places.n; i++) {
        const struct name_entry *e = h->places.entries[i];
        struct place p;
        if (e->len != sizeof p) /* those beyond the limit */
            continue;
        memcpy(&p, e->text, sizeof p);
        most[p.name] = !most[p.name] || e->sum_ns > most[p.name]->sum_ns ? e : most[p.name];
    }
    for (size_t i = 0; i < h->names.n; i++)
        if (most[i]) {
            struct place p;
            memcpy(&p, most[i]->text, sizeof p);
            struct code_line line = code_log_line(h->code, p.line, arena);
            out->list[i].place = line.place;
            out->list[i].function = line.function;
        }
}

int host_ops_finish(struct host_ops *h, struct host_work *work, struct code_log *code, struct dcr_arena *arena,
                    struct host_operators *out, struct dcr_err *err)
{
    h->code = code;
    const struct host_record *r;
    int64_t thread = 0;
    int rc = spill_sort(h->ops, err);
    memset(out, 0, sizeof *out);
    if (rc)
        return rc;
    h->self_ns = dcr_arena_alloc(&h->arena, (h->names.n + 1) * sizeof *h->self_ns);
    if (work)
        host_work_comm(work, h->comm, h->n_comm);
    while ((r = spill_next(h->ops)) != NULL) {
        while (h->n_open && r->key.a != thread)
            close_innermost(h);
        thread = r->key.a;
        open_range(h, r);
        if (work)
            host_work_add(work, thread, h->is[r->name], r->key.b, r->end_ns);
    }
    while (h->n_open)
        close_innermost(h);
    out->n = h->n_calls;
    if (spill_failed(h->ops))
        return dcr_err_set(err, DCR_FATAL, "cannot read back the temporary file of a trace");
    out->list = dcr_arena_alloc(arena, (h->names.n + 1) * sizeof *out->list);
    for (size_t i = 0; i < h->names.n; i++) {
        const struct name_entry *e = h->names.entries[i];
        out->list[out->n_names++] = (struct host_operator){.name = text_clean(arena, e->text),
                                                           .kind = (enum operator_kind)e->device,
                                                           .n = e->n,
                                                           .total_ns = e->sum_ns,
                                                           .self_ns = h->self_ns[i],
                                                           .min_ns = e->min_ns,
                                                           .max_ns = e->max_ns};
    }
    if (code)
        find_places(h, arena, out);
    int n_names = out->n_names;
    out->n_names = 0;
    for (int i = 0; i < n_names; i++) /* without names that were only a second record of a call */
        if (out->list[i].n)
            out->list[out->n_names++] = out->list[i];
    if (out->n_names)
        qsort(out->list, (size_t)out->n_names, sizeof *out->list, compare);
    return 0;
}

void host_ops_free(struct host_ops *h)
{
    if (!h)
        return;
    spill_free(h->ops);
    optable_release(&h->names);
    optable_release(&h->places);
    dcr_arena_release(&h->arena);
    free(h);
}
