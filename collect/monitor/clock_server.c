/* clock_server.c - see clock_server.h. */
#include "collect/monitor/clock_server.h"

#include "collect/record/meta.h"
#include "lib/base/mono.h"
#include "lib/base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <jansson.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
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

enum { MAX_ADDRESSES = 8, MAX_CLIENTS = 1024, LINGER_NS = 500000000, FIRST_LOOK_MS = 125, LOOK_MS = 4000 };

struct clock_server {
    char path[PATH_MAX], asked[PATH_MAX];
    unsigned char word[CLOCK_WORD_BYTES];
    struct pollfd fds[1 + MAX_ADDRESSES + MAX_CLIENTS]; /* wake, listening, clients */
    size_t n, n_listening;
    int is_full; /* no descriptor for another client until one leaves */
    int wake[2];
    pthread_t thread;
};

/* ---- clients ---------------------------------------------------------------------------------- */

static void take_client(struct clock_server *s, int listening)
{
    int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), on = 1;
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

/* One request is one small segment. A client that sends only a part, or not the word, is not ours. */
static int answer(const struct clock_server *s, int fd)
{
    struct clock_request q;
    ssize_t n = recv(fd, &q, sizeof q, 0);
    struct clock_answer a = {.sent_ns = q.sent_ns, .arrived_ns = dcr_mono_ns()};
    if (n != (ssize_t)sizeof q || memcmp(q.word, s->word, sizeof q.word) != 0)
        return -1;
    memcpy(a.word, s->word, sizeof a.word);
    a.left_ns = dcr_mono_ns();
    return send(fd, &a, sizeof a, MSG_NOSIGNAL) == (ssize_t)sizeof a ? 0 : -1;
}

static void answer_all(struct clock_server *s)
{
    const size_t first = 1 + s->n_listening;
    int64_t until = INT64_MAX;
    /* After the order to stop, it briefly waits for last questions. Clients hang up after theirs. */
    while (until == INT64_MAX || (s->n > first && dcr_mono_ns() < until)) {
        int is_ending = until != INT64_MAX;
        s->fds[0].fd = is_ending ? -1 : s->wake[0];
        for (size_t i = 1; i < first; i++)
            s->fds[i].events = is_ending || s->is_full ? 0 : POLLIN;
        if (poll(s->fds, (nfds_t)s->n, is_ending ? 20 : -1) < 0 && errno != EINTR)
            break;
        if (!is_ending && s->fds[0].revents)
            until = dcr_mono_ns() + LINGER_NS;
        for (size_t i = first; i < s->n; i++)
            if (s->fds[i].revents && answer(s, s->fds[i].fd) != 0) {
                close(s->fds[i].fd);
                s->fds[i--] = s->fds[--s->n];
                s->is_full = 0;
            }
        for (size_t i = 1; i < first; i++)
            if (s->fds[i].revents & POLLIN)
                take_client(s, s->fds[i].fd);
    }
}

/* ---- where it answers ------------------------------------------------------------------------- */

/* Listens at one address of this host; "10.0.0.1 4711" comes to the list. */
static void listen_at(struct clock_server *s, const struct sockaddr *address, json_t *list)
{
    struct sockaddr_storage at = {0};
    socklen_t n = address->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    char host[NI_MAXHOST], port[NI_MAXSERV], both[NI_MAXHOST + NI_MAXSERV + 1];
    memcpy(&at, address, n);
    int on = 1, fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && address->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&at, n) == 0 && listen(fd, 128) == 0 &&
        getsockname(fd, (struct sockaddr *)&at, &n) == 0 &&
        getnameinfo((struct sockaddr *)&at, n, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) ==
            0) {
        snprintf(both, sizeof both, "%s %s", host, port);
        json_array_append_new(list, json_string(both));
        s->fds[s->n++] = (struct pollfd){.fd = fd, .events = POLLIN};
        s->n_listening++;
    } else if (fd >= 0) {
        close(fd);
    }
}

/* An address that is valid only on its own link cannot be used by its text alone. */
static int is_usable(const struct ifaddrs *i, int is_loopback)
{
    if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || !(i->ifa_flags & IFF_LOOPBACK) != !is_loopback)
        return 0;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)i->ifa_addr;
    return i->ifa_addr->sa_family == AF_INET ||
           (i->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr));
}

/* Loopback is for emulated hosts on a machine without a network. */
static json_t *listen_everywhere(struct clock_server *s)
{
    struct ifaddrs *all = NULL;
    json_t *list = json_array();
    if (getifaddrs(&all) != 0)
        return list;
    for (int is_loopback = 0; is_loopback < 2 && s->n_listening == 0; is_loopback++)
        for (const struct ifaddrs *i = all; i && s->n_listening < MAX_ADDRESSES; i = i->ifa_next)
            if (is_usable(i, is_loopback))
                listen_at(s, i->ifa_addr, list);
    freeifaddrs(all);
    return list;
}

/* ---- the files of the meeting folder ---------------------------------------------------------- */

/* addresses: NULL while nothing listens. Takes the reference */
static int write_address(const struct clock_server *s, json_t *addresses, struct dcr_err *err)
{
    char host[256], boot[64], word[2 * CLOCK_WORD_BYTES + 1], partial[PATH_MAX + 16];
    meta_host_name(host, sizeof host);
    meta_boot_id(boot, sizeof boot);
    for (int i = 0; i < CLOCK_WORD_BYTES; i++)
        snprintf(word + 2 * i, 3, "%02x", s->word[i]);
    json_t *o = json_pack("{s:s, s:s, s:s, s:o*}", "host", host, "boot_id", boot, "word", word, "addresses", addresses);
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

static void *serve(void *arg)
{
    struct clock_server *s = arg;
    struct pollfd stop = {.fd = s->wake[0], .events = POLLIN};
    for (int gap_ms = FIRST_LOOK_MS; access(s->asked, F_OK) != 0;) {
        if (poll(&stop, 1, gap_ms) != 0 && errno != EINTR)
            return NULL;
        gap_ms = 2 * gap_ms < LOOK_MS ? 2 * gap_ms : LOOK_MS;
    }
    if (write_address(s, listen_everywhere(s), NULL) == 0)
        answer_all(s);
    return NULL;
}

int clock_server_start(struct clock_server **out, const char *folder, struct dcr_err *err)
{
    *out = NULL;
    struct clock_server *s = calloc(1, sizeof *s);
    if (!s || snprintf(s->path, sizeof s->path, "%s/" CLOCK_SERVER_FILE, folder) >= (int)sizeof s->path ||
        snprintf(s->asked, sizeof s->asked, "%s/" CLOCK_ASKED_FILE, folder) >= (int)sizeof s->asked ||
        getrandom(s->word, sizeof s->word, 0) != (ssize_t)sizeof s->word || pipe2(s->wake, O_CLOEXEC) != 0) {
        free(s);
        return dcr_err_set(err, DCR_FAIL, "out of memory or of pipes to tell the time");
    }
    s->fds[0] = (struct pollfd){.fd = s->wake[0], .events = POLLIN};
    s->n = 1;
    unlink(s->asked); /* left by a killed run */
    int rc = write_address(s, NULL, err);
    if (rc == 0 && thread_start(&s->thread, serve, s) != 0) {
        unlink(s->path);
        rc = dcr_err_set(err, DCR_FAIL, "no thread to tell the time");
    }
    if (rc) {
        close(s->wake[0]);
        close(s->wake[1]);
        free(s);
        return rc;
    }
    *out = s;
    return DCR_OK;
}

void clock_server_stop(struct clock_server *s)
{
    if (!s)
        return;
    close(s->wake[1]); /* the thread sees the closed pipe */
    pthread_join(s->thread, NULL);
    unlink(s->path);
    unlink(s->asked);
    close(s->wake[0]);
    for (size_t i = 1; i < s->n; i++)
        close(s->fds[i].fd);
    free(s);
}
