/* stepless_action.c - what to do about a run whose steps are not known: what its traces or reports of other tools say
 * by themselves, and how the next run has steps. Test: tests/unit/test_narrate.c */
#include "render/narrate/claims.h"

#include "render/analyse/analyse.h"
#include "render/narrate/devices.h"
#include "render/narrate/failed.h"
#include "render/narrate/talp_claims.h"

#include <string.h>

/* How the steps of a run without them can be known: by names where it was watched, else by who watches. */
static const char *steps_action(const struct run *r)
{
    if (*r->collector_version && r->has_window && !r->ranges.n && r->nvtx.state == RECORDER_NOTHING)
        return "Record again with a window that the run reaches (--steps, --delay, --duration, --capture-range), or "
               "without one.";
    if (*r->collector_version && r->ranges.n)
        return "Call the range around each step of the program \"step\" (or another name of steps; numbers may "
               "follow), and those of its phases as docs/FORMAT.md has them.";
    if (*r->collector_version)
        return "Name the steps of the program with NVTX, nvtxRangePush(\"step\") and nvtxRangePop() around each, and "
               "its phases within.";
    int is_marked = 0, n_devices = 0; /* marked and yet not analysed: that is no advice */
    int has_counters = 0;
    int64_t n_events = 0, n_calls = 0;
    for (int i = 0; i < r->n_traces; i++) {
        is_marked |= r->traces[i].steps.n_steps > 0;
        n_devices += r->traces[i].n_devices;
        n_events += r->traces[i].n_events;
        n_calls += r->traces[i].n_calls;
        has_counters |= r->traces[i].counters != NULL;
    }
    if (has_counters && !is_marked && !n_devices)
        return "Record the next run without counters (PyTorch: no profiler_metrics in experimental_config), since the "
               "profiler records either those or when each operation ran, and mark the steps, the profiler's step() "
               "behind each.";
    if (n_calls && !is_marked && !n_devices)
        return "The run called the runtime of a GPU: record what that did, too (PyTorch: ProfilerActivity.CUDA; nsys: "
               "--trace=cuda), and mark the steps, the profiler's step() behind each.";
    if (r->n_traces && !is_marked && n_events && !n_devices)
        return "If the run used a GPU, record its work too (PyTorch: ProfilerActivity.CUDA; nsys: --trace=cuda), and "
               "mark "
               "the steps, the profiler's step() behind each.";
    if (r->n_traces && !is_marked)
        return foreign_is_nsys(r->traces[0].kind)
                   ? "Mark the steps of the next run with NVTX, a range \"step\" around each."
                   : "Mark the steps of the next run, the profiler's step() behind each.";
    return "Let dccollect run watch the next run; it records the steps and their phases.";
}

void say_what_to_do_without_steps(struct report *rep, struct run_result *r)
{
    r->steps_action = steps_action(r->run);
    r->stepless_action = (struct to_do){"", 0};
    r->stepless_advice = "";
    if (r->has_steps)
        return;
    if (*failed_headline(rep, r)) {
        r->steps_action = r->stepless_advice = failed_action(rep, r, r->steps_action);
        r->stepless_action = (struct to_do){r->steps_action, 1};
        return;
    }
    int is_first = 1;
    const char *known = device_action(rep, r), *talp = known ? NULL : talp_action(rep, r->run, &is_first);
    r->stepless_action = known  ? (struct to_do){known, 1}
                         : talp ? (struct to_do){talp, is_first}
                                : (struct to_do){r->steps_action, 1};
    r->stepless_advice =
        known ? known
        : talp
            ? report_text(rep, "%s With dccollect run around it a run has its steps and their phases recorded.", talp)
            : report_text(rep, "Without steps it cannot be told what limits a step. %s", r->steps_action);
}
