/* source.c - the list of sources, their rows and output files. See source.h. */
#include "collect/monitor/source.h"

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
    static const struct source *const all[] = {&source_cpu,     &source_disk,  &source_net, &source_gpu,
                                               &source_process, &source_clock, NULL};
    return all;
}

struct output {
    char *name;
    int fd;
};

struct outputs {
    char *spool;
    struct output *files;
    size_t n, cap;
};

struct outputs *outputs_open(const char *spool)
{
    struct outputs *o = calloc(1, sizeof *o);
    if (o)
        o->spool = strdup(spool);
    if (!o || !o->spool) {
        free(o);
        return NULL;
    }
    return o;
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
    free(o->files);
    free(o->spool);
    free(o);
}

/* Append all bytes or, on a full disk, none: a truncated row would be read as a different one. */
static int append_whole(int fd, const char *bytes, size_t n)
{
    struct stat before;
    if (fstat(fd, &before) != 0)
        return -1;
    while (n) {
        ssize_t k = write(fd, bytes, n);
        if (k <= 0) {
            int why = errno, is_cut = S_ISREG(before.st_mode) && ftruncate(fd, before.st_size) == 0;
            (void)is_cut; /* the write's failure is reported in any case */
            errno = why;
            return -1;
        }
        bytes += k;
        n -= (size_t)k;
    }
    return 0;
}

static struct output *open_output(struct outputs *o, const char *name, const char *header, struct dcr_err *err)
{
    char path[PATH_MAX];
    if (o->n == o->cap) {
        size_t cap = o->cap ? 2 * o->cap : 16;
        struct output *bigger = realloc(o->files, cap * sizeof *bigger);
        if (!bigger) {
            dcr_err_set(err, DCR_FAIL, "no memory");
            return NULL;
        }
        o->files = bigger;
        o->cap = cap;
    }
    int n = snprintf(path, sizeof path, "%s/%s", o->spool, name);
    if (n < 0 || (size_t)n >= sizeof path) {
        dcr_err_set(err, DCR_FAIL, "the name of '%s' is too long", name);
        return NULL;
    }
    char *slash = strrchr(path, '/');
    *slash = '\0';
    if (dcr_mkdirs(path, err) != 0)
        return NULL;
    *slash = '/';
    struct dcr_buf head = {0};
    dcr_buf_printf(&head, "%s\n", header);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
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
    dcr_buf_release(&head);
    struct output *f = &o->files[o->n];
    *f = (struct output){.name = strdup(name), .fd = fd};
    if (!f->name) {
        close(fd);
        dcr_err_set(err, DCR_FAIL, "no memory");
        return NULL;
    }
    o->n++;
    return f;
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
    if (append_whole(f->fd, rows, n) == 0)
        return DCR_OK;
    dcr_err_sys(err, DCR_FAIL, "cannot write '%s/%s'", o->spool, name);
    close(f->fd);
    f->fd = -1;
    return DCR_FAIL;
}

void source_header(char *out, size_t n, const char *text)
{
    snprintf(out, n, "%s", text);
    size_t len = strlen(out);
    if (len && out[len - 1] == ',')
        out[len - 1] = '\0';
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

void cell_real(struct dcr_buf *row, double value, int digits)
{
    dcr_buf_printf(row, "%.*f,", digits, value);
}

void cell_text(struct dcr_buf *row, const char *text)
{
    dcr_csv_put(row, text);
    dcr_buf_putc(row, ',');
}

void cell_empty(struct dcr_buf *row)
{
    dcr_buf_putc(row, ',');
}

void cell_end(struct dcr_buf *row)
{
    if (!row->failed && row->len && row->data[row->len - 1] == ',')
        row->data[row->len - 1] = '\n';
}
