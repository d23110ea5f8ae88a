/* page_roofline.c - kernels that a profiler counted, and operators by the shapes of their inputs, under the roofline of
 * their GPU, as tables of a run's page. */
#include "render/site/pages/devices.h"

#include "render/metrics/kernel_roofline.h"
#include "render/say/format.h"
#include "render/say/say.h"

enum { MOST_KERNELS = 50 };

static void cell_rate(struct site *s, json_t *t, double per_s, const struct reason *why)
{
    if (per_s >= 0)
        view_cell_value(s, t, fmt_number(per_s / 1e9).text, true, per_s / 1e9, "");
    else
        view_cell_missing(s, t, why, "");
}

/* rate: the achieved rate. Above the peak no share is shown. */
static void cell_of_peak(struct site *s, json_t *t, double ratio, double rate, double peak, const struct reason *why)
{
    if (ratio < 0) {
        view_cell_missing(s, t, rate >= 0 && peak > 0 ? &REASON(KERNEL_COUNTS_DISAGREE) : why, "ratio");
        return;
    }
    view_cell_sub(s, t, fmt_of_peak(ratio).text, site_text(s, "of %s", fmt_number(peak / 1e9).text));
    view_exact(s, t, "", true, ratio, "ratio");
}

static void row(struct site *s, json_t *t, const char *name, const struct run_kernel_counts *k,
                struct kernel_roofline x)
{
    const struct kernel_of of = {k, x};
    view_row(s, t, name);
    VIEW_METRICS(s, t, &kernel_metrics, &of, KERNEL_CALLS, KERNEL_TIME);
    if (x.intensity >= 0)
        view_cell_value(s, t, site_text(s, "%s%s", *k->missing ? "at least " : "", fmt_number(x.intensity).text), true,
                        x.intensity, "");
    else
        view_cell_missing(s, t, &x.intensity_why, "");
    cell_rate(s, t, x.flop_per_s, &k->flop_why);
    cell_of_peak(s, t, x.flop_ratio, x.flop_per_s, k->peak_flop_per_s, &k->peak_flop_why);
    cell_rate(s, t, x.bytes_per_s, &k->bytes_why);
    cell_of_peak(s, t, x.bytes_ratio, x.bytes_per_s, k->peak_bytes_per_s, &k->peak_bytes_why);
    if (x.bound)
        view_cell(s, t, roof_bound_word(x.bound));
    else
        view_cell_missing(s, t, &x.bound_why, NULL);
}

/* What the numbers describe, by the first kernel: a profile counts the same for all kernels. */
static void say_what_of(struct site *s, json_t *t, const struct run *r)
{
    const struct run_kernel_counts *k = &r->kernels[0];
    view_caption(s, t, *k->missing ? PHRASE(CAPTION_NOT_COUNTED, slot_name(k->missing)) : PHRASE(NONE));
    view_caption(s, t, PHRASE(CAPTION_BOUND, slot_percent(s->rep->thresholds.kernel_bound)));
    if (k->peak_flop_per_s > 0)
        view_caption(s, t, PHRASE(CAPTION_PEAK_FLOP, slot_name(k->peak_flop_source)));
    if (k->peak_bytes_per_s > 0)
        view_caption(s, t, PHRASE(CAPTION_PEAK_BYTES, slot_name(k->peak_bytes_source)));
    if (r->n_kernels > MOST_KERNELS)
        view_caption(s, t, PHRASE(CAPTION_SHOWN_OF, slot_count(MOST_KERNELS), slot_count(r->n_kernels)));
}

json_t *view_roofline(struct site *s, const struct run *r)
{
    const char *counted = r->kernels[0].counted;
    json_t *t = view_table(s, TABLE(KERNELS, slot_name(*counted ? counted : "not counted")));
    say_what_of(s, t, r);
    for (int i = 0; i < r->n_kernels && i < MOST_KERNELS; i++)
        row(s, t, r->kernels[i].kernel, &r->kernels[i], kernel_roofline_of(&r->kernels[i], &s->rep->thresholds));
    return t;
}

json_t *view_work(struct site *s, const struct foreign_trace *f)
{
    const struct run_kernel_counts *first = &f->work[0];
    json_t *t = view_table(s, TABLE(OPERATOR_WORK, slot_name(f->file)));
    view_caption(s, t, f->n_devices ? PHRASE(CAPTION_TIME_OF_KERNELS) : PHRASE(CAPTION_TIME_OF_CALLS));
    view_caption(s, t, PHRASE(CAPTION_BYTES_OF_SHAPES));
    view_caption(
        s, t, first->peak_bytes_per_s > 0 ? PHRASE(CAPTION_PEAKS, slot_name(first->peak_bytes_source)) : PHRASE(NONE));
    for (int i = 0; i < f->n_work && i < MOST_KERNELS; i++) {
        const struct run_kernel_counts *k = &f->work[i];
        const char *name = *k->format ? site_text(s, "%s, %s", k->kernel, k->format) : k->kernel;
        row(s, t, name, k, operator_roofline_of(k, &s->rep->thresholds));
    }
    return t;
}
