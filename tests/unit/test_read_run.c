/* test_read_run.c - archives made in memory, read back as runs (render/read). Refusals of whole archives are tested
 * from outside by tests/integration/render_bad_input.sh. */
#include "render/read/recorder.h"
#include "lib/base/csv.h"
#include "lib/archive/format.h"
#include "lib/base/hash.h"
#include "lib/reduce/summary.h"
#include "lib/archive/tar.h"
#include "render/read/members.h"
#include "render/read/read.h"
#include "render/site/timeline/spans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/unit/gaps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/dcreport-read.XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

struct file {
    const char *name;
    const void *bytes;
    size_t n; /* 0 = text */
};

/* A tar of the files, as they come, read back. */
static int read_back(const char *tar_name, const struct file *f, int n, struct run **out, struct dcr_err *err)
{
    char path[256];
    struct dcr_tar_writer *w;
    snprintf(path, sizeof path, "%s/%s", folder, tar_name);
    assert_int_equal(dcr_tar_create(&w, path, NULL, err), 0);
    for (int i = 0; i < n; i++)
        assert_int_equal(dcr_tar_add_bytes(w, f[i].name, f[i].bytes, f[i].n ? f[i].n : strlen(f[i].bytes), 0, err), 0);
    assert_int_equal(dcr_tar_commit(w, NULL, err), 0);
    int rc = run_read(out, path, err);
    unlink(path);
    return rc;
}

#define STEPS_HEADER                                                                                                  \
    "epoch,step,rank,start_ns,step_ns,data_ns,h2d_ns,forward_ns,backward_ns,allreduce_ns,optimizer_ns,checkpoint_ns," \
    "samples,allreduce_bytes,loss\n"

/* The slots of the first gap with that sentence; NULL: none. */
static const struct slot *has_gap(const struct run *r, enum phrase_id id)
{
    for (int i = 0; i < r->n_gaps; i++)
        if (gap_slots(r, i, id))
            return gap_slots(r, i, id);
    return NULL;
}

static void test_steps_of_two_ranks_in_one_file(void **state)
{
    (void)state;
    const struct file f[] = {{"steps.csv",
                              STEPS_HEADER "1,1,0,200,100,5,,30,40,20,3,0,32,400,1.5\n"
                                           "1,0,1,90,100,5,2,30,40,10,3,4,32,400,1.5\n"
                                           "1,0,0,90,100,5,0,30,40,20,3,0,32,400,1.5\n",
                              0}};
    struct run *r;
    struct dcr_err err = {0};
    assert_int_equal(read_back("2node-x.tar", f, 1, &r, &err), 0);
    assert_int_equal(r->ranks_len, 2);
    assert_int_equal(r->ranks[0].n_steps, 2);
    assert_int_equal(r->ranks[0].steps[0].step, 0); /* sorted */
    assert_int_equal(r->ranks[0].source, STEPS_CSV);
    const struct step_record *s = &r->ranks[1].steps[0];
    assert_int_equal(s->part_ns[CAT_COMPUTE], 73);
    assert_int_equal(s->part_ns[CAT_COMM], 10);
    assert_int_equal(s->part_ns[CAT_DATA], 5);
    assert_int_equal(s->part_ns[CAT_COPY], 2);
    assert_int_equal(s->part_ns[CAT_IO], 4);
    assert_int_equal(s->part_ns[CAT_OTHER], 6);
    assert_int_equal(s->samples, 32);
    assert_int_equal(s->bytes, 400);
    assert_int_equal(r->ranks[0].collectives[0].since_ns[CAT_COMPUTE], 70);
    /* before the second all-reduce: the optimizer of the first step, then forward and backward */
    assert_int_equal(r->ranks[0].collectives[1].since_ns[CAT_COMPUTE], 73);
    assert_int_equal(r->ranks[0].collectives[1].outside_ns, 10);
    assert_int_equal(r->n_nodes, 2); /* from the file name, and reported */
    assert_non_null(has_gap(r, PHRASE_NODES_BY_FILE));
    assert_non_null(has_gap(r, PHRASE_NO_MANIFEST));
    run_free(r);
}

/* Phases that do not fit overlapped: communication gives way first and is counted as hidden. */
static void test_overlapping_phases(void **state)
{
    (void)state;
    const struct file f[] = {{"steps.csv", STEPS_HEADER "1,0,0,0,100,0,,30,50,40,5,0,32,400,1\n", 0}};
    struct run *r;
    assert_int_equal(read_back("x.tar", f, 1, &r, NULL), 0);
    const struct step_record *s = &r->ranks[0].steps[0];
    assert_int_equal(s->part_ns[CAT_COMPUTE], 85);
    assert_int_equal(s->part_ns[CAT_COMM], 15);
    assert_int_equal(s->hidden_comm_ns, 25);
    assert_int_equal(s->part_ns[CAT_OTHER], 0);
    assert_int_equal(r->ranks[0].n_inconsistent, 0);
    run_free(r);
}

/* A column has the time of buckets in flight, of which the waiting is a part. */
static void test_in_flight_column(void **state)
{
    (void)state;
    const struct file f[] = {
        {"steps.csv",
         "epoch,step,rank,start_ns,step_ns,data_ns,h2d_ns,forward_ns,backward_ns,allreduce_ns,optimizer_ns,"
         "checkpoint_ns,samples,allreduce_bytes,loss,allreduce_inflight_ns\n"
         "1,0,0,0,100,0,,30,50,10,5,0,32,400,1,35\n"   /* 25 beside the backward pass */
         "1,1,0,100,100,0,,30,50,10,5,0,32,400,1,8\n"  /* waited longer than anything was in flight */
         "1,2,0,200,100,0,,30,50,10,5,0,32,400,1,\n"   /* not measured */
         "1,3,0,300,100,0,,30,50,40,5,0,32,400,1,60\n" /* and phases that do not fit: 25 of the 40 */
         "1,4,0,400,100,0,,30,50,10,5,0,32,400,1,900\n",
         0}};
    static const int64_t hidden[] = {25, 0, 0, 45, 90};
    struct run *r;
    assert_int_equal(read_back("x.tar", f, 1, &r, NULL), 0);
    assert_int_equal(r->ranks[0].n_steps, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(r->ranks[0].steps[i].hidden_comm_ns, hidden[i]);
    assert_int_equal(r->ranks[0].steps[0].part_ns[CAT_COMM], 10);
    assert_int_equal(r->ranks[0].steps[0].part_ns[CAT_COMPUTE], 85);
    assert_null(has_gap(r, PHRASE_STEPS_CSV_LACKS));
    run_free(r);
}

static void test_doubled_steps(void **state)
{
    (void)state;
    const struct file f[] = {
        {"steps.csv", STEPS_HEADER "1,0,0,10,100,0,,30,50,0,5,0,32,0,1\n1,0,0,500,200,0,,30,50,0,5,0,32,0,1\n", 0}};
    struct run *r;
    assert_int_equal(read_back("x.tar", f, 1, &r, NULL), 0);
    assert_int_equal(r->ranks[0].n_steps, 1);
    assert_int_equal(r->ranks[0].steps[0].step_ns, 100);
    assert_non_null(has_gap(r, PHRASE_STEPS_CSV_TWICE));
    run_free(r);
    const struct file copies[] = {{"rank0/steps.csv", STEPS_HEADER "1,0,0,10,100,0,,30,50,0,5,0,32,0,1\n", 0},
                                  {"steps-rank0.csv", STEPS_HEADER "1,0,0,10,100,0,,30,50,0,5,0,32,0,1\n", 0}};
    assert_int_equal(read_back("x.tar", copies, 2, &r, NULL), 0);
    assert_int_equal(r->ranks[0].n_steps, 1);
    assert_null(has_gap(r, PHRASE_STEPS_CSV_TWICE));
    run_free(r);
}

static void test_zero_columns_are_not_facts(void **state)
{
    (void)state;
    static const char metrics[] =
        "epoch,train_loss,val_loss,val_mae,val_rmse,epoch_time_sec,throughput_samples_per_sec,data_load_time_sec,"
        "compute_time_sec,gpu_util_avg,cpu_util_avg\n1,0.2,0.3,0.4,0.5,76,79,0.002,74,0.0,0.0\n"
        "2,0.2,,0.4,0.5,76,79,0.002,74,0.0,55.0\n";
    const struct file f[] = {{"metrics.csv", metrics, 0}};
    struct run *r;
    assert_int_equal(read_back("x.tar", f, 1, &r, NULL), 0);
    assert_int_equal(r->n_epochs, 2);
    assert_true(isnan(r->epochs[0].value[run_metric("gpu_util_avg")]));
    assert_non_null(has_gap(r, PHRASE_METRICS_ZERO));
    assert_true(r->epochs[1].value[run_metric("cpu_util_avg")] == 55); /* not all zero: kept */
    assert_true(isnan(r->epochs[1].value[run_metric("val_loss")]));    /* an empty cell */
    assert_true(r->epochs[1].value[run_metric("val_mae")] == 0.4);
    assert_true(isnan(r->epochs[1].value[run_metric("learning_rate")]));
    run_free(r);
}

/* Monitors of other tools: dates as timestamps, rows without a time, a share above 100. */
static void test_dates(void **state)
{
    (void)state;
    const struct file f[] = {{"metrics.csv", "epoch,train_loss\n1,2\n", 0},
                             {"gpu_monitor.csv",
                              "timestamp,gpu_id,utilization_gpu\n2026/01/31 23:59:59.500,0,90\n"
                              "\"2026-02-01 00:00:01\",0,70\nyesterday,0,50\n2026-02-01 00:00:02,0,170\n",
                              0}};
    struct run *r;
    assert_int_equal(read_back("x.tar", f, 2, &r, NULL), 0);
    const struct sampled *s = &r->nodes[0].gpus[0].utilization_percent;
    assert_int_equal(s->n, 2);
    assert_true(s->sum == 160);
    assert_int_equal(has_gap(r, PHRASE_ROWS_UNTIMED)[0].count, 1);
    assert_string_equal(has_gap(r, PHRASE_CELLS_NO_NUMBERS)[1].name, "x.tar: gpu_monitor.csv");
    run_free(r);
}

/* A row of a thinned file stands for several samples, so that means do not lean towards the newest. */
static void test_thinned_monitor(void **state)
{
    (void)state;
    const struct file f[] = {{"metrics.csv", "epoch,train_loss\n1,2\n", 0},
                             {"cpu_monitor.csv",
                              "timestamp,cpu_percent,t_ns,psi_io_some_ns,samples\n1,,1000000000,0,1\n"
                              "101,10,101000000000,10000000000,90\n111,100,111000000000,20000000000,10\n",
                              0}};
    struct run *r;
    assert_int_equal(read_back("x.tar", f, 2, &r, NULL), 0);
    const struct run_node *n = &r->nodes[0];
    assert_int_equal(n->cpu_percent.n, 100);
    assert_true(n->cpu_percent.sum == 1900 && n->cpu_percent.max == 100);
    assert_int_equal(n->busy[n->n_busy - 1].cpu_ns, 20000000000);
    assert_true(n->psi_io_percent.n == 100 && fabs(n->psi_io_percent.sum - 1900) < 1e-6);
    run_free(r);
}

static void test_monitors(void **state)
{
    (void)state;
    const struct file f[] = {
        {"metrics.csv", "epoch,train_loss\n1,2\n", 0},
        {"node1/cpu_monitor.csv",
         "timestamp,cpu_percent,steal_percent,throttled_ns,nr_throttled,psi_io_some_ns,major_faults,psi_cpu_some_ns\n"
         "100.000,50,,1000,1,5000000000,7,1000000000\n100.500,70,,3000,4,5125000000,8,1580000000\n"
         "101.000,x,,5000,5,,3,1980000000\n",
         0},
        {"node1/gpu_monitor.csv",
         "timestamp,gpu_id,utilization_gpu,memory_used_mb,pcie_tx_bytes,pcie_rx_bytes\n"
         "1,0,90,100,0,1000000\n1,1,10,200,5,\n2,0,70,,3000000,4000000\n",
         0},
        {"node1/net_monitor.csv",
         "timestamp,t_ns,interface,rx_bytes,tx_bytes,on_wire\n1,1000,eth0,10,20,1\n1,1000,lo,0,0,0\n"
         "2,2000,eth0,110,50,1\n2,2000,lo,7,7,0\n2,2000,mlx5_0/1,4,8,1\n",
         0},
        {"rank0/process_monitor.csv",
         "timestamp,user_ns,system_ns,rss_bytes,run_delay_ns\n1,0,0,500,0\n3,100,20,900,50\n", 0},
        {"node2/cpu_monitor.csv", "timestamp,cpu_percent,t_ns\n1,,1000\n2,50,3000\n3,x,4000\n4,25,5000\n", 0},
        {"rank1/process_monitor.csv",
         "t_ns,user_ns,system_ns,run_delay_ns\n1000,10,5,0\n3000,x,9,50\n4000,20,9,\n5000,30,9,60\n", 0}};
    struct run *r;
    assert_int_equal(read_back("x.tar", f, 7, &r, NULL), 0);
    /* On the clock of the steps: half of 2000 ns, then a quarter of 2000; rows without a time are skipped. */
    assert_int_equal(r->nodes[1].n_busy, 3);
    assert_int_equal(r->nodes[1].busy[0].cpu_ns, 0);
    assert_int_equal(r->nodes[1].busy[1].cpu_ns, 1000);
    assert_int_equal(r->nodes[1].busy[2].cpu_ns, 1500);
    assert_int_equal(r->ranks[1].n_delays, 3);
    assert_int_equal(r->ranks[1].delays[0].cpu_ns, 15);
    assert_int_equal(r->ranks[1].delays[1].cpu_ns, -1);
    assert_int_equal(r->ranks[1].delays[2].run_delay_ns, 60);
    assert_int_equal(r->nodes[0].n_busy + r->ranks[0].n_delays, 0); /* timestamps are of another clock */
    assert_int_equal(r->nodes_len, 2);
    const struct run_node *n = &r->nodes[0];
    assert_int_equal(n->node, 1);
    assert_int_equal(n->cpu_percent.n, 2);
    assert_true(n->cpu_percent.sum == 120 && n->cpu_percent.max == 70);
    assert_int_equal(n->steal_percent.n, 0); /* empty cells are not measured */
    assert_int_equal(n->throttled_ns, 4000);
    assert_int_equal(n->nr_throttled, 4);
    assert_true(n->monitor_seconds == 1);
    assert_int_equal(n->psi_io_percent.n, 1); /* counters: growth between two readings */
    assert_true(fabs(n->psi_io_percent.max - 25) < 1e-6);
    assert_int_equal(n->major_faults_per_s.n, 1); /* the counter that went back gives no value */
    assert_true(fabs(n->major_faults_per_s.max - 2) < 1e-6);
    assert_int_equal(n->psi_memory_percent.n, 0);
    /* 580 ms of waiting in half a second: 80 of them happened after the row's time and count in the next interval */
    assert_int_equal(n->psi_cpu_percent.n, 2);
    assert_true(fabs(n->psi_cpu_percent.max - 100) < 1e-6 && fabs(n->psi_cpu_percent.min - 96) < 1e-6);
    assert_true(n->gpus[0].pcie_mb_s.n == 1 && fabs(n->gpus[0].pcie_mb_s.max - 6) < 1e-6);
    assert_int_equal(n->gpus[1].pcie_mb_s.n, 0);
    assert_string_equal(has_gap(r, PHRASE_CELLS_NO_NUMBERS)[1].name, "x.tar: node1/cpu_monitor.csv");
    assert_int_equal(n->n_gpus, 2);
    assert_int_equal(n->gpus[0].utilization_percent.n, 2);
    assert_int_equal(n->gpus[0].memory_used_mb.n, 1);
    assert_int_equal(n->n_net, 3);
    assert_string_equal(n->net[0].name, "eth0");
    assert_int_equal(n->n_wire, 2);
    assert_int_equal(n->wire[0].received_bytes, 10);
    assert_true(n->wire[1].t_ns == 2000 && n->wire[1].received_bytes == 114 && n->wire[1].sent_bytes == 58);
    assert_int_equal(n->net[0].in_bytes, 100);
    assert_int_equal(n->net[0].out_bytes, 30);
    assert_int_equal(r->ranks[0].cpu_ns, 120);
    assert_int_equal(r->ranks[0].run_delay_ns, 50);
    assert_int_equal(r->ranks[0].peak_rss_bytes, 900);
    run_free(r);
}

static void test_series_is_decimated(void **state)
{
    (void)state;
    struct run *r = run_new("x.tar");
    struct sampled s = {0};
    for (int i = 0; i < 100000; i++)
        sampled_add(r, &s, i * 0.1, i % 2);
    assert_int_equal(s.n, 100000);
    assert_in_range(s.n_points, RUN_MAX_POINTS / 2, RUN_MAX_POINTS);
    for (int i = 1; i < s.n_points; i++) {
        assert_true(s.t_s[i] > s.t_s[i - 1]);
        assert_true(fabs(s.value[i] - 0.5) < 1e-9);
    }
    run_free(r);
}

static void test_metadata(void **state)
{
    (void)state;
    const struct file f[] = {
        {"job_metadata.json",
         "{\"command\":[\"a.out\",\"--x\"],\"started\":5,\"ended\":1.71e10,\"program\":{\"name\":\"p\",\"global_"
         "batch\":64,\"threads\":-3,"
         "\"flop_per_step\":1e9,\"strong_scaling\":false},\"nodes\":[{\"node\":1,\"host\":"
         "\"b\\u0007<i>\",\"boot_id\":\"k\"},"
         "{\"node\":0,\"host\":\"a\",\"boot_id\":\"k\",\"cores\":4}],\"ranks\":[{\"rank\":0,"
         "\"node\":0,\"exit_status\":3},{\"rank\":1}],"
         "\"environment\":{\"B\":\"2\",\"A\":\"1\",\"C\":7},\"scheduler\":{\"name\":\"slurm\"}}",
         0},
        {"metrics.csv", "epoch,train_loss\n1,2\n", 0}};
    struct run *r;
    assert_int_equal(read_back("x.tar", f, 2, &r, NULL), 0);
    assert_int_equal(r->n_nodes, 2);
    assert_int_equal(r->node_kind, NODES_ONE_KERNEL); /* equal boot ids */
    assert_string_equal(r->nodes[1].host, "b?<i>");   /* no control characters; escaping is left to the writer */
    assert_int_equal(r->nodes[0].cores, 4);
    assert_int_equal(r->program.global_batch, 64);
    assert_int_equal(r->program.threads, -1); /* nonsense is unknown */
    assert_int_equal(r->program.strong_scaling, 0);
    assert_true(r->program.flop_per_step == 1e9);
    assert_int_equal(r->n_environment, 2);
    assert_string_equal(r->environment[0].key, "A");
    assert_int_equal(r->ranks[0].exit_status, 3);
    assert_int_equal(r->ranks[1].exit_status, -1); /* unknown: not 0 */
    assert_int_equal(r->n_command, 2);
    assert_true(r->started_s == 5 && r->ended_s == 0); /* the year 2511 does not fit into nanoseconds */
    run_free(r);
}

/* Emulated nodes describe themselves as parts of one machine, whatever their boot ids; impossible shares are
 * ignored. */
static void test_emulated_nodes(void **state)
{
    (void)state;
    static const struct {
        const char *said;
        int has;
        double cores;
        int64_t period_us, link_bit_per_s;
        int is_default;
    } c[] = {{"{\"cores\":0.25,\"period_us\":4000,\"link_bit_per_s\":50000000,\"is_default\":true}", 1, 0.25, 4000,
              50000000, 1},
             {"{\"cores\":0,\"period_us\":4000,\"link_bit_per_s\":0,\"is_default\":false}", 1, 0, 4000, 0, 0},
             {"{\"cores\":1,\"period_us\":-4,\"link_bit_per_s\":1e30,\"is_default\":7}", 1, 1, 0, 0, 0},
             {"{\"cores\":-1}", 0, 0, 0, 0, 0},
             {"{\"cores\":1e30}", 0, 0, 0, 0, 0},
             {"{\"cores\":\"x\"}", 0, 0, 0, 0, 0},
             {"{}", 0, 0, 0, 0, 0},
             {"true", 0, 0, 0, 0, 0}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "{\"nodes\":[{\"node\":0,\"boot_id\":\"a\",\"emulated\":%s},{\"node\":1,\"boot_id\":\"b\"}],"
                 "\"ranks\":[{\"rank\":0,\"node\":0}]}",
                 c[i].said);
        const struct file f[] = {{"job_metadata.json", text, 0}, {"metrics.csv", "epoch,train_loss\n1,2\n", 0}};
        struct run *r;
        assert_int_equal(read_back("x.tar", f, 2, &r, NULL), 0);
        const struct node_share *s = &r->nodes[0].share;
        assert_int_equal(s->has, c[i].has);
        assert_true(s->cores >= c[i].cores && s->cores <= c[i].cores);
        assert_int_equal(s->period_us, c[i].period_us);
        assert_int_equal(s->link_bit_per_s, c[i].link_bit_per_s);
        assert_int_equal(s->is_default, c[i].is_default);
        assert_int_equal(r->node_kind, c[i].has ? NODES_SHARES : NODES_MACHINES);
        assert_false(r->nodes[1].share.has);
        run_free(r);
    }
}

/* If a program does not describe itself, the label does. Nonsense in a label is ignored, and a label never overrules
 * the program. */
static void test_batch_label(void **state)
{
    (void)state;
    static const struct {
        const char *program, *label;
        int batch, is_label;
    } cases[] = {{"{}", "128", 128, 1}, {"{\"global_batch\":64}", "128", 64, 0}, {"{}", "128x", -1, 0},
                 {"{}", "0", -1, 0},    {"{}", "99999999999999999999", -1, 0},   {"{}", " 7", -1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "{\"command\":[\"a\"],\"program\":%s,\"labels\":{\"a\":\"5\",\"global_batch\":\"%s\"}}",
                 cases[i].program, cases[i].label);
        const struct file f[] = {{"job_metadata.json", text, 0}, {"metrics.csv", "epoch,train_loss\n1,2\n", 0}};
        struct run *r;
        assert_int_equal(read_back("x.tar", f, 2, &r, NULL), 0);
        assert_int_equal(r->program.global_batch, cases[i].batch);
        assert_int_equal(r->program.batch_is_label, cases[i].is_label);
        run_free(r);
    }
}

/* Samples of a GPU without a host are kept at node 0, but the number of nodes stays unknown. */
static void test_samples_count_no_node(void **state)
{
    (void)state;
    static const char smi[] = "index, timestamp, utilization.gpu [%], memory.used [MiB]\n"
                              "0, 2026/02/01 00:00:01.000, 40 %, 100 MiB\n0, 2026/02/01 00:00:02.000, 60 %, 100 MiB\n";
    const struct file f[] = {{"job_metadata.json", "{\"nodes\":[],\"ranks\":[]}", 0}, {"smi.csv", smi, 0}};
    struct run *r;
    assert_int_equal(read_back("x.tar", f, 2, &r, NULL), 0);
    assert_int_equal(r->nodes_len, 1);
    assert_int_equal(r->nodes[0].n_gpus, 1);
    assert_int_equal(r->n_nodes, 0);
    run_free(r);
}

static void test_metadata_of_earlier_users(void **state)
{
    (void)state;
    const struct file f[] = {{"run_17/job_metadata.txt", "Job ID: 17\nNodes: 4\nTasks = 8\n", 0},
                             {"run_17/metrics.csv", "epoch,train_loss\n1,2\n", 0}};
    struct run *r;
    assert_int_equal(read_back("x.tar", f, 2, &r, NULL), 0);
    assert_int_equal(r->n_nodes, 4);
    assert_int_equal(r->n_ranks, 8);
    run_free(r);
    const struct file g[] = {{"2node/run_17/metrics.csv", "epoch,train_loss\n1,2\n", 0}};
    assert_int_equal(read_back("x.tar", g, 1, &r, NULL), 0);
    assert_int_equal(r->n_nodes, 2);
    assert_non_null(has_gap(r, PHRASE_NODES_BY_FOLDER));
    run_free(r);
    const struct file two[] = {{"1node/run_1/metrics.csv", "epoch,train_loss\n1,2\n", 0},
                               {"2node/run_2/metrics.csv", "epoch,train_loss\n1,2\n", 0}};
    struct dcr_err err = {0};
    assert_int_equal(read_back("x.tar", two, 2, &r, &err), DCR_FAIL);
    assert_non_null(strstr(err.text, "more than one run"));
}

static void test_manifest_at_the_end(void **state)
{
    (void)state;
    static const char metrics[] = "epoch,train_loss\n1,2\n";
    char sha[DCR_SHA256_HEX], manifest[600];
    struct dcr_sha256 *h = dcr_sha256_new();
    dcr_sha256_add(h, metrics, strlen(metrics));
    dcr_sha256_finish(h, sha);
    for (int is_true = 0; is_true < 2; is_true++) {
        snprintf(manifest, sizeof manifest,
                 "{\"format\":\"dcreport-run\",\"version\":1,\"run_id\":\"r\",\"config_hash\":\"c\",\"complete\":false,"
                 "\"incomplete_because\":[\"killed\"],\"n_nodes\":3,\"n_ranks\":6,\"node_kind\":\"machines\","
                 "\"members\":[{\"name\":\"metrics.csv\",\"role\":\"metrics\",\"size\":%zu,\"sha256\":\"%s\"}]}",
                 strlen(metrics) + (is_true ? 0 : 1), sha);
        const struct file f[] = {{"metrics.csv", metrics, 0}, {"manifest.json", manifest, 0}};
        struct run *r;
        struct dcr_err err = {0};
        assert_int_equal(read_back("x.tar", f, 2, &r, &err), is_true ? 0 : DCR_FAIL);
        if (!is_true) {
            assert_non_null(strstr(err.text, "but the manifest says"));
            continue;
        }
        assert_int_equal(r->n_nodes, 3);
        assert_false(r->is_complete);
        assert_string_equal(r->endings[0].text, "killed");
        assert_int_equal(r->n_epochs, 1);
        run_free(r);
    }
}

static void test_manifest_alone(void **state)
{
    (void)state;
    const struct file f[] = {{"manifest.json",
                              "{\"format\":\"dcreport-run\",\"version\":1,\"run_id\":\"r\",\"config_hash\":\"c\","
                              "\"complete\":true,\"incomplete_because\":[],\"n_nodes\":1,\"n_ranks\":1,"
                              "\"node_kind\":\"machines\",\"members\":[]}",
                              0}};
    struct run *r;
    struct dcr_err err = {0};
    assert_int_equal(read_back("x.tar", f, 1, &r, &err), DCR_FAIL);
    assert_non_null(strstr(err.text, "is empty; copy or pack it again"));
}

static void test_text_is_cleaned(void **state)
{
    (void)state;
    struct run *r = run_new("x.tar");
    assert_string_equal(run_text(r, "a\nb\tc\x7f"), "a b c?");
    assert_string_equal(run_text(r, "caf\xc3\xa9"), "caf\xc3\xa9");
    assert_string_equal(run_text(r, "\xc3(\xff\xed\xa0\x80"), "?(????"); /* cut, not UTF-8, a surrogate */
    assert_string_equal(run_text(r, "a\xe2\x80\xae"
                                    "b\xe2\x81\xa7"),
                        "a???b???"); /* marks that turn the direction */
    assert_string_equal(run_text(r, NULL), "");
    run_free(r);
}

/* ---- a native trace, block by block --------------------------------------------------------------- */

enum { BLOCK = 4096, SLOTS = (BLOCK - 48) / 16 };

struct trace {
    unsigned char bytes[2 * BLOCK];
    uint32_t used;
};

static void put_slot(struct trace *t, const void *slot)
{
    assert_true(t->used < SLOTS);
    memcpy(t->bytes + BLOCK + 48 + 16 * t->used++, slot, 16);
}

static void define(struct trace *t, int kind, uint16_t domain, uint32_t id, const char *text)
{
    size_t n = strlen(text), slots = (n + 15) / 16;
    struct dct_slot s = {
        .kind = (uint8_t)kind, .n_extra = (uint8_t)slots, .domain = domain, .name = id, .t_ns = (int64_t)n};
    char padded[64] = {0};
    memcpy(padded, text, n);
    put_slot(t, &s);
    for (size_t i = 0; i < slots; i++)
        put_slot(t, padded + 16 * i);
}

static void push(struct trace *t, uint32_t name, uint32_t category, int64_t payload, int64_t when)
{
    struct dct_slot s = {.kind = DCT_PUSH, .n_extra = 1, .domain = 1, .name = name, .t_ns = when};
    struct dct_attr a = {.category = category, .payload_type = DCT_PAYLOAD_I64, .payload = (uint64_t)payload};
    put_slot(t, &s);
    put_slot(t, &a);
}

static void pop(struct trace *t, int64_t when)
{
    struct dct_slot s = {.kind = DCT_POP, .domain = 1, .t_ns = when};
    put_slot(t, &s);
}

/* Two steps of forward and all_reduce, sealed. */
static void make_trace(struct trace *t)
{
    memset(t, 0, sizeof *t);
    struct dct_file_header h = {
        .magic = DCT_MAGIC, .version = DCT_VERSION, .block_bytes = BLOCK, .rank = 3, .node = 1, .pid = 9, .host = "h"};
    memcpy(t->bytes, &h, sizeof h);
    define(t, DCT_DOMAIN, 1, 0, "dcrnn");
    define(t, DCT_STRING, 0, 1, "step");
    define(t, DCT_STRING, 0, 2, "forward");
    define(t, DCT_STRING, 0, 3, "all_reduce");
    define(t, DCT_CATEGORY, 1, 1, "step");
    define(t, DCT_CATEGORY, 1, 2, "compute");
    define(t, DCT_CATEGORY, 1, 3, "comm");
    for (int s = 0; s < 2; s++) {
        push(t, 1, 1, s, 1000 * s);
        push(t, 2, 2, 0, 1000 * s + 100);
        pop(t, 1000 * s + 400);
        push(t, 3, 3, 4096, 1000 * s + 400);
        pop(t, 1000 * s + 600);
        pop(t, 1000 * s + 650);
    }
}

static void seal(struct trace *t, int is_sealed, uint64_t dropped)
{
    struct dct_block_header b = {.magic = DCT_BLOCK_MAGIC,
                                 .state = is_sealed ? DCT_BLOCK_SEALED : DCT_BLOCK_OPEN,
                                 .track = 77,
                                 .used_slots = t->used,
                                 .dropped = dropped};
    if (is_sealed)
        b.crc32c = dcr_crc32c(0, t->bytes + BLOCK + 48, 16 * (size_t)t->used);
    memcpy(t->bytes + BLOCK, &b, sizeof b);
}

static void test_trace(void **state)
{
    (void)state;
    struct trace *t = calloc(1, sizeof *t);
    assert_non_null(t);
    make_trace(t);
    seal(t, 1, 5);
    const struct file f[] = {{"rank3/trace-9.dct", t->bytes, sizeof t->bytes}};
    struct run *r;
    struct dcr_err err = {0};
    assert_int_equal(read_back("x.tar", f, 1, &r, &err), 0);
    assert_int_equal(r->ranks_len, 1);
    const struct run_rank *k = &r->ranks[0];
    assert_int_equal(k->rank, 3);
    assert_int_equal(k->source, STEPS_TRACE);
    assert_int_equal(k->n_steps, 2);
    assert_int_equal(k->steps[1].step, 1);
    assert_int_equal(k->steps[1].step_ns, 650);
    assert_int_equal(k->steps[1].part_ns[CAT_COMPUTE], 300);
    assert_int_equal(k->steps[1].part_ns[CAT_COMM], 200);
    assert_int_equal(k->steps[1].part_ns[CAT_OTHER], 150);
    assert_int_equal(k->steps[1].bytes, 4096);
    assert_int_equal(k->n_dropped, 5);
    run_free(r);

    /* Two processes of a rank named steps, the first of them fewer. */
    struct trace *killed = malloc(sizeof *killed);
    assert_non_null(killed);
    *killed = *t;
    killed->used -= 1;
    seal(killed, 0, 0);
    const struct file both[] = {{"rank3/trace-8.dct", killed->bytes, sizeof killed->bytes},
                                {"rank3/trace-9.dct", t->bytes, sizeof t->bytes}};
    assert_int_equal(read_back("x.tar", both, 2, &r, &err), 0);
    assert_int_equal(r->ranks[0].n_step_processes, 2);
    assert_int_equal(r->ranks[0].n_steps, 2);
    assert_int_equal(r->ranks[0].n_steps_of_others, 1);
    run_free(r);
    free(killed);

    /* A killed process: the block is open, the last step's range never closed. */
    t->used -= 1;
    seal(t, 0, 0);
    assert_int_equal(read_back("x.tar", f, 1, &r, &err), 0);
    assert_int_equal(r->ranks[0].n_steps, 1);
    assert_true(r->ranks[0].n_open > 0);
    run_free(r);

    /* A file cut in the middle of its block: the readable part is read, and the loss is reported. */
    const struct file cut[] = {{"rank3/trace-9.dct", t->bytes, BLOCK + 48 + 16 * 10},
                               {"metrics.csv", "epoch,train_loss\n1,2\n", 0}};
    assert_int_equal(read_back("x.tar", cut, 2, &r, &err), 0);
    assert_true(r->ranks[0].is_torn || r->ranks[0].n_bad_blocks > 0);
    run_free(r);
    free(t);
}

/* The timeline is the same whether it was collected while the numbers were computed or by reading again: for native
 * traces, and for two of another tool after them. */
static void test_spans_while_reading(void **state)
{
    (void)state;
    struct trace *t = calloc(1, sizeof *t);
    struct run *r;
    struct dcr_err err = {0};
    struct spans once, again;
    char path[256];
    assert_non_null(t);
    make_trace(t);
    seal(t, 1, 0);
    const struct file f[] = {
        {"rank3/trace-9.dct", t->bytes, sizeof t->bytes},
        {"rank1/trace-9.dct", t->bytes, BLOCK + 48 + 16 * 20},
        {"k.json", "[{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":1,\"dur\":1}]", 0},
        {"l.json",
         "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"ts\":7,\"dur\":1,\"args\":{\"device\":0,"
         "\"stream\":7}},{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"tid\":1,\"ts\":3,\"dur\":9}]",
         0}};
    for (int n = 2; n <= 4; n++) {
        struct dcr_tar_writer *w;
        snprintf(path, sizeof path, "%s/x.tar", folder);
        assert_int_equal(dcr_tar_create(&w, path, NULL, &err), 0);
        for (int i = 0; i < n; i++)
            assert_int_equal(dcr_tar_add_bytes(w, f[i].name, f[i].bytes, f[i].n ? f[i].n : strlen(f[i].bytes), 0, &err),
                             0);
        assert_int_equal(dcr_tar_commit(w, NULL, &err), 0);
        run_watch(&spans_watch);
        assert_int_equal(run_read(&r, path, &err), 0);
        run_watch(NULL);
        assert_true(spans_take(&once, r));
        assert_int_equal(spans_read(&again, &(struct input){.path = path}, r, &err), 0);
        unlink(path);
        assert_true(once.n > 6);
        assert_int_equal(once.n, again.n);
        assert_memory_equal(once.span, again.span, once.n * sizeof *once.span);
        assert_int_equal(once.n_rows, again.n_rows);
        assert_int_equal(once.n_device_ops, again.n_device_ops);
        assert_int_equal(once.n_tracks, again.n_tracks);
        for (size_t i = 0; i < once.n_tracks; i++)
            assert_true(once.tracks[i].rank == again.tracks[i].rank && once.tracks[i].node == again.tracks[i].node &&
                        once.tracks[i].stream == again.tracks[i].stream &&
                        once.tracks[i].first_row == again.tracks[i].first_row &&
                        strcmp(once.tracks[i].name, again.tracks[i].name) == 0);
        assert_int_equal(once.n_names, again.n_names);
        for (size_t i = 0; i < once.n_names; i++)
            assert_string_equal(once.names[i].name, again.names[i].name);
        spans_release(&once);
        spans_release(&again);
        run_free(r);
    }
    free(t);
}

static void span(struct trace *t, uint16_t domain, uint32_t name, uint32_t category, int64_t start, int64_t dur,
                 uint64_t bytes, struct dct_attr attr)
{
    struct dct_slot s = {.kind = DCT_SPAN, .n_extra = 2, .domain = domain, .name = name, .t_ns = start};
    struct dct_span d = {dur, bytes};
    attr.category = category;
    put_slot(t, &s);
    put_slot(t, &d);
    put_slot(t, &attr);
}

/* MPI and file calls become tables of the run, and do not count twice inside their ranges. */
static void test_observed(void **state)
{
    (void)state;
    struct trace *t = calloc(1, sizeof *t);
    assert_non_null(t);
    make_trace(t);
    define(t, DCT_DOMAIN, 2, 0, DCT_DOMAIN_MPI);
    define(t, DCT_DOMAIN, 3, 0, DCT_DOMAIN_IO);
    define(t, DCT_STRING, 0, 4, "MPI_Iallreduce");
    define(t, DCT_STRING, 0, 5, "pread64");
    define(t, DCT_STRING, 0, 6, "/data/x");
    define(t, DCT_CATEGORY, 2, 4, "comm");
    define(t, DCT_CATEGORY, 2, 5, DCT_IN_FLIGHT);
    define(t, DCT_CATEGORY, 3, 6, "io");
    push(t, 1, 1, 2, 2000);
    push(t, 3, 3, 4096, 2100);
    span(t, 2, 4, 4, 2110, 20, 0, (struct dct_attr){.payload_type = DCT_PAYLOAD_MPI, .payload = 2});
    span(t, 2, 4, 5, 2110, 80, 512, (struct dct_attr){.payload_type = DCT_PAYLOAD_MPI, .payload = 2});
    pop(t, 2200);
    define(t, DCT_STRING, 0, 7, "data_load");
    define(t, DCT_CATEGORY, 1, 7, "data");
    push(t, 7, 7, 0, 2205);
    span(t, 3, 5, 6, 2210, 30, 60, (struct dct_attr){.payload_type = DCT_PAYLOAD_FILE, .payload = 6});
    pop(t, 2250);
    span(t, 3, 5, 6, 2300, 50, 100, (struct dct_attr){.payload_type = DCT_PAYLOAD_FILE, .payload = 6});
    pop(t, 2400);
    struct dct_slot s = {.kind = DCT_FILE, .n_extra = 6, .name = 6, .t_ns = 5};
    struct dct_io sums[DCT_N_IO] = {{.n = 3, .bytes = 30, .ns = 9, .max_ns = 4}, {.n = 1, .bytes = 7}, {.n = 0}};
    unsigned char bytes[96];
    memcpy(bytes, sums, sizeof bytes);
    put_slot(t, &s);
    for (int i = 0; i < 6; i++)
        put_slot(t, bytes + 16 * i);
    seal(t, 1, 0);
    const struct file f[] = {{"rank3/trace-9.dct", t->bytes, sizeof t->bytes}};
    struct run *r;
    struct dcr_err err = {0};
    assert_int_equal(read_back("x.tar", f, 1, &r, &err), 0);
    assert_int_equal(r->ranks[0].n_steps, 3);
    const struct step_record *last = &r->ranks[0].steps[2];
    assert_int_equal(last->part_ns[CAT_COMM], 100);
    assert_int_equal(last->part_ns[CAT_IO], 50);
    assert_int_equal(last->n_collectives, 1);
    assert_int_equal(last->bytes, 4096);
    assert_int_equal(r->n_mpi_calls, 1);
    assert_string_equal(r->mpi_calls[0].name, "MPI_Iallreduce");
    assert_int_equal(r->mpi_calls[0].sum.n, 1);
    assert_int_equal(r->mpi_calls[0].sum.ns, 20);
    assert_int_equal(r->mpi_calls[0].sum.bytes, 512);
    assert_int_equal(r->n_files, 1);
    assert_string_equal(r->files[0].name, "/data/x");
    assert_int_equal(last->part_ns[CAT_DATA], 45);
    assert_int_equal(r->ranks[0].file_ns, 89);
    assert_int_equal(r->ranks[0].file_short_ns, 9);
    assert_int_equal(r->ranks[0].loading_events_ns, 30);
    assert_int_equal(r->ranks[0].loading_short_ns,
                     3); /* of 9 in calls that were too short, 30 of 80 as of the longer */
    assert_int_equal(r->files[0].sum[DCT_IO_READ].n, 5);
    assert_int_equal(r->files[0].sum[DCT_IO_READ].bytes, 190);
    assert_int_equal(r->files[0].sum[DCT_IO_READ].max_ns, 50);
    assert_int_equal(r->files[0].sum[DCT_IO_WRITE].bytes, 7);
    run_free(r);
    free(t);
}

struct call {
    uint32_t name; /* 0 MPI_Init, 1 MPI_Bcast, 2 MPI_Send */
    int64_t start_ns, dur_ns;
};

/* returns  the run of a trace with these calls of one thread */
static struct run *run_with_calls(struct trace *t, const struct call *calls, size_t n, uint64_t dropped)
{
    static const char *const names[] = {"MPI_Init", "MPI_Bcast", "MPI_Send"};
    make_trace(t);
    define(t, DCT_DOMAIN, 2, 0, DCT_DOMAIN_MPI);
    define(t, DCT_CATEGORY, 2, 4, "comm");
    for (uint32_t i = 0; i < 3; i++)
        define(t, DCT_STRING, 0, 4 + i, names[i]);
    for (size_t i = 0; i < n; i++)
        span(t, 2, 4 + calls[i].name, 4, calls[i].start_ns, calls[i].dur_ns, 8, (struct dct_attr){0});
    seal(t, 1, dropped);
    const struct file f[] = {{"rank3/trace-9.dct", t->bytes, sizeof t->bytes}};
    struct run *r;
    struct dcr_err err = {0};
    assert_int_equal(read_back("x.tar", f, 1, &r, &err), 0);
    return r;
}

/* Time outside of MPI before a collective, since MPI_Init or the collective before. It is unknown if calls are missing
 * or their times are impossible. */
static void test_before_collectives(void **state)
{
    (void)state;
    enum { INIT, BCAST, SEND };
    const int64_t far = INT64_MAX / 4;
    const struct {
        struct call calls[8];
        uint64_t dropped;
        int64_t before_ns; /* -1: not known */
    } c[] = {{{{INIT, 0, 100}, {BCAST, 150, 10}, {SEND, 200, 30}, {BCAST, 300, 5}}, 0, 50 + 140 - 30},
             {{{BCAST, 150, 10}, {BCAST, 300, 5}}, 0, 140},
             {{{INIT, 0, 100}, {BCAST, 150, 10}}, 5, -1},
             {{{INIT, 0, 100},
               {SEND, 0, far},
               {SEND, 0, far},
               {SEND, 0, far},
               {SEND, 0, far},
               {SEND, 0, far},
               {BCAST, 900, 10}},
              0,
              0},
             {{{INIT, 0, 100}, {BCAST, INT64_MIN + 1, 10}}, 0, -1}};
    struct trace *t = calloc(1, sizeof *t);
    assert_non_null(t);
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        size_t n = 0;
        while (n < 8 && c[i].calls[n].dur_ns)
            n++;
        struct run *r = run_with_calls(t, c[i].calls, n, c[i].dropped);
        assert_int_equal(r->ranks[0].n_calls, c[i].before_ns >= 0);
        if (c[i].before_ns >= 0) {
            assert_string_equal(r->ranks[0].calls[0].name, "MPI_Bcast");
            assert_int_equal(r->ranks[0].calls[0].before_ns, c[i].before_ns);
        }
        run_free(r);
    }
    free(t);
}

/* The table has all steps, the trace only one of three: the table is used, and this is reported. */
static void test_trace_against_table(void **state)
{
    (void)state;
    struct trace *t = calloc(1, sizeof *t);
    assert_non_null(t);
    make_trace(t);
    seal(t, 1, 0);
    static const char rows[] =
        STEPS_HEADER "1,0,3,0,650,0,,300,0,200,0,0,16,4096,1\n1,1,3,1000,650,0,,300,0,200,0,0,16,4096,1\n";
    const struct file f[] = {{"rank3/trace-9.dct", t->bytes, sizeof t->bytes}, {"rank3/steps.csv", rows, 0}};
    struct run *r;
    assert_int_equal(read_back("x.tar", f, 2, &r, NULL), 0);
    assert_int_equal(r->ranks[0].source, STEPS_TRACE);
    assert_int_equal(r->ranks[0].steps[1].samples, 16); /* only the table knows */
    assert_null(has_gap(r, PHRASE_STEP_TIMES_DIFFER));
    run_free(r);
    static const char more[] =
        STEPS_HEADER "1,0,3,0,650,0,,300,0,200,0,0,16,1,1\n1,1,3,1000,650,0,,300,0,200,0,0,16,1,1\n"
                     "1,2,3,2000,650,0,,300,0,200,0,0,16,1,1\n1,3,3,3000,650,0,,300,0,200,0,0,16,1,1\n";
    const struct file g[] = {f[0], {"rank3/steps.csv", more, 0}};
    assert_int_equal(read_back("x.tar", g, 2, &r, NULL), 0);
    assert_int_equal(r->ranks[0].source, STEPS_CSV);
    assert_int_equal(r->ranks[0].n_steps, 4);
    assert_int_equal(has_gap(r, PHRASE_TRACE_HOLDS_SOME)[1].count, 2);
    run_free(r);
    free(t);
}

/* If one process of a rank never opened its window and another did, the latter's window counts, in either order. */
static void test_windows_of_processes(void **state)
{
    (void)state;
    static const struct dct_window never = {.until_ns = 900},
                                   open = {.until_ns = 900, .since_ns = 300, .first_ns = 300},
                                   later = {.until_ns = 900, .since_ns = 500, .first_ns = 500},
                                   closed = {.until_ns = 900, .first_ns = 100, .last_ns = 200, .closed_ns = 100};
    static const struct {
        const struct dct_window *list[2], *taken;
    } c[] = {{{&never, &open}, &open},     {{&open, &never}, &open},    {{&never, &closed}, &closed},
             {{&closed, &never}, &closed}, {{&later, &open}, &open},    {{&open, &later}, &open},
             {{&closed, &open}, &closed},  {{&open, &closed}, &closed}, {{&never, &never}, &never}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct run *r = run_new("windows.tar");
        struct dcr_err err = {0};
        for (int k = 0; k < 2; k++) {
            struct dcr_buf text = {0};
            const struct summary s = {
                .info = {.window = *c[i].list[k], .host = "n1"}, .trace_name = "", .notes = "", .ended_in = ""};
            summary_write(&s, &text);
            struct dcr_memory memory = {.bytes = text.data, .len = text.len};
            struct dcr_stream stream = dcr_stream_memory(&memory, "a.dct-summary");
            assert_int_equal(summary_member_read(r, 0, &stream, &err), 0);
            dcr_buf_release(&text);
        }
        assert_memory_equal(&run_rank_at(r, 0)->window, c[i].taken, sizeof *c[i].taken);
        run_free(r);
    }
}

static void test_rank_out_of_range(void **state)
{
    (void)state;
    struct run *r = run_new("far.tar");
    struct dcr_buf text = {0};
    const struct summary s = {.info = {.host = "n1"}, .trace_name = "", .notes = "", .ended_in = ""};
    summary_write(&s, &text);
    struct dcr_memory memory = {.bytes = text.data, .len = text.len};
    struct dcr_stream stream = dcr_stream_memory(&memory, "rank70000/a.dct-summary");
    struct dcr_err err = {0};
    assert_int_equal(summary_member_read(r, 70000, &stream, &err), DCR_FAIL);
    assert_non_null(strstr(err.text, "its rank 70000 is out of range"));
    dcr_buf_release(&text);
    run_free(r);
}

static void test_what_recorders_say(void **state)
{
    (void)state;
    struct recorder r = recorder_of("nothing recorded because switched off (--io off)");
    assert_int_equal(r.state, RECORDER_NOTHING);
    assert_string_equal(r.because, "switched off (--io off)");
    assert_false(r.is_no_gpu);
    assert_true(recorder_of("nothing recorded because the program used no GPU").is_no_gpu);
    r = recorder_of("absent: no NVIDIA driver");
    assert_int_equal(r.state, RECORDER_ABSENT);
    assert_string_equal(r.because, "no NVIDIA driver");
    r = recorder_of("ok: user mode only");
    assert_int_equal(r.state, RECORDER_OK);
    assert_string_equal(r.because, "");
    assert_int_equal(recorder_of("n/a because the kernel refuses").state, RECORDER_NOT_AVAILABLE);
    assert_int_equal(recorder_of("").state, RECORDER_UNSAID);
    r = recorder_of("libcupti.so was not found");
    assert_int_equal(r.state, RECORDER_OTHER);
    assert_string_equal(r.because, r.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rank_out_of_range),
        cmocka_unit_test(test_what_recorders_say),
        cmocka_unit_test(test_steps_of_two_ranks_in_one_file),
        cmocka_unit_test(test_overlapping_phases),
        cmocka_unit_test(test_in_flight_column),
        cmocka_unit_test(test_doubled_steps),
        cmocka_unit_test(test_zero_columns_are_not_facts),
        cmocka_unit_test(test_dates),
        cmocka_unit_test(test_thinned_monitor),
        cmocka_unit_test(test_monitors),
        cmocka_unit_test(test_series_is_decimated),
        cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_emulated_nodes),
        cmocka_unit_test(test_samples_count_no_node),
        cmocka_unit_test(test_metadata_of_earlier_users),
        cmocka_unit_test(test_batch_label),
        cmocka_unit_test(test_manifest_at_the_end),
        cmocka_unit_test(test_manifest_alone),
        cmocka_unit_test(test_text_is_cleaned),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_spans_while_reading),
        cmocka_unit_test(test_observed),
        cmocka_unit_test(test_before_collectives),
        cmocka_unit_test(test_trace_against_table),
        cmocka_unit_test(test_windows_of_processes),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
