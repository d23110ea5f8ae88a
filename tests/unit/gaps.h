/* gaps.h - the gaps that a reader found. Included after cmocka.h. */
#ifndef TESTS_UNIT_GAPS_H
#define TESTS_UNIT_GAPS_H

#include "render/model/run.h"
#include "render/say/say.h"

/** gap_slots - slots of a gap's sentence; NULL: the gap has another sentence. */
static inline const struct slot *gap_slots(const struct run *r, int i, enum phrase_id id)
{
    for (int k = 0; i < r->n_gaps && k < NOTE_PHRASES; k++)
        if (r->gaps[i].said[k].id == id)
            return r->gaps[i].said[k].slot;
    return NULL;
}

/** assert_gap - gap i has that sentence. returns the slots */
static inline const struct slot *assert_gap(const struct run *r, int i, enum phrase_id id)
{
    const struct slot *slot = gap_slots(r, i, id);
    if (!slot)
        fail_msg("gap %d does not say '%s'", i, say_phrase_row(id)->id);
    return slot;
}

/** assert_first_left_out - n values of a file were left out, and this is the first. */
static inline void assert_first_left_out(const struct run *r, int i, int64_t n, const char *first)
{
    assert_int_equal(assert_gap(r, i, PHRASE_VALUES_LEFT_OUT)[0].count, n);
    assert_string_equal(assert_gap(r, i, PHRASE_FIRST_NO_VALUE)[1].name, first);
}

#endif
