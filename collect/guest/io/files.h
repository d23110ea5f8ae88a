/* files.h - which file a descriptor is, and what its calls sum to. Called by io/calls.c.
 *
 * Regular files are followed; pipes, sockets, devices, /proc, /sys and /dev are not. A process that moved less than
 * FILES_QUIET_BYTES, made no long call and was not recorded for another reason leaves no trace: the many small helpers
 * of a job (shells, cat) would only be noise. All of it lies in memory that a forked child gets zeroed. */
#ifndef DCC_IO_FILES_H
#define DCC_IO_FILES_H

#include "lib/archive/format.h"

#include <stddef.h>

#define FILES_QUIET_BYTES (1u << 20)
#define FILES_MAX 4096u
#define FILES_OVERFLOW "(more files than the collector keeps)"

struct file;

/** files_begin - at load. returns 0, or -1 when nothing is to be observed in this process */
int files_begin(void);
/** files_is_on - 0 also while this thread is inside the collector's own code. */
int files_is_on(void);
/** files_of - the file behind a descriptor; NULL: not followed. Keeps errno. */
struct file *files_of(int fd);
/** files_known - the same without looking it up: NULL when it was never asked for. */
struct file *files_known(int fd);
/** files_forget - the descriptors from..to mean something else from now on. */
void files_forget(unsigned from, unsigned to);

/** files_count - one call of kind DCT_IO_*, from start_ns to end_ns: a span when it took longer than the threshold
 *  (DCC_IO_US), else part of the file's sums. end_ns 0: not timed. Keeps errno. */
void files_count(struct file *f, int kind, const char *call, int64_t start_ns, int64_t end_ns, uint64_t bytes);

#endif
