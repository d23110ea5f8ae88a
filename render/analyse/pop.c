/* pop.c - the POP multiplicative model (pop-coe.eu), from times outside communication. */
#include "render/analyse/analyse.h"

#include <string.h>

struct pop pop_of(const int64_t *useful, const int64_t *total, int n, int64_t transfer_ns, int64_t n_steps)
{
    struct pop p = {0};
    double sum_useful = 0, max_useful = 0, sum_total = 0;
    for (int r = 0; r < n; r++) {
        sum_useful += (double)useful[r];
        sum_total += (double)total[r];
        max_useful = (double)useful[r] > max_useful ? (double)useful[r] : max_useful;
    }
    if (n < 1 || n_steps < 1 || sum_total <= 0 || max_useful <= 0)
        return p;
    double t = sum_total / n, mean_useful = sum_useful / n;
    /* Ranks wait for each other, so that their totals agree; where they do not, no rank may be busier than the wall. */
    t = t > max_useful ? t : max_useful;
    p.has_useful = 1;
    p.has = n > 1;
    p.parallel_ratio = mean_useful / t;
    p.load_balance_ratio = mean_useful / max_useful;
    p.communication_ratio = max_useful / t;
    p.transfer_ratio = (t - (double)transfer_ns) / t;
    p.serialization_ratio = p.transfer_ratio > 0 ? p.communication_ratio / p.transfer_ratio : 0;
    p.useful_mean_ns = (int64_t)(mean_useful / (double)n_steps + 0.5);
    p.useful_max_ns = (int64_t)(max_useful / (double)n_steps + 0.5);
    return p;
}

void pop_nodes(struct pop *p, const int64_t *useful, const int *node, int n)
{
    double most = 0; /* of the means of nodes */
    int n_nodes = 0, most_ranks = 0;
    if (!p->has)
        return;
    for (int i = 0; i < n; i++) {
        double sum = 0;
        int ranks = 0, is_first = 1;
        if (node[i] < 0) {
            p->in_nodes_because = p->between_nodes_because = "n/a because the nodes of the ranks are not known";
            return;
        }
        for (int k = 0; k < n; k++)
            if (node[k] == node[i]) {
                is_first &= k >= i;
                sum += (double)useful[k];
                ranks++;
            }
        n_nodes += is_first;
        most_ranks = ranks > most_ranks ? ranks : most_ranks;
        most = sum / ranks > most ? sum / ranks : most;
    }
    double mean = 0, max = 0;
    for (int i = 0; i < n; i++) {
        mean += (double)useful[i] / n;
        max = (double)useful[i] > max ? (double)useful[i] : max;
    }
    p->in_nodes_ratio = most / max;
    p->between_nodes_ratio = mean / most;
    p->has_in_nodes = most_ranks > 1;
    p->has_between_nodes = n_nodes > 1;
    p->in_nodes_because = most_ranks > 1 ? "" : "n/a because every node has one rank";
    p->between_nodes_because = n_nodes > 1 ? "" : "n/a because all ranks are on one node";
}

/* Sums over the ranks of a run. returns  why there are none, "" there are */
static const char *count_run(struct report *rep, const struct run_result *r, struct point_counters *c)
{
    static const char because[] = "n/a because ";
    const struct run *a = r->run;
    if (!r->has_steps || a->ranks_len == 0 || r->n_steps == 0)
        return "n/a because there are no steps to count by";
    double scale = 1.0 / (double)r->n_steps;
    for (int i = 0; i < a->ranks_len; i++) {
        const struct run_rank *k = &a->ranks[i];
        if (k->cycles <= 0 || k->instructions <= 0 || k->task_clock_ns <= 0)
            return strncmp(k->counters_status, because, sizeof because - 1) == 0
                       ? report_text(rep, "%.300s", k->counters_status)
                       : "n/a because no counters of cycles and instructions were recorded of every rank";
        c->cycles += (double)k->cycles * scale;
        c->instructions += (double)k->instructions * scale;
        c->task_clock_ns += (double)k->task_clock_ns * scale;
    }
    return "";
}

void pop_counters(struct report *rep, struct series *s)
{
    for (int i = 0; i < s->n_points; i++) {
        struct series_point *p = &s->points[i];
        const struct point_counters *ref = &s->points[0].counters;
        struct point_counters *c = &p->counters;
        *c = (struct point_counters){.because = ""};
        for (int k = 0; k < p->n_runs && !*c->because; k++)
            c->because = count_run(rep, &rep->runs[p->runs[k]], c);
        c->has = !*c->because && p->n_runs > 0;
        if (!c->has)
            continue;
        c->cycles /= p->n_runs;
        c->instructions /= p->n_runs;
        c->task_clock_ns /= p->n_runs;
        c->has_scaling = s->n_points > 1 && ref->has;
        if (!c->has_scaling) {
            c->because = s->n_points < 2
                             ? report_text(rep, "n/a because there are runs of one %s count only", rep->unit)
                             : "n/a because nothing was counted at the reference";
            continue;
        }
        c->ipc_scaling_ratio = c->instructions / c->cycles / (ref->instructions / ref->cycles);
        c->frequency_scaling_ratio = c->cycles / c->task_clock_ns / (ref->cycles / ref->task_clock_ns);
        c->has_instruction_scaling =
            s->kind == SCALING_STRONG || (s->kind == SCALING_WEAK && s->points[0].n_nodes > 0 && p->n_nodes > 0);
        if (!c->has_instruction_scaling) {
            c->because = "n/a because whether the scaling is strong or weak is unknown";
            continue;
        }
        double work = s->kind == SCALING_WEAK ? (double)p->n_nodes / s->points[0].n_nodes : 1;
        c->instruction_scaling_ratio = work * ref->instructions / c->instructions;
    }
}
