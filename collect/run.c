/* run.c - see run.h. */
#include "collect/run.h"

#include "collect/calibrate.h"
#include "collect/clock_server.h"
#include "collect/environment.h"
#include "collect/job.h"
#include "collect/leftover.h"
#include "collect/meta.h"
#include "collect/pack.h"
#include "collect/perf.h"
#include "lib/rank.h"
#include "collect/redact.h"
#include "collect/sampler.h"
#include "collect/spool_layout.h"
#include "collect/start.h"
#include "collect/summarize.h"
#include "collect/sync.h"
#include "lib/fs.h"
#include "lib/member.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

struct run {
    const struct options *o;
    struct rank_identity id;
    char spool[PATH_MAX];
    int is_own_spool;      /* made for -o, removed when packed */
    char output[PATH_MAX]; /* of -o, from the root on */
    char record_dir[PATH_MAX + 32];
    const char *record_name;
    json_t *record;
    char host_dir[300]; /* "host-<name>" */
    int is_host_sampled;
    int has_claimed; /* the record's file is ours */
};

/* ---- where ------------------------------------------------------------------------------------ */

/* -o RUN.tar: evidence is gathered in RUN.tar.spool beside it, so that a killed collector leaves something to pack.
 * What an earlier killed run left is not touched: the next free name is taken. */
static int make_own_spool(struct run *r, struct dcr_err *err)
{
    const char *base = r->output;
    int rc = dcr_resolve(r->o->output, r->output, sizeof r->output, err);
    if (rc)
        return rc;
    for (int i = 1; i < 1000; i++) {
        int k = i == 1 ? snprintf(r->spool, sizeof r->spool, "%s.spool", base)
                       : snprintf(r->spool, sizeof r->spool, "%s.spool-%d", base, i);
        if (k < 0 || (size_t)k >= sizeof r->spool)
            return dcr_err_set(err, DCR_FAIL, "the name '%s' is too long", r->o->output);
        int is_made = mkdir(r->spool, 0777) == 0;
        if (!is_made && errno != EEXIST)
            return dcr_err_sys(err, DCR_FAIL, "cannot create folder '%s'", r->spool);
        /* Held for as long as this collector lives, so that another one does not record into the same archive. */
        int lock = open(r->spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            close(lock);
            return dcr_err_set(err, DCR_FAIL, "another dccollect is recording for '%s' just now; choose another name",
                               r->o->output);
        }
        if (is_made) {
            r->is_own_spool = 1;
            return DCR_OK;
        }
        if (lock >= 0)
            close(lock);
    }
    return dcr_err_set(err, DCR_FAIL, "too many folders '%s.spool-*' are left from killed runs; pack or remove them",
                       r->o->output);
}

/* A run that has ended lies there already. A collector in front of a launcher comes before its ranks, and they before
 * it has ended; ranks of one job may come one after another. */
static int holds_another_run(const struct run *r)
{
    char path[PATH_MAX + 64], **names = NULL;
    size_t n = 0;
    int is_other = 0;
    if (r->id.rank >= 0) {
        snprintf(path, sizeof path, "%s/" SPOOL_LAUNCHER, r->spool);
        json_t *launcher = json_load_file(path, 0, NULL);
        const char *state = json_string_value(json_object_get(launcher, "state"));
        is_other = state && strcmp(state, SPOOL_ENDED) == 0;
        json_decref(launcher);
        if (!is_other && dcr_list_dir(r->spool, &names, &n, NULL) == 0)
            is_other = job_is_another(r->spool, names, n, r->id.rank);
        dcr_free_names(names, n);
        return is_other;
    }
    if (dcr_list_dir(r->spool, &names, &n, NULL) == 0)
        for (size_t i = 0; i < n; i++)
            is_other |=
                strcmp(names[i], SPOOL_LAUNCHER) == 0 || dcr_name_number(names[i], strlen(names[i]), "rank") >= 0;
    dcr_free_names(names, n);
    return is_other;
}

static int choose_places(struct run *r, struct dcr_err *err)
{
    int rc;
    if (r->id.rank > DCR_MAX_RANK)
        return dcr_err_set(err, DCR_FAIL,
                           "the launcher's variables say that this is rank %d; more than %d ranks cannot be told apart",
                           r->id.rank, DCR_MAX_RANK + 1);
    if (r->o->output && r->id.world_size > 1)
        return dcr_err_set(err, DCR_FAIL,
                           "each of %d ranks would write '%s'; use --spool DIR here, then `dccollect pack DIR -o %s`",
                           r->id.world_size, r->o->output, r->o->output);
    if (r->o->spool) {
        rc = dcr_absolute(r->o->spool, r->spool, sizeof r->spool, err);
        char real[PATH_MAX];
        if (rc == 0)
            rc = dcr_mkdirs(r->spool, err);
        if (rc == 0 && realpath(r->spool, real))
            memcpy(r->spool, real, strlen(real) + 1);
    } else {
        rc = make_own_spool(r, err);
    }
    if (rc)
        return rc;
    int is_taken = holds_another_run(r); /* before anything of this one lies there */
    char host[256];
    meta_host_name(host, sizeof host);
    snprintf(r->host_dir, sizeof r->host_dir, SPOOL_HOST_PREFIX "%s", host);
    if (r->id.rank >= 0) {
        snprintf(r->record_dir, sizeof r->record_dir, "%s/rank%d", r->spool, r->id.rank);
        r->record_name = SPOOL_RANK;
        rc = is_taken ? DCR_OK : dcr_mkdirs(r->record_dir, err);
        if (rc)
            return rc;
    } else {
        snprintf(r->record_dir, sizeof r->record_dir, "%s", r->spool);
        r->record_name = SPOOL_LAUNCHER;
    }
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", r->record_dir, r->record_name);
    /* Made here, empty, so that of two that come at once one is refused. */
    int fd = is_taken ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && !is_taken && errno != EEXIST)
        return dcr_err_sys(err, DCR_FAIL, "cannot write '%s'", path);
    if (fd >= 0)
        close(fd);
    r->has_claimed = fd >= 0;
    if (fd < 0)
        return dcr_err_set(err, DCR_FAIL,
                           "the spool '%s' already holds a run; give another folder, or pack and remove it",
                           r->o->spool);
    return DCR_OK;
}

/* One collector per host samples the host: local rank 0, or without that knowledge the first to create host.json. */
static int claim_host(struct run *r, struct dcr_err *err)
{
    char path[PATH_MAX + 400];
    if (r->id.local_rank > 0)
        return DCR_OK;
    snprintf(path, sizeof path, "%s/%s", r->spool, r->host_dir);
    int rc = dcr_mkdirs(path, err);
    if (rc)
        return rc;
    snprintf(path, sizeof path, "%s/%s/%s", r->spool, r->host_dir, SPOOL_HOST);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST)
        return dcr_err_sys(err, DCR_FAIL, "cannot write '%s'", path);
    r->is_host_sampled = fd >= 0;
    if (fd >= 0)
        close(fd);
    return DCR_OK;
}

static int write_host(const struct run *r, json_t *monitors, struct dcr_err *err)
{
    char dir[PATH_MAX + 320];
    if (!r->is_host_sampled)
        return DCR_OK;
    snprintf(dir, sizeof dir, "%s/%s", r->spool, r->host_dir);
    json_t *host = meta_host();
    if (monitors)
        json_object_set(host, "monitors", monitors);
    int rc = spool_write_json(dir, SPOOL_HOST, host, err);
    json_decref(host);
    return rc;
}

/* ---- the record ------------------------------------------------------------------------------- */

/* The command line, without secrets. */
static json_t *command_words(char *const *words, size_t n)
{
    json_t *list = json_array();
    struct dcr_buf clean = {0};
    struct redact_line line = {0};
    for (size_t i = 0; i < n; i++) {
        dcr_buf_clear(&clean);
        redact_word(&line, words[i], &clean);
        json_t *word = json_string(dcr_buf_text(&clean));
        json_array_append_new(list, word ? word : json_string("(not UTF-8)"));
    }
    dcr_buf_release(&clean);
    return list;
}

static void put_adopt(struct run *r)
{
    json_t *list = json_array();
    for (size_t i = 0; i < r->o->n_adopt; i++) {
        char path[PATH_MAX];
        if (dcr_absolute(r->o->adopt[i], path, sizeof path, NULL) == 0)
            json_array_append_new(list, json_string(path));
    }
    json_object_set_new(r->record, "adopt", list);
}

static void begin_record(struct run *r)
{
    json_t *o = r->record = json_object();
    char line[1024];
    struct tick now = sampler_now();
    if (r->id.rank >= 0)
        json_object_set_new(o, "rank", json_integer(r->id.rank));
    if (r->id.local_rank >= 0)
        json_object_set_new(o, "local_rank", json_integer(r->id.local_rank));
    if (r->id.world_size > 0)
        json_object_set_new(o, "world_size", json_integer(r->id.world_size));
    if (r->id.rank >= 0)
        json_object_set_new(o, "job", job_of_self());
    json_object_set_new(o, "state", json_string(SPOOL_RUNNING));
    meta_host_name(line, sizeof line);
    json_object_set_new(o, "host", json_string(line));
    meta_boot_id(line, sizeof line);
    json_object_set_new(o, "boot_id", json_string(line));
    meta_allowed_cpus(line, sizeof line);
    json_object_set_new(o, "cpus_allowed", json_string(line));
    json_object_set_new(o, "started", json_real((double)now.real_ms / 1000));
    json_object_set_new(o, "started_ns", json_integer(now.mono_ns));
    json_object_set_new(o, "command", command_words(r->o->program, (size_t)r->o->n_program));
    if (getcwd(line, sizeof line))
        json_object_set_new(o, "folder", json_string(line));
    char program[PATH_MAX];
    json_t *git = meta_find_program(r->o->program[0], program, sizeof program) == 0 ? meta_git(program) : NULL;
    if (git)
        json_object_set_new(o, "git", git);
    json_object_set_new(o, "scheduler", meta_scheduler(environ));
    json_object_set_new(o, "environment", meta_environment(environ));
    json_t *labels = json_object();
    struct dcr_buf clean = {0};
    for (size_t i = 0; i < r->o->n_labels; i++) {
        const char *equals = strchr(r->o->labels[i], '=');
        snprintf(line, sizeof line, "%.*s", (int)(equals - r->o->labels[i]), r->o->labels[i]);
        int is_secret = redact_is_secret_name(line, strlen(line));
        dcr_buf_clear(&clean);
        redact_word(&(struct redact_line){0}, equals + 1, &clean);
        json_t *value = json_string(is_secret ? REDACTED : dcr_buf_text(&clean));
        json_object_set_new(labels, line, value ? value : json_string("(not UTF-8)"));
    }
    dcr_buf_release(&clean);
    json_object_set_new(o, "labels", labels);
    json_object_set_new(o, "emulate_nodes", json_boolean(r->o->emulate_nodes));
    json_object_set_new(o, "interval_ms", json_integer(r->o->interval_ms));
    json_object_set_new(o, "collector_version", json_string(DCR_VERSION));
    put_adopt(r);
}

static void end_record(struct run *r, const struct ended *e)
{
    json_t *o = r->record;
    struct tick now = sampler_now();
    json_object_set_new(o, "state", json_string(SPOOL_ENDED));
    json_object_set_new(o, "ended", json_real((double)now.real_ms / 1000));
    json_object_set_new(o, "ended_ns", json_integer(now.mono_ns));
    if (e->exit_status >= 0)
        json_object_set_new(o, "exit_status", json_integer(e->exit_status));
    else
        meta_missing(o, "exit_status", e->signal ? "ended by a signal" : "the system could not tell");
    json_object_set_new(o, "signal", json_integer(e->signal));
    const struct timeval *user = &e->usage.ru_utime, *system = &e->usage.ru_stime;
    json_object_set_new(o, "user_ns", json_integer((json_int_t)user->tv_sec * 1000000000 + user->tv_usec * 1000));
    json_object_set_new(o, "system_ns", json_integer((json_int_t)system->tv_sec * 1000000000 + system->tv_usec * 1000));
    json_object_set_new(o, "max_rss_bytes", json_integer((json_int_t)e->usage.ru_maxrss * 1024));
}

/* ---- all together ------------------------------------------------------------------------------ */

/* Ranks with collectors of their own, which may be on several hosts. */
static int is_one_of_many(const struct run *r)
{
    return r->o->spool && r->id.rank >= 0 && r->id.world_size > 1;
}

static void open_counters(void *ctx, pid_t pid)
{
    perf_open(ctx, pid);
}

/* Each collector takes care of what it and its rank write; one without a rank, of the whole spool. */
static struct syncer *start_sync(const struct run *r)
{
    char host[PATH_MAX + 320];
    snprintf(host, sizeof host, "%s/%s", r->spool, r->host_dir);
    const char *own[] = {r->record_dir, r->is_host_sampled ? host : NULL}, *all[] = {r->spool};
    return r->id.rank >= 0 ? sync_start(own, 2, r->o->sync_s) : sync_start(all, 1, r->o->sync_s);
}

static int observe(struct run *r, int *status, struct dcr_err *err)
{
    sigset_t mask;
    pid_t pid;
    struct sampler *sampler = NULL;
    struct perf perf = {.fd = {-1, -1, -1, -1}};
    start_block_signals(&mask);
    int rc = start_program(r->o->program, r->spool, &mask, open_counters, &perf, &pid, err);
    if (rc) {
        perf_close(&perf);
        *status = err && err->sys == ENOENT ? 127 : err && err->sys == EACCES ? 126 : DCR_EXIT_SELF;
        return rc;
    }
    json_object_set_new(r->record, "pid", json_integer(pid));
    struct clock_server *clock = NULL;
    if (is_one_of_many(r) && r->id.rank == 0 && clock_server_start(&clock, r->spool, NULL) != 0)
        clock = NULL; /* the others say that nobody answers */
    struct dcr_err trouble = {0};
    struct source_config config = {.host_dir = r->is_host_sampled ? r->host_dir : NULL,
                                   .rank = r->id.rank,
                                   .pid = pid,
                                   .perf = &perf,
                                   .clock_spool = is_one_of_many(r) ? r->spool : NULL};
    /* From here on the program runs, and nothing that fails on our side may end it. */
    int failed = spool_write_json(r->record_dir, r->record_name, r->record, &trouble);
    failed = sampler_start(&sampler, r->spool, &config, r->o->interval_ms, failed ? NULL : &trouble) || failed;
    struct syncer *syncer = start_sync(r);
    struct ended ended = start_wait(pid);
    sync_stop(syncer);
    *status = ended.signal ? 128 + ended.signal : ended.exit_status < 0 ? DCR_EXIT_SELF : ended.exit_status;
    json_t *monitors = json_object();
    sampler_stop(sampler, monitors);
    clock_server_stop(clock);
    failed = write_host(r, monitors, failed ? NULL : &trouble) || failed;
    if (json_object_get(monitors, "process"))
        json_object_set(r->record, "process_monitor", json_object_get(monitors, "process"));
    json_decref(monitors);
    json_object_set_new(r->record, "counters", perf_describe(&perf));
    perf_close(&perf);
    end_record(r, &ended);
    failed = spool_write_json(r->record_dir, r->record_name, r->record, failed ? NULL : &trouble) || failed;
    if (failed && err)
        *err = trouble;
    return failed ? DCR_FAIL : DCR_OK;
}

/* An empty spool that cannot be removed is no reason for another message. */
static void discard(const char *spool)
{
    int ignored = dcr_remove_tree(spool, NULL);
    (void)ignored;
}

static void unclaim(const struct run *r)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", r->record_dir, r->record_name);
    unlink(path);
}

static int write_not_started(struct run *r, int status)
{
    struct ended never = {.exit_status = status};
    end_record(r, &never);
    return spool_write_json(r->record_dir, r->record_name, r->record, NULL);
}

/* Packed, and the spool kept: somebody still writes into it. */
static void say_leftovers(const struct run *r, int n_left, const char *pids, char *message, size_t n)
{
    size_t used = strlen(message);
    snprintf(message + used, n - used,
             "\ndccollect: %d process%s that the program left behind (%s) may still record in '%s'; when %s ended: "
             "dccollect "
             "pack %s -o %s",
             n_left, n_left == 1 ? "" : "es", pids, r->spool, n_left == 1 ? "it has" : "they have", r->spool,
             r->o->output);
}

static int pack_own(struct run *r, char *message, size_t n, struct dcr_err *err)
{
    enum { GRACE_MS = 2000 };
    char pids[200], reason[300];
    struct pack_request request = {.spool = r->spool,
                                   .output = r->o->output,
                                   .zstd_level = r->o->zstd_level,
                                   .traces = r->o->traces,
                                   .n_sample = r->o->n_sample};
    if (pack_check_output(request.output, NULL) != 0) /* the program took the folder away in which we stand */
        request.output = r->output;
    int n_left = leftover_wait(r->spool, GRACE_MS, pids, sizeof pids);
    if (n_left) {
        snprintf(reason, sizeof reason,
                 "%d process%s that the program left behind still ran when the run was packed (%s)", n_left,
                 n_left == 1 ? "" : "es", pids);
        request.reason = reason;
        request.is_live = 1;
    }
    int rc = pack_spool(&request, message, n, err);
    if (rc) {
        dcr_err_while(err, "the evidence is kept in '%s', pack it with `dccollect pack`", r->spool);
        return rc;
    }
    if (n_left) {
        say_leftovers(r, n_left, pids, message, n);
        return DCR_OK;
    }
    return r->is_own_spool ? dcr_remove_tree(r->spool, err) : DCR_OK;
}

/* A folder that is not there yet may be made by the program; what can never be one is said now. */
static int check_adopt(const struct options *o, struct dcr_err *err)
{
    for (size_t i = 0; i < o->n_adopt; i++) {
        struct stat st;
        if (stat(o->adopt[i], &st) != 0 && errno == ENOTDIR)
            return dcr_err_sys(err, DCR_FAIL, "cannot adopt '%s'", o->adopt[i]);
        if (stat(o->adopt[i], &st) == 0 && !S_ISDIR(st.st_mode))
            return dcr_err_set(err, DCR_FAIL, "cannot adopt '%s': it is no folder; give the one it lies in",
                               o->adopt[i]);
    }
    return DCR_OK;
}

int run_program(const struct options *o, char *message, size_t n, int *status, struct dcr_err *err)
{
    struct run r = {.o = o, .id = rank_of_self()};
    message[0] = '\0';
    *status = DCR_EXIT_SELF;
    int rc = o->output ? pack_check_output(o->output, err) : DCR_OK; /* before the program has cost hours */
    if (rc == 0)
        rc = check_adopt(o, err);
    if (rc == 0)
        rc = choose_places(&r, err);
    if (rc == 0 && o->calibration && r.id.rank <= 0)
        rc = calibrate_copy(o->calibration, r.spool, err);
    if (rc == 0)
        rc = claim_host(&r, err);
    if (rc)
        goto out;
    begin_record(&r);
    environment_set(o, r.record);
    rc = write_host(&r, NULL, err);
    if (rc == 0)
        rc = spool_write_json(r.record_dir, r.record_name, r.record, err);
    if (rc) { /* the program never started: the place is free again */
        json_decref(r.record);
        r.record = NULL;
        goto out;
    }
    rc = observe(&r, status, err);
    if (!json_object_get(r.record, "pid")) { /* never started: nothing to keep */
        if (r.is_own_spool)
            discard(r.spool);
        else
            (void)write_not_started(&r, *status);
        goto out;
    }
    if (o->output) {
        struct dcr_err pack_err = {0};
        int packed = pack_own(&r, message, n, &pack_err);
        if (rc == 0 && packed && err)
            *err = pack_err;
        rc = rc ? rc : packed;
    } else {
        /* Here, where the trace lies and a core has become free: packing then has summaries to merge. */
        if (r.id.rank >= 0)
            summarize_folder(r.record_dir, r.id.rank);
    }
    if (!o->output && r.id.rank <= 0) {
        snprintf(message, n, "recorded in '%s'; when all ranks have ended: dccollect pack %s -o RUN.tar", o->spool,
                 o->spool);
    }
    if (rc && *status == 0)
        *status = DCR_EXIT_SELF;
out:
    if (r.record == NULL && r.is_own_spool)
        discard(r.spool);
    else if (r.record == NULL && r.has_claimed)
        unclaim(&r);
    json_decref(r.record);
    return rc;
}
