/* publish.h - a folder that appears whole or not at all.
 *
 * Files are written into NAME.<number>.partial beside the output; commit puts the marker file .dcreport in it, which
 * lists them, keeps a README.md of the folder it replaces, and swaps the two by rename. A folder with a file that its
 * marker does not list is refused: that file is the user's. Between begin and abort, signals that end a program are
 * held back until the next file, so that nothing unfinished is left. A dcreport holds a lock on a file in its partial
 * folder. If that lock is free, the dcreport was killed, on any host, and the next one removes the folder. On file
 * systems without locks the folder stays. */
#ifndef RENDER_SITE_PUBLISH_PUBLISH_H
#define RENDER_SITE_PUBLISH_PUBLISH_H

#include "lib/base/err.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#define PUBLISH_MARKER ".dcreport"
#define PUBLISH_UNFINISHED ".dcreport-unfinished" /* in a partial folder: locked while the folder is being made */

enum {
    PUBLISH_SIGNALS = 4,
    PUBLISH_DEPTH = 4 /* of folders in a site; as many descriptors are reserved for removing them */
};

struct publish {
    char *out;     /* resolved, no trailing slash */
    char *partial; /* NULL: nothing begun */
    char *folder;  /* of the file added last; NULL: none yet */
    bool exists;   /* out is a folder to be replaced */
    char **files;  /* what was added, as it came */
    size_t n_files, files_cap;
    bool holds_signals;
    struct sigaction before[PUBLISH_SIGNALS]; /* the former actions of the signals */
    int spare[PUBLISH_DEPTH], n_spare;        /* reserved descriptors */
    int lock;                                 /* descriptor of the locked file; valid if partial is not NULL */
};

/** publish_check - see site_check_out in site.h. */
int publish_check(const char *out_dir, struct dcr_err *err) DCR_MUST_CHECK;

/** publish_check_outside - see site_check_outside in site.h. */
int publish_check_outside(const char *out_dir, const char *option, const char *file,
                          struct dcr_err *err) DCR_MUST_CHECK;

/** publish_begin - check, and make the partial folder.
 *  p   gives; publish_abort releases it, also after commit and after failure */
int publish_begin(struct publish *p, const char *out_dir, struct dcr_err *err) DCR_MUST_CHECK;

/** publish_add - write one file; folders on the way are made. Fails when a signal came.
 *  path    from the site's root; a name with "..", a leading slash, an empty part or more than PUBLISH_DEPTH
 *          folders is refused */
int publish_add(struct publish *p, const char *path, const void *bytes, size_t n, struct dcr_err *err) DCR_MUST_CHECK;

/** publish_remember - a file that another process put into the partial folder. */
int publish_remember(struct publish *p, const char *path, struct dcr_err *err) DCR_MUST_CHECK;

/** publish_commit - swap. After a failure the old folder is still in place. Fails when something in the way appeared
 *  since publish_begin. If two processes replace the same folder, the last one's stays. */
int publish_commit(struct publish *p, struct dcr_err *err) DCR_MUST_CHECK;

/** publish_abort - remove what is unfinished; nothing to do after a commit. Safe on a zeroed struct. A signal that was
 *  held back is delivered now: without a handler for it the process ends here. */
void publish_abort(struct publish *p);

#endif
