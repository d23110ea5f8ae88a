/* activity.c - see activity.h. Gathers; sweep.c computes. */
#include "render/device/activity.h"

#include "render/device/accumulation.h"
#include "render/device/codelines.h"
#include "render/device/collectives.h"
#include "render/device/hostops.h"
#include "render/device/hostranges.h"
#include "render/device/hostwork.h"
#include "render/device/memory.h"
#include "render/device/queue.h"
#include "render/device/runtime.h"
#include "render/device/shapework.h"
#include "render/device/stepranges.h"
#include "render/device/steps.h"
#include "render/device/watch.h"
#include "render/model/build.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_BYTES = 32 << 20, SMALL_NS = 100000 };

struct launch_record {
    struct spill_key key; /* correlation, start */
    int64_t thread;       /* index, THREAD_UNKNOWN */
};
/* An allocation, a release or a synchronisation: what a step should not hold. */
struct call_record {
    struct spill_key key; /* start, enum call_kind */
};
struct activity {
    struct dcr_arena arena;
    struct optable names;
    struct spill *ops, *launches, *calls, *queue;
    struct host_ranges *ranges;
    struct runtime_log *runtime;
    struct host_ops *operators;  /* made with the first one */
    struct host_operators table; /* of them; has_table: it is made */
    int has_table;
    struct shape_log *shaped;   /* made with the first one */
    struct code_log *code;      /* the same */
    struct host_work *work;     /* of a trace that shows no GPU */
    struct step_ranges *phases; /* the same */
    int has_no_memory;
    size_t max_bytes;
    struct device_sums *devices;
    size_t n_devices, devices_cap, last;
    struct device_steps steps;
    struct collective_kinds collectives;
    int64_t n_to_host; /* copies to the host launched inside steps */
    struct exchange {
        int64_t start_ns, dur_ns;
    } * exchanges; /* of the host */
    size_t n_exchanges, exchanges_cap;
    int has_times;
    int64_t low_ns, high_ns;   /* of all operations */
    struct memory_log *memory; /* made with the first event */
    struct device_memory host_memory;
};

struct activity *activity_new(size_t max_bytes)
{
    struct activity *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->max_bytes = max_bytes ? max_bytes : DEFAULT_BYTES;
    a->ops = spill_new(sizeof(struct op_record), a->max_bytes / 4);
    a->launches = spill_new(sizeof(struct launch_record), a->max_bytes / 8);
    a->ranges = host_ranges_new(a->max_bytes / 8);
    a->queue = spill_new(sizeof(struct queue_record), a->max_bytes / 8);
    a->calls = spill_new(sizeof(struct call_record), a->max_bytes / 16);
    a->runtime = runtime_log_new(a->max_bytes / 16);
    if (!a->ops || !a->launches || !a->ranges || !a->calls || !a->queue || !a->runtime) {
        activity_free(a);
        return NULL;
    }
    return a;
}

static struct device_sums *sums_of(struct activity *a, int64_t device)
{
    if (a->last < a->n_devices && a->devices[a->last].device == device)
        return &a->devices[a->last];
    for (a->last = 0; a->last < a->n_devices; a->last++)
        if (a->devices[a->last].device == device)
            return &a->devices[a->last];
    a->devices = arena_grow(&a->arena, a->devices, a->n_devices, &a->devices_cap, sizeof *a->devices);
    struct device_sums *s = &a->devices[a->n_devices++];
    *s = (struct device_sums){.device = device};
    return s;
}

static void add_clamped(int64_t *sum, int64_t x)
{
    if (__builtin_add_overflow(*sum, x, sum))
        *sum = x < 0 ? INT64_MIN : INT64_MAX;
}

int activity_op(struct activity *a, const struct device_op *op)
{
    int64_t end, span;
    if (__builtin_add_overflow(op->start_ns, op->dur_ns, &end))
        return -1;
    /* All of them lie within one int64_t of each other: no difference of two times overflows. */
    int64_t low = end < op->start_ns ? end : op->start_ns, high = end < op->start_ns ? op->start_ns : end;
    low = a->has_times && a->low_ns < low ? a->low_ns : low;
    high = a->has_times && a->high_ns > high ? a->high_ns : high;
    if (__builtin_sub_overflow(high, low, &span))
        return -1;
    a->low_ns = low;
    a->high_ns = high;
    a->has_times = 1;
    const struct activity_watch *watch = activity_watcher();
    if (watch && !watch->is_beside) {
        const struct name_entry *known = optable_entry(&a->names, 0, op->kind, op->name, op->name_len);
        watch->op(watch->ctx, op, known->kind, known->text);
        return 0;
    }
    struct device_sums *s = sums_of(a, op->device);
    struct name_entry *name = optable_entry(&a->names, (int)(s - a->devices), op->kind, op->name, op->name_len);
    if (watch)
        watch->op(watch->ctx, op, name->kind, name->text);
    optable_add(name, op->dur_ns);
    s->n_kind[name->kind]++;
    if (name->kind == OP_COMPUTE || name->kind == OP_COMM) {
        add_clamped(&s->kernel_ns, op->dur_ns);
        if (op->dur_ns < SMALL_NS) {
            s->n_small++;
            add_clamped(&s->small_ns, op->dur_ns);
        }
        s->n_without_blocks += op->blocks_per_sm < 0;
        if (op->occupancy_ratio >= 0) {
            add_clamped(&s->occupancy_ns, op->dur_ns);
            s->occupancy_time += op->occupancy_ratio * (double)op->dur_ns;
        } else {
            s->n_without_occupancy++;
        }
        if (name->kind == OP_COMPUTE && (name->is_eligible || name->is_tensor)) {
            add_clamped(&s->eligible_ns, op->dur_ns);
            add_clamped(&s->tensor_ns, name->is_tensor ? op->dur_ns : 0);
        }
    }
    if (name->kind == OP_COMM && op->collective && *op->collective)
        collectives_add(&a->collectives, &a->arena, op);
    /* Operations without a launch are ordered by kind. Otherwise, of two that begin at the same time, their order in
     * the file would decide the cause of the gap before them. */
    int64_t correlation = op->correlation >= 0 ? op->correlation : (int64_t)name->kind - N_OP_KINDS;
    struct op_record r = {.key = {correlation, op->start_ns},
                          .end_ns = end,
                          .launch_ns = NO_LAUNCH,
                          .device = (uint32_t)(s - a->devices),
                          .kind = name->kind,
                          .blocks_per_sm = (float)op->blocks_per_sm,
                          .is_to_host = name->is_to_host,
                          .stream = (int32_t)op->stream,
                          .thread = THREAD_UNKNOWN};
    spill_add(a->ops, &r);
    return 0;
}

void activity_range(struct activity *a, enum host_range kind, int64_t start_ns, int64_t dur_ns)
{
    host_ranges_add(a->ranges, kind, start_ns, dur_ns);
    if (kind != HOST_COMM)
        return;
    a->exchanges = arena_grow(&a->arena, a->exchanges, a->n_exchanges, &a->exchanges_cap, sizeof *a->exchanges);
    a->exchanges[a->n_exchanges++] = (struct exchange){start_ns, dur_ns};
}

static int compare_exchange(const void *a, const void *b)
{
    const struct exchange *x = a, *y = b;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* If the GPU ran no collective in any step, the host's exchanges count as the collectives of the steps. */
static void exchanges_of_steps(struct activity *a)
{
    for (size_t i = 0; i < a->steps.n; i++)
        if (a->steps.list[i].n_comm)
            return;
    if (a->n_exchanges > 1)
        qsort(a->exchanges, a->n_exchanges, sizeof *a->exchanges, compare_exchange);
    a->steps.at = 0;
    for (size_t i = 0; i < a->n_exchanges; i++)
        device_steps_comm(&a->steps, &a->arena, a->exchanges[i].start_ns, a->exchanges[i].dur_ns);
}

void activity_call(struct activity *a, enum call_kind kind, int64_t correlation, int64_t start_ns, int64_t dur_ns)
{
    activity_call_of(a, 0, 0, kind, correlation, start_ns, dur_ns);
}

void activity_call_of(struct activity *a, int64_t process, int64_t thread, enum call_kind kind, int64_t correlation,
                      int64_t start_ns, int64_t dur_ns)
{
    int at = host_ranges_thread(a->ranges, process, thread);
    runtime_log_add(a->runtime, start_ns, dur_ns);
    if (kind == CALL_SYNC || kind == CALL_MALLOC || kind == CALL_FREE)
        spill_add(a->calls, &(struct call_record){{start_ns, (int64_t)kind}});
    if (kind == CALL_SYNC)
        host_ranges_wait(a->ranges, at, start_ns, dur_ns);
    else if (correlation >= 0)
        spill_add(a->launches, &(struct launch_record){{correlation, start_ns}, at});
}

void activity_operator(struct activity *a, int64_t thread, enum operator_kind kind, const char *name, size_t len,
                       int64_t start_ns, int64_t dur_ns)
{
    const struct activity_watch *watch = activity_watcher();
    if (watch)
        watch->host(watch->ctx, thread, name, len, start_ns, dur_ns);
    if (watch && !watch->is_beside)
        return;
    if (!a->operators && !a->has_no_memory) {
        a->operators = host_ops_new(a->max_bytes / 4);
        a->has_no_memory = !a->operators;
    }
    if (a->operators)
        host_ops_add(a->operators, thread, kind, name, len, start_ns, dur_ns);
}

void activity_shaped(struct activity *a, int64_t thread, const char *name, size_t len, const struct shape_work *w,
                     int64_t start_ns, int64_t dur_ns)
{
    const struct activity_watch *watch = activity_watcher();
    if (watch && !watch->is_beside)
        return;
    if (!a->shaped && !a->has_no_memory) {
        a->shaped = shape_log_new();
        a->has_no_memory = !a->shaped;
    }
    if (a->shaped)
        shape_log_add(a->shaped, thread, name, len, w, start_ns, start_ns + dur_ns);
}

void activity_frame(struct activity *a, int64_t thread, const char *name, size_t len, int64_t start_ns, int64_t dur_ns)
{
    const struct activity_watch *watch = activity_watcher();
    if (watch && !watch->is_beside)
        return;
    if (!a->code && !a->has_no_memory) {
        a->code = code_log_new(a->max_bytes / 8);
        a->has_no_memory = !a->code;
    }
    if (a->code)
        code_log_add(a->code, thread, name, len, start_ns, start_ns + dur_ns);
}

void activity_code(struct activity *a, struct dcr_arena *arena, struct code_lines *out)
{
    *out = (struct code_lines){0};
    if (a->code)
        code_log_finish(a->code, arena, out);
    out->is_unnamed = a->work != NULL;
}

void activity_work(struct activity *a, struct dcr_arena *arena, struct run_kernel_counts **out, int *n)
{
    *n = 0;
    if (a->shaped)
        shape_log_finish(a->shaped, a->n_devices > 0, arena, out, n);
}

void activity_phase(struct activity *a, const char *name, size_t len, int64_t start_ns, int64_t dur_ns)
{
    const struct activity_watch *watch = activity_watcher();
    if (watch && !watch->is_beside)
        return;
    if (!a->phases && !a->has_no_memory) {
        a->phases = step_ranges_new(a->max_bytes / 8);
        a->has_no_memory = !a->phases;
    }
    if (a->phases)
        step_ranges_add(a->phases, name, len, start_ns, dur_ns);
}

int activity_operators(struct activity *a, struct dcr_arena *arena, struct host_operators *out, struct dcr_err *err)
{
    memset(out, 0, sizeof *out);
    if (a->has_no_memory)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    *out = a->table;
    return a->operators && !a->has_table ? host_ops_finish(a->operators, NULL, a->code, arena, out, err) : 0;
}

/* ---- launches meet operations ------------------------------------------------------------------------ */

/* Both are sorted by (correlation, time): the launch of an operation is the last launch with its correlation that began
 * no later. Correlation ids can repeat in a long trace. */
static int join(struct activity *a, struct spill *by_device, struct dcr_err *err)
{
    int rc = spill_sort(a->launches, err);
    if (rc || (rc = spill_sort(a->ops, err)))
        return rc;
    device_steps_sort(&a->steps);
    if (a->shaped)
        shape_log_settle(a->shaped);
    const struct launch_record *l = spill_next(a->launches);
    const struct op_record *op;
    struct spill_key last = {-1, 0};
    int64_t thread = THREAD_UNKNOWN;
    while ((op = spill_next(a->ops)) != NULL) {
        struct op_record r = *op;
        while (l && (l->key.a < r.key.a || (l->key.a == r.key.a && l->key.b <= r.key.b))) {
            last = l->key;
            thread = l->thread;
            l = spill_next(a->launches);
        }
        if (r.key.a >= 0 && last.a == r.key.a) {
            r.launch_ns = last.b;
            r.thread = (int32_t)thread;
        } else if (r.key.a >= 0 && l && l->key.a == r.key.a) { /* clocks disagree: launched after it began */
            r.launch_ns = l->key.b;
            r.thread = (int32_t)l->thread;
        }
        if (r.launch_ns != NO_LAUNCH && device_steps_launch(&a->steps, r.launch_ns, r.end_ns) && a->phases)
            step_ranges_launch(a->phases, r.launch_ns, r.key.b, r.end_ns);
        if (r.launch_ns != NO_LAUNCH)
            queue_add(a->queue, r.device, r.stream, r.launch_ns, r.key.b);
        if (r.is_to_host && r.launch_ns != NO_LAUNCH)
            a->n_to_host += device_steps_holds(&a->steps, r.launch_ns);
        if (a->shaped && r.kind == OP_COMPUTE && r.launch_ns != NO_LAUNCH && r.thread >= 0)
            shape_log_kernel(a->shaped, host_ranges_thread_id(a->ranges, r.thread), r.launch_ns, r.end_ns - r.key.b);
        r.key.a = (int64_t)r.device;
        spill_add(by_device, &r);
    }
    if (spill_failed(a->ops) || spill_failed(a->launches))
        return dcr_err_set(err, DCR_FATAL, "cannot read back the temporary file of a trace");
    return spill_sort(by_device, err);
}

/* ---- the result ---------------------------------------------------------------------------------------- */

static void write_sums(const struct device_sums *s, struct run_device *d)
{
    d->device = s->device;
    d->value[DEV_KERNELS] = s->n_kind[OP_COMPUTE] + s->n_kind[OP_COMM];
    d->value[DEV_COMM_KERNELS] = s->n_kind[OP_COMM];
    d->value[DEV_MEMCPYS] = s->n_kind[OP_MEMCPY];
    d->value[DEV_MEMSETS] = s->n_kind[OP_MEMSET];
    d->value[DEV_SMALL_KERNELS] = s->n_small;
    d->value[DEV_KERNEL_SUM] = s->kernel_ns;
    d->small_ns = s->small_ns;
    d->tensor_ns = s->tensor_ns;
    d->eligible_ns = s->eligible_ns;
}

/* Why the launches of operations are unknown if the trace has none. */
static enum reason_code why_no_launches(const struct activity *a)
{
    return runtime_log_has(a->runtime) ? REASON_NO_LAUNCH_OF_OPERATIONS : REASON_NO_LAUNCHES;
}

/* no_launches: REASON_NONE = there are some */
static void say_what_is_missing(const struct device_sums *s, enum reason_code no_launches, int is_too_many,
                                struct run_device *d)
{
    int64_t n = d->value[DEV_KERNELS];
    d->has_idle_causes = !no_launches && !is_too_many;
    d->idle_why = is_too_many ? REASON(TOO_MANY_HOST_RANGES) : (struct reason){.code = no_launches};
    if (n == 0 || s->n_without_blocks || !d->has_sm) {
        d->sm_why = n == 0                ? REASON(NO_KERNEL_RAN)
                    : s->n_without_blocks ? REASON(KERNEL_BLOCKS_UNKNOWN)
                                          : REASON(KERNELS_AT_ONCE);
        d->has_sm = 0;
        d->sm_ratio = 0;
    } else {
        d->sm_why = REASON(NONE);
    }
    d->has_occupancy = n > 0 && !s->n_without_occupancy && s->occupancy_ns > 0;
    d->occupancy_why = d->has_occupancy ? REASON(NONE)
                       : n == 0         ? REASON(NO_KERNEL_RAN)
                                        : REASON(KERNEL_OCCUPANCY_UNKNOWN);
    d->occupancy_ratio = d->has_occupancy ? s->occupancy_time / (double)s->occupancy_ns : 0;
}

static int compare_device(const void *a, const void *b)
{
    const struct run_device *x = a, *y = b;
    return x->device < y->device ? -1 : x->device > y->device;
}

void activity_step(struct activity *a, int64_t number, int64_t start_ns, int64_t dur_ns)
{
    device_steps_add(&a->steps, &a->arena, STEP_GRADE_PROFILER, number, start_ns, dur_ns);
}

void activity_named_step(struct activity *a, enum step_name kind, int64_t number, int64_t start_ns, int64_t dur_ns)
{
    enum step_grade grade = kind == STEP_NAME_BATCH ? STEP_GRADE_BATCH : STEP_GRADE_NAMED;
    device_steps_add(&a->steps, &a->arena, grade, number, start_ns, dur_ns);
}

void activity_mark(struct activity *a, enum step_mark mark, const char *name, size_t len, int64_t start_ns,
                   int64_t dur_ns)
{
    device_steps_mark(&a->steps, &a->arena, mark, name, len, start_ns, dur_ns);
}

void activity_steps_known(const struct activity *a, int *by_optimizer, int *is_cut)
{
    *by_optimizer = a->steps.n > 0 && a->steps.surest == STEP_GRADE_OPTIMIZER;
    *is_cut = a->n_devices == 0 && a->steps.is_cut;
}

void activity_accumulation(const struct activity *a, struct accumulation *out)
{
    accumulation_of(&a->steps, out);
}

void activity_lost_steps(const struct activity *a, int64_t n[N_STEP_LOSSES])
{
    device_steps_lost(&a->steps, n);
}

void activity_host_memory(const struct activity *a, struct device_memory *out)
{
    *out = a->host_memory;
}

static struct memory_log *memory_of(struct activity *a)
{
    if (!a->memory && !a->has_no_memory) {
        a->memory = memory_log_new(a->max_bytes / 16);
        a->has_no_memory = !a->memory;
    }
    return a->memory;
}

void activity_memory(struct activity *a, int64_t device, int64_t t_ns, int64_t allocated, int64_t reserved)
{
    struct memory_log *m = memory_of(a);
    if (m)
        memory_log_state(m, device, t_ns, allocated, reserved);
}

void activity_memory_change(struct activity *a, int64_t device, int64_t t_ns, int64_t bytes)
{
    struct memory_log *m = memory_of(a);
    if (m)
        memory_log_change(m, device, t_ns, bytes);
}

/* What steps should not hold, counted inside them. */
static int count_calls(struct activity *a, struct run_device *d, struct dcr_err *err)
{
    const struct call_record *c;
    int rc = spill_sort(a->calls, err);
    while (!rc && (c = spill_next(a->calls)) != NULL) {
        int64_t *n = c->key.b == CALL_SYNC ? &d->n_syncs : c->key.b == CALL_MALLOC ? &d->n_mallocs : &d->n_frees;
        *n += device_steps_holds(&a->steps, c->key.a);
    }
    d->n_to_host = a->n_to_host;
    return rc;
}

/* The device with the most operations; on a tie the one with the lowest number. Steps are made of its work. */
static uint32_t main_device(const struct activity *a)
{
    uint32_t best = 0;
    int64_t most = -1;
    for (size_t i = 0; i < a->n_devices; i++) {
        int64_t n = 0;
        for (int k = 0; k < N_OP_KINDS; k++)
            n += a->devices[i].n_kind[k];
        if (n > most || (n == most && a->devices[i].device < a->devices[best].device))
            best = (uint32_t)i;
        most = n > most ? n : most;
    }
    return best;
}

/* Without a GPU and without a call to one, operators count as work of the host. */
static int is_host_alone(const struct activity *a)
{
    return a->n_devices == 0 && !runtime_log_has(a->runtime) && a->operators;
}

/* The table of operators, and what they do in the steps, which are sorted. */
static int work_of_host(struct activity *a, struct dcr_arena *arena, struct dcr_err *err)
{
    a->work = host_work_new(&a->steps, a->max_bytes / 8);
    a->has_table = 1;
    return a->work ? host_ops_finish(a->operators, a->work, a->code, arena, &a->table, err)
                   : dcr_err_set(err, DCR_FATAL, "out of memory");
}

int activity_finish(struct activity *a, struct dcr_arena *arena, struct run_device **out, int *n, struct reduced *steps,
                    struct dcr_err *err)
{
    struct host_side host = {0};
    enum reason_code unknown = spill_count(a->launches) ? REASON_NONE : why_no_launches(a);
    int is_too_many = 0, n_memories = 0;
    struct device_memory *memories = NULL;
    memset(steps, 0, sizeof *steps);
    struct spill *by_device = spill_new(sizeof(struct op_record), a->max_bytes / 4);
    *n = 0;
    if (is_host_alone(a) && a->steps.n == 0)
        device_steps_by_optimizer(&a->steps, &a->arena);
    int rc = by_device ? join(a, by_device, err) : dcr_err_set(err, DCR_FATAL, "out of memory");
    if (rc || (rc = host_ranges_finish(a->ranges, &a->arena, &host, &is_too_many, err)))
        goto out;
    if (a->code && (rc = code_log_settle(a->code, err)) != 0)
        goto out;
    host.code = a->code;
    if (is_host_alone(a) && (rc = work_of_host(a, arena, err)) != 0)
        goto out;
    *out = dcr_arena_alloc(arena, (a->n_devices + 1) * sizeof **out);
    struct device_queue *queues = dcr_arena_alloc(&a->arena, (a->n_devices + 1) * sizeof *queues);
    if ((rc = queue_finish(a->queue, queues, a->n_devices, err)) != 0)
        goto out;
    device_steps_settle(&a->steps);
    if ((rc = runtime_log_finish(a->runtime, &a->steps, err)) != 0)
        goto out;
    if (a->memory && (rc = memory_log_finish(a->memory, &a->steps, arena, &memories, &n_memories, err)) != 0)
        goto out;
    for (int i = 0; i < n_memories; i++)
        if (memories[i].device == ACTIVITY_HOST)
            a->host_memory = memories[i];
    const struct op_record *first = spill_next(by_device);
    while (first) {
        uint32_t k = first->device;
        struct run_device *d = &(*out)[(*n)++];
        *d = (struct run_device){.file = "", .model = "", .rank = -1};
        int is_main = k == main_device(a);
        sweep_device(by_device, &first, &host, is_main ? &a->steps : NULL, &a->arena, d);
        if (is_main && a->steps.n) {
            a->steps.is_device = 1;
            if ((rc = count_calls(a, d, err)) != 0)
                goto out;
        }
        for (int i = 0; i < n_memories; i++)
            if (memories[i].device == a->devices[k].device)
                d->memory = memories[i];
        write_sums(&a->devices[k], d);
        say_what_is_missing(&a->devices[k], unknown, is_too_many, d);
        d->queue = queues[k];
        d->collectives = collectives_of(&a->collectives, a->devices[k].device, arena, &d->n_collectives);
        d->names = optable_of(&a->names, (int)k, arena, &d->n_names);
    }
    if (spill_failed(by_device))
        rc = dcr_err_set(err, DCR_FATAL, "cannot read back the temporary file of a trace");
    if (*n)
        qsort(*out, (size_t)*n, sizeof **out, compare_device);
    else
        a->steps.is_device = 1; /* on a host without a GPU: its ranges, and overhead for the rest */
    if (!rc && a->work)
        rc = host_work_finish(a->work, host.of, a->code, &a->arena, err);
    if (*n)
        exchanges_of_steps(a);
    else
        host.of[HOST_COMM].n = 0; /* host_work counts them */
    device_steps_finish(&a->steps, host.of, arena, steps);
    for (size_t i = 0; i < a->n_devices; i++)
        steps->n_gpus += a->devices[i].n_kind[OP_COMPUTE] > 0;
    steps->n_gpus = *n && !steps->n_gpus ? 1 : steps->n_gpus;
    steps->has_runtime = steps->n_gpus && runtime_log_has(a->runtime);
    if (!rc && a->phases && steps->n_steps)
        rc = step_ranges_finish(a->phases, &a->steps, *n == 0 ? REASON_TRACE_WITHOUT_GPU : unknown, arena, steps, err);
    if (!rc && a->work && steps->n_steps)
        host_work_phases(a->work, arena, steps);
out:
    spill_free(by_device);
    return rc;
}

void activity_free(struct activity *a)
{
    if (!a)
        return;
    spill_free(a->ops);
    spill_free(a->launches);
    host_ranges_free(a->ranges);
    spill_free(a->calls);
    spill_free(a->queue);
    runtime_log_free(a->runtime);
    host_ops_free(a->operators);
    shape_log_free(a->shaped);
    code_log_free(a->code);
    host_work_free(a->work);
    step_ranges_free(a->phases);
    memory_log_free(a->memory);
    optable_release(&a->names);
    dcr_arena_release(&a->arena);
    free(a);
}

enum call_kind call_kind_of(const char *name, size_t len)
{
    static const struct {
        const char *word;
        enum call_kind kind;
    } words[] = {{"Synchronize", CALL_SYNC}, {"Malloc", CALL_MALLOC}, {"MemAlloc", CALL_MALLOC}, {"Free", CALL_FREE},
                 {"Launch", CALL_LAUNCH},    {"Memcpy", CALL_LAUNCH}, {"Memset", CALL_LAUNCH}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memmem(name, len, words[i].word, strlen(words[i].word)))
            return words[i].kind;
    return CALL_OTHER;
}
