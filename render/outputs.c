/* outputs.c - see outputs.h. */
#include "render/outputs.h"

#include "lib/base/outfile.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int begins(const char *head, const char *with)
{
    return strncmp(head, with, strlen(with)) == 0;
}

/* The mark of the default theme's frame.html, filled in. The template itself has no version. */
static int is_single_file(const char *head)
{
    static const char mark[] = "<meta name=\"generator\" content=\"dcreport ";
    const char *at = begins(head, "<!DOCTYPE html>") ? strstr(head, mark) : NULL;
    return at && at[sizeof mark - 1] >= '0' && at[sizeof mark - 1] <= '9';
}

static int is_junit(const char *head)
{
    return begins(head, "<?xml ") && strstr(head, "<testsuites ") && strstr(head, "<testsuite name=\"dcreport\"");
}

static int is_summary(const char *head)
{
    return begins(head, "## dcreport: ");
}

static int check_one(const struct dcr_output *x, const struct options *o, struct dcr_err *err)
{
    char *others[] = {(char *)o->thresholds};
    int rc = dcr_output_spares(x, o->archives, (size_t)o->n_archives, err);
    if (rc == 0)
        rc = dcr_output_spares(x, o->baseline, (size_t)o->n_baseline, err);
    if (rc == 0 && o->thresholds)
        rc = dcr_output_spares(x, others, 1, err);
    return rc ? rc : dcr_output_check(x, err);
}

int outputs_check(const struct options *o, struct dcr_err *err)
{
    const struct dcr_output all[] = {
        {"--single-file", o->single_file, "a report of dcreport in one file", is_single_file},
        {"--junit", o->junit, "a JUnit document of dcreport", is_junit},
        {"--summary", o->summary, "a summary of checks by dcreport", is_summary}};
    enum { N = sizeof all / sizeof *all };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < N; i++) {
        if (!all[i].path)
            continue;
        for (size_t k = 0; rc == 0 && k < i; k++)
            if (all[k].path)
                rc = dcr_outputs_differ(&all[k], &all[i], err);
        if (rc == 0)
            rc = check_one(&all[i], o, err);
    }
    return rc;
}

int outputs_open(const char *out_dir, struct dcr_err *err)
{
    char folder[PATH_MAX], page[PATH_MAX + sizeof "/index.html"];
    if (!realpath(out_dir, folder)) /* a full path, so that no name looks like an option of xdg-open */
        return dcr_err_file(err, DCR_FAIL, "cannot open '%s'", out_dir);
    snprintf(page, sizeof page, "%s/index.html", folder);
    char program[] = "xdg-open", *argv[] = {program, page, NULL};
    pid_t pid;
    int status = 0, failed = posix_spawnp(&pid, program, NULL, NULL, argv, environ);
    if (failed)
        return dcr_err_set(
            err, DCR_FAIL,
            "the report is written, but xdg-open (package xdg-utils) cannot be started: %s; open '%s' in a "
            "browser",
            strerror(failed), page);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status == 0
               ? 0
               : dcr_err_set(
                     err, DCR_FAIL,
                     "the report is written, but xdg-open failed, perhaps because there is no display; open '%s' "
                     "in a browser",
                     page);
}
