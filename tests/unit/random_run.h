/* random_run.h - random but valid runs and traces: ranges nest on their thread, steps ascend, parts sum to their step.
 * A draw is a function of its seed alone. For test_properties.c. */
#ifndef TESTS_UNIT_RANDOM_RUN_H
#define TESTS_UNIT_RANDOM_RUN_H

#include "render/device/activity.h"
#include "render/metrics/stats.h"
#include "tests/unit/made_run.h"

#include <stdlib.h>
#include <string.h>

static inline int64_t draw_in(struct draws *d, int64_t from, int64_t to) /* both included */
{
    return from + (int64_t)draw_below(d, (size_t)(to - from + 1));
}

/* A time up to most; every number of digits is equally likely, from 0 to the largest. */
static inline int64_t draw_time(struct draws *d, int64_t most)
{
    int64_t limit = 1;
    for (int64_t digits = draw_in(d, 0, 13); digits > 0 && limit < most; digits--)
        limit = limit > most / 10 ? most : limit * 10;
    return draw_in(d, 0, 4) == 0 ? 0 : draw_in(d, 0, limit);
}

static inline void shuffle(struct draws *d, int *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int k = (int)draw_below(d, (size_t)i + 1), t = x[i];
        x[i] = x[k];
        x[k] = t;
    }
}

/* ---- the ranges of a rank: nested, on several threads ---- */

enum { RANDOM_EVENTS = 4096, STEP_TRACK = 1 };
struct timeline {
    struct drawn_event {
        struct event e;
        int at; /* position in its thread: an inner range comes before the one around it */
    } event[RANDOM_EVENTS];
    int n;
};

static inline void add_event(struct timeline *t, struct event e)
{
    if (t->n < RANDOM_EVENTS) {
        t->event[t->n] = (struct drawn_event){e, t->n};
        t->n++;
    }
}

/* Disjoint ranges in [from, to), and in each of them others, the inner ones first. */
static inline void draw_ranges(struct draws *d, struct timeline *t, uint32_t track, int64_t from, int64_t to, int depth)
{
    int64_t at = from;
    for (int64_t left = draw_in(d, 0, 3); left > 0 && at < to; left--) {
        int64_t start = draw_in(d, at, to), end = draw_in(d, start, to);
        if (depth < 5)
            draw_ranges(d, t, track, start, end, depth + 1);
        struct event e = {.track = track, .depth = depth, .start_ns = start, .end_ns = end, .number = -1};
        if (draw_in(d, 0, 4) > 0) {
            e.kind = EVENT_PHASE;
            e.category = (enum category)draw_below(d, CAT_OTHER);
            e.bytes = e.category == CAT_COMM ? draw_in(d, 0, 4096) : 0;
        }
        add_event(t, e);
        at = end;
    }
}

static inline int by_end(const void *a, const void *b)
{
    const struct drawn_event *x = a, *y = b;
    if (x->e.end_ns != y->e.end_ns)
        return x->e.end_ns < y->e.end_ns ? -1 : 1;
    return x->at - y->at;
}

/* Steps on one thread, others beside it, and communication that belongs to no thread. */
static inline void draw_timeline(struct draws *d, struct timeline *t, int n_steps, int64_t step_ns, int n_threads)
{
    int64_t now = draw_in(d, 0, 1000), first = now;
    t->n = 0;
    for (int i = 0; i < n_steps; i++) {
        int64_t end = now + draw_in(d, 1, step_ns);
        draw_ranges(d, t, STEP_TRACK, now, end, 1);
        add_event(t,
                  (struct event){.track = STEP_TRACK, .kind = EVENT_STEP, .start_ns = now, .end_ns = end, .number = i});
        now = end + (draw_in(d, 0, 2) ? 0 : draw_in(d, 0, step_ns));
        if (now > end && draw_in(d, 0, 1))
            add_event(t,
                      (struct event){
                          .track = STEP_TRACK, .kind = EVENT_VALIDATION, .start_ns = end, .end_ns = now, .number = -1});
    }
    for (int k = 1; k < n_threads; k++)
        draw_ranges(d, t, STEP_TRACK + (uint32_t)k, first, now, 0);
    for (int64_t k = draw_in(d, 0, 3); k > 0; k--) {
        int64_t start = draw_in(d, first, now);
        add_event(t, (struct event){.track = 99,
                                    .kind = EVENT_PHASE,
                                    .category = CAT_COMM,
                                    .is_beside = 1,
                                    .start_ns = start,
                                    .end_ns = draw_in(d, start, now),
                                    .number = -1});
    }
    qsort(t->event, (size_t)t->n, sizeof *t->event, by_end);
}

static inline struct reduced reduce_timeline(const struct timeline *t, int64_t shift_ns, struct dcr_arena *arena)
{
    struct reduced out = {0};
    struct reducer *r = reduce_new();
    for (int i = 0; i < t->n; i++) {
        struct event e = t->event[i].e;
        e.start_ns += shift_ns;
        e.end_ns += shift_ns;
        reduce_event(r, &e);
    }
    reduce_finish(r, arena, &out);
    reduce_free(r);
    return out;
}

/* ---- a run ---- */

/* Ways to present the same run, none of which may change the report. */
struct telling {
    const int *order; /* order in which its ranks are read. shape (n_ranks); NULL = as drawn */
    const int *name;  /* rank number of each. the same */
    int shifted;      /* the rank whose clock is ahead */
    int64_t shift_ns; /* by this much */
    int is_split;     /* the calls of each rank come in two files */
};

enum { RANDOM_RANKS = 8, RANDOM_STEPS = 24, RANDOM_CALLS = 7 };
/* The random content of one rank. */
struct random_rank {
    struct timeline timeline;                 /* the ranges it named; or, for a run of parts, */
    int64_t part[RANDOM_STEPS][N_CATEGORIES]; /* its steps in the form of made_step(), with one collective, */
    int64_t files_ns[RANDOM_STEPS];           /* of loading, calls on files, */
    int64_t phase_ns[RANDOM_STEPS][2];        /* and of compute, two phases */
    int n_steps;
    int64_t run_delay_ns, cpu_ns;
    int n_delays;
    struct dct_io mpi[RANDOM_CALLS], file[RANDOM_CALLS]; /* of each name */
};
struct random_run {
    char name[32];
    struct random_rank rank[RANDOM_RANKS];
    int is_of_parts, n_ranks, n_per_node, cores, threads;
    enum node_kind kind;
    int64_t batch;
};

static inline struct dct_io draw_calls(struct draws *d, int64_t longest)
{
    struct dct_io io = {.n = (uint64_t)draw_in(d, 0, 9)};
    if (io.n) {
        io.bytes = (uint64_t)draw_time(d, 1000000);
        io.max_ns = (uint64_t)draw_time(d, longest);
        io.ns = io.max_ns * (io.n > 1 ? 2 : 1);
    }
    return io;
}

/* is_coarse: a coarse clock, by which many times are equal. */
static inline void draw_parts(struct draws *d, struct random_rank *k, int n_steps, int64_t step_ns, int is_coarse)
{
    k->n_steps = n_steps;
    for (int i = 0; i < n_steps; i++) {
        for (int c = 0; c < N_CATEGORIES; c++)
            k->part[i][c] = is_coarse ? 1000 * draw_in(d, c == CAT_COMM, 3) : draw_time(d, step_ns);
        k->part[i][CAT_COMPUTE]++;
        k->files_ns[i] = draw_in(d, 0, 1) ? draw_in(d, 0, k->part[i][CAT_DATA]) : 0;
        k->phase_ns[i][0] = draw_in(d, 0, k->part[i][CAT_COMPUTE]);
        k->phase_ns[i][1] = draw_in(d, 0, k->part[i][CAT_COMPUTE] - k->phase_ns[i][0]);
    }
}

/* A run of n ranks with ranges, or (is_of_parts) with parts of random size. */
static inline void draw_run(struct draws *d, struct random_run *r, int n_ranks, int is_of_parts)
{
    int n_steps = (int)draw_in(d, 0, 3) ? (int)draw_in(d, 1, RANDOM_STEPS) : (int)draw_in(d, 0, 2);
    int64_t step_ns = draw_in(d, 0, 2) ? 10 + draw_time(d, INT64_C(1000000000)) : draw_in(d, 1, 200);
    int is_coarse = draw_in(d, 0, 2) == 0;
    snprintf(r->name, sizeof r->name, "random.tar");
    r->is_of_parts = is_of_parts;
    r->n_ranks = n_ranks;
    r->n_per_node = (int)draw_in(d, 1, 2);
    r->cores = (int)draw_in(d, 1, 8);
    r->threads = (int)draw_in(d, 1, 2);
    r->kind = draw_in(d, 0, 1) ? NODES_MACHINES : NODES_EMULATED;
    r->batch = draw_in(d, 0, 3) ? 64 : -1;
    for (int i = 0; i < r->n_ranks; i++) {
        struct random_rank *k = &r->rank[i];
        /* some ranks have no steps, some fewer than the others */
        int n = draw_in(d, 0, 9) == 0 ? 0 : draw_in(d, 0, 4) ? n_steps : (int)draw_in(d, 0, n_steps);
        k->timeline.n = k->n_steps = 0;
        if (is_of_parts)
            draw_parts(d, k, n, step_ns, is_coarse);
        else
            draw_timeline(d, &k->timeline, n, step_ns, (int)draw_in(d, 1, 3));
        k->n_delays = (int)draw_in(d, 0, 3);
        k->run_delay_ns = draw_in(d, 0, n * step_ns);
        k->cpu_ns = draw_in(d, 0, n * step_ns);
        for (int c = 0; c < RANDOM_CALLS; c++) {
            k->mpi[c] = draw_calls(d, step_ns);
            k->file[c] = draw_calls(d, step_ns);
        }
    }
}

/* Readings of the rank's monitor, from before its first step to the end of its last one. */
static inline void tell_monitor(struct run *r, struct run_rank *k, const struct random_rank *from, int64_t shift_ns)
{
    int64_t last = k->n_steps ? k->steps[k->n_steps - 1].start_ns + k->steps[k->n_steps - 1].step_ns - shift_ns : 1000;
    if (from->n_delays < 2)
        return;
    k->delays = dcr_arena_alloc(&r->arena, (size_t)from->n_delays * sizeof *k->delays);
    k->n_delays = from->n_delays;
    for (int i = 0; i < k->n_delays; i++)
        k->delays[i] = (struct run_reading){.t_ns = shift_ns + (last + 1) * i / (k->n_delays - 1),
                                            .run_delay_ns = from->run_delay_ns * i / (k->n_delays - 1),
                                            .cpu_ns = from->cpu_ns * i / (k->n_delays - 1),
                                            .own_ns = from->cpu_ns * i / (k->n_delays - 1)};
    k->run_delay_ns = from->run_delay_ns;
    k->cpu_ns = from->cpu_ns;
    k->process_seconds = (double)(last + 1) / 1e9;
    k->most_processes = 1;
}

/* Some calls in a first file, the others in a second one; the longest call is in either. */
static inline void tell_calls(struct run *r, const struct random_rank *from, int is_split)
{
    static const char *const names[RANDOM_CALLS] = {"MPI_Allreduce", "MPI_Barrier", "MPI_Bcast", "MPI_Wait",
                                                    "MPI_Gather",    "MPI_Reduce",  "MPI_Send"};
    static const char *const files[RANDOM_CALLS] = {"/data/a", "/data/b", "/out/c", "/tmp/d",
                                                    "/data/e", "/data/f", "/out/g"};
    for (int part = 0; part <= is_split; part++)
        for (int c = 0; c < RANDOM_CALLS; c++) {
            struct dct_io mpi = from->mpi[c], file = from->file[c];
            struct dct_io *both[] = {&mpi, &file};
            for (int i = 0; i < 2 && is_split; i++) {
                if (both[i]->n < 2) { /* one call is in one file */
                    both[i]->n *= (uint64_t)part;
                    continue;
                }
                struct dct_io first = {both[i]->n / 2, both[i]->bytes / 3, both[i]->ns / 2, both[i]->max_ns};
                *both[i] = part == 0 ? first
                                     : (struct dct_io){both[i]->n - first.n, both[i]->bytes - first.bytes,
                                                       both[i]->ns - first.ns, both[i]->max_ns / 2};
            }
            if (mpi.n)
                run_observe_mpi(r, names[c], &mpi);
            run_observe_file(r, files[c], c % DCT_N_IO, &file);
        }
}

static inline void tell_parts(struct run *r, struct run_rank *k, const struct random_rank *from, int64_t start_ns)
{
    struct run_phase phases[] = {{.name = "data_load" REDUCE_FILES, .category = CAT_DATA},
                                 {.name = "forward", .category = CAT_COMPUTE},
                                 {.name = "backward", .category = CAT_COMPUTE}};
    enum { N_PHASES = sizeof phases / sizeof *phases };
    for (int p = 0; p < N_PHASES; p++)
        phases[p].ns = dcr_arena_alloc(&r->arena, sizeof from->files_ns);
    for (int i = 0; i < from->n_steps; i++) {
        made_step(r, k, from->part[i]);
        phases[0].ns[i] = from->files_ns[i];
        phases[1].ns[i] = from->phase_ns[i][0];
        phases[2].ns[i] = from->phase_ns[i][1];
        k->steps[i].start_ns = start_ns;
        start_ns += k->steps[i].step_ns;
    }
    if (from->n_steps) {
        k->phases = dcr_arena_alloc(&r->arena, sizeof phases);
        memcpy(k->phases, phases, sizeof phases);
        k->n_phases = N_PHASES;
    }
}

static inline void tell_timeline(struct run *r, struct run_rank *k, const struct random_rank *from, int64_t start_ns)
{
    struct reduced steps = reduce_timeline(&from->timeline, start_ns, &r->arena);
    if (steps.n_steps)
        run_take_steps(k, &steps);
    k->source = STEPS_TRACE;
}

/* how NULL: as drawn */
static inline struct run *tell_run(const struct random_run *from, const struct telling *how)
{
    struct run *r = run_new(from->name);
    r->run_id = r->archive;
    r->n_ranks = from->n_ranks;
    r->n_nodes = (from->n_ranks + from->n_per_node - 1) / from->n_per_node;
    r->node_kind = from->kind;
    r->program.name = "dcrnn-train";
    r->program.backend = "cpu";
    r->program.threads = from->threads;
    r->program.global_batch = from->batch;
    for (int i = 0; i < r->n_nodes; i++) {
        struct run_node *node = run_node_at(r, i);
        node->cores = node->cores_allowed = from->cores;
    }
    for (int i = 0; i < from->n_ranks; i++) {
        int which = how && how->order ? how->order[i] : i, name = how && how->name ? how->name[which] : which;
        int64_t shift = how && which == how->shifted ? how->shift_ns : 0;
        struct run_rank *k = run_rank_at(r, name);
        k->node = which / from->n_per_node;
        k->host = "host";
        if (from->is_of_parts)
            tell_parts(r, k, &from->rank[which], shift);
        else
            tell_timeline(r, k, &from->rank[which], shift);
        tell_monitor(r, k, &from->rank[which], shift);
        tell_calls(r, &from->rank[which], how && how->is_split);
    }
    run_sort_observed(r);
    run_sort(r);
    return r;
}

/* ---- the trace of a process with GPUs ---- */

/* RANDOM_OPS: more operations than are sorted in memory when the limit is low */
enum { RANDOM_OPS = 1500, RANDOM_DEVICES = 2, RANDOM_MARKS = 32 };
enum told_kind { TOLD_OP, TOLD_CALL, TOLD_RANGE, TOLD_STEP };
struct told_event {
    enum told_kind kind;
    struct device_op op;
    enum call_kind call;
    enum host_range range;
    int64_t start_ns, dur_ns, number, thread;
};
struct random_trace {
    struct told_event event[2 * RANDOM_OPS + 3 * RANDOM_MARKS];
    int n, n_ops;
    int64_t span_ns; /* all times are within [0, span_ns), except the ends of odd operations */
    int is_long;     /* many operations, short ones */
    int is_odd;      /* some operations have no or negative length */
};

static inline void draw_op(struct draws *d, struct random_trace *t, int i)
{
    static const struct {
        enum op_kind kind;
        const char *name;
    } kinds[] = {{OP_COMPUTE, "gemm"}, {OP_COMPUTE, "relu"}, {OP_COMPUTE, "ncclDevKernel_AllReduce"},
                 {OP_MEMCPY, "HtoD"},  {OP_MEMCPY, "DtoH"},  {OP_MEMSET, "Memset"}};
    size_t k = draw_below(d, sizeof kinds / sizeof *kinds);
    int64_t start = draw_in(d, 0, t->span_ns - 1), usual = t->is_long ? 3 : 40;
    int64_t dur = draw_in(d, 1, draw_in(d, 0, t->is_long ? 99 : 9) ? usual : 300);
    if (t->is_odd && draw_in(d, 0, 9) == 0)
        dur = -draw_in(d, 0, start < 20 ? start : 20);
    t->event[t->n++] = (struct told_event){.kind = TOLD_OP,
                                           .op = {.device = draw_in(d, 0, RANDOM_DEVICES - 1),
                                                  .stream = draw_in(d, 0, 2),
                                                  .start_ns = start,
                                                  .dur_ns = dur,
                                                  .kind = kinds[k].kind,
                                                  .name = kinds[k].name,
                                                  .name_len = strlen(kinds[k].name),
                                                  .correlation = draw_in(d, 0, 9) ? i : -1,
                                                  .blocks_per_sm = draw_in(d, 0, 3) ? 0.25 : -1,
                                                  .occupancy_ratio = -1}};
    if (draw_in(d, 0, 9)) /* its launch, sometimes after its beginning, as when clocks disagree */
        t->event[t->n++] = (struct told_event){.kind = TOLD_CALL,
                                               .call = CALL_LAUNCH,
                                               .number = i,
                                               .thread = draw_in(d, 0, 2),
                                               .start_ns = draw_in(d, 0, start + (draw_in(d, 0, 9) ? 0 : 1)),
                                               .dur_ns = draw_in(d, 0, 5)};
}

static inline void draw_trace(struct draws *d, struct random_trace *t)
{
    t->n = 0;
    t->is_long = draw_in(d, 0, 19) == 0;
    t->span_ns = t->is_long ? 8000 : draw_in(d, 100, 4000);
    t->is_odd = draw_in(d, 0, 3) == 0;
    t->n_ops = t->is_long ? RANDOM_OPS : (int)draw_in(d, 1, 200);
    for (int i = 0; i < t->n_ops; i++)
        draw_op(d, t, i);
    for (int64_t i = draw_in(d, 0, RANDOM_MARKS); i > 0; i--) {
        int64_t start = draw_in(d, 0, t->span_ns - 1), end = draw_in(d, start, t->span_ns);
        struct told_event e = {.start_ns = start, .dur_ns = end - start, .number = -1, .thread = draw_in(d, 0, 2)};
        e.kind = draw_in(d, 0, 1) ? TOLD_RANGE : TOLD_CALL;
        e.range = (enum host_range)draw_below(d, HOST_SYNC);
        e.call = draw_in(d, 0, 1) ? CALL_SYNC : CALL_MALLOC;
        e.dur_ns = e.dur_ns > 100 && draw_in(d, 0, 3) ? 100 : e.dur_ns;
        t->event[t->n++] = e;
    }
    int64_t at = draw_in(d, 0, t->span_ns / 4);
    for (int64_t i = 0, n = draw_in(d, 0, 6); i < n && at < t->span_ns; i++) {
        int64_t end = draw_in(d, at + 1, at + 1 + t->span_ns / 6);
        t->event[t->n++] = (struct told_event){.kind = TOLD_STEP, .number = i, .start_ns = at, .dur_ns = end - at};
        at = end + (draw_in(d, 0, 1) ? 0 : draw_in(d, 0, 50));
    }
}

/* only: the device whose operations are given, -1 all; order NULL: as drawn */
static inline void tell_trace(const struct random_trace *t, struct activity *a, const int *order, int64_t shift_ns,
                              int64_t only)
{
    for (int i = 0; i < t->n; i++) {
        const struct told_event *e = &t->event[order ? order[i] : i];
        int64_t start = e->start_ns + shift_ns;
        struct device_op op = e->op;
        op.start_ns += shift_ns;
        if (e->kind == TOLD_OP && (only < 0 || op.device == only))
            activity_op(a, &op);
        else if (e->kind == TOLD_CALL)
            activity_call_of(a, 1, e->thread, e->call, e->number, start, e->dur_ns);
        else if (e->kind == TOLD_RANGE)
            activity_range(a, e->range, start, e->dur_ns);
        else if (e->kind == TOLD_STEP)
            activity_step(a, e->number, start, e->dur_ns);
    }
}

#endif
