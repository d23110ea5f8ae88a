/* claims.c - claims about single runs. The phrases that claims are made of: phrases.c. */
#include "render/narrate/claims.h"

#include "render/analyse/analyse.h"
#include "render/model/build.h"
#include "render/narrate/actions.h"
#include "render/narrate/exchange.h"
#include "render/say/format.h"
#include "render/narrate/shares.h"
#include "render/narrate/stepless.h"

#include <stdlib.h>
#include <math.h>
#include <string.h>

/* ---- sentences of the classes ----------------------------------------------------------------------- */

/* Every collective of a step counts for who comes last: one kind is named where nearly all are of it. */
static const char *exchanges(const struct run_result *r)
{
    struct exchange_share most = exchange_of(r);
    return exchange_words(most.ratio > 0.9 ? most.kind : EXCHANGE_UNKNOWN);
}

/* caveat: caveat_clause, or "" where the sentence before has said it. */
static const char *class_sentence(struct report *rep, const struct run_result *r, const struct class_result *c,
                                  const char *caveat)
{
    const char *at = at_nodes(rep, r->n_nodes), *end;
    const struct judged j = judged_of(c);
    int is_transfer =
        c->cls == CLASS_COMMUNICATION && !is_one_of_many(r) && !j.by; /* the sentence is of communication */
    const char *part = of_step(rep, r, said_ns(r, c));
    end = report_text(rep, "%s%s%s.", share_of_median_step(rep, r, c->cls),
                      touching(rep, j.interval, j.threshold_ratio,
                               is_transfer                             ? "its transfer's"
                               : j.by && c->cls != CLASS_COMMUNICATION ? "communication's"
                                                                       : "its"),
                      caveat);
    switch (c->cls) {
    case CLASS_COMMUNICATION:
        return report_text(rep, "%s %s is exposed %s%s%s", at, part, exchange_name(rep, r),
                           share_trend(rep, r, PART_TRANSFER, PART_WAIT), end);
    case CLASS_IMBALANCE:
        if (r->straggler.has)
            return report_text(rep, "%s %s is waiting for the rank that comes last (rank %d in %s of the %s)%s%s", at,
                               part, r->straggler.rank, fmt_percent(r->straggler.wins_ratio).text, exchanges(r),
                               share_of_all_waiting(rep, r, c), end);
        return report_text(rep, "%s %s is waiting for the rank that comes last, with no rank standing out%s%s", at,
                           part, share_of_all_waiting(rep, r, c), end);
    case CLASS_DATA:
    case CLASS_IO:
        return report_text(rep, "%s %s%s", at, share_own_and_caused(rep, r, c, 1), end);
    case CLASS_MEMORY:
        return report_text(rep, "%s %s would be memory traffic alone, at the calibrated bandwidth: %s%s", at, part,
                           c->text, end);
    case CLASS_COPY:
        return report_text(rep, "%s %s is host-to-device copies%s%s", at, part,
                           share_trend(rep, r, PART_COPY, PART_COPY), end);
    case CLASS_COMPUTE:
        if (c->gain_ns > 0)
            return report_text(rep, "%s %s is compute%s, in kernels slower than the best of this processor%s", at, part,
                               is_doubtful(r) ? ", as far as shared cores let one see" : "", end);
        if (is_compute_waiting(r))
            return report_text(rep, "%s %s is in phases of compute, but %s%s", at, part, waiting_in_compute(rep, r),
                               end);
        if (is_doubtful(r)) /* judged by its share of the work: the time holds the turns of others */
            return report_text(
                rep,
                "%s the step is compute-bound, as far as shared cores let one see: %s is compute, and of "
                "the rest nothing is known to limit%s",
                at, part, end);
        return report_text(rep, "%s the step is compute-bound: %s is compute and nothing else%s limits%s", at, part,
                           is_memory_judged(r) && !*unrecorded_in_compute(rep, r) ? "" : " that was measured", end);
    case CLASS_HOST:
        return report_text(rep, "%s for %s the GPU waits for the host (%s)%s", at, part, c->text, end);
    default:
        return report_text(rep, "%s %s: %s.", at, run_class_name(r, c->cls), c->text);
    }
}

/* What cannot be judged in a run that computes; "" = nothing. */
static const char *not_judged(struct report *rep, const struct run_result *r)
{
    const char *unrecorded = unrecorded_in_compute(rep, r), *text = "";
    if (!is_memory_judged(r))
        text = report_text(rep, "Whether memory bandwidth limits that compute is %s.", r->classes[CLASS_MEMORY].text);
    if (*unrecorded)
        text = report_text(rep, "%s%sNo %s was recorded: if there was any, it is in what is called compute.", text,
                           *text ? " " : "", unrecorded);
    return text;
}

static const char *class_support(struct report *rep, const struct run_result *r, const struct class_result *c)
{
    if (c->cls == CLASS_COMMUNICATION && is_one_of_many(r))
        return report_text(rep,
                           "How much of the %s of communication in a step is transfer and how much waiting for other "
                           "ranks is n/a because the "
                           "trace of one rank does not show when the others came.",
                           fmt_time(r->comm_ns).text);
    if (c->cls == CLASS_COMMUNICATION && r->comm_ns > 0)
        return report_text(rep,
                           "Of the %s of communication in a step, %s are transfer and %s waiting for the rank that "
                           "comes last.%s%s",
                           fmt_time(r->comm_ns).text, fmt_time(r->part_ns[PART_TRANSFER]).text,
                           fmt_time(r->part_ns[PART_WAIT]).text,
                           r->part_ns[PART_WAIT] * 20 > r->step.mean_ns ? " " : "",
                           r->part_ns[PART_WAIT] * 20 > r->step.mean_ns ? cause_of_waiting(rep, r) : "");
    if (c->cls == CLASS_IMBALANCE)
        return cause_of_waiting(rep, r);
    if (c->cls == CLASS_COMPUTE && c->gain_ns <= 0 && !r->shared.kind && !is_compute_waiting(r))
        return not_judged(rep, r);
    return "";
}

static const char *evidence_of(struct report *rep, const struct run_result *r, enum cause_class cls)
{
    const char *anchor = cls == CLASS_IMBALANCE ? "ranks" : cls == CLASS_COMMUNICATION ? "collectives" : "breakdown";
    return report_text(rep, "runs/%s/index.html#%s", r->slug, anchor);
}

/* The processor time of the ranks says that they wait, and not for what; or it is of several processes, of which the
 * one that makes the steps may have waited. */
static enum confidence unless_waiting(const struct run_result *r, enum confidence sure, const char **because)
{
    if (r->processor.is_of_several && !r->processor.is_waiting && sure != CONFIDENCE_LOW) {
        *because = "a rank has several processes, and which of them used the processor is not recorded: the one that "
                   "makes the steps may have waited";
        return sure == CONFIDENCE_HIGH ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
    }
    if (!is_compute_waiting(r) || sure != CONFIDENCE_HIGH)
        return sure;
    *because = "the processor time of the ranks says that they wait, and not for what";
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
    c->sentence = class_sentence(rep, r, k, caveat_clause(rep, r));
    c->support = class_support(rep, r, k);
    if (is_doubtful(r) && !is_comm && k->cls != CLASS_IMBALANCE &&
        (double)(k->gain_ns - k->share_ns) > rep->thresholds.loss_matters * (double)r->step.mean_ns)
        c->support =
            report_text(rep, "%s%sIts removal saves more than its own time: the cores that it leaves serve the rest.",
                        c->support, *c->support ? " " : "");
    const struct judged j = judged_of(k);
    c->threshold_ratio = j.threshold_ratio; /* of the host a floor */
    c->threshold_name = j.threshold;
    c->rule = k->rule;
    claim_grounds(rep, c, r, k->cls);
    const char *share = is_share_with_waiting(r, k->cls) ? "the share with that waiting"
                        : j.by && j.interval.has         ? "the share of communication"
                        : is_comm && !is_one_of_many(r)  ? "the share of transfer"
                                                         : "the share";
    /* The interval of the share is said all the same where what was judged has none; no threshold is compared with it.
     */
    int is_judged = !j.by || j.interval.has;
    c->confidence =
        confidence_of_share(rep, r, share, is_judged ? j.interval : k->share_interval,
                            is_judged ? j.threshold_ratio : -1, &c->confidence_because, &c->is_interval_told);
    if (k->cls == CLASS_COMPUTE) {
        enum confidence sure = unless_waiting(r, c->confidence, &c->confidence_because);
        sure = unless_unjudged(rep, r, sure, &c->confidence_because);
        c->is_interval_told &= sure == c->confidence; /* what lowers it stands in the place of the interval */
        c->confidence = sure;
    }
    c->evidence = evidence_of(rep, r, k->cls);
    c->action = action_for(rep, r, k->cls);
    c->has_gain =
        k->cls != CLASS_COMPUTE || k->gain_ns > 0; /* compute cannot be removed, but can be below its ceiling */
    c->gain_ns = k->gain_ns;
    c->step_ns = r->step.mean_ns;
    c->gain_basis = gain_basis_of(r, k->cls);
    c->gain_text = c->has_gain ? gain_text(rep, k->gain_ns, r->step.mean_ns, c->gain_basis) : "";
    c->gain_why = c->has_gain ? REASON(NONE) : REASON(GAIN_OF_COMPUTE);
    if (k->cls == CLASS_IMBALANCE && *c->gain_text)
        c->gain_text = report_text(rep, "%s with equal times for all ranks", c->gain_text);
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
    if (j.by && isfinite(j.ratio)) /* what the threshold is of */
        claim_number(rep, c, report_text(rep, "runs.%s.classes.%s.judged.ratio", r->slug, key), "ratio", j.ratio);
    r->claims[r->n_claims++] = rep->n_claims - 1;
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

/* What each class is called when its share is told in half a sentence. */
static const char *short_cause(struct report *rep, const struct run_result *r, const struct class_result *k)
{
    static const char *const what[N_CLASSES] = {[CLASS_COMPUTE] = "compute",
                                                [CLASS_COMMUNICATION] = "exposed gradient synchronisation",
                                                [CLASS_IMBALANCE] = "waiting for the rank that comes last",
                                                [CLASS_MEMORY] = "memory traffic at the calibrated bandwidth",
                                                [CLASS_COPY] = "host-to-device copies"};
    if (k->cls == CLASS_DATA || k->cls == CLASS_IO)
        return share_own_and_caused(rep, r, k, 0);
    const char *name = k->cls == CLASS_COMPUTE && k->gain_ns > 0
                           ? "compute, in kernels slower than the best of this processor"
                       : what[k->cls] ? what[k->cls]
                                      : run_class_name(r, k->cls);
    if (k->cls == CLASS_COMPUTE && is_compute_waiting(r))
        name = report_text(rep, "in phases of compute, but %s", waiting_in_compute(rep, r));
    if (k->cls == CLASS_IMBALANCE && r->straggler.has)
        name = report_text(rep, "waiting for rank %d, last in %s of the %s", r->straggler.rank,
                           fmt_percent(r->straggler.wins_ratio).text, exchanges(r));
    return report_text(rep, "%s is %s", of_step(rep, r, said_ns(r, k)), name);
}

/* Ranks without cores of their own are said before any other cause: they make every other number doubtful. */
static void add_shared_claim(struct report *rep, int run, const struct class_result *first)
{
    struct run_result *r = &rep->runs[run];
    struct claim *c = claim_add(rep);
    const struct class_result *k = first ? first : &r->classes[CLASS_COMPUTE];
    c->run = run;
    c->cls = CLASS_SHARED;
    c->id = report_text(rep, "%s.shared", r->slug);
    c->sentence = report_text(rep, "%s %s%s%s.", at_nodes(rep, r->n_nodes), r->shared.because,
                              first          ? "; behind that, "
                              : k->has_share ? "; nothing else limits"
                                             : "",
                              first ? short_cause(rep, r, k) : "");
    c->support = is_doubtful(r) ? "Every other verdict on this run is unreliable: waiting for a core looks like "
                                  "compute, or like waiting for a message."
                                : "The quota is equal on all nodes and at all node counts, so what they are to each "
                                  "other holds.";
    c->support = report_text(rep, "%s%s", c->support, cores_of_their_own(rep, r));
    c->threshold_ratio = r->classes[CLASS_SHARED].threshold_ratio;
    c->threshold_name = r->classes[CLASS_SHARED].threshold_name;
    c->rule = r->classes[CLASS_SHARED].rule;
    claim_grounds(rep, c, r, CLASS_SHARED);
    c->confidence = confidence_of(rep, r, (struct interval){0}, -1, &c->confidence_because);
    if (first) { /* the share that stands behind it */
        c->interval = claimed_interval(r, k->cls);
        c->interval_of = c->interval.has ? share_name(rep, r, k->cls) : "";
    }
    c->evidence = report_text(rep, "runs/%s/index.html#classes", r->slug);
    c->action = action_for(rep, r, CLASS_SHARED);
    c->is_measuring = is_advice_to_measure(r);
    c->step_ns = r->step.mean_ns;
    c->has_gain = is_gain_of_cores_told(rep, r);
    c->gain_ns = c->has_gain ? r->gain_ns[CLASS_SHARED] : 0;
    c->gain_basis = gain_basis_of(r, CLASS_SHARED);
    c->gain_text = c->has_gain ? claim_gain_text(rep, c) : "";
    c->gain_why = c->has_gain ? REASON(NONE) : REASON(GAIN_OF_CORES);
    shared_numbers(rep, c, r);
    claim_number(rep, c, report_text(rep, "runs.%s.step.mean_ns", r->slug), "ns", (double)r->step.mean_ns);
    r->claims[r->n_claims++] = rep->n_claims - 1;
}

/* How near a class is to limiting, 1 = there; the host is judged by a floor of utilisation, which leaves the rest of
 * the step to it. < 0: it is not judged by a share. */
static double nearness(const struct report *rep, const struct class_result *k)
{
    if (k->judged.by && k->cls != CLASS_HOST)
        return isfinite(k->judged.ratio) ? k->judged.ratio / k->judged.threshold_ratio : -1;
    double most = k->cls == CLASS_HOST ? 1 - rep->thresholds.gpu_utilization : k->threshold_ratio;
    return k->has_share && most > 0 ? k->share_ratio / most : -1;
}

enum { NEAR_PERCENT = 40 }; /* of its threshold: what is farther away is no next limit */

/* The class that would limit next, however far away that is; is_near tells. */
static const struct class_result *next_limit(const struct report *rep, const struct run_result *r)
{
    const struct class_result *next = NULL;
    for (int c = 0; c < N_CLASSES; c++) {
        const struct class_result *k = &r->classes[c];
        if (c == CLASS_COMPUTE || c == CLASS_OVERHEAD || k->verdict == VERDICT_LIMITS || nearness(rep, k) < 0)
            continue;
        if (!next || nearness(rep, k) > nearness(rep, next))
            next = k;
    }
    return next;
}

static int is_near(const struct report *rep, const struct class_result *k)
{
    return 100 * nearness(rep, k) >= NEAR_PERCENT;
}

/* Without a named phase nothing was ruled out. */
int is_mostly_unnamed(const struct run_result *r)
{
    return r->has_steps && r->classes[CLASS_OVERHEAD].verdict == VERDICT_WATCH &&
           r->part_ns[PART_OTHER] > r->part_ns[PART_COMPUTE];
}

static void say_nothing_limits(struct report *rep, struct run_result *r)
{
    const struct class_result *next = next_limit(rep, r);
    int is_unnamed = is_mostly_unnamed(r);
    if (r->classes[CLASS_OVERHEAD].verdict == VERDICT_WATCH)
        r->unnamed_action = action_for_unnamed(rep, r);
    r->headline =
        report_text(rep, "%s no cause passes its threshold%s %s is %s%s.", at_nodes(rep, r->n_nodes),
                    is_unnamed ? ", but" : ":", of_step(rep, r, r->part_ns[is_unnamed ? PART_OTHER : PART_COMPUTE]),
                    is_unnamed ? "in no named phase" : "compute", caveat_clause(rep, r));
    if (!is_unnamed && is_compute_waiting(r) && 2 * r->part_ns[PART_COMPUTE] > r->step.mean_ns) {
        r->headline =
            report_text(rep, "%s %s is in phases of compute, but %s%s.", at_nodes(rep, r->n_nodes),
                        of_step(rep, r, r->part_ns[PART_COMPUTE]), waiting_in_compute(rep, r), caveat_clause(rep, r));
        r->unnamed_action = action_sentence(rep, action_for(rep, r, CLASS_COMPUTE));
    }
    if (next && !is_near(rep, next))
        r->support = "No other cause comes near its threshold.";
    else if (next && next->cls == CLASS_HOST) {
        struct fmt floor = fmt_percent(rep->thresholds.gpu_utilization);
        int is_at_floor = fmt_is_same(fmt_percent(next->utilization_ratio), floor);
        r->support = report_text(rep, "The next limit would be %s: %s; it limits below %s GPU utilisation%s.",
                                 run_class_name(r, next->cls), next->text, floor.text,
                                 is_at_floor ? ", which this is just above" : "");
    } else if (next)
        r->support =
            report_text(rep, "The next limit would be %s: %s against a threshold of %s.", run_class_name(r, next->cls),
                        next->judged.by ? judged_share(next).text : share_of_class(rep, r, next, " of step time"),
                        judged_threshold(next).text);
}

/* "Data loading (1.2 %) and I/O (0.3 %) are not limiting." */
static const char *ruled_out(struct report *rep, const struct run_result *r)
{
    static const enum cause_class order[] = {CLASS_COMMUNICATION, CLASS_IMBALANCE, CLASS_DATA, CLASS_IO};
    const char *text = "";
    int n = 0;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const struct class_result *c = &r->classes[order[i]];
        if (!c->has_share || c->verdict == VERDICT_LIMITS)
            continue;
        if (c->threshold_ratio >= 0 && c->share_ratio > c->threshold_ratio) /* spared for another reason, not small */
            continue;
        text = report_text(rep, "%s%s%s (%s)", text, n ? ", " : "", run_class_name(r, c->cls),
                           share_of_class(rep, r, c, n ? "" : " of step time"));
        n++;
    }
    return n ? report_text(rep, "Not limiting: %s.", text) : "";
}

static void claims_of_each(struct report *rep)
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
        if (r->shared.kind)
            add_shared_claim(rep, i, n ? order[0] : NULL);
        for (int k = 0; k < n; k++)
            add_class_claim(rep, i, order[k]);
        if (r->n_claims == 0) {
            say_nothing_limits(rep, r);
            r->is_headline_placed = 1;
            r->confidence = confidence_of(rep, r, (struct interval){0}, -1, &r->confidence_because);
            r->confidence = unless_waiting(r, r->confidence, &r->confidence_because);
            continue;
        }
        const struct claim *first = &rep->claims[r->claims[0]];
        r->confidence = first->confidence;
        r->confidence_because = first->confidence_because;
        /* Shared resources name the next cause in passing: what is known about it follows, then the one after it. */
        int is_shared = r->shared.kind != SHARED_NONE;
        const char *named = is_shared && r->n_claims > 1 ? rep->claims[r->claims[1]].support : "";
        const char *second = n > 1 ? class_sentence(rep, r, order[1], "") : "";
        const char *const texts[] = {first->support, named, second, ruled_out(rep, r)};
        r->headline = first->sentence;
        r->is_headline_placed = 1;
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            if (*texts[k])
                r->support = report_text(rep, "%s%s%s", r->support, *r->support ? " " : "", texts[k]);
    }
}

void claims_of_runs(struct report *rep)
{
    claims_of_each(rep);
    for (int i = 0; i < rep->n_runs; i++)
        if (rep->runs[i].has_steps && lost_steps(rep->runs[i].run))
            rep->runs[i].headline = report_text(rep, "%s %s", rep->runs[i].headline, lost_sentence(rep, &rep->runs[i]));
}
