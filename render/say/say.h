/* say.h - templates with named slots become text. Reasons are rows of reasons.def, sentences rows of phrases.def,
 * notes.def and causes.def, actions rows of advice.def, heads of tables rows of tables.def
 * (tables.h), lists of facts rows of facts.def (facts.h).
 *
 * A template names its slots in braces:
 *   {ranks}             the slot as its kind prints it (format.h): "4", "184 ms", "34 %", "1.92x"
 *   {ranks:rank}        a count with its noun: "1 rank", "2,125 ranks"
 *   {ranks:}            a count that may be large: "2,125". Without the colon it is a number of a rank, step or line:
 * "2125" {ranks|was|were}    the first words for a count of 1, else the second Test: tests/unit/test_say.c */
#ifndef RENDER_SAY_SAY_H
#define RENDER_SAY_SAY_H

#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "render/model/advice.h"
#include "render/model/phrase.h"

/* A slot as its row declares it; name NULL ends the list. */
struct slot_row {
    enum slot_kind kind;
    const char *name;
    const char *sample; /* of SLOT_NAME and SLOT_THINGS, for the phrasebook */
};

/* A row of reasons.def. */
struct reason_row {
    const char *id;   /* "ONE_RANK" */
    const char *mark; /* for tables, which explain the marks that they use */
    struct slot_row slots[SLOTS_MAX + 1];
    const char *clause;
};

/* A row of phrases.def, notes.def or causes.def. */
struct phrase_row {
    const char *id; /* "SCALING_GOOD" */
    struct slot_row slots[SLOTS_MAX + 1];
    const char *text;
};

/* The audience of an advice, and how to see that it helped. */
enum advice_part { ADVICE_OURS, ADVICE_TORCH, ADVICE_PLAIN, ADVICE_CHECK, N_ADVICE_PARTS };
/* A row of advice.def. */
struct advice_row {
    const char *id; /* "MORE_TIME" */
    struct slot_row slots[SLOTS_MAX + 1];
    const char *text[N_ADVICE_PARTS];
};

/** say_phrase_row - for PHRASE_NONE one with empty texts. */
const struct phrase_row *say_phrase_row(enum phrase_id id);
/** say_phrase - the sentence; "" of PHRASE_NONE.   gives; lives as long as the arena */
const char *say_phrase(struct dcr_arena *a, const struct phrase *p);
/** say_phrases - several sentences, a space between them; those of PHRASE_NONE are left out.
 *  p  shape (n) */
const char *say_phrases(struct dcr_arena *a, const struct phrase *p, int n);
/** say_put_phrases - appends them. */
void say_put_phrases(struct dcr_buf *out, const struct phrase *p, int n);
/** say_title - of a finding, for a heading: without a full stop; "" of PHRASE_NONE. */
const char *say_title(struct dcr_arena *a, const struct said *s);
/** say_headline - of a finding, as a sentence with its full stop and a capital: "4 nodes: compute limits the run."; ""
 *  of PHRASE_NONE. */
const char *say_headline(struct dcr_arena *a, const struct said *s);
/** say_support - its sentences of support, including the headline of another finding as a sentence; "" if there are
 *  none. */
const char *say_support(struct dcr_arena *a, const struct said *s);
/** say_note - its sentences, each with a full stop. The first keeps a small letter: the label of a run may stand before
 * it. p  shape (n); those of PHRASE_NONE are left out */
const char *say_note(struct dcr_arena *a, const struct phrase *p, int n);
/** say_sentences - the same with a capital in front. */
const char *say_sentences(struct dcr_arena *a, const struct phrase *p, int n);
/** say_finding - the name of the finding: that of the headline's row; "" of PHRASE_NONE. */
const char *say_finding(const struct said *s);
/** say_capital - words with a capital in front: "Data loading". gives; lives as long as the arena */
const char *say_capital(struct dcr_arena *a, const char *words);
/** say_list - "a", "a and b", "a, b and c"; "" of none. say_either: with "or".
 *  items  shape (n) */
const char *say_list(struct dcr_arena *a, const char *const *items, int n);
const char *say_either(struct dcr_arena *a, const char *const *items, int n);

/** say_advice_row - for ADVICE_NONE one with empty texts. */
const struct advice_row *say_advice_row(enum advice id);
/** say_advice - its sentences for ADVICE_OURS, ADVICE_TORCH or ADVICE_PLAIN, which is that of ADVICE_TORCH if it has no
 *  words; or its ADVICE_CHECK. "" if there is none.   gives; lives as long as the arena */
const char *say_advice(struct dcr_arena *a, const struct advised *x, enum advice_part part);

/** say_row - the row of a code; of REASON_NONE one of empty texts. */
const struct reason_row *say_row(enum reason_code code);
/** say_mark - what the mark of a reason means, for the tables that use it: "not recorded" of "R". */
const char *say_mark(const char *mark);
/** say_fill - appends a template with its slots filled. A slot that is not declared, or is not of the declared kind,
 *  stays as it is in the template.
 *  rows     shape (as many as there are slots, then name NULL), in their order
 *  slots    shape (SLOTS_MAX) */
void say_fill(struct dcr_buf *out, const char *text, const struct slot_row *rows, const struct slot *slots);
/** say_put_clause - appends why a value is missing: "no GPU was monitored"; nothing of REASON_NONE. */
void say_put_clause(struct dcr_buf *out, const struct reason *why);
/** say_clause - the same; "" of REASON_NONE.   gives; lives as long as the arena */
const char *say_clause(struct dcr_arena *a, const struct reason *why);
/** say_because - the same as a sentence: "No GPU was monitored." */
const char *say_because(struct dcr_arena *a, const struct reason *why);
/** say_phrasebook - appends every row with sample values, and once more with counts of 1 where a plural depends on one.
 */
void say_phrasebook(struct dcr_buf *out);

#endif
