/* pack_recorded.c - "collector" of job_metadata.json: what was recorded, and why something was not. */
#include "collect/pack/parts.h"
#include "lib/base/json_string.h"

#include <stdio.h>
#include <string.h>

/* Nothing was recorded although a window was asked for: why. "" when it opened, or there was none. A step that is
 * recorded is itself an event, so that without events the window of steps never opened. */
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

/* A sentence of the recorder that begins so; "" when there is none. */
static const char *note_that(const struct pack *p, const char *beginning)
{
    for (size_t i = 0; i < json_array_size(p->trace_notes); i++) {
        const char *note = json_string_value(json_array_get(p->trace_notes, i));
        if (strncmp(note, beginning, strlen(beginning)) == 0)
            return note;
    }
    return "";
}

/* MPI and I/O: "ok", or why there is nothing. */
static void put_observed(const struct pack *p, const json_t *record, const char *window, json_t *collector)
{
    const char *mpi = pack_json_text(record, "mpi_note"), *io = pack_json_text(record, "io_note");
    if (!*mpi)
        mpi = note_that(p, "MPI calls are not recorded");
    if (!record)
        mpi = io = "no collector watched the run";
    char line[1400];
    snprintf(line, sizeof line, "%s%s", p->n_mpi_calls ? "ok" : "nothing recorded because ",
             p->n_mpi_calls ? ""
             : *mpi         ? mpi
             : *window      ? window
                            : "the program called no MPI function");
    json_object_set_new(collector, "mpi", json_string_kept(line));
    snprintf(line, sizeof line, "%s%s", p->n_io_calls ? "ok" : "nothing recorded because ",
             p->n_io_calls ? ""
             : *io         ? io
             : *window     ? window
                           : "the visible calls on files moved less than 1 MB and none took long (fprintf, mmap and "
                             "others cannot be seen)");
    json_object_set_new(collector, "io", json_string_kept(line));
    json_object_set_new(collector, "mpi_calls", json_integer((json_int_t)p->n_mpi_calls));
    json_object_set_new(collector, "io_calls", json_integer((json_int_t)p->n_io_calls));
    if (json_array_size(p->trace_notes))
        json_object_set(collector, "notes", p->trace_notes);
}

/* GPU activity: "ok", or why there is none. */
static void put_gpu(const struct pack *p, const json_t *record, const char *window, json_t *collector)
{
    static const char is[] = DCR_GPU_NOTE, is_not[] = "GPU activity is not recorded: ";
    const char *why = record ? pack_json_text(record, "cuda_note") : "no collector watched the run";
    char line[1400];
    int n = 0;
    for (size_t i = 0; i < json_array_size(p->trace_notes); i++) {
        const char *note = json_string_value(json_array_get(p->trace_notes, i));
        n += strncmp(note, is, sizeof is - 1) == 0;
        if (strncmp(note, is_not, sizeof is_not - 1) == 0)
            why = note + sizeof is_not - 1;
    }
    snprintf(line, sizeof line, "%s%s", n ? "ok" : "nothing recorded because ",
             n         ? ""
             : *why    ? why
             : *window ? window
                       : "the program used no GPU");
    json_object_set_new(collector, "cuda", json_string_kept(line));
    if (!p->n_gpu_cut)
        return;
    snprintf(line, sizeof line,
             "of %d process%s the last GPU activity, up to a second of it, is missing and not counted as dropped: "
             "killed or left by "
             "_exit, %s ended before CUPTI handed it over",
             p->n_gpu_cut, p->n_gpu_cut == 1 ? "" : "es", p->n_gpu_cut == 1 ? "it" : "they");
    json_array_append_new(p->trace_notes, json_string_kept(line));
    json_object_set(collector, "notes", p->trace_notes);
}

/* Processor time of all collectors of the run. Nothing is said where one of them left no time, as one that was killed.
 */
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
    char line[1400];
    char window[300];
    json_t *collector = json_object();
    say_window(p, record, window, sizeof window);
    const char *note = pack_json_text(record, "nvtx_note"), *user = note_that(p, DCR_USER_NOTE);
    json_object_set_new(collector, "version",
                        json_string(record ? pack_json_text(record, "collector_version") : DCR_VERSION));
    if (p->n_events)
        snprintf(line, sizeof line, "ok");
    else
        snprintf(line, sizeof line, "nothing recorded because %s",
                 !record        ? "no collector watched the run"
                 : *note        ? note
                 : *window      ? window
                 : *user        ? user
                 : p->n_dropped ? "there was no room for it on disk or in memory"
                 : p->n_traces  ? "the program named no range"
                 : p->n_empty   ? "no trace could be begun: no room on the spool's disk, a limit on the size of files "
                                  "(ulimit -f), no free file descriptor, or the program was killed then"
                              : "no process left a trace: NVTX was not loaded (not built with it, statically linked), "
                                "no range was reached, its calls on files were all short and moved less than 1 MB, or "
                                "privileges, environment or root had been given up by then");
    json_object_set_new(collector, "nvtx", json_string_kept(line));
    put_observed(p, record, window, collector);
    put_gpu(p, record, window, collector);
    json_object_set_new(collector, "traces", json_integer(p->n_traces));
    json_object_set_new(collector, "traces_packed", json_integer(p->n_traces_packed));
    json_object_set_new(collector, "events", json_integer((json_int_t)p->n_events));
    json_object_set_new(collector, "dropped_events", json_integer((json_int_t)p->n_dropped));
    put_cost(p, collector);
    pack_json_copy(collector, record, "interval_ms");
    pack_json_copy(collector, record, "window");
    pack_json_copy(collector, record, "nvtx_chained");
    pack_json_copy(collector, record, "not_loaded");
    json_object_set_new(o, "collector", collector);
}
