/* device_claims.c - the sentence about GPU traces that mark no steps. */
#include "render/narrate/devices.h"
#include "render/say/format.h"

#include "render/analyse/analyse.h"
#include "render/narrate/actions.h"
#include "render/narrate/claims.h"

#include <string.h>

/* Steps may be marked and yet not be those of one run. */
static int marks_steps(const struct run *r)
{
    for (int i = 0; i < r->n_traces; i++)
        if (r->traces[i].steps.n_steps)
            return 1;
    return 0;
}

/* The same recording in another file, an export beside a table of it: the one that knows causes counts. */
static int is_told_better(const struct run *r, const struct run_device *d)
{
    int is_before = 1;
    for (int i = 0; i < r->n_traces; i++)
        for (int k = 0; k < r->traces[i].n_devices; k++) {
            const struct run_device *other = &r->traces[i].devices[k];
            if (other == d)
                is_before = 0;
            else if (other->device == d->device && memcmp(other->value, d->value, sizeof d->value) == 0 &&
                     (other->has_idle_causes > d->has_idle_causes ||
                      (is_before && other->has_idle_causes == d->has_idle_causes)))
                return 1;
        }
    return 0;
}

static const struct run_device *most_idle(const struct run *r, int *n)
{
    const struct run_device *worst = NULL;
    *n = 0;
    for (int i = 0; i < r->n_traces; i++)
        for (int k = 0; k < r->traces[i].n_devices; k++) {
            const struct run_device *d = &r->traces[i].devices[k];
            double idle = d->value[DEV_SPAN] > 0 ? (double)d->value[DEV_IDLE] / (double)d->value[DEV_SPAN] : -1;
            if (idle < 0 || is_told_better(r, d))
                continue;
            (*n)++;
            if (!worst || idle > (double)worst->value[DEV_IDLE] / (double)worst->value[DEV_SPAN])
                worst = d;
        }
    return worst;
}

const char *device_headline(struct report *rep, const struct run *r)
{
    static const char *const reasons[N_IDLE_CAUSES] = {
        [IDLE_DATA] = "the host was loading data",
        [IDLE_IO] = "the host was reading or writing files",
        [IDLE_HOST] = "the host had not launched the next operation yet",
        [IDLE_SYNC] = "the host waited in a synchronising call with the next operation queued",
        [IDLE_PEER] = "a collective that was launched already waited for other ranks",
        [IDLE_LAUNCH] = "queued operations followed each other with gaps under 10 us",
        [IDLE_OTHER] = "no cause is known"};
    int n;
    const struct run_device *d = most_idle(r, &n);
    if (!d)
        return NULL;
    const int64_t *v = d->value;
    double span = (double)v[DEV_SPAN];
    if (v[DEV_KERNELS] + v[DEV_MEMCPYS] + v[DEV_MEMSETS] == 1)
        return report_text(rep,
                           "'%s' holds one operation of GPU %lld, of %s: how busy the GPU was is n/a because there is "
                           "nothing beside it.",
                           d->file, (long long)d->device, fmt_time(v[DEV_SPAN]).text);
    const char *who = n > 1 ? report_text(rep, "Of %d traced GPUs the one with most idle time, GPU %lld of '%s',", n,
                                          (long long)d->device, d->file)
                            : report_text(rep, "GPU %lld", (long long)d->device);
    const char *why = "";
    int largest = 0;
    for (int c = 1; c < N_IDLE_CAUSES; c++)
        largest = d->idle_ns[c] > d->idle_ns[largest] ? c : largest;
    if (d->has_idle_causes && v[DEV_IDLE] > 0)
        why = report_text(rep, "; for %s of that idle time %s",
                          fmt_percent((double)d->idle_ns[largest] / (double)v[DEV_IDLE]).text, reasons[largest]);
    const char *comm = v[DEV_COMM_KERNELS] ? report_text(rep, ", %s communication",
                                                         fmt_percent((double)v[DEV_EXPOSED_COMM] / span).text)
                                           : "";
    return report_text(rep, "%s was idle for %s of its span of %s (%s compute%s, %s exposed copies)%s. %s", who,
                       fmt_percent((double)v[DEV_IDLE] / span).text, fmt_time(v[DEV_SPAN]).text,
                       fmt_percent((double)v[DEV_COMPUTE] / span).text, comm,
                       fmt_percent((double)v[DEV_EXPOSED_MEM] / span).text, why,
                       marks_steps(r) ? "The steps that are marked are not analysed."
                       : n > 1        ? "The traces mark no steps."
                                      : "The trace marks no steps.");
}

/* What the class of each cause of idle time advises; N_CLASSES: nothing that is known. */
static enum cause_class class_of(enum idle_cause c)
{
    static const enum cause_class of[N_IDLE_CAUSES] = {[IDLE_DATA] = CLASS_DATA,          [IDLE_IO] = CLASS_IO,
                                                       [IDLE_HOST] = CLASS_HOST,          [IDLE_SYNC] = CLASS_HOST,
                                                       [IDLE_PEER] = CLASS_COMMUNICATION, [IDLE_LAUNCH] = CLASS_HOST,
                                                       [IDLE_OTHER] = N_CLASSES};
    return of[c];
}

const char *device_action(struct report *rep, const struct run_result *r)
{
    int n, largest = 0;
    const struct run_device *d = most_idle(r->run, &n);
    if (!d || marks_steps(r->run))
        return NULL;
    int is_by_nvtx = r->run->traces[0].kind != FOREIGN_KINETO;
    const char *mark = is_by_nvtx ? "an NVTX range \"step\" around each" : "the profiler's step() behind each";
    for (int c = 1; c < N_IDLE_CAUSES; c++)
        largest = d->idle_ns[c] > d->idle_ns[largest] ? c : largest;
    enum cause_class cls = class_of((enum idle_cause)largest);
    double idle = (double)d->value[DEV_IDLE] / (double)d->value[DEV_SPAN];
    if (!d->has_idle_causes || idle < 1 - rep->thresholds.gpu_utilization || cls == N_CLASSES)
        return report_text(rep, "Mark the steps (%s), so that shares of step time are known.", mark);
    return report_text(rep,
                       "%s; the GPU's span of %s can shrink by up to %s. Mark the steps (%s), so "
                       "that shares of step time are known.",
                       action_sentence(rep, action_for(rep, r, cls)), fmt_time(d->value[DEV_SPAN]).text,
                       fmt_time(d->idle_ns[largest]).text, mark);
}
