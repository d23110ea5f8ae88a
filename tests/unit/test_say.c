/* test_say.c - templates and their slots (render/say/say.h), and the rows of reasons.def. */
#include "lib/buf.h"
#include "render/say/say.h"

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
    const struct slot slots[] = {slot_count(ranks), slot_time(184000000), slot_name("{step}")};
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
    expect("'{what}'", 4, "'{step}'"); /* what fills a slot is no template */
    expect("{rank} {step:second} {ranks", 4, "{rank} {step:second} {ranks");
}

static void test_kinds(void **state)
{
    (void)state;
    static const struct slot_row all[] = {{SLOT_PERCENT, "a", NULL}, {SLOT_RATIO, "b", NULL},  {SLOT_FACTOR, "c", NULL},
                                          {SLOT_NUMBER, "d", NULL},  {SLOT_REASON, "e", NULL}, {SLOT_NONE, NULL, NULL}};
    static const struct reason why = {.code = REASON_ONE_RANK};
    const struct slot slots[] = {slot_percent(0.34), slot_ratio(0.84), slot_factor(1.92), slot_number(12300),
                                 slot_reason(&why)};
    struct dcr_buf b = {0};
    say_fill(&b, "{a} {b} {c} {d} {e}", all, slots);
    assert_string_equal(dcr_buf_text(&b), "34 % 0.84 1.92x 12,300 one rank waits for nobody");
    dcr_buf_clear(&b);
    const struct slot other = slot_bytes(1.2e6); /* of another kind than its row declares */
    say_fill(&b, "{a}", all, &other);
    assert_string_equal(dcr_buf_text(&b), "{a}");
    dcr_buf_release(&b);
}

static void test_reason(void **state)
{
    (void)state;
    struct dcr_arena a = {0};
    struct reason why = REASON(STEPS_NOT_OF_GPUS, slot_count(1), slot_count(4));
    assert_string_equal(say_reason(&a, &why), "n/a because the steps of 1 of the 4 ranks are not those of a GPU");
    assert_string_equal(say_clause(&a, &why), "the steps of 1 of the 4 ranks are not those of a GPU");
    why = REASON(NONE);
    assert_string_equal(say_reason(&a, &why), "");
    dcr_arena_release(&a);
}

/* Every slot that a clause names is declared, every declared one is named, and the clause is one: no capital that a
 * sentence begins with, no full stop. */
static void test_rows(void **state)
{
    (void)state;
    for (int code = REASON_NONE + 1; code < N_REASONS; code++) {
        const struct reason_row *row = say_row((enum reason_code)code);
        int n_named[SLOTS_MAX] = {0};
        assert_true(strlen(row->mark) == 1 && strchr("GOSRCFHLNX", *row->mark));
        for (const char *at = row->clause; (at = strchr(at, '{')) != NULL; at++) {
            size_t len = strcspn(at + 1, ":|}");
            int found = -1;
            for (int i = 0; i < SLOTS_MAX && row->slots[i].name; i++)
                if (strlen(row->slots[i].name) == len && strncmp(row->slots[i].name, at + 1, len) == 0)
                    found = i;
            if (found < 0 || !strchr(at, '}'))
                fail_msg("%s: no slot %.*s", row->id, (int)len + 1, at);
            n_named[found]++;
        }
        for (int i = 0; i < SLOTS_MAX && row->slots[i].name; i++) {
            if (!n_named[i])
                fail_msg("%s: {%s} is declared and not named", row->id, row->slots[i].name);
            assert_true((row->slots[i].kind == SLOT_NAME) == (row->slots[i].sample != NULL));
        }
        size_t n = strlen(row->clause);
        if (n == 0 || row->clause[n - 1] == '.' || row->clause[n - 1] == ' ' || strstr(row->clause, "  ") ||
            strncmp(row->clause, "n/a", 3) == 0 || strncmp(row->clause, "because", 7) == 0)
            fail_msg("%s: \"%s\" is no clause", row->id, row->clause);
    }
}

/* Codes that the C files name, by nftw. */
static char is_used[N_REASONS];

static int look_into(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)at;
    size_t len = strlen(path);
    if (type != FTW_F || len < 2 || strcmp(path + len - 2, ".c") != 0)
        return 0;
    FILE *f = fopen(path, "r");
    char line[512];
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        for (const char *s = line; (s = strstr(s, "REASON")) != NULL; s += 7) {
            const char *name = s + 7;
            size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
            for (int code = 1; code < N_REASONS && n; code++)
                is_used[code] |= strlen(say_row((enum reason_code)code)->id) == n &&
                                 strncmp(say_row((enum reason_code)code)->id, name, n) == 0;
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
}

/* With sample values nothing is left of the templates. */
static void test_phrasebook(void **state)
{
    (void)state;
    struct dcr_buf b = {0};
    say_phrasebook(&b);
    assert_null(strpbrk(dcr_buf_text(&b), "{}|"));
    assert_non_null(strstr(b.data, "O  ONE_RANK: n/a because one rank waits for nobody\n"));
    dcr_buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_reason),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_every_row_is_used),
        cmocka_unit_test(test_phrasebook),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
