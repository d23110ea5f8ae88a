/* archive.c - see archive.h. */
#include "collect/pack/archive.h"

#include "collect/pack/verify.h"
#include "lib/archive/manifest_sum.h"
#include "lib/archive/member.h"
#include "lib/archive/tar.h"
#include "lib/base/fs.h"
#include "lib/base/hash.h"
#include "lib/base/progress.h"
#include "lib/trace/trace_end.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct archive_member *)a)->name, ((const struct archive_member *)b)->name);
}

json_t *archive_manifest(void)
{
    /* The checksum stands before all text that may hold anything. */
    return json_pack("{s:s, s:i, s:s}", "format", DCR_ARCHIVE_FORMAT, "version", DCR_ARCHIVE_VERSION, DCR_MANIFEST_SUM,
                     DCR_MANIFEST_NO_SUM);
}

void archive_sort(struct archive_member *members, size_t n)
{
    qsort(members, n, sizeof *members, by_name);
}

/* Bytes up to the last newline. SIGKILL can end a write between two pages of the file, in the middle of a row. */
static int64_t bytes_of_rows(int fd, int64_t size)
{
    char tail[4096];
    while (size > 0) {
        size_t want = size < (int64_t)sizeof tail ? (size_t)size : sizeof tail;
        errno = EIO; /* the file became shorter */
        if (pread(fd, tail, want, size - (int64_t)want) != (ssize_t)want)
            return -1;
        const char *newline = memrchr(tail, '\n', want);
        size -= (int64_t)want;
        if (newline)
            return size + (newline - tail) + 1;
    }
    return 0;
}

/* Bytes of the file that count. A process that was killed, or left by _exit, did not release the space that it had
 * reserved ahead for its trace.
 *  returns  -1 with errno: the file cannot be read */
static int64_t used_bytes(const struct archive_member *m, int fd)
{
    struct stat st;
    if (m->role == DCR_ROLE_TRACE)
        return dct_used_bytes(fd);
    if (fstat(fd, &st) != 0)
        return -1;
    return m->is_monitor ? bytes_of_rows(fd, st.st_size) : st.st_size;
}

int archive_hash(struct archive_member *m, struct dcr_err *err)
{
    int64_t most = INT64_MAX;
    if (m->role == DCR_ROLE_TRACE || m->is_monitor) {
        int fd = open(m->path, O_RDONLY | O_CLOEXEC);
        most = fd >= 0 ? used_bytes(m, fd) : -1;
        int rc = most < 0 ? dcr_err_file(err, DCR_FAIL, "cannot read '%s'", m->path) : DCR_OK;
        if (fd >= 0)
            close(fd);
        if (rc)
            return rc;
    }
    return dcr_sha256_file(m->path, most, m->sha256, &m->size, err);
}

static json_t *entry_of(const struct archive_member *m)
{
    json_t *o = json_object();
    json_object_set_new(o, "name", json_string(m->name));
    json_object_set_new(o, "role", json_string(dcr_role_text(m->role)));
    if (m->kind)
        json_object_set_new(o, "kind", json_string(m->kind));
    if (m->node >= 0)
        json_object_set_new(o, "node", json_integer(m->node));
    if (m->rank >= 0)
        json_object_set_new(o, "rank", json_integer(m->rank));
    if (m->blocks_before)
        json_object_set_new(o, "blocks_before", json_integer(m->blocks_before));
    json_object_set_new(o, "size", json_integer(m->size));
    json_object_set_new(o, "sha256", json_string(m->sha256));
    return o;
}

/* ---- writing ------------------------------------------------------------------------------------ */

struct piece {
    int fd;
    int64_t at, end;
};

static ssize_t read_piece(void *ctx, void *out, size_t n, struct dcr_err *err)
{
    struct piece *piece = ctx;
    size_t want = (int64_t)n < piece->end - piece->at ? n : (size_t)(piece->end - piece->at);
    ssize_t k = want ? pread(piece->fd, out, want, piece->at) : 0;
    if (k < 0)
        return dcr_err_sys(err, DCR_FATAL, "cannot read");
    piece->at += k;
    progress_read(k);
    return k;
}

static int write_piece(struct dcr_tar_writer *w, const struct archive_member *m, int fd, int64_t mtime,
                       struct dcr_err *err)
{
    struct piece piece = {fd, m->offset, m->offset + m->size};
    struct dcr_stream s = {read_piece, &piece, m->path ? m->path : m->name};
    return dcr_tar_add_stream(w, m->name, &s, m->size, mtime, err);
}

/* Writes the bytes that were hashed. The file may have grown since then. */
static int write_file(struct dcr_tar_writer *w, const struct archive_member *m, int64_t mtime, struct dcr_err *err)
{
    int fd = open(m->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return dcr_err_file(err, DCR_FAIL, "cannot read '%s'", m->path);
    int rc = write_piece(w, m, fd, mtime, err);
    if (rc == 0 && used_bytes(m, fd) != m->size)
        rc = dcr_err_set(err, DCR_FAIL, "cannot pack '%s': its size changed meanwhile; pack when the program has ended",
                         m->path);
    close(fd);
    return rc;
}

static int write_member(struct dcr_tar_writer *w, const struct archive_member *m, int64_t mtime, struct dcr_err *err)
{
    if (m->bytes)
        return dcr_tar_add_bytes(w, m->name, m->bytes, (size_t)m->size, mtime, err);
    return m->path ? write_file(w, m, mtime, err) : write_piece(w, m, m->fd, mtime, err);
}

static int check_written(const char *path, struct dcr_err *err)
{
    struct verify_report report = {0};
    int rc = verify_archive(path, &report, err);
    if (rc == 0 && report.n_problems)
        rc =
            dcr_err_set(err, DCR_FAIL, "the archive differs from what was packed (does the program still run?): %.500s",
                        report.first);
    verify_release(&report);
    return rc;
}

/* gives the text of the manifest, sealed; NULL: no memory */
static char *seal(json_t *manifest, const struct archive_member *members, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, entry_of(&members[i]));
    json_object_set_new(manifest, "members", list);
    char *text = json_dumps(manifest, JSON_INDENT(1) | JSON_REAL_PRECISION(14));
    if (text && dcr_manifest_seal(text, strlen(text)) == 0)
        return text;
    free(text);
    return NULL;
}

int archive_write(const char *output, int64_t mtime, json_t *manifest, const struct archive_member *members, size_t n,
                  struct dcr_err *err)
{
    char beside[PATH_MAX];
    struct dcr_tar_writer *w = NULL;
    const char *slash = strrchr(output, '/');
    int k = snprintf(beside, sizeof beside, "%.*s.unverified-%s", slash ? (int)(slash - output + 1) : 0, output,
                     slash ? slash + 1 : output);
    if (k < 0 || (size_t)k >= sizeof beside)
        return dcr_err_set(err, DCR_FATAL, "the name '%.200s...' is too long; choose a shorter one", output);
    char *text = seal(manifest, members, n);
    if (!text)
        return dcr_err_set(err, DCR_FATAL, "out of memory for the manifest");
    int rc = DCR_OK;
    if (dcr_tar_create(&w, output, beside, err) != 0)
        rc = DCR_FATAL; /* the failure does not concern the members, whatever its grade */
    if (rc == 0) {
        int64_t all = 0;
        for (size_t i = 0; i < n; i++)
            all += members[i].size;
        rc = dcr_tar_add_bytes(w, DCR_MANIFEST, text, strlen(text), mtime, err);
        progress_begin("files packed", n, all);
        for (size_t i = 0; i < n && rc == 0; i++) {
            rc = write_member(w, &members[i], mtime, err);
            progress_step(members[i].size);
        }
        progress_end();
        if (rc)
            dcr_tar_abandon(w);
        else
            rc = dcr_tar_commit(w, check_written, err);
    }
    free(text);
    return rc;
}

int archive_nameless(const char *output, int *fd, struct dcr_err *err)
{
    char dir[PATH_MAX];
    *fd = dcr_folder_of(output, dir, sizeof dir) == 0 ? dcr_open_nameless(dir) : -1;
    return *fd >= 0 ? DCR_OK : dcr_err_file(err, DCR_FAIL, "cannot write into folder '%s'", dir);
}

/* ---- for people --------------------------------------------------------------------------------- */

static void put_value(struct dcr_buf *b, const json_t *v)
{
    if (json_is_string(v))
        dcr_buf_puts(b, json_string_value(v));
    else if (json_is_integer(v))
        dcr_buf_printf(b, "%lld", (long long)json_integer_value(v));
    else if (json_is_real(v))
        dcr_buf_printf(b, "%.14g", json_real_value(v));
    else if (json_is_boolean(v))
        dcr_buf_puts(b, json_is_true(v) ? "yes" : "no");
    else
        dcr_buf_puts(b, "unknown");
}

static void put_time(struct dcr_buf *b, const char *label, const json_t *seconds)
{
    char text[64];
    time_t t = (time_t)json_number_value(seconds);
    struct tm tm;
    if (!seconds || !gmtime_r(&t, &tm) || !strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm))
        return;
    dcr_buf_printf(b, "%s: %s\n", label, text);
}

/* Nested objects and lists become indented lines; empty ones are left out. */
static void put_object(struct dcr_buf *b, const json_t *o, int indent)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)o, key, value)
    {
        int is_list = json_is_array(value);
        size_t n = is_list ? json_array_size(value) : json_is_object(value) ? json_object_size(value) : 1;
        if (n == 0)
            continue;
        dcr_buf_printf(b, "%*s%s:", indent, "", key);
        if (json_is_object(value)) {
            dcr_buf_putc(b, '\n');
            put_object(b, value, indent + 2);
            continue;
        }
        int is_nested = json_is_object(json_array_get(value, 0));
        for (size_t i = 0; i < n; i++) {
            const json_t *item = is_list ? json_array_get(value, i) : value;
            if (is_nested) {
                dcr_buf_printf(b, "\n%*s- %zu\n", indent + 2, "", i);
                put_object(b, item, indent + 4);
            } else {
                dcr_buf_putc(b, ' ');
                put_value(b, item);
            }
        }
        if (!is_nested)
            dcr_buf_putc(b, '\n');
    }
}

void archive_metadata_text(const json_t *metadata, struct dcr_buf *out)
{
    const json_t *started = json_object_get(metadata, "started"), *ended = json_object_get(metadata, "ended");
    put_time(out, "start", started);
    put_time(out, "end", ended);
    if (started && ended)
        dcr_buf_printf(out, "duration: %.1f s\n", json_number_value(ended) - json_number_value(started));
    put_object(out, metadata, 0);
}
