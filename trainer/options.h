/* options.h - the command line of dcrnn-train, checked as a whole before anything is done. docs/man/dcrnn-train.1 */
#ifndef TRAINER_OPTIONS_H
#define TRAINER_OPTIONS_H

#include "trainer/dataset_read.h"
#include "trainer/dcrnn.h"
#include "trainer/graph_read.h"

#include <stdint.h>
#include <stdio.h>

enum options_task { TASK_TRAIN, TASK_HELP, TASK_VERSION, TASK_VERIFY, TASK_BASELINE, TASK_WRITE_DATA };

struct options {
    enum options_task task;
    const char *verify_dir;     /* TASK_VERIFY */
    const char *write_data_dir; /* TASK_WRITE_DATA */

    /* data: from files when data is set, else generated */
    const char *data, *sensor_ids, *graph;
    enum dataset_header header;
    enum graph_format graph_format;
    int graph_subset;
    int sensors, days; /* generated */
    uint64_t data_seed;

    /* model */
    int units, layers, hops, input_steps, forecast_steps;
    enum graph_filter filter;
    enum dcrnn_recursion recursion;

    /* training */
    int batch;   /* global; of every rank when is_weak */
    int is_weak; /* weak scaling */
    int epochs;
    int64_t steps; /* 0 = no limit */
    double lr, clip, sampling_decay;
    int n_milestones, milestone[16];
    uint64_t seed;
    int patience;           /* epochs without a better validation; 0 = never stop early */
    int validate_every;     /* epochs; 0 = only at the end */
    int validation_windows; /* 0 = all */

    /* run */
    const char *out, *resume, *gradient_to;
    int64_t checkpoint_steps; /* 0 = none */
    int checkpoint_epochs;    /* 0 = none */
    int threads;
    int progress_steps;
};

/** options_parse - defaults, then the command line.
 *  o        overwritten; text borrows from argv
 *  errors   DCR_FAIL: one sentence that names the option and what it takes */
int options_parse(struct options *o, int argc, char **argv, struct dcr_err *err) DCR_MUST_CHECK;

/** options_help - the text of --help. */
void options_help(FILE *out);

#endif
