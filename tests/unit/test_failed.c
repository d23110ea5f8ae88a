/* test_failed.c - render/findings: a run that failed before its first step is reported so, with the first place to
 * look. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "render/findings/ranking.h"
#include "render/read/ending.h"
#include "tests/unit/told.h"

static const struct {
    const char *reasons[2];
    enum phrase_id found;
    int rank; /* -1 = the program */
    const char *by;
    int status;
    enum advice advice;
} cases[] = {
    {{"rank 0 was told to end (SIGTERM)", "rank 1 ended with exit status 5"},
     PHRASE_RANK_FAILED,
     1,
     NULL,
     5,
     ADVICE_READ_STDERR},
    {{"the program ended with exit status 134, which stands for signal 6 (Aborted)", NULL}, /* of an older collector */
     PHRASE_PROGRAM_FAILED,
     -1,
     NULL,
     134,
     ADVICE_READ_CORE_FILE},
    {{"the program ended with exit status 137, which may mean signal 9 (Killed)", NULL},
     PHRASE_PROGRAM_FAILED,
     -1,
     NULL,
     137,
     ADVICE_CHECK_MEMORY},
    {{"the program was ended by signal 6 (Aborted)", NULL},
     PHRASE_PROGRAM_KILLED,
     -1,
     "Signal 6 (Aborted)",
     0,
     ADVICE_READ_CORE_FILE},
    {{"the program ended with exit status 5", NULL}, PHRASE_PROGRAM_FAILED, -1, NULL, 5, ADVICE_READ_STDERR},
    {{"rank 1 was ended by signal 9 (Killed)", NULL},
     PHRASE_RANK_KILLED,
     1,
     "Signal 9 (Killed)",
     0,
     ADVICE_CHECK_MEMORY},
    {{"rank 0 was told to end (SIGTERM)", NULL}, PHRASE_RANK_TOLD, 0, NULL, 0, ADVICE_FIND_WHO_ENDED},
    {{"the program was interrupted (SIGINT)", NULL}, PHRASE_PROGRAM_TOLD, -1, NULL, 0, ADVICE_FIND_WHO_ENDED},
    {{"the launcher mpirun ended with exit status 132", NULL},
     PHRASE_PROGRAM_FAILED,
     -1,
     NULL,
     132,
     ADVICE_READ_STDERR},
    {{"rank 0 ended with exit status 127", NULL}, PHRASE_RANK_FAILED, 0, NULL, 127, ADVICE_CHECK_COMMAND},
    {{"rank 0 ended with exit status 126", NULL}, PHRASE_RANK_FAILED, 0, NULL, 126, ADVICE_CHECK_PERMISSION},
};

static void end(struct run *r, const char *const *sentences, int n)
{
    r->endings = dcr_arena_alloc(&r->arena, (size_t)n * sizeof *r->endings);
    for (r->n_endings = 0; r->n_endings < n; r->n_endings++)
        r->endings[r->n_endings] = ending_of(sentences[r->n_endings]);
}

static void test_what_the_collector_says(void **state)
{
    (void)state;
    struct run_ending e =
        ending_of("rank 3 ended with exit status 139, which stands for signal 11 (Segmentation fault)");
    assert_int_equal(e.kind, ENDING_FAILED);
    assert_int_equal(e.rank, 3);
    assert_int_equal(e.status, 139);
    assert_int_equal(e.signal, 0); /* not seen by the collector */
    assert_int_equal(e.may_be_signal, 11);
    e = ending_of("rank 3 was ended by signal 11 (Segmentation fault)");
    assert_int_equal(e.kind, ENDING_FAILED);
    assert_int_equal(e.status, 0);
    assert_int_equal(e.signal, 11);
    e = ending_of("the launcher mpirun ended with exit status 139, which may mean signal 11 (Segmentation fault)");
    assert_int_equal(e.kind, ENDING_FAILED);
    assert_int_equal(e.rank, -1);
    assert_int_equal(e.status, 139);
    assert_int_equal(e.signal, 0);
    assert_int_equal(e.may_be_signal, 11);
    e = ending_of("the launcher mpirun ended with exit status 132");
    assert_int_equal(e.status, 132);
    assert_int_equal(e.may_be_signal, 0);
    e = ending_of("the program was interrupted (SIGINT)");
    assert_int_equal(e.kind, ENDING_TOLD);
    assert_int_equal(e.rank, -1);
    e = ending_of("the launcher mpirun ended with exit status 1, after it was interrupted (SIGINT)");
    assert_int_equal(e.kind, ENDING_TOLD);
    assert_int_equal(e.rank, -1);
    e = ending_of("rank 2 ended first");
    assert_int_equal(e.kind, ENDING_FIRST);
    assert_int_equal(e.rank, 2);
    e = ending_of("rank 2 has no end record: it or its collector was killed, or still runs");
    assert_int_equal(e.kind, ENDING_OTHER);
    assert_int_equal(e.rank, -1);
}

static struct run *failed_run(size_t c)
{
    struct run *r = made_run(2, 64);
    r->collector_version = "0.1.0";
    r->is_complete = 0;
    r->started_s = 1000;
    r->ended_s = 1002.5;
    end(r, cases[c].reasons, cases[c].reasons[1] ? 2 : 1);
    r->ranks[0].host = "h0";
    r->ranks[1].host = "h1";
    r->ranks[1].ended_in = "load_data";
    r->ranks[1].peak_rss_bytes = 3000000000;
    r->nodes[0].memory_bytes = 4000000000;
    return r;
}

static void check_said(const struct run_result *r, size_t i)
{
    const struct said *s = &r->said;
    const struct slot *slot = s->headline.slot + (cases[i].rank >= 0);
    assert_finds(s, cases[i].found);
    if (cases[i].rank >= 0)
        assert_int_equal(s->headline.slot[0].count, cases[i].rank);
    if (cases[i].by)
        assert_string_equal(slot->name, cases[i].by);
    else if (cases[i].status)
        assert_int_equal(slot->count, cases[i].status);
    if (cases[i].rank >= 0)
        assert_string_equal(assert_supports(s, PHRASE_FAILED_ON)[0].name, cases[i].rank ? "h1" : "h0");
    if (strstr(cases[i].reasons[0], "which"))
        assert_int_equal(assert_supports(s, PHRASE_STATUS_MAY_MEAN)[0].count, cases[i].status);
    else
        assert_lacks(r->support, "may mean");
    if (cases[i].rank == 1)
        assert_string_equal(assert_supports(s, PHRASE_FAILED_INSIDE)[0].name, "load_data");
    assert_int_equal(r->advised.id, cases[i].advice);
    if (cases[i].advice == ADVICE_CHECK_MEMORY && cases[i].rank == 1) {
        assert_string_equal(r->advised.slot[0].name, "rank 1");
        assert_string_equal(r->advised.slot[1].name, "h1");
        assert_contains(r->stepless_advice, "3.00 GB");
        assert_contains(r->stepless_advice, "4.00 GB");
    }
}

static void test_before_the_first_step(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f = {.n = 1};
        f.runs[0] = failed_run(i);
        f.runs[0]->ranks[1].run_delay_ns = 2000000000; /* it waited for a core, which explains nothing here */
        f.runs[0]->ranks[1].cpu_ns = 400000000;
        f.runs[0]->ranks[1].process_seconds = 2.5;
        tell(&f);
        check_said(&f.rep.runs[0], i);
        assert_int_equal(f.rep.runs[0].shared.kind, 0);
        for (int k = 0; k < f.rep.n_notes; k++)
            assert_int_not_equal(f.rep.notes[k].id, NOTE_RUN_DELAY);
        assert_true(assert_supports(&f.rep.runs[0].said, PHRASE_FAILED_AFTER)[0].count == 2500000000);
        assert_lacks(f.rep.first_action, "NVTX");
        release(&f);
        f.runs[0] = failed_run(i);
        f.runs[0]->ended_s += 3600; /* long enough for many steps without names */
        tell(&f);
        assert_contains(f.rep.first_action, "nvtxRangePush");
        assert_contains(document(&f.rep, "BOTTLENECK_ANALYSIS.md")->bytes, f.rep.runs[0].headline);
        release(&f);
    }
}

/* If several runs failed, the headline says so, and not that no cause was found. */
static void test_several(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    static const char *const names[] = {"a", "b"};
    for (int i = 0; i < 2; i++) {
        f.runs[i] = failed_run((size_t)i);
        f.runs[i]->run_id = f.runs[i]->program.name = names[i];
    }
    tell(&f);
    assert_true(is_ranked(&f.rep));
    assert_finds(&f.rep.said, PHRASE_ALL_RUNS_FAILED);
    assert_int_equal(f.rep.said.headline.slot[0].count, 2);
    release(&f);
    f = (struct fixture){.n = 2};
    f.runs[0] = failed_run(0);
    f.runs[1] = made_even_run(1, 64, 40, 40, 0, 60, 0);
    f.runs[0]->run_id = f.runs[0]->program.name = names[0];
    f.runs[1]->run_id = f.runs[1]->program.name = names[1];
    tell(&f);
    assert_finds(&f.rep.said, PHRASE_SOME_RUNS_LIMITED);
    assert_string_equal(f.rep.said.headline.slot[4].name, f.rep.runs[0].label);
    release(&f);
}

static struct run *run_with_steps(int n_nodes, const char *ended, const char *inside)
{
    struct run *r = made_even_run(n_nodes, 64, 40, 80000000, 0, 0, 0);
    r->collector_version = "0.1.0";
    r->is_complete = !ended;
    if (ended)
        end(r, &ended, 1);
    r->ranks[0].ended_in = inside;
    return r;
}

/* The status of a launcher is its own, before the first step and after it. */
static void test_launcher(void **state)
{
    (void)state;
    static const char *command[] = {"/usr/bin/mpirun", "-n", "2", "./train"};
    static const char *const ended[] = {"the launcher mpirun ended with exit status 132, which may mean signal 4 (x)"};
    for (int has_steps = 0; has_steps < 2; has_steps++) {
        struct fixture f = {.n = 1};
        f.runs[0] = has_steps ? run_with_steps(2, ended[0], "step") : failed_run(0);
        end(f.runs[0], ended, 1);
        f.runs[0]->command = command;
        f.runs[0]->n_command = 4;
        tell(&f);
        const struct slot *slot = has_steps
                                      ? assert_supports(&f.rep.said, PHRASE_FAILED_EARLY_PERHAPS) + 1
                                      : (assert_finds(&f.rep.said, PHRASE_LAUNCHER_FAILED), f.rep.said.headline.slot);
        assert_string_equal(slot[0].name, has_steps ? "mpirun or one of its ranks" : "mpirun");
        assert_int_equal(slot[1].count, 132);
        release(&f);
    }
}

/* Of the rank that ended first no status is known. What the ranks after it did is not why the run ended. */
static void test_first_to_end(void **state)
{
    (void)state;
    static const char *command[] = {"mpirun", "-n", "2", "./train"};
    static const char *const ended[] = {
        "rank 1 ended first", "rank 0 ended with exit status 1",
        "the launcher mpirun ended with exit status 139, which may mean signal 11 (Segmentation fault)"};
    static const char *const status[] = {"rank 1 ended first", "the launcher mpirun ended with exit status 3"};
    for (int i = 0; i < 3; i++) {
        struct fixture f = {.n = 1};
        f.runs[0] = i ? run_with_steps(2, ended[0], "step") : failed_run(0);
        end(f.runs[0], i == 2 ? status : ended, i == 2 ? 2 : 3);
        f.runs[0]->command = command;
        f.runs[0]->n_command = 4;
        tell(&f);
        if (i == 0) {
            assert_finds(&f.rep.said, PHRASE_LAUNCHER_FAILED);
            assert_int_equal(assert_supports(&f.rep.said, PHRASE_FAILED_FIRST)[0].count, 1);
        }
        if (i == 1)
            assert_contains(f.rep.support, "The run ended early: rank 1 ended first, and exit status 139 of mpirun may "
                                           "mean signal 11 (Segmentation fault).");
        if (i == 2)
            assert_contains(f.rep.support,
                            "The run ended early: rank 1 ended first, and mpirun ended with exit status 3.");
        assert_contains(f.rep.first_action, "rank 1");
        release(&f);
    }
}

/* The one rank of this archive is the launcher. */
static void test_no_rank(void **state)
{
    (void)state;
    static const char *command[] = {"mpirun", "-n", "2", "./nosuch"};
    static const char *const ended[] = {"the launcher mpirun ended with exit status 132",
                                        "no rank was recorded, so the program may not have started"};
    struct fixture f = {.n = 1};
    f.runs[0] = failed_run(0);
    end(f.runs[0], ended, 2);
    f.runs[0]->command = command;
    f.runs[0]->n_command = 4;
    tell(&f);
    assert_finds(&f.rep.said, PHRASE_LAUNCHER_ALONE);
    assert_int_equal(f.rep.said.headline.slot[1].count, 132);
    assert_int_equal(f.rep.runs[0].advised.id, ADVICE_READ_LAUNCHER);
    assert_lacks(f.rep.runs[0].label, "rank");
    release(&f);
}

/* With steps, their time is reported. The sentence that the run ended badly stands right after the headline. */
static void test_after_the_first_step(void **state)
{
    (void)state;
    static const struct {
        const char *ended, *inside, *said;
        enum phrase_id id;
    } ends[] = {
        {"rank 1 ended with exit status 5", "", "The run failed: rank 1 ended with exit status 5.",
         PHRASE_FAILED_EARLY},
        {"the program ended with exit status 1", "step", "The run ended early: the program ended with exit status 1.",
         PHRASE_FAILED_EARLY},
        {"rank 1 ended with exit status 139, which may mean signal 11 (Segmentation fault)", "step",
         "The run ended early: rank 1 ended with exit status 139, which may mean signal 11 (Segmentation fault).",
         PHRASE_FAILED_EARLY_PERHAPS},
        {"rank 1 was ended by signal 9 (Killed)", "", "The run ended early: signal 9 (Killed) ended rank 1.",
         PHRASE_KILLED_EARLY},
        {"the program was interrupted (SIGINT)", "", "The run ended early: the program was told to end.",
         PHRASE_TOLD_EARLY},
        {NULL, "", NULL, PHRASE_NONE},
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct fixture f = {.n = 1};
        f.runs[0] = run_with_steps(2, ends[i].ended, ends[i].inside);
        tell(&f);
        const struct phrase *support = f.rep.said.support;
        int at = support[0].id == PHRASE_PART_OF_STEP; /* it continues the headline */
        assert_int_equal(f.rep.runs[0].advised.id, ADVICE_NONE);
        assert_lacks(f.rep.headline, "failed");
        if (ends[i].ended) {
            assert_int_equal(support[at].id, ends[i].id);
            assert_contains(f.rep.support, ends[i].said);
            assert_contains(f.rep.verdict, ends[i].said);
        }
        for (int k = 0; k < SAID_MAX; k++)
            assert_true(k == at || (support[k].id != PHRASE_FAILED_EARLY && support[k].id != PHRASE_KILLED_EARLY));
        release(&f);
    }
}

/* The rank that broke off is named where the collector saw only the launcher. */
static void test_broke_off(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = run_with_steps(2, "the program ended with exit status 139, which may mean signal 11 (x)", "forward");
    f.runs[0]->ranks[1].ended_in = "all_reduce";
    for (int i = 0; i < 2; i++)
        f.runs[0]->ranks[i].source = STEPS_TRACE;
    tell(&f);
    const struct slot *slot = assert_supports(&f.rep.said, PHRASE_BROKE_OFF_EARLY);
    assert_int_equal(slot[0].count, 0);
    assert_int_equal(slot[2].count, 139);
    assert_contains(f.rep.first_action, "shows in gdb where a process crashed"); /* not how to be faster */
    assert_null(f.rep.first.check);
    release(&f);
}

/* Ctrl-C ends a run that hangs. Its steps until then do not tell why, so no cause of theirs is advised on. */
static void test_stopped(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) { /* it hangs; it is interrupted while it trains; it ends by itself after a long end */
        struct fixture f = {.n = 1};
        f.runs[0] =
            run_with_steps(2,
                           i == 2 ? "rank 1 ended with exit status 5"
                                  : "the launcher mpirun ended with exit status 1, after it was interrupted (SIGINT)",
                           "halo");
        f.runs[0]->told_to_end = i == 2 ? "" : "SIGINT";
        f.runs[0]->node_kind = NODES_ONE_KERNEL;
        f.runs[0]->started_s = 1000;
        f.runs[0]->ended_s = 1020;
        for (int k = 0; k < 2; k++) {
            struct run_rank *rank = &f.runs[0]->ranks[k];
            const struct step_record *last = &rank->steps[rank->n_steps - 1];
            rank->source = STEPS_TRACE;
            f.runs[0]->told_ns = i == 2 ? 0 : last->start_ns + last->step_ns + (i == 1 ? 100000000 : 7000000000);
            rank->watched_to_ns = last->start_ns + last->step_ns + 9000000000; /* it took its time to end */
        }
        tell(&f);
        if (i == 0) {
            assert_finds(&f.rep.said, PHRASE_STEPS_STOPPED);
            assert_contains(f.rep.headline, "7.00 s before the run was interrupted");
            assert_int_equal(assert_supports(&f.rep.said, PHRASE_STOPPED_INSIDE)[0].count, 0);
            assert_contains(f.rep.first_action, "look where each rank waits");
            assert_null(f.rep.first.check);
            assert_lacks(f.rep.verdict, "told to end");
        } else {
            assert_true(f.rep.said.headline.id != PHRASE_STEPS_STOPPED);
        }
        if (i == 1)
            assert_contains(f.rep.support, "was told to end.");
        release(&f);
    }
}

/* Of a series, the answer says which of its runs did not end well. */
static void test_series(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    f.runs[0] = run_with_steps(1, NULL, "");
    f.runs[1] = run_with_steps(2, "rank 1 was ended by signal 9 (Killed)", "");
    tell(&f);
    assert_int_equal(assert_supports(&f.rep.said, PHRASE_RUN_ENDED_BADLY)[0].count, 2);
    assert_int_equal(f.rep.said.support[1].id, PHRASE_RUN_ENDED_BADLY);
    release(&f);
}

/* Without a known end, the time of the steps is reported. */
static void test_others(void **state)
{
    (void)state;
    struct fixture f = {0};
    static const char *const left[] = {"1 of 2 ranks left nothing"};
    f = (struct fixture){.n = 1};
    f.runs[0] = failed_run(0);
    end(f.runs[0], left, 1);
    tell(&f);
    assert_finds(&f.rep.runs[0].said, PHRASE_STEPS_UNKNOWN);
    assert_int_equal(f.rep.runs[0].advised.id, ADVICE_NAME_STEPS);
    release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_the_collector_says),
        cmocka_unit_test(test_before_the_first_step),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_launcher),
        cmocka_unit_test(test_first_to_end),
        cmocka_unit_test(test_no_rank),
        cmocka_unit_test(test_after_the_first_step),
        cmocka_unit_test(test_broke_off),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
