/* unjudged.c - what may hide in the compute of a run because nothing was recorded of it. See analyse.h. */
#include "render/findings/rules/analyse.h"
#include "render/metrics/rule.h"

#include "render/say/say.h"

/* Ranges of a host hold whatever nobody named; of a GPU, compute is kernels, and nothing else is in it. */
const char *unrecorded_in_compute(struct report *rep, const struct run_result *r)
{
    static const struct {
        enum cause_class cls;
        const char *name;
    } hidden[] = {{CLASS_COMMUNICATION, "communication"}, {CLASS_DATA, "data loading"}, {CLASS_IO, "I/O"}};
    const char *names[sizeof hidden / sizeof *hidden];
    int n = 0;
    for (size_t i = 0; !r->pop.is_of_gpus && i < sizeof hidden / sizeof *hidden; i++)
        if (r->classes[hidden[i].cls].is_unrecorded)
            names[n++] = hidden[i].name;
    return n == 0   ? ""
           : n == 1 ? names[0]
           : n == 2 ? report_text(rep, "%s or %s", names[0], names[1])
                    : report_text(rep, "%s, %s or %s", names[0], names[1], names[2]);
}

/* What would let the report judge memory, by the reason why it cannot. */
static const char *const remedies[N_REASONS] = {
    [REASON_NODE_NOT_CALIBRATED] = "run dccollect calibrate on it",
    [REASON_CALIBRATION_DISTURBED] = "calibrate again while nothing else runs",
    [REASON_CALIBRATION_OF_PROCESSORS] =
        "state what one can do (dccollect run --label peak_gflop_per_s=N --label peak_gb_per_s=N)",
    [REASON_NOT_CALIBRATED] = "run dccollect calibrate before the run",
    [REASON_CALIBRATION_DISAGREES] = "calibrate again while nothing else runs, and check flop_per_step and "
                                     "traffic_bytes_per_step of program.json",
    [REASON_STATED_PEAKS_DISAGREE] = "state the peaks of one rank anew, and check flop_per_step and "
                                     "traffic_bytes_per_step of program.json",
};

const char *how_to_judge_memory(const struct run_result *r)
{
    const char *told = remedies[r->classes[CLASS_MEMORY].why.code];
    return is_memory_judged(r) ? ""
           : told              ? told
           : r->pop.is_of_gpus ? "ncu (Nsight Compute) tells it of each kernel"
                               : "a program.json with its operations and traffic, and dccollect calibrate, tell";
}

enum confidence unless_unjudged(struct report *rep, const struct run_result *r, enum confidence sure,
                                const char **because)
{
    const char *unrecorded = unrecorded_in_compute(rep, r);
    if (sure != CONFIDENCE_HIGH || (is_memory_judged(r) && !*unrecorded))
        return sure;
    struct phrase p = !is_memory_judged(r) ? PHRASE(SURE_MEMORY) : PHRASE(SURE_UNRECORDED, slot_name(unrecorded));
    *because = say_phrase(&rep->arena, &p);
    return CONFIDENCE_MEDIUM;
}
