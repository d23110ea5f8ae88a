/* fork_early.c - forks while another thread initialises NVTX; the child marks too, and must not wait for the end of
 * that initialisation, which does not come there. With -DTOOL the NVTX tool that takes its time, so that this is met
 * for certain. */
#define _GNU_SOURCE
#include <stddef.h>
#include <unistd.h>

extern int fork_early_is_inside;

#ifdef TOOL

int InitializeInjectionNvtx2(void *export_table);
int InitializeInjectionNvtx2(void *export_table)
{
    __atomic_store_n(&fork_early_is_inside, 1, __ATOMIC_RELEASE);
    usleep(200000);
    return export_table != NULL;
}

#else

#include <nvtx3/nvToolsExt.h>

#include <pthread.h>
#include <sys/wait.h>

#ifdef SEARCH
#include <dlfcn.h>
#include <string.h>
#endif

int fork_early_is_inside;

#ifdef SEARCH
char *getenv(const char *name)
{
    static char *(*next)(const char *);
    if (strcmp(name, "NVTX_INJECTION64_PATH") == 0) {
        __atomic_store_n(&fork_early_is_inside, 1, __ATOMIC_RELEASE);
        usleep(200000);
    }
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "getenv");
    return next(name);
}
#endif

static void *mark(void *arg)
{
    nvtxRangePushA("mark");
    nvtxRangePop();
    return arg;
}

int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, mark, NULL) != 0)
        return 2;
    while (!__atomic_load_n(&fork_early_is_inside, __ATOMIC_ACQUIRE))
        usleep(1000);
    pid_t child = fork();
    if (child == 0) {
        alarm(20); /* as the end of waiting for ever */
        mark(NULL);
        _exit(0);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 2;
    pthread_join(thread, NULL);
    return status != 0;
}

#endif
