/* environment.h - sets the program's environment, so that the libraries beside the collector are loaded into it and
 * know what to record. Earlier settings are kept: other injections and preloads are chained. */
#ifndef COLLECT_ENVIRONMENT_H
#define COLLECT_ENVIRONMENT_H

#include "collect/run/options.h"

#include <jansson.h>

/** environment_set - set it in this process, for the program it will start. start.h sets DCC_SPOOL.
 *  record   gets "nvtx_note", "mpi_note", "io_note": why these events will not be recorded; absent when they will */
void environment_set(const struct options *o, json_t *record);
/** environment_set_waits - the same for a program that is not recorded. On an emulated node (collect/nodes) its waits
 * sleep, as those of recorded programs do. Elsewhere nothing is set. See collect/guest/yield. */
void environment_set_waits(void);

#endif
