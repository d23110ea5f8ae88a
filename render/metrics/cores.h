/* cores.h - the cores of ranks, what else used them, and CPU quotas. */
#ifndef RENDER_METRICS_CORES_H
#define RENDER_METRICS_CORES_H

#include "render/metrics/report.h"

/** cores_of_all - cores on which the ranks of one machine may run, all together; 0 if it is unknown for a rank. */
int cores_of_all(const struct run *a);

/** cores_unused - cores that a run's ranks may use and have no thread for, on the node with the fewest; -1 not known.
 *  Emulated nodes share the cores of their machine. Test: tests/unit/test_cores.c */
int cores_unused(const struct run_result *r);

/** cores_each - the share of each rank: the cores that the ranks of a node may use, divided by these ranks, on the node
 *  with the fewest; no more than a rank may use. 0 = not known. Test: tests/unit/test_cores.c */
int cores_each(const struct run_result *r);

/** threads_told - threads with which each rank computes, as the program or OMP_NUM_THREADS says; 0 = not known. A
 *  program without OpenMP ignores that variable. Test: tests/unit/test_cores.c */
int threads_told(const struct run *a);

/** are_threads_few - is each rank known to compute with no more threads than its share of the cores (cores_each)? */
int are_threads_few(const struct run_result *r);

/** are_threads_many - may each rank compute with more threads than its share? The process that makes the steps had at
 *  least half a thread more ready than that. Threads that exchange or record are ready for less of the time.
 *  own_ready  of processor_of
 *  source     docs/metrics.md#shared-cores. Test: tests/unit/test_cores.c */
int are_threads_many(const struct run_result *r, double own_ready);

/** waiting_for_core - share of the time of a rank's steps in which it was ready to run but had no core. It is that
 * of its whole run if the readings do not cover the steps. -1: not measured. Test: tests/unit/test_cores.c */
double waiting_for_core(const struct run *a, const struct run_rank *k);

/** steal_of - share of the CPU time of a node that other virtual machines took, of the node with the largest share; 0 =
 * none, or not recorded. */
double steal_of(const struct run *a);

/** missed_with_steal - what programs and other virtual machines cost a rank on an emulated node with a share. It is the
 * share of the time of its steps in which it was ready, but they kept it from a core that its share allows. -1: not
 * measured, or no such node. Test: tests/unit/test_cores.c */
double missed_with_steal(const struct run *a, const struct run_rank *k);

/** node_speed - the part of a core that each thread of a rank has: less than 1 on an emulated node whose share is
 *  smaller than its threads, 1 elsewhere. unit: cores */
double node_speed(const struct run *a, const struct run_rank *k);

/* What other programs took of the cores on which the ranks of a run may run, mean over its steps (over the whole run if
 * the readings do not cover the steps). It is what the nodes' CPU monitors report as busy, minus what the ranks'
 * processes used. Other programs may have run on cores that the ranks may not use. The part that does not fit there was
 * on the ranks' cores (taken); all of it may have been (at_most). Emulated nodes all watch one machine, so the busiest
 * reading is compared with all ranks. */
struct others {
    double cores; /* 0 = a node (of emulated nodes: all of them) or a rank was not watched */
    double taken, at_most;
    double own;       /* what the ranks' processes used */
    double waiting;   /* mean number of threads of the ranks that were ready to run and had no core */
    double steal;     /* share of the cores that other machines took; the largest of all nodes */
    double delay;     /* the largest waiting_for_core of a rank */
    double all_cores; /* cores of the nodes, including those on which no rank may run */
};

/** machines_of - nodes of a run; emulated nodes count as one. */
int machines_of(const struct run *a);

/** others_at, others_of - other programs on one machine (numbered from 0), and the sum over all machines.
 *  source   docs/metrics.md#shared-cores. Test: tests/unit/test_gain.c, tests/unit/test_cores.c */
struct others others_at(const struct run *a, int machine);
struct others others_of(const struct run *a);

/* One rank, mean over its steps (over its whole run if the readings do not cover the steps). */
struct ready {
    double ran;           /* cores' worth of processor time */
    double used, waiting; /* that, and threads that waited for a core; on an emulated node, used is the time that the
                             work takes at the node's own speed (node_speed) */
    int cores;            /* on which it may run; 0 = not recorded */
};

/** ready_of - of a rank. Test: tests/unit/test_cores.c */
struct ready ready_of(const struct run *a, const struct run_rank *k);

/** is_held_back - did a CPU quota or other virtual machines take the cores? Run-queue delays do not contain that wait.
 */
int is_held_back(const struct run_result *r);

/** processor_of - for a run with steps. It includes what loading, writing and MPI's polling use, so of_work is an upper
 *  bound. Not for runs with GPUs, nor if a CPU quota or other virtual machines held the ranks back: run-queue delays do
 *  not contain those waits.
 *  source   docs/metrics.md#rules. Test: tests/unit/test_cores.c */
struct processor processor_of(const struct report *rep, const struct run_result *r);

/** loading_of - does the loading of a run with steps wait? used_ratio is an upper bound, because it includes the
 *  processor time of computing and polling. With worker processes it is their mean. Unknown (zero) where
 *  processor_of is, except on GPUs. n_workers stays 0.
 *  ns                time of a step in loading
 *  may_have_workers  other processes of a rank are workers of its loader, as in PyTorch
 *  source            docs/metrics.md#rules. Test: tests/unit/test_cores.c */
struct loading loading_of(const struct report *rep, const struct run_result *r, int64_t ns, int may_have_workers);

/** workers_to_hide - n_workers of a run's loading, after loading_of.
 *  saved_ns  time of a step that removing the loading saves */
int64_t workers_to_hide(const struct run_result *r, int64_t ns, int64_t saved_ns);

/** late_used - late_used_ratio of a run (run_result.h), after processor_of.
 *  Test: tests/unit/test_cores.c */
double late_used(const struct report *rep, const struct run_result *r);

/** cores_of_rank - cores on which a rank may run; 0 = not recorded. */
int cores_of_rank(const struct run_rank *k);

/** cores_missing - upper bound of the share of a step that is saved if every thread of one machine that was ready to
 *  run has a core. It compares the mean number of threads that ran or waited with the number of cores. 0 = none.
 *  source   docs/metrics.md#shared-cores. Test: tests/unit/test_cores.c */
double cores_missing(const struct others *o);

/* How the CPU quotas of compared nodes relate: those of a run and of all runs of its series. */
enum quota {
    QUOTA_UNEQUAL = 0, /* they differ, or a node has none, or an unknown one */
    QUOTA_EQUAL,       /* all nodes have the same quota, so ratios between them hold */
    QUOTA_OF_NODES     /* and the quota makes them emulated nodes: it is their speed */
};

/** quota_of - for the nodes that run `run` is compared with, including its own. After scaling. (quota.c) */
enum quota quota_of(const struct report *rep, int run);

/** has_shares - are all nodes emulated, each with a separate share of the cores? (quota.c) */
int has_shares(const struct run *a);

/** shared_with_others - note that something else also uses the cores, of which the ranks of a run had too few.
 *  (cores.c) */
void shared_with_others(struct report *rep, struct run_result *r);

/** is_doubtful - do shared or missing cores make verdicts on this run unreliable? Not if an equal quota held all nodes
 *  back alike. After caveats. (quota.c) */
int is_doubtful(const struct run_result *r);

#endif
