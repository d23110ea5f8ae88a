/* markdown_doc.c - BOTTLENECK_ANALYSIS.md. Pipe tables as forges render them; everything that came from an archive is
 * escaped, so that a job named `<script>` or `| a |` is text. */
#include "render/narrate/narrate.h"

#include "render/narrate/claims.h"
#include "render/narrate/compare_doc.h"
#include "render/narrate/markdown_parts.h"

#include "render/analyse/analyse.h"
#include "render/narrate/efficiencies.h"
#include "render/narrate/shares.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_bullet(struct dcr_buf *out, const char *text)
{
    dcr_buf_puts(out, "- ");
    md_escaped(out, text);
    dcr_buf_putc(out, '\n');
}

static void put_notes(const struct report *rep, struct dcr_buf *out)
{
    for (int kind = NOTE_CAVEAT; kind <= NOTE_GAP; kind++) {
        int n = 0;
        for (int i = 0; i < rep->n_notes; i++) {
            if (rep->notes[i].kind != (enum note_kind)kind)
                continue;
            if (n++ == 0)
                dcr_buf_puts(out,
                             kind == NOTE_CAVEAT ? "**Read this first:**\n\n" : "**Missing from the evidence:**\n\n");
            put_bullet(out, rep->notes[i].text);
        }
        if (n)
            dcr_buf_putc(out, '\n');
    }
}

static void put_summary(const struct report *rep, struct dcr_buf *out)
{
    dcr_buf_puts(out, "## Executive Summary\n\n");
    put_notes(rep, out);
    dcr_buf_puts(out, "**");
    md_escaped(out, rep->headline);
    dcr_buf_puts(out, "**\n\n");
    md_paragraph(out, rep->support);
    md_paragraph(out, rep->first_action);
    if (rep->first_command && *rep->first_command)
        dcr_buf_printf(out, "```\n%s\n```\n\n%s%s", rep->first_command, rep->first_expected,
                       *rep->first_expected ? "\n\n" : "");
    md_paragraph(out, rep->how_sure);
}

static void put_classes(const struct run_result *r, struct dcr_buf *out)
{
    dcr_buf_puts(out,
                 "| Cause | Share of step time | Threshold | Verdict | Finding |\n| --- | ---: | ---: | --- | --- |\n");
    for (int i = 0; i < N_CLASSES; i++) {
        const struct class_result *c = &r->classes[i];
        dcr_buf_printf(out, "| %s | %s | %s | %s | ", run_class_name(r, c->cls),
                       c->verdict == VERDICT_NA ? "n/a" : judged_share(c).text, judged_threshold(c).text,
                       verdict_word(c->verdict));
        md_escaped(out, c->text);
        dcr_buf_puts(out, " |\n");
    }
    dcr_buf_putc(out, '\n');
}

static void put_breakdown(const struct run_result *r, struct dcr_buf *out)
{
    dcr_buf_puts(out, "| Part of a step | ms | Share of step time |\n| --- | ---: | ---: |\n");
    for (int p = 0; p < N_PARTS; p++)
        if (is_part_known(r, (enum part)p))
            dcr_buf_printf(out, "| %s | %s | %s |\n", run_part_name(r, (enum part)p), fmt_ms(r->part_ns[p]).text,
                           fmt_percent((double)r->part_ns[p] / (double)r->step.mean_ns).text);
        else
            dcr_buf_printf(out, "| %s | n/a | n/a |\n", part_name((enum part)p));
    dcr_buf_printf(out, "| **step** | **%s** | |\n\n", fmt_ms(r->step.mean_ns).text);
}

static void put_figures(const struct run_result *r, struct dcr_buf *out)
{
    if (r->n_counted == 1)
        dcr_buf_printf(out, "Step time: %s; 1 step counted from %s", fmt_time(r->step.mean_ns).text, r->steps_source);
    else
        dcr_buf_printf(out, "Step time: mean %s, median %s, p95 %s, %s, variation %s; %s counted from %s",
                       fmt_time(r->step.mean_ns).text, fmt_time(r->step.median_ns).text, fmt_time(r->step.p95_ns).text,
                       spread_tail(&r->step).text, fmt_percent(r->step.cv_ratio).text,
                       fmt_count(r->n_counted, "step").text, r->steps_source);
    if (r->n_counted > 1 || r->n_warmup) {
        dcr_buf_printf(out, ", %s excluded as warm-up (", r->n_warmup ? fmt_count(r->n_warmup, "step").text : "none");
        md_escaped(out, r->warmup_because);
        dcr_buf_puts(out, ")");
    }
    dcr_buf_puts(out, ".");
    if (r->has_throughput)
        dcr_buf_printf(out, " Throughput: %s samples per second.", fmt_number(r->throughput).text);
    const struct roofline *f = &r->roofline;
    if (f->has && f->of_attainable_why.code) {
        dcr_buf_puts(out, " No roofline, because ");
        md_clause(out, &f->of_attainable_why);
        dcr_buf_puts(out, ".");
    } else if (f->has)
        dcr_buf_printf(out, " Roofline: %s%s%s GFLOP/s attainable at %s FLOP/byte (ridge %s, %s peaks), MFU %s.",
                       fmt_of_peak(f->of_attainable_ratio).text, f->of_attainable_ratio > 1 ? ", " : " of the ",
                       fmt_number(f->attainable_gflop_per_s).text, fmt_number(f->intensity).text,
                       fmt_number(f->ridge).text, f->peaks, fmt_of_peak(f->mfu_ratio).text);
    dcr_buf_printf(out, " %s%s ", efficiencies_name(r), r->pop.has ? "" : ":");
    efficiencies_put(r, out);
    dcr_buf_puts(out, ".");
    if (efficiencies_has_host(r)) {
        dcr_buf_printf(out, " Parallel efficiency of the hosts%s ", r->pop_host.has ? "" : ":");
        efficiencies_put_host(r, out);
        dcr_buf_puts(out, ".");
    }
    dcr_buf_puts(out, "\n\n");
}

static void put_run(const struct run_result *r, struct dcr_buf *out)
{
    dcr_buf_puts(out, "### ");
    md_escaped(out, r->label);
    dcr_buf_puts(out, "\n\nRun ");
    md_escaped(out, r->run->run_id);
    if (r->n_ranks)
        dcr_buf_printf(out, ", %s", fmt_count(r->n_ranks, "rank").text);
    int n_hosts = 0;
    for (int i = 0; i < r->run->nodes_len; i++) {
        const char *host = r->run->nodes[i].host;
        int is_again = !*host; /* emulated nodes have one host */
        for (int k = 0; k < i; k++)
            is_again |= strcmp(r->run->nodes[k].host, host) == 0;
        if (is_again)
            continue;
        dcr_buf_puts(out, n_hosts++ ? ", " : ", on ");
        md_escaped(out, host);
    }
    dcr_buf_puts(out, ".\n\n");
    md_paragraph(out, r->headline);
    md_paragraph(out, r->support);
    dcr_buf_printf(out, "Confidence: %s%s", confidence_word(r->confidence), *r->confidence_because ? " (" : "");
    md_escaped(out, r->confidence_because);
    dcr_buf_puts(out, *r->confidence_because ? ").\n\n" : ".\n\n");
    if (r->has_steps) {
        put_figures(r, out);
        put_breakdown(r, out);
    } else {
        dcr_buf_puts(out, "Step time and its breakdown: ");
        md_reason(out, &r->steps_why);
        dcr_buf_puts(out, "\n\n");
        if (r->has_throughput)
            dcr_buf_printf(out, "Throughput by %s: %s samples per second.\n\n", r->throughput_source,
                           fmt_number(r->throughput).text);
    }
    put_classes(r, out);
    for (int i = 0; i < r->n_notes; i++)
        put_bullet(out, r->notes[i]);
    if (r->n_notes)
        dcr_buf_putc(out, '\n');
}

static void put_recommendation(const struct report *rep, const struct claim *c, int n, struct dcr_buf *out)
{
    const char *text = *c->action.ours ? c->action.ours : c->action.generic;
    dcr_buf_printf(out, "%d. **%s**", n, claim_class_name(rep, c));
    if (c->run >= 0 && rep->n_series > 1) { /* of many runs: which */
        dcr_buf_puts(out, " (");
        md_escaped(out, rep->runs[c->run].label);
        dcr_buf_putc(out, ')');
    }
    dcr_buf_puts(out, ": ");
    md_escaped(out, text);
    if (*c->gain_text) {
        dcr_buf_puts(out, claim_saves(c));
        md_escaped(out, c->gain_text);
    }
    dcr_buf_puts(out, ".");
    if (text != c->action.generic) {
        dcr_buf_puts(out, " In general: ");
        md_escaped(out, c->action.generic);
        dcr_buf_putc(out, '.');
    }
    dcr_buf_printf(out, " Confidence: %s", confidence_word(c->confidence));
    if (*c->confidence_because) {
        dcr_buf_puts(out, " (");
        md_escaped(out, c->confidence_because);
        dcr_buf_putc(out, ')');
    }
    dcr_buf_puts(out, ".\n");
}

/* Of steps whose number and mean alone are known there may be some, though no run says what is in one. */
static int has_any_steps(const struct report *rep)
{
    for (int i = 0; i < rep->n_runs; i++)
        if (rep->runs[i].has_steps || rep->runs[i].run->summary.n_steps > 0)
            return 1;
    return 0;
}

static void put_recommendations(const struct report *rep, struct dcr_buf *out)
{
    dcr_buf_puts(out, "## Recommendations\n\n");
    int *runs = calloc((size_t)rep->n_runs + 1, sizeof *runs), n = 0;
    const struct claim **order = calloc((size_t)rep->n_claims + 1, sizeof *order);
    if (!runs || !order) {
        out->failed = 1;
        goto out;
    }
    for (int i = 0; i < rep->n_runs; i++)
        runs[i] = i;
    n = claims_in_order(rep, runs, rep->n_runs, 1, order);
    for (int i = 0; i < n; i++)
        put_recommendation(rep, order[i], i + 1, out);
    if (n == 0 && rep->n_runs && rep->runs[rep->n_runs - 1].has_steps) {
        md_escaped(out, rep->first_action); /* nothing, or to name what has no name yet */
        dcr_buf_putc(out, '\n');
    } else if (n == 0) {
        dcr_buf_printf(out, "No cause can be ranked because no %s recorded. ",
                       has_any_steps(rep) ? "phases of a step were" : "steps were");
        md_escaped(out, rep->first_action); /* it knows what has been recorded */
        dcr_buf_putc(out, '\n');
    }
    dcr_buf_putc(out, '\n');
out:
    free(order);
    free(runs);
}

static void put_thresholds(const struct thresholds *t, struct dcr_buf *out)
{
    dcr_buf_puts(out, "| Threshold | Value | Meaning |\n| --- | ---: | --- |\n");
#define X(name, def, lo, hi, meaning)                            \
    do {                                                         \
        dcr_buf_puts(out, "| ");                                 \
        md_escaped(out, #name);                                  \
        dcr_buf_printf(out, " | %g | %s |\n", t->name, meaning); \
    } while (0);
    THRESHOLDS(X)
#undef X
    dcr_buf_putc(out, '\n');
}

static const char methodology[] =
    "## Methodology\n\n"
    "Times are integer nanoseconds of each host's monotonic clock. Sums and means never mix clocks of different "
    "hosts; where times of several hosts stand on one axis (timeline, charts of monitors) the offset that was "
    "measured between them is applied, with its error. Each instant of a step belongs to the innermost range with a "
    "known category; what no "
    "range names is overhead, so that the parts of a step sum to the step exactly. Percentages are of "
    "step time, mean over ranks and counted steps.\n\n"
    "A collective's transfer time is its shortest duration over the ranks; what the other ranks spend "
    "beyond that is waiting for the rank that arrives last, and is blamed on what that rank did longer "
    "than the others since the collective before. A predicted gain is the step time saved if a cause "
    "were removed, replayed on the last arrival of each collective, where cores were shared from the work "
    "of the ranks. That is an estimate: the rest of a step may change with the cause, and more or less may be saved. "
    "Upper bounds, said as \"up to\", are what a GPU waits for its host and what threads wait for a core.\n\n"
    "Useful time in the POP efficiencies is, of a rank, the time outside communication; where the steps are those of "
    "traces of GPUs, it is of each GPU the time with a kernel running that is not of communication. Speed-up is the "
    "ratio of "
    "throughputs to the smallest count of %ss. Lost time is the measured step time minus the ideal one, "
    "split by parts. Intervals are 95 %% percentile bootstrap over steps (1,000 resamples, fixed seed); "
    "with one run per %s count they do not hold the spread between runs. Results without steps have normal intervals "
    "from their mean and standard error.\n\n"
    "Every formula is in docs/metrics.md of dcreport, every number of this report in report.json.\n\n";

static void put_methodology(const struct report *rep, struct dcr_buf *out)
{
    dcr_buf_printf(out, methodology, rep->unit, rep->unit);
    put_thresholds(&rep->thresholds, out);
    dcr_buf_puts(out, "| Run | Archive | Manifest SHA-256 |\n| --- | --- | --- |\n");
    for (int i = 0; i < rep->n_runs; i++) {
        const struct run *r = rep->runs[i].run;
        dcr_buf_puts(out, "| ");
        md_escaped(out, rep->runs[i].label);
        dcr_buf_puts(out, " | ");
        md_escaped(out, r->archive);
        dcr_buf_printf(out, " | %s |\n", *r->manifest_sha256 ? r->manifest_sha256 : "n/a because there is no manifest");
    }
}

void narrate_bottleneck_analysis_md(const struct report *rep, struct dcr_buf *out)
{
    dcr_buf_puts(out, "# Bottleneck analysis: ");
    md_escaped(out, rep->title);
    dcr_buf_puts(out, "\n\n");
    if (*rep->node_label) {
        dcr_buf_puts(out, "Nodes: ");
        md_escaped(out, rep->node_label);
        dcr_buf_puts(out, ".\n\n");
    }
    put_summary(rep, out);
    put_comparisons_md(rep, out);
    dcr_buf_puts(out, "## Per-Scenario Analysis\n\n");
    for (int i = 0; i < rep->n_runs; i++)
        put_run(&rep->runs[i], out);
    md_scaling(rep, out);
    put_recommendations(rep, out);
    put_methodology(rep, out);
}
