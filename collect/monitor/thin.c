/* thin.c - see thin.h. The table is read twice: for the times of its samples, and for its rows. */
#include "collect/monitor/thin.h"

#include "lib/base/csv.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 64 };
enum rule { KEEP, MEAN, MOST };

struct table {
    struct dcr_memory text;
    struct dcr_stream stream;
    struct dcr_csv *csv;
    int n_columns, t_ns, samples; /* column `samples`; -1: not thinned yet */
    enum rule rules[MOST_COLUMNS];
};

/* Values of one output row. They summarise its own sample and the removed samples that belong to it. */
struct standing {
    int n;
    double samples;
    struct {
        double sum, weight, most;
    } of[MOST_COLUMNS];
};

static enum rule rule_of(const char *name)
{
    static const char *const means[] = {"cpu_percent",  "iowait_percent",  "steal_percent",      "runnable",
                                        "ctxt_per_sec", "utilization_gpu", "utilization_memory", "temperature",
                                        "power_draw_w", "sm_clock_mhz"};
    static const char *const most[] = {"memory_percent", "memory_used_gb", "memory_used_mb", "rss_bytes", "processes"};
    for (size_t i = 0; i < sizeof means / sizeof *means; i++)
        if (strcmp(means[i], name) == 0)
            return MEAN;
    for (size_t i = 0; i < sizeof most / sizeof *most; i++)
        if (strcmp(most[i], name) == 0)
            return MOST;
    return KEEP;
}

static int open_table(struct table *t, const char *text, size_t n)
{
    *t = (struct table){.text = {text, n, 0}};
    t->stream = dcr_stream_memory(&t->text, "samples");
    if (dcr_csv_open(&t->csv, &t->stream, NULL) != 0)
        return -1;
    t->t_ns = dcr_csv_column(t->csv, "t_ns");
    t->samples = dcr_csv_column(t->csv, THIN_COLUMN);
    t->n_columns = t->samples < 0 ? dcr_csv_n_columns(t->csv) : t->samples;
    for (int c = 0; c < t->n_columns && c < MOST_COLUMNS; c++)
        t->rules[c] = rule_of(dcr_csv_name(t->csv, c));
    return t->n_columns > MOST_COLUMNS ? -1 : 0;
}

static int next_row(const struct table *t)
{
    int rc;
    while ((rc = dcr_csv_next(t->csv, NULL)) == DCR_FAIL) /* skips rows that cannot be read */
        ;
    return rc == 0;
}

static double number(const struct table *t, int column, double otherwise)
{
    double value;
    return dcr_csv_double(t->csv, column, &value, NULL) == 0 ? value : otherwise;
}

/* ---- choosing samples -------------------------------------------------------------------------- */

/* The time of each row. gives; NULL: no row, or no memory */
static double *read_times(const struct table *t, size_t *n)
{
    double *times = NULL;
    size_t cap = 0;
    for (*n = 0; next_row(t); ++*n) {
        if (*n == cap) {
            cap = cap ? 2 * cap : 4096;
            double *more = realloc(times, cap * sizeof *more);
            if (!more) {
                free(times);
                return NULL;
            }
            times = more;
        }
        times[*n] = number(t, t->t_ns, 0);
    }
    return times;
}

/* Marks the samples to keep. Their distance grows with age: at least age / per_age. returns how many rows stay. The
 * first and the last sample always stay, because counters grow between them. */
static size_t mark(const double *times, size_t n, double now_ns, double per_age, unsigned char *is_kept)
{
    size_t n_kept = 0;
    double kept_ns = 0;
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && times[next] == times[i]; next++)
            ;
        int stays = i == 0 || next == n || times[i] - kept_ns >= (now_ns - times[i]) / per_age;
        memset(is_kept + i, stays, next - i);
        if (!stays)
            continue;
        kept_ns = times[i];
        n_kept += next - i;
    }
    return n_kept;
}

/* Marks the older half; the newer half stays. */
static void mark_all(const double *times, size_t n, unsigned char *is_kept)
{
    size_t n_old = n / 2;
    double per_age = 1 << 20;
    while (n_old && n_old < n && times[n_old] == times[n_old - 1])
        n_old++;
    memset(is_kept, 1, n);
    while (n_old && mark(times, n_old, times[n_old < n ? n_old : n - 1], per_age, is_kept) > n / 4 && per_age > 0.5)
        per_age /= 2;
}

/* ---- rows ------------------------------------------------------------------------------------- */

static void take_row(struct standing *r, const struct table *t)
{
    double w = number(t, t->samples, 1);
    r->n++;
    r->samples += w;
    for (int c = 0; c < t->n_columns; c++) {
        double v = t->rules[c] == KEEP ? -1 : number(t, c, -1);
        if (v < 0)
            continue;
        r->of[c].sum += w * v;
        r->of[c].weight += w;
        r->of[c].most = v > r->of[c].most ? v : r->of[c].most;
    }
}

static void put_row(const struct standing *r, const struct table *t, struct dcr_buf *out)
{
    for (int c = 0; c < t->n_columns; c++) {
        int has = r->n > 1 && t->rules[c] != KEEP && number(t, c, -1) >= 0;
        if (has && t->rules[c] == MEAN)
            dcr_buf_printf(out, "%.2f", r->of[c].sum / r->of[c].weight);
        else if (has)
            dcr_buf_printf(out, "%.15g", r->of[c].most);
        else
            dcr_csv_put(out, dcr_csv_text(t->csv, c));
        dcr_buf_putc(out, ',');
    }
    dcr_buf_printf(out, "%.0f\n", r->samples);
}

static void put_table(const struct table *t, const double *times, const unsigned char *is_kept, struct dcr_buf *out)
{
    struct standing *places = NULL;
    size_t n_places = 0, place = 0;
    for (int c = 0; c < t->n_columns; c++) {
        dcr_csv_put(out, dcr_csv_name(t->csv, c));
        dcr_buf_putc(out, ',');
    }
    dcr_buf_puts(out, THIN_COLUMN "\n");
    for (size_t i = 0; next_row(t); i++) {
        place = i && times[i] == times[i - 1] ? place + 1 : 0;
        if (place == 0 && i && is_kept[i - 1])
            memset(places, 0, n_places * sizeof *places);
        if (place == n_places) {
            struct standing *more = realloc(places, (n_places + 1) * sizeof *more);
            out->failed |= !more;
            if (!more)
                break;
            places = more;
            places[n_places++] = (struct standing){0};
        }
        take_row(&places[place], t);
        if (is_kept[i])
            put_row(&places[place], t, out);
    }
    free(places);
}

void thin_csv(const char *text, size_t n, struct dcr_buf *out)
{
    struct table first, second = {0};
    size_t n_rows = 0;
    double *times = open_table(&first, text, n) == 0 ? read_times(&first, &n_rows) : NULL;
    unsigned char *is_kept = times ? malloc(n_rows) : NULL;
    if (is_kept && open_table(&second, text, n) == 0) {
        mark_all(times, n_rows, is_kept);
        put_table(&second, times, is_kept, out);
    } else {
        out->failed = 1;
    }
    dcr_csv_close(first.csv);
    dcr_csv_close(second.csv);
    free(times);
    free(is_kept);
}
