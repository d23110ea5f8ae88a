/* run.h - dccollect run: start, observe, record, and pack when asked. */
#ifndef COLLECT_RUN_H
#define COLLECT_RUN_H

#include "collect/run/options.h"

/** run_program - does the work of `dccollect run`.
 *  message  one line for people: recorded, dropped and missing events; "" when another rank reports them
 *  status   the exit status to pass on: the program's, 128+signal, 126 or 127 when it could not be started
 *  errors   DCR_FAIL: dccollect itself failed before or after; *status is still the status to exit with */
int run_program(const struct options *o, char *message, size_t n, int *status, struct dcr_err *err) DCR_MUST_CHECK;

#endif
