/* json_run.c - a run in report.json: steps, parts, ranks, classes, where it came from; nodes in json_nodes.c. See
 * json_values.h. */
#include "render/narrate/json_values.h"

#include "render/analyse/analyse.h"

#include <math.h>
#include <string.h>

static json_t *shares(const int64_t *part, int64_t whole, unsigned known)
{
    json_t *o = json_object();
    for (int p = 0; p < N_PARTS; p++)
        json_object_set_new(o, part_key((enum part)p),
                            value_real(whole > 0 && known >> p & 1, (double)part[p] / (double)whole));
    return o;
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
        json_object_set_new(k, "share_ratio", value_real(c->has_share, c->share_ratio));
        json_object_set_new(k, "share_interval", value_interval(c->share_interval));
        json_object_set_new(k, "share_ns", value_int(c->has_share, c->share_ns));
        json_object_set_new(k, "caused_wait_ns", value_int(c->has_share, c->caused_ns));
        int64_t own = c->share_ns - c->caused_ns;
        json_object_set_new(k, "own_ns", value_int(c->has_share, own));
        json_object_set_new(k, "own_ratio",
                            value_real(c->has_share && r->step.mean_ns > 0, (double)own / (double)r->step.mean_ns));
        json_object_set_new(k, "rule", value_text(c->rule));
        json_object_set_new(k, "threshold_name", value_text(c->threshold_name));
        json_object_set_new(k, "threshold_ratio", value_real(c->threshold_ratio >= 0, c->threshold_ratio));
        json_object_set_new(k, "gain_ns",
                            value_int((c->has_share && i != CLASS_COMPUTE) || c->gain_ns > 0, c->gain_ns));
        json_object_set_new(k, "text", value_text(c->text));
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
    json_object_set_new(o, "cpu_ns", value_int(k->cpu_ns >= 0, k->cpu_ns));
    json_object_set_new(o, "run_delay_ns", value_int(k->run_delay_ns >= 0, k->run_delay_ns));
    json_object_set_new(o, "peak_rss_bytes", value_int(k->peak_rss_bytes >= 0, k->peak_rss_bytes));
    json_object_set_new(o, "involuntary_switches", value_int(k->involuntary_switches >= 0, k->involuntary_switches));
    json_object_set_new(o, "cycles", value_int(k->cycles >= 0, k->cycles));
    json_object_set_new(o, "instructions", value_int(k->instructions >= 0, k->instructions));
    json_object_set_new(o, "llc_misses", value_int(k->llc_misses >= 0, k->llc_misses));
    json_object_set_new(o, "task_clock_ns", value_int(k->task_clock_ns >= 0, k->task_clock_ns));
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
        json_object_set_new(o, "node", value_int(k->node >= 0, k->node));
        json_object_set_new(o, "step", value_spread(&k->step));
        json_object_set_new(o, "parts_ns", value_parts(k->part_ns, known_parts(r)));
        json_object_set_new(o, "hidden_communication_ns", json_integer(k->hidden_comm_ns));
        json_object_set_new(o, "n_last", value_int(r->n_matched > 0, k->n_last));
        json_object_set_new(o, "caused_wait_ns", value_int(r->n_matched > 0, k->caused_wait_ns));
        json_object_set_new(o, "process", process(r->run, k->rank));
        json_array_append_new(list, o);
    }
    return list;
}

/* Times of the ranks, each with its number. */
static json_t *of_ranks(const struct run_result *r, const struct spread *ranks)
{
    json_t *list = json_array();
    for (int k = 0; k < r->n_rank_results; k++) {
        json_t *o = value_spread(&ranks[k]);
        json_object_set_new(o, "rank", json_integer(r->ranks[k].rank));
        json_array_append_new(list, o);
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
    json_object_set_new(o, "n_steps", json_integer(p->n_gpu_steps));
    json_object_set_new(o, "share_ratio", share_of_step(r, p->gpu.mean_ns));
    json_object_set_new(o, "ranks", of_ranks(r, p->gpu_ranks));
    return o;
}

static json_t *phases(const struct run_result *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n_phases; i++) {
        const struct phase_result *p = &r->phases[i];
        json_t *o = value_spread(&p->spread);
        json_object_set_new(o, "name", json_string(p->name));
        json_object_set_new(o, "category",
                            p->category < N_CATEGORIES ? json_string(category_key(p->category)) : json_null());
        json_object_set_new(o, "time", json_string(p->is_whole ? "whole" : "innermost"));
        json_object_set_new(o, "n_steps", json_integer(p->n_steps));
        json_object_set_new(o, "share_ratio", share_of_step(r, p->spread.mean_ns));
        json_object_set_new(o, "ranks", of_ranks(r, p->ranks));
        json_object_set_new(o, "gpu", phase_gpu(r, p));
        json_object_set_new(o, "gpu_because", p->has_gpu ? json_null() : json_string(phase_gpu_because(r, p)));
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
            json_object_set_new(o, names[m], value_real(!isnan(run->epochs[i].value[m]), run->epochs[i].value[m]));
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

static const char *gpu_driver(const struct run *run)
{
    for (int i = 0; i < run->nodes_len; i++)
        if (run->nodes[i].gpu_driver && *run->nodes[i].gpu_driver)
            return run->nodes[i].gpu_driver;
    return "";
}

static json_t *provenance(const struct run *run)
{
    static const char *const kinds[] = {"unknown", "machines", "one-kernel", "emulated"};
    const struct run_program *p = &run->program;
    json_t *o = json_object();
    json_object_set_new(o, "archive", json_string(run->archive));
    json_object_set_new(o, "manifest_sha256", value_text(run->manifest_sha256));
    json_object_set_new(o, "files_sha256", value_text(run->files_sha256));
    json_object_set_new(o, "files_sha256_because", value_text(run->files_unhashed));
    json_object_set_new(o, "config_hash", value_text(run->config_hash));
    json_object_set_new(o, "is_complete", json_boolean(run->is_complete));
    json_object_set_new(o, "incomplete_because", strings(run->incomplete_because, run->n_incomplete_because));
    json_object_set_new(o, "node_kind", json_string(kinds[run->node_kind]));
    json_object_set_new(o, "command", strings(run->command, run->n_command));
    json_object_set_new(o, "started_s", value_real(run->started_s > 0, run->started_s));
    json_object_set_new(o, "ended_s", value_real(run->ended_s > 0, run->ended_s));
    json_object_set_new(o, "scheduler", value_text(run->scheduler));
    json_object_set_new(o, "job_id", value_text(run->job_id));
    json_object_set_new(o, "program", value_text(p->name));
    json_object_set_new(o, "program_version", value_text(p->version));
    json_object_set_new(o, "model", value_text(p->model));
    json_object_set_new(o, "precision", value_text(p->precision));
    json_object_set_new(o, "backend", value_text(p->backend));
    json_object_set_new(o, "blas", value_text(p->blas));
    json_object_set_new(o, "mpi", value_text(p->mpi));
    json_object_set_new(o, "cuda", value_text(run_version(run, p->cuda, "CUDA_VERSION")));
    json_object_set_new(o, "nccl", value_text(run_version(run, p->nccl, "NCCL_VERSION")));
    json_object_set_new(o, "gpu_driver", value_text(gpu_driver(run)));
    json_object_set_new(o, "collector_version", value_text(run->collector_version));
    json_object_set_new(o, "dataset", value_text(p->dataset));
    json_object_set_new(o, "dataset_is_generated",
                        p->dataset_is_generated < 0 ? json_null() : json_boolean(p->dataset_is_generated));
    json_object_set_new(o, "parameters", value_int(p->parameters >= 0, p->parameters));
    json_object_set_new(o, "threads", value_int(p->threads >= 0, p->threads));
    json_object_set_new(o, "global_batch", value_int(p->global_batch >= 0, p->global_batch));
    json_object_set_new(o, "local_batch", value_int(p->local_batch >= 0, p->local_batch));
    json_object_set_new(o, "n_sensors", value_int(p->n_sensors >= 0, p->n_sensors));
    json_object_set_new(o, "seed", value_int(p->seed >= 0, p->seed));
    json_object_set_new(o, "flop_per_step", value_real(p->flop_per_step >= 0, p->flop_per_step));
    return o;
}

static json_t *accumulated(const struct accumulated *a)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "micro_batches", value_int(a->micro_batches > 0, a->micro_batches),
                     "steps_between", value_int(a->steps_between > 0, a->steps_between), "source",
                     value_text(a->source), "because", value_text(a->because));
}

static void put_steps(json_t *o, const struct run_result *r)
{
    int has = r->has_steps;
    json_object_set_new(o, "steps_source", value_text(r->steps_source));
    json_object_set_new(o, "steps_because", value_text(r->steps_because));
    json_object_set_new(o, "n_steps", value_int(has, r->n_steps));
    json_object_set_new(o, "n_partial_steps", value_int(has, r->n_partial_steps));
    json_object_set_new(o, "n_warmup", value_int(has, r->n_warmup));
    json_object_set_new(o, "warmup_because", value_text(r->warmup_because));
    json_object_set_new(o, "n_counted", value_int(has, r->n_counted));
    json_object_set_new(o, "step", value_step(r));
    json_object_set_new(o, "step_interval_ns", value_interval(r->step_interval));
    json_object_set_new(o, "parts_ns", has ? value_parts(r->part_ns, known_parts(r)) : json_null());
    json_object_set_new(o, "parts_ratio", has ? shares(r->part_ns, r->step.mean_ns, known_parts(r)) : json_null());
    json_object_set_new(o, "communication_ns", value_int(has, r->comm_ns));
    json_object_set_new(o, "communication_interval", value_interval(r->comm_interval));
    json_object_set_new(o, "hidden_communication_ns", value_int(has, r->hidden_comm_ns));
    json_object_set_new(o, "wait_causes_ns", has ? wait_causes(r) : json_null());
    json_object_set_new(o, "ranks", ranks(r));
    json_object_set_new(o, "start_skew_estimated", value_spread(&r->skew));
    json_object_set_new(o, "start_skew_because", value_text(has ? r->skew_because : r->steps_because));
    json_object_set_new(o, "phases", phases(r));
    json_object_set_new(o, "straggler",
                        r->straggler.has
                            ? json_pack("{s:i, s:f, s:f, s:I, s:I}", "rank", r->straggler.rank, "wins_ratio",
                                        r->straggler.wins_ratio, "caused_ratio", r->straggler.caused_ratio, "caused_ns",
                                        (json_int_t)r->straggler.caused_ns, "as_fast_ns",
                                        (json_int_t)r->straggler.as_fast_ns)
                            : json_null());
    json_object_set_new(o, "processor",
                        r->processor.has
                            ? json_pack("{s:f, s:o, s:f}", "used_cores", r->processor.used_cores, "own_ready_cores",
                                        value_real(r->processor.own_ready >= 0, r->processor.own_ready),
                                        "of_work_ratio", r->processor.of_work)
                            : json_null());
    json_object_set_new(o, "straggler_factor", value_real(r->straggler_x > 0, r->straggler_x));
    json_object_set_new(o, "pop", value_pop(&r->pop));
    json_object_set_new(o, "pop_because", r->pop.has ? json_null() : value_text(r->pop_because));
    json_object_set_new(o, "pop_host", value_pop_host(&r->pop_host));
    json_object_set_new(o, "pop_host_because", r->pop_host.has ? json_null() : value_text(r->pop_host_because));
    json_object_set_new(o, "accumulation", accumulated(&r->accumulation));
    json_object_set_new(o, "coverage_ratio", value_real(r->coverage_ratio > 0, r->coverage_ratio));
    json_object_set_new(o, "validation_ns", value_int(has, r->validation_ns));
    json_object_set_new(o, "io_outside_steps_ns", value_int(has, r->io_outside_ns));
    json_object_set_new(o, "wall_ns", value_int(r->wall_ns > 0, r->wall_ns));
    json_object_set_new(o, "bytes_per_step", value_real(r->bytes_per_step > 0, r->bytes_per_step));
    json_object_set_new(o, "algbw_gb_s", value_real(r->algbw_gb_s > 0, r->algbw_gb_s));
    json_object_set_new(o, "busbw_gb_s", value_real(r->busbw_gb_s > 0, r->busbw_gb_s));
    json_t *gains = json_object();
    for (int c = 0; c < N_CLASSES; c++)
        if (r->classes[c].has_share && (c != CLASS_COMPUTE || r->gain_ns[c] > 0)) /* compute cannot be removed */
            json_object_set_new(gains, class_key((enum cause_class)c), json_integer(r->gain_ns[c]));
    json_object_set_new(o, "gain_ns", gains);
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
    for (int i = 0; i < run->ranks_len; i++)
        json_array_append_new(
            list, json_pack("{s:i, s:I}", "rank", run->ranks[i].rank, "time_ns", (json_int_t)run->ranks[i].mpi_ns));
    return list;
}

static json_t *share_of_files(const struct run *run)
{
    struct file_time f = file_time(run);
    json_t *o = json_object();
    json_object_set_new(o, "ratio", value_real(f.has, f.ratio));
    json_object_set_new(o, "because", value_text(f.because));
    json_object_set_new(o, "time_ns", value_int(f.has, f.ns));
    json_object_set_new(o, "read_ns", value_int(f.has, f.kind_ns[DCT_IO_READ]));
    json_object_set_new(o, "write_ns", value_int(f.has, f.kind_ns[DCT_IO_WRITE]));
    json_object_set_new(o, "other_ns", value_int(f.has, f.kind_ns[DCT_IO_OTHER]));
    json_object_set_new(o, "processes_ns", value_int(f.wall_ns > 0, f.wall_ns));
    return o;
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
    if (run->n_mpi_calls) {
        json_object_set(o, "mpi_calls", mpi);
        json_object_set_new(o, "mpi_ranks", mpi_ranks(run));
    }
    if (run->n_files) {
        json_object_set(o, "files", files);
        json_object_set_new(o, "files_share", share_of_files(run));
    }
    json_decref(mpi);
    json_decref(files);
}

static json_t *roofline(const struct run_result *r)
{
    const struct roofline *f = &r->roofline;
    json_t *o = json_object();
    json_object_set_new(o, "because", value_text(!f->has && !r->has_steps ? r->steps_because : f->because));
    json_object_set_new(o, "peaks", value_text(f->peaks));
    json_object_set_new(o, "flop_per_step", value_real(f->has, f->flop));
    json_object_set_new(o, "traffic_bytes_per_step", value_real(f->has, f->bytes));
    json_object_set_new(o, "peak_gflop_per_s", value_real(f->has, f->peak_gflop_per_s));
    json_object_set_new(o, "peak_gb_per_s", value_real(f->has, f->peak_gb_per_s));
    json_object_set_new(o, "intensity_flop_per_byte", value_real(f->has, f->intensity));
    json_object_set_new(o, "ridge_flop_per_byte", value_real(f->has, f->ridge));
    json_object_set_new(o, "attainable_gflop_per_s", value_real(f->has, f->attainable_gflop_per_s));
    json_object_set_new(o, "gflop_per_s", value_real(f->has, f->gflop_per_s));
    json_object_set_new(o, "gb_per_s", value_real(f->has, f->gb_per_s));
    json_object_set_new(o, "of_attainable_ratio", value_real(f->has, f->of_attainable_ratio));
    json_object_set_new(o, "mfu_ratio", value_real(f->has, f->mfu_ratio));
    json_object_set_new(o, "bound", value_text(f->bound));
    return o;
}

static json_t *gpu_memories(const struct run_result *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n_memory; i++) {
        const struct gpu_memory *m = &r->memory[i];
        json_t *o = json_object();
        json_object_set_new(o, "node", value_int(m->node >= 0, m->node));
        json_object_set_new(o, "gpu", json_integer(m->gpu));
        json_object_set_new(o, "file", value_text(m->file));
        json_object_set_new(o, "source", json_string(m->source));
        json_object_set_new(o, "n", json_integer(m->n));
        json_object_set_new(o, "used_bytes", json_integer(m->used_bytes));
        json_object_set_new(o, "total_bytes", value_int(m->total_bytes > 0, m->total_bytes));
        json_object_set_new(o, "share_ratio", value_real(m->has_share, m->share_ratio));
        json_object_set_new(o, "state", m->state ? json_string(memory_state_word(m->state)) : json_null());
        json_object_set_new(o, "because", value_text(m->because));
        json_object_set_new(o, "grows", m->grows < 0 ? json_null() : json_boolean(m->grows));
        json_object_set_new(o, "grows_because", value_text(m->grows_because));
        json_array_append_new(list, o);
    }
    return list;
}

json_t *run_json(const struct run_result *r)
{
    json_t *o = json_object();
    json_object_set_new(o, "slug", json_string(r->slug));
    json_object_set_new(o, "label", json_string(r->label));
    json_object_set_new(o, "run_id", json_string(r->run->run_id));
    json_object_set_new(o, "n_nodes", value_int(r->n_nodes > 0, r->n_nodes));
    json_object_set_new(o, "n_ranks", value_int(r->n_ranks > 0, r->n_ranks));
    json_object_set_new(o, "series", value_int(r->series >= 0, r->series));
    json_object_set_new(o, "headline", value_text(r->headline));
    json_object_set_new(o, "support", value_text(r->support));
    json_object_set_new(o, "confidence", json_string(confidence_word(r->confidence)));
    json_object_set_new(o, "confidence_because", value_text(r->confidence_because));
    json_object_set_new(o, "throughput_samples_per_s", value_real(r->has_throughput, r->throughput));
    json_object_set_new(o, "throughput_source", value_text(r->throughput_source));
    json_object_set_new(o, "throughput_because", value_text(r->throughput_because));
    put_steps(o, r);
    json_object_set_new(
        o, "shared",
        *r->shared.id
            ? json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "id", r->shared.id, "because", r->shared.because, "run_ratio",
                        value_real(r->shared.run_ratio >= 0, r->shared.run_ratio), "cores",
                        value_real(r->shared.machine_cores > 0, r->shared.machine_cores), "other_programs_cores",
                        value_real(r->shared.machine_cores > 0, r->shared.others_cores), "step_alone_ns",
                        value_int(r->shared.alone_ns > 0, r->shared.alone_ns))
            : json_null());
    json_object_set_new(o, "classes", classes(r));
    json_object_set_new(o, "notes", strings(r->notes, r->n_notes));
    json_object_set_new(o, "nodes", nodes_json(r->run));
    json_object_set_new(o, "roofline", roofline(r));
    json_object_set_new(o, "gpu_memory", gpu_memories(r));
    json_object_set_new(o, "epochs", epochs(r->run));
    put_observed(r->run, o);
    json_object_set_new(o, "provenance", provenance(r->run));
    return o;
}
