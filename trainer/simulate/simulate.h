/* simulate.h - generated traffic for training when no data are given: the cell transmission model on a small freeway
 * network.
 *
 * Equations, parameters and sources: docs/simulator.md. The same configuration gives the same numbers on every machine
 * with IEEE arithmetic and the same libm. Called by run/input.c for a run, and by main.c for --write-data. */
#ifndef TRAINER_SIMULATE_SIMULATE_H
#define TRAINER_SIMULATE_SIMULATE_H

#include "trainer/data/dataset.h"
#include "trainer/model/graph.h"
#include "trainer/simulate/simulate_network.h"

struct simulate_config {
    uint64_t seed;
    size_t n_sensors; /* 2..4096 */
    size_t n_days;    /* 1..366; day 0 is a Monday */
};

/** simulate_traffic - speeds of all sensors, 288 rows a day, and their road distances.
 *  d         gives; not yet split. Speeds are whole hundredths of a mile per hour, at least 1; 0 = missing
 *  distances gives; sim_distances_release
 *  cost      about 0.6 s for 48 sensors and 14 days
 *  errors    DCR_FAIL: sizes out of range; no memory */
int simulate_traffic(const struct simulate_config *c, struct dataset *d, struct sim_distances *distances,
                     struct dcr_err *err) DCR_MUST_CHECK;

/** simulate_adjacency - the graph of the distances (graph_from_distances). a gives; graph_csr_free. */
int simulate_adjacency(const struct sim_distances *distances, size_t n_sensors, struct graph_csr *a,
                       struct dcr_err *err) DCR_MUST_CHECK;

/** simulate_write - dir/speeds.csv (timestamp and one column per sensor) and dir/distances.csv (from,to,metres), in
 *  the formats that --data and --graph read; reading them back gives the same bits. Day 0 is 2018-01-01.
 *  errors    DCR_FAIL when the folder or a file cannot be written */
int simulate_write(const char *dir, const struct dataset *d, const struct sim_distances *distances,
                   struct dcr_err *err) DCR_MUST_CHECK;

#endif
