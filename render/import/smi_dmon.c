/* smi_dmon.c - `nvidia-smi dmon`, with -o DT and --format csv or without. A header of two lines, "# gpu pwr ..." and
 * "# Idx W ...", comes again from time to time. Below it is a row for each GPU. Without dates rows count as seconds.
 * source: nvidia-smi(1), "Device Monitoring". Test: tests/unit/test_smi.c */
#include "render/import/text/parsers.h"

#include "lib/base/buf.h"
#include "render/import/text/date.h"
#include "render/import/text/gpu_samples.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_BYTES = 64 << 20, MAX_COLUMNS = 48, MAX_GPUS = 1024 };

static const struct {
    const char *name;
    enum gpu_sample what;
} fields[] = {{"sm", SAMPLE_UTILIZATION},   {"pwr", SAMPLE_POWER},  {"gtemp", SAMPLE_TEMPERATURE},
              {"temp", SAMPLE_TEMPERATURE}, {"pclk", SAMPLE_CLOCK}, {"fb", SAMPLE_MEMORY_USED}};

/* What the columns are; -1 = none. */
struct columns {
    int n, date, time, gpu;
    enum gpu_sample what[MAX_COLUMNS];
};

/* Words of a line, separated by spaces or commas. returns  their number */
static int split(char *line, char **words)
{
    int n = 0;
    char *save;
    for (char *w = strtok_r(line, " \t\r,", &save); w && n < MAX_COLUMNS; w = strtok_r(NULL, " \t\r,", &save))
        words[n++] = w;
    return n;
}

/* "#gpu" or "# gpu": the words after the mark. returns  their number, 0 for another line */
static int header_words(char *line, char **words)
{
    line += strspn(line, " \t");
    return *line == '#' ? split(line + 1, words) : 0;
}

static int find(struct columns *c, char *const *words, int n)
{
    *c = (struct columns){.n = n, .date = -1, .time = -1, .gpu = -1};
    for (int i = 0; i < n; i++) {
        c->gpu = strcmp(words[i], "gpu") == 0 ? i : c->gpu;
        c->date = strcmp(words[i], "Date") == 0 ? i : c->date;
        c->time = strcmp(words[i], "Time") == 0 ? i : c->time;
        for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
            if (strcmp(words[i], fields[k].name) == 0)
                c->what[i] = fields[k].what;
    }
    return c->gpu >= 0;
}

int smi_dmon_is(const char *head, size_t n)
{
    char line[512], *words[MAX_COLUMNS];
    struct columns c;
    int is_named = 0;
    for (size_t at = 0, len; at < n; at += len + 1) {
        const char *stop = memchr(head + at, '\n', n - at);
        len = (size_t)((stop ? stop : head + n) - (head + at));
        snprintf(line, sizeof line, "%.*s", (int)(len < sizeof line ? len : sizeof line - 1), head + at);
        int n_words = header_words(line, words), has_index = 0;
        for (int i = 0; i < n_words; i++)
            has_index |= strcmp(words[i], "Idx") == 0;
        if (is_named && has_index)
            return 1;
        is_named = n_words && find(&c, words, n_words);
    }
    return 0;
}

/* "20260201" and "10:00:01" in seconds; < 0: none. */
static double seconds_of(const char *date, const char *time)
{
    char text[48];
    snprintf(text, sizeof text, "%.4s/%.2s/%.2s %.8s", date, strlen(date) == 8 ? date + 4 : "",
             strlen(date) == 8 ? date + 6 : "", time);
    return date_seconds(text);
}

static void take_row(struct run *r, const struct columns *c, char *const *words, int64_t id, double t,
                     struct samples_left *left)
{
    double used = NAN;
    for (int i = 0; i < c->n; i++) {
        double v;
        if (!gpu_samples_read(words[i], c->what[i], 1, &v, left))
            continue;
        used = c->what[i] == SAMPLE_MEMORY_USED ? v : used;
        if (c->what[i] != SAMPLE_MEMORY_USED)
            gpu_samples_add(r, 0, id, c->what[i], t, v);
    }
    if (samples_memory(left, used, NAN))
        gpu_samples_add(r, 0, id, SAMPLE_MEMORY_USED, t, used);
}

int smi_dmon_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct dcr_buf b = {.max = MAX_BYTES};
    struct columns c = {.gpu = -1};
    struct samples_left left = {.n = 0};
    struct ids_left ids = {.n = 0};
    int64_t n_rows = 0, n_bad = 0, n_of[MAX_GPUS] = {0};
    int rc = dcr_stream_slurp(s, &b, MAX_BYTES, err);
    char *rest = !rc && b.len ? (char *)(uintptr_t)dcr_buf_text(&b) : NULL, *words[MAX_COLUMNS];
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        struct columns next;
        int is_mark = line[strspn(line, " \t")] == '#';
        int n = is_mark ? header_words(line, words) : split(line, words);
        if (is_mark && find(&next, words, n))
            c = next;
        if (is_mark || n == 0 || c.gpu < 0)
            continue;
        double t = n == c.n && c.date >= 0 && c.time >= 0 ? seconds_of(words[c.date], words[c.time]) : 0;
        if (n != c.n || t < 0) {
            n_bad++;
            continue;
        }
        int64_t id = gpu_samples_id(words[c.gpu], strlen(words[c.gpu]), &ids);
        if (id < 0)
            continue;
        n_of[id]++;
        take_row(r, &c, words, id, c.date >= 0 && c.time >= 0 ? t : (double)n_of[id], &left);
        n_rows++;
    }
    if (!rc && !n_rows)
        rc = dcr_err_set(err, DCR_FAIL,
                         "'%s' is output of nvidia-smi dmon without a row that can be read; record it again", s->name);
    if (!rc && n_bad)
        run_add_gap(r, PHRASE(ROWS_UNREAD_CELLS, slot_count(n_bad), slot_name(s->name)));
    if (!rc) {
        gpu_samples_say(r, s->name, &left);
        gpu_samples_say_ids(r, s->name, &ids);
    }
    dcr_buf_release(&b);
    return rc;
}
