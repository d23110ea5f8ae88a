/* publish_check.c - see publish_check.h. Called by publish.c and site.c. Test: tests/unit/test_publish.c */
#include "render/site/publish/publish_check.h"
#include "render/site/publish/publish_guard.h"

#include "lib/base/fs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARKER_MAX_BYTES ((size_t)64 << 20)

int publish_resolve(const char *out_dir, char **out, bool *exists, struct dcr_err *err)
{
    *out = NULL;
    char *name = strdup(out_dir);
    if (!name)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    size_t n = strlen(name);
    while (n > 1 && name[n - 1] == '/')
        name[--n] = '\0';
    int rc = 0;
    struct stat st;
    if (n == 0)
        rc = dcr_err_set(err, DCR_FAIL, "the output folder has no name; give one with -o DIR");
    else if (lstat(name, &st) == 0) {
        *exists = true;
        *out = realpath(name, NULL);
        if (!*out)
            rc = dcr_err_file(err, DCR_FAIL, "cannot use '%s' as output folder", out_dir);
    } else if (errno != ENOENT) {
        rc = dcr_err_file(err, DCR_FAIL, "cannot use '%s' as output folder", out_dir);
    } else {
        *exists = false;
        char *slash = strrchr(name, '/');
        const char *last = slash ? slash + 1 : name;
        if (slash)
            *slash = '\0';
        char *parent = realpath(!slash ? "." : slash == name ? "/" : name, NULL);
        if (!parent)
            rc = dcr_err_set(err, DCR_FAIL, "cannot create folder '%s': there is no folder '%s'; make it first",
                             out_dir, name);
        else if (!strcmp(last, "..") || asprintf(out, "%s/%s", strcmp(parent, "/") ? parent : "", last) < 0)
            rc = dcr_err_set(err, DCR_FATAL, "cannot use '%s' as output folder; give another folder with -o", out_dir);
        free(parent);
    }
    free(name);
    return rc;
}

int publish_by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct listed {
    char **names; /* sorted; into the text of the marker */
    size_t n;
};

/* Refuses at the first file below dir that is not listed. `inside` is dir's path from the root of the site. */
static int check_listed(const struct listed *x, const char *dir, const char *inside, struct dcr_err *err)
{
    char **names = NULL;
    size_t n = 0;
    int rc = dcr_list_dir(dir, &names, &n, err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        char *full = NULL, *name = NULL;
        struct stat st;
        if (asprintf(&full, "%s/%s", dir, names[i]) < 0 || asprintf(&name, "%s%s", inside, names[i]) < 0) {
            rc = dcr_err_set(err, DCR_FATAL, "out of memory");
        } else if (lstat(full, &st) == 0 && S_ISDIR(st.st_mode)) {
            char *below = NULL;
            rc = asprintf(&below, "%s/", name) < 0 ? dcr_err_set(err, DCR_FATAL, "out of memory")
                                                   : check_listed(x, full, below, err);
            free(below);
        } else if (strcmp(name, PUBLISH_MARKER) != 0 && strcmp(name, PUBLISH_README) != 0 &&
                   strcmp(name, PUBLISH_UNFINISHED) != 0 &&
                   !bsearch(&name, x->names, x->n, sizeof *x->names, publish_by_name)) {
            rc = dcr_err_set(err, DCR_FAIL,
                             "'%s' is not dcreport's and would be lost when the report is replaced; move it away or "
                             "give another folder with -o",
                             full);
        }
        free(full);
        free(name);
    }
    dcr_free_names(names, n);
    return rc;
}

/* Are all files at path the report's own? Markers of earlier versions list no files, so it is unknown for them. */
static int check_own_files(const char *path, struct dcr_err *err)
{
    struct dcr_buf text = {0};
    struct listed x = {0};
    char *marker = NULL;
    int rc = asprintf(&marker, "%s/" PUBLISH_MARKER, path) < 0
                 ? dcr_err_set(err, DCR_FATAL, "out of memory")
                 : publish_read_whole(marker, MARKER_MAX_BYTES, &text, err);
    char *line = rc == 0 && text.len > strlen(PUBLISH_MARKER_TEXT) ? text.data + strlen(PUBLISH_MARKER_TEXT) : NULL;
    if (line) {
        for (const char *c = line; *c; c++)
            x.n += *c == '\n';
        x.names = calloc(x.n + 1, sizeof *x.names);
        if (!x.names)
            rc = dcr_err_set(err, DCR_FATAL, "out of memory");
        x.n = 0;
        for (char *end; x.names && (end = strchr(line, '\n')); line = end + 1) {
            *end = '\0';
            x.names[x.n++] = line;
        }
        if (rc == 0 && x.n)
            qsort(x.names, x.n, sizeof *x.names, publish_by_name);
        if (rc == 0)
            rc = check_listed(&x, path, "", err);
    }
    free(x.names);
    free(marker);
    dcr_buf_release(&text);
    return rc;
}

int publish_check_existing(const char *path, const char *out_dir, struct dcr_err *err)
{
    struct stat st;
    char **names = NULL;
    size_t n = 0;
    char *cwd = NULL;
    if (stat(path, &st) != 0)
        return dcr_err_file(err, DCR_FAIL, "cannot use '%s' as output folder", out_dir);
    if (!S_ISDIR(st.st_mode))
        return dcr_err_set(err, DCR_FAIL,
                           "cannot create folder '%s': a file of that name is in the way; give another folder with -o",
                           out_dir);
    if (access(path, R_OK | W_OK | X_OK) != 0)
        return dcr_err_file(err, DCR_FAIL, "cannot write into folder '%s'", out_dir);
    int rc = dcr_list_dir(path, &names, &n, err);
    if (rc)
        return rc;
    cwd = getcwd(NULL, 0);
    bool is_ours = false, is_empty = true;
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(names[i], PUBLISH_MARKER))
            is_ours = true;
        if (strcmp(names[i], PUBLISH_README) != 0)
            is_empty = false;
    }
    if (!is_ours && !is_empty)
        rc = dcr_err_set(
            err, DCR_FAIL,
            "output folder '%s' was not made by dcreport and holds files; give an empty or a new folder with -o",
            out_dir);
    else if (!strcmp(path, "/") || (cwd && !strcmp(cwd, path)))
        rc = dcr_err_set(
            err, DCR_FAIL,
            "output folder '%s' is the current folder, which cannot be replaced; give another folder with -o", out_dir);
    else if (is_ours)
        rc = check_own_files(path, err);
    free(cwd);
    dcr_free_names(names, n);
    return rc;
}

int publish_check(const char *out_dir, struct dcr_err *err)
{
    char *path = NULL;
    bool exists = false;
    int rc = publish_resolve(out_dir, &path, &exists, err);
    if (rc == 0 && exists)
        rc = publish_check_existing(path, out_dir, err);
    free(path);
    return rc;
}

int publish_check_outside(const char *out_dir, const char *option, const char *file, struct dcr_err *err)
{
    char *out = NULL, *at = NULL, *name = strdup(file);
    bool exists = false;
    int rc = name ? publish_resolve(out_dir, &out, &exists, err) : dcr_err_set(err, DCR_FATAL, "out of memory");
    struct dcr_err ignored;
    for (char *slash; rc == 0 && *name && publish_resolve(name, &at, &exists, &ignored);
         *slash = '\0') { /* a folder that does not exist yet */
        slash = strrchr(name, '/');
        if (!slash)
            break;
    }
    size_t n = rc == 0 ? strlen(out) : 0;
    if (rc == 0 && at && strncmp(at, out, n) == 0 && (!at[n] || at[n] == '/'))
        rc = dcr_err_set(err, DCR_FAIL,
                         "%s '%s' lies in the output folder '%s', which is replaced as a whole; give a name outside it",
                         option, file, out_dir);
    free(at);
    free(out);
    free(name);
    return rc;
}
