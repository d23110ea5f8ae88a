/* run.c - see run.h. */
#include "collect/run/run.h"

#include "collect/record/calibrate.h"
#include "collect/monitor/clock_server.h"
#include "collect/drain/drain.h"
#include "collect/drain/shared.h"
#include "collect/run/environment.h"
#include "collect/run/leftover.h"
#include "collect/record/meta.h"
#include "collect/record/node_share.h"
#include "collect/pack/pack.h"
#include "collect/monitor/perf.h"
#include "collect/run/run_parts.h"
#include "collect/monitor/sampler.h"
#include "collect/record/spool_layout.h"
#include "lib/base/fs.h"
#include "lib/base/mono.h"
#include "lib/base/progress.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The host is asked only once. */
static int write_host(struct run *r, json_t *monitors, struct dcr_err *err)
{
    char dir[PATH_MAX + 320];
    if (!r->is_host_sampled)
        return DCR_OK;
    snprintf(dir, sizeof dir, "%s/%s", r->spool, r->host_dir);
    if (!r->host)
        r->host = meta_host();
    if (monitors)
        json_object_set(r->host, "monitors", monitors);
    return spool_write_json(dir, SPOOL_HOST, r->host, err);
}

/* Is this one of several ranks, each with its own collector, which may be on several hosts? */
static int is_one_of_many(const struct run *r)
{
    return r->o->spool && r->id.rank >= 0 && r->id.world_size > 1;
}

enum { MOST_MB_IN_MEMORY = 64, GRACE_MS = 2000, LOOKS = 25 };

/* A spool in memory has no room for a long trace, so it is limited unless the user asked for all of it. */
static struct bounds bounds_of(const struct run *r)
{
    static const struct {
        int n_pieces, mb;
    } defaults[] = {[KEEP_RING] = {8, 2048}, [KEEP_ALL] = {0, 0}, [KEEP_SUMMARY] = {1, 16}};
    int mb = r->o->max_disk_mb ? r->o->max_disk_mb : run_is_in_memory(r) ? MOST_MB_IN_MEMORY : defaults[r->o->keep].mb;
    return (struct bounds){.n_pieces = defaults[r->o->keep].n_pieces, .max_bytes = (int64_t)mb << 20};
}

/* Starts the drain with the memory that the program records into. Without enough memory the program still runs. */
static struct drain *start_drain(struct run *r)
{
    struct dcr_err why = {0};
    struct drain *d = NULL;
    int64_t bytes = shared_bytes(r->o->max_mb, run_n_local(r), run_n_below(r));
    struct bounds bounds = bounds_of(r);
    if (drain_start(&d, r->spool, bytes, &bounds, r->o->sync_s, &why) != 0)
        json_object_set_new(r->record, "not_loaded", json_string(why.text));
    if (d)
        setenv(SEGMENT_VARIABLE, drain_path(d), 1);
    else
        unsetenv(SEGMENT_VARIABLE);
    return d;
}

static int observe(struct run *r, int *status, struct dcr_err *err)
{
    pid_t pid;
    struct sampler *sampler = NULL;
    struct perf perf = {0};
    perf_leave(&perf, "switched off (--counters off)");
    start_block_signals();
    struct drain *drain = start_drain(r);
    int rc = start_program(r->o->program, r->spool, &r->program_mask, r->o->counters ? &perf : NULL, &pid, err);
    unsetenv(SEGMENT_VARIABLE); /* programs that the collector itself starts are not recorded */
    if (rc) {
        drain_stop(drain, 0, NULL);
        perf_close(&perf);
        *status = err && err->sys == ENOENT ? 127 : err && err->sys == EACCES ? 126 : DCR_EXIT_SELF;
        return rc;
    }
    json_object_set_new(r->record, "pid", json_integer(pid));
    struct clock_server *clock = NULL;
    const char *meeting = r->o->clock ? r->o->clock : r->spool;
    if (is_one_of_many(r) && r->id.rank == 0 && clock_server_start(&clock, meeting, NULL) != 0)
        clock = NULL; /* the other collectors report that there is no answer */
    struct dcr_err trouble = {0};
    struct source_config config = {.host_dir = r->is_host_sampled ? r->host_dir : NULL,
                                   .rank = r->id.rank,
                                   .pid = pid,
                                   .spool = r->spool,
                                   .perf = &perf,
                                   .clock_folder = is_one_of_many(r) ? meeting : NULL};
    /* From here on the program runs, and nothing that fails on our side may end it. */
    int failed = spool_write_json(r->record_dir, r->record_name, r->record, &trouble);
    failed = sampler_start(&sampler, r->spool, &config, r->o->interval_ms, failed ? NULL : &trouble) || failed;
    struct ended ended = {0};
    start_wait(pid, &ended);
    json_t *monitors = json_object();
    sampler_stop(sampler, monitors);
    drain_look(drain);
    start_reap(pid, &ended);
    /* The program may leave children running. An archive waits a little for them. */
    int64_t until_ns = dcr_mono_ns() + (r->o->output ? (int64_t)GRACE_MS * 1000000 : 0);
    while ((r->n_left = leftover_look(drain_path(drain), r->left, sizeof r->left)) > 0 && dcr_mono_ns() < until_ns)
        for (int i = 0; i < LOOKS; i++) { /* they go on recording */
            nanosleep(&(struct timespec){.tv_nsec = 50000000 / LOOKS}, NULL);
            drain_look(drain);
        }
    drain_stop(drain, r->n_left, r->record);
    *status = ended.signal ? 128 + ended.signal : ended.exit_status < 0 ? DCR_EXIT_SELF : ended.exit_status;
    clock_server_stop(clock);
    failed = write_host(r, monitors, failed ? NULL : &trouble) || failed;
    if (json_object_get(monitors, "process"))
        json_object_set(r->record, "process_monitor", json_object_get(monitors, "process"));
    json_decref(monitors);
    json_object_set_new(r->record, "counters", perf_describe(&perf));
    perf_close(&perf);
    run_end_record(r, &ended);
    failed = spool_write_json(r->record_dir, r->record_name, r->record, failed ? NULL : &trouble) || failed;
    if (failed && err)
        *err = trouble;
    return failed ? DCR_FAIL : DCR_OK;
}

/* The program never started, so the place is free again. A failure is not worth another message. */
static void free_place(const struct run *r)
{
    char path[PATH_MAX + 64];
    if (r->is_own_spool) {
        (void)!dcr_remove_tree(r->spool, NULL);
    } else if (r->has_claimed) {
        snprintf(path, sizeof path, "%s/%s", r->record_dir, r->record_name);
        unlink(path);
    }
}

static void write_not_started(struct run *r, int status)
{
    struct ended never = {.exit_status = status};
    run_end_record(r, &never);
    (void)!spool_write_json(r->record_dir, r->record_name, r->record, NULL);
}

/* The run is packed, but the spool is kept: it has the only copy of files that could not be read, or other processes
 * still write into it. */
static void say_kept(const struct run *r, int n_unread, char *message, size_t n)
{
    size_t used = strlen(message);
    int n_left = r->n_left;
    if (n_unread)
        snprintf(message + used, n - used,
                 "\ndccollect: %d file%s of '%s' could not be read, so the folder is kept. Make %s readable, then: "
                 "dccollect pack %s -o %s",
                 n_unread, n_unread == 1 ? "" : "s", r->spool, n_unread == 1 ? "it" : "them", r->spool, r->o->output);
    used = strlen(message);
    if (n_left)
        snprintf(message + used, n - used,
                 "\ndccollect: %d process%s that the program left behind (%s) may still record in '%s'; when %s ended: "
                 "dccollect pack %s -o %s",
                 n_left, n_left == 1 ? "" : "es", r->left, r->spool, n_left == 1 ? "it has" : "they have", r->spool,
                 r->o->output);
}

/* A process that removes the folder may do so while files are being made in it. Then a new folder of the same name may
 * exist, with the last few files. */
static int is_spool_gone(const struct run *r)
{
    struct stat st;
    return (r->spool_fd >= 0 && (fstat(r->spool_fd, &st) != 0 || st.st_nlink == 0)) ||
           (access(r->spool, F_OK) != 0 && errno == ENOENT);
}

static int pack_own(struct run *r, char *message, size_t n, struct dcr_err *err)
{
    char reason[300];
    int n_unread = 0;
    struct pack_request request = {
        .spool = r->spool, .output = r->o->output, .traces = (enum pack_traces)r->o->traces, .n_unread = &n_unread};
    if (pack_check_output(request.output, NULL) != 0) /* the program removed the current folder */
        request.output = r->output;
    if (r->n_left) {
        snprintf(reason, sizeof reason,
                 "%d process%s that the program left behind still ran when the run was packed (%s)", r->n_left,
                 r->n_left == 1 ? "" : "es", r->left);
        request.reason = reason;
        request.is_live = 1;
    }
    progress_allow("dccollect");
    int rc = pack_spool(&request, message, n, err);
    if (rc && is_spool_gone(r))
        return dcr_err_set(err, DCR_FAIL,
                           "no archive was made: '%s', where the run was recorded, was removed while the program ran, "
                           "and the recording with it; keep the folder until the run has ended",
                           r->spool);
    if (rc) {
        dcr_err_while(
            err,
            "no archive was made, and the recording is kept in '%s' for `dccollect pack %s -o %s` when there is "
            "room again",
            r->spool, r->spool, request.output);
        return rc;
    }
    say_kept(r, n_unread, message, n);
    return r->is_own_spool && !r->n_left && !n_unread ? dcr_remove_tree(r->spool, err) : DCR_OK;
}

/* A missing folder may still be made by the program. A path that can never be a folder is refused now. */
static int choose_adopt(struct run *r, struct dcr_err *err)
{
    r->adopt = json_array();
    for (size_t i = 0; i < r->o->adopt.n; i++) {
        const char *name = r->o->adopt.items[i];
        char path[PATH_MAX];
        struct stat st;
        int is_there = stat(name, &st) == 0;
        if (!is_there && errno == ENOTDIR)
            return dcr_err_file(err, DCR_FAIL, "cannot adopt '%s'", name);
        if (is_there && !S_ISDIR(st.st_mode))
            return dcr_err_set(err, DCR_FAIL, "cannot adopt '%s': it is not a folder; give the one it lies in", name);
        /* The record of the run is JSON, and packing finds the results by this path in it. */
        if (dcr_absolute(name, path, sizeof path, NULL) != 0 || json_array_append_new(r->adopt, json_string(path)) != 0)
            return dcr_err_set(err, DCR_FAIL,
                               "cannot adopt '%s': its path is too long or not UTF-8; leave it out, and use "
                               "'dccollect pack SPOOL -o RUN.tar --adopt FOLDER' (SPOOL: the folder of --spool)",
                               name);
    }
    return DCR_OK;
}

static int check_clock(const struct options *o, struct dcr_err *err)
{
    struct stat st;
    if (!o->clock || (stat(o->clock, &st) == 0 && S_ISDIR(st.st_mode)))
        return DCR_OK;
    return dcr_err_set(err, DCR_FAIL, "'--clock %s': there is no such folder; create it where all hosts see it",
                       o->clock);
}

/* An emulated node is one node, so its ranks cannot be nodes too. */
static int check_node(const struct options *o, json_t **share, struct dcr_err *err)
{
    int rc = node_share_of_environment(share, err);
    if (rc == DCR_OK && *share && o->emulate_nodes)
        return dcr_err_set(err, DCR_FAIL,
                           NODE_SHARE_VARIABLE
                           " says that this host is an emulated node, and --emulate-nodes that each "
                           "rank is one; leave one of them out");
    return rc;
}

/* All that may refuse the run before the program starts. */
static int prepare(struct run *r, struct dcr_err *err)
{
    const struct options *o = r->o;
    int rc = o->output ? pack_check_output(o->output, err) : DCR_OK; /* checked before the program has run for hours */
    if (rc == 0)
        rc = choose_adopt(r, err);
    if (rc == 0)
        rc = check_clock(o, err);
    if (rc == 0)
        rc = check_node(o, &r->node_share, err);
    if (rc == 0)
        rc = run_choose_places(r, err);
    if (rc == 0 && o->calibration && r->id.rank <= 0)
        rc = calibrate_copy(o->calibration, r->spool, err);
    if (rc == 0)
        rc = run_claim_host(r, err);
    if (rc == 0) {
        run_begin_record(r);
        environment_set(o, r->record);
        rc = write_host(r, NULL, err);
    }
    if (rc == 0)
        rc = spool_write_json(r->record_dir, r->record_name, r->record, err);
    if (rc && err && (err->sys || r->record)) /* a disk error, not a fault of the request */
        dcr_err_while(err, "the program was not started");
    return rc;
}

/* The program has ended: packs the run, or leaves it in the spool. rc: of observing it */
static int conclude(struct run *r, int rc, char *message, size_t n, struct dcr_err *err)
{
    if (r->o->output) {
        struct dcr_err pack_err = {0};
        int packed = pack_own(r, message, n, &pack_err);
        if (packed && err && (rc == 0 || !message[0])) /* no archive: what to do, and most often why everything
                                                        * failed */
            *err = pack_err;
        return rc ? rc : packed;
    }
    /* Summaries are made here, on the node of the traces, where a core has become free. Packing then only merges
     * them. */
    if (r->id.rank >= 0)
        summarize_folder(r->record_dir, r->id.rank);
    if (is_spool_gone(r))
        return dcr_err_set(err, DCR_FAIL,
                           "'%s', where the run was recorded, was removed while the program ran, and the recording "
                           "with it; keep the folder until the run has ended",
                           r->spool);
    if (r->id.rank <= 0)
        snprintf(message, n, "recorded in '%s'; when all ranks have ended: dccollect pack %s%s -o RUN.tar", r->o->spool,
                 *r->o->spool == '-' ? "./" : "", r->o->spool);
    return rc;
}

int run_program(const struct options *o, char *message, size_t n, int *status, struct dcr_err *err)
{
    struct run r = {.o = o, .id = rank_of_self(), .spool_fd = -1};
    message[0] = '\0';
    *status = DCR_EXIT_SELF;
    start_block_file_signal(&r.program_mask);
#ifdef M_ARENA_MAX
    mallopt(M_ARENA_MAX, 1); /* separate heaps for three threads cost more than they save */
#endif
    int rc = prepare(&r, err), is_ready = rc == 0;
    if (is_ready)
        rc = observe(&r, status, err);
    if (json_object_get(r.record, "pid"))
        rc = conclude(&r, rc, message, n, err);
    else if (is_ready && !r.is_own_spool)
        write_not_started(&r, *status);
    else
        free_place(&r);
    if (rc && *status == 0) {
        dcr_err_while(err, "the program succeeded, but recording failed (status %d)", DCR_EXIT_SELF);
        *status = DCR_EXIT_SELF;
    }
    json_decref(r.record);
    json_decref(r.host);
    json_decref(r.node_share);
    json_decref(r.adopt);
    if (r.spool_fd >= 0)
        close(r.spool_fd);
    return rc;
}
