/* no_steps.c - why a run has no steps that could be analysed, in a sentence that says what was there instead. Called by
 * breakdown.c. Test: tests/unit/test_narrate.c */
#include "render/analyse/breakdown.h"

#include "render/analyse/analyse.h"

#include "render/say/format.h"

#include <string.h>

/* What the collector said of a window in which nothing was recorded; "" when it did not. */
static const char *window_because(struct report *rep, const struct run *a)
{
    static const char nothing[] = "nothing recorded because ";
    const char *why = a->nvtx_status;
    if (!a->has_window || strncmp(why, nothing, sizeof nothing - 1) != 0)
        return "";
    return report_text(rep,
                       "n/a because nothing was recorded in the window that was asked for: %s; how many steps the "
                       "program made is not known, since outside the window nothing is counted",
                       why + sizeof nothing - 1);
}

/* What the program named although no step is among it; "" when nothing. */
static const char *named_because(struct report *rep, const struct run *a)
{
    const struct host_operator *most = NULL;
    for (int i = 0; i < a->ranges.n_names; i++) {
        const struct host_operator *o = &a->ranges.list[i];
        enum category ignored;
        if (event_classify("", o->name, &ignored) == EVENT_STEP)
            return "";
        if (!most || o->n > most->n || (o->n == most->n && strcmp(o->name, most->name) < 0))
            most = o;
    }
    if (!most)
        return "";
    return report_text(rep, "n/a because no range is called step: %s %s recorded, most often '%.80s' (%lld times)",
                       fmt_count(a->ranges.n, "range").text, a->ranges.n == 1 ? "was" : "were", most->name,
                       (long long)most->n);
}

const char *no_steps_because(struct report *rep, const struct run *a, int n_ranks_with_steps)
{
    if (recorded_part(a).n_ranks_lost)
        return "n/a because events were lost while it was recorded, and no step before that is whole on all ranks";
    if (n_ranks_with_steps)
        return "n/a because no step was recorded on all ranks";
    if (a->summary.n_steps)
        return report_text(rep, "n/a because a %s holds step times but no phases", a->summary.source);
    if (a->n_traces)
        return "n/a because the traces mark no steps";
    if (*a->collector_version) {
        const char *window = window_because(rep, a), *named = *window ? "" : named_because(rep, a);
        return *window  ? window
               : *named ? named
                        : "n/a because the run was watched and no steps were named (no NVTX range of a step, no "
                          "steps.csv)";
    }
    return a->is_foreign ? "n/a because nothing that was given holds steps"
                         : "n/a because no steps were recorded (no steps.csv, no trace)";
}
