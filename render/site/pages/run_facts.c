/* run_facts.c - the properties of one run, as lists of names and values; see run_facts.h. Called by page_run.c. */
#include "render/site/pages/run_facts.h"

#include "render/metrics/known.h"
#include "render/metrics/series/differing.h"
#include "render/metrics/wire.h"
#include "render/findings/efficiencies.h"
#include "render/findings/shares.h"
#include "render/say/facts.h"
#include "render/say/format.h"
#include "render/say/say.h"
#include "render/site/figures/figures.h"

#include <string.h>

struct facts {
    struct site *s;
    json_t *list;
};

static json_t *add_named(struct facts *f, const struct fact *is, const char *value)
{
    json_t *v = view_object(f->s);
    view_text(f->s, v, "name", say_fact_name(&f->s->arena, is));
    view_text(f->s, v, "value", value);
    view_set(f->s, v, "code", json_null());
    view_add(f->s, f->list, v);
    return v;
}

static void add(struct facts *f, const struct fact *is)
{
    add_named(f, is, say_fact(&f->s->arena, is));
}

/* An unknown fact.   why  REASON_NONE: the reason is unknown too */
static void add_missing(struct facts *f, const struct fact *is, const struct reason *why)
{
    add_named(
        f, is,
        say_phrase(&f->s->arena, why->code ? &PHRASE(FACT_NOT_KNOWN, slot_reason(why)) : &PHRASE(FACT_NOT_RECORDED)));
}

/* Adds a fact whose only slot is a name, or nothing if the name is missing. */
static void add_if_named(struct facts *f, enum fact_id id, const char *name)
{
    if (name && *name)
        add(f, &(struct fact){id, {slot_name(name)}});
}

/* The same for a count, which is missing below 0. */
static void add_if_counted(struct facts *f, enum fact_id id, int64_t n)
{
    if (n >= 0)
        add(f, &(struct fact){id, {slot_count(n)}});
}

static void add_command(struct facts *f, const char *line)
{
    if (*line)
        view_text(f->s, add_named(f, FACT(COMMAND), NULL), "code", line);
    else
        add_missing(f, FACT(COMMAND), &REASON(NONE));
}

static const char *variable(const struct run *run, const char *key)
{
    for (int i = 0; i < run->n_environment; i++)
        if (strcmp(run->environment[i].key, key) == 0)
            return run->environment[i].value;
    return NULL;
}

/* A rank sees only its own command, so the launcher's variables tell how it was started. A collector before the
 * launcher saw the whole line. */
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
    if (!run->n_command) /* the command was not recorded, so it is unknown what started it */
        return "";
    for (int i = 0; i < run->n_command; i++)
        dcr_buf_printf(&text, "%s%s", i ? " " : "", run->command[i]);
    const char *line = site_text(s, "%s%s", launch_line(s, run), dcr_buf_text(&text));
    dcr_buf_release(&text);
    return line;
}

/* why: REASON_NONE, or why it is not known. */
static void add_efficiency(struct facts *f, enum fact_id id, const struct run_result *r, const struct reason *why,
                           void (*put)(const struct run_result *, struct dcr_buf *))
{
    struct dcr_buf text = {0};
    put(r, &text);
    const struct fact is = {id, {slot_name(site_text(f->s, "%s", dcr_buf_text(&text)))}};
    if (why->code)
        add_missing(f, &is, why);
    else
        add(f, &is);
    dcr_buf_release(&text);
}

static void add_ranks(struct facts *f, const struct run_result *r)
{
    const struct slot nodes = slot_name(node_words(f->s, r->n_nodes)), ranks = slot_things(r->n_ranks, "rank");
    add(f, r->n_ranks > 0 && r->n_nodes <= 0            ? FACT(RANKS_WITHOUT_NODES, ranks)
           : r->n_ranks <= 0 || run_has_no_rank(r->run) ? FACT(RANKS_UNKNOWN, nodes)
           : r->has_steps && r->run->n_ranks > r->n_ranks
               ? FACT(RANKS_WITH_STEPS, nodes, ranks, slot_count(r->run->n_ranks))
               : FACT(RANKS, nodes, ranks));
}

static void add_step_time(struct facts *f, const struct run_result *r)
{
    const struct spread *k = &r->step;
    const struct slot slowest = slot_factor(k->median_ns > 0 ? (double)k->max_ns / (double)k->median_ns : 0);
    add(f, FACT(STEP_TIME, slot_time(k->mean_ns), slot_time(k->median_ns), slot_time(k->p95_ns)));
    if (r->step_interval.has)
        add_if_named(f, FACT_STEP_INTERVAL,
                     site_text(f->s, "%s", fmt_time_range(r->step_interval.lo, r->step_interval.hi).text));
    if (k->median_ns > 0)
        add(f, k->p99_ns > 0 ? FACT(SLOW_STEPS, slot_time(k->p99_ns), slowest) : FACT(SLOWEST_STEP, slowest));
}

json_t *run_facts_overview(struct site *s, const struct run_result *r)
{
    struct facts f = {s, view_list(s)};
    const struct run *run = r->run;
    add_ranks(&f, r);
    if (r->has_steps) {
        add(&f, FACT(STEPS, slot_count(r->n_counted), slot_count(r->n_warmup),
                     slot_name(steps_source_words(r->steps_source))));
        add_step_time(&f, r);
    } else {
        add_missing(&f, FACT(STEPS), &r->steps_why);
    }
    if (r->has_throughput)
        add(&f, FACT(THROUGHPUT, slot_number(r->throughput), slot_name(throughput_source_words(r))));
    else
        add_missing(&f, FACT(THROUGHPUT), &r->throughput_why);
    if (r->confidence_because && *r->confidence_because)
        add(&f, FACT(CONFIDENCE, slot_name(confidence_word(r->confidence)), slot_name(r->confidence_because)));
    if (r->coverage_ratio > 0)
        add(&f, FACT(COVERAGE, slot_percent(r->coverage_ratio)));
    if (r->pop.has || r->has_steps)
        add_efficiency(&f, r->pop.is_of_gpus ? FACT_EFFICIENCY_OF_GPUS : FACT_EFFICIENCY, r,
                       r->pop.has ? &REASON(NONE) : &r->pop_why, efficiencies_put);
    if (efficiencies_has_host(r))
        add_efficiency(&f, FACT_EFFICIENCY_OF_HOSTS, r, r->pop_host.has ? &REASON(NONE) : &r->pop_host_why,
                       efficiencies_put_host);
    if (run->started_s > 0)
        add_if_named(&f, FACT_STARTED, site_text(s, "%s", fmt_utc(run->started_s).text));
    else
        add_missing(&f, FACT(STARTED), &REASON(NONE));
    if (run->started_s > 0 && run->ended_s > run->started_s)
        add(&f, FACT(TOOK, slot_time((int64_t)((run->ended_s - run->started_s) * 1e9))));
    add_command(&f, command_line(s, run));
    add_if_named(&f, FACT_RUN, run->run_id);
    return f.list;
}

/* A line for each node, or, with many nodes, for those that sent most and least. */
static void add_wires(struct facts *f, const struct run_result *r)
{
    const int shown = 4;
    int n = wire_is_known(r) ? r->run->nodes_len : 0, most = 0, least = 0;
    struct node_wire *list = dcr_arena_alloc(&f->s->arena, (size_t)(n + 1) * sizeof *list);
    for (int i = 0; i < n && wire_of_node(r, i, &list[i]); i++) {
        most = list[i].sent_bytes > list[most].sent_bytes ? i : most;
        least = list[i].sent_bytes < list[least].sent_bytes ? i : least;
    }
    for (int i = 0; i < n; i++)
        if (n <= shown || i == most || i == least)
            add(f, FACT(WIRE, slot_count(list[i].node), slot_bytes(list[i].given_bytes), slot_bytes(list[i].sent_bytes),
                        slot_bytes(list[i].received_bytes)));
}

json_t *run_facts_communication(struct site *s, const struct run_result *r)
{
    struct facts f = {s, view_list(s)};
    bool is_one = is_one_of_many(r);
    if (!r->has_steps || (r->n_rank_results < 2 && !is_one))
        return f.list;
    const struct slot exposed = slot_time(r->comm_ns),
                      share = slot_percent((double)r->comm_ns / (double)r->step.mean_ns);
    const struct slot algbw = slot_number(r->algbw_gb_s), busbw = slot_number(r->busbw_gb_s);
    const struct slot rank = slot_count(r->straggler.rank), wins = slot_percent(r->straggler.wins_ratio),
                      caused = slot_time(r->straggler.caused_ns);
    add(&f,
        is_one ? FACT(EXPOSED_OF_ONE, exposed, share, slot_reason(&REASON(ONE_OF_MANY_RANKS)))
               : FACT(EXPOSED, exposed, share, slot_time(r->part_ns[PART_TRANSFER]), slot_time(r->part_ns[PART_WAIT])));
    if (r->is_hidden_unknown)
        add_missing(&f, FACT(HIDDEN), &REASON(EVENTS_LOST));
    else
        add(&f, r->hidden_comm_ns > 0 ? FACT(HIDDEN, slot_time(r->hidden_comm_ns)) : FACT(NOT_HIDDEN));
    if (r->skew.n)
        add(&f, FACT(START_SKEW, slot_time(r->skew.mean_ns), slot_time(r->skew.p95_ns), slot_time(r->skew.max_ns),
                     slot_count(r->skew.n)));
    else if (r->skew_why.code && !is_one)
        add_missing(&f, FACT(START_SKEW), &r->skew_why);
    if (r->bytes_per_step > 0)
        add(&f, FACT(VOLUME, slot_bytes(r->bytes_per_step)));
    else
        add_missing(&f, FACT(VOLUME), &REASON(NONE));
    add_wires(&f, r);
    if (r->algbw_gb_s > 0 && !is_one)
        add(&f, r->hidden_comm_ns > 0 ? FACT(BANDWIDTH_LEAST, algbw, busbw) : FACT(BANDWIDTH, algbw, busbw));
    if (r->straggler.has)
        add(&f,
            r->straggler.is_of_steps ? FACT(WAITS_LEAST, rank, wins, caused) : FACT(ARRIVES_LAST, rank, wins, caused));
    return f.list;
}

static const char *first_driver(const struct run *run)
{
    for (int i = 0; i < run->nodes_len; i++)
        if (run->nodes[i].gpu_driver && *run->nodes[i].gpu_driver)
            return run->nodes[i].gpu_driver;
    return NULL;
}

json_t *run_facts_program(struct site *s, const struct run *run)
{
    struct facts f = {s, view_list(s)};
    const struct run_program *p = &run->program;
    if (p->name && *p->name)
        add(&f, FACT(PROGRAM, slot_name(p->name), slot_name(p->version ? p->version : "")));
    add_if_named(&f, FACT_MODEL, p->model);
    add_if_counted(&f, FACT_PARAMETERS, p->parameters);
    add_if_named(&f, FACT_PRECISION, p->precision);
    add_if_named(&f, FACT_BACKEND, p->backend);
    add_if_named(&f, FACT_BLAS, p->blas);
    add_if_named(&f, FACT_MPI, p->mpi);
    add_if_named(&f, FACT_CUDA, run_version(run, p->cuda, "CUDA_VERSION"));
    add_if_named(&f, FACT_NCCL, run_version(run, p->nccl, "NCCL_VERSION"));
    add_if_named(&f, FACT_GPU_DRIVER, first_driver(run));
    add_if_counted(&f, FACT_MICRO_BATCHES, p->accumulate > 0 ? p->accumulate : -1);
    add_if_counted(&f, FACT_THREADS, p->threads);
    add_if_counted(&f, FACT_GLOBAL_BATCH, p->global_batch);
    add_if_named(&f, FACT_DATA, p->dataset);
    if (p->allreduce_bytes_per_step >= 0) {
        add(&f, FACT(ALL_REDUCE, slot_bytes((double)p->allreduce_bytes_per_step)));
        add_if_named(&f, FACT_ALL_REDUCE_TYPE, p->allreduce_dtype);
        if (p->allreduce_is_overlapped >= 0)
            add(&f, p->allreduce_is_overlapped ? FACT(ALL_REDUCE_OVERLAPS) : FACT(ALL_REDUCE_FOLLOWS));
    }
    add_if_named(&f, FACT_SCHEDULER, run->scheduler);
    add_if_named(&f, FACT_JOB, run->job_id);
    add_if_named(&f, FACT_COLLECTOR, run->collector_version);
    add_if_named(&f, FACT_NVTX_RECORDER, run->nvtx.text);
    add_if_named(&f, FACT_MPI_RECORDER, run->mpi.text);
    add_if_named(&f, FACT_FILE_RECORDER, run->io.text);
    for (int i = 0; i < run->n_labels; i++)
        if (*run->labels[i].value)
            add(&f, FACT(LABEL, slot_name(run->labels[i].key), slot_name(run->labels[i].value)));
        else
            add_missing(&f, FACT(LABEL, slot_name(run->labels[i].key), slot_name("")), &REASON(NONE));
    return f.list;
}
