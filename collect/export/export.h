/* export.h - dccollect export: the events of an archive in formats of other tools. Both are written while the archive
 * is read; memory does not grow with events.
 *
 * Chrome: the JSON of chrome://tracing, Perfetto and Speedscope. Microseconds with three decimals, exact to the
 * nanosecond, from the start of the run (whole second before the first). A process is a rank, a track a thread or a
 * GPU's stream; process ranges and operations in flight are asynchronous events. CSV: one row per event, start_ns,
 * end_ns and dur_ns in CLOCK_MONOTONIC nanoseconds of its host as recorded; unix_ns is the beginning on the axis of all
 * hosts.
 *
 * That axis, also used for Chrome, is the calendar of rank 0's host. Times of other hosts are put on its clock by
 * the offset and drift of their clock monitors (lib/archive/clocks.h). The largest error is given beside them
 * (clock_error_ns; otherData.clocks, a label of the process). A host that was not measured uses its own calendar,
 * and the error is unknown. */
#ifndef COLLECT_EXPORT_H
#define COLLECT_EXPORT_H

#include "lib/base/err.h"

#include <stddef.h>

enum export_format { EXPORT_BY_NAME, EXPORT_CHROME, EXPORT_CSV };

/** export_archive - writes all traces of an archive into one file, beside its name, and renames it.
 *  output   NULL or "-": standard output
 *  format   EXPORT_BY_NAME: CSV when output ends in .csv; Chrome when in .json or in nothing; another ending is refused
 *  message  one line for people
 *  errors   DCR_FAIL: output has an unknown ending, is the archive itself, or a file that is no export of ours; not an
 * archive, damaged (nothing is written), or one without a single trace */
int export_archive(const char *path, const char *output, enum export_format format, char *message, size_t n,
                   struct dcr_err *err) DCR_MUST_CHECK;

#endif
