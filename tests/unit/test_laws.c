/* test_laws.c - laws of scaling over the points of a series (render/metrics/series/laws.c), by hand; runs of summaries.
 */
#include "tests/unit/made_run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { MAX_RUNS = 4 };
struct fixture {
    struct report rep;
    struct run *runs[MAX_RUNS];
    int n;
};

static const struct series *analyse_all(struct fixture *f)
{
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&f->rep, f->runs, f->n, &o, NULL), 0);
    assert_int_equal(f->rep.n_series, 1);
    return &f->rep.series[0];
}

static void release(struct fixture *f)
{
    report_free(&f->rep);
    for (int i = 0; i < f->n; i++)
        run_free(f->runs[i]);
}

static const struct law *law_of(const struct series *s, enum law_id id)
{
    for (int i = 0; i < s->n_laws; i++)
        if (s->laws[i].id == id)
            return &s->laws[i];
    fail_msg("no law %d", (int)id);
    return NULL;
}

static int near(double a, double b)
{
    return fabs(a - b) < 1e-6 * fabs(b) + 1e-9;
}

/* A step of 20 + 80 / n ms: 100, 60, 40. */
static void test_amdahl(void **state)
{
    (void)state;
    struct fixture f = {.n = 3};
    for (int i = 0; i < 3; i++)
        f.runs[i] = made_even_run(1 << i, 64, 40, 80000000 >> i, i ? 20000000 : 0, i ? 0 : 20000000, 0);
    const struct series *s = analyse_all(&f);
    const struct law *a = law_of(s, LAW_AMDAHL);
    assert_true(a->has && a->residual_ratio < 1e-9);
    assert_int_equal(a->parameters[0].id, LAW_SERIAL);
    assert_true(near(a->parameters[0].value, 0.2));
    assert_int_equal(s->extrapolated_by, LAW_AMDAHL);
    assert_int_equal(s->n_ahead, 2);
    assert_int_equal(s->ahead[0].n_nodes, 8);
    assert_true(near(s->ahead[0].speedup, 100.0 / 30));
    assert_true(near(s->ahead[1].speedup, 4)); /* 16 nodes: 25 ms */
    assert_true(near(s->ahead[1].efficiency, 0.25));
    assert_true(s->ahead[0].speedup_interval.has);
    const struct law *c = law_of(s, LAW_COMPUTE);
    assert_true(c->has && near(c->parameters[0].value, 80e6) && c->residual_ratio < 1e-9);
    const struct reason *why = &law_of(s, LAW_USL)->why;
    assert_int_equal(why->code, REASON_LAW_FEW_POINTS_BESIDE_REFERENCE);
    assert_int_equal(why->slot[0].count, 3);
    assert_int_equal(why->slot[1].count, 4);
    assert_false(law_of(s, LAW_ALL_REDUCE)->has);
    release(&f);
}

static void test_two_points_are_too_few(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
    f.runs[1] = made_even_run(2, 64, 40, 40000000, 10000000, 0, 0);
    const struct series *s = analyse_all(&f);
    assert_int_equal(s->n_ahead, 0);
    assert_int_equal(s->extrapolation_why.code, REASON_TREND_FEW_POINTS);
    release(&f);
}

/* Speed-ups above the number of nodes: 1, 2.5, 6.25. No serial share is below zero, and there is no statement about
 * node counts that were not run. */
static void test_superlinear_is_refused(void **state)
{
    (void)state;
    static const int64_t step_ns[] = {100000000, 40000000, 16000000};
    struct fixture f = {.n = 3};
    for (int i = 0; i < 3; i++)
        f.runs[i] = made_even_run(1 << i, 64, 40, step_ns[i], 0, 0, 0);
    const struct series *s = analyse_all(&f);
    const struct law *a = law_of(s, LAW_AMDAHL);
    assert_false(a->has);
    assert_int_equal(a->n_parameters, 0);
    assert_int_equal(a->why.code, REASON_LAW_SERIAL_BELOW_0); /* least squares: -11 % */
    assert_int_equal(s->n_ahead, 0);
    assert_int_equal(s->extrapolation_why.code, REASON_NO_LAW_FITS);
    release(&f);
}

/* Points fit Amdahl's law, but the last had 8 ranks on 4 cores. So no law is fitted, and each gives the reason. */
static void test_no_law_through_shared_cores(void **state)
{
    (void)state;
    struct fixture f = {.n = 4};
    for (int i = 0; i < 4; i++) {
        f.runs[i] = made_even_run(1 << i, 64, 40, 80000000 >> i, i ? 20000000 : 0, i ? 0 : 20000000, 0);
        f.runs[i]->node_kind = NODES_EMULATED;
        for (int k = 0; k < 1 << i; k++)
            run_node_at(f.runs[i], k)->cores = run_node_at(f.runs[i], k)->cores_allowed = 4;
    }
    const struct series *s = analyse_all(&f);
    assert_int_equal(s->n_laws, 4);
    for (int i = 0; i < s->n_laws; i++) {
        assert_false(s->laws[i].has);
        assert_int_equal(s->laws[i].n_parameters, 0);
        assert_int_equal(s->laws[i].why.code, REASON_LAW_CORES_SHARED);
        assert_int_equal(s->laws[i].why.slot[0].count, 8);
        assert_string_equal(s->laws[i].why.slot[2].name, "8 ranks take turns on 4 cores");
    }
    assert_int_equal(s->n_ahead, 0);
    release(&f);
}

/* Communication shrinks with more ranks. Latency and bandwidth cannot be negative, so this law does not apply. */
static void test_no_negative_terms(void **state)
{
    (void)state;
    const int64_t comm_ns[] = {40000000, 10000000, 5000000};
    struct fixture f = {.n = 3};
    for (int i = 0; i < 3; i++)
        f.runs[i] = made_even_run(2 << i, 64, 30, 400000000 >> i, comm_ns[i], 0, 0);
    const struct law *l = law_of(analyse_all(&f), LAW_ALL_REDUCE);
    assert_false(l->has);
    assert_int_equal(l->why.code, REASON_LAW_NEGATIVE_TERM);
    release(&f);
}

static struct run *summary(int gpus, double throughput);

/* S(n) = n / (1 + a (n - 1) + b n (n - 1)) with impossible parameters: 1, 0.8, 0.62, 0.87 and 1, 1.12, 1.44, 5. */
static void test_usl_without_meaning_is_refused(void **state)
{
    (void)state;
    static const struct {
        double contention, coherency;
        enum reason_code why;
    } cases[] = {
        {2.1, -0.02, REASON_LAW_CONTENTION}, {0.9, -0.02, REASON_LAW_COHERENCY}, {-0.05, 0.01, REASON_LAW_CONTENTION}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct fixture f = {.n = 4};
        for (int i = 0; i < 4; i++) {
            double n = 1 << i;
            f.runs[i] =
                summary(1 << i, 460 * n / (1 + cases[c].contention * (n - 1) + cases[c].coherency * n * (n - 1)));
        }
        const struct series *s = analyse_all(&f);
        const struct law *u = law_of(s, LAW_USL);
        assert_false(u->has);
        assert_int_equal(u->why.code, cases[c].why);
        assert_true(s->extrapolated_by != LAW_USL);
        release(&f);
    }
}

/* A run with only a known throughput; steps of a second on average. */
static struct run *summary(int gpus, double throughput)
{
    struct run *r = made_run(gpus, 64);
    r->unit = COUNTS_GPUS;
    r->summary = (struct run_summary){.source = "DDP scaling result",
                                      .series = "strong",
                                      .n_steps = 100,
                                      .mean_ns = (int64_t)(64e9 / throughput),
                                      .stdev_ns = 1000000,
                                      .slowest_rank = -1,
                                      .throughput = throughput};
    return r;
}

/* S(n) = n / (1 + 0.1 (n - 1) + 0.05 n (n - 1)): 1, 1.6667, 2.1053, 1.7778. */
static void test_usl_of_summaries(void **state)
{
    (void)state;
    struct fixture f = {.n = 4};
    for (int i = 0; i < 4; i++) {
        double n = 1 << i;
        f.runs[i] = summary(1 << i, 460 * n / (1 + 0.1 * (n - 1) + 0.05 * n * (n - 1)));
    }
    const struct series *s = analyse_all(&f);
    assert_int_equal(f.rep.unit, COUNTS_GPUS);
    assert_int_equal(s->kind, SCALING_STRONG);
    const struct law *u = law_of(s, LAW_USL);
    assert_true(u->has && near(u->parameters[0].value, 0.1) && near(u->parameters[1].value, 0.05));
    assert_true(near(u->parameters[2].value, sqrt(0.9 / 0.05)));
    assert_int_equal(s->extrapolated_by, LAW_USL);
    assert_true(near(s->ahead[0].speedup, 16 / (1 + 1.5 + 12.0)));
    assert_int_equal(s->n_losses, 0);
    assert_int_equal(s->losses_why.code, REASON_FILES_WITHOUT_PHASES);
    assert_true(s->points[1].speedup_interval.has && s->points[1].speedup_interval.lo < s->points[1].speedup &&
                s->points[1].speedup_interval.hi > s->points[1].speedup);
    assert_false(f.rep.runs[0].has_steps);
    assert_int_equal(f.rep.runs[0].step.n, 100);
    release(&f);
}

/* Results without a command differ by the batch, or by the mode of scaling. */
static void test_what_summaries_differ_in(void **state)
{
    (void)state;
    static const char *const want[] = {"batch", "scaling mode"};
    for (int is_mode = 0; is_mode < 2; is_mode++) {
        struct fixture f = {.n = 3};
        for (int i = 0; i < 3; i++)
            f.runs[i] = summary(1 << i, 460 << i);
        if (is_mode)
            f.runs[2]->summary.series = "weak";
        else
            f.runs[2]->program.global_batch = 96; /* of 64 on one GPU and on two: neither that nor four times it */
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&f.rep, f.runs, f.n, &o, NULL), 0);
        assert_int_equal(f.rep.n_series, 2);
        int is_said = 0;
        for (int i = 0; i < f.rep.n_notes; i++)
            is_said |=
                f.rep.notes[i].id == NOTE_MIXED && strcmp(f.rep.notes[i].said[0].slot[1].name, want[is_mode]) == 0;
        assert_true(is_said);
        release(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_amdahl),
        cmocka_unit_test(test_two_points_are_too_few),
        cmocka_unit_test(test_superlinear_is_refused),
        cmocka_unit_test(test_usl_without_meaning_is_refused),
        cmocka_unit_test(test_no_law_through_shared_cores),
        cmocka_unit_test(test_no_negative_terms),
        cmocka_unit_test(test_usl_of_summaries),
        cmocka_unit_test(test_what_summaries_differ_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
