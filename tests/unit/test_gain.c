/* test_gain.c - the time of a step without a cause when ranks share cores (render/metrics/gain.c), by hand. */
#include "render/findings/claims.h"
#include "render/metrics/gain.h"
#include "render/findings/run_said.h"
#include "render/findings/narrate.h"
#include "tests/unit/made_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

static int near(double a, double b)
{
    return a - b < 1e-9 && b - a < 1e-9;
}

/* Works of 3, 1, 1, 1 on two cores: until 2 all run at half a core, then one at a whole core until 4. */
static void test_shared_time(void **state)
{
    (void)state;
    double uneven[] = {3, 1, 1, 1}, even[] = {1.5, 1.5, 1.5, 1.5}, alone[] = {3, 1}, one[] = {4};
    assert_true(near(shared_time(uneven, 4, 2), 4));
    assert_true(near(shared_time(even, 4, 2), 3));
    assert_true(near(shared_time(alone, 2, 2), 3)); /* a core for each: the longest */
    assert_true(near(shared_time(one, 1, 0.5), 8));
    assert_true(near(shared_time(NULL, 0, 2), 0));
}

/* Four ranks on two cores. Undisturbed, a rank loads for 20 and computes for 10; steps take at least twice that. */
static struct run *sharing(int slow)
{
    struct run *r = made_run(4, 64);
    r->node_kind = NODES_EMULATED;
    for (int i = 0; i < 4; i++)
        r->nodes[i].cores_allowed = 2;
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 4; i++) {
            int64_t compute = (i == slow ? 40 : 10) * (s == 0 ? 1 : 2), data = slow < 0 ? (s == 0 ? 20 : 40) : 0;
            int64_t total = slow < 0 ? 70 : 90;
            const int64_t part[N_CATEGORIES] = {
                [CAT_COMPUTE] = compute, [CAT_DATA] = data, [CAT_COMM] = total - compute - data};
            made_step(r, run_rank_at(r, i), part);
        }
    return r;
}

static void test_data_on_shared_cores(void **state)
{
    (void)state;
    struct run *r = sharing(-1), *runs[] = {r};
    struct report rep = {0};
    struct analyse_options o = made_options();
    r->program.kernels_best = "avx2";
    r->program.kernels_best_ratio = 0.5;
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    const struct run_result *k = &rep.runs[0];
    assert_int_equal(k->shared.kind, SHARED_OVERSUBSCRIBED);
    assert_true(near(k->shared.cores, 2));
    assert_int_equal(k->ranks[0].work_ns[CAT_DATA], 20);
    assert_int_equal(k->ranks[0].work_ns[CAT_COMPUTE], 10);
    assert_int_equal(k->work_transfer_ns, 10);
    /* 120 of work on 2 cores and 10 of transfer: 70; without loading 20 + 10: four sevenths of the step are saved */
    assert_int_equal(k->gain_ns[CLASS_DATA], 40);
    /* kernels of half the time: 20 of compute become 10, and the transfer stays */
    assert_int_equal(k->gain_ns[CLASS_COMPUTE], 10);
    assert_int_equal(k->gain_ns[CLASS_COMMUNICATION], 10);
    assert_int_equal(k->gain_ns[CLASS_IMBALANCE], 0);
    assert_int_equal(k->gain_ns[CLASS_SHARED], 30); /* 70 - (30 + 10) */
    int64_t sum = 0;
    for (int c = 0; c < N_CATEGORIES; c++)
        sum += k->wait_cause_ns[c];
    assert_int_equal(sum, k->part_ns[PART_WAIT]);
    assert_int_equal(k->classes[CLASS_DATA].verdict, VERDICT_LIMITS);
    assert_int_equal(k->classes[CLASS_IMBALANCE].verdict, VERDICT_FINE);
    report_free(&rep);
    run_free(r);
}

/* One rank whose loading is disturbed less than its computing. By the shortest times, two thirds of a step are loading,
 * but its rank can save no more than the loading time in a step. */
static void test_one_rank_saves_its_part_at_most(void **state)
{
    (void)state;
    struct run *r = made_run(1, 64), *runs[] = {r};
    struct report rep = {0};
    struct analyse_options o = made_options();
    r->program.threads = 2;
    r->nodes[0].cores_allowed = 1;
    for (int s = 0; s < 40; s++) {
        const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = s == 0 ? 10 : 20, [CAT_DATA] = s == 0 ? 20 : 30};
        made_step(r, run_rank_at(r, 0), part);
    }
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    const struct run_result *k = &rep.runs[0];
    assert_int_equal(k->shared.kind, SHARED_OVERSUBSCRIBED);
    assert_int_equal(k->gain_ns[CLASS_DATA], k->part_ns[PART_DATA]);
    assert_int_equal(k->step_gain_ns[1][CLASS_DATA], 30); /* of 50, not 33 */
    report_free(&rep);
    run_free(r);
}

/* The same while other programs take nothing, a quarter and half of the two cores, by the CPU monitor: a core for each
 * rank does not remove them. If nothing else is left to gain, they are the cause. */
static void test_others_on_shared_cores(void **state)
{
    (void)state;
    static const struct {
        double percent, others; /* each of the stand-ins watches the one machine of 8 cores, 2 of them theirs: 6 fit
                                 * elsewhere */
        int64_t own_ns;         /* 40 / (1 - others / 2), the gain cut to whole ns */
        int has_neighbours;
    } c[] = {{0, 0, 40, 0}, {81.25, 0.5, 54, 0}, {87.5, 1, 40, 1}};
    for (size_t t = 0; t < sizeof c / sizeof *c; t++) {
        struct run *r = sharing(-1), *runs[] = {r};
        for (int i = 0; i < 4; i++) {
            /* the first two watch it; the others are not needed */
            r->nodes[i].cpu_percent =
                (struct sampled){.n = c[t].percent > 0 && i < 2 ? 10 : 0, .sum = 10 * c[t].percent};
            r->nodes[i].monitor_seconds = i < 2 ? 10 : 0;
            r->ranks[i].cpu_ns = 0;
        }
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        const struct run_result *k = &rep.runs[0];
        assert_true(near(k->shared.others_cores, c[t].others));
        assert_true(near(others_ratio(k), c[t].others / 2));
        assert_int_equal(k->shared.alone_ns, 40);
        assert_int_equal(k->shared.has_neighbours, c[t].has_neighbours);
        assert_int_equal(k->step.mean_ns - k->gain_ns[CLASS_SHARED], c[t].own_ns);
        report_free(&rep);
        run_free(r);
    }
    struct run_result most = {.shared = {.machine_cores = 2, .others_cores = 2}};
    assert_true(near(others_ratio(&most), 0.95));
}

/* Ten threads of one rank on eight cores, of which others take 6.2 in every step. The shortest step is as long as the
 * rest, but the others are still the cause. Without them it is the threads. */
static void test_steady_neighbours(void **state)
{
    (void)state;
    for (int is_busy = 0; is_busy < 2; is_busy++) {
        struct run *r = made_even_run(1, 64, 40, 100, 0, 0, 0), *runs[] = {r};
        r->nodes[0].cores = r->nodes[0].cores_allowed = 8;
        r->nodes[0].cpu_percent = (struct sampled){.n = 10, .sum = 10 * (is_busy ? 100 : 22.5)};
        r->nodes[0].monitor_seconds = 10;
        r->ranks[0].cpu_ns = 18000000000; /* 1.8 cores */
        r->program.threads = 10;
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        const struct run_result *k = &rep.runs[0];
        assert_true(near(k->shared.others_cores, is_busy ? 6.2 : 0));
        assert_int_equal(k->shared.has_neighbours, is_busy);
        assert_int_equal(k->shared.said.id, is_busy ? PHRASE_CORES_SHARED_WITH_OTHERS : PHRASE_CORES_SHARED);
        assert_int_equal(k->shared.said.slot[0].count, 10);
        report_free(&rep);
        run_free(r);
    }
}

/* Rank 2 always has four times the work. That is imbalance, whatever the cores. */
static void test_imbalance_on_shared_cores(void **state)
{
    (void)state;
    struct run *r = sharing(2), *runs[] = {r};
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    const struct run_result *k = &rep.runs[0];
    assert_int_equal(uneven_rank(&rep, k), 2);
    /* works 40, 10, 10, 10 on two cores end at 20 and then 50; evened out at 35; transfer 10: 15 of 60 */
    assert_int_equal(k->gain_ns[CLASS_IMBALANCE], (int64_t)((double)k->step.mean_ns * (1 - 45.0 / 60)));
    assert_int_equal(k->classes[CLASS_IMBALANCE].verdict, VERDICT_LIMITS);
    report_free(&rep);
    run_free(r);
}

/* Ranks ran for 0.3 of the time and waited for a core for the rest: 21 of 70 ns are work, not the 30 of the shortest
 * parts. Ranks that were also idle may have waited for something else. */
static void test_no_step_undisturbed(void **state)
{
    (void)state;
    for (int idle = 0; idle < 2; idle++) {
        struct run *r = sharing(-1), *runs[] = {r};
        for (int i = 0; i < 4; i++) {
            r->ranks[i].process_seconds = 1;
            r->ranks[i].cpu_ns = 300000000;
            r->ranks[i].run_delay_ns = idle ? 300000000 : 700000000;
        }
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        const struct run_result *k = &rep.runs[0];
        assert_int_equal(k->step.mean_ns, 70);
        assert_int_equal(k->ranks[0].work_ns[CAT_DATA], idle ? 20 : 14);
        assert_int_equal(k->ranks[0].work_ns[CAT_COMPUTE], idle ? 10 : 7);
        assert_int_equal(k->shared.alone_ns, idle ? 40 : 31);
        report_free(&rep);
        run_free(r);
    }
}

/* Rank 2 has four samples where the others have one, computes for 40 and loads for 20. With as many samples as the
 * others it would take as long as they do. Works of 60, 15, 15, 15 end at 75, evened out (17.5 of compute, 8.75 of
 * loading) at 52.5. */
static void test_uneven_samples_on_shared_cores(void **state)
{
    (void)state;
    struct run *r = made_run(4, 64), *runs[] = {r};
    r->node_kind = NODES_EMULATED;
    for (int i = 0; i < 4; i++)
        r->nodes[i].cores_allowed = 2;
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 4; i++) {
            int64_t twice = s == 0 ? 1 : 2, compute = (i == 2 ? 40 : 10) * twice, data = (i == 2 ? 20 : 5) * twice;
            const int64_t part[N_CATEGORIES] = {
                [CAT_COMPUTE] = compute, [CAT_DATA] = data, [CAT_COMM] = 130 - compute - data};
            made_step(r, run_rank_at(r, i), part);
            run_rank_at(r, i)->steps[s].samples = i == 2 ? 4 : 1;
        }
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    const struct run_result *k = &rep.runs[0];
    assert_int_equal(k->ranks[2].samples, 4 * k->n_counted);
    assert_int_equal(k->gain_ns[CLASS_IMBALANCE], (int64_t)((double)k->step.mean_ns * (1 - 62.5 / 85)));
    report_free(&rep);
    run_free(r);
}

/* Four ranks on two cores, one of which sleeps four times as long as the others inside compute. The processor time of
 * the late one shows that they take no core from each other. */
static void test_sleeping_on_shared_cores(void **state)
{
    (void)state;
    static struct run_reading used[41]; /* the steps last from 0 to 3600 */
    for (int is_asleep = 0; is_asleep < 2; is_asleep++) {
        struct run *r = sharing(2), *runs[] = {r};
        for (int i = 0; i < 41; i++)
            used[i] = (struct run_reading){i * 90, {0}, {i * (is_asleep ? 9 : 81)}, -1, -1};
        for (int i = 0; i < 4; i++) {
            struct run_rank *k = run_rank_at(r, i);
            for (int s = 0; s < 40; s++)
                k->steps[s].start_ns = 90 * s;
            k->delays = used;
            k->n_delays = 41;
            k->run_delay_ns = k->cpu_ns = 0;
            k->process_seconds = 3.6e-6;
            struct run_phase *p = dcr_arena_alloc(&r->arena, sizeof *p);
            *p = (struct run_phase){.name = "forward", .category = CAT_COMPUTE};
            p->ns = dcr_arena_alloc(&r->arena, 40 * sizeof *p->ns);
            for (int s = 0; s < 40; s++)
                p->ns[s] = k->steps[s].part_ns[CAT_COMPUTE];
            k->phases = p;
            k->n_phases = 1;
        }
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        narrate(&rep);
        const struct run_result *k = &rep.runs[0];
        assert_int_equal(k->shared.kind, SHARED_OVERSUBSCRIBED);
        assert_int_equal(k->processor.is_waiting, is_asleep);
        /* works of 40, 10, 10, 10 on two cores: 45 with the transfer of 10, levelled 35 + 10; asleep: 50, 27.5 */
        assert_int_equal(k->classes[CLASS_IMBALANCE].verdict, VERDICT_LIMITS);
        if (is_asleep)
            assert_true(k->gain_ns[CLASS_IMBALANCE] > 35 && k->gain_ns[CLASS_IMBALANCE] < 45);
        else
            assert_true(k->gain_ns[CLASS_IMBALANCE] < 25);
        int64_t late = k->ranks[2].part_ns[PART_COMPUTE], others = k->ranks[0].part_ns[PART_COMPUTE];
        assert_int_equal(k->straggler.as_fast_ns, late - others);
        const struct phrase longer = phrase_of_longer_phase(&rep, k);
        assert_int_equal(longer.id, PHRASE_LONGER_PHASE);
        assert_int_equal(longer.slot[0].count, 2);
        assert_int_equal(longer.slot[1].count, 20);
        assert_string_equal(longer.slot[2].name, "forward");
        assert_int_equal(longer.slot[3].count, 79);
        assert_true(fabs(longer.slot[4].real - 3.95) < 1e-9);
        const struct claim *c = NULL; /* there is one forecast, and it names its quantity */
        for (int i = 0; i < rep.n_claims; i++)
            c = rep.claims[i].cls == CLASS_IMBALANCE ? &rep.claims[i] : c;
        assert_non_null(c);
        assert_non_null(strstr(c->gain_text, "with equal times for all ranks"));
        assert_null(strstr(c->gain_text, "if rank 2"));
        report_free(&rep);
        run_free(r);
    }
    for (int is_high = 0; is_high < 2; is_high++) { /* the text names the threshold by which the late rank limits */
        struct run *r = sharing(2), *runs[] = {r};
        struct report rep = {0};
        struct analyse_options o = made_options();
        o.thresholds.comm_limits = is_high ? 0.9 : 0.01;
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        const struct class_result *w = &rep.runs[0].classes[CLASS_IMBALANCE];
        assert_int_equal(w->verdict, VERDICT_LIMITS);
        assert_string_equal(w->threshold_name, is_high ? "straggler_wait" : "comm_limits");
        assert_true(w->threshold_ratio < w->share_ratio);
        report_free(&rep);
        run_free(r);
    }
    /* ranks are late for a core in turn, so work does not explain it */
    struct run *r = sharing(-1), *runs[] = {r};
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    rep.runs[0].part_ns[PART_WAIT] = 10;
    assert_int_equal(phrase_of_waiting(&rep, &rep.runs[0]).id, PHRASE_WAITED_FOR_CORES);
    assert_int_equal(phrase_of_longer_phase(&rep, &rep.runs[0]).id, PHRASE_NONE);
    report_free(&rep);
    run_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_time),
        cmocka_unit_test(test_data_on_shared_cores),
        cmocka_unit_test(test_one_rank_saves_its_part_at_most),
        cmocka_unit_test(test_others_on_shared_cores),
        cmocka_unit_test(test_steady_neighbours),
        cmocka_unit_test(test_imbalance_on_shared_cores),
        cmocka_unit_test(test_no_step_undisturbed),
        cmocka_unit_test(test_uneven_samples_on_shared_cores),
        cmocka_unit_test(test_sleeping_on_shared_cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
