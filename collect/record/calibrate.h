/* calibrate.h - dccollect calibrate and the use of its result: starts the measuring program, and takes its file into a
 * run. */
#ifndef COLLECT_CALIBRATION_H
#define COLLECT_CALIBRATION_H

#include "lib/base/err.h"

/** calibrate_start - replaces this process by dccollect-calibrate from the same folder.
 *  argv     the word `calibrate` and the words after it, NULL at the end
 *  errors   DCR_FAIL: it is not there. Does not return otherwise */
int calibrate_start(char *const *argv, struct dcr_err *err) DCR_MUST_CHECK;

/** calibrate_check - is the file a calibration that a report can read?
 *  errors   DCR_FAIL: it is not, or of a later version */
int calibrate_check(const char *path, struct dcr_err *err) DCR_MUST_CHECK;

/** calibrate_copy - check the file and copy it into a spool folder, where pack finds it. */
int calibrate_copy(const char *path, const char *spool, struct dcr_err *err) DCR_MUST_CHECK;

#endif
