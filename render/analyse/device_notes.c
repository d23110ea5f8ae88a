/* device_notes.c - what is said of GPU traces besides the classes: calls that a step should not hold, memory that
 * grows, products that do not use tensor cores.  source: docs/metrics.md#rules. Test: tests/unit/test_caveats.c */
#include "render/analyse/analyse.h"
#include "render/analyse/gpu_memory.h"
#include "render/analyse/rules.h"

#include "render/say/format.h"
#include "render/say/say.h"

#include <string.h>

/* What has been said, so that GPUs of which the same is true share one note. */
struct told {
    const char *text; /* without the GPU */
    const char *who;  /* the first GPU */
    int n_gpus, note; /* note: index into r->notes */
};
struct notes {
    struct report *rep;
    struct run_result *r;
    struct told said[RUN_MAX_NOTES];
    int n_said;
    int is_torch; /* its words fit */
};

static const char *who(struct report *rep, const struct run *run, const struct run_device *d)
{
    return run->n_traces > 1 ? report_text(rep, "GPU %lld of %s", (long long)d->device, d->file)
                             : report_text(rep, "GPU %lld", (long long)d->device);
}

static void note(struct notes *x, const struct run_device *d, const char *text)
{
    struct run_result *r = x->r;
    struct told *s = x->said;
    while (s < x->said + x->n_said && strcmp(s->text, text) != 0)
        s++;
    if (s < x->said + x->n_said) {
        s->n_gpus++;
        r->notes[s->note] =
            report_text(x->rep, "%s, and alike %s: %s", s->who, fmt_count(s->n_gpus - 1, "other GPU").text, text);
    } else if (r->n_notes < RUN_MAX_NOTES && x->n_said < RUN_MAX_NOTES) {
        *s = (struct told){text, who(x->rep, r->run, d), 1, r->n_notes};
        x->n_said++;
        r->notes[r->n_notes++] = report_text(x->rep, "%s: %s", s->who, text);
    }
}

static const char *per_step(struct report *rep, int64_t n, int64_t n_steps)
{
    return report_text(rep, "%s a step (%lld in %s)", fmt_number((double)n / (double)n_steps).text, (long long)n,
                       fmt_count(n_steps, "step").text);
}

/* A call may wait for another device, or for what has long been done: what they cost is said where it was seen, in
 * gaps that began during such a call and whose end was launched only then; from a hundredth of the steps' time. */
static void note_syncs(struct notes *x, const struct run_device *d)
{
    const char *count = per_step(x->rep, d->n_syncs, d->n_steps);
    if (!d->has_idle_causes)
        note(x, d,
             report_text(x->rep,
                         "the host synchronised inside steps, %s; whether the device lacked work behind that cannot be "
                         "told: %s.",
                         count, say_clause(&x->rep->arena, &d->idle_why)));
    else if (100 * (double)d->steps_behind_sync_ns < (double)d->steps_ns)
        note(x, d,
             report_text(x->rep,
                         "the host synchronised inside steps, %s; that cost little: under 1 %% of their time the "
                         "device idled behind such a call.",
                         count));
    else
        note(x, d,
             report_text(x->rep,
                         "the host synchronised inside steps, %s: the device ran dry during such calls and idled %s, "
                         "%s of the steps, until something was launched again. %s do that; once a step is enough.",
                         count, fmt_time(d->steps_behind_sync_ns).text,
                         fmt_percent((double)d->steps_behind_sync_ns / (double)d->steps_ns).text,
                         x->is_torch ? "torch.cuda.synchronize(), .item() and cudaStreamSynchronize"
                                     : "cudaDeviceSynchronize and cudaStreamSynchronize"));
}

/* More than one a step: each makes the host wait for the GPU. */
static void note_calls(struct notes *x, const struct run_device *d)
{
    struct report *rep = x->rep;
    int64_t n = d->n_mallocs + d->n_frees;
    if (n > d->n_steps)
        note(x, d,
             report_text(x->rep,
                         "memory of the device was allocated or released %s by cudaMalloc, cudaFree or their "
                         "like; both wait for the GPU. Take buffers before the loop, or from a pool%s.",
                         per_step(rep, n, d->n_steps),
                         x->is_torch
                             ? ": PyTorch's allocator keeps them unless empty_cache() is called or memory is short"
                             : " (cudaMallocAsync)"));
    if (d->n_to_host > d->n_steps)
        note(x, d,
             report_text(x->rep, "copies to the host were launched inside steps, %s; %s. %s",
                         per_step(rep, d->n_to_host, d->n_steps),
                         d->n_syncs
                             ? report_text(rep, "the host synchronised %s", per_step(rep, d->n_syncs, d->n_steps))
                             : "no call in the trace shows whether the host waited for them",
                         x->is_torch ? ".item(), .cpu() and printing a tensor do that. Keep losses on the GPU and read "
                                       "them every few steps."
                                     : "Keep results on the GPU and read them every few steps."));
    else if (d->n_syncs > d->n_steps) /* with the copies it is said beside them */
        note_syncs(x, d);
}

/* How full it is says gpu_memory.c. */
static void note_memory(struct notes *x, const struct run_device *d)
{
    const struct device_memory *m = &d->memory;
    int64_t peak = m->peak_reserved > m->peak_allocated ? m->peak_reserved : m->peak_allocated;
    double whole = d->memory_total_bytes > 0 ? (double)d->memory_total_bytes : (double)peak;
    if (!m->n || whole <= 0)
        return;
    if (m->has_growth && m->n_step_peaks >= 10 && gpu_memory_grows(m->growth_bytes_per_step, whole))
        note(x, d,
             report_text(x->rep,
                         "memory grows by %s a step (line through the peaks of %s), over 1 %% of %s in 100 "
                         "steps. Something keeps %s.",
                         fmt_bytes(m->growth_bytes_per_step).text, fmt_count(m->n_step_peaks, "step").text,
                         d->memory_total_bytes > 0 ? "the GPU's memory" : "its peak",
                         x->is_torch ? "tensors: a list of losses with their graphs is the usual one" : "buffers"));
}

/* Half of what could, and a fifth of kernel time at stake. */
static void note_tensor_cores(struct notes *x, const struct run_device *d)
{
    int64_t without = d->eligible_ns - d->tensor_ns;
    if (d->eligible_ns <= 0 || 2 * d->tensor_ns >= d->eligible_ns || 5 * without < d->value[DEV_KERNEL_SUM])
        return;
    note(x, d,
         report_text(x->rep,
                     "by their names %s of the time of matrix products and convolutions used tensor cores; the "
                     "others take %s of kernel time. Mixed precision (%sbf16 or TF32) would move them "
                     "there, if the GPU has such cores.",
                     fmt_percent((double)d->tensor_ns / (double)d->eligible_ns).text,
                     fmt_percent((double)without / (double)d->value[DEV_KERNEL_SUM]).text,
                     x->is_torch ? "autocast, " : ""));
}

/* A fifth of the steps before the trace's first operation. */
static void note_lead(struct notes *x, const struct run_device *d)
{
    if (5 * d->steps_lead_ns > d->steps_ns)
        note(x, d,
             report_text(x->rep,
                         "%s of the %s of its steps pass before its first operation in the trace. The start of the "
                         "profiler may be in it: profile several steps behind a warm-up%s.",
                         fmt_time(d->steps_lead_ns).text, fmt_time(d->steps_ns).text,
                         x->is_torch ? " (torch.profiler.schedule(wait=1, warmup=1, active=5))" : ""));
}

void device_notes(struct report *rep, struct run_result *r)
{
    struct notes x = {.rep = rep, .r = r, .is_torch = run_may_be_torch(r->run)};
    for (int i = 0; i < r->run->n_traces; i++)
        for (int k = 0; k < r->run->traces[i].n_devices; k++) {
            const struct run_device *d = &r->run->traces[i].devices[k];
            if (d->n_steps > 0) {
                note_calls(&x, d);
                note_lead(&x, d);
            }
            note_memory(&x, d);
            note_tensor_cores(&x, d);
        }
}
