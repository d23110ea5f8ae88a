/* compare_names.c - what changed by name between two reports, and what may be said of it: which programs ran, and for
 * how long. See compare.h. */
#include "render/findings/rules/compare.h"

#include "lib/base/fs.h"
#include "render/metrics/changes.h"
#include "render/metrics/recorded.h"
#include "render/metrics/series/differing.h"

#include <math.h>
#include <string.h>

static int gpus_of(const struct run *a)
{
    int n = 0;
    for (int t = 0; t < a->n_traces; t++)
        n += a->traces[t].n_devices;
    return n;
}

/* Why sums of both sides would tell nothing. They need the same number of GPUs, and both sides as a whole or both in
 * windows. Without steps, which show how much was done, they also need the same number of ranks, and windows of one
 * length. */
static struct reason why_not(const struct report *rep, const struct report *before)
{
    if (rep->n_runs != 1 || before->n_runs != 1)
        return REASON(NAMES_SEVERAL_RUNS, slot_count(before->n_runs), slot_count(rep->n_runs));
    const struct run_result *a = &before->runs[0], *b = &rep->runs[0];
    const struct recorded p = recorded_part(a->run), q = recorded_part(b->run);
    if (gpus_of(a->run) != gpus_of(b->run))
        return REASON(NAMES_OTHER_GPUS, slot_count(gpus_of(a->run)), slot_count(gpus_of(b->run)));
    if (p.is_part != q.is_part)
        return REASON(NAMES_OTHER_PART, slot_name(p.is_part ? "before" : "after"));
    if (rep->n_comparisons || a->has_steps || b->has_steps)
        return rep->no_comparison; /* none if steps are compared */
    if (a->n_nodes != b->n_nodes)
        return REASON(NAMES_OTHER_NODES, slot_count(a->n_nodes), slot_count(b->n_nodes));
    if (a->n_ranks != b->n_ranks)
        return REASON(NAMES_OTHER_RANKS, slot_count(a->n_ranks), slot_count(b->n_ranks));
    if (p.is_part && (p.ns <= 0 || q.ns <= 0)) /* a window of unknown length */
        return p.ns <= 0 ? p.why : q.why;
    int is_same_window = !p.is_part || fabs((double)(q.ns - p.ns)) <= SAME_WINDOW * (double)p.ns;
    return is_same_window ? REASON(NONE) : REASON(NAMES_OTHER_WINDOW, slot_time(p.ns), slot_time(q.ns));
}

/* Programs of one name, whatever their arguments. A fix may rename the program, but then the rest of the command must
 * be the same. */
static int is_same_command(const struct run *a, const struct run *b)
{
    const char *names[N_SIDES];
    if (!has_other_program(a, b, names))
        return *names[BEFORE] != '\0';
    int is_same = a->n_command > 0 && a->n_command == b->n_command;
    for (int i = 0; i < a->n_command && is_same; i++)
        is_same =
            strcmp(a->command[i], b->command[i]) == 0 || (strcmp(dcr_last_part(a->command[i]), names[BEFORE]) == 0 &&
                                                          strcmp(dcr_last_part(b->command[i]), names[AFTER]) == 0);
    return is_same;
}

static void fill_run_times(struct changes *c, const struct run *before, const struct run *after)
{
    double x = whole_run_ns(before), y = whole_run_ns(after);
    if (x < LEAST_RUN_NS || y < LEAST_RUN_NS || has_other_batch(before, after))
        return;
    c->run_ns[BEFORE] = (int64_t)x;
    c->run_ns[AFTER] = (int64_t)y;
    c->is_run_told = is_same_command(before, after);
}

void changes_of_report(struct report *rep, const struct report *before)
{
    rep->no_changes = why_not(rep, before);
    if (rep->no_changes.code)
        return;
    struct changes *c = dcr_arena_alloc(&rep->arena, sizeof *c);
    *c = changes_between(&rep->arena, before->runs[0].run, rep->runs[0].run);
    c->has_steps = rep->n_comparisons > 0;
    c->n_steps[BEFORE] = before->runs[0].n_steps;
    c->n_steps[AFTER] = rep->runs[0].n_steps;
    const int64_t batch[] = {before->runs[0].run->program.global_batch, rep->runs[0].run->program.global_batch};
    for (int side = 0; side < N_SIDES; side++)
        c->batch[side] = batch[BEFORE] > 0 && batch[AFTER] > 0 ? batch[side] : 0;
    fill_run_times(c, before->runs[0].run, rep->runs[0].run);
    const char *programs[N_SIDES];
    if (has_other_program(before->runs[0].run, rep->runs[0].run, programs) && *programs[BEFORE] && *programs[AFTER])
        for (int side = 0; side < N_SIDES; side++)
            c->program[side] = dcr_arena_strdup(&rep->arena, programs[side]);
    for (int k = 0; k < N_CHANGED_KINDS; k++)
        if (c->of[k].n_rows)
            rep->changes = c;
    if (!rep->changes)
        rep->no_changes = REASON(NAMES_NOT_ON_BOTH);
}
