/* trace.c - a native trace (.dct), or the summary of one, into the run. Both come as a struct summary
 * (lib/reduce/summary.h), so a report has the same numbers whether the trace itself was packed or not, except for the
 * work of a GPU (trace_gpu.h). */
#include "render/read/members.h"

#include "lib/base/fs.h"
#include "lib/reduce/summary.h"
#include "render/model/watch.h"
#include "render/read/trace_gpu.h"

#include <string.h>

/* The sum of two times >= 0, limited. */
static int64_t sum_to_limit(int64_t a, int64_t b)
{
    return b < INT64_MAX - a ? a + b : INT64_MAX;
}

/* Takes the calls on files of the process whose steps are the rank's. */
static void take_files(struct run_rank *k, const struct summary *s)
{
    k->loading_events_ns = k->loading_short_ns = k->file_short_ns = 0;
    for (size_t i = 0; i < s->n_observed && !s->is_loading_unknown; i++) {
        const struct observation *o = &s->observed[i];
        int64_t shorter = o->sum.ns < INT64_MAX ? (int64_t)(o->sum.ns - o->event_ns) : 0;
        if (o->kind >= 0)
            k->file_short_ns = sum_to_limit(k->file_short_ns, shorter);
        if (o->kind != DCT_IO_READ || o->loading_ns == 0)
            continue;
        if (o->loading_ns < o->event_ns) /* less than 1: the product stays below 2^63 */
            shorter = (int64_t)((double)shorter * ((double)o->loading_ns / (double)o->event_ns));
        k->loading_events_ns = sum_to_limit(k->loading_events_ns, (int64_t)o->loading_ns);
        k->loading_short_ns = sum_to_limit(k->loading_short_ns, shorter);
    }
}

static int has_files_in_loading(const struct reduced *s)
{
    for (int i = 0; i < s->n_phases; i++)
        if (dcr_ends_with(s->phases[i].name, REDUCE_FILES))
            return 1;
    return 0;
}

/* Puts a range into the list, longest first. */
static void keep_range(struct run_rank *k, struct run_own_range one)
{
    int i = k->n_own_ranges < RUN_MAX_OWN_RANGES ? k->n_own_ranges++ : RUN_MAX_OWN_RANGES;
    for (; i > 0 && k->own_ranges[i - 1].ns < one.ns; i--)
        if (i < RUN_MAX_OWN_RANGES)
            k->own_ranges[i] = k->own_ranges[i - 1];
    if (i < RUN_MAX_OWN_RANGES)
        k->own_ranges[i] = one;
}

/* Steps lie in an epoch, so its own time is outside of them. */
static int is_epoch(const char *name)
{
    const char *word;
    int64_t number;
    return step_name_of(name, &word, &number) == STEP_NAME_EPOCH;
}

/* Takes the names of the process whose steps are the rank's. */
static void take_own_ranges(struct run *r, struct run_rank *k, const struct summary *s)
{
    k->own_ranges = dcr_arena_alloc(&r->arena, RUN_MAX_OWN_RANGES * sizeof *k->own_ranges);
    k->n_own_ranges = 0;
    k->bare_step_ns = k->own_self_ns = 0;
    for (size_t i = 0; i < s->n_names; i++) {
        const struct name_sum *one = &s->names[i];
        enum category c;
        if (one->kind != DCT_PUSH)
            continue;
        enum event_kind kind = event_classify(one->category, one->name, &c);
        if (kind == EVENT_STEP || kind == EVENT_BATCH)
            k->bare_step_ns =
                one->self_ns < 0 || k->bare_step_ns < 0 ? -1 : sum_to_limit(k->bare_step_ns, one->self_ns);
        if (kind != EVENT_NONE || is_epoch(one->name))
            continue;
        k->own_self_ns = one->self_ns < 0 || k->own_self_ns < 0 ? -1 : sum_to_limit(k->own_self_ns, one->self_ns);
        if (one->sum_ns > 0 && *one->name && strcmp(one->name, SUMMARY_OTHER_NAMES) != 0)
            keep_range(k, (struct run_own_range){one->name, one->sum_ns, one->self_ns});
    }
}

/* If several processes of a rank (forked ones) named steps, the one that spent most time in them counts. */
static void take_steps(struct run *r, struct run_rank *k, const struct summary *s)
{
    if (!s->steps.n_steps)
        return;
    k->n_step_processes++;
    struct steps_seen all = steps_of_all(s->steps.steps, s->steps.n_steps, &s->steps.seen);
    struct steps_seen before = steps_of_all(k->steps, k->n_steps, &k->seen);
    if (all.ns <= before.ns) {
        k->n_steps_of_others += all.n;
        return;
    }
    k->n_steps_of_others += before.n;
    k->step_pid = s->info.pid;
    run_take_steps(k, &s->steps);
    take_files(k, s);
    take_own_ranges(r, k, s);
}

static void add_loading(struct run_rank *k, const struct summary *s)
{
    for (size_t i = 0; i < s->n_names; i++) {
        const struct name_sum *one = &s->names[i];
        enum category c;
        if ((one->kind == DCT_PUSH || one->kind == DCT_START) && one->sum_ns > 0 &&
            event_classify(one->category, one->name, &c) == EVENT_PHASE && c == CAT_DATA)
            k->loading_ranges_ns = sum_to_limit(k->loading_ranges_ns, one->sum_ns);
    }
}

/* Take the window of the process, the time of its first loss, and the kernel's I/O totals. */
static void take_recorded(struct run_rank *k, const struct summary *s)
{
    const struct dct_window *w = &s->info.window;
    int is_lost = s->loss.n_dropped > s->info.n_dropped_gpu || s->info.incomplete_ns;
    int64_t from = s->info.incomplete_ns ? s->info.incomplete_ns : -1;
    if (is_lost)
        k->has_step_sums = (k->has_step_sums || !k->lost_from_ns) && s->info.has_step_sums && !s->info.unsummed_ns;
    if (is_lost && (!k->lost_from_ns || from < k->lost_from_ns))
        k->lost_from_ns = from;
    for (int i = 0; i < DCT_N_IO_TOTALS; i++) /* taken at exit(), maybe after the monitor's last sample */
        if (s->info.io[i] > k->io[i])
            k->io[i] = s->info.io[i];
    k->own_bytes = sum_to_limit(k->own_bytes, s->info.own_bytes);
    k->n_dropped_gpu += s->info.n_dropped_gpu;
    k->n_missing_blocks += s->loss.n_missing_blocks;
    /* A window that opened replaces one that never did. */
    int64_t since = k->window.since_ns ? k->window.since_ns : k->window.closed_ns ? 0 : INT64_MAX;
    if (w->until_ns &&
        (!k->window.until_ns || w->closed_ns > k->window.closed_ns || (w->since_ns && w->since_ns < since)))
        k->window = *w;
}

/* name: of the member, for sentences */
static int absorb(struct run *r, int rank, const struct summary *s, const char *name, struct dcr_err *err)
{
    for (size_t i = 0; i < s->n_observed; i++) {
        const struct observation *o = &s->observed[i];
        if (o->kind < 0)
            run_observe_mpi(r, o->name, &o->sum);
        else
            run_observe_file(r, o->name, o->kind, &o->sum);
    }
    run_add_ranges(r, s);
    const int number = rank >= 0 ? rank : s->info.rank >= 0 ? s->info.rank : 0;
    struct run_rank *k = run_rank_at(r, number);
    if (!k)
        return dcr_err_set(err, DCR_FAIL, "cannot use '%s': its rank %d is out of range; record the run again", name,
                           number);
    for (size_t i = 0; i < s->n_observed; i++) {
        const struct observation *o = &s->observed[i];
        int64_t ns = o->sum.ns < INT64_MAX ? (int64_t)o->sum.ns : 0;
        if (o->kind >= 0)
            k->file_ns = sum_to_limit(k->file_ns, ns);
        else if (!run_is_mpi_frame(o->name))
            k->mpi_ns = sum_to_limit(k->mpi_ns, ns);
        if (o->kind < 0 && o->before_ns >= 0)
            run_observe_before(r, k, &(struct run_rank_call){o->name, o->sum.n, ns, o->before_ns});
    }
    take_recorded(k, s);
    k->n_dropped += s->loss.n_dropped;
    k->n_dropped_known += s->n_dropped_known;
    k->n_bad_blocks += s->loss.n_bad_blocks;
    k->n_unmatched += s->loss.n_unmatched_pops;
    k->n_open += s->loss.n_open_ranges;
    k->is_torn |= s->loss.is_torn;
    if (*s->notes)
        k->trace_notes = run_text(r, s->notes);
    /* A rank's processes with steps count; the others count only if there are none. */
    if (s->steps.n_steps ? *s->ended_in || !k->n_steps : *s->ended_in && !k->n_steps)
        k->ended_in = run_text(r, s->ended_in);
    if (k->node < 0 && s->info.node >= 0)
        k->node = s->info.node;
    take_steps(r, k, s);
    add_loading(k, s);
    if (s->n_overflow)
        run_add_gap(r, PHRASE(RANGES_OVERFLOW, slot_count((int64_t)s->n_overflow), slot_name(name)));
    if (s->is_loading_unknown && has_files_in_loading(&s->steps))
        run_add_gap(r, PHRASE(OLDER_COLLECTOR, slot_name(name)), PHRASE(OLDER_LACKS_CALLS));
    return 0;
}

/* "archive.tar: rank0/trace-1.dct" */
static const char *member_of(const struct run *r, const char *name)
{
    size_t n = strlen(r->archive);
    return strncmp(name, r->archive, n) == 0 && strncmp(name + n, ": ", 2) == 0 ? name + n + 2 : name;
}

/* Can the host's ranges only show how work was enqueued for the GPU? Not for dcrnn-train, which waits. */
static int may_only_enqueue(const struct run *r)
{
    return r->cuda.state == RECORDER_OK && !*r->program.backend;
}

/* Says of how much of the run single events are kept. */
static void note_kept(struct run *r, const struct summary *kept, const struct summary *past)
{
    /* Steps without numbers are counted from 0 in both, and their last step is the same. */
    size_t n = kept->steps.n_steps, n_past = past ? past->steps.n_steps : 0;
    int64_t from = n == 0 ? -1 : n <= n_past ? past->steps.steps[n_past - n].step : kept->steps.steps[0].step;
    int is_summed = past && !strstr(past->notes, DCR_SUMS_END_NOTE);
    r->events_from_step = from > r->events_from_step || r->n_cut_traces == 0 ? from : r->events_from_step;
    r->n_cut_traces++;
    r->n_unsummed_traces += !is_summed;
}

int trace_read(struct run *r, int rank, const struct summary *past, struct dcr_stream *s, struct dcr_err *err)
{
    struct summary sum;
    struct trace_gpu gpu = {.has_host = may_only_enqueue(r)};
    struct dct_watch watch;
    const char *member = member_of(r, s->name);
    int is_watched = r->watched && r->watch->trace(r->watched, member, &watch);
    const struct summary_listener listener = {trace_gpu_event, trace_gpu_phase, &gpu};
    int rc =
        summary_of_trace_with_gpu(&sum, &r->arena, s, SUMMARY_NAME_SUMS, &listener, is_watched ? &watch : NULL, err);
    int gpu_rank = rank >= 0 ? rank : rc == 0 ? sum.info.rank : -1;
    int finished = trace_gpu_finish(&gpu, r, gpu_rank, rc ? NULL : &sum, member, rc ? NULL : err);
    if (rc == 0 && finished)
        rc = finished;
    /* Sums contain nothing of the work of GPUs, so such a trace is read as it is. */
    int is_cut = rc == 0 && sum.info.n_blocks_before;
    int is_summed = is_cut && past && !sum.n_gpu_events && !past->n_gpu_events;
    if (is_cut)
        note_kept(r, &sum, is_summed ? past : NULL);
    return rc ? rc : absorb(r, rank, is_summed ? past : &sum, s->name, err);
}

int summary_member_read(struct run *r, int rank, struct dcr_stream *s, struct dcr_err *err)
{
    struct summary sum;
    int rc = summary_read(&sum, &r->arena, s, err);
    if (rc == 0 && sum.n_gpu_events) {
        r->has_gpu_untold = 1;
        r->has_host_steps |= sum.steps.n_steps > 0 && may_only_enqueue(r);
        run_add_gap(r, PHRASE(SUMMARIES_LACK_GPUS), PHRASE(PACK_ALL_TRACES));
    }
    return rc ? rc : absorb(r, rank, &sum, s->name, err);
}
