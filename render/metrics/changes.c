/* changes.c - see changes.h. */
#include "render/metrics/changes.h"

#include "render/metrics/recorded.h"
#include "render/model/build.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *key, *stem;
} kinds[] = {
#define X(id, key, stem) {key, stem},
    CHANGED_KINDS(X)
#undef X
};

const char *changed_key(enum changed_kind k)
{
    return kinds[k].key;
}

const char *changed_stem(enum changed_kind k)
{
    return kinds[k].stem;
}

/* ---- names of kernels ---------------------------------------------------------------------------------------------
 */

/* The place after the bracket that closes the one at p; the end if none does. */
static const char *past_bracket(const char *p)
{
    int depth = 0;
    for (; *p; p++) {
        depth += strchr("<([{", *p) != NULL;
        depth -= strchr(">)]}", *p) != NULL && !(*p == '>' && p[-1] == '-');
        if (depth == 0)
            return p + 1;
    }
    return p;
}

const char *kernel_short_name(const char *full, size_t *len)
{
    const char *start = full, *p = full, *end = NULL;
    while (*p && !end) {
        if (*p == '<' || *p == '(') {
            const char *after = past_bracket(p);
            if (strncmp(after, "::", 2) == 0) /* of a namespace or class, or "(anonymous namespace)" */
                p = start = after + 2;
            else
                end = p;
        } else if (strncmp(p, "::", 2) == 0) {
            p = start = p + 2;
        } else if (*p++ == ' ') {
            start = p;
        }
    }
    *len = end ? (size_t)(end - start) : strlen(start);
    if (*len)
        return start;
    *len = strlen(full);
    return full;
}

/* ---- sums by name -------------------------------------------------------------------------------------------------
 */

/* Rows while they are collected; their names are borrowed from the runs and need not end in 0. */
struct sums {
    struct dcr_arena arena;
    struct sum {
        const char *name;
        size_t len;
        int64_t n[N_SIDES], ns[N_SIDES];
    } * rows;
    size_t n, cap;
    int is_unknown; /* the time of a name is not known */
};

/* Limited so that differences and halves of them still fit: 73 years. */
static int64_t within(__int128 x)
{
    const int64_t most = INT64_MAX / 4;
    return x > most ? most : x < -most ? -most : (int64_t)x;
}

static int64_t sum_of(int64_t a, int64_t b)
{
    return within((__int128)a + b);
}

static void add(struct sums *s, const char *name, size_t len, int side, int64_t n, int64_t ns)
{
    s->is_unknown |= n > 0 && ns < 0;
    if (n <= 0 || ns < 0)
        return;
    s->rows = arena_grow(&s->arena, s->rows, s->n, &s->cap, sizeof *s->rows);
    struct sum *x = &s->rows[s->n++];
    *x = (struct sum){.name = name, .len = len};
    x->n[side] = within(n);
    x->ns[side] = within(ns);
}

/* kinds: a bit for each of enum op_kind */
static void add_kernels(struct sums *s, const struct run *a, int side, int is_short, unsigned op_kinds)
{
    for (int t = 0; t < a->n_traces; t++)
        for (int k = 0; k < a->traces[t].n_devices; k++) {
            const struct run_device *d = &a->traces[t].devices[k];
            for (int i = 0; i < d->n_names; i++) {
                const struct device_name *n = &d->names[i];
                size_t len = strlen(n->name);
                const char *name = is_short ? kernel_short_name(n->name, &len) : n->name;
                if (op_kinds >> n->kind & 1)
                    add(s, name, len, side, n->n, n->sum_ns);
            }
        }
}

/* collect/series.sh gives each run its own spool folder. The same file of two runs has the same path inside it. */
static const char *name_in_spool(const char *name)
{
    const char *spool = strstr(name, "/.spool-"), *end = spool ? strchr(spool + 1, '/') : NULL;
    return end ? end + 1 : name;
}

/* A step is no operator: its self time is what no operator inside it takes. */
static void add_operators(struct sums *s, const struct host_operators *o, int side)
{
    for (int i = 0; i < o->n_names; i++) {
        const struct host_operator *x = &o->list[i];
        const char *name = x->kind == OPERATOR_STEP ? "(steps, outside of operators)" : x->name;
        add(s, name, strlen(name), side, x->n, x->self_ns);
    }
}

static void add_trace_operators(struct sums *s, const struct run *a, int side)
{
    for (int t = 0; t < a->n_traces; t++)
        add_operators(s, &a->traces[t].operators, side);
}

static int has_trace_operators(const struct run *a)
{
    for (int t = 0; t < a->n_traces; t++)
        if (a->traces[t].operators.n_names)
            return 1;
    return 0;
}

/* Traces of another tool and native traces of a run show the same time, so only the kind that both sides have
 * counts. */
static void add_both_operators(struct sums *s, const struct run *const runs[N_SIDES], int side)
{
    const struct run *a = runs[BEFORE], *b = runs[AFTER];
    int is_by_traces = has_trace_operators(a) && has_trace_operators(b);
    int is_by_ranges = !is_by_traces && a->ranges.n_names && b->ranges.n_names;
    if (!is_by_ranges)
        add_trace_operators(s, runs[side], side);
    if (!is_by_traces)
        add_operators(s, &runs[side]->ranges, side);
}

static void add_mpi(struct sums *s, const struct run *a, int side)
{
    for (int i = 0; i < a->n_mpi_calls; i++) {
        const struct run_mpi_call *c = &a->mpi_calls[i];
        if (!run_is_mpi_frame(c->name))
            add(s, c->name, strlen(c->name), side, (int64_t)c->sum.n, (int64_t)c->sum.ns);
    }
}

static void add_side(struct sums *s, const struct run *const runs[N_SIDES], enum changed_kind kind, int side)
{
    const struct run *a = runs[side];
    switch (kind) {
    case CHANGED_KERNELS:
    case CHANGED_FULL:
        add_kernels(s, a, side, kind == CHANGED_KERNELS, 1u << OP_COMPUTE | 1u << OP_COMM);
        break;
    case CHANGED_OPERATORS:
        add_both_operators(s, runs, side);
        break;
    case CHANGED_MPI:
        add_mpi(s, a, side);
        break;
    case CHANGED_FILES:
        for (int i = 0; i < a->n_files; i++) {
            const char *name = name_in_spool(a->files[i].name);
            for (int k = 0; k < DCT_N_IO; k++) {
                const struct dct_io *io = &a->files[i].sum[k];
                if (run_is_timed(io))
                    add(s, name, strlen(name), side, (int64_t)io->n, (int64_t)io->ns);
            }
        }
        break;
    default:
        break;
    }
}

static int compare_names(const struct sum *x, const struct sum *y)
{
    size_t len = x->len < y->len ? x->len : y->len;
    int c = memcmp(x->name, y->name, len);
    return c ? c : (x->len > y->len) - (x->len < y->len);
}

static int by_name(const void *a, const void *b)
{
    return compare_names(a, b);
}

static int by_change(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;
    int64_t p = llabs(x->ns[AFTER] - x->ns[BEFORE]), q = llabs(y->ns[AFTER] - y->ns[BEFORE]);
    return p != q ? (p < q ? 1 : -1) : compare_names(x, y);
}

static void merge(struct sum *into, const struct sum *x)
{
    for (int side = 0; side < N_SIDES; side++) {
        into->n[side] = sum_of(into->n[side], x->n[side]);
        into->ns[side] = sum_of(into->ns[side], x->ns[side]);
    }
}

void changed_split(struct changed *c)
{
    int64_t all = c->ns[AFTER] - c->ns[BEFORE];
    __int128 by_calls =
        c->n[BEFORE] && c->n[AFTER] ? (__int128)c->ns[BEFORE] * (c->n[AFTER] - c->n[BEFORE]) / c->n[BEFORE] : all;
    c->by_calls_ns = within(by_calls);
    c->by_mean_ns = all - c->by_calls_ns;
}

static struct changed row_of(struct dcr_arena *arena, const struct sum *x)
{
    char *name = dcr_arena_alloc(arena, x->len + 1); /* ends in 0 */
    struct changed c = {.name = memcpy(name, x->name, x->len)};
    memcpy(c.n, x->n, sizeof c.n);
    memcpy(c.ns, x->ns, sizeof c.ns);
    changed_split(&c);
    return c;
}

/* The names that changed most; beyond 200 the others share the last row. */
static struct changed_table keep(struct dcr_arena *arena, struct sums *s)
{
    enum { MOST = 200 };
    struct changed_table t = {.all = {.name = ""}};
    struct sum others = {.name = CHANGED_OTHERS, .len = sizeof CHANGED_OTHERS - 1};
    for (size_t i = MOST; i < s->n; i++)
        merge(&others, &s->rows[i]);
    t.n_rows = s->n > MOST ? MOST + 1 : (int)s->n;
    t.rows = dcr_arena_alloc(arena, (size_t)t.n_rows * sizeof *t.rows);
    for (int i = 0; i < t.n_rows; i++) {
        t.rows[i] = row_of(arena, i < MOST ? &s->rows[i] : &others);
        for (int side = 0; side < N_SIDES; side++) {
            t.all.n[side] = sum_of(t.all.n[side], t.rows[i].n[side]);
            t.all.ns[side] = sum_of(t.all.ns[side], t.rows[i].ns[side]);
        }
        t.all.by_calls_ns = sum_of(t.all.by_calls_ns, t.rows[i].by_calls_ns);
    }
    t.all.by_mean_ns = t.all.ns[AFTER] - t.all.ns[BEFORE] - t.all.by_calls_ns;
    return t;
}

/* Importers keep a limited number of names and put the others under "(other files)" or the like. A name of one side may
 * then be among the others of the other side. */
static void join_others(struct sums *s)
{
    struct sum *others = NULL;
    size_t n = 0;
    for (size_t i = 0; i < s->n && !others; i++)
        others = s->rows[i].len > 6 && memcmp(s->rows[i].name, "(other", 6) == 0 ? &s->rows[i] : NULL;
    if (!others)
        return;
    struct sum all = *others;
    for (size_t i = 0; i < s->n; i++) {
        const struct sum *x = &s->rows[i];
        if (x != others && (!x->n[BEFORE] || !x->n[AFTER]))
            merge(&all, x);
        else if (x != others)
            s->rows[n++] = *x;
    }
    s->rows[n++] = all;
    s->n = n;
}

/* Rows of one name become one. */
static void join_names(struct sums *s)
{
    size_t n = 0;
    if (s->n)
        qsort(s->rows, s->n, sizeof *s->rows, by_name);
    for (size_t i = 0; i < s->n; i++) {
        if (n && compare_names(&s->rows[n - 1], &s->rows[i]) == 0)
            merge(&s->rows[n - 1], &s->rows[i]);
        else
            s->rows[n++] = s->rows[i];
    }
    s->n = n;
}

/* ---- files that each run calls otherwise --------------------------------------------------------------------------
 */

static int is_one_sided(const struct sum *x)
{
    return !x->n[BEFORE] || !x->n[AFTER];
}

/* Long numbers are ids of processes and the like: "/tmp/ompi.h.0/pid.27455". Short ones are ranks. */
static void cut_ids(struct sums *s)
{
    enum { ID_DIGITS = 4 };
    for (size_t i = 0; i < s->n; i++) {
        struct sum *x = &s->rows[i];
        if (!is_one_sided(x))
            continue;
        char *out = dcr_arena_alloc(&s->arena, x->len + 1);
        size_t n = 0;
        for (size_t k = 0; k < x->len;) {
            size_t digits = 0;
            while (k + digits < x->len && x->name[k + digits] >= '0' && x->name[k + digits] <= '9')
                digits++;
            size_t taken = digits ? digits : 1;
            if (digits >= ID_DIGITS)
                out[n] = '*';
            else
                memcpy(out + n, x->name + k, taken);
            n += digits >= ID_DIGITS ? 1 : taken;
            k += taken;
        }
        x->name = out;
        x->len = n;
    }
}

/* Do two paths differ in one folder only? front, back  gives the lengths of what they share before and behind it */
static int is_other_folder(const struct sum *a, const struct sum *b, size_t *front, size_t *back)
{
    size_t least = a->len < b->len ? a->len : b->len, n = 0;
    *front = *back = 0;
    for (; n < least && a->name[n] == b->name[n]; n++)
        *front = a->name[n] == '/' ? n + 1 : *front;
    for (n = 0; n < least - *front && a->name[a->len - 1 - n] == b->name[b->len - 1 - n]; n++)
        *back = a->name[a->len - 1 - n] == '/' ? n + 1 : *back;
    return *front && *back && a->len > *front + *back && b->len > *front + *back &&
           !memchr(a->name + *front, '/', a->len - *front - *back) &&
           !memchr(b->name + *front, '/', b->len - *front - *back);
}

/* The only name of the other side that differs from that of row i in one folder; s->n: none, or several. */
static size_t only_match(const struct sums *s, size_t i)
{
    size_t match = s->n, front, back;
    int side = s->rows[i].n[BEFORE] ? AFTER : BEFORE;
    for (size_t k = 0; k < s->n; k++) {
        const struct sum *x = &s->rows[k];
        if (!is_one_sided(x) || !x->n[side] || !is_other_folder(&s->rows[i], x, &front, &back))
            continue;
        if (match < s->n)
            return s->n;
        match = k;
    }
    return match;
}

/* The same output in a folder of each run: "/runs/1/steps.csv" and "/runs/2/steps.csv" become one row. */
static void join_folders(struct sums *s)
{
    enum { MOST = 1000 }; /* every name is compared with every other */
    for (size_t i = 0; i < s->n && s->n <= MOST; i++) {
        struct sum *x = &s->rows[i];
        size_t front, back, k = is_one_sided(x) && x->n[BEFORE] ? only_match(s, i) : s->n;
        if (k == s->n || only_match(s, k) != i || !is_other_folder(x, &s->rows[k], &front, &back))
            continue;
        char *name = dcr_arena_alloc(&s->arena, front + 1 + back);
        memcpy(name, x->name, front);
        name[front] = '*';
        memcpy(name + front + 1, x->name + x->len - back, back);
        merge(x, &s->rows[k]);
        s->rows[k] = (struct sum){.name = x->name = name, .len = x->len = front + 1 + back}; /* joins x in join_names */
    }
}

static struct changed_table table_of(struct dcr_arena *arena, const struct run *before, const struct run *after,
                                     enum changed_kind kind)
{
    struct sums s = {0};
    struct changed_table t = {0};
    const struct run *const runs[N_SIDES] = {before, after};
    add_side(&s, runs, kind, BEFORE);
    size_t n_before = s.n;
    add_side(&s, runs, kind, AFTER);
    if (n_before && s.n > n_before && !s.is_unknown) {
        join_names(&s);
        if (kind == CHANGED_FILES) {
            cut_ids(&s);
            join_names(&s);
            join_folders(&s);
            join_names(&s);
        }
        join_others(&s);
        qsort(s.rows, s.n, sizeof *s.rows, by_change);
        t = keep(arena, &s);
    }
    dcr_arena_release(&s.arena);
    return t;
}

static int is_called(const char *full, const char *short_name)
{
    size_t len;
    const char *name = kernel_short_name(full, &len);
    return strlen(short_name) == len && memcmp(name, short_name, len) == 0;
}

struct changed_table changed_full_names(struct dcr_arena *arena, const struct changes *c, const struct changed *row)
{
    const struct changed_table *full = &c->of[CHANGED_FULL];
    struct changed_table t = {.all = *row};
    struct changed others = {.name = CHANGED_OTHERS};
    if (*row->name == '(' || !full->n_rows)
        return t;
    t.rows = dcr_arena_alloc(arena, (size_t)(full->n_rows + 1) * sizeof *t.rows);
    memcpy(others.n, row->n, sizeof others.n);
    memcpy(others.ns, row->ns, sizeof others.ns);
    for (int i = 0; i < full->n_rows; i++) {
        if (!is_called(full->rows[i].name, row->name))
            continue;
        t.rows[t.n_rows++] = full->rows[i];
        for (int side = 0; side < N_SIDES; side++) {
            others.n[side] -= full->rows[i].n[side];
            others.ns[side] -= full->rows[i].ns[side];
        }
    }
    changed_split(&others);
    if (t.n_rows && (others.n[BEFORE] || others.n[AFTER]))
        t.rows[t.n_rows++] = others;
    if (t.n_rows == 1 && strcmp(t.rows[0].name, row->name) == 0)
        t.n_rows = 0;
    return t;
}

/* Are all events of that kind there? Missing ones would look like saved time. */
static int is_whole(const struct run *a, enum changed_kind kind)
{
    if (recorded_part(a).n_ranks_lost_sums && kind >= CHANGED_OPERATORS)
        return 0;
    for (int t = 0; t < a->n_traces && kind <= CHANGED_OPERATORS; t++) {
        const struct foreign_trace *f = &a->traces[t];
        if (f->is_last_cut || f->n_damaged || f->why_rest || f->lacks_kernels)
            return 0;
    }
    return 1;
}

int times_by_name(struct dcr_arena *arena, const struct run *a, enum timed_names of, struct name_time **out)
{
    static const enum changed_kind whole[] = {[TIMED_OPERATORS] = CHANGED_OPERATORS,
                                              [TIMED_RANGES] = CHANGED_OPERATORS,
                                              [TIMED_MPI] = CHANGED_MPI,
                                              [TIMED_COLLECTIVES] = CHANGED_KERNELS};
    struct sums s = {0};
    switch (of) {
    case TIMED_OPERATORS:
        add_trace_operators(&s, a, BEFORE);
        break;
    case TIMED_RANGES:
        add_operators(&s, &a->ranges, BEFORE);
        break;
    case TIMED_MPI:
        add_mpi(&s, a, BEFORE);
        break;
    case TIMED_COLLECTIVES:
        add_kernels(&s, a, BEFORE, 1, 1u << OP_COMM);
        break;
    }
    join_names(&s);
    int n = is_whole(a, whole[of]) && !s.is_unknown ? (int)s.n : 0;
    *out = dcr_arena_alloc(arena, (size_t)(n + 1) * sizeof **out);
    for (int i = 0; i < n; i++)
        (*out)[i] = (struct name_time){row_of(arena, &s.rows[i]).name, s.rows[i].ns[BEFORE]};
    dcr_arena_release(&s.arena);
    return n;
}

struct changes changes_between(struct dcr_arena *arena, const struct run *before, const struct run *after)
{
    struct changes c = {.program = {"", ""}, .sentence = "", .support = ""};
    const struct run *sides[N_SIDES] = {before, after};
    for (enum changed_kind k = 0; k < N_CHANGED_KINDS; k++)
        if (is_whole(before, k) && is_whole(after, k))
            c.of[k] = table_of(arena, before, after, k);
    for (int side = 0; side < N_SIDES && c.of[CHANGED_KERNELS].n_rows; side++)
        for (int t = 0; t < sides[side]->n_traces; t++)
            for (int k = 0; k < sides[side]->traces[t].n_devices; k++) {
                c.n_gpus[side]++;
                for (int v = 0; v < N_DEVICE_COLUMNS; v++)
                    c.gpu[v][side] = sum_of(c.gpu[v][side], sides[side]->traces[t].devices[k].value[v]);
            }
    return c;
}
