/* test_narrate_series.c - what limits scaling: the finding of a series of node counts (render/findings/series.c). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "render/findings/run_said.h"
#include "tests/unit/told.h"

/* One slow rank: the waiting is named, with the rank, and not the network. */
static void test_slow_rank_limits_scaling(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
    f.runs[1] = made_run(4, 64);
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 4; i++) {
            int64_t compute = i == 2 ? 40000000 : 20000000;
            int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = compute, [CAT_COMM] = 41000000 - compute};
            made_step(f.runs[1], run_rank_at(f.runs[1], i), part);
        }
    tell(&f);
    assert_finds(&f.rep.series[0].said, PHRASE_SCALING_WAITING);
    assert_string_equal(f.rep.series[0].said.headline.slot[0].name, "rank 2");
    assert_true(fabs(f.rep.series[0].said.headline.slot[1].real - 15.0 / 41) < 0.01);
    assert_one_story(&f.rep, CLASS_IMBALANCE, 1);
    release(&f);
}

/* Two ranks that compute alike. Rank 0, or both, spend ns in a category. */
static struct run *busy_pair(enum category of, int64_t ns, int is_on_both)
{
    struct run *a = made_run(2, 64);
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 2; i++) {
            int64_t own = i == 0 || is_on_both ? ns : 0, wait = is_on_both ? 0 : ns - own;
            int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = 40000000, [CAT_COMM] = 30000 + wait};
            part[of] = own;
            made_step(a, run_rank_at(a, i), part);
        }
    return a;
}

/* Waiting for a rank that uses files counts with the calls, as in the key figure. The rank is named. */
static void test_waiting_for_files(void **state)
{
    (void)state;
    static const struct {
        const char *phase, *what;
        enum category of;
    } cases[] = {{"read", "Reading files on rank 0", CAT_IO},
                 {"write", "Writing files on rank 0", CAT_IO},
                 {"open", "Using files on rank 0", CAT_IO},
                 {"data_load: files", "Reading files on rank 0", CAT_DATA}};
    for (size_t t = 0; t < sizeof cases / sizeof *cases; t++) {
        struct fixture f = {.n = 2};
        int64_t ns[40];
        struct run_phase phase = {.name = cases[t].phase, .category = cases[t].of, .ns = ns};
        f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 40000000);
        f.runs[1] = busy_pair(cases[t].of, 40000000, 0);
        for (int s = 0; s < 40; s++)
            ns[s] = 40000000;
        f.runs[1]->ranks[0].phases = &phase;
        f.runs[1]->ranks[0].n_phases = 1;
        tell(&f);
        const struct said *said = &f.rep.series[0].said;
        const struct class_result *io = &f.rep.runs[1].classes[CLASS_IO];
        assert_finds(said, PHRASE_SCALING_COST);
        assert_string_equal(said->headline.slot[0].name, cases[t].what);
        assert_true(said->headline.slot[1].real == io->share_ratio); /* the key figure */
        const struct slot *both = assert_supports(said, PHRASE_FILES_AND_WAITING);
        assert_int_equal(both[0].count + both[1].count, io->share_ns);
        const struct claim *c = &f.rep.claims[f.rep.series[0].limit_claim];
        assert_true(c->interval.lo <= io->share_ratio && io->share_ratio <= c->interval.hi);
        assert_contains(c->interval_of, "with the waiting it causes");
        f.runs[1]->ranks[0].n_phases = 0;
        release(&f);
    }
}

/* Data that one rank loads is on that rank, in the headlines of the run and of the series. */
static void test_loading_on_one_rank(void **state)
{
    (void)state;
    for (int is_on_both = 0; is_on_both < 2; is_on_both++) {
        struct fixture f = {.n = 2};
        f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
        f.runs[1] = busy_pair(CAT_DATA, 60000000, is_on_both);
        tell(&f);
        const char *const where = is_on_both ? "data loading" : "data loading on rank 0";
        const struct phrase *run = &f.rep.runs[1].said.headline, *series = &f.rep.series[0].said.headline;
        assert_int_equal(run->id, PHRASE_DATA_LIMITS);
        assert_string_equal(run->slot[1].name, where);
        assert_string_equal(series->slot[0].name + 1, where + 1);
        release(&f);
    }
}

/* The ranks of a chain compute one after the other: no rank is slow. If both compute at the same time and wait for a
 * message as long, they do not. */
static void test_ranks_in_turn(void **state)
{
    (void)state;
    static const struct {
        int64_t first_ns, last_ns, more_ns; /* compute of rank 0 and 1; a message on both, longer than 30 us */
        int is_in_turn;
    } cases[] = {{20000000, 20000000, 0, 1}, {20000000, 20000000, 9000000, 0}, {1000000, 39000000, 0, 0}};
    for (size_t t = 0; t < sizeof cases / sizeof *cases; t++) {
        struct fixture f = {.n = 2};
        f.runs[0] = made_even_run(1, 64, 40, 40000000, 0, 0, 0);
        f.runs[1] = made_run(2, 64);
        for (int s = 0; s < 40; s++) {
            int64_t message = 30000 + cases[t].more_ns;
            const int64_t
                first[N_CATEGORIES] = {[CAT_COMPUTE] = cases[t].first_ns, [CAT_COMM] = cases[t].last_ns + message},
                last[N_CATEGORIES] = {[CAT_COMPUTE] = cases[t].last_ns, [CAT_COMM] = cases[t].first_ns + message};
            made_step(f.runs[1], run_rank_at(f.runs[1], 0), first);
            made_step(f.runs[1], run_rank_at(f.runs[1], 1), last);
            f.runs[1]->ranks[1].collectives[s].dur_ns = message; /* the rest is a receive before it computes */
        }
        tell(&f);
        const struct said *said = &f.rep.series[0].said;
        assert_int_equal(is_in_turn(&f.rep, &f.rep.runs[1]), cases[t].is_in_turn);
        assert_int_equal(is_said(said, PHRASE_IN_TURN), cases[t].is_in_turn);
        if (cases[t].is_in_turn) {
            assert_finds(said, PHRASE_SCALING_WAITING);
            assert_string_equal(said->headline.slot[0].name, "one rank after another");
        }
        release(&f);
    }
}

/* In messages, waiting for a late sender looks like transfer. Unless they are short, load imbalance is not ruled out.
 * If the work of both ranks also adds up to the step, they may take turns. */
static void test_messages_may_hide_turns(void **state)
{
    (void)state;
    static const struct {
        int64_t message_ns; /* beside 20 ms of compute */
        int may_be_in_turn, is_judged;
    } cases[] = {{20000000, 1, 0}, {9000000, 0, 0}, {3000000, 0, 1}};
    for (size_t t = 0; t < sizeof cases / sizeof *cases; t++) {
        struct fixture f = {.n = 1};
        const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = 20000000, [CAT_COMM] = cases[t].message_ns};
        f.runs[0] = made_run(2, 64);
        const char *command[] = {"./ring"};
        f.runs[0]->program.name = "ring";
        f.runs[0]->command = command;
        f.runs[0]->n_command = 1;
        for (int s = 0; s < 40; s++)
            for (int i = 0; i < 2; i++) {
                made_step(f.runs[0], run_rank_at(f.runs[0], i), part);
                f.runs[0]->ranks[i].steps[s].n_collectives = 0;
            }
        tell(&f);
        const struct run_result *r = &f.rep.runs[0];
        const struct class_result *waits = &r->classes[CLASS_IMBALANCE];
        assert_int_equal(r->collective_ns, 0);
        assert_int_equal(may_be_in_turn(r), cases[t].may_be_in_turn);
        assert_int_equal(waits->verdict, cases[t].is_judged ? VERDICT_FINE : VERDICT_NA);
        assert_int_equal(waits->why.code, cases[t].is_judged ? REASON_NONE : REASON_WAITING_IN_MESSAGES);
        if (!cases[t].is_judged) {
            const struct said *said = &f.rep.claims[f.rep.first_claim].said;
            assert_int_equal(assert_supports(said, PHRASE_COMM_SPLIT_AT_MOST)[0].count, cases[t].message_ns);
            assert_int_equal(is_said(said, PHRASE_MAYBE_IN_TURN), cases[t].may_be_in_turn);
            assert_int_equal(f.rep.claims[f.rep.first_claim].action.id, ADVICE_MESSAGES);
        }
        release(&f);
    }
}

/* The speed-up of steps leaves out the time between them. If that changes it, both are told. */
static void test_speedup_with_the_time_between_steps(void **state)
{
    (void)state;
    for (int is_alike = 0; is_alike < 2; is_alike++) {
        struct fixture f = {.n = 2};
        f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
        f.runs[1] = made_even_run(2, 64, 40, 50000000, 0, 0, 0);
        f.runs[0]->ranks[0].wall_ns *= 2; /* the steps cover a half */
        for (int i = 0; i < 2 && is_alike; i++)
            f.runs[1]->ranks[i].wall_ns *= 2;
        tell(&f);
        const struct said *said = &f.rep.series[0].said;
        assert_int_equal(is_said(said, PHRASE_SPEEDUP_WITH_REST), !is_alike);
        assert_int_equal(is_said(&f.rep.runs[0].said, PHRASE_TIME_BETWEEN), 1);
        assert_int_equal(is_said(&f.rep.runs[1].said, PHRASE_TIME_BETWEEN), is_alike);
        if (!is_alike) {
            const struct slot *slot = assert_supports(said, PHRASE_SPEEDUP_WITH_REST);
            assert_true(slot[0].real == 0.5 && slot[2].real == 0 && fabs(slot[4].real - 2 * 1.6) < 1e-9);
        }
        release(&f);
    }
}

/* The next limit is no part of what the headline of the series names. */
static void test_next_limit_is_another(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    f.runs[0] = made_even_run(1, 64, 40, 40000000, 0, 60000000, 0);
    f.runs[1] = made_even_run(2, 64, 40, 24000000, 7000000, 34000000, 0);
    tell(&f);
    assert_finds(&f.rep.series[0].said, PHRASE_SCALING_COMMUNICATION);
    assert_string_equal(assert_says(f.rep.runs[1].judged, JUDGED_MAX, PHRASE_NEXT_LIMIT)[0].name, "transfer");
    for (int i = 0; i < JUDGED_MAX; i++)
        assert_int_not_equal(f.rep.ruled_out[i].id, PHRASE_NEXT_LIMIT);
    release(&f);
}

/* The rank of a pair that has more to do adds half of that to the mean of compute and half to the mean of waiting.
 * Whatever the factor and the noise, the cause is the rank. If both ranks compute longer, it is compute. */
static void test_slow_rank_of_two(void **state)
{
    (void)state;
    static const struct {
        double slow, other; /* factor of the compute time */
        int64_t noise_ns;   /* more compute on both */
        int is_of_rank;
    } cases[] = {{1.6, 1, 0, 1},   {2, 1, 200000, 1}, {3, 1, 200000, 1}, {4.5, 1, 400000, 1},
                 {1.6, 1.6, 0, 0}, {3, 3, 0, 0},      {3, 2.6, 0, 0}};
    for (size_t t = 0; t < sizeof cases / sizeof *cases; t++) {
        struct fixture f = {.n = 2};
        f.runs[0] = made_even_run(1, 64, 40, 8000000, 0, 0, 0);
        f.runs[1] = made_run(2, 64);
        int64_t compute[2] = {(int64_t)(4e6 * cases[t].other) + cases[t].noise_ns,
                              (int64_t)(4e6 * cases[t].slow) + cases[t].noise_ns};
        for (int s = 0; s < 40; s++)
            for (int i = 0; i < 2; i++) {
                const int64_t part[N_CATEGORIES] = {
                    [CAT_COMPUTE] = compute[i], [CAT_COMM] = compute[1] - compute[i] + 30000};
                made_step(f.runs[1], run_rank_at(f.runs[1], i), part);
            }
        tell(&f);
        const struct said *said = &f.rep.series[0].said;
        assert_finds(said, cases[t].is_of_rank ? PHRASE_SCALING_WAITING : PHRASE_SCALING_PART);
        if (cases[t].is_of_rank) {
            assert_string_equal(said->headline.slot[0].name, "rank 1");
            assert_one_story(&f.rep, CLASS_IMBALANCE, 1);
            assert_supports(said, PHRASE_STRAGGLER_LAST);
        }
        release(&f);
    }
}

/* Four ranks on two cores are slower still, but training had stopped to scale before: on two nodes, where each rank had
 * a core and communication took most of the step. */
static void test_stops_before_the_cores_run_out(void **state)
{
    (void)state;
    for (int is_early = 0; is_early < 2; is_early++) {
        struct fixture f = {.n = 3};
        f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
        f.runs[1] = made_even_run(2, 64, 40, 40000000, is_early ? 60000000 : 6000000, 0, 0);
        f.runs[2] = made_even_run(4, 64, 40, 40000000, 80000000, 0, 0);
        for (int i = 0; i < 3; i++) {
            f.runs[i]->node_kind = NODES_EMULATED;
            for (int k = 0; k < f.runs[i]->nodes_len; k++)
                f.runs[i]->nodes[k].cores = f.runs[i]->nodes[k].cores_allowed = 2;
        }
        tell(&f);
        const struct said *said = &f.rep.series[0].said;
        assert_finds(said, is_early ? PHRASE_SCALING_COMMUNICATION : PHRASE_SCALING_STOPS_CORES);
        assert_int_equal(said->headline.slot[is_early ? 2 : 0].count, 2);
        assert_int_equal(is_said(said, PHRASE_CORES_TOO), is_early);
        const struct claim *c = &f.rep.claims[f.rep.series[0].limit_claim];
        assert_int_equal(c->cls, is_early ? CLASS_COMMUNICATION : CLASS_SHARED);
        release(&f);
    }
}

/* A collective of one rank with itself takes time, but it is no communication: the headline names the larger points
 * only. */
static void test_one_rank_does_not_communicate(void **state)
{
    (void)state;
    for (int first = 1; first <= 2; first++) {
        struct fixture f = {.n = 2};
        f.runs[0] = made_even_run(first, 64, 40, 20000000, 20000000, 0, 0);
        f.runs[1] = made_even_run(2 * first, 64, 40, 10000000, 80000000, 0, 0);
        tell(&f);
        const struct said *said = &f.rep.series[0].said;
        assert_finds(said, first == 1 ? PHRASE_SCALING_COMMUNICATION : PHRASE_SCALING_COMMUNICATION_GROWS);
        assert_int_equal(said->headline.slot[2].count, 2 * first);
        int is_compared = 0;
        for (int i = 0; i < SERIES_SAID_MAX; i++)
            is_compared += f.rep.series[0].beyond[i].id == PHRASE_COMMUNICATION_WENT ||
                           f.rep.series[0].beyond[i].id == PHRASE_TREND_GROWS;
        assert_int_equal(is_compared, first == 1 ? 0 : 2);
        release(&f);
    }
}

/* Loading that scales ideally does not limit scaling, but the advice is on it where it saves clearly more. */
static void test_what_saves_more_than_scaling(void **state)
{
    (void)state;
    for (int64_t data = 25000000; data <= 50000000; data += 25000000) {
        struct fixture f = {.n = 2};
        f.runs[0] = made_even_run(1, 64, 40, 40000000, 0, 2 * data, 0);
        f.runs[1] = made_even_run(2, 64, 40, 20000000, 30000000, data, 0);
        tell(&f);
        int saves_more = data > 40000000;
        const struct claim *first = &f.rep.claims[f.rep.first_claim];
        assert_finds(&f.rep.series[0].said, PHRASE_SCALING_COMMUNICATION);
        assert_int_equal(first->cls, saves_more ? CLASS_DATA : CLASS_COMMUNICATION);
        assert_int_equal(first->run, saves_more ? 1 : -1);
        assert_int_equal(is_said(&f.rep.series[0].said, PHRASE_RUN_LIMITED_ON), saves_more);
        release(&f);
    }
}

/* A series without steps has no speed-up. Its headline is what its largest run says. */
static void test_series_without_steps(void **state)
{
    (void)state;
    struct run_mpi_call calls[] = {{"MPI_Allreduce", {9, 0, 4400000000, 0}}};
    struct fixture f = {.n = 2};
    f.runs[0] = made_run(1, 64);
    f.runs[0]->ranks[0].process_seconds = 20;
    f.runs[1] = late_of_two(calls, 0);
    tell(&f);
    const struct said *said = &f.rep.series[0].said;
    assert_finds(said, PHRASE_LATE_OF_TWO);
    assert_string_equal(said->where.name, "2 nodes");
    assert_supports(said, PHRASE_LATE_WAITED);
    assert_supports(said, PHRASE_SPEEDUP_UNKNOWN);
    release(&f);
}

/* Whole runs of equal commands are compared if there are no steps. That they did the same work is assumed, and said. */
static void test_series_of_whole_runs(void **state)
{
    (void)state;
    static const struct {
        double first_s;
        int64_t batch;
        const char *option; /* of the first run; the second has --batch=8. NULL: no command is known */
        int is_failed, why;
    } c[] = {{19, 0, "--batch=8", 0, 0},
             {14, 64, "--batch=8", 0, 0},
             {14, 0, "--batch=16", 0, REASON_SPEEDUP_OTHER_BATCH},
             {0.9, 0, "--batch=8", 0, REASON_SPEEDUP_SHORT_RUNS},
             {14, 0, "--batch=8", 1, REASON_SPEEDUP_WITHOUT_RATES},
             {14, 0, NULL, 0, REASON_SPEEDUP_WITHOUT_RATES}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct run_mpi_call calls[] = {{"MPI_Allreduce", {9, 0, 4400000000, 0}}},
                            of_first[] = {{"MPI_Allreduce", {9, 0, 200000000, 0}}};
        const char *here[] = {"./solver", c[i].option}, *there[] = {"./solver", "--batch=8"};
        struct fixture f = {.n = 2};
        f.runs[0] = made_run(1, c[i].batch);
        f.runs[0]->ranks[0].process_seconds = c[i].first_s;
        f.runs[0]->ranks[0].mpi_ns = 200000000;
        f.runs[0]->mpi_calls = of_first;
        f.runs[0]->n_mpi_calls = 1;
        f.runs[0]->command = here;
        f.runs[1] = late_of_two(calls, 0);
        f.runs[1]->command = there;
        f.runs[1]->program.global_batch = c[i].batch;
        for (int k = 0; k < 2; k++) {
            f.runs[k]->n_command = c[i].option ? 2 : 0;
            f.runs[k]->collector_version = "1.0.0";
            f.runs[k]->is_complete = k || !c[i].is_failed;
        }
        tell(&f);
        const struct series *s = &f.rep.series[0];
        assert_int_equal(f.rep.n_series, 1);
        assert_int_equal(s->is_of_runs, !c[i].why);
        assert_int_equal(s->speedup_why.code, c[i].why);
        if (c[i].why) {
            assert_supports(&s->said, PHRASE_SPEEDUP_UNKNOWN);
            assert_true(s->points[1].speedup == 0);
        } else {
            assert_finds(&s->said, i == 0 ? PHRASE_SCALING_GOOD : PHRASE_LATE_OF_TWO);
            assert_true(s->points[1].speedup == c[i].first_s / 10 && s->points[1].efficiency == c[i].first_s / 20);
            assert_int_equal(s->kind_said.id, c[i].batch ? PHRASE_KIND_STRONG : PHRASE_KIND_EQUAL_COMMANDS);
            const struct slot *times = assert_supports(&s->said, PHRASE_RUN_TIMES);
            assert_true(times[0].count == (int64_t)(c[i].first_s * 1e9) && times[2].count == 10000000000);
            /* 2.2 s in MPI instead of 0.1 s; 10 s instead of half of the first run */
            const struct slot *lost = i == 0 ? assert_supports(&s->said, PHRASE_RUN_LOST_MPI)
                                             : assert_supports(&s->said, PHRASE_RUN_LOST_BOTH);
            assert_int_equal(lost[0].count, 2100000000);
            if (i)
                assert_int_equal(lost[1].count, 900000000);
            assert_supports(&s->said, PHRASE_RUN_ASSUMED);
            assert_lacks(s->not_judged_text, "all-reduces");
        }
        release(&f);
    }
}

/* The all-reduces of a step are compared with the network alone only where they limit, and whole runs have none. */
static void test_network_not_measured(void **state)
{
    (void)state;
    for (int is_limit = 0; is_limit < 2; is_limit++) {
        struct fixture f = {.n = 2};
        f.runs[0] = made_even_run(2, 64, 40, 40000000, 1000000, 0, 0);
        f.runs[1] = made_even_run(4, 64, 40, 20000000, is_limit ? 30000000 : 1000000, 0, 0);
        tell(&f);
        const struct series *s = &f.rep.series[0];
        assert_int_equal(s->all_reduce.why.code, REASON_REDUCE_NOT_CALIBRATED);
        assert_lacks(s->not_judged_text, "usable calibration");
        if (is_limit)
            assert_says(s->not_judged, SERIES_SAID_MAX, PHRASE_REDUCE_TO_JUDGE);
        else
            assert_lacks(s->not_judged_text, "all-reduces");
        release(&f);
    }
}

/* Without steps, runs of one command on one machine are counted by their ranks. */
static void test_series_over_ranks(void **state)
{
    (void)state;
    for (int is_other = 0; is_other < 2; is_other++) {
        static const double seconds[] = {12, 7, 6.95, 9};
        const char *command[] = {"./solver", "input"}, *other[] = {"./solver", "another"};
        struct fixture f = {.n = 4};
        for (int k = 0; k < 4; k++) {
            struct run *a = f.runs[k] = made_run(k + 1, 0);
            a->n_nodes = 1;
            a->command = k == 1 && is_other ? other : command;
            a->n_command = 2;
            a->collector_version = "1.0.0";
            for (int i = 0; i < a->ranks_len; i++) {
                a->ranks[i].node = 0;
                a->ranks[i].process_seconds = seconds[k];
            }
        }
        tell(&f);
        assert_int_equal(f.rep.unit, is_other ? COUNTS_NODES : COUNTS_RANKS);
        assert_int_equal(f.rep.n_series, is_other ? 4 : 1);
        if (!is_other) {
            assert_true(f.rep.series[0].is_of_runs);
            assert_string_equal(f.rep.runs[1].label, "2 ranks");
            assert_finds(&f.rep.series[0].said, PHRASE_SCALING_FALLS);
            assert_int_equal(assert_supports(&f.rep.series[0].said, PHRASE_RUN_FASTEST)[0].count, 3);
        }
        release(&f);
    }
}

/* If the largest run failed before its first step, the series says how it ended. */
static void test_series_of_failed_run(void **state)
{
    (void)state;
    static struct run_ending ending = {.text = "", .kind = ENDING_FAILED, .rank = -1, .signal = 11};
    struct fixture f = {.n = 2};
    for (int k = 0; k < 2; k++) {
        f.runs[k] = made_run(k + 1, 0);
        f.runs[k]->collector_version = "1.0.0";
        f.runs[k]->is_complete = !k;
    }
    f.runs[1]->endings = &ending;
    f.runs[1]->n_endings = 1;
    tell(&f);
    assert_int_equal(f.rep.series[0].n_points, 2);
    assert_finds(&f.rep.series[0].said, PHRASE_PROGRAM_KILLED);
    assert_supports(&f.rep.series[0].said, PHRASE_SPEEDUP_UNKNOWN);
    release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_rank_limits_scaling),
        cmocka_unit_test(test_waiting_for_files),
        cmocka_unit_test(test_loading_on_one_rank),
        cmocka_unit_test(test_ranks_in_turn),
        cmocka_unit_test(test_messages_may_hide_turns),
        cmocka_unit_test(test_speedup_with_the_time_between_steps),
        cmocka_unit_test(test_next_limit_is_another),
        cmocka_unit_test(test_slow_rank_of_two),
        cmocka_unit_test(test_stops_before_the_cores_run_out),
        cmocka_unit_test(test_one_rank_does_not_communicate),
        cmocka_unit_test(test_what_saves_more_than_scaling),
        cmocka_unit_test(test_series_without_steps),
        cmocka_unit_test(test_series_of_whole_runs),
        cmocka_unit_test(test_network_not_measured),
        cmocka_unit_test(test_series_over_ranks),
        cmocka_unit_test(test_series_of_failed_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
