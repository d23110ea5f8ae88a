/* figures_stepless.c - the figure of a run without known steps: the bandwidth of a benchmark, the ranks in MPI, the
 * time of a GPU; see figures.h. Called by page_run.c and page_index.c. Test: tests/integration/render_foreign.sh,
 * render_large.sh */
#include "render/site/figures/figures_inside.h"

#include "render/metrics/device_shares.h"
#include "render/metrics/calls.h"
#include "render/metrics/recorded.h"
#include "render/model/cells.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *title_of(struct site *s, struct phrase p)
{
    return say_title(&s->arena, &(struct said){.headline = p});
}

/* ---- logs of nccl-tests: bus bandwidth by size ----------------------------------------------------------- */

enum { BANDWIDTH_LINES = 4 };

static void label_rate(double value, char *out, size_t n)
{
    snprintf(out, n, "%s GB/s", fmt_number(value).text);
}

static void label_log2_bytes(double value, char *out, size_t n)
{
    snprintf(out, n, "%s", fmt_bytes(exp2(value)).text);
}

/* One line: the sizes and rates of a table, in rows where both are numbers. */
static size_t add_rates(struct site *s, const struct foreign_table *t, const char *column, const char *name,
                        struct line_series *line, size_t n_before)
{
    static const enum ink inks[BANDWIDTH_LINES] = {INK_ACCENT, INK_COMM, INK_DATA, INK_WAIT};
    int bytes = table_column(t, "Bytes"), rate = table_column(t, column);
    size_t n = 0, rows = table_rows(t);
    if (bytes < 0 || rate < 0 || rows == 0)
        return 0;
    double *x = dcr_arena_alloc(&s->arena, 2 * rows * sizeof *x), *y = x + rows;
    for (size_t i = 0; i < rows; i++) {
        double size = table_value(t, i, bytes), v = table_value(t, i, rate);
        if (size < 1 || v < 0)
            continue;
        x[n] = log2(size);
        y[n++] = v;
    }
    *line = (struct line_series){name, inks[n_before], x, y, n, n_before % 2 == 1};
    return n > 1;
}

static json_t *bandwidth_figure(struct site *s, const struct run_result *r, int run)
{
    const struct run *a = r->run;
    struct line_series lines[BANDWIDTH_LINES];
    size_t n = 0;
    int n_tables = 0;
    for (int i = 0; i < a->n_tables; i++)
        n_tables += a->tables[i].kind == FOREIGN_NCCL_TESTS;
    for (int i = 0; i < a->n_tables && n + 1 < BANDWIDTH_LINES; i++) {
        const struct foreign_table *t = &a->tables[i];
        const char *of = n_tables > 1 ? site_text(s, ", log %d", i + 1) : "";
        if (t->kind != FOREIGN_NCCL_TESTS)
            continue;
        n += add_rates(s, t, "busbw, GB/s", site_text(s, "out of place%s", of), &lines[n], n);
        n += add_rates(s, t, "bus bandwidth in place, GB/s", site_text(s, "in place%s", of), &lines[n], n);
    }
    if (n == 0 || a->n_tests == 0)
        return NULL;
    const struct phrase *found = &r->said.headline;
    const char *title =
        title_of(s, found->id == PHRASE_BUS_SATURATES ? PHRASE(BANDWIDTH_REACHES, found->slot[3])
                                                      : PHRASE(BANDWIDTH_GROWS, slot_bytes(a->tests[0].busbw_bytes)));
    struct chart_lines spec = {.text = {"Bus bandwidth", "bus bandwidth, GB/s", "GB/s", label_rate},
                               .x_title = "message size",
                               .x_label = label_log2_bytes,
                               .series = lines,
                               .n_series = n,
                               .x_is_whole = true};
    return figure_view(
        s, &(struct figure){.stem = "bandwidth",
                            .run = run,
                            .title = title,
                            .caption = say_phrase(&s->arena, &PHRASE(BANDWIDTH_CAPTION)),
                            .alt = site_text(s, "%s %s. %s", say_phrase(&s->arena, &PHRASE(CHART_BANDWIDTH)), title,
                                             say_headline(&s->arena, &r->said)),
                            .draw = draw_lines,
                            .spec = &spec,
                            .wide = FIGURE_FULL,
                            .height = 320,
                            .narrow_height = 280});
}

/* ---- MPI programs: each rank's time in MPI calls --------------------------------------------------------------- */

static int is_late(const struct mpi_late *l, int rank)
{
    for (int i = 0; l->has && i < l->n; i++)
        if (l->ranks[i] == rank)
            return 1;
    return 0;
}

static json_t *mpi_table(struct site *s, const struct run *a)
{
    json_t *t = view_table(s, TABLE(RECORDED_TIME));
    for (int i = 0; i < a->ranks_len; i++) {
        int64_t ns = recorded_of_rank(&a->ranks[i]).ns, mpi = a->ranks[i].mpi_ns;
        view_row(s, t, site_text(s, "%d", a->ranks[i].rank));
        view_cell_time(s, t, true, mpi);
        view_cell_percent(s, t, true, (double)mpi / (double)ns);
        view_cell_time(s, t, true, ns - mpi);
    }
    return t;
}

static json_t *mpi_figure(struct site *s, const struct run_result *r, int run)
{
    static const struct stack_part parts[] = {{"in MPI calls", INK_WAIT}, {"other time", INK_COMPUTE}};
    const struct run *a = r->run;
    size_t n = (size_t)a->ranks_len, n_shown, n_bars = 0;
    double least = 1, most = 0;
    int64_t longest = 0;
    if (n == 0 || !mpi_share(a).has)
        return NULL;
    double *ratio = dcr_arena_alloc(&s->arena, n * sizeof *ratio);
    for (size_t i = 0; i < n; i++) {
        int64_t ns = recorded_of_rank(&a->ranks[i]).ns;
        if (ns <= 0 || a->ranks[i].mpi_ns > ns)
            return NULL; /* not valid as parts of the time */
        ratio[i] = (double)a->ranks[i].mpi_ns / (double)ns;
        least = fmin(least, ratio[i]);
        most = fmax(most, ratio[i]);
        longest = ns > longest ? ns : longest;
    }
    struct time_axis axis = time_axis_for(longest);
    struct mpi_late late = mpi_late(&s->rep->thresholds, a);
    const struct rank_shown *shown = ranks_to_show(s, ratio, n, "least", "most", &n_shown);
    struct stack_bar *bars = dcr_arena_alloc(&s->arena, n_shown * sizeof *bars);
    double *v = dcr_arena_alloc(&s->arena, 2 * n_shown * sizeof *v);
    struct dcr_buf alt = {0};
    say_put_phrases(&alt, &PHRASE(CHART_MPI), 1);
    for (; n_bars < n_shown; n_bars++, v += 2) {
        const struct run_rank *q = &a->ranks[shown[n_bars].at];
        int64_t ns = recorded_of_rank(q).ns;
        v[0] = (double)q->mpi_ns / axis.ns;
        v[1] = (double)(ns - q->mpi_ns) / axis.ns;
        bars[n_bars] =
            (struct stack_bar){.label = shown[n_bars].word ? site_text(s, "%s: rank %d", shown[n_bars].word, q->rank)
                                                           : site_text(s, n <= 4 ? "rank %d" : "%d", q->rank),
                               .value = v,
                               .mark = is_late(&late, q->rank) ? "late rank" : NULL};
        say_put_phrases(&alt,
                        &PHRASE(CHART_MPI_RANK, slot_count(q->rank), slot_time(ns),
                                slot_name(site_text(s, "%s", fmt_time(q->mpi_ns).text))),
                        1);
    }
    struct chart_stack spec = {
        .text = {"Ranks in MPI", site_text(s, "recorded time, %s", axis.unit), axis.unit, axis.label},
        .parts = parts,
        .n_parts = 2,
        .bars = bars,
        .n_bars = n_bars,
        .x_title = n <= 4 || n_shown < n ? NULL : "rank"};
    const struct phrase caption[] = {PHRASE(MPI_CAPTION), PHRASE(MPI_CAPTION_START)};
    json_t *view = figure_view(
        s, &(struct figure){
               .stem = "mpi-ranks",
               .run = run,
               .title = title_of(
                   s, n > 1 ? PHRASE(MPI_OF_RANKS, slot_name(site_text(s, "%s", fmt_percent_range(least, most).text)))
                            : PHRASE(MPI_OF_RANK, slot_percent(most))),
               .caption = say_phrases(&s->arena, caption, 2),
               .alt = dcr_buf_text(&alt),
               .draw = draw_stack,
               .spec = &spec,
               .wide = FIGURE_FULL,
               .height = 300,
               .narrow_height = 280,
               .table = mpi_table(s, a)});
    dcr_buf_release(&alt);
    view_keep_ranks(s, json_object_get(view, "table"), shown, n_shown);
    return view;
}

/* ---- traces of GPUs without steps: where the time of the least busy one went ------------------------------------- */

struct gpu_part {
    const char *name;  /* beside the bar */
    const char *words; /* in the title */
    int64_t ns;
    enum ink ink;
};

static json_t *gpu_figure(struct site *s, const struct run_result *r, int run)
{
    enum { KINDS = 4 };
    static const double matters = 0.001; /* a shorter part is left out */
    const struct run_device *d = least_busy_device(r->run);
    if (!d || d->value[DEV_IDLE] <= 0 || r->advised.id == ADVICE_NOTHING_ONE_TRACE)
        return NULL;
    const int64_t *v = d->value;
    int64_t rest = v[DEV_BUSY] - v[DEV_COMPUTE] - v[DEV_EXPOSED_COMM] - v[DEV_EXPOSED_MEM];
    struct gpu_part part[KINDS + N_IDLE_CAUSES] = {
        {"compute", "compute", v[DEV_COMPUTE], INK_COMPUTE},
        {"communication", "communication", v[DEV_EXPOSED_COMM], INK_COMM},
        {"copies", "copies", v[DEV_EXPOSED_MEM], INK_COPY},
        {"other work", "other work", rest, INK_OTHER},
    };
    size_t n_parts = KINDS, n = 0, most = 0;
    if (rest < 0)
        return NULL;
    if (d->has_idle_causes)
        for (int c = 0; c < N_IDLE_CAUSES; c++)
            part[n_parts++] =
                (struct gpu_part){idle_cause_words((enum idle_cause)c, IDLE_IN_CHART),
                                  idle_cause_words((enum idle_cause)c, IDLE_AS_WORK), d->idle_ns[c], INK_MUTED};
    else
        part[n_parts++] = (struct gpu_part){"idle", "idle time", v[DEV_IDLE], INK_MUTED};
    struct time_axis axis = time_axis_for(v[DEV_SPAN]);
    struct row_bar rows[KINDS + N_IDLE_CAUSES];
    struct dcr_buf alt = {0};
    dcr_buf_printf(&alt, "Bars of the %s trace of GPU %lld:", fmt_time(v[DEV_SPAN]).text, (long long)d->device);
    for (size_t k = 0; k < n_parts; k++) {
        const char *words = site_text(s, "%s, %s", fmt_time_beside(part[k].ns, v[DEV_SPAN]).text,
                                      fmt_percent((double)part[k].ns / (double)v[DEV_SPAN]).text);
        most = part[k].ns > part[most].ns ? k : most;
        if ((double)part[k].ns < matters * (double)v[DEV_SPAN])
            continue;
        dcr_buf_printf(&alt, "%s %s %s", n ? "," : "", part[k].name, words);
        rows[n++] = (struct row_bar){
            .name = part[k].name, .to = (double)part[k].ns / axis.ns, .ink = part[k].ink, .value = words};
    }
    dcr_buf_putc(&alt, '.');
    struct chart_rows spec = {.text = {"Time of the GPU",
                                       site_text(s, "time of GPU %lld, %s", (long long)d->device, axis.unit), axis.unit,
                                       axis.label},
                              .rows = rows,
                              .n_rows = n};
    double height = chart_rows_height(&spec) - 26;
    json_t *view = figure_view(
        s, &(struct figure){.stem = "gpu-time",
                            .run = run,
                            .title = title_of(s, PHRASE(GPU_MOST_TIME, slot_name(part[most].words),
                                                        slot_percent((double)part[most].ns / (double)v[DEV_SPAN]),
                                                        slot_count(d->device))),
                            .caption = say_phrase(&s->arena, &PHRASE(GPU_CAPTION)),
                            .alt = dcr_buf_text(&alt),
                            .draw = draw_rows,
                            .spec = &spec,
                            .wide = FIGURE_HALF,
                            .height = height,
                            .narrow_height = height});
    dcr_buf_release(&alt);
    return view;
}

bool run_is_monitored_only(const struct run_result *r)
{
    const struct run *a = r->run;
    return !r->has_steps && !r->step.n && !a->n_traces && !a->n_mpi_calls && !a->n_tables;
}

json_t *run_figure_stepless(struct site *s, const struct run_result *r, int run)
{
    if (r->has_steps)
        return NULL;
    if (run_is_monitored_only(r))
        return run_figure_monitors(s, r, run);
    json_t *view = bandwidth_figure(s, r, run);
    if (!view)
        view = gpu_figure(s, r, run);
    return view ? view : mpi_figure(s, r, run);
}
