/* source.c - the list of sources, their rows and output files. See source.h. */
#include "collect/monitor/source.h"

#include "collect/monitor/thin.h"
#include "lib/base/csv.h"
#include "lib/base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct source *const *source_all(void)
{
    static const struct source *const all[] = {&source_cpu, &source_memory,  &source_disk,  &source_net,
                                               &source_gpu, &source_process, &source_clock, NULL};
    return all;
}

/* An hour at ten samples a second of one process or processor is 5 to 7 MB, and the newer half stays whole. */
enum { OUTPUT_BYTES = 16 << 20 };

struct output {
    char *name;
    int fd;
    size_t bytes;
    int is_thinned; /* rows have one more cell */
};

struct outputs {
    char *spool, *host_dir;
    struct dcr_buf rows; /* of the current sample */
    size_t most_bytes;   /* limit of one file */
    struct output *files;
    size_t n, cap;
};

struct outputs *outputs_open(const char *spool, const char *host_dir)
{
    struct outputs *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    o->spool = strdup(spool);
    o->host_dir = strdup(host_dir ? host_dir : "");
    o->most_bytes = OUTPUT_BYTES;
    if (o->spool && o->host_dir)
        return o;
    outputs_close(o);
    return NULL;
}

void outputs_bound(struct outputs *o, size_t bytes)
{
    o->most_bytes = bytes;
}

void outputs_close(struct outputs *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->n; i++) {
        if (o->files[i].fd >= 0)
            close(o->files[i].fd);
        free(o->files[i].name);
    }
    dcr_buf_release(&o->rows);
    free(o->files);
    free(o->spool);
    free(o->host_dir);
    free(o);
}

/* Append all bytes or, on a full disk, none: a truncated row would be read as a different one. */
static int append_whole(int fd, const char *bytes, size_t n)
{
    struct stat before;
    if (fstat(fd, &before) != 0)
        return -1;
    if (dcr_write_all(fd, bytes, n) == 0)
        return 0;
    int why = errno, is_cut = S_ISREG(before.st_mode) && ftruncate(fd, before.st_size) == 0;
    (void)is_cut; /* the write's failure is reported in any case */
    errno = why;
    return -1;
}

static struct output *open_output(struct outputs *o, const char *name, const char *header, struct dcr_err *err)
{
    char path[PATH_MAX];
    if (o->n == o->cap) {
        size_t cap = o->cap ? 2 * o->cap : 16;
        struct output *bigger = realloc(o->files, cap * sizeof *bigger);
        if (!bigger) {
            dcr_err_set(err, DCR_FAIL, "out of memory");
            return NULL;
        }
        o->files = bigger;
        o->cap = cap;
    }
    int n = snprintf(path, sizeof path, "%s/%s", o->spool, name);
    if (n < 0 || (size_t)n >= sizeof path) {
        dcr_err_set(err, DCR_FAIL, "the name '%.200s...' is too long; choose a shorter one", name);
        return NULL;
    }
    char *slash = strrchr(path, '/');
    *slash = '\0';
    if (dcr_mkdirs(path, err) != 0)
        return NULL;
    *slash = '/';
    struct dcr_buf head = {0};
    dcr_buf_puts(&head, header);
    cell_end(&head);
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0 || head.failed || append_whole(fd, dcr_buf_text(&head), head.len) != 0) {
        dcr_err_sys(err, DCR_FAIL, "cannot write '%s'", path);
        struct stat left;
        if (fd >= 0 && fstat(fd, &left) == 0 && S_ISREG(left.st_mode) && left.st_size == 0)
            unlink(path);
        if (fd >= 0)
            close(fd);
        dcr_buf_release(&head);
        return NULL;
    }
    struct output *f = &o->files[o->n];
    *f = (struct output){.name = strdup(name), .fd = fd, .bytes = head.len};
    if (!f->name) {
        close(fd);
        dcr_err_set(err, DCR_FAIL, "out of memory");
        f = NULL;
    }
    o->n += f != NULL;
    dcr_buf_release(&head);
    return f;
}

/* The new file replaces the old one completely, or the old one stays. */
static int replace_file(struct output *f, const char *path, const struct dcr_buf *text, struct dcr_err *err)
{
    char partial[PATH_MAX + 16];
    snprintf(partial, sizeof partial, "%s.partial", path);
    int fd = open(partial, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    /* Without fdatasync the name may reach the disk before the text, and a machine that dies then loses all samples. */
    if (fd >= 0 && dcr_write_all(fd, text->data, text->len) == 0 && fdatasync(fd) == 0 && rename(partial, path) == 0) {
        close(f->fd);
        f->fd = fd;
        f->bytes = text->len;
        f->is_thinned = 1;
        return DCR_OK;
    }
    int rc = dcr_err_sys(err, DCR_FAIL, "cannot write '%s'", partial);
    if (fd >= 0) {
        close(fd);
        unlink(partial);
    }
    return rc;
}

static int thin(const struct outputs *o, struct output *f, struct dcr_err *err)
{
    char path[PATH_MAX];
    struct dcr_buf thinned = {0};
    char *text = malloc(f->bytes);
    int rc = dcr_err_set(err, DCR_FAIL, "'%s' is full and cannot be thinned; its later samples are missing", f->name);
    if (text && pread(f->fd, text, f->bytes, 0) == (ssize_t)f->bytes) {
        snprintf(path, sizeof path, "%s/%s", o->spool, f->name);
        thin_csv(text, f->bytes, &thinned);
        if (!thinned.failed && thinned.len < f->bytes)
            rc = replace_file(f, path, &thinned, err);
    }
    dcr_buf_release(&thinned);
    free(text);
    return rc;
}

/* Rows of a thinned file have one more cell, because each row may stand for several samples. */
static int append(struct output *f, const char *rows, size_t n)
{
    struct dcr_buf longer = {0};
    for (size_t i = 0, end; f->is_thinned && i < n; i = end + 1) {
        for (end = i; end + 1 < n && rows[end] != '\n';)
            end++;
        dcr_buf_add(&longer, rows + i, end - i);
        dcr_buf_puts(&longer, ",1\n");
    }
    if (f->is_thinned) {
        rows = dcr_buf_text(&longer);
        n = longer.len;
    }
    errno = ENOMEM;
    int rc = longer.failed ? -1 : append_whole(f->fd, rows, n);
    f->bytes += rc == 0 ? n : 0;
    dcr_buf_release(&longer);
    return rc;
}

int outputs_rows(struct outputs *o, const char *name, const char *header, const char *rows, size_t n,
                 struct dcr_err *err)
{
    struct output *f = NULL;
    for (size_t i = 0; i < o->n && !f; i++)
        if (strcmp(o->files[i].name, name) == 0)
            f = &o->files[i];
    if (!f && (f = open_output(o, name, header, err)) == NULL)
        return DCR_FAIL;
    if (f->fd < 0)
        return dcr_err_set(err, DCR_FAIL, "'%s' could not be written earlier", name);
    int rc = f->bytes + n > o->most_bytes ? thin(o, f, err) : DCR_OK;
    if (rc == DCR_OK && append(f, rows, n) == 0)
        return DCR_OK;
    if (rc == DCR_OK)
        dcr_err_sys(err, DCR_FAIL, "cannot write '%s/%s'", o->spool, name);
    close(f->fd);
    f->fd = -1;
    return DCR_FAIL;
}

void *source_configure(const struct source *s, const struct source_config *config, struct dcr_err *err)
{
    void *ctx = calloc(1, s->ctx_bytes);
    if (!ctx)
        dcr_err_set(err, DCR_FAIL, "out of memory");
    else if (s->configure(ctx, config, err) == 0)
        return ctx;
    if (ctx)
        source_destroy(s, ctx);
    return NULL;
}

int source_sample(const struct source *s, void *ctx, const struct tick *now, struct outputs *out, struct dcr_err *err)
{
    char name[320];
    dcr_buf_clear(&out->rows);
    int rc = s->sample(ctx, now, &out->rows, out, err);
    if (!s->header || (rc != DCR_OK && rc != DCR_WARN))
        return rc;
    snprintf(name, sizeof name, "%s/%s_monitor.csv", out->host_dir, s->name);
    int written = outputs_rows(out, name, s->header, dcr_buf_text(&out->rows), out->rows.len, err);
    return written ? written : rc;
}

void source_destroy(const struct source *s, void *ctx)
{
    s->destroy(ctx);
    free(ctx);
}

void cell_time(struct dcr_buf *row, const struct tick *now)
{
    dcr_buf_printf(row, "%lld.%03d,", (long long)(now->real_ms / 1000), (int)(now->real_ms % 1000));
}

void cell_int(struct dcr_buf *row, int64_t value)
{
    dcr_buf_printf(row, "%lld,", (long long)value);
}

void cell_unsigned(struct dcr_buf *row, uint64_t value)
{
    dcr_buf_printf(row, "%llu,", (unsigned long long)value);
}

void cell_if(struct dcr_buf *row, int is_known, uint64_t value)
{
    if (is_known)
        cell_unsigned(row, value);
    else
        dcr_buf_putc(row, ',');
}

void cell_real_if(struct dcr_buf *row, int is_known, double value, int digits)
{
    if (is_known)
        dcr_buf_printf(row, "%.*f,", digits, value);
    else
        dcr_buf_putc(row, ',');
}

void cell_text(struct dcr_buf *row, const char *text)
{
    dcr_csv_put(row, text);
    dcr_buf_putc(row, ',');
}

void cell_end(struct dcr_buf *row)
{
    if (!row->failed && row->len && row->data[row->len - 1] == ',')
        row->data[row->len - 1] = '\n';
}
