/* environment.h - what the program's environment is given, so that the libraries beside the collector are loaded into
 * it and know what to record. Nothing that is there already is lost: other injections and preloads are chained. */
#ifndef COLLECT_ENVIRONMENT_H
#define COLLECT_ENVIRONMENT_H

#include "collect/run/options.h"

#include <jansson.h>

/** environment_set - in this process, for the program it will start; DCC_SPOOL is start.h's.
 *  record   gets "nvtx_note", "mpi_note", "io_note": why something will not be recorded; absent when it will */
void environment_set(const struct options *o, json_t *record);
/** environment_set_waits - in this process, for a program that is not recorded: on an emulated node (collect/nodes) its
 *  waits sleep, as those of recorded programs do. Elsewhere: nothing. See collect/guest/yield. */
void environment_set_waits(void);

#endif
