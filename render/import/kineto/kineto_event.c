/* kineto_event.c - kineto_add: adds an event up, by its category. See kineto_event.h. */
#include "render/import/kineto/kineto_event.h"

#include "render/device/stepranges.h"
#include "render/import/text/decimal.h"
#include "render/import/text/json_window.h"
#include "render/import/kineto/kineto_counters.h"
#include "render/import/kineto/kineto_shapes.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

enum event_class {
    CLASS_NONE = 0,
    CLASS_KERNEL,
    CLASS_MEMCPY,
    CLASS_MEMSET,
    CLASS_CALL,
    CLASS_ANY_CALL,
    CLASS_HOST,
    CLASS_FRAME,
    CLASS_COUNTERS
};

/* By the categories of old and new versions of Kineto, on all accelerators. */
static enum event_class class_of(const struct kineto_text *c)
{
#define IS(word) (memcmp(c->p, word, sizeof word - 1) == 0)
    switch (c->n) {
    case sizeof "kernel" - 1:
        return IS("cpu_op")                   ? CLASS_HOST
               : IS("kernel") || IS("Kernel") ? CLASS_KERNEL
               : IS("Memcpy")                 ? CLASS_MEMCPY
               : IS("Memset")                 ? CLASS_MEMSET
                                              : CLASS_NONE;
    case sizeof "Runtime" - 1:
        return IS("Runtime") ? CLASS_CALL : CLASS_NONE;
    case sizeof "Operator" - 1:
        return IS("Operator") ? CLASS_HOST : CLASS_NONE;
    case sizeof "gpu_memcpy" - 1:
        return IS("gpu_memcpy")                       ? CLASS_MEMCPY
               : IS("gpu_memset")                     ? CLASS_MEMSET
               : IS("hip_driver") || IS("xpu_driver") ? CLASS_CALL
                                                      : CLASS_NONE;
    case sizeof "cuda_driver" - 1:
        return IS("cuda_driver") || IS("hip_runtime") || IS("xpu_runtime") ? CLASS_CALL : CLASS_NONE;
    case sizeof "cuda_runtime" - 1:
        return IS("cuda_runtime") ? CLASS_CALL : IS("mtia_runtime") ? CLASS_ANY_CALL : CLASS_NONE;
    case sizeof "user_annotation" - 1:
        return IS("python_function")   ? CLASS_FRAME
               : IS("user_annotation") ? CLASS_HOST
               : IS("mtia_ccp_events") ? CLASS_KERNEL
                                       : CLASS_NONE;
    case sizeof "privateuse1_driver" - 1:
        return IS("privateuse1_driver") ? CLASS_ANY_CALL : CLASS_NONE;
    case sizeof "privateuse1_runtime" - 1:
        return IS("privateuse1_runtime") ? CLASS_ANY_CALL : IS("cuda_profiler_range") ? CLASS_COUNTERS : CLASS_NONE;
    default:
        return CLASS_NONE;
    }
#undef IS
}

/* ---- arguments ----------------------------------------------------------------------------------------- */

static double real_or(const char *p, double absent)
{
    p += *p == '"';
    char *end;
    double v = strtod(p, &end);
    return end > p && v >= 0 && v < 1e300 ? v : absent;
}

/* Bytes of an element, 0 for a type that is not known. */
static int64_t element_bytes(const char *p, size_t n)
{
    static const struct {
        const char *name;
        int64_t bytes;
    } types[] = {{"Float", 4}, {"Half", 2}, {"BFloat16", 2}, {"Double", 8},        {"Int", 4},         {"Long", 8},
                 {"Byte", 1},  {"Char", 1}, {"Bool", 1},     {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}, {"Short", 2}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].name) == n && memcmp(types[i].name, p, n) == 0)
            return types[i].bytes;
    return 0;
}

/* What a collective moved: counts of elements until the type is known too. */
struct moved {
    char name[64];
    int64_t in, out, bytes;
};

static void moved_argument(struct device_op *op, struct moved *m, const char *key, size_t n, const char *p,
                           const char *after)
{
    if (json_text_is(key, n, "Collective name") && *p == '"')
        json_unescape(p + 1, (size_t)(after - p) - 2, m->name, sizeof m->name);
    else if (json_text_is(key, n, "dtype") && *p == '"')
        m->bytes = element_bytes(p + 1, (size_t)(after - p) - 2);
    else if ((json_text_is(key, n, "In msg nelems") && decimal_scaled(p, after, 0, &m->in)) ||
             (json_text_is(key, n, "Out msg nelems") && decimal_scaled(p, after, 0, &m->out)) ||
             (json_text_is(key, n, "Group size") && decimal_scaled(p, after, 0, &op->group_size)))
        return;
}

static void argument(struct device_op *op, const char *key, size_t n, const char *p, const char *after, int *has_device)
{
    int64_t v;
    switch (n) {
    case 6:
        if (memcmp(key, "device", 6) == 0 && decimal_scaled(p, after, 0, &v) == 0) {
            op->device = v;
            *has_device = 1;
        } else if (memcmp(key, "stream", 6) == 0 && decimal_scaled(p, after, 0, &v) == 0) {
            op->stream = v;
        }
        break;
    case 11:
        if (memcmp(key, "correlation", 11) == 0 && decimal_scaled(p, after, 0, &v) == 0)
            op->correlation = v;
        break;
    case 13:
        if (memcmp(key, "blocks per SM", 13) == 0)
            op->blocks_per_sm = real_or(p, -1);
        break;
    case 25:
        if (memcmp(key, "est. achieved occupancy %", 25) == 0)
            op->occupancy_ratio = real_or(p, -100) / 100;
        break;
    default:
        break;
    }
}

/* Reads the arguments, which lie in the window as a whole, or in separate memory of a pair (x NULL). */
static void arguments(const struct json_index *x, struct device_op *op, struct moved *m, const struct kineto_raw *e,
                      int *has_device)
{
    const char *p = e->args + 1, *end = e->args_end;
    while ((p = json_space(p, end)) < end && *p != '}') {
        int is_escaped = 0;
        if (*p != '"') {
            p++;
            continue;
        }
        const char *key = p + 1, *key_end = x ? json_index_quote(x, key) : json_string_end(key, end, &is_escaped);
        if (!key_end || key_end >= end)
            return;
        p = json_space(key_end + 1, end);
        if (p >= end || *p != ':')
            continue;
        p = json_space(p + 1, end);
        const char *after = p >= end ? NULL : x ? json_index_value(x, p) : json_skip(p, end);
        if (!after || after > end)
            return;
        size_t n = (size_t)(key_end - key);
        char plain[32];
        if (x ? memchr(key, '\\', n) != NULL : is_escaped) {
            n = json_unescape(key, n, plain, sizeof plain);
            key = plain;
        }
        argument(op, key, n, p, after, has_device);
        if (m)
            moved_argument(op, m, key, n, p, after);
        p = after;
    }
}

/* ---- the event ------------------------------------------------------------------------------------------ */

/* The index, if it covers the event's arguments. */
static const struct json_index *index_of(const struct kineto_sink *k, const struct kineto_raw *e)
{
    uintptr_t from = (uintptr_t)k->index->from, end = (uintptr_t)k->index->end;
    return (uintptr_t)e->args >= from && (uintptr_t)e->args_end <= end ? k->index : NULL;
}

static void add_op(struct kineto_sink *k, const struct kineto_raw *e, enum event_class class, struct kineto_text name)
{
    int has_device = 0;
    struct device_op op = {.device = -1,
                           .stream = -1,
                           .start_ns = e->ts_ns,
                           .dur_ns = e->dur_ns,
                           .kind = class == CLASS_KERNEL   ? OP_COMPUTE
                                   : class == CLASS_MEMCPY ? OP_MEMCPY
                                                           : OP_MEMSET,
                           .name = name.p,
                           .name_len = name.n,
                           .correlation = -1,
                           .blocks_per_sm = -1,
                           .occupancy_ratio = -1};
    struct moved m = {.in = 0};
    if (e->args)
        arguments(index_of(k, e), &op, class == CLASS_KERNEL ? &m : NULL, e, &has_device);
    if (m.name[0] && m.bytes && m.in > 0 && m.in < INT64_MAX / 16 && m.out >= 0 && m.out < INT64_MAX / 16) {
        op.collective = m.name;
        op.in_bytes = m.in * m.bytes;
        op.out_bytes = m.out * m.bytes;
    }
    if (!has_device && e->pid && decimal_scaled(e->pid, json_skip(e->pid, e->pid + 32), 0, &op.device))
        op.device = -1;
    if (!e->has_ts || activity_op(k->activity, &op))
        k->trace->n_unusable++;
    else
        k->trace->n_negative += e->dur_ns < 0;
}

/* Does the event have a usable time? If not, it is counted. A range that ends before it begins is counted too, but is
 * used as a range without duration. */
static int is_timed(struct kineto_sink *k, const struct kineto_raw *e)
{
    int64_t end;
    if (!e->has_ts || __builtin_add_overflow(e->ts_ns, e->dur_ns, &end)) {
        k->trace->n_unusable++;
        return 0;
    }
    k->trace->n_backward += e->dur_ns < 0;
    return 1;
}

static enum call_kind kind_of_call(struct kineto_sink *k, struct kineto_text name)
{
    if (name.n == 0 || name.n > KNOWN_CALL_BYTES)
        return call_kind_of(name.p, name.n);
    const unsigned char *t = (const unsigned char *)name.p;
    struct known_call *known =
        &k->calls[(name.n + 5u * t[name.n / 2] + 3u * t[name.n - 1] + t[name.n * 3 / 4]) % KNOWN_CALLS];
    if (name.n != known->len || memcmp(name.p, known->name, name.n) != 0) {
        *known = (struct known_call){.len = name.n, .kind = call_kind_of(name.p, name.n)};
        memcpy(known->name, name.p, name.n);
    }
    return known->kind;
}

/* A number for the thread, from the text of its process and of itself. These may be numbers or names. */
static int64_t hash_thread(const struct kineto_raw *e)
{
    const char *const from[] = {e->pid, e->tid}, *const to[] = {e->pid_end, e->tid_end};
    uint64_t h = 0;
    for (int i = 0; i < 2; i++, h = (h ^ (h >> 31)) * 0x9e3779b97f4a7c15u)
        for (const char *p = from[i]; p && p < to[i]; p++)
            h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    return (int64_t)h;
}

static int64_t thread_of(struct kineto_sink *k, const struct kineto_raw *e)
{
    size_t pid = e->pid ? (size_t)(e->pid_end - e->pid) : 0, tid = e->tid ? (size_t)(e->tid_end - e->tid) : 0;
    if (!pid || !tid || pid > sizeof k->pid || tid > sizeof k->tid)
        return hash_thread(e);
    if (pid != k->pid_len || tid != k->tid_len || memcmp(e->pid, k->pid, pid) != 0 ||
        memcmp(e->tid, k->tid, tid) != 0) {
        memcpy(k->pid, e->pid, k->pid_len = pid);
        memcpy(k->tid, e->tid, k->tid_len = tid);
        k->thread = hash_thread(e);
    }
    return k->thread;
}

/* is_any: of an accelerator whose calls have other names. There, a call with the correlation of an operation launched
 * it. */
static void add_call(struct kineto_sink *k, const struct kineto_raw *e, struct kineto_text name, int is_any)
{
    struct device_op op = {.correlation = -1};
    enum call_kind kind = kind_of_call(k, name);
    int ignored;
    if (!is_timed(k, e))
        return;
    k->trace->n_calls++;
    k->trace->n_mallocs += kind == CALL_MALLOC;
    k->trace->n_frees += kind == CALL_FREE;
    k->trace->n_syncs += kind == CALL_SYNC;
    if (e->args && (kind == CALL_LAUNCH || (is_any && kind == CALL_OTHER)))
        arguments(index_of(k, e), &op, NULL, e, &ignored);
    activity_call_of(k->activity, 0, thread_of(k, e), kind, op.correlation, e->ts_ns, e->dur_ns);
}

/* Does the profiler write this range as an operator? Old versions do so with all ranges and new ones with those of
 * single libraries. Most operators have other names. */
static int is_range_name(struct kineto_text name)
{
    static const char *const begins[] = {"enumerate(DataLoader)", "Optimizer.", "## ", "DistributedDataParallel."};
    if (!name.n || !strchr("eO#D", name.p[0]))
        return 0;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (name.n >= strlen(begins[i]) && memcmp(name.p, begins[i], strlen(begins[i])) == 0)
            return 1;
    return 0;
}

/* A step of the profiler, which old versions write as an operator, or a range of the program with the name of a step.
 */
static int is_step(struct kineto_sink *k, const struct kineto_raw *e, struct kineto_text name, int is_annotation)
{
    const char *word;
    int64_t number;
    enum step_name step =
        is_annotation || (name.n && name.p[0] == 'P') ? host_step_of(name.p, name.n, &word, &number) : STEP_NAME_NONE;
    if (step != STEP_NAME_STEP && step != STEP_NAME_BATCH)
        return 0;
    if (host_step_is_profilers(word))
        activity_step(k->activity, number, e->ts_ns, e->dur_ns);
    else
        activity_named_step(k->activity, step, number, e->ts_ns, e->dur_ns);
    return 1;
}

/* "save model", "load_checkpoint", "ckpt.save()": a word of the name means files, and none means batches. */
static int names_files(const char *text)
{
    static const char *const words[] = {"checkpoint", "checkpointing", "save", "load"}, *const others[] = {"data",
                                                                                                           "batch"};
    int is_files = 0;
    for (const char *p = text; *p;) {
        size_t n = 0;
        while (isalpha((unsigned char)p[n]))
            n++;
        for (size_t i = 0; n && i < sizeof words / sizeof *words; i++)
            is_files |= strlen(words[i]) == n && strncasecmp(p, words[i], n) == 0;
        for (size_t i = 0; n && i < sizeof others / sizeof *others; i++)
            if (strlen(others[i]) == n && strncasecmp(p, others[i], n) == 0)
                return 0;
        p += n ? n : 1;
    }
    return is_files;
}

/* Loading or files, by the profiler's own names, or by those that a program gives its ranges ("## data_load ##"); an
 * exchange by a backend that works on the host ("nccl:" only enqueues). -1: none of these */
static int what_host_does(struct kineto_text name, int is_annotation)
{
    static const char loader[] = "enumerate(DataLoader)";
    char text[64];
    if (name.n >= sizeof loader - 1 && memcmp(name.p, loader, sizeof loader - 1) == 0)
        return HOST_DATA;
    if (json_text_is(name.p, name.n, "save_checkpoint") || json_text_is(name.p, name.n, "torch.save"))
        return HOST_IO;
    if (!name.n || name.n >= sizeof text || (!is_annotation && name.p[0] != '#'))
        return -1;
    memcpy(text, name.p, name.n);
    text[name.n] = '\0';
    enum category c = step_range_category(text);
    if (c == CAT_COMM)
        return host_name_of(name.p, name.n, 1) == HOST_NAME_COMM && strncmp(text, "nccl:", 5) != 0 ? HOST_COMM : -1;
    return c == CAT_DATA ? HOST_DATA : c == CAT_IO || names_files(text) ? HOST_IO : -1;
}

static void add_host(struct kineto_sink *k, const struct kineto_raw *e, struct kineto_text name, int is_annotation)
{
    if (!is_timed(k, e))
        return;
    activity_operator(k->activity, thread_of(k, e), is_annotation ? OPERATOR_RANGE : OPERATOR_OP, name.p, name.n,
                      e->ts_ns, e->dur_ns);
    struct shape_work work;
    if (e->args && shape_is_counted(name.p, name.n) && kineto_work_of(name, e, &work))
        activity_shaped(k->activity, thread_of(k, e), name.p, name.n, &work, e->ts_ns, e->dur_ns);
    int mark = step_mark_of(name.p, name.n);
    if (mark >= 0)
        activity_mark(k->activity, (enum step_mark)mark, name.p, name.n, e->ts_ns, e->dur_ns);
    if (!is_step(k, e, name, is_annotation) && (is_annotation || is_range_name(name)))
        activity_phase(k->activity, name.p, name.n, e->ts_ns, e->dur_ns);
    int doing = what_host_does(name, is_annotation);
    if (doing >= 0)
        activity_range(k->activity, (enum host_range)doing, e->ts_ns, e->dur_ns);
}

/* "[memory]" of the framework's allocator, on a GPU (Device Type 1) or the host (0). On the host, older versions only
 * state the change of an event. */
static void add_memory(struct kineto_sink *k, const struct kineto_raw *e)
{
    static const char *const keys[] = {"Device Type", "Device Id", "Total Allocated", "Total Reserved", "Bytes"};
    enum { KEYS = sizeof keys / sizeof *keys };
    int64_t v[KEYS] = {-1, -1, -1, -1, 0};
    const char *p = e->args + 1;
    for (struct json_pair pair; json_next_pair(&p, e->args_end, &pair);)
        for (int i = 0; i < KEYS; i++)
            if (pair.n == strlen(keys[i]) && memcmp(pair.key, keys[i], pair.n) == 0 &&
                decimal_scaled(pair.value, pair.after, 0, &v[i]))
                v[i] = -1;
    if (v[0] == 1 && v[2] >= 0 && is_timed(k, e))
        activity_memory(k->activity, v[1], e->ts_ns, v[2], v[3]);
    else if (v[0] == 0 && v[2] > 0 && is_timed(k, e))
        activity_memory(k->activity, ACTIVITY_HOST, e->ts_ns, v[2], -1);
    else if (v[0] == 0 && v[4] && e->has_ts)
        activity_memory_change(k->activity, ACTIVITY_HOST, e->ts_ns, v[4]);
}

/* An event that PyTorch writes without Kineto: it has no category, and its process is "CPU functions". source:
 * torch/autograd/profiler_util.py, export_chrome_trace */
static int is_of_older_profiler(const struct kineto_raw *e)
{
    static const char process[] = "\"CPU functions\"";
    return !e->cat.n && e->pid && (size_t)(e->pid_end - e->pid) == sizeof process - 1 &&
           memcmp(e->pid, process, sizeof process - 1) == 0;
}

/* In such traces the name alone tells operators, which have a namespace or are of the backward pass, from ranges of the
 * program. */
static int is_range_of_program(struct kineto_text name)
{
    enum host_name is = host_name_of(name.p, name.n, 0);
    return is == HOST_NAME_RANGE || is == HOST_NAME_OPTIMIZER;
}

/* Frames without a usable time are not counted, because no result misses them. */
static void add_frame(struct kineto_sink *k, const struct kineto_raw *e, struct kineto_text name)
{
    int64_t end;
    if (e->has_ts && !__builtin_add_overflow(e->ts_ns, e->dur_ns, &end))
        activity_frame(k->activity, thread_of(k, e), name.p, name.n, e->ts_ns, e->dur_ns);
}

/* An event with a beginning and a duration. */
static void add_complete(struct kineto_sink *k, const struct kineto_raw *e)
{
    char plain[32];
    struct kineto_text cat = e->cat;
    if (cat.n && memchr(cat.p, '\\', cat.n)) {
        cat.n = json_unescape(cat.p, cat.n, plain, sizeof plain);
        cat.p = plain;
    }
    int is_older = is_of_older_profiler(e);
    enum event_class class = is_older ? CLASS_HOST : class_of(&cat);
    if (class == CLASS_NONE)
        return;
    struct kineto_text name = e->name;
    if (name.n && memchr(name.p, '\\', name.n)) {
        name.n = json_unescape(name.p, name.n, k->text, sizeof k->text);
        name.p = k->text;
    }
    if (is_older)
        add_host(k, e, name, is_range_of_program(name));
    else if (class == CLASS_HOST)
        add_host(k, e, name, cat.n == sizeof "user_annotation" - 1);
    else if (class == CLASS_CALL || class == CLASS_ANY_CALL)
        add_call(k, e, name, class == CLASS_ANY_CALL);
    else if (class == CLASS_FRAME)
        add_frame(k, e, name);
    else if (class == CLASS_COUNTERS)
        kineto_counters_add(&k->trace->counters, k->arena, name, e);
    else
        add_op(k, e, class, name);
}

/* Arrows between events (s, t, f), counters, names of threads and all other events are ignored. */
void kineto_add(struct kineto_sink *k, const struct kineto_raw *e)
{
    struct kineto_raw whole;
    k->trace->n_events++;
    switch (e->ph) {
    case 'X':
        add_complete(k, e);
        break;
    case 'B':
        k->trace->n_unpaired += kineto_pairs_begin(k->pairs, thread_of(k, e), e) != 0;
        break;
    case 'E':
        if (kineto_pairs_end(k->pairs, thread_of(k, e), e, &whole))
            k->trace->n_unpaired++;
        else
            add_complete(k, &whole);
        break;
    case 'i':
    case 'I':
        if (e->args && json_text_is(e->name.p, e->name.n, "[memory]"))
            add_memory(k, e);
        break;
    default:
        break;
    }
}
