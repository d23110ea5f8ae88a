/* test_npy.c - what numpy.h reads that the reference cases do not show: a scalar, an empty array, versions 2.0 and 3.0,
 * byte orders, Fortran order, whole numbers; headers that contradict the file. More damaged files are in
 * test_verify.c. */
#include "trainer/formats/numpy.h"

#include "lib/base/fs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A file of the given version, dictionary and data; read; removed. */
static int read_bytes(int version, const char *dictionary, const void *data, size_t n, struct npy *out,
                      struct dcr_err *err)
{
    char path[] = "/tmp/dcrnn-npy-XXXXXX", bytes[512];
    size_t length = strlen(dictionary), start = version > 1 ? 12 : 10;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (char)version;
    bytes[7] = 0;
    memset(bytes + 8, 0, 4);
    bytes[8] = (char)length;
    memcpy(bytes + start, dictionary, length);
    memcpy(bytes + start + length, data, n);
    FILE *f = fdopen(fd, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, start + length + n, f), start + length + n);
    fclose(f);
    int rc = npy_read(path, NULL, out, err);
    remove(path);
    return rc;
}

static void test_shapes_and_versions(void **state)
{
    (void)state;
    struct npy a = {0};
    const double two[] = {1.5, -2};
    const float three[] = {1, 2, 0.1f};
    assert_int_equal(read_bytes(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }\n", two, 8, &a, NULL), 0);
    assert_int_equal(a.n_dims, 0);
    assert_int_equal(a.n, 1);
    assert_true(a.values[0] == 1.5);
    npy_free(&a);
    assert_int_equal(read_bytes(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }\n", two, 0, &a, NULL),
                     0);
    assert_int_equal(a.n, 0);
    npy_free(&a);
    assert_int_equal(read_bytes(2, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n", two, 16, &a, NULL),
                     0);
    assert_true(a.n_dims == 1 && a.dim[0] == 2 && a.values[1] == -2 && a.is_double);
    npy_free(&a);
    assert_int_equal(read_bytes(1, "{'shape': (1,3), 'fortran_order': False, 'descr': '<f4'}", three, 12, &a, NULL), 0);
    assert_true(a.n_dims == 2 && a.dim[1] == 3 && a.values[2] == (double)0.1f && !a.is_double);
    npy_free(&a);
}

static void test_types(void **state)
{
    (void)state;
    static const struct {
        const char *type, *bytes;
        size_t n;
        double expected;
    } cases[] = {
        {"<f8", "\0\0\0\0\0\0\xf8\x3f", 8, 1.5},
        {">f8", "\x3f\xf8\0\0\0\0\0\0", 8, 1.5},
        {">f4", "\x3f\xc0\0\0", 4, 1.5},
        {"|i1", "\xfe", 1, -2},
        {"|u1", "\xfe", 1, 254},
        {"|b1", "\1", 1, 1},
        {"<i2", "\xfe\xff", 2, -2},
        {">u2", "\xff\xfe", 2, 65534},
        {"<i4", "\xfe\xff\xff\xff", 4, -2},
        {">i8", "\xff\xff\xff\xff\xff\xff\xff\xfe", 8, -2},
        {"<u8", "\0\0\0\0\0\0\0\x80", 8, 9223372036854775808.0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int version = 1; version <= 3; version++) {
            char header[100];
            struct npy a = {0};
            struct dcr_err err = {0};
            snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (1,), }\n",
                     cases[i].type);
            if (read_bytes(version, header, cases[i].bytes, cases[i].n, &a, &err))
                fail_msg("%s", err.text);
            assert_true(a.values[0] == cases[i].expected);
            npy_free(&a);
        }
}

static void test_fortran_order(void **state)
{
    (void)state;
    /* values[i][j][k] = 100 i + 10 j + k, the first index running fastest */
    unsigned char raw[2 * 3 * 4];
    struct npy a = {0};
    for (size_t n = 0; n < 24; n++)
        raw[n] = (unsigned char)(100 * (n % 2) + 10 * (n / 2 % 3) + n / 6);
    assert_int_equal(
        read_bytes(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3L, 4), }\n", raw, 24, &a, NULL), 0);
    for (size_t n = 0; n < 24; n++)
        assert_true(a.values[n] == (double)(100 * (n / 12) + 10 * (n / 4 % 3) + n % 4));
    npy_free(&a);
}

static void test_bad_headers(void **state)
{
    (void)state;
    static const struct {
        const char *header, *part;
    } cases[] = {
        {"{'descr': '<f8', 'fortran_order': False}\n", "not that of an array"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, }\n", "not that of an array"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (-2,), }\n", "not that of an array"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }\n", "not that of an array"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }\n", "not that of an array"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }\n", "more than this program handles"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (65536, 32769), }\n", "more than this program handles"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2000000000,), }\n", "it ends before"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }\n", "longer than its header says"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }\n", "type <c8; only floats and whole numbers"},
        {"{'descr': '|S8', 'fortran_order': False, 'shape': (2,), }\n", "type |S8"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2,), }\n", "type |O"},
        {"{'fortran_order': False, 'shape': (2,), 'descr':", "type ;"}, /* nothing behind the colon is read */
        {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }\n", "type [('a', '<f8')"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct npy a = {0};
        struct dcr_err err = {0};
        assert_int_equal(read_bytes(1, cases[i].header, "0123456789abcdef", 16, &a, &err), DCR_FAIL);
        assert_int_equal(strncmp(err.text, "cannot read '/tmp/dcrnn-npy-", 28), 0);
        if (!strstr(err.text, cases[i].part))
            fail_msg("'%s' is not in: %s", cases[i].part, err.text);
        assert_null(a.values);
    }
    struct npy a = {0};
    struct dcr_err err = {0};
    assert_int_equal(read_bytes(4, cases[0].header, "", 0, &a, &err), DCR_FAIL);
    assert_non_null(strstr(err.text, "version 4"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_and_versions),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_fortran_order),
        cmocka_unit_test(test_bad_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
