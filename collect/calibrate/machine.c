/* machine.c - measures cores and memory: threads bound to cores, all starting together. See calibrate.h. */
#include "collect/calibrate/calibrate.h"

#include "collect/calibrate/loops.h"
#include "collect/record/disturbed.h"
#include "collect/record/meta.h"
#include "collect/record/procfs.h"
#include "lib/base/progress.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MIN_REPEATS = 5, MAX_REPEATS = 64 };
#define SECONDS_EACH 0.7
/* Without other work on the core, half of the repetitions stay within a few hundredths of the fastest. */
#define LEAST_OF_FASTEST 0.75
#define HUGE_PAGE ((size_t)2 << 20)

/* One kind of work, done by every thread of a team at once. */
struct work {
    int (*prepare)(void *item);  /* runs on the thread's core, so that memory lies near it. returns -1 without memory.
                                  * NULL: works in registers only and never waits, so its rate is per processor time,
                                  * which other programs do not change */
    double (*run)(void *item);   /* returns the units that it did */
    void (*release)(void *item); /* NULL with prepare */
};

struct member {
    struct team *team;
    void *item;
    int cpu;
    int has_failed;
    double units; /* of the last run */
    double began, ended;
    double wall_s, cpu_s; /* of all runs; the work never waits, so both are equal if nothing else runs */
    double run_cpu_s;     /* processor time of the last run */
    pthread_t thread;
};
struct team {
    const struct work *work;
    pthread_barrier_t gate;
    int is_over;
    struct member *members;
    int n;
};

static void *member_main(void *arg)
{
    struct member *m = arg;
    struct team *t = m->team;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)m->cpu, &one);
    /* A core that has gone offline does not stop the measurement: the thread then runs on any core. */
    (void)pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    m->has_failed = t->work->prepare && t->work->prepare(m->item) != 0;
    pthread_barrier_wait(&t->gate);
    for (;;) {
        pthread_barrier_wait(&t->gate);
        if (t->is_over)
            break;
        m->began = measured_now();
        double cpu = measured_cpu_now();
        m->units = t->work->run(m->item);
        m->run_cpu_s = measured_cpu_now() - cpu;
        m->ended = measured_now();
        m->cpu_s += m->run_cpu_s;
        m->wall_s += m->ended - m->began;
        pthread_barrier_wait(&t->gate);
    }
    if (t->work->release)
        t->work->release(m->item);
    return NULL;
}

/* Time of one run of all threads: from the first start to the last end. */
static double run_once(struct team *t)
{
    pthread_barrier_wait(&t->gate);
    pthread_barrier_wait(&t->gate);
    double began = t->members[0].began, ended = t->members[0].ended;
    for (int i = 1; i < t->n; i++) {
        began = t->members[i].began < began ? t->members[i].began : began;
        ended = t->members[i].ended > ended ? t->members[i].ended : ended;
    }
    return ended - began;
}

/* Rate in units per second, all threads together. */
static double rate_once(struct team *t)
{
    double s = run_once(t), sum = 0;
    for (int i = 0; i < t->n; i++)
        sum += t->members[i].units / (t->work->prepare ? s : t->members[i].run_cpu_s);
    return sum;
}

static json_t *repeat(struct team *t)
{
    double rates[MAX_REPEATS], until = measured_now() + SECONDS_EACH;
    int n = 0;
    (void)run_once(t); /* warm-up: pages, clock frequency */
    while (n < MIN_REPEATS || (n < MAX_REPEATS && measured_now() < until))
        rates[n++] = rate_once(t) * 1e-9;
    return measured_json(rates, n);
}

static double quota_cores(void)
{
    struct cgroup_cpu c;
    cgroup_cpu_find(&c);
    return c.quota_cores;
}

/* Judges whether other work disturbed the measurement. Under a quota the kernel stops threads that have used it up,
 * which is a limit of the machine and not a disturbance. */
static void judge(json_t *rates, const struct team *t)
{
    double quota = quota_cores(), least = 1, sum = 0;
    int is_short = quota > 0 && quota < t->n;
    for (int i = 0; i < t->n; i++) {
        double had = t->members[i].wall_s > 0 ? t->members[i].cpu_s / t->members[i].wall_s : 1;
        least = had < least ? had : least; /* the slowest core determines the rate of all */
        sum += had;
    }
    if (is_short) {
        disturbed_by_others(rates, sum / t->n, quota / t->n);
        return;
    }
    disturbed_by_others(rates, least, 1);
    disturbed_by_spread(rates, LEAST_OF_FASTEST);
}

static void compare(json_t *o, int n_cores)
{
    double quota = quota_cores();
    if (!(quota > 0 && quota < n_cores))
        disturbed_below_one(json_object_get(o, "one_core"), json_object_get(o, "all_cores"), n_cores);
}

/* rates of n cores at work together, in 10^9 units/s. items: of each thread, so many bytes apart. returns NULL when
 * threads or memory are short */
static json_t *measure(const struct work *work, const int *cpus, int n, void *items, size_t apart)
{
    struct team t = {.work = work, .n = n, .members = calloc((size_t)n, sizeof *t.members)};
    json_t *result = NULL;
    if (!t.members)
        return NULL;
    /* All threads are made before any of them waits, because a thread that cannot be made would leave the others at the
     * gate. */
    pthread_barrier_init(&t.gate, NULL, (unsigned)n + 1);
    for (int i = 0; i < n; i++) {
        t.members[i] = (struct member){.team = &t, .item = (char *)items + (size_t)i * apart, .cpu = cpus[i]};
        if (pthread_create(&t.members[i].thread, NULL, member_main, &t.members[i]) != 0) {
            dcr_say("dccollect calibrate", "no thread for core %d", cpus[i]);
            exit(DCR_EXIT_INPUT);
        }
    }
    pthread_barrier_wait(&t.gate);
    int has_failed = 0;
    for (int i = 0; i < n; i++)
        has_failed |= t.members[i].has_failed;
    if (!has_failed)
        result = repeat(&t);
    t.is_over = 1;
    pthread_barrier_wait(&t.gate);
    for (int i = 0; i < n; i++)
        pthread_join(t.members[i].thread, NULL);
    if (result)
        judge(result, &t);
    pthread_barrier_destroy(&t.gate);
    free(t.members);
    return result;
}

/* Puts the rates of one core and of all cores. items: the data of one thread, and those of all. apart: as for measure,
 * of all cores */
static void put_rates(json_t *o, const cpu_set_t *set, const struct work *work, void *const items[2], size_t apart)
{
    static const char *const keys[] = {"one_core", "all_cores"};
    int cpus[CPU_SETSIZE], n = 0;
    for (int c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET((size_t)c, set))
            cpus[n++] = c;
    for (int i = 0; i < 2; i++) {
        json_t *rates = items[i] && n ? measure(work, cpus, i == 0 ? 1 : n, items[i], apart) : NULL;
        if (rates)
            json_object_set_new(o, keys[i], rates);
        else
            meta_missing(o, keys[i], "out of memory measuring it");
        progress_step(1);
    }
    json_object_set_new(o, "cores", json_integer(n));
    compare(o, n);
}

/* ---- arithmetic --------------------------------------------------------------------------------- */

struct arithmetic {
    const struct loops *loops;
    int64_t rounds;
};

static double arithmetic_run(void *item)
{
    const struct arithmetic *a = item;
    loops_multiply_add(a->loops, a->rounds);
    return a->loops->flop_per_round * (double)a->rounds;
}

/* Rounds per second: the best of several short runs on this thread. */
static double rounds_per_s(const struct loops *l)
{
    enum { ROUNDS = 1 << 16, REPEATS = 24 };
    double best = 0;
    for (int i = 0; i < REPEATS; i++) {
        double began = measured_cpu_now();
        loops_multiply_add(l, ROUNDS);
        double rate = ROUNDS / (measured_cpu_now() - began);
        best = rate > best ? rate : best;
    }
    return best;
}

/* The fastest registers. The widest registers are not always the fastest, since they may share units with narrower ones
 * or lower the clock. Of those within 3 % of each other the widest are taken. */
static struct arithmetic fastest(void)
{
    const double clearly = 1.03, interval_s = 0.02; /* far longer than starting all threads takes */
    struct arithmetic a = {0};
    double best = 0;
    for (const struct loops *l = loops_next(NULL); l; l = loops_next(l)) {
        double rounds = rounds_per_s(l), rate = rounds * l->flop_per_round;
        if (a.loops && rate <= clearly * best)
            continue;
        best = rate;
        a = (struct arithmetic){l, (int64_t)(interval_s * rounds) + 1};
    }
    return a;
}

json_t *machine_fma(const cpu_set_t *cpus)
{
    struct arithmetic a = fastest();
    const struct work work = {.run = arithmetic_run};
    json_t *o = json_object();
    json_object_set_new(o, "unit", json_string("GFLOP/s"));
    json_object_set_new(o, "precision", json_string("float32"));
    json_object_set_new(o, "kernel", json_string(a.loops->name));
    put_rates(o, cpus, &work, (void *[]){&a, &a}, 0);
    return o;
}

/* ---- memory -------------------------------------------------------------------------------------- */

struct arrays {
    size_t n; /* lines of each */
    double *a, *b;
};

/* Reads both arrays and writes a. */
static double arrays_run(void *item)
{
    const struct arrays *m = item;
    loops_next(NULL)->add_scaled(m->n, m->a, m->b);
    return 3.0 * LINE_BYTES * (double)m->n;
}

static int arrays_prepare(void *item)
{
    struct arrays *m = item;
    void *both;
    size_t n = m->n * (LINE_BYTES / sizeof *m->a), bytes = 2 * n * sizeof *m->a;
    if (posix_memalign(&both, HUGE_PAGE, bytes) != 0)
        return -1;
    /* Small pages would take most of the time: an emulated node with a quarter of a core made its pages for 15 s. */
    (void)madvise(both, bytes, MADV_HUGEPAGE);
    m->a = both;
    m->b = m->a + n;
    for (size_t i = 0; i < 2 * n; i++)
        m->a[i] = 1;
    return 0;
}

static void arrays_release(void *item)
{
    free(((struct arrays *)item)->a);
}

/* Asks the kernel first: in virtual machines the C library counts the cache of the whole socket. */
static long last_level_bytes(void)
{
    char path[80], text[64];
    for (int level = 3; level >= 2; level--) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", level);
        if (procfs_read(path, text, sizeof text, NULL) <= 0)
            continue;
        char *end;
        long k = strtol(text, &end, 10);
        if (k > 0)
            return *end == 'M' ? k << 20 : *end == 'K' ? k << 10 : k;
    }
    long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return l3 > 0 ? l3 : l2 > 0 ? l2 : 0;
}

static const size_t least_bytes = 32 << 20, most_bytes = 256 << 20; /* of an array */

/* Bytes of an array of every core together: a sixteenth of the free memory. */
static size_t room_bytes(void)
{
    char text[8192];
    uint64_t available_kb = 0;
    if (procfs_read("/proc/meminfo", text, sizeof text, NULL) > 0 &&
        procfs_field(text, "MemAvailable", &available_kb) == 0)
        return (size_t)available_kb * 1024 / 16;
    return most_bytes;
}

/* Bytes of one array: four times the last-level cache, as STREAM demands, if there is room. */
static size_t array_bytes(json_t *o, size_t room)
{
    size_t want = 4 * (size_t)last_level_bytes();
    size_t bytes = want < least_bytes ? least_bytes : want;
    bytes = bytes > room ? room : bytes;
    bytes = bytes > most_bytes ? most_bytes : bytes;
    json_object_set_new(o, "array_bytes", json_integer((json_int_t)bytes));
    json_object_set_new(o, "last_level_cache_bytes", json_integer((json_int_t)last_level_bytes()));
    if (bytes < want)
        json_object_set_new(o, "note",
                            json_string("arrays are smaller than four times the last-level cache, so a part "
                                        "of the traffic may have stayed in it"));
    return bytes;
}

/* One core works on whole arrays, several on equal parts of them. A processor may have several last-level caches, so
 * each part has at least 32 MB, if there is room: no processor has so much cache for a core. */
json_t *machine_memory(const cpu_set_t *cpus)
{
    size_t n = CPU_COUNT(cpus) ? (size_t)CPU_COUNT(cpus) : 1;
    json_t *o = json_object();
    json_object_set_new(o, "unit", json_string("GB/s"));
    json_object_set_new(o, "kernel", json_string("a = a + s b"));
    json_object_set_new(o, "register_bytes", json_integer(loops_next(NULL)->register_bytes));
    size_t room = room_bytes(), whole = array_bytes(o, room) / LINE_BYTES, part = whole / n;
    size_t least = (room / n < least_bytes ? room / n : least_bytes) / LINE_BYTES;
    part = part < least ? least : part;
    struct arrays one = {.n = whole}, *parts = calloc(n, sizeof *parts);
    for (size_t i = 0; parts && i < n; i++)
        parts[i].n = part;
    const struct work work = {arrays_prepare, arrays_run, arrays_release};
    put_rates(o, cpus, &work, (void *[]){&one, parts}, sizeof *parts);
    free(parts);
    return o;
}
