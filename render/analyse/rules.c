/* rules.c - the class table: every possible cause is looked at and either limits, is watched, is fine, or is n/a with
 * a reason. Rules and their sources: docs/metrics.md#rules; numbers: thresholds.h. */
#include "render/analyse/analyse.h"

#include "render/model/calibration.h"
#include "render/narrate/format.h"

#include <math.h>
#include <string.h>

const char *part_key(enum part p)
{
    static const char *const keys[] = {
#define X(id, key, name) key,
        REPORT_PARTS(X)
#undef X
    };
    return keys[p];
}

const char *part_name(enum part p)
{
    static const char *const names[] = {
#define X(id, key, name) name,
        REPORT_PARTS(X)
#undef X
    };
    return names[p];
}

const char *class_key(enum cause_class c)
{
    static const char *const keys[] = {
#define X(id, key, name) key,
        REPORT_CLASSES(X)
#undef X
    };
    return keys[c];
}

const char *class_name(enum cause_class c)
{
    static const char *const names[] = {
#define X(id, key, name) name,
        REPORT_CLASSES(X)
#undef X
    };
    return names[c];
}

const char *verdict_word(enum verdict v)
{
    static const char *const words[] = {"n/a", "fine", "watch", "limits"};
    return words[v];
}

const char *confidence_word(enum confidence c)
{
    static const char *const words[] = {"low", "medium", "high"};
    return words[c];
}

const char *scaling_word(enum scaling_kind k)
{
    static const char *const words[] = {"none", "strong", "weak", "unknown"};
    return words[k];
}

static double share(const struct run_result *r, int64_t ns)
{
    return r->step.mean_ns > 0 ? (double)ns / (double)r->step.mean_ns : 0;
}

static struct class_result *begin(struct run_result *r, enum cause_class cls, int64_t ns, const char *rule,
                                  const char *threshold_name, double threshold)
{
    struct class_result *c = &r->classes[cls];
    *c = (struct class_result){.cls = cls,
                               .verdict = VERDICT_FINE,
                               .has_share = 1,
                               .share_ns = ns,
                               .share_ratio = share(r, ns),
                               .rule = rule,
                               .threshold_name = threshold_name,
                               .threshold_ratio = threshold,
                               .gain_ns = r->gain_ns[cls],
                               .text = ""};
    return c;
}

static void not_measured(struct run_result *r, enum cause_class cls, const char *because)
{
    r->classes[cls] =
        (struct class_result){.cls = cls, .rule = "", .threshold_name = "", .threshold_ratio = -1, .text = because};
}

static const char *a_step(struct report *rep, int64_t ns)
{
    return ns ? report_text(rep, "%s a step", fmt_time(ns).text) : "none";
}

static void grade(struct class_result *c, double limits, double watch)
{
    c->verdict = c->share_ratio > limits ? VERDICT_LIMITS : c->share_ratio > watch ? VERDICT_WATCH : VERDICT_FINE;
}

/* Time of loading in calls on files, per step; what waits for a disk is I/O. */
static int64_t files_in_loading(const struct run_result *r)
{
    int64_t sum = 0;
    size_t end = strlen(REDUCE_FILES);
    for (int i = 0; i < r->n_phases; i++) {
        size_t n = strlen(r->phases[i].name);
        if (r->phases[i].category == CAT_DATA && n > end && strcmp(r->phases[i].name + n - end, REDUCE_FILES) == 0)
            sum += r->phases[i].spread.mean_ns;
    }
    /* Calls below the recorder's threshold are only summed per file, over the whole run. Where a third of loading is
     * known to be calls on files, those short ones are taken as its too. */
    double all = 0, steps = 0, data = (double)r->part_ns[PART_DATA], files = (double)sum;
    for (int i = 0; i < r->run->n_files; i++)
        all += (double)r->run->files[i].sum[DCT_IO_READ].ns;
    for (int i = 0; i < r->run->ranks_len; i++)
        steps += (double)r->run->ranks[i].n_steps;
    if (files * 3 >= data && steps > 0 && all / steps > files)
        files = all / steps;
    return (int64_t)(files < data ? files : data);
}

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
}

static void rule_data(struct report *rep, struct run_result *r)
{
    const struct thresholds *t = &rep->thresholds;
    int64_t caused = r->wait_cause_ns[CAT_DATA];
    if (r->part_ns[PART_DATA] == 0) {
        not_measured(r, CLASS_DATA, "n/a because no data loading was recorded");
        return;
    }
    struct class_result *c = begin(
        r, CLASS_DATA, r->part_ns[PART_DATA] - files_in_loading(r) + caused - as_files(r, caused),
        report_text(rep, "limits above %s of step time, with the waiting it causes", fmt_percent(t->data_limits).text),
        "data_limits", t->data_limits);
    c->share_interval = caused || files_in_loading(r) ? (struct interval){0} : r->part_interval[PART_DATA];
    grade(c, t->data_limits, t->data_watch);
    c->text = caused * 1000 > r->step.mean_ns
                  ? report_text(rep, "%s a step loading, %s more waiting for ranks that load",
                                fmt_time(r->part_ns[PART_DATA]).text, fmt_time(caused).text)
                  : a_step(rep, r->part_ns[PART_DATA]);
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
    if (in_steps == 0 && r->io_outside_ns == 0 && iowait <= t->iowait_limits) {
        not_measured(r, CLASS_IO, "n/a because no checkpoint or other file write was recorded");
        return;
    }
    struct class_result *c =
        begin(r, CLASS_IO, in_steps,
              report_text(rep,
                          "limits above %s of step time or of the run, with the waiting it causes, or above %s I/O "
                          "wait of a node's CPUs",
                          fmt_percent(t->io_limits).text, fmt_percent(t->iowait_limits).text),
              "io_limits", t->io_limits);
    c->share_interval = r->wait_cause_ns[CAT_IO] || files ? (struct interval){0} : r->part_interval[PART_IO];
    double of_wall = r->wall_ns > 0 ? (double)r->io_outside_ns / (double)r->wall_ns +
                                          c->share_ratio * (r->coverage_ratio > 0 ? r->coverage_ratio : 1)
                                    : 0;
    grade(c, t->io_limits, t->io_watch);
    if (of_wall > t->io_limits || iowait > t->iowait_limits)
        c->verdict = VERDICT_LIMITS;
    else if (c->verdict == VERDICT_FINE && of_wall > t->io_watch)
        c->verdict = VERDICT_WATCH;
    c->text = r->part_ns[PART_IO] ? a_step(rep, r->part_ns[PART_IO]) : "none in steps";
    if (files)
        c->text = report_text(rep, "%s, %s in calls on files while loading", c->text, fmt_time(files).text);
    if (r->wait_cause_ns[CAT_IO] * 1000 > r->step.mean_ns)
        c->text = report_text(rep, "%s, %s more waiting for ranks that write", c->text,
                              fmt_time(r->wait_cause_ns[CAT_IO]).text);
    if (r->io_outside_ns)
        c->text = report_text(rep, "%s, and %s between steps over the run", c->text, fmt_time(r->io_outside_ns).text);
}

/* The loss of efficiency up to this run that the growth of transfer explains, 0..1; 0 when there is none. */
static double transfer_of_loss(const struct report *rep, const struct run_result *r)
{
    if (r->series < 0)
        return 0;
    const struct series *s = &rep->series[r->series];
    for (int i = 0; i < s->n_losses; i++) {
        const struct series_loss *l = &s->losses[i];
        const struct series_point *a = &s->points[l->from], *b = &s->points[l->to];
        if (b->n_nodes != r->n_nodes || b->step.mean_ns == 0 || a->step.mean_ns == 0)
            continue;
        double before = (double)a->part_ns[PART_TRANSFER] / (double)a->step.mean_ns;
        double now = (double)b->part_ns[PART_TRANSFER] / (double)b->step.mean_ns;
        int64_t grown = 0;
        for (int p = 0; p < N_PARTS; p++)
            grown += l->part_ns[p] > 0 ? l->part_ns[p] : 0;
        if (now <= before || grown == 0 || l->part_ns[PART_TRANSFER] <= 0 ||
            (double)l->loss_ns < rep->thresholds.loss_matters * (double)b->step.mean_ns)
            return 0;
        return (double)l->part_ns[PART_TRANSFER] / (double)grown;
    }
    return 0;
}

static void rule_communication(struct report *rep, struct run_result *r)
{
    const struct thresholds *t = &rep->thresholds;
    if (r->n_ranks < 2) {
        not_measured(r, CLASS_COMMUNICATION, "n/a because one rank has nobody to exchange with");
        not_measured(r, CLASS_IMBALANCE, "n/a because one rank waits for nobody");
        return;
    }
    if (r->comm_ns == 0) {
        not_measured(r, CLASS_COMMUNICATION, "n/a because no communication was recorded");
        not_measured(r, CLASS_IMBALANCE, "n/a because no communication was recorded in which a rank could wait");
        return;
    }
    int64_t transfer = r->part_ns[PART_TRANSFER], caused = 0;
    for (int i = 0; i < N_CATEGORIES; i++) /* waiting for loading and file writes belongs to those classes */
        caused += i == CAT_DATA || i == CAT_IO ? 0 : r->wait_cause_ns[i];
    struct class_result *c = begin(r, CLASS_COMMUNICATION, transfer,
                                   report_text(rep,
                                               "limits above %s of step time in transfer, or when transfer grew with "
                                               "the nodes and is over %s of the time lost to scaling",
                                               fmt_percent(t->comm_limits).text, fmt_percent(t->comm_loss).text),
                                   "comm_limits", t->comm_limits);
    struct class_result *w = begin(r, CLASS_IMBALANCE, caused,
                                   report_text(rep,
                                               "limits above %s of step time spent waiting, or above %s with load "
                                               "balance below %s or a straggler",
                                               fmt_percent(t->comm_limits).text, fmt_percent(t->straggler_wait).text,
                                               fmt_ratio(t->load_balance).text),
                                   "comm_limits", t->comm_limits);
    c->share_interval = r->part_interval[PART_TRANSFER];
    if (*r->shared.id) /* waiting for a core is not waiting for a slow rank */
        w->share_ns = r->uneven_wait_ns, w->share_ratio = share(r, w->share_ns);
    else if (caused == r->part_ns[PART_WAIT])
        w->share_interval = r->part_interval[PART_WAIT];
    grade(c, t->comm_limits, t->comm_watch);
    double of_loss = transfer_of_loss(rep, r);
    if (of_loss > t->comm_loss)
        c->verdict = VERDICT_LIMITS;
    /* A rank without a core is late in the middle of an all-reduce too: what limits has to be worth removing. */
    if (*r->shared.id && c->verdict == VERDICT_LIMITS &&
        (double)c->gain_ns <= t->loss_matters * (double)r->step.mean_ns)
        c->verdict = VERDICT_WATCH;
    c->text = of_loss > t->comm_loss ? report_text(rep, "%s a step in transfer, %s of the time lost to scaling",
                                                   fmt_time(transfer).text, fmt_percent(of_loss).text)
                                     : report_text(rep, "%s a step in transfer", fmt_time(transfer).text);

    grade(w, t->comm_limits, t->straggler_wait);
    /* A rank that is late because it loads or writes is those classes' matter, whatever the balance. */
    int is_unbalanced = r->pop.has && r->pop.load_balance_ratio < t->load_balance && !*r->shared.id;
    if ((is_unbalanced || r->straggler.has) && w->share_ratio > t->straggler_wait)
        w->verdict = VERDICT_LIMITS;
    if (r->straggler.has)
        w->text = report_text(rep, "rank %d arrives last in %s of the all-reduces; load balance %s", r->straggler.rank,
                              fmt_percent(r->straggler.wins_ratio).text, fmt_ratio(r->pop.load_balance_ratio).text);
    else
        w->text = report_text(rep, "%s a step waiting, no rank stands out; load balance %s", fmt_time(caused).text,
                              fmt_ratio(r->pop.load_balance_ratio).text);

    if (*r->shared.id && w->verdict == VERDICT_LIMITS &&
        (double)w->gain_ns <= t->loss_matters * (double)r->step.mean_ns)
        w->verdict = VERDICT_WATCH;

    /* Together above the threshold although neither is alone: the larger one is named. */
    if (c->verdict != VERDICT_LIMITS && w->verdict != VERDICT_LIMITS && !*r->shared.id &&
        c->share_ratio + w->share_ratio > t->comm_limits) {
        struct class_result *larger = c->gain_ns >= w->gain_ns ? c : w;
        larger->verdict = VERDICT_LIMITS;
    }
}

static void rule_copy(struct report *rep, struct run_result *r)
{
    const struct thresholds *t = &rep->thresholds;
    if (r->part_ns[PART_COPY] == 0) {
        not_measured(r, CLASS_COPY, "n/a because no host-to-device copy was recorded");
        return;
    }
    struct class_result *c = begin(r, CLASS_COPY, r->part_ns[PART_COPY],
                                   report_text(rep, "limits above %s of step time", fmt_percent(t->copy_limits).text),
                                   "copy_limits", t->copy_limits);
    c->share_interval = r->part_interval[PART_COPY];
    grade(c, t->copy_limits, t->copy_limits / 2);
    c->text = a_step(rep, r->part_ns[PART_COPY]);
}

static void rule_overhead(struct report *rep, struct run_result *r)
{
    const struct thresholds *t = &rep->thresholds;
    struct class_result *c = begin(r, CLASS_OVERHEAD, r->part_ns[PART_OTHER],
                                   report_text(rep, "watched above %s of step time; never limits, having no name",
                                               fmt_percent(t->overhead_watch).text),
                                   "overhead_watch", t->overhead_watch);
    c->share_interval = r->part_interval[PART_OTHER];
    grade(c, 2, t->overhead_watch); /* never limits: it has no name yet */
    c->text = a_step(rep, r->part_ns[PART_OTHER]);
}

static double mean_of(const struct sampled *s)
{
    return s->n ? s->sum / (double)s->n : NAN;
}

static void rule_host(struct report *rep, struct run_result *r)
{
    const struct thresholds *t = &rep->thresholds;
    double sum = 0;
    int n = 0;
    if (host_by_traces(rep, r))
        return;
    for (int i = 0; i < r->run->nodes_len; i++)
        for (int k = 0; k < r->run->nodes[i].n_gpus; k++) {
            double u = mean_of(&r->run->nodes[i].gpus[k].utilization_percent);
            if (!isnan(u)) {
                sum += u / 100;
                n++;
            }
        }
    if (n == 0) {
        not_measured(r, CLASS_HOST,
                     strcmp(r->run->program.backend, "cpu") == 0 ? "n/a because the run used no GPU"
                                                                 : "n/a because no GPU was monitored or traced");
        return;
    }
    struct class_result *c = &r->classes[CLASS_HOST];
    *c = (struct class_result){
        .cls = CLASS_HOST,
        .rule = report_text(rep, "watched below %s GPU utilisation", fmt_percent(t->gpu_utilization).text),
        .threshold_name = "gpu_utilization",
        .threshold_ratio = t->gpu_utilization};
    c->verdict = sum / n < t->gpu_utilization ? VERDICT_WATCH : VERDICT_FINE;
    c->text = report_text(rep,
                          "mean GPU utilisation (monitor) %s; which part of the idle time is the host's needs a GPU "
                          "trace",
                          fmt_percent(sum / n).text);
}

/* "a core for every rank; waiting for one took 2.1 % of the run at most; CPU quota not measured": no more than was
 * seen. */
static const char *enough_cores(struct report *rep, const struct run_result *r)
{
    double delay = -1;
    int has_steal = 0, has_quota = 0;
    for (int i = 0; i < r->run->ranks_len; i++) {
        double ratio = waiting_for_core(&r->run->ranks[i]);
        delay = ratio > delay ? ratio : delay;
    }
    for (int i = 0; i < r->run->nodes_len; i++) {
        has_steal |= r->run->nodes[i].steal_percent.n > 0;
        has_quota |= r->run->nodes[i].throttled_ns >= 0;
    }
    const char *text = "a core for every rank";
    if (delay >= 0)
        text = report_text(rep, "%s; waiting for one took %s of the steps at most", text, fmt_percent(delay).text);
    if (delay < 0 || !has_steal || !has_quota)
        text = report_text(rep, "%s; not measured: %s%s%s%s%s", text, delay < 0 ? "waiting for a core" : "",
                           delay < 0 && (!has_steal || !has_quota) ? ", " : "", has_steal ? "" : "steal",
                           !has_steal && !has_quota ? ", " : "", has_quota ? "" : "CPU quota");
    return text;
}

static void rule_shared(struct report *rep, struct run_result *r)
{
    const struct thresholds *t = &rep->thresholds;
    const struct shared *s = &r->shared;
    struct class_result *c = &r->classes[CLASS_SHARED];
    *c = (struct class_result){
        .cls = CLASS_SHARED,
        .rule = report_text(rep,
                            "limits with more threads than cores, or above these shares of the run: CPU quota %s, "
                            "steal %s, waiting for a core %s",
                            fmt_percent(t->throttled_limits).text, fmt_percent(t->steal_limits).text,
                            fmt_percent(t->run_delay_limits).text),
        .threshold_name = s->threshold,
        .threshold_ratio = strcmp(s->threshold, "throttled_limits") == 0   ? t->throttled_limits
                           : strcmp(s->threshold, "steal_limits") == 0     ? t->steal_limits
                           : strcmp(s->threshold, "run_delay_limits") == 0 ? t->run_delay_limits
                                                                           : -1,
        .gain_ns = *s->id ? r->gain_ns[CLASS_SHARED] : 0,
        .verdict = VERDICT_FINE};
    int has_cores = 0;
    for (int i = 0; i < r->run->nodes_len; i++)
        has_cores |= r->run->nodes[i].cores > 0;
    if (*s->id) {
        c->verdict = VERDICT_LIMITS;
        c->text = s->because;
    } else if (!has_cores) {
        c->verdict = VERDICT_NA;
        c->text = "n/a because the cores of the nodes were not recorded";
    } else {
        c->text = enough_cores(rep, r);
    }
}

/* What the compute phases of a step would take if only products, or only memory, held them up: analytic counts of the
 * program over what was calibrated on the nodes that its ranks were on. */
struct roofline {
    const char *because; /* "" or n/a because ... */
    double flop_ns, memory_ns;
    double gflop_per_s, gb_per_s; /* ceilings of all ranks together */
};

static double ceiling(const struct run_measured *one, const struct run_measured *all, double cores)
{
    double v = one->median * cores;
    return all->n && v > all->median ? all->median : v;
}

static struct roofline roofline_of(const struct run_result *r)
{
    struct roofline f = {.because = ""};
    const struct run *a = r->run;
    double threads = a->program.threads > 0 ? (double)a->program.threads : 1;
    if (!(a->program.traffic_bytes_per_step > 0) || !(a->program.flop_per_step > 0))
        f.because = "n/a because the program does not say its operations and memory traffic per step, and no hardware "
                    "counters are in the archive";
    else if (!a->calibration)
        f.because = "n/a because the machine was not calibrated: run dccollect calibrate before the run";
    for (int i = 0; !*f.because && i < a->nodes_len; i++) {
        const struct run_node_calibration *c = run_calibration_of(a, a->nodes[i].node);
        double ranks = 0;
        for (int k = 0; k < a->ranks_len; k++)
            ranks += a->ranks[k].node == a->nodes[i].node;
        if (ranks == 0)
            continue;
        if (!c || !c->memory_one.n || !c->sgemm_one.n) {
            f.because = "n/a because a node of the run was not calibrated: run dccollect calibrate on it";
            break;
        }
        f.gflop_per_s += ceiling(&c->sgemm_one, &c->sgemm_all, ranks * threads);
        f.gb_per_s += ceiling(&c->memory_one, &c->memory_all, ranks * threads);
        if (a->node_kind == NODES_EMULATED || a->node_kind == NODES_ONE_KERNEL)
            break; /* one machine: its ceilings count once */
    }
    if (!*f.because && (a->node_kind == NODES_EMULATED || a->node_kind == NODES_ONE_KERNEL)) {
        const struct run_node_calibration *c = run_calibration_of(a, a->nodes[0].node);
        f.gflop_per_s = c ? ceiling(&c->sgemm_one, &c->sgemm_all, r->n_ranks * threads) : 0;
        f.gb_per_s = c ? ceiling(&c->memory_one, &c->memory_all, r->n_ranks * threads) : 0;
    }
    if (!*f.because && !(f.gflop_per_s > 0 && f.gb_per_s > 0))
        f.because = "n/a because no rank was on a node that was calibrated";
    if (!*f.because) {
        f.flop_ns = a->program.flop_per_step / f.gflop_per_s;
        f.memory_ns = a->program.traffic_bytes_per_step / f.gb_per_s;
    }
    return f;
}

/* Compute of a step as the roofline sees it: where cores were shared, without what neighbours took. */
static double compute_ns(const struct run_result *r)
{
    double sum = 0;
    if (!*r->shared.id)
        return (double)r->part_ns[PART_COMPUTE];
    for (int i = 0; i < r->n_rank_results; i++)
        sum += (double)r->ranks[i].work_ns[CAT_COMPUTE];
    return sum / r->n_rank_results;
}

/* "34.1 GB/s, 85 % of the calibrated 40.0 GB/s". Nothing does more than it can: then the ceiling is wrong, and a share
 * of it means nothing. */
static const char *of_ceiling(struct report *rep, double ratio, double ceiling, const char *unit, const char *why)
{
    const char *amount = report_text(rep, "%s %s", fmt_number(ratio * ceiling).text, unit);
    if (ratio > 1)
        return report_text(rep, "%s, %s times the calibrated %s %s (%s, so no share is given)", amount,
                           fmt_ratio(ratio).text, fmt_number(ceiling).text, unit, why);
    return report_text(rep, "%s, %s of the calibrated %s %s", amount, fmt_percent(ratio).text, fmt_number(ceiling).text,
                       unit);
}

static void rule_memory(struct report *rep, struct run_result *r)
{
    const struct thresholds *t = &rep->thresholds;
    struct roofline f = roofline_of(r);
    double compute = compute_ns(r);
    if (*f.because || compute <= 0) {
        not_measured(r, CLASS_MEMORY, *f.because ? f.because : "n/a because no compute phase was recorded");
        return;
    }
    double step = (double)r->step.mean_ns, scale = (double)r->part_ns[PART_COMPUTE] / compute;
    /* Counts and ceilings are estimates: more than all of compute they cannot take. */
    double used = f.memory_ns / compute, busy = f.flop_ns / compute;
    double gain = f.memory_ns > f.flop_ns && compute > f.flop_ns ? (compute - f.flop_ns) * scale : 0;
    r->gain_ns[CLASS_MEMORY] = (int64_t)gain;
    double over = f.flop_ns > f.memory_ns ? f.flop_ns : f.memory_ns;
    r->gain_ns[CLASS_COMPUTE] = compute > over ? (int64_t)((compute - over) * scale) : 0;
    struct class_result *c = begin(r, CLASS_MEMORY, (int64_t)(fmin(f.memory_ns, compute) * scale),
                                   report_text(rep,
                                               "limits above %s of the calibrated bandwidth, when products need less "
                                               "time than memory traffic",
                                               fmt_percent(t->memory_bound).text),
                                   "memory_bound", t->memory_bound);
    int is_memory = f.memory_ns > f.flop_ns && gain > t->gain_limits * step;
    c->verdict = used > t->memory_bound && is_memory       ? VERDICT_LIMITS
                 : used > t->memory_bound / 2 && is_memory ? VERDICT_WATCH
                                                           : VERDICT_FINE;
    c->text = report_text(rep, "compute moves %s and does %s (analytic counts)",
                          of_ceiling(rep, used, f.gb_per_s, "GB/s", "from caches, or the calibration was too low"),
                          of_ceiling(rep, busy, f.gflop_per_s, "GFLOP/s", "the calibration was too low"));
}

/* A cost that can be avoided, though none is above its own threshold: the largest is named rather than nothing. */
static void rule_largest_gain(const struct report *rep, struct run_result *r)
{
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
        largest->is_largest_gain = 1;
        largest->threshold_name = "gain_limits";
        largest->threshold_ratio = rep->thresholds.gain_limits;
        largest->share_interval = (struct interval){0};
    }
}

/* Compute-bound means: nothing else limits and the ranks compute most of the time. That is healthy. Where cores were
 * shared the shares are of the work, not of the time, in which neighbours are too. */
static void rule_compute(struct report *rep, struct run_result *r)
{
    const struct thresholds *t = &rep->thresholds;
    if (r->part_ns[PART_COMPUTE] == 0) {
        not_measured(r, CLASS_COMPUTE, "n/a because no compute phase was recorded");
        return;
    }
    struct class_result *c = begin(
        r, CLASS_COMPUTE, r->part_ns[PART_COMPUTE],
        report_text(rep, "limits above %s of step time when nothing else does", fmt_percent(t->compute_bound).text),
        "compute_bound", t->compute_bound);
    c->share_interval = r->part_interval[PART_COMPUTE];
    int others = 0, is_shared = *r->shared.id != 0;
    for (int i = 0; i < N_CLASSES; i++)
        others += i != CLASS_COMPUTE && i != CLASS_SHARED && r->classes[i].verdict == VERDICT_LIMITS;
    double comm = share(r, r->comm_ns), data = share(r, r->part_ns[PART_DATA]), compute = c->share_ratio;
    if (is_shared) {
        double work = 0, own = 0;
        for (int i = 0; i < r->n_rank_results; i++)
            for (int k = 0; k < N_CATEGORIES; k++) {
                work += (double)r->ranks[i].work_ns[k];
                own += k == CAT_COMPUTE ? (double)r->ranks[i].work_ns[k] : 0;
            }
        comm = share(r, r->gain_ns[CLASS_COMMUNICATION]);
        data = share(r, r->gain_ns[CLASS_DATA]);
        compute = work > 0 ? own / work : 0;
    }
    if (!others && compute > t->compute_bound && comm < t->comm_watch && data < t->data_watch)
        c->verdict = VERDICT_LIMITS;
    c->text = report_text(rep, "%s a step%s", fmt_time(r->part_ns[PART_COMPUTE]).text,
                          c->verdict != VERDICT_LIMITS ? ""
                          : is_shared                  ? ": compute-bound, as far as shared cores let one see"
                                                       : ": compute-bound, which is healthy");
}

static double epoch_mean(const struct run *run, const char *column)
{
    double sum = 0;
    size_t n = 0;
    int m = run_metric(column);
    for (size_t i = 0; i < run->n_epochs; i++)
        if (!isnan(run->epochs[i].value[m])) {
            sum += run->epochs[i].value[m];
            n++;
        }
    return n ? sum / (double)n : NAN;
}

/* All that is known where only metrics.csv was kept. Files of this kind do not say whether their times are per step or
 * per epoch, so that no verdict may rest on them. */
static void note_epochs(struct report *rep, struct run_result *r)
{
    double epoch = epoch_mean(r->run, "epoch_time_sec"), compute = epoch_mean(r->run, "compute_time_sec");
    double data = epoch_mean(r->run, "data_load_time_sec");
    if (r->has_steps || !(epoch > 0) || isnan(compute) || isnan(data))
        return;
    r->notes[r->n_notes++] =
        report_text(rep,
                    "metrics.csv gives %s s an epoch, compute_time_sec %s and data_load_time_sec %s (means over %s); "
                    "whether those two "
                    "are per epoch is not defined in files of this kind, so no verdict rests on them.",
                    fmt_number(epoch).text, fmt_number(compute).text, fmt_number(data).text,
                    fmt_count((int64_t)r->run->n_epochs, "epoch").text);
}

static void note_findings(struct report *rep, struct run_result *r)
{
    r->notes = dcr_arena_alloc(&rep->arena, 8 * sizeof *r->notes);
    note_epochs(rep, r);
    if (r->has_steps && r->step.cv_ratio > rep->thresholds.step_cv)
        r->notes[r->n_notes++] = report_text(
            rep,
            "Step time varies by %s (standard deviation over mean; target below %s): median %s, 95th percentile %s.",
            fmt_percent(r->step.cv_ratio).text, fmt_percent(rep->thresholds.step_cv).text,
            fmt_time(r->step.median_ns).text, fmt_time(r->step.p95_ns).text);
    if (r->hidden_comm_ns * 100 > r->step.mean_ns && r->step.mean_ns > 0)
        r->notes[r->n_notes++] = report_text(
            rep,
            "Communication is under way for %s a step beside other work. That is no saving yet: it includes "
            "waiting for other ranks. What overlap saves shows against a run without it.",
            fmt_time(r->hidden_comm_ns).text);
    if (r->coverage_ratio > 0 && r->coverage_ratio < 0.9)
        r->notes[r->n_notes++] = report_text(
            rep, "Steps cover %s of the time from the first step to the last; %s.", fmt_percent(r->coverage_ratio).text,
            r->validation_ns > 0 ? report_text(rep, "validation took %s of the rest", fmt_time(r->validation_ns).text)
                                 : "the rest lies between steps");
    for (int i = 0; i < r->run->nodes_len && r->n_notes < 8; i++)
        for (int k = 0; k < r->run->nodes[i].n_gpus && r->n_notes < 8; k++) {
            const struct run_gpu *g = &r->run->nodes[i].gpus[k];
            double total = mean_of(&g->memory_total_mb);
            if (g->memory_used_mb.n && total > 0 && g->memory_used_mb.max / total > rep->thresholds.gpu_memory)
                r->notes[r->n_notes++] =
                    report_text(rep, "GPU %d of node %d used %s of its memory at most; above %s there is pressure.",
                                g->gpu_id, r->run->nodes[i].node, fmt_percent(g->memory_used_mb.max / total).text,
                                fmt_percent(rep->thresholds.gpu_memory).text);
        }
}

void rules(struct report *rep)
{
    for (int i = 0; i < rep->n_runs; i++) {
        struct run_result *r = &rep->runs[i];
        if (r->has_steps) {
            if (*r->shared.id) {
                waiting_when_shared(rep, r);
                gain_when_shared(rep, r);
            }
            split_loading(r);
            rule_data(rep, r);
            rule_io(rep, r);
            rule_communication(rep, r);
            rule_copy(rep, r);
            rule_overhead(rep, r);
        } else {
            for (int c = 0; c < N_CLASSES; c++)
                not_measured(r, (enum cause_class)c, r->steps_because);
        }
        rule_host(rep, r);
        rule_shared(rep, r);
        if (r->has_steps) {
            rule_memory(rep, r);
            rule_largest_gain(rep, r);
            rule_compute(rep, r);
        }
        note_findings(rep, r);
    }
}
