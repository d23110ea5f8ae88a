/* key_figures.c - the three figures of the front page; see figures.h. Called by page_index.c. */
#include "render/site/figures/figures.h"

#include "render/findings/rules/compare.h"
#include "render/metrics/cores.h"
#include "render/metrics/known.h"
#include "render/metrics/series/series.h"
#include "render/findings/narrate.h"
#include "render/findings/shares.h"
#include "render/say/facts.h"
#include "render/say/format.h"

#include <string.h>

static void add_key(struct site *s, json_t *list, const struct fact *is, const char *value)
{
    const char *note = say_fact(&s->arena, is);
    json_t *v = view_object(s);
    view_text(s, v, "name", say_fact_name(&s->arena, is));
    view_text(s, v, "value", value);
    view_text(s, v, "note", *note ? note : NULL);
    view_add(s, list, v);
}

static const char *throughput_text(struct site *s, double samples_per_s)
{
    return site_text(s, "%s samples/s", fmt_number(samples_per_s).text);
}

static const char *percent_text(struct site *s, double ratio)
{
    return site_text(s, "%s", fmt_percent(ratio).text);
}

/* The best throughput of the series, and the largest point beside it. */
static void add_throughput(struct site *s, json_t *list, const struct series *series)
{
    const struct series_point *last = &series->points[series->n_points - 1], *best = last;
    for (int i = series->n_points; i-- > 0;)
        if (series->points[i].has_throughput &&
            (!best->has_throughput || series->points[i].throughput > best->throughput))
            best = &series->points[i];
    if (!best->has_throughput)
        return;
    const struct slot at = slot_name(node_words(s, best->n_nodes)), end = slot_name(node_words(s, last->n_nodes));
    add_key(s, list,
            series->n_points == 1 ? last->n_nodes > 0 ? FACT(KEY_THROUGHPUT_AT, at) : FACT(KEY_THROUGHPUT)
            : best == last || !last->has_throughput ? FACT(KEY_BEST, at)
                                                    : FACT(KEY_BEST_BESIDE, at, end, slot_number(last->throughput)),
            throughput_text(s, best->throughput));
}

static void add_speedup(struct site *s, json_t *list, const struct series *series)
{
    const struct series_point *last = &series->points[series->n_points - 1], *first = &series->points[0];
    if (last->speedup <= 0)
        return;
    bool is_sure = !last->unreliable.id;
    const struct slot at = slot_name(node_words(s, last->n_nodes)), efficiency = slot_ratio(last->efficiency);
    const struct slot ideal =
        slot_name(site_text(s, "%g", first->n_nodes > 0 ? (double)last->n_nodes / first->n_nodes : 0));
    add_key(s, list,
            first->n_nodes > 0 ? is_sure ? FACT(KEY_SPEEDUP, at, ideal, efficiency)
                                         : FACT(KEY_SPEEDUP_UNRELIABLE, at, ideal, efficiency)
            : is_sure ? FACT(KEY_EFFICIENCY, at, efficiency)
                               : FACT(KEY_EFFICIENCY_UNRELIABLE, at, efficiency),
            site_text(s, "%s", fmt_x(last->speedup).text));
}

static void add_run_step(struct site *s, json_t *list, const struct spread *step, struct interval i)
{
    if (step->n)
        add_key(s, list,
                i.has ? FACT(KEY_STEP_INTERVAL, slot_name(site_text(s, "%s", fmt_time_range(i.lo, i.hi).text)))
                      : FACT(KEY_STEP),
                site_text(s, "%s", fmt_time(step->mean_ns).text));
}

/* The comparison that the front page is about; NULL: it is not of this point. */
static const struct comparison *comparison_of(const struct report *rep, const struct series_point *last)
{
    const struct comparison *c = rep->n_comparisons ? &rep->comparisons[rep->n_comparisons - 1] : NULL;
    return c && c->n_nodes == last->n_nodes && c->n_ranks == last->n_ranks ? c : NULL;
}

/* Of steps with other numbers of samples. */
static void add_compared_throughput(struct site *s, json_t *list, const struct equal_work *e)
{
    add_key(s, list, FACT(KEY_THROUGHPUT_CHANGE),
            site_text(s, "%s \xe2\x86\x92 %s", fmt_number(e->per_second_before).text,
                      throughput_text(s, e->per_second_after)));
}

static void add_compared_step(struct site *s, json_t *list, const struct comparison *c)
{
    int64_t before = c->step.before_ns, after = c->step.after_ns, longest = before > after ? before : after;
    struct fmt first = fmt_time_beside(before, longest);
    first.text[strcspn(first.text, " ")] = '\0'; /* the unit follows both */
    add_key(s, list, FACT(KEY_STEP_CHANGE),
            site_text(s, "%s \xe2\x86\x92 %s", first.text, fmt_time_beside(after, longest).text));
}

static enum cause_class class_of_claim(const struct report *rep, int claim)
{
    return claim >= 0 ? rep->claims[claim].cls : CLASS_COMMUNICATION;
}

/* The node counts of a key figure of a series: the largest one, and the one before it. */
struct beside {
    const char *at, *before; /* "4 nodes", "2 nodes"; NULL none */
    double exchange_ratio;   /* the same as in add_cause for the node count before; < 0 none */
    double awaited_ratio;    /* share of ranks without a core there; <= 0 none */
};

static const struct beside of_one_run = {.exchange_ratio = -1};

static void add_share(struct site *s, json_t *list, const char *cause, double ratio, const struct beside *b,
                      double before_ratio)
{
    const struct slot name = slot_name(cause), at = slot_name(b->at);
    add_key(s, list,
            b->at && before_ratio >= 0
                ? FACT(KEY_SHARE_GROWS, name, at, slot_name(b->before), slot_percent(before_ratio))
            : b->at ? FACT(KEY_SHARE_ON, name, at)
                    : FACT(KEY_SHARE, name),
            percent_text(s, ratio));
}

static void add_cores_awaited(struct site *s, json_t *list, double ratio, const struct beside *b)
{
    const struct slot at = slot_name(b->at), threshold = slot_percent(s->rep->thresholds.run_delay_limits);
    add_key(s, list,
            b->at && b->awaited_ratio > 0
                ? FACT(KEY_CORES_AWAITED_GROWS, at, threshold, slot_name(b->before), slot_percent(b->awaited_ratio))
            : b->at ? FACT(KEY_CORES_AWAITED_ON, at, threshold)
                    : FACT(KEY_CORES_AWAITED, threshold),
            say_phrase(&s->arena, &PHRASE(KEY_UP_TO, slot_percent(ratio))));
}

/* What limits, by the share that was judged; communication if nothing limits.
 *  exchange_ratio  the share of a step that communication_or_waiting_ns is */
static void add_cause(struct site *s, json_t *list, const struct run_result *r, int claim, double exchange_ratio,
                      const struct beside *b)
{
    enum cause_class cls = class_of_claim(s->rep, claim);
    const struct class_result *k = &r->classes[cls];
    bool is_held = is_held_back(r);
    bool is_exchange = cls == CLASS_COMMUNICATION || cls == CLASS_IMBALANCE;
    if (!r->has_steps)
        return;
    if (cls == CLASS_IMBALANCE && r->alone.has)
        add_share(s, list, say_phrase(&s->arena, &PHRASE(KEY_ALONE, slot_count(r->alone.rank))),
                  (double)r->alone.own_ns / (double)r->step.mean_ns, b, -1);
    else if (is_exchange && r->n_ranks > 1)
        add_share(s, list,
                  say_phrase(&s->arena, cls != CLASS_IMBALANCE                   ? &PHRASE(KEY_COMMUNICATION)
                                        : said_ns(r, k) == r->part_ns[PART_WAIT] ? &PHRASE(KEY_WAITING)
                                                                                 : &PHRASE(KEY_WAITING_ALL)),
                  exchange_ratio, b, b->exchange_ratio);
    else if (cls == CLASS_SHARED && !is_held && r->shared.awaited_ratio > 0)
        add_cores_awaited(s, list, r->shared.awaited_ratio, b);
    else if (cls == CLASS_SHARED && r->shared.run_ratio >= 0)
        add_key(s, list, b->at ? FACT(KEY_HELD_BACK_ON, slot_name(b->at)) : FACT(KEY_HELD_BACK),
                percent_text(s, r->shared.run_ratio));
    else if (cls == CLASS_SHARED && r->shared.cores > 0)
        add_key(s, list, FACT(KEY_CORES, slot_things(r->n_ranks, "rank")), site_text(s, "%g", r->shared.cores));
    else if (k->has_share && cls != CLASS_COMMUNICATION)
        add_share(s, list,
                  is_share_with_waiting(r, cls)
                      ? say_phrase(&s->arena, &PHRASE(KEY_WITH_WAITING, slot_name(run_class_name(r, cls))))
                      : run_class_name(r, cls),
                  k->share_ratio, b, -1);
}

/* Time of communication, or of waiting alone if that limits. */
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
    struct beside b = of_one_run;
    if (series->n_points > 1) {
        const struct series_point *before = last - 1;
        b.at = node_words(s, last->n_nodes), b.before = node_words(s, before->n_nodes);
        b.exchange_ratio = before->step.n && can_exchange(s->rep, before) ? exchange_of(before, cls) : -1;
        b.awaited_ratio = before->n_runs ? s->rep->runs[before->runs[0]].shared.awaited_ratio : 0;
    }
    add_cause(s, list, r, claim, last->step.n ? exchange_of(last, cls) : exchange_of_run(r, cls), &b);
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
        bool is_of_samples = c && comparison_is_of_samples(c);
        if (is_of_samples)
            add_compared_throughput(s, list, &c->equal);
        if (c)
            add_compared_step(s, list, c);
        else
            add_run_step(s, list, point_step(s->rep, last), last->step_interval);
        if (!is_of_samples)
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
        add_key(s, list, FACT(KEY_THROUGHPUT_OF_RANKS), throughput_text(s, r->throughput));
    int claim = r->n_claims ? r->claims[0] : -1;
    add_cause(s, list, r, claim, exchange_of_run(r, class_of_claim(s->rep, claim)), &of_one_run);
    return list;
}
