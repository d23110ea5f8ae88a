/* dcgm.c - DCGM: one or more scrapes of its exporter (Prometheus text), and `dcgmi dmon`. Metric names as in DCGM's
 * field list. */
#include "render/import/text/parsers.h"

#include "lib/base/buf.h"
#include "lib/base/utf8.h"
#include "render/import/dcgm_activity.h"
#include "render/import/text/from_line.h"
#include "render/import/text/gpu_samples.h"

#include <math.h>
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
/* Parts of the memory. Their sum is all memory, if that is not recorded: */
static const struct {
    const char *field, *dmon;
} parts[] = {{"DCGM_FI_DEV_FB_USED", "FBUSD"}, {"DCGM_FI_DEV_FB_FREE", "FBFRE"}, {"DCGM_FI_DEV_FB_RESERVED", "FBRSV"}};
enum { UTILIZATION = 0, ACTIVE = 6, N_PARTS = 3, N_FIELDS = sizeof fields / sizeof *fields };
enum { NO_VALUE = -1, NOT_SEEN = -2 };

struct part {
    int64_t node, id;
    double ms, value; /* NO_VALUE: there is none at that time */
    size_t line;      /* counts parts, in order of the file */
    int part;
};

/* What is kept of all lines of a file. */
struct text {
    struct samples_left left;
    struct ids_left ids;
    int has_utilization, has_total, is_of_many; /* is_of_many: machines */
    int is_cut;                                 /* the last line */
    int has_instances;                          /* of MIG */
    struct part *parts; /* used if all memory is not recorded                             shape (n_parts) */
    size_t n_parts, cap;
    struct dcgm_activity activity;
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

static void add_part(struct text *x, struct part p)
{
    x->parts = arena_grow(&x->arena, x->parts, x->n_parts, &x->cap, sizeof *x->parts);
    p.line = x->n_parts;
    x->parts[x->n_parts++] = p;
}

/* By GPU and time. Lines may come by scrape, or by metric with all times of one metric before the next. */
static int compare_part(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    return x->node != y->node ? (x->node > y->node) - (x->node < y->node)
           : x->id != y->id   ? (x->id > y->id) - (x->id < y->id)
           : x->ms != y->ms   ? (x->ms > y->ms) - (x->ms < y->ms)
                              : (x->line > y->line) - (x->line < y->line);
}

/* The sum of the parts of one GPU at one time, if used and free are given and no part lacks its value. Some versions
 * count reserved memory separately. most_used: of the GPU at any time */
static void add_total(struct run *r, struct text *x, const struct part *p, const double *part, double most_used)
{
    double total = part[0] + part[1] + (part[2] == NOT_SEEN ? 0 : part[2]);
    char text[48];
    if (part[0] < 0 || part[1] < 0 || part[2] == NO_VALUE)
        return;
    if (total >= most_used) {
        gpu_samples_add(r, p->node, p->id, SAMPLE_MEMORY_TOTAL, p->ms / 1e3, total);
        return;
    }
    snprintf(text, sizeof text, "%.15g MiB used and free", total); /* parts of two times */
    samples_leave(&x->left, text);
}

/* Without times, a part that comes again begins the next scrape. */
static void add_totals(struct run *r, struct text *x)
{
    double most_used = 0;
    if (x->n_parts)
        qsort(x->parts, x->n_parts, sizeof *x->parts, compare_part);
    for (size_t i = 0, end; i < x->n_parts; i = end) {
        const struct part *p = &x->parts[i];
        double part[N_PARTS] = {NOT_SEEN, NOT_SEEN, NOT_SEEN};
        if (i == 0 || p->node != p[-1].node || p->id != p[-1].id) {
            most_used = 0;
            for (end = i; end < x->n_parts && x->parts[end].node == p->node && x->parts[end].id == p->id; end++)
                if (x->parts[end].part == 0 && x->parts[end].value > most_used)
                    most_used = x->parts[end].value;
        }
        for (end = i; end < x->n_parts; end++) {
            const struct part *q = &x->parts[end];
            if (q->node != p->node || q->id != p->id || q->ms != p->ms || part[q->part] != NOT_SEEN)
                break;
            part[q->part] = q->value;
        }
        add_total(r, x, p, part, most_used);
    }
}

/* DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="..."} 98 [milliseconds]                                returns  1 when it was used
 */
static int exporter_line(struct run *r, struct text *x, char *line)
{
    size_t n = strcspn(line, "{ "), n_gpu, n_host, n_instance;
    int field = -1, part = -1;
    for (int i = 0; i < N_FIELDS; i++)
        if (strlen(fields[i].field) == n && strncmp(line, fields[i].field, n) == 0)
            field = i;
    for (int i = 0; i < N_PARTS && !x->has_total; i++)
        if (strlen(parts[i].field) == n && strncmp(line, parts[i].field, n) == 0)
            part = i;
    char *close = strrchr(line, '}');
    int activity = dcgm_activity_of(line, n);
    if ((field < 0 && part < 0 && activity < 0) || (field == ACTIVE && x->has_utilization) || !close)
        return 0;
    const char *gpu = label(line, close, "gpu", &n_gpu), *host = label(line, close, "Hostname", &n_host);
    /* Each instance has separate memory. Their sum is not the GPU's memory, because some of it may be in no instance.
     */
    if (activity < 0 &&
        (part >= 0 || fields[field].what == SAMPLE_MEMORY_USED || fields[field].what == SAMPLE_MEMORY_TOTAL))
        if (label(line, close, "GPU_I_ID", &n_instance) && n_instance) {
            x->has_instances = 1;
            return 0;
        }
    char *save, *word = strtok_r(close + 1, " \t\r", &save);
    if (!gpu || !word)
        return 0;
    int64_t id = gpu_samples_id(gpu, n_gpu, &x->ids);
    if (id < 0)
        return 0;
    if (activity >= 0)
        return !label(line, close, "GPU_I_ID", &n_instance) && /* of an instance, not of the GPU */
               dcgm_activity_add(r, &x->activity, x->is_of_many ? gpu_samples_node(r, host, n_host) : 0, id, activity,
                                 word, &x->left);
    double value, scale = field < 0 ? 1 : fields[field].scale;
    int has_value =
        gpu_samples_read(word, field < 0 ? SAMPLE_MEMORY_TOTAL : fields[field].what, scale, &value, &x->left);
    word = strtok_r(NULL, " \t\r", &save);
    double ms = word ? strtod(word, NULL) : 0;
    ms = isfinite(ms) ? ms : 0;
    int64_t node = x->is_of_many ? gpu_samples_node(r, host, n_host) : 0;
    if (part >= 0)
        add_part(x,
                 (struct part){.node = node, .id = id, .ms = ms, .value = has_value ? value : NO_VALUE, .part = part});
    if (field < 0 || !has_value)
        return 0;
    gpu_samples_add(r, node, id, fields[field].what, ms / 1e3, value);
    return 1;
}

/* Are the lines of several machines? The GPUs of a single machine go to node 0, as for every monitor. */
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
    int activity[MAX_COLUMNS];
    int part[MAX_COLUMNS]; /* of the memory; -1: none, or another column has all of it */
    int n, rows;
};

static void dmon_header(struct dmon *d, char **save)
{
    const char *word;
    int active = -1, has_utilization = 0, has_total = 0;
    for (d->n = 0; (word = strtok_r(NULL, " \t\r", save)) && d->n < MAX_COLUMNS; d->n++) {
        int *field = &d->field[d->n];
        *field = -1;
        for (int i = 0; i < N_FIELDS; i++)
            if (strcmp(word, fields[i].dmon) == 0)
                *field = i;
        d->activity[d->n] = dcgm_activity_of(word, strlen(word));
        d->part[d->n] = -1;
        for (int i = 0; i < N_PARTS; i++)
            if (strcmp(word, parts[i].dmon) == 0)
                d->part[d->n] = i;
        has_total |= *field >= 0 && fields[*field].what == SAMPLE_MEMORY_TOTAL;
        has_utilization |= *field == UTILIZATION;
        active = *field == ACTIVE ? d->n : active;
    }
    if (active >= 0 && has_utilization)
        d->field[active] = -1;
    for (int i = 0; i < d->n && has_total; i++)
        d->part[i] = -1;
}

/* "#Entity GPUTL POWER" (of older versions "# Entity") and "GPU 0   98  250.5": a row is a sample; dmon writes no
 * times, so rows count as seconds. */
static int dmon_line(struct run *r, struct dmon *d, char *line, struct text *x)
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
    int64_t id = gpu_samples_id(word, strlen(word), &x->ids);
    int is_used = 0;
    double used = NAN, total = NAN;
    if (id < 0)
        return 0;
    d->rows += id == 0;
    for (int c = 0; c < d->n && (word = strtok_r(NULL, " \t\r", &save)); c++) {
        double v;
        int f = d->field[c], part = d->part[c];
        if (d->activity[c] >= 0)
            is_used |= dcgm_activity_add(r, &x->activity, 0, id, d->activity[c], word, &x->left);
        if (f < 0 && part < 0)
            continue;
        int has = gpu_samples_read(word, f < 0 ? SAMPLE_MEMORY_USED : fields[f].what, f < 0 ? 1 : fields[f].scale, &v,
                                   &x->left);
        if (part >= 0)
            add_part(x, (struct part){.id = id, .ms = d->rows * 1e3, .value = has ? v : NO_VALUE, .part = part});
        if (f < 0 || !has)
            continue;
        used = fields[f].what == SAMPLE_MEMORY_USED ? v : used;
        total = fields[f].what == SAMPLE_MEMORY_TOTAL ? v : total;
        if (fields[f].what != SAMPLE_MEMORY_USED)
            gpu_samples_add(r, 0, id, fields[f].what, d->rows, v);
        is_used = 1;
    }
    if (samples_memory(&x->left, used, total))
        gpu_samples_add(r, 0, id, SAMPLE_MEMORY_USED, d->rows, used);
    return is_used;
}

/* Is the line cut short? It has no end and lacks something. */
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
    char *begin = text + utf8_mark(text, b.len);
    for (char *line = b.len ? strtok_r(begin, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
        if (line == last && is_short(line, &d)) {
            x.is_cut = 1;
            break;
        }
        n += strncmp(line, "DCGM_", 5) == 0 ? exporter_line(r, &x, line) : dmon_line(r, &d, line, &x);
    }
    add_totals(r, &x);
    dcgm_activity_table(r, &x.activity, s->name);
    if (n == 0 && x.ids.n)
        rc = dcr_err_set(
            err, DCR_FAIL,
            "no row of the output of DCGM '%s' names a GPU that can be ('%s' is the first); record it again", s->name,
            x.ids.first);
    else if (n == 0)
        rc = dcr_err_set(
            err, DCR_FAIL,
            "'%s' is output of DCGM without a field that is used here (GPU utilisation, activity of its parts, memory, "
            "power, temperature, SM clock); name one with dcgmi dmon -e",
            s->name);
    if (!rc && x.is_cut)
        run_add_gap(r, PHRASE(LAST_LINE_CUT, slot_name(s->name)));
    if (!rc && x.has_instances)
        run_add_gap(r, PHRASE(MIG_LEFT_OUT, slot_name(s->name)));
    if (!rc) {
        gpu_samples_say(r, s->name, &x.left);
        gpu_samples_say_ids(r, s->name, &x.ids);
    }
out:
    dcr_arena_release(&x.arena);
    dcr_buf_release(&b);
    return rc;
}
