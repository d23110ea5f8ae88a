/* site.h - makes a folder that can be opened from a finished report: the last stage of the renderer.
 *
 * Everything is built in a folder beside the output and swapped in whole. Nothing outside those two is touched. */
#ifndef RENDER_SITE_SITE_H
#define RENDER_SITE_SITE_H

#include "render/metrics/report.h"
#include "render/model/watch.h"
#include "render/read/inputs.h"

/** site_watch - what timelines need of the traces while they are read: for run_watch. Without it they are read again.
 */
const struct run_watch *site_watch(void);

struct site_options {
    const char *out_dir;     /* -o */
    const char *theme_dir;   /* --theme; NULL or "": the default theme, found beside the program */
    const char *single_file; /* --single-file: also write the whole report as one file, here; NULL: no */
    /* The inputs and the runs they became. Timelines need them, because runs do not keep every range. borrows; shape
     * (n_inputs); 0: timelines of steps only */
    const struct input *inputs;
    struct run *const *runs;
    int n_inputs;
};

/** site_check_out - may a site be put at out_dir? Call it before the long work. Yes for a name that does not exist (its
 *  parent must), an empty folder, a folder holding only README.md, or a site made by dcreport (it carries the file
 *  .dcreport).
 *  errors   DCR_FAIL with one sentence otherwise; nothing is touched */
int site_check_out(const char *out_dir, struct dcr_err *err) DCR_MUST_CHECK;

/** site_check_outside - DCR_FAIL when a file that is written beside the site would lie in it: it would be lost, or be
 * in the way of the next report. option   what the file was given with, for the sentence; neither the file nor out_dir
 * needs to exist */
int site_check_outside(const char *out_dir, const char *option, const char *file, struct dcr_err *err) DCR_MUST_CHECK;

/** site_publish - draw, write and swap in the whole site. A README.md in an existing folder is kept.
 *  rep      borrows; complete with its documents
 *  errors   DCR_FAIL: the output is refused, the theme is wrong (template and line are named), the disk is full, ...;
 *           the former content of out_dir is still there, and the unfinished folder is removed */
int site_publish(const struct report *rep, const struct site_options *opt, struct dcr_err *err) DCR_MUST_CHECK;

#endif
