/* outfile.c - see outfile.h. */
#include "lib/base/outfile.h"

#include "lib/base/fs.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The name in one of its two forms. returns 0 when it is too long to be a file's */
static int name_of(const struct dcr_output *o, int i, char out[PATH_MAX])
{
    int n = i == 0 ? snprintf(out, PATH_MAX, "%s", o->path) : snprintf(out, PATH_MAX, "%s.partial", o->path);
    return n > 0 && n < PATH_MAX;
}

static int is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int check_name(const struct dcr_output *o, const char *path, struct dcr_err *err)
{
    char head[DCR_OUTPUT_HEAD + 1];
    struct stat st;
    if (stat(path, &st) != 0)
        return DCR_OK;
    if (S_ISDIR(st.st_mode))
        return dcr_err_set(err, DCR_FAIL, "cannot write '%s': a folder of that name is in the way; choose another name",
                           path);
    if (!S_ISREG(st.st_mode)) /* as in dcr_commit_file, but links are refused too, since /dev/stdout would be
                               * replaced */
        return dcr_err_set(err, DCR_FAIL, "cannot write '%s': it exists and is not a file; choose another name", path);
    if (st.st_size == 0)
        return DCR_OK;
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(head, 1, DCR_OUTPUT_HEAD, f) : 0;
    if (f)
        fclose(f);
    head[n] = '\0';
    if (n == 0 || !o->is_own(head))
        return dcr_err_set(err, DCR_FAIL,
                           "%s '%s' exists and is not %s, so it is not overwritten; remove it or choose another name",
                           o->option, path, o->what);
    return DCR_OK;
}

static int check_folder(const struct dcr_output *o, struct dcr_err *err)
{
    char folder[PATH_MAX];
    struct stat st;
    if (dcr_folder_of(o->path, folder, sizeof folder) == 0 && stat(folder, &st) == 0 && S_ISDIR(st.st_mode))
        return DCR_OK;
    return dcr_err_set(err, DCR_FAIL, "cannot write '%s': there is no folder '%s'; make it first", o->path, folder);
}

int dcr_output_check(const struct dcr_output *o, struct dcr_err *err)
{
    char path[PATH_MAX];
    for (int i = 0; i < 2; i++) {
        if (!name_of(o, i, path))
            return dcr_err_set(err, DCR_FAIL, "%s '%.300s' is no name for a file; choose another", o->option, o->path);
        int rc = check_name(o, path, err);
        if (rc)
            return rc;
    }
    return check_folder(o, err);
}

int dcr_output_spares(const struct dcr_output *o, char *const *inputs, size_t n, struct dcr_err *err)
{
    char path[PATH_MAX];
    struct stat out, in;
    for (int i = 0; i < 2; i++) {
        if (!name_of(o, i, path) || stat(path, &out) != 0 || !S_ISREG(out.st_mode))
            continue;
        for (size_t k = 0; k < n; k++)
            if (stat(inputs[k], &in) == 0 && is_same(&in, &out))
                return dcr_err_set(err, DCR_FAIL,
                                   "%s '%s' is one of the inputs, which would be overwritten; choose another name",
                                   o->option, path);
    }
    return DCR_OK;
}

/* Do two names mean one file: by links that exist, or as the same name in the same folder? */
static int is_one_file(const char *a, const char *b)
{
    char one[PATH_MAX], other[PATH_MAX];
    struct stat x, y;
    if (stat(a, &x) == 0 && stat(b, &y) == 0)
        return S_ISREG(x.st_mode) && is_same(&x, &y);
    if (dcr_resolve(a, one, sizeof one, NULL) == 0 && dcr_resolve(b, other, sizeof other, NULL) == 0)
        return strcmp(one, other) == 0;
    return strcmp(a, b) == 0;
}

int dcr_outputs_differ(const struct dcr_output *a, const struct dcr_output *b, struct dcr_err *err)
{
    char one[PATH_MAX], other[PATH_MAX];
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            if (name_of(a, i, one) && name_of(b, k, other) && is_one_file(one, other))
                return dcr_err_set(err, DCR_FAIL, "%s and %s would both write '%s'; give them different names",
                                   a->option, b->option, one);
    return DCR_OK;
}

void dcr_hold_standard_streams(void)
{
    int fd;
    while ((fd = open("/", O_PATH | O_CLOEXEC)) >= 0 && fd <= STDERR_FILENO)
        ;
    if (fd >= 0)
        close(fd);
}

int dcr_flush_standard_output(struct dcr_err *err)
{
    int is_lost = ferror(stdout);
    if (fflush(stdout) != 0)
        return dcr_err_file(err, DCR_FAIL, "cannot write to standard output");
    return is_lost ? dcr_err_set(err, DCR_FAIL, "cannot write to standard output: part of it was refused") : DCR_OK;
}
