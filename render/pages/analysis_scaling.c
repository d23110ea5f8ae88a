/* analysis_scaling.c - how runs scale, in the bottleneck analysis: points, shares, losses and laws of each series. */
#include "render/pages/parts.h"

#include "render/metrics/known.h"
#include "render/metrics/series/series.h"
#include "render/metrics/steps.h"
#include "render/findings/narrate.h"
#include "render/say/format.h"

#include <string.h>

static const char *counted(const struct report *rep)
{
    return rep->unit == COUNTS_GPUS ? "GPUs" : "Nodes";
}

static void put_points(const struct report *rep, const struct series *s, struct doc *d)
{
    doc_table(d, NULL);
    doc_column(d, DOC_RIGHT, "%s", counted(rep));
    static const char *const heads[] = {
        "Ranks",         "Runs",       "Step time",        "Samples/s",          "Speed-up",
        "95 % interval", "Efficiency", "Compute speed-up", "Parallel efficiency"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        doc_column(d, DOC_RIGHT, "%s", heads[i]);
    for (int i = 0; i < s->n_points; i++) {
        const struct series_point *p = &s->points[i];
        const struct spread *step = point_step(rep, p);
        const char *mark = *p->unreliable ? " (!)" : "";
        doc_row(d);
        doc_cell(d, "%d", p->n_nodes);
        doc_cell(d, "%d", p->n_ranks);
        doc_cell(d, "%d", p->n_runs);
        doc_cell(d, "%s", step->n ? fmt_time(step->mean_ns).text : "–");
        doc_cell(d, "%s", p->has_throughput ? fmt_number(p->throughput).text : "–");
        doc_cell(d, "%s%s", p->speedup > 0 ? fmt_x(p->speedup).text : "–", p->speedup > 0 ? mark : "");
        doc_cell(d, "%s",
                 p->speedup_interval.has ? fmt_range(p->speedup_interval.lo, p->speedup_interval.hi, fmt_x).text
                 : i == 0                ? "reference"
                                         : "–");
        doc_cell(d, "%s%s", p->efficiency > 0 ? fmt_ratio(p->efficiency).text : "–", p->efficiency > 0 ? mark : "");
        doc_cell(d, "%s", p->compute_speedup > 0 ? fmt_x(p->compute_speedup).text : "–");
        doc_cell(d, "%s", p->pop.has ? fmt_ratio(p->pop.parallel_ratio).text : "–");
    }
}

/* Share of step time of each part at each node count: how the bottleneck moves. */
static void put_shares(const struct report *rep, const struct series *s, struct doc *d)
{
    doc_paragraph(d, "Share of step time:");
    doc_table(d, "Part of a step");
    for (int i = 0; i < s->n_points; i++)
        doc_column(d, DOC_RIGHT, "%s", fmt_count(s->points[i].n_nodes, counted_word(rep->unit)).text);
    for (int p = 0; p < N_PARTS; p++) {
        doc_row(d);
        doc_cell(d, "%s", part_name((enum part)p));
        for (int i = 0; i < s->n_points; i++) {
            const struct series_point *k = &s->points[i];
            doc_cell(d, "%s",
                     k->step.n && is_point_part_known(rep, k, (enum part)p)
                         ? fmt_percent((double)k->part_ns[p] / (double)k->step.mean_ns).text
                         : "–");
        }
    }
}

static void put_losses(const struct report *rep, const struct series *s, struct doc *d)
{
    if (s->n_losses == 0)
        return;
    doc_paragraph(d, "Time a step lost against ideal scaling (ms), by part:");
    doc_table(d, "From|To|#Ideal|#Measured|#Lost");
    for (int p = 0; p < N_PARTS; p++)
        doc_column(d, DOC_RIGHT, "%s", part_name((enum part)p));
    for (int i = 0; i < s->n_losses; i++) {
        const struct series_loss *l = &s->losses[i];
        doc_row(d);
        doc_cell(d, "%s", fmt_count(s->points[l->from].n_nodes, counted_word(rep->unit)).text);
        doc_cell(d, "%s", fmt_count(s->points[l->to].n_nodes, counted_word(rep->unit)).text);
        doc_cell(d, "%s", fmt_ms(l->ideal_ns).text);
        doc_cell(d, "%s", fmt_ms(l->actual_ns).text);
        doc_cell(d, "%s", fmt_ms(l->loss_ns).text);
        for (int p = 0; p < N_PARTS; p++)
            doc_cell(d, "%s", known_loss_parts(rep, s, l) >> p & 1 ? fmt_ms(l->part_ns[p]).text : "–");
    }
}

/* The same loss by cause. */
static void put_loss_causes(const struct report *rep, const struct series *s, struct doc *d)
{
    if (s->n_losses == 0)
        return;
    doc_paragraph(d, "The same by cause (ms):");
    doc_table(d, "Cause");
    for (int i = 0; i < s->n_losses; i++)
        doc_column(d, DOC_RIGHT, "%d to %s", s->points[s->losses[i].from].n_nodes,
                   fmt_count(s->points[s->losses[i].to].n_nodes, counted_word(rep->unit)).text);
    doc_column(d, DOC_LEFT, "What counts as that");
    for (int c = 0; c < N_LOSS_CLASSES; c++) {
        const struct reason *why = NULL;
        doc_row(d);
        doc_cell(d, "%s", loss_class_name((enum loss_class)c));
        for (int i = 0; i < s->n_losses; i++) {
            const struct series_loss *l = &s->losses[i];
            why = l->class_why[c].code ? &l->class_why[c] : why; /* the last one spans the series */
            doc_cell(d, "%s", l->class_why[c].code ? "–" : fmt_ms(l->class_ns[c]).text);
        }
        doc_cell(d, "%s", loss_class_what((enum loss_class)c));
        if (why) {
            doc_text(d, "; ");
            text_of_clause(d, why);
        }
    }
}

/* The laws that were fitted, each with its residual. */
static void put_laws(const struct report *rep, const struct series *s, struct doc *d)
{
    if (s->n_laws == 0)
        return;
    doc_paragraph(d, "Laws beside the %s counts that were measured:", counted_word(rep->unit));
    doc_table(d, "Law|From|Parameters|#Largest residual");
    for (int i = 0; i < s->n_laws; i++) {
        const struct law *l = &s->laws[i];
        struct dcr_buf parameters = {0};
        narrate_law(l, &parameters);
        doc_row(d);
        doc_cell(d, "%s", l->name);
        doc_cell(d, "%s", law_source_words(l->source));
        doc_open(d, DOC_CELL);
        doc_buf(d, &parameters);
        if (!l->has && l->n_parameters)
            doc_text(d, "; ");
        if (!l->has)
            text_of_clause(d, &l->why);
        doc_cell(d, "%s", l->has ? fmt_percent(l->residual_ratio).text : "–");
    }
}

static void put_interval(struct interval i, struct doc *d)
{
    doc_cell(d, "%s", i.has ? fmt_time_range(i.lo, i.hi).text : "");
}

static void put_all_reduce_point(const struct all_reduce_point *p, int is_ahead, struct doc *d)
{
    doc_row(d);
    doc_cell(d, "%d", p->n_nodes);
    doc_cell(d, "%d", p->n_ranks);
    doc_cell(d, "%s", all_reduces_words(p).text);
    doc_cell(d, "%s", p->predicted_ns > 0 ? fmt_time(p->predicted_ns).text : "–");
    put_interval(p->interval, d);
    doc_cell(d, "%s", is_ahead ? "not measured" : p->measured_ns > 0 ? fmt_time(p->measured_ns).text : "–");
    put_interval(p->measured_interval, d);
    doc_cell(d, "%s", p->has_residual ? fmt_x(1 / (p->residual_ratio + 1)).text : "");
    if (!p->has_residual)
        text_of_clause(d, &p->why);
}

/* What a calibration or a log of nccl-tests says of the all-reduces, beside the transfer that was measured. */
static void put_all_reduce(const struct report *rep, const struct series *s, struct doc *d)
{
    const struct all_reduce *a = &s->all_reduce;
    if (s->n_laws == 0)
        return;
    if (!a->source)
        return;
    for (int i = 0; i < N_REDUCE_SAID; i++)
        paragraph_of_phrases(d, a->said[i], REDUCE_SAID_MAX);
    doc_table(d, NULL);
    doc_column(d, DOC_RIGHT, "%s", counted(rep));
    doc_column(d, DOC_RIGHT, "Ranks");
    doc_column(d, DOC_LEFT, "All-reduces a step");
    doc_column(d, DOC_RIGHT, "Time by the %s", law_source_words(a->source));
    doc_column(d, DOC_LEFT, "95 %% interval of the law (scatter of the %s)", law_source_words(a->source));
    doc_column(d, DOC_RIGHT, "Transfer, measured");
    doc_column(d, DOC_LEFT, "95 %% interval (over steps)");
    doc_column(d, DOC_LEFT, "Measured / law");
    for (int i = 0; i < a->n_points; i++)
        put_all_reduce_point(&a->points[i], 0, d);
    for (int i = 0; i < a->n_ahead; i++)
        put_all_reduce_point(&a->ahead[i], 1, d);
}

void section_of_scaling(const struct report *rep, struct doc *d)
{
    int n = 0;
    doc_heading(d, 2, "Scaling Analysis");
    for (int i = 0; i < rep->n_series; i++) {
        const struct series *s = &rep->series[i];
        if (s->n_points < 2)
            continue;
        n++;
        if (rep->n_series > 1)
            doc_heading(d, 3, "%s", s->label);
        const char *kind = s->kind == SCALING_STRONG ? "Strong" : s->kind == SCALING_WEAK ? "Weak" : "Unknown";
        paragraph_of_phrases(d, &PHRASE(KIND_BECAUSE, slot_name(kind), slot_name(s->kind_because)), 1);
        int is_told = is_series_told(rep, i);
        doc_paragraph(d, "%s", is_told ? "" : s->headline);
        doc_paragraph(d, "%s", s->scaling_text);
        put_points(rep, s, d);
        if (s->points[0].step.n)
            put_shares(rep, s, d);
        doc_paragraph(d, "%s", is_told ? "" : s->support);
        put_losses(rep, s, d);
        put_loss_causes(rep, s, d);
        put_laws(rep, s, d);
        put_all_reduce(rep, s, d);
        doc_paragraph(d, "%s", s->beyond_text);
        doc_paragraph(d, "%s", s->not_judged_text);
    }
    if (n == 0)
        paragraph_of_phrases(d, &PHRASE(NO_SCALING, slot_reason(&REASON(NO_SERIES))), 1);
}
