/* report.h - everything the report says, computed once. analyse_* fill the numbers, narrate_* the sentences and the
 * documents; render/site and render/draw only read. No number may appear on the site that is not in here.
 *
 * Rules that hold throughout:
 *  - times are integer ns; parts of a whole sum to it exactly (largest remainder where a mean was rounded);
 *  - a value that could not be measured has its has_... flag 0 (or n == 0) and a struct reason, never 0;
 *  - ratios are 0..1, *_percent appears only in text; text is made with render/say/format.h and nowhere else, so
 *    that the same number is printed the same everywhere;
 *  - runs are ordered by node count, then run id; everything else follows from that.
 * Text and arrays belong to the report's arena and live until report_free; runs are borrowed from main(). */
#ifndef RENDER_METRICS_REPORT_H
#define RENDER_METRICS_REPORT_H

#include "render/metrics/run_result.h"
#include "render/metrics/thresholds.h"
#include "render/model/advice.h"

#include <stdint.h>

/* What to do about a class: sentences, the last one without its full stop. `ours` names exact options of the program at
 * hand when we know it, else "". */
struct action {
    enum advice id; /* id of ours, else of generic; decisions compare it */
    const char *ours, *generic;
    int is_short_of_cores; /* it needs more than the recorded hosts have */
    /* "The time of ranks without a core should fall below 5 %."; "" if nothing measured can show it */
    const char *check;
};

struct number {
    const char *id; /* "run.4node-a.part.comm_transfer" as in report.json */
    const char *unit;
    double value;
};

/* The steps that a claim is about, and where its cause shows most. */
enum { GROUNDS_STEPS = 3 };
struct grounds {
    int64_t n_steps, first_step,
        last_step;             /* counted, numbered as in the evidence; n_steps 0: the claim is about the whole run */
    int64_t n_left_out;        /* warm-up, and steps that not all ranks have */
    int n_ranks;               /* 0 = unknown */
    int *ranks, n_shown_ranks; /* those with at least half of the largest value of a rank; ascending */
    int64_t steps[GROUNDS_STEPS]; /* in which the cause took most, largest first */
    int n_shown_steps;
};

/* A finding, always with its numbers. */
struct claim {
    const char *id; /* stable: "4node-<run id>.communication" or "series0.limit" */
    enum cause_class cls;
    int run;          /* index into report.runs, -1 = about a series */
    int series;       /* index into report.series, -1 = about one run */
    struct said said; /* the finding; headline.id is PHRASE_NONE if its sentence is composed in another way */
    const char *sentence;
    const char *support; /* further sentences, "" none */
    struct number *numbers;
    int n_numbers;
    double threshold_ratio;     /* < 0 none */
    const char *threshold_name; /* key in docs/thresholds, "" none */
    const char *rule;           /* how it was judged, if by more than one threshold: a clause; "" */
    struct grounds grounds;
    const char *window;       /* "39 steps (1 to 39) of 4 ranks" */
    const char *place;        /* "most on rank 2, in steps 7, 31 and 8"; "" if unknown */
    struct interval interval; /* of the share of step time in the sentence; has 0: there is none, or too few steps */
    const char *interval_of;  /* what that is a share of: "data loading with the waiting it causes"; "" */
    enum confidence confidence;
    const char *confidence_because;
    int is_interval_told; /* confidence_because gives the interval */
    const char *evidence; /* link from the site's root: "runs/<slug>/index.html#breakdown", "index.html#scaling" */
    struct action action;
    int is_measuring; /* its action is to measure on cores that nothing else uses, which does not make training faster
                       */
    int has_gain;     /* 0: the gain of removing the cause is not known */
    int64_t gain_ns;  /* per step */
    enum gain_basis gain_basis;
    int64_t step_ns; /* the step time the gain refers to */
    const char
        *gain_text; /* "about 29.0 ms of 184 ms a step (1.19x, estimate)", "up to 29.0 ms of 184 ms a step (1.19x)" */
    struct reason gain_why; /* when !has_gain */
    const char *expected;   /* expected effect of its command, shown instead of gain_text; "" without a forecast */
};

/* What the processor counted for the ranks of a point, per step and all ranks together. It covers their whole
 * processes, with their start and with polling while they wait. */
struct point_counters {
    int has;
    double instructions, cycles, task_clock_ns;
    int has_scaling;             /* against the series' reference; the product of all three is that of processor time */
    int has_instruction_scaling; /* it takes a known amount of work as well */
    double instruction_scaling_ratio, ipc_scaling_ratio, frequency_scaling_ratio;
    struct reason why; /* of the first of these that is missing */
};

struct series_point {
    int n_nodes, n_ranks;
    int *runs; /* indices into report.runs: the repetitions */
    int n_runs;
    int *left_out, n_left_out;     /* incomplete runs beside complete ones: no number includes them */
    struct spread step;            /* over the counted steps of all repetitions */
    struct interval step_interval; /* ns */
    int64_t part_ns[N_PARTS];      /* sums to step.mean_ns */
    int has_throughput;
    double throughput;
    double speedup, efficiency; /* against point 0; 0 = n/a */
    int64_t run_ns;             /* how long a rank's processes ran, mean; 0 = not known, or a run did not end well */
    int64_t mpi_ns;             /* part of it inside MPI calls, without MPI_Init and MPI_Finalize; -1 = not known */
    struct interval speedup_interval, efficiency_interval;
    struct phrase unreliable; /* why these numbers are unreliable: cores were shared here or at the reference; none =
                                 they were not */
    const char *unreliable_because; /* its text; NULL: they were not */
    double compute_speedup;         /* compute time per step of the reference / here, by strong or weak; 0 = n/a */
    struct pop pop;
    struct point_counters counters;
};

/* The classes of a loss: the parts, with the waiting given to what the last rank was doing. Sums to the loss. X(id,
 * key) */
#define LOSS_CLASSES(X)                    \
    X(LOST_COMPUTE, "compute")             \
    X(LOST_CORES, "cores")                 \
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
/** loss_class_key, loss_class_name, loss_class_what - in report.json; in tables; what counts as that class. The last
 * two are from say/names.def. */
const char *loss_class_key(enum loss_class c);
const char *loss_class_name(enum loss_class c);
const char *loss_class_what(enum loss_class c);

/* The time lost between two points: step time here minus what ideal scaling from `from` would give. */
struct series_loss {
    int from, to;                            /* indices of points */
    int64_t ideal_ns, actual_ns, loss_ns;    /* loss = actual - ideal, may be negative */
    int64_t part_ns[N_PARTS];                /* sums to loss_ns exactly */
    int64_t class_ns[N_LOSS_CLASSES];        /* the same */
    struct reason class_why[N_LOSS_CLASSES]; /* it was not recorded at either point, or it cannot be told apart: then
                                                class_ns is 0. REASON_NONE = it is known */
    int has_host;                            /* 0: no GPU traces at both points; host time is in "other" */
    int largest;                             /* enum part with the largest loss */
};

/* A named phase of the steps at every point of a series. At every point, and in every loss, the phases of a part and
 * its time in no phase sum to the part exactly. */
struct series_phase {
    const char *name; /* "" = time of the part that is in no named phase */
    enum part part;   /* PART_TRANSFER: communication, waiting included, because one range holds both */
    int64_t *ns;      /* mean of a step; shape (n_points) */
    int64_t *lost_ns; /* against ideal scaling; shape (n_losses) */
};

/* Time by name at every point: operators of the host, MPI calls, and collectives of GPUs, with their waiting.
 * X(id, key in report.json, words) */
#define SERIES_NAMES(X)                         \
    X(NAMES_OPERATORS, "operators", "operator") \
    X(NAMES_MPI, "mpi_calls", "MPI call")       \
    X(NAMES_COLLECTIVES, "collectives", "collective")
enum series_names {
#define X(id, key, words) id,
    SERIES_NAMES(X)
#undef X
        N_SERIES_NAMES
};
/** series_names_key, series_names_words - as in the table. */
const char *series_names_key(enum series_names of);
const char *series_names_words(enum series_names of);
/* At every point, and in every loss, the rows of a kind sum exactly to all that was recorded of it. */
enum { SERIES_NAMES_SHOWN = 5 };
struct series_name {
    enum series_names of;
    const char *name; /* "" = all names except those that lost most */
    int64_t *ns;      /* per step and rank, whole recording; shape (n_points) */
    int64_t *lost_ns; /* against ideal scaling; shape (n_losses) */
};

/* Laws of scaling. X(id, key in report.json) */
#define SCALING_LAWS(X)       \
    X(LAW_AMDAHL, "amdahl")   \
    X(LAW_USL, "usl")         \
    X(LAW_COMPUTE, "compute") \
    X(LAW_ALL_REDUCE, "all_reduce")
enum law_id {
    LAW_NONE = 0,
#define X(id, key) id,
    SCALING_LAWS(X)
#undef X
};
/** law_key - in report.json; "" of LAW_NONE. */
const char *law_key(enum law_id id);

/* The source of a law, or of the all-reduces by the network. X(id, words, in report.json too) */
#define LAW_SOURCES(X)                   \
    X(LAW_BY_FIT, "fit of these points") \
    X(LAW_BY_CALIBRATION, "calibration") \
    X(LAW_BY_NCCL_TESTS, "nccl-tests")
enum law_source {
    LAW_BY_NOTHING = 0,
#define X(id, words) id,
    LAW_SOURCES(X)
#undef X
};
/** law_source_words - "" of LAW_BY_NOTHING. */
const char *law_source_words(enum law_source s);

/* X(id, key, unit): in report.json as KEY_UNIT */
#define LAW_PARAMETERS(X)                    \
    X(LAW_SERIAL, "serial", "ratio")         \
    X(LAW_CONTENTION, "contention", "ratio") \
    X(LAW_COHERENCY, "coherency", "ratio")   \
    X(LAW_PEAK, "peak", "nodes")             \
    X(LAW_C, "c", "ns")                      \
    X(LAW_LATENCY, "latency", "ns")          \
    X(LAW_BANDWIDTH, "bandwidth", "ns")      \
    X(LAW_CALIBRATED, "calibrated", "ns")
enum law_parameter_id {
#define X(id, key, unit) id,
    LAW_PARAMETERS(X)
#undef X
};
/** law_parameter_key, law_parameter_unit - as in the table. */
const char *law_parameter_key(enum law_parameter_id id);
const char *law_parameter_unit(enum law_parameter_id id);
struct law_parameter {
    enum law_parameter_id id;
    double value;
};

/* A law of scaling fitted to the points of a series. */
struct law {
    enum law_id id;
    const char *name; /* "Amdahl's law" */
    int has;
    struct reason why;      /* when !has */
    enum law_source source; /* of the all-reduce as in struct all_reduce */
    struct law_parameter parameters[3];
    int n_parameters;
    double residual_ratio; /* largest |fitted - measured| / measured */
};
/* What the all-reduces of a step should take by measurements of the network alone, beside what they took. */
struct all_reduce_point {
    int n_nodes, n_ranks;
    int64_t predicted_ns, measured_ns; /* per step; measured: the transfer, 0 = not measured, or not run */
    int has_residual;
    double residual_ratio;    /* predicted / measured - 1 */
    double bytes, count;      /* as in struct all_reduce, at this point */
    int is_counted;           /* count was recorded at this point; 0: it is that of the largest point, else one */
    int is_count_of_last;     /* nothing was counted here: count is that of the largest point, which was counted */
    struct reason why;        /* when !has_residual; REASON_NONE for points that were not run */
    struct interval interval; /* ns: 95 % prediction interval, from the scatter of the network's measurements; for
                                 points that were not run, at least as wide as the law's error at those that were */
    struct interval measured_interval; /* ns: 95 % bootstrap of measured_ns over the steps, and the repetitions */
};
enum { SERIES_AHEAD = 2 };
/* A paragraph each. */
enum reduce_said { REDUCE_SAID_LAW, REDUCE_SAID_STEP, REDUCE_SAID_DOUBT, N_REDUCE_SAID };
enum { REDUCE_SAID_MAX = 3 };
struct all_reduce {
    enum law_source source; /* LAW_BY_NOTHING = neither a calibration nor a log can be used */
    struct reason why;      /* without a source */
    const char *of;         /* which archive or log, and its counts of ranks */
    int n_counts;           /* so many of those */
    struct reason left_out; /* of the source: what was not used and why; REASON_NONE nothing */
    struct reason mismatch; /* it was measured with another library than the runs use, or possibly in another network */
    double least_bytes, most_bytes;  /* of the messages that were measured */
    double bytes, count;             /* of a step, per rank, at the largest point; in so many all-reduces */
    int is_counted;                  /* count was recorded; 0: taken as one */
    double latency_ns;               /* of an all-reduce, times log2 p */
    double busbw_gb_per_s;           /* 0 = time does not grow with bytes there */
    int n_fitted;                    /* sizes and counts of ranks near the message */
    double fit_residual_ratio;       /* largest |law - measured| / measured over those */
    struct all_reduce_point *points; /* those of two ranks and more, ascending; shape (n_points) */
    int n_points;
    struct all_reduce_point ahead[SERIES_AHEAD]; /* not run */
    int n_ahead;
    struct reason ahead_why;                            /* when n_ahead is 0 */
    struct phrase said[N_REDUCE_SAID][REDUCE_SAID_MAX]; /* the same in sentences; none without a source */
    const char *text;                                   /* all of them; "" none */
};
/* Not measured: the law's forecast for a node count that was not run. */
struct extrapolation {
    int n_nodes;
    double speedup, efficiency;
    struct interval speedup_interval; /* 95 % prediction interval */
};
enum { SERIES_MAX_LAWS = 4, SERIES_SAID_MAX = 3 };

enum scaling_kind { SCALING_NONE = 0 /* one node count */, SCALING_STRONG, SCALING_WEAK, SCALING_UNKNOWN };
const char *scaling_word(enum scaling_kind k);

struct series {
    const char *label; /* "DCRNN, 8 sensors, fp32, 1 rank per node" */
    enum scaling_kind kind;
    struct phrase kind_said;     /* how strong or weak was detected: a clause */
    int is_of_runs;              /* speed-ups are those of whole runs, as if each run did the same work */
    struct series_point *points; /* ascending node count */
    int n_points;
    struct reason speedup_why;  /* of the last point; REASON_NONE also if there is only one point */
    struct series_loss *losses; /* consecutive points, then first to last when there are more than two */
    int n_losses;
    struct reason losses_why;    /* when n_losses is 0 */
    struct series_phase *phases; /* by part */
    int n_phases;                /* 0: no losses, or some run's phases do not sum to its parts */
    struct series_name *names;   /* by kind; the largest loss first, the rest last */
    int n_names;                 /* 0: no losses, or no kind is recorded at every point */
    struct law *laws;
    int n_laws;
    struct all_reduce all_reduce;
    struct extrapolation ahead[SERIES_AHEAD];
    int n_ahead;
    enum law_id extrapolated_by;
    struct reason extrapolation_why; /* why there is none */
    int limit_claim;                 /* index into report.claims: what limits scaling; -1 none */
    int told;                        /* index of the point that the finding is about: the largest, or where scaling
                                      * stopped before */
    struct said said;                /* the finding */
    struct phrase node_time;         /* which node count to use: where more nodes stop paying off */
    struct phrase scaling[SERIES_SAID_MAX], beyond[SERIES_SAID_MAX];
    struct phrase not_judged[SERIES_SAID_MAX]; /* what could not be judged, by the mark of its reason */
    const char *headline, *support, *scaling_text, *beyond_text, *not_judged_text; /* sentences; "" none */
};

enum { RANKING_MAX = 3 };

/* A note is shown at the top, before any verdict. */
/* What a note says. X(id, key in report.json) */
#define REPORT_NOTES(X)                        \
    X(NOTE_EMULATED, "emulated")               \
    X(NOTE_ONE_KERNEL, "one-kernel")           \
    X(NOTE_NODE_KIND, "node-kind")             \
    X(NOTE_RANKS_MISSING, "ranks-missing")     \
    X(NOTE_LOOSE_RANKS, "loose-ranks")         \
    X(NOTE_NODES_OPTION, "nodes-option")       \
    X(NOTE_NODES_UNKNOWN, "nodes-unknown")     \
    X(NOTE_LEFT_OUT_FILE, "left-out-file")     \
    X(NOTE_COPY, "copy")                       \
    X(NOTE_INCOMPLETE, "incomplete")           \
    X(NOTE_TOLD_TO_END, "told-to-end")         \
    X(NOTE_FAILED, "failed")                   \
    X(NOTE_BROKE_OFF, "broke-off")             \
    X(NOTE_DROPPED, "dropped")                 \
    X(NOTE_TORN, "torn")                       \
    X(NOTE_MISSING, "missing")                 \
    X(NOTE_WINDOW, "window")                   \
    X(NOTE_FEW_STEPS, "few-steps")             \
    X(NOTE_CUT_STEP, "cut-step")               \
    X(NOTE_STEPS_ASSUMED, "steps-assumed")     \
    X(NOTE_RANKS_ASSUMED, "ranks-assumed")     \
    X(NOTE_PARTIAL_STEPS, "partial-steps")     \
    X(NOTE_STEP_PROCESSES, "step-processes")   \
    X(NOTE_STEP_NUMBERS, "step-numbers")       \
    X(NOTE_INCONSISTENT, "inconsistent")       \
    X(NOTE_NO_EXCHANGE, "no-exchange")         \
    X(NOTE_CLOCKS, "clocks")                   \
    X(NOTE_TRACED_PART, "traced-part")         \
    X(NOTE_LITTLE_COVERED, "little-covered")   \
    X(NOTE_LONG_WARMUP, "long-warmup")         \
    X(NOTE_OVERSUBSCRIBED, "oversubscribed")   \
    X(NOTE_OWN_THREADS, "own-threads")         \
    X(NOTE_RUN_DELAY, "run-delay")             \
    X(NOTE_BOUND, "bound")                     \
    X(NOTE_THROTTLED, "throttled")             \
    X(NOTE_STEAL, "steal")                     \
    X(NOTE_NEIGHBOURS, "neighbours")           \
    X(NOTE_DIFFERING, "differing")             \
    X(NOTE_SURROUNDINGS, "surroundings")       \
    X(NOTE_REPETITIONS, "repetitions")         \
    X(NOTE_LEFT_OUT, "left-out")               \
    X(NOTE_UNTOLD, "untold")                   \
    X(NOTE_JOBS, "jobs")                       \
    X(NOTE_MIXED, "mixed")                     \
    X(NOTE_ONE_NODE_COUNT, "one-node-count")   \
    X(NOTE_SCALING_UNKNOWN, "scaling-unknown") \
    X(NOTE_NO_COMPARISON, "no-comparison")
enum note_id {
#define X(id, key) id,
    REPORT_NOTES(X)
#undef X
        N_NOTES
};
/** note_key - in report.json. */
const char *note_key(enum note_id id);

enum note_kind { NOTE_CAVEAT /* lowers confidence */, NOTE_GAP /* something is missing: exit status 3 */ };
struct note {
    enum note_kind kind;
    int run; /* -1 = all */
    enum note_id id;
    struct phrase said[NOTE_PHRASES];
    const char *text; /* the same, after the label of its run */
};

/* A finished file of the site, written as it is. */
struct document {
    int run;           /* index into report.runs, -1 = of the report */
    const char *name;  /* of its file, in the folder of the run */
    const char *path;  /* from the site's root: "report.json", "runs/<slug>/profiling_report.txt" */
    const char *title; /* for lists of files */
    const char *bytes;
    size_t len;
};

/* An archive that the report uses, as a citation needs it; "" if the archive does not state it. */
struct source {
    const char *archive, *manifest_sha256;
    const char *files_sha256;       /* without a manifest */
    const char *unhashed;           /* why there is no sha256 */
    const char *sha256, *sha256_of; /* the existing hash, and of what: "manifest", "file", "list of its 3 files" */
    const char *program, *backend, *collector; /* with versions */
};

/* The items of the section on certainty. X(id, label, label of a comparison) */
#define SURE_ITEMS(X)                         \
    X(SURE_CAUSE, "Certain", "Change")        \
    X(SURE_DOUBT, "Doubtful", "Doubt")        \
    X(SURE_FORECAST, "Estimated", "Forecast") \
    X(SURE_UNKNOWN, "Unknown", "Not known")   \
    X(SURE_IMPROVE, "To improve", "To improve")
enum sure_item {
#define X(id, label, of_comparison) id,
    SURE_ITEMS(X)
#undef X
        N_SURE_ITEMS
};
/** sure_label - "Certain", of a comparison "Change", as in the table. */
const char *sure_label(enum sure_item i, int is_comparison);

struct changes;
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
    struct said said;    /* the finding on all runs, if the headline is one finding */
    int headline_series; /* the series whose headline is that of the report, unchanged; -1 none */
    int first_series;    /* the series of the headline, or of its run */
    int first_claim;     /* the claim that first_action is about; -1 none */
    struct note *notes;  /* caveats first, then gaps */
    int n_notes, n_gaps;
    const char **none; /* files beside the evidence that are not evidence; ascending */
    int n_none;
    struct comparison *comparisons; /* against --baseline: render/findings/rules/compare.h */
    int n_comparisons;
    const char *baseline;        /* what it was compared with, "" nothing */
    struct reason no_comparison; /* why no steps could be compared with the baseline */
    struct changes *changes;     /* by name, of one run on each side: render/metrics/changes.h; NULL = nothing */
    struct reason no_changes;    /* why nothing could be compared with the baseline by name */
    struct source *before;       /* the archives of baseline */
    int n_before;
    size_t notes_cap, claims_cap; /* filling only */
    enum counted_unit unit;       /* what node counts count */
    const char *node_label;       /* "emulated nodes", "Slurm nodes on one kernel", ...; "" = separate machines */
    /* In the order in which the front page shows them; all but headline may be empty. */
    const char *headline, *support, *first_action, *how_sure;
    struct phrase ranking[RANKING_MAX]; /* of runs that are no series */
    const char *limits_now;             /* the headline of the runs, if that of the report is about a comparison */
    const char *first_command;          /* the shell command that tries first_action here; "" if no command can */
    int is_first_measuring;             /* it measures the run again, because other programs used its cores */
    const char *first_elsewhere;        /* the same on a Slurm cluster, if the machine is too small; "" */
    struct phrase sure[N_SURE_ITEMS][SAID_MAX]; /* how sure the answer is */
    struct phrase ruled_out[JUDGED_MAX];        /* for the run of the answer: what else was looked at */
    int has_first_forecast;
    int64_t first_forecast_ns;  /* of the median step */
    struct to_do first;         /* the same as first_action, a paragraph each, for below a heading */
    const char *first_of;       /* the run that first_action is about, if there are several; "" */
    const char *next_action;    /* without a claim: first_action again, and further actions */
    const char *steps_action;   /* how to know the steps in the next run, for the run at the top */
    const char *confidence;     /* of the headline, as in how_sure: confidence_word(); "" or NULL if not stated */
    const char *verdict;        /* the two sentences that main prints */
    struct document *documents; /* made by documents_make; the publisher writes each */
    int n_documents;
};

/** run_of_point - the first repetition of a point. lives as long as the report */
const struct run_result *run_of_point(const struct report *rep, const struct series_point *p);
/** report_text - printf into the report's arena. gives; lives as long as the report */
const char *report_text(struct report *rep, const char *fmt, ...) DCR_PRINTF(2, 3);
/** report_add_note - up to NOTE_PHRASES sentences about a run, whose label is put before them, or about all:
 *  report_add_note(rep, NOTE_GAP, -1, NOTE_NODE_KIND, PHRASE(NODE_KIND_UNKNOWN)). Names in slots are copied.
 *  run  index into rep->runs, -1 = all */
#define report_add_note(rep, kind, run, id, ...) \
    report_put_note(rep, kind, run, id, (const struct phrase[NOTE_PHRASES]){__VA_ARGS__})
void report_put_note(struct report *rep, enum note_kind kind, int run, enum note_id id,
                     const struct phrase said[NOTE_PHRASES]);
/** run_add_note - up to NOTE_PHRASES sentences as an observation on a run; no more than RUN_MAX_NOTES. Slots are
 * borrowed.
 */
#define run_add_note(rep, r, ...) run_put_note(rep, r, (const struct phrase[NOTE_PHRASES]){__VA_ARGS__})
void run_put_note(struct report *rep, struct run_result *r, const struct phrase said[NOTE_PHRASES]);
/** report_drop_note - takes back all notes of that id. */
void report_drop_note(struct report *rep, enum note_id id);
void report_free(struct report *rep);

#endif
