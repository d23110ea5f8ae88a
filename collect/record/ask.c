/* ask.c - see ask.h. */
#include "collect/record/ask.h"

#include "lib/base/mono.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void become_child(void (*child)(void *ctx), void *ctx, int out)
{
    int in = open("/dev/null", O_RDONLY), null = open("/dev/null", O_WRONLY);
    if (in < 0 || null < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(null, STDERR_FILENO) < 0)
        _exit(127);
    /* A collector that watches this one must not record programs that are not part of its run. */
    unsetenv("DCC_SPOOL");
    unsetenv("LD_PRELOAD");
    /* Processes that it starts end with it. */
    (void)setpgid(0, 0);
    child(ctx);
    _exit(0);
}

/* returns  0 at the end of the output; else the child may still be at work: 1 when out is full, ASK_TOO_LONG */
static int listen_to(int from, int timeout_ms, char *out, size_t n)
{
    const int64_t until_ns = dcr_mono_ns() + (int64_t)timeout_ms * 1000000;
    for (size_t used = 0; used + 1 < n;) {
        int64_t left_ms = (until_ns - dcr_mono_ns()) / 1000000;
        struct pollfd p = {.fd = from, .events = POLLIN};
        int rc = left_ms > 0 ? poll(&p, 1, (int)left_ms) : 0;
        ssize_t k = rc > 0 ? read(from, out + used, n - 1 - used) : rc;
        if (k < 0 && errno == EINTR)
            continue;
        if (rc <= 0)
            return ASK_TOO_LONG;
        if (k <= 0)
            return 0;
        used += (size_t)k;
        out[used] = '\0';
    }
    return 1;
}

int ask_child(void (*child)(void *ctx), void *ctx, int timeout_ms, char *out, size_t n)
{
    int ends[2], status = 0;
    out[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0)
        return ASK_FAILED;
    /* With SIGCHLD ignored (some launchers do) there would be no status to wait for. */
    struct sigaction before, standard = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &standard, &before);
    pid_t pid = fork();
    if (pid == 0) {
        sigaction(SIGCHLD, &before, NULL);
        become_child(child, ctx, ends[1]);
    }
    close(ends[1]);
    if (pid > 0)
        (void)setpgid(pid, pid); /* also here, because parent or child may run first */
    int cut = pid > 0 ? listen_to(ends[0], timeout_ms, out, n) : 0;
    close(ends[0]);
    if (cut)
        (void)kill(-pid, SIGKILL);
    pid_t ended = -1;
    do
        ended = pid > 0 ? waitpid(pid, &status, 0) : -1;
    while (ended < 0 && errno == EINTR && pid > 0);
    sigaction(SIGCHLD, &before, NULL);
    if (cut)
        return cut < 0 ? cut : 0;
    return ended == pid && WIFEXITED(status) ? WEXITSTATUS(status) : ASK_FAILED;
}
