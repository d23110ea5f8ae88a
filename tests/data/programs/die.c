/* die.c - names ranges, writes a file, prints, and dies in the requested way. It must do the same with and without the
 * collector.
 *   die exit|_exit|abort|segv|kill|term|oom|quick|thread|exec   [STEPS (200)]
 * oom: asks for memory until there is none. thread: exit() while other threads name ranges. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int (*push)(const char *, const char *, const char *, uint64_t);
static int (*pop)(const char *);

static void load(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    if (!library)
        return;
    *(void **)&push = dlsym(library, "dcc_range_push");
    *(void **)&pop = dlsym(library, "dcc_range_pop");
}

static void *name_on(void *arg)
{
    for (;;) {
        push ? push("die", "", "in a thread", UINT64_MAX) : 0;
        pop ? pop("die") : 0;
    }
    return arg;
}

static void eat_memory(void)
{
    for (size_t n = (size_t)64 << 20;;) {
        char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) {
            puts("no memory");
            exit(12);
        }
        for (size_t i = 0; i < n; i += 4096)
            p[i] = 1;
        push ? push("die", "", "eating", UINT64_MAX) : 0;
        pop ? pop("die") : 0;
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "exit";
    long steps = argc > 2 ? strtol(argv[2], NULL, 10) : 200;
    static char text[10000];
    FILE *f = fopen("die.out", "w");
    load();
    for (long i = 0; i < steps; i++) {
        push ? push("die", "step", "step", (uint64_t)i) : 0;
        if (f)
            fwrite(text, 1, sizeof text, f);
        pop ? pop("die") : 0;
    }
    push ? push("die", "", "last words", UINT64_MAX) : 0;
    printf("about to %s\n", how);
    fflush(stdout);
    if (strcmp(how, "_exit") == 0)
        _exit(3);
    if (strcmp(how, "quick") == 0)
        quick_exit(4);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "segv") == 0)
        *(volatile int *)8 = 1;
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "term") == 0)
        raise(SIGTERM);
    if (strcmp(how, "oom") == 0)
        eat_memory();
    if (strcmp(how, "exec") == 0)
        execl("/bin/sh", "sh", "-c", "echo exec; exit 5", (char *)NULL);
    if (strcmp(how, "thread") == 0) {
        pthread_t t;
        for (int i = 0; i < 4; i++)
            pthread_create(&t, NULL, name_on, NULL);
        usleep(100000);
        exit(6);
    }
    return 7;
}
