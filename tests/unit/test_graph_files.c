/* test_graph_files.c - one road graph in every format (tests/data/readers, written by make.py and make_python2.py
 * there), and files that are not graphs. */
#include "trainer/formats/formats.h"

#include "tests/unit/trainer_files.h"

#define DATA "tests/data/readers/"

static struct dataset data;

static int load_data(void **state)
{
    struct dcr_err err = {0};
    return scratch_make(state) ? -1 : dataset_read(&data, &(struct dataset_file){.path = DATA "speeds.csv"}, &err);
}

static int release_data(void **state)
{
    dataset_release(&data);
    return scratch_remove(state);
}

static void expect_same(const char *path, enum graph_format format)
{
    static const double expected[16] = {1, .5, 0, 0, 0, 1, .25, 0, 0, 0, 1, 0, .75, 0, 0, 1};
    struct graph_csr a = {0};
    struct dcr_err err = {0};
    double dense[16];
    size_t n_unknown = 9;
    if (graph_read(&(struct graph_file){path, format, 0}, &data, &a, &n_unknown, &err))
        fail_msg("%s", err.text);
    graph_csr_to_dense(&a, dense);
    assert_memory_equal(dense, expected, sizeof dense);
    assert_int_equal(n_unknown, 0);
    graph_csr_free(&a);
}

static void expect_failure(const char *path, enum graph_format format, const char *part)
{
    struct graph_csr a = {0};
    struct dcr_err err = {0};
    assert_int_equal(graph_read(&(struct graph_file){path, format, 0}, &data, &a, NULL, &err), DCR_FAIL);
    assert_sentence(err, part);
    assert_null(a.row_start);
}

static void every_format_gives_the_same_graph(void **state)
{
    (void)state;
    expect_same(DATA "edges.csv", GRAPH_AUTO);
    expect_same(DATA "weights.npy", GRAPH_WEIGHT_MATRIX);
    expect_same(DATA "weights.npz", GRAPH_WEIGHT_MATRIX); /* Fortran order */
    expect_same(DATA "weights-csr.npz", GRAPH_AUTO);
    expect_same(DATA "weights-csc.npz", GRAPH_AUTO);
    expect_same(DATA "weights-coo.npz", GRAPH_WEIGHT_MATRIX);
}

static void every_pickle_gives_the_same_graph(void **state)
{
    (void)state;
    static const char *const names[] = {"adj_mx",           "adj_mx-python2-1", "adj_mx-windows",   "adj_mx-python3-0",
                                        "adj_mx-python3-1", "adj_mx-python3-2", "adj_mx-python3-3", "adj_mx-python3-4",
                                        "adj_mx-python3-5", "adj_mx-numbers"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[200];
        snprintf(path, sizeof path, DATA "%s.pkl", names[i]);
        expect_same(path, GRAPH_AUTO);
    }
    expect_failure(DATA "adj_mx.pkl", GRAPH_DISTANCE_MATRIX, "leave --graph-format out");
}

static void a_pickle_runs_nothing(void **state)
{
    (void)state;
    expect_failure(DATA "bad-evil.pkl", GRAPH_AUTO, "it wants to run posix.system");
    expect_failure(DATA "bad-evil.pkl", GRAPH_AUTO, "pickle.load(open('bad-evil.pkl', 'rb'), encoding='latin1')[2])\"");
    assert_int_not_equal(access("/tmp/dcreport-pickle-ran", F_OK), 0);
}

static void what_is_no_graph_is_refused(void **state)
{
    (void)state;
    expect_failure(DATA "bad-matrix-only.pkl", GRAPH_AUTO, "it lacks three parts");
    expect_failure(DATA "bad-three.pkl", GRAPH_AUTO, "it lacks a row and a column for each sensor id");
    expect_failure(DATA "bad-twice.pkl", GRAPH_AUTO, "sensor 2: sensor id '773869' occurs twice");
    expect_failure(DATA "weights.npy", GRAPH_AUTO, "say --graph-format distance-matrix or weight-matrix");
    expect_failure(DATA "weights.npy", GRAPH_WEIGHT_LIST, "is not a list");
    expect_failure(DATA "weights.npy", GRAPH_DISTANCE_MATRIX, "no distance exceeds 1 metre");
    expect_failure(DATA "speeds.npy", GRAPH_WEIGHT_MATRIX, "a matrix of 4 x 4 is needed");
    expect_failure(DATA "bad-several.npz", GRAPH_WEIGHT_MATRIX, "should hold one matrix; it has a (48, 4), b (48, 4)");
    expect_failure(DATA "weights-bsr.npz", GRAPH_AUTO, "sparse format 'bsr' is not csr, csc or coo");
    expect_failure(DATA "bad-sparse.npz", GRAPH_AUTO, "the parts of its sparse matrix do not fit together");
    expect_failure(DATA "metr-la.h5", GRAPH_AUTO, "is an HDF5 file; a graph is");
    expect_failure(DATA "windows", GRAPH_AUTO, "is a folder; a graph is");
}

/* A pickle of protocol 0 is text: a sensor's id as a number with a point. */
static void odd_parts_are_refused(void **state)
{
    (void)state;
    static const struct scratch_array format = {"format.npy", "|S2', 'shape': ()", 2, 'c'};
    static const struct scratch_array negative = {"adj.npy", "|i1', 'shape': (4, 4)", 16, -1};
    char bytes[4096] = "";
    expect_failure(scratch_npz("sparse.npz", &format, 1), GRAPH_AUTO, "does not say how its sparse matrix is stored");
    expect_failure(scratch_npz("adj.npz", &negative, 1), GRAPH_WEIGHT_MATRIX, "row 1, column 1: -1 is no weight");
    FILE *f = fopen(DATA "adj_mx-python3-0.pkl", "rb");
    assert_non_null(f);
    assert_in_range(fread(bytes, 1, sizeof bytes - 1, f), 100, sizeof bytes - 2);
    fclose(f);
    *strstr(bytes, "V773869") = 'F';
    expect_failure(scratch_file("ids.pkl", bytes), GRAPH_AUTO, "sensor 1 has an id that is no text of up to");
}

/* The data name sensors that the graph lacks, and the reverse. */
static void sensors_must_match(void **state)
{
    (void)state;
    char first[DATASET_ID_BYTES];
    struct graph_csr a = {0};
    struct dcr_err err = {0};
    memcpy(first, data.id[0], sizeof first);
    snprintf(data.id[0], sizeof first, "stranger");
    expect_failure(DATA "adj_mx.pkl", GRAPH_AUTO, "sensor 1: sensor '773869' is not in the data; --graph-subset");
    struct graph_file part = {DATA "adj_mx.pkl", GRAPH_AUTO, 1};
    assert_int_equal(graph_read(&part, &data, &a, NULL, &err), DCR_FAIL);
    assert_sentence(err, "lacks sensor 'stranger' of the data");
    memcpy(data.id[0], first, sizeof first);
    data.n_sensors = 3; /* the graph knows a fourth */
    size_t n_unknown = 0;
    assert_int_equal(graph_read(&part, &data, &a, &n_unknown, &err), 0);
    assert_int_equal(n_unknown, 1);
    assert_int_equal(graph_csr_nnz(&a), 5);
    graph_csr_free(&a);
    data.n_sensors = 4;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_gives_the_same_graph),
        cmocka_unit_test(every_pickle_gives_the_same_graph),
        cmocka_unit_test(a_pickle_runs_nothing),
        cmocka_unit_test(what_is_no_graph_is_refused),
        cmocka_unit_test(odd_parts_are_refused),
        cmocka_unit_test(sensors_must_match),
    };
    return cmocka_run_group_tests(tests, load_data, release_data);
}
