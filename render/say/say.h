/* say.h - templates with named slots become text. Reasons are rows of reasons.def.
 *
 * A template names its slots in braces:
 *   {ranks}             the slot as its kind prints it (format.h): "4", "184 ms", "34 %", "1.92x"
 *   {ranks:rank}        a count with its noun: "1 rank", "4 ranks"
 *   {ranks|was|were}    the first words for a count of 1, else the second
 * Test: tests/unit/test_say.c */
#ifndef RENDER_SAY_SAY_H
#define RENDER_SAY_SAY_H

#include "lib/arena.h"
#include "lib/buf.h"
#include "render/model/reason.h"

/* A slot as its row declares it; name NULL ends the list. */
struct slot_row {
    enum slot_kind kind;
    const char *name;
    const char *sample; /* of SLOT_NAME, for the phrasebook */
};

/* A row of reasons.def. */
struct reason_row {
    const char *id;   /* "ONE_RANK" */
    const char *mark; /* for tables, which explain the marks that they use */
    struct slot_row slots[SLOTS_MAX + 1];
    const char *clause;
};

/** say_row - the row of a code; of REASON_NONE one of empty texts. */
const struct reason_row *say_row(enum reason_code code);
/** say_fill - appends a template with its slots filled. A slot that is not declared, or is not of the declared kind,
 *  stays as it stands in the template.
 *  rows     shape (as many as slots, then name NULL), in their order */
void say_fill(struct dcr_buf *out, const char *text, const struct slot_row *rows, const struct slot *slots);
/** say_put_reason - appends "n/a because ..."; nothing of REASON_NONE. */
void say_put_reason(struct dcr_buf *out, const struct reason *why);
/** say_put_clause - the same without "n/a because ". */
void say_put_clause(struct dcr_buf *out, const struct reason *why);
/** say_reason - "n/a because ..."; "" of REASON_NONE.   gives; lives as long as the arena */
const char *say_reason(struct dcr_arena *a, const struct reason *why);
/** say_clause - say_reason without "n/a because ". */
const char *say_clause(struct dcr_arena *a, const struct reason *why);
/** say_phrasebook - appends every row with sample values, and once more with counts of 1 where a plural depends on one.
 */
void say_phrasebook(struct dcr_buf *out);

#endif
