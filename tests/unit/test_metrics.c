/* test_metrics.c - the tables of render/metrics: their names, keys and units, and values with their reasons. Documents
 * with them: test_report_json.c, test_checks.c, tests/golden/numbers.sh. */
#include "render/metrics/registry/metrics.h"

#include "render/findings/checks.h"
#include "tests/unit/made_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static char *slurp(const char *path)
{
    enum { MOST = 1 << 18 };
    char *text = calloc(1, MOST);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_true(text && fread(text, 1, MOST - 1, f) < MOST - 1);
    fclose(f);
    return text;
}

static const char *leaf(const char *key)
{
    const char *dot = strchr(key, '.');
    return dot ? dot + 1 : key;
}

static void test_names_are_unique(void **state)
{
    (void)state;
    for (int t = 0; t < N_METRIC_TABLES; t++) {
        const struct metrics *of = metric_tables[t];
        assert_true(of->n > 0);
        for (int i = 0; i < of->n; i++)
            for (int k = 0; k < i; k++) {
                assert_string_not_equal(of->rows[i].id, of->rows[k].id);
                assert_true(!*of->rows[i].key || strcmp(of->rows[i].key, of->rows[k].key) != 0);
            }
    }
}

/* Found as "`key`" anywhere in the document; its exact place is not checked. */
static void test_keys_are_documented(void **state)
{
    (void)state;
    char *doc = slurp("docs/report-json.md"), quoted[100];
    int n_missing = 0;
    for (int t = 0; t < N_METRIC_TABLES; t++)
        for (int i = 0; i < metric_tables[t]->n; i++) {
            const struct metric *m = &metric_tables[t]->rows[i];
            const char *const keys[] = {m->key, m->because ? m->because : ""};
            for (int k = 0; k < 2; k++) {
                snprintf(quoted, sizeof quoted, "`%s`", leaf(keys[k]));
                if (*keys[k] && !strstr(doc, quoted))
                    print_error("%s %s is not in docs/report-json.md\n", metric_tables[t]->subject, keys[k]),
                        n_missing++;
            }
        }
    assert_int_equal(n_missing, 0);
    free(doc);
}

/* Keys end in the units that docs/report-json.md promises. */
static void test_keys_say_their_units(void **state)
{
    (void)state;
    static const struct {
        const char *end;
        enum value_unit unit;
    } ends[] = {{"_ns", UNIT_NS}, {"_ratio", UNIT_RATIO}, {"_bytes", UNIT_BYTES}};
    for (int t = 0; t < N_METRIC_TABLES; t++)
        for (int i = 0; i < metric_tables[t]->n; i++) {
            const struct metric *m = &metric_tables[t]->rows[i];
            for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
                size_t n = strlen(m->key), n_end = strlen(ends[k].end);
                int ends_so = n > n_end && strcmp(m->key + n - n_end, ends[k].end) == 0;
                if (ends_so && m->unit != UNIT_NONE) /* an object of such values has no unit */
                    assert_true(m->unit == ends[k].unit || (m->unit == UNIT_FACTOR && ends[k].unit == UNIT_RATIO));
            }
        }
}

static void test_checks_are_metrics(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const struct metrics *of;
        int id;
    } checks[] = {
#define X(name, table, id, what) {#name, &table##_metrics, id},
        CHECK_METRICS(X)
#undef X
    };
    char *manual = slurp("docs/man/dcreport.1.in"), entry[100], rule[100];
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        assert_true(checks[i].id < checks[i].of->n);
        enum value_unit unit = checks[i].of->rows[checks[i].id].unit;
        assert_true(unit != UNIT_NONE && unit != UNIT_BYTES);
        snprintf(entry, sizeof entry, "\\fB%s\\fR", checks[i].name);
        assert_non_null(strstr(manual, entry));
        snprintf(rule, sizeof rule, "%s<1%s", checks[i].name, unit == UNIT_RATIO ? "%" : unit == UNIT_NS ? "ms" : "");
        const char *const rules[] = {rule};
        struct dcr_err err;
        assert_int_equal(checks_parse(rules, 1, &err), 0);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(checks[i].name, checks[k].name);
    }
    free(manual);
}

static void test_values(void **state)
{
    (void)state;
    struct run *run = made_even_run(2, 64, 40, 70000000, 25000000, 5000000, 0);
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, &run, 1, &o, NULL), 0);
    const struct run_result *r = &rep.runs[0];
    struct value v = metric_value(&run_metrics, RUN_STEP_MEAN, r);
    assert_true(value_is_known(&v) && v.kind == VALUE_WHOLE && v.unit == UNIT_NS);
    assert_int_equal(v.whole, r->step.mean_ns);
    v = metric_value(&run_metrics, RUN_COMMUNICATION_SHARE, r);
    assert_true(v.unit == UNIT_RATIO && value_number(&v) == 0.25);
    v = metric_value(&run_metrics, RUN_SHARE_PART_IO, r); /* its class gives the reason */
    assert_true(!value_is_known(&v) && isnan(value_number(&v)));
    assert_int_equal(v.why.code, r->classes[CLASS_IO].why.code);
    v = metric_value(&run_metrics, RUN_STEP_P99, r);
    assert_int_equal(v.why.code, REASON_P99_FEW_VALUES);
    assert_int_equal(v.why.slot[0].count, SPREAD_P99_NEEDS);
    v = metric_value(&run_metrics, RUN_POP_GPU_COMMUNICATION, r);
    assert_int_equal(v.why.code, REASON_STEPS_NOT_OF_GPU_TRACES);
    v = metric_value(&run_metrics, RUN_SHARED_ALONE, r); /* no reason is recorded for it */
    assert_int_equal(v.why.code, REASON_NOT_MEASURED);
    report_free(&rep);
    run_free(run);
}

/* Values of steps give the reason why there are no steps. */
static void test_without_steps(void **state)
{
    (void)state;
    static const int ids[] = {RUN_SHARE_PART_COMPUTE, RUN_SHARE_PART_OTHER, RUN_COMMUNICATION_SHARE, RUN_POP_PARALLEL};
    struct run *run = made_run(4, 64);
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, &run, 1, &o, NULL), 0);
    const struct run_result *r = &rep.runs[0];
    assert_int_equal(r->has_steps, 0);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        assert_int_equal(metric_value(&run_metrics, ids[i], r).why.code, r->steps_why.code);
    report_free(&rep);
    run_free(run);
}

/* If only a summary of the steps was kept, other values are missing: its mean is not a 95th percentile. */
static void test_summary(void **state)
{
    (void)state;
    struct run *run = made_run(1, 64);
    run->summary = (struct run_summary){.source = "a benchmark", .n_steps = 500, .mean_ns = 160000000};
    run->summary.series = "";
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, &run, 1, &o, NULL), 0);
    const struct run_result *r = &rep.runs[0];
    assert_int_equal(metric_value(&run_metrics, RUN_STEP_MEAN, r).whole, 160000000);
    for (int id = RUN_STEP_MEDIAN; id <= RUN_STEP_CV; id++)
        assert_int_not_equal(metric_value(&run_metrics, id, r).why.code, REASON_NONE);
    assert_int_equal(metric_value(&run_metrics, RUN_STEP_P99, r).why.code, REASON_P99_NOT_KEPT);
    struct point_of point = {&rep, &rep.series[0].points[0]};
    assert_int_equal(metric_value(&point_metrics, POINT_STEP_MEAN, &point).whole, 160000000);
    report_free(&rep);
    run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_unique),
        cmocka_unit_test(test_keys_are_documented),
        cmocka_unit_test(test_keys_say_their_units),
        cmocka_unit_test(test_checks_are_metrics),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_without_steps),
        cmocka_unit_test(test_summary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
