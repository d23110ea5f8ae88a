/* device_host.c - is the host too late for the GPU? From traces that say why a GPU was idle; without them
 * render/analyse/ rules.c goes by monitors. Window of both numbers: the steps, first start to last end.  source:
 * docs/metrics.md#rules. Test: render_devices.sh */
#include "render/analyse/analyse.h"
#include "render/narrate/format.h"

int host_by_traces(struct report *rep, struct run_result *r)
{
    const struct run *run = r->run;
    const double limit = rep->thresholds.gpu_utilization;
    int64_t window = 0, kernel = 0, late = 0, idle = 0;
    for (int i = 0; i < run->n_traces; i++)
        for (int k = 0; k < run->traces[i].n_devices; k++) {
            const struct run_device *d = &run->traces[i].devices[k];
            if (!d->has_idle_causes || d->steps_ns <= 0)
                continue;
            window += d->steps_ns;
            kernel += d->steps_kernel_ns;
            late += d->steps_idle_ns[IDLE_HOST] + d->steps_idle_ns[IDLE_LAUNCH];
            idle += d->steps_ns - d->steps_busy_ns;
        }
    if (window == 0)
        return 0;
    double utilization = (double)kernel / (double)window, share = idle > 0 ? (double)late / (double)idle : 0;
    struct class_result *c = &r->classes[CLASS_HOST];
    *c = (struct class_result){
        .cls = CLASS_HOST,
        .verdict = VERDICT_FINE,
        .has_share = r->has_steps,
        .share_ns = (int64_t)(share * (double)r->part_ns[PART_OTHER]),
        .rule = report_text(rep, "limits below %s GPU utilisation when over half of the idle time waits for the host",
                            fmt_percent(limit).text),
        .threshold_name = "gpu_utilization",
        .threshold_ratio = limit};
    c->share_ratio = r->step.mean_ns > 0 ? (double)c->share_ns / (double)r->step.mean_ns : 0;
    c->gain_ns = c->share_ns;
    if (utilization < limit)
        c->verdict = share > 0.5 ? VERDICT_LIMITS : VERDICT_WATCH;
    c->text = report_text(rep, "%s GPU utilisation in the steps; %s of the GPU's idle time in them waited for the host",
                          fmt_percent(utilization).text, fmt_percent(share).text);
    return 1;
}
