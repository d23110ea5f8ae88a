/* sweep.c - one pass over the operations of a device in order of their start: unions and intersections of the kinds,
 * idle time and its causes. Time is cut at every start and every end that changes which kinds are running. Each
 * piece is added to the sum of its set of kinds. Every union, intersection and difference is a sum of those. */
#include "render/device/codelines.h"
#include "render/device/steps.h"

#include <string.h>

enum { MAX_RUNNING = 256, LAUNCH_GAP_NS = 10000 };

struct sweep {
    int64_t now;
    int64_t end_of[N_OP_KINDS];      /* latest end of an operation of the kind so far */
    int64_t in_set[1 << N_OP_KINDS]; /* ns in which exactly this set of kinds was running */
    size_t cursor[N_HOST_RANGES];
    size_t waits[THREADS_MAX]; /* cursors into the synchronising calls of the threads */
    const struct intervals *host;
    const struct threads *threads;
    struct code_log *code;
    struct device_steps *steps; /* NULL = none */
    struct {
        int64_t from, to; /* first step's start to last one's end; empty without steps */
        int64_t busy_ns, kernel_ns, behind_sync_ns, *idle_ns;
        double sm_time;
        size_t cursor[N_HOST_RANGES];
    } window;
    struct {
        int64_t end_ns;
        double blocks;
    } running[MAX_RUNNING]; /* kernels, for the estimated SM efficiency */
    int n_running, is_crowded;
    double sm_time;
};

/* Synchronising calls in [from, to) of the thread that launched the next operation, since calls of other threads do not
 * delay it. If the thread is unknown or no operation follows, those of all threads. */
static int64_t waited(struct sweep *w, int64_t from, int64_t to, const struct op_record *next)
{
    if (!next || next->launch_ns == NO_LAUNCH || next->thread < 0)
        return intervals_covered(&w->host[HOST_SYNC], from, to, &w->cursor[HOST_SYNC]);
    return intervals_covered(&w->host[N_HOST_RANGES + next->thread], from, to, &w->waits[next->thread]);
}

/* Why nothing runs in [from, to) outside of data loading and I/O; next NULL: no operation follows. */
static enum idle_cause cause_of(struct sweep *w, int64_t from, int64_t to, const struct op_record *next)
{
    int64_t sync = waited(w, from, to, next);
    if (next && next->launch_ns != NO_LAUNCH && next->launch_ns > from)
        return IDLE_HOST;
    return sync > 0                            ? IDLE_SYNC
           : next && next->kind == OP_COMM     ? IDLE_PEER
           : next && to - from < LAUNCH_GAP_NS ? IDLE_LAUNCH
                                               : IDLE_OTHER;
}

/* returns  the time that data loading, I/O and the host's exchanges do not cover */
static int64_t blame(const struct sweep *w, int64_t from, int64_t to, enum idle_cause cause, size_t *cursor,
                     int64_t *idle_ns)
{
    int64_t data = intervals_covered(&w->host[HOST_DATA], from, to, &cursor[HOST_DATA]);
    int64_t io = intervals_covered(&w->host[HOST_IO], from, to, &cursor[HOST_IO]);
    idle_ns[IDLE_DATA] += data;
    idle_ns[IDLE_IO] += io;
    int64_t comm = intervals_covered(&w->host[HOST_COMM], from, to, &cursor[HOST_COMM]),
            left = to - from - data - io - comm;
    idle_ns[IDLE_PEER] += comm;
    idle_ns[cause] += left;
    return left;
}

/* The part of [from, to) that lies in the steps' window. */
static int64_t blame_in_window(struct sweep *w, int64_t from, int64_t to, enum idle_cause cause)
{
    int64_t lo = from > w->window.from ? from : w->window.from, hi = to < w->window.to ? to : w->window.to;
    return lo < hi ? blame(w, lo, hi, cause, w->window.cursor, w->window.idle_ns) : 0;
}

/* The end of the range of x that holds t; INT64_MIN = no range does. */
static int64_t end_of_range(const struct intervals *x, size_t *cursor, int64_t t)
{
    while (*cursor < x->n && x->at[*cursor][1] <= t)
        (*cursor)++;
    return *cursor < x->n && x->at[*cursor][0] <= t ? x->at[*cursor][1] : INT64_MIN;
}

/* Did the device run dry while the host waited for it, and did this wait delay the launch of next? A call of the same
 * thread did. A call of another thread of the process may have, if it had ended by then. A call that still waited, or
 * one of another process, did not. */
static int is_in_sync(struct sweep *w, int64_t from, const struct op_record *next)
{
    if (next->thread < 0)
        return end_of_range(&w->host[HOST_SYNC], &w->cursor[HOST_SYNC], from) != INT64_MIN;
    for (int i = 0; i < w->threads->n; i++) {
        if (w->threads->of[i].process != w->threads->of[next->thread].process)
            continue;
        int64_t end = end_of_range(&w->host[N_HOST_RANGES + i], &w->waits[i], from);
        if (end != INT64_MIN && (i == next->thread || end <= next->launch_ns))
            return 1;
    }
    return 0;
}

/* The first range of x that ends after t; NULL = none. */
static const int64_t *range_behind(const struct intervals *x, int64_t t)
{
    size_t lo = 0, hi = x->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (x->at[mid][1] <= t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < x->n ? x->at[lo] : NULL;
}

/* Finds the line the host was in when it was late. Time in which it loaded data, used files or exchanged has that cause
 * instead. */
static void find_lines(struct sweep *w, int64_t from, int64_t to, const struct op_record *next)
{
    int64_t thread = next->thread < 0 ? 0 : w->threads->of[next->thread].thread;
    while (from < to) {
        int64_t until = to, behind = from;
        for (int k = 0; k < HOST_SYNC; k++) {
            const int64_t *x = range_behind(&w->host[k], from);
            if (x && x[0] <= from)
                behind = x[1] > behind ? x[1] : behind;
            else if (x && x[0] < until)
                until = x[0];
        }
        if (behind == from)
            code_log_spend(w->code, thread, from, until);
        from = behind > from ? behind : until;
    }
}

/* The gap [from, to) before an operation. */
static void blame_gap(struct sweep *w, int64_t from, int64_t to, const struct op_record *next, int64_t *idle_ns)
{
    enum idle_cause cause = cause_of(w, from, to, next);
    blame(w, from, to, cause, w->cursor, idle_ns);
    if (w->code && cause == IDLE_HOST)
        find_lines(w, from, to, next);
    int64_t ns = blame_in_window(w, from, to, cause);
    w->window.behind_sync_ns += cause == IDLE_HOST && is_in_sync(w, from, next) ? ns : 0;
}

static void work_in_window(struct sweep *w, int64_t from, int64_t to, unsigned set)
{
    int64_t lo = from > w->window.from ? from : w->window.from, hi = to < w->window.to ? to : w->window.to;
    if (lo >= hi)
        return;
    w->window.busy_ns += hi - lo;
    w->window.kernel_ns += set & (1u << OP_COMPUTE | 1u << OP_COMM) ? hi - lo : 0;
}

static void add_sm_time(struct sweep *w, double share, int64_t from, int64_t to)
{
    int64_t lo = from > w->window.from ? from : w->window.from, hi = to < w->window.to ? to : w->window.to;
    w->sm_time += share * (double)(to - from);
    w->window.sm_time += lo < hi ? share * (double)(hi - lo) : 0;
}

/* Blocks per SM of all running kernels together, at most 1, over [now, to). */
static void run_kernels(struct sweep *w, int64_t to)
{
    int64_t at = w->now;
    while (w->n_running && at < to) {
        double blocks = 0;
        int64_t until = to;
        for (int i = 0; i < w->n_running; i++) {
            blocks += w->running[i].blocks;
            until = w->running[i].end_ns < until ? w->running[i].end_ns : until;
        }
        if (until > at)
            add_sm_time(w, blocks < 1 ? blocks : 1, at, until);
        at = until > at ? until : at;
        int k = 0;
        for (int i = 0; i < w->n_running; i++)
            if (w->running[i].end_ns > at)
                w->running[k++] = w->running[i];
        w->n_running = k;
    }
}

/* Advances time to `to`, where next begins (NULL: to the end of everything). */
static void pass(struct sweep *w, int64_t to, const struct op_record *next, int64_t *idle_ns)
{
    run_kernels(w, to);
    while (w->now < to) {
        unsigned set = 0;
        int64_t until = to;
        for (int k = 0; k < N_OP_KINDS; k++)
            if (w->end_of[k] > w->now) {
                set |= 1u << k;
                until = w->end_of[k] < until ? w->end_of[k] : until;
            }
        w->in_set[set] += until - w->now;
        if (w->steps)
            device_steps_pass(w->steps, w->host, w->now, until, set);
        if (set)
            work_in_window(w, w->now, until, set);
        else if (next)
            blame_gap(w, w->now, until, next, idle_ns);
        w->now = until;
    }
}

static void add_op(struct sweep *w, const struct op_record *op)
{
    if (op->end_ns > w->end_of[op->kind])
        w->end_of[op->kind] = op->end_ns;
    if ((op->kind != OP_COMPUTE && op->kind != OP_COMM) || op->blocks_per_sm < 0 || op->end_ns <= w->now)
        return;
    if (w->n_running == MAX_RUNNING) {
        w->is_crowded = 1;
        return;
    }
    w->running[w->n_running].end_ns = op->end_ns;
    w->running[w->n_running++].blocks = (double)op->blocks_per_sm;
}

/* Sum over the sets that hold any of `any` and none of `none`. */
static int64_t time_in(const struct sweep *w, unsigned any, unsigned none)
{
    int64_t sum = 0;
    for (unsigned set = 0; set < 1u << N_OP_KINDS; set++)
        if ((set & any) && !(set & none))
            sum += w->in_set[set];
    return sum;
}

static void write_unions(const struct sweep *w, struct run_device *out)
{
    const unsigned compute = 1u << OP_COMPUTE, comm = 1u << OP_COMM, copy = 1u << OP_MEMCPY, set = 1u << OP_MEMSET;
    int64_t *v = out->value;
    v[DEV_BUSY] = time_in(w, compute | comm | copy | set, 0);
    v[DEV_IDLE] = v[DEV_SPAN] - v[DEV_BUSY];
    v[DEV_COMPUTE] = time_in(w, compute, 0);
    v[DEV_COMM] = time_in(w, comm, 0);
    v[DEV_MEMCPY] = time_in(w, copy, 0);
    v[DEV_MEMSET] = time_in(w, set, 0);
    v[DEV_EXPOSED_COMM] = time_in(w, comm, compute);
    v[DEV_OVERLAP] = v[DEV_COMM] - v[DEV_EXPOSED_COMM];
    v[DEV_EXPOSED_MEM] = time_in(w, copy | set, compute | comm);
}

/* Operations of negative length may begin after the last end, so time blamed on them lies outside the span. */
static void trim_idle(struct run_device *out)
{
    int64_t beyond = -out->value[DEV_IDLE];
    for (int c = 0; c < N_IDLE_CAUSES; c++)
        beyond += out->idle_ns[c];
    for (int c = N_IDLE_CAUSES; beyond > 0 && c-- > 0;) {
        int64_t part = out->idle_ns[c] < beyond ? out->idle_ns[c] : beyond;
        out->idle_ns[c] -= part;
        beyond -= part;
    }
}

/* From the first step's start to the last one's end, including time before the first operation and after the last one.
 */
static void begin_window(struct sweep *w, const struct op_record *first, struct run_device *out)
{
    const struct device_steps *s = w->steps;
    if (!s || !s->n)
        return;
    w->window.from = s->list[0].start_ns;
    w->window.to = s->list[s->n - 1].end_ns;
    w->window.idle_ns = out->steps_idle_ns;
    int64_t until = first->key.b < w->window.to ? first->key.b : w->window.to;
    if (w->window.from < until)
        blame_in_window(w, w->window.from, until, cause_of(w, w->window.from, until, first));
    out->steps_lead_ns = out->steps_idle_ns[IDLE_HOST];
}

static void end_window(struct sweep *w, struct run_device *out)
{
    int64_t from = w->now > w->window.from ? w->now : w->window.from;
    if (from < w->window.to)
        blame_in_window(w, from, w->window.to, cause_of(w, from, w->window.to, NULL));
    out->steps_ns = w->window.to - w->window.from;
    out->steps_busy_ns = w->window.busy_ns;
    out->steps_kernel_ns = w->window.kernel_ns;
    out->steps_behind_sync_ns = w->window.behind_sync_ns;
    out->n_steps = w->steps ? (int64_t)w->steps->n : 0;
    out->is_last_step_cut = w->steps && w->steps->is_cut;
}

void sweep_device(struct spill *ops, const struct op_record **first, const struct host_side *host,
                  struct device_steps *steps, struct dcr_arena *arena, struct run_device *out)
{
    struct sweep w;
    memset(&w, 0, sizeof w);
    w.host = host->of;
    w.threads = host->threads;
    w.code = host->code;
    w.steps = steps;
    const struct op_record *op = *first;
    uint32_t device = op->device;
    int64_t start = op->key.b, last_end = start; /* not end_ns: an operation of negative length ends before its start */
    w.now = start;
    begin_window(&w, op, out);
    for (int k = 0; k < N_OP_KINDS; k++)
        w.end_of[k] = INT64_MIN;
    for (; op && op->device == device; op = spill_next(ops)) {
        pass(&w, op->key.b, op, out->idle_ns);
        if (steps && op->kind == OP_COMM)
            device_steps_comm(steps, arena, op->key.b, op->end_ns - op->key.b);
        add_op(&w, op);
        last_end = op->end_ns > last_end ? op->end_ns : last_end;
        out->n_launched += op->launch_ns != NO_LAUNCH;
    }
    *first = op;
    pass(&w, last_end, NULL, out->idle_ns);
    end_window(&w, out);
    out->start_ns = start;
    out->value[DEV_SPAN] = last_end - start;
    write_unions(&w, out);
    trim_idle(out);
    int64_t window = out->steps_ns > 0 ? out->steps_ns : out->value[DEV_SPAN];
    out->has_sm = !w.is_crowded && window > 0;
    out->sm_ratio = out->has_sm ? (out->steps_ns > 0 ? w.window.sm_time : w.sm_time) / (double)window : 0;
}
