/* clock_server.c - see clock_server.h. */
#include "collect/monitor/clock_server.h"

#include "collect/record/meta.h"
#include "lib/base/thread.h"
#include "lib/base/fs.h"
#include "lib/base/mono.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_CLIENTS = 1024, LINGER_NS = 500000000 };

struct clock_server {
    char path[PATH_MAX];
    unsigned char word[CLOCK_WORD_BYTES];
    struct pollfd fds[2 + MAX_CLIENTS]; /* wake, listen, clients */
    size_t n;
    int is_full; /* no descriptor for another client until one leaves */
    int wake[2];
    pthread_t thread;
};

static void take_client(struct clock_server *s)
{
    int fd = accept4(s->fds[1].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), on = 1;
    if (fd < 0) {
        s->is_full = errno == EMFILE || errno == ENFILE; /* else the waiting client would wake us again and again */
        return;
    }
    if (s->n == sizeof s->fds / sizeof *s->fds) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    s->fds[s->n++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* One request is one small segment: what does not come whole, or without the word, is no client of ours. */
static int answer(const struct clock_server *s, int fd)
{
    struct clock_request q;
    ssize_t n = recv(fd, &q, sizeof q, 0);
    struct clock_answer a = {.sent_ns = q.sent_ns, .arrived_ns = dcr_mono_ns()};
    if (n != (ssize_t)sizeof q || memcmp(q.word, s->word, sizeof q.word) != 0)
        return -1;
    a.left_ns = dcr_mono_ns();
    return send(fd, &a, sizeof a, MSG_NOSIGNAL) == (ssize_t)sizeof a ? 0 : -1;
}

static void *serve(void *arg)
{
    struct clock_server *s = arg;
    int64_t until = INT64_MAX;
    /* After the order to stop, it waits briefly for last questions; clients hang up after theirs. */
    while (until == INT64_MAX || (s->n > 2 && dcr_mono_ns() < until)) {
        int is_ending = until != INT64_MAX;
        s->fds[0].fd = is_ending ? -1 : s->wake[0];
        s->fds[1].events = is_ending || s->is_full ? 0 : POLLIN;
        if (poll(s->fds, (nfds_t)s->n, is_ending ? 20 : -1) < 0 && errno != EINTR)
            break;
        if (!is_ending && s->fds[0].revents)
            until = dcr_mono_ns() + LINGER_NS;
        for (size_t i = 2; i < s->n; i++)
            if (s->fds[i].revents && answer(s, s->fds[i].fd) != 0) {
                close(s->fds[i].fd);
                s->fds[i--] = s->fds[--s->n];
                s->is_full = 0;
            }
        if (s->fds[1].revents & POLLIN)
            take_client(s);
    }
    return NULL;
}

static int open_port(int *port, struct dcr_err *err)
{
    struct sockaddr_in any = {.sin_family = AF_INET};
    socklen_t n = sizeof any;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&any, n) == 0 && listen(fd, 128) == 0 &&
        getsockname(fd, (struct sockaddr *)&any, &n) == 0) {
        *port = ntohs(any.sin_port);
        return fd;
    }
    dcr_err_sys(err, DCR_FAIL, "no port to tell the time on");
    if (fd >= 0)
        close(fd);
    return -1;
}

static int write_address(const struct clock_server *s, int port, struct dcr_err *err)
{
    char host[256], boot[64], word[2 * CLOCK_WORD_BYTES + 1], partial[PATH_MAX + 16];
    meta_host_name(host, sizeof host);
    meta_boot_id(boot, sizeof boot);
    for (int i = 0; i < CLOCK_WORD_BYTES; i++)
        snprintf(word + 2 * i, 3, "%02x", s->word[i]);
    json_t *o = json_pack("{s:s, s:s, s:i, s:s}", "host", host, "boot_id", boot, "port", port, "word", word);
    char *text = o ? json_dumps(o, 0) : NULL;
    json_decref(o);
    snprintf(partial, sizeof partial, "%s.partial", s->path);
    int fd = text ? open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    size_t n = text ? strlen(text) : 0;
    int rc = fd >= 0 && write(fd, text, n) == (ssize_t)n && rename(partial, s->path) == 0
                 ? DCR_OK
                 : dcr_err_sys(err, DCR_FAIL, "cannot write '%s'", s->path);
    if (fd >= 0)
        close(fd);
    free(text);
    return rc;
}

int clock_server_start(struct clock_server **out, const char *folder, struct dcr_err *err)
{
    int port = 0;
    *out = NULL;
    struct clock_server *s = calloc(1, sizeof *s);
    if (!s || snprintf(s->path, sizeof s->path, "%s/" CLOCK_SERVER_FILE, folder) >= (int)sizeof s->path ||
        getrandom(s->word, sizeof s->word, 0) != (ssize_t)sizeof s->word || pipe2(s->wake, O_CLOEXEC) != 0) {
        free(s);
        return dcr_err_set(err, DCR_FAIL, "no memory or no pipe to tell the time");
    }
    int fd = open_port(&port, err), rc = fd < 0 ? DCR_FAIL : DCR_OK;
    s->fds[0] = (struct pollfd){.fd = s->wake[0], .events = POLLIN};
    s->fds[1] = (struct pollfd){.fd = fd, .events = POLLIN};
    s->n = 2;
    if (rc == 0 && thread_start(&s->thread, serve, s) != 0)
        rc = dcr_err_set(err, DCR_FAIL, "no thread to tell the time");
    if (rc) {
        close(s->wake[0]);
        close(s->wake[1]);
        if (fd >= 0)
            close(fd);
        free(s);
        return rc;
    }
    *out = s;
    rc = write_address(s, port, err);
    if (rc) {
        clock_server_stop(s);
        *out = NULL;
    }
    return rc;
}

void clock_server_stop(struct clock_server *s)
{
    if (!s)
        return;
    unlink(s->path);
    close(s->wake[1]); /* the thread sees its end */
    pthread_join(s->thread, NULL);
    close(s->wake[0]);
    for (size_t i = 1; i < s->n; i++)
        close(s->fds[i].fd);
    free(s);
}
