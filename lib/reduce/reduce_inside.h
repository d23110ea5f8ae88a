/* reduce_inside.h - the reducer from inside. Included in lib/reduce only: reduce_words.c has the meanings of names,
 * reduce.c takes the events, reduce_finish.c gives the result. */
#ifndef DCR_REDUCE_INSIDE_H
#define DCR_REDUCE_INSIDE_H

#include "lib/reduce/reduce.h"

#include "lib/base/map.h"

struct segment {
    int64_t start_ns, end_ns;
    enum category category;
    int phase; /* index into the reducer's phases, -1 none */
    enum event_maker maker;
    uint32_t file; /* of struct event */
};

struct phase {
    const char *name;
    enum category category;
};

struct column { /* of one phase on one track */
    int64_t *ns;
    size_t n, cap; /* steps after the n-th have no such range */
};

struct call { /* one collective: the outermost communication range */
    int64_t start_ns, end_ns, bytes;
};

struct track {
    uint32_t id;
    struct segment *pending; /* ascending, disjoint */
    size_t n_pending, pending_cap;
    struct call *calls; /* since the last step; on a track without steps: all */
    size_t n_calls, calls_cap;
    struct step_record *steps;
    size_t n_steps, steps_cap;
    int64_t every, n_seen, seen_ns; /* of struct steps_seen; every is at least 1 */
    int is_by_order;                /* step numbers did not ascend */
    struct collective *collectives;
    int64_t *collective_start; /* shape (n_collectives) */
    size_t n_collectives, collectives_cap, starts_cap;
    int64_t outside_ns[N_CATEGORIES], validation_ns;
    int64_t tail_ns[N_CATEGORIES],
        tail_validation_ns;  /* after the last step so far; counts once another step follows */
    struct collective since; /* running: since the last collective */
    int64_t
        after_pass_ns[N_CATEGORIES]; /* of the last step: after its backward pass, or the last collective after it */
    int64_t last_step_end_ns, end_before_ns;         /* end of the last step, and of the one before it */
    int64_t optimizer_ns;                            /* start of the last range "optimizer" of the hook */
    int64_t summed_ns;                               /* start of the last communication that is a sum */
    int is_after_sum;                                /* the last step has such a sum */
    int64_t gap_ns[N_CATEGORIES], gap_validation_ns; /* what the last step added to outside_ns */
    int64_t n_exchanged;                             /* steps up to the last EVENT_EXCHANGE; 0 = there was none */
    int is_by_hook;                                  /* of struct reduced */
    struct column phases[RUN_MAX_PHASES];
    struct phase_stretch *stretches; /* phase: index into the reducer's phases */
    size_t n_stretches, stretches_cap;
    int64_t *loading_ns; /* of struct reduced */
    size_t n_loading, loading_cap;
};

struct reducer {
    struct dcr_arena arena;
    struct track **tracks;   /* by pointer: they grow */
    struct dcr_map track_of; /* index by track id */
    struct track *last;      /* a thread writes many events in a row */
    struct track beside;     /* its calls: communication that the program names and in which no thread waits */
    struct track flights;    /* the same from observed calls, used if the program names none */
    size_t n_tracks, tracks_cap;
    int64_t until_ns; /* set by reduce_until */
    int has_steps;    /* a step that is more than a batch was found */
    struct phase phases[RUN_MAX_PHASES];
    int n_phases;
    uint64_t overflow;
};

/** reduce_waits - 0 for MPI calls that only start or test something: they are communication, but ranks cannot wait in
 * them. */
int reduce_waits(const char *name);
/** reduce_is_between_two - 1 for point-to-point calls: they differ between ranks, so the k-th call of a step is not the
 * same operation on all of them. */
int reduce_is_between_two(const char *name);
/** reduce_drop_last - leave out the last step if it is not one of the kept steps. */
void reduce_drop_last(struct track *t);
/** reduce_hide - add hidden communication, at most the rest of the step: other events may have counted a part of it. */
void reduce_hide(struct step_record *s, int64_t ns);
/** reduce_cut - keep the first n steps and everything that belongs to them. */
void reduce_cut(struct track *t, size_t n);
/** Adds within 63 bits, because times and payloads come from a file that may be damaged. */
static inline void reduce_add(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = INT64_MAX;
}
static inline uint64_t reduce_plus(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) || sum > INT64_MAX ? INT64_MAX : sum;
}

#endif
