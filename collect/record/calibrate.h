/* calibrate.h - dccollect calibrate and what becomes of its result: starting the program that measures, and taking its
 * file into a run. */
#ifndef COLLECT_CALIBRATION_H
#define COLLECT_CALIBRATION_H

#include "lib/base/err.h"

/** calibrate_start - replaces this process by dccollect-calibrate, which lies beside it.
 *  argv     the word `calibrate` and those behind it, NULL at the end
 *  errors   DCR_FAIL: it is not there. Does not return otherwise */
int calibrate_start(char *const *argv, struct dcr_err *err) DCR_MUST_CHECK;

/** calibrate_check - is the file a calibration that a report can read?
 *  errors   DCR_FAIL: it is none, or of a later version */
int calibrate_check(const char *path, struct dcr_err *err) DCR_MUST_CHECK;

/** calibrate_copy - check the file and copy it into a spool folder, where pack finds it. */
int calibrate_copy(const char *path, const char *spool, struct dcr_err *err) DCR_MUST_CHECK;

/** calibrate_disturbed - how many measurements of the file were taken while something else was at work. */
int calibrate_disturbed(const char *path);

#endif
