/* leftover.h - finds processes that the program started and left running, which may still record. */
#ifndef COLLECT_LEFTOVER_H
#define COLLECT_LEFTOVER_H

#include <stddef.h>

/** leftover_look - look for processes that were told to record into a segment (by their environment) or have mapped it.
 *  segment  its path; NULL: there is none
 *  pids     "12, 34" of the remaining processes, at most as many as fit; "" when there are none            shape: (n
 *           bytes)
 *  returns  number of remaining processes */
int leftover_look(const char *segment, char *pids, size_t n);

#endif
