/* json_nodes.c - the nodes of a run in report.json: their properties, samples of monitors, their clock. See
 * json_values.h. */
#include "render/metrics/wire.h"
#include "render/write/json/json_values.h"

static json_t *sampled(const struct sampled *s)
{
    if (s->n == 0)
        return json_null();
    return json_pack("{s:I, s:o, s:o, s:o}", "n", (json_int_t)s->n, "mean", value_real(1, s->sum / (double)s->n), "min",
                     value_real(1, s->min), "max", value_real(1, s->max));
}

/* A quantity that is 0 while nothing runs. */
static json_t *sampled_use(const struct sampled *s)
{
    json_t *o = sampled(s);
    if (s->n)
        value_set(o, "zero_samples", json_integer(s->n_zero));
    return o;
}

static json_t *traffic(const struct run_traffic *t, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        value_add(list,
                  json_pack("{s:o, s:o, s:o, s:o}", "name", value_string(t[i].name), "in_bytes",
                            value_int(t[i].in_bytes >= 0, t[i].in_bytes), "out_bytes",
                            value_int(t[i].out_bytes >= 0, t[i].out_bytes), "seconds", value_real(1, t[i].seconds)));
    return list;
}

static json_t *gpus(const struct run_node *n)
{
    json_t *list = json_array();
    for (int i = 0; i < n->n_gpus; i++) {
        const struct run_gpu *g = &n->gpus[i];
        value_add(list, json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "gpu", g->gpu_id, "utilization_percent",
                                  sampled_use(&g->utilization_percent), "memory_used_mb", sampled(&g->memory_used_mb),
                                  "memory_total_mb", sampled(&g->memory_total_mb), "power_w", sampled(&g->power_w),
                                  "temperature_c", sampled(&g->temperature_c), "sm_clock_mhz",
                                  sampled(&g->sm_clock_mhz), "sm_clock_max_mhz", sampled(&g->sm_clock_max_mhz)));
    }
    return list;
}

/* How far the node's clock is from the reference's, from the first look to the last. */
static json_t *clock_of(const struct dcr_clock *c)
{
    double ppm, error_ppm;
    int has_drift = dcr_clock_drift(c, &ppm, &error_ppm) == 0;
    json_t *o = json_object();
    value_set(o, "reference", value_text(c->reference));
    value_set(o, "n", json_integer(c->n));
    value_set(o, "first_offset_ns", json_integer(c->points[0].offset_ns));
    value_set(o, "last_offset_ns", json_integer(c->points[c->n - 1].offset_ns));
    value_set(o, "error_ns", json_integer(dcr_clock_error(c)));
    value_set(o, "drift_ppm", has_drift ? value_real(1, ppm) : json_null());
    value_set(o, "drift_error_ppm", has_drift ? value_real(1, error_ppm) : json_null());
    return o;
}

/* Keys as in the archive (docs/FORMAT.md). */
static json_t *share_json(const struct node_share *s)
{
    json_t *o = json_object();
    value_set(o, "cores", value_real(1, s->cores));
    value_set(o, "period_us", value_int(s->period_us > 0, s->period_us));
    value_set(o, "link_bit_per_s", json_integer(s->link_bit_per_s));
    value_set(o, "is_default", json_boolean(s->is_default));
    return o;
}

static json_t *wire(const struct node_wire *w)
{
    json_t *o = json_object();
    value_set(o, "sent_bytes_per_step", value_real(1, w->sent_bytes));
    value_set(o, "received_bytes_per_step", value_real(1, w->received_bytes));
    value_set(o, "collective_bytes_per_step", value_real(1, w->given_bytes));
    return o;
}

json_t *nodes_json(const struct run_result *r)
{
    const struct run *run = r->run;
    int has_wires = wire_is_known(r);
    json_t *list = json_array();
    for (int i = 0; i < run->nodes_len; i++) {
        const struct run_node *n = &run->nodes[i];
        json_t *o = json_object();
        value_set(o, "node", json_integer(n->node));
        value_set(o, "host", value_text(n->host));
        value_set(o, "cpu_model", value_text(n->cpu_model));
        value_set(o, "kernel", value_text(n->kernel));
        value_set(o, "cores", value_int(n->cores > 0, n->cores));
        value_set(o, "cores_allowed", value_int(n->cores_allowed > 0, n->cores_allowed));
        if (n->cores_quota > 0)
            value_set(o, "cores_quota", value_real(1, n->cores_quota));
        if (n->share.has)
            value_set(o, "emulated", share_json(&n->share));
        value_set(o, "memory_bytes", value_int(n->memory_bytes > 0, n->memory_bytes));
        value_set(o, "cpu_percent", sampled(&n->cpu_percent));
        value_set(o, "memory_percent", sampled(&n->memory_percent));
        value_set(o, "iowait_percent", sampled(&n->iowait_percent));
        value_set(o, "steal_percent", sampled(&n->steal_percent));
        value_set(o, "throttled_ns", value_int(n->throttled_ns >= 0, n->throttled_ns));
        value_set(o, "nr_throttled", value_int(n->nr_throttled >= 0, n->nr_throttled));
        value_set(o, "gpus", gpus(n));
        value_set(o, "network", traffic(n->net, n->n_net));
        value_set(o, "disks", traffic(n->disk, n->n_disk));
        struct node_wire on_wire;
        if (has_wires && wire_of_node(r, i, &on_wire))
            value_set(o, "wire", wire(&on_wire));
        if (n->clock.n)
            value_set(o, "clock", clock_of(&n->clock));
        value_add(list, o);
    }
    return list;
}
