/* ask.h - a question to another program or library, in a process of its own that may not take long. */
#ifndef COLLECT_ASK_H
#define COLLECT_ASK_H

#include <stddef.h>

enum { ASK_FAILED = -1, ASK_TOO_LONG = -2 };

/** ask_child - run child(ctx) in a new process, whose standard output is read and whose other streams are /dev/null. It
 *  is killed, and what it started in turn, when it takes longer than timeout_ms or has said n - 1 bytes. No other
 *  thread may run here.
 *  out      what it said, cut, a C string
 *  returns  its exit status (0 when it was killed for having said enough), ASK_FAILED: it could not be started or ended
 *           by a signal; ASK_TOO_LONG */
int ask_child(void (*child)(void *ctx), void *ctx, int timeout_ms, char *out, size_t n);

#endif
