/* no_steps.c - why a run has no steps that could be analysed, with what was there instead. Called by
 * breakdown.c. Test: tests/unit/test_narrate.c */
#include "render/metrics/breakdown/breakdown_inside.h"

#include "render/metrics/recorded.h"

#include <string.h>

/* What the collector reported about a window in which nothing was recorded; REASON_NONE if it reported nothing. */
static struct reason of_window(const struct run *a)
{
    if (!a->has_window || a->nvtx.state != RECORDER_NOTHING || !*a->nvtx.because)
        return REASON(NONE);
    return REASON(WINDOW_EMPTY, slot_name(a->nvtx.because));
}

/* The names that the program gave, none of which is a step; REASON_NONE if it gave none. */
static struct reason of_names(struct report *rep, const struct run *a)
{
    const struct host_operator *most = NULL;
    for (int i = 0; i < a->ranges.n_names; i++) {
        const struct host_operator *o = &a->ranges.list[i];
        enum category ignored;
        if (event_classify("", o->name, &ignored) == EVENT_STEP)
            return REASON(NONE);
        if (!most || o->n > most->n || (o->n == most->n && strcmp(o->name, most->name) < 0))
            most = o;
    }
    if (!most)
        return REASON(NONE);
    return REASON(NO_RANGE_IS_STEP, slot_count(a->ranges.n), slot_name(report_text(rep, "%.80s", most->name)),
                  slot_count(most->n));
}

struct reason why_no_steps(struct report *rep, const struct run *a, int n_ranks_with_steps)
{
    for (int i = 0; i < a->ranks_len; i++)
        if (rank_lost_steps(&a->ranks[i]))
            return REASON(STEPS_LOST);
    if (n_ranks_with_steps)
        return REASON(STEPS_OF_SOME_RANKS);
    if (a->summary.n_steps)
        return REASON(STEPS_WITHOUT_PHASES, slot_name(a->summary.source));
    if (a->n_traces)
        return REASON(TRACES_WITHOUT_STEPS);
    if (*a->collector_version) {
        struct reason window = of_window(a), names = window.code ? REASON(NONE) : of_names(rep, a);
        return window.code ? window : names.code ? names : REASON(STEPS_NOT_NAMED);
    }
    return a->is_foreign ? REASON(NOTHING_HOLDS_STEPS) : REASON(NO_STEPS);
}
