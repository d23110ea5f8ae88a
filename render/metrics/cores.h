/* cores.h - which cores ranks have, what else used them, and CPU quotas. */
#ifndef RENDER_METRICS_CORES_H
#define RENDER_METRICS_CORES_H

#include "render/metrics/report.h"

/** cores_of_all - cores on which the ranks of one machine may run, all together; 0 when a rank does not say. */
int cores_of_all(const struct run *a);

/** cores_unused - cores that a run's ranks may use and have no thread for, on the node where that is fewest; -1 not
 *  known. Stand-ins for nodes share the cores of their machine. Test: tests/unit/test_cores.c */
int cores_unused(const struct run_result *r);

/** waiting_for_core - share of the time of a rank's steps in which it was ready to run but had no core; of its whole
 * run where the readings do not cover the steps; -1 not measured. Test: tests/unit/test_cores.c */
double waiting_for_core(const struct run *a, const struct run_rank *k);

/** steal_of - share of the CPU time of a node that other virtual machines took, of the node where that is most; 0 =
 * none, or not recorded. */
double steal_of(const struct run *a);

/** missed_with_steal - of a rank on an emulated node with a share: share of the time of its steps in which it was ready
 * and was kept from a core that its share lets it have, by programs or other virtual machines; -1 not measured, or no
 * such node. Test: tests/unit/test_cores.c */
double missed_with_steal(const struct run *a, const struct run_rank *k);

/** node_speed - of a core, what each thread of a rank has: less than 1 on an emulated node whose share is smaller than
 *  its threads, 1 elsewhere. unit: cores */
double node_speed(const struct run *a, const struct run_rank *k);

/* Of the cores on which the ranks of a run may run, what other programs took in the mean of its steps, of the whole run
 * where the readings do not cover those: what the nodes' CPU monitors have as busy, less what the ranks' processes
 * used. Those may have run on cores that the ranks may not use; what does not fit there was on the ranks' (taken), all
 * of it may have been (at_most). Stand-ins for nodes all watch one machine: the busiest reading counts, against all
 * ranks. */
struct others {
    double cores; /* 0 = a node (of stand-ins: all of them) or a rank was not watched */
    double taken, at_most;
    double own;       /* what the ranks' processes used */
    double waiting;   /* threads of the ranks that were ready to run and had no core, in the mean */
    double steal;     /* share of the cores that other machines took; the most of all nodes */
    double delay;     /* the largest waiting_for_core of a rank */
    double all_cores; /* of the nodes, those included on which no rank may run */
};

/** machines_of - nodes of a run; stand-ins for nodes are one. */
int machines_of(const struct run *a);

/** others_at, others_of - of one machine (numbered from 0), and the sum over all machines.
 *  source   docs/metrics.md#shared-cores. Test: tests/unit/test_gain.c, tests/unit/test_cores.c */
struct others others_at(const struct run *a, int machine);
struct others others_of(const struct run *a);

/* Of one rank, in the mean of its steps (of its whole run where the readings do not cover those). */
struct ready {
    double used, waiting; /* cores' worth of processor time, and threads that waited for a core; on an emulated node
                             time that its own speed (node_speed) takes for the work */
    int cores;            /* on which it may run; 0 = not recorded */
};

/** ready_of - of a rank. Test: tests/unit/test_cores.c */
struct ready ready_of(const struct run *a, const struct run_rank *k);

/** processor_of - of a run with steps. What loading, writing and MPI's polling use is in it: of_work is an upper bound.
 *  Not for runs with GPUs, nor if a CPU quota or other virtual machines held the ranks back: run-queue delays do not
 *  contain those waits.
 *  source   docs/metrics.md#rules. Test: tests/unit/test_cores.c */
struct processor processor_of(const struct report *rep, const struct run_result *r);

/** cores_of_rank - cores on which a rank may run; 0 = not recorded. */
int cores_of_rank(const struct run_rank *k);

/** cores_missing - share of a step that is saved at most where every thread of one machine that was ready to run has a
 *  core: threads that ran and threads that waited, in the mean of the steps, against the cores there are. 0 none.
 *  source   docs/metrics.md#shared-cores. Test: tests/unit/test_cores.c */
double cores_missing(const struct others *o);

/* What CPU quotas say of nodes that are compared: those of a run and of all runs of its series. */
enum quota {
    QUOTA_UNEQUAL = 0, /* they differ, or a node has none, or none that is known */
    QUOTA_EQUAL,       /* all nodes have the same: what they are to each other holds */
    QUOTA_OF_NODES     /* and it is what makes them emulated nodes: their speed */
};

/** quota_of - of the nodes that run `run` is compared with, its own among them. After scaling. (quota.c) */
enum quota quota_of(const struct report *rep, int run);

/** has_shares - are all nodes emulated ones with a share of the cores of their own? (quota.c) */
int has_shares(const struct run *a);

/** shared_with_others - note that something else uses the cores too of which the ranks of a run had too few. (cores.c)
 */
void shared_with_others(struct report *rep, struct run_result *r);

/** is_doubtful - do shared or missing cores make verdicts on this run unreliable? Not where an equal quota held all
 *  nodes back alike. After caveats. (quota.c) */
int is_doubtful(const struct run_result *r);

#endif
