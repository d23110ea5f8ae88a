/* test_graph_read.c - road graphs from distance lists, edge lists and matrices. */
#include "trainer/formats/formats.h"

#include "tests/unit/trainer_files.h"

#include <math.h>

static struct dataset three;

static int make_three(void **state)
{
    struct dcr_err err = {0};
    if (scratch_make(state) || dataset_alloc(&three, 1, 3, &err))
        return -1;
    for (int i = 0; i < 3; i++)
        snprintf(three.id[i], DATASET_ID_BYTES, "%c", 'a' + i);
    return 0;
}

static int release_three(void **state)
{
    dataset_release(&three);
    return scratch_remove(state);
}

static int read_text(const char *text, enum graph_format format, int is_subset, double dense[9], struct dcr_err *err)
{
    struct graph_file f = {scratch_file("g.csv", text), format, is_subset};
    struct graph_csr a = {0};
    int rc = graph_read(&f, &three, &a, NULL, err);
    if (!rc)
        graph_csr_to_dense(&a, dense);
    graph_csr_free(&a);
    return rc;
}

static void expect_failure(const char *text, enum graph_format format, const char *part)
{
    double dense[9];
    struct dcr_err err = {0};
    assert_int_equal(read_text(text, format, 0, dense, &err), DCR_FAIL);
    assert_sentence(err, part);
}

static void weights_keep_direction(void **state)
{
    (void)state;
    double d[9];
    struct dcr_err err = {0};
    assert_int_equal(read_text("from,to,weight\na,b,0.5\nc,a,1\nb,b,0.25\n", GRAPH_AUTO, 0, d, &err), 0);
    assert_true(d[1] == 0.5 && d[3] == 0 && d[6] == 1 && d[4] == 0.25);
    assert_int_equal(read_text("0,0.5,0\n0,0.25,0\n1,0,0\n", GRAPH_WEIGHT_MATRIX, 0, d, &err), 0);
    assert_true(d[1] == 0.5 && d[3] == 0 && d[6] == 1 && d[4] == 0.25);
}

static void distances_go_through_the_kernel(void **state)
{
    (void)state;
    double d[9], m[9];
    struct dcr_err err = {0};
    /* distances 0 0 0 1000 3000: mean 800, s^2 = (3 * 640000 + 40000 + 4840000) / 5 */
    double s2 = (3 * 640000.0 + 40000 + 4840000) / 5;
    const char *list = "a,a,0\nb,b,0\nc,c,0\na,b,1000\nb,c,3000\n";
    assert_int_equal(read_text(list, GRAPH_AUTO, 0, d, &err), 0);
    assert_true(fabs(d[1] - exp(-1e6 / s2)) < 1e-15);
    assert_true(d[5] == 0); /* below 0.1 */
    assert_true(d[0] == 1 && d[3] == 0);
    assert_int_equal(read_text("0,1000,\n-1,0,3000\n,,0\n", GRAPH_DISTANCE_MATRIX, 0, m, &err), 0);
    assert_memory_equal(d, m, sizeof d);
}

static void subset_passes_strangers_over(void **state)
{
    (void)state;
    double d[9];
    struct dcr_err err = {0};
    const char *text = "from,to,weight\na,b,0.5\nx,a,1\nb,c,0.25\nc,x,1\n";
    expect_failure(text, GRAPH_AUTO, "line 3: sensor 'x' is not in the data");
    assert_int_equal(read_text(text, GRAPH_AUTO, 1, d, &err), 0);
    assert_true(d[1] == 0.5 && d[5] == 0.25 && d[6] == 0);
}

static void broken_files_name_the_place(void **state)
{
    (void)state;
    expect_failure("", GRAPH_AUTO, "is empty");
    expect_failure("from\tto\tweight\n1\t2\t1\n", GRAPH_AUTO, "line 1: its cells are separated by tabs");
    expect_failure("from,to,weight\na,b,x\n", GRAPH_AUTO, "line 2, column 3: 'x'");
    expect_failure("from,to,weight\na,b,nan\n", GRAPH_AUTO, "line 2, column 3: 'nan'");
    expect_failure("from,to,weight\na,b\n", GRAPH_AUTO, "line 2 has 2 cells instead of 3");
    expect_failure("from,to,weight\na,b,-1\n", GRAPH_AUTO, "-1 is negative");
    expect_failure("from,to,weight\na,b,1\na,b,0.5\n", GRAPH_AUTO, "line 3: the pair a,b came before");
    expect_failure("from,to,weight\na,b,1\n", GRAPH_AUTO, "lacks sensor 'c' of the data");
    expect_failure("from,to,height\na,b,1\n", GRAPH_AUTO, "'height' is neither");
    expect_failure("a,b,0.5\nb,c,0.7\n", GRAPH_AUTO, "if these are weights, say --graph-format weights");
    expect_failure("1,2\n3,4\n", GRAPH_AUTO, "not a list of from,to,value");
    expect_failure("1,2\n3,4\n", GRAPH_WEIGHT_MATRIX, "a matrix of 3 x 3 is needed");
    expect_failure("1,2,3\n3,4,5\n", GRAPH_WEIGHT_MATRIX, "has 2 rows, but there are 3 sensors");
    expect_failure("1,2,3\n3,4,5\n1,1,1\n1,1,1\n", GRAPH_WEIGHT_MATRIX, "there are more rows");
    expect_failure("1,2,3\n3,,5\n1,1,1\n", GRAPH_WEIGHT_MATRIX, "line 2, column 2 is empty");
    expect_failure("0,0,0\n0,0,0\n0,0,0\n", GRAPH_WEIGHT_MATRIX, "connects no sensors: no weight is above 0");
}

/* Ids of a published location file, column by column of the graph. */
static void load_ids(struct dataset *d, const char *path, size_t n)
{
    struct dcr_err err = {0};
    char line[256];
    assert_int_equal(dataset_alloc(d, 1, n, &err), 0);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    for (size_t i = 0; i < n; i++) {
        assert_non_null(fgets(line, sizeof line, f));
        line[strcspn(line, ",")] = 0;
        snprintf(d->id[i], DATASET_ID_BYTES, "%.31s", line);
    }
    fclose(f);
}

static void pems_bay_distances_give_the_published_graph(void **state)
{
    (void)state;
    const size_t n = 325;
    struct dataset d;
    struct graph_csr ours = {0}, published = {0};
    struct dcr_err err = {0};
    load_ids(&d, traffic_file("pems-bay-325-locations.csv"), n);
    struct graph_file distances = {traffic_file("pems-bay-distances-2017.csv"), GRAPH_AUTO, 0};
    struct graph_file edges = {traffic_file("pems-bay-325-edges.csv"), GRAPH_AUTO, 0};
    if (graph_read(&distances, &d, &ours, NULL, &err) || graph_read(&edges, &d, &published, NULL, &err))
        fail_msg("%s", err.text);
    assert_int_equal(graph_csr_nnz(&published), 2694);
    assert_int_equal(graph_csr_nnz(&ours), 2694);
    assert_memory_equal(ours.row_start, published.row_start, (n + 1) * sizeof(int));
    assert_memory_equal(ours.col, published.col, 2694 * sizeof(int));
    double worst = 0;
    for (int k = 0; k < 2694; k++)
        worst = fmax(worst, fabs(ours.val[k] - published.val[k]));
    assert_true(worst < 1.2e-7);
    /* 400030 -> 400045 is 5108.4 m; w = exp(-(d/s)^2) gives s */
    for (size_t i = 0; i < n; i++)
        for (int k = ours.row_start[i]; k < ours.row_start[i + 1]; k++)
            if (!strcmp(d.id[i], "400030") && !strcmp(d.id[ours.col[k]], "400045")) {
                assert_true(fabs(5108.4 / sqrt(-log(ours.val[k])) - 3620.299) < 5e-4);
                worst = -1;
            }
    assert_true(worst == -1);
    graph_csr_free(&ours);
    graph_csr_free(&published);
    dataset_release(&d);
}

static void every_published_graph_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *data, *graph;
        enum graph_format format;
        int is_subset, nnz;
    } files[] = {
        {"metr-la-10x34272.csv", "metr-la-10-edges.csv", GRAPH_AUTO, 0, 18},
        {"metr-la-10x34272.csv", "metr-la-207-edges.csv", GRAPH_AUTO, 1, 18},
        {"metr-la-207x2016.csv", "metr-la-207-edges.csv", GRAPH_AUTO, 0, 1722},
        {"pemsd7-m-228x2016.csv", "pemsd7-m-228-distances.csv", GRAPH_DISTANCE_MATRIX, 0, -1},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct dataset d;
        struct graph_csr a = {0};
        struct dcr_err err = {0};
        struct graph_file f = {traffic_file(files[i].graph), files[i].format, files[i].is_subset};
        if (dataset_read(&d, &(struct dataset_file){.path = traffic_file(files[i].data)}, &err) ||
            graph_read(&f, &d, &a, NULL, &err))
            fail_msg("%s", err.text);
        if (files[i].nnz >= 0)
            assert_int_equal(graph_csr_nnz(&a), files[i].nnz);
        else
            assert_true(graph_csr_nnz(&a) > 228);
        graph_csr_free(&a);
        dataset_release(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_keep_direction),
        cmocka_unit_test(distances_go_through_the_kernel),
        cmocka_unit_test(subset_passes_strangers_over),
        cmocka_unit_test(broken_files_name_the_place),
        cmocka_unit_test(pems_bay_distances_give_the_published_graph),
        cmocka_unit_test(every_published_graph_is_read),
    };
    return cmocka_run_group_tests(tests, make_three, release_three);
}
