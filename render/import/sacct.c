/* sacct.c - tables of Slurm's accounting: `sacct -P` (columns divided by '|') or the default, aligned under dashes.
 * Shown as they are. */
#include "render/import/parsers.h"

#include "lib/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 16 << 20, MAX_COLUMNS = 40 };

int sacct_is(const char *head, size_t n)
{
    const char *stop = memchr(head, '\n', n);
    size_t len = stop ? (size_t)(stop - head) : n;
    while (len && *head == ' ')
        head++, len--;
    return len > 5 && (strncmp(head, "JobID", 5) == 0 || strncmp(head, "JobIDRaw", 8) == 0) &&
           (memchr(head, '|', len) || memmem(head, len, "State", 5) || memmem(head, len, "Elapsed", 7));
}

static char *trimmed(char *p)
{
    while (*p == ' ')
        p++;
    for (size_t k = strlen(p); k > 0 && (p[k - 1] == ' ' || p[k - 1] == '\r'); k--)
        p[k - 1] = '\0';
    return p;
}

/* Cells of a line: by '|', or by the columns of the dashes. */
static int split(char *line, const size_t *from, const size_t *to, int n_fixed, char **cells)
{
    int n = 0;
    if (!n_fixed) {
        for (char *p = line; p && n < MAX_COLUMNS; n++) {
            char *bar = strchr(p, '|');
            if (bar)
                *bar = '\0';
            cells[n] = trimmed(p);
            p = bar ? bar + 1 : NULL;
        }
        return n > 1 && !*cells[n - 1] ? n - 1 : n; /* sacct -p ends lines with '|' */
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
    for (const char *p = line; *p && n < MAX_COLUMNS;) {
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

int sacct_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct dcr_buf b = {.max = MAX_BYTES}, columns = {0};
    size_t from[MAX_COLUMNS] = {0}, to[MAX_COLUMNS] = {0};
    char *save = NULL, *cells[MAX_COLUMNS];
    int n_fixed = 0, n_columns = 0, n_rows = 0, rc = dcr_stream_slurp(s, &b, MAX_BYTES, err);
    struct foreign_table *t = NULL;
    if (rc)
        goto out;
    (void)dcr_buf_text(&b);
    char *text = b.len ? b.data + (strncmp(b.data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0) : NULL;
    char *header = text ? strtok_r(text, "\n", &save) : NULL, *line = header ? strtok_r(NULL, "\n", &save) : NULL;
    if (!header) {
        rc = dcr_err_set(err, DCR_FAIL, "'%s' is an empty table of sacct", s->name);
        goto out;
    }
    if (line && !strchr(header, '|'))
        n_fixed = dashes(line, from, to);
    if (!strchr(header, '|') && !n_fixed) {
        rc =
            dcr_err_set(err, DCR_FAIL,
                        "'%s' looks like a table of sacct, but nothing tells its columns apart; use sacct -P", s->name);
        goto out;
    }
    n_columns = split(header, from, to, n_fixed, cells);
    for (int i = 0; i < n_columns; i++) {
        dcr_buf_printf(&columns, "%s%s", i ? "|" : "", trimmed(cells[i]));
        if (n_fixed)
            free(cells[i]);
    }
    t = run_add_table(r, s->name, "sacct table", "Slurm's accounting of the job and its steps",
                      dcr_arena_strdup(&r->arena, dcr_buf_text(&columns)));
    t->n_columns = n_columns; /* as split, whatever is in their names */
    for (line = n_fixed ? strtok_r(NULL, "\n", &save) : line; line; line = strtok_r(NULL, "\n", &save)) {
        int n = split(line, from, to, n_fixed, cells);
        for (int i = 0; i < n_columns; i++)
            table_add(r, t, "%s", i < n ? trimmed(cells[i]) : "");
        for (int i = 0; n_fixed && i < n; i++)
            free(cells[i]);
        n_rows++;
    }
    if (!n_rows) {
        r->n_tables--;
        rc = dcr_err_set(err, DCR_FAIL, "'%s' is a table of sacct without a row", s->name);
    }
out:
    dcr_buf_release(&columns);
    dcr_buf_release(&b);
    return rc;
}
