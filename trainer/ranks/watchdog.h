/* watchdog.h - a thread that notices when this process waits too long in one call, wherever the call hangs.
 *
 *     watchdog_begin("MPI_Iallreduce of gradients");  ... the call that waits for others ...  watchdog_end(); It costs
 * two stores if all is well. Only one thread waits at a time; the calls it names are string literals. Time in which the
 * whole process was stopped (a suspended job, kill -STOP of all ranks) does not count. */
#ifndef TRAINER_RANKS_WATCHDOG_H
#define TRAINER_RANKS_WATCHDOG_H

#include "lib/base/err.h"

struct watchdog_config {
    double patience_s; /* 0 = no limit: no thread is started */
    /* called from the watchdog's own thread, which ends when it returns; it may end the process */
    void (*on_stuck)(void *ctx, const char *call, double waited_s);
    void *ctx; /* borrows until watchdog_close */
};

/** watchdog_open - one per process. errors DCR_FATAL: the thread cannot be started */
int watchdog_open(const struct watchdog_config *c, struct dcr_err *err) DCR_MUST_CHECK;
/** watchdog_close - in any state. */
void watchdog_close(void);

/** watchdog_begin - from now on this process waits in `call` (borrows: until watchdog_end; static text). */
void watchdog_begin(const char *call);
void watchdog_end(void);

#endif
