/* test_sources.c - the sources of samples: rows that parse, counters that do not run backwards, and failure that is
 * reported instead of shown as 0. */
#include "collect/monitor/clock_server.h"
#include "collect/monitor/sampler.h"
#include "collect/monitor/source.h"
#include "lib/base/mono.h"
#include "lib/base/csv.h"
#include "lib/base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static char spool[] = "/tmp/dcr-test-XXXXXX";

static int make_spool(void **state)
{
    (void)state;
    return mkdtemp(spool) ? 0 : -1;
}

static int remove_spool(void **state)
{
    (void)state;
    return dcr_remove_tree(spool, NULL);
}

static void burn(int64_t ms)
{
    struct timespec t;
    volatile double x = 1;
    do {
        for (int i = 0; i < 100000; i++)
            x = x * 1.0000001;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while ((int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}

struct table {
    struct dcr_csv *csv;
    struct dcr_stream s;
    int fd;
};

static void open_table(struct table *t, const char *name)
{
    char path[256];
    struct dcr_err err = {0};
    snprintf(path, sizeof path, "%s/%s", spool, name);
    t->fd = open(path, O_RDONLY);
    assert_true(t->fd >= 0);
    t->s = dcr_stream_fd(&t->fd, name);
    assert_int_equal(dcr_csv_open(&t->csv, &t->s, &err), 0);
}

static void close_table(struct table *t)
{
    dcr_csv_close(t->csv);
    close(t->fd);
}

static void a_busy_child_is_seen(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        burn(600);
        _exit(0);
    }
    struct source_config config = {.host_dir = "host-x", .rank = 2, .pid = child};
    struct sampler *s = NULL;
    struct dcr_err err = {0};
    assert_int_equal(sampler_start(&s, spool, &config, 20, &err), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    json_t *monitors = json_object();
    sampler_stop(s, monitors);
    assert_string_equal(json_string_value(json_object_get(monitors, "cpu")), "ok");
    const char *gpu = json_string_value(json_object_get(monitors, "gpu"));
    assert_true(strcmp(gpu, "ok") == 0 || strncmp(gpu, "absent: ", 8) == 0 || strncmp(gpu, "partial: ", 9) == 0);
    json_decref(monitors);

    struct table t;
    open_table(&t, "rank2/process_monitor.csv");
    int64_t cpu = 0, last = -1, value = 0, user, system;
    int n = 0;
    while (dcr_csv_next(t.csv, &err) == 0) {
        n++;
        assert_int_equal(dcr_csv_int(t.csv, dcr_csv_column(t.csv, "rank"), &value, &err), 0);
        assert_int_equal(value, 2);
        assert_int_equal(dcr_csv_int(t.csv, dcr_csv_column(t.csv, "user_ns"), &user, &err), 0);
        assert_int_equal(dcr_csv_int(t.csv, dcr_csv_column(t.csv, "system_ns"), &system, &err), 0);
        cpu = user + system;
        assert_true(cpu >= last);
        last = cpu;
    }
    close_table(&t);
    assert_true(n >= 5);
    assert_true(cpu >= 300000000); /* 600 ms burnt, counted in ticks of 10 ms, the last sample may be early */

    open_table(&t, "host-x/cpu_monitor.csv");
    double percent, highest = 0;
    int n_empty = 0;
    n = 0;
    while (dcr_csv_next(t.csv, &err) == 0) {
        int rc = dcr_csv_double(t.csv, dcr_csv_column(t.csv, "cpu_percent"), &percent, &err);
        n_empty += rc == DCR_END;
        if (rc == 0) {
            assert_true(percent >= 0 && percent <= 100);
            highest = percent > highest ? percent : highest;
        }
        assert_int_equal(dcr_csv_double(t.csv, dcr_csv_column(t.csv, "memory_used_gb"), &percent, &err), 0);
        assert_true(percent > 0);
        n++;
    }
    close_table(&t);
    assert_true(n >= 5);
    assert_true(n_empty >= 1); /* there is no share before there are two readings */
    assert_true(highest > 0);
}

/* Samples come at 20 ms, then at 40, 80 ...: a waiting program is not sampled fifty times a second. */
static void an_idle_program_is_left_alone(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        for (;;)
            pause();
    struct source_config config = {.rank = 5, .pid = child};
    struct sampler *s = NULL;
    struct dcr_err err = {0};
    assert_int_equal(sampler_start(&s, spool, &config, 20, &err), 0);
    usleep(2000000);
    sampler_stop(s, NULL);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    struct table t;
    int n = 0;
    open_table(&t, "rank5/process_monitor.csv");
    while (dcr_csv_next(t.csv, &err) == 0)
        n++;
    close_table(&t);
    assert_in_range(n, 3, 25);
}

/* Writes 1 MB in a child that it waits for and 2 MB by itself, with a sample between; ends when it may. */
static void write_in_a_tree(int may_end)
{
    enum { MB = 1000000 };
    static char bytes[MB];
    char end;
    int out = open("/dev/null", O_WRONLY);
    pid_t child = fork();
    if (child == 0) {
        ssize_t n = write(out, bytes, MB);
        usleep(300000);
        _exit(n != MB);
    }
    waitpid(child, NULL, 0);
    ssize_t n = write(out, bytes, MB) + write(out, bytes, MB);
    (void)n;
    if (read(may_end, &end, 1) < 0)
        _exit(1);
    _exit(0);
}

/* The kernel adds a child's bytes to its parent once the parent has waited for it: 3 MB, not 4. The last totals are
 * read from the zombie. */
static void what_a_tree_wrote_counts_once(void **state)
{
    (void)state;
    int may_end[2];
    siginfo_t info;
    assert_int_equal(pipe(may_end), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        write_in_a_tree(may_end[0]);
    struct source_config config = {.rank = 3, .pid = child};
    struct sampler *s = NULL;
    struct dcr_err err = {0};
    assert_int_equal(sampler_start(&s, spool, &config, 20, &err), 0);
    usleep(600000);
    assert_int_equal(write(may_end[1], "", 1), 1);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    sampler_stop(s, NULL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    struct table t;
    open_table(&t, "rank3/process_monitor.csv");
    int64_t chars = 0, calls = 0;
    while (dcr_csv_next(t.csv, &err) == 0) {
        assert_int_equal(dcr_csv_int(t.csv, dcr_csv_column(t.csv, "write_chars"), &chars, &err), 0);
        assert_int_equal(dcr_csv_int(t.csv, dcr_csv_column(t.csv, "write_calls"), &calls, &err), 0);
        assert_in_range(chars, 0, 3000000);
    }
    close_table(&t);
    assert_int_equal(chars, 3000000);
    assert_int_equal(calls, 3);
    close(may_end[0]);
    close(may_end[1]);
}

/* One child after the other with 50 MB each, which the parent waits for only at the end. There are no more than two
 * processes and one child's memory at once, and no row for the time after the last one ended. */
static void who_has_ended_has_no_memory(void **state)
{
    (void)state;
    enum { N = 4, BYTES = 50000000 };
    siginfo_t info;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (int i = 0; i < N; i++) {
            pid_t inner = fork();
            if (inner == 0) {
                volatile char *bytes = malloc(BYTES);
                for (int k = 0; bytes && k < BYTES; k += 512)
                    bytes[k] = 1;
                usleep(400000);
                _exit(0);
            }
            waitid(P_PID, (id_t)inner, &info, WEXITED | WNOWAIT);
        }
        _exit(0);
    }
    struct source_config config = {.rank = 4, .pid = child};
    struct sampler *s = NULL;
    struct dcr_err err = {0};
    assert_int_equal(sampler_start(&s, spool, &config, 20, &err), 0);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    int64_t ended_ns = dcr_mono_ns();
    /* It stays a zombie. The last 400 ms were idle, so the next sample comes within 320 ms. */
    usleep(600000);
    sampler_stop(s, NULL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    struct table t;
    open_table(&t, "rank4/process_monitor.csv");
    int64_t rss = 0, most_rss = 0, n = 0, most = 0, t_ns = 0;
    while (dcr_csv_next(t.csv, &err) == 0) {
        assert_int_equal(dcr_csv_int(t.csv, dcr_csv_column(t.csv, "rss_bytes"), &rss, &err), 0);
        assert_int_equal(dcr_csv_int(t.csv, dcr_csv_column(t.csv, "processes"), &n, &err), 0);
        assert_int_equal(dcr_csv_int(t.csv, dcr_csv_column(t.csv, "t_ns"), &t_ns, &err), 0);
        most_rss = rss > most_rss ? rss : most_rss;
        most = n > most ? n : most;
    }
    close_table(&t);
    assert_int_equal(most, 2);
    assert_in_range(most_rss, BYTES, 2 * BYTES - 1);
    assert_true(t_ns < ended_ns + 400000000);
}

static void disk_and_net_have_rows_or_reasons(void **state)
{
    (void)state;
    struct source_config config = {.host_dir = "host-y", .rank = 0, .pid = getpid()};
    struct sampler *s = NULL;
    struct dcr_err err = {0};
    assert_int_equal(sampler_start(&s, spool, &config, 20, &err), 0);
    json_t *monitors = json_object();
    sampler_stop(s, monitors);
    static const char *const names[] = {"disk", "net"};
    for (int i = 0; i < 2; i++) {
        const char *state_text = json_string_value(json_object_get(monitors, names[i]));
        char path[64];
        struct table t;
        int64_t in, out;
        snprintf(path, sizeof path, "host-y/%s_monitor.csv", names[i]);
        if (strcmp(state_text, "ok") != 0) {
            print_message("%s: %s\n", names[i], state_text);
            continue;
        }
        open_table(&t, path);
        while (dcr_csv_next(t.csv, &err) == 0) {
            assert_true(dcr_csv_text(t.csv, 2)[0] != '\0');
            assert_int_equal(dcr_csv_int(t.csv, 3, &in, &err), 0);
            assert_int_equal(dcr_csv_int(t.csv, 4, &out, &err), 0);
            assert_true(in >= 0 && out >= 0);
        }
        close_table(&t);
    }
    json_decref(monitors);
}

static const char *below_root(const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/fixture/%s", spool, name);
    return path;
}

static void put_below_root(const char *name, const char *text)
{
    char folder[300];
    snprintf(folder, sizeof folder, "%s", below_root(name));
    *strrchr(folder, '/') = '\0';
    assert_int_equal(dcr_mkdirs(folder, NULL), 0);
    FILE *f = fopen(below_root(name), "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* A host with an InfiniBand port, IP over it, an Ethernet port of RDMA, and a bridge. */
static void make_root(void)
{
    put_below_root("proc/net/dev",
                   "Inter-|   Receive          |  Transmit\n face |bytes packets|bytes packets\n"
                   "    lo: 900 1 0 0 0 0 0 0 900 1 0 0 0 0 0 0\n  eth0: 100 1 0 0 0 0 0 0 200 1 0 0 0 0 0 0\n"
                   "  veth: 10 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0\n"
                   "   ib0: 50 1 0 0 0 0 0 0 60 1 0 0 0 0 0 0\n   br0: 70 1 0 0 0 0 0 0 80 1 0 0 0 0 0 0\n"
                   "  eth1: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    put_below_root("sys/class/net/lo/type", "772\n");
    put_below_root("sys/class/net/eth0/device/vendor", "0x15b3\n");
    put_below_root("sys/class/net/eth0/type", "1\n");
    put_below_root("sys/class/net/ib0/device/vendor", "0x15b3\n");
    put_below_root("sys/class/net/ib0/type", "32\n");
    put_below_root("sys/class/net/br0/type", "1\n");
    put_below_root("sys/class/infiniband/mlx5_1/ports/1/link_layer", "Ethernet\n");
    put_below_root("sys/class/infiniband/mlx5_1/ports/1/counters/port_xmit_data", "25\n");
    put_below_root("sys/class/infiniband/mlx5_1/ports/1/counters/port_rcv_data", "30\n");
    put_below_root("sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n");
    put_below_root("sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "5000000000\n");
    put_below_root("sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "1000\n");
    /* A 32-bit counter at its largest value: further bytes are unknown. */
    put_below_root("sys/class/infiniband/mlx4_0/ports/1/counters/port_xmit_data", "4294967295\n");
    put_below_root("sys/class/infiniband/mlx4_0/ports/1/counters/port_rcv_data", "1\n");
    put_below_root("sys/class/infiniband/efa_0/ports/1/link_layer", "Ethernet\n"); /* has no such counters */
}

static void ports_of_infiniband_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t received, sent, is_on_wire;
    } want[] = {{"lo", 900, 900, 0},      {"eth0", 100, 200, 1}, {"veth", 10, 20, 1},
                {"ib0", 50, 60, 0},       {"br0", 70, 80, 0},    {"mlx5_0/1", 4000, 20000000000, 1},
                {"mlx5_1/1", 120, 100, 1}};
    enum { N = sizeof want / sizeof *want };
    make_root();
    char root[300];
    snprintf(root, sizeof root, "%s/fixture", spool);
    struct source_config config = {.host_dir = "host-ib", .root = root};
    struct outputs *o = outputs_open(spool, config.host_dir);
    struct dcr_err err = {0};
    void *net = source_configure(&source_net, &config, &err);
    assert_non_null(net);
    assert_int_equal(source_sample(&source_net, net, &(struct tick){.mono_ns = 7}, o, &err), 0);
    put_below_root("sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "5000000001\n");
    assert_int_equal(source_sample(&source_net, net, &(struct tick){.mono_ns = 8}, o, &err), 0);
    source_destroy(&source_net, net);
    outputs_close(o);

    struct table t;
    open_table(&t, "host-ib/net_monitor.csv");
    for (int i = 0; i < 2 * N; i++) {
        int64_t value;
        assert_int_equal(dcr_csv_next(t.csv, &err), 0);
        assert_string_equal(dcr_csv_text(t.csv, 2), want[i % N].name);
        assert_int_equal(dcr_csv_int(t.csv, 3, &value, &err), 0);
        assert_int_equal(value, want[i % N].received);
        assert_int_equal(dcr_csv_int(t.csv, 4, &value, &err), 0);
        assert_int_equal(value, want[i % N].sent + (i == N + 5 ? 4 : 0));
        assert_int_equal(dcr_csv_int(t.csv, 5, &value, &err), 0);
        assert_int_equal(value, want[i % N].is_on_wire);
    }
    assert_int_equal(dcr_csv_next(t.csv, &err), DCR_END);
    close_table(&t);
}

/* ---- counters of the memory controllers, as the kernel describes them in sysfs ---- */

static struct {
    uint32_t type;
    uint64_t config;
    int cpu;
} opened[16];
static int n_opened, most_opened;

/* Each counter reads 1000 times its number, and was counted for half of the time. */
static int open_made_counter(uint32_t type, uint64_t config, int cpu)
{
    if (n_opened == most_opened) {
        errno = EACCES;
        return -1;
    }
    opened[n_opened].type = type;
    opened[n_opened].config = config;
    opened[n_opened++].cpu = cpu;
    FILE *f = tmpfile();
    assert_non_null(f);
    for (int i = 0; i < 2; i++) { /* two samples */
        const uint64_t reading[3] = {(uint64_t)n_opened * 1000 * (uint64_t)(i + 1), 20, 10};
        assert_int_equal(fwrite(reading, sizeof reading, 1, f), 1);
    }
    rewind(f);
    int fd = dup(fileno(f));
    fclose(f);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

/* Names and numbers as of an Ice Lake server: events of the channels on one processor of each socket. */
static void put_channel(const char *unit, const char *type)
{
    const char *const files[][2] = {{"type", type},
                                    {"cpumask", "0,28\n"},
                                    {"format/event", "config:0-7\n"},
                                    {"format/umask", "config:8-15,35\n"},
                                    {"events/cas_count_read", "event=0x04,umask=0x10f\n"},
                                    {"events/cas_count_read.scale", "6.103515625e-5\n"},
                                    {"events/cas_count_read.unit", "MiB\n"},
                                    {"events/cas_count_write", "event=0x04,umask=0x30\n"},
                                    {"events/cas_count_write.scale", "6.103515625e-5\n"},
                                    {"events/cas_count_write.unit", "MiB\n"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char name[200];
        snprintf(name, sizeof name, "sys/bus/event_source/devices/%s/%s", unit, files[i][0]);
        put_below_root(name, files[i][1]);
    }
}

static int configure_memory(void **memory, int most, struct dcr_err *err)
{
    static char root[300];
    snprintf(root, sizeof root, "%s/fixture", spool);
    struct source_config config = {.host_dir = "host-imc", .root = root, .open_counter = open_made_counter};
    n_opened = 0;
    most_opened = most;
    *err = (struct dcr_err){0};
    *memory = source_configure(&source_memory, &config, err);
    return *memory ? DCR_OK : err->grade;
}

static void memory_controllers_are_read(void **state)
{
    (void)state;
    struct dcr_err err;
    void *memory;
    assert_int_equal(configure_memory(&memory, 16, &err), DCR_FAIL);
    assert_string_equal(err.text, "this kernel names no counter of the memory controllers");
    put_channel("uncore_imc_0", "14\n");
    put_channel("uncore_imc_1", "15\n");
    put_below_root("sys/bus/event_source/devices/uncore_imc_free_running_0/events/read", "event=0xff,umask=0x20\n");
    put_below_root("sys/bus/event_source/devices/uncore_imc_free_running_0/events/write", "event=0xff,umask=0x30\n");
    struct outputs *o = outputs_open(spool, "host-imc");
    assert_int_equal(configure_memory(&memory, 16, &err), 0);
    assert_int_equal(n_opened, 8); /* two channels, two sockets, reads and writes */
    uint64_t reads = 0, writes = 0;
    for (int i = 0; i < n_opened; i++) {
        int is_write = opened[i].config == 0x3004;
        assert_true(opened[i].type == 14 || opened[i].type == 15);
        assert_true(opened[i].cpu == 0 || opened[i].cpu == 28);
        assert_true(is_write || opened[i].config == (0xf04 | 1ULL << 35)); /* the ninth bit of umask is bit 35 */
        *(is_write ? &writes : &reads) += (uint64_t)(i + 1);
    }
    for (int i = 1; i <= 2; i++)
        assert_int_equal(source_sample(&source_memory, memory, &(struct tick){.mono_ns = i}, o, &err), 0);
    /* no reading */
    assert_int_equal(source_sample(&source_memory, memory, &(struct tick){.mono_ns = 3}, o, &err), DCR_FAIL);
    source_destroy(&source_memory, memory);
    outputs_close(o);
    struct table t;
    open_table(&t, "host-imc/memory_monitor.csv");
    for (int i = 1; i <= 2; i++) {
        int64_t value;
        assert_int_equal(dcr_csv_next(t.csv, &err), 0);
        assert_int_equal(dcr_csv_int(t.csv, 2, &value, &err), 0);
        assert_int_equal(value, reads * 1000 * (uint64_t)i * 2 * 64); /* counted half of the time, 64 bytes each */
        assert_int_equal(dcr_csv_int(t.csv, 3, &value, &err), 0);
        assert_int_equal(value, writes * 1000 * (uint64_t)i * 2 * 64);
    }
    assert_int_equal(dcr_csv_next(t.csv, &err), DCR_END);
    close_table(&t);
}

static void memory_controllers_that_cannot_be_read(void **state)
{
    (void)state;
    struct dcr_err err;
    void *memory;
    put_channel("uncore_imc_0", "14\n");
    put_below_root("sys/bus/event_source/devices/uncore_imc_0/cpumask", "0-2,5\n");
    put_below_root("sys/bus/event_source/devices/uncore_imc_1/cpumask", "7\n");
    assert_int_equal(configure_memory(&memory, 16, &err), 0);
    assert_int_equal(n_opened, 10);
    int sums[2] = {0};
    for (int i = 0; i < n_opened; i++)
        sums[opened[i].type == 15] += opened[i].cpu;
    assert_int_equal(sums[0], 2 * (0 + 1 + 2 + 5));
    assert_int_equal(sums[1], 2 * 7);
    source_destroy(&source_memory, memory);
    assert_int_equal(configure_memory(&memory, 3, &err), DCR_FAIL); /* all or none */
    assert_non_null(strstr(err.text, "cannot be read: it is not permitted (kernel.perf_event_paranoid"));
    static const char *const wrong[][2] = {{"format/event", "config1:0-7\n"},
                                           {"format/event", "config:0-1\n"},
                                           {"format/event", "config:7-0\n"},
                                           {"format/event", "config:0-64\n"},
                                           {"format/event", "config:\nx"},
                                           {"events/cas_count_read", "event=four\n"},
                                           {"events/cas_count_read", "unknown=1\n"},
                                           {"events/cas_count_read.unit", "Joules\n"},
                                           {"events/cas_count_read.scale", "0\n"},
                                           {"cpumask", "x\n"},
                                           {"cpumask", "3-1\n"},
                                           {"cpumask", "0-\n"},
                                           {"cpumask", "\n"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char name[200];
        put_channel("uncore_imc_0", "14\n");
        snprintf(name, sizeof name, "sys/bus/event_source/devices/uncore_imc_0/%s", wrong[i][0]);
        put_below_root(name, wrong[i][1]);
        assert_int_equal(configure_memory(&memory, 16, &err), DCR_FAIL);
        assert_non_null(strstr(err.text, "has an unknown form"));
    }
}

static void a_full_disk_is_said(void **state)
{
    (void)state;
    struct outputs *o = outputs_open("/dev", NULL);
    struct dcr_err err = {0};
    assert_non_null(o);
    if (access("/dev/full", W_OK) != 0) {
        outputs_close(o);
        print_message("skipped: /dev/full is not writable\n");
        skip();
    }
    assert_int_equal(outputs_rows(o, "full", "a,b,", "1,2\n", 4, &err), DCR_FAIL);
    assert_non_null(strstr(err.text, "No space left"));
    outputs_close(o);
}

static void a_row_that_has_no_room_leaves_none_of_it(void **state)
{
    (void)state;
    struct outputs *o = outputs_open(spool, NULL);
    struct dcr_err err = {0};
    assert_non_null(o);
    assert_int_equal(outputs_rows(o, "rows.csv", "a,b,", "1,2\n", 4, &err), DCR_OK);
    /* A file-size limit stands for a full disk: write() fails the same way. */
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 10;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int rc = outputs_rows(o, "rows.csv", "a,b,", "3,4\n5,6\n", 8, &err);
    int rc_new = outputs_rows(o, "new.csv", "a,b,c,d,e,f,", "1,2,3,4,5,6\n", 12, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(rc, DCR_FAIL);
    assert_int_equal(rc_new, DCR_FAIL);
    outputs_close(o);
    char path[64], text[32] = "";
    snprintf(path, sizeof path, "%s/rows.csv", spool);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fread(text, 1, sizeof text - 1, f), 8);
    fclose(f);
    assert_string_equal(text, "a,b\n1,2\n");
    snprintf(path, sizeof path, "%s/new.csv", spool);
    assert_int_not_equal(access(path, F_OK), 0); /* nor half a head */
}

/* A month with a sample every 20 s, of which the bound leaves room for about 900. */
static void a_month_stays_bounded(void **state)
{
    (void)state;
    enum { BOUND = 32 << 10, STEP_S = 20, N = 31 * 86400 / STEP_S };
    struct outputs *o = outputs_open(spool, NULL);
    struct dcr_err err = {0};
    char row[200], path[200];
    assert_non_null(o);
    outputs_bound(o, BOUND);
    snprintf(path, sizeof path, "%s/month.csv", spool);
    for (int64_t i = 0; i < N; i++) {
        /* A quarter of the time at 80 %, changing every six samples, else at 0. Two rows a sample. */
        int n = 0;
        for (int k = 0; k < 2; k++)
            n += snprintf(row + n, sizeof row - (size_t)n, "%lld,%lld,\"a,%d\",%d,%lld\n", (long long)i * STEP_S,
                          (long long)i * STEP_S * 1000000000, k, i / 6 % 4 ? 0 : 80, (long long)i * 10);
        assert_int_equal(outputs_rows(o, "month.csv", "timestamp,t_ns,device,cpu_percent,count,", row, (size_t)n, &err),
                         0);
        struct stat st;
        if (i % 1000 == 0)
            assert_true(stat(path, &st) == 0 && st.st_size <= BOUND);
    }
    outputs_close(o);
    struct table t;
    int64_t t_ns, last_ns = -1, count, last = -1, samples, sum = 0, newest = (int64_t)(N - 1) * STEP_S, n_whole = 0,
                  n = 0;
    double percent, mean = 0;
    open_table(&t, "month.csv");
    for (; dcr_csv_next(t.csv, &err) == 0; n++) {
        assert_int_equal(dcr_csv_int(t.csv, 1, &t_ns, &err), 0);
        assert_int_equal(dcr_csv_double(t.csv, 3, &percent, &err), 0);
        assert_int_equal(dcr_csv_int(t.csv, 4, &count, &err), 0);
        assert_int_equal(dcr_csv_int(t.csv, dcr_csv_column(t.csv, "samples"), &samples, &err), 0);
        assert_string_equal(dcr_csv_text(t.csv, 2), n % 2 ? "a,1" : "a,0");
        if (n % 2) { /* the same sample */
            assert_int_equal(t_ns, last_ns);
            continue;
        }
        assert_true(n == 0 ? t_ns == 0 : t_ns > last_ns);
        assert_int_equal(count, t_ns / STEP_S / 100000000);
        assert_int_equal(samples, n == 0 ? 1 : count / 10 - last / 10);
        /* No gap is longer than half the time since. */
        assert_true(t_ns - last_ns <= (newest * 1000000000 - t_ns) / 2 + (int64_t)3 * STEP_S * 1000000000);
        n_whole = samples == 1 ? n_whole + 1 : 0;
        sum += samples;
        mean += percent * (double)samples;
        last_ns = t_ns;
        last = count;
    }
    close_table(&t);
    assert_int_equal(last, (int64_t)(N - 1) * 10);
    assert_int_equal(sum, N);
    assert_true(mean / (double)sum > 19.9 && mean / (double)sum < 20.1);
    assert_true(n_whole >= 150); /* the newest are all there */
}

/* A network that answers only when the test permits it. */
static sem_t is_connecting, may_answer;
static int is_slow;

int connect(int fd, const struct sockaddr *address, socklen_t n)
{
    if (!is_slow)
        return (int)syscall(SYS_connect, fd, address, n);
    sem_post(&is_connecting);
    sem_wait(&may_answer);
    errno = EHOSTUNREACH;
    return -1;
}

/* This would wait forever if samples waited for the network. */
static void a_slow_network_holds_up_nobody(void **state)
{
    (void)state;
    char path[200];
    snprintf(path, sizeof path, "%s/" CLOCK_SERVER_FILE, spool);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("{\"host\": \"elsewhere\", \"boot_id\": \"x\", \"addresses\": [\"127.0.0.1 1\"], "
          "\"word\": \"00112233445566778899aabbccddeeff\"}",
          f);
    fclose(f);
    assert_int_equal(sem_init(&is_connecting, 0, 0), 0);
    assert_int_equal(sem_init(&may_answer, 0, 0), 0);
    struct source_config config = {.host_dir = "host-x", .rank = 1, .clock_folder = spool};
    struct outputs *out = outputs_open(spool, config.host_dir);
    is_slow = 1;
    for (int is_abandoned = 0; is_abandoned < 2; is_abandoned++) {
        struct dcr_err err = {0};
        struct tick now = sampler_now();
        void *clock = source_configure(&source_clock, &config, &err);
        assert_non_null(clock);
        for (int i = 0; i < 3; i++)
            assert_int_equal(source_sample(&source_clock, clock, &now, out, &err), DCR_END);
        sem_wait(&is_connecting);
        now.is_last = 1;
        if (!is_abandoned)
            sem_post(&may_answer);
        assert_int_equal(source_sample(&source_clock, clock, &now, out, &err), DCR_FAIL);
        assert_non_null(
            strstr(err.text, is_abandoned ? "the run ended before the host of rank 0" : "can be asked for the time"));
        source_destroy(&source_clock, clock);
        if (is_abandoned)
            sem_post(&may_answer);
    }
    is_slow = 0;
    outputs_close(out);
}

/* Number of listening sockets of this process. */
static int n_listening(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++) {
        int is = 0;
        socklen_t size = sizeof is;
        n += getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is, &size) == 0 && is;
    }
    return n;
}

/* The file of the meeting folder, once it names addresses or the time is over. gives */
static json_t *read_address(int wants_addresses)
{
    char path[200];
    snprintf(path, sizeof path, "%s/" CLOCK_SERVER_FILE, spool);
    for (int i = 0;; i++) {
        json_t *o = json_load_file(path, 0, NULL);
        if (!wants_addresses || i == 200 || json_array_size(json_object_get(o, "addresses")))
            return o;
        json_decref(o);
        usleep(50000);
    }
}

static int connect_numeric(const char *text)
{
    char host[100], port[16];
    struct addrinfo want = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *found = NULL;
    assert_int_equal(sscanf(text, "%99s %15s", host, port), 2);
    assert_int_equal(getaddrinfo(host, port, &want, &found), 0);
    int fd = socket(found->ai_family, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, found->ai_addr, found->ai_addrlen), 0);
    freeaddrinfo(found);
    return fd;
}

/* Nothing listens until another host asks. Then every address answers clients that know the word, and no others. */
static void the_time_is_told_to_hosts_of_the_job(void **state)
{
    (void)state;
    struct clock_server *server = NULL;
    struct dcr_err err = {0};
    struct stat st;
    char path[200];
    assert_int_equal(clock_server_start(&server, spool, &err), 0);
    usleep(300000);
    assert_int_equal(n_listening(), 0);
    snprintf(path, sizeof path, "%s/" CLOCK_SERVER_FILE, spool);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    snprintf(path, sizeof path, "%s/" CLOCK_ASKED_FILE, spool);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    json_t *o = read_address(1);
    const json_t *list = json_object_get(o, "addresses");
    const char *hex = json_string_value(json_object_get(o, "word"));
    assert_true(json_array_size(list) > 0);
    assert_int_equal(n_listening(), json_array_size(list));
    for (size_t i = 0; i < json_array_size(list); i++)
        for (int knows = 0; knows < 2; knows++) {
            struct clock_request q = {.sent_ns = 7};
            struct clock_answer a = {0};
            for (int k = 0; knows && k < CLOCK_WORD_BYTES; k++) {
                char two[3] = {hex[2 * k], hex[2 * k + 1], '\0'};
                q.word[k] = (unsigned char)strtoul(two, NULL, 16);
            }
            int fd = connect_numeric(json_string_value(json_array_get(list, i)));
            assert_int_equal(send(fd, &q, sizeof q, MSG_NOSIGNAL), sizeof q);
            assert_int_equal(recv(fd, &a, sizeof a, MSG_WAITALL), knows ? sizeof a : 0);
            assert_int_equal(a.sent_ns, knows ? 7 : 0);
            close(fd);
        }
    json_decref(o);
    clock_server_stop(server);
    assert_int_not_equal(access(path, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_busy_child_is_seen),
        cmocka_unit_test(an_idle_program_is_left_alone),
        cmocka_unit_test(what_a_tree_wrote_counts_once),
        cmocka_unit_test(who_has_ended_has_no_memory),
        cmocka_unit_test(disk_and_net_have_rows_or_reasons),
        cmocka_unit_test(ports_of_infiniband_are_read),
        cmocka_unit_test(memory_controllers_are_read),
        cmocka_unit_test(memory_controllers_that_cannot_be_read),
        cmocka_unit_test(a_full_disk_is_said),
        cmocka_unit_test(a_row_that_has_no_room_leaves_none_of_it),
        cmocka_unit_test(a_month_stays_bounded),
        cmocka_unit_test(a_slow_network_holds_up_nobody),
        cmocka_unit_test(the_time_is_told_to_hosts_of_the_job),
    };
    return cmocka_run_group_tests(tests, make_spool, remove_spool);
}
