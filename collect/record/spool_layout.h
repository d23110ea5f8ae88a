/* spool_layout.h - the files of a spool folder, agreed between run (writes) and pack (reads).
 *
 *   launcher.json                       a collector that is not itself a rank: alone, or in front of mpirun
 *   rank<r>/rank.json                   a collector per rank
 *   rank<r>/trace-<pid>[-<n>].dct       written by collect/drain
 *   rank<r>/trace-<pid>.dct.<k>         older pieces of that trace (collect/drain/pieces.h)
 *   rank<r>/summary-<pid>.jsonl         its summary
 *   rank<r>/process_monitor.csv
 *   launcher/process_monitor.csv        processes without a rank
 *   rank-of-<pid>                       a link to the rank of this process, which no launcher gave it (collect/python)
 *   end-of-rank<r>                      a link to how this rank ended, as the program that started it saw it: its exit
 *                                       status, or minus the number of a signal (collect/python)
 *   raised-in-rank<r>                   a link to the time (CLOCK_MONOTONIC, ns) of an exception that nothing caught
 *   segment-<host>-<pid>                names the shared memory of a collector that records or was killed
 *   host-<name>/host.json               facts of a host, and what its monitors could measure
 *   host-<name>/{cpu,gpu,net,disk}_monitor.csv
 *
 * rank.json and launcher.json are records of the same shape; "state" is "running" until the program has ended. */
#ifndef COLLECT_SPOOL_LAYOUT_H
#define COLLECT_SPOOL_LAYOUT_H

#include "lib/base/err.h"

#include <jansson.h>

#define SPOOL_LAUNCHER "launcher.json"
#define SPOOL_LAUNCHER_DIR "launcher"
#define SPOOL_RANK "rank.json"
#define SPOOL_HOST "host.json"
#define SPOOL_HOST_PREFIX "host-"
#define SPOOL_END_LINK "end-of-rank"
#define SPOOL_RAISED_LINK "raised-in-rank"
#define SPOOL_RUNNING "running"
#define SPOOL_ENDED "ended"

/** spool_write_json - writes <dir>/<name>, replacing it as a whole. */
int spool_write_json(const char *dir, const char *name, const json_t *o, struct dcr_err *err) DCR_MUST_CHECK;
#endif
