/* progress.h - for people at a terminal: how far a long work is. After two seconds one line on standard error, as
 * "dcreport: 3 of 12 inputs read, about 8 s for the rest", which is overwritten in place and erased at the end. There
 * is one such work at a time. */
#ifndef LIB_BASE_PROGRESS_H
#define LIB_BASE_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

/** progress_allow - show it from now on, if standard error is a terminal that can erase a line.
 *  program  borrows */
void progress_allow(const char *program);

/** progress_begin - a work begins. Without progress_allow nothing happens.
 *  what     borrows: "inputs read", behind the counts
 *  n        things to be done; 0: `what` alone is shown
 *  n_bytes  of all of them, for the estimate */
void progress_begin(const char *what, size_t n, int64_t n_bytes);
/** progress_step - one of the things, of so many bytes, is done. From any thread. */
void progress_step(int64_t bytes);
/** progress_read - so many bytes were read. Costs one addition, from any thread. */
void progress_read(int64_t bytes);
/** progress_end - the work has ended: the line goes. Without progress_begin nothing happens. */
void progress_end(void);

#endif
