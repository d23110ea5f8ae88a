/* rules.c - the class table: every possible cause is looked at and either limits, is watched, is fine, or is not
 * judged, with a reason. Rules and their sources: docs/metrics.md#rules; numbers: thresholds.h. Compute and memory:
 * roofline.c. */
#include "render/findings/rules/rules.h"
#include "render/findings/rules/analyse.h"
#include "render/metrics/calls.h"
#include "render/metrics/cores.h"
#include "render/metrics/gain.h"
#include "render/metrics/memory_counters.h"
#include "render/metrics/recorded.h"
#include "render/metrics/known.h"
#include "render/metrics/rule.h"

#include "lib/base/fs.h"
#include "render/say/say.h"

#include <math.h>
#include <string.h>

/* The same share of what loading costs, and of what its removal would save, goes to I/O. */
static int64_t as_files(const struct run_result *r, int64_t ns)
{
    return r->part_ns[PART_DATA] ? (int64_t)((double)ns * (double)files_in_loading(r) / (double)r->part_ns[PART_DATA])
                                 : 0;
}

static void split_loading(struct run_result *r)
{
    int64_t files = as_files(r, r->gain_ns[CLASS_DATA]);
    r->gain_ns[CLASS_DATA] -= files;
    r->gain_ns[CLASS_IO] += files;
    for (int64_t k = 0; k < r->n_counted; k++) {
        files = as_files(r, r->step_gain_ns[k][CLASS_DATA]);
        r->step_gain_ns[k][CLASS_DATA] -= files;
        r->step_gain_ns[k][CLASS_IO] += files;
    }
}

static int is_loading_elsewhere(struct loading_elsewhere l)
{
    return l.wall_ns > 0 && l.between_ns + l.other_ns > 0;
}

/* The steps' own thread shows no loading: where else it was. */
static struct reason why_no_loading(const struct run_result *r)
{
    struct loading_elsewhere l = loading_elsewhere(r->run);
    if (!is_loading_elsewhere(l))
        return REASON(NO_LOADING);
    if (l.between_ns >= l.other_ns)
        return REASON(LOADING_BETWEEN_STEPS, slot_percent(l.between_ns / l.wall_ns));
    return REASON(LOADING_ELSEWHERE, slot_time((int64_t)l.other_ns), slot_percent(l.other_ns / l.wall_ns));
}

struct phrase phrase_of_loading(const struct run_result *r)
{
    const struct slot used = slot_percent(r->loading.used_ratio);
    return r->loading.workers_cores > 0 ? PHRASE(LOADING_WORKERS_COMPUTE, slot_number(r->loading.workers_cores))
           : !r->loading.is_waiting     ? PHRASE(NONE)
           : r->loading.is_of_workers   ? PHRASE(LOADING_WORKERS_WAIT, used)
                                        : PHRASE(LOADING_WAITS, used);
}

static void rule_data(struct report *rep, struct run_result *r)
{
    const struct thresholds *t = &rep->thresholds;
    int64_t caused = r->wait_cause_ns[CAT_DATA];
    if (r->part_ns[PART_DATA] == 0) {
        rule_not_measured(r, CLASS_DATA, why_no_loading(r));
        r->classes[CLASS_DATA].is_unrecorded = !is_loading_elsewhere(loading_elsewhere(r->run));
        return;
    }
    struct class_result *c =
        rule_begin(r, CLASS_DATA, r->part_ns[PART_DATA] - files_in_loading(r) + caused - as_files(r, caused),
                   PHRASE(RULE_DATA, slot_percent(t->data_limits)), "data_limits", t->data_limits);
    c->caused_ns = caused - as_files(r, caused);
    c->share_interval = r->cause_interval[CLASS_DATA];
    rule_grade(c, t->data_limits, t->data_watch);
    const struct slot own = slot_time(c->share_ns - c->caused_ns);
    rule_found(c, c->caused_ns * 1000 > r->step.mean_ns ? PHRASE(LOADING_AND_WAITING, own, slot_time(c->caused_ns))
                                                        : PHRASE(FOUND_LOADING, own));
    r->loading.n_workers = workers_to_hide(r, c->share_ns - c->caused_ns, c->gain_ns);
    rule_found(c, phrase_of_loading(r));
    if (files_in_loading(r))
        rule_found(c, PHRASE(FILES_WHILE_LOADING, slot_time(files_in_loading(r))));
}

/* Did a recorder watch the calls on files? Only then is their absence a measurement. */
static int is_io_recorded(const struct run *a)
{
    return (a->n_files > 0 || a->io.state == RECORDER_OK) && !recorded_part(a).n_ranks_lost_sums;
}

/* Summed over ranks; 0 if no call was timed. */
static int64_t all_of_files(const struct run *a)
{
    double ns = 0;
    for (int i = 0; i < a->n_files; i++)
        for (int k = 0; k < DCT_N_IO; k++)
            ns += (double)a->files[i].sum[k].ns;
    return ns < 9e18 ? (int64_t)ns : INT64_MAX;
}

/* The bytes that the kernel counted beyond recorded calls. Their time is unknown. 0: few, or unknown. */
static double unseen_bytes(const struct run *a)
{
    static const double LITTLE = 1e6; /* a program reads and prints about this much at start */
    struct files_explained e = files_explained(a);
    double rest = e.rest_why.code ? 0 : (double)e.rest_bytes[DCT_IO_READ] + (double)e.rest_bytes[DCT_IO_WRITE];
    /* Ranks that exchange through sockets read and write there what they send: for an all-reduce, twice its bytes in
     * each direction. */
    for (int i = 0; i < a->n_mpi_calls; i++)
        rest -= 4 * (double)a->mpi_calls[i].sum.bytes;
    return rest > LITTLE * a->ranks_len ? rest : 0;
}

/* Could the unseen bytes have taken so much of the run that I/O would be watched? */
static int is_io_unseen(const struct thresholds *t, const struct run *a)
{
    static const double BYTES_PER_NS = 0.5; /* a disk that is not slow, through the kernel's cache */
    double bytes = unseen_bytes(a), watched = (double)recorded_part(a).watched_ns;
    return watched > 0 && bytes / BYTES_PER_NS > t->io_watch * watched;
}

/* The mean time a step of calls too short to be events, of the rank that has most of it. They may be in steps or not,
 * so it is an upper bound. Those of loading count there, and a program that starts makes some too. */
struct short_calls {
    int64_t ns;
    int rank;
};
static struct short_calls short_calls(const struct run *a)
{
    static const int64_t START_NS = 100000000; /* importing PyTorch takes 13 ms in such calls */
    struct short_calls most = {0};
    for (int i = 0; i < a->ranks_len; i++) {
        const struct run_rank *k = &a->ranks[i];
        int64_t n = steps_of_all(k->steps, k->n_steps, &k->seen).n,
                ns = k->file_short_ns - k->loading_short_ns - START_NS;
        if (n > 0 && ns / n > most.ns)
            most = (struct short_calls){ns / n, k->rank};
    }
    return most;
}

/* files: those of loading */
static void io_found(const struct run_result *r, struct class_result *c, int64_t files)
{
    double unseen = unseen_bytes(r->run);
    if (r->part_ns[PART_IO] || !files)
        rule_found(c,
                   r->part_ns[PART_IO] ? PHRASE(FOUND_FILES, slot_time(r->part_ns[PART_IO])) : PHRASE(FOUND_NO_FILES));
    if (files)
        rule_found(c, PHRASE(FILES_WHILE_LOADING, slot_time(files)));
    if (c->caused_ns * 1000 > r->step.mean_ns)
        rule_found(c, PHRASE(FOUND_WAIT_FOR_FILES, slot_time(c->caused_ns)));
    if (r->io_outside_ns)
        rule_found(c, PHRASE(FOUND_FILES_BETWEEN, slot_time(r->io_outside_ns)));
    if (!is_io_recorded(r->run))
        return;
    rule_found(c, PHRASE(FOUND_FILES_ALL, slot_time(all_of_files(r->run)))); /* includes calls too short for an event */
    if (unseen > 0)
        rule_found(c, PHRASE(FOUND_FILES_UNSEEN, slot_bytes(unseen)));
}

/* Checkpoints may lie inside steps or between them: both count against the wall time. */
static void rule_io(struct report *rep, struct run_result *r)
{
    const struct thresholds *t = &rep->thresholds;
    int64_t files = files_in_loading(r), late = as_files(r, r->wait_cause_ns[CAT_DATA]);
    int64_t in_steps = r->part_ns[PART_IO] + r->wait_cause_ns[CAT_IO] + files + late;
    double iowait = 0;
    for (int i = 0; i < r->run->nodes_len; i++) {
        const struct sampled *s = &r->run->nodes[i].iowait_percent;
        if (s->n && s->sum / (double)s->n / 100 > iowait)
            iowait = s->sum / (double)s->n / 100;
    }
    if (in_steps == 0 && r->io_outside_ns == 0 && iowait <= t->iowait_limits && !is_io_recorded(r->run)) {
        rule_not_measured(r, CLASS_IO, REASON(NO_WRITES));
        r->classes[CLASS_IO].is_unrecorded = 1;
        return;
    }
    struct class_result *c =
        rule_begin(r, CLASS_IO, in_steps, PHRASE(RULE_IO, slot_percent(t->io_limits)), "io_limits", t->io_limits);
    c->ruled[1] = PHRASE(RULE_IO_WAIT, slot_percent(t->iowait_limits));
    c->caused_ns = r->wait_cause_ns[CAT_IO] + late;
    c->share_interval = r->cause_interval[CLASS_IO];
    double of_wall = r->wall_ns > 0 ? (double)r->io_outside_ns / (double)r->wall_ns +
                                          c->share_ratio * (r->coverage_ratio > 0 ? r->coverage_ratio : 1)
                                    : 0;
    rule_grade(c, t->io_limits, t->io_watch);
    if (of_wall > t->io_limits || iowait > t->iowait_limits)
        c->verdict = VERDICT_LIMITS;
    else if (c->verdict == VERDICT_FINE && of_wall > t->io_watch)
        c->verdict = VERDICT_WATCH;
    if (c->share_ratio <= t->io_limits && of_wall > t->io_watch && of_wall > c->share_ratio)
        c->judged = (struct judged){JUDGED_RUN, of_wall, "io_limits", t->io_limits, {0}};
    if (c->share_ratio <= t->io_limits && of_wall <= t->io_limits && iowait > t->iowait_limits)
        c->judged = (struct judged){JUDGED_IO_WAIT, iowait, "iowait_limits", t->iowait_limits, {0}};
    io_found(r, c, files);
    if (c->verdict == VERDICT_FINE && is_io_unseen(t, r->run)) { /* unseen I/O is not zero I/O */
        struct slot unseen = slot_bytes(unseen_bytes(r->run));
        rule_not_measured(r, CLASS_IO,
                          r->part_ns[PART_IO] ? REASON(FILES_UNSEEN_BUT, unseen, slot_time(r->part_ns[PART_IO]))
                                              : REASON(FILES_UNSEEN, unseen));
        c->is_unrecorded = 1;
    }
    struct short_calls shorter = short_calls(r->run);
    if (c->verdict == VERDICT_FINE &&
        rule_share(r, in_steps) + rule_share(r, shorter.ns) > t->io_watch) { /* nor is I/O of unknown steps */
        rule_not_measured(r, CLASS_IO, REASON(FILES_SHORT, slot_time(shorter.ns), slot_count(shorter.rank)));
        c->is_unrecorded = 1;
    }
}

static void rule_copy(struct report *rep, struct run_result *r)
{
    const struct thresholds *t = &rep->thresholds;
    if (r->part_ns[PART_COPY] == 0) {
        rule_not_measured(r, CLASS_COPY, REASON(NO_COPIES));
        return;
    }
    struct class_result *c =
        rule_begin(r, CLASS_COPY, r->part_ns[PART_COPY], PHRASE(RULE_COPIES, slot_percent(t->copy_limits)),
                   "copy_limits", t->copy_limits);
    c->share_interval = r->part_interval[PART_COPY];
    rule_grade(c, t->copy_limits, t->copy_limits / 2);
    rule_found(c, PHRASE(FOUND_COPIES, slot_time(r->part_ns[PART_COPY])));
}

static void rule_overhead(struct report *rep, struct run_result *r)
{
    const struct thresholds *t = &rep->thresholds;
    struct class_result *c =
        rule_begin(r, CLASS_OVERHEAD, r->part_ns[PART_OTHER], PHRASE(RULE_UNNAMED, slot_percent(t->overhead_watch)),
                   "overhead_watch", t->overhead_watch);
    c->share_interval = r->part_interval[PART_OTHER];
    rule_grade(c, 2, t->overhead_watch); /* never limits, because it has no name */
    rule_found(c, r->part_ns[PART_OTHER] ? PHRASE(FOUND_UNNAMED, slot_time(r->part_ns[PART_OTHER]))
                                         : PHRASE(FOUND_ALL_NAMED));
    if (r->unnamed_range.name)
        rule_found(c, PHRASE(UNNAMED_RANGE, slot_name(r->unnamed_range.name), slot_time(r->unnamed_range.ns)));
}

/* share: of step time, or of a run without steps; pauses by a quota do not count. */
static struct phrase core_awaited(const struct run_result *r, double share, int is_paused)
{
    if (share == 0)
        return is_paused ? PHRASE(FOUND_CORE_NEVER_AWAITED_APART) : PHRASE(FOUND_CORE_NEVER_AWAITED);
    if (is_paused)
        return r->has_steps ? PHRASE(FOUND_CORE_AWAITED_APART, slot_percent(share)) : PHRASE(NONE);
    return r->has_steps ? PHRASE(FOUND_CORE_AWAITED, slot_percent(share))
                        : PHRASE(FOUND_CORE_AWAITED_IN_RUN, slot_percent(share));
}

/* States that the ranks had enough cores, by what was recorded. */
static void enough_cores(struct report *rep, const struct run_result *r, struct class_result *c)
{
    double delay = -1, steal = steal_of(r->run);
    int has_steal = 0, has_quota = 0, is_paused = 0;
    for (int i = 0; i < r->run->ranks_len; i++) {
        double ratio = waiting_for_core(r->run, &r->run->ranks[i]);
        delay = ratio > delay ? ratio : delay;
    }
    for (int i = 0; i < r->run->nodes_len; i++) {
        has_steal |= r->run->nodes[i].steal_percent.n > 0;
        has_quota |= r->run->nodes[i].throttled_ns >= 0;
        is_paused |= has_shares(r->run) && r->run->nodes[i].throttled_ns > 0;
    }
    rule_found(c, has_shares(r->run) ? PHRASE(FOUND_CORE_SHARES) : PHRASE(FOUND_CORES));
    if (delay >= 0)
        rule_found(c, core_awaited(r, delay, is_paused));
    if (steal > rep->thresholds.steal_limits) /* else it would be a cause */
        rule_found(
            c, PHRASE(FOUND_STEAL_NOT_MISSED, slot_percent(steal), slot_percent(1 - rep->thresholds.run_delay_limits)));
    const char *missing[3];
    int n = 0;
    if (delay < 0)
        missing[n++] = "waiting for a core";
    if (!has_steal)
        missing[n++] = "steal";
    if (!has_quota)
        missing[n++] = "CPU quota";
    if (n)
        rule_found(c, PHRASE(PARTS_NOT_RECORDED, slot_name(say_list(&rep->arena, missing, n))));
}

/* The threshold that decides about shared cores. None applies to more threads than cores. */
struct limit {
    const char *name;
    double ratio;
};
static struct limit limit_of_shared(const struct thresholds *t, enum shared_kind kind)
{
    switch (kind) {
    case SHARED_THROTTLED:
        return (struct limit){"throttled_limits", t->throttled_limits};
    case SHARED_STEAL:
        return (struct limit){"steal_limits", t->steal_limits};
    case SHARED_OWN_THREADS:
    case SHARED_BOUND:
    case SHARED_RUN_DELAY:
        return (struct limit){"run_delay_limits", t->run_delay_limits};
    default:
        return (struct limit){"", -1};
    }
}

static void rule_shared(struct report *rep, struct run_result *r)
{
    const struct thresholds *t = &rep->thresholds;
    const struct shared *s = &r->shared;
    struct class_result *c = &r->classes[CLASS_SHARED];
    const struct limit limit = limit_of_shared(t, s->kind);
    const struct phrase held = /* the quotas of emulated nodes are no cause, unless one differs from the others */
        has_shares(r->run) && s->kind != SHARED_THROTTLED
            ? PHRASE(RULE_NODE_MISSED, slot_percent(t->run_delay_limits))
            : PHRASE(RULE_CORES_HELD, slot_percent(t->throttled_limits), slot_percent(t->steal_limits));
    *c = (struct class_result){.cls = CLASS_SHARED,
                               .ruled = {PHRASE(RULE_CORES, slot_percent(t->run_delay_limits)), held},
                               .threshold_name = limit.name,
                               .threshold_ratio = limit.ratio,
                               .gain_ns = s->kind ? r->gain_ns[CLASS_SHARED] : 0,
                               .verdict = VERDICT_FINE};
    int has_cores = 0;
    for (int i = 0; i < r->run->nodes_len; i++)
        has_cores |= r->run->nodes[i].cores > 0;
    if (s->kind) {
        c->verdict = VERDICT_LIMITS;
        rule_found(c, s->said);
    } else if (s->own[0].id) {
        c->verdict = VERDICT_WATCH;
        memcpy(c->found, s->own, sizeof s->own);
    } else if (!has_cores) {
        c->verdict = VERDICT_NA;
        c->why = REASON(NO_CORES);
    } else {
        enough_cores(rep, r, c);
    }
}

/* If no avoidable cost is above its own threshold, the largest one is named. */
static void rule_largest_gain(struct report *rep, struct run_result *r)
{
    if (rule_share(r, gain_of_kernels(rep, r)) > rep->thresholds.gain_limits)
        return; /* compute limits because of that gain */
    static const enum cause_class avoidable[] = {CLASS_COMMUNICATION, CLASS_IMBALANCE, CLASS_DATA, CLASS_IO,
                                                 CLASS_COPY};
    struct class_result *largest = NULL;
    for (int c = 0; c < N_CLASSES; c++)
        if (c != CLASS_SHARED && r->classes[c].verdict == VERDICT_LIMITS)
            return;
    for (size_t i = 0; i < sizeof avoidable / sizeof *avoidable; i++) {
        struct class_result *c = &r->classes[avoidable[i]];
        if (c->verdict != VERDICT_NA && (!largest || c->gain_ns > largest->gain_ns))
            largest = c;
    }
    if (largest && (double)largest->gain_ns > rep->thresholds.gain_limits * (double)r->step.mean_ns) {
        largest->verdict = VERDICT_LIMITS;
        memset(largest->ruled, 0, sizeof largest->ruled);
        largest->ruled[0] = PHRASE(RULE_LARGEST_GAIN, slot_percent(rep->thresholds.gain_limits));
        largest->threshold_name = "gain_limits";
        largest->threshold_ratio = rep->thresholds.gain_limits;
        largest->judged = (struct judged){
            JUDGED_GAIN, rule_share(r, largest->gain_ns), "gain_limits", rep->thresholds.gain_limits, {0}};
        largest->share_interval = (struct interval){0};
    }
}

static void say_classes(struct report *rep, struct run_result *r)
{
    for (int i = 0; i < N_CLASSES; i++) {
        struct class_result *c = &r->classes[i];
        c->rule = say_sentences(&rep->arena, c->ruled, RULED_MAX);
        const char *why = say_because(&rep->arena, &c->why), *found = say_sentences(&rep->arena, c->found, SAID_MAX);
        c->text = report_text(rep, "%s%s%s", why, *why && *found ? " " : "", found);
    }
}

/* Output through calls that are not recorded, such as fprintf, shows as unnamed time. Slow output explains no waiting.
 */
static int64_t late_written(const struct thresholds *t, const struct run_result *r)
{
    const double rate = 0.01; /* bytes per ns of waiting: 10 MB/s */
    const struct mpi_late l = mpi_late(t, r->run);
    double waited = r->has_steps ? (double)r->part_ns[PART_WAIT] * (double)r->n_counted : (double)l.waited_ns;
    int is_for_it = r->has_steps ? r->straggler.has && waits_mostly_for(r, CAT_OTHER) : l.has && l.n == 1;
    int64_t bytes = is_for_it ? written_beyond(r->run, r->has_steps ? r->straggler.rank : l.ranks[0]) : 0;
    return (double)bytes >= rate * waited ? bytes : 0;
}

void rules(struct report *rep)
{
    for (int i = 0; i < rep->n_runs; i++) {
        struct run_result *r = &rep->runs[i];
        if (r->has_steps) {
            r->processor = processor_of(rep, r);
            r->loading = loading_of(rep, r, r->part_ns[PART_DATA] - files_in_loading(r), run_may_be_torch(r->run));
            if (r->shared.kind) {
                bound_work(r);
                if (is_doubtful(r))
                    waiting_when_shared(rep, r);
                gain_when_shared(rep, r);
            }
            split_loading(r);
            cause_intervals(r);
            rule_data(rep, r);
            rule_io(rep, r);
            rule_communication(rep, r);
            rule_copy(rep, r);
            rule_overhead(rep, r);
        } else {
            for (int c = 0; c < N_CLASSES; c++)
                rule_not_measured(r, (enum cause_class)c, r->steps_why);
        }
        r->late_used_ratio = late_used(rep, r);
        r->late_file_ns = r->has_steps ? 0 : late_in_files(&rep->thresholds, r->run);
        r->late_written = late_written(&rep->thresholds, r);
        if (!r->has_steps)
            r->alone = alone_in_calls(&rep->thresholds, r->run);
        if (r->late_used_ratio > 0 || r->late_file_ns > 0) /* that says more */
            r->alone.has = 0;
        if (r->has_steps && is_doubtful(r) && uneven_rank(rep, r) < 0) /* it may only have lacked a core */
            r->alone.has = 0;
        rule_host(rep, r);
        rule_shared(rep, r);
        r->counted = counted_memory(rep, r);
        r->counters = counters_by_phase(&rep->arena, r->run);
        if (r->has_steps) {
            rule_memory(rep, r);
            rule_found(&r->classes[CLASS_MEMORY], remedy_of_memory(r));
            rule_largest_gain(rep, r);
            rule_compute(rep, r);
        }
        say_classes(rep, r);
        findings(rep, r);
    }
}
