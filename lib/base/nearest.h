/* nearest.h - the known name that a misspelt one was meant to be. */
#ifndef DCR_NEAREST_H
#define DCR_NEAREST_H

#include <stddef.h>

struct option;

/* A search among known names, which are tried one by one. */
struct nearest {
    const char *word; /* borrows; length bytes of it count */
    size_t length;
    const char *name; /* NULL: none that was tried is near */
    int n_edits;
};

/** nearest_begin - look for what stands before any '=' of this word. */
struct nearest nearest_begin(const char *word);
/** nearest_try - keep this name if it differs from the word by fewer letters than the one before: at most one in four,
 *  and one where the word is short. A letter may be missing, added, another, or have changed places with the next one.
 *  A name that begins with the word counts as one letter away.
 *  name  borrows
 *  cost  O(length of both)^2, no allocation. Test: tests/unit/test_lib.c */
void nearest_try(struct nearest *n, const char *name);
/** nearest_option - the nearest long option of a table for getopt_long, without dashes; NULL: none is near.
 *  word  as the user wrote it: "--baselin", "-baseline=x" */
const char *nearest_option(const char *word, const struct option *known);

#endif
