/* test_narrate_runs.c - numbers of many runs become sentences: headlines of series, labels, ranking, documents
 * (render/findings). */
#include "render/findings/ranking.h"
#include "render/say/format.h"
#include "render/metrics/series/differing.h"
#include "render/model/build.h"
#include "render/pages/caveats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/told.h"

#include <jansson.h>
#include <stdlib.h>

/* The host may only have enqueued the GPU's work: a series over such runs names no cause. */
static void test_gpu_not_seen(void **state)
{
    (void)state;
    struct fixture f = strong();
    f.runs[0]->has_host_steps = 1;
    tell(&f);
    const struct series *s = &f.rep.series[0];
    assert_finds(&s->said, PHRASE_SCALING_FALLS);
    assert_string_equal(assert_supports(&s->said, PHRASE_NOT_JUDGED)[1].name, "not recorded");
    for (int i = 0; i < SERIES_SAID_MAX; i++)
        assert_true(s->beyond[i].id != PHRASE_COMPUTE_WENT && s->beyond[i].id != PHRASE_COMPUTE_STAYED);
    for (int i = 0; i < f.rep.n_claims; i++)
        assert_true(f.rep.claims[i].series < 0);
    release(&f);
}

/* The value at a path such as "series.0.points.2.step.mean_ns"; lists by index, runs by slug. NULL when there is none.
 */
static const json_t *at_path(const json_t *root, const char *path)
{
    char step[128];
    while (root && *path) {
        size_t n = strcspn(path, ".");
        snprintf(step, sizeof step, "%.*s", (int)n, path);
        path += n + (path[n] == '.');
        if (!json_is_array(root)) {
            root = json_object_get(root, step);
            continue;
        }
        const json_t *found =
            step[0] >= '0' && step[0] <= '9' && !step[1] ? json_array_get(root, (size_t)strtoul(step, NULL, 10)) : NULL;
        for (size_t i = 0; !found && i < json_array_size(root); i++) {
            const char *slug = json_string_value(json_object_get(json_array_get(root, i), "slug"));
            if (slug && strcmp(slug, step) == 0)
                found = json_array_get(root, i);
        }
        root = found;
    }
    return root;
}

static void test_headline(void **state)
{
    (void)state;
    struct fixture f = strong();
    tell(&f);
    const struct said *said = &f.rep.series[0].said;
    assert_finds(said, PHRASE_SCALING_COMMUNICATION_GROWS);
    assert_true(fabs(said->headline.slot[1].real - 11.0 / 32) < 1e-9);
    assert_int_equal(said->headline.slot[2].count, 4);
    assert_true(fabs(said->headline.slot[3].real - 6.0 / 48) < 1e-9);
    assert_string_equal(f.rep.headline, f.rep.series[0].headline);
    assert_int_equal(assert_supports(said, PHRASE_COMMUNICATION_TIME)[0].count, 11000000);
    assert_int_equal(assert_supports(said, PHRASE_COMMUNICATION_TIME)[1].count, 32000000);
    assert_int_equal(assert_supports(said, PHRASE_COMM_SPLIT)[0].count, 11000000);
    assert_int_equal(assert_supports(said, PHRASE_COMM_SPLIT)[1].count, 0);
    assert_true(fabs(assert_supports(said, PHRASE_SPEEDUP)[1].real - 2.5) < 1e-9);
    assert_int_equal(f.rep.claims[f.rep.first_claim].action.id, ADVICE_BF16);
    assert_contains(f.rep.first_action, "about 21.0 ms instead of 32.0 ms (1.52x, estimate)");
    assert_contains(f.rep.how_sure, "120 steps of 3 runs were counted.");
    assert_contains(f.rep.how_sure, "Confidence is medium: there is one run per node count");
    assert_contains(f.rep.verdict, "2.50x");
    assert_contains(f.rep.title, "on 1, 2 and 4 nodes");
    release(&f);
}

/* Two phases of compute on every rank; backward has what forward leaves. */
static void add_phases(struct run *r, int64_t forward_ns)
{
    for (int i = 0; i < r->n_ranks; i++) {
        struct run_rank *k = run_rank_at(r, i);
        k->phases = dcr_arena_alloc(&r->arena, 2 * sizeof *k->phases);
        k->n_phases = 2;
        for (int p = 0; p < 2; p++) {
            int64_t *ns = dcr_arena_alloc(&r->arena, 40 * sizeof *ns);
            k->phases[p] = (struct run_phase){.name = p ? "backward" : "forward", .category = CAT_COMPUTE, .ns = ns};
            for (int s = 0; s < 40; s++)
                ns[s] = p ? k->steps[s].part_ns[CAT_COMPUTE] - forward_ns : forward_ns;
        }
    }
}

/* On four nodes 80 ms of compute (forward 20, backward 60) would be 20 (5 and 15) and are 26. Cases: the backward
 * pass has lost all 6, the forward pass has, or both have lost 3. Or the forward pass has lost 8 and the backward
 * pass gained 2. Or nothing is known of phases. */
static void test_phase_that_lost(void **state)
{
    (void)state;
    static const int64_t forward_ns[4][2] = {
        {20000000, 5000000}, {20000000, 11000000}, {20000000, 8000000}, {20000000, 13000000}};
    for (int i = 0; i < 5; i++) {
        struct fixture f = strong();
        run_free(f.runs[2]);
        f.runs[2] = made_even_run(4, 64, 40, 26000000, 15000000, 0, 0);
        if (i < 4) {
            add_phases(f.runs[0], forward_ns[i][0]);
            add_phases(f.runs[1], forward_ns[i][0] / 2);
            add_phases(f.runs[2], forward_ns[i][1]);
        }
        f.runs[2]->program.allreduce_is_overlapped = i == 0;
        tell(&f);
        const struct said *said = &f.rep.series[0].said;
        assert_int_equal(assert_supports(said, PHRASE_COMPUTE_LOST_TOO)[0].count, 6000000);
        int n_beside = 0, n_in = 0;
        for (int k = 0; k < SAID_MAX; k++) {
            n_beside += said->support[k].id == PHRASE_COMPUTE_LOST_BESIDE;
            n_in += said->support[k].id == PHRASE_COMPUTE_LOST_IN;
        }
        assert_true(n_beside == (i == 0) && n_in == (i == 1));
        if (i == 0)
            assert_int_equal(assert_supports(said, PHRASE_COMPUTE_LOST_BESIDE)[0].count, 6000000);
        if (i == 1) {
            assert_string_equal(assert_supports(said, PHRASE_COMPUTE_LOST_IN)[0].name, "forward");
            assert_int_equal(assert_supports(said, PHRASE_COMPUTE_LOST_IN)[1].count, 6000000);
        }
        if (i == 3)
            assert_int_equal(assert_supports(said, PHRASE_COMPUTE_LOST_MORE)[1].count, 8000000);
        release(&f);
    }
}

/* Compute itself limits: 80 ms of it become 76 instead of 20 on four nodes, and the backward pass loses all 56. */
static void test_phase_of_limiting_compute(void **state)
{
    (void)state;
    struct fixture f = strong();
    run_free(f.runs[2]);
    f.runs[2] = made_even_run(4, 64, 40, 76000000, 1000000, 0, 0);
    add_phases(f.runs[0], 20000000);
    add_phases(f.runs[1], 10000000);
    add_phases(f.runs[2], 5000000);
    tell(&f);
    const struct said *said = &f.rep.series[0].said;
    assert_int_equal(said->headline.id, PHRASE_SCALING_PART);
    assert_int_equal(said->support[0].id, PHRASE_COMPUTE_LOST_IN); /* the sentence after the headline */
    assert_string_equal(assert_supports(said, PHRASE_COMPUTE_LOST_IN)[0].name, "backward");
    assert_int_equal(assert_supports(said, PHRASE_COMPUTE_LOST_IN)[1].count, 56000000);
    release(&f);
}

/* The same, but gradients travel beside the backward pass: for 30 ms of the 56 that it lost, or for 20, or it is not
 * known that they do. With the 14 ms that transfer lost, the first is more than the rest of compute. If ranks
 * wait for the exchange for 2 ms only, compute is named, however much longer the backward pass takes. */
static void test_compute_lost_to_the_exchange(void **state)
{
    (void)state;
    static const struct {
        int is_overlapped;
        int64_t hidden_ns, transfer_ns;
        enum cause_class cls;
    } cases[] = {{1, 30000000, 14000000, CLASS_COMMUNICATION},
                 {1, 20000000, 14000000, CLASS_COMPUTE},
                 {-1, 30000000, 14000000, CLASS_COMPUTE},
                 {1, 56000000, 2000000, CLASS_COMPUTE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f = strong();
        run_free(f.runs[2]);
        f.runs[2] = made_even_run(4, 64, 40, 76000000, cases[i].transfer_ns, 0, 0);
        add_phases(f.runs[0], 20000000);
        add_phases(f.runs[1], 10000000);
        add_phases(f.runs[2], 5000000);
        f.runs[2]->program.allreduce_is_overlapped = cases[i].is_overlapped;
        for (int k = 0; k < f.runs[2]->ranks_len; k++)
            for (size_t n = 0; n < f.runs[2]->ranks[k].n_steps; n++)
                f.runs[2]->ranks[k].steps[n].hidden_comm_ns = cases[i].hidden_ns;
        tell(&f);
        assert_int_equal(f.rep.claims[f.rep.series[0].limit_claim].cls, cases[i].cls);
        release(&f);
    }
}

static void test_every_claim_is_ready(void **state)
{
    (void)state;
    struct fixture f = strong();
    tell(&f);
    assert_true(f.rep.n_claims >= 3);
    for (int i = 0; i < f.rep.n_claims; i++) {
        const struct claim *c = &f.rep.claims[i];
        size_t n = strlen(c->sentence);
        assert_true(n > 20 && c->sentence[n - 1] == '.');
        assert_true(c->n_numbers > 0);
        assert_true(strlen(c->confidence_because) > 0);
        assert_true(strlen(c->evidence) > 0);
        assert_true(strlen(c->action.generic) > 0);
        assert_true((c->run >= 0) != (c->series >= 0));
    }
    release(&f);
}

/* Of many runs that are not a series, the one with the largest gain leads, in any order. */
static void test_ranking(void **state)
{
    (void)state;
    struct fixture f = {.n = 3};
    static const int64_t data[] = {35, 60, 45};
    static const char *const ids[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        f.runs[i] = made_even_run(1, 64, 40, 100 - data[i], 0, data[i], 0);
        f.runs[i]->run_id = ids[i];
        f.runs[i]->n_nodes = 0;
        f.runs[i]->program.name = ids[i];
    }
    tell(&f);
    assert_finds(&f.rep.said, PHRASE_MOST_RUNS_LIMITED); /* the headline is about all of them */
    assert_int_equal(f.rep.said.headline.slot[0].count, 3);
    assert_string_equal(f.rep.said.headline.slot[3].name, "data loading limits");
    assert_string_equal(assert_supports(&f.rep.said, PHRASE_GAINS_MOST)[0].name, "'b'");
    assert_string_equal(f.rep.first_of, "'b'");
    static const char *const gains[] = {"about 1.54x", "about 2.50x", "about 1.82x"};
    assert_true(is_ranked(&f.rep));
    for (int i = 0; i < 3; i++)
        assert_string_equal(ranking_gain_text(&f.rep, &f.rep.runs[i]).text, gains[i]);
    const struct slot *most = assert_says(f.rep.ranking, RANKING_MAX, PHRASE_MOST_LOADING);
    assert_string_equal(most[0].name, "'b'");
    assert_int_equal(percent_of(&most[1]), 60);
    assert_contains(f.rep.first_action, "about 40 ns instead of 100 ns");
    release(&f);
    struct fixture d = {.n = 2}; /* ranks of 'b' also waited for cores, which costs it less */
    for (int i = 0; i < 2; i++) {
        d.runs[i] = made_even_run(1, 64, 40, 1000000 * (100 - data[i]), 0, 1000000 * data[i], 0);
        d.runs[i]->run_id = d.runs[i]->program.name = ids[i];
        d.runs[i]->n_nodes = 0;
    }
    for (int i = 0; i < 2; i++)
        d.runs[i]->ranks[0].run_delay_ns = 2000000000, d.runs[i]->ranks[0].process_seconds = 10;
    tell(&d);
    assert_int_equal(d.rep.claims[d.rep.runs[1].claims[0]].cls, CLASS_DATA);
    assert_int_equal(d.rep.claims[d.rep.runs[1].claims[1]].cls, CLASS_SHARED);
    assert_string_equal(assert_supports(&d.rep.said, PHRASE_GAINS_MOST)[0].name, "'b'");
    assert_string_equal(ranking_gain_text(&d.rep, &d.rep.runs[1]).text, "about 2.50x, low confidence");
    release(&d);
    struct fixture g = {.n = 3}; /* all compute, and no known action makes it faster */
    for (int i = 0; i < 3; i++) {
        g.runs[i] = made_even_run(1, 64, 40, 100, 0, 0, 0);
        g.runs[i]->run_id = g.runs[i]->program.name = ids[i];
        g.runs[i]->n_nodes = 0;
    }
    tell(&g);
    assert_true(g.rep.runs[0].n_claims > 0);
    assert_string_equal(assert_supports(&g.rep.said, PHRASE_LEADS)[0].name, "'c'");
    release(&g);
}

/* Of a few runs that cannot be compared, each has its sentence, also one without steps. Nothing is said to be the most
 * of what one run alone gives. */
static void test_ranking_of_unlike_runs(void **state)
{
    (void)state;
    for (int n = 2; n <= 4; n += 2) {
        struct run_mpi_call calls[] = {{"MPI_Allreduce", {9, 0, 4400000000, 0}}};
        static const char *const ids[] = {"solver", "a", "b", "c"};
        struct fixture f = {.n = n};
        f.runs[0] = late_of_two(calls, 0);
        for (int i = 1; i < n; i++)
            f.runs[i] = made_even_run(1, 64, 40, 40, 0, 60, 0);
        for (int i = 0; i < n; i++)
            f.runs[i]->run_id = f.runs[i]->program.name = ids[i];
        tell(&f);
        assert_true(is_ranked(&f.rep));
        assert_supports(&f.rep.said, PHRASE_GAINS_MOST);
        assert_int_equal(is_said(&f.rep.said, PHRASE_LEADS), n == 2);
        assert_int_equal(f.rep.ranking[0].id, n == 2 ? PHRASE_NONE : PHRASE_MOST_LOADING);
        if (n == 2)
            assert_string_equal(assert_supports(&f.rep.said, PHRASE_LEADS)[1].name,
                                "rank 0 waits for rank 1 in MPI for 36 % of its time");
        release(&f);
    }
}

/* A run with one or a few steps does not lead if a run with more steps has a gain. */
static void test_ranking_by_confidence(void **state)
{
    (void)state;
    static const int64_t data[] = {35, 90, 60, 50};
    static const char *const ids[] = {"a", "toy", "few", "held"};
    static const int n_steps[] = {40, 1, 5, 40};
    for (int n = 4; n >= 3; n--) { /* with the well-known run, and without it */
        struct fixture f = {.n = n};
        for (int i = 0; i < n; i++) {
            int k = i + 4 - n;
            f.runs[i] = made_even_run(1, 64, n_steps[k], 1000000 * (100 - data[k]), 0, 1000000 * data[k], 0);
            f.runs[i]->run_id = f.runs[i]->program.name = ids[k];
            f.runs[i]->n_nodes = 0;
        }
        f.runs[n - 1]->ranks[0].run_delay_ns = 3000000000, f.runs[n - 1]->ranks[0].process_seconds = 10;
        tell(&f);
        assert_string_equal(assert_supports(&f.rep.said, PHRASE_GAINS_MOST)[0].name, n == 4 ? "'a'" : "'few'");
        static const char *const gains[] = {"about 1.54x", "about 2.50x, low confidence", "about 2.00x, low confidence",
                                            ""}; /* of a, few, held and toy: a single step allows no statement */
        for (int i = 0; i < n; i++)
            assert_string_equal(ranking_gain_text(&f.rep, &f.rep.runs[i]).text, gains[i + 4 - n]);
        release(&f);
    }
}

/* The usual local series: compute does not shrink because ranks share cores. */
static void test_too_few_cores_is_one_story(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
    f.runs[1] = made_even_run(4, 64, 40, 40000000, 1000000, 0, 0);
    for (int i = 0; i < 2; i++)
        f.runs[i]->program.name = "another";
    for (int k = 0; k < 4; k++)
        f.runs[1]->ranks[k].run_delay_ns = 8000000000, f.runs[1]->ranks[k].process_seconds = 10;
    tell(&f);
    assert_finds(&f.rep.series[0].said, PHRASE_SCALING_WAITS);
    assert_int_equal(assert_supports(&f.rep.series[0].said, PHRASE_COMPUTE_STAYS)[0].count, 40000000);
    assert_int_equal(assert_supports(&f.rep.series[0].said, PHRASE_COMPUTE_STAYS)[1].count, 20000000);
    assert_one_story(&f.rep, CLASS_SHARED, 1);
    assert_int_equal(f.rep.runs[1].classes[CLASS_COMPUTE].verdict, VERDICT_LIMITS);
    assert_null(strstr(f.rep.runs[1].classes[CLASS_COMPUTE].text, "healthy"));
    assert_contains(f.rep.first_action,
                    "With the cause removed, a step would take about 20.0 ms instead of 41.0 ms (2.05x, estimate).");
    assert_int_equal(f.rep.runs[1].shared.said.id, PHRASE_CORE_AWAITED);
    assert_int_equal(percent_of(f.rep.runs[1].shared.said.slot), 80);
    release(&f);
}

/* If the reference was held back as well, the cost of its cores is unknown and not shown as 0. */
static void test_no_gain_against_a_held_back_reference(void **state)
{
    (void)state;
    struct fixture f = strong();
    for (int i = 0; i < 3; i++)
        f.runs[i]->ranks[0].run_delay_ns = 5000000000, f.runs[i]->ranks[0].process_seconds = 10;
    tell(&f);
    assert_one_story(&f.rep, CLASS_SHARED, 2);
    assert_lacks(f.rep.first_action, "Removing the cause");
    assert_int_equal(f.rep.claims[f.rep.first_claim].has_gain, 0);
    const struct series *s = &f.rep.series[0];
    for (int i = 0; i < SERIES_SAID_MAX; i++)
        assert_false(s->beyond[i].id == PHRASE_TREND_GROWS || s->beyond[i].id == PHRASE_TREND_SHRINKS);
    assert_string_equal(assert_says(s->not_judged, SERIES_SAID_MAX, PHRASE_NOT_JUDGED)[1].name, "missing cores");
    assert_true(fabs(assert_says(s->scaling, SERIES_SAID_MAX, PHRASE_SPEEDUP_ON)[2].real - s->points[2].efficiency) <
                1e-9);
    assert_int_equal(s->points[2].unreliable.id, PHRASE_SURE_AT);
    assert_string_equal(assert_says(s->scaling, SERIES_SAID_MAX, PHRASE_SPEEDUP_UNRELIABLE)[0].name,
                        say_phrase(&f.rep.arena, &s->points[2].unreliable));
    release(&f);
    f = strong(); /* the reference alone: its speed-ups are marked too */
    f.runs[0]->ranks[0].run_delay_ns = 5000000000, f.runs[0]->ranks[0].process_seconds = 10;
    tell(&f);
    const struct phrase *why = &f.rep.series[0].points[2].unreliable;
    assert_int_equal(assert_says(why, 1, PHRASE_SURE_AT_REFERENCE)[0].count, 1);
    assert_string_equal(why->slot[1].name, "a rank had no core for 50 % of step time");
    release(&f);
}

/* A headline with the speed-up is not followed by the speed-up again. */
static void test_scaling_is_good(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
    f.runs[1] = made_even_run(4, 64, 40, 20000000, 500000, 0, 0);
    tell(&f);
    assert_finds(&f.rep.series[0].said, PHRASE_SCALING_GOOD);
    assert_int_equal(f.rep.series[0].limit_claim, -1);
    assert_int_equal(assert_supports(&f.rep.series[0].said, PHRASE_COMMUNICATION_TIME)[0].count, 500000);
    release(&f);
    f = (struct fixture){.n = 2}; /* half of each step is loading, which scales as well */
    f.runs[0] = made_even_run(1, 64, 40, 40000000, 0, 40000000, 0);
    f.runs[1] = made_even_run(4, 64, 40, 10000000, 500000, 10000000, 0);
    tell(&f);
    assert_finds(&f.rep.series[0].said, PHRASE_SCALING_GOOD);
    assert_string_equal(assert_supports(&f.rep.series[0].said, PHRASE_RUN_LIMITED_ON)[1].name,
                        "data loading costs 49 % of a step");
    const struct claim *of_run = &f.rep.claims[f.rep.runs[1].claims[0]];
    assert_int_equal(f.rep.series[0].said.support[1].id, of_run->said.support[0].id); /* the run's own reason follows */
    assert_int_not_equal(of_run->said.support[0].id, PHRASE_NONE);
    release(&f);
}

/* Runs that differ in settings that change the speed do not make a reliable series. */
static void test_unlike_runs(void **state)
{
    (void)state;
    struct run_pair settings[] = {{"LANG", "C"}, {"OMP_NUM_THREADS", "1"}};
    for (int differ = 0; differ < 2; differ++) {
        struct fixture f = strong();
        for (int i = 0; i < 3; i++) {
            f.runs[i]->environment = settings;
            f.runs[i]->n_environment = i == 2 && differ ? 2 : 1;
        }
        tell(&f);
        const struct claim *c = &f.rep.claims[f.rep.series[0].limit_claim];
        assert_int_equal(c->confidence, differ ? CONFIDENCE_LOW : CONFIDENCE_MEDIUM);
        assert_true(!!strstr(c->confidence_because, "the runs differ in thread settings (OMP_NUM_THREADS") == differ);
        release(&f);
    }
}

/* The interval in "how sure" belongs to the named cause. */
static void test_file_writes_limit_scaling(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 20000000);
    f.runs[1] = made_even_run(4, 64, 40, 20000000, 500000, 0, 20000000);
    int64_t ns[40];
    for (int i = 0; i < 40; i++)
        ns[i] = 20000000;
    struct run_phase phase = {.name = "checkpoint", .category = CAT_IO, .ns = ns};
    for (int k = 0; k < 4; k++) {
        f.runs[1]->ranks[k].phases = &phase;
        f.runs[1]->ranks[k].n_phases = 1;
    }
    tell(&f);
    assert_finds(&f.rep.series[0].said, PHRASE_SCALING_PART);
    assert_int_equal(f.rep.series[0].said.headline.slot[1].count, 20000000);
    assert_int_equal(f.rep.series[0].said.headline.slot[3].count, 5000000);
    assert_contains(f.rep.headline, "Writing files");
    assert_contains(f.rep.how_sure, "interval of I/O on 4 nodes is 49.3 to 49.4 % of the step time");
    assert_one_story(&f.rep, CLASS_IO, 1);
    release(&f);
}

/* Only repetitions of equal configurations are counted. Configurations are named by their differences, else by
 * archive. */
static void test_labels(void **state)
{
    (void)state;
    static const char *const hash[] = {"a", "b", "a"};
    static const char *const id[] = {"1", "2", "3"}, *const archive[] = {"1.tar", "2.tar", "3.tar"};
    static const char *const label[2][3] = {
        {"2 nodes, 1.tar (run 1 of 2)", "2 nodes, 2.tar", "2 nodes, 1.tar (run 2 of 2)"},
        {"2 nodes, batch 64 (run 1 of 2)", "2 nodes, batch 32", "2 nodes, batch 64 (run 2 of 2)"}};
    for (int has_batch = 0; has_batch < 2; has_batch++) {
        struct fixture f = {.n = 3};
        for (int i = 0; i < 3; i++) {
            f.runs[i] = made_even_run(2, i == 1 && has_batch ? 32 : 64, 40, 70, 15, 9, 3);
            f.runs[i]->run_id = id[i];
            f.runs[i]->config_hash = hash[i];
            f.runs[i]->archive = archive[i];
        }
        tell(&f);
        for (int i = 0; i < 3; i++)
            assert_string_equal(f.rep.runs[i].label, label[has_batch][i]);
        release(&f);
    }
}

/* Configurations are named by the options in which their commands differ, if these distinguish all of them. */
static void test_labels_by_options(void **state)
{
    (void)state;
    static const char *words[3][5] = {{"train", "--hidden", "64", "-o", "a"},
                                      {"train", "--hidden=32", "--no-overlap", "-o", "b"},
                                      {"train", "--hidden", "64", "-o", "c"}};
    static const char *const label[] = {"2 nodes, --hidden 64 (run 1 of 2)", "2 nodes, --hidden 32, --no-overlap",
                                        "2 nodes, --hidden 64 (run 2 of 2)"};
    struct fixture f = {.n = 3};
    for (int i = 0; i < 3; i++) {
        f.runs[i] = made_even_run(2, 64, 40, 70, 15, 9, 3);
        f.runs[i]->run_id = i == 0 ? "1" : i == 1 ? "2" : "3";
        f.runs[i]->config_hash = i == 1 ? "b" : "a";
        f.runs[i]->command = words[i];
        f.runs[i]->n_command = 5;
    }
    tell(&f);
    for (int i = 0; i < 3; i++)
        assert_string_equal(f.rep.runs[i].label, label[i]);
    release(&f);
}

/* From models' descriptions only the differences are used to name runs, series and the headline. */
static void test_labels_by_model(void **state)
{
    (void)state;
    static const char *const model[] = {"DCRNN, 2 + 2 layers of 32 units, K = 2, laplacian (generated), 2 in, 1 out",
                                        "DCRNN, 2 + 2 layers of 16 units, K = 2, laplacian (generated), 2 in, 1 out"};
    static const char *const id[] = {"0", "1", "2", "3"};
    static const char *const label[] = {"1 node, 32 units", "1 node, 16 units", "2 nodes, 32 units",
                                        "2 nodes, 16 units"};
    struct fixture f = {.n = 4};
    for (int i = 0; i < 4; i++) {
        f.runs[i] = made_even_run(1 + i / 2, 64, 40, 70000000, 15000000, 9000000, 3000000);
        f.runs[i]->run_id = id[i];
        f.runs[i]->config_hash = i % 2 ? "b" : "a";
        f.runs[i]->program.model = model[i % 2];
    }
    tell(&f);
    for (int i = 0; i < 4; i++)
        assert_string_equal(f.rep.runs[i].label, label[i]);
    assert_int_equal(f.rep.n_series, 2);
    assert_contains(f.rep.series[0].label, ", 32 units");
    assert_contains(f.rep.series[1].label, ", 16 units");
    assert_contains(f.rep.headline, ", 32 units (strong scaling): ");
    static const char *const others[] = {"resnet50", "DCRNN, 2 + 2 layers of 32 units, K = 3"};
    assert_string_equal(model_words(&f.rep, "vit", others, 1), "vit");
    assert_string_equal(model_words(&f.rep, "DCRNN, 2 + 2 layers of 32 units, K = 2", others + 1, 1), "K = 2");
    assert_string_equal(model_words(&f.rep, others[1], others + 1, 1), "");
    release(&f);
}

/* The configuration that scales leads, in any position; the steps of a summary come from the runs that have one. */
static void test_what_leads(void **state)
{
    (void)state;
    static const char *const id[] = {"0", "1", "2"};
    struct fixture f = {.n = 3};
    for (int i = 0; i < 3; i++) {
        f.runs[i] = made_even_run(1 + i / 2, 64, 40, 70000000, 15000000, 9000000, 3000000);
        f.runs[i]->run_id = id[i];
        f.runs[i]->config_hash = f.runs[i]->program.model = i == 0 ? "a" : "b";
    }
    tell(&f);
    assert_int_equal(f.rep.n_series, 2);
    assert_int_equal(f.rep.first_series, 1);
    release(&f);
    struct fixture g = {.n = 3};
    for (int i = 0; i < 3; i++) {
        g.runs[i] = made_run(1 + i, 64);
        g.runs[i]->run_id = id[i];
        g.runs[i]->summary.n_steps = i == 0 ? 0 : 50;
        g.runs[i]->summary.mean_ns = i == 0 ? 0 : 70000000;
    }
    tell(&g);
    assert_contains(g.rep.how_sure, "100 steps of 2 runs were counted, of which only means and spreads were kept");
    release(&g);
}

/* A program's own results for strong scaling on n GPUs, means only. */
static struct run *made_summary(int n, double throughput)
{
    struct run *r = made_run(n, 64);
    r->unit = COUNTS_GPUS;
    r->summary = (struct run_summary){.source = "results",
                                      .series = "strong",
                                      .n_steps = 50,
                                      .mean_ns = 80000000,
                                      .throughput = throughput,
                                      .slowest_rank = -1};
    return r;
}

/* Results with means only: good scaling is named so, although the time's composition is unknown; falling throughput is
 * not. */
static void test_scaling_of_summaries(void **state)
{
    (void)state;
    for (int is_good = 0; is_good < 2; is_good++) {
        struct fixture f = {.n = 2};
        for (int i = 0; i < 2; i++) {
            f.runs[i] = made_summary(1 + i, i == 0 ? 800 : is_good ? 1520 : 1200);
        }
        tell(&f);
        assert_finds(&f.rep.series[0].said, is_good ? PHRASE_SCALING_GOOD : PHRASE_SCALING_FALLS);
        assert_contains(f.rep.series[0].headline, is_good ? "0.95" : "0.75 on 2 GPUs");
        assert_string_equal(assert_supports(&f.rep.series[0].said, PHRASE_NOT_JUDGED)[0].name, "lost time");
        const struct phrase *kind = &f.rep.series[0].kind_said;
        assert_int_equal(kind->id, PHRASE_KIND_STRONG);
        assert_int_equal(kind->slot[0].count, 64);
        assert_string_equal(kind->slot[1].name, "GPU");
        assert_contains(document(&f.rep, "BOTTLENECK_ANALYSIS.md")->bytes,
                        "No cause can be ranked because no phases of a step were recorded."); /* of 50 steps */
        const struct document *d = document(&f.rep, "report.json");
        json_t *root = json_loadb(d->bytes, d->len, 0, NULL);
        const json_t *step = json_object_get(json_array_get(json_object_get(root, "runs"), 0), "step");
        assert_int_equal(json_integer_value(json_object_get(step, "mean_ns")), 80000000);
        assert_true(json_is_null(json_object_get(step, "min_ns"))); /* a summary does not have it */
        assert_true(json_is_null(json_object_get(step, "max_ns")));
        json_decref(root);
        release(&f);
    }
}

/* A slowdown with more GPUs is reported once: the headline has it, and the following text does not repeat it. */
static void test_slower_is_said_once(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    for (int i = 0; i < 2; i++) {
        f.runs[i] = made_summary(1 + i, i == 0 ? 800 : 700);
    }
    tell(&f);
    assert_finds(&f.rep.series[0].said, PHRASE_SCALING_STOPS);
    assert_true(fabs(assert_supports(&f.rep.series[0].said, PHRASE_SLOWER)[2].real - 700) < 1e-9);
    assert_null(strstr(f.rep.series[0].scaling_text, "slower"));
    assert_true(fabs(assert_says(f.rep.series[0].scaling, SERIES_SAID_MAX, PHRASE_SPEEDUP_ON)[1].real - 0.875) < 1e-9);
    release(&f);
}

/* An option that would be overruled is reported. */
static void test_unused_nodes(void **state)
{
    (void)state;
    struct analyse_options o = made_options();
    struct fixture f = {.n = 1};
    f.runs[0] = made_even_run(2, 64, 40, 70, 15, 9, 3);
    o.nodes = 8;
    assert_int_equal(analyse(&f.rep, f.runs, 1, &o, NULL), 0);
    assert_int_equal(f.rep.runs[0].n_nodes, 2);
    int found = 0;
    for (int i = 0; i < f.rep.n_notes; i++)
        found += f.rep.notes[i].id == NOTE_NODES_OPTION && f.rep.notes[i].said[0].slot[0].count == 8;
    assert_int_equal(found, 1);
    release(&f);
}

/* If ranks with enough cores waited too, the number of ranks is not the only cause, unless their numbers of threads are
 * unknown. */
static void test_neighbours(void **state)
{
    (void)state;
    for (int threads = 0; threads <= 1; threads++) {
        struct fixture f = {.n = 2};
        f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
        f.runs[1] = made_even_run(16, 64, 40, 40000000, 1000000, 0, 0);
        f.runs[1]->node_kind = NODES_EMULATED;
        for (int i = 0; i < 2; i++) {
            f.runs[i]->ranks[0].run_delay_ns = i ? 0 : 5000000000;
            f.runs[i]->ranks[0].process_seconds = 10;
            f.runs[i]->program.threads = threads;
        }
        tell(&f);
        assert_int_equal(f.rep.runs[1].shared.said.id, threads ? PHRASE_CORES_SHARED_WITH_OTHERS : PHRASE_CORES_SHARED);
        release(&f);
    }
}

/* With oversubscribed ranks, the network is never blamed without saying so, and confidence is low. */
static void test_shared_cores(void **state)
{
    (void)state;
    struct fixture f = strong();
    for (int i = 0; i < 3; i++) {
        f.runs[i]->node_kind = NODES_EMULATED;
        for (int k = 0; k < f.runs[i]->nodes_len; k++)
            f.runs[i]->nodes[k].cores = f.runs[i]->nodes[k].cores_allowed = 2;
    }
    tell(&f);
    assert_finds(&f.rep.series[0].said, PHRASE_SCALING_SHARES_CORES);
    assert_int_equal(f.rep.series[0].said.headline.slot[0].count, 4);
    assert_int_equal(f.rep.series[0].said.headline.slot[1].count, 2);
    assert_contains(f.rep.how_sure, "Parts of a step have low confidence: at 4 nodes, time without a core "
                                    "looks like compute or waiting");
    assert_int_equal(f.rep.claims[f.rep.first_claim].action.id, ADVICE_CORES_FOR_RANKS);
    assert_one_story(&f.rep, CLASS_SHARED, 2);
    assert_int_equal(f.rep.notes[0].id, NOTE_EMULATED);
    assert_int_equal(f.rep.notes[1].id, NOTE_OVERSUBSCRIBED);
    for (int i = 0; i < 2; i++) /* they are already in the answer */
        assert_true(is_note_told(&f.rep, &f.rep.notes[i]));
    assert_says(f.rep.sure[SURE_UNKNOWN], SAID_MAX, PHRASE_NODES_OF_RANKS);
    assert_says(f.rep.sure[SURE_CAUSE], SAID_MAX, PHRASE_CORES_FACT_ON);
    assert_says(f.rep.sure[SURE_DOUBT], SAID_MAX, PHRASE_DOUBT_OF_PARTS);
    assert_says(f.rep.ruled_out, JUDGED_MAX, PHRASE_RULED_OUT);
    assert_contains(f.rep.node_label, "emulated");
    release(&f);
}

static void test_slurm_on_one_kernel(void **state)
{
    (void)state;
    struct fixture f = strong();
    for (int i = 0; i < 3; i++) {
        f.runs[i]->node_kind = NODES_ONE_KERNEL;
        f.runs[i]->scheduler = "slurm";
    }
    f.runs[2]->nodes[0].throttled_ns = 3000000000;
    f.runs[2]->nodes[0].monitor_seconds = 10;
    tell(&f);
    assert_string_equal(f.rep.node_label, "four Slurm nodes on one kernel");
    assert_finds(&f.rep.series[0].said, PHRASE_SCALING_QUOTA);
    assert_true(fabs(f.rep.series[0].said.headline.slot[0].real - 0.3) < 1e-9);
    assert_int_equal(f.rep.runs[2].said.headline.id, PHRASE_QUOTA_HOLDS);
    assert_int_equal(percent_of(&f.rep.runs[2].said.headline.slot[0]), 30);
    release(&f);
}

static void test_slower_with_more_nodes(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    f.runs[0] = made_even_run(4, 64, 40, 20000000, 20000000, 0, 0);
    f.runs[1] = made_even_run(8, 64, 40, 10000000, 40000000, 0, 0);
    tell(&f);
    const struct slot *slower = assert_supports(&f.rep.series[0].said, PHRASE_SLOWER);
    assert_int_equal(slower[0].count, 8);
    assert_true(fabs(slower[2].real - 1280) < 1e-6 && fabs(slower[3].real - 1600) < 1e-6);
    release(&f);
}

static void test_no_document_shows_what_it_does_not_know(void **state)
{
    (void)state;
    struct fixture f = strong();
    f.runs[3] = made_run(2, -1); /* no steps, no batch, no anything */
    f.runs[3]->run_id = "bare";
    f.n = 4;
    tell(&f);
    assert_finds(&f.rep.series[0].said,
                 PHRASE_SCALING_COMMUNICATION_GROWS); /* the bare run does not spoil the series of the others */
    for (int i = 0; i < f.rep.n_documents; i++) {
        assert_int_equal(strlen(f.rep.documents[i].bytes), f.rep.documents[i].len);
        assert_lacks(f.rep.documents[i].bytes, "(null)");
        assert_lacks(f.rep.documents[i].bytes, "nan ");
        assert_lacks(f.rep.documents[i].bytes, "nan,");
        assert_lacks(f.rep.documents[i].bytes, "nanx");
        assert_lacks(f.rep.documents[i].bytes, "inf ");
        assert_lacks(f.rep.documents[i].bytes, "-0 ");
    }
    release(&f);
}

/* report.json is JSON, and its sums are the promised ones. */
static void test_report_json(void **state)
{
    (void)state;
    struct fixture f = strong();
    tell(&f);
    const struct document *d = document(&f.rep, "report.json");
    json_t *root = json_loadb(d->bytes, d->len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "format")), "dcreport-report");
    assert_int_equal(json_integer_value(json_object_get(root, "version")), 2);
    const json_t *runs = json_object_get(root, "runs");
    assert_int_equal(json_array_size(runs), 3);
    for (size_t i = 0; i < 3; i++) {
        json_t *run = json_array_get(runs, i), *part;
        const char *key;
        /* nothing was recorded of copies: no false 0; and a single rank has no last arrival */
        assert_true(json_is_null(json_object_get(json_object_get(run, "parts_ns"), "copy")));
        assert_true(json_is_null(json_object_get(json_object_get(run, "parts_ratio"), "copy")));
        const json_t *rank = json_array_get(json_object_get(run, "ranks"), 0);
        assert_true(json_is_null(json_object_get(json_object_get(rank, "parts_ns"), "copy")));
        assert_int_equal(json_is_null(json_object_get(rank, "n_last")), i == 0);
        assert_int_equal(json_is_null(json_object_get(rank, "caused_wait_ns")), i == 0);
        int64_t sum = 0;
        json_object_foreach(json_object_get(run, "parts_ns"), key, part) sum += json_integer_value(part);
        assert_int_equal(sum, json_integer_value(json_object_get(json_object_get(run, "step"), "mean_ns")));
        json_t *classes = json_object_get(run, "classes");
        assert_int_equal(json_object_size(classes), N_CLASSES);
        assert_true(json_is_null(json_object_get(json_object_get(classes, "memory"), "share_ratio")));
    }
    const json_t *losses = json_object_get(json_array_get(json_object_get(root, "series"), 0), "losses");
    assert_int_equal(json_array_size(losses), 3);
    for (size_t i = 0; i < 3; i++) {
        json_t *loss = json_array_get(losses, i), *part;
        const char *key;
        int64_t sum = 0;
        json_object_foreach(json_object_get(loss, "parts_ns"), key, part) sum += json_integer_value(part);
        assert_int_equal(sum, json_integer_value(json_object_get(loss, "loss_ns")));
        assert_true(json_is_null(json_object_get(json_object_get(loss, "parts_ns"), "copy")));
        sum = 0;
        json_object_foreach(json_object_get(loss, "classes_ns"), key, part)
        {
            sum += json_integer_value(part);
            assert_int_equal(json_is_null(part),
                             json_is_string(json_object_get(json_object_get(loss, "classes_because"), key)));
        }
        assert_int_equal(sum, json_integer_value(json_object_get(loss, "loss_ns")));
        assert_true(json_is_null(json_object_get(json_object_get(loss, "classes_ns"), "copy")));
    }
    /* every number of a claim is in the tree under its id */
    const json_t *claims = json_object_get(root, "claims");
    assert_true(json_array_size(claims) >= 3);
    for (size_t i = 0; i < json_array_size(claims); i++) {
        const json_t *numbers = json_object_get(json_array_get(claims, i), "numbers");
        assert_true(json_array_size(numbers) > 0);
        for (size_t k = 0; k < json_array_size(numbers); k++) {
            const json_t *number = json_array_get(numbers, k);
            const char *id = json_string_value(json_object_get(number, "id"));
            const json_t *v = at_path(root, id);
            if (!v || !json_is_number(v))
                fail_msg("report.json has no number '%s'", id);
            double want = json_number_value(v), got = json_number_value(json_object_get(number, "value"));
            assert_true(got - want <= 1e-6 * want + 1e-9 && want - got <= 1e-6 * want + 1e-9);
        }
    }
    json_decref(root);
    document(&f.rep, "runs/4node-made-4/profiling_analysis.json");
    document(&f.rep, "runs/4node-made-4/profiling_report.txt");
    document(&f.rep, "bottleneck_summary.txt");
    release(&f);
}

/* The sentence, the table and the summary print the same share and the same time. */
static void test_one_number_one_text(void **state)
{
    (void)state;
    struct fixture f = strong();
    tell(&f);
    const struct run_result *r = &f.rep.runs[2];
    assert_string_equal(fmt_time(r->step.mean_ns).text, "32.0 ms");
    assert_int_equal(assert_supports(&r->said, PHRASE_PART_OF_STEP)[1].count, r->step.mean_ns);
    assert_contains(r->support, "32.0 ms");
    assert_contains(document(&f.rep, "bottleneck_summary.txt")->bytes, "32.0 ms");
    assert_contains(document(&f.rep, "BOTTLENECK_ANALYSIS.md")->bytes, " 32.0 |\n| p95 |");
    assert_contains(document(&f.rep, "runs/4node-made-4/profiling_report.txt")->bytes, "mean 32.0 ms");
    release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headline),
        cmocka_unit_test(test_phase_that_lost),
        cmocka_unit_test(test_phase_of_limiting_compute),
        cmocka_unit_test(test_compute_lost_to_the_exchange),
        cmocka_unit_test(test_gpu_not_seen),
        cmocka_unit_test(test_every_claim_is_ready),
        cmocka_unit_test(test_shared_cores),
        cmocka_unit_test(test_ranking),
        cmocka_unit_test(test_ranking_of_unlike_runs),
        cmocka_unit_test(test_ranking_by_confidence),
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_too_few_cores_is_one_story),
        cmocka_unit_test(test_no_gain_against_a_held_back_reference),
        cmocka_unit_test(test_unlike_runs),
        cmocka_unit_test(test_scaling_is_good),
        cmocka_unit_test(test_file_writes_limit_scaling),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_labels_by_options),
        cmocka_unit_test(test_labels_by_model),
        cmocka_unit_test(test_what_leads),
        cmocka_unit_test(test_scaling_of_summaries),
        cmocka_unit_test(test_slower_is_said_once),
        cmocka_unit_test(test_unused_nodes),
        cmocka_unit_test(test_slurm_on_one_kernel),
        cmocka_unit_test(test_slower_with_more_nodes),
        cmocka_unit_test(test_no_document_shows_what_it_does_not_know),
        cmocka_unit_test(test_report_json),
        cmocka_unit_test(test_one_number_one_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
