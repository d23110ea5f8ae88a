/* json.c - report.json and profiling_analysis.json. Schema: docs/report-json.md. Keys are sorted and reals have nine
 * digits, so that equal reports are equal bytes. Runs: json_run.c. */
#include "render/findings/narrate.h"

#include "render/metrics/known.h"
#include "render/metrics/series/series.h"
#include "render/findings/claims.h"
#include "render/write/json/json_lists.h"
#include "render/write/json/json_values.h"
#include "render/say/say.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { SCHEMA_VERSION = 2, REAL_DIGITS = 9 };

static json_t *archives_before(const struct report *rep)
{
    json_t *list = json_array();
    for (int i = 0; i < rep->n_before; i++) {
        json_t *o = json_object();
        value_set(o, "archive", value_string(rep->before[i].archive));
        value_set(o, "manifest_sha256", value_text(rep->before[i].manifest_sha256));
        value_set(o, "files_sha256", value_text(rep->before[i].files_sha256));
        value_add(list, o);
    }
    return list;
}

static json_t *window_object(const struct claim *c)
{
    const struct grounds *g = &c->grounds;
    json_t *o = json_object();
    value_set(o, "kind", value_string(g->n_steps > 0 ? "steps" : "run"));
    value_set(o, "n_steps", value_int(g->n_steps > 0, g->n_steps));
    value_set(o, "first_step", value_int(g->n_steps > 0, g->first_step));
    value_set(o, "last_step", value_int(g->n_steps > 0, g->last_step));
    value_set(o, "n_left_out", value_int(g->n_steps > 0, g->n_left_out));
    value_set(o, "n_ranks", value_int(g->n_ranks > 0, g->n_ranks));
    value_set(o, "text", value_text(c->window));
    return o;
}

static json_t *shown_ranks(const struct grounds *g)
{
    json_t *list = json_array();
    for (int i = 0; i < g->n_shown_ranks; i++)
        value_add(list, json_integer(g->ranks[i]));
    return list;
}

static json_t *shown_steps(const struct grounds *g)
{
    json_t *list = json_array();
    for (int i = 0; i < g->n_shown_steps; i++)
        value_add(list, json_integer(g->steps[i]));
    return list;
}

static json_t *claim_object(const struct report *rep, const struct claim *c)
{
    json_t *o = json_object(), *numbers = json_array();
    for (int i = 0; i < c->n_numbers; i++)
        value_add(numbers, json_pack("{s:o, s:o, s:o}", "id", value_string(c->numbers[i].id), "unit",
                                     value_string(c->numbers[i].unit), "value", value_real(1, c->numbers[i].value)));
    value_set(o, "id", value_string(c->id));
    value_set(o, "class", value_string(class_key(c->cls)));
    value_set(o, "run", c->run >= 0 ? value_string(rep->runs[c->run].slug) : json_null());
    value_set(o, "series", value_int(c->series >= 0, c->series));
    value_set(o, "finding", value_text(say_finding(&c->said)));
    value_set(o, "sentence", value_string(c->sentence));
    value_set(o, "support", value_text(c->support));
    value_set(o, "numbers", numbers);
    value_set(o, "threshold_name", value_text(c->threshold_name));
    value_set(o, "threshold_ratio", value_real(c->threshold_ratio >= 0, c->threshold_ratio));
    value_set(o, "rule", value_text(c->rule));
    value_set(o, "window", window_object(c));
    value_set(o, "evidence_ranks", shown_ranks(&c->grounds));
    value_set(o, "evidence_steps", shown_steps(&c->grounds));
    value_set(o, "interval", value_interval(c->interval));
    value_set(o, "interval_of", value_text(c->interval_of));
    value_set(o, "gain_because", value_reason(&c->gain_why));
    value_set(o, "confidence", value_string(confidence_word(c->confidence)));
    value_set(o, "confidence_because", value_text(c->confidence_because));
    value_set(o, "evidence", value_text(c->evidence));
    value_set(o, "action", value_text(c->action.ours));
    value_set(o, "action_generic", value_text(c->action.generic));
    const struct trial *t = claim_trial(rep, c);
    value_set(o, "command", value_text(t ? t->command : ""));
    value_set(o, "forecast_step_ns", value_int(t && t->has_forecast, t ? t->step_ns : 0));
    value_set(o, "gain_ns", value_int(c->has_gain, c->gain_ns));
    value_set(o, "gain_basis", c->has_gain ? value_string(gain_basis_word(c->gain_basis)) : json_null());
    value_set(o, "step_ns", json_integer(c->step_ns));
    value_set(o, "gain_text", value_text(c->gain_text));
    return o;
}

static json_t *point_object(const struct report *rep, const struct series_point *p)
{
    json_t *o = value_object(&point_metrics, &(struct point_of){rep, p}), *runs = json_array();
    for (int i = 0; i < p->n_runs; i++)
        value_add(runs, value_string(rep->runs[p->runs[i]].slug));
    value_set(o, "runs", runs);
    return o;
}

static json_t *loss_class_object(const struct series_loss *l)
{
    json_t *o = json_object();
    for (int c = 0; c < N_LOSS_CLASSES; c++)
        value_set(o, loss_class_key((enum loss_class)c), value_int(!l->class_why[c].code, l->class_ns[c]));
    return o;
}

/* The reasons of those classes that are null. */
static json_t *loss_class_because(const struct series_loss *l)
{
    json_t *o = json_object();
    for (int c = 0; c < N_LOSS_CLASSES; c++)
        if (l->class_why[c].code)
            value_set(o, loss_class_key((enum loss_class)c), value_reason(&l->class_why[c]));
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
            snprintf(key, sizeof key, "%s_%s", law_parameter_key(l->parameters[k].id),
                     law_parameter_unit(l->parameters[k].id));
            value_set(parameters, key, value_real(1, l->parameters[k].value));
        }
        value_set(o, "id", value_string(law_key(l->id)));
        value_set(o, "name", value_string(l->name));
        value_set(o, "because", value_reason(&l->why));
        value_set(o, "source", value_text(law_source_words(l->source)));
        value_set(o, "parameters", parameters);
        value_set(o, "residual_ratio", value_real(l->has, l->residual_ratio));
        value_add(list, o);
    }
    return list;
}

static json_t *all_reduce_points(const struct all_reduce_point *points, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        const struct all_reduce_point *p = &points[i];
        json_t *o = json_object();
        value_set(o, "n_nodes", json_integer(p->n_nodes));
        value_set(o, "n_ranks", json_integer(p->n_ranks));
        value_set(o, "bytes_per_step", value_real(p->bytes > 0, p->bytes));
        value_set(o, "all_reduces_per_step", value_real(p->is_counted, p->count));
        value_set(o, "all_reduces_assumed", value_real(!p->is_counted, p->count));
        value_set(o, "predicted_ns", value_int(p->predicted_ns > 0, p->predicted_ns));
        value_set(o, "predicted_interval_ns", value_interval(p->interval));
        value_set(o, "measured_ns", value_int(p->measured_ns > 0, p->measured_ns));
        value_set(o, "measured_interval_ns", value_interval(p->measured_interval));
        value_set(o, "residual_ratio", value_real(p->has_residual, p->residual_ratio));
        value_set(o, "residual_because", value_reason(&p->why));
        value_add(list, o);
    }
    return list;
}

static json_t *all_reduce_object(const struct all_reduce *a)
{
    json_t *o = json_object();
    value_set(o, "source", value_text(law_source_words(a->source)));
    value_set(o, "because", value_reason(&a->why));
    if (!a->source)
        return o;
    value_set(o, "of", value_text(a->of));
    value_set(o, "left_out", value_reason(&a->left_out));
    value_set(o, "mismatch", value_reason(&a->mismatch));
    value_set(o, "bytes_per_step", value_real(1, a->bytes));
    value_set(o, "all_reduces_per_step", value_real(a->is_counted, a->count));
    value_set(o, "latency_ns", value_real(1, a->latency_ns));
    value_set(o, "busbw_gb_s", value_real(a->busbw_gb_per_s > 0, a->busbw_gb_per_s));
    value_set(o, "n_fitted", json_integer(a->n_fitted));
    value_set(o, "fit_residual_ratio", value_real(1, a->fit_residual_ratio));
    value_set(o, "points", all_reduce_points(a->points, a->n_points));
    value_set(o, "extrapolation", all_reduce_points(a->ahead, a->n_ahead));
    value_set(o, "extrapolation_because", value_reason(&a->ahead_why));
    value_set(o, "text", value_text(a->text));
    return o;
}

static json_t *extrapolation(const struct series *s)
{
    json_t *o = json_object(), *list = json_array();
    for (int i = 0; i < s->n_ahead; i++) {
        const struct extrapolation *e = &s->ahead[i];
        value_add(list, json_pack("{s:i, s:o, s:o, s:o}", "n_nodes", e->n_nodes, "speedup", value_real(1, e->speedup),
                                  "efficiency", value_real(1, e->efficiency), "speedup_interval",
                                  value_interval(e->speedup_interval)));
    }
    value_set(o, "law", value_text(law_key(s->extrapolated_by)));
    value_set(o, "because", value_reason(&s->extrapolation_why));
    value_set(o, "points", list);
    return o;
}

static json_t *phases_array(const struct report *rep, const struct series *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->n_phases; i++) {
        const struct series_phase *p = &s->phases[i];
        json_t *ns = json_array(), *lost = json_array();
        for (int k = 0; k < s->n_points; k++)
            value_add(ns, value_int(is_point_part_known(rep, &s->points[k], p->part), p->ns[k]));
        for (int k = 0; k < s->n_losses; k++)
            value_add(lost, value_int(known_loss_parts(rep, s, &s->losses[k]) >> p->part & 1, p->lost_ns[k]));
        value_add(list, json_pack("{s:o, s:o, s:o, s:o}", "name", value_text(p->name), "part",
                                  value_string(p->part == PART_TRANSFER ? "communication" : part_key(p->part)), "ns",
                                  ns, "lost_ns", lost));
    }
    return list;
}

static json_t *names_array(const struct series *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->n_names; i++) {
        const struct series_name *n = &s->names[i];
        json_t *ns = json_array(), *lost = json_array();
        for (int k = 0; k < s->n_points; k++)
            value_add(ns, json_integer(n->ns[k]));
        for (int k = 0; k < s->n_losses; k++)
            value_add(lost, json_integer(n->lost_ns[k]));
        value_add(list, json_pack("{s:o, s:o, s:o, s:o}", "of", value_string(series_names_key(n->of)), "name",
                                  value_text(n->name), "ns", ns, "lost_ns", lost));
    }
    return list;
}

static json_t *series_object(const struct report *rep, const struct series *s)
{
    json_t *o = json_object(), *points = json_array(), *losses = json_array();
    for (int i = 0; i < s->n_points; i++)
        value_add(points, point_object(rep, &s->points[i]));
    for (int i = 0; i < s->n_losses; i++) {
        const struct series_loss *l = &s->losses[i];
        value_add(losses,
                  json_pack("{s:i, s:i, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "from_nodes", s->points[l->from].n_nodes,
                            "to_nodes", s->points[l->to].n_nodes, "ideal_ns", (json_int_t)l->ideal_ns, "actual_ns",
                            (json_int_t)l->actual_ns, "loss_ns", (json_int_t)l->loss_ns, "parts_ns",
                            value_parts(l->part_ns, known_loss_parts(rep, s, l)), "classes_ns", loss_class_object(l),
                            "classes_because", loss_class_because(l), "largest",
                            value_string(part_key((enum part)l->largest))));
    }
    value_set(o, "label", value_string(s->label));
    value_set(o, "scaling", value_string(scaling_word(s->kind)));
    value_set(o, "scaling_because", value_phrase(&s->kind_said));
    value_set(o, "points", points);
    value_set(o, "losses", losses);
    value_set(o, "losses_because", value_reason(&s->losses_why));
    value_set(o, "phases", phases_array(rep, s));
    value_set(o, "names", names_array(s));
    value_set(o, "laws", laws_array(s));
    value_set(o, "all_reduce", all_reduce_object(&s->all_reduce));
    value_set(o, "extrapolation", extrapolation(s));
    value_set(o, "limit_claim", s->limit_claim >= 0 ? value_string(rep->claims[s->limit_claim].id) : json_null());
    value_set(o, "finding", value_text(say_finding(&s->said)));
    value_set(o, "headline", value_text(s->headline));
    value_set(o, "support", value_text(s->support));
    value_set(o, "scaling_text", value_text(s->scaling_text));
    value_set(o, "beyond_text", value_text(s->beyond_text));
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
        value_add(list, json_pack("{s:o, s:o, s:o, s:o}", "kind", value_string(n->kind == NOTE_GAP ? "gap" : "caveat"),
                                  "id", value_string(note_key(n->id)), "run",
                                  n->run >= 0 ? value_string(rep->runs[n->run].slug) : json_null(), "text",
                                  value_string(n->text)));
    }
    return list;
}

static json_t *thresholds(const struct thresholds *t)
{
    json_t *o = json_object();
#define X(name, def, lo, hi, meaning) value_set(o, #name, value_real(1, t->name));
    THRESHOLDS(X)
#undef X
    return o;
}

static json_t *header(const char *format)
{
    return json_pack("{s:o, s:i, s:o}", "format", value_string(format), "version", SCHEMA_VERSION, "generator",
                     value_string("dcreport " DCR_VERSION));
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
        value_add(none, value_string(rep->none[i]));
    for (int i = 0; i < rep->n_runs; i++)
        value_add(runs, run_json(&rep->runs[i]));
    for (int i = 0; i < rep->n_series; i++)
        value_add(series, series_object(rep, &rep->series[i]));
    for (int i = 0; i < rep->n_claims; i++)
        value_add(claims, claim_object(rep, &rep->claims[i]));
    value_set(o, "title", value_string(rep->title));
    value_set(o, "baseline", value_text(rep->baseline));
    value_set(o, "baseline_archives", archives_before(rep));
    value_set(o, "comparisons", comparisons_json(rep));
    value_set(o, "changes", changes_json(rep));
    value_set(o, "changes_because", value_reason(&rep->no_changes));
    value_set(o, "unit", value_string(counted_word(rep->unit)));
    value_set(o, "node_label", value_text(rep->node_label));
    value_set(o, "headline", value_text(rep->headline));
    value_set(o, "support", value_text(rep->support));
    value_set(o, "first_action", value_text(rep->first_action));
    value_set(o, "first_command", value_text(rep->first_command ? rep->first_command : ""));
    value_set(o, "first_forecast_step_ns", value_int(rep->has_first_forecast, rep->first_forecast_ns));
    value_set(o, "how_sure", value_text(rep->how_sure));
    value_set(o, "verdict", value_text(rep->verdict));
    value_set(o, "thresholds", thresholds(&rep->thresholds));
    value_set(o, "notes", notes(rep, -1));
    value_set(o, "runs", runs);
    value_set(o, "series", series);
    value_set(o, "claims", claims);
    value_set(o, "devices", devices_json(rep));
    value_set(o, "operators", operators_json(rep));
    value_set(o, "evidence", evidence_json(rep));
    value_set(o, "kernel_roofline", roofline_json(rep));
    value_set(o, "code_lines", code_lines_json(rep));
    value_set(o, "operator_roofline", operator_roofline_json(rep));
    value_set(o, "not_evidence", none);
    dump(o, out);
}

void narrate_profiling_analysis_json(const struct report *rep, const struct run_result *run, struct dcr_buf *out)
{
    json_t *o = header("dcreport-run-analysis"), *claims = json_array();
    int index = (int)(run - rep->runs);
    for (int i = 0; i < run->n_claims; i++)
        value_add(claims, claim_object(rep, &rep->claims[run->claims[i]]));
    value_set(o, "run", run_json(run));
    value_set(o, "claims", claims);
    value_set(o, "notes", notes(rep, index));
    value_set(o, "thresholds", thresholds(&rep->thresholds));
    dump(o, out);
}
