/* leftover.h - processes that the program started and left behind, which may still record. */
#ifndef COLLECT_LEFTOVER_H
#define COLLECT_LEFTOVER_H

#include <stddef.h>

/** leftover_wait - look for processes that were told to record into a segment (by their environment) or have mapped it,
 *  and give them wait_ms to end.
 *  segment  its path; NULL: there is none
 *  pids     "12, 34" of those that stay, at most as many as fit; "" when none does            shape: (n bytes)
 *  returns  how many stay */
int leftover_wait(const char *segment, int wait_ms, char *pids, size_t n);

#endif
