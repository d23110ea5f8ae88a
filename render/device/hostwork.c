/* hostwork.c - see hostwork.h. */
#include "render/device/hostwork.h"

#include "render/device/codelines.h"

#include <stdlib.h>
#include <string.h>

/* What a thread does at an instant. If several threads differ, the first role in this order counts. */
enum role {
    ROLE_OPTIMIZER = 0,
    ROLE_BACKWARD,
    ROLE_FORWARD,
    N_COMPUTE_ROLES,
    ROLE_COMM = N_COMPUTE_ROLES,
    ROLE_COMM_CALL,
    N_ROLES
};

struct piece_record {
    struct spill_key key; /* start, role */
    int64_t end_ns;
};

struct open_range {
    int64_t start_ns, end_ns;
    int64_t first_call_ns; /* for a collective, in it; INT64_MAX = none */
    enum host_name name;
};

struct host_work {
    struct dcr_arena arena;
    struct device_steps *steps;
    struct spill *pieces;
    struct open_range *open; /* of the thread */
    size_t n_open, open_cap;
    int64_t thread, now;
    struct host_comm *comm;
    size_t n_comm, next_comm;     /* next_comm: of the thread, the first that begins after now */
    size_t *active, n_active;     /* collectives under way now */
    struct piece_record last;     /* the piece that may go on; end_ns <= start: none */
    int64_t *ns[N_COMPUTE_ROLES]; /* of each step */
    int64_t end_of[N_ROLES];      /* the latest end so far */
    size_t cursor[2];             /* of HOST_DATA, HOST_IO */
    struct code_log *code;        /* or NULL */
    size_t unnamed_at[2];         /* cursors as above, of the overhead */
};

struct host_work *host_work_new(struct device_steps *steps, size_t max_bytes)
{
    struct host_work *w = calloc(1, sizeof *w);
    if (w && !(w->pieces = spill_new(sizeof(struct piece_record), max_bytes))) {
        free(w);
        return NULL;
    }
    if (w)
        w->steps = steps;
    return w;
}

void host_work_free(struct host_work *w)
{
    if (!w)
        return;
    spill_free(w->pieces);
    dcr_arena_release(&w->arena);
    free(w);
}

/* ---- the ranges of a thread become pieces ---------------------------------------------------------------- */

static int is_operator(enum host_name n)
{
    return n == HOST_NAME_OPERATOR || n == HOST_NAME_BACKWARD;
}

/* Does this operator contain a collective under way? One on another thread belongs to the operator only if the operator
 * called for it. */
static int holds_collective(const struct host_work *w, const struct open_range *op)
{
    for (size_t i = 0; i < w->n_active; i++) {
        const struct host_comm *c = &w->comm[w->active[i]];
        if (c->start_ns >= op->start_ns && c->end_ns <= op->end_ns &&
            (c->thread == w->thread || op->first_call_ns <= c->start_ns))
            return 1;
    }
    return 0;
}

/* Finds the collectives under way at w->now. */
static void find_active(struct host_work *w)
{
    size_t k = 0;
    for (size_t i = 0; i < w->n_active; i++)
        if (w->comm[w->active[i]].end_ns > w->now)
            w->active[k++] = w->active[i];
    for (; w->next_comm < w->n_comm && w->comm[w->next_comm].start_ns <= w->now; w->next_comm++)
        if (w->comm[w->next_comm].end_ns > w->now)
            w->active[k++] = w->next_comm;
    w->n_active = k;
}

/* Time of the next change of the open ranges or of the collectives under way, at most `to`. */
static int64_t next_change(const struct host_work *w, int64_t to)
{
    for (size_t i = 0; i < w->n_open; i++)
        to = w->open[i].end_ns < to ? w->open[i].end_ns : to;
    for (size_t i = 0; i < w->n_active; i++)
        to = w->comm[w->active[i]].end_ns < to ? w->comm[w->active[i]].end_ns : to;
    if (w->next_comm < w->n_comm && w->comm[w->next_comm].start_ns < to)
        to = w->comm[w->next_comm].start_ns;
    return to;
}

/* What the thread computes now, N_COMPUTE_ROLES = nothing. */
static enum role role_now(const struct host_work *w)
{
    int is_work = 0, is_backward = 0, is_optimizer = 0;
    for (size_t i = 0; i < w->n_open; i++) {
        const struct open_range *x = &w->open[i];
        is_optimizer |= x->name == HOST_NAME_OPTIMIZER;
        is_backward |= x->name == HOST_NAME_BACKWARD;
        is_work = is_work || (is_operator(x->name) && !holds_collective(w, x));
    }
    return !is_work ? N_COMPUTE_ROLES : is_optimizer ? ROLE_OPTIMIZER : is_backward ? ROLE_BACKWARD : ROLE_FORWARD;
}

static void flush_piece(struct host_work *w)
{
    if (w->last.end_ns > w->last.key.a)
        spill_add(w->pieces, &w->last);
    w->last = (struct piece_record){.end_ns = 0};
}

/* Adds a piece of compute. It extends the last piece if it begins where that one ended. */
static void add_piece(struct host_work *w, enum role role, int64_t from, int64_t to)
{
    int goes_on = w->last.end_ns > w->last.key.a && w->last.end_ns == from && w->last.key.b == (int64_t)role;
    if (!goes_on) {
        flush_piece(w);
        w->last.key = (struct spill_key){from, (int64_t)role};
    }
    w->last.end_ns = to;
}

/* Advances the time of the thread to `to`. */
static void pass_thread(struct host_work *w, int64_t to)
{
    while (w->n_open && w->now < to) {
        find_active(w);
        int64_t until = next_change(w, to);
        enum role role = role_now(w);
        if (role != N_COMPUTE_ROLES)
            add_piece(w, role, w->now, until);
        w->now = until;
        size_t k = 0;
        for (size_t i = 0; i < w->n_open; i++)
            if (w->open[i].end_ns > until)
                w->open[k++] = w->open[i];
        w->n_open = k;
    }
    w->now = w->n_open ? to : w->now;
}

static int by_start(const void *a, const void *b)
{
    const struct host_comm *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

void host_work_comm(struct host_work *w, struct host_comm *list, size_t n)
{
    if (n > 1)
        qsort(list, n, sizeof *list, by_start);
    w->comm = list;
    w->n_comm = n;
    w->active = dcr_arena_alloc(&w->arena, (n + 1) * sizeof *w->active);
}

static void begin_thread(struct host_work *w, int64_t thread)
{
    pass_thread(w, INT64_MAX);
    w->thread = thread;
    w->next_comm = w->n_active = 0;
}

/* Records a call for a collective in the operators that are open. */
static void call_in_open(struct host_work *w, int64_t start_ns, int64_t end_ns)
{
    for (size_t i = 0; i < w->n_open; i++)
        if (w->open[i].first_call_ns == INT64_MAX && end_ns <= w->open[i].end_ns)
            w->open[i].first_call_ns = start_ns;
}

void host_work_add(struct host_work *w, int64_t thread, enum host_name name, int64_t start_ns, int64_t end_ns)
{
    if (name == HOST_NAME_RANGE || name == HOST_NAME_COMM || end_ns <= start_ns)
        return;
    if (thread != w->thread)
        begin_thread(w, thread);
    pass_thread(w, start_ns);
    w->now = start_ns;
    if (name == HOST_NAME_COMM_CALL) {
        call_in_open(w, start_ns, end_ns);
        return;
    }
    w->open = arena_grow(&w->arena, w->open, w->n_open, &w->open_cap, sizeof *w->open);
    w->open[w->n_open++] = (struct open_range){start_ns, end_ns, INT64_MAX, name};
    long step = is_operator(name) ? device_steps_index(w->steps, start_ns) : -1;
    if (step >= 0)
        w->steps->list[step].n_launched++;
}

/* ---- pieces of all threads become parts of steps ---------------------------------------------------------- */

/* Adds [from, to), in which the threads have this set of roles. */
static void account(struct host_work *w, const struct intervals *host, int64_t from, int64_t to, unsigned set)
{
    struct device_steps *s = w->steps;
    int role = 0;
    while (!(set & 1u << role))
        role++;
    while (s->at < s->n && s->list[s->at].end_ns <= from)
        s->at++;
    for (size_t i = s->at; i < s->n && s->list[i].start_ns < to; i++) {
        struct device_step *x = &s->list[i];
        int64_t lo = x->start_ns > from ? x->start_ns : from, hi = x->end_ns < to ? x->end_ns : to;
        if (lo >= hi)
            continue;
        int64_t before = intervals_covered(&host[HOST_DATA], lo, hi, &w->cursor[0]) +
                         intervals_covered(&host[HOST_IO], lo, hi, &w->cursor[1]);
        int is_compute = role < N_COMPUTE_ROLES;
        x->part_ns[is_compute ? CAT_COMPUTE : CAT_COMM] += hi - lo - before;
        if (is_compute)
            w->ns[role][i] += hi - lo - before;
        if (set >> N_COMPUTE_ROLES)
            x->hidden_comm_ns += is_compute ? hi - lo : before;
    }
}

/* The end of [from, to), or an earlier time at which the host changes its work. *is_busy: the host loads data or uses
 * files until then. */
static int64_t host_change(struct host_work *w, const struct intervals *host, int64_t from, int64_t to, int *is_busy)
{
    static const enum host_range of[2] = {HOST_DATA, HOST_IO};
    *is_busy = 0;
    for (int k = 0; k < 2; k++) {
        const struct intervals *x = &host[of[k]];
        size_t *at = &w->unnamed_at[k];
        while (*at < x->n && x->at[*at][1] <= from)
            ++*at;
        if (*at == x->n)
            continue;
        int is_in = x->at[*at][0] <= from;
        int64_t change = x->at[*at][is_in];
        *is_busy |= is_in;
        to = change < to ? change : to;
    }
    return to;
}

/* Finds the lines of [from, to), in which no thread has a role. */
static void find_lines(struct host_work *w, const struct intervals *host, int64_t from, int64_t to)
{
    struct device_steps *s = w->steps;
    while (s->at < s->n && s->list[s->at].end_ns <= from)
        s->at++;
    for (size_t i = s->at; i < s->n && s->list[i].start_ns < to; i++) {
        const struct device_step *x = &s->list[i];
        int64_t hi = x->end_ns < to ? x->end_ns : to;
        for (int64_t lo = x->start_ns > from ? x->start_ns : from, until; lo < hi && device_step_counts(x);
             lo = until) {
            int is_busy;
            until = host_change(w, host, lo, hi, &is_busy);
            if (!is_busy)
                code_log_spend(w->code, code_log_busiest(w->code), lo, until);
        }
    }
}

static void pass(struct host_work *w, const struct intervals *host, int64_t to)
{
    while (w->now < to) {
        unsigned set = 0;
        int64_t until = to;
        for (int k = 0; k < N_ROLES; k++)
            if (w->end_of[k] > w->now) {
                set |= 1u << k;
                until = w->end_of[k] < until ? w->end_of[k] : until;
            }
        if (!set)
            break;
        account(w, host, w->now, until, set);
        w->now = until;
    }
    if (w->code && w->now < to)
        find_lines(w, host, w->now, to);
    w->now = to;
}

int host_work_finish(struct host_work *w, const struct intervals *host, struct code_log *code, struct dcr_arena *arena,
                     struct dcr_err *err)
{
    const struct piece_record *p;
    int has_backend = 0;
    pass_thread(w, INT64_MAX);
    flush_piece(w);
    for (size_t i = 0; i < w->n_comm; i++) {
        enum role role = w->comm[i].name == HOST_NAME_COMM ? ROLE_COMM : ROLE_COMM_CALL;
        has_backend |= role == ROLE_COMM;
        if (w->comm[i].end_ns > w->comm[i].start_ns)
            spill_add(w->pieces, &(struct piece_record){{w->comm[i].start_ns, (int64_t)role}, w->comm[i].end_ns});
    }
    int rc = spill_sort(w->pieces, err);
    if (rc)
        return rc;
    for (int k = 0; k < N_COMPUTE_ROLES; k++)
        w->ns[k] = dcr_arena_alloc(&w->arena, (w->steps->n + 1) * sizeof *w->ns[k]);
    for (int k = 0; k < N_ROLES; k++)
        w->end_of[k] = INT64_MIN;
    w->now = INT64_MIN;
    w->code = code;
    w->steps->at = 0;
    while ((p = spill_next(w->pieces)) != NULL) {
        pass(w, host, p->key.a);
        if (p->key.b == (has_backend ? ROLE_COMM : ROLE_COMM_CALL))
            device_steps_comm(w->steps, arena, p->key.a, p->end_ns - p->key.a);
        if (p->end_ns > w->end_of[p->key.b])
            w->end_of[p->key.b] = p->end_ns;
    }
    pass(w, host, INT64_MAX);
    return spill_failed(w->pieces) ? dcr_err_set(err, DCR_FATAL, "cannot read back the temporary file of a trace") : 0;
}

void host_work_phases(const struct host_work *w, struct dcr_arena *arena, struct reduced *out)
{
    static const char *const names[N_COMPUTE_ROLES] = {[ROLE_OPTIMIZER] = "optimizer operators",
                                                       [ROLE_BACKWARD] = "backward operators",
                                                       [ROLE_FORWARD] = "forward and other operators"};
    static const enum role order[N_COMPUTE_ROLES] = {ROLE_FORWARD, ROLE_BACKWARD, ROLE_OPTIMIZER};
    struct run_phase *all = dcr_arena_alloc(arena, ((size_t)out->n_phases + N_COMPUTE_ROLES) * sizeof *all);
    int n = 0;
    for (int k = 0; k < N_COMPUTE_ROLES; k++) {
        int64_t *ns = dcr_arena_alloc(arena, (out->n_steps + 1) * sizeof *ns), sum = 0;
        size_t row = 0;
        for (size_t i = 0; i < w->steps->n; i++)
            if (device_step_counts(&w->steps->list[i]))
                sum += ns[row++] = w->ns[order[k]][i];
        if (sum > 0)
            all[n++] = (struct run_phase){
                .name = names[order[k]], .category = CAT_COMPUTE, .ns = ns, .gpu_why = REASON_TRACE_WITHOUT_GPU};
    }
    if (out->n_phases)
        memcpy(&all[n], out->phases, (size_t)out->n_phases * sizeof *all);
    out->phases = all;
    out->n_phases += n;
}
