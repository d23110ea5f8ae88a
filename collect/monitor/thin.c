/* thin.c - see thin.h. */
#include "collect/monitor/thin.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 64 };
enum rule { KEEP, MEAN, MOST };

struct table {
    int n_columns, t_ns, samples; /* samples: -1: not thinned yet */
    enum rule rules[MOST_COLUMNS];
};

struct sample {
    const char *rows; /* one or more, of one t_ns */
    size_t n;
    double t_ns;
    int is_kept;
};

/* ---- cells ------------------------------------------------------------------------------------ */

/* Length of a cell; a comma in quotes is none. */
static size_t cell_length(const char *at, const char *end)
{
    int is_quoted = 0;
    const char *from = at;
    for (; at < end && (is_quoted || (*at != ',' && *at != '\n')); at++)
        is_quoted ^= *at == '"';
    return (size_t)(at - from);
}

static size_t row_length(const char *at, const char *end)
{
    const char *line = memchr(at, '\n', (size_t)(end - at));
    return line ? (size_t)(line - at) + 1 : (size_t)(end - at);
}

static int is_number(const char *cell, size_t n, double *out)
{
    char text[64], *end;
    if (n == 0 || n >= sizeof text)
        return 0;
    memcpy(text, cell, n);
    text[n] = '\0';
    *out = strtod(text, &end);
    return *end == '\0';
}

static double number_in(const char *row, const char *end, int column, double otherwise)
{
    double value;
    if (column < 0)
        return otherwise;
    for (int i = 0; i < column; i++) {
        row += cell_length(row, end);
        if (row == end || *row == '\n')
            return otherwise;
        row++;
    }
    return is_number(row, cell_length(row, end), &value) ? value : otherwise;
}

static enum rule rule_of(const char *name, size_t n)
{
    static const char *const means[] = {"cpu_percent",  "iowait_percent",  "steal_percent",      "runnable",
                                        "ctxt_per_sec", "utilization_gpu", "utilization_memory", "temperature",
                                        "power_draw_w", "sm_clock_mhz"};
    static const char *const most[] = {"memory_percent", "memory_used_gb", "memory_used_mb", "rss_bytes", "processes"};
    for (size_t i = 0; i < sizeof means / sizeof *means; i++)
        if (strlen(means[i]) == n && memcmp(means[i], name, n) == 0)
            return MEAN;
    for (size_t i = 0; i < sizeof most / sizeof *most; i++)
        if (strlen(most[i]) == n && memcmp(most[i], name, n) == 0)
            return MOST;
    return KEEP;
}

static void read_header(struct table *t, const char *at, const char *end)
{
    *t = (struct table){.t_ns = -1, .samples = -1};
    for (const char *next; at < end && t->n_columns < MOST_COLUMNS; at = next + 1, t->n_columns++) {
        size_t n = cell_length(at, end);
        next = at + n;
        t->rules[t->n_columns] = rule_of(at, n);
        if (n == 4 && memcmp(at, "t_ns", n) == 0)
            t->t_ns = t->n_columns;
        if (n == sizeof THIN_COLUMN - 1 && memcmp(at, THIN_COLUMN, n) == 0)
            t->samples = t->n_columns;
        if (next == end || *next == '\n') {
            t->n_columns++;
            break;
        }
    }
}

/* ---- which samples stay ----------------------------------------------------------------------- */

/* The samples that begin in the first half. returns their number; *list: gives; *at: where the newer half begins */
static size_t read_samples(const struct table *t, const char **at, const char *end, struct sample **list)
{
    const char *half = *at + (end - *at) / 2;
    size_t n = 0, cap = 0;
    *list = NULL;
    while (*at < end) {
        size_t row = row_length(*at, end);
        double t_ns = number_in(*at, *at + row, t->t_ns, 0);
        if (n && (*list)[n - 1].t_ns == t_ns) {
            (*list)[n - 1].n += row;
        } else if (*at >= half) {
            break;
        } else {
            if (n == cap) {
                cap = cap ? 2 * cap : 1024;
                struct sample *more = realloc(*list, cap * sizeof *more);
                if (!more)
                    break;
                *list = more;
            }
            (*list)[n++] = (struct sample){.rows = *at, .n = row, .t_ns = t_ns};
        }
        *at += row;
    }
    return n;
}

/* Marks samples so far apart that there are at most `per_age` of them in as long a time as has passed since. returns
 * how many bytes stay. The first and the last one always do: counters grow between them. */
static size_t mark(struct sample *list, size_t n, double now_ns, double per_age)
{
    size_t bytes = 0;
    double kept_ns = 0;
    for (size_t i = 0; i < n; i++) {
        struct sample *s = &list[i];
        s->is_kept = i == 0 || i + 1 == n || s->t_ns - kept_ns >= (now_ns - s->t_ns) / per_age;
        if (!s->is_kept)
            continue;
        kept_ns = s->t_ns;
        bytes += s->n;
    }
    return bytes;
}

/* ---- rows ------------------------------------------------------------------------------------- */

/* The k-th row of a sample; NULL: there is none. */
static const char *row_at(const struct sample *s, size_t k)
{
    const char *at = s->rows, *end = s->rows + s->n;
    for (; k && at < end; k--)
        at += row_length(at, end);
    return at < end ? at : NULL;
}

/* The k-th row of the last of the samples, which stands for all of them. */
static void put_row(const struct table *t, const struct sample *list, size_t n, size_t k, struct dcr_buf *out)
{
    const struct sample *last = &list[n - 1];
    const char *at = row_at(last, k), *end = last->rows + last->n;
    double weights = 0;
    for (int c = 0; c < t->n_columns; c++) {
        size_t length = cell_length(at, end);
        double value = 0, sum = 0, weight = 0, most = 0;
        int has = is_number(at, length, &value);
        for (size_t i = 0; i < n; i++) {
            const char *row = row_at(&list[i], k), *row_end = list[i].rows + list[i].n;
            double w = row ? number_in(row, row_end, t->samples, 1) : 0;
            weights += c == 0 ? w : 0;
            if (t->rules[c] == KEEP || !row)
                continue;
            double v = number_in(row, row_end, c, -1);
            sum += v >= 0 ? w * v : 0;
            weight += v >= 0 ? w : 0;
            most = v > most ? v : most;
        }
        if (c == t->samples)
            break;
        if (t->rules[c] == MEAN && has && n > 1 && weight > 0)
            dcr_buf_printf(out, "%.2f", sum / weight);
        else if (t->rules[c] == MOST && has && n > 1)
            dcr_buf_printf(out, "%.15g", most > value ? most : value);
        else
            dcr_buf_add(out, at, length);
        dcr_buf_putc(out, ',');
        at += length + (at + length < end && at[length] == ',');
    }
    dcr_buf_printf(out, "%.0f\n", weights);
}

/* Samples of which only the last is kept. */
static void put_samples(const struct table *t, const struct sample *list, size_t n, struct dcr_buf *out)
{
    for (size_t k = 0; row_at(&list[n - 1], k); k++)
        put_row(t, list, n, k, out);
}

void thin_csv(const char *text, size_t n, struct dcr_buf *out)
{
    const char *at = text + row_length(text, text + n), *end = text + n;
    struct table t;
    struct sample *list;
    read_header(&t, text, at);
    size_t header = (size_t)(at - text), old = (size_t)(end - at) / 4;
    dcr_buf_add(out, text, header - (header && text[header - 1] == '\n'));
    dcr_buf_puts(out, t.samples < 0 ? "," THIN_COLUMN "\n" : "\n");

    size_t n_old = read_samples(&t, &at, end, &list), from = 0;
    double now_ns = n_old ? number_in(at, at + row_length(at, end), t.t_ns, list[n_old - 1].t_ns) : 0,
           per_age = 1 << 20;
    while (n_old && mark(list, n_old, now_ns, per_age) > old && per_age > 0.5)
        per_age /= 2;
    for (size_t i = 0; i < n_old; i++)
        if (list[i].is_kept) {
            put_samples(&t, list + from, i + 1 - from, out);
            from = i + 1;
        }
    free(list);
    if (t.samples >= 0) {
        dcr_buf_add(out, at, (size_t)(end - at));
        return;
    }
    for (size_t row; at < end; at += row) {
        row = row_length(at, end);
        dcr_buf_add(out, at, row - (at[row - 1] == '\n'));
        dcr_buf_puts(out, ",1\n");
    }
}
