/* nvtx_copy.h - the copies of NVTX in a program's modules. Every module whose sources use NVTX 3 has one: nvtxGlobals,
 * a state word and what a tool is given, in a writable segment. It initialises itself at its first call; callers that
 * come meanwhile wait for that in sched_yield(). */
#ifndef DCC_INJECT_NVTX_COPY_H
#define DCC_INJECT_NVTX_COPY_H

/** nvtx_copy_take_over - finish an initialisation that its thread will not finish, as in a forked child: from its
 *  beginning, or, where it had come to its end, to that end.
 *  code     an address in a function of the module
 *  returns  1; 0: no copy in that module is being initialised. Reads the module's writable segments once. */
int nvtx_copy_take_over(const void *code);

#endif
