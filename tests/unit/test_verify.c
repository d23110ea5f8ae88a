/* test_verify.c - --verify on cases written by the naive model: it passes them in both precisions, and it notices every
 * array that is changed, every NaN and every broken file.
 *
 * With DCRNN_WRITE_CASES=FOLDER in the environment it only writes the cases kept in tests/data/dcrnn there. */
#include "tests/unit/naive_case.h"
#include "trainer/formats/numpy.h"
#include "trainer/tools/verify.h"

#include "lib/base/fs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static char folder[256];

struct verdict {
    int rc, n_failed;
    struct dcr_err err;
    char last[256]; /* line */
    int n_lines;
};

static struct verdict verify(const char *dir)
{
    struct verdict v = {.n_failed = -1};
    char line[256];
    FILE *out = tmpfile();
    assert_non_null(out);
    v.rc = verify_case(dir, out, &v.n_failed, &v.err);
    rewind(out);
    while (fgets(line, sizeof line, out)) {
        v.n_lines++;
        memcpy(v.last, line, sizeof line);
    }
    fclose(out);
    return v;
}

static struct naive mixed_case(void)
{
    struct naive m = {.n = 5,
                      .u = 3,
                      .layers = 2,
                      .b = 2,
                      .t = 3,
                      .h = 4,
                      .k = 3,
                      .d_in = 2,
                      .d_out = 1,
                      .filter = GRAPH_DUAL_RANDOM_WALK};
    naive_fill(&m, 11);
    m.coins[0] = 1;
    m.coins[1] = 0;
    m.coins[2] = 1;
    return m;
}

static struct naive plain_case(void)
{
    struct naive m = {.n = 4,
                      .u = 2,
                      .layers = 1,
                      .b = 3,
                      .t = 2,
                      .h = 2,
                      .k = 1,
                      .d_in = 3,
                      .d_out = 2,
                      .filter = GRAPH_LAPLACIAN,
                      .recursion = DCRNN_RESET};
    naive_fill(&m, 12);
    return m;
}

static void case_path(char *out, size_t n, const char *file)
{
    assert_true(snprintf(out, n, "%s/case/%s", folder, file) < (int)n);
}

static int make_folder(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    char path[300];
    snprintf(folder, sizeof folder, "%s/dcrnn-verify-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        return -1;
    struct naive m = mixed_case();
    case_path(path, sizeof path, "");
    naive_write_case(&m, path, 5, 2);
    naive_release(&m);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return dcr_remove_tree(folder, NULL);
}

static void test_naive_cases_are_met(void **state)
{
    (void)state;
    char path[300];
    case_path(path, sizeof path, "");
    struct verdict v = verify(path);
    if (v.rc || v.n_failed)
        fail_msg("%s %s", v.err.text, v.last);
    assert_int_equal(strncmp(v.last, "verify: ok worst=", 17), 0);
    /* 2 supports, diffusion, 4 of the cell, state, predictions, 18 tensors of g, p1, p2, loss, norm; twice; the verdict
     */
    assert_int_equal(v.n_lines, 2 * (2 + 1 + 4 + 1 + 1 + 3 * 18 + 2) + 1);
    struct naive m = plain_case();
    snprintf(path, sizeof path, "%s/plain", folder);
    naive_write_case(&m, path, 0.5, 1);
    naive_release(&m);
    v = verify(path);
    assert_int_equal(v.rc, 0);
    assert_int_equal(v.n_failed, 0);
}

/* Reads a file whole, calls change on it, verifies, and puts the file back. */
static struct verdict with_changed_file(const char *file, size_t (*change)(char *bytes, size_t n))
{
    static char bytes[1 << 16], was[1 << 16];
    char path[300], dir[300];
    case_path(path, sizeof path, file);
    case_path(dir, sizeof dir, "");
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_true(n < sizeof bytes);
    memcpy(was, bytes, n);
    size_t changed = change(bytes, n);
    assert_int_equal(dcr_write_file(path, bytes, changed, NULL), 0);
    struct verdict v = verify(dir);
    assert_int_equal(dcr_write_file(path, was, n, NULL), 0);
    return v;
}

static size_t is_double(const char *bytes)
{
    return strstr(bytes + 10, "<f8") != NULL;
}

/* The value of largest magnitude, 0.1 % larger: over both limits. */
static size_t enlarge(char *bytes, size_t n)
{
    size_t start = 10 + (unsigned char)bytes[8], size = is_double(bytes) ? 8 : 4, at = start;
    double largest = -1;
    for (size_t i = start; i < n; i += size) {
        double d = 0;
        float f = 0;
        memcpy(size == 8 ? (void *)&d : &f, bytes + i, size);
        if (fabs(d) + fabs((double)f) > largest) {
            largest = fabs(d) + fabs((double)f);
            at = i;
        }
    }
    double d = 0;
    float f = 0;
    memcpy(size == 8 ? (void *)&d : &f, bytes + at, size);
    d = d * 1.001 + (d == 0);
    f = f * 1.001f + (f == 0);
    memcpy(bytes + at, size == 8 ? (const void *)&d : &f, size);
    return n;
}

static size_t put_nan(char *bytes, size_t n)
{
    double d = NAN;
    float f = NAN;
    memcpy(bytes + n - (is_double(bytes) ? 8 : 4), is_double(bytes) ? (const void *)&d : &f, is_double(bytes) ? 8 : 4);
    return n;
}

static size_t cut(char *bytes, size_t n)
{
    (void)bytes;
    return n - 1;
}

static size_t lengthen(char *bytes, size_t n)
{
    bytes[n] = 0;
    return n + 1;
}

/* A larger target in y_z matters only where a coin feeds it; a NaN always does. */
static void test_every_changed_array_is_noticed(void **state)
{
    (void)state;
    char path[300], **names = NULL;
    size_t n = 0, n_arrays = 0;
    case_path(path, sizeof path, "");
    assert_int_equal(dcr_list_dir(path, &names, &n, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        if (!strstr(names[i], ".npy"))
            continue;
        n_arrays++;
        if (strcmp(names[i], "adj_f32.npy") == 0)
            continue; /* not read: the graph is always given in double */
        struct verdict v = with_changed_file(names[i], put_nan);
        if (v.rc == 0 && v.n_failed == 0)
            fail_msg("a NaN in %s went unnoticed", names[i]);
        v = with_changed_file(names[i], enlarge);
        if (v.rc == 0 && v.n_failed == 0 && strncmp(names[i], "y_z", 3) != 0)
            fail_msg("a change of %s went unnoticed", names[i]);
        if (v.rc == 0 && v.n_failed)
            assert_int_equal(strncmp(v.last, "verify: failed worst=", 21), 0);
    }
    dcr_free_names(names, n);
    assert_int_equal(n_arrays, 2 * (4 + 2 + 1 + 4 + 1 + 1 + 4 * 18 + 2));
}

static void assert_sentence(const char *file, size_t (*change)(char *, size_t), const char *part)
{
    struct verdict v = with_changed_file(file, change);
    assert_int_equal(v.rc, DCR_FAIL);
    if (!strstr(v.err.text, part))
        fail_msg("'%s' is not in: %s", part, v.err.text);
}

/* Numbers other than the reference's, for any later comparison. */
static void assert_noticed(const char *file, size_t (*change)(char *, size_t))
{
    struct verdict v = with_changed_file(file, change);
    if (v.rc == 0 && v.n_failed == 0)
        fail_msg("a change of %s went unnoticed", file);
}

static size_t transpose_shape(char *bytes, size_t n)
{
    char *open = strchr(bytes + 10, '(');
    memcpy(open, "(4, 2, 5, 1)", 12); /* H and B stay, as many values */
    open[12] = ' ';
    return n;
}

static size_t wrong_shape(char *bytes, size_t n)
{
    char *open = strchr(bytes + 10, '(');
    memcpy(open, "(2, 4, 5, 1)", 12);
    return n;
}

static size_t fortran(char *bytes, size_t n)
{
    char *at = strstr(bytes + 10, "False");
    memcpy(at, "True ", 5);
    return n;
}

static size_t integers(char *bytes, size_t n)
{
    char *at = strstr(bytes + 10, "<f8");
    memcpy(at, "<i8", 3);
    return n;
}

static size_t complex_numbers(char *bytes, size_t n)
{
    char *at = strstr(bytes + 10, "<f8");
    memcpy(at, "<c8", 3);
    return n;
}

static size_t no_array(char *bytes, size_t n)
{
    bytes[0] = 'x';
    return n;
}

static size_t huge_shape(char *bytes, size_t n)
{
    char *open = strchr(bytes + 10, '(');
    memcpy(open, "(99999999999)", 13);
    return n;
}

static size_t not_json(char *bytes, size_t n)
{
    bytes[0] = '[';
    return n;
}

static size_t no_filter(char *bytes, size_t n)
{
    memcpy(strstr(bytes, "dual_random"), "fool_random", 11);
    return n;
}

/* Puts a text of the same length in the place of `from` in case.json. */
static const char *json_from, *json_to;
static size_t change_json(char *bytes, size_t n)
{
    bytes[n] = 0;
    char *at = strstr(bytes, json_from);
    assert_non_null(at);
    memcpy(at, json_to, strlen(json_to));
    return n;
}

static void test_broken_files_are_named(void **state)
{
    (void)state;
    char path[300], dir[300], moved[300];
    case_path(dir, sizeof dir, "");
    struct verdict v = with_changed_file("pred_z_f64.npy", transpose_shape);
    assert_int_equal(v.rc, 0);
    assert_sentence("pred_z_f64.npy", wrong_shape, "does not have the shape (4, 2, 5, 1) that case.json says");
    assert_sentence("x_f32.npy", cut, "values of its header");
    assert_sentence("x_f32.npy", lengthen, "longer than its header says");
    assert_noticed("x_f64.npy", fortran);
    assert_noticed("x_f64.npy", integers);
    assert_sentence("x_f64.npy", complex_numbers, "only floats and whole numbers are read");
    assert_sentence("x_f64.npy", no_array, "not a NumPy array file");
    assert_sentence("x_f64.npy", huge_shape, "99999999999 values are more than this program handles");
    assert_sentence("adj_f64.npy", put_nan, "weights must be finite and not negative");
    assert_sentence("case.json", not_json, "case.json");
    static const struct {
        const char *from, *to, *part;
    } cases[] = {{"\"K\"", "\"k\"", "\"K\" must be an integer from 1 to"},
                 {"\"lr\"", "\"LR\"", "\"lr\" must be a number"},
                 {"\"recursion\"", "\"RECURSION\"", "\"recursion\" must be a text"},
                 {"\"coins\"", "\"COINS\"", "\"coins\" must be a list of H = 4 numbers"},
                 {"\"coins\": [", "\"coins\": [7", "coin 1 is neither 0 nor 1"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_from = cases[i].from;
        json_to = cases[i].to;
        assert_sentence("case.json", change_json, cases[i].part);
    }
    assert_sentence("case.json", no_filter, "unknown filter 'fool_random_walk'");
    case_path(path, sizeof path, "g_proj_W_f64.npy");
    snprintf(moved, sizeof moved, "%s/away", folder);
    assert_int_equal(rename(path, moved), 0);
    v = verify(dir);
    assert_int_equal(v.rc, DCR_FAIL);
    assert_non_null(strstr(v.err.text, "g_proj_W_f64.npy': No such file or directory"));
    assert_int_equal(rename(moved, path), 0);
    v = verify("/nowhere/at/all");
    assert_int_equal(v.rc, DCR_FAIL);
}

int main(void)
{
    const char *into = getenv("DCRNN_WRITE_CASES");
    if (into) {
        char path[1024];
        struct naive mixed = mixed_case(), plain = plain_case();
        snprintf(path, sizeof path, "%s/mixed-k3", into);
        naive_write_case(&mixed, path, 5, 2);
        snprintf(path, sizeof path, "%s/laplacian-k1", into);
        naive_write_case(&plain, path, 0.5, 1);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_naive_cases_are_met),
        cmocka_unit_test(test_every_changed_array_is_noticed),
        cmocka_unit_test(test_broken_files_are_named),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
