/* test_shapes.c - work by shapes: hand-computed cases, the trainer's own counts, and how nested calls and kernels are
 * counted. */
#include "lib/base/arena.h"
#include "render/device/shapework.h"
#include "render/import/kineto/kineto_shapes.h"
#include "render/import/text/json_window.h"
#include "render/model/device_peaks.h"
#include "trainer/model/dcrnn.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static struct shape_work of(const char *name, const char *args)
{
    char text[1024 + WINDOW_PAD] = "";
    struct kineto_raw e = {.args = text, .args_end = text + strlen(args)};
    assert_true(strlen(args) < 1024);
    memcpy(text, args, strlen(args));
    struct shape_work w = {-1, -1, ""};
    kineto_work_of((struct kineto_text){name, strlen(name)}, &e, &w);
    return w;
}

static void is(const char *name, const char *args, int64_t flop, int64_t bytes, const char *format)
{
    struct shape_work w = of(name, args);
    print_message("%s %s\n", name, args);
    assert_int_equal(w.flop, flop);
    assert_int_equal(w.bytes, bytes);
    assert_string_equal(w.format, format);
}

static void test_products(void **state)
{
    (void)state;
    is("aten::mm", "{\"Input Dims\": [[2, 3], [3, 5]], \"Input type\": [\"float\", \"float\"]}", 2 * 2 * 3 * 5,
       4 * (6 + 15 + 10), "FP32");
    is("aten::addmm",
       "{\"Input type\": [\"c10::Half\", \"c10::Half\", \"c10::Half\", \"Scalar\", \"Scalar\"], \"Input Dims\": [[5], "
       "[2, 3], "
       "[3, 5], [], []]}",
       60, 2 * (5 + 6 + 15 + 10), "FP16");
    is("aten::bmm", "{\"Input Dims\": [[7, 2, 3], [7, 3, 5]], \"Input type\": [\"double\", \"double\"]}", 7 * 60,
       8 * 7 * 31, "FP64");
    is("aten::baddbmm",
       "{\"Input Dims\": [[7, 2, 5], [7, 2, 3], [7, 3, 5], [], []], \"Input type\": [\"float\", \"float\", \"float\"]}",
       7 * 60, 4 * 7 * (10 + 6 + 15 + 10), "FP32");
    is("aten::linear",
       "{\"Input Dims\": [[4, 2, 3], [5, 3], [5]], \"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\", "
       "\"c10::BFloat16\"]}",
       4 * 60, 2 * (24 + 15 + 5 + 40), "BF16");
    is("aten::linear", "{\"Input Dims\": [[2, 3], [5, 3], []]}", 60, -1, "");
}

static void test_convolutions(void **state)
{
    (void)state;
    /* 8 x 8, a border of 1, kernels of 3 x 3, every second position: 4 x 4. */
    is("aten::conv2d",
       "{\"Concrete Inputs\": [\"\", \"\", \"\", \"[2, 2]\", \"[1, 1]\", \"[1, 1]\", \"1\"], "
       "\"Input type\": [\"float\", \"float\", \"float\"], \"Input Dims\": [[2, 3, 8, 8], [6, 3, 3, 3], [6], [], [], "
       "[], []]}",
       2 * 2 * 16 * (6 * 3 * 9), 4 * (2 * 3 * 64 + 6 * 27 + 6 + 2 * 6 * 16), "FP32");
    /* Groups: a kernel sees one of three channels. One number for all dimensions. Reach of a dilated kernel: 5. */
    is("aten::conv1d",
       "{\"Concrete Inputs\": [\"\", \"\", \"\", \"[1]\", \"[0]\", \"[2]\", \"3\"], \"Input type\": [\"float\", "
       "\"float\"], "
       "\"Input Dims\": [[2, 3, 10], [6, 1, 3], [], [], [], [], []]}",
       2 * 2 * 6 * (6 * 1 * 3), 4 * (60 + 18 + 2 * 6 * 6), "FP32");
    is("aten::convolution_backward",
       "{\"Concrete Inputs\": [\"\", \"\", \"\", \"[0]\", \"[2, 2]\", \"[1, 1]\", \"[1, 1]\", \"False\", \"[0, 0]\", "
       "\"1\", "
       "\"[True, True, False]\"], \"Input type\": [\"float\", \"float\", \"float\"], "
       "\"Input Dims\": [[2, 6, 4, 4], [2, 3, 8, 8], [6, 3, 3, 3], [], [], [], [], [], [], [], []]}",
       2 * (2 * 2 * 16 * (6 * 3 * 9)), 4 * (2 * 6 * 16 + 2 * 3 * 64 + 162 + 2 * 3 * 64 + 162), "FP32");
    /* Without strides, or with a named border, it is unknown. */
    is("aten::conv2d", "{\"Input Dims\": [[2, 3, 8, 8], [6, 3, 3, 3], [6], [], [], [], []]}", -1, -1, "");
    is("aten::conv2d",
       "{\"Concrete Inputs\": [\"\", \"\", \"\", \"[2, 2]\", \"same\", \"[1, 1]\", \"1\"], \"Input Dims\": [[2, 3, 8, "
       "8], [6, 3, "
       "3, 3], [6], [], [], [], []]}",
       -1, -1, "");
}

/* Two images, four heads. */
static const char *attention(char args[512], const char *causal, int queries, int keys)
{
    snprintf(args, 512,
             "{\"Concrete Inputs\": [\"\", \"\", \"\", \"\", \"0.\", \"%s\", \"\", \"False\"], "
             "\"Input type\": [\"float\", \"float\", \"float\"], "
             "\"Input Dims\": [[2, 4, %d, 8], [2, 4, %d, 8], [2, 4, %d, 16], [], [], [], [], []]}",
             causal, queries, keys, keys);
    return args;
}

static void test_attention(void **state)
{
    (void)state;
    char args[512];
    const char *name = "aten::scaled_dot_product_attention";
    is(name, attention(args, "False", 5, 7), 2 * 8 * 5 * 7 * (8 + 16), 4 * 8 * (40 + 56 + 112 + 80), "FP32");
    assert_int_equal(of(name, attention(args, "True", 3, 3)).flop, 2 * 8 * (1 + 2 + 3) * 24);
    assert_int_equal(of(name, attention(args, "True", 5, 2)).flop, 2 * 8 * (1 + 2 + 2 + 2 + 2) * 24);
}

static void test_odd(void **state)
{
    (void)state;
    static const char *const odd[] = {"{}",
                                      "{\"Input Dims\": []}",
                                      "{\"Input Dims\": [[2, 3], [4, 5]]}",
                                      "{\"Input Dims\": [[2, 3]]}",
                                      "{\"Input Dims\": [[-2, 3], [3, 5]]}",
                                      "{\"Input Dims\": [[2, \"x\"], [3, 5]]}",
                                      "{\"Input Dims\": [[[2, 3]], [3, 5]]}",
                                      "{\"Input Dims\": [[2, 3], [3, 5",
                                      "{\"Input Dims\": [[4000000000, 4000000000], [4000000000, 4000000000]]}"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        assert_int_equal(of("aten::mm", odd[i]).flop, -1);
    static const char none[2 + WINDOW_PAD] = "{}";
    struct kineto_raw unshaped = {.args = none, .args_end = none + 2};
    struct shape_work w;
    assert_int_equal(kineto_work_of((struct kineto_text){"aten::mm", 8}, &unshaped, &w), 0);
    assert_true(shape_is_counted("aten::mm", 8));
    assert_false(shape_is_counted("aten::mm_out", 12));
    assert_false(shape_is_counted("aten::", 6));
}

/* The dense products of the trainer's cells, one by one as PyTorch would call them. */
static void test_trainer(void **state)
{
    (void)state;
    struct dcrnn_config c = dcrnn_config_default();
    int supports = 2;
    int64_t rows = 64 * (int64_t)c.n_sensors, terms = 1 + supports * c.k_hops, flop = 0;
    for (int half = 0; half < 2; half++)
        for (int t = 0; t < (half ? c.n_out : c.n_in); t++)
            for (int layer = 0; layer < c.n_layers; layer++)
                for (int gates = 1; gates <= 2; gates++) {
                    int64_t in = terms * ((layer ? c.n_units : half ? c.d_out : c.d_in) + c.n_units);
                    char args[256];
                    snprintf(args, sizeof args, "{\"Input Dims\": [[%lld, %lld], [%lld, %d]]}", (long long)rows,
                             (long long)in, (long long)in, gates * c.n_units);
                    flop += of("aten::mm", args).flop;
                }
    struct dcrnn_count own = dcrnn_count_step(&c, supports, 1722, 64);
    assert_true(own.dense_flop == 3.0 * (double)flop); /* the backward pass takes twice as many */
}

static void add(struct shape_log *l, int64_t thread, const char *name, int64_t flop, int64_t from, int64_t to)
{
    struct shape_work w = {flop, flop < 0 ? -1 : 10, flop < 0 ? "" : "FP32"};
    shape_log_add(l, thread, name, strlen(name), &w, from, to);
}

static void test_nesting(void **state)
{
    (void)state;
    struct dcr_arena arena = {0};
    struct run_kernel_counts *rows;
    int n;
    struct shape_log *l = shape_log_new();
    add(l, 1, "aten::addmm", 100, 12, 18); /* inside of linear, and before it in the file */
    add(l, 1, "aten::linear", 100, 10, 20);
    add(l, 2, "aten::mm", 40, 10, 20); /* another thread */
    add(l, 1, "aten::conv2d", -1, 30, 50);
    add(l, 1, "aten::convolution", 7, 31, 49); /* known, in one that is not */
    add(l, 1, "aten::mm", 40, 60, 70);
    add(l, 1, "aten::bmm", 0, 80, 90); /* nothing to do */
    shape_log_settle(l);
    shape_log_kernel(l, 1, 13, 1000);
    shape_log_kernel(l, 1, 14, 500);
    shape_log_kernel(l, 1, 20, 9); /* behind the call */
    shape_log_kernel(l, 1, 9, 9);
    shape_log_kernel(l, 1, 40, 300);
    shape_log_kernel(l, 2, 11, 70);
    assert_int_equal(shape_log_finish(l, 1, &arena, &rows, &n), 1);
    assert_int_equal(n, 3);
    assert_string_equal(rows[0].kernel, "aten::linear");
    assert_true(rows[0].ns == 1500 && rows[0].flop == 100 && rows[0].n == 1);
    assert_string_equal(rows[1].kernel, "aten::convolution");
    assert_true(rows[1].ns == 300 && rows[1].flop == 7);
    assert_string_equal(rows[2].kernel, "aten::mm"); /* one of its two calls launched nothing */
    assert_true(rows[2].ns < 0 && rows[2].flop == 80 && rows[2].n == 2);
    shape_log_free(l);
    dcr_arena_release(&arena);
}

static void test_peaks(void **state)
{
    (void)state;
    struct run_device device = {.model = "NVIDIA H100 80GB HBM3"};
    struct run_kernel_counts work[] = {{.format = "BF16"}, {.format = ""}};
    struct foreign_trace t = {.file = "t.json", .devices = &device, .n_devices = 1, .work = work, .n_work = 2};
    device_peaks_add(&t);
    assert_true(work[0].peak_flop_per_s == 989.4e12 && work[0].peak_bytes_per_s == 3.35e12);
    assert_int_equal(work[1].peak_flop_why.code, REASON_TYPES_UNTOLD);
    device.model = "NVIDIA A100-PG509-200";
    device_peaks_add(&t);
    assert_true(work[0].peak_flop_per_s == 312e12 && work[0].peak_bytes_per_s == 1.555e12);
    device.model = "NVIDIA H100"; /* the form is unknown */
    device_peaks_add(&t);
    assert_int_equal(work[0].peak_flop_why.code, REASON_PEAK_UNLISTED);
    t.n_devices = 0;
    device_peaks_add(&t);
    assert_int_equal(work[0].peak_bytes_why.code, REASON_PEAK_OF_HOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products),  cmocka_unit_test(test_convolutions),
                                       cmocka_unit_test(test_attention), cmocka_unit_test(test_odd),
                                       cmocka_unit_test(test_trainer),   cmocka_unit_test(test_nesting),
                                       cmocka_unit_test(test_peaks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
