/* simulate_demand.h - how many vehicles want to enter the simulated network, by place and hour. Inside simulate*.c
 * only; docs/simulator.md explains it. */
#ifndef TRAINER_SIMULATE_SIMULATE_DEMAND_H
#define TRAINER_SIMULATE_SIMULATE_DEMAND_H

#include "lib/base/err.h"
#include "trainer/simulate/simulate_network.h"

#define DT_S 5.0                       /* a step of the simulation */
#define CAPACITY_VEH_S (2000.0 / 3600) /* of one lane, by the fundamental diagram */

struct sim_ramp {
    double queue;            /* vehicles waiting */
    double peak;             /* vehicles per DT at the height of demand */
    double wobble;           /* slow random part of demand, AR(1) */
    double morning, evening; /* heights of the two peaks, around 1 */
    double inflow;           /* vehicles per DT during this row */
};

/** sim_demand_shape - demand relative to its peak: night floor, daytime plateau, two rush hours on working days.
 *  hour     0..24; weekday: 0 is Monday
 *  morning, evening  heights of the two peaks, around 1 */
double sim_demand_shape(double hour, int weekday, double morning, double evening);

/** sim_demand_calibrate - peaks of all ramps, so that at the worse peak the links of one percentile are loaded just
 *  above capacity: queues form at the same share of the network whatever its size and seed.
 *  ramps    peak, morning and evening are overwritten; of links, then of nodes      shape: (n_links + n_nodes)
 *  errors   DCR_FATAL: no memory */
int sim_demand_calibrate(const struct sim_network *net, struct sim_ramp *ramps, struct dcr_err *err) DCR_MUST_CHECK;

#endif
