/* test_scenario.c - a scenario gives the words it says, with numbers drawn by its seed; whatever is wrong in a file is
 * named with its line; options of the command line win. */
#include "trainer/scenarios/scenario.h"

#include "render/metrics/report.h"
#include "tests/unit/trainer_files.h"
#include "trainer/options.h"

static const char good[] = "# a comment\n"
                           "why = because\n"
                           "common = --sensors {sensors} --seed {seed}\n"
                           "on = --cold --stage-windows --batch {batch}\n"
                           "off =\n"
                           "\n"
                           "draw = sensors 10..19\n"
                           "  draw = batch 7..7  \n"
                           "class 1 = shared data\n"
                           "class 2 = data\n"
                           "class 4 = shared\n"
                           "gain 1 = -5..40\n";

/* The good one with a line in place of another. */
static const char *changed(const char *line, const char *instead)
{
    static char text[2000];
    const char *at = strstr(good, line);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, instead, at + strlen(line));
    return scratch_file("changed.conf", text);
}

static void expect_refusal(const char *line, const char *instead, const char *part)
{
    static struct scenario s;
    struct dcr_err err = {0};
    const char *path = changed(line, instead);
    if (!scenario_read(&s, path, &err))
        fail_msg("'%s' was accepted", instead);
    assert_sentence(err, part);
    assert_sentence(err, path);
}

static int words_of(const struct scenario *s, uint64_t seed, int is_off, char *text, size_t n, char **words)
{
    struct dcr_err err = {0};
    const struct scenario_choice c = {seed, is_off, 1};
    int n_words = 0;
    if (scenario_words(s, &c, text, n, words, &n_words, &err))
        fail_msg("%s", err.text);
    return n_words;
}

static void gives_its_words(void **state)
{
    (void)state;
    static struct scenario s;
    struct dcr_err err = {0};
    char text[400], *w[SCENARIO_MAX_WORDS];
    assert_int_equal(scenario_read(&s, scratch_file("my-own.conf", good), &err), 0);
    assert_string_equal(s.name, "my-own");
    assert_string_equal(s.why, "because");
    assert_string_equal(s.needs, "");
    assert_string_equal(s.classes[SCENARIO_1_RANK], "shared data");
    assert_true(s.has_gain[0] && !s.has_gain[1] && s.gain[0].low == -5 && s.gain[0].high == 40);
    int seen[10] = {0}, n_seen = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        assert_int_equal(words_of(&s, seed, 0, text, sizeof text, w), 8);
        int drawn = (int)strtol(w[1], NULL, 10), n = 0;
        assert_in_range(drawn, 10, 19);
        n_seen += !seen[drawn - 10]++;
        sscanf(w[3], "%d", &n);
        assert_int_equal(n, seed);
        assert_string_equal(w[4], "--cold");
        assert_string_equal(w[7], "7");
        assert_int_equal(words_of(&s, seed, 1, text, sizeof text, w), 4); /* the knob off: common alone, */
        assert_int_equal(strtol(w[1], NULL, 10), drawn);                  /* with the same numbers */
    }
    assert_int_equal(n_seen, 10);
}

/* 10, 14 and 18, and nothing between them. */
static void draws_by_a_step(void **state)
{
    (void)state;
    static struct scenario s;
    struct dcr_err err = {0};
    char text[400], *w[SCENARIO_MAX_WORDS];
    int seen[10] = {0};
    const char *file = changed("draw = sensors 10..19", "draw = sensors 10..19 by 4");
    assert_int_equal(scenario_read(&s, file, &err), 0);
    for (uint64_t seed = 0; seed < 200; seed++) {
        words_of(&s, seed, 0, text, sizeof text, w);
        int drawn = (int)strtol(w[1], NULL, 10);
        assert_in_range(drawn, 10, 19);
        seen[drawn - 10]++;
    }
    for (int i = 0; i < 10; i++)
        assert_int_equal(seen[i] > 0, i % 4 == 0);
}

static void whatever_is_wrong_is_named(void **state)
{
    (void)state;
    struct dcr_err err = {0};
    static struct scenario s;
    expect_refusal("why = because", "because", "line 2: a line is KEY = VALUE");
    expect_refusal("why = because", "way = x", "line 2: the keys are why");
    expect_refusal("why = because", "why = because\nwhy = not", "line 3: this was said already");
    expect_refusal("class 1 = shared data\nclass 2 = data\nclass 4 = shared\n", "", "no value for 'class 1 ='");
    expect_refusal("class 2 = data", "class 2 = data io", "line 10: only one class can be the answer");
    expect_refusal("off =\n", "", "no value for 'off ='");
    expect_refusal("class 2 = data", "class 3 = data", "line 10: the number of ranks is 1, 2 or 4");
    expect_refusal("class 2 = data", "class 1 = data", "line 10: this was said already");
    expect_refusal("class 2 = data", "class 2 = data slow", "line 10: 'slow' is no class");
    expect_refusal("class 2 = data", "class 2 =", "line 10: at least one class");
    expect_refusal("gain 1 = -5..40", "gain 1 = 5", "line 12: gain takes a range");
    expect_refusal("gain 1 = -5..40", "gain 1 = 50..40", "line 12: gain takes a range");
    expect_refusal("gain 1 = -5..40", "gain 1 = 1..2..3", "line 12: gain takes a range");
    expect_refusal("draw = sensors 10..19", "draw = sensors", "line 7: draw takes NAME LOW..HIGH");
    expect_refusal("draw = sensors 10..19", "draw = sensors 19..10", "line 7: draw takes NAME LOW..HIGH");
    expect_refusal("draw = sensors 10..19", "draw = sensors ten", "line 7: draw takes NAME LOW..HIGH");
    expect_refusal("draw = sensors 10..19", "draw = sensors 10..19 by", "line 7: draw takes NAME LOW..HIGH");
    expect_refusal("draw = sensors 10..19", "draw = sensors 10..19 by 0", "or NAME LOW..HIGH by STEP");
    expect_refusal("draw = sensors 10..19", "draw = sensors 10..19 by two", "or NAME LOW..HIGH by STEP");
    expect_refusal("draw = sensors 10..19", "draw = sensors by 2", "or NAME LOW..HIGH by STEP");
    expect_refusal("draw = sensors 10..19", "draw = seed 1..2", "line 7: this name is drawn already");
    expect_refusal("draw = sensors 10..19", "draw = Sensors 1..2", "line 7: the name of a draw");
    expect_refusal("draw = sensors 10..19\n", "", "{sensors} is not drawn");
    expect_refusal("{batch}", "7", "draws 'batch' but no option uses {batch}");
    expect_refusal("{batch}", "{batch", "no closing brace");
    expect_refusal("why = because", "why = because\nneeds = luck", "line 3: needs can only be gpu");
    for (int i = 0; i < 2; i++) {
        char many[SCENARIO_TEXT + 10];
        memset(many, i ? '#' : 'x', sizeof many - 1);
        many[sizeof many - 1] = 0;
        assert_int_equal(scenario_read(&s, scratch_file("long.conf", many), &err), DCR_FAIL);
        assert_sentence(err, "longer than");
    }
    FILE *f = fopen(scratch_path("nul.conf"), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite("why = a\0b\n", 1, 10, f), 10);
    fclose(f);
    assert_int_equal(scenario_read(&s, scratch_path("nul.conf"), &err), DCR_FAIL);
    assert_sentence(err, "NUL byte");
    assert_int_equal(scenario_read(&s, "./nowhere.conf", &err), DCR_FAIL);
    assert_sentence(err, "cannot read scenario './nowhere.conf'");
    assert_int_equal(scenario_read(&s, scratch, &err), DCR_FAIL);
    assert_sentence(err, "cannot read scenario");
    assert_int_equal(scenario_read(&s, "no-such-thing", &err), DCR_FAIL);
    assert_sentence(err, "there is no scenario 'no-such-thing'");
}

static void too_many_words_are_refused(void **state)
{
    (void)state;
    static struct scenario s;
    struct dcr_err err = {0};
    char line[2000] = "off =", text[SCENARIO_TEXT], *w[SCENARIO_MAX_WORDS];
    for (int i = 0; i < SCENARIO_MAX_WORDS; i++)
        strncat(line, " --cold", sizeof line - strlen(line) - 1);
    strncat(line, "\n", sizeof line - strlen(line) - 1);
    const struct scenario_choice on = {1, 0, 1}, off = {1, 1, 1};
    int n = 0;
    assert_int_equal(scenario_read(&s, changed("off =\n", line), &err), 0);
    assert_int_equal(scenario_words(&s, &off, text, sizeof text, w, &n, &err), DCR_FAIL);
    assert_sentence(err, "more options than there is room for");
    for (size_t room = 1; room < 50; room++) /* and text that ends anywhere */
        assert_int_equal(scenario_words(&s, &on, text, room, w, &n, &err), DCR_FAIL);
}

static void options_may_depend_on_the_ranks(void **state)
{
    (void)state;
    static struct scenario s;
    struct dcr_err err = {0};
    char text[400], *w[SCENARIO_MAX_WORDS];
    int n = 0;
    assert_int_equal(scenario_read(&s, changed("off =\n", "off =\non 1 =\non 2 = --rank-weights {batch},1\n"), &err),
                     0);
    const struct scenario_choice one = {1, 0, 1}, two = {1, 0, 2}, four = {1, 0, 4}, four_off = {1, 1, 4};
    assert_int_equal(scenario_words(&s, &one, text, sizeof text, w, &n, &err), 0);
    assert_int_equal(n, 8);
    assert_int_equal(scenario_words(&s, &two, text, sizeof text, w, &n, &err), 0);
    assert_int_equal(n, 10);
    assert_string_equal(w[9], "7,1");
    assert_int_equal(scenario_words(&s, &four_off, text, sizeof text, w, &n, &err), 0);
    assert_int_equal(n, 4);
    assert_int_equal(scenario_words(&s, &four, text, sizeof text, w, &n, &err), DCR_FAIL);
    assert_sentence(err, "says nothing for 4 ranks");
    expect_refusal("off =\n", "off =\non 3 = --cold\n", "the number of ranks is 1, 2 or 4");
    expect_refusal("off =\n", "off =\non 2 = --cold\non 2 =\n", "line 7: this was said already");
}

static void where_the_knob_saves_nothing_is_known(void **state)
{
    (void)state;
    static struct scenario s;
    struct dcr_err err = {0};
    const struct scenario_choice one = {1, 0, 1}, two = {1, 0, 2}, three = {1, 0, 3};
    const struct {
        const char *gains;
        int one, two;
    } cases[] = {{"gain 1 = -5..40\n", 0, 0}, /* nowhere anything: that is what it is about */
                 {"gain 1 = -5..5\ngain 2 = 10..40\n", 1, 0},
                 {"gain 1 = 10..40\ngain 2 = 0..9\n", 0, 1},
                 {"gain 2 = 10..40\n", 0, 0}}; /* nothing is claimed for 1 */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(scenario_read(&s, changed("gain 1 = -5..40\n", cases[i].gains), &err), 0);
        assert_int_equal(scenario_is_idle(&s, &one), cases[i].one);
        assert_int_equal(scenario_is_idle(&s, &two), cases[i].two);
        assert_int_equal(scenario_is_idle(&s, &three), 0);
    }
}

/* The classes a file may name are those of the report. */
static void classes_are_the_report_s(void **state)
{
    (void)state;
    static const char *const known[] = {
#define X(name) name,
        SCENARIO_CLASSES(X)
#undef X
    };
    size_t n = sizeof known / sizeof *known;
    assert_int_equal(n, N_CLASSES + 1);
    for (int c = 0; c < N_CLASSES; c++) {
        int is_known = 0;
        for (size_t i = 0; i < n; i++)
            is_known |= !strcmp(known[i], class_key((enum cause_class)c));
        assert_true(is_known);
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

static void the_command_line_wins(void **state)
{
    (void)state;
    static struct options o;
    struct dcr_err err = {0};
    char file[600];
    snprintf(file, sizeof file, "--scenario=%s", scratch_file("win.conf", good));
    assert_int_equal(parse(&o, &err, file, NULL, NULL, NULL), 0);
    assert_int_equal(o.batch, 7);
    assert_int_equal(o.cold, 1);
    assert_int_equal(o.seed, 1);
    assert_int_equal(parse(&o, &err, "--batch=9", file, "--scenario-seed=5", "--seed=3"), 0);
    assert_int_equal(o.batch, 9);
    assert_int_equal(o.seed, 3);
    assert_int_equal(o.scenario.choice.seed, 5);
    assert_in_range(o.sensors, 10, 19);
    assert_int_equal(parse(&o, &err, file, "--knob=off", NULL, NULL), 0);
    assert_int_equal(o.batch, 64);
    assert_int_equal(o.cold, 0);
    assert_int_equal(parse(&o, &err, "--knob=off", NULL, NULL, NULL), DCR_FAIL);
    assert_sentence(err, "--knob off needs --scenario");
    /* what a scenario may not hold, and what it holds wrongly */
    const char *const bad[][2] = {{"off = --help", "options of a training run only"},
                                  {"off = --write-windows x", "options of a training run only"},
                                  {"off = --scenario data", "options of a training run only"},
                                  {"off = --knob on", "options of a training run only"},
                                  {"off = --batch none", "--batch takes"},
                                  {"off = --batsch 3", "unknown option '--batsch'"},
                                  {"off = stray", "unexpected argument 'stray'"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(file, sizeof file, "--scenario=%s", changed("off =", bad[i][0]));
        assert_int_equal(parse(&o, &err, file, "--knob=off", NULL, NULL), DCR_FAIL);
        assert_sentence(err, bad[i][1]);
        assert_sentence(err, "changed.conf");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_its_words),
        cmocka_unit_test(draws_by_a_step),
        cmocka_unit_test(whatever_is_wrong_is_named),
        cmocka_unit_test(too_many_words_are_refused),
        cmocka_unit_test(classes_are_the_report_s),
        cmocka_unit_test(options_may_depend_on_the_ranks),
        cmocka_unit_test(where_the_knob_saves_nothing_is_known),
        cmocka_unit_test(the_command_line_wins),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
