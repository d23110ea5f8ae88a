/* source_process.c - use of resources by the program's processes: /proc/<pid>/{stat,io} and, per thread,
 * {status,schedstat}.
 *
 * Under one collector per rank all descendants are summed into that rank. A collector in front of mpirun finds the
 * ranks among its descendants by their environment. Processes without a rank (mpirun itself, or a program that has no
 * ranks) go to launcher/process_monitor.csv. Counters of ended processes stay in the sums with their last value, except
 * /proc/<pid>/io, which the kernel adds to the parent that waits for the process.
 *
 * Every sample reads files that are already open; for a process whose threads did not run, it reads only schedstat. A
 * scan of the whole tree, which finds new processes and threads and counts switches, runs once a second at most. */
#include "collect/monitor/perf.h"
#include "collect/record/procfs.h"
#include "lib/archive/rank.h"
#include "collect/monitor/source.h"
#include "lib/archive/format.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MAX_PROCESSES = 4096, MAX_THREADS = 64, TREE_DEPTH = 64, MOST_OPEN = 192 };
enum { FIRST_LOOK_MS = 100, LOOK_MS = 1000 };
enum { USER, SYSTEM, READ, WRITTEN, VOLUNTARY, INVOLUNTARY, DELAY, MINOR, MAJOR, IO_TOTALS };
enum { N_COUNTERS = IO_TOTALS + DCT_N_IO_TOTALS };
/* The counters of /proc/<pid>/io. */
#define IO_COUNTERS (1u << READ | 1u << WRITTEN | ((1u << DCT_N_IO_TOTALS) - 1) << IO_TOTALS)

struct counters {
    uint64_t value[N_COUNTERS];
    unsigned has; /* bit per counter */
    uint64_t rss_bytes;
};

struct thread {
    pid_t tid;
    int schedstat; /* descriptor; -1: read at scans only */
    int is_found;  /* seen in this scan */
    uint64_t run_ns, delay_ns, voluntary, involuntary;
};

struct process {
    pid_t pid;
    int stat, io; /* descriptors; -1: read at scans only */
    struct thread *threads;
    int n_threads;  /* MAX_THREADS + 1: too many, none is kept */
    int has_delay;  /* the kernel reports run delay */
    uint64_t start; /* in ticks since boot; tells a reused pid */
    pid_t parent;
    int rank;
    int is_alive, was_alive; /* in this sample, in the previous one; a zombie counts as alive */
    int is_in_parent;        /* its I/O counters are included in its parent's */
    struct counters last;
    int is_zombie, is_end_told; /* ended, but not waited for by its parent; a row already has its last counters */
};

struct processes {
    int fixed_rank;
    const char *spool;
    const struct perf *perf;             /* of the whole tree, or NULL */
    int64_t now_ns;                      /* time of this sample */
    int64_t look_ns, look_gap_ns;        /* time of the next scan of the tree */
    int n_open, most_open;               /* number of open descriptors, and its limit */
    int has_run;                         /* a thread ran since the previous sample */
    int has_run_since_look, is_end_seen; /* is_end_seen: of the program itself, which is known[0] */
    pid_t root;
    uint64_t tick_ns, page_bytes;
    struct process *known;
    size_t n;
    char environ_block[128 << 10];
    char trouble[256]; /* first problem of this sample */
};

/* ---- files of /proc that stay open ------------------------------------------------------------- */

/* Opens a file to be kept open; -1 when there are enough already. A descriptor of /proc belongs to its process: reads
 * fail once the process is gone, even when another one gets its number. */
static int open_kept(struct processes *c, const char *path)
{
    int fd = c->n_open < c->most_open ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    c->n_open += fd >= 0;
    return fd;
}

static void close_kept(struct processes *c, int *fd)
{
    if (*fd < 0)
        return;
    close(*fd);
    *fd = -1;
    c->n_open--;
}

static int read_kept(int fd, const char *path, char *text, size_t n)
{
    if (fd < 0)
        return procfs_read(path, text, n, NULL);
    ssize_t k = pread(fd, text, n - 1, 0);
    text[k > 0 ? k : 0] = '\0';
    return (int)k;
}

static void forget_threads(struct processes *c, struct process *p)
{
    for (int i = 0; i < p->n_threads && p->threads; i++)
        close_kept(c, &p->threads[i].schedstat);
    free(p->threads);
    p->threads = NULL;
    p->n_threads = 0;
}

static void close_process(struct processes *c, struct process *p)
{
    close_kept(c, &p->stat);
    close_kept(c, &p->io);
    forget_threads(c, p);
}

static int configure(void *ctx, const struct source_config *config, struct dcr_err *err)
{
    struct processes *c = ctx;
    struct rlimit limit;
    c->known = calloc(MAX_PROCESSES, sizeof *c->known);
    if (!c->known)
        return dcr_err_set(err, DCR_FAIL, "out of memory");
    c->fixed_rank = config->rank;
    c->root = config->pid;
    c->spool = config->spool;
    c->perf = config->perf;
    c->look_gap_ns = (int64_t)FIRST_LOOK_MS * 1000000;
    c->most_open = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 4 * (rlim_t)MOST_OPEN
                       ? (int)limit.rlim_cur / 4
                       : MOST_OPEN;
    c->tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    c->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    return DCR_OK;
}

static void destroy(void *ctx)
{
    struct processes *c = ctx;
    for (size_t i = 0; i < c->n; i++)
        close_process(c, &c->known[i]);
    free(c->known);
}

static void note(struct processes *c, const char *what)
{
    if (!c->trouble[0])
        snprintf(c->trouble, sizeof c->trouble, "%s", what);
}

/* ---- one process ------------------------------------------------------------------------------ */

static int read_stat(const struct processes *c, int fd, pid_t pid, struct counters *out, struct process *who)
{
    char path[64], text[2048];
    struct procfs_stat s;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (read_kept(fd, path, text, sizeof text) <= 0 || procfs_stat(text, &s) != 0)
        return -1;
    who->parent = s.parent;
    who->start = s.begun;
    who->is_zombie = s.state == 'Z';
    out->value[USER] = s.user * c->tick_ns;
    out->value[SYSTEM] = s.system * c->tick_ns;
    out->rss_bytes = s.rss > 0 ? (uint64_t)s.rss * c->page_bytes : 0;
    out->value[MINOR] = s.minor;
    out->value[MAJOR] = s.major;
    out->has |= 1u << USER | 1u << SYSTEM | 1u << MINOR | 1u << MAJOR;
    return 0;
}

static void read_io(struct processes *c, const struct process *p, struct counters *out, int is_zombie)
{
    static const char *const totals[DCT_N_IO_TOTALS] = {
#define X(id, kernel, column) [id] = kernel,
        DCT_IO_TOTALS(X)
#undef X
    };
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/io", (int)p->pid);
    int is_read = read_kept(p->io, path, text, sizeof text) > 0;
    for (int i = 0; is_read && i < DCT_N_IO_TOTALS; i++)
        is_read = procfs_field(text, totals[i], &out->value[IO_TOTALS + i]) == 0;
    if (is_read && procfs_field(text, "read_bytes", &out->value[READ]) == 0 &&
        procfs_field(text, "write_bytes", &out->value[WRITTEN]) == 0)
        out->has |= IO_COUNTERS;
    else if (!is_zombie)
        note(c, "bytes read and written: '/proc/<pid>/io' cannot be read");
}

/* "time on a processor, time without one, ..." in ns. returns 1 when the thread ran since the last reading */
static int read_schedstat(struct process *p, struct thread *t)
{
    char path[96], text[128];
    unsigned long long run, delay;
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)p->pid, (int)t->tid);
    if (read_kept(t->schedstat, path, text, sizeof text) <= 0 || sscanf(text, "%llu %llu", &run, &delay) != 2)
        return 1;
    int has_run = run != t->run_ns;
    t->run_ns = run;
    t->delay_ns = delay;
    p->has_delay = 1;
    return has_run;
}

static void read_switches(pid_t pid, struct thread *t)
{
    char path[96], text[4096];
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)t->tid);
    uint64_t voluntary, involuntary;
    if (procfs_read(path, text, sizeof text, NULL) <= 0 ||
        procfs_field(text, "voluntary_ctxt_switches", &voluntary) != 0 ||
        procfs_field(text, "nonvoluntary_ctxt_switches", &involuntary) != 0)
        return;
    t->voluntary = voluntary;
    t->involuntary = involuntary;
}

static void sum_threads(struct processes *c, const struct process *p, struct counters *out)
{
    if (p->n_threads > MAX_THREADS) { /* reading them would disturb the program too much */
        note(c, "switches and run delay: not read for processes of more than 64 threads");
        return;
    }
    for (int i = 0; i < p->n_threads; i++) {
        out->value[VOLUNTARY] += p->threads[i].voluntary;
        out->value[INVOLUNTARY] += p->threads[i].involuntary;
        out->value[DELAY] += p->threads[i].delay_ns;
    }
    if (p->n_threads)
        out->has |= 1u << VOLUNTARY | 1u << INVOLUNTARY;
    if (p->has_delay)
        out->has |= 1u << DELAY;
    else
        note(c, "run delay: this kernel has no '/proc/<pid>/task/<tid>/schedstat'");
}

static void keep_counters(struct process *p, struct counters *now, int is_zombie)
{
    for (int i = 0; i < N_COUNTERS; i++) /* counts of ended threads vanish, so sums never decrease */
        if (now->value[i] < p->last.value[i])
            now->value[i] = p->last.value[i];
    if (is_zombie) { /* it has no memory any more, and some of its counters may be unreadable */
        now->has |= p->last.has;
        now->rss_bytes = p->last.rss_bytes;
    }
    p->last = *now;
    p->is_zombie = is_zombie;
}

/* Between scans only open files are read. For a process that did not run, only that fact is read. */
static void read_again(struct processes *c, struct process *p)
{
    struct counters now = {0};
    struct process seen = {0};
    int has_run = p->n_threads == 0 || p->n_threads > MAX_THREADS;
    if (p->stat < 0)
        return;
    for (int i = 0; i < p->n_threads && p->threads; i++)
        has_run |= p->threads[i].schedstat >= 0 && read_schedstat(p, &p->threads[i]);
    if (!has_run)
        return;
    c->has_run = 1;
    if (read_stat(c, p->stat, p->pid, &now, &seen) != 0) {
        p->is_alive = 0;
        return;
    }
    read_io(c, p, &now, seen.is_zombie);
    sum_threads(c, p, &now);
    keep_counters(p, &now, seen.is_zombie);
}

static int rank_of_process(struct processes *c, pid_t pid)
{
    char path[64];
    if (c->fixed_rank >= 0)
        return c->fixed_rank;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    int n = procfs_read(path, c->environ_block, sizeof c->environ_block, NULL);
    int rank = n > 0 ? rank_of_block(c->environ_block, (unsigned long)n).rank : -1;
    return rank < 0 && c->spool ? rank_by_link(c->spool, pid) : rank;
}

static const struct process *find_alive(const struct processes *c, pid_t pid)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->known[i].pid == pid && c->known[i].is_alive)
            return &c->known[i];
    return NULL;
}

/* ---- the tree --------------------------------------------------------------------------------- */

static struct process *find_process(struct processes *c, const struct process *seen)
{
    char path[64];
    for (size_t i = 0; i < c->n; i++)
        if (c->known[i].pid == seen->pid && c->known[i].start == seen->start)
            return &c->known[i];
    if (c->n == MAX_PROCESSES) {
        note(c, "more processes than are followed");
        return NULL;
    }
    struct process *p = &c->known[c->n++];
    *p = *seen;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)p->pid);
    p->stat = open_kept(c, path);
    snprintf(path, sizeof path, "/proc/%d/io", (int)p->pid);
    p->io = open_kept(c, path);
    return p;
}

static void look_at_thread(struct processes *c, struct process *p, pid_t tid)
{
    char path[96];
    struct thread *t = NULL;
    for (int i = 0; i < p->n_threads && !t; i++)
        if (p->threads[i].tid == tid)
            t = &p->threads[i];
    if (!p->threads)
        p->threads = malloc(MAX_THREADS * sizeof *p->threads);
    if (!t && (!p->threads || p->n_threads == MAX_THREADS)) {
        forget_threads(c, p);
        p->n_threads = MAX_THREADS + 1;
        return;
    }
    if (!t) {
        t = &p->threads[p->n_threads++];
        snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)p->pid, (int)tid);
        *t = (struct thread){.tid = tid, .schedstat = open_kept(c, path)};
    }
    t->is_found = 1;
    c->has_run |= read_schedstat(p, t);
    read_switches(p->pid, t);
}

static void look_at_threads(struct processes *c, struct process *p, DIR *task)
{
    int n_kept = 0;
    for (int i = 0; i < p->n_threads && p->threads; i++)
        p->threads[i].is_found = 0;
    if (p->n_threads > MAX_THREADS)
        p->n_threads = 0;
    for (struct dirent *e; task && p->n_threads <= MAX_THREADS && (e = readdir(task)) != NULL;)
        if (e->d_name[0] != '.')
            look_at_thread(c, p, (pid_t)strtol(e->d_name, NULL, 10));
    if (p->n_threads > MAX_THREADS)
        return;
    for (int i = 0; i < p->n_threads; i++)
        if (p->threads[i].is_found)
            p->threads[n_kept++] = p->threads[i];
        else
            close_kept(c, &p->threads[i].schedstat);
    p->n_threads = n_kept;
}

static void look_at(struct processes *c, pid_t pid, DIR *task)
{
    struct counters now = {0};
    struct process seen = {.pid = pid, .rank = -1, .stat = -1, .io = -1};
    struct process *p = read_stat(c, -1, pid, &now, &seen) == 0 ? find_process(c, &seen) : NULL;
    if (!p)
        return;
    p->parent = seen.parent;
    /* A process starts with its parent's environment and gets a new one by exec. Without a rank there it has its
     * parent's, which may also come from a link. */
    if (p->rank < 0)
        p->rank = rank_of_process(c, pid);
    const struct process *parent = p->rank < 0 ? find_alive(c, p->parent) : NULL;
    if (parent)
        p->rank = parent->rank;
    read_io(c, p, &now, seen.is_zombie);
    look_at_threads(c, p, task);
    sum_threads(c, p, &now);
    keep_counters(p, &now, seen.is_zombie);
    p->is_alive = 1;
}

static void walk(struct processes *c, pid_t pid, int depth)
{
    char path[96], children[16 << 10];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *d = opendir(path);
    look_at(c, pid, d);
    if (d)
        rewinddir(d);
    for (struct dirent *e; d && depth < TREE_DEPTH && (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", (int)pid, e->d_name);
        if (procfs_read(path, children, sizeof children, NULL) <= 0)
            continue;
        for (char *at = children, *end; *at; at = end) {
            long child = strtol(at, &end, 10);
            if (end == at)
                break;
            if (child > 0)
                walk(c, (pid_t)child, depth + 1);
        }
    }
    if (d)
        closedir(d);
}

/* ---- rows ------------------------------------------------------------------------------------- */

static void put_counter(struct dcr_buf *row, const struct counters *sum, int i)
{
    cell_if(row, (sum->has >> i & 1) != 0, sum->value[i]);
}

/* Counters of the program and all its descendants: they belong to the rank if it has its own collector, else to the
 * launcher. */
static void put_perf(const struct processes *c, int rank, struct dcr_buf *row)
{
    for (int k = 0; k < N_PERF; k++) {
        uint64_t value = 0;
        int has = c->perf && rank == c->fixed_rank && perf_count(c->perf->fd[k], &value) == 0;
        cell_if(row, has, value);
    }
}

static int put_rank(struct processes *c, int rank, const struct tick *now, struct dcr_buf *row, struct outputs *out,
                    struct dcr_err *err)
{
    struct counters sum = {.has = (1u << N_COUNTERS) - 1};
    const struct process *first = NULL;
    uint64_t ended_rss_bytes = 0;
    int n_running = 0, n_zombies = 0, has_news = 0;
    for (size_t i = 0; i < c->n; i++) {
        struct process *p = &c->known[i];
        if (p->rank != rank)
            continue;
        if (!first)
            first = p;
        for (int k = 0; k < N_COUNTERS; k++)
            sum.value[k] += p->is_in_parent && IO_COUNTERS >> k & 1 ? 0 : p->last.value[k];
        sum.has &= p->last.has;
        if (p->is_alive && !p->is_zombie) {
            sum.rss_bytes += p->last.rss_bytes;
            n_running++;
        } else if (p->is_alive) {
            ended_rss_bytes += p->last.rss_bytes;
            n_zombies++;
            has_news |= !p->is_end_told;
            p->is_end_told = 1;
        }
    }
    /* An ended process that was not waited for uses no time and no memory, so one row with its last counters is
     * enough. */
    if (!n_running && !has_news)
        return DCR_OK;
    if (!n_running)
        sum.rss_bytes = ended_rss_bytes;
    dcr_buf_clear(row);
    cell_time(row, now);
    cell_int(row, now->mono_ns);
    cell_int(row, rank < 0 ? 0 : rank);
    cell_int(row, first->pid);
    put_counter(row, &sum, USER);
    put_counter(row, &sum, SYSTEM);
    cell_unsigned(row, sum.rss_bytes);
    for (int i = READ; i < IO_TOTALS; i++)
        put_counter(row, &sum, i);
    put_perf(c, rank, row);
    cell_if(row, (first->last.has >> USER & 1) != 0, first->last.value[USER] + first->last.value[SYSTEM]);
    put_counter(row, &first->last, DELAY);
    cell_int(row, n_running ? n_running : n_zombies);
    for (int i = IO_TOTALS; i < N_COUNTERS; i++)
        put_counter(row, &sum, i);
    cell_end(row);
    char name[64] = "launcher/process_monitor.csv";
    if (rank >= 0)
        snprintf(name, sizeof name, "rank%d/process_monitor.csv", rank);
    return outputs_rows(out, name, DCR_PROCESS_MONITOR_COLUMNS(SOURCE_CELL), dcr_buf_text(row), row->len, err);
}

static void look(struct processes *c)
{
    for (size_t i = 0; i < c->n; i++)
        c->known[i].is_alive = 0;
    walk(c, c->root, 0);
    c->look_ns = c->now_ns + c->look_gap_ns;
    c->look_gap_ns *= 2;
    if (c->look_gap_ns > (int64_t)LOOK_MS * 1000000)
        c->look_gap_ns = (int64_t)LOOK_MS * 1000000;
    c->has_run_since_look = 0;
}

static int sample(void *ctx, const struct tick *now, struct dcr_buf *row, struct outputs *out, struct dcr_err *err)
{
    struct processes *c = ctx;
    c->trouble[0] = '\0';
    c->now_ns = now->mono_ns;
    c->has_run = 0;
    for (size_t i = 0; i < c->n; i++) {
        struct process *p = &c->known[i];
        p->was_alive = p->is_alive;
        if (p->is_alive)
            read_again(c, p);
    }
    /* Only running threads create threads and processes. When the program ends, its tree falls apart. */
    c->has_run_since_look |= c->has_run;
    int has_ended = c->n && c->known[0].is_zombie && !c->is_end_seen;
    c->is_end_seen |= has_ended;
    if (c->n == 0 || now->is_last || has_ended || (c->has_run_since_look && now->mono_ns >= c->look_ns))
        look(c);
    for (size_t i = 0; i < c->n; i++) {
        struct process *p = &c->known[i];
        if (p->was_alive && !p->is_alive) {
            const struct process *parent = find_alive(c, p->parent); /* it waited for this process */
            p->is_in_parent = parent && parent->rank == p->rank;
            close_process(c, p);
        }
    }
    int rc = DCR_OK;
    for (size_t i = 0; i < c->n && rc == DCR_OK; i++) {
        int is_first = 1;
        for (size_t k = 0; k < i && is_first; k++)
            is_first = c->known[k].rank != c->known[i].rank;
        if (is_first)
            rc = put_rank(c, c->known[i].rank, now, row, out, err);
    }
    if (rc == DCR_OK && c->trouble[0])
        rc = dcr_err_set(err, DCR_WARN, "%s", c->trouble);
    return rc;
}

static int is_idle(const void *ctx)
{
    const struct processes *c = ctx;
    return !c->has_run;
}

const struct source source_process = {"process", NULL, sizeof(struct processes), configure, sample, destroy,
                                      is_idle,   0};
