/* test_step_ranges.c - named ranges inside steps: their time on the host and on the GPUs (render/device/stepranges.c),
 * through the importers too. Numbers by hand. */
#include "render/device/stepranges.h"

#include "tests/unit/kineto_text.h"

#include <sqlite3.h>
#include <unistd.h>

static struct reduced steps; /* of the last one */

static void launch(struct activity *a, int64_t correlation, int64_t launch_ns, int64_t start, int64_t dur)
{
    struct device_op op = {.start_ns = start,
                           .dur_ns = dur,
                           .name = "k",
                           .name_len = 1,
                           .correlation = correlation,
                           .blocks_per_sm = -1,
                           .occupancy_ratio = -1};
    assert_int_equal(activity_op(a, &op), 0);
    activity_call(a, CALL_LAUNCH, correlation, launch_ns, 1);
}

static void range(struct activity *a, const char *name, int64_t start, int64_t dur)
{
    activity_phase(a, name, strlen(name), start, dur);
}

static void finish(struct activity *a, struct dcr_arena *arena)
{
    struct run_device *d;
    struct dcr_err e = {0};
    int n;
    assert_int_equal(activity_finish(a, arena, &d, &n, &steps, &e), 0);
    activity_free(a);
}

static const struct run_phase *phase(const char *name)
{
    for (int i = 0; i < steps.n_phases; i++)
        if (strcmp(steps.phases[i].name, name) == 0)
            return &steps.phases[i];
    fail_msg("no phase '%s'", name);
    return NULL;
}

/* Steps [0,1000) and [1000,2000). In the first forward [100,300) launches at 110 and 290 what runs [150,200) and
 * [350,400): 200 on the host, 250 on the GPU. The part of it inside, [280,300), launches the second alone: 50. */
static void test_nested(void **state)
{
    (void)state;
    struct dcr_arena arena = {0};
    struct activity *a = activity_new(0);
    activity_step(a, 1, 0, 1000);
    activity_step(a, 2, 1000, 1000);
    range(a, "inner", 280, 20);
    range(a, "## forward ##", 100, 200);
    range(a, "epoch", -50, 3000);        /* begins in no step */
    range(a, "late", 1900, 500);         /* the step ends before */
    range(a, "idle", 600, 100);          /* nothing is launched */
    range(a, "## forward ##", 1100, 50); /* twice in the second, from two threads, which share [1120,1150) */
    range(a, "## forward ##", 1120, 80);
    launch(a, 1, 110, 150, 50);
    launch(a, 2, 290, 350, 50);
    launch(a, 6, 1500, 1600, 10);  /* in none; the last step launches as many as the first and is whole */
    launch(a, 3, 300, 500, 10);    /* after both */
    launch(a, 4, 1105, 1110, 100); /* in the one: [1110,1210) */
    launch(a, 5, 1160, 1180, 100); /* in the other, which it is cut from: [1210,1280) */
    finish(a, &arena);
    assert_int_equal(steps.n_steps, 2);
    assert_int_equal(steps.n_phases, 4);
    assert_string_equal(steps.phases[0].name, "## forward ##"); /* in order of appearance */
    assert_string_equal(steps.phases[1].name, "inner");
    const struct run_phase *p = phase("## forward ##");
    assert_int_equal(p->category, CAT_COMPUTE);
    assert_true(p->is_whole);
    assert_int_equal(p->ns[0], 200);
    assert_int_equal(p->gpu_ns[0], 250);
    assert_int_equal(p->ns[1], 100);
    assert_int_equal(p->gpu_ns[1], 170);
    assert_int_equal(phase("inner")->category, N_CATEGORIES);
    assert_int_equal(phase("inner")->ns[0], 20);
    assert_int_equal(phase("inner")->gpu_ns[0], 50);
    assert_int_equal(phase("late")->ns[1], 100);
    assert_int_equal(phase("idle")->ns[0], 100);
    assert_null(phase("idle")->gpu_ns);
    assert_int_equal(phase("idle")->gpu_why, REASON_NOTHING_LAUNCHED);
    dcr_arena_release(&arena);
}

/* As many as go through the temporary file, back to front: in each of 3000 steps of 100 ns one of 40 names, of which
 * the 32 longest are kept. Range i of its step takes 10 + name ns, and its operation 2 ns, launched at its begin. */
static void test_spilled(void **state)
{
    (void)state;
    enum { N = 3000, NAMES = 40 };
    struct dcr_arena arena = {0};
    struct activity *a = activity_new(1);
    char name[16];
    for (int i = N; i-- > 0;) {
        activity_step(a, i, 100 * i, 100);
        snprintf(name, sizeof name, "r%d", i % NAMES);
        range(a, name, 100 * i + 10, 10 + i % NAMES);
        launch(a, i, 100 * i + 10, 100 * i + 20, 2);
    }
    finish(a, &arena);
    assert_int_equal(steps.n_steps, N);
    assert_int_equal(steps.n_phases, RUN_MAX_PHASES);
    assert_string_equal(steps.phases[0].name, "r8");
    assert_string_equal(steps.phases[31].name, "r39");
    for (int i = 0; i < N; i++)
        for (int k = 0; k < RUN_MAX_PHASES; k++) {
            int is_in = i % NAMES == k + NAMES - RUN_MAX_PHASES;
            assert_int_equal(steps.phases[k].ns[i], is_in ? 10 + i % NAMES : 0);
            assert_int_equal(steps.phases[k].gpu_ns[i], is_in ? 2 : 0);
        }
    dcr_arena_release(&arena);
}

/* Reasons for no time on a GPU: no GPU, no launches, too many ranges at once. Host times are there. */
static void test_no_gpu(void **state)
{
    (void)state;
    for (int turn = 0; turn < 3; turn++) {
        struct dcr_arena arena = {0};
        struct activity *a = activity_new(0);
        activity_step(a, 1, 0, 1000);
        for (int i = 0; i < (turn == 2 ? 300 : 1); i++)
            range(a, "forward", 10 + i, 500);
        if (turn == 1)
            assert_int_equal(activity_op(a, &(struct device_op){.start_ns = 20,
                                                                .dur_ns = 5,
                                                                .name = "k",
                                                                .name_len = 1,
                                                                .correlation = 1,
                                                                .blocks_per_sm = -1,
                                                                .occupancy_ratio = -1}),
                             0);
        else if (turn == 2)
            launch(a, 1, 400, 450, 10);
        finish(a, &arena);
        static const int why[] = {REASON_TRACE_WITHOUT_GPU, REASON_NO_LAUNCHES, REASON_RANGES_AT_ONCE};
        assert_int_equal(steps.n_phases, 1);
        assert_int_equal(steps.phases[0].ns[0], turn == 2 ? 799 : 500);
        assert_null(steps.phases[0].gpu_ns);
        assert_int_equal(steps.phases[0].gpu_why, why[turn]);
        dcr_arena_release(&arena);
    }
}

static void test_categories(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum category want;
    } names[] = {{"## backward ##", CAT_COMPUTE},
                 {"Optimizer.step#Adam.step", CAT_COMPUTE},
                 {"Optimizer.zero_grad#SGD.zero_grad", CAT_COMPUTE},
                 {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", CAT_DATA},
                 {"data_load", CAT_DATA},
                 {"nccl:all_reduce", CAT_COMM},
                 {"checkpoint", CAT_IO},
                 {"## wait() ##", N_CATEGORIES},
                 {"## ##", N_CATEGORIES},
                 {"", N_CATEGORIES}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(step_range_category(names[i].name), names[i].want);
}

#define X_(cat, name, ts, dur)                                                                               \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" ts ",\"dur\":" dur \
    ",\"args\":{\"correlation\":1,\"device\":0}}"

/* Annotations, and ranges that old versions write as operators; not operators, nor the GPU's copies of annotations. */
static void test_kineto(void **state)
{
    (void)state;
    assert_int_equal(import_text("[" X_("user_annotation", "ProfilerStep#1", "0", "100") "," X_(
                         "user_annotation", "## forward ##", "10",
                         "20") "," X_("gpu_user_annotation", "## twin ##", "10",
                                      "20") "," X_("Operator", "Optimizer.step#SGD.step", "50",
                                                   "10") "," X_("cpu_op", "aten::add", "10",
                                                                "5") "," X_("cuda_runtime", "cudaLaunchKernel", "12",
                                                                            "1") "," X_("kernel", "k", "20", "30") "]"),
                     0);
    const struct reduced *r = &run->traces[0].steps;
    assert_int_equal(r->n_steps, 1);
    assert_int_equal(r->n_phases, 2);
    assert_string_equal(r->phases[0].name, "## forward ##");
    assert_int_equal(r->phases[0].ns[0], 20000);
    assert_int_equal(r->phases[0].gpu_ns[0], 30000);
    assert_string_equal(r->phases[1].name, "Optimizer.step#SGD.step");
    assert_null(r->phases[1].gpu_ns);
}

static ssize_t file_read(void *ctx, void *out, size_t n, struct dcr_err *e)
{
    (void)e;
    return (ssize_t)fread(out, 1, n, ctx);
}

/* NVTX ranges of nsys: of the thread and of the process; those that mark steps are no phases. */
static void test_nsys(void **state)
{
    (void)state;
    char path[] = "test_ranges-XXXXXX";
    int fd = mkstemp(path);
    sqlite3 *db;
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(
            db,
            "CREATE TABLE NVTX_EVENTS(start, end, text, globalTid, eventType);"
            "INSERT INTO NVTX_EVENTS VALUES(0,1000,'step 0',16777217,59),(100,300,'forward',16777217,59),"
            "(350,450,'bucket',16777217,60);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, correlationId, globalTid, nameId);"
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(110,115,1,16777217,NULL),(360,365,2,16777217,NULL);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, correlationId, globalPid);"
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(200,320,0,1,16777216),(400,700,0,2,16777216);",
            NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    run_free(run);
    run = run_new("t");
    FILE *f = fopen(path, "rb");
    unlink(path);
    assert_non_null(f);
    struct dcr_stream s = {file_read, f, "raw"};
    assert_int_equal(import_foreign(run, "t.sqlite", &s, &err), 0);
    fclose(f);
    const struct reduced *r = &run->traces[0].steps;
    assert_int_equal(r->n_phases, 2);
    assert_string_equal(r->phases[0].name, "forward");
    assert_int_equal(r->phases[0].ns[0], 200);
    assert_int_equal(r->phases[0].gpu_ns[0], 120);
    assert_string_equal(r->phases[1].name, "bucket");
    assert_int_equal(r->phases[1].ns[0], 100);
    assert_int_equal(r->phases[1].gpu_ns[0], 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nested),
                                       cmocka_unit_test(test_spilled),
                                       cmocka_unit_test(test_no_gpu),
                                       cmocka_unit_test(test_categories),
                                       cmocka_unit_test_teardown(test_kineto, forget),
                                       cmocka_unit_test_teardown(test_nsys, forget)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
