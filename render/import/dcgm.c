/* dcgm.c - DCGM: one or more scrapes of its exporter (Prometheus text), and `dcgmi dmon`. Metric names as in DCGM's
 * field list. */
#include "render/import/parsers.h"

#include "lib/buf.h"
#include "render/import/from_line.h"
#include "render/import/gpu_samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 64 << 20, MAX_COLUMNS = 32 };

static const char *const exporter_words[] = {"DCGM_FI_DEV_", NULL}, *const dmon_words[] = {"#Entity", NULL};

int dcgm_is(const char *head, size_t n)
{
    return line_with(head, n, exporter_words) || line_with(head, n, dmon_words);
}

static const struct {
    const char *field, *dmon;
    enum gpu_sample what;
} fields[] = {
    {"DCGM_FI_DEV_GPU_UTIL", "GPUTL", SAMPLE_UTILIZATION},  {"DCGM_FI_DEV_FB_USED", "FBUSD", SAMPLE_MEMORY_USED},
    {"DCGM_FI_DEV_FB_TOTAL", "FBTTL", SAMPLE_MEMORY_TOTAL}, {"DCGM_FI_DEV_POWER_USAGE", "POWER", SAMPLE_POWER},
    {"DCGM_FI_DEV_GPU_TEMP", "TMPTR", SAMPLE_TEMPERATURE},  {"DCGM_FI_DEV_SM_CLOCK", "SMCLK", SAMPLE_CLOCK}};
enum { N_FIELDS = sizeof fields / sizeof *fields };

/* DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="..."} 98 [milliseconds]                                returns  1 when it was used
 */
static int exporter_line(struct run *r, const char *line)
{
    size_t n = strcspn(line, "{ ");
    enum gpu_sample what = SAMPLE_NONE;
    for (int i = 0; i < N_FIELDS; i++)
        if (strlen(fields[i].field) == n && strncmp(line, fields[i].field, n) == 0)
            what = fields[i].what;
    const char *gpu = strstr(line, "gpu=\""), *close = strrchr(line, '}');
    if (what == SAMPLE_NONE || !gpu || !close)
        return 0;
    char *end;
    double value = strtod(close + 1, &end);
    if (end == close + 1)
        return 0;
    double ms = strtod(end, NULL);
    gpu_samples_add(r, strtol(gpu + 5, NULL, 10), what, ms / 1e3, value);
    return 1;
}

struct dmon {
    enum gpu_sample what[MAX_COLUMNS];
    int n, rows;
};

/* "#Entity GPUTL POWER" and "GPU 0   98  250.5": a row is a sample; dmon writes no times, so rows count as seconds. */
static int dmon_line(struct run *r, struct dmon *d, char *line)
{
    char *save, *word = strtok_r(line, " \t\r", &save);
    if (!word)
        return 0;
    if (strcmp(word, "#Entity") == 0) {
        for (d->n = 0; (word = strtok_r(NULL, " \t\r", &save)) && d->n < MAX_COLUMNS; d->n++) {
            d->what[d->n] = SAMPLE_NONE;
            for (int i = 0; i < N_FIELDS; i++)
                if (strcmp(word, fields[i].dmon) == 0)
                    d->what[d->n] = fields[i].what;
        }
        return 0;
    }
    if (strcmp(word, "GPU") != 0 || !(word = strtok_r(NULL, " \t\r", &save)))
        return 0;
    long id = strtol(word, NULL, 10);
    int used = 0;
    d->rows += id == 0;
    for (int c = 0; c < d->n && (word = strtok_r(NULL, " \t\r", &save)); c++) {
        char *end;
        double v = strtod(word, &end); /* "N/A" is not measured */
        if (end == word || d->what[c] == SAMPLE_NONE)
            continue;
        gpu_samples_add(r, id, d->what[c], d->rows, v);
        used = 1;
    }
    return used;
}

int dcgm_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct dcr_buf b = {.max = MAX_BYTES};
    struct dmon d = {.n = 0};
    char *save = NULL;
    int n = 0, rc = dcr_stream_slurp(s, &b, MAX_BYTES, err);
    if (rc)
        goto out;
    (void)dcr_buf_text(&b);
    for (char *line = b.len ? strtok_r(b.data, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save))
        n += strncmp(line, "DCGM_", 5) == 0 ? exporter_line(r, line) : dmon_line(r, &d, line);
    if (n == 0)
        rc = dcr_err_set(err, DCR_FAIL,
                         "'%s' is output of DCGM without a field that is used here (GPU utilisation, memory, power, "
                         "temperature, SM clock)",
                         s->name);
out:
    dcr_buf_release(&b);
    return rc;
}
