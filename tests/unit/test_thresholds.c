/* test_thresholds.c - the table of thresholds, its documented file, and reading a file of that form. */
#include "render/metrics/thresholds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_text(struct thresholds *t, const char *text, struct dcr_err *err)
{
    char path[] = "/tmp/dcreport-thresholds.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    int rc = thresholds_read(t, path, err);
    unlink(path);
    return rc;
}

static void test_documented_file_is_the_table(void **state)
{
    (void)state;
    struct thresholds defaults = thresholds_default(), read;
    struct dcr_err err = {0};
    memset(&read, 0xff, sizeof read); /* NANs: a name that the file lacks would stay one */
    if (thresholds_read(&read, "docs/thresholds", &err)) {
        if (err.sys) {
            print_message("docs/thresholds is read from the top of the repository\n");
            skip();
        }
        fail_msg("%s", err.text);
    }
#define X(name, def, lo, hi, meaning)  \
    if (!(read.name == defaults.name)) \
        fail_msg("docs/thresholds has %s = %g, the table %g", #name, read.name, defaults.name);
    THRESHOLDS(X)
#undef X
}

static void test_reading(void **state)
{
    (void)state;
    struct thresholds t = thresholds_default();
    assert_int_equal(read_text(&t, "# mine\n\n data_limits = 0.5 # half\r\nfew_steps=10\n", NULL), 0);
    assert_true(t.data_limits == 0.5);
    assert_true(t.few_steps == 10);
    assert_true(t.comm_limits == 0.20);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"data_limits 0.5\n", "expected 'name = number'"},
        {"data_limit = 0.5\n", "unknown threshold 'data_limit'"},
        {"x\n# c\ndata_limits = 0.5\n", "line 1"},
        {"\ndata_limits = 50\n", "line 2"},
        {"data_limits = 0.5x\n", "not '0.5x'"},
        {"data_limits = nan\n", "not 'nan'"},
        {"data_limits =\n", "data_limits takes"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct thresholds t = thresholds_default();
        struct dcr_err err = {0};
        assert_int_equal(read_text(&t, bad[i].text, &err), DCR_FAIL);
        if (!strstr(err.text, bad[i].says))
            fail_msg("'%s' gives '%s'", bad[i].text, err.text);
    }
    struct thresholds t;
    struct dcr_err err = {0};
    assert_int_equal(thresholds_read(&t, "/nonexistent/file", &err), DCR_FAIL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documented_file_is_the_table),
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
