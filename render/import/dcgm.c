/* dcgm.c - DCGM: one or more scrapes of its exporter (Prometheus text), and `dcgmi dmon`. Metric names as in DCGM's
 * field list. */
#include "render/import/parsers.h"

#include "lib/buf.h"
#include "render/import/from_line.h"
#include "render/import/gpu_samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 64 << 20, MAX_COLUMNS = 32, MAX_GPUS = 1024 };

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
/* Parts of the memory, whose sum is all of it where that is not recorded: */
static const char *const parts[] = {"DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_RESERVED"};
enum { UTILIZATION = 0, ACTIVE = 6, N_PARTS = 3, N_FIELDS = sizeof fields / sizeof *fields };

/* What is used of all lines of a file. */
struct text {
    struct samples_left left;
    int has_utilization, has_total, is_of_many; /* is_of_many: machines */
    int is_cut;                                 /* the last line */
    struct memory {
        int64_t node, id;
        double ms, part[N_PARTS]; /* -1 = not seen at that time */
    } * memory;                   /* of each GPU                                        shape (n_memory) */
    size_t n_memory, cap;
    struct dcr_arena arena;
};

/* Where the value of a label begins, and its bytes; NULL when the line has none of that name. */
static const char *label(const char *line, const char *close, const char *name, size_t *n)
{
    size_t len = strlen(name);
    for (const char *p = line; (p = memmem(p, (size_t)(close - p), name, len)) != NULL; p += len)
        if (p > line && (p[-1] == '{' || p[-1] == ',' || p[-1] == ' ') && p[len] == '=' && p[len + 1] == '"') {
            p += len + 2;
            const char *end = memchr(p, '"', (size_t)(close > p ? close - p : 0));
            *n = end ? (size_t)(end - p) : 0;
            return end ? p : NULL;
        }
    *n = 0;
    return NULL;
}

/* The parts of one GPU's memory, when they are all there: their sum. Some versions count what is reserved apart. */
static void add_total(struct run *r, const struct memory *m)
{
    if (m->part[0] >= 0 && m->part[1] >= 0)
        gpu_samples_add(r, m->node, m->id, SAMPLE_MEMORY_TOTAL, m->ms / 1e3,
                        m->part[0] + m->part[1] + (m->part[2] >= 0 ? m->part[2] : 0));
}

/* Each scrape repeats a part: then the one before is whole. */
static void add_part(struct run *r, struct text *x, int64_t node, int64_t id, int part, double ms, double value)
{
    struct memory *m = NULL;
    for (size_t i = 0; i < x->n_memory && !m; i++)
        if (x->memory[i].node == node && x->memory[i].id == id)
            m = &x->memory[i];
    if (!m && x->n_memory == MAX_GPUS)
        return;
    if (!m) {
        x->memory = arena_grow(&x->arena, x->memory, x->n_memory, &x->cap, sizeof *x->memory);
        m = &x->memory[x->n_memory++];
        *m = (struct memory){node, id, ms, {-1, -1, -1}};
    } else if (m->part[part] >= 0) {
        add_total(r, m);
        m->part[0] = m->part[1] = m->part[2] = -1;
        m->ms = ms;
    }
    m->part[part] = value;
}

/* DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="..."} 98 [milliseconds]                                returns  1 when it was used
 */
static int exporter_line(struct run *r, struct text *x, char *line)
{
    size_t n = strcspn(line, "{ "), n_gpu, n_host;
    int field = -1, part = -1;
    for (int i = 0; i < N_FIELDS; i++)
        if (strlen(fields[i].field) == n && strncmp(line, fields[i].field, n) == 0)
            field = i;
    for (int i = 0; i < N_PARTS && !x->has_total; i++)
        if (strlen(parts[i]) == n && strncmp(line, parts[i], n) == 0)
            part = i;
    char *close = strrchr(line, '}');
    if ((field < 0 && part < 0) || (field == ACTIVE && x->has_utilization) || !close)
        return 0;
    const char *gpu = label(line, close, "gpu", &n_gpu), *host = label(line, close, "Hostname", &n_host);
    char *save, *word = strtok_r(close + 1, " \t\r", &save);
    if (!gpu || !word)
        return 0;
    double value, scale = field < 0 ? 1 : fields[field].scale;
    if (!gpu_samples_read(word, field < 0 ? SAMPLE_MEMORY_TOTAL : fields[field].what, scale, &value, &x->left))
        return 0;
    word = strtok_r(NULL, " \t\r", &save);
    double ms = word ? strtod(word, NULL) : 0;
    int64_t node = x->is_of_many ? gpu_samples_node(r, host, n_host) : 0, id = strtol(gpu, NULL, 10);
    if (part >= 0)
        add_part(r, x, node, id, part, ms, value);
    if (field < 0)
        return 0;
    gpu_samples_add(r, node, id, fields[field].what, ms / 1e3, value);
    return 1;
}

/* Are the lines of several machines? Of one the GPUs go to node 0, as those of every monitor do. */
static int is_of_many(const char *text)
{
    const char *first = NULL;
    size_t n_first = 0, n;
    for (const char *line = text, *stop; *line; line = *stop ? stop + 1 : stop) {
        stop = line + strcspn(line, "\n");
        const char *host = strncmp(line, "DCGM_", 5) == 0 ? label(line, stop, "Hostname", &n) : NULL;
        if (!host)
            continue;
        if (first && (n != n_first || memcmp(host, first, n) != 0))
            return 1;
        first = host;
        n_first = n;
    }
    return 0;
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
static int dmon_line(struct run *r, struct dmon *d, char *line, struct samples_left *left)
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
        double v;
        int f = d->field[c];
        if (f < 0 || !gpu_samples_read(word, fields[f].what, fields[f].scale, &v, left))
            continue;
        gpu_samples_add(r, 0, id, fields[f].what, d->rows, v);
        used = 1;
    }
    return used;
}

/* A line that has no end, of which something is missing. */
static int is_short(const char *line, const struct dmon *d)
{
    int n = 0;
    if (strncmp(line, "DCGM_", 5) == 0) {
        const char *close = strrchr(line, '}');
        return !close || !close[1 + strspn(close + 1, " \t\r")];
    }
    for (const char *p = line; *(p += strspn(p, " \t\r")); p += strcspn(p, " \t\r"))
        n++;
    return strncmp(line + strspn(line, " \t"), "GPU ", 4) == 0 && n < d->n + 2;
}

int dcgm_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct dcr_buf b = {.max = MAX_BYTES};
    struct dmon d = {.n = 0};
    struct text x = {.has_total = 0};
    char *save = NULL;
    int n = 0, rc = dcr_stream_slurp(s, &b, MAX_BYTES, err);
    if (rc)
        goto out;
    char *text = (char *)(uintptr_t)dcr_buf_text(&b), *last = strrchr(text, '\n');
    x.has_utilization = strstr(text, "DCGM_FI_DEV_GPU_UTIL{") != NULL;
    x.has_total = strstr(text, "DCGM_FI_DEV_FB_TOTAL{") != NULL;
    x.is_of_many = is_of_many(text);
    last = last ? last + 1 : text;
    for (char *line = b.len ? strtok_r(b.data, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
        if (line == last && is_short(line, &d)) {
            x.is_cut = 1;
            break;
        }
        n += strncmp(line, "DCGM_", 5) == 0 ? exporter_line(r, &x, line) : dmon_line(r, &d, line, &x.left);
    }
    for (size_t i = 0; i < x.n_memory; i++)
        add_total(r, &x.memory[i]);
    if (n == 0)
        rc = dcr_err_set(
            err, DCR_FAIL,
            "'%s' is output of DCGM without a field that is used here (GPU utilisation or activity, memory, power, "
            "temperature, SM clock)",
            s->name);
    if (!rc && x.is_cut)
        run_add_gap(r, "The last line of '%s' is cut and left out.", s->name);
    if (!rc)
        gpu_samples_say(r, s->name, &x.left);
out:
    dcr_arena_release(&x.arena);
    dcr_buf_release(&b);
    return rc;
}
