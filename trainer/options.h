/* options.h - the command line of dcrnn-train, checked as a whole before anything is done. Its rows are options.def. */
#ifndef TRAINER_OPTIONS_H
#define TRAINER_OPTIONS_H

#include "lib/base/buf.h"
#include "trainer/model/backend.h"
#include "trainer/ranks/comm.h"
#include "trainer/formats/formats.h"
#include "trainer/model/dcrnn.h"
#include "trainer/tools/scenario.h"
#include "trainer/data/window_store.h"

#include <stdint.h>
#include <stdio.h>

#define OPTIONS_MAX_WEIGHTS 1024

/* Ranks that wait longer than a year wait without limit; clocks overflow far beyond that. */
#define OPTIONS_MAX_TIMEOUT_S (365 * 24 * 3600)

/* Rows of options.def. */
enum {
    OPTIONS_N = 0
#define SECTION(title) +1
#define OPTION(...) +1
#include "trainer/options.def"
#undef SECTION
#undef OPTION
};

enum options_pinned { PINNED_AUTO, PINNED_YES, PINNED_NO }; /* auto: if the back end has such memory */

enum options_task {
    TASK_TRAIN,
    TASK_HELP,
    TASK_VERSION,
    TASK_VERIFY,
    TASK_BASELINE,
    TASK_WRITE_DATA,
    TASK_SHOW_SCENARIO
};

/* Options that came from a scenario instead of the command line. */
struct options_scenario {
    const char *name; /* NULL: no scenario */
    struct scenario_choice choice;
    char text[SCENARIO_TEXT]; /* the words that it gave; options point into it */
};

/* Not to be copied: some pointers point into it. */
struct options {
    enum options_task task;
    const char *given[OPTIONS_N]; /* by row of options.def: the word that set it; NULL: the default */
    int is_check;                 /* only check the options of TASK_TRAIN */
    int is_data_check;            /* check its data too */
    struct options_scenario scenario;
    const char *verify_dir;     /* TASK_VERIFY */
    const char *write_data_dir; /* TASK_WRITE_DATA */

    /* data: from files when data is set, else generated */
    const char *data, *sensor_ids, *graph, *data_key;
    enum dataset_header header;
    int data_feature;
    int has_start_time;
    long long start_s; /* of the first row, since 1970-01-01 */
    enum graph_format graph_format;
    int graph_subset;
    int sensors, days; /* generated */
    uint64_t data_seed;

    /* model */
    int units, layers, hops, input_steps, forecast_steps;
    enum graph_filter filter;
    enum dcrnn_recursion recursion;

    /* training */
    int batch;   /* global, or of every rank if is_weak */
    int is_weak; /* weak scaling */
    int epochs;
    int64_t steps;  /* 0 = no limit */
    int accumulate; /* micro-batches of a step */
    double lr, clip, sampling_decay;
    int n_milestones, milestone[16];
    uint64_t seed;
    int patience;           /* epochs without a better validation; 0 = never stop early */
    int validate_every;     /* epochs; 0 = only at the end */
    int validation_windows; /* 0 = all */
    int test;               /* test split after each best validation */
    double explode_factor;  /* the run ends when the loss stays above this many times the best; 0 = never */

    /* ranks */
    int n_rank_weights; /* 0 = equal shares */
    double rank_weights[OPTIONS_MAX_WEIGHTS];
    enum allreduce_dtype allreduce_dtype;
    size_t bucket_bytes;
    int is_late;         /* gradients are sent after the backward pass, not during it */
    double comm_timeout; /* s; 0 = no limit */

    /* loading */
    int loader_workers, n_ahead; /* threads; batches they make ahead */
    enum options_pinned pinned;  /* batches in page-locked memory */
    int stage_windows;           /* windows are read from a file in `out`, not from memory */
    enum window_format windows_format;
    int windows_chunk; /* rows */
    int cold;

    /* run */
    const char *out, *resume, *gradient_to;
    int64_t checkpoint_steps; /* 0 = none */
    int checkpoint_epochs;    /* 0 = none */
    int checkpoint_fsync;
    int threads;
    const char *kernels; /* NULL = the best of the CPU */
    int is_cuda;         /* --backend */
    enum backend_precision precision;
    int use_cuda_graph;
    int may_share_gpu;
    int progress_steps;
};

/** options_parse - defaults, then the command line. A scenario's options count as if they preceded the others, so the
 *           command line wins
 *  o        overwritten; text borrows from argv and from o itself
 *  errors   DCR_FAIL: one sentence that names the option and what it takes */
int options_parse(struct options *o, int argc, char **argv, struct dcr_err *err) DCR_MUST_CHECK;

/** options_help - the text of --help. */
void options_help(FILE *out);

/** options_json - every option of a training with its value, as a JSON object, for program.json. */
void options_json(const struct options *o, struct dcr_buf *out);

/** options_alike - were all ranks started alike? Compares the options that must be equal with rank 0's: the model, the
 *  training, the ranks, and everything that ranks do together. Places of files, threads, kernels and loading may
 *  differ. Collective.
 *  returns  0; else DCR_FAIL on all ranks, with the sentence of the first that differs: rank, host and option */
int options_alike(const struct options *o, struct comm *c, struct dcr_err *err) DCR_MUST_CHECK;

#endif
