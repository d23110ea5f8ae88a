/* key_figures.c - the three figures of the front page; see figures.h. Called by page_index.c. */
#include "render/site/figures/figures.h"

#include "render/findings/rules/compare.h"
#include "render/metrics/known.h"
#include "render/metrics/series/series.h"
#include "render/findings/narrate.h"
#include "render/findings/shares.h"
#include "render/say/format.h"

#include <string.h>

/* value: NULL = not known, and the figure is left out */
static void add_key(struct site *s, json_t *list, const char *name, const char *value, const char *note)
{
    if (!value)
        return;
    json_t *v = view_object(s);
    view_text(s, v, "name", name);
    view_text(s, v, "value", value);
    view_text(s, v, "note", note && *note ? note : NULL);
    view_add(s, list, v);
}

static const char *throughput_text(struct site *s, double samples_per_s)
{
    return site_text(s, "%s samples/s", fmt_number(samples_per_s).text);
}

/* The best of the series, and the largest point beside it. */
static void add_throughput(struct site *s, json_t *list, const struct series *series)
{
    const struct series_point *last = &series->points[series->n_points - 1], *best = last;
    for (int i = series->n_points; i-- > 0;)
        if (series->points[i].has_throughput &&
            (!best->has_throughput || series->points[i].throughput > best->throughput))
            best = &series->points[i];
    if (!best->has_throughput)
        return;
    const char *at = node_words(s, best->n_nodes);
    if (series->n_points == 1)
        add_key(s, list, "Throughput", throughput_text(s, best->throughput), last->n_nodes > 0 ? at : NULL);
    else
        add_key(s, list, "Best throughput", throughput_text(s, best->throughput),
                best == last || !last->has_throughput
                    ? at
                    : site_text(s, "%s (%s: %s)", at, node_words(s, last->n_nodes), fmt_number(last->throughput).text));
}

static void add_speedup(struct site *s, json_t *list, const struct series *series)
{
    const struct series_point *last = &series->points[series->n_points - 1], *first = &series->points[0];
    if (last->speedup <= 0)
        return;
    double ideal = first->n_nodes > 0 ? (double)last->n_nodes / first->n_nodes : 0;
    const char *doubt = *last->unreliable ? ", unreliable" : "";
    add_key(s, list, site_text(s, "Speed-up on %s", node_words(s, last->n_nodes)),
            site_text(s, "%s", fmt_x(last->speedup).text),
            ideal > 0 ? site_text(s, "ideal %gx, efficiency %s%s", ideal, fmt_ratio(last->efficiency).text, doubt)
                      : site_text(s, "efficiency %s%s", fmt_ratio(last->efficiency).text, doubt));
}

static void add_run_step(struct site *s, json_t *list, const struct spread *step, struct interval i)
{
    if (step->n)
        add_key(s, list, "Step time", site_text(s, "%s", fmt_time(step->mean_ns).text),
                i.has ? site_text(s, "95 %% interval %s", fmt_time_range(i.lo, i.hi).text) : "mean over ranks");
}

/* The comparison that the front page is about; NULL: it is not of this point. */
static const struct comparison *comparison_of(const struct report *rep, const struct series_point *last)
{
    const struct comparison *c = rep->n_comparisons ? &rep->comparisons[rep->n_comparisons - 1] : NULL;
    return c && c->n_nodes == last->n_nodes && c->n_ranks == last->n_ranks ? c : NULL;
}

static void add_compared_step(struct site *s, json_t *list, const struct comparison *c)
{
    int64_t before = c->step.before_ns, after = c->step.after_ns, longest = before > after ? before : after;
    struct fmt first = fmt_time_beside(before, longest);
    first.text[strcspn(first.text, " ")] = '\0'; /* the unit stands behind both */
    add_key(s, list, "Step time", site_text(s, "%s \xe2\x86\x92 %s", first.text, fmt_time_beside(after, longest).text),
            "mean step before and after");
}

static enum cause_class class_of_claim(const struct report *rep, int claim)
{
    return claim >= 0 ? rep->claims[claim].cls : CLASS_COMMUNICATION;
}

/* What limits, by the share that was judged; where nothing does, communication.
 *  exchange  the share of a step that communication_or_waiting_ns is
 *  before, cores_before  the same at the node count before, and that of ranks without a core, for the note; "" none */
static void add_cause(struct site *s, json_t *list, const struct run_result *r, int claim, double exchange,
                      const char *at, const char *before, const char *cores_before)
{
    enum cause_class cls = class_of_claim(s->rep, claim);
    const struct class_result *k = &r->classes[cls];
    bool is_held = r->shared.kind == SHARED_THROTTLED || r->shared.kind == SHARED_STEAL;
    if (!r->has_steps)
        return;
    if ((cls == CLASS_COMMUNICATION || cls == CLASS_IMBALANCE) && r->n_ranks > 1)
        add_key(s, list, site_text(s, "%s%s", cls == CLASS_IMBALANCE ? "Waiting for other ranks" : "Communication", at),
                site_text(s, "%s", fmt_percent(exchange).text), site_text(s, "of the step time%s", before));
    else if (cls == CLASS_SHARED && !is_held && r->shared.awaited_ratio > 0)
        add_key(s, list, site_text(s, "Ranks without a core%s", at),
                site_text(s, "up to %s", fmt_percent(r->shared.awaited_ratio).text),
                site_text(s, "threshold %s%s", fmt_percent(s->rep->thresholds.run_delay_limits).text, cores_before));
    else if (cls == CLASS_SHARED && r->shared.run_ratio >= 0)
        add_key(s, list, site_text(s, "Ranks held back%s", at),
                site_text(s, "%s", fmt_percent(r->shared.run_ratio).text), "of the run");
    else if (cls == CLASS_SHARED && r->shared.cores > 0)
        add_key(s, list, site_text(s, "Cores for %s", fmt_count(r->n_ranks, "rank").text),
                site_text(s, "%g", r->shared.cores), "shared by all ranks");
    else if (k->has_share && cls != CLASS_COMMUNICATION)
        add_key(s, list, site_text(s, "%s%s", run_class_name(r, cls), at),
                site_text(s, "%s", fmt_percent(k->share_ratio).text), "of the step time");
}

/* Of communication, and of waiting alone where that limits. */
static double communication_or_waiting_ns(const int64_t part_ns[N_PARTS], enum cause_class cls)
{
    return (double)(part_ns[PART_WAIT] + (cls == CLASS_IMBALANCE ? 0 : part_ns[PART_TRANSFER]));
}

static double exchange_of(const struct series_point *p, enum cause_class cls)
{
    return communication_or_waiting_ns(p->part_ns, cls) / (double)p->step.mean_ns;
}

static double exchange_of_run(const struct run_result *r, enum cause_class cls)
{
    return communication_or_waiting_ns(r->part_ns, cls) / (double)(r->step.mean_ns > 0 ? r->step.mean_ns : 1);
}

static void add_series_cause(struct site *s, json_t *list, const struct series *series)
{
    const struct series_point *last = &series->points[series->n_points - 1];
    if (last->n_runs == 0)
        return;
    const struct run_result *r = &s->rep->runs[last->runs[0]];
    int claim = series->limit_claim >= 0 ? series->limit_claim : r->n_claims ? r->claims[0] : -1;
    enum cause_class cls = class_of_claim(s->rep, claim);
    const char *before = "", *cores_before = "";
    if (series->n_points > 1 && last[-1].step.n)
        before =
            site_text(s, " (%s: %s)", node_words(s, last[-1].n_nodes), fmt_percent(exchange_of(&last[-1], cls)).text);
    if (series->n_points > 1 && last[-1].n_runs && s->rep->runs[last[-1].runs[0]].shared.awaited_ratio > 0)
        cores_before = site_text(s, " (%s: %s)", node_words(s, last[-1].n_nodes),
                                 fmt_percent(s->rep->runs[last[-1].runs[0]].shared.awaited_ratio).text);
    add_cause(s, list, r, claim, last->step.n ? exchange_of(last, cls) : exchange_of_run(r, cls),
              series->n_points > 1 ? site_text(s, ", %s", node_words(s, last->n_nodes)) : "", before, cores_before);
}

json_t *view_keys(struct site *s, const struct series *series)
{
    json_t *list = view_list(s);
    const struct series_point *last = &series->points[series->n_points - 1];
    if (series->n_points > 1) {
        add_throughput(s, list, series);
        add_speedup(s, list, series);
    } else {
        const struct comparison *c = comparison_of(s->rep, last);
        if (c)
            add_compared_step(s, list, c);
        else
            add_run_step(s, list, point_step(s->rep, last), last->step_interval);
        add_throughput(s, list, series);
    }
    add_series_cause(s, list, series);
    return list;
}

json_t *view_run_keys(struct site *s, const struct run_result *r)
{
    json_t *list = view_list(s);
    add_run_step(s, list, &r->step, r->step_interval);
    if (r->has_throughput)
        add_key(s, list, "Throughput", throughput_text(s, r->throughput), "all ranks together");
    int claim = r->n_claims ? r->claims[0] : -1;
    add_cause(s, list, r, claim, exchange_of_run(r, class_of_claim(s->rep, claim)), "", "", "");
    return list;
}
