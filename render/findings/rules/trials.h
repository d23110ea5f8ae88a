/* trials.h - changes to a run of dcrnn-train that can be tried here with one command, with the forecast step of each:
 * the closed loop of advice, command and comparison. */
#ifndef RENDER_FINDINGS_RULES_TRIALS_H
#define RENDER_FINDINGS_RULES_TRIALS_H

#include "render/metrics/report.h"

/* How the gradients of a step travel. unit: ns of a step, mean over ranks */
struct flight {
    double exposed_ns;  /* transfer that no work hides */
    double hidden_ns;   /* under way while the rank computed; 0: sent after the backward pass */
    double backward_ns; /* the backward pass */
    double early_ratio; /* share of the gradients that are final before it ends */
    double left_ratio;  /* share of the backward pass that is left at that time */
    double held_ns;     /* longest time that a rank is kept from its processor: what a quota leaves of a period */
    double core_share;  /* share of a core that the rank has; 1 without a quota */
    double wire_ns;     /* shortest time of its bytes on the link; 0: the link's rate is unknown */
    int n_looks;        /* number of times that messages are moved on during the rest of the pass */
    int n_ranks;
    int is_overlapped;
};

/* The same after a change. */
struct flown {
    double whole_ns;   /* time that the gradients are under way, not counting waits for looks */
    double exposed_ns; /* part of it that no work hides */
    double spent_ns;   /* processor time of messages that lengthens the backward pass */
};

/** flight_now, flight_after - the times of a flight as it was, and after a change.
 *  source   docs/metrics.md#trials. Test: tests/unit/test_trials.c */
struct flown flight_now(const struct flight *f);
struct flown flight_after(const struct flight *f, enum trial_kind change);

/** trials - r->trials and r->trial_key of every run. After rules. */
void trials(struct report *rep);

/** trial_first - the change that a program gets as its first advice where communication limits: one that it does not
 *  use yet. */
enum trial_kind trial_first(const struct run_program *p);
/** trial_advised - that change with its command and forecast; NULL: the change cannot be tried here.
 *  Test: tests/unit/test_trials.c */
const struct trial *trial_advised(const struct run_result *r);

/** trial_on_cluster - the command that makes a series with the options of this run on nodes of a Slurm cluster; ""
 * if the program is not dcrnn-train or its command cannot be repeated.
 *  counts  "1 2 4"
 * Test: tests/unit/test_trials.c */
const char *trial_on_cluster(struct report *rep, const struct run_result *r, const char *counts);

/** trial_key_word - "overlap", "bf16", "link": in report.json. */
const char *trial_key_word(enum trial_kind k);

#endif
