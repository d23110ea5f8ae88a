/* key_figures.c - the five figures of a series with their trend; see figures.h. Called by page_index.c. */
#include "render/site/figures.h"

#include "render/analyse/analyse.h"
#include "render/draw/chart.h"
#include "render/draw/paint_svg.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <math.h>
#include <string.h>

/* One key figure at one point; text NULL = n/a, and value then not finite. */
struct key_value {
    const char *text;
    double value;
};

static const struct key_value no_value = {NULL, NAN};

typedef struct key_value key_at(struct site *s, const struct series *series, int point);

static struct key_value key_step(struct site *s, const struct series *series, int i)
{
    const struct spread *step = point_step(s->rep, &series->points[i]);
    return step->n ? (struct key_value){site_text(s, "%s", fmt_time(step->mean_ns).text), (double)step->mean_ns}
                   : no_value;
}

static struct key_value key_throughput(struct site *s, const struct series *series, int i)
{
    const struct series_point *p = &series->points[i];
    return p->has_throughput ? (struct key_value){site_text(s, "%s/s", fmt_number(p->throughput).text), p->throughput}
                             : no_value;
}

static struct key_value key_speedup(struct site *s, const struct series *series, int i)
{
    const struct series_point *p = &series->points[i];
    return p->speedup > 0 ? (struct key_value){site_text(s, "%s", fmt_x(p->speedup).text), p->speedup} : no_value;
}

static struct key_value key_communication(struct site *s, const struct series *series, int i)
{
    const struct series_point *p = &series->points[i];
    if (!p->step.n || p->step.mean_ns <= 0)
        return no_value;
    double ratio = (double)(p->part_ns[PART_TRANSFER] + p->part_ns[PART_WAIT]) / (double)p->step.mean_ns;
    return (struct key_value){site_text(s, "%s", fmt_percent(ratio).text), ratio};
}

static struct key_value key_parallel(struct site *s, const struct series *series, int i)
{
    const struct series_point *p = &series->points[i];
    return p->pop.has
               ? (struct key_value){site_text(s, "%s", fmt_ratio(p->pop.parallel_ratio).text), p->pop.parallel_ratio}
               : no_value;
}

/* Why the last point has no such number. */
static struct reason why_no_key(const struct site *s, const struct series *series, int point, key_at *at)
{
    const struct series_point *p = &series->points[point];
    const struct run_result *r = p->n_runs > 0 ? &s->rep->runs[p->runs[0]] : NULL;
    struct reason why = !r                                   ? REASON(NONE)
                        : at == key_speedup                  ? series->speedup_why
                        : at == key_throughput               ? r->throughput_why
                        : at == key_parallel && r->has_steps ? r->pop_why
                                                             : r->steps_why;
    return why.code ? why : REASON(NOT_MEASURED);
}

#define TREND_WIDTH 176.0
#define TREND_HEIGHT 40.0

/* The same figure at every node count: in rows, and drawn where there are two of it. */
static void add_trend(struct site *s, json_t *v, const struct series *series, const char *name, key_at *at)
{
    json_t *trend = view_list(s);
    double *value = dcr_arena_alloc(&s->arena, (size_t)series->n_points * sizeof *value);
    struct dcr_buf alt = {0}, svg = {0};
    int n_known = 0;
    dcr_buf_printf(&alt, "Columns of %s:", name);
    for (int i = 0; i < series->n_points; i++) {
        struct key_value k = at(s, series, i);
        json_t *p = view_object(s);
        value[i] = k.value;
        n_known += k.text != NULL;
        dcr_buf_printf(&alt, "%s %s at %s", i ? "," : "", k.text ? k.text : "n/a",
                       node_words(s, series->points[i].n_nodes));
        view_text(s, p, "at", node_words(s, series->points[i].n_nodes));
        view_text(s, p, "value", k.text ? k.text : "n/a");
        view_add(s, trend, p);
    }
    if (n_known > 1) {
        struct paint_svg painter;
        dcr_buf_puts(&alt, ".");
        paint_svg_begin(&painter, TREND_WIDTH, TREND_HEIGHT, s->typeface, NULL, dcr_buf_text(&alt), &svg);
        chart_trend(&painter.canvas, (struct box){0, 0, TREND_WIDTH, TREND_HEIGHT}, value, (size_t)series->n_points);
        paint_svg_end(&painter);
        view_html(s, v, "drawn", &svg);
    } else {
        view_set(s, v, "drawn", json_null());
    }
    if (series->n_points < 2 || n_known == 0) /* the value itself says it */
        json_array_clear(trend);
    view_set(s, v, "trend", trend);
    dcr_buf_release(&alt);
    dcr_buf_release(&svg);
}

static const struct {
    const char *name, *note;
    key_at *at;
    bool needs_two;
} keys[] = {
    {"Step time", "mean over ranks", key_step, false},
    {"Throughput", "samples of all ranks", key_throughput, false},
    {"Speed-up", "over the smallest run", key_speedup, true},
    {"Communication", "transfer and waiting", key_communication, false},
    {"Parallel efficiency", "POP, useful share", key_parallel, false},
};
#define N_KEYS (sizeof keys / sizeof keys[0])

/* Where none of them is known, no grid of n/a: each reason once. "Step time and communication are n/a because no steps
 * were recorded; throughput is n/a because ..." NULL: one is known. */
const char *view_no_keys(struct site *s, const struct series *series)
{
    const char *why[N_KEYS] = {NULL}, *text = NULL;
    for (size_t k = 0; k < N_KEYS; k++) {
        for (int i = 0; i < series->n_points; i++)
            if (keys[k].at(s, series, i).text)
                return NULL;
        if (series->n_points > 1 || !keys[k].needs_two) {
            struct reason r = why_no_key(s, series, series->n_points - 1, keys[k].at);
            why[k] = say_clause(&s->arena, &r);
        }
    }
    for (size_t k = 0; k < N_KEYS; k++) {
        const char *names = why[k] ? keys[k].name : NULL, *because = why[k];
        size_t n = 1, left = 0;
        for (size_t j = k + 1; because && j < N_KEYS; j++)
            left += why[j] && strcmp(why[j], because) == 0;
        for (size_t j = k + 1; because && j < N_KEYS; j++)
            if (why[j] && strcmp(why[j], because) == 0) {
                names =
                    site_text(s, "%s%s%c%s", names, --left ? ", " : " and ", keys[j].name[0] | 0x20, keys[j].name + 1);
                why[j] = NULL;
                n++;
            }
        if (because)
            text = site_text(s, "%s%s%s %s n/a because %s", text ? text : "", text ? " " : "", names,
                             n > 1 ? "are" : "is", because);
        if (because && text[strlen(text) - 1] != '.')
            text = site_text(s, "%s.", text);
    }
    return text;
}

json_t *view_keys(struct site *s, const struct series *series)
{
    json_t *list = view_list(s);
    int last = series->n_points - 1;
    for (size_t k = 0; k < N_KEYS; k++) {
        if (keys[k].needs_two && series->n_points < 2)
            continue;
        json_t *v = view_object(s);
        const char *text = keys[k].at(s, series, last).text;
        view_text(s, v, "name", keys[k].name);
        view_text(s, v, "note", keys[k].note);
        view_text(s, v, "value", text ? text : "n/a");
        int n_nodes = series->points[last].n_nodes;
        view_text(s, v, "at", n_nodes > 0 && series->n_points == 1 ? node_words(s, n_nodes) : NULL);
        struct reason why = why_no_key(s, series, last, keys[k].at);
        const char *because = say_clause(&s->arena, &why);
        if (why.code != REASON_NOT_MEASURED)
            because = site_text(s, "because %s", because);
        view_text(s, v, "because", text ? NULL : because);
        view_text(s, v, "unreliable",
                  text && keys[k].at == key_speedup && *series->points[last].unreliable
                      ? series->points[last].unreliable
                      : NULL);
        add_trend(s, v, series, keys[k].name, keys[k].at);
        view_add(s, list, v);
    }
    return list;
}
