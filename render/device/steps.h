/* steps.h - the steps of a trace (ProfilerStep#n on the host) and where their time goes on the device. Each instant
 * of a step is compute when a kernel runs, else communication, else copies (also memsets). Else it is data loading
 * or I/O when the host was in such a range, else overhead. PyTorch's TensorBoard plugin uses the same order, but its
 * Runtime and CPU op are overhead here. Inside render/device only. source: docs/metrics.md#devices. Test:
 * tests/unit/test_activity.c */
#ifndef RENDER_DEVICE_STEPS_H
#define RENDER_DEVICE_STEPS_H

#include "render/device/inside.h"

enum { STEPS_MAX = 1 << 18, MARK_NAMES = 8 };

/* How a step was marked. Only steps of the surest grade count. */
enum step_grade { STEP_GRADE_OPTIMIZER = 0, STEP_GRADE_BATCH, STEP_GRADE_NAMED, STEP_GRADE_PROFILER, N_STEP_GRADES };

struct device_step {
    int64_t number;
    enum step_grade grade;
    int64_t host_start_ns, host_end_ns;
    int64_t start_ns, end_ns;   /* begins where the previous one ended, ends with the last operation launched inside */
    int64_t n_launched;         /* operations; on a host without a GPU operators */
    int32_t n_mark[MARK_NAMES]; /* by name */
    int64_t part_ns[N_CATEGORIES];
    int64_t hidden_comm_ns, runtime_ns;
    int64_t busy_data_ns, busy_io_ns, busy_comm_ns; /* parts of the host's ranges in which the device worked */
    int64_t *comm_ns; /* durations of collectives that began inside             shape: (n_comm) */
    size_t n_comm, comm_cap;
};
/* Ranges that show micro-batches. Each name is counted separately, since a range may contain another one of its kind.
 */
struct mark_name {
    char text[64];
    enum step_mark kind;
};
struct device_mark {
    int64_t t_ns, end_ns;
    int name; /* index */
};
struct device_steps {
    struct device_step *list; /* by start; shape (n) */
    struct device_mark *marks;
    size_t n_marks, marks_cap;
    struct mark_name names[MARK_NAMES];
    int n_names;
    size_t n, cap, at;      /* at: the step that the sweep has reached */
    size_t cursor[3];       /* of HOST_DATA, HOST_IO, HOST_COMM */
    enum step_grade surest; /* surest grade of all steps; known after device_steps_sort */
    int is_cut;             /* the last step was cut off and is left out */
    int64_t n_lost[N_STEP_GRADES][N_STEP_LOSSES];
    int is_device; /* the main device was swept, or there is none; 0: no steps are returned */
};

/** device_steps_add - add a step. One that takes no time, or longer than a step can, is counted and left out. */
void device_steps_add(struct device_steps *s, struct dcr_arena *arena, enum step_grade grade, int64_t number,
                      int64_t start_ns, int64_t dur_ns);
/** device_steps_mark - in any order; beyond STEPS_MAX and MARK_NAMES they are left out. */
void device_steps_mark(struct device_steps *s, struct dcr_arena *arena, enum step_mark kind, const char *name,
                       size_t len, int64_t start_ns, int64_t dur_ns);
/** device_steps_by_optimizer - for a trace without step marks: steps reach from the end of one run of the optimiser to
 * the end of the next. Of several optimisers (HOST_NAME_OPTIMIZER) the one that ran most often counts. Before
 * device_steps_sort. */
void device_steps_by_optimizer(struct device_steps *s, struct dcr_arena *arena);
/** device_step_runs - how often one optimiser ran in the step: the largest count of their names. */
int device_step_runs(const struct device_steps *s, const struct device_step *x);
/** device_steps_sort - after the last device_steps_add: sort the steps, keep those of the surest grade, and give marks
 * to their steps. A step on two tracks counts once; a step that overlaps another one is counted and left out. */
void device_steps_sort(struct device_steps *s);
/** device_steps_launch - extends the step in which an operation was launched (launch_ns) to the operation's end
 *  (end_ns). Any order.
 *  returns  1 when it was launched inside a step */
int device_steps_launch(struct device_steps *s, int64_t launch_ns, int64_t end_ns);
/** device_steps_holds - is t inside a step on the host?                                         sorted */
int device_steps_holds(const struct device_steps *s, int64_t t);
/** device_steps_index - the step that t lies in on the host, by its place in the list; -1 when there is none. sorted */
long device_steps_index(const struct device_steps *s, int64_t t);
/** device_step_counts - does the step take time? device_steps_finish returns only such steps.
 *  settled */
int device_step_counts(const struct device_step *x);
/** device_steps_settle - begins and ends are known. Drops a last step that the end of the recording cut: one that
 *  launched under 80 % of the operations of the previous step of its kind. Steps with and without a run of the
 *  optimiser are different kinds if the trace marks such runs. If two earlier steps launched about as few operations,
 *  small steps are complete too (micro-batches before the last one of an optimiser step).  source: PyTorch's
 *  TensorBoard plugin, event_parser, which compares with the step before */
void device_steps_settle(struct device_steps *s);
/** device_steps_pass - adds [from, to), in which this set of kinds runs; ascending. */
void device_steps_pass(struct device_steps *s, const struct intervals *host, int64_t from, int64_t to, unsigned set);
/** device_steps_comm - a collective began. Ascending. */
void device_steps_comm(struct device_steps *s, struct dcr_arena *arena, int64_t start_ns, int64_t dur_ns);
/** device_steps_lost - count the steps of the grade in use that were left out, by reason; call at the end. */
void device_steps_lost(const struct device_steps *s, int64_t n[N_STEP_LOSSES]);
/** device_steps_finish - as the steps of a rank; out->n_steps 0 when there are none.       arrays in arena */
void device_steps_finish(struct device_steps *s, const struct intervals *host, struct dcr_arena *arena,
                         struct reduced *out);

#endif
