/* tar.c - see tar.h. */
#include "lib/archive/tar.h"
#include "lib/base/fs.h"
#include "lib/base/progress.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading ---------------------------------------------------------------------------------- */

struct dcr_tar_reader {
    struct archive *archive;
    char *path;
    char *member;       /* current member's name */
    char *member_path;  /* "archive: member", for messages */
    void *seen;         /* tree of names, by tsearch */
    int64_t read_bytes; /* of the tar, before the next member was requested */
    int64_t told_bytes; /* of the file, already reported to progress_read */
};

static int no_memory(const char *path, struct dcr_err *err)
{
    return dcr_err_mark(err, DCR_ERR_MACHINE, dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", path));
}

/* Did the system fail, and not the content? libarchive passes on errno of the system; its own findings have EILSEQ,
 * EINVAL or a negative number. */
static int is_of_machine(struct archive *a)
{
    int sys = archive_errno(a);
    return sys > 0 && sys != EILSEQ && sys != EINVAL;
}

static int machine_failed(const struct dcr_tar_reader *r, int grade, struct dcr_err *err)
{
    dcr_err_set(err, grade, "cannot read '%s': %s: %s; copy it to another disk, or free memory", r->path,
                archive_error_string(r->archive), strerror(archive_errno(r->archive)));
    return dcr_err_mark(err, DCR_ERR_MACHINE, grade);
}

/* libarchive has words for it, but no number. A tar without compression that ends early is told by its member. */
static int ends_early(const struct dcr_tar_reader *r)
{
    const char *why = archive_error_string(r->archive);
    return why && strncasecmp(why, "truncated ", 10) == 0 && archive_filter_code(r->archive, 0) != ARCHIVE_FILTER_NONE;
}

static int cut(const struct dcr_tar_reader *r, int grade, struct dcr_err *err)
{
    return dcr_err_set(err, grade, "'%s' is incomplete: its compressed data end early; copy or pack it again", r->path);
}

static int no_archive(const struct dcr_tar_reader *r, int grade, struct dcr_err *err)
{
    if (is_of_machine(r->archive))
        return machine_failed(r, grade, err);
    if (ends_early(r))
        return cut(r, grade, err);
    dcr_err_set(err, grade, "cannot read '%s': it is not a tar archive (%s); name an archive that dccollect packed",
                r->path, archive_error_string(r->archive));
    return dcr_err_mark(err, DCR_ERR_NO_ARCHIVE, grade);
}

/* Accepted names hold no control characters, so they are safe in one-line messages. */
int dcr_tar_name_is_safe(const char *name)
{
    if (name[0] == '\0' || name[0] == '/' || strlen(name) > 4096)
        return 0;
    for (const char *s = name; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f || *s == '\\')
            return 0;
    for (const char *part = name; part;) {
        const char *slash = strchr(part, '/');
        size_t n = slash ? (size_t)(slash - part) : strlen(part);
        if (n == 2 && part[0] == '.' && part[1] == '.')
            return 0;
        part = slash ? slash + 1 : NULL;
    }
    return 1;
}

/* A collector packs the archive last. Until then, or if that failed or it was killed, there is only its spool. errno is
 * set. */
static int cannot_stat(const char *path, struct dcr_err *err)
{
    char spool[PATH_MAX];
    struct stat st;
    int sys = errno, n = snprintf(spool, sizeof spool, "%s.spool", path);
    if (sys == ENOENT && n < (int)sizeof spool && stat(spool, &st) == 0 && S_ISDIR(st.st_mode))
        return dcr_err_set(err, DCR_FAIL,
                           "there is no '%s', but a recording beside it; when the program has ended, use "
                           "`dccollect pack %s -o %s`",
                           path, spool, path);
    errno = sys;
    return dcr_err_file(err, DCR_FAIL, "cannot read '%s'", path);
}

int dcr_tar_open(struct dcr_tar_reader **out, const char *path, struct dcr_err *err)
{
    *out = NULL;
    struct stat st;
    if (stat(path, &st) != 0)
        return cannot_stat(path, err);
    if (dcr_check_is_file(&st, path, err))
        return DCR_FAIL;
    if (S_ISDIR(st.st_mode))
        return dcr_err_set(err, DCR_FAIL, "cannot read '%s': it is a folder; pack it first with 'dccollect pack'",
                           path);
    if (st.st_size == 0)
        return dcr_err_set(err, DCR_FAIL, "'%s' is empty; copy or pack it again", path);

    if (access(path, R_OK) != 0) /* libarchive only says that it failed to open it */
        return dcr_err_file(err, DCR_FAIL, "cannot read '%s'", path);

    struct dcr_tar_reader *r = calloc(1, sizeof *r);
    if (!r || !(r->path = strdup(path)) || !(r->archive = archive_read_new())) {
        dcr_tar_close(r);
        return no_memory(path, err);
    }
    archive_read_support_format_tar(r->archive);
    archive_read_support_filter_gzip(r->archive);
    archive_read_support_filter_zstd(r->archive);
    if (archive_read_open_filename(r->archive, path, 65536) != ARCHIVE_OK) {
        int rc = no_archive(r, DCR_FAIL, err);
        dcr_tar_close(r);
        return rc;
    }
    *out = r;
    return 0;
}

static int damaged(const struct dcr_tar_reader *r, const char *where, struct dcr_err *err)
{
    if (is_of_machine(r->archive))
        return machine_failed(r, DCR_FATAL, err);
    if (ends_early(r))
        return cut(r, DCR_FATAL, err);
    return dcr_err_set(err, DCR_FATAL,
                       "cannot read '%s': damaged or cut short %s member '%s' (%s); copy or pack it again", r->path,
                       where, r->member, archive_error_string(r->archive));
}

static ssize_t member_read(void *ctx, void *out, size_t n, struct dcr_err *err)
{
    struct dcr_tar_reader *r = ctx;
    la_ssize_t k = archive_read_data(r->archive, out, n);
    int64_t at = archive_filter_bytes(r->archive, -1);
    progress_read(at - r->told_bytes);
    r->told_bytes = at;
    if (k < 0)
        return damaged(r, "in", err);
    return k;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Remembers the name; DCR_FATAL when it was seen before. */
static int check_new_name(struct dcr_tar_reader *r, struct dcr_err *err)
{
    char *copy = strdup(r->member);
    void *node = copy ? tsearch(copy, &r->seen, compare_names) : NULL;
    if (!node) {
        free(copy);
        return no_memory(r->path, err);
    }
    if (*(char **)node != copy) {
        free(copy);
        return dcr_err_set(err, DCR_FATAL, "cannot trust '%s': member '%s' is there twice; pack it again", r->path,
                           r->member);
    }
    return 0;
}

/* Keeps the name of the entry; DCR_FATAL when it is not one of a plain file inside the archive. */
static int accept_member(struct dcr_tar_reader *r, struct archive_entry *entry, struct dcr_err *err)
{
    const char *name = archive_entry_pathname(entry);
    if (!name) /* a UTF-8 name that the locale cannot hold */
        name = archive_entry_pathname_utf8(entry);
    if (!name)
        return dcr_err_set(err, DCR_FATAL, "cannot trust '%s': a member has an unreadable name; pack it again",
                           r->path);
    while (name[0] == '.' && name[1] == '/') /* `tar cf x.tar .` writes "./name" */
        name += 2;
    free(r->member);
    free(r->member_path);
    r->member_path = NULL;
    r->member = strdup(name);
    if (!r->member || asprintf(&r->member_path, "%s: %s", r->path, name) < 0)
        return no_memory(r->path, err);
    if (!dcr_tar_name_is_safe(name))
        return dcr_err_set(err, DCR_FATAL,
                           "cannot trust '%s': member '%.200s' points outside the archive; pack it again", r->path,
                           name);
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry))
        return dcr_err_set(err, DCR_FATAL,
                           "cannot trust '%s': member '%.200s' is not a plain file (a link or device); pack it again",
                           r->path, name);
    return check_new_name(r, err);
}

int dcr_tar_next(struct dcr_tar_reader *r, struct dcr_tar_member *out, struct dcr_err *err)
{
    for (;;) {
        struct archive_entry *entry;
        r->read_bytes = archive_filter_bytes(r->archive, 0);
        int rc = archive_read_next_header(r->archive, &entry);
        if (rc == ARCHIVE_EOF && !r->member)
            return dcr_err_mark(
                err, DCR_ERR_NO_ARCHIVE,
                dcr_err_set(err, DCR_FATAL,
                            "cannot read '%s': it is not a tar archive; name an archive that dccollect packed",
                            r->path));
        if (rc == ARCHIVE_EOF)
            return DCR_END;
        if (rc < ARCHIVE_WARN) {
            if (!r->member)
                return no_archive(r, DCR_FATAL, err);
            return damaged(r, "after", err);
        }
        if (archive_entry_filetype(entry) == AE_IFDIR) {
            const char *name = archive_entry_pathname(entry);
            if (name && (strcmp(name, ".") == 0 || strcmp(name, "./") == 0 || dcr_tar_name_is_safe(name)))
                continue;
        }
        rc = accept_member(r, entry, err);
        if (rc)
            return rc;
        out->name = r->member;
        out->size_bytes = archive_entry_size(entry);
        out->stream = (struct dcr_stream){member_read, r, r->member_path};
        return 0;
    }
}

int dcr_tar_check_end(const struct dcr_tar_reader *r, struct dcr_err *err)
{
    enum { BLOCK = 512 };
    char piece[1 << 14];
    int64_t members = (r->read_bytes + BLOCK - 1) / BLOCK * BLOCK, at = members;
    if (archive_filter_code(r->archive, 0) != ARCHIVE_FILTER_NONE)
        return DCR_OK;
    int fd = open(r->path, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;
    for (; fd >= 0 && (n = pread(fd, piece, sizeof piece, (off_t)at)) > 0; at += n)
        for (ssize_t i = 0; i < n; i++)
            if (piece[i]) {
                close(fd);
                return dcr_err_set(err, DCR_FAIL,
                                   "something lies after the end of the tar, from byte %lld on, that is not one of its "
                                   "members (another archive, or garbage); copy or pack it again",
                                   (long long)(at + i));
            }
    if (n < 0)
        dcr_err_mark(err, DCR_ERR_MACHINE, dcr_err_file(err, DCR_FAIL, "cannot read '%s'", r->path));
    if (fd >= 0)
        close(fd);
    if (n == 0 && at < members + 2 * BLOCK)
        return dcr_err_set(err, DCR_FAIL,
                           "the end of the tar is missing: its members are whole, but the file was cut after them; "
                           "copy or pack it again");
    return n < 0 ? DCR_FAIL : DCR_OK;
}

void dcr_tar_close(struct dcr_tar_reader *r)
{
    if (!r)
        return;
    archive_read_free(r->archive);
    tdestroy(r->seen, free);
    free(r->path);
    free(r->member);
    free(r->member_path);
    free(r);
}

/* ---- writing ---------------------------------------------------------------------------------- */

struct dcr_tar_writer {
    struct archive *archive;
    struct archive_entry *entry;
    char *path, *partial;
    int fd;
    int write_errno; /* of the first failed write, or 0 */
};

/* The write callback of libarchive. It never reports a failure, because libarchive 3.6.2 then leaks its buffers and the
 * compressor's. The callers check write_errno instead. */
static la_ssize_t write_bytes(struct archive *a, void *ctx, const void *bytes, size_t n)
{
    (void)a;
    struct dcr_tar_writer *w = ctx;
    if (!w->write_errno && dcr_write_all(w->fd, bytes, n) != 0)
        w->write_errno = errno;
    return (la_ssize_t)n;
}

static int writer_fail(struct dcr_tar_writer *w, struct dcr_err *err)
{
    errno = w->write_errno ? w->write_errno : archive_errno(w->archive);
    if (errno > 0)
        return dcr_err_file(err, DCR_FATAL, "cannot write '%s'", w->path);
    return dcr_err_set(err, DCR_FATAL, "cannot write '%s': %s", w->path, archive_error_string(w->archive));
}

static char *name_beside(const char *path, const char *beside)
{
    char *name;
    return asprintf(&name, "%s%s", beside ? beside : path, beside ? "" : ".partial") < 0 ? NULL : name;
}

int dcr_tar_create(struct dcr_tar_writer **out, const char *path, const char *beside, struct dcr_err *err)
{
    *out = NULL;
    int rc = 0;
    struct dcr_tar_writer *w = calloc(1, sizeof *w);
    if (!w)
        return dcr_err_set(err, DCR_FATAL, "out of memory writing '%s'", path);
    w->fd = -1;
    if (!(w->path = strdup(path)) || !(w->partial = name_beside(path, beside)) || !(w->archive = archive_write_new()) ||
        !(w->entry = archive_entry_new())) {
        rc = dcr_err_set(err, DCR_FATAL, "out of memory writing '%s'", path);
        goto out;
    }
    if (dcr_open_partial(path, w->partial, &w->fd, err) != 0) {
        w->fd = -1;
        rc = DCR_FATAL;
        goto out;
    }
    archive_write_set_format_pax_restricted(w->archive);
    if (dcr_ends_with(path, ".zst")) {
        if (archive_write_add_filter_zstd(w->archive) < ARCHIVE_WARN) {
            rc = dcr_err_set(err, DCR_FATAL, "cannot write '%s': %s; end its name in .tar", path,
                             archive_error_string(w->archive));
            goto out;
        }
    }
    archive_write_set_bytes_in_last_block(w->archive, 1); /* no padding, as libarchive does for files */
    if (archive_write_open(w->archive, w, NULL, write_bytes, NULL) != ARCHIVE_OK)
        rc = writer_fail(w, err);
out:
    if (rc) {
        dcr_tar_abandon(w);
        w = NULL;
    }
    *out = w;
    return rc;
}

static int begin_member(struct dcr_tar_writer *w, const char *name, int64_t size_bytes, int64_t mtime,
                        struct dcr_err *err)
{
    if (!dcr_tar_name_is_safe(name))
        return dcr_err_set(err, DCR_FAIL, "cannot pack '%.200s': not a name for a member; rename the file", name);
    archive_entry_clear(w->entry);
    /* Names are bytes to us: in the C locale, the only one here, libarchive warns about one that is not ASCII and marks
     * it as bytes. Marking all of them (hdrcharset=BINARY) would make GNU tar grumble about every member. */
    archive_entry_set_pathname(w->entry, name);
    archive_entry_set_filetype(w->entry, AE_IFREG);
    archive_entry_set_perm(w->entry, 0644);
    archive_entry_set_size(w->entry, size_bytes);
    archive_entry_set_mtime(w->entry, (time_t)mtime, 0);
    if (archive_write_header(w->archive, w->entry) < ARCHIVE_WARN || w->write_errno)
        return writer_fail(w, err);
    return 0;
}

int dcr_tar_add_bytes(struct dcr_tar_writer *w, const char *name, const void *bytes, size_t n, int64_t mtime,
                      struct dcr_err *err)
{
    int rc = begin_member(w, name, (int64_t)n, mtime, err);
    if (rc)
        return rc;
    return n && (archive_write_data(w->archive, bytes, n) != (la_ssize_t)n || w->write_errno) ? writer_fail(w, err) : 0;
}

int dcr_tar_add_stream(struct dcr_tar_writer *w, const char *name, struct dcr_stream *s, int64_t size_bytes,
                       int64_t mtime, struct dcr_err *err)
{
    char piece[65536];
    int64_t left = size_bytes;
    int rc = begin_member(w, name, size_bytes, mtime, err);
    while (rc == 0) {
        ssize_t k = s->read(s->ctx, piece, sizeof piece, err);
        if (k < 0)
            rc = dcr_err_while(err, "reading '%s'", s->name);
        else if (k > left || (k == 0 && left > 0))
            rc = dcr_err_set(err, DCR_FAIL,
                             "cannot pack '%s': its size changed meanwhile; pack when the program has ended", s->name);
        else if (k > 0 && (archive_write_data(w->archive, piece, (size_t)k) != k || w->write_errno))
            rc = writer_fail(w, err);
        if (rc || k == 0)
            break;
        left -= k;
    }
    return rc;
}

int dcr_tar_commit(struct dcr_tar_writer *w, int (*check)(const char *partial, struct dcr_err *err),
                   struct dcr_err *err)
{
    int rc = 0;
    if (archive_write_close(w->archive) != ARCHIVE_OK || w->write_errno)
        rc = writer_fail(w, err);
    if (rc == 0 && fsync(w->fd) != 0 && errno != EINVAL && errno != EROFS)
        rc = dcr_err_file(err, DCR_FATAL, "cannot write '%s'", w->path);
    if (rc == 0 && check)
        rc = check(w->partial, err);
    if (rc == 0 && dcr_commit_file(w->fd, w->partial, w->path, err) != 0)
        rc = DCR_FATAL;
    if (rc == 0) {
        free(w->partial);
        w->partial = NULL;
        rc = dcr_sync_folder(w->path, err) != 0 ? DCR_FATAL : DCR_OK;
    }
    dcr_tar_abandon(w);
    return rc;
}

void dcr_tar_abandon(struct dcr_tar_writer *w)
{
    if (!w)
        return;
    if (!w->write_errno)
        w->write_errno = ECANCELED; /* archive_write_free would fill the rest of the member with zeros; do not write
                                     * them */
    archive_write_free(w->archive);
    archive_entry_free(w->entry);
    if (w->fd >= 0 && w->partial) /* before the close, after which another process may own the file */
        unlink(w->partial);
    if (w->fd >= 0)
        close(w->fd);
    free(w->path);
    free(w->partial);
    free(w);
}
