/* nvidia_smi_columns.c - see nvidia_smi.h. */
#include "render/import/nvidia_smi.h"

#include "render/import/text/columns.h"
#include "render/import/text/date.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The end of the cell that begins at p: its comma, or the end of the record. Inside quotes a cell may contain both;
 * quotes that do not end soon do not count. */
static const char *cell_end(const char *p)
{
    const char *q = p + strspn(p, " \t");
    if (*q == '"') {
        const char *most = q + strnlen(q, SMI_MAX_LINE);
        for (q++; q < most && !(*q == '"' && q[1] != '"'); q++)
            q += *q == '"';
        q = q < most ? q : p;
    }
    return q + strcspn(q, ",\n");
}

const char *smi_record_end(const char *p)
{
    while (*(p = cell_end(p)) == ',')
        p++;
    return p;
}

int smi_split(char *line, char **cells)
{
    int n = 0;
    for (char *p = line; p && n < SMI_MAX_COLUMNS; n++) {
        char *end = p + (cell_end(p) - p), mark = *end;
        *end = '\0';
        p += strspn(p, " \t\"");
        for (size_t k = strlen(p); k > 0 && strchr(" \t\r\"", p[k - 1]); k--)
            p[k - 1] = '\0';
        cells[n] = p;
        p = mark ? end + 1 : NULL;
    }
    return n;
}

enum gpu_sample smi_by_unit(const char *cell, int *seen)
{
    char *unit;
    double v = strtod(cell, &unit);
    if (unit == cell)
        return SAMPLE_NONE;
    int is_degrees = *unit == '\0' && !strchr(cell, '.') && v >= 10 && v <= 130; /* no index, version or count */
    enum gpu_sample what = *unit == ' ' ? gpu_samples_unit(unit + 1, strlen(unit + 1), &v)
                           : is_degrees ? SAMPLE_TEMPERATURE
                                        : SAMPLE_NONE;
    if (what == SAMPLE_NONE || seen[what]++)
        return SAMPLE_NONE;
    return what;
}

int smi_cells_in(const char *line)
{
    int n = 1;
    while (*(line = cell_end(line)) == ',') {
        line++;
        n++;
    }
    return n;
}

/* One cell of a line, without changing it: its first byte, NULL when there are fewer. */
static const char *cell_of(const char *line, int column)
{
    for (; line && column > 0; column--)
        line = *(line = cell_end(line)) == ',' ? line + 1 : NULL;
    while (line && (*line == ' ' || *line == '\t' || *line == '"'))
        line++;
    return line;
}

/* "GPU-5f3c...", "00000000:3B:00.0" */
static int is_identity(const char *cell)
{
    return strncmp(cell, "GPU-", 4) == 0 || (strlen(cell) >= 12 && cell[8] == ':' && cell[11] == ':');
}

/* A bare number that counts 0, 1 ... k - 1 again and again is the index: k, else 0. */
static int counts(const struct smi_log *g, int column)
{
    int64_t k = 0;
    for (size_t i = 0, row = 0; i < g->n; i++) {
        const char *cell = g->t[i] < 0 ? NULL : cell_of(g->lines[i], column);
        char *end;
        if (!cell)
            continue;
        long v = strtol(cell, &end, 10);
        if (end == cell || (*end && *end != ',' && *end != '\r')) /* no unit */
            return 0;
        if (!k && row && v == 0)
            k = (int64_t)row;
        if (v != (k ? (int64_t)row % k : (int64_t)row))
            return 0;
        row++;
    }
    return k > 1 ? (int)k : 0;
}

static int compare_double(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The number of GPUs in a log that does not identify them. nvidia-smi samples all GPUs and then waits, so rows come in
 * bursts. A gap of a tenth of the usual wait separates two bursts.   returns  0: bursts of unequal length; 1: no bursts
 */
int smi_burst_length(const struct smi_log *g)
{
    double *wait = malloc((g->n + 1) * sizeof *wait), *sorted = malloc((g->n + 1) * sizeof *sorted), last = -1;
    size_t n = 0, run = 1, n_bursts = 0, n_long = 0;
    int length = 0, is_equal = 1;
    for (size_t i = 0; wait && sorted && i < g->n; i++) {
        if (g->t[i] < 0)
            continue;
        if (last >= 0)
            wait[n++] = g->t[i] - last;
        last = g->t[i];
    }
    if (n < 5) {
        free(wait);
        free(sorted);
        return 1;
    }
    memcpy(sorted, wait, n * sizeof *wait);
    qsort(sorted, n, sizeof *sorted, compare_double);
    double limit = sorted[n - 1 - n / 20] / 10;
    for (size_t i = 0; i < n; i++) {
        if (wait[i] < limit) {
            run++;
            continue;
        }
        length = length ? length : (int)run;
        is_equal &= (int)run == length;
        n_long += run > 1;
        n_bursts++;
        run = 1;
    }
    is_equal &= length > 0 && (int)run <= length; /* the last one may be cut */
    free(wait);
    free(sorted);
    return is_equal ? length : 10 * n_long > n_bursts ? 0 : 1;
}

/* A number with a unit of memory. */
static int mebibytes(const char *cell, double *out)
{
    const char *unit = strrchr(cell, ' ');
    struct samples_left ignored = {.n = 0};
    return unit && gpu_samples_unit(unit + 1, strlen(unit + 1), out) == SAMPLE_MEMORY_USED &&
           gpu_samples_read(cell, SAMPLE_MEMORY_TOTAL, 1, out, &ignored);
}

/* A second column of MiB is the total if it never changes and is never below the first. */
static void find_total(struct smi_log *g)
{
    int used = -1, total = -1;
    double value = 0;
    for (size_t i = 0; i < g->n; i++) {
        char line[1024], *cells[SMI_MAX_COLUMNS];
        if (g->t[i] < 0 || strlen(g->lines[i]) >= sizeof line)
            continue;
        memcpy(line, g->lines[i], strlen(g->lines[i]) + 1);
        int n = smi_split(line, cells);
        for (int c = 0; c < n && total < 0; c++) {
            if (g->what[c] == SAMPLE_MEMORY_USED)
                used = c;
            else if (used >= 0 && mebibytes(cells[c], &value))
                total = c;
        }
        double v;
        if (total < 0 || total >= n || !mebibytes(cells[total], &v) || v != value ||
            (mebibytes(cells[used], &v) && v > value))
            return;
    }
    if (total >= 0)
        g->what[total] = SAMPLE_MEMORY_TOTAL;
}

/* Seconds of a time: a date, or a number in the unit of its name. Without a unit the size tells: since 1973, Unix
 * seconds, milliseconds ... have different numbers of digits. returns  < 0: none */
static double seconds_of(const char *cell, double factor)
{
    static const double since[] = {1e17, 1e-9, 1e14, 1e-6, 1e11, 1e-3};
    char *end;
    double t = date_seconds(cell), v;
    if (t >= 0)
        return t;
    v = isdigit((unsigned char)*cell) ? strtod(cell, &end) : -1;
    char behind = v < 0 ? 'x' : end[strspn(end, " \t\r\"")];
    if (!isfinite(v) || (behind && behind != ','))
        return -1;
    for (size_t i = 0; i < sizeof since / sizeof *since && isnan(factor); i += 2)
        factor = v >= since[i] ? since[i + 1] : factor;
    return v * (isnan(factor) ? 1 : factor);
}

/* A bare "mem" is of a GPU if other columns are, and none is of the host. */
static int is_of_gpus(char *const *cells, int n)
{
    int has_gpu = 0, has_host = 0;
    for (int i = 0; i < n; i++) {
        struct column c = column_of(cells[i]);
        has_gpu |= c.is_smi || (c.kind && !c.is_bare);
        has_host |= strcasestr(cells[i], "cpu") || strcasestr(cells[i], "host") || strcasestr(cells[i], "ram");
    }
    return has_gpu && !has_host;
}

int smi_is_header(char *const *cells, int n)
{
    int n_fields = 0, n_samples = 0, is_bare_used = is_of_gpus(cells, n);
    for (int i = 0; i < n; i++) {
        if (isdigit((unsigned char)cells[i][strspn(cells[i], "+-.")]) || *cells[i] == '[')
            return 0;
        struct column c = column_of(cells[i]);
        n_fields += c.is_smi;
        n_samples += c.kind == COLUMN_SAMPLE && (!c.is_bare || is_bare_used);
    }
    return n_fields ? 2 : n_samples > 0;
}

/* Does an earlier column sample the same quantity of the same GPU? */
static int is_sampled(const struct smi_log *g, int column)
{
    for (int i = 0; i < column; i++)
        if (g->what[i] == g->what[column] && g->gpu[i] == g->gpu[column])
            return 1;
    return 0;
}

/* returns  columns */
int smi_by_header(struct smi_log *g, struct samples_left *left)
{
    char *cells[SMI_MAX_COLUMNS];
    int n = smi_split(g->lines[0], cells), is_bare_used = is_of_gpus(cells, n);
    g->is_smi = smi_is_header(cells, n) == 2;
    enum column_kind id_kind = COLUMN_OTHER, time_kind = COLUMN_OTHER;
    for (int i = 0; i < n; i++) {
        struct column c = column_of(cells[i]);
        int is_time = c.kind == COLUMN_TIME || c.kind == COLUMN_EPOCH;
        g->names[g->n_names++] = cells[i];
        if (c.kind == COLUMN_SAMPLE && (c.is_smi || !c.is_bare || is_bare_used)) {
            g->what[i] = c.what;
            g->gpu[i] = c.gpu;
            g->factor[i] = c.factor;
            g->has_gpus |= c.gpu >= 0;
            g->is_unitless[i] = !c.has_unit;
            if (isnan(c.factor) && c.has_unit)
                samples_leave(left, cells[i]);
            if (is_sampled(g, i))
                g->what[i] = SAMPLE_NONE;
        } else if (is_time && (time_kind == COLUMN_OTHER || (time_kind == COLUMN_EPOCH && c.kind == COLUMN_TIME))) {
            time_kind = c.kind;
            g->time_column = i;
            g->time_factor = c.factor;
        } else if ((c.kind == COLUMN_INDEX && (g->is_smi || !c.is_bare) && id_kind != COLUMN_INDEX) ||
                   (c.kind == COLUMN_NAME && id_kind == COLUMN_OTHER)) {
            id_kind = c.kind;
            g->id_column = i;
        }
    }
    return n;
}

/* A utilisation without a unit is in percent if a value is above 1. No other number tells its unit. */
void smi_check_units(struct smi_log *g, const char **unknown, int *n_unknown)
{
    for (int c = 0; c < g->n_names; c++) {
        double most = 0;
        if (g->what[c] == SAMPLE_NONE || !g->is_unitless[c])
            continue;
        for (size_t i = 1; i < g->n && g->what[c] == SAMPLE_UTILIZATION; i++) {
            const char *cell = g->t[i] < 0 ? NULL : cell_of(g->lines[i], c);
            double v = cell ? strtod(cell, NULL) : 0;
            most = isfinite(v) && v > most ? v : most;
        }
        g->factor[c] = 1;
        if (g->what[c] == SAMPLE_UTILIZATION && (most > 1 || most <= 0))
            continue;
        g->what[c] = SAMPLE_NONE;
        unknown[(*n_unknown)++] = g->names[c];
    }
}

/* Without a column of times, rows with all columns are samples, and add_rows counts them. */
void smi_read_times(struct smi_log *g)
{
    for (size_t i = 0; i < g->n; i++) {
        const char *cell = g->time_column >= 0 ? cell_of(g->lines[i], g->time_column) : NULL;
        int is_row = g->time_column < 0 && smi_cells_in(g->lines[i]) == g->n_columns;
        g->t[i] = cell ? seconds_of(cell, g->time_factor) : is_row ? 0 : -1;
    }
}

/* Without a header: from the first row that has a time. */
int smi_by_first_row(struct smi_log *g, const char *name, struct dcr_err *err)
{
    char line[SMI_MAX_LINE], *cells[SMI_MAX_COLUMNS];
    int n_known = 0, seen[SAMPLE_CLOCK + 1] = {0};
    size_t first = 0;
    while (first < g->n && g->t[first] < 0)
        first++;
    if (first == g->n)
        return 0;
    snprintf(line, sizeof line, "%s", g->lines[first]);
    g->n_columns = smi_split(line, cells);
    for (int i = g->time_column + 1; i < g->n_columns; i++)
        if (is_identity(cells[i]) || (g->id_column < 0 && counts(g, i)))
            g->id_column = i;
    for (int i = g->time_column + 1; i < g->n_columns; i++) {
        g->what[i] = i == g->id_column ? SAMPLE_NONE : smi_by_unit(cells[i], seen);
        n_known += g->what[i] != SAMPLE_NONE && g->what[i] != SAMPLE_TEMPERATURE;
    }
    find_total(g);
    return n_known ? 0
                   : dcr_err_set(err, DCR_FAIL,
                                 "'%s' looks like a log of nvidia-smi without header and units, so that its columns "
                                 "cannot be told; record with --format=csv",
                                 name);
}
