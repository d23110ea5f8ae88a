/* test_failed.c - render/narrate: a run that failed before its first step says so, and where to look first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "render/read/ending.h"
#include "tests/unit/told.h"

static const struct {
    const char *reasons[2];
    const char *headline, *action;
} cases[] = {
    {{"rank 0 was told to end (SIGTERM)", "rank 1 ended with exit status 5"},
     "The run failed before any step was recorded: rank 1 ended with exit status 5, on h1, inside 'load_data'; the run "
     "lasted 2.50 s.",
     "What to do first: Read the last lines that rank 1 wrote to its standard error. Then record it again"},
    {{"the program ended with exit status 134, which stands for signal 6 (Aborted)", NULL},
     "before any step was recorded: the program ended with exit status 134, which stands for signal 6 (Aborted); the",
     "Read the last lines that the program wrote to its standard error; a crash like this leaves a core file"},
    {{"rank 1 was ended by signal 9 (Killed)", NULL},
     "rank 1 was ended by signal 9 (Killed), on h1",
     "Look whether rank 1 was killed for want of memory (dmesg on h1, the job's memory limit, sacct's OUT_OF_MEMORY); "
     "its processes held 3.00 GB of memory at most, and a node has 4.00 GB."},
    {{"rank 0 was told to end (SIGTERM)", NULL},
     "The run was ended from outside before any step was recorded: rank 0 was told to end (SIGTERM), on h0",
     "Find out who ended it: the job's time limit, a cancelled job, an interrupt, or a launcher"},
    {{"rank 0 ended with exit status 127", NULL}, "exit status 127, on h0", "status 127 is that of a program that was"},
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
    assert_int_equal(e.signal, 11);
    e = ending_of("the program was interrupted (SIGINT)");
    assert_int_equal(e.kind, ENDING_TOLD);
    assert_int_equal(e.rank, -1);
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

static void test_before_the_first_step(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f = {.n = 1};
        f.runs[0] = failed_run(i);
        tell(&f);
        assert_contains(f.rep.headline, cases[i].headline);
        assert_contains(f.rep.first_action, cases[i].action);
        assert_lacks(f.rep.first_action, "If it made steps");
        release(&f);
        f.runs[0] = failed_run(i);
        f.runs[0]->ended_s += 3600; /* long enough for many steps without names */
        tell(&f);
        assert_contains(f.rep.first_action, "If it made steps all the same: Name the steps of the program with NVTX");
        assert_contains(document(&f.rep, "BOTTLENECK_ANALYSIS.md")->bytes, "before any step was recorded: ");
        release(&f);
    }
}

/* With steps, or without a known end, the time of the steps is what is told. */
static void test_others(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = made_even_run(2, 64, 40, 80000000, 0, 0, 0);
    f.runs[0]->collector_version = "0.1.0";
    f.runs[0]->is_complete = 0;
    end(f.runs[0], cases[0].reasons, 2);
    tell(&f);
    assert_lacks(f.rep.headline, "failed");
    release(&f);
    static const char *const left[] = {"1 of 2 ranks left nothing"};
    f = (struct fixture){.n = 1};
    f.runs[0] = failed_run(0);
    end(f.runs[0], left, 1);
    tell(&f);
    assert_contains(f.rep.headline, "is unknown: no steps were recorded");
    assert_contains(f.rep.first_action, "NVTX");
    release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_the_collector_says),
        cmocka_unit_test(test_before_the_first_step),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
