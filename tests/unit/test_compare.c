/* test_compare.c - runs before and after (render/findings/rules/compare.c), by hand. */
#include "render/findings/rules/compare.h"
#include "render/write/json/json_lists.h"

#include "render/findings/compare_doc.h"
#include "render/findings/narrate.h"
#include "render/pages/pages.h"
#include "render/say/say.h"
#include "render/write/markdown.h"
#include "tests/unit/made_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

static void tell(struct report *rep, struct run **runs, int n)
{
    struct analyse_options o = made_options();
    assert_int_equal(analyse(rep, runs, n, &o, NULL), 0);
}

/* Compares runs[0], before, with runs[1], after. */
static const struct comparison *told_comparison(struct report *before, struct report *after, struct run *runs[2])
{
    tell(before, &runs[0], 1);
    tell(after, &runs[1], 1);
    assert_int_equal(compare(after, before), 1);
    narrate(after);
    narrate_comparisons(after);
    return &after->comparisons[0];
}

static void release_pair(struct report *before, struct report *after, struct run *runs[2])
{
    report_free(before);
    report_free(after);
    run_free(runs[0]);
    run_free(runs[1]);
}

/* Before: 60 of 100 are loading, nothing else. After: 5 of 45. */
static void test_loading_removed(void **state)
{
    (void)state;
    struct run *old[] = {made_even_run(1, 64, 40, 40, 0, 60, 0)}, *new[] = {made_even_run(1, 64, 40, 40, 0, 5, 0)};
    struct report before = {0}, after = {0};
    old[0]->nodes[0].cores_quota = 2; /* the quota may be the change */
    new[0]->nodes[0].cores_quota = 4;
    tell(&before, old, 1);
    tell(&after, new, 1);
    assert_int_equal(compare(&after, &before), 1);
    const struct comparison *c = &after.comparisons[0];
    assert_string_equal(c->differing, "");
    assert_int_equal(c->step.before_ns, 100);
    assert_int_equal(c->step.after_ns, 45);
    assert_true(c->step.is_significant && c->step.change_ns.hi < 0);
    assert_int_equal(c->part[PART_DATA].before_ns, 60);
    assert_int_equal(c->part[PART_DATA].after_ns, 5);
    assert_true(c->part[PART_DATA].is_significant);
    assert_false(c->part[PART_COMPUTE].is_significant); /* 40 on both sides */
    assert_int_equal(c->n_predictions, 1);
    assert_int_equal(c->predictions[0].cls, CLASS_DATA);
    assert_int_equal(c->predictions[0].predicted_ns, 60);
    assert_true(c->predictions[0].is_removed);
    assert_int_equal(c->expected_ns, 60);
    assert_int_equal(c->median_before_ns, 100);
    assert_int_equal(c->median_after_ns, 45);
    assert_int_equal(c->achieved_ns, 55);
    assert_int_equal(c->confidence, CONFIDENCE_LOW); /* one run on each side */
    assert_false(comparison_is_repeated(c));
    assert_int_equal(c->n_same, 0);
    assert_int_equal(compare(&after, &after), 2); /* no hashes here: the same times in every step are the same run */
    assert_int_equal(after.comparisons[1].n_same, 1);
    assert_string_equal(c->differing, "");
    report_free(&before);
    report_free(&after);
    run_free(old[0]);
    run_free(new[0]);
}

/* A fix may rename a program, or another program was given by mistake: both names come first. */
static void test_other_program(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after, *script;
        int is_other;
    } cases[] = {{"chain", "chain_fixed", "", 1},
                 {"chain", "chain", "", 0},
                 {"", "", "train.py", 1},
                 {"DCRNN", "", "./chain", 0}, /* one side states no name, so the commands are compared */
                 {"", "", "", 0}};            /* a launcher alone tells no name */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run *old[] = {made_even_run(1, 64, 40, 40, 0, 60, 0)}, *new[] = {made_even_run(1, 64, 40, 40, 0, 5, 0)};
        const char *command[] = {"./chain"}, *other[] = {"python3", cases[i].script};
        struct report before = {0}, after = {0};
        old[0]->program.name = cases[i].before;
        new[0]->program.name = cases[i].after;
        old[0]->command = command;
        new[0]->command = other;
        old[0]->n_command = 1;
        new[0]->n_command = *cases[i].script ? 2 : 0;
        tell(&before, old, 1);
        tell(&after, new, 1);
        assert_int_equal(compare(&after, &before), 1);
        narrate(&after);
        narrate_comparisons(&after);
        const struct comparison *c = &after.comparisons[0];
        const struct phrase *said = &c->said.support[0];
        assert_int_equal(said->id == PHRASE_COMPARED_PROGRAMS, cases[i].is_other);
        assert_int_equal(strstr(after.verdict, "of two programs (chain and ") != NULL, cases[i].is_other);
        if (cases[i].is_other) {
            assert_string_equal(said->slot[0].name, "chain");
            assert_string_equal(said->slot[1].name, *cases[i].script ? "train.py" : "chain_fixed");
        }
        assert_string_equal(c->differing, "");
        report_free(&before);
        report_free(&after);
        run_free(old[0]);
        run_free(new[0]);
    }
}

/* Ranks that are late in turn: without any exchange they save the waiting too, so the time of the cause includes it. */
static void test_waiting_in_turn(void **state)
{
    (void)state;
    for (int is_fixed = 0; is_fixed < 2; is_fixed++) {
        struct run *old[] = {made_even_run(2, 64, 40, 40, 60, 0, 0)},
                   *new[] = {made_even_run(2, 64, 40, 40, is_fixed ? 20 : 50, 0, 0)};
        struct report before = {0}, after = {0};
        tell(&before, old, 1);
        tell(&after, new, 1);
        for (int side = 0; side < 2; side++) { /* 1 of transfer, the rest is waiting within a step */
            struct run_result *r = side ? &after.runs[0] : &before.runs[0];
            r->part_ns[PART_WAIT] = r->part_ns[PART_TRANSFER] - 1;
            r->part_ns[PART_TRANSFER] = r->classes[CLASS_COMMUNICATION].share_ns = 1;
        }
        assert_int_equal(compare(&after, &before), 1);
        narrate(&after);
        narrate_comparisons(&after);
        const struct comparison *c = &after.comparisons[0];
        const struct prediction *p = &c->predictions[0];
        assert_int_equal(p->cls, CLASS_COMMUNICATION);
        assert_true(p->is_exchange);
        assert_string_equal(p->name, "Communication");
        assert_int_equal(p->predicted_mean_ns, 60);
        assert_int_equal(p->before_ns, 60);
        assert_int_equal(p->after_ns, is_fixed ? 20 : 50);
        assert_int_equal(p->is_removed, is_fixed);
        assert_int_equal(strstr(c->support, "without any exchange between ranks") != NULL, 1);
        assert_null(strstr(c->support, "any transfer"));
        report_free(&before);
        report_free(&after);
        run_free(old[0]);
        run_free(new[0]);
    }
}

/* The cause that the report before names first comes first here too, although another has the larger gain. */
static void test_named_first(void **state)
{
    (void)state;
    struct run *old[] = {made_even_run(2, 64, 40, 60, 80, 70, 0)}, *new[] = {made_even_run(2, 64, 40, 60, 79, 70, 0)};
    struct report before = {0}, after = {0};
    tell(&before, old, 1);
    tell(&after, new, 1);
    narrate(&before);
    assert_int_equal(before.n_claims, 2);
    const enum cause_class first = before.claims[before.first_claim].cls;
    for (int i = 0; i < 2; i++) {
        after.n_comparisons = 0;
        assert_int_equal(compare(&after, &before), 1);
        narrate(&after);
        narrate_comparisons(&after);
        const struct comparison *c = &after.comparisons[0];
        assert_int_equal(c->n_predictions, 2);
        assert_int_equal(c->predictions[0].cls == first, !i);
        assert_int_equal(c->predictions[0].predicted_mean_ns, before.claims[before.first_claim].gain_ns);
        before.first_claim = 1 - before.first_claim; /* as a series may */
    }
    report_free(&before);
    report_free(&after);
    run_free(old[0]);
    run_free(new[0]);
}

/* Traces of two GPU models compare machines as well. */
static void test_other_gpu(void **state)
{
    (void)state;
    struct run *old[] = {made_even_run(1, 64, 40, 40, 0, 60, 0)}, *new[] = {made_even_run(1, 64, 40, 40, 0, 5, 0)};
    struct run_device d[2] = {{.file = "", .model = "Tesla V100-DGXS-32GB"},
                              {.file = "", .model = "NVIDIA H100 80GB HBM3"}};
    struct foreign_trace t[2] = {{.file = "", .devices = &d[0], .n_devices = 1},
                                 {.file = "", .devices = &d[1], .n_devices = 1}};
    struct report before = {0}, after = {0};
    old[0]->traces = &t[0];
    new[0]->traces = &t[1];
    old[0]->n_traces = new[0]->n_traces = 1;
    tell(&before, old, 1);
    tell(&after, new, 1);
    assert_int_equal(compare(&after, &before), 1);
    assert_string_equal(after.comparisons[0].differing, "GPU models");
    assert_int_equal(after.comparisons[0].confidence, CONFIDENCE_LOW);
    assert_int_equal(after.comparisons[0].doubt.id, PHRASE_DOUBT_DIFFERING);
    report_free(&before);
    report_free(&after);
    run_free(old[0]);
    run_free(new[0]);
}

/* A faster link is a change like an option. If an option changed too, it is unknown which of the two helped. */
static void test_other_emulated_nodes(void **state)
{
    (void)state;
    const char *plain[] = {"dcrnn-train", "--batch", "64"}, *more[] = {"dcrnn-train", "--batch", "64", "--no-overlap"};
    for (int is_both = 0; is_both < 2; is_both++) {
        struct run *old[] = {made_even_run(2, 64, 40, 40, 20, 0, 0)}, *new[] = {made_even_run(2, 64, 40, 40, 10, 0, 0)};
        struct report before = {0}, after = {0};
        for (int i = 0; i < 2; i++) {
            struct run *r = i ? new[0] : old[0];
            r->node_kind = NODES_SHARES;
            r->command = i && is_both ? more : plain;
            r->n_command = i && is_both ? 4 : 3;
            for (int k = 0; k < 2; k++)
                r->nodes[k].share = (struct node_share){1, 0.25, 4000, i ? 100000000 : 50000000, !i};
        }
        tell(&before, old, 1);
        tell(&after, new, 1);
        assert_int_equal(compare(&after, &before), 1);
        narrate_comparisons(&after);
        const struct comparison *c = &after.comparisons[0];
        assert_int_equal(c->step.before_ns, 60);
        assert_int_equal(c->step.after_ns, 50);
        assert_string_equal(c->differing, is_both ? "emulated nodes" : "");
        assert_string_equal(c->nodes_before, "0.25 core, 50 Mbit/s each");
        assert_string_equal(c->nodes_after, "0.25 core, 100 Mbit/s each");
        assert_int_equal(c->more[0].id, PHRASE_NODES_BEFORE);
        assert_string_equal(c->more[0].slot[0].name, c->nodes_before);
        assert_int_equal(c->more[1].id, PHRASE_NODES_AFTER);
        assert_string_equal(c->more[1].slot[0].name, c->nodes_after);
        assert_int_equal(after.sure[SURE_UNKNOWN][0].id, is_both ? PHRASE_RUNS_DIFFER : PHRASE_NONE);
        assert_int_equal(c->doubt.id, is_both ? PHRASE_DOUBT_DIFFERING : PHRASE_DOUBT_NOT_REPEATED);
        report_free(&before);
        report_free(&after);
        run_free(old[0]);
        run_free(new[0]);
    }
}

/* Equal configurations are compared: two nodes with one and with two ranks each. Of two configurations, the one that
 * both sides ran alone leads, so that the changed run is compared with the original. */
static void test_like_with_like(void **state)
{
    (void)state;
    struct run *old[] = {made_even_run(2, 64, 40, 100, 10, 0, 0), made_even_run(4, 64, 40, 60, 10, 0, 0),
                         made_even_run(1, 64, 40, 300, 0, 0, 0), made_even_run(1, 64, 40, 500, 0, 0, 0)},
               *new[] = {made_even_run(2, 64, 40, 90, 10, 0, 0), made_even_run(4, 64, 40, 50, 10, 0, 0),
                         made_even_run(1, 64, 40, 310, 0, 0, 0), made_even_run(1, 64, 40, 400, 0, 0, 0)};
    old[1]->n_nodes = new[1]->n_nodes = 2; /* two ranks a node */
    old[1]->run_id = new[1]->run_id = "two-a-node";
    old[2]->run_id = new[2]->run_id = "unchanged";
    old[2]->program.n_sensors = new[2]->program.n_sensors = 7;
    old[3]->program.n_sensors = 8; /* the change */
    new[3]->program.n_sensors = 9;
    struct report before = {0}, after = {0};
    tell(&before, old, 4);
    tell(&after, new, 4);
    assert_int_equal(compare(&after, &before), 4);
    static const int64_t steps[4][4] = {{1, 1, 300, 310}, {1, 1, 500, 400}, {2, 2, 110, 100}, {2, 4, 70, 60}};
    for (int i = 0; i < 4; i++) {
        int found = 0;
        for (int k = 0; k < 4; k++) {
            const struct comparison *c = &after.comparisons[k];
            found += c->n_nodes == steps[i][0] && c->n_ranks == steps[i][1] && c->n_before == 1 && c->n_after == 1 &&
                     c->step.before_ns == steps[i][2] && c->step.after_ns == steps[i][3];
        }
        assert_int_equal(found, 1);
    }
    report_free(&before);
    report_free(&after);
    for (int i = 0; i < 4; i++) {
        run_free(old[i]);
        run_free(new[i]);
    }
}

/* Steps that differ by less than they scatter; other node counts are not compared; a different batch is reported unless
 * samples are compared. */
static void test_no_difference(void **state)
{
    (void)state;
    struct run *old[] = {made_run(1, 64), made_even_run(2, 64, 10, 40, 1, 0, 0)}, *new[] = {made_run(1, -1)};
    for (int s = 0; s < 40; s++) {
        const int64_t a[N_CATEGORIES] = {[CAT_COMPUTE] = 1000 + s % 7 * 50},
                      b[N_CATEGORIES] = {[CAT_COMPUTE] = 1000 + s % 5 * 75};
        made_step(old[0], run_rank_at(old[0], 0), a);
        made_step(new[0], run_rank_at(new[0], 0), b);
    }
    struct report before = {0}, after = {0};
    tell(&before, old, 2);
    tell(&after, new, 1);
    assert_int_equal(compare(&after, &before), 1);
    assert_true(after.comparisons[0].step.change_ns.has);
    assert_false(after.comparisons[0].step.is_significant);
    assert_false(comparison_is_of_samples(&after.comparisons[0]));
    assert_string_equal(after.comparisons[0].differing, "global batch");
    report_free(&before);
    report_free(&after);
    run_free(old[0]);
    run_free(old[1]);
    run_free(new[0]);
}

/* A step of another batch is other work. Samples per second are compared, faster or slower, whatever a step takes. */
static void test_other_batch(void **state)
{
    (void)state;
    static const struct {
        int64_t batch, before_ns, after_ns;
        enum phrase_id is;
        int direction;                                             /* of the time for as many samples */
    } cases[] = {{128, 1000, 1600, PHRASE_THROUGHPUT_CHANGED, -1}, /* longer steps, but more samples a second */
                 {32, 1000, 800, PHRASE_THROUGHPUT_CHANGED, 1},
                 {128, 1000, 2000, PHRASE_NO_CHANGE_OF_THROUGHPUT, 0},
                 {64, 1000, 1600, PHRASE_STEP_SLOWER_BY, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run *old[] = {made_run(1, 64)}, *new[] = {made_run(1, cases[i].batch)};
        for (int s = 0; s < 40; s++) {
            int64_t scatter = s % 5;
            const int64_t a[N_CATEGORIES] = {[CAT_COMPUTE] = cases[i].before_ns + scatter - 60, [CAT_DATA] = 60},
                          b[N_CATEGORIES] = {[CAT_COMPUTE] = cases[i].after_ns + 2 * scatter};
            made_step(old[0], run_rank_at(old[0], 0), a);
            made_step(new[0], run_rank_at(new[0], 0), b);
        }
        struct report before = {0}, after = {0};
        tell(&before, old, 1);
        tell(&after, new, 1);
        before.runs[0].classes[CLASS_DATA].verdict = VERDICT_LIMITS; /* a forecast that a step of 64 samples keeps */
        assert_int_equal(compare(&after, &before), 1);
        narrate(&after);
        narrate_comparisons(&after);
        const struct comparison *c = &after.comparisons[0];
        const struct compared *k = comparison_judged(c);
        const struct equal_work *e = &c->equal;
        int is_of_samples = cases[i].batch != 64;
        assert_int_equal(comparison_is_of_samples(c), is_of_samples);
        assert_int_equal(c->said.headline.id, cases[i].is);
        assert_string_equal(c->differing, "");
        assert_int_equal(c->step.before_ns, cases[i].before_ns + 2);
        assert_int_equal(c->step.after_ns, cases[i].after_ns + 4);
        assert_int_equal(c->n_predictions, is_of_samples ? 0 : 1);
        if (is_of_samples) {
            double ratio = e->per_second_after / e->per_second_before;
            assert_int_equal(e->samples_before, 64);
            assert_int_equal(e->samples_after, cases[i].batch);
            assert_int_equal(k->before_ns, c->step.before_ns); /* the time for 64 samples */
            assert_int_equal(k->after_ns, llround((double)c->step.after_ns * 64 / (double)cases[i].batch));
            assert_true(fabs(ratio * (double)k->after_ns / (double)k->before_ns - 1) < 1e-3);
            assert_true(e->ratio.lo <= ratio && ratio <= e->ratio.hi);
            assert_int_equal(k->change_ns.hi < 0 ? -1 : k->change_ns.lo > 0, cases[i].direction);
            assert_int_equal(k->is_significant, cases[i].direction != 0);
            assert_int_equal(c->said.support[0].id, PHRASE_SAMPLES_OF_STEP);
            assert_int_equal(c->said.support[1].id, PHRASE_STEP_WAS);
            assert_int_equal(c->said.support[2].id, PHRASE_NONE); /* no part explains it */
            assert_int_equal(c->forecast[0].id, PHRASE_NONE);
        }
        report_free(&before);
        report_free(&after);
        run_free(old[0]);
        run_free(new[0]);
    }
}

/* Steps with other numbers of batches are compared by batch, unless their samples are known. */
static void test_other_batches_of_a_step(void **state)
{
    (void)state;
    static const struct {
        int64_t n_backward; /* after, for 40 steps of the optimiser; before 40 */
        int64_t batch_before, batch_after, batches;
    } cases[] = {{160, 0, 0, 4}, {40, 0, 0, 0}, {150, 0, 0, 0}, {160, 64, 64, 0}, {160, 64, 256, 0}, {160, 64, 0, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run *runs[] = {made_even_run(2, cases[i].batch_before, 40, 600000, 400000, 0, 0),
                              made_even_run(2, cases[i].batch_after, 40, 2400000, 400000, 0, 0)};
        struct host_operator ranges[][2] = {
            {{.name = "backward", .n = 40}, {.name = "optimizer", .n = 40}},
            {{.name = "backward", .n = cases[i].n_backward}, {.name = "optimizer", .n = 40}}};
        for (int k = 0; k < 2; k++)
            runs[k]->ranges = (struct host_operators){.list = ranges[k], .n_names = 2, .n = 80};
        struct report before = {0}, after = {0};
        const struct comparison *c = told_comparison(&before, &after, runs);
        int is_of_samples = cases[i].batch_before > 0 && cases[i].batch_after > cases[i].batch_before;
        assert_int_equal(c->batches_after, cases[i].batches);
        assert_int_equal(c->batches_before, cases[i].batches ? 1 : 0);
        assert_int_equal(c->said.headline.id == PHRASE_STEP_OF_BATCHES, cases[i].batches > 0);
        assert_int_equal(comparison_is_of_other_work(c), cases[i].batches > 0 || is_of_samples);
        if (cases[i].batches) {
            assert_int_equal(c->n_predictions, 0);
            assert_int_equal(c->said.support[0].id, PHRASE_BATCH_TAKES);
            assert_int_equal(c->said.support[0].slot[0].count, 2800000 / 4);
            assert_int_equal(c->said.support[0].slot[1].count, 1000000);
        }
        release_pair(&before, &after, runs);
    }
}

/* Steps leave out the time between them. If that changed, the speed of the run is told too, also if steps are equal. */
static void test_time_between_steps(void **state)
{
    (void)state;
    static const struct {
        int64_t after_ns;
        int of_before, of_after; /* the whole time, in steps; 0 = not known */
        double factor;           /* 0 = it is not told */
    } cases[] = {{800000, 2, 1, 2.5}, {800000, 2, 2, 0}, {1000000, 2, 1, 2}, {800000, 2, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run *runs[] = {made_even_run(1, 64, 40, 1000000, 0, 0, 0),
                              made_even_run(1, 64, 40, cases[i].after_ns, 0, 0, 0)};
        runs[0]->ranks[0].wall_ns *= cases[i].of_before;
        runs[1]->ranks[0].wall_ns *= cases[i].of_after;
        struct report before = {0}, after = {0};
        const struct comparison *c = told_comparison(&before, &after, runs);
        const struct phrase *said = NULL;
        for (int k = 0; k < SAID_MAX; k++)
            if (c->said.support[k].id == PHRASE_RUN_FASTER)
                said = &c->said.support[k];
        assert_int_equal(said != NULL, cases[i].factor > 0);
        if (said)
            assert_true(fabs(said->slot[2].real - cases[i].factor) < 1e-9);
        release_pair(&before, &after, runs);
    }
}

/* A slow step after the change counts in the mean but not in a gain; predictions are of the median step as well. */
static void test_gain_by_medians(void **state)
{
    (void)state;
    struct run *old[] = {made_run(1, 64)}, *new[] = {made_run(1, 64)};
    for (int s = 0; s < 9; s++) {
        const int64_t a[N_CATEGORIES] = {[CAT_COMPUTE] = s == 8 ? 400 : 40, [CAT_DATA] = 60},
                      b[N_CATEGORIES] = {[CAT_COMPUTE] = s == 8 ? 900 : 40, [CAT_DATA] = 5};
        made_step(old[0], run_rank_at(old[0], 0), a);
        made_step(new[0], run_rank_at(new[0], 0), b);
    }
    struct report before = {0}, after = {0};
    tell(&before, old, 1);
    tell(&after, new, 1);
    assert_int_equal(compare(&after, &before), 1);
    const struct comparison *c = &after.comparisons[0];
    assert_int_equal(c->step.before_ns, 140); /* (8 * 100 + 460) / 9 */
    assert_int_equal(c->step.after_ns, 141);  /* (8 * 45 + 905) / 9 */
    assert_int_equal(c->achieved_ns, 55);
    assert_int_equal(c->predictions[0].predicted_ns, 60); /* a slow step with another cause does not reduce it */
    assert_int_equal(c->expected_ns, 60);
    assert_int_equal(c->expected_mean_ns, 60);
    assert_int_equal(c->confidence, CONFIDENCE_LOW);
    assert_int_equal(c->doubt.id, PHRASE_DOUBT_STEPS);
    assert_string_equal(c->doubt.slot[0].name, "before");
    assert_int_equal(c->doubt.slot[1].count, 9);
    report_free(&before);
    report_free(&after);
    run_free(old[0]);
    run_free(new[0]);
}

/* Loading of 80 in each step and compute of 500 more in every eighth; files of 400 in every eighth. The loss in single
 * steps counts for the forecast of the mean, not of the median, and neither bound is exceeded. */
static void test_gain_is_a_bound(void **state)
{
    (void)state;
    for (int is_file = 0; is_file < 2; is_file++) {
        struct run *old[] = {made_run(1, 64)}, *new[] = {made_run(1, 64)};
        for (int s = 0; s < 40; s++) {
            const int64_t slow = s % 8 == 7,
                          a[N_CATEGORIES] = {[CAT_COMPUTE] = 40 + (is_file ? 0 : 500 * slow),
                                             [CAT_DATA] = is_file ? 0 : 80,
                                             [CAT_IO] = is_file ? 400 * slow : 0},
                          b[N_CATEGORIES] = {[CAT_COMPUTE] = 40, [CAT_DATA] = is_file ? 0 : 1};
            made_step(old[0], run_rank_at(old[0], 0), a);
            made_step(new[0], run_rank_at(new[0], 0), b);
        }
        struct report before = {0}, after = {0};
        tell(&before, old, 1);
        tell(&after, new, 1);
        assert_int_equal(compare(&after, &before), 1);
        const struct comparison *c = &after.comparisons[0];
        assert_int_equal(c->n_predictions, 1);
        assert_int_equal(c->predictions[0].cls, is_file ? CLASS_IO : CLASS_DATA);
        assert_int_equal(c->expected_ns, is_file ? 0 : 80);
        assert_int_equal(c->achieved_ns, is_file ? 0 : 79);
        assert_int_equal(c->expected_mean_ns, is_file ? 50 : 80);
        report_free(&before);
        report_free(&after);
        run_free(old[0]);
        run_free(new[0]);
    }
}

/* Loading fell from 60 to 0, and compute from 40 to 30. The gain exceeds that of loading, and the other part is named;
 * with unchanged compute it is not. The terminal has a short form. */
static void test_more_than_promised(void **state)
{
    (void)state;
    for (int is_more = 0; is_more < 2; is_more++) {
        struct run *old[] = {made_even_run(1, 64, 40, 40000000, 0, 60000000, 0)};
        struct run *new[] = {made_even_run(1, 64, 40, is_more ? 30000000 : 40000000, 0, 100000, 0)};
        struct report before = {0}, after = {0};
        tell(&before, old, 1);
        tell(&after, new, 1);
        narrate(&before);
        narrate(&after);
        after.baseline = "old";
        assert_int_equal(compare(&after, &before), 1);
        narrate_comparisons(&after);
        const struct comparison *c = &after.comparisons[0];
        assert_int_equal(c->said.headline.id, PHRASE_CAUSE_FIXED);
        assert_string_equal(c->said.headline.slot[0].name, "data loading");
        assert_int_equal(c->said.where.kind, SLOT_NONE);
        assert_int_equal(c->forecast[0].id, PHRASE_STEP_GOT_SHORTER);
        assert_int_equal(c->forecast[0].slot[0].count, is_more ? 69900000 : 59900000);
        assert_int_equal(c->forecast[1].id, PHRASE_FORECAST_ABOUT); /* a value that can be exceeded is not a bound */
        assert_int_equal(c->forecast[1].slot[0].count, 60000000);
        assert_int_equal(c->forecast[2].id, is_more ? PHRASE_BEYOND_PARTS : PHRASE_NONE);
        if (is_more)
            assert_string_equal(c->forecast[2].slot[0].name, "compute");
        assert_int_equal(c->sure[SURE_FORECAST][0].id, PHRASE_FORECAST_IS_ESTIMATE);
        assert_int_equal(after.sure[SURE_FORECAST][0].id, PHRASE_FORECAST_IS_ESTIMATE); /* not the gain of the next
                                                                                         * limit */
        assert_non_null(strstr(after.verdict, say_phrase(&after.arena, &c->forecast[1])));
        assert_true(strlen(after.verdict) < 300);
        report_free(&before);
        report_free(&after);
        run_free(old[0]);
        run_free(new[0]);
    }
}

/* Steps vary by far more than the removed time, so no gain is stated in any document. A forecast within the interval of
 * the difference is not exceeded either. */
static void test_chance_is_no_gain(void **state)
{
    (void)state;
    static const struct {
        int64_t noise, compute_after;
        enum phrase_id headline, forecast[3];
        int is_chance;
    } cases[] = {{120000000, 41000000, PHRASE_NO_CHANGE, {PHRASE_SAVING_NOT_KNOWN}, 1},
                 {3000000, 39500000, PHRASE_CAUSE_FIXED, {PHRASE_STEP_GOT_SHORTER, PHRASE_FORECAST_ABOUT}, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run *old[] = {made_run(1, 64)}, *new[] = {made_run(1, 64)};
        for (int s = 0; s < 40; s++) {
            int64_t slow = s % 4 == 3 ? cases[i].noise : 0, late = s % 4 == 1 ? cases[i].noise : 0;
            const int64_t a[N_CATEGORIES] = {[CAT_COMPUTE] = 40000000 + slow, [CAT_DATA] = 12000000};
            const int64_t b[N_CATEGORIES] = {[CAT_COMPUTE] = cases[i].compute_after + late, [CAT_DATA] = 100000};
            made_step(old[0], run_rank_at(old[0], 0), a);
            made_step(new[0], run_rank_at(new[0], 0), b);
        }
        struct analyse_options o = made_options();
        o.thresholds.data_limits = 0.1;
        struct report before = {0}, after = {0};
        assert_int_equal(analyse(&before, old, 1, &o, NULL), 0);
        assert_int_equal(analyse(&after, new, 1, &o, NULL), 0);
        narrate(&before);
        narrate(&after);
        after.baseline = "old";
        assert_int_equal(compare(&after, &before), 1);
        narrate_comparisons(&after);
        const struct comparison *c = &after.comparisons[0];
        assert_int_equal(!c->step.is_significant, cases[i].is_chance);
        assert_true(c->predictions[0].is_removed);
        assert_int_equal(c->said.headline.id, cases[i].headline);
        for (int k = 0; k < COMPARED_MAX; k++)
            assert_int_equal(c->forecast[k].id, cases[i].forecast[k]);
        assert_int_equal(c->forecast[0].slot[0].count, cases[i].is_chance ? 12000000 : 12400000);
        assert_non_null(strstr(after.verdict, say_phrase(&after.arena, &c->forecast[0])));
        report_free(&before);
        report_free(&after);
        run_free(old[0]);
        run_free(new[0]);
    }
}

/* A cause that fell by less than half stands beside its forecast, which then missed. */
static void test_forecast_that_missed(void **state)
{
    (void)state;
    struct run *old[] = {made_even_run(1, 64, 40, 40000000, 0, 60000000, 0)},
               *new[] = {made_even_run(1, 64, 40, 40000000, 0, 50000000, 0)};
    struct report before = {0}, after = {0};
    tell(&before, old, 1);
    tell(&after, new, 1);
    narrate(&before);
    narrate(&after);
    after.baseline = "old";
    assert_int_equal(compare(&after, &before), 1);
    narrate_comparisons(&after);
    const struct comparison *c = &after.comparisons[0];
    assert_int_equal(c->forecast[0].id, PHRASE_CAUSE_WENT);
    assert_int_equal(c->forecast[1].id, PHRASE_FORECAST_WITHOUT_ABOUT);
    assert_string_equal(c->forecast[1].slot[0].name, "any data loading");
    assert_int_equal(c->forecast[1].slot[1].count, 60000000);
    report_free(&before);
    report_free(&after);
    run_free(old[0]);
    run_free(new[0]);
}

/* With several node counts each headline names its own. A step that got longer although its cause is gone is reported
 * with the saving, and with a way to end the doubt. */
static void test_several_and_longer(void **state)
{
    (void)state;
    struct run *old[] = {made_even_run(1, 64, 40, 40000000, 0, 60000000, 0),
                         made_even_run(2, 64, 40, 40000000, 0, 60000000, 0)},
               *new[] = {made_even_run(1, 64, 40, 150000000, 0, 1000000, 0),
                         made_even_run(2, 64, 20, 40000000, 0, 1000000, 0)};
    struct report before = {0}, after = {0};
    tell(&before, old, 2);
    tell(&after, new, 2);
    narrate(&before);
    narrate(&after);
    after.baseline = "old";
    assert_int_equal(compare(&after, &before), 2);
    narrate_comparisons(&after);
    const struct comparison *longer = &after.comparisons[0], *c = &after.comparisons[1];
    assert_int_equal(longer->said.headline.id, PHRASE_STEP_SLOWER_BY);
    assert_true(longer->said.is_on && c->said.is_on);
    assert_string_equal(longer->said.where.name, "1 node");
    assert_string_equal(c->said.where.name, "2 nodes");
    assert_int_equal(longer->forecast[0].id, PHRASE_STEP_GOT_LONGER);
    assert_int_equal(longer->forecast[0].slot[0].count, 51000000);
    assert_int_equal(longer->forecast[1].id, PHRASE_FORECAST_WITHOUT_ABOUT);
    assert_int_equal(longer->forecast[2].id, PHRASE_NONE);
    assert_int_equal(c->doubt.id, PHRASE_DOUBT_STEPS);
    assert_int_equal(longer->sure[SURE_CAUSE][1].id, PHRASE_INTERVAL_OF_TWO_RUNS); /* one run on each side */
    assert_int_equal(c->sure[SURE_IMPROVE][0].id, PHRASE_MORE_STEPS);
    assert_int_equal(c->sure[SURE_IMPROVE][0].slot[0].count, 30);
    assert_int_equal(c->sure[SURE_IMPROVE][1].id, PHRASE_REPEAT_BOTH);
    assert_int_equal(after.said.headline.id, c->said.headline.id); /* the largest node count is the answer */
    assert_string_equal(after.headline, c->sentence);
    report_free(&before);
    report_free(&after);
    for (int i = 0; i < 2; i++) {
        run_free(old[i]);
        run_free(new[i]);
    }
}

static void put_analysis(const struct report *rep, struct dcr_buf *out)
{
    struct doc d = {0};
    page_of_analysis(rep, &d);
    write_markdown(&d, out);
    doc_release(&d);
}

/* A value that neither side recorded is not 0, and an unknown node count equals none. */
static void test_unknown_is_no_zero(void **state)
{
    (void)state;
    struct run *old[] = {made_even_run(1, 64, 40, 40, 0, 60, 0)}, *new[] = {made_even_run(1, 64, 40, 40, 0, 5, 0)};
    struct report before = {0}, after = {0};
    old[0]->n_nodes = new[0]->n_nodes = 0;
    old[0]->nodes_len = new[0]->nodes_len = 0;
    tell(&before, old, 1);
    tell(&after, new, 1);
    narrate(&after);
    after.baseline = "old";
    assert_int_equal(compare(&after, &before), 1);
    narrate_comparisons(&after);
    const struct comparison *c = &after.comparisons[0];
    assert_true(c->part[PART_DATA].has_before && c->part[PART_DATA].has_after);
    assert_false(c->part[PART_IO].has_before || c->part[PART_IO].has_after || c->part[PART_IO].change_ns.has);
    json_t *list = comparisons_json(&after), *o = json_array_get(list, 0);
    assert_true(json_is_null(json_object_get(o, "n_nodes")));
    json_t *io = json_object_get(json_object_get(o, "parts"), "io");
    assert_true(json_is_null(json_object_get(io, "before_ns")) && json_is_null(json_object_get(io, "after_ns")));
    json_decref(list);
    struct dcr_buf b = {0};
    put_analysis(&after, &b);
    const struct phrase missing = PHRASE(PARTS_WITHOUT_VALUE, slot_name("I/O and copies"));
    assert_null(strstr(dcr_buf_text(&b), "| I/O |"));
    assert_non_null(strstr(dcr_buf_text(&b), say_phrase(&after.arena, &missing)));
    dcr_buf_release(&b);
    report_free(&before);
    report_free(&after);
    run_free(old[0]);
    run_free(new[0]);
}

/* A value that one side did not record has no difference, and is not the largest change. */
static void test_unknown_on_one_side(void **state)
{
    (void)state;
    for (int is_after = 0; is_after < 2; is_after++) {
        struct run *with = made_even_run(1, 64, 40, 40, 0, 5, 60), *without = made_even_run(1, 64, 40, 46, 0, 5, 0);
        struct report before = {0}, after = {0};
        tell(&before, is_after ? &without : &with, 1);
        narrate(&before);
        tell(&after, is_after ? &with : &without, 1);
        narrate(&after);
        after.baseline = "old";
        assert_int_equal(compare(&after, &before), 1);
        narrate_comparisons(&after);
        const struct comparison *c = &after.comparisons[0];
        const struct compared *io = &c->part[PART_IO];
        assert_true(io->has_before == !is_after && io->has_after == is_after);
        assert_false(compared_has(io) || io->change_ns.has || io->is_significant);
        assert_true(c->part[PART_COMPUTE].is_significant);
        int n_compute = 0;
        for (int k = 0; k < SAID_MAX; k++) {
            const struct phrase *p = &c->said.support[k];
            n_compute += (p->id == PHRASE_PART_GREW || p->id == PHRASE_PART_FELL || p->id == PHRASE_PART_SAVED) &&
                         strcmp(p->slot[0].name, "Compute") == 0;
            assert_null(strstr(say_phrase(&after.arena, p), "I/O"));
        }
        assert_int_equal(n_compute, 1);
        struct dcr_buf b = {0};
        put_analysis(&after, &b);
        assert_non_null(strstr(dcr_buf_text(&b), is_after ? "| – | < 0.001 | not recorded before | – |"
                                                          : "| < 0.001 | – | not recorded after | – |"));
        enum part parts[N_PARTS];
        int n = comparison_order(c, parts);
        assert_int_equal(n, 3); /* parts without a difference come last */
        assert_int_equal(parts[0], PART_COMPUTE);
        assert_int_equal(parts[1], PART_DATA);
        assert_int_equal(parts[2], PART_IO);
        dcr_buf_release(&b);
        report_free(&before);
        report_free(&after);
        run_free(with);
        run_free(without);
    }
}

/* A rank computes 80 beside 20: equal times save 30, its speed 60, and the run saved 60. */
static void test_slow_rank_as_fast(void **state)
{
    (void)state;
    struct run *old[] = {made_run(2, 64)}, *new[] = {made_run(2, 64)};
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 2; i++) {
            const int64_t slow[N_CATEGORIES] = {[CAT_COMPUTE] = i ? 80 : 20, [CAT_COMM] = i ? 1 : 61};
            const int64_t even[N_CATEGORIES] = {[CAT_COMPUTE] = 20, [CAT_COMM] = 1};
            made_step(old[0], run_rank_at(old[0], i), slow);
            made_step(new[0], run_rank_at(new[0], i), even);
        }
    struct report before = {0}, after = {0};
    tell(&before, old, 1);
    tell(&after, new, 1);
    assert_int_equal(compare(&after, &before), 1);
    narrate(&after);
    narrate_comparisons(&after);
    const struct comparison *c = &after.comparisons[0];
    assert_int_equal(c->predictions[0].cls, CLASS_IMBALANCE);
    assert_int_equal(c->predictions[0].predicted_mean_ns, 30);
    assert_int_equal(c->predictions[0].as_fast_ns, 60);
    assert_int_equal(c->achieved_ns, 60);
    assert_true(c->predictions[0].before_ns == 30 && c->predictions[0].after_ns == 0);
    assert_int_equal(c->forecast[2].id, PHRASE_BEYOND_RANK);
    report_free(&before);
    report_free(&after);
    run_free(old[0]);
    run_free(new[0]);
}

/* With one trace of many ranks, transfer and waiting cannot be told apart; the comparison then uses the name on the
 * run's page. */
static void test_one_trace_of_many(void **state)
{
    (void)state;
    static const int64_t much[][3] = {{40, 50, 0}}, little[][3] = {{40, 5, 0}};
    struct run *old[] = {made_traced_run(1, much, 1)}, *new[] = {made_traced_run(1, little, 1)};
    old[0]->traces[0].world_size = new[0]->traces[0].world_size = 8;
    struct report before = {0}, after = {0};
    tell(&before, old, 1);
    tell(&after, new, 1);
    assert_int_equal(compare(&after, &before), 1);
    narrate(&after);
    narrate_comparisons(&after);
    const struct comparison *c = &after.comparisons[0];
    assert_int_equal(c->n_predictions, 1);
    assert_int_equal(c->predictions[0].cls, CLASS_COMMUNICATION);
    assert_string_equal(c->predictions[0].name, "Communication");
    assert_string_equal(c->said.support[1].slot[0].name, "Communication");
    assert_null(strstr(c->support, "ransfer"));
    report_free(&before);
    report_free(&after);
    run_free(old[0]);
    run_free(new[0]);
}

/* If there is none, the reason is about the existing data. */
static void test_nothing_to_compare(void **state)
{
    (void)state;
    static const struct {
        int ranks, nodes, n_steps, ranks_now;
        enum reason_code why;
    } cases[] = {{4, 1, 40, 1, REASON_COMPARE_OTHER_RANKS},
                 {4, 4, 40, 1, REASON_COMPARE_OTHER_SIZES},
                 {1, 1, 0, 1, REASON_COMPARE_NO_STEPS_BEFORE},
                 {1, 1, 40, 1, REASON_NONE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run *old[] = {made_even_run(cases[i].ranks, 64, cases[i].n_steps, 40, 10, 0, 0)},
                   *new[] = {made_even_run(cases[i].ranks_now, 64, 40, 40, 10, 0, 0)};
        struct report before = {0}, after = {0};
        old[0]->n_nodes = cases[i].nodes;
        tell(&before, old, 1);
        tell(&after, new, 1);
        compare(&after, &before);
        assert_int_equal(after.no_comparison.code, cases[i].why);
        report_free(&before);
        report_free(&after);
        run_free(old[0]);
        run_free(new[0]);
    }
}

/* A part of 0.05 % of a step is not shown, and one that changed by less than 0.1 % of a step is unchanged, however
 * narrow its interval is. */
static void test_what_nobody_sees(void **state)
{
    (void)state;
    const struct compared step = {.before_ns = 20000, .after_ns = 12000};
    const struct compared tiny = {.before_ns = 10, .after_ns = 4}, same = {.before_ns = 5000, .after_ns = 4990};
    const struct compared seen = {.before_ns = 20, .after_ns = 0};
    assert_true(compared_is_small(&tiny, &step) && compared_is_unchanged(&tiny, &step));
    assert_true(!compared_is_small(&same, &step) && compared_is_unchanged(&same, &step));
    assert_true(!compared_is_small(&seen, &step) && !compared_is_unchanged(&seen, &step));
    assert_int_equal(compared_longest(&step), 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_program),      cmocka_unit_test(test_waiting_in_turn),
        cmocka_unit_test(test_named_first),        cmocka_unit_test(test_loading_removed),
        cmocka_unit_test(test_other_gpu),          cmocka_unit_test(test_gain_by_medians),
        cmocka_unit_test(test_gain_is_a_bound),    cmocka_unit_test(test_other_emulated_nodes),
        cmocka_unit_test(test_like_with_like),     cmocka_unit_test(test_no_difference),
        cmocka_unit_test(test_slow_rank_as_fast),  cmocka_unit_test(test_one_trace_of_many),
        cmocka_unit_test(test_what_nobody_sees),   cmocka_unit_test(test_nothing_to_compare),
        cmocka_unit_test(test_more_than_promised), cmocka_unit_test(test_chance_is_no_gain),
        cmocka_unit_test(test_several_and_longer), cmocka_unit_test(test_forecast_that_missed),
        cmocka_unit_test(test_unknown_is_no_zero), cmocka_unit_test(test_unknown_on_one_side),
        cmocka_unit_test(test_other_batch),        cmocka_unit_test(test_other_batches_of_a_step),
        cmocka_unit_test(test_time_between_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
