/* test_devices_told.c - render/findings: findings and advice for GPU traces and files without steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "render/findings/stepless.h"
#include "render/metrics/device_shares.h"
#include "tests/unit/told.h"

enum { KERNELS = 4000 };

/* A GPU that idled for 13 of 20 ms, 12 of them because its host was late. */
static struct run_device made_device(int number)
{
    struct run_device d = {.file = "t.json", .model = "", .device = number, .rank = -1, .has_idle_causes = 1};
    d.value[DEV_KERNELS] = KERNELS;
    d.value[DEV_SPAN] = 20000000;
    d.value[DEV_IDLE] = 13000000;
    d.value[DEV_COMPUTE] = 6000000;
    d.value[DEV_EXPOSED_MEM] = 1000000;
    d.idle_ns[IDLE_HOST] = 12000000;
    d.idle_ns[IDLE_OTHER] = 1000000;
    return d;
}

static void trace(struct fixture *f, struct foreign_trace *t, struct run_device *d, int n)
{
    *f = (struct fixture){.n = 1};
    t->devices = d;
    t->n_devices = n;
    f->runs[0] = run_new("t.json");
    f->runs[0]->is_foreign = 1;
    f->runs[0]->traces = t;
    f->runs[0]->n_traces = 1;
    tell(f);
}

static void test_least_busy(void **state)
{
    (void)state;
    struct run_device d[3] = {made_device(0), made_device(1), made_device(2)};
    struct foreign_trace t = {.devices = d, .n_devices = 3};
    struct run r = {.traces = &t, .n_traces = 1};
    d[0].value[DEV_SPAN] = 0; /* nothing is known about it */
    d[1].value[DEV_IDLE] = 5000000;
    assert_ptr_equal(least_busy_device(&r), &d[2]);
    assert_true(device_idle_ratio(&d[2]) == 0.65 && device_idle_ratio(&d[0]) == 0);
    t.n_devices = 1;
    assert_null(least_busy_device(&r));
}

/* Steps that a trace marks and the run counts are not called unusable. */
static void test_marked_steps(void **state)
{
    (void)state;
    struct run_device d = made_device(3);
    struct foreign_trace t = {.file = "t.json", .kind = FOREIGN_KINETO, .rank = -1};
    struct fixture f;
    trace(&f, &t, &d, 1);
    t.steps.n_steps = 5;
    for (int are_counted = 0; are_counted < 2; are_counted++) {
        struct said s = {0};
        assert_int_equal(say_devices(&f.rep, f.runs[0], are_counted, &s), 1);
        assert_int_equal(is_said(&s, PHRASE_MARKED_NOT_USED), !are_counted);
    }
    t.steps.n_steps = 0;
    release(&f);
}

/* For training, the advice tells how to mark steps; for other programs it does not. */
static void test_idle(void **state)
{
    (void)state;
    struct host_operator op = {.name = "Optimizer.step#SGD.step", .n = 4};
    for (int is_training = 0; is_training < 2; is_training++) {
        struct run_device d = made_device(3);
        struct foreign_trace t = {.file = "t.json", .kind = FOREIGN_KINETO, .rank = -1};
        t.operators = (struct host_operators){.list = &op, .n_names = is_training, .n = is_training};
        struct fixture f;
        trace(&f, &t, &d, 1);
        const struct run_result *r = &f.rep.runs[0];
        assert_finds(&r->said, PHRASE_GPU_IDLE_MOSTLY);
        assert_int_equal(r->said.headline.slot[0].count, 3);
        assert_true(r->said.headline.slot[1].real == 0.65);
        assert_string_equal(r->said.headline.slot[2].name, "waiting for the host");
        assert_int_equal(assert_supports(&r->said, PHRASE_GPU_IDLE_HOST)[0].real * 13, 12);
        assert_true(assert_supports(&r->said, PHRASE_GPU_COMPUTE)[0].real == 0.3);
        assert_int_equal(r->advised.id, ADVICE_LAUNCHES);
        assert_true(r->stepless_action.is_first);
        assert_contains(r->stepless_advice, "12.0 ms");
        assert_int_equal(strstr(r->stepless_advice, "step()") != NULL, is_training);
        release(&f);
    }
}

/* A function with a row for each module in which it ran is one function, here in two traces. */
static void test_largest_function(void **state)
{
    (void)state;
    struct code_line first[] = {{"core.py:9", "call", "", 12},
                                {"param.py:1", "f", "Norm", 9},
                                {"param.py:1", "f", "", 4}},
                     second[] = {{"param.py:1", "f", "Norm", 10}, {"param.py:1", "g", "", 3}},
                     odd = {"(others)", "", "", 90};
    struct run r = {.n_ranks = 1};
    struct foreign_trace t[] = {{.code = {.has_stacks = 1, .list = first, .n = 3, .idle_ns = 60, .known_ns = 25}},
                                {.code = {.has_stacks = 1, .list = second, .n = 2, .idle_ns = 40, .known_ns = 13}},
                                {.code = {.has_stacks = 1, .list = &odd, .n = 1, .idle_ns = 100, .known_ns = 90}}};
    struct function_share f;
    assert_true(largest_function(t, 1, 0, &f) && f.share == 13. / 60);
    assert_true(largest_function(t, 2, 0, &f) && f.share == 23. / 100);
    assert_string_equal(f.place, "param.py:1");
    assert_string_equal(f.function, "f");
    assert_int_equal(phrase_of_host_line(t, 2).id, PHRASE_GPU_IDLE_LINE);
    assert_int_equal(largest_function(t, 2, 1, &f), 0);
    assert_int_equal(largest_function(t + 2, 1, 0, &f), 0);
    assert_true(largest_function(t, 3, 0, &f) && f.share == 23. / 200);
    t[0].code.idle_ns = 131;
    assert_int_equal(phrase_of_host_line(t, 1).id, PHRASE_NONE); /* too small a part */
    for (int i = 0; i < 2; i++)
        t[i].kind = FOREIGN_KINETO;
    assert_int_equal(phrase_of_stacks(&r, t, 2).id, PHRASE_NONE);
    t[0].code.has_stacks = t[1].code.has_stacks = 0;
    assert_int_equal(phrase_of_stacks(&r, t, 2).id, PHRASE_GPU_IDLE_STACKS);
    t[1].kind = FOREIGN_NSYS_SQLITE;
    assert_int_equal(phrase_of_stacks(&r, t, 2).id, PHRASE_NONE);
}

static void test_busy(void **state)
{
    (void)state;
    struct run_device d[2] = {made_device(0), made_device(1)};
    for (int n = 1; n <= 2; n++) {
        for (int i = 0; i < 2; i++) {
            d[i].value[DEV_IDLE] = 2000000 + 2000000 * i;
            d[i].idle_ns[IDLE_HOST] = 2000000 + 2000000 * i;
            d[i].idle_ns[IDLE_OTHER] = 0;
        }
        struct foreign_trace t = {.file = "t.json", .kind = FOREIGN_NSYS_SQLITE, .rank = -1};
        struct fixture f;
        trace(&f, &t, d, n);
        const struct run_result *r = &f.rep.runs[0];
        assert_finds(&r->said, n == 1 ? PHRASE_GPU_COMPUTES : PHRASE_GPUS_COMPUTE); /* a busy GPU is not a problem */
        assert_true(r->said.headline.slot[1].real == 0.3);
        assert_true(assert_supports(&r->said, PHRASE_GPU_WAS_IDLE)[1].real == (n == 1 ? 0.1 : 0.2));
        if (n == 2)
            assert_int_equal(assert_supports(&r->said, PHRASE_LEAST_BUSY_GPU)[0].count, 1);
        assert_int_equal(r->advised.id, ADVICE_NOTHING_BUSY);
        assert_false(r->stepless_action.is_first);
        release(&f);
    }
}

/* A start-up trace: 79 kernels in 13 s show nothing about training, and nothing can be saved. */
static void test_few_kernels(void **state)
{
    (void)state;
    for (int one = 0; one < 2; one++) {
        struct run_device d = made_device(0);
        struct foreign_trace t = {.file = "t.json", .kind = FOREIGN_KINETO, .rank = -1};
        d.value[DEV_KERNELS] = one ? 1 : 79;
        d.value[DEV_SPAN] = one ? 20 : 13000000000;
        d.value[DEV_IDLE] = d.idle_ns[IDLE_HOST] = one ? 0 : 12900000000;
        struct fixture f;
        trace(&f, &t, &d, 1);
        const struct run_result *r = &f.rep.runs[0];
        assert_finds(&r->said, one ? PHRASE_GPU_ONE_OPERATION : PHRASE_GPU_FEW_KERNELS);
        if (!one) {
            assert_int_equal(r->said.headline.slot[1].count, 79);
            assert_int_equal(assert_supports(&r->said, PHRASE_GPU_WORKED)[0].count, 100000000);
        }
        assert_int_equal(r->advised.id, ADVICE_NOTHING_ONE_TRACE);
        assert_false(r->stepless_action.is_first);
        assert_lacks(f.rep.first_action, "12.9 s");
        assert_lacks(f.rep.first_action, "step");
        release(&f);
    }
}

/* The message size at which bandwidth stops growing, and the size that reaches half of it. */
static void test_benchmark(void **state)
{
    (void)state;
    struct run_allreduce_point points[] = {{8, 1, 30000, 30000, 30000},
                                           {1000, 1, 31000, 31000, 31000},
                                           {1000000, 1, 200000, 200000, 200000},
                                           {100000000, 1, 10100000, 10100000, 10100000},
                                           {1000000000, 1, 100000000, 100000000, 100000000}};
    for (int n = 4; n <= 5; n++) {
        struct run_collective_test test = {.file = "log",
                                           .collective = "all_reduce",
                                           .n_ranks = 16,
                                           .busbw_gb_per_s = 18.7,
                                           .busbw_bytes = (double)points[n - 1].bytes};
        test.points = points;
        test.n_points = n;
        struct foreign_table table = {
            .file = "log", .kind = FOREIGN_NCCL_TESTS, .caption = "", .columns = "#Bytes", .n_columns = 1};
        struct fixture f = {.n = 1};
        f.runs[0] = run_new("log");
        f.runs[0]->is_foreign = 1;
        f.runs[0]->tests = &test;
        f.runs[0]->n_tests = 1;
        f.runs[0]->tables = &table;
        f.runs[0]->n_tables = 1;
        tell(&f);
        const struct run_result *r = &f.rep.runs[0];
        assert_finds(&r->said, n == 5 ? PHRASE_BUS_SATURATES : PHRASE_BUS_GROWS);
        assert_int_equal(r->said.headline.slot[1].count, 16);
        assert_true(r->said.headline.slot[3].real == 1e8);
        assert_true(assert_supports(&r->said, PHRASE_BUS_HALF)[0].real == 1e6);
        assert_int_equal(assert_supports(&r->said, PHRASE_BUS_LATENCY)[1].count, 30000);
        assert_int_equal(r->advised.id, ADVICE_NOTHING_BENCHMARK);
        assert_false(r->stepless_action.is_first);
        release(&f);
    }
}

/* Samples alone: too few give no verdict; an idle GPU should be traced next. */
static void test_monitors(void **state)
{
    (void)state;
    static const struct {
        int n;
        double percent;
        enum phrase_id found;
        enum advice advice;
    } c[] = {{3, 10, PHRASE_UTILISATION_FEW, ADVICE_NOTHING_ONE_FILE},
             {100, 10, PHRASE_UTILISATION_LOW, ADVICE_LEARN_WHY_IDLE}, /* 40 % in the quarter with work */
             {100, 90, PHRASE_UTILISATION, ADVICE_NOTHING_BUSY}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct fixture f = {.n = 1};
        f.runs[0] = run_new("smi.csv");
        f.runs[0]->is_foreign = 1;
        struct run_gpu gpu = {
            .utilization_percent = {.n = c[i].n, .n_zero = c[i].n * 3 / 4, .sum = c[i].percent * c[i].n}};
        struct run_node *node = run_node_at(f.runs[0], 0);
        node->gpus = &gpu;
        node->n_gpus = 1;
        tell(&f);
        const struct run_result *r = &f.rep.runs[0];
        assert_finds(&r->said, c[i].found);
        if (c[i].found == PHRASE_UTILISATION_FEW)
            assert_int_equal(r->said.headline.slot[0].count, 3);
        else
            assert_true(r->said.headline.slot[0].real == c[i].percent / 100);
        if (c[i].found == PHRASE_UTILISATION_LOW) {
            const struct slot *use = assert_supports(&r->said, PHRASE_UTILISATION_IN_USE);
            assert_true(use[0].real == 0.75 && use[1].real == 0.4);
        }
        assert_int_equal(r->advised.id, c[i].advice);
        release(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_least_busy), cmocka_unit_test(test_marked_steps),
        cmocka_unit_test(test_idle),       cmocka_unit_test(test_largest_function),
        cmocka_unit_test(test_busy),       cmocka_unit_test(test_few_kernels),
        cmocka_unit_test(test_benchmark),  cmocka_unit_test(test_monitors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
