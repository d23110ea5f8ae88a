/* series_all_reduce.c - the all-reduces of a step by what was measured of the network alone, in sentences: what they
 * should take, what they took, what they would take beyond. Called by series_scaling.c. */
#include "render/findings/series_scaling.h"

#include "render/metrics/series/series.h"
#include "render/findings/claims.h"
#include "render/say/format.h"
#include "render/say/say.h"
#include "render/findings/narrate.h"

#include <math.h>
#include <stdio.h>

/* "where 1.2 ms were measured, 20 % more" */
static const char *beside(struct report *rep, const struct all_reduce_point *p)
{
    double more = p->predicted_ns > 0 ? (double)p->measured_ns / (double)p->predicted_ns : 0;
    if (!p->has_residual)
        return p->measured_ns > 0 ? report_text(rep, " (measured: %s, and a part hidden behind other work)",
                                                fmt_time(p->measured_ns).text)
                                  : "";
    const char *factor = more >= 1.995   ? report_text(rep, ", %s as long", fmt_x(more).text)
                         : more >= 1.005 ? report_text(rep, ", %s more", fmt_percent(more - 1).text)
                         : more < 0.1    ? report_text(rep, ", %s of that", fmt_percent(more).text)
                         : more < 0.995  ? report_text(rep, ", %s less", fmt_percent(1 - more).text)
                                         : ", the same";
    return report_text(rep, " (measured: %s%s)", fmt_time(p->measured_ns).text, factor);
}

/* "4", "2.5" */
static const char *count_text(struct report *rep, double count)
{
    return fabs(count - round(count)) < 0.005 ? report_text(rep, "%.0f", count)
                                              : report_text(rep, "%s", fmt_number(count).text);
}

struct fmt all_reduces_words(const struct all_reduce_point *p)
{
    struct fmt out;
    double n = p->count;
    if (p->bytes <= 0 || n <= 0)
        snprintf(out.text, sizeof out.text, "n/a");
    else
        snprintf(out.text, sizeof out.text, fabs(n - round(n)) < 0.005 ? "%.0f of %s%s" : "%.2f of %s%s", n,
                 fmt_bytes(p->bytes / n).text, p->is_counted ? "" : " (assumed)");
    return out;
}

/* What of a point's all-reduces is not as the sentence begins, which is of the largest point. */
static const char *otherwise(struct report *rep, const struct all_reduce *a, const struct all_reduce_point *p)
{
    if (p->is_count_of_last)
        return " taken to be as many";
    if (fabs(p->count - a->count) < 0.005 * a->count && fabs(p->bytes - a->bytes) < 0.005 * a->bytes)
        return "";
    return report_text(rep, " with %s of them, %s per rank", count_text(rep, p->count), fmt_bytes(p->bytes).text);
}

static const char *points_sentence(struct report *rep, const struct all_reduce *a)
{
    const char *text = "";
    for (int i = 0; i < a->n_points; i++) {
        const struct all_reduce_point *p = &a->points[i];
        if (p->predicted_ns > 0)
            text = report_text(rep, "%s%s %s at %s%s%s", text, *text ? "," : "", fmt_time(p->predicted_ns).text,
                               nodes_text(rep, p->n_nodes), otherwise(rep, a, p), beside(rep, p));
    }
    return text;
}

static const char *ahead_sentence(struct report *rep, const struct all_reduce *a)
{
    const char *text = "";
    if (!a->n_ahead)
        return a->ahead_why.code
                   ? report_text(rep, " What they would take beyond is %s.", say_reason(&rep->arena, &a->ahead_why))
                   : "";
    for (int i = 0; i < a->n_ahead; i++) {
        const struct all_reduce_point *p = &a->ahead[i];
        text = report_text(rep, "%s%s %s at %s (95 %% interval %s)", text, i ? "," : "", fmt_time(p->predicted_ns).text,
                           nodes_text(rep, p->n_nodes), fmt_time_range(p->interval.lo, p->interval.hi).text);
    }
    return report_text(rep, " Extrapolated from %s, not measured:%s.", a->of, text);
}

/* "A step's 3 all-reduces (376 kB per rank)" */
static const char *step_words(struct report *rep, const struct all_reduce *a)
{
    const char *bytes = report_text(rep, "%s per rank", fmt_bytes(a->bytes).text);
    int is_one = a->is_counted && a->count < 1.005;
    return !a->is_counted
               ? report_text(rep, "A step's all-reduces (%s, taken as one: their number was not recorded)", bytes)
           : is_one ? report_text(rep, "A step's all-reduce (%s)", bytes)
                    : report_text(rep, "A step's %s all-reduces (%s)", count_text(rep, a->count), bytes);
}

void series_all_reduce_text(struct report *rep, struct series *s)
{
    struct all_reduce *a = &s->all_reduce;
    if (s->n_laws == 0 || !a->source)
        return;
    const char *points = points_sentence(rep, a);
    const char *rate = a->busbw_gb_per_s > 0
                           ? report_text(rep, "a bus bandwidth of %s GB/s", fmt_number(a->busbw_gb_per_s).text)
                           : "a time that does not grow with its bytes";
    const char *latency = a->latency_ns > 0 ? report_text(rep, "a latency of %s times log2 of the ranks and ",
                                                          fmt_time((int64_t)a->latency_ns).text)
                                            : "";
    a->text = report_text(
        rep,
        "By %s an all-reduce of about %s%s has %s%s; where that was measured the law is off by %s at most.%s %s should "
        "take%s.%s%s%s",
        a->of, fmt_bytes(a->bytes / a->count).text, *a->beyond ? report_text(rep, " (%s)", a->beyond) : "", latency,
        rate, fmt_percent(a->fit_residual_ratio).text,
        a->n_counts == 1 ? " It was measured at one number of ranks: how it changes with them is by the law alone."
                         : "",
        step_words(rep, a), *points ? points : " n/a",
        a->mismatch.code ? report_text(rep, " Mind that %s.", say_clause(&rep->arena, &a->mismatch)) : "",
        ahead_sentence(rep, a), *a->left_out ? report_text(rep, " Left out: %s.", a->left_out) : "");
}
