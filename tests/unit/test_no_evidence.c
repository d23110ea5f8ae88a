/* test_no_evidence.c - render/import: files of unknown format, some of which are plainly not evidence. */
#include "render/import/import.h"
#include "render/import/no_evidence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *text;
    int is_none;
} cases[] = {
    {"README.md", "# Results\n\nOf the runs in May.\n", 1},
    {"train.log", "[2025-05-01] INFO epoch 1\n", 1},
    {"log.json", "[2025-05-01] INFO epoch 1\n", 0}, /* JSON by its name, without an end */
    {"job.conf", "lr = 0.1\n", 1},
    {"config.json", "{\"lr\": 0.1, \"ph\": 1}", 0}, /* a word of traces */
    {"config.json", "{\"lr\": 0.1}\n", 1},
    {"lines", "{\"lr\": 0.1}\n{\"lr\": 0.2}\n", 1},
    {"cut.json", "{\"schem", 0},
    {"cut.json", "\xef\xbb\xbf {\"lr\": 0.1", 0},
    {"cut.json", "{\"schemaVersion\": 1, \"deviceProp", 0},
    {"talp.json", "{\"dlbVersion\": \"3.5\"", 0},
    {"loss.csv", "epoch,loss\n1,0.5\n", 1},
    {"smi.csv", "timestamp, utilization.gpu [%]\n", 0},
    {"ncu.txt", "==PROF== Connected to process 7\n", 0},
    {"empty.err", "", 1},
    {"empty.json", " \n", 0},
    {"empty.csv", "", 0},
    {"x.bin", "\x28\xb5\x2f\xfd....", 0},
    {"x.bin", "\x1f\x8b....", 0},
    {"x.bz2", "BZh1....", 0},
    {"x.bz2", "BZh9....", 0},
    {"words", "BZhello", 1},
    {"x.zip", "PK\x03\x04....", 0},
    {"x.zip", "PK\x05\x06....", 0},
    {"x.7z", "7z\xbc\xaf\x27\x1c....", 0},
    {"x.Z", "\x1f\x9d....", 0},
    {"x", "SQLite format", 0},
    {"x", "DCRDCT1\n....", 0},
    {"report.nsys-rep", "anything", 0},
    {"perf.data", "PERFILE2....", 0},
    {"curve.png", "\x89PNG\r\n....", 1},
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (is_no_evidence(cases[i].text, strlen(cases[i].text), 1, cases[i].name) != cases[i].is_none)
            fail_msg("'%s' in %s is not %d", cases[i].text, cases[i].name, cases[i].is_none);
    char tar[512] = "name of a member";
    memcpy(tar + 257, "ustar", 5);
    assert_int_equal(is_no_evidence(tar, sizeof tar, 1, "x"), 0);
    assert_int_equal(is_no_evidence("\x5d\0\0\x80\0....", 9, 1, "x.lzma"), 0);
    assert_int_equal(is_no_evidence("{\"lr\": 0.1", 11, 0, "goes-on.json"), 1);
}

static enum dcr_err_kind kind_of(const char *name, const char *text, size_t n, int *rc)
{
    struct dcr_memory memory = {.bytes = text, .len = n};
    struct dcr_stream s = dcr_stream_memory(&memory, name);
    struct dcr_err err = {0};
    struct run *r = run_new("x");
    *rc = import_foreign(r, name, &s, &err);
    run_free(r);
    return err.kind;
}

/* A program's own JSON, large enough to be read as a trace until it turns out to hold no events. */
static void test_large_json(void **state)
{
    (void)state;
    static char text[70000];
    int rc;
    memset(text, ' ', sizeof text);
    memcpy(text, "{\"lr\": 1", 9);
    memcpy(text + sizeof text - 2, "}\n", 2);
    assert_int_equal(kind_of("state.json", text, sizeof text, &rc), DCR_ERR_NO_EVIDENCE);
    assert_int_equal(rc, DCR_FAIL);
    memcpy(text, "{\"schemaVersion\": 1", 20);
    assert_int_equal(kind_of("state.json", text, sizeof text, &rc), DCR_ERR_NO_TRACE);
    assert_int_equal(rc, DCR_FAIL);
    assert_int_equal(kind_of("README", "hello", 5, &rc), DCR_ERR_NO_EVIDENCE);
    assert_int_equal(rc, DCR_END);
    assert_int_equal(kind_of("x", "PERFILE2", 8, &rc), DCR_ERR_ANY);
    assert_int_equal(rc, DCR_END);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_large_json)};
    return cmocka_run_group_tests_name("no_evidence", tests, NULL, NULL);
}
