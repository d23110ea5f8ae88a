/* compare.h - runs before and after a change: what a step took, part by part, whether the difference is more than
 * chance, and what the report on the runs before had predicted. */
#ifndef RENDER_FINDINGS_RULES_COMPARE_H
#define RENDER_FINDINGS_RULES_COMPARE_H

#include "render/metrics/report.h"

/* 95 % bootstrap interval of after - before; has 0: fewer than BOOTSTRAP_MIN_STEPS steps on a side, or a side that
 * did not record it. */
struct compared {
    int64_t before_ns, after_ns;
    int has_before, has_after; /* 0: that side did not record it, which is not a time of 0 (is_part_known) */
    struct interval change_ns;
    int is_significant; /* the interval is there and does not hold 0 */
};

/** compared_has - is there a difference: was it recorded on both sides? */
static inline int compared_has(const struct compared *c)
{
    return c->has_before && c->has_after;
}

/** compared_longest - the longer of both sides. */
static inline int64_t compared_longest(const struct compared *c)
{
    return c->before_ns > c->after_ns ? c->before_ns : c->after_ns;
}
/** compared_is_small - does a part take less than 0.1 % of the step on both sides? compared_is_unchanged: is its change
 * less than that? With many steps even a negligible change can be significant. Test: tests/unit/test_compare.c */
static inline int compared_is_small(const struct compared *part, const struct compared *step)
{
    return 1000 * compared_longest(part) < compared_longest(step);
}
static inline int compared_is_unchanged(const struct compared *part, const struct compared *step)
{
    int64_t change = part->after_ns - part->before_ns;
    return 1000 * (change < 0 ? -change : change) < compared_longest(step);
}

/* One cause that the report on the runs before named, and how it changed. */
struct prediction {
    enum cause_class cls;
    const char *name;          /* of the class, as in the report before */
    int64_t predicted_ns;      /* of the median step: median - median of the steps without the cause */
    int64_t predicted_mean_ns; /* of the mean step, as in the report before */
    int64_t as_fast_ns; /* for imbalance by one slow rank: if it becomes as fast as the others; 0 = not such a cause */
    int is_exchange;    /* the gain is of all communication, because ranks without an exchange do not wait in turn */
    int64_t before_ns, after_ns; /* the class's time of a step; is_exchange: with the waiting */
    enum gain_basis basis;       /* of both predictions */
    int is_removed;              /* its time fell by half or more */
    int still_limits;            /* in more than half of the runs after */
};

/* The change that the earlier report advised, if the later runs used the advised command. Times are medians of the
 * steps. */
struct tried {
    int has; /* 0: the runs after were not started by such a command, or the advice had no forecast */
    enum trial_kind kind;
    const char *command;
    int64_t before_ns, forecast_ns, achieved_ns;
    double error_ratio; /* forecast / achieved - 1 */
    int is_less_spent;  /* the forecast includes a shorter backward pass */
};

enum { COMPARED_MAX = 3 }; /* sentences of a paragraph */

/* Time for an equal number of samples on both sides, if the batches differ. */
struct equal_work {
    int64_t samples_before, samples_after; /* of a step; 0: equal, or not known of every run */
    double per_second_before, per_second_after;
    struct interval ratio; /* 95 %, of samples per second, after / before */
    struct compared time;  /* of samples_before on both sides */
};

/* Runs of one node count and one number of ranks on both sides; of one configuration if both sides have it. */
struct comparison {
    int n_nodes, n_ranks, n_before, n_after; /* runs */
    int series;                              /* of the report after, when it is of one configuration; else -1 */
    const char *label;                       /* "4 nodes", with ", 8 ranks" or the series if that alone is not unique */
    const char *anchor;                      /* unique: "4", "4-2" */
    int64_t steps_before, steps_after;
    struct equal_work equal;
    double coverage_before, coverage_after;       /* steps / time from the first to the last; 0 = not known */
    int64_t batches_before, batches_after;        /* of a step; 0 = equal, not known, or its samples are known */
    struct compared step, part[N_PARTS];          /* the parts of each side sum to its step */
    int64_t median_before_ns, median_after_ns;    /* of the steps */
    double utilization_before, utilization_after; /* of the traced GPUs, in steps; < 0: no trace gives it */
    struct prediction predictions[N_CLASSES];
    int n_predictions;   /* the cause that the report before names first, then by predicted gain; 0: steps of other work
                          */
    int64_t expected_ns; /* prediction for the first cause that was removed; 0: none was removed */
    int64_t expected_mean_ns; /* the same of the mean step */
    int64_t achieved_ns;      /* median step before - median step after: single slow steps must not count */
    struct tried tried;
    enum confidence confidence; /* in the comparison as a whole */
    struct phrase doubt;        /* why the confidence is not higher */
    int n_same;                 /* runs after that are runs before too: the same archive or file on both sides */
    const char *differing;      /* "data set": what else differs and makes the comparison unfair; "" = nothing */
    /* "0.25 core, 20 Mbit/s each": emulated nodes that differ before and after; "" if they do not. If nothing else was
     * changed, `differing` does not name them, because they are what is compared. */
    const char *nodes_before, *nodes_after;
    /* Names of the programs if they differ, else "". A fix may rename a program, so they are still compared. */
    const char *program_before, *program_after;
    int lost_before, lost_after; /* do traces of runs of a side lack events? */
    int64_t least_steps;         /* of any of its runs */
    struct said said;            /* what changed; set, like the rest, by narrate_comparisons */
    struct phrase forecast[COMPARED_MAX], more[COMPARED_MAX]; /* forecast beside achieved; what else changed */
    struct phrase sure[N_SURE_ITEMS][SAID_MAX];
    const char *confidence_because, *sentence, *support; /* their texts */
};

/** comparison_is_repeated - does a side have repetitions? Else the intervals lack the spread between runs, so a change
 *  outside of them is not established. */
int comparison_is_repeated(const struct comparison *c);

/** comparison_is_of_samples - has a step other samples than before? Then samples per second are compared, and the times
 *  of a step and its parts get no verdict. */
static inline int comparison_is_of_samples(const struct comparison *c)
{
    return c->equal.samples_before > 0;
}

/** comparison_is_of_other_work - has a step other samples, or other batches of samples that are not known? Then its
 * time and its parts explain nothing, and no forecast applies. Test: tests/unit/test_compare.c */
static inline int comparison_is_of_other_work(const struct comparison *c)
{
    return comparison_is_of_samples(c) || c->batches_after > 0;
}
/** comparison_judged - the time of equal work on both sides. */
static inline const struct compared *comparison_judged(const struct comparison *c)
{
    return comparison_is_of_samples(c) ? &c->equal.time : &c->step;
}

/** comparison_order - the parts that took time on a side, by their change, the largest first; last those that a side
 * did not record. out      shape (N_PARTS) returns  how many */
int comparison_order(const struct comparison *c, enum part *out);

/** compare - fill rep->comparisons: one per node count and number of ranks that has runs with steps on both sides. Runs
 *           are compared with runs of the same configuration. The runs left on both sides differ by what was changed,
 *           and are compared together. label and anchor: narrate_comparisons.
 *  rep      analysed; the runs after
 *  before   analysed and narrated report of the runs before; borrows nothing afterwards
 *  returns  how many; 0: rep->no_comparison is why
 *  source   docs/metrics.md#before-and-after. Test: tests/unit/test_compare.c */
int compare(struct report *rep, const struct report *before);

/** changes_of_report - rep->changes of one run before and one after, of as many GPUs, both recorded as a whole or both
 *  in a window: of compared steps, or without steps of as many nodes and ranks in windows of one length. Else it stays
 *  NULL, and rep->no_changes is why. Call after compare(). (compare_names.c)  Test: tests/unit/test_changes.c */
void changes_of_report(struct report *rep, const struct report *before);

#endif
