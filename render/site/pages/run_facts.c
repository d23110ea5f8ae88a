/* run_facts.c - what one run is and says of itself, as lists of names and values; see run_facts.h. Called by
 * page_run.c.
 */
#include "render/site/pages/run_facts.h"

#include "render/metrics/known.h"
#include "render/metrics/series/differing.h"
#include "render/findings/efficiencies.h"
#include "render/findings/shares.h"
#include "render/say/format.h"
#include "render/say/say.h"
#include "render/site/figures/figures.h"

#include <string.h>

struct facts {
    struct site *s;
    json_t *list;
};

static void add_fact(struct facts *f, const char *name, const char *value)
{
    json_t *v = view_object(f->s);
    view_text(f->s, v, "name", name);
    view_text(f->s, v, "value", value && value[0] ? value : "not recorded");
    view_set(f->s, v, "code", json_null());
    view_add(f->s, f->list, v);
}

static void add_code(struct facts *f, const char *name, const char *code)
{
    json_t *v = view_object(f->s);
    view_text(f->s, v, "name", name);
    view_text(f->s, v, "value", code && code[0] ? NULL : "not recorded");
    view_text(f->s, v, "code", code);
    view_add(f->s, f->list, v);
}

const char *run_not_available(struct site *s, const struct reason *why)
{
    return why->code ? site_text(s, "not known: %s", say_clause(&s->arena, why)) : "not recorded";
}

static void add_known(struct facts *f, const char *name, const char *value)
{
    if (value && value[0])
        add_fact(f, name, value);
}

static const char *variable(const struct run *run, const char *key)
{
    for (int i = 0; i < run->n_environment; i++)
        if (strcmp(run->environment[i].key, key) == 0)
            return run->environment[i].value;
    return NULL;
}

/* A rank sees its own command only: what started it is told by the launcher's variables. A collector that stood in
 * front of the launcher saw the whole line. */
static const char *launch_line(struct site *s, const struct run *run)
{
    static const char *const launchers[] = {"mpirun", "mpiexec", "srun", "orterun", "prterun", "torchrun"};
    const char *first = run->n_command ? run->command[0] : "", *slash = strrchr(first, '/');
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (strcmp(slash ? slash + 1 : first, launchers[i]) == 0)
            return "";
    const char *nodes = variable(run, "SLURM_NNODES"), *tasks = variable(run, "SLURM_NTASKS");
    const char *world = variable(run, "OMPI_COMM_WORLD_SIZE");
    if (tasks && *tasks)
        return site_text(s, "srun%s%s -n %s ", nodes ? " -N " : "", nodes ? nodes : "", tasks);
    const char *size = world && *world ? world : run->n_ranks > 1 ? site_text(s, "%d", run->n_ranks) : NULL;
    const char *over = variable(run, "OMPI_MCA_mpi_oversubscribe"),
               *bind = variable(run, "OMPI_MCA_hwloc_base_binding_policy");
    return size ? site_text(s, "mpirun -n %s %s%s%s%s", size, bind && *bind ? "--bind-to " : "",
                            bind && *bind ? bind : "", bind && *bind ? " " : "",
                            over && !strcmp(over, "1") ? "--oversubscribe " : "")
                : "";
}

static const char *command_line(struct site *s, const struct run *run)
{
    struct dcr_buf text = {0};
    if (!run->n_command) /* not recorded: what started it is not known either */
        return "";
    for (int i = 0; i < run->n_command; i++)
        dcr_buf_printf(&text, "%s%s", i ? " " : "", run->command[i]);
    const char *line = site_text(s, "%s%s", launch_line(s, run), dcr_buf_text(&text));
    dcr_buf_release(&text);
    return line;
}

/* why: NULL, or why it is not known. */
static void add_efficiency(struct facts *f, const char *name, const struct run_result *r, const struct reason *why,
                           void (*put)(const struct run_result *, struct dcr_buf *))
{
    struct dcr_buf text = {0};
    put(r, &text);
    add_fact(f, name, why ? run_not_available(f->s, why) : dcr_buf_text(&text));
    dcr_buf_release(&text);
}

json_t *run_facts_overview(struct site *s, const struct run_result *r)
{
    struct facts f = {s, view_list(s)};
    const struct run *run = r->run;
    add_fact(
        &f, "Nodes and ranks",
        site_text(s, "%s, %s%s", node_words(s, r->n_nodes),
                  r->n_ranks > 0 ? fmt_count(r->n_ranks, "rank").text : "unknown number of ranks",
                  r->has_steps && run->n_ranks > r->n_ranks ? site_text(s, " with steps, of %d", run->n_ranks) : ""));
    add_fact(&f, "Steps",
             r->has_steps ? site_text(s, "%s counted, %s left out as warm-up (%s)", site_int(s, r->n_counted),
                                      site_int(s, r->n_warmup), steps_source_words(r->steps_source))
                          : run_not_available(s, &r->steps_why));
    if (r->has_steps) {
        add_fact(
            &f, "Step time",
            r->step_interval.has
                ? site_text(s, "%s on average (95 %% interval %s), median %s, p95 %s%s", fmt_time(r->step.mean_ns).text,
                            fmt_time_range(r->step_interval.lo, r->step_interval.hi).text,
                            fmt_time(r->step.median_ns).text, fmt_time(r->step.p95_ns).text, spread_tail(&r->step).text)
                : site_text(s, "%s on average, median %s, p95 %s%s", fmt_time(r->step.mean_ns).text,
                            fmt_time(r->step.median_ns).text, fmt_time(r->step.p95_ns).text,
                            spread_tail(&r->step).text));
    }
    add_fact(&f, "Throughput",
             r->has_throughput ? site_text(s, "%s samples per second (from %s)", fmt_number(r->throughput).text,
                                           throughput_source_words(r))
                               : run_not_available(s, &r->throughput_why));
    if (r->confidence_because && *r->confidence_because)
        add_fact(&f, "Confidence", site_text(s, "%s: %s", confidence_word(r->confidence), r->confidence_because));
    if (r->coverage_ratio > 0)
        add_fact(&f, "Steps' share of the time from the first step to the last", fmt_percent(r->coverage_ratio).text);
    if (r->pop.has || r->has_steps)
        add_efficiency(&f, efficiencies_name(r), r, r->pop.has ? NULL : &r->pop_why, efficiencies_put);
    if (efficiencies_has_host(r))
        add_efficiency(&f, "Parallel efficiency of the hosts", r, r->pop_host.has ? NULL : &r->pop_host_why,
                       efficiencies_put_host);
    add_fact(&f, "Started", run->started_s > 0 ? fmt_utc(run->started_s).text : NULL);
    if (run->started_s > 0 && run->ended_s > run->started_s)
        add_fact(&f, "Took", fmt_time((int64_t)((run->ended_s - run->started_s) * 1e9)).text);
    add_code(&f, "Command", command_line(s, run));
    add_known(&f, "Run", run->run_id);
    return f.list;
}

json_t *run_facts_communication(struct site *s, const struct run_result *r)
{
    struct facts f = {s, view_list(s)};
    bool is_one = is_one_of_many(r);
    if (!r->has_steps || (r->n_rank_results < 2 && !is_one))
        return f.list;
    const struct fmt share = fmt_percent((double)r->comm_ns / (double)r->step.mean_ns);
    if (is_one)
        add_fact(&f, "Exposed",
                 site_text(s, "%s per step, %s of it; how much of that is waiting is not known, because %s",
                           fmt_time(r->comm_ns).text, share.text, say_clause(&s->arena, &REASON(ONE_OF_MANY_RANKS))));
    else
        add_fact(&f, "Exposed",
                 site_text(s, "%s per step, %s of it: %s transfer, %s waiting", fmt_time(r->comm_ns).text, share.text,
                           fmt_time(r->part_ns[PART_TRANSFER]).text, fmt_time(r->part_ns[PART_WAIT]).text));
    add_fact(&f, "Hidden",
             r->hidden_comm_ns > 0
                 ? site_text(s,
                             "%s per step beside other work, waiting for other ranks included; to measure what that "
                             "saves, repeat the run without overlap",
                             fmt_time(r->hidden_comm_ns).text)
                 : "none: no communication was recorded beside other work");
    if (r->skew.n)
        add_fact(&f, "Start skew, estimated",
                 site_text(s,
                           "%s between the first and the last arrival at a collective on average, p95 %s, at most %s "
                           "(longest minus shortest duration, of %s)",
                           fmt_time(r->skew.mean_ns).text, fmt_time(r->skew.p95_ns).text, fmt_time(r->skew.max_ns).text,
                           fmt_count(r->skew.n, "collective").text));
    else if (r->skew_why.code && !is_one)
        add_fact(&f, "Start skew, estimated", run_not_available(s, &r->skew_why));
    add_fact(&f, "Volume",
             r->bytes_per_step > 0 ? site_text(s, "%s per step and rank", fmt_bytes(r->bytes_per_step).text) : NULL);
    if (r->algbw_gb_s > 0 && !is_one)
        add_fact(&f, "Bandwidth",
                 site_text(s, "algorithm bandwidth %s%s GB/s, bus bandwidth %s GB/s (as nccl-tests defines them)",
                           r->hidden_comm_ns > 0 ? "at least " : "", fmt_number(r->algbw_gb_s).text,
                           fmt_number(r->busbw_gb_s).text));
    if (r->straggler.has)
        add_fact(&f, "Arrives last",
                 site_text(s, "rank %d, in %s of the collectives; it makes each other rank wait %s per step",
                           r->straggler.rank, fmt_percent(r->straggler.wins_ratio).text,
                           fmt_time(r->straggler.caused_ns).text));
    return f.list;
}

json_t *run_facts_program(struct site *s, const struct run *run)
{
    struct facts f = {s, view_list(s)};
    const struct run_program *p = &run->program;
    add_known(&f, "Program",
              p->name && p->name[0] ? site_text(s, "%s %s", p->name, p->version ? p->version : "") : NULL);
    add_known(&f, "Model", p->model);
    if (p->parameters >= 0)
        add_fact(&f, "Parameters", site_int(s, p->parameters));
    add_known(&f, "Precision", p->precision);
    add_known(&f, "Back end", p->backend);
    add_known(&f, "BLAS", p->blas);
    add_known(&f, "MPI", p->mpi);
    add_known(&f, "CUDA", run_version(run, p->cuda, "CUDA_VERSION"));
    add_known(&f, "NCCL", run_version(run, p->nccl, "NCCL_VERSION"));
    for (int i = 0; i < run->nodes_len; i++)
        if (run->nodes[i].gpu_driver && run->nodes[i].gpu_driver[0]) {
            add_fact(&f, "GPU driver", run->nodes[i].gpu_driver);
            break;
        }
    if (p->accumulate > 0)
        add_fact(&f, "Micro-batches of a step", site_int(s, p->accumulate));
    if (p->threads >= 0)
        add_fact(&f, "Threads per rank", site_int(s, p->threads));
    if (p->global_batch >= 0)
        add_fact(&f, "Global batch", site_int(s, p->global_batch));
    add_known(&f, "Data", p->dataset);
    if (p->allreduce_bytes_per_step >= 0)
        add_fact(&f, "All-reduce per step",
                 site_text(s, "%s%s%s%s", fmt_bytes((double)p->allreduce_bytes_per_step).text,
                           *p->allreduce_dtype ? ", gradients as " : "", p->allreduce_dtype,
                           p->allreduce_is_overlapped == 1   ? ", during the backward pass"
                           : p->allreduce_is_overlapped == 0 ? ", after the backward pass"
                                                             : ""));
    add_known(&f, "Scheduler", run->scheduler);
    add_known(&f, "Job", run->job_id);
    add_known(&f, "Collector", run->collector_version);
    add_known(&f, "NVTX", run->nvtx.text);
    add_known(&f, "MPI calls", run->mpi.text);
    add_known(&f, "File calls", run->io.text);
    for (int i = 0; i < run->n_labels; i++)
        add_fact(&f, site_text(s, "Label %s", run->labels[i].key), run->labels[i].value);
    return f.list;
}
