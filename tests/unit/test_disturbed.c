/* test_disturbed.c - collect/record/disturbed.c: measurements disturbed by other work. */
#include "collect/record/disturbed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static json_t *rates(double median, double max)
{
    return json_pack("{s:i, s:f, s:f, s:f}", "n", 5, "median", median, "min", median, "max", max);
}

static const char *said_of(const json_t *o)
{
    return json_string_value(json_object_get(o, "disturbed"));
}

static void test_others(void **state)
{
    (void)state;
    json_t *o = rates(50, 60);
    disturbed_by_others(o, 0.91, 1);
    disturbed_by_others(o, 0.24, 0.25); /* under a quota */
    disturbed_by_others(o, 0, 0);
    assert_null(said_of(o));
    disturbed_by_others(o, 0.63, 1);
    assert_string_equal(said_of(o), "other work had the cores for 37 % of the time");
    disturbed_by_others(o, 0.1, 1); /* the first sentence stays */
    assert_string_equal(said_of(o), "other work had the cores for 37 % of the time");
    json_decref(o);
    o = rates(50, 60);
    disturbed_by_others(o, 0.1, 0.25);
    assert_string_equal(said_of(o), "other work had the cores for 60 % of the time");
    json_decref(o);
    disturbed_by_others(NULL, 0, 1);
}

static void test_spread(void **state)
{
    (void)state;
    json_t *o = rates(76, 100);
    disturbed_by_spread(o, 0.75);
    assert_null(said_of(o));
    disturbed_by_spread(o, 0.8);
    assert_string_equal(said_of(o), "half of the repetitions were slower than 80 % of the fastest");
    json_decref(o);
}

static void test_below_one(void **state)
{
    (void)state;
    json_t *one = rates(60, 61), *all = rates(55, 56), *none = json_object();
    disturbed_below_one(one, all, 2);
    disturbed_below_one(one, none, 2);
    disturbed_below_one(NULL, NULL, 2);
    json_t *slow = rates(53, 54);
    disturbed_below_one(one, slow, 1);
    assert_null(said_of(one));
    assert_null(said_of(all));
    disturbed_below_one(one, slow, 2);
    assert_string_equal(said_of(one), "2 cores together did less than this one alone");
    assert_string_equal(said_of(slow), "2 cores together did less than one of them alone");
    json_decref(one);
    json_decref(all);
    json_decref(none);
    json_decref(slow);
}

static void test_list(void **state)
{
    (void)state;
    static const char text[] =
        "{\"nodes\": [{\"host\": \"a\", \"fma\": {\"one_core\": {\"disturbed\": \"x\"}, \"all_cores\": {}}},"
        " {\"host\": \"b\", \"memory\": {\"all_cores\": {\"disturbed\": \"y\"}}}],"
        " \"allreduce\": [{\"n_ranks\": 2}, {\"n_ranks\": 4, \"disturbed\": \"z\"}]}";
    struct dcr_buf out = {0};
    json_t *o = json_loads(text, 0, NULL);
    assert_int_equal(disturbed_list(o, &out), 3);
    assert_string_equal(dcr_buf_text(&out), "host a, arithmetic, one core: x\nhost b, memory, all cores: y\n"
                                            "all-reduce of 4 ranks: z\n");
    json_decref(o);
    dcr_buf_clear(&out);
    assert_int_equal(disturbed_list(NULL, &out), 0);
    assert_string_equal(dcr_buf_text(&out), "");
    dcr_buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_below_one),
        cmocka_unit_test(test_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
