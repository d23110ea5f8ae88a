/* run_result.h - the results of one run: its steps and their parts, ranks, phases, and the table of causes. Included by
 * report.h, whose rules hold here too. */
#ifndef RENDER_METRICS_RUN_RESULT_H
#define RENDER_METRICS_RUN_RESULT_H

#include "render/metrics/roof_bound.h"
#include "render/model/advice.h"
#include "render/model/phrase.h"
#include "render/model/run.h"
#include "render/model/value.h"

#include <stdint.h>

/* The parts of a mean step, in the order in which charts stack them: communication is split into the transfer itself
 * and the waiting for the rank that arrives last (docs/metrics.md). X(id, key in files, name in prose) */
#define REPORT_PARTS(X)                           \
    X(PART_COMPUTE, "compute", "compute")         \
    X(PART_TRANSFER, "comm_transfer", "transfer") \
    X(PART_WAIT, "comm_wait", "waiting")          \
    X(PART_DATA, "data", "data loading")          \
    X(PART_IO, "io", "I/O")                       \
    X(PART_COPY, "copy", "copies")                \
    X(PART_OTHER, "other", "unnamed time")
enum part {
#define X(id, key, name) id,
    REPORT_PARTS(X)
#undef X
        N_PARTS
};
const char *part_key(enum part p);
const char *part_name(enum part p);

/* Step times (or any series of ns). n == 0: nothing measured. */
enum { SPREAD_P99_NEEDS = 100 }; /* with fewer samples the 99th percentile is the largest */
struct spread {
    int64_t n;
    int64_t mean_ns, median_ns, p95_ns, min_ns, max_ns;
    int64_t p99_ns;  /* 0 when n < SPREAD_P99_NEEDS */
    double cv_ratio; /* population standard deviation / mean; 0 when n < 2 */
};

/* POP efficiencies. Workers are ranks, whose useful time is that of the step outside communication, or GPUs, whose is
 * that in which they compute (docs/metrics.md#pop). */
struct pop {
    int has;        /* 0: a single rank, which has no other to wait for, or the useful time is unknown */
    int has_useful; /* the useful times are known: of one rank too */
    int is_of_gpus; /* also where they are n/a */
    double mean_ns, max_ns, busy_max_ns, transfer_ns,
        step_ns; /* per step: of useful time; of time with anything on a GPU; exposed transfer; the step. Ratios come
                    from them */
    double parallel_ratio, load_balance_ratio, communication_ratio;
    double serialization_ratio, transfer_ratio;          /* estimated from the split of collectives */
    double gpu_communication_ratio, orchestration_ratio; /* of GPUs: they multiply to communication_ratio */
    int64_t useful_mean_ns, useful_max_ns;               /* per step, over workers */
    double node_max_ns;                                  /* greatest mean useful time of a node's ranks, per step */
    int has_in_nodes, has_between_nodes;                 /* load balance = within nodes x between them */
    double in_nodes_ratio, between_nodes_ratio;          /* 1 if the other is all of it */
    struct reason in_nodes_why, between_nodes_why;       /* REASON_NONE where has, and without efficiencies */
    int has_scaling;                                     /* against the series' reference */
    double computation_scaling_ratio, global_ratio;
};

/* The hosts of GPUs: what they lose to offloading, in calls of the GPU's runtime (docs/metrics.md#gpus). */
struct pop_host {
    int has;
    double offload_ratio;    /* time outside those calls / time; no MPI call is in such traces, so it is the hosts'
                                parallel efficiency too */
    int64_t runtime_mean_ns; /* in those calls, per step, mean over ranks */
};

struct rank_result {
    int rank, node;
    struct spread step;
    int64_t part_ns[N_PARTS];      /* mean per counted step; sums to step.mean_ns */
    int64_t hidden_comm_ns;        /* mean per step */
    int is_hidden_unknown;         /* the events that would tell it were lost */
    int64_t n_last;                /* collectives in which this rank arrived last; of run_result.n_matched */
    int64_t caused_wait_ns;        /* waiting of the others in those, summed over them, mean per step; the same */
    int64_t work_ns[N_CATEGORIES]; /* per step when no neighbour disturbs (shortest); CAT_COMM 0 */
    int64_t samples;               /* of the counted steps; -1 = a step does not say */
};

/* The ranges of one name and category: what the parts are made of (docs/metrics.md#phases). */
struct phase_result {
    const char *name;
    enum category category;
    struct spread spread;           /* over counted steps, of the mean over ranks; 0 in steps without such a range */
    int64_t total_ns;               /* sum over counted steps and ranks */
    int64_t n_steps;                /* counted steps in which some rank had it */
    struct spread *ranks;           /* shape (n_rank_results), as run_result.ranks */
    int fastest_rank, slowest_rank; /* rank numbers by mean */
    int64_t fastest_ns, slowest_ns;
    /* Of traces of other tools: */
    int is_whole;             /* from begin to end, with what lies inside; category N_CATEGORIES: the name gives none */
    int has_gpu;              /* time on the GPUs, from the first to the last operation launched inside */
    struct spread gpu;        /* as spread */
    int64_t n_gpu_steps;      /* counted steps in which some rank launched an operation in it */
    struct spread *gpu_ranks; /* as ranks */
    struct reason gpu_why;    /* when !has_gpu */
};

/* The classes of causes that a report rules in or out. CLASS_COMMUNICATION is judged by transfer alone and called so,
 * because waiting belongs to the cause that makes ranks late. X(id, key) */
#define REPORT_CLASSES(X)                   \
    X(CLASS_SHARED, "shared")               \
    X(CLASS_COMPUTE, "compute")             \
    X(CLASS_MEMORY, "memory")               \
    X(CLASS_COMMUNICATION, "communication") \
    X(CLASS_IMBALANCE, "imbalance")         \
    X(CLASS_DATA, "data")                   \
    X(CLASS_IO, "io")                       \
    X(CLASS_COPY, "copy")                   \
    X(CLASS_HOST, "host")                   \
    X(CLASS_OVERHEAD, "overhead")
enum cause_class {
#define X(id, key) id,
    REPORT_CLASSES(X)
#undef X
        N_CLASSES
};
const char *class_key(enum cause_class c);
/** class_words - its names, from say/names.def: in a table, inside a sentence, as what takes time ("": nothing does),
 *  as what limits, and as the subject of its share of a step ("": its title). */
enum class_form { AS_TITLE, INSIDE_SENTENCE, AS_TIME, AS_LIMIT, AS_SHARE, N_CLASS_FORMS };
const char *class_words(enum cause_class c, enum class_form form);

enum verdict { VERDICT_NA = 0, VERDICT_FINE, VERDICT_WATCH, VERDICT_LIMITS };
/** verdict_word - "n/a", "fine", "watch", "limits". */
const char *verdict_word(enum verdict v);

/* How sure a predicted gain is. An upper bound cannot be exceeded as long as the rest of the step takes the same time.
 * A replay or a model gives an estimate, which can be exceeded. */
enum gain_basis { GAIN_ESTIMATE = 0, GAIN_BOUND };
/** gain_basis_word - "estimate", "upper bound". */
const char *gain_basis_word(enum gain_basis b);

/* What the rule of a class compared with its threshold. X(id, words after the ratio, in report.json too) */
#define JUDGED_BY(X)                         \
    X(JUDGED_BANDWIDTH, "of bandwidth")      \
    X(JUDGED_RUN, "of the run")              \
    X(JUDGED_IO_WAIT, "I/O wait")            \
    X(JUDGED_LOST_TIME, "of lost time")      \
    X(JUDGED_WITH_WAITING, "with waiting")   \
    X(JUDGED_WITH_TRANSFER, "with transfer") \
    X(JUDGED_WORK, "of the work")            \
    X(JUDGED_REST, "of the rest")            \
    X(JUDGED_GAIN, "to gain")                \
    X(JUDGED_UTILISATION, "utilisation")
enum judged_by {
    JUDGED_SHARE = 0, /* of step time */
#define X(id, words) id,
    JUDGED_BY(X)
#undef X
};
/** judged_by_words - "" of JUDGED_SHARE. */
const char *judged_by_words(enum judged_by b);

/* The quantity that the rule compared with a threshold, if it is not the class's share of step time. */
struct judged {
    enum judged_by by;
    double ratio;          /* not finite: not known */
    const char *threshold; /* name of the threshold */
    double threshold_ratio;
    struct interval interval; /* of ratio; has 0: none is known */
};

enum { RULED_MAX = 2 };
/* One line of the ruled-in-or-out table of a run. */
struct class_result {
    enum cause_class cls;
    enum verdict verdict;
    int has_share;
    double share_ratio;             /* of step time */
    struct interval share_interval; /* of share_ratio, by bootstrap over steps */
    int64_t share_ns;               /* per step */
    int64_t caused_ns;              /* part of it: waiting of other ranks for those that load or write */
    struct phrase ruled[RULED_MAX]; /* how it is judged */
    const char *threshold_name;     /* key in docs/thresholds, "" none */
    double threshold_ratio;
    struct judged judged;
    int64_t
        gain_ns; /* step time saved if the cause were removed (critical path); gain_basis_of says how sure that is */
    double utilization_ratio;      /* of CLASS_HOST by traces: over all of the steps, as its text says; 0 = not known */
    struct reason why;             /* of VERDICT_NA */
    struct phrase found[SAID_MAX]; /* what was found, or, of VERDICT_NA, how it can be judged */
    const char *rule, *text;       /* ruled, and what was found or why in words; after rules */
    int is_unrecorded;             /* it was not recorded anywhere, so it may be in what is called compute */
};
/** judged_of - the quantity that decided about a class: `judged`, or else its share, with JUDGED_SHARE as `by`.
 *  Sentences about a threshold, and their confidence, are about this quantity.  threshold_ratio < 0: it is judged by no
 *  threshold */
struct judged judged_of(const struct class_result *c);

enum confidence { CONFIDENCE_LOW = 0, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };
const char *confidence_word(enum confidence c);

/* What kept the ranks from their cores. X(id, key in report.json, as that of the note on it) */
#define SHARED_KINDS(X)                        \
    X(SHARED_OVERSUBSCRIBED, "oversubscribed") \
    X(SHARED_THROTTLED, "throttled")           \
    X(SHARED_STEAL, "steal")                   \
    X(SHARED_OWN_THREADS, "own-threads")       \
    X(SHARED_BOUND, "bound")                   \
    X(SHARED_RUN_DELAY, "run-delay")
enum shared_kind {
    SHARED_NONE = 0,
#define X(id, key) id,
    SHARED_KINDS(X)
#undef X
        N_SHARED_KINDS
};
/** shared_key - in report.json; "" of SHARED_NONE. */
const char *shared_key(enum shared_kind k);

/* Ranks that share or are kept from their cores: verdicts on the run are unreliable. */
struct shared {
    enum shared_kind kind;
    struct phrase said;   /* a headline: "4 ranks take turns on 2 cores"; PHRASE_NONE = none seen */
    const char *because;  /* the same in words */
    double run_ratio;     /* share of the run in which ranks were held back; < 0: it is not measured as time */
    double awaited_ratio; /* largest share of its steps in which a rank was ready and had no core, known of any run;
                              0 = of none, or not measured */
    double cores;         /* number of cores that all ranks together could use; 0: one each */
    int is_equal; /* by a CPU quota, equal on all nodes and at all node counts, so that ratios between them hold */
    int has_neighbours;   /* other runs waited although they had enough cores, so something else uses them too */
    double machine_cores; /* number that the ranks' processes may use and a monitor watched; 0 = it is unknown how busy
                             they were */
    double others_cores;  /* mean number of them that other programs used */
    int64_t alone_ns;     /* time of a step if each rank had a core to itself; 0 = not estimated */
    int is_by_processor;  /* alone_ns is from processor time, because the shortest times contain waits for a core */
    int is_most;          /* the gain of shared cores is most_ratio of a step, which is an upper bound */
    double most_ratio;    /* upper bound of the share of a step that a core per thread saves; 0 = not known */
    struct phrase
        own[NOTE_PHRASES]; /* the ranks waited for their own threads, not for other programs; none = they did not */
    int is_of_several;     /* and it is unknown whether the process that makes the steps waited, or another one */
    int is_each_other;     /* and other programs took almost nothing */
};

/* Processor time that the ranks used in their steps, by their monitors. */
struct processor {
    int has;           /* 0: it was not measured over the steps, or GPUs worked too */
    double used_cores; /* of all processes of a rank; mean over ranks */
    double own_ready;  /* the same plus waiting for a core, only of the process that makes the steps; < 0 not known */
    int is_of_several; /* a rank has several processes, and which of them used it is not known */
    double of_work;    /* used, or waited for a core, over the time in compute, copies and overhead: of the rank with
                          the least communication */
    int rank;          /* the rank with the least communication */
    int is_waiting;    /* that is below processor_used: the rank mostly waits then */
};

/* Loading that waits, as for a slow disk, keeps no core busy. */
struct loading {
    int is_waiting;    /* used_ratio is known and below processor_used */
    int is_of_workers; /* used_ratio is that of a mean worker of PyTorch's loader: time it ran or waited for a core,
                          over step time; of the rank where it is largest */
    double
        used_ratio; /* else: processor time of all processes of the ranks, and waiting for a core, over loading time */
    double workers_cores; /* of a mean rank: cores' worth of time in which its loader's workers ran or waited for a
                             core; 0 = they mostly wait, or that is not known */
    int64_t n_workers;    /* of each rank, that load beside the rest of a step as fast as it goes; 0 = not known */
};

struct straggler {
    int has;             /* one rank is named: it is mostly last, and the others pay for it */
    int is_mostly_last;  /* it comes last clearly more often than its share, whatever that costs */
    int rank;            /* the one that came last most often; only if n_matched > 0, like the following */
    double wins_ratio;   /* share of collectives in which it came last; is_of_steps: of steps */
    int is_of_steps;     /* each step counted as one exchange: the rank with the least communication in it came last
                          * (docs/metrics.md#straggler) */
    double wait_ratio;   /* share of all waiting that it caused */
    double caused_ratio; /* waiting it caused, share of step time */
    int64_t caused_ns;   /* mean per step and rank that waited for it */
    int64_t as_fast_ns;  /* time that a step saves if it computes as fast as the next rank; 0 = it has more samples */
};

/* Ranges of a name that is no known phase, which explain most of some unnamed time (docs/metrics.md#phases). */
struct own_range {
    const char *name;  /* NULL: no name does */
    int64_t ns;        /* per step: of the late rank, or mean over ranks */
    int64_t others_ns; /* of the late rank's range: mean over the other ranks */
    double wait_ratio; /* the same: share of all waiting that it causes */
};

/* A rank that works between two collectives while the others have next to no work there: a serial part. */
struct alone {
    int has;
    int rank;
    int64_t own_ns, others_ns; /* work before those collectives: of that rank, and the most of another one; of a step,
                                  or of a whole run without steps */
    const char *call;          /* without steps: the one in which most of the waiting is; else NULL */
    int64_t call_ns;           /* the part of own_ns before that one */
};

/* Gradient accumulation: the micro-batches of an optimiser step. */
struct accumulated {
    int64_t micro_batches; /* 1 = there is none; 0 = not known */
    int64_t steps_between; /* number of steps of an optimiser step, if steps are marked around micro-batches; else 0 */
    const char *source;    /* "program.json", "backward passes in native traces"; "" = not known */
    struct reason why;     /* when micro_batches is 0 */
};

/* Where the ceilings of a roofline are from. X(id, word, in report.json too) */
#define PEAKS(X)                      \
    X(PEAKS_CALIBRATED, "calibrated") \
    X(PEAKS_STATED, "stated")
enum peaks {
    PEAKS_NONE = 0,
#define X(id, word) id,
    PEAKS(X)
#undef X
};
/** peaks_word - "" of PEAKS_NONE. */
const char *peaks_word(enum peaks p);

/* The compute of a step compared with the peak rates of the ranks' cores or GPUs, all ranks together. The counts come
 * from the program, the ceilings from a calibration or from labels. */
struct roofline {
    int has;
    struct reason why;  /* when !has; REASON_NONE without steps */
    enum peaks peaks;   /* where the ceilings are from */
    double flop, bytes; /* per step */
    double peak_gflop_per_s, peak_gb_per_s;
    double intensity, ridge; /* FLOP per byte: of the program; where both ceilings meet */
    double attainable_gflop_per_s;
    int is_of_step; /* rates are over whole steps, because ranks took turns on cores; else over the compute phases */
    double gflop_per_s, gb_per_s; /* achieved in that wall time */
    /* Shares of the peaks; above 1 by what a measurement may be off (thresholds.traffic_error). Each is valid only if
     * its reason is REASON_NONE. */
    double of_attainable_ratio, mfu_ratio; /* mfu: FLOP of a step / (step time * peak); also without `has`; 0 = n/a */
    struct reason of_attainable_why, mfu_why;
    enum roof_bound bound; /* step times cannot tell that it is latency */
};

/* Memory traffic by counters of the hardware, if the program does not report it. Runs without steps have it too. */
struct counted_memory {
    struct reason why;     /* REASON_NONE: it is known. The rates are also known if a rate disagrees with its peak */
    int is_of_controllers; /* traffic of the memory controllers; else cache misses, a lower bound */
    enum peaks peaks;
    double gb_per_s, peak_gb_per_s; /* of all ranks together; the peak 0 = not known */
    double used_ratio;              /* share of the peak, at most 1. Of misses: of the part that other programs left */
};

/* What the cores did in one phase, all ranks together, in the time between readings of the monitor that both lie in the
 * phase. The counters are those of the rank's processes with all their threads. -1 = not counted throughout. */
struct phase_counters {
    const char *name; /* "" = all phases */
    int64_t ns;       /* summed over the ranks */
    double instructions_per_cycle;
    double stalled_ratio;   /* share of the cycles in which the core waited for data or units */
    double missed_gb_per_s; /* as missed_gb_per_s, of one rank in the mean */
};
struct counted_phases {
    int has;                       /* cycles were counted */
    struct phase_counters whole;   /* from the first step's start to the last one's end, without steps the run */
    struct phase_counters *phases; /* in order of appearance. shape (n) */
    int n;
    struct reason why; /* n is 0 */
};
/* The state of a GPU's memory at its peak. X(id, word in report.json and on the page) */
#define MEMORY_STATES(X)                  \
    X(MEMORY_UNKNOWN, "")                 \
    X(MEMORY_ROOM, "room")                \
    X(MEMORY_FINE, "fine")                \
    X(MEMORY_BY_DESIGN, "full by design") \
    X(MEMORY_GROWS, "grows")              \
    X(MEMORY_NEARLY_FULL, "nearly full")  \
    X(MEMORY_RISK, "may run out")
enum memory_state {
#define X(id, word) id,
    MEMORY_STATES(X)
#undef X
        N_MEMORY_STATES
};
const char *memory_state_word(enum memory_state s);

/* X(id, word in report.json and on the page) */
#define MEMORY_SOURCES(X)                                          \
    X(MEMORY_BY_MONITOR, "monitor")                                \
    X(MEMORY_BY_ALLOCATOR, "allocator")     /* of the framework */ \
    X(MEMORY_BY_ALLOCATIONS, "allocations") /* that a trace holds */
enum memory_source {
#define X(id, word) id,
    MEMORY_SOURCES(X)
#undef X
};
const char *memory_source_word(enum memory_source s);

struct gpu_memory {
    int node, gpu;          /* node -1 = the file is a trace's */
    const char *file, *who; /* file: "" = a monitor's; who: in prose */
    enum memory_source source;
    int64_t n;           /* samples or events */
    int64_t used_bytes;  /* at the peak */
    int64_t total_bytes; /* -1 = not known */
    int is_least;        /* more may have been in use */
    int has_share;
    double share_ratio; /* used / total */
    int grows;          /* over the steps; -1 = not known */
    struct reason grows_why;
    enum memory_state state;
    struct reason why; /* of MEMORY_UNKNOWN */
};

/* A change that can be tried with one command: render/findings/rules/trials.h. In the order in which they are advised.
 */
enum trial_kind { TRIAL_OVERLAP = 0, TRIAL_BF16, TRIAL_LINK, N_TRIALS };
struct trial {
    enum trial_kind kind;
    const char *command; /* for a shell in the folder of the sources; "" = there is none */
    struct reason why;   /* why there is none */
    const char *key;     /* the trial_key of a run that this command makes; "" without one */
    int has_forecast;
    struct reason forecast_why; /* when !has_forecast */
    int64_t step_ns;            /* forecast of the median step */
    int is_over_half;           /* it halves the transfer, and saves more than half of what is exposed */
    int is_less_spent;          /* more than a fifth of what it saves is processor time of messages */
};

/* What to do about a run: sentences. is_first: they follow "Do first: ", if no heading says so. */
struct to_do {
    const char *text; /* "" or NULL = nothing */
    int is_first;
    const char *expected; /* its expected effect; "" or NULL = nothing, as in the next three */
    const char *check;    /* how to see that it helped */
    const char *result;   /* what is unknown, or what it is about */
    const char *also;     /* what else to do */
};

/* What the steps of a run are read from. X(id, words, in report.json too) */
#define STEPS_SOURCES(X)                            \
    X(STEPS_OF_TRACES, "native traces")             \
    X(STEPS_OF_CSV, "steps.csv")                    \
    X(STEPS_OF_BOTH, "native traces and steps.csv") \
    X(STEPS_OF_OTHER_TOOL, "traces of another tool")
enum steps_source {
    STEPS_OF_NOTHING = 0,
#define X(id, words) id,
    STEPS_SOURCES(X)
#undef X
};
/** steps_source_words - "" of STEPS_OF_NOTHING. */
const char *steps_source_words(enum steps_source s);

/* The source of the number of processed samples. X(id, words, in report.json too) */
#define THROUGHPUT_SOURCES(X)                \
    X(THROUGHPUT_OF_STEPS, "steps")          \
    X(THROUGHPUT_OF_PROGRAM, "program.json") \
    X(THROUGHPUT_OF_LABEL, "label")          \
    X(THROUGHPUT_OF_METRICS, "metrics.csv")  \
    X(THROUGHPUT_OF_SUMMARY, "") /* the summary of a run has a name */
enum throughput_source {
    THROUGHPUT_OF_NOTHING = 0,
#define X(id, words) id,
    THROUGHPUT_SOURCES(X)
#undef X
};

enum { JUDGED_MAX = 9 };
enum { RUN_MAX_NOTES = 16 };
struct run_note {
    struct phrase said[NOTE_PHRASES];
    const char *text;     /* the same after its subject: "GPU 0: ..." */
    int is_memory_scarce; /* it says that the memory of a GPU was nearly full, or grew */
};

struct run_result {
    const struct run *run;
    const char *slug;  /* unique, [a-z0-9.-]: "4node-20310425-101502-4f2a"; its page is runs/<slug>/index.html */
    const char *label; /* "4 nodes", with " (run 2 of 3)" among repetitions; "Run r1" of unknown node counts */
    const char *name;  /* for an unknown node count, what follows "Run" in the label; else "" */
    int n_nodes;       /* from the archive or --nodes; 0 = unknown */
    int n_ranks;       /* with steps, else of the metadata; 0 = unknown */
    int series;        /* index into report.series, -1 none */

    int has_steps;
    struct reason steps_why; /* when !has_steps */
    enum steps_source steps_source;
    int64_t n_steps;                        /* complete on all ranks */
    int64_t n_partial_steps;                /* seen on some ranks only; left out */
    int64_t n_warmup, warmup_ns;            /* steps left out at the start, and their summed time */
    const char *warmup_because;             /* how many were left out and why, as a sentence; also when none were */
    int64_t n_counted;                      /* n_steps - n_warmup */
    int64_t *step_number;                   /* shape (n_counted) */
    int64_t *step_ns;                       /* shape (n_counted): mean over ranks */
    int64_t (*step_part_ns)[N_PARTS];       /* shape (n_counted)(N_PARTS): sums over ranks */
    int64_t (*step_gain_ns)[N_CLASSES];     /* shape (n_counted)(N_CLASSES): gain_ns of each step; 0 for host, memory,
                                               compute and shared cores, because it is unknown for single steps */
    double (*step_cause_ns)[N_CATEGORIES];  /* shape (n_counted)(N_CATEGORIES): waiting at collectives by what the last
                                               rank was doing, summed over ranks; not scaled as wait_cause_ns is */
    struct spread step;                     /* of step_ns; the run's step time */
    struct interval step_interval;          /* ns */
    int64_t part_ns[N_PARTS];               /* mean per step over ranks; sums to step.mean_ns */
    struct interval part_interval[N_PARTS]; /* share of step time, ratio */
    int64_t comm_ns;                        /* transfer + wait */
    int64_t collective_ns;                  /* the transfer in collectives, without messages between two ranks */
    struct interval comm_interval;          /* share of step time, ratio */
    struct interval cause_interval[N_CLASSES]; /* the same for data loading, I/O and imbalance as they are judged: with
                                                  the waiting they cause and the calls on files; for no other class */
    int64_t hidden_comm_ns; /* communication under way beside other work, mean per step. It is no saving, because it
                               includes waiting for other ranks and time taken from the work */
    int is_hidden_unknown;  /* of a rank: hidden_comm_ns lacks lost events */
    int64_t wait_cause_ns[N_CATEGORIES]; /* PART_WAIT by what the last rank was doing; CAT_COMM = time outside
                                            steps (validation, logging); sums to part_ns[PART_WAIT] */
    int64_t uneven_wait_ns;              /* waiting that unequal work explains; only if cores were shared */
    int64_t work_transfer_ns;            /* shortest transfer of a step, mean over ranks */
    int64_t gain_ns[N_CLASSES];          /* replay: step time saved without that cause; 0 if the class has none */
    int64_t n_matched; /* collectives of the counted steps that all ranks made, so that the last rank is known; 0 =
                          there are none, and n_last and caused_wait_ns of the ranks are n/a */
    struct rank_result *ranks; /* shape (n_rank_results), ascending rank */
    int n_rank_results;
    struct spread skew; /* estimated, of the counted steps' collectives: first to last arrival; n 0 = n/a */
    struct reason skew_why;
    struct phase_result *phases; /* in order of appearance */
    int n_phases;
    struct straggler straggler;
    struct own_range late_range;    /* why the straggler is late, if most of the waiting is for its unnamed time */
    struct own_range unnamed_range; /* what most of the unnamed time of all ranks is */
    struct alone alone;
    struct processor processor;
    struct loading loading;
    double late_used_ratio; /* where the rank that others wait for waits itself: processor time, and waiting for a
                               core, over its work, or its time outside of MPI; 0 = it does not, or not known */
    int64_t late_written; /* bytes that the straggler, or the one late rank without steps, wrote beyond any other rank,
                           if that may be why it is late; 0 = no */
    int64_t late_file_ns; /* without steps: calls on files, which make that rank late; 0 = they do not, or not known */
    double straggler_x;   /* slowest rank's mean step / fastest's; 0 = n/a */
    struct pop pop;
    struct reason pop_why; /* when !pop.has; REASON_NONE without steps */
    struct pop_host pop_host;
    struct reason pop_host_why; /* the same of pop_host */
    double coverage_ratio;      /* step time / wall time from first to last step, mean over ranks; 0 = n/a */
    struct accumulated accumulation;
    int64_t validation_ns, io_outside_ns, wall_ns; /* mean over ranks, whole run */
    double bytes_per_step;                         /* per rank into collectives; 0 = not recorded */
    int64_t collectives_per_step;                  /* per rank, a mean */
    double algbw_gb_s, busbw_gb_s;                 /* of the transfer; 0 = n/a (nccl-tests' definitions); a lower bound
                                                      where communication was hidden */

    int has_throughput;
    double throughput; /* samples per second, all ranks */
    enum throughput_source throughput_source;
    struct reason throughput_why;

    int has_accuracy;                       /* metrics.csv has losses */
    struct class_result classes[N_CLASSES]; /* index = enum cause_class */
    int claims[N_CLASSES], n_claims; /* indices into report.claims, by predicted gain; the first two are the verdict */
    struct said said; /* the finding; headline.id is PHRASE_NONE if the sentence is composed in another way */
    struct phrase judged[JUDGED_MAX]; /* what was ruled out, could not be judged, or would limit next */
    const char *headline;             /* one sentence for this run */
    int is_headline_placed;           /* it begins with where it holds: "At 4 nodes", "In this run" */
    const char *support;
    const char *judged_text;    /* sentences of judged; "" none */
    enum confidence confidence; /* in the headline, and why it is not higher; after narrate */
    const char *confidence_because;
    const char *unnamed_action; /* how to name the unnamed part of a step, if that is the first thing to do: a sentence
                                   without its full stop; "" if not */
    const char *steps_action;   /* how the next run can have steps: a sentence; after narrate, as the next two */
    struct to_do stepless_action;  /* for runs without steps, if no claim says more */
    struct advised advised;        /* which advice that is; ADVICE_NONE = with steps */
    const char *stepless_advice;   /* the same for this run's page, and further actions; "" with steps */
    struct trial trials[N_TRIALS]; /* for runs of dcrnn-train on several ranks: the changes it does not use yet */
    int n_trials;
    const char *command_again; /* the command that repeats the run, for a shell in the folder of the sources; "" none */
    const char *trial_key;     /* the same for runs that were started by equal commands; "" = not known */
    struct shared shared;      /* what kept the ranks from their cores */
    struct run_note *notes;    /* further observations: run_add_note */
    int n_notes;
    struct roofline roofline;
    struct counted_memory counted;
    struct counted_phases counters;
    struct gpu_memory *memory; /* of GPUs, monitors' first */
    int n_memory;
};

/** counted_memory_key - "memory_controllers" or "cache_misses", as in report.json. */
const char *counted_memory_key(const struct counted_memory *m);
/** throughput_source_words - in report.json and on pages; "" of THROUGHPUT_OF_NOTHING. */
const char *throughput_source_words(const struct run_result *r);

#endif
