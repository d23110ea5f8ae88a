/* progress.h - shows people at a terminal the progress of long work. After two seconds it writes one line on standard
 * error, as "dcreport: 3 of 12 inputs read, about 8 s for the rest", which is overwritten in place and erased at the
 * end. Only one such work runs at a time. */
#ifndef LIB_BASE_PROGRESS_H
#define LIB_BASE_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

/** progress_allow - show it from now on, if standard error is a terminal that can erase a line.
 *  program  borrows */
void progress_allow(const char *program);

/** progress_begin - starts the display of one work. Without progress_allow nothing happens.
 *  what     borrows: "inputs read", printed after the counts
 *  n        number of things to do; 0: `what` alone is shown
 *  n_bytes  bytes of all things, for the estimate */
void progress_begin(const char *what, size_t n, int64_t n_bytes);
/** progress_begin_file - the same for work that reads a file n_times from its begin to its end. */
void progress_begin_file(const char *what, const char *path, int n_times);
/** progress_step - one thing with that many bytes is done. Any thread. */
void progress_step(int64_t bytes);
/** progress_read - that many bytes were read. Costs one addition. Any thread. */
void progress_read(int64_t bytes);
/** progress_end - the work has ended: the line is erased. Without progress_begin nothing happens. */
void progress_end(void);

#endif
