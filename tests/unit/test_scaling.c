/* test_scaling.c - series of node counts: grouping, speed-up, efficiency, losses (render/metrics/series/scaling.c). */
#include "tests/unit/made_run.h"
#include "render/findings/run_said.h"
#include "render/metrics/series/differing.h"
#include "render/metrics/series/series.h"
#include "render/metrics/stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

enum { MAX_RUNS = 8 };
struct fixture {
    struct report rep;
    struct run *runs[MAX_RUNS];
    int n;
};

static void analyse_all(struct fixture *f)
{
    struct analyse_options o = made_options();
    struct dcr_err err = {0};
    assert_int_equal(analyse(&f->rep, f->runs, f->n, &o, &err), 0);
}

static void release(struct fixture *f)
{
    report_free(&f->rep);
    for (int i = 0; i < f->n; i++)
        run_free(f->runs[i]);
}

static int near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

/* 1, 2, 4 nodes; compute 80 40 20 ms, all-reduce 10 ms: steps 80, 50, 30 ms. */
static struct fixture strong(void)
{
    struct fixture f = {.n = 3};
    f.runs[0] = made_even_run(4, 64, 40, 20000000, 10000000, 0, 0); /* order must not matter */
    f.runs[1] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
    f.runs[2] = made_even_run(2, 64, 40, 40000000, 10000000, 0, 0);
    return f;
}

static void test_strong(void **state)
{
    (void)state;
    struct fixture f = strong();
    analyse_all(&f);
    assert_int_equal(f.rep.n_series, 1);
    const struct series *s = &f.rep.series[0];
    assert_int_equal(s->kind, SCALING_STRONG);
    assert_int_equal(s->n_points, 3);
    assert_int_equal(s->points[0].n_nodes, 1);
    assert_int_equal(s->points[2].n_nodes, 4);
    assert_true(near(s->points[1].speedup, 1.6));
    assert_true(near(s->points[1].efficiency, 0.8));
    assert_true(near(s->points[2].speedup, 8.0 / 3));
    assert_true(near(s->points[2].efficiency, 2.0 / 3));
    assert_true(near(s->points[2].compute_speedup, 4));
    assert_true(near(s->points[2].pop.computation_scaling_ratio, 1));
    /* strong scaling: GE_n / GE_ref = efficiency */
    assert_true(near(s->points[2].pop.global_ratio / s->points[0].pop.global_ratio, s->points[2].efficiency));
    assert_true(s->points[2].speedup_interval.has);
    assert_true(s->points[2].speedup_interval.lo <= 8.0 / 3 + 1e-9 &&
                s->points[2].speedup_interval.hi >= 8.0 / 3 - 1e-9);
    assert_int_equal(s->n_losses, 3);
    assert_int_equal(s->losses[2].from, 0);
    assert_int_equal(s->losses[2].to, 2);
    assert_int_equal(s->losses[2].ideal_ns, 20000000);
    assert_int_equal(s->losses[2].loss_ns, 10000000);
    assert_int_equal(s->losses[2].part_ns[PART_TRANSFER], 10000000);
    assert_int_equal(s->losses[2].largest, PART_TRANSFER);
    release(&f);
}

/* A run that was interrupted is not a repetition of a complete one; alone it is better than nothing. */
static void test_incomplete(void **state)
{
    (void)state;
    struct fixture f = strong();
    f.runs[f.n] = made_even_run(1, 64, 20, 200000000, 0, 0, 0);
    f.runs[f.n++]->is_complete = 0;
    f.runs[0]->is_complete = 0; /* the only one of 4 nodes */
    analyse_all(&f);
    const struct series *s = &f.rep.series[0];
    assert_int_equal(s->points[0].n_runs, 1);
    assert_int_equal(s->points[0].n_left_out, 1);
    assert_int_equal(s->points[0].step.mean_ns, 80000000);
    assert_int_equal(s->points[2].n_runs, 1);
    assert_true(near(s->points[1].speedup, 1.6));
    assert_int_equal(f.rep.notes[0].id, NOTE_LEFT_OUT); /* before all others */
    release(&f);
}

/* The host may only have enqueued the work: its speed is valid, but the cause of the lost time is unknown. */
static void test_losses_of_a_gpu_not_seen(void **state)
{
    (void)state;
    struct fixture f = strong();
    f.runs[2]->has_host_steps = 1;
    analyse_all(&f);
    const struct series *s = &f.rep.series[0];
    assert_true(near(s->points[2].speedup, 8.0 / 3));
    assert_int_equal(s->n_losses, 0);
    assert_int_equal(s->losses_why.code, REASON_HOST_MAY_ENQUEUE);
    assert_true(s->points[2].compute_speedup <= 0);
    for (int i = 0; i < s->n_laws; i++)
        if (s->laws[i].id == LAW_COMPUTE || s->laws[i].id == LAW_ALL_REDUCE)
            assert_int_equal(s->laws[i].why.code, REASON_HOST_MAY_ENQUEUE);
    release(&f);
}

/* 1 node: a step of 40. 2 nodes: rank 1 loads 10 more, so rank 0 waits 10 of 2 x 40; transfer 4. */
static void test_losses_by_class(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    f.runs[0] = made_even_run(1, 64, 40, 40, 0, 0, 0);
    f.runs[1] = made_run(2, 64);
    const int64_t a[N_CATEGORIES] = {[CAT_COMPUTE] = 20, [CAT_COMM] = 14},
                  b[N_CATEGORIES] = {[CAT_COMPUTE] = 20, [CAT_DATA] = 10, [CAT_COMM] = 4};
    for (int i = 0; i < 40; i++) {
        made_step(f.runs[1], run_rank_at(f.runs[1], 0), a);
        made_step(f.runs[1], run_rank_at(f.runs[1], 1), b);
    }
    analyse_all(&f);
    const struct series_loss *l = &f.rep.series[0].losses[0];
    int64_t sum = 0;
    for (int c = 0; c < N_LOSS_CLASSES; c++)
        sum += l->class_ns[c];
    assert_int_equal(l->loss_ns, 14); /* 34 - 20 */
    assert_int_equal(sum, l->loss_ns);
    assert_int_equal(l->class_ns[LOST_COMMUNICATION], 4);
    assert_int_equal(l->class_ns[LOST_DATA], 10); /* 5 of loading, 5 of waiting for it */
    assert_int_equal(l->class_ns[LOST_IMBALANCE], 0);
    assert_int_equal(l->class_ns[LOST_COMPUTE], 0);
    release(&f);
}

/* Rank 0 comes last in nearly every step, and no rank lacks a core more than the other. Its shortest step is as short
 * as that of rank 1, so it is not known whether it has more work. Nothing may say that it has not. */
static void test_late_rank_on_shared_cores(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = made_run(2, 64);
    f.runs[0]->node_kind = NODES_EMULATED;
    for (int i = 0; i < 2; i++) {
        f.runs[0]->nodes[i].boot_id = "one";
        f.runs[0]->nodes[i].cores = f.runs[0]->nodes[i].cores_allowed = 1;
    }
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 2; i++) {
            int64_t more = i == 0 && s % 10 ? 30 : 0, wait = i == 1 && s % 10 ? 30 : 0;
            const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = 20, [CAT_OTHER] = more, [CAT_COMM] = 4 + wait};
            made_step(f.runs[0], run_rank_at(f.runs[0], i), part);
        }
    analyse_all(&f);
    const struct run_result *r = &f.rep.runs[0];
    assert_int_equal(r->shared.kind, SHARED_OVERSUBSCRIBED);
    assert_true(r->straggler.has && r->straggler.rank == 0);
    assert_int_equal(r->uneven_wait_ns, 0);
    const struct class_result *imbalance = &r->classes[CLASS_IMBALANCE];
    assert_int_equal(imbalance->verdict, VERDICT_NA);
    assert_int_equal(imbalance->why.code, REASON_LATE_OR_CORELESS);
    assert_int_equal(imbalance->why.slot[0].count, 0);
    assert_int_equal(phrase_of_waiting(&f.rep, r).id, PHRASE_LATE_PERHAPS_BY_WORK);
    assert_int_equal(phrase_of_communication(r, r->part_ns, r->step.mean_ns).id, PHRASE_LATE_PERHAPS_BY_WORK);
    release(&f);
}

/* Two ranks that wait for each other in turn on one core: this is not unequal work, so not imbalance, in the table of
 * causes as in the loss. Unrecorded quantities are n/a with a reason. */
static void test_losses_on_shared_cores(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    f.runs[0] = made_even_run(1, 64, 40, 40, 0, 0, 0);
    f.runs[1] = made_run(2, 64);
    f.runs[1]->node_kind = NODES_EMULATED;
    for (int i = 0; i < 2; i++) {
        f.runs[1]->nodes[i].boot_id = "one";
        f.runs[1]->nodes[i].cores = f.runs[1]->nodes[i].cores_allowed = 1;
    }
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 2; i++) {
            int is_late = (s + i) % 2;
            const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = is_late ? 40 : 20, [CAT_COMM] = is_late ? 4 : 24};
            made_step(f.runs[1], run_rank_at(f.runs[1], i), part);
        }
    analyse_all(&f);
    const struct run_result *r = &f.rep.runs[1];
    assert_int_equal(r->shared.kind, SHARED_OVERSUBSCRIBED);
    assert_int_equal(r->part_ns[PART_WAIT], 10);
    assert_int_equal(r->classes[CLASS_IMBALANCE].verdict, VERDICT_NA);
    const struct reason *why = &r->classes[CLASS_IMBALANCE].why;
    assert_int_equal(why->code, REASON_WAITING_FOR_CORES);
    assert_int_equal(why->slot[0].count, 10);
    const struct series_loss *l = &f.rep.series[0].losses[0];
    int64_t sum = 0;
    for (int c = 0; c < N_LOSS_CLASSES; c++)
        sum += l->class_ns[c];
    assert_int_equal(l->loss_ns, 24); /* 44 - 20 */
    assert_int_equal(sum, l->loss_ns);
    assert_int_equal(l->class_ns[LOST_CORES], 10);
    assert_int_equal(l->class_ns[LOST_OTHER], 0);
    static const enum loss_class unknown[] = {LOST_IMBALANCE, LOST_COPY, LOST_DATA, LOST_IO, LOST_HOST};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        assert_int_equal(l->class_ns[unknown[i]], 0);
        assert_true(l->class_why[unknown[i]].code != REASON_NONE);
    }
    assert_int_equal(l->class_why[LOST_COMPUTE].code, REASON_NONE);
    assert_int_equal(l->class_why[LOST_COMMUNICATION].code, REASON_NONE);
    assert_int_equal(l->class_why[LOST_OTHER].code, REASON_NONE);
    release(&f);
}

/* Two ranks with enough cores, one of which is late by 10 of work, then four without, which wait in turn: the loss to
 * late ranks is unknown. */
static void test_losses_to_shared_cores(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    f.runs[0] = made_run(2, 64);
    f.runs[1] = made_run(4, 64);
    f.runs[1]->node_kind = NODES_EMULATED;
    for (int i = 0; i < 4; i++)
        f.runs[1]->nodes[i].cores = f.runs[1]->nodes[i].cores_allowed = 1;
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 4; i++) {
            int is_late = s % 4 == i;
            const int64_t a[N_CATEGORIES] = {[CAT_COMPUTE] = i ? 30 : 20, [CAT_COMM] = i ? 4 : 14},
                          b[N_CATEGORIES] = {[CAT_COMPUTE] = is_late ? 40 : 20, [CAT_COMM] = is_late ? 4 : 24};
            if (i < 2)
                made_step(f.runs[0], run_rank_at(f.runs[0], i), a);
            made_step(f.runs[1], run_rank_at(f.runs[1], i), b);
        }
    analyse_all(&f);
    assert_int_equal(f.rep.runs[0].classes[CLASS_IMBALANCE].share_ns, 5);
    const struct series_loss *l = &f.rep.series[0].losses[0];
    int64_t sum = 0;
    for (int c = 0; c < N_LOSS_CLASSES; c++)
        sum += l->class_ns[c];
    assert_int_equal(sum, l->loss_ns);
    assert_int_equal(l->class_ns[LOST_IMBALANCE], 0);
    assert_int_equal(l->class_why[LOST_IMBALANCE].code, REASON_WAITING_FOR_CORES);
    assert_int_equal(l->class_ns[LOST_CORES], l->part_ns[PART_WAIT]);
    release(&f);
}

/* GPU traces: 12 of 20 overhead wait for the host at one node, 15 of 18 at two; ideal leaves 6 of 10. */
static void test_host_is_lost_too(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    const int64_t part[2][N_CATEGORIES] = {{[CAT_COMPUTE] = 40, [CAT_OTHER] = 20},
                                           {[CAT_COMPUTE] = 20, [CAT_OTHER] = 18, [CAT_COMM] = 2}};
    for (int i = 0; i < 2; i++) {
        f.runs[i] = made_run(i + 1, 64);
        for (int k = 0; k < 40 * (i + 1); k++)
            made_step(f.runs[i], run_rank_at(f.runs[i], k % (i + 1)), part[i]);
    }
    analyse_all(&f);
    struct series_loss *l = &f.rep.series[0].losses[0];
    assert_int_equal(l->loss_ns, 10); /* 40 - 30 */
    assert_false(l->has_host);
    assert_int_equal(l->class_ns[LOST_OTHER], 8); /* 18 - 10 */
    for (int i = 0; i < 2; i++)
        f.rep.runs[i].classes[CLASS_HOST] = (struct class_result){.has_share = 1, .share_ns = i ? 15 : 12};
    memset(l->class_ns, 0, sizeof l->class_ns);
    loss_classes(&f.rep);
    assert_true(l->has_host);
    assert_int_equal(l->class_ns[LOST_HOST], 9); /* 15 - 6 */
    assert_int_equal(l->class_ns[LOST_OTHER], -1);
    int64_t sum = 0;
    for (int c = 0; c < N_LOSS_CLASSES; c++)
        sum += l->class_ns[c];
    assert_int_equal(sum, l->loss_ns);
    release(&f);
}

static void test_weak(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
    f.runs[1] = made_even_run(2, 128, 40, 80000000, 20000000, 0, 0);
    analyse_all(&f);
    const struct series *s = &f.rep.series[0];
    assert_int_equal(s->kind, SCALING_WEAK);
    assert_true(near(s->points[1].speedup, 2 * 0.8));
    assert_true(near(s->points[1].efficiency, 0.8));
    assert_true(near(s->points[1].pop.computation_scaling_ratio, 1));
    assert_int_equal(s->losses[0].ideal_ns, 80000000);
    assert_int_equal(s->losses[0].loss_ns, 20000000);
    release(&f);
}

static void test_losses_always_sum(void **state)
{
    (void)state;
    struct draws d = {11};
    for (int trial = 0; trial < 20000; trial++) {
        int64_t a[N_PARTS], b[N_PARTS], sum = 0, from = 0;
        for (int p = 0; p < N_PARTS; p++) {
            from += a[p] = (int64_t)draw_below(&d, 100000000);
            b[p] = (int64_t)draw_below(&d, 100000000);
        }
        int64_t num = 1 + (int64_t)draw_below(&d, 4), den = num + 1 + (int64_t)draw_below(&d, 13);
        struct series_loss l = loss_between(a, b, num, den);
        for (int p = 0; p < N_PARTS; p++)
            sum += l.part_ns[p];
        assert_int_equal(sum, l.loss_ns);
        assert_int_equal(l.actual_ns - l.ideal_ns, l.loss_ns);
        assert_true(fabs((double)l.ideal_ns - (double)from * (double)num / (double)den) <= 0.5);
    }
}

static const struct note *find_note(const struct report *rep, enum note_id id)
{
    for (int i = 0; i < rep->n_notes; i++)
        if (rep->notes[i].id == id)
            return &rep->notes[i];
    return NULL;
}

static void test_repetitions(void **state)
{
    (void)state;
    struct fixture f = {.n = 3};
    f.runs[0] = made_even_run(1, 64, 20, 80, 0, 0, 0);
    f.runs[1] = made_even_run(1, 64, 40, 110, 0, 0, 0);
    f.runs[1]->run_id = "made-1-again";
    f.runs[2] = made_even_run(2, 64, 20, 40, 10, 0, 0);
    analyse_all(&f);
    assert_int_equal(f.rep.n_series, 1);
    const struct series_point *p = &f.rep.series[0].points[0];
    assert_int_equal(p->n_runs, 2);
    assert_int_equal(p->step.n, 60);
    assert_int_equal(p->step.mean_ns, 100); /* every step counts once: (20*80 + 40*110) / 60 */
    assert_string_equal(f.rep.runs[0].label, "1 node (run 1 of 2)");
    assert_true(near(repetition_spread(&f.rep, p), 0.3)); /* (110 - 80) / 100 */
    f.rep.runs[1].step.mean_ns = 0;                       /* one that ended before its first step is no repetition */
    assert_true(repetition_spread(&f.rep, p) == 0);
    f.rep.runs[1].step.mean_ns = 110;
    assert_non_null(find_note(&f.rep, NOTE_REPETITIONS));
    assert_true(f.rep.series[0].points[1].speedup_interval.hi > 1.2 * f.rep.series[0].points[1].speedup_interval.lo);
    release(&f);
}

static void test_mixed_configurations(void **state)
{
    (void)state;
    struct fixture f = strong();
    f.runs[2]->program.precision = "bf16";
    analyse_all(&f);
    assert_int_equal(f.rep.n_series, 2);
    assert_non_null(find_note(&f.rep, NOTE_MIXED));
    assert_true(f.rep.n_gaps > 0);
    release(&f);
    /* batches that are neither equal nor proportional */
    struct fixture g = {.n = 2};
    g.runs[0] = made_even_run(1, 64, 40, 80, 0, 0, 0);
    g.runs[1] = made_even_run(2, 96, 40, 80, 20, 0, 0);
    analyse_all(&g);
    assert_int_equal(g.rep.n_series, 2);
    release(&g);
    /* the same node count with another configuration hash is no repetition */
    struct fixture h = {.n = 2};
    h.runs[0] = made_even_run(1, 64, 40, 80, 0, 0, 0);
    h.runs[1] = made_even_run(1, 64, 40, 80, 0, 0, 0);
    h.runs[0]->config_hash = "a";
    h.runs[1]->config_hash = "b";
    h.runs[1]->run_id = "other";
    analyse_all(&h);
    assert_int_equal(h.rep.n_series, 2);
    release(&h);
}

/* The first command word is the program; for a run that stopped before program.json it is the only source. */
static void give_command(struct run *r, const char **words, int n, const char *hash)
{
    r->command = words;
    r->n_command = n;
    r->config_hash = hash;
}

static void break_off(struct run *r)
{
    r->is_complete = 0;
    r->program.name = r->program.backend = "";
    r->program.global_batch = -1;
}

static void test_untold(void **state)
{
    (void)state;
    static const char *words[] = {"bin/dcrnn-train", "--units", "8"}, *others[] = {"bin/dcrnn-train", "--units", "9"};
    static const char *const hashes[] = {"4", "1", "2"};
    /* of one command, nodes and ranks: a repetition that is left out */
    struct fixture f = strong();
    f.runs[f.n++] = made_even_run(1, 64, 10, 80000000, 0, 0, 0);
    for (int i = 0; i < f.n; i++)
        give_command(f.runs[i], words, 3, i == 3 ? "1" : hashes[i]);
    f.runs[3]->run_id = "a"; /* before the others, too */
    break_off(f.runs[3]);
    analyse_all(&f);
    assert_int_equal(f.rep.n_series, 1);
    assert_int_equal(f.rep.series[0].points[0].n_left_out, 1);
    assert_null(find_note(&f.rep, NOTE_MIXED));
    assert_null(find_note(&f.rep, NOTE_UNTOLD));
    release(&f);
    /* the only one of its node count: by itself, and no other configuration; of another command it is one */
    for (int is_other = 0; is_other < 2; is_other++) {
        f = strong();
        for (int i = 0; i < f.n; i++)
            give_command(f.runs[i], is_other && i == 0 ? others : words, 3, hashes[i]);
        break_off(f.runs[0]);
        analyse_all(&f);
        assert_int_equal(f.rep.n_series, 2);
        assert_int_equal(find_note(&f.rep, NOTE_MIXED) != NULL, is_other);
        assert_int_equal(find_note(&f.rep, NOTE_UNTOLD) != NULL, !is_other);
        if (is_other)
            assert_string_equal(find_note(&f.rep, NOTE_MIXED)->said[0].slot[1].name, "--units");
        release(&f);
    }
}

/* All differences of configurations are named, also for programs without a name. */
static void test_differing(void **state)
{
    (void)state;
    static const char *one[] = {"mpirun", "-n", "4", "bin/slow", "2"},
                      *other[] = {"mpirun", "-n", "4", "bin/slow", "9"}, *third[] = {"./loop"},
                      *option[] = {"mpirun", "-n", "4", "bin/slow", "--x=2"};
    static const struct {
        const char **words;
        int n, n_ranks;
        const char *differ;
    } cases[] = {{third, 1, 1, "program, ranks per node"}, {third, 1, 4, "program"}, {other, 5, 4, "command"},
                 {other, 5, 1, "command, ranks per node"}, {option, 5, 4, "--x"},    {one, 5, 1, "ranks per node"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f = {.n = 2};
        f.runs[0] = made_even_run(4, -1, 40, 80, 10, 0, 0);
        f.runs[1] = made_even_run(cases[i].n_ranks, -1, 40, 80, 10, 0, 0);
        f.runs[0]->n_nodes = f.runs[1]->n_nodes = 1;
        give_command(f.runs[0], one, 5, "1");
        give_command(f.runs[1], cases[i].words, cases[i].n, "2");
        f.runs[0]->program.name = f.runs[1]->program.name = "";
        analyse_all(&f);
        assert_string_equal(differing_keys(&f.rep, &f.rep.runs[0], &f.rep.runs[1]), cases[i].differ);
        release(&f);
    }
}

static void test_one_node_count(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = made_even_run(2, 64, 40, 80, 10, 0, 0);
    analyse_all(&f);
    assert_int_equal(f.rep.series[0].kind, SCALING_NONE);
    assert_null(find_note(&f.rep, NOTE_ONE_NODE_COUNT)); /* of one archive that run alone is asked */
    release(&f);
    f = (struct fixture){.n = 2};
    for (int i = 0; i < 2; i++)
        f.runs[i] = made_even_run(2, 64, 40, 80, 10, 0, 0);
    f.runs[1]->run_id = "again";
    analyse_all(&f);
    assert_int_equal(find_note(&f.rep, NOTE_ONE_NODE_COUNT)->said[2].id, PHRASE_NONE);
    release(&f);
    /* 1 and 2 ranks on one node can be nodes of a series; ranks that already stand in for nodes, or equal ones, no more
     */
    static const struct {
        int ranks, kind, is_told;
    } second[] = {{1, NODES_MACHINES, 1}, {2, NODES_MACHINES, 0}, {1, NODES_EMULATED, 0}};
    for (size_t i = 0; i < sizeof second / sizeof *second; i++) {
        f = (struct fixture){.n = 2};
        for (int k = 0; k < 2; k++) {
            f.runs[k] = made_even_run(k ? second[i].ranks : 2, 64, 40, 80, 10, 0, 0);
            f.runs[k]->n_nodes = 1;
            f.runs[k]->node_kind = (enum node_kind)second[i].kind;
            f.runs[k]->collector_version = "1.0.0";
        }
        f.runs[1]->run_id = "again";
        analyse_all(&f);
        assert_int_equal(find_note(&f.rep, NOTE_ONE_NODE_COUNT)->said[2].id,
                         second[i].is_told ? PHRASE_NODE_COUNTS_EMULATE : PHRASE_NONE);
        release(&f);
    }
}

static void test_unknown_batch(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    f.runs[0] = made_even_run(1, -1, 40, 80, 0, 0, 0);
    f.runs[1] = made_even_run(2, -1, 40, 40, 10, 0, 0);
    analyse_all(&f);
    assert_int_equal(f.rep.series[0].kind, SCALING_UNKNOWN);
    assert_true(f.rep.series[0].points[1].speedup == 0);
    assert_int_equal(f.rep.series[0].n_losses, 0);
    assert_int_equal(f.rep.series[0].speedup_why.code, REASON_SPEEDUP_WITHOUT_SAMPLES);
    assert_int_equal(find_note(&f.rep, NOTE_SCALING_UNKNOWN)->said[1].id, PHRASE_BATCH_TELL);
    assert_int_equal(find_note(&f.rep, NOTE_SCALING_UNKNOWN)->said[2].id, PHRASE_BATCH_NOTHING);
    assert_int_equal(f.rep.runs[1].throughput_why.code, REASON_NO_SAMPLES_OF_STEPS);
    for (int i = 0; i < 2; i++) { /* nor is it strong scaling in any other number */
        assert_false(f.rep.series[0].points[i].pop.has_scaling);
        assert_true(f.rep.series[0].points[i].compute_speedup == 0);
    }
    release(&f);
}

/* Places and sizes are not part of a configuration; everything else of the command is. */
static void test_key(void **state)
{
    (void)state;
    const char *const a[] = {"/home/a/bin/dcrnn-train", "--out", "x", "--batch", "64", "--units", "32"};
    const char *const b[] = {"dcrnn-train", "--out=y", "--batch", "128", "--units", "32"};
    const char *const c[] = {"dcrnn-train", "--out", "x", "--batch", "64", "--units", "64"};
    struct run *r = made_run(1, 64);
    struct run_result result = {.run = r, .n_nodes = 1, .n_ranks = 1};
    struct dcr_buf key[3] = {{0}, {0}, {0}};
    r->command = (const char **)(uintptr_t)a;
    r->n_command = 7;
    scaling_key(&result, &key[0]);
    r->command = (const char **)(uintptr_t)b;
    r->n_command = 6;
    scaling_key(&result, &key[1]);
    r->command = (const char **)(uintptr_t)c;
    r->n_command = 7;
    scaling_key(&result, &key[2]);
    assert_string_equal(dcr_buf_text(&key[0]), dcr_buf_text(&key[1]));
    assert_string_not_equal(dcr_buf_text(&key[0]), dcr_buf_text(&key[2]));
    struct run_pair label = {"series", "halo"}; /* makes commands equal */
    r->labels = &label;
    r->n_labels = 1;
    for (int i = 0; i < 3; i++)
        dcr_buf_release(&key[i]);
    scaling_key(&result, &key[0]);
    r->command = (const char **)(uintptr_t)a;
    scaling_key(&result, &key[1]);
    label.value = "other";
    scaling_key(&result, &key[2]);
    assert_string_equal(dcr_buf_text(&key[0]), dcr_buf_text(&key[1]));
    assert_string_not_equal(dcr_buf_text(&key[0]), dcr_buf_text(&key[2]));
    r->n_labels = 0;
    for (int i = 0; i < 3; i++)
        dcr_buf_release(&key[i]);
    /* An unknown number of ranks equals no known number, whether the nodes are known or not. */
    for (result.n_nodes = 0; result.n_nodes < 3; result.n_nodes += 2) {
        for (int i = 0; i < 3; i++) {
            result.n_ranks = i;
            key[i] = (struct dcr_buf){0};
            scaling_key(&result, &key[i]);
        }
        for (int i = 0; i < 3; i++)
            assert_string_not_equal(dcr_buf_text(&key[i]), dcr_buf_text(&key[(i + 1) % 3]));
        for (int i = 0; i < 3; i++)
            dcr_buf_release(&key[i]);
    }
    run_free(r);
}

/* A launcher and its options are not part of a configuration: on one rank there is none. */
static void test_key_behind_a_launcher(void **state)
{
    (void)state;
    static const struct {
        const char *name, *words[12];
        int n, first;
    } c[] = {
        {"dcrnn-train", {"/opt/dcrnn-train", "--units", "32", "--out", "a"}, 5, 0},
        {"dcrnn-train", {"mpirun", "--oversubscribe", "-n", "2", "bin/dcrnn-train", "--units", "32"}, 7, 4},
        {"dcrnn-train", {"mpirun", "--not-known", "3", "-n", "4", "dcrnn-train", "--units", "32"}, 8, 5},
        {"", {"/usr/bin/mpiexec", "--mca", "btl", "tcp", "-np", "2", "dcrnn-train", "--units", "32"}, 9, 6},
        {"", {"srun", "--ntasks=8", "-N", "4", "--mpi=pmix", "dcrnn-train", "--units", "32"}, 8, 5},
        {"", {"mpirun", "--prefix", "/opt/ompi", "-np", "2", "./a"}, 6, 5},
        {"", {"mpirun", "--stdin", "none", "-np", "2", "./a"}, 6, 5},
        {"", {"mpirun", "--display", "map", "--pset", "x", "-q", "train"}, 7, 6},
        {"", {"mpiexec", "-bootstrap", "slurm", "-genv", "A", "1", "-l", "train"}, 8, 7},
        {"", {"srun", "--mem-per-cpu", "4G", "--export", "ALL", "--gpu-bind", "closest", "train"}, 8, 7},
        {"", {"srun", "-n4", "-ln", "4", "-K", "-q", "high", "-H", "train", "x"}, 10, 8},
        {"", {"srun", "--pty", "--", "train", "x"}, 5, 3},
        {"train", {"srun", "-J", "train", "./train", "x"}, 5, 3},
        {"", {"mpirun", "--not-known", "3", "-n", "4", "./train", "x"}, 7, 5}, /* the first that looks like one */
        {"", {"srun", "--not-known", "python3", "train.py"}, 4, 2},
        {"", {"srun", "--not-known", "train", "--out", "/tmp/x"}, 5, 2},
        {"", {"torchrun", "-r", "0:1,1:1", "--nproc_per_node", "2", "train.py", "--lr", "1"}, 8, 5},
        {"", {"/usr/bin/torchrun", "--standalone", "--nproc-per-node=2", "-m", "lib.train"}, 5, 4},
        {"", {"torchrun", "--no-python", "--max_restarts", "3", "train", "x"}, 6, 4},
        {"", {"python3", "-u", "-m", "torch.distributed.run", "--master_port", "29501", "train.py"}, 7, 6},
        {"", {"python3", "-m", "lib.train", "--lr", "1"}, 5, 0},
        {"", {"srun", "-N", "2", "torchrun", "--rdzv_endpoint", "a:1", "train.py"}, 7, 6},
        {"", {"srun", "-n", "8"}, 3, 0},
        {"", {"-n", "8"}, 2, 0},
    };
    struct run *r = made_run(1, 64);
    struct run_result result = {.run = r, .n_nodes = 1, .n_ranks = 1};
    struct dcr_buf first = {0};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct dcr_buf key = {0};
        r->command = (const char **)(uintptr_t)c[i].words;
        r->n_command = c[i].n;
        r->program.name = c[i].name;
        assert_int_equal(launched_word(r), c[i].first);
        r->program.name = "";
        scaling_key(&result, i == 0 ? &first : &key);
        if (i == 3 || i == 4)
            assert_non_null(strstr(dcr_buf_text(&key), " dcrnn-train --units 32"));
        dcr_buf_release(&key);
    }
    assert_non_null(strstr(dcr_buf_text(&first), " dcrnn-train --units 32 --out"));
    dcr_buf_release(&first);
    run_free(r);
}

static void test_same_run_twice(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    f.runs[0] = made_even_run(1, 64, 40, 80, 0, 0, 0);
    f.runs[1] = made_even_run(1, 64, 40, 80, 0, 0, 0);
    f.runs[0]->manifest_sha256 = f.runs[1]->manifest_sha256 = "0123";
    struct analyse_options o = made_options();
    struct dcr_err err = {0};
    assert_int_equal(analyse(&f.rep, f.runs, f.n, &o, &err), DCR_FAIL);
    assert_non_null(strstr(err.text, "the same run"));
    release(&f);
}

/* The program is a file of the command line; the text of a script is not, whatever it holds. */
static void test_program(void **state)
{
    (void)state;
    static const struct {
        const char *command[5], *program;
    } cases[] = {
        {{"./train", "-c", "a/b"}, "train"},
        {{"python3", "-u", "dir/train.py"}, "train.py"},
        {{"mpirun", "-c", "2", "python3", "train.py"}, "train.py"},
        {{"mpirun", "-n", "2", "/usr/bin/python3", "train.py"}, "train.py"},
        {{"/usr/bin/python3.11", "dir/train.py"}, "train.py"},
        {{"mpirun", "-n", "2", "python3.11", "train.py"}, "train.py"},
        {{"mpirun", "-n", "2", "python3.11"}, ""},
        {{"python3.11", "-c", "open('/tmp/x')"}, "python3.11"},
        {{"bash", "job/run", "-c", "a/b"}, "run"},
        {{"python3", "-c", "open(\"/tmp/o.txt\")"}, "python3"},
        {{"/usr/bin/python3", "-uc", "open(\"/tmp/o.txt\")"}, "python3"},
        {{"srun", "-c4", "bash", "-c", "cd /tmp && ./train.py"}, "bash"},
        {{"mpirun", "-c", "2"}, ""},
        {{"mpirun", "-n", "2", "hpcc"}, "hpcc"},
        {{"/usr/bin/torchrun", "--log_dir", "out/log", "--nproc_per_node=2", "dir/train.py"}, "train.py"},
        {{"accelerate", "launch", "train.py", "data/x.py"}, "train.py"},
        {{"torchrun", "--standalone", "-m", "lib.train", "x.py"}, "lib.train"},
        {{"torchrun", "--no-python", "./app", "-m", "5"}, "torchrun"},
        {{"mpirun", "-n", "2", "env"}, ""},
        {{"srun", "numactl", "-N0", "hpcc"}, ""},
        {{"mpirun", "--of-another-time", "2", "hpcc"}, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *words[5];
        struct run r = {.program.name = "", .command = words};
        for (; r.n_command < 5 && cases[i].command[r.n_command]; r.n_command++)
            words[r.n_command] = cases[i].command[r.n_command];
        assert_string_equal(program_of(&r), cases[i].program);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strong),
        cmocka_unit_test(test_incomplete),
        cmocka_unit_test(test_losses_of_a_gpu_not_seen),
        cmocka_unit_test(test_losses_by_class),
        cmocka_unit_test(test_losses_on_shared_cores),
        cmocka_unit_test(test_late_rank_on_shared_cores),
        cmocka_unit_test(test_losses_to_shared_cores),
        cmocka_unit_test(test_host_is_lost_too),
        cmocka_unit_test(test_weak),
        cmocka_unit_test(test_losses_always_sum),
        cmocka_unit_test(test_repetitions),
        cmocka_unit_test(test_mixed_configurations),
        cmocka_unit_test(test_untold),
        cmocka_unit_test(test_differing),
        cmocka_unit_test(test_one_node_count),
        cmocka_unit_test(test_unknown_batch),
        cmocka_unit_test(test_key),
        cmocka_unit_test(test_key_behind_a_launcher),
        cmocka_unit_test(test_same_run_twice),
        cmocka_unit_test(test_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
