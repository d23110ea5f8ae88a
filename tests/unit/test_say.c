/* test_say.c - templates and their slots (render/say/say.h), and the rows of reasons.def and phrases.def. */
#include "lib/base/buf.h"
#include "render/say/say.h"
#include "render/say/facts.h"
#include "render/say/tables.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct slot_row rows[] = {
    {SLOT_COUNT, "ranks", NULL}, {SLOT_TIME, "step", NULL}, {SLOT_NAME, "what", "x"}, {SLOT_NONE, NULL, NULL}};

static void expect(const char *text, int64_t ranks, const char *filled)
{
    const struct slot slots[SLOTS_MAX] = {slot_count(ranks), slot_time(184000000), slot_name("{step}")};
    struct dcr_buf b = {0};
    say_fill(&b, text, rows, slots);
    assert_string_equal(dcr_buf_text(&b), filled);
    dcr_buf_release(&b);
}

static void test_fill(void **state)
{
    (void)state;
    expect("", 4, "");
    expect("nothing", 4, "nothing");
    expect("{ranks} in {step}", 4, "4 in 184 ms");
    expect("{ranks:rank} {ranks|waits|wait}.", 1, "1 rank waits.");
    expect("{ranks:rank} {ranks|waits|wait}.", 4, "4 ranks wait.");
    expect("{ranks:GPU call}{ranks||, and others}", 1, "1 GPU call");
    expect("'{what}'", 4, "'{step}'"); /* the content of a slot is not a template */
    expect("{rank} {step:second} {ranks", 4, "{rank} {step:second} {ranks");
}

static void test_kinds(void **state)
{
    (void)state;
    static const struct slot_row all[] = {{SLOT_PERCENT, "a", NULL}, {SLOT_RATIO, "b", NULL},  {SLOT_FACTOR, "c", NULL},
                                          {SLOT_NUMBER, "d", NULL},  {SLOT_REASON, "e", NULL}, {SLOT_NONE, NULL, NULL}};
    static const struct reason why = {.code = REASON_ONE_RANK};
    const struct slot slots[SLOTS_MAX] = {slot_percent(0.34), slot_ratio(0.84), slot_factor(1.92), slot_number(12300),
                                          slot_reason(&why)};
    struct dcr_buf b = {0};
    say_fill(&b, "{a} {b} {c} {d} {e}", all, slots);
    assert_string_equal(dcr_buf_text(&b), "34 % 0.84 1.92x 12,300 one rank waits for nobody");
    dcr_buf_clear(&b);
    const struct slot other[SLOTS_MAX] = {slot_bytes(1.2e6)}; /* of another kind than its row declares */
    say_fill(&b, "{a}", all, other);
    assert_string_equal(dcr_buf_text(&b), "{a}");
    dcr_buf_release(&b);
}

/* A value too small to print is a limit by itself, and the words of a limit before it are not said too. */
static void test_small_values(void **state)
{
    (void)state;
    static const struct slot_row small[] = {{SLOT_PERCENT, "a", NULL}, {SLOT_TIME, "t", NULL}, {SLOT_TIME, "of", NULL}};
    static const char *const cases[][2] = {{"at most {a} of it", "at most 5.0 % of it"},
                                           {"for at most {a} of it", "for less than 0.1 % of it"},
                                           {"up to {a}", "less than 0.1 %"},
                                           {"saves about {t} of {of}", "saves less than 0.01 ms of 80.0 ms"},
                                           {"below {a}", "below 0.1 %"},
                                           {"takes {a}, at most", "takes < 0.1 %, at most"},
                                           {"{a}", "< 0.1 %"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct slot slots[SLOTS_MAX] = {slot_percent(i ? 0.0001 : 0.05), slot_time(100), slot_time(80000000)};
        struct dcr_buf b = {0};
        say_fill(&b, cases[i][0], small, slots);
        assert_string_equal(dcr_buf_text(&b), cases[i][1]);
        dcr_buf_release(&b);
    }
}

static void test_reason(void **state)
{
    (void)state;
    struct dcr_arena a = {0};
    struct reason why = REASON(STEPS_NOT_OF_GPUS, slot_count(1), slot_count(4));
    assert_string_equal(say_clause(&a, &why), "the steps of 1 of the 4 ranks are not those of a GPU");
    assert_string_equal(say_clause(&a, &why), "the steps of 1 of the 4 ranks are not those of a GPU");
    why = REASON(NONE);
    assert_string_equal(say_clause(&a, &why), "");
    dcr_arena_release(&a);
}

/* Every slot that a template names is declared, and every declared one is named. */
static void check_slots(const char *id, const char *text, const struct slot_row *slots)
{
    int n_named[SLOTS_MAX] = {0};
    for (const char *at = text; (at = strchr(at, '{')) != NULL; at++) {
        size_t len = strcspn(at + 1, ":|}");
        int found = -1;
        for (int i = 0; i < SLOTS_MAX && slots[i].name; i++)
            if (strlen(slots[i].name) == len && strncmp(slots[i].name, at + 1, len) == 0)
                found = i;
        if (found < 0 || !strchr(at, '}'))
            fail_msg("%s: no slot %.*s", id, (int)len + 1, at);
        n_named[found]++;
    }
    for (int i = 0; i < SLOTS_MAX && slots[i].name; i++) {
        if (!n_named[i])
            fail_msg("%s: {%s} is declared and not named", id, slots[i].name);
        assert_true((slots[i].kind == SLOT_NAME || slots[i].kind == SLOT_THINGS) == (slots[i].sample != NULL));
    }
}

/* A reason is a clause: it begins with no capital and ends with no full stop. */
static void test_reason_rows(void **state)
{
    (void)state;
    for (int code = REASON_NONE + 1; code < N_REASONS; code++) {
        const struct reason_row *row = say_row((enum reason_code)code);
        assert_true(strlen(row->mark) == 1 && strchr("GOSRCFHLNX", *row->mark));
        check_slots(row->id, row->clause, row->slots);
        size_t n = strlen(row->clause);
        if (n == 0 || row->clause[n - 1] == '.' || row->clause[n - 1] == ' ' || strstr(row->clause, "  ") ||
            strncmp(row->clause, "n/a", 3) == 0 || strncmp(row->clause, "because", 7) == 0)
            fail_msg("%s: \"%s\" is no clause", row->id, row->clause);
    }
}

static void test_phrase_rows(void **state)
{
    (void)state;
    for (int id = PHRASE_NONE + 1; id < N_PHRASES; id++)
        check_slots(say_phrase_row((enum phrase_id)id)->id, say_phrase_row((enum phrase_id)id)->text,
                    say_phrase_row((enum phrase_id)id)->slots);
}

/* Caption and columns together name every slot, and every column has a title. */
static void test_table_rows(void **state)
{
    (void)state;
    for (int id = 0; id < N_TABLES; id++) {
        const struct table_row *row = say_table_row((enum table_id)id);
        char both[2048];
        assert_true((size_t)snprintf(both, sizeof both, "%s|%s", row->caption, row->columns) < sizeof both);
        check_slots(row->id, both, row->slots);
        if (strstr(both, "||") || both[strlen(row->caption) - 1] == '.')
            fail_msg("%s: a column without a title, or a caption with a full stop", row->id);
    }
}

static void test_fact_rows(void **state)
{
    (void)state;
    for (int id = 0; id < N_FACTS; id++) {
        const struct fact_row *row = say_fact_row((enum fact_id)id);
        char both[2048];
        assert_true((size_t)snprintf(both, sizeof both, "%s %s", row->name, row->text) < sizeof both);
        check_slots(row->id, both, row->slots);
        if (strchr(both, ';') || both[strlen(both) - 1] == '.')
            fail_msg("%s: a semicolon, or a full stop at the end", row->id);
    }
}

static void test_facts(void **state)
{
    (void)state;
    struct dcr_arena a = {0};
    const struct fact *f = FACT(KEY_CORES, slot_things(1, "rank"));
    assert_string_equal(say_fact_name(&a, f), "Cores for 1 rank");
    assert_string_equal(say_fact(&a, f), "shared by all ranks");
    dcr_arena_release(&a);
}

static void test_tables(void **state)
{
    (void)state;
    struct dcr_arena a = {0};
    const struct table_said *t = TABLE(OPERATIONS, slot_name("GPU 0"), slot_count(15), slot_count(1234));
    assert_string_equal(say_caption(&a, t), "GPU 0: operations by summed time, 15 of 1,234 names");
    t = TABLE(AHEAD, slot_name("GPUs"));
    assert_string_equal(say_columns(&a, t), "GPUs|#Speed-up|95 % prediction interval|#Efficiency");
    dcr_arena_release(&a);
}

static void test_phrases(void **state)
{
    (void)state;
    struct dcr_arena a = {0};
    struct phrase p[] = {PHRASE(NONE), PHRASE(SCALING_GOOD, slot_things(4, "node"), slot_factor(3.8), slot_ratio(0.95)),
                         PHRASE(NONE)};
    assert_string_equal(say_phrase(&a, &p[0]), "");
    assert_string_equal(say_phrases(&a, p, 3), say_phrase(&a, &p[1]));
    struct said said = {.headline = p[1]};
    said_add(&said, PHRASE(LIMIT_LOST)); /* a headline among sentences */
    said_add(&said, PHRASE(LOST_SOME));
    assert_string_equal(say_support(&a, &said), "No limit can be named because events were lost. Events were lost.");
    assert_string_equal(say_headline(&a, &(struct said){.headline = PHRASE(LIMIT_LOST)}),
                        "No limit can be named because events were lost.");
    assert_non_null(strstr(say_phrase(&a, &p[1]), "4 nodes"));
    static const char *const items[] = {"a", "b", "c"};
    assert_string_equal(say_list(&a, items, 0), "");
    assert_string_equal(say_list(&a, items, 1), "a");
    assert_string_equal(say_list(&a, items, 2), "a and b");
    assert_string_equal(say_list(&a, items, 3), "a, b and c");
    dcr_arena_release(&a);
}

/* After the label of a run a note begins with a small letter. It keeps copies of names, which may be released. */
static void test_notes(void **state)
{
    (void)state;
    struct dcr_arena a = {0};
    char name[] = "it was stopped.";
    struct phrase p[NOTE_PHRASES] = {PHRASE(INCOMPLETE), PHRASE(NONE), PHRASE(ENDING, slot_name(name))};
    struct phrase kept[NOTE_PHRASES];
    keep_phrases(&a, p, kept);
    assert_true(are_same_phrases(p, kept));
    assert_string_equal(say_note(&a, p, NOTE_PHRASES), "the run is incomplete. It was stopped.");
    assert_string_equal(say_sentences(&a, p, 1), "The run is incomplete.");
    name[0] = '?';
    assert_false(are_same_phrases(p, kept));
    assert_string_equal(say_note(&a, kept, NOTE_PHRASES), "the run is incomplete. It was stopped.");
    dcr_arena_release(&a);
}

/* Sentences with slots exist; words for PyTorch's users always exist, while not all sentences have other words. */
static void test_advice_rows(void **state)
{
    (void)state;
    struct dcr_arena a = {0};
    for (int id = ADVICE_NONE + 1; id < N_ADVICES; id++) {
        const struct advice_row *row = say_advice_row((enum advice)id);
        for (int part = 0; part < N_ADVICE_PARTS; part++) {
            const char *text = row->text[part];
            size_t n = strlen(text);
            if (n && (text[n - 1] != '.' || text[0] < 'A' || text[0] > 'Z'))
                fail_msg("%s: \"%s\" is no sentence", row->id, text);
            for (const char *s = text; (s = strchr(s, '{')) != NULL; s++) {
                int is_there = 0;
                for (int i = 0; i < SLOTS_MAX && row->slots[i].name; i++)
                    is_there |= strncmp(s + 1, row->slots[i].name, strlen(row->slots[i].name)) == 0;
                if (!is_there)
                    fail_msg("%s: \"%s\" names a slot that it does not have", row->id, text);
            }
        }
        assert_true(*row->text[ADVICE_TORCH]);
    }
    struct advised x = ADVISE(OVERLAP, slot_percent(0.2));
    assert_string_equal(say_advice(&a, &x, ADVICE_CHECK), "Transfer should fall below 20 % of a step.");
    x = ADVISE(MORE_TIME);
    assert_string_equal(say_advice(&a, &x, ADVICE_OURS), "");
    assert_string_equal(say_advice(&a, &x, ADVICE_PLAIN), say_advice(&a, &x, ADVICE_TORCH));
    x = ADVISE(NONE);
    assert_string_equal(say_advice(&a, &x, ADVICE_TORCH), "");
    dcr_arena_release(&a);
}

/* All times of a sentence are in one unit. */
static void test_times(void **state)
{
    (void)state;
    static const struct slot_row of[] = {{SLOT_TIME, "a", NULL}, {SLOT_TIME, "b", NULL}, {SLOT_NONE, NULL, NULL}};
    const struct slot times[SLOTS_MAX] = {slot_time(56000000), slot_time(840000), {0}};
    const struct slot tiny[SLOTS_MAX] = {slot_time(56000000), slot_time(700), {0}};
    struct dcr_buf b = {0};
    say_fill(&b, "{a} and {b}; ", of, times);
    say_fill(&b, "{a} and {b}", of, tiny);
    assert_string_equal(dcr_buf_text(&b), "56.0 ms and 0.84 ms; 56.0 ms and < 0.01 ms");
    dcr_buf_release(&b);
}

/* Reasons, phrases, advice, tables and facts that the C files and the rows of metrics name, by nftw. */
static char is_used[N_REASONS], is_phrase_used[N_PHRASES], is_advice_used[N_ADVICES], is_table_used[N_TABLES],
    is_fact_used[N_FACTS];

enum row_kind { ROW_REASON, ROW_PHRASE, ROW_ADVICE, ROW_TABLE, ROW_FACT };

static const char *id_of(enum row_kind kind, int i)
{
    return kind == ROW_REASON   ? say_row((enum reason_code)i)->id
           : kind == ROW_PHRASE ? say_phrase_row((enum phrase_id)i)->id
           : kind == ROW_ADVICE ? say_advice_row((enum advice)i)->id
           : kind == ROW_TABLE  ? say_table_row((enum table_id)i)->id
                                : say_fact_row((enum fact_id)i)->id;
}

/* The names after a prefix in a line of code. */
static void mark_named(enum row_kind kind, const char *line, const char *prefix, char *is_row_used, int n_rows)
{
    for (const char *s = line; (s = strstr(s, prefix)) != NULL;) {
        s += strlen(prefix) + 1; /* "_" or "(" */
        size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        for (int i = 0; i < n_rows && n; i++)
            is_row_used[i] |= strlen(id_of(kind, i)) == n && strncmp(id_of(kind, i), s, n) == 0;
    }
}

static int look_into(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)at;
    const char *end = strrchr(path, '.');
    int is_code = end && (strcmp(end, ".c") == 0 || (strcmp(end, ".def") == 0 && strstr(path, "/metrics/")));
    if (type != FTW_F || !is_code)
        return 0;
    FILE *f = fopen(path, "r");
    char line[512];
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, "/*", 2) == 0 || strncmp(line, " *", 2) == 0)
            continue;
        mark_named(ROW_REASON, line, "REASON", is_used, N_REASONS);
        mark_named(ROW_PHRASE, line, "PHRASE", is_phrase_used, N_PHRASES);
        mark_named(ROW_ADVICE, line, "ADVICE", is_advice_used, N_ADVICES);
        mark_named(ROW_ADVICE, line, "ADVISE", is_advice_used, N_ADVICES);
        mark_named(ROW_TABLE, line, "TABLE", is_table_used, N_TABLES);
        mark_named(ROW_FACT, line, "FACT", is_fact_used, N_FACTS);
    }
    fclose(f);
    return 0;
}

static void test_every_row_is_used(void **state)
{
    (void)state;
    assert_int_equal(nftw("render", look_into, 8, FTW_PHYS), 0);
    for (int code = REASON_NONE + 1; code < N_REASONS; code++)
        if (!is_used[code])
            fail_msg("no file of render/ gives the reason %s", say_row((enum reason_code)code)->id);
    for (int id = PHRASE_NONE + 1; id < N_PHRASES; id++)
        if (!is_phrase_used[id])
            fail_msg("no file of render/ says %s", say_phrase_row((enum phrase_id)id)->id);
    for (int id = ADVICE_NONE + 1; id < N_ADVICES; id++)
        if (!is_advice_used[id])
            fail_msg("no file of render/ advises %s", say_advice_row((enum advice)id)->id);
    for (int id = 0; id < N_TABLES; id++)
        if (!is_table_used[id])
            fail_msg("no file of render/ shows %s", say_table_row((enum table_id)id)->id);
    for (int id = 0; id < N_FACTS; id++)
        if (!is_fact_used[id])
            fail_msg("no file of render/ gives %s", say_fact_row((enum fact_id)id)->id);
}

/* With sample values nothing of the templates remains. */
static void test_phrasebook(void **state)
{
    (void)state;
    struct dcr_buf b = {0};
    say_phrasebook(&b);
    assert_null(strpbrk(dcr_buf_text(&b), "{}|"));
    assert_non_null(strstr(b.data, "O  ONE_RANK: one rank waits for nobody\n"));
    dcr_buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_small_values),
        cmocka_unit_test(test_reason),
        cmocka_unit_test(test_reason_rows),
        cmocka_unit_test(test_phrase_rows),
        cmocka_unit_test(test_phrases),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_advice_rows),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_every_row_is_used),
        cmocka_unit_test(test_phrasebook),
        cmocka_unit_test(test_table_rows),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_fact_rows),
        cmocka_unit_test(test_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
