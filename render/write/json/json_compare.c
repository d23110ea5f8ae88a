/* json_compare.c - comparisons of report.json. Fields: docs/report-json.md. */
#include "render/write/json/json_lists.h"
#include "render/write/json/json_values.h"

#include "render/findings/rules/compare.h"
#include "render/findings/rules/trials.h"
#include "render/metrics/changes.h"
#include "render/say/say.h"

static json_t *interval_json(const struct interval *i)
{
    return i->has ? json_pack("{s:o, s:o}", "lo", value_real(1, i->lo), "hi", value_real(1, i->hi)) : json_null();
}

static json_t *compared_json(const struct compared *c)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "before_ns", value_int(c->has_before, c->before_ns), "after_ns",
                     value_int(c->has_after, c->after_ns), "change_interval_ns", interval_json(&c->change_ns),
                     "is_significant", c->change_ns.has ? json_boolean(c->is_significant) : json_null());
}

static json_t *equal_work_json(const struct comparison *c)
{
    const struct equal_work *e = &c->equal;
    if (!comparison_is_of_samples(c))
        return json_null();
    json_t *o = compared_json(&e->time);
    value_set(o, "samples_before", json_integer(e->samples_before));
    value_set(o, "samples_after", json_integer(e->samples_after));
    value_set(o, "throughput_before_samples_per_s", value_real(1, e->per_second_before));
    value_set(o, "throughput_after_samples_per_s", value_real(1, e->per_second_after));
    value_set(o, "throughput_ratio", value_real(1, e->per_second_after / e->per_second_before));
    value_set(o, "throughput_ratio_interval", interval_json(&e->ratio));
    return o;
}

static json_t *tried_json(const struct tried *t)
{
    if (!t->has)
        return json_null();
    json_t *o = json_object();
    value_set(o, "change", value_string(trial_key_word(t->kind)));
    value_set(o, "command", value_string(t->command));
    value_set(o, "before_ns", json_integer(t->before_ns));
    value_set(o, "forecast_ns", json_integer(t->forecast_ns));
    value_set(o, "achieved_ns", json_integer(t->achieved_ns));
    value_set(o, "error_ratio", value_real(1, t->error_ratio));
    return o;
}

json_t *comparisons_json(const struct report *rep)
{
    json_t *list = json_array();
    for (int i = 0; i < rep->n_comparisons; i++) {
        const struct comparison *c = &rep->comparisons[i];
        json_t *parts = json_object(), *predictions = json_array();
        for (int p = 0; p < N_PARTS; p++)
            value_set(parts, part_key((enum part)p), compared_json(&c->part[p]));
        for (int k = 0; k < c->n_predictions; k++) {
            const struct prediction *p = &c->predictions[k];
            value_add(predictions,
                      json_pack("{s:o, s:I, s:I, s:o, s:I, s:I, s:I, s:b}", "class", value_string(class_key(p->cls)),
                                "gain_ns", (json_int_t)p->predicted_ns, "gain_mean_ns",
                                (json_int_t)p->predicted_mean_ns, "gain_basis", value_string(gain_basis_word(p->basis)),
                                "as_fast_ns", (json_int_t)p->as_fast_ns, "before_ns", (json_int_t)p->before_ns,
                                "after_ns", (json_int_t)p->after_ns, "is_removed", p->is_removed));
        }
        const int has = c->utilization_before >= 0 && c->utilization_after >= 0;
        json_t *use = has ? json_pack("{s:o, s:o}", "before", value_real(1, c->utilization_before), "after",
                                      value_real(1, c->utilization_after))
                          : json_null();
        const int is_equal = !comparison_is_of_other_work(c); /* else the difference of the steps is no gain */
        json_t *o = json_pack(
            "{s:o, s:o, s:o, s:i, s:i, s:I, s:I, s:o, s:I, s:I, s:o, s:o, s:o, s:I, s:I, s:o, s:o, "
            "s:o, s:o, s:o, s:o, s:o, s:o, s:b}",
            "n_nodes", value_int(c->n_nodes > 0, c->n_nodes), "n_ranks", value_int(c->n_ranks > 0, c->n_ranks), "label",
            value_string(c->label), "runs_before", c->n_before, "runs_after", c->n_after, "steps_before",
            (json_int_t)c->steps_before, "steps_after", (json_int_t)c->steps_after, "step", compared_json(&c->step),
            "median_before_ns", (json_int_t)c->median_before_ns, "median_after_ns", (json_int_t)c->median_after_ns,
            "parts", parts, "gpu_utilization_ratio", use, "predictions", predictions, "predicted_gain_ns",
            (json_int_t)c->expected_ns, "predicted_mean_gain_ns", (json_int_t)c->expected_mean_ns, "achieved_gain_ns",
            value_int(is_equal, c->achieved_ns), "achieved_mean_gain_ns",
            value_int(is_equal, c->step.before_ns - c->step.after_ns), "gain_statistic", value_string("median"),
            "differing", value_string(c->differing), "confidence", value_string(confidence_word(c->confidence)),
            "confidence_because", value_string(c->confidence_because), "sentence", value_string(c->sentence), "support",
            value_string(c->support), "is_repeated", comparison_is_repeated(c));
        value_set(o, "finding", value_string(say_finding(&c->said)));
        if (c->nodes_before && *c->nodes_before) {
            value_set(o, "nodes_before", value_string(c->nodes_before));
            value_set(o, "nodes_after", value_string(c->nodes_after));
        }
        value_set(o, "equal_work", equal_work_json(c));
        value_set(o, "tried", tried_json(&c->tried));
        value_add(list, o);
    }
    return list;
}

static json_t *changed_json(const struct changed *c)
{
    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I}", "name", value_text(c->name), "calls_before",
                     (json_int_t)c->n[BEFORE], "calls_after", (json_int_t)c->n[AFTER], "before_ns",
                     (json_int_t)c->ns[BEFORE], "after_ns", (json_int_t)c->ns[AFTER], "by_calls_ns",
                     (json_int_t)c->by_calls_ns, "by_mean_ns", (json_int_t)c->by_mean_ns);
}

json_t *changes_json(const struct report *rep)
{
    const struct changes *c = rep->changes;
    if (!c)
        return json_null();
    json_t *o = json_object(), *gpus = json_object();
    for (enum changed_kind k = 0; k < N_CHANGED_KINDS; k++) {
        const struct changed_table *t = &c->of[k];
        json_t *rows = json_array();
        for (int i = 0; i < t->n_rows; i++)
            value_add(rows, changed_json(&t->rows[i]));
        value_set(o, changed_key(k),
                  t->n_rows ? json_pack("{s:o, s:o}", "all", changed_json(&t->all), "names", rows) : json_null());
        if (!t->n_rows)
            json_decref(rows);
    }
    for (int v = 0; v < N_DEVICE_COLUMNS; v++)
        value_set(
            gpus, device_column_name((enum device_column)v),
            json_pack("{s:I, s:I}", "before", (json_int_t)c->gpu[v][BEFORE], "after", (json_int_t)c->gpu[v][AFTER]));
    value_set(o, "gpus", c->n_gpus[BEFORE] && c->n_gpus[AFTER] ? gpus : json_null());
    if (!c->n_gpus[BEFORE] || !c->n_gpus[AFTER])
        json_decref(gpus);
    value_set(o, "run_ns",
              c->run_ns[BEFORE] ? json_pack("{s:I, s:I}", "before", (json_int_t)c->run_ns[BEFORE], "after",
                                            (json_int_t)c->run_ns[AFTER])
                                : json_null());
    value_set(o, "finding", value_string(say_finding(&c->said)));
    value_set(o, "sentence", value_string(c->sentence));
    value_set(o, "support", value_string(c->support));
    return o;
}
