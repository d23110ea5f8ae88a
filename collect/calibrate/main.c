/* main.c - dccollect-calibrate: the order of the measurements, and the file with the results. `dccollect calibrate`
 * starts it, alone or one per rank under mpirun or srun. The first rank of every node measures the node while the
 * others sleep; nodes that share a kernel take turns, and of equal emulated nodes one is measured. Then all ranks
 * measure the all-reduce. */
#include "collect/calibrate/calibrate.h"

#include "collect/record/disturbed.h"
#include "collect/record/meta.h"
#include "collect/record/node_share.h"
#include "lib/archive/rank.h"
#include "lib/archive/format.h"
#include "lib/base/fs.h"
#include "lib/base/outfile.h"
#include "lib/base/progress.h"
#include "lib/base/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: dccollect calibrate [-o calibration.json]\n"
    "       mpirun -n N dccollect calibrate ...     (or srun; also measures the all-reduce)\n"
    "Measures what this machine can do: arithmetic, memory bandwidth, all-reduce.\n"
    "  -o FILE     where the result goes (calibration.json); in a spool folder it is packed with the run\n";

/* What every rank tells about its place. */
struct place {
    char host[256], boot_id[64];
    cpu_set_t cpus;
    char share[128]; /* of an emulated node: its DCREPORT_NODE; else "" */
};

struct world {
    int rank, n;
    int has_mpi;
    const char *no_allreduce; /* why it is not measured, NULL when it is */
    struct place *places;     /* shape (n) */
    int *node, *cores;        /* per rank: its node, and the number of its cores; shape (n) */
    int *is_leader, *turn;    /* per rank: is it the first of its node, and its turn among the nodes of one kernel;
                               * shape (n) */
    int *measured_by;         /* first rank of the node whose measurement also stands for this node; shape (n) */
    int n_nodes, n_turns;
};

static int fail(const struct world *w, const char *sentence)
{
    if (w->rank == 0)
        dcr_say("dccollect calibrate", "%s", sentence);
    if (w->has_mpi)
        MPI_Finalize();
    return w->rank == 0 ? DCR_EXIT_INPUT : DCR_EXIT_OK;
}

/* ---- places --------------------------------------------------------------------------------------- */

static void join_world(struct world *w)
{
    struct rank_identity id = rank_of_self();
    w->n = 1;
    if (id.rank < 0) {
        w->no_allreduce = "one process (start it under mpirun or srun to measure it)";
        return;
    }
    MPI_Init(NULL, NULL);
    w->has_mpi = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &w->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w->n);
    if (w->n == 1 && id.world_size > 1) {
        w->rank = id.rank;
        w->no_allreduce = "the launcher's processes do not find each other (use mpirun, or srun --mpi=pmix)";
    } else if (w->n == 1) {
        w->no_allreduce = "a single rank has nobody to exchange with";
    }
}

/* Two nodes with the same kernel are emulated. They are equal if they have the same share of the same cores. */
static int are_equal(const struct place *a, const struct place *b)
{
    return a->share[0] && strcmp(a->share, b->share) == 0;
}

static int is_measured(const struct world *w, int rank)
{
    return w->is_leader[rank] && w->measured_by[rank] == rank;
}

static int find_places(struct world *w)
{
    struct place own = {0};
    const char *share = getenv(NODE_SHARE_VARIABLE);
    meta_host_name(own.host, sizeof own.host);
    meta_boot_id(own.boot_id, sizeof own.boot_id);
    sched_getaffinity(0, sizeof own.cpus, &own.cpus);
    snprintf(own.share, sizeof own.share, "%s", share ? share : "");
    w->places = calloc((size_t)w->n, sizeof *w->places);
    w->node = calloc(5 * (size_t)w->n, sizeof *w->node);
    if (!w->places || !w->node)
        return -1;
    w->cores = w->node + w->n;
    w->is_leader = w->cores + w->n;
    w->turn = w->is_leader + w->n;
    w->measured_by = w->turn + w->n;
    w->places[0] = own;
    if (w->n > 1)
        MPI_Allgather(&own, (int)sizeof own, MPI_BYTE, w->places, (int)sizeof own, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < w->n; i++) {
        int first = 0;
        while (strcmp(w->places[first].host, w->places[i].host) != 0 ||
               strcmp(w->places[first].boot_id, w->places[i].boot_id) != 0)
            first++;
        w->is_leader[i] = first == i;
        w->node[i] = first == i ? w->n_nodes++ : w->node[first];
        w->measured_by[i] = i;
        for (int k = 0; k < i && w->measured_by[i] == i; k++) {
            if (!w->is_leader[k] || w->measured_by[k] != k || strcmp(w->places[k].boot_id, w->places[i].boot_id) != 0)
                continue;
            w->turn[i]++;
            if (are_equal(&w->places[k], &w->places[i]))
                w->measured_by[i] = k;
        }
        if (is_measured(w, i) && w->turn[i] >= w->n_turns)
            w->n_turns = w->turn[i] + 1;
    }
    return 0;
}

/* Launchers bind each rank to a different core, so the cores of a node are those of all its ranks. */
static cpu_set_t cores_of_node(const struct world *w, int node)
{
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int i = 0; i < w->n; i++)
        if (w->node[i] == node)
            CPU_OR(&all, &all, &w->places[i].cpus);
    return all;
}

/* ---- measuring ------------------------------------------------------------------------------------- */

static json_t *measure_node(const cpu_set_t *cpus)
{
    json_t *o = json_object(), *host = meta_host();
    static const char *const keys[] = {"host", "boot_id", "cpu_model", "cores_quota"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (json_object_get(host, keys[i]))
            json_object_set(o, keys[i], json_object_get(host, keys[i]));
    json_decref(host);
    json_object_set_new(o, "cores", json_integer(CPU_COUNT(cpus)));
    progress_begin("rates measured", MACHINE_RATES, MACHINE_RATES);
    json_object_set_new(o, "fma", machine_fma(cpus));
    json_object_set_new(o, "memory", machine_memory(cpus));
    progress_end();
    return o;
}

/* Objects of all nodes, in the order of their first ranks, at rank 0. */
static json_t *collect_nodes(const struct world *w, json_t *own)
{
    json_t *list = json_array();
    if (w->rank != 0) {
        char *text = own ? json_dumps(own, 0) : NULL;
        if (text)
            MPI_Send(text, (int)strlen(text), MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        free(text);
        json_decref(own);
        json_decref(list);
        return NULL;
    }
    json_array_append_new(list, own);
    for (int i = 1; i < w->n; i++) {
        MPI_Status status;
        int n;
        if (!w->is_leader[i])
            continue;
        if (!is_measured(w, i)) {
            json_t *same = json_deep_copy(json_array_get(list, (size_t)w->node[w->measured_by[i]]));
            json_object_set_new(same, "host", json_string(w->places[i].host));
            json_object_set_new(same, "measured_on", json_string(w->places[w->measured_by[i]].host));
            json_array_append_new(list, same);
            continue;
        }
        MPI_Probe(i, 0, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_CHAR, &n);
        char *text = calloc((size_t)n + 1, 1);
        if (!text)
            MPI_Abort(MPI_COMM_WORLD, DCR_EXIT_INPUT);
        MPI_Recv(text, n, MPI_CHAR, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        json_array_append_new(list, json_loads(text, 0, NULL));
        free(text);
    }
    return list;
}

static json_t *measure_all(struct world *w)
{
    json_t *own = NULL, *o = json_object();
    cpu_set_t cpus = cores_of_node(w, w->node[w->n > 1 ? w->rank : 0]);
    for (int i = 0; i < w->n; i++) {
        cpu_set_t of_node = cores_of_node(w, w->node[i]);
        w->cores[i] = CPU_COUNT(&of_node);
    }
    json_object_set_new(o, "format", json_string(DCR_CALIBRATION_FORMAT));
    json_object_set_new(o, "version", json_integer(DCR_CALIBRATION_VERSION));
    json_object_set_new(o, "collector_version", json_string(DCR_VERSION));
    json_object_set_new(o, "measured", json_integer((json_int_t)time(NULL)));
    for (int turn = 0; turn < w->n_turns; turn++) {
        int me = w->n > 1 ? w->rank : 0;
        if (is_measured(w, me) && w->turn[me] == turn)
            own = measure_node(&cpus);
        if (w->n > 1)
            allreduce_wait(MPI_COMM_WORLD);
    }
    json_t *nodes = collect_nodes(w, own);
    if (nodes)
        json_object_set_new(o, "nodes", nodes);
    if (w->no_allreduce) {
        meta_missing(o, "allreduce", w->no_allreduce);
        return o;
    }
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n;
    MPI_Get_library_version(library, &n);
    library[strcspn(library, ",\n")] = '\0';
    json_object_set_new(o, "mpi_library", json_string(library));
    json_t *allreduce = allreduce_measure(w->node, w->cores);
    if (allreduce)
        json_object_set_new(o, "allreduce", allreduce);
    return o;
}

/* ---- the result --------------------------------------------------------------------------------------- */

/* "12 GB/s" for all cores, or the reason why it is not known; never a zero. The maximum is shown because the report
 * uses it as the ceiling. share: factor for the measured value */
static const char *measure_text(const json_t *node, const char *part, double share, const char *unit, char out[400])
{
    const json_t *o = json_object_get(node, part), *why = json_object_get(json_object_get(o, "missing"), "all_cores");
    double value = share * json_number_value(json_object_get(json_object_get(o, "all_cores"), "max"));
    if (value > 0)
        snprintf(out, 400, value < 1e3 ? "%.3g %s" : "%.0f %s", value, unit);
    else
        snprintf(out, 400, "n/a (%.350s)", why ? json_string_value(why) : "it could not be measured");
    return out;
}

static void say(const json_t *o, const char *path)
{
    char arithmetic[400], memory[400];
    const json_t *nodes = json_object_get(o, "nodes"), *node = json_array_get(nodes, 0);
    const json_t *groups = json_object_get(o, "allreduce");
    const json_t *last = json_array_get(groups, json_array_size(groups) - 1);
    double cores = (double)json_integer_value(json_object_get(node, "cores"));
    double quota = json_number_value(json_object_get(node, "cores_quota")); /* 0 = none */
    double share = quota > 0 && quota < cores ? quota / cores : 1;          /* the rate is by processor time */
    text_print(stderr, "%s: %zu node%s; the first, %.6g core%s: %s, memory %s", path, json_array_size(nodes),
               json_array_size(nodes) == 1 ? "" : "s", share * cores, share * cores > 1 ? "s" : "",
               measure_text(node, "fma", share, "GFLOP/s", arithmetic),
               measure_text(node, "memory", 1, "GB/s", memory));
    if (last)
        fprintf(stderr, "; all-reduce of %d ranks %.3g us, %.3g GB/s",
                (int)json_integer_value(json_object_get(last, "n_ranks")),
                1e-3 * (double)json_integer_value(json_object_get(last, "latency_ns")),
                json_number_value(json_object_get(last, "algbw_gb_per_s")));
    fputc('\n', stderr);
}

/* Warn of disturbed measurements after the closing line. */
static void warn(const json_t *o)
{
    enum { MAX_LINES = 8 };
    struct dcr_buf list = {0};
    int n = disturbed_list(o, &list), n_said = 0;
    const char *at = dcr_buf_text(&list);
    for (; *at && n_said < MAX_LINES; at += strcspn(at, "\n") + 1, n_said++)
        dcr_say("dccollect calibrate", "warning: %.*s", (int)strcspn(at, "\n"), at);
    if (n > n_said)
        dcr_say("dccollect calibrate", "warning: and %d more", n - n_said);
    if (n)
        dcr_say(
            "dccollect calibrate",
            "warning: reports do not use disturbed measurements as limits of the machine; measure again when nothing "
            "else runs there");
    dcr_buf_release(&list);
}

static int write_result(const json_t *o, const char *path)
{
    struct dcr_err err = {0};
    char *text = json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    int rc = text ? dcr_write_file(path, text, strlen(text), &err) : DCR_FAIL;
    free(text);
    if (rc)
        dcr_say("dccollect calibrate", "%s", err.text[0] ? err.text : "out of memory");
    else {
        warn(o);
        say(o, path);
    }
    return rc ? DCR_EXIT_INPUT : DCR_EXIT_OK;
}

/* The beginning of measure_all's output by json_dumps, whatever its spacing. */
static int is_calibration(const char *head)
{
    static const char *const parts[] = {"{", "\"format\"", ":", "\"" DCR_CALIBRATION_FORMAT "\""};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t n = strlen(parts[i]);
        head += strspn(head, " \t\r\n");
        if (strncmp(head, parts[i], n) != 0)
            return 0;
        head += n;
    }
    return 1;
}

/* Can the result be written there? Nothing is written. returns 0 and the reason in err if not */
static int is_usable(const char *output, struct dcr_err *err)
{
    const struct dcr_output out = {"-o", output, "a calibration of dccollect", is_calibration};
    char folder[PATH_MAX];
    if (dcr_output_check(&out, err) != 0)
        return 0;
    if (dcr_folder_of(output, folder, sizeof folder) == 0 && access(folder, W_OK) == 0)
        return 1;
    dcr_err_file(err, DCR_FAIL, "cannot write '%s'", output);
    return 0;
}

/* An option that is not known, or the last one without its value. */
static void refuse_option(const char *option, struct dcr_err *err)
{
    if (strcmp(option, "-o") == 0 || strcmp(option, "--output") == 0)
        dcr_err_set(err, DCR_FAIL, "option '%s' needs a value; see `dccollect calibrate --help`", option);
    else
        dcr_err_set(err, DCR_FAIL, "unknown option '%.200s'; see `dccollect calibrate --help`", option);
}

int main(int argc, char **argv)
{
    struct world w = {0};
    const char *output = "calibration.json", *bad = NULL;
    struct dcr_err err = {0};
    dcr_hold_standard_streams();
    for (int i = 1; i < argc && !bad; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return fputs(usage, stdout) < 0 || fflush(stdout) != 0 ? DCR_EXIT_INPUT : DCR_EXIT_OK;
        if (strcmp(argv[i], "--version") == 0)
            return printf("dccollect %s\n", DCR_VERSION) < 0 || fflush(stdout) != 0 ? DCR_EXIT_INPUT : DCR_EXIT_OK;
        if (strcmp(argv[i], "--") == 0 && i + 1 == argc)
            break;
        if ((strcmp(argv[i], "-o") == 0 || strcmp(argv[i], "--output") == 0) && i + 1 < argc)
            output = argv[++i];
        else
            bad = argv[i];
    }
    join_world(&w);
    if (bad) {
        refuse_option(bad, &err);
        return fail(&w, err.text);
    }
    int is_refused = !is_usable(output, &err); /* the first rank writes, so it decides */
    if (w.n > 1)
        MPI_Bcast(&is_refused, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (is_refused)
        return fail(&w, err.text);
    if (find_places(&w) != 0)
        return fail(&w, "out of memory");
    int status = DCR_EXIT_OK;
    if (w.rank == 0)
        progress_allow("dccollect calibrate");
    if (w.rank == 0 || w.n > 1) { /* if the processes do not find each other, only the first measures */
        json_t *o = measure_all(&w);
        if (w.rank == 0)
            status = write_result(o, output);
        json_decref(o);
    }
    if (w.has_mpi)
        MPI_Finalize();
    free(w.places);
    free(w.node);
    return status;
}
