/* device_notes.c - what is said of GPU traces besides the classes: calls that a step should not hold, memory that grows
 * or is nearly full, products that do not use tensor cores.  source: docs/metrics.md#rules. Test:
 * tests/unit/test_rules.c */
#include "render/analyse/rules.h"

#include "render/narrate/format.h"

static void note(struct run_result *r, const char *text)
{
    if (r->n_notes < RUN_MAX_NOTES)
        r->notes[r->n_notes++] = text;
}

static const char *who(struct report *rep, const struct run *run, const struct run_device *d)
{
    return run->n_traces > 1 ? report_text(rep, "GPU %lld of %s", (long long)d->device, d->file)
                             : report_text(rep, "GPU %lld", (long long)d->device);
}

static const char *per_step(struct report *rep, int64_t n, int64_t n_steps)
{
    return report_text(rep, "%s a step (%lld in %s)", fmt_number((double)n / (double)n_steps).text, (long long)n,
                       fmt_count(n_steps, "step").text);
}

/* More than one a step: each makes the host wait for the GPU. */
static void note_calls(struct report *rep, struct run_result *r, const struct run_device *d)
{
    int64_t n = d->n_mallocs + d->n_frees;
    if (n > d->n_steps)
        note(r, report_text(rep,
                            "%s: memory of the device was allocated or released %s by cudaMalloc, cudaFree or their "
                            "like; both wait for the GPU. Take buffers before the loop, or from a pool: PyTorch's "
                            "allocator keeps them unless empty_cache() is called or memory is short.",
                            who(rep, r->run, d), per_step(rep, n, d->n_steps)));
    if (d->n_to_host > d->n_steps)
        note(r, report_text(rep,
                            "%s: copies to the host were launched inside steps, %s; %s. .item(), .cpu() and printing a "
                            "tensor do that. Keep losses on the GPU and read them every few steps.",
                            who(rep, r->run, d), per_step(rep, d->n_to_host, d->n_steps),
                            d->n_syncs
                                ? report_text(rep, "the host synchronised %s", per_step(rep, d->n_syncs, d->n_steps))
                                : "no call in the trace shows whether the host waited for them"));
}

static void note_memory(struct report *rep, struct run_result *r, const struct run_device *d)
{
    const struct device_memory *m = &d->memory;
    int64_t peak = m->peak_reserved > m->peak_allocated ? m->peak_reserved : m->peak_allocated;
    double whole = d->memory_total_bytes > 0 ? (double)d->memory_total_bytes : (double)peak;
    if (!m->n || whole <= 0)
        return;
    if (d->memory_total_bytes > 0 && (double)peak / whole > rep->thresholds.gpu_memory)
        note(r, report_text(rep, "%s: its memory was %s full at the peak; above %s there is pressure.",
                            who(rep, r->run, d), fmt_percent((double)peak / whole).text,
                            fmt_percent(rep->thresholds.gpu_memory).text));
    if (m->has_growth && m->n_step_peaks >= 10 && m->growth_bytes_per_step * 100 > 0.01 * whole)
        note(r, report_text(rep,
                            "%s: memory grows by %s a step (line through the peaks of %s), over 1 %% of %s in 100 "
                            "steps. Something keeps tensors: a list of losses with their graphs is the usual one.",
                            who(rep, r->run, d), fmt_bytes(m->growth_bytes_per_step).text,
                            fmt_count(m->n_step_peaks, "step").text,
                            d->memory_total_bytes > 0 ? "the GPU's memory" : "its peak"));
}

/* Half of what could, and a fifth of kernel time at stake. */
static void note_tensor_cores(struct report *rep, struct run_result *r, const struct run_device *d)
{
    int64_t without = d->eligible_ns - d->tensor_ns;
    if (d->eligible_ns <= 0 || 2 * d->tensor_ns >= d->eligible_ns || 5 * without < d->value[DEV_KERNEL_SUM])
        return;
    note(r, report_text(rep,
                        "%s: by their names %s of the time of matrix products and convolutions used tensor cores; the "
                        "others take %s of kernel time. Mixed precision (autocast, bf16 or TF32) would move them "
                        "there, if the GPU has such cores.",
                        who(rep, r->run, d), fmt_percent((double)d->tensor_ns / (double)d->eligible_ns).text,
                        fmt_percent((double)without / (double)d->value[DEV_KERNEL_SUM]).text));
}

/* A fifth of the steps before the trace's first operation. */
static void note_lead(struct report *rep, struct run_result *r, const struct run_device *d)
{
    if (5 * d->steps_lead_ns > d->steps_ns)
        note(r,
             report_text(rep,
                         "%s: %s of the %s of its steps pass before its first operation in the trace. The start of the "
                         "profiler may be in it: profile several steps behind a warm-up "
                         "(torch.profiler.schedule(wait=1, warmup=1, active=5)).",
                         who(rep, r->run, d), fmt_time(d->steps_lead_ns).text, fmt_time(d->steps_ns).text));
}

void device_notes(struct report *rep, struct run_result *r)
{
    for (int i = 0; i < r->run->n_traces; i++)
        for (int k = 0; k < r->run->traces[i].n_devices; k++) {
            const struct run_device *d = &r->run->traces[i].devices[k];
            if (d->n_steps > 0) {
                note_calls(rep, r, d);
                note_lead(rep, r, d);
            }
            note_memory(rep, r, d);
            note_tensor_cores(rep, r, d);
        }
}
