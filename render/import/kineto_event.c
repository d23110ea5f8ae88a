/* kineto_event.c - see kineto_event.h. The inner loop of reading a trace: most events are looked at for their category
 * and left. */
#include "render/import/kineto_event.h"

#include "render/import/decimal.h"
#include "render/import/json_window.h"

#include <stdlib.h>

enum event_class { CLASS_NONE = 0, CLASS_KERNEL, CLASS_MEMCPY, CLASS_MEMSET, CLASS_CALL, CLASS_HOST };

/* Microseconds as decimal text to nanoseconds; the usual form without a call. Behind p there is a zero byte at the
 * latest. returns  0; -1 when it is no number */
static inline int microseconds(const char *p, const char *end, int64_t *out)
{
    uint64_t v = 0;
    const char *q = p;
    for (; (unsigned char)(*q - '0') <= 9; q++)
        v = 10 * v + (uint64_t)(*q - '0');
    if (q > p && (q - p <= 15 || (q - p == 16 && *p < '9'))) { /* fits into 64 bits as nanoseconds */
        const char *first = q;
        if (*q == '.') {
            for (q++; (unsigned char)(*q - '0') <= 9 && q - first <= 3; q++)
                v = 10 * v + (uint64_t)(*q - '0');
            first++;
        }
        if (*q == ',' || *q == '\n' || *q == ' ' || *q == '}' || *q == '\r') {
            static const uint64_t scale[] = {1000, 100, 10, 1};
            *out = (int64_t)(v * scale[q - first]);
            return 0;
        }
    }
    return decimal_scaled(p, end, 3, out);
}

static inline struct kineto_text text_of(const char *p, const char *after)
{
    return *p == '"' ? (struct kineto_text){p + 1, (size_t)(after - p) - 2} : (struct kineto_text){p, 0};
}

/* By the categories of old and new versions of Kineto, on all accelerators; most frequent first. */
static enum event_class class_of(const struct kineto_text *c)
{
    static const struct {
        const char *name;
        enum event_class class;
    } known[] = {{"kernel", CLASS_KERNEL},
                 {"cpu_op", CLASS_HOST},
                 {"cuda_runtime", CLASS_CALL},
                 {"gpu_memcpy", CLASS_MEMCPY},
                 {"gpu_memset", CLASS_MEMSET},
                 {"user_annotation", CLASS_HOST},
                 {"cuda_driver", CLASS_CALL},
                 {"hip_runtime", CLASS_CALL},
                 {"hip_driver", CLASS_CALL},
                 {"Kernel", CLASS_KERNEL},
                 {"Memcpy", CLASS_MEMCPY},
                 {"Memset", CLASS_MEMSET},
                 {"Runtime", CLASS_CALL},
                 {"Operator", CLASS_HOST},
                 {"mtia_ccp_events", CLASS_KERNEL},
                 {"mtia_runtime", CLASS_CALL},
                 {"xpu_runtime", CLASS_CALL},
                 {"xpu_driver", CLASS_CALL},
                 {"privateuse1_runtime", CLASS_CALL},
                 {"privateuse1_driver", CLASS_CALL}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (c->n && *known[i].name == *c->p && strlen(known[i].name) == c->n && memcmp(known[i].name, c->p, c->n) == 0)
            return known[i].class;
    return CLASS_NONE;
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

/* The arguments, which lie in the window as a whole. */
static void arguments(struct device_op *op, struct moved *m, const struct kineto_raw *e, int *has_device)
{
    const char *p = e->args + 1, *end = e->args_end;
    while ((p = json_space(p, end)) < end && *p != '}') {
        int is_escaped = 0;
        if (*p != '"') {
            p++;
            continue;
        }
        const char *key = p + 1, *key_end = json_string_end(key, end, &is_escaped);
        if (!key_end)
            return;
        p = json_space(key_end + 1, end);
        if (p >= end || *p != ':')
            continue;
        p = json_space(p + 1, end);
        const char *after = p < end ? json_skip(p, end) : NULL;
        if (!after)
            return;
        size_t n = (size_t)(key_end - key);
        char plain[32];
        if (is_escaped) {
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
        arguments(&op, class == CLASS_KERNEL ? &m : NULL, e, &has_device);
    if (m.name[0] && m.bytes && m.in > 0 && m.in < INT64_MAX / 16 && m.out >= 0 && m.out < INT64_MAX / 16) {
        op.collective = m.name;
        op.in_bytes = m.in * m.bytes;
        op.out_bytes = m.out * m.bytes;
    }
    if (!has_device && e->pid && decimal_scaled(e->pid, json_skip(e->pid, e->pid + 32), 0, &op.device))
        op.device = -1;
    if (!e->has_ts || activity_op(k->activity, &op))
        k->trace->n_unusable++;
}

/* Runs of calls have one name. */
static enum call_kind kind_of_call(struct kineto_sink *k, struct kineto_text name)
{
    if (name.n != k->call_len || memcmp(name.p, k->call, name.n) != 0) {
        enum call_kind kind = call_kind_of(name.p, name.n);
        if (name.n > sizeof k->call)
            return kind;
        memcpy(k->call, name.p, name.n);
        k->call_len = name.n;
        k->call_kind = kind;
    }
    return k->call_kind;
}

static void add_call(struct kineto_sink *k, const struct kineto_raw *e, struct kineto_text name)
{
    struct device_op op = {.correlation = -1};
    enum call_kind kind = kind_of_call(k, name);
    int ignored;
    k->trace->n_calls++;
    k->trace->n_mallocs += kind == CALL_MALLOC;
    k->trace->n_frees += kind == CALL_FREE;
    k->trace->n_syncs += kind == CALL_SYNC;
    if (!e->has_ts)
        return;
    if (e->args && kind == CALL_LAUNCH)
        arguments(&op, NULL, e, &ignored);
    activity_call(k->activity, kind, op.correlation, e->ts_ns, e->dur_ns);
}

/* A number for the thread, from the text of its process and its own: numbers or names, as the writer liked. */
static int64_t thread_of(const struct kineto_raw *e)
{
    const char *const from[] = {e->pid, e->tid}, *const to[] = {e->pid_end, e->tid_end};
    uint64_t h = 0;
    for (int i = 0; i < 2; i++, h = (h ^ (h >> 31)) * 0x9e3779b97f4a7c15u)
        for (const char *p = from[i]; p && p < to[i]; p++)
            h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    return (int64_t)h;
}

static void add_host(struct kineto_sink *k, const struct kineto_raw *e, struct kineto_text name, int is_annotation)
{
    static const char loader[] = "enumerate(DataLoader)", step[] = "ProfilerStep";
    if (!e->has_ts)
        return;
    activity_operator(k->activity, thread_of(e), is_annotation ? OPERATOR_RANGE : OPERATOR_OP, name.p, name.n, e->ts_ns,
                      e->dur_ns);
    if (name.n >= sizeof step - 1 && memcmp(name.p, step, sizeof step - 1) == 0) {
        int64_t number = -1;
        const char *digits = memchr(name.p, '#', name.n);
        if (digits && decimal_scaled(digits + 1, name.p + name.n, 0, &number))
            number = -1;
        activity_step(k->activity, number, e->ts_ns, e->dur_ns);
    }
    if (name.n >= sizeof loader - 1 && memcmp(name.p, loader, sizeof loader - 1) == 0)
        activity_range(k->activity, HOST_DATA, e->ts_ns, e->dur_ns);
    else if (json_text_is(name.p, name.n, "save_checkpoint") || json_text_is(name.p, name.n, "torch.save"))
        activity_range(k->activity, HOST_IO, e->ts_ns, e->dur_ns);
}

/* "[memory]" of the framework's allocator, on a GPU (Device Type 1). */
static void add_memory(struct kineto_sink *k, const struct kineto_raw *e)
{
    static const char *const keys[] = {"Device Type", "Device Id", "Total Allocated", "Total Reserved"};
    int64_t v[4] = {-1, -1, -1, -1};
    const char *p = e->args + 1, *end = e->args_end;
    int is_escaped;
    while ((p = json_space(p, end)) < end && *p != '}') {
        const char *key = p + 1, *key_end = *p == '"' ? json_string_end(key, end, &is_escaped) : NULL;
        if (!key_end) {
            p++;
            continue;
        }
        p = json_space(key_end + 1, end);
        if (p >= end || *p != ':')
            continue;
        p = json_space(p + 1, end);
        const char *after = p < end ? json_skip(p, end) : NULL;
        if (!after)
            return;
        for (int i = 0; i < 4; i++)
            if ((size_t)(key_end - key) == strlen(keys[i]) && memcmp(key, keys[i], strlen(keys[i])) == 0 &&
                decimal_scaled(p, after, 0, &v[i]))
                v[i] = -1;
        p = after;
    }
    if (v[0] == 1 && v[2] >= 0 && e->has_ts)
        activity_memory(k->activity, v[1], e->ts_ns, v[2], v[3]);
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
    enum event_class class = class_of(&cat);
    if (class == CLASS_NONE)
        return;
    struct kineto_text name = e->name;
    if (name.n && memchr(name.p, '\\', name.n)) {
        name.n = json_unescape(name.p, name.n, k->text, sizeof k->text);
        name.p = k->text;
    }
    if (class == CLASS_HOST)
        add_host(k, e, name, cat.n == sizeof "user_annotation" - 1);
    else if (class == CLASS_CALL)
        add_call(k, e, name);
    else
        add_op(k, e, class, name);
}

/* Arrows between events (s, t, f), counters, names of threads and what else there is say nothing here. */
static void add(struct kineto_sink *k, const struct kineto_raw *e)
{
    struct kineto_raw whole;
    k->trace->n_events++;
    switch (e->ph) {
    case 'X':
        add_complete(k, e);
        break;
    case 'B':
        k->trace->n_unpaired += kineto_pairs_begin(k->pairs, thread_of(e), e) != 0;
        break;
    case 'E':
        if (kineto_pairs_end(k->pairs, thread_of(e), e, &whole))
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

/* One letter; a writer that escapes all there is may write it as \u0058. */
static char phase(const char *p, size_t n)
{
    char plain[3];
    if (n == 1)
        return *p;
    return json_unescape(p, n, plain, sizeof plain) == 1 ? plain[0] : 0;
}

/* One value of the event itself. */
static inline void field(struct kineto_raw *e, const char *key, size_t n, const char *p, const char *after)
{
    switch (n) {
    case 2:
        if (key[0] == 'p' && key[1] == 'h')
            e->ph = *p == '"' ? phase(p + 1, (size_t)(after - p) - 2) : 0;
        else if (key[0] == 't' && key[1] == 's')
            e->has_ts = microseconds(p, after, &e->ts_ns) == 0;
        break;
    case 3:
        if (memcmp(key, "cat", 3) == 0)
            e->cat = text_of(p, after);
        else if (memcmp(key, "dur", 3) == 0) {
            if (microseconds(p, after, &e->dur_ns))
                e->dur_ns = 0;
        } else if (memcmp(key, "pid", 3) == 0) {
            e->pid = p;
            e->pid_end = after;
        } else if (memcmp(key, "tid", 3) == 0) {
            e->tid = p;
            e->tid_end = after;
        }
        break;
    case 4:
        if (memcmp(key, "name", 4) == 0) {
            e->name = text_of(p, after);
        } else if (memcmp(key, "args", 4) == 0) {
            e->args = *p == '{' ? p : NULL;
            e->args_end = after;
        }
        break;
    default:
        break;
    }
}

const char *kineto_event(struct kineto_sink *k, const char *p, const char *end, const char **wrong)
{
    struct kineto_raw e = {.name = {"", 0}, .cat = {"", 0}};
    int is_escaped = 0;
    for (p++;;) {
        p = json_space(p, end);
        if (p >= end)
            return NULL;
        if (*p == ',') {
            p++;
            continue;
        }
        if (*p == '}')
            break;
        if (*p != '"') {
            *wrong = p;
            return NULL;
        }
        is_escaped = 0;
        const char *key = p + 1, *key_end = json_string_end(key, end, &is_escaped);
        if (!key_end)
            return NULL;
        p = json_space(key_end + 1, end);
        if (p < end && *p != ':') {
            *wrong = p;
            return NULL;
        }
        p = p < end ? json_space(p + 1, end) : p;
        const char *after = p < end ? json_skip(p, end) : NULL;
        if (!after)
            return NULL;
        if (after == p) {
            *wrong = p;
            return NULL;
        }
        if (is_escaped) {
            char plain[16];
            field(&e, plain, json_unescape(key, (size_t)(key_end - key), plain, sizeof plain), p, after);
        } else {
            field(&e, key, (size_t)(key_end - key), p, after);
        }
        p = after;
    }
    add(k, &e);
    return p + 1;
}
