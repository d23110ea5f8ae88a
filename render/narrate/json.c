/* json.c - report.json and profiling_analysis.json. Schema: docs/report-json.md. Keys are sorted and reals have nine
 * digits, so that equal reports are equal bytes. Runs: json_run.c. */
#include "render/narrate/narrate.h"

#include "render/analyse/analyse.h"
#include "render/narrate/compare_doc.h"
#include "render/narrate/devices.h"
#include "render/narrate/json_values.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { SCHEMA_VERSION = 1, REAL_DIGITS = 9 };

static json_t *archives_before(const struct report *rep)
{
    json_t *list = json_array();
    for (int i = 0; i < rep->n_before; i++) {
        json_t *o = json_object();
        json_object_set_new(o, "archive", json_string(rep->before[i].archive));
        json_object_set_new(o, "manifest_sha256", value_text(rep->before[i].manifest_sha256));
        json_object_set_new(o, "files_sha256", value_text(rep->before[i].files_sha256));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *window_object(const struct claim *c)
{
    const struct grounds *g = &c->grounds;
    json_t *o = json_object();
    json_object_set_new(o, "kind", json_string(g->n_steps > 0 ? "steps" : "run"));
    json_object_set_new(o, "n_steps", value_int(g->n_steps > 0, g->n_steps));
    json_object_set_new(o, "first_step", value_int(g->n_steps > 0, g->first_step));
    json_object_set_new(o, "last_step", value_int(g->n_steps > 0, g->last_step));
    json_object_set_new(o, "n_left_out", value_int(g->n_steps > 0, g->n_left_out));
    json_object_set_new(o, "n_ranks", value_int(g->n_ranks > 0, g->n_ranks));
    json_object_set_new(o, "text", value_text(c->window));
    return o;
}

static json_t *shown_ranks(const struct grounds *g)
{
    json_t *list = json_array();
    for (int i = 0; i < g->n_shown_ranks; i++)
        json_array_append_new(list, json_integer(g->ranks[i]));
    return list;
}

static json_t *shown_steps(const struct grounds *g)
{
    json_t *list = json_array();
    for (int i = 0; i < g->n_shown_steps; i++)
        json_array_append_new(list, json_integer(g->steps[i]));
    return list;
}

static json_t *claim_object(const struct report *rep, const struct claim *c)
{
    json_t *o = json_object(), *numbers = json_array();
    for (int i = 0; i < c->n_numbers; i++)
        json_array_append_new(numbers, json_pack("{s:s, s:s, s:f}", "id", c->numbers[i].id, "unit", c->numbers[i].unit,
                                                 "value", c->numbers[i].value));
    json_object_set_new(o, "id", json_string(c->id));
    json_object_set_new(o, "class", json_string(class_key(c->cls)));
    json_object_set_new(o, "run", c->run >= 0 ? json_string(rep->runs[c->run].slug) : json_null());
    json_object_set_new(o, "series", value_int(c->series >= 0, c->series));
    json_object_set_new(o, "sentence", json_string(c->sentence));
    json_object_set_new(o, "support", value_text(c->support));
    json_object_set_new(o, "numbers", numbers);
    json_object_set_new(o, "threshold_name", value_text(c->threshold_name));
    json_object_set_new(o, "threshold_ratio", value_real(c->threshold_ratio >= 0, c->threshold_ratio));
    json_object_set_new(o, "rule", value_text(c->rule));
    json_object_set_new(o, "window", window_object(c));
    json_object_set_new(o, "evidence_ranks", shown_ranks(&c->grounds));
    json_object_set_new(o, "evidence_steps", shown_steps(&c->grounds));
    json_object_set_new(o, "interval", value_interval(c->interval));
    json_object_set_new(o, "interval_of", value_text(c->interval_of));
    json_object_set_new(o, "gain_because", value_text(c->gain_because));
    json_object_set_new(o, "confidence", json_string(confidence_word(c->confidence)));
    json_object_set_new(o, "confidence_because", value_text(c->confidence_because));
    json_object_set_new(o, "evidence", value_text(c->evidence));
    json_object_set_new(o, "action", value_text(c->action.ours));
    json_object_set_new(o, "action_generic", value_text(c->action.generic));
    json_object_set_new(o, "gain_ns", value_int(c->has_gain, c->gain_ns));
    json_object_set_new(o, "step_ns", json_integer(c->step_ns));
    json_object_set_new(o, "gain_text", value_text(c->gain_text));
    return o;
}

/* Per step, all ranks together; scaling against the first point. */
static json_t *counters_json(const struct point_counters *c)
{
    json_t *o = json_object();
    json_object_set_new(o, "instructions_per_step", value_real(c->has, c->instructions));
    json_object_set_new(o, "cycles_per_step", value_real(c->has, c->cycles));
    json_object_set_new(o, "task_clock_ns_per_step", value_real(c->has, c->task_clock_ns));
    json_object_set_new(o, "instruction_scaling_ratio",
                        value_real(c->has_instruction_scaling, c->instruction_scaling_ratio));
    json_object_set_new(o, "ipc_scaling_ratio", value_real(c->has_scaling, c->ipc_scaling_ratio));
    json_object_set_new(o, "frequency_scaling_ratio", value_real(c->has_scaling, c->frequency_scaling_ratio));
    json_object_set_new(o, "because", value_text(c->because));
    return o;
}

static json_t *point_object(const struct report *rep, const struct series_point *p)
{
    json_t *o = json_object(), *runs = json_array();
    for (int i = 0; i < p->n_runs; i++)
        json_array_append_new(runs, json_string(rep->runs[p->runs[i]].slug));
    json_object_set_new(o, "n_nodes", value_int(p->n_nodes > 0, p->n_nodes));
    json_object_set_new(o, "n_ranks", value_int(p->n_ranks > 0, p->n_ranks));
    json_object_set_new(o, "runs", runs);
    json_object_set_new(o, "step",
                        !p->step.n && p->n_runs == 1 ? value_step(&rep->runs[p->runs[0]]) : value_spread(&p->step));
    json_object_set_new(o, "step_interval_ns", value_interval(p->step_interval));
    json_object_set_new(o, "parts_ns", p->step.n ? value_parts(p->part_ns, known_point_parts(rep, p)) : json_null());
    json_object_set_new(o, "throughput_samples_per_s", value_real(p->has_throughput, p->throughput));
    json_object_set_new(o, "speedup", value_real(p->speedup > 0, p->speedup));
    json_object_set_new(o, "speedup_interval", value_interval(p->speedup_interval));
    json_object_set_new(o, "efficiency", value_real(p->efficiency > 0, p->efficiency));
    json_object_set_new(o, "efficiency_interval", value_interval(p->efficiency_interval));
    json_object_set_new(o, "unreliable_because", value_text(p->unreliable));
    json_object_set_new(o, "compute_speedup", value_real(p->compute_speedup > 0, p->compute_speedup));
    json_object_set_new(o, "pop", value_pop(&p->pop));
    json_object_set_new(o, "counters", counters_json(&p->counters));
    return o;
}

static json_t *loss_class_object(const struct series_loss *l)
{
    json_t *o = json_object();
    for (int c = 0; c < N_LOSS_CLASSES; c++)
        json_object_set_new(o, loss_class_key((enum loss_class)c), value_int(!l->class_because[c], l->class_ns[c]));
    return o;
}

/* Of those classes that are null. */
static json_t *loss_class_because(const struct series_loss *l)
{
    json_t *o = json_object();
    for (int c = 0; c < N_LOSS_CLASSES; c++)
        if (l->class_because[c])
            json_object_set_new(o, loss_class_key((enum loss_class)c), json_string(l->class_because[c]));
    return o;
}

static json_t *laws_array(const struct series *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->n_laws; i++) {
        const struct law *l = &s->laws[i];
        json_t *o = json_object(), *parameters = json_object();
        for (int k = 0; k < l->n_parameters; k++) {
            char key[64];
            snprintf(key, sizeof key, "%s_%s", l->parameters[k].id, l->parameters[k].unit);
            json_object_set_new(parameters, key, json_real(l->parameters[k].value));
        }
        json_object_set_new(o, "id", json_string(l->id));
        json_object_set_new(o, "name", json_string(l->name));
        json_object_set_new(o, "because", value_text(l->because));
        json_object_set_new(o, "source", value_text(l->source));
        json_object_set_new(o, "parameters", parameters);
        json_object_set_new(o, "residual_ratio", value_real(l->has, l->residual_ratio));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *all_reduce_points(const struct all_reduce_point *points, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        const struct all_reduce_point *p = &points[i];
        json_t *o = json_object();
        json_object_set_new(o, "n_nodes", json_integer(p->n_nodes));
        json_object_set_new(o, "n_ranks", json_integer(p->n_ranks));
        json_object_set_new(o, "bytes_per_step", value_real(p->bytes > 0, p->bytes));
        json_object_set_new(o, "all_reduces_per_step", value_real(p->is_counted, p->count));
        json_object_set_new(o, "all_reduces_assumed", value_real(!p->is_counted, p->count));
        json_object_set_new(o, "predicted_ns", value_int(p->predicted_ns > 0, p->predicted_ns));
        json_object_set_new(o, "predicted_interval_ns", value_interval(p->interval));
        json_object_set_new(o, "measured_ns", value_int(p->measured_ns > 0, p->measured_ns));
        json_object_set_new(o, "measured_interval_ns", value_interval(p->measured_interval));
        json_object_set_new(o, "residual_ratio", value_real(p->has_residual, p->residual_ratio));
        json_object_set_new(o, "residual_because", value_text(p->because));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *all_reduce_object(const struct all_reduce *a)
{
    json_t *o = json_object();
    int has = a->source && *a->source;
    json_object_set_new(o, "source", value_text(a->source));
    json_object_set_new(o, "because", value_text(a->because));
    if (!has)
        return o;
    json_object_set_new(o, "of", value_text(a->of));
    json_object_set_new(o, "left_out", value_text(a->left_out));
    json_object_set_new(o, "mismatch", value_text(a->mismatch));
    json_object_set_new(o, "bytes_per_step", json_real(a->bytes));
    json_object_set_new(o, "all_reduces_per_step", value_real(a->is_counted, a->count));
    json_object_set_new(o, "latency_ns", json_real(a->latency_ns));
    json_object_set_new(o, "busbw_gb_s", value_real(a->busbw_gb_per_s > 0, a->busbw_gb_per_s));
    json_object_set_new(o, "n_fitted", json_integer(a->n_fitted));
    json_object_set_new(o, "fit_residual_ratio", json_real(a->fit_residual_ratio));
    json_object_set_new(o, "points", all_reduce_points(a->points, a->n_points));
    json_object_set_new(o, "extrapolation", all_reduce_points(a->ahead, a->n_ahead));
    json_object_set_new(o, "extrapolation_because", value_text(a->ahead_because));
    json_object_set_new(o, "text", value_text(a->text));
    return o;
}

static json_t *extrapolation(const struct series *s)
{
    json_t *o = json_object(), *list = json_array();
    for (int i = 0; i < s->n_ahead; i++) {
        const struct extrapolation *e = &s->ahead[i];
        json_array_append_new(list, json_pack("{s:i, s:f, s:f, s:o}", "n_nodes", e->n_nodes, "speedup", e->speedup,
                                              "efficiency", e->efficiency, "speedup_interval",
                                              value_interval(e->speedup_interval)));
    }
    json_object_set_new(o, "law", value_text(s->extrapolated_by));
    json_object_set_new(o, "because", value_text(s->extrapolation_because));
    json_object_set_new(o, "points", list);
    return o;
}

static json_t *series_object(const struct report *rep, const struct series *s)
{
    json_t *o = json_object(), *points = json_array(), *losses = json_array();
    for (int i = 0; i < s->n_points; i++)
        json_array_append_new(points, point_object(rep, &s->points[i]));
    for (int i = 0; i < s->n_losses; i++) {
        const struct series_loss *l = &s->losses[i];
        json_array_append_new(
            losses, json_pack("{s:i, s:i, s:I, s:I, s:I, s:o, s:o, s:o, s:s}", "from_nodes", s->points[l->from].n_nodes,
                              "to_nodes", s->points[l->to].n_nodes, "ideal_ns", (json_int_t)l->ideal_ns, "actual_ns",
                              (json_int_t)l->actual_ns, "loss_ns", (json_int_t)l->loss_ns, "parts_ns",
                              value_parts(l->part_ns, known_loss_parts(rep, s, l)), "classes_ns", loss_class_object(l),
                              "classes_because", loss_class_because(l), "largest", part_key((enum part)l->largest)));
    }
    json_object_set_new(o, "label", json_string(s->label));
    json_object_set_new(o, "scaling", json_string(scaling_word(s->kind)));
    json_object_set_new(o, "scaling_because", value_text(s->kind_because));
    json_object_set_new(o, "points", points);
    json_object_set_new(o, "losses", losses);
    json_object_set_new(o, "losses_because", value_text(s->losses_because));
    json_object_set_new(o, "laws", laws_array(s));
    json_object_set_new(o, "all_reduce", all_reduce_object(&s->all_reduce));
    json_object_set_new(o, "extrapolation", extrapolation(s));
    json_object_set_new(o, "limit_claim",
                        s->limit_claim >= 0 ? json_string(rep->claims[s->limit_claim].id) : json_null());
    json_object_set_new(o, "headline", value_text(s->headline));
    json_object_set_new(o, "support", value_text(s->support));
    json_object_set_new(o, "scaling_text", value_text(s->scaling_text));
    json_object_set_new(o, "beyond_text", value_text(s->beyond_text));
    return o;
}

/* run < 0: all notes; else those of the run and those about all runs. */
static json_t *notes(const struct report *rep, int run)
{
    json_t *list = json_array();
    for (int i = 0; i < rep->n_notes; i++) {
        const struct note *n = &rep->notes[i];
        if (run >= 0 && n->run >= 0 && n->run != run)
            continue;
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:o, s:s}", "kind", n->kind == NOTE_GAP ? "gap" : "caveat", "id", n->id, "run",
                            n->run >= 0 ? json_string(rep->runs[n->run].slug) : json_null(), "text", n->text));
    }
    return list;
}

static json_t *thresholds(const struct thresholds *t)
{
    json_t *o = json_object();
#define X(name, def, lo, hi, meaning) json_object_set_new(o, #name, json_real(t->name));
    THRESHOLDS(X)
#undef X
    return o;
}

static json_t *header(const char *format)
{
    return json_pack("{s:s, s:i, s:s}", "format", format, "version", SCHEMA_VERSION, "generator",
                     "dcreport " DCR_VERSION);
}

static int put_bytes(const char *bytes, size_t n, void *out)
{
    dcr_buf_add(out, bytes, n);
    return 0;
}

static void dump(json_t *root, struct dcr_buf *out)
{
    if (json_dump_callback(root, put_bytes, out, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(REAL_DIGITS)))
        out->failed = 1;
    dcr_buf_putc(out, '\n');
    json_decref(root);
}

void narrate_report_json(const struct report *rep, struct dcr_buf *out)
{
    json_t *o = header("dcreport-report"), *runs = json_array(), *series = json_array(), *claims = json_array();
    json_t *none = json_array();
    for (int i = 0; i < rep->n_none; i++)
        json_array_append_new(none, json_string(rep->none[i]));
    for (int i = 0; i < rep->n_runs; i++)
        json_array_append_new(runs, run_json(&rep->runs[i]));
    for (int i = 0; i < rep->n_series; i++)
        json_array_append_new(series, series_object(rep, &rep->series[i]));
    for (int i = 0; i < rep->n_claims; i++)
        json_array_append_new(claims, claim_object(rep, &rep->claims[i]));
    json_object_set_new(o, "title", json_string(rep->title));
    json_object_set_new(o, "baseline", value_text(rep->baseline));
    json_object_set_new(o, "baseline_archives", archives_before(rep));
    json_object_set_new(o, "comparisons", comparisons_json(rep));
    json_object_set_new(o, "unit", json_string(rep->unit));
    json_object_set_new(o, "node_label", value_text(rep->node_label));
    json_object_set_new(o, "headline", value_text(rep->headline));
    json_object_set_new(o, "support", value_text(rep->support));
    json_object_set_new(o, "first_action", value_text(rep->first_action));
    json_object_set_new(o, "how_sure", value_text(rep->how_sure));
    json_object_set_new(o, "verdict", value_text(rep->verdict));
    json_object_set_new(o, "thresholds", thresholds(&rep->thresholds));
    json_object_set_new(o, "notes", notes(rep, -1));
    json_object_set_new(o, "runs", runs);
    json_object_set_new(o, "series", series);
    json_object_set_new(o, "claims", claims);
    json_object_set_new(o, "devices", devices_json(rep));
    json_object_set_new(o, "operators", operators_json(rep));
    json_object_set_new(o, "evidence", evidence_json(rep));
    json_object_set_new(o, "kernel_roofline", roofline_json(rep));
    json_object_set_new(o, "not_evidence", none);
    dump(o, out);
}

void narrate_profiling_analysis_json(const struct report *rep, const struct run_result *run, struct dcr_buf *out)
{
    json_t *o = header("dcreport-run-analysis"), *claims = json_array();
    int index = (int)(run - rep->runs);
    for (int i = 0; i < run->n_claims; i++)
        json_array_append_new(claims, claim_object(rep, &rep->claims[run->claims[i]]));
    json_object_set_new(o, "run", run_json(run));
    json_object_set_new(o, "claims", claims);
    json_object_set_new(o, "notes", notes(rep, index));
    json_object_set_new(o, "thresholds", thresholds(&rep->thresholds));
    dump(o, out);
}
