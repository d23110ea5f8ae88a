/* changes.h - what kernels, operators, MPI calls and files took in a run before and a run after a change, name by name.
 * Steps are not needed. Test: tests/unit/test_changes.c */
#ifndef RENDER_METRICS_CHANGES_H
#define RENDER_METRICS_CHANGES_H

#include "render/metrics/report.h"

/* Kernels by their short names, and by their full ones. Operators and ranges by the time outside of others on their
 * thread. X(id, key in report.json, name of the CSV after "changed-") */
#define CHANGED_KINDS(X)                                  \
    X(CHANGED_KERNELS, "kernels", "kernels")              \
    X(CHANGED_FULL, "kernels_in_full", "kernels-in-full") \
    X(CHANGED_OPERATORS, "operators", "operators")        \
    X(CHANGED_MPI, "mpi_calls", "mpi-calls")              \
    X(CHANGED_FILES, "files", "files")
enum changed_kind {
#define X(id, key, stem) id,
    CHANGED_KINDS(X)
#undef X
        N_CHANGED_KINDS
};
/** changed_key, changed_stem - as in the table. */
const char *changed_key(enum changed_kind k);
const char *changed_stem(enum changed_kind k);

/* Index 0 is before, 1 after. Times are summed over devices, ranks and threads. */
enum { BEFORE, AFTER, N_SIDES };
struct changed {
    const char *name;
    int64_t n[N_SIDES], ns[N_SIDES];
    int64_t by_calls_ns; /* more or fewer calls, each as long as before; all of it where one side has no call */
    int64_t by_mean_ns;  /* calls of another length, as many as after; both sum to the difference exactly */
};
#define CHANGED_OTHERS "(other names)"
struct changed_table {
    struct changed *rows; /* by the size of the difference, the largest first; beyond 200 the others share the last */
    int n_rows;           /* 0: one side has nothing of that kind, or its events are not complete */
    struct changed all;   /* the sum of the rows */
};
struct changes {
    struct changed_table of[N_CHANGED_KINDS];
    int n_gpus[N_SIDES]; /* 0 without a table of kernels */
    /* Sums over GPUs; counts in columns that are counts. 0 unless both sides have GPUs. */
    int64_t gpu[N_DEVICE_COLUMNS][N_SIDES];
    int has_steps;                /* they are compared too */
    int64_t n_steps[N_SIDES];     /* of the runs; if their samples differ, totals show other work, not a change */
    int64_t batch[N_SIDES];       /* samples of a step; 0: not known of both */
    int64_t run_ns[N_SIDES];      /* of the whole runs; 0: not known of both, too short, or of another batch */
    int is_run_told;              /* run_ns are known and of one command, at least up to arguments or a new name */
    const char *program[N_SIDES]; /* names of the programs if they differ, else "" */
    struct said said;             /* what changed; set, like the rest, by narrate_changes */
    struct phrase sure[N_SURE_ITEMS][SAID_MAX];
    const char *sentence, *support;
};

/** changed_full_names - what a row of kernels by their short name unfolds to: the rows of its full names, and
 * CHANGED_OTHERS for those without a row. Calls and times sum to the row. The calls and times of each name are split by
 * themselves. returns  gives, from the arena; n_rows 0: its name is the full one, or no full name has a row */
struct changed_table changed_full_names(struct dcr_arena *arena, const struct changes *c, const struct changed *row);

/** changed_split - by_calls_ns and by_mean_ns of a row. */
void changed_split(struct changed *c);

/** changes_between - returns  gives, all of it from the arena: `before` may go.
 *  source   docs/metrics.md#by-name */
struct changes changes_between(struct dcr_arena *arena, const struct run *before, const struct run *after);

/* Windows whose lengths differ by less, as a share, are equally long. */
#define SAME_WINDOW 0.01

/* The time of one run by name, over the whole recording. Traces of other tools and ranges of native traces may show the
 * same time, so their operators are never added up. */
enum timed_names { TIMED_OPERATORS, TIMED_RANGES, TIMED_MPI, TIMED_COLLECTIVES };
struct name_time {
    const char *name;
    int64_t ns;
};
/** times_by_name - returns  the number of names, ascending; 0 also if events of that kind are missing
 *  out      gives, from the arena; shape (number of names) */
int times_by_name(struct dcr_arena *arena, const struct run *a, enum timed_names of, struct name_time **out);

/** kernel_short_name - the name of a function without its type, namespaces, template arguments and parameters, as
 * Nsight Systems has it too: "flash_fwd_kernel" of "void flash::flash_fwd_kernel<...>(...)". returns  points into full;
 * *len is its length */
const char *kernel_short_name(const char *full, size_t *len);

#endif
