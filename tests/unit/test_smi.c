/* test_smi.c - logs of nvidia-smi as users write them: with and without header and units, one GPU and several. */
#include "tests/unit/import_text.h"
#include "tests/unit/gaps.h"

static int import_text(const char *text)
{
    return import_named("smi.csv", text);
}

static void check_gpu(int i, int id, int64_t n, double utilization, double used)
{
    assert_int_equal(run->nodes_len, 1);
    assert_true(i < run->nodes[0].n_gpus);
    const struct run_gpu *g = &run->nodes[0].gpus[i];
    assert_int_equal(g->gpu_id, id);
    assert_int_equal(g->utilization_percent.n, n);
    assert_true(g->utilization_percent.sum == utilization * (double)n);
    assert_true(g->memory_used_mb.sum == used * (double)n);
}

#define ROW(second, text) "2026/02/01 00:00:" second ", " text "\n"

static void test_header(void **state)
{
    (void)state;
    assert_int_equal(import_text("timestamp, uuid, utilization.gpu [%], memory.used [MiB]\n" /* no index */
                                 ROW("01.000", "GPU-b, 10 %, 100 MiB") ROW("01.001", "GPU-a, 90 %, 300 MiB")
                                     ROW("02.000", "GPU-b, 30 %, 100 MiB") ROW("02.001", "GPU-a, 70 %, 300 MiB")),
                     0);
    check_gpu(0, 0, 2, 20, 100);
    check_gpu(1, 1, 2, 80, 300);
    assert_gap(run, 0, PHRASE_SMI_BY_APPEARANCE);
    assert_int_equal(import_text("utilization.gpu, memory.used, index, timestamp, gpu_uuid\n" /* the index counts */
                                 "50, 7, 3, 2026/02/01 00:00:01.5, GPU-x\n"),
                     0);
    check_gpu(0, 3, 1, 50, 7);
    assert_int_equal(run->n_gaps, 0);
    assert_int_equal(import_text("timestamp, index, utilization.gpu [%], clocks.sm [MHz], clocks.max.sm [MHz]\n" ROW(
                         "01.000", "0, 99 %, 1000 MHz, 1530 MHz")),
                     0);
    assert_true(run->nodes[0].gpus[0].sm_clock_mhz.max == 1000);
    assert_true(run->nodes[0].gpus[0].sm_clock_max_mhz.max == 1530);
    assert_int_equal(run->n_gaps, 0);
}

static void test_no_header(void **state)
{
    (void)state;
    /* One GPU; the second MiB is all memory. */
    assert_int_equal(import_text(ROW("01.0", "40 %, 0 %, 2 MiB, 80 MiB, 27, 11 W")
                                     ROW("02.0", "60 %, 0 %, 4 MiB, 80 MiB, 28, [N/A]")),
                     0);
    check_gpu(0, 0, 2, 50, 3);
    assert_true(run->nodes[0].gpus[0].memory_total_mb.max == 80);
    assert_int_equal(run->nodes[0].gpus[0].power_w.n, 1);
    /* An index without a name counts 0, 1, 0, 1; a temperature does not. */
    assert_int_equal(import_text(ROW("01.0", "0, 30, 10 %, 5 MiB") ROW("01.0", "1, 31, 20 %, 6 MiB")
                                     ROW("02.0", "0, 30, 30 %, 5 MiB") ROW("02.0", "1, 31, 40 %, 6 MiB")),
                     0);
    check_gpu(0, 0, 2, 20, 5);
    check_gpu(1, 1, 2, 30, 6);
    assert_true(run->nodes[0].gpus[1].temperature_c.max == 31);
    /* Ids of the bus. */
    assert_int_equal(
        import_text(ROW("01.0", "00000000:3B:00.0, 10 %, 5 MiB") ROW("01.0", "00000000:AF:00.0, 20 %, 6 MiB")), 0);
    check_gpu(1, 1, 1, 20, 6);
    /* Nothing names them: bursts of three. */
    char text[4096] = "";
    for (int i = 0; i < 12; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), ROW("%02d.0%02d", "%d %%, %d MiB"), i / 3, i % 3 * 4,
                 10 * (i % 3), i % 3);
    assert_int_equal(import_text(text), 0);
    assert_int_equal(run->nodes[0].n_gpus, 3);
    check_gpu(2, 2, 4, 20, 2);
    assert_int_equal(assert_gap(run, 0, PHRASE_SMI_UNNAMED)[1].count, 3);
    /* One row of the second burst is lost: they cannot be told apart. */
    char *second = strstr(text, "00:01.004");
    memset(second - 14, ' ', strlen("2026/02/01 00:00:01.004, 10 %, 1 MiB"));
    assert_int_equal(import_text(text), 0);
    assert_int_equal(run->nodes[0].n_gpus, 1);
    assert_int_equal(run->nodes[0].gpus[0].utilization_percent.n, 11);
    assert_gap(run, run->n_gaps - 1, PHRASE_SMI_MIXED);
}

/* Without times rows are counted; a mark of the byte order, fields in any order, a single field. */
static void test_no_times(void **state)
{
    (void)state;
    assert_int_equal(import_text("index, utilization.gpu [%], memory.used [MiB]\n"
                                 "0, 50 %, 100 MiB\n1, 10 %, 5 MiB\n0, 70 %, 300 MiB\n1, 30 %, 5 MiB\n"),
                     0);
    check_gpu(0, 0, 2, 60, 200);
    check_gpu(1, 1, 2, 20, 5);
    assert_gap(run, 0, PHRASE_SMI_NO_TIMES);
    assert_int_equal(import_text("\xef\xbb\xbf"
                                 "50 %, 100 MiB, 80.5 W\r\n70 %, 200 MiB, 81.5 W\r\n"),
                     0);
    check_gpu(0, 0, 2, 60, 150);
    assert_int_equal(import_text("power.draw [W], timestamp, index, utilization.gpu [%], memory.used [MiB]\n"
                                 "80, 2026/01/31 23:59:59.500, 1, 50, 7\n[N/A], 2026/02/01 00:00:00.500, 1, 70, 7\n"),
                     0);
    check_gpu(0, 1, 2, 60, 7);
    assert_int_equal(run->n_gaps, 0);
    assert_int_equal(import_text("utilization.gpu [%]\r\n50 %\r\n60 %\r\n"), 0);
    check_gpu(0, 0, 2, 55, 0);
}

/* Numbers that are not temperatures, and times rewritten by a spreadsheet. */
static void test_bare_numbers(void **state)
{
    (void)state;
    assert_int_equal(import_text(ROW("01.000", "NVIDIA A100, 535.54, 4, 35, 10 %, 100 MiB")
                                     ROW("02.000", "NVIDIA A100, 535.54, 4, 37, 30 %, 100 MiB")),
                     0);
    check_gpu(0, 0, 2, 20, 100);
    assert_int_equal(run->nodes[0].gpus[0].temperature_c.n, 2);
    assert_true(run->nodes[0].gpus[0].temperature_c.sum == 72);
    assert_int_equal(
        import_text("timestamp,index,utilization.gpu\n2026-02-01 00:00:01,3,10\n2026-02-01 00:00:02,3,30\n"), 0);
    check_gpu(0, 3, 2, 20, 0);
    assert_int_equal(import_text("2026-02-01 00:00:01, 10 %, 5 MiB\n2026-02-01 00:00:02, 30 %, 7 MiB\n"), 0);
    check_gpu(0, 0, 2, 20, 6);
    assert_int_equal(run->n_gaps, 0);
}

static void test_refused(void **state)
{
    (void)state;
    assert_int_equal(import_text(ROW("01.0", "40, 0, 2, 80") ROW("02.0", "60, 0, 4, 80")), DCR_FAIL);
    assert_non_null(strstr(err.text, "without header and units"));
    assert_int_equal(import_text("timestamp, utilization.gpu\nx, 1\n"), DCR_FAIL);
    assert_int_equal(import_text("2026/02/01 00:00:01, started\n"), DCR_END);
    assert_int_equal(import_text("2026-02-01 00:00:01, 1, 2, 3\n"), DCR_END);
}

/* Units come from the cell, else from the header; impossible values and a cut last line are reported. */
static void test_values(void **state)
{
    (void)state;
#define HEAD "timestamp, index, utilization.gpu [%], memory.used [MiB], power.draw [W]\n"
    assert_int_equal(import_text(HEAD ROW("01.0", "0, 10 %, 2 GiB, 250000 mW") ROW("02.0", "0, 20 %, 1024 KiB, [N/A]")),
                     0);
    check_gpu(0, 0, 2, 15, 1024.5);
    assert_true(run->nodes[0].gpus[0].power_w.sum == 250);
    assert_int_equal(run->n_gaps, 0);
    assert_int_equal(import_text(HEAD ROW("01.0", "0, 10 %, 100 MiB, 80 W") ROW("02.0", "0, 101 %, 2 potatoes, -3 W")
                                     ROW("03.0", "0, -1 %, 0x10 MiB, 5 MiB") ROW("04.0", "0, nan %, N/A, 4 MHz")),
                     0);
    check_gpu(0, 0, 1, 10, 100);
    assert_int_equal(run->nodes[0].gpus[0].power_w.n, 1);
    assert_int_equal(run->n_gaps, 1);
    assert_first_left_out(run, 0, 8, "101 %");
    assert_int_equal(import_text("index, memory.used [GiB], timestamp\n0, 2, 2026/02/01 00:00:01.0\n"), 0);
    assert_true(run->nodes[0].gpus[0].memory_used_mb.sum == 2048);
    assert_int_equal(import_text("index, memory.used [MB], timestamp\n0, 1048.576, 2026/02/01 00:00:01.0\n"), 0);
    assert_true(run->nodes[0].gpus[0].memory_used_mb.sum == 1000);
    /* An unknown or wrong unit is ignored for numbers that have no other. */
    assert_int_equal(import_text("index, memory.used [TB], power.draw [MHz], timestamp\n"
                                 "0, 2, 80, 2026/02/01 00:00:01.0\n0, 5 MiB, 90 W, 2026/02/01 00:00:02.0\n"),
                     0);
    assert_true(run->nodes[0].gpus[0].memory_used_mb.n == 1 && run->nodes[0].gpus[0].memory_used_mb.sum == 5);
    assert_true(run->nodes[0].gpus[0].power_w.n == 1 && run->nodes[0].gpus[0].power_w.sum == 90);
    assert_int_equal(run->n_gaps, 1);
    assert_first_left_out(run, 0, 4, "memory.used [TB]");
    assert_int_equal(import_text(ROW("01.0", "10 %, 1 GiB, 80 GiB") ROW("02.0", "30 %, 2 GiB, 80 GiB")), 0);
    check_gpu(0, 0, 2, 20, 1536);
    assert_true(run->nodes[0].gpus[0].memory_total_mb.max == 80 * 1024);
    assert_int_equal(import_text(HEAD ROW("01.0", "0, 10 %, 100 MiB, 80 W") "2026/02/01 00:00:02.0, 0, 9"), 0);
    check_gpu(0, 0, 1, 10, 100);
    assert_int_equal(run->n_gaps, 1);
    assert_gap(run, 0, PHRASE_LAST_LINE_CUT);
    assert_int_equal(
        import_text(HEAD ROW("01.0", "0, 10 %, 100 MiB, 80 W") "2026/02/01 00:00:02.0, 0, 30 %, 100 MiB, 9 W"), 0);
    check_gpu(0, 0, 2, 20, 100);
    assert_int_equal(run->n_gaps, 0);
}

/* Logs that went through a spreadsheet, or were appended to. */
/* nvidia-smi dmon: spaces or commas, with dates or without, the header again and again. */
static void test_dmon(void **state)
{
    (void)state;
#define DMON "# gpu    pwr  gtemp     sm    mem   pclk     fb\n# Idx      W      C      %      %    MHz     MB\n"
    assert_int_equal(
        import_text(
            DMON
            "    0     71     34     10      3   1980    100\n    1     70      -     90     40   1980    300\n" DMON
            "    0     71     34     30      3   1980    100\n    1     70     33     70     40   1980    300\n"),
        0);
    check_gpu(0, 0, 2, 20, 100);
    check_gpu(1, 1, 2, 80, 300);
    assert_int_equal(run->nodes[0].gpus[1].temperature_c.n, 1);
    assert_int_equal(run->n_gaps, 0);
    assert_int_equal(
        import_text("#Date       Time        gpu     sm\n#YYYYMMDD   HH:MM:SS    Idx      %\n"
                    " 20260201   10:00:01      3     40\n 20260201   10:00:02      3     60\n 20260201   10:0"),
        0);
    check_gpu(0, 3, 2, 50, 0);
    assert_int_equal(run->n_gaps, 1);
    assert_int_equal(assert_gap(run, 0, PHRASE_ROWS_UNREAD_CELLS)[0].count, 1);
    assert_int_equal(import_text("#gpu, pwr, sm\n#Idx, W, %\n 0, 71, 12\n 0, 71, 512\n -1, 71, 12\n"), 0);
    check_gpu(0, 0, 1, 12, 0);
    assert_int_equal(run->n_gaps, 2);
    assert_int_equal(import_text(DMON), DCR_FAIL);
}

static void test_memory_beyond_all(void **state)
{
    (void)state;
    assert_int_equal(import_text("timestamp, index, memory.used [MiB], memory.total [MiB], utilization.gpu [%]\n" ROW(
                         "01.000", "0, 100 MiB, 1000 MiB, 50 %") ROW("02.000", "0, 90000 MiB, 1000 MiB, 50 %")),
                     0);
    const struct run_gpu *g = &run->nodes[0].gpus[0];
    assert_true(g->memory_used_mb.n == 1 && g->memory_used_mb.sum == 100);
    assert_true(g->memory_total_mb.n == 2 && g->utilization_percent.n == 2);
    assert_int_equal(run->n_gaps, 1);
    assert_first_left_out(run, 0, 1, "90000 of 1000 MiB used");
}

static void test_odd_lines(void **state)
{
    (void)state;
    static const char *const same[] = {
        "timestamp, index, utilization.gpu [%]\n2026/01/31 10:00:00.5, 0, 50 %\n2026/01/31 10:00:01.5, 0, 70 %\n",
        "\"timestamp\",\"index\",\"utilization.gpu [%]\"\r\n\"2026/01/31 10:00:00.5\",\"0\",\"50 %\"\r\n"
        "\"2026/01/31 10:00:01.5\",\"0\",\"70 %\"\r\n",
        "timestamp, index, utilization.gpu [%]\n2026-01-31T10:00:00.5, 0, 50 %\n2026-01-31T10:00:01.5, 0, 70 %\n",
        "timestamp, index, utilization.gpu [%]\n2026/01/31 10:00:00.5, 0, 50 %\n"
        "timestamp, index, utilization.gpu [%]\n2026/01/31 10:00:01.5, 0, 70 %\n",
        "index, utilization.gpu [%]\n0, 50 %\nindex, utilization.gpu [%]\n0, 70 %\n"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        assert_int_equal(import_text(same[i]), 0);
        assert_int_equal(run->nodes[0].n_gpus, 1);
        assert_int_equal(run->nodes[0].gpus[0].utilization_percent.n, 2);
        assert_true(run->nodes[0].gpus[0].utilization_percent.sum > 119.9);
        assert_int_equal(run->n_gaps, i == 4); /* without times */
    }
    static const char *const odd[] = {"2026/01/31 10:00:01.5, 0, 80,5 %", "2026/01/31 10:00:01.5, 0",
                                      "2026/01/31 10:00:01.5, -1, 80 %", "2026/01/31 10:00:01.5, 99999999999, 80 %"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s%s\n2026/01/31 10:00:02.5, 0, 50 %%\n", same[0], odd[i]);
        assert_int_equal(import_text(text), 0);
        assert_int_equal(run->nodes[0].gpus[0].utilization_percent.n, 3);
        assert_int_equal(run->n_gaps, 1);
        assert_int_equal(assert_gap(run, 0, PHRASE_ROWS_UNREAD)[0].count, 1);
    }
}

/* A log continued with other columns: after them a cell no longer matches the first line. */
static void test_another_header(void **state)
{
    (void)state;
    static const char *const others[] = {"timestamp, power.draw, temperature.gpu", "timestamp, temperature.gpu",
                                         "timestamp, temperature.gpu, power.draw [mW]"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char text[512];
        snprintf(text, sizeof text, "timestamp, temperature.gpu, power.draw\n%s%s\n%s%s", ROW("01.0", "60, 90"),
                 others[i], ROW("02.0", "90, 60"), ROW("03.0", "90, 60"));
        assert_int_equal(import_text(text), 0);
        assert_int_equal(run->nodes[0].gpus[0].temperature_c.n, 1);
        assert_true(run->nodes[0].gpus[0].temperature_c.sum == 60);
        assert_int_equal(run->n_gaps, 1);
        assert_gap(run, 0, PHRASE_OTHER_HEADER);
        assert_int_equal(assert_gap(run, 0, PHRASE_LINES_BEHIND)[0].count, 2);
    }
}

static void test_nothing_is_sampled(void **state)
{
    (void)state;
    assert_int_equal(import_text("index, name\n0, NVIDIA A100\n1, NVIDIA A100\n"), DCR_FAIL);
    assert_non_null(strstr(err.text, "samples nothing: its columns are index, name; record with --query-gpu="));
    assert_int_equal(import_text("timestamp, uuid\r\n2026/04/25 16:06:06.780, GPU-1\r\n"), DCR_FAIL);
    assert_int_equal(import_text("index, name\n0, Smith\n"), DCR_END); /* another program's */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_header, forget),
        cmocka_unit_test_teardown(test_no_header, forget),
        cmocka_unit_test_teardown(test_no_times, forget),
        cmocka_unit_test_teardown(test_bare_numbers, forget),
        cmocka_unit_test_teardown(test_refused, forget),
        cmocka_unit_test_teardown(test_values, forget),
        cmocka_unit_test_teardown(test_nothing_is_sampled, forget),
        cmocka_unit_test_teardown(test_memory_beyond_all, forget),
        cmocka_unit_test_teardown(test_dmon, forget),
        cmocka_unit_test_teardown(test_odd_lines, forget),
        cmocka_unit_test_teardown(test_another_header, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
