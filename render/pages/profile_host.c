/* profile_host.c - what was recorded of a run besides its steps: processes, calls, files and hosts; parts of profile.c.
 */
#include "render/pages/parts.h"

#include "render/metrics/calls.h"
#include "render/metrics/recorded.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <stdio.h>
#include <string.h>

void section_of_processes(const struct run *run, struct doc *d)
{
    int n = 0;
    for (int i = 0; i < run->ranks_len; i++) {
        const struct run_rank *k = &run->ranks[i];
        if (k->process_seconds <= 0 || k->cpu_ns < 0)
            continue;
        if (n++ == 0)
            doc_heading(d, 2, "Processes");
        const struct fmt calls = fmt_time(k->mpi_ns);
        int has_calls = k->mpi_ns > 0 && !rank_lost_sums(k);
        const struct slot delay = slot_time(k->run_delay_ns), memory = slot_bytes((double)k->peak_rss_bytes);
        const struct phrase said[] = {
            PHRASE(PROCESS_TIME, slot_count(k->rank), slot_time(k->cpu_ns),
                   slot_time((int64_t)(k->process_seconds * 1e9))),
            has_calls && !run->has_window ? PHRASE(PROCESS_MPI, slot_time(k->mpi_ns))
            : has_calls && recorded_of_rank(k).ns > 0
                ? PHRASE(PROCESS_MPI_OF, slot_name(calls.text), slot_time(recorded_of_rank(k).ns))
                : PHRASE(NONE),
            k->run_delay_ns >= 0 && k->peak_rss_bytes >= 0 ? PHRASE(PROCESS_WAITED_MEMORY, delay, memory)
            : k->run_delay_ns >= 0                         ? PHRASE(PROCESS_WAITED, delay)
            : k->peak_rss_bytes >= 0                       ? PHRASE(PROCESS_MEMORY, memory)
                                                           : PHRASE(NONE)};
        paragraph_of_phrases(d, said, 3);
    }
}

/* The kernel's totals of reading and writing, and the part outside recorded calls. */
static void put_files_explained(const struct run *run, struct doc *d)
{
    struct files_explained e = files_explained(run);
    if (!e.has)
        return;
    heading_of(d, 2, PHRASE(HEAD_FILES));
    doc_table(d, "|#|");
    for (int k = DCT_IO_READ; k <= DCT_IO_WRITE; k++) {
        doc_row(d);
        doc_cell(d, "%s", k == DCT_IO_READ ? "read" : "written");
        doc_cell(d, "%s", fmt_bytes((double)e.bytes[k]).text);
        doc_cell(d, "in %s", fmt_count(e.calls[k], "system call").text);
        if (e.rest_bytes[k] >= 0)
            doc_text(d, ": %s",
                     say_phrase(&d->arena, &PHRASE(FILE_BYTES_SPLIT, slot_bytes((double)e.recorded_bytes[k]),
                                                   slot_bytes((double)e.rest_bytes[k]))));
    }
    if (e.rest_why.code) {
        paragraph_of_phrases(d, &PHRASE(FILES_NOT_SPLIT, slot_reason(&e.rest_why)), 1);
    } else {
        doc_paragraph(d, "%s", say_sentences(&d->arena, &PHRASE(FILES_NOT_ATTRIBUTED), 1));
    }
}

static void put_calls(const char *name, const struct dct_io *io, struct doc *d)
{
    int is_timed = run_is_timed(io);
    doc_row(d);
    doc_cell(d, "%.60s", name);
    doc_cell(d, "%llu", (unsigned long long)io->n);
    doc_cell(d, "%s", is_timed ? fmt_time((int64_t)io->ns).text : "–");
    doc_cell(d, "%s", is_timed ? fmt_time((int64_t)io->max_ns).text : "–");
    doc_cell(d, "%s", fmt_bytes((double)io->bytes).text);
}

enum { SHOWN = 20 };

static void put_mpi_calls(const struct run *run, struct doc *d)
{
    if (run->n_mpi_calls == 0)
        return;
    table_of(d, 2, TABLE(PROSE_MPI_CALLS, slot_name(recorded_noun(run))));
    for (int i = 0; i < run->n_mpi_calls && i < SHOWN; i++)
        put_calls(run->mpi_calls[i].name, &run->mpi_calls[i].sum, d);
}

static void put_files(const struct run *run, struct doc *d)
{
    static const char *const kinds[DCT_N_IO] = {"  read", "  write", "  open, close, sync ..."};
    if (run->n_files == 0)
        return;
    table_of(d, 2, TABLE(PROSE_FILES, slot_name(recorded_noun(run))));
    for (int i = 0; i < run->n_files && i < SHOWN; i++) {
        doc_row(d);
        doc_cell(d, "%.200s", run->files[i].name);
        for (int kind = 0; kind < DCT_N_IO; kind++)
            if (run->files[i].sum[kind].n)
                put_calls(kinds[kind], &run->files[i].sum[kind], d);
    }
}

void section_of_calls(const struct run *run, struct doc *d)
{
    struct recorded part = recorded_part(run);
    if (part.n_ranks_lost_sums && (run->n_mpi_calls || run->n_files)) {
        heading_of(d, 2, PHRASE(HEAD_CALLS));
        paragraph_of_reason(d, &part.why);
        put_files_explained(run, d);
        return;
    }
    put_mpi_calls(run, d);
    put_files(run, d);
    put_files_explained(run, d);
    int left =
        (run->n_mpi_calls > SHOWN ? run->n_mpi_calls - SHOWN : 0) + (run->n_files > SHOWN ? run->n_files - SHOWN : 0);
    if (left)
        paragraph_of_phrases(d, &PHRASE(MORE_IN_JSON, slot_count(left)), 1);
}

static const char *reason(const struct recorder *monitor, const char *otherwise)
{
    switch (monitor->state) {
    case RECORDER_UNSAID:
    case RECORDER_OK:
        return otherwise;
    case RECORDER_ABSENT:
        return monitor->because;
    default:
        return monitor->text;
    }
}

static void put_sampled(const char *name, const struct sampled *s, const char *unit, const char *because, struct doc *d)
{
    doc_row(d);
    doc_cell(d, "%s", name);
    if (s->n)
        doc_cell(d, "mean %s %s, max %s %s", fmt_number(s->sum / (double)s->n).text, unit, fmt_number(s->max).text,
                 unit);
    else
        doc_cell(d, "not recorded: %s", because);
}

static void put_host(const struct run_node *n, struct doc *d)
{
    doc_details(d, "node %d%s%s%s%s", n->node, *n->host ? " " : "", n->host, *n->cpu_model ? ", " : "", n->cpu_model);
    const struct fmt rate = fmt_bit_rate((double)n->share.link_bit_per_s);
    char cores[32];
    snprintf(cores, sizeof cores, "%.4g", n->share.cores > 0 ? n->share.cores : (double)n->cores);
    if (n->cores)
        doc_text(d, ", %s", fmt_count(n->cores, "core").text);
    if (n->share.has)
        doc_text(d, " (%s)",
                 say_phrase(&d->arena, &PHRASE(NODE_EMULATED, slot_name(cores),
                                               slot_name(n->share.link_bit_per_s ? rate.text : "not shaped"))));
    const char *no_cpu = reason(&n->cpu_monitor, say_phrase(&d->arena, &PHRASE(NOT_MONITORED)));
    doc_table(d, "|");
    put_sampled("CPU", &n->cpu_percent, "%", no_cpu, d);
    put_sampled("memory", &n->memory_percent, "%", no_cpu, d);
    for (int g = 0; g < n->n_gpus; g++)
        put_sampled("GPU utilisation", &n->gpus[g].utilization_percent, "%",
                    say_phrase(&d->arena, &PHRASE(NO_VALUE_OF_MONITOR)), d);
    if (n->n_gpus == 0) {
        doc_row(d);
        doc_cell(d, "GPU");
        doc_cell(d, "not recorded: %s", reason(&n->gpu_monitor, say_phrase(&d->arena, &PHRASE(NO_GPU_MONITOR))));
    }
    if (n->throttled_ns > 0) {
        doc_row(d);
        doc_cell(d, "throttled");
        doc_cell(d, "%s", say_phrase(&d->arena, &PHRASE(OVER_THE_RUN, slot_time(n->throttled_ns))));
    }
    for (int t = 0; t < n->n_net; t++)
        if (n->net[t].in_bytes >= 0 && n->net[t].out_bytes >= 0) {
            doc_row(d);
            doc_cell(d, "%.16s", n->net[t].name);
            doc_cell(d, "received %s, sent %s", fmt_bytes((double)n->net[t].in_bytes).text,
                     fmt_bytes((double)n->net[t].out_bytes).text);
        }
    doc_end(d);
}

void section_of_hosts(const struct run *run, struct doc *d)
{
    doc_heading(d, 2, "Hosts");
    if (run->nodes_len == 0)
        paragraph_of_reason(d, &REASON(NO_HOSTS));
    for (int i = 0; i < run->nodes_len; i++)
        put_host(&run->nodes[i], d);
}
