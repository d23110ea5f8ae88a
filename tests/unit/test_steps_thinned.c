/* test_steps_thinned.c - a run with too many steps keeps every second, fourth ... step as a whole. Number and time of
 * all steps stay known. */
#include "lib/base/buf.h"
#include "lib/reduce/summary.h"
#include "render/model/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { LOOK = 61 }; /* distance of the kept steps that are checked */
enum { STEPS = 540000, EVERY = 4, PERIOD = 1000, FIRST = 7 };

/* Step i computes for 100 + i % 50 and exchanges for 30 + i % 7, in 400 ns. */
static void phase(struct reducer *d, enum category c, const char *name, int64_t start, int64_t end, enum event_maker by)
{
    reduce_event(d, &(struct event){.track = 1,
                                    .kind = EVENT_PHASE,
                                    .category = c,
                                    .depth = 1,
                                    .maker = by,
                                    .start_ns = start,
                                    .end_ns = end,
                                    .number = -1,
                                    .name = name});
}

static int64_t computes(int64_t i)
{
    return 100 + i % 50;
}

static int64_t exchanges(int64_t i)
{
    return 30 + i % 7;
}

/* Step numbers begin with FIRST. */
static void step(struct reducer *d, int64_t i)
{
    int64_t at = i * PERIOD;
    phase(d, CAT_COMPUTE, "forward", at + 5, at + 5 + computes(i), EVENT_BY_PROGRAM);
    phase(d, CAT_COMM, "all_reduce", at + 200, at + 200 + exchanges(i), EVENT_BY_PROGRAM);
    reduce_event(
        d, &(struct event){.track = 1, .kind = EVENT_STEP, .start_ns = at, .end_ns = at + 400, .number = FIRST + i});
}

static void expect_step(const struct reduced *k, size_t at, int64_t i)
{
    const struct step_record *s = &k->steps[at];
    const struct collective *c = &k->collectives[s->first_collective];
    assert_int_equal(s->step, FIRST + i);
    assert_int_equal(s->step_ns, 400);
    assert_int_equal(s->part_ns[CAT_COMPUTE], computes(i));
    assert_int_equal(s->part_ns[CAT_COMM], exchanges(i));
    assert_int_equal(s->part_ns[CAT_OTHER], 400 - computes(i) - exchanges(i));
    assert_int_equal(s->n_collectives, 1);
    assert_int_equal(c->dur_ns, exchanges(i));
    assert_int_equal(c->since_ns[CAT_COMPUTE], computes(i));
    assert_int_equal(c->outside_ns, i ? PERIOD - 400 : 0); /* the step before counts, whether kept or not */
    assert_int_equal(k->phases[0].ns[at], computes(i));
    assert_int_equal(k->phases[1].ns[at], exchanges(i));
}

/* The first existing step of every four numbers is kept: 7, 8, 12, 16 ... */
static void expect_all(const struct reduced *k)
{
    assert_int_equal(k->seen.every, EVERY);
    assert_int_equal(k->seen.n, STEPS);
    assert_int_equal(k->seen.ns, 400 * (int64_t)STEPS);
    assert_int_equal(k->wall_ns, (int64_t)(STEPS - 1) * PERIOD + 400);
    assert_int_equal(k->n_steps, (FIRST + STEPS - 1) / EVERY - FIRST / EVERY + 1);
    assert_int_equal(k->n_collectives, k->n_steps);
    for (size_t i = 0; i < k->n_steps + LOOK; i += LOOK) {
        size_t at = i < k->n_steps ? i : k->n_steps - 1; /* the last one too */
        expect_step(k, at, at ? ((int64_t)at + FIRST / EVERY) * EVERY - FIRST : 0);
    }
}

static void test_thinned(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct summary sum = {.trace_name = "t", .notes = "", .ended_in = ""}, again = {0};
    struct dcr_arena a = {0};
    struct dcr_buf text = {.max = 256 << 20};
    for (int64_t i = 0; i < STEPS; i++)
        step(d, i);
    assert_int_equal(reduce_finish(d, &a, &sum.steps), 1);
    expect_all(&sum.steps);
    summary_write(&sum, &text);
    struct dcr_memory m = {.bytes = text.data, .len = text.len};
    struct dcr_stream stream = dcr_stream_memory(&m, "t");
    assert_int_equal(summary_read(&again, &a, &stream, NULL), 0);
    expect_all(&again.steps);
    dcr_buf_release(&text);
    reduce_free(d);
    dcr_arena_release(&a);
}

/* Up to the limit all steps are kept, and seen.every is 0. */
static void test_not_thinned(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    for (int64_t i = 0; i < REDUCE_MAX_STEPS; i++)
        step(d, i);
    assert_int_equal(reduce_finish(d, &a, &k), 1);
    assert_int_equal(k.n_steps, REDUCE_MAX_STEPS);
    assert_int_equal(k.seen.every, 0);
    assert_int_equal(k.seen.n, 0);
    reduce_free(d);
    dcr_arena_release(&a);
}

/* A step with many collectives takes the room of many steps. */
static void test_many_collectives(void **state)
{
    (void)state;
    enum { N = 20, CALLS = REDUCE_MAX_COLLECTIVES / 16 };
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    for (int64_t i = 0; i < N; i++) {
        int64_t at = i * 10 * CALLS;
        for (int c = 0; c < CALLS; c++)
            phase(d, CAT_COMM, "all_reduce", at + 2 * c, at + 2 * c + 1, EVENT_BY_PROGRAM);
        reduce_event(
            d, &(struct event){.track = 1, .kind = EVENT_STEP, .start_ns = at, .end_ns = at + 4 * CALLS, .number = i});
    }
    assert_int_equal(reduce_finish(d, &a, &k), 1);
    assert_int_equal(k.seen.n, N);
    assert_int_equal(k.seen.every, 2);
    assert_int_equal(k.n_steps, N / 2);
    for (size_t i = 0; i < k.n_steps; i++) {
        assert_int_equal(k.steps[i].step, 2 * i);
        assert_int_equal(k.steps[i].n_collectives, CALLS);
        assert_int_equal(k.steps[i].first_collective, i * CALLS);
    }
    reduce_free(d);
    dcr_arena_release(&a);
}

/* Steps numbered from .. by .., or by epochs of a length. */
static void numbered(struct reduced *k, struct dcr_arena *a, int64_t from, int64_t by, int64_t epoch)
{
    struct reducer *d = reduce_new();
    for (int64_t i = 0; i < STEPS; i++)
        reduce_event(d, &(struct event){.track = 1,
                                        .kind = EVENT_STEP,
                                        .start_ns = i * PERIOD,
                                        .end_ns = i * PERIOD + 1 + i,
                                        .number = epoch ? i % epoch : from + by * i});
    assert_int_equal(reduce_finish(d, a, k), 1);
    assert_int_equal(k->seen.n, STEPS);
    assert_int_equal(k->seen.ns, (int64_t)STEPS * (STEPS + 1) / 2);
    assert_in_range(k->n_steps, REDUCE_MAX_STEPS / 4, REDUCE_MAX_STEPS);
    reduce_free(d);
}

/* Ranks need not begin with the same step, and programs may count by tens. */
static void test_ranks_keep_the_same(void **state)
{
    (void)state;
    static const int64_t by[] = {1, 10};
    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        struct reduced one = {0}, two = {0};
        struct dcr_arena a = {0};
        size_t n_common = 0;
        numbered(&one, &a, 0, by[i], 0);
        numbered(&two, &a, 3 * by[i], by[i], 0);
        for (size_t x = 0, y = 0; x < one.n_steps && y < two.n_steps;) {
            int64_t distance = one.steps[x].step - two.steps[y].step;
            n_common += distance == 0;
            x += distance <= 0;
            y += distance >= 0;
        }
        assert_true(n_common + 4 >= one.n_steps);
        dcr_arena_release(&a);
    }
}

/* If numbers restart, one step in each group is kept, whatever its number. Its length tells which step it was. */
static void test_epochs(void **state)
{
    (void)state;
    struct reduced k = {0};
    struct dcr_arena a = {0};
    numbered(&k, &a, 0, 1, 100);
    for (size_t i = 0; i < k.n_steps; i++)
        assert_int_equal(k.steps[i].step_ns, 1 + (int64_t)i * k.seen.every);
    dcr_arena_release(&a);
}

/* The exchange of gradients is recorded after its step, and that step may not be kept. The last step has no recorded
 * exchange, so it is left out, and the time ends with the step before it. */
static void test_exchange(void **state)
{
    (void)state;
    enum { N = REDUCE_MAX_STEPS + 4 }; /* the last index is odd */
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    for (int64_t i = 0; i < N; i++) {
        int64_t at = i * PERIOD;
        if (i)
            reduce_event(d, &(struct event){.track = 1,
                                            .kind = EVENT_EXCHANGE,
                                            .maker = EVENT_BY_HOOK,
                                            .start_ns = at,
                                            .end_ns = at,
                                            .number = 10 + (i - 1) % 5,
                                            .name = "exposed"});
        phase(d, CAT_COMPUTE, "backward", at, at + 50, EVENT_BY_HOOK);
        phase(d, CAT_COMPUTE, "optimizer", at + 50, at + 60, EVENT_BY_HOOK);
        reduce_event(d, &(struct event){.track = 1,
                                        .kind = EVENT_BATCH,
                                        .maker = EVENT_BY_HOOK,
                                        .start_ns = at,
                                        .end_ns = at + 90,
                                        .number = i});
    }
    assert_int_equal(reduce_finish(d, &a, &k), 1);
    assert_int_equal(k.is_last_left_out, 1);
    assert_int_equal(k.seen.every, 2);
    assert_int_equal(k.seen.n, N - 1);
    assert_int_equal(k.seen.ns, 90 * (int64_t)(N - 1));
    assert_int_equal(k.wall_ns, (int64_t)(N - 2) * PERIOD + 90);
    assert_int_equal(k.n_steps, N / 2);
    for (size_t i = 0; i < k.n_steps; i += LOOK) {
        assert_int_equal(k.steps[i].step, 2 * i);
        assert_int_equal(k.steps[i].part_ns[CAT_COMM], 10 + 2 * (int64_t)i % 5);
    }
    reduce_free(d);
    dcr_arena_release(&a);
}

/* A rank with fewer steps kept all of them. Beside the others it keeps the same steps as they do. */
static void test_run_keeps_the_same(void **state)
{
    (void)state;
    struct run *r = run_new("x");
    struct reduced k[2] = {{0}, {0}};
    numbered(&k[0], &r->arena, 0, 1, 0);
    k[1] = (struct reduced){
        .n_steps = 1000, .steps = dcr_arena_alloc(&r->arena, 1000 * sizeof *k[1].steps), .n_phases = 1};
    k[1].phases = dcr_arena_alloc(&r->arena, sizeof *k[1].phases);
    k[1].phases->ns = dcr_arena_alloc(&r->arena, 1000 * sizeof *k[1].phases->ns);
    for (int i = 0; i < 1000; i++) {
        k[1].steps[i] = (struct step_record){.step = i, .step_ns = 10};
        k[1].phases->ns[i] = i;
    }
    for (int i = 0; i < 2; i++)
        run_take_steps(run_rank_at(r, i), &k[i]);
    run_number_steps(r);
    const struct run_rank *few = &r->ranks[1];
    int64_t every = r->ranks[0].seen.every;
    assert_int_equal(few->seen.every, every);
    assert_int_equal(few->seen.n, 1000);
    assert_int_equal(few->seen.ns, 10000);
    assert_int_equal(few->n_steps, (1000 + every - 1) / every);
    for (size_t i = 0; i < few->n_steps; i++) {
        assert_int_equal(few->steps[i].step, r->ranks[0].steps[i].step);
        assert_int_equal(few->phases->ns[i], few->steps[i].step);
    }
    assert_true(run_all_steps(r, (int64_t)(r->ranks[0].n_steps + few->n_steps)) == STEPS + 1000);
    run_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thinned),
        cmocka_unit_test(test_not_thinned),
        cmocka_unit_test(test_many_collectives),
        cmocka_unit_test(test_ranks_keep_the_same),
        cmocka_unit_test(test_epochs),
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_run_keeps_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
