/* test_recorded.c - sums of recorded calls are divided by the recorded time, and are not given if events were lost
 * (render/metrics/recorded.c). */
#include "render/findings/rules/compare.h"
#include "render/metrics/calls.h"
#include "render/metrics/cores.h"
#include "render/metrics/recorded.h"
#include "render/findings/checks.h"
#include "render/findings/compare_doc.h"
#include "render/findings/narrate.h"
#include "tests/unit/made_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define MS INT64_C(1000000)

/* Two ranks that ran for 10 s from 100 s on and spent half of the recorded time in MPI. */
struct uniform {
    struct run *r;
    struct run_mpi_call calls[2];
    struct run_file files[1];
};

static void begin(struct uniform *u, int64_t recorded_ms)
{
    *u = (struct uniform){.r = made_run(2, 64)};
    u->r->collector_version = "test";
    u->calls[0] = (struct run_mpi_call){"MPI_Barrier", {40, 0, (uint64_t)(recorded_ms * MS), 0}};
    u->calls[1] = (struct run_mpi_call){"MPI_Init", {2, 0, 500000000, 0}};
    u->files[0] = (struct run_file){"/d/x", {[DCT_IO_WRITE] = {9, 900, (uint64_t)(recorded_ms * MS / 2), 0}}};
    u->r->mpi_calls = u->calls;
    u->r->n_mpi_calls = 2;
    u->r->files = u->files;
    u->r->n_files = 1;
    for (int i = 0; i < 2; i++) {
        struct run_rank *k = &u->r->ranks[i];
        k->process_seconds = 10;
        k->watched_from_ns = 100000 * MS;
        k->watched_to_ns = 110000 * MS;
        k->mpi_ns = recorded_ms * MS / 2;
    }
}

static void set_window(struct uniform *u, struct dct_window w)
{
    u->r->has_window = 1;
    for (int i = 0; i < 2; i++)
        u->r->ranks[i].window = w;
}

static void check_shares(const struct uniform *u, int64_t recorded_ms)
{
    struct mpi_share m = mpi_share(u->r);
    struct file_time f = file_time(u->r);
    assert_int_equal(m.why.code, REASON_NONE);
    assert_int_equal(m.wall_ns, 2 * recorded_ms * MS);
    assert_true(m.ratio > 0.4999 && m.ratio < 0.5001);
    assert_string_equal(m.largest->name, "MPI_Barrier");
    assert_int_equal(f.wall_ns, 2 * recorded_ms * MS);
    assert_true(f.ratio > 0.2499 && f.ratio < 0.2501);
}

/* The same program has the same shares, recorded completely or in any kind of window. */
static void test_every_window(void **state)
{
    (void)state;
    static const struct {
        struct dct_window window;
        int64_t recorded_ms, from_ms, to_ms;
    } c[] = {
        /* --duration 1: open since before the processes began */
        {{.until_ns = 101000 * MS, .since_ns = 1, .first_ns = 1}, 1000, 0, 1000},
        /* --delay 9 */
        {{.until_ns = INT64_MAX / 4, .since_ns = 109000 * MS, .first_ns = 109000 * MS}, 1000, 9000, 10000},
        /* --delay 2 --duration 3, which ended before the program; --duration 30, which did not */
        {{.until_ns = 105000 * MS, .since_ns = 102000 * MS, .first_ns = 102000 * MS}, 3000, 2000, 5000},
        {{.until_ns = 130000 * MS, .since_ns = 102000 * MS, .first_ns = 102000 * MS}, 8000, 2000, 10000},
        /* --steps: closed when the last of them ended */
        {{.until_ns = INT64_MAX / 4, .closed_ns = 500 * MS, .first_ns = 103000 * MS, .last_ns = 103500 * MS},
         500,
         3000,
         3500},
        /* --capture-range: two pieces closed, the third open to the end */
        {{.until_ns = INT64_MAX / 4,
          .closed_ns = 500 * MS,
          .first_ns = 101000 * MS,
          .last_ns = 104000 * MS,
          .since_ns = 108000 * MS},
         2500,
         1000,
         10000},
    };
    struct uniform u;
    begin(&u, 10000);
    check_shares(&u, 10000);
    run_free(u.r);
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        begin(&u, c[i].recorded_ms);
        set_window(&u, c[i].window);
        check_shares(&u, c[i].recorded_ms);
        struct recorded part = recorded_part(u.r);
        assert_true(part.is_part);
        assert_int_equal(part.watched_ns, 20000 * MS);
        assert_int_equal(part.from_ns, c[i].from_ms * MS);
        assert_int_equal(part.to_ns, c[i].to_ms * MS);
        run_free(u.r);
    }
}

/* --delay 9 of a rank that ran only for 8 s: nothing of it was recorded, and this is known. */
static void test_never_opened(void **state)
{
    (void)state;
    struct uniform u;
    begin(&u, 1000);
    set_window(&u, (struct dct_window){.until_ns = INT64_MAX / 4, .since_ns = 109000 * MS, .first_ns = 109000 * MS});
    u.r->ranks[1].process_seconds = 8;
    u.r->ranks[1].watched_to_ns = 108000 * MS;
    u.r->ranks[1].mpi_ns = 0;
    struct recorded part = recorded_part(u.r);
    assert_int_equal(part.why.code, REASON_NONE);
    assert_int_equal(part.ns, 1000 * MS);
    assert_int_equal(part.from_ns, 9000 * MS);
    assert_int_equal(part.to_ns, 10000 * MS);
    u.calls[0].sum.ns /= 2;
    assert_true(mpi_share(u.r).has);
    assert_int_equal(mpi_share(u.r).wall_ns, 1000 * MS);
    assert_int_equal(file_time(u.r).wall_ns, 1000 * MS);
    assert_true(file_time(u.r).has);
    u.r->ranks[0].process_seconds = 8;
    u.r->ranks[0].watched_to_ns = 108000 * MS;
    assert_false(mpi_share(u.r).has);
    assert_int_equal(mpi_share(u.r).why.code, REASON_WINDOW_NEVER_OPEN);
    assert_int_equal(window_said(u.r).length.id, PHRASE_WINDOW_CLOSED);
    run_free(u.r);
}

/* If a rank's trace has no times of the window, the recorded time is not known. It is 0 if the window never opened. */
static void test_unknown_window(void **state)
{
    (void)state;
    struct uniform u;
    begin(&u, 1000);
    set_window(&u, (struct dct_window){.until_ns = 101000 * MS, .since_ns = 1, .first_ns = 1});
    u.r->ranks[1].window.until_ns = 0;
    assert_false(mpi_share(u.r).has);
    assert_int_equal(mpi_share(u.r).why.code, REASON_WINDOW_UNKNOWN);
    assert_int_equal(file_time(u.r).why.code, REASON_WINDOW_UNKNOWN);
    set_window(&u, (struct dct_window){.until_ns = INT64_MAX / 4});
    assert_false(mpi_share(u.r).has);
    assert_int_equal(mpi_share(u.r).why.code, REASON_WINDOW_NEVER_OPEN);
    run_free(u.r);
}

/* Waiting for a core counts only in the recorded part: half of that second, none in the other nine. */
static void test_monitors_of_the_window(void **state)
{
    (void)state;
    struct uniform u;
    begin(&u, 1000);
    set_window(&u, (struct dct_window){.until_ns = INT64_MAX / 4, .since_ns = 109000 * MS, .first_ns = 109000 * MS});
    struct run_reading readings[] = {
        {100000 * MS, {0}, {0}, -1, -1}, {109000 * MS, {0}, {0}, -1, -1}, {110000 * MS, {500 * MS}, {0}, -1, -1}};
    u.r->ranks[0].run_delay_ns = 500 * MS;
    u.r->ranks[0].delays = readings;
    u.r->ranks[0].n_delays = 3;
    double share = waiting_for_core(u.r, &u.r->ranks[0]);
    assert_true(share > 0.4999 && share < 0.5001);
    u.r->ranks[0].delays = NULL;
    u.r->ranks[0].n_delays = 0;
    run_free(u.r);
}

/* 900 bytes of 6.9 MB lie in recorded calls; 64 KiB are the recorder's own. */
static void test_files_explained(void **state)
{
    (void)state;
    struct uniform u;
    begin(&u, 10000);
    struct files_explained e = files_explained(u.r);
    assert_false(e.has); /* an older archive */
    assert_int_equal(e.why.code, REASON_NO_KERNEL_TOTALS);
    assert_int_equal(e.rest_why.code, e.why.code);
    assert_int_equal(e.rest_bytes[DCT_IO_WRITE], -1);
    assert_int_equal(e.recorded_bytes[DCT_IO_WRITE], 900);
    for (int i = 0; i < 2; i++) {
        const int64_t io[DCT_N_IO_TOTALS] = {5000, 3450000, 7, 840};
        memcpy(u.r->ranks[i].io, io, sizeof io);
    }
    u.r->ranks[1].own_bytes = 65536;
    e = files_explained(u.r);
    assert_true(e.has);
    assert_int_equal(e.rest_why.code, REASON_NONE);
    assert_int_equal(e.bytes[DCT_IO_WRITE], 6900000 - 65536);
    assert_int_equal(e.rest_bytes[DCT_IO_WRITE], 6900000 - 65536 - 900);
    assert_int_equal(e.rest_bytes[DCT_IO_READ], 10000);
    assert_int_equal(e.calls[DCT_IO_WRITE], 1680);
    u.files[0].sum[DCT_IO_WRITE].bytes = 8000000; /* written behind the last look */
    e = files_explained(u.r);
    assert_int_equal(e.rest_bytes[DCT_IO_WRITE], -1);
    assert_int_equal(e.rest_bytes[DCT_IO_READ], 10000);
    assert_true(e.rest_why.code != REASON_NONE);
    u.r->has_window = 1;
    assert_int_equal(files_explained(u.r).rest_bytes[DCT_IO_READ], -1);
    u.r->has_window = 0;
    u.r->ranks[0].n_dropped = 1;
    assert_int_equal(files_explained(u.r).recorded_bytes[DCT_IO_READ], -1);
    run_free(u.r);
}

/* 42 calls of MPI and 9 on files in 20 s of two ranks. */
static void test_recording_cost(void **state)
{
    (void)state;
    struct uniform u;
    begin(&u, 10000);
    u.r->ranges.n = 1000;
    struct recording_cost c = recording_cost(u.r);
    assert_true(c.has);
    assert_int_equal(c.n_events, 1051);
    assert_int_equal(c.ns, 1000 * 60 + 42 * 100 + 9 * 60);
    assert_true(c.ratio > 3.23e-6 && c.ratio < 3.24e-6);
    assert_false(c.has_cpu); /* the archive does not have it */
    u.r->collector_cpu_ns = 100 * MS;
    c = recording_cost(u.r);
    assert_true(c.has_cpu && c.has);
    assert_int_equal(c.cpu_ns, 100 * MS);
    assert_true(c.cpu_ratio > 0.00499 && c.cpu_ratio < 0.00501); /* the processes of both ranks ran for 20 s */
    u.r->ranks[0].n_dropped = 1;                                 /* how many events there were is not known */
    assert_false(recording_cost(u.r).has);
    u.r->ranks[0].n_dropped = 0;
    u.r->collector_version = ""; /* nothing was recorded */
    assert_false(recording_cost(u.r).has);
    run_free(u.r);
}

static void analysed(struct uniform *u, struct report *rep)
{
    struct analyse_options o = made_options();
    *rep = (struct report){0};
    assert_int_equal(analyse(rep, &u->r, 1, &o, NULL), 0);
    narrate(rep);
}

/* If one of two ranks lost events, common quantities are unknown; the finding names the losses. */
static void test_lost_without_steps(void **state)
{
    (void)state;
    struct thresholds t = thresholds_default();
    struct uniform u;
    struct report rep;
    begin(&u, 10000);
    u.r->ranks[1].mpi_ns = 1000 * MS;
    assert_true(mpi_late(&t, u.r).has);
    u.r->ranks[1].n_dropped = 78;
    u.r->ranks[1].lost_from_ns = 102500 * MS;
    assert_false(mpi_late(&t, u.r).has);
    assert_int_equal(mpi_share(u.r).why.code, REASON_EVENTS_LOST);
    assert_int_equal(file_time(u.r).why.code, REASON_EVENTS_LOST);
    assert_int_equal(recorded_part(u.r).lost_from_ns, 2500 * MS);
    analysed(&u, &rep);
    const struct said *said = &rep.runs[0].said;
    assert_int_equal(said->headline.id, PHRASE_LIMIT_LOST);
    assert_int_equal(said->support[0].id, PHRASE_LOST_AFTER);
    assert_int_equal(said->support[0].slot[0].count, 78);
    assert_int_equal(said->support[0].slot[1].count, 2500 * MS);
    assert_int_equal(said->support[0].slot[2].count, 10000 * MS);
    assert_int_equal(said->support[1].id, PHRASE_NONE); /* nothing of MPI */
    report_free(&rep);
    u.r->ranks[1].n_dropped_gpu = 78; /* lost by CUPTI: nothing of the host */
    u.r->ranks[1].lost_from_ns = 0;
    assert_true(mpi_share(u.r).has);
    u.r->ranks[0].n_bad_blocks = 1; /* damaged: it is unknown since when */
    assert_false(mpi_share(u.r).has);
    assert_int_equal(recorded_part(u.r).lost_from_ns, -1);
    run_free(u.r);
}

/* The recorder kept sums of dropped events, by name and for each step. */
static void test_lost_and_summed(void **state)
{
    (void)state;
    struct run_rank k = {.n_dropped = 5, .n_dropped_known = 5, .lost_from_ns = 7, .has_step_sums = 1};
    assert_true(rank_lost_events(&k));
    assert_false(rank_lost_sums(&k));
    assert_false(rank_lost_steps(&k));
    k.has_step_sums = 0;
    assert_true(rank_lost_steps(&k));
    k.has_step_sums = 1;
    k.n_missing_blocks = 1;
    assert_true(rank_lost_sums(&k));
    assert_true(rank_lost_steps(&k));
}

/* In a run with steps, those before the loss are known; a check needs the whole run. */
static void test_lost_with_steps(void **state)
{
    (void)state;
    static const char *const rules[] = {"exposed_comm<99%", "steps>1", "dropped<1", "throughput>1"};
    for (int is_lost = 0; is_lost < 2; is_lost++) {
        struct run *r = made_even_run(2, 64, 40, 70 * MS, 25 * MS, 5 * MS, 0);
        struct report rep = {0};
        struct analyse_options o = made_options();
        struct checks c;
        for (int i = 0; i < 2; i++)
            r->ranks[i].source = STEPS_TRACE;
        r->ranks[1].n_dropped = is_lost ? 5 : 0;
        r->ranks[1].lost_from_ns = is_lost ? 2000 * MS : 0;
        for (int i = 0; i < 2; i++) {
            r->ranks[i].process_seconds = 4;
            r->ranks[i].watched_from_ns = 1;
            r->ranks[i].watched_to_ns = 4000 * MS;
        }
        assert_int_equal(analyse(&rep, &r, 1, &o, NULL), 0);
        narrate(&rep);
        assert_int_equal(checks_run(&rep, rules, 4, &c, NULL), 0);
        const struct phrase *said = NULL;
        for (int i = 0; i < SAID_MAX; i++)
            if (rep.runs[0].said.support[i].id == PHRASE_EVENTS_LOST_AFTER)
                said = &rep.runs[0].said.support[i];
        assert_int_equal(said != NULL, is_lost);
        if (said) {
            assert_int_equal(said->slot[0].count, 5);
            assert_string_equal(fmt_time(said->slot[1].count).text, "2.00 s");
            assert_string_equal(fmt_time(said->slot[2].count).text, "4.00 s");
        }
        assert_int_equal(rep.runs[0].confidence == CONFIDENCE_LOW, is_lost);
        for (int i = 0; i < 4; i++)
            assert_int_equal(c.list[i].is_measured, i == 2 || !is_lost);
        assert_int_equal(c.n_failed, is_lost ? 4 : 0);
        report_free(&rep);
        run_free(r);
    }
}

/* In a comparison, the headline says which side lost events, and confidence is low. */
static void test_lost_in_a_comparison(void **state)
{
    (void)state;
    struct run *old[] = {made_even_run(1, 64, 40, 40 * MS, 0, 60 * MS, 0)},
               *new[] = {made_even_run(1, 64, 40, 40 * MS, 0, 5 * MS, 0)};
    struct report before = {0}, after = {0};
    struct analyse_options o = made_options();
    old[0]->ranks[0].source = STEPS_TRACE;
    old[0]->ranks[0].n_dropped = 7;
    assert_int_equal(analyse(&before, old, 1, &o, NULL), 0);
    assert_int_equal(analyse(&after, new, 1, &o, NULL), 0);
    narrate(&before);
    narrate(&after);
    assert_int_equal(compare(&after, &before), 1);
    narrate_comparisons(&after);
    assert_true(after.comparisons[0].lost_before && !after.comparisons[0].lost_after);
    assert_int_equal(after.sure[SURE_UNKNOWN][0].id, PHRASE_LOST_ON_SIDE);
    assert_int_equal(after.sure[SURE_UNKNOWN][1].id, PHRASE_NONE);
    assert_string_equal(after.sure[SURE_UNKNOWN][0].slot[0].name, "Before");
    assert_int_equal(after.comparisons[0].confidence, CONFIDENCE_LOW);
    report_free(&after);
    report_free(&before);
    run_free(old[0]);
    run_free(new[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_window),       cmocka_unit_test(test_unknown_window),
        cmocka_unit_test(test_never_opened),       cmocka_unit_test(test_monitors_of_the_window),
        cmocka_unit_test(test_recording_cost),     cmocka_unit_test(test_files_explained),
        cmocka_unit_test(test_lost_without_steps), cmocka_unit_test(test_lost_and_summed),
        cmocka_unit_test(test_lost_with_steps),    cmocka_unit_test(test_lost_in_a_comparison),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
