/* nvidia_smi.c - `nvidia-smi --query-gpu=... --format=csv -l`, with header and units, or without one of them. Without a
 * header columns are told by their units: the first "%" is the GPU's utilisation, the first "MiB" memory used, "W"
 * power, "MHz" the SM clock, a bare number the temperature. */
#include "render/import/parsers.h"

#include "lib/buf.h"
#include "render/import/from_line.h"
#include "render/import/gpu_samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 256 << 20, MAX_COLUMNS = 64 };

/* "2026/04/25 16:06:06.780" in seconds; < 0 when it is none. */
static double stamp(const char *text)
{
    int y, mo, d, h, mi, n = 0;
    double s;
    if (sscanf(text, " %4d/%2d/%2d %2d:%2d:%lf%n", &y, &mo, &d, &h, &mi, &s, &n) != 6 || y < 1970 || mo < 1 || mo > 12)
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

static int is_header(const char *head, size_t n)
{
    static const char *const with_time[] = {"timestamp", ",", "utilization.gpu", NULL}, *const memory[] = {
                                                                                            "memory.used", ",",
                                                                                            "timestamp", NULL};
    const char *line = line_with(head, n, with_time);
    line = line ? line : line_with(head, n, memory);
    return line == head;
}

int nvidia_smi_is(const char *head, size_t n)
{
    char line[512];
    if (is_header(head, n))
        return 1;
    size_t len = 0;
    while (len < n && len + 1 < sizeof line && head[len] != '\n')
        len++;
    memcpy(line, head, len);
    line[len] = '\0';
    return stamp(line) >= 0 && strchr(line, ',') && (strstr(line, " %") || strstr(line, " MiB") || strstr(line, " W"));
}

static enum gpu_sample by_name(const char *name)
{
    static const struct {
        const char *begin;
        enum gpu_sample what;
    } names[] = {{"utilization.gpu", SAMPLE_UTILIZATION}, {"memory.used", SAMPLE_MEMORY_USED},
                 {"memory.total", SAMPLE_MEMORY_TOTAL},   {"power.draw", SAMPLE_POWER},
                 {"temperature.gpu", SAMPLE_TEMPERATURE}, {"clocks.sm", SAMPLE_CLOCK},
                 {"clocks.current.sm", SAMPLE_CLOCK}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i].begin, strlen(names[i].begin)) == 0 && strncmp(name, "power.draw.", 11) != 0)
            return names[i].what;
    return SAMPLE_NONE;
}

static enum gpu_sample by_unit(const char *cell, int *seen)
{
    char *unit;
    strtod(cell, &unit);
    if (unit == cell)
        return SAMPLE_NONE;
    enum gpu_sample what = strcmp(unit, " %") == 0     ? SAMPLE_UTILIZATION
                           : strcmp(unit, " MiB") == 0 ? SAMPLE_MEMORY_USED
                           : strcmp(unit, " W") == 0   ? SAMPLE_POWER
                           : strcmp(unit, " MHz") == 0 ? SAMPLE_CLOCK
                           : *unit == '\0'             ? SAMPLE_TEMPERATURE
                                                       : SAMPLE_NONE;
    if (what == SAMPLE_NONE || seen[what]++)
        return SAMPLE_NONE;
    return what;
}

int nvidia_smi_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct dcr_buf b = {.max = MAX_BYTES};
    enum gpu_sample what[MAX_COLUMNS] = {SAMPLE_NONE};
    char *save = NULL, *cells[MAX_COLUMNS];
    int has_columns = 0, time_column = 0, index_column = -1, n_rows = 0, n_bad = 0;
    int rc = dcr_stream_slurp(s, &b, MAX_BYTES, err);
    if (rc)
        goto out;
    (void)dcr_buf_text(&b);
    int has_header = b.len && is_header(b.data, b.len);
    for (char *line = b.len ? strtok_r(b.data, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
        int n = split(line, cells), seen[SAMPLE_CLOCK + 1] = {0};
        if (!has_columns) {
            for (int i = 0; i < n; i++) {
                what[i] = has_header ? by_name(cells[i]) : by_unit(cells[i], seen);
                time_column = has_header && strncmp(cells[i], "timestamp", 9) == 0 ? i : time_column;
                index_column = has_header && strcmp(cells[i], "index") == 0 ? i : index_column;
            }
            has_columns = 1;
            if (has_header)
                continue;
        }
        double t = time_column < n ? stamp(cells[time_column]) : -1;
        if (t < 0) {
            n_bad++;
            continue;
        }
        n_rows++;
        int64_t id = index_column >= 0 && index_column < n ? strtol(cells[index_column], NULL, 10) : 0;
        for (int i = 0; i < n; i++) {
            char *end;
            double v = strtod(cells[i], &end); /* "[N/A]" and the like are not measured */
            if (end > cells[i])
                gpu_samples_add(r, id, what[i], t, v);
        }
    }
    if (!n_rows)
        rc = dcr_err_set(err, DCR_FAIL, "'%s' is a log of nvidia-smi without a row that can be read", s->name);
    else if (n_bad)
        run_add_gap(r, "%d rows of '%s' could not be read.", n_bad, s->name);
out:
    dcr_buf_release(&b);
    return rc;
}
