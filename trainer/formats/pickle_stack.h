/* pickle_stack.h - the stack machine that a pickle is a program for: its values, marks and memo. Inside pickle*.c only.
 */
#ifndef TRAINER_FORMATS_PICKLE_STACK_H
#define TRAINER_FORMATS_PICKLE_STACK_H

#include "trainer/formats/pickle.h"

#include <stdint.h>

/* The pickle that is read. */
struct pickle {
    const char *bytes, *name;
    size_t n, at;
    struct dcr_arena *arena;
};

/** pickle_refuse - a sentence with the file and the place. returns DCR_FAIL */
int pickle_refuse(struct pickle *p, const char *why, struct dcr_err *err);
struct pickle_value *pickle_new(struct pickle *p, enum pickle_type type);

/* Zero but for p to begin with; who made it frees stack and memo. Values are the arena's. */
struct pickle_machine {
    struct pickle p; /* bytes, arena, messages: what pickle_numpy.c needs too */
    struct pickle_value **stack, **memo;
    size_t depth, cap_stack, n_memo, cap_memo;
};

/** pickle_push, pickle_push_mark - a value, or a mark, on top.  errors  DCR_FATAL: no memory */
int pickle_push(struct pickle_machine *m, struct pickle_value *v, struct dcr_err *err) DCR_MUST_CHECK;
int pickle_push_mark(struct pickle_machine *m, struct dcr_err *err) DCR_MUST_CHECK;
/** pickle_is_mark - 1 for what pickle_push_mark puts on the stack. */
int pickle_is_mark(const struct pickle_value *v);
/** pickle_top, pickle_pop - the value on top, never a mark; NULL when there is none. */
struct pickle_value *pickle_top(const struct pickle_machine *m);
struct pickle_value *pickle_pop(struct pickle_machine *m);
/** pickle_above_mark - number of values above the last mark; SIZE_MAX without one. */
size_t pickle_above_mark(const struct pickle_machine *m);
/** pickle_remember, pickle_recall - the value on top into the memo, and from there on top.
 *  errors   DCR_FAIL: nothing on top, an index of MAX_MEMO or more; nothing was stored there */
int pickle_remember(struct pickle_machine *m, uint64_t index, struct dcr_err *err) DCR_MUST_CHECK;
int pickle_recall(struct pickle_machine *m, uint64_t index, struct dcr_err *err) DCR_MUST_CHECK;
/** pickle_gather - the n values on top as items of a new list or tuple, or added to an old one.
 *  errors   DCR_FAIL: fewer than n values above the last mark */
int pickle_gather(struct pickle_machine *m, struct pickle_value *into, size_t n, struct dcr_err *err) DCR_MUST_CHECK;

#endif
