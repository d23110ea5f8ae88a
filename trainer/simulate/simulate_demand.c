/* simulate_demand.c - see simulate_demand.h. Called by simulate.c. */
#include "trainer/simulate/simulate_demand.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PEAK_LOAD 1.5 /* peak demand over capacity at the links of percentile PEAK_PERCENTILE */
#define PEAK_PERCENTILE 0.85

static double bell(double hour, double centre, double width)
{
    double z = (hour - centre) / width;
    return exp(-z * z / 2);
}

static double plateau(double hour, double from, double to)
{
    return 1 / ((1 + exp(-2 * (hour - from))) * (1 + exp(2 * (hour - to))));
}

double sim_demand_shape(double hour, int weekday, double morning, double evening)
{
    if (weekday >= 5)
        return 0.10 + (weekday == 5 ? 0.52 : 0.44) * plateau(hour, 9.5, 20.5);
    double late = weekday == 4 ? 1.6 : 1.2; /* Friday's evening peak is wider */
    return 0.10 + 0.46 * plateau(hour, 6, 20) + 0.44 * morning * bell(hour, 7.8, 0.9) +
           0.44 * evening * bell(hour, 17.2, late);
}

static void set_ramp(struct sim_ramp *r, double relative, double bias)
{
    r->peak = relative;
    r->morning = 1 - 0.35 * bias;
    r->evening = 1 + 0.35 * bias;
}

/* Uncongested flow through every link at the height of one peak, per unit of demand: turning shares applied until
 * nothing changes. load (n_links) receives the flow over capacity between the ramps, where it is highest. */
static void peak_loads(const struct sim_network *net, const struct sim_ramp *ramps, int is_evening, double *in,
                       double *next, double *load)
{
    memset(in, 0, net->n_links * sizeof *in);
    for (int pass = 0; pass < 300; pass++) {
        memset(next, 0, net->n_links * sizeof *next);
        for (size_t k = 0; k < net->n_nodes; k++) {
            const struct sim_node *n = &net->nodes[k];
            for (int a = 0; a < SIMULATE_MAX_ARMS; a++) {
                const struct sim_ramp *origin = &ramps[net->n_links + k];
                double arriving = 0;
                if (a == 4)
                    arriving = origin->peak * (is_evening ? origin->evening : origin->morning);
                else if (n->in[a] >= 0) {
                    const struct sim_ramp *on = &ramps[n->in[a]];
                    const struct sim_link *l = &net->links[n->in[a]];
                    double inside = in[n->in[a]] + on->peak * (is_evening ? on->evening : on->morning);
                    load[n->in[a]] = inside / (CAPACITY_VEH_S * DT_S * l->n_lanes);
                    arriving = inside * (1 - l->exit_ratio);
                }
                for (int out = 0; out < 4; out++)
                    if (n->out[out] >= 0)
                        next[n->out[out]] += arriving * n->turn[a][out];
            }
        }
        memcpy(in, next, net->n_links * sizeof *in);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int sim_demand_calibrate(const struct sim_network *net, struct sim_ramp *ramps, struct dcr_err *err)
{
    size_t n = net->n_links;
    double worst = 0, *work = calloc(3 * n, sizeof *work);
    if (!work)
        return dcr_err_set(err, DCR_FATAL, "out of memory for %zu links", n);
    for (size_t i = 0; i < n; i++)
        set_ramp(&ramps[i], net->links[i].on_demand, net->links[i].commuter_bias);
    for (size_t k = 0; k < net->n_nodes; k++)
        set_ramp(&ramps[n + k], net->nodes[k].origin, net->nodes[k].commuter_bias);
    for (int is_evening = 0; is_evening < 2; is_evening++) {
        double *load = work + 2 * n;
        peak_loads(net, ramps, is_evening, work, work + n, load);
        qsort(load, n, sizeof *load, by_value);
        double at = load[(size_t)(PEAK_PERCENTILE * (double)(n - 1))];
        worst = at > worst ? at : worst;
    }
    for (size_t i = 0; i < n + net->n_nodes; i++)
        ramps[i].peak *= PEAK_LOAD / worst;
    free(work);
    return 0;
}
