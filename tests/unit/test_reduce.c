/* test_reduce.c - the stream of events becomes steps (lib/reduce/reduce.h). Times are chosen by hand. */
#include "lib/reduce/reduce.h"
#include "lib/trace/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static void phase(struct reducer *d, uint32_t track, enum category c, int64_t start, int64_t end)
{
    reduce_event(d, &(struct event){.track = track,
                                    .kind = EVENT_PHASE,
                                    .category = c,
                                    .depth = 2,
                                    .start_ns = start,
                                    .end_ns = end,
                                    .number = -1});
}

static void named(struct reducer *d, const char *name, enum category c, int64_t start, int64_t end)
{
    reduce_event(d, &(struct event){.track = 1,
                                    .kind = EVENT_PHASE,
                                    .category = c,
                                    .depth = 2,
                                    .start_ns = start,
                                    .end_ns = end,
                                    .number = -1,
                                    .name = name});
}

static void step(struct reducer *d, uint32_t track, int64_t number, int64_t start, int64_t end)
{
    reduce_event(
        d, &(struct event){
               .track = track, .kind = EVENT_STEP, .depth = 1, .start_ns = start, .end_ns = end, .number = number});
}

static void expect_parts(const struct step_record *s, int64_t compute, int64_t comm, int64_t data, int64_t io,
                         int64_t other)
{
    int64_t sum = 0;
    assert_int_equal(s->part_ns[CAT_COMPUTE], compute);
    assert_int_equal(s->part_ns[CAT_COMM], comm);
    assert_int_equal(s->part_ns[CAT_DATA], data);
    assert_int_equal(s->part_ns[CAT_IO], io);
    assert_int_equal(s->part_ns[CAT_OTHER], other);
    for (int c = 0; c < N_CATEGORIES; c++)
        sum += s->part_ns[c];
    assert_int_equal(sum, s->step_ns);
}

/* Steps that end after the complete part of the recording are left out, with everything in them. */
static void test_until(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    reduce_until(d, 250);
    for (int s = 0; s < 4; s++) {
        phase(d, 1, CAT_COMPUTE, 100 * s + 10, 100 * s + 60);
        phase(d, 1, CAT_COMM, 100 * s + 60, 100 * s + 80);
        step(d, 1, s, 100 * s, 100 * s + 100);
    }
    assert_int_equal(reduce_finish(d, &a, &k), 1);
    assert_int_equal(k.n_steps, 2);
    assert_int_equal(k.n_collectives, 2);
    assert_int_equal(k.wall_ns, 200);
    expect_parts(&k.steps[1], 50, 20, 0, 0, 30);
    reduce_free(d);
    dcr_arena_release(&a);
}

/* The end of the step that closes the window is timed by the track's counter, the window by the system's clock. */
static void test_step_that_closes(void **state)
{
    (void)state;
    const int64_t length = 100000, last = 3 * length;
    static const struct {
        int64_t late_ns; /* the end of the third step, after the end of the window */
        int n_steps;
    } c[] = {{0, 3}, {DCT_CLOCK_ERROR_NS, 3}, {DCT_CLOCK_ERROR_NS + 1, 2}};
    struct dct_info info = {.window = {.until_ns = INT64_MAX / 4, .first_ns = 1, .last_ns = last, .closed_ns = last}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct reducer *d = reduce_new();
        struct reduced k = {0};
        struct dcr_arena a = {0};
        reduce_until(d, dct_recorded_until(&info));
        for (int s = 0; s < 3; s++)
            step(d, 1, s, length * s, length * (s + 1) + (s == 2 ? c[i].late_ns : 0));
        assert_int_equal(reduce_finish(d, &a, &k), 1);
        assert_int_equal(k.n_steps, c[i].n_steps);
        reduce_free(d);
        dcr_arena_release(&a);
    }
    info.incomplete_ns = last; /* events were lost: no tolerance is added */
    assert_int_equal(dct_recorded_until(&info), last);
}

/* Long parts of a step in which one phase was innermost: the range inside cuts its outer one, and what is shorter than
 * the least is left out. Phases that only steps without them named are not counted. */
static void test_stretches(void **state)
{
    (void)state;
    const int64_t ms = 1000000, least = REDUCE_STRETCH_NS;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    named(d, "start", CAT_IO, 0, 900 * ms); /* ends before the first step */
    named(d, "forward", CAT_COMPUTE, 1000 * ms, 1000 * ms + least);
    named(d, "exchange", CAT_COMM, 1100 * ms, 1150 * ms);
    named(d, "backward", CAT_COMPUTE, 1050 * ms, 1180 * ms);
    named(d, "optimizer", CAT_COMPUTE, 1180 * ms, 1180 * ms + least - 1);
    step(d, 1, 0, 1000 * ms, 1300 * ms);
    assert_int_equal(reduce_finish(d, &a, &k), 1);
    static const struct {
        const char *name;
        int from_ms, to_ms;
    } want[] = {{"forward", 1000, 1040}, {"backward", 1050, 1100}, {"exchange", 1100, 1150}};
    assert_int_equal(k.n_stretches, 3);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(k.phases[k.stretches[i].phase].name, want[i].name);
        assert_int_equal(k.stretches[i].from_ns, want[i].from_ms * ms);
        assert_int_equal(k.stretches[i].to_ns, want[i].to_ms * ms);
    }
    reduce_free(d);
    dcr_arena_release(&a);
}

static void test_plain_step(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    phase(d, 1, CAT_DATA, 105, 115);
    phase(d, 1, CAT_COMPUTE, 115, 150);
    phase(d, 1, CAT_COMM, 150, 180);
    phase(d, 1, CAT_COMPUTE, 182, 190);
    step(d, 1, 7, 100, 200);
    assert_int_equal(reduce_finish(d, &a, &k), 1);
    assert_int_equal(k.n_steps, 1);
    assert_int_equal(k.steps[0].step, 7);
    expect_parts(&k.steps[0], 43, 30, 10, 0, 17);
    assert_int_equal(k.steps[0].n_collectives, 1);
    assert_int_equal(k.collectives[0].dur_ns, 30);
    assert_int_equal(k.collectives[0].since_ns[CAT_COMPUTE], 35);
    assert_int_equal(k.collectives[0].since_ns[CAT_DATA], 10);
    assert_int_equal(k.collectives[0].since_ns[CAT_OTHER], 5);
    reduce_free(d);
    dcr_arena_release(&a);
}

/* The innermost range wins; an MPI call inside an all_reduce range is one collective. */
static void test_nesting(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    phase(d, 1, CAT_COMM, 130, 140);
    phase(d, 1, CAT_COMM, 128, 142);
    phase(d, 1, CAT_IO, 150, 155);
    phase(d, 1, CAT_COMPUTE, 110, 190); /* encloses both */
    step(d, 1, 0, 100, 200);
    reduce_finish(d, &a, &k);
    expect_parts(&k.steps[0], 80 - 14 - 5, 14, 0, 5, 20);
    assert_int_equal(k.steps[0].n_collectives, 1);
    assert_int_equal(k.collectives[0].dur_ns, 14);
    assert_int_equal(k.collectives[0].since_ns[CAT_COMPUTE], 18);
    reduce_free(d);
    dcr_arena_release(&a);
}

/* Time of a rank after its collective delays the next one: the causes continue over the border of a step. */
static void test_since_crosses_steps(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    phase(d, 1, CAT_COMM, 10, 20);
    phase(d, 1, CAT_IO, 20, 90);
    step(d, 1, 0, 0, 100);
    phase(d, 1, CAT_COMPUTE, 103, 110);
    phase(d, 1, CAT_COMM, 110, 111);
    step(d, 1, 1, 103, 120);
    reduce_finish(d, &a, &k);
    assert_int_equal(k.n_collectives, 2);
    assert_int_equal(k.collectives[1].since_ns[CAT_IO], 70);
    assert_int_equal(k.collectives[1].since_ns[CAT_OTHER], 10);
    assert_int_equal(k.collectives[1].since_ns[CAT_COMPUTE], 7);
    assert_int_equal(k.collectives[1].outside_ns, 3);
    assert_int_equal(k.wall_ns, 120);
    reduce_free(d);
    dcr_arena_release(&a);
}

/* Validation repeats forward ranges: none of it may count as a step's compute. Time after the last step is no wall
 * time. */
static void test_validation_is_outside(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    step(d, 1, 0, 0, 100);
    phase(d, 1, CAT_COMPUTE, 120, 180);
    reduce_event(d, &(struct event){.track = 1, .kind = EVENT_VALIDATION, .depth = 1, .start_ns = 110, .end_ns = 190});
    phase(d, 1, CAT_IO, 190, 195);
    step(d, 1, 1, 200, 300);
    reduce_event(d, &(struct event){.track = 1, .kind = EVENT_VALIDATION, .depth = 1, .start_ns = 310, .end_ns = 390});
    reduce_finish(d, &a, &k);
    assert_int_equal(k.n_steps, 2);
    expect_parts(&k.steps[1], 0, 0, 0, 0, 100);
    assert_int_equal(k.validation_ns, 80);
    assert_int_equal(k.outside_ns[CAT_IO], 5);
    assert_int_equal(k.outside_ns[CAT_COMPUTE], 0);
    assert_int_equal(k.wall_ns, 300);
    reduce_free(d);
    dcr_arena_release(&a);
}

/* A communication thread: time that the step's own thread does not wait for is hidden, each instant once. */
static void test_hidden_communication(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    phase(d, 2, CAT_COMM, 40, 70);
    phase(d, 2, CAT_COMM, 60, 90);
    phase(d, 1, CAT_COMPUTE, 0, 80);
    phase(d, 1, CAT_COMM, 80, 95); /* waits for the rest */
    step(d, 1, 0, 0, 100);
    reduce_finish(d, &a, &k);
    expect_parts(&k.steps[0], 80, 15, 0, 0, 5);
    assert_int_equal(k.steps[0].hidden_comm_ns, 40); /* 40..80 */
    reduce_free(d);
    dcr_arena_release(&a);
}

static void beside(struct reducer *d, enum category c, int64_t start, int64_t end)
{
    reduce_event(d, &(struct event){.track = 1,
                                    .kind = EVENT_PHASE,
                                    .category = c,
                                    .depth = 1,
                                    .is_beside = 1,
                                    .start_ns = start,
                                    .end_ns = end,
                                    .number = -1});
}

/* Buckets in flight that belong to no thread: time in flight (union) less the waiting of the step. The parts of the
 * step are as without them, and they are not collectives. Those between steps count nowhere, one over two steps counts
 * in each. */
static void test_buckets_beside_the_thread(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    beside(d, CAT_COMM, 40, 60);
    beside(d, CAT_COMM, 70, 92); /* may end in any order */
    beside(d, CAT_COMM, 50, 90);
    phase(d, 1, CAT_COMPUTE, 10, 80);
    phase(d, 1, CAT_COMM, 80, 95);
    step(d, 1, 0, 0, 100);
    beside(d, CAT_COMM, 110, 115);
    phase(d, 1, CAT_COMPUTE, 120, 150);
    step(d, 1, 1, 120, 200);
    phase(d, 1, CAT_COMPUTE, 200, 300);
    step(d, 1, 2, 200, 300);
    beside(d, CAT_COMM, 190, 230);
    reduce_finish(d, &a, &k);
    expect_parts(&k.steps[0], 70, 15, 0, 0, 15);
    assert_int_equal(k.steps[0].hidden_comm_ns, 40); /* 40..92 without 80..95 */
    assert_int_equal(k.steps[0].n_collectives, 1);
    assert_int_equal(k.steps[1].hidden_comm_ns, 10);
    assert_int_equal(k.steps[2].hidden_comm_ns, 30);
    assert_int_equal(k.steps[2].n_collectives, 0);
    expect_parts(&k.steps[2], 100, 0, 0, 0, 0);
    reduce_free(d);
    dcr_arena_release(&a);
}

/* Other process ranges (a program may mark its phases so) belong to the thread as usual. */
static void test_other_process_ranges(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    beside(d, CAT_COMPUTE, 10, 80);
    step(d, 1, 0, 0, 100);
    reduce_finish(d, &a, &k);
    expect_parts(&k.steps[0], 70, 0, 0, 0, 30);
    reduce_free(d);
    dcr_arena_release(&a);
}

/* A traced MPI: calls that start or test something are communication, but not the collective that ranks wait in. */
static void test_mpi_calls_that_do_not_wait(void **state)
{
    (void)state;
    static const char *const calls[] = {"MPI_Iallreduce", "MPI_Testsome", "MPI_Test", "MPI_Isend", "MPI_Wait"};
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    for (int i = 0; i < 5; i++)
        named(d, calls[i], CAT_COMM, 10 * i, 10 * i + 5);
    step(d, 1, 0, 0, 100);
    reduce_finish(d, &a, &k);
    expect_parts(&k.steps[0], 0, 25, 0, 0, 75);
    assert_int_equal(k.steps[0].n_collectives, 1);
    assert_int_equal(k.collectives[0].dur_ns, 5);
    reduce_free(d);
    dcr_arena_release(&a);
}

static void observed(struct reducer *d, const char *name, enum category c, int64_t start, int64_t end)
{
    reduce_event(d, &(struct event){.track = 1,
                                    .kind = EVENT_PHASE,
                                    .category = c,
                                    .depth = 2,
                                    .maker = EVENT_BY_RECORDER,
                                    .start_ns = start,
                                    .end_ns = end,
                                    .number = -1,
                                    .bytes = 1000,
                                    .name = name});
}

/* A flight that MPI shows is hidden communication, but if the program names flights itself, only those count. */
static void test_flights_count_where_none_is_named(void **state)
{
    (void)state;
    for (int is_named = 0; is_named < 2; is_named++) {
        struct reducer *d = reduce_new();
        struct reduced k = {0};
        struct dcr_arena a = {0};
        reduce_event(d, &(struct event){.track = 1,
                                        .kind = EVENT_PHASE,
                                        .category = CAT_COMM,
                                        .depth = 1,
                                        .is_beside = 1,
                                        .maker = EVENT_BY_RECORDER,
                                        .start_ns = 110,
                                        .end_ns = 160,
                                        .number = -1,
                                        .name = "MPI_Iallreduce"});
        if (is_named)
            beside(d, CAT_COMM, 120, 130);
        phase(d, 1, CAT_COMPUTE, 100, 200);
        step(d, 1, 0, 100, 200);
        reduce_finish(d, &a, &k);
        expect_parts(&k.steps[0], 100, 0, 0, 0, 0);
        assert_int_equal(k.steps[0].hidden_comm_ns, is_named ? 10 : 50);
        reduce_free(d);
        dcr_arena_release(&a);
    }
}

/* MPI and file calls inside the program's own ranges are those ranges' time; elsewhere they count separately. Nothing
 * is counted twice: neither time nor collectives nor bytes. */
static void test_observed_calls_are_not_counted_twice(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    observed(d, "read", CAT_IO, 101, 108);
    named(d, "data_load", CAT_DATA, 100, 110);
    observed(d, "MPI_Allreduce", CAT_COMM, 122, 138);
    observed(d, "MPI_Barrier", CAT_COMM, 138, 139);
    named(d, "all_reduce", CAT_COMM, 120, 140);
    observed(d, "MPI_Bcast", CAT_COMM, 150, 155);
    named(d, "forward", CAT_COMPUTE, 145, 160);
    observed(d, "MPI_Send", CAT_COMM, 160, 165);
    observed(d, "write", CAT_IO, 170, 180);
    step(d, 1, 0, 100, 200);
    assert_int_equal(reduce_finish(d, &a, &k), 1);
    expect_parts(&k.steps[0], 10, 20 + 5 + 5, 10, 10, 40);
    assert_int_equal(k.steps[0].n_collectives, 2); /* all_reduce with what is inside it, and MPI_Bcast */
    assert_int_equal(k.collectives[0].dur_ns, 20);
    assert_int_equal(k.collectives[1].dur_ns, 5);
    assert_int_equal(k.steps[0].bytes, 3000); /* the range has no bytes, so those inside it count */
    for (int i = 0; i < k.n_phases; i++)
        assert_string_not_equal(k.phases[i].name, "MPI_Allreduce");
    int64_t files = 0; /* calls on files inside loading are a separate phase */
    for (int i = 0; i < k.n_phases; i++)
        if (strcmp(k.phases[i].name, "data_load" REDUCE_FILES) == 0) {
            assert_int_equal(k.phases[i].category, CAT_DATA);
            files += k.phases[i].ns[0];
        }
    assert_int_equal(files, 7);
    reduce_free(d);
    dcr_arena_release(&a);
}

static void reads(struct reducer *d, uint32_t track, uint32_t file, int64_t start, int64_t end)
{
    reduce_event(d, &(struct event){.track = track,
                                    .kind = EVENT_PHASE,
                                    .category = CAT_IO,
                                    .depth = 2,
                                    .maker = EVENT_BY_RECORDER,
                                    .start_ns = start,
                                    .end_ns = end,
                                    .number = -1,
                                    .file = file,
                                    .name = "read"});
}

/* The files that loading reads: those of calls inside its ranges, on the thread that has the steps. Adjacent calls on
 * two files stay separate. */
static void test_files_that_loading_reads(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    reads(d, 1, 3, 10, 19); /* before the first step, in no range */
    reads(d, 2, 3, 100, 150);
    reads(d, 1, 1, 100, 103);
    reads(d, 1, 3, 103, 108);
    reads(d, 1, 0, 108, 109); /* a write */
    named(d, "data_load", CAT_DATA, 100, 110);
    reads(d, 1, 4, 120, 125);
    named(d, "forward", CAT_COMPUTE, 115, 130);
    step(d, 1, 0, 100, 200);
    reads(d, 1, 1, 205, 209);
    named(d, "data_load", CAT_DATA, 200, 210);
    step(d, 1, 1, 200, 300);
    assert_int_equal(reduce_finish(d, &a, &k), 1);
    assert_int_equal(k.n_loading, 3);
    assert_int_equal(k.loading_ns[0], 3 + 4);
    assert_int_equal(k.loading_ns[1], 0);
    assert_int_equal(k.loading_ns[2], 5);
    reduce_free(d);
    dcr_arena_release(&a);
}

static void test_an_epoch_is_no_step(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    step(d, 1, 0, 10, 20);
    step(d, 1, 1, 30, 40);
    step(d, 1, 1, 5, 45); /* an enclosing range with the category of steps */
    reduce_finish(d, &a, &k);
    assert_int_equal(k.n_steps, 2);
    assert_int_equal(k.steps[1].step_ns, 10);
    reduce_free(d);
    dcr_arena_release(&a);
}

static void test_nonsense_is_passed_over(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    phase(d, 1, CAT_COMPUTE, 50, 40);  /* ends before it begins */
    phase(d, 1, CAT_COMPUTE, -50, 10); /* begins before the step */
    phase(d, 1, CAT_DATA, 5, 15);      /* overlaps it without nesting: the earlier one keeps what it has */
    step(d, 1, 0, 0, 100);
    step(d, 1, 1, 100, 100);
    reduce_finish(d, &a, &k);
    assert_int_equal(k.n_steps, 1);
    expect_parts(&k.steps[0], 10, 0, 5, 0, 85);
    reduce_free(d);
    dcr_arena_release(&a);
}

static void test_memory_does_not_grow_with_events(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    for (int s = 0; s < 100; s++) {
        for (int i = 0; i < 5000; i++)
            phase(d, 1, CAT_COMPUTE, s * 100000 + i * 10, s * 100000 + i * 10 + 5);
        step(d, 1, s, s * 100000, s * 100000 + 99999);
    }
    reduce_finish(d, &a, &k);
    assert_int_equal(k.n_steps, 100);
    assert_int_equal(k.steps[99].part_ns[CAT_COMPUTE], 25000);
    assert_int_equal(reduce_overflow(d), 0);
    assert_true(a.total_bytes < 100 * (sizeof(struct step_record) + 64));
    reduce_free(d);
    dcr_arena_release(&a);
}

static void batch(struct reducer *d, uint32_t track, int64_t start, int64_t end)
{
    reduce_event(d, &(struct event){.track = track,
                                    .kind = EVENT_STEP,
                                    .is_batch = 1,
                                    .depth = 1,
                                    .start_ns = start,
                                    .end_ns = end,
                                    .number = -1});
}

/* Batches are steps if nothing else is called a step; inside steps they are parts, and on other threads work of those
 * threads. */
static void test_batches(void **state)
{
    (void)state;
    struct dcr_arena a = {0};
    for (int with_steps = 0; with_steps < 2; with_steps++) {
        struct reducer *d = reduce_new();
        struct reduced k = {0};
        for (int s = 0; s < 3; s++) {
            for (int b = 0; b < 2; b++) {
                int64_t at = 100 * s + 50 * b;
                phase(d, 1, CAT_COMPUTE, at + 5, at + 25);
                batch(d, 1, at + 1, at + 40);
                batch(d, 2, at, at + 10); /* a loader that runs ahead */
                batch(d, 2, at + 20, at + 30);
            }
            if (with_steps)
                step(d, 1, -1, 100 * s, 100 * s + 100);
        }
        assert_int_equal(reduce_finish(d, &a, &k), 1);
        if (with_steps) { /* the first step shows that batches are not steps */
            assert_int_equal(k.n_steps, 2);
            assert_int_equal(k.steps[0].step, 0);
            assert_int_equal(k.steps[0].start_ns, 100);
            expect_parts(&k.steps[1], 40, 0, 0, 0, 60);
        } else {
            assert_int_equal(k.n_steps, 12); /* of the track with most */
        }
        reduce_free(d);
    }
    dcr_arena_release(&a);
}

static void hooked(struct reducer *d, enum event_kind kind, const char *name, enum category c, int64_t start,
                   int64_t end, int64_t number)
{
    reduce_event(d, &(struct event){.track = 1,
                                    .kind = kind,
                                    .category = c,
                                    .depth = kind == EVENT_BATCH ? 0 : 1,
                                    .is_beside = kind == EVENT_EXCHANGE && strcmp(name, "hidden") == 0,
                                    .maker = EVENT_BY_HOOK,
                                    .start_ns = start,
                                    .end_ns = end,
                                    .number = number,
                                    .name = name});
}

/* A batch is a step if an optimizer steps in it. Time in other batches is time between steps. */
static void test_batches_of_the_hook(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    for (int s = 0; s < 4; s++) {
        int64_t at = 100 * s;
        hooked(d, EVENT_PHASE, "data_load", CAT_DATA, at, at + 10, -1);
        hooked(d, EVENT_PHASE, "forward", CAT_COMPUTE, at + 10, at + 40, -1);
        if (s != 2)
            hooked(d, EVENT_PHASE, "optimizer", CAT_COMPUTE, at + 50, at + 60, -1);
        hooked(d, EVENT_BATCH, "step", CAT_OTHER, at, at + 90, s < 3 ? s : 2);
    }
    assert_int_equal(reduce_finish(d, &a, &k), 1);
    assert_int_equal(k.n_steps, 3);
    assert_int_equal(k.is_by_hook, 1);
    assert_int_equal(k.is_last_left_out, 0);
    for (int s = 0; s < 3; s++) {
        assert_int_equal(k.steps[s].step, s);
        expect_parts(&k.steps[s], 40, 0, 10, 0, 40);
    }
    assert_int_equal(k.steps[2].start_ns, 300);
    assert_int_equal(k.validation_ns, 0);
    assert_int_equal(k.outside_ns[CAT_DATA], 10);
    assert_int_equal(k.outside_ns[CAT_COMPUTE], 30);
    reduce_free(d);
    dcr_arena_release(&a);
}

/* Steps that the program names are the steps, and its phases hide those of the hook. */
static void test_the_program_wins_over_the_hook(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    for (int s = 0; s < 3; s++) {
        int64_t at = 100 * s;
        observed(d, "read", CAT_IO, at + 2, at + 4);
        hooked(d, EVENT_PHASE, "data_load", CAT_DATA, at, at + 10, -1);
        hooked(d, EVENT_PHASE, "forward", CAT_COMPUTE, at + 15, at + 20, -1);
        named(d, "my forward", CAT_COMPUTE, at + 10, at + 40);
        hooked(d, EVENT_PHASE, "optimizer", CAT_COMPUTE, at + 50, at + 60, -1);
        step(d, 1, s + 7, at + 5, at + 70);
        hooked(d, EVENT_BATCH, "step", CAT_OTHER, at, at + 90, s);
    }
    assert_int_equal(reduce_finish(d, &a, &k), 1);
    assert_int_equal(k.n_steps, 3);
    assert_int_equal(k.is_by_hook, 0);
    assert_int_equal(k.steps[1].step, 8);
    expect_parts(&k.steps[1], 40, 0, 5, 0, 20);
    for (int i = 0; i < k.n_phases; i++)
        assert_string_not_equal(k.phases[i].name, "forward");
    reduce_free(d);
    dcr_arena_release(&a);
}

/* The exchange of the backward pass is reported after its step: compute becomes communication. The last step, which has
 * no such report, is left out with the time before it. */
static void test_exchange_of_gradients(void **state)
{
    (void)state;
    for (int is_marked = 0; is_marked < 2; is_marked++) { /* steps of the hook, or of the program */
        struct reducer *d = reduce_new();
        struct reduced k = {0};
        struct dcr_arena a = {0};
        for (int s = 0; s < 3; s++) {
            int64_t at = 100 * s;
            hooked(d, EVENT_PHASE, "forward", CAT_COMPUTE, at, at + 20, -1);
            if (s) {
                hooked(d, EVENT_EXCHANGE, "exposed", CAT_OTHER, at + 20, at + 20, s == 1 ? 12 : 1000);
                hooked(d, EVENT_EXCHANGE, "hidden", CAT_OTHER, at + 20, at + 20, 7);
            }
            hooked(d, EVENT_PHASE, "backward", CAT_COMPUTE, at + 20, at + 50, -1);
            hooked(d, EVENT_PHASE, "optimizer", CAT_COMPUTE, at + 50, at + 60, -1);
            if (is_marked)
                step(d, 1, s, at, at + 90);
            else
                hooked(d, EVENT_BATCH, "step", CAT_OTHER, at, at + 90, s);
            if (s == 1)
                hooked(d, EVENT_VALIDATION, "check", CAT_OTHER, at + 91, at + 96, -1);
        }
        assert_int_equal(reduce_finish(d, &a, &k), 1);
        assert_int_equal(k.n_steps, 2);
        assert_int_equal(k.is_last_left_out, 1);
        expect_parts(&k.steps[0], 48, 12, 0, 0, 30);
        expect_parts(&k.steps[1], 30, 30, 0, 0, 30); /* no longer than the pass itself */
        for (int s = 0; s < 2; s++) {
            assert_int_equal(k.steps[s].hidden_comm_ns, 7);
            assert_int_equal(k.steps[s].n_collectives, 1);
            assert_int_equal(k.collectives[k.steps[s].first_collective].dur_ns, s ? 30 : 12);
            /* The optimiser and the rest of a step come after its exchange, so they count for the next one. */
            assert_int_equal(k.collectives[k.steps[s].first_collective].since_ns[CAT_COMPUTE], s ? 30 : 38);
            assert_int_equal(k.collectives[k.steps[s].first_collective].since_ns[CAT_OTHER], s ? 30 : 0);
        }
        assert_int_equal(k.n_collectives, 2);
        assert_int_equal(k.validation_ns, 0);
        assert_int_equal(k.wall_ns, 190);
        reduce_free(d);
        dcr_arena_release(&a);
    }
}

/* If a range of the program has the time of the pass, the exchange is not used, and no step is left out. Batches of the
 * hook do not count if the program marks batches. */
static void test_the_program_hides_the_exchange(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    for (int s = 0; s < 3; s++) {
        int64_t at = 100 * s;
        if (s)
            hooked(d, EVENT_EXCHANGE, "exposed", CAT_OTHER, at + 3, at + 3, 12);
        hooked(d, EVENT_PHASE, "backward", CAT_COMPUTE, at + 20, at + 50, -1);
        named(d, "Backward of mine", CAT_COMPUTE, at + 15, at + 60);
        hooked(d, EVENT_PHASE, "optimizer", CAT_COMPUTE, at + 61, at + 65, -1);
        batch(d, 1, at, at + 80);
        hooked(d, EVENT_BATCH, "step", CAT_OTHER, at + 2, at + 90, s);
    }
    assert_int_equal(reduce_finish(d, &a, &k), 1);
    assert_int_equal(k.n_steps, 3);
    assert_int_equal(k.is_by_hook, 0);
    assert_int_equal(k.is_last_left_out, 0);
    assert_int_equal(k.n_collectives, 0);
    for (int s = 0; s < 3; s++)
        expect_parts(&k.steps[s], 49, 0, 0, 0, 31);
    reduce_free(d);
    dcr_arena_release(&a);
}

static void test_classify(void **state)
{
    (void)state;
    enum category c;
    assert_int_equal(event_classify("comm", "all_reduce", &c), EVENT_PHASE);
    assert_int_equal(c, CAT_COMM);
    assert_int_equal(event_classify("", "ncclDevKernel_AllReduce", &c), EVENT_PHASE);
    assert_int_equal(c, CAT_COMM);
    assert_int_equal(event_classify("", "MPI_Allreduce", &c), EVENT_PHASE);
    assert_int_equal(event_classify("", "Forward", &c), EVENT_PHASE);
    assert_int_equal(c, CAT_COMPUTE);
    assert_int_equal(event_classify("io", "anything", &c), EVENT_PHASE);
    assert_int_equal(c, CAT_IO);
    assert_int_equal(event_classify("step", "step", &c), EVENT_STEP);
    assert_int_equal(event_classify("step", "epoch", &c), EVENT_NONE);
    assert_int_equal(event_classify("", "step", &c), EVENT_STEP);
    assert_int_equal(event_classify("validation", "", &c), EVENT_VALIDATION);
    assert_int_equal(event_classify("", "my own range", &c), EVENT_NONE);
    assert_int_equal(event_classify("", "step 12", &c), EVENT_STEP); /* followed by a number, as in many programs */
    assert_int_equal(event_classify("", "Iteration: 7", &c), EVENT_STEP);
    assert_int_equal(event_classify("", "train_step#0", &c), EVENT_STEP);
    assert_string_equal(event_numbered_step("STEP_3"), "step");
    assert_int_equal(event_classify("", "step 12 of 20x", &c), EVENT_NONE);
    assert_int_equal(event_classify("", "substep 1", &c), EVENT_NONE);
    assert_int_equal(event_classify("", "12", &c), EVENT_NONE);
    static const char *const steps[][2] = {{"step 12/100", "step"},
                                           {"step[12]", "step"},
                                           {"Step: 12", "step"},
                                           {"iter_12", "iter"},
                                           {"iteration 12 of 100", "iteration"},
                                           {"train_step_12", "train_step"},
                                           {"Train Step 12", "train_step"},
                                           {"epoch 3 step 12", "step"},
                                           {"Epoch [3/10], Step [12/100]", "step"},
                                           {"[epoch_3] iter=12:", "iter"},
                                           {"step 12 (epoch 3)", "step"},
                                           {"training-iteration #5", "training_iteration"},
                                           {"batch 7", "batch"},
                                           {"epoch 1 | batch 7/8", "batch"},
                                           {"global_step_99", "global_step"}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        assert_int_equal(event_classify("", steps[i][0], &c), EVENT_STEP);
        assert_non_null(event_numbered_step(steps[i][0]));
        assert_string_equal(event_numbered_step(steps[i][0]), steps[i][1]);
    }
    static const char *const others[] = {"step_size 3",
                                         "nsteps",
                                         "nsteps 3",
                                         "steps 3",
                                         "step 1.5",
                                         "step 12ms",
                                         "step 12 forward",
                                         "stepper",
                                         "batch",
                                         "batch32",
                                         "batch size 32",
                                         "batch_size",
                                         "epoch 3",
                                         "epoch 3 of 4",
                                         "epoch 3 forward",
                                         "epochs 3 step 1",
                                         "iterator 3",
                                         "step 3 of",
                                         "step of 3",
                                         "step (",
                                         "[",
                                         "",
                                         "training 3",
                                         "global_steps 2"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(event_classify("", others[i], &c), EVENT_NONE);
    assert_int_equal(event_classify("step", "Epoch 3", &c), EVENT_NONE); /* encloses steps */
    assert_null(event_numbered_step("step"));
    assert_null(event_numbered_step("step:"));
}

static const struct run_phase *phase_named(const struct reduced *k, const char *name)
{
    for (int i = 0; i < k->n_phases; i++)
        if (strcmp(k->phases[i].name, name) == 0)
            return &k->phases[i];
    fail_msg("no phase '%s'", name);
    return NULL;
}

/* Phases are exclusive like categories: an inner range takes its time from the outer one, equal names are added, and
 * the phases of a category sum to it. A phase that some steps lack is 0 there. */
static void test_phases_by_name(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    named(d, "before", CAT_IO, 10, 20); /* outside of all steps: no phase of theirs */
    named(d, "copy_in", CAT_COPY, 110, 113);
    named(d, "forward", CAT_COMPUTE, 105, 130);
    named(d, "forward", CAT_COMPUTE, 130, 140);
    named(d, "backward", CAT_COMPUTE, 140, 180);
    step(d, 1, 0, 100, 200);
    named(d, "forward", CAT_COMPUTE, 210, 240);
    named(d, "bad \xff name", CAT_IO, 240, 250);
    step(d, 1, 1, 200, 300);
    step(d, 1, 2, 300, 400);
    assert_int_equal(reduce_finish(d, &a, &k), 1);
    assert_int_equal(k.n_phases, 4);
    const struct run_phase *forward = phase_named(&k, "forward"), *backward = phase_named(&k, "backward");
    assert_int_equal(forward->ns[0], 32);
    assert_int_equal(forward->ns[1], 30);
    assert_int_equal(forward->ns[2], 0);
    assert_int_equal(forward->category, CAT_COMPUTE);
    assert_int_equal(backward->ns[0], 40);
    assert_int_equal(backward->ns[1], 0);
    assert_int_equal(phase_named(&k, "copy_in")->ns[0], 3);
    assert_int_equal(phase_named(&k, "bad ? name")->ns[1], 10);
    for (int i = 0; i < 3; i++)
        assert_int_equal(forward->ns[i] + backward->ns[i], k.steps[i].part_ns[CAT_COMPUTE]);
    dcr_arena_release(&a);
    reduce_free(d);
}

/* Names made up without end cost no memory; their time still counts in their category. */
static void test_many_names(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    for (int i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer %d", i);
        named(d, name, CAT_COMPUTE, 100 + 10 * i, 105 + 10 * i);
    }
    step(d, 1, 0, 100, 10100);
    assert_int_equal(reduce_finish(d, &a, &k), 1);
    assert_int_equal(k.n_phases, RUN_MAX_PHASES);
    assert_int_equal(k.steps[0].part_ns[CAT_COMPUTE], 5000);
    dcr_arena_release(&a);
    reduce_free(d);
}

static void call_of_bytes(struct reducer *d, uint32_t track, int64_t start, int64_t end, int64_t bytes)
{
    reduce_event(d, &(struct event){.track = track,
                                    .kind = EVENT_PHASE,
                                    .category = CAT_COMM,
                                    .depth = 2,
                                    .start_ns = start,
                                    .end_ns = end,
                                    .number = -1,
                                    .bytes = bytes});
}

/* Calls of one thread that overlap, impossible payloads: the result is any number within its bounds. */
static void test_traces_that_lie(void **state)
{
    (void)state;
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    call_of_bytes(d, 2, 110, 190, 1);
    call_of_bytes(d, 1, 110, 180, INT64_MAX);
    call_of_bytes(d, 1, 120, 190, INT64_MAX);
    step(d, 1, 0, 100, 200);
    assert_int_equal(reduce_finish(d, &a, &k), 1);
    assert_true(k.steps[0].bytes == INT64_MAX);
    assert_int_equal(k.steps[0].hidden_comm_ns, 0);
    reduce_free(d);
    dcr_arena_release(&a);
}

/* Threads take turns with every event: finding them costs the same, however many there are. */
static void test_many_tracks(void **state)
{
    (void)state;
    enum { TRACKS = 20000, ROUNDS = 3 };
    struct reducer *d = reduce_new();
    struct reduced k = {0};
    struct dcr_arena a = {0};
    for (int r = 0; r < ROUNDS; r++)
        for (uint32_t i = 0; i < TRACKS; i++)
            phase(d, 7 * i + 1, CAT_COMPUTE, 100 * r + 10, 100 * r + 30);
    step(d, 7 * (TRACKS / 2) + 1, 0, 200, 300);
    assert_true(reduce_looks(d) < 10ull * ROUNDS * TRACKS);
    assert_int_equal(reduce_finish(d, &a, &k), 1);
    expect_parts(&k.steps[0], 20, 0, 0, 0, 80);
    reduce_free(d);
    dcr_arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_until),
        cmocka_unit_test(test_step_that_closes),
        cmocka_unit_test(test_stretches),
        cmocka_unit_test(test_plain_step),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_since_crosses_steps),
        cmocka_unit_test(test_validation_is_outside),
        cmocka_unit_test(test_hidden_communication),
        cmocka_unit_test(test_buckets_beside_the_thread),
        cmocka_unit_test(test_other_process_ranges),
        cmocka_unit_test(test_mpi_calls_that_do_not_wait),
        cmocka_unit_test(test_flights_count_where_none_is_named),
        cmocka_unit_test(test_observed_calls_are_not_counted_twice),
        cmocka_unit_test(test_files_that_loading_reads),
        cmocka_unit_test(test_an_epoch_is_no_step),
        cmocka_unit_test(test_nonsense_is_passed_over),
        cmocka_unit_test(test_memory_does_not_grow_with_events),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_batches_of_the_hook),
        cmocka_unit_test(test_the_program_wins_over_the_hook),
        cmocka_unit_test(test_exchange_of_gradients),
        cmocka_unit_test(test_the_program_hides_the_exchange),
        cmocka_unit_test(test_classify),
        cmocka_unit_test(test_phases_by_name),
        cmocka_unit_test(test_many_names),
        cmocka_unit_test(test_traces_that_lie),
        cmocka_unit_test(test_many_tracks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
