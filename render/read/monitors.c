/* monitors.c - samples of nodes and processes, reduced while reading. A cell that cannot be read is a gap, never a
 * zero, and never ends the report. */
#include "render/read/members.h"

#include "lib/base/csv.h"
#include "render/import/text/date.h"

#include <math.h>
#include <string.h>

struct table {
    struct run *run;
    struct dcr_csv *csv;
    const char *name;            /* of the member, for gaps */
    long n_bad_cells, n_untimed; /* n_untimed: rows without a time, whose samples are left out */
};

/* Time of a row in seconds on the file's own clock: t_ns if present, else timestamp, which other tools write as a date.
 * NAN = neither. */
static double row_time(struct table *t)
{
    double when;
    int stamp = dcr_csv_column(t->csv, "timestamp");
    if (dcr_csv_double(t->csv, dcr_csv_column(t->csv, "t_ns"), &when, NULL) == 0)
        return when / 1e9;
    if (dcr_csv_double(t->csv, stamp, &when, NULL) == 0)
        return when;
    if ((when = date_seconds(dcr_csv_text(t->csv, stamp))) >= 0)
        return when;
    t->n_untimed++;
    return NAN;
}

static int cell(struct table *t, const char *column, double *out)
{
    int rc = dcr_csv_double(t->csv, dcr_csv_column(t->csv, column), out, NULL);
    t->n_bad_cells += rc < 0;
    return rc == 0;
}

/* A row of a file that the collector thinned stands for more than one sample. */
static void put_sample(struct table *t, struct sampled *s, double when, double v)
{
    double n;
    sampled_add(t->run, s, when, v);
    if (!cell(t, "samples", &n) || !(n > 1) || n > 1e9 || !isfinite(when) || !isfinite(v))
        return;
    s->n += (int)n - 1;
    s->n_zero += v == 0 ? (int)n - 1 : 0;
    s->sum += v * (n - 1);
}

static void add(struct table *t, struct sampled *s, const char *column, double when)
{
    double v;
    if (!cell(t, column, &v) || v < 0)
        return;
    if (strncmp(column, "utilization", 11) == 0 && v > 100) /* of 100 */
        t->n_bad_cells++;
    else
        put_sample(t, s, when, v);
}

/* Growth of a counter from its first to its last reading, -1 when not measured. */
struct counter {
    double first, last;
    int n;
};

static void count(struct table *t, struct counter *k, const char *column)
{
    double v;
    if (!cell(t, column, &v) || v < 0)
        return;
    if (k->n++ == 0)
        k->first = v;
    k->last = v;
}

static int64_t growth(const struct counter *k)
{
    double d = k->last - k->first;
    return k->n == 0 || !(d >= 0) || d > 9e18 ? -1 : (int64_t)llround(d);
}

/* Readings closer than this are taken together, because a few microseconds give no rate. */
#define RATE_MIN_S 0.02

/* A counter as growth per second between two readings, times `scale`. */
struct rate {
    double t, v;
    int has;
    double most; /* it cannot grow by more than this in a second; 0 = no limit */
};

static void add_rate(struct table *t, struct rate *k, struct sampled *s, const char *column, double when, double scale)
{
    double v;
    if (!cell(t, column, &v) || !(v >= 0) || !isfinite(when))
        return;
    if (k->has && when - k->t < RATE_MIN_S && v >= k->v)
        return;
    /* A row has the time at which its sampling began; on a busy host its counters were read later. Growth above the
     * limit came after that time, so it belongs to the next interval. */
    double most = k->has && k->most > 0 && when > k->t ? k->v + (when - k->t) * k->most : v;
    double then = k->has && v >= k->v && most < v ? most : v;
    /* A counter that went back has wrapped or started again. */
    if (k->has && when > k->t && v >= k->v)
        put_sample(t, s, when, (then - k->v) / (when - k->t) * scale);
    *k = (struct rate){when, then, 1, k->most};
}

struct span {
    double first, last;
    int n;
};

static void span_add(struct span *s, double t)
{
    if (!isfinite(t))
        return;
    if (s->n++ == 0)
        s->first = t;
    s->last = t;
}

static double seconds(const struct span *s)
{
    return s->n > 1 && s->last > s->first ? s->last - s->first : 0;
}

/* The next row: 0, DCR_END or DCR_FATAL; incomplete rows are counted and skipped. */
static int next_row(struct table *t, struct dcr_err *err)
{
    int rc;
    while ((rc = dcr_csv_next(t->csv, err)) == DCR_FAIL)
        t->n_bad_cells++;
    return rc;
}

/* Which readings are kept: every stride-th. When the room is full, every second one is dropped. */
struct thinning {
    int64_t row, stride;
};

static void keep(struct table *t, struct run_reading **list, int *n, const struct run_reading *k, struct thinning *by)
{
    by->stride = by->stride ? by->stride : 1;
    if (by->row++ % by->stride)
        return;
    if (!*list)
        *list = dcr_arena_alloc(&t->run->arena, RUN_MAX_READINGS * sizeof **list);
    if (*n == RUN_MAX_READINGS) {
        for (int i = 0; i < RUN_MAX_READINGS / 2; i++)
            (*list)[i] = (*list)[2 * i];
        *n = RUN_MAX_READINGS / 2;
        by->stride *= 2;
        if ((by->row - 1) % by->stride)
            return;
    }
    (*list)[(*n)++] = *k;
}

/* How long the node's cores were busy, as a counter summed from the share of each interval; and how long a quota had
 * stopped the node, which is a counter in the file. */
static void add_busy(struct table *t, struct run_node *n, struct run_reading *sum, struct thinning *by)
{
    double when, percent = 0;
    if (dcr_csv_double(t->csv, dcr_csv_column(t->csv, "t_ns"), &when, NULL) || !(when >= 0 && when < 9e18))
        return;
    int64_t at = (int64_t)when, passed = by->row ? at - sum->t_ns : 0;
    int has = !dcr_csv_double(t->csv, dcr_csv_column(t->csv, "cpu_percent"), &percent, NULL) && percent >= 0;
    if (passed < 0 || (by->row && !has)) /* the interval before the first row is unknown */
        return;
    sum->t_ns = at;
    double stopped;
    int is_counted = !dcr_csv_double(t->csv, dcr_csv_column(t->csv, "throttled_ns"), &stopped, NULL);
    sum->run_delay_ns = is_counted && stopped >= 0 && stopped < 9e18 ? (int64_t)stopped : -1;
    sum->cpu_ns += passed > 0 ? (int64_t)((double)passed * (percent < 100 ? percent : 100) / 100) : 0;
    keep(t, &n->busy, &n->n_busy, sum, by);
}

static int read_cpu(struct table *t, int node, struct dcr_err *err)
{
    struct counter throttled = {0}, n_throttled = {0};
    struct rate psi[3] = {{.most = 1e9}, {.most = 1e9}, {.most = 1e9}}, faults = {0}, major = {0};
    struct run_reading busy = {0};
    struct thinning of_busy = {0};
    struct span span = {0};
    int rc;
    while ((rc = next_row(t, err)) == 0) {
        struct run_node *n = run_node_at(t->run, node);
        double when = row_time(t);
        span_add(&span, when);
        add_busy(t, n, &busy, &of_busy);
        add(t, &n->cpu_percent, "cpu_percent", when);
        add(t, &n->memory_percent, "memory_percent", when);
        add(t, &n->memory_used_gb, "memory_used_gb", when);
        add(t, &n->iowait_percent, "iowait_percent", when);
        add(t, &n->steal_percent, "steal_percent", when);
        add(t, &n->runnable, "runnable", when);
        add_rate(t, &psi[0], &n->psi_cpu_percent, "psi_cpu_some_ns", when, 1e-7);
        add_rate(t, &psi[1], &n->psi_memory_percent, "psi_memory_some_ns", when, 1e-7);
        add_rate(t, &psi[2], &n->psi_io_percent, "psi_io_some_ns", when, 1e-7);
        add_rate(t, &faults, &n->faults_per_s, "page_faults", when, 1);
        add_rate(t, &major, &n->major_faults_per_s, "major_faults", when, 1);
        count(t, &throttled, "throttled_ns");
        count(t, &n_throttled, "nr_throttled");
    }
    struct run_node *n = run_node_at(t->run, node);
    n->throttled_ns = growth(&throttled);
    n->nr_throttled = growth(&n_throttled);
    n->monitor_seconds = seconds(&span);
    return rc == DCR_END ? 0 : rc;
}

enum { MAX_GPUS = 64 };
static struct run_gpu *gpu_at(struct run *r, struct run_node *n, int id)
{
    for (int i = 0; i < n->n_gpus; i++)
        if (n->gpus[i].gpu_id == id)
            return &n->gpus[i];
    if (!n->gpus)
        n->gpus = dcr_arena_alloc(&r->arena, MAX_GPUS * sizeof *n->gpus);
    if (n->n_gpus == MAX_GPUS)
        return NULL;
    n->gpus[n->n_gpus].gpu_id = id;
    return &n->gpus[n->n_gpus++];
}

/* Both directions of a link together; a row has both or neither. */
static void add_link(struct table *t, struct rate *k, struct sampled *s, const char *in, const char *out, double when)
{
    double a, b;
    if (!cell(t, in, &a) || !cell(t, out, &b) || !(a >= 0 && b >= 0) || !isfinite(when))
        return;
    if (k->has && when - k->t < RATE_MIN_S && a + b >= k->v)
        return;
    if (k->has && when > k->t && a + b >= k->v)
        put_sample(t, s, when, (a + b - k->v) / (when - k->t) * 1e-6);
    *k = (struct rate){.t = when, .v = a + b, .has = 1};
}

static int read_gpu(struct table *t, int node, struct dcr_err *err)
{
    int rc;
    struct rate pcie[MAX_GPUS] = {{0}}, nvlink[MAX_GPUS] = {{0}};
    while ((rc = next_row(t, err)) == 0) {
        int64_t id;
        if (dcr_csv_int(t->csv, dcr_csv_column(t->csv, "gpu_id"), &id, NULL) || id < 0 || id > 1023)
            id = 0;
        struct run_gpu *g = gpu_at(t->run, run_node_at(t->run, node), (int)id);
        if (!g)
            continue;
        double when = row_time(t);
        add(t, &g->utilization_percent, "utilization_gpu", when);
        add(t, &g->memory_used_mb, "memory_used_mb", when);
        add(t, &g->memory_total_mb, "memory_total_mb", when);
        add(t, &g->power_w, "power_draw_w", when);
        add(t, &g->temperature_c, "temperature", when);
        add(t, &g->sm_clock_mhz, "sm_clock_mhz", when);
        int at = (int)(g - run_node_at(t->run, node)->gpus);
        add_link(t, &pcie[at], &g->pcie_mb_s, "pcie_rx_bytes", "pcie_tx_bytes", when);
        add_link(t, &nvlink[at], &g->nvlink_mb_s, "nvlink_rx_bytes", "nvlink_tx_bytes", when);
    }
    return rc == DCR_END ? 0 : rc;
}

/* Interfaces or disks of one file, with the counters' first and last values. */
enum { MAX_LINKS = 64 };
struct link {
    const char *name;
    struct counter in, out;
    struct span span;
};

/* Adds the row of an interface on the wire to the sum of its moment. A row of a new moment completes the sum before.
 * t_ns of sum: -1 = none yet */
static void add_wire(struct table *t, struct run_node *n, struct run_reading *sum, struct thinning *by)
{
    double is_on_wire, when, in, out;
    if (!cell(t, "on_wire", &is_on_wire) || is_on_wire != 1 || !cell(t, "t_ns", &when) || !cell(t, "rx_bytes", &in) ||
        !cell(t, "tx_bytes", &out) || !(when >= 0 && in >= 0 && out >= 0 && when < 9e18 && in + out < 9e18))
        return;
    if (sum->t_ns != (int64_t)when) {
        if (sum->t_ns >= 0)
            keep(t, &n->wire, &n->n_wire, sum, by);
        *sum = (struct run_reading){.t_ns = (int64_t)when};
    }
    sum->received_bytes += (int64_t)in;
    sum->sent_bytes += (int64_t)out;
}

static int read_traffic(struct table *t, int node, enum dcr_role role, struct dcr_err *err)
{
    int is_net = role == DCR_ROLE_NET_MONITOR, n = 0, rc;
    struct link *links = dcr_arena_alloc(&t->run->arena, MAX_LINKS * sizeof *links);
    struct run_reading sum = {.t_ns = -1};
    struct thinning of_wire = {0};
    while ((rc = next_row(t, err)) == 0) {
        if (is_net)
            add_wire(t, run_node_at(t->run, node), &sum, &of_wire);
        const char *name = dcr_csv_text(t->csv, dcr_csv_column(t->csv, is_net ? "interface" : "device"));
        int i = 0;
        while (i < n && strcmp(links[i].name, name) != 0)
            i++;
        if (i == MAX_LINKS)
            continue;
        if (i == n)
            links[n++].name = run_text(t->run, name);
        span_add(&links[i].span, row_time(t));
        count(t, &links[i].in, is_net ? "rx_bytes" : "read_bytes");
        count(t, &links[i].out, is_net ? "tx_bytes" : "write_bytes");
    }
    struct run_traffic *out = dcr_arena_alloc(&t->run->arena, (size_t)(n ? n : 1) * sizeof *out);
    for (int i = 0; i < n; i++)
        out[i] =
            (struct run_traffic){links[i].name, growth(&links[i].in), growth(&links[i].out), seconds(&links[i].span)};
    struct run_node *k = run_node_at(t->run, node);
    *(is_net ? &k->net : &k->disk) = out;
    *(is_net ? &k->n_net : &k->n_disk) = n;
    if (sum.t_ns >= 0)
        keep(t, &k->wire, &k->n_wire, &sum, &of_wire);
    return rc == DCR_END ? 0 : rc;
}

static int read_memory(struct table *t, int node, struct dcr_err *err)
{
    int rc;
    struct thinning of_memory = {0};
    while ((rc = next_row(t, err)) == 0) {
        struct run_node *n = run_node_at(t->run, node);
        double when, in, out;
        if (!cell(t, "t_ns", &when) || !cell(t, "read_bytes", &in) || !cell(t, "write_bytes", &out) ||
            !(when >= 0 && in >= 0 && out >= 0 && when < 9e18 && in + out < 9e18))
            continue;
        struct run_reading now = {.t_ns = (int64_t)when, .read_bytes = (int64_t)in, .written_bytes = (int64_t)out};
        keep(t, &n->memory, &n->n_memory, &now, &of_memory);
    }
    return rc == DCR_END ? 0 : rc;
}

/* A counter of the row, -1 if it was not counted. */
static int64_t counter_of(const struct table *t, const char *column)
{
    double v;
    int has = !dcr_csv_double(t->csv, dcr_csv_column(t->csv, column), &v, NULL) && v >= 0 && v < 9e18;
    return has ? (int64_t)v : -1;
}

/* The counters of a row, if it has all that are asked for: 0. */
static int reading(const struct table *t, struct run_reading *out)
{
    double when, delay, user, system;
    if (dcr_csv_double(t->csv, dcr_csv_column(t->csv, "t_ns"), &when, NULL) ||
        dcr_csv_double(t->csv, dcr_csv_column(t->csv, "run_delay_ns"), &delay, NULL) || !(when >= 0 && when < 9e18) ||
        !(delay >= 0 && delay < 9e18))
        return -1;
    int has_cpu = !dcr_csv_double(t->csv, dcr_csv_column(t->csv, "user_ns"), &user, NULL) &&
                  !dcr_csv_double(t->csv, dcr_csv_column(t->csv, "system_ns"), &system, NULL) && user >= 0 &&
                  system >= 0 && user + system < 9e18;
    double own, own_delay;
    int has_own = !dcr_csv_double(t->csv, dcr_csv_column(t->csv, "own_cpu_ns"), &own, NULL) &&
                  !dcr_csv_double(t->csv, dcr_csv_column(t->csv, "own_run_delay_ns"), &own_delay, NULL) && own >= 0 &&
                  own_delay >= 0 && own + own_delay < 9e18;
    *out = (struct run_reading){.t_ns = (int64_t)when,
                                .misses = counter_of(t, "llc_misses"),
                                .run_delay_ns = (int64_t)delay,
                                .cpu_ns = has_cpu ? (int64_t)(user + system) : -1,
                                .own_ns = has_own ? (int64_t)(own + own_delay) : -1};
    return 0;
}

static void keep_counts(struct table *t, struct run_rank *k, size_t *cap)
{
    int64_t cycles = k->n_counts < RUN_MAX_COUNTER_READINGS ? counter_of(t, "cycles") : -1;
    int64_t t_ns = cycles >= 0 ? counter_of(t, "t_ns") : -1;
    if (t_ns < 0) /* most machines count nothing, and each cell is searched by its name */
        return;
    k->counts = arena_grow(&t->run->arena, k->counts, k->n_counts, cap, sizeof *k->counts);
    k->counts[k->n_counts++] = (struct counter_reading){.t_ns = t_ns,
                                                        .cycles = cycles,
                                                        .instructions = counter_of(t, "instructions"),
                                                        .stalled_cycles = counter_of(t, "stalled_cycles"),
                                                        .misses = counter_of(t, "llc_misses")};
}

static int read_process(struct table *t, int rank, struct dcr_err *err)
{
    struct counter user = {0}, system = {0}, delay = {0}, involuntary = {0}, cycles = {0}, instructions = {0},
                   misses = {0}, stalled = {0}, clock = {0};
    struct span span = {0};
    static const char *const totals[DCT_N_IO_TOTALS] = {
#define X(id, kernel, column) [id] = column,
        DCT_IO_TOTALS(X)
#undef X
    };
    double rss = -1;
    size_t counts_cap = 0;
    struct thinning of_delays = {0};
    int rc;
    while ((rc = next_row(t, err)) == 0) {
        double v;
        struct run_reading now;
        struct run_rank *of = run_rank_at(t->run, rank);
        if (reading(t, &now) == 0)
            keep(t, &of->delays, &of->n_delays, &now, &of_delays);
        keep_counts(t, of, &counts_cap);
        span_add(&span, row_time(t));
        if (cell(t, "t_ns", &v) && v > 0 && v < 9e18) {
            of->watched_from_ns = of->watched_from_ns ? of->watched_from_ns : (int64_t)v;
            of->watched_to_ns = (int64_t)v > of->watched_to_ns ? (int64_t)v : of->watched_to_ns;
        }
        count(t, &user, "user_ns");
        count(t, &system, "system_ns");
        count(t, &delay, "run_delay_ns");
        count(t, &involuntary, "involuntary_switches");
        count(t, &cycles, "cycles");
        count(t, &instructions, "instructions");
        count(t, &misses, "llc_misses");
        count(t, &stalled, "stalled_cycles");
        count(t, &clock, "task_clock_ns");
        if (!of->monitor_pid && cell(t, "pid", &v) && v >= 1 && v < INT32_MAX)
            of->monitor_pid = (int64_t)v;
        if (cell(t, "processes", &v) && v > of->most_processes && v < INT32_MAX)
            of->most_processes = (int)v;
        for (int i = 0; i < DCT_N_IO_TOTALS; i++)
            if (cell(t, totals[i], &v) && v > 0 && v < 9e18 && (int64_t)v > of->io[i])
                of->io[i] = (int64_t)v;
        if (cell(t, "rss_bytes", &v) && v > rss && v < 9e18)
            rss = v;
    }
    struct run_rank *k = run_rank_at(t->run, rank);
    int64_t u = growth(&user), s = growth(&system);
    k->cpu_ns = u >= 0 && s >= 0 && span.n > 1 ? u + s : -1;
    k->run_delay_ns = span.n > 1 ? growth(&delay) : -1;
    k->involuntary_switches = span.n > 1 ? growth(&involuntary) : -1;
    k->cycles = span.n > 1 ? growth(&cycles) : -1;
    k->instructions = span.n > 1 ? growth(&instructions) : -1;
    k->llc_misses = span.n > 1 ? growth(&misses) : -1;
    k->stalled_cycles = span.n > 1 ? growth(&stalled) : -1;
    k->task_clock_ns = span.n > 1 ? growth(&clock) : -1;
    k->peak_rss_bytes = rss < 0 ? -1 : (int64_t)rss;
    k->process_seconds = seconds(&span);
    return rc == DCR_END ? 0 : rc;
}

static int read_clock(struct run *r, int node, struct dcr_stream *in, struct dcr_err *err)
{
    struct dcr_clock c;
    long n_bad;
    int rc = dcr_clock_read(&c, &r->arena, in, &n_bad, err);
    if (rc)
        return rc;
    if (n_bad)
        run_add_gap(r, PHRASE(CELLS_NO_NUMBERS, slot_count(n_bad), slot_name(in->name)));
    run_node_at(r, node)->clock = c;
    return 0;
}

int monitor_read(struct run *r, enum dcr_role role, int node, int rank, struct dcr_stream *s, struct dcr_err *err)
{
    struct table t = {.run = r, .name = s->name};
    node = node < 0 ? 0 : node;
    rank = rank < 0 ? 0 : rank;
    if (role == DCR_ROLE_PROCESS_MONITOR ? !run_rank_at(r, rank) : !run_node_at(r, node))
        return 0;
    if (role == DCR_ROLE_CLOCK_MONITOR)
        return read_clock(r, node, s, err);
    int rc = dcr_csv_open(&t.csv, s, err);
    if (rc)
        return rc;
    switch (role) {
    case DCR_ROLE_CPU_MONITOR:
        rc = read_cpu(&t, node, err);
        break;
    case DCR_ROLE_GPU_MONITOR:
        rc = read_gpu(&t, node, err);
        break;
    case DCR_ROLE_MEMORY_MONITOR:
        rc = read_memory(&t, node, err);
        break;
    case DCR_ROLE_PROCESS_MONITOR:
        rc = read_process(&t, rank, err);
        break;
    default:
        rc = read_traffic(&t, node, role, err);
    }
    if (t.n_bad_cells)
        run_add_gap(r, PHRASE(CELLS_NO_NUMBERS, slot_count(t.n_bad_cells), slot_name(t.name)));
    if (t.n_untimed)
        run_add_gap(r, PHRASE(ROWS_UNTIMED, slot_count(t.n_untimed), slot_name(t.name)), PHRASE(ROWS_TIMES));
    dcr_csv_close(t.csv);
    return rc;
}
