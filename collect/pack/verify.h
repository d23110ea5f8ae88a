/* verify.h - does an archive hold what its manifest says, and are its traces sound? The archive is not trusted. */
#ifndef COLLECT_VERIFY_H
#define COLLECT_VERIFY_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

struct verify_report {
    int n_problems;
    char first[768];     /* the first problem, as in dcr_err */
    struct dcr_buf text; /* one line per problem, at most 100 */
    int n_members, n_traces;
    int is_complete; /* from the manifest */
    int is_other;    /* nothing of a run archive was found */
};

/** verify_archive - read the whole archive once.
 *  errors   a negative grade: there is nothing to check (no such file, a folder, no permission), it cannot be read to
 * its end (a disk that fails, no memory), or it is of a later version. Every other fault, also a file that is not an
 * archive, is a problem in the report */
int verify_archive(const char *path, struct verify_report *report, struct dcr_err *err) DCR_MUST_CHECK;
void verify_release(struct verify_report *report);

#endif
