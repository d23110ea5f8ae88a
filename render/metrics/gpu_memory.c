/* gpu_memory.c - see gpu_memory.h. */
#include "render/metrics/gpu_memory.h"

#include "render/metrics/fit.h"
#include "render/metrics/rule.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <math.h>
#include <string.h>

enum { LEAST_POINTS = 10 }; /* points of a line; fewer show no growth */
#define MB (1024.0 * 1024.0)

const char *memory_state_word(enum memory_state s)
{
    static const char *const words[] = {
#define X(id, word) [id] = word,
        MEMORY_STATES(X)
#undef X
    };
    return words[s];
}

enum memory_state gpu_memory_state(const struct thresholds *t, double share, int grows)
{
    return share > t->gpu_memory_risk            ? MEMORY_RISK
           : share > t->gpu_memory_warn          ? MEMORY_NEARLY_FULL
           : share > t->gpu_memory && grows == 1 ? MEMORY_GROWS
           : share >= t->gpu_memory_full         ? MEMORY_BY_DESIGN
           : share < t->gpu_memory_room          ? MEMORY_ROOM
                                                 : MEMORY_FINE;
}

int gpu_memory_grows(double bytes_per_step, double whole)
{
    return bytes_per_step * 100 > 0.01 * whole;
}

/* The slope of a monitor's second half, because every program takes its memory in the first. */
static int monitor_grows(const struct run_result *r, const struct run_gpu *g, double total_mb, struct reason *why)
{
    const struct sampled *s = &g->memory_used_mb;
    double x[RUN_MAX_POINTS][FIT_MAX_PARAMETERS], y[RUN_MAX_POINTS];
    int n = 0;
    for (int i = s->n_points / 2; i < s->n_points; i++, n++) {
        x[n][0] = 1;
        x[n][1] = s->t_s[i];
        y[n] = s->value[i];
    }
    *why = REASON(NONE);
    if (!r->has_steps)
        *why = REASON(MEMORY_NO_STEPS);
    else if (n < LEAST_POINTS)
        *why = REASON(MEMORY_FEW_SAMPLES);
    struct fit f = n < LEAST_POINTS || !r->has_steps ? (struct fit){0} : fit_linear(x, y, n, 2);
    if (!f.has && !why->code)
        *why = REASON(MEMORY_ONE_TIME);
    return why->code ? -1 : gpu_memory_grows(f.parameter[1] * (double)r->step.mean_ns / 1e9, total_mb);
}

static void judge(struct report *rep, struct gpu_memory *m)
{
    m->has_share = m->used_bytes >= 0 && m->total_bytes > 0 && !m->why.code;
    if (!m->has_share)
        return;
    m->share_ratio = (double)m->used_bytes / (double)m->total_bytes;
    m->state = gpu_memory_state(&rep->thresholds, m->share_ratio, m->grows);
    if (m->state != MEMORY_ROOM)
        return;
    if (m->is_least) /* memory from before the recording is unknown */
        m->state = MEMORY_UNKNOWN;
    m->why = m->is_least ? REASON(MEMORY_AT_LEAST) : REASON(NONE);
}

static void add_monitored(struct report *rep, struct run_result *r, const struct run_node *n, const struct run_gpu *g)
{
    struct gpu_memory *m = &r->memory[r->n_memory++];
    double total = rule_mean(&g->memory_total_mb);
    int has_total = g->memory_total_mb.n && total > 0;
    *m = (struct gpu_memory){.node = n->node,
                             .gpu = g->gpu_id,
                             .file = "",
                             .source = MEMORY_BY_MONITOR,
                             .n = g->memory_used_mb.n,
                             .used_bytes = (int64_t)(g->memory_used_mb.max * MB),
                             .total_bytes = has_total ? (int64_t)(total * MB) : -1,
                             .grows = -1};
    m->who = report_text(rep, "GPU %d of node %d", g->gpu_id, n->node);
    if (!has_total)
        m->why = REASON(GPU_MONITOR_NO_TOTAL);
    else if (g->utilization_percent.n && g->utilization_percent.max <= 0)
        m->why = REASON(MEMORY_NO_KERNEL);
    else
        m->grows = monitor_grows(r, g, total, &m->grows_why);
    if (m->why.code)
        m->grows_why = m->why; /* before the judgement adds why the share alone does not tell */
    judge(rep, m);
}

static void add_traced(struct report *rep, struct run_result *r, const struct run_device *d)
{
    const struct device_memory *k = &d->memory;
    struct gpu_memory *m = &r->memory[r->n_memory++];
    int64_t peak = k->peak_reserved > k->peak_allocated ? k->peak_reserved : k->peak_allocated;
    *m = (struct gpu_memory){.node = -1,
                             .gpu = (int)d->device,
                             .file = d->file ? d->file : "",
                             .source = k->is_driver ? MEMORY_BY_ALLOCATIONS : MEMORY_BY_ALLOCATOR,
                             .n = k->n,
                             .used_bytes = peak,
                             .total_bytes = d->memory_total_bytes > 0 ? d->memory_total_bytes : -1,
                             .is_least = k->is_driver,
                             .grows = -1,
                             .grows_why = REASON(MEMORY_FEW_STEPS)};
    m->who =
        r->run->n_traces > 1 ? report_text(rep, "GPU %d of %s", m->gpu, m->file) : report_text(rep, "GPU %d", m->gpu);
    if (m->total_bytes < 0)
        m->grows_why = m->why = REASON(MEMORY_TOTAL_UNTRACED);
    else if (k->has_growth && k->n_step_peaks >= LEAST_POINTS) {
        m->grows = gpu_memory_grows(k->growth_bytes_per_step, (double)d->memory_total_bytes);
        m->grows_why = REASON(NONE);
    }
    judge(rep, m);
}

/* 95.3 %, if fmt_percent would print one of the thresholds. */
static struct fmt percent(const struct thresholds *t, double ratio)
{
    const double limits[] = {t->gpu_memory_room, t->gpu_memory_full, t->gpu_memory, t->gpu_memory_warn,
                             t->gpu_memory_risk};
    struct fmt f = fmt_percent(ratio);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (ratio != limits[i] && fmt_is_same(f, fmt_percent(limits[i]))) {
            f = fmt_number(100 * ratio);
            strncat(f.text, " %", sizeof f.text - strlen(f.text) - 1);
            break;
        }
    return f;
}

/* What a state means and what to do. */
static void add_meaning(const struct report *rep, const struct run_result *r, const struct gpu_memory *m,
                        struct phrase said[2])
{
    const struct thresholds *t = &rep->thresholds;
    int has_parts = r->accumulation.micro_batches > 1;
    const struct phrase smaller = has_parts ? PHRASE(MEMORY_SMALLER_PARTS) : PHRASE(MEMORY_SMALLER_BATCH);
    const struct slot room = slot_percent(t->gpu_memory_room);
    switch (m->state) {
    case MEMORY_RISK:
        said[0] = PHRASE(MEMORY_ENDS_RUN, slot_percent(t->gpu_memory_risk));
        said[1] = smaller;
        break;
    case MEMORY_NEARLY_FULL:
        said[0] = PHRASE(MEMORY_LITTLE_LEFT, slot_percent(t->gpu_memory_warn));
        said[1] = smaller;
        break;
    case MEMORY_GROWS:
        said[0] = PHRASE(MEMORY_GROWS, slot_percent(t->gpu_memory));
        said[1] = PHRASE(MEMORY_FIND_KEPT);
        break;
    case MEMORY_BY_DESIGN:
        said[0] = PHRASE(MEMORY_BY_DESIGN, slot_percent(t->gpu_memory_full), slot_percent(t->gpu_memory_warn));
        said[1] = m->grows == 0                    ? PHRASE(MEMORY_STEADY)
                  : m->share_ratio > t->gpu_memory ? PHRASE(MEMORY_GROWTH_UNKNOWN, slot_reason(&m->grows_why))
                                                   : PHRASE(NONE);
        break;
    case MEMORY_ROOM:
        said[0] = has_parts ? PHRASE(MEMORY_HAS_ROOM_FOR_PARTS, room) : PHRASE(MEMORY_HAS_ROOM, room);
        break;
    case MEMORY_UNKNOWN:
    case MEMORY_FINE:
    case N_MEMORY_STATES:
        break;
    }
}

/* The fullest GPU of each state. The fullest GPU of all limits the batch. */
static void say(struct report *rep, struct run_result *r)
{
    const struct gpu_memory *top[N_MEMORY_STATES] = {0}, *first = NULL;
    int n[N_MEMORY_STATES] = {0};
    for (int i = 0; i < r->n_memory; i++) {
        const struct gpu_memory *m = &r->memory[i], **at = &top[m->state];
        n[m->state]++;
        *at = !*at || m->share_ratio > (*at)->share_ratio ? m : *at;
        if (m->has_share && (!first || m->share_ratio > first->share_ratio))
            first = m;
    }
    for (int s = N_MEMORY_STATES - 1; s > MEMORY_UNKNOWN; s--) {
        if (!top[s] || s == MEMORY_FINE || (s == MEMORY_ROOM && (top[s] != first || n[MEMORY_UNKNOWN])) ||
            r->n_notes >= RUN_MAX_NOTES)
            continue;
        const struct slot gpu = slot_name(top[s]->who);
        const struct slot share =
            slot_name(report_text(rep, "%s", percent(&rep->thresholds, top[s]->share_ratio).text));
        struct phrase said[NOTE_PHRASES] = {n[s] > 1 ? PHRASE(MEMORY_PEAK_ALIKE, gpu, share, slot_count(n[s] - 1))
                                                     : PHRASE(MEMORY_PEAK, gpu, share)};
        add_meaning(rep, r, top[s], said + 1);
        run_put_note(rep, r, said);
        r->notes[r->n_notes - 1].is_memory_scarce = s > MEMORY_BY_DESIGN;
    }
}

void gpu_memory(struct report *rep, struct run_result *r)
{
    const struct run *a = r->run;
    size_t n = 0;
    for (int i = 0; i < a->nodes_len; i++)
        n += (size_t)a->nodes[i].n_gpus;
    for (int i = 0; i < a->n_traces; i++)
        n += (size_t)a->traces[i].n_devices;
    r->memory = n ? dcr_arena_alloc(&rep->arena, n * sizeof *r->memory) : NULL;
    for (int i = 0; i < a->nodes_len; i++)
        for (int k = 0; k < a->nodes[i].n_gpus; k++)
            if (a->nodes[i].gpus[k].memory_used_mb.n)
                add_monitored(rep, r, &a->nodes[i], &a->nodes[i].gpus[k]);
    for (int i = 0; i < a->n_traces; i++)
        for (int k = 0; k < a->traces[i].n_devices; k++)
            if (a->traces[i].devices[k].memory.n)
                add_traced(rep, r, &a->traces[i].devices[k]);
    say(rep, r);
}
