/* outfile.h - files that a user names for a program to write: which existing files a program may replace. */
#ifndef DCR_OUTFILE_H
#define DCR_OUTFILE_H

#include "lib/base/err.h"

#include <stddef.h>

enum { DCR_OUTPUT_HEAD = 16384 }; /* first bytes of a file that identify it */

struct dcr_output {
    const char *option; /* as the user gave it: "--junit" */
    const char *path;
    const char *what; /* what the option writes: "a JUnit document of dcreport" */
    /* Does a file that begins like this come from the same option? head ends in '\0'. */
    int (*is_own)(const char *head);
};

/** dcr_output_check - may the file be written, in place of an existing one? Yes if there is none, if it is empty, or if
 * is_own recognises it. The same holds for the name beside it (".partial") under which it is made. Nothing is written.
 *  errors   DCR_FAIL: a folder, a device, a pipe, or a file that would be lost; no folder to write it into */
int dcr_output_check(const struct dcr_output *o, struct dcr_err *err) DCR_MUST_CHECK;

/** dcr_output_spares - checks that neither the file nor the one beside it is one of the inputs, under any name or link.
 *  inputs   names; shape (n). Missing files are skipped
 *  errors   DCR_FAIL: it is one of them */
int dcr_output_spares(const struct dcr_output *o, char *const *inputs, size_t n, struct dcr_err *err) DCR_MUST_CHECK;

/** dcr_outputs_differ - checks that two outputs, which may not exist yet, are different files.
 *  errors   DCR_FAIL: they are one */
int dcr_outputs_differ(const struct dcr_output *a, const struct dcr_output *b, struct dcr_err *err) DCR_MUST_CHECK;

/** dcr_hold_standard_streams - occupy the numbers of closed standard streams; call it first in main. Otherwise a file
 * of ours could get such a number, and printed text would land in it. Using the stream still fails with EBADF. Until
 * exec.
 */
void dcr_hold_standard_streams(void);

/** dcr_flush_standard_output - has all that was printed arrived?
 *  errors   DCR_FAIL: "cannot write to standard output: ..." */
int dcr_flush_standard_output(struct dcr_err *err) DCR_MUST_CHECK;

#endif
