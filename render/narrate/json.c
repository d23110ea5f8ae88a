/* json.c - report.json and profiling_analysis.json. Schema: docs/report-json.md. Keys are sorted and reals have nine
 * digits, so that equal reports are equal bytes. Nothing measured is null, never 0. */
#include "render/narrate/narrate.h"

#include "render/narrate/compare_doc.h"

#include "render/narrate/devices.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SCHEMA_VERSION = 1, REAL_DIGITS = 9 };

static json_t *real_or_null(int has, double v)
{
    return has && isfinite(v) ? json_real(v) : json_null();
}

static json_t *int_or_null(int has, int64_t v)
{
    return has ? json_integer(v) : json_null();
}

static json_t *text_or_null(const char *s)
{
    return s && *s ? json_string(s) : json_null();
}

static json_t *interval(struct interval i)
{
    return i.has ? json_pack("{s:f, s:f}", "lo", i.lo, "hi", i.hi) : json_null();
}

static json_t *spread(const struct spread *s)
{
    if (s->n == 0)
        return json_null();
    json_t *o = json_object();
    json_object_set_new(o, "n", json_integer(s->n));
    json_object_set_new(o, "mean_ns", json_integer(s->mean_ns));
    json_object_set_new(o, "median_ns", json_integer(s->median_ns));
    json_object_set_new(o, "p95_ns", json_integer(s->p95_ns));
    json_object_set_new(o, "min_ns", json_integer(s->min_ns));
    json_object_set_new(o, "max_ns", json_integer(s->max_ns));
    json_object_set_new(o, "cv_ratio", json_real(s->cv_ratio));
    return o;
}

static json_t *parts(const int64_t *part)
{
    json_t *o = json_object();
    for (int p = 0; p < N_PARTS; p++)
        json_object_set_new(o, part_key((enum part)p), json_integer(part[p]));
    return o;
}

static json_t *shares(const int64_t *part, int64_t whole)
{
    json_t *o = json_object();
    for (int p = 0; p < N_PARTS; p++)
        json_object_set_new(o, part_key((enum part)p), real_or_null(whole > 0, (double)part[p] / (double)whole));
    return o;
}

static json_t *pop(const struct pop *p)
{
    if (!p->has)
        return json_null();
    json_t *o = json_object();
    json_object_set_new(o, "parallel_ratio", json_real(p->parallel_ratio));
    json_object_set_new(o, "load_balance_ratio", json_real(p->load_balance_ratio));
    json_object_set_new(o, "communication_ratio", json_real(p->communication_ratio));
    json_object_set_new(o, "serialization_ratio_estimated", json_real(p->serialization_ratio));
    json_object_set_new(o, "transfer_ratio_estimated", json_real(p->transfer_ratio));
    json_object_set_new(o, "useful_mean_ns", json_integer(p->useful_mean_ns));
    json_object_set_new(o, "useful_max_ns", json_integer(p->useful_max_ns));
    json_object_set_new(o, "computation_scaling_ratio", real_or_null(p->has_scaling, p->computation_scaling_ratio));
    json_object_set_new(o, "global_ratio", real_or_null(p->has_scaling, p->global_ratio));
    return o;
}

static json_t *sampled(const struct sampled *s)
{
    if (s->n == 0)
        return json_null();
    return json_pack("{s:I, s:f, s:f, s:f}", "n", (json_int_t)s->n, "mean", s->sum / (double)s->n, "min", s->min, "max",
                     s->max);
}

static json_t *wait_causes(const struct run_result *r)
{
    json_t *o = json_object();
    for (int c = 0; c < N_CATEGORIES; c++)
        json_object_set_new(o, c == CAT_COMM ? "outside_steps" : category_key((enum category)c),
                            json_integer(r->wait_cause_ns[c]));
    return o;
}

static json_t *classes(const struct run_result *r)
{
    json_t *o = json_object();
    for (int i = 0; i < N_CLASSES; i++) {
        const struct class_result *c = &r->classes[i];
        json_t *k = json_object();
        json_object_set_new(k, "verdict", json_string(verdict_word(c->verdict)));
        json_object_set_new(k, "share_ratio", real_or_null(c->has_share, c->share_ratio));
        json_object_set_new(k, "share_interval", interval(c->share_interval));
        json_object_set_new(k, "share_ns", int_or_null(c->has_share, c->share_ns));
        json_object_set_new(k, "rule", text_or_null(c->rule));
        json_object_set_new(k, "threshold_name", text_or_null(c->threshold_name));
        json_object_set_new(k, "threshold_ratio", real_or_null(c->threshold_ratio >= 0, c->threshold_ratio));
        json_object_set_new(k, "gain_ns",
                            int_or_null((c->has_share && i != CLASS_COMPUTE) || c->gain_ns > 0, c->gain_ns));
        json_object_set_new(k, "text", text_or_null(c->text));
        json_object_set_new(o, class_key((enum cause_class)i), k);
    }
    return o;
}

/* What the process monitor of a rank saw. */
static json_t *process(const struct run *run, int rank)
{
    const struct run_rank *k = NULL;
    for (int i = 0; i < run->ranks_len; i++)
        if (run->ranks[i].rank == rank)
            k = &run->ranks[i];
    if (!k || k->process_seconds <= 0)
        return json_null();
    json_t *o = json_object();
    json_object_set_new(o, "seconds", json_real(k->process_seconds));
    json_object_set_new(o, "cpu_ns", int_or_null(k->cpu_ns >= 0, k->cpu_ns));
    json_object_set_new(o, "run_delay_ns", int_or_null(k->run_delay_ns >= 0, k->run_delay_ns));
    json_object_set_new(o, "peak_rss_bytes", int_or_null(k->peak_rss_bytes >= 0, k->peak_rss_bytes));
    json_object_set_new(o, "involuntary_switches", int_or_null(k->involuntary_switches >= 0, k->involuntary_switches));
    json_object_set_new(o, "cycles", int_or_null(k->cycles >= 0, k->cycles));
    json_object_set_new(o, "instructions", int_or_null(k->instructions >= 0, k->instructions));
    json_object_set_new(o, "llc_misses", int_or_null(k->llc_misses >= 0, k->llc_misses));
    json_object_set_new(o, "task_clock_ns", int_or_null(k->task_clock_ns >= 0, k->task_clock_ns));
    json_object_set_new(o, "counters", *k->counters_status ? json_string(k->counters_status) : json_null());
    return o;
}

static json_t *ranks(const struct run_result *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n_rank_results; i++) {
        const struct rank_result *k = &r->ranks[i];
        json_t *o = json_object();
        json_object_set_new(o, "rank", json_integer(k->rank));
        json_object_set_new(o, "node", int_or_null(k->node >= 0, k->node));
        json_object_set_new(o, "step", spread(&k->step));
        json_object_set_new(o, "parts_ns", parts(k->part_ns));
        json_object_set_new(o, "hidden_communication_ns", json_integer(k->hidden_comm_ns));
        json_object_set_new(o, "n_last", json_integer(k->n_last));
        json_object_set_new(o, "caused_wait_ns", json_integer(k->caused_wait_ns));
        json_object_set_new(o, "process", process(r->run, k->rank));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *phases(const struct run_result *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n_phases; i++) {
        const struct phase_result *p = &r->phases[i];
        json_t *o = spread(&p->spread), *of_ranks = json_array();
        json_object_set_new(o, "name", json_string(p->name));
        json_object_set_new(o, "category", json_string(category_key(p->category)));
        json_object_set_new(o, "n_steps", json_integer(p->n_steps));
        json_object_set_new(o, "share_ratio",
                            real_or_null(r->step.mean_ns > 0, (double)p->spread.mean_ns / (double)r->step.mean_ns));
        for (int k = 0; k < r->n_rank_results; k++) {
            json_t *q = spread(&p->ranks[k]);
            json_object_set_new(q, "rank", json_integer(r->ranks[k].rank));
            json_array_append_new(of_ranks, q);
        }
        json_object_set_new(o, "ranks", of_ranks);
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *traffic(const struct run_traffic *t, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:o, s:o, s:f}", "name", t[i].name, "in_bytes",
                                        int_or_null(t[i].in_bytes >= 0, t[i].in_bytes), "out_bytes",
                                        int_or_null(t[i].out_bytes >= 0, t[i].out_bytes), "seconds", t[i].seconds));
    return list;
}

static json_t *gpus(const struct run_node *n)
{
    json_t *list = json_array();
    for (int i = 0; i < n->n_gpus; i++) {
        const struct run_gpu *g = &n->gpus[i];
        json_array_append_new(
            list, json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "gpu", g->gpu_id, "utilization_percent",
                            sampled(&g->utilization_percent), "memory_used_mb", sampled(&g->memory_used_mb),
                            "memory_total_mb", sampled(&g->memory_total_mb), "power_w", sampled(&g->power_w),
                            "temperature_c", sampled(&g->temperature_c), "sm_clock_mhz", sampled(&g->sm_clock_mhz)));
    }
    return list;
}

/* How far the node's clock is from the reference's, from the first look to the last. */
static json_t *clock_of(const struct dcr_clock *c)
{
    double ppm, error_ppm;
    int has_drift = dcr_clock_drift(c, &ppm, &error_ppm) == 0;
    json_t *o = json_object();
    json_object_set_new(o, "reference", text_or_null(c->reference));
    json_object_set_new(o, "n", json_integer(c->n));
    json_object_set_new(o, "first_offset_ns", json_integer(c->points[0].offset_ns));
    json_object_set_new(o, "last_offset_ns", json_integer(c->points[c->n - 1].offset_ns));
    json_object_set_new(o, "error_ns", json_integer(dcr_clock_error(c)));
    json_object_set_new(o, "drift_ppm", has_drift ? json_real(ppm) : json_null());
    json_object_set_new(o, "drift_error_ppm", has_drift ? json_real(error_ppm) : json_null());
    return o;
}

static json_t *nodes(const struct run *run)
{
    json_t *list = json_array();
    for (int i = 0; i < run->nodes_len; i++) {
        const struct run_node *n = &run->nodes[i];
        json_t *o = json_object();
        json_object_set_new(o, "node", json_integer(n->node));
        json_object_set_new(o, "host", text_or_null(n->host));
        json_object_set_new(o, "cpu_model", text_or_null(n->cpu_model));
        json_object_set_new(o, "kernel", text_or_null(n->kernel));
        json_object_set_new(o, "cores", int_or_null(n->cores > 0, n->cores));
        json_object_set_new(o, "cores_allowed", int_or_null(n->cores_allowed > 0, n->cores_allowed));
        json_object_set_new(o, "memory_bytes", int_or_null(n->memory_bytes > 0, n->memory_bytes));
        json_object_set_new(o, "cpu_percent", sampled(&n->cpu_percent));
        json_object_set_new(o, "memory_percent", sampled(&n->memory_percent));
        json_object_set_new(o, "iowait_percent", sampled(&n->iowait_percent));
        json_object_set_new(o, "steal_percent", sampled(&n->steal_percent));
        json_object_set_new(o, "throttled_ns", int_or_null(n->throttled_ns >= 0, n->throttled_ns));
        json_object_set_new(o, "nr_throttled", int_or_null(n->nr_throttled >= 0, n->nr_throttled));
        json_object_set_new(o, "gpus", gpus(n));
        json_object_set_new(o, "network", traffic(n->net, n->n_net));
        json_object_set_new(o, "disks", traffic(n->disk, n->n_disk));
        if (n->clock.n)
            json_object_set_new(o, "clock", clock_of(&n->clock));
        json_array_append_new(list, o);
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
            json_object_set_new(o, names[m], real_or_null(!isnan(run->epochs[i].value[m]), run->epochs[i].value[m]));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *strings(const char *const *s, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_string(s[i]));
    return list;
}

static json_t *archives_before(const struct report *rep)
{
    json_t *list = json_array();
    for (int i = 0; i < rep->n_before; i++) {
        json_t *o = json_object();
        json_object_set_new(o, "archive", json_string(rep->before[i].archive));
        json_object_set_new(o, "manifest_sha256", text_or_null(rep->before[i].manifest_sha256));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *provenance(const struct run *run)
{
    static const char *const kinds[] = {"unknown", "machines", "one-kernel", "emulated"};
    const struct run_program *p = &run->program;
    json_t *o = json_object();
    json_object_set_new(o, "archive", json_string(run->archive));
    json_object_set_new(o, "manifest_sha256", text_or_null(run->manifest_sha256));
    json_object_set_new(o, "config_hash", text_or_null(run->config_hash));
    json_object_set_new(o, "is_complete", json_boolean(run->is_complete));
    json_object_set_new(o, "incomplete_because", strings(run->incomplete_because, run->n_incomplete_because));
    json_object_set_new(o, "node_kind", json_string(kinds[run->node_kind]));
    json_object_set_new(o, "command", strings(run->command, run->n_command));
    json_object_set_new(o, "started_s", real_or_null(run->started_s > 0, run->started_s));
    json_object_set_new(o, "ended_s", real_or_null(run->ended_s > 0, run->ended_s));
    json_object_set_new(o, "scheduler", text_or_null(run->scheduler));
    json_object_set_new(o, "job_id", text_or_null(run->job_id));
    json_object_set_new(o, "program", text_or_null(p->name));
    json_object_set_new(o, "program_version", text_or_null(p->version));
    json_object_set_new(o, "model", text_or_null(p->model));
    json_object_set_new(o, "precision", text_or_null(p->precision));
    json_object_set_new(o, "backend", text_or_null(p->backend));
    json_object_set_new(o, "blas", text_or_null(p->blas));
    json_object_set_new(o, "dataset", text_or_null(p->dataset));
    json_object_set_new(o, "dataset_is_generated",
                        p->dataset_is_generated < 0 ? json_null() : json_boolean(p->dataset_is_generated));
    json_object_set_new(o, "parameters", int_or_null(p->parameters >= 0, p->parameters));
    json_object_set_new(o, "threads", int_or_null(p->threads >= 0, p->threads));
    json_object_set_new(o, "global_batch", int_or_null(p->global_batch >= 0, p->global_batch));
    json_object_set_new(o, "local_batch", int_or_null(p->local_batch >= 0, p->local_batch));
    json_object_set_new(o, "n_sensors", int_or_null(p->n_sensors >= 0, p->n_sensors));
    json_object_set_new(o, "seed", int_or_null(p->seed >= 0, p->seed));
    json_object_set_new(o, "flop_per_step", real_or_null(p->flop_per_step >= 0, p->flop_per_step));
    return o;
}

static void put_steps(json_t *o, const struct run_result *r)
{
    int has = r->has_steps;
    json_object_set_new(o, "steps_source", text_or_null(r->steps_source));
    json_object_set_new(o, "steps_because", text_or_null(r->steps_because));
    json_object_set_new(o, "n_steps", int_or_null(has, r->n_steps));
    json_object_set_new(o, "n_partial_steps", int_or_null(has, r->n_partial_steps));
    json_object_set_new(o, "n_warmup", int_or_null(has, r->n_warmup));
    json_object_set_new(o, "warmup_because", text_or_null(r->warmup_because));
    json_object_set_new(o, "n_counted", int_or_null(has, r->n_counted));
    json_object_set_new(o, "step", spread(&r->step));
    json_object_set_new(o, "step_interval_ns", interval(r->step_interval));
    json_object_set_new(o, "parts_ns", has ? parts(r->part_ns) : json_null());
    json_object_set_new(o, "parts_ratio", has ? shares(r->part_ns, r->step.mean_ns) : json_null());
    json_object_set_new(o, "communication_ns", int_or_null(has, r->comm_ns));
    json_object_set_new(o, "communication_interval", interval(r->comm_interval));
    json_object_set_new(o, "hidden_communication_ns", int_or_null(has, r->hidden_comm_ns));
    json_object_set_new(o, "wait_causes_ns", has ? wait_causes(r) : json_null());
    json_object_set_new(o, "ranks", ranks(r));
    json_object_set_new(o, "phases", phases(r));
    json_object_set_new(o, "straggler",
                        r->straggler.has ? json_pack("{s:i, s:f, s:f, s:I}", "rank", r->straggler.rank, "wins_ratio",
                                                     r->straggler.wins_ratio, "caused_ratio", r->straggler.caused_ratio,
                                                     "caused_ns", (json_int_t)r->straggler.caused_ns)
                                         : json_null());
    json_object_set_new(o, "straggler_factor", real_or_null(r->straggler_x > 0, r->straggler_x));
    json_object_set_new(o, "pop", pop(&r->pop));
    json_object_set_new(o, "coverage_ratio", real_or_null(r->coverage_ratio > 0, r->coverage_ratio));
    json_object_set_new(o, "validation_ns", int_or_null(has, r->validation_ns));
    json_object_set_new(o, "io_outside_steps_ns", int_or_null(has, r->io_outside_ns));
    json_object_set_new(o, "wall_ns", int_or_null(r->wall_ns > 0, r->wall_ns));
    json_object_set_new(o, "bytes_per_step", real_or_null(r->bytes_per_step > 0, r->bytes_per_step));
    json_object_set_new(o, "algbw_gb_s", real_or_null(r->algbw_gb_s > 0, r->algbw_gb_s));
    json_object_set_new(o, "busbw_gb_s", real_or_null(r->busbw_gb_s > 0, r->busbw_gb_s));
    json_t *gains = json_object();
    for (int c = 0; c < N_CLASSES; c++)
        if (r->classes[c].has_share && c != CLASS_COMPUTE) /* compute cannot be removed */
            json_object_set_new(gains, class_key((enum cause_class)c), json_integer(r->gain_ns[c]));
    json_object_set_new(o, "gain_ns", gains);
}

/* Small calls of stdio are counted and not timed. */
static json_t *calls(const struct dct_io *io)
{
    int is_timed = io->ns > 0 || io->n == 0;
    return json_pack("{s:I, s:I, s:o, s:o}", "calls", (json_int_t)io->n, "bytes", (json_int_t)io->bytes, "time_ns",
                     int_or_null(is_timed, (int64_t)io->ns), "max_ns", int_or_null(is_timed, (int64_t)io->max_ns));
}

/* What the recorder saw by itself; keys only where there is something. */
static void put_observed(const struct run *run, json_t *o)
{
    json_t *mpi = json_array(), *files = json_array();
    for (int i = 0; i < run->n_mpi_calls; i++) {
        json_t *call = calls(&run->mpi_calls[i].sum);
        json_object_set_new(call, "name", json_string(run->mpi_calls[i].name));
        json_array_append_new(mpi, call);
    }
    for (int i = 0; i < run->n_files; i++) {
        const struct run_file *f = &run->files[i];
        json_array_append_new(files,
                              json_pack("{s:s, s:o, s:o, s:o}", "name", f->name, "read", calls(&f->sum[DCT_IO_READ]),
                                        "write", calls(&f->sum[DCT_IO_WRITE]), "other", calls(&f->sum[DCT_IO_OTHER])));
    }
    if (run->n_mpi_calls)
        json_object_set(o, "mpi_calls", mpi);
    if (run->n_files)
        json_object_set(o, "files", files);
    json_decref(mpi);
    json_decref(files);
}

static json_t *run_object(const struct run_result *r)
{
    json_t *o = json_object();
    json_object_set_new(o, "slug", json_string(r->slug));
    json_object_set_new(o, "label", json_string(r->label));
    json_object_set_new(o, "run_id", json_string(r->run->run_id));
    json_object_set_new(o, "n_nodes", int_or_null(r->n_nodes > 0, r->n_nodes));
    json_object_set_new(o, "n_ranks", int_or_null(r->n_ranks > 0, r->n_ranks));
    json_object_set_new(o, "series", int_or_null(r->series >= 0, r->series));
    json_object_set_new(o, "headline", text_or_null(r->headline));
    json_object_set_new(o, "support", text_or_null(r->support));
    json_object_set_new(o, "throughput_samples_per_s", real_or_null(r->has_throughput, r->throughput));
    json_object_set_new(o, "throughput_source", text_or_null(r->throughput_source));
    json_object_set_new(o, "throughput_because", text_or_null(r->throughput_because));
    put_steps(o, r);
    json_object_set_new(o, "shared",
                        *r->shared.id
                            ? json_pack("{s:s, s:s, s:o}", "id", r->shared.id, "because", r->shared.because,
                                        "run_ratio", real_or_null(r->shared.run_ratio >= 0, r->shared.run_ratio))
                            : json_null());
    json_object_set_new(o, "classes", classes(r));
    json_object_set_new(o, "notes", strings(r->notes, r->n_notes));
    json_object_set_new(o, "nodes", nodes(r->run));
    json_object_set_new(o, "epochs", epochs(r->run));
    put_observed(r->run, o);
    json_object_set_new(o, "provenance", provenance(r->run));
    return o;
}

static json_t *claim_object(const struct report *rep, const struct claim *c)
{
    json_t *o = json_object(), *numbers = json_array();
    for (int i = 0; i < c->n_numbers; i++)
        json_array_append_new(numbers, json_pack("{s:s, s:s, s:f}", "id", c->numbers[i].id, "unit", c->numbers[i].unit,
                                                 "value", c->numbers[i].value));
    json_object_set_new(o, "id", json_string(c->id));
    json_object_set_new(o, "class", json_string(class_key(c->cls)));
    json_object_set_new(o, "run", c->run >= 0 ? json_string(rep->runs[c->run].slug) : json_null());
    json_object_set_new(o, "series", int_or_null(c->series >= 0, c->series));
    json_object_set_new(o, "sentence", json_string(c->sentence));
    json_object_set_new(o, "support", text_or_null(c->support));
    json_object_set_new(o, "numbers", numbers);
    json_object_set_new(o, "threshold_ratio", real_or_null(c->threshold_ratio >= 0, c->threshold_ratio));
    json_object_set_new(o, "confidence", json_string(confidence_word(c->confidence)));
    json_object_set_new(o, "confidence_because", text_or_null(c->confidence_because));
    json_object_set_new(o, "evidence", text_or_null(c->evidence));
    json_object_set_new(o, "action", text_or_null(c->action.ours));
    json_object_set_new(o, "action_generic", text_or_null(c->action.generic));
    json_object_set_new(o, "gain_ns", int_or_null(c->has_gain, c->gain_ns));
    json_object_set_new(o, "step_ns", json_integer(c->step_ns));
    json_object_set_new(o, "gain_text", text_or_null(c->gain_text));
    return o;
}

static json_t *point_object(const struct report *rep, const struct series_point *p)
{
    json_t *o = json_object(), *runs = json_array();
    for (int i = 0; i < p->n_runs; i++)
        json_array_append_new(runs, json_string(rep->runs[p->runs[i]].slug));
    json_object_set_new(o, "n_nodes", int_or_null(p->n_nodes > 0, p->n_nodes));
    json_object_set_new(o, "n_ranks", int_or_null(p->n_ranks > 0, p->n_ranks));
    json_object_set_new(o, "runs", runs);
    json_object_set_new(o, "step", spread(&p->step));
    json_object_set_new(o, "step_interval_ns", interval(p->step_interval));
    json_object_set_new(o, "parts_ns", p->step.n ? parts(p->part_ns) : json_null());
    json_object_set_new(o, "throughput_samples_per_s", real_or_null(p->has_throughput, p->throughput));
    json_object_set_new(o, "speedup", real_or_null(p->speedup > 0, p->speedup));
    json_object_set_new(o, "speedup_interval", interval(p->speedup_interval));
    json_object_set_new(o, "efficiency", real_or_null(p->efficiency > 0, p->efficiency));
    json_object_set_new(o, "efficiency_interval", interval(p->efficiency_interval));
    json_object_set_new(o, "compute_speedup", real_or_null(p->compute_speedup > 0, p->compute_speedup));
    json_object_set_new(o, "pop", pop(&p->pop));
    return o;
}

static json_t *loss_class_object(const struct series_loss *l)
{
    static const char *const keys[] = {
#define X(id, key) key,
        LOSS_CLASSES(X)
#undef X
    };
    json_t *o = json_object();
    for (int c = 0; c < N_LOSS_CLASSES; c++)
        json_object_set_new(o, keys[c], c == LOST_HOST && !l->has_host ? json_null() : json_integer(l->class_ns[c]));
    return o;
}

static json_t *laws_array(const struct series *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->n_laws; i++) {
        const struct law *l = &s->laws[i];
        json_t *o = json_object(), *parameters = json_object();
        for (int k = 0; k < l->n_parameters; k++) {
            char key[64];
            snprintf(key, sizeof key, "%s_%s", l->parameters[k].id, l->parameters[k].unit);
            json_object_set_new(parameters, key, json_real(l->parameters[k].value));
        }
        json_object_set_new(o, "id", json_string(l->id));
        json_object_set_new(o, "name", json_string(l->name));
        json_object_set_new(o, "because", text_or_null(l->because));
        json_object_set_new(o, "parameters", parameters);
        json_object_set_new(o, "residual_ratio", real_or_null(l->has, l->residual_ratio));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *extrapolation(const struct series *s)
{
    json_t *o = json_object(), *list = json_array();
    for (int i = 0; i < s->n_ahead; i++) {
        const struct extrapolation *e = &s->ahead[i];
        json_array_append_new(list, json_pack("{s:i, s:f, s:f, s:o}", "n_nodes", e->n_nodes, "speedup", e->speedup,
                                              "efficiency", e->efficiency, "speedup_interval",
                                              interval(e->speedup_interval)));
    }
    json_object_set_new(o, "law", text_or_null(s->extrapolated_by));
    json_object_set_new(o, "because", text_or_null(s->extrapolation_because));
    json_object_set_new(o, "points", list);
    return o;
}

static json_t *series_object(const struct report *rep, const struct series *s)
{
    json_t *o = json_object(), *points = json_array(), *losses = json_array();
    for (int i = 0; i < s->n_points; i++)
        json_array_append_new(points, point_object(rep, &s->points[i]));
    for (int i = 0; i < s->n_losses; i++) {
        const struct series_loss *l = &s->losses[i];
        json_array_append_new(losses,
                              json_pack("{s:i, s:i, s:I, s:I, s:I, s:o, s:o, s:s}", "from_nodes",
                                        s->points[l->from].n_nodes, "to_nodes", s->points[l->to].n_nodes, "ideal_ns",
                                        (json_int_t)l->ideal_ns, "actual_ns", (json_int_t)l->actual_ns, "loss_ns",
                                        (json_int_t)l->loss_ns, "parts_ns", parts(l->part_ns), "classes_ns",
                                        loss_class_object(l), "largest", part_key((enum part)l->largest)));
    }
    json_object_set_new(o, "label", json_string(s->label));
    json_object_set_new(o, "scaling", json_string(scaling_word(s->kind)));
    json_object_set_new(o, "scaling_because", text_or_null(s->kind_because));
    json_object_set_new(o, "points", points);
    json_object_set_new(o, "losses", losses);
    json_object_set_new(o, "losses_because", text_or_null(s->losses_because));
    json_object_set_new(o, "laws", laws_array(s));
    json_object_set_new(o, "extrapolation", extrapolation(s));
    json_object_set_new(o, "limit_claim",
                        s->limit_claim >= 0 ? json_string(rep->claims[s->limit_claim].id) : json_null());
    json_object_set_new(o, "headline", text_or_null(s->headline));
    json_object_set_new(o, "support", text_or_null(s->support));
    json_object_set_new(o, "scaling_text", text_or_null(s->scaling_text));
    json_object_set_new(o, "beyond_text", text_or_null(s->beyond_text));
    return o;
}

/* run < 0: all notes; else those of the run and those about all runs. */
static json_t *notes(const struct report *rep, int run)
{
    json_t *list = json_array();
    for (int i = 0; i < rep->n_notes; i++) {
        const struct note *n = &rep->notes[i];
        if (run >= 0 && n->run >= 0 && n->run != run)
            continue;
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:o, s:s}", "kind", n->kind == NOTE_GAP ? "gap" : "caveat", "id", n->id, "run",
                            n->run >= 0 ? json_string(rep->runs[n->run].slug) : json_null(), "text", n->text));
    }
    return list;
}

static json_t *thresholds(const struct thresholds *t)
{
    json_t *o = json_object();
#define X(name, def, lo, hi, meaning) json_object_set_new(o, #name, json_real(t->name));
    THRESHOLDS(X)
#undef X
    return o;
}

static json_t *header(const char *format)
{
    return json_pack("{s:s, s:i, s:s}", "format", format, "version", SCHEMA_VERSION, "generator",
                     "dcreport " DCR_VERSION);
}

static int put_bytes(const char *bytes, size_t n, void *out)
{
    dcr_buf_add(out, bytes, n);
    return 0;
}

static void dump(json_t *root, struct dcr_buf *out)
{
    if (json_dump_callback(root, put_bytes, out, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(REAL_DIGITS)))
        out->failed = 1;
    dcr_buf_putc(out, '\n');
    json_decref(root);
}

void narrate_report_json(const struct report *rep, struct dcr_buf *out)
{
    json_t *o = header("dcreport-report"), *runs = json_array(), *series = json_array(), *claims = json_array();
    for (int i = 0; i < rep->n_runs; i++)
        json_array_append_new(runs, run_object(&rep->runs[i]));
    for (int i = 0; i < rep->n_series; i++)
        json_array_append_new(series, series_object(rep, &rep->series[i]));
    for (int i = 0; i < rep->n_claims; i++)
        json_array_append_new(claims, claim_object(rep, &rep->claims[i]));
    json_object_set_new(o, "title", json_string(rep->title));
    json_object_set_new(o, "baseline", text_or_null(rep->baseline));
    json_object_set_new(o, "baseline_archives", archives_before(rep));
    json_object_set_new(o, "comparisons", comparisons_json(rep));
    json_object_set_new(o, "unit", json_string(rep->unit));
    json_object_set_new(o, "node_label", text_or_null(rep->node_label));
    json_object_set_new(o, "headline", text_or_null(rep->headline));
    json_object_set_new(o, "support", text_or_null(rep->support));
    json_object_set_new(o, "first_action", text_or_null(rep->first_action));
    json_object_set_new(o, "how_sure", text_or_null(rep->how_sure));
    json_object_set_new(o, "verdict", text_or_null(rep->verdict));
    json_object_set_new(o, "thresholds", thresholds(&rep->thresholds));
    json_object_set_new(o, "notes", notes(rep, -1));
    json_object_set_new(o, "runs", runs);
    json_object_set_new(o, "series", series);
    json_object_set_new(o, "claims", claims);
    json_object_set_new(o, "devices", devices_json(rep));
    json_object_set_new(o, "operators", operators_json(rep));
    json_object_set_new(o, "evidence", evidence_json(rep));
    dump(o, out);
}

void narrate_profiling_analysis_json(const struct report *rep, const struct run_result *run, struct dcr_buf *out)
{
    json_t *o = header("dcreport-run-analysis"), *claims = json_array();
    int index = (int)(run - rep->runs);
    for (int i = 0; i < run->n_claims; i++)
        json_array_append_new(claims, claim_object(rep, &rep->claims[run->claims[i]]));
    json_object_set_new(o, "run", run_object(run));
    json_object_set_new(o, "claims", claims);
    json_object_set_new(o, "notes", notes(rep, index));
    json_object_set_new(o, "thresholds", thresholds(&rep->thresholds));
    dump(o, out);
}
