/* report.h - everything the report says, computed once. analyse_* fill the numbers, narrate_* the sentences and the
 * documents; render/site and render/draw only read. No number may appear on the site that is not in here.
 *
 * Rules that hold throughout:
 *  - times are integer ns; parts of a whole sum to it exactly (largest remainder where a mean was rounded);
 *  - a value that could not be measured has its has_... flag 0 (or n == 0) and a `because` sentence, never 0;
 *  - ratios are 0..1, *_percent appears only in text; text is made with render/narrate/format.h and nowhere else, so
 *    that the same number is printed the same everywhere;
 *  - runs are ordered by node count, then run id; everything else follows from that.
 * Text and arrays belong to the report's arena and live until report_free; runs are borrowed from main(). */
#ifndef RENDER_ANALYSE_REPORT_H
#define RENDER_ANALYSE_REPORT_H

#include "render/model/run.h"
#include "render/analyse/thresholds.h"

#include <stdint.h>

/* The parts of a mean step, in the order in which charts stack them: communication is split into the transfer itself
 * and the waiting for the rank that arrives last (docs/metrics.md). X(id, key in files, name in prose) */
#define REPORT_PARTS(X)                                           \
    X(PART_COMPUTE, "compute", "compute")                         \
    X(PART_TRANSFER, "comm_transfer", "communication: transfer")  \
    X(PART_WAIT, "comm_wait", "communication: waiting for ranks") \
    X(PART_DATA, "data", "data loading")                          \
    X(PART_IO, "io", "I/O")                                       \
    X(PART_COPY, "copy", "copies")                                \
    X(PART_OTHER, "other", "overhead")
enum part {
#define X(id, key, name) id,
    REPORT_PARTS(X)
#undef X
        N_PARTS
};
const char *part_key(enum part p);
const char *part_name(enum part p);

/* A 95 % percentile-bootstrap interval; has == 0: too few steps. */
struct interval {
    int has;
    double lo, hi;
};

/* Step times (or any series of ns). n == 0: nothing measured. */
struct spread {
    int64_t n;
    int64_t mean_ns, median_ns, p95_ns, min_ns, max_ns;
    double cv_ratio; /* population standard deviation / mean; 0 when n < 2 */
};

/* POP efficiencies; useful time = time of the step outside communication (docs/metrics.md#pop). */
struct pop {
    int has;        /* 0: fewer than two ranks with steps, or what was useful is not known */
    int has_useful; /* the useful times are known: of one rank too */
    double parallel_ratio, load_balance_ratio, communication_ratio;
    double serialization_ratio, transfer_ratio; /* estimated from the split of collectives */
    int64_t useful_mean_ns, useful_max_ns;      /* per step, over ranks */
    int has_scaling;                            /* against the series' reference */
    double computation_scaling_ratio, global_ratio;
};

struct rank_result {
    int rank, node;
    struct spread step;
    int64_t part_ns[N_PARTS];      /* mean per counted step; sums to step.mean_ns */
    int64_t hidden_comm_ns;        /* mean per step */
    int64_t n_last;                /* collectives in which this rank arrived last */
    int64_t caused_wait_ns;        /* waiting of the others in those, summed over them, mean per step */
    int64_t work_ns[N_CATEGORIES]; /* per step when no neighbour disturbs (shortest); CAT_COMM 0 */
    int64_t samples;               /* of the counted steps; -1 = a step does not say */
};

/* The ranges of one name and category: what the parts are made of (docs/metrics.md#phases). */
struct phase_result {
    const char *name;
    enum category category;
    struct spread spread;           /* over counted steps, of the mean over ranks; 0 in steps without such a range */
    int64_t n_steps;                /* counted steps in which some rank had it */
    struct spread *ranks;           /* shape (n_rank_results), as run_result.ranks */
    int fastest_rank, slowest_rank; /* rank numbers by mean */
    int64_t fastest_ns, slowest_ns;
};

/* The classes of causes a report rules in or out. X(id, key, name in the table) */
#define REPORT_CLASSES(X)                                    \
    X(CLASS_SHARED, "shared", "Shared resources")            \
    X(CLASS_COMPUTE, "compute", "Compute")                   \
    X(CLASS_MEMORY, "memory", "Memory bandwidth")            \
    X(CLASS_COMMUNICATION, "communication", "Communication") \
    X(CLASS_IMBALANCE, "imbalance", "Load imbalance")        \
    X(CLASS_DATA, "data", "Data loading")                    \
    X(CLASS_IO, "io", "I/O")                                 \
    X(CLASS_COPY, "copy", "Host-to-device copies")           \
    X(CLASS_HOST, "host", "Host and kernel launch")          \
    X(CLASS_OVERHEAD, "overhead", "Unnamed step time")
enum cause_class {
#define X(id, key, name) id,
    REPORT_CLASSES(X)
#undef X
        N_CLASSES
};
const char *class_key(enum cause_class c);
const char *class_name(enum cause_class c);

enum verdict { VERDICT_NA = 0, VERDICT_FINE, VERDICT_WATCH, VERDICT_LIMITS };
/** verdict_word - "n/a", "fine", "watch", "limits". */
const char *verdict_word(enum verdict v);

/* One line of the ruled-in-or-out table of a run. */
struct class_result {
    enum cause_class cls;
    enum verdict verdict;
    int has_share;
    double share_ratio;             /* of step time */
    struct interval share_interval; /* bootstrap over steps */
    int64_t share_ns;               /* per step */
    int64_t caused_ns;              /* of it, waiting of other ranks for those that load or write */
    const char *rule;               /* "transfer > 20 % of step time" */
    const char *threshold_name;     /* key in docs/thresholds, "" none */
    double threshold_ratio;
    int64_t gain_ns;  /* step time saved at most if the cause were removed (critical path) */
    const char *text; /* one line: what was found, or "n/a because ..." */
};

enum confidence { CONFIDENCE_LOW = 0, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };
const char *confidence_word(enum confidence c);

/* What to do about a class. `ours` names exact options of the program at hand when we know it, else "". */
struct action {
    const char *ours, *generic;
};

struct number {
    const char *id; /* "run.4node-a.part.comm_transfer" as in report.json */
    const char *unit;
    double value;
};

/* No sentence without its numbers. */
struct claim {
    const char *id; /* stable: "4node-<run id>.communication" or "series0.limit" */
    enum cause_class cls;
    int run;    /* index into report.runs, -1 = about a series */
    int series; /* index into report.series, -1 = about one run */
    const char *sentence;
    const char *support; /* further sentences, "" none */
    struct number *numbers;
    int n_numbers;
    double threshold_ratio; /* < 0 none */
    enum confidence confidence;
    const char *confidence_because;
    const char *evidence; /* link from the site's root: "runs/<slug>/index.html#breakdown", "index.html#scaling" */
    struct action action;
    int has_gain;          /* 0: what removing the cause would bring cannot be told */
    int64_t gain_ns;       /* upper bound, per step */
    int64_t step_ns;       /* the step time the gain refers to */
    const char *gain_text; /* "at most 29 ms of 184 ms a step (1.19x)" */
};

/* Ranks that share or are kept from their cores: verdicts on the run are unreliable. */
struct shared {
    const char
        *id; /* "oversubscribed", "throttled", "steal", "own-threads", "bound", "run-delay" as the note's; "" = none */
    const char *because;   /* "4 ranks share 2 cores"; "" = none seen */
    double run_ratio;      /* of the run in which ranks were held back; < 0: it is not a matter of time */
    const char *threshold; /* name of what it passed, "" none */
    double cores;          /* that all ranks together could use; 0: one each */
    int has_neighbours;    /* other runs waited though they had cores enough: something else uses them too */
    double
        machine_cores;   /* that the ranks' processes may use and a monitor watched; 0 = not known how busy they were */
    double others_cores; /* of them, what other programs took in the mean */
    int64_t alone_ns;    /* a step of ranks with cores of their own and nothing else on them; 0 = not estimated */
    double most_ratio;   /* of a step, what cores for all of its ranks' threads can save at most; 0 = not known */
    const char *own;   /* not for other programs, but for their own threads the ranks waited: a sentence; NULL = not */
    int is_each_other; /* and other programs took next to nothing */
};

struct straggler {
    int has; /* one rank is named */
    int rank;
    double wins_ratio;   /* of collectives in which it came last */
    double caused_ratio; /* waiting it caused, share of step time */
    int64_t caused_ns;   /* mean per step and rank */
};

/* Gradient accumulation: the micro-batches of an optimiser step. */
struct accumulated {
    int64_t micro_batches; /* 1 = there is none; 0 = not known */
    int64_t steps_between; /* steps are marked around micro-batches: so many make an optimiser step; 0 = they are not */
    const char *source;    /* "program.json", "backward passes in native traces"; "" = not known */
    const char *because;   /* n/a because ... when micro_batches is 0 */
};

struct run_result {
    const struct run *run;
    const char *slug;  /* unique, [a-z0-9.-]: "4node-20310425-101502-4f2a"; its page is runs/<slug>/index.html */
    const char *label; /* "4 nodes", with " (run 2 of 3)" among repetitions */
    int n_nodes;       /* from the archive or --nodes; 0 = unknown */
    int n_ranks;       /* with steps, else of the metadata; 0 = unknown */
    int series;        /* index into report.series, -1 none */

    int has_steps;
    const char *steps_because; /* n/a because ... when !has_steps */
    const char *steps_source;  /* "native traces", "steps.csv", "traces of another tool", ... or "" */
    int64_t n_steps;           /* complete on all ranks */
    int64_t n_partial_steps;   /* seen on some ranks only; left out */
    int64_t n_warmup;
    const char *warmup_because;             /* how many were excluded and why; also when none */
    int64_t n_counted;                      /* n_steps - n_warmup */
    int64_t *step_number;                   /* shape (n_counted) */
    int64_t *step_ns;                       /* shape (n_counted): mean over ranks */
    int64_t (*step_part_ns)[N_PARTS];       /* shape (n_counted)(N_PARTS): sums over ranks */
    int64_t (*step_gain_ns)[N_CLASSES];     /* shape (n_counted)(N_CLASSES): gain_ns of each step; 0 of host, memory,
                                               compute and shared cores, of which it is not known step by step */
    struct spread step;                     /* of step_ns; the run's step time */
    struct interval step_interval;          /* ns */
    int64_t part_ns[N_PARTS];               /* mean per step over ranks; sums to step.mean_ns */
    struct interval part_interval[N_PARTS]; /* share of step time, ratio */
    int64_t comm_ns;                        /* transfer + wait */
    struct interval comm_interval;          /* share of step time, ratio */
    int64_t hidden_comm_ns;                 /* communication under way beside other work, mean per step; no saving:
                                               it holds waiting for other ranks, and what it took from the work */
    int64_t wait_cause_ns[N_CATEGORIES];    /* PART_WAIT by what the last rank was doing; CAT_COMM = time outside
                                               steps (validation, logging); sums to part_ns[PART_WAIT] */
    int64_t uneven_wait_ns; /* of the waiting, what unequal work of the ranks explains; only where cores were shared */
    int64_t work_transfer_ns;   /* shortest transfer of a step, mean over ranks */
    int64_t gain_ns[N_CLASSES]; /* replay: step time saved at most without that cause; 0 where the class has none */
    struct rank_result *ranks;  /* shape (n_rank_results), ascending rank */
    int n_rank_results;
    struct phase_result *phases; /* in order of appearance */
    int n_phases;
    struct straggler straggler;
    double straggler_x; /* slowest rank's mean step / fastest's; 0 = n/a */
    struct pop pop;
    const char *pop_because; /* n/a because ... when !pop.has */
    double coverage_ratio;   /* step time / wall time from first to last step, mean over ranks; 0 = n/a */
    struct accumulated accumulation;
    int64_t validation_ns, io_outside_ns, wall_ns; /* mean over ranks, whole run */
    double bytes_per_step;                         /* per rank into collectives; 0 = not recorded */
    double algbw_gb_s, busbw_gb_s;                 /* of the transfer; 0 = n/a (nccl-tests' definitions); a lower bound
                                                      where communication was hidden */

    int has_throughput;
    double throughput;             /* samples per second, all ranks */
    const char *throughput_source; /* "steps", "program.json" or "metrics.csv" */
    const char *throughput_because;

    int has_accuracy;                       /* metrics.csv has losses */
    struct class_result classes[N_CLASSES]; /* index = enum cause_class */
    int claims[N_CLASSES], n_claims; /* indices into report.claims, by predicted gain; the first two are the verdict */
    const char *headline;            /* one sentence for this run */
    const char *support;
    enum confidence confidence; /* in the headline, and why no more; after narrate */
    const char *confidence_because;
    const char *unnamed_action; /* how the part of a step that has no name gets one, where that is the first thing to
                                   do: a sentence without its full stop; "" it is not */
    struct shared shared;       /* what kept the ranks from their cores */
    const char **notes;         /* further findings, one sentence each */
    int n_notes;
};

struct series_point {
    int n_nodes, n_ranks;
    int *runs; /* indices into report.runs: the repetitions */
    int n_runs;
    int *left_out, n_left_out;     /* incomplete runs beside complete ones: in none of the numbers */
    struct spread step;            /* over the counted steps of all repetitions */
    struct interval step_interval; /* ns */
    int64_t part_ns[N_PARTS];      /* sums to step.mean_ns */
    int has_throughput;
    double throughput;
    double speedup, efficiency; /* against point 0; 0 = n/a */
    struct interval speedup_interval, efficiency_interval;
    const char *unreliable; /* why these are: cores were shared here or at the reference; "" = they were not */
    double compute_speedup; /* compute time per step of the reference / here, by strong or weak; 0 = n/a */
    struct pop pop;
};

/* What a loss is lost to: the parts, with the waiting given to what the rank that came last was doing. Sums to the
 * loss. X(id, key) */
#define LOSS_CLASSES(X)                    \
    X(LOST_COMPUTE, "compute")             \
    X(LOST_IMBALANCE, "imbalance")         \
    X(LOST_COMMUNICATION, "communication") \
    X(LOST_COPY, "copy")                   \
    X(LOST_DATA, "data")                   \
    X(LOST_IO, "io")                       \
    X(LOST_HOST, "host")                   \
    X(LOST_OTHER, "other")
enum loss_class {
#define X(id, key) id,
    LOSS_CLASSES(X)
#undef X
        N_LOSS_CLASSES
};

/* The time lost between two points: step time here minus what perfect scaling from `from` would give. */
struct series_loss {
    int from, to;                         /* indices of points */
    int64_t ideal_ns, actual_ns, loss_ns; /* loss = actual - ideal, may be negative */
    int64_t part_ns[N_PARTS];             /* sums to loss_ns exactly */
    int64_t class_ns[N_LOSS_CLASSES];     /* the same */
    int has_host;                         /* 0: no GPU traces at both points; host time is in "other" */
    int largest;                          /* enum part with the largest loss */
};

/* A law of scaling fitted to the points of a series. */
struct law {
    const char *id, *name; /* "amdahl", "Amdahl's law" */
    int has;
    const char *because; /* n/a because ... when !has */
    struct number parameters[3];
    int n_parameters;
    double residual_ratio; /* largest |fitted - measured| / measured */
};
/* Not measured: what the law says of a node count that was not run. */
struct extrapolation {
    int n_nodes;
    double speedup, efficiency;
    struct interval speedup_interval; /* 95 % prediction interval */
};
enum { SERIES_MAX_LAWS = 4, SERIES_AHEAD = 2 };

enum scaling_kind { SCALING_NONE = 0 /* one node count */, SCALING_STRONG, SCALING_WEAK, SCALING_UNKNOWN };
const char *scaling_word(enum scaling_kind k);

struct series {
    const char *label; /* "DCRNN, 8 sensors, fp32, 1 rank per node" */
    enum scaling_kind kind;
    const char *kind_because;    /* how strong or weak was detected */
    struct series_point *points; /* ascending node count */
    int n_points;
    struct series_loss *losses; /* consecutive points, then first to last when there are more than two */
    int n_losses;
    const char *losses_because; /* n/a because ... when n_losses is 0 */
    struct law *laws;
    int n_laws;
    struct extrapolation ahead[SERIES_AHEAD];
    int n_ahead;
    const char *extrapolated_by;       /* id of a law, "" none */
    const char *extrapolation_because; /* why there is none, "" */
    int limit_claim;                   /* index into report.claims: what limits scaling; -1 none */
    const char *headline, *support, *scaling_text, *beyond_text; /* sentences; "" none */
};

/* Said at the top, before any verdict. */
enum note_kind { NOTE_CAVEAT /* lowers confidence */, NOTE_GAP /* something is missing: exit status 3 */ };
struct note {
    enum note_kind kind;
    int run;        /* -1 = all */
    const char *id; /* "emulated", "oversubscribed", "throttled", "steal", "few-steps", "incomplete", "dropped", ... */
    const char *text; /* one sentence, capital and full stop */
};

/* A finished file of the site, written as it is. */
struct document {
    const char *path;  /* from the site's root: "report.json", "runs/<slug>/profiling_report.txt" */
    const char *title; /* for lists of files */
    const char *bytes;
    size_t len;
};

/* An archive that the report rests on, as a citation needs it; "" where the archive does not say. */
struct source {
    const char *archive, *manifest_sha256;
    const char *files_sha256;       /* without a manifest */
    const char *unhashed;           /* why there is no sha256 */
    const char *sha256, *sha256_of; /* the one that is there, and of what: "manifest", "file", "list of its 3 files" */
    const char *program, *backend, *collector; /* with versions */
};

struct comparison;
struct report {
    struct dcr_arena arena;
    struct thresholds thresholds;
    const char *title; /* "DCRNN on 1, 2 and 4 nodes" */
    struct run_result *runs;
    int n_runs;
    struct series *series;
    int n_series;
    struct claim *claims;
    int n_claims;
    int first_series;   /* that the headline is about, or that its run is of */
    int first_claim;    /* what first_action is about; -1 none */
    struct note *notes; /* caveats first, then gaps */
    int n_notes, n_gaps;
    const char **none; /* files beside the evidence that are none, and nothing is missing without them; ascending */
    int n_none;
    struct comparison *comparisons; /* against --baseline: render/analyse/compare.h */
    int n_comparisons;
    const char *baseline;  /* what it was compared with, "" nothing */
    struct source *before; /* the archives of baseline */
    int n_before;
    size_t notes_cap, claims_cap; /* filling only */
    const char *unit;       /* what node counts count: "node", or "GPU" where runs on one machine scale over those */
    const char *node_label; /* "emulated nodes", "Slurm nodes on one kernel", ...; "" = separate machines */
    const char *headline, *support, *first_action, *how_sure; /* narrative.md order; support etc. may be "" */
    const char *next_action;    /* without a claim: first_action again, and what more there is to do */
    const char *steps_action;   /* how the steps of the run at the top can be known in the next one */
    const char *confidence;     /* of the headline, as how_sure says it: confidence_word(); "" or NULL not said */
    const char *verdict;        /* the two sentences that main prints */
    struct document *documents; /* made by narrate_documents; the publisher writes each and renders
                                   BOTTLENECK_ANALYSIS.md to HTML */
    int n_documents;
};

void report_free(struct report *rep);

#endif
