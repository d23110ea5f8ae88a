/* profile.c - one run: how long its steps took, what was in them, and where it ran; see pages.h. Calls, processes and
 * hosts: profile_host.c. */
#include "render/pages/pages.h"

#include "render/findings/rules/analyse.h"
#include "render/metrics/known.h"
#include "render/metrics/series/differing.h"
#include "render/metrics/steps.h"
#include "render/findings/efficiencies.h"
#include "render/findings/shares.h"
#include "render/pages/parts.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <math.h>

static void put_breakdown(const struct run_result *r, struct doc *d)
{
    heading_of(d, 2, PHRASE(HEAD_BREAKDOWN));
    doc_table(d, "|#|#");
    const char *missing[N_PARTS];
    int n = 0;
    for (int i = 0; i < N_PARTS; i++) {
        enum part p = (enum part)i;
        if (!is_part_known(r, p)) {
            missing[n++] = part_name(p);
            continue;
        }
        doc_row(d);
        doc_cell(d, "%s", run_part_name(r, p));
        doc_cell(d, "%s ms", fmt_ms(r->part_ns[p]).text);
        doc_cell(d, "%s", fmt_percent((double)r->part_ns[p] / (double)r->step.mean_ns).text);
    }
    doc_row(d);
    doc_cell(d, "step");
    doc_cell(d, "%s ms", fmt_ms(r->step.mean_ns).text);
    paragraph_of_missing(d, missing, n);
}

static void put_steps(const struct run_result *r, struct doc *d)
{
    doc_heading(d, 2, "Step time");
    if (!r->has_steps) {
        paragraph_of_reason(d, &r->steps_why);
        return;
    }
    doc_table(d, r->step.p99_ns > 0 ? "||||||" : "|||||");
    doc_row(d);
    doc_cell(d, "mean %s", fmt_time(r->step.mean_ns).text);
    doc_cell(d, "median %s", fmt_time(r->step.median_ns).text);
    doc_cell(d, "p95 %s", fmt_time(r->step.p95_ns).text);
    if (r->step.p99_ns > 0)
        doc_cell(d, "p99 %s", fmt_time(r->step.p99_ns).text);
    doc_cell(d, "min %s", fmt_time(r->step.min_ns).text);
    doc_cell(d, "max %s", fmt_time(r->step.max_ns).text);
    doc_cell(d, "variation %s", fmt_percent(r->step.cv_ratio).text);
    const struct phrase counted = phrase_of_counted(r);
    doc_paragraph(d, "%s %s", say_phrase(&d->arena, &counted), r->warmup_because);
    put_breakdown(r, d);
}

/* Without steps almost nothing can be judged. The reason is given under the step time. */
static void put_classes(const struct run_result *r, struct doc *d)
{
    int n_judged = 0;
    for (int i = 0; i < N_CLASSES; i++)
        n_judged += r->classes[i].verdict != VERDICT_NA;
    if (!n_judged)
        return;
    struct marks marks = {""};
    table_of(d, 2, TABLE(PROSE_CAUSES));
    for (int i = 0; i < N_CLASSES; i++) {
        const struct class_result *c = &r->classes[i];
        const struct fmt share = judged_share(c), threshold = judged_threshold(c);
        if (c->verdict == VERDICT_NA && !r->has_steps)
            continue;
        doc_row(d);
        doc_cell(d, "%s", run_class_name(r, c->cls));
        doc_cell(d, "%s", verdict_said(c->verdict));
        if (*share.text)
            doc_cell(d, "%s", share.text);
        else
            cell_without(d, &marks, &c->why);
        doc_cell(d, "%s", *threshold.text ? threshold.text : "–");
        doc_cell(d, "%s", c->text);
    }
    paragraph_of_marks(d, &marks);
}

static void put_ranks(const struct run_result *r, struct doc *d)
{
    static const struct {
        enum part part;
        const char *name;
    } shown[] = {{PART_COMPUTE, "compute"},
                 {PART_TRANSFER, "transfer"},
                 {PART_WAIT, "waiting"},
                 {PART_DATA, "data"},
                 {PART_IO, "I/O"}};
    if (!r->has_steps)
        return;
    table_of(d, 2, TABLE(PROSE_RANKS));
    for (size_t p = 0; p < sizeof shown / sizeof *shown; p++)
        if (is_part_known(r, shown[p].part))
            doc_column(d, DOC_RIGHT, "%s", shown[p].name);
    if (r->n_matched)
        doc_column(d, DOC_RIGHT, "waited least");
    for (int i = 0; i < r->n_rank_results; i++) {
        const struct rank_result *k = &r->ranks[i];
        doc_row(d);
        doc_cell(d, "%d", k->rank);
        doc_cell(d, "%s", fmt_ms(k->step.mean_ns).text);
        for (size_t p = 0; p < sizeof shown / sizeof *shown; p++)
            if (is_part_known(r, shown[p].part))
                doc_cell(d, "%s", fmt_ms(k->part_ns[shown[p].part]).text);
        if (r->n_matched)
            doc_cell(d, "%lld", (long long)k->n_last);
    }
    paragraphs_of_efficiency(r, d);
    if (r->algbw_gb_s > 0) {
        const struct slot algbw = slot_number(r->algbw_gb_s), busbw = slot_number(r->busbw_gb_s);
        const struct phrase rates[] = {PHRASE(ALL_REDUCE_BYTES, slot_bytes(r->bytes_per_step)),
                                       r->hidden_comm_ns > 0 ? PHRASE(ALL_REDUCE_RATE_LEAST, algbw, busbw)
                                                             : PHRASE(ALL_REDUCE_RATE, algbw, busbw)};
        paragraph_of_phrases(d, rates, 2);
    }
}

static void put_spread(const char *name, const struct spread *s, const struct run_result *r, struct doc *d)
{
    doc_row(d);
    doc_cell(d, "%.60s", name);
    doc_cell(d, "%s", fmt_ms(s->mean_ns).text);
    doc_cell(d, "%s", fmt_ms(s->median_ns).text);
    doc_cell(d, "%s", fmt_ms(s->p95_ns).text);
    doc_cell(d, "%s", fmt_percent((double)s->mean_ns / (double)r->step.mean_ns).text);
}

static void put_phase(const struct run_result *r, const struct phase_result *p, int is_whole, struct doc *d)
{
    put_spread(p->name, &p->spread, r, d);
    if (r->n_rank_results < 2)
        doc_cell(d, "one rank");
    else if (p->fastest_ns == p->slowest_ns)
        doc_cell(d, "%s", say_phrase(&d->arena, &PHRASE(SAME_ON_ALL_RANKS)));
    else
        doc_cell(d, "%s (rank %d), %s (rank %d)", fmt_ms(p->fastest_ns).text, p->fastest_rank,
                 fmt_ms(p->slowest_ns).text, p->slowest_rank);
    if (p->n_steps < r->n_counted)
        doc_text(d, ", %s",
                 say_phrase(&d->arena, &PHRASE(IN_STEPS_OF, slot_count(p->n_steps), slot_count(r->n_counted))));
    if (is_whole && !p->is_whole)
        doc_text(d, ", %s", say_phrase(&d->arena, &PHRASE(WITHOUT_INNER_RANGES)));
    if (p->has_gpu) {
        put_spread("  on the GPU", &p->gpu, r, d);
        doc_cell(d, "%s", say_phrase(&d->arena, &PHRASE(FIRST_TO_LAST)));
    } else if (is_whole && !run_is_of_hosts(r->run)) {
        doc_row(d);
        doc_cell(d, "  on the GPU");
        doc_cell(d, "–");
        for (int i = 0; i < 3; i++)
            doc_open(d, DOC_CELL);
        doc_open(d, DOC_CELL);
        text_of_clause(d, &p->gpu_why);
    }
}

static void put_phases(const struct run_result *r, struct doc *d)
{
    if (!r->has_steps)
        return;
    int is_whole = phases_are_whole(r);
    const struct table_said *is = is_whole ? TABLE(PROSE_RANGES) : TABLE(PROSE_PHASES);
    if (r->n_phases == 0) {
        doc_heading(d, 2, "%s", say_caption(&d->arena, is));
        paragraph_of_reason(d, &REASON(NO_NAMED_RANGE));
        return;
    }
    table_of(d, 2, is);
    for (int i = 0; i < r->n_phases; i++)
        put_phase(r, &r->phases[i], is_whole, d);
}

static void put_training(const struct run_result *r, struct doc *d)
{
    static const char *const shown[] = {"train_loss", "val_loss", "val_mae", "epoch_time_sec"};
    const struct run *run = r->run;
    if (run->n_epochs == 0 && !is_training(run))
        return;
    if (run->n_epochs == 0) {
        doc_heading(d, 2, "%s", say_caption(&d->arena, TABLE(PROSE_TRAINING)));
        paragraph_of_reason(d, &REASON(NO_EPOCHS));
        return;
    }
    table_of(d, 2, TABLE(PROSE_TRAINING));
    for (size_t i = 0; i < run->n_epochs; i++) {
        double epoch = run->epochs[i].value[run_metric("epoch")];
        doc_row(d);
        doc_cell(d, "%.0f", isnan(epoch) ? (double)(i + 1) : epoch);
        for (size_t k = 0; k < sizeof shown / sizeof *shown; k++) {
            double v = run->epochs[i].value[run_metric(shown[k])];
            doc_cell(d, "%s", isnan(v) ? "–" : fmt_number(v).text);
        }
    }
}

static void put_environment(const struct run *run, struct doc *d)
{
    const struct run_program *p = &run->program;
    const struct fmt started = fmt_utc(run->started_s), ended = fmt_utc(run->ended_s);
    const char *const rows[][2] = {{"started", started.text},
                                   {"ended", ended.text},
                                   {"MPI", p->mpi},
                                   {"CUDA", run_version(run, p->cuda, "CUDA_VERSION")},
                                   {"NCCL", run_version(run, p->nccl, "NCCL_VERSION")},
                                   {"BLAS", p->blas}};
    doc_heading(d, 2, "Environment");
    doc_table(d, "|");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i][1] && *rows[i][1]) {
            doc_row(d);
            doc_cell(d, "%s", rows[i][0]);
            doc_cell(d, "%s", rows[i][1]);
        }
    doc_row(d);
    doc_cell(d, "command");
    doc_open(d, DOC_CELL);
    for (int i = 0; i < run->n_command; i++)
        doc_text(d, "%s%s", i ? " " : "", run->command[i]);
    if (run->n_command == 0)
        doc_text(d, "not recorded");
}

void page_of_profile(const struct report *rep, const struct run_result *run, struct doc *d)
{
    heading_of(d, 1, PHRASE(PROFILE_TITLE, slot_name(run->label), slot_name(run->run->run_id)));
    paragraphs_of_run(run, d);
    section_of_notes(rep, (int)(run - rep->runs), d);
    put_steps(run, d);
    put_phases(run, d);
    put_classes(run, d);
    put_ranks(run, d);
    for (int i = 0; i < run->n_notes; i++)
        doc_paragraph(d, "%s", run->notes[i].text);
    put_training(run, d);
    section_of_processes(run->run, d);
    section_of_calls(run->run, d);
    section_of_hosts(run->run, d);
    put_environment(run->run, d);
}
