/* findings.c - notes on a run besides the classes. See rules.h. */
#include "render/metrics/gpu_memory.h"
#include "render/findings/rules/rules.h"
#include "render/metrics/rule.h"

#include <math.h>
#include <string.h>

struct epoch_times epoch_times(const struct run *r)
{
    const int whole = run_metric("epoch_time_sec"), load = run_metric("data_load_time_sec");
    const int compute = run_metric("compute_time_sec");
    struct epoch_times t = {0};
    for (size_t i = 0; i < r->n_epochs; i++) {
        const double *v = r->epochs[i].value;
        /* A NaN compares false. A trainer that loads while it computes can count more than the whole. */
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

/* All that is known if only metrics.csv was kept. Such files do not say whether their times are per step or per epoch,
 * so no verdict may rest on them, unless they can only be of epochs (epochs_headline). */
static void note_epochs(struct report *rep, struct run_result *r)
{
    double epoch = epoch_mean(r->run, "epoch_time_sec"), compute = epoch_mean(r->run, "compute_time_sec");
    double data = epoch_mean(r->run, "data_load_time_sec");
    if (r->has_steps || epoch_times(r->run).has || !(epoch > 0) || isnan(compute) || isnan(data))
        return;
    run_add_note(rep, r, PHRASE(EPOCH_GIVEN, slot_number(epoch), slot_count((int64_t)r->run->n_epochs)),
                 PHRASE(EPOCH_PARTS, slot_number(compute), slot_number(data)), PHRASE(EPOCH_UNSURE));
}

static void note_thinned(struct report *rep, struct run_result *r)
{
    const struct run_rank *most = NULL;
    for (int i = 0; i < r->run->ranks_len; i++)
        if (r->run->ranks[i].seen.every && (!most || r->run->ranks[i].seen.n > most->seen.n))
            most = &r->run->ranks[i];
    if (most)
        run_add_note(rep, r, PHRASE(STEPS_MANY, slot_count(most->seen.n)),
                     PHRASE(STEPS_THINNED, slot_count((int64_t)most->n_steps)));
}

static void note_accumulation(struct report *rep, struct run_result *r)
{
    const struct accumulated *a = &r->accumulation;
    if (a->micro_batches < 2)
        return;
    const struct slot n = slot_count(a->micro_batches), source = slot_name(a->source);
    if (a->steps_between < 2 || !r->has_steps)
        run_add_note(rep, r, PHRASE(ACCUMULATED_STEP, n, source));
    else
        run_add_note(
            rep, r, PHRASE(ACCUMULATED_OVER, n, source),
            PHRASE(ACCUMULATED_PART, slot_count(a->steps_between), slot_time(r->step.mean_ns * a->steps_between)),
            PHRASE(ACCUMULATED_VARIES));
}

/* A note beside other evidence; alone it is the headline. */
static void note_accounting(struct report *rep, struct run_result *r)
{
    enum { MOST = 4 };
    int n = 0;
    for (int i = 0; i < r->run->n_tables && n < MOST && (r->has_steps || r->run->n_tables > 1); i++) {
        struct phrase said[NOTE_PHRASES] = {{0}};
        if (r->run->tables[i].kind != FOREIGN_SACCT || !accounting_ended(rep, &r->run->tables[i], said))
            continue;
        run_put_note(rep, r, said);
        n++;
    }
}

/* A step that waits for a batch from another thread shows unnamed time, so the note says what it may be. */
static void note_loading_elsewhere(struct report *rep, struct run_result *r)
{
    static const double BUSY = 0.8; /* of the steps' time: the steps do not wait for a loader that rests more */
    struct loading_elsewhere l = loading_elsewhere(r->run);
    if (!r->has_steps || r->part_ns[PART_DATA] || l.other_ns < BUSY * l.wall_ns || l.wall_ns <= 0 ||
        rule_share(r, r->part_ns[PART_OTHER]) <= rep->thresholds.data_limits)
        return;
    run_add_note(rep, r, PHRASE(LOADING_ELSEWHERE, slot_percent(l.other_ns / l.wall_ns)),
                 PHRASE(LOADING_UNNAMED, slot_time(r->part_ns[PART_OTHER]), slot_time(r->step.mean_ns)),
                 PHRASE(LOADING_NAME));
}

void findings(struct report *rep, struct run_result *r)
{
    r->notes = dcr_arena_alloc(&rep->arena, RUN_MAX_NOTES * sizeof *r->notes);
    accumulation(rep, r);
    note_thinned(rep, r);
    note_accumulation(rep, r);
    note_epochs(rep, r);
    note_loading_elsewhere(rep, r);
    note_accounting(rep, r);
    if (r->has_steps && r->step.cv_ratio > rep->thresholds.step_cv)
        run_add_note(rep, r, PHRASE(STEP_VARIES, slot_percent(r->step.cv_ratio), slot_percent(rep->thresholds.step_cv)),
                     PHRASE(STEP_SPREAD, slot_time(r->step.median_ns), slot_time(r->step.p95_ns)));
    if (r->hidden_comm_ns * 100 > r->step.mean_ns && r->step.mean_ns > 0 && !r->is_hidden_unknown)
        run_add_note(rep, r, PHRASE(HIDDEN_COMMUNICATION, slot_time(r->hidden_comm_ns)), PHRASE(HIDDEN_IS_NO_SAVING),
                     PHRASE(HIDDEN_REPEAT));
    gpu_memory(rep, r);
    device_notes(rep, r);
}
