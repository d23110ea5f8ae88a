/* devices.c - the `devices` of report.json. Schema: docs/report-json.md. */
#include "render/narrate/devices.h"

#include "render/analyse/device_shares.h"
#include "render/narrate/json_values.h"

#include <math.h>
#include <string.h>

static const char *kind_key(enum op_kind k)
{
    static const char *const keys[] = {"compute", "communication", "memcpy", "memset"};
    return keys[k];
}

static json_t *idle_causes(int has, const int64_t *idle_ns)
{
    if (!has)
        return json_null();
    json_t *o = json_object();
    for (int c = 0; c < N_IDLE_CAUSES; c++)
        json_object_set_new(o, idle_cause_key((enum idle_cause)c), json_integer(idle_ns[c]));
    return o;
}

static json_t *collectives(const struct run_device *d)
{
    json_t *list = json_array();
    for (int i = 0; i < d->n_collectives; i++) {
        const struct device_collective *c = &d->collectives[i];
        json_t *o = json_object();
        json_object_set_new(o, "name", json_string(c->name));
        json_object_set_new(o, "bytes", json_integer(c->bytes));
        json_object_set_new(o, "n_ranks", c->n_ranks > 0 ? json_integer(c->n_ranks) : json_null());
        json_object_set_new(o, "n", json_integer(c->n));
        json_object_set_new(o, "sum_ns", json_integer(c->sum_ns));
        json_object_set_new(o, "min_ns", json_integer(c->min_ns));
        json_object_set_new(o, "algbw_gb_s", value_real(c->algbw_gb_s > 0, c->algbw_gb_s));
        json_object_set_new(o, "busbw_gb_s", value_real(c->algbw_gb_s > 0 && c->n_ranks > 0, c->busbw_gb_s));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *memory(const struct run_device *d)
{
    const struct device_memory *m = &d->memory;
    json_t *o = json_object(), *points = json_array();
    json_object_set_new(o, "because", m->n ? json_null() : json_string(DEVICE_NO_MEMORY));
    json_object_set_new(o, "source", m->n ? json_string(m->is_driver ? "allocations" : "allocator") : json_null());
    json_object_set_new(o, "n", json_integer(m->n));
    json_object_set_new(o, "total_bytes", value_int(d->memory_total_bytes > 0, d->memory_total_bytes));
    json_object_set_new(o, "n_step_peaks", json_integer(m->n_step_peaks));
    json_object_set_new(o, "growth_bytes_per_step", value_real(m->has_growth, m->growth_bytes_per_step));
    for (int i = 0; i < m->n_points; i++) {
        const struct memory_point *p = &m->points[i];
        json_t *point = json_array();
        json_array_append_new(point, json_integer(p->t_ns));
        json_array_append_new(point, json_integer(p->allocated));
        json_array_append_new(point, value_int(p->reserved >= 0, p->reserved));
        json_array_append_new(points, point);
    }
    json_object_set_new(o, "points", points);
    return o;
}

static json_t *operations(const struct run_device *d)
{
    enum { MOST = 50 };
    json_t *list = json_array();
    for (int i = 0; i < d->n_names && i < MOST; i++) {
        const struct device_name *n = &d->names[i];
        json_t *o = json_object();
        json_object_set_new(o, "name", json_string(n->name));
        json_object_set_new(o, "kind", json_string(kind_key(n->kind)));
        json_object_set_new(o, "n", json_integer(n->n));
        json_object_set_new(o, "sum_ns", json_integer(n->sum_ns));
        json_object_set_new(o, "min_ns", json_integer(n->min_ns));
        json_object_set_new(o, "max_ns", json_integer(n->max_ns));
        json_object_set_new(o, "stddev_ns", value_real(n->n > 1, n->stddev_ns));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *device(const struct run_result *r, const struct foreign_trace *t, const struct run_device *d)
{
    json_t *o = json_object();
    json_object_set_new(o, "run", json_string(r->slug));
    json_object_set_new(o, "file", json_string(d->file));
    json_object_set_new(o, "device", json_integer(d->device));
    for (int c = 0; c < N_DEVICE_COLUMNS; c++)
        json_object_set_new(o, device_column_name((enum device_column)c), json_integer(d->value[c]));
    double overlap = device_overlap_ratio(d);
    int64_t non_compute = device_non_compute_ns(d), span = d->value[DEV_SPAN];
    json_object_set_new(o, "overlap_ratio", value_real(overlap >= 0, overlap));
    json_object_set_new(o, "non_compute_ns", json_integer(non_compute));
    json_object_set_new(o, "non_compute_ratio",
                        value_real(span > 0, (double)non_compute / (double)(span > 0 ? span : 1)));
    json_object_set_new(o, "source", json_string(t->kind));
    json_object_set_new(o, "model", value_text(d->model));
    json_object_set_new(o, "rank", d->rank >= 0 ? json_integer(d->rank) : json_null());
    json_object_set_new(o, "idle_causes_ns", idle_causes(d->has_idle_causes, d->idle_ns));
    json_object_set_new(o, "idle_because", value_text(d->idle_because));
    json_object_set_new(o, "n_steps", json_integer(d->n_steps));
    json_object_set_new(o, "steps_ns", d->n_steps ? json_integer(d->steps_ns) : json_null());
    json_object_set_new(o, "steps_idle_ns", d->n_steps ? json_integer(d->steps_ns - d->steps_busy_ns) : json_null());
    json_object_set_new(o, "steps_idle_causes_ns", idle_causes(d->n_steps > 0 && d->has_idle_causes, d->steps_idle_ns));
    json_object_set_new(
        o, "utilization_ratio",
        value_real(d->steps_ns > 0, (double)d->steps_kernel_ns / (double)(d->steps_ns > 0 ? d->steps_ns : 1)));
    json_object_set_new(o, "queue",
                        d->queue.n ? json_pack("{s:I, s:f, s:I, s:I, s:I}", "n", (json_int_t)d->queue.n, "mean",
                                               (double)d->queue.sum / (double)d->queue.n, "median",
                                               (json_int_t)d->queue.median, "p75", (json_int_t)d->queue.p75, "max",
                                               (json_int_t)d->queue.max)
                                   : json_null());
    json_object_set_new(o, "mallocs_in_steps", d->n_steps ? json_integer(d->n_mallocs) : json_null());
    json_object_set_new(o, "frees_in_steps", d->n_steps ? json_integer(d->n_frees) : json_null());
    json_object_set_new(o, "syncs_in_steps", d->n_steps ? json_integer(d->n_syncs) : json_null());
    json_object_set_new(o, "copies_to_host_in_steps", d->n_steps ? json_integer(d->n_to_host) : json_null());
    json_object_set_new(o, "peak_allocated_bytes", d->memory.n ? json_integer(d->memory.peak_allocated) : json_null());
    json_object_set_new(o, "peak_reserved_bytes",
                        d->memory.n ? value_int(d->memory.peak_reserved >= 0, d->memory.peak_reserved) : json_null());
    json_object_set_new(o, "allocated_growth_bytes",
                        d->memory.n ? json_integer(d->memory.last_allocated - d->memory.first_allocated) : json_null());
    json_object_set_new(o, "memory", memory(d));
    json_object_set_new(o, "small_kernel_ns", json_integer(d->small_ns));
    json_object_set_new(o, "tensor_core_ns_estimated", json_integer(d->tensor_ns));
    json_object_set_new(o, "tensor_core_eligible_ns_estimated", json_integer(d->eligible_ns));
    json_object_set_new(o, "sm_efficiency_ratio_estimated", value_real(d->has_sm, d->sm_ratio));
    json_object_set_new(o, "sm_efficiency_window", json_string(d->steps_ns > 0 ? "steps" : "span"));
    json_object_set_new(o, "sm_efficiency_because", value_text(d->sm_because));
    json_object_set_new(o, "occupancy_ratio_estimated", value_real(d->has_occupancy, d->occupancy_ratio));
    json_object_set_new(o, "occupancy_because", value_text(d->occupancy_because));
    json_object_set_new(o, "collectives", collectives(d));
    json_object_set_new(o, "operations", operations(d));
    json_object_set_new(o, "n_operation_names", json_integer(d->n_names));
    return o;
}

static json_t *table(const struct run_result *r, const struct foreign_table *t)
{
    json_t *o = json_object(), *columns = json_array(), *rows = json_array();
    for (const char *p = t->columns; *p; p += *p == '|') {
        size_t n = strcspn(p, "|");
        int is_number = *p == '#';
        json_array_append_new(columns, json_stringn(p + is_number, n - (size_t)is_number));
        p += n;
    }
    for (size_t i = 0; i + (size_t)t->n_columns <= t->n_cells; i += (size_t)t->n_columns) {
        json_t *row = json_array();
        for (int c = 0; c < t->n_columns; c++)
            json_array_append_new(row, json_string(t->cells[i + (size_t)c]));
        json_array_append_new(rows, row);
    }
    json_object_set_new(o, "run", json_string(r->slug));
    json_object_set_new(o, "file", json_string(t->file));
    json_object_set_new(o, "kind", json_string(t->kind));
    json_object_set_new(o, "caption", json_string(t->caption));
    json_object_set_new(o, "columns", columns);
    json_object_set_new(o, "rows", rows);
    json_object_set_new(o, "n_rows_left_out", json_integer(t->n_left_out));
    return o;
}

json_t *evidence_json(const struct report *rep)
{
    json_t *list = json_array();
    for (int i = 0; i < rep->n_runs; i++)
        for (int k = 0; k < rep->runs[i].run->n_tables; k++)
            json_array_append_new(list, table(&rep->runs[i], &rep->runs[i].run->tables[k]));
    return list;
}

static json_t *operators(const struct run_result *r, const struct host_operators *all, const char *source)
{
    enum { MOST = 100 };
    json_t *o = json_object(), *list = json_array();
    for (int i = 0; i < all->n_names && i < MOST; i++) {
        const struct host_operator *n = &all->list[i];
        json_t *one = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I}", "name", n->name, "kind", operator_kind_key(n->kind),
                                "n", (json_int_t)n->n, "total_ns", (json_int_t)n->total_ns, "min_ns",
                                (json_int_t)n->min_ns, "max_ns", (json_int_t)n->max_ns);
        json_object_set_new(one, "self_ns", n->self_ns >= 0 ? json_integer(n->self_ns) : json_null());
        json_array_append_new(list, one);
    }
    json_object_set_new(o, "run", json_string(r->slug));
    json_object_set_new(o, "source", json_string(source));
    json_object_set_new(o, "n", json_integer(all->n));
    json_object_set_new(o, "n_names", json_integer(all->n_names));
    json_object_set_new(o, "operators", list);
    return o;
}

static json_t *of_trace(const struct run_result *r, const struct foreign_trace *t)
{
    json_t *o = operators(r, &t->operators, t->kind);
    json_object_set_new(o, "file", json_string(t->file));
    json_object_set_new(o, "rank", t->rank >= 0 ? json_integer(t->rank) : json_null());
    json_object_set_new(o, "because",
                        t->operators.n ? json_null() : json_string("the trace holds no operators and no ranges"));
    return o;
}

/* What the program named, all ranks of the run together. */
static json_t *of_native_traces(const struct run_result *r)
{
    json_t *o = operators(r, &r->run->ranges, "native traces");
    json_object_set_new(o, "file", json_null());
    json_object_set_new(o, "rank", json_null());
    json_object_set_new(o, "because", json_null());
    return o;
}

json_t *operators_json(const struct report *rep)
{
    json_t *list = json_array();
    for (int i = 0; i < rep->n_runs; i++) {
        const struct run *run = rep->runs[i].run;
        if (run->ranges.n)
            json_array_append_new(list, of_native_traces(&rep->runs[i]));
        for (int k = 0; k < run->n_traces; k++)
            json_array_append_new(list, of_trace(&rep->runs[i], &run->traces[k]));
    }
    return list;
}

json_t *devices_json(const struct report *rep)
{
    json_t *list = json_array();
    for (int i = 0; i < rep->n_runs; i++) {
        const struct run *r = rep->runs[i].run;
        for (int k = 0; k < r->n_traces; k++)
            for (int d = 0; d < r->traces[k].n_devices; d++)
                json_array_append_new(list, device(&rep->runs[i], &r->traces[k], &r->traces[k].devices[d]));
    }
    return list;
}
