/* test_checks.c - rules for continuous integration (render/findings/checks.c). */
#include "render/findings/checks.h"

#include "render/findings/narrate.h"
#include "render/pages/pages.h"
#include "render/write/markdown.h"
#include "tests/unit/made_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* A step of 100 ms on two ranks: communication 25, data 5. Does the rule hold? */
static int holds(const char *rule)
{
    struct run *runs[] = {made_even_run(2, 64, 40, 70000000, 25000000, 5000000, 0)};
    struct report rep = {0};
    struct analyse_options o = made_options();
    struct checks c;
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    narrate(&rep);
    assert_int_equal(checks_run(&rep, &rule, 1, &c, NULL), 0);
    assert_int_equal(c.n, 1);
    assert_int_equal(c.n_failed, !c.list[0].holds);
    int is = c.list[0].holds;
    report_free(&rep);
    run_free(runs[0]);
    return is;
}

static void test_rules(void **state)
{
    (void)state;
    assert_true(holds("exposed_comm<26%"));
    assert_false(holds("exposed_comm<25%"));
    assert_true(holds("exposed_comm <= 25 %"));
    assert_false(holds("exposed_comm > 0.25"));
    assert_true(holds("exposed_comm>=0.25"));
    assert_true(holds("data<6%"));
    assert_true(holds("step_cv<=120%"));
    assert_true(holds("data<1"));
    assert_true(holds("step_time<101ms"));
    assert_false(holds("step_time<99000us"));
    assert_true(holds("step_time<0.101s"));
    assert_true(holds("throughput>639"));
    assert_false(holds("throughput>641"));
    assert_true(holds("load_balance>99%"));
    assert_true(holds("steps>=40"));
    assert_true(holds("dropped<1"));
    assert_false(holds("gpu_utilization>1%")); /* no GPU: a check that cannot be judged has not passed */
    assert_false(holds("efficiency>1%"));      /* one node count */
}

/* What is no part of a whole may exceed it. */
static void test_above_one(void **state)
{
    (void)state;
    static const char *const good[] = {"data<100%", "efficiency>110%", "parallel_efficiency<=101%", "step_cv<150%",
                                       "speedup>4"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(checks_parse(&good[i], 1, NULL), 0);
}

static void test_no_rules(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "speed<3",
                                      "exposed_comm",
                                      "exposed_comm=3",
                                      "exposed_comm<",
                                      "data<3ms",
                                      "step_time<5%",
                                      "exposed_comm<20%%",
                                      "steps<4x",
                                      "data<nan",
                                      "<20%",
                                      "data<>3",
                                      "exposed_comm<20",
                                      "data<-1%",
                                      "step_time<-5s",
                                      "steps>-1",
                                      "efficiency>1.1",
                                      "step_time<0x10ms",
                                      "data<0x1p-3",
                                      "data<500%",
                                      "gpu_memory<=101%"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct dcr_err err = {0};
        assert_int_equal(checks_parse(&bad[i], 1, &err), DCR_FAIL);
        assert_non_null(strstr(err.text, "--check"));
    }
}

static void put_summary(const struct report *rep, const struct checks *c, struct dcr_buf *out)
{
    struct doc d = {0};
    page_of_checks(rep, c, &d);
    write_markdown(&d, out);
    doc_release(&d);
}

static void test_documents(void **state)
{
    (void)state;
    struct check list[] = {{"data<3%", "data", "1 node", 1, 1, 0, "1.0 %, below 3.0 %", 0},
                           {"io<\"3%", "I/O & more", "a|b", 0, 1, 0, "5.0 %, not below 3.0 %", 0},
                           {"copy<3%", "copies", "a", 0, 0, 0, "nothing was recorded", 0}};
    struct checks c = {list, 2, 1, 0, 0};
    struct report rep = {.verdict = "It is *so*."};
    struct dcr_buf b = {0};
    checks_junit(&c, &b);
    assert_non_null(strstr(dcr_buf_text(&b), "<testsuites tests=\"2\" failures=\"1\">"));
    assert_non_null(strstr(dcr_buf_text(&b), "<testcase classname=\"1 node\" name=\"data&lt;3%\"/>"));
    assert_non_null(
        strstr(dcr_buf_text(&b),
               "name=\"io&lt;&quot;3%\">\n      <failure message=\"5.0 %, not below 3.0 %\">I/O &amp; more"));
    dcr_buf_clear(&b);
    put_summary(&rep, &c, &b);
    assert_non_null(strstr(dcr_buf_text(&b), "1 of 2 checks failed"));
    assert_non_null(strstr(dcr_buf_text(&b), "It is \\*so\\*."));
    assert_non_null(strstr(dcr_buf_text(&b), "| **fails** | io\\<\"3% | a\\|b |"));
    assert_null(strstr(dcr_buf_text(&b), "not measured"));
    c = (struct checks){list, 3, 2, 1, 0};
    dcr_buf_clear(&b);
    put_summary(&rep, &c, &b);
    assert_non_null(strstr(dcr_buf_text(&b), "1 of 3 checks failed, 1 of 3 not measured"));
    assert_non_null(strstr(dcr_buf_text(&b), "| **not measured** | copy\\<3% | a | copies: nothing"));
    dcr_buf_clear(&b);
    checks_junit(&c, &b);
    assert_non_null(strstr(dcr_buf_text(&b), "<failure message=\"not measured\">copies: nothing was recorded"));
    list[0].is_unreliable = 1;
    list[0].text = "1.0 %, below 3.0 % (unreliable: why)";
    dcr_buf_clear(&b);
    checks_junit(&c, &b);
    assert_non_null(strstr(dcr_buf_text(&b), "<system-out>1.0 %, below 3.0 % (unreliable: why)</system-out>"));
    list[2].is_skipped = 1;
    c = (struct checks){list, 3, 1, 0, 1};
    dcr_buf_clear(&b);
    checks_junit(&c, &b);
    assert_non_null(strstr(dcr_buf_text(&b), "failures=\"1\" errors=\"0\" skipped=\"1\">"));
    assert_non_null(strstr(dcr_buf_text(&b), ">\n      <skipped message=\"not applicable: nothing was recorded\"/>\n"));
    dcr_buf_clear(&b);
    put_summary(&rep, &c, &b);
    assert_non_null(strstr(dcr_buf_text(&b), "1 of 3 checks failed, 1 not applicable"));
    assert_non_null(strstr(dcr_buf_text(&b), "| not applicable | copy"));
    dcr_buf_release(&b);
}

/* Waiting between ranks does not apply to a run of one rank among other runs, so it is skipped; if that is the only
 * run, the rule was not checked. A run without steps is never skipped. */
static void test_single_rank(void **state)
{
    (void)state;
    static const char *const rules[] = {"comm_wait<50%", "load_balance>50%", "data<50%"};
    for (int n_runs = 1; n_runs <= 3; n_runs++) {
        struct run *runs[] = {made_even_run(1, 64, 40, 70000000, 0, 5000000, 0),
                              made_even_run(2, 64, 40, 70000000, 25000000, 5000000, 0), made_run(4, 64)};
        struct report rep = {0};
        struct analyse_options o = made_options();
        struct checks c;
        assert_int_equal(analyse(&rep, runs, n_runs, &o, NULL), 0);
        assert_int_equal(checks_run(&rep, rules, 3, &c, NULL), 0);
        assert_int_equal(c.n, 3 * n_runs);
        assert_int_equal(c.n_skipped, n_runs == 1 ? 0 : 2);
        assert_int_equal(c.n_failed, n_runs == 1 ? 2 : n_runs == 2 ? 0 : 3);
        assert_int_equal(c.n_unmeasured, c.n_failed);
        assert_int_equal(c.list[0].holds, 0);
        assert_string_equal(c.list[0].text, n_runs == 1 ? "it concerns several ranks, and this run has one"
                                                        : "one rank waits for nobody");
        report_free(&rep);
        for (int i = 0; i < 3; i++)
            run_free(runs[i]);
    }
}

/* One rule on one run of two ranks; gives its text, borrowed from *rep. */
static const char *text_of(struct report *rep, struct run **run, const char *rule, int *is_measured)
{
    struct analyse_options o = made_options();
    struct checks c;
    assert_int_equal(analyse(rep, run, 1, &o, NULL), 0);
    assert_int_equal(checks_run(rep, &rule, 1, &c, NULL), 0);
    assert_int_equal(c.n_unmeasured, !c.list[0].is_measured);
    assert_int_equal(c.n_failed, !c.list[0].holds);
    *is_measured = c.list[0].is_measured;
    return c.list[0].text;
}

/* A part that was not recorded is not a part of 0 %: the rule has not passed, and gives the report's reason. */
static void test_parts_that_were_not_recorded(void **state)
{
    (void)state;
    static const struct {
        const char *rule;
        int64_t comm_ns;
        const char *because; /* NULL: measured */
    } cases[] = {{"io<5%", 25000000, "no checkpoint or other file write was recorded"},
                 {"copy<10%", 25000000, "no host-to-device copy was recorded"},
                 {"data<10%", 25000000, "no data loading was recorded"},
                 {"exposed_comm<20%", 0, "no communication was recorded"},
                 {"comm_transfer<20%", 0, "no communication was recorded"},
                 {"comm_wait<20%", 0, "no communication was recorded"},
                 {"exposed_comm<30%", 25000000, NULL},
                 {"comm_wait<20%", 25000000, NULL},
                 {"other<20%", 25000000, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run *run = made_even_run(2, 64, 40, 70000000, cases[i].comm_ns, 0, 0);
        struct report rep = {0};
        int is_measured;
        const char *text = text_of(&rep, &run, cases[i].rule, &is_measured);
        assert_int_equal(is_measured, !cases[i].because);
        if (cases[i].because)
            assert_string_equal(text, cases[i].because);
        report_free(&rep);
        run_free(run);
    }
}

/* "20 %, not below 20 %" would look like a fault of the check. */
static void test_digits_tell_value_and_bound_apart(void **state)
{
    (void)state;
    static const struct {
        int64_t comm_ns;
        const char *rule, *text;
    } cases[] = {{20100000, "exposed_comm<20%", "20.1 %, not below 20.0 %"},
                 {20004000, "exposed_comm<20%", "20.004 %, not below 20.000 %"},
                 {20000000, "exposed_comm<20%", "20 %, not below 20 %"}, /* equal is equal */
                 {30000000, "exposed_comm<20%", "30 %, not below 20 %"},
                 {20000000, "step_time<=99.99ms", "100.00 ms, not at most 99.99 ms"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run *run = made_even_run(2, 64, 40, 100000000 - cases[i].comm_ns, cases[i].comm_ns, 0, 0);
        struct report rep = {0};
        int is_measured;
        assert_string_equal(text_of(&rep, &run, cases[i].rule, &is_measured), cases[i].text);
        report_free(&rep);
        run_free(run);
    }
}

/* Idle GPUs are not useful: two that compute for 32 and 41 of 100 ns and are busy for 80 and 90, with hosts in calls of
 * the runtime for 30. Unlike a single rank, a single GPU is not skipped. */
static void test_gpus(void **state)
{
    (void)state;
    static const int64_t gpu[2][3] = {{32, 44, 4}, {41, 44, 5}};
    static const struct {
        const char *rule;
        int holds[2]; /* of one GPU, of two */
    } rules[] = {{"parallel_efficiency>36%", {0, 1}}, {"parallel_efficiency>37%", {0, 0}},
                 {"load_balance>89.1%", {1, 0}},      {"communication_efficiency<42%", {1, 1}},
                 {"gpu_communication<=46%", {1, 1}},  {"gpu_orchestration>89%", {0, 1}},
                 {"device_offload>69%", {1, 1}},      {"device_offload>71%", {0, 0}}};
    for (int n = 1; n <= 2; n++) {
        struct run *r = made_traced_run(n, gpu, 1);
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, &r, 1, &o, NULL), 0);
        for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
            struct checks c;
            assert_int_equal(checks_run(&rep, &rules[i].rule, 1, &c, NULL), 0);
            assert_true(c.list[0].is_measured && !c.list[0].is_skipped);
            assert_int_equal(c.list[0].holds, rules[i].holds[n - 1]);
        }
        report_free(&rep);
        run_free(r);
    }
}

/* A GPU that was monitored without its memory's size still counts as monitored. */
static void test_gpu_memory(void **state)
{
    (void)state;
    static const char *const rules[] = {"gpu_memory<90%"};
    static const char *const told[] = {"no GPU was monitored", "the GPU's monitor gives no memory in use",
                                       "the GPU's monitor gives the memory in use but not the total",
                                       "50 %, below 90 %"};
    for (int i = 0; i < 4; i++) {
        struct run *r = made_even_run(1, 64, 40, 70000000, 0, 0, 0);
        struct run_gpu gpu = {0};
        struct report rep = {0};
        struct analyse_options o = made_options();
        struct checks c;
        r->nodes[0].gpus = &gpu;
        r->nodes[0].n_gpus = i > 0;
        if (i > 1)
            sampled_add(r, &gpu.memory_used_mb, 0, 8);
        if (i > 2)
            sampled_add(r, &gpu.memory_total_mb, 0, 16);
        assert_int_equal(analyse(&rep, &r, 1, &o, NULL), 0);
        assert_int_equal(checks_run(&rep, rules, 1, &c, NULL), 0);
        assert_string_equal(c.list[0].text, told[i]);
        report_free(&rep);
        run_free(r);
    }
}

/* Two ranks on one core: a check says how reliable it is. Counts are not times. A single rank waits for nobody. */
static void test_doubts(void **state)
{
    (void)state;
    static const char *const rules[] = {"compute<99%", "steps>=40", "comm_wait<5%"};
    static const int n_ranks[] = {2, 1};
    for (int i = 0; i < 2; i++) {
        struct run *runs[] = {made_even_run(n_ranks[i], 64, 40, 70000000, 25000000, 5000000, 0)};
        struct report rep = {0};
        struct analyse_options o = made_options();
        struct checks c;
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        if (i == 0)
            rep.runs[0].shared = (struct shared){.kind = SHARED_OVERSUBSCRIBED, .because = "2 ranks share 1 core"};
        assert_int_equal(checks_run(&rep, rules, 3, &c, NULL), 0);
        assert_true((strstr(c.list[0].text, " (unreliable: 2 ranks share 1 core)") != NULL) == (i == 0));
        assert_null(strstr(c.list[1].text, "unreliable"));
        assert_int_equal(c.list[2].is_measured, i == 0);
        assert_true(i == 0 || !c.list[2].holds);
        report_free(&rep);
        run_free(runs[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_above_one),
        cmocka_unit_test(test_no_rules),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_single_rank),
        cmocka_unit_test(test_gpus),
        cmocka_unit_test(test_parts_that_were_not_recorded),
        cmocka_unit_test(test_digits_tell_value_and_bound_apart),
        cmocka_unit_test(test_gpu_memory),
        cmocka_unit_test(test_doubts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
