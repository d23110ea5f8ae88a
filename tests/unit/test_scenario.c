/* test_scenario.c - a scenario gives valid options of the program, with sizes drawn by its seed; options of the command
 * line win. */
#include "trainer/tools/scenario.h"

#include "render/metrics/report.h"
#include "tests/unit/trainer_files.h"
#include "trainer/options.h"

static const char *const names[] = {"communication", "compute", "data", "healthy", "host", "imbalance", "io", "memory"};
enum { N_NAMES = sizeof names / sizeof *names };

static struct scenario_choice chosen(const char *name, uint64_t seed, int is_off, int n_ranks)
{
    struct dcr_err err = {0};
    struct scenario_choice c = {.seed = seed, .is_off = is_off, .n_ranks = n_ranks};
    if (scenario_named(name, &c.scenario, &err))
        fail_msg("%s", err.text);
    return c;
}

/* The word after an option; NULL: the option is missing. */
static const char *value_of(const struct scenario_choice *c, const char *option)
{
    static char text[SCENARIO_TEXT];
    struct dcr_err err = {0};
    char *words[SCENARIO_MAX_WORDS];
    int n = 0;
    assert_int_equal(scenario_words(c, text, words, &n, &err), 0);
    for (int i = 0; i + 1 < n; i++)
        if (!strcmp(words[i], option))
            return words[i + 1];
    return NULL;
}

static int number_of(const struct scenario_choice *c, const char *option)
{
    const char *text = value_of(c, option);
    assert_non_null(text);
    return (int)strtol(text, NULL, 10);
}

static void sizes_are_drawn_by_the_seed(void **state)
{
    (void)state;
    int sensors_seen[21] = {0}, batch_seen[9] = {0}, n_sensors = 0, n_batch = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        const struct scenario_choice c = chosen("compute", seed, 0, 1), off = chosen("compute", seed, 1, 1);
        int sensors = number_of(&c, "--sensors"), batch = number_of(&c, "--batch"), units = number_of(&c, "--units");
        assert_in_range(sensors, 40, 60);
        assert_in_range(units, 16, 24);
        assert_in_range(batch, 8, 16);
        n_sensors += !sensors_seen[sensors - 40]++;
        n_batch += !batch_seen[batch - 8]++;
        assert_int_equal(number_of(&c, "--seed"), seed);
        assert_int_equal(number_of(&c, "--data-seed"), seed);
        /* the knob changes its own options and nothing else */
        assert_int_equal(number_of(&off, "--sensors"), sensors);
        assert_int_equal(number_of(&off, "--batch"), batch);
        assert_int_equal(number_of(&off, "--units"), units);
        assert_string_equal(value_of(&c, "--kernels"), "portable");
        assert_null(value_of(&off, "--kernels"));
    }
    assert_int_equal(n_sensors, 21);
    assert_int_equal(n_batch, 3); /* 8, 12 and 16: 2 and 4 ranks have equal shares */
    assert_true(batch_seen[0] && batch_seen[4] && batch_seen[8]);
    const struct scenario_choice fixed = chosen("communication", 7, 0, 2);
    assert_int_equal(number_of(&fixed, "--batch"), 4);
}

/* For the sake of earlier archives, a seed must mean the same sizes forever. */
static void a_seed_keeps_its_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int sensors, batch, units;
    } seed_1[] = {
        {"communication", 5, 4, 294}, {"compute", 56, 12, 24},   {"data", 111, 16, 16}, {"healthy", 56, 12, 24},
        {"host", 29, 8, 31},          {"imbalance", 56, 20, 24}, {"io", 9, 64, 71},     {"memory", 5, 12, 520}};
    for (size_t i = 0; i < sizeof seed_1 / sizeof *seed_1; i++) {
        const struct scenario_choice c = chosen(seed_1[i].name, 1, 0, 2);
        assert_int_equal(number_of(&c, "--sensors"), seed_1[i].sensors);
        assert_int_equal(number_of(&c, "--batch"), seed_1[i].batch);
        assert_int_equal(number_of(&c, "--units"), seed_1[i].units);
    }
}

static void the_first_rank_has_more(void **state)
{
    (void)state;
    struct dcr_err err = {0};
    char text[SCENARIO_TEXT], *words[SCENARIO_MAX_WORDS];
    int n = 0;
    struct scenario_choice c = chosen("imbalance", 1, 0, 1);
    assert_null(value_of(&c, "--rank-weights"));
    c.n_ranks = 2;
    assert_string_equal(value_of(&c, "--rank-weights"), "3,1");
    c.n_ranks = 5;
    assert_string_equal(value_of(&c, "--rank-weights"), "3,1,1,1,1");
    c.n_ranks = SCENARIO_MAX_RANKS;
    assert_int_equal(strlen(value_of(&c, "--rank-weights")), 2 * SCENARIO_MAX_RANKS - 1);
    c.is_off = 1;
    assert_null(value_of(&c, "--rank-weights"));
    c.n_ranks++;
    assert_int_equal(scenario_words(&c, text, words, &n, &err), DCR_FAIL);
    assert_sentence(err, "at most 1024 ranks");
}

static void where_the_knob_saves_nothing_is_known(void **state)
{
    (void)state;
    const struct {
        const char *name;
        int n_ranks, is_idle;
    } cases[] = {{"imbalance", 1, 1}, {"imbalance", 2, 0}, {"imbalance", 3, 0}, {"communication", 1, 1},
                 {"compute", 1, 0},   {"healthy", 1, 0},   {"healthy", 2, 0},   {"io", 2, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct scenario_choice c = chosen(cases[i].name, 1, 0, cases[i].n_ranks);
        assert_int_equal(scenario_lacks_bottleneck(&c), cases[i].is_idle);
    }
}

/* --show-scenario: every answer is a class of the report, once; `shared` may come first. */
static void what_is_shown(void **state)
{
    (void)state;
    for (int i = 0; i < N_NAMES; i++) {
        const struct scenario_choice c = chosen(names[i], 1, 0, 2);
        struct dcr_err err = {0};
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        assert_int_equal(scenario_show(&c, out, &err), 0);
        fclose(out);
        assert_non_null(strstr(text, "\nwhy: "));
        assert_non_null(strstr(text, "\non: --"));
        assert_non_null(strstr(text, "\noff: --"));
        int n_answers = 0;
        for (char *at = strstr(text, "\nclass "); at; at = strstr(at + 1, "\nclass ")) {
            char answer[40] = "";
            assert_int_equal(sscanf(at, "\nclass %*d: %39[^\n]", answer), 1);
            const char *name = strncmp(answer, "shared ", 7) ? answer : answer + 7;
            int is_class = 0;
            for (int k = 0; k < N_CLASSES; k++)
                is_class |= !strcmp(name, class_key((enum cause_class)k));
            assert_true(is_class);
            n_answers++;
        }
        assert_true(n_answers > 0);
        free(text);
    }
}

static int parse(struct options *o, struct dcr_err *err, const char *a, const char *b, const char *c, const char *d)
{
    static char words[5][600];
    static char *argv[8];
    const char *const texts[] = {a, b, c, d};
    int argc = 1;
    argv[0] = words[0];
    snprintf(words[0], sizeof words[0], "dcrnn-train");
    for (int i = 0; i < 4 && texts[i]; i++) {
        snprintf(words[i + 1], sizeof words[i + 1], "%s", texts[i]);
        argv[argc++] = words[i + 1];
    }
    argv[argc] = NULL;
    return options_parse(o, argc, argv, err);
}

static void every_scenario_can_be_run(void **state)
{
    (void)state;
    static struct options o;
    for (int i = 0; i < N_NAMES; i++)
        for (int is_off = 0; is_off < 2; is_off++)
            for (int ranks = 1; ranks <= 4; ranks++) {
                struct dcr_err err = {0};
                char name[60], number[8];
                snprintf(name, sizeof name, "--scenario=%s", names[i]);
                snprintf(number, sizeof number, "%d", ranks);
                setenv("OMPI_COMM_WORLD_SIZE", number, 1);
                if (parse(&o, &err, name, is_off ? "--knob=off" : "--knob=on", NULL, NULL))
                    fail_msg("%s on %d ranks: %s", names[i], ranks, err.text);
                assert_int_equal(o.task, TASK_TRAIN);
                assert_int_equal(o.steps, 60);
            }
    unsetenv("OMPI_COMM_WORLD_SIZE");
}

static void the_command_line_wins(void **state)
{
    (void)state;
    static struct options o;
    struct dcr_err err = {0};
    assert_int_equal(parse(&o, &err, "--scenario=io", NULL, NULL, NULL), 0);
    assert_in_range(o.batch, 56, 72);
    assert_int_equal(o.cold, 1);
    assert_int_equal(o.seed, 1);
    assert_int_equal(parse(&o, &err, "--batch=9", "--scenario=io", "--scenario-seed=5", "--seed=3"), 0);
    assert_int_equal(o.batch, 9);
    assert_int_equal(o.seed, 3);
    assert_int_equal(o.scenario.choice.seed, 5);
    assert_in_range(o.sensors, 6, 10);
    assert_int_equal(parse(&o, &err, "--scenario=io", "--knob=off", NULL, NULL), 0);
    assert_int_equal(o.cold, 0);
    assert_int_equal(parse(&o, &err, "--knob=off", NULL, NULL, NULL), DCR_FAIL);
    assert_sentence(err, "--knob off needs --scenario");
    assert_int_equal(parse(&o, &err, "--scenario=slow", NULL, NULL, NULL), DCR_FAIL);
    assert_sentence(
        err, "unknown scenario 'slow'; use one of communication, compute, data, healthy, host, imbalance, io, memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_drawn_by_the_seed),
        cmocka_unit_test(a_seed_keeps_its_sizes),
        cmocka_unit_test(the_first_rank_has_more),
        cmocka_unit_test(where_the_knob_saves_nothing_is_known),
        cmocka_unit_test(what_is_shown),
        cmocka_unit_test(every_scenario_can_be_run),
        cmocka_unit_test(the_command_line_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
