/* forks.h - a fork() and an initialisation of NVTX in another thread. NVTX marks itself as being initialised, and every
 * other caller waits for the end of it; in a child forked meanwhile nobody comes to that end. So fork() waits for it
 * (at most 2 s), and what begins all the same until the child is made is taken back in the child, or done by the thread
 * that waits for it there. */
#ifndef DCC_INJECT_FORKS_H
#define DCC_INJECT_FORKS_H

#include "collect/inject/nvtx_abi.h"

/** forks_begin - registers what fork() calls; once, at load. vfork() and posix_spawn() do not call it. */
void forks_begin(void);
/** forks_init_sought - this thread asks where NVTX's tool lies: with that its initialisation begins. Allocates nothing
 * and takes no lock. */
void forks_init_sought(void);
/** forks_init_begins / forks_init_ends - around what NVTX calls in the tool, in the thread that initialises.
 *  state    of the copy of NVTX, NULL when not known
 *  returns  what is given to forks_init_ends */
uint32_t forks_init_begins(volatile uint32_t *state);
void forks_init_ends(uint32_t copy);
/** forks_yields - this thread gives way in sched_yield(), as NVTX does while it waits for an initialisation. In a
 * forked child it may do that initialisation now; elsewhere this costs a comparison.
 *  code     the address that sched_yield() returns to */
void forks_yields(const void *code);

#endif
