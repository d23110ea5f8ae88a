/* devices.c - the `devices` of report.json. Schema: docs/report-json.md. */
#include "render/narrate/devices.h"

#include "render/analyse/device_shares.h"
#include "render/narrate/json_values.h"

#include <math.h>
#include <stdlib.h>
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
        value_set(o, idle_cause_key((enum idle_cause)c), json_integer(idle_ns[c]));
    return o;
}

static json_t *collectives(const struct run_device *d)
{
    json_t *list = json_array();
    for (int i = 0; i < d->n_collectives; i++) {
        const struct device_collective *c = &d->collectives[i];
        json_t *o = json_object();
        value_set(o, "name", value_string(c->name));
        value_set(o, "bytes", json_integer(c->bytes));
        value_set(o, "n_ranks", c->n_ranks > 0 ? json_integer(c->n_ranks) : json_null());
        value_set(o, "n", json_integer(c->n));
        value_set(o, "sum_ns", json_integer(c->sum_ns));
        value_set(o, "min_ns", json_integer(c->min_ns));
        value_set(o, "algbw_gb_s", value_real(c->algbw_gb_s > 0, c->algbw_gb_s));
        value_set(o, "busbw_gb_s", value_real(c->algbw_gb_s > 0 && c->n_ranks > 0, c->busbw_gb_s));
        value_add(list, o);
    }
    return list;
}

static json_t *memory(const struct run_device *d)
{
    const struct device_memory *m = &d->memory;
    json_t *o = json_object(), *points = json_array();
    value_set(o, "because", m->n ? json_null() : value_clause(&REASON(NO_MEMORY_EVENTS)));
    value_set(o, "source", m->n ? value_string(m->is_driver ? "allocations" : "allocator") : json_null());
    value_set(o, "n", json_integer(m->n));
    value_set(o, "total_bytes", value_int(d->memory_total_bytes > 0, d->memory_total_bytes));
    value_set(o, "n_step_peaks", json_integer(m->n_step_peaks));
    value_set(o, "growth_bytes_per_step", value_real(m->has_growth, m->growth_bytes_per_step));
    for (int i = 0; i < m->n_points; i++) {
        const struct memory_point *p = &m->points[i];
        json_t *point = json_array();
        value_add(point, json_integer(p->t_ns));
        value_add(point, json_integer(p->allocated));
        value_add(point, value_int(p->reserved >= 0, p->reserved));
        value_add(points, point);
    }
    value_set(o, "points", points);
    return o;
}

static json_t *operations(const struct run_device *d)
{
    enum { MOST = 50 };
    json_t *list = json_array();
    for (int i = 0; i < d->n_names && i < MOST; i++) {
        const struct device_name *n = &d->names[i];
        json_t *o = json_object();
        value_set(o, "name", value_string(n->name));
        value_set(o, "kind", value_string(kind_key(n->kind)));
        value_set(o, "n", json_integer(n->n));
        value_set(o, "sum_ns", json_integer(n->sum_ns));
        value_set(o, "min_ns", json_integer(n->min_ns));
        value_set(o, "max_ns", json_integer(n->max_ns));
        value_set(o, "stddev_ns", value_real(n->n > 1, n->stddev_ns));
        value_add(list, o);
    }
    return list;
}

static json_t *device(const struct run_result *r, const struct foreign_trace *t, const struct run_device *d)
{
    json_t *o = json_object();
    value_set(o, "run", value_string(r->slug));
    value_set(o, "file", value_string(d->file));
    value_set(o, "device", json_integer(d->device));
    for (int c = 0; c < N_DEVICE_COLUMNS; c++)
        value_set(o, device_column_name((enum device_column)c), json_integer(d->value[c]));
    double overlap = device_overlap_ratio(d);
    int64_t non_compute = device_non_compute_ns(d), span = d->value[DEV_SPAN];
    value_set(o, "overlap_ratio", value_real(overlap >= 0, overlap));
    value_set(o, "non_compute_ns", json_integer(non_compute));
    value_set(o, "non_compute_ratio", value_real(span > 0, (double)non_compute / (double)(span > 0 ? span : 1)));
    value_set(o, "source", value_string(foreign_kind_words(t->kind)));
    value_set(o, "model", value_text(d->model));
    value_set(o, "rank", d->rank >= 0 ? json_integer(d->rank) : json_null());
    value_set(o, "idle_causes_ns", idle_causes(d->has_idle_causes, d->idle_ns));
    value_set(o, "idle_because", value_clause(&d->idle_why));
    value_set(o, "n_steps", json_integer(d->n_steps));
    value_set(o, "steps_ns", d->n_steps ? json_integer(d->steps_ns) : json_null());
    value_set(o, "steps_idle_ns", d->n_steps ? json_integer(d->steps_ns - d->steps_busy_ns) : json_null());
    value_set(o, "steps_idle_causes_ns", idle_causes(d->n_steps > 0 && d->has_idle_causes, d->steps_idle_ns));
    value_set(o, "utilization_ratio",
              value_real(d->steps_ns > 0, (double)d->steps_kernel_ns / (double)(d->steps_ns > 0 ? d->steps_ns : 1)));
    value_set(o, "queue",
              d->queue.n ? json_pack("{s:I, s:o, s:I, s:I, s:I}", "n", (json_int_t)d->queue.n, "mean",
                                     value_real(1, (double)d->queue.sum / (double)d->queue.n), "median",
                                     (json_int_t)d->queue.median, "p75", (json_int_t)d->queue.p75, "max",
                                     (json_int_t)d->queue.max)
                         : json_null());
    value_set(o, "mallocs_in_steps", d->n_steps ? json_integer(d->n_mallocs) : json_null());
    value_set(o, "frees_in_steps", d->n_steps ? json_integer(d->n_frees) : json_null());
    value_set(o, "syncs_in_steps", d->n_steps ? json_integer(d->n_syncs) : json_null());
    value_set(o, "copies_to_host_in_steps", d->n_steps ? json_integer(d->n_to_host) : json_null());
    value_set(o, "peak_allocated_bytes", d->memory.n ? json_integer(d->memory.peak_allocated) : json_null());
    value_set(o, "peak_reserved_bytes",
              d->memory.n ? value_int(d->memory.peak_reserved >= 0, d->memory.peak_reserved) : json_null());
    value_set(o, "allocated_growth_bytes",
              d->memory.n ? json_integer(d->memory.last_allocated - d->memory.first_allocated) : json_null());
    value_set(o, "memory", memory(d));
    value_set(o, "small_kernel_ns", json_integer(d->small_ns));
    value_set(o, "tensor_core_ns_estimated", json_integer(d->tensor_ns));
    value_set(o, "tensor_core_eligible_ns_estimated", json_integer(d->eligible_ns));
    value_set(o, "sm_efficiency_ratio_estimated", value_real(d->has_sm, d->sm_ratio));
    value_set(o, "sm_efficiency_window", value_string(d->steps_ns > 0 ? "steps" : "span"));
    value_set(o, "sm_efficiency_because", value_clause(&d->sm_why));
    value_set(o, "occupancy_ratio_estimated", value_real(d->has_occupancy, d->occupancy_ratio));
    value_set(o, "occupancy_because", value_clause(&d->occupancy_why));
    value_set(o, "collectives", collectives(d));
    value_set(o, "operations", operations(d));
    value_set(o, "n_operation_names", json_integer(d->n_names));
    return o;
}

static json_t *table(const struct run_result *r, const struct foreign_table *t)
{
    json_t *o = json_object(), *columns = json_array(), *rows = json_array();
    for (const char *p = t->columns; *p; p += *p == '|') {
        size_t n = strcspn(p, "|");
        int is_number = *p == '#';
        char *name = strndup(p + is_number, n - (size_t)is_number);
        value_add(columns, name ? value_string(name) : NULL);
        free(name);
        p += n;
    }
    for (size_t i = 0; i + (size_t)t->n_columns <= t->n_cells; i += (size_t)t->n_columns) {
        json_t *row = json_array();
        for (int c = 0; c < t->n_columns; c++)
            value_add(row, value_string(t->cells[i + (size_t)c]));
        value_add(rows, row);
    }
    value_set(o, "run", value_string(r->slug));
    value_set(o, "file", value_string(t->file));
    value_set(o, "kind", value_string(foreign_kind_words(t->kind)));
    value_set(o, "caption", value_string(t->caption));
    value_set(o, "columns", columns);
    value_set(o, "rows", rows);
    value_set(o, "n_rows_left_out", json_integer(t->n_left_out));
    return o;
}

json_t *evidence_json(const struct report *rep)
{
    json_t *list = json_array();
    for (int i = 0; i < rep->n_runs; i++)
        for (int k = 0; k < rep->runs[i].run->n_tables; k++)
            value_add(list, table(&rep->runs[i], &rep->runs[i].run->tables[k]));
    return list;
}

static json_t *operators(const struct run_result *r, const struct host_operators *all, const char *source)
{
    enum { MOST = 100 };
    json_t *o = json_object(), *list = json_array();
    for (int i = 0; i < all->n_names && i < MOST; i++) {
        const struct host_operator *n = &all->list[i];
        json_t *one =
            json_pack("{s:o, s:o, s:I, s:I, s:I, s:I}", "name", value_string(n->name), "kind",
                      value_string(operator_kind_key(n->kind)), "n", (json_int_t)n->n, "total_ns",
                      (json_int_t)n->total_ns, "min_ns", (json_int_t)n->min_ns, "max_ns", (json_int_t)n->max_ns);
        value_set(one, "self_ns", n->self_ns >= 0 ? json_integer(n->self_ns) : json_null());
        value_add(list, one);
    }
    value_set(o, "run", value_string(r->slug));
    value_set(o, "source", value_string(source));
    value_set(o, "n", json_integer(all->n));
    value_set(o, "n_names", json_integer(all->n_names));
    value_set(o, "operators", list);
    return o;
}

static json_t *of_trace(const struct run_result *r, const struct foreign_trace *t)
{
    json_t *o = operators(r, &t->operators, foreign_kind_words(t->kind));
    value_set(o, "file", value_string(t->file));
    value_set(o, "rank", t->rank >= 0 ? json_integer(t->rank) : json_null());
    value_set(o, "because", t->operators.n ? json_null() : value_string("the trace holds no operators and no ranges"));
    return o;
}

/* What the program named, all ranks of the run together. */
static json_t *of_native_traces(const struct run_result *r)
{
    json_t *o = operators(r, &r->run->ranges, "native traces");
    value_set(o, "file", json_null());
    value_set(o, "rank", json_null());
    value_set(o, "because", json_null());
    return o;
}

json_t *operators_json(const struct report *rep)
{
    json_t *list = json_array();
    for (int i = 0; i < rep->n_runs; i++) {
        const struct run *run = rep->runs[i].run;
        if (run->ranges.n)
            value_add(list, of_native_traces(&rep->runs[i]));
        for (int k = 0; k < run->n_traces; k++)
            value_add(list, of_trace(&rep->runs[i], &run->traces[k]));
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
                value_add(list, device(&rep->runs[i], &r->traces[k], &r->traces[k].devices[d]));
    }
    return list;
}
