/* scenario.h - a training run whose bottleneck is known, because it can be switched off. A scenario is a row of a
 * table: options with the knob on and off, the class that the report has to name, and the gain of the knob.
 * docs/scenarios.md has the measurements. options.c reads the words as if they came first on the command line. */
#ifndef TRAINER_TOOLS_SCENARIO_H
#define TRAINER_TOOLS_SCENARIO_H

#include "lib/base/err.h"

#include <stdint.h>
#include <stdio.h>

enum { SCENARIO_MAX_RANKS = 1024, SCENARIO_MAX_WORDS = 64, SCENARIO_TEXT = 4096 };

struct scenario;

struct scenario_choice {
    const struct scenario *scenario; /* static; NULL: none */
    /* Decides the sizes, the same on every machine, and seeds data and training. */
    uint64_t seed;
    int is_off; /* the knob */
    int n_ranks;
};

/** scenario_named - out: static.
 *  errors   DCR_FAIL: there is no such scenario; the sentence lists the scenarios */
int scenario_named(const char *name, const struct scenario **out, struct dcr_err *err) DCR_MUST_CHECK;
/** scenario_words - the options of one run.
 *  text     overwritten; the words' memory                                              shape: (SCENARIO_TEXT)
 *  words    overwritten; point into text                                                shape: (SCENARIO_MAX_WORDS)
 *  n_words  overwritten
 *  errors   DCR_FAIL: more ranks than SCENARIO_MAX_RANKS */
int scenario_words(const struct scenario_choice *c, char *text, char **words, int *n_words,
                   struct dcr_err *err) DCR_MUST_CHECK;
/** scenario_lacks_bottleneck - 1 when the knob saves nothing on this number of ranks, but does on others, so that the
 *  run has no bottleneck. */
int scenario_lacks_bottleneck(const struct scenario_choice *c);
/** scenario_launched_ranks - number of ranks by the launcher of this process (mpirun, srun); 1 without. */
int scenario_launched_ranks(void);
/** scenario_show - for people and scripts, a line `key: value` each: why, options on and off, classes, gains.
 *  errors   as scenario_words */
int scenario_show(const struct scenario_choice *c, FILE *out, struct dcr_err *err) DCR_MUST_CHECK;

#endif
