/* roofline.c - the classes of compute and memory: analytic counts of the program against what was calibrated on its
 * nodes, and against the kernels that it could have used. See rules.h. */
#include "render/analyse/rules.h"

#include "render/model/calibration.h"
#include "render/narrate/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the compute phases of a step would take if only products, or only memory, held them up: analytic counts of the
 * program over what was calibrated on the nodes that its ranks were on. */
struct ceilings {
    const char *because; /* "" or n/a because ... */
    const char *peaks;   /* as of struct roofline */
    double flop_ns, memory_ns;
    double gflop_per_s, gb_per_s; /* ceilings of all ranks together */
};

static double ceiling(const struct run_measured *one, const struct run_measured *all, double cores)
{
    double v = one->median * cores;
    return all->n && v > all->median ? all->median : v;
}

/* What else would tell, by the first rank: of its counters the archive has a reason, or those of cycles and the like.
 */
static const char *untold(struct report *rep, const struct run *a)
{
    static const char because[] = "n/a because ";
    const char *text = "n/a because the program does not say its operations and memory traffic per step, and ";
    const char *counters = a->ranks_len ? a->ranks[0].counters_status : "";
    if (strncmp(counters, "ok", 2) == 0)
        return report_text(rep, "%sthe counters of cycles, instructions and cache misses do not tell them", text);
    if (strncmp(counters, because, sizeof because - 1) == 0)
        counters += sizeof because - 1;
    return report_text(rep, "%sno hardware counters are in the archive%s%.300s%s", text, *counters ? " (" : "",
                       counters, *counters ? ")" : "");
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

static struct ceilings ceilings_of(struct report *rep, const struct run_result *r)
{
    struct ceilings f = {.because = "", .peaks = "calibrated"};
    const struct run *a = r->run;
    double threads = a->program.threads > 0 ? (double)a->program.threads : 1;
    if (!(a->program.traffic_bytes_per_step > 0) || !(a->program.flop_per_step > 0))
        f.because = untold(rep, a);
    else if (stated(a, "peak_gflop_per_s") > 0 && stated(a, "peak_gb_per_s") > 0) {
        f.peaks = "stated";
        f.gflop_per_s = stated(a, "peak_gflop_per_s") * r->n_ranks;
        f.gb_per_s = stated(a, "peak_gb_per_s") * r->n_ranks;
        f.flop_ns = a->program.flop_per_step / f.gflop_per_s;
        f.memory_ns = a->program.traffic_bytes_per_step / f.gb_per_s;
        return f;
    } else if (strcmp(a->program.backend, "cuda") == 0)
        f.because = "n/a because what is calibrated is processors and the run computed on GPUs: state what one can do "
                    "(dccollect run --label peak_gflop_per_s=N --label peak_gb_per_s=N)";
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
        if (c->disturbed && *c->disturbed) {
            f.because = report_text(rep,
                                    "n/a because other work was on the machine while it was calibrated (%s): calibrate "
                                    "again while nothing else runs",
                                    c->disturbed);
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
static const char *of_ceiling(struct report *rep, const char *peaks, double ratio, double ceiling, const char *unit,
                              const char *why)
{
    const char *amount = report_text(rep, "%s %s", fmt_number(ratio * ceiling).text, unit);
    if (ratio > 1)
        return report_text(rep, "%s, %s times the %s %s %s (%s, so no share of it is given)", amount,
                           fmt_ratio(ratio).text, peaks, fmt_number(ceiling).text, unit, why);
    return report_text(rep, "%s, %s of the %s %s %s", amount, fmt_percent(ratio).text, peaks, fmt_number(ceiling).text,
                       unit);
}

struct roofline roofline_of(const struct run_program *p, double peak_gflop_per_s, double peak_gb_per_s,
                            double compute_ns, double step_ns, double bound_ratio)
{
    struct roofline f = {.has = 1,
                         .because = "",
                         .peaks = "",
                         .flop = p->flop_per_step,
                         .bytes = p->traffic_bytes_per_step,
                         .peak_gflop_per_s = peak_gflop_per_s,
                         .peak_gb_per_s = peak_gb_per_s};
    f.intensity = f.flop / f.bytes;
    f.ridge = peak_gflop_per_s / peak_gb_per_s;
    f.attainable_gflop_per_s = fmin(peak_gflop_per_s, f.intensity * peak_gb_per_s);
    f.gflop_per_s = f.flop / compute_ns; /* per nanosecond: 10^9 a second */
    f.gb_per_s = f.bytes / compute_ns;
    f.of_attainable_ratio = f.gflop_per_s / f.attainable_gflop_per_s;
    f.mfu_ratio = f.flop / (step_ns * peak_gflop_per_s);
    f.bound = f.intensity > f.ridge && f.gflop_per_s / peak_gflop_per_s > bound_ratio ? "compute"
              : f.intensity < f.ridge && f.gb_per_s / peak_gb_per_s > bound_ratio     ? "memory"
                                                                                      : "neither";
    return f;
}

void rule_memory(struct report *rep, struct run_result *r)
{
    const struct thresholds *t = &rep->thresholds;
    struct ceilings f = ceilings_of(rep, r);
    double compute = compute_ns(r);
    if (*f.because || compute <= 0) {
        r->roofline.because = *f.because ? f.because : "n/a because no compute phase was recorded";
        rule_not_measured(r, CLASS_MEMORY, *f.because ? f.because : "n/a because no compute phase was recorded");
        return;
    }
    r->roofline =
        roofline_of(&r->run->program, f.gflop_per_s, f.gb_per_s, compute, (double)r->step.mean_ns, t->memory_bound);
    r->roofline.peaks = f.peaks;
    double step = (double)r->step.mean_ns, scale = (double)r->part_ns[PART_COMPUTE] / compute;
    /* Counts and ceilings are estimates: more than all of compute they cannot take. */
    double used = f.memory_ns / compute, busy = f.flop_ns / compute;
    double gain = f.memory_ns > f.flop_ns && compute > f.flop_ns ? (compute - f.flop_ns) * scale : 0;
    r->gain_ns[CLASS_MEMORY] = (int64_t)gain;
    struct class_result *c = rule_begin(r, CLASS_MEMORY, (int64_t)(fmin(f.memory_ns, compute) * scale),
                                        report_text(rep,
                                                    "limits above %s of the %s bandwidth, when products need less "
                                                    "time than memory traffic",
                                                    fmt_percent(t->memory_bound).text, f.peaks),
                                        "memory_bound", t->memory_bound);
    int is_memory = f.memory_ns > f.flop_ns && gain > t->gain_limits * step;
    c->verdict = used > t->memory_bound && is_memory       ? VERDICT_LIMITS
                 : used > t->memory_bound / 2 && is_memory ? VERDICT_WATCH
                                                           : VERDICT_FINE;
    const char *low = strcmp(f.peaks, "stated") == 0 ? "what was stated is too low" : "the calibration was too low";
    c->text =
        report_text(rep, "while computing it moves %s and does %s (analytic counts)",
                    of_ceiling(rep, f.peaks, used, f.gb_per_s, "GB/s", report_text(rep, "from caches, or %s", low)),
                    of_ceiling(rep, f.peaks, busy, f.gflop_per_s, "GFLOP/s", low));
}

/* Of the ranks' work, where they shared cores: shares of the time hold neighbours' turns. */
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

/* Computing cannot be left away, and a ceiling of large products is out of reach of small ones: a gain is known only
 * where the program timed better kernels on its own batches. Waiting for a rank that computes shrinks with it. */
int64_t gain_of_kernels(struct report *rep, const struct run_result *r)
{
    double ratio = r->run->program.kernels_best_ratio, gain, step = (double)r->step.mean_ns;
    if (!(ratio > 0 && ratio < 1) || !*r->run->program.kernels_best)
        return 0;
    gain = *r->shared.id ? saved_when_shared(rep, r, ratio) * step
                         : (1 - ratio) * (double)(r->part_ns[PART_COMPUTE] + r->wait_cause_ns[CAT_COMPUTE]);
    return gain > rep->thresholds.loss_matters * step ? (int64_t)gain : 0;
}

int is_compute_waiting(const struct run_result *r)
{
    return r->processor.is_waiting && r->classes[CLASS_COMPUTE].gain_ns <= 0;
}

int is_memory_judged(const struct run_result *r)
{
    return r->classes[CLASS_MEMORY].verdict != VERDICT_NA;
}

static const char *compute_text(struct report *rep, const struct run_result *r, const struct class_result *c,
                                int is_bound)
{
    const char *text = fmt_time(r->part_ns[PART_COMPUTE]).text, *kernels = "";
    if (c->gain_ns > 0)
        kernels = report_text(rep, "; with the kernels '%s' a batch takes %s of the time (measured before training)",
                              r->run->program.kernels_best, fmt_percent(r->run->program.kernels_best_ratio).text);
    return report_text(rep, "%s a step%s%s", text,
                       !is_bound               ? ""
                       : is_compute_waiting(r) ? ", in which the ranks mostly wait"
                       : *r->shared.id         ? ": compute-bound, as far as shared cores let one see"
                       : c->gain_ns > 0        ? ": compute-bound"
                       : !is_memory_judged(r)  ? ": compute-bound, by memory or by arithmetic, which is not known"
                                               : ": compute-bound, which is healthy",
                       kernels);
}

/* Compute-bound means: nothing else limits and the ranks compute most of the time. That is healthy. Where cores were
 * shared the shares are of the work, not of the time; and exchanges in which ranks lose time by turns, so that too
 * little is saved without them to be named, are left out of the time. */
void rule_compute(struct report *rep, struct run_result *r)
{
    const struct thresholds *t = &rep->thresholds;
    if (r->part_ns[PART_COMPUTE] == 0) {
        rule_not_measured(r, CLASS_COMPUTE, "n/a because no compute phase was recorded");
        return;
    }
    r->gain_ns[CLASS_COMPUTE] = gain_of_kernels(rep, r);
    struct class_result *c = rule_begin(
        r, CLASS_COMPUTE, r->part_ns[PART_COMPUTE],
        report_text(rep, "limits above %s of step time when nothing else does", fmt_percent(t->compute_bound).text),
        "compute_bound", t->compute_bound);
    c->share_interval = r->part_interval[PART_COMPUTE];
    int others = 0;
    for (int i = 0; i < N_CLASSES; i++)
        others += i != CLASS_COMPUTE && i != CLASS_SHARED && r->classes[i].verdict == VERDICT_LIMITS;
    double comm = rule_share(r, r->comm_ns), data = rule_share(r, r->part_ns[PART_DATA]), compute = c->share_ratio;
    double saved = rule_share(r, r->gain_ns[CLASS_COMMUNICATION]), uneven = rule_share(r, r->gain_ns[CLASS_IMBALANCE]);
    if (*r->shared.id) {
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
    } else if (rule_share(r, c->gain_ns) > t->gain_limits) { /* a cost that can be avoided, whatever else can be */
        c->verdict = VERDICT_LIMITS;
        c->rule = report_text(rep, "limits where kernels that were timed would save above %s of step time",
                              fmt_percent(t->gain_limits).text);
        c->threshold_name = "gain_limits";
        c->threshold_ratio = t->gain_limits;
        c->share_interval = (struct interval){0};
    }
    c->text = compute_text(rep, r, c, is_bound);
}
