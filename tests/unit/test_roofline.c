/* test_roofline.c - does memory's bandwidth limit compute? From counts of the program and the calibration, or from a
 * counter of the processor. */
#include "render/read/recorder.h"
#include "render/metrics/memory_counters.h"
#include "render/metrics/known.h"
#include "render/metrics/rule.h"
#include "tests/unit/made_rules.h"

#include "render/findings/shares.h"
#include "render/say/format.h"
#include "render/findings/narrate.h"

/* 100 ns of compute a step move 1600 bytes and do 500 operations. One core moves 10 bytes and does 20 operations a
 * ns, two 20 and 40. So memory needs 80 ns, products 12.5. */
static struct run *calibrated(double bytes, double flop)
{
    static struct run_node_calibration nodes[2];
    static struct run_calibration c = {.nodes = nodes, .n_nodes = 2};
    struct run *r = parts(0, 0, 0);
    for (int i = 0; i < 2; i++) {
        r->nodes[i].host = i ? "b" : "a";
        nodes[i] = (struct run_node_calibration){
            .host = r->nodes[i].host, .cores = 8, .flop_one = {3, 20, 20, 20}, .memory_one = {3, 10, 10, 10}};
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
    assert_string_equal(judged_share(&rep.runs[0].classes[CLASS_MEMORY]).text, "80 % of bandwidth");
    assert_string_equal(judged_threshold(&rep.runs[0].classes[CLASS_MEMORY]).text, "60 %"); /* of that, too */
    assert_int_equal(rep.runs[0].classes[CLASS_MEMORY].gain_ns, 87);                        /* 100 - 12.5 */
    assert_int_equal(rep.runs[0].classes[CLASS_COMPUTE].gain_ns, 0); /* a ceiling of large products is no gain */
    report_free(&rep);
    run_free(r);
    r = calibrated(1600, 500);
    r->calibration->nodes[0].disturbed = "others";
    assert_int_equal(verdict_of(r, CLASS_MEMORY, t), VERDICT_NA);
}

static struct roofline roofline_by(struct run *r)
{
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, &r, 1, &o, NULL), 0);
    struct roofline f = rep.runs[0].roofline;
    f.peaks = f.has ? f.peaks : PEAKS_NONE;
    report_free(&rep);
    run_free(r);
    return f;
}

static int is_about(double a, double b)
{
    return a > b * (1 - 1e-9) && a < b * (1 + 1e-9);
}

/* 500 / 1600 operations a byte. Two cores' ceilings 40 and 20 meet at 2. Attainable are 20 x 0.3125 = 6.25 a ns,
 * achieved 500 / 100 = 5, 80 % of it. Bytes: 16 a ns, 80 % of 20. */
static void test_roofline(void **state)
{
    (void)state;
    struct roofline f = roofline_by(calibrated(1600, 500));
    assert_true(f.has && is_about(f.intensity, 0.3125) && is_about(f.ridge, 2));
    assert_true(is_about(f.attainable_gflop_per_s, 6.25) && is_about(f.gflop_per_s, 5) && is_about(f.gb_per_s, 16));
    assert_true(is_about(f.of_attainable_ratio, 0.8) && is_about(f.mfu_ratio, 500 / (100 * 40.0)));
    assert_int_equal(f.bound, BOUND_MEMORY);
    f = roofline_by(calibrated(100, 3000)); /* 30 a byte; 30 of 40 a ns */
    assert_true(is_about(f.attainable_gflop_per_s, 40) && is_about(f.mfu_ratio, 0.75));
    assert_int_equal(f.bound, BOUND_COMPUTE);
    assert_int_equal(roofline_by(calibrated(100, 2000)).bound, BOUND_NEITHER); /* half of it */
    assert_false(roofline_by(calibrated(-1, 500)).has);
    /* the limits of processors do not apply to GPUs; the stated limit of one GPU does */
    struct run *r = calibrated(1600, 500);
    r->program.backend = "cuda";
    assert_int_equal(roofline_by(r).why.code, REASON_CALIBRATION_OF_PROCESSORS);
    static struct run_pair labels[] = {{"peak_gb_per_s", "50"}, {"peak_gflop_per_s", "100"}};
    r = calibrated(1600, 500);
    r->program.backend = "cuda";
    r->labels = labels;
    r->n_labels = 2;
    f = roofline_by(r);
    assert_true(f.has && is_about(f.peak_gflop_per_s, 200) && is_about(f.peak_gb_per_s, 100));
    assert_true(is_about(f.mfu_ratio, 0.025));
    assert_int_equal(f.peaks, PEAKS_STATED);
    r = calibrated(-1, 500); /* a program on a GPU that does not say its memory traffic */
    r->program.backend = "cuda";
    r->labels = labels;
    r->n_labels = 2;
    f = roofline_by(r);
    assert_true(!f.has && is_about(f.mfu_ratio, 0.025) && f.mfu_why.code == REASON_NONE);
    labels[0].value = "6.4"; /* 1.25 times the stated limit: nothing allows for that, since it is no measurement */
    r = calibrated(1600, 500);
    r->program.backend = "cuda";
    r->labels = labels;
    r->n_labels = 2;
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, &r, 1, &o, NULL), 0);
    const struct class_result *memory = &rep.runs[0].classes[CLASS_MEMORY];
    assert_int_equal(memory->verdict, VERDICT_NA);
    assert_int_equal(memory->why.code, REASON_STATED_PEAKS_DISAGREE);
    assert_true(is_about(memory->why.slot[0].real, 16) && is_about(memory->why.slot[2].real, 1.25));
    assert_non_null(found_of(memory, PHRASE_JUDGE_PEAKS));
    report_free(&rep);
    run_free(r);
    labels[0].value = "50";
    r = calibrated(1600, 500);
    r->program.backend = "cuda";
    r->labels = labels;
    r->n_labels = 2;
    assert_int_equal(analyse(&rep, &r, 1, &o, NULL), 0);
    assert_string_equal(rep.runs[0].classes[CLASS_MEMORY].ruled[0].slot[1].name, "stated");
    report_free(&rep);
    run_free(r);
    labels[0].value = "50x"; /* no number */
    r = calibrated(1600, 500);
    r->program.backend = "cuda";
    r->labels = labels;
    r->n_labels = 2;
    assert_false(roofline_by(r).has);
}

/* The report's statement on memory for a run that does `flop` operations and moves `bytes` in 100 ns, on cores that do
 * 4000 and move 2000 in that time. */
static struct class_result memory_of(double bytes, double flop, struct roofline *f)
{
    struct run *r = calibrated(bytes, flop);
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, &r, 1, &o, NULL), 0);
    *f = rep.runs[0].roofline;
    struct class_result memory = rep.runs[0].classes[CLASS_MEMORY];
    memory.rule = memory.text = NULL; /* of the report */
    report_free(&rep);
    run_free(r);
    return memory;
}

/* Is this the rate that was found, or that disagrees? */
static int is_rate(const struct slot *slots, double rate, double share)
{
    return slots && is_about(slots[0].real, rate) && (share < 0 || is_about(slots[1].real, share));
}

/* A rate slightly above the peak is a measurement error, and some mixes of reads and writes move more than the
 * calibration's. Further above, the counts or the peak are wrong, and no share is given. */
static void test_beyond_the_peak(void **state)
{
    (void)state;
    struct roofline f;
    struct class_result c = memory_of(100, 4120, &f);
    assert_true(is_rate(found_of(&c, PHRASE_FOUND_TRAFFIC), 1, 0.05));
    assert_true(is_rate(found_of(&c, PHRASE_FOUND_OPERATIONS_AT_PEAK), 41.2, -1));
    assert_non_null(found_of(&c, PHRASE_FOUND_RATES_OF_COMPUTE));
    assert_int_equal(c.verdict, VERDICT_FINE);
    assert_true(is_about(f.of_attainable_ratio, 1.03) && is_about(f.mfu_ratio, 1.03));
    assert_int_equal(f.of_attainable_why.code, REASON_NONE);
    assert_int_equal(f.bound, BOUND_COMPUTE);

    c = memory_of(100, 4800, &f);
    assert_int_equal(c.why.code, REASON_CALIBRATION_DISAGREES);
    assert_true(is_about(c.why.slot[0].real, 48) && is_about(c.why.slot[2].real, 1.2));
    assert_non_null(found_of(&c, PHRASE_JUDGE_CALIBRATION));
    assert_int_equal(c.verdict, VERDICT_NA);
    assert_int_equal(f.of_attainable_why.code, REASON_CALIBRATION_DISAGREES);
    assert_int_equal(f.mfu_why.code, REASON_CALIBRATION_DISAGREES);
    assert_int_equal(f.bound, BOUND_UNKNOWN);

    c = memory_of(2700, 500, &f); /* of memory: the operations are not in doubt */
    assert_true(is_about(c.why.slot[0].real, 27) && is_about(c.why.slot[2].real, 1.35));
    assert_string_equal(c.why.slot[1].name, "GB/s");
    assert_int_equal(c.verdict, VERDICT_NA);
    assert_int_equal(f.of_attainable_why.code, REASON_CALIBRATION_DISAGREES);
    assert_int_equal(f.mfu_why.code, REASON_NONE);
    assert_int_equal(f.bound, BOUND_UNKNOWN);

    c = memory_of(2400, 500, &f); /* a mix of reads and writes that moves more than the calibration's */
    assert_true(is_rate(found_of(&c, PHRASE_FOUND_TRAFFIC_ABOVE), 24, -1));
    assert_int_equal(c.verdict, VERDICT_LIMITS);
    assert_int_equal(f.bound, BOUND_MEMORY);

    c = memory_of(2060, 500, &f);
    assert_true(is_rate(found_of(&c, PHRASE_FOUND_TRAFFIC_AT_PEAK), 20.6, -1));
    assert_int_equal(c.verdict, VERDICT_LIMITS);
}

/* Four ranks take turns on the two cores of one machine, which may stand for several nodes. Their operations per wall
 * time of the step are compared with the peak of two cores. In one step of ten a rank found a free core, so that its
 * own time was half as long. */
static struct run *in_turns(double flop, int n_cores)
{
    static struct run_node_calibration node;
    static struct run_calibration c = {.nodes = &node, .n_nodes = 1};
    const int64_t waited[N_CATEGORIES] = {[CAT_COMPUTE] = 100, [CAT_COMM] = 10};
    const int64_t alone[N_CATEGORIES] = {[CAT_COMPUTE] = 50, [CAT_COMM] = 60};
    struct run *r = made_run(4, 64);
    r->node_kind = NODES_EMULATED;
    for (int i = 0; i < 4; i++) {
        r->nodes[i].host = "a";
        r->nodes[i].cores = r->nodes[i].cores_allowed = n_cores;
        for (int s = 0; s < 40; s++)
            made_step(r, run_rank_at(r, i), s % 10 == i ? alone : waited);
    }
    node = (struct run_node_calibration){.host = "a",
                                         .cores = n_cores,
                                         .flop_one = {3, 19, 18, 20},
                                         .flop_all = {3, 19 * n_cores, 18 * n_cores, 20 * n_cores},
                                         .memory_one = {3, 10, 10, 10},
                                         .memory_all = {3, 20, 20, 20}};
    r->calibration = &c;
    r->program.threads = 1;
    r->program.flop_per_step = flop;
    r->program.traffic_bytes_per_step = 100;
    return r;
}

static void test_rates_of_shared_cores(void **state)
{
    (void)state;
    struct roofline f = roofline_by(in_turns(4180, 2));
    assert_true(f.has && f.is_of_step);
    assert_true(is_about(f.peak_gflop_per_s, 40) && is_about(f.gflop_per_s, 38)); /* 4180 in 110 ns */
    assert_true(is_about(f.of_attainable_ratio, 0.95) && is_about(f.mfu_ratio, 0.95));
    assert_int_equal(f.bound, BOUND_COMPUTE);
    f = roofline_by(in_turns(4180, 4)); /* a core each: while they compute, 95 ns of a step in the mean */
    assert_true(f.has && !f.is_of_step);
    assert_true(is_about(f.peak_gflop_per_s, 80) && is_about(f.gflop_per_s, 44) && is_about(f.mfu_ratio, 0.475));
    /* machines that are one by their kernel: its rate counts once */
    struct run *r = calibrated(1600, 500);
    r->nodes[0].boot_id = r->nodes[1].boot_id = "one";
    for (int i = 0; i < 2; i++)
        r->calibration->nodes[i].flop_all = (struct run_measured){3, 25, 25, 25};
    assert_true(is_about(roofline_by(r).peak_gflop_per_s, 25));
    r = calibrated(1600, 500);
    r->nodes[0].boot_id = "one";
    r->nodes[1].boot_id = "another";
    assert_true(is_about(roofline_by(r).peak_gflop_per_s, 40));
}

/* Under a CPU quota the peak of operations is that of the cores that the quota allows. */
static void test_peak_under_a_quota(void **state)
{
    (void)state;
    struct run *r = calibrated(1600, 500);
    r->program.threads = 8;
    assert_true(is_about(roofline_by(r).peak_gflop_per_s, 320)); /* 20 of each core, 8 cores on each of 2 nodes */
    r = calibrated(1600, 500);
    r->program.threads = 8;
    r->nodes[0].cores_quota = r->nodes[1].cores_quota = 2;
    struct roofline f = roofline_by(r);
    assert_true(is_about(f.peak_gflop_per_s, 80) && is_about(f.peak_gb_per_s, 160));
    assert_true(f.is_of_step); /* threads wait for each other's share */
    r = calibrated(1600, 500);
    r->nodes[0].cores_quota = 0.5; /* and the other's is unknown */
    assert_true(is_about(roofline_by(r).peak_gflop_per_s, 30));
    r = calibrated(1600, 500);
    r->nodes[0].cores_quota = r->nodes[1].cores_quota = 2; /* more than there are threads */
    f = roofline_by(r);
    assert_true(is_about(f.peak_gflop_per_s, 40) && !f.is_of_step);
    /* one machine: nodes on its kernel have a quota each, stand-ins one together */
    for (int is_emulated = 0; is_emulated < 2; is_emulated++) {
        r = calibrated(1600, 500);
        r->node_kind = is_emulated ? NODES_EMULATED : NODES_ONE_KERNEL;
        r->nodes[0].boot_id = r->nodes[1].boot_id = "one";
        r->nodes[0].cores_quota = r->nodes[1].cores_quota = 0.75;
        assert_true(is_about(roofline_by(r).peak_gflop_per_s, is_emulated ? 15 : 30));
    }
    /* emulated nodes: half a core each, calibrated inside of one. They compute side
     * by side at their speed: the time of the operations is that of the compute phases. */
    r = calibrated(1600, 500);
    r->node_kind = NODES_SHARES;
    for (int i = 0; i < 2; i++) {
        r->nodes[i].boot_id = "one";
        r->nodes[i].cores_quota = r->nodes[i].share.cores = 0.5;
    }
    f = roofline_by(r);
    assert_true(is_about(f.peak_gflop_per_s, 20) && is_about(f.peak_gb_per_s, 20) && !f.is_of_step);
}

/* Other programs had half of the cores: the ranks moved 8 GB/s of 20 beside them, 80 % of the rest. */
/* Both cores are busy all the time: with the ranks alone, or with other programs for a half of it. */
static void put_others(struct run *r, struct run_reading busy[2][2], int has_others)
{
    for (int i = 0; i < 2; i++) {
        struct run_node *n = &r->nodes[i];
        struct run_rank *k = run_rank_at(r, i);
        n->cores = n->cores_allowed = 1;
        n->cpu_percent = (struct sampled){.n = 2, .sum = 200};
        n->monitor_seconds = (double)k->wall_ns / 1e9;
        busy[i][0] = (struct run_reading){0};
        busy[i][1] = (struct run_reading){.t_ns = k->wall_ns, .cpu_ns = k->wall_ns};
        n->busy = busy[i];
        n->n_busy = 2;
        k->run_delay_ns = has_others ? k->wall_ns / 2 : 0;
        k->cpu_ns = k->wall_ns - k->run_delay_ns;
        k->process_seconds = n->monitor_seconds;
        for (size_t s = 0; s < k->n_steps; s++)
            k->steps[s].start_ns = (int64_t)s * k->steps[s].step_ns;
    }
}

static void test_memory_beside_others(void **state)
{
    (void)state;
    for (int is_beside = 0; is_beside < 2; is_beside++) {
        struct run *r = calibrated(800, 100);
        static struct run_reading busy[2][2], delays[2][2];
        if (is_beside)
            put_others(r, busy, 1);
        for (int i = 0; i < 2 && is_beside; i++) {
            struct run_rank *k = run_rank_at(r, i);
            delays[i][0] = (struct run_reading){0};
            delays[i][1] =
                (struct run_reading){.t_ns = k->wall_ns, .cpu_ns = k->wall_ns / 2, .run_delay_ns = k->wall_ns / 2};
            k->delays = delays[i];
            k->n_delays = 2;
        }
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, &r, 1, &o, NULL), 0);
        const struct class_result *c = &rep.runs[0].classes[CLASS_MEMORY];
        assert_int_equal(c->verdict, is_beside ? VERDICT_LIMITS : VERDICT_WATCH);
        const struct slot *left = found_of(c, PHRASE_FOUND_CORES_LEFT);
        assert_true(is_rate(found_of(c, PHRASE_FOUND_TRAFFIC), 8, 0.4));
        assert_true(is_beside ? left && left[0].real > 0.49 && left[0].real < 0.51 : !left);
        report_free(&rep);
        run_free(r);
    }
}

/* One nanosecond of everything in each step: it is recorded, but too small to matter. */
static void record_all(struct run *r)
{
    for (int i = 0; i < r->ranks_len; i++)
        for (size_t k = 0; k < r->ranks[i].n_steps; k++) {
            int64_t *part = r->ranks[i].steps[k].part_ns;
            part[CAT_COMPUTE] -= 3;
            part[CAT_COMM]++;
            part[CAT_DATA]++;
            part[CAT_IO]++;
        }
}

/* Unrecorded work may be inside compute, so the report does not claim that nothing is left to optimise. */
static void test_nothing_to_optimise_only_if_all_was_recorded(void **state)
{
    (void)state;
    struct run *r = calibrated(1600, 3600), *runs[] = {r};
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    narrate(&rep);
    assert_true(is_memory_judged(&rep.runs[0]));
    assert_string_equal(unrecorded_in_compute(&rep, &rep.runs[0]), "communication, data loading or I/O");
    assert_int_equal(rep.runs[0].said.headline.id, PHRASE_COMPUTE_LIMITS);
    int is_told = 0; /* unrecorded causes are listed beside the ruled-out ones */
    for (int i = 0; i < JUDGED_MAX; i++)
        is_told |= rep.runs[0].judged[i].id == PHRASE_NOT_JUDGED &&
                   strcmp(rep.runs[0].judged[i].slot[1].name, "not recorded") == 0 &&
                   strstr(rep.runs[0].judged[i].slot[0].name, "data loading") != NULL;
    assert_true(is_told);
    assert_non_null(strstr(rep.first_action, "No communication, data loading or I/O was recorded"));
    assert_int_equal(rep.runs[0].confidence, CONFIDENCE_MEDIUM);
    report_free(&rep);
    run_free(r);
}

/* Compute that may be waiting for memory is no proof that nothing is left to optimise. */
static void test_nothing_to_optimise_only_if_memory_was_judged(void **state)
{
    (void)state;
    for (int is_judged = 0; is_judged < 2; is_judged++) {
        struct run *r = calibrated(1600, 3600), *runs[] = {r};
        r->calibration = is_judged ? r->calibration : NULL;
        record_all(r);
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        narrate(&rep);
        assert_string_equal(unrecorded_in_compute(&rep, &rep.runs[0]), "");
        assert_int_equal(rep.runs[0].confidence, is_judged ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
        assert_int_equal(remedy_of_memory(&rep.runs[0]).id, is_judged ? PHRASE_NONE : PHRASE_JUDGE_CALIBRATE);
        assert_int_equal(!!strstr(rep.first_action, "which dccollect calibrate makes"), !is_judged);
        assert_int_equal(is_memory_judged(&rep.runs[0]), is_judged);
        assert_int_equal(!!strstr(rep.first_action, "not known whether kernels wait for memory"), !is_judged);
        int is_not_judged = 0, is_known_fine = 0;
        for (int i = 0; i < JUDGED_MAX; i++) {
            const struct phrase *p = &rep.runs[0].judged[i];
            int has = p->id != PHRASE_NONE && strstr(p->slot[0].name, "memory bandwidth") != NULL;
            is_not_judged |= p->id == PHRASE_NOT_JUDGED && has;
            is_known_fine |= (p->id == PHRASE_RULED_OUT || p->id == PHRASE_NEXT_LIMIT_OF) && has;
        }
        assert_int_equal(rep.runs[0].said.headline.id, PHRASE_COMPUTE_LIMITS);
        assert_int_equal(is_known_fine, is_judged);
        assert_int_equal(is_not_judged, !is_judged);
        assert_int_equal(found_of(&rep.runs[0].classes[CLASS_COMPUTE], PHRASE_FOUND_COMPUTE_HEALTHY) != NULL,
                         is_judged);
        report_free(&rep);
        run_free(r);
    }
}

/* If the program gives no reason, the archive's own reason for having no counters is given. */
static void test_memory_untold(void **state)
{
    (void)state;
    static const struct {
        const char *counters;
        enum reason_code why;
        const char *because;
    } cases[] = {{"", REASON_NO_COUNTS, NULL},
                 {"n/a because the kernel refuses", REASON_NO_COUNTS_NOR_COUNTERS, "the kernel refuses"},
                 {"nothing", REASON_NO_COUNTS_NOR_COUNTERS, "nothing"}, /* any text there is shown */
                 {"ok: user mode only", REASON_COUNTS_OTHER_CACHE, "this processor"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run *r = parts(0, 0, 0), *runs[] = {r};
        struct report rep = {0};
        struct analyse_options o = made_options();
        run_rank_at(r, 0)->counters = recorder_of(cases[i].counters);
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        const struct class_result *memory = &rep.runs[0].classes[CLASS_MEMORY];
        assert_int_equal(memory->why.code, cases[i].why);
        if (cases[i].because)
            assert_string_equal(memory->why.slot[0].name, cases[i].because);
        assert_non_null(found_of(memory, PHRASE_JUDGE_COUNTS));
        report_free(&rep);
        run_free(r);
    }
}

/* Cache misses show at least how much of the bandwidth is used. Both ranks together: two cores with 20 bytes a ns.
 * Without steps the verdict is a claim of the run. */
static struct run *missing(struct run_reading delays[3], double misses_per_ns, const char *cpu, int has_steps)
{
    struct run *r = calibrated(-1, -1);
    int64_t until = 4000000;
    r->program.threads = 1;
    for (int i = 0; i < 3; i++)
        delays[i] = (struct run_reading){.t_ns = i * until / 2,
                                         .cpu_ns = -1,
                                         .own_ns = -1,
                                         .misses = (int64_t)(misses_per_ns * (double)i * (double)until / 2)};
    for (int i = 0; i < 2; i++) {
        struct run_rank *k = run_rank_at(r, i);
        r->nodes[i].cpu_model = cpu;
        k->counters = recorder_of("ok");
        k->delays = delays;
        k->n_delays = 3;
        k->watched_to_ns = until;
        k->n_steps = has_steps ? k->n_steps : 0;
    }
    return r;
}

static void test_memory_by_cache_misses(void **state)
{
    (void)state;
    const char *intel = "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz";
    static const struct {
        double per_ns; /* lines of 64 bytes of each rank */
        int is_intel;
        enum verdict verdict;
        enum reason_code why;
    } cases[] = {{0.13, 1, VERDICT_LIMITS, REASON_NONE}, /* 16.6 of 20 GB/s */
                 {0.06, 1, VERDICT_WATCH, REASON_NONE},  /* 7.7: written and prefetched lines come on top */
                 {0.03, 1, VERDICT_NA, REASON_MISSES_SHOW_LITTLE},
                 {0.13, 0, VERDICT_NA, REASON_COUNTS_OTHER_CACHE},
                 {0.21, 1, VERDICT_NA, REASON_CALIBRATION_DISAGREES}}; /* 26.9 */
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        int k = (int)i / 2, has_steps = i % 2;
        struct run_reading delays[3];
        struct run *r = missing(delays, cases[k].per_ns, cases[k].is_intel ? intel : "AMD EPYC 7763", has_steps);
        struct run *runs[] = {r};
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        narrate(&rep);
        const struct run_result *of = &rep.runs[0];
        const struct class_result *memory = &of->classes[CLASS_MEMORY];
        if (has_steps) {
            assert_int_equal(memory->verdict, cases[k].verdict);
            assert_int_equal(memory->why.code, cases[k].why);
            assert_int_equal(memory->gain_ns, 0);
            assert_int_equal(found_of(memory, PHRASE_FOUND_MISSES) != NULL, cases[k].verdict != VERDICT_NA);
        } else {
            assert_int_equal(of->said.headline.id == PHRASE_MEMORY_LIMITS, cases[k].verdict == VERDICT_LIMITS);
        }
        if (cases[k].verdict == VERDICT_LIMITS)
            assert_true(is_about(of->counted.used_ratio, 0.13 * 64 * 2 / 20));
        report_free(&rep);
        run_free(r);
    }
}

/* A value that was not counted throughout is not guessed. */
static void test_cache_misses_not_counted_throughout(void **state)
{
    (void)state;
    struct run_reading delays[3];
    struct run *r = missing(delays, 0.13, "Intel(R) Xeon(R)", 1);
    double gb_per_s;
    assert_int_equal(missed_gb_per_s(r, &gb_per_s).code, REASON_NONE);
    assert_true(is_about(gb_per_s, 0.13 * 64 * 2));
    /* How many threads a rank has is not known: it may have used all 8 cores of its node. */
    struct report rep = {0};
    struct analyse_options o = made_options();
    r->program.threads = 0;
    assert_int_equal(analyse(&rep, &r, 1, &o, NULL), 0);
    assert_true(is_about(rep.runs[0].counted.used_ratio, 0.13 * 64 * 2 / 160));
    report_free(&rep);
    delays[1].misses = -1;
    assert_int_equal(missed_gb_per_s(r, &gb_per_s).code, REASON_MISSES_NOT_COUNTED);
    run_rank_at(r, 1)->n_delays = 1;
    assert_int_equal(missed_gb_per_s(r, &gb_per_s).code, REASON_MISSES_NOT_COUNTED);
    run_free(r);
}

/* The memory controllers count all traffic of a machine, so they also show that memory does not limit. Bytes per ns of
 * both nodes together, of 20. */
static void test_memory_by_controllers(void **state)
{
    (void)state;
    static const struct {
        int64_t per_ns; /* of each node */
        int has_others; /* other programs took half of the cores */
        enum verdict verdict;
        enum phrase_id found;
    } cases[] = {
        {9, 0, VERDICT_LIMITS, PHRASE_FOUND_CONTROLLERS},
        {11, 0, VERDICT_LIMITS, PHRASE_FOUND_TRAFFIC_ABOVE}, /* 1.1 times the calibration's: another mix of accesses */
        {4, 0, VERDICT_WATCH, PHRASE_FOUND_CONTROLLERS},
        {1, 0, VERDICT_FINE, PHRASE_FOUND_CONTROLLERS},
        {9, 1, VERDICT_LIMITS, PHRASE_FOUND_MISSES}, /* the traffic may be theirs: 7.7 of the half of 20 by misses */
        {20, 0, VERDICT_NA, PHRASE_NONE}};           /* twice the peak: one of them is wrong */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run_reading delays[3], memory[2] = {{.t_ns = 0}, {.t_ns = 4000000}};
        struct run *r = missing(delays, 0.06, "Intel(R) Xeon(R)", 1);
        memory[1].read_bytes = cases[i].per_ns * 3000000;
        memory[1].written_bytes = cases[i].per_ns * 1000000;
        for (int k = 0; k < 2; k++) {
            r->nodes[k].memory = memory;
            r->nodes[k].n_memory = 2;
        }
        assert_true(is_about(controllers_gb_per_s(r), 2.0 * (double)cases[i].per_ns));
        struct run_reading busy[2][2];
        put_others(r, busy, cases[i].has_others);
        for (int k = 0; k < 3; k++) {
            delays[k].run_delay_ns = cases[i].has_others ? delays[k].t_ns / 2 : 0;
            delays[k].cpu_ns = delays[k].t_ns - delays[k].run_delay_ns;
        }
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, &r, 1, &o, NULL), 0);
        const struct class_result *c = &rep.runs[0].classes[CLASS_MEMORY];
        assert_int_equal(c->verdict, cases[i].verdict);
        if (cases[i].found)
            assert_non_null(found_of(c, cases[i].found));
        report_free(&rep);
        r->program.backend = "cuda"; /* these are not the controllers of its GPUs */
        assert_int_equal(analyse(&rep, &r, 1, &o, NULL), 0);
        assert_int_equal(rep.runs[0].classes[CLASS_MEMORY].verdict, VERDICT_NA);
        report_free(&rep);
        r->nodes[1].n_memory = 1; /* one node was not counted */
        assert_true(controllers_gb_per_s(r) < 0);
        run_free(r);
    }
}

/* Readings every 10 ns in phases of 40 ns. Pairs of readings that touch two phases belong to none. */
static void test_counters_by_phase(void **state)
{
    (void)state;
    struct run_phase phases[] = {{.name = "forward"}, {.name = "backward"}};
    struct phase_stretch stretches[] = {{5, 45, 0}, {45, 85, 1}, {105, 145, 0}};
    struct counter_reading counts[17];
    struct dcr_arena a = {0};
    struct run *r = calibrated(-1, -1);
    r->nodes[0].cpu_model = r->nodes[1].cpu_model = "Intel(R) Xeon(R)";
    for (int i = 0; i < 16; i++) { /* in the backward pass the cores wait, and read more */
        int is_back = i > 5 && i <= 8;
        struct counter_reading before = i ? counts[i - 1] : (struct counter_reading){.cycles = 1000};
        counts[i] = (struct counter_reading){.t_ns = 10 * i,
                                             .cycles = before.cycles + 100,
                                             .instructions = before.instructions + (is_back ? 50 : 200),
                                             .stalled_cycles = before.stalled_cycles + (is_back ? 75 : 10),
                                             .misses = before.misses + (is_back ? 5 : 1)};
    }
    struct run_rank *k = run_rank_at(r, 0);
    struct step_record step = {.start_ns = 0, .step_ns = 150};
    *k = (struct run_rank){.steps = &step,
                           .n_steps = 1,
                           .rank = 0,
                           .counts = counts,
                           .n_counts = 16,
                           .phases = phases,
                           .n_phases = 2,
                           .stretches = stretches,
                           .n_stretches = 3};
    struct run_rank *other = run_rank_at(r, 1);
    other->counts = counts, other->n_counts = 0;
    struct counted_phases c = counters_by_phase(&a, r);
    assert_true(c.has);
    assert_int_equal(c.n, 2);
    assert_string_equal(c.phases[0].name, "forward");
    assert_int_equal(c.phases[0].ns, 30 + 30);
    assert_true(is_about(c.phases[0].instructions_per_cycle, 2));
    assert_true(is_about(c.phases[0].stalled_ratio, 0.1));
    assert_true(is_about(c.phases[0].missed_gb_per_s, 6.4));
    assert_int_equal(c.phases[1].ns, 30);
    assert_true(is_about(c.phases[1].instructions_per_cycle, 0.5));
    assert_true(is_about(c.phases[1].stalled_ratio, 0.75));
    assert_true(is_about(c.phases[1].missed_gb_per_s, 32));
    assert_int_equal(c.whole.ns, 150);
    assert_true(is_about(c.whole.stalled_ratio, (12 * 10 + 3 * 75) / 1500.0));
    counts[7].stalled_cycles =
        -1; /* not counted throughout in the backward pass and the run, but in the forward pass */
    c = counters_by_phase(&a, r);
    assert_true(is_about(c.phases[0].stalled_ratio, 0.1));
    assert_true(c.phases[1].stalled_ratio < 0 && c.whole.stalled_ratio < 0);
    assert_true(is_about(c.phases[1].instructions_per_cycle, 0.5));
    stretches[0].to_ns = stretches[1].to_ns = stretches[2].to_ns = 0;
    assert_int_equal(counters_by_phase(&a, r).why.code, REASON_PHASES_TOO_SHORT);
    k->n_stretches = 0;
    assert_int_equal(counters_by_phase(&a, r).why.code, REASON_PHASES_NOT_TIMED);
    k->n_steps = 0; /* the other rank has steps, and no readings in them */
    assert_int_equal(counters_by_phase(&a, r).whole.ns, 0);
    other->n_steps = 0;
    assert_int_equal(counters_by_phase(&a, r).why.code, REASON_MEMORY_NO_STEPS);
    /* Damaged files: time and counters jump back, and differences do not fit into 64 bits. */
    counts[16] = (struct counter_reading){.t_ns = 5, .cycles = 0};
    counts[15].cycles = INT64_MAX;
    counts[14].t_ns = INT64_MAX;
    k->n_counts = 17;
    (void)counters_by_phase(&a, r);
    k->n_counts = 16;
    for (int i = 0; i < 16; i++)
        counts[i].cycles = -1;
    assert_false(counters_by_phase(&a, r).has);
    dcr_arena_release(&a);
    run_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_roofline),
        cmocka_unit_test(test_beyond_the_peak),
        cmocka_unit_test(test_rates_of_shared_cores),
        cmocka_unit_test(test_peak_under_a_quota),
        cmocka_unit_test(test_memory_beside_others),
        cmocka_unit_test(test_nothing_to_optimise_only_if_all_was_recorded),
        cmocka_unit_test(test_nothing_to_optimise_only_if_memory_was_judged),
        cmocka_unit_test(test_memory_untold),
        cmocka_unit_test(test_memory_by_cache_misses),
        cmocka_unit_test(test_cache_misses_not_counted_throughout),
        cmocka_unit_test(test_memory_by_controllers),
        cmocka_unit_test(test_counters_by_phase),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
