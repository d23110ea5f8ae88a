/* shared_words.c - statements about ranks that share their cores. See run_said.h and claims.h. */
#include "render/findings/claims.h"
#include "render/findings/run_said.h"

#include "render/metrics/cores.h"
#include "render/metrics/gain.h"
#include "render/say/format.h"

void shared_numbers(struct report *rep, struct claim *c, const struct run_result *r)
{
    if (r->shared.run_ratio >= 0)
        claim_number(rep, c, report_text(rep, "runs.%s.shared.run_ratio", r->slug), "ratio", r->shared.run_ratio);
    else
        claim_number(rep, c, report_text(rep, "runs.%s.n_ranks", r->slug), "ranks", r->n_ranks);
}

int is_gain_of_cores_told(const struct report *rep, const struct run_result *r)
{
    return (double)r->gain_ns[CLASS_SHARED] > rep->thresholds.loss_matters * (double)r->step.mean_ns;
}

/* How long a step would last if every rank or thread had a core; none if the times do not tell. */
static struct phrase phrase_of_cores(const struct report *rep, const struct run_result *r, int has_others)
{
    const struct shared *s = &r->shared;
    double matters = rep->thresholds.loss_matters, step = (double)r->step.mean_ns;
    int64_t own_ns = r->step.mean_ns - r->gain_ns[CLASS_SHARED];
    const struct slot own = slot_time(own_ns), now = slot_time(r->step.mean_ns);
    if (s->most_ratio > 0 && fmt_is_same(fmt_time(own_ns), fmt_time(r->step.mean_ns)))
        return PHRASE(NONE);
    if (s->most_ratio > 0)
        return s->is_most ? PHRASE(CORE_EACH_THREAD_LEAST, own, now) : PHRASE(CORE_EACH_THREAD, own, now);
    if (s->alone_ns <= 0 || step - (double)s->alone_ns <= matters * step)
        return PHRASE(NONE);
    /* If other programs slow the ranks down even with a core each, the time holds only while these programs go on. */
    int is_beside = has_others && (double)(own_ns - s->alone_ns) > matters * step;
    return is_beside ? PHRASE(CORE_EACH_BESIDE, own, now) : PHRASE(CORE_EACH, own, now);
}

struct said said_of_shared(const struct report *rep, const struct run_result *r)
{
    const struct shared *s = &r->shared;
    struct said said = {.where = said_where(rep, r), .headline = s->said};
    int has_others = others_ratio(r) > rep->thresholds.loss_matters;
    if (has_others)
        said_some(&said, PHRASE(OTHER_PROGRAMS, slot_percent(others_ratio(r))));
    struct phrase cores = phrase_of_cores(rep, r, has_others);
    said_some(&said, cores.id != PHRASE_NONE || !r->has_steps ? cores : phrase_of_step(rep, r));
    if (!is_doubtful(r))
        said_some(&said, PHRASE(QUOTA_EQUAL));
    return said;
}
