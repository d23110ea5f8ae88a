/* options.h - the command line of dcreport. */
#ifndef RENDER_OPTIONS_H
#define RENDER_OPTIONS_H

#include "lib/base/err.h"

#include <glob.h>

struct options {
    char **archives; /* words of argv, or of found; shape (n_archives) */
    int n_archives;
    glob_t found;    /* the .tar files of results/ if no archive was named; else gl_pathc is 0 */
    char **baseline; /* the runs before; shape (n_baseline), 0 = nothing to compare with */
    int n_baseline;
    const char **checks; /* rules; shape (n_checks) */
    int n_checks;
    const char *junit, *summary; /* further files for the checks; NULL = none */
    const char *out_dir;         /* NULL = no site, only with checks */
    const char *thresholds;      /* NULL = defaults */
    const char *theme_dir;       /* NULL = the default theme */
    const char *single_file;     /* NULL = none */
    int nodes;                   /* 0 = not given */
    int is_open;                 /* open the page after writing it */
    int is_quiet, is_help, is_version, is_phrasebook;
};

/** options_parse - Without an archive, a baseline and a check it reads the .tar files of results/. It then writes site/
 * unless -o names another folder. Errors: DCR_FAIL with a sentence that names the option. Borrows argv; free with
 * options_release, also after an error. */
int options_parse(struct options *o, int argc, char **argv, struct dcr_err *err) DCR_MUST_CHECK;
void options_release(struct options *o);
/** options_usage - the text of --help. */
const char *options_usage(void);

#endif
