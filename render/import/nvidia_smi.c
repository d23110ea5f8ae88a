/* nvidia_smi.c - `nvidia-smi --query-gpu=... --format=csv -l`, with header and units, or without one of them. Without a
 * header columns are told by their units: the first "%" is the GPU's utilisation, the first "MiB" memory used, "W"
 * power, "MHz" the SM clock, a bare whole number from 10 to 130 the temperature; a second "MiB" that never changes all
 * memory. GPUs are told by index, else by uuid or bus id, else by their place in each burst of rows; without times rows
 * count as seconds. Test: render_foreign.sh, test_smi.c */
#include "render/import/parsers.h"

#include "lib/buf.h"
#include "render/import/from_line.h"
#include "render/import/gpu_samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 256 << 20, MAX_COLUMNS = 64, MAX_LINE = 4096, MAX_GPUS = 1024 };

/* "2026/04/25 16:06:06.780" in seconds, be it rewritten with dashes; < 0 when it is none. */
static double stamp(const char *text)
{
    int y, mo, d, h, mi, n = 0;
    double s;
    if (sscanf(text, " %4d%*1[/-]%2d%*1[/-]%2d %2d:%2d:%lf%n", &y, &mo, &d, &h, &mi, &s, &n) != 6 || y < 1970 ||
        mo < 1 || mo > 12)
        return -1;
    int64_t yy = y - (mo <= 2), era = yy / 400, yoe = yy - era * 400; /* days of the civil calendar, by H. Hinnant */
    int64_t doy = (153 * (mo + (mo > 2 ? -3 : 9)) + 2) / 5 + d - 1, doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return (double)(era * 146097 + doe - 719468) * 86400 + h * 3600 + mi * 60 + s;
}

static int split(char *line, char **cells)
{
    int n = 0;
    for (char *p = line; p && n < MAX_COLUMNS; n++) {
        char *comma = strchr(p, ',');
        if (comma)
            *comma = '\0';
        while (*p == ' ' || *p == '\t')
            p++;
        for (size_t k = strlen(p); k > 0 && (p[k - 1] == ' ' || p[k - 1] == '\r' || p[k - 1] == '\t'); k--)
            p[k - 1] = '\0';
        cells[n] = p;
        p = comma ? comma + 1 : NULL;
    }
    return n;
}

static int is_value(const char *cell)
{
    char *end;
    strtod(cell, &end);
    return end > cell || *cell == '[';
}

static enum gpu_sample by_name(const char *name)
{
    static const struct {
        const char *begin;
        enum gpu_sample what;
    } names[] = {{"utilization.gpu", SAMPLE_UTILIZATION}, {"memory.used", SAMPLE_MEMORY_USED},
                 {"memory.total", SAMPLE_MEMORY_TOTAL},   {"power.draw", SAMPLE_POWER},
                 {"temperature.gpu", SAMPLE_TEMPERATURE}, {"clocks.sm", SAMPLE_CLOCK},
                 {"clocks.current.sm", SAMPLE_CLOCK},     {"clocks.max.sm", SAMPLE_CLOCK_MAX}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i].begin, strlen(names[i].begin)) == 0 && strncmp(name, "power.draw.", 11) != 0)
            return names[i].what;
    return SAMPLE_NONE;
}

static enum gpu_sample by_unit(const char *cell, int *seen)
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

/* The first line, NUL-terminated and without a byte-order mark. */
static void first_line(const char *head, size_t n, char *line, size_t cap)
{
    size_t len = 0, skipped = n >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (head += skipped, n -= skipped; len < n && len + 1 < cap && head[len] != '\n'; len++)
        line[len] = head[len];
    line[len] = '\0';
}

/* Names of columns, one of which is used here; or the time and one of the GPU's fields. */
static int is_header(const char *head, size_t n)
{
    char line[MAX_LINE], *cells[MAX_COLUMNS];
    first_line(head, n, line, sizeof line);
    int n_cells = split(line, cells), n_known = 0;
    for (int i = 0; i < n_cells; i++) {
        n_known += by_name(cells[i]) != SAMPLE_NONE;
        if (*cells[i] < 'a' || *cells[i] > 'z')
            return 0;
    }
    return n_known > 0;
}

int nvidia_smi_is(const char *head, size_t n)
{
    char line[MAX_LINE], *cells[MAX_COLUMNS];
    int seen[SAMPLE_CLOCK + 1] = {0}, n_numbers = 0, n_units = 0;
    if (is_header(head, n))
        return 1;
    first_line(head, n, line, sizeof line);
    int has_time = stamp(line) >= 0, is_with_units = strstr(line, " %") || strstr(line, " MiB") || strstr(line, " W");
    if (has_time && strchr(line, ',') && is_with_units)
        return 1;
    has_time = has_time && strchr(line, '/'); /* dates with dashes are in anybody's tables */
    int n_cells = split(line, cells);
    for (int i = 0; i < n_cells; i++) {
        enum gpu_sample what = by_unit(cells[i], seen);
        n_units += what != SAMPLE_NONE && what != SAMPLE_TEMPERATURE;
        n_numbers += i > 0 && is_value(cells[i]);
    }
    /* With times, numbers alone are ours to refuse, with the reason. */
    return has_time ? n_cells > 2 && n_numbers == n_cells - 1 : n_units > 1;
}

/* The log as lines; columns as far as they are known. */
struct log {
    char **lines;
    double *t; /* of each line; < 0: none */
    size_t n;
    enum gpu_sample what[MAX_COLUMNS];
    double factor[MAX_COLUMNS];            /* of numbers without a unit: "memory.used [GiB]" */
    int is_open;                           /* the last line has no end */
    int n_columns, time_column, id_column; /* -1 = none */
};

/* One cell of a line, without changing it: its first byte, NULL when there are fewer. */
static const char *cell_of(const char *line, int column)
{
    for (; line && column > 0; column--)
        if ((line = strchr(line, ',')) != NULL)
            line++;
    while (line && (*line == ' ' || *line == '\t'))
        line++;
    return line;
}

/* "GPU-5f3c...", "00000000:3B:00.0" */
static int is_identity(const char *cell)
{
    return strncmp(cell, "GPU-", 4) == 0 || (strlen(cell) >= 12 && cell[8] == ':' && cell[11] == ':');
}

/* A bare number that counts 0, 1 ... k - 1 again and again is the index: k, else 0. */
static int counts(const struct log *g, int column)
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

/* How many GPUs a log without any identity is of: nvidia-smi looks at them all and then waits, so that rows come in
 * bursts. A tenth of the usual wait parts two bursts.   returns  0: bursts of unequal length; 1: no bursts */
static int burst_length(const struct log *g)
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

/* A second column of MiB is all there is when it never changes and is never below the first. */
static void find_total(struct log *g)
{
    int used = -1, total = -1;
    double value = 0;
    for (size_t i = 0; i < g->n; i++) {
        char line[1024], *cells[MAX_COLUMNS];
        if (g->t[i] < 0 || strlen(g->lines[i]) >= sizeof line)
            continue;
        memcpy(line, g->lines[i], strlen(g->lines[i]) + 1);
        int n = split(line, cells);
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

/* returns  columns */
static int by_header(struct log *g)
{
    char *cells[MAX_COLUMNS];
    int n = split(g->lines[0], cells);
    static const char *const identities[] = {"pci.bus_id", "gpu_bus_id", "gpu_uuid", "uuid", "index"}; /* best last */
    int rank = -1;
    g->time_column = -1;
    for (int i = 0; i < n; i++) {
        const char *unit = strchr(cells[i], '[');
        g->what[i] = by_name(cells[i]);
        if (unit)
            gpu_samples_unit(unit + 1, strcspn(unit + 1, "]"), &g->factor[i]);
        g->time_column = strncmp(cells[i], "timestamp", 9) == 0 ? i : g->time_column;
        for (int k = 0; k < (int)(sizeof identities / sizeof *identities); k++)
            if (strcmp(cells[i], identities[k]) == 0 && k > rank) {
                rank = k;
                g->id_column = i;
            }
    }
    return n;
}

/* Texts as small numbers, in order of appearance; an index as it is. */
struct identities {
    const char *text[64];
    int n;
};

static int64_t identity(struct identities *x, const char *cell)
{
    char *end;
    long v = strtol(cell, &end, 10);
    if (end > cell && !*end)
        return v;
    for (int i = 0; i < x->n; i++)
        if (strcmp(x->text[i], cell) == 0)
            return i;
    if (x->n == (int)(sizeof x->text / sizeof *x->text))
        return -1;
    x->text[x->n] = cell;
    return x->n++;
}

static int cells_in(const char *line)
{
    int n = 1;
    for (; *line; line++)
        n += *line == ',';
    return n;
}

/* Without a column of times rows with all columns are samples; add_rows counts them. */
static void read_times(struct log *g)
{
    for (size_t i = 0; i < g->n; i++) {
        const char *cell = g->time_column >= 0 ? cell_of(g->lines[i], g->time_column) : NULL;
        int is_row = g->time_column < 0 && cells_in(g->lines[i]) == g->n_columns;
        g->t[i] = cell ? stamp(cell) : is_row ? 0 : -1;
    }
}

/* Without a header: from the first row that has a time. */
static int by_first_row(struct log *g, const char *name, struct dcr_err *err)
{
    char line[MAX_LINE], *cells[MAX_COLUMNS];
    int n_known = 0, seen[SAMPLE_CLOCK + 1] = {0};
    size_t first = 0;
    while (first < g->n && g->t[first] < 0)
        first++;
    if (first == g->n)
        return 0;
    snprintf(line, sizeof line, "%s", g->lines[first]);
    g->n_columns = split(line, cells);
    for (int i = g->time_column + 1; i < g->n_columns; i++)
        if (is_identity(cells[i]) || (g->id_column < 0 && counts(g, i)))
            g->id_column = i;
    for (int i = g->time_column + 1; i < g->n_columns; i++) {
        g->what[i] = i == g->id_column ? SAMPLE_NONE : by_unit(cells[i], seen);
        n_known += g->what[i] != SAMPLE_NONE && g->what[i] != SAMPLE_TEMPERATURE;
    }
    find_total(g);
    return n_known ? 0
                   : dcr_err_set(err, DCR_FAIL,
                                 "'%s' looks like a log of nvidia-smi without header and units, so that its columns "
                                 "cannot be told; record with --format=csv",
                                 name);
}

static int lines_of(struct log *g, char *text, const char *name, struct dcr_err *err)
{
    text += strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    g->is_open = *text && text[strlen(text) - 1] != '\n';
    for (int i = 0; i < MAX_COLUMNS; i++)
        g->factor[i] = 1;
    size_t cap = 1;
    char *save = NULL;
    for (const char *p = text; *p; p++)
        cap += *p == '\n';
    g->lines = malloc(cap * sizeof *g->lines);
    g->t = malloc(cap * sizeof *g->t);
    if (!g->lines || !g->t)
        return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", name);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        g->lines[g->n++] = line;
    return 0;
}

/* Rows into samples. burst: GPUs by place in a burst; 1 = one GPU, or they are told by a column */
static int add_rows(struct run *r, struct log *g, size_t first, int burst, size_t *n_bad, int *n_names,
                    struct samples_left *left)
{
    struct identities known = {.n = 0};
    int64_t n_of[MAX_GPUS] = {0};
    size_t row = 0;
    for (size_t i = first; i < g->n; i++) {
        char *cells[MAX_COLUMNS];
        int n = split(g->lines[i], cells);
        if (g->t[i] < 0) {
            (*n_bad)++;
            continue;
        }
        int64_t id = g->id_column >= 0 && g->id_column < n ? identity(&known, cells[g->id_column])
                     : burst > 1                           ? (int64_t)(row % (size_t)burst)
                                                           : 0;
        double t = g->time_column < 0 && id >= 0 && id < MAX_GPUS ? (double)n_of[id]++ : g->t[i];
        row++;
        for (int c = 0; c < n; c++) {
            double v;
            if (gpu_samples_read(cells[c], g->what[c], g->factor[c], &v, left))
                gpu_samples_add(r, 0, id, g->what[c], t, v);
        }
    }
    *n_names = known.n;
    return row > 0;
}

int nvidia_smi_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct dcr_buf b = {.max = MAX_BYTES};
    struct log g = {.id_column = -1};
    struct samples_left left = {.n = 0};
    size_t n_bad = 0;
    int rc = dcr_stream_slurp(s, &b, MAX_BYTES, err), burst = 1, n_names = 0;
    if (rc || (rc = lines_of(&g, (char *)(uintptr_t)dcr_buf_text(&b), s->name, err)))
        goto out;
    int has_header = b.len && is_header(b.data, b.len);
    if (has_header && g.n) {
        g.n_columns = by_header(&g);
    } else if (g.n) {
        g.n_columns = cells_in(g.lines[0]);
        const char *slash = strchr(g.lines[0], '/'), *comma = strchr(g.lines[0], ',');
        int is_date = slash && comma && slash < comma; /* be it one that can be read or not */
        g.time_column = is_date || stamp(g.lines[0]) >= 0 ? 0 : -1;
    }
    int is_cut = g.is_open && g.n > 1 && cells_in(g.lines[g.n - 1]) < g.n_columns;
    g.n -= (size_t)is_cut;
    read_times(&g);
    if (has_header && g.n)
        g.t[0] = -1;
    else if ((rc = by_first_row(&g, s->name, err)) != 0)
        goto out;
    burst = g.id_column < 0 ? burst_length(&g) : 1;
    if (!add_rows(r, &g, has_header ? 1 : 0, burst, &n_bad, &n_names, &left)) {
        rc = dcr_err_set(err, DCR_FAIL, "'%s' is a log of nvidia-smi without a row that can be read", s->name);
        goto out;
    }
    if (n_bad)
        run_add_gap(r, "%zu row%s of '%s' could not be read.", n_bad, n_bad == 1 ? "" : "s", s->name);
    if (is_cut)
        run_add_gap(r, "The last line of '%s' is cut and left out.", s->name);
    gpu_samples_say(r, s->name, &left);
    if (g.time_column < 0)
        run_add_gap(r,
                    "'%s' holds no times: its samples are counted as seconds%s. Record with "
                    "--query-gpu=timestamp,index,...",
                    s->name, g.id_column < 0 ? ", and taken as those of one GPU" : "");
    if (n_names > 1)
        run_add_gap(r, "The GPUs of '%s' are numbered in order of appearance: it has no index, only ids.", s->name);
    if (burst > 1)
        run_add_gap(r,
                    "'%s' is of %d GPUs and names none: they are told by their place in each sample, as nvidia-smi "
                    "writes them in order of index. Record with --query-gpu=timestamp,index,...",
                    s->name, burst);
    else if (burst == 0)
        run_add_gap(r,
                    "'%s' mixes rows of several GPUs and names none, a different number in each sample: they cannot be "
                    "told apart and are shown as one. Record with --query-gpu=timestamp,index,...",
                    s->name);
out:
    free(g.lines);
    free(g.t);
    dcr_buf_release(&b);
    return rc;
}
