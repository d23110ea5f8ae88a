/* start.h - start the program as if dccollect were not there, and wait for it: same standard streams, same process
 * group, same signal dispositions and mask. */
#ifndef COLLECT_START_H
#define COLLECT_START_H

#include "collect/monitor/perf.h"
#include "lib/base/err.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

struct ended {
    int exit_status; /* -1 when a signal ended it */
    int signal;      /* 0 when it exited */
    int told;        /* the first signal that told it to end (Ctrl-C, kill, a time limit); 0: none */
    int64_t told_ns; /* when, CLOCK_MONOTONIC */
    struct rusage usage;
};

/** start_block_file_signal - from now on, exceeding the limit of a file's size (ulimit -f) is an ordinary error and
 * does not end us. *old: the signal mask for the program. */
void start_block_file_signal(sigset_t *old);
/** start_block_signals - from now on signals wait for start_wait. */
void start_block_signals(void);
/** start_program - fork and exec. The end of this process closes the pipes that a failure leaves open.
 *  spool    DCC_SPOOL of the program, set only in the program. If another collector watches this one, its libraries are
 *           in this process too, and with DCC_SPOOL set here they would record packing into the files being packed
 *  perf     opened between fork and exec; NULL = count nothing
 *  errors   DCR_FAIL: exec failed; err->sys says why (ENOENT, EACCES ...) */
int start_program(char **argv, const char *spool, const sigset_t *mask, struct perf *perf, pid_t *pid,
                  struct dcr_err *err) DCR_MUST_CHECK;
/** start_wait - wait until the program ends. A signal sent to us alone is passed on. One sent to the whole process
 *  group reached the program already and is not. The kernel keeps the counters of the program until start_reap.
 *  e        gets told and told_ns */
void start_wait(pid_t pid, struct ended *e);
/** start_reap - how the program ended.
 *  e        of start_wait; gets the rest */
void start_reap(pid_t pid, struct ended *e);

#endif
