/* grounds.c - what a claim stands on besides its numbers: the steps it is of, the threshold by name, and where its
 * cause shows most, by rank and step. See claims.h. */
#include "render/narrate/claims.h"

#include "render/analyse/analyse.h"
#include "render/narrate/narrate.h"
#include "render/narrate/shares.h"
#include "render/say/format.h"

#include <string.h>

/* The parts of a step that a cause takes; `waits`: of ranks it is the waiting that they cause. None of shared cores. */
struct takes {
    unsigned parts;
    int waits;
};

static struct takes takes_of(const struct run_result *r, enum cause_class cls)
{
    const unsigned waiting = 1U << PART_WAIT, busy = 1U << PART_OTHER;
    switch (cls) {
    case CLASS_COMPUTE:
    case CLASS_MEMORY:
        return (struct takes){1U << PART_COMPUTE, 0};
    case CLASS_COMMUNICATION:
        return (struct takes){1U << PART_TRANSFER | waiting, 0};
    case CLASS_IMBALANCE:
        return (struct takes){waiting, 1};
    case CLASS_DATA:
        return (struct takes){1U << PART_DATA, 0};
    case CLASS_IO: /* calls on files while loading stand there */
        return (struct takes){1U << PART_IO | (files_in_loading(r) ? 1U << PART_DATA : 0), 0};
    case CLASS_COPY:
        return (struct takes){1U << PART_COPY, 0};
    case CLASS_HOST:
    case CLASS_OVERHEAD:
        return (struct takes){busy, 0};
    default:
        return (struct takes){0, 0};
    }
}

static int64_t sum_of(const int64_t *part, unsigned parts)
{
    int64_t sum = 0;
    for (int p = 0; p < N_PARTS; p++)
        sum += parts >> p & 1 ? part[p] : 0;
    return sum;
}

/* Ranks with at least half of what the one with most has: one alone where it is that one's matter, all where it is
 * everybody's. */
static void find_ranks(struct report *rep, struct grounds *g, const struct run_result *r, struct takes t)
{
    int64_t most = 0;
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < r->n_rank_results; i++) {
            const struct rank_result *k = &r->ranks[i];
            int64_t ns = t.waits ? k->caused_wait_ns : sum_of(k->part_ns, t.parts);
            if (turn == 0)
                most = ns > most ? ns : most;
            else if (most > 0 && 2 * ns >= most)
                g->ranks[g->n_shown_ranks++] = k->rank;
            if (turn == 0 && i == 0)
                g->ranks = dcr_arena_alloc(&rep->arena, (size_t)r->n_rank_results * sizeof *g->ranks);
        }
}

/* The steps in which it took most, most first; of equal ones the earlier. */
static void find_steps(struct grounds *g, const struct run_result *r, struct takes t)
{
    int64_t ns[GROUNDS_STEPS] = {0};
    for (int64_t k = 0; k < r->n_counted; k++) {
        int64_t here = sum_of(r->step_part_ns[k], t.parts);
        if (here <= 0 || (g->n_shown_steps == GROUNDS_STEPS && here <= ns[GROUNDS_STEPS - 1]))
            continue;
        int at = g->n_shown_steps < GROUNDS_STEPS ? g->n_shown_steps++ : GROUNDS_STEPS - 1;
        for (; at > 0 && ns[at - 1] < here; at--) {
            ns[at] = ns[at - 1];
            g->steps[at] = g->steps[at - 1];
        }
        ns[at] = here;
        g->steps[at] = r->step_number[k];
    }
}

/* "rank 2", "ranks 0, 3 and 5", "all 4 ranks", "ranks 0, 1, 2 and 5 more"; "" none. */
static const char *ranks_text(struct report *rep, const struct grounds *g)
{
    enum { SHOWN = 4 };
    const char *text = "";
    if (g->n_shown_ranks == 0 || g->n_ranks < 2)
        return "";
    if (g->n_shown_ranks == g->n_ranks)
        return report_text(rep, "on all %d ranks", g->n_ranks);
    int n = g->n_shown_ranks > SHOWN ? SHOWN - 1 : g->n_shown_ranks;
    for (int i = 0; i < n; i++)
        text = report_text(rep, "%s%s%d", text,
                           i == 0                                ? ""
                           : i == n - 1 && n == g->n_shown_ranks ? " and "
                                                                 : ", ",
                           g->ranks[i]);
    if (n < g->n_shown_ranks)
        text = report_text(rep, "%s and %d more", text, g->n_shown_ranks - n);
    return report_text(rep, "on rank%s %s", g->n_shown_ranks == 1 ? "" : "s", text);
}

static const char *steps_text(struct report *rep, const struct grounds *g)
{
    const char *text = "";
    for (int i = 0; i < g->n_shown_steps; i++)
        text = report_text(rep, "%s%s%lld", text,
                           i == 0                      ? ""
                           : i + 1 == g->n_shown_steps ? " and "
                                                       : ", ",
                           (long long)g->steps[i]);
    return g->n_shown_steps ? report_text(rep, "in step%s %s", g->n_shown_steps == 1 ? "" : "s", text) : "";
}

static const char *window_text(struct report *rep, const struct grounds *g)
{
    if (g->n_steps == 0)
        return "the whole run";
    const char *steps = g->n_steps == 1 ? report_text(rep, "step %lld", (long long)g->first_step)
                                        : report_text(rep, "%s (%lld to %lld)", fmt_count(g->n_steps, "step").text,
                                                      (long long)g->first_step, (long long)g->last_step);
    return report_text(rep, "%s%s%s", steps,
                       g->n_ranks > 0 ? report_text(rep, " of %s", fmt_count(g->n_ranks, "rank").text) : "",
                       g->n_left_out ? report_text(rep, ", %lld left out", (long long)g->n_left_out) : "");
}

static const char *place_text(struct report *rep, const struct grounds *g)
{
    const char *ranks = ranks_text(rep, g), *steps = g->n_steps == 1 ? "" : steps_text(rep, g);
    int is_all = g->n_shown_ranks == g->n_ranks;
    if (!*steps)
        return *ranks ? report_text(rep, "%s%s", is_all ? "" : "most ", ranks) : "";
    return !*ranks  ? report_text(rep, "most %s", steps)
           : is_all ? report_text(rep, "%s, most %s", ranks, steps)
                    : report_text(rep, "most %s, %s", ranks, steps);
}

static void fill(struct report *rep, struct grounds *g, const struct run_result *r, enum cause_class cls)
{
    struct takes t = takes_of(r, cls);
    *g = (struct grounds){.n_ranks = r->n_ranks};
    if (!r->has_steps || r->n_counted < 1)
        return;
    g->n_steps = r->n_counted;
    g->n_left_out = r->n_warmup + r->n_partial_steps;
    g->first_step = r->step_number[0];
    g->last_step = r->step_number[r->n_counted - 1];
    if (!t.parts)
        return;
    find_ranks(rep, g, r, t);
    find_steps(g, r, t);
}

void claim_grounds(struct report *rep, struct claim *c, const struct run_result *r, enum cause_class cls)
{
    fill(rep, &c->grounds, r, cls);
    c->window = window_text(rep, &c->grounds);
    c->place = place_text(rep, &c->grounds);
}

/* "; Transfer 31 %, threshold comm_limits 20 %": the compared quantity with its threshold. */
static void put_threshold(const struct report *rep, const struct claim *c, struct dcr_buf *out)
{
    const struct series *series = c->series >= 0 ? &rep->series[c->series] : NULL;
    const struct class_result *k = c->run >= 0 ? &rep->runs[c->run].classes[c->cls] : NULL;
    if (!*c->threshold_name || c->threshold_ratio < 0)
        return;
    if (series)
        dcr_buf_printf(out, "; efficiency %s, threshold %s %s",
                       fmt_ratio(series->points[series->n_points - 1].efficiency).text, c->threshold_name,
                       fmt_ratio(c->threshold_ratio).text);
    else if (!k || (!k->has_share && !k->judged.by))
        dcr_buf_printf(out, "; threshold %s %s", c->threshold_name, fmt_percent(c->threshold_ratio).text);
    else
        dcr_buf_printf(out, "; %s %s, threshold %s %s", run_class_name(&rep->runs[c->run], c->cls),
                       judged_share(k).text, c->threshold_name, fmt_percent(c->threshold_ratio).text);
}

void claim_basis(const struct report *rep, const struct claim *c, struct dcr_buf *out)
{
    if (!c->window || !*c->window)
        return;
    dcr_buf_puts(out, c->window);
    put_threshold(rep, c, out);
    dcr_buf_printf(out, "%s%s", *c->place ? "; " : "", c->place);
}
