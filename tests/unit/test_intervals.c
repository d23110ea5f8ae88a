/* test_intervals.c - an interval belongs to the share beside it: including the waiting charged to a cause, and for the
 * quantity of the headline (render/findings/rules/cause_intervals.c, render/findings/top.c). */
#include "render/model/build.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/told.h"

/* Rank 0 loads `more` longer than rank 1, which waits for it; in every other step by `by` more. */
static struct run *late_loader(int64_t more, int64_t by)
{
    struct run *r = made_run(2, 64);
    for (int s = 0; s < 40; s++) {
        int64_t late = more + (s % 2 ? by : -by);
        int64_t first[N_CATEGORIES] = {[CAT_COMPUTE] = 20, [CAT_DATA] = 20 + late, [CAT_COMM] = 20};
        int64_t second[N_CATEGORIES] = {[CAT_COMPUTE] = 20, [CAT_DATA] = 20, [CAT_COMM] = 20 + late};
        made_step(r, run_rank_at(r, 0), first);
        made_step(r, run_rank_at(r, 1), second);
    }
    return r;
}

/* By hand: of 100 ns 40 are loading on average over ranks, and 20 waiting for the loading rank: 60 % is judged. */
static void test_waiting_is_in_the_interval(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = late_loader(40, 0);
    tell(&f);
    const struct run_result *r = &f.rep.runs[0];
    const struct class_result *c = &r->classes[CLASS_DATA];
    assert_true(fabs(c->share_ratio - 0.6) < 1e-12);
    assert_true(c->share_interval.has);
    assert_true(fabs(c->share_interval.lo - 0.6) < 1e-9 && fabs(c->share_interval.hi - 0.6) < 1e-9);
    assert_true(fabs(r->part_interval[PART_DATA].lo - 0.4) < 1e-9); /* which is not the judged quantity */
    assert_true(r->classes[CLASS_IMBALANCE].share_interval.has);
    assert_true(r->classes[CLASS_IMBALANCE].share_interval.hi < 1e-9);
    assert_int_equal(r->said.headline.id, PHRASE_DATA_LIMITS);
    assert_int_equal(percent_of(&r->said.headline.slot[0]), 60);
    const struct slot *split = assert_supports(&r->said, PHRASE_LOADING_AND_WAITING);
    assert_int_equal(split[0].count, 40);
    assert_int_equal(split[1].count, 20);
    assert_contains(f.rep.claims[r->claims[0]].confidence_because, "interval of the share with that waiting is 60.0");
    release(&f);
}

/* Steps differ: the interval has a width, contains its value, and its name names the quantity. */
static void test_interval_holds_its_share(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = late_loader(40, 15);
    f.runs[0]->node_kind = NODES_EMULATED;
    tell(&f);
    const struct run_result *r = &f.rep.runs[0];
    const struct class_result *c = &r->classes[CLASS_DATA];
    const struct claim *claim = &f.rep.claims[r->claims[0]];
    assert_true(c->share_interval.lo < c->share_ratio && c->share_ratio < c->share_interval.hi);
    assert_true(claim->interval.lo == c->share_interval.lo);
    assert_string_equal(claim->interval_of, "data loading with the waiting it causes");
    assert_contains(f.rep.how_sure, "95 % interval of data loading with the waiting it causes on 2 nodes is 5");
    int n = 0; /* report.json has the value of the sentence */
    for (int i = 0; i < claim->n_numbers; i++)
        n += claim->numbers[i].value == (double)c->share_ns || claim->numbers[i].value == (double)c->caused_ns;
    assert_int_equal(n, 2);
    release(&f);
}

/* Without a node count, the text must not say 0 nodes. */
static void test_unknown_nodes_are_not_none(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = late_loader(40, 15);
    f.runs[0]->n_nodes = 0;
    f.runs[0]->nodes_len = 0;
    f.runs[0]->node_kind = NODES_EMULATED;
    tell(&f);
    assert_int_equal(f.rep.runs[0].n_nodes, 0);
    assert_contains(f.rep.how_sure, "with the waiting it causes is 5");
    assert_lacks(f.rep.how_sure, "0 nodes");
    release(&f);
}

/* A headline about compute has the interval of compute, one about a speed-up that of the speed-up. */
static void test_interval_is_of_the_headline(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = made_even_run(2, 64, 40, 95, 3, 2, 0);
    f.runs[0]->node_kind = NODES_EMULATED;
    tell(&f);
    assert_int_equal(f.rep.runs[0].said.headline.id, PHRASE_COMPUTE_LIMITS);
    assert_int_equal(percent_of(&f.rep.runs[0].said.headline.slot[0]), 95);
    assert_contains(f.rep.how_sure, "95 % interval of compute on 2 nodes is 95.0 to 95.0 % of the step time.");
    release(&f);
    f = (struct fixture){.n = 2};
    f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
    f.runs[1] = made_even_run(2, 64, 40, 39000000, 1000000, 0, 0);
    tell(&f);
    assert_finds(&f.rep.series[0].said, PHRASE_SCALING_GOOD);
    assert_contains(f.rep.how_sure, "95 % interval of the speed-up on 2 nodes is under 0.1 % either way.");
    assert_lacks(f.rep.how_sure, "of step time");
    release(&f);
}

/* Claims about a series use all repetitions, and so does their interval; the interval of one run excludes the mean of
 * both. */
static void test_repetitions_are_in_the_interval(void **state)
{
    (void)state;
    struct fixture f = {.n = 3};
    f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
    f.runs[1] = made_even_run(2, 64, 40, 40000000, 30000000, 0, 0);
    f.runs[2] = made_even_run(2, 64, 40, 40000000, 34000000, 0, 0);
    f.runs[2]->run_id = "made-2-again";
    f.runs[2]->archive = "again.tar";
    tell(&f);
    const struct claim *c = &f.rep.claims[f.rep.series[0].limit_claim];
    const struct series_point *p = &f.rep.series[0].points[1];
    double share = (double)(p->part_ns[PART_TRANSFER] + p->part_ns[PART_WAIT]) / (double)p->step.mean_ns;
    assert_int_equal(p->n_runs, 2);
    assert_true(c->interval.has && c->interval.lo < share && share < c->interval.hi);
    release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waiting_is_in_the_interval), cmocka_unit_test(test_interval_holds_its_share),
        cmocka_unit_test(test_unknown_nodes_are_not_none), cmocka_unit_test(test_interval_is_of_the_headline),
        cmocka_unit_test(test_repetitions_are_in_the_interval)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
