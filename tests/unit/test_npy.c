/* test_npy.c - what npy.h reads that the reference cases do not show: a scalar, an empty array, version 2.0. Damaged
 * files are in test_verify.c. */
#include "trainer/npy.h"

#include "lib/fs.h"

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
    size_t length = strlen(dictionary), start = version == 2 ? 12 : 10;
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
    int rc = npy_read(path, out, err);
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

static void test_bad_headers(void **state)
{
    (void)state;
    struct npy a = {0};
    struct dcr_err err = {0};
    static const char *const headers[] = {
        "{'descr': '<f8', 'fortran_order': False}\n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, }\n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-2,), }\n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }\n",
        "{'descr': '>f8', 'fortran_order': False, 'shape': (2,), }\n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (65536, 65536), }\n",
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        err.text[0] = '\0';
        assert_int_equal(read_bytes(1, headers[i], "0123456789abcdef", 16, &a, &err), DCR_FAIL);
        assert_int_equal(strncmp(err.text, "cannot read '/tmp/dcrnn-npy-", 28), 0);
        assert_null(a.values);
    }
    assert_int_equal(read_bytes(3, headers[0], "", 0, &a, &err), DCR_FAIL);
    assert_non_null(strstr(err.text, "version 3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_and_versions),
        cmocka_unit_test(test_bad_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
