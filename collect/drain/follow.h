/* follow.h - the summary (lib/reduce/summary.h) of a whole trace of which only the newest events are kept. A child
 * process of the collector reads every piece (pieces.h) before it is removed and writes the summary after the last one.
 * It gets open descriptors, so a piece may be removed at once. If the collector is killed, the child writes the summary
 * of the pieces that it has. */
#ifndef COLLECT_FOLLOW_H
#define COLLECT_FOLLOW_H

#include "lib/base/err.h"

#include <stdint.h>

struct follow;

/** follow_start - begin to read.
 *  trace     path of the trace; the summary becomes a file beside it
 *  name      of the trace in an archive: "rank0/trace-7.dct"
 *  segment, n_bytes  memory that the child unmaps, because a process with this mapping counts as one of the program
 *  out       gives; follow_free
 *  errors    DCR_FAIL: no process could be made; the sentence says why */
int follow_start(struct follow **out, const char *trace, const char *name, void *segment, uint64_t n_bytes,
                 struct dcr_err *err) DCR_MUST_CHECK;
/** follow_give - one more piece is complete.
 *  fd        open for reading; stays the caller's
 *  errors    DCR_FAIL: the child has ended */
int follow_give(struct follow *f, int fd, struct dcr_err *err) DCR_MUST_CHECK;
/** follow_n_waiting - number of pieces that were given but not read yet. */
uint32_t follow_n_waiting(const struct follow *f);
/** follow_end - the last piece was given. The summary comes later, so f goes into a list for follow_free_list. */
void follow_end(struct follow *f, struct follow **list);
/** follow_free_list - free those of a list that have written their summary. waits: all of them, when they have. */
void follow_free_list(struct follow **list, int waits);
/** follow_free - wait for the summary. Without follow_end before, the summary says that the end of the trace is
 * missing. */
void follow_free(struct follow *f);
/** follow_abandon - give up the summary because pieces are missing. */
void follow_abandon(struct follow *f);

#endif
