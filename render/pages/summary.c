/* summary.c - the whole report on one page of text; see pages.h. */
#include "render/pages/pages.h"

#include "render/findings/changes_said.h"
#include "render/metrics/known.h"
#include "render/findings/rules/compare.h"
#include "render/pages/parts.h"
#include "render/say/format.h"

static void put_comparisons(const struct report *rep, struct doc *d)
{
    if (!*rep->baseline)
        return;
    doc_heading(d, 2, "Before and after");
    doc_paragraph(d, "Baseline: %s", rep->baseline);
    if (rep->n_comparisons == 0 && !rep->changes)
        paragraph_of_phrases(d, &PHRASE(NO_COMPARISON, slot_reason(&rep->no_comparison)), 1);
    for (int i = 0; i < rep->n_comparisons; i++)
        paragraphs_of_comparison(rep, &rep->comparisons[i], d);
    const struct phrase no_changes = said_no_changes(rep);
    paragraph_of_phrases(d, &no_changes, rep->n_comparisons == 0);
}

static void put_runs(const struct report *rep, struct doc *d)
{
    doc_heading(d, 2, "Runs");
    for (int i = 0; i < rep->n_runs; i++) {
        const struct run_result *r = &rep->runs[i];
        doc_details(d, "%s", r->label);
        paragraphs_of_run(r, d);
        for (int k = 0; k < r->n_notes; k++)
            if (r->notes[k].is_memory_scarce)
                doc_paragraph(d, "%s", r->notes[k].text);
        doc_end(d);
    }
}

static void put_part_table(const struct report *rep, struct doc *d)
{
    table_of(d, 2, TABLE(PROSE_SHARES));
    for (int i = 0; i < rep->n_runs; i++)
        doc_column(d, DOC_RIGHT, "%s", rep->runs[i].label);
    const char *missing[N_PARTS];
    int n = 0;
    for (int p = 0; p < N_PARTS; p++) {
        if (!is_part_of_any(rep, 0, rep->n_runs, (enum part)p)) {
            missing[n++] = part_name((enum part)p);
            continue;
        }
        doc_row(d);
        doc_cell(d, "%s", part_name((enum part)p));
        for (int i = 0; i < rep->n_runs; i++) {
            const struct run_result *r = &rep->runs[i];
            doc_cell(d, "%s",
                     r->has_steps && is_part_known(r, (enum part)p)
                         ? fmt_percent((double)r->part_ns[p] / (double)r->step.mean_ns).text
                         : "–");
        }
    }
    doc_row(d);
    doc_cell(d, "step time");
    for (int i = 0; i < rep->n_runs; i++)
        doc_cell(d, "%s", rep->runs[i].has_steps ? fmt_time(rep->runs[i].step.mean_ns).text : "–");
    paragraph_of_missing(d, missing, n);
}

static void put_parts(const struct report *rep, struct doc *d)
{
    int n_known = 0;
    for (int i = 0; i < rep->n_runs; i++)
        n_known += rep->runs[i].has_steps;
    if (n_known) {
        put_part_table(rep, d);
        return;
    }
    doc_heading(d, 2, "%s", say_caption(&d->arena, TABLE(PROSE_SHARES)));
    const struct reason *why = rep->n_runs == 1 ? &rep->runs[0].steps_why : &REASON(NO_RUN_HAS_PARTS);
    paragraph_of_phrases(d, &PHRASE(STEPS_NOT_KNOWN, slot_reason(why)), 1);
}

void page_of_summary(const struct report *rep, struct doc *d)
{
    doc_heading(d, 1, "%s", rep->title);
    if (*rep->node_label)
        doc_paragraph(d, "%s.", say_capital(&d->arena, rep->node_label));
    section_of_answer(rep, d, 2);
    put_comparisons(rep, d);
    section_of_notes(rep, -1, d);
    put_runs(rep, d);
    put_parts(rep, d);
    for (int i = 0; i < rep->n_series; i++) {
        const struct series *s = &rep->series[i];
        if (s->n_points < 2)
            continue;
        doc_heading(d, 2, "Scaling");
        doc_paragraph(d, "%s", s->scaling_text);
        doc_paragraph(d, "%s", s->beyond_text);
        doc_paragraph(d, "%s", s->not_judged_text);
    }
}
