/* judge.c - is the run complete, is it one run, and what was recorded? */
#include "collect/pack/parts.h"

#include "collect/record/job.h"
#include "collect/record/linked.h"
#include "collect/record/spool_layout.h"
#include "lib/base/fs.h"
#include "lib/base/json_string.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* ---- how its program and ranks ended ----------------------------------------------------------- */

enum { MAX_RANK_REASONS = 8 };

/* Did it end as programs do on a signal: by the signal, or by the status that stands for it? */
static int is_of_signal(json_int_t signal, json_int_t status, const char *told)
{
    const char *name = sigabbrev_np((int)(signal > 0 ? signal : status - 128));
    return name && strncmp(told, "SIG", 3) == 0 && strcmp(told + 3, name) == 0;
}

/* may_be_signal: can a status above 128 be that of a signal? */
static int judge_record(struct pack *p, const json_t *record, const char *who, int may_be_signal)
{
    json_int_t signal = pack_json_int(record, "signal", 0), status = pack_json_int(record, "exit_status", 0);
    const char *told = pack_json_text(record, "told_to_end");
    char how[64] = "", after[80] = "";
    snprintf(how, sizeof how, "%s (%.20s)", strcmp(told, "SIGINT") == 0 ? "interrupted" : "told to end", told);
    if (*told)
        snprintf(after, sizeof after, ", after it was %s", how);
    if (strcmp(pack_json_text(record, "state"), SPOOL_RUNNING) == 0)
        pack_reason(p, "%s has no end record: it or its collector was killed, or still runs", who);
    else if (*told && is_of_signal(signal, status, told))
        pack_reason(p, "%s was %s", who, how);
    else if (signal > 0)
        pack_reason(p, "%s was ended by signal %d (%s)%s", who, (int)signal, strsignal((int)signal), after);
    else if (may_be_signal && status > 128 && status < 128 + NSIG && strsignal((int)status - 128))
        pack_reason(p, "%s ended with exit status %d, which may mean signal %d (%s)%s", who, (int)status,
                    (int)status - 128, strsignal((int)status - 128), after);
    else if (status != 0)
        pack_reason(p, "%s ended with exit status %d%s", who, (int)status, after);
    else
        return 0;
    return 1;
}

/* The record of a program without ranks is that of its launcher. */
static int is_of_launcher(const struct pack *p, const json_t *record)
{
    return p->launcher && pack_json_int(record, "collector_pid", -1) == pack_json_int(p->launcher, "collector_pid", -2);
}

/* By the convention of shells, a status is 128 and the number of a signal. A launcher that started no rank has its own
 * statuses: Open MPI's mpirun ends with 132 if it does not find the program. */
static void judge_launcher(struct pack *p)
{
    const json_t *command = json_object_get(p->launcher, "command");
    const char *first = json_string_value(json_array_get(command, 0));
    char who[48] = "the program";
    int is_launcher = first && linked_is_launcher(first), n_started = 0;
    if (is_launcher)
        snprintf(who, sizeof who, "the launcher %.30s", dcr_last_part(first));
    for (size_t i = 0; i < p->n_ranks; i++)
        n_started += p->ranks[i].first_trace || !is_of_launcher(p, p->ranks[i].record);
    int has_failed = judge_record(p, p->launcher, who, !is_launcher || n_started);
    p->has_no_rank = has_failed && is_launcher && !n_started;
    if (p->has_no_rank)
        pack_reason(p, "no rank was recorded, so the program may not have started");
}

static int judge_rank(struct pack *p, const struct pack_rank *r)
{
    char who[32];
    snprintf(who, sizeof who, "rank %d", r->rank);
    return judge_record(p, r->record, who, 1);
}

/* The rank that ended first is named first, because a launcher ends the others. */
static int judge_first(struct pack *p, const struct pack_rank *first)
{
    if (first && !judge_rank(p, first))
        pack_reason(p, "rank %d ended first", first->rank);
    return first != NULL;
}

/* The program may have seen a rank fail and ended for it. That is no reason if the program itself ended well, or if
 * somebody ended it with all of its ranks. returns the number of ranks that are named */
static int judge_ranks_below(struct pack *p)
{
    if (pack_json_int(p->launcher, "exit_status", -1) == 0 || *pack_json_text(p->launcher, "told_to_end"))
        return 0;
    const struct pack_rank *first = pack_first_to_end(p);
    int n_bad = judge_first(p, first);
    for (int is_killed = 1; is_killed >= 0; is_killed--) /* others fail because a rank was killed */
        for (size_t i = 0; i < p->n_ranks && n_bad < MAX_RANK_REASONS; i++) {
            const struct pack_rank *r = &p->ranks[i];
            int64_t signal = pack_json_int(r->record, "signal", 0);
            if (r != first && is_killed == (signal > 0 && signal != SIGTERM) && (first || pack_may_be_cause(p, r)) &&
                !is_of_launcher(p, r->record))
                n_bad += judge_rank(p, r);
        }
    return n_bad;
}

/* Only the collector counts events of processes that got no trace. */
static void judge_losses(struct pack *p, const json_t *record)
{
    const json_t *recorder = json_object_get(record, "recorder");
    json_int_t n = pack_json_int(recorder, "lost_without_trace", 0);
    const char *why = pack_json_text(recorder, "why");
    if (n <= 0)
        return;
    p->n_dropped += (uint64_t)n;
    pack_reason(p, "%lld events of processes that got no trace are lost (%s)", (long long)n,
                *why ? why : "there was no room for a further process in the memory that they share");
}

/* ---- two runs in one folder -------------------------------------------------------------------- */

static void say(struct pack *p, const char *what)
{
    pack_reason(p, "the spool holds processes of more than one run: %s; give each run its own folder", what);
    if (!json_object_get(p->metadata, "several_runs"))
        json_object_set_new(p->metadata, "several_runs", json_string_kept(what));
}

static void compare_ranks(struct pack *p)
{
    const struct pack_rank *first = NULL;
    char what[200];
    for (size_t i = 0; i < p->n_ranks; i++) {
        const struct pack_rank *r = &p->ranks[i];
        const json_t *job = json_object_get(r->record, "job");
        json_int_t size = json_integer_value(json_object_get(r->record, "world_size"));
        if (!job && size <= 0)
            continue;
        if (!first) {
            first = r;
            continue;
        }
        json_int_t first_size = json_integer_value(json_object_get(first->record, "world_size"));
        if (job_are_two(job, json_object_get(first->record, "job")))
            snprintf(what, sizeof what, "ranks %d and %d are of two jobs", first->rank, r->rank);
        else if (size > 0 && first_size > 0 && size != first_size)
            snprintf(what, sizeof what, "rank %d was one of %lld, rank %d one of %lld", first->rank,
                     (long long)first_size, r->rank, (long long)size);
        else
            continue;
        say(p, what);
        return;
    }
}

static void compare_traces(struct pack *p)
{
    char what[PATH_MAX + 100];
    for (size_t i = 0; i < p->n_ranks; i++) {
        const struct pack_rank *r = &p->ranks[i];
        const json_t *record = p->launcher ? p->launcher : r->record;
        json_int_t mono_ns = json_integer_value(json_object_get(record, "started_ns"));
        double started = json_number_value(json_object_get(record, "started"));
        if (!r->first_trace || mono_ns <= 0 || !(started > 0 && started < 9e9) ||
            strncmp(r->first_host, pack_json_text(record, "host"), sizeof r->first_host - 1) != 0)
            continue;
        /* Compares both clocks, because the calendar may be set, and a program may have a separate monotonic clock
         * (time namespace). */
        if (r->first_mono_ns >= mono_ns || r->first_real_ns >= (int64_t)(started * 1e9))
            continue;
        snprintf(what, sizeof what, "the process of '%.4000s' began %.1f s before the collector of this run",
                 r->first_trace, (double)(mono_ns - r->first_mono_ns) / 1e9);
        say(p, what);
        return;
    }
}

void pack_judge(struct pack *p)
{
    int n_bad = 0;
    json_int_t world = 0;
    if (p->launcher) {
        n_bad = judge_ranks_below(p);
        judge_launcher(p);
    }
    judge_losses(p, p->launcher);
    for (size_t i = 0; i < p->n_ranks; i++) {
        const json_t *record = p->ranks[i].record;
        if (!is_of_launcher(p, record))
            judge_losses(p, record);
        if (pack_json_int(record, "world_size", 0) > world)
            world = pack_json_int(record, "world_size", 0);
        if (p->launcher || !*pack_json_text(record, "state"))
            continue;
        if (n_bad < MAX_RANK_REASONS)
            n_bad += judge_rank(p, &p->ranks[i]);
    }
    if (n_bad == MAX_RANK_REASONS)
        pack_reason(p, "further ranks may have failed too");
    if (world > (json_int_t)p->n_ranks)
        pack_reason(p, "%lld of %lld ranks left nothing", (long long)(world - (json_int_t)p->n_ranks),
                    (long long)world);
    compare_ranks(p);
    compare_traces(p);
}

/* ---- "collector" of the metadata --------------------------------------------------------------- */

/* Why nothing was recorded although a window was requested; "" when it opened, or there was none. A recorded step is an
 * event itself, so without events the window of steps never opened. */
static void say_window(const struct pack *p, const json_t *record, char *out, size_t n)
{
    const json_t *window = json_object_get(record, "window");
    double delay = json_number_value(json_object_get(window, "delay_s"));
    double ran =
        json_number_value(json_object_get(record, "ended")) - json_number_value(json_object_get(record, "started"));
    const char *steps = pack_json_text(window, "steps"), *capture = pack_json_text(window, "capture_range");
    *out = '\0';
    if (!window || p->n_events || p->n_mpi_calls || p->n_io_calls)
        return;
    if (delay > 0 && ran >= 0 && ran < delay)
        snprintf(out, n, "the window never opened: the program ran for %.1f s, and --delay is %g s", ran, delay);
    else if (*steps)
        snprintf(out, n, "the window never opened: the program marked none of the steps of --steps %s", steps);
    else if (*capture)
        snprintf(out, n, "nothing happened inside --capture-range %.200s, or it never opened", capture);
    else
        snprintf(out, n, "nothing happened inside the window of --delay and --duration");
}

/* The first note of the recorder that begins like this; "" if no note does. */
static const char *note_that(const struct pack *p, const char *beginning)
{
    for (size_t i = 0; i < json_array_size(p->trace_notes); i++) {
        const char *note = json_string_value(json_array_get(p->trace_notes, i));
        if (strncmp(note, beginning, strlen(beginning)) == 0)
            return note;
    }
    return "";
}

/* Puts "ok", or why there is nothing: its own reason, else that no window opened, else that nothing happened. */
static void put_state(json_t *collector, const char *key, int is_recorded, const char *own, const char *window,
                      const char *nothing)
{
    char line[1400] = "ok";
    if (!is_recorded)
        snprintf(line, sizeof line, "nothing recorded because %s", *own ? own : *window ? window : nothing);
    json_object_set_new(collector, key, json_string_kept(line));
}

static void put_observed(const struct pack *p, const json_t *record, const char *window, json_t *collector)
{
    const char *mpi = pack_json_text(record, "mpi_note"), *io = pack_json_text(record, "io_note");
    if (!*mpi)
        mpi = note_that(p, "MPI calls are not recorded");
    if (!record)
        mpi = io = "no collector watched the run";
    put_state(collector, "mpi", p->n_mpi_calls > 0, mpi, window, "the program called no MPI function");
    put_state(collector, "io", p->n_io_calls > 0, io, window,
              "the visible calls on files moved less than 1 MB and none took long (fprintf, mmap and others cannot be "
              "seen)");
    json_object_set_new(collector, "mpi_calls", json_integer((json_int_t)p->n_mpi_calls));
    json_object_set_new(collector, "io_calls", json_integer((json_int_t)p->n_io_calls));
}

static void put_gpu(const struct pack *p, const json_t *record, const char *window, json_t *collector)
{
    static const char is_not[] = "GPU activity is not recorded: ";
    const char *note = note_that(p, is_not);
    const char *why = *note    ? note + sizeof is_not - 1
                      : record ? pack_json_text(record, "cuda_note")
                               : "no collector watched the run";
    put_state(collector, "cuda", *note_that(p, DCR_GPU_NOTE) != '\0', why, window, "the program used no GPU");
    char line[300];
    snprintf(line, sizeof line,
             "of %d process%s the last GPU activity, up to a second of it, is missing and not counted as dropped: "
             "killed or left by _exit, %s ended before CUPTI handed it over",
             p->n_gpu_cut, p->n_gpu_cut == 1 ? "" : "es", p->n_gpu_cut == 1 ? "it" : "they");
    if (p->n_gpu_cut)
        json_array_append_new(p->trace_notes, json_string(line));
    if (json_array_size(p->trace_notes))
        json_object_set(collector, "notes", p->trace_notes);
}

/* Puts the processor time of all collectors of the run; nothing if one of them left no time, for instance because it
 * was killed. */
static void put_cost(const struct pack *p, json_t *collector)
{
    json_int_t sum = 0;
    for (size_t i = 0; i <= p->n_ranks; i++) {
        const json_t *record = i < p->n_ranks ? p->ranks[i].record : p->launcher;
        const json_t *own = json_object_get(record, "collector_cpu_ns");
        int has_none = i == p->n_ranks ? !p->launcher : p->launcher && !json_object_get(record, "collector_pid");
        if (has_none) /* one collector in front of a launcher watches all ranks */
            continue;
        if (!json_is_integer(own))
            return;
        sum += json_integer_value(own);
    }
    if (sum > 0)
        json_object_set_new(collector, "cpu_ns", json_integer(sum));
}

void pack_recorded(const struct pack *p, const json_t *record, json_t *o)
{
    char window[300];
    json_t *collector = json_object();
    say_window(p, record, window, sizeof window);
    const char *note = record ? pack_json_text(record, "nvtx_note") : "no collector watched the run";
    json_object_set_new(collector, "version",
                        json_string(record ? pack_json_text(record, "collector_version") : DCR_VERSION));
    put_state(collector, "nvtx", p->n_events > 0, note, window,
              p->n_dropped         ? "there was no room for it on disk or in memory"
              : p->n_unread_traces ? "its traces could not be summed up"
              : p->n_traces        ? "the program named no range"
              : p->n_empty
                  ? "no trace could be begun: no room on the spool's disk, a limit on the size of files "
                    "(ulimit -f), no free file descriptor, or the program was killed then"
                  : "no process left a trace: it has no NVTX range, no MPI call and no long call on files, or the "
                    "recording library was not loaded (statically linked, or privileges, environment or root "
                    "given up)");
    put_observed(p, record, window, collector);
    put_gpu(p, record, window, collector);
    json_object_update_new(collector,
                           json_pack("{s:i, s:i, s:I, s:I}", "traces", p->n_traces, "traces_packed", p->n_traces_packed,
                                     "events", (json_int_t)p->n_events, "dropped_events", (json_int_t)p->n_dropped));
    put_cost(p, collector);
    pack_json_copy(collector, record, "interval_ms");
    pack_json_copy(collector, record, "window");
    pack_json_copy(collector, record, "not_loaded");
    json_object_set_new(o, "collector", collector);
}
