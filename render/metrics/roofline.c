/* roofline.c - the classes of compute and memory: compares analytic counts of the program with peaks calibrated on its
 * nodes, and with the kernels that it could have used. See rules.h. */
#include "render/metrics/cores.h"
#include "render/metrics/gain.h"
#include "render/metrics/memory_counters.h"
#include "render/metrics/rule.h"

#include "render/model/calibration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The peak rates of all ranks of a run together: calibrated on their machines, or stated for one rank. */
struct ceilings {
    struct reason why;            /* REASON_NONE: they are known */
    enum peaks peaks;             /* as in struct roofline */
    double gflop_per_s, gb_per_s; /* of all ranks together */
    int is_turns; /* ranks took turns: a machine had more threads than cores, or than its CPU quota allows at once */
};

/* The best of all repetitions, because other programs only slow them down. Threads beyond the cores add nothing. */
static double ceiling(const struct run_measured *one, const struct run_measured *all, double threads)
{
    double v = one->max * threads;
    return all->n && v > all->max ? all->max : v;
}

static int says_counts(const struct run *a)
{
    return a->program.traffic_bytes_per_step > 0 && a->program.flop_per_step > 0;
}

/* The steps of a program may be those of its host. */
static int is_of_gpus(const struct run_result *r)
{
    return r->pop.is_of_gpus || strcmp(r->run->program.backend, "cuda") == 0;
}

/* Memory traffic by cache misses, if the program does not report it. Not for GPUs, whose memory is separate. Uses the
 * first rank: its counters were counted, or the archive has a reason. */
static struct reason misses_of(struct report *rep, const struct run_result *r, double *gb_per_s)
{
    const struct run *a = r->run;
    const struct recorder counters = a->ranks_len ? a->ranks[0].counters : (struct recorder){0};
    if (counters.state == RECORDER_OK)
        return is_of_gpus(r) ? REASON(NO_COUNTS_BUT_COUNTERS) : missed_gb_per_s(a, gb_per_s);
    const char *says = counters.state == RECORDER_NOT_AVAILABLE ? counters.because : counters.text;
    return counters.state ? REASON(NO_COUNTS_NOR_COUNTERS, slot_name(report_text(rep, "%.300s", says)))
                          : REASON(NO_COUNTS);
}

/* `dccollect run --label KEY=N`: of one rank's cores or GPU. 0 = it is not stated */
static double stated(const struct run *a, const char *key)
{
    for (int i = 0; i < a->n_labels; i++)
        if (strcmp(a->labels[i].key, key) == 0) {
            char *end;
            double v = strtod(a->labels[i].value, &end);
            return end != a->labels[i].value && !*end && v > 0 && v < 1e12 ? v : 0;
        }
    return 0;
}

/* The number of ranks of each machine, at the index of its first node; 0 at the other nodes. shape (nodes_len) */
static const int *ranks_of_machines(struct report *rep, const struct run_result *r)
{
    const struct run *a = r->run;
    int *n = dcr_arena_alloc(&rep->arena, (size_t)(a->nodes_len + 1) * sizeof *n), n_elsewhere = 0;
    for (int i = 0; i < a->nodes_len; i++) {
        int machine = run_machine_of(a, i);
        for (int k = 0; k < a->ranks_len; k++)
            n[machine] += a->ranks[k].node == a->nodes[i].node;
        n_elsewhere += machine > 0;
    }
    if (n[0] && !n_elsewhere) /* ranks without a record computed too */
        n[0] = r->n_ranks;
    return n;
}

/* The number of threads that the CPU quotas of a machine let run at once. Each node on one kernel has its own quota;
 * emulated nodes share one. */
static double threads_at_once(const struct run *a, int machine, double threads)
{
    double quotas = 0;
    for (int i = machine; i < a->nodes_len; i++) {
        if (i > machine && (a->node_kind == NODES_EMULATED || run_machine_of(a, i) != machine))
            continue;
        if (!(a->nodes[i].cores_quota > 0))
            return threads;
        quotas += a->nodes[i].cores_quota;
    }
    return fmin(quotas, threads);
}

/* The number of emulated nodes that are parts of the machine. */
static int shares_of(const struct run *a, int machine)
{
    int n = 0;
    for (int i = machine; i < a->nodes_len; i++)
        n += a->nodes[i].share.cores > 0 && run_machine_of(a, i) == machine;
    return n;
}

static void add_machine(const struct run *a, int machine, double threads, struct ceilings *f)
{
    const struct run_node_calibration *c = run_calibration_of(a, a->nodes[machine].node);
    if (!c || !c->memory_one.n || !c->flop_one.n) {
        f->why = REASON(NODE_NOT_CALIBRATED);
        return;
    }
    if (c->disturbed && *c->disturbed) {
        f->why = REASON(CALIBRATION_DISTURBED, slot_name(c->disturbed));
        return;
    }
    if (!(threads > 0))
        threads = c->cores > 0 ? c->cores : 1;
    /* Arithmetic was measured by processor time, which a quota does not change, so the quota is applied here. Memory
     * was measured by wall time, and it is not known how much the quota slowed its best repetition. */
    double at_once = threads_at_once(a, machine, threads);
    f->gflop_per_s += ceiling(&c->flop_one, &c->flop_all, at_once);
    int n_shares = shares_of(a, machine);
    if (n_shares) { /* measured inside one emulated node, so it is what a share of the machine can do. All shares
                       together make the peak */
        f->gb_per_s += n_shares * fmax(c->memory_one.max, c->memory_all.max);
        f->is_turns |= c->cores > 0 && at_once > c->cores;
        return;
    }
    f->gb_per_s += ceiling(&c->memory_one, &c->memory_all, threads);
    f->is_turns |= at_once < threads || (c->cores > 0 && threads > c->cores);
}

/*  own_threads  of a rank; 0 = not known: as many as a machine has cores */
static struct ceilings ceilings_of(struct report *rep, const struct run_result *r, double own_threads)
{
    struct ceilings f = {.peaks = PEAKS_CALIBRATED};
    const struct run *a = r->run;
    if (stated(a, "peak_gflop_per_s") > 0 && stated(a, "peak_gb_per_s") > 0) {
        f.peaks = PEAKS_STATED;
        f.gflop_per_s = stated(a, "peak_gflop_per_s") * r->n_ranks;
        f.gb_per_s = stated(a, "peak_gb_per_s") * r->n_ranks;
        return f;
    } else if (strcmp(a->program.backend, "cuda") == 0)
        f.why = REASON(CALIBRATION_OF_PROCESSORS);
    else if (!a->calibration)
        f.why = REASON(NOT_CALIBRATED);
    const int *ranks = f.why.code ? NULL : ranks_of_machines(rep, r);
    for (int i = 0; !f.why.code && i < a->nodes_len; i++)
        if (ranks[i])
            add_machine(a, i, ranks[i] * own_threads, &f);
    if (!f.why.code && !(f.gflop_per_s > 0 && f.gb_per_s > 0))
        f.why = REASON(NO_RANK_CALIBRATED);
    return f;
}

/* The wall time of a step's operations. Ranks with a core for each thread compute at the same time, so it is the mean
 * of their compute phases. If ranks take turns on cores, one computes while another waits for a core or communicates,
 * so it is the whole step. Rates by these times do not exceed what the machines can do. */
static double wall_of_compute(const struct run_result *r, int is_of_step)
{
    return is_of_step ? (double)r->step.mean_ns : (double)r->part_ns[PART_COMPUTE];
}

/* The share of usable cores that other programs left to the ranks. The ranks reached their rates with this share, so
 * the rates are compared with the same share of a ceiling. */
static double left_by_others(const struct run_result *r)
{
    double cores = r->shared.machine_cores, threads = r->run->program.threads > 0 ? (double)r->run->program.threads : 1;
    if (!(cores > 0))
        return 1;
    double wanted = fmin(r->n_ranks * threads, cores);
    return fmin(cores * (1 - others_ratio(r)) / wanted, 1);
}

/* The calibrated peak of memory is that of a = a + s b. On an Intel Xeon, a = a + s moves 1.25 times as much. */
static double error_of_traffic(const struct thresholds *t, enum peaks peaks)
{
    return peaks == PEAKS_STATED ? t->peak_error : t->traffic_error;
}

/* Why a rate cannot be compared with its peak; REASON_NONE = it can. A rate above the peak by more than `error`, a
 * share of it, means that the program's counts or the peak are wrong. */
static struct reason disagree(enum peaks peaks, double rate, double peak, double error, const char *unit)
{
    if (rate / peak <= 1 + error)
        return REASON(NONE);
    struct slot is = slot_number(rate), of = slot_name(unit), times = slot_factor(rate / peak), can = slot_number(peak);
    return peaks == PEAKS_STATED ? REASON(STATED_PEAKS_DISAGREE, is, of, times, can)
                                 : REASON(CALIBRATION_DISAGREES, is, of, times, can);
}

static void set_shares(const struct thresholds *t, struct roofline *f)
{
    struct reason flop = disagree(f->peaks, f->gflop_per_s, f->peak_gflop_per_s, t->peak_error, "GFLOP/s");
    struct reason bytes = disagree(f->peaks, f->gb_per_s, f->peak_gb_per_s, error_of_traffic(t, f->peaks), "GB/s");
    f->mfu_why = flop;
    f->of_attainable_why = flop.code ? flop : bytes;
    if (f->of_attainable_why.code)
        f->bound = BOUND_UNKNOWN;
}

struct roofline roofline_of(const struct run_program *p, double peak_gflop_per_s, double peak_gb_per_s, double wall_ns,
                            double step_ns, double bound_ratio)
{
    struct roofline f = {.has = 1,
                         .flop = p->flop_per_step,
                         .bytes = p->traffic_bytes_per_step,
                         .peak_gflop_per_s = peak_gflop_per_s,
                         .peak_gb_per_s = peak_gb_per_s};
    f.intensity = f.flop / f.bytes;
    f.ridge = peak_gflop_per_s / peak_gb_per_s;
    f.attainable_gflop_per_s = fmin(peak_gflop_per_s, f.intensity * peak_gb_per_s);
    f.gflop_per_s = f.flop / wall_ns; /* operations per nanosecond are GFLOP/s */
    f.gb_per_s = f.bytes / wall_ns;
    f.of_attainable_ratio = f.gflop_per_s / f.attainable_gflop_per_s;
    f.mfu_ratio = f.flop / (step_ns * peak_gflop_per_s);
    f.bound = f.intensity > f.ridge && f.gflop_per_s / peak_gflop_per_s > bound_ratio ? BOUND_COMPUTE
              : f.intensity < f.ridge && f.gb_per_s / peak_gb_per_s > bound_ratio     ? BOUND_MEMORY
                                                                                      : BOUND_NEITHER;
    return f;
}

/* The memory controllers count all traffic. If other programs used the machines, part of it is theirs, and the cache
 * misses of the ranks tell more. */
static void count_memory(struct report *rep, const struct run_result *r, struct counted_memory *m)
{
    const struct others o = others_of(r->run);
    int is_alone = o.cores > 0 && o.taken <= rep->thresholds.loss_matters * o.cores;
    double moved = is_alone && !is_of_gpus(r) ? controllers_gb_per_s(r->run) : -1;
    m->is_of_controllers = moved >= 0;
    if (m->is_of_controllers)
        m->gb_per_s = moved;
    else
        m->why = misses_of(rep, r, &m->gb_per_s);
}

struct counted_memory counted_memory(struct report *rep, const struct run_result *r)
{
    struct counted_memory m = {0};
    if (says_counts(r->run))
        m.why = REASON(PROGRAM_COUNTS);
    else
        count_memory(rep, r, &m);
    struct ceilings p = m.why.code ? (struct ceilings){0} : ceilings_of(rep, r, (double)r->run->program.threads);
    m.peaks = p.peaks;
    m.peak_gb_per_s = p.gb_per_s;
    m.why = m.why.code ? m.why : p.why;
    if (m.why.code)
        return m;
    m.why = disagree(p.peaks, m.gb_per_s, p.gb_per_s, error_of_traffic(&rep->thresholds, p.peaks), "GB/s");
    m.used_ratio = fmin(m.gb_per_s / p.gb_per_s / (m.is_of_controllers ? 1 : left_by_others(r)), 1);
    return m;
}

struct phrase found_counted(const struct thresholds *t, const struct counted_memory *m)
{
    const double of_peak = m->gb_per_s / m->peak_gb_per_s;
    const struct slot rate = slot_number(m->gb_per_s), share = slot_percent(of_peak),
                      peaks = slot_name(peaks_word(m->peaks)), peak = slot_number(m->peak_gb_per_s);
    return of_peak > 1 + t->peak_error ? PHRASE(FOUND_TRAFFIC_ABOVE, rate, peak)
           : of_peak > 1               ? PHRASE(FOUND_TRAFFIC_AT_PEAK, rate, peaks, peak)
           : m->is_of_controllers      ? PHRASE(FOUND_CONTROLLERS, rate, share, peaks, peak)
                                       : PHRASE(FOUND_MISSES, rate, share, peaks, peak);
}

struct phrase found_stalled(const struct run_result *r)
{
    return r->counters.whole.stalled_ratio < 0 || !r->counters.has
               ? PHRASE(NONE)
               : PHRASE(FOUND_STALLED, slot_percent(r->counters.whole.stalled_ratio));
}

/* Misses are a lower bound, so they can show that memory limits, and cannot show that it does not. How much faster
 * compute would be with less traffic is not known. */
static void rule_counted(const struct report *rep, struct run_result *r)
{
    const struct thresholds *t = &rep->thresholds;
    const struct counted_memory *m = &r->counted;
    const struct slot peaks = slot_name(peaks_word(m->peaks)), limit = slot_percent(t->memory_bound);
    struct reason why = m->why;
    if (!why.code && !m->is_of_controllers && m->used_ratio <= t->memory_bound / 2)
        why = REASON(MISSES_SHOW_LITTLE, slot_percent(m->used_ratio), peaks);
    if (!why.code && r->part_ns[PART_COMPUTE] <= 0)
        why = REASON(NO_COMPUTE);
    r->roofline.why = m->why.code ? m->why : REASON(NO_COUNTS_BUT_COUNTERS);
    if (why.code) {
        rule_not_measured(r, CLASS_MEMORY, why);
        return;
    }
    r->roofline.peaks = m->peaks;
    struct class_result *c = rule_begin(r, CLASS_MEMORY, (int64_t)(m->used_ratio * (double)r->part_ns[PART_COMPUTE]),
                                        m->is_of_controllers ? PHRASE(RULE_MEMORY_CONTROLLERS, limit, peaks)
                                                             : PHRASE(RULE_MEMORY_MISSES, limit, peaks),
                                        "memory_bound", t->memory_bound);
    c->judged = (struct judged){JUDGED_BANDWIDTH, m->used_ratio, "memory_bound", t->memory_bound, {0}};
    c->verdict = m->used_ratio > t->memory_bound       ? VERDICT_LIMITS
                 : m->used_ratio > t->memory_bound / 2 ? VERDICT_WATCH
                                                       : VERDICT_FINE;
    rule_found(c, found_counted(t, m));
    rule_found(c, found_stalled(r));
}

/* Of a program that says its operations, but not its memory traffic. */
static void find_mfu(struct report *rep, struct run_result *r)
{
    double flop = r->run->program.flop_per_step;
    if (flop <= 0 || r->part_ns[PART_COMPUTE] <= 0)
        return;
    struct ceilings p = ceilings_of(rep, r, r->run->program.threads > 0 ? (double)r->run->program.threads : 1);
    double rate = flop / wall_of_compute(r, p.is_turns);
    r->roofline.mfu_why =
        p.why.code ? p.why : disagree(p.peaks, rate, p.gflop_per_s, rep->thresholds.peak_error, "GFLOP/s");
    r->roofline.mfu_ratio = p.why.code ? 0 : flop / ((double)r->step.mean_ns * p.gflop_per_s);
}

void rule_memory(struct report *rep, struct run_result *r)
{
    const struct thresholds *t = &rep->thresholds;
    if (!says_counts(r->run)) {
        rule_counted(rep, r);
        find_mfu(rep, r);
        return;
    }
    struct ceilings p = ceilings_of(rep, r, r->run->program.threads > 0 ? (double)r->run->program.threads : 1);
    if (!p.why.code && r->part_ns[PART_COMPUTE] <= 0)
        p.why = REASON(NO_COMPUTE);
    if (p.why.code) {
        r->roofline.why = p.why;
        rule_not_measured(r, CLASS_MEMORY, p.why);
        return;
    }
    double step = (double)r->step.mean_ns, wall = wall_of_compute(r, p.is_turns), left = left_by_others(r);
    struct roofline f = roofline_of(&r->run->program, p.gflop_per_s, p.gb_per_s, wall, step, t->memory_bound * left);
    f.peaks = p.peaks;
    f.is_of_step = p.is_turns;
    set_shares(t, &f);
    r->roofline = f;
    if (f.of_attainable_why.code) {
        rule_not_measured(r, CLASS_MEMORY, f.of_attainable_why);
        return;
    }
    /* Counts and ceilings are estimates, but cannot take more than all of compute. */
    double moves = f.gb_per_s / f.peak_gb_per_s, does = f.gflop_per_s / f.peak_gflop_per_s;
    double used = fmin(moves / left, 1), busy = fmin(does / left, 1), compute = (double)r->part_ns[PART_COMPUTE];
    double gain = moves > does ? (1 - busy) * compute : 0;
    int is_beside = left < 1 - t->loss_matters;
    r->gain_ns[CLASS_MEMORY] = (int64_t)gain;
    const struct slot peaks = slot_name(peaks_word(f.peaks));
    struct class_result *c =
        rule_begin(r, CLASS_MEMORY, (int64_t)(used * compute),
                   PHRASE(RULE_MEMORY, slot_percent(t->memory_bound), peaks), "memory_bound", t->memory_bound);
    if (is_beside)
        c->ruled[1] = PHRASE(RULE_MEMORY_BESIDE);
    c->judged = (struct judged){JUDGED_BANDWIDTH, used, "memory_bound", t->memory_bound, {0}};
    int is_memory = moves > does && gain > t->gain_limits * step;
    c->verdict = used > t->memory_bound && is_memory       ? VERDICT_LIMITS
                 : used > t->memory_bound / 2 && is_memory ? VERDICT_WATCH
                                                           : VERDICT_FINE;
    const struct slot traffic = slot_number(f.gb_per_s), bandwidth = slot_number(f.peak_gb_per_s);
    const struct slot rate = slot_number(f.gflop_per_s), peak = slot_number(f.peak_gflop_per_s);
    rule_found(c, moves > 1 + t->peak_error ? PHRASE(FOUND_TRAFFIC_ABOVE, traffic, bandwidth)
                  : moves > 1               ? PHRASE(FOUND_TRAFFIC_AT_PEAK, traffic, peaks, bandwidth)
                                            : PHRASE(FOUND_TRAFFIC, traffic, slot_percent(moves), peaks, bandwidth));
    rule_found(c, does > 1 ? PHRASE(FOUND_OPERATIONS_AT_PEAK, rate, peaks, peak)
                           : PHRASE(FOUND_OPERATIONS, rate, slot_percent(does), peaks, peak));
    rule_found(c, f.is_of_step ? PHRASE(FOUND_RATES_OF_STEP) : PHRASE(FOUND_RATES_OF_COMPUTE));
    if (is_beside)
        rule_found(c, PHRASE(FOUND_CORES_LEFT, slot_percent(left)));
}

/* If cores were shared, a share of the ranks' work, because their time contains turns of neighbours. */
static double compute_of_work(const struct run_result *r)
{
    double work = 0, own = 0;
    for (int i = 0; i < r->n_rank_results; i++)
        for (int k = 0; k < N_CATEGORIES; k++) {
            work += (double)r->ranks[i].work_ns[k];
            own += k == CAT_COMPUTE ? (double)r->ranks[i].work_ns[k] : 0;
        }
    return work > 0 ? own / work : 0;
}

/* Compute cannot be removed, and small products cannot reach the peak of multiply-adds in registers. So a gain is known
 * only if the program timed better kernels on its own batches. Waiting for a rank that computes shrinks with it. */
int64_t gain_of_kernels(struct report *rep, const struct run_result *r)
{
    double ratio = r->run->program.kernels_best_ratio, gain, step = (double)r->step.mean_ns;
    if (!(ratio > 0 && ratio < 1) || !*r->run->program.kernels_best)
        return 0;
    gain = is_doubtful(r) ? saved_when_shared(rep, r, ratio) * step
                          : (1 - ratio) * (double)(r->part_ns[PART_COMPUTE] + r->wait_cause_ns[CAT_COMPUTE]);
    return gain > rep->thresholds.loss_matters * step ? (int64_t)gain : 0;
}

int is_compute_waiting(const struct run_result *r)
{
    return r->processor.is_waiting && r->classes[CLASS_COMPUTE].gain_ns <= 0 && !r->run->has_host_steps;
}

int is_memory_judged(const struct run_result *r)
{
    return r->classes[CLASS_MEMORY].verdict != VERDICT_NA;
}

static void compute_found(const struct run_result *r, struct class_result *c, int is_bound)
{
    const struct run_program *p = &r->run->program;
    rule_found(c, PHRASE(FOUND_COMPUTE, slot_time(r->part_ns[PART_COMPUTE])));
    if (is_bound)
        rule_found(c, is_compute_waiting(r)  ? PHRASE(FOUND_COMPUTE_WAITS)
                      : is_doubtful(r)       ? PHRASE(FOUND_COMPUTE_SHARED)
                      : c->gain_ns > 0       ? PHRASE(FOUND_COMPUTE_BOUND)
                      : !is_memory_judged(r) ? PHRASE(FOUND_COMPUTE_UNTOLD)
                                             : PHRASE(FOUND_COMPUTE_HEALTHY));
    if (c->gain_ns > 0)
        rule_found(c, PHRASE(KERNELS_BEST, slot_name(p->kernels_best), slot_percent(p->kernels_best_ratio)));
}

/* Compute-bound means that nothing else limits and the ranks compute most of the time. That is healthy. If cores were
 * shared, the shares are of the work, not of the time. The time excludes exchanges in which ranks lose time in turn,
 * because removing them saves too little to name them. */
void rule_compute(struct report *rep, struct run_result *r)
{
    const struct thresholds *t = &rep->thresholds;
    if (r->part_ns[PART_COMPUTE] == 0) {
        rule_not_measured(r, CLASS_COMPUTE, REASON(NO_COMPUTE));
        return;
    }
    if (r->run->has_host_steps) {
        rule_not_measured(r, CLASS_COMPUTE, REASON(HOST_MAY_ENQUEUE));
        return;
    }
    r->gain_ns[CLASS_COMPUTE] = gain_of_kernels(rep, r);
    struct class_result *c =
        rule_begin(r, CLASS_COMPUTE, r->part_ns[PART_COMPUTE], PHRASE(RULE_COMPUTE, slot_percent(t->compute_bound)),
                   "compute_bound", t->compute_bound);
    c->share_interval = r->part_interval[PART_COMPUTE];
    int others = 0;
    for (int i = 0; i < N_CLASSES; i++)
        others += i != CLASS_COMPUTE && i != CLASS_SHARED && r->classes[i].verdict == VERDICT_LIMITS;
    double comm = rule_share(r, r->comm_ns), data = rule_share(r, r->part_ns[PART_DATA]), compute = c->share_ratio;
    double saved = rule_share(r, r->gain_ns[CLASS_COMMUNICATION]), uneven = rule_share(r, r->gain_ns[CLASS_IMBALANCE]);
    if (is_doubtful(r)) {
        comm = saved;
        data = rule_share(r, r->gain_ns[CLASS_DATA]);
        compute = compute_of_work(r);
    } else if (comm >= t->comm_watch && comm < 1 && saved < t->gain_limits && uneven < t->gain_limits) {
        compute /= 1 - comm;
        comm = saved;
    }
    int is_bound = !others && compute > t->compute_bound && comm < t->comm_watch && data < t->data_watch;
    if (is_bound) {
        c->verdict = VERDICT_LIMITS;
        if (c->share_ratio <= t->compute_bound)
            c->judged = (struct judged){
                is_doubtful(r) ? JUDGED_WORK : JUDGED_REST, compute, "compute_bound", t->compute_bound, {0}};
    } else if (rule_share(r, c->gain_ns) > t->gain_limits) { /* an avoidable cost, even if there are others */
        c->verdict = VERDICT_LIMITS;
        c->ruled[0] = PHRASE(RULE_KERNELS, slot_percent(t->gain_limits));
        c->threshold_name = "gain_limits";
        c->threshold_ratio = t->gain_limits;
        c->judged = (struct judged){JUDGED_GAIN, rule_share(r, c->gain_ns), "gain_limits", t->gain_limits, {0}};
        c->share_interval = (struct interval){0};
    }
    compute_found(r, c, is_bound);
}
