/* test_grounds.c - the basis of a claim: window, threshold, where to look; also in report.json
 * (render/findings/grounds.c). */
#include "render/model/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/told.h"

/* Two warm-up steps, then 40 of 100 ns; rank 2 of four loads 50 of them, in step 20 it loads 70, in step 31 65. */
static struct run *one_loads(void)
{
    struct run *r = made_run(4, 64);
    for (int s = 0; s < 42; s++)
        for (int i = 0; i < 4; i++) {
            int64_t more = s < 2 ? 200 : 0, loads = s == 20 ? 70 : s == 31 ? 65 : 50;
            int64_t part[N_CATEGORIES] = {
                [CAT_COMPUTE] = 20 + more, [CAT_DATA] = i == 2 ? loads : 5, [CAT_COMM] = i == 2 ? 30 : 25 + loads};
            made_step(r, run_rank_at(r, i), part);
        }
    return r;
}

static const struct claim *claim_of(const struct report *rep, enum cause_class cls)
{
    for (int i = 0; i < rep->n_claims; i++)
        if (rep->claims[i].cls == cls)
            return &rep->claims[i];
    fail_msg("no claim of class %s", class_key(cls));
    return NULL;
}

static void test_one_rank_and_three_steps(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = one_loads();
    tell(&f);
    const struct claim *c = claim_of(&f.rep, CLASS_DATA);
    assert_int_equal(c->grounds.n_steps, 40);
    assert_int_equal(c->grounds.first_step, 2);
    assert_int_equal(c->grounds.last_step, 41);
    assert_int_equal(c->grounds.n_left_out, 2);
    assert_int_equal(c->grounds.n_shown_ranks, 1);
    assert_int_equal(c->grounds.ranks[0], 2);
    assert_int_equal(c->grounds.steps[0], 20);
    assert_int_equal(c->grounds.steps[1], 31);
    assert_int_equal(c->grounds.steps[2], 2); /* the first of equal ones */
    assert_string_equal(c->window, "40 steps (2 to 41) of 4 ranks, 2 left out");
    assert_string_equal(c->place, "most on rank 2, in steps 20, 31 and 2");
    assert_string_equal(c->threshold_name, "data_limits");
    struct dcr_buf basis = {0};
    claim_basis(&f.rep, c, &basis);
    assert_contains(dcr_buf_text(&basis),
                    ", threshold data_limits 30 %. It shows most on rank 2, in steps 20, 31 and 2.");
    dcr_buf_release(&basis);
    assert_contains(c->rule, "It limits above 30 % of step time");
    const char *json = document(&f.rep, "report.json")->bytes;
    assert_contains(json, "\"evidence_ranks\": [\n        2\n      ]");
    assert_contains(json, "\"evidence_steps\": [\n        20,\n        31,\n        2\n      ]");
    assert_contains(json, "\"threshold_name\": \"data_limits\"");
    assert_contains(json, "\"first_step\": 2");
    release(&f);
}

/* A cause common to all is on all ranks; a claim without a known gain gives the reason. */
static void test_all_ranks_and_no_gain(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = made_even_run(2, 64, 40, 95, 3, 2, 0);
    tell(&f);
    const struct claim *c = claim_of(&f.rep, CLASS_COMPUTE);
    assert_int_equal(c->grounds.n_shown_ranks, 2);
    assert_contains(c->place, "on every rank, most in steps 0, 1 and 2");
    assert_int_equal(c->has_gain, 0);
    assert_int_equal(c->gain_why.code, REASON_GAIN_OF_COMPUTE);
    release(&f);
}

/* A single step is given by its number, without a place inside it. */
static void test_one_step(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = made_even_run(2, 64, 1, 95, 3, 2, 0);
    tell(&f);
    const struct claim *c = claim_of(&f.rep, CLASS_COMPUTE);
    assert_string_equal(c->window, "step 0 of 2 ranks");
    assert_string_equal(c->place, "on every rank");
    release(&f);
}

/* The window of a series is that of its largest node count. */
static void test_series(void **state)
{
    (void)state;
    struct fixture f = strong();
    tell(&f);
    const struct claim *c = &f.rep.claims[f.rep.series[0].limit_claim];
    assert_string_equal(c->window, "40 steps (0 to 39) of 4 ranks at 4 nodes");
    assert_string_equal(c->threshold_name, "efficiency");
    assert_contains(c->rule, "below an efficiency of");
    struct dcr_buf basis = {0};
    claim_basis(&f.rep, c, &basis);
    assert_contains(dcr_buf_text(&basis), "40 steps (0 to 39) of 4 ranks at 4 nodes. Efficiency: 0.");
    assert_contains(dcr_buf_text(&basis), ", threshold efficiency 0.");
    dcr_buf_release(&basis);
    assert_int_equal(c->grounds.n_shown_ranks, 4);
    release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_rank_and_three_steps),
                                       cmocka_unit_test(test_all_ranks_and_no_gain), cmocka_unit_test(test_one_step),
                                       cmocka_unit_test(test_series)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
