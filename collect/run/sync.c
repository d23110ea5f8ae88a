/* sync.c - see sync.h. */
#include "collect/run/sync.h"

#include "lib/base/thread.h"
#include "lib/base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FOLDERS = 4, MAX_DEPTH = 3, IDLE_SECONDS = 30 };

struct syncer {
    char folders[MAX_FOLDERS][PATH_MAX];
    int n, seconds, is_ending;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    uint64_t (*n_writes)(void *ctx);
    void *ctx;
};

static void sync_one(const char *path, int flags)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags);
    if (fd < 0)
        return;
    int rc = flags & O_DIRECTORY ? fsync(fd) : fdatasync(fd);
    (void)rc;
    close(fd);
}

static void sync_folder(const char *dir, int depth)
{
    char **names = NULL;
    size_t n = 0;
    if (dcr_list_dir(dir, &names, &n, NULL) != 0)
        return;
    for (size_t i = 0; i < n; i++) {
        char path[PATH_MAX];
        struct stat st;
        int k = snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        if (k < 0 || (size_t)k >= sizeof path || lstat(path, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode) && depth < MAX_DEPTH)
            sync_folder(path, depth + 1);
        else if (S_ISREG(st.st_mode))
            sync_one(path, 0);
    }
    dcr_free_names(names, n);
    sync_one(dir, O_DIRECTORY);
}

/* returns 1 when it is time to end */
static int wait_a_while(struct syncer *s, struct timespec *next, int seconds)
{
    pthread_mutex_lock(&s->lock);
    next->tv_sec += seconds;
    while (!s->is_ending && pthread_cond_timedwait(&s->wake, &s->lock, next) != ETIMEDOUT)
        ;
    int is_ending = s->is_ending;
    pthread_mutex_unlock(&s->lock);
    return is_ending;
}

static void *work(void *arg)
{
    struct syncer *s = arg;
    struct timespec next;
    uint64_t n_before = UINT64_MAX;
    int seconds = s->seconds;
    clock_gettime(CLOCK_MONOTONIC, &next);
    while (!wait_a_while(s, &next, seconds)) {
        struct timespec now;
        uint64_t n_writes = s->n_writes ? s->n_writes(s->ctx) : 0;
        if (s->n_writes && n_writes == n_before) { /* an idle rank is woken ever more seldom */
            seconds = 2 * seconds < IDLE_SECONDS ? 2 * seconds : IDLE_SECONDS;
            continue;
        }
        seconds = s->seconds;
        n_before = n_writes;
        for (int i = 0; i < s->n; i++)
            sync_folder(s->folders[i], 0);
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec > next.tv_sec) /* a slow disk: no pile of overdue rounds */
            next = now;
    }
    return NULL;
}

struct syncer *sync_start(const char *const *folders, int n, int seconds, uint64_t (*n_writes)(void *ctx), void *ctx)
{
    struct syncer *s = seconds > 0 ? calloc(1, sizeof *s) : NULL;
    if (!s)
        return NULL;
    s->seconds = seconds;
    s->n_writes = n_writes;
    s->ctx = ctx;
    for (int i = 0; i < n && s->n < MAX_FOLDERS; i++)
        if (folders[i] && (size_t)snprintf(s->folders[s->n], PATH_MAX, "%s", folders[i]) < PATH_MAX)
            s->n++;
    pthread_mutex_init(&s->lock, NULL);
    thread_condition(&s->wake);
    if (thread_start(&s->thread, work, s) == 0)
        return s;
    free(s);
    return NULL;
}

void sync_stop(struct syncer *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->is_ending = 1;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
