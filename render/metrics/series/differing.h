/* differing.h - what runs differ in: commands, options, models, surroundings. */
#ifndef RENDER_METRICS_SERIES_DIFFERING_H
#define RENDER_METRICS_SERIES_DIFFERING_H

#include "lib/base/buf.h"
#include "render/metrics/report.h"

/** command_words - the program's command without launcher, output paths, batch sizes and node counts; its first word
 * without folder. Test: tests/unit/test_scaling.c */
void command_words(const struct run *run, struct dcr_buf *out);
/** command_key - the same, or the label `series` of dccollect if there is one. Test: tests/unit/test_scaling.c */
void command_key(const struct run *run, struct dcr_buf *out);

/** differing_keys - "--units, ranks per node": what two runs of different configurations differ in.
 *  returns  gives; lives as long as the report */
const char *differing_keys(struct report *rep, const struct run_result *first, const struct run_result *second);

/** model_words - "32 units": the parts between commas of a model's description that differ from some other one, at most
 *  three, each from after the last common " of "; "" when no part differs.
 *  returns  gives; lives as long as the report. Test: tests/unit/test_narrate_runs.c */
const char *model_words(struct report *rep, const char *mine, const char *const *others, int n_others);

/** tell_series_apart - adds what differs to the labels of series that would be equal: words of their models, options,
 *                      or an archive. After scaling. Test: tests/unit/test_narrate_runs.c */
void tell_series_apart(struct report *rep);

/** configuration_name - the name of a configuration that nothing else tells apart: the archive of its first run, or, if
 *  another one has an archive of that name, its number in the report. */
const char *configuration_name(struct report *rep, const struct run_result *r);

/** option_words - ", --hidden 64, without --no-overlap": options of its command that tell a run from those of other
 *  configurations and as many nodes, at most two; "" when these are not told apart by them.
 *  returns  gives; lives as long as the report. Test: tests/unit/test_narrate_runs.c */
const char *option_words(struct report *rep, int run);

/* Differences that alone can change the speed; see unlike. */
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
    UNLIKE_THREADS, /* variables that set threads, for programs that do not state how many they have */
    UNLIKE_QUOTA,   /* CPU quota of a node, if it does not make the node an emulated one */
    UNLIKE_NODES,   /* emulated nodes: their share, its period or their link; or only one run has such nodes */
    N_UNLIKE
};

/** unlike - bit k for each kind k in which two runs differ; what one of them does not state does not differ.
 *  Test: tests/unit/test_caveats.c */
unsigned unlike(const struct thresholds *t, const struct run *a, const struct run *b);

/** has_other_command - do two runs have other commands, by what does not depend on the number of ranks? What one of
 *  them does not state does not differ. */
int has_other_command(const struct run *a, const struct run *b);

/** unlike_in_series - the same for all runs of a series against its first. Test: tests/unit/test_narrate_runs.c */
unsigned unlike_in_series(const struct report *rep, const struct series *s);

/** run_version - the version of a library: as the program states it, else the variable that containers set
 *  ("CUDA_VERSION"); "" not known. borrows */
const char *run_version(const struct run *a, const char *said, const char *variable);

/** unlike_names - "CPU models, NCCL versions" of such bits; "" of none. gives; lives as long as the report */
const char *unlike_names(struct report *rep, unsigned which);

/** other_surroundings - what else differs from rep->runs[first] in the runs' metadata: versions of loaded libraries,
 *  resource limits, uncommitted changes; "" in nothing. What one of them does not state does not differ.
 *  runs     indices, n of them; first may be among them
 *  returns  gives; lives as long as the report. (surroundings.c) Test: tests/unit/test_caveats.c */
const char *other_surroundings(struct report *rep, int first, const int *runs, int n);

/** launched_word - the first word of a run's command that is the program's, after mpirun, srun, torchrun and similar
 * launchers. Their options say where and on how many ranks it ran. 0: without such a launcher. (command.c) Test:
 * tests/unit/test_scaling.c */
int launched_word(const struct run *a);

/** has_other_batch - do the options for the size of a batch differ? Comparisons of commands ignore them. */
int has_other_batch(const struct run *a, const struct run *b);
/** scaling_is_masked - does this option of a command only set a size within a series or a place, so that it makes no
 *  other series? */
int scaling_is_masked(const char *option);

/** has_other_program - do two runs have programs of other names? A program that does not state its name is known by its
 *  command.
 *  names    gets both; they borrow from the runs, "" = not known. Test: tests/unit/test_compare.c */
int has_other_program(const struct run *a, const struct run *b, const char *names[2]);

/** program_of - what was run: the name it gives itself or the file of its command; "" when only a launcher is known.
 *  returns  borrows from the run */
const char *program_of(const struct run *a);
/** program_of_command - the same by the command alone, for runs of which one states no name. */
const char *program_of_command(const struct run *a);

#endif
