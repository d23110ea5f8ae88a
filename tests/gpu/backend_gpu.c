/* backend_gpu.c - the CUDA back end on a device against the CPU's, over random shapes and at the published size, and
 * how far tf32 and bf16 are from fp32. The cases are those of tests/unit/test_backend_cuda.c. Exit status 0 passed, 1
 * failed, 77 skipped (no device, or built without CUDA). */
#include "tests/gpu/backend_cases.h"
#include "tests/gpu/find_library.h"
#include "trainer/gpu/device.h"

#include <stdio.h>
#include <string.h>

enum { SKIPPED = 77, SHAPES = 40, STEPS_SHAPES = 20 };

/* Major compute capability of the tested device, or 0. */
static int capability_major(void)
{
    const struct gpu_api *api = NULL;
    struct gpu_description d;
    struct dcr_err err = {0};
    if (gpu_library_open(&api, &err) || api->describe(0, &d, &err)) {
        printf("skipped: %s\n", err.text);
        return 0;
    }
    printf("# %s, compute capability %d.%d%s\n", d.name, d.major, d.minor,
           d.is_emulated ? ", EMULATED: this is not the test of a device" : "");
    return d.major;
}

static struct backend_case published(int n_sensors, int batch)
{
    return (struct backend_case){.n_sensors = n_sensors,
                                 .n_units = 64,
                                 .n_layers = 2,
                                 .n_in = 12,
                                 .n_out = 12,
                                 .d_in = 2,
                                 .d_out = 1,
                                 .k_hops = 2,
                                 .filter = GRAPH_DUAL_RANDOM_WALK,
                                 .max_batch = batch,
                                 .batch = batch,
                                 .missing = 0.1,
                                 .has_coins = 1,
                                 .use_graph = 1,
                                 .seed = 11};
}

static int report_precision(struct backend_case c, enum backend_precision precision, const char *name)
{
    double prediction = -1, gradient = -1;
    c.precision = precision;
    int failed = backend_case_precision(&c, &prediction, &gradient);
    printf("# %s against fp32, N %d, B %d: predictions %.1e, gradient %.1e\n", name, c.n_sensors, c.batch, prediction,
           gradient);
    return failed || !(prediction < 5e-2) || !(gradient < 2e-1);
}

int main(void)
{
    int failed = 0;
    find_library();
    const int major = capability_major();
    if (!major)
        return SKIPPED;
    for (uint64_t seed = 1; seed <= SHAPES; seed++) {
        struct backend_case c = backend_case_draw(seed);
        failed += backend_case_pieces(&c);
    }
    printf("# %d shapes, call by call: %d comparisons failed\n", SHAPES, failed);
    for (uint64_t seed = 1001; seed <= 1000 + STEPS_SHAPES; seed++) {
        struct backend_case c = backend_case_draw(seed);
        failed += backend_case_steps(&c, 6);
    }
    printf("# %d shapes, whole steps: %d comparisons failed in all\n", STEPS_SHAPES, failed);
    struct backend_case metr_la = published(207, 16), large = published(6000, 1); /* beyond shared memory */
    failed += backend_case_pieces(&metr_la) + backend_case_steps(&metr_la, 3);
    large.n_in = large.n_out = 3;
    failed += backend_case_pieces(&large);
    printf("# the published size, and 6000 sensors: %d comparisons failed in all\n", failed);
    if (major >= 8) {
        failed += report_precision(metr_la, BACKEND_TF32, "tf32");
        failed += report_precision(metr_la, BACKEND_BF16, "bf16");
    } else {
        printf("# skipped: tf32 and bf16 need compute capability 8.0\n");
    }
    return failed ? 1 : 0;
}
