/* ask.h - asks another program a question, in a separate process with a time limit. */
#ifndef COLLECT_ASK_H
#define COLLECT_ASK_H

#include <stddef.h>

enum { ASK_FAILED = -1, ASK_TOO_LONG = -2 };

/** ask_child - run child(ctx) in a new process. Its standard output is read, its other streams are /dev/null. The child
 *  and its descendants are killed after timeout_ms or n - 1 bytes of output. The caller must have a single thread.
 *  out      the output as a C string, cut at n - 1 bytes
 *  returns  the exit status (0 if it was killed after n - 1 bytes); ASK_FAILED: it could not be started, or a signal
 *           ended it; ASK_TOO_LONG: it was killed after timeout_ms */
int ask_child(void (*child)(void *ctx), void *ctx, int timeout_ms, char *out, size_t n);

#endif
