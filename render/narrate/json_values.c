/* json_values.c - see json_values.h. */
#include "render/narrate/json_values.h"

#include <math.h>

json_t *value_real(int has, double v)
{
    return has && isfinite(v) ? json_real(v) : json_null();
}

json_t *value_int(int has, int64_t v)
{
    return has ? json_integer(v) : json_null();
}

json_t *value_text(const char *s)
{
    return s && *s ? json_string(s) : json_null();
}

json_t *value_interval(struct interval i)
{
    return i.has ? json_pack("{s:f, s:f}", "lo", i.lo, "hi", i.hi) : json_null();
}

json_t *value_spread(const struct spread *s)
{
    if (s->n == 0)
        return json_null();
    json_t *o = json_object();
    json_object_set_new(o, "n", json_integer(s->n));
    json_object_set_new(o, "mean_ns", json_integer(s->mean_ns));
    json_object_set_new(o, "median_ns", json_integer(s->median_ns));
    json_object_set_new(o, "p95_ns", json_integer(s->p95_ns));
    json_object_set_new(o, "p99_ns", value_int(s->p99_ns > 0, s->p99_ns));
    json_object_set_new(o, "p99_because", s->p99_ns > 0 ? json_null() : json_string(SPREAD_NO_P99));
    json_object_set_new(o, "max_over_median_ratio",
                        value_real(s->median_ns > 0, s->median_ns > 0 ? (double)s->max_ns / (double)s->median_ns : 0));
    json_object_set_new(o, "min_ns", json_integer(s->min_ns));
    json_object_set_new(o, "max_ns", json_integer(s->max_ns));
    json_object_set_new(o, "cv_ratio", json_real(s->cv_ratio));
    return o;
}

/* A summary keeps neither its shortest nor its longest step, and not always more than the mean. */
json_t *value_step(const struct run_result *r)
{
    const struct run_summary *m = &r->run->summary;
    json_t *o = value_spread(&r->step);
    if (r->has_steps || !json_is_object(o))
        return o;
    static const char *const names[] = {"min_ns", "max_ns", "median_ns", "p95_ns", "cv_ratio", "max_over_median_ratio"};
    const int is_known[] = {0, 0, m->p50_ns > 0, m->p95_ns > 0, m->stdev_ns > 0, 0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!is_known[i])
            json_object_set_new(o, names[i], json_null());
    json_object_set_new(o, "p99_because", json_string("n/a because the results hold no 99th percentile"));
    return o;
}

json_t *value_parts(const int64_t *part, unsigned known)
{
    json_t *o = json_object();
    for (int p = 0; p < N_PARTS; p++)
        json_object_set_new(o, part_key((enum part)p), value_int(known >> p & 1, part[p]));
    return o;
}

json_t *value_pop_host(const struct pop_host *p)
{
    if (!p->has)
        return json_null();
    json_t *o = json_object();
    json_object_set_new(o, "parallel_ratio", json_real(p->offload_ratio));
    json_object_set_new(o, "mpi_ratio", json_null());
    json_object_set_new(o, "device_offload_ratio", json_real(p->offload_ratio));
    json_object_set_new(o, "gpu_runtime_mean_ns", json_integer(p->runtime_mean_ns));
    return o;
}

json_t *value_pop(const struct pop *p)
{
    if (!p->has)
        return json_null();
    json_t *o = json_object();
    json_object_set_new(o, "parallel_ratio", json_real(p->parallel_ratio));
    json_object_set_new(o, "load_balance_ratio", json_real(p->load_balance_ratio));
    json_object_set_new(o, "workers", json_string(p->is_of_gpus ? "GPUs" : "ranks"));
    json_object_set_new(o, "communication_ratio", json_real(p->communication_ratio));
    json_object_set_new(o, "gpu_communication_ratio", value_real(p->is_of_gpus, p->gpu_communication_ratio));
    json_object_set_new(o, "gpu_orchestration_ratio", value_real(p->is_of_gpus, p->orchestration_ratio));
    json_object_set_new(o, "serialization_ratio_estimated", json_real(p->serialization_ratio));
    json_object_set_new(o, "transfer_ratio_estimated", json_real(p->transfer_ratio));
    json_object_set_new(o, "useful_mean_ns", json_integer(p->useful_mean_ns));
    json_object_set_new(o, "useful_max_ns", json_integer(p->useful_max_ns));
    json_object_set_new(o, "load_balance_in_nodes_ratio", value_real(p->has_in_nodes, p->in_nodes_ratio));
    json_object_set_new(o, "load_balance_in_nodes_because", value_text(p->in_nodes_because));
    json_object_set_new(o, "load_balance_between_nodes_ratio",
                        value_real(p->has_between_nodes, p->between_nodes_ratio));
    json_object_set_new(o, "load_balance_between_nodes_because", value_text(p->between_nodes_because));
    json_object_set_new(o, "computation_scaling_ratio", value_real(p->has_scaling, p->computation_scaling_ratio));
    json_object_set_new(o, "global_ratio", value_real(p->has_scaling, p->global_ratio));
    return o;
}
