/* caveats_series.c - caveats about runs that are compared: unlike machines and libraries, repetitions that disagree,
 * runs that are left out, configurations that do not belong together. Called by caveats.c. Test:
 * tests/unit/test_caveats.c */
#include "render/findings/rules/analyse.h"
#include "render/metrics/series/differing.h"
#include "render/metrics/series/series.h"

#include "render/say/say.h"

#include <string.h>

/* Differences between compared runs that alone can explain a different speed. */
static void check_equal(struct report *rep, const struct series *s)
{
    const char *what = unlike_names(rep, unlike_in_series(rep, s));
    if (*what)
        report_add_note(rep, NOTE_CAVEAT, -1, NOTE_DIFFERING, PHRASE(RUNS_UNLIKE, slot_name(what)),
                        PHRASE(SPEED_FROM_THAT));
}

/* Differences that the collectors recorded. They may not matter. */
static void check_surroundings(struct report *rep, const struct series *s)
{
    int n = 0, *runs = dcr_arena_alloc(&rep->arena, ((size_t)rep->n_runs + 1) * sizeof *runs);
    for (int i = 0; i < s->n_points; i++)
        for (int k = 0; k < s->points[i].n_runs && n < rep->n_runs; k++)
            runs[n++] = s->points[i].runs[k];
    const char *what = n > 1 ? other_surroundings(rep, runs[0], runs, n) : "";
    if (*what)
        report_add_note(rep, NOTE_CAVEAT, -1, NOTE_SURROUNDINGS, PHRASE(SURROUNDINGS, slot_name(what)),
                        PHRASE(SPEED_FROM_THEM));
}

/* Repetitions that disagree. The reason for it affects every number made from them. */
static void check_repetitions(struct report *rep, const struct series *s)
{
    for (int i = 0; i < s->n_points; i++) {
        const struct series_point *p = &s->points[i];
        double spread = repetition_spread(rep, p);
        if (spread > rep->thresholds.step_cv)
            report_add_note(rep, NOTE_CAVEAT, rep->n_series > 1 ? p->runs[0] : -1, NOTE_REPETITIONS,
                            PHRASE(RUNS_DISAGREE, slot_count(p->n_runs),
                                   slot_things(p->n_nodes, counted_word(rep->unit)), slot_percent(spread)),
                            PHRASE(RUNS_UNCERTAIN));
    }
}

/* Runs that broke off did not measure the same work as complete ones. */
static void check_left_out(struct report *rep, const struct series *s)
{
    for (int i = 0; i < s->n_points; i++) {
        const struct series_point *p = &s->points[i];
        const char **names = dcr_arena_alloc(&rep->arena, ((size_t)p->n_left_out + 1) * sizeof *names);
        for (int k = 0; k < p->n_left_out; k++)
            names[k] = report_text(rep, "'%s'", rep->runs[p->left_out[k]].run->archive);
        if (p->n_left_out)
            report_add_note(rep, NOTE_CAVEAT, -1, NOTE_LEFT_OUT,
                            PHRASE(RUNS_INCOMPLETE, slot_count(p->n_left_out),
                                   slot_things(p->n_nodes, counted_word(rep->unit)),
                                   slot_name(say_list(&rep->arena, names, p->n_left_out))),
                            PHRASE(COMPLETE_COUNT));
    }
}

enum { DIFFERING_MAX = 16 };
/* Adds the names of "a, b" that are not yet in the list. */
static int add_names(struct report *rep, const char *of, const char **names, int n)
{
    for (size_t len; *of && n < DIFFERING_MAX; of += len, of += strspn(of, ", ")) {
        int is_new = 1;
        len = strcspn(of, ",");
        const char *name = report_text(rep, "%.*s", (int)len, of);
        for (int i = 0; i < n; i++)
            is_new &= strcmp(names[i], name) != 0;
        if (is_new)
            names[n++] = name;
    }
    return n;
}

/* Are all differences of the list options of the command, "--px and --py"? Or is it the command as a whole? */
static int is_of_commands(const char *what)
{
    for (const char *item = what; *item;) {
        if (*item != '-' && strncmp(item, "command", 7) != 0)
            return 0;
        item += strcspn(item, " ,");
        item += strspn(item, " ,");
        if (strncmp(item, "and ", 4) == 0)
            item += 4;
    }
    return *what != '\0';
}

/* Differences between the first run of the first series and the first run of each other series. */
static const char *what_differs(struct report *rep)
{
    const char *names[DIFFERING_MAX];
    int first = 0, n = 0;
    while (first < rep->n_runs - 1 && (is_bare(rep->runs[first].run) || is_untold(rep, first))) /* nothing to compare */
        first++;
    for (int i = first + 1; i < rep->n_runs; i++) {
        int is_first = !is_bare(rep->runs[i].run) && !is_untold(rep, i);
        for (int k = 0; k < i; k++)
            is_first &= rep->runs[k].series != rep->runs[i].series;
        if (is_first)
            n = add_names(rep, differing_keys(rep, &rep->runs[first], &rep->runs[i]), names, n);
    }
    return n ? say_list(&rep->arena, names, n) : "command";
}

/* Series of single runs that broke off before they stated their configuration. returns their number; a note names them
 */
static int check_untold(struct report *rep)
{
    int n = 0, n_names = 0;
    const char **names = dcr_arena_alloc(&rep->arena, (size_t)rep->n_runs * sizeof *names);
    for (int i = 0; i < rep->n_series; i++) {
        int is_all = 1;
        for (int k = 0; k < rep->n_runs; k++)
            is_all &= rep->runs[k].series != i || is_untold(rep, k);
        for (int k = 0; k < rep->n_runs && is_all; k++)
            if (rep->runs[k].series == i)
                names[n_names++] = report_text(rep, "'%s'", rep->runs[k].run->archive);
        n += is_all;
    }
    if (n)
        report_add_note(rep, NOTE_GAP, -1, NOTE_UNTOLD,
                        PHRASE(UNTOLD, slot_name(say_list(&rep->arena, names, n_names))), PHRASE(UNTOLD_WHY));
    return n;
}

/* Does the run hold only logs of nccl-tests? They describe the machine and fit every job on it. */
static int is_of_machine(const struct run *r)
{
    return r->n_tests > 0 && r->n_tables == r->n_tests && r->n_traces == 0;
}

/* A trace whose rank could only be in the name of its file, but is not. */
static int is_nameless(const struct run *r)
{
    return r->n_traces == 1 && r->traces[0].is_rank_by_name && r->traces[0].rank < 0;
}

/* Are these traces of one program on several node counts? They have steps, and no two have the same number of ranks. */
static int may_be_sizes(const struct report *rep)
{
    for (int i = 0; i < rep->n_runs; i++) {
        const struct run_result *r = &rep->runs[i];
        if (!is_bare(r->run) || !r->has_steps || r->n_ranks < 1)
            return 0;
        for (int k = 0; k < i; k++)
            if (rep->runs[k].n_ranks == r->n_ranks)
                return 0;
    }
    return 1;
}

/* Were different numbers of ranks recorded on one node? With --emulate-nodes they can be compared. */
static int is_of_ranks_only(const struct report *rep)
{
    int is_one_node = 1, is_differing = 0;
    for (int i = 0; i < rep->n_runs; i++) {
        const struct run_result *r = &rep->runs[i];
        is_one_node &= r->n_nodes == 1 && *r->run->collector_version && r->run->node_kind == NODES_MACHINES;
        is_differing |= r->n_ranks != rep->runs[0].n_ranks;
    }
    return is_one_node && is_differing;
}

void caveats_of_series(struct report *rep)
{
    int n_with_points = 0;
    for (int i = 0; i < rep->n_series; i++) {
        n_with_points += rep->series[i].n_points > 1;
        check_equal(rep, &rep->series[i]);
        check_surroundings(rep, &rep->series[i]);
        check_repetitions(rep, &rep->series[i]);
        check_left_out(rep, &rep->series[i]);
    }
    int n_bare = 0, n_of_machine = 0, n_nameless = 0, n_with_steps = 0;
    for (int i = 0; i < rep->n_runs; i++) {
        n_with_steps += rep->runs[i].has_steps || rep->runs[i].run->summary.n_steps > 0;
        n_bare += is_bare(rep->runs[i].run);
        n_of_machine += is_of_machine(rep->runs[i].run);
        n_nameless += is_nameless(rep->runs[i].run);
    }
    if (n_bare > n_of_machine && rep->n_runs - n_of_machine > 1)
        report_add_note(rep, NOTE_CAVEAT, -1, NOTE_JOBS,
                        n_bare < rep->n_runs ? PHRASE(JOBS_OF_RUNS, slot_count(rep->n_runs - n_of_machine))
                                             : PHRASE(JOBS_OF_FILES, slot_count(rep->n_runs - n_of_machine)),
                        PHRASE(JOBS_APART),
                        n_nameless > 1      ? PHRASE(JOBS_BY_NAME)
                        : may_be_sizes(rep) ? PHRASE(JOBS_BY_SIZE)
                                            : PHRASE(NONE));
    int n_told = rep->n_series - n_bare - check_untold(rep);
    if (n_told > 1) {
        const char *what = what_differs(rep);
        report_add_note(rep, NOTE_GAP, -1, NOTE_MIXED, PHRASE(CONFIGURATIONS, slot_count(n_told), slot_name(what)),
                        PHRASE(CONFIGURATIONS_APART),
                        is_of_commands(what) ? PHRASE(CONFIGURATIONS_JOIN) : PHRASE(NONE));
    }
    /* Runs without a node count come first. With one archive the reader asks about that run. */
    if (n_with_points == 0 && rep->n_runs > 1 && rep->runs[0].n_nodes > 0 &&
        (n_with_steps > 0 || is_of_ranks_only(rep)))
        report_add_note(rep, NOTE_GAP, -1, NOTE_ONE_NODE_COUNT,
                        rep->runs[0].n_nodes == rep->runs[rep->n_runs - 1].n_nodes ? PHRASE(NODE_COUNT_ONE)
                                                                                   : PHRASE(NODE_COUNT_ONE_EACH),
                        PHRASE(NODE_COUNTS_ADD), is_of_ranks_only(rep) ? PHRASE(NODE_COUNTS_EMULATE) : PHRASE(NONE));
    for (int i = 0; i < rep->n_series; i++)
        if (rep->series[i].kind == SCALING_UNKNOWN)
            report_add_note(rep, NOTE_GAP, -1, NOTE_SCALING_UNKNOWN, PHRASE(BATCH_UNTOLD), PHRASE(BATCH_TELL),
                            rep->series[i].speedup_why.code ? PHRASE(BATCH_NOTHING) : PHRASE(BATCH_BY_THROUGHPUT));
}
