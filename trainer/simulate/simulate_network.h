/* simulate_network.h - the road network under the traffic simulation: freeways on a grid of interchanges, ramps,
 * sensors, and the road distances between sensors. Pure geometry; traffic is simulate.c. docs/simulator.md explains it.
 */
#ifndef TRAINER_SIMULATE_SIMULATE_NETWORK_H
#define TRAINER_SIMULATE_SIMULATE_NETWORK_H

#include "lib/base/err.h"

#include <stddef.h>
#include <stdint.h>

#define SIMULATE_CELL_M 160.0      /* length of a cell */
#define SIMULATE_DISTANCE_M 7000.0 /* longer road distances are not listed */
#define SIMULATE_MAX_ARMS 5        /* ways into or out of an interchange: four directions and the surroundings */

/* A directed carriageway between two interchanges; its cells are [first_cell, first_cell + n_cells) in driving order.
 */
struct sim_link {
    int from, to;  /* nodes */
    int direction; /* 0 east, 1 north, 2 west, 3 south */
    size_t first_cell, n_cells;
    int n_lanes;
    double free_mps;      /* free-flow speed */
    size_t on_cell;       /* cell that the on-ramp joins, relative to first_cell */
    size_t off_cell;      /* cell whose outflow loses exit_ratio to the off-ramp */
    double exit_ratio;    /* 0..1 */
    double on_demand;     /* relative peak demand of the on-ramp, before calibration */
    double commuter_bias; /* -1 home (morning demand) .. 1 work (evening demand) */
};

/* An interchange: arms 0..3 are the links by direction, arm 4 the surroundings. */
struct sim_node {
    double x_m, y_m;
    int in[4], out[4]; /* link arriving in / leaving in direction d, -1 = none */
    double origin;     /* relative peak demand entering from the surroundings; 0 = inner node, closed */
    double commuter_bias;
    double turn[SIMULATE_MAX_ARMS][SIMULATE_MAX_ARMS]; /* [arm in][arm out], rows sum to 1; arm in 4 = origin */
};

struct sim_sensor {
    size_t link, cell; /* cell relative to the link's first */
    double position_m; /* from the link's start to the sensor */
};

struct sim_network {
    size_t n_nodes, n_links, n_cells, n_sensors;
    struct sim_node *nodes;
    struct sim_link *links;
    struct sim_sensor *sensors;
};

/* Road distances between sensors, a list as published data sets give it; self distances included. */
struct sim_distances {
    size_t n;
    int *from, *to;
    double *metres; /* whole decimetres, so that a file with one decimal is exact */
};

/** sim_network_build - a network with room for n_sensors: the largest square grid with at least two sensors per link.
 *  Sensors are placed anew until two of them are in reach of each other (SIMULATE_DISTANCE_M).
 *  net      gives; sim_network_release
 *  errors   DCR_FAIL: n_sensors outside 2..4096; no memory */
int sim_network_build(struct sim_network *net, size_t n_sensors, uint64_t seed, struct dcr_err *err) DCR_MUST_CHECK;
void sim_network_release(struct sim_network *net);

/** sim_network_distances - shortest ways along the carriageways (no U-turns), up to SIMULATE_DISTANCE_M.
 *  out      gives; sim_distances_release
 *  errors   DCR_FATAL: no memory */
int sim_network_distances(const struct sim_network *net, struct sim_distances *out, struct dcr_err *err) DCR_MUST_CHECK;
void sim_distances_release(struct sim_distances *d);

/* The purpose of a random number; part of the meaning of a seed. */
enum sim_draw {
    SIM_DRAW_NETWORK = 1,
    SIM_DRAW_DEMAND,
    SIM_DRAW_INCIDENT,
    SIM_DRAW_SENSOR,
    SIM_DRAW_OUTAGE,
};
/** sim_uniform, sim_normal - numbers of the simulation's own stream, keyed by purpose and index. */
double sim_uniform(uint64_t seed, enum sim_draw what, uint64_t index);
double sim_normal(uint64_t seed, enum sim_draw what, uint64_t index);

#endif
