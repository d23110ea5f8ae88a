/* test_breakdown.c - the breakdown of ranks and steps (breakdown.c), worked out by hand. */
#include "render/findings/actions.h"
#include "tests/unit/made_run.h"
#include "render/metrics/gain.h"
#include "render/metrics/stats.h"
#include "render/metrics/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Analyses one run; the caller frees. */
static struct run_result *analysed(struct report *rep, struct run *r)
{
    struct run *runs[] = {r};
    struct analyse_options o = made_options();
    struct dcr_err err = {0};
    assert_int_equal(analyse(rep, runs, 1, &o, &err), 0);
    return &rep->runs[0];
}

static void done(struct report *rep, struct run *r)
{
    report_free(rep);
    run_free(r);
}

static int64_t sum_of(const int64_t *x, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

static void test_warmup(void **state)
{
    (void)state;
    const int64_t x[] = {300, 140, 100, 101, 99, 100, 100, 102, 98, 100};
    assert_int_equal(warmup_steps(x, 10, 1.25, 0.2), 2);
    assert_int_equal(warmup_steps(x, 10, 1.25, 0.1), 1); /* no more than the allowed share */
    assert_int_equal(warmup_steps(x, 10, 2, 0.5), 1);
    assert_int_equal(warmup_steps(x + 2, 8, 1.25, 0.5), 0);
    assert_int_equal(warmup_steps(x, 3, 1.25, 0.9), 0); /* too few to decide */
}

/* Two ranks: compute 60 and 80, transfer 10; so rank 0 is in the all-reduce for 30, rank 1 for 10. */
static void test_transfer_and_waiting(void **state)
{
    (void)state;
    struct run *r = made_run(2, 64);
    const int64_t a[N_CATEGORIES] = {[CAT_COMPUTE] = 60, [CAT_COMM] = 30},
                  b[N_CATEGORIES] = {[CAT_COMPUTE] = 80, [CAT_COMM] = 10};
    for (int i = 0; i < 20; i++) {
        made_step(r, run_rank_at(r, 0), a);
        made_step(r, run_rank_at(r, 1), b);
    }
    struct report rep = {0};
    struct run_result *k = analysed(&rep, r);
    assert_int_equal(k->n_counted, 20);
    assert_int_equal(k->step.mean_ns, 90);
    assert_int_equal(k->part_ns[PART_COMPUTE], 70);
    assert_int_equal(k->part_ns[PART_TRANSFER], 10);
    assert_int_equal(k->part_ns[PART_WAIT], 10);
    assert_int_equal(k->comm_ns, 20);
    assert_int_equal(k->ranks[0].part_ns[PART_WAIT], 20);
    assert_int_equal(k->ranks[1].part_ns[PART_WAIT], 0);
    assert_int_equal(k->ranks[1].n_last, 20);
    assert_int_equal(k->ranks[1].caused_wait_ns, 20);
    assert_int_equal(k->wait_cause_ns[CAT_COMPUTE], 10);
    assert_int_equal(sum_of(k->wait_cause_ns, N_CATEGORIES), k->part_ns[PART_WAIT]);
    assert_true(k->straggler.has);
    assert_int_equal(k->straggler.rank, 1);
    assert_true(k->straggler.wins_ratio == 1);
    assert_false(k->straggler.is_of_steps);
    assert_int_equal(k->straggler.caused_ns, 20); /* the only other rank waited that long */
    assert_int_equal(k->n_matched, 20);
    assert_int_equal(k->gain_ns[CLASS_COMMUNICATION], 10);
    assert_int_equal(k->gain_ns[CLASS_IMBALANCE], 10); /* 80 -> 70 */
    assert_int_equal(k->gain_ns[CLASS_DATA], 0);
    done(&rep, r);
}

/* The same with messages between two ranks: 25 of rank 0 and 12 of rank 1. Both spend 12 in them, and rank 0 waits for
 * the rest. Bandwidth is that of the all-reduce alone. */
static void test_messages_between_two(void **state)
{
    (void)state;
    struct run *r = made_run(2, 64);
    const int64_t a[N_CATEGORIES] = {[CAT_COMPUTE] = 60, [CAT_COMM] = 30 + 25},
                  b[N_CATEGORIES] = {[CAT_COMPUTE] = 80, [CAT_COMM] = 10 + 12};
    for (int i = 0; i < 20; i++) {
        made_step(r, run_rank_at(r, 0), a);
        made_step(r, run_rank_at(r, 1), b);
        run_rank_at(r, 0)->collectives[i].dur_ns = 30;
        run_rank_at(r, 1)->collectives[i].dur_ns = 10;
        run_rank_at(r, 0)->steps[i].bytes = run_rank_at(r, 1)->steps[i].bytes = 50;
    }
    struct report rep = {0};
    struct run_result *k = analysed(&rep, r);
    assert_int_equal(k->ranks[0].part_ns[PART_TRANSFER], 22);
    assert_int_equal(k->ranks[1].part_ns[PART_TRANSFER], 22);
    assert_int_equal(k->ranks[0].part_ns[PART_WAIT], 33);
    assert_int_equal(k->ranks[1].part_ns[PART_WAIT], 0);
    assert_int_equal(k->collective_ns, 10);
    assert_true(k->algbw_gb_s == 5);
    assert_int_equal(k->ranks[1].caused_wait_ns,
                     20); /* only in the all-reduce: messages do not show who waits for whom */
    done(&rep, r);
}

/* Messages level the ranks before the all-reduce, in which rank 1 waits 1 for rank 0. But rank 1 was busy longer, so
 * rank 0 waited 37 for it, also if there is no collective. Of ranks with equal work, nobody is to blame for the
 * waiting. */
static void test_waiting_in_messages(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) { /* an all-reduce too; only messages; equal work */
        struct run *r = made_run(2, 64);
        const int64_t a[N_CATEGORIES] = {[CAT_COMPUTE] = i == 2 ? 60 : 27, [CAT_COMM] = 40},
                      b[N_CATEGORIES] = {[CAT_COMPUTE] = i == 2 ? 60 : 64, [CAT_COMM] = i == 2 ? 40 : 3};
        for (int s = 0; s < 20; s++) {
            made_step(r, run_rank_at(r, 0), a);
            made_step(r, run_rank_at(r, 1), b);
            run_rank_at(r, 0)->collectives[s].dur_ns = 1;
            run_rank_at(r, 1)->collectives[s].dur_ns = 2;
            run_rank_at(r, 0)->steps[s].n_collectives = run_rank_at(r, 1)->steps[s].n_collectives = i == 0;
        }
        struct report rep = {0};
        struct run_result *k = analysed(&rep, r);
        assert_int_equal(sum_of(k->wait_cause_ns, N_CATEGORIES), k->part_ns[PART_WAIT]);
        assert_true(k->straggler.has == (i < 2));
        if (i < 2) {
            assert_true(k->straggler.is_of_steps);
            assert_int_equal(k->straggler.rank, 1);
            assert_int_equal(k->ranks[1].caused_wait_ns, 37);
            assert_int_equal(k->wait_cause_ns[CAT_COMPUTE], 18); /* 37 by two ranks */
        }
        done(&rep, r);
    }
}

/* Rank 0 comes alternately 20 and 40 before rank 1, and once 130 before it. */
static void test_start_skew(void **state)
{
    (void)state;
    struct run *r = made_run(2, 64);
    for (int i = 0; i < 21; i++) {
        int64_t early = i == 10 ? 130 : i % 2 ? 40 : 20;
        const int64_t a[N_CATEGORIES] = {[CAT_COMPUTE] = 1000, [CAT_COMM] = 10 + early},
                      b[N_CATEGORIES] = {[CAT_COMPUTE] = 1000 + early, [CAT_COMM] = 10};
        made_step(r, run_rank_at(r, 0), a);
        made_step(r, run_rank_at(r, 1), b);
    }
    struct report rep = {0};
    struct run_result *k = analysed(&rep, r);
    assert_int_equal(k->skew.n, 21);
    assert_int_equal(k->skew.mean_ns, 35); /* (10 * 20 + 10 * 40 + 130) / 21 = 34.8 */
    assert_int_equal(k->skew.median_ns, 40);
    assert_int_equal(k->skew.max_ns, 130);
    assert_int_equal(k->skew_why.code, REASON_NONE);
    done(&rep, r);
    r = made_even_run(1, 64, 20, 100, 0, 0, 0);
    k = analysed(&rep, r);
    assert_int_equal(k->skew.n, 0);
    assert_int_equal(k->skew_why.code, REASON_ONE_RANK);
    done(&rep, r);
    r = made_even_run(2, 64, 20, 100, 0, 0, 0);
    k = analysed(&rep, r);
    assert_int_equal(k->skew.n, 0);
    assert_int_equal(k->skew_why.code, REASON_NO_COLLECTIVES);
    done(&rep, r);
    r = made_even_run(2, 64, 20, 100, 50, 0, 0);
    for (size_t s = 0; s < r->ranks[1].n_steps; s++)
        r->ranks[1].steps[s].n_collectives = 0;
    k = analysed(&rep, r);
    assert_int_equal(k->skew.n, 0);
    assert_int_equal(k->skew_why.code, REASON_NO_COMMON_COLLECTIVES);
    done(&rep, r);
}

/* Rank 1 has 30 more of unnamed time than rank 0. own_ns: what a range of it takes a step; bare_ns: what of its steps
 * is in no range; setup_ns: what another range takes for each step, outside of them. Rank 1 is
 * late in n_last of 20 steps, and in the others rank 0 by 170 of compute and of data loading in turn. */
static struct run *late_by_unnamed(int64_t own_ns, int64_t of_other_ns, int64_t bare_ns, int64_t setup_ns, int n_last)
{
    enum { STEPS = 20 };
    struct run *r = made_run(2, 64);
    const int64_t a[N_CATEGORIES] = {[CAT_COMPUTE] = 50, [CAT_COMM] = 40, [CAT_OTHER] = 2},
                  b[N_CATEGORIES] = {[CAT_COMPUTE] = 50, [CAT_COMM] = 10, [CAT_OTHER] = 32},
                  early[N_CATEGORIES] = {[CAT_COMPUTE] = 50, [CAT_COMM] = 180, [CAT_OTHER] = 32},
                  late[2][N_CATEGORIES] = {{[CAT_COMPUTE] = 250, [CAT_COMM] = 10, [CAT_OTHER] = 2},
                                           {[CAT_COMPUTE] = 50, [CAT_DATA] = 200, [CAT_COMM] = 10, [CAT_OTHER] = 2}};
    for (int i = 0; i < STEPS; i++) {
        made_step(r, run_rank_at(r, 0), i < n_last ? a : late[i % 2]);
        made_step(r, run_rank_at(r, 1), i < n_last ? b : early);
    }
    for (int i = 0; i < 2; i++) {
        struct run_rank *k = run_rank_at(r, i);
        k->source = STEPS_TRACE;
        k->bare_step_ns = STEPS * (i ? bare_ns : 2);
        const int64_t parse = STEPS * (i ? own_ns : of_other_ns), setup = i ? STEPS * setup_ns : 0;
        k->own_ranges = dcr_arena_alloc(&r->arena, 3 * sizeof *k->own_ranges);
        k->own_ranges[0] = (struct run_own_range){"iteration", 92 * STEPS, 0}; /* holds the whole step */
        k->own_ranges[1] = (struct run_own_range){"parse", parse, parse};
        k->own_ranges[2] = (struct run_own_range){"setup", setup, setup};
        k->n_own_ranges = 3;
        k->own_self_ns = parse + setup;
    }
    return r;
}

/* A range explains why a rank is late if it takes most of what the rank has more of unnamed time. A range that is
 * longer than that time, or unnamed time that is in no range at all, tells nothing. Neither does one that may lie
 * outside the steps, nor any beside it. */
static void test_own_range_of_late_rank(void **state)
{
    (void)state;
    static const struct {
        int64_t own, other, bare, setup;
        int is_found;
        double share; /* of the waiting */
    } cases[] = {{30, 0, 2, 0, 1, 1}, {25, 1, 7, 0, 1, 0.8}, {14, 0, 2, 0, 0, 0},  {30, 28, 2, 0, 0, 0},
                 {60, 0, 2, 0, 0, 0}, {30, 0, 30, 0, 0, 0},  {30, 0, 2, 10, 1, 1}, {30, 0, 2, 28, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run *r = late_by_unnamed(cases[i].own, cases[i].other, cases[i].bare, cases[i].setup, 20);
        struct report rep = {0};
        struct run_result *k = analysed(&rep, r);
        assert_true(k->straggler.has && k->straggler.rank == 1);
        assert_int_equal(k->late_range.name != NULL, cases[i].is_found);
        if (cases[i].is_found) {
            assert_string_equal(k->late_range.name, "parse");
            assert_int_equal(k->late_range.ns, cases[i].own);
            assert_int_equal(k->late_range.others_ns, cases[i].other);
            assert_true(fabs(k->late_range.wait_ratio - cases[i].share) < 1e-9);
        }
        done(&rep, r);
    }
    for (int n_last = 16; n_last < 19; n_last += 2) { /* 480 of 1,160 of the waiting are for it, then 540 of 880 */
        struct run *r = late_by_unnamed(30, 0, 2, 0, n_last);
        struct report rep = {0};
        struct run_result *k = analysed(&rep, r);
        assert_int_equal(k->straggler.has, n_last == 18); /* rank 1 is last as often, but rank 0 causes more */
        assert_int_equal(k->late_range.name != NULL, n_last == 18);
        done(&rep, r);
    }
    for (int is_lost = 0; is_lost < 2; is_lost++) { /* the mean of both ranks: 15 of 17 */
        struct run *r = late_by_unnamed(30, 0, 2, 0, 20);
        run_rank_at(r, 0)->lost_from_ns = -is_lost;
        struct report rep = {0};
        struct run_result *k = analysed(&rep, r);
        assert_int_equal(k->unnamed_range.name != NULL, !is_lost);
        assert_int_equal(k->unnamed_range.ns, is_lost ? 0 : 15);
        assert_int_equal(k->late_range.name != NULL, !is_lost);
        done(&rep, r);
    }
}

/* The cost of a straggler is the waiting of the others, not the mean including itself: 8 of 100 name it, 4 of 100 do
 * not. */
static void test_straggler_of_two(void **state)
{
    (void)state;
    for (int wait = 4; wait <= 8; wait += 4) {
        struct run *r = made_run(2, 64);
        const int64_t a[N_CATEGORIES] = {[CAT_COMPUTE] = 90 - wait, [CAT_COMM] = 10 + wait},
                      b[N_CATEGORIES] = {[CAT_COMPUTE] = 90, [CAT_COMM] = 10};
        for (int i = 0; i < 12; i++) {
            made_step(r, run_rank_at(r, 0), a);
            made_step(r, run_rank_at(r, 1), b);
        }
        struct report rep = {0};
        struct run_result *k = analysed(&rep, r);
        assert_int_equal(k->straggler.caused_ns, wait);
        assert_true(k->straggler.is_mostly_last);
        assert_int_equal(k->straggler.has, wait == 8);
        assert_int_equal(k->straggler.rank, 1);
        done(&rep, r);
    }
}

/* Ranks come last in turn: there is no straggler, although they wait as much. */
static void test_turns_are_no_straggler(void **state)
{
    (void)state;
    struct run *r = made_run(2, 64);
    const int64_t a[N_CATEGORIES] = {[CAT_COMPUTE] = 60, [CAT_COMM] = 30},
                  b[N_CATEGORIES] = {[CAT_COMPUTE] = 80, [CAT_COMM] = 10};
    for (int i = 0; i < 20; i++) {
        made_step(r, run_rank_at(r, 0), i % 2 ? a : b);
        made_step(r, run_rank_at(r, 1), i % 2 ? b : a);
    }
    struct report rep = {0};
    struct run_result *k = analysed(&rep, r);
    assert_int_equal(k->part_ns[PART_WAIT], 10);
    assert_false(k->straggler.has);
    done(&rep, r);
}

/* A step with two collectives: what is done before each, and how long the rank is in it. */
static void made_two_collectives(struct run *r, struct run_rank *k, int64_t first, int64_t in_first,
                                 const int64_t second[N_CATEGORIES], int64_t in_second)
{
    int64_t part[N_CATEGORIES];
    memcpy(part, second, sizeof part);
    part[CAT_COMPUTE] += first;
    part[CAT_COMM] = in_first + in_second;
    made_step(r, k, part);
    struct collective *c = &k->collectives[k->n_collectives - 1];
    c[0] = (struct collective){.dur_ns = in_first, .since_ns = {[CAT_COMPUTE] = first}};
    c[1] = (struct collective){.dur_ns = in_second};
    memcpy(c[1].since_ns, second, sizeof c[1].since_ns);
    k->steps[k->n_steps - 1].n_collectives = 2;
    k->n_collectives++;
}

/* All ranks compute, rank 0 gathers, works alone and broadcasts. If the others work too, only less, rank 0 has more
 * work; if it was late before, or loads, its work alone is not the cause. */
static void test_works_alone(void **state)
{
    (void)state;
    static const struct {
        int64_t before, own, others, data; /* before: of rank 0; of the others 60 */
        int is_alone;
    } c[] = {{60, 40, 0, 0, 1},  {60, 40, 2, 0, 1},  {60, 40, 3, 0, 0},
             {60, 40, 20, 0, 0}, {100, 10, 0, 0, 0}, {60, 10, 0, 30, 0}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct run *r = made_run(3, 64);
        const int64_t own[N_CATEGORIES] = {[CAT_COMPUTE] = c[i].own, [CAT_DATA] = c[i].data},
                      others[N_CATEGORIES] = {[CAT_COMPUTE] = c[i].others};
        int64_t wait = c[i].before - 60 + c[i].own + c[i].data - c[i].others; /* a gather keeps only its root */
        for (int s = 0; s < 20; s++)
            for (int k = 0; k < 3; k++)
                made_two_collectives(r, run_rank_at(r, k), k ? 60 : c[i].before, 5, k ? others : own, k ? 5 + wait : 5);
        struct report rep = {0};
        struct run_result *k = analysed(&rep, r);
        assert_true(k->straggler.has && k->straggler.rank == 0);
        assert_int_equal(k->alone.has, c[i].is_alone);
        if (k->alone.has)
            assert_true(k->alone.rank == 0 && k->alone.own_ns == 40 && k->alone.others_ns == c[i].others);
        done(&rep, r);
    }
}

/* Rank 0 validates between steps, and rank 1 waits for it in its next step. Evening that out saves the waiting, which a
 * faster exchange does not. Rank 1 may be last in most collectives, by a little: then it is no straggler. */
static void test_waiting_for_work_between_steps(void **state)
{
    (void)state;
    for (int is_rare = 0; is_rare < 2; is_rare++) {
        struct run *r = made_run(2, 64);
        for (int i = 0; i < 20; i++) {
            int is_between = !is_rare || i % 5 == 4;
            const int64_t early[N_CATEGORIES] = {[CAT_COMPUTE] = 50, [CAT_COMM] = 10},
                          late[N_CATEGORIES] = {[CAT_COMPUTE] = 50, [CAT_COMM] = 210},
                          slower[N_CATEGORIES] = {[CAT_COMPUTE] = 70, [CAT_COMM] = 10},
                          waiting[N_CATEGORIES] = {[CAT_COMPUTE] = 50, [CAT_COMM] = 30};
            made_step(r, run_rank_at(r, 0), is_between ? early : waiting);
            made_step(r, run_rank_at(r, 1), is_between ? late : slower);
            run_rank_at(r, 0)->collectives[i].outside_ns = is_between ? 200 : 0;
        }
        struct report rep = {0};
        struct run_result *k = analysed(&rep, r);
        assert_int_equal(k->part_ns[PART_WAIT], is_rare ? (4 * 200 + 16 * 20) / 40 : 100);
        assert_true(2 * k->wait_cause_ns[CAT_COMM] > k->part_ns[PART_WAIT]);
        assert_int_equal(k->gain_ns[CLASS_IMBALANCE], is_rare ? 4 * 100 / 20 + 16 * 10 / 20 : 100);
        assert_int_equal(k->gain_ns[CLASS_COMMUNICATION], 10);
        assert_int_equal(action_for(&rep, k, CLASS_IMBALANCE).id, ADVICE_BETWEEN_STEPS);
        assert_false(k->straggler.has && k->straggler.rank == 1);
        done(&rep, r);
    }
}

/* Rank 1 loads data longer: the waiting belongs to data loading, and removing the loading removes it. */
static void test_waiting_goes_upstream(void **state)
{
    (void)state;
    struct run *r = made_run(2, 64);
    const int64_t a[N_CATEGORIES] = {[CAT_COMPUTE] = 60, [CAT_DATA] = 5, [CAT_COMM] = 35};
    const int64_t b[N_CATEGORIES] = {[CAT_COMPUTE] = 60, [CAT_DATA] = 30, [CAT_COMM] = 10};
    for (int i = 0; i < 20; i++) {
        made_step(r, run_rank_at(r, 0), a);
        made_step(r, run_rank_at(r, 1), b);
    }
    struct report rep = {0};
    struct run_result *k = analysed(&rep, r);
    assert_int_equal(k->part_ns[PART_WAIT], 13); /* 12.5: the largest remainder */
    assert_int_equal(k->wait_cause_ns[CAT_DATA], 13);
    assert_int_equal(k->gain_ns[CLASS_DATA], 30);
    assert_int_equal(k->gain_ns[CLASS_IMBALANCE], 0);
    assert_int_equal(sum_of(k->part_ns, N_PARTS), k->step.mean_ns);
    done(&rep, r);
}

/* Two ranks left the all-reduce after equal times. The one that loaded longer before it came last, whatever its
 * number. */
static void test_equally_late(void **state)
{
    (void)state;
    const int64_t part[3][N_CATEGORIES] = {{[CAT_COMPUTE] = 60, [CAT_COMM] = 30},
                                           {[CAT_COMPUTE] = 70, [CAT_COMM] = 10},
                                           {[CAT_COMPUTE] = 60, [CAT_DATA] = 20, [CAT_COMM] = 10}};
    static const int order[2][3] = {{0, 1, 2}, {2, 1, 0}};
    for (int i = 0; i < 2; i++) {
        struct run *r = made_run(3, 64);
        for (int s = 0; s < 20; s++)
            for (int k = 0; k < 3; k++)
                made_step(r, run_rank_at(r, k), part[order[i][k]]);
        struct report rep = {0};
        struct run_result *k = analysed(&rep, r);
        assert_int_equal(k->ranks[i ? 0 : 2].n_last, 20);
        assert_int_equal(k->wait_cause_ns[CAT_DATA], k->part_ns[PART_WAIT]);
        done(&rep, r);
    }
}

/* Two ranks come last equally often. The one that costs the others more is the straggler, whatever its number. */
static void test_straggler_of_equals(void **state)
{
    (void)state;
    enum { N = 6 };
    for (int first = 0; first <= 1; first++) { /* rank 1 + 3 * first is late by 10, the other of the two by 30 */
        struct run *r = made_run(N, 64);
        for (int s = 0; s < 20; s++)
            for (int k = 0; k < N; k++) {
                int late = s % 2 ? 4 : 1, by = late == 1 + 3 * first ? 10 : 30;
                const int64_t part[N_CATEGORIES] = {
                    [CAT_COMPUTE] = 60 + (k == late ? by : 0), [CAT_COMM] = 10 + (k == late ? 0 : by)};
                made_step(r, run_rank_at(r, k), part);
            }
        struct report rep = {0};
        struct run_result *k = analysed(&rep, r);
        assert_int_equal(k->ranks[1].n_last, 10);
        assert_int_equal(k->ranks[4].n_last, 10);
        assert_int_equal(k->straggler.rank, first ? 1 : 4);
        done(&rep, r);
    }
}

/* Durations that do not divide: every mean is rounded, every sum still exact. */
static void test_sums_are_exact(void **state)
{
    (void)state;
    struct run *r = made_run(3, 64);
    struct draws d = {3};
    for (int i = 0; i < 37; i++) {
        for (int k = 0; k < 3; k++) {
            int64_t part[N_CATEGORIES];
            for (int c = 0; c < N_CATEGORIES; c++)
                part[c] = 1 + (int64_t)draw_below(&d, 1000);
            made_step(r, run_rank_at(r, k), part);
        }
    }
    struct report rep = {0};
    struct run_result *k = analysed(&rep, r);
    assert_int_equal(sum_of(k->part_ns, N_PARTS), k->step.mean_ns);
    assert_int_equal(sum_of(k->wait_cause_ns, N_CATEGORIES), k->part_ns[PART_WAIT]);
    int64_t all = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sum_of(k->ranks[i].part_ns, N_PARTS), k->ranks[i].step.mean_ns);
        all += k->ranks[i].n_last;
    }
    assert_int_equal(all, k->n_counted);
    done(&rep, r);
}

static void test_steps_not_on_all_ranks(void **state)
{
    (void)state;
    struct run *r = made_even_run(2, 64, 10, 80, 10, 0, 0);
    run_rank_at(r, 1)->steps[4].step = 100; /* rank 1 lost step 4 */
    run_rank_at(r, 1)->n_steps = 9;
    for (int i = 4; i < 9; i++)
        run_rank_at(r, 1)->steps[i].step = i + 1;
    struct report rep = {0};
    struct run_result *k = analysed(&rep, r);
    assert_int_equal(k->n_steps, 9);
    assert_int_equal(k->n_partial_steps, 1);
    done(&rep, r);
}

static void test_one_rank(void **state)
{
    (void)state;
    struct run *r = made_even_run(1, 64, 10, 80, 0, 15, 5);
    struct report rep = {0};
    struct run_result *k = analysed(&rep, r);
    assert_int_equal(k->comm_ns, 0);
    assert_true(k->pop.parallel_ratio == 1);
    assert_int_equal(k->gain_ns[CLASS_DATA], 15);
    assert_int_equal(k->gain_ns[CLASS_IO], 5);
    assert_int_equal(k->classes[CLASS_COMMUNICATION].verdict, VERDICT_NA);
    done(&rep, r);
    r = made_run(1, 64); /* of 30 in MPI 10 are in the all-reduce, the rest in messages to itself: no waiting */
    for (int s = 0; s < 10; s++) {
        made_step(r, run_rank_at(r, 0), (int64_t[N_CATEGORIES]){[CAT_COMPUTE] = 70, [CAT_COMM] = 30});
        run_rank_at(r, 0)->collectives[s].dur_ns = 10;
    }
    k = analysed(&rep, r);
    assert_int_equal(k->part_ns[PART_TRANSFER], 30);
    assert_int_equal(k->part_ns[PART_WAIT], 0);
    done(&rep, r);
}

/* Two ranks with collectives known only by their durations (GPU traces): rank 1 loads for 40 and is in the all-reduce
 * for 10; rank 0 computes as long and waits. Without loading both wait for nobody. */
static void test_gain_without_replay(void **state)
{
    (void)state;
    struct run *r = made_run(2, 64);
    const int64_t a[N_CATEGORIES] = {[CAT_COMPUTE] = 50, [CAT_COMM] = 45, [CAT_DATA] = 5},
                  b[N_CATEGORIES] = {[CAT_COMPUTE] = 50, [CAT_COMM] = 10, [CAT_DATA] = 40};
    for (int i = 0; i < 20; i++) {
        made_step(r, run_rank_at(r, 0), a);
        made_step(r, run_rank_at(r, 1), b);
    }
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < run_rank_at(r, k)->n_collectives; i++)
            memset(run_rank_at(r, k)->collectives[i].since_ns, 0, sizeof run_rank_at(r, k)->collectives[i].since_ns);
    struct report rep = {0};
    struct run_result *k = analysed(&rep, r);
    assert_int_equal(k->step.mean_ns, 100);
    assert_int_equal(k->part_ns[PART_TRANSFER], 10);
    assert_int_equal(k->gain_ns[CLASS_DATA], 40); /* 100 -> 50 + 10 */
    assert_int_equal(k->gain_ns[CLASS_IO], 0);
    assert_int_equal(k->ranks[1].n_last, 20);
    assert_int_equal(k->wait_cause_ns[CAT_DATA], k->part_ns[PART_WAIT]);
    assert_int_equal(k->gain_ns[CLASS_IMBALANCE],
                     0); /* all waiting is for loading, so evening out saves nothing more */
    assert_int_equal(k->gain_ns[CLASS_COPY], 0);
    done(&rep, r);
}

static void test_throughput(void **state)
{
    (void)state;
    struct run *r = made_even_run(2, 64, 10, 80000000, 20000000, 0, 0);
    struct report rep = {0};
    struct run_result *k = analysed(&rep, r); /* 64 samples per 0.1 s */
    assert_true(k->has_throughput);
    assert_true(k->throughput > 639.999 && k->throughput < 640.001);
    report_free(&rep);
    for (int i = 0; i < 10; i++) /* values of the steps take precedence */
        run_rank_at(r, 0)->steps[i].samples = run_rank_at(r, 1)->steps[i].samples = 16;
    k = analysed(&rep, r);
    assert_int_equal(k->throughput_source, THROUGHPUT_OF_STEPS);
    assert_true(k->throughput > 319.999 && k->throughput < 320.001);
    done(&rep, r);
}

static void test_no_steps(void **state)
{
    (void)state;
    struct run *r = made_run(2, 64);
    struct report rep = {0};
    struct run_result *k = analysed(&rep, r);
    assert_false(k->has_steps);
    assert_true(k->steps_why.code != REASON_NONE);
    assert_false(k->has_throughput);
    for (int c = 0; c < N_CLASSES; c++)
        if (c != CLASS_SHARED) /* the cores are known, so that class is not n/a */
            assert_int_equal(k->classes[c].verdict, VERDICT_NA);
    done(&rep, r);
}

static void test_replay_gain(void **state)
{
    (void)state;
    const struct arrival a[] = {
        {.part_ns = {[CAT_COMPUTE] = 100, [CAT_DATA] = 50}, .dur_ns = 10}, /* 150: last */
        {.part_ns = {[CAT_COMPUTE] = 120, [CAT_DATA] = 10}, .dur_ns = 30}, /* 130 */
    };
    assert_int_equal(replay_gain(a, 2, (struct removal){-1, 0, 1}), 10);
    assert_int_equal(replay_gain(a, 2, (struct removal){CAT_DATA, 0, 0}), 30);     /* then rank 1 is last: 120 */
    assert_int_equal(replay_gain(a, 2, (struct removal){CAT_COMPUTE, 0, 0}), 100); /* 150 -> 50 */
    assert_int_equal(replay_gain(a, 2, (struct removal){-1, 1, 0}), 0);            /* mean compute 110: 160, no gain */
    assert_int_equal(replay_gain(a, 1, (struct removal){CAT_IO, 0, 0}), 0);
    /* Rank 0 has three samples of four: with two each both compute for 70 and load for 40, 110 instead of 160. */
    struct arrival b[] = {
        {.part_ns = {[CAT_COMPUTE] = 100, [CAT_DATA] = 60}, .samples = 3},
        {.part_ns = {[CAT_COMPUTE] = 40, [CAT_DATA] = 20}, .samples = 1},
    };
    assert_int_equal(replay_gain(b, 2, (struct removal){-1, 1, 0}), 50);
    b[1].samples = 3; /* as many on both: loading is slow on rank 0 and stays slow */
    assert_int_equal(replay_gain(b, 2, (struct removal){-1, 1, 0}), 30);
    b[1].samples = -1; /* unknown */
    assert_int_equal(replay_gain(b, 2, (struct removal){-1, 1, 0}), 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warmup),
        cmocka_unit_test(test_transfer_and_waiting),
        cmocka_unit_test(test_messages_between_two),
        cmocka_unit_test(test_waiting_in_messages),
        cmocka_unit_test(test_start_skew),
        cmocka_unit_test(test_own_range_of_late_rank),
        cmocka_unit_test(test_waiting_for_work_between_steps),
        cmocka_unit_test(test_straggler_of_two),
        cmocka_unit_test(test_turns_are_no_straggler),
        cmocka_unit_test(test_works_alone),
        cmocka_unit_test(test_waiting_goes_upstream),
        cmocka_unit_test(test_equally_late),
        cmocka_unit_test(test_straggler_of_equals),
        cmocka_unit_test(test_sums_are_exact),
        cmocka_unit_test(test_steps_not_on_all_ranks),
        cmocka_unit_test(test_one_rank),
        cmocka_unit_test(test_gain_without_replay),
        cmocka_unit_test(test_throughput),
        cmocka_unit_test(test_no_steps),
        cmocka_unit_test(test_replay_gain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
