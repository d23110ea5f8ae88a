/* findings.c - what is said of a run besides the classes. See rules.h. */
#include "render/metrics/gpu_memory.h"
#include "render/findings/rules/rules.h"
#include "render/metrics/rule.h"

#include "render/say/format.h"

#include <math.h>
#include <string.h>

struct epoch_times epoch_times(const struct run *r)
{
    const int whole = run_metric("epoch_time_sec"), load = run_metric("data_load_time_sec");
    const int compute = run_metric("compute_time_sec");
    struct epoch_times t = {0};
    for (size_t i = 0; i < r->n_epochs; i++) {
        const double *v = r->epochs[i].value;
        /* Not a number compares false; a trainer that loads beside computing counts more than there is. */
        if (!(v[whole] > 0 && v[whole] < 1e8 && v[load] >= 0 && v[compute] >= 0 && v[load] + v[compute] <= v[whole]))
            continue;
        t.whole_s += v[whole];
        t.loading_s += v[load];
        t.computing_s += v[compute];
        t.n++;
    }
    t.has = t.n > 0 && 2 * (t.loading_s + t.computing_s) > t.whole_s;
    return t;
}

static double epoch_mean(const struct run *run, const char *column)
{
    double sum = 0;
    size_t n = 0;
    int m = run_metric(column);
    for (size_t i = 0; i < run->n_epochs; i++)
        if (!isnan(run->epochs[i].value[m])) {
            sum += run->epochs[i].value[m];
            n++;
        }
    return n ? sum / (double)n : NAN;
}

/* All that is known where only metrics.csv was kept. Files of this kind do not say whether their times are per step or
 * per epoch, so that no verdict may rest on them: unless they can be of epochs only (epochs_headline). */
static void note_epochs(struct report *rep, struct run_result *r)
{
    double epoch = epoch_mean(r->run, "epoch_time_sec"), compute = epoch_mean(r->run, "compute_time_sec");
    double data = epoch_mean(r->run, "data_load_time_sec");
    if (r->has_steps || epoch_times(r->run).has || !(epoch > 0) || isnan(compute) || isnan(data))
        return;
    r->notes[r->n_notes++] =
        report_text(rep,
                    "metrics.csv gives %s s an epoch, compute_time_sec %s and data_load_time_sec %s (means over %s); "
                    "whether those two "
                    "are per epoch is not defined in files of this kind, so no verdict rests on them.",
                    fmt_number(epoch).text, fmt_number(compute).text, fmt_number(data).text,
                    fmt_count((int64_t)r->run->n_epochs, "epoch").text);
}

static void note_accumulation(struct report *rep, struct run_result *r)
{
    const struct accumulated *a = &r->accumulation;
    if (a->micro_batches < 2)
        return;
    r->notes[r->n_notes++] =
        a->steps_between < 2 || !r->has_steps
            ? report_text(
                  rep, "Gradients are accumulated: a step is %lld micro-batches and one run of the optimiser (by %s).",
                  (long long)a->micro_batches, a->source)
            : report_text(
                  rep,
                  "Gradients are accumulated over %lld micro-batches (by %s): what the trace marks as a step is "
                  "one of the %lld parts of an optimiser step, which takes %s in the mean. Light and heavy parts "
                  "take turns: the variation of step time is theirs.",
                  (long long)a->micro_batches, a->source, (long long)a->steps_between,
                  fmt_time(r->step.mean_ns * a->steps_between).text);
}

/* Beside other evidence; alone it is the headline. */
static void note_accounting(struct report *rep, struct run_result *r)
{
    enum { MOST = 4 };
    int n = 0;
    for (int i = 0; i < r->run->n_tables && n < MOST && (r->has_steps || r->run->n_tables > 1); i++) {
        const char *text = r->run->tables[i].kind == FOREIGN_SACCT ? accounting_ended(rep, &r->run->tables[i]) : "";
        if (*text) {
            r->notes[r->n_notes++] = text;
            n++;
        }
    }
}

/* A step that waits for the batch of another thread shows as time without a name: what that may be is said. */
static void note_loading_elsewhere(struct report *rep, struct run_result *r)
{
    static const double BUSY = 0.8; /* of the steps' time: a loader that rests more is not what they wait for */
    struct loading_elsewhere l = loading_elsewhere(r->run);
    if (!r->has_steps || r->part_ns[PART_DATA] || l.other_ns < BUSY * l.wall_ns || l.wall_ns <= 0 ||
        rule_share(r, r->part_ns[PART_OTHER]) <= rep->thresholds.data_limits)
        return;
    r->notes[r->n_notes++] = report_text(
        rep,
        "Data loading outside the thread of the steps took %s of their time, summed, while %s of a step (%s of %s) "
        "lies "
        "in no named phase: if the step waits for its batch there, loading limits. Name that wait data_load to know, "
        "and load with more workers or further ahead.",
        fmt_percent(l.other_ns / l.wall_ns).text, fmt_percent(rule_share(r, r->part_ns[PART_OTHER])).text,
        fmt_time(r->part_ns[PART_OTHER]).text, fmt_time(r->step.mean_ns).text);
}

void findings(struct report *rep, struct run_result *r)
{
    r->notes = dcr_arena_alloc(&rep->arena, RUN_MAX_NOTES * sizeof *r->notes);
    accumulation(rep, r);
    note_accumulation(rep, r);
    note_epochs(rep, r);
    note_loading_elsewhere(rep, r);
    note_accounting(rep, r);
    if (r->has_steps && r->step.cv_ratio > rep->thresholds.step_cv)
        r->notes[r->n_notes++] = report_text(
            rep,
            "Step time varies by %s (standard deviation over mean; target below %s): median %s, 95th percentile %s.",
            fmt_percent(r->step.cv_ratio).text, fmt_percent(rep->thresholds.step_cv).text,
            fmt_time(r->step.median_ns).text, fmt_time(r->step.p95_ns).text);
    if (r->hidden_comm_ns * 100 > r->step.mean_ns && r->step.mean_ns > 0)
        r->notes[r->n_notes++] = report_text(
            rep,
            "Communication is under way for %s a step beside other work. That is no saving yet: it includes "
            "waiting for other ranks. What overlap saves shows against a run without it.",
            fmt_time(r->hidden_comm_ns).text);
    if (r->coverage_ratio > 0 && r->coverage_ratio < 0.9)
        r->notes[r->n_notes++] = report_text(
            rep, "Steps cover %s of the time from the first step to the last; %s.", fmt_percent(r->coverage_ratio).text,
            r->validation_ns > 0 ? report_text(rep, "validation took %s of the rest", fmt_time(r->validation_ns).text)
                                 : "the rest lies between steps");
    gpu_memory(rep, r);
    device_notes(rep, r);
}
