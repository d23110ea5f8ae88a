/* csv.c - see csv.h. One row is held at a time, as cells that point into one buffer. */
#include "lib/base/csv.h"

#include "lib/base/utf8.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 65536, MAX_COLUMNS = 65536 };
static const size_t MAX_ROW_BYTES = (size_t)1 << 20;

struct cells {
    struct dcr_buf text; /* cells, each NUL-terminated */
    size_t *offset;      /* shape (n): where each begins in text */
    int n, cap;
};

struct dcr_csv {
    struct dcr_stream *stream;
    char piece[PIECE_BYTES];
    size_t piece_len, piece_pos;
    int is_at_end;
    int is_last, is_cut; /* the record read last ends with the file and lacks something */
    struct cells header, row;
    long line, next_line;
};

/* The next byte, -1 at the end, -2 on failure. */
static int next_byte(struct dcr_csv *c, struct dcr_err *err)
{
    if (c->piece_pos == c->piece_len) {
        if (c->is_at_end)
            return -1;
        ssize_t k = c->stream->read(c->stream->ctx, c->piece, sizeof c->piece, err);
        if (k < 0)
            return -2;
        if (k == 0) {
            c->is_at_end = 1;
            return -1;
        }
        c->piece_len = (size_t)k;
        c->piece_pos = 0;
    }
    return (unsigned char)c->piece[c->piece_pos++];
}

static void begin_cell(struct cells *r)
{
    if (r->n == r->cap) {
        int cap = r->cap ? 2 * r->cap : 32;
        size_t *p = realloc(r->offset, (size_t)cap * sizeof *p);
        if (!p) {
            r->text.failed = 1;
            return;
        }
        r->offset = p;
        r->cap = cap;
    }
    r->offset[r->n++] = r->text.len;
}

/* Reads one record into r. 0, DCR_END, DCR_FAIL (too long, quote left open, NUL byte), DCR_FATAL. */
static int read_record(struct dcr_csv *c, struct cells *r, struct dcr_err *err)
{
    dcr_buf_clear(&r->text);
    r->text.max = MAX_ROW_BYTES + 1;
    r->n = 0;
    c->line = c->next_line;
    int is_quoted = 0, n_bytes = 0, is_bad = 0;
    c->is_last = c->is_cut = 0;
    begin_cell(r);
    for (;;) {
        int b = next_byte(c, err);
        if (b == -2)
            return DCR_FATAL;
        if (b == -1 && n_bytes == 0)
            return DCR_END;
        if (b == '\n')
            c->next_line++;
        if (b >= 0 && n_bytes < (int)MAX_ROW_BYTES)
            n_bytes++;
        if (is_quoted) {
            c->is_cut = b == -1;
            if (b == -1)
                return dcr_err_set(err, DCR_FAIL,
                                   "'%s' line %ld: a quoted cell does not end; end it by a quotation mark",
                                   c->stream->name, c->line);
            if (b == '"') {
                int after = next_byte(c, err);
                if (after == -2)
                    return DCR_FATAL;
                if (after == '"') {
                    dcr_buf_putc(&r->text, '"');
                    continue;
                }
                is_quoted = 0;
                if (after >= 0)
                    c->piece_pos--; /* the byte just came from this piece */
                continue;
            }
            dcr_buf_putc(&r->text, (char)b);
            continue;
        }
        c->is_last = b == -1;
        if (b == -1 || b == '\n')
            break;
        if (b == '"' && r->text.len == r->offset[r->n - 1]) {
            is_quoted = 1;
        } else if (b == ',') {
            dcr_buf_putc(&r->text, '\0');
            if (r->n < MAX_COLUMNS)
                begin_cell(r);
            else
                is_bad = 1;
        } else if (b == 0) {
            is_bad = 1;
        } else if (b != '\r') {
            dcr_buf_putc(&r->text, (char)b);
        }
    }
    dcr_buf_putc(&r->text, '\0');
    if (r->text.failed)
        return dcr_err_set(err, DCR_FAIL, "'%s' line %ld: longer than %zu bytes; is this a CSV file?", c->stream->name,
                           c->line, MAX_ROW_BYTES);
    if (is_bad)
        return dcr_err_set(err, DCR_FAIL, "'%s' line %ld is not text: it holds a NUL byte; save it as UTF-8",
                           c->stream->name, c->line);
    return 0;
}

static const char *cell(const struct cells *r, int i)
{
    return r->text.data + r->offset[i];
}

/* Cuts blanks off both ends of a header cell, in place. */
static void trim(struct cells *r, int i)
{
    char *s = r->text.data + r->offset[i];
    while (*s == ' ' || *s == '\t')
        s++;
    r->offset[i] = (size_t)(s - r->text.data);
    size_t n = strlen(s);
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
        s[--n] = '\0';
}

int dcr_csv_open(struct dcr_csv **out, struct dcr_stream *s, struct dcr_err *err)
{
    struct dcr_csv *c = calloc(1, sizeof *c);
    if (!c)
        return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", s->name);
    c->stream = s;
    c->next_line = 1;
    int rc = read_record(c, &c->header, err);
    if (rc == DCR_END)
        rc = dcr_err_set(err, DCR_FAIL, "'%s' is empty; begin it with a header line", s->name);
    if (rc == 0) {
        const char *first = cell(&c->header, 0);
        c->header.offset[0] += utf8_mark(first, strlen(first));
        for (int i = 0; i < c->header.n; i++)
            trim(&c->header, i);
    }
    if (rc) {
        dcr_csv_close(c);
        c = NULL;
    }
    *out = c;
    return rc;
}

int dcr_csv_n_columns(const struct dcr_csv *c)
{
    return c->header.n;
}

const char *dcr_csv_name(const struct dcr_csv *c, int column)
{
    return column >= 0 && column < c->header.n ? cell(&c->header, column) : "";
}

int dcr_csv_column(const struct dcr_csv *c, const char *name)
{
    for (int i = 0; i < c->header.n; i++)
        if (strcmp(cell(&c->header, i), name) == 0)
            return i;
    return -1;
}

int dcr_csv_next(struct dcr_csv *c, struct dcr_err *err)
{
    for (;;) {
        int rc = read_record(c, &c->row, err);
        if (rc) {
            c->row.n = 0; /* a failed read leaves no complete row */
            return rc;
        }
        int is_blank = c->row.n == 1 && cell(&c->row, 0)[0] == '\0';
        if (is_blank)
            continue;
        c->is_cut = c->is_last && c->row.n < c->header.n;
        if (c->row.n != c->header.n)
            return dcr_err_set(err, DCR_FAIL,
                               "'%s' line %ld has %d cell%s instead of %d; give each line as many cells as the header",
                               c->stream->name, c->line, c->row.n, c->row.n == 1 ? "" : "s", c->header.n);
        return 0;
    }
}

int dcr_csv_is_cut(const struct dcr_csv *c)
{
    return c->is_cut;
}

long dcr_csv_line(const struct dcr_csv *c)
{
    return c->line;
}

const char *dcr_csv_text(const struct dcr_csv *c, int column)
{
    return column >= 0 && column < c->row.n ? cell(&c->row, column) : "";
}

static int is_blank_from(const char *s)
{
    return s[strspn(s, " \t")] == '\0';
}

int dcr_csv_double(const struct dcr_csv *c, int column, double *out, struct dcr_err *err)
{
    const char *text = dcr_csv_text(c, column);
    if (is_blank_from(text))
        return DCR_END;
    char *end;
    double v = strtod(text, &end);
    if (end == text || !is_blank_from(end) || !isfinite(v))
        return dcr_err_set(err, DCR_FAIL, "'%s' line %ld, column '%s': '%.40s' is not a finite number; write a number",
                           c->stream->name, c->line, dcr_csv_name(c, column), text);
    *out = v;
    return 0;
}

int dcr_csv_int(const struct dcr_csv *c, int column, int64_t *out, struct dcr_err *err)
{
    const char *text = dcr_csv_text(c, column);
    if (is_blank_from(text))
        return DCR_END;
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || !is_blank_from(end) || errno)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s' line %ld, column '%s': '%.40s' is not a whole number; write a whole number",
                           c->stream->name, c->line, dcr_csv_name(c, column), text);
    *out = v;
    return 0;
}

void dcr_csv_close(struct dcr_csv *c)
{
    if (!c)
        return;
    dcr_buf_release(&c->header.text);
    dcr_buf_release(&c->row.text);
    free(c->header.offset);
    free(c->row.offset);
    free(c);
}

void dcr_csv_put(struct dcr_buf *out, const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        dcr_buf_puts(out, text);
        return;
    }
    dcr_buf_putc(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            dcr_buf_putc(out, '"');
        dcr_buf_putc(out, *text);
    }
    dcr_buf_putc(out, '"');
}
