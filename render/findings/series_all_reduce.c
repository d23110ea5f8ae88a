/* series_all_reduce.c - the all-reduces of a step: what they should take by measurements of the network alone, what
 * they took, and what they would take on more nodes. Called by series_scaling.c. */
#include "render/findings/series_scaling.h"

#include "render/metrics/series/series.h"
#include "render/findings/narrate.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <math.h>
#include <stdio.h>

struct fmt all_reduces_words(const struct all_reduce_point *p)
{
    struct fmt out;
    double n = p->count;
    if (p->bytes <= 0 || n <= 0)
        snprintf(out.text, sizeof out.text, "%s", "–");
    else
        snprintf(out.text, sizeof out.text, fabs(n - round(n)) < 0.005 ? "%.0f of %s%s" : "%.2f of %s%s", n,
                 fmt_bytes(p->bytes / n).text, p->is_counted ? "" : " (assumed)");
    return out;
}

static void add(struct all_reduce *a, enum reduce_said paragraph, struct phrase p)
{
    phrase_put(a->said[paragraph], REDUCE_SAID_MAX, p);
}

static void say_law(struct all_reduce *a)
{
    const struct slot latency = slot_time((int64_t)a->latency_ns), rate = slot_number(a->busbw_gb_per_s);
    int has_latency = a->latency_ns > 0, has_rate = a->busbw_gb_per_s > 0;
    add(a, REDUCE_SAID_LAW,
        PHRASE(REDUCE_LAW, slot_name(a->of), slot_bytes(a->bytes / a->count), slot_percent(a->fit_residual_ratio)));
    add(a, REDUCE_SAID_LAW,
        has_latency && has_rate ? PHRASE(REDUCE_RATES, latency, rate)
        : has_latency           ? PHRASE(REDUCE_LATENCY, latency)
        : has_rate              ? PHRASE(REDUCE_RATE, rate)
                                : PHRASE(NONE));
    if (a->n_counts == 1)
        add(a, REDUCE_SAID_LAW, PHRASE(REDUCE_ONE_COUNT));
}

/* States the largest point that has a time by the law, and the next one that was not run. The table has the others. */
static void say_step(struct report *rep, struct all_reduce *a)
{
    const struct all_reduce_point *p = NULL, *next = a->n_ahead ? &a->ahead[0] : NULL;
    const char *unit = counted_word(rep->unit);
    for (int i = 0; i < a->n_points; i++)
        p = a->points[i].predicted_ns > 0 ? &a->points[i] : p;
    if (p && p->has_residual)
        add(a, REDUCE_SAID_STEP,
            PHRASE(REDUCE_TOOK, slot_things(p->n_nodes, unit), slot_time(p->measured_ns), slot_time(p->predicted_ns)));
    else if (p && p->why.code == REASON_REDUCE_HIDDEN)
        add(a, REDUCE_SAID_STEP,
            PHRASE(REDUCE_SHOULD_TAKE_HIDDEN, slot_things(p->n_nodes, unit), slot_time(p->predicted_ns)));
    else if (p)
        add(a, REDUCE_SAID_STEP, PHRASE(REDUCE_SHOULD_TAKE, slot_things(p->n_nodes, unit), slot_time(p->predicted_ns)));
    if (!a->is_counted)
        add(a, REDUCE_SAID_STEP, PHRASE(REDUCE_NOT_COUNTED, slot_bytes(a->bytes)));
    if (next)
        add(a, REDUCE_SAID_STEP,
            PHRASE(REDUCE_AHEAD, slot_things(next->n_nodes, unit), slot_time(next->predicted_ns),
                   slot_name(report_text(rep, "%s", fmt_time_range(next->interval.lo, next->interval.hi).text))));
}

static void say_doubt(struct all_reduce *a)
{
    double message = a->bytes / a->count;
    if (message > a->most_bytes || message < a->least_bytes)
        add(a, REDUCE_SAID_DOUBT,
            message > a->most_bytes ? PHRASE(REDUCE_ABOVE, slot_bytes(a->most_bytes))
                                    : PHRASE(REDUCE_BELOW, slot_bytes(a->least_bytes)));
    if (a->mismatch.code)
        add(a, REDUCE_SAID_DOUBT, PHRASE(REDUCE_MISMATCH, slot_reason(&a->mismatch)));
    if (a->left_out.code)
        add(a, REDUCE_SAID_DOUBT, PHRASE(REDUCE_LEFT_OUT, slot_reason(&a->left_out)));
}

void series_all_reduce_text(struct report *rep, struct series *s)
{
    struct all_reduce *a = &s->all_reduce;
    if (s->n_laws == 0 || !a->source)
        return;
    say_law(a);
    say_step(rep, a);
    say_doubt(a);
    a->text = say_phrases(&rep->arena, a->said[0], N_REDUCE_SAID * REDUCE_SAID_MAX);
}
