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

int dcgm_is(const char *head, size_t n)
{
    static const char *const words[][2] = {
        {"DCGM_FI_DEV_", NULL}, {"DCGM_FI_PROF_", NULL}, {"#Entity", NULL}, {"# Entity ", NULL}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (line_with(head, n, words[i]))
            return 1;
    return 0;
}

/* The last one is the share of time in which the graphics or compute engine was active: utilisation where the driver's
 * own is not recorded. source: DCGM Feature Overview, "Profiling Metrics" */
static const struct {
    const char *field, *dmon;
    enum gpu_sample what;
    double scale;
} fields[] = {{"DCGM_FI_DEV_GPU_UTIL", "GPUTL", SAMPLE_UTILIZATION, 1},
              {"DCGM_FI_DEV_FB_USED", "FBUSD", SAMPLE_MEMORY_USED, 1},
              {"DCGM_FI_DEV_FB_TOTAL", "FBTTL", SAMPLE_MEMORY_TOTAL, 1},
              {"DCGM_FI_DEV_POWER_USAGE", "POWER", SAMPLE_POWER, 1},
              {"DCGM_FI_DEV_GPU_TEMP", "TMPTR", SAMPLE_TEMPERATURE, 1},
              {"DCGM_FI_DEV_SM_CLOCK", "SMCLK", SAMPLE_CLOCK, 1},
              {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "GRACT", SAMPLE_UTILIZATION, 100}};
enum { UTILIZATION = 0, ACTIVE = 6, N_FIELDS = sizeof fields / sizeof *fields };

/* DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="..."} 98 [milliseconds]                                returns  1 when it was used
 */
static int exporter_line(struct run *r, const char *line, int has_utilization)
{
    size_t n = strcspn(line, "{ ");
    int field = -1;
    for (int i = 0; i < N_FIELDS; i++)
        if (strlen(fields[i].field) == n && strncmp(line, fields[i].field, n) == 0)
            field = i;
    const char *gpu = strstr(line, "gpu=\""), *close = strrchr(line, '}');
    if (field < 0 || (field == ACTIVE && has_utilization) || !gpu || !close)
        return 0;
    char *end;
    double value = strtod(close + 1, &end);
    if (end == close + 1)
        return 0;
    double ms = strtod(end, NULL);
    gpu_samples_add(r, strtol(gpu + 5, NULL, 10), fields[field].what, ms / 1e3, value * fields[field].scale);
    return 1;
}

struct dmon {
    int field[MAX_COLUMNS]; /* -1: none that is used */
    int n, rows;
};

static void dmon_header(struct dmon *d, char **save)
{
    const char *word;
    int active = -1, has_utilization = 0;
    for (d->n = 0; (word = strtok_r(NULL, " \t\r", save)) && d->n < MAX_COLUMNS; d->n++) {
        int *field = &d->field[d->n];
        *field = -1;
        for (int i = 0; i < N_FIELDS; i++)
            if (strcmp(word, fields[i].dmon) == 0)
                *field = i;
        has_utilization |= *field == UTILIZATION;
        active = *field == ACTIVE ? d->n : active;
    }
    if (active >= 0 && has_utilization)
        d->field[active] = -1;
}

/* "#Entity GPUTL POWER" (of older versions "# Entity") and "GPU 0   98  250.5": a row is a sample; dmon writes no
 * times, so rows count as seconds. */
static int dmon_line(struct run *r, struct dmon *d, char *line)
{
    char *save, *word = strtok_r(line, " \t\r", &save);
    if (word && strcmp(word, "#") == 0)
        word = strtok_r(NULL, " \t\r", &save);
    if (!word)
        return 0;
    if (strcmp(word, "#Entity") == 0 || strcmp(word, "Entity") == 0) {
        dmon_header(d, &save);
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
        if (end == word || d->field[c] < 0)
            continue;
        gpu_samples_add(r, id, fields[d->field[c]].what, d->rows, v * fields[d->field[c]].scale);
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
    int has_utilization = strstr(dcr_buf_text(&b), "DCGM_FI_DEV_GPU_UTIL{") != NULL;
    for (char *line = b.len ? strtok_r(b.data, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save))
        n += strncmp(line, "DCGM_", 5) == 0 ? exporter_line(r, line, has_utilization) : dmon_line(r, &d, line);
    if (n == 0)
        rc = dcr_err_set(
            err, DCR_FAIL,
            "'%s' is output of DCGM without a field that is used here (GPU utilisation or activity, memory, power, "
            "temperature, SM clock)",
            s->name);
out:
    dcr_buf_release(&b);
    return rc;
}
