/* activity.h - the operations of one trace, from whatever importer, become exact numbers per device.
 *
 * An importer calls activity_op for every kernel, copy and memset in any order, activity_call for calls of the
 * runtime and activity_range for what the host was doing. activity_finish sorts (through a temporary file when there
 * are many) and sweeps once. Memory: distinct names and a fixed amount; not the number of events. source:
 * docs/metrics.md#devices. Test: tests/unit/test_activity.c */
#ifndef RENDER_DEVICE_ACTIVITY_H
#define RENDER_DEVICE_ACTIVITY_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/reduce/reduce.h"
#include "lib/trace/step_name.h"
#include "render/device/shapes.h"
#include "render/model/foreign.h"

/* One operation on a device. */
struct device_op {
    int64_t device, stream;
    int64_t start_ns, dur_ns; /* a negative or zero duration counts as an operation and covers no time */
    enum op_kind kind;        /* OP_COMPUTE for any kernel: activity_op looks for collectives by name */
    const char *name;
    size_t name_len;
    int64_t correlation;                     /* of the launch, -1 = not said */
    double blocks_per_sm;                    /* < 0 = not said */
    double occupancy_ratio;                  /* estimated achieved, < 0 = not said */
    const char *collective;                  /* NUL-terminated; NULL or "" = not said */
    int64_t in_bytes, out_bytes, group_size; /* of the collective, one rank's buffers; 0 = not said */
};

/* What a call of the runtime does. */
enum call_kind { CALL_LAUNCH = 0, CALL_SYNC, CALL_MALLOC, CALL_FREE, CALL_OTHER };
/** call_kind_of - by name: cudaLaunchKernel, hipMemcpyAsync, cuStreamSynchronize ... */
enum call_kind call_kind_of(const char *name, size_t len);

/* What the host was doing. HOST_COMM: it exchanged with other ranks by itself (gloo, MPI), while a GPU may have waited.
 */
enum host_range { HOST_DATA = 0, HOST_IO, HOST_COMM, HOST_SYNC, N_HOST_RANGES };

/* Marks of training on the host. Micro-batches are counted from these marks. */
enum step_mark { MARK_LOADED = 0, MARK_FORWARD_PASS, MARK_BACKWARD_PASS, MARK_OPTIMIZER_RUN, N_STEP_MARKS };
/** step_mark_of - by the name of a range: "Optimizer.step#SGD.step", "enumerate(DataLoader)#...", "backward" ...
 *  returns  the mark, -1 for any other name */
int step_mark_of(const char *name, size_t n);
/** step_mark_name - in prose: "backward passes". */
const char *step_mark_name(enum step_mark m);

/* What a range of the host is, by its name in PyTorch's traces. */
enum host_name {
    HOST_NAME_RANGE = 0, /* named by the program, or of no kind that is known */
    HOST_NAME_OPERATOR,
    HOST_NAME_BACKWARD,  /* an operator of the backward pass */
    HOST_NAME_OPTIMIZER, /* a range of the program in which its optimiser runs */
    HOST_NAME_COMM,      /* a collective of a backend: gloo, NCCL, MPI */
    HOST_NAME_COMM_CALL, /* the call that asks a backend for one */
};
/** host_name_without_attributes - length of a name without the attributes that profilers append for one call: ", op_id
 *  = 812".
 *  source   names that PyTorch's emit_nvtx writes. Test: tests/unit/test_host_work.c */
size_t host_name_without_attributes(const char *name, size_t len);
/** host_name_common - the name with * for numbers of blocks and addresses: "blocks.*.mlp".
 *  out      shape (len)
 *  returns  how much of it was written
 *  source   names that FSDP writes. Test: tests/unit/test_host_work.c */
size_t host_name_common(const char *name, size_t len, char *out);
enum { HOST_NAME_BYTES = 512 }; /* longer names are kept as they are */

/** host_step_of - is a range by its name that of a step: as step_name_of, or PyTorch's own "ProfilerStep#7"?
 *  word     out: the name without its number ("ProfilerStep", "iter", "epoch"), static; NULL: no step, batch or epoch
 *  number   out: of the step, -1 = the name has none. Test: tests/unit/test_host_work.c */
enum step_name host_step_of(const char *name, size_t len, const char **word, int64_t *number);
/** host_step_is_profilers - does a word of host_step_of stand for a step of PyTorch's profiler? */
int host_step_is_profilers(const char *word);

/** host_name_of - is_range: the trace says that the program named it, so it is no operator. */
enum host_name host_name_of(const char *name, size_t len, int is_range);

struct activity;

/** activity_new - max_bytes: limit of memory for events, further ones go to a temporary file; 0 = the default (32 MiB).
 *  gives; free with activity_free */
struct activity *activity_new(size_t max_bytes);
/** activity_op - returns 0, or -1 when the operation's end does not fit into 64 bits (it is left out). */
int activity_op(struct activity *a, const struct device_op *op);
/** activity_call - a call of the runtime, of a known or unknown thread; times as for operations. */
void activity_call(struct activity *a, enum call_kind kind, int64_t correlation, int64_t start_ns, int64_t dur_ns);
/** activity_call_of - as activity_call, for a thread of a process in any numbering. A call that waits may delay later
 * launches of its own thread and of other threads of its process. */
void activity_call_of(struct activity *a, int64_t process, int64_t thread, enum call_kind kind, int64_t correlation,
                      int64_t start_ns, int64_t dur_ns);
void activity_range(struct activity *a, enum host_range kind, int64_t start_ns, int64_t dur_ns);
/* Stands for the host where others name a device. */
#define ACTIVITY_HOST INT64_MIN
/** activity_memory - the allocator's state of a device after an event of it; reserved -1 = not said. */
void activity_memory(struct activity *a, int64_t device, int64_t t_ns, int64_t allocated, int64_t reserved);
/** activity_memory_change - bytes were allocated from the device (> 0) or given back (< 0). */
void activity_memory_change(struct activity *a, int64_t device, int64_t t_ns, int64_t bytes);
/** activity_step - one step on the host (ProfilerStep#n); number -1 = not said. */
void activity_step(struct activity *a, int64_t number, int64_t start_ns, int64_t dur_ns);
/** activity_named_step - a range of the program that is a step by its name (step_name.h); used only without surer ones:
 *  batches (STEP_NAME_BATCH) only without other steps, and named ones only without ProfilerStep#n. */
void activity_named_step(struct activity *a, enum step_name kind, int64_t number, int64_t start_ns, int64_t dur_ns);
/** activity_mark - a range of that kind and name on the host. */
void activity_mark(struct activity *a, enum step_mark mark, const char *name, size_t len, int64_t start_ns,
                   int64_t dur_ns);
/** activity_operator - an operator or range of the host, for its self time; as host_ops_add (hostops.h). */
void activity_operator(struct activity *a, int64_t thread, enum operator_kind kind, const char *name, size_t len,
                       int64_t start_ns, int64_t dur_ns);
/** activity_shaped - an operator for which shape_is_counted (shapes.h), beside activity_operator. */
void activity_shaped(struct activity *a, int64_t thread, const char *name, size_t len, const struct shape_work *w,
                     int64_t start_ns, int64_t dur_ns);
/** activity_frame - a frame of a Python stack, or a module, by its name in PyTorch's traces. */
void activity_frame(struct activity *a, int64_t thread, const char *name, size_t len, int64_t start_ns, int64_t dur_ns);
/** activity_phase - a named range of the host that may be a phase of a step: any but those that mark steps. */
void activity_phase(struct activity *a, const char *name, size_t len, int64_t start_ns, int64_t dur_ns);
/** activity_finish - the devices of the trace, ascending. Text and arrays in arena.
 *  steps    where the time of the steps went: on the device with most operations, or on the host (hostwork.h) if the
 *           trace shows no GPU. There steps end with the optimiser if nothing marks them. n_steps is 0 without steps
 *  errors   DCR_FATAL: no memory or no temporary file */
int activity_finish(struct activity *a, struct dcr_arena *arena, struct run_device **out, int *n, struct reduced *steps,
                    struct dcr_err *err) DCR_MUST_CHECK;
/** activity_accumulation - gradient accumulation, as the marks in the steps show it; after activity_finish. */
void activity_accumulation(const struct activity *a, struct accumulation *out);
/** activity_steps_known - by_optimizer: no range marked the steps, they are taken from runs of the optimiser. is_cut:
 * the last step of a host was cut by the end of the recording and is left out. After activity_finish. */
void activity_steps_known(const struct activity *a, int *by_optimizer, int *is_cut);
/** activity_host_memory - of ACTIVITY_HOST; n 0: nothing was said. After activity_finish; points in its arena. */
void activity_host_memory(const struct activity *a, struct device_memory *out);
/** activity_lost_steps - count the added steps that activity_finish left out, by reason; call after it. Steps of a less
 *  certain grade than the one in use, and duplicates of a step, do not count. */
void activity_lost_steps(const struct activity *a, int64_t n[N_STEP_LOSSES]);
/** activity_operators - the table of the operators given to activity_operator; after activity_finish. Text and array in
 *  arena.
 *  errors   DCR_FATAL: no memory or no temporary file */
int activity_operators(struct activity *a, struct dcr_arena *arena, struct host_operators *out,
                       struct dcr_err *err) DCR_MUST_CHECK;
/** activity_code - the lines that kept GPUs waiting; after activity_finish. Texts and array in arena */
void activity_code(struct activity *a, struct dcr_arena *arena, struct code_lines *out);
/** activity_work - the operators given to activity_shaped, a row for each operator and type, longest first; after
 *  activity_finish. out: gives, in arena; n 0: nothing, or too many calls */
void activity_work(struct activity *a, struct dcr_arena *arena, struct run_kernel_counts **out, int *n);
void activity_free(struct activity *a);

#endif
