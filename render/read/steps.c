/* steps.c - steps.csv: one row per step and rank. It is the second-best source of the breakdown. It gives phases as
 * durations, not as intervals, so overlap only shows as phases that do not fit into their step. */
#include "render/read/members.h"

#include "lib/base/csv.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The columns used here; names as in DCR_STEPS_COLUMNS. X(field) */
#define STEP_FIELDS(X) \
    X(step)            \
    X(rank)            \
    X(start_ns)        \
    X(step_ns)         \
    X(data_ns)         \
    X(h2d_ns)          \
    X(forward_ns)      \
    X(backward_ns)     \
    X(allreduce_ns)    \
    X(optimizer_ns)    \
    X(checkpoint_ns)   \
    X(samples)         \
    X(allreduce_bytes) \
    X(allreduce_inflight_ns)
struct step_row {
#define X(field) int64_t field;
    STEP_FIELDS(X)
#undef X
};
enum {
#define X(field) F_##field,
    STEP_FIELDS(X)
#undef X
        N_FIELDS,
};
static const char *const field_names[] = {
#define X(field) #field,
    STEP_FIELDS(X)
#undef X
};

struct rank_rows {
    int rank;
    struct step_row *rows;
    size_t n, cap;
};

struct step_rows {
    struct dcr_arena arena;
    struct rank_rows *ranks;
    size_t n, cap;
};

struct step_rows *step_rows_new(void)
{
    struct dcr_arena a = {0};
    struct step_rows *t = dcr_arena_alloc(&a, sizeof *t);
    t->arena = a;
    return t;
}

void step_rows_free(struct step_rows *t)
{
    if (!t)
        return;
    struct dcr_arena a = t->arena;
    dcr_arena_release(&a);
}

static struct rank_rows *rows_of(struct step_rows *t, int rank)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->ranks[i].rank == rank)
            return &t->ranks[i];
    t->ranks = arena_grow(&t->arena, t->ranks, t->n, &t->cap, sizeof *t->ranks);
    t->ranks[t->n].rank = rank;
    return &t->ranks[t->n++];
}

/* One row into out; -1 where nothing was measured. */
static int read_row(const struct dcr_csv *c, const int *column, int rank, struct step_row *out, const char *where,
                    struct dcr_err *err)
{
    int64_t v[N_FIELDS];
    for (int i = 0; i < N_FIELDS; i++) {
        int rc = dcr_csv_int(c, column[i], &v[i], err);
        if (rc < 0)
            return rc;
        if (rc == DCR_END)
            v[i] = i == F_rank ? rank : -1;
        else if (v[i] < 0 || v[i] > (i == F_start_ns ? RUN_MAX_TIME_NS : RUN_MAX_STEP_NS))
            return dcr_err_set(err, DCR_FAIL,
                               "'%s' line %ld: %s is %lld, which makes no sense; correct or remove the line", where,
                               dcr_csv_line(c), field_names[i], (long long)v[i]);
    }
    if (v[F_rank] < 0)
        v[F_rank] = 0;
    if (v[F_rank] > RUN_MAX_RANK)
        return dcr_err_set(err, DCR_FAIL, "'%s' line %ld: rank %lld is larger than %d; correct or remove the line",
                           where, dcr_csv_line(c), (long long)v[F_rank], RUN_MAX_RANK);
    if (v[F_step] < 0 || v[F_step_ns] <= 0)
        return dcr_err_set(
            err, DCR_FAIL,
            "'%s' line %ld: step number or step_ns is missing or makes no sense; correct or remove the line", where,
            dcr_csv_line(c));
    memcpy(out, v, sizeof *out);
    return 0;
}

int steps_read(struct run *r, struct step_rows *t, int rank, struct dcr_stream *s, struct dcr_err *err)
{
    struct dcr_csv *c;
    int rc = dcr_csv_open(&c, s, err);
    if (rc)
        return rc;
    int column[N_FIELDS];
    struct dcr_err torn = {0};
    for (int i = 0; i < N_FIELDS; i++) {
        column[i] = dcr_csv_column(c, field_names[i]);
        if (column[i] >= 0 || i == F_rank || i == F_samples || i == F_allreduce_bytes || i == F_start_ns ||
            i == F_allreduce_inflight_ns)
            continue;
        if (i == F_step || i == F_step_ns) {
            run_add_gap(r, PHRASE(STEPS_CSV_NO_COLUMN, slot_name(field_names[i])));
            goto out;
        }
        run_add_gap(r, PHRASE(STEPS_CSV_LACKS, slot_name(field_names[i])));
    }
    for (;;) {
        struct dcr_err bad = {0};
        rc = dcr_csv_next(c, &bad);
        if (rc == DCR_END)
            break;
        if (torn.grade || rc == DCR_FATAL) {
            if (err)
                *err = torn.grade ? torn : bad;
            rc = DCR_FAIL;
            goto out;
        }
        if (rc) {
            torn = bad;
            continue;
        }
        struct step_row row;
        if ((rc = read_row(c, column, rank, &row, s->name, err)))
            goto out;
        struct rank_rows *k = rows_of(t, (int)row.rank);
        k->rows = arena_grow(&t->arena, k->rows, k->n, &k->cap, sizeof *k->rows);
        k->rows[k->n++] = row;
    }
    rc = 0;
    if (torn.grade)
        run_add_gap(r, PHRASE(LAST_ROW_CUT, slot_name("steps.csv")));
out:
    dcr_csv_close(c);
    return rc;
}

static int compare_rows(const void *a, const void *b)
{
    const struct step_row *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int64_t at_least_0(int64_t v)
{
    return v > 0 ? v : 0;
}

/* Takes at most `excess` from *part; returns what is left of the excess. */
static int64_t take(int64_t *part, int64_t excess)
{
    int64_t n = excess < *part ? excess : *part;
    *part -= n;
    return excess - n;
}

/* Communication that was under way while the thread did something else. The exposed part is included in it. */
static int64_t hidden_of(const struct step_row *row)
{
    int64_t in_flight = row->allreduce_inflight_ns < row->step_ns ? row->allreduce_inflight_ns : row->step_ns;
    return at_least_0(in_flight - at_least_0(row->allreduce_ns));
}

/* Phases of a row as exclusive parts. If they do not fit into the step, something overlapped. The excess is taken from
 * communication first, then from loading, copies and file writes; the rest was exposed. */
static int make_step(const struct step_row *row, struct step_record *s)
{
    memset(s, 0, sizeof *s);
    s->step = row->step;
    s->start_ns = at_least_0(row->start_ns);
    s->step_ns = row->step_ns;
    s->samples = row->samples;
    s->bytes = at_least_0(row->allreduce_bytes);
    s->part_ns[CAT_COMPUTE] =
        at_least_0(row->forward_ns) + at_least_0(row->backward_ns) + at_least_0(row->optimizer_ns);
    s->part_ns[CAT_COMM] = at_least_0(row->allreduce_ns);
    s->part_ns[CAT_DATA] = at_least_0(row->data_ns);
    s->part_ns[CAT_COPY] = at_least_0(row->h2d_ns);
    s->part_ns[CAT_IO] = at_least_0(row->checkpoint_ns);
    s->hidden_comm_ns = hidden_of(row);
    int64_t sum = 0;
    for (int c = 0; c < N_CATEGORIES; c++)
        sum += s->part_ns[c];
    if (sum <= s->step_ns) {
        s->part_ns[CAT_OTHER] = s->step_ns - sum;
        return 1;
    }
    int64_t comm = s->part_ns[CAT_COMM], excess = sum - s->step_ns;
    excess = take(&s->part_ns[CAT_COMM], excess);
    s->hidden_comm_ns += comm - s->part_ns[CAT_COMM];
    excess = take(&s->part_ns[CAT_DATA], excess);
    excess = take(&s->part_ns[CAT_COPY], excess);
    excess = take(&s->part_ns[CAT_IO], excess);
    int is_consistent = excess == 0;
    take(&s->part_ns[CAT_COMPUTE], excess);
    return is_consistent;
}

/* The upstream time of each step's one collective: the rest of the step before, then this one's up to its all-reduce.
 */
static void make_collectives(struct run_rank *k, const struct step_row *rows)
{
    struct collective since = {0};
    for (size_t i = 0; i < k->n_steps; i++) {
        struct step_record *s = &k->steps[i];
        int64_t post = at_least_0(rows[i].optimizer_ns);
        if (post > s->part_ns[CAT_COMPUTE])
            post = s->part_ns[CAT_COMPUTE];
        if (i > 0 && rows[i].start_ns > rows[i - 1].start_ns + rows[i - 1].step_ns && rows[i - 1].start_ns >= 0)
            since.outside_ns += rows[i].start_ns - rows[i - 1].start_ns - rows[i - 1].step_ns;
        since.since_ns[CAT_COMPUTE] += s->part_ns[CAT_COMPUTE] - post;
        since.since_ns[CAT_DATA] += s->part_ns[CAT_DATA];
        since.since_ns[CAT_COPY] += s->part_ns[CAT_COPY];
        since.since_ns[CAT_OTHER] += s->part_ns[CAT_OTHER];
        s->first_collective = (uint32_t)k->n_collectives;
        if (rows[i].allreduce_ns > 0) {
            since.dur_ns = s->part_ns[CAT_COMM];
            k->collectives[k->n_collectives++] = since;
            s->n_collectives = 1;
            memset(&since, 0, sizeof since);
        }
        since.since_ns[CAT_COMPUTE] += post;
        since.since_ns[CAT_IO] += s->part_ns[CAT_IO];
    }
}

/* The columns in which something was measured, under the names that the ranges of a trace have (docs/FORMAT.md). */
static void make_phases(struct run *r, struct run_rank *k, const struct rank_rows *t)
{
    static const struct {
        const char *name;
        enum category category;
        size_t offset;
    } columns[] = {{"data_load", CAT_DATA, offsetof(struct step_row, data_ns)},
                   {"h2d", CAT_COPY, offsetof(struct step_row, h2d_ns)},
                   {"forward", CAT_COMPUTE, offsetof(struct step_row, forward_ns)},
                   {"backward", CAT_COMPUTE, offsetof(struct step_row, backward_ns)},
                   {"all_reduce", CAT_COMM, offsetof(struct step_row, allreduce_ns)},
                   {"optimizer", CAT_COMPUTE, offsetof(struct step_row, optimizer_ns)},
                   {"checkpoint", CAT_IO, offsetof(struct step_row, checkpoint_ns)}};
    enum { N_COLUMNS = sizeof columns / sizeof *columns };
    k->phases = dcr_arena_alloc(&r->arena, N_COLUMNS * sizeof *k->phases);
    k->n_phases = 0;
    k->n_stretches = 0;
    for (size_t c = 0; c < N_COLUMNS; c++) {
        int64_t *ns = dcr_arena_alloc(&r->arena, t->n * sizeof *ns), sum = 0;
        for (size_t i = 0; i < t->n; i++) {
            memcpy(&ns[i], (const char *)&t->rows[i] + columns[c].offset, sizeof ns[i]);
            sum += ns[i] = at_least_0(ns[i]);
        }
        if (sum)
            k->phases[k->n_phases++] =
                (struct run_phase){.name = columns[c].name, .category = columns[c].category, .ns = ns};
    }
}

static void fill_from_rows(struct run *r, struct run_rank *k, struct rank_rows *t)
{
    k->steps = dcr_arena_alloc(&r->arena, t->n * sizeof *k->steps);
    k->collectives = dcr_arena_alloc(&r->arena, t->n * sizeof *k->collectives);
    k->n_steps = k->n_collectives = 0;
    k->n_inconsistent = 0;
    k->is_renumbered = 0; /* the flag belonged to the trace's steps, and so do the counts of all steps */
    k->seen = (struct steps_seen){0};
    for (size_t i = 0; i < t->n; i++)
        k->n_inconsistent += !make_step(&t->rows[i], &k->steps[k->n_steps++]);
    make_collectives(k, t->rows);
    make_phases(r, k, t);
    const struct step_record *first = &k->steps[0], *last = &k->steps[k->n_steps - 1];
    k->wall_ns = last->start_ns > first->start_ns ? last->start_ns + last->step_ns - first->start_ns : 0;
    k->source = STEPS_CSV;
}

/* Trace and table cover the same steps: the table gives the samples, the trace the phases. */
static void join_samples(struct run *r, struct run_rank *k, const struct rank_rows *t)
{
    size_t j = 0, n_both = 0;
    double trace_ns = 0, table_ns = 0;
    for (size_t i = 0; i < k->n_steps; i++) {
        while (j < t->n && t->rows[j].step < k->steps[i].step)
            j++;
        if (j == t->n || t->rows[j].step != k->steps[i].step)
            continue;
        n_both++;
        k->steps[i].samples = t->rows[j].samples;
        if (k->steps[i].bytes == 0)
            k->steps[i].bytes = at_least_0(t->rows[j].allreduce_bytes);
        if (k->steps[i].hidden_comm_ns == 0) /* a recorder without ranges of the process */
            k->steps[i].hidden_comm_ns = hidden_of(&t->rows[j]);
        trace_ns += (double)k->steps[i].step_ns;
        table_ns += (double)t->rows[j].step_ns;
    }
    double ratio = table_ns > 0 ? trace_ns / table_ns : 1;
    if (n_both && (ratio < 0.95 || ratio > 1.05))
        run_add_gap(r, PHRASE(STEP_TIMES_DIFFER, slot_percent(ratio - 1), slot_count(k->rank)), PHRASE(TRACE_IS_USED));
}

void step_rows_finish(struct run *r, struct step_rows *t)
{
    for (size_t i = 0; i < t->n; i++) {
        struct rank_rows *rows = &t->ranks[i];
        struct run_rank *k = run_rank_at(r, rows->rank);
        if (!k || rows->n == 0)
            continue;
        qsort(rows->rows, rows->n, sizeof *rows->rows, compare_rows);
        size_t kept = 1, n_copies = 0; /* a step written twice (after a resume) counts once */
        for (size_t j = 1; j < rows->n; j++) {
            if (rows->rows[j].step != rows->rows[kept - 1].step)
                rows->rows[kept++] = rows->rows[j];
            else
                n_copies += memcmp(&rows->rows[j], &rows->rows[kept - 1], sizeof rows->rows[j]) == 0;
        }
        if (kept + n_copies < rows->n)
            run_add_gap(r, PHRASE(STEPS_CSV_TWICE, slot_count((int64_t)(rows->n - kept)), slot_count(rows->rank)),
                        PHRASE(STEPS_CSV_FIRST));
        rows->n = kept;
        size_t n_seen = k->seen.every ? (size_t)k->seen.n : k->n_steps;
        if (k->n_steps == 0 || (n_seen + 1 < rows->n && !r->has_window)) {
            if (k->n_steps)
                run_add_gap(r, PHRASE(TRACE_HOLDS_SOME, slot_count(rows->rank), slot_count((int64_t)n_seen),
                                      slot_count((int64_t)rows->n)));
            fill_from_rows(r, k, rows);
        } else {
            join_samples(r, k, rows);
        }
    }
}
