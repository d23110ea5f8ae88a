/* test_trials.c - changes that can be tried with one command, and the forecast of their step: exact numbers. */
#include "render/findings/rules/trials.h"

#include "render/findings/rules/compare.h"
#include "render/findings/claims.h"
#include "render/findings/compare_doc.h"
#include "render/say/say.h"
#include "render/findings/narrate.h"
#include "tests/unit/made_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

static void assert_near(double x, double y)
{
    if (fabs(x - y) > 1e-6)
        fail_msg("%.9g is not %.9g", x, y);
}

/* Four rounds of 15, looks every 4 of four ranks: the last one comes after four fifths of that. */
static const struct flight late = {.exposed_ns = 120,
                                   .backward_ns = 96,
                                   .early_ratio = 0.5,
                                   .left_ratio = 0.5,
                                   .core_share = 1,
                                   .n_looks = 12,
                                   .n_ranks = 4};

static void test_late_gradients(void **state)
{
    (void)state;
    struct flown now = flight_now(&late);
    assert_true(now.whole_ns == 120 && now.exposed_ns == 120 && now.spent_ns == 0);
    /* a round of 15 ends 4 * 4/5 later: of 48, 48 * 15 / 18.2 hide something */
    struct flown n = flight_after(&late, TRIAL_OVERLAP);
    assert_near(n.exposed_ns, 120 - 48 * 15 / 18.2);
    assert_true(n.spent_ns == 0 && n.whole_ns == 120);
    assert_true(flight_after(&late, TRIAL_BF16).exposed_ns == 60);
    assert_true(flight_after(&late, TRIAL_LINK).exposed_ns == 60);
    struct flight wire = late; /* 40 beyond the bytes: 0 to 20 stay */
    wire.wire_ns = 80;
    assert_true(flight_after(&wire, TRIAL_LINK).exposed_ns == 70);
    assert_true(flight_after(&wire, TRIAL_BF16).exposed_ns == 60);
    wire.wire_ns = 130; /* bytes that a burst let through */
    assert_true(flight_after(&wire, TRIAL_LINK).exposed_ns == 60);
    /* a rank that loses its core for 15 at a time looks when it is back */
    struct flight held = late;
    held.held_ns = 15;
    held.core_share = 0.25;
    assert_near(flight_after(&held, TRIAL_OVERLAP).exposed_ns, 120 - 48 * 15 / 27.8);
    /* only gradients that are final in time can be hidden */
    struct flight long_backward = late;
    long_backward.backward_ns = 9600;
    assert_true(flight_after(&long_backward, TRIAL_OVERLAP).exposed_ns == 60);
    struct flight pair = late; /* halves there and back, 30 each; looks of two ranks */
    pair.n_ranks = 2;
    assert_near(flight_after(&pair, TRIAL_OVERLAP).exposed_ns, 120 - 48 * 30 / (30 + 8 / 3.0));
    pair.n_ranks = 6; /* two hand theirs in first, and get the sum last: six rounds of 10 */
    assert_near(flight_after(&pair, TRIAL_OVERLAP).exposed_ns, 120 - 48 * 10 / (10 + 24 / 7.0));
}

/* The gain of overlap can be computed from the remaining time if messages took nothing from the pass. */
static void test_overlapped_gradients(void **state)
{
    (void)state;
    struct flight f = late;
    f.is_overlapped = 1;
    f.hidden_ns = 48;
    f.exposed_ns = 120 - 48 * 15 / 18.2;
    struct flown now = flight_now(&f);
    assert_near(now.whole_ns, 120);
    assert_true(now.spent_ns == 0);
    /* half of all: rounds of 7.5 that end after 10.7, four within 48: the first part, 30 of 60, is hidden */
    struct flown n = flight_after(&f, TRIAL_BF16);
    assert_near(n.whole_ns, 60);
    assert_near(n.exposed_ns, 30);
    assert_near(flight_after(&f, TRIAL_LINK).exposed_ns, n.exposed_ns);
}

/* The pass is longer because messages took 20 of 116: 68 were left, where 48 and these 20 are. */
static void test_messages_take_time(void **state)
{
    (void)state;
    struct flight f = late;
    f.is_overlapped = 1;
    f.backward_ns = 116;
    f.hidden_ns = 68;
    double gap = 68 / 12.0 * 4 / 5, hid = 68 * 15 / (15 + gap);
    f.exposed_ns = 120 - hid;
    struct flown now = flight_now(&f), link = flight_after(&f, TRIAL_LINK), half = flight_after(&f, TRIAL_BF16);
    assert_near(now.spent_ns, 20);
    assert_near(now.whole_ns, 120);
    /* as much a byte: a faster link hides more of them in the same time, half the bytes are less */
    double part = 60 - link.exposed_ns;
    assert_near(link.spent_ns, 20 * (part / 60) / (hid / 120));
    assert_true(link.spent_ns > 20 && part <= 30);
    part = 60 - half.exposed_ns;
    assert_near(half.spent_ns, 10 * (part / 60) / (hid / 120));
}

/* A run of four stand-ins for nodes whose gradients travel behind the backward pass. */
static struct run *made_with(const char *const *words, int n, int64_t compute)
{
    struct run *r = made_run(4, 32);
    struct run_program *p = &r->program;
    const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = compute, [CAT_COMM] = 120};
    r->node_kind = NODES_SHARES;
    p->allreduce_dtype = "fp32";
    p->allreduce_is_overlapped = 0;
    p->allreduce_early_ratio = p->backward_left_ratio = 0.5;
    p->backward_left_looks = 12;
    r->command = (const char **)(uintptr_t)words;
    r->n_command = n;
    for (int i = 0; i < 4; i++) {
        struct run_rank *k = run_rank_at(r, i);
        run_node_at(r, i)->share = (struct node_share){
            .has = 1, .cores = 0.25, .period_us = 4000, .link_bit_per_s = 50000000, .is_default = 1};
        for (int s = 0; s < 40; s++)
            made_step(r, k, part);
        k->phases = dcr_arena_alloc(&r->arena, sizeof *k->phases);
        *k->phases = (struct run_phase){.name = "backward", .category = CAT_COMPUTE};
        k->phases->ns = dcr_arena_alloc(&r->arena, 40 * sizeof *k->phases->ns);
        for (int s = 0; s < 40; s++)
            k->phases->ns[s] = 96;
        k->n_phases = 1;
    }
    return r;
}

static struct run *made(const char *const *words, int n)
{
    return made_with(words, n, 144);
}

static const char *const words[] = {"/opt/bin/dcrnn-train", "--out",          "/tmp/x y", "--batch", "32",
                                    "--no-overlap",         "--data=a/b.csv", "--graph",  "g.csv"};
enum { N_WORDS = sizeof words / sizeof *words };

static const struct trial *trial_of(const struct report *rep, enum trial_kind k)
{
    for (int i = 0; i < rep->runs[0].n_trials; i++)
        if (rep->runs[0].trials[i].kind == k)
            return &rep->runs[0].trials[i];
    return NULL;
}

static void tell(struct report *rep, struct run *r)
{
    struct run *runs[] = {r};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(rep, runs, 1, &o, NULL), 0);
    narrate(rep);
}

static void test_commands(void **state)
{
    (void)state;
    struct report rep = {0};
    struct run *r = made(words, N_WORDS);
    r->nodes[0].share.period_us = 1; /* in ns: less than a step's parts */
    tell(&rep, r);
    assert_int_equal(rep.runs[0].n_trials, 3);
    const struct trial *t = trial_of(&rep, TRIAL_OVERLAP);
    assert_string_equal(t->command, "make collect NODES=4 DATA=a/b.csv GRAPH=g.csv ARGS=\"--batch 32\"");
    assert_string_equal(trial_of(&rep, TRIAL_BF16)->command, "make collect NODES=4 DATA=a/b.csv GRAPH=g.csv "
                                                             "ARGS=\"--batch 32 --no-overlap --allreduce-dtype bf16\"");
    assert_string_equal(trial_of(&rep, TRIAL_LINK)->command, "make collect NODES=4 NODE_NET=100mbit DATA=a/b.csv "
                                                             "GRAPH=g.csv ARGS=\"--batch 32 --no-overlap\"");
    assert_int_equal(trial_of(&rep, TRIAL_BF16)->step_ns, 264 - 60);
    assert_false(trial_of(&rep, TRIAL_BF16)->is_over_half); /* nothing is hidden: half of it goes */
    /* held for 750 at a time, far more than the 48 that are left, and 1 to compute */
    assert_int_equal(t->step_ns, (int64_t)(264 - 48 * 15 / 615.8 + 0.5));
    /* communication limits: the first of them is the advice */
    assert_int_equal(rep.claims[rep.first_claim].cls, CLASS_COMMUNICATION);
    assert_ptr_equal(rep.first_command, t->command);
    assert_string_equal(rep.claims[rep.first_claim].expected,
                        "On 4 nodes, the median step should take about 263 ns instead of 264 ns (estimate).");
    report_free(&rep);
    run_free(r);
}

static void test_commands_of_other_nodes(void **state)
{
    (void)state;
    struct report rep = {0};
    struct run *r = made(words, 6);
    for (int i = 0; i < 4; i++)
        r->nodes[i].share = (struct node_share){.has = 1, .cores = 0.2, .period_us = 5000, .link_bit_per_s = 12500};
    tell(&rep, r);
    assert_string_equal(trial_of(&rep, TRIAL_OVERLAP)->command,
                        "make collect NODES=4 NODE_CPU=0.2 NODE_NET=12500bit ARGS=\"--batch 32\"");
    assert_string_equal(trial_of(&rep, TRIAL_LINK)->command,
                        "make collect NODES=4 NODE_CPU=0.2 NODE_NET=25kbit ARGS=\"--batch 32 --no-overlap\"");
    report_free(&rep);
    for (int i = 0; i < 4; i++) /* all cores for each, and links that are not shaped: none to change */
        r->nodes[i].share = (struct node_share){.has = 1, .period_us = 4000};
    tell(&rep, r);
    assert_string_equal(trial_of(&rep, TRIAL_OVERLAP)->command,
                        "make collect NODES=4 NODE_CPU=none NODE_NET=none ARGS=\"--batch 32\"");
    assert_null(trial_of(&rep, TRIAL_LINK));
    report_free(&rep);
    for (int i = 0; i < 4; i++) /* ranks of one host: no link to change */
        r->nodes[i].share = (struct node_share){0};
    r->node_kind = NODES_EMULATED;
    tell(&rep, r);
    assert_string_equal(trial_of(&rep, TRIAL_OVERLAP)->command,
                        "make collect NODES=4 EMULATE=ranks ARGS=\"--batch 32\"");
    assert_null(trial_of(&rep, TRIAL_LINK));
    report_free(&rep);
    r->node_kind = NODES_MACHINES; /* a cluster: nothing to type here */
    tell(&rep, r);
    assert_string_equal(trial_of(&rep, TRIAL_BF16)->command, "");
    assert_int_equal(trial_of(&rep, TRIAL_BF16)->why.code, REASON_TRIAL_NOT_OF_COLLECT);
    assert_string_equal(rep.first_command, "");
    report_free(&rep);
    run_free(r);
}

/* Text that a shell, make or ARGS would change is not put into a command. */
static void test_words_that_do_not_pass(void **state)
{
    (void)state;
    static const char *const bad[][3] = {{"dcrnn-train", "--sensor-ids", "a b"},
                                         {"dcrnn-train", "--sensor-ids", "a\"b"},
                                         {"dcrnn-train", "--sensor-ids", "$HOME"},
                                         {"dcrnn-train", "--sensor-ids", "`id`"},
                                         {"dcrnn-train", "--sensor-ids", ""},
                                         {"dcrnn-train", "--data", "a;b"},
                                         {"dcrnn-train", "--ou", "x"},
                                         {"dcrnn-train", "--no-over", "x"},
                                         {"python3", "train.py", "x"},
                                         {"dcrnn-train", "--sensor-ids", "a\nb"},
                                         {"dcrnn-train", "--graph=#", "x"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct report rep = {0};
        struct run *r = made(bad[i], 3);
        tell(&rep, r);
        for (int k = 0; k < rep.runs[0].n_trials; k++) {
            if (*rep.runs[0].trials[k].command)
                fail_msg("%s %s: %s", bad[i][1], bad[i][2], rep.runs[0].trials[k].command);
            assert_true(rep.runs[0].trials[k].why.code != REASON_NONE);
            assert_true(rep.runs[0].trials[k].has_forecast); /* which needs no command */
        }
        assert_string_equal(rep.first_command, "");
        report_free(&rep);
        run_free(r);
    }
}

/* No trial for settings that the run already has; no forecast if the archive does not tell what can be sent early. */
static void test_what_is_not_advised(void **state)
{
    (void)state;
    struct report rep = {0};
    struct run *r = made(words, N_WORDS);
    r->program.allreduce_is_overlapped = 1;
    r->program.allreduce_dtype = "bf16";
    tell(&rep, r);
    assert_int_equal(rep.runs[0].n_trials, 1);
    assert_non_null(trial_of(&rep, TRIAL_LINK));
    assert_true(trial_of(&rep, TRIAL_LINK)->is_over_half); /* the backward pass hides as much of half the transfer */
    assert_int_equal(trial_advised(&rep.runs[0])->kind, TRIAL_LINK);
    report_free(&rep);
    r->program.allreduce_dtype = ""; /* unknown: bf16 is advised, but cannot be forecast */
    tell(&rep, r);
    assert_null(trial_advised(&rep.runs[0]));
    assert_string_equal(rep.first_command, "");
    report_free(&rep);
    r->program.allreduce_dtype = "fp32";
    r->program.backward_left_looks = -1; /* an archive of before */
    tell(&rep, r);
    assert_non_null(trial_of(&rep, TRIAL_BF16));
    assert_false(trial_of(&rep, TRIAL_BF16)->has_forecast);
    assert_string_equal(rep.claims[rep.first_claim].expected, "");
    report_free(&rep);
    run_free(r);
}

/* Gradients that are in flight longer than the rest of the backward pass take processor time from it; half the bytes
 * return half of that. */
static void test_less_spent(void **state)
{
    (void)state;
    for (int is_spent = 0; is_spent < 2; is_spent++) {
        struct report rep = {0};
        struct run *r = made(words, N_WORDS);
        r->program.allreduce_is_overlapped = 1;
        for (int i = 0; i < 4; i++)
            for (size_t s = 0; s < r->ranks[i].n_steps; s++)
                r->ranks[i].steps[s].hidden_comm_ns = is_spent ? 72 : 40; /* 48 are left */
        tell(&rep, r);
        assert_true(trial_of(&rep, TRIAL_BF16)->has_forecast);
        assert_int_equal(trial_of(&rep, TRIAL_BF16)->is_less_spent, is_spent);
        assert_false(trial_of(&rep, TRIAL_LINK)->is_less_spent);
        report_free(&rep);
        run_free(r);
    }
}

/* The runs after are the trial: forecast and achieved time. */
static void test_tried(void **state)
{
    (void)state;
    static const char *const after[] = {"dcrnn-train", "--out",  "elsewhere", "--batch",
                                        "32",          "--data", "a/b.csv",   "--graph=g.csv"};
    for (int is_trial = 0; is_trial < 2; is_trial++) {
        struct report before = {0}, rep = {0};
        struct run *a = made(words, N_WORDS), *b = made(after, is_trial ? 8 : 5);
        b->program.allreduce_is_overlapped = 1;
        a->nodes[0].share.period_us = 0; /* a round of 15 ends 4 * 4/5 later */
        b->nodes[0].share.period_us = 0;
        a->nodes[0].share.cores = b->nodes[0].share.cores = 1;
        tell(&before, a);
        tell(&rep, b);
        assert_int_equal(compare(&rep, &before), 1);
        narrate_comparisons(&rep);
        const struct tried *t = &rep.comparisons[0].tried;
        assert_int_equal(t->has, is_trial);
        const struct phrase *said = rep.comparisons[0].forecast;
        assert_int_equal(said[0].id == PHRASE_TRIED, is_trial);
        if (is_trial) {
            int64_t forecast = (int64_t)(264 - 48 * 15 / 18.2 + 0.5);
            assert_int_equal(t->kind, TRIAL_OVERLAP);
            assert_true(t->before_ns == 264 && t->forecast_ns == forecast && t->achieved_ns == 264);
            assert_near(t->error_ratio, (double)forecast / 264 - 1);
            assert_int_equal(said[0].slot[0].count, 264);
            assert_int_equal(said[1].id, PHRASE_FORECAST_TOO_SHORT);
            assert_int_equal(said[1].slot[0].count, forecast);
            assert_near(said[1].slot[1].real, 1 - (double)forecast / 264);
            assert_int_equal(rep.comparisons[0].sure[SURE_FORECAST][1].id, PHRASE_NONE); /* no other part changed */
            assert_non_null(strstr(rep.verdict, say_phrase(&rep.arena, &said[0])));
        }
        report_free(&rep);
        report_free(&before);
        run_free(a);
        run_free(b);
    }
}

/* A saving that the advised change does not explain is reported, with another possible change in the next pair of runs.
 * A change of compute is explained if the forecast has less of it. */
static void test_what_changed_beside(void **state)
{
    (void)state;
    static const char *const after[] = {"dcrnn-train", "--batch", "32", "--data", "a/b.csv", "--graph=g.csv"};
    for (int i = 0; i < 3; i++) {
        int is_less = i > 0, is_explained = i == 2;
        struct report before = {0}, rep = {0};
        struct run *a = made(words, N_WORDS), *b = made_with(after, 6, is_less ? 100 : 200);
        b->program.allreduce_is_overlapped = 1;
        tell(&before, a);
        tell(&rep, b);
        for (int k = 0; k < before.runs[0].n_trials; k++)
            before.runs[0].trials[k].is_less_spent = is_explained;
        assert_int_equal(compare(&rep, &before), 1);
        narrate_comparisons(&rep);
        const struct phrase *said = rep.comparisons[0].sure[SURE_FORECAST];
        assert_int_equal(said[0].id, PHRASE_FORECAST_OF_MEDIAN);
        assert_int_equal(said[1].id, is_explained ? PHRASE_NONE
                                     : is_less    ? PHRASE_TRIED_BESIDE_FELL
                                                  : PHRASE_TRIED_BESIDE_GREW);
        if (!is_explained) {
            assert_string_equal(said[1].slot[0].name, "compute");
            assert_int_equal(said[1].slot[1].count, is_less ? 44 : 56);
        }
        report_free(&rep);
        report_free(&before);
        run_free(a);
        run_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_gradients),
        cmocka_unit_test(test_overlapped_gradients),
        cmocka_unit_test(test_messages_take_time),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_commands_of_other_nodes),
        cmocka_unit_test(test_words_that_do_not_pass),
        cmocka_unit_test(test_what_is_not_advised),
        cmocka_unit_test(test_less_spent),
        cmocka_unit_test(test_tried),
        cmocka_unit_test(test_what_changed_beside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
