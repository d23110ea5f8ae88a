/* tables.c - metrics.csv: one row per epoch, columns by name, an empty cell is "not measured". */
#include "render/read/members.h"

#include "lib/base/csv.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static const char *const column_names[RUN_N_METRICS] = {
#define X(name, unit) name,
    DCR_METRICS_COLUMNS(X)
#undef X
};

/* Every file of this kind has the first eleven columns; the others came later and may be absent. */
enum { N_COMMON_COLUMNS = 11 };

static int is_not_finite(const char *text)
{
    text += strspn(text, " \t+-");
    return strncasecmp(text, "nan", 3) == 0 || strncasecmp(text, "inf", 3) == 0;
}

/* NAN for an empty cell. A written NaN or infinity also gives NAN, with a note, since it usually means that training
 * diverged. */
static int read_cell(struct run *r, const struct dcr_csv *c, int column, int metric, double *out, struct dcr_err *err)
{
    *out = NAN;
    if (is_not_finite(dcr_csv_text(c, column))) {
        const char *cell = dcr_csv_text(c, column);
        size_t n = strlen(cell);
        run_add_gap(r, PHRASE(METRICS_NO_NUMBER, slot_count(dcr_csv_line(c)), slot_name(column_names[metric]),
                              slot_name(dcr_arena_strndup(&r->arena, cell, n < 20 ? n : 20))));
        return 0;
    }
    int rc = dcr_csv_double(c, column, out, err);
    if (rc)
        *out = NAN;
    return rc == DCR_END ? 0 : rc;
}

int metrics_is(const char *head, size_t n)
{
    static const char first[] = "epoch,";
    const char *end = memchr(head, '\n', n), *p = head;
    int n_known = 0;
    if (!end || n < sizeof first || memcmp(head, first, sizeof first - 1) != 0)
        return 0;
    for (size_t len; p < end; p += len + 1) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        len = (size_t)((comma ? comma : end) - p);
        len -= len && !comma && p[len - 1] == '\r';
        for (int i = 0; i < RUN_N_METRICS; i++)
            n_known += strlen(column_names[i]) == len && memcmp(column_names[i], p, len) == 0;
    }
    return n_known > 1;
}

int metrics_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct dcr_csv *c;
    int rc = dcr_csv_open(&c, s, err);
    if (rc)
        return rc;
    int column[RUN_N_METRICS], n_known = 0;
    for (int i = 0; i < RUN_N_METRICS; i++) {
        column[i] = dcr_csv_column(c, column_names[i]);
        n_known += column[i] >= 0;
        if (column[i] < 0 && i < N_COMMON_COLUMNS)
            run_add_gap(r, PHRASE(METRICS_NO_COLUMN, slot_name(column_names[i])));
    }
    size_t cap = 0;
    struct dcr_err torn = {0};
    if (n_known == 0) {
        rc = dcr_err_set(err, DCR_FAIL,
                         "cannot read '%s': none of its columns is known (the first is '%.60s'); leave the file out",
                         s->name, dcr_csv_name(c, 0));
        goto out;
    }
    for (;;) {
        struct dcr_err row = {0};
        rc = dcr_csv_next(c, &row);
        if (rc == DCR_END)
            break;
        if (torn.grade || rc == DCR_FATAL) { /* a bad row that is not the last one is damage, not a sudden end */
            if (err)
                *err = torn.grade ? torn : row;
            rc = DCR_FAIL;
            goto out;
        }
        if (rc) {
            torn = row;
            continue;
        }
        r->epochs = arena_grow(&r->arena, r->epochs, r->n_epochs, &cap, sizeof *r->epochs);
        for (int i = 0; i < RUN_N_METRICS; i++)
            if ((rc = read_cell(r, c, column[i], i, &r->epochs[r->n_epochs].value[i], err)))
                goto out;
        r->n_epochs++;
    }
    rc = 0;
    if (torn.grade)
        run_add_gap(r, PHRASE(LAST_ROW_CUT, slot_name("metrics.csv")));
    if (r->n_epochs == 0)
        run_add_gap(r, PHRASE(METRICS_EMPTY));
    r->has_metrics = 1;
out:
    dcr_csv_close(c);
    return rc;
}
