/* json_nodes.c - the nodes of a run in report.json: what they are, what monitors saw of them, their clock. See
 * json_values.h. */
#include "render/narrate/json_values.h"

static json_t *sampled(const struct sampled *s)
{
    if (s->n == 0)
        return json_null();
    return json_pack("{s:I, s:f, s:f, s:f}", "n", (json_int_t)s->n, "mean", s->sum / (double)s->n, "min", s->min, "max",
                     s->max);
}

static json_t *traffic(const struct run_traffic *t, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:f}", "name", t[i].name, "in_bytes",
                                              value_int(t[i].in_bytes >= 0, t[i].in_bytes), "out_bytes",
                                              value_int(t[i].out_bytes >= 0, t[i].out_bytes), "seconds", t[i].seconds));
    return list;
}

static json_t *gpus(const struct run_node *n)
{
    json_t *list = json_array();
    for (int i = 0; i < n->n_gpus; i++) {
        const struct run_gpu *g = &n->gpus[i];
        json_array_append_new(
            list, json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "gpu", g->gpu_id, "utilization_percent",
                            sampled(&g->utilization_percent), "memory_used_mb", sampled(&g->memory_used_mb),
                            "memory_total_mb", sampled(&g->memory_total_mb), "power_w", sampled(&g->power_w),
                            "temperature_c", sampled(&g->temperature_c), "sm_clock_mhz", sampled(&g->sm_clock_mhz),
                            "sm_clock_max_mhz", sampled(&g->sm_clock_max_mhz)));
    }
    return list;
}

/* How far the node's clock is from the reference's, from the first look to the last. */
static json_t *clock_of(const struct dcr_clock *c)
{
    double ppm, error_ppm;
    int has_drift = dcr_clock_drift(c, &ppm, &error_ppm) == 0;
    json_t *o = json_object();
    json_object_set_new(o, "reference", value_text(c->reference));
    json_object_set_new(o, "n", json_integer(c->n));
    json_object_set_new(o, "first_offset_ns", json_integer(c->points[0].offset_ns));
    json_object_set_new(o, "last_offset_ns", json_integer(c->points[c->n - 1].offset_ns));
    json_object_set_new(o, "error_ns", json_integer(dcr_clock_error(c)));
    json_object_set_new(o, "drift_ppm", has_drift ? json_real(ppm) : json_null());
    json_object_set_new(o, "drift_error_ppm", has_drift ? json_real(error_ppm) : json_null());
    return o;
}

json_t *nodes_json(const struct run *run)
{
    json_t *list = json_array();
    for (int i = 0; i < run->nodes_len; i++) {
        const struct run_node *n = &run->nodes[i];
        json_t *o = json_object();
        json_object_set_new(o, "node", json_integer(n->node));
        json_object_set_new(o, "host", value_text(n->host));
        json_object_set_new(o, "cpu_model", value_text(n->cpu_model));
        json_object_set_new(o, "kernel", value_text(n->kernel));
        json_object_set_new(o, "cores", value_int(n->cores > 0, n->cores));
        json_object_set_new(o, "cores_allowed", value_int(n->cores_allowed > 0, n->cores_allowed));
        json_object_set_new(o, "memory_bytes", value_int(n->memory_bytes > 0, n->memory_bytes));
        json_object_set_new(o, "cpu_percent", sampled(&n->cpu_percent));
        json_object_set_new(o, "memory_percent", sampled(&n->memory_percent));
        json_object_set_new(o, "iowait_percent", sampled(&n->iowait_percent));
        json_object_set_new(o, "steal_percent", sampled(&n->steal_percent));
        json_object_set_new(o, "throttled_ns", value_int(n->throttled_ns >= 0, n->throttled_ns));
        json_object_set_new(o, "nr_throttled", value_int(n->nr_throttled >= 0, n->nr_throttled));
        json_object_set_new(o, "gpus", gpus(n));
        json_object_set_new(o, "network", traffic(n->net, n->n_net));
        json_object_set_new(o, "disks", traffic(n->disk, n->n_disk));
        if (n->clock.n)
            json_object_set_new(o, "clock", clock_of(&n->clock));
        json_array_append_new(list, o);
    }
    return list;
}
