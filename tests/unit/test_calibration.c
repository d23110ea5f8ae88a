/* test_calibration.c - calibration.json into the model of a run (render/read/calibration.c,
 * render/model/calibration.c). */
#include "render/model/build.h"
#include "render/read/members.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static int read_text(struct run *r, const char *text, struct dcr_err *err)
{
    struct dcr_memory m = {text, strlen(text), 0};
    struct dcr_stream s = dcr_stream_memory(&m, "calibration.json");
    return calibration_read(r, &s, err);
}

static const char good[] =
    "{\"format\": \"dcreport-calibration\", \"version\": 1, \"measured\": 1700000000, \"mpi_library\": \"Open MPI v4\","
    " \"nodes\": [{\"host\": \"a\", \"cores\": 2,"
    "   \"fma\": {\"kernel\": \"AVX-512\", \"one_core\": {\"n\": 5, \"median\": 60, \"min\": 50, \"max\": 70},"
    "            \"all_cores\": {\"n\": 5, \"median\": 120, \"min\": 130, \"max\": 140}},"
    "   \"sgemm\": {\"one_core\": {\"n\": 5, \"median\": 30, \"min\": 30, \"max\": 30}},"
    "   \"memory\": {\"array_bytes\": 1024, \"all_cores\": {\"n\": 3, \"median\": 12.5, \"min\": 12, \"max\": 13}},"
    "   \"disk\": {\"write_fsync\": {\"n\": 1, \"median\": 0.5, \"min\": 0.5, \"max\": 0.5}}}],"
    " \"allreduce\": [{\"n_ranks\": 2, \"n_nodes\": 1, \"ranks_share_cores\": false, \"latency_ns\": 4000,"
    "   \"algbw_gb_per_s\": 2, \"busbw_gb_per_s\": 2, \"points\": ["
    "    {\"bytes\": 4, \"n\": 9, \"median_ns\": 4000, \"min_ns\": 3000, \"max_ns\": 9000},"
    "    {\"bytes\": 1004, \"n\": 9, \"median_ns\": 6000, \"min_ns\": 3000, \"max_ns\": 9000},"
    "    {\"bytes\": 1000, \"n\": 9, \"median_ns\": 1, \"min_ns\": 1, \"max_ns\": 1}]}]}";

static void test_all_values(void **state)
{
    (void)state;
    struct run *r = run_new("x.tar");
    struct run_node *node = run_node_at(r, 0);
    node->host = "a";
    run_node_at(r, 1)->host = "b";
    assert_int_equal(read_text(r, good, NULL), 0);
    const struct run_node_calibration *n = run_calibration_of(r, 0);
    assert_non_null(n);
    assert_null(run_calibration_of(r, 1));
    assert_int_equal(n->cores, 2);
    assert_float_equal(n->flop_one.median, 60, 1e-9);
    assert_float_equal(n->flop_one.max, 70, 1e-9);
    assert_int_equal(n->flop_all.n, 0); /* a median below the smallest is no measurement */
    assert_int_equal(n->memory_one.n, 0);
    assert_float_equal(n->memory_all.median, 12.5, 1e-9);
    assert_string_equal(r->calibration->mpi_library, "Open MPI v4");
    assert_int_equal(r->calibration->n_allreduce, 1);
    const struct run_allreduce *a = &r->calibration->allreduce[0];
    assert_int_equal(a->n_ranks, 2);
    assert_int_equal(a->n_points, 2); /* sizes that run backwards are left out */
    assert_int_equal(a->latency_ns, 4000);
    run_free(r);
}

/* The collector's own judgement; without it, the numbers decide: both cores together below nine tenths of one. */
static void test_disturbed(void **state)
{
    (void)state;
    static const struct {
        const char *flop, *want;
    } cases[] = {
        {"\"one_core\": {\"n\": 3, \"median\": 60, \"min\": 60, \"max\": 60}, \"all_cores\": {\"n\": 3, \"median\": "
         "53, "
         "\"min\": 50, \"max\": 70}",
         "all cores together did less than one of them alone"},
        {"\"one_core\": {\"n\": 3, \"median\": 60, \"min\": 60, \"max\": 60}, \"all_cores\": {\"n\": 3, \"median\": "
         "55, "
         "\"min\": 50, \"max\": 70}",
         ""},
        /* a CPU quota stops all cores, but often not a single one */
        {"\"one_core\": {\"n\": 3, \"median\": 60, \"min\": 60, \"max\": 60}, \"all_cores\": {\"n\": 3, \"median\": "
         "53, \"min\": 50, \"max\": 70}}, \"cores_quota\": 1.5, \"memory\": {\"unit\": \"GB/s\"",
         ""},
        {"\"one_core\": {\"n\": 3, \"median\": 60, \"min\": 60, \"max\": 60, \"disturbed\": \"others\"}",
         "arithmetic, one core: others"},
        /* if both are disturbed, the memory is named, because its ceiling is used most */
        {"\"one_core\": {\"n\": 3, \"median\": 60, \"min\": 60, \"max\": 60, \"disturbed\": \"others\"}}, "
         "\"memory\": {\"all_cores\": {\"n\": 3, \"median\": 60, \"min\": 60, \"max\": 60, \"disturbed\": \"more\"}",
         "memory, all cores: more"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "{\"format\": \"dcreport-calibration\", \"version\": 1, \"nodes\": [{\"host\": \"a\", \"cores\": 2, "
                 "\"fma\": {%s}}], \"allreduce\": [{\"n_ranks\": 2, \"n_nodes\": 1, \"latency_ns\": 1, \"disturbed\": "
                 "\"%s\", \"points\": [{\"bytes\": 4, \"n\": 1, \"median_ns\": 1, \"min_ns\": 1, \"max_ns\": 1}]}]}",
                 cases[i].flop, cases[i].want);
        struct run *r = run_new("x.tar");
        run_node_at(r, 0)->host = "a";
        assert_int_equal(read_text(r, text, NULL), 0);
        assert_string_equal(run_calibration_of(r, 0)->disturbed, cases[i].want);
        assert_string_equal(r->calibration->allreduce[0].disturbed, cases[i].want);
        run_free(r);
    }
}

/* Earlier collectors measured products of matrices. */
static void test_older(void **state)
{
    (void)state;
    struct run *r = run_new("x.tar");
    run_node_at(r, 0)->host = "a";
    assert_int_equal(read_text(r,
                               "{\"format\": \"dcreport-calibration\", \"version\": 1, \"nodes\": [{\"host\": \"a\", "
                               "\"cores\": 2, \"sgemm\": {\"size\": 768, \"library\": \"OpenBLAS\", \"one_core\": "
                               "{\"n\": 5, \"median\": 60, \"min\": 50, \"max\": 70}}}]}",
                               NULL),
                     0);
    assert_float_equal(run_calibration_of(r, 0)->flop_one.max, 70, 1e-9);
    run_free(r);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"{}", "[]", "nonsense", "{\"format\": \"dcreport-calibration\", \"version\": 2}",
                                      "{\"format\": \"other\", \"version\": 1}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct run *r = run_new("x.tar");
        struct dcr_err err = {0};
        assert_int_equal(read_text(r, bad[i], &err), DCR_FAIL);
        assert_non_null(strstr(err.text, "calibration.json"));
        assert_null(r->calibration);
        run_free(r);
    }
}

static void test_why_no_allreduce(void **state)
{
    (void)state;
    struct run *r = run_new("x.tar");
    assert_int_equal(read_text(r,
                               "{\"format\": \"dcreport-calibration\", \"version\": 1, \"nodes\": 3,"
                               " \"missing\": {\"allreduce\": \"one process\"}}",
                               NULL),
                     0);
    assert_string_equal(r->calibration->no_allreduce, "one process");
    assert_int_equal(r->calibration->n_nodes, 0);
    run_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_values), cmocka_unit_test(test_disturbed),        cmocka_unit_test(test_older),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_why_no_allreduce),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
