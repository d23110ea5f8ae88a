/* shared_words.c - what the claim that ranks have no cores of their own says about their time. See claims.h. */
#include "render/narrate/claims.h"

#include "render/analyse/analyse.h"
#include "render/model/build.h"
#include "render/say/format.h"

#include <string.h>

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

/* " By the shortest that each part of a step took, a step of ranks with cores of their own lasts about 55.0 ms instead
 * of 123 ms (estimate).", and what of it is other programs' doing. */
const char *cores_of_their_own(struct report *rep, const struct run_result *r)
{
    const struct shared *s = &r->shared;
    double matters = rep->thresholds.loss_matters, step = (double)r->step.mean_ns;
    int64_t own_ns = r->step.mean_ns - r->gain_ns[CLASS_SHARED];
    const char *others = "", *by = s->is_by_processor ? "the processor time that the ranks used in a step"
                                                      : "the shortest that each part of a step took";
    if (others_ratio(r) > matters)
        others = report_text(rep,
                             " Other programs took %s of the %g cores meanwhile (the nodes' CPU monitors, less the CPU "
                             "time of the ranks).",
                             fmt_number(s->others_cores).text, s->machine_cores);
    if (s->most_ratio > 0 && fmt_is_same(fmt_time(own_ns), fmt_time(r->step.mean_ns)))
        return others;
    if (s->most_ratio > 0)
        return report_text(rep,
                           s->is_most
                               ? " With a core for every thread that was ready to run a step lasts at least %s, not %s."
                               : " With a core for every thread that was ready to run a step lasts about %s, not %s "
                                 "(estimate).",
                           fmt_time(own_ns).text, fmt_time(r->step.mean_ns).text);
    if (s->alone_ns <= 0 || step - (double)s->alone_ns <= matters * step)
        return others;
    int is_without = *others && (double)(own_ns - s->alone_ns) <= matters * step;
    return report_text(
        rep, "%s By %s, a step of ranks with cores of their own%s lasts about %s instead of %s (estimate).", others, by,
        !*others     ? ""
        : is_without ? " and nothing else on them"
                     : ", while those programs go on,",
        fmt_time(own_ns).text, fmt_time(r->step.mean_ns).text);
}
