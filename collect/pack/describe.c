/* describe.c - derives nodes, ranks, completeness and job_metadata.json (docs/FORMAT.md) from the gathered files. */
#include "collect/pack/parts.h"

#include "collect/record/meta.h"
#include "collect/record/spool_layout.h"
#include "lib/base/progress.h"
#include "lib/archive/clocks.h"
#include "lib/archive/foreign.h"
#include "lib/base/json_string.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const json_t *pack_first_record(const struct pack *p)
{
    if (p->launcher)
        return p->launcher;
    for (size_t i = 0; i < p->n_ranks; i++)
        if (p->ranks[i].record)
            return p->ranks[i].record;
    return NULL;
}

/* ---- ranks ------------------------------------------------------------------------------------ */

static int has_member(const struct pack *p, enum dcr_role role, int rank)
{
    for (size_t i = 0; i < p->n_members; i++)
        if (p->members[i].role == role && p->members[i].rank == rank)
            return 1;
    return 0;
}

/* Without a launcher of ranks the program itself is rank 0. */
static void adopt_launcher(struct pack *p)
{
    int is_alone =
        p->launcher &&
        (p->n_ranks == 0 || (p->n_ranks == 1 && p->ranks[0].rank == 0 && !has_member(p, DCR_ROLE_PROCESS_MONITOR, 0)));
    if (!is_alone)
        return;
    struct pack_rank *r = pack_rank_at(p, 0);
    if (!r->record) {
        r->record = json_deep_copy(p->launcher);
        json_object_set_new(r->record, "rank", json_integer(0));
    }
    if (p->launcher_monitor)
        pack_add(p, "rank0/process_monitor.csv", p->launcher_monitor, NULL, DCR_ROLE_PROCESS_MONITOR, -1, 0);
}

static void put_status(const struct pack *p, const struct pack_rank *r, json_t *o)
{
    int is_known = 0, status = p->launcher ? pack_status_of(p, r, &is_known) : 0;
    if (is_known && status >= 0)
        json_object_set_new(o, "exit_status", json_integer(status));
    else
        meta_missing(o, "exit_status",
                     status < 0    ? "ended by a signal"
                     : p->launcher ? "the collector ran in front of the launcher and saw only its status"
                                   : "no collector was at this rank's side");
    if (is_known)
        json_object_set_new(o, "signal", json_integer(status < 0 ? -status : 0));
}

/* Makes records for ranks below a collector that ran in front of mpirun, because they have none. */
static void make_records(struct pack *p)
{
    for (size_t i = 0; i < p->n_ranks; i++) {
        struct pack_rank *r = &p->ranks[i];
        if (r->record) {
            r->host = pack_json_text(r->record, "host");
            r->pid = (long)pack_json_int(r->record, "pid", r->pid);
            continue;
        }
        if (!*r->host && p->launcher)
            r->host = pack_json_text(p->launcher, "host");
        json_t *o = json_object();
        json_object_set_new(o, "rank", json_integer(r->rank));
        if (*r->host)
            json_object_set_new(o, "host", json_string_kept(r->host));
        if (r->pid)
            json_object_set_new(o, "pid", json_integer(r->pid));
        put_status(p, r, o);
        meta_missing(o, "counters", "they need a collector beside each rank");
        meta_missing(o, "started_ns",
                     p->launcher ? "the collector ran in front of the launcher"
                                 : "no collector was at this rank's side");
        r->record = o;
    }
}

static void add_rank_members(struct pack *p)
{
    for (size_t i = 0; i < p->n_ranks; i++) {
        char name[64];
        struct pack_rank *r = &p->ranks[i];
        if (has_member(p, DCR_ROLE_RANK, r->rank) || !p->is_spool)
            continue;
        char *text = json_dumps(r->record, JSON_INDENT(1) | JSON_REAL_PRECISION(14));
        snprintf(name, sizeof name, "rank%d/" SPOOL_RANK, r->rank);
        pack_add(p, name, NULL, text ? text : "{}", DCR_ROLE_RANK, -1, r->rank);
        free(text);
    }
}

/* ---- metadata --------------------------------------------------------------------------------- */

/* Offset of the host's clock from rank 0's; NULL: it was not measured. */
static const struct dcr_clock *clock_of(struct pack *p, const char *host)
{
    char name[400];
    snprintf(name, sizeof name, SPOOL_HOST_PREFIX "%.300s/clock_monitor.csv", host);
    const struct archive_member *m = pack_member_named(p, name);
    int fd = m ? open(m->path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return NULL;
    struct dcr_stream s = dcr_stream_fd(&fd, name);
    struct dcr_clock *c = dcr_arena_alloc(&p->arena, sizeof *c);
    long n_bad;
    int rc = dcr_clock_read(c, &p->arena, &s, &n_bad, NULL);
    close(fd);
    return rc == 0 && c->n ? c : NULL;
}

/* A time of a record in Unix seconds. If the host's clock was measured, it is on the calendar of rank 0's host. */
static double moment(struct pack *p, struct dcr_hosts *hosts, const json_t *record, const char *key, const char *key_ns)
{
    const char *host = pack_json_text(record, "host");
    double at = json_number_value(json_object_get(record, key));
    json_int_t mono_ns = pack_json_int(record, key_ns, -1);
    if (!(at > 0 && at < 9e9) || mono_ns < 0)
        return at;
    struct dcr_host h = dcr_host_of(hosts, host, mono_ns, (int64_t)(at * 1e9),
                                    dcr_host_is_known(hosts, host) ? NULL : clock_of(p, host));
    return h.clock ? (double)dcr_host_time(&h, mono_ns) / 1e9 : at;
}

static void put_times(struct pack *p, json_t *o)
{
    double started = 0, ended = 0;
    struct dcr_hosts hosts = {.arena = &p->arena};
    for (size_t i = 0; i <= p->n_ranks; i++) {
        const json_t *record = i < p->n_ranks ? p->ranks[i].record : p->launcher;
        double from = moment(p, &hosts, record, "started", "started_ns");
        double to = moment(p, &hosts, record, "ended", "ended_ns");
        if (from > 0 && (started <= 0 || from < started))
            started = from;
        if (to > ended)
            ended = to;
    }
    if (started > 0)
        json_object_set_new(o, "started", json_real(started));
    else
        meta_missing(o, "started", "no collector watched the run");
    if (ended > 0)
        json_object_set_new(o, "ended", json_real(ended));
    else
        meta_missing(o, "ended", started > 0 ? "no collector lived to see the end" : "no collector watched the run");
    p->started_s = started;
    p->mtime = started > 0 ? (int64_t)floor(started) : 0;
}

static void put_program(struct pack *p, json_t *o)
{
    const struct archive_member *m = pack_member_named(p, "program.json");
    json_t *program = m ? json_load_file(m->path, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (json_is_object(program)) {
        json_object_set_new(o, "program", program);
        return;
    }
    json_decref(program);
    meta_missing(o, "program",
                 m ? "'program.json' is not readable as a JSON object" : "the program left no 'program.json'");
}

static void put_ranks(const struct pack *p, json_t *o)
{
    if (p->launcher) {
        pack_json_copy(o, p->launcher, "told_to_end");
        pack_json_copy(o, p->launcher, "told_to_end_ns");
    }
    static const char *const keys[] = {"exit_status",     "signal",   "told_to_end", "told_to_end_ns", "started_ns",
                                       "ended_ns",        "user_ns",  "system_ns",   "max_rss_bytes",  "cpus_allowed",
                                       "process_monitor", "counters", "missing"};
    json_t *list = json_array();
    for (size_t i = 0; i < p->n_ranks; i++) {
        const struct pack_rank *r = &p->ranks[i];
        json_t *rank = json_object();
        json_object_set_new(rank, "rank", json_integer(r->rank));
        if (r->node >= 0)
            json_object_set_new(rank, "node", json_integer(r->node));
        if (*r->host)
            json_object_set_new(rank, "host", json_string_kept(r->host));
        if (r->pid)
            json_object_set_new(rank, "pid", json_integer(r->pid));
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            pack_json_copy(rank, r->record, keys[k]);
        if (strcmp(pack_json_text(r->record, "state"), SPOOL_RUNNING) == 0)
            meta_missing(rank, "exit_status", "there is no end record");
        json_object_set_new(rank, "events", json_integer((json_int_t)r->n_events));
        json_array_append_new(list, rank);
    }
    json_object_set_new(o, "ranks", list);
}

/* Notes what the monitors could not measure, for the closing lines. A host without an NVIDIA driver most likely has no
 * GPU, so nothing is missing there. Few hosts show the counters of their memory controllers, so they are not missed. */
static void note_missing(struct pack *p, const json_t *nodes)
{
    const json_t *monitors = json_object_get(json_array_get(nodes, 0), "monitors");
    const char *key;
    json_t *value;
    const char *not_loaded = pack_json_text(pack_first_record(p), "not_loaded");
    if (*not_loaded) {
        char line[1200];
        snprintf(line, sizeof line, "MPI, files: %.1000s", not_loaded);
        json_array_append_new(p->missing, json_string_kept(line));
    }
    json_object_foreach((json_t *)monitors, key, value)
    {
        const char *state = json_string_value(value);
        const char *reason = state && strncmp(state, "absent: ", 8) == 0 ? state + 8 : NULL;
        char line[512];
        if (!reason || strcmp(key, "memory") == 0 || strncmp(reason, "no NVIDIA driver", 16) == 0)
            continue;
        snprintf(line, sizeof line, "%s: %.400s", key, reason);
        json_array_append_new(p->missing, json_string_kept(line));
    }
}

/* Only nsys can read its reports. Without the SQLite export beside it, the closing line gets the command that makes
 * one. */
static void name_exports(struct pack *p)
{
    for (size_t i = 0; i < p->n_members; i++) {
        char name[PATH_MAX], line[2 * PATH_MAX];
        const struct archive_member *m = &p->members[i];
        const char *dot = strrchr(m->name, '.');
        if (!m->kind || strcmp(m->kind, dcr_foreign_kind(DCR_FOREIGN_NSYS_REPORT)) != 0 || !dot)
            continue;
        snprintf(name, sizeof name, "%.*s.sqlite", (int)(dot - m->name), m->name);
        if (pack_member_named(p, name))
            continue;
        snprintf(line, sizeof line, "export of %.300s (run: nsys export --type sqlite --output %.300s %.300s)", m->name,
                 name, m->name);
        json_array_append_new(p->missing, json_string_kept(line));
    }
}

static void describe_results_folder(struct pack *p, json_t *o)
{
    static const char *const unknown[] = {"command", "nodes", "environment", "scheduler"};
    p->n_nodes = p->request->n_nodes;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        meta_missing(o, unknown[i], "the results folder of another collector does not tell in a form read here");
    put_ranks(p, o);
}

static void describe_run(struct pack *p, const json_t *record, json_t *o)
{
    static const char *const keys[] = {"command", "folder", "git", "scheduler", "environment", "labels"};
    json_t *nodes = json_array();
    pack_assign_nodes(p);
    if (p->request->n_nodes)
        p->n_nodes = p->request->n_nodes;
    for (int i = 0; i < p->n_nodes; i++)
        json_array_append_new(nodes, pack_node_object(p, i));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        pack_json_copy(o, record, keys[i]);
        if (!json_object_get(record, keys[i]))
            meta_missing(o, keys[i], record ? "not under version control, or not told" : "no collector record is left");
    }
    json_object_set_new(o, "nodes", nodes);
    json_object_set_new(o, "node_kind", json_string(pack_node_kind(p, nodes)));
    put_ranks(p, o);
    note_missing(p, nodes);
}

static void adopt_recorded(struct pack *p, const json_t *record, int *rc, struct dcr_err *err)
{
    const json_t *list = json_object_get(record, "adopt");
    for (size_t i = 0; i < json_array_size(list) && *rc == 0; i++)
        *rc = pack_adopt(p, json_string_value(json_array_get(list, i)), err);
}

int pack_describe(struct pack *p, struct dcr_err *err)
{
    progress_begin("reading the traces", 0, pack_bytes(p, DCR_ROLE_TRACE));
    int rc = pack_traces(p, err);
    progress_end();
    if (rc)
        return rc;
    json_t *o = p->metadata = json_object();
    adopt_launcher(p);
    const json_t *record = pack_first_record(p);
    if (p->is_spool && !record)
        pack_reason(p, "no collector record is left; command and environment are unknown");
    put_times(p, o);
    adopt_recorded(p, record, &rc, err);
    for (size_t i = 0; i < p->request->n_adopt && rc == 0; i++)
        rc = pack_adopt(p, p->request->adopt[i], err);
    if (rc)
        return rc;
    name_exports(p);
    if (p->is_spool)
        make_records(p);
    rc = pack_check_emulation(p, err);
    if (rc)
        return rc;
    pack_judge(p);
    add_rank_members(p);
    if (p->is_spool)
        describe_run(p, record, o);
    else
        describe_results_folder(p, o);
    put_program(p, o);
    pack_recorded(p, record, o);
    json_object_set(o, "not_packed", p->not_packed);
    return DCR_OK;
}
