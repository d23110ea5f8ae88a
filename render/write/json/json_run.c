/* json_run.c - a run in report.json: steps, parts, ranks, classes, its origin; nodes in json_nodes.c. See
 * json_values.h. */
#include "render/write/json/json_values.h"

#include "render/metrics/calls.h"
#include "render/metrics/recorded.h"
#include "render/findings/rules/trials.h"

#include <math.h>

static json_t *wait_causes(const struct run_result *r)
{
    json_t *o = json_object();
    for (int c = 0; c < N_CATEGORIES; c++)
        value_set(o, c == CAT_COMM ? "outside_steps" : category_key((enum category)c),
                  json_integer(r->wait_cause_ns[c]));
    return o;
}

static json_t *classes(const struct run_result *r)
{
    json_t *o = json_object();
    for (int i = 0; i < N_CLASSES; i++)
        value_set(o, class_key((enum cause_class)i),
                  value_object(&cause_metrics, &(struct cause_of){r, &r->classes[i]}));
    return o;
}

/* NULL: no monitor saw its processes. */
static const struct run_rank *watched(const struct run *run, int rank)
{
    for (int i = 0; i < run->ranks_len; i++)
        if (run->ranks[i].rank == rank && run->ranks[i].process_seconds > 0)
            return &run->ranks[i];
    return NULL;
}

static json_t *ranks(const struct run_result *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n_rank_results; i++) {
        struct rank_of k = {r, &r->ranks[i], watched(r->run, r->ranks[i].rank)};
        value_add(list, value_object(&rank_metrics, &k));
    }
    return list;
}

/* Times of the ranks, each with its number. */
static json_t *of_ranks(const struct run_result *r, const struct spread *ranks)
{
    json_t *list = json_array();
    for (int k = 0; k < r->n_rank_results; k++) {
        json_t *o = value_object(&spread_metrics, &ranks[k]);
        value_set(o, "rank", json_integer(r->ranks[k].rank));
        value_add(list, o);
    }
    return list;
}

static json_t *phases(const struct run_result *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n_phases; i++) {
        const struct phase_result *p = &r->phases[i];
        json_t *o = value_object(&phase_metrics, &(struct phase_of){r, p});
        value_set(o, "ranks", of_ranks(r, p->ranks));
        if (p->has_gpu)
            value_set(json_object_get(o, "gpu"), "ranks", of_ranks(r, p->gpu_ranks));
        value_add(list, o);
    }
    return list;
}

static json_t *epochs(const struct run *run)
{
    static const char *const names[RUN_N_METRICS] = {
#define X(name, unit) name,
        DCR_METRICS_COLUMNS(X)
#undef X
    };
    json_t *list = json_array();
    for (size_t i = 0; i < run->n_epochs; i++) {
        json_t *o = json_object();
        for (int m = 0; m < RUN_N_METRICS; m++)
            value_set(o, names[m], value_real(!isnan(run->epochs[i].value[m]), run->epochs[i].value[m]));
        value_add(list, o);
    }
    return list;
}

static json_t *strings(const char *const *s, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        value_add(list, value_string(s[i]));
    return list;
}

static json_t *notes(const struct run_result *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n_notes; i++)
        value_add(list, value_string(r->notes[i].text));
    return list;
}

static json_t *endings(const struct run *run)
{
    json_t *list = json_array();
    for (int i = 0; i < run->n_endings; i++)
        value_add(list, value_string(run->endings[i].text));
    return list;
}

static json_t *provenance(const struct run *run)
{
    json_t *o = value_object(&provenance_metrics, run);
    value_set(o, "incomplete_because", endings(run));
    value_set(o, "command", strings(run->command, run->n_command));
    return o;
}

/* Changes that can be tried, with their forecasts. */
static json_t *trials_json(const struct run_result *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n_trials; i++) {
        const struct trial *t = &r->trials[i];
        json_t *o = json_object();
        value_set(o, "change", value_string(trial_key_word(t->kind)));
        value_set(o, "command", value_text(t->command));
        value_set(o, "command_because", value_reason(&t->why));
        value_set(o, "forecast_step_ns", value_int(t->has_forecast, t->step_ns));
        value_set(o, "forecast_because", value_reason(&t->forecast_why));
        value_add(list, o);
    }
    return list;
}

static json_t *gains(const struct run_result *r)
{
    json_t *o = json_object();
    for (int c = 0; c < N_CLASSES; c++)
        if (r->classes[c].has_share && (c != CLASS_COMPUTE || r->gain_ns[c] > 0)) /* compute cannot be removed */
            value_set(o, class_key((enum cause_class)c), json_integer(r->gain_ns[c]));
    return o;
}

/* A kind without recorded calls is unknown, because some calls cannot be seen. */
static json_t *file_calls(const struct dct_io *io)
{
    return value_object(&calls_metrics, &(struct calls_of){io, io->n > 0});
}

static json_t *files_total(const struct run *run)
{
    static const char *const kinds[] = {[DCT_IO_READ] = "read", [DCT_IO_WRITE] = "write"};
    if (!run->ranks_len || run->is_foreign)
        return json_null();
    struct files_explained e = files_explained(run);
    json_t *o = json_object();
    for (int k = DCT_IO_READ; k <= DCT_IO_WRITE; k++)
        value_set(o, kinds[k],
                  json_pack("{s:o, s:o, s:o, s:o}", "bytes", value_int(e.has, e.bytes[k]), "system_calls",
                            value_int(e.has, e.calls[k]), "recorded_bytes",
                            value_int(e.recorded_bytes[k] >= 0, e.recorded_bytes[k]), "not_attributed_bytes",
                            value_int(e.rest_bytes[k] >= 0, e.rest_bytes[k])));
    value_set(o, "because", value_reason(&e.rest_why));
    return o;
}

/* Shows which ranks wait for which. */
static json_t *mpi_ranks(const struct run *run)
{
    json_t *list = json_array();
    for (int i = 0; i < run->ranks_len; i++) {
        const struct run_rank *k = &run->ranks[i];
        value_add(list, json_pack("{s:i, s:o}", "rank", k->rank, "time_ns", value_int(!rank_lost_sums(k), k->mpi_ns)));
    }
    return list;
}

static json_t *recorded(const struct run *run)
{
    struct recorded part = recorded_part(run);
    return !run->ranks_len || run->is_foreign ? json_null() : value_object(&recorded_metrics, &part);
}

static json_t *recording(const struct run *run)
{
    struct recording_cost c = recording_cost(run);
    return c.has || c.has_cpu ? value_object(&recording_metrics, &c) : json_null();
}

static json_t *share_of_mpi(const struct run *run)
{
    struct mpi_share m = mpi_share(run);
    return json_pack("{s:o, s:o, s:o, s:o}", "ratio", value_real(m.has, m.ratio), "because", value_reason(&m.why),
                     "time_ns", value_int(m.has, m.ns), "recorded_ns", value_int(m.wall_ns > 0, m.wall_ns));
}

static json_t *share_of_files(const struct run *run)
{
    struct file_time f = file_time(run);
    int64_t watched_ns = recorded_part(run).watched_ns;
    json_t *o = value_object(&file_time_metrics, &f);
    value_set(o, "processes_ns", value_int(watched_ns > 0, watched_ns));
    return o;
}

/* Calls that the recorder saw by itself; keys only for existing ones. */
static void put_observed(const struct run *run, json_t *o)
{
    json_t *mpi = json_array(), *files = json_array();
    int is_lost = recorded_part(run).n_ranks_lost_sums; /* the sums of the remaining calls could rank them wrongly */
    for (int i = 0; i < run->n_mpi_calls; i++) {
        json_t *call = value_object(&calls_metrics, &(struct calls_of){&run->mpi_calls[i].sum, 1});
        value_set(call, "name", value_string(run->mpi_calls[i].name));
        value_add(mpi, call);
    }
    for (int i = 0; i < run->n_files; i++) {
        const struct run_file *f = &run->files[i];
        value_add(files, json_pack("{s:o, s:o, s:o, s:o}", "name", value_string(f->name), "read",
                                   file_calls(&f->sum[DCT_IO_READ]), "write", file_calls(&f->sum[DCT_IO_WRITE]),
                                   "other", file_calls(&f->sum[DCT_IO_OTHER])));
    }
    if (run->n_mpi_calls) {
        value_set(o, "mpi_calls", is_lost ? json_null() : json_incref(mpi));
        value_set(o, "mpi_ranks", mpi_ranks(run));
        value_set(o, "mpi_share", share_of_mpi(run));
    }
    if (run->n_files) {
        value_set(o, "files", is_lost ? json_null() : json_incref(files));
        value_set(o, "files_share", share_of_files(run));
    }
    json_decref(mpi);
    json_decref(files);
}

static json_t *counted_memory_json(const struct counted_memory *m)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "gb_per_s", value_real(1, m->gb_per_s), "peak_gb_per_s",
                     value_real(m->peak_gb_per_s > 0, m->peak_gb_per_s), "used_ratio",
                     value_real(!m->why.code, m->used_ratio), "because", value_reason(&m->why));
}

static json_t *phase_counters_json(const struct phase_counters *c)
{
    return json_pack("{s:s, s:I, s:o, s:o, s:o}", "phase", c->name, "time_ns", (json_int_t)c->ns,
                     "instructions_per_cycle", value_real(c->instructions_per_cycle >= 0, c->instructions_per_cycle),
                     "stalled_ratio", value_real(c->stalled_ratio >= 0, c->stalled_ratio), "missed_gb_per_s",
                     value_real(c->missed_gb_per_s >= 0, c->missed_gb_per_s));
}

static json_t *counters_json(const struct counted_phases *c)
{
    json_t *phases = json_array();
    for (int i = 0; i < c->n; i++)
        value_add(phases, phase_counters_json(&c->phases[i]));
    return json_pack("{s:o, s:o, s:o}", "whole", phase_counters_json(&c->whole), "phases", phases, "because",
                     value_reason(&c->why));
}

static json_t *gpu_memories(const struct run_result *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n_memory; i++)
        value_add(list, value_object(&gpu_memory_metrics, &r->memory[i]));
    return list;
}

json_t *run_json(const struct run_result *r)
{
    json_t *o = value_object(&run_metrics, r);
    value_set(o, "wait_causes_ns", r->has_steps ? wait_causes(r) : json_null());
    value_set(o, "ranks", ranks(r));
    value_set(o, "phases", phases(r));
    value_set(o, "trials", trials_json(r));
    value_set(o, "gain_ns", gains(r));
    value_set(o, "classes", classes(r));
    value_set(o, "notes", notes(r));
    value_set(o, "nodes", nodes_json(r));
    value_set(o, "gpu_memory", gpu_memories(r));
    if (r->counted.gb_per_s > 0)
        value_set(o, counted_memory_key(&r->counted), counted_memory_json(&r->counted));
    if (r->counters.has)
        value_set(o, "counters", counters_json(&r->counters));
    value_set(o, "epochs", epochs(r->run));
    value_set(o, "recorded", recorded(r->run));
    value_set(o, "recording", recording(r->run));
    value_set(o, "files_total", files_total(r->run));
    put_observed(r->run, o);
    value_set(o, "provenance", provenance(r->run));
    return o;
}
