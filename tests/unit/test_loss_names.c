/* test_loss_names.c - which calls and operators lose time against ideal scaling: the five largest and the rest, to the
 * nanosecond. */
#include "render/metrics/series/series.h"
#include "tests/unit/made_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { N_CALLS = 8, N_STEPS = 10 };
static const char *const names[N_CALLS] = {"MPI_Allreduce", "MPI_Barrier", "MPI_Bcast", "MPI_Gather",
                                           "MPI_Reduce",    "MPI_Scan",    "MPI_Send",  "MPI_Init"};

/* Calls of one run, all ranks together. MPI_Init does not belong to the steps. */
static struct run *made(int n_nodes, const int64_t ns[N_CALLS])
{
    struct run *r = made_even_run(n_nodes, 64, N_STEPS, 1000 / n_nodes, 100, 0, 0);
    for (int i = 0; i < N_CALLS; i++)
        if (ns[i])
            run_observe_mpi(r, names[i], &(struct dct_io){.n = 1, .ns = (uint64_t)ns[i]});
    run_sort_observed(r);
    run_sort(r);
    return r;
}

static void calls_by_what_they_lose(void **state)
{
    (void)state;
    /* A rank has 20 steps at two nodes and 40 at four. */
    static const int64_t two[N_CALLS] = {2000, 200, 20, 30, 41, 50, 400, 9000},
                         four[N_CALLS] = {8000, 404, 44, 41, 120, 900, 200, 9000};
    struct run *runs[] = {made(2, two), made(4, four)};
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 2, &o, NULL), 0);
    const struct series *s = &rep.series[0];
    static const struct {
        const char *name;
        int64_t two, four, lost;
    } want[] = {{"MPI_Allreduce", 100, 200, 150}, {"MPI_Scan", 2, 23, 22}, {"MPI_Barrier", 10, 10, 5},
                {"MPI_Reduce", 2, 3, 2},          {"MPI_Bcast", 1, 1, 0},  {"", 22, 6, -5}};
    int64_t sum[3] = {0};
    assert_int_equal(s->n_names, 6);
    for (int i = 0; i < s->n_names; i++) {
        const struct series_name *n = &s->names[i];
        assert_int_equal(n->of, NAMES_MPI);
        assert_string_equal(n->name, want[i].name);
        assert_true(llabs(n->ns[0] - want[i].two) <= 1 && llabs(n->ns[1] - want[i].four) <= 1 &&
                    llabs(n->lost_ns[0] - want[i].lost) <= 1);
        sum[0] += n->ns[0];
        sum[1] += n->ns[1];
        sum[2] += n->lost_ns[0];
    }
    assert_int_equal(sum[0], 137); /* 2741 / 20 = 137.05 */
    assert_int_equal(sum[1], 243); /* 9709 / 40 = 242.7 */
    assert_int_equal(sum[2], 243 - 69);
    report_free(&rep);
    for (int i = 0; i < 2; i++)
        run_free(runs[i]);
}

/* Ranges of the host by self time, and collectives of a GPU by the short names of their kernels. Kernels that
 * compute do not count. With weak scaling the ideal time stays the same. */
static void operators_and_collectives(void **state)
{
    (void)state;
    static const int64_t none[N_CALLS] = {0};
    static struct host_operator operators[2][2] = {
        {{.name = "load", .n = 1, .self_ns = 100}, {.name = "step", .n = 1}},
        {{.name = "load", .n = 1, .self_ns = 600}, {.name = "step", .n = 1}}};
    static struct device_name kernels[2][2] = {
        {{.name = "ncclDevKernel_AllReduce_Sum_f32(int)", .kind = OP_COMM, .n = 1, .sum_ns = 40},
         {.name = "gemm", .kind = OP_COMPUTE, .n = 1, .sum_ns = 7000}},
        {{.name = "ncclDevKernel_AllReduce_Sum_f32(int)", .kind = OP_COMM, .n = 1, .sum_ns = 240},
         {.name = "gemm", .kind = OP_COMPUTE, .n = 1, .sum_ns = 7000}}};
    struct run *runs[2];
    struct run_device devices[2];
    struct foreign_trace traces[2];
    struct run_result results[2];
    int index[] = {0, 1};
    memset(devices, 0, sizeof devices);
    memset(traces, 0, sizeof traces);
    memset(results, 0, sizeof results);
    for (int i = 0; i < 2; i++) {
        runs[i] = made(1 + i, none); /* 10 and 20 steps of a rank */
        runs[i]->ranges.list = operators[i];
        runs[i]->ranges.n_names = 2;
        devices[i].names = kernels[i];
        devices[i].n_names = 2;
        traces[i].devices = &devices[i];
        traces[i].n_devices = 1;
        runs[i]->traces = &traces[i];
        runs[i]->n_traces = 1;
        results[i].run = runs[i];
        results[i].n_ranks = 1 + i;
    }
    struct report rep = {.runs = results, .n_runs = 2};
    struct series_point points[] = {{.n_nodes = 1, .runs = &index[0], .n_runs = 1},
                                    {.n_nodes = 2, .runs = &index[1], .n_runs = 1}};
    struct series_loss loss = {.from = 0, .to = 1};
    struct series s = {.kind = SCALING_WEAK, .points = points, .n_points = 2, .losses = &loss, .n_losses = 1};
    series_by_name(&rep, &s);
    assert_int_equal(s.n_names, 3);
    assert_string_equal(s.names[0].name, "load");
    assert_true(s.names[0].ns[0] == 10 && s.names[0].ns[1] == 30 && s.names[0].lost_ns[0] == 20);
    assert_true(s.names[1].of == NAMES_OPERATORS && s.names[1].lost_ns[0] == 0);
    assert_int_equal(s.names[2].of, NAMES_COLLECTIVES);
    assert_string_equal(s.names[2].name, "ncclDevKernel_AllReduce_Sum_f32");
    assert_true(s.names[2].ns[0] == 4 && s.names[2].ns[1] == 12 && s.names[2].lost_ns[0] == 8);
    dcr_arena_release(&rep.arena);
    for (int i = 0; i < 2; i++) {
        runs[i]->traces = NULL;
        runs[i]->n_traces = 0;
        run_free(runs[i]);
    }
}

/* A profiler recorded four of ten steps. Ranges of the native traces show the same time once more and do not count,
 * with phases or without. A trace that marks no steps is taken to hold all. */
static void operators_of_a_profiler(void **state)
{
    (void)state;
    static const int64_t none[N_CALLS] = {0};
    static struct host_operator range[] = {{.name = "forward", .n = 1, .self_ns = 5000}},
                                operators[2][2] = {{{.name = "aten::mm", .n = 1, .self_ns = 400},
                                                    {.name = "aten::add", .n = 1, .self_ns = 80}},
                                                   {{.name = "aten::mm", .n = 1, .self_ns = 600},
                                                    {.name = "aten::add", .n = 1, .self_ns = 40}}};
    struct run *runs[2];
    struct foreign_trace traces[2];
    struct run_result results[2];
    int index[] = {0, 1};
    memset(traces, 0, sizeof traces);
    memset(results, 0, sizeof results);
    for (int i = 0; i < 2; i++) {
        runs[i] = made(1 + i, none); /* 10 and 20 steps of a rank */
        runs[i]->ranges = (struct host_operators){.list = range, .n_names = 1, .n = 1};
        traces[i].operators = (struct host_operators){.list = operators[i], .n_names = 2, .n = 2};
        traces[i].steps.steps = runs[i]->ranks[0].steps;
        runs[i]->traces = &traces[i];
        runs[i]->n_traces = 1;
        results[i].run = runs[i];
        results[i].n_ranks = 1 + i;
    }
    struct report rep = {.runs = results, .n_runs = 2};
    struct series_point points[] = {{.n_nodes = 1, .runs = &index[0], .n_runs = 1},
                                    {.n_nodes = 2, .runs = &index[1], .n_runs = 1}};
    struct series_loss loss = {.from = 0, .to = 1};
    for (int turn = 0; turn < 3; turn++) {
        struct series s = {.kind = SCALING_STRONG, .points = points, .n_points = 2, .losses = &loss, .n_losses = 1};
        s.n_phases = turn == 0;
        traces[0].steps.n_steps = traces[1].steps.n_steps = turn < 2 ? 4 : 0;
        series_by_name(&rep, &s);
        assert_int_equal(s.n_names, 2);
        const struct series_name *mm = &s.names[0], *add = &s.names[1];
        assert_true(mm->of == NAMES_OPERATORS && add->of == NAMES_OPERATORS);
        assert_string_equal(mm->name, "aten::mm");
        assert_int_equal(mm->ns[0], turn < 2 ? 100 : 40);
        assert_int_equal(mm->ns[1], turn < 2 ? 150 : 30);
        assert_int_equal(mm->lost_ns[0], turn < 2 ? 100 : 10);
        assert_int_equal(add->lost_ns[0], turn < 2 ? 0 : -2);
    }
    struct series s = {.kind = SCALING_STRONG, .points = points, .n_points = 2, .losses = &loss, .n_losses = 1};
    traces[1].operators.n_names = 0; /* one run without a profiler: ranges, unless phases are shown */
    s.n_phases = 1;
    series_by_name(&rep, &s);
    assert_int_equal(s.n_names, 0);
    s.n_phases = 0;
    series_by_name(&rep, &s);
    assert_int_equal(s.n_names, 1);
    assert_string_equal(s.names[0].name, "forward");
    dcr_arena_release(&rep.arena);
    for (int i = 0; i < 2; i++) {
        runs[i]->traces = NULL;
        runs[i]->n_traces = 0;
        runs[i]->ranges.n_names = 0;
        run_free(runs[i]);
    }
}

static void a_run_that_lost_events_says_nothing(void **state)
{
    (void)state;
    static const int64_t ns[N_CALLS] = {2000, 200};
    struct run *runs[] = {made(2, ns), made(4, ns)};
    runs[1]->ranks[0].n_dropped = 1;
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 2, &o, NULL), 0);
    assert_int_equal(rep.series[0].n_names, 0);
    report_free(&rep);
    for (int i = 0; i < 2; i++)
        run_free(runs[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_by_what_they_lose),
        cmocka_unit_test(operators_and_collectives),
        cmocka_unit_test(operators_of_a_profiler),
        cmocka_unit_test(a_run_that_lost_events_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
