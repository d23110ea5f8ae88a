/* ahead.c - see ahead.h. */
#include "render/read/ahead.h"

#include "lib/base/cores.h"
#include "lib/archive/member.h"
#include "render/read/cores.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct file {
    struct trace_ahead trace;
    struct dcr_err err;
    int rc, is_done, is_taken;
};

struct ahead {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const char *root;
    char *const *names;
    struct file *files; /* shape (n) */
    const struct run_watch *watch;
    size_t n, next, wanted; /* next: the next file to read; wanted: the files before it are in the run */
    int is_ended, n_threads;
    pthread_t threads[CORES_MAX];
};

static int read_file(struct ahead *a, size_t i)
{
    struct file *f = &a->files[i];
    int node, rank, rc = DCR_END;
    char path[4400];
    enum dcr_role role = dcr_role_of(a->names[i], &node, &rank);
    if (role != DCR_ROLE_FOREIGN && role != DCR_ROLE_LOG && role != DCR_ROLE_OTHER)
        return DCR_END;
    int n = snprintf(path, sizeof path, "%s%s%s", a->root, *a->root ? "/" : "", a->names[i]);
    int fd = n > 0 && (size_t)n < sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return DCR_END;
    struct dcr_stream s = dcr_stream_fd(&fd, a->names[i]);
    dcr_cores_work(1);
    rc = import_trace_ahead(&f->trace, a->watch, a->names[i], &s, &f->err);
    dcr_cores_work(-1);
    close(fd);
    return rc;
}

/* Reads file i. The caller holds the lock, which is released while reading. */
static void read_locked(struct ahead *a, size_t i)
{
    a->files[i].is_taken = 1;
    pthread_mutex_unlock(&a->lock);
    int rc = read_file(a, i);
    pthread_mutex_lock(&a->lock);
    a->files[i].rc = rc;
    a->files[i].is_done = 1;
    pthread_cond_broadcast(&a->changed);
}

/* Reads the next file, or waits for other threads. It does not read far ahead of the run, because ready files stay in
 * memory. */
static void go_on(struct ahead *a)
{
    while (a->next < a->n && a->files[a->next].is_taken)
        a->next++;
    if (a->next < a->n && a->next <= a->wanted + 2 * (size_t)a->n_threads + 2)
        read_locked(a, a->next);
    else
        pthread_cond_wait(&a->changed, &a->lock);
}

static void *work(void *ctx)
{
    struct ahead *a = ctx;
    pthread_mutex_lock(&a->lock);
    while (!a->is_ended && a->next < a->n)
        go_on(a);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* Takes files that were read already, before any thread begins. */
static void take_ready(struct ahead *a, struct trace_ahead *const *ready)
{
    for (size_t i = 0; ready && i < a->n; i++) {
        if (!ready[i])
            continue;
        a->files[i] = (struct file){.trace = *ready[i], .is_taken = 1, .is_done = 1};
        memset(ready[i], 0, sizeof *ready[i]);
    }
}

struct ahead *ahead_start(const char *root, char *const *names, struct trace_ahead *const *ready, size_t n,
                          const struct run_watch *watch)
{
    int n_cores = cores_free();
    struct ahead *a = (n_cores > 1 && n > 1) || ready ? calloc(1, sizeof *a) : NULL;
    if (!a || !(a->files = calloc(n, sizeof *a->files))) {
        free(a);
        return NULL;
    }
    a->root = root;
    a->names = names;
    a->n = n;
    a->watch = watch;
    take_ready(a, ready);
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    pthread_mutex_lock(&a->lock);
    while (a->n_threads < n_cores - 1 && pthread_create(&a->threads[a->n_threads], NULL, work, a) == 0)
        a->n_threads++;
    pthread_mutex_unlock(&a->lock);
    return a;
}

/* Waits until a thread has read file i. */
static struct file *await(struct ahead *a, size_t i)
{
    struct file *f = &a->files[i];
    pthread_mutex_lock(&a->lock);
    a->wanted = i;
    pthread_cond_broadcast(&a->changed);
    if (!f->is_taken)
        read_locked(a, i);
    while (!f->is_done)
        go_on(a);
    pthread_mutex_unlock(&a->lock);
    return f;
}

int ahead_trace(struct ahead *a, size_t i, struct trace_ahead *out)
{
    struct file *f = await(a, i);
    if (f->rc)
        return f->rc;
    *out = f->trace;
    memset(&f->trace, 0, sizeof f->trace);
    return 0;
}

int ahead_take(struct ahead *a, size_t i, struct run *r, struct dcr_err *err)
{
    struct file *f = await(a, i);
    if (f->rc == 0)
        import_trace_add(r, &f->trace);
    else if (f->rc != DCR_END && err)
        *err = f->err;
    return f->rc;
}

void ahead_end(struct ahead *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->is_ended = 1;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    for (int i = 0; i < a->n_threads; i++)
        pthread_join(a->threads[i], NULL);
    for (size_t i = 0; i < a->n; i++)
        import_trace_free(&a->files[i].trace);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a->files);
    free(a);
}
