/* page_devices.c - GPUs in traces of other tools: a page, and tables of a run's page. */
#include "render/site/pages/devices.h"

#include "render/findings/stepless.h"
#include "render/metrics/device_shares.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Do rank and number tell this GPU from all others of the run? Then the long name of its file is not needed. */
static bool is_told_by_rank(const struct run *r, const struct run_device *d)
{
    int same = 0;
    for (int t = 0; t < r->n_traces; t++)
        for (int k = 0; k < r->traces[t].n_devices; k++)
            same += r->traces[t].devices[k].rank == d->rank && r->traces[t].devices[k].device == d->device;
    return d->rank >= 0 && same == 1;
}

/* The file is named if there are several and nothing else tells them apart. */
static const char *device_name(struct site *s, const struct run *r, const struct run_device *d)
{
    if (r->n_traces > 1 && is_told_by_rank(r, d))
        return site_text(s, "rank %lld, GPU %lld", (long long)d->rank, (long long)d->device);
    if (r->n_traces == 1)
        return d->rank >= 0 ? site_text(s, "GPU %lld, rank %lld", (long long)d->device, (long long)d->rank)
                            : site_text(s, "GPU %lld", (long long)d->device);
    return d->rank >= 0 ? site_text(s, "%s, GPU %lld, rank %lld", d->file, (long long)d->device, (long long)d->rank)
                        : site_text(s, "%s, GPU %lld", d->file, (long long)d->device);
}

/* why: if whole is 0 */
static void cell_share(struct site *s, json_t *t, int64_t part, int64_t whole, const struct reason *why)
{
    double ratio = whole > 0 ? (double)part / (double)whole : 0;
    if (whole > 0)
        view_cell_value(s, t, fmt_percent(ratio).text, true, ratio, "ratio");
    else
        view_cell_missing(s, t, why, "ratio");
}

enum { MOST_LINES = 20 };

/* Calls `row` for every device of the run. */
#define EACH_DEVICE(r, d)                                          \
    for (int t_ = 0; t_ < (r)->n_traces; t_++)                     \
        for (const struct run_device *d = (r)->traces[t_].devices; \
             d < (r)->traces[t_].devices + (r)->traces[t_].n_devices; d++)

static json_t *breakdown(struct site *s, const struct run *r)
{
    json_t *t = view_table(s, r->n_traces == 1 ? TABLE(GPU_TIME_OF, slot_name(r->traces[0].file)) : TABLE(GPU_TIME));
    EACH_DEVICE(r, d)
    {
        view_row(s, t, device_name(s, r, d));
        VIEW_METRICS(s, t, &device_metrics, d, DEVICE_DEV_SPAN, DEVICE_BUSY, DEVICE_IDLE, DEVICE_COMPUTE,
                     DEVICE_NON_COMPUTE, DEVICE_COMM, DEVICE_EXPOSED_COMM, DEVICE_OVERLAP, DEVICE_EXPOSED_MEM,
                     DEVICE_DEV_KERNELS, DEVICE_SMALL_SHARE, DEVICE_SMALL_TIME_SHARE, DEVICE_MODEL);
    }
    return t;
}

static void idle_row(struct site *s, json_t *t, const struct run *r, const struct run_device *d, const char *window,
                     int64_t idle_ns, const int64_t *causes_ns)
{
    view_row(s, t, device_name(s, r, d));
    view_cell(s, t, window);
    view_cell_time(s, t, true, idle_ns);
    for (int c = 0; c < N_IDLE_CAUSES; c++)
        cell_share(s, t, causes_ns[c], d->has_idle_causes ? idle_ns : 0,
                   d->has_idle_causes ? &REASON(NONE) : &d->idle_why);
}

/* How many other causes keep a GPU of this run idle for longer? */
static int causes_before(const struct run *r, enum idle_cause cause)
{
    int64_t most[N_IDLE_CAUSES] = {0};
    int n = 0;
    EACH_DEVICE(r, d)
    for (int c = 0; c < N_IDLE_CAUSES; c++)
        most[c] = d->idle_ns[c] > most[c] ? d->idle_ns[c] : most[c];
    for (int c = 0; c < N_IDLE_CAUSES; c++)
        n += most[c] > most[cause] || (most[c] == most[cause] && c < (int)cause);
    return n;
}

static json_t *idle(struct site *s, const struct run *r)
{
    enum { CAUSES_SHOWN = 4 };
    json_t *t = view_table(s, TABLE(GPU_IDLE));
    for (int c = 0; c < N_IDLE_CAUSES; c++)
        view_column(s, t, causes_before(r, (enum idle_cause)c) < CAUSES_SHOWN ? "#" : "~#",
                    idle_cause_words((enum idle_cause)c, IDLE_IN_TABLE));
    EACH_DEVICE(r, d)
    {
        idle_row(s, t, r, d, "span", d->value[DEV_IDLE], d->idle_ns);
        if (d->n_steps)
            idle_row(s, t, r, d, "steps", d->steps_ns - d->steps_busy_ns, d->steps_idle_ns);
    }
    return t;
}

static json_t *use(struct site *s, const struct run *r)
{
    json_t *t = view_table(s, TABLE(GPU_USE));
    EACH_DEVICE(r, d)
    {
        view_row(s, t, device_name(s, r, d));
        VIEW_METRICS(s, t, &device_metrics, d, DEVICE_UTILIZATION, DEVICE_SM);
        double queued = d->queue.n ? (double)d->queue.sum / (double)d->queue.n : 0;
        if (d->queue.n)
            view_cell(s, t, site_text(s, "%s (%s)", fmt_number(queued).text, site_int(s, d->queue.max)));
        else
            view_cell_missing(s, t, &REASON(NOTHING_LAUNCHED), NULL);
        view_exact(s, t, "mean", d->queue.n > 0, queued, "");
        view_exact(s, t, "largest", d->queue.n > 0, (double)d->queue.max, "");
        VIEW_METRICS(s, t, &device_metrics, d, DEVICE_OCCUPANCY, DEVICE_TENSOR);
    }
    return t;
}

/* What a step should not hold, and the framework's memory. */
static json_t *findings(struct site *s, const struct run *r)
{
    json_t *t = view_table(s, TABLE(GPU_INSIDE_STEPS));
    EACH_DEVICE(r, d)
    {
        view_row(s, t, device_name(s, r, d));
        VIEW_METRICS(s, t, &device_metrics, d, DEVICE_MARKED_STEPS, DEVICE_MALLOCS, DEVICE_FREES, DEVICE_SYNCS,
                     DEVICE_COPIES_TO_HOST);
    }
    return t;
}

static json_t *memory(struct site *s, const struct run *r)
{
    json_t *t = view_table(s, TABLE(GPU_MEMORY_OF_TRACE));
    EACH_DEVICE(r, d)
    {
        const struct device_memory *m = &d->memory;
        if (!m->n)
            continue;
        view_row(s, t, device_name(s, r, d));
        view_cell(s, t, m->is_driver ? "allocations seen" : "the framework's allocator");
        VIEW_METRICS(s, t, &device_metrics, d, DEVICE_MEMORY_EVENTS, DEVICE_PEAK_ALLOCATED, DEVICE_PEAK_RESERVED,
                     DEVICE_MEMORY_SHARE, DEVICE_MEMORY_CHANGE, DEVICE_MEMORY_GROWTH, DEVICE_MEMORY_STEP_PEAKS);
    }
    return t;
}

static int has_memory(const struct run *r)
{
    EACH_DEVICE(r, d)
    if (d->memory.n)
        return 1;
    return 0;
}

static json_t *collectives(struct site *s, const struct run *r)
{
    enum { MOST = 20 };
    json_t *t = view_table(s, TABLE(COLLECTIVES));
    EACH_DEVICE(r, d)
    for (int i = 0; i < d->n_collectives && i < MOST; i++) {
        const struct device_collective *c = &d->collectives[i];
        view_row(s, t, device_name(s, r, d));
        VIEW_METRICS(s, t, &collective_metrics, c, COLLECTIVE_NAME, COLLECTIVE_RANKS);
        view_cell_value(s, t, site_int(s, c->bytes), true, (double)c->bytes, "bytes");
        VIEW_METRICS(s, t, &collective_metrics, c, COLLECTIVE_CALLS, COLLECTIVE_MEAN, COLLECTIVE_MIN, COLLECTIVE_ALGBW,
                     COLLECTIVE_BUSBW);
    }
    return t;
}

static int has_collectives(const struct run *r)
{
    EACH_DEVICE(r, d)
    if (d->n_collectives)
        return 1;
    return 0;
}

static json_t *operations(struct site *s, const struct run *r, const struct run_device *d)
{
    enum { MOST = 15 };
    static const char *const kinds[] = {"compute", "communication", "copy", "memset"};
    json_t *t = view_table(s, TABLE(OPERATIONS, slot_name(device_name(s, r, d)),
                                    slot_count(d->n_names < MOST ? d->n_names : MOST), slot_count(d->n_names)));
    for (int i = 0; i < d->n_names && i < MOST; i++) {
        const struct device_name *n = &d->names[i];
        int is_kernel = n->kind == OP_COMPUTE || n->kind == OP_COMM;
        view_row(s, t, n->name);
        view_cell(s, t, kinds[n->kind]);
        VIEW_METRICS(s, t, &operation_metrics, n, OPERATION_CALLS, OPERATION_SUM, OPERATION_MEAN, OPERATION_MIN,
                     OPERATION_MAX, OPERATION_STDDEV);
        cell_share(s, t, n->sum_ns, is_kernel ? d->value[DEV_KERNEL_SUM] : 0,
                   is_kernel ? &REASON(NONE) : &REASON(NOT_A_KERNEL));
    }
    return t;
}

/* Operators of the framework, annotations and NVTX ranges on the host. */
static json_t *operators(struct site *s, const struct foreign_trace *f)
{
    return view_operators(s, &f->operators, f->code.has_stacks ? TABLE_OPERATORS_WITH_LINES : TABLE_OPERATORS,
                          f->rank >= 0 ? site_text(s, "%s, rank %lld", f->file, (long long)f->rank) : f->file);
}

/* The lines that kept the GPUs of a trace waiting, or took the unnamed time of its steps. */
static json_t *code_lines(struct site *s, const struct foreign_trace *f)
{
    json_t *t = view_table(s, f->code.is_unnamed ? TABLE(CODE_LINES_UNNAMED, slot_name(f->file))
                                                 : TABLE(CODE_LINES, slot_name(f->file)));
    for (int i = 0; i < f->code.n && i < MOST_LINES; i++) {
        const struct code_line *c = &f->code.list[i];
        view_row(s, t, c->place);
        view_cell(s, t, c->function);
        view_cell(s, t, *c->module ? c->module : "–");
        view_cell_time(s, t, true, c->idle_ns);
        view_cell_percent(s, t, true, (double)c->idle_ns / (double)f->code.idle_ns);
    }
    return t;
}

/* folded: the line under which the table is folded; NULL: it is open. is_folded: one more of its kind, folded under its
 * caption. */
static void add_named(struct site *s, json_t *list, json_t *table, const char *key, int run, const char *folded)
{
    enum { ROWS_SHOWN = 40 };
    site_table(s, table, key, run);
    view_shorten(s, table, ROWS_SHOWN);
    view_text(s, table, "folded", folded);
    view_add(s, list, table);
}

static void add(struct site *s, json_t *list, json_t *table, const char *key, int run, bool is_folded)
{
    const char *caption = json_string_value(json_object_get(table, "caption")), *end = strstr(caption, ". ");
    add_named(s, list, table, key, run,
              is_folded ? site_text(s, "%.*s", (int)(end ? end - caption : (ptrdiff_t)strlen(caption)), caption)
                        : NULL);
}

/* Does the run's stated limit consist of the time of these lines? */
static bool is_about_lines(const struct site *s, int run)
{
    const struct run_result *r = &s->rep->runs[run];
    return cause_of_idle(s->rep, r->run) == CLASS_HOST || r->classes[CLASS_OVERHEAD].verdict == VERDICT_LIMITS;
}

json_t *view_devices(struct site *s, int run)
{
    const struct run *r = s->rep->runs[run].run;
    json_t *list = view_list(s);
    int n = 0;
    EACH_DEVICE(r, d)
    n++;
    enum { MOST_DEVICES = 8 };
    if (n > 0) {
        add(s, list, breakdown(s, r), "devices", run, false);
        add(s, list, idle(s, r), "devices_idle", run, false);
        add(s, list, use(s, r), "devices_use", run, false);
        add(s, list, findings(s, r), "devices_findings", run, false);
        if (has_memory(r))
            add(s, list, memory(s, r), "devices_memory", run, false);
        if (has_collectives(r))
            add(s, list, collectives(s, r), "devices_collectives", run, false);
        n = 0;
        EACH_DEVICE(r, d)
        if (n++ < MOST_DEVICES)
            add(s, list, operations(s, r, d), site_text(s, "devices_operations_%d", n), run, n > 1);
    }
    n = 0;
    for (int i = 0; i < r->n_traces; i++)
        if (r->traces[i].code.n && n++ < MOST_DEVICES)
            add(s, list, code_lines(s, &r->traces[i]), site_text(s, "code_lines_%d", n), run,
                n > 1 || !is_about_lines(s, run));
    n = 0;
    for (int i = 0; i < r->n_traces; i++)
        if (r->traces[i].operators.n && n++ < MOST_DEVICES)
            add(s, list, operators(s, &r->traces[i]), site_text(s, "operators_%d", n), run, n > 1);
    n = 0;
    for (int i = 0; i < r->n_traces; i++)
        if (r->traces[i].n_work && n++ < MOST_DEVICES)
            add(s, list, view_work(s, &r->traces[i]), site_text(s, "operator_roofline_%d", n), run, true);
    return list;
}

void page_devices(struct site *s, int run, json_t *tables)
{
    const struct run_result *r = &s->rep->runs[run];
    struct said said = {0};
    enum { LEAD = 3 }; /* sentences below the headline */
    bool is_found = say_devices(s->rep, r->run, r->has_steps, &said) && said.headline.id != PHRASE_NONE;
    json_t *data = view_object(s);
    view_text(s, data, "label", r->label);
    view_text(s, data, "headline", is_found ? say_title(&s->arena, &said) : "GPUs");
    view_text(s, data, "support", is_found ? say_sentences(&s->arena, said.support, LEAD) : NULL);
    view_text(s, data, "more", is_found ? say_sentences(&s->arena, said.support + LEAD, SAID_MAX - LEAD) : NULL);
    view_set_list(s, data, "devices", json_incref(tables));
    site_page(s, "devices", site_text(s, "runs/%s/devices.html", r->slug),
              site_text(s, "GPUs, %s, %s", r->label, s->rep->title), r->slug, data);
}

/* Does this comma separate thousands, with a digit before it and three digits after it? Those of "18,5" in other
 * locales do not. */
static bool parts_thousands(const char *text, const char *comma)
{
    return comma > text && comma[-1] >= '0' && comma[-1] <= '9' && strspn(comma + 1, "0123456789") == 3;
}

/* The text of a number in a file of another tool, as a number for programs: without the commas of thousands; NULL if it
 * is no number. */
static const char *said_number(struct site *s, const char *text)
{
    char *plain = dcr_arena_strdup(&s->arena, text), *end;
    size_t n = 0;
    for (const char *c = text; *c; c++)
        if (*c != ',' || !parts_thousands(text, c))
            plain[n++] = *c;
    plain[n] = '\0';
    bool is_clean = n > 0 && strspn(plain, "+-.0123456789eE") == n;
    return is_clean && isfinite(strtod(plain, &end)) && !*end ? plain : NULL;
}

static json_t *foreign(struct site *s, const struct foreign_table *f)
{
    json_t *t = view_table(
        s, TABLE(OTHER_TOOL, slot_name(f->file), slot_name(foreign_kind_words(f->kind)), slot_name(f->caption)));
    view_columns(s, t, f->columns);
    view_caption(s, t, f->n_left_out ? PHRASE(CAPTION_ROWS_LEFT_OUT, slot_count(f->n_left_out)) : PHRASE(NONE));
    for (size_t i = 0; i < f->n_cells; i++)
        if (i % (size_t)f->n_columns == 0)
            view_row(s, t, f->cells[i]);
        else if (strcmp(f->cells[i], "n/a") == 0)
            view_cell_missing(s, t, &REASON(UNRECORDED), NULL);
        else
            view_cell_said(s, t, f->cells[i], said_number(s, f->cells[i]));
    return t;
}

/* A table of more columns is for looking up, so it is folded. */
#define COLUMNS_OPEN 7

json_t *view_evidence(struct site *s, int run)
{
    const struct run *r = s->rep->runs[run].run;
    json_t *list = view_list(s);
    if (r->n_kernels)
        add(s, list, view_roofline(s, r), "kernel_roofline", run, false);
    enum { MOST_CELLS = 100 };
    size_t n_cells = 0;
    for (int i = 0; i < r->n_tables; i++) {
        const struct foreign_table *t = &r->tables[i];
        n_cells += t->n_cells;
        add_named(s, list, foreign(s, t), site_text(s, "evidence_%d", i + 1), run,
                  i > 0 || n_cells > MOST_CELLS || t->n_columns > COLUMNS_OPEN
                      ? site_text(s, "%s (%s)", t->file, foreign_kind_words(t->kind))
                      : NULL);
    }
    return list;
}
