/* test_ncu.c - output of `ncu --csv`, and summaries of `nsys stats`, whose numbers are written or are as they should
 * not be. Means by hand. */
#include "tests/unit/import_text.h"
#include "tests/unit/gaps.h"

#define HEADER "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
#define ROW(metric, unit, value) "\"0\",\"k\",\"" metric "\",\"" unit "\",\"" value "\"\n"
#define COMPUTE(value) ROW("Compute (SM) Throughput", "%", value)

enum { DURATION = 2, COMPUTE_COLUMN = 3 };

static const char *cell(int column)
{
    assert_int_equal(run->n_tables, 1);
    assert_true((size_t)column < run->tables[0].n_cells);
    return run->tables[0].cells[column];
}

static void check_cell(const char *text, int column, const char *want, int n_gaps)
{
    assert_int_equal(import_named("ncu.csv", text), 0);
    assert_string_equal(cell(column), want);
    assert_int_equal(run->n_gaps, n_gaps);
}

/* left_out: the first value that is no number; NULL = none */
static void check(const char *text, int column, const char *want, const char *left_out)
{
    check_cell(text, column, want, left_out != NULL);
    if (left_out)
        assert_string_equal(assert_gap(run, 0, PHRASE_FIRST_NO_VALUE)[1].name, left_out);
}

static void commas_are_read_as_what_they_can_be(void **state)
{
    (void)state;
    check(HEADER COMPUTE("80,5"), COMPUTE_COLUMN, "80.5", NULL);
    check(HEADER COMPUTE("80,512"), COMPUTE_COLUMN, "80.51", NULL); /* as thousands no share can be */
    check(HEADER COMPUTE("80.5") COMPUTE("60.5"), COMPUTE_COLUMN, "70.5", NULL);
    check(HEADER ROW("Duration", "ns", "1,234"), DURATION, "1234 ns", NULL);
    check(HEADER ROW("Duration", "ns", "1,234") COMPUTE("80,5"), DURATION, "1.234 ns", NULL);
    check(HEADER ROW("Duration", "ns", "1.234") COMPUTE("80,5"), DURATION, "1234 ns", NULL);
    check(HEADER ROW("Duration", "ns", "2.200.100,5"), DURATION, "2.2e+06 ns", NULL);
    check(HEADER ROW("Duration", "ns", "1,200.5"), DURATION, "1200 ns", NULL);
    check(HEADER COMPUTE("80,5") COMPUTE("70.5") COMPUTE("60.5"), COMPUTE_COLUMN, "65.5", "80,5");
}

static void what_cannot_be_true_is_left_out_and_said(void **state)
{
    (void)state;
    check(HEADER COMPUTE("nan") COMPUTE("50"), COMPUTE_COLUMN, "50", "nan");
    check(HEADER COMPUTE("nan"), COMPUTE_COLUMN, "n/a", "nan");
    check(HEADER COMPUTE("n/a"), COMPUTE_COLUMN, "n/a", NULL); /* said by ncu itself */
    check(HEADER COMPUTE("805") COMPUTE("-1") COMPUTE("0x10"), COMPUTE_COLUMN, "n/a", "805");
    assert_int_equal(assert_gap(run, 0, PHRASE_VALUES_LEFT_OUT)[0].count, 3);
    check(HEADER COMPUTE("100.4"), COMPUTE_COLUMN, "100.4", NULL); /* counters of several passes */
    check(HEADER ROW("Duration", "us", "-3") COMPUTE("7"), DURATION, "n/a", "-3");
    check(HEADER ROW("Duration", "us", "12,34,5") COMPUTE("7"), DURATION, "n/a", "12,34,5");
    check(HEADER ROW("Duration", "us", "inf") COMPUTE("7"), DURATION, "n/a", "inf");
}

#define NOTHING \
    "==PROF== Connected to process 7 (/a)\n==ERROR== ERR_NVGPUCTRPERM - no permission\n==WARNING== No kernels\n"

/* What a program left that was stopped, that profiled nothing, or that only has means. */
static void other_outputs(void **state)
{
    (void)state;
    check_cell(HEADER COMPUTE("80") "\"0\",\"k\",\"Compute (SM)", COMPUTE_COLUMN, "80", 1);
    assert_gap(run, 0, PHRASE_LAST_LINE_CUT);
    check_cell(HEADER COMPUTE("80") "\"0\",\"k\",\"Duration\"", COMPUTE_COLUMN, "80", 1);
    assert_gap(run, 0, PHRASE_LAST_LINE_CUT);
    assert_int_equal(import_named("ncu.csv", HEADER COMPUTE("80") "\"0\",\"k\"\n" COMPUTE("60")), DCR_FAIL);
    assert_int_equal(import_named("ncu.csv", NOTHING), DCR_FAIL);
    assert_non_null(strstr(err.text, "profiled nothing: ==ERROR== ERR_NVGPUCTRPERM - no permission"));
    assert_int_equal(import_named("ncu.txt", "==PROF== Connected to process 7 (/a)\n  k (8, 1, 1)\n"), DCR_FAIL);
    assert_non_null(strstr(err.text, "profile with ncu --csv"));
    check("\"Kernel Name\",\"Grid Size\",\"gpu__time_duration.sum\"\n\"\",\"\",\"ms\"\n\"k\",\"8\",\"0.25\"\n",
          DURATION, "0.25 ms", NULL);
    check("\"Kernel Name\",\"Invocations\",\"Metric Name\",\"Metric Unit\",\"Minimum\",\"Maximum\",\"Average\"\n"
          "\"k\",\"3\",\"Duration\",\"us\",\"9\",\"11\",\"10\"\n\"k\",\"1\",\"Duration\",\"us\",\"14\",\"14\",\"14\"\n",
          DURATION, "11 us", NULL); /* (3 x 10 + 14) / 4 */
    assert_string_equal(cell(1), "4");
}

#define SUMS "Time (%),Total Time (ns),Instances,Avg (ns),Name\n"

static void summaries_of_nsys(void **state)
{
    (void)state;
    enum { SHARE = 1, TOTAL = 2 };
    check(SUMS "60.0,\"1,600\",3,200.0,k\n", TOTAL, "1600", NULL);
    check(SUMS "\"60,5\",600,3,\"200,0\",k\n", SHARE, "60.5", NULL);
    check(SUMS "160.0,600,3,200.0,k\n", SHARE, "n/a", "160.0");
    check(SUMS "nan,600,3,200.0,k\n", SHARE, "n/a", "nan");
    check(SUMS "60.0,-600,3,200.0,k\n", TOTAL, "n/a", "-600");
    check(SUMS "60.0,\"1,60\",3,200.0,k\n", TOTAL, "1.60", NULL);
    check(SUMS "60.0,\"1,60,0\",3,200.0,k\n", TOTAL, "n/a", "1,60,0");
    check_cell(SUMS "60.0,600,3,200.0,k\n40.0,400,", TOTAL, "600", 1);
    assert_string_equal(assert_gap(run, 0, PHRASE_ROWS_LEFT_OUT)[2].name, "line 3 has 3 cells instead of 5");
    assert_int_equal(import_named("ncu.csv", "Time (%)|Total Time (ns)|Instances|Name\n60.0|600|3|k\n"), DCR_FAIL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(commas_are_read_as_what_they_can_be, forget),
                                       cmocka_unit_test_teardown(what_cannot_be_true_is_left_out_and_said, forget),
                                       cmocka_unit_test_teardown(other_outputs, forget),
                                       cmocka_unit_test_teardown(summaries_of_nsys, forget)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
