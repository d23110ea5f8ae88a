/* text_doc.c - bottleneck_summary.txt: plain text at most 100 columns wide where it wraps. */
#include "render/narrate/narrate.h"

#include "render/analyse/analyse.h"
#include "render/analyse/compare.h"

#include "render/say/format.h"
#include "render/narrate/text_lines.h"

#include <stdio.h>
#include <string.h>

/* Wide enough for the run's label: two columns of one heading would tell nobody which is which. */
static int column_width(const struct run_result *r)
{
    int n = (int)strlen(r->label);
    return n > 12 ? n : 12;
}

static void put_part_table(const struct report *rep, struct dcr_buf *out)
{
    dcr_buf_printf(out, "%-34s", "Share of step time");
    for (int i = 0; i < rep->n_runs; i++)
        dcr_buf_printf(out, " %12s", rep->runs[i].label);
    for (int p = 0; p < N_PARTS; p++) {
        dcr_buf_printf(out, "\n%-34s", part_name((enum part)p));
        for (int i = 0; i < rep->n_runs; i++) {
            const struct run_result *r = &rep->runs[i];
            dcr_buf_printf(out, " %*s", column_width(r),
                           r->has_steps && is_part_known(r, (enum part)p)
                               ? fmt_percent((double)r->part_ns[p] / (double)r->step.mean_ns).text
                               : "n/a");
        }
    }
    dcr_buf_printf(out, "\n%-34s", "step time");
    for (int i = 0; i < rep->n_runs; i++)
        dcr_buf_printf(out, " %*s", column_width(&rep->runs[i]),
                       rep->runs[i].has_steps ? fmt_time(rep->runs[i].step.mean_ns).text : "n/a");
    dcr_buf_puts(out, "\n");
}

static void put_comparisons(const struct report *rep, struct dcr_buf *out)
{
    if (!*rep->baseline)
        return;
    text_section(out, "Before and after");
    text_wrapped(out, "Baseline: ", rep->baseline);
    char none[128];
    snprintf(none, sizeof none, "n/a because %s.", rep->no_comparison);
    if (rep->n_comparisons == 0)
        text_wrapped(out, "", none);
    for (int i = 0; i < rep->n_comparisons; i++) {
        text_wrapped(out, "", rep->comparisons[i].sentence);
        text_wrapped(out, "", rep->comparisons[i].support);
    }
}

void narrate_bottleneck_summary_txt(const struct report *rep, struct dcr_buf *out)
{
    text_title(out, rep->title, '=');
    if (*rep->node_label) {
        dcr_buf_puts(out, "Nodes: ");
        dcr_buf_puts(out, rep->node_label);
        dcr_buf_puts(out, "\n\n");
    }
    text_wrapped(out, "", rep->headline);
    text_wrapped(out, "", rep->support);
    text_wrapped(out, "", rep->first_action);
    if (rep->first_command && *rep->first_command) { /* as it is: a line that was broken could not be copied */
        dcr_buf_printf(out, "Try first: %s\n", rep->first_command);
        text_wrapped(out, "", rep->first_expected);
    }
    text_wrapped(out, "", rep->how_sure);
    put_comparisons(rep, out);
    if (rep->n_notes) {
        dcr_buf_putc(out, '\n');
        text_notes(rep, -1, out);
    }
    text_section(out, "Runs");
    for (int i = 0; i < rep->n_runs; i++) {
        const struct run_result *r = &rep->runs[i];
        dcr_buf_printf(out, "%s\n", r->label);
        text_wrapped(out, "  ", r->headline);
        text_wrapped(out, "  ", r->support);
        for (int k = 0; k < r->n_notes; k++)
            if (r->memory_notes >> k & 1)
                text_wrapped(out, "  ", r->notes[k]);
        text_confidence(r, "  ", out);
    }
    text_section(out, "Where the time of a step goes");
    int n_known = 0;
    for (int i = 0; i < rep->n_runs; i++)
        n_known += rep->runs[i].has_steps;
    if (n_known)
        put_part_table(rep, out);
    else
        text_reason(out, "", rep->n_runs == 1 ? &rep->runs[0].steps_why : &REASON(NO_RUN_HAS_PARTS));
    for (int i = 0; i < rep->n_series; i++) {
        const struct series *s = &rep->series[i];
        if (s->n_points < 2)
            continue;
        text_section(out, "Scaling");
        text_wrapped(out, "", s->scaling_text);
        text_wrapped(out, "", s->beyond_text);
    }
}
