/* simulate_network.c - builds the grid, then road distances by Dijkstra. */
#include "trainer/simulate/simulate_network.h"

#include "trainer/model/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPACING_M 2900.0 /* mean distance of interchanges */
#define MPH 0.44704      /* metres per second */
#define SURROUNDINGS 4   /* arm */

double sim_uniform(uint64_t seed, enum sim_draw what, uint64_t index)
{
    return rng_uniform(seed, RNG_SIMULATE, (uint64_t)what << 48 | index);
}

double sim_normal(uint64_t seed, enum sim_draw what, uint64_t index)
{
    return rng_normal(seed, RNG_SIMULATE, (uint64_t)what << 48 | index);
}

struct builder {
    struct sim_network *net;
    uint64_t seed, n_drawn;
    size_t side; /* nodes along one side of the grid */
};

static double draw(struct builder *b, double low, double high)
{
    return low + (high - low) * sim_uniform(b->seed, SIM_DRAW_NETWORK, b->n_drawn++);
}

/* -1 at the corners (where people live) .. 1 in the centre (where they work). */
static double bias_at(const struct builder *b, double x_m, double y_m)
{
    double middle = SPACING_M * (double)(b->side - 1) / 2;
    double r = hypot(x_m - middle, y_m - middle) / (middle * sqrt(2.0));
    return 1 - 2 * (r > 1 ? 1 : r);
}

static void place_nodes(struct builder *b)
{
    for (size_t k = 0; k < b->net->n_nodes; k++) {
        struct sim_node *n = &b->net->nodes[k];
        size_t column = k % b->side, row = k / b->side;
        n->x_m = SPACING_M * (double)column + draw(b, -500, 500);
        n->y_m = SPACING_M * (double)row + draw(b, -500, 500);
        for (int d = 0; d < 4; d++)
            n->in[d] = n->out[d] = -1;
        n->commuter_bias = bias_at(b, n->x_m, n->y_m);
        if (column == 0 || row == 0 || column == b->side - 1 || row == b->side - 1)
            n->origin = draw(b, 0.7, 1.3);
    }
}

static void add_link(struct builder *b, size_t from, size_t to, int direction)
{
    struct sim_network *net = b->net;
    struct sim_node *start = &net->nodes[from], *end = &net->nodes[to];
    struct sim_link *l = &net->links[net->n_links];
    double length_m = hypot(end->x_m - start->x_m, end->y_m - start->y_m) * draw(b, 1.0, 1.2);
    l->from = (int)from;
    l->to = (int)to;
    l->direction = direction;
    l->first_cell = net->n_cells;
    l->n_cells = (size_t)lround(length_m / SIMULATE_CELL_M);
    l->n_lanes = draw(b, 0, 1) < 0.6 ? 3 : 4;
    l->free_mps = draw(b, 61, 69) * MPH;
    l->on_cell = (size_t)lround((double)l->n_cells * draw(b, 0.2, 0.4));
    l->off_cell = (size_t)lround((double)l->n_cells * draw(b, 0.6, 0.8));
    l->exit_ratio = draw(b, 0.10, 0.24);
    l->on_demand = draw(b, 0.2, 0.45);
    l->commuter_bias = bias_at(b, (start->x_m + end->x_m) / 2, (start->y_m + end->y_m) / 2);
    start->out[direction] = end->in[direction] = (int)net->n_links;
    net->n_cells += l->n_cells;
    net->n_links++;
}

static void add_links(struct builder *b)
{
    for (size_t row = 0; row < b->side; row++)
        for (size_t column = 0; column < b->side; column++) {
            size_t here = row * b->side + column;
            if (column + 1 < b->side) {
                add_link(b, here, here + 1, 0);
                add_link(b, here + 1, here, 2);
            }
            if (row + 1 < b->side) {
                add_link(b, here, here + b->side, 1);
                add_link(b, here + b->side, here, 3);
            }
        }
}

/* Which share of the traffic arriving in an arm leaves by which arm: straight on is preferred, back is impossible. */
static void set_turns(struct builder *b, struct sim_node *n)
{
    for (int in = 0; in < SIMULATE_MAX_ARMS; in++) {
        double sum = 0;
        int exists = in == SURROUNDINGS ? n->origin > 0 : n->in[in] >= 0;
        for (int out = 0; exists && out < SIMULATE_MAX_ARMS; out++) {
            double w = 0;
            if (out == SURROUNDINGS)
                w = in == SURROUNDINGS || n->origin <= 0 ? 0 : 0.5;
            else if (n->out[out] >= 0)
                w = in == SURROUNDINGS ? 1 : out == in ? 1 : out == (in + 2) % 4 ? 0 : 0.45;
            w *= draw(b, 0.7, 1.3);
            n->turn[in][out] = w;
            sum += w;
        }
        for (int out = 0; sum > 0 && out < SIMULATE_MAX_ARMS; out++)
            n->turn[in][out] /= sum;
    }
}

/* Spreads the sensors: as many on every link, and the rest on the links drawn first. */
static void place_sensors(struct builder *b)
{
    struct sim_network *net = b->net;
    size_t base = net->n_sensors / net->n_links, rest = net->n_sensors % net->n_links, k = 0;
    size_t shift = (size_t)draw(b, 0, (double)net->n_links);
    for (size_t i = 0; i < net->n_links; i++) {
        const struct sim_link *l = &net->links[i];
        size_t here = base + ((i + shift) % net->n_links < rest);
        for (size_t s = 0; s < here; s++) {
            size_t cell = (size_t)((double)l->n_cells * ((double)s + draw(b, 0.25, 0.75)) / (double)here);
            if (cell >= l->n_cells)
                cell = l->n_cells - 1;
            net->sensors[k++] = (struct sim_sensor){i, cell, ((double)cell + 1) * SIMULATE_CELL_M};
        }
    }
}

static double link_m(const struct sim_link *l)
{
    return (double)l->n_cells * SIMULATE_CELL_M;
}

/* Distance from the end of link `source` to the start of every link: Dijkstra over links, because U-turns at an
 * interchange are not allowed; ends beyond SIMULATE_DISTANCE_M. */
static void ways_from(const struct sim_network *net, size_t source, double *to_start, unsigned char *is_done)
{
    for (size_t i = 0; i < net->n_links; i++) {
        to_start[i] = INFINITY;
        is_done[i] = 0;
    }
    size_t here = source;
    double end = 0;
    for (;;) {
        const struct sim_link *l = &net->links[here];
        for (int d = 0; d < 4; d++) {
            int next = net->nodes[l->to].out[d];
            if (next >= 0 && d != (l->direction + 2) % 4 && end < to_start[next])
                to_start[next] = end;
        }
        double best = SIMULATE_DISTANCE_M;
        size_t next = net->n_links;
        for (size_t i = 0; i < net->n_links; i++)
            if (!is_done[i] && to_start[i] < best) {
                best = to_start[i];
                next = i;
            }
        if (next == net->n_links)
            return;
        is_done[next] = 1;
        here = next;
        end = best + link_m(&net->links[next]);
    }
}

/* The distance from sensor i to sensor j; to_start is for the link of i. */
static double between(const struct sim_network *net, size_t i, size_t j, const double *to_start)
{
    const struct sim_sensor *a = &net->sensors[i], *b = &net->sensors[j];
    if (a->link == b->link && b->position_m >= a->position_m)
        return b->position_m - a->position_m;
    return link_m(&net->links[a->link]) - a->position_m + to_start[b->link] + b->position_m;
}

/* Are any two sensors in reach of each other? If not, the list has no distance but 0, and gives no graph. */
static int has_neighbours(const struct sim_network *net, double *to_start, unsigned char *is_done)
{
    for (size_t i = 0; i < net->n_sensors; i++) {
        ways_from(net, net->sensors[i].link, to_start, is_done);
        for (size_t j = 0; j < net->n_sensors; j++) {
            double m = between(net, i, j, to_start);
            if (m > 0 && m <= SIMULATE_DISTANCE_M)
                return 1;
        }
    }
    return 0;
}

int sim_network_build(struct sim_network *net, size_t n_sensors, uint64_t seed, struct dcr_err *err)
{
    memset(net, 0, sizeof *net);
    if (n_sensors < 2 || n_sensors > 4096)
        return dcr_err_set(err, DCR_FAIL, "a simulation takes 2 to 4096 sensors, not %zu", n_sensors);
    struct builder b = {.net = net, .seed = seed, .side = 2};
    while (2 * 4 * (b.side + 1) * b.side <= n_sensors)
        b.side++;
    net->n_nodes = b.side * b.side;
    net->n_sensors = n_sensors;
    net->nodes = calloc(net->n_nodes, sizeof *net->nodes);
    net->links = calloc(4 * b.side * (b.side - 1), sizeof *net->links);
    net->sensors = calloc(n_sensors, sizeof *net->sensors);
    double *to_start = calloc(4 * b.side * (b.side - 1), sizeof *to_start);
    unsigned char *is_done = calloc(4 * b.side * (b.side - 1), 1);
    if (!net->nodes || !net->links || !net->sensors || !to_start || !is_done) {
        free(to_start);
        free(is_done);
        sim_network_release(net);
        return dcr_err_set(err, DCR_FATAL, "out of memory for a network of %zu sensors", n_sensors);
    }
    place_nodes(&b);
    add_links(&b);
    for (size_t k = 0; k < net->n_nodes; k++)
        set_turns(&b, &net->nodes[k]);
    do
        place_sensors(&b);
    while (!has_neighbours(net, to_start, is_done));
    free(to_start);
    free(is_done);
    return 0;
}

void sim_network_release(struct sim_network *net)
{
    free(net->nodes);
    free(net->links);
    free(net->sensors);
    memset(net, 0, sizeof *net);
}

static int add_pair(struct sim_distances *d, size_t *cap, size_t from, size_t to, double metres)
{
    if (d->n == *cap) {
        size_t more = *cap ? 2 * *cap : 1024;
        int *f = realloc(d->from, more * sizeof *f);
        d->from = f ? f : d->from;
        int *t = realloc(d->to, more * sizeof *t);
        d->to = t ? t : d->to;
        double *m = realloc(d->metres, more * sizeof *m);
        d->metres = m ? m : d->metres;
        if (!f || !t || !m)
            return DCR_FATAL;
        *cap = more;
    }
    d->from[d->n] = (int)from;
    d->to[d->n] = (int)to;
    d->metres[d->n++] = round(metres * 10) / 10;
    return 0;
}

int sim_network_distances(const struct sim_network *net, struct sim_distances *out, struct dcr_err *err)
{
    int rc = 0;
    size_t cap = 0;
    memset(out, 0, sizeof *out);
    double *to_start = calloc(net->n_links, sizeof *to_start);
    unsigned char *is_done = calloc(net->n_links, 1);
    if (!to_start || !is_done)
        rc = DCR_FATAL;
    for (size_t i = 0; !rc && i < net->n_sensors; i++) {
        ways_from(net, net->sensors[i].link, to_start, is_done);
        for (size_t j = 0; !rc && j < net->n_sensors; j++) {
            double m = between(net, i, j, to_start);
            if (m <= SIMULATE_DISTANCE_M)
                rc = add_pair(out, &cap, i, j, m);
        }
    }
    if (rc) {
        sim_distances_release(out);
        dcr_err_set(err, rc, "out of memory for the road distances of %zu sensors", net->n_sensors);
    }
    free(to_start);
    free(is_done);
    return rc;
}

void sim_distances_release(struct sim_distances *d)
{
    free(d->from);
    free(d->to);
    free(d->metres);
    memset(d, 0, sizeof *d);
}
