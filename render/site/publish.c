/* publish.c - see publish.h. Called by site.c. Test: tests/unit/test_publish.c */
#include "render/site/publish.h"

#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define README "README.md"
#define README_MAX_BYTES ((size_t)16 << 20)

/* The real path of out_dir, or of its parent with the last name behind when it does not exist yet. */
static int resolve(const char *out_dir, char **out, bool *exists, struct dcr_err *err)
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
            rc = dcr_err_sys(err, DCR_FAIL, "cannot use '%s' as output folder", out_dir);
    } else if (errno != ENOENT) {
        rc = dcr_err_sys(err, DCR_FAIL, "cannot use '%s' as output folder", out_dir);
    } else {
        *exists = false;
        char *slash = strrchr(name, '/');
        const char *last = slash ? slash + 1 : name;
        if (slash)
            *slash = '\0';
        char *parent = realpath(!slash ? "." : slash == name ? "/" : name, NULL);
        if (!parent)
            rc = dcr_err_sys(err, DCR_FAIL, "cannot make output folder '%s': its parent folder", out_dir);
        else if (!strcmp(last, "..") || asprintf(out, "%s/%s", strcmp(parent, "/") ? parent : "", last) < 0)
            rc = dcr_err_set(err, DCR_FATAL, "cannot use '%s' as output folder", out_dir);
        free(parent);
    }
    free(name);
    return rc;
}

/* May the existing folder be replaced? */
static int check_existing(const char *path, const char *out_dir, struct dcr_err *err)
{
    struct stat st;
    char **names = NULL;
    size_t n = 0;
    char *cwd = NULL;
    if (stat(path, &st) != 0)
        return dcr_err_sys(err, DCR_FAIL, "cannot use '%s' as output folder", out_dir);
    if (!S_ISDIR(st.st_mode))
        return dcr_err_set(err, DCR_FAIL, "output '%s' is a file, not a folder; give another name with -o", out_dir);
    int rc = dcr_list_dir(path, &names, &n, err);
    if (rc)
        return rc;
    cwd = getcwd(NULL, 0);
    bool is_ours = false, is_empty = true;
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(names[i], PUBLISH_MARKER))
            is_ours = true;
        if (strcmp(names[i], README) != 0)
            is_empty = false;
    }
    if (!is_ours && !is_empty)
        rc = dcr_err_set(err, DCR_FAIL,
                         "output folder '%s' holds files that dcreport did not make (it has no %s); give an empty or a "
                         "new folder with -o",
                         out_dir, PUBLISH_MARKER);
    else if (!strcmp(path, "/") || (cwd && !strcmp(cwd, path)))
        rc = dcr_err_set(err, DCR_FAIL,
                         "output folder '%s' is the current folder, which cannot be replaced; name another", out_dir);
    free(cwd);
    dcr_free_names(names, n);
    return rc;
}

int publish_check(const char *out_dir, struct dcr_err *err)
{
    char *path = NULL;
    bool exists = false;
    int rc = resolve(out_dir, &path, &exists, err);
    if (rc == 0 && exists)
        rc = check_existing(path, out_dir, err);
    free(path);
    return rc;
}

int publish_begin(struct publish *p, const char *out_dir, struct dcr_err *err)
{
    *p = (struct publish){0};
    int rc = resolve(out_dir, &p->out, &p->exists, err);
    if (rc == 0 && p->exists)
        rc = check_existing(p->out, out_dir, err);
    if (rc)
        return rc;
    char *partial = NULL;
    if (asprintf(&partial, "%s.%ld.partial", p->out, (long)getpid()) < 0)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    if (mkdir(partial, 0777) != 0) {
        rc = dcr_err_sys(err, DCR_FAIL, "cannot make folder '%s' beside the output", partial);
        free(partial);
        return rc;
    }
    p->partial = partial;
    return 0;
}

static bool is_safe_path(const char *path)
{
    const char *part = path;
    for (;;) {
        size_t n = strcspn(part, "/");
        if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.'))
            return false;
        if (!part[n])
            return true;
        part += n + 1;
    }
}

int publish_add(struct publish *p, const char *path, const void *bytes, size_t n, struct dcr_err *err)
{
    if (!is_safe_path(path))
        return dcr_err_set(err, DCR_FAIL, "'%s' cannot be the name of a file of the site", path);
    char *full = NULL;
    if (asprintf(&full, "%s/%s", p->partial, path) < 0)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    int rc = 0;
    char *slash = strrchr(full, '/');
    if ((size_t)(slash - full) > strlen(p->partial)) {
        *slash = '\0';
        rc = dcr_mkdirs(full, err);
        *slash = '/';
    }
    if (rc == 0)
        rc = dcr_write_file(full, bytes, n, err);
    free(full);
    return rc;
}

/* A README.md of the replaced folder is the user's. */
static int keep_readme(struct publish *p, struct dcr_err *err)
{
    struct dcr_buf text = {0};
    char *path = NULL;
    int rc = 0, fd = -1;
    if (asprintf(&path, "%s/" README, p->out) < 0)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        if (errno != ENOENT)
            rc = dcr_err_sys(err, DCR_FAIL, "cannot keep '%s'", path);
        goto out;
    }
    struct dcr_stream s = dcr_stream_fd(&fd, path);
    rc = dcr_stream_slurp(&s, &text, README_MAX_BYTES, err);
    if (rc == 0)
        rc = publish_add(p, README, dcr_buf_text(&text), text.len, err);
out:
    if (fd >= 0)
        close(fd);
    dcr_buf_release(&text);
    free(path);
    return rc;
}

/* Both folders exist: exchange them in one step where the file system can, else by way of a third name. */
static int swap(const struct publish *p, struct dcr_err *err)
{
    if (renameat2(AT_FDCWD, p->partial, AT_FDCWD, p->out, RENAME_EXCHANGE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return dcr_err_sys(err, DCR_FAIL, "cannot replace '%s'", p->out);
    char *aside = NULL;
    if (asprintf(&aside, "%s.old.partial", p->partial) < 0)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    int rc = 0;
    if (rename(p->out, aside) != 0)
        rc = dcr_err_sys(err, DCR_FAIL, "cannot move '%s' aside", p->out);
    else if (rename(p->partial, p->out) != 0) {
        rc = dcr_err_sys(err, DCR_FAIL, "cannot replace '%s'", p->out);
        if (rename(aside, p->out) != 0)
            dcr_err_while(err, "the former site is now at '%s'", aside);
    } else if (rename(aside, p->partial) != 0) {
        rc = dcr_err_sys(err, DCR_FAIL, "the new site is in place; cannot remove the former one, now '%s'", aside);
    }
    free(aside);
    return rc;
}

int publish_commit(struct publish *p, struct dcr_err *err)
{
    static const char marker[] = "made by dcreport; rendering again replaces this folder, README.md is kept\n";
    int rc = 0;
    struct stat st;
    if (p->exists) {
        rc = check_existing(p->out, p->out, err); /* it may have changed meanwhile */
        if (rc == 0)
            rc = keep_readme(p, err);
        if (rc == 0 && stat(p->out, &st) == 0 && chmod(p->partial, st.st_mode & 07777) != 0)
            rc = dcr_err_sys(err, DCR_FAIL, "cannot set the permissions of '%s'", p->partial);
    }
    if (rc == 0)
        rc = publish_add(p, PUBLISH_MARKER, marker, sizeof marker - 1, err);
    if (rc)
        return rc;
    if (p->exists) {
        rc = swap(p, err);
        if (rc == 0) /* what is called partial now is the former site */
            rc = dcr_remove_tree(p->partial, err);
    } else if (rename(p->partial, p->out) != 0) {
        rc = dcr_err_sys(err, DCR_FAIL, "cannot name the finished site '%s'", p->out);
    }
    if (rc == 0) {
        free(p->partial);
        p->partial = NULL;
    }
    return rc;
}

void publish_abort(struct publish *p)
{
    struct dcr_err ignored;
    if (p->partial && dcr_remove_tree(p->partial, &ignored)) {
        /* The first failure is what the user must hear; a leftover is called *.partial. */
    }
    free(p->partial);
    free(p->out);
    *p = (struct publish){0};
}
