/* compare_doc.c - see compare_doc.h. */
#include "render/narrate/compare_doc.h"

#include "render/analyse/analyse.h"
#include "render/analyse/trials.h"
#include "render/narrate/claims.h"
#include "render/say/format.h"
#include "render/say/say.h"
#include "render/narrate/json_values.h"

#include <math.h>
#include <string.h>

/* "-27.2 ms", with a sign either way. */
static const char *signed_time(struct report *rep, int64_t ns)
{
    return report_text(rep, "%s%s", ns > 0 ? "+" : "", fmt_time(ns).text);
}

static const char *chance(struct report *rep, const struct compared *c)
{
    return report_text(rep, "95 %% interval of the difference %s to %s%s", signed_time(rep, (int64_t)c->change_ns.lo),
                       signed_time(rep, (int64_t)c->change_ns.hi),
                       c->is_significant ? "" : ", which includes no change");
}

#define NOT_REPEATED "Runs were not repeated: the spread between runs is not in the interval."

static const char *where_text(struct report *rep, const struct comparison *c)
{
    return c->n_nodes == 0 ? "A step" : report_text(rep, "At %s a step", c->label);
}

static const char *way_text(struct report *rep, const struct compared *s)
{
    return s->change_ns.has && !s->is_significant ? "no difference that can be told from chance"
           : s->after_ns <= s->before_ns
               ? report_text(rep, "%s as fast as before", fmt_x((double)s->before_ns / (double)s->after_ns).text)
               : report_text(rep, "%s as long as before", fmt_x((double)s->after_ns / (double)s->before_ns).text);
}

static const char *step_sentence(struct report *rep, const struct comparison *c)
{
    const struct compared *s = &c->step;
    const char *where = where_text(rep, c), *way = way_text(rep, s);
    if (!s->change_ns.has)
        return report_text(
            rep, "%s takes %s against %s before, %s; %s too few to tell that from chance.", where,
            fmt_time(s->after_ns).text, fmt_time(s->before_ns).text, way,
            c->steps_after != c->steps_before
                ? report_text(rep, "%lld and %lld steps are", (long long)c->steps_after, (long long)c->steps_before)
                : report_text(rep, "%s each %s", fmt_count(c->steps_after, "step").text,
                              c->steps_after == 1 ? "is" : "are"));
    return report_text(rep, "%s takes %s against %s before: %s (%s).%s", where, fmt_time(s->after_ns).text,
                       fmt_time(s->before_ns).text, way, chance(rep, s),
                       comparison_is_repeated(c) ? "" : " " NOT_REPEATED);
}

/* The part that changed most, if more than chance; of too few steps to know, the one that changed most, said so. */
static const char *part_sentence(struct report *rep, const struct comparison *c)
{
    int most = -1;
    int64_t by = 0;
    for (int p = 0; p < N_PARTS; p++) {
        int64_t d = c->part[p].after_ns - c->part[p].before_ns;
        d = d < 0 ? -d : d;
        if (compared_has(&c->part[p]) && (c->part[p].is_significant || !c->step.change_ns.has) && d > by) {
            by = d;
            most = p;
        }
    }
    if (most < 0)
        return " No part of the step changed by more than chance.";
    const struct compared *k = &c->part[most];
    return report_text(rep, " Of the parts %s changed most: %s against %s (%s of the step, before %s).",
                       part_name((enum part)most), fmt_time(k->after_ns).text, fmt_time(k->before_ns).text,
                       fmt_percent((double)k->after_ns / (double)c->step.after_ns).text,
                       fmt_percent((double)k->before_ns / (double)c->step.before_ns).text);
}

static const char *utilization_sentence(struct report *rep, const struct comparison *c)
{
    if (c->utilization_before < 0 || c->utilization_after < 0)
        return "";
    return report_text(rep, " GPU utilisation in the steps is %s, before %s.", fmt_percent(c->utilization_after).text,
                       fmt_percent(c->utilization_before).text);
}

/* " Meanwhile overhead grew by 12.3 ms.": parts that took of the gain; "" none of any size. */
static const char *meanwhile(struct report *rep, const struct comparison *c)
{
    const char *text = "";
    for (int p = 0; p < N_PARTS; p++) {
        const struct compared *k = &c->part[p];
        int64_t by = k->after_ns - k->before_ns;
        if (!compared_has(k) || (double)by <= rep->thresholds.loss_matters * (double)c->expected_mean_ns ||
            (k->change_ns.has && !k->is_significant))
            continue;
        text = report_text(rep, "%s%s%s by %s", text, *text ? ", " : "", part_name((enum part)p), fmt_time(by).text);
    }
    return *text ? report_text(rep, " Meanwhile these parts grew: %s.", text) : "";
}

static int is_of(enum cause_class cls, enum part p)
{
    static const unsigned parts[N_CLASSES] = {[CLASS_COMPUTE] = 1U << PART_COMPUTE,
                                              [CLASS_MEMORY] = 1U << PART_COMPUTE,
                                              [CLASS_COMMUNICATION] = 1U << PART_TRANSFER | 1U << PART_WAIT,
                                              [CLASS_IMBALANCE] = 1U << PART_WAIT,
                                              [CLASS_DATA] = 1U << PART_DATA | 1U << PART_WAIT,
                                              [CLASS_IO] = 1U << PART_IO | 1U << PART_WAIT,
                                              [CLASS_COPY] = 1U << PART_COPY,
                                              [CLASS_HOST] = 1U << PART_OTHER,
                                              [CLASS_OVERHEAD] = 1U << PART_OTHER};
    return parts[cls] >> p & 1;
}

/* The removed cause with the largest prediction; NULL = none. */
static const struct prediction *removed(const struct comparison *c)
{
    for (int i = 0; i < c->n_predictions; i++)
        if (c->predictions[i].is_removed && c->predictions[i].predicted_mean_ns == c->expected_mean_ns)
            return &c->predictions[i];
    return NULL;
}

/* "about 59.3 ms a step (estimate)", "up to 59.3 ms a step". */
static const char *predicted(struct report *rep, const struct prediction *p)
{
    return report_text(rep, p->basis == GAIN_BOUND ? "up to %s a step" : "about %s a step (estimate)",
                       fmt_time(p->predicted_mean_ns).text);
}

/* "load imbalance (about 1.29 ms a step (estimate))": the other removed causes with their predictions; "" = none. */
static const char *removed_beside(struct report *rep, const struct comparison *c)
{
    const char *text = "";
    for (int i = 0; i < c->n_predictions; i++) {
        const struct prediction *p = &c->predictions[i];
        if (p->is_removed && p->predicted_mean_ns != c->expected_mean_ns)
            text = report_text(rep, "%s%s%s (%s)", text, *text ? ", " : "", p->name, predicted(rep, p));
    }
    return text;
}

/* Why more was saved than predicted. */
static const char *beyond(struct report *rep, const struct comparison *c)
{
    const char *text = "";
    if (removed(c) && removed(c)->as_fast_ns > 0) /* the cause was a slow rank */
        return "it is of equal times for all ranks, and a late rank that becomes as fast as the others saves more";
    for (int p = 0; p < N_PARTS; p++) {
        const struct compared *k = &c->part[p];
        int is_named = 0;
        for (int i = 0; i < c->n_predictions; i++)
            is_named |= c->predictions[i].is_removed && is_of(c->predictions[i].cls, (enum part)p);
        int64_t by = k->before_ns - k->after_ns;
        if (!is_named && k->is_significant && (double)by > rep->thresholds.loss_matters * (double)c->expected_mean_ns)
            text =
                report_text(rep, "%s%s%s by %s", text, *text ? ", " : "", part_name((enum part)p), fmt_time(by).text);
    }
    const char *others = removed_beside(rep, c);
    if (*others)
        return report_text(rep, "it is of the largest cause that was removed, and beside it went %s", others);
    return *text
               ? report_text(rep, "these parts, which it does not count, fell too: %s", text)
               : "no part beside it fell by more than chance, so that the rest is the spread of the steps, or of runs";
}

/* From the means, like the predictions of the report before. */
static int64_t saved_ns(const struct comparison *c)
{
    return c->step.before_ns - c->step.after_ns;
}

/* Was clearly more saved than predicted? More than rounding explains, and the interval of the saving does not contain
 * the prediction. */
static int is_beyond(const struct comparison *c)
{
    const struct interval *i = &c->step.change_ns;
    double predicted = (double)c->expected_mean_ns;
    int is_within = i->has && -i->hi <= predicted && predicted <= -i->lo;
    return predicted > 0 && !is_within && (double)saved_ns(c) > 1.005 * predicted;
}

/* "12.0 ms were saved (84 %)": the share of the prediction. */
static const char *saved(struct report *rep, const struct comparison *c)
{
    return saved_ns(c) <= 0 ? "nothing was saved"
                            : report_text(rep, "%s were saved (%s)", fmt_time(saved_ns(c)).text,
                                          fmt_percent((double)saved_ns(c) / (double)c->expected_mean_ns).text);
}

/* May the difference of the step be chance? Then it is not known whether anything was saved. */
static int is_chance(const struct comparison *c)
{
    return c->step.change_ns.has && !c->step.is_significant;
}

#define CANNOT_BE_TOLD "cannot be told, since the step's difference is no more than chance"

/* Compare the prediction with the saving. */
static const char *achieved_sentence(struct report *rep, const struct comparison *c)
{
    if (is_chance(c))
        return report_text(rep, " How much of the predicted %s was saved " CANNOT_BE_TOLD ".%s",
                           fmt_time(c->expected_mean_ns).text, meanwhile(rep, c));
    return report_text(rep, " Its removal was predicted to save %s: %s.%s%s", predicted(rep, removed(c)), saved(rep, c),
                       is_beyond(c) ? report_text(rep, " More than predicted: %s.", beyond(rep, c)) : "",
                       meanwhile(rep, c));
}

/* "data loading": the name of the removed cause with the largest prediction. */
static const char *removed_name(struct report *rep, const struct comparison *c)
{
    const char *name = removed(c)->cls == CLASS_COMPUTE ? "better kernels" : removed(c)->name;
    int is_word = name[0] >= 'A' && name[0] <= 'Z' && name[1] >= 'a' && name[1] <= 'z';
    return is_word ? report_text(rep, "%c%s", name[0] - 'A' + 'a', name + 1) : name;
}

/* The change in one glance, for the terminal. */
static const char *short_verdict(struct report *rep, const struct comparison *c)
{
    const struct compared *s = &c->step;
    const char *promise = "";
    if (c->tried.has) /* its own forecast is said behind this, in place of what all of the cause costs */
        promise = "";
    else if (c->expected_mean_ns > 0 && is_chance(c))
        promise = report_text(rep, " How much of the %s predicted of %s was saved " CANNOT_BE_TOLD ".",
                              fmt_time(c->expected_mean_ns).text, removed_name(rep, c));
    else if (c->expected_mean_ns > 0)
        promise = report_text(rep, " Without %s %s less was predicted: %s.", removed_name(rep, c),
                              predicted(rep, removed(c)), saved(rep, c));
    else if (c->n_predictions)
        promise = " No cause that the report before named was removed.";
    return report_text(rep, "%s takes %s against %s before: %s%s.%s", where_text(rep, c), fmt_time(s->after_ns).text,
                       fmt_time(s->before_ns).text, way_text(rep, s),
                       s->change_ns.has ? "" : ", of too few steps to tell it from chance", promise);
}

/* " The forecast of the median step was 117 ms; it took 119 ms (forecast 1.7 % too short).": of advice that was
 * followed. */
static const char *tried_sentence(struct report *rep, const struct comparison *c)
{
    const struct tried *t = &c->tried;
    const double even = 0.0005; /* prints as 0.0 % */
    if (!t->has)
        return "";
    return report_text(rep, "The advised change was tried: a median step of %s was forecast, %s were achieved (%s).",
                       fmt_time(t->forecast_ns).text, fmt_time(t->achieved_ns).text,
                       fabs(t->error_ratio) < even
                           ? "as forecast"
                           : report_text(rep, "the forecast was %s too %s", fmt_percent(fabs(t->error_ratio)).text,
                                         t->error_ratio > 0 ? "long" : "short"));
}

static const char *prediction_sentence(struct report *rep, const struct comparison *c)
{
    const char *text = "";
    if (c->tried.has) /* its own forecast has been said, and the table has the causes */
        return text;
    for (int i = 0; i < c->n_predictions; i++) {
        const struct prediction *p = &c->predictions[i];
        text = report_text(rep, "%s The report before named %s, with %s to gain; %s went from %s to %s.", text, p->name,
                           predicted(rep, p), p->cls == CLASS_IMBALANCE ? "the waiting that it explains" : "it",
                           fmt_time(p->before_ns).text, p->after_ns ? fmt_time(p->after_ns).text : "none");
    }
    if (c->expected_mean_ns > 0)
        text = report_text(rep, "%s%s", text, achieved_sentence(rep, c));
    else if (c->n_predictions)
        text = report_text(rep, "%s None of these was removed.", text);
    return text;
}

/* A node count is named alone where it is compared once, else with what makes it another comparison. */
static void name_comparison(struct report *rep, struct comparison *c)
{
    int n = 0, at = 0, is_ranks = 0, is_series = 0;
    for (int i = 0; i < rep->n_comparisons; i++) {
        const struct comparison *k = &rep->comparisons[i];
        if (k->n_nodes != c->n_nodes)
            continue;
        n++;
        at = k == c ? n : at;
        is_ranks |= k->n_ranks != c->n_ranks;
        is_series |= k != c && k->n_ranks == c->n_ranks;
    }
    c->anchor = n > 1 ? report_text(rep, "%d-%d", c->n_nodes, at) : report_text(rep, "%d", c->n_nodes);
    c->label = c->n_nodes > 0 ? nodes_text(rep, c->n_nodes) : "unknown node count";
    if (is_ranks)
        c->label = report_text(rep, "%s, %s", c->label, fmt_count(c->n_ranks, "rank").text);
    if (is_series)
        c->label = report_text(rep, "%s, %s", c->label, c->series >= 0 ? rep->series[c->series].label : "the others");
}

/* Why it is no comparison of before and after; "" nothing. */
static const char *unfair(struct report *rep, const struct comparison *c)
{
    const char *same = c->n_same == 0            ? ""
                       : c->n_same == c->n_after ? " The same archives or files are on both sides: a run is "
                                                   "compared with itself."
                                                 : " Some archives or files are on both sides.";
    if (c->nodes_before && *c->nodes_before)
        same = report_text(rep, " The emulated nodes differ: %s before, %s after.%s", c->nodes_before, c->nodes_after,
                           same);
    return !*c->differing
               ? same
               : report_text(rep, " The runs differ in their %s, so this is no fair comparison.%s", c->differing, same);
}

/* A comparison comes first, at the largest node count; then what limits now. */
static void say_first(struct report *rep, const struct comparison *c)
{
    const char *sure =
        rep->confidence && *rep->confidence ? report_text(rep, " Confidence in that is %s.", rep->confidence) : "";
    rep->support = report_text(rep, "%s What limits now: %s%s", c->support, rep->headline, sure);
    rep->verdict = report_text(rep, "%s%s%s%s Confidence is %s: %s.", short_verdict(rep, c), *c->tried_text ? " " : "",
                               c->tried_text, unfair(rep, c), confidence_word(c->confidence), c->confidence_because);
    rep->headline = c->sentence;
    rep->headline_series = -1;
    rep->how_sure = report_text(rep, "%s counted in %s before, %s in %s after. Confidence is %s: %s.",
                                fmt_count(c->steps_before, "step").text, fmt_count(c->n_before, "run").text,
                                fmt_count(c->steps_after, "step").text, fmt_count(c->n_after, "run").text,
                                confidence_word(c->confidence), c->confidence_because);
    rep->confidence = confidence_word(c->confidence);
}

void narrate_comparisons(struct report *rep)
{
    for (int i = 0; i < rep->n_comparisons; i++)
        name_comparison(rep, &rep->comparisons[i]);
    for (int i = 0; i < rep->n_comparisons; i++) {
        struct comparison *c = &rep->comparisons[i];
        c->sentence = report_text(rep, "%s%s%s", step_sentence(rep, c), *c->lost ? " " : "", c->lost);
        c->tried_text = tried_sentence(rep, c);
        c->support =
            report_text(rep, "%s%s%s%s%s%s Confidence in this comparison is %s: %s.", *c->tried_text ? " " : "",
                        c->tried_text, part_sentence(rep, c), utilization_sentence(rep, c), prediction_sentence(rep, c),
                        unfair(rep, c), confidence_word(c->confidence), c->confidence_because) +
            1;
    }
    if (rep->n_comparisons)
        say_first(rep, &rep->comparisons[rep->n_comparisons - 1]);
    else if (*rep->baseline)
        rep->verdict = report_text(rep, "Nothing to compare with: %s. %s", say_clause(&rep->arena, &rep->no_comparison),
                                   rep->verdict);
}

static json_t *compared_json(const struct compared *c)
{
    json_t *interval = c->change_ns.has ? json_pack("{s:o, s:o}", "lo", value_real(1, c->change_ns.lo), "hi",
                                                    value_real(1, c->change_ns.hi))
                                        : json_null();
    return json_pack("{s:o, s:o, s:o, s:o}", "before_ns", value_int(c->has_before, c->before_ns), "after_ns",
                     value_int(c->has_after, c->after_ns), "change_interval_ns", interval, "is_significant",
                     c->change_ns.has ? json_boolean(c->is_significant) : json_null());
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
        json_t *o = json_pack(
            "{s:o, s:o, s:o, s:i, s:i, s:I, s:I, s:o, s:I, s:I, s:o, s:o, s:o, s:I, s:I, s:I, s:I, "
            "s:o, s:o, s:o, s:o, s:o, s:o, s:b}",
            "n_nodes", value_int(c->n_nodes > 0, c->n_nodes), "n_ranks", value_int(c->n_ranks > 0, c->n_ranks), "label",
            value_string(c->label), "runs_before", c->n_before, "runs_after", c->n_after, "steps_before",
            (json_int_t)c->steps_before, "steps_after", (json_int_t)c->steps_after, "step", compared_json(&c->step),
            "median_before_ns", (json_int_t)c->median_before_ns, "median_after_ns", (json_int_t)c->median_after_ns,
            "parts", parts, "gpu_utilization_ratio", use, "predictions", predictions, "predicted_gain_ns",
            (json_int_t)c->expected_ns, "predicted_mean_gain_ns", (json_int_t)c->expected_mean_ns, "achieved_gain_ns",
            (json_int_t)c->achieved_ns, "achieved_mean_gain_ns", (json_int_t)(c->step.before_ns - c->step.after_ns),
            "gain_statistic", value_string("median"), "differing", value_string(c->differing), "confidence",
            value_string(confidence_word(c->confidence)), "confidence_because", value_string(c->confidence_because),
            "sentence", value_string(c->sentence), "support", value_string(c->support), "is_repeated",
            comparison_is_repeated(c));
        if (c->nodes_before && *c->nodes_before) {
            value_set(o, "nodes_before", value_string(c->nodes_before));
            value_set(o, "nodes_after", value_string(c->nodes_after));
        }
        value_set(o, "tried", tried_json(&c->tried));
        value_add(list, o);
    }
    return list;
}
