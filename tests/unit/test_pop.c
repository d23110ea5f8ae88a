/* test_pop.c - POP efficiencies against hand-computed cases and their identities. */
#include "render/read/recorder.h"
#include "render/metrics/breakdown/pop.h"
#include "render/metrics/stats.h"
#include "render/findings/efficiencies.h"
#include "tests/unit/made_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

static int near(double a, double b)
{
    return fabs(a - b) < 1e-12;
}

static void test_by_hand(void **state)
{
    (void)state;
    /* 4 ranks, wall 100; useful 80 60 60 40: mean 60, max 80; transfer 10 */
    const int64_t useful[] = {80, 60, 60, 40}, total[] = {100, 100, 100, 100};
    struct pop p = pop_of(useful, NULL, total, 4, 10, 1);
    assert_true(p.has);
    assert_true(near(p.parallel_ratio, 0.60));
    assert_true(near(p.load_balance_ratio, 0.75));
    assert_true(near(p.communication_ratio, 0.80));
    assert_true(near(p.transfer_ratio, 0.90));
    assert_true(near(p.serialization_ratio, 0.80 / 0.90));
    assert_int_equal(p.useful_mean_ns, 60);
    assert_int_equal(p.useful_max_ns, 80);
}

/* 2 GPUs, step 100: they compute for 32 and 41, anything runs for 80 and 90; transfer 44. */
static void test_gpus_by_hand(void **state)
{
    (void)state;
    const int64_t useful[] = {32, 41}, busy[] = {80, 90}, total[] = {100, 100};
    struct pop p = pop_of(useful, busy, total, 2, 44, 1);
    assert_true(p.has && p.is_of_gpus);
    assert_true(near(p.parallel_ratio, 0.365));
    assert_true(near(p.load_balance_ratio, 36.5 / 41));
    assert_true(near(p.gpu_communication_ratio, 41 / 90.0));
    assert_true(near(p.orchestration_ratio, 0.90));
    assert_true(near(p.communication_ratio, 0.41));
    assert_true(near(p.transfer_ratio, 0.56));
    assert_true(near(p.parallel_ratio, p.load_balance_ratio * p.gpu_communication_ratio * p.orchestration_ratio));
    assert_true(near(p.communication_ratio, p.gpu_communication_ratio * p.orchestration_ratio));
    assert_true(near(p.communication_ratio, p.serialization_ratio * p.transfer_ratio));
}

/* Time on the GPUs is useful if they compute; idle time and copies are not. */
static void test_gpus_of_traces(void **state)
{
    (void)state;
    const int64_t gpu[2][3] = {{32, 44, 4}, {41, 44, 5}};
    struct run *r = made_traced_run(2, gpu, 1), *runs[] = {r};
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    const struct pop *p = &rep.runs[0].pop;
    assert_true(p->has && p->is_of_gpus);
    assert_true(near(p->parallel_ratio, 0.365));
    assert_true(near(p->gpu_communication_ratio, 41 / 90.0));
    assert_true(near(p->orchestration_ratio, 0.90));
    assert_int_equal(p->useful_max_ns, 41);
    assert_true(rep.runs[0].pop_host.has && near(rep.runs[0].pop_host.offload_ratio, 0.70));
    assert_int_equal(rep.runs[0].pop_host.runtime_mean_ns, 30);
    struct dcr_buf told = {0};
    efficiencies_put(&rep.runs[0], &told);
    assert_string_equal(dcr_buf_text(&told),
                        "0.36 = load balance 0.89 x GPU communication 0.46 x GPU orchestration 0.90");
    dcr_buf_release(&told);
    efficiencies_put_host(&rep.runs[0], &told);
    assert_string_equal(dcr_buf_text(&told), "0.70 = device offload: 30 ns of a step of 100 ns in calls of the GPU's "
                                             "runtime");
    dcr_buf_release(&told);
    report_free(&rep);
    run_free(r);
}

/* A single GPU still waits for its host; with several in one trace the steps stand for one. */
static void test_one_gpu_and_several(void **state)
{
    (void)state;
    const int64_t gpu[1][3] = {{40, 0, 10}};
    for (int n_gpus = 1; n_gpus <= 2; n_gpus++) {
        struct run *r = made_traced_run(1, gpu, n_gpus), *runs[] = {r};
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        const struct pop *p = &rep.runs[0].pop;
        assert_int_equal(p->has, n_gpus == 1);
        assert_true(n_gpus > 1 || (near(p->parallel_ratio, 0.4) && near(p->orchestration_ratio, 0.5)));
        if (n_gpus > 1)
            assert_int_equal(rep.runs[0].pop_why.code, REASON_STEPS_OF_ONE_GPU);
        report_free(&rep);
        run_free(r);
    }
}

static void test_identities(void **state)
{
    (void)state;
    struct draws d = {5};
    for (int trial = 0; trial < 1000; trial++) {
        int n = 1 + (int)draw_below(&d, 16);
        int64_t useful[16], total[16];
        for (int i = 0; i < n; i++) {
            total[i] = 1000000;
            useful[i] = 1 + (int64_t)draw_below(&d, 1000000);
        }
        struct pop p = pop_of(useful, NULL, total, n, (int64_t)draw_below(&d, 1000), 1);
        assert_true(near(p.parallel_ratio, p.load_balance_ratio * p.communication_ratio));
        assert_true(near(p.communication_ratio, p.serialization_ratio * p.transfer_ratio));
        assert_true(p.parallel_ratio <= 1 && p.load_balance_ratio <= 1 && p.communication_ratio <= 1);
    }
}

static void test_nothing_measured(void **state)
{
    (void)state;
    const int64_t zero[] = {0, 0};
    assert_false(pop_of(zero, NULL, zero, 2, 0, 1).has);
    assert_false(pop_of(zero, NULL, zero, 0, 0, 0).has);
}

/* Data loading is outside communication, so it is useful time here: a slow loader on one rank costs no efficiency. */
static void test_data_loading_is_not_communication(void **state)
{
    (void)state;
    struct run *r = made_even_run(1, 64, 10, 50, 0, 50, 0), *runs[] = {r};
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    assert_true(near(rep.runs[0].pop.communication_ratio, 1));
    assert_true(rep.runs[0].pop.has_useful && !rep.runs[0].pop.has); /* one rank waits for nobody */
    assert_int_equal(rep.runs[0].pop_why.code, REASON_ONE_RANK);
    report_free(&rep);
    run_free(r);
}

/* Two nodes of two ranks: useful 80 60 | 60 40. Means of nodes 70 and 50, of all 60, most 80. */
static void test_nodes(void **state)
{
    (void)state;
    const int64_t useful[] = {80, 60, 60, 40}, total[] = {100, 100, 100, 100};
    const int two[] = {0, 0, 1, 1}, each[] = {0, 1, 2, 3}, one[] = {5, 5, 5, 5}, unknown[] = {0, 0, -1, 1};
    struct pop p = pop_of(useful, NULL, total, 4, 10, 1);
    pop_nodes(&p, useful, two, 4);
    assert_true(p.has_in_nodes && p.has_between_nodes);
    assert_true(near(p.in_nodes_ratio, 70.0 / 80) && near(p.between_nodes_ratio, 60.0 / 70));
    assert_true(near(p.in_nodes_ratio * p.between_nodes_ratio, p.load_balance_ratio));
    p = pop_of(useful, NULL, total, 4, 10, 1);
    pop_nodes(&p, useful, each, 4);
    assert_true(!p.has_in_nodes && p.has_between_nodes && near(p.between_nodes_ratio, 0.75));
    assert_int_equal(p.in_nodes_why.code, REASON_ONE_RANK_A_NODE);
    p = pop_of(useful, NULL, total, 4, 10, 1);
    pop_nodes(&p, useful, one, 4);
    assert_true(p.has_in_nodes && !p.has_between_nodes && near(p.in_nodes_ratio, 0.75));
    p = pop_of(useful, NULL, total, 4, 10, 1);
    pop_nodes(&p, useful, unknown, 4);
    assert_true(!p.has_in_nodes && !p.has_between_nodes);
    assert_int_equal(p.in_nodes_why.code, REASON_NODES_OF_RANKS);
}

/* Per rank and step: 1 node 1000 instructions in 500 cycles of 250 ns; 2 nodes 600 in 400 cycles of 250 ns. Strong:
 * instructions 1000 / 1200; IPC 1.5 / 2; frequency 1.6 / 2 GHz. */
static void test_counters(void **state)
{
    (void)state;
    for (int weak = 0; weak < 2; weak++) {
        struct run *runs[] = {made_even_run(1, 64, 10, 90, 10, 0, 0),
                              made_even_run(2, weak ? 128 : 64, 10, 90, 10, 0, 0)};
        for (int i = 0; i < 2; i++)
            for (int k = 0; k <= i; k++) {
                struct run_rank *r = run_rank_at(runs[i], k);
                r->counters = recorder_of("ok");
                r->instructions = i ? 6000 : 10000;
                r->cycles = i ? 4000 : 5000;
                r->task_clock_ns = 2500;
            }
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 2, &o, NULL), 0);
        assert_int_equal(rep.n_series, 1);
        const struct point_counters *one = &rep.series[0].points[0].counters, *two = &rep.series[0].points[1].counters;
        assert_true(near(one->instructions, 1000) && near(two->instructions, 1200));
        assert_true(near(one->ipc_scaling_ratio, 1));
        assert_true(near(two->instruction_scaling_ratio, (weak ? 2 : 1) * 1000.0 / 1200));
        assert_true(near(two->ipc_scaling_ratio, 0.75) && near(two->frequency_scaling_ratio, 0.8));
        assert_int_equal(two->why.code, REASON_NONE);
        report_free(&rep);
        run_free(runs[0]);
        runs[0] = NULL;
        /* a single run has nothing to scale against; without counters the archive's own reason is given */
        assert_int_equal(analyse(&rep, runs + 1, 1, &o, NULL), 0);
        one = &rep.series[0].points[0].counters;
        assert_true(one->has && !one->has_scaling);
        assert_int_equal(one->why.code, REASON_COUNTED_AT_ONE_POINT);
        report_free(&rep);
        run_rank_at(runs[1], 1)->cycles = -1;
        run_rank_at(runs[1], 1)->counters = recorder_of("n/a because this machine shows no such counter");
        assert_int_equal(analyse(&rep, runs + 1, 1, &o, NULL), 0);
        one = &rep.series[0].points[0].counters;
        assert_false(one->has);
        assert_int_equal(one->why.code, REASON_COUNTERS_UNAVAILABLE);
        assert_string_equal(one->why.slot[0].name, "this machine shows no such counter");
        report_free(&rep);
        run_free(runs[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_gpus_by_hand),
        cmocka_unit_test(test_gpus_of_traces),
        cmocka_unit_test(test_one_gpu_and_several),
        cmocka_unit_test(test_identities),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_nothing_measured),
        cmocka_unit_test(test_data_loading_is_not_communication),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
