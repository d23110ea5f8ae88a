/* caveats_series.c - caveats about runs that are compared: unlike machines and libraries, repetitions that disagree,
 * runs that are left out, configurations that do not belong together. Called by caveats.c. Test:
 * tests/unit/test_caveats.c */
#include "render/findings/rules/analyse.h"
#include "render/metrics/series/differing.h"
#include "render/metrics/series/series.h"

#include "render/say/format.h"

#include <string.h>

/* Differences between compared runs that explain differing speed on their own. */
static void check_equal(struct report *rep, const struct series *s)
{
    const char *what = unlike_names(rep, unlike_in_series(rep, s));
    if (*what)
        report_add_note(
            rep, NOTE_CAVEAT, -1, NOTE_DIFFERING,
            "The compared runs are not comparable as they are: they used different %s; part of the difference in speed "
            "may come from that.",
            what);
}

/* The same by what the collectors noted: it may as well be of no account. */
static void check_surroundings(struct report *rep, const struct series *s)
{
    int n = 0, *runs = dcr_arena_alloc(&rep->arena, ((size_t)rep->n_runs + 1) * sizeof *runs);
    for (int i = 0; i < s->n_points; i++)
        for (int k = 0; k < s->points[i].n_runs && n < rep->n_runs; k++)
            runs[n++] = s->points[i].runs[k];
    const char *what = n > 1 ? other_surroundings(rep, runs[0], runs, n) : "";
    if (*what)
        report_add_note(rep, NOTE_CAVEAT, -1, NOTE_SURROUNDINGS,
                        "The compared runs did not have the same surroundings, which may be a part of the difference "
                        "in speed: %s.",
                        what);
}

/* Repetitions that disagree: whatever made them differ is in every number made from them. */
static void check_repetitions(struct report *rep, const struct series *s)
{
    for (int i = 0; i < s->n_points; i++) {
        const struct series_point *p = &s->points[i];
        double spread = repetition_spread(rep, p);
        if (spread > rep->thresholds.step_cv)
            report_add_note(rep, NOTE_CAVEAT, -1, NOTE_REPETITIONS,
                            "The %d runs on %s differ by %s of their mean step time: they did not run under the same "
                            "conditions, so speed-ups from them are uncertain.",
                            p->n_runs, fmt_count(p->n_nodes, counted_word(rep->unit)).text, fmt_percent(spread).text);
    }
}

/* Runs that broke off are no measurement of the same work as those that did not. */
static void check_left_out(struct report *rep, const struct series *s)
{
    for (int i = 0; i < s->n_points; i++) {
        const struct series_point *p = &s->points[i];
        const char *names = "";
        for (int k = 0; k < p->n_left_out; k++)
            names = report_text(rep, "%s%s'%s'", names, k ? ", " : "", rep->runs[p->left_out[k]].run->archive);
        if (p->n_left_out)
            report_add_note(rep, NOTE_CAVEAT, -1, NOTE_LEFT_OUT,
                            "%s on %s %s incomplete (%s) and left out of means, speed-ups and comparisons; the "
                            "complete %s used.",
                            fmt_count(p->n_left_out, "run").text, fmt_count(p->n_nodes, counted_word(rep->unit)).text,
                            p->n_left_out == 1 ? "is" : "are", names, p->n_runs == 1 ? "one is" : "ones are");
    }
}

/* Is the name one of those in "a, b"? */
static int is_named(const char *names, const char *name, size_t n)
{
    for (; *names; names += strspn(names, ", ")) {
        size_t k = strcspn(names, ",");
        if (k == n && strncmp(names, name, n) == 0)
            return 1;
        names += k;
    }
    return 0;
}

/* Of the first run of the first series against the first of each other. */
static const char *what_differs(struct report *rep)
{
    const char *all = "";
    int first = 0;
    while (first < rep->n_runs - 1 && (is_bare(rep->runs[first].run) || is_untold(rep, first))) /* nothing to compare */
        first++;
    for (int i = first + 1; i < rep->n_runs; i++) {
        int is_first = !is_bare(rep->runs[i].run) && !is_untold(rep, i);
        for (int k = 0; k < i; k++)
            is_first &= rep->runs[k].series != rep->runs[i].series;
        const char *at = is_first ? differing_keys(rep, &rep->runs[first], &rep->runs[i]) : "";
        for (size_t n; *at; at += n, at += strspn(at, ", ")) {
            n = strcspn(at, ",");
            if (!is_named(all, at, n))
                all = report_text(rep, "%s%s%.*s", all, *all ? ", " : "", (int)n, at);
        }
    }
    return *all ? all : "command";
}

/* Series of runs alone that did not come to say what they are. returns how many there are, named in a note */
static int check_untold(struct report *rep)
{
    int n = 0;
    const char *names = "";
    for (int i = 0; i < rep->n_series; i++) {
        const char *of_series = "";
        int is_all = 1;
        for (int k = 0; k < rep->n_runs; k++)
            if (rep->runs[k].series == i) {
                is_all &= is_untold(rep, k);
                of_series = report_text(rep, "%s%s'%s'", of_series, *of_series ? ", " : "", rep->runs[k].run->archive);
            }
        if (!is_all)
            continue;
        names = report_text(rep, "%s%s%s", names, n ? ", " : "", of_series);
        n++;
    }
    if (n)
        report_add_note(rep, NOTE_GAP, -1, NOTE_UNTOLD,
                        "The configuration of %s is unknown: interrupted before the program described itself, so that "
                        "nothing is compared with it, though the command is that of other runs.",
                        names);
    return n;
}

/* Only logs of nccl-tests: they are of the machine, and of no job that others could not be of. */
static int is_of_machine(const struct run *r)
{
    return r->n_tests > 0 && r->n_tables == r->n_tests && r->n_traces == 0;
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
    int n_bare = 0, n_of_machine = 0;
    for (int i = 0; i < rep->n_runs; i++) {
        n_bare += is_bare(rep->runs[i].run);
        n_of_machine += is_of_machine(rep->runs[i].run);
    }
    if (n_bare > n_of_machine && rep->n_runs - n_of_machine > 1)
        report_add_note(rep, NOTE_CAVEAT, -1, NOTE_JOBS,
                        "Nothing says that the %d %straces and files are of one job: times of different jobs are not "
                        "comparable, and each is reported by itself.",
                        rep->n_runs - n_of_machine, n_bare < rep->n_runs ? "runs, " : "");
    int n_told = rep->n_series - n_bare - check_untold(rep);
    if (n_told > 1)
        report_add_note(rep, NOTE_GAP, -1, NOTE_MIXED,
                        "The archives are of %d different configurations, which are not compared with each other "
                        "(they differ in: %s); each is reported by itself.",
                        n_told, what_differs(rep));
    /* Runs without a node count come first. Who gives one archive asks of that run alone. */
    if (n_with_points == 0 && rep->n_runs > 1 && rep->runs[0].n_nodes > 0)
        report_add_note(rep, NOTE_GAP, -1, NOTE_ONE_NODE_COUNT,
                        "%s: nothing can be said about scaling; add runs with other node counts.",
                        rep->runs[0].n_nodes == rep->runs[rep->n_runs - 1].n_nodes
                            ? "The archives are of one node count only"
                            : "No two archives of different node counts are of one configuration");
    for (int i = 0; i < rep->n_series; i++)
        if (rep->series[i].kind == SCALING_UNKNOWN)
            report_add_note(rep, NOTE_GAP, -1, NOTE_SCALING_UNKNOWN,
                            "Whether the scaling is strong or weak is unknown: the archives do not say the global "
                            "batch (dccollect run --label global_batch=N keeps it, or a program.json of the program). "
                            "%s; lost time cannot be split.",
                            rep->series[i].speedup_why.code ? "Speed-up is n/a" : "Speed-up is from throughput");
}
