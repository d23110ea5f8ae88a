/* ranking.c - see ranking.h. */
#include "render/findings/ranking.h"

#include "render/findings/failed.h"
#include "render/findings/stepless.h"
#include "render/metrics/known.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <stdio.h>
#include <string.h>

static double share_of(const struct claim *c)
{
    return c->has_gain && c->gain_ns > 0 && c->gain_ns < c->step_ns ? (double)c->gain_ns / (double)c->step_ns : -1;
}

/* The first claim of a run need not be its costliest, since cores shared by design come first. NULL: no gain is known
 */
static const struct claim *largest_gain(const struct report *rep, const struct run_result *r)
{
    const struct claim *most = NULL;
    for (int i = 0; i < r->n_claims; i++) {
        const struct claim *c = &rep->claims[r->claims[i]];
        if (share_of(c) > (most ? share_of(most) : 0))
            most = c;
    }
    return most;
}

double ranking_gain(const struct report *rep, const struct run_result *r)
{
    const struct claim *c = largest_gain(rep, r);
    return c ? share_of(c) : -1;
}

/* -1 if the run does not give this value. */
static double largest_of(const struct run_result *r, enum device_column part)
{
    double most = -1;
    for (int i = 0; i < r->run->n_traces; i++)
        for (int k = 0; k < r->run->traces[i].n_devices; k++) {
            const int64_t *v = r->run->traces[i].devices[k].value;
            double ratio = v[DEV_SPAN] > 0 ? (double)v[part] / (double)v[DEV_SPAN] : -1;
            most = ratio > most ? ratio : most;
        }
    return most;
}

static double idle_of(const struct report *rep, const struct run_result *r)
{
    (void)rep;
    return largest_of(r, DEV_IDLE);
}

/* Share of a step if there are steps, else of the GPU's span. */
static double communication_of(const struct report *rep, const struct run_result *r)
{
    (void)rep;
    double ratio = r->has_steps && r->step.mean_ns > 0 ? (double)r->comm_ns / (double)r->step.mean_ns
                                                       : largest_of(r, DEV_EXPOSED_COMM);
    return ratio > 0 ? ratio : -1;
}

static double loading_of(const struct report *rep, const struct run_result *r)
{
    (void)rep;
    const struct class_result *c = &r->classes[CLASS_DATA];
    return r->has_steps && c->has_share && c->share_ns > 0 ? c->share_ratio : -1;
}

/* Number of runs that give a value. */
static int n_known(const struct report *rep, double (*of)(const struct report *, const struct run_result *))
{
    int n = 0;
    for (int i = 0; i < rep->n_runs; i++)
        n += of(rep, &rep->runs[i]) >= 0;
    return n;
}

static int most_of(const struct report *rep, double (*of)(const struct report *, const struct run_result *))
{
    int most = -1;
    for (int i = 0; i < rep->n_runs; i++)
        if (of(rep, &rep->runs[i]) > (most < 0 ? -0.5 : of(rep, &rep->runs[most])))
            most = i;
    return most;
}

/* How far the gain of a run can be trusted: 2 = medium or high confidence, 1 = low, 0 = low and only one counted step.
 */
static int trust_of(const struct report *rep, const struct run_result *r)
{
    const struct claim *c = largest_gain(rep, r);
    if ((c ? c->confidence : r->confidence) > CONFIDENCE_LOW)
        return 2;
    return r->n_counted != 1;
}

/* Does x come before y? The more trusted run comes first; on a tie, the one with the larger value of `of`. */
static int is_before(const struct report *rep, const struct run_result *x, const struct run_result *y,
                     double (*of)(const struct report *, const struct run_result *))
{
    int difference = trust_of(rep, x) - trust_of(rep, y);
    return difference ? difference > 0 : of(rep, x) > of(rep, y);
}

static int first_by(const struct report *rep, double (*of)(const struct report *, const struct run_result *))
{
    int first = -1;
    for (int i = 0; i < rep->n_runs; i++)
        if (of(rep, &rep->runs[i]) >= 0 && (first < 0 || is_before(rep, &rep->runs[i], &rep->runs[first], of)))
            first = i;
    return first;
}

int ranking_first(const struct report *rep)
{
    int first = first_by(rep, ranking_gain);
    first = first < 0 ? first_by(rep, idle_of) : first;
    return first < 0 ? rep->n_runs - 1 : first;
}

const char *ranking_name(struct report *rep, const struct run_result *r)
{
    return *r->name ? report_text(rep, "'%s'", r->name) : r->label;
}

struct fmt ranking_gain_text(const struct report *rep, const struct run_result *r)
{
    struct fmt out = {""};
    const struct claim *c = largest_gain(rep, r);
    int trust = trust_of(rep, r);
    if (c && trust > 0)
        snprintf(out.text, sizeof out.text, "%s %.16s%s", c->gain_basis == GAIN_BOUND ? "up to" : "about",
                 fmt_x((double)c->step_ns / (double)(c->step_ns - c->gain_ns)).text,
                 trust < 2 ? ", low confidence" : "");
    return out;
}

int is_ranked(const struct report *rep)
{
    for (int i = 0; i < rep->n_series; i++)
        if (rep->series[i].n_points > 1)
            return 0;
    return rep->n_series > 1;
}

/* What limits a run first: its steps, or else the GPU that idles most; N_CLASSES: nothing. */
static enum cause_class limit_of(const struct report *rep, const struct run_result *r)
{
    return r->n_claims ? rep->claims[r->claims[0]].cls : r->has_steps ? N_CLASSES : cause_of_idle(rep, r->run);
}

/* The cause that comes first in most runs. On a tie that of the first run, else the first in the table of causes;
 * CLASS_SHARED if no run has a cause. */
static enum cause_class cause_of_most(const struct report *rep, int n[N_CLASSES + 1])
{
    int most = 0;
    for (int i = 0; i < rep->n_runs; i++)
        n[limit_of(rep, &rep->runs[i])]++;
    for (int c = 1; c < N_CLASSES; c++)
        most = n[c] > n[most] ? c : most;
    enum cause_class first = limit_of(rep, &rep->runs[ranking_first(rep)]); /* the run whose action is the first */
    return n[first] == n[most] && first < N_CLASSES ? first : (enum cause_class)most;
}

struct phrase ranking_doubt(const struct report *rep)
{
    int n[N_CLASSES + 1] = {0}, n_low = 0;
    enum cause_class most = cause_of_most(rep, n);
    for (int i = 0; i < rep->n_runs; i++)
        n_low += limit_of(rep, &rep->runs[i]) == most && rep->runs[i].confidence == CONFIDENCE_LOW;
    if (n_low == 0)
        return PHRASE(NONE);
    return n_low == n[most] ? PHRASE(DOUBT_OF_ALL_RANKED)
                            : PHRASE(DOUBT_OF_RANKED, slot_count(n_low), slot_count(n[most]));
}

/* "In 1 of 2 runs ('a')": the runs that a cause limits, if they are one or two of more. Of many, the table of runs
 * tells. */
static struct phrase phrase_of_limited(struct report *rep, enum cause_class cls, int n, struct slot noun)
{
    const struct slot runs = slot_count(rep->n_runs), what = slot_name(class_words(cls, AS_LIMIT));
    enum { NAMED = 2 };
    const char *names[NAMED];
    int n_names = 0;
    for (int i = 0; i < rep->n_runs && n <= NAMED && n < rep->n_runs; i++)
        if (limit_of(rep, &rep->runs[i]) == cls)
            names[n_names++] = ranking_name(rep, &rep->runs[i]);
    return n_names ? PHRASE(SOME_RUNS_LIMITED, slot_count(n), runs, noun, what,
                            slot_name(say_list(&rep->arena, names, n_names)))
                   : PHRASE(MOST_RUNS_LIMITED, slot_count(n), runs, noun, what);
}

/* What most of the runs have in common. */
static struct phrase headline_of_set(struct report *rep)
{
    int n[N_CLASSES + 1] = {0}, n_traces = 0, n_failed = 0, n_with_steps = 0;
    enum cause_class most = cause_of_most(rep, n);
    int idlest = most_of(rep, idle_of);
    for (int i = 0; i < rep->n_runs; i++) {
        n_traces += rep->runs[i].run->is_foreign && rep->runs[i].run->n_traces > 0;
        n_failed += is_failed(&rep->runs[i]);
        n_with_steps += rep->runs[i].has_steps != 0;
    }
    const struct slot runs = slot_count(rep->n_runs), noun = slot_name(n_traces == rep->n_runs ? "trace" : "run");
    if (n_failed == rep->n_runs)
        return PHRASE(ALL_RUNS_FAILED, runs);
    if (n[most])
        return phrase_of_limited(rep, most, n[most], noun);
    if (n_failed)
        return PHRASE(SOME_RUNS_FAILED, slot_count(n_failed), runs);
    if (n_with_steps == 0 && n_traces == rep->n_runs && idlest >= 0)
        return PHRASE(TRACES_IDLE, slot_percent(idle_of(rep, &rep->runs[idlest])), runs);
    return PHRASE(NO_RUN_LIMITED, runs, noun);
}

struct said ranking_said(struct report *rep, const struct run_result *r)
{
    const struct slot name = slot_name(ranking_name(rep, r)),
                      finding = slot_name(say_phrase(&rep->arena, &r->said.headline));
    struct said s = {.headline = headline_of_set(rep)};
    enum { ALL_SAID = 3 }; /* sentences of a paragraph: of more runs, the table of runs tells what limits them */
    if (r->said.headline.id != PHRASE_NONE)
        said_add(&s, ranking_gain(rep, r) > 0 ? PHRASE(GAINS_MOST, name, finding) : PHRASE(LEADS, name, finding));
    for (int i = 0; i < rep->n_runs && rep->n_runs <= ALL_SAID; i++) {
        const struct run_result *other = &rep->runs[i];
        if (other != r && other->said.headline.id != PHRASE_NONE)
            said_add(&s, PHRASE(LEADS, slot_name(ranking_name(rep, other)),
                                slot_name(say_phrase(&rep->arena, &other->said.headline))));
    }
    return s;
}

void ranking_say(struct report *rep)
{
    static const struct {
        enum phrase_id of_step, of_trace;
        double (*value)(const struct report *, const struct run_result *);
    } rows[RANKING_MAX] = {{PHRASE_MOST_IDLE, PHRASE_MOST_IDLE, idle_of},
                           {PHRASE_MOST_COMMUNICATION, PHRASE_MOST_COMMUNICATION_OF_TRACE, communication_of},
                           {PHRASE_MOST_LOADING, PHRASE_MOST_LOADING, loading_of}};
    int n = 0;
    for (int i = 0; i < RANKING_MAX; i++) {
        int most = most_of(rep, rows[i].value);
        /* "most" needs two runs to compare */
        if (n_known(rep, rows[i].value) < 2 || rows[i].value(rep, &rep->runs[most]) <= rep->thresholds.loss_matters)
            continue;
        const struct run_result *r = &rep->runs[most];
        rep->ranking[n++] =
            (struct phrase){.id = r->has_steps ? rows[i].of_step : rows[i].of_trace,
                            .slot = {slot_name(ranking_name(rep, r)), slot_percent(rows[i].value(rep, r))}};
    }
}
