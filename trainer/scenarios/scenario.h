/* scenario.h - a training run with a bottleneck that is known, because it can be switched off: options with the knob
 * on and off, ranges from which sizes are drawn by a seed, and which class of the report may be named. The files are
 * trainer/scenarios/NAME.conf; docs/scenarios.md says how to write one.
 *
 * Called by options.c, which reads the words as if they came first on the command line. */
#ifndef TRAINER_SCENARIOS_SCENARIO_H
#define TRAINER_SCENARIOS_SCENARIO_H

#include "lib/base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { SCENARIO_MAX_DRAWS = 8, SCENARIO_MAX_WORDS = 128, SCENARIO_TEXT = 8192 };
enum { SCENARIO_1_RANK, SCENARIO_2_RANKS, SCENARIO_4_RANKS, SCENARIO_N_RANKS };

/* Classes that a file may name: those of report.json, and `none`, when nothing limits. */
#define SCENARIO_CLASSES(X) \
    X("compute")            \
    X("memory")             \
    X("communication") X("imbalance") X("data") X("io") X("copy") X("host") X("shared") X("overhead") X("none")

struct scenario_range {
    int low, high; /* both included */
};

struct scenario {
    char path[4096]; /* the file */
    char name[64];   /* its name without folder and ending */
    char text[SCENARIO_TEXT];
    /* point into text */
    const char *why;
    const char *common, *on, *off;          /* options; {NAME} is a drawn number, {seed} the seed itself */
    const char *needs;                      /* "gpu" or "" */
    const char *on_ranks[SCENARIO_N_RANKS]; /* options behind those of `on`, for so many ranks; NULL: none */
    const char *classes[SCENARIO_N_RANKS];  /* the answer, `shared` may be added; NULL: no answer is expected */
    /* step time that the knob saves, percent of the step with the knob on; measured, this is what it must be */
    int has_gain[SCENARIO_N_RANKS];
    struct scenario_range gain[SCENARIO_N_RANKS];
    struct {
        const char *name;
        struct scenario_range range;
        int by; /* low, low + by, ... up to high */
    } draws[SCENARIO_MAX_DRAWS];
    int n_draws;
};

/** scenario_read - a file when name holds a slash or ends in .conf, else NAME.conf among the scenarios of this program:
 *  ../share/dcreport/scenarios beside its folder, or trainer/scenarios up to three levels above.
 *  s        overwritten; points into itself: not to be copied
 *  errors   DCR_FAIL: no such scenario (names those there are), or the file's line that is wrong */
int scenario_read(struct scenario *s, const char *name, struct dcr_err *err) DCR_MUST_CHECK;

struct scenario_choice {
    uint64_t seed; /* decides the drawn numbers: equal seeds draw equal numbers on every machine */
    int is_off;    /* the knob */
    int n_ranks;
};

/** scenario_words - the options of one run.
 *  text     overwritten; the words' memory                                              shape: (n_text)
 *  words    overwritten; point into text                                                shape: (SCENARIO_MAX_WORDS)
 *  errors   DCR_FAIL: nothing is said for so many ranks; more words or text than there is room for */
int scenario_words(const struct scenario *s, const struct scenario_choice *c, char *text, size_t n_text, char **words,
                   int *n_words, struct dcr_err *err) DCR_MUST_CHECK;

/** scenario_is_idle - 1 when by `gain` the knob saves nothing on so many ranks, but does on others: what is started so
 *  has no bottleneck. */
int scenario_is_idle(const struct scenario *s, const struct scenario_choice *c);

/** scenario_launched_ranks - how many ranks the launcher of this process says there are (mpirun, srun); 1 without. */
int scenario_launched_ranks(void);

/** scenario_show - for people and scripts, a line `key: value` each: why, options on and off, classes, gains. */
int scenario_show(const struct scenario *s, const struct scenario_choice *c, FILE *out,
                  struct dcr_err *err) DCR_MUST_CHECK;

#endif
