/* device_notes.c - notes on GPU traces besides the classes: calls that a step should not hold, memory that grows,
 * products that do not use tensor cores.  source: docs/metrics.md#rules. Test: tests/unit/test_caveats.c */
#include "render/findings/rules/analyse.h"
#include "render/findings/rules/rules.h"
#include "render/metrics/cores.h"
#include "render/metrics/gpu_memory.h"

#include "render/say/format.h"
#include "render/say/say.h"

#include <string.h>

/* Notes made so far, so that GPUs with the same finding share one note. */
struct told {
    struct phrase said[NOTE_PHRASES]; /* without the GPU */
    const char *who;                  /* the first GPU */
    int n_gpus, note;                 /* note: index into r->notes */
};
struct notes {
    struct report *rep;
    struct run_result *r;
    struct told said[RUN_MAX_NOTES];
    int n_said;
    int is_torch; /* PyTorch's words fit */
};

static const char *who(struct report *rep, const struct run *run, const struct run_device *d)
{
    return run->n_traces > 1 ? report_text(rep, "GPU %lld of %s", (long long)d->device, d->file)
                             : report_text(rep, "GPU %lld", (long long)d->device);
}

enum { WHAT_TO_DO = 2 }; /* the sentence of a note that says what to do */
static int is_told(const struct notes *x, const struct phrase *what_to_do)
{
    for (int i = 0; i < x->n_said; i++)
        if (is_same_phrase(&x->said[i].said[WHAT_TO_DO], what_to_do))
            return 1;
    return 0;
}

/* "GPU 0 and 3 other GPUs: Memory grows ..." */
static void note(struct notes *x, const struct run_device *d, const struct phrase *said)
{
    struct run_result *r = x->r;
    struct told *s = x->said;
    while (s < x->said + x->n_said && !are_same_phrases(s->said, said))
        s++;
    if (s == x->said + x->n_said) {
        if (r->n_notes == RUN_MAX_NOTES || x->n_said == RUN_MAX_NOTES)
            return;
        *s = (struct told){.who = who(x->rep, r->run, d), .note = r->n_notes};
        memcpy(s->said, said, sizeof s->said);
        struct phrase shown[NOTE_PHRASES];
        memcpy(shown, said, sizeof shown);
        if (is_told(x, &said[WHAT_TO_DO]))
            shown[WHAT_TO_DO] = PHRASE(NONE);
        run_put_note(x->rep, r, shown);
        x->n_said++;
    }
    s->n_gpus++;
    const char *others =
        s->n_gpus > 1 ? report_text(x->rep, " and %s", fmt_count(s->n_gpus - 1, "other GPU").text) : "";
    r->notes[s->note].text = report_text(x->rep, "%s%s: %s", s->who, others,
                                         say_sentences(&x->rep->arena, r->notes[s->note].said, NOTE_PHRASES));
}

/* How often a step, and how often in how many steps. */
#define PER_STEP(n, n_steps) \
    slot_number((double)(n) / (double)(n_steps)), slot_count((int64_t)(n)), slot_count((int64_t)(n_steps))

/* A call may wait for another device or for finished work. Its cost is stated only where it was seen. That is in
 * gaps that began during such a call and ended with an operation launched after it, if they take a hundredth of the
 * steps' time. */
static void note_syncs(struct notes *x, const struct run_device *d)
{
    struct phrase said[NOTE_PHRASES] = {PHRASE(GPU_SYNCS, PER_STEP(d->n_syncs, d->n_steps))};
    if (!d->has_idle_causes) {
        said[1] = PHRASE(GPU_SYNCS_UNTOLD, slot_reason(&d->idle_why));
    } else if (100 * (double)d->steps_behind_sync_ns < (double)d->steps_ns) {
        said[1] = PHRASE(GPU_SYNCS_CHEAP);
    } else {
        said[1] = PHRASE(GPU_SYNCS_COST, slot_time(d->steps_behind_sync_ns),
                         slot_percent((double)d->steps_behind_sync_ns / (double)d->steps_ns));
        said[2] = x->is_torch ? PHRASE(GPU_SYNCS_OF_TORCH) : PHRASE(GPU_SYNCS_OF_CUDA);
    }
    note(x, d, said);
}

/* More than one a step: each makes the host wait for the GPU. */
static void note_calls(struct notes *x, const struct run_device *d)
{
    int64_t n = d->n_mallocs + d->n_frees;
    if (n > d->n_steps)
        note(x, d,
             (struct phrase[NOTE_PHRASES]){PHRASE(GPU_MALLOCS, PER_STEP(n, d->n_steps)), PHRASE(GPU_MALLOCS_WAIT),
                                           x->is_torch ? PHRASE(GPU_MALLOCS_OF_TORCH) : PHRASE(GPU_MALLOCS_OF_CUDA)});
    if (d->n_to_host > d->n_steps)
        note(x, d,
             (struct phrase[NOTE_PHRASES]){PHRASE(GPU_TO_HOST, PER_STEP(d->n_to_host, d->n_steps)),
                                           d->n_syncs ? PHRASE(GPU_SYNCS, PER_STEP(d->n_syncs, d->n_steps))
                                                      : PHRASE(GPU_SYNCS_UNSEEN),
                                           x->is_torch ? PHRASE(GPU_TO_HOST_OF_TORCH) : PHRASE(GPU_TO_HOST_OF_CUDA)});
    else if (d->n_syncs > d->n_steps) /* together with the copies, their note states it */
        note_syncs(x, d);
}

/* gpu_memory.c states how full it is. */
static void note_memory(struct notes *x, const struct run_device *d)
{
    const struct device_memory *m = &d->memory;
    int64_t peak = m->peak_reserved > m->peak_allocated ? m->peak_reserved : m->peak_allocated;
    double whole = d->memory_total_bytes > 0 ? (double)d->memory_total_bytes : (double)peak;
    if (!m->n || whole <= 0)
        return;
    if (m->has_growth && m->n_step_peaks >= 10 && gpu_memory_grows(m->growth_bytes_per_step, whole))
        note(x, d,
             (struct phrase[NOTE_PHRASES]){
                 PHRASE(GPU_MEMORY_GROWS, slot_bytes(m->growth_bytes_per_step), slot_count((int64_t)m->n_step_peaks)),
                 d->memory_total_bytes > 0 ? PHRASE(GPU_GROWTH_OF_ALL) : PHRASE(GPU_GROWTH_OF_PEAK),
                 x->is_torch ? PHRASE(GPU_KEEPS_TENSORS) : PHRASE(GPU_KEEPS_BUFFERS)});
}

/* Notes if under half of the eligible kernel time ran on tensor cores and the rest is at least a fifth of all kernel
 * time. */
static void note_tensor_cores(struct notes *x, const struct run_device *d)
{
    int64_t without = d->eligible_ns - d->tensor_ns;
    if (d->eligible_ns <= 0 || 2 * d->tensor_ns >= d->eligible_ns || 5 * without < d->value[DEV_KERNEL_SUM])
        return;
    note(x, d,
         (struct phrase[NOTE_PHRASES]){
             PHRASE(GPU_TENSOR_CORES, slot_percent((double)d->tensor_ns / (double)d->eligible_ns)),
             PHRASE(GPU_WITHOUT_TENSOR_CORES, slot_percent((double)without / (double)d->value[DEV_KERNEL_SUM])),
             x->is_torch ? PHRASE(GPU_MIXED_OF_TORCH) : PHRASE(GPU_MIXED)});
}

/* Notes if more than a fifth of the steps' time passed before the trace's first operation. */
static void note_lead(struct notes *x, const struct run_device *d)
{
    if (5 * d->steps_lead_ns > d->steps_ns)
        note(x, d,
             (struct phrase[NOTE_PHRASES]){PHRASE(GPU_LEAD, slot_time(d->steps_lead_ns), slot_time(d->steps_ns)),
                                           PHRASE(GPU_LEAD_OF_PROFILER),
                                           x->is_torch ? PHRASE(GPU_WARM_UP_OF_TORCH) : PHRASE(GPU_WARM_UP)});
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
