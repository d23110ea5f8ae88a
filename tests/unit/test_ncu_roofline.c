/* test_ncu_roofline.c - kernels under their roofline by counters of ncu (render/import/ncu/ncu_counters.c,
 * render/metrics/kernel_roofline.c). All numbers by hand. */
#include "render/metrics/kernel_roofline.h"
#include "render/import/ncu/ncu_counters.h"
#include "tests/unit/import_text.h"
#include "tests/unit/gaps.h"

#include <math.h>

#define FP32(op) "sm__sass_thread_inst_executed_op_" op "_pred_on"
#define DETAILS "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
#define ROW(id, metric, unit, value) "\"" id "\",\"k\",\"" metric "\",\"" unit "\",\"" value "\"\n"

static struct kernel_roofline roofline;

/* The only kernel of the text. */
static const struct run_kernel_counts *counts_of(const char *text)
{
    struct thresholds t = thresholds_default();
    assert_int_equal(import_named("ncu.csv", text), 0);
    assert_int_equal(run->n_kernels, 1);
    roofline = kernel_roofline_of(&run->kernels[0], &t);
    return &run->kernels[0];
}

static void check(double got, double want)
{
    assert_true(fabs(got - want) <= 1e-9 * fabs(want));
}

/* 2 x (1 + 2 + 2 x 8.5) million operations in 10 + 30 us; 5 + 15 MB. Peaks: 4096 x 2 a cycle at 1.25 GHz, 512 bytes a
 * cycle at 1.5 GHz: 10.24 TFLOP/s and 768 GB/s, which meet at 13.3 operations a byte. */
static void sums_and_peaks(void **state)
{
    (void)state;
    const struct run_kernel_counts *k = counts_of(
        "\"ID\",\"Kernel Name\",\"Grid Size\",\"dram__bytes.sum\",\"dram__bytes.sum.peak_sustained\","
        "\"dram__cycles_elapsed.avg.per_second\",\"gpu__time_duration.sum\",\"sm__cycles_elapsed.avg.per_second\"," //
        "\"" FP32("fadd") ".sum\",\"" FP32("fmul") ".sum\",\"" FP32("ffma") ".sum\",\"" FP32("ffma")                //
        ".sum.peak_sustained\"\n"
        "\"\",\"\",\"\",\"Mbyte\",\"byte/cycle\",\"cycle/nsecond\",\"usecond\",\"Ghz\",\"inst\",\"inst\",\"inst\","
        "\"inst/cycle\"\n"
        "\"0\",\"k\",\"(8, 1, "
        "1)\",\"5\",\"512\",\"1.5\",\"10\",\"1.25\",\"1,000,000\",\"2,000,000\",\"8,500,000\",\"4,096\"\n"
        "\"1\",\"k\",\"(8, 1, "
        "1)\",\"15\",\"512\",\"1.5\",\"30\",\"1.25\",\"1,000,000\",\"2,000,000\",\"8,500,000\",\"4,096\"\n");
    assert_int_equal(k->n, 2);
    check(k->ns, 40e3);
    check(k->flop, 40e6);
    check(k->bytes, 20e6);
    assert_string_equal(k->counted, "FP32");
    assert_string_equal(k->missing, "");
    assert_string_equal(k->peak_flop_source, "ncu: most in a cycle x clock");
    check(k->peak_flop_per_s, 10.24e12);
    check(k->peak_bytes_per_s, 768e9);
    check(roofline.intensity, 2);
    check(roofline.flop_per_s, 1e12);
    check(roofline.bytes_per_s, 0.5e12);
    check(roofline.ridge, 10.24e12 / 768e9);
    check(roofline.attainable_flop_per_s, 2 * 768e9);
    check(roofline.bytes_ratio, 500.0 / 768);
    assert_int_equal(roofline.bound, BOUND_MEMORY);
    assert_int_equal(run->n_gaps, 0);
}

/* 2 x 50 million in 10 us are 80 % of 12.5 TFLOP/s; 1 MB in it, at 10 % of the memory's busiest part, 1 TB/s. */
static void shares_of_peaks(void **state)
{
    (void)state;
    const struct run_kernel_counts *k = counts_of(
        DETAILS ROW("0", "gpu__time_duration.sum", "us", "10") ROW("0", FP32("ffma") ".sum", "inst", "50,000,000")
            ROW("0", FP32("ffma") ".sum.pct_of_peak_sustained_elapsed", "%", "80")
                ROW("0", "dram__bytes.sum", "Mbyte", "1")
                    ROW("0", "dram__throughput.avg.pct_of_peak_sustained_elapsed", "%", "10.00"));
    check(k->flop, 100e6);
    assert_string_equal(k->missing, "fadd, fmul"); /* a lower bound */
    check(k->peak_flop_per_s, 12.5e12);
    check(k->peak_bytes_per_s, 1e12);
    assert_string_equal(k->peak_flop_source, "ncu: achieved / its share of the peak");
    assert_true(strncmp(k->peak_bytes_source, "ncu: achieved / DRAM throughput", 31) == 0);
    check(roofline.intensity, 100);
    check(roofline.ridge, 12.5);
    check(roofline.flop_ratio, 0.8);
    check(roofline.attainable_flop_per_s, 12.5e12);
    assert_int_equal(roofline.bound, BOUND_COMPUTE);
}

/* As ncu's own section for rooflines counts: (100 + 50 + 300) a cycle, 10,000 cycles of 1 GHz; 450 GB/s for 10 us. */
static void rates(void **state)
{
    (void)state;
#define SMSP(op) "smsp__sass_thread_inst_executed_op_" op "_pred_on"
#define RATES                                                                            \
    DETAILS ROW("0", "Duration", "ns", "10,000.0")                                       \
        ROW("0", "smsp__cycles_elapsed.avg.per_second", "cycle/second", "1,000,000,000") \
            ROW("0", SMSP("fadd") ".sum.per_cycle_elapsed", "inst/cycle", "100")         \
                ROW("0", SMSP("fmul") ".sum.per_cycle_elapsed", "inst/cycle", "50")      \
                    ROW("0", "derived__" SMSP("ffma") "_x2", "inst", "300")              \
                        ROW("0", "derived__" FP32("ffma") "_x2", "inst", "10,000")       \
                            ROW("0", "Memory Throughput", "%", "45")                     \
                                ROW("0", "Memory Throughput", "Gbyte/second", "450")     \
                                    ROW("0", "dram__bytes.sum.pct_of_peak_sustained_elapsed", "%", "45")
    const struct run_kernel_counts *k = counts_of(RATES);
    check(k->flop, 4.5e6);
    check(k->bytes, 4.5e6);
    check(k->peak_flop_per_s, 1e13);
    check(k->peak_bytes_per_s, 1e12);
    check(roofline.intensity, 1);
    assert_int_equal(roofline.bound, BOUND_LATENCY); /* 45 % of the lower roof */
    /* Of FP16 an instruction works on two values, of tensor cores operations are counted themselves: 2 + 2 + 4 x 2 and
     * 30 of one source, by result and in all. */
    k = counts_of(RATES ROW("0", SMSP("hadd") ".sum", "inst", "1") ROW("0", SMSP("hmul") ".sum", "inst", "1")
                      ROW("0", SMSP("hfma") ".sum", "inst", "2") ROW("0", "sm__ops_path_tensor_src_fp16.sum", "", "30")
                          ROW("0", "sm__ops_path_tensor_src_fp16_dst_fp16.sum", "", "10")
                              ROW("0", "sm__ops_path_tensor_src_fp16_dst_fp32.sum", "", "20"));
    check(k->flop, 4.5e6 + 2 + 2 + 8 + 30);
    assert_string_equal(k->counted, "FP32, FP16, tensor cores");
    assert_string_equal(k->format, "FP32");
}

/* What one instruction of a counter is worth, for other tools that record the same counters. */
static void worth_of_a_counter(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        double flop;
    } want[] = {{"dadd", 1}, {"dfma", 2}, {"fmul", 1}, {"ffma", 2}, {"hadd", 2}, {"hmul", 2}, {"hfma", 4}, {"imul", 0}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        char name[80];
        snprintf(name, sizeof name, "smsp__sass_thread_inst_executed_op_%s_pred_on.sum", want[i].op);
        check(ncu_flop_of(name), want[i].flop);
    }
    check(ncu_flop_of(FP32("ffma") ".sum.per_cycle_elapsed"), 0);
    check(ncu_flop_of(FP32("ffma") ".sum.peak_sustained"), 0);
    check(ncu_flop_of("sm__ops_path_tensor_src_fp16.sum"), 0);
    check(ncu_flop_of(""), 0);
}

/* What is not counted is n/a, and why. */
static void not_counted(void **state)
{
    (void)state;
#define TIME(id) ROW(id, "Duration", "us", "10")
#define BYTES(id) ROW(id, "dram__bytes.sum", "Kbyte", "20")
    const struct run_kernel_counts *k =
        counts_of(DETAILS TIME("0") BYTES("0") ROW("0", "Compute (SM) Throughput", "%", "50"));
    assert_true(k->flop < 0 && roofline.intensity < 0 && roofline.flop_per_s < 0);
    assert_int_equal(k->flop_why.code, REASON_FLOP_NOT_COUNTED);
    check(roofline.bytes_per_s, 2e9);
    assert_int_equal(k->peak_flop_why.code, REASON_PEAK_NOT_OF_FLOP);
    assert_int_equal(roofline.bound, BOUND_UNKNOWN);
    assert_int_equal(roofline.bound_why.code, REASON_FLOP_NOT_COUNTED);
    k = counts_of(DETAILS TIME("0") ROW("0", FP32("ffma") ".sum", "inst", "5"));
    check(roofline.flop_per_s, 1e6);
    assert_int_equal(roofline.intensity_why.code, REASON_TRAFFIC_NOT_COUNTED);
    /* in one of two launches */
    k = counts_of(DETAILS TIME("0") BYTES("0") ROW("0", FP32("ffma") ".sum", "inst", "5") TIME("1") BYTES("1"));
    assert_int_equal(k->flop_why.code, REASON_FLOP_OF_SOME_LAUNCHES);
    assert_true(k->flop_why.slot[0].count == 1 && k->flop_why.slot[1].count == 2);
    /* nobody counted what the tensor cores did */
    k = counts_of(DETAILS TIME("0") BYTES("0") ROW("0", FP32("ffma") ".sum", "inst", "5")
                      ROW("0", "sm__inst_executed_pipe_tensor.sum", "inst", "7"));
    assert_int_equal(k->flop_why.code, REASON_FLOP_OF_TENSOR_CORES);
    /* all of it came from caches */
    k = counts_of(DETAILS TIME("0") ROW("0", "dram__bytes.sum", "byte", "0")
                      ROW("0", FP32("ffma") ".sum", "inst", "5"));
    assert_int_equal(roofline.intensity_why.code, REASON_KERNEL_WITHOUT_TRAFFIC);
    /* nothing is counted at all */
    assert_int_equal(import_named("ncu.csv", DETAILS TIME("0")), 0);
    assert_int_equal(run->n_kernels, 0);
}

/* Numbers of another locale, and those that cannot be. */
static void odd_numbers(void **state)
{
    (void)state;
    const struct run_kernel_counts *k = counts_of(DETAILS ROW("0", "Duration", "us", "10,5") ROW(
        "0", "dram__bytes.sum", "Mbyte", "1,5") ROW("0", FP32("ffma") ".sum", "inst", "1.500.000"));
    check(k->ns, 10500);
    check(k->bytes, 1.5e6);
    check(k->flop, 3e6);
    assert_int_equal(run->n_gaps, 0);
    k = counts_of(DETAILS TIME("0") BYTES("0") ROW("0", FP32("ffma") ".sum", "inst", "-5"));
    assert_true(k->flop < 0);
    assert_int_equal(run->n_gaps, 1);
    assert_string_equal(assert_gap(run, 0, PHRASE_FIRST_NO_VALUE)[1].name, "-5");
    k = counts_of(DETAILS TIME("0") BYTES("0") ROW("0", "dram__bytes.sum.pct_of_peak_sustained_elapsed", "%", "250"));
    assert_true(k->peak_bytes_per_s < 0);
    assert_int_equal(run->n_gaps, 1);
    /* more than the peak: one of the two is wrong; and a share too small to divide by */
    k = counts_of(DETAILS TIME("0") BYTES("0") ROW("0", FP32("ffma") ".sum", "inst", "0")
                      ROW("0", "dram__bytes.sum.peak_sustained", "byte/cycle", "1")
                          ROW("0", "dram__cycles_elapsed.avg.per_second", "Ghz", "1"));
    assert_int_equal(roofline.bound_why.code, REASON_KERNEL_ABOVE_PEAK);
    k = counts_of(DETAILS TIME("0") BYTES("0") ROW("0", "dram__bytes.sum.pct_of_peak_sustained_elapsed", "%", "0.04"));
    assert_true(k->peak_bytes_per_s < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(sums_and_peaks, forget), cmocka_unit_test_teardown(shares_of_peaks, forget),
        cmocka_unit_test_teardown(rates, forget),          cmocka_unit_test_teardown(not_counted, forget),
        cmocka_unit_test_teardown(odd_numbers, forget),    cmocka_unit_test(worth_of_a_counter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
