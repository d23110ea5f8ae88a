/* claims.c - claims about single runs. Their words: run_said.h. */
#include "render/findings/claims.h"

#include "render/findings/rules/analyse.h"
#include "render/findings/rules/rules.h"
#include "render/metrics/cores.h"
#include "render/metrics/gain.h"
#include "render/metrics/known.h"
#include "render/metrics/recorded.h"
#include "render/metrics/rule.h"
#include "render/model/build.h"
#include "render/findings/actions.h"
#include "render/findings/failed.h"
#include "render/findings/run_said.h"
#include "render/findings/shares.h"
#include "render/findings/stepless.h"
#include "render/say/say.h"

#include <math.h>
#include <stdbool.h>

static const char *evidence_of(struct report *rep, const struct run_result *r, enum cause_class cls)
{
    const char *anchor = cls == CLASS_IMBALANCE ? "ranks" : cls == CLASS_COMMUNICATION ? "collectives" : "breakdown";
    return report_text(rep, "runs/%s/index.html#%s", r->slug, anchor);
}

static void say_claim(struct report *rep, struct claim *c)
{
    c->sentence = say_headline(&rep->arena, &c->said);
    c->support = say_support(&rep->arena, &c->said);
}

/* The processor time shows that the ranks wait, but not for what. It may also be the time of several processes, of
 * which the one that makes the steps may have waited. */
static enum confidence unless_waiting(struct report *rep, const struct run_result *r, enum confidence sure,
                                      const char **because)
{
    if (r->processor.is_of_several && !r->processor.is_waiting && sure != CONFIDENCE_LOW) {
        *because = say_phrase(&rep->arena, &PHRASE(SURE_PROCESSES_USED));
        return sure == CONFIDENCE_HIGH ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
    }
    if (!is_compute_waiting(r) || sure != CONFIDENCE_HIGH)
        return sure;
    *because = say_phrase(&rep->arena, &PHRASE(SURE_WAITING));
    return CONFIDENCE_MEDIUM;
}

static void add_class_claim(struct report *rep, int run, const struct class_result *k)
{
    struct run_result *r = &rep->runs[run];
    const char *key = class_key(k->cls);
    int is_comm = k->cls == CLASS_COMMUNICATION;
    struct claim *c = claim_add(rep);
    c->run = run;
    c->cls = k->cls;
    c->id = report_text(rep, "%s.%s", r->slug, key);
    c->said = said_of_class(rep, r, k);
    /* Loading that waits frees no core, because it keeps none. */
    int frees_cores = !is_comm && k->cls != CLASS_IMBALANCE && !(k->cls == CLASS_DATA && r->loading.is_waiting);
    if (is_doubtful(r) && frees_cores &&
        (double)(k->gain_ns - k->share_ns) > rep->thresholds.loss_matters * (double)r->step.mean_ns)
        said_some(&c->said, PHRASE(CORES_LEFT));
    say_claim(rep, c);
    const struct judged j = judged_of(k);
    c->threshold_ratio = j.threshold_ratio; /* for the host it is a floor */
    c->threshold_name = j.threshold;
    c->rule = k->rule;
    claim_grounds(rep, c, r, k->cls);
    const char *share = is_share_with_waiting(r, k->cls) ? "the share with that waiting"
                        : j.by && j.interval.has         ? "the share of communication"
                        : is_comm && !is_one_of_many(r)  ? "the share of transfer"
                                                         : "the share";
    /* If the judged quantity has no interval, that of the share is stated anyway. No threshold is compared with it. */
    int is_judged = !j.by || j.interval.has;
    c->confidence =
        confidence_of_share(rep, r, share, is_judged ? j.interval : k->share_interval,
                            is_judged ? j.threshold_ratio : -1, &c->confidence_because, &c->is_interval_told);
    if (k->cls == CLASS_COMPUTE) {
        enum confidence sure = unless_waiting(rep, r, c->confidence, &c->confidence_because);
        sure = unless_unjudged(rep, r, sure, &c->confidence_because);
        c->is_interval_told &= sure == c->confidence; /* a reason for less confidence takes the place of the interval */
        c->confidence = sure;
    }
    c->evidence = evidence_of(rep, r, k->cls);
    c->action = action_for(rep, r, k->cls);
    /* Compute cannot be removed, but can be below its ceiling. Counters do not tell what memory traffic costs. */
    c->has_gain = (k->cls != CLASS_COMPUTE && k->cls != CLASS_MEMORY) || k->gain_ns > 0;
    c->gain_ns = k->gain_ns;
    c->step_ns = r->step.mean_ns;
    c->gain_basis = gain_basis_of(r, k->cls);
    c->gain_text = c->has_gain ? claim_gain_text(rep, c) : "";
    c->gain_why = c->has_gain              ? REASON(NONE)
                  : k->cls == CLASS_MEMORY ? REASON(GAIN_OF_TRAFFIC)
                                           : REASON(GAIN_OF_COMPUTE);
    if (k->cls == CLASS_IMBALANCE && *c->gain_text && !r->alone.has) {
        struct phrase balanced = PHRASE(GAIN_BALANCED, slot_time(k->gain_ns), slot_time(r->step.mean_ns),
                                        slot_factor((double)r->step.mean_ns / (double)(r->step.mean_ns - k->gain_ns)));
        c->gain_text = say_phrase(&rep->arena, &balanced);
    }
    c->interval = claimed_interval(r, k->cls);
    c->interval_of = c->interval.has ? share_name(rep, r, k->cls) : "";
    claim_number(rep, c, report_text(rep, "runs.%s.classes.%s.share_ratio", r->slug, key), "ratio", k->share_ratio);
    claim_number(rep, c, report_text(rep, "runs.%s.classes.%s.share_ns", r->slug, key), "ns", (double)k->share_ns);
    if (k->caused_ns) {
        int64_t own = k->share_ns - k->caused_ns;
        claim_number(rep, c, report_text(rep, "runs.%s.classes.%s.own_ns", r->slug, key), "ns", (double)own);
        claim_number(rep, c, report_text(rep, "runs.%s.classes.%s.own_ratio", r->slug, key), "ratio",
                     (double)own / (double)r->step.mean_ns);
        claim_number(rep, c, report_text(rep, "runs.%s.classes.%s.caused_wait_ns", r->slug, key), "ns",
                     (double)k->caused_ns);
    }
    claim_number(rep, c, report_text(rep, "runs.%s.step.mean_ns", r->slug), "ns", (double)r->step.mean_ns);
    if (k->cls == CLASS_COMPUTE && is_compute_waiting(r))
        claim_number(rep, c, report_text(rep, "runs.%s.processor.used_cores", r->slug), "cores",
                     r->processor.used_cores);
    if (is_comm) {
        claim_number(rep, c, report_text(rep, "runs.%s.communication_ns", r->slug), "ns", (double)r->comm_ns);
        claim_number(rep, c, report_text(rep, "runs.%s.parts_ns.comm_transfer", r->slug), "ns",
                     (double)r->part_ns[PART_TRANSFER]);
        if (is_part_known(r, PART_WAIT))
            claim_number(rep, c, report_text(rep, "runs.%s.parts_ns.comm_wait", r->slug), "ns",
                         (double)r->part_ns[PART_WAIT]);
    }
    if (j.by && isfinite(j.ratio)) /* the quantity that the threshold applies to */
        claim_number(rep, c, report_text(rep, "runs.%s.classes.%s.judged.ratio", r->slug, key), "ratio", j.ratio);
    r->claims[r->n_claims++] = rep->n_claims - 1;
}

int claim_that_saves_more(const struct report *rep, const struct run_result *r, const struct claim *scaling)
{
    const struct claim *own = r->n_claims ? &rep->claims[r->claims[0]] : NULL;
    if (!own || own->cls == scaling->cls || own->cls == CLASS_SHARED || own->cls == CLASS_COMPUTE ||
        scaling->cls == CLASS_SHARED || !own->has_gain || !scaling->has_gain)
        return -1;
    double more = (double)own->gain_ns - (double)scaling->gain_ns;
    return more > rep->thresholds.gain_limits * (double)r->step.mean_ns ? r->claims[0] : -1;
}

/* Limiting classes of a run by predicted gain, largest first; equal gains keep the table's order. */
static int limiting(const struct run_result *r, const struct class_result *out[N_CLASSES])
{
    int n = 0;
    for (int c = 0; c < N_CLASSES; c++) {
        if (r->classes[c].verdict != VERDICT_LIMITS || c == CLASS_SHARED)
            continue;
        int at = n++;
        while (at > 0 && out[at - 1]->gain_ns < r->classes[c].gain_ns) {
            out[at] = out[at - 1];
            at--;
        }
        out[at] = &r->classes[c];
    }
    return n;
}

/* Ranks that share their cores by design, alone or with other programs, come before any other cause, since they make
 * every other number doubtful. Other programs that took cores for a while come second if removing another cause saves
 * more. So do a rank's own threads, because threads of OpenMP and BLAS spin while the rank waits for something else. */
static bool is_shared_second(const struct report *rep, const struct run_result *r, const struct class_result *first)
{
    int64_t own = is_gain_of_cores_told(rep, r) ? r->gain_ns[CLASS_SHARED] : 0;
    int may_be =
        r->shared.kind == SHARED_OWN_THREADS || (is_advice_to_measure(r) && r->shared.kind != SHARED_OVERSUBSCRIBED);
    return first && may_be && first->gain_ns > own;
}

static void add_shared_claim(struct report *rep, int run, const struct class_result *first)
{
    struct run_result *r = &rep->runs[run];
    struct claim *c = claim_add(rep);
    const struct class_result *k = first ? first : &r->classes[CLASS_COMPUTE];
    c->run = run;
    c->cls = CLASS_SHARED;
    c->id = report_text(rep, "%s.shared", r->slug);
    c->said = said_of_shared(rep, r);
    say_claim(rep, c);
    c->threshold_ratio = r->classes[CLASS_SHARED].threshold_ratio;
    c->threshold_name = r->classes[CLASS_SHARED].threshold_name;
    c->rule = r->classes[CLASS_SHARED].rule;
    claim_grounds(rep, c, r, CLASS_SHARED);
    c->confidence = confidence_of(rep, r, (struct interval){0}, -1, &c->confidence_because);
    if (first) { /* the share that supports it */
        c->interval = claimed_interval(r, k->cls);
        c->interval_of = c->interval.has ? share_name(rep, r, k->cls) : "";
    }
    c->evidence = report_text(rep, "runs/%s/index.html#classes", r->slug);
    c->action = action_for(rep, r, CLASS_SHARED);
    c->is_measuring = is_advice_to_measure(r);
    c->step_ns = r->step.mean_ns;
    int is_told = is_gain_of_cores_told(rep, r);
    c->has_gain = is_told && !is_advice_beside_cores(&c->action);
    c->gain_ns = c->has_gain ? r->gain_ns[CLASS_SHARED] : 0;
    c->gain_basis = gain_basis_of(r, CLASS_SHARED);
    c->gain_text = c->has_gain ? claim_gain_text(rep, c) : "";
    c->gain_why = c->has_gain ? REASON(NONE) : is_told ? REASON(GAIN_BESIDE_CORES) : REASON(GAIN_OF_CORES);
    shared_numbers(rep, c, r);
    claim_number(rep, c, report_text(rep, "runs.%s.step.mean_ns", r->slug), "ns", (double)r->step.mean_ns);
    r->claims[r->n_claims++] = rep->n_claims - 1;
}

static void say_nothing_limits(struct report *rep, struct run_result *r)
{
    if (r->classes[CLASS_OVERHEAD].verdict == VERDICT_WATCH || r->run->has_host_steps)
        r->unnamed_action = action_for_unnamed(rep, r);
    r->said = said_of_nothing(rep, r);
    if (!is_mostly_unnamed(r) && is_compute_waiting(r) && 2 * r->part_ns[PART_COMPUTE] > r->step.mean_ns)
        r->unnamed_action = action_sentence(rep, action_for(rep, r, CLASS_COMPUTE));
    r->confidence = confidence_of(rep, r, (struct interval){0}, -1, &r->confidence_because);
    r->confidence = unless_waiting(rep, r, r->confidence, &r->confidence_because);
}

/* States the first claim of the run and the next cause. Shared cores hide what limits, so the reasons of the second
 * claim follow in that case. */
static void say_limits(struct report *rep, struct run_result *r, const struct class_result *next)
{
    const struct claim *first = &rep->claims[r->claims[0]];
    r->confidence = first->confidence;
    r->confidence_because = first->confidence_because;
    r->said = first->said;
    if (next)
        said_some(&r->said, said_other_cause(r, next));
    if (r->loading.workers_cores > 0 && next && next->cls == CLASS_DATA)
        said_some(&r->said, phrase_of_loading(r));
    if (first->cls == CLASS_SHARED && r->n_claims > 1)
        said_why(&r->said, &rep->claims[r->claims[1]].said);
}

/* Speed and shares are those of steps. They mislead if the program does much else. */
static struct phrase phrase_of_time_between(const struct run_result *r)
{
    const double least = 0.75; /* of the time from the first step to the last */
    return r->coverage_ratio > 0 && r->coverage_ratio < least
               ? PHRASE(TIME_BETWEEN, slot_percent(1 - r->coverage_ratio))
               : PHRASE(NONE);
}

void claims_of_runs(struct report *rep)
{
    for (int i = 0; i < rep->n_runs; i++) {
        struct run_result *r = &rep->runs[i];
        const struct class_result *order[N_CLASSES];
        if (!r->has_steps) {
            say_without_steps(rep, r);
            r->confidence = confidence_without_steps(rep, r, &r->confidence_because);
            continue;
        }
        int n = limiting(r, order);
        const struct class_result *most = n ? order[0] : NULL;
        bool is_second = is_shared_second(rep, r, most), is_shared_first = r->shared.kind && !is_second;
        if (is_shared_first)
            add_shared_claim(rep, i, most);
        for (int k = 0; k < n; k++) {
            add_class_claim(rep, i, order[k]);
            if (k == 0 && is_second)
                add_shared_claim(rep, i, most);
        }
        if (r->n_claims == 0)
            say_nothing_limits(rep, r);
        else
            say_limits(rep, r, is_shared_first && n ? order[0] : n > 1 ? order[1] : NULL);
        enum { ALL_SAID = 3 };                                         /* a longer paragraph is not read */
        said_of_end(&r->said, 1, ALL_SAID, phrase_of_time_between(r)); /* after what the limit costs */
        if (!say_stopped(rep, r))
            said_of_end(&r->said, 0, ALL_SAID, phrase_of_early_end(rep, r));
        if (lost_steps(r->run))
            said_of_loss(&r->said, r);
        r->headline = say_headline(&rep->arena, &r->said);
        r->support = say_support(&rep->arena, &r->said);
        say_judged(rep, r);
    }
}
