/* differing.c - names what two runs differ in: configurations that are no repetitions, and machines or libraries that
 * alone explain another speed. Called by caveats.c and compare.c. */
#include "render/metrics/series/differing.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { MAX_NAMED = 6 };

struct names {
    struct report *rep;
    const char *text;
    int n;
};

static void add(struct names *x, const char *name, size_t n)
{
    if (x->n++ < MAX_NAMED)
        x->text = report_text(x->rep, "%s%s%.*s", x->text, *x->text ? ", " : "", (int)(n < 60 ? n : 60), name);
}

static void add_if(struct names *x, int differs, const char *name)
{
    if (differs)
        add(x, name, strlen(name));
}

/* The value of the option that begins at words[i]: the text after its '=', the next word, or "" for a flag. */
static const char *value_at(const struct run *a, int i)
{
    const char *equals = strchr(a->command[i], '=');
    return equals ? equals + 1 : i + 1 < a->n_command && a->command[i + 1][0] != '-' ? a->command[i + 1] : "";
}

static const char *value_of(const struct run *a, const char *option, size_t n)
{
    for (int i = launched_word(a); i < a->n_command; i++)
        if (strncmp(a->command[i], option, n) == 0 && (!a->command[i][n] || a->command[i][n] == '='))
            return value_at(a, i);
    return NULL;
}

/* Options of a that have another value in b or, when `only_missing`, are not in b at all. */
static void add_options(struct names *x, const struct run *a, const struct run *b, int only_missing)
{
    for (int i = launched_word(a); i < a->n_command; i++) {
        const char *option = a->command[i];
        size_t n = strcspn(option, "=");
        if (option[0] != '-' || !option[1] || scaling_is_masked(option))
            continue;
        const char *there = value_of(b, option, n);
        if (only_missing ? !there : !there || strcmp(there, value_at(a, i)) != 0)
            add(x, option, n);
    }
}

/* Is the batch neither equal, as in strong scaling, nor proportional to the nodes, as in weak? */
static int is_other_batch(const struct run_result *a, const struct run_result *b)
{
    int64_t x = a->run->program.global_batch, y = b->run->program.global_batch;
    int is_proportional = (double)x * b->n_nodes == (double)y * a->n_nodes;
    return x != y && (a->n_nodes == b->n_nodes || (x > 0 && y > 0 && !is_proportional));
}

int has_other_batch(const struct run *a, const struct run *b)
{
    static const char *const options[] = {
        "-b",           "--batch", "--batch-size", "--batch_size", "--global-batch", "--global_batch", "--local-batch",
        "--local_batch"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const char *x = value_of(a, options[i], strlen(options[i])), *y = value_of(b, options[i], strlen(options[i]));
        if (!x != !y || (x && strcmp(x, y) != 0))
            return 1;
    }
    return 0;
}

int has_other_command(const struct run *a, const struct run *b)
{
    struct dcr_buf x = {0}, y = {0};
    command_words(a, &x);
    command_words(b, &y);
    int is_other = a->n_command && b->n_command && strcmp(dcr_buf_text(&x), dcr_buf_text(&y)) != 0;
    dcr_buf_release(&x);
    dcr_buf_release(&y);
    return is_other;
}

/* An archive that does not state what its nodes were may be of any. */
static int has_other_nodes(const struct run *a, const struct run *b)
{
    if (a->node_kind == NODES_UNKNOWN || b->node_kind == NODES_UNKNOWN || !a->nodes_len)
        return 0;
    for (int i = 0; i < b->nodes_len; i++) {
        const struct node_share *x = &a->nodes[0].share, *y = &b->nodes[i].share;
        if (x->has != y->has || fabs(x->cores - y->cores) > 0.01 * x->cores || x->period_us != y->period_us ||
            x->link_bit_per_s != y->link_bit_per_s)
            return 1;
    }
    return 0;
}

int has_other_program(const struct run *a, const struct run *b, const char *names[2])
{
    int is_by_command = !*a->program.name || !*b->program.name;
    names[0] = is_by_command ? program_of_command(a) : a->program.name;
    names[1] = is_by_command ? program_of_command(b) : b->program.name;
    return strcmp(names[0], names[1]) != 0;
}

const char *differing_keys(struct report *rep, const struct run_result *first, const struct run_result *second)
{
    struct names x = {rep, "", 0};
    const struct run *a = first->run, *b = second->run;
    const struct run_program *p = &a->program, *q = &b->program;
    int per_node[2] = {first->n_nodes > 0 ? first->n_ranks / first->n_nodes : 0,
                       second->n_nodes > 0 ? second->n_ranks / second->n_nodes : 0};
    const char *programs[2];
    if (has_other_program(a, b, programs)) { /* their options have nothing in common */
        add_if(&x, 1, "program");
        add_if(&x, per_node[0] != per_node[1], "ranks per node");
        return x.text;
    }
    add_options(&x, a, b, 0);
    add_options(&x, b, a, 1);
    int by_option = x.n;
    add_if(&x, !by_option && has_other_command(a, b), "command");
    add_if(&x, has_other_nodes(a, b), "emulated nodes");
    add_if(&x, strcmp(p->precision, q->precision) != 0 && !by_option, "precision");
    add_if(&x, strcmp(p->backend, q->backend) != 0 && !by_option, "back end");
    add_if(&x, strcmp(p->dataset, q->dataset) != 0 && !by_option, "data");
    add_if(&x, p->threads != q->threads && !by_option, "threads");
    add_if(&x, per_node[0] != per_node[1], "ranks per node");
    add_if(&x, strcmp(p->model, q->model) != 0 && !x.n, "model");
    add_if(&x, strcmp(a->summary.series, b->summary.series) != 0 && !x.n, "scaling mode");
    add_if(&x, is_other_batch(first, second), "batch");
    add_if(&x, !x.n, "command");
    if (x.n > MAX_NAMED)
        x.text = report_text(rep, "%s and %d more", x.text, x.n - MAX_NAMED);
    return x.text;
}

/* Has another configuration of as many nodes another value of the option, or none? If the run lacks the option, has it
 * one? */
static int tells_apart(const struct report *rep, const struct run_result *r, const char *option, size_t n)
{
    const char *mine = value_of(r->run, option, n);
    for (int i = 0; i < rep->n_runs; i++) {
        const struct run_result *other = &rep->runs[i];
        if (other->n_nodes != r->n_nodes || strcmp(other->run->config_hash, r->run->config_hash) == 0)
            continue;
        const char *there = value_of(other->run, option, n);
        if (!mine != !there || (mine && strcmp(mine, there) != 0))
            return 1;
    }
    return 0;
}

static const char *last_word(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static const char *words_of(struct report *rep, const struct run_result *r)
{
    enum { MOST = 2 };
    const char *text = "";
    int n_words = 0;
    for (int i = 0; i < rep->n_runs && n_words == 0; i++)
        if (rep->runs[i].n_nodes == r->n_nodes && rep->runs[i].run->n_ranks != r->run->n_ranks && r->run->n_ranks > 0) {
            text = report_text(rep, ", %d %s", r->run->n_ranks, r->run->n_ranks == 1 ? "rank" : "ranks");
            n_words++;
        }
    for (int i = launched_word(r->run); i < r->run->n_command && n_words < MOST; i++) {
        const char *option = r->run->command[i];
        size_t n = strcspn(option, "=");
        if (option[0] != '-' || !option[1] || scaling_is_masked(option) || !tells_apart(rep, r, option, n))
            continue;
        const char *value = last_word(value_at(r->run, i));
        text = report_text(rep, "%s, %.*s%s%.20s", text, n < 24 ? (int)n : 24, option, *value ? " " : "", value);
        n_words++;
    }
    for (int k = 0; k < rep->n_runs && n_words == 0; k++) {
        const struct run *other = rep->runs[k].run;
        for (int i = launched_word(other); i < other->n_command && rep->runs[k].n_nodes == r->n_nodes && n_words == 0;
             i++) {
            const char *option = other->command[i];
            size_t n = strcspn(option, "=");
            if (option[0] != '-' || !option[1] || scaling_is_masked(option) || value_of(r->run, option, n))
                continue;
            text = report_text(rep, ", without %.*s", n < 24 ? (int)n : 24, option);
            n_words++;
        }
    }
    return text;
}

static int first_of_configuration(const struct report *rep, int run)
{
    int i = 0;
    while (strcmp(rep->runs[i].run->config_hash, rep->runs[run].run->config_hash) != 0)
        i++;
    return i;
}

const char *configuration_name(struct report *rep, const struct run_result *r)
{
    int first = first_of_configuration(rep, (int)(r - rep->runs)), n_before = 0, is_taken = 0;
    const char *name = rep->runs[first].run->archive;
    for (int i = 0; i < rep->n_runs; i++) {
        if (first_of_configuration(rep, i) != i)
            continue;
        n_before += i < first;
        is_taken |= i != first && strcmp(rep->runs[i].run->archive, name) == 0;
    }
    return is_taken ? report_text(rep, "configuration %d", n_before + 1) : name;
}

const char *option_words(struct report *rep, int run)
{
    const struct run_result *r = &rep->runs[run];
    const char *mine = words_of(rep, r);
    for (int i = 0; i < rep->n_runs && *mine; i++)
        if (rep->runs[i].n_nodes == r->n_nodes && strcmp(rep->runs[i].run->config_hash, r->run->config_hash) != 0 &&
            strcmp(words_of(rep, &rep->runs[i]), mine) == 0)
            return "";
    return mine;
}

/* ---- machines and libraries ----------------------------------------------------------------------- */

/* The version that the program states, else the variable that containers set. */
const char *run_version(const struct run *a, const char *said, const char *variable)
{
    for (int i = 0; (!said || !*said) && i < a->n_environment; i++)
        if (strcmp(a->environment[i].key, variable) == 0)
            return a->environment[i].value;
    return said ? said : "";
}

static int is_unlike(const char *a, const char *b)
{
    return *a && *b && strcmp(a, b) != 0;
}

/* Does a node of b have another value than the first node of a? Values that were not recorded do not differ. */
static int some_node(const struct run *a, const struct run *b, size_t offset)
{
    for (int i = 0; a->nodes_len && i < b->nodes_len; i++)
        if (is_unlike(*(const char *const *)((const char *)&a->nodes[0] + offset),
                      *(const char *const *)((const char *)&b->nodes[i] + offset)))
            return 1;
    return 0;
}

/* The first GPU that traces of a run name; "" = none. */
static const char *traced_model(const struct run *a)
{
    for (int i = 0; i < a->n_traces; i++)
        for (int k = 0; k < a->traces[i].n_devices; k++)
            if (*a->traces[i].devices[k].model)
                return a->traces[i].devices[k].model;
    return "";
}

/* By their traces: does b have a GPU of another model than the first of a? */
static int has_other_traced_model(const struct run *a, const struct run *b)
{
    const char *model = traced_model(a);
    for (int i = 0; i < b->n_traces; i++)
        for (int k = 0; k < b->traces[i].n_devices; k++)
            if (is_unlike(model, b->traces[i].devices[k].model))
                return 1;
    return 0;
}

/* Mean SM clock of the GPUs that were busy; 0 = not monitored. */
static double busy_clock(const struct run *a, double busy)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < a->nodes_len; i++)
        for (int k = 0; k < a->nodes[i].n_gpus; k++) {
            const struct sampled *u = &a->nodes[i].gpus[k].utilization_percent, *c = &a->nodes[i].gpus[k].sm_clock_mhz;
            if (u->n == 0 || c->n == 0 || u->sum / (double)u->n / 100 < busy)
                continue;
            sum += c->sum / (double)c->n;
            n++;
        }
    return n ? sum / n : a->summary.clock_mean_mhz;
}

static int has_other_clocks(const struct thresholds *t, const struct run *a, const struct run *b)
{
    double x = busy_clock(a, t->gpu_utilization), y = busy_clock(b, t->gpu_utilization);
    return x > 0 && y > 0 && (x < t->clock * y || y < t->clock * x);
}

/* If a program does not state its threads, a rank has as many as these variables set, or else one per core. */
static int has_other_threads(const struct run *a, const struct run *b)
{
    static const char *const names[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                                        "BLIS_NUM_THREADS"};
    if (a->program.threads > 0 || b->program.threads > 0 || !a->n_environment || !b->n_environment)
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(run_version(a, NULL, names[i]), run_version(b, NULL, names[i])) != 0)
            return 1;
    return 0;
}

/* An archive without a quota may be of a node that has none, or on which none was visible. */
static int has_other_quota(const struct run *a, const struct run *b)
{
    for (int i = 0; a->nodes_len && i < b->nodes_len; i++) {
        double x = a->nodes[0].cores_quota, y = b->nodes[i].cores_quota;
        if (a->nodes[0].share.has || b->nodes[i].share.has) /* then the nodes differ, not the quotas */
            continue;
        if (x > 0 && y > 0 && (x < y || x > y))
            return 1;
    }
    return 0;
}

unsigned unlike(const struct thresholds *t, const struct run *a, const struct run *b)
{
    const struct run_program *p = &a->program, *q = &b->program;
    const int is[N_UNLIKE] = {
        [UNLIKE_CPU] = some_node(a, b, offsetof(struct run_node, cpu_model)),
        [UNLIKE_GPU] = some_node(a, b, offsetof(struct run_node, gpu_model)) || has_other_traced_model(a, b),
        [UNLIKE_CLOCK] = has_other_clocks(t, a, b),
        [UNLIKE_DRIVER] = some_node(a, b, offsetof(struct run_node, gpu_driver)),
        [UNLIKE_CUDA] = is_unlike(run_version(a, p->cuda, "CUDA_VERSION"), run_version(b, q->cuda, "CUDA_VERSION")),
        [UNLIKE_NCCL] = is_unlike(run_version(a, p->nccl, "NCCL_VERSION"), run_version(b, q->nccl, "NCCL_VERSION")),
        [UNLIKE_MPI] = is_unlike(p->mpi, q->mpi),
        [UNLIKE_PROGRAM] = strcmp(p->version, q->version) != 0,
        [UNLIKE_COMMIT] = is_unlike(a->git_commit, b->git_commit),
        [UNLIKE_BLAS] = strcmp(p->blas, q->blas) != 0,
        [UNLIKE_THREADS] = has_other_threads(a, b),
        [UNLIKE_QUOTA] = has_other_quota(a, b),
        [UNLIKE_NODES] = has_other_nodes(a, b)};
    unsigned all = 0;
    for (int i = 0; i < N_UNLIKE; i++)
        all |= is[i] ? 1U << i : 0;
    return all;
}

unsigned unlike_in_series(const struct report *rep, const struct series *s)
{
    const struct run *first = run_of_point(rep, &s->points[0])->run;
    unsigned which = 0;
    for (int i = 0; i < s->n_points; i++)
        for (int k = 0; k < s->points[i].n_runs; k++)
            which |= unlike(&rep->thresholds, first, rep->runs[s->points[i].runs[k]].run);
    return which;
}

const char *unlike_names(struct report *rep, unsigned which)
{
    static const char *const names[N_UNLIKE] = {[UNLIKE_CPU] = "CPU models",
                                                [UNLIKE_GPU] = "GPU models",
                                                [UNLIKE_CLOCK] = "GPU clocks while busy",
                                                [UNLIKE_DRIVER] = "GPU drivers",
                                                [UNLIKE_CUDA] = "CUDA versions",
                                                [UNLIKE_NCCL] = "NCCL versions",
                                                [UNLIKE_MPI] = "MPI libraries",
                                                [UNLIKE_PROGRAM] = "program versions",
                                                [UNLIKE_COMMIT] = "commits of the code",
                                                [UNLIKE_BLAS] = "BLAS kernels",
                                                [UNLIKE_THREADS] = "thread settings (OMP_NUM_THREADS and its like)",
                                                [UNLIKE_QUOTA] = "CPU quotas",
                                                [UNLIKE_NODES] = "emulated nodes"};
    const char *text = "";
    for (int i = 0; i < N_UNLIKE; i++)
        if (which & 1U << i)
            text = report_text(rep, "%s%s%s", text, *text ? ", " : "", names[i]);
    return text;
}
