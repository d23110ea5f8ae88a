/* page_index.c - the first page: the verdict, its numbers, its pictures, what to do. */
#include "render/site/figures/figures.h"

#include "render/findings/rules/compare.h"
#include "render/findings/narrate.h"
#include "render/findings/ranking.h"
#include "render/metrics/recorded.h"
#include "render/pages/parts.h"
#include "render/say/format.h"
#include "render/say/say.h"
#include "render/write/html.h"

#include <string.h>

/* Of phases that lose time; the CSV has all. */
enum { PHASES_SHOWN = 24 };

/* ---- series ------------------------------------------------------------------------------------------- */

/* More columns than this leave no room for words, so only the first point and the last ones are shown. */
#define CLASS_COLUMNS_MAX 4

/* The first run of each point stands for it in the table of causes. */
static json_t *series_classes(struct site *s, const struct series *series)
{
    int *runs = dcr_arena_alloc(&s->arena, (size_t)series->n_points * sizeof *runs);
    int n = 0;
    bool is_repeated = false;
    for (int i = 0; i < series->n_points; i++) {
        if (series->points[i].n_runs == 0 || !s->rep->runs[series->points[i].runs[0]].has_steps)
            continue;
        runs[n++] = series->points[i].runs[0];
        is_repeated |= series->points[i].n_runs > 1;
    }
    if (n == 0)
        return json_null();
    if (n > CLASS_COLUMNS_MAX) {
        memmove(runs + 1, runs + n - (CLASS_COLUMNS_MAX - 1), (CLASS_COLUMNS_MAX - 1) * sizeof *runs);
        n = CLASS_COLUMNS_MAX;
    }
    json_t *t = view_classes(s, TABLE(CAUSES_OF_SERIES, slot_name(s->rep->runs[runs[n - 1]].label)), runs, n);
    view_caption(s, t, is_repeated ? PHRASE(CAPTION_FIRST_RUNS) : PHRASE(NONE));
    return t;
}

/* A row of the table of efficiencies: of a point its value, or why it has none. */
struct efficiency {
    const char *name;
    bool has;
    double ratio;
    const struct reason *why; /* NULL: the table does not give it */
};
enum { N_EFFICIENCIES = 14 };
static void efficiencies_of(const struct series *series, const struct series_point *point,
                            struct efficiency out[N_EFFICIENCIES])
{
    static const struct reason kind = {.code = REASON_KIND_OF_SCALING};
    const struct pop *p = &point->pop;
    const struct point_counters *c = &point->counters;
    const struct reason *unknown = p->has && series->kind == SCALING_UNKNOWN ? &kind : NULL;
    const struct efficiency e[N_EFFICIENCIES] = {
        {"global efficiency", p->has && p->has_scaling, p->global_ratio, unknown},
        {"parallel efficiency", p->has, p->parallel_ratio, NULL},
        {"load balance", p->has, p->load_balance_ratio, NULL},
        {"load balance within nodes", p->has && p->has_in_nodes, p->in_nodes_ratio, &p->in_nodes_why},
        {"load balance between nodes", p->has && p->has_between_nodes, p->between_nodes_ratio, &p->between_nodes_why},
        {"communication efficiency", p->has, p->communication_ratio, NULL},
        {"GPU communication", p->has && p->is_of_gpus, p->gpu_communication_ratio, NULL},
        {"GPU orchestration", p->has && p->is_of_gpus, p->orchestration_ratio, NULL},
        {"serialisation (estimated)", p->has, p->serialization_ratio, NULL},
        {"transfer (estimated)", p->has, p->transfer_ratio, NULL},
        {"computation scaling", p->has && p->has_scaling, p->computation_scaling_ratio, unknown},
        {"instruction scaling", c->has_instruction_scaling, c->instruction_scaling_ratio, &c->why},
        {"IPC scaling", c->has_scaling, c->ipc_scaling_ratio, &c->why},
        {"frequency scaling", c->has_scaling, c->frequency_scaling_ratio, &c->why}};
    memcpy(out, e, sizeof e);
}

static bool has_counters(const struct series *series)
{
    for (int i = 0; i < series->n_points; i++)
        if (series->points[i].counters.has_scaling)
            return true;
    return false;
}

static json_t *pop_table(struct site *s, const struct series *series)
{
    struct efficiency e[N_EFFICIENCIES] = {{0}};
    json_t *t = view_table(s, TABLE(POP));
    for (int i = 0; i < series->n_points; i++)
        view_column(s, t, "#", node_words(s, series->points[i].n_nodes));
    view_caption(s, t, has_counters(series) ? PHRASE(CAPTION_COUNTERS) : PHRASE(NONE));
    series_unreliable(s, t, series);
    bool any = false;
    for (size_t k = 0; k < N_EFFICIENCIES && series->n_points; k++) {
        efficiencies_of(series, &series->points[0], e);
        view_row(s, t, e[k].name);
        for (int i = 0; i < series->n_points; i++) {
            efficiencies_of(series, &series->points[i], e);
            any |= e[k].has;
            if (!e[k].has) {
                view_cell_missing(s, t, e[k].why ? e[k].why : &REASON(NONE), "ratio");
                continue;
            }
            view_cell_class(s, t, fmt_ratio(e[k].ratio).text,
                            e[k].ratio < s->rep->thresholds.efficiency ? "v-watch" : NULL);
            view_exact(s, t, "", true, e[k].ratio, "ratio");
        }
    }
    if (!any) {
        json_decref(t);
        return json_null();
    }
    return t;
}

/* Number of charts that a page shows openly; further series are folded under their headlines. */
#define SERIES_SHOWN 3

static json_t *series_view(struct site *s, int index, int place)
{
    const struct series *series = &s->rep->series[index];
    json_t *v = view_object(s);
    const char *suffix = index ? site_text(s, "-%d", index + 1) : "";
    view_text(s, v, "anchor", site_text(s, "scaling%s", suffix));
    view_text(s, v, "suffix", suffix);
    view_text(s, v, "label", s->rep->n_series > 1 ? series->label : NULL);
    view_text(s, v, "kind", series->n_points > 1 ? scaling_word(series->kind) : NULL);
    bool is_told = s->rep->n_series < 2 || is_series_told(s->rep, index);
    view_text(s, v, "headline", is_told ? NULL : series->headline);
    view_text(s, v, "support", is_told ? NULL : series->support);
    view_text(s, v, "folded",
              place >= SERIES_SHOWN && series->said.headline.id != PHRASE_NONE /* nothing to fold under without one */
                  ? site_text(s, "%s: %s", series->label, say_title(&s->arena, &series->said))
                  : NULL);
    view_text(s, v, "scaling", series->scaling_text);
    view_text(s, v, "beyond", series->beyond_text);
    view_text(s, v, "not_judged", series->not_judged_text);
    /* Three figures a page, about the subject of the headline. If the runs form no series, the headline is about none
     * of them. */
    bool is_first = (s->rep->n_series < 2 || index == s->rep->first_series) && !is_ranked(s->rep);
    view_set_list(s, v, "keys", is_first ? view_keys(s, series) : view_list(s));
    json_t *steps = series_steps(s, series, suffix), *figures = series_figures(s, series, suffix);
    view_set(s, v, "steps", is_first ? json_incref(steps) : json_null());
    if (!is_first && json_is_object(steps)) /* then it is on the page of scaling */
        json_array_insert(figures, 0, steps);
    json_decref(steps);
    view_set(s, v, "figures", figures);
    json_t *classes = series_classes(s, series), *pop = pop_table(s, series);
    site_table(s, classes, site_text(s, "causes%s", suffix), -1);
    view_threshold_tips(s, classes);
    site_table(s, pop, site_text(s, "pop%s", suffix), -1);
    json_t *lost = view_loss_causes(s, series);
    site_table(s, lost, site_text(s, "lost%s", suffix), -1);
    view_set(s, v, "lost", lost);
    json_t *phases = view_loss_phases(s, series);
    site_table(s, phases, site_text(s, "phases%s", suffix), -1);
    view_shorten(s, phases, PHASES_SHOWN);
    view_set(s, v, "phases", phases);
    json_t *names = view_loss_names(s, series);
    site_table(s, names, site_text(s, "loss-by-name%s", suffix), -1);
    view_set(s, v, "names", names);
    view_flag(s, v, "is_beside_phases", series->n_phases > 0);
    const char *moves_said;
    json_t *moves = view_moves(s, series, &moves_said);
    site_table(s, moves, site_text(s, "moves%s", suffix), -1);
    view_set(s, v, "moves", moves);
    view_text(s, v, "moves_said", moves_said);
    json_t *laws = view_laws(s, series), *ahead = view_ahead(s, series);
    site_table(s, laws, site_text(s, "laws%s", suffix), -1);
    site_table(s, ahead, site_text(s, "extrapolation%s", suffix), -1);
    json_t *all_reduce = view_all_reduce(s, series);
    site_table(s, all_reduce, site_text(s, "all-reduce%s", suffix), -1);
    view_set(s, v, "all_reduce", all_reduce);
    json_t *said = view_list(s);
    for (int i = 0; i < N_REDUCE_SAID; i++)
        if (series->all_reduce.said[i][0].id != PHRASE_NONE) {
            json_t *paragraph = view_object(s);
            view_text(s, paragraph, "text", say_phrases(&s->arena, series->all_reduce.said[i], REDUCE_SAID_MAX));
            view_add(s, said, paragraph);
        }
    view_set_list(s, v, "all_reduce_said", said);
    view_text(s, v, "title", series->label);
    view_set(s, v, "laws", laws);
    view_set(s, v, "ahead", ahead);
    view_set(s, v, "classes", classes);
    view_set(s, v, "pop", pop);
    return v;
}

/* ---- runs, files ----------------------------------------------------------------------------------------- */

/* The point that a run belongs to; NULL: there is none, or no single one among several node counts. */
static const struct series_point *point_of(const struct report *rep, const struct run_result *r)
{
    if (r->series < 0)
        return NULL;
    const struct series *series = &rep->series[r->series];
    for (int i = 0; i < series->n_points && series->n_points > 1; i++)
        for (int k = 0; k < series->points[i].n_runs; k++)
            if (&rep->runs[series->points[i].runs[k]] == r)
                return &series->points[i];
    return NULL;
}

/* Has the table of runs several rows with one speed-up? */
static bool is_any_repeated(const struct report *rep)
{
    for (int i = 0; i < rep->n_runs; i++) {
        const struct series_point *p = point_of(rep, &rep->runs[i]);
        if (p && p->n_runs > 1)
            return true;
    }
    return false;
}

static const char *limited_by(struct site *s, const struct run_result *r)
{
    const struct report *rep = s->rep;
    if (r->n_claims == 0)
        return r->classes[CLASS_OVERHEAD].verdict == VERDICT_WATCH ? "Not known" : "Nothing";
    static const char *const words[N_CLASSES] = {
        [CLASS_SHARED] = "Shared cores", [CLASS_COMMUNICATION] = "Communication"};
    const struct claim *c = &rep->claims[r->claims[0]];
    if (c->cls == CLASS_SHARED && r->shared.kind == SHARED_THROTTLED)
        return "CPU quota";
    if (c->cls == CLASS_SHARED && r->shared.kind == SHARED_STEAL)
        return "Other virtual machines";
    return words[c->cls] ? words[c->cls] : claim_class_name(rep, c);
}

static const char *counted_title(struct site *s)
{
    return say_capital(&s->arena, counted_word(s->rep->unit));
}

/* Columns of the table of runs. A column without any value is left out. */
struct run_columns {
    bool points, ranks, step, run, throughput, gain, limit;
    int hours_per; /* index into many_samples */
};
static const struct {
    const char *name;
    double n;
} many_samples[] = {{"million", 1e6}, {"billion", 1e9}, {"trillion", 1e12}};

/* With the time between steps, if the throughput is that of steps. -1 = the throughput is not known */
static double hours_of(const struct run_result *r, int per)
{
    int is_of_steps = r->throughput_source == THROUGHPUT_OF_STEPS || r->throughput_source == THROUGHPUT_OF_LABEL ||
                      r->throughput_source == THROUGHPUT_OF_PROGRAM;
    double coverage = is_of_steps && r->coverage_ratio > 0 ? r->coverage_ratio : 1;
    return r->has_throughput && r->n_nodes > 0 ? r->n_nodes * many_samples[per].n / r->throughput / coverage / 3600
                                               : -1;
}

static struct run_columns run_columns_of(const struct report *rep)
{
    struct run_columns c = {0};
    for (int i = 0; i < rep->n_runs; i++) {
        const struct run_result *r = &rep->runs[i];
        c.points |= point_of(rep, r) != NULL;
        c.ranks |= r->n_ranks > 0 || (r->run->n_traces == 1 && r->run->traces[0].world_size > 1);
        c.step |= r->has_steps || r->step.n > 0;
        c.run |= point_of(rep, r) && rep->series[r->series].is_of_runs;
        c.throughput |= r->has_throughput;
        c.gain |= is_ranked(rep) && *ranking_gain_text(rep, r).text;
        c.limit |= r->has_steps || r->step.n > 0;
    }
    c.ranks &= !c.points;
    const double least_hours = 0.01; /* smaller ones have too few digits */
    for (int i = 0; i < rep->n_runs; i++)
        while (c.hours_per < 2 && hours_of(&rep->runs[i], c.hours_per) >= 0 &&
               hours_of(&rep->runs[i], c.hours_per) < least_hours)
            c.hours_per++;
    return c;
}

static void add_ranks_cell(struct site *s, json_t *t, const struct run_result *r)
{
    int64_t of = r->run->n_traces == 1 ? r->run->traces[0].world_size : 0;
    view_cell_value(s, t,
                    r->n_ranks > 0 ? site_text(s, "%d", r->n_ranks)
                    : of > 1       ? site_text(s, "1 of %s", site_int(s, of))
                                   : NULL,
                    r->n_ranks > 0 || of > 1, r->n_ranks > 0 ? r->n_ranks : 1, "");
}

static void add_scaling_cells(struct site *s, json_t *t, const struct run_result *r, int hours_per)
{
    const struct series_point *p = point_of(s->rep, r);
    double hours = hours_of(r, hours_per);
    bool is_scaled = p && p->speedup > 0, has_cost = hours >= 0;
    view_cell_value(s, t, is_scaled ? fmt_x(p->speedup).text : NULL, is_scaled, is_scaled ? p->speedup : 0, "ratio");
    view_cell_value(s, t, is_scaled ? fmt_ratio(p->efficiency).text : NULL, is_scaled, is_scaled ? p->efficiency : 0,
                    "ratio");
    view_cell_value(s, t, has_cost ? fmt_number(hours).text : NULL, has_cost, hours, "h");
}

/* How much faster a run would be without its costliest cause. */
static void add_gain_cell(struct site *s, json_t *t, const struct run_result *r)
{
    const struct fmt gain = ranking_gain_text(s->rep, r);
    if (*gain.text)
        view_cell_value(s, t, gain.text, true, 1 / (1 - ranking_gain(s->rep, r)), "ratio");
    else
        view_cell_missing(s, t, r->n_counted == 1 ? &REASON(ONE_STEP) : &REASON(NONE), "ratio");
}

static json_t *runs_table(struct site *s)
{
    const struct report *rep = s->rep;
    struct run_columns has = run_columns_of(rep);
    json_t *t = view_table(s, TABLE(RUNS));
    view_columns(s, t, has.ranks ? "#Ranks" : "");
    view_columns(s, t, has.step ? "#Step time" : "");
    view_columns(s, t, has.run ? "#Run time" : "");
    view_columns(s, t, has.throughput ? "#Samples/s" : "");
    if (has.points) {
        view_columns(s, t, "#Speed-up|#Efficiency");
        view_column(s, t, "#",
                    say_phrase(&s->arena, &PHRASE(COLUMN_HOURS, slot_name(counted_title(s)),
                                                  slot_name(many_samples[has.hours_per].name))));
    }
    view_columns(s, t, has.gain ? "#Gain" : "");
    view_columns(s, t, has.limit ? "Limited by" : "What it shows");
    for (int i = 0; i < rep->n_runs; i++) {
        const struct run_result *r = &rep->runs[i];
        bool has_step = r->has_steps || r->step.n > 0; /* a summary has step times without phases */
        view_row(s, t, r->label);
        json_t *rows = json_object_get(t, "rows");
        view_text(s, json_array_get(rows, json_array_size(rows) - 1), "href",
                  site_text(s, "runs/%s/index.html", r->slug));
        if (has.ranks)
            add_ranks_cell(s, t, r);
        if (has.step) {
            view_cell_value(s, t, has_step ? fmt_time(r->step.mean_ns).text : NULL, has_step, (double)r->step.mean_ns,
                            "ns");
            view_exact(s, t, "p95", has_step, (double)r->step.p95_ns, "ns");
            view_exact(s, t, "steps counted", has_step, r->has_steps ? (double)r->n_counted : (double)r->step.n, "");
        }
        if (has.run) {
            const struct recorded part = recorded_part(r->run);
            int64_t ns = part.watched_ns > 0 ? part.watched_ns / r->run->ranks_len : 0;
            view_cell_value(s, t, ns ? fmt_time(ns).text : NULL, ns > 0, (double)ns, "ns");
        }
        if (has.throughput)
            view_cell_value(s, t, r->has_throughput ? fmt_number(r->throughput).text : NULL, r->has_throughput,
                            r->throughput, "samples/s");
        if (has.points)
            add_scaling_cells(s, t, r, has.hours_per);
        if (has.gain)
            add_gain_cell(s, t, r);
        if (!has.limit)
            view_cell(s, t, r->headline);
        else if (r->has_steps || r->n_claims)
            view_cell(s, t, limited_by(s, r));
        else
            view_cell_missing(s, t, &r->steps_why, NULL);
    }
    return t;
}

/* With more runs than this, the best, the worst and the largest are shown, and the others are folded. */
#define RUNS_SHOWN 10

/* More is better: throughput where all runs have it, else a short step. */
static double goodness(const struct run_result *r, bool has_throughput)
{
    return has_throughput ? r->throughput : r->step.mean_ns > 0 ? 1e9 / (double)r->step.mean_ns : 0;
}

/* The rows of some runs in a separate table.
 *  words  before the name of each run; NULL none */
static json_t *table_of_some(struct site *s, const json_t *all, const int *runs, int n, const char *const *words)
{
    json_t *t = json_deep_copy(all), *rows = view_list(s);
    for (int k = 0; k < n; k++) {
        json_t *row = json_deep_copy(json_array_get(json_object_get(all, "rows"), (size_t)runs[k]));
        if (words)
            view_text(s, row, "heading",
                      site_text(s, "%s: %s", words[k], json_string_value(json_object_get(row, "heading"))));
        view_add(s, rows, row);
    }
    view_set(s, t, "rows", rows);
    return t;
}

/* For runs that form no series: those with most to gain. */
static json_t *most_to_gain(struct site *s, const json_t *all)
{
    enum { MOST = 5 };
    int runs[MOST + 1], n = 0;
    for (int i = 0; i < s->rep->n_runs; i++) {
        double gain = *ranking_gain_text(s->rep, &s->rep->runs[i]).text ? ranking_gain(s->rep, &s->rep->runs[i]) : -1;
        int at = n < MOST ? n++ : MOST;
        for (; at > 0 && ranking_gain(s->rep, &s->rep->runs[runs[at - 1]]) < gain; at--)
            runs[at] = runs[at - 1];
        runs[at] = i;
        n -= gain <= 0 && n > 0 && runs[n - 1] == i;
    }
    json_t *t = n ? table_of_some(s, all, runs, n, NULL) : NULL;
    if (t)
        view_text(s, t, "caption", say_phrase(&s->arena, &PHRASE(RUNS_BY_GAIN)));
    return t;
}

/* The runs of the headline's series, if there are runs of other configurations too. */
static json_t *of_first_series(struct site *s, const json_t *all)
{
    int runs[RUNS_SHOWN], n = 0;
    for (int i = 0; i < s->rep->n_runs; i++)
        if (s->rep->runs[i].series == s->rep->first_series) {
            if (n == RUNS_SHOWN)
                return NULL;
            runs[n++] = i;
        }
    return n ? table_of_some(s, all, runs, n, NULL) : NULL;
}

/* A few of many runs, each with the reason why it is shown. NULL: all runs are shown. */
static json_t *chosen_runs(struct site *s, const json_t *all)
{
    const struct report *rep = s->rep;
    int best = -1, worst = -1, largest = -1;
    bool has_throughput = true;
    if (rep->n_runs <= RUNS_SHOWN)
        return NULL;
    if (is_ranked(rep))
        return most_to_gain(s, all);
    json_t *first = rep->n_series > 1 ? of_first_series(s, all) : NULL;
    if (first)
        return first;
    for (int i = 0; i < rep->n_runs; i++)
        has_throughput &= rep->runs[i].has_throughput;
    for (int i = 0; i < rep->n_runs; i++) {
        const struct run_result *r = &rep->runs[i];
        double good = goodness(r, has_throughput);
        if (good <= 0)
            continue;
        best = best < 0 || good > goodness(&rep->runs[best], has_throughput) ? i : best;
        worst = worst < 0 || good < goodness(&rep->runs[worst], has_throughput) ? i : worst;
        largest = largest < 0 || r->n_ranks > rep->runs[largest].n_ranks ? i : largest;
    }
    if (best < 0)
        return NULL;
    json_t *t = table_of_some(s, all, (const int[]){best, worst, largest}, 3,
                              (const char *const[]){"Best", "Worst", "Largest"});
    view_text(s, t, "caption",
              say_phrase(&s->arena, has_throughput ? &PHRASE(BEST_BY_THROUGHPUT) : &PHRASE(BEST_BY_STEP)));
    return t;
}

/* Files beside the evidence that are no evidence; the first of many. */
static const char *no_evidence(struct site *s)
{
    enum { SHOWN = 20 };
    const struct report *rep = s->rep;
    const char *text = rep->n_none ? "" : NULL;
    for (int i = 0; i < rep->n_none && i < SHOWN; i++)
        text = site_text(s, "%s%s%s", text, i ? ", " : "", rep->none[i]);
    return rep->n_none > SHOWN ? site_text(s, "%s and %d more", text, rep->n_none - SHOWN) : text;
}

static json_t *file_list(struct site *s)
{
    json_t *list = view_list(s);
    for (int i = 0; i < s->rep->n_documents; i++) {
        const struct document *d = &s->rep->documents[i];
        if (d->run >= 0)
            continue;
        json_t *v = view_object(s);
        view_text(s, v, "path", d->path);
        view_text(s, v, "title", d->title);
        view_add(s, list, v);
    }
    return list;
}

/* The runs whose findings the first page's actions come from: the largest of each series, else all. */
static json_t *first_actions(struct site *s)
{
    const struct report *rep = s->rep;
    int *runs = dcr_arena_alloc(&s->arena, (size_t)(rep->n_runs + 1) * sizeof *runs), n = 0;
    for (int i = 0; i < rep->n_series; i++) {
        const struct series_point *p = &rep->series[i].points[rep->series[i].n_points - 1];
        for (int k = 0; k < p->n_runs; k++)
            runs[n++] = p->runs[k];
    }
    for (int i = 0; i < rep->n_runs && rep->n_series == 0; i++)
        runs[n++] = i;
    return view_actions(s, runs, n, true, "");
}

/* Links to the basis of the verdict: the two strongest claims. */
static json_t *evidence_links(struct site *s)
{
    json_t *list = view_list(s);
    const struct report *rep = s->rep;
    int n_scaling = 0;
    for (int i = 0; i < rep->n_series; i++)
        n_scaling += rep->series[i].limit_claim >= 0;
    for (int i = 0; i < rep->n_series; i++) {
        int c = rep->series[i].limit_claim;
        if (c < 0 || !rep->claims[c].evidence || !rep->claims[c].evidence[0])
            continue;
        json_t *v = view_object(s);
        view_text(s, v, "href", rep->claims[c].evidence);
        view_text(s, v, "text", n_scaling > 1 ? rep->series[i].label : "Scaling, in numbers");
        view_add(s, list, v);
    }
    /* The run that the verdict is about, in time. One with steps has a timeline. */
    for (int i = 0; i < rep->n_series && rep->n_series == 1; i++) {
        const struct series_point *p = &rep->series[i].points[rep->series[i].n_points - 1];
        const struct run_result *r = p->n_runs ? &rep->runs[p->runs[0]] : NULL;
        if (!r || !r->has_steps)
            continue;
        json_t *v = view_object(s);
        view_text(s, v, "href", site_text(s, "runs/%s/timeline.html", r->slug));
        view_text(s, v, "text", site_text(s, "Timeline of %s", r->label));
        view_add(s, list, v);
    }
    return list;
}

/* A section of the answer, as the documents have it. */
static void view_section(struct site *s, json_t *data, const char *key,
                         void (*section)(const struct report *, struct doc *, int))
{
    struct doc d = {0};
    struct dcr_buf html = {0};
    section(s->rep, &d, 2);
    write_html(&d, &html);
    doc_release(&d);
    if (html.len)
        view_html(s, data, key, &html);
    else
        view_set(s, data, key, json_null());
    dcr_buf_release(&html);
}

void page_index(struct site *s)
{
    const struct report *rep = s->rep;
    json_t *data = view_object(s), *series = view_list(s);
    const struct said *found = finding_of_answer(rep);
    view_text(s, data, "kicker",
              rep->n_series != 1 ? rep->title
              : rep->series[0].n_points > 1
                  ? site_text(s, "%s, %s scaling", rep->series[0].label, scaling_word(rep->series[0].kind))
                  : rep->series[0].label);
    view_text(s, data, "node_label", rep->node_label);
    bool is_cut = rep->n_runs == 1 && !rep->runs[0].run->is_complete; /* each run's own page says it otherwise */
    view_text(s, data, "incomplete", is_cut ? "incomplete run" : NULL);
    view_text(s, data, "headline", found ? say_title(&s->arena, found) : rep->headline);
    view_section(s, data, "lead", section_of_lead);
    view_section(s, data, "why", section_of_why);
    view_section(s, data, "action", section_of_action);
    view_section(s, data, "certainty", section_of_certainty);
    view_compared(s, data);
    view_set_list(s, data, "evidence", evidence_links(s));
    view_caveats(s, data, -1);
    view_gaps(s, data);
    for (int i = 0; i < rep->n_series; i++) { /* the subject of the headline comes first, the others follow in order */
        int first = rep->first_series < rep->n_series ? rep->first_series : 0;
        view_add(s, series, series_view(s, i == 0 ? first : i <= first ? i - 1 : i, i));
    }
    s->series_views = json_incref(series);
    view_set(s, data, "series", series);
    view_flag(s, data, "has_scaling", has_scaling(s));
    view_set_list(s, data, "actions", first_actions(s));
    json_t *runs = runs_table(s);
    bool is_one = rep->n_runs == 1 && !rep->runs[0].has_steps; /* its row would be empty */
    json_t *chosen = chosen_runs(s, runs);
    site_table(s, runs, "runs", -1);
    view_set(s, data, "chosen", chosen ? chosen : json_null());
    view_text(s, data, "all_runs", chosen ? site_text(s, "All %s", fmt_count(rep->n_runs, "run").text) : NULL);
    view_set(s, data, "runs", is_one ? json_null() : runs);
    if (is_one)
        json_decref(runs);
    view_text(s, data, "only_run", is_one ? site_text(s, "runs/%s/index.html", rep->runs[0].slug) : NULL);
    json_t *lead = is_one ? run_figure_stepless(s, &rep->runs[0], -1) : NULL;
    view_set(s, data, "lead_figure", lead ? lead : json_null());
    const struct phrase beside[] = {
        rep->headline_series >= 0 && rep->headline_series < rep->n_series ? rep->series[rep->headline_series].node_time
                                                                          : PHRASE(NONE),
        is_any_repeated(rep) ? PHRASE(SPEEDUP_OF_ALL, slot_name(counted_word(rep->unit))) : PHRASE(NONE)};
    view_text(s, data, "node_time", say_phrases(&s->arena, beside, 2));
    view_set(s, data, "files", file_list(s));
    view_text(s, data, "none", no_evidence(s));
    site_page(s, "index", "index.html", rep->title, "index", data);
}
