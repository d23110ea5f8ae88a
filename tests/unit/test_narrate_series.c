/* test_narrate_series.c - what limits scaling: the finding of a series of node counts (render/findings/series.c). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/told.h"

/* One slow rank: the waiting is named, with the rank, and not the network. */
static void test_slow_rank_limits_scaling(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
    f.runs[1] = made_run(4, 64);
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 4; i++) {
            int64_t compute = i == 2 ? 40000000 : 20000000;
            int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = compute, [CAT_COMM] = 41000000 - compute};
            made_step(f.runs[1], run_rank_at(f.runs[1], i), part);
        }
    tell(&f);
    assert_finds(&f.rep.series[0].said, PHRASE_SCALING_WAITING);
    assert_string_equal(f.rep.series[0].said.headline.slot[0].name, "rank 2");
    assert_true(fabs(f.rep.series[0].said.headline.slot[1].real - 15.0 / 41) < 0.01);
    assert_one_story(&f.rep, CLASS_IMBALANCE, 1);
    release(&f);
}

/* The rank of a pair that has more to do adds half of that to the mean of compute and half to the mean of waiting.
 * Whatever the factor and the noise, the cause is the rank. If both ranks compute longer, it is compute. */
static void test_slow_rank_of_two(void **state)
{
    (void)state;
    static const struct {
        double slow, other; /* factor of the compute time */
        int64_t noise_ns;   /* more compute on both */
        int is_of_rank;
    } cases[] = {{1.6, 1, 0, 1},   {2, 1, 200000, 1}, {3, 1, 200000, 1}, {4.5, 1, 400000, 1},
                 {1.6, 1.6, 0, 0}, {3, 3, 0, 0},      {3, 2.6, 0, 0}};
    for (size_t t = 0; t < sizeof cases / sizeof *cases; t++) {
        struct fixture f = {.n = 2};
        f.runs[0] = made_even_run(1, 64, 40, 8000000, 0, 0, 0);
        f.runs[1] = made_run(2, 64);
        int64_t compute[2] = {(int64_t)(4e6 * cases[t].other) + cases[t].noise_ns,
                              (int64_t)(4e6 * cases[t].slow) + cases[t].noise_ns};
        for (int s = 0; s < 40; s++)
            for (int i = 0; i < 2; i++) {
                const int64_t part[N_CATEGORIES] = {
                    [CAT_COMPUTE] = compute[i], [CAT_COMM] = compute[1] - compute[i] + 30000};
                made_step(f.runs[1], run_rank_at(f.runs[1], i), part);
            }
        tell(&f);
        const struct said *said = &f.rep.series[0].said;
        assert_finds(said, cases[t].is_of_rank ? PHRASE_SCALING_WAITING : PHRASE_SCALING_PART);
        if (cases[t].is_of_rank) {
            assert_string_equal(said->headline.slot[0].name, "rank 1");
            assert_one_story(&f.rep, CLASS_IMBALANCE, 1);
            assert_supports(said, PHRASE_STRAGGLER_LAST);
        }
        release(&f);
    }
}

/* Four ranks on two cores are slower still, but training had stopped to scale before: on two nodes, where each rank had
 * a core and communication took most of the step. */
static void test_stops_before_the_cores_run_out(void **state)
{
    (void)state;
    for (int is_early = 0; is_early < 2; is_early++) {
        struct fixture f = {.n = 3};
        f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
        f.runs[1] = made_even_run(2, 64, 40, 40000000, is_early ? 60000000 : 6000000, 0, 0);
        f.runs[2] = made_even_run(4, 64, 40, 40000000, 80000000, 0, 0);
        for (int i = 0; i < 3; i++) {
            f.runs[i]->node_kind = NODES_EMULATED;
            for (int k = 0; k < f.runs[i]->nodes_len; k++)
                f.runs[i]->nodes[k].cores = f.runs[i]->nodes[k].cores_allowed = 2;
        }
        tell(&f);
        const struct said *said = &f.rep.series[0].said;
        assert_finds(said, is_early ? PHRASE_SCALING_COMMUNICATION : PHRASE_SCALING_STOPS_CORES);
        assert_int_equal(said->headline.slot[is_early ? 2 : 0].count, 2);
        assert_int_equal(is_said(said, PHRASE_CORES_TOO), is_early);
        const struct claim *c = &f.rep.claims[f.rep.series[0].limit_claim];
        assert_int_equal(c->cls, is_early ? CLASS_COMMUNICATION : CLASS_SHARED);
        release(&f);
    }
}

/* A series without steps has no speed-up. Its headline is what its largest run says. */
static void test_series_without_steps(void **state)
{
    (void)state;
    struct run_mpi_call calls[] = {{"MPI_Allreduce", {9, 0, 4400000000, 0}}};
    struct fixture f = {.n = 2};
    f.runs[0] = made_run(1, 64);
    f.runs[0]->ranks[0].process_seconds = 20;
    f.runs[1] = late_of_two(calls, 0);
    tell(&f);
    const struct said *said = &f.rep.series[0].said;
    assert_finds(said, PHRASE_LATE_OF_TWO);
    assert_string_equal(said->where.name, "2 nodes");
    assert_supports(said, PHRASE_LATE_WAITED);
    assert_supports(said, PHRASE_SPEEDUP_UNKNOWN);
    release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_rank_limits_scaling),
        cmocka_unit_test(test_slow_rank_of_two),
        cmocka_unit_test(test_stops_before_the_cores_run_out),
        cmocka_unit_test(test_series_without_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
