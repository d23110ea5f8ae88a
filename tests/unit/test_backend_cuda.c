/* test_backend_cuda.c - the CUDA back end against the CPU's, under the emulator (tests/gpu/emulator). Results are
 * independent of the order in which a device works. There are messages when there is no device, no memory, or a
 * failing device. The same cases run on a device in tests/gpu/backend_gpu.c. */
#include "tests/gpu/backend_cases.h"
#include "tests/gpu/emulator/emulator.h"
#include "tests/lib/under_asan.h"
#include "trainer/gpu/device.h"

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* The sanitized build takes several times as long for the same work. */
#ifdef UNDER_ASAN
enum { SHAPES = 5, STEPS_SHAPES = 3, STRIDE = 7 };
#else
enum { SHAPES = 14, STEPS_SHAPES = 8, STRIDE = 1 };
#endif

static struct emulator_settings *settings, defaults;
static struct emulator_counts (*count)(void);

/* The emulated device library is beside the tests: build/tests/unit/.., build/tests/lib/.. */
static int open_emulator(void **state)
{
    (void)state;
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
    assert_true(n > 0);
    path[n] = '\0';
    *strrchr(path, '/') = '\0';
    strncat(path, "/../lib/libdcrnn-emulated.so", 63);
    setenv("DCRNN_CUDA_LIBRARY", path, 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    settings = dlsym(library, "emulator_settings");
    void *symbol = dlsym(library, "emulator_count");
    assert_non_null(settings);
    assert_non_null(symbol);
    memcpy(&count, &symbol, sizeof count);
    defaults = *settings;
    return 0;
}

static int reset(void **state)
{
    (void)state;
    *settings = defaults;
    return 0;
}

/* ---- results ------------------------------------------------------------------------------------------------------
 */

static void test_calls_agree_with_the_cpu(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SHAPES; seed++) {
        struct backend_case c = backend_case_draw(seed);
        settings->seed = seed % 5;
        assert_int_equal(backend_case_pieces(&c), 0);
    }
}

static void test_whole_steps_agree_with_the_cpu(void **state)
{
    (void)state;
    for (uint64_t seed = 101; seed <= 100 + STEPS_SHAPES; seed++) {
        struct backend_case c = backend_case_draw(seed);
        settings->seed = seed % 5;
        assert_int_equal(backend_case_steps(&c, 5), 0);
    }
}

/* Then diffusion goes through device memory. */
static void test_graphs_too_large_for_shared_memory(void **state)
{
    (void)state;
    settings->shared_bytes = 256;
    for (uint64_t seed = 201; seed <= 204; seed++) {
        struct backend_case c = backend_case_draw(seed);
        settings->seed = seed % 5;
        assert_int_equal(backend_case_pieces(&c), 0);
        assert_int_equal(backend_case_steps(&c, 2), 0);
    }
}

/* One sensor, one unit, hardly any edge; and the published sizes except the numbers of sensors and batches. */
static void test_extreme_shapes(void **state)
{
    (void)state;
    struct backend_case small = {.n_sensors = 1,
                                 .n_units = 1,
                                 .n_layers = 1,
                                 .n_in = 1,
                                 .n_out = 1,
                                 .d_in = 1,
                                 .d_out = 1,
                                 .k_hops = 1,
                                 .filter = GRAPH_DUAL_RANDOM_WALK,
                                 .max_batch = 1,
                                 .batch = 1,
                                 .use_graph = 1,
                                 .seed = 1};
    struct backend_case published = {.n_sensors = 20,
                                     .n_units = 64,
                                     .n_layers = 2,
                                     .n_in = 12,
                                     .n_out = 12,
                                     .d_in = 2,
                                     .d_out = 1,
                                     .k_hops = 2,
                                     .filter = GRAPH_DUAL_RANDOM_WALK,
                                     .max_batch = 2,
                                     .batch = 2,
                                     .missing = 0.1,
                                     .has_coins = 1,
                                     .use_graph = 1,
                                     .seed = 2};
    settings->seed = 3;
    assert_int_equal(backend_case_pieces(&small), 0);
    assert_int_equal(backend_case_steps(&small, 3), 0);
    assert_int_equal(backend_case_pieces(&published), 0);
}

/* The emulator rounds like tensor cores, so the results must differ from fp32, but only by that much. */
static void test_precisions(void **state)
{
    (void)state;
    for (uint64_t seed = 301; seed <= 304; seed++) {
        double prediction = -1, gradient = -1;
        struct backend_case c = backend_case_draw(seed);
        c.precision = BACKEND_TF32;
        assert_int_equal(backend_case_precision(&c, &prediction, &gradient), 0);
        assert_true(prediction > 1e-7 && prediction < 5e-3 && gradient > 1e-7 && gradient < 2e-2);
        c.precision = BACKEND_BF16;
        assert_int_equal(backend_case_precision(&c, &prediction, &gradient), 0);
        assert_true(prediction > 1e-5 && prediction < 5e-2 && gradient > 1e-5 && gradient < 2e-1);
        c.use_graph = 1;
        assert_int_equal(backend_case_precision(&c, &prediction, &gradient), 0);
    }
}

static void gradient_of(uint64_t order, int use_graph, float **out, size_t *n)
{
    struct backend_case c = backend_case_draw(7);
    settings->seed = order;
    c.use_graph = use_graph;
    struct backend *be = backend_case_open(&c, 1);
    assert_non_null(be);
    size_t n_x = (size_t)(c.n_in * c.batch * c.n_sensors * c.d_in),
           n_y = (size_t)(c.n_out * c.batch * c.n_sensors * c.d_out);
    float *x = calloc(n_x, sizeof *x), *y = calloc(n_y, sizeof *y);
    double tally[2];
    struct dcr_err err = {0};
    for (size_t i = 0; i < n_x; i++)
        x[i] = (float)(i % 13) / 7;
    for (size_t i = 0; i < n_y; i++)
        y[i] = (float)(i % 17) + 1;
    const struct backend_batch batch = {.n = c.batch, .x = x, .truth_z = y, .raw = y};
    struct backend_step s = {
        .batch = &batch, .is_first = 1, .is_last = 1, .lr = 0.01, .clip = 5, .tally = tally, .n_tally = 2};
    assert_int_equal(be->whole_step(be, &s, &err), 0);
    be->fetch(be);
    *n = be->n_params;
    *out = calloc(*n, sizeof **out);
    memcpy(*out, be->grads, *n * sizeof **out);
    free(x);
    free(y);
    be->free(be);
}

/* The same bits in any order of the device's work, with or without a recorded step. */
static void test_results_do_not_depend_on_the_order_of_work(void **state)
{
    (void)state;
    float *first = NULL, *other = NULL;
    size_t n = 0, m = 0;
    gradient_of(0, 0, &first, &n);
    for (uint64_t order = 1; order < 6; order++) {
        gradient_of(order, (int)(order % 2), &other, &m);
        assert_int_equal(n, m);
        assert_memory_equal(first, other, n * sizeof *first);
        free(other);
    }
    free(first);
}

/* ---- failures
 * ------------------------------------------------------------------------------------------------------- */

/* A child opens a back end and takes a step; returns its exit status and its output. */
static int status_of_child(char *said, size_t size)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct backend_case c = backend_case_draw(3);
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[0]);
        int failed = backend_case_steps(&c, 2); /* a failing call ends the program, or returns */
        fflush(NULL);
        _exit(failed ? 10 : 0);
    }
    close(ends[1]);
    size_t n = 0;
    ssize_t got;
    while ((got = read(ends[0], said + n, size - 1 - n)) > 0)
        n += (size_t)got;
    said[n] = '\0';
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void expect_sentence(const char *part)
{
    char said[4096];
    int status = status_of_child(said, sizeof said);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 10 || !strstr(said, part))
        fail_msg("status %d, said '%s'", status, said);
}

static void test_without_a_device_it_says_why(void **state)
{
    (void)state;
    settings->driver = 0;
    expect_sentence("this machine has no NVIDIA driver; use --backend cpu");
    settings->driver = 12040;
    expect_sentence("the NVIDIA driver here is for CUDA 12.4, this program needs 13.0; update it or use --backend cpu");
    *settings = defaults;
    settings->n_devices = 0;
    expect_sentence("there is no CUDA device (CUDA_VISIBLE_DEVICES may hide it); use --backend cpu");
    *settings = defaults;
    settings->major = 7;
    settings->minor = 0;
    expect_sentence("has compute capability 7.0, at least 7.5 is needed; use --backend cpu");
    *settings = defaults;
    settings->memory_bytes = (8 << 20) + 65536; /* the workspaces and little more */
    expect_sentence("GB of device memory, a CPU that emulates a GPU has 0.01 GB free; use a smaller --batch");
}

static void test_without_the_library_it_says_why(void **state)
{
    (void)state;
    char *path = strdup(getenv("DCRNN_CUDA_LIBRARY"));
    setenv("DCRNN_CUDA_LIBRARY", "/nowhere/libdcrnn-cuda.so", 1);
    expect_sentence("there is no CUDA part '/nowhere/libdcrnn-cuda.so' (No such file or directory); build with nvcc");
    setenv("DCRNN_CUDA_LIBRARY", "/proc/self/status", 1);
    expect_sentence("cannot load the CUDA part: ");
    setenv("DCRNN_CUDA_LIBRARY", path, 1);
    free(path);
}

/* Every call during creation fails once: creation returns with a sentence, and everything is released. */
static void test_creation_that_fails_gives_everything_back(void **state)
{
    (void)state;
    struct backend_case c = backend_case_draw(3);
    int n_failed = 0;
    for (int64_t k = 1;; k += STRIDE) {
        settings->fail_call = count().n_calls + k;
        int64_t live = count().n_live;
        fflush(stdout);
        int keep = dup(1); /* sentences, one each */
        assert_non_null(freopen("/dev/null", "w", stdout));
        pid_t child = fork(); /* init, which cannot return a failure, ends the program */
        assert_true(child >= 0);
        if (child == 0) {
            struct backend *be = backend_case_open(&c, 1);
            if (be)
                be->free(be);
            _exit(!be && count().n_live == live ? 3 : be ? 4 : 5);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        fflush(stdout);
        dup2(keep, 1);
        close(keep);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 4) /* the failing call came after creation */
            break;
        assert_true(WEXITSTATUS(status) == 3 || WEXITSTATUS(status) == DCR_EXIT_INPUT);
        n_failed++;
    }
    assert_true(n_failed > 100 / STRIDE);
}

/* Work on the device that fails in the middle of steps. */
static void test_device_that_fails_later(void **state)
{
    (void)state;
    char said[4096];
    for (int64_t at = 5; at < 1500; at += 97) {
        settings->fail_work = at;
        int status = status_of_child(said, sizeof said);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 0)
            continue; /* the case has less work than that */
        assert_true(WEXITSTATUS(status) == 10 || WEXITSTATUS(status) == DCR_EXIT_INPUT);
        if (!strstr(said, "CUDA: ") || !strstr(said, "unspecified launch failure"))
            fail_msg("said '%s'", said);
    }
}

static void test_batches_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct backend_case c = backend_case_draw(5);
    struct backend *be = backend_case_open(&c, 1);
    assert_non_null(be);
    double tally[2] = {0};
    struct dcr_err err = {0};
    const struct backend_batch batch = {.n = c.max_batch + 1};
    struct backend_step s = {.batch = &batch, .is_first = 1, .is_last = 1, .tally = tally, .n_tally = 2};
    assert_int_equal(be->whole_step(be, &s, &err), DCR_FAIL);
    assert_non_null(strstr(err.text, "samples was given to a model for at most"));
    be->free(be);
}

static void test_nothing_is_left_behind(void **state)
{
    (void)state;
    assert_int_equal(count().n_live, 0);
    assert_true(count().n_kernels > 1000 && count().n_products > 1000 && count().n_graphs > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_calls_agree_with_the_cpu, reset),
        cmocka_unit_test_setup(test_whole_steps_agree_with_the_cpu, reset),
        cmocka_unit_test_setup(test_graphs_too_large_for_shared_memory, reset),
        cmocka_unit_test_setup(test_extreme_shapes, reset),
        cmocka_unit_test_setup(test_precisions, reset),
        cmocka_unit_test_setup(test_results_do_not_depend_on_the_order_of_work, reset),
        cmocka_unit_test_setup(test_without_a_device_it_says_why, reset),
        cmocka_unit_test_setup(test_without_the_library_it_says_why, reset),
        cmocka_unit_test_setup(test_creation_that_fails_gives_everything_back, reset),
        cmocka_unit_test_setup(test_device_that_fails_later, reset),
        cmocka_unit_test_setup(test_batches_that_do_not_fit_are_refused, reset),
        cmocka_unit_test_setup(test_nothing_is_left_behind, reset),
    };
    return cmocka_run_group_tests(tests, open_emulator, NULL);
}
