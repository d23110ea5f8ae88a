/* thread.c - threads without signals, conditions on the monotonic clock. */
#include "lib/base/thread.h"

#include <signal.h>
#include <time.h>

int thread_start(pthread_t *thread, void *(*body)(void *), void *arg)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = pthread_create(thread, NULL, body, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return failed;
}

void thread_condition(pthread_cond_t *c)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(c, &attr);
    pthread_condattr_destroy(&attr);
}
