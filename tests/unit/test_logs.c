/* test_logs.c - text of DCGM and logs of nccl-tests, in the forms of several versions and launchers. The texts follow
 * the documentation of the tools. */
#include "render/metrics/rule.h"
#include "tests/unit/import_text.h"
#include "tests/unit/gaps.h"

/* n rows of the file were left out; this is the first line, and the reason. */
static void assert_rows_left_out(int n, int line, const char *why)
{
    const struct slot *slot = assert_gap(run, 0, PHRASE_ROWS_LEFT_OUT_FROM);
    assert_int_equal(slot[0].count, n);
    assert_int_equal(slot[2].count, line);
    assert_string_equal(slot[3].name, why);
}

static int import_text(const char *text)
{
    return import_named("log.txt", text);
}

/* One GPU: samples of utilisation and their sum. */
static void check_utilization(int64_t n, double sum)
{
    assert_int_equal(run->nodes_len, 1);
    const struct run_gpu *g = &run->nodes[0].gpus[0];
    assert_int_equal(g->utilization_percent.n, n);
    assert_true(g->utilization_percent.sum > sum - 1e-9 && g->utilization_percent.sum < sum + 1e-9);
}

static void test_dmon(void **state)
{
    (void)state;
    static const char rows[] = "GPU 0  90  250.5  0.5\nGPU 0  70  N/A  0.25\nGPU-I 0  1  2  0.125\n";
    char text[256];
    static const char *const headers[] = {"#Entity  GPUTL  POWER  GRACT\nID\n",
                                          "# Entity  GPUTL  POWER  GRACT\n    Id\n"};
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "%s%s", headers[i], rows);
        assert_int_equal(import_text(text), 0);
        check_utilization(2, 160);
        assert_int_equal(run->nodes[0].gpus[0].power_w.n, 1);
    }
    /* without the driver's utilisation that of the engine */
    assert_int_equal(import_text("# Entity  SMACT  GRACT\n      Id\n    GPU 0  0.1  0.5\n    GPU 0  0.1  0.25\n"), 0);
    check_utilization(2, 75);
    assert_int_equal(import_text("#Entity  XIDER\nID\nGPU 0  0.1\n"), DCR_FAIL);
}

/* No GPU has such a number, and a row without a number does not belong to GPU 0. */
static void test_ids(void **state)
{
    (void)state;
    static const char *const ids[] = {"-1", "99999999999", "1024", "4x", "N/A"};
    char text[256];
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        for (int is_exporter = 0; is_exporter < 2; is_exporter++) {
            snprintf(text, sizeof text,
                     is_exporter ? "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 90\nDCGM_FI_DEV_GPU_UTIL{gpu=\"%s\"} 50\n"
                                 : "#Entity GPUTL\nID\nGPU 0 90\nGPU %s 50\n",
                     ids[i]);
            assert_int_equal(import_text(text), 0);
            assert_int_equal(run->nodes[0].n_gpus, 1);
            check_utilization(1, 90);
            assert_int_equal(run->n_gaps, 1);
            assert_int_equal(assert_gap(run, 0, PHRASE_GPU_ROWS_LEFT_OUT)[0].count, 1);
            assert_string_equal(assert_gap(run, 0, PHRASE_FIRST_NO_GPU)[1].name, ids[i]);
        }
    assert_int_equal(import_text("#Entity FBTTL FBUSD\nID\nGPU 0 1000 900\nGPU 0 1000 9000\n"), 0);
    assert_int_equal(run->nodes[0].gpus[0].memory_used_mb.n, 1);
    assert_first_left_out(run, 0, 1, "9000 of 1000 MiB used");
    assert_int_equal(import_text("#Entity GPUTL\nID\nGPU -1 90\n"), DCR_FAIL);
    assert_non_null(strstr(err.text, "('-1' is the first)"));
}

static void test_exporter(void **state)
{
    (void)state;
#define ACTIVE \
    "# TYPE DCGM_FI_PROF_GR_ENGINE_ACTIVE gauge\nDCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",UUID=\"GPU-1\"} 0.5\n"
    assert_int_equal(import_text(ACTIVE), 0);
    check_utilization(1, 50);
    assert_int_equal(import_text(ACTIVE "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-1\"} 42\n"), 0);
    check_utilization(1, 42);
    /* Slightly above 100 % is 100 %. */
    assert_int_equal(import_text("DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\"} 1.000004\n"), 0);
    check_utilization(1, 100);
    assert_int_equal(run->n_gaps, 0);
    assert_int_equal(import_text("DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\"} 1.01\n"), DCR_FAIL);
}

/* Impossible values are left out and reported, and so is a last line that is cut. */
static void test_values(void **state)
{
    (void)state;
    assert_int_equal(import_text("\xef\xbb\xbf#Entity GPUTL POWER\r\nID\r\nGPU 0 90 250\r\n"), 0);
    check_utilization(1, 90);
    assert_int_equal(run->n_gaps, 0);
    assert_int_equal(import_text("#Entity GPUTL POWER\nID\nGPU 0 98x -3\nGPU 0 90 250\nGPU 0 101 N/A\nGPU 0 7"), 0);
    check_utilization(1, 90);
    assert_int_equal(run->nodes[0].gpus[0].power_w.n, 1);
    assert_int_equal(run->n_gaps, 2);
    assert_gap(run, 0, PHRASE_LAST_LINE_CUT);
    assert_first_left_out(run, 1, 3, "98x");
#define UTIL "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} "
    assert_int_equal(import_text(UTIL "98abc\n" UTIL "250\n" UTIL "42 1000\n" UTIL), 0);
    check_utilization(1, 42);
    assert_int_equal(run->n_gaps, 2);
    assert_int_equal(assert_gap(run, 1, PHRASE_VALUES_LEFT_OUT)[0].count, 2);
    assert_int_equal(import_text(UTIL "250\n"), DCR_FAIL);
}

/* All memory is the sum of its parts in each scrape; GPUs of two machines are two. */
static void test_exporter_sums(void **state)
{
    (void)state;
#define PART(name, host, value) "DCGM_FI_DEV_FB_" name "{gpu=\"0\",UUID=\"x\",Hostname=\"" host "\"} " value "\n"
    assert_int_equal(import_text(PART("USED", "n1", "100 1000") PART("FREE", "n1", "890 1000")
                                     PART("RESERVED", "n1", "10 1000") PART("FREE", "n1", "690 2000")
                                         PART("USED", "n1", "300 2000") PART("RESERVED", "n1", "10 2000")),
                     0);
    const struct run_gpu *g = &run->nodes[0].gpus[0];
    assert_int_equal(run->nodes_len, 1);
    assert_int_equal(g->memory_used_mb.n, 2);
    assert_int_equal(g->memory_total_mb.n, 2);
    assert_true(g->memory_total_mb.max == 1000 && g->memory_total_mb.sum == 2000);
    assert_int_equal(import_text(PART("USED", "n1", "100") PART("FREE", "n1", "900") PART("TOTAL", "n1", "1024")), 0);
    assert_true(run->nodes[0].gpus[0].memory_total_mb.max == 1024);
    assert_int_equal(run->nodes[0].gpus[0].memory_total_mb.n, 1);
    assert_int_equal(import_text(PART("USED", "n1", "100")), 0);
    assert_int_equal(run->nodes[0].gpus[0].memory_total_mb.n, 0);
    assert_int_equal(import_text(PART("USED", "n1", "100") PART("USED", "n2", "300") PART("FREE", "n2", "5")), 0);
    assert_int_equal(run->nodes_len, 2);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(run->nodes[i].host, i ? "n2" : "n1");
        assert_int_equal(run->nodes[i].n_gpus, 1);
        assert_true(run->nodes[i].gpus[0].memory_used_mb.sum == (i ? 300 : 100));
        assert_int_equal(run->nodes[i].gpus[0].memory_total_mb.n, i);
    }
}

static void check_row(size_t row, const char *const cells[7])
{
    for (int i = 0; i < 7; i++)
        assert_string_equal(run->tables[0].cells[row * 7 + (size_t)i], cells[i]);
}

/* Samples of DCGM's profiling counters become a table, also without any field of a monitor. */
static void test_activity(void **state)
{
    (void)state;
    assert_int_equal(import_text("#Entity SMACT TENSO DRAMA PCITX\nID\nGPU 0 0.5 0.2 0.33 1000000\n"
                                 "GPU 0 0.75 0.2 N/A 3000000\nGPU 1 0.1 0 1.5 0\n"),
                     0);
    assert_int_equal(run->n_tables, 1);
    assert_int_equal(run->tables[0].kind, FOREIGN_DCGM);
    assert_int_equal(run->tables[0].n_cells, 7 * 7); /* a share of 1.5 is left out */
    check_row(0, (const char *const[]){"GPU 0", "multiprocessors active", "%", "62.5", "50", "75", "2"});
    check_row(2, (const char *const[]){"GPU 0", "memory active", "%", "33", "33", "33", "1"});
    check_row(3, (const char *const[]){"GPU 0", "PCIe, sent", "MB/s", "2", "1", "3", "2"});
    assert_int_equal(run->n_gaps, 1);
    assert_int_equal(import_text("DCGM_FI_PROF_SM_ACTIVE{gpu=\"3\"} 0.25\n"), 0);
    check_row(0, (const char *const[]){"GPU 3", "multiprocessors active", "%", "25", "25", "25", "1"});
}

/* The same for dmon, whose rows are the times; a column of all memory comes first. */
static void test_dmon_sums(void **state)
{
    (void)state;
    assert_int_equal(import_text("#Entity FBUSD FBFRE\nID MB MB\nGPU 0 38000 2960\nGPU 1 100 40860\nGPU 0 1000 39960\n"
                                 "GPU 1 N/A 40860\n"),
                     0);
    const struct run_gpu *g = run->nodes[0].gpus;
    assert_int_equal(run->nodes[0].n_gpus, 2);
    assert_true(g[0].memory_total_mb.n == 2 && g[0].memory_total_mb.sum == 2 * 40960);
    assert_true(g[1].memory_total_mb.n == 1 && g[1].memory_total_mb.max == 40960);
    assert_true(g[0].memory_used_mb.n == 2 && g[0].memory_used_mb.max == 38000);
    assert_int_equal(import_text("#Entity FBUSD FBFRE FBTTL\nGPU 0 38000 2000 40960\n"), 0);
    g = run->nodes[0].gpus;
    assert_true(g->memory_total_mb.n == 1 && g->memory_total_mb.max == 40960);
}

/* Parts must be of one time: ordered by metric instead of by scrape, with a missing value at one of two times, without
 * times. */
static void test_parts_of_one_time(void **state)
{
    (void)state;
#define FREE(value) PART("FREE", "n1", value)
#define USED(value) PART("USED", "n1", value)
    assert_int_equal(import_text(FREE("80000 1000") FREE("60000 2000") FREE("1000 3000") USED("1000 1000")
                                     USED("21000 2000") USED("80000 3000")),
                     0);
    const struct run_gpu *g = &run->nodes[0].gpus[0];
    assert_int_equal(g->memory_total_mb.n, 3);
    assert_true(g->memory_total_mb.max == 81000 && g->memory_total_mb.sum == 3 * 81000);
    assert_int_equal(import_text(USED("N/A 1000") FREE("70000 1000") USED("20000 2000") FREE("61000 2000")), 0);
    g = &run->nodes[0].gpus[0];
    assert_int_equal(g->memory_total_mb.n, 1);
    assert_true(g->memory_total_mb.max == 81000);
    assert_int_equal(import_text(USED("N/A") FREE("70000") USED("20000") FREE("61000")), 0);
    g = &run->nodes[0].gpus[0];
    assert_int_equal(g->memory_total_mb.n, 1);
    assert_true(g->memory_total_mb.max == 81000);
    assert_int_equal(run->n_gaps, 0);
    assert_int_equal(import_text(FREE("80000") FREE("1000") USED("1000") USED("80000")), 0);
    assert_int_equal(run->nodes[0].gpus[0].memory_total_mb.n, 0);
    assert_int_equal(run->n_gaps, 1);
    assert_first_left_out(run, 0, 1, "2000 MiB used and free");
    /* Instances have separate memory, but their memory use also counts for the GPU. */
#define INSTANCE(id, field, value) \
    "DCGM_FI_" field "{gpu=\"0\",GPU_I_PROFILE=\"1g.10gb\",GPU_I_ID=\"" id "\"} " value "\n"
    assert_int_equal(import_text(INSTANCE("1", "DEV_FB_USED", "100") INSTANCE("1", "DEV_FB_FREE", "9900")
                                     INSTANCE("2", "DEV_FB_USED", "200") INSTANCE("2", "DEV_FB_FREE", "9800")
                                         INSTANCE("2", "DEV_GPU_TEMP", "40")),
                     0);
    g = &run->nodes[0].gpus[0];
    assert_true(g->memory_total_mb.n == 0 && g->memory_used_mb.n == 0 && g->temperature_c.n == 1);
    assert_int_equal(run->n_gaps, 1);
    assert_gap(run, 0, PHRASE_MIG_LEFT_OUT);
}

#define HEADER(label)                                                                                                 \
    label "# nThread 1 nGpus 2\n" label "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  " \
          "busbw #wrong\n"

static void check_rows(int n, const char *last_bandwidth)
{
    assert_int_equal(run->n_tables, 1);
    assert_int_equal(run->tables[0].n_cells, 6 * n);
    assert_string_equal(run->tables[0].cells[6 * n - 1], last_bandwidth);
}

/* Lines of one rank labelled by the launcher; others of other ranks between them. */
static void test_labels(void **state)
{
    (void)state;
    assert_int_equal(import_text(HEADER("0: ") "0: 8 2 float sum -1 16.3 0.1 0.2 0 16.2 0.3 0.4 N/A\n"
                                               "1: node2: 9 9 9 9 9 9 9 9 9 9 9 9\n"
                                               "0: # Out of bounds values : 0 OK\n"),
                     0);
    check_rows(1, "0.4");
    assert_int_equal(run->n_gaps, 0);
    assert_int_equal(
        import_text(HEADER("[1,0]<stdout>:") "[1,0]<stdout>:  8 2 float sum -1 16.3 0.1 0.2 0 16.2 0.3 0.5 0\r\n"), 0);
    check_rows(1, "0.5");
}

/* Two tests in one file; the bus bandwidth of 2 (4 - 1) / 4 identifies the first, its name the second. */
static void test_two_tests(void **state)
{
    (void)state;
#define RANK(n, host) "#  Rank  " n " Group  0 Pid 43 on " host " device  0 [0x0f] NVIDIA A100\n"
#define COLUMNS "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"
    assert_int_equal(
        import_text("# nThread 1 nGpus 1\n#\n# Using devices\n" RANK("0", "a") RANK("1", "a") RANK("2", "b") RANK(
            "3", "b") "#\n" COLUMNS "1000 250 float sum -1 10 0.1 0.15 0 8 0.125 0.1875 0\n"
                      "4000000 1000000 float sum -1 40 100 150 0 50 80 120 0\n"
                      "# Avg bus bandwidth : 1.5\n"
                      "# Collective test starting: all_gather_perf\n# Using devices\n" RANK("0", "a") RANK("1", "a")
                          COLUMNS "1000 250 float none -1 10 0.1 0.05 0 8 0.125 0.0625 0\n"),
        0);
    assert_int_equal(run->n_tables, 2);
    assert_int_equal(run->tables[0].n_cells, 6 * 3);
    assert_int_equal(run->tables[1].n_cells, 6);
    assert_true(strncmp(run->tables[0].caption, "all_reduce over 4 ranks by size: ", 33) == 0);
    assert_true(strncmp(run->tables[1].caption, "all_gather over 2 ranks by size: ", 33) == 0);
    assert_int_equal(run->n_tests, 2);
    const struct run_collective_test *a = &run->tests[0], *b = &run->tests[1];
    assert_string_equal(a->collective, "all_reduce");
    assert_true(a->n_ranks == 4 && a->is_across && b->n_ranks == 2 && !b->is_across);
    assert_int_equal(a->n_points, 2);
    assert_int_equal(a->points[0].bytes, 1000);
    assert_int_equal(a->points[0].median_ns, 8000); /* in place */
    assert_true(a->busbw_gb_per_s == 150 && a->busbw_bytes == 4e6);
    /* Nothing tells which test it is. */
    assert_int_equal(import_text(COLUMNS "8 2 float none -1 16.3 0.1 0.2 0 16.2 0.3 0.4 0\n"), 0);
    assert_string_equal(run->tests[0].collective, "");
    assert_int_equal(run->tests[0].n_ranks, 0);
    /* A script's echo does. */
    assert_int_equal(
        import_text("+ ./build/broadcast_perf -b 8\n" COLUMNS "8 2 float none 0 16.3 0.1 0.1 0 16.2 0.3 0.3 0\n"), 0);
    assert_string_equal(run->tests[0].collective, "broadcast");
}

static void test_failures(void **state)
{
    (void)state;
    assert_int_equal(import_text(HEADER("") "8 2 float sum -1 16.3 0.1 0.2 3 16.2 0.3 0.4 0\n"
                                            "# Out of bounds values : 3 FAILED\n"),
                     0);
    assert_int_equal(run->n_gaps, 1);
    assert_int_equal(assert_gap(run, 0, PHRASE_NCCL_WRONG)[1].count, 3);
    assert_int_equal(import_text(HEADER("") "8 2 float sum -1 16.3 0.1 0.2 3 16.2 0.3 0.4 0\n"
                                            "n1: Test NCCL failure common.cu:958 'remote process exited'\r\n"),
                     0);
    check_rows(1, "0.4");
    assert_int_equal(run->n_gaps, 1);
    assert_string_equal(assert_gap(run, 0, PHRASE_NCCL_ENDS)[1].name,
                        "Test NCCL failure common.cu:958 'remote process exited'");
    assert_int_equal(import_text(HEADER("0: ") "0: n1: Test CUDA failure common.cu:1 'out of memory'\n"), DCR_FAIL);
}

#define TIMES(out, in) "8 2 float sum -1 " out " 0,50 0,75 0 " in " 0,25 0,35 0\n"

/* Numbers with decimal commas; cells that are not numbers are reported with their line. */
static void test_numbers(void **state)
{
    (void)state;
    assert_int_equal(import_text(HEADER("") TIMES("1234,5", "1,234") "# Avg bus bandwidth : 0,5\n"), 0);
    assert_int_equal(run->n_gaps, 0);
    assert_string_equal(run->tables[0].cells[1], "1234.5");
    assert_string_equal(run->tables[0].cells[4], "1.234"); /* groups of digits are not split */
    assert_string_equal(run->tables[0].cells[5], "0.35");
    assert_string_equal(run->tables[0].cells[6 + 3], "0.5");
    static const char *const wrong[] = {"nan", "-3", "1.2.3", "1,234.5", "0x10", "inf"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[600], want[64];
        snprintf(text, sizeof text, HEADER("") TIMES("10", "8") "\n8 2 float sum -1 %s 1 1 0 1 1 1 0\n", wrong[i]);
        assert_int_equal(import_text(text), 0);
        assert_int_equal(run->tables[0].n_cells, 6);
        assert_int_equal(run->n_gaps, 1);
        snprintf(want, sizeof want, "'%s' is no time or bandwidth", wrong[i]);
        assert_rows_left_out(1, 5, want);
    }
    assert_int_equal(import_text(HEADER("") TIMES("10", "8") "16 4 float su"), 0);
    assert_int_equal(run->n_gaps, 1);
    assert_rows_left_out(1, 4, "it is cut");
    assert_int_equal(import_text(HEADER("") TIMES("nan", "8")), DCR_FAIL);
    assert_non_null(strstr(err.text, "line 3: 'nan' is no time or bandwidth"));
}

/* Lines of other programs are not rows, before or after the header; a row of an unknown type is one. */
static void test_other_lines(void **state)
{
    (void)state;
    static const char foreign[] = "8 16 workers started\n2026 11 Nov 23\n8 2 float\n";
    char text[1024];
    snprintf(text, sizeof text, "%s%s%s", foreign, HEADER(""), TIMES("10", "8"));
    assert_int_equal(import_text(text), 0);
    assert_int_equal(run->n_gaps, 0);
    snprintf(text, sizeof text, "%s%s%s", HEADER(""), TIMES("10", "8"), "8 16 workers started\n2026 11 Nov 23\n");
    assert_int_equal(import_text(text), 0);
    assert_int_equal(run->tables[0].n_cells, 6);
    assert_int_equal(run->n_gaps, 0);
    assert_int_equal(import_text(HEADER("") "8 2 e8m0 sum -1 16.3 0.1 0.2 0 16.2 0.3 0.4 0\n"), 0);
    assert_int_equal(run->tables[0].n_cells, 6);
    assert_int_equal(import_text(HEADER("") TIMES("10", "8") "8 2 bfloat16 sum\n8 2 e8m0 sum -1 x 1 1 0 1 1 1 0\n"), 0);
    assert_int_equal(run->n_gaps, 1);
    assert_int_equal(assert_gap(run, 0, PHRASE_ROWS_LEFT_OUT_FROM)[0].count, 2);
}

/* Out of place or in place only, from the header or from the row. */
static void test_one_set(void **state)
{
    (void)state;
    assert_int_equal(import_text(HEADER("") "8 2 float none -1 16.3 0.1 0.2 0 N/A N/A N/A N/A\n"), 0);
    assert_string_equal(run->tables[0].cells[1], "16.3");
    assert_string_equal(run->tables[0].cells[4], "n/a");
    assert_int_equal(run->tests[0].points[0].median_ns, 16300);
    assert_int_equal(run->n_gaps, 0);
    assert_int_equal(import_text("#  size  count  type  redop  root  time  algbw  busbw #wrong\n"
                                 "#   (B)  (elements)  (us)  (GB/s)  (GB/s)\n"
                                 "8 2 float sum -1 16.3 0.1 0.2 0\n8000 2000 float sum -1 20.5 0.5 0.75 0\n"),
                     0);
    assert_int_equal(run->tables[0].n_cells, 12);
    assert_string_equal(run->tables[0].cells[7], "20.5");
    assert_true(run->tests[0].busbw_gb_per_s == 0.75);
    assert_int_equal(
        import_text("# nThread 1\n#   Rank  0 Pid 1 on n device  0 [0x0f] X\n#   Rank  1 Pid 2 on n device  1 "
                    "[0x0f] X\n#   Rank  2 Pid 3 on n device  2 [0x0f] X\n#  size  count  type  redop  root  "
                    "time  algbw  busbw #wrong\n8000 2000 float sum -1 16.3 0.3 0.4 0\n"),
        0);
    assert_string_equal(run->tests[0].collective, "all_reduce"); /* its operation is in a row of one measurement too */
    assert_int_equal(import_text(HEADER("") "8 2 float none -1 N/A N/A N/A N/A N/A N/A N/A N/A\n"), DCR_FAIL);
    assert_non_null(strstr(err.text, "line 3: nothing was measured"));
}

/* Throughput of a result without one, or of one that contradicts its batch and step; a mark of the byte order. */
static void test_ddp(void **state)
{
    (void)state;
#define DDP "{\"scaling_mode\":\"weak\",\"world_size\":2,\"mean_step_sec\":0.25"
    static const struct {
        const char *rest;
        double throughput;
        int n_gaps;
    } c[] = {{"}", 0, 0},
             {",\"global_batch_size\":64}", 256, 0},
             {",\"images_per_sec_global\":100}", 100, 0},
             {",\"global_batch_size\":64,\"images_per_sec_global\":258}", 258, 0},
             {",\"global_batch_size\":64,\"images_per_sec_global\":259}", 0, 1},
             {",\"global_batch_size\":64,\"images_per_sec_global\":2.5}", 0, 1}};
    char text[512];
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        snprintf(text, sizeof text, "%s" DDP "%s", i % 2 ? "\xef\xbb\xbf" : "", c[i].rest);
        assert_int_equal(import_text(text), 0);
        assert_true(run->summary.throughput == c[i].throughput);
        assert_int_equal(run->n_gaps, c[i].n_gaps);
        if (c[i].n_gaps)
            assert_true(assert_gap(run, 0, PHRASE_DDP_CONTRADICTS)[2].real == 256);
    }
}

/* A mark of the byte order in front of a table of sacct. */
static void test_sacct(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(import_text(i ? "\xef\xbb\xbfJobID|State|Elapsed\n7|COMPLETED|00:01:00\n"
                                       : "\xef\xbb\xbfJobID    State\n-------- ---------\n7        COMPLETED\n"),
                         0);
        assert_int_equal(run->n_tables, 1);
        assert_int_equal(run->tables[0].n_cells, i ? 3 : 2);
        assert_string_equal(run->tables[0].columns, i ? "JobID|State|Elapsed" : "JobID|State");
        assert_string_equal(run->tables[0].cells[1], "COMPLETED");
    }
}

/* The forms of two versions of Slurm: words and lists, and their numbers and objects. */
static void test_sacct_json(void **state)
{
    (void)state;
    struct report rep = {0};
    static const char *const want[] = {"17",   "train",  "gpu", "TIMEOUT",   "1-00:10:02", "2",
                                       "17.0", "python", "",    "CANCELLED", "00:00:59",   "2"};
    static const char *const texts[] = {
        "{\"meta\":{\"Slurm\":{}},\"jobs\":[{\"job_id\":17,\"name\":\"train\",\"partition\":\"gpu\",\"state\":{"
        "\"current\":\"TIMEOUT\"},"
        "\"time\":{\"elapsed\":87002},\"allocation_nodes\":2,\"steps\":[{\"step\":{\"id\":{\"job_id\":17,\"step_id\":"
        "\"0\"},\"name\":\"python\"},"
        "\"state\":\"CANCELLED\",\"time\":{\"elapsed\":59},\"nodes\":{\"count\":2}}]}]}",
        "{\"jobs\":[{\"job_id\":17,\"name\":\"train\",\"partition\":\"gpu\",\"state\":{\"current\":[\"TIMEOUT\"]},"
        "\"time\":{\"elapsed\":87002},\"allocation_nodes\":{\"set\":true,\"number\":2},\"steps\":[{\"step\":{\"id\":"
        "\"17.0\",\"name\":\"python\"},"
        "\"state\":[\"CANCELLED\"],\"time\":{\"elapsed\":59},\"nodes\":{\"count\":2}}]}],\"meta\":{\"slurm\":{}}}"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(import_text(texts[i]), 0);
        assert_int_equal(run->tables[0].n_cells, 12);
        for (size_t k = 0; k < 12; k++)
            assert_string_equal(run->tables[0].cells[k], want[k]);
        struct phrase said[NOTE_PHRASES] = {{0}};
        assert_true(accounting_ended(&rep, &run->tables[0], said));
        assert_int_equal(said[0].id, PHRASE_JOB_TIMED_OUT);
        assert_string_equal(said[0].slot[0].name, "17");
    }
    report_free(&rep);
    assert_int_equal(import_text("{\"meta\":{\"slurm\":1},\"jobs\":[{\"job_id\":{}}]}"), DCR_FAIL);
}

/* Rows with other cells than the header: it is unknown which cell is which. */
static void test_sacct_rows(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int n, line;
        const char *why;
        size_t n_cells;
    } c[] = {
        {"JobID|State|End\n7|FAILED\n8|FAILED|now\n", 1, 2, "2 cells, the header has 3", 3},
        {"JobID|JobName|State\n7|a|FAILED\n\n8|x|y|FAILED\n9\n", 2, 4,
         "4 cells, the header has 3, but a name may hold a '|'", 3},
        {"JobID|State|MaxRSS\n7|FAILED|\n", 0, 0, NULL, 3}, /* sacct -P: no bar at the end, the last cell is empty */
        {"JobID|State|MaxRSS|\r\n7|FAILED||\r\n", 0, 0, NULL, 3},
        {"JobID|State|\n7|FAILED\n8|FAILED|\n", 0, 0, NULL, 4}, /* -p, a bar was cut off */
        {"JobID    State\n-------- ---------\n7        FAILED\n8 name of job  FAILED\n", 1, 4,
         "its text is not under the dashes of the header", 2},
        {"JobID    State\n-------- ---------\n7        FAILED\n8", 1, 4, "it is cut", 2},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        assert_int_equal(import_text(c[i].text), 0);
        assert_int_equal(run->tables[0].n_cells, c[i].n_cells);
        assert_int_equal(run->n_gaps, c[i].why != NULL);
        if (c[i].why)
            assert_rows_left_out(c[i].n, c[i].line, c[i].why);
    }
    assert_int_equal(import_text("JobID State\n7 FAILED\n"), DCR_FAIL);
    assert_non_null(strstr(err.text, "nothing tells its columns apart; use sacct -P"));
    assert_int_equal(import_text("JobID|State|End\n7|FAILED\n"), DCR_FAIL);
    assert_non_null(strstr(err.text, "line 2: 2 cells, the header has 3"));
}

/* Jobs that did not end normally: the worst state of a job and its steps, once; states cut by a narrow column. */
static void test_accounting(void **state)
{
    (void)state;
    struct report rep = {0};
    static const struct {
        const char *table;
        int n;
        enum phrase_id said;
        enum job_end end;
    } c[] = {
        {"JobID|State\n7|COMPLETED\n7.0|COMPLETED\n8|FAILED\n", 0, PHRASE_NONE, JOB_OUT_OF_MEMORY},
        {"JobID|State\n7|FAILED\n7.batch|FAILED\n7.0|OUT_OF_MEMORY\n71|NODE_FAIL\n", 2, PHRASE_JOB_OUT_OF_MEMORY,
         JOB_OUT_OF_MEMORY},
        {"JobID    State\n-------- ----------\n7        CANCELLED+\n8        OUT_OF_ME+\n9        CANCELLED+\n10       "
         "TIMEOUT\n",
         4, PHRASE_JOB_CANCELLED, JOB_CANCELLED},
        {"JobID|Elapsed\n7|TIMEOUT\n", 0, PHRASE_NONE, JOB_OUT_OF_MEMORY}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        assert_int_equal(import_text(c[i].table), 0);
        struct phrase said[NOTE_PHRASES] = {{0}};
        assert_int_equal(accounting_ended(&rep, &run->tables[0], said), c[i].n > 0);
        assert_int_equal(said[0].id, c[i].said);
        assert_int_equal(said[1].id, c[i].n ? PHRASE_BY_ACCOUNTING : PHRASE_NONE);
        assert_int_equal(said[2].slot[0].count, c[i].n > 1 ? c[i].n - 1 : 0);
        struct jobs_ended all = accounting_jobs(&rep, &run->tables[0]);
        assert_int_equal(all.n, c[i].n);
        assert_string_equal(all.first, all.n ? "7" : "");
        if (all.n)
            assert_int_equal(all.end, c[i].end);
    }
    /* Rows that are not kept are not judged, and this is reported. */
    struct dcr_buf b = {.max = 1 << 16};
    dcr_buf_puts(&b, "JobID|State\n7|TIMEOUT\n");
    for (int i = 0; i < FOREIGN_MAX_ROWS; i++)
        dcr_buf_printf(&b, "%d|%s\n", 10 + i, i < FOREIGN_MAX_ROWS - 1 ? "COMPLETED" : "NODE_FAIL");
    assert_int_equal(import_text(dcr_buf_text(&b)), 0);
    dcr_buf_release(&b);
    struct phrase said[NOTE_PHRASES] = {{0}};
    assert_true(accounting_ended(&rep, &run->tables[0], said));
    assert_int_equal(said[1].id, PHRASE_BY_ACCOUNTING_ROWS);
    assert_int_equal(said[1].slot[1].count, FOREIGN_MAX_ROWS);
    report_free(&rep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_numbers, forget),
        cmocka_unit_test_teardown(test_one_set, forget),
        cmocka_unit_test_teardown(test_other_lines, forget),
        cmocka_unit_test_teardown(test_ids, forget),
        cmocka_unit_test_teardown(test_sacct_rows, forget),
        cmocka_unit_test_teardown(test_sacct_json, forget),
        cmocka_unit_test_teardown(test_dmon, forget),
        cmocka_unit_test_teardown(test_dmon_sums, forget),
        cmocka_unit_test_teardown(test_activity, forget),
        cmocka_unit_test_teardown(test_exporter, forget),
        cmocka_unit_test_teardown(test_ddp, forget),
        cmocka_unit_test_teardown(test_sacct, forget),
        cmocka_unit_test_teardown(test_values, forget),
        cmocka_unit_test_teardown(test_exporter_sums, forget),
        cmocka_unit_test_teardown(test_parts_of_one_time, forget),
        cmocka_unit_test_teardown(test_labels, forget),
        cmocka_unit_test_teardown(test_failures, forget),
        cmocka_unit_test_teardown(test_two_tests, forget),
        cmocka_unit_test_teardown(test_accounting, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
