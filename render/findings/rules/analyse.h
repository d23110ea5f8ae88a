/* analyse.h - from runs to a report's numbers. Each file computes one thing; analyse() is their order. */
#ifndef RENDER_FINDINGS_RULES_ANALYSE_H
#define RENDER_FINDINGS_RULES_ANALYSE_H

#include "lib/buf.h"
#include "render/metrics/report.h"
#include "render/metrics/stats.h"

struct analyse_options {
    int nodes; /* --nodes: node count of archives that do not say; 0 = not given */
    struct thresholds thresholds;
    const char *const *left_out; /* what was found and could not be used, as sentences without a full stop */
    size_t n_left_out;
    const char *const *copies; /* runs that are there a second time, likewise: a note, since nothing is missing */
    size_t n_copies;
    const char *const *none; /* files beside the evidence that are none: names, ascending */
    size_t n_none;
};

/** analyse - everything but sentences.
 *  rep      filled; must be zero; free with report_free
 *  runs     borrows until report_free; shape (n), any order (they are sorted by node count, then run id)
 *  errors   DCR_FAIL: the same run given twice */
int analyse(struct report *rep, struct run **runs, int n, const struct analyse_options *opt,
            struct dcr_err *err) DCR_MUST_CHECK;

/* ---- the parts, in order ---- */

/** breakdown_run - steps common to all ranks, warm-up, step time, parts, waiting and its causes, ranks, straggler.
 *  out      run, n_nodes and labels set by the caller
 *  source   docs/metrics.md#breakdown. Test: tests/unit/test_breakdown.c */
void breakdown_run(struct report *rep, struct run_result *out);

/* The counted steps of all ranks, as breakdown_run found them. */
struct counted {
    int n_ranks;
    const struct run_rank **ranks; /* shape (n_ranks) */
    const uint32_t *index;         /* shape (n_steps)(n_ranks): position in ranks[r]->steps */
    size_t n_steps;
};
/** phases_run - time of every kind of named range, per step and rank.
 *  source   docs/metrics.md#phases. Test: tests/unit/test_phases.c */
void phases_run(struct report *rep, struct run_result *out, const struct counted *c);
/** phases_are_whole - is any named range of the run from begin to end, as a trace of another tool tells it? A run whose
 *  ranks have traces of several kinds holds both. (phases.c)  Test: tests/unit/test_site.c */
int phases_are_whole(const struct run_result *r);

/** warmup_steps - how many leading steps are warm-up: slower than ratio times the median of the later half, at most
 *  share of all.
 *  x        shape (n), ns
 *  source   docs/metrics.md#warm-up. Test: tests/unit/test_breakdown.c */
size_t warmup_steps(const int64_t *x, size_t n, double ratio, double share);

/* One collective as seen by all ranks, for the critical path. */
struct arrival {
    int64_t part_ns[N_CATEGORIES]; /* of one rank since its previous collective */
    int64_t outside_ns;
    int64_t dur_ns;
    int64_t samples; /* of the rank in that step; <= 0 = not said */
};
/* What the replay leaves away. */
struct removal {
    int category;     /* enum category whose time is removed, -1 none */
    int is_imbalance; /* compute, copies and overhead become their mean over ranks, loading that of as many samples as
                         all ranks have in the mean */
    int is_transfer;  /* the collective itself costs nothing */
};
/** replay_gain - time saved at one collective: the last arrival with and without what is removed.
 *  a        shape (n_ranks)
 *  returns  ns >= 0
 *  source   docs/metrics.md#predicted-gain. Test: tests/unit/test_breakdown.c */
int64_t replay_gain(const struct arrival *a, int n_ranks, struct removal what);

/** work_run - ranks[].work_ns and work_transfer_ns: per category what a step takes when no neighbour disturbs it (the
 *  shortest of the counted steps; file writes: mean).
 *  source   docs/metrics.md#shared-cores. Test: tests/unit/test_gain.c */
void work_run(struct run_result *out, const struct counted *c);
/** bound_work - where a rank was running or ready to run nearly all the time (docs/metrics.md) its work is at most the
 *  processor time that it used in a step: no step may have gone undisturbed, and the shortest holds waits for a core
 *  then.
 *  source   docs/metrics.md#shared-cores. Test: tests/unit/test_gain.c */
void bound_work(struct run_result *r);
/** shared_time - when the last of n pieces of work ends that share cores evenly, each on one core at most (processor
 *  sharing).
 *  work     sorted in place; shape (n), any unit >= 0
 *  cores    > 0
 *  source   docs/metrics.md#shared-cores. Test: tests/unit/test_gain.c */
double shared_time(double *work, int n, double cores);
/** gain_basis_of - is the gain of a class an estimate or an upper bound? Two gains are bounds: a GPU's waiting for its
 *  host cannot fall below zero, and cores save at most the time for which threads waited for them. All others are
 *  replays, models or earlier timings. */
enum gain_basis gain_basis_of(const struct run_result *r, enum cause_class c);
/** gain_when_shared - gain_ns of a run whose ranks shared cores, from their work; waits for a core are in no replay.
 *  source   docs/metrics.md#shared-cores. Test: tests/unit/test_gain.c */
void gain_when_shared(struct report *rep, struct run_result *r);
/** saved_when_shared - share of a step saved if compute took `ratio` of its time, for ranks that shared cores. From
 *  their work, like gain_when_shared; 0..1
 *  source   docs/metrics.md#predicted-gain. Test: tests/unit/test_rules.c */
double saved_when_shared(struct report *rep, const struct run_result *r, double ratio);
/** others_ratio - share of the cores on which the ranks may run that other programs took, by the nodes' CPU monitors
 *  less the CPU time of the ranks; 0 none, or not measured, at most 0.95.
 *  source   docs/metrics.md#shared-cores. Test: tests/unit/test_gain.c */
double others_ratio(const struct run_result *r);
/** uneven_rank - index into ranks of the one that has more work than the others although neighbours are left out of it
 *  (threshold uneven_work) and comes last for that; -1 none. */
int uneven_rank(const struct report *rep, const struct run_result *r);
/** waiting_when_shared - wait_cause_ns of such a run: what uneven work explains goes to its causes, the rest to all
 * work that had the cores meanwhile, in proportion. Sums to part_ns[PART_WAIT]. Also fills uneven_wait_ns. source
 * docs/metrics.md#shared-cores. Test: tests/unit/test_gain.c */
void waiting_when_shared(const struct report *rep, struct run_result *r);

/** pop_nodes - the load balance of p as a product of that within nodes and that between them, as TALP splits it.
 *  useful   as of pop_of; shape (n)
 *  node     of each rank, -1 not known; shape (n)
 *  source   docs/metrics.md#pop. Test: tests/unit/test_pop.c */
void pop_nodes(struct pop *p, const int64_t *useful, const int *node, int n);
/** pop_counters - point->counters of a series, by the processor's counters of its runs.
 *  source   docs/metrics.md#pop. Test: tests/unit/test_pop.c */
void pop_counters(struct report *rep, struct series *s);
/** is_memory_judged - is it known whether the memory's bandwidth limits compute? Else a run that computes may have much
 *  to gain. After rule_memory. (roofline.c)  Test: tests/unit/test_rules.c */
int is_memory_judged(const struct run_result *r);
/** unrecorded_in_compute - what may be in the compute of a run of hosts, because nothing was recorded of it: "data
 *  loading or I/O"; "" nothing. Gives text of the report. (unjudged.c)  Test: tests/unit/test_rules.c */
const char *unrecorded_in_compute(struct report *rep, const struct run_result *r);
/** how_to_judge_memory - a clause, "" where it is judged. Borrows text of the report. (unjudged.c) */
const char *how_to_judge_memory(const struct run_result *r);
/** unless_unjudged - the confidence in a run being compute-bound: at most medium where something that could limit was
 * not judged; then *because says what. (unjudged.c) */
enum confidence unless_unjudged(struct report *rep, const struct run_result *r, enum confidence sure,
                                const char **because);

/** claimed_interval - interval of the share of step time in the claim of a class: all communication, one part, or
 *  loading, writing and imbalance with the waiting that they cause; has 0: it is not a share, or there are too few
 * steps. (cause_intervals.c) source   docs/metrics.md#intervals. Test: tests/unit/test_intervals.c */
struct interval claimed_interval(const struct run_result *r, enum cause_class cls);

/** pop_of - POP efficiencies of n workers: ranks, or GPUs.
 *  useful, total   shape (n): ns over the counted steps; of ranks the time outside communication, of GPUs that in which
 *                  they compute
 *  busy            shape (n): of GPUs, the time in which anything runs on them; NULL: the workers are ranks
 *  transfer_ns     mean over workers of exposed transfer, same window
 *  source   docs/metrics.md#pop. Test: tests/unit/test_pop.c */
struct pop pop_of(const int64_t *useful, const int64_t *busy, const int64_t *total, int n, int64_t transfer_ns,
                  int64_t n_steps);
/** pop_ratios - all ratios of p but those of scaling, from its times: products are exact. */
void pop_ratios(struct pop *p);

/** scaling - group runs into series; points, speed-up, efficiency, intervals, losses.
 *  source   docs/metrics.md#scaling. Test: tests/unit/test_scaling.c */
void scaling(struct report *rep);
/** scaling_key - what must be equal for two runs to be points of one series: program, model, data, precision, ranks
 *  per node (ranks, when the nodes are not known; or that the ranks are not), threads, and the command without output
 *  paths, batch sizes and node counts. */
void scaling_key(const struct run_result *r, struct dcr_buf *out);
/** cores_of_all - cores on which the ranks of one machine may run, all together; 0 when a rank does not say. */
int cores_of_all(const struct run *a);

/** cores_unused - cores that a run's ranks may use and have no thread for, on the node where that is fewest; -1 not
 *  known. Stand-ins for nodes share the cores of their machine. Test: tests/unit/test_cores.c */
int cores_unused(const struct run_result *r);

/** command_key - the program's command without launcher, output paths, batch sizes and node counts; its first word
 * without folder. */
void command_key(const struct run *run, struct dcr_buf *out);
/** differing_keys - "--units, ranks per node": in what two runs of different configurations differ.
 *  returns  gives; lives as long as the report */
const char *differing_keys(struct report *rep, const struct run_result *first, const struct run_result *second);

/** model_words - "32 units": the parts between commas of what a model says of itself that some other says otherwise,
 *                at most three, each from behind the last " of " that is common; "" when no part is.
 *  returns  gives; lives as long as the report. Test: tests/unit/test_narrate_runs.c */
const char *model_words(struct report *rep, const char *mine, const char *const *others, int n_others);

/** tell_series_apart - labels of series that would be called alike get what differs: words of their models, options, or
 *                      a number. After scaling. Test: tests/unit/test_narrate_runs.c */
void tell_series_apart(struct report *rep);

/** option_words - ", --hidden 64, without --no-overlap": options of its command that tell a run from those of other
 *  configurations and as many nodes, at most two; "" when these are not told apart by them.
 *  returns  gives; lives as long as the report. Test: tests/unit/test_narrate_runs.c */
const char *option_words(struct report *rep, int run);

/* What makes two runs of other speed by itself; see unlike. */
enum unlike_kind {
    UNLIKE_CPU,
    UNLIKE_GPU,
    UNLIKE_CLOCK, /* one ran below thresholds.clock of the other's mean SM clock, both busy */
    UNLIKE_DRIVER,
    UNLIKE_CUDA,
    UNLIKE_NCCL,
    UNLIKE_MPI,
    UNLIKE_PROGRAM,
    UNLIKE_COMMIT,
    UNLIKE_BLAS,
    UNLIKE_THREADS, /* variables that set threads, of programs that do not say how many they have */
    UNLIKE_QUOTA,   /* CPU quota of a node, where that does not make it an emulated one */
    UNLIKE_NODES,   /* emulated nodes: their share, its period or their link; or only one run has such nodes */
    N_UNLIKE
};
/** unlike - bit k for each kind k in which two runs differ; what one of them does not say is not different.
 *  Test: tests/unit/test_caveats.c */
unsigned unlike(const struct thresholds *t, const struct run *a, const struct run *b);
/** has_other_command - do two runs have other commands, by what does not depend on the number of ranks? What one of
 * them does not say is not different. */
int has_other_command(const struct run *a, const struct run *b);
/** unlike_in_series - the same of all runs of a series against its first. Test: tests/unit/test_narrate_runs.c */
unsigned unlike_in_series(const struct report *rep, const struct series *s);
/** traced_utilization - time with a kernel running / time of the steps, of all traced GPUs together; NAN without any.
 */
double traced_utilization(const struct run *a);
/** run_version - of a library: what the program says of it, else the variable that containers set ("CUDA_VERSION"); ""
 *  not known. borrows */
const char *run_version(const struct run *a, const char *said, const char *variable);
/** unlike_names - "CPU models, NCCL versions" of such bits; "" of none. gives; lives as long as the report */
const char *unlike_names(struct report *rep, unsigned which);

/** other_surroundings - in what else runs differ from rep->runs[first] by their metadata: versions of loaded libraries,
 *  resource limits, uncommitted changes; "" in nothing. What one of them does not say is not different.
 *  runs     indices, n of them; first may be among them
 *  returns  gives; lives as long as the report. (surroundings.c) Test: tests/unit/test_caveats.c */
const char *other_surroundings(struct report *rep, int first, const int *runs, int n);

/* Times of metrics.csv, summed over n epochs. */
struct epoch_times {
    int has; /* and loading and computing can be times of an epoch only: together they are more than half of it */
    int64_t n;
    double whole_s, loading_s, computing_s;
};
/** epoch_times - of the epochs whose parts are there and fit into them. Test: tests/golden/render_text.sh */
struct epoch_times epoch_times(const struct run *r);
/** run_may_be_torch - does PyTorch's advice fit: do names in its traces or its command say so, or does nothing tell?
 *  Test: tests/unit/test_framework.c */
int run_may_be_torch(const struct run *r);
/** launched_word - the first word of a run's command that is the program's: behind mpirun, srun and their like and
 * their options, which say where and on how many ranks it ran; 0 without such a launcher. (command.c) Test:
 * tests/unit/test_scaling.c */
int launched_word(const struct run *a);
/** scaling_is_masked - does this option of a command say a size of a series or a place, so that it makes no other one?
 */
int scaling_is_masked(const char *option);

/** rank_watched_ns - time that a rank's processes ran, by their monitor. unit: ns; 0 = not known. (recorded.c) */
int64_t rank_watched_ns(const struct run_rank *k);
/** rank_lost_events - are host events missing in the rank's traces? Then sums of its calls are not valid, and its steps
 *  are those before the loss. GPU activity that CUPTI lost does not count. (recorded.c) */
int rank_lost_events(const struct run_rank *k);
/** lost_steps - are steps of the run from traces in which events are missing? (recorded.c) */
int lost_steps(const struct run *a);

/** recorded_of_rank - time in which calls and ranges of a rank were recorded: the time that the window (--steps,
 * --delay
 *  ...) was open by the rank's trace, or the whole run without a window. Times count from the first sample of the
 * rank's process. (recorded.c) */
struct recorded_rank {
    int64_t ns; /* 0 = not known, or the window never opened */
    int64_t from_ns, to_ns;
};
struct recorded_rank recorded_of_rank(const struct run_rank *k);

/** recorded_part - the same for all ranks. Sums of recorded calls are divided by `ns` and by nothing else. (recorded.c)
 */
struct recorded {
    int is_part;            /* a window was asked for */
    int64_t ns;             /* summed over the ranks; 0 = not known, or is_never_open */
    int is_never_open;      /* the window opened on no rank */
    int64_t watched_ns;     /* time that the processes ran, summed over all ranks; 0 = not known */
    int64_t from_ns, to_ns; /* when the window first opened and last closed, from the start of the ranks */
    int n_ranks_lost;       /* ranks with missing events */
    uint64_t n_lost;        /* missing events; 0 for damaged traces */
    int64_t lost_from_ns;   /* since when they are missing, from the start of the ranks; -1 = not known */
    struct reason why;      /* sums of calls are not valid */
};
struct recorded recorded_part(const struct run *a);

/** recorded_noun - "the run", "the recorded part of the run". */
const char *recorded_noun(const struct run *a);
/** recorded_sentence - how long the recorded part is; "" = the whole run was recorded. */
const char *recorded_sentence(struct report *rep, const struct run *a);
/** lost_words - "39,421 events were lost after 2.1 s of 4.2 s" if events are missing in the run's traces, else "". */
const char *lost_words(struct report *rep, const struct run *a);
/** lost_sentence - the same as a sentence. */
const char *lost_sentence(struct report *rep, const struct run_result *r);

/** mpi_share - share of the recorded time inside MPI calls except MPI_Init and MPI_Finalize. */
struct mpi_share {
    int has;
    struct reason why;   /* when !has */
    int64_t ns, wall_ns; /* sums over the ranks */
    double ratio;
    const struct run_mpi_call *largest;
};
struct mpi_share mpi_share(const struct run *a);

/** mpi_late - the late ranks of a run without steps, for which the others wait: they spend little time in MPI calls
 *  while all others spend much, longer by over straggler_wait of the recorded time. They are the minority, and at most
 *  MPI_LATE_NAMED. Test: tests/unit/test_rules.c */
enum { MPI_LATE_NAMED = 4 };
struct mpi_late {
    int has, n, ranks[MPI_LATE_NAMED];
    int64_t least_ns, most_ns;               /* of the late ones, in MPI calls */
    int64_t others_least_ns, others_most_ns; /* of the others */
    int64_t waited_ns;                       /* mean of the others - mean of these */
};
struct mpi_late mpi_late(const struct thresholds *t, const struct run *a);

/** file_time - share of the recorded time inside calls on files. Simultaneous calls of threads and processes of a rank
 *  each count, so a sum above the recorded time is not valid.
 *  source   docs/metrics.md#breakdown. Test: tests/unit/test_rules.c */
struct file_time {
    int has;
    struct reason why;                      /* when !has */
    int64_t ns, kind_ns[DCT_N_IO], wall_ns; /* sums over the ranks */
    double ratio;
    const struct run_file *largest; /* NULL: it is one of many, of which no names are known */
    int64_t largest_ns;
    const char *folder; /* of the files of one folder that take most of the time; folder_len characters of a name */
    int folder_len, n_in_folder;
    int64_t folder_ns;
};
struct file_time file_time(const struct run *a);

/** files_explained - compare the bytes in recorded calls on files with the kernel's totals of all ranks' processes. The
 *  rest are file calls that cannot be seen (fprintf; mmap is in neither), pipes, sockets, terminals and files that
 *  programs read at start. Bytes that the recorder wrote are not counted. Test: tests/unit/test_recorded.c */
struct files_explained {
    int has;
    struct reason why;          /* when !has */
    int64_t bytes[2], calls[2]; /* [DCT_IO_READ], [DCT_IO_WRITE]: the kernel's totals of bytes and system calls */
    int64_t recorded_bytes[2];  /* in recorded calls; -1 = not all calls are known */
    int64_t rest_bytes[2];      /* not in recorded calls; -1 = not known */
    struct reason rest_why;
};
struct files_explained files_explained(const struct run *a);

/** program_of - what was run: the name it gives itself or the file of its command; "" when only a launcher is known.
 *  returns  borrows from the run */
const char *program_of(const struct run *a);

/** is_training - does the run say that it trains: by a training loss, or ranges named backward or optimizer? Test:
 *  tests/unit/test_narrate.c */
int is_training(const struct run *a);

/** is_bare - is the run made of other tools' traces and files alone, which do not say what ran? Two of them are neither
 *  points of one series nor repetitions. */
int is_bare(const struct run *a);

/** is_untold - did the run break off before its program described itself (no program.json), while another run of the
 *  same command has its description? Then how they differ is unknown: it is no other configuration for that. Of as many
 *  nodes and ranks (by config_hash) it counts as a repetition, else it has a series of its own. Test:
 *  tests/unit/test_scaling.c */
int is_untold(const struct report *rep, int run);

/** is_one_of_many - has the run the trace of one rank only, which exchanged data with others? Then how much of its
 *  communication is waiting for those is not known. Test: tests/unit/test_narrate.c */
int is_one_of_many(const struct run_result *r);

/** is_part_known - has the run this part by itself? Not when nothing of it was recorded: its class is n/a then; but of
 *  communication one rank alone has none, which is known. The
 * trace of one rank of many does not tell waiting from transfer: all its exposed communication stands in PART_TRANSFER
 *  then, under another name (run_part_name). After rules. */
int is_part_known(const struct run_result *r, enum part p);
/** class_of_part - the class that says why a part is n/a. */
enum cause_class class_of_part(enum part p);
/** is_point_part_known - has any run of the point? */
int is_point_part_known(const struct report *rep, const struct series_point *p, enum part part);
/** known_parts, known_point_parts, known_loss_parts - bit p: is_part_known of enum part p; of a point, of any of its
 *  runs; of a loss, of either of its points. What is not known is 0 in sums and n/a or null where it is shown.
 *  After rules. Test: tests/unit/test_narrate_runs.c */
unsigned known_parts(const struct run_result *r);
unsigned known_point_parts(const struct report *rep, const struct series_point *p);
unsigned known_loss_parts(const struct report *rep, const struct series *s, const struct series_loss *l);
/** point_step - step times of a point; of a summary its mean, which holds no steps to share out (n = 0: n/a). */
const struct spread *point_step(const struct report *rep, const struct series_point *p);
/** run_part_name - part_name, or what stands there instead: "communication: transfer and waiting". */
const char *run_part_name(const struct run_result *r, enum part p);
/** run_class_name - class_name; but "Communication" instead of "Transfer" for a run in which transfer and waiting
 * cannot be told apart. */
const char *run_class_name(const struct run_result *r, enum cause_class c);

/** is_left_out - is this run incomplete and stands beside complete ones of its point? */
int is_left_out(const struct report *rep, int run);

/** repetition_spread - (largest - smallest mean step time of the repetitions of a point) / its mean step time. */
double repetition_spread(const struct report *rep, const struct series_point *p);
/** part_interval - 95 % of the mean time of a part of a step at a point, by bootstrap over its steps and repetitions.
 *  has 0 where a run of it has fewer than BOOTSTRAP_MIN_STEPS.
 *  source   docs/metrics.md#intervals. Test: tests/unit/test_all_reduce.c */
struct interval part_interval(const struct report *rep, const struct series_point *p, enum part part);
/** loss_between - the time lost between two points, split into parts.
 *  scale    num/den: what ideal scaling makes of the first point's times (n_ref/n, or 1/1 for weak scaling)
 *  source   docs/metrics.md#loss. Test: tests/unit/test_scaling.c */
struct series_loss loss_between(const int64_t *from_parts, const int64_t *to_parts, int64_t num, int64_t den);

/** speedup_intervals - of the step time, speed-up and efficiency of every point.
 *  source   docs/metrics.md#intervals. Test: tests/unit/test_scaling.c */
void speedup_intervals(const struct report *rep, struct series *s);
/** point_share_interval - interval of the share of step time of one or two parts (a == b: one) at a point, by bootstrap
 *  over steps and repetitions; has 0: too few steps. (scaling_intervals.c)
 *  source   docs/metrics.md#intervals. Test: tests/unit/test_intervals.c */
struct interval point_share_interval(const struct report *rep, const struct series_point *p, enum part a, enum part b);

/** is_interval_of_summary - is the interval of this point from the mean and standard deviation that its files hold, and
 *  not from its steps? docs/metrics.md#intervals */
int is_interval_of_summary(const struct report *rep, const struct series *s, const struct series_point *p);
/** losses - of a series: between consecutive points, and from the first to the last; or why there are none. */
void losses(struct report *rep, struct series *s);

/** waiting_for_core - share of the time of a rank's steps in which it was ready to run but had no core; of its whole
 * run where the readings do not cover the steps; -1 not measured. Test: tests/unit/test_cores.c */
double waiting_for_core(const struct run *a, const struct run_rank *k);
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
/** is_compute_waiting - do the ranks wait in their phases of compute, and no better kernels are known? After rules. */
int is_compute_waiting(const struct run_result *r);
/** cores_of_rank - cores on which a rank may run; 0 = not recorded. */
int cores_of_rank(const struct run_rank *k);
/** cores_missing - share of a step that is saved at most where every thread of one machine that was ready to run has a
 *  core: threads that ran and threads that waited, in the mean of the steps, against the cores there are. 0 none.
 *  source   docs/metrics.md#shared-cores. Test: tests/unit/test_cores.c */
double cores_missing(const struct others *o);
/** files_in_loading - of a step's loading, the time in calls on files: the phase "NAME: files", and the calls too short
 * to be events where every second step has one that is (docs/metrics.md, files in loading).  unit: ns. Test:
 *  tests/unit/test_rules.c */
int64_t files_in_loading(const struct run_result *r);
/** loss_classes - losses[].class_ns: waiting for a rank that loads or writes is data and I/O, all other is imbalance;
 * overhead in which GPUs waited for their host is host.
 *  Call after rules(), which determine the cause of waiting where cores were shared.
 *  source   docs/metrics.md#loss. Test: tests/unit/test_scaling.c */
void loss_classes(struct report *rep);
/** accounting_jobs - jobs that did not end by themselves by the table of sacct: how many, and how the first one did.
 *  The most telling state first: a job whose step ran out of memory is often FAILED. Test: tests/unit/test_logs.c */
enum job_end { JOB_OUT_OF_MEMORY, JOB_NODE_FAILED, JOB_TIMED_OUT, JOB_CANCELLED, N_JOB_ENDS };
struct jobs_ended {
    int n;
    enum job_end end;  /* of the first; n > 0 only */
    const char *first; /* "17" */
};
struct jobs_ended accounting_jobs(struct report *rep, const struct foreign_table *t);
/** accounting_ended - a sentence on jobs that were cancelled, timed out, ran out of memory or lost a node by the table
 * of sacct, or "". source   sacct(1), JOB STATE CODES. Test: tests/unit/test_logs.c */
const char *accounting_ended(struct report *rep, const struct foreign_table *t);
/** is_too_few_for_trend - is it for want of points that there is no extrapolation? */
int is_too_few_for_trend(const struct reason *why);
/** laws - fit Amdahl's law, the Universal Scalability Law, compute and all-reduce over node counts; extrapolate.
 *  source   docs/metrics.md#fits. Test: tests/unit/test_laws.c */
void laws(struct report *rep, struct series *s);
/** all_reduce - s->all_reduce: the all-reduces of a step by a calibration or a log of nccl-tests. Needs a point.
 *  is_shared  cores were shared: nothing is said of what was not run
 *  source     T = latency log2 p + bytes 2 (p - 1) / p / bus bandwidth; docs/metrics.md#all-reduce-by-the-network.
 * Test: tests/unit/test_all_reduce.c */
void all_reduce(struct report *rep, struct series *s, int is_shared);

/** caveats - what must be known before any verdict: rep->notes, node_label. */
void caveats(struct report *rep);
/** share_words - "0.25 core, 50 Mbit/s each", of one node without "each". gives; lives as long as the report */
const char *share_words(struct report *rep, const struct node_share *s, int n_nodes);

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
/** is_doubtful - do shared or missing cores make verdicts on this run unreliable? Not where an equal quota held all
 *  nodes back alike. After caveats. (quota.c) */
int is_doubtful(const struct run_result *r);

/** has_bad_clock - was a GPU of this run throttled? After caveats. */
int has_bad_clock(const struct report *rep, const struct run_result *r);
/** caveats_of_cores, caveats_of_series - parts of it. */
void caveats_of_cores(struct report *rep);
/** caveat_of_end - which rank of a run that broke off did not reach the exchange in which the others wait. */
void caveat_of_end(struct report *rep, int run);
void caveats_of_series(struct report *rep);
/** rules - the class table of every run against the thresholds; order of predicted gain.
 *  source   docs/metrics.md#rules. Test: tests/unit/test_rules.c */
void rules(struct report *rep);

/** report_source - what a citation says of the archive of a run; its texts are copied into the arena. */
struct source report_source(struct dcr_arena *arena, const struct run *run);

#endif
