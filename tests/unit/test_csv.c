/* test_csv.c - lib/csv: quoting, line ends, rows of the wrong length, cells that are not numbers. */
#include "lib/base/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
    struct dcr_memory memory;
    struct dcr_stream stream;
    struct dcr_csv *csv;
    struct dcr_err err;
};

static int open_text(struct fixture *f, const char *text)
{
    memset(f, 0, sizeof *f);
    f->memory = (struct dcr_memory){text, strlen(text), 0};
    f->stream = dcr_stream_memory(&f->memory, "t.csv");
    return dcr_csv_open(&f->csv, &f->stream, &f->err);
}

static void reads_cells_by_name(void **state)
{
    (void)state;
    struct fixture f;
    assert_int_equal(open_text(&f, "\xef\xbb\xbf"
                                   "a, b ,c\r\n1,\"x \"\"y\"\", z\",\n\n2,,-7\n"),
                     0);
    assert_int_equal(dcr_csv_n_columns(f.csv), 3);
    assert_int_equal(dcr_csv_column(f.csv, "a"), 0);
    assert_int_equal(dcr_csv_column(f.csv, "b"), 1);
    assert_int_equal(dcr_csv_column(f.csv, "nope"), -1);
    assert_int_equal(dcr_csv_next(f.csv, &f.err), 0);
    assert_string_equal(dcr_csv_text(f.csv, 1), "x \"y\", z");
    double v = 5;
    assert_int_equal(dcr_csv_double(f.csv, 2, &v, &f.err), DCR_END);
    assert_true(v == 5.0);
    assert_int_equal(dcr_csv_next(f.csv, &f.err), 0);
    assert_int_equal(dcr_csv_line(f.csv), 4);
    int64_t i = 0;
    assert_int_equal(dcr_csv_int(f.csv, 2, &i, &f.err), 0);
    assert_int_equal(i, -7);
    assert_int_equal(dcr_csv_double(f.csv, -1, &v, &f.err), DCR_END);
    assert_int_equal(dcr_csv_next(f.csv, &f.err), DCR_END);
    dcr_csv_close(f.csv);
}

static void quoted_cells_may_span_lines_and_pieces(void **state)
{
    (void)state;
    size_t n = 200000;
    char *text = malloc(n + 64);
    assert_non_null(text);
    memcpy(text, "a,b\n\"", sizeof "a,b\n\"");
    size_t k = strlen(text);
    for (size_t i = 0; i < n; i++)
        text[k++] = i % 100 == 99 ? '\n' : 'x';
    memcpy(text + k, "\",2\n", sizeof "\",2\n");
    struct fixture f;
    assert_int_equal(open_text(&f, text), 0);
    assert_int_equal(dcr_csv_next(f.csv, &f.err), 0);
    assert_int_equal(strlen(dcr_csv_text(f.csv, 0)), n);
    assert_string_equal(dcr_csv_text(f.csv, 1), "2");
    dcr_csv_close(f.csv);
    free(text);
}

static void bad_rows_are_named_and_passed(void **state)
{
    (void)state;
    struct fixture f;
    assert_int_equal(open_text(&f, "a,b\n1,2,3\n4\n5,6\n7,nan\n8,1e999\n9,12x\n\"open"), 0);
    assert_int_equal(dcr_csv_next(f.csv, &f.err), DCR_FAIL);
    assert_string_equal(f.err.text,
                        "'t.csv' line 2 has 3 cells instead of 2; give each line as many cells as the header");
    assert_int_equal(dcr_csv_next(f.csv, &f.err), DCR_FAIL);
    assert_int_equal(dcr_csv_next(f.csv, &f.err), 0);
    double v = 0;
    assert_int_equal(dcr_csv_double(f.csv, 1, &v, &f.err), 0);
    assert_true(v == 6.0);
    for (int row = 0; row < 3; row++) {
        assert_int_equal(dcr_csv_next(f.csv, &f.err), 0);
        assert_int_equal(dcr_csv_double(f.csv, 1, &v, &f.err), DCR_FAIL);
        assert_non_null(strstr(f.err.text, "column 'b'"));
    }
    assert_int_equal(dcr_csv_next(f.csv, &f.err), DCR_FAIL);
    assert_non_null(strstr(f.err.text, "does not end"));
    assert_string_equal(dcr_csv_text(f.csv, 0), ""); /* no row is left behind */
    assert_int_equal(dcr_csv_next(f.csv, &f.err), DCR_END);
    dcr_csv_close(f.csv);
}

static void empty_and_binary_files_are_refused(void **state)
{
    (void)state;
    struct fixture f;
    assert_int_equal(open_text(&f, ""), DCR_FAIL);
    assert_non_null(strstr(f.err.text, "is empty"));
    assert_null(f.csv);
    f.memory = (struct dcr_memory){"a\0b\n", 4, 0};
    f.stream = dcr_stream_memory(&f.memory, "t.csv");
    assert_int_equal(dcr_csv_open(&f.csv, &f.stream, &f.err), DCR_FAIL);
    assert_non_null(strstr(f.err.text, "is not text: it holds a NUL byte; save it as UTF-8"));
    static char row[2 << 20];
    memset(row, 'x', sizeof row);
    f.memory = (struct dcr_memory){row, sizeof row, 0};
    assert_int_equal(dcr_csv_open(&f.csv, &f.stream, &f.err), DCR_FAIL);
    assert_non_null(strstr(f.err.text, "line 1: longer than 1048576 bytes; is this a CSV file?"));
}

static void put_quotes_what_needs_it(void **state)
{
    (void)state;
    struct dcr_buf b = {0};
    dcr_csv_put(&b, "plain");
    dcr_buf_putc(&b, ',');
    dcr_csv_put(&b, "a,\"b\"\n");
    assert_string_equal(dcr_buf_text(&b), "plain,\"a,\"\"b\"\"\n\"");
    dcr_buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_cells_by_name),           cmocka_unit_test(quoted_cells_may_span_lines_and_pieces),
        cmocka_unit_test(bad_rows_are_named_and_passed), cmocka_unit_test(empty_and_binary_files_are_refused),
        cmocka_unit_test(put_quotes_what_needs_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
