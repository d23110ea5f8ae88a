/* device_claims.c - findings in GPU traces, with or without steps. Test: tests/unit/test_devices_told.c */
#include "render/findings/stepless.h"
#include "render/say/say.h"

#include "render/findings/rules/analyse.h"
#include "render/findings/actions.h"
#include "render/findings/claims.h"
#include "render/metrics/device_shares.h"

#include <string.h>

/* Does a trace mark steps? They need not be the steps of one run. */
static int marks_steps(const struct run *r)
{
    for (int i = 0; i < r->n_traces; i++)
        if (r->traces[i].steps.n_steps)
            return 1;
    return 0;
}

/* Is the same recording in another file, such as an export beside a table of it, that knows causes? Then that file
 * counts. */
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

/* A step of a small network launches more kernels than this. A trace with fewer shows a start-up or single calls. */
enum { FEW_KERNELS = 200 };

static int64_t operations(const struct run_device *d)
{
    return d->value[DEV_KERNELS] + d->value[DEV_MEMCPYS] + d->value[DEV_MEMSETS];
}

static enum idle_cause largest_cause(const struct run_device *d)
{
    int largest = 0;
    for (int c = 1; c < N_IDLE_CAUSES; c++)
        largest = d->idle_ns[c] > d->idle_ns[largest] ? c : largest;
    return (enum idle_cause)largest;
}

static struct phrase idle_cause(const struct run_device *d)
{
    static const enum phrase_id of[N_IDLE_CAUSES] = {
        [IDLE_DATA] = PHRASE_GPU_IDLE_DATA,   [IDLE_IO] = PHRASE_GPU_IDLE_IO,
        [IDLE_HOST] = PHRASE_GPU_IDLE_HOST,   [IDLE_SYNC] = PHRASE_GPU_IDLE_SYNC,
        [IDLE_PEER] = PHRASE_GPU_IDLE_PEER,   [IDLE_LAUNCH] = PHRASE_GPU_IDLE_LAUNCH,
        [IDLE_OTHER] = PHRASE_GPU_IDLE_OTHER,
    };
    enum idle_cause c = largest_cause(d);
    if (!d->has_idle_causes || d->value[DEV_IDLE] <= 0)
        return PHRASE(NONE);
    return (struct phrase){.id = of[c], .slot = {slot_percent((double)d->idle_ns[c] / (double)d->value[DEV_IDLE])}};
}

/* The cause of more than half of the idle time, or "" if no cause has so much. */
static const char *why_idle(const struct run_device *d)
{
    enum idle_cause c = largest_cause(d);
    return d->has_idle_causes && 2 * d->idle_ns[c] > d->value[DEV_IDLE] ? idle_cause_words(c, IDLE_MOSTLY) : "";
}

struct phrase phrase_of_host_line(const struct foreign_trace *t, int n_traces)
{
    enum { LEAST_PERCENT = 10 }; /* a smaller part explains too little */
    struct function_share f;
    return largest_function(t, n_traces, 0, &f) && 100 * f.share >= LEAST_PERCENT
               ? PHRASE(GPU_IDLE_LINE, slot_name(f.function), slot_name(f.place), slot_percent(f.share))
               : PHRASE(NONE);
}

struct phrase phrase_of_stacks(const struct run *r, const struct foreign_trace *t, int n_traces)
{
    for (int i = 0; i < n_traces; i++)
        if (t[i].kind != FOREIGN_KINETO || t[i].code.has_stacks)
            return PHRASE(NONE);
    return n_traces && run_may_be_torch(r) ? PHRASE(GPU_IDLE_STACKS) : PHRASE(NONE);
}

/* The function that ran longest while the host kept the device waiting, or how to see it. */
static struct phrase idle_line(const struct report *rep, const struct run *r, const struct run_device *d)
{
    const struct foreign_trace *t = NULL;
    for (int i = 0; i < r->n_traces; i++)
        if (d >= r->traces[i].devices && d < r->traces[i].devices + r->traces[i].n_devices)
            t = &r->traces[i];
    if (!t || cause_of_idle(rep, r) != CLASS_HOST || largest_cause(d) != IDLE_HOST)
        return PHRASE(NONE);
    struct phrase p = phrase_of_host_line(t, 1);
    return p.id ? p : phrase_of_stacks(r, t, 1);
}

static double share_of(const struct run_device *d, enum device_column c)
{
    return (double)d->value[c] / (double)d->value[DEV_SPAN];
}

static struct phrase headline(const struct report *rep, const struct run_device *d, int n)
{
    const struct thresholds *t = &rep->thresholds;
    double idle = device_idle_ratio(d);
    const char *because = why_idle(d);
    struct slot gpu = slot_count(d->device), gpus = slot_count(n), span = slot_time(d->value[DEV_SPAN]);
    if (idle >= 1 - t->gpu_utilization && *because)
        return n > 1 ? PHRASE(GPUS_IDLE_MOSTLY, gpus, slot_percent(idle), slot_name(because))
                     : PHRASE(GPU_IDLE_MOSTLY, gpu, slot_percent(idle), slot_name(because));
    if (idle >= 1 - t->gpu_utilization)
        return n > 1 ? PHRASE(GPUS_IDLE, gpus, slot_percent(idle), span)
                     : PHRASE(GPU_IDLE, gpu, slot_percent(idle), span);
    if (share_of(d, DEV_EXPOSED_COMM) > t->comm_limits)
        return PHRASE(GPU_COMMUNICATES, slot_percent(share_of(d, DEV_EXPOSED_COMM)));
    if (share_of(d, DEV_EXPOSED_MEM) > t->copy_limits)
        return PHRASE(GPU_COPIES, slot_percent(share_of(d, DEV_EXPOSED_MEM)));
    return n > 1 ? PHRASE(GPUS_COMPUTE, gpus, slot_percent(share_of(d, DEV_COMPUTE)))
                 : PHRASE(GPU_COMPUTES, gpu, slot_percent(share_of(d, DEV_COMPUTE)), span);
}

int say_devices(const struct report *rep, const struct run *r, int has_steps, struct said *out)
{
    int n;
    const struct run_device *d = most_idle(r, &n);
    if (!d)
        return 0;
    const int64_t *v = d->value;
    *out = (struct said){0};
    if (operations(d) == 1) {
        out->headline = PHRASE(GPU_ONE_OPERATION, slot_name(d->file), slot_time(v[DEV_SPAN]));
        said_add(out, PHRASE(ONE_OPERATION_SHOWS));
        return 1;
    }
    if (v[DEV_KERNELS] < FEW_KERNELS) {
        out->headline =
            PHRASE(GPU_FEW_KERNELS, slot_count(d->device), slot_count(v[DEV_KERNELS]), slot_time(v[DEV_SPAN]));
        said_add(out, PHRASE(GPU_WORKED, slot_time(v[DEV_SPAN] - v[DEV_IDLE])));
        said_add(out, PHRASE(GPU_START_UP));
        return 1;
    }
    out->headline = headline(rep, d, n);
    if (n > 1)
        said_add(out, PHRASE(LEAST_BUSY_GPU, slot_count(d->device), slot_name(d->file)));
    if (device_idle_ratio(d) < 1 - rep->thresholds.gpu_utilization)
        said_add(out, PHRASE(GPU_WAS_IDLE, slot_count(d->device), slot_percent(device_idle_ratio(d))));
    said_add(out, idle_cause(d));
    said_add(out, idle_line(rep, r, d));
    if (share_of(d, DEV_EXPOSED_COMM) > rep->thresholds.loss_matters && out->headline.id != PHRASE_GPU_COMMUNICATES)
        said_add(out, PHRASE(GPU_COMMUNICATION, slot_percent(share_of(d, DEV_EXPOSED_COMM))));
    if (out->headline.id != PHRASE_GPU_COMPUTES && out->headline.id != PHRASE_GPUS_COMPUTE)
        said_add(out, PHRASE(GPU_COMPUTE, slot_percent(share_of(d, DEV_COMPUTE)),
                             slot_percent(share_of(d, DEV_EXPOSED_MEM))));
    if (!has_steps && marks_steps(r))
        said_add(out, PHRASE(MARKED_NOT_USED));
    return 1;
}

/* The class whose advice fits a cause of idle time; N_CLASSES: no advice is known. */
static enum cause_class class_of(enum idle_cause c)
{
    static const enum cause_class of[N_IDLE_CAUSES] = {[IDLE_DATA] = CLASS_DATA,          [IDLE_IO] = CLASS_IO,
                                                       [IDLE_HOST] = CLASS_HOST,          [IDLE_SYNC] = CLASS_HOST,
                                                       [IDLE_PEER] = CLASS_COMMUNICATION, [IDLE_LAUNCH] = CLASS_HOST,
                                                       [IDLE_OTHER] = N_CLASSES};
    return of[c];
}

/* Only a training has steps that a user can mark: it computes gradients or exchanges them between GPUs. */
static int has_steps_to_mark(const struct run *r)
{
    if (is_training(r))
        return 1;
    for (int i = 0; i < r->n_traces; i++) {
        const struct host_operators *all = &r->traces[i].operators;
        for (int k = 0; k < all->n_names; k++)
            if (strcasestr(all->list[k].name, "optimizer") || strcasestr(all->list[k].name, "backward"))
                return 1;
        for (int k = 0; k < r->traces[i].n_devices; k++)
            if (r->traces[i].devices[k].value[DEV_COMM_KERNELS] > 1)
                return 1;
    }
    return 0;
}

enum cause_class cause_of_idle(const struct report *rep, const struct run *r)
{
    int n;
    const struct run_device *d = most_idle(r, &n);
    int is_idle =
        d && d->value[DEV_KERNELS] >= FEW_KERNELS && device_idle_ratio(d) >= 1 - rep->thresholds.gpu_utilization;
    return is_idle && d->has_idle_causes ? class_of(largest_cause(d)) : N_CLASSES;
}

int advise_devices(struct report *rep, const struct run_result *r, struct stepless_advice *out)
{
    int n;
    const struct run_device *d = most_idle(r->run, &n);
    if (!d || marks_steps(r->run))
        return 0;
    *out = (struct stepless_advice){0};
    enum cause_class cls = class_of(largest_cause(d));
    int is_idle = device_idle_ratio(d) >= 1 - rep->thresholds.gpu_utilization;
    int is_by_nvtx = r->run->traces[0].kind != FOREIGN_KINETO;
    struct advised mark = !has_steps_to_mark(r->run) ? ADVISE(NONE)
                          : is_by_nvtx               ? ADVISE(MARK_RANGES)
                                                     : ADVISE(MARK_STEPS);
    if (operations(d) == 1 || d->value[DEV_KERNELS] < FEW_KERNELS) {
        out->first = ADVISE(NOTHING_ONE_TRACE);
    } else if (is_idle && d->has_idle_causes && cls != N_CLASSES) {
        struct action a = action_for(rep, r, cls);
        out->first.id = a.id;
        out->words = report_text(rep, "%s.", action_sentence(rep, a));
        out->result = PHRASE(IDLE_COSTS, slot_time(d->idle_ns[largest_cause(d)]), slot_time(d->value[DEV_SPAN]));
        out->then = mark;
        out->is_first = 1;
    } else if (mark.id || is_idle) {
        out->first = mark.id ? mark : ADVISE(TRACE_HOST);
        out->is_first = 1;
    } else {
        out->first = ADVISE(NOTHING_BUSY);
    }
    return 1;
}
