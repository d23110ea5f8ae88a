/* thread.h - threads beside the main one. */
#ifndef LIB_BASE_THREAD_H
#define LIB_BASE_THREAD_H

#include <pthread.h>

/** thread_start - starts a thread that no signal interrupts, since the main thread handles signals.
 *  returns  0, else the error number of pthread_create */
int thread_start(pthread_t *thread, void *(*body)(void *), void *arg);
/** thread_condition - a condition whose timed waits use CLOCK_MONOTONIC. */
void thread_condition(pthread_cond_t *c);

#endif
