/* publish.c - see publish.h. Called by site.c. Test: tests/unit/test_publish.c */
#include "render/site/publish/publish.h"
#include "render/site/publish/publish_check.h"
#include "render/site/publish/publish_guard.h"

#include "lib/base/buf.h"
#include "lib/base/fs.h"
#include "lib/base/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define README_MAX_BYTES ((size_t)16 << 20)

/* Remove the mark of unfinished work from the site that is now in place. */
static int mark_finished(const struct publish *p, struct dcr_err *err)
{
    char *path = NULL;
    int rc = 0;
    if (asprintf(&path, "%s/" PUBLISH_UNFINISHED, p->out) < 0)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    if (unlink(path) != 0 && errno != ENOENT) /* ENOENT: another dcreport has replaced the site already */
        rc = dcr_err_sys(err, DCR_FAIL, "cannot remove '%s'", path);
    free(path);
    return rc;
}

int publish_begin(struct publish *p, const char *out_dir, struct dcr_err *err)
{
    *p = (struct publish){0};
    int rc = publish_resolve(out_dir, &p->out, &p->exists, err);
    if (rc == 0 && p->exists)
        rc = publish_check_existing(p->out, out_dir, err);
    if (rc)
        return rc;
    publish_remove_leftovers(p->out, p->exists);
    publish_hold_signals(p);
    return publish_claim(p, err);
}

int publish_remember(struct publish *p, const char *path, struct dcr_err *err)
{
    if (p->n_files == p->files_cap) {
        size_t cap = p->files_cap ? 2 * p->files_cap : 256;
        char **more = realloc(p->files, cap * sizeof *more);
        if (!more)
            return dcr_err_set(err, DCR_FATAL, "out of memory");
        p->files = more;
        p->files_cap = cap;
    }
    p->files[p->n_files] = strdup(path);
    return p->files[p->n_files++] ? 0 : dcr_err_set(err, DCR_FATAL, "out of memory");
}

/* The marker names every file, so that a file of the user is noticed before it is lost. */
static int add_marker(struct publish *p, struct dcr_err *err)
{
    struct dcr_buf text = {0};
    dcr_buf_puts(&text, PUBLISH_MARKER_TEXT);
    if (p->n_files)
        qsort(p->files, p->n_files, sizeof *p->files, publish_by_name);
    for (size_t i = 0; i < p->n_files; i++)
        dcr_buf_printf(&text, "%s\n", p->files[i]);
    int rc = text.failed ? dcr_err_set(err, DCR_FATAL, "out of memory")
                         : publish_add(p, PUBLISH_MARKER, dcr_buf_text(&text), text.len, err);
    dcr_buf_release(&text);
    return rc;
}

static bool is_safe_path(const char *path)
{
    const char *part = path;
    for (int depth = 0; depth <= PUBLISH_DEPTH; depth++) {
        size_t n = strcspn(part, "/");
        if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.'))
            return false;
        if (!part[n])
            return true;
        part += n + 1;
    }
    return false;
}

/* Files come folder by folder, so the folder of the last file exists. */
static int make_folder(struct publish *p, char *full, struct dcr_err *err)
{
    char *slash = strrchr(full, '/');
    *slash = '\0';
    int rc = p->folder && strcmp(p->folder, full) == 0 ? 0 : dcr_mkdirs(full, err);
    if (rc == 0 && (!p->folder || strcmp(p->folder, full) != 0)) {
        free(p->folder);
        p->folder = strdup(full); /* NULL: asked for again */
    }
    *slash = '/';
    return rc;
}

/* The folder replaces the old one as a whole, so its files are written directly. */
static int write_inside(const char *path, const char *bytes, size_t n, struct dcr_err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666), rc = 0;
    for (ssize_t k; fd >= 0 && n; bytes += k, n -= (size_t)k) {
        k = write(fd, bytes, n);
        if (k < 0 && errno == EINTR)
            k = 0;
        else if (k < 0)
            break;
    }
    if (fd < 0 || n)
        rc = dcr_err_file(err, DCR_FAIL, "cannot write '%s'", path);
    /* On network file systems close commits the data, so its result counts. */
    if (fd >= 0 && close(fd) != 0 && rc == 0)
        rc = dcr_err_file(err, DCR_FAIL, "cannot write '%s'", path);
    return rc;
}

int publish_add(struct publish *p, const char *path, const void *bytes, size_t n, struct dcr_err *err)
{
    if (!is_safe_path(path))
        return dcr_err_set(err, DCR_FAIL, "'%s' cannot be the name of a file of the site", path);
    if (publish_stopped_by())
        return dcr_err_set(err, DCR_FATAL, "stopped by %s; nothing was written", strsignal(publish_stopped_by()));
    char *full = NULL;
    if (asprintf(&full, "%s/%s", p->partial, path) < 0)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    int rc = publish_remember(p, path, err);
    if (rc == 0)
        rc = make_folder(p, full, err);
    if (rc == 0)
        rc = write_inside(full, bytes, n, err);
    free(full);
    return rc;
}

/* A README.md in the replaced folder belongs to the user. */
static int keep_readme(struct publish *p, struct dcr_err *err)
{
    struct dcr_buf text = {0};
    char *path = NULL;
    int rc = 0, fd = -1;
    if (asprintf(&path, "%s/" PUBLISH_README, p->out) < 0)
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
        rc = publish_add(p, PUBLISH_README, dcr_buf_text(&text), text.len, err);
out:
    if (fd >= 0)
        close(fd);
    dcr_buf_release(&text);
    free(path);
    return rc;
}

/* Both folders exist. They are exchanged in one step if the file system can, else through a third name. */
static int swap(const struct publish *p, struct dcr_err *err)
{
    if (renameat2(AT_FDCWD, p->partial, AT_FDCWD, p->out, RENAME_EXCHANGE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return dcr_err_sys(err, DCR_FAIL, "cannot replace '%s'", p->out);
    char *aside = NULL;
    if (asprintf(&aside, "%.*s" PUBLISH_ASIDE, (int)(strlen(p->partial) - strlen(".partial")), p->partial) < 0)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    int rc = 0;
    if (rename(p->out, aside) != 0)
        rc = dcr_err_sys(err, DCR_FAIL, "cannot move '%s' aside", p->out);
    else if (rename(p->partial, p->out) != 0) {
        rc = dcr_err_sys(err, DCR_FAIL, "cannot replace '%s'", p->out);
        if (rename(aside, p->out) != 0)
            dcr_err_while(err, "the former site is now at '%s'", aside);
    } else if (rename(aside, p->partial) != 0 && errno != ENOENT) { /* ENOENT: another dcreport removed it */
        rc = dcr_err_sys(err, DCR_FAIL, "the new site is in place, but the former one, now '%s', cannot be removed",
                         aside);
    }
    free(aside);
    return rc;
}

int publish_commit(struct publish *p, struct dcr_err *err)
{
    int rc = 0;
    struct stat st;
    if (p->exists) {
        rc = publish_check_existing(p->out, p->out, err); /* it may have changed meanwhile */
        if (rc == 0)
            rc = keep_readme(p, err);
        if (rc == 0 && stat(p->out, &st) == 0 && chmod(p->partial, st.st_mode & 07777) != 0)
            rc = dcr_err_sys(err, DCR_FAIL, "cannot set the permissions of '%s'", p->partial);
    }
    if (rc == 0)
        rc = add_marker(p, err);
    if (rc)
        return rc;
    if (p->exists) {
        rc = swap(p, err);
    } else if (rename(p->partial, p->out) != 0) {
        rc =
            errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR
                ? dcr_err_set(err, DCR_FAIL,
                              "'%s' appeared while this report was made, perhaps by another dcreport at the same time, "
                              "and stays as it is; give another folder with -o, or run this again to replace it",
                              p->out)
                : dcr_err_sys(err, DCR_FAIL, "cannot name the finished site '%s'", p->out);
    }
    if (rc == 0)
        rc = mark_finished(p, err);
    if (rc == 0 && p->exists) /* after the swap, p->partial is the former site */
        rc = publish_remove(p, err);
    if (rc == 0) {
        publish_unlock(p);
        free(p->partial);
        p->partial = NULL;
    }
    return rc;
}

void publish_abort(struct publish *p)
{
    struct dcr_err ignored;
    if (p->partial) {
        if (publish_remove(p, &ignored))
            errno = 0; /* the user must see the first failure; the name of what is left over is *.partial */
        publish_unlock(p);
    }
    free(p->partial);
    free(p->folder);
    free(p->out);
    for (size_t i = 0; i < p->n_files; i++)
        free(p->files[i]);
    free(p->files);
    publish_release_signals(p);
    *p = (struct publish){0};
}
