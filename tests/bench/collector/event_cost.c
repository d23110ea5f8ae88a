/* event_cost.c - the cost of a recorded event for the program, compared with a reference, in turns in one process.
 *   event_cost KIND THREADS ROUNDS EVENTS
 * Each round prints two numbers, the reference and the recorded event, in ns of thread CPU time, mean over EVENTS of
 * each thread. Every second round begins with the recorded ones. Between rounds the program rests, so that the
 * collector can empty the segment. A first round has already touched its pages. The kinds are in the table below.
 * "spawn" has no reference: wall and processor time of a fork and exec of /bin/true, in ns. */
#define _GNU_SOURCE
#ifdef HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#endif
#ifdef HAVE_MPI
#include <mpi.h>
#endif
#ifdef HAVE_LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/bench/collector/lttng_events.h"
#endif

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 8, REST_US = 60000 };

static int fail(const char *why)
{
    fprintf(stderr, "event_cost: %s\n", why);
    exit(2);
}

/* ---- events and their references ---------------------------------------------------------------- */

static void read_clocks(long n)
{
    struct timespec t;
    for (long i = 0; i < n; i++) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        clock_gettime(CLOCK_MONOTONIC, &t);
    }
}

static int (*own_push)(const char *, const char *, const char *, uint64_t);
static int (*own_pop)(const char *);

static void find_own(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *so = path ? dlopen(path, RTLD_NOW) : NULL;
    if (!so)
        fail("this kind of event needs dccollect");
    *(void **)&own_push = dlsym(so, "dcc_range_push");
    *(void **)&own_pop = dlsym(so, "dcc_range_pop");
}

static void push_own(long n)
{
    for (long i = 0; i < n; i++) {
        own_push("bench", "compute", "forward", UINT64_MAX);
        own_pop("bench");
    }
}

#ifdef HAVE_NVTX
static void push_nvtx(long n)
{
    for (long i = 0; i < n; i++) {
        nvtxRangePushA("forward");
        nvtxRangePop();
    }
}

static nvtxDomainHandle_t domain;
static nvtxStringHandle_t backward;

static void find_domain(void)
{
    domain = nvtxDomainCreateA("bench");
    backward = nvtxDomainRegisterStringA(domain, "backward");
}

static void push_domain(long n)
{
    nvtxEventAttributes_t a = {0};
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.category = 1;
    a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = backward;
    for (long i = 0; i < n; i++) {
        a.payload.ullValue = (uint64_t)i;
        nvtxDomainRangePushEx(domain, &a);
        nvtxDomainRangePop(domain);
    }
}
#endif

#ifdef HAVE_LTTNG
static void trace_lttng(long n)
{
    for (long i = 0; i < n; i++) {
        lttng_ust_tracepoint(dcr_bench, push, "forward");
        lttng_ust_tracepoint(dcr_bench, pop, (int)i);
    }
}
#endif

static int fd;
static ssize_t (*libc_pread)(int, void *, size_t, off_t);

static void open_file(void)
{
    static char block[1 << 20]; /* a small file would not be recorded */
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    *(void **)&libc_pread = libc ? dlsym(libc, "pread") : NULL;
    fd = open("event_cost.data", O_CREAT | O_RDWR | O_TRUNC, 0644);
    if (!libc_pread || fd < 0 || write(fd, block, sizeof block) != sizeof block)
        fail("cannot write event_cost.data here");
}

static void read_plain(long n)
{
    char c;
    for (long i = 0; i < n; i++)
        if (libc_pread(fd, &c, 1, i % 4096) != 1)
            fail("pread");
}

static void read_recorded(long n)
{
    char c;
    for (long i = 0; i < n; i++)
        if (pread(fd, &c, 1, i % 4096) != 1)
            fail("pread");
}

#ifdef HAVE_MPI
static struct calls {
    int (*allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    int (*irecv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
    int (*wait)(MPI_Request *, MPI_Status *);
} own = {MPI_Allreduce, MPI_Irecv, MPI_Send, MPI_Wait}, plain;

static int find_plain(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    void *library = strstr(info->dlpi_name, "/libmpi") ? dlopen(info->dlpi_name, RTLD_NOW) : NULL;
    if (!library)
        return 0;
    *(void **)&plain.allreduce = dlsym(library, "MPI_Allreduce");
    *(void **)&plain.irecv = dlsym(library, "MPI_Irecv");
    *(void **)&plain.send = dlsym(library, "MPI_Send");
    *(void **)&plain.wait = dlsym(library, "MPI_Wait");
    return plain.allreduce && plain.irecv && plain.send && plain.wait;
}

static void start_mpi(void)
{
    MPI_Init(NULL, NULL);
    if (!dl_iterate_phdr(find_plain, NULL))
        fail("the MPI library is not found");
}

static void allreduce(const struct calls *mpi, long n)
{
    int x = 1, y;
    for (long i = 0; i < n; i++)
        mpi->allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
}

static void message(const struct calls *mpi, long n)
{
    int x = 1, y;
    for (long i = 0; i < n; i += 3) {
        MPI_Request r;
        mpi->irecv(&y, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &r);
        mpi->send(&x, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
        mpi->wait(&r, MPI_STATUS_IGNORE);
    }
}

static void allreduce_plain(long n)
{
    allreduce(&plain, n);
}
static void allreduce_recorded(long n)
{
    allreduce(&own, n);
}
static void message_plain(long n)
{
    message(&plain, n);
}
static void message_recorded(long n)
{
    message(&own, n);
}
#endif

/* The reference for a push and a pop is two clock reads; for calls it is the library's own functions, which the
 * collector does not see. */
static const struct kind {
    const char *name;
    void (*prepare)(void);
    void (*reference)(long n);
    void (*recorded)(long n);
} kinds[] = {
    {"own", find_own, read_clocks, push_own},
#ifdef HAVE_NVTX
    {"nvtx", NULL, read_clocks, push_nvtx},
    {"domain", find_domain, read_clocks, push_domain},
#endif
#ifdef HAVE_LTTNG
    {"lttng", NULL, read_clocks, trace_lttng},
#endif
    {"pread", open_file, read_plain, read_recorded},
#ifdef HAVE_MPI
    {"allreduce", start_mpi, allreduce_plain, allreduce_recorded},
    {"message", start_mpi, message_plain, message_recorded},
#endif
};

/* ---- rounds -------------------------------------------------------------------------------------- */

static const struct kind *kind;
static long n_threads, n_rounds, n_events;
static pthread_barrier_t all;
static double taken[MAX_THREADS][2]; /* of this round, ns an event: reference, recorded */

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Named for valgrind, which counts what is executed inside. */
__attribute__((noinline)) void count_reference(long n)
{
    kind->reference(n);
    __asm__ volatile(""); /* no tail call: the function must be on the stack */
}

__attribute__((noinline)) void count_recorded(long n)
{
    kind->recorded(n);
    __asm__ volatile("");
}

static void *rounds(void *arg)
{
    double *mine = arg;
    for (long r = -1; r < n_rounds; r++) { /* the first one warms up */
        pthread_barrier_wait(&all);
        for (int i = 0; i < 2; i++) {
            int is_recorded = i != (r & 1);
            double begun = cpu_ns();
            if (is_recorded)
                count_recorded(n_events);
            else
                count_reference(n_events);
            mine[is_recorded] = (cpu_ns() - begun) / (double)n_events;
        }
        pthread_barrier_wait(&all);
        if (mine != taken[0])
            continue;
        usleep(REST_US);
        if (r < 0)
            continue;
        double sum[2] = {0};
        for (long t = 0; t < n_threads; t++)
            for (int i = 0; i < 2; i++)
                sum[i] += taken[t][i];
        printf("%.3f %.3f\n", sum[0] / (double)n_threads, sum[1] / (double)n_threads);
    }
    return NULL;
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static void start_true(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        fail("/bin/true");
}

static double cpu_seconds(void)
{
    struct rusage self, children;
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    return seconds_of(self.ru_utime) + seconds_of(self.ru_stime) + seconds_of(children.ru_utime) +
           seconds_of(children.ru_stime);
}

/* On one core, the last one: a process that moves between cores takes up to three times as long. The first ones are not
 * timed, because the collector starts beside them. */
static int spawn(long n)
{
    struct timespec a, b;
    cpu_set_t allowed, last;
    CPU_ZERO(&last);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        fail("sched_getaffinity");
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed)) {
            CPU_ZERO(&last);
            CPU_SET(cpu, &last);
        }
    if (sched_setaffinity(0, sizeof last, &last) != 0)
        fail("sched_setaffinity");
    for (long i = 0; i < 100; i++)
        start_true();
    double cpu = cpu_seconds();
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (long i = 0; i < n; i++)
        start_true();
    clock_gettime(CLOCK_MONOTONIC, &b);
    cpu = cpu_seconds() - cpu;
    double wall = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
    printf("%.0f %.0f\n", wall / (double)n, cpu * 1e9 / (double)n);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        fail("say KIND THREADS ROUNDS EVENTS");
    n_threads = strtol(argv[2], NULL, 10);
    n_rounds = strtol(argv[3], NULL, 10);
    n_events = strtol(argv[4], NULL, 10);
    if (strcmp(argv[1], "spawn") == 0)
        return spawn(n_events);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, argv[1]) == 0)
            kind = &kinds[i];
    if (!kind || n_threads < 1 || n_threads > MAX_THREADS)
        fail("this kind of event is not built in, or the number of threads is not 1 to 8");
    if (kind->prepare)
        kind->prepare();
    pthread_barrier_init(&all, NULL, (unsigned)n_threads);
    pthread_t threads[MAX_THREADS];
    for (long t = 1; t < n_threads; t++)
        pthread_create(&threads[t], NULL, rounds, taken[t]);
    rounds(taken[0]);
    for (long t = 1; t < n_threads; t++)
        pthread_join(threads[t], NULL);
#ifdef HAVE_MPI
    int has_mpi;
    MPI_Initialized(&has_mpi);
    if (has_mpi)
        MPI_Finalize();
#endif
    return 0;
}
