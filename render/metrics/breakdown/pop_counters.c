/* pop_counters.c - instruction, IPC and frequency scaling of a series, by the processor's counters. */
#include "render/metrics/breakdown/pop.h"

/* Sums over the ranks of a run. returns  why there are none */
static struct reason count_run(struct report *rep, const struct run_result *r, struct point_counters *c)
{
    const struct run *a = r->run;
    if (!r->has_steps || a->ranks_len == 0 || r->n_steps == 0)
        return REASON(NO_STEPS_TO_COUNT_BY);
    double scale = 1.0 / run_all_steps(a, r->n_steps);
    for (int i = 0; i < a->ranks_len; i++) {
        const struct run_rank *k = &a->ranks[i];
        if (k->cycles <= 0 || k->instructions <= 0 || k->task_clock_ns <= 0)
            return k->counters.state == RECORDER_NOT_AVAILABLE
                       ? REASON(COUNTERS_UNAVAILABLE, slot_name(report_text(rep, "%.288s", k->counters.because)))
                       : REASON(NO_COUNTERS);
        c->cycles += (double)k->cycles * scale;
        c->instructions += (double)k->instructions * scale;
        c->task_clock_ns += (double)k->task_clock_ns * scale;
    }
    return REASON(NONE);
}

void pop_counters(struct report *rep, struct series *s)
{
    for (int i = 0; i < s->n_points; i++) {
        struct series_point *p = &s->points[i];
        const struct point_counters *ref = &s->points[0].counters;
        struct point_counters *c = &p->counters;
        *c = (struct point_counters){0};
        for (int k = 0; k < p->n_runs && !c->why.code; k++)
            c->why = count_run(rep, &rep->runs[p->runs[k]], c);
        c->has = !c->why.code && p->n_runs > 0;
        if (!c->has)
            continue;
        c->cycles /= p->n_runs;
        c->instructions /= p->n_runs;
        c->task_clock_ns /= p->n_runs;
        c->has_scaling = s->n_points > 1 && ref->has;
        if (!c->has_scaling) {
            c->why = s->n_points < 2 ? REASON(COUNTED_AT_ONE_POINT, slot_name(counted_word(rep->unit)))
                                     : REASON(REFERENCE_NOT_COUNTED);
            continue;
        }
        c->ipc_scaling_ratio = c->instructions / c->cycles / (ref->instructions / ref->cycles);
        c->frequency_scaling_ratio = c->cycles / c->task_clock_ns / (ref->cycles / ref->task_clock_ns);
        c->has_instruction_scaling =
            s->kind == SCALING_STRONG || (s->kind == SCALING_WEAK && s->points[0].n_nodes > 0 && p->n_nodes > 0);
        if (!c->has_instruction_scaling) {
            c->why = REASON(KIND_OF_SCALING);
            continue;
        }
        double work = s->kind == SCALING_WEAK ? (double)p->n_nodes / s->points[0].n_nodes : 1;
        c->instruction_scaling_ratio = work * ref->instructions / c->instructions;
    }
}
