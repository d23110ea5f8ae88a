/* test_talp.c - TALP's reports: the factors of each efficiency, the values read, and the findings. */
#include "render/import/import.h"
#include "render/model/build.h"
#include "render/model/talp.h"
#include "render/findings/narrate.h"
#include "tests/unit/made_run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include "tests/unit/gaps.h"

struct bytes {
    const char *at;
    size_t left;
};

static ssize_t some(void *ctx, void *out, size_t n, struct dcr_err *err)
{
    (void)err;
    struct bytes *b = ctx;
    n = n < b->left ? n : b->left;
    memcpy(out, b->at, n);
    b->at += n;
    b->left -= n;
    return (ssize_t)n;
}

static const struct slot *supported(const struct run_result *r, enum phrase_id id)
{
    for (int i = 0; i < SAID_MAX; i++)
        if (r->said.support[i].id == id)
            return r->said.support[i].slot;
    return NULL;
}

/* A report with one region of these members, and its only table. */
static void tell(const char *members, struct report *rep, struct run **run)
{
    static char text[2000];
    struct dcr_err err = {0};
    snprintf(text, sizeof text,
             "\xef\xbb\xbf{\"dlbVersion\": \"3.6\", \"Application\": {\"Global\": {\"elapsedTime\": 2000000000, "
             "\"usefulTime\": 1000000000, %s}}}",
             members);
    struct bytes b = {text, strlen(text)};
    struct dcr_stream s = {some, &b, "talp.json"};
    *run = run_new("t");
    assert_int_equal(import_foreign(*run, "talp.json", &s, &err), 0);
    assert_int_equal((*run)->n_tables, 1);
    struct analyse_options o = made_options();
    assert_int_equal(analyse(rep, run, 1, &o, &err), 0);
    narrate(rep);
}

static void test_what_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *members, *columns, *cells;
        enum phrase_id found;
        double efficiency;
        enum phrase_id support; /* PHRASE_NONE: none */
        const char *factor;
        double value; /* of the last slot of support */
    } c[] = {
        /* the GPUs' 0.07 is not a factor of 0.77 */
        {"\"parallelEfficiency\": 0.93, \"mpiParallelEfficiency\": 0.99, \"ompParallelEfficiency\": 0.94, "
         "\"ompLoadBalance\": 0.95, \"ompSchedulingEfficiency\": 0.99, \"ompSerializationEfficiency\": 1.00",
         "Region|#Elapsed, s|#Useful, s|#Parallel|#Product of its factors|#MPI|#OpenMP|#OpenMP load balance|#OpenMP "
         "scheduling|#OpenMP serialisation",
         "Global|2|1|0.93|0.93|0.99|0.94|0.95|0.99|1.00|", PHRASE_TALP_GOOD, 0.93, PHRASE_TALP_FACTOR,
         "OpenMP load balance", 0.95},
        /* the GPUs' 0.07 is no factor of 0.77 */
        {"\"numGpus\": 1, \"parallelEfficiency\": 0.77, \"mpiParallelEfficiency\": 1.00, "
         "\"deviceOffloadEfficiency\": 0.77, \"gpuParallelEfficiency\": 0.07, \"gpuLoadBalance\": 1.00, "
         "\"gpuCommunicationEfficiency\": 0.54, \"gpuOrchestrationEfficiency\": 0.12",
         "Region|#Elapsed, s|#Useful, s|#Parallel|#Product of its factors|#MPI|#Device offload|#GPU|#GPU load "
         "balance|#GPU communication|#GPU orchestration",
         "Global|2|1|0.77|0.77|1.00|0.77|0.07|1.00|0.54|0.12|", PHRASE_TALP_GPU_LOW, 0.07, PHRASE_TALP_FACTOR,
         "GPU orchestration", 0.12},
        /* 0.80 x 0.65 = 0.52; no GPUs: their zeros are no measurement */
        {"\"numGpus\": 0, \"parallelEfficiency\": 0.61, \"mpiParallelEfficiency\": 0.80, "
         "\"ompParallelEfficiency\": 0.65, \"gpuParallelEfficiency\": 0.00",
         "Region|#Elapsed, s|#Useful, s|#Parallel|#Product of its factors|#MPI|#OpenMP",
         "Global|2|1|0.61|0.52|0.80|0.65|", PHRASE_TALP_LOW, 0.61, PHRASE_TALP_PRODUCT, NULL, 0.61},
        /* nothing is lost, or no factor is known: none is named */
        {"\"parallelEfficiency\": 1, \"mpiParallelEfficiency\": 1",
         "Region|#Elapsed, s|#Useful, s|#Parallel|#Product of its factors|#MPI", "Global|2|1|1.00|1.00|1.00|",
         PHRASE_TALP_GOOD, 1, PHRASE_NONE, NULL, 0},
        /* 1 s useful and 0.6 s lost in MPI are 0.625: the file contradicts itself */
        {"\"parallelEfficiency\": 1, \"mpiParallelEfficiency\": 1, \"mpiTime\": 600000000, \"numCpus\": 2, "
         "\"instructions\": 5.0",
         "Region|#Elapsed, s|#Useful, s|#Parallel|#Product of its factors|#Parallel by its times|#MPI|#CPUs|"
         "#Instructions",
         "Global|2|1|1.00|1.00|0.62|1.00|2|5|", PHRASE_TALP_CONTRADICTS, 0.62, PHRASE_TALP_CONTRADICTS_WHY, NULL, 0},
        {"\"parallelEfficiency\": 0.5", "Region|#Elapsed, s|#Useful, s|#Parallel|#Product of its factors",
         "Global|2|1|0.50|n/a|", PHRASE_TALP_LOW, 0.5, PHRASE_NONE, NULL, 0},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct report rep = {0};
        struct run *run = NULL;
        char cells[500] = "";
        tell(c[i].members, &rep, &run);
        for (size_t k = 0, n = 0; k < run->tables[0].n_cells && n < sizeof cells; k++)
            n += (size_t)snprintf(cells + n, sizeof cells - n, "%s|", run->tables[0].cells[k]);
        assert_string_equal(run->tables[0].columns, c[i].columns);
        assert_string_equal(cells, c[i].cells);
        const struct run_result *r = &rep.runs[0];
        assert_int_equal(r->said.headline.id, c[i].found);
        assert_string_equal(r->said.headline.slot[0].name, "Global");
        assert_true(fabs(r->said.headline.slot[1].real - c[i].efficiency) < 1e-9);
        if (c[i].support == PHRASE_NONE) {
            assert_int_equal(r->said.support[0].id, PHRASE_NONE);
        } else {
            const struct slot *slot = supported(r, c[i].support);
            assert_non_null(slot);
            if (c[i].factor)
                assert_string_equal(slot[0].name, c[i].factor);
            if (c[i].value > 0)
                assert_true(fabs(slot[1].real - c[i].value) < 1e-9);
        }
        assert_int_equal(strstr(run->tables[0].caption, "; in 1 of 1 regions MPI x OpenMP") != NULL, i == 2);
        report_free(&rep);
        run_free(run);
    }
}

/* A share of a time is never negative or above 1: such values are left out and reported with the region. */
static void test_impossible(void **state)
{
    (void)state;
    static const struct {
        const char *members, *parallel;
        int n_left_out;
        const char *first;
    } c[] = {
        {"\"parallelEfficiency\": 0.9, \"mpiParallelEfficiency\": -0.2", "0.90", 1,
         "'mpiParallelEfficiency' is -0.2 in 'Global'"},
        {"\"parallelEfficiency\": 1.3, \"mpiParallelEfficiency\": 42", "n/a", 2,
         "'parallelEfficiency' is 1.3 in 'Global'"},
        {"\"parallelEfficiency\": 1.0000000002", "1.00", 0, NULL}, /* as the arithmetic leaves it */
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct report rep = {0};
        struct run *run = NULL;
        tell(c[i].members, &rep, &run);
        assert_string_equal(run->tables[0].cells[3], c[i].parallel);
        assert_int_equal(run->tables[0].n_cells, 5); /* a column without other values is left out */
        assert_int_equal(run->n_gaps, c[i].first != NULL);
        if (c[i].first) {
            assert_int_equal(assert_gap(run, 0, PHRASE_TALP_IMPOSSIBLE)[0].count, c[i].n_left_out);
            assert_string_equal(assert_gap(run, 0, PHRASE_TALP_FIRST)[0].name, c[i].first);
        }
        report_free(&rep);
        run_free(run);
    }
}

/* The innermost of the lowest factors determines the advice; of the host, or of the GPUs if these lose more. */
static void test_what_to_do(void **state)
{
    (void)state;
    static const struct {
        const char *members;
        enum advice advice;
        int is_first;
        const char *costs; /* of 2 s */
    } c[] = {
        {"\"parallelEfficiency\": 0.7, \"mpiParallelEfficiency\": 0.7, \"mpiLoadBalance\": 0.72, "
         "\"mpiLoadBalanceIn\": 0.99, \"mpiLoadBalanceOut\": 0.73, \"mpiCommunicationEfficiency\": 0.97",
         ADVICE_TALP_MPI_BALANCE_OUT, 1, "0.54 s of 2.00 s"},
        {"\"numGpus\": 1, \"parallelEfficiency\": 0.9, \"deviceOffloadEfficiency\": 0.9, \"gpuParallelEfficiency\": "
         "0.3, \"gpuOrchestrationEfficiency\": 0.3, \"gpuLoadBalance\": 1",
         ADVICE_TALP_GPU_ORCHESTRATION, 1, "1.40 s of 2.00 s"},
        {"\"parallelEfficiency\": 0.9, \"mpiParallelEfficiency\": 0.9", ADVICE_NOTHING_EFFICIENT, 0, ""},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct report rep = {0};
        struct run *run = NULL;
        tell(c[i].members, &rep, &run);
        assert_int_equal(rep.runs[0].advised.id, c[i].advice);
        assert_int_equal(rep.runs[0].stepless_action.is_first, c[i].is_first);
        assert_non_null(strstr(rep.first_action, c[i].costs));
        report_free(&rep);
        run_free(run);
    }
}

/* "Every" means all regions, both trees and all reports: the lowest value leads, with its file and region. */
static void test_the_worst_leads(void **state)
{
    (void)state;
    static const char fine[] = "{\"dlbVersion\": \"3.6\", \"Application\": {\"Global\": {\"elapsedTime\": 2000000000, "
                               "\"usefulTime\": 1000000000, \"parallelEfficiency\": 0.90, "
                               "\"mpiParallelEfficiency\": 0.90}",
                      solver[] = ", \"solver\": {\"elapsedTime\": 500000000, \"usefulTime\": 100000000, "
                                 "\"parallelEfficiency\": 0.30, \"mpiParallelEfficiency\": 0.30}",
                      gpus[] = "{\"dlbVersion\": \"3.6\", \"Application\": {\"Global\": {\"elapsedTime\": 2000000000, "
                               "\"usefulTime\": 1000000000, \"numGpus\": 1, \"parallelEfficiency\": 0.97, "
                               "\"mpiParallelEfficiency\": 0.97, \"gpuParallelEfficiency\": 0.30, "
                               "\"gpuLoadBalance\": 0.30}",
                      wrong[] = "{\"dlbVersion\": \"3.6\", \"Application\": {\"Global\": {\"elapsedTime\": 2000000000, "
                                "\"usefulTime\": 1000000000, \"parallelEfficiency\": 1, \"mpiParallelEfficiency\": 1, "
                                "\"mpiTime\": 600000000, \"numCpus\": 2}";
    static const char brief[] = ", \"brief\": {\"elapsedTime\": 2000000, \"usefulTime\": 100000, "
                                "\"parallelEfficiency\": 0.10, \"mpiParallelEfficiency\": 0.10}";
    static const struct {
        const char *part[3];
        enum phrase_id found;
        const char *region;
        enum phrase_id support;
        enum advice advice;
    } c[] = {{{fine, solver, NULL}, PHRASE_TALP_LOW, "solver", PHRASE_TALP_HIDES, ADVICE_TALP_MPI},
             {{fine, brief, NULL}, PHRASE_TALP_GOOD, "Global", PHRASE_TALP_FACTOR, ADVICE_NOTHING_BUT_SMALL},
             {{fine, "", gpus}, PHRASE_TALP_GPU_LOW, "Global", PHRASE_TALP_OF_REPORTS, ADVICE_TALP_GPU_BALANCE},
             /* a file that contradicts itself does not lead, although its times say 0.62 */
             {{fine, "", wrong}, PHRASE_TALP_GOOD, "Global", PHRASE_TALP_WRONG_OTHERS, ADVICE_TALP_MEASURE_AGAIN}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        char text[2][1000];
        struct dcr_err err = {0};
        struct report rep = {0};
        struct run *run = run_new("t");
        snprintf(text[0], sizeof text[0], "%s%s}}", c[i].part[0], c[i].part[1]);
        snprintf(text[1], sizeof text[1], "%s}}", c[i].part[2] ? c[i].part[2] : "");
        for (int k = 0; k < (c[i].part[2] ? 2 : 1); k++) {
            const char *name = k ? "b.json" : "a.json";
            struct bytes b = {text[k], strlen(text[k])};
            struct dcr_stream s = {some, &b, name};
            assert_int_equal(import_foreign(run, name, &s, &err), 0);
        }
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, &run, 1, &o, &err), 0);
        narrate(&rep);
        const struct run_result *r = &rep.runs[0];
        assert_int_equal(r->said.headline.id, c[i].found);
        assert_string_equal(r->said.headline.slot[0].name, c[i].region);
        assert_non_null(supported(r, c[i].support));
        if (c[i].support == PHRASE_TALP_HIDES)
            assert_true(supported(r, PHRASE_TALP_HIDES)[1].real == 0.9);
        if (c[i].support == PHRASE_TALP_OF_REPORTS) {
            assert_string_equal(supported(r, PHRASE_TALP_OF_REPORTS)[0].name, "b.json");
            assert_int_equal(supported(r, PHRASE_TALP_OF_REPORTS)[1].count, 2);
        }
        if (c[i].support == PHRASE_TALP_WRONG_OTHERS)
            assert_int_equal(supported(r, PHRASE_TALP_WRONG_OTHERS)[0].count, 1);
        assert_int_equal(r->advised.id, c[i].advice);
        report_free(&rep);
        run_free(run);
    }
}

/* Factors shown as 1.00 are at least 0.995. Three of them multiply to 0.985075, shown as 0.99 and never as 0.98. */
static void test_product_within_rounding(void **state)
{
    (void)state;
    static const struct {
        double parallel, mpi, openmp, offload;
        int agrees;
    } c[] = {{0.93, 0.99, 0.94, -1, 1}, {1.00, 0.99, 1.00, -1, 1}, {0.99, 1.00, 1.00, 1.00, 1}, {0.98, 1, 1, 1, 0},
             {0.61, 0.80, 0.65, -1, 0}, {1.00, 0.94, 1.00, -1, 0}, {-1, 0.5, 0.5, -1, 1},       {0.5, -1, -1, -1, 1},
             {0.00, 0.00, 1.00, -1, 1}, {0.77, 1, 1, 0.77, 1},     {0.60, 0.80, 0.90, 0.83, 1}, /* 0.5976 */};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        double v[N_TALP];
        for (int e = 0; e < N_TALP; e++)
            v[e] = -1;
        v[TALP_PARALLEL] = c[i].parallel, v[TALP_MPI] = c[i].mpi, v[TALP_OPENMP] = c[i].openmp;
        v[TALP_OFFLOAD] = c[i].offload;
        v[TALP_MPI_BALANCE] = 0.1, v[TALP_GPU] = 0.1; /* of another level, of another tree */
        if (talp_agrees(v, TALP_PARALLEL) != c[i].agrees)
            fail_msg("case %zu", i);
    }
}

/* 0 of a model that did not run is not a measurement; 0 under 0 is one. */
static void test_zeros(void **state)
{
    (void)state;
    double v[N_TALP] = {[TALP_PARALLEL] = 0.5, [TALP_OPENMP] = 0.5};
    talp_clean(v, -1);
    assert_true(v[TALP_MPI] < 0 && v[TALP_MPI_BALANCE] < 0 && v[TALP_OFFLOAD] < 0);
    assert_true(v[TALP_GPU] >= 0 && v[TALP_GPU_BALANCE] >= 0);
    assert_int_equal(talp_lowest_factor(v, TALP_PARALLEL), TALP_OPENMP);
    assert_int_equal(talp_lowest_factor(v, TALP_MPI), TALP_NONE);
    talp_clean(v, 0);
    assert_true(v[TALP_GPU] < 0 && v[TALP_GPU_BALANCE] < 0);
    double idle[N_TALP] = {[TALP_OPENMP] = 1};
    talp_clean(idle, -1);
    assert_true(idle[TALP_MPI] >= 0);
    assert_int_equal(talp_lowest_factor(idle, TALP_PARALLEL), TALP_MPI);
}

/* Lists with other names, as in DLB 3.3 and 3.4; regions of single processes are not regions of the run. */
static void test_lists(void **state)
{
    (void)state;
    static const char text[] =
        "{\"dlbVersion\": \"3.4\", \"timestamp\": \"2024-05-05T15:00:42\", \"popMetrics\": [{\"name\": \"MPI "
        "Execution\","
        "\"elapsedTime\": 2000000000, \"averageIPC\": 1.5, \"parallelEfficiency\": 0.72, \"communicationEfficiency\": "
        "0.90, "
        "\"loadBalance\": 0.80, \"lbIn\": 0.80, \"lbOut\": 1.00}, {\"name\": \"solver\", \"elapsedTime\": 1000000000, "
        "\"parallelEfficiency\": 0.95}], \"popRaw\": [{\"name\": \"MPI Execution\", \"numCpus\": 4, \"elapsedTime\": "
        "2000000000, \"usefulCpuTotal\": 5760000000, \"instructions\": 77}], \"region\": [{\"name\": \"solver\", "
        "\"process\": [{\"rank\": 0, \"elapsedTime\": 1000000000}]}]}";
    static const char *const cells[] = {"MPI Execution", "2",    "5.76", "0.72", "0.72",   "0.72", "0.90", "0.80",
                                        "0.80",          "1.00", "4",    "77",   "solver", "1",    "n/a",  "0.95",
                                        "0.95",          "0.95", "n/a",  "n/a",  "n/a",    "n/a",  "n/a",  "n/a"};
    struct bytes b = {text, sizeof text - 1};
    struct dcr_stream s = {some, &b, "talp.json"};
    struct dcr_err err = {0};
    struct run *run = run_new("t");
    assert_int_equal(import_foreign(run, "talp.json", &s, &err), 0);
    assert_int_equal(run->n_tables, 1);
    assert_string_equal(run->tables[0].columns,
                        "Region|#Elapsed, s|#Useful, s|#Parallel|#Product of its factors|#MPI|#MPI communication|#MPI "
                        "load balance|#MPI load balance within nodes|#MPI load balance between nodes|#CPUs|"
                        "#Instructions");
    assert_int_equal(run->tables[0].n_cells, sizeof cells / sizeof *cells);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        assert_string_equal(run->tables[0].cells[i], cells[i]);
    run_free(run);
}

/* The factors of an efficiency come from its own tree, and both trees end. */
static void test_trees(void **state)
{
    (void)state;
    for (int e = 0; e < N_TALP; e++) {
        enum talp_efficiency root = (enum talp_efficiency)e;
        for (int depth = 0; talp_parent(root) != TALP_NONE; depth++) {
            assert_true(depth < N_TALP);
            root = talp_parent(root);
        }
        assert_int_equal(root, strncmp(talp_key((enum talp_efficiency)e), "gpu", 3) == 0 ? TALP_GPU : TALP_PARALLEL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_said),
        cmocka_unit_test(test_impossible),
        cmocka_unit_test(test_what_to_do),
        cmocka_unit_test(test_the_worst_leads),
        cmocka_unit_test(test_product_within_rounding),
        cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
