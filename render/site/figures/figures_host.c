/* figures_host.c - the load of the machines over time; see figures.h. Called by page_run.c. */
#include "render/site/figures/figures_inside.h"

#include "render/say/format.h"
#include "render/say/say.h"

#include <math.h>
#include <string.h>

static const struct {
    enum ink ink;
    bool is_dashed;
} line_looks[] = {{INK_ACCENT, false}, {INK_TEXT, false}, {INK_AXIS, false}, {INK_ACCENT, true}, {INK_TEXT, true}};

/* When a node's samples begin. Its quantities need not all have a value in the first sample. */
static double first_of(const struct run_node *n)
{
    const struct sampled *const all[] = {&n->memory_percent, &n->cpu_percent};
    double zero = INFINITY;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        zero = all[i]->n ? fmin(zero, all[i]->t0) : zero;
    return isfinite(zero) ? zero : 0;
}

/* Where the axis begins, on the clock of the node: at the first sample of all nodes that can be compared with it. A
 * node that cannot be compared begins at its own first sample. */
static double zero_of(const struct run *r, const struct run_node *n)
{
    double first = first_of(n), ahead, zero = INFINITY;
    if (run_node_ahead(r, n, first, &ahead) != 0)
        return first;
    for (int i = 0; i < r->nodes_len; i++) {
        double begin = first_of(&r->nodes[i]), by;
        if (begin > 0 && run_node_ahead(r, &r->nodes[i], begin, &by) == 0)
            zero = fmin(zero, begin + by);
    }
    return zero <= first + ahead ? zero - ahead : first;
}

/* Seconds since then; a file on another clock begins at its own start. */
static const double *times_of(struct site *s, const struct run *r, const struct run_node *n, const struct sampled *v)
{
    double late = v->t0 - zero_of(r, n);
    if (!(late > 0 && v->t0 - first_of(n) < 60))
        return v->t_s;
    double *t = dcr_arena_alloc(&s->arena, (size_t)v->n_points * sizeof *t);
    for (int i = 0; i < v->n_points; i++)
        t[i] = v->t_s[i] + late;
    return t;
}

/* The panel in which a line of a monitor is drawn. */
struct panel_of {
    const char *title, *axis, *unit;
    size_t at;                 /* of the struct sampled in a run_node, or in a run_gpu */
    bool is_brief, is_percent; /* is_percent: the axis ends at 100 */
};

static void add_line(struct site *s, const struct run *r, const struct run_node *n, struct monitors_spec *m,
                     const struct panel_of *is, const char *name, const struct sampled *v)
{
    if (v->n == 0 || v->n_points == 0)
        return;
    int p = 0;
    while (p < m->n_panels && strcmp(m->panel[p].chart.text.title, is->title) != 0)
        p++;
    if (p == m->n_panels) {
        if (p == PANELS_MAX)
            return;
        m->panel[p].chart =
            (struct chart_lines){.text = {is->title, is->axis, is->unit, is->is_percent ? label_percent : NULL},
                                 .x_title = "seconds of monitoring",
                                 .series = m->panel[p].lines,
                                 .y_max = is->is_percent ? 100 : 0};
        m->n_panels++;
    }
    struct chart_lines *c = &m->panel[p].chart;
    if (is->is_percent && v->max < 110) /* a sample's window is a little longer than was asked for */
        c->y_max = fmax(c->y_max, v->max);
    if (c->n_series == MONITOR_LINES_MAX)
        return;
    m->n_in_point = v->per_point > m->n_in_point ? v->per_point : m->n_in_point;
    size_t look = c->n_series % (sizeof line_looks / sizeof line_looks[0]);
    m->panel[p].lines[c->n_series++] = (struct line_series){name,     line_looks[look].ink, times_of(s, r, n, v),
                                                            v->value, (size_t)v->n_points,  line_looks[look].is_dashed};
}

static const char *node_name(struct site *s, const struct run *run, const struct run_node *n)
{
    return run_is_one_machine(run) ? "host" : site_text(s, "node %d", n->node);
}

#define PHASE_BINS 120

/* Nanoseconds of a step's categories into the bins it lies in; within a step they are taken as evenly spread. */
static void spread_step(const struct step_record *q, double from_s, double bin_s, double (*bin)[N_CATEGORIES])
{
    double to_s = from_s + (double)q->step_ns * 1e-9;
    for (int b = (int)fmax(0, floor(from_s / bin_s)); b < PHASE_BINS && b * bin_s < to_s; b++) {
        double inside = fmin(to_s, (b + 1) * bin_s) - fmax(from_s, b * bin_s);
        for (int c = 0; c < N_CATEGORIES && inside > 0; c++)
            bin[b][c] += (double)q->part_ns[c] * inside / (to_s - from_s);
    }
}

/* Bins up to the last one that steps fill for the most part: behind it all lines fall to 0, and labels would bunch up
 * there. */
static size_t filled_bins(const double (*bin)[N_CATEGORIES], double whole_ns)
{
    for (size_t b = PHASE_BINS; b-- > 0;) {
        double sum = 0;
        for (int c = 0; c < N_CATEGORIES; c++)
            sum += bin[b][c];
        if (2 * sum > whole_ns)
            return b + 1;
    }
    return 0;
}

/* What the ranks of the first monitored node were doing, on the time axis of its monitors, which use the same clock.
 * Nothing if the monitor's file has another clock. */
static void add_phases(struct site *s, struct monitors_spec *m, const struct run_result *r, double last_s)
{
    static const struct {
        const char *name;
        enum ink ink;
    } looks[N_CATEGORIES] = {[CAT_COMPUTE] = {"compute", INK_COMPUTE}, [CAT_COMM] = {"communication", INK_COMM},
                             [CAT_DATA] = {"data loading", INK_DATA},  [CAT_IO] = {"I/O", INK_IO},
                             [CAT_COPY] = {"copies", INK_COPY},        [CAT_OTHER] = {"unnamed time", INK_OTHER}};
    const struct run_node *node = NULL;
    for (int i = 0; i < r->run->nodes_len && !node; i++)
        node = r->run->nodes[i].cpu_percent.n ? &r->run->nodes[i] : NULL;
    if (!node || last_s <= 0 || m->n_panels == PANELS_MAX)
        return;
    double(*bin)[N_CATEGORIES] = dcr_arena_alloc(&s->arena, PHASE_BINS * sizeof *bin), bin_s = last_s / PHASE_BINS;
    double zero_s = zero_of(r->run, node);
    int n_ranks = 0;
    for (int k = 0; k < r->run->ranks_len; k++) {
        const struct run_rank *q = &r->run->ranks[k];
        double first_s = q->n_steps ? (double)q->steps[0].start_ns * 1e-9 - zero_s : -1;
        if (q->node != node->node || first_s < 0 || first_s > last_s)
            continue;
        n_ranks++;
        for (size_t i = 0; i < q->n_steps; i++)
            spread_step(&q->steps[i], (double)q->steps[i].start_ns * 1e-9 - zero_s, bin_s, bin);
    }
    if (n_ranks == 0)
        return;
    struct chart_lines *c = &m->panel[m->n_panels].chart;
    *c = (struct chart_lines){.text = {"Phases",
                                       site_text(s, "what the ranks of node %d did, %% of their time", node->node), "%",
                                       label_percent},
                              .x_title = "seconds of monitoring",
                              .series = m->panel[m->n_panels].lines,
                              .n_to_label = filled_bins(bin, bin_s * 1e9 * n_ranks),
                              .y_max = 100};
    for (int k = 0; k < N_CATEGORIES; k++) {
        double *x = dcr_arena_alloc(&s->arena, 2 * PHASE_BINS * sizeof *x), *y = x + PHASE_BINS, sum = 0;
        for (int b = 0; b < PHASE_BINS; b++) {
            x[b] = (b + 0.5) * bin_s;
            y[b] = fmin(100, bin[b][k] / (bin_s * 1e9 * n_ranks) * 100);
            sum += y[b];
        }
        if (sum >= PHASE_BINS * 0.5) /* half a percent of the time: less is a line along the axis */
            m->panel[m->n_panels].lines[c->n_series++] =
                (struct line_series){looks[k].name, looks[k].ink, x, y, PHASE_BINS, false};
    }
    m->has_phases = c->n_series > 0;
    m->n_panels += m->has_phases;
}

/* The lines of a node, in the order of the panels. */
enum { CPU_USE, MEMORY_USE = 2 };
static const struct panel_of host_lines[] = {
    [CPU_USE] = {"CPU use", "CPU use, % of all cores", "%", offsetof(struct run_node, cpu_percent), true, true},
    {"CPU pressure", "CPU pressure, % of the time with a task waiting for a core", "%",
     offsetof(struct run_node, psi_cpu_percent), false, true},
    [MEMORY_USE] = {"Memory use", "memory use, % of all memory", "%", offsetof(struct run_node, memory_percent), true,
                    true},
    {"Memory pressure", "memory pressure, % of the time with a task waiting for memory", "%",
     offsetof(struct run_node, psi_memory_percent), false, true},
    {"Page faults", "page faults per second", "", offsetof(struct run_node, faults_per_s), false, false},
    {"Major page faults", "major page faults (read from a disk) per second", "",
     offsetof(struct run_node, major_faults_per_s), false, false},
    {"I/O pressure", "I/O pressure, % of the time with a task waiting for a disk", "%",
     offsetof(struct run_node, psi_io_percent), false, true},
};

static const struct panel_of gpu_lines[] = {
    {"GPU utilisation", "GPU utilisation, % of the sample window with a kernel running", "%",
     offsetof(struct run_gpu, utilization_percent), true, true},
    {"GPU memory", "GPU memory in use, MiB", "MiB", offsetof(struct run_gpu, memory_used_mb), false, false},
    {"GPU power", "GPU power, W", "W", offsetof(struct run_gpu, power_w), false, false},
    {"GPU clock", "clock of the GPU's multiprocessors, MHz", "MHz", offsetof(struct run_gpu, sm_clock_mhz), false,
     false},
    {"PCIe", "PCIe, both directions, MB/s", "MB/s", offsetof(struct run_gpu, pcie_mb_s), false, false},
    {"NVLink", "NVLink, both directions, MB/s", "MB/s", offsetof(struct run_gpu, nvlink_mb_s), false, false},
};
#define N_OF(a) (sizeof(a) / sizeof *(a))

static const struct sampled *in_node(const struct run_node *n, size_t k)
{
    return (const struct sampled *)(const void *)((const char *)n + host_lines[k].at);
}

static const struct sampled *in_gpu(const struct run_gpu *g, size_t k)
{
    return (const struct sampled *)(const void *)((const char *)g + gpu_lines[k].at);
}

/* A quantity that stayed 0 is in the table and gets no empty panel, except use itself. */
static bool is_worth_a_panel(const struct sampled *v, bool is_brief)
{
    return v->n > 0 && (is_brief || v->max > 0);
}

/* Nodes that are parts of one host each have a monitor, and all see the same. The first one with samples is drawn. */
static bool is_seen_before(const struct run *run, int node, size_t k)
{
    for (int i = 0; i < node && run_is_one_machine(run); i++)
        if (is_worth_a_panel(in_node(&run->nodes[i], k), host_lines[k].is_brief) &&
            in_node(&run->nodes[i], k)->n_points > 0)
            return true;
    return false;
}

struct monitors_spec *monitors_spec(struct site *s, const struct run_result *r, bool is_brief)
{
    struct monitors_spec *m = dcr_arena_alloc(&s->arena, sizeof *m);
    for (size_t k = 0; k < N_OF(host_lines); k++)
        for (int i = 0; i < r->run->nodes_len && (host_lines[k].is_brief || !is_brief); i++) {
            const struct run_node *n = &r->run->nodes[i];
            if (is_worth_a_panel(in_node(n, k), host_lines[k].is_brief) && !is_seen_before(r->run, i, k))
                add_line(s, r->run, n, m, &host_lines[k], node_name(s, r->run, n), in_node(n, k));
        }
    for (size_t k = 0; k < N_OF(gpu_lines); k++)
        for (int i = 0; i < r->run->nodes_len && (gpu_lines[k].is_brief || !is_brief); i++)
            for (int g = 0; g < r->run->nodes[i].n_gpus; g++) {
                const struct run_node *n = &r->run->nodes[i];
                if (is_worth_a_panel(in_gpu(&n->gpus[g], k), gpu_lines[k].is_brief))
                    add_line(s, r->run, n, m, &gpu_lines[k], site_text(s, "node %d GPU %d", n->node, n->gpus[g].gpu_id),
                             in_gpu(&n->gpus[g], k));
            }
    /* One time axis for all, written under the last. */
    double last = 0;
    for (int p = 0; p < m->n_panels; p++)
        for (size_t k = 0; k < m->panel[p].chart.n_series; k++)
            last = fmax(last, m->panel[p].lines[k].x[m->panel[p].lines[k].n - 1]);
    add_phases(s, m, r, last);
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
    double side = 0;
    for (int p = 0; p < m->n_panels; p++)
        side = fmax(side, chart_lines_side(c, at.w, &m->panel[p].chart));
    double gutter = 0;
    double h = (at.h - PANEL_FOOT) / m->n_panels; /* plots of one height: the last one has the axis below */
    for (int p = 0; p < m->n_panels; p++)
        gutter = fmax(gutter, chart_lines_gutter(c, h / 2, &m->panel[p].chart));
    for (int p = 0; p < m->n_panels; p++) {
        struct chart_lines chart = m->panel[p].chart;
        chart.text.title = NULL;
        chart.least_side = side;
        chart.least_gutter = gutter;
        chart_lines(c, (struct box){at.x, at.y + h * p, at.w, p + 1 < m->n_panels ? h : h + PANEL_FOOT}, &chart);
    }
}

/* is_told: words under the table say why the row has no value, so the page does not name it once more. */
static void add_sampled_row(struct site *s, json_t *t, const char *what, const struct sampled *v, const char *unit,
                            bool is_told)
{
    view_row(s, t, what);
    if (v->n == 0) {
        for (int i = 0; i < 3; i++)
            view_cell_missing(s, t, &REASON(UNRECORDED), "");
        view_cell_count(s, t, true, 0);
        (is_told ? view_row_told : view_row_empty)(s, t);
        return;
    }
    const double values[3] = {v->sum / (double)v->n, v->min, v->max};
    for (int i = 0; i < 3; i++)
        view_cell_value(s, t, site_text(s, "%s %s", fmt_number(values[i]).text, unit), true, values[i], unit);
    view_cell_count(s, t, true, v->n);
}

static bool is_monitored(const struct run_node *n)
{
    bool is = n->n_gpus > 0;
    for (size_t k = 0; k < N_OF(host_lines); k++)
        is |= in_node(n, k)->n > 0;
    return is;
}

/* Is there a sample of a quantity on any node? */
static bool is_recorded(const struct run *run, size_t k)
{
    for (int i = 0; i < run->nodes_len; i++)
        if (in_node(&run->nodes[i], k)->n > 0)
            return true;
    return false;
}

static bool is_on_a_gpu(const struct run *run, size_t k)
{
    for (int i = 0; i < run->nodes_len; i++)
        for (int g = 0; g < run->nodes[i].n_gpus; g++)
            if (in_gpu(&run->nodes[i].gpus[g], k)->n > 0)
                return true;
    return false;
}

/* What no node has is in the words of monitors_absent, and so are nodes without monitors. The CSV has all rows. */
static json_t *monitors_table(struct site *s, const struct run *run)
{
    json_t *t = view_table(s, TABLE(MONITORS));
    for (int i = 0; i < run->nodes_len; i++) {
        const struct run_node *n = &run->nodes[i];
        bool is_bare = !is_monitored(n);
        add_sampled_row(s, t, site_text(s, "node %d CPU use", n->node), &n->cpu_percent, "%",
                        is_bare || !is_recorded(run, CPU_USE));
        add_sampled_row(s, t, site_text(s, "node %d memory", n->node), &n->memory_used_gb, "GB",
                        is_bare || !is_recorded(run, MEMORY_USE));
        if (n->iowait_percent.n)
            add_sampled_row(s, t, site_text(s, "node %d I/O wait", n->node), &n->iowait_percent, "%", is_bare);
        if (n->steal_percent.n)
            add_sampled_row(s, t, site_text(s, "node %d time stolen", n->node), &n->steal_percent, "%", is_bare);
        for (size_t k = 0; k < N_OF(host_lines); k++)
            if (!host_lines[k].is_brief)
                add_sampled_row(s, t, site_text(s, "node %d %s", n->node, host_lines[k].title), in_node(n, k),
                                *host_lines[k].unit ? host_lines[k].unit : "/s", is_bare || !is_recorded(run, k));
        for (int g = 0; g < n->n_gpus; g++) {
            for (size_t k = 0; k < N_OF(gpu_lines); k++)
                add_sampled_row(s, t,
                                site_text(s, "node %d GPU %d: %s", n->node, n->gpus[g].gpu_id, gpu_lines[k].title),
                                in_gpu(&n->gpus[g], k), gpu_lines[k].unit, !is_on_a_gpu(run, k));
        }
    }
    return t;
}

/* Nodes of a host share its monitors, which the first of them has. Other nodes without monitors are a gap. */
static struct phrase phrase_of_unmonitored(const struct run *run)
{
    int n = 0, first = -1;
    for (int i = 0; i < run->nodes_len; i++) {
        bool is = is_monitored(&run->nodes[i]);
        n += !is;
        first = is && first < 0 ? run->nodes[i].node : first;
    }
    return n == 0 || first < 0       ? PHRASE(NONE)
           : run_is_one_machine(run) ? PHRASE(MONITORS_OF_HOST, slot_count(first))
                                     : PHRASE(NODES_NOT_MONITORED, slot_count(n));
}

/* The quantities without samples on any node, in words: one sentence for hosts and one for GPUs. */
const char *monitors_absent(struct site *s, const struct run *run)
{
    const char *host[N_OF(host_lines)], *gpu[N_OF(gpu_lines)];
    int n_host = 0, n_gpu = 0;
    const struct recorder *monitor = NULL;
    bool has_gpu = false;
    for (size_t k = 0; k < N_OF(host_lines); k++)
        if (!is_recorded(run, k))
            host[n_host++] = host_lines[k].title;
    for (int i = 0; i < run->nodes_len; i++) {
        has_gpu |= run->nodes[i].n_gpus > 0;
        if (!monitor && run->nodes[i].gpu_monitor.state) /* the first node of a host has its monitors */
            monitor = &run->nodes[i].gpu_monitor;
    }
    for (size_t k = 0; k < N_OF(gpu_lines) && has_gpu; k++) {
        if (!is_on_a_gpu(run, k))
            gpu[n_gpu++] = gpu_lines[k].title;
    }
    if (!has_gpu && !monitor)
        gpu[n_gpu++] = "GPUs";
    const struct reason why =
        monitor
            ? REASON(GPU_MONITOR_SAYS, slot_name(monitor->state == RECORDER_ABSENT ? monitor->because : monitor->text))
            : REASON(NONE);
    const struct phrase said[] = {
        n_host ? PHRASE(PARTS_NOT_RECORDED, slot_name(say_list(&s->arena, host, n_host))) : PHRASE(NONE),
        n_gpu ? PHRASE(PARTS_NOT_RECORDED, slot_name(say_list(&s->arena, gpu, n_gpu))) : PHRASE(NONE),
        !has_gpu && monitor ? PHRASE(GPUS_NOT_SAMPLED, slot_reason(&why)) : PHRASE(NONE), phrase_of_unmonitored(run)};
    const char *text = say_phrases(&s->arena, said, N_OF(said));
    return *text ? text : NULL;
}

static void add_mean(const struct sampled *v, double *sum, int *n)
{
    *sum += v->n ? v->sum / (double)v->n : 0;
    *n += v->n > 0;
}

static const char *host_title(struct site *s, const struct run *run)
{
    double cpu = 0, gpu = 0;
    int n_cpu = 0, n_gpu = 0;
    for (int i = 0; i < run->nodes_len; i++) {
        add_mean(&run->nodes[i].cpu_percent, &cpu, &n_cpu);
        for (int g = 0; g < run->nodes[i].n_gpus; g++)
            add_mean(&run->nodes[i].gpus[g].utilization_percent, &gpu, &n_gpu);
    }
    const struct slot cpus = slot_percent(n_cpu ? cpu / n_cpu / 100 : 0);
    const struct said title = {.headline = n_cpu && run_is_one_machine(run) ? PHRASE(HOST_BUSY, cpus)
                                           : n_cpu                          ? PHRASE(CPUS_BUSY, cpus, slot_count(n_cpu))
                                           : n_gpu
                                               ? PHRASE(GPUS_USED, slot_percent(gpu / n_gpu / 100), slot_count(n_gpu))
                                               : PHRASE(NONE)};
    return title.headline.id ? say_title(&s->arena, &title) : "Hosts and devices";
}

json_t *run_figure_monitors(struct site *s, const struct run_result *r, int run)
{
    struct monitors_spec *m = monitors_spec(s, r, false);
    if (!m)
        return NULL;
    struct dcr_buf alt = {0};
    say_put_phrases(&alt, &PHRASE(CHART_MONITORS), 1);
    for (int i = 0; i < r->run->nodes_len && i < 16; i++) {
        const struct run_node *n = &r->run->nodes[i];
        const struct slot mean = slot_number(n->cpu_percent.n ? n->cpu_percent.sum / (double)n->cpu_percent.n : 0);
        if (n->cpu_percent.n && !is_seen_before(r->run, i, 0))
            say_put_phrases(&alt,
                            run_is_one_machine(r->run)
                                ? &PHRASE(CHART_HOST, mean, slot_number(n->cpu_percent.max))
                                : &PHRASE(CHART_NODE, slot_count(n->node), mean, slot_number(n->cpu_percent.max)),
                            1);
    }
    const struct phrase caption[] = {
        PHRASE(CAPTION_MONITORS), m->n_in_point > 1 ? PHRASE(CAPTION_THINNED, slot_count(m->n_in_point)) : PHRASE(NONE),
        m->has_phases ? PHRASE(CAPTION_PHASES) : PHRASE(NONE)};
    double height = (m->n_panels > PANELS_SHEET ? PANEL_LOW : PANEL_HEIGHT) * m->n_panels + PANEL_FOOT;
    json_t *view = figure_view(s, &(struct figure){.stem = "monitors-figure",
                                                   .run = run,
                                                   .title = host_title(s, r->run),
                                                   .caption = say_phrases(&s->arena, caption, 3),
                                                   .alt = dcr_buf_text(&alt),
                                                   .draw = draw_monitors,
                                                   .spec = m,
                                                   .wide = FIGURE_FULL,
                                                   .height = height,
                                                   .narrow_height = height,
                                                   .table = monitors_table(s, r->run)});
    view_shorten(s, json_object_get(view, "table"), 24);
    dcr_buf_release(&alt);
    return view;
}
