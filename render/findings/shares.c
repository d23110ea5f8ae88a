/* shares.c - see shares.h. */
#include "render/findings/shares.h"

#include "render/metrics/known.h"
#include "render/metrics/rule.h"
#include "render/findings/claims.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double share(const struct run_result *r, int64_t ns)
{
    return r->step.mean_ns > 0 ? (double)ns / (double)r->step.mean_ns : 0;
}

struct phrase share_before(const struct report *rep, const struct run_result *r, enum part a, enum part b)
{
    const struct series_point *p = previous_point(rep, r);
    if (!p || p->step.mean_ns == 0)
        return PHRASE(NONE);
    double before = (double)(p->part_ns[a] + (a == b ? 0 : p->part_ns[b])) / (double)p->step.mean_ns;
    return PHRASE(SHARE_BEFORE, slot_things(p->n_nodes, counted_word(rep->unit)),
                  slot_name(a == b ? part_name(a) : "communication"), slot_percent(before));
}

/* Do two times read alike as shares of a step? */
static int reads_alike(const struct run_result *r, int64_t a, int64_t b)
{
    return fmt_is_same(fmt_percent(share(r, a)), fmt_percent(share(r, b)));
}

/* Is the waiting that a class causes too little to tell two shares apart? Then the share of the breakdown is stated. */
static int is_minor(const struct run_result *r, const struct class_result *c)
{
    return c->caused_ns * 200 < r->step.mean_ns || reads_alike(r, c->share_ns - c->caused_ns, c->share_ns);
}

int is_share_with_waiting(const struct run_result *r, enum cause_class cls)
{
    return (cls == CLASS_DATA || cls == CLASS_IO) && r->classes[cls].has_share && !is_minor(r, &r->classes[cls]);
}

const char *share_name(struct report *rep, const struct run_result *r, enum cause_class cls)
{
    const char *name = *class_words(cls, AS_SHARE) ? class_words(cls, AS_SHARE) : run_class_name(r, cls);
    return is_share_with_waiting(r, cls) ? report_text(rep, "%s with the waiting it causes", name) : name;
}

/* The rank that alone spends time on a cause; -1: none does, or several may. */
static int only_rank(const struct run_result *r, enum cause_class cls)
{
    enum { TIMES = 10 }; /* the longest time of a rank over that of every other */
    const enum part part = cls == CLASS_DATA ? PART_DATA : PART_IO;
    int64_t most = 0, next = 0;
    int rank = -1;
    /* Files that are mostly used while loading: the rank loads alone too. */
    bool is_of_loading = cls == CLASS_IO && files_in_loading(r) > r->part_ns[PART_IO];
    if ((cls != CLASS_DATA && cls != CLASS_IO) || r->n_rank_results < 2)
        return -1;
    for (int i = 0; i < r->n_rank_results; i++) {
        int64_t ns = r->ranks[i].part_ns[part] + (is_of_loading ? r->ranks[i].part_ns[PART_DATA] : 0);
        next = ns > most ? most : ns > next ? ns : next;
        rank = ns > most ? r->ranks[i].rank : rank;
        most = ns > most ? ns : most;
    }
    return next <= most / TIMES ? rank : -1;
}

const char *on_its_rank(struct report *rep, const struct run_result *r, enum cause_class cls, const char *what)
{
    int rank = only_rank(r, cls);
    return rank < 0 ? what : say_phrase(&rep->arena, &PHRASE(NAME_ON_RANK, slot_name(what), slot_count(rank)));
}

int64_t said_ns(const struct run_result *r, const struct class_result *c)
{
    int64_t wait = r->part_ns[PART_WAIT];
    return c->cls == CLASS_COMMUNICATION                                    ? r->comm_ns
           : c->cls == CLASS_IMBALANCE && reads_alike(r, wait, c->share_ns) ? wait
                                                                            : c->share_ns;
}

double share_said(const struct run_result *r, const struct class_result *c)
{
    return is_share_with_waiting(r, c->cls)             ? c->share_ratio
           : c->cls == CLASS_DATA || c->cls == CLASS_IO ? share(r, c->share_ns - c->caused_ns)
                                                        : share(r, said_ns(r, c));
}

struct phrase share_of_median_step(const struct report *rep, const struct run_result *r, enum cause_class cls)
{
    static const enum part parts[N_CLASSES][2] = {[CLASS_COMMUNICATION] = {PART_TRANSFER, PART_WAIT},
                                                  [CLASS_DATA] = {PART_DATA, PART_DATA},
                                                  [CLASS_IO] = {PART_IO, PART_IO},
                                                  [CLASS_COPY] = {PART_COPY, PART_COPY}};
    const enum part *p = parts[cls];
    double slow = (double)(r->step.mean_ns - r->step.median_ns);
    if (p[0] == PART_COMPUTE || (double)r->n_counted >= rep->thresholds.few_steps || r->n_rank_results < 1 ||
        slow <= rep->thresholds.step_cv * (double)r->step.median_ns)
        return PHRASE(NONE);
    int64_t at = 0;
    for (int64_t i = 1; i < r->n_counted; i++)
        if (llabs(r->step_ns[i] - r->step.median_ns) < llabs(r->step_ns[at] - r->step.median_ns))
            at = i;
    int64_t ns = r->step_part_ns[at][p[0]] + (p[0] == p[1] ? 0 : r->step_part_ns[at][p[1]]);
    ns /= r->n_rank_results;
    double mean = share(r, r->part_ns[p[0]] + (p[0] == p[1] ? 0 : r->part_ns[p[1]])),
           median = (double)ns / (double)r->step_ns[at];
    if (fabs(median - mean) < 0.1 * mean)
        return PHRASE(NONE); /* slow steps do not change the share */
    return PHRASE(SHARE_OF_MEDIAN, slot_percent(median));
}

struct fmt judged_share(const struct class_result *c)
{
    struct fmt f = {""};
    if (!c->judged.by)
        return c->has_share ? fmt_percent(c->share_ratio) : f;
    if (isfinite(c->judged.ratio))
        snprintf(f.text, sizeof f.text, "%.15s %.45s", fmt_percent(c->judged.ratio).text,
                 judged_by_words(c->judged.by));
    return f;
}

struct fmt judged_threshold(const struct class_result *c)
{
    const struct judged j = judged_of(c);
    return j.threshold_ratio >= 0 ? fmt_percent(j.threshold_ratio) : (struct fmt){""};
}

const char *verdict_said(enum verdict v)
{
    return v == VERDICT_NA ? "not judged" : verdict_word(v);
}
