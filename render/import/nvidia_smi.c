/* nvidia_smi.c - `nvidia-smi --query-gpu=... --format=csv -l`, with header and units, or without one of them. Without a
 * header columns are told by their units: the first "%" is the GPU's utilisation, the first "MiB" memory used, "W"
 * power, "MHz" the SM clock, a bare whole number from 10 to 130 the temperature; a second "MiB" that never changes all
 * memory. GPUs are told by index, else by uuid or bus id, else by their place in each burst of rows; without times rows
 * count as seconds. Test: render_foreign.sh, test_smi.c */
#include "render/import/nvidia_smi.h"
#include "render/import/text/parsers.h"

#include "lib/base/buf.h"
#include "render/import/text/date.h"
#include "render/import/text/from_line.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 256 << 20, MAX_GPUS = 1024 };

static int is_value(const char *cell)
{
    char *end;
    strtod(cell, &end);
    return end > cell || *cell == '[';
}

/* The first line, NUL-terminated and without a byte-order mark. */
static void first_line(const char *head, size_t n, char *line, size_t cap)
{
    size_t len = 0, skipped = n >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (head += skipped, n -= skipped; len < n && len + 1 < cap && head[len] != '\n'; len++)
        line[len] = head[len];
    line[len] = '\0';
}

/* Names of columns, one of which is used here. */
static int are_names(char *const *cells, int n_cells)
{
    int n_known = 0;
    for (int i = 0; i < n_cells; i++) {
        n_known += smi_by_name(cells[i]) != SAMPLE_NONE;
        if (*cells[i] < 'a' || *cells[i] > 'z')
            return 0;
    }
    return n_known > 0;
}

static int is_header(const char *head, size_t n)
{
    char line[SMI_MAX_LINE], *cells[SMI_MAX_COLUMNS];
    first_line(head, n, line, sizeof line);
    return are_names(cells, smi_split(line, cells));
}

/* The header again, of a log that was appended to. */
static int is_same_header(const struct smi_log *g, char *const *cells, int n)
{
    int same = 0;
    while (same < n && same < g->n_names && strcmp(cells[same], g->names[same]) == 0)
        same++;
    return same == n && same == g->n_names;
}

/* Fields that nvidia-smi knows, none of which is a sample: its log, and of no use. Of names that anybody's table may
 * have the rows decide. */
static int is_without_samples(const char *head, size_t n)
{
    static const char *const fields[] = {"timestamp", "index",      "name",        "gpu_name",       "uuid",
                                         "gpu_uuid",  "gpu_serial", "serial",      "pci.bus_id",     "gpu_bus_id",
                                         "count",     "pstate",     "compute_cap", "driver_version", "fan.speed"};
    static const char *const makes[] = {"NVIDIA", "Tesla", "GeForce", "Quadro", "GPU-", "00000000:"};
    char line[SMI_MAX_LINE], *cells[SMI_MAX_COLUMNS];
    const char *second = memchr(head, '\n', n);
    first_line(head, n, line, sizeof line);
    int n_cells = smi_split(line, cells), n_fields = 0, has_make = 0;
    for (int c = 0; c < n_cells; c++)
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
            n_fields += strcmp(cells[c], fields[i]) == 0;
    if (!second || n_cells < 2 || n_fields < n_cells)
        return 0;
    first_line(second + 1, n - (size_t)(second + 1 - head), line, sizeof line);
    for (size_t i = 0; i < sizeof makes / sizeof *makes; i++)
        has_make |= strstr(line, makes[i]) != NULL;
    return has_make;
}

int nvidia_smi_is(const char *head, size_t n)
{
    char line[SMI_MAX_LINE], *cells[SMI_MAX_COLUMNS];
    int seen[SAMPLE_CLOCK + 1] = {0}, n_numbers = 0, n_units = 0;
    if (is_header(head, n) || is_without_samples(head, n))
        return 1;
    first_line(head, n, line, sizeof line);
    int has_time = date_seconds(line) >= 0,
        is_with_units = strstr(line, " %") || strstr(line, " MiB") || strstr(line, " W");
    if (has_time && strchr(line, ',') && is_with_units)
        return 1;
    has_time = has_time && strchr(line, '/'); /* dates with dashes are in anybody's tables */
    int n_cells = smi_split(line, cells);
    for (int i = 0; i < n_cells; i++) {
        enum gpu_sample what = smi_by_unit(cells[i], seen);
        n_units += what != SAMPLE_NONE && what != SAMPLE_TEMPERATURE;
        n_numbers += i > 0 && is_value(cells[i]);
    }
    /* With times, numbers alone are ours to refuse, with the reason. */
    return has_time ? n_cells > 2 && n_numbers == n_cells - 1 : n_units > 1;
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

static int lines_of(struct smi_log *g, char *text, const char *name, struct dcr_err *err)
{
    text += strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    g->is_open = *text && text[strlen(text) - 1] != '\n';
    for (int i = 0; i < SMI_MAX_COLUMNS; i++)
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
static int add_rows(struct run *r, struct smi_log *g, size_t first, int burst, size_t *n_bad, int *n_names,
                    struct samples_left *left)
{
    struct identities known = {.n = 0};
    int64_t n_of[MAX_GPUS] = {0};
    size_t row = 0;
    for (size_t i = first; i < g->n; i++) {
        char *cells[SMI_MAX_COLUMNS];
        int n = smi_split(g->lines[i], cells);
        if (are_names(cells, n) && is_same_header(g, cells, n))
            continue;
        if (are_names(cells, n)) { /* other columns, or the same in another order or unit */
            g->n_behind = g->n - i - 1;
            break;
        }
        if (g->t[i] < 0 || n != g->n_columns) { /* of other cells nobody knows which is which: "80,5 W" is two */
            (*n_bad)++;
            continue;
        }
        int64_t id = g->id_column >= 0 && g->id_column < n ? identity(&known, cells[g->id_column])
                     : burst > 1                           ? (int64_t)(row % (size_t)burst)
                                                           : 0;
        if (id < 0 || id >= MAX_GPUS) {
            (*n_bad)++;
            continue;
        }
        double used = NAN, total = NAN;
        double t = g->time_column < 0 && id >= 0 && id < MAX_GPUS ? (double)n_of[id]++ : g->t[i];
        row++;
        for (int c = 0; c < n; c++) {
            double v;
            if (!gpu_samples_read(cells[c], g->what[c], g->factor[c], &v, left))
                continue;
            used = g->what[c] == SAMPLE_MEMORY_USED ? v : used;
            total = g->what[c] == SAMPLE_MEMORY_TOTAL ? v : total;
            if (g->what[c] != SAMPLE_MEMORY_USED)
                gpu_samples_add(r, 0, id, g->what[c], t, v);
        }
        if (samples_memory(left, used, total))
            gpu_samples_add(r, 0, id, SAMPLE_MEMORY_USED, t, used);
    }
    *n_names = known.n;
    return row > 0;
}

int nvidia_smi_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct dcr_buf b = {.max = MAX_BYTES};
    struct smi_log g = {.id_column = -1};
    struct samples_left left = {.n = 0};
    size_t n_bad = 0;
    int rc = dcr_stream_slurp(s, &b, MAX_BYTES, err), burst = 1, n_names = 0;
    int is_bare = !rc && b.len && is_without_samples(b.data, b.len); /* lines_of cuts the text */
    if (rc || (rc = lines_of(&g, (char *)(uintptr_t)dcr_buf_text(&b), s->name, err)))
        goto out;
    if (is_bare) {
        rc = dcr_err_set(err, DCR_FAIL,
                         "'%s' is a log of nvidia-smi that samples nothing: its columns are %.*s; record with "
                         "--query-gpu=timestamp,index,utilization.gpu,memory.used,memory.total,power.draw "
                         "--format=csv -l 1",
                         s->name, g.n ? (int)strcspn(g.lines[0], "\r") : 0, g.n ? g.lines[0] : "");
        goto out;
    }
    int has_header = b.len && is_header(b.data, b.len);
    if (has_header && g.n) {
        g.n_columns = smi_by_header(&g, &left);
    } else if (g.n) {
        g.n_columns = smi_cells_in(g.lines[0]);
        const char *slash = strchr(g.lines[0], '/'), *comma = strchr(g.lines[0], ',');
        int is_date = slash && comma && slash < comma; /* be it one that can be read or not */
        g.time_column = is_date || date_seconds(g.lines[0]) >= 0 ? 0 : -1;
    }
    int is_cut = g.is_open && g.n > 1 && smi_cells_in(g.lines[g.n - 1]) < g.n_columns;
    g.n -= (size_t)is_cut;
    smi_read_times(&g);
    if (has_header && g.n)
        g.t[0] = -1;
    else if ((rc = smi_by_first_row(&g, s->name, err)) != 0)
        goto out;
    burst = g.id_column < 0 ? smi_burst_length(&g) : 1;
    if (!add_rows(r, &g, has_header ? 1 : 0, burst, &n_bad, &n_names, &left)) {
        rc = dcr_err_set(err, DCR_FAIL, "'%s' is a log of nvidia-smi without a row that can be read", s->name);
        goto out;
    }
    if (n_bad)
        run_add_gap(r, PHRASE(ROWS_UNREAD, slot_count((int64_t)n_bad), slot_name(s->name)));
    if (is_cut)
        run_add_gap(r, PHRASE(LAST_LINE_CUT, slot_name(s->name)));
    if (g.n_behind)
        run_add_gap(r, PHRASE(OTHER_HEADER, slot_name(s->name)), PHRASE(LINES_BEHIND, slot_count((int64_t)g.n_behind)),
                    PHRASE(SEPARATE_FILE));
    gpu_samples_say(r, s->name, &left);
    if (g.time_column < 0)
        run_add_gap(r, PHRASE(SMI_NO_TIMES, slot_name(s->name)), g.id_column < 0 ? PHRASE(SMI_ONE_GPU) : PHRASE(NONE),
                    PHRASE(SMI_RECORD));
    if (n_names > 1)
        run_add_gap(r, PHRASE(SMI_BY_APPEARANCE, slot_name(s->name)));
    if (burst > 1)
        run_add_gap(r, PHRASE(SMI_UNNAMED, slot_name(s->name), slot_count(burst)), PHRASE(SMI_BY_PLACE),
                    PHRASE(SMI_RECORD));
    else if (burst == 0)
        run_add_gap(r, PHRASE(SMI_MIXED, slot_name(s->name)), PHRASE(SMI_SHOWN_AS_ONE), PHRASE(SMI_RECORD));
out:
    free(g.lines);
    free(g.t);
    dcr_buf_release(&b);
    return rc;
}
