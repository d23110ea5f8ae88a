/* page_run.c - one run: what a step is made of, rank by rank, step by step, and the origin of the numbers. */
#include "render/site/pages/devices.h"
#include "render/site/figures/figures.h"
#include "render/site/pages/run_facts.h"

#include "render/findings/claims.h"
#include "render/findings/run_said.h"
#include "render/metrics/calls.h"
#include "render/metrics/device_shares.h"
#include "render/metrics/recorded.h"
#include "render/metrics/steps.h"
#include "render/pages/parts.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <string.h>

static const char *category_name(enum category c)
{
    static const char *const names[] = {
#define X(id, key, name, covers) [id] = name,
        RUN_CATEGORIES(X)
#undef X
    };
    return names[c];
}

/* What the last rank to arrive was doing while the others waited for it. */
static json_t *waiting_table(struct site *s, const struct run_result *r)
{
    if (!r->has_steps || r->part_ns[PART_WAIT] <= 0)
        return json_null();
    json_t *t = view_table(s, TABLE(WAITING));
    for (int c = 0; c < N_CATEGORIES; c++) {
        view_row(s, t, c == CAT_COMM ? say_phrase(&s->arena, &PHRASE(BETWEEN_STEPS)) : category_name((enum category)c));
        view_cell_time(s, t, true, r->wait_cause_ns[c]);
        view_cell_percent(s, t, true, (double)r->wait_cause_ns[c] / (double)r->step.mean_ns);
    }
    return t;
}

static void phase_steps(struct site *s, json_t *t, const struct run_result *r, int64_t n_steps)
{
    view_cell_value(s, t, site_text(s, "%s of %s", site_int(s, n_steps), site_int(s, r->n_counted)), true,
                    (double)n_steps, "");
}

/* The first of the ranks that are fastest, and slowest.                                        ranks: as r->ranks */
static void phase_ranks(struct site *s, json_t *t, const struct run_result *r, const struct spread *ranks)
{
    int fastest = 0, slowest = 0;
    for (int i = 1; i < r->n_rank_results; i++) {
        fastest = ranks[i].mean_ns < ranks[fastest].mean_ns ? i : fastest;
        slowest = ranks[i].mean_ns > ranks[slowest].mean_ns ? i : slowest;
    }
    const int which[] = {fastest, slowest};
    for (int k = 0; k < 2 && r->n_rank_results > 1; k++) {
        view_cell(s, t,
                  ranks[fastest].mean_ns == ranks[slowest].mean_ns
                      ? "all alike"
                      : site_text(s, "%s (%d)", fmt_time(ranks[which[k]].mean_ns).text, r->ranks[which[k]].rank));
        view_exact(s, t, "mean", true, (double)ranks[which[k]].mean_ns, "ns");
        view_exact(s, t, "number", true, r->ranks[which[k]].rank, "");
    }
}

/* Why ranges have no row for the GPUs, each reason once. */
static void say_without_gpu(struct site *s, json_t *t, const struct run_result *r)
{
    for (int i = 0; i < r->n_phases; i++) {
        const struct reason *why = &r->phases[i].gpu_why; /* none has a slot */
        int n = 0;
        bool is_said = !why->code;
        for (int k = 0; k < r->n_phases; k++) {
            bool is_same = r->phases[k].gpu_why.code == why->code;
            is_said |= is_same && k < i;
            n += is_same;
        }
        if (!is_said)
            view_caption(s, t,
                         n == r->n_phases ? PHRASE(CAPTION_NO_GPU_ROWS, slot_reason(why))
                                          : PHRASE(CAPTION_NO_GPU_ROWS_OF, slot_count(n), slot_reason(why)));
    }
}

/* Ranges named in a trace of another tool: a row for the host, and one for the GPUs if that is known. */
static json_t *whole_phases(struct site *s, const struct run_result *r)
{
    bool is_one = r->n_rank_results < 2, is_of_hosts = run_is_of_hosts(r->run);
    json_t *t = view_table(s, is_of_hosts ? is_one ? TABLE(HOST_RANGES) : TABLE(HOST_RANGES_OF_RANKS)
                              : is_one ? TABLE(RANGES)
                                          : TABLE(RANGES_OF_RANKS));
    if (!is_of_hosts)
        say_without_gpu(s, t, r);
    for (int i = 0; i < r->n_phases; i++) {
        const struct phase_result *p = &r->phases[i];
        const struct phase_of of = {r, p};
        view_row(s, t, p->name);
        if (p->category < N_CATEGORIES)
            view_cell(s, t, category_name(p->category));
        else
            view_cell_missing(s, t, &REASON(UNTOLD_BY_NAME), NULL);
        view_cell(s, t, p->is_whole ? "host" : say_phrase(&s->arena, &PHRASE(HOST_WITHOUT_INNER_RANGES)));
        VIEW_METRICS(s, t, &phase_metrics, &of, PHASE_MEAN, PHASE_MEDIAN, PHASE_P95, PHASE_SHARE);
        phase_steps(s, t, r, p->n_steps);
        phase_ranks(s, t, r, p->ranks);
        if (!p->has_gpu)
            continue;
        view_row(s, t, p->name);
        if (p->category < N_CATEGORIES)
            view_cell(s, t, category_name(p->category));
        else
            view_cell_missing(s, t, &REASON(UNTOLD_BY_NAME), NULL);
        view_cell(s, t, "GPU");
        VIEW_METRICS(s, t, &phase_metrics, &of, PHASE_GPU_MEAN, PHASE_GPU_MEDIAN, PHASE_GPU_P95, PHASE_GPU_SHARE);
        phase_steps(s, t, r, p->n_gpu_steps);
        phase_ranks(s, t, r, p->gpu_ranks);
    }
    return t;
}

static json_t *phases_table(struct site *s, const struct run_result *r)
{
    if (r->n_phases == 0)
        return json_null();
    if (phases_are_whole(r))
        return whole_phases(s, r);
    json_t *t = view_table(s, r->n_rank_results < 2 ? TABLE(PHASES) : TABLE(PHASES_OF_RANKS));
    view_caption(s, t, r->steps_source != STEPS_OF_CSV ? PHRASE(CAPTION_PHASES_SUM) : PHRASE(CAPTION_PHASES_OF_CSV));
    for (int i = 0; i < r->n_phases; i++) {
        const struct phase_result *p = &r->phases[i];
        const struct phase_of of = {r, p};
        view_row(s, t, p->name);
        view_cell(s, t, category_name(p->category));
        VIEW_METRICS(s, t, &phase_metrics, &of, PHASE_MEAN, PHASE_MEDIAN, PHASE_P95, PHASE_SHARE);
        phase_steps(s, t, r, p->n_steps);
        phase_ranks(s, t, r, p->ranks);
    }
    return t;
}

static json_t *nodes_table(struct site *s, const struct run *run)
{
    if (run->nodes_len == 0)
        return json_null();
    int n_shares = 0;
    for (int i = 0; i < run->nodes_len; i++)
        n_shares += run->nodes[i].share.has;
    json_t *t = view_table(s, n_shares ? TABLE(NODES_EMULATED) : TABLE(NODES));
    for (int i = 0; i < run->nodes_len; i++) {
        const struct run_node *n = &run->nodes[i];
        view_row(s, t, site_text(s, "%d", n->node));
        view_cell_text(s, t, n->host);
        view_cell_text(s, t, n->cpu_model);
        int usable = n->cores_allowed > 0 ? n->cores_allowed : n->cores;
        if (n->share.cores > 0)
            view_cell_value(s, t, site_text(s, "%.4g of %d", n->share.cores, n->cores), true, n->share.cores, "");
        else if (usable > 0)
            view_cell_value(s, t, site_text(s, usable != n->cores ? "%d of %d" : "%d", usable, n->cores), true, usable,
                            "");
        else
            view_cell_missing(s, t, &REASON(NOT_RECORDED), "");
        if (n_shares && n->share.has)
            view_cell_value(s, t,
                            n->share.link_bit_per_s ? fmt_bit_rate((double)n->share.link_bit_per_s).text : "not shaped",
                            n->share.link_bit_per_s > 0, (double)n->share.link_bit_per_s, "bit/s");
        else if (n_shares)
            view_cell_missing(s, t, &REASON(NOT_RECORDED), "bit/s");
        view_cell_bytes(s, t, n->memory_bytes > 0, (double)n->memory_bytes);
        view_cell_text(s, t, n->kernel);
        view_cell_text(s, t,
                       n->n_gpus              ? fmt_count(n->n_gpus, "GPU").text
                       : n->gpu_monitor.state ? n->gpu_monitor.text
                                              : "");
    }
    return t;
}

static void roofline_row(struct site *s, json_t *t, const char *name, double value, const char *unit)
{
    view_row(s, t, name);
    view_cell_value(s, t, site_text(s, "%s %s", fmt_number(value).text, unit), true, value, unit);
}

static void cell_of_peak(struct site *s, json_t *t, double ratio, const struct reason *why)
{
    if (why->code)
        view_cell_missing(s, t, why, "ratio");
    else
        view_cell_value(s, t, fmt_of_peak(ratio).text, true, ratio, "ratio");
}

/* Where the compute of a step is, compared with the ceilings of memory and arithmetic. */
static json_t *roofline_table(struct site *s, const struct run_result *r)
{
    const struct roofline *f = &r->roofline;
    if (!f->has)
        return json_null();
    const char *precision = r->run->program.precision;
    const struct slot peaks = slot_name(peaks_word(f->peaks));
    json_t *t = view_table(s, f->is_of_step ? TABLE(ROOFLINE_OF_STEPS, peaks) : TABLE(ROOFLINE_OF_COMPUTE, peaks));
    view_caption(s, t, precision && *precision ? PHRASE(CAPTION_PRECISION, slot_name(precision)) : PHRASE(NONE));
    roofline_row(s, t, "arithmetic intensity", f->intensity, "FLOP/byte");
    roofline_row(s, t, "ridge: peak FLOP/s over peak bandwidth", f->ridge, "FLOP/byte");
    roofline_row(s, t, "peak", f->peak_gflop_per_s, "GFLOP/s");
    roofline_row(s, t, "peak bandwidth", f->peak_gb_per_s, "GB/s");
    roofline_row(s, t, "attainable at this intensity", f->attainable_gflop_per_s, "GFLOP/s");
    roofline_row(s, t, f->is_of_step ? "achieved over whole steps" : "achieved while computing", f->gflop_per_s,
                 "GFLOP/s");
    view_row(s, t, "achieved / attainable");
    cell_of_peak(s, t, f->of_attainable_ratio, &f->of_attainable_why);
    view_row(s, t, "model FLOP utilisation (MFU): of the step's time times the peak");
    cell_of_peak(s, t, f->mfu_ratio, &f->mfu_why);
    view_row(s, t, "bound by");
    if (f->bound)
        view_cell(s, t, roof_bound_word(f->bound));
    else
        view_cell_missing(s, t, &f->of_attainable_why, NULL);
    return t;
}

static void cell_of_counter(struct site *s, json_t *t, double value, struct fmt text, const char *unit)
{
    if (value < 0)
        view_cell_missing(s, t, &REASON(NOT_COUNTED), unit);
    else
        view_cell_value(s, t, text.text, true, value, unit);
}

static void counters_row(struct site *s, json_t *t, const char *name, const struct phase_counters *c)
{
    view_row(s, t, name);
    view_cell_value(s, t, fmt_time(c->ns).text, true, (double)c->ns, "ns");
    cell_of_counter(s, t, c->instructions_per_cycle, fmt_number(c->instructions_per_cycle), "");
    cell_of_counter(s, t, c->stalled_ratio, fmt_percent(c->stalled_ratio), "ratio");
    cell_of_counter(s, t, c->missed_gb_per_s, fmt_number(c->missed_gb_per_s), "GB/s");
}

static json_t *counters_table(struct site *s, const struct run_result *r)
{
    const struct counted_phases *c = &r->counters;
    if (!c->has)
        return json_null();
    json_t *t = view_table(s, TABLE(CORE_COUNTERS));
    view_caption(
        s, t, c->why.code ? PHRASE(CAPTION_CORE_COUNTERS_WHOLE, slot_reason(&c->why)) : PHRASE(CAPTION_CORE_COUNTERS));
    for (int i = 0; i < c->n; i++)
        counters_row(s, t, c->phases[i].name, &c->phases[i]);
    counters_row(s, t, r->has_steps ? "all steps" : "the run", &c->whole);
    return t;
}

/* How full each GPU's memory was, by monitors and traces. */
static json_t *memory_table(struct site *s, const struct run_result *r)
{
    if (r->n_memory == 0)
        return json_null();
    json_t *t = view_table(s, TABLE(GPU_MEMORY));
    for (int i = 0; i < r->n_memory; i++) {
        const struct gpu_memory *m = &r->memory[i];
        view_row(s, t, m->who);
        VIEW_METRICS(s, t, &gpu_memory_metrics, m, GPU_MEMORY_SOURCE, GPU_MEMORY_USED, GPU_MEMORY_TOTAL,
                     GPU_MEMORY_SHARE);
        VIEW_METRICS(s, t, &gpu_memory_metrics, m, GPU_MEMORY_STATE);
        if (m->grows < 0)
            view_cell_missing(s, t, &m->grows_why, NULL);
        else
            view_cell(s, t, m->grows ? "yes" : "no");
        VIEW_METRICS(s, t, &gpu_memory_metrics, m, GPU_MEMORY_SAMPLES);
    }
    return t;
}

static json_t *environment_table(struct site *s, const struct run *run)
{
    if (run->n_environment == 0)
        return json_null();
    json_t *t = view_table(s, TABLE(ENVIRONMENT));
    for (int i = 0; i < run->n_environment; i++) {
        view_row(s, t, run->environment[i].key);
        view_cell(s, t, run->environment[i].value);
    }
    return t;
}

static json_t *members_table(struct site *s, const struct run *run)
{
    if (run->n_members == 0)
        return json_null();
    json_t *t = view_table(s, TABLE(MEMBERS, slot_name(run->archive)));
    for (size_t i = 0; i < run->n_members; i++) {
        const struct run_member *m = &run->members[i];
        view_row(s, t, m->name);
        view_cell(s, t, m->role);
        view_cell_value(s, t, site_text(s, "%lld", (long long)m->size_bytes), true, (double)m->size_bytes, "bytes");
        view_cell_class(s, t, m->sha256, "hash");
    }
    return t;
}

/* Further rows are only in the CSV. */
#define ROWS_SHOWN 24

/* Of MPI calls the longest are on the page, the CSV has all. */
#define CALLS_SHOWN 8

/* Many GPUs repeat the same note. More notes than these would separate the verdict from its figures. */
#define NOTES_SHOWN 2

static json_t *run_gaps(struct site *s, const struct run *run)
{
    json_t *list = view_list(s);
    for (int i = 0; i < run->n_gaps; i++) {
        json_t *v = view_object(s);
        view_text(s, v, "text", say_sentences(&s->arena, run->gaps[i].said, NOTE_PHRASES));
        view_add(s, list, v);
    }
    return list;
}

static json_t *run_notes(struct site *s, const struct run_result *r, int from, int to)
{
    json_t *list = view_list(s);
    for (int i = from; i < to; i++) {
        json_t *v = view_object(s);
        view_text(s, v, "text", r->notes[i].text);
        view_add(s, list, v);
    }
    return list;
}

static json_t *run_files(struct site *s, const struct run_result *r)
{
    json_t *list = view_list(s);
    for (int i = 0; i < s->rep->n_documents; i++) {
        const struct document *d = &s->rep->documents[i];
        if (d->run < 0 || &s->rep->runs[d->run] != r)
            continue;
        json_t *v = view_object(s);
        view_text(s, v, "path", d->name);
        view_text(s, v, "title", d->title);
        view_add(s, list, v);
    }
    json_t *picture = view_object(s);
    view_text(s, picture, "path", "profiling_analysis.png");
    view_text(s, picture, "title", "this run on one sheet");
    view_add(s, list, picture);
    return list;
}

static void set_table(struct site *s, json_t *data, const char *key, json_t *table, int run)
{
    site_table(s, table, key, run);
    view_shorten(s, table, ROWS_SHOWN);
    view_threshold_tips(s, table);
    view_set(s, data, key, table);
}

static void set_or_null(struct site *s, json_t *data, const char *key, json_t *value)
{
    view_set(s, data, key, value ? value : json_null());
}

static const char *cost_text(struct site *s, const struct run *run)
{
    struct recording_cost c = recording_cost(run);
    /* Above 1, the program ended too soon for a share to mean anything. */
    const struct phrase said[] = {
        c.has ? PHRASE(RECORDING_COST, slot_time(c.ns), slot_percent(c.ratio), slot_count(c.n_events)) : PHRASE(NONE),
        !c.has_cpu        ? PHRASE(NONE)
        : c.cpu_ratio > 1 ? PHRASE(COLLECTOR_COST_ALONE, slot_time(c.cpu_ns))
                          : PHRASE(COLLECTOR_COST, slot_time(c.cpu_ns), slot_percent(c.cpu_ratio))};
    const char *text = say_phrases(&s->arena, said, 2);
    return *text ? text : NULL;
}

static void set_title(struct site *s, json_t *data, const char *key, struct phrase title, const char *otherwise)
{
    view_text(s, data, key, title.id == PHRASE_NONE ? otherwise : say_phrase(&s->arena, &title));
}

/* The folded parts are named by what they found. */
static void set_titles(struct site *s, json_t *data, const struct run_result *r)
{
    const struct mpi_share mpi = mpi_share(r->run);
    const struct roofline *f = &r->roofline;
    const struct file_time files = file_time(r->run);
    set_title(s, data, "title_phases", r->has_steps ? PHRASE(PART_PHASES, slot_time(r->step.mean_ns)) : PHRASE(NONE),
              NULL);
    set_title(s, data, "title_communication",
              r->has_steps && r->n_rank_results > 1
                  ? PHRASE(PART_COMMUNICATION, slot_percent((double)r->comm_ns / (double)r->step.mean_ns))
                  : PHRASE(NONE),
              r->has_steps ? "Communication" : NULL);
    set_title(s, data, "title_steps",
              r->has_steps ? PHRASE(PART_STEPS, slot_time(r->step.median_ns), slot_time(r->step.p95_ns)) : PHRASE(NONE),
              NULL);
    bool is_of_compute = f->has && !f->of_attainable_why.code && f->of_attainable_ratio <= 1 && !f->is_of_step;
    set_title(s, data, "title_roofline",
              is_of_compute ? PHRASE(PART_ROOFLINE, slot_percent(f->of_attainable_ratio)) : PHRASE(NONE), "Roofline");
    set_title(s, data, "title_mpi", mpi.has ? PHRASE(PART_MPI, slot_percent(mpi.ratio)) : PHRASE(NONE), "MPI calls");
    set_title(s, data, "title_files", files.has ? PHRASE(PART_FILES, slot_time(files.ns)) : PHRASE(NONE),
              "Files read and written");
}

static const char *first_action(struct site *s, const struct claim *c)
{
    const char *text = *c->action.ours ? c->action.ours : c->action.generic;
    return *text ? site_text(s, "%s.", say_capital(&s->arena, text)) : NULL;
}

void page_run(struct site *s, int run)
{
    const struct run_result *r = &s->rep->runs[run];
    json_t *data = view_object(s);
    view_text(s, data, "site_title", s->rep->title);
    view_flag(s, data, "timeline", page_timeline(s, run));
    view_text(s, data, "label", r->label);
    bool is_found = r->said.headline.id != PHRASE_NONE;
    view_text(s, data, "headline", is_found ? say_title(&s->arena, &r->said) : r->headline);
    view_text(s, data, "support", r->support);
    view_set_list(s, data, "keys", view_run_keys(s, r));
    view_text(s, data, "steps_line",
              !r->has_steps     ? NULL
              : r->n_warmup > 0 ? site_text(s, "%s counted, %s left out as warm-up.",
                                            fmt_count(r->n_counted, "step").text, site_int(s, r->n_warmup))
                                : site_text(s, "%s counted.", fmt_count(r->n_counted, "step").text));
    const struct phrase sure = phrase_of_confidence(r);
    view_text(s, data, "sure", say_phrase(&s->arena, &sure));
    view_text(s, data, "cost", cost_text(s, r->run));
    view_text(s, data, "first_action", r->n_claims ? first_action(s, &s->rep->claims[r->claims[0]]) : NULL);
    set_titles(s, data, r);
    int n = n_judged(r->judged);
    view_text(s, data, "judged", say_phrases(&s->arena, r->judged, n));
    view_text(s, data, "not_judged", say_phrases(&s->arena, r->judged + n, JUDGED_MAX - n));
    view_caveats(s, data, run);
    bool is_folded = r->n_notes > NOTES_SHOWN + 1; /* a single note is not folded */
    int n_shown = is_folded ? NOTES_SHOWN : r->n_notes;
    view_set_list(s, data, "notes", run_notes(s, r, 0, n_shown));
    view_set_list(s, data, "more_notes", run_notes(s, r, n_shown, r->n_notes));
    view_text(s, data, "n_more_notes", fmt_count(r->n_notes - n_shown, "more observation").text);
    view_set(s, data, "overview", run_facts_overview(s, r));
    set_table(s, data, "classes", r->has_steps ? view_classes(s, TABLE(CAUSES_OF_RUN), &run, 1) : json_null(), run);
    set_or_null(s, data, "breakdown", run_figure_breakdown(s, r));
    set_table(s, data, "phases", phases_table(s, r), run);
    set_table(s, data, "ranges",
              view_operators(s, &r->run->ranges,
                             recorded_part(r->run).n_ranks_lost_sums ? TABLE_NAMED_RANGES_RECORDED : TABLE_NAMED_RANGES,
                             NULL),
              run);
    view_set_list(s, data, "communication", run_facts_communication(s, r));
    set_table(s, data, "waiting", waiting_table(s, r), run);
    set_or_null(s, data, "ranks", run_figure_ranks(s, r));
    set_or_null(s, data, "steps", run_figure_steps(s, r));
    set_or_null(s, data, "spread", run_figure_spread(s, r));
    set_or_null(s, data, "heat", run_figure_heat(s, r));
    set_or_null(s, data, "lead", run_figure_stepless(s, r, run));
    set_or_null(s, data, "monitors", run_is_monitored_only(r) ? NULL : run_figure_monitors(s, r, run));
    set_table(s, data, "roofline", roofline_table(s, r), run);
    view_text(s, data, "no_roofline",
              r->has_steps && !r->roofline.has
                  ? say_phrase(&s->arena, &PHRASE(ROOFLINE_NOT_KNOWN, slot_reason(&r->roofline.why)))
                  : NULL);
    set_table(s, data, "counters", counters_table(s, r), run);
    set_table(s, data, "gpu_memory", memory_table(s, r), run);
    view_text(s, data, "monitors_absent", monitors_absent(s, r->run));
    set_or_null(s, data, "losses", run_figure_losses(s, r));
    json_t *devices = view_devices(s, run), *shown = view_list(s);
    const struct run_device *idlest = least_busy_device(r->run);
    for (size_t i = 0; i < json_array_size(devices) && (i == 0 || !idlest); i++) /* the page of GPUs has the others */
        view_add(s, shown, json_incref(json_array_get(devices, i)));
    view_flag(s, data, "devices_page", idlest != NULL);
    set_title(s, data, "title_devices",
              idlest ? PHRASE(PART_GPUS, slot_percent(device_idle_ratio(idlest))) : PHRASE(PART_OPERATORS), NULL);
    view_set_list(s, data, "devices_shown", shown);
    view_set_list(s, data, "devices", json_incref(devices));
    view_set_list(s, data, "evidence", view_evidence(s, run));
    view_text(s, data, "warmup", r->has_steps ? r->warmup_because : NULL);
    bool has_monitors = json_is_object(json_object_get(data, "monitors")),
         has_memory = json_is_object(json_object_get(data, "gpu_memory")),
         has_losses = json_is_object(json_object_get(data, "losses"));
    view_flag(s, data, "has_monitors", has_monitors || has_memory || has_losses);
    view_flag(s, data, "no_steps", !r->has_steps);
    /* What an archive of ours lacks is named among the gaps. */
    view_text(s, data, "no_breakdown",
              are_steps_missed(r) && r->run->is_foreign
                  ? say_phrase(&s->arena, &PHRASE(STEPS_NOT_KNOWN, slot_reason(&r->steps_why)))
                  : NULL);
    view_text(s, data, "steps_action", r->has_steps || r->advised.id ? NULL : r->steps_action);
    view_text(s, data, "stepless_advice", r->stepless_advice);
    view_set_list(s, data, "actions", view_actions(s, &run, 1, false, "../../"));
    view_text(s, data, "unnamed_action", r->unnamed_action);
    view_set(s, data, "program", run_facts_program(s, r->run));
    struct recorded part = recorded_part(r->run);
    view_text(s, data, "calls_missing",
              part.n_ranks_lost_sums && (r->run->n_mpi_calls || r->run->n_files)
                  ? say_phrase(&s->arena, &PHRASE(CALLS_NOT_KNOWN, slot_reason(&part.why)))
                  : NULL);
    json_t *calls = view_mpi_calls(s, r->run);
    site_table(s, calls, "mpi_calls", run);
    view_shorten(s, calls, CALLS_SHOWN);
    view_set(s, data, "calls_first", r->has_steps ? json_null() : json_incref(calls));
    view_set(s, data, "mpi_calls", r->has_steps ? calls : json_null());
    if (!r->has_steps)
        json_decref(calls);
    set_table(s, data, "io_files", view_io_files(s, r->run), run);
    set_table(s, data, "nodes", nodes_table(s, r->run), run);
    set_table(s, data, "environment", environment_table(s, r->run), run);
    set_table(s, data, "members", members_table(s, r->run), run);
    view_text(s, data, "archive", r->run->archive);
    view_set_list(s, data, "gaps", run_gaps(s, r->run));
    view_set(s, data, "files", run_files(s, r));
    const char *folder = site_text(s, "runs/%s/", r->slug);
    run_picture(s, r, site_text(s, "%sprofiling_analysis.png", folder));
    site_page(s, "run", site_text(s, "%sindex.html", folder), site_text(s, "%s, %s", r->label, s->rep->title), r->slug,
              data);
    if (idlest)
        page_devices(s, run, devices);
    json_decref(devices);
}
