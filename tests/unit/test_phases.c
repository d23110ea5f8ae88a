/* test_phases.c - mean, median, p95 and the spread over ranks of named phases (render/metrics/phases.c), and what they
 * lose over node counts (render/metrics/series/loss_phases.c). */
#include "tests/unit/made_run.h"
#include "render/metrics/series/series.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

/* 20 steps of 100 ns on two ranks: forward takes 40 + step on rank 0 and 20 ns more on rank 1. Rank 0 writes a
 * checkpoint in every fifth step. */
static struct run *make(void)
{
    struct run *r = made_run(2, 64);
    for (int rank = 0; rank < 2; rank++) {
        struct run_rank *k = run_rank_at(r, rank);
        k->phases = dcr_arena_alloc(&r->arena, 2 * sizeof *k->phases);
        k->n_phases = rank == 0 ? 2 : 1;
        k->phases[0] = (struct run_phase){
            .name = "forward", .category = CAT_COMPUTE, .ns = dcr_arena_alloc(&r->arena, 20 * sizeof(int64_t))};
        k->phases[1] = (struct run_phase){
            .name = "checkpoint", .category = CAT_IO, .ns = dcr_arena_alloc(&r->arena, 20 * sizeof(int64_t))};
        for (int s = 0; s < 20; s++) {
            int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = 70, [CAT_COMM] = 20, [CAT_IO] = 10};
            made_step(r, k, part);
            k->phases[0].ns[s] = 40 + s + 20 * rank;
            k->phases[1].ns[s] = s % 5 == 4 ? 10 : 0;
        }
    }
    return r;
}

static void test_phases(void **state)
{
    (void)state;
    struct run *run = make();
    struct report rep = {0};
    struct analyse_options o = made_options();
    struct dcr_err err = {0};
    assert_int_equal(analyse(&rep, &run, 1, &o, &err), 0);
    const struct run_result *r = &rep.runs[0];
    assert_int_equal(r->n_counted, 20);
    assert_int_equal(r->n_phases, 2);
    const struct phase_result *forward = &r->phases[0], *checkpoint = &r->phases[1];
    assert_string_equal(forward->name, "forward");
    assert_int_equal(forward->n_steps, 20);
    assert_int_equal(forward->spread.n, 20);
    assert_int_equal(forward->spread.mean_ns, 60); /* 59.5, halves up */
    assert_int_equal(forward->spread.median_ns, 59);
    assert_int_equal(forward->spread.p95_ns, 68);
    assert_int_equal(forward->spread.max_ns, 69);
    assert_int_equal(forward->fastest_rank, 0);
    assert_int_equal(forward->slowest_rank, 1);
    assert_int_equal(forward->slowest_ns - forward->fastest_ns, 20);
    assert_int_equal(forward->ranks[1].p95_ns, 78);
    assert_string_equal(checkpoint->name, "checkpoint");
    assert_int_equal(checkpoint->n_steps, 4);
    assert_int_equal(checkpoint->spread.mean_ns, 1);
    assert_int_equal(checkpoint->spread.median_ns, 0);
    assert_int_equal(checkpoint->ranks[0].mean_ns, 2);
    assert_int_equal(checkpoint->ranks[1].max_ns, 0);
    report_free(&rep);
    run_free(run);
}

/* It excludes warm-up steps. */
static void test_warmup_is_left_out(void **state)
{
    (void)state;
    struct run *run = make();
    for (int rank = 0; rank < 2; rank++) {
        struct step_record *s = &run->ranks[rank].steps[0];
        s->step_ns += 900;
        s->part_ns[CAT_COMPUTE] += 900;
        run->ranks[rank].phases[0].ns[0] += 900;
    }
    struct report rep = {0};
    struct analyse_options o = made_options();
    struct dcr_err err = {0};
    assert_int_equal(analyse(&rep, &run, 1, &o, &err), 0);
    assert_int_equal(rep.runs[0].n_warmup, 1);
    assert_int_equal(rep.runs[0].phases[0].spread.max_ns, 69);
    assert_int_equal(rep.runs[0].phases[0].spread.min_ns, 51);
    report_free(&rep);
    run_free(run);
}

static void name_phases(struct run *r, int64_t forward_ns, int64_t backward_ns)
{
    for (int i = 0; i < r->n_ranks; i++) {
        struct run_rank *k = run_rank_at(r, i);
        k->phases = dcr_arena_alloc(&r->arena, 2 * sizeof *k->phases);
        k->n_phases = 2;
        for (int p = 0; p < 2; p++) {
            k->phases[p] = (struct run_phase){.name = p ? "backward" : "forward",
                                              .category = CAT_COMPUTE,
                                              .ns = dcr_arena_alloc(&r->arena, 40 * sizeof(int64_t))};
            for (int s = 0; s < 40; s++)
                k->phases[p].ns[s] = p ? backward_ns : forward_ns;
        }
    }
}

/* A profiler's range with all that lies inside it. Its name may give no category. */
static void add_whole(struct run *r, int category)
{
    for (int i = 0; i < r->n_ranks; i++) {
        struct run_rank *k = run_rank_at(r, i);
        struct run_phase *phases = dcr_arena_alloc(&r->arena, (size_t)(k->n_phases + 1) * sizeof *phases);
        memcpy(phases, k->phases, (size_t)k->n_phases * sizeof *phases);
        phases[k->n_phases] = (struct run_phase){.name = "Model.forward",
                                                 .category = (enum category)category,
                                                 .is_whole = 1,
                                                 .ns = dcr_arena_alloc(&r->arena, 40 * sizeof(int64_t))};
        for (int s = 0; s < 40; s++)
            phases[k->n_phases].ns[s] = 5;
        k->phases = phases;
        k->n_phases++;
    }
}

/* Compute takes 10 ns on one node (forward 3, backward 4, neither 3) and 9 on four (2, 6, 1). The ideal of 2.5 is 3 as
 * a whole number. Forward and the rest have 0.75 of it each and are rounded up, backward has 1. */
static void test_series_phases(void **state)
{
    (void)state;
    for (int turn = -2; turn < 3; turn++) {
        struct run *runs[2] = {made_even_run(1, 64, 40, 10, 0, 0, 0), made_even_run(4, 64, 40, 9, 5, 0, 0)};
        name_phases(runs[0], 3, 4);
        if (turn <= 0)
            name_phases(runs[1], 2, 6);
        for (int i = 0; i < 2 && turn < 0; i++) /* ranges that include others change nothing */
            add_whole(runs[i], turn == -1 ? CAT_COMPUTE : N_CATEGORIES);
        if (turn == 1)
            name_phases(runs[1], 5, 6); /* 11 of 9 ns: the parts of compute are unknown */
        struct report rep = {0};
        struct analyse_options o = made_options();
        struct dcr_err err = {0};
        assert_int_equal(analyse(&rep, runs, 2, &o, &err), 0);
        const struct series *s = &rep.series[0];
        assert_int_equal(s->n_losses, 1);
        if (turn > 0) {
            assert_int_equal(s->n_phases, turn == 1 ? 2 : 0); /* compute and communication, in no named phase */
            assert_int_equal(turn == 1 ? s->phases[0].ns[1] : 9, 9);
            assert_null(phase_that_lost(s, 0, PART_COMPUTE));
            assert_int_equal(lost_beside_exchange(s, 0), 0);
        } else {
            static const struct {
                const char *name;
                enum part part;
                int64_t ns[2], lost_ns;
            } is[] = {{"forward", PART_COMPUTE, {3, 2}, 1},
                      {"backward", PART_COMPUTE, {4, 6}, 5},
                      {"", PART_COMPUTE, {3, 1}, 0},
                      {"", PART_TRANSFER, {0, 5}, 5}};
            assert_int_equal(s->n_phases, 4);
            for (int i = 0; i < 4; i++) {
                assert_string_equal(s->phases[i].name, is[i].name);
                assert_int_equal(s->phases[i].part, is[i].part);
                assert_int_equal(s->phases[i].ns[0], is[i].ns[0]);
                assert_int_equal(s->phases[i].ns[1], is[i].ns[1]);
                assert_int_equal(s->phases[i].lost_ns[0], is[i].lost_ns);
            }
            assert_string_equal(phase_that_lost(s, 0, PART_COMPUTE)->name, "backward");
            assert_null(phase_that_lost(s, 0, PART_TRANSFER)); /* the largest loss has no name */
            assert_int_equal(lost_beside_exchange(s, 0), 4);   /* of 1, backward lost 5, and 1 by growing as forward */
        }
        report_free(&rep);
        run_free(runs[0]);
        run_free(runs[1]);
    }
}

/* Times on the GPUs of a trace: 0 for a rank whose GPU got nothing from the phase, and n/a if one rank's times are
 * unknown. */
static void test_on_gpus(void **state)
{
    (void)state;
    static const int why[] = {REASON_NONE, REASON_NOTHING_LAUNCHED, REASON_NO_LAUNCHES};
    for (int turn = 0; turn < 3; turn++) {
        struct run *run = make();
        for (int rank = 0; rank < 2; rank++) {
            struct run_phase *p = &run->ranks[rank].phases[0];
            p->is_whole = 1;
            p->gpu_why = rank && turn ? why[turn] : REASON_NONE;
            p->gpu_ns = rank && turn ? NULL : dcr_arena_alloc(&run->arena, 20 * sizeof(int64_t));
            for (int s = 0; p->gpu_ns && s < 20; s++)
                p->gpu_ns[s] = s < 5 ? 0 : 30 + 10 * rank;
        }
        struct report rep = {0};
        struct analyse_options o = made_options();
        struct dcr_err err = {0};
        assert_int_equal(analyse(&rep, &run, 1, &o, &err), 0);
        const struct phase_result *p = &rep.runs[0].phases[0];
        assert_true(p->is_whole);
        assert_int_equal(p->spread.mean_ns, 60);
        assert_int_equal(p->has_gpu, turn < 2);
        if (turn < 2) {
            assert_int_equal(p->n_gpu_steps, 15);
            assert_int_equal(p->gpu.median_ns, turn ? 15 : 35);
            assert_int_equal(p->gpu.min_ns, 0);
            assert_int_equal(p->gpu_ranks[0].max_ns, 30);
            assert_int_equal(p->gpu_ranks[1].max_ns, turn ? 0 : 40);
        } else {
            assert_int_equal(p->gpu_why.code, why[turn]);
        }
        assert_false(rep.runs[0].phases[1].has_gpu); /* without a trace of a GPU */
        assert_int_equal(rep.runs[0].phases[1].gpu_why.code, REASON_NO_GPU_TRACED);
        report_free(&rep);
        run_free(run);
    }
}

/* Ranks with traces of two kinds: if a rank's trace does not link ranges to a GPU, its share would count as 0. */
static void test_one_rank_untraced(void **state)
{
    (void)state;
    struct run *run = make();
    run->ranks[0].phases[0].is_whole = 1;
    run->ranks[0].phases[0].gpu_ns = dcr_arena_alloc(&run->arena, 20 * sizeof(int64_t));
    for (int s = 0; s < 20; s++)
        run->ranks[0].phases[0].gpu_ns[s] = 30;
    struct report rep = {0};
    struct analyse_options o = made_options();
    struct dcr_err err = {0};
    assert_int_equal(analyse(&rep, &run, 1, &o, &err), 0);
    assert_false(rep.runs[0].phases[0].has_gpu);
    assert_int_equal(rep.runs[0].phases[0].gpu_why.code, REASON_NO_GPU_TRACED);
    report_free(&rep);
    run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_series_phases),
        cmocka_unit_test(test_warmup_is_left_out),
        cmocka_unit_test(test_on_gpus),
        cmocka_unit_test(test_one_rank_untraced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
