/* sample_report.h - a finished report of three invented runs, for tests of pages and documents. The numbers are chosen
 * to be recognised in the pages, not to be plausible. Everything lives in one arena. */
#ifndef TESTS_UNIT_SAMPLE_REPORT_H
#define TESTS_UNIT_SAMPLE_REPORT_H

#include "render/metrics/report.h"
#include "render/say/format.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SAMPLE_MS 1000000LL

struct sample {
    struct dcr_arena arena;
    struct report rep;
    struct run run[3];
};

static const int sample_nodes[3] = {1, 2, 4};
/* compute, transfer, wait, data, I/O, copies, overhead, in tenths of a millisecond */
static const int64_t sample_part[3][N_PARTS] = {
    {1520, 0, 0, 31, 2, 0, 48}, {771, 128, 97, 29, 3, 0, 51}, {392, 403, 221, 30, 2, 0, 55}};

static int64_t sample_ns(int64_t tenths)
{
    return tenths * (SAMPLE_MS / 10);
}

static void *sample_alloc(struct sample *s, size_t n, size_t size)
{
    return dcr_arena_alloc(&s->arena, n * size);
}

static char *sample_text(struct sample *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static char *sample_text(struct sample *s, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return dcr_arena_strdup(&s->arena, text);
}

static void sample_sampled(struct sample *s, struct sampled *v, double mean, double swing, int n)
{
    v->t_s = sample_alloc(s, (size_t)n, sizeof(double));
    v->value = sample_alloc(s, (size_t)n, sizeof(double));
    v->n = v->n_points = n;
    v->min = INFINITY;
    v->max = -INFINITY;
    for (int i = 0; i < n; i++) {
        double x = mean + swing * sin(i * 0.7) * cos(i * 0.13);
        v->t_s[i] = 0.5 * i;
        v->value[i] = x;
        v->sum += x;
        v->min = fmin(v->min, x);
        v->max = fmax(v->max, x);
    }
}

static void sample_fill_run(struct sample *s, int k, const char *hostile)
{
    struct run *r = &s->run[k];
    int n = sample_nodes[k], n_steps = 60;
    r->archive = sample_text(s, "%dnode-20310425-1015.tar", n);
    r->run_id = sample_text(s, "20310425-10150%d-4f2a", k);
    r->config_hash = "0";
    r->manifest_sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    r->has_manifest = r->has_metadata = r->has_metrics = r->is_complete = 1;
    r->n_nodes = r->n_ranks = n;
    r->node_kind = NODES_EMULATED;
    r->command = sample_alloc(s, 2, sizeof *r->command);
    r->command[0] = "dcrnn-train";
    r->command[1] = hostile ? hostile : "--epochs=3";
    r->n_command = 2;
    r->started_s = 1935000000;
    r->ended_s = r->started_s + 31;
    r->scheduler = "none";
    r->job_id = "";
    r->collector_version = "0.1.0";
    r->nvtx = (struct recorder){.state = RECORDER_OK, .text = "ok", .because = ""};
    r->program = (struct run_program){.name = hostile ? hostile : "dcrnn-train",
                                      .version = "0.1.0",
                                      .model = "DCRNN",
                                      .precision = "fp32",
                                      .backend = "cpu",
                                      .blas = "OpenBLAS",
                                      .dataset = "generated",
                                      .allreduce_dtype = "fp32",
                                      .allreduce_is_overlapped = 1,
                                      .parameters = 372353,
                                      .threads = 1,
                                      .global_batch = 64,
                                      .local_batch = 64 / n,
                                      .n_sensors = 24,
                                      .allreduce_bytes_per_step = 1489412,
                                      .seed = 1,
                                      .flop_per_step = 1e9,
                                      .dataset_is_generated = 1,
                                      .strong_scaling = 1};
    r->environment = sample_alloc(s, 1, sizeof *r->environment);
    r->environment[0] = (struct run_pair){"OMP_NUM_THREADS", hostile ? hostile : "1"};
    r->n_environment = 1;
    r->nodes = sample_alloc(s, (size_t)n, sizeof *r->nodes);
    r->nodes_len = n;
    r->ranks = sample_alloc(s, (size_t)n, sizeof *r->ranks);
    r->ranks_len = n;
    for (int i = 0; i < n; i++) {
        struct run_node *q = &r->nodes[i];
        *q = (struct run_node){.node = i,
                               .host = hostile ? hostile : "host",
                               .boot_id = "",
                               .cpu_model = "a CPU",
                               .kernel = "6.1",
                               .cores = 2,
                               .memory_bytes = 8000000000,
                               .gpu_monitor = {RECORDER_ABSENT, "absent: no driver", "no driver", 0},
                               .cpu_monitor = {RECORDER_OK, "ok", "", 0},
                               .throttled_ns = -1,
                               .nr_throttled = -1};
        sample_sampled(s, &q->cpu_percent, 88 - 6 * i, 7, 60);
        sample_sampled(s, &q->memory_percent, 31 + i, 2, 60);
        sample_sampled(s, &q->memory_used_gb, 2.5, 0.2, 60);
        struct run_rank *p = &r->ranks[i];
        *p = (struct run_rank){.rank = i, .node = i, .host = "host", .source = STEPS_TRACE, .trace_notes = ""};
        p->steps = sample_alloc(s, (size_t)n_steps, sizeof *p->steps);
        p->n_steps = (size_t)n_steps;
        int64_t mean = 0;
        for (int c = 0; c < N_PARTS; c++)
            mean += sample_ns(sample_part[k][c]);
        for (int t = 0; t < n_steps; t++) {
            p->steps[t].step = t;
            p->steps[t].step_ns = mean + (t * 37 % 11 - 5 + i) * SAMPLE_MS / 3 + (t < 3 ? (3 - t) * 40 * SAMPLE_MS : 0);
        }
    }
    r->n_epochs = 4;
    r->epochs = sample_alloc(s, r->n_epochs, sizeof *r->epochs);
    for (size_t e = 0; e < r->n_epochs; e++) {
        for (int c = 0; c < RUN_N_METRICS; c++)
            r->epochs[e].value[c] = NAN;
        r->epochs[e].value[run_metric("epoch")] = (double)e + 1;
        r->epochs[e].value[run_metric("train_loss")] = 5.2 / ((double)e + 1.2);
        r->epochs[e].value[run_metric("val_loss")] = 5.6 / ((double)e + 1.3);
    }
    r->members = sample_alloc(s, 1, sizeof *r->members);
    r->members[0] = (struct run_member){
        .name = hostile ? hostile : "metrics.csv", .role = "metrics", .sha256 = r->manifest_sha256, .size_bytes = 412};
    r->n_members = 1;
}

static void sample_fill_result(struct sample *s, int k, const char *hostile)
{
    struct run_result *q = &s->rep.runs[k];
    int n = sample_nodes[k];
    q->run = &s->run[k];
    q->slug = sample_text(s, "%dnode-20310425", n);
    q->label = fmt_count(n, "node").text[0] ? sample_text(s, "%s", fmt_count(n, "node").text) : "";
    q->n_nodes = q->n_ranks = n;
    q->has_steps = 1;
    q->steps_source = STEPS_OF_TRACES;
    q->n_steps = 60;
    q->n_warmup = 3;
    q->n_counted = 57;
    q->warmup_because = "3 leading steps were slower than 1.25 times the later median and are left out.";
    q->step_number = sample_alloc(s, 57, sizeof(int64_t));
    q->step_ns = sample_alloc(s, 57, sizeof(int64_t));
    int64_t mean = 0;
    for (int c = 0; c < N_PARTS; c++) {
        q->part_ns[c] = sample_ns(sample_part[k][c]);
        mean += q->part_ns[c];
    }
    for (int c = 0; c < N_PARTS; c++)
        q->part_interval[c] = (struct interval){1, 0.97 * (double)q->part_ns[c] / (double)mean,
                                                1.03 * (double)q->part_ns[c] / (double)mean};
    for (int t = 0; t < 57; t++) {
        q->step_number[t] = t + 3;
        q->step_ns[t] = mean;
    }
    q->step = (struct spread){57, mean, mean, mean + 2 * SAMPLE_MS, mean - SAMPLE_MS, mean + 3 * SAMPLE_MS, 0, 0.02};
    q->step_interval = (struct interval){1, (double)mean * 0.99, (double)mean * 1.01};
    q->comm_ns = q->part_ns[PART_TRANSFER] + q->part_ns[PART_WAIT];
    q->ranks = sample_alloc(s, (size_t)n, sizeof *q->ranks);
    q->n_rank_results = n;
    for (int i = 0; i < n; i++) {
        q->ranks[i].rank = q->ranks[i].node = i;
        q->ranks[i].step = q->step;
        memcpy(q->ranks[i].part_ns, q->part_ns, sizeof q->part_ns);
        int64_t shift = n > 1 ? (i - 1) * SAMPLE_MS : 0;
        q->ranks[i].part_ns[PART_COMPUTE] += shift;
        q->ranks[i].part_ns[PART_WAIT] -= shift;
        q->ranks[i].n_last = i == n - 1 && n > 1 ? 40 : 5;
    }
    q->straggler.has = n == 4;
    q->straggler.rank = 3;
    q->pop = (struct pop){.has = 1,
                          .has_useful = 1,
                          .parallel_ratio = 1.0 - (double)q->comm_ns / (double)mean,
                          .load_balance_ratio = 0.93,
                          .communication_ratio = 0.8,
                          .serialization_ratio = 0.9,
                          .transfer_ratio = 0.89,
                          .useful_mean_ns = mean,
                          .useful_max_ns = mean,
                          .has_scaling = k > 0,
                          .computation_scaling_ratio = 0.97,
                          .global_ratio = 0.5};
    q->pop_host_why = REASON(HOSTS_WITHOUT_GPUS);
    q->coverage_ratio = 0.91;
    q->has_throughput = 1;
    q->throughput = 64e9 / (double)mean;
    q->throughput_source = THROUGHPUT_OF_STEPS;
    q->has_accuracy = 1;
    q->headline = hostile ? hostile
                          : sample_text(s, "%s of each step goes to communication at %s.",
                                        fmt_percent((double)q->comm_ns / (double)mean).text, q->label);
    q->support = "Data loading and I/O are not limiting.";
    q->confidence_because = "";
    for (int c = 0; c < N_CLASSES; c++)
        q->classes[c] = (struct class_result){.cls = (enum cause_class)c,
                                              .rule = "above 20 % of step time",
                                              .threshold_name = "",
                                              .text = "n/a because no counter was recorded"};
    struct class_result *comm = &q->classes[CLASS_COMMUNICATION];
    comm->has_share = 1;
    comm->share_ratio = (double)q->comm_ns / (double)mean;
    comm->verdict = k == 2 ? VERDICT_LIMITS : k == 1 ? VERDICT_WATCH : VERDICT_FINE;
    comm->text = "exposed communication, transfer and waiting together";
}

static void sample_fill_series(struct sample *s)
{
    struct report *rep = &s->rep;
    rep->n_series = 1;
    rep->series = sample_alloc(s, 1, sizeof *rep->series);
    struct series *q = &rep->series[0];
    q->label = "DCRNN, 24 sensors";
    q->kind = SCALING_STRONG;
    q->kind_said = PHRASE(KIND_STRONG, slot_count(64), slot_name("node"));
    q->n_points = 3;
    q->points = sample_alloc(s, 3, sizeof *q->points);
    for (int k = 0; k < 3; k++) {
        struct series_point *p = &q->points[k];
        const struct run_result *r = &rep->runs[k];
        p->n_nodes = p->n_ranks = sample_nodes[k];
        p->runs = sample_alloc(s, 1, sizeof(int));
        p->runs[0] = k;
        p->n_runs = 1;
        p->step = r->step;
        p->step_interval = r->step_interval;
        memcpy(p->part_ns, r->part_ns, sizeof p->part_ns);
        p->has_throughput = 1;
        p->throughput = r->throughput;
        p->speedup = r->throughput / rep->runs[0].throughput;
        p->efficiency = p->speedup / p->n_nodes;
        if (k)
            p->speedup_interval = (struct interval){1, p->speedup * 0.96, p->speedup * 1.05};
        p->compute_speedup = (double)rep->runs[0].part_ns[0] / (double)r->part_ns[0];
        p->pop = r->pop;
        p->counters.why = REASON(NO_COUNTERS);
    }
    q->n_losses = 3;
    q->losses = sample_alloc(s, 3, sizeof *q->losses);
    const int from[3] = {0, 1, 0}, to[3] = {1, 2, 2};
    for (int i = 0; i < 3; i++) {
        struct series_loss *l = &q->losses[i];
        l->from = from[i];
        l->to = to[i];
        int ratio = sample_nodes[to[i]] / sample_nodes[from[i]];
        for (int c = 0; c < N_PARTS; c++) {
            l->part_ns[c] = q->points[to[i]].part_ns[c] - q->points[from[i]].part_ns[c] / ratio;
            l->loss_ns += l->part_ns[c];
        }
        l->actual_ns = q->points[to[i]].step.mean_ns;
        l->ideal_ns = l->actual_ns - l->loss_ns;
        l->largest = PART_TRANSFER;
        l->class_ns[LOST_OTHER] = l->loss_ns;
        l->class_why[LOST_HOST] = REASON(NO_GPU);
    }
    q->limit_claim = 0;
    q->headline = q->support = "";
    q->scaling_text = "Strong scaling from 1 to 4 nodes loses most to the all-reduce.";
    q->beyond_text = q->not_judged_text = "";
}

/* hostile: NULL, or a text that replaces every text of an archive */
static void sample_init(struct sample *s, const char *hostile)
{
    memset(s, 0, sizeof *s);
    struct report *rep = &s->rep;
    rep->thresholds = thresholds_default();
    rep->unit = COUNTS_NODES;
    rep->title = hostile ? hostile : "DCRNN on 1, 2 and 4 nodes";
    rep->n_runs = 3;
    rep->runs = sample_alloc(s, 3, sizeof *rep->runs);
    for (int k = 0; k < 3; k++) {
        sample_fill_run(s, k, hostile);
        sample_fill_result(s, k, hostile);
    }
    sample_fill_series(s);
    rep->n_claims = 1;
    rep->claims = sample_alloc(s, 1, sizeof *rep->claims);
    rep->claims[0] = (struct claim){
        .id = "series0.limit",
        .cls = CLASS_COMMUNICATION,
        .run = 2,
        .series = -1,
        .sentence = hostile ? hostile : "At 4 nodes 57 % of the step time is exposed gradient synchronisation.",
        .support = "",
        .threshold_ratio = 0.2,
        .confidence = CONFIDENCE_HIGH,
        .confidence_because = "57 steps",
        .evidence = "index.html#scaling",
        .action = {.id = ADVICE_OVERLAP, .ours = "--overlap on", .generic = "DDP bucket_cap_mb", .check = ""},
        .gain_ns = 62 * SAMPLE_MS,
        .step_ns = 110 * SAMPLE_MS,
        .gain_text = "at most 62.4 ms of 110 ms a step (2.30x)",
        .expected = ""};
    rep->n_notes = 2;
    rep->n_gaps = 1;
    rep->notes = sample_alloc(s, 2, sizeof *rep->notes);
    static const char emulated[] =
        "The nodes are emulated: ranks of one host stand in for nodes, so the network is not a real one.";
    const char *gpu = hostile ? hostile : "No GPU was found, so there are no GPU metrics.";
    rep->notes[0] = (struct note){NOTE_CAVEAT, -1, NOTE_EMULATED, .text = emulated};
    rep->notes[1] = (struct note){NOTE_GAP, 0, NOTE_MISSING, .text = gpu};
    rep->node_label = "emulated nodes";
    rep->baseline = "";
    rep->headline =
        hostile ? hostile
                : "Gradient synchronisation limits scaling beyond 2 nodes: at 4 nodes 57 % of each step (62.4 of 110 "
                  "ms) waits for the all-reduce.";
    rep->support = "It was 0 % at 1 node and 21 % at 2. Data loading (2.7 %) and I/O (0.2 %) are not limiting.";
    rep->first_action = rep->first.text =
        "Overlapping the decoder's gradients with the encoder's backward pass can hide up to 29 ms a step.";
    rep->how_sure = "57 steps over 1 run per node count; 95 % interval of the share 55 to 59 %.";
    rep->n_documents = 2;
    rep->documents = sample_alloc(s, 2, sizeof *rep->documents);
    rep->documents[0] = (struct document){
        -1, "BOTTLENECK_ANALYSIS.md", "BOTTLENECK_ANALYSIS.md", "the analysis in words", "# Analysis\n", 11};
    rep->documents[1] = (struct document){-1, "report.json", "report.json", "every number", "{}\n", 3};
}

static void sample_release(struct sample *s)
{
    dcr_arena_release(&s->arena);
}

#endif
