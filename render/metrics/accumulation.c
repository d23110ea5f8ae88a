/* accumulation.c - gradient accumulation: is a step one batch or several micro-batches? See rules.h. */
#include "render/metrics/rule.h"

#include "render/device/activity.h"

#include <string.h>

/* Backward passes for each run of the optimiser, by ranges of native traces, all ranks together. The number must be
 * constant, except where the ends of the recording cut it. Forward passes do not tell, because validation has them too.
 */
static int64_t by_ranges(const struct run *a)
{
    int64_t n[N_STEP_MARKS] = {0};
    for (int i = 0; i < a->ranges.n_names; i++) {
        const struct host_operator *o = &a->ranges.list[i];
        int mark = step_mark_of(o->name, strlen(o->name));
        if (mark >= 0)
            n[mark] += o->n;
    }
    int64_t backward = n[MARK_BACKWARD_PASS], runs = n[MARK_OPTIMIZER_RUN];
    int64_t each = runs > 0 ? (backward + runs / 2) / runs : 0, off = backward - each * runs;
    return each > 0 && 20 * (off < 0 ? -off : off) <= backward ? each : 0;
}

/* The traces of a run agree, or nothing is known. */
static void by_traces(struct report *rep, struct run_result *r)
{
    const struct accumulation *first = NULL;
    for (int i = 0; i < r->run->n_traces; i++) {
        const struct accumulation *a = &r->run->traces[i].accumulation;
        if (!r->run->traces[i].steps.n_steps)
            continue;
        if (first && (a->micro_batches != first->micro_batches || a->steps_between != first->steps_between)) {
            r->accumulation.why = REASON(BATCHES_DISAGREE);
            return;
        }
        first = a;
    }
    if (!first)
        return;
    if (first->micro_batches == 0) {
        if (first->why.code)
            r->accumulation.why = first->why;
        return;
    }
    r->accumulation = (struct accumulated){first->micro_batches, first->steps_between,
                                           report_text(rep, "%s in the trace", first->by), REASON(NONE)};
}

void accumulation(struct report *rep, struct run_result *r)
{
    r->accumulation = (struct accumulated){.source = "", .why = REASON(BATCHES_OF_STEP)};
    int64_t ranges = by_ranges(r->run);
    if (r->run->program.accumulate > 0)
        r->accumulation = (struct accumulated){r->run->program.accumulate, 0, "program.json", REASON(NONE)};
    else if (ranges > 0)
        r->accumulation = (struct accumulated){ranges, 0, "backward passes in native traces", REASON(NONE)};
    else
        by_traces(rep, r);
}
