/* profile_host.c - what of a run was seen without its steps: processes, calls, files and hosts; parts of profile.c. */
#include "render/pages/parts.h"

#include "render/metrics/calls.h"
#include "render/metrics/recorded.h"
#include "render/say/format.h"
#include "render/say/say.h"

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
        doc_paragraph(d, "rank %d: %s of CPU time in %s of run time", k->rank, fmt_time(k->cpu_ns).text,
                      fmt_time((int64_t)(k->process_seconds * 1e9)).text);
        if (k->mpi_ns > 0 && !rank_lost_events(k) && !run->has_window)
            doc_text(d, ", %s in MPI calls", fmt_time(k->mpi_ns).text);
        else if (k->mpi_ns > 0 && !rank_lost_events(k) && recorded_of_rank(k).ns > 0)
            doc_text(d, ", %s of %s that were recorded in MPI calls", fmt_time(k->mpi_ns).text,
                     fmt_time(recorded_of_rank(k).ns).text);
        if (k->run_delay_ns >= 0)
            doc_text(d, ", %s ready without a core", fmt_time(k->run_delay_ns).text);
        if (k->peak_rss_bytes >= 0)
            doc_text(d, ", %s of memory at most", fmt_bytes((double)k->peak_rss_bytes).text);
    }
}

/* The kernel's totals of reading and writing, and the part outside recorded calls. */
static void put_files_explained(const struct run *run, struct doc *d)
{
    struct files_explained e = files_explained(run);
    if (!e.has)
        return;
    doc_heading(d, 2, "Read and written by the processes of all ranks (totals of the kernel)");
    doc_table(d, "|#|");
    for (int k = DCT_IO_READ; k <= DCT_IO_WRITE; k++) {
        doc_row(d);
        doc_cell(d, "%s", k == DCT_IO_READ ? "read" : "written");
        doc_cell(d, "%s", fmt_bytes((double)e.bytes[k]).text);
        doc_cell(d, "in %s", fmt_count(e.calls[k], "system call").text);
        if (e.rest_bytes[k] >= 0)
            doc_text(d, ": %s in recorded calls on files, %s not attributed",
                     fmt_bytes((double)e.recorded_bytes[k]).text, fmt_bytes((double)e.rest_bytes[k]).text);
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

static void put_mpi_calls(const struct run *run, const char *of, struct doc *d)
{
    if (run->n_mpi_calls == 0)
        return;
    doc_heading(d, 2, "MPI calls of the %s, all ranks together", of);
    doc_table(d, "call|#calls|#time inside|#longest|#bytes");
    for (int i = 0; i < run->n_mpi_calls && i < SHOWN; i++)
        put_calls(run->mpi_calls[i].name, &run->mpi_calls[i].sum, d);
}

static void put_files(const struct run *run, const char *of, struct doc *d)
{
    static const char *const kinds[DCT_N_IO] = {"  read", "  write", "  open, close, sync ..."};
    if (run->n_files == 0)
        return;
    doc_heading(d, 2, "Calls on files of the %s, all ranks together (–: counted, not timed)", of);
    doc_table(d, "file|#calls|#time inside|#longest|#bytes");
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
    const char *of = part.is_part ? "recorded part of the run" : "whole run";
    if (part.n_ranks_lost && (run->n_mpi_calls || run->n_files)) {
        doc_heading(d, 2, "MPI calls, calls on files");
        paragraph_of_reason(d, &part.why);
        put_files_explained(run, d);
        return;
    }
    put_mpi_calls(run, of, d);
    put_files(run, of, d);
    put_files_explained(run, d);
    int left =
        (run->n_mpi_calls > SHOWN ? run->n_mpi_calls - SHOWN : 0) + (run->n_files > SHOWN ? run->n_files - SHOWN : 0);
    if (left)
        doc_paragraph(d, "%d more are in report.json.", left);
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
    if (n->cores)
        doc_text(d, ", %s", fmt_count(n->cores, "core").text);
    if (n->share.has)
        doc_text(d, " (emulated: %.4g of them, link %s)", n->share.cores > 0 ? n->share.cores : (double)n->cores,
                 n->share.link_bit_per_s ? fmt_bit_rate((double)n->share.link_bit_per_s).text : "not shaped");
    const char *no_cpu = reason(&n->cpu_monitor, "it was not monitored");
    doc_table(d, "|");
    put_sampled("CPU", &n->cpu_percent, "%", no_cpu, d);
    put_sampled("memory", &n->memory_percent, "%", no_cpu, d);
    for (int g = 0; g < n->n_gpus; g++)
        put_sampled("GPU utilisation", &n->gpus[g].utilization_percent, "%", "the monitor has no value of it", d);
    if (n->n_gpus == 0) {
        doc_row(d);
        doc_cell(d, "GPU");
        doc_cell(d, "not recorded: %s", reason(&n->gpu_monitor, "there is no GPU monitor"));
    }
    if (n->throttled_ns > 0) {
        doc_row(d);
        doc_cell(d, "throttled");
        doc_cell(d, "%s over the run", fmt_time(n->throttled_ns).text);
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
