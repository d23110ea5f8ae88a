/* test_rules.c - numbers against thresholds: what limits, what is watched, what is n/a, and the caveats that come
 * first. */
#include "tests/unit/made_run.h"
#include "render/narrate/actions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static enum verdict verdict_of(struct run *r, enum cause_class cls, struct thresholds t)
{
    struct run *runs[] = {r};
    struct report rep = {0};
    struct analyse_options o = {.thresholds = t};
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    enum verdict v = rep.runs[0].classes[cls].verdict;
    if (v == VERDICT_NA)
        assert_true(strncmp(rep.runs[0].classes[cls].text, "n/a because", 11) == 0);
    report_free(&rep);
    run_free(r);
    return v;
}

/* parts of a step of 100 ns on two ranks: communication, data, io; the rest is compute */
static struct run *parts(int64_t comm, int64_t data, int64_t io)
{
    return made_even_run(2, 64, 40, 100 - comm - data - io, comm, data, io);
}

static void test_data(void **state)
{
    (void)state;
    struct thresholds t = thresholds_default();
    assert_int_equal(verdict_of(parts(0, 31, 0), CLASS_DATA, t), VERDICT_LIMITS);
    assert_int_equal(verdict_of(parts(25, 30, 0), CLASS_DATA, t), VERDICT_WATCH); /* above, not at, the threshold */
    assert_int_equal(verdict_of(parts(0, 10, 0), CLASS_DATA, t), VERDICT_FINE);
    t.data_limits = 0.05;
    assert_int_equal(verdict_of(parts(0, 10, 0), CLASS_DATA, t), VERDICT_LIMITS);
}

static void test_communication(void **state)
{
    (void)state;
    struct thresholds t = thresholds_default();
    assert_int_equal(verdict_of(parts(25, 0, 0), CLASS_COMMUNICATION, t), VERDICT_LIMITS);
    assert_int_equal(verdict_of(parts(15, 0, 20), CLASS_COMMUNICATION, t), VERDICT_WATCH);
    assert_int_equal(verdict_of(parts(5, 0, 0), CLASS_COMMUNICATION, t), VERDICT_FINE);
    assert_int_equal(verdict_of(parts(5, 0, 0), CLASS_IMBALANCE, t), VERDICT_FINE);
}

/* Steps of two ranks that are long by turns: transfer is 22 of 100, but nearly all of it is the other rank's time
 * (gain: 100 - 96). Levelling would save 18. */
static void test_late_by_turns(void **state)
{
    (void)state;
    struct run *r = made_run(2, 64), *runs[] = {r};
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 2; i++) {
            const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = (s + i) % 2 ? 96 : 60, [CAT_COMM] = 22};
            made_step(r, run_rank_at(r, i), part);
        }
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    const struct class_result *c = rep.runs[0].classes;
    assert_int_equal(c[CLASS_COMMUNICATION].share_ns, 22);
    assert_int_equal(c[CLASS_COMMUNICATION].gain_ns, 4);
    assert_int_equal(c[CLASS_COMMUNICATION].verdict, VERDICT_WATCH);
    assert_int_equal(c[CLASS_IMBALANCE].gain_ns, 18);
    report_free(&rep);
    run_free(r);
}

static void test_io(void **state)
{
    (void)state;
    struct thresholds t = thresholds_default();
    assert_int_equal(verdict_of(parts(0, 0, 11), CLASS_IO, t), VERDICT_LIMITS);
    assert_int_equal(verdict_of(parts(0, 0, 6), CLASS_IO, t), VERDICT_WATCH);
    assert_int_equal(verdict_of(parts(0, 0, 1), CLASS_IO, t), VERDICT_FINE);
    /* checkpoints between the steps count against the wall time */
    struct run *r = parts(0, 0, 0);
    for (int i = 0; i < 2; i++) {
        run_rank_at(r, i)->outside_ns[CAT_IO] = 1000;
        run_rank_at(r, i)->wall_ns = 5000;
    }
    assert_int_equal(verdict_of(r, CLASS_IO, t), VERDICT_LIMITS);
}

static void test_compute_bound(void **state)
{
    (void)state;
    struct thresholds t = thresholds_default();
    assert_int_equal(verdict_of(parts(5, 5, 0), CLASS_COMPUTE, t), VERDICT_LIMITS);
    assert_int_equal(verdict_of(parts(25, 0, 0), CLASS_COMPUTE, t), VERDICT_FINE); /* something else limits */
}

static void test_imbalance(void **state)
{
    (void)state;
    struct run *r = made_run(4, 64);
    const int64_t fast[N_CATEGORIES] = {[CAT_COMPUTE] = 60, [CAT_COMM] = 42};
    const int64_t slow[N_CATEGORIES] = {[CAT_COMPUTE] = 100, [CAT_COMM] = 2};
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 4; i++)
            made_step(r, run_rank_at(r, i), i == 2 ? slow : fast);
    struct run *runs[] = {r};
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    assert_int_equal(rep.runs[0].classes[CLASS_IMBALANCE].verdict, VERDICT_LIMITS);
    assert_int_equal(rep.runs[0].classes[CLASS_COMMUNICATION].verdict, VERDICT_FINE);
    assert_int_equal(rep.runs[0].straggler.rank, 2);
    report_free(&rep);
    run_free(r);
}

/* 20 of 60 of loading are calls on files: they count as I/O, in time and in what their removal saves. */
static void test_files_in_loading(void **state)
{
    (void)state;
    struct run *r = made_even_run(1, 64, 40, 40, 0, 60, 0), *runs[] = {r};
    struct run_phase phases[] = {{"data_load", CAT_DATA, NULL}, {"data_load: files", CAT_DATA, NULL}};
    int64_t ns[2][40];
    for (int i = 0; i < 40; i++) {
        ns[0][i] = 40;
        ns[1][i] = 20;
    }
    for (int i = 0; i < 2; i++)
        phases[i].ns = ns[i];
    r->ranks[0].phases = phases;
    r->ranks[0].n_phases = 2;
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    const struct run_result *k = &rep.runs[0];
    assert_int_equal(k->part_ns[PART_DATA], 60); /* the breakdown does not change */
    assert_int_equal(k->classes[CLASS_DATA].share_ns, 40);
    assert_int_equal(k->classes[CLASS_DATA].gain_ns, 40);
    assert_int_equal(k->classes[CLASS_IO].share_ns, 20);
    assert_int_equal(k->classes[CLASS_IO].gain_ns, 20);
    assert_int_equal(k->classes[CLASS_IO].verdict, VERDICT_LIMITS);
    report_free(&rep);
    /* For two of time in calls that are events there is one in shorter ones on the same files: 20 + 10 a step. */
    r->ranks[0].loading_events_ns = 800;
    r->ranks[0].loading_short_ns = 400;
    rep = (struct report){0};
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    assert_int_equal(rep.runs[0].classes[CLASS_IO].share_ns, 30);
    assert_int_equal(rep.runs[0].classes[CLASS_DATA].share_ns, 30);
    report_free(&rep);
    /* Never more than all of loading. */
    r->ranks[0].loading_short_ns = 8000;
    rep = (struct report){0};
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    assert_int_equal(rep.runs[0].classes[CLASS_IO].share_ns, 60);
    assert_int_equal(rep.runs[0].classes[CLASS_DATA].share_ns, 0);
    report_free(&rep);
    run_free(r);
}

/* Rank 0 writes checkpoints and always comes last: that is I/O, not imbalance. */
static void test_late_by_writing(void **state)
{
    (void)state;
    struct run *r = made_run(2, 64);
    const int64_t writer[N_CATEGORIES] = {[CAT_COMPUTE] = 60, [CAT_IO] = 40, [CAT_COMM] = 2};
    const int64_t other[N_CATEGORIES] = {[CAT_COMPUTE] = 60, [CAT_COMM] = 42};
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 2; i++)
            made_step(r, run_rank_at(r, i), i == 0 ? writer : other);
    struct run *runs[] = {r};
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    assert_int_equal(rep.runs[0].classes[CLASS_IO].verdict, VERDICT_LIMITS);
    assert_int_equal(rep.runs[0].classes[CLASS_IO].share_ns, 40); /* 20 of its own, 20 of waiting */
    assert_int_equal(rep.runs[0].classes[CLASS_IO].gain_ns, 40);
    assert_int_equal(rep.runs[0].classes[CLASS_IMBALANCE].verdict, VERDICT_FINE);
    assert_int_equal(rep.runs[0].straggler.rank, 0);
    report_free(&rep);
    run_free(r);
}

/* Nothing passes its own threshold: the largest gain is named, when it matters. */
static void test_largest_gain(void **state)
{
    (void)state;
    struct thresholds t = thresholds_default();
    assert_int_equal(verdict_of(parts(15, 0, 0), CLASS_COMMUNICATION, t), VERDICT_LIMITS);
    assert_int_equal(verdict_of(parts(15, 20, 0), CLASS_DATA, t), VERDICT_LIMITS);
    assert_int_equal(verdict_of(parts(15, 20, 0), CLASS_COMMUNICATION, t), VERDICT_WATCH); /* one only */
    assert_int_equal(verdict_of(parts(10, 0, 0), CLASS_COMMUNICATION, t), VERDICT_FINE);
    t.gain_limits = 0.5;
    assert_int_equal(verdict_of(parts(15, 0, 0), CLASS_COMMUNICATION, t), VERDICT_WATCH);
}

/* 100 ns of compute a step move 1600 bytes and do 500 operations; one core moves 10 bytes and does 20 operations a ns,
 * two 20 and 40: memory needs 80 ns, products 12.5. */
static struct run *calibrated(double bytes, double flop)
{
    static struct run_node_calibration nodes[2];
    static struct run_calibration c = {.nodes = nodes, .n_nodes = 2};
    struct run *r = parts(0, 0, 0);
    for (int i = 0; i < 2; i++) {
        r->nodes[i].host = i ? "b" : "a";
        nodes[i] = (struct run_node_calibration){
            .host = r->nodes[i].host, .cores = 8, .sgemm_one = {3, 20, 20, 20}, .memory_one = {3, 10, 10, 10}};
    }
    r->calibration = &c;
    r->program.traffic_bytes_per_step = bytes;
    r->program.flop_per_step = flop;
    return r;
}

static void test_memory(void **state)
{
    (void)state;
    struct thresholds t = thresholds_default();
    assert_int_equal(verdict_of(parts(0, 0, 0), CLASS_MEMORY, t), VERDICT_NA); /* not calibrated */
    assert_int_equal(verdict_of(calibrated(-1, 500), CLASS_MEMORY, t), VERDICT_NA);
    assert_int_equal(verdict_of(calibrated(1600, 500), CLASS_MEMORY, t), VERDICT_LIMITS);
    assert_int_equal(verdict_of(calibrated(1600, 500), CLASS_COMPUTE, t), VERDICT_FINE);
    assert_int_equal(verdict_of(calibrated(800, 500), CLASS_MEMORY, t), VERDICT_WATCH);
    assert_int_equal(verdict_of(calibrated(1600, 3600), CLASS_MEMORY, t), VERDICT_FINE); /* products need more */
    struct run *r = calibrated(1600, 500), *runs[] = {r};
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    assert_int_equal(rep.runs[0].classes[CLASS_MEMORY].share_ns, 80);
    assert_int_equal(rep.runs[0].classes[CLASS_MEMORY].gain_ns, 87); /* 100 - 12.5 */
    assert_int_equal(rep.runs[0].classes[CLASS_COMPUTE].gain_ns, 0); /* a ceiling of large products is no gain */
    report_free(&rep);
    run_free(r);
    r = calibrated(1600, 500);
    r->calibration->nodes[0].disturbed = "others";
    assert_int_equal(verdict_of(r, CLASS_MEMORY, t), VERDICT_NA);
}

/* Computing gains what better kernels gained on the run's own batches, as timed by the program; nothing else is known.
 */
static void test_kernels(void **state)
{
    (void)state;
    const double ratios[] = {0.625, -1, 1.5, 0};
    const int64_t gains[] = {37, 0, 0, 0}; /* of 100 ns of compute */
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        struct run *r = parts(0, 0, 0), *runs[] = {r};
        r->program.kernels_best = "avx2";
        r->program.kernels_best_ratio = ratios[i];
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        assert_int_equal(rep.runs[0].classes[CLASS_COMPUTE].verdict, VERDICT_LIMITS);
        assert_int_equal(rep.runs[0].classes[CLASS_COMPUTE].gain_ns, gains[i]);
        assert_true(!!strstr(rep.runs[0].classes[CLASS_COMPUTE].text, "healthy") == (gains[i] == 0));
        report_free(&rep);
        run_free(r);
    }
}

/* Loading limits, and better kernels would save more of the step than that: both are named, this first. */
static void test_kernels_beside_another_cause(void **state)
{
    (void)state;
    const double ratios[] = {0.25, 0.9};
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        struct run *r = made_even_run(1, 64, 40, 65, 0, 35, 0), *runs[] = {r};
        r->program.kernels_best = "avx2";
        r->program.kernels_best_ratio = ratios[i];
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        const struct class_result *k = rep.runs[0].classes;
        assert_int_equal(k[CLASS_DATA].verdict, VERDICT_LIMITS);
        assert_int_equal(k[CLASS_COMPUTE].verdict, i == 0 ? VERDICT_LIMITS : VERDICT_FINE);
        if (i == 0) {
            assert_int_equal(k[CLASS_COMPUTE].gain_ns, 48); /* 65 x 0.75 */
            assert_string_equal(k[CLASS_COMPUTE].threshold_name, "gain_limits");
        }
        report_free(&rep);
        run_free(r);
    }
}

/* Run-queue delay before the first step is no matter of the steps. */
static void test_start_up_is_left_out(void **state)
{
    (void)state;
    struct run *r = parts(25, 0, 0); /* 40 steps of 100 ns each, from 1000 on */
    struct run_rank *k = run_rank_at(r, 0);
    for (int i = 0; i < 40; i++)
        k->steps[i].start_ns = 1000 + 100 * i;
    struct run_reading delays[] = {{0, 0, -1}, {1000, 900, -1}, {3000, 1000, -1}, {5000, 1100, -1}};
    k->delays = delays;
    k->n_delays = 4;
    k->run_delay_ns = 1100;
    k->process_seconds = 5e-6;
    assert_true(waiting_for_core(k) > 0.0499 && waiting_for_core(k) < 0.0501); /* 200 of 4000 */
    k->n_delays = 0;
    assert_true(waiting_for_core(k) > 0.2199 && waiting_for_core(k) < 0.2201); /* of the whole run */
    k->run_delay_ns = -1;
    assert_true(waiting_for_core(k) < 0);
    run_free(r);
}

/* Two ranks on two cores that wait for a core for a tenth of their steps: a neighbour's doing when another program ran
 * in them, however little in the whole run; their own when it ran before, and not at all said of a neighbour. */
static void test_own_threads_wait(void **state)
{
    (void)state;
    static const struct {
        int64_t own_ns; /* of the 4000 ns of steps; the node is busy all the time */
        int cores, allowed, is_own;
        int64_t delay_ns; /* of each rank */
    } c[] = {{3920, 2, 2, 1, 400},
             {3840, 2, 2, 1, 400},
             {3500, 2, 2, 0, 400},
             {3920, 4, 2, 0, 400} /* may have been on theirs */};
    for (size_t t = 0; t < sizeof c / sizeof *c; t++) {
        struct run *r = parts(25, 0, 0), *runs[] = {r}; /* 40 steps of 100 ns each, from 1000 on */
        struct run_reading busy[] = {{0, 0, 0}, {1000, 0, 1000}, {5000, 0, 5000}},
                           used[] = {{0, 0, 0}, {1000, 0, 0}, {5000, c[t].delay_ns, c[t].own_ns}};
        r->nodes_len = 1;
        r->nodes[0].cores = c[t].cores;
        r->nodes[0].cores_allowed = c[t].allowed;
        r->nodes[0].cpu_percent = (struct sampled){.n = 10, .sum = 1000};
        r->nodes[0].monitor_seconds = 5e-6;
        r->nodes[0].busy = busy;
        r->nodes[0].n_busy = 3;
        r->program.loader_workers = 1;
        for (int i = 0; i < 2; i++) {
            struct run_rank *k = run_rank_at(r, i);
            for (int s = 0; s < 40; s++)
                k->steps[s].start_ns = 1000 + 100 * s;
            k->node = 0;
            k->delays = used;
            k->n_delays = 3;
            k->run_delay_ns = c[t].delay_ns;
            k->process_seconds = 5e-6;
            k->cpu_ns = c[t].own_ns;
        }
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        const struct run_result *k = &rep.runs[0];
        assert_string_equal(k->shared.id, c[t].is_own ? "" : "run-delay");
        assert_int_equal(k->classes[CLASS_SHARED].verdict, c[t].is_own ? VERDICT_WATCH : VERDICT_LIMITS);
        assert_int_equal(k->classes[CLASS_SHARED].gain_ns > 0, 0);
        if (c[t].is_own) {
            assert_string_equal(
                k->classes[CLASS_SHARED].text,
                t ? "the threads of a rank, taken together, waited for a core for 10 % of the time of "
                    "its steps; other programs took 4.0 % of the cores, so they waited for those or for "
                    "each other: 2 ranks of 1 thread and 1 loader worker each and the collector share "
                    "2 cores"
                  : "the threads of a rank, taken together, waited for a core for 10 % of the time of "
                    "its steps; other programs took 2.0 % of the cores, so they waited for each other: "
                    "2 ranks of 1 thread and 1 loader worker each and the collector share 2 cores");
            assert_int_equal(!!strstr(action_for(k, CLASS_DATA).ours, "one more core for its --loader-workers"), !t);
        } else {
            assert_null(k->shared.own);
            assert_null(strstr(action_for(k, CLASS_DATA).ours, "one more core"));
        }
        report_free(&rep);
        run_free(r);
    }
    /* 1.95 cores' worth used and twice 0.3 waited for: with 2.55 cores a step lasts 2 / 2.55 of the time at least */
    struct run_reading waits[] = {{0, 0, 0}, {1000, 0, 0}, {5000, 1200, 3900}};
    struct run *r = parts(25, 0, 0), *runs[] = {r};
    for (int i = 0; i < 2; i++) {
        struct run_rank *k = run_rank_at(r, i);
        for (int s = 0; s < 40; s++)
            k->steps[s].start_ns = 1000 + 100 * s;
        k->delays = waits;
        k->n_delays = 3;
        k->run_delay_ns = 1200;
        k->cpu_ns = 3900;
        k->process_seconds = 5e-6;
    }
    struct others o = {.cores = 2, .own = 1.95, .waiting = 0.6};
    assert_true(cores_missing(&o) > 1 - 2 / 2.55 - 1e-9 && cores_missing(&o) < 1 - 2 / 2.55 + 1e-9);
    o.cores = 3;
    assert_true(cores_missing(&o) <= 0);
    struct run_reading busy[] = {{0, 0, 0}, {1000, 0, 1000}, {5000, 0, 5000}};
    for (int i = 0; i < 2; i++) { /* a core each, on two nodes */
        r->nodes[i].cores = r->nodes[i].cores_allowed = 1;
        r->nodes[i].cpu_percent = (struct sampled){.n = 10, .sum = 1000};
        r->nodes[i].monitor_seconds = 5e-6;
        r->nodes[i].busy = busy;
        r->nodes[i].n_busy = 3;
    }
    struct report rep = {0};
    struct analyse_options options = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &options, NULL), 0);
    assert_string_equal(rep.runs[0].shared.id, "own-threads");
    assert_string_equal(
        rep.runs[0].shared.because,
        "the ranks' own threads wait for cores (2 ranks of 1 thread, with their helpers, share 2 cores)");
    assert_int_equal(rep.runs[0].classes[CLASS_SHARED].verdict, VERDICT_LIMITS);
    assert_non_null(strstr(action_for(&rep.runs[0], CLASS_SHARED).ours, "fewer --loader-workers"));
    report_free(&rep);
    run_free(r);
}

/* Ranks on nodes of `cores` cores, 4000 ns of steps: what each rank used and waited for, in thousandths of a core, and
 * how many cores of node `of` another program took. */
static struct run *waiting_run(int n_nodes, int n_ranks, int cores, const int (*milli)[2], int of, double taken)
{
    static struct run_reading used[64][3], busy[64][3];
    struct run *r = made_run(n_nodes, 64);
    const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = 100};
    for (int i = 0; i < n_nodes; i++) {
        double all = i == of ? taken : 0;
        struct run_node *n = run_node_at(r, i);
        for (int k = 0; k < n_ranks; k++)
            all += k % n_nodes == i ? milli[k][0] / 1000.0 : 0;
        n->cores = n->cores_allowed = cores;
        n->cpu_percent = (struct sampled){.n = 10, .sum = 1000 * all / cores};
        n->monitor_seconds = 5e-6;
        busy[i][0] = (struct run_reading){0, 0, 0};
        busy[i][1] = (struct run_reading){1000, 0, 0};
        busy[i][2] = (struct run_reading){5000, 0, (int64_t)(4000 * all / cores)};
        n->busy = busy[i];
        n->n_busy = 3;
    }
    for (int i = 0; i < n_ranks; i++) {
        struct run_rank *k = run_rank_at(r, i);
        for (int s = 0; s < 40; s++) {
            made_step(r, k, part);
            k->steps[s].start_ns = 1000 + 100 * s;
        }
        k->rank = i;
        k->node = i % n_nodes;
        used[i][0] = (struct run_reading){0, 0, 0};
        used[i][1] = (struct run_reading){1000, 0, 0};
        used[i][2] = (struct run_reading){5000, (int64_t)milli[i][1] * 4, (int64_t)milli[i][0] * 4};
        k->delays = used[i];
        k->n_delays = 3;
        k->run_delay_ns = used[i][2].run_delay_ns;
        k->cpu_ns = used[i][2].cpu_ns;
        k->process_seconds = 5e-6;
    }
    r->n_ranks = n_ranks;
    return r;
}

/* Who kept the ranks waiting, node by node, in cores, and with the cores on which a rank may run. */
static void test_waits_by_node(void **state)
{
    (void)state;
    static const struct {
        int n_nodes, n_ranks, cores, rank, milli[2], others[2]; /* this rank used and waited, each other one so */
        double taken;                                           /* on that rank's node */
        const char *cpus, *id, *says;
        int verdict;
    } c[] = {
        /* the whole job has 128 cores, its slowest node lacks 4 of 8 */
        {16, 16, 8, 5, {4000, 4000}, {7900, 0}, 4, "", "run-delay", "a rank waited", VERDICT_LIMITS},
        /* 16 threads on 8 cores of one node: half a step there, 6 % of all */
        {16, 16, 8, 5, {7950, 8000}, {7900, 0}, 0, "", "own-threads", "own threads", VERDICT_LIMITS},
        {16, 16, 8, 5, {7950, 100}, {7900, 0}, 0, "", "", "other programs took 0 %", VERDICT_WATCH},
        /* not less than half of what waited, and too little to matter */
        {1, 2, 2, 0, {960, 56}, {960, 50}, 0.078, "", "", "so they waited for those or for each other", VERDICT_WATCH},
        /* half a core of 64, but on the core of a rank */
        {1, 8, 64, 3, {500, 500}, {1000, 0}, 0.5, "3", "run-delay", "a rank waited", VERDICT_LIMITS},
        /* four threads on a core, of 64 */
        {1,
         4,
         64,
         1,
         {1000, 3000},
         {1000, 3000},
         0,
         "1",
         "bound",
         "rank 1 is bound to fewer cores than it has threads (1 core, 4.00 threads ready in the mean)",
         VERDICT_LIMITS},
        {1, 4, 64, 1, {1000, 3000}, {1000, 3000}, 0, "", "run-delay", "a rank waited", VERDICT_LIMITS},
        {1, 4, 64, 1, {1000, 3000}, {1000, 3000}, 32, "1", "bound", "rank 1 is bound", VERDICT_LIMITS},
        /* a worker that waits now and then, on a node with cores left */
        {1, 1, 4, 0, {1200, 60}, {0, 0}, 0, "", "", "waited for a core for 6.0 %", VERDICT_WATCH},
        /* 8 of 16 threads wait: no share of time */
        {1, 1, 8, 0, {7950, 800}, {0, 0}, 0, "", "", "for 80 %", VERDICT_WATCH},
        {1, 1, 8, 0, {7950, 8000}, {0, 0}, 0, "", "own-threads", "own threads", VERDICT_LIMITS}};
    for (size_t t = 0; t < sizeof c / sizeof *c; t++) {
        int milli[16][2];
        for (int i = 0; i < c[t].n_ranks; i++)
            for (int k = 0; k < 2; k++)
                milli[i][k] = i == c[t].rank ? c[t].milli[k] : c[t].others[k];
        struct run *r = waiting_run(c[t].n_nodes, c[t].n_ranks, c[t].cores, (const int(*)[2])milli,
                                    c[t].rank % c[t].n_nodes, c[t].taken),
                   *runs[] = {r};
        r->ranks[c[t].rank].cpus_allowed = c[t].cpus;
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        const struct class_result *k = &rep.runs[0].classes[CLASS_SHARED];
        assert_string_equal(rep.runs[0].shared.id, c[t].id);
        assert_int_equal(k->verdict, c[t].verdict);
        if (!strstr(k->text, c[t].says))
            fail_msg("case %zu says: %s", t, k->text);
        if (strcmp(c[t].id, "bound") == 0)
            assert_non_null(strstr(action_for(&rep.runs[0], CLASS_SHARED).generic, "as many cores as it has threads"));
        if (t == sizeof c / sizeof *c - 1)
            assert_non_null(strstr(rep.runs[0].shared.own, "of the threads of a rank 8.00 waited for a core"));
        report_free(&rep);
        run_free(r);
    }
}

/* A rank without steps does not make the load of a node that of the whole run. */
static void test_rank_without_steps(void **state)
{
    (void)state;
    const int milli[2][2] = {{1000, 0}, {1000, 0}};
    struct run *r = waiting_run(1, 2, 2, milli, -1, 0);
    r->nodes[0].cpu_percent.sum = 0; /* of the whole run */
    r->ranks[1].n_steps = 0;
    assert_true(others_at(r, 0).own > 1.99 && others_at(r, 0).own < 2.01);
    run_free(r);
}

static void test_never_judged(void **state)
{
    (void)state;
    struct thresholds t = thresholds_default();
    assert_int_equal(verdict_of(parts(0, 0, 0), CLASS_MEMORY, t), VERDICT_NA);
    assert_int_equal(verdict_of(parts(0, 0, 0), CLASS_HOST, t), VERDICT_NA);
    assert_int_equal(verdict_of(parts(0, 0, 0), CLASS_COPY, t), VERDICT_NA);
}

/* Communication at 18 % is below its threshold but explains nearly all of the loss. */
static void test_growing_communication(void **state)
{
    (void)state;
    struct run *runs[] = {made_even_run(1, 64, 40, 820, 0, 0, 0), made_even_run(2, 64, 40, 410, 90, 0, 0)};
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 2, &o, NULL), 0);
    assert_int_equal(rep.runs[1].classes[CLASS_COMMUNICATION].verdict, VERDICT_LIMITS);
    report_free(&rep);
    run_free(runs[0]);
    run_free(runs[1]);
}

static int has_note(struct run *r, const char *id, enum note_kind kind)
{
    struct run *runs[] = {r};
    struct report rep = {0};
    struct analyse_options o = made_options();
    int found = 0;
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    for (int i = 0; i < rep.n_notes; i++)
        found |= strcmp(rep.notes[i].id, id) == 0 && rep.notes[i].kind == kind;
    report_free(&rep);
    run_free(r);
    return found;
}

static void test_shared_resources(void **state)
{
    (void)state;
    struct thresholds t = thresholds_default();
    struct run *r = parts(25, 0, 0);
    r->node_kind = NODES_EMULATED; /* both ranks on one host with one core */
    run_node_at(r, 0)->cores_allowed = 1;
    assert_int_equal(verdict_of(r, CLASS_SHARED, t), VERDICT_LIMITS);
    assert_int_equal(verdict_of(parts(25, 0, 0), CLASS_SHARED, t), VERDICT_FINE);
    r = parts(25, 0, 0);
    r->node_kind = NODES_EMULATED; /* bound to a core each: the machine's ranks have two */
    for (int i = 0; i < 2; i++) {
        run_node_at(r, i)->cores_allowed = 1;
        run_rank_at(r, i)->cpus_allowed = i ? "1" : "0";
    }
    assert_int_equal(verdict_of(r, CLASS_SHARED, t), VERDICT_FINE);
    r = parts(25, 0, 0);
    r->nodes[1].throttled_ns = 1000000000;
    r->nodes[1].monitor_seconds = 4;
    assert_true(has_note(r, "throttled", NOTE_CAVEAT));
    r = parts(25, 0, 0);
    r->ranks[1].run_delay_ns = 1000000000;
    r->ranks[1].process_seconds = 4;
    assert_true(has_note(r, "run-delay", NOTE_CAVEAT));
    r = parts(25, 0, 0);
    sampled_add(r, &r->nodes[0].steal_percent, 0, 20);
    assert_true(has_note(r, "steal", NOTE_CAVEAT));
    assert_false(has_note(parts(25, 0, 0), "oversubscribed", NOTE_CAVEAT));
}

static void test_mpi_share(void **state)
{
    (void)state;
    struct run *r = parts(0, 0, 0);
    struct run_mpi_call calls[] = {{"MPI_Init", {2, 0, 9000000000, 0}},
                                   {"MPI_Allreduce", {80, 0, 4000000000, 0}},
                                   {"MPI_Bcast", {2, 0, 1000000000, 0}}};
    r->mpi_calls = calls;
    r->n_mpi_calls = 3;
    r->ranks[0].process_seconds = 10;
    assert_false(mpi_share(r).has); /* of rank 1 nobody knows */
    r->ranks[1].process_seconds = 10;
    struct mpi_share m = mpi_share(r);
    assert_true(m.has);
    assert_int_equal(m.ns, 5000000000);
    assert_true(m.ratio > 0.2499 && m.ratio < 0.2501);
    assert_string_equal(m.largest->name, "MPI_Allreduce");
    run_free(r);
}

/* Who is waited for spends little time in MPI while the others spend much. */
static void test_mpi_late(void **state)
{
    (void)state;
    static const struct {
        int64_t ms[4];
        int has, first, n;
        int64_t waited_ms;
    } c[] = {{{4000, 4200, 400, 3800}, 1, 2, 1, 3600}, /* 4.0 s in the mean of the others, 0.4 s */
             {{4000, 4100, 4000, 3900}, 0, 0, 0, 0},   /* little more than the others: 0.1 s of 10 */
             {{4000, 500, 500, 500}, 0, 0, 0, 0},      /* one waits for many: nobody is late */
             {{4000, 4200, 400, 0}, 0, 0, 0, 0}};      /* of one rank nothing was recorded */
    struct thresholds t = thresholds_default();
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct run *r = made_run(4, 64);
        for (int k = 0; k < 4; k++) {
            r->ranks[k].process_seconds = 10;
            r->ranks[k].mpi_ns = c[i].ms[k] * 1000000;
        }
        struct mpi_late l = mpi_late(&t, r);
        assert_int_equal(l.has, c[i].has);
        if (l.has) {
            assert_int_equal(l.n, c[i].n);
            assert_int_equal(l.ranks[0], c[i].first);
            assert_int_equal(l.waited_ns, c[i].waited_ms * 1000000);
            assert_int_equal(l.others_most_ns, 4200000000);
        }
        run_free(r);
    }
}

/* Each difference that explains another speed by itself is named; what one side does not say is none. */
static void test_unlike(void **state)
{
    (void)state;
    struct run *a = parts(0, 0, 0), *b = parts(0, 0, 0);
    struct thresholds t = thresholds_default();
    struct report rep = {0};
    struct run_pair variables[] = {{"NCCL_VERSION", "2.27.3"}};
    struct run_gpu gpu[2] = {{.gpu_id = 0}, {.gpu_id = 0}};
    a->nodes[0].gpu_driver = "550.54.15";
    a->program.cuda = "12.4";
    a->program.nccl = "2.21.5";
    a->program.mpi = "Open MPI 4.1.4";
    assert_int_equal(unlike(&t, a, b), 0);
    b->environment = variables;
    b->n_environment = 1;
    b->nodes[1].gpu_driver = "570.86.10";
    b->program.cuda = "12.8";
    b->program.mpi = "Open MPI 5.0.7";
    struct run_pair settings[] = {{"OMP_NUM_THREADS", "1"}};
    a->environment = settings;
    a->n_environment = 1;
    a->nodes[0].cores_quota = 2; /* and none known of b: it may have the same */
    assert_int_equal(unlike(&t, a, b) & 1U << UNLIKE_QUOTA, 0);
    b->nodes[1].cores_quota = 4;
    for (int i = 0; i < 2; i++) { /* both busy, one at 1980 MHz, one at 1500 */
        struct run *r = i ? b : a;
        r->nodes[0].gpus = &gpu[i];
        r->nodes[0].n_gpus = 1;
        sampled_add(r, &gpu[i].utilization_percent, 0, 95);
        sampled_add(r, &gpu[i].sm_clock_mhz, 0, i ? 1500 : 1980);
    }
    assert_string_equal(
        unlike_names(&rep, unlike(&t, a, b)),
        "GPU clocks while busy, GPU drivers, CUDA versions, NCCL versions, MPI libraries, thread settings "
        "(OMP_NUM_THREADS and its like), CPU quotas");
    b->program.threads = 1; /* it says so itself */
    assert_int_equal(unlike(&t, a, b) & 1U << UNLIKE_THREADS, 0);
    gpu[1].sm_clock_mhz.sum = 1900;
    assert_int_equal(unlike(&t, a, b) & 1U << UNLIKE_CLOCK, 0);
    report_free(&rep);
    run_free(a);
    run_free(b);
}

static void test_other_caveats(void **state)
{
    (void)state;
    struct run *r = parts(0, 0, 0);
    r->node_kind = NODES_EMULATED;
    assert_true(has_note(r, "emulated", NOTE_CAVEAT));
    r = parts(0, 0, 0);
    r->node_kind = NODES_ONE_KERNEL;
    assert_true(has_note(r, "one-kernel", NOTE_CAVEAT));
    r = parts(0, 0, 0);
    r->is_complete = 0;
    assert_true(has_note(r, "incomplete", NOTE_GAP));
    r = parts(0, 0, 0);
    assert_false(has_note(r, "told-to-end", NOTE_CAVEAT));
    r = parts(0, 0, 0);
    r->told_to_end = "SIGTERM";
    assert_true(has_note(r, "told-to-end", NOTE_CAVEAT));
    r = parts(0, 0, 0);
    r->ranks[0].n_dropped = 3;
    assert_true(has_note(r, "dropped", NOTE_GAP));
    r = parts(0, 0, 0);
    r->ranks[0].is_torn = 1;
    assert_true(has_note(r, "torn", NOTE_GAP));
    assert_true(has_note(made_even_run(2, 64, 5, 80, 10, 0, 0), "few-steps", NOTE_CAVEAT));
    r = parts(0, 0, 0);
    r->started_s = 1000;
    r->ended_s = 1100;
    for (int i = 0; i < 2; i++)
        run_rank_at(r, i)->wall_ns = 9000000000; /* 9 s of 100 s */
    assert_true(has_note(r, "little-covered", NOTE_CAVEAT));
    r = parts(0, 0, 0);
    struct run_gpu gpu = {0};
    r->nodes[0].gpus = &gpu;
    r->nodes[0].n_gpus = 1;
    for (int i = 0; i < 4; i++) {
        sampled_add(r, &gpu.utilization_percent, i, 95);
        sampled_add(r, &gpu.sm_clock_mhz, i, i ? 1200 : 1980); /* 1395 of 1980 in the mean */
    }
    assert_true(has_note(r, "clocks", NOTE_CAVEAT));
    r = parts(0, 0, 0);
    r->n_nodes = 0;
    assert_true(has_note(r, "nodes-unknown", NOTE_GAP));
}

/* The notes of a run whose trace has that device, n times, joined. */
static const char *notes_of_gpus(struct run_device d, int n)
{
    static char text[4096];
    struct run_device all[4];
    struct run *r = made_even_run(1, 64, 40, 100, 0, 0, 0), *runs[] = {r};
    struct foreign_trace t = {.file = "t.json", .kind = "", .rank = 0, .devices = all, .n_devices = n};
    struct report rep = {0};
    struct analyse_options o = {.thresholds = thresholds_default()};
    d.file = "t.json";
    d.model = d.idle_because = "";
    for (int i = 0; i < n; i++) {
        all[i] = d;
        all[i].device = i;
    }
    r->traces = &t;
    r->n_traces = 1;
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    text[0] = '\0';
    for (int i = 0; i < rep.runs[0].n_notes; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s\n", rep.runs[0].notes[i]);
    report_free(&rep);
    run_free(r);
    return text;
}

static const char *notes_of(struct run_device d)
{
    return notes_of_gpus(d, 1);
}

static void test_device_notes(void **state)
{
    (void)state;
    struct run_device alike = {.n_steps = 10, .n_to_host = 11};
    const char *said = notes_of_gpus(alike, 4); /* the same of all is said once */
    assert_non_null(strstr(said, "GPU 0, and alike 3 other GPUs: copies to the host"));
    assert_null(strstr(said, "GPU 1"));
    struct run_device d = {.n_steps = 10, .n_mallocs = 5, .n_frees = 5, .n_to_host = 10, .n_syncs = 50};
    assert_null(strstr(notes_of(d), "GPU 0")); /* one a step is usual */
    d.n_mallocs = 6;
    assert_non_null(strstr(notes_of(d), "cudaMalloc"));
    assert_null(strstr(notes_of(d), "copies to the host"));
    d.n_to_host = 11;
    assert_non_null(strstr(notes_of(d), "a step (11 in 10 steps); the host synchronised"));
    d = (struct run_device){.memory = {.n = 5,
                                       .peak_allocated = 80,
                                       .peak_reserved = 91,
                                       .has_growth = 1,
                                       .n_step_peaks = 10,
                                       .growth_bytes_per_step = 0.009},
                            .memory_total_bytes = 100};
    assert_non_null(strstr(notes_of(d), "91 % full at the peak"));
    assert_null(strstr(notes_of(d), "memory grows"));
    d.memory.growth_bytes_per_step = 0.011;
    assert_non_null(strstr(notes_of(d), "memory grows"));
    d.memory.n_step_peaks = 9; /* too few to tell */
    assert_null(strstr(notes_of(d), "memory grows"));
    d = (struct run_device){.tensor_ns = 20, .eligible_ns = 60};
    d.value[DEV_KERNEL_SUM] = 100;
    assert_non_null(strstr(notes_of(d), "33 % of the time of matrix products"));
    d.value[DEV_KERNEL_SUM] = 201; /* under a fifth of it */
    assert_null(strstr(notes_of(d), "matrix products"));
}

static struct accumulated accumulated_by(struct run *r)
{
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, &r, 1, &o, NULL), 0);
    struct accumulated a = rep.runs[0].accumulation;
    int is_said = 0;
    for (int i = 0; i < rep.runs[0].n_notes; i++)
        is_said |= strncmp(rep.runs[0].notes[i], "Gradients are accumulated", 25) == 0;
    assert_int_equal(is_said, a.micro_batches > 1);
    report_free(&rep);
    return a;
}

/* By program.json; by 41 backward passes to 10 runs of the optimiser, the last step cut; by nothing. */
static void test_accumulation(void **state)
{
    (void)state;
    struct run *r = parts(0, 0, 0);
    struct host_operator list[] = {{.name = "backward", .n = 41}, {.name = "optimizer", .n = 10}};
    assert_int_equal(accumulated_by(r).micro_batches, 0);
    r->ranges = (struct host_operators){.list = list, .n_names = 2, .n = 51};
    assert_int_equal(accumulated_by(r).micro_batches, 4);
    list[0].n = 45; /* four and a half */
    assert_int_equal(accumulated_by(r).micro_batches, 0);
    r->program.accumulate = 1;
    assert_int_equal(accumulated_by(r).micro_batches, 1);
    run_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data),
        cmocka_unit_test(test_device_notes),
        cmocka_unit_test(test_accumulation),
        cmocka_unit_test(test_communication),
        cmocka_unit_test(test_late_by_turns),
        cmocka_unit_test(test_io),
        cmocka_unit_test(test_compute_bound),
        cmocka_unit_test(test_imbalance),
        cmocka_unit_test(test_late_by_writing),
        cmocka_unit_test(test_files_in_loading),
        cmocka_unit_test(test_largest_gain),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_kernels_beside_another_cause),
        cmocka_unit_test(test_start_up_is_left_out),
        cmocka_unit_test(test_own_threads_wait),
        cmocka_unit_test(test_waits_by_node),
        cmocka_unit_test(test_rank_without_steps),
        cmocka_unit_test(test_never_judged),
        cmocka_unit_test(test_growing_communication),
        cmocka_unit_test(test_shared_resources),
        cmocka_unit_test(test_mpi_share),
        cmocka_unit_test(test_mpi_late),
        cmocka_unit_test(test_unlike),
        cmocka_unit_test(test_other_caveats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
