/* figures_host.c - what the machines did and how training went, over time; see figures.h. Called by page_run.c. */
#include "render/site/figures_run.h"

#include "render/narrate/format.h"

#include <math.h>
#include <string.h>

/* ---- monitors --------------------------------------------------------------------------------------------- */

static const struct {
    enum ink ink;
    bool is_dashed;
} line_looks[] = {{INK_ACCENT, false}, {INK_TEXT, false}, {INK_AXIS, false}, {INK_ACCENT, true}, {INK_TEXT, true}};

static void add_line(struct monitors_spec *m, const char *title, const char *axis, double y_max, const char *name,
                     const struct sampled *v)
{
    if (v->n == 0 || v->n_points == 0)
        return;
    int p = 0;
    while (p < m->n_panels && strcmp(m->panel[p].chart.text.title, title) != 0)
        p++;
    if (p == m->n_panels) {
        if (p == PANELS_MAX)
            return;
        m->panel[p].chart = (struct chart_lines){.text = {title, axis, "%", label_percent},
                                                 .x_title = "seconds since the monitor started",
                                                 .series = m->panel[p].lines,
                                                 .y_max = y_max};
        m->n_panels++;
    }
    struct chart_lines *c = &m->panel[p].chart;
    if (c->n_series == MONITOR_LINES_MAX)
        return;
    size_t look = c->n_series % (sizeof line_looks / sizeof line_looks[0]);
    m->panel[p].lines[c->n_series++] = (struct line_series){name,     line_looks[look].ink, v->t_s,
                                                            v->value, (size_t)v->n_points,  line_looks[look].is_dashed};
}

static const char *node_name(struct site *s, const struct run_node *n)
{
    return site_text(s, "node %d", n->node);
}

struct monitors_spec *monitors_spec(struct site *s, const struct run_result *r)
{
    struct monitors_spec *m = dcr_arena_alloc(&s->arena, sizeof *m);
    for (int i = 0; i < r->run->nodes_len; i++) {
        const struct run_node *n = &r->run->nodes[i];
        add_line(m, "CPU use", "CPU use of the node, % of all cores", 100, node_name(s, n), &n->cpu_percent);
    }
    for (int i = 0; i < r->run->nodes_len; i++) {
        const struct run_node *n = &r->run->nodes[i];
        add_line(m, "Memory use", "memory use of the node, % of all memory", 100, node_name(s, n), &n->memory_percent);
    }
    for (int i = 0; i < r->run->nodes_len; i++) {
        const struct run_node *n = &r->run->nodes[i];
        for (int g = 0; g < n->n_gpus; g++)
            add_line(m, "GPU utilisation", "GPU utilisation, % of the sample window with a kernel running", 100,
                     site_text(s, "node %d GPU %d", n->node, n->gpus[g].gpu_id), &n->gpus[g].utilization_percent);
    }
    /* One time axis for all, written under the last. */
    double last = 0;
    for (int p = 0; p < m->n_panels; p++)
        for (size_t k = 0; k < m->panel[p].chart.n_series; k++)
            last = fmax(last, m->panel[p].lines[k].x[m->panel[p].lines[k].n - 1]);
    for (int p = 0; p < m->n_panels; p++) {
        m->panel[p].chart.x_to = last;
        m->panel[p].chart.hide_x_labels = p + 1 < m->n_panels;
    }
    return m->n_panels ? m : NULL;
}

void draw_monitors(struct canvas *c, struct box at, const void *spec, bool has_title)
{
    const struct monitors_spec *m = spec;
    if (has_title) {
        canvas_text(c, (struct point){at.x, at.y + 14}, ALIGN_START, (struct font){14, true}, INK_TEXT, "Monitors");
        at = box_inset(at, 0, 26, 0, 0);
    }
    double h = (at.h - PANEL_FOOT) / m->n_panels; /* plots of one height: the last one has the axis below */
    for (int p = 0; p < m->n_panels; p++) {
        struct chart_lines chart = m->panel[p].chart;
        chart.text.title = NULL;
        chart_lines(c, (struct box){at.x, at.y + h * p, at.w, p + 1 < m->n_panels ? h : h + PANEL_FOOT}, &chart);
    }
}

static void add_sampled_row(struct site *s, json_t *t, const char *what, const struct sampled *v, const char *unit)
{
    view_row(s, t, what);
    if (v->n == 0) {
        for (int i = 0; i < 3; i++)
            view_cell(s, t, "n/a");
        view_cell(s, t, "0");
        return;
    }
    const double values[3] = {v->sum / (double)v->n, v->min, v->max};
    for (int i = 0; i < 3; i++)
        view_cell(s, t, site_text(s, "%s %s", fmt_number(values[i]).text, unit));
    view_cell(s, t, site_int(s, v->n));
}

static json_t *monitors_table(struct site *s, const struct run *run)
{
    json_t *t = view_table(s, "Monitors over the run", "Quantity|#Mean|#Least|#Greatest|#Samples");
    for (int i = 0; i < run->nodes_len; i++) {
        const struct run_node *n = &run->nodes[i];
        add_sampled_row(s, t, site_text(s, "node %d CPU use", n->node), &n->cpu_percent, "%");
        add_sampled_row(s, t, site_text(s, "node %d memory", n->node), &n->memory_used_gb, "GB");
        if (n->iowait_percent.n)
            add_sampled_row(s, t, site_text(s, "node %d I/O wait", n->node), &n->iowait_percent, "%");
        if (n->steal_percent.n)
            add_sampled_row(s, t, site_text(s, "node %d time stolen", n->node), &n->steal_percent, "%");
        for (int g = 0; g < n->n_gpus; g++) {
            add_sampled_row(s, t, site_text(s, "node %d GPU %d utilisation", n->node, n->gpus[g].gpu_id),
                            &n->gpus[g].utilization_percent, "%");
            add_sampled_row(s, t, site_text(s, "node %d GPU %d memory", n->node, n->gpus[g].gpu_id),
                            &n->gpus[g].memory_used_mb, "MB");
            add_sampled_row(s, t, site_text(s, "node %d GPU %d power", n->node, n->gpus[g].gpu_id), &n->gpus[g].power_w,
                            "W");
        }
    }
    return t;
}

json_t *run_figure_monitors(struct site *s, const struct run_result *r)
{
    struct monitors_spec *m = monitors_spec(s, r);
    if (!m)
        return NULL;
    struct dcr_buf alt = {0};
    dcr_buf_puts(&alt, "Lines over time.");
    for (int i = 0; i < r->run->nodes_len && i < 16; i++) {
        const struct run_node *n = &r->run->nodes[i];
        if (n->cpu_percent.n)
            dcr_buf_printf(&alt, " Node %d: CPU use %s %% on average, at most %s %%.", n->node,
                           fmt_number(n->cpu_percent.sum / (double)n->cpu_percent.n).text,
                           fmt_number(n->cpu_percent.max).text);
    }
    json_t *view =
        figure_view(s, &(struct figure){.stem = "monitors-figure",
                                        .run = RUN_OF(s, r),
                                        .title = "Hosts and devices",
                                        .caption = "Samples of the hosts and devices: coarse beside the step's own "
                                                   "timings, but they see what the program does not.",
                                        .alt = dcr_buf_text(&alt),
                                        .draw = draw_monitors,
                                        .spec = m,
                                        .wide = FIGURE_FULL,
                                        .height = PANEL_HEIGHT * m->n_panels + PANEL_FOOT,
                                        .narrow_height = PANEL_HEIGHT * m->n_panels + PANEL_FOOT,
                                        .table = monitors_table(s, r->run)});
    dcr_buf_release(&alt);
    return view;
}

/* ---- losses -------------------------------------------------------------------------------------------------- */

static bool metric_series(struct site *s, const struct run *run, const char *column, const char *name, enum ink ink,
                          bool is_dashed, struct line_series *out)
{
    int epoch = run_metric("epoch"), value = run_metric(column);
    double *x = dcr_arena_alloc(&s->arena, 2 * run->n_epochs * sizeof *x);
    double *y = x + run->n_epochs;
    size_t n_values = 0;
    for (size_t i = 0; i < run->n_epochs; i++) {
        x[i] = epoch >= 0 ? run->epochs[i].value[epoch] : (double)i;
        y[i] = run->epochs[i].value[value];
        n_values += isfinite(y[i]) ? 1 : 0;
    }
    *out = (struct line_series){name, ink, x, y, run->n_epochs, is_dashed};
    return n_values > 0;
}

json_t *run_figure_losses(struct site *s, const struct run_result *r)
{
    const struct run *run = r->run;
    struct line_series lines[3];
    size_t n = 0;
    if (!r->has_accuracy || run->n_epochs == 0)
        return NULL;
    n += metric_series(s, run, "train_loss", "training loss", INK_ACCENT, false, &lines[n]);
    n += metric_series(s, run, "val_loss", "validation loss", INK_TEXT, false, &lines[n]);
    n += metric_series(s, run, "val_mae", "validation MAE", INK_MUTED, true, &lines[n]);
    if (n == 0)
        return NULL;
    json_t *t = view_table(s, "Losses per epoch", "Epoch|#Training loss|#Validation loss|#Validation MAE");
    static const char *const columns[] = {"train_loss", "val_loss", "val_mae"};
    for (size_t i = 0; i < run->n_epochs; i++) {
        const double *v = run->epochs[i].value;
        view_row(s, t, site_int(s, isfinite(v[0]) ? (int64_t)v[0] : (int64_t)i));
        for (int k = 0; k < 3; k++) {
            double x = v[run_metric(columns[k])];
            view_cell(s, t, isfinite(x) ? fmt_number(x).text : "n/a");
        }
    }
    struct chart_lines spec = {.text = {"Loss", "loss", "", NULL},
                               .x_title = "epoch",
                               .series = lines,
                               .n_series = n,
                               .x_is_whole = true,
                               .y_is_free = true};
    const struct line_series *l = &lines[0];
    const char *alt =
        site_text(s, "%s per epoch: %s in the first, %s in the last of %s.", l->name, fmt_number(l->y[0]).text,
                  fmt_number(l->y[l->n - 1]).text, fmt_count((int64_t)l->n, "epoch").text);
    return figure_view(s, &(struct figure){.stem = "losses-figure",
                                           .run = RUN_OF(s, r),
                                           .title = "Is it learning?",
                                           .caption = "From metrics.csv. The axis does not begin at zero.",
                                           .alt = alt,
                                           .draw = draw_lines,
                                           .spec = &spec,
                                           .wide = FIGURE_HALF,
                                           .height = 280,
                                           .narrow_height = 240,
                                           .table = t});
}
