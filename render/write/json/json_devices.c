/* json_devices.c - the `devices` of report.json. Schema: docs/report-json.md. */
#include "render/write/json/json_lists.h"

#include "render/write/json/json_values.h"

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
    for (int i = 0; i < d->n_collectives; i++)
        value_add(list, value_object(&collective_metrics, &d->collectives[i]));
    return list;
}

static json_t *memory_points(const struct device_memory *m)
{
    json_t *points = json_array();
    for (int i = 0; i < m->n_points; i++) {
        const struct memory_point *p = &m->points[i];
        json_t *point = json_array();
        value_add(point, json_integer(p->t_ns));
        value_add(point, json_integer(p->allocated));
        value_add(point, value_int(p->reserved >= 0, p->reserved));
        value_add(points, point);
    }
    return points;
}

static json_t *operations(const struct run_device *d)
{
    enum { MOST = 50 };
    json_t *list = json_array();
    for (int i = 0; i < d->n_names && i < MOST; i++) {
        json_t *o = value_object(&operation_metrics, &d->names[i]);
        value_set(o, "kind", value_string(kind_key(d->names[i].kind)));
        value_add(list, o);
    }
    return list;
}

static json_t *device(const struct run_result *r, const struct foreign_trace *t, const struct run_device *d)
{
    json_t *o = value_object(&device_metrics, d);
    value_set(o, "run", value_string(r->slug));
    value_set(o, "source", value_string(foreign_kind_words(t->kind)));
    value_set(o, "idle_causes_ns", idle_causes(d->has_idle_causes, d->idle_ns));
    value_set(o, "idle_because", value_reason(&d->idle_why));
    value_set(o, "steps_idle_causes_ns", idle_causes(d->n_steps > 0 && d->has_idle_causes, d->steps_idle_ns));
    value_set(json_object_get(o, "memory"), "points", memory_points(&d->memory));
    value_set(o, "collectives", collectives(d));
    value_set(o, "operations", operations(d));
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
    for (int i = 0; i < all->n_names; i++) {
        const struct host_operator *n = &all->list[i];
        if (i >= MOST && n->kind != OPERATOR_STEP) /* steps come last */
            continue;
        json_t *one = json_pack("{s:o, s:o, s:I, s:I}", "name", value_string(n->name), "kind",
                                value_string(operator_kind_key(n->kind)), "n", (json_int_t)n->n, "total_ns",
                                (json_int_t)n->total_ns);
        value_set(one, "min_ns", n->min_ns >= 0 ? json_integer(n->min_ns) : json_null());
        value_set(one, "max_ns", n->max_ns >= 0 ? json_integer(n->max_ns) : json_null());
        value_set(one, "self_ns", n->self_ns >= 0 ? json_integer(n->self_ns) : json_null());
        if (n->place) {
            value_set(one, "line", value_string(n->place));
            value_set(one, "function", value_string(n->function));
        }
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

/* The ranges that the program named, all ranks of the run together. */
static json_t *of_native_traces(const struct run_result *r)
{
    json_t *o = operators(r, &r->run->ranges, "native traces");
    value_set(o, "file", json_null());
    value_set(o, "rank", json_null());
    value_set(o, "because", json_null());
    return o;
}

static json_t *lines_of(const struct run_result *r, const struct foreign_trace *t)
{
    json_t *o = json_object(), *list = json_array();
    for (int i = 0; i < t->code.n; i++) {
        const struct code_line *c = &t->code.list[i];
        json_t *one = json_object();
        value_set(one, "line", value_string(c->place));
        value_set(one, "function", value_string(c->function));
        value_set(one, "module", value_text(c->module));
        value_set(one, t->code.is_unnamed ? "unnamed_ns" : "idle_ns", json_integer(c->idle_ns));
        value_add(list, one);
    }
    value_set(o, "run", value_string(r->slug));
    value_set(o, "file", value_string(t->file));
    value_set(o, t->code.is_unnamed ? "unnamed_ns" : "host_idle_ns", json_integer(t->code.idle_ns));
    value_set(o, "with_line_ns", json_integer(t->code.known_ns));
    value_set(o, "lines", list);
    return o;
}

json_t *code_lines_json(const struct report *rep)
{
    json_t *list = json_array();
    for (int i = 0; i < rep->n_runs; i++)
        for (int k = 0; k < rep->runs[i].run->n_traces; k++)
            if (rep->runs[i].run->traces[k].code.has_stacks)
                value_add(list, lines_of(&rep->runs[i], &rep->runs[i].run->traces[k]));
    return list;
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
