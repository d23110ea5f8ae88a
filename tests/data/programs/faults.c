/* faults.c - a program that does everything difficult for a library inside it at once, and prints the result.
 *   faults RANGES     by each of three threads, by a child made by fork and one made by clone
 * It handles SIGSEGV (by siglongjmp), SIGBUS and SIGPROF (a timer) itself, and starts programs by vfork and exec. It
 * opens and closes a library, and closes all descriptors but the first three. Threads end all the time. It prints how
 * many ranges it made and a sum over its work; status 7. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int (*push)(const char *, const char *, const char *, uint64_t);
static int (*pop)(const char *);
static long n_ranges;
static uint64_t n_made, work;
static volatile sig_atomic_t n_ticks, n_bus;
static sigjmp_buf back;

static void range(const char *name, long i)
{
    push("faults", "compute", name, (uint64_t)i);
    __atomic_fetch_add(&work, (uint64_t)i * 2654435761u % 1000, __ATOMIC_RELAXED);
    pop("faults");
    __atomic_fetch_add(&n_made, 1, __ATOMIC_RELAXED);
}

static void *burst(void *arg)
{
    for (long i = 0; i < 100; i++)
        range("thread", i);
    return arg;
}

/* A chain of short threads. */
static void *threads(void *arg)
{
    for (long i = 0; i < n_ranges / 100; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, burst, arg) == 0)
            pthread_join(t, NULL);
    }
    return arg;
}

static void on_fault(int signal)
{
    if (signal == SIGSEGV)
        siglongjmp(back, 1);
    n_bus++;
}

static void on_tick(int signal)
{
    (void)signal;
    n_ticks++;
}

/* Faults between ranges, and one inside a range that is closed afterwards. */
static void *fault(void *arg)
{
    char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < n_ranges; i++) {
        if (i % 500 == 0 && sigsetjmp(back, 1) == 0)
            *(volatile char *)page = 1;
        if (i % 700 == 0)
            raise(SIGBUS);
        range("fault", i);
    }
    munmap(page, 4096);
    return arg;
}

static int child(void *arg)
{
    for (long i = 0; i < n_ranges; i++)
        range(arg, i);
    return 0;
}

static void *start_others(void *arg)
{
    static char stack[1 << 16];
    for (int i = 0; i < 5; i++) {
        pid_t pid = vfork();
        if (pid == 0) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(9);
        }
        waitpid(pid, NULL, 0);
        void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
        if (library)
            dlclose(library);
    }
    pid_t pid = fork();
    if (pid == 0)
        _exit(child("forked"));
    int status = -1;
    waitpid(pid, &status, 0);
    __atomic_fetch_add(&n_made, (uint64_t)n_ranges, __ATOMIC_RELAXED);
    pid = clone(child, stack + sizeof stack, SIGCHLD, "cloned"); /* without the C library's handlers of fork */
    waitpid(pid, &status, 0);
    return arg;
}

int main(int argc, char **argv)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    n_ranges = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    if (!library) /* without a library: the same work without ranges */
        path = NULL;
    *(void **)&push = library ? dlsym(library, "dcc_range_push") : NULL;
    *(void **)&pop = library ? dlsym(library, "dcc_range_pop") : NULL;
    if (!push || !pop)
        return 2;
    signal(SIGSEGV, on_fault);
    signal(SIGBUS, on_fault);
    signal(SIGPROF, on_tick);
    const struct itimerval often = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_PROF, &often, NULL);
    close_range(3, ~0U, 0);
    pthread_t t[3];
    pthread_create(&t[0], NULL, threads, NULL);
    pthread_create(&t[1], NULL, fault, NULL);
    pthread_create(&t[2], NULL, start_others, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    printf("%llu ranges, work %llu, %d\n", (unsigned long long)n_made, (unsigned long long)work,
           n_bus == (n_ranges + 699) / 700);
    return 7;
}
