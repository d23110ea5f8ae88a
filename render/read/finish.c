/* finish.c - see reading.h. Checks the result, and lists what it lacks. */
#include "render/read/reading.h"

#include "lib/archive/format.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int reading_nodes(const char *name)
{
    for (const char *p = name; *p && *p != '/'; p++) {
        if (!isdigit((unsigned char)*p) || (p > name && isalnum((unsigned char)p[-1])))
            continue;
        char *end;
        long n = strtol(p, &end, 10);
        if (strncmp(end, "node", 4) == 0 && n >= 1 && n <= RUN_MAX_NODE)
            return (int)n;
    }
    return 0;
}

/* Compares a member that was read with the manifest; 0 or DCR_FAIL. */
int reading_check(const struct reading *g, const char *name, int64_t size, const char *sha256, struct dcr_err *err)
{
    struct manifest_member *entry = manifest_find(&g->manifest, name);
    if (!entry)
        return 0;
    entry->is_seen = 1;
    if (entry->size_bytes != size)
        return dcr_err_set(err, DCR_FAIL, "cannot trust '%s': " DCR_WRONG_SIZE, g->path, name, (long long)size,
                           (long long)entry->size_bytes);
    if (strcmp(entry->sha256, sha256) != 0)
        return dcr_err_set(err, DCR_FAIL, "cannot trust '%s': " DCR_WRONG_CHECKSUM, g->path, name);
    return 0;
}

static int check_manifest(struct reading *g, struct dcr_err *err)
{
    for (size_t i = 0; i < g->run->n_members; i++) { /* again, for members that came before the manifest */
        const struct run_member *m = &g->run->members[i];
        if (reading_check(g, m->name, m->size_bytes, m->sha256, err))
            return DCR_FAIL;
    }
    for (size_t i = 0; i < g->manifest.n; i++)
        if (!g->manifest.members[i].is_seen)
            return dcr_err_set(err, DCR_FAIL, "cannot trust '%s': " DCR_NOT_IN_ARCHIVE, g->path,
                               g->manifest.members[i].name);
    return 0;
}

/* Several boot ids mean machines; one means nodes on one kernel. Used only if the archive itself does not state it. */
static void guess_node_kind(struct run *r)
{
    if (r->node_kind != NODES_UNKNOWN || r->nodes_len < 2)
        return;
    int n_equal = 0;
    for (int i = 0; i < r->nodes_len; i++) {
        if (!*r->nodes[i].boot_id)
            return;
        for (int k = 0; k < i; k++)
            n_equal += strcmp(r->nodes[i].boot_id, r->nodes[k].boot_id) == 0;
    }
    r->node_kind = n_equal ? NODES_ONE_KERNEL : NODES_MACHINES;
}

/* Number of nodes that are named or were watched. GPU samples without a host are kept at node 0 and do not count as a
 * node. */
static int told_nodes(const struct run *r)
{
    int n = 0;
    for (int i = 0; i < r->nodes_len; i++)
        n += !r->nodes[i].is_of_samples || *r->nodes[i].host || r->nodes[i].cpu_percent.n;
    return n;
}

static void find_sizes(struct reading *g)
{
    struct run *r = g->run;
    if (!r->n_nodes && r->has_metadata)
        r->n_nodes = told_nodes(r);
    if (!r->n_nodes && g->folder_nodes) {
        r->n_nodes = g->folder_nodes;
        run_add_gap(r, PHRASE(NODES_BY_FOLDER, slot_count(r->n_nodes)), PHRASE(NOTHING_CONFIRMS));
    }
    if (!r->n_nodes && reading_nodes(r->archive)) {
        r->n_nodes = reading_nodes(r->archive);
        run_add_gap(r, PHRASE(NODES_BY_FILE, slot_count(r->n_nodes)), PHRASE(NOTHING_CONFIRMS));
    }
    int n_with_steps = 0;
    for (int i = 0; i < r->ranks_len; i++)
        n_with_steps += r->ranks[i].n_steps > 0;
    if (!r->n_ranks)
        r->n_ranks = r->has_metadata ? r->ranks_len : n_with_steps;
}

/* "run.tar" -> "run"; the id of a run without one. */
static const char *id_of_archive(struct run *r)
{
    size_t n = strlen(r->archive);
    static const char *const ends[] = {".tar.zst",          ".tar.gz",        ".tgz",     ".tar",
                                       ".pt.trace.json.gz", ".pt.trace.json", ".json.gz", ".json",
                                       ".sqlite",           ".csv",           ".txt"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t k = strlen(ends[i]);
        if (n > k && strcmp(r->archive + n - k, ends[i]) == 0) {
            n -= k;
            break;
        }
    }
    return dcr_arena_strndup(&r->arena, r->archive, n);
}

static int all_zero_or_absent(const struct run *r, const char *column)
{
    int m = run_metric(column);
    for (size_t i = 0; i < r->n_epochs; i++)
        if (!isnan(r->epochs[i].value[m]) && r->epochs[i].value[m] != 0)
            return 0;
    return 1;
}

static void forget_column(struct run *r, const char *column)
{
    int m = run_metric(column), had_value = 0;
    for (size_t i = 0; i < r->n_epochs; i++) {
        had_value |= !isnan(r->epochs[i].value[m]);
        r->epochs[i].value[m] = NAN;
    }
    if (had_value)
        run_add_gap(r, PHRASE(METRICS_ZERO, slot_name(column)));
}

/* Why MPI calls were not recorded although there were some, or may have been because there are several ranks; NULL
 * otherwise. */
static const char *why_no_mpi(const struct run *r)
{
    static const char quietly[] = "MPI calls are not recorded: ";
    const char *why = r->mpi.because;
    if (r->mpi.state != RECORDER_NOTHING ||
        (!strstr(why, "Open MPI") && !(r->n_ranks > 1 && strstr(why, "linked with MPI"))))
        return NULL;
    return strncmp(why, quietly, sizeof quietly - 1) == 0 ? why + sizeof quietly - 1 : why;
}

static void name_gaps(struct reading *g)
{
    struct run *r = g->run;
    int n_steps = 0, n_gpus = 0, n_cpu = 0;
    for (int i = 0; i < r->ranks_len; i++)
        n_steps += r->ranks[i].n_steps > 0;
    for (int i = 0; i < r->nodes_len; i++) {
        n_gpus += r->nodes[i].n_gpus;
        n_cpu += r->nodes[i].cpu_percent.n > 0;
    }
    if (!r->has_manifest)
        run_add_gap(r, PHRASE(NO_MANIFEST));
    if (!r->has_metadata)
        run_add_gap(r, PHRASE(NO_METADATA));
    if (!n_steps && g->has_steps)
        run_add_gap(r, PHRASE(STEPS_CSV_EMPTY), PHRASE(STEPS_CSV_EMPTY_WHY));
    else if (!n_steps && r->has_window && r->nvtx.state == RECORDER_NOTHING)
        run_add_gap(r, PHRASE(NO_STEPS_IN_WINDOW));
    else if (!n_steps && r->n_endings)
        run_add_gap(r, PHRASE(NO_STEPS_BEFORE_END));
    else if (!n_steps)
        run_add_gap(r, PHRASE(NO_STEPS_RECORDED), PHRASE(NAMES_OF_STEPS));
    /* Only training programs write metrics.csv, so it is not missing for others. */
    int is_training = g->has_steps || *r->program.model || *r->program.dataset;
    if (!r->has_metrics && is_training)
        run_add_gap(r, PHRASE(NO_METRICS_CSV));
    if (!n_cpu)
        run_add_gap(r, g->has_cpu_monitor ? PHRASE(CPU_MONITOR_EMPTY) : PHRASE(NO_CPU_MONITOR));
    if (r->n_cut_traces)
        run_add_gap(r,
                    r->events_from_step >= 0 ? PHRASE(EVENTS_FROM_STEP, slot_count(r->events_from_step))
                                             : PHRASE(EVENTS_OF_THE_END),
                    r->n_unsummed_traces ? PHRASE(SUMS_OF_KEPT) : PHRASE(SUMS_OF_ALL));
    const char *why = why_no_mpi(r);
    if (why)
        run_add_gap(r, PHRASE(NO_MPI_CALLS, slot_name(why)));
    if (r->n_ranks && n_steps && n_steps < r->n_ranks)
        run_add_gap(r, PHRASE(STEPS_ON_SOME, slot_count(n_steps), slot_count(r->n_ranks)));
    if (!n_gpus && all_zero_or_absent(r, "gpu_util_avg"))
        forget_column(r, "gpu_util_avg");
    if (!n_cpu && all_zero_or_absent(r, "cpu_util_avg"))
        forget_column(r, "cpu_util_avg");
}

/* None of the plain files is of a known kind. */
static int no_run(const struct reading *g, struct dcr_err *err)
{
    const char *first = g->first_unknown ? g->first_unknown : g->first_none;
    int is_none = g->n_none == g->run->n_members;
    if (is_none && *g->why_none.text) {
        if (err)
            *err = g->why_none;
        return dcr_err_mark(err, DCR_ERR_NO_EVIDENCE, DCR_FAIL);
    }
    int rc = dcr_err_set(err, DCR_FAIL,
                         "cannot use '%s': it holds no run, and dcreport does not know what '%.200s'%s; see `man "
                         "dcreport`, or build/man/dcreport.1 in the sources, for the kinds of files",
                         g->path, first, g->run->n_members > 1 ? " and others are" : " is");
    return is_none ? dcr_err_mark(err, DCR_ERR_NO_EVIDENCE, rc) : rc;
}

int reading_finish(struct reading *g, struct dcr_err *err)
{
    struct run *r = g->run;
    int rc = r->has_manifest ? check_manifest(g, err) : 0;
    if (rc)
        return rc;
    if (r->n_members == (size_t)r->has_manifest)
        return dcr_err_set(err, DCR_FAIL, "'%s' is empty; %s", g->path,
                           g->is_folder ? DCR_NAME_A_FOLDER : "copy or pack it again");
    step_rows_finish(r, g->rows);
    /* A packed folder of other tools' files: no collector watched that run, so its files are not missing. */
    int is_others = g->n_foreign > 0 && g->n_ours == 0 && !r->n_command;
    int is_ours = r->has_metrics || r->ranks_len > 0 || (!is_others && (r->has_metadata || r->has_manifest));
    run_take_trace_steps(r);
    run_number_steps(r);
    find_sizes(g);
    guess_node_kind(r);
    for (int i = 0; i < r->nodes_len; i++)
        if (r->nodes[i].share.has)
            r->node_kind = NODES_SHARES;
    if (!*r->run_id)
        r->run_id = id_of_archive(r);
    if (!is_ours && g->n_foreign == 0) {
        if (g->n_failed && err)
            *err = g->first_failure;
        if (g->n_failed)
            return DCR_FAIL;
        if (g->is_folder && (g->first_unknown || g->first_none))
            return no_run(g, err);
        return dcr_err_set(err, DCR_FAIL,
                           "cannot use '%s': it holds no metrics.csv, no steps and no trace; name the archive of a run",
                           g->path);
    }
    if (g->n_unknown)
        run_add_gap(r, PHRASE(FILES_UNKNOWN, slot_count(g->n_unknown)),
                    PHRASE(FIRST_UNKNOWN, slot_count(g->n_unknown), slot_name(g->first_unknown)));
    r->is_foreign = !is_ours;
    if (is_ours)
        name_gaps(g);
    run_sort(r);
    return 0;
}
