/* series.c - what limits scaling: the sentences about a series of node counts. */
#include "render/narrate/claims.h"

#include "render/analyse/analyse.h"
#include "render/narrate/actions.h"
#include "render/say/format.h"
#include "render/say/say.h"
#include "render/narrate/narrate.h"
#include "render/narrate/series_scaling.h"

#include <stdlib.h>
#include <string.h>

static const struct run_result *run_of(const struct report *rep, const struct series_point *p)
{
    return &rep->runs[p->runs[0]];
}

static double part_share(const struct series_point *p, int64_t ns)
{
    return p->step.mean_ns > 0 ? (double)ns / (double)p->step.mean_ns : 0;
}

static int64_t comm_of(const int64_t *part)
{
    return part[PART_TRANSFER] + part[PART_WAIT];
}

/* The last node count before efficiency falls below its threshold; the first one when it falls at once. */
static const struct series_point *good_until(const struct report *rep, const struct series *s)
{
    const struct series_point *good = &s->points[0];
    for (int i = 1; i < s->n_points; i++) {
        if (s->points[i].efficiency < rep->thresholds.efficiency)
            break;
        good = &s->points[i];
    }
    return good;
}

/* The loss from the reference to the largest node count; NULL when it is n/a. */
static const struct series_loss *whole_loss(const struct series *s)
{
    for (int i = 0; i < s->n_losses; i++)
        if (s->losses[i].from == 0 && s->losses[i].to == s->n_points - 1)
            return &s->losses[i];
    return NULL;
}

/* What lost most: a single part, or communication as transfer and waiting together, named by its larger half. */
struct cause {
    enum cause_class cls;
    int64_t lost_ns;
    enum part part; /* PART_TRANSFER stands for all of communication, PART_WAIT for waiting alone */
};

static int is_mostly_files(const struct run_result *r)
{
    return files_in_loading(r) > r->part_ns[PART_DATA] / 2;
}

static enum cause_class class_of_wait(const struct run_result *r)
{
    int64_t data = r->wait_cause_ns[CAT_DATA], io = r->wait_cause_ns[CAT_IO], half = r->part_ns[PART_WAIT] / 2;
    return data > half ? (is_mostly_files(r) ? CLASS_IO : CLASS_DATA) : io > half ? CLASS_IO : CLASS_IMBALANCE;
}

static struct cause largest_cause(const struct run_result *at_end, const struct series_loss *l)
{
    static const struct {
        enum part part;
        enum cause_class cls;
    } single[] = {{PART_COMPUTE, CLASS_COMPUTE},
                  {PART_DATA, CLASS_DATA},
                  {PART_IO, CLASS_IO},
                  {PART_COPY, CLASS_COPY},
                  {PART_OTHER, CLASS_OVERHEAD}};
    int is_wait = l->part_ns[PART_WAIT] > l->part_ns[PART_TRANSFER];
    /* Both belong to the all-reduce and are weighed as one; the larger half is named. */
    struct cause c = {is_wait ? class_of_wait(at_end) : CLASS_COMMUNICATION, comm_of(l->part_ns),
                      is_wait ? PART_WAIT : PART_TRANSFER};
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        if (l->part_ns[single[i].part] > c.lost_ns)
            c = (struct cause){single[i].cls, l->part_ns[single[i].part], single[i].part};
    if (c.cls == CLASS_DATA && is_mostly_files(at_end))
        c.cls = CLASS_IO;
    return c;
}

/* Time in which the cause of the limit shows at a point. */
static int64_t cause_ns(const struct cause *c, const struct series_point *p)
{
    return c->part == PART_TRANSFER ? comm_of(p->part_ns) : p->part_ns[c->part];
}

/* "38 % of the step time is exposed gradient synchronisation (MPI all-reduce), up from 15 % at 2 nodes". */
static const char *communication_clause(struct report *rep, const struct series *s, const struct cause *c)
{
    const struct series_point *last = &s->points[s->n_points - 1], *before = &s->points[s->n_points - 2];
    const struct run_result *r = run_of(rep, last);
    double now = part_share(last, cause_ns(c, last)), then = part_share(before, cause_ns(c, before));
    const char *what = report_text(rep, "exposed %s", exchange_name(rep, r));
    if (c->part == PART_WAIT) {
        const char *whom = c->cls == CLASS_DATA                       ? "ranks that load data"
                           : c->cls == CLASS_IO                       ? "ranks that write files"
                           : r->straggler.has                         ? report_text(rep, "rank %d", r->straggler.rank)
                           : is_doubtful(r) && r->uneven_wait_ns == 0 ? "ranks that wait for a core"
                                                                      : "the slowest rank";
        what = report_text(rep, "waiting for %s in %s", whom, exchange_name(rep, r));
    }
    return report_text(rep, "%s of the step time is %s, %s %s at %s", fmt_percent(now).text, what,
                       now >= then ? "up from" : "down from", fmt_percent(then).text, nodes_text(rep, before->n_nodes));
}

/* "compute takes 263 ms a step where ideal strong scaling from 1 node leaves 129 ms". */
static const char *part_clause(struct report *rep, const struct series *s, const struct cause *c)
{
    static const char *const doing[N_PARTS] = {[PART_COMPUTE] = "compute takes",
                                               [PART_DATA] = "data loading takes",
                                               [PART_IO] = "writing files takes",
                                               [PART_COPY] = "copying takes",
                                               [PART_OTHER] = "step time in no named phase is"};
    int64_t now = s->points[s->n_points - 1].part_ns[c->part];
    const char *what =
        c->part == PART_DATA && c->cls == CLASS_IO ? "loading, most of it calls on files, takes" : doing[c->part];
    return report_text(rep, "%s %s a step where ideal %s scaling from %s leaves %s", what, fmt_time(now).text,
                       s->kind == SCALING_STRONG ? "strong" : "weak", nodes_text(rep, s->points[0].n_nodes),
                       fmt_time(now - c->lost_ns).text);
}

/* The headline: what came first, then what limits; at most some 25 words. */
static const char *limit_sentence(struct report *rep, const struct series *s, const struct cause *c,
                                  const struct series_point *good)
{
    const struct series_point *last = &s->points[s->n_points - 1];
    const struct run_result *shared = series_shared_run(rep, last);
    int is_comm = c->part == PART_TRANSFER || c->part == PART_WAIT;
    const char *what = is_comm ? communication_clause(rep, s, c) : part_clause(rep, s, c);
    if (shared)
        return report_text(rep, "%s %s; behind that, %s.", at_nodes(rep, last->n_nodes), shared->shared.because, what);
    return report_text(rep, "%s %s; it limits %s scaling beyond %s%s.", at_nodes(rep, last->n_nodes), what,
                       scaling_word(s->kind), nodes_text(rep, good->n_nodes), caveat_clause(rep, run_of(rep, last)));
}

/* How the cause was at the other node counts: as a share where the headline has one, else as time. */
static const char *change_sentence(struct report *rep, const struct series *s, const struct cause *c)
{
    static const char *const subject[N_PARTS] = {[PART_COMPUTE] = "Compute",
                                                 [PART_DATA] = "Data loading",
                                                 [PART_IO] = "Writing files",
                                                 [PART_COPY] = "Copying",
                                                 [PART_OTHER] = "What no phase names"};
    const char *text = "";
    int is_share = c->part == PART_TRANSFER || c->part == PART_WAIT;
    int n = s->n_points - is_share; /* the headline has the last share */
    for (int i = 0; i < n; i++) {
        const struct series_point *p = &s->points[i];
        text = report_text(rep, "%s%s%s%s at %s", text,
                           i == 0       ? ""
                           : i == n - 1 ? " and "
                                        : ", ",
                           is_share ? fmt_percent(part_share(p, cause_ns(c, p))).text : fmt_time(cause_ns(c, p)).text,
                           is_share || i ? "" : " a step", nodes_text(rep, p->n_nodes));
    }
    return is_share ? report_text(rep, "That share was %s.", text)
                    : report_text(rep, "%s took %s.", subject[c->part], text);
}

/* "That is 80.4 ms of 209 ms a step, 67.7 ms transfer and 12.7 ms waiting. ": the headline's share as time. */
static const char *share_as_time(struct report *rep, const struct series_point *last, const struct cause *c)
{
    if (c->part != PART_TRANSFER && c->part != PART_WAIT)
        return "";
    const char *split = c->part == PART_WAIT ? ""
                                             : report_text(rep, ": %s transfer and %s waiting",
                                                           fmt_time(last->part_ns[PART_TRANSFER]).text,
                                                           fmt_time(last->part_ns[PART_WAIT]).text);
    return report_text(rep, "At %s that is %s of %s a step%s. ", nodes_text(rep, last->n_nodes),
                       fmt_time(cause_ns(c, last)).text, fmt_time(last->step.mean_ns).text, split);
}

static const char *split_sentence(struct report *rep, const struct series *s, const struct series_loss *l)
{
    const char *text = "";
    int n = 0;
    for (int p = 0; p < N_PARTS; p++)
        if (llabs(l->part_ns[p]) * 100 > llabs(l->loss_ns) && l->part_ns[p] != 0) {
            text = report_text(rep, "%s%s%s %s", text, n ? ", " : "", part_name((enum part)p),
                               fmt_time(l->part_ns[p]).text);
            n++;
        }
    return report_text(rep, "From %s to %s a step lost %s against ideal scaling: %s.",
                       nodes_text(rep, s->points[l->from].n_nodes), nodes_text(rep, s->points[l->to].n_nodes),
                       fmt_time(l->loss_ns).text, text);
}

static enum confidence series_confidence(struct report *rep, const struct series *s, const char **because)
{
    const struct series_point *last = &s->points[s->n_points - 1];
    enum confidence worst = CONFIDENCE_HIGH;
    *because = "";
    for (int i = 0; i < s->n_points; i++) {
        const struct run_result *r = run_of(rep, &s->points[i]);
        const char *why;
        enum confidence c = confidence_of(rep, r, (struct interval){0}, -1, &why);
        if (c < CONFIDENCE_HIGH && c <= worst) { /* of equal ones the largest node count, where it matters most */
            worst = c;
            *because = report_text(rep, "at %s %s", nodes_text(rep, r->n_nodes), why);
        }
    }
    for (int i = 0; worst > CONFIDENCE_LOW && i < s->n_points; i++)
        if (repetition_spread(rep, &s->points[i]) > rep->thresholds.step_cv) {
            worst = CONFIDENCE_LOW;
            *because = report_text(rep, "the runs on %s differ by %s", nodes_text(rep, s->points[i].n_nodes),
                                   fmt_percent(repetition_spread(rep, &s->points[i])).text);
        }
    unsigned which = unlike_in_series(rep, s);
    if (worst > CONFIDENCE_LOW && which) {
        worst = CONFIDENCE_LOW;
        *because = report_text(rep, "the runs differ in %s", unlike_names(rep, which));
    }
    if (worst == CONFIDENCE_HIGH && last->n_runs < 2) {
        worst = CONFIDENCE_MEDIUM;
        *because = report_text(rep, "there is one run per %s count, so that the spread between runs is unknown",
                               counted_word(rep->unit));
    }
    return worst;
}

/* Ids are paths into report.json. The loss of communication is in two of its fields. */
static void add_series_numbers(struct report *rep, int index, struct claim *c, const struct cause *cause)
{
    const struct series *s = &rep->series[index];
    int at = s->n_points - 1, loss = s->n_losses - 1; /* the last loss is that of the whole series */
    const struct series_point *last = &s->points[at];
    const char *point = report_text(rep, "series.%d.points.%d", index, at);
    const char *lost = report_text(rep, "series.%d.losses.%d.parts_ns", index, loss);
    claim_number(rep, c, report_text(rep, "%s.step.mean_ns", point), "ns", (double)last->step.mean_ns);
    claim_number(rep, c, report_text(rep, "%s.efficiency", point), "ratio", last->efficiency);
    int n_parts = cause->part == PART_TRANSFER ? 2 : 1; /* transfer and waiting */
    const enum part parts[] = {cause->part, PART_WAIT};
    for (int i = 0; i < n_parts; i++) {
        const char *key = part_key(parts[i]);
        if (!is_point_part_known(rep, last, parts[i]))
            continue; /* null there */
        claim_number(rep, c, report_text(rep, "%s.parts_ns.%s", point, key), "ns", (double)last->part_ns[parts[i]]);
        claim_number(rep, c, report_text(rep, "%s.%s", lost, key), "ns", (double)s->losses[loss].part_ns[parts[i]]);
    }
}

static int add_series_claim(struct report *rep, int index, const struct cause *cause, const char *sentence)
{
    struct series *s = &rep->series[index];
    const struct series_point *last = &s->points[s->n_points - 1];
    const struct run_result *r = run_of(rep, last);
    struct claim *c = claim_add(rep);
    c->series = index;
    const struct run_result *shared = series_shared_run(rep, last);
    c->cls = shared ? CLASS_SHARED : cause->cls;
    c->id = report_text(rep, "series%d.limit", index);
    c->sentence = sentence;
    c->confidence = series_confidence(rep, s, &c->confidence_because);
    c->evidence = "index.html#scaling";
    c->action = shared ? action_for(rep, shared, CLASS_SHARED) : action_for_scaling(rep, r, cause->cls);
    c->is_measuring = shared && is_advice_to_measure(shared);
    /* Compute cannot be removed; what it lost against ideal scaling can be gained. What cores of their own would bring
     * the run itself estimates, as on its page; without that it is all that was lost with them, and how much when the
     * reference had too few too, nobody knows. */
    const struct run_result *of = shared ? shared : r;
    int64_t own_ns = shared && is_gain_of_cores_told(rep, shared) ? shared->gain_ns[CLASS_SHARED] : 0;
    c->has_gain = !shared || !series_shared_run(rep, &s->points[0]);
    c->gain_basis = own_ns > 0 ? gain_basis_of(shared, CLASS_SHARED)
                    : shared   ? GAIN_ESTIMATE
                               : gain_basis_of(r, cause->cls);
    c->gain_ns = !c->has_gain                  ? 0
                 : own_ns > 0                  ? own_ns
                 : shared                      ? whole_loss(s)->loss_ns
                 : cause->cls == CLASS_COMPUTE ? cause->lost_ns
                                               : r->classes[cause->cls].gain_ns;
    c->step_ns = of->step.mean_ns;
    c->gain_text = claim_gain_text(rep, c);
    c->gain_why = c->has_gain ? REASON(NONE) : REASON(GAIN_REFERENCE_SHARED);
    c->threshold_ratio = rep->thresholds.efficiency;
    c->threshold_name = "efficiency";
    c->rule = report_text(rep, "limits scaling where the efficiency falls below %s",
                          fmt_ratio(rep->thresholds.efficiency).text);
    claim_grounds(rep, c, of, cause->cls);
    c->window = report_text(rep, "%s at %s", c->window, nodes_text(rep, of->n_nodes));
    c->interval = point_share_interval(rep, last, cause->part, cause->part == PART_TRANSFER ? PART_WAIT : cause->part);
    c->interval_of = !c->interval.has               ? ""
                     : cause->part == PART_TRANSFER ? "communication"
                     : cause->part == PART_WAIT     ? "waiting for ranks"
                                                    : part_name(cause->part);
    if (shared)
        shared_numbers(rep, c, shared);
    add_series_numbers(rep, index, c, cause);
    return rep->n_claims - 1;
}

#define SHARED_SUPPORT                                                                                           \
    "That makes every scaling verdict unreliable: waiting for a core looks like compute, or like waiting for a " \
    "message. "

#define EQUAL_SUPPORT "The quota is equal on all nodes and at all node counts, so what they are to each other holds. "

static void say_series(struct report *rep, int index)
{
    struct series *s = &rep->series[index];
    if (s->n_points < 2)
        return;
    const struct series_point *last = &s->points[s->n_points - 1];
    const struct series_loss *l = whole_loss(s);
    series_scaling_texts(rep, s);
    if (!l) {
        const char *slower = series_slower(rep, s);
        if (last->speedup > 0) /* then the headline begins with it */
            s->scaling_text += strlen(slower);
        if (last->speedup > 0 && !*slower && good_until(rep, s) == last)
            s->headline = report_text(rep, "Scaling is good up to %s: speed-up %s over %s, efficiency %s%s%s.",
                                      nodes_text(rep, last->n_nodes), fmt_x(last->speedup).text,
                                      nodes_text(rep, s->points[0].n_nodes), fmt_ratio(last->efficiency).text,
                                      *last->unreliable ? ", though " : "", last->unreliable);
        else if (last->speedup > 0)
            s->headline = report_text(
                rep, "%sAt %s the speed-up over %s is %s (efficiency %s%s%s); where the time went is unknown.", slower,
                nodes_text(rep, last->n_nodes), nodes_text(rep, s->points[0].n_nodes), fmt_x(last->speedup).text,
                fmt_ratio(last->efficiency).text, *last->unreliable ? "; unreliable: " : "", last->unreliable);
        else
            s->headline = report_text(rep, "How the run scales from %s to %s is unknown: %s.",
                                      nodes_text(rep, s->points[0].n_nodes), nodes_text(rep, last->n_nodes),
                                      say_clause(&rep->arena, &s->speedup_why));
        if (s->losses_why.code)
            s->support = report_text(rep, "How the lost time splits into causes is %s.",
                                     say_reason(&rep->arena, &s->losses_why));
        return;
    }
    const struct run_result *r = run_of(rep, last);
    struct cause c = largest_cause(r, l);
    const struct series_point *good = good_until(rep, s);
    if (good == last || (double)l->loss_ns < rep->thresholds.loss_matters * (double)last->step.mean_ns) {
        s->headline = report_text(rep, "Scaling is good up to %s: speed-up %s, efficiency %s%s%s.",
                                  nodes_text(rep, last->n_nodes), fmt_x(last->speedup).text,
                                  fmt_ratio(last->efficiency).text, *last->unreliable ? ", though " : "",
                                  *last->unreliable ? last->unreliable : caveat_clause(rep, r));
        c = (struct cause){CLASS_COMPUTE, l->part_ns[PART_COMPUTE], PART_COMPUTE}; /* what there was to scale */
    } else {
        s->headline = limit_sentence(rep, s, &c, good);
        s->limit_claim = add_series_claim(rep, index, &c, s->headline);
    }
    const struct run_result *shared = series_shared_run(rep, last);
    const char *doubt = !shared ? "" : is_doubtful(shared) ? SHARED_SUPPORT : EQUAL_SUPPORT;
    s->support = report_text(rep, "%s%s%s %s", doubt, share_as_time(rep, last, &c), change_sentence(rep, s, &c),
                             split_sentence(rep, s, l));
    if (s->limit_claim >= 0)
        rep->claims[s->limit_claim].support = s->support;
}

void claims_of_series(struct report *rep)
{
    for (int i = 0; i < rep->n_series; i++)
        say_series(rep, i);
}
