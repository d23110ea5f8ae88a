/* text_run.c - profiling_report.txt of one run: plain text at most 100 columns wide where it wraps. */
#include "render/narrate/narrate.h"

#include "render/analyse/analyse.h"
#include "render/narrate/efficiencies.h"
#include "render/narrate/shares.h"
#include "render/say/format.h"
#include "render/narrate/text_lines.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void put_steps(const struct run_result *r, struct dcr_buf *out)
{
    text_section(out, "Step time");
    if (!r->has_steps) {
        text_reason(out, "", &r->steps_why);
        return;
    }
    dcr_buf_printf(out, "mean %s   median %s   p95 %s   min %s   max %s   variation %s\n",
                   fmt_time(r->step.mean_ns).text, fmt_time(r->step.median_ns).text, fmt_time(r->step.p95_ns).text,
                   fmt_time(r->step.min_ns).text, fmt_time(r->step.max_ns).text, fmt_percent(r->step.cv_ratio).text);
    dcr_buf_printf(out, "%s\n", spread_tail(&r->step).text);
    dcr_buf_printf(out, "%s counted from %s; %lld left out as warm-up:\n  %s\n", fmt_count(r->n_counted, "step").text,
                   steps_source_words(r->steps_source), (long long)r->n_warmup, r->warmup_because);
    text_section(out, "Breakdown of a step (mean over ranks and counted steps)");
    for (int p = 0; p < N_PARTS; p++)
        if (is_part_known(r, (enum part)p))
            dcr_buf_printf(out, "%-34s %10s ms  %8s\n", run_part_name(r, (enum part)p), fmt_ms(r->part_ns[p]).text,
                           fmt_percent((double)r->part_ns[p] / (double)r->step.mean_ns).text);
        else
            dcr_buf_printf(out, "%-34s %10s\n", part_name((enum part)p), "n/a");
    dcr_buf_printf(out, "%-34s %10s ms\n", "step", fmt_ms(r->step.mean_ns).text);
}

static void put_classes(const struct run_result *r, struct dcr_buf *out)
{
    text_section(out, "Causes looked at");
    dcr_buf_printf(out, "%-24s %-8s %17s %10s   %s\n", "cause", "verdict", "share", "threshold", "finding");
    for (int i = 0; i < N_CLASSES; i++) {
        const struct class_result *c = &r->classes[i];
        const struct fmt share = judged_share(c), threshold = judged_threshold(c);
        dcr_buf_printf(out, "%-24s %-8s %17s %10s   %s\n", run_class_name(r, c->cls), verdict_word(c->verdict),
                       *share.text ? share.text : "-", *threshold.text ? threshold.text : "-", c->text);
    }
}

/* Of a rank, per step; n/a where nothing of it was recorded in the run. */
static const char *part_ms(const struct run_result *r, const struct rank_result *k, enum part p, struct fmt *out)
{
    *out = fmt_ms(k->part_ns[p]);
    return is_part_known(r, p) ? out->text : "n/a";
}

static void put_ranks(const struct run_result *r, struct dcr_buf *out)
{
    if (!r->has_steps)
        return;
    text_section(out, "Ranks (ms per step)");
    dcr_buf_printf(out, "%6s %10s %10s %10s %10s %10s %10s %10s\n", "rank", "step", "compute", "transfer", "waiting",
                   "data", "I/O", "last in");
    for (int i = 0; i < r->n_rank_results; i++) {
        const struct rank_result *k = &r->ranks[i];
        struct fmt f[5];
        char last[24] = "n/a";
        if (r->n_matched)
            snprintf(last, sizeof last, "%lld", (long long)k->n_last);
        dcr_buf_printf(out, "%6d %10s %10s %10s %10s %10s %10s %10s\n", k->rank, fmt_ms(k->step.mean_ns).text,
                       part_ms(r, k, PART_COMPUTE, &f[0]), part_ms(r, k, PART_TRANSFER, &f[1]),
                       part_ms(r, k, PART_WAIT, &f[2]), part_ms(r, k, PART_DATA, &f[3]), part_ms(r, k, PART_IO, &f[4]),
                       last);
    }
    dcr_buf_printf(out, "\n%s%s ", efficiencies_name(r), r->pop.has ? "" : ":");
    efficiencies_put(r, out);
    dcr_buf_puts(out, "\n");
    if (efficiencies_has_host(r)) {
        dcr_buf_printf(out, "Parallel efficiency of the hosts%s ", r->pop_host.has ? "" : ":");
        efficiencies_put_host(r, out);
        dcr_buf_puts(out, "\n");
    }
    if (r->algbw_gb_s > 0)
        dcr_buf_printf(out, "All-reduce: %s per step and rank, algorithm bandwidth %s%s GB/s, bus bandwidth %s GB/s\n",
                       fmt_bytes(r->bytes_per_step).text, r->hidden_comm_ns > 0 ? "at least " : "",
                       fmt_number(r->algbw_gb_s).text, fmt_number(r->busbw_gb_s).text);
}

static void put_phases(const struct run_result *r, struct dcr_buf *out)
{
    if (!r->has_steps)
        return;
    int is_whole = phases_are_whole(r);
    text_section(
        out, is_whole ? "Named ranges inside the steps, from begin to end on the host (ms per step, mean over ranks)"
                      : "Phases by name (ms per step, mean over ranks)");
    if (r->n_phases == 0) {
        text_wrapped(out, "", "n/a because no named range was recorded inside the steps");
        return;
    }
    dcr_buf_printf(out, "%-24s %10s %10s %10s %9s   %s\n", "phase", "mean", "median", "p95", "of step",
                   "mean of the fastest and the slowest rank");
    for (int i = 0; i < r->n_phases; i++) {
        const struct phase_result *p = &r->phases[i];
        dcr_buf_printf(out, "%-24.60s %10s %10s %10s %9s", p->name, fmt_ms(p->spread.mean_ns).text,
                       fmt_ms(p->spread.median_ns).text, fmt_ms(p->spread.p95_ns).text,
                       fmt_percent((double)p->spread.mean_ns / (double)r->step.mean_ns).text);
        if (r->n_rank_results < 2)
            dcr_buf_puts(out, "   one rank");
        else if (p->fastest_ns == p->slowest_ns)
            dcr_buf_puts(out, "   the same on all ranks");
        else
            dcr_buf_printf(out, "   %s (rank %d), %s (rank %d)", fmt_ms(p->fastest_ns).text, p->fastest_rank,
                           fmt_ms(p->slowest_ns).text, p->slowest_rank);
        if (p->n_steps < r->n_counted)
            dcr_buf_printf(out, "; in %lld of %lld steps", (long long)p->n_steps, (long long)r->n_counted);
        if (is_whole && !p->is_whole)
            dcr_buf_puts(out, "; without the ranges inside");
        dcr_buf_putc(out, '\n');
        if (p->has_gpu)
            dcr_buf_printf(out, "%-24s %10s %10s %10s %9s   first to last operation launched inside\n", "  on the GPU",
                           fmt_ms(p->gpu.mean_ns).text, fmt_ms(p->gpu.median_ns).text, fmt_ms(p->gpu.p95_ns).text,
                           fmt_percent((double)p->gpu.mean_ns / (double)r->step.mean_ns).text);
        else if (is_whole)
            dcr_buf_printf(out, "%-24s %10s   because %s\n", "  on the GPU", "n/a", phase_gpu_because(r, p));
    }
}

static void put_calls(const char *name, const struct dct_io *io, struct dcr_buf *out)
{
    int is_timed = run_is_timed(io);
    dcr_buf_printf(out, "%-32.60s %10llu %12s %12s %12s\n", name, (unsigned long long)io->n,
                   is_timed ? fmt_time((int64_t)io->ns).text : "n/a",
                   is_timed ? fmt_time((int64_t)io->max_ns).text : "n/a", fmt_bytes((double)io->bytes).text);
}

/* The kernel's totals of reading and writing, and the part outside recorded calls. */
static void put_files_explained(const struct run *run, struct dcr_buf *out)
{
    struct files_explained e = files_explained(run);
    if (!e.has)
        return;
    text_section(out, "Read and written by the processes of all ranks, by the kernel");
    for (int k = DCT_IO_READ; k <= DCT_IO_WRITE; k++) {
        dcr_buf_printf(out, "%-8s %10s in %s", k == DCT_IO_READ ? "read" : "written",
                       fmt_bytes((double)e.bytes[k]).text, fmt_count(e.calls[k], "system call").text);
        if (e.rest_bytes[k] >= 0)
            dcr_buf_printf(out, ": %s in recorded calls on files, %s not attributed",
                           fmt_bytes((double)e.recorded_bytes[k]).text, fmt_bytes((double)e.rest_bytes[k]).text);
        dcr_buf_putc(out, '\n');
    }
    if (*e.rest_because)
        dcr_buf_printf(out, "How much of it is in recorded calls is n/a because %s.\n", e.rest_because);
    else
        dcr_buf_puts(out, "Not attributed: files by calls that cannot be seen (fprintf, fgets and others), pipes,\n"
                          "sockets, the terminal, and what programs read to start.\n");
}

/* MPI calls and calls on files of all ranks in the recorded part, the longest first. */
static void put_observed(const struct run *run, struct dcr_buf *out)
{
    enum { SHOWN = 20 };
    static const char *const kinds[DCT_N_IO] = {"read", "write", "open, close, sync ..."};
    struct recorded part = recorded_part(run);
    if (part.n_ranks_lost && (run->n_mpi_calls || run->n_files)) {
        text_section(out, "MPI calls, calls on files");
        dcr_buf_printf(out, "n/a because %s\n", part.because);
        put_files_explained(run, out);
        return;
    }
    if (run->n_mpi_calls) {
        text_section(out, part.is_part ? "MPI calls of the recorded part of the run, all ranks together"
                                       : "MPI calls of the whole run, all ranks together");
        dcr_buf_printf(out, "%-32s %10s %12s %12s %12s\n", "call", "calls", "time inside", "longest", "bytes");
    }
    for (int i = 0; i < run->n_mpi_calls && i < SHOWN; i++)
        put_calls(run->mpi_calls[i].name, &run->mpi_calls[i].sum, out);
    if (run->n_files) {
        text_section(out, part.is_part
                              ? "Calls on files of the recorded part of the run, all ranks together (n/a: counted, "
                                "not timed)"
                              : "Calls on files of the whole run, all ranks together (n/a: counted, not timed)");
        dcr_buf_printf(out, "%-32s %10s %12s %12s %12s\n", "file", "calls", "time inside", "longest", "bytes");
    }
    for (int i = 0; i < run->n_files && i < SHOWN; i++) {
        dcr_buf_printf(out, "%.200s\n", run->files[i].name);
        for (int kind = 0; kind < DCT_N_IO; kind++) {
            char line[64];
            snprintf(line, sizeof line, "  %s", kinds[kind]);
            if (run->files[i].sum[kind].n)
                put_calls(line, &run->files[i].sum[kind], out);
        }
    }
    put_files_explained(run, out);
    int left =
        (run->n_mpi_calls > SHOWN ? run->n_mpi_calls - SHOWN : 0) + (run->n_files > SHOWN ? run->n_files - SHOWN : 0);
    if (left)
        dcr_buf_printf(out, "%d further ones are in report.json.\n", left);
}

/* A monitor's status without its leading "absent: ". */
static const char *reason(const char *status, const char *otherwise)
{
    static const char absent[] = "absent: ";
    if (strncmp(status, absent, strlen(absent)) == 0)
        status += strlen(absent);
    return *status && strcmp(status, "ok") != 0 ? status : otherwise;
}

static void put_processes(const struct run *run, struct dcr_buf *out)
{
    int n = 0;
    for (int i = 0; i < run->ranks_len; i++) {
        const struct run_rank *k = &run->ranks[i];
        if (k->process_seconds <= 0 || k->cpu_ns < 0)
            continue;
        if (n++ == 0)
            text_section(out, "Processes");
        dcr_buf_printf(out, "rank %d: %s of CPU time in %s of run time", k->rank, fmt_time(k->cpu_ns).text,
                       fmt_time((int64_t)(k->process_seconds * 1e9)).text);
        if (k->mpi_ns > 0 && !rank_lost_events(k) && !run->has_window)
            dcr_buf_printf(out, ", %s in MPI calls", fmt_time(k->mpi_ns).text);
        else if (k->mpi_ns > 0 && !rank_lost_events(k) && recorded_of_rank(k).ns > 0)
            dcr_buf_printf(out, ", %s of %s that were recorded in MPI calls", fmt_time(k->mpi_ns).text,
                           fmt_time(recorded_of_rank(k).ns).text);
        if (k->run_delay_ns >= 0)
            dcr_buf_printf(out, ", %s ready without a core", fmt_time(k->run_delay_ns).text);
        if (k->peak_rss_bytes >= 0)
            dcr_buf_printf(out, ", %s of memory at most", fmt_bytes((double)k->peak_rss_bytes).text);
        dcr_buf_putc(out, '\n');
    }
}

static void put_sampled(struct dcr_buf *out, const char *name, const struct sampled *s, const char *unit,
                        const char *because)
{
    if (s->n)
        dcr_buf_printf(out, "  %-16s mean %s %s, max %s %s\n", name, fmt_number(s->sum / (double)s->n).text, unit,
                       fmt_number(s->max).text, unit);
    else
        dcr_buf_printf(out, "  %-16s n/a because: %s\n", name, because);
}

static void put_hosts(const struct run_result *r, struct dcr_buf *out)
{
    text_section(out, "Hosts");
    if (r->run->nodes_len == 0)
        dcr_buf_puts(out, "n/a because the archive holds neither metadata nor monitors\n");
    for (int i = 0; i < r->run->nodes_len; i++) {
        const struct run_node *n = &r->run->nodes[i];
        dcr_buf_printf(out, "node %d%s%s%s%s", n->node, *n->host ? " " : "", n->host, *n->cpu_model ? ", " : "",
                       n->cpu_model);
        if (n->cores)
            dcr_buf_printf(out, ", %s", fmt_count(n->cores, "core").text);
        if (n->share.has)
            dcr_buf_printf(out, " (emulated: %.4g of them, link %s)",
                           n->share.cores > 0 ? n->share.cores : (double)n->cores,
                           n->share.link_bit_per_s ? fmt_bit_rate((double)n->share.link_bit_per_s).text : "not shaped");
        dcr_buf_putc(out, '\n');
        const char *no_cpu = reason(n->cpu_status, "it was not monitored");
        put_sampled(out, "CPU", &n->cpu_percent, "%", no_cpu);
        put_sampled(out, "memory", &n->memory_percent, "%", no_cpu);
        for (int g = 0; g < n->n_gpus; g++)
            put_sampled(out, "GPU utilisation", &n->gpus[g].utilization_percent, "%", "the monitor has no value of it");
        if (n->n_gpus == 0)
            dcr_buf_printf(out, "  %-16s n/a because: %s\n", "GPU", reason(n->gpu_status, "there is no GPU monitor"));
        if (n->throttled_ns > 0)
            dcr_buf_printf(out, "  %-16s %s over the run\n", "throttled", fmt_time(n->throttled_ns).text);
        for (int t = 0; t < n->n_net; t++)
            if (n->net[t].in_bytes >= 0 && n->net[t].out_bytes >= 0)
                dcr_buf_printf(out, "  %-16.16s received %s, sent %s\n", n->net[t].name,
                               fmt_bytes((double)n->net[t].in_bytes).text, fmt_bytes((double)n->net[t].out_bytes).text);
    }
}

static void put_metric(struct dcr_buf *out, const struct run *run, size_t epoch, const char *column)
{
    double v = run->epochs[epoch].value[run_metric(column)];
    dcr_buf_printf(out, " %12s", isnan(v) ? "n/a" : fmt_number(v).text);
}

static void put_training(const struct run_result *r, struct dcr_buf *out)
{
    if (r->run->n_epochs == 0 && !is_training(r->run))
        return;
    text_section(out, "Training");
    if (r->run->n_epochs == 0) {
        dcr_buf_puts(out, "n/a because there is no epoch in metrics.csv\n");
        return;
    }
    dcr_buf_printf(out, "%8s %12s %12s %12s %12s\n", "epoch", "train loss", "val loss", "val MAE", "seconds");
    for (size_t i = 0; i < r->run->n_epochs; i++) {
        double epoch = r->run->epochs[i].value[run_metric("epoch")];
        dcr_buf_printf(out, "%8.0f", isnan(epoch) ? (double)(i + 1) : epoch);
        put_metric(out, r->run, i, "train_loss");
        put_metric(out, r->run, i, "val_loss");
        put_metric(out, r->run, i, "val_mae");
        put_metric(out, r->run, i, "epoch_time_sec");
        dcr_buf_putc(out, '\n');
    }
}

void narrate_profiling_report_txt(const struct report *rep, const struct run_result *run, struct dcr_buf *out)
{
    char title[512];
    snprintf(title, sizeof title, "Profiling report: %.200s, run %.200s", run->label, run->run->run_id);
    text_title(out, title, '=');
    text_wrapped(out, "", run->headline);
    text_wrapped(out, "", run->support);
    text_confidence(run, "", out);
    dcr_buf_putc(out, '\n');
    text_notes(rep, (int)(run - rep->runs), out);
    put_steps(run, out);
    put_phases(run, out);
    put_classes(run, out);
    put_ranks(run, out);
    for (int i = 0; i < run->n_notes; i++)
        text_wrapped(out, "", run->notes[i]);
    put_training(run, out);
    put_processes(run->run, out);
    put_observed(run->run, out);
    put_hosts(run, out);
    text_section(out, "Environment");
    dcr_buf_printf(out, "started   %s\nended     %s\n", fmt_utc(run->run->started_s).text,
                   fmt_utc(run->run->ended_s).text);
    const struct run_program *p = &run->run->program;
    const char *const libraries[][2] = {{"MPI", p->mpi},
                                        {"CUDA", run_version(run->run, p->cuda, "CUDA_VERSION")},
                                        {"NCCL", run_version(run->run, p->nccl, "NCCL_VERSION")},
                                        {"BLAS", p->blas}};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (libraries[i][1] && *libraries[i][1])
            dcr_buf_printf(out, "%-9s %s\n", libraries[i][0], libraries[i][1]);
    dcr_buf_puts(out, "command  ");
    for (int i = 0; i < run->run->n_command; i++)
        dcr_buf_printf(out, " %s", run->run->command[i]);
    if (run->run->n_command == 0)
        dcr_buf_puts(out, " n/a because it was not recorded");
    dcr_buf_putc(out, '\n');
}
