/* progress.c - see progress.h. A thread writes the line, so that the work itself never waits for the terminal. */
#include "lib/base/progress.h"

#include "lib/base/mono.h"
#include "lib/base/thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
enum { FIRST_S = 2, EACH_MS = 500 };

static struct {
    const char *program, *what; /* program NULL: progress is not shown */
    size_t n, n_done;
    int64_t n_bytes, n_bytes_done, begin_ns;
    int is_running, is_shown;
    pthread_t thread;
    pthread_cond_t ended;
} work;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_llong n_read;

void progress_allow(const char *program)
{
    const char *term = getenv("TERM");
    if (isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0)
        work.program = program;
}

void progress_read(int64_t bytes)
{
    atomic_fetch_add_explicit(&n_read, bytes, memory_order_relaxed);
}

static int put(const char *line, size_t n)
{
    return write(STDERR_FILENO, line, n) < 0 ? -1 : 0;
}

/* The estimate assumes that the rest goes as fast as the part already done. Files that are read twice count once. This
 * thread writes without the lock, so that a stopped terminal does not hold up the working threads. */
static void show(void)
{
    char line[256];
    int64_t done = atomic_load_explicit(&n_read, memory_order_relaxed);
    done = done > work.n_bytes_done ? done : work.n_bytes_done;
    int n = snprintf(line, sizeof line, "\r\033[K%s: ", work.program);
    if (work.n)
        n += snprintf(line + n, sizeof line - (size_t)n, "%zu of %zu ", work.n_done, work.n);
    n += snprintf(line + n, sizeof line - (size_t)n, "%.100s", work.what);
    if (done > 0 && done < work.n_bytes) {
        double left_s =
            (double)(dcr_mono_ns() - work.begin_ns) / SECOND_NS * (double)(work.n_bytes - done) / (double)done;
        n += left_s < 100 ? snprintf(line + n, sizeof line - (size_t)n, ", about %.0f s for the rest", left_s + 0.5)
                          : snprintf(line + n, sizeof line - (size_t)n, ", about %.0f min for the rest", left_s / 60);
    }
    work.is_shown = 1;
    pthread_mutex_unlock(&lock);
    int is_gone = put(line, (size_t)n) != 0;
    pthread_mutex_lock(&lock);
    work.is_running &= !is_gone;
}

static void *tell(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    int64_t next_ns = work.begin_ns + FIRST_S * SECOND_NS;
    while (work.is_running) {
        const struct timespec next = {next_ns / SECOND_NS, next_ns % SECOND_NS};
        if (pthread_cond_timedwait(&work.ended, &lock, &next) == ETIMEDOUT && work.is_running) {
            show();
            next_ns = dcr_mono_ns() + EACH_MS * (SECOND_NS / 1000);
        }
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

void progress_begin(const char *what, size_t n, int64_t n_bytes)
{
    if (!work.program || work.what)
        return;
    work.what = what;
    work.n = n;
    work.n_bytes = n_bytes;
    work.n_done = 0;
    work.n_bytes_done = 0;
    work.begin_ns = dcr_mono_ns();
    work.is_running = 1;
    work.is_shown = 0;
    atomic_store(&n_read, 0);
    thread_condition(&work.ended);
    if (thread_start(&work.thread, tell, NULL) != 0)
        work.what = NULL; /* no progress is shown then */
}

void progress_begin_file(const char *what, const char *path, int n_times)
{
    struct stat st;
    progress_begin(what, 0, stat(path, &st) == 0 ? n_times * (int64_t)st.st_size : 0);
}

void progress_step(int64_t bytes)
{
    pthread_mutex_lock(&lock);
    work.n_done++;
    work.n_bytes_done += bytes;
    pthread_mutex_unlock(&lock);
}

void progress_end(void)
{
    if (!work.what)
        return;
    pthread_mutex_lock(&lock);
    work.is_running = 0;
    pthread_cond_signal(&work.ended);
    pthread_mutex_unlock(&lock);
    pthread_join(work.thread, NULL);
    pthread_cond_destroy(&work.ended);
    if (work.is_shown)
        (void)put("\r\033[K", 4);
    work.what = NULL;
}
