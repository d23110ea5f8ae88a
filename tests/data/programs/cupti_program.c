/* cupti_program.c - behaves like a program with CUDA, seen from the collector: loads what CUDA_INJECTION64_PATH names,
 * calls its InitializeInjection, and lets fake_cupti.c (DCC_CUPTI) report. cupti_program N
 * [exit|kill|fork]     prints records dropped for want of buffers, and CLOCK_MONOTONIC before and after */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long mono(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(int argc, char **argv)
{
    const char *injection = getenv("CUDA_INJECTION64_PATH"), *fake = getenv("DCC_CUPTI");
    long n = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    void *l = injection ? dlopen(injection, RTLD_NOW) : NULL;
    int (*initialize)(void) = NULL, (*emit)(long) = NULL;
    if (l)
        *(void **)&initialize = dlsym(l, "InitializeInjection");
    if (!initialize || initialize() != 1)
        return 2;
    usleep(20000);
    long long before = mono();
    l = fake ? dlopen(fake, RTLD_NOW | RTLD_NOLOAD) : NULL;
    if (l)
        *(void **)&emit = dlsym(l, "fake_emit");
    printf("%d ", emit ? emit(n) : 0);
    printf("%lld %lld\n", before, mono());
    fflush(stdout);
    if (argc > 2 && strcmp(argv[2], "kill") == 0)
        raise(SIGKILL);
    if (argc > 2 && strcmp(argv[2], "fork") == 0) {
        pid_t child = fork();
        if (child == 0)
            exit(0); /* with the handlers that the parent gave to atexit() */
        waitpid(child, NULL, 0);
    }
    return 0;
}
