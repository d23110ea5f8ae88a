/* summary_apart.c - a summary that costs the caller nothing when it fails, see summary.h. A trace may be damaged, or so
 * large that its steps do not fit into memory. So another process reads it, and if that process runs out of memory or
 * crashes, only the summary is lost. */
#include "lib/reduce/summary.h"

#include "lib/base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Reading the summary's text back takes the caller about three times its size in memory. */
enum { LEAST_BYTES = 256 << 20, TEXT_SHARE = 4 };

static size_t current_bytes(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    int n = f ? fscanf(f, "%lu", &pages) : 0;
    if (f)
        fclose(f);
    return n == 1 ? pages * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

/* A quarter of the machine's memory, at most half of what a limit leaves. The other half is for reading the text
 * back. */
static size_t most_bytes(void)
{
    size_t most = (size_t)sysconf(_SC_PHYS_PAGES) / 4 * (size_t)sysconf(_SC_PAGESIZE), used = current_bytes();
    struct rlimit limit;
    most = most > LEAST_BYTES ? most : LEAST_BYTES;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        size_t left = limit.rlim_cur > used ? (size_t)limit.rlim_cur - used : 0;
        most = left / 2 < most ? left / 2 : most;
    }
    return most;
}

static void limit_memory(size_t most)
{
#if !defined(__SANITIZE_ADDRESS__) /* the sanitizer reserves more address space than any machine has memory */
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0) {
        limit.rlim_cur = current_bytes() + most;
        setrlimit(RLIMIT_AS, &limit);
    }
#else
    (void)most;
#endif
    struct rlimit none = {0};
    setrlimit(RLIMIT_CORE, &none);
}

void summary_bound_memory(void)
{
    limit_memory(most_bytes());
}

static void summarise(struct dcr_stream *s, int out, size_t most)
{
    struct summary sum;
    struct dcr_arena a = {0};
    struct dcr_err why = {0}; /* written before the text */
    struct dcr_buf text = {.max = most / TEXT_SHARE};
    int null = open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO); /* the caller reports "out of memory" */
    signal(SIGABRT, SIG_DFL);
    limit_memory(most);
    if (summary_of_trace(&sum, &a, s, &why) == 0)
        summary_write(&sum, &text);
    if (text.failed)
        abort();
    _exit(dcr_write_all(out, &why, sizeof why) || dcr_write_all(out, text.data, text.len));
}

static int take(struct summary *out, struct dcr_arena *a, int from, size_t most, const char *name, struct dcr_err *err)
{
    struct dcr_stream s = dcr_stream_fd(&from, name);
    struct dcr_err why;
    if (dcr_stream_read_full(&s, &why, sizeof why, NULL) != (ssize_t)sizeof why)
        return dcr_err_set(err, DCR_FAIL, "'%s' has no summary: it would take more than %zu MB of memory", name,
                           most >> 20);
    if (why.grade && err)
        *err = why;
    if (why.grade)
        return why.grade;
    return summary_read(out, a, &s, err);
}

int summary_of_trace_apart(struct summary *out, struct dcr_arena *a, struct dcr_stream *s, struct dcr_err *err)
{
    const size_t most = most_bytes();
    struct sigaction before, standard = {.sa_handler = SIG_DFL};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return dcr_err_sys(err, DCR_FAIL, "'%s' has no summary: no pipe", s->name);
    sigaction(SIGCHLD, &standard, &before); /* some launchers leave it ignored, and then children could not be waited
                                             * for */
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        summarise(s, ends[1], most);
    }
    close(ends[1]);
    int rc = pid < 0 ? dcr_err_sys(err, DCR_FAIL, "'%s' has no summary: no process", s->name)
                     : take(out, a, ends[0], most, s->name, err);
    close(ends[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGCHLD, &before, NULL);
    return rc;
}
