/* test_pages.c - choices of pages: the caveats in full text, and their order. */
#include "render/pages/caveats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static struct run_ending ending = {.text = "it was stopped"};
static struct run whole, stopped = {.endings = &ending, .n_endings = 1};
static struct run_result runs[] = {{.label = "1 node", .n_ranks = 1, .run = &whole},
                                   {.label = "4 nodes", .n_ranks = 4, .run = &stopped}};

static struct note caveat(int run, enum note_id id, const char *words)
{
    return (struct note){
        .kind = NOTE_CAVEAT, .run = run, .id = id, .text = words, .said[0] = PHRASE(ENDING, slot_name(words))};
}

/* Caveats about all runs come first, then those of the largest run. Caveats of one kind share a line. */
static void test_weight(void **state)
{
    (void)state;
    struct note notes[] = {caveat(0, NOTE_OVERSUBSCRIBED, "4 ranks share 2 cores. So."),
                           caveat(1, NOTE_OVERSUBSCRIBED, "8 ranks share 2 cores. So."),
                           caveat(0, NOTE_DROPPED, "events were dropped: some."),
                           caveat(-1, NOTE_EMULATED, "The nodes are emulated: ranks stand in for them."),
                           {.kind = NOTE_GAP, .run = -1, .text = "No GPU."}};
    struct report rep = {.runs = runs, .n_runs = 2, .notes = notes, .n_notes = 5};
    struct dcr_arena a = {0};
    struct caveats c = caveats_of(&rep, -1, &a);
    assert_int_equal(c.n, 3);
    const struct note *const order[] = {&notes[3], &notes[1], &notes[2]};
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(c.list[i].note, order[i]);
        assert_true(c.list[i].is_shown);
    }
    assert_string_equal(c.list[1].text, "4 nodes: 8 ranks share 2 cores. So. 1 other run has a caveat of this kind.");
    dcr_arena_release(&a);
}

static void test_folded(void **state)
{
    (void)state;
    struct note notes[] = {caveat(-1, NOTE_EMULATED, "A."), caveat(-1, NOTE_DROPPED, "B."),
                           caveat(-1, NOTE_THROTTLED, "C."), caveat(-1, NOTE_STEAL, "D."),
                           caveat(-1, NOTE_FEW_STEPS, "E.")};
    struct report rep = {.runs = runs, .n_runs = 1, .notes = notes, .n_notes = 5};
    struct dcr_arena a = {0};
    struct caveats c = caveats_of(&rep, -1, &a);
    for (int i = 0; i < c.n; i++)
        assert_int_equal(c.list[i].is_shown, i < 3);
    dcr_arena_release(&a);
}

/* A page about one run has its own notes, those of all runs and how its archive is incomplete, in the report's
 * order. */
static void test_of_one_run(void **state)
{
    (void)state;
    struct note notes[] = {caveat(0, NOTE_DROPPED, "1 node: Dropped."),
                           caveat(1, NOTE_OVERSUBSCRIBED, "8 ranks share 2 cores. So."),
                           caveat(-1, NOTE_EMULATED, "The nodes are emulated.")};
    struct report rep = {.runs = runs, .n_runs = 2, .notes = notes, .n_notes = 3};
    struct dcr_arena a = {0};
    struct caveats c = caveats_of(&rep, 1, &a);
    assert_int_equal(c.n, 3);
    assert_ptr_equal(c.list[0].note, &notes[1]);
    assert_ptr_equal(c.list[1].note, &notes[2]);
    assert_null(c.list[2].note);
    assert_string_equal(c.list[2].text, "The archive is incomplete: it was stopped.");
    dcr_arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weight),
        cmocka_unit_test(test_folded),
        cmocka_unit_test(test_of_one_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
