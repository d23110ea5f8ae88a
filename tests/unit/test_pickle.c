/* test_pickle.c - the machine of pickle.h: values of every opcode, and programs that must be refused. Whole files of
 * every protocol are in test_graph_files.c; tests/fuzz/fuzz_pickle.c tries everything else. */
#include "trainer/formats/pickle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct dcr_arena arena;

static struct pickle_value *read_value(const char *bytes, size_t n, struct dcr_err *err)
{
    struct pickle_value *v = NULL;
    dcr_arena_release(&arena);
    int rc = pickle_read(bytes, n, "p", &arena, &v, err);
    assert_int_equal(rc == 0, v != NULL);
    return v;
}
#define VALUE(text) read_value(text, sizeof(text) - 1, NULL)

static void numbers(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        long long expected;
    } cases[] = {{"K\xff.", 3, 255},
                 {"M\x01\x02.", 4, 513},
                 {"J\xfe\xff\xff\xff.", 6, -2},
                 {"I-7\n.", 5, -7},
                 {"I01\r\n.", 6, 1},
                 {"L12L\n.", 6, 12},
                 {"\x8a\x00.", 3, 0},
                 {"\x8a\x01\xff.", 4, -1},
                 {"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f.", 11, INT64_MAX},
                 {"\x88.", 2, 1},
                 {"\x80\x04\x95\x02\0\0\0\0\0\0\0\x89.", 13, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pickle_value *v = read_value(cases[i].bytes, cases[i].n, NULL);
        assert_non_null(v);
        assert_int_equal(v->type, PICKLE_INT);
        assert_int_equal(v->integer, cases[i].expected);
    }
    assert_true(VALUE("F-1.5e3\n.")->number == -1500);
    assert_true(VALUE("G\x3f\xf8\0\0\0\0\0\0.")->number == 1.5);
    assert_int_equal(VALUE("N.")->type, PICKLE_NONE);
}

static void expect_text(const struct pickle_value *v, const char *text)
{
    assert_non_null(v);
    assert_int_equal(v->type, PICKLE_TEXT);
    assert_int_equal(v->n, strlen(text));
    assert_memory_equal(v->bytes, text, v->n);
}

static void texts(void **state)
{
    (void)state;
    expect_text(VALUE("U\x03"
                      "abc."),
                "abc");
    expect_text(VALUE("T\x03\0\0\0abc."), "abc");
    expect_text(VALUE("X\x03\0\0\0abc."), "abc");
    expect_text(VALUE("\x8c\x03"
                      "abc."),
                "abc");
    expect_text(VALUE("\x8e\x03\0\0\0\0\0\0\0abc."), "abc");
    expect_text(VALUE("S'a\\x62\\\\\\n\\''\n."), "ab\\\n'");
    expect_text(VALUE("S\"it's\"\r\n."), "it's");
    expect_text(VALUE("Va\\u005c\\u00ffb\n."), "a\\\xff"
                                               "b");
    /* bytes of Python 3 in protocol 2: _codecs.encode(text, 'latin1') */
    expect_text(VALUE("c_codecs\nencode\nX\x03\0\0\0a\xc3\xbfX\x06\0\0\0latin1\x86R."), "a\xff");
}

static void lists(void **state)
{
    (void)state;
    struct pickle_value *v = VALUE("(lp0\nI1\naI2\na(I3\nI4\ne.");
    assert_int_equal(v->type, PICKLE_LIST);
    assert_int_equal(v->n, 4);
    assert_int_equal(v->items[3]->integer, 4);
    v = VALUE("(K\x01K\x02(K\x03tt.");
    assert_int_equal(v->type, PICKLE_TUPLE);
    assert_int_equal(v->n, 3);
    assert_int_equal(v->items[2]->n, 1);
    v = VALUE("K\x07q\x05h\x05h\x05\x87.");
    assert_true(v->n == 3 && v->items[0] == v->items[2]);
    v = VALUE("]\x94(}\x94(K\x01K\x02K\x03K\x04uh\x01"
              "e.");
    assert_true(v->n == 2 && v->items[0]->type == PICKLE_DICT && v->items[0] == v->items[1]);
    assert_int_equal(VALUE("(K\x01K\x02"
                           "d.")
                         ->type,
                     PICKLE_DICT);
    v = VALUE("]q\0h\0a."); /* a list in itself, which is never followed */
    assert_true(v->n == 1 && v->items[0] == v);
}

static void expect_refusal(const char *bytes, size_t n, const char *part)
{
    struct dcr_err err = {0};
    assert_null(read_value(bytes, n, &err));
    if (!strstr(err.text, part))
        fail_msg("'%s' is not in: %s", part, err.text);
}
#define REFUSED(text, part) expect_refusal(text, sizeof(text) - 1, part)

static void what_would_run_is_named(void **state)
{
    (void)state;
    REFUSED("cos\nsystem\n(S'true'\ntR.", "it wants to run os.system");
    REFUSED("\x80\x04\x8c\x08"
            "builtins\x8c\x04"
            "eval\x93.",
            "it wants to run builtins.eval");
    REFUSED("cnumpy\nload\n.", "it wants to run numpy.load");
    REFUSED("cnumpy.core.multiarray\nscalar\n.", "numpy.core.multiarray.scalar");
    REFUSED("c_codecs\nencode\n(S'a'\nS'hex'\ntR.", "not read here");
    REFUSED("K\x01\x85R.", "calls without arguments");
    REFUSED("K\x01K\x02\x85R.", "not read here"); /* a number is not a function */
    REFUSED("(S'a'\nios\nsystem\n.", "opcode 0x69");
    REFUSED("P1\n.", "opcode 0x50"); /* persistent ids */
    REFUSED("\x82\x01.", "opcode 0x82");
}

static void broken_programs_are_refused(void **state)
{
    (void)state;
    REFUSED("", "ends before it is complete");
    REFUSED("K\x01", "ends before it is complete");
    REFUSED(".", "makes nothing");
    REFUSED("(.", "makes nothing");
    REFUSED("K", "ends in the middle");
    REFUSED("T\xff\xff\xff\xff"
            "abc.",
            "ends in the middle");
    REFUSED("\x8e\xff\xff\xff\xff\xff\xff\xff\xff"
            "abc.",
            "ends in the middle");
    REFUSED("S'abc", "ends in the middle");
    REFUSED("G\x3f", "ends in the middle");
    REFUSED("cos", "ends in the middle");
    REFUSED("K\x01K\x02\x93.", "no function");
    REFUSED("S'abc\n.", "a text that cannot be read");
    REFUSED("V\\u0100\n.", "a text that cannot be read");
    REFUSED("Iabc\n.", "no number");
    REFUSED("\x8a\x09"
            "123456789.",
            "over 8 bytes");
    REFUSED("K\x01t.", "no mark");
    REFUSED("\x86.", "stack is empty");
    REFUSED("(\x85.", "in disorder");
    REFUSED("K\x01"
            "a.",
            "stack is empty");
    REFUSED("K\x01K\x02"
            "a.",
            "no list or dictionary");
    REFUSED("h\x07.", "never stored");
    REFUSED("g-1\n.", "never stored");
    REFUSED("q\0.", "remembers nothing");
    REFUSED("K\x01r\xff\xff\xff\xff.", "too much");
    REFUSED("K\x01p99999999\n.", "too much");
}

/* An array whose bytes are fewer than its shape promises. */
static void arrays_must_be_whole(void **state)
{
    (void)state;
#define ARRAY(rows, data)                                                 \
    "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85U\x01" \
    "b\x87R(K\x01K" rows "K\x02\x86"                                      \
    "cnumpy\ndtype\nU\x02"                                                \
    "f4K\0K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb\x89" data "tb."
    struct pickle_value *v = VALUE(ARRAY("\x01", "U\x08\0\0\x80\x3f\0\0\0\x40"));
    assert_non_null(v);
    assert_int_equal(v->type, PICKLE_ARRAY);
    assert_int_equal(v->shape->items[1]->integer, 2);
    assert_true(npy_number(&v->dtype->type_of_items, (const unsigned char *)v->data->bytes + 4) == 2);
    REFUSED(ARRAY("\x02", "U\x08\0\0\x80\x3f\0\0\0\x40"), "not read here");
    REFUSED(ARRAY("\x01", "N"), "not read here");
}

/* Each of these opcodes costs an object; together they would cost gigabytes. */
static void memory_is_bounded(void **state)
{
    (void)state;
    static char program[1 << 20];
    memset(program, ']', sizeof program);
    program[sizeof program - 1] = '.';
    expect_refusal(program, sizeof program, "more objects than a graph has");
    dcr_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(texts),
        cmocka_unit_test(lists),
        cmocka_unit_test(what_would_run_is_named),
        cmocka_unit_test(broken_programs_are_refused),
        cmocka_unit_test(arrays_must_be_whole),
        cmocka_unit_test(memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
