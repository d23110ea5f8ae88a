/* json_run.c - a run in report.json: steps, parts, ranks, classes, where it came from; nodes in json_nodes.c. See
 * json_values.h. */
#include "render/narrate/json_values.h"

#include "render/analyse/analyse.h"
#include "render/analyse/trials.h"
#include "render/say/say.h"

#include <math.h>
#include <string.h>

static json_t *shares(const int64_t *part, int64_t whole, unsigned known)
{
    json_t *o = json_object();
    for (int p = 0; p < N_PARTS; p++)
        value_set(o, part_key((enum part)p), value_real(whole > 0 && known >> p & 1, (double)part[p] / (double)whole));
    return o;
}

static json_t *wait_causes(const struct run_result *r)
{
    json_t *o = json_object();
    for (int c = 0; c < N_CATEGORIES; c++)
        value_set(o, c == CAT_COMM ? "outside_steps" : category_key((enum category)c),
                  json_integer(r->wait_cause_ns[c]));
    return o;
}

static json_t *judged(const struct judged *j)
{
    if (!j->by)
        return json_null();
    json_t *o = json_object();
    value_set(o, "of", value_string(judged_by_words(j->by)));
    value_set(o, "ratio", value_real(1, j->ratio));
    value_set(o, "threshold_name", value_string(j->threshold));
    value_set(o, "threshold_ratio", value_real(1, j->threshold_ratio));
    return o;
}

static json_t *classes(const struct run_result *r)
{
    json_t *o = json_object();
    for (int i = 0; i < N_CLASSES; i++) {
        const struct class_result *c = &r->classes[i];
        json_t *k = json_object();
        value_set(k, "verdict", value_string(verdict_word(c->verdict)));
        value_set(k, "share_ratio", value_real(c->has_share, c->share_ratio));
        value_set(k, "share_interval", value_interval(c->share_interval));
        value_set(k, "share_ns", value_int(c->has_share, c->share_ns));
        value_set(k, "caused_wait_ns", value_int(c->has_share, c->caused_ns));
        int64_t own = c->share_ns - c->caused_ns;
        value_set(k, "own_ns", value_int(c->has_share, own));
        value_set(k, "own_ratio",
                  value_real(c->has_share && r->step.mean_ns > 0, (double)own / (double)r->step.mean_ns));
        value_set(k, "rule", value_text(c->rule));
        value_set(k, "threshold_name", value_text(c->threshold_name));
        value_set(k, "threshold_ratio", value_real(c->threshold_ratio >= 0, c->threshold_ratio));
        value_set(k, "judged", judged(&c->judged));
        value_set(k, "gain_ns", value_int((c->has_share && i != CLASS_COMPUTE) || c->gain_ns > 0, c->gain_ns));
        value_set(k, "text", value_text(c->text));
        value_set(o, class_key((enum cause_class)i), k);
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
    value_set(o, "seconds", value_real(1, k->process_seconds));
    value_set(o, "cpu_ns", value_int(k->cpu_ns >= 0, k->cpu_ns));
    value_set(o, "run_delay_ns", value_int(k->run_delay_ns >= 0, k->run_delay_ns));
    value_set(o, "peak_rss_bytes", value_int(k->peak_rss_bytes >= 0, k->peak_rss_bytes));
    value_set(o, "involuntary_switches", value_int(k->involuntary_switches >= 0, k->involuntary_switches));
    value_set(o, "cycles", value_int(k->cycles >= 0, k->cycles));
    value_set(o, "instructions", value_int(k->instructions >= 0, k->instructions));
    value_set(o, "llc_misses", value_int(k->llc_misses >= 0, k->llc_misses));
    value_set(o, "task_clock_ns", value_int(k->task_clock_ns >= 0, k->task_clock_ns));
    value_set(o, "counters", k->counters.state ? value_string(k->counters.text) : json_null());
    return o;
}

static json_t *ranks(const struct run_result *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n_rank_results; i++) {
        const struct rank_result *k = &r->ranks[i];
        json_t *o = json_object();
        value_set(o, "rank", json_integer(k->rank));
        value_set(o, "node", value_int(k->node >= 0, k->node));
        value_set(o, "step", value_spread(&k->step));
        value_set(o, "parts_ns", value_parts(k->part_ns, known_parts(r)));
        value_set(o, "hidden_communication_ns", json_integer(k->hidden_comm_ns));
        value_set(o, "n_last", value_int(r->n_matched > 0, k->n_last));
        value_set(o, "caused_wait_ns", value_int(r->n_matched > 0, k->caused_wait_ns));
        value_set(o, "process", process(r->run, k->rank));
        value_add(list, o);
    }
    return list;
}

/* Times of the ranks, each with its number. */
static json_t *of_ranks(const struct run_result *r, const struct spread *ranks)
{
    json_t *list = json_array();
    for (int k = 0; k < r->n_rank_results; k++) {
        json_t *o = value_spread(&ranks[k]);
        value_set(o, "rank", json_integer(r->ranks[k].rank));
        value_add(list, o);
    }
    return list;
}

static json_t *share_of_step(const struct run_result *r, int64_t ns)
{
    return value_real(r->step.mean_ns > 0, (double)ns / (double)(r->step.mean_ns > 0 ? r->step.mean_ns : 1));
}

static json_t *phase_gpu(const struct run_result *r, const struct phase_result *p)
{
    if (!p->has_gpu)
        return json_null();
    json_t *o = value_spread(&p->gpu);
    value_set(o, "n_steps", json_integer(p->n_gpu_steps));
    value_set(o, "share_ratio", share_of_step(r, p->gpu.mean_ns));
    value_set(o, "ranks", of_ranks(r, p->gpu_ranks));
    return o;
}

static json_t *phases(const struct run_result *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n_phases; i++) {
        const struct phase_result *p = &r->phases[i];
        json_t *o = value_spread(&p->spread);
        value_set(o, "name", value_string(p->name));
        value_set(o, "category", p->category < N_CATEGORIES ? value_string(category_key(p->category)) : json_null());
        value_set(o, "time", value_string(p->is_whole ? "whole" : "innermost"));
        value_set(o, "n_steps", json_integer(p->n_steps));
        value_set(o, "share_ratio", share_of_step(r, p->spread.mean_ns));
        value_set(o, "ranks", of_ranks(r, p->ranks));
        value_set(o, "gpu", phase_gpu(r, p));
        value_set(o, "gpu_because", value_clause(&p->gpu_why));
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

static json_t *endings(const struct run *run)
{
    json_t *list = json_array();
    for (int i = 0; i < run->n_endings; i++)
        value_add(list, value_string(run->endings[i].text));
    return list;
}

static const char *gpu_driver(const struct run *run)
{
    for (int i = 0; i < run->nodes_len; i++)
        if (run->nodes[i].gpu_driver && *run->nodes[i].gpu_driver)
            return run->nodes[i].gpu_driver;
    return "";
}

static json_t *provenance(const struct run *run)
{
    static const char *const kinds[] = {"unknown", "machines", "one-kernel", "emulated", "emulated"};
    const struct run_program *p = &run->program;
    json_t *o = json_object();
    value_set(o, "archive", value_string(run->archive));
    value_set(o, "manifest_sha256", value_text(run->manifest_sha256));
    value_set(o, "files_sha256", value_text(run->files_sha256));
    value_set(o, "files_sha256_because", value_text(run->files_unhashed));
    value_set(o, "config_hash", value_text(run->config_hash));
    value_set(o, "is_complete", json_boolean(run->is_complete));
    value_set(o, "incomplete_because", endings(run));
    value_set(o, "node_kind", value_string(kinds[run->node_kind]));
    value_set(o, "command", strings(run->command, run->n_command));
    value_set(o, "started_s", value_real(run->started_s > 0, run->started_s));
    value_set(o, "ended_s", value_real(run->ended_s > 0, run->ended_s));
    value_set(o, "scheduler", value_text(run->scheduler));
    value_set(o, "job_id", value_text(run->job_id));
    value_set(o, "program", value_text(p->name));
    value_set(o, "program_version", value_text(p->version));
    value_set(o, "model", value_text(p->model));
    value_set(o, "precision", value_text(p->precision));
    value_set(o, "backend", value_text(p->backend));
    value_set(o, "blas", value_text(p->blas));
    value_set(o, "mpi", value_text(p->mpi));
    value_set(o, "cuda", value_text(run_version(run, p->cuda, "CUDA_VERSION")));
    value_set(o, "nccl", value_text(run_version(run, p->nccl, "NCCL_VERSION")));
    value_set(o, "gpu_driver", value_text(gpu_driver(run)));
    value_set(o, "collector_version", value_text(run->collector_version));
    value_set(o, "dataset", value_text(p->dataset));
    value_set(o, "dataset_is_generated",
              p->dataset_is_generated < 0 ? json_null() : json_boolean(p->dataset_is_generated));
    value_set(o, "parameters", value_int(p->parameters >= 0, p->parameters));
    value_set(o, "threads", value_int(p->threads >= 0, p->threads));
    value_set(o, "global_batch", value_int(p->global_batch >= 0, p->global_batch));
    value_set(o, "local_batch", value_int(p->local_batch >= 0, p->local_batch));
    value_set(o, "n_sensors", value_int(p->n_sensors >= 0, p->n_sensors));
    value_set(o, "seed", value_int(p->seed >= 0, p->seed));
    value_set(o, "flop_per_step", value_real(p->flop_per_step >= 0, p->flop_per_step));
    return o;
}

static json_t *accumulated(const struct accumulated *a)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "micro_batches", value_int(a->micro_batches > 0, a->micro_batches),
                     "steps_between", value_int(a->steps_between > 0, a->steps_between), "source",
                     value_text(a->source), "because", value_reason(&a->why));
}

/* What can be tried, and what it is forecast to bring. */
static json_t *trials_json(const struct run_result *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n_trials; i++) {
        const struct trial *t = &r->trials[i];
        json_t *o = json_object();
        value_set(o, "change", value_string(trial_key_word(t->kind)));
        value_set(o, "command", value_text(t->command));
        value_set(o, "command_because", value_clause(&t->why));
        value_set(o, "forecast_step_ns", value_int(t->has_forecast, t->step_ns));
        value_set(o, "forecast_because", value_reason(&t->forecast_why));
        value_add(list, o);
    }
    return list;
}

static void put_steps(json_t *o, const struct run_result *r)
{
    int has = r->has_steps;
    value_set(o, "steps_source", value_text(steps_source_words(r->steps_source)));
    value_set(o, "steps_because", value_reason(&r->steps_why));
    value_set(o, "n_steps", value_int(has, r->n_steps));
    value_set(o, "n_partial_steps", value_int(has, r->n_partial_steps));
    value_set(o, "n_warmup", value_int(has, r->n_warmup));
    value_set(o, "warmup_because", value_text(r->warmup_because));
    value_set(o, "n_counted", value_int(has, r->n_counted));
    value_set(o, "step", value_step(r));
    value_set(o, "step_interval_ns", value_interval(r->step_interval));
    value_set(o, "parts_ns", has ? value_parts(r->part_ns, known_parts(r)) : json_null());
    value_set(o, "parts_ratio", has ? shares(r->part_ns, r->step.mean_ns, known_parts(r)) : json_null());
    value_set(o, "communication_ns", value_int(has, r->comm_ns));
    value_set(o, "communication_interval", value_interval(r->comm_interval));
    value_set(o, "hidden_communication_ns", value_int(has, r->hidden_comm_ns));
    value_set(o, "wait_causes_ns", has ? wait_causes(r) : json_null());
    value_set(o, "ranks", ranks(r));
    value_set(o, "start_skew_estimated", value_spread(&r->skew));
    value_set(o, "start_skew_because", value_reason(has ? &r->skew_why : &r->steps_why));
    value_set(o, "phases", phases(r));
    value_set(o, "trials", trials_json(r));
    value_set(o, "straggler",
              r->straggler.has
                  ? json_pack("{s:i, s:o, s:o, s:I, s:I}", "rank", r->straggler.rank, "wins_ratio",
                              value_real(1, r->straggler.wins_ratio), "caused_ratio",
                              value_real(1, r->straggler.caused_ratio), "caused_ns", (json_int_t)r->straggler.caused_ns,
                              "as_fast_ns", (json_int_t)r->straggler.as_fast_ns)
                  : json_null());
    value_set(o, "processor",
              r->processor.has
                  ? json_pack("{s:o, s:o, s:o}", "used_cores", value_real(1, r->processor.used_cores),
                              "own_ready_cores", value_real(r->processor.own_ready >= 0, r->processor.own_ready),
                              "of_work_ratio", value_real(1, r->processor.of_work))
                  : json_null());
    value_set(o, "straggler_factor", value_real(r->straggler_x > 0, r->straggler_x));
    value_set(o, "pop", value_pop(&r->pop));
    value_set(o, "pop_because", r->pop.has ? json_null() : value_reason(&r->pop_why));
    value_set(o, "pop_host", value_pop_host(&r->pop_host));
    value_set(o, "pop_host_because", r->pop_host.has ? json_null() : value_reason(&r->pop_host_why));
    value_set(o, "accumulation", accumulated(&r->accumulation));
    value_set(o, "coverage_ratio", value_real(r->coverage_ratio > 0, r->coverage_ratio));
    value_set(o, "validation_ns", value_int(has, r->validation_ns));
    value_set(o, "io_outside_steps_ns", value_int(has, r->io_outside_ns));
    value_set(o, "wall_ns", value_int(r->wall_ns > 0, r->wall_ns));
    value_set(o, "bytes_per_step", value_real(r->bytes_per_step > 0, r->bytes_per_step));
    value_set(o, "algbw_gb_s", value_real(r->algbw_gb_s > 0, r->algbw_gb_s));
    value_set(o, "busbw_gb_s", value_real(r->busbw_gb_s > 0, r->busbw_gb_s));
    json_t *gains = json_object();
    for (int c = 0; c < N_CLASSES; c++)
        if (r->classes[c].has_share && (c != CLASS_COMPUTE || r->gain_ns[c] > 0)) /* compute cannot be removed */
            value_set(gains, class_key((enum cause_class)c), json_integer(r->gain_ns[c]));
    value_set(o, "gain_ns", gains);
}

/* Nothing is known of a kind without recorded calls, because some calls cannot be seen. */
static json_t *file_calls(const struct dct_io *io)
{
    int is_seen = io->n > 0, is_timed = is_seen && run_is_timed(io);
    return json_pack("{s:o, s:o, s:o, s:o}", "calls", value_int(is_seen, (int64_t)io->n), "bytes",
                     value_int(is_seen, (int64_t)io->bytes), "time_ns", value_int(is_timed, (int64_t)io->ns), "max_ns",
                     value_int(is_timed, (int64_t)io->max_ns));
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
    value_set(o, "because", value_clause(&e.rest_why));
    return o;
}

static json_t *calls(const struct dct_io *io)
{
    int is_timed = run_is_timed(io);
    return json_pack("{s:I, s:I, s:o, s:o}", "calls", (json_int_t)io->n, "bytes", (json_int_t)io->bytes, "time_ns",
                     value_int(is_timed, (int64_t)io->ns), "max_ns", value_int(is_timed, (int64_t)io->max_ns));
}

/* Who waits for whom shows in these. */
static json_t *mpi_ranks(const struct run *run)
{
    json_t *list = json_array();
    for (int i = 0; i < run->ranks_len; i++) {
        const struct run_rank *k = &run->ranks[i];
        value_add(list,
                  json_pack("{s:i, s:o}", "rank", k->rank, "time_ns", value_int(!rank_lost_events(k), k->mpi_ns)));
    }
    return list;
}

static json_t *recorded(const struct run *run)
{
    if (!run->ranks_len || run->is_foreign)
        return json_null();
    struct recorded part = recorded_part(run);
    int is_known = part.is_part && part.ns > 0;
    json_t *o = json_object();
    value_set(o, "is_part", json_boolean(part.is_part));
    value_set(o, "time_ns", value_int(part.ns > 0, part.ns));
    value_set(o, "processes_ns", value_int(part.watched_ns > 0, part.watched_ns));
    value_set(o, "from_ns", value_int(is_known, part.from_ns));
    value_set(o, "to_ns", value_int(is_known, part.to_ns));
    value_set(o, "n_ranks_with_loss", json_integer(part.n_ranks_lost));
    value_set(o, "n_lost_events", json_integer((json_int_t)part.n_lost));
    value_set(o, "lost_from_ns", value_int(part.n_ranks_lost && part.lost_from_ns >= 0, part.lost_from_ns));
    value_set(o, "because", value_clause(&part.why));
    return o;
}

static json_t *share_of_mpi(const struct run *run)
{
    struct mpi_share m = mpi_share(run);
    return json_pack("{s:o, s:o, s:o, s:o}", "ratio", value_real(m.has, m.ratio), "because", value_clause(&m.why),
                     "time_ns", value_int(m.has, m.ns), "recorded_ns", value_int(m.wall_ns > 0, m.wall_ns));
}

static json_t *share_of_files(const struct run *run)
{
    struct file_time f = file_time(run);
    json_t *o = json_object();
    value_set(o, "ratio", value_real(f.has, f.ratio));
    value_set(o, "because", value_clause(&f.why));
    value_set(o, "time_ns", value_int(f.has, f.ns));
    value_set(o, "read_ns", value_int(f.has, f.kind_ns[DCT_IO_READ]));
    value_set(o, "write_ns", value_int(f.has, f.kind_ns[DCT_IO_WRITE]));
    value_set(o, "other_ns", value_int(f.has, f.kind_ns[DCT_IO_OTHER]));
    int64_t watched = recorded_part(run).watched_ns;
    value_set(o, "recorded_ns", value_int(f.wall_ns > 0, f.wall_ns));
    value_set(o, "processes_ns", value_int(watched > 0, watched));
    return o;
}

/* What the recorder saw by itself; keys only where there is something. */
static void put_observed(const struct run *run, json_t *o)
{
    json_t *mpi = json_array(), *files = json_array();
    int is_lost = recorded_part(run).n_ranks_lost; /* the sums of the remaining calls could rank them wrongly */
    for (int i = 0; i < run->n_mpi_calls; i++) {
        json_t *call = calls(&run->mpi_calls[i].sum);
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

static json_t *roofline(const struct run_result *r)
{
    const struct roofline *f = &r->roofline;
    json_t *o = json_object();
    value_set(o, "because", value_reason(!f->has && !r->has_steps ? &r->steps_why : &f->why));
    value_set(o, "peaks", value_text(peaks_word(f->peaks)));
    value_set(o, "flop_per_step", value_real(f->has, f->flop));
    value_set(o, "traffic_bytes_per_step", value_real(f->has, f->bytes));
    value_set(o, "peak_gflop_per_s", value_real(f->has, f->peak_gflop_per_s));
    value_set(o, "peak_gb_per_s", value_real(f->has, f->peak_gb_per_s));
    value_set(o, "intensity_flop_per_byte", value_real(f->has, f->intensity));
    value_set(o, "ridge_flop_per_byte", value_real(f->has, f->ridge));
    value_set(o, "attainable_gflop_per_s", value_real(f->has, f->attainable_gflop_per_s));
    value_set(o, "gflop_per_s", value_real(f->has, f->gflop_per_s));
    value_set(o, "gb_per_s", value_real(f->has, f->gb_per_s));
    value_set(o, "rates_over", f->has ? value_string(f->is_of_step ? "step" : "compute") : json_null());
    value_set(o, "of_attainable_ratio", value_real(f->has && !f->of_attainable_why.code, f->of_attainable_ratio));
    value_set(o, "of_attainable_because", value_reason(&f->of_attainable_why));
    value_set(o, "mfu_ratio", value_real(f->has && !f->mfu_why.code, f->mfu_ratio));
    value_set(o, "mfu_because", value_reason(&f->mfu_why));
    value_set(o, "bound", value_text(roof_bound_key(f->bound)));
    return o;
}

static json_t *gpu_memories(const struct run_result *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n_memory; i++) {
        const struct gpu_memory *m = &r->memory[i];
        json_t *o = json_object();
        value_set(o, "node", value_int(m->node >= 0, m->node));
        value_set(o, "gpu", json_integer(m->gpu));
        value_set(o, "file", value_text(m->file));
        value_set(o, "source", value_string(memory_source_word(m->source)));
        value_set(o, "n", json_integer(m->n));
        value_set(o, "used_bytes", json_integer(m->used_bytes));
        value_set(o, "total_bytes", value_int(m->total_bytes > 0, m->total_bytes));
        value_set(o, "share_ratio", value_real(m->has_share, m->share_ratio));
        value_set(o, "state", m->state ? value_string(memory_state_word(m->state)) : json_null());
        value_set(o, "because", value_reason(&m->why));
        value_set(o, "grows", m->grows < 0 ? json_null() : json_boolean(m->grows));
        value_set(o, "grows_because", value_reason(&m->grows_why));
        value_add(list, o);
    }
    return list;
}

json_t *run_json(const struct run_result *r)
{
    json_t *o = json_object();
    value_set(o, "slug", value_string(r->slug));
    value_set(o, "label", value_string(r->label));
    value_set(o, "run_id", value_string(r->run->run_id));
    value_set(o, "n_nodes", value_int(r->n_nodes > 0, r->n_nodes));
    value_set(o, "n_ranks", value_int(r->n_ranks > 0, r->n_ranks));
    value_set(o, "series", value_int(r->series >= 0, r->series));
    value_set(o, "finding", value_text(say_finding(&r->said)));
    value_set(o, "headline", value_text(r->headline));
    value_set(o, "support", value_text(r->support));
    value_set(o, "confidence", value_string(confidence_word(r->confidence)));
    value_set(o, "confidence_because", value_text(r->confidence_because));
    value_set(o, "throughput_samples_per_s", value_real(r->has_throughput, r->throughput));
    value_set(o, "throughput_source", value_text(throughput_source_words(r)));
    value_set(o, "throughput_because", value_reason(&r->throughput_why));
    put_steps(o, r);
    value_set(o, "shared",
              r->shared.kind
                  ? json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "id", value_string(shared_key(r->shared.kind)),
                              "because", value_string(r->shared.because), "run_ratio",
                              value_real(r->shared.run_ratio >= 0, r->shared.run_ratio), "cores",
                              value_real(r->shared.machine_cores > 0, r->shared.machine_cores), "other_programs_cores",
                              value_real(r->shared.machine_cores > 0, r->shared.others_cores), "step_alone_ns",
                              value_int(r->shared.alone_ns > 0, r->shared.alone_ns))
                  : json_null());
    value_set(o, "classes", classes(r));
    value_set(o, "notes", strings(r->notes, r->n_notes));
    value_set(o, "nodes", nodes_json(r->run));
    value_set(o, "roofline", roofline(r));
    value_set(o, "gpu_memory", gpu_memories(r));
    value_set(o, "epochs", epochs(r->run));
    value_set(o, "recorded", recorded(r->run));
    value_set(o, "files_total", files_total(r->run));
    put_observed(r->run, o);
    value_set(o, "provenance", provenance(r->run));
    return o;
}
