/* analysis_scaling.c - how runs scale, in the bottleneck analysis: points and losses of each series. Shares, laws and
 * all-reduces are on the page of scaling. */
#include "render/pages/parts.h"

#include "render/metrics/known.h"
#include "render/metrics/series/series.h"
#include "render/metrics/steps.h"
#include "render/findings/narrate.h"
#include "render/say/format.h"

#include <string.h>

static const char *counted(const struct report *rep)
{
    static const char *const titles[] = {[COUNTS_NODES] = "Nodes", [COUNTS_GPUS] = "GPUs", [COUNTS_RANKS] = "Ranks"};
    return titles[rep->unit];
}

/* A speed-up that shared cores make unreliable. */
static void mark_unreliable(const struct series_point *p, struct marks *m, struct doc *d)
{
    if (p->unreliable.id)
        mark_reason(d, m, &REASON(NO_TREND_CORES_SHARED));
}

static void put_points(const struct report *rep, const struct series *s, struct doc *d)
{
    struct marks marks = {""};
    int has_rates = 0;
    for (int i = 0; i < s->n_points; i++)
        has_rates |= s->points[i].has_throughput;
    int is_of_ranks = rep->unit == COUNTS_RANKS;
    const char *rate = has_rates ? "Samples/s" : s->is_of_runs ? "Run time" : "Step time";
    table_of(d, 0,
             TABLE(PROSE_POINTS, slot_name(counted(rep)), slot_name(is_of_ranks ? "Nodes" : "Ranks"), slot_name(rate)));
    for (int i = 0; i < s->n_points; i++) {
        const struct series_point *p = &s->points[i];
        const struct spread *step = point_step(rep, p);
        doc_row(d);
        doc_cell(d, "%d", p->n_nodes);
        doc_cell(d, "%d", is_of_ranks ? rep->runs[p->runs[0]].run->n_nodes : p->n_ranks);
        doc_cell(d, "%d", p->n_runs);
        if (has_rates)
            doc_cell(d, "%s", p->has_throughput ? fmt_number(p->throughput).text : "–");
        else if (s->is_of_runs)
            doc_cell(d, "%s", fmt_time(p->run_ns).text);
        else
            doc_cell(d, "%s", step->n ? fmt_time(step->mean_ns).text : "–");
        doc_cell(d, "%s", p->speedup > 0 ? fmt_x(p->speedup).text : "–");
        if (p->speedup > 0)
            mark_unreliable(p, &marks, d);
        doc_cell(d, "%s",
                 p->speedup_interval.has ? fmt_range(p->speedup_interval.lo, p->speedup_interval.hi, fmt_x).text
                 : i == 0                ? "reference"
                                         : "–");
        doc_cell(d, "%s", p->efficiency > 0 ? fmt_ratio(p->efficiency).text : "–");
        if (p->efficiency > 0)
            mark_unreliable(p, &marks, d);
    }
    paragraph_of_marks(d, &marks);
}

/* Causes that took no time in any loss are left out, and unknown ones are named below. */
static void put_loss_causes(const struct report *rep, const struct series *s, struct doc *d)
{
    const char *missing[N_LOSS_CLASSES];
    int n = 0;
    if (s->n_losses == 0)
        return;
    table_of(d, 0, TABLE(PROSE_LOSSES));
    for (int i = 0; i < s->n_losses; i++)
        doc_column(d, DOC_RIGHT, "%d to %s", s->points[s->losses[i].from].n_nodes,
                   fmt_count(s->points[s->losses[i].to].n_nodes, counted_word(rep->unit)).text);
    for (int c = 0; c < N_LOSS_CLASSES; c++) {
        int is_known = 0, has_time = 0;
        for (int i = 0; i < s->n_losses; i++) {
            is_known |= !s->losses[i].class_why[c].code;
            has_time |= s->losses[i].class_ns[c] != 0;
        }
        if (!is_known)
            missing[n++] = loss_class_name((enum loss_class)c);
        if (!is_known || !has_time)
            continue;
        doc_row(d);
        doc_cell(d, "%s", loss_class_name((enum loss_class)c));
        for (int i = 0; i < s->n_losses; i++)
            doc_cell(d, "%s", s->losses[i].class_why[c].code ? "–" : fmt_ms(s->losses[i].class_ns[c]).text);
    }
    doc_row(d);
    doc_cell(d, "all");
    for (int i = 0; i < s->n_losses; i++)
        doc_cell(d, "%s", fmt_ms(s->losses[i].loss_ns).text);
    paragraph_of_missing(d, missing, n);
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
        paragraph_of_phrases(d, &PHRASE(KIND_BECAUSE, slot_name(kind), slot_name(say_phrase(&d->arena, &s->kind_said))),
                             1);
        int is_told = is_series_told(rep, i);
        doc_paragraph(d, "%s", is_told ? "" : s->headline);
        doc_paragraph(d, "%s", s->scaling_text);
        put_points(rep, s, d);
        doc_paragraph(d, "%s", is_told ? "" : s->support);
        put_loss_causes(rep, s, d);
        for (int k = 0; k < N_REDUCE_SAID && s->n_laws && s->all_reduce.source; k++)
            paragraph_of_phrases(d, s->all_reduce.said[k], REDUCE_SAID_MAX);
        doc_paragraph(d, "%s", s->beyond_text);
        doc_paragraph(d, "%s", s->not_judged_text);
    }
    if (n == 0)
        paragraph_of_phrases(d, &PHRASE(NO_SCALING, slot_reason(&REASON(NO_SERIES))), 1);
}
