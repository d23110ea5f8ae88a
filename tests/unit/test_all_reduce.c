/* test_all_reduce.c - the all-reduces of a step by a calibration or a log of nccl-tests
 * (render/metrics/series/all_reduce.c). Expected values are computed by hand for a latency of 10 us times log2 of the
 * ranks, a bus bandwidth of 2 GB/s, a megabyte a step. */
#include "tests/unit/made_run.h"

#include "render/findings/narrate.h"

#include <math.h>
#include <stdlib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/told.h"

enum { N_RUNS = 3, N_SIZES = 5 };
static struct report rep;
static struct run *runs[N_RUNS];

/* 1, 2 and 4 nodes of one rank: 16 ms of compute in all, and 600 and 700 us of transfer. */
static void make_runs(void)
{
    static const int64_t transfer_ns[N_RUNS] = {0, 600000, 700000};
    for (int i = 0; i < N_RUNS; i++) {
        runs[i] = made_even_run(1 << i, 64, 20, 16000000 >> i, transfer_ns[i], 0, 0);
        runs[i]->program.allreduce_bytes_per_step = 1000000;
    }
}

static struct run_allreduce_point *curve(struct run *r, int n_ranks, double latency_ns, double busbw)
{
    struct run_allreduce_point *p = dcr_arena_alloc(&r->arena, N_SIZES * sizeof *p);
    for (int i = 0; i < N_SIZES; i++) {
        p[i].bytes = 40000 << (2 * i);
        p[i].n = 9;
        p[i].median_ns = (int64_t)llround(latency_ns * log2(n_ranks) +
                                          (busbw > 0 ? (double)p[i].bytes * 2 * (n_ranks - 1) / n_ranks / busbw : 0));
    }
    return p;
}

static struct run_calibration *calibrate(struct run *r, double latency_ns, double busbw)
{
    struct run_calibration *c = dcr_arena_alloc(&r->arena, sizeof *c);
    c->allreduce = dcr_arena_alloc(&r->arena, 2 * sizeof *c->allreduce);
    c->no_allreduce = "";
    for (c->n_allreduce = 0; c->n_allreduce < 2; c->n_allreduce++) {
        int n = 2 << c->n_allreduce;
        c->allreduce[c->n_allreduce] = (struct run_allreduce){
            .n_ranks = n, .n_nodes = n, .disturbed = "", .points = curve(r, n, latency_ns, busbw), .n_points = N_SIZES};
    }
    r->calibration = c;
    return c;
}

static void add_log(struct run *r, int n_ranks, double busbw)
{
    r->tests = dcr_arena_alloc(&r->arena, sizeof *r->tests);
    r->tests[r->n_tests++] = (struct run_collective_test){.file = "nccl.txt",
                                                          .collective = "all_reduce",
                                                          .n_ranks = n_ranks,
                                                          .is_across = 1,
                                                          .points = curve(r, n_ranks, 10000, busbw),
                                                          .n_points = N_SIZES};
}

static const struct all_reduce *analyse_runs(void)
{
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, N_RUNS, &o, NULL), 0);
    assert_int_equal(rep.n_series, 1);
    narrate(&rep);
    return &rep.series[0].all_reduce;
}

static int forget(void **state)
{
    (void)state;
    report_free(&rep);
    for (int i = 0; i < N_RUNS; i++)
        run_free(runs[i]);
    return 0;
}

static const struct law *law_of_all_reduce(void)
{
    const struct series *s = &rep.series[0];
    assert_int_equal(s->laws[s->n_laws - 1].id, LAW_ALL_REDUCE);
    return &s->laws[s->n_laws - 1];
}

static void test_calibration(void **state)
{
    (void)state;
    make_runs();
    (void)calibrate(runs[2], 10000, 2);
    const struct all_reduce *a = analyse_runs();
    assert_int_equal(a->source, LAW_BY_CALIBRATION);
    assert_string_equal(a->of, "the calibration in 4node-made.tar (2 and 4 ranks)");
    assert_true(fabs(a->latency_ns - 10000) < 1 && fabs(a->busbw_gb_per_s - 2) < 1e-6 && a->fit_residual_ratio < 1e-6);
    assert_int_equal(a->n_fitted,
                     8); /* sizes from a megabyte / 16 to 16 megabytes, of both counts of ranks: not 40 kB */
    assert_int_equal(a->n_points, 2);
    assert_int_equal(a->points[0].predicted_ns, 510000); /* 10 us + 1 MB * 1 / 2 GB/s */
    assert_int_equal(a->points[0].measured_ns, 600000);
    assert_true(fabs(a->points[0].residual_ratio + 0.15) < 1e-9);
    assert_int_equal(a->points[1].predicted_ns, 770000); /* 20 us + 1 MB * 1.5 / 2 GB/s */
    assert_true(fabs(a->points[1].residual_ratio - 0.1) < 1e-9);
    assert_int_equal(a->n_ahead, 2);
    assert_int_equal(a->ahead[0].n_nodes, 8);
    assert_int_equal(a->ahead[0].predicted_ns, 905000); /* 30 us + 1 MB * 1.75 / 2 GB/s */
    assert_int_equal(a->ahead[1].predicted_ns, 977500); /* 40 us + 1 MB * 1.875 / 2 GB/s */
    /* The error of the calibration is less than a microsecond, but the law misses the runs by 600 / 510. */
    assert_true(a->ahead[0].interval.has && fabs(a->ahead[0].interval.hi - 905000.0 * 600 / 510) < 10);
    assert_true(fabs(a->ahead[0].interval.lo - 905000.0 * 510 / 600) < 10);
    /* The spread of runs has a separate interval: here every step transfers alike. */
    assert_true(a->points[0].measured_interval.has && fabs(a->points[0].measured_interval.lo - 600000) < 1 &&
                fabs(a->points[0].measured_interval.hi - 600000) < 1);
    const struct law *l = law_of_all_reduce();
    assert_true(l->has && fabs(l->residual_ratio - 0.15) < 1e-9);
    assert_int_equal(l->source, LAW_BY_CALIBRATION);
    assert_string_equal(assert_says(a->said[REDUCE_SAID_LAW], REDUCE_SAID_MAX, PHRASE_REDUCE_LAW)[0].name, a->of);
    const struct slot *rates = assert_says(a->said[REDUCE_SAID_LAW], REDUCE_SAID_MAX, PHRASE_REDUCE_RATES);
    assert_true(llabs(rates[0].count - 10000) <= 1 && fabs(rates[1].real - 2) < 1e-6);
    const struct slot *took = assert_says(a->said[REDUCE_SAID_STEP], REDUCE_SAID_MAX, PHRASE_REDUCE_TOOK);
    assert_true(took[0].count == 4 && took[1].count == 700000 && took[2].count == 770000);
    assert_true(assert_says(a->said[REDUCE_SAID_STEP], REDUCE_SAID_MAX, PHRASE_REDUCE_NOT_COUNTED)[0].real > 0);
    const struct slot *ahead = assert_says(a->said[REDUCE_SAID_STEP], REDUCE_SAID_MAX, PHRASE_REDUCE_AHEAD);
    assert_true(ahead[0].count == 8 && ahead[1].count == 905000);
    assert_string_equal(ahead[2].name, "769 us to 1.06 ms");
    assert_int_equal(a->said[REDUCE_SAID_DOUBT][0].id, PHRASE_NONE);
}

/* Three ranks on two and on three nodes have one a node in whole numbers, so the calibration gives one time for
 * both. */
static void test_equal_ranks(void **state)
{
    (void)state;
    for (int i = 0; i < N_RUNS; i++) {
        runs[i] = made_even_run(i ? 3 : 1, 64, 20, 16000000, i ? 700000 : 0, 0, 0);
        runs[i]->program.allreduce_bytes_per_step = 1000000;
        runs[i]->n_nodes = i + 1;
    }
    (void)calibrate(runs[2], 10000, 2);
    const struct all_reduce *a = analyse_runs();
    assert_int_equal(a->n_points, 2);
    assert_int_equal(a->points[0].n_ranks, a->points[1].n_ranks);
    const struct law *l = law_of_all_reduce();
    assert_int_equal(l->n_parameters, 3);
    assert_int_equal(l->parameters[2].id, LAW_CALIBRATED);
    assert_true(l->parameters[2].value == (double)a->points[1].predicted_ns);
}

/* 320 calls in 20 steps on each of 4 ranks: four all-reduces a step, each with its latency, of 250 kB. */
static void test_calls_are_counted(void **state)
{
    (void)state;
    make_runs();
    (void)calibrate(runs[2], 10000, 2);
    runs[2]->mpi_calls = dcr_arena_alloc(&runs[2]->arena, 2 * sizeof *runs[2]->mpi_calls);
    runs[2]->mpi_calls[0] = (struct run_mpi_call){.name = "MPI_Iallreduce", .sum = {.n = 320}};
    runs[2]->mpi_calls[1] = (struct run_mpi_call){.name = "MPI_Bcast", .sum = {.n = 7000}};
    runs[2]->n_mpi_calls = 2;
    const struct all_reduce *a = analyse_runs();
    assert_true(a->is_counted && a->count == 4);
    assert_int_equal(a->n_fitted, 8);                    /* 250 kB / 16 to 250 kB * 16: not 10 MB */
    assert_int_equal(a->points[0].predicted_ns, 540000); /* 4 * 10 us + 1 MB * 1 / 2 GB/s: not counted, as many */
    assert_int_equal(a->points[1].predicted_ns, 830000); /* 4 * 20 us + 1 MB * 1.5 / 2 GB/s */
    assert_int_equal(a->ahead[0].predicted_ns, 995000);  /* 4 * 30 us + 1 MB * 1.75 / 2 GB/s */
    assert_true(a->points[0].is_count_of_last && !a->points[1].is_count_of_last);
    assert_int_equal(assert_says(a->said[REDUCE_SAID_STEP], REDUCE_SAID_MAX, PHRASE_REDUCE_TOOK)[2].count, 830000);
    assert_int_equal(a->said[REDUCE_SAID_STEP][1].id, PHRASE_REDUCE_AHEAD); /* and not their number */
}

/* Each point uses its own number: 3 at 2 nodes, while 4 nodes make 4. */
static void test_counts_differ(void **state)
{
    (void)state;
    make_runs();
    (void)calibrate(runs[2], 10000, 2);
    for (int i = 1; i < N_RUNS; i++) {
        runs[i]->mpi_calls = dcr_arena_alloc(&runs[i]->arena, sizeof *runs[i]->mpi_calls);
        runs[i]->mpi_calls[0] = (struct run_mpi_call){.name = "MPI_Allreduce", .sum = {.n = i == 1 ? 120 : 320}};
        runs[i]->n_mpi_calls = 1;
    }
    for (int i = 0; i < 2; i++) /* every other step transfers for half and for one and a half as long */
        for (size_t k = 0; k < runs[1]->ranks[i].n_steps; k++) {
            struct step_record *x = &runs[1]->ranks[i].steps[k];
            int64_t more = k % 2 ? 300000 : -300000;
            x->part_ns[CAT_COMM] += more;
            x->step_ns += more;
            runs[1]->ranks[i].collectives[x->first_collective].dur_ns += more;
        }
    const struct all_reduce_point *p = analyse_runs()->points;
    assert_true(p[0].is_counted && p[0].count == 3 && p[1].count == 4 && p[0].bytes == 1000000);
    assert_string_equal(all_reduces_words(&p[0]).text, "3 of 333 kB");
    assert_true(p[0].measured_interval.lo > 400000 && p[0].measured_interval.lo < (double)p[0].measured_ns);
    assert_true(p[0].measured_interval.hi < 800000 && p[0].measured_interval.hi > (double)p[0].measured_ns);
    struct dcr_buf json = {0};
    narrate_report_json(&rep, &json);
    assert_non_null(strstr(json.data, "\"all_reduces_per_step\": 3.0"));
    assert_non_null(strstr(json.data, "\"measured_interval_ns\": "));
    dcr_buf_release(&json);
    assert_int_equal(p[0].predicted_ns, 530000);
}

/* A step's number of all-reduces need not be whole, because steps may differ. */
static void test_count_is_no_whole_number(void **state)
{
    (void)state;
    make_runs();
    (void)calibrate(runs[2], 10000, 2);
    runs[2]->mpi_calls = dcr_arena_alloc(&runs[2]->arena, sizeof *runs[2]->mpi_calls);
    runs[2]->mpi_calls[0] = (struct run_mpi_call){.name = "MPI_Iallreduce", .sum = {.n = 200}}; /* 20 steps, 4 ranks */
    runs[2]->n_mpi_calls = 1;
    const struct all_reduce *a = analyse_runs();
    assert_true(a->is_counted && a->count == 2.5);
    assert_string_equal(all_reduces_words(&a->points[1]).text, "2.50 of 400 kB");
}

/* Logs in any order, a name inside another's, a count of ranks twice; a law far from the measured times. */
static void test_several_logs(void **state)
{
    (void)state;
    static const char *const files[] = {"aa.txt", "b.txt", "a.txt"};
    make_runs();
    for (int i = 0; i < N_RUNS; i++) {
        runs[i]->program.backend = "cuda";
        add_log(runs[i], i == 1 ? 4 : 8, 0.0001);
        runs[i]->tests[0].file = files[i];
    }
    const struct all_reduce *a = analyse_runs();
    assert_string_equal(a->of, "the nccl-tests log 'aa.txt', 'b.txt', 'a.txt' (4 and 8 ranks)");
    assert_int_equal(a->n_counts, 2);
    assert_true(a->points[0].measured_ns == 600000 && a->points[0].predicted_ns > 600000000);
    assert_int_equal(a->n_ahead, 0);
    assert_int_equal(a->ahead_why.code, REASON_REDUCE_LAW_MISSES);
}

/* Reductions on GPUs are compared with NCCL, although MPI was calibrated. One count of ranks gives all others by the
 * law. */
static void test_nccl_tests_come_first_on_gpus(void **state)
{
    (void)state;
    make_runs();
    for (int i = 0; i < N_RUNS; i++)
        runs[i]->program.backend = "cuda";
    (void)calibrate(runs[2], 50000, 1);
    add_log(runs[0], 8, 2);
    const struct all_reduce *a = analyse_runs();
    assert_int_equal(a->source, LAW_BY_NCCL_TESTS);
    assert_string_equal(a->of, "the nccl-tests log 'nccl.txt' (8 ranks)");
    assert_int_equal(a->points[0].predicted_ns, 510000);
    assert_int_equal(a->n_ahead, 2);
    assert_int_equal(a->mismatch.code, REASON_NONE);
    (void)assert_says(a->said[REDUCE_SAID_LAW], REDUCE_SAID_MAX, PHRASE_REDUCE_ONE_COUNT);
    assert_int_equal(a->left_out.code, REASON_REDUCE_SECOND);
    assert_string_equal(a->left_out.slot[0].name, "the calibration in 4node-made.tar");
    assert_string_equal(a->left_out.slot[1].name, "nccl-tests");
    assert_string_equal(a->left_out.slot[2].name, "GPUs");
    assert_int_equal(law_of_all_reduce()->source, LAW_BY_NCCL_TESTS);
}

static void test_another_library_is_no_forecast(void **state)
{
    (void)state;
    make_runs();
    add_log(runs[0], 8, 2);
    const struct all_reduce *a = analyse_runs();
    assert_int_equal(a->source, LAW_BY_NCCL_TESTS);
    assert_int_equal(a->points[1].predicted_ns, 770000);
    assert_int_equal(a->n_ahead, 0);
    assert_int_equal(a->mismatch.code, REASON_REDUCE_MEASURED_ON_GPUS);
    (void)assert_says(a->said[REDUCE_SAID_DOUBT], REDUCE_SAID_MAX, PHRASE_REDUCE_MISMATCH);
}

/* One group was disturbed, one stayed within a node. The first is named, and the points are fitted as before. */
static void test_nothing_usable(void **state)
{
    (void)state;
    make_runs();
    struct run_calibration *c = calibrate(runs[2], 10000, 2);
    c->allreduce[0].disturbed = "other work";
    c->allreduce[1].n_nodes = 1;
    const struct all_reduce *a = analyse_runs();
    assert_int_equal(a->source, LAW_BY_NOTHING);
    assert_int_equal(a->why.code, REASON_REDUCE_UNUSABLE);
    const struct reason *why = a->why.slot[0].reason;
    assert_int_equal(why->code, REASON_REDUCE_DISTURBED);
    assert_int_equal(why->slot[0].count, 2);
    assert_string_equal(why->slot[1].name, "the calibration in 4node-made.tar");
    assert_int_equal(law_of_all_reduce()->source, LAW_BY_FIT);
}

/* It is unknown whether the nodes are machines, so a measurement within one node gives no forecast of more of them. */
static void test_nodes_of_no_known_kind(void **state)
{
    (void)state;
    make_runs();
    for (int i = 0; i < N_RUNS; i++)
        runs[i]->node_kind = NODES_UNKNOWN;
    struct run_calibration *c = calibrate(runs[2], 10000, 2);
    c->allreduce[0].n_nodes = c->allreduce[1].n_nodes = 1;
    const struct all_reduce *a = analyse_runs();
    assert_int_equal(a->points[1].predicted_ns, 770000);
    assert_int_equal(a->n_ahead, 0);
    (void)assert_says(a->said[REDUCE_SAID_DOUBT], REDUCE_SAID_MAX, PHRASE_REDUCE_MISMATCH);
    assert_int_equal(a->mismatch.code, REASON_REDUCE_MEASURED_INSIDE);
}

static void test_neither(void **state)
{
    (void)state;
    make_runs();
    const struct all_reduce *a = analyse_runs();
    assert_int_equal(a->source, LAW_BY_NOTHING);
    assert_int_equal(a->why.code, REASON_REDUCE_NOT_CALIBRATED);
}

static void test_calibrated_alone(void **state)
{
    (void)state;
    make_runs();
    struct run_calibration *c = calibrate(runs[2], 10000, 2);
    c->n_allreduce = 0;
    c->no_allreduce = "one process; start it with mpirun";
    const struct reason *why = analyse_runs()->why.slot[0].reason;
    assert_int_equal(why->code, REASON_REDUCE_NONE_BECAUSE);
    assert_string_equal(why->slot[1].name, "one process; start it with mpirun");
}

static void test_bytes_must_be_known(void **state)
{
    (void)state;
    make_runs();
    (void)calibrate(runs[2], 10000, 2);
    for (int i = 0; i < N_RUNS; i++)
        runs[i]->program.allreduce_bytes_per_step = -1;
    assert_int_equal(analyse_runs()->why.code, REASON_REDUCE_BYTES_UNKNOWN);
}

/* 40 kB to 10 MB were measured. Up to 16 times beyond, the law is used and marked; after that there is no value. */
static void test_sizes_beyond(void **state)
{
    (void)state;
    static const int64_t bytes[] = {100000000, 4000000000, 4000, 2000};
    static const enum phrase_id said[] = {PHRASE_REDUCE_ABOVE, PHRASE_NONE, PHRASE_REDUCE_BELOW, PHRASE_NONE};
    for (size_t k = 0; k < 4; k++) {
        make_runs();
        (void)calibrate(runs[2], 10000, 2);
        for (int i = 0; i < N_RUNS; i++)
            runs[i]->program.allreduce_bytes_per_step = bytes[k];
        const struct all_reduce *a = analyse_runs();
        assert_int_equal(a->source, said[k] ? LAW_BY_CALIBRATION : LAW_BY_NOTHING);
        if (said[k])
            assert_true(fabs(assert_says(a->said[REDUCE_SAID_DOUBT], REDUCE_SAID_MAX, said[k])[0].real -
                             (k == 0 ? 10240000 : 40000)) < 1);
        else
            assert_int_equal(a->why.code, REASON_REDUCE_OTHER_SIZES);
        if (k < 3)
            (void)forget(NULL);
    }
}

/* A time that falls with size gives no negative bandwidth; a network with a long latency may show one too. */
static void test_no_negative_term(void **state)
{
    (void)state;
    make_runs();
    struct run_calibration *c = calibrate(runs[2], 10000, 0);
    for (int g = 0; g < 2; g++)
        for (int i = 0; i < N_SIZES; i++)
            c->allreduce[g].points[i].median_ns -= 100 * i;
    const struct all_reduce *a = analyse_runs();
    assert_true(a->busbw_gb_per_s == 0 && a->latency_ns > 9000 && a->latency_ns < 10000);
    assert_true(a->points[0].interval.has && a->points[0].interval.lo > 0);
    (void)assert_says(a->said[REDUCE_SAID_LAW], REDUCE_SAID_MAX, PHRASE_REDUCE_LATENCY);
    (void)forget(NULL);
    make_runs();
    c = calibrate(runs[2], 5e6, 0);
    for (int g = 0; g < 2; g++)
        for (int i = 0; i < N_SIZES; i++)
            c->allreduce[g].points[i].median_ns -= 100 * i;
    a = analyse_runs();
    assert_int_equal(a->why.code, REASON_NONE);
    assert_true(a->busbw_gb_per_s == 0 && fabs(a->latency_ns - 5e6) < 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_calibration, forget),
        cmocka_unit_test_teardown(test_equal_ranks, forget),
        cmocka_unit_test_teardown(test_calls_are_counted, forget),
        cmocka_unit_test_teardown(test_count_is_no_whole_number, forget),
        cmocka_unit_test_teardown(test_counts_differ, forget),
        cmocka_unit_test_teardown(test_several_logs, forget),
        cmocka_unit_test_teardown(test_nccl_tests_come_first_on_gpus, forget),
        cmocka_unit_test_teardown(test_another_library_is_no_forecast, forget),
        cmocka_unit_test_teardown(test_nothing_usable, forget),
        cmocka_unit_test_teardown(test_nodes_of_no_known_kind, forget),
        cmocka_unit_test_teardown(test_neither, forget),
        cmocka_unit_test_teardown(test_calibrated_alone, forget),
        cmocka_unit_test_teardown(test_bytes_must_be_known, forget),
        cmocka_unit_test_teardown(test_sizes_beyond, forget),
        cmocka_unit_test_teardown(test_no_negative_term, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
