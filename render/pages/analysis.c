/* analysis.c - the bottleneck analysis; see pages.h. */
#include "render/pages/pages.h"

#include "render/analyse/analyse.h"
#include "render/analyse/compare.h"
#include "render/narrate/claims.h"
#include "render/narrate/efficiencies.h"
#include "render/narrate/narrate.h"
#include "render/narrate/shares.h"
#include "render/pages/parts.h"
#include "render/say/format.h"

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
    put_notes(rep, NOTE_GAP, "Missing from the evidence:", d);
}

static void put_compared(const struct comparison *c, enum part p, const struct compared *k, struct doc *d)
{
    int has = compared_has(k);
    doc_row(d);
    doc_cell(d, "%s", p == N_PARTS ? "whole step" : part_name(p));
    doc_cell(d, "%s", k->has_before ? fmt_ms(k->before_ns).text : "n/a");
    doc_cell(d, "%s", k->has_after ? fmt_ms(k->after_ns).text : "n/a");
    doc_cell(d, "%s", has ? fmt_ms(k->after_ns - k->before_ns).text : "n/a");
    if (!has)
        doc_cell(d, "n/a: not recorded%s", k->has_before ? " after" : k->has_after ? " before" : "");
    else if (k->change_ns.has)
        doc_cell(d, "%s to %s", fmt_ms((int64_t)k->change_ns.lo).text, fmt_ms((int64_t)k->change_ns.hi).text);
    else
        doc_cell(d, "n/a: too few steps");
    doc_cell(d, "%s",
             !has || !k->change_ns.has   ? "n/a"
             : !k->is_significant        ? "no"
             : comparison_is_repeated(c) ? "yes"
                                         : "unreliable: runs were not repeated");
}

static void put_comparisons(const struct report *rep, struct doc *d)
{
    if (!*rep->baseline)
        return;
    doc_heading(d, 2, "Before and after");
    doc_paragraph(d, "Against the baseline ");
    doc_code(d, "%s", rep->baseline);
    doc_text(d, ".");
    if (rep->n_comparisons == 0)
        paragraph_of_reason(d, &rep->no_comparison, ".");
    for (int i = 0; i < rep->n_comparisons; i++) {
        const struct comparison *c = &rep->comparisons[i];
        doc_paragraph(d, "%s %s", c->sentence, c->support);
        doc_table(d, "Part of a step, ms|#Before|#After|#Difference|95 % interval|More than chance");
        put_compared(c, N_PARTS, &c->step, d);
        for (int p = 0; p < N_PARTS; p++)
            put_compared(c, (enum part)p, &c->part[p], d);
    }
    doc_paragraph(d, "Intervals by bootstrap over steps, each part by itself: of twenty parts that did not change one "
                     "would seem to have.");
}

static void put_classes(const struct run_result *r, struct doc *d)
{
    doc_table(d, "Cause|#Share of step time|#Threshold|Verdict|Finding");
    for (int i = 0; i < N_CLASSES; i++) {
        const struct class_result *c = &r->classes[i];
        doc_row(d);
        doc_cell(d, "%s", run_class_name(r, c->cls));
        doc_cell(d, "%s", c->verdict == VERDICT_NA ? "n/a" : judged_share(c).text);
        doc_cell(d, "%s", judged_threshold(c).text);
        doc_cell(d, "%s", verdict_word(c->verdict));
        doc_cell(d, "%s", c->text);
    }
}

static void put_breakdown(const struct run_result *r, struct doc *d)
{
    doc_table(d, "Part of a step|#ms|#Share of step time");
    for (int i = 0; i < N_PARTS; i++) {
        enum part p = (enum part)i;
        int has = is_part_known(r, p);
        doc_row(d);
        doc_cell(d, "%s", has ? run_part_name(r, p) : part_name(p));
        doc_cell(d, "%s", has ? fmt_ms(r->part_ns[p]).text : "n/a");
        doc_cell(d, "%s", has ? fmt_percent((double)r->part_ns[p] / (double)r->step.mean_ns).text : "n/a");
    }
    doc_row(d);
    doc_open(d, DOC_CELL);
    doc_strong(d, "step");
    doc_open(d, DOC_CELL);
    doc_strong(d, "%s", fmt_ms(r->step.mean_ns).text);
}

static void put_roofline(const struct roofline *f, struct doc *d)
{
    if (f->has && f->of_attainable_why.code) {
        doc_text(d, " No roofline, because ");
        text_of_clause(d, &f->of_attainable_why);
        doc_text(d, ".");
    } else if (f->has)
        doc_text(d, " Roofline: %s%s%s GFLOP/s attainable at %s FLOP/byte (ridge %s, %s peaks), MFU %s.",
                 fmt_of_peak(f->of_attainable_ratio).text, f->of_attainable_ratio > 1 ? ", " : " of the ",
                 fmt_number(f->attainable_gflop_per_s).text, fmt_number(f->intensity).text, fmt_number(f->ridge).text,
                 peaks_word(f->peaks), fmt_of_peak(f->mfu_ratio).text);
}

static void put_figures(const struct run_result *r, struct doc *d)
{
    if (r->n_counted == 1)
        doc_paragraph(d, "Step time: %s; 1 step counted from %s", fmt_time(r->step.mean_ns).text,
                      steps_source_words(r->steps_source));
    else
        doc_paragraph(d, "Step time: mean %s, median %s, p95 %s, %s, variation %s; %s counted from %s",
                      fmt_time(r->step.mean_ns).text, fmt_time(r->step.median_ns).text, fmt_time(r->step.p95_ns).text,
                      spread_tail(&r->step).text, fmt_percent(r->step.cv_ratio).text,
                      fmt_count(r->n_counted, "step").text, steps_source_words(r->steps_source));
    if (r->n_counted > 1 || r->n_warmup)
        doc_text(d, ", %s excluded as warm-up (%s)", r->n_warmup ? fmt_count(r->n_warmup, "step").text : "none",
                 r->warmup_because);
    doc_text(d, ".");
    if (r->has_throughput)
        doc_text(d, " Throughput: %s samples per second.", fmt_number(r->throughput).text);
    put_roofline(&r->roofline, d);
    doc_text(d, " ");
    text_of_efficiency(r, d);
    doc_text(d, ".");
    if (efficiencies_has_host(r)) {
        doc_text(d, " ");
        text_of_host_efficiency(r, d);
        doc_text(d, ".");
    }
}

/* Emulated nodes share one host, which is named once. */
static void put_hosts(const struct run *run, struct doc *d)
{
    int n_hosts = 0;
    for (int i = 0; i < run->nodes_len; i++) {
        const char *host = run->nodes[i].host;
        int is_again = !*host;
        for (int k = 0; k < i; k++)
            is_again |= strcmp(run->nodes[k].host, host) == 0;
        if (!is_again)
            doc_text(d, "%s%s", n_hosts++ ? ", " : ", on ", host);
    }
}

static void put_run(const struct run_result *r, struct doc *d)
{
    doc_heading(d, 3, "%s", r->label);
    doc_paragraph(d, "Run %s", r->run->run_id);
    if (r->n_ranks)
        doc_text(d, ", %s", fmt_count(r->n_ranks, "rank").text);
    put_hosts(r->run, d);
    doc_text(d, ".");
    doc_paragraph(d, "%s", r->headline);
    doc_paragraph(d, "%s", r->support);
    doc_paragraph(d, "%s", r->judged_text);
    doc_paragraph(d, "Confidence: %s", confidence_word(r->confidence));
    if (*r->confidence_because)
        doc_text(d, " (%s)", r->confidence_because);
    doc_text(d, ".");
    if (r->has_steps) {
        put_figures(r, d);
        put_breakdown(r, d);
    } else {
        doc_paragraph(d, "Step time and its breakdown: ");
        text_of_reason(d, &r->steps_why);
        if (r->has_throughput)
            doc_paragraph(d, "Throughput by %s: %s samples per second.", throughput_source_words(r),
                          fmt_number(r->throughput).text);
    }
    put_classes(r, d);
    doc_list(d, DOC_BULLETS);
    for (int i = 0; i < r->n_notes; i++)
        doc_item(d, "%s", r->notes[i]);
}

static void put_recommendation(const struct report *rep, const struct claim *c, struct doc *d)
{
    const char *text = *c->action.ours ? c->action.ours : c->action.generic;
    doc_open(d, DOC_ITEM);
    doc_strong(d, "%s", claim_class_name(rep, c));
    if (c->run >= 0 && rep->n_series > 1) /* of many runs: which */
        doc_text(d, " (%s)", rep->runs[c->run].label);
    doc_text(d, ": %s", text);
    if (*c->gain_text)
        doc_text(d, "%s%s", claim_saves(c), c->gain_text);
    doc_text(d, ".");
    if (text != c->action.generic)
        doc_text(d, " In general: %s.", c->action.generic);
    doc_text(d, " Confidence: %s", confidence_word(c->confidence));
    if (*c->confidence_because)
        doc_text(d, " (%s)", c->confidence_because);
    doc_text(d, ".");
}

/* Of steps whose number and mean alone are known there may be some, though no run says what is in one. */
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
        doc_paragraph(d, "%s", rep->first_action); /* nothing, or to name what has no name yet */
    else if (n == 0)
        doc_paragraph(d, "No cause can be ranked because no %s recorded. %s",
                      has_any_steps(rep) ? "phases of a step were" : "steps were",
                      rep->first_action); /* it knows what has been recorded */
}

static void put_thresholds(const struct thresholds *t, struct doc *d)
{
    doc_table(d, "Threshold|#Value|Meaning");
#define X(name, def, lo, hi, meaning) \
    doc_row(d);                       \
    doc_cell(d, "%s", #name);         \
    doc_cell(d, "%g", t->name);       \
    doc_cell(d, "%s", meaning);
    THRESHOLDS(X)
#undef X
}

static void put_methodology(const struct report *rep, struct doc *d)
{
    doc_heading(d, 2, "Methodology");
    doc_paragraph(
        d, "Times are integer nanoseconds of each host's monotonic clock. Sums and means never mix clocks of different "
           "hosts; where times of several hosts stand on one axis (timeline, charts of monitors) the offset that was "
           "measured between them is applied, with its error. Each instant of a step belongs to the innermost range "
           "with a known category; what no range names is overhead, so that the parts of a step sum to the step "
           "exactly. Percentages are of step time, mean over ranks and counted steps.");
    doc_paragraph(
        d, "A collective's transfer time is its shortest duration over the ranks; what the other ranks spend beyond "
           "that is waiting for the rank that arrives last, and is blamed on what that rank did longer than the others "
           "since the collective before. A predicted gain is the step time saved if a cause were removed, replayed on "
           "the last arrival of each collective, where cores were shared from the work of the ranks. That is an "
           "estimate: the rest of a step may change with the cause, and more or less may be saved. Upper bounds, said "
           "as \"up to\", are what a GPU waits for its host and what threads wait for a core.");
    doc_paragraph(
        d,
        "Useful time in the POP efficiencies is, of a rank, the time outside communication; where the steps are those "
        "of traces of GPUs, it is of each GPU the time with a kernel running that is not of communication. Speed-up is "
        "the ratio of throughputs to the smallest count of %ss. Lost time is the measured step time minus the ideal "
        "one, split by parts. Intervals are 95 %% percentile bootstrap over steps (1,000 resamples, fixed seed); with "
        "one run per %s count they do not hold the spread between runs. Results without steps have normal intervals "
        "from their mean and standard error.",
        counted_word(rep->unit), counted_word(rep->unit));
    doc_paragraph(d, "Every formula is in docs/metrics.md of dcreport, every number of this report in report.json.");
    put_thresholds(&rep->thresholds, d);
    doc_table(d, "Run|Archive|Manifest SHA-256");
    for (int i = 0; i < rep->n_runs; i++) {
        const struct run *r = rep->runs[i].run;
        doc_row(d);
        doc_cell(d, "%s", rep->runs[i].label);
        doc_cell(d, "%s", r->archive);
        doc_cell(d, "%s", r->manifest_sha256);
        if (!*r->manifest_sha256)
            text_of_reason(d, &REASON(NO_MANIFEST));
    }
}

void page_of_analysis(const struct report *rep, struct doc *d)
{
    doc_heading(d, 1, "Bottleneck analysis: %s", rep->title);
    if (*rep->node_label)
        doc_paragraph(d, "Nodes: %s.", rep->node_label);
    put_summary(rep, d);
    put_comparisons(rep, d);
    doc_heading(d, 2, "Per-Scenario Analysis");
    for (int i = 0; i < rep->n_runs; i++)
        put_run(&rep->runs[i], d);
    section_of_scaling(rep, d);
    put_recommendations(rep, d);
    put_methodology(rep, d);
}
