/* run_record.c - the record of a run: facts known before it starts, and how it ended. See run_parts.h. */
#include "collect/run/run_parts.h"

#include "collect/record/git.h"
#include "collect/record/job.h"
#include "collect/record/meta.h"
#include "collect/record/redact.h"
#include "collect/monitor/sampler.h"
#include "collect/record/spool_layout.h"
#include "lib/base/fs.h"
#include "lib/base/json_string.h"
#include "lib/base/mono.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* The next word of a line without secrets. */
static json_t *redacted(struct redact_line *line, const char *word)
{
    struct dcr_buf clean = {0};
    redact_word(line, word, &clean);
    json_t *text = json_string_kept(dcr_buf_text(&clean));
    dcr_buf_release(&clean);
    return text;
}

static json_t *command_words(const struct options *o)
{
    json_t *list = json_array();
    struct redact_line line = {0};
    for (int i = 0; i < o->n_program; i++)
        json_array_append_new(list, redacted(&line, o->program[i]));
    return list;
}

static json_t *labels_of(const struct options *o)
{
    json_t *labels = json_object();
    for (size_t i = 0; i < o->labels.n; i++) {
        char name[1024];
        const char *equals = strchr(o->labels.items[i], '=');
        snprintf(name, sizeof name, "%.*s", (int)(equals - o->labels.items[i]), o->labels.items[i]);
        json_t *key = json_string_kept(name);
        json_object_set_new(labels, json_string_value(key),
                            redact_is_secret_name(name, strlen(name)) ? json_string(REDACTED)
                                                                      : redacted(&(struct redact_line){0}, equals + 1));
        json_decref(key);
    }
    return labels;
}

/* The program of rank 0 starts at most this much later, and the others wait for it in MPI_Init. */
enum { GIT_MS = 300 };

void run_begin_record(struct run *r)
{
    json_t *o = r->record = json_object();
    char line[1024];
    struct tick now = sampler_now();
    json_object_set_new(o, "collector_pid", json_integer(getpid()));
    if (r->id.rank >= 0)
        json_object_set_new(o, "rank", json_integer(r->id.rank));
    if (r->id.local_rank >= 0)
        json_object_set_new(o, "local_rank", json_integer(r->id.local_rank));
    if (r->id.world_size > 0)
        json_object_set_new(o, "world_size", json_integer(r->id.world_size));
    if (r->id.rank >= 0)
        json_object_set_new(o, "job", job_of_self());
    json_object_set_new(o, "state", json_string(SPOOL_RUNNING));
    if (r->o->keep == KEEP_SUMMARY)
        json_object_set_new(o, "keep", json_string("summary")); /* pack leaves the traces out */
    meta_host_name(line, sizeof line);
    json_object_set_new(o, "host", json_string(line));
    meta_boot_id(line, sizeof line);
    json_object_set_new(o, "boot_id", json_string(line));
    meta_allowed_cpus(line, sizeof line);
    json_object_set_new(o, "cpus_allowed", json_string(line));
    json_object_set_new(o, "started", json_real((double)now.real_ms / 1000));
    json_object_set_new(o, "started_ns", json_integer(now.mono_ns));
    json_object_set_new(o, "command", command_words(r->o));
    if (getcwd(line, sizeof line))
        json_object_set_new(o, "folder", json_string_kept(line));
    json_t *git = git_of_command(r->o->program, (size_t)r->o->n_program);
    if (git && r->id.rank <= 0) /* not each of a thousand ranks, because all would use the same file system */
        git_put_dirty(git, GIT_MS);
    else if (git)
        meta_missing(git, "dirty", "only the collector of rank 0 asks git");
    if (git)
        json_object_set_new(o, "git", git);
    json_object_set_new(o, "scheduler", meta_scheduler(environ));
    json_object_set_new(o, "environment", meta_environment(environ));
    json_object_set_new(o, "labels", labels_of(r->o));
    json_object_set_new(o, "emulate_nodes", json_boolean(r->o->emulate_nodes));
    if (r->node_share)
        json_object_set(o, "emulated", r->node_share);
    json_object_set_new(o, "interval_ms", json_integer(r->o->interval_ms));
    json_object_set_new(o, "collector_version", json_string(DCR_VERSION));
    json_object_set(o, "adopt", r->adopt);
}

static const char *name_of(int signal)
{
    return signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : signal == SIGHUP ? "SIGHUP" : "SIGQUIT";
}

static json_t *nanoseconds(const struct timeval *t)
{
    return json_integer((json_int_t)t->tv_sec * 1000000000 + (json_int_t)t->tv_usec * 1000);
}

void run_end_record(struct run *r, const struct ended *e)
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
    if (e->told) {
        json_object_set_new(o, "told_to_end", json_string(name_of(e->told)));
        json_object_set_new(o, "told_to_end_ns", json_integer(e->told_ns));
    }
    json_object_set_new(o, "user_ns", nanoseconds(&e->usage.ru_utime));
    json_object_set_new(o, "system_ns", nanoseconds(&e->usage.ru_stime));
    json_object_set_new(o, "collector_cpu_ns", json_integer(dcr_clock_ns(CLOCK_PROCESS_CPUTIME_ID)));
    json_object_set_new(o, "max_rss_bytes", json_integer((json_int_t)e->usage.ru_maxrss * 1024));
}
