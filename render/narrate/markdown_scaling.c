/* markdown_scaling.c - how runs scale, in BOTTLENECK_ANALYSIS.md: points, shares, losses and laws of each series. */
#include "render/narrate/markdown_parts.h"

#include "render/analyse/analyse.h"
#include "render/say/format.h"
#include "render/narrate/narrate.h"

#include <math.h>
#include <string.h>

static void put_points(const struct report *rep, const struct series *s, struct dcr_buf *out)
{
    int n_marked = 0;
    dcr_buf_printf(out, "| %s ", strcmp(rep->unit, "GPU") == 0 ? "GPUs" : "Nodes");
    dcr_buf_puts(out, "| Ranks | Runs | Step time | Samples/s | Speed-up | Efficiency | Compute speed-up | Parallel "
                      "efficiency |\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (int i = 0; i < s->n_points; i++) {
        const struct series_point *p = &s->points[i];
        const struct spread *step = point_step(rep, p);
        const char *mark = *p->unreliable ? " (!)" : "";
        n_marked += *p->unreliable != 0;
        dcr_buf_printf(out, "| %d | %d | %d | %s | %s | %s%s | %s%s | %s | %s |\n", p->n_nodes, p->n_ranks, p->n_runs,
                       step->n ? fmt_time(step->mean_ns).text : "n/a",
                       p->has_throughput ? fmt_number(p->throughput).text : "n/a",
                       p->speedup > 0 ? fmt_x(p->speedup).text : "n/a", p->speedup > 0 ? mark : "",
                       p->efficiency > 0 ? fmt_ratio(p->efficiency).text : "n/a", p->efficiency > 0 ? mark : "",
                       p->compute_speedup > 0 ? fmt_x(p->compute_speedup).text : "n/a",
                       p->pop.has ? fmt_ratio(p->pop.parallel_ratio).text : "n/a");
    }
    dcr_buf_putc(out, '\n');
    for (int i = 0; i < s->n_points && n_marked; i++)
        if (*s->points[i].unreliable) {
            dcr_buf_puts(out, "(!) Unreliable: ");
            md_paragraph(out, s->points[i].unreliable);
            n_marked = 0; /* the others are so for the like reason */
        }
}

/* Share of step time of each part at each node count: how the bottleneck moves. */
static void put_shares(const struct report *rep, const struct series *s, struct dcr_buf *out)
{
    dcr_buf_puts(out, "Share of step time:\n\n| Part of a step |");
    for (int i = 0; i < s->n_points; i++)
        dcr_buf_printf(out, " %s |", fmt_count(s->points[i].n_nodes, rep->unit).text);
    dcr_buf_puts(out, "\n| --- |");
    for (int i = 0; i < s->n_points; i++)
        dcr_buf_puts(out, " ---: |");
    for (int p = 0; p < N_PARTS; p++) {
        dcr_buf_printf(out, "\n| %s |", part_name((enum part)p));
        for (int i = 0; i < s->n_points; i++) {
            const struct series_point *k = &s->points[i];
            dcr_buf_printf(out, " %s |",
                           k->step.n && is_point_part_known(rep, k, (enum part)p)
                               ? fmt_percent((double)k->part_ns[p] / (double)k->step.mean_ns).text
                               : "n/a");
        }
    }
    dcr_buf_puts(out, "\n\n");
}

static void put_losses(const struct report *rep, const struct series *s, struct dcr_buf *out)
{
    if (s->n_losses == 0)
        return;
    dcr_buf_puts(out,
                 "Time a step lost against ideal scaling, in ms; the parts sum to the loss:\n\n| From | To | Ideal | "
                 "Measured | Lost |");
    for (int p = 0; p < N_PARTS; p++)
        dcr_buf_printf(out, " %s |", part_name((enum part)p));
    dcr_buf_puts(out, "\n| --- | --- | ---: | ---: | ---: |");
    for (int p = 0; p < N_PARTS; p++)
        dcr_buf_puts(out, " ---: |");
    for (int i = 0; i < s->n_losses; i++) {
        const struct series_loss *l = &s->losses[i];
        dcr_buf_printf(out, "\n| %s | %s | %s | %s | %s |", fmt_count(s->points[l->from].n_nodes, rep->unit).text,
                       fmt_count(s->points[l->to].n_nodes, rep->unit).text, fmt_ms(l->ideal_ns).text,
                       fmt_ms(l->actual_ns).text, fmt_ms(l->loss_ns).text);
        for (int p = 0; p < N_PARTS; p++)
            dcr_buf_printf(out, " %s |", known_loss_parts(rep, s, l) >> p & 1 ? fmt_ms(l->part_ns[p]).text : "n/a");
    }
    dcr_buf_puts(out, "\n\n");
}

/* The same loss by cause. */
static void put_loss_causes(const struct report *rep, const struct series *s, struct dcr_buf *out)
{
    if (s->n_losses == 0)
        return;
    dcr_buf_puts(out, "The same by cause, in ms; the causes sum to the loss:\n\n| Cause |");
    for (int i = 0; i < s->n_losses; i++)
        dcr_buf_printf(out, " %d to %s |", s->points[s->losses[i].from].n_nodes,
                       fmt_count(s->points[s->losses[i].to].n_nodes, rep->unit).text);
    dcr_buf_puts(out, " What counts as that |\n| --- |");
    for (int i = 0; i < s->n_losses; i++)
        dcr_buf_puts(out, " ---: |");
    dcr_buf_puts(out, " --- |");
    for (int c = 0; c < N_LOSS_CLASSES; c++) {
        const char *because = NULL;
        dcr_buf_printf(out, "\n| %s |", loss_class_name((enum loss_class)c));
        for (int i = 0; i < s->n_losses; i++) {
            const struct series_loss *l = &s->losses[i];
            because = l->class_because[c] ? l->class_because[c] : because; /* the last one spans the series */
            dcr_buf_printf(out, " %s |", l->class_because[c] ? "n/a" : fmt_ms(l->class_ns[c]).text);
        }
        dcr_buf_printf(out, " %s", loss_class_what((enum loss_class)c));
        if (because) {
            dcr_buf_puts(out, "; ");
            md_escaped(out, because);
        }
        dcr_buf_puts(out, " |");
    }
    dcr_buf_puts(out, "\n\n");
}

/* A fit may give a time that is no possible one: it stands there as a number under its bare name. */
static void put_time(struct dcr_buf *out, const char *before, const char *name, const char *bare, double ns)
{
    int is_possible = ns < 9e18 && ns > -9e18;
    dcr_buf_printf(out, "%s%s %s", before, is_possible ? name : bare,
                   is_possible ? fmt_time((int64_t)ns).text : fmt_number(ns).text);
}

void narrate_law(const struct law *l, struct dcr_buf *out)
{
    for (int k = 0; k < l->n_parameters; k++) {
        const struct law_parameter *p = &l->parameters[k];
        const char *what = k ? ", " : "", *name = law_parameter_key(p->id);
        switch (p->id) {
        case LAW_CALIBRATED: /* the table of the all-reduces has it */
            break;
        case LAW_SERIAL:
            dcr_buf_printf(out, "%s%s share %s", what, name, fmt_percent(p->value).text);
            break;
        case LAW_BANDWIDTH: /* the second term of the law of transfer is the time to move a step's bytes */
            put_time(out, what, "bytes at bus bandwidth", name, p->value);
            break;
        case LAW_C:
        case LAW_LATENCY:
            put_time(out, what, name, name, p->value);
            break;
        default:
            dcr_buf_printf(out, "%s%s %s", what, name, fmt_number(p->value).text);
        }
    }
}

/* The laws that were fitted, each with its residual; a line when there is none. */
static void put_laws(const struct report *rep, const struct series *s, struct dcr_buf *out)
{
    if (s->n_laws == 0)
        return;
    dcr_buf_printf(out,
                   "Laws beside the %s counts that were measured:\n\n| Law | From | Parameters | Largest residual |\n"
                   "| --- | --- | --- | ---: |",
                   rep->unit);
    for (int i = 0; i < s->n_laws; i++) {
        const struct law *l = &s->laws[i];
        dcr_buf_puts(out, "\n| ");
        md_escaped(out, l->name);
        dcr_buf_puts(out, " | ");
        md_escaped(out, law_source_words(l->source));
        dcr_buf_puts(out, " | ");
        narrate_law(l, out);
        md_escaped(out, l->has                                                               ? ""
                        : l->n_parameters && s->all_reduce.source && l->id == LAW_ALL_REDUCE ? "; the residual is "
                        : l->n_parameters                                                    ? "; "
                                                                                             : "");
        md_escaped(out, l->because);
        dcr_buf_printf(out, " | %s |", l->has ? fmt_percent(l->residual_ratio).text : "n/a");
    }
    dcr_buf_puts(out, "\n\n");
}

static void put_interval(struct dcr_buf *out, struct interval i)
{
    if (i.has)
        dcr_buf_puts(out, fmt_time_range(i.lo, i.hi).text);
}

/* What a calibration or a log of nccl-tests says of the all-reduces, beside the transfer that was measured. */
static void put_all_reduce(const struct report *rep, const struct series *s, struct dcr_buf *out)
{
    const struct all_reduce *a = &s->all_reduce;
    if (s->n_laws == 0)
        return;
    if (!a->source) {
        if (*a->because) {
            dcr_buf_puts(out, "What the all-reduces should take by the network alone is ");
            md_escaped(out, a->because);
            dcr_buf_puts(out, ".\n\n");
        }
        return;
    }
    md_paragraph(out, a->text);
    dcr_buf_printf(out,
                   "| %s | Ranks | All-reduces a step | Time by the %s | 95 %% interval of the law (scatter of "
                   "the %s) | Transfer, measured | 95 %% interval (over steps) | Measured / law |\n"
                   "| ---: | ---: | --- | ---: | --- | ---: | --- | --- |",
                   strcmp(rep->unit, "GPU") == 0 ? "GPUs" : "Nodes", law_source_words(a->source),
                   law_source_words(a->source));
    for (int i = 0; i < a->n_points + a->n_ahead; i++) {
        int is_ahead = i >= a->n_points;
        const struct all_reduce_point *p = is_ahead ? &a->ahead[i - a->n_points] : &a->points[i];
        dcr_buf_printf(out, "\n| %d | %d | %s | %s | ", p->n_nodes, p->n_ranks, all_reduces_words(p).text,
                       p->predicted_ns > 0 ? fmt_time(p->predicted_ns).text : "n/a");
        put_interval(out, p->interval);
        dcr_buf_printf(out, " | %s | ",
                       is_ahead             ? "not measured"
                       : p->measured_ns > 0 ? fmt_time(p->measured_ns).text
                                            : "n/a");
        put_interval(out, p->measured_interval);
        dcr_buf_puts(out, " | ");
        if (p->has_residual)
            dcr_buf_puts(out, fmt_x(1 / (p->residual_ratio + 1)).text);
        else
            md_escaped(out, p->because);
        dcr_buf_puts(out, " |");
    }
    dcr_buf_puts(out, "\n\n");
}

void md_scaling(const struct report *rep, struct dcr_buf *out)
{
    int n = 0;
    dcr_buf_puts(out, "## Scaling Analysis\n\n");
    for (int i = 0; i < rep->n_series; i++) {
        const struct series *s = &rep->series[i];
        if (s->n_points < 2)
            continue;
        n++;
        if (rep->n_series > 1) {
            dcr_buf_puts(out, "### ");
            md_escaped(out, s->label);
            dcr_buf_puts(out, "\n\n");
        }
        dcr_buf_printf(out, "%s scaling: ",
                       s->kind == SCALING_STRONG ? "Strong"
                       : s->kind == SCALING_WEAK ? "Weak"
                                                 : "Unknown");
        md_escaped(out, s->kind_because);
        dcr_buf_puts(out, ".\n\n");
        md_paragraph(out, s->headline);
        md_paragraph(out, s->scaling_text);
        put_points(rep, s, out);
        if (s->points[0].step.n)
            put_shares(rep, s, out);
        md_paragraph(out, s->support);
        put_losses(rep, s, out);
        put_loss_causes(rep, s, out);
        put_laws(rep, s, out);
        put_all_reduce(rep, s, out);
        md_paragraph(out, s->beyond_text);
    }
    if (n == 0)
        dcr_buf_puts(out, "n/a because the archives hold no configuration at more than one node count.\n\n");
}
