/* leftover.h - processes that the program started and left behind, which may still record. */
#ifndef COLLECT_LEFTOVER_H
#define COLLECT_LEFTOVER_H

#include <stddef.h>

/** leftover_wait - look for processes that were told to record into the spool (by their environment or their mapped
 * traces), and give them wait_ms to end. spool    absolute pids     "12, 34" of those that stay, at most as many as
 * fit; "" when none does      shape: (n bytes) returns  how many stay */
int leftover_wait(const char *spool, int wait_ms, char *pids, size_t n);

#endif
