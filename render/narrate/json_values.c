/* json_values.c - see json_values.h. */
#include "render/narrate/json_values.h"

#include "lib/json_string.h"
#include "render/say/say.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* NULL means that memory ran out, since all other values become null or are cleaned. */
static void must(int rc)
{
    if (rc != 0) {
        fprintf(stderr, "dcreport: out of memory writing JSON\n");
        abort(); /* like the arena */
    }
}

void value_set(json_t *object, const char *key, json_t *value)
{
    must(json_object_set_new(object, key, value));
}

void value_add(json_t *list, json_t *value)
{
    must(json_array_append_new(list, value));
}

json_t *value_real(int has, double v)
{
    return has && isfinite(v) ? json_real(v) : json_null();
}

json_t *value_int(int has, int64_t v)
{
    return has ? json_integer(v) : json_null();
}

json_t *value_string(const char *s)
{
    return s ? json_string_shown(s) : json_null();
}

json_t *value_text(const char *s)
{
    return s && *s ? value_string(s) : json_null();
}

json_t *value_reason(const struct reason *why)
{
    struct dcr_buf b = {0};
    say_put_reason(&b, why);
    json_t *v = value_text(dcr_buf_text(&b));
    dcr_buf_release(&b);
    return v;
}

json_t *value_clause(const struct reason *why)
{
    struct dcr_buf b = {0};
    say_put_clause(&b, why);
    json_t *v = value_text(dcr_buf_text(&b));
    dcr_buf_release(&b);
    return v;
}

json_t *value_interval(struct interval i)
{
    return i.has ? json_pack("{s:o, s:o}", "lo", value_real(1, i.lo), "hi", value_real(1, i.hi)) : json_null();
}

json_t *value_spread(const struct spread *s)
{
    if (s->n == 0)
        return json_null();
    json_t *o = json_object();
    value_set(o, "n", json_integer(s->n));
    value_set(o, "mean_ns", json_integer(s->mean_ns));
    value_set(o, "median_ns", json_integer(s->median_ns));
    value_set(o, "p95_ns", json_integer(s->p95_ns));
    value_set(o, "p99_ns", value_int(s->p99_ns > 0, s->p99_ns));
    value_set(o, "p99_because",
              s->p99_ns > 0 ? json_null() : value_reason(&REASON(P99_FEW_VALUES, slot_count(SPREAD_P99_NEEDS))));
    value_set(o, "max_over_median_ratio",
              value_real(s->median_ns > 0, s->median_ns > 0 ? (double)s->max_ns / (double)s->median_ns : 0));
    value_set(o, "min_ns", json_integer(s->min_ns));
    value_set(o, "max_ns", json_integer(s->max_ns));
    value_set(o, "cv_ratio", value_real(1, s->cv_ratio));
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
            value_set(o, names[i], json_null());
    value_set(o, "p99_because", value_reason(&REASON(P99_NOT_KEPT)));
    return o;
}

json_t *value_parts(const int64_t *part, unsigned known)
{
    json_t *o = json_object();
    for (int p = 0; p < N_PARTS; p++)
        value_set(o, part_key((enum part)p), value_int(known >> p & 1, part[p]));
    return o;
}

json_t *value_pop_host(const struct pop_host *p)
{
    if (!p->has)
        return json_null();
    json_t *o = json_object();
    value_set(o, "parallel_ratio", value_real(1, p->offload_ratio));
    value_set(o, "mpi_ratio", json_null());
    value_set(o, "device_offload_ratio", value_real(1, p->offload_ratio));
    value_set(o, "gpu_runtime_mean_ns", json_integer(p->runtime_mean_ns));
    return o;
}

json_t *value_pop(const struct pop *p)
{
    if (!p->has)
        return json_null();
    json_t *o = json_object();
    value_set(o, "parallel_ratio", value_real(1, p->parallel_ratio));
    value_set(o, "load_balance_ratio", value_real(1, p->load_balance_ratio));
    value_set(o, "workers", value_string(p->is_of_gpus ? "GPUs" : "ranks"));
    value_set(o, "communication_ratio", value_real(1, p->communication_ratio));
    value_set(o, "gpu_communication_ratio", value_real(p->is_of_gpus, p->gpu_communication_ratio));
    value_set(o, "gpu_orchestration_ratio", value_real(p->is_of_gpus, p->orchestration_ratio));
    value_set(o, "serialization_ratio_estimated", value_real(1, p->serialization_ratio));
    value_set(o, "transfer_ratio_estimated", value_real(1, p->transfer_ratio));
    value_set(o, "useful_mean_ns", json_integer(p->useful_mean_ns));
    value_set(o, "useful_max_ns", json_integer(p->useful_max_ns));
    value_set(o, "load_balance_in_nodes_ratio", value_real(p->has_in_nodes, p->in_nodes_ratio));
    value_set(o, "load_balance_in_nodes_because", value_reason(&p->in_nodes_why));
    value_set(o, "load_balance_between_nodes_ratio", value_real(p->has_between_nodes, p->between_nodes_ratio));
    value_set(o, "load_balance_between_nodes_because", value_reason(&p->between_nodes_why));
    value_set(o, "computation_scaling_ratio", value_real(p->has_scaling, p->computation_scaling_ratio));
    value_set(o, "global_ratio", value_real(p->has_scaling, p->global_ratio));
    return o;
}
