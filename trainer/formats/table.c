/* table.c - splits text with commas, semicolons or tabs into lines and cells. */
#include "trainer/formats/table.h"

#include "lib/base/fs.h"
#include "lib/base/stream.h"
#include "lib/base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BYTES ((size_t)4 << 30)

/* Every piece is checked as it arrives, because a device of zeros never ends. */
static int read_text(struct table *t, int fd, struct dcr_err *err)
{
    char piece[16384];
    struct dcr_stream s = dcr_stream_fd(&fd, t->path);
    for (;;) {
        ssize_t n = dcr_stream_read_full(&s, piece, sizeof piece, err);
        if (n < 0)
            return dcr_err_while(err, "reading '%s'", t->path);
        if (n == 0)
            return 0;
        if (memchr(piece, 0, (size_t)n))
            return dcr_err_set(err, DCR_FAIL, "'%s' is not text: it holds a NUL byte; save it as UTF-8", t->path);
        if (t->buf.len + (size_t)n > MAX_BYTES)
            return dcr_err_set(err, DCR_FAIL, "'%s' is larger than %zu bytes", t->path, MAX_BYTES);
        dcr_buf_add(&t->buf, piece, (size_t)n);
        if (t->buf.failed)
            return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", t->path);
    }
}

int table_open(struct table *t, const char *path, struct dcr_err *err)
{
    int fd;
    memset(t, 0, sizeof *t);
    snprintf(t->path, sizeof t->path, "%s", path);
    t->buf.max = MAX_BYTES;
    int rc = dcr_open_file("table", path, &fd, err);
    if (rc)
        return rc;
    rc = read_text(t, fd, err);
    if (rc)
        goto out;
    if (!t->buf.len)
        rc = dcr_err_set(err, DCR_FAIL, "'%s' is empty; give a file with rows", path);
    else
        t->pos = utf8_mark(t->buf.data, t->buf.len);
out:
    close(fd);
    if (rc)
        table_close(t);
    return rc;
}

/* One cell without the spaces around it and without one pair of quotes; cuts the text in place. */
static char *trim(char *cell)
{
    while (*cell == ' ' || *cell == '\t')
        cell++;
    size_t n = strlen(cell);
    while (n && (cell[n - 1] == ' ' || cell[n - 1] == '\t'))
        n--;
    if (n >= 2 && cell[0] == '"' && cell[n - 1] == '"') {
        cell++;
        n -= 2;
    }
    cell[n] = 0;
    return cell;
}

static int add_cell(struct table *t, char *cell, struct dcr_err *err)
{
    if (t->n_cells == t->cap_cells) {
        size_t cap = t->cap_cells ? 2 * t->cap_cells : 64;
        char **grown = realloc(t->cells, cap * sizeof *grown);
        if (!grown)
            return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", t->path);
        t->cells = grown;
        t->cap_cells = cap;
    }
    t->cells[t->n_cells++] = cell;
    return 0;
}

int table_next(struct table *t, struct dcr_err *err)
{
    while (t->pos < t->buf.len) {
        char *line = t->buf.data + t->pos;
        char *end = memchr(line, '\n', t->buf.len - t->pos);
        size_t n = end ? (size_t)(end - line) : t->buf.len - t->pos;
        t->pos += n + (end != NULL);
        t->line++;
        line[n] = 0; /* at the very end this is the buffer's own terminator */
        if (n && line[n - 1] == '\r')
            line[n - 1] = 0;
        if (!line[strspn(line, " \t")])
            continue;
        t->n_cells = 0;
        for (char *cell = line; cell;) {
            char *comma = strchr(cell, ',');
            if (comma)
                *comma = 0;
            int rc = add_cell(t, trim(cell), err);
            if (rc)
                return rc;
            cell = comma ? comma + 1 : NULL;
        }
        return 0;
    }
    return DCR_END;
}

int table_is_number(const struct table *t, size_t column, double *out)
{
    const char *text = t->cells[column];
    char *end;
    /* strtod also accepts hexadecimal, "nan" and "inf", which no measurement has */
    if (!*text || text[strspn(text, "0123456789+-.eE")])
        return 0;
    *out = strtod(text, &end);
    return end != text && !*end && isfinite(*out);
}

int table_number(const struct table *t, size_t column, double *out, struct dcr_err *err)
{
    if (table_is_number(t, column, out))
        return 0;
    if (!*t->cells[column])
        return dcr_err_set(err, DCR_FAIL, "'%s' line %ld, column %zu is empty: expected a number; write a number",
                           t->path, t->line, column + 1);
    return dcr_err_set(err, DCR_FAIL, "'%s' line %ld, column %zu: '%.40s' is not a finite number; write a number",
                       t->path, t->line, column + 1, t->cells[column]);
}

int table_commas(const struct table *t, struct dcr_err *err)
{
    const char *mark = t->n_cells == 1 ? strpbrk(t->cells[0], ";\t") : NULL;
    if (!mark)
        return 0;
    return dcr_err_set(err, DCR_FAIL, "'%s' line %ld: its cells are separated by %s; make them commas", t->path,
                       t->line, *mark == ';' ? "semicolons" : "tabs");
}

void table_close(struct table *t)
{
    dcr_buf_release(&t->buf);
    free(t->cells);
    t->cells = NULL;
    t->n_cells = t->cap_cells = 0;
}
