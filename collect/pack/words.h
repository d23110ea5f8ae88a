/* words.h - what the closing line and `ls` say alike of "collector" in the metadata. */
#ifndef COLLECT_WORDS_H
#define COLLECT_WORDS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/** words_window - "in the window of --steps 10:20: " of what was asked for; "" when everything was to be recorded. */
void words_window(const json_t *collector, char *out, size_t n);
/** words_dropped - "0 dropped", or the events, of which a range has two. */
void words_dropped(uint64_t n_events, char *out, size_t n);
/** words_no_mpi - why the MPI calls of a program that uses MPI, or may as it has several ranks, are not known; "" when
 *  they are, or it uses none.
 *  borrows  of the metadata */
const char *words_no_mpi(const json_t *collector, size_t n_ranks);

#endif
