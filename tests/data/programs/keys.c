/* keys.c - a signal handler records the first event of a thread while the thread is in malloc(). The program has made
 * more than 32 keys of thread-specific data, and for a later key pthread_setspecific() calls malloc().
 *   keys N   N threads; exit status 1 if one hangs */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int (*push)(const char *, const char *, const char *, uint64_t);
static int (*pop)(const char *);
static volatile sig_atomic_t is_done;

static void on_signal(int number)
{
    (void)number;
    push("d", "c", "r", UINT64_MAX);
    pop("d");
    is_done = 1;
}

static void *allocate(void *none)
{
    void *p[64];
    while (!is_done) {
        for (int i = 0; i < 64; i++)
            p[i] = malloc((size_t)(2000 + 64 * i));
        for (int i = 0; i < 64; i++)
            free(p[i]);
    }
    return none;
}

int main(int argc, char **argv)
{
    pthread_key_t key;
    for (int i = 0; i < 40; i++)
        pthread_key_create(&key, NULL);
    *(void **)&push = dlsym(RTLD_DEFAULT, "dcc_range_push");
    *(void **)&pop = dlsym(RTLD_DEFAULT, "dcc_range_pop");
    if (!push || !pop || argc < 2)
        return 2;
    long n_threads = strtol(argv[1], NULL, 10);
    signal(SIGUSR1, on_signal);
    for (long i = 0; i < n_threads; i++) {
        pthread_t thread;
        struct timespec until;
        is_done = 0;
        pthread_create(&thread, NULL, allocate, NULL);
        usleep((useconds_t)(100 + i % 97));
        pthread_kill(thread, SIGUSR1);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 10;
        if (pthread_timedjoin_np(thread, NULL, &until) != 0) {
            printf("thread %ld hangs\n", i);
            fflush(stdout);
            _exit(1);
        }
    }
    puts("all threads ended");
    return 0;
}
