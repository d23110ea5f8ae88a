/* breakdown_inside.h - what the files of the breakdown share: breakdown_grid.c (common steps), breakdown.c (steps,
 * parts, ranks), breakdown_waits.c (who waited for whom, what a removal saves), breakdown_figures.c (what follows from
 * the sums). Inside render/metrics. source: docs/metrics.md#breakdown. Test: tests/unit/test_breakdown.c */
#ifndef RENDER_METRICS_BREAKDOWN_INSIDE_H
#define RENDER_METRICS_BREAKDOWN_INSIDE_H

#include "render/metrics/gain.h"

/* The steps that all ranks have, as one row of step records per step. */
struct grid {
    int n_ranks;
    const struct run_rank **ranks; /* shape (n_ranks): those with steps */
    size_t n_steps;
    uint32_t *index; /* shape (n_steps)(n_ranks): position in ranks[r]->steps */
};

/** grid_at - the step of one rank; r: position in ranks. */
static inline const struct step_record *grid_at(const struct grid *g, size_t step, int r)
{
    return &g->ranks[r]->steps[g->index[step * (size_t)g->n_ranks + (size_t)r]];
}
/** grid_make - the steps that all ranks of out->run have; also out->n_steps and n_partial_steps. Each rank's steps
 * ascend. g        must be zero; its arrays live as long as the report */
void grid_make(struct report *rep, struct run_result *out, struct grid *g);
/** grid_mean_step - mean over ranks. unit: ns */
int64_t grid_mean_step(const struct grid *g, size_t step);
/** grid_beside - communication of a rank's step outside of its collectives: messages between two ranks. unit: ns */
int64_t grid_beside(const struct grid *g, size_t step, int r);
/** step_parts - a step of one rank in report parts: exposed communication becomes transfer (never more than was
 * exposed) and waiting.   part: written; sums to the step */
void step_parts(const struct step_record *s, int64_t transfer_ns, int64_t part[N_PARTS]);

/* What a step's collectives tell if all ranks made the same number of them. */
struct split {
    int has;               /* 0: counts differ or nothing recorded; the step is split as one */
    int64_t collective_ns; /* sum over collectives of the shortest duration */
    int64_t transfer_ns;   /* that, and the shortest grid_beside */
};

/* Collectives before which the last rank worked alone. unit: ns */
struct alone_sums {
    double own, others, wait; /* work of that rank, and the most of another; how long the others waited for it */
};

/* Sums over the counted steps. */
struct sums {
    int64_t (*rank_part)[N_PARTS]; /* shape (n_ranks) */
    int64_t *rank_total, *rank_hidden, *rank_caused, *n_last;
    int64_t collective_ns;      /* transfer in collectives */
    int64_t n_matched;          /* collectives seen by all ranks, and steps that count as one exchange */
    int64_t n_whole_steps;      /* the steps among them */
    double cause[N_CATEGORIES]; /* of waiting; CAT_COMM = outside the steps */
    double *rank_unnamed;       /* part of cause[CAT_OTHER] due to longer unnamed time of each rank. shape (n_ranks) */
    int64_t gain[N_CLASSES];
    int64_t n_bytes_steps, n_collectives, samples;
    double bytes;
    int has_samples;
    double alone_others;      /* the threshold */
    struct alone_sums *alone; /* shape (n_ranks) */
    int is_estimated; /* it is known which ranks were late at a step's collectives, but not what they did between them
                       */
};

/* ---- breakdown_waits.c ---- */
/** breakdown_waits - who waited for whom in a step, and what each removal would save in it: added to s.
 *  split    of that step
 *  part     its parts, summed over ranks
 *  a        room for one per rank */
void breakdown_waits(struct sums *s, const struct grid *g, size_t step, struct split split, const int64_t part[N_PARTS],
                     struct arrival *a);
/** breakdown_step_gains - what each removal would save in one step, by what that step added to s. If late ranks are
 * known only at its collectives, it is at most the cause's own time and the waiting that it caused there.
 *  before   s before breakdown_waits of that step
 *  part     its parts, summed over ranks
 *  gain     filled, ns */
void breakdown_step_gains(const struct sums *s, const struct sums *before, const struct grid *g,
                          const int64_t part[N_PARTS], int64_t gain[N_CLASSES]);
/** breakdown_straggler - a rank that comes last clearly more often than its share while the others pay for it. */
void breakdown_straggler(const struct report *rep, struct run_result *out, const struct sums *s);
/** breakdown_alone - out->alone: does the straggler work alone while the others wait? After breakdown_straggler. */
void breakdown_alone(const struct report *rep, struct run_result *out, const struct sums *s);
/** breakdown_cap_gains - where is_estimated: a removal saves no more than its cause's own time and the waiting that it
 *  caused. After breakdown_causes. */
void breakdown_cap_gains(struct run_result *out, const struct sums *s);
/** breakdown_causes - out->wait_cause_ns, which sum to the waiting that the breakdown shows. */
void breakdown_causes(struct run_result *out, const struct sums *s);

/** breakdown_own_ranges - out->late_range and unnamed_range. After breakdown_causes. (own_ranges.c)
 *  source   docs/metrics.md#phases. Test: tests/unit/test_breakdown.c */
void breakdown_own_ranges(struct run_result *out, const struct grid *g, const struct sums *s);

/** breakdown_skew - out->skew and skew_why (skew.c).
 *  first    the first counted step, of those of g
 *  source   docs/metrics.md#breakdown. Test: tests/unit/test_breakdown.c */
void breakdown_skew(struct run_result *out, const struct grid *g, size_t first);

/* ---- breakdown_figures.c ---- */
/** breakdown_intervals, breakdown_outside, breakdown_bandwidth, breakdown_throughput - the fields of out that they are
 *  named after. */
void breakdown_intervals(struct run_result *out);
void breakdown_outside(struct run_result *out, const struct grid *g);
void breakdown_bandwidth(struct run_result *out, const struct sums *s);
void breakdown_throughput(struct run_result *out, const struct sums *s);
/* ---- pop.c ---- */
/** breakdown_pop - out->pop and pop_host: of GPUs where the steps are those of their traces, else of the ranks.
 *  source   docs/metrics.md#pop. Test: tests/unit/test_pop.c */
void breakdown_pop(struct report *rep, struct run_result *out, const struct grid *g, const struct sums *s);

/** why_no_steps - why a run has no steps that could be analysed. Its slots live as long as the report.
 *  n_ranks_with_steps  ranks that recorded any */
struct reason why_no_steps(struct report *rep, const struct run *a, int n_ranks_with_steps);

#endif
