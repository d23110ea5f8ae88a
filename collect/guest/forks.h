/* forks.h - a fork() during an initialisation of NVTX in another thread. NVTX marks itself as being initialised, and
 * every other caller waits for the end of it, in sched_yield(); in the child nobody comes to that end. There a thread
 * that has waited for long does it. */
#ifndef DCC_INJECT_FORKS_H
#define DCC_INJECT_FORKS_H

/** forks_begin - registers what fork() calls; once, at load. vfork() and posix_spawn() do not call it. */
void forks_begin(void);
/** forks_init_begins / forks_init_ends - around what NVTX calls in the tool, in the thread that initialises. */
void forks_init_begins(void);
void forks_init_ends(void);
/** forks_yields - this thread gives way in sched_yield(). In a forked child it may do an initialisation now; elsewhere
 *  this costs a comparison.
 *  code     the address that sched_yield() returns to */
void forks_yields(const void *code);

#endif
