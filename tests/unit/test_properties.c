/* test_properties.c - properties of every run. Parts sum to the step, causes of idle time to the idle time, and classes
 * of a loss to the loss. Efficiencies multiply. Another presentation of the same run gives the same report. Runs are
 * random (random_run.h). A failing case prints its seed.
 *
 *   PROPERTY_SEEDS=17 build/tests/unit/test_properties          repeats it
 *   PROPERTY_SEEDS=1000-1999 build/tests/unit/test_properties   tries others */
#include "render/findings/narrate.h"
#include "render/pages/pages.h"
#include "tests/unit/random_run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static uint64_t seed_now;
#define holds(what)                                                                                                 \
    do {                                                                                                            \
        if (!(what))                                                                                                \
            fail_msg("seed %llu: does not hold: %s. PROPERTY_SEEDS=%llu repeats it.", (unsigned long long)seed_now, \
                     #what, (unsigned long long)seed_now);                                                          \
    } while (0)

/* The seeds of a test: the first `n`, or those of PROPERTY_SEEDS. */
static void for_seeds(int n, void (*one)(struct draws *d))
{
    const char *told = getenv("PROPERTY_SEEDS");
    unsigned long long from = 1, to = (unsigned long long)n;
    int n_told = told ? sscanf(told, "%llu-%llu", &from, &to) : 0;
    to = n_told == 1 ? from : to;
    assert_true((!told || n_told > 0) && from <= to);
    for (seed_now = from; seed_now <= to; seed_now++) {
        struct draws d = {seed_now * 0x9e3779b97f4a7c15u};
        one(&d);
    }
}

static int64_t sum_of(const int64_t *x, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

static int has_negative(const int64_t *x, int n)
{
    for (int i = 0; i < n; i++)
        if (x[i] < 0)
            return 1;
    return 0;
}

static int near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)) + 1e-12;
}

static int is_share(double x)
{
    return x >= 0 && x <= 1 + 1e-9;
}

/* ---- steps of one rank ---- */

/* Each instant belongs to the innermost range with a category on the steps' thread, so ranges are painted from the
 * outside in. */
static void paint_step(const struct timeline *t, const struct step_record *s, int64_t part[N_CATEGORIES])
{
    enum { DEPTHS = 8 };
    unsigned char *at = malloc((size_t)s->step_ns);
    assert_non_null(at);
    memset(at, CAT_OTHER, (size_t)s->step_ns);
    for (int depth = 0; depth < DEPTHS; depth++)
        for (int i = 0; i < t->n; i++) {
            const struct event *e = &t->event[i].e;
            if (e->track != STEP_TRACK || e->kind != EVENT_PHASE || e->depth != depth)
                continue;
            for (int64_t x = e->start_ns; x < e->end_ns; x++)
                if (x >= s->start_ns && x < s->start_ns + s->step_ns)
                    at[x - s->start_ns] = (unsigned char)e->category;
        }
    memset(part, 0, N_CATEGORIES * sizeof *part);
    for (int64_t x = 0; x < s->step_ns; x++)
        part[at[x]]++;
    free(at);
}

static void one_timeline(struct draws *d)
{
    static struct timeline t;
    struct dcr_arena arena = {0};
    int is_small = draw_in(d, 0, 1) == 0, n_steps = (int)draw_in(d, 0, 12);
    draw_timeline(d, &t, n_steps, is_small ? draw_in(d, 1, 300) : 10 + draw_time(d, INT64_C(1000000000000)),
                  (int)draw_in(d, 1, 3));
    struct reduced steps = reduce_timeline(&t, 0, &arena), later = reduce_timeline(&t, 123456789, &arena);
    holds(steps.n_steps == (size_t)n_steps && later.n_steps == steps.n_steps);
    holds(later.n_collectives == steps.n_collectives && later.wall_ns == steps.wall_ns);
    int64_t inside = 0, between = 0;
    for (size_t i = 0; i < steps.n_steps; i++) {
        const struct step_record *s = &steps.steps[i];
        struct step_record moved = later.steps[i];
        int64_t painted[N_CATEGORIES];
        holds(sum_of(s->part_ns, N_CATEGORIES) == s->step_ns && !has_negative(s->part_ns, N_CATEGORIES));
        holds(s->hidden_comm_ns >= 0 && s->hidden_comm_ns <= s->step_ns);
        moved.start_ns -= 123456789;
        holds(memcmp(&moved, s, sizeof moved) == 0);
        inside += s->step_ns;
        if (is_small) {
            paint_step(&t, s, painted);
            holds(memcmp(painted, s->part_ns, sizeof painted) == 0);
        }
    }
    holds(!has_negative(steps.outside_ns, N_CATEGORIES) && steps.validation_ns >= 0);
    holds(inside + sum_of(steps.outside_ns, N_CATEGORIES) + steps.validation_ns <= steps.wall_ns);
    for (size_t i = 0; i < steps.n_collectives; i++) {
        const struct collective *c = &steps.collectives[i];
        holds(c->dur_ns >= 0 && c->outside_ns >= 0 && !has_negative(c->since_ns, N_CATEGORIES));
        between += sum_of(c->since_ns, N_CATEGORIES) + c->outside_ns;
    }
    holds(between <= steps.wall_ns);
    dcr_arena_release(&arena);
}

static void test_steps_of_a_rank(void **state)
{
    (void)state;
    for_seeds(300, one_timeline);
}

/* ---- a run ---- */

static void check_pop(const struct pop *p)
{
    if (!p->has_useful)
        return;
    holds(near(p->parallel_ratio, p->load_balance_ratio * p->communication_ratio));
    holds(near(p->communication_ratio, p->serialization_ratio * p->transfer_ratio));
    holds(is_share(p->parallel_ratio) && is_share(p->load_balance_ratio) && is_share(p->communication_ratio));
    holds(!p->is_of_gpus || near(p->communication_ratio, p->gpu_communication_ratio * p->orchestration_ratio));
    holds(p->node_max_ns <= 0 || near(p->load_balance_ratio, p->in_nodes_ratio * p->between_nodes_ratio));
    holds(!p->has_scaling || near(p->global_ratio, p->parallel_ratio * p->computation_scaling_ratio));
}

static void check_steps(const struct run_result *k)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < k->n_counted; i++) {
        int64_t of_ranks = sum_of(k->step_part_ns[i], N_PARTS);
        holds(!has_negative(k->step_part_ns[i], N_PARTS));
        holds(llabs(of_ranks - k->step_ns[i] * k->n_rank_results) <= k->n_rank_results); /* the mean is rounded */
        sum += of_ranks;
        for (int c = 0; c < N_CLASSES; c++)
            holds(k->step_gain_ns[i][c] >= 0); /* may exceed the step, if ranks are late from the step before */
    }
    /* sum / (steps x ranks), rounded half up */
    int64_t n = k->n_counted * k->n_rank_results;
    holds(k->step.mean_ns == sum / n + (sum % n >= n - sum % n));
}

static void check_run(const struct run_result *k)
{
    if (!k->has_steps) {
        holds(k->steps_why.code != REASON_NONE);
        return;
    }
    holds(k->n_counted >= 1 && k->n_counted + k->n_warmup == k->n_steps);
    holds(sum_of(k->part_ns, N_PARTS) == k->step.mean_ns && !has_negative(k->part_ns, N_PARTS));
    holds(k->comm_ns == k->part_ns[PART_TRANSFER] + k->part_ns[PART_WAIT]);
    holds(sum_of(k->wait_cause_ns, N_CATEGORIES) == k->part_ns[PART_WAIT]);
    holds(!has_negative(k->wait_cause_ns, N_CATEGORIES));
    holds(k->step.min_ns <= k->step.median_ns && k->step.median_ns <= k->step.p95_ns &&
          k->step.p95_ns <= k->step.max_ns);
    holds(k->step.min_ns <= k->step.mean_ns && k->step.mean_ns <= k->step.max_ns);
    for (int c = 0; c < N_CLASSES; c++)
        holds(k->gain_ns[c] >= 0 && k->gain_ns[c] <= k->step.mean_ns);
    int64_t n_last = 0;
    for (int r = 0; r < k->n_rank_results; r++) {
        holds(sum_of(k->ranks[r].part_ns, N_PARTS) == k->ranks[r].step.mean_ns);
        holds(!has_negative(k->ranks[r].part_ns, N_PARTS) && k->ranks[r].caused_wait_ns >= 0);
        n_last += k->ranks[r].n_last;
    }
    holds(k->n_matched == 0 || n_last == k->n_matched);
    check_steps(k);
    check_pop(&k->pop);
    for (int c = 0; c < N_CLASSES; c++) {
        const struct class_result *of = &k->classes[c];
        holds(!of->has_share || is_share(of->share_ratio));
        holds(of->verdict != VERDICT_NA || of->why.code != REASON_NONE);
    }
}

/* The whole report as one text: all its documents. */
static void report_on(struct report *rep, struct run **runs, int n, struct dcr_buf *out)
{
    struct analyse_options o = made_options();
    struct dcr_err err = {0};
    memset(rep, 0, sizeof *rep);
    holds(analyse(rep, runs, n, &o, &err) == 0);
    narrate(rep);
    holds(documents_make(rep, &err) == 0);
    for (int i = 0; i < rep->n_documents; i++)
        dcr_buf_add(out, rep->documents[i].bytes, rep->documents[i].len);
}

/* Fail with the place where two texts differ, because reports are long. */
static void same_text(struct dcr_buf *a, struct dcr_buf *b, const char *what)
{
    const char *x = dcr_buf_text(a), *y = dcr_buf_text(b);
    size_t i = 0;
    while (x[i] && x[i] == y[i])
        i++;
    size_t from = i > 100 ? i - 100 : 0;
    if (x[i] || y[i])
        fail_msg("seed %llu: %s changes the report:\n%.200s\nbecomes\n%.200s", (unsigned long long)seed_now, what,
                 x + from, y + from);
}

static void told_again(const struct random_run *drawn, const struct telling *how, struct dcr_buf *before,
                       const char *what)
{
    struct run *run = tell_run(drawn, how);
    struct report rep;
    struct dcr_buf now = {0};
    report_on(&rep, &run, 1, &now);
    same_text(before, &now, what);
    dcr_buf_release(&now);
    report_free(&rep);
    run_free(run);
}

static int same_pop(const struct pop *a, const struct pop *b)
{
    return a->has == b->has && near(a->parallel_ratio, b->parallel_ratio) &&
           near(a->load_balance_ratio, b->load_balance_ratio) && near(a->transfer_ratio, b->transfer_ratio);
}

/* The ranks get other numbers: all values of the run stay, and each rank keeps its values. */
static void renamed(const struct random_run *drawn, const struct telling *how, const struct run_result *before)
{
    struct run *run = tell_run(drawn, how);
    struct report rep;
    struct dcr_buf text = {0};
    report_on(&rep, &run, 1, &text);
    const struct run_result *now = &rep.runs[0];
    holds(now->has_steps == before->has_steps && now->n_counted == before->n_counted);
    holds(now->step.mean_ns == before->step.mean_ns && now->step.max_ns == before->step.max_ns);
    holds(memcmp(now->part_ns, before->part_ns, sizeof now->part_ns) == 0);
    holds(memcmp(now->wait_cause_ns, before->wait_cause_ns, sizeof now->wait_cause_ns) == 0);
    holds(memcmp(now->gain_ns, before->gain_ns, sizeof now->gain_ns) == 0);
    holds(now->n_matched == before->n_matched && now->skew.mean_ns == before->skew.mean_ns);
    holds(same_pop(&now->pop, &before->pop));
    for (int c = 0; c < N_CLASSES; c++)
        holds(now->classes[c].verdict == before->classes[c].verdict &&
              now->classes[c].share_ns == before->classes[c].share_ns);
    for (int r = 0; r < before->n_rank_results; r++) {
        const struct rank_result *was = &before->ranks[r], *is = now->ranks;
        while (is->rank != how->name[was->rank])
            is++;
        holds(is->step.mean_ns == was->step.mean_ns && is->hidden_comm_ns == was->hidden_comm_ns);
        holds(memcmp(is->part_ns, was->part_ns, sizeof is->part_ns) == 0);
    }
    dcr_buf_release(&text);
    report_free(&rep);
    run_free(run);
}

static void one_run(struct draws *d)
{
    static struct random_run drawn;
    int order[RANDOM_RANKS], other[RANDOM_RANKS];
    draw_run(d, &drawn, (int)draw_in(d, 1, 6), draw_in(d, 0, 1) != 0);
    shuffle(d, order, drawn.n_ranks);
    shuffle(d, other, drawn.n_ranks);
    struct run *run = tell_run(&drawn, NULL);
    struct report rep;
    struct dcr_buf text = {0};
    report_on(&rep, &run, 1, &text);
    check_run(&rep.runs[0]);
    told_again(&drawn, &(struct telling){.order = order}, &text, "the order in which ranks are read");
    told_again(&drawn, &(struct telling){.shift_ns = INT64_C(7777777777)}, &text, "the clock of a rank");
    told_again(&drawn, &(struct telling){.is_split = 1}, &text, "a split of each rank's file into two");
    renamed(&drawn, &(struct telling){.name = other}, &rep.runs[0]);
    dcr_buf_release(&text);
    report_free(&rep);
    run_free(run);
}

static void test_a_run(void **state)
{
    (void)state;
    for_seeds(100, one_run);
}

/* ---- a device ---- */

enum { PAINTED = 16384 };
/* Every instant of one device, and of the host beside it. */
struct painted {
    unsigned char kinds[PAINTED]; /* bit: operations of that kind */
    unsigned char is_data[PAINTED], is_io[PAINTED], is_comm[PAINTED];
};

static void paint(const struct random_trace *t, int64_t device, struct painted *p)
{
    memset(p, 0, sizeof *p);
    for (int i = 0; i < t->n; i++) {
        const struct told_event *e = &t->event[i];
        if (e->kind == TOLD_OP && e->op.device == device) {
            enum op_kind kind = strstr(e->op.name, "nccl") ? OP_COMM : e->op.kind;
            for (int64_t x = e->op.start_ns; x < e->op.start_ns + e->op.dur_ns; x++)
                p->kinds[x] |= (unsigned char)(1u << kind);
        }
        for (int64_t x = e->start_ns; e->kind == TOLD_RANGE && x < e->start_ns + e->dur_ns; x++)
            (e->range == HOST_DATA ? p->is_data : e->range == HOST_IO ? p->is_io : p->is_comm)[x] = 1;
    }
}

static int64_t time_with(const struct painted *p, unsigned any, unsigned none)
{
    int64_t n = 0;
    for (int x = 0; x < PAINTED; x++)
        n += (p->kinds[x] & any) && !(p->kinds[x] & none);
    return n;
}

static void check_painted(const struct run_device *d, const struct painted *p)
{
    const unsigned compute = 1u << OP_COMPUTE, comm = 1u << OP_COMM, copy = 1u << OP_MEMCPY, set = 1u << OP_MEMSET;
    const int64_t *v = d->value;
    holds(v[DEV_BUSY] == time_with(p, 15, 0));
    holds(v[DEV_COMPUTE] == time_with(p, compute, 0) && v[DEV_COMM] == time_with(p, comm, 0));
    holds(v[DEV_MEMCPY] == time_with(p, copy, 0) && v[DEV_MEMSET] == time_with(p, set, 0));
    holds(v[DEV_EXPOSED_COMM] == time_with(p, comm, compute));
    holds(v[DEV_EXPOSED_MEM] == time_with(p, copy | set, compute | comm));
    if (!d->has_idle_causes)
        return;
    int64_t data = 0, io = 0, exchanged = 0;
    for (int64_t x = d->start_ns; x < d->start_ns + v[DEV_SPAN]; x++) {
        data += !p->kinds[x] && p->is_data[x];
        io += !p->kinds[x] && !p->is_data[x] && p->is_io[x];
        exchanged += !p->kinds[x] && !p->is_data[x] && !p->is_io[x] && p->is_comm[x];
    }
    holds(d->idle_ns[IDLE_DATA] == data && d->idle_ns[IDLE_IO] == io);
    holds(d->idle_ns[IDLE_PEER] >= exchanged); /* gaps before a collective besides */
}

static void check_painted_steps(const struct reduced *steps, const struct painted *p)
{
    for (size_t i = 0; i < steps->n_steps; i++) {
        const struct step_record *s = &steps->steps[i];
        int64_t part[N_CATEGORIES] = {0};
        for (int64_t x = s->start_ns; x < s->start_ns + s->step_ns; x++)
            part[p->kinds[x] & 1u << OP_COMPUTE ? CAT_COMPUTE
                 : p->kinds[x] & 1u << OP_COMM  ? CAT_COMM
                 : p->kinds[x]                  ? CAT_COPY
                 : p->is_data[x]                ? CAT_DATA
                 : p->is_io[x]                  ? CAT_IO
                 : p->is_comm[x]                ? CAT_COMM
                                                : CAT_OTHER]++;
        holds(memcmp(part, s->part_ns, sizeof part) == 0);
    }
}

static void check_device(const struct run_device *d)
{
    const int64_t *v = d->value;
    holds(v[DEV_SPAN] >= 0 && v[DEV_BUSY] + v[DEV_IDLE] == v[DEV_SPAN] && v[DEV_IDLE] >= 0);
    holds(v[DEV_COMPUTE] + v[DEV_EXPOSED_COMM] + v[DEV_EXPOSED_MEM] == v[DEV_BUSY]);
    holds(v[DEV_OVERLAP] + v[DEV_EXPOSED_COMM] == v[DEV_COMM]);
    holds(!has_negative(d->idle_ns, N_IDLE_CAUSES) && !has_negative(d->steps_idle_ns, N_IDLE_CAUSES));
    holds(sum_of(d->idle_ns, N_IDLE_CAUSES) == v[DEV_IDLE]);
    if (d->steps_ns) {
        holds(sum_of(d->steps_idle_ns, N_IDLE_CAUSES) == d->steps_ns - d->steps_busy_ns);
        holds(d->steps_kernel_ns <= d->steps_busy_ns && d->steps_busy_ns <= d->steps_ns);
        holds(d->steps_lead_ns + d->steps_behind_sync_ns <= d->steps_idle_ns[IDLE_HOST]);
    }
    holds(!d->has_sm || is_share(d->sm_ratio));
}

/* The results of one presentation of a trace. */
struct swept {
    struct dcr_arena arena;
    struct run_device *devices;
    int n;
    struct reduced steps;
};

static void sweep(struct swept *s, const struct random_trace *t, size_t max_bytes, const int *order, int64_t shift_ns,
                  int64_t only)
{
    struct activity *a = activity_new(max_bytes);
    struct dcr_err err = {0};
    memset(s, 0, sizeof *s);
    holds(a != NULL);
    tell_trace(t, a, order, shift_ns, only);
    holds(activity_finish(a, &s->arena, &s->devices, &s->n, &s->steps, &err) == 0);
    activity_free(a);
}

static void same_device(const struct run_device *a, const struct run_device *b, int has_steps)
{
    holds(a->device == b->device && memcmp(a->value, b->value, sizeof a->value) == 0);
    holds(a->has_idle_causes == b->has_idle_causes && memcmp(a->idle_ns, b->idle_ns, sizeof a->idle_ns) == 0);
    holds(a->n_launched == b->n_launched && memcmp(&a->queue, &b->queue, sizeof a->queue) == 0);
    if (!has_steps)
        return;
    holds(a->n_steps == b->n_steps && a->steps_ns == b->steps_ns && a->steps_busy_ns == b->steps_busy_ns);
    holds(memcmp(a->steps_idle_ns, b->steps_idle_ns, sizeof a->steps_idle_ns) == 0);
    holds(a->steps_behind_sync_ns == b->steps_behind_sync_ns && a->steps_lead_ns == b->steps_lead_ns);
    holds(a->n_mallocs == b->n_mallocs && a->n_syncs == b->n_syncs && a->n_to_host == b->n_to_host);
    holds(a->has_sm == b->has_sm && near(a->sm_ratio, b->sm_ratio));
}

static void same_sweep(const struct swept *a, const struct swept *b, int64_t shift_ns)
{
    holds(a->n == b->n && a->steps.n_steps == b->steps.n_steps && a->steps.wall_ns == b->steps.wall_ns);
    for (int i = 0; i < a->n; i++) {
        same_device(&a->devices[i], &b->devices[i], 1);
        holds(b->devices[i].start_ns - a->devices[i].start_ns == shift_ns);
    }
    for (size_t i = 0; i < a->steps.n_steps; i++) {
        const struct step_record *x = &a->steps.steps[i], *y = &b->steps.steps[i];
        holds(x->step == y->step && x->step_ns == y->step_ns && y->start_ns - x->start_ns == shift_ns);
        holds(memcmp(x->part_ns, y->part_ns, sizeof x->part_ns) == 0 && x->hidden_comm_ns == y->hidden_comm_ns);
        holds(x->runtime_ns == y->runtime_ns && x->n_collectives == y->n_collectives);
    }
}

static void one_trace(struct draws *d)
{
    enum { TINY = 4096, LATER = 987654321 };
    static struct random_trace t;
    static struct painted p[RANDOM_DEVICES];
    static int order[sizeof t.event / sizeof *t.event];
    struct swept whole, other;
    draw_trace(d, &t);
    shuffle(d, order, t.n);
    sweep(&whole, &t, 0, NULL, 0, -1);
    for (int i = 0; i < RANDOM_DEVICES; i++)
        paint(&t, i, &p[i]);
    for (int i = 0; i < whole.n; i++) {
        check_device(&whole.devices[i]);
        if (!t.is_odd)
            check_painted(&whole.devices[i], &p[whole.devices[i].device]);
        if (!t.is_odd && whole.devices[i].n_steps)
            check_painted_steps(&whole.steps, &p[whole.devices[i].device]);
    }
    for (size_t i = 0; i < whole.steps.n_steps; i++)
        holds(sum_of(whole.steps.steps[i].part_ns, N_CATEGORIES) == whole.steps.steps[i].step_ns &&
              !has_negative(whole.steps.steps[i].part_ns, N_CATEGORIES));
    sweep(&other, &t, 0, order, 0, -1);
    same_sweep(&whole, &other, 0);
    dcr_arena_release(&other.arena);
    sweep(&other, &t, 0, NULL, LATER, -1);
    same_sweep(&whole, &other, LATER);
    dcr_arena_release(&other.arena);
    sweep(&other, &t, TINY, order, 0, -1); /* sorted through files */
    same_sweep(&whole, &other, 0);
    dcr_arena_release(&other.arena);
    for (int i = 0; i < whole.n; i++) { /* a file for each device */
        sweep(&other, &t, 0, NULL, 0, whole.devices[i].device);
        holds(other.n == 1);
        same_device(&whole.devices[i], &other.devices[0], 0);
        dcr_arena_release(&other.arena);
    }
    dcr_arena_release(&whole.arena);
}

static void test_a_trace(void **state)
{
    (void)state;
    for_seeds(300, one_trace);
}

/* ---- traces of several ranks ---- */

enum { TRACED = 3 };

static struct run *tell_traces(const struct random_trace *t, int n, const int *order, int shifted, int64_t shift_ns)
{
    static const char *const file[TRACED] = {"0.json", "1.json", "2.json"};
    struct run *r = run_new("traced");
    r->run_id = "traced";
    r->is_foreign = 1;
    for (int i = 0; i < n; i++) {
        int k = order ? order[i] : i;
        struct swept s;
        sweep(&s, &t[k], 0, NULL, k == shifted ? shift_ns : 0, -1);
        struct foreign_trace one = {.file = file[k], .kind = FOREIGN_KINETO, .rank = k, .world_size = n};
        one.steps = s.steps;
        one.devices = s.devices;
        one.n_devices = s.n;
        run_add_trace(r, &one);
        dcr_arena_take(&r->arena, &s.arena);
    }
    run_sort_traces(r);
    run_take_trace_steps(r);
    run_sort(r);
    return r;
}

static void traces_again(struct run *run, struct dcr_buf *before, const char *what)
{
    struct report rep;
    struct dcr_buf now = {0};
    report_on(&rep, &run, 1, &now);
    same_text(before, &now, what);
    dcr_buf_release(&now);
    report_free(&rep);
    run_free(run);
}

static void one_set_of_traces(struct draws *d)
{
    static struct random_trace t[TRACED];
    int n = (int)draw_in(d, 1, TRACED), order[TRACED];
    for (int i = 0; i < n; i++)
        draw_trace(d, &t[i]);
    shuffle(d, order, n);
    struct run *run = tell_traces(t, n, NULL, -1, 0);
    struct report rep;
    struct dcr_buf text = {0};
    report_on(&rep, &run, 1, &text);
    check_run(&rep.runs[0]);
    traces_again(tell_traces(t, n, order, -1, 0), &text, "the order of traces");
    traces_again(tell_traces(t, n, NULL, 0, 55555555), &text, "the clock of a trace");
    dcr_buf_release(&text);
    report_free(&rep);
    run_free(run);
}

static void test_traces_of_ranks(void **state)
{
    (void)state;
    for_seeds(60, one_set_of_traces);
}

/* ---- a series ---- */

enum { POINTS = 4, REPEATED = 2 };

static void check_loss(const struct series *s, const struct series_loss *l)
{
    const struct series_point *a = &s->points[l->from], *b = &s->points[l->to];
    int is_weak = s->kind == SCALING_WEAK;
    holds(l->actual_ns == b->step.mean_ns && l->loss_ns == l->actual_ns - l->ideal_ns);
    /* what ideal scaling leaves, rounded half up */
    int64_t whole = a->step.mean_ns * (is_weak ? 1 : a->n_nodes), n = is_weak ? 1 : b->n_nodes;
    holds(l->ideal_ns == whole / n + (whole % n >= n - whole % n));
    holds(sum_of(l->part_ns, N_PARTS) == l->loss_ns);
    holds(sum_of(l->class_ns, N_LOSS_CLASSES) == l->loss_ns);
    for (int c = 0; c < N_LOSS_CLASSES; c++)
        holds(!l->class_why[c].code || l->class_ns[c] == 0);
}

static int n_with_phases;

/* The phases of a part and its unnamed rest add up to the part, at every point and in every loss. */
static void check_phases(const struct series *s)
{
    n_with_phases += s->n_phases > 0;
    for (int part = 0; part < N_PARTS && s->n_phases > 0; part++) {
        if (part == PART_WAIT)
            continue;
        for (int i = 0; i < s->n_points + s->n_losses; i++) {
            const int64_t *of = i < s->n_points ? s->points[i].part_ns : s->losses[i - s->n_points].part_ns;
            int64_t sum = 0;
            for (int k = 0; k < s->n_phases; k++)
                if (s->phases[k].part == (enum part)part)
                    sum += i < s->n_points ? s->phases[k].ns[i] : s->phases[k].lost_ns[i - s->n_points];
            holds(sum == of[part] + (part == PART_TRANSFER ? of[PART_WAIT] : 0));
        }
    }
}

static int n_with_rest[N_SERIES_NAMES], n_with_names[N_SERIES_NAMES], n_beside_phases;

static int64_t rounded(int64_t a, int64_t b)
{
    return a / b + (a % b >= b - a % b);
}

static int64_t self_of_all(const struct host_operators *o)
{
    int64_t ns = 0;
    for (int i = 0; i < o->n_names; i++)
        ns += o->list[i].self_ns;
    return ns;
}

static int has_profiler(const struct run *r)
{
    return r->n_traces && r->traces[0].operators.n_names;
}

/* All that a run recorded of a kind, without regard to names. Ranges of the program show the time of a profiler's
 * operators once more. */
static int64_t recorded_of(const struct run *r, enum series_names of)
{
    int64_t ns = of == NAMES_OPERATORS && !has_profiler(r) ? self_of_all(&r->ranges) : 0;
    for (int c = 0; of == NAMES_MPI && c < r->n_mpi_calls; c++)
        ns += (int64_t)r->mpi_calls[c].sum.ns;
    for (int t = 0; t < r->n_traces; t++) {
        ns += of == NAMES_OPERATORS ? self_of_all(&r->traces[t].operators) : 0;
        for (int i = 0; of == NAMES_COLLECTIVES && i < r->traces[t].devices[0].n_names; i++) {
            const struct device_name *n = &r->traces[t].devices[0].names[i];
            ns += n->kind == OP_COMM ? n->sum_ns : 0;
        }
    }
    return ns;
}

/* The operators, MPI calls and collectives by name sum to all that was recorded of each, at every point and in every
 * loss. */
static void check_names(const struct report *rep, const struct series *s, enum series_names of)
{
    int64_t all[POINTS], named[2 * POINTS] = {0};
    int n = 0;
    for (int k = 0; k < s->n_names; k++) {
        const struct series_name *x = &s->names[k];
        if (x->of != of)
            continue;
        n++;
        n_with_rest[of] += !*x->name;
        for (int i = 0; i < s->n_points; i++)
            named[i] += x->ns[i];
        for (int i = 0; i < s->n_losses; i++)
            named[POINTS + i] += x->lost_ns[i];
    }
    n_with_names[of] += n > 1;
    holds(n <= SERIES_NAMES_SHOWN + 1);
    for (int i = 0; i < s->n_points && n; i++) {
        int64_t ns = 0, n_steps = 0;
        for (int k = 0; k < s->points[i].n_runs; k++) {
            const struct run *r = rep->runs[s->points[i].runs[k]].run;
            ns += recorded_of(r, of);
            int is_traced = of == NAMES_COLLECTIVES || (of == NAMES_OPERATORS && has_profiler(r));
            n_steps += is_traced ? (int64_t)r->traces[0].steps.n_steps : 0;
            for (int rank = 0; rank < r->ranks_len && !(is_traced && r->traces[0].steps.n_steps); rank++)
                n_steps += (int64_t)r->ranks[rank].n_steps;
        }
        n_beside_phases += of == NAMES_OPERATORS && s->n_phases > 0;
        all[i] = rounded(ns, n_steps);
        holds(named[i] == all[i]);
    }
    for (int i = 0; i < s->n_losses && n; i++) {
        const struct series_loss *l = &s->losses[i];
        int is_weak = s->kind == SCALING_WEAK;
        int64_t from = is_weak ? 1 : s->points[l->from].n_nodes, to = is_weak ? 1 : s->points[l->to].n_nodes;
        holds(named[POINTS + i] == all[l->to] - rounded(all[l->from] * from, to));
    }
}

static void check_series(const struct report *rep, const struct series *s)
{
    check_phases(s);
    for (enum series_names of = 0; of < N_SERIES_NAMES; of++)
        check_names(rep, s, of);
    for (int i = 0; i < s->n_points; i++) {
        const struct series_point *p = &s->points[i];
        holds(sum_of(p->part_ns, N_PARTS) == p->step.mean_ns && !has_negative(p->part_ns, N_PARTS));
        holds(p->speedup <= 0 || near(p->efficiency * p->n_nodes, p->speedup * s->points[0].n_nodes));
        check_pop(&p->pop);
    }
    for (int i = 0; i < s->n_losses; i++)
        check_loss(s, &s->losses[i]);
    if (s->n_losses < 2)
        return;
    int64_t all[N_PARTS] = {0}; /* from point to point, each scaled to the last one, is from first to last */
    const struct series_loss *whole = &s->losses[s->n_losses - 1];
    for (int i = 0; i + 1 < s->n_losses; i++)
        for (int p = 0; p < N_PARTS; p++)
            all[p] += s->losses[i].part_ns[p] * (s->kind == SCALING_WEAK ? 1 : s->points[i + 1].n_nodes);
    int64_t n = s->kind == SCALING_WEAK ? 1 : s->points[s->n_points - 1].n_nodes;
    for (int p = 0; p < N_PARTS; p++) /* each of the ideals was rounded to 1 ns */
        holds(llabs(all[p] - whole->part_ns[p] * n) <= n * s->n_points);
}

enum { RANDOM_NAMES = 9 };

/* Operators of random self time, each of the names with a chance of three quarters. */
static struct host_operators drawn_operators(struct draws *d, struct run *r)
{
    static const char *const names[RANDOM_NAMES] = {"aten::mm",       "aten::add_", "aten::copy_",
                                                    "AddmmBackward0", "load",       "ProfilerStep",
                                                    "forward",        "loss",       "Optimizer.step#SGD.step"};
    struct host_operators o = {.list = dcr_arena_alloc(&r->arena, RANDOM_NAMES * sizeof *o.list)};
    for (int i = 0; i < RANDOM_NAMES; i++)
        if (draw_in(d, 0, 3))
            o.list[o.n_names++] = (struct host_operator){.name = names[i],
                                                         .kind = i == 5 ? OPERATOR_STEP : OPERATOR_OP,
                                                         .n = 1,
                                                         .self_ns = draw_time(d, 1000000000),
                                                         .total_ns = 1000000000,
                                                         .min_ns = -1,
                                                         .max_ns = -1};
    o.n = o.n_names;
    return o;
}

/* Kernels of a GPU; several full names of collectives have one short name. */
static struct run_device drawn_kernels(struct draws *d, struct run *r)
{
    static const char *const names[RANDOM_NAMES] = {"ncclDevKernel_AllReduce_Sum_f32(int)",
                                                    "ncclDevKernel_AllReduce_Sum_f32(long)",
                                                    "ncclDevKernel_AllGather(int)",
                                                    "ncclDevKernel_ReduceScatter(int)",
                                                    "ncclDevKernel_SendRecv(int)",
                                                    "ncclDevKernel_Broadcast(int)",
                                                    "ncclDevKernel_Reduce(int)",
                                                    "ncclDevKernel_AllToAll(int)",
                                                    "gemm"};
    struct run_device v = {.file = "", .model = "", .rank = -1};
    v.names = dcr_arena_alloc(&r->arena, RANDOM_NAMES * sizeof *v.names);
    for (int i = 0; i < RANDOM_NAMES; i++)
        if (draw_in(d, 0, 3))
            v.names[v.n_names++] = (struct device_name){.name = names[i],
                                                        .kind = i < RANDOM_NAMES - 1 ? OP_COMM : OP_COMPUTE,
                                                        .n = draw_in(d, 1, 9),
                                                        .sum_ns = draw_time(d, 1000000000)};
    return v;
}

/* Gives a run ranges of the program, and the trace of a GPU with kernels. Its profiler may have recorded operators, and
 * a part of the steps only. */
enum names_drawn { NO_NAMES, NAMES_OF_RANGES, NAMES_OF_PROFILER, NAMES_BESIDE_PHASES, N_NAMES_DRAWN };
static void draw_names(struct draws *d, struct run *r, enum names_drawn kind)
{
    struct foreign_trace t = {.file = "t.json", .rank = -1, .n_devices = 1};
    r->ranges = drawn_operators(d, r);
    if (kind != NAMES_OF_RANGES)
        t.operators = drawn_operators(d, r);
    if (kind != NAMES_OF_RANGES && draw_in(d, 0, 1) && r->ranks[0].n_steps) {
        t.steps.steps = r->ranks[0].steps;
        t.steps.n_steps = (size_t)draw_in(d, 1, (int64_t)r->ranks[0].n_steps);
    }
    t.devices = dcr_arena_alloc(&r->arena, sizeof *t.devices);
    *t.devices = drawn_kernels(d, r);
    r->traces = dcr_arena_alloc(&r->arena, sizeof t);
    *r->traces = t;
    r->n_traces = 1;
    for (int i = 0; i < r->ranks_len && kind != NAMES_BESIDE_PHASES; i++)
        r->ranks[i].n_phases = 0;
}

static void one_series(struct draws *d)
{
    static struct random_run drawn;
    struct run *runs[POINTS * REPEATED], *turned[POINTS * REPEATED];
    int n = 0, is_weak = draw_in(d, 0, 1) != 0, is_emulated = draw_in(d, 0, 2) == 0, order[POINTS * REPEATED];
    enum names_drawn names = (enum names_drawn)draw_in(d, 0, N_NAMES_DRAWN - 1);
    for (int nodes = 1, k = 0; k < POINTS; k++, nodes += (int)draw_in(d, 1, 2))
        for (int64_t times = draw_in(d, k ? 0 : 1, REPEATED); times > 0; times--) {
            draw_run(d, &drawn, nodes, 1);
            snprintf(drawn.name, sizeof drawn.name, "%dnode-%d.tar", nodes, n);
            drawn.n_per_node = drawn.threads = 1;
            drawn.batch = is_weak ? 64 * nodes : 64;
            drawn.kind = is_emulated ? NODES_EMULATED : NODES_MACHINES;
            drawn.cores = is_emulated ? 2 : 8;
            runs[n] = tell_run(&drawn, NULL);
            if (names)
                draw_names(d, runs[n], names);
            n++;
        }
    shuffle(d, order, n);
    for (int i = 0; i < n; i++)
        turned[i] = runs[order[i]];
    struct report rep, again;
    struct dcr_buf text = {0}, later = {0};
    report_on(&rep, runs, n, &text);
    for (int i = 0; i < rep.n_runs; i++)
        check_run(&rep.runs[i]);
    for (int i = 0; i < rep.n_series; i++)
        check_series(&rep, &rep.series[i]);
    report_on(&again, turned, n, &later);
    same_text(&text, &later, "the order of archives");
    dcr_buf_release(&later);
    dcr_buf_release(&text);
    report_free(&again);
    report_free(&rep);
    for (int i = 0; i < n; i++)
        run_free(runs[i]);
}

static void test_a_series(void **state)
{
    (void)state;
    for_seeds(60, one_series);
    assert_true(n_with_phases > 0 && n_beside_phases > 0);
    for (int of = 0; of < N_SERIES_NAMES; of++)
        assert_true(n_with_names[of] > 0 && n_with_rest[of] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps_of_a_rank), cmocka_unit_test(test_a_run),
                                       cmocka_unit_test(test_a_trace), cmocka_unit_test(test_traces_of_ranks),
                                       cmocka_unit_test(test_a_series)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
