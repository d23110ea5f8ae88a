/* test_caveats.c - statements besides the verdicts: runs that differ, notes of devices, accumulated gradients. */
#include "render/say/say.h"
#include "render/metrics/series/differing.h"
#include "tests/unit/made_rules.h"

#include <stdio.h>

/* Each difference that could explain another speed is named; a value that one side lacks is not a difference. */
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
    a->nodes[0].cores_quota = 2; /* and unknown for b, which may have the same */
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
    b->program.threads = 1; /* the program reports it itself */
    assert_int_equal(unlike(&t, a, b) & 1U << UNLIKE_THREADS, 0);
    struct run_device traced[2] = {{.model = "Tesla V100-DGXS-32GB"}, {.model = "NVIDIA A100-SXM4-40GB"}};
    struct foreign_trace traces[2] = {{.devices = &traced[0], .n_devices = 1}, {.devices = &traced[1], .n_devices = 1}};
    a->traces = &traces[0];
    b->traces = &traces[1];
    a->n_traces = b->n_traces = 1;
    assert_string_equal(unlike_names(&rep, unlike(&t, a, b) & 1U << UNLIKE_GPU), "GPU models");
    traced[1].model = ""; /* unknown is not different */
    assert_int_equal(unlike(&t, a, b) & 1U << UNLIKE_GPU, 0);
    gpu[1].sm_clock_mhz.sum = 1900;
    assert_int_equal(unlike(&t, a, b) & 1U << UNLIKE_CLOCK, 0);
    report_free(&rep);
    run_free(a);
    run_free(b);
}

/* Emulated nodes differ by share, period and link, and from other kinds of nodes. Their quota is named once, as
 * theirs. */
static void test_unlike_nodes(void **state)
{
    (void)state;
    static const struct {
        struct node_share share;
        enum node_kind kind;
        int is_unlike;
    } c[] = {{{1, 0.25, 4000, 50000000, 1}, NODES_SHARES, 0},
             {{1, 0.25, 4000, 50000000, 0}, NODES_SHARES, 0},
             {{1, 0.5, 4000, 50000000, 0}, NODES_SHARES, 1},
             {{1, 0.25, 8000, 50000000, 0}, NODES_SHARES, 1},
             {{1, 0.25, 4000, 0, 0}, NODES_SHARES, 1},
             {{0, 0, 0, 0, 0}, NODES_EMULATED, 1},
             {{0, 0, 0, 0, 0}, NODES_MACHINES, 1},
             {{0, 0, 0, 0, 0}, NODES_UNKNOWN, 0}};
    for (size_t t = 0; t < sizeof c / sizeof *c; t++)
        for (int is_turned = 0; is_turned < 2; is_turned++) {
            struct run *a = parts(0, 0, 0), *b = parts(0, 0, 0);
            struct thresholds th = thresholds_default();
            struct report rep = {0};
            a->node_kind = NODES_SHARES;
            b->node_kind = c[t].kind;
            for (int i = 0; i < 2; i++) {
                a->nodes[i].share = (struct node_share){1, 0.25, 4000, 50000000, 1};
                b->nodes[i].share = c[t].share;
                a->nodes[i].cores_quota = 0.25;
                b->nodes[i].cores_quota = c[t].share.cores;
            }
            assert_string_equal(unlike_names(&rep, is_turned ? unlike(&th, b, a) : unlike(&th, a, b)),
                                c[t].is_unlike ? "emulated nodes" : "");
            report_free(&rep);
            run_free(a);
            run_free(b);
        }
}

/* Further differences in the metadata: versions of libraries, first those that influence speed; limits; changes. */
static void test_surroundings(void **state)
{
    (void)state;
    struct run *a = parts(0, 0, 0), *b = parts(0, 0, 0);
    struct run_result runs[2] = {{.run = a}, {.run = b}};
    struct report rep = {.runs = runs, .n_runs = 2};
    static const int both[] = {0, 1};
    const char *of_a[] = {"_ssl.cpython-310-x86_64-linux-gnu.so",
                          "liba.so.1",
                          "libb-2.31.so",
                          "libc.so.6",
                          "libcudnn.so.8.9.2",
                          "libx1.so",
                          "libx2.so",
                          "libz.so.1.2.11"};
    const char *of_b[] = {"_ssl.cpython-311-x86_64-linux-gnu.so",
                          "libb-2.36.so",
                          "libc.so.6",
                          "libcudnn.so.8.9.7",
                          "libonly_here.so.3",
                          "libx2.so",
                          "libz.so.1.2.13"};
    a->git_changed = 1;
    assert_string_equal(other_surroundings(&rep, 0, both, 2), "");
    a->libraries = of_a;
    a->n_libraries = 8;
    b->libraries = of_b;
    b->n_libraries = 7;
    assert_string_equal(
        other_surroundings(&rep, 0, both, 2),
        "versions of 4 loaded libraries (libcudnn.so.8.9.2 and libcudnn.so.8.9.7, "
        "_ssl.cpython-310-x86_64-linux-gnu.so and _ssl.cpython-311-x86_64-linux-gnu.so, libb-2.31.so and "
        "libb-2.36.so and 1 more)");
    b->n_libraries = 0;
    b->git_changed = 0;
    struct run_pair of_first[] = {{"memlock", "65536"}, {"nofile", "1024"}, {"stack", "unlimited"}};
    struct run_pair of_second[] = {{"memlock", "unlimited"}, {"nofile", "1024"}, {"nproc", "7"}};
    a->limits = of_first;
    b->limits = of_second;
    a->n_limits = b->n_limits = 3;
    assert_string_equal(other_surroundings(&rep, 0, both, 2),
                        "resource limits (ulimit: memlock) and changes of the code that are in no commit (git.dirty)");
    dcr_arena_release(&rep.arena);
    run_free(a);
    run_free(b);
}

/* The rank that died is not the one inside the exchange in which the others wait for it. */
static void test_broke_off(void **state)
{
    (void)state;
    for (int is_complete = 0; is_complete < 2; is_complete++) {
        struct run *r = made_even_run(4, 64, 25, 80, 10, 0, 0), *runs[] = {r};
        r->is_complete = is_complete;
        for (int i = 0; i < 4; i++) {
            r->ranks[i].source = STEPS_TRACE;
            r->ranks[i].ended_in = i == 1 ? "forward" : "all_reduce";
        }
        struct report rep = {0};
        struct analyse_options o = made_options();
        const struct note *n = NULL;
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        for (int i = 0; i < rep.n_notes; i++)
            n = rep.notes[i].id == NOTE_BROKE_OFF ? &rep.notes[i] : n;
        assert_int_equal(n == NULL, is_complete);
        if (n) {
            assert_int_equal(n->said[0].id, PHRASE_BROKE_OFF);
            assert_int_equal(n->said[0].slot[0].count, 1);
            assert_string_equal(n->said[0].slot[1].name, "forward");
            assert_int_equal(n->said[0].slot[2].count, 25);
            assert_int_equal(n->said[1].id, PHRASE_OTHERS_WAITED);
            assert_int_equal(n->said[1].slot[0].count, 3);
            assert_string_equal(n->said[1].slot[1].name, "all_reduce");
        }
        report_free(&rep);
        run_free(r);
    }
}

static void test_other_caveats(void **state)
{
    (void)state;
    struct run *r = parts(0, 0, 0);
    r->node_kind = NODES_EMULATED;
    assert_true(has_note(r, NOTE_EMULATED, NOTE_CAVEAT));
    r = parts(0, 0, 0);
    r->node_kind = NODES_ONE_KERNEL;
    assert_true(has_note(r, NOTE_ONE_KERNEL, NOTE_CAVEAT));
    r = parts(0, 0, 0);
    r->is_complete = 0;
    assert_true(has_note(r, NOTE_INCOMPLETE, NOTE_GAP));
    r = parts(0, 0, 0);
    assert_false(has_note(r, NOTE_TOLD_TO_END, NOTE_CAVEAT));
    r = parts(0, 0, 0);
    r->told_to_end = "SIGTERM";
    assert_true(has_note(r, NOTE_TOLD_TO_END, NOTE_CAVEAT));
    r = parts(0, 0, 0);
    r->ranks[0].n_dropped = 3;
    assert_true(has_note(r, NOTE_DROPPED, NOTE_GAP));
    r = parts(0, 0, 0);
    r->ranks[0].is_torn = 1;
    assert_true(has_note(r, NOTE_TORN, NOTE_GAP));
    assert_true(has_note(made_even_run(2, 64, 5, 80, 10, 0, 0), NOTE_FEW_STEPS, NOTE_CAVEAT));
    r = parts(0, 0, 0);
    r->started_s = 1000;
    r->ended_s = 1100;
    for (int i = 0; i < 2; i++)
        run_rank_at(r, i)->wall_ns = 9000000000; /* 9 s of 100 s */
    assert_true(has_note(r, NOTE_LITTLE_COVERED, NOTE_CAVEAT));
    for (int is_long = 0; is_long < 2; is_long++) { /* 9 or 11 s before 39 steps of 100 ns */
        r = parts(0, 0, 0);
        for (int i = 0; i < 2; i++) {
            struct step_record *first = &run_rank_at(r, i)->steps[0];
            first->step_ns = first->part_ns[CAT_COMPUTE] = is_long ? 11000000000 : 9000000000;
        }
        assert_int_equal(has_note(r, NOTE_LONG_WARMUP, NOTE_CAVEAT), is_long);
    }
    r = parts(0, 0, 0);
    struct run_gpu gpu = {0};
    r->nodes[0].gpus = &gpu;
    r->nodes[0].n_gpus = 1;
    for (int i = 0; i < 4; i++) {
        sampled_add(r, &gpu.utilization_percent, i, 95);
        sampled_add(r, &gpu.sm_clock_mhz, i, i ? 1200 : 1980); /* 1395 of 1980 in the mean */
    }
    assert_true(has_note(r, NOTE_CLOCKS, NOTE_CAVEAT));
    for (int is_told = 0; is_told < 2; is_told++) { /* always at 1000 of the 1530 MHz that the GPU says */
        gpu = (struct run_gpu){0};
        r = parts(0, 0, 0);
        for (int i = 0; i < 4; i++) {
            sampled_add(r, &gpu.utilization_percent, i, 95);
            sampled_add(r, &gpu.sm_clock_mhz, i, 1000);
            if (is_told)
                sampled_add(r, &gpu.sm_clock_max_mhz, i, 1530);
        }
        r->nodes[0].gpus = &gpu;
        r->nodes[0].n_gpus = 1;
        assert_int_equal(has_note(r, NOTE_CLOCKS, NOTE_CAVEAT), is_told);
    }
    for (int percent = 60; percent <= 61; percent++) { /* by the trace 50 % */
        struct run_device d = {
            .file = "t.json", .model = "", .n_steps = 40, .steps_ns = 100, .steps_kernel_ns = 50, .steps_busy_ns = 50};
        struct foreign_trace t = {.file = "t.json", .devices = &d, .n_devices = 1};
        gpu = (struct run_gpu){0};
        r = parts(0, 0, 0);
        sampled_add(r, &gpu.utilization_percent, 0, percent);
        r->nodes[0].gpus = &gpu;
        r->nodes[0].n_gpus = 1;
        r->traces = &t;
        r->n_traces = 1;
        assert_int_equal(has_note(r, NOTE_TRACED_PART, NOTE_CAVEAT), percent > 60);
    }
    r = parts(0, 0, 0);
    r->n_nodes = 0;
    assert_true(has_note(r, NOTE_NODES_UNKNOWN, NOTE_GAP));
}

/* The notes of a run whose trace has that device, n times, joined. */
static const char *notes_of_gpus(struct run_device d, int n)
{
    static char text[4096];
    struct run_device all[4];
    struct run *r = made_even_run(1, 64, 40, 100, 0, 0, 0), *runs[] = {r};
    struct foreign_trace t = {.file = "t.json", .rank = 0, .devices = all, .n_devices = n};
    struct report rep = {0};
    struct analyse_options o = {.thresholds = thresholds_default()};
    d.file = "t.json";
    d.model = "";
    d.idle_why = REASON(NO_LAUNCHES);
    for (int i = 0; i < n; i++) {
        all[i] = d;
        all[i].device = i;
    }
    r->traces = &t;
    r->n_traces = 1;
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    text[0] = '\0';
    for (int i = 0; i < rep.runs[0].n_notes; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s\n", rep.runs[0].notes[i].text);
    report_free(&rep);
    run_free(r);
    return text;
}

static const char *notes_of(struct run_device d)
{
    return notes_of_gpus(d, 1);
}

/* Is that sentence in the notes? */
static int is_noted(const char *notes, struct phrase p)
{
    struct dcr_arena a = {0};
    int is_there = strstr(notes, say_phrase(&a, &p)) != NULL;
    dcr_arena_release(&a);
    return is_there;
}

static void test_device_notes(void **state)
{
    (void)state;
    struct slot per = slot_number(1.1), n = slot_count(11), steps = slot_count(10);
    struct run_device alike = {.n_steps = 10, .n_to_host = 11};
    const char *said = notes_of_gpus(alike, 4); /* equal notes of all devices appear once */
    assert_non_null(strstr(said, "GPU 0 and 3 other GPUs: "));
    assert_true(is_noted(said, PHRASE(GPU_TO_HOST, per, n, steps)));
    assert_true(is_noted(said, PHRASE(GPU_SYNCS_UNSEEN)));
    assert_null(strstr(said, "GPU 1"));
    struct run_device d = {.n_steps = 10, .n_mallocs = 5, .n_frees = 5, .n_to_host = 10, .n_syncs = 10};
    assert_null(strstr(notes_of(d), "GPU 0")); /* one per step is usual */
    d.n_syncs = 11;
    assert_true(is_noted(notes_of(d), PHRASE(GPU_SYNCS, per, n, steps)));
    struct reason why = REASON(NO_LAUNCHES);
    assert_true(is_noted(notes_of(d), PHRASE(GPU_SYNCS_UNTOLD, slot_reason(&why))));
    d.has_idle_causes = 1;
    d.steps_ns = 1000000;
    d.steps_behind_sync_ns = 9999; /* from 1 % of the steps' time it becomes advice */
    assert_true(is_noted(notes_of(d), PHRASE(GPU_SYNCS_CHEAP)));
    d.steps_behind_sync_ns = 10000;
    assert_true(is_noted(notes_of(d), PHRASE(GPU_SYNCS_COST, slot_time(10000), slot_percent(0.01))));
    d.n_mallocs = 6;
    assert_true(is_noted(notes_of(d), PHRASE(GPU_MALLOCS, per, n, steps)));
    assert_false(is_noted(notes_of(d), PHRASE(GPU_TO_HOST, slot_number(1), slot_count(10), steps)));
    d.n_to_host = 11;
    assert_true(is_noted(notes_of(d), PHRASE(GPU_TO_HOST, per, n, steps)));
    assert_true(is_noted(notes_of(d), PHRASE(GPU_SYNCS, per, n, steps)));
    assert_false(is_noted(notes_of(d), PHRASE(GPU_SYNCS_COST, slot_time(10000), slot_percent(0.01)))); /* only once */
    d = (struct run_device){.memory = {.n = 5,
                                       .peak_allocated = 80,
                                       .peak_reserved = 91,
                                       .has_growth = 1,
                                       .n_step_peaks = 10,
                                       .growth_bytes_per_step = 0.009},
                            .memory_total_bytes = 100};
    assert_true(is_noted(notes_of(d), PHRASE(MEMORY_PEAK, slot_name("GPU 0"), slot_name("91 %"))));
    assert_true(is_noted(notes_of(d), PHRASE(MEMORY_BY_DESIGN, slot_percent(0.85), slot_percent(0.95))));
    assert_false(is_noted(notes_of(d), PHRASE(GPU_GROWTH_OF_ALL)));
    d.memory.growth_bytes_per_step = 0.011;
    assert_true(is_noted(notes_of(d), PHRASE(GPU_MEMORY_GROWS, slot_bytes(0.011), steps)));
    assert_true(is_noted(notes_of(d), PHRASE(GPU_GROWTH_OF_ALL)));
    d.memory.n_step_peaks = 9; /* too few to judge */
    assert_false(is_noted(notes_of(d), PHRASE(GPU_GROWTH_OF_ALL)));
    d = (struct run_device){.tensor_ns = 20, .eligible_ns = 60};
    d.value[DEV_KERNEL_SUM] = 100;
    assert_true(is_noted(notes_of(d), PHRASE(GPU_TENSOR_CORES, slot_percent(1.0 / 3))));
    assert_true(is_noted(notes_of(d), PHRASE(GPU_WITHOUT_TENSOR_CORES, slot_percent(0.4))));
    d.value[DEV_KERNEL_SUM] = 201; /* under a fifth of it */
    assert_false(is_noted(notes_of(d), PHRASE(GPU_TENSOR_CORES, slot_percent(1.0 / 3))));
}

static struct accumulated accumulated_by(struct run *r)
{
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, &r, 1, &o, NULL), 0);
    struct accumulated a = rep.runs[0].accumulation;
    int is_said = 0;
    for (int i = 0; i < rep.runs[0].n_notes; i++)
        is_said |= rep.runs[0].notes[i].said[0].id == PHRASE_ACCUMULATED_STEP ||
                   rep.runs[0].notes[i].said[0].id == PHRASE_ACCUMULATED_OVER;
    assert_int_equal(is_said, a.micro_batches > 1);
    report_free(&rep);
    return a;
}

/* Traces of single ranks given one by one: each is named, except a rank's second file and other jobs. */
static void test_loose_ranks(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        int64_t rank, of;
    } given[] = {{"a", 2, 8}, {"b", 0, 8}, {"c", 2, 8}, {"d", 1, 4}, {"e", 5, 8}, {"f", 7, 8}};
    enum { N = sizeof given / sizeof *given };
    struct run *runs[N];
    struct foreign_trace t[N];
    for (int i = 0; i < N; i++) {
        t[i] = (struct foreign_trace){.file = "", .rank = given[i].rank, .world_size = given[i].of};
        runs[i] = made_even_run(1, 64, 40, 100, 0, 0, 0);
        runs[i]->archive = given[i].file;
        runs[i]->is_foreign = 1;
        runs[i]->traces = &t[i];
        runs[i]->n_traces = 1;
    }
    for (int n = N; n > 2; n -= 3) {
        struct report rep = {0};
        struct analyse_options o = made_options();
        const struct slot *said = NULL;
        assert_int_equal(analyse(&rep, runs, n, &o, NULL), 0);
        for (int i = 0; i < rep.n_notes; i++)
            said = rep.notes[i].id == NOTE_LOOSE_RANKS ? rep.notes[i].said[0].slot : said;
        assert_non_null(said);
        assert_string_equal(said[0].name, n == N ? "'a', 'b', 'e' and 'f'" : "'a' and 'b'");
        assert_string_equal(said[1].name, n == N ? "2, 0, 5 and 7" : "2 and 0");
        assert_int_equal(said[2].count, 8);
        report_free(&rep);
    }
    for (int i = 0; i < N; i++) {
        runs[i]->traces = NULL;
        runs[i]->n_traces = 0;
        run_free(runs[i]);
    }
}

/* From program.json; from 41 backward passes and 10 runs of the optimiser, the last step cut; or unknown. */
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
        cmocka_unit_test(test_device_notes),  cmocka_unit_test(test_accumulation), cmocka_unit_test(test_unlike),
        cmocka_unit_test(test_unlike_nodes),  cmocka_unit_test(test_surroundings), cmocka_unit_test(test_broke_off),
        cmocka_unit_test(test_other_caveats), cmocka_unit_test(test_loose_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
