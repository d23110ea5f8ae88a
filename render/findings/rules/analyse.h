/* analyse.h - from runs to a report's numbers. Each file computes one thing; analyse() is their order. */
#ifndef RENDER_FINDINGS_RULES_ANALYSE_H
#define RENDER_FINDINGS_RULES_ANALYSE_H

#include "render/metrics/report.h"

struct analyse_options {
    int nodes; /* --nodes: node count of archives that do not say; 0 = not given */
    struct thresholds thresholds;
    const char *const *left_out; /* evidence that could not be used, as sentences without a full stop */
    size_t n_left_out;
    const char *const *copies; /* runs given a second time, likewise: a note, since nothing is missing */
    size_t n_copies;
    const char *const *none; /* files beside the evidence that are not evidence: names, ascending */
    size_t n_none;
};

/** analyse - everything but sentences.
 *  rep      filled; must be zero; free with report_free
 *  runs     borrows until report_free; shape (n), any order (they are sorted by node count, then run id)
 *  errors   DCR_FAIL: the same run given twice */
int analyse(struct report *rep, struct run **runs, int n, const struct analyse_options *opt,
            struct dcr_err *err) DCR_MUST_CHECK;

/** unrecorded_in_compute - what the compute of a host's run may contain because it was not recorded: "data loading or
 *  I/O"; "" for nothing. Gives text of the report. (unjudged.c)  Test: tests/unit/test_rules.c */
const char *unrecorded_in_compute(struct report *rep, const struct run_result *r);

/** remedy_of_memory - how memory can be judged in the next run; none if it was judged. (unjudged.c) */
struct phrase remedy_of_memory(const struct run_result *r);

/** unless_unjudged - the confidence in a run being compute-bound: at most medium if a possible limit was not judged;
 *  then *because names it. (unjudged.c) */
enum confidence unless_unjudged(struct report *rep, const struct run_result *r, enum confidence sure,
                                const char **because);

/** run_may_be_torch - does PyTorch's advice fit: do names in its traces or its command show PyTorch, or is the
 *  framework unknown?
 *  Test: tests/unit/test_framework.c */
int run_may_be_torch(const struct run *r);
/** run_is_torch_on_hosts - is it PyTorch without a GPU: by traces of its profiler, or by the hook of the collector? */
int run_is_torch_on_hosts(const struct run *r);

/** is_training - does the run say that it trains: by a training loss, or ranges named backward or optimizer? Test:
 *  tests/unit/test_narrate.c */
int is_training(const struct run *a);

/** caveats - what must be known before any verdict: rep->notes, node_label. */
void caveats(struct report *rep);

/** share_words - "0.25 core, 50 Mbit/s each", for one node without "each". gives; lives as long as the report */
const char *share_words(struct report *rep, const struct node_share *s, int n_nodes);

/** has_bad_clock - was a GPU of this run throttled? After caveats. */
int has_bad_clock(const struct report *rep, const struct run_result *r);

/** has_exchange_threads - do ranks of PyTorch exchange on hosts, each in one process, for at least a twentieth of a
 *  step? Gloo's threads exchange there. */
int has_exchange_threads(const struct run_result *r);

/** has_workers - do ranks load with further threads or processes? Those of a shell that starts a rank do not count.
 *  (caveats_cores.c) */
int has_workers(const struct run *a);

/** caveats_of_cores, caveats_of_series - parts of caveats. */
void caveats_of_cores(struct report *rep);

/** rank_that_broke_off - of an incomplete run, the one rank that did not reach the exchange in which the others wait.
 *  returns  its late rank is NULL if there is not exactly one */
struct broke_off {
    const struct run_rank *late, *waits; /* waits: one of those that wait */
    int n_waiting;
};
struct broke_off rank_that_broke_off(const struct run *a);
/** caveat_of_end - which rank of a run that broke off did not reach the exchange in which the others wait. */
void caveat_of_end(struct report *rep, int run);
void caveats_of_series(struct report *rep);

/** report_source - the citation of the archive of a run; its texts are copied into the arena. */
struct source report_source(struct dcr_arena *arena, const struct run *run);

#endif
