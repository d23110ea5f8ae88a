/* grounds.c - the basis of a claim besides its numbers: the steps it is about, the threshold by name, and where its
 * cause shows most, by rank and step. See claims.h. */
#include "render/findings/claims.h"

#include "render/metrics/known.h"
#include "render/metrics/rule.h"
#include "render/findings/narrate.h"
#include "render/say/say.h"

#include <math.h>

/* The parts of a step that a cause takes; `waits`: for ranks, the waiting that they cause. Shared cores have no such
 * parts. */
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
    case CLASS_IO: /* calls on files during loading are part of it */
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

/* Ranks with at least half of the largest value of a rank: a single rank if only that one is affected, all ranks if all
 * are. */
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

/* The steps in which the cause took most, largest first; on a tie the earlier step. */
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

static const char *number_text(struct report *rep, int64_t n)
{
    return report_text(rep, "%lld", (long long)n);
}

/* "rank 2", "ranks 0, 3 and 5", "ranks 0, 1, 2 and 5 more". */
static const char *ranks_text(struct report *rep, const struct grounds *g)
{
    enum { SHOWN = 4 };
    const char *names[SHOWN];
    int n = g->n_shown_ranks > SHOWN ? SHOWN - 1 : g->n_shown_ranks, n_names = n;
    for (int i = 0; i < n; i++)
        names[i] = number_text(rep, g->ranks[i]);
    if (n < g->n_shown_ranks)
        names[n_names++] = report_text(rep, "%d more", g->n_shown_ranks - n);
    return report_text(rep, "rank%s %s", g->n_shown_ranks == 1 ? "" : "s", say_list(&rep->arena, names, n_names));
}

/* "step 7", "steps 7, 31 and 8". */
static const char *steps_text(struct report *rep, const struct grounds *g)
{
    const char *names[GROUNDS_STEPS];
    for (int i = 0; i < g->n_shown_steps; i++)
        names[i] = number_text(rep, g->steps[i]);
    return report_text(rep, "step%s %s", g->n_shown_steps == 1 ? "" : "s",
                       say_list(&rep->arena, names, g->n_shown_steps));
}

static struct phrase phrase_of_window(const struct grounds *g)
{
    const struct slot steps = slot_count(g->n_steps), first = slot_count(g->first_step),
                      last = slot_count(g->last_step), ranks = slot_count(g->n_ranks);
    return g->n_steps == 0   ? PHRASE(WINDOW_RUN)
           : g->n_steps == 1 ? PHRASE(WINDOW_STEP, first, ranks)
           : g->n_left_out   ? PHRASE(WINDOW_STEPS_LEFT, steps, first, last, ranks, slot_count(g->n_left_out))
                             : PHRASE(WINDOW_STEPS, steps, first, last, ranks);
}

/* A single rank or a single step is not named, because it is the only one. */
static struct phrase phrase_of_place(struct report *rep, const struct grounds *g)
{
    int has_ranks = g->n_shown_ranks > 0 && g->n_ranks > 1, is_all = g->n_shown_ranks == g->n_ranks;
    int has_steps = g->n_shown_steps > 0 && g->n_steps != 1;
    const struct slot steps = slot_name(has_steps ? steps_text(rep, g) : "");
    if (!has_ranks)
        return has_steps ? PHRASE(PLACE_STEPS, steps) : PHRASE(NONE);
    if (is_all)
        return has_steps ? PHRASE(PLACE_EVERY_RANK_AND_STEPS, steps) : PHRASE(PLACE_EVERY_RANK);
    const struct slot ranks = slot_name(ranks_text(rep, g));
    return has_steps ? PHRASE(PLACE_RANKS_AND_STEPS, ranks, steps) : PHRASE(PLACE_RANKS, ranks);
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
    const struct phrase window = phrase_of_window(&c->grounds), place = phrase_of_place(rep, &c->grounds);
    c->window = say_phrase(&rep->arena, &window);
    c->place = say_phrase(&rep->arena, &place);
}

/* The compared quantity with its threshold. */
static struct phrase phrase_of_threshold(const struct report *rep, const struct claim *c)
{
    const struct series *series = c->series >= 0 ? &rep->series[c->series] : NULL;
    const struct class_result *k = c->run >= 0 ? &rep->runs[c->run].classes[c->cls] : NULL;
    const struct slot name = slot_name(c->threshold_name);
    if (!*c->threshold_name || c->threshold_ratio < 0)
        return PHRASE(NONE);
    if (series)
        return PHRASE(BASIS_EFFICIENCY, slot_ratio(series->points[series->told].efficiency), name,
                      slot_ratio(c->threshold_ratio));
    if (!k || (!k->has_share && !k->judged.by) || (k->judged.by && !isfinite(k->judged.ratio)))
        return PHRASE(BASIS_THRESHOLD, name, slot_percent(c->threshold_ratio));
    return PHRASE(BASIS_SHARE, slot_name(run_class_name(&rep->runs[c->run], c->cls)),
                  slot_percent(k->judged.by ? k->judged.ratio : k->share_ratio),
                  slot_name(k->judged.by ? judged_by_words(k->judged.by) : "of a step"), name,
                  slot_percent(c->threshold_ratio));
}

void claim_basis(const struct report *rep, const struct claim *c, struct dcr_buf *out)
{
    if (!c->window || !*c->window)
        return;
    const struct phrase said[] = {PHRASE(BASIS_WINDOW, slot_name(c->window)), phrase_of_threshold(rep, c),
                                  *c->place ? PHRASE(BASIS_PLACE, slot_name(c->place)) : PHRASE(NONE)};
    say_put_phrases(out, said, 3);
}
