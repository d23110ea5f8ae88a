/* analysis.c - the bottleneck analysis; see pages.h. */
#include "render/pages/pages.h"

#include "render/metrics/known.h"
#include "render/findings/rules/compare.h"
#include "render/findings/changes_said.h"
#include "render/findings/claims.h"
#include "render/findings/efficiencies.h"
#include "render/findings/narrate.h"
#include "render/findings/shares.h"
#include "render/pages/parts.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <stdlib.h>
#include <string.h>

static void put_notes(const struct report *rep, enum note_kind kind, const char *name, struct doc *d)
{
    int n = 0;
    for (int i = 0; i < rep->n_notes; i++) {
        if (rep->notes[i].kind != kind)
            continue;
        if (n++ == 0) {
            doc_open(d, DOC_PARAGRAPH);
            doc_strong(d, "%s", name);
            doc_list(d, DOC_BULLETS);
        }
        doc_item(d, "%s", rep->notes[i].text);
    }
}

static void put_summary(const struct report *rep, struct doc *d)
{
    doc_heading(d, 2, "Executive Summary");
    section_of_answer(rep, d, 3);
    put_notes(rep, NOTE_CAVEAT, "Caveats:", d);
    put_notes(rep, NOTE_GAP, say_phrase(&d->arena, &PHRASE(LABEL_GAPS)), d);
}

static void put_compared(const struct comparison *c, const char *name, const struct compared *k, struct doc *d)
{
    int has = compared_has(k);
    doc_row(d);
    doc_cell(d, "%s", name);
    doc_cell(d, "%s", k->has_before ? fmt_ms(k->before_ns).text : "–");
    doc_cell(d, "%s", k->has_after ? fmt_ms(k->after_ns).text : "–");
    doc_cell(d, "%s",
             has ? fmt_ms(k->after_ns - k->before_ns).text
                 : say_phrase(&d->arena, k->has_before ? &PHRASE(NOT_RECORDED_AFTER) : &PHRASE(NOT_RECORDED_BEFORE)));
    if (!c->step.change_ns.has)
        return;
    if (k->change_ns.has)
        doc_cell(d, "%s to %s", fmt_ms((int64_t)k->change_ns.lo).text, fmt_ms((int64_t)k->change_ns.hi).text);
    else
        doc_cell(d, "–");
}

static void put_comparison(const struct comparison *c, struct doc *d)
{
    const char *missing[N_PARTS];
    enum part parts[N_PARTS];
    int n_missing = 0, n = comparison_order(c, parts);
    table_of(d, 0, c->step.change_ns.has ? TABLE(PROSE_COMPARED_CERTAIN) : TABLE(PROSE_COMPARED));
    for (int i = 0; i < n; i++)
        if (!compared_is_small(&c->part[parts[i]], &c->step))
            put_compared(c, part_name(parts[i]), &c->part[parts[i]], d);
    put_compared(c, "step", &c->step, d);
    if (comparison_is_of_samples(c))
        put_compared(c, say_phrase(&d->arena, &PHRASE(TIME_OF_SAMPLES, slot_count(c->equal.samples_before))),
                     &c->equal.time, d);
    for (int p = 0; p < N_PARTS; p++)
        if (!c->part[p].has_before && !c->part[p].has_after)
            missing[n_missing++] = part_name((enum part)p);
    paragraph_of_missing(d, missing, n_missing);
}

/* The names that changed most, of each kind. */
static void put_changes(const struct changes *c, struct doc *d)
{
    enum { MOST = 5 };
    static const char *const names[N_CHANGED_KINDS] = {[CHANGED_KERNELS] = "Kernel",
                                                       [CHANGED_OPERATORS] = "Operator",
                                                       [CHANGED_MPI] = "MPI call",
                                                       [CHANGED_FILES] = "File"};
    for (enum changed_kind k = 0; c && k < N_CHANGED_KINDS; k++) {
        const struct changed_table *t = &c->of[k];
        if (!t->n_rows || k == CHANGED_FULL)
            continue;
        table_of(d, 0, TABLE(PROSE_CHANGED, slot_name(names[k])));
        for (int i = 0; i < t->n_rows && i < MOST; i++) {
            const struct changed *row = &t->rows[i];
            doc_row(d);
            doc_cell(d, "%s", row->name);
            for (int side = 0; side < N_SIDES; side++)
                doc_cell(d, "%s", fmt_whole(row->n[side]).text);
            for (int side = 0; side < N_SIDES; side++)
                doc_cell(d, "%s", fmt_ms(row->ns[side]).text);
            doc_cell(d, "%s", fmt_ms(row->ns[AFTER] - row->ns[BEFORE]).text);
        }
    }
}

static void put_comparisons(const struct report *rep, struct doc *d)
{
    int has_intervals = 0;
    if (!*rep->baseline)
        return;
    doc_heading(d, 2, "Before and after");
    paragraph_of_phrases(d, &PHRASE(BASELINE_IS), 1);
    doc_text(d, " ");
    doc_code(d, "%s", rep->baseline);
    doc_text(d, ".");
    if (rep->n_comparisons == 0 && !rep->changes)
        paragraph_of_phrases(d, &PHRASE(NO_COMPARISON, slot_reason(&rep->no_comparison)), 1);
    for (int i = 0; i < rep->n_comparisons; i++) {
        const struct comparison *c = &rep->comparisons[i];
        if (rep->n_comparisons > 1)
            doc_heading(d, 3, "%s", c->label);
        paragraphs_of_comparison(rep, c, d);
        put_comparison(c, d);
        has_intervals |= c->step.change_ns.has;
    }
    if (has_intervals)
        paragraph_of_phrases(d, (const struct phrase[]){PHRASE(INTERVAL_AND_CHANCE), PHRASE(PARTS_AND_CHANCE)}, 2);
    enum { PARAGRAPH = 3 };
    const struct phrase no_changes = said_no_changes(rep);
    paragraph_of_phrases(d, &no_changes, 1);
    if (changes_are_unequal(rep->changes))
        paragraph_of_phrases(d, rep->changes->said.support, PARAGRAPH);
    put_changes(rep->changes, d);
}

static void put_row(const struct report *rep, int from, int to, const char *name,
                    int64_t (*of)(const struct run_result *), struct doc *d)
{
    doc_row(d);
    doc_cell(d, "%s", name);
    for (int i = from; i < to; i++)
        doc_cell(d, "%s", rep->runs[i].has_steps ? fmt_ms(of(&rep->runs[i])).text : "–");
}

static int64_t mean_of(const struct run_result *r)
{
    return r->step.mean_ns;
}

static int64_t p95_of(const struct run_result *r)
{
    return r->step.p95_ns;
}

/* "communication" if no run has the traces that tell transfer from waiting. */
static const char *part_name_of_any(const struct report *rep, int from, int to, enum part p)
{
    const char *name = part_name(p);
    for (int i = from; i < to; i++) {
        if (!rep->runs[i].has_steps)
            continue;
        name = run_part_name(&rep->runs[i], p);
        if (name == part_name(p))
            break;
    }
    return name;
}

/* The steps of some runs, one column for each run. Parts that none of them recorded are named below. */
static void put_breakdown(const struct report *rep, int from, int to, struct doc *d)
{
    const char *missing[N_PARTS];
    int n = 0;
    table_of(d, 0, TABLE(PROSE_STEPS));
    for (int i = from; i < to; i++)
        doc_column(d, DOC_RIGHT, "%s", rep->runs[i].label);
    for (int k = 0; k < N_PARTS; k++) {
        enum part p = (enum part)k;
        if (!is_part_of_any(rep, from, to, p)) {
            missing[n++] = part_name(p);
            continue;
        }
        doc_row(d);
        doc_cell(d, "%s", part_name_of_any(rep, from, to, p));
        for (int i = from; i < to; i++) {
            const struct run_result *r = &rep->runs[i];
            doc_cell(d, "%s", r->has_steps && is_part_known(r, p) ? fmt_ms(r->part_ns[p]).text : "–");
        }
    }
    put_row(rep, from, to, "step", mean_of, d);
    put_row(rep, from, to, "p95", p95_of, d);
    paragraph_of_missing(d, missing, n);
}

static void put_breakdowns(const struct report *rep, struct doc *d)
{
    enum { WIDE = 6 };
    int n_steps = 0;
    for (int i = 0; i < rep->n_runs; i++)
        n_steps += rep->runs[i].has_steps;
    for (int i = 0; n_steps && i < rep->n_runs; i += WIDE)
        put_breakdown(rep, i, i + WIDE < rep->n_runs ? i + WIDE : rep->n_runs, d);
}

static void put_roofline(const struct roofline *f, struct doc *d)
{
    const struct slot rate = slot_number(f->attainable_gflop_per_s), intensity = slot_number(f->intensity);
    if (f->has && f->of_attainable_why.code) {
        paragraph_of_phrases(d, &PHRASE(ROOFLINE_NOT_KNOWN, slot_reason(&f->of_attainable_why)), 1);
    } else if (f->has)
        paragraph_of_phrases(d,
                             f->of_attainable_ratio > 1
                                 ? &PHRASE(ROOFLINE_AT_PEAK, rate, intensity)
                                 : &PHRASE(ROOFLINE, slot_percent(f->of_attainable_ratio), rate, intensity),
                             1);
}

static void put_figures(const struct run_result *r, struct doc *d)
{
    const struct phrase counted = phrase_of_counted(r), rate = PHRASE(THROUGHPUT, slot_number(r->throughput));
    doc_paragraph(d, "%s %s", say_phrase(&d->arena, &counted), r->warmup_because);
    if (r->has_throughput)
        doc_text(d, " %s", say_phrase(&d->arena, &rate));
    put_roofline(&r->roofline, d);
    paragraphs_of_efficiency(r, d);
}

/* Emulated nodes share one host, which is named once. */
static const char *hosts_of(const struct run *run, struct doc *d)
{
    const char **hosts = dcr_arena_alloc(&d->arena, (size_t)(run->nodes_len + 1) * sizeof *hosts);
    int n = 0;
    for (int i = 0; i < run->nodes_len; i++) {
        const char *host = run->nodes[i].host;
        int is_again = !*host;
        for (int k = 0; k < i; k++)
            is_again |= strcmp(run->nodes[k].host, host) == 0;
        if (!is_again)
            hosts[n++] = host;
    }
    return say_list(&d->arena, hosts, n);
}

/* One line is enough for a run of a series: tables have its numbers, and its profile has the rest. */
static void put_run_of_series(const struct run_result *r, struct doc *d)
{
    struct said said = r->said;
    said.where = (struct slot){0}; /* the label states it */
    doc_open(d, DOC_ITEM);
    doc_strong(d, "%s:", r->label);
    doc_text(d, " %s", said.headline.id == PHRASE_NONE ? r->headline : say_headline(&d->arena, &said));
    if (*r->judged_text)
        doc_text(d, " %s", r->judged_text);
    for (int i = 0; i < r->n_notes; i++)
        if (r->notes[i].is_memory_scarce)
            doc_text(d, " %s", r->notes[i].text);
}

static void put_run(const struct report *rep, const struct run_result *r, struct doc *d)
{
    const char *hosts = hosts_of(r->run, d);
    doc_heading(d, 3, "%s", r->label);
    if (r->n_ranks && *hosts)
        paragraph_of_phrases(d, &PHRASE(RUN_ID, slot_name(r->run->run_id), slot_count(r->n_ranks), slot_name(hosts)),
                             1);
    paragraphs_of_run(r, d);
    if (r->has_steps) {
        put_figures(r, d);
    } else {
        const struct phrase said[] = {
            PHRASE(STEPS_NOT_KNOWN, slot_reason(&r->steps_why)),
            r->has_throughput ? PHRASE(THROUGHPUT_BY, slot_number(r->throughput), slot_name(throughput_source_words(r)))
                              : PHRASE(NONE)};
        paragraph_of_phrases(d, said, 2);
    }
    doc_list(d, DOC_BULLETS);
    for (int i = 0; i < r->n_notes; i++)
        if (rep->n_runs == 1 || r->notes[i].is_memory_scarce)
            doc_item(d, "%s", r->notes[i].text);
}

static int is_in_table(const struct report *rep, const struct run_result *r)
{
    return r->series >= 0 && rep->series[r->series].n_points > 1;
}

static void put_runs(const struct report *rep, struct doc *d)
{
    doc_list(d, DOC_BULLETS);
    for (int i = 0; i < rep->n_runs; i++)
        if (is_in_table(rep, &rep->runs[i]))
            put_run_of_series(&rep->runs[i], d);
    for (int i = 0; i < rep->n_runs; i++)
        if (!is_in_table(rep, &rep->runs[i]))
            put_run(rep, &rep->runs[i], d);
}

static void put_recommendation(const struct report *rep, const struct claim *c, struct doc *d)
{
    const char *text = *c->action.ours ? c->action.ours : c->action.generic;
    doc_open(d, DOC_ITEM);
    doc_strong(d, "%s", claim_class_name(rep, c));
    if (c->run >= 0 && rep->n_series > 1) /* which one of several runs */
        doc_text(d, " (%s)", rep->runs[c->run].label);
    doc_text(d, ": %s. ", text);
    const struct slot gain = slot_name(c->gain_text);
    const struct phrase said[] = {
        *c->expected || !*c->gain_text ? PHRASE(NONE)
        : c->is_measuring              ? PHRASE(GAIN_MEASURES, gain)
        : is_advice_to_look(c)         ? PHRASE(GAIN_OF_CAUSE, gain)
                                       : PHRASE(GAIN_COSTS, gain),
        PHRASE(CONFIDENCE, slot_name(confidence_word(c->confidence)), slot_name(c->confidence_because))};
    struct dcr_buf b = {0};
    doc_text(d, *c->expected ? "%s " : "%s", c->expected);
    say_put_phrases(&b, said, *c->confidence_because ? 2 : 1);
    doc_buf(d, &b);
    if (*c->action.check)
        doc_text(d, " %s", c->action.check);
}

/* Do any runs have steps? A run with only the number and the mean of its steps counts, although no run shows what is in
 * a step. */
static int has_any_steps(const struct report *rep)
{
    for (int i = 0; i < rep->n_runs; i++)
        if (rep->runs[i].has_steps || rep->runs[i].run->summary.n_steps > 0)
            return 1;
    return 0;
}

static void put_recommendations(const struct report *rep, struct doc *d)
{
    doc_heading(d, 2, "Recommendations");
    int *runs = dcr_arena_alloc(&d->arena, (size_t)rep->n_runs * sizeof *runs);
    const struct claim **order = dcr_arena_alloc(&d->arena, (size_t)rep->n_claims * sizeof *order);
    for (int i = 0; i < rep->n_runs; i++)
        runs[i] = i;
    int n = claims_in_order(rep, runs, rep->n_runs, 1, order);
    doc_list(d, DOC_NUMBERS);
    for (int i = 0; i < n; i++)
        put_recommendation(rep, order[i], d);
    if (n == 0 && rep->n_runs && rep->runs[rep->n_runs - 1].has_steps)
        doc_paragraph(d, "%s", rep->first_action); /* nothing to do, or to name the unnamed part */
    else if (n == 0)
        doc_paragraph(
            d, "%s %s",
            say_phrase(&d->arena, has_any_steps(rep) ? &PHRASE(NO_CAUSE_OF_PHASES) : &PHRASE(NO_CAUSE_OF_STEPS)),
            rep->first_action); /* it takes the recorded evidence into account */
}

/* The thresholds that were given. The others are on the page of the method. */
static void put_thresholds(const struct thresholds *t, struct doc *d)
{
    int n = 0;
#define X(name, def, lo, hi, meaning)                \
    if (t->name > (def) || t->name < (def)) {        \
        if (n++ == 0)                                \
            table_of(d, 0, TABLE(PROSE_THRESHOLDS)); \
        doc_row(d);                                  \
        doc_cell(d, "%s", #name);                    \
        doc_cell(d, "%g", t->name);                  \
        doc_cell(d, "%g", (double)(def));            \
    }
    THRESHOLDS(X)
#undef X
}

static void put_methodology(const struct report *rep, struct doc *d)
{
    doc_heading(d, 2, "Methodology");
    const struct slot unit = slot_name(counted_word(rep->unit));
    int has_steps = 0;
    for (int i = 0; i < rep->n_runs; i++)
        has_steps |= rep->runs[i].has_steps;
    const struct phrase times[] = {has_steps ? PHRASE(METHOD_SHARES) : PHRASE(METHOD_SHARES_OF_TIME),
                                   PHRASE(METHOD_TRANSFER)};
    const struct phrase sure[] = {PHRASE(METHOD_INTERVALS), PHRASE(METHOD_ONE_RUN, unit)};
    paragraph_of_phrases(d, times, 2);
    paragraph_of_phrases(d, sure, 2);
    put_thresholds(&rep->thresholds, d);
    paragraph_of_phrases(d, &PHRASE(METHOD_DOCS), 1);
}

void page_of_analysis(const struct report *rep, struct doc *d)
{
    doc_heading(d, 1, "Bottleneck analysis: %s", rep->title);
    if (*rep->node_label)
        doc_paragraph(d, "%s.", say_capital(&d->arena, rep->node_label));
    put_summary(rep, d);
    put_comparisons(rep, d);
    doc_heading(d, 2, "Per-Scenario Analysis");
    put_breakdowns(rep, d);
    put_runs(rep, d);
    section_of_scaling(rep, d);
    put_recommendations(rep, d);
    put_methodology(rep, d);
}
