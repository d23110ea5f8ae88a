/* publish_check.h - where a site may be written: a new or an empty folder, or one in which every file is a report's
 * own. Inside publish.c only; publish.h is for the others. */
#ifndef RENDER_SITE_PUBLISH_PUBLISH_CHECK_H
#define RENDER_SITE_PUBLISH_PUBLISH_CHECK_H

#include "render/site/publish/publish.h"

#define PUBLISH_README "README.md" /* belongs to the user, and is kept when a folder is replaced */
/* The first line of the marker. The names of all files follow, one a line. */
#define PUBLISH_MARKER_TEXT "made by dcreport; rendering again replaces this folder, README.md is kept\n"

/** publish_resolve - the real path of out_dir, or of its parent with the last name appended when it does not exist yet.
 *  out     gives, to be freed; NULL after a failure
 *  exists  gives */
int publish_resolve(const char *out_dir, char **out, bool *exists, struct dcr_err *err) DCR_MUST_CHECK;

/** publish_check_existing - may the existing folder at path be replaced? out_dir: what the user called it. */
int publish_check_existing(const char *path, const char *out_dir, struct dcr_err *err) DCR_MUST_CHECK;

/** publish_by_name - order of names, for qsort and bsearch over char *. */
int publish_by_name(const void *a, const void *b);

#endif
