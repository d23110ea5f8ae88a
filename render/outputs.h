/* outputs.h - the files that dcreport writes beside the report, and opening the report. */
#ifndef RENDER_OUTPUTS_H
#define RENDER_OUTPUTS_H

#include "render/options.h"

/** outputs_check - may --single-file, --junit and --summary be written where the options say? Each may create a file or
 *  replace one that the same option wrote. None may replace an input, and no two may share a file. Call before anything
 *  is read.
 *  errors   DCR_FAIL with a sentence that names option and file */
int outputs_check(const struct options *o, struct dcr_err *err) DCR_MUST_CHECK;

/** outputs_open - opens index.html of the folder with xdg-open and waits for xdg-open, which starts a browser and
 * ends. errors   DCR_FAIL: no xdg-open, or it failed. The message says which page to open by hand. */
int outputs_open(const char *out_dir, struct dcr_err *err) DCR_MUST_CHECK;

#endif
