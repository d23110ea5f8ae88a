/* options.h - the command line of dcreport. */
#ifndef RENDER_OPTIONS_H
#define RENDER_OPTIONS_H

#include "lib/err.h"

struct options {
    char **archives; /* borrows argv */
    int n_archives;
    const char *out_dir;
    const char *thresholds; /* NULL = defaults */
    const char *theme_dir;  /* NULL = the default theme */
    int nodes;              /* 0 = not given */
    int is_quiet, is_help, is_version;
};

/** options_parse - errors: DCR_FAIL with a sentence that names the option. argv is reordered, archives last. */
int options_parse(struct options *o, int argc, char **argv, struct dcr_err *err) DCR_MUST_CHECK;
/** options_usage - the text of --help. */
const char *options_usage(void);

#endif
