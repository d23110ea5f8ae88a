/* threads.h - which thread of which process made a call of the runtime, as a small number for each thread. It tells
 * whether a waiting call can have delayed a launch of another thread or process. Inside render/device only. Test:
 * tests/unit/test_activity.c */
#ifndef RENDER_DEVICE_THREADS_H
#define RENDER_DEVICE_THREADS_H

#include <stdint.h>

enum { THREADS_MAX = 64, THREAD_UNKNOWN = -1 };

struct threads {
    struct {
        int64_t process, thread;
    } of[THREADS_MAX];
    int n, last;
};

/** threads_index - 0 .. n - 1; THREAD_UNKNOWN beyond THREADS_MAX. */
static inline int threads_index(struct threads *t, int64_t process, int64_t thread)
{
    if (t->last < t->n && t->of[t->last].thread == thread && t->of[t->last].process == process)
        return t->last;
    for (int i = 0; i < t->n; i++)
        if (t->of[i].thread == thread && t->of[i].process == process)
            return t->last = i;
    if (t->n == THREADS_MAX)
        return THREAD_UNKNOWN;
    t->of[t->n].process = process;
    t->of[t->n].thread = thread;
    return t->last = t->n++;
}

#endif
