/* efficiencies.c - see efficiencies.h. */
#include "render/findings/efficiencies.h"

#include "render/say/format.h"
#include "render/say/say.h"

void efficiencies_put(const struct run_result *r, struct dcr_buf *out)
{
    const struct pop *p = &r->pop;
    if (!p->has) {
        say_put_clause(out, &r->pop_why);
        return;
    }
    dcr_buf_printf(out, "%s = load balance %s", fmt_ratio(p->parallel_ratio).text,
                   fmt_ratio(p->load_balance_ratio).text);
    if (p->has_in_nodes && p->has_between_nodes)
        dcr_buf_printf(out, " (within nodes %s x between nodes %s)", fmt_ratio(p->in_nodes_ratio).text,
                       fmt_ratio(p->between_nodes_ratio).text);
    dcr_buf_puts(out, " x ");
    if (p->is_of_gpus)
        dcr_buf_printf(out, "GPU communication %s x GPU orchestration %s", fmt_ratio(p->gpu_communication_ratio).text,
                       fmt_ratio(p->orchestration_ratio).text);
    else
        dcr_buf_printf(out, "communication efficiency %s", fmt_ratio(p->communication_ratio).text);
}

int efficiencies_has_host(const struct run_result *r)
{
    return r->pop.is_of_gpus;
}

void efficiencies_put_host(const struct run_result *r, struct dcr_buf *out)
{
    if (!r->pop_host.has) {
        say_put_clause(out, &r->pop_host_why);
        return;
    }
    dcr_buf_printf(out, "%s = device offload: %s of a step of %s in calls of the GPU's runtime",
                   fmt_ratio(r->pop_host.offload_ratio).text, fmt_time(r->pop_host.runtime_mean_ns).text,
                   fmt_time(r->step.mean_ns).text);
}
