/* nvidia_smi.c - tables of GPU monitors: `nvidia-smi --query-gpu=... --format=csv -l`, with header and units, or
 * without one of them, and those of home-made monitors, whose columns are told by their names (text/columns.h).
 * Without a header columns are told by their units. The first "%" is the GPU's utilisation, the first "MiB" memory
 * used, "W" power, "MHz" the SM clock, and a bare whole number from 10 to 130 the temperature. A second "MiB" that
 * never changes is all memory. GPUs are told by index, else by uuid or bus id, else by their place in each burst of
 * rows. Without times rows count as seconds. Test: render_foreign.sh, test_smi.c */
#include "render/import/nvidia_smi.h"
#include "render/import/text/parsers.h"

#include "lib/base/buf.h"
#include "lib/base/utf8.h"
#include "render/import/text/columns.h"
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

/* The first record, NUL-terminated and without a byte-order mark. */
static void first_record(const char *head, size_t n, char *line, size_t cap)
{
    size_t skipped = utf8_mark(head, n);
    snprintf(line, cap, "%.*s", (int)(n - skipped), head + skipped);
    line[smi_record_end(line) - line] = '\0';
}

static int is_header(const char *head, size_t n)
{
    char line[SMI_MAX_LINE], *cells[SMI_MAX_COLUMNS];
    first_record(head, n, line, sizeof line);
    return smi_is_header(cells, smi_split(line, cells));
}

/* Does the first row have a number where a column is a sample? In a training's table, where the epochs are counted, no
 * column is read. */
static int is_of_monitor(const char *head, size_t n)
{
    char header[SMI_MAX_LINE], line[SMI_MAX_LINE], *names[SMI_MAX_COLUMNS], *cells[SMI_MAX_COLUMNS];
    first_record(head, n, header, sizeof header);
    size_t len = strlen(header) + utf8_mark(head, n);
    if (len + 1 >= n)
        return 0;
    first_record(head + len + 1, n - len - 1, line, sizeof line);
    int n_names = smi_split(header, names), has_time = 0, has_number = 0, is_training = 0;
    if (n_names < 2 || smi_split(line, cells) != n_names)
        return 0;
    for (int i = 0; i < n_names; i++) {
        struct column c = column_of(names[i]);
        has_time |= c.kind == COLUMN_TIME;
        has_number |= c.kind == COLUMN_SAMPLE && is_value(cells[i]);
        is_training |= c.kind == COLUMN_EPOCH && strtod(cells[i], NULL) < 1e8;
    }
    return has_number && (has_time || !is_training);
}

/* The header again, of a log that was appended to. */
static int is_same_header(const struct smi_log *g, char *const *cells, int n)
{
    int same = 0;
    while (same < n && same < g->n_names && strcmp(cells[same], g->names[same]) == 0)
        same++;
    return same == n && same == g->n_names;
}

/* Fields that nvidia-smi knows, but none is a sample: it is its log, but of no use. For names that any table may have,
 * the rows decide. */
static int is_without_samples(const char *head, size_t n)
{
    static const char *const fields[] = {"timestamp", "index",      "name",        "gpu_name",       "uuid",
                                         "gpu_uuid",  "gpu_serial", "serial",      "pci.bus_id",     "gpu_bus_id",
                                         "count",     "pstate",     "compute_cap", "driver_version", "fan.speed"};
    static const char *const makes[] = {"NVIDIA", "Tesla", "GeForce", "Quadro", "GPU-", "00000000:"};
    char line[SMI_MAX_LINE], *cells[SMI_MAX_COLUMNS];
    const char *second = memchr(head, '\n', n);
    first_record(head, n, line, sizeof line);
    int n_cells = smi_split(line, cells), n_fields = 0, has_make = 0;
    for (int c = 0; c < n_cells; c++)
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
            n_fields += strcmp(cells[c], fields[i]) == 0;
    if (!second || n_cells < 2 || n_fields < n_cells)
        return 0;
    first_record(second + 1, n - (size_t)(second + 1 - head), line, sizeof line);
    for (size_t i = 0; i < sizeof makes / sizeof *makes; i++)
        has_make |= strstr(line, makes[i]) != NULL;
    return has_make;
}

int nvidia_smi_is(const char *head, size_t n)
{
    char line[SMI_MAX_LINE], *cells[SMI_MAX_COLUMNS];
    int seen[SAMPLE_CLOCK + 1] = {0}, n_numbers = 0, n_units = 0;
    int header = is_header(head, n);
    if (header == 2 || is_without_samples(head, n))
        return 1;
    if (header)
        return is_of_monitor(head, n);
    first_record(head, n, line, sizeof line);
    int has_time = date_seconds(line) >= 0,
        is_with_units = strstr(line, " %") || strstr(line, " MiB") || strstr(line, " W");
    if (has_time && strchr(line, ',') && is_with_units)
        return 1;
    has_time = has_time && strchr(line, '/'); /* any table may have dates with dashes */
    int n_cells = smi_split(line, cells);
    for (int i = 0; i < n_cells; i++) {
        enum gpu_sample what = smi_by_unit(cells[i], seen);
        n_units += what != SAMPLE_NONE && what != SAMPLE_TEMPERATURE;
        n_numbers += i > 0 && is_value(cells[i]);
    }
    /* Rows of a time and bare numbers count as a log, so that they are refused with a reason. */
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
    text += utf8_mark(text, strlen(text));
    g->is_open = *text && text[strlen(text) - 1] != '\n';
    for (int i = 0; i < SMI_MAX_COLUMNS; i++) {
        g->factor[i] = 1;
        g->gpu[i] = -1;
    }
    size_t cap = 1;
    for (const char *p = text; *p; p++)
        cap += *p == '\n';
    g->lines = malloc(cap * sizeof *g->lines);
    g->t = malloc(cap * sizeof *g->t);
    if (!g->lines || !g->t)
        return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", name);
    while (*(text += strspn(text, "\n"))) {
        char *end = text + (smi_record_end(text) - text);
        g->lines[g->n++] = text;
        text = *end ? end + 1 : end;
        *end = '\0';
    }
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
        int is_names = smi_is_header(cells, n);
        if (is_names && is_same_header(g, cells, n))
            continue;
        if (is_names) { /* other columns, or the same in another order or unit */
            g->n_behind = g->n - i - 1;
            break;
        }
        if (g->t[i] < 0 || n != g->n_columns) { /* cells cannot be assigned: "80,5 W" makes two */
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
        double t = g->time_column < 0 && id >= 0 && id < MAX_GPUS ? (double)n_of[id]++ : g->t[i], v[SMI_MAX_COLUMNS];
        row++;
        for (int c = 0; c < n; c++) {
            if (!gpu_samples_read(cells[c], g->what[c], g->factor[c], &v[c], left))
                v[c] = NAN;
            else if (g->what[c] != SAMPLE_MEMORY_USED)
                gpu_samples_add(r, 0, g->gpu[c] < 0 ? id : g->gpu[c], g->what[c], t, v[c]);
        }
        for (int c = 0; c < n; c++) {
            double total = NAN;
            for (int k = 0; k < n; k++)
                total = g->what[k] == SAMPLE_MEMORY_TOTAL && g->gpu[k] == g->gpu[c] ? v[k] : total;
            if (g->what[c] == SAMPLE_MEMORY_USED && samples_memory(left, v[c], total))
                gpu_samples_add(r, 0, g->gpu[c] < 0 ? id : g->gpu[c], SAMPLE_MEMORY_USED, t, v[c]);
        }
    }
    *n_names = known.n;
    return row > 0;
}

static void add_name(struct dcr_buf *list, const char *name)
{
    dcr_buf_printf(list, "%s%s", list->len ? ", " : "", *name ? name : "(no name)");
}

/* Lists what was understood of the header. */
static void tell_columns(struct run *r, const struct smi_log *g)
{
    struct dcr_buf used = {0}, unused = {0};
    for (int i = 0; i < g->n_names; i++)
        add_name(g->what[i] != SAMPLE_NONE || i == g->time_column || i == g->id_column ? &used : &unused, g->names[i]);
    r->told.role = g->is_smi || !g->n_names ? r->told.role : "table of a GPU monitor";
    r->told.columns_read = run_text(r, dcr_buf_text(&used));
    r->told.columns_unread = run_text(r, dcr_buf_text(&unused));
    dcr_buf_release(&used);
    dcr_buf_release(&unused);
}

static int no_times(const struct smi_log *g, const char *name, struct dcr_err *err)
{
    struct dcr_buf seen = {0};
    for (int i = 0; i < g->n_names; i++)
        add_name(&seen, g->names[i]);
    int rc = dcr_err_set(
        err, DCR_FAIL,
        "'%s' is a table of a GPU without a column of times (it has %.300s); name one of them " COLUMN_TIME_WORDS, name,
        dcr_buf_text(&seen));
    dcr_buf_release(&seen);
    return rc;
}

int nvidia_smi_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct dcr_buf b = {.max = MAX_BYTES};
    struct smi_log g = {.id_column = -1, .time_column = -1, .time_factor = NAN};
    struct samples_left left = {.n = 0};
    size_t n_bad = 0;
    const char *unknown[SMI_MAX_COLUMNS];
    int rc = dcr_stream_slurp(s, &b, MAX_BYTES, err), burst = 1, n_names = 0, n_unknown = 0;
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
        if (g.time_column < 0 && !g.is_smi) {
            rc = no_times(&g, s->name, err);
            goto out;
        }
    } else if (g.n) {
        g.n_columns = smi_cells_in(g.lines[0]);
        const char *slash = strchr(g.lines[0], '/'), *comma = strchr(g.lines[0], ',');
        int is_date = slash && comma && slash < comma; /* also a date that cannot be read */
        g.time_column = is_date || date_seconds(g.lines[0]) >= 0 ? 0 : -1;
    }
    int is_cut = g.is_open && g.n > 1 && smi_cells_in(g.lines[g.n - 1]) < g.n_columns;
    g.n -= (size_t)is_cut;
    smi_read_times(&g);
    if (has_header && g.n) {
        g.t[0] = -1;
        smi_check_units(&g, unknown, &n_unknown);
    } else if ((rc = smi_by_first_row(&g, s->name, err)) != 0)
        goto out;
    burst = g.id_column < 0 && !g.has_gpus ? smi_burst_length(&g) : 1;
    if (!add_rows(r, &g, has_header ? 1 : 0, burst, &n_bad, &n_names, &left)) {
        rc = dcr_err_set(err, DCR_FAIL,
                         "'%s' is a table of a GPU monitor without a row that can be read; record it again", s->name);
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
    for (int i = 0; i < n_unknown; i++)
        run_add_gap(r, PHRASE(COLUMN_NO_UNIT, slot_name(unknown[i]), slot_name(s->name)), PHRASE(COLUMN_UNIT_HOW));
    tell_columns(r, &g);
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
