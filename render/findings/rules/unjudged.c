/* unjudged.c - what the compute of a run may contain because it was not recorded. See analyse.h. */
#include "render/findings/rules/analyse.h"
#include "render/metrics/rule.h"

#include "render/say/say.h"

/* Ranges of a host also hold unnamed work. On a GPU, compute is kernels and nothing else. */
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
    return say_either(&rep->arena, names, n);
}

struct phrase remedy_of_memory(const struct run_result *r)
{
    if (is_memory_judged(r))
        return PHRASE(NONE);
    switch (r->classes[CLASS_MEMORY].why.code) {
    case REASON_NODE_NOT_CALIBRATED:
    case REASON_NOT_CALIBRATED:
        return PHRASE(JUDGE_CALIBRATE);
    case REASON_CALIBRATION_DISTURBED:
        return PHRASE(JUDGE_CALIBRATE_AGAIN);
    case REASON_CALIBRATION_OF_PROCESSORS:
        return PHRASE(JUDGE_STATE_PEAKS);
    case REASON_CALIBRATION_DISAGREES:
        return PHRASE(JUDGE_CALIBRATION);
    case REASON_STATED_PEAKS_DISAGREE:
        return PHRASE(JUDGE_PEAKS);
    default:
        return r->pop.is_of_gpus ? PHRASE(JUDGE_NCU) : PHRASE(JUDGE_COUNTS);
    }
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
