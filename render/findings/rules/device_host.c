/* device_host.c - is the host too late for the GPU? From traces that say why a GPU was idle; without them by
 * monitors. Window of both numbers: the steps, first start to last end.  source:
 * docs/metrics.md#rules. Test: render_devices.sh */
#include "render/findings/rules/rules.h"
#include "render/metrics/rule.h"

#include <math.h>
#include <string.h>

static int host_by_traces(struct report *rep, struct run_result *r)
{
    const struct run *run = r->run;
    const double limit = rep->thresholds.gpu_utilization;
    int64_t window = 0, kernel = 0, late = 0, idle = 0, lead = 0, n_steps = 0, n_comm = 0;
    for (int i = 0; i < run->n_traces; i++)
        for (int k = 0; k < run->traces[i].n_devices; k++) {
            const struct run_device *d = &run->traces[i].devices[k];
            if (!d->has_idle_causes || d->steps_ns <= 0)
                continue;
            window += d->steps_ns;
            n_comm += d->value[DEV_COMM_KERNELS];
            kernel += d->steps_kernel_ns;
            late += d->steps_idle_ns[IDLE_HOST] + d->steps_idle_ns[IDLE_LAUNCH];
            idle += d->steps_ns - d->steps_busy_ns;
            lead += d->steps_lead_ns;
            n_steps += d->n_steps;
        }
    if (window == 0)
        return 0;
    /* Profilers wait for the GPU when they start, which takes time. The time before the first operation therefore does
     * not show how far the host is ahead of the GPU afterwards. */
    double since_first = (double)kernel / (double)(window > lead ? window - lead : 1);
    double utilization = (double)kernel / (double)window;
    double share = idle > lead ? (double)(late - lead) / (double)(idle - lead) : 0;
    int64_t overhead = r->part_ns[PART_OTHER] - (r->n_warmup ? 0 : lead / n_steps);
    struct class_result *c = &r->classes[CLASS_HOST];
    *c = (struct class_result){.cls = CLASS_HOST,
                               .verdict = VERDICT_FINE,
                               .has_share = r->has_steps,
                               .share_ns = overhead > 0 ? (int64_t)(share * (double)overhead) : 0,
                               .ruled = {PHRASE(RULE_HOST, slot_percent(limit))},
                               .threshold_name = "gpu_utilization",
                               .threshold_ratio =
                                   -1, /* the threshold is a floor of utilisation, but the share is another quantity */
                               .judged = {JUDGED_UTILISATION, since_first, "gpu_utilization", limit, {0}}};
    c->share_ratio = r->step.mean_ns > 0 ? (double)c->share_ns / (double)r->step.mean_ns : 0;
    c->gain_ns = c->share_ns;
    c->utilization_ratio = utilization;
    /* The trace may be of other steps or another job. Less than a hundredth of the ranks' own steps limits nothing. */
    int is_none = c->has_share && c->share_ns * 100 < r->step.mean_ns;
    if (since_first < limit)
        c->verdict = share > 0.5 && !is_none ? VERDICT_LIMITS : VERDICT_WATCH;
    rule_found(c, n_comm ? PHRASE(HOST_UTILISATION_COMM, slot_percent(utilization))
                         : PHRASE(HOST_UTILISATION, slot_percent(utilization)));
    if (since_first - utilization >= 0.005)
        rule_found(c, PHRASE(HOST_UTILISATION_SINCE, slot_percent(since_first)));
    if (r->has_steps && r->n_warmup)
        rule_found(c, PHRASE(HOST_WITH_FIRST, slot_count(r->n_warmup)));
    rule_found(c, PHRASE(HOST_WAITED, slot_percent(share)));
    if (c->verdict == VERDICT_LIMITS && c->share_ns > 0)
        rule_found(&r->classes[CLASS_OVERHEAD], PHRASE(FOUND_UNNAMED_HOST, slot_time(c->share_ns)));
    return 1;
}

/* What the traces lack to tell how late the host is. */
static struct reason why_not_by_traces(const struct run *run)
{
    int n_devices = 0;
    for (int i = 0; i < run->n_traces; i++)
        for (int k = 0; k < run->traces[i].n_devices; k++, n_devices++) {
            const struct run_device *d = &run->traces[i].devices[k];
            if (d->steps_ns > 0 && !d->has_idle_causes)
                return REASON(GPU_IDLE_UNEXPLAINED, slot_reason(&d->idle_why));
        }
    return n_devices ? REASON(GPU_TRACES_WITHOUT_STEPS) : REASON(NO_GPU_OPERATIONS);
}

void rule_host(struct report *rep, struct run_result *r)
{
    const struct thresholds *t = &rep->thresholds;
    double sum = 0;
    int n = 0;
    if (!r->run->has_host_steps && host_by_traces(rep, r))
        return;
    for (int i = 0; i < r->run->nodes_len; i++)
        for (int k = 0; k < r->run->nodes[i].n_gpus; k++) {
            double u = rule_mean(&r->run->nodes[i].gpus[k].utilization_percent);
            if (!isnan(u)) {
                sum += u / 100;
                n++;
            }
        }
    if (n == 0) {
        rule_not_measured(r, CLASS_HOST,
                          r->run->has_host_steps                        ? REASON(HOST_MAY_ENQUEUE)
                          : run_is_of_hosts(r->run)                     ? REASON(NO_GPU_SEEN)
                          : r->run->n_traces                            ? why_not_by_traces(r->run)
                          : strcmp(r->run->program.backend, "cpu") == 0 ? REASON(NO_GPU)
                                                                        : REASON(NO_GPU_SEEN));
        return;
    }
    struct class_result *c = &r->classes[CLASS_HOST];
    *c = (struct class_result){.cls = CLASS_HOST,
                               .ruled = {PHRASE(RULE_HOST_MONITORED, slot_percent(t->gpu_utilization))},
                               .threshold_name = "gpu_utilization",
                               .threshold_ratio = -1,
                               .judged = {JUDGED_UTILISATION, sum / n, "gpu_utilization", t->gpu_utilization, {0}}};
    c->verdict = sum / n < t->gpu_utilization ? VERDICT_WATCH : VERDICT_FINE;
    rule_found(c, PHRASE(HOST_MONITORED, slot_percent(sum / n)));
    rule_found(c, PHRASE(HOST_NEEDS_TRACE));
}
