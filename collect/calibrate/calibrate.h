/* calibrate.h - the parts of dccollect-calibrate, which measures what a machine can do: arithmetic, memory,
 * all-reduce. Each part returns one object of calibration.json (docs/FORMAT.md).
 *
 * It is a separate program because it links MPI and dccollect does not. A measurement that fails is left out, with a
 * sentence in "missing" of the same object; a measurement that other work disturbed has one in "disturbed"
 * (collect/record/disturbed.h). */
#ifndef COLLECT_CALIBRATE_H
#define COLLECT_CALIBRATE_H

#include "lib/base/err.h"

#include <jansson.h>
#include <mpi.h>
#include <sched.h>
#include <stdint.h>

/** measured_value - a number of six significant digits: those after them are noise, and would make every file look
 * different. gives */
json_t *measured_value(double value);
/** measured_json - {"n", "median", "min", "max"} of n >= 1 values, in their unit, as measured_value.
 *  values   sorted in place */
json_t *measured_json(double *values, int n);
/** measured_median - the median of n >= 1 values, sorted in place: the middle one, or the mean of the two in the
 * middle. */
double measured_median(double *values, int n);
/** measured_now - CLOCK_MONOTONIC in seconds. */
double measured_now(void);
/** measured_cpu_now - processor time of this thread in seconds. */
double measured_cpu_now(void);

/* ---- machine.c ---- */
/* Number of rates that these functions measure. Each is counted for progress.h. */
enum { MACHINE_RATES = 4 };
/** machine_fma - multiply-adds in registers (loops.h) on one core and on all of them at once, by processor time.
 *  cpus     the cores; threads are bound to them
 *  returns  object with unit GFLOP/s; gives. A multiply-add is two operations. A cgroup quota does not lower the rate:
 *           the report counts at most as many cores as the run's quota */
json_t *machine_fma(const cpu_set_t *cpus);
/** machine_memory - a = a + s b over arrays far larger than the caches; unit GB/s of 10^9 bytes, 24 of them an element.
 *  source   the sizes of STREAM (McCalpin), but written in place, so that the bytes counted are all that move */
json_t *machine_memory(const cpu_set_t *cpus);

/* ---- allreduce.c ---- */
/** allreduce_measure - sums of floats over the first n ranks of MPI_COMM_WORLD, over sizes; collective over all ranks.
 *  node      number of each rank's node     shape: (ranks of the world)
 *  cores     cores of each rank's node      shape: the same
 *  returns   array at rank 0, NULL elsewhere; gives */
json_t *allreduce_measure(const int *node, const int *cores);
/** allreduce_wait - a barrier that sleeps, so that waiting ranks take no processor time from the measuring one. */
void allreduce_wait(MPI_Comm comm);

#endif
