/* sacct.c - tables of Slurm's accounting: `sacct -P` (columns divided by '|', by a tab or comma with --delimiter) or
 * the default, aligned under dashes. Shown as they are. */
#include "render/import/text/parsers.h"

#include "lib/base/buf.h"
#include "lib/base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 16 << 20, MAX_COLUMNS = 160 };

int sacct_is(const char *head, size_t n)
{
    const char *stop = memchr(head, '\n', n);
    size_t len = stop ? (size_t)(stop - head) : n;
    while (len && *head == ' ')
        head++, len--;
    return len > 5 && (strncmp(head, "JobID", 5) == 0 || strncmp(head, "JobIDRaw", 8) == 0) &&
           (memchr(head, '|', len) || memchr(head, '\t', len) || memmem(head, len, "State", 5) ||
            memmem(head, len, "Elapsed", 7));
}

static char *trimmed(char *p)
{
    while (*p == ' ')
        p++;
    for (size_t k = strlen(p); k > 0 && (p[k - 1] == ' ' || p[k - 1] == '\r'); k--)
        p[k - 1] = '\0';
    return p;
}

static int ends_with(const char *line, char mark)
{
    size_t n = strlen(line);
    while (n && strchr(" \r", line[n - 1]))
        n--;
    return n && line[n - 1] == mark;
}

/* The character between the columns of the header; 0: there is none that a column's name cannot contain. */
static char mark_of(const char *header)
{
    static const char marks[] = "|\t,";
    for (const char *m = marks; *m; m++)
        if (strchr(header, *m))
            return *m;
    return 0;
}

/* Cells of a line: by the mark, or by the columns of the dashes. is_closed: every line ends with the mark (sacct -p),
 * after which there is no cell. */
static int split(char *line, const size_t *from, const size_t *to, int n_fixed, char mark, int is_closed, char **cells)
{
    int n = 0;
    if (!n_fixed) {
        for (char *p = line; p && n < MAX_COLUMNS; n++) {
            char *at = strchr(p, mark);
            if (at)
                *at = '\0';
            cells[n] = trimmed(p);
            p = at ? at + 1 : NULL;
        }
        return is_closed && n > 1 && !*cells[n - 1] ? n - 1 : n;
    }
    size_t len = strlen(line);
    for (; n < n_fixed; n++) {
        size_t a = from[n] < len ? from[n] : len, b = to[n] < len ? to[n] : len;
        char end = line[b];
        line[b] = '\0';
        cells[n] = strdup(line + a);
        line[b] = end;
    }
    return n;
}

static int dashes(const char *line, size_t *from, size_t *to)
{
    int n = 0;
    for (const char *p = line; *p && *p != '\n' && n < MAX_COLUMNS;) {
        size_t k = strspn(p, "-");
        if (!k && *p != ' ' && *p != '\r')
            return 0;
        if (k) {
            from[n] = (size_t)(p - line);
            to[n++] = (size_t)(p - line) + k;
        }
        p += k ? k : 1;
    }
    return n;
}

/* Rows with another number of cells than the header, so that cells cannot be assigned to columns. */
struct refused {
    int n, first_line;
    char why[128]; /* of the first */
};

enum { ASTRAY = -1, CUT = -2 };

/* Does text stand where the dashes leave a blank, so that it is of other columns? */
static int is_astray(const char *line, const size_t *from, const size_t *to, int n_fixed)
{
    size_t len = strcspn(line, "\r");
    for (int i = 0; i + 1 < n_fixed; i++)
        for (size_t k = to[i]; k < from[i + 1] && k < len; k++)
            if (line[k] != ' ')
                return 1;
    return 0;
}

static void refuse_row(struct refused *x, int line, int n, int n_columns, char mark)
{
    if (x->n++)
        return;
    x->first_line = line;
    if (n < 0)
        snprintf(x->why, sizeof x->why, n == CUT ? "it is cut" : "its text is not under the dashes of the header");
    else
        snprintf(x->why, sizeof x->why, "%d cell%s, the header has %d%s", n, n == 1 ? "" : "s", n_columns,
                 n <= n_columns ? ""
                 : mark == ','  ? ", but a value may hold a comma (use sacct -P)"
                 : mark == '\t' ? ", but a name may hold a tab"
                                : ", but a name may hold a '|'");
}

static void say_refused(struct run *r, const char *file, const struct refused *x)
{
    if (x->n)
        run_add_gap(r, PHRASE(ROWS_LEFT_OUT_FROM, slot_count(x->n), slot_name(file), slot_count(x->first_line),
                              slot_name(x->why)));
}

int sacct_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct dcr_buf b = {.max = MAX_BYTES}, columns = {0};
    size_t from[MAX_COLUMNS] = {0}, to[MAX_COLUMNS] = {0};
    char *cells[MAX_COLUMNS];
    int n_fixed = 0, n_columns = 0, n_rows = 0, n_line = 1, rc = dcr_stream_slurp(s, &b, MAX_BYTES, err);
    struct foreign_table *t = NULL;
    struct refused refused = {.n = 0};
    if (rc)
        goto out;
    (void)dcr_buf_text(&b);
    char *text = b.len ? b.data + utf8_mark(b.data, b.len) : NULL;
    while (text && *text == '\n')
        text++, n_line++;
    char *header = text ? strsep(&text, "\n") : NULL, *line = text;
    char mark = header ? mark_of(header) : 0;
    if (line && !mark)
        n_fixed = dashes(line, from, to);
    if (!mark && !n_fixed) {
        rc =
            dcr_err_set(err, DCR_FAIL,
                        "'%s' looks like a table of sacct, but nothing tells its columns apart; use sacct -P", s->name);
        goto out;
    }
    int is_closed = mark && ends_with(header, mark);
    n_columns = split(header, from, to, n_fixed, mark, is_closed, cells);
    for (int i = 0; i < n_columns; i++) {
        dcr_buf_printf(&columns, "%s%s", i ? "|" : "", trimmed(cells[i]));
        if (n_fixed)
            free(cells[i]);
    }
    t = run_add_table(r, s->name, FOREIGN_SACCT, "Slurm's accounting of the job and its steps",
                      dcr_arena_strdup(&r->arena, dcr_buf_text(&columns)));
    t->n_columns = n_columns; /* the number of cells; a name may contain a separator */
    if (n_fixed) {
        (void)strsep(&text, "\n");
        n_line++;
    }
    while ((line = strsep(&text, "\n")) != NULL) {
        n_line++;
        if (!line[strspn(line, " \r")])
            continue;
        int is_cut = n_fixed && !text && strlen(line) <= from[n_fixed - 1]; /* sacct pads every line */
        int n = is_cut ? CUT
                : n_fixed && is_astray(line, from, to, n_fixed)
                    ? ASTRAY
                    : split(line, from, to, n_fixed, mark, is_closed, cells);
        int is_row = n == n_columns;
        if (!is_row)
            refuse_row(&refused, n_line, n, n_columns, mark);
        for (int i = 0; is_row && i < n_columns; i++)
            table_add(r, t, "%s", trimmed(cells[i]));
        for (int i = 0; n_fixed && i < n; i++)
            free(cells[i]);
        n_rows += is_row;
    }
    if (!n_rows) {
        r->n_tables--;
        rc = refused.n
                 ? dcr_err_set(
                       err, DCR_FAIL,
                       "no row of the table of sacct '%s' can be read (line %d: %s); record it again with `sacct -P`",
                       s->name, refused.first_line, refused.why)
                 : dcr_err_set(err, DCR_FAIL,
                               "'%s' is a table of sacct without a row; check the job ids given to sacct", s->name);
    } else {
        say_refused(r, s->name, &refused);
    }
out:
    dcr_buf_release(&columns);
    dcr_buf_release(&b);
    return rc;
}
