/* stress.c - the stress of real programs for a guest library, through its own entry points:
 *   stress names N     two threads name N ranges each, every name new, in turns, categories named late
 *   stress threads N   N threads of 500 ranges each, all at once
 *   stress close       closes every descriptor, opens other files, then names 20000 ranges
 *   stress cancel      threads that are cancelled before their first range
 *   stress jumps N     N signal handlers that leave by siglongjmp() while ranges are recorded, then 5000 ranges
 *   stress ends        20 ranges of the process that end when there is no room for more, then 200000 ranges
 *   stress handler     ranges from a signal handler that interrupts ranges
 * Prints how many events (pushes and pops) it made. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static int (*push)(const char *, const char *, const char *, uint64_t);
static int (*pop)(const char *);
static uint64_t (*start)(const char *, const char *, const char *, uint64_t);
static void (*end)(const char *, uint64_t);
static int n_names;
static pthread_barrier_t barrier;

static void *name_much(void *arg)
{
    char name[64], category[64];
    for (int i = 0; i < n_names; i++) {
        /* Each thread uses the names that the other one has just defined. */
        snprintf(name, sizeof name, "name %d", (i / 50 + *(int *)arg) % 2 ? i : i + 50);
        snprintf(category, sizeof category, "category %d", i / 1000);
        push("names", category, name, (uint64_t)i);
        pop("names");
        if (i % 50 == 0)
            pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void *be_thread(void *arg)
{
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 500; i++) {
        push("", "", "in thread", UINT64_MAX);
        pop("");
    }
    return arg;
}

static volatile long n_in_handler;

static void handler(int signal)
{
    (void)signal;
    push("", "", "in handler", UINT64_MAX);
    pop("");
    n_in_handler += 2;
}

static long names(int n)
{
    pthread_t other;
    int a = 0, b = 1;
    n_names = n;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&other, NULL, name_much, &b);
    name_much(&a);
    pthread_join(other, NULL);
    return 4l * n;
}

static long threads(int n)
{
    pthread_t *t = malloc((size_t)n * sizeof *t);
    if (!t)
        return -1;
    pthread_barrier_init(&barrier, NULL, (unsigned)n);
    for (int i = 0; i < n; i++)
        pthread_create(&t[i], NULL, be_thread, NULL);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    free(t);
    return 1000l * n;
}

/* The cancel request comes before its first event; inside a range it must not take effect. */
static void *be_cancelled(void *arg)
{
    pthread_cancel(pthread_self());
    for (int i = 0; i < 3000; i++) {
        push("", "", "cancelled", UINT64_MAX);
        pop("");
    }
    __atomic_fetch_add((int *)arg, 1, __ATOMIC_RELAXED);
    pthread_testcancel();
    return NULL;
}

static long cancelled(void)
{
    pthread_t t[4];
    int n_left = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, be_cancelled, &n_left);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return n_left == 4 ? 24000 : -1;
}

/* A handler that never comes back, like those of time limits; then undisturbed ranges. */
static sigjmp_buf again;

static void jump(int signal)
{
    (void)signal;
    siglongjmp(again, 1);
}

static long jumps(int n)
{
    struct sigaction a = {.sa_handler = jump};
    struct itimerval soon = {{0, 0}, {0, 200}};
    volatile int n_jumps = 0;
    sigaction(SIGALRM, &a, NULL);
    sigsetjmp(again, 1);
    if (n_jumps++ < n) {
        setitimer(ITIMER_REAL, &soon, NULL);
        for (;;) {
            push("", "", "jumped over", UINT64_MAX);
            pop("");
        }
    }
    for (int i = 0; i < 5000; i++) {
        push("", "", "after all", UINT64_MAX);
        pop("");
    }
    return 5000;
}

static long ends(void)
{
    enum { N = 20, MANY = 200000 };
    uint64_t id[N];
    for (int i = 0; i < N; i++)
        id[i] = start("", "", "long", UINT64_MAX);
    for (int i = 0; i < MANY; i++) {
        push("", "", "fill", UINT64_MAX);
        pop("");
    }
    for (int i = 0; i < N; i++)
        end("", id[i]);
    for (int i = 0; i < MANY; i++) {
        push("", "", "more", UINT64_MAX);
        pop("");
    }
    return 2 * (N + 2 * MANY);
}

static long close_all(void)
{
    push("", "", "before", UINT64_MAX);
    pop("");
    for (int fd = 3; fd < 4096; fd++)
        close(fd);
    /* These descriptors now mean files of the program. */
    for (int i = 0; i < 1000; i++)
        (void)!open("precious", O_RDWR);
    for (int i = 0; i < 20000; i++) {
        push("", "", "after", UINT64_MAX);
        pop("");
    }
    return 40002;
}

static long handlers(void)
{
    struct sigaction a = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &a, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    long n = 0;
    for (; n < 2000000; n += 2) {
        push("", "", "interrupted", UINT64_MAX);
        pop("");
    }
    setitimer(ITIMER_REAL, &never, NULL);
    return n + n_in_handler;
}

int main(int argc, char **argv)
{
    const char *path = getenv("NVTX_INJECTION64_PATH"), *what = argc > 1 ? argv[1] : "";
    int n = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    if (!library)
        return 2;
    *(void **)&push = dlsym(library, "dcc_range_push");
    *(void **)&pop = dlsym(library, "dcc_range_pop");
    *(void **)&start = dlsym(library, "dcc_range_start");
    *(void **)&end = dlsym(library, "dcc_range_end");
    long events = strcmp(what, "names") == 0     ? names(n)
                  : strcmp(what, "threads") == 0 ? threads(n)
                  : strcmp(what, "close") == 0   ? close_all()
                  : strcmp(what, "cancel") == 0  ? cancelled()
                  : strcmp(what, "jumps") == 0   ? jumps(n)
                  : strcmp(what, "ends") == 0    ? ends()
                                                 : handlers();
    printf("%ld\n", events);
    return 0;
}
