/* test_json_index.c - the parts of reading large JSON: decimal numbers, escaped texts, the index of brackets. */
#include "render/import/text/decimal.h"
#include "render/import/text/json_index.h"
#include "render/import/text/json_window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int64_t scaled(const char *text, int scale)
{
    int64_t v = -12345;
    size_t n = strlen(text);
    char *copy = malloc(n); /* nothing after it may be read */
    memcpy(copy, text, n);
    int rc = decimal_scaled(copy, copy + n, scale, &v);
    free(copy);
    return rc ? -12345 : v;
}

static void test_decimal(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } micro[] = {{"0", 0},
                 {"1", 1000},
                 {"1711964646543.183", 1711964646543183},
                 {"1623142623531625", 1623142623531625000},
                 {"0.001", 1},
                 {"0.0009", 0},
                 {"1.9999", 1999},
                 {"-2.5", -2500},
                 {"1e3", 1000000},
                 {"1.5E-3", 1},
                 {"25e-4", 2},
                 {"1.25e+2", 125000},
                 {"\"12.5\"", 12500},
                 {"\" 7 \"", 7000},
                 {"9223372036854775.807", INT64_MAX},
                 {"9223372036854775.808", -12345},
                 {"1e17", -12345},
                 {"1e-999999999", 0},
                 {"0e999999999", 0},
                 {".5", 500},
                 {"NaN", -12345},
                 {"Infinity", -12345},
                 {"", -12345},
                 {"-", -12345},
                 {"1x", -12345},
                 {"\"1", -12345},
                 {"1e", -12345},
                 {"null", -12345},
                 {"1.2.3", -12345},
                 {"9007199254740993", 9007199254740993000},
                 {"123456789012345678901e-9", 123456789012345}, /* more digits than an integer holds */
                 {"0.00001234567890123456789e5", 1234},
                 {"12345678901234567890123e-40", 0},
                 {"-1.23456789012345678901e-1", -123}};
    for (size_t i = 0; i < sizeof micro / sizeof *micro; i++)
        if (scaled(micro[i].text, 3) != micro[i].value)
            fail_msg("'%s' is %lld, not %lld", micro[i].text, (long long)scaled(micro[i].text, 3),
                     (long long)micro[i].value);
    assert_int_equal(scaled("7.9", 0), 7);
    assert_int_equal(scaled("0.151510500668043782", 9), 151510500);
}

static void test_unescape(void **state)
{
    (void)state;
    char out[16];
    assert_int_equal(json_unescape("a\\n\\u00e9", 9, out, sizeof out), 4);
    assert_string_equal(out, "a\n\xc3\xa9");
    json_unescape("\\ud800x\\", 8, out, sizeof out);
    assert_string_equal(out, "?x?");
    json_unescape("\\u0000", 6, out, sizeof out);
    assert_string_equal(out, "?");
    assert_int_equal(json_unescape("0123456789abcdefgh", 18, out, sizeof out), 15);
}

/* The index by the plain rule, a byte at a time: all three implementations must find the same. */
static void check_index(const struct json_index *x, const char *text, size_t n)
{
    int in_string = 0, is_escaped = 0;
    for (size_t i = 0; i < n; i++) {
        int is_quote = text[i] == '"' && !is_escaped;
        int is_bracket = !in_string && strchr("{}[]", text[i]) != NULL;
        assert_int_equal(x->quotes[i / 64] >> i % 64 & 1, is_quote);
        assert_int_equal(x->brackets[i / 64] >> i % 64 & 1, is_bracket);
        in_string ^= is_quote;
        is_escaped = text[i] == '\\' && !is_escaped;
    }
}

static void test_index(void **state)
{
    (void)state;
    static const char letters[] = "\"\"\\\\{}[],: ab";
    enum { LONGEST = 400 };
    struct json_index x = {0};
    uint32_t seed = 7;
    for (size_t n = 0; n < LONGEST; n++) {
        char *text = calloc(1, n + WINDOW_PAD); /* nothing after the pad may be read */
        for (size_t i = 0; i < n; i++)
            text[i] = letters[((seed = seed * 1664525u + 1013904223u) >> 20) % (sizeof letters - 1)];
        for (int way = 0; way < 3; way++) {
            json_index_way(way);
            assert_int_equal(json_index_make(&x, text, text + n), 0);
            check_index(&x, text, n);
            assert_true(json_index_quote(&x, text + n) >= text + n);
        }
        free(text);
    }
    json_index_way(0);
    static const char nested[WINDOW_PAD + 64] = "{\"a}\\\"\":[{},{\"b\":[1]}]} {";
    assert_int_equal(json_index_make(&x, nested, nested + strlen(nested)), 0);
    assert_string_equal(json_index_close(&x, nested), " {");
    assert_null(json_index_close(&x, nested + strlen(nested) - 1));
    json_index_release(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index),
        cmocka_unit_test(test_decimal),
        cmocka_unit_test(test_unescape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
