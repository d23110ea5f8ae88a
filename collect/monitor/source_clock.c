/* source_clock.c - measures the offset of this host's CLOCK_MONOTONIC from that of rank 0's host, every few seconds
 * during the run. It asks over TCP, and clock_server.c answers. Of several questions the one with the shortest round
 * trip is used. offset = ((arrived - sent) + (left - received)) / 2 is wrong by at most half the time on the way
 * (RFC 5905, section 8). The host of rank 0 has nothing to ask. */
#include "collect/monitor/clock_server.h"
#include "collect/record/meta.h"
#include "collect/monitor/source.h"
#include "lib/base/thread.h"
#include "lib/archive/format.h"
#include "lib/base/mono.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { QUESTIONS = 20, LATER_S = 10, TIMEOUT_MS = 500, RETRY_MS = 125, MOST_RETRY_MS = 32000, LAST_WAIT_MS = 1200 };

/* A separate thread asks for the time, because networks and shared folders may be slow while the other monitors are
 * sampled. The fields belong to that thread while state is ASKED, and to the sampler otherwise. */
struct clock {
    char path[PATH_MAX], asked[PATH_MAX];
    int is_asking; /* 0: the only host, or the host of rank 0 */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum { IDLE, ASKED, ANSWERED } state;
    int is_leaving; /* the thread ends; if it is in an exchange, it also frees this struct */
    int socket;
    char host[256];
    unsigned char word[CLOCK_WORD_BYTES];
    struct {
        int rc; /* 0: there is an answer; 1: there is nothing to ask */
        int64_t at_ns, offset, error;
    } answer;
    int64_t next_ns, patient_until_ns;
    int retry_ms; /* after a question without answer: doubled each time */
    long n_rows;
    char why[300]; /* why there is no answer */
};

static void release(struct clock *c)
{
    if (c->socket >= 0)
        close(c->socket);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static int read_word(struct clock *c, const char *hex)
{
    for (int i = 0; i < CLOCK_WORD_BYTES; i++) {
        unsigned value;
        if (!hex || strlen(hex) != 2 * CLOCK_WORD_BYTES || sscanf(hex + 2 * i, "%2x", &value) != 1)
            return -1;
        c->word[i] = (unsigned char)value;
    }
    return 0;
}

/* connect() with a time limit, because a firewall may swallow packets. */
static int connect_to(const struct addrinfo *a)
{
    struct timeval limit = {.tv_usec = TIMEOUT_MS * 1000};
    int on = 1, fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit); /* limits connect() too */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
        return fd;
    int error = errno == EINPROGRESS ? ETIMEDOUT : errno;
    close(fd);
    errno = error;
    return -1;
}

/* "10.0.0.1 4711": connected, or -1 */
static int connect_by_text(const char *text)
{
    char host[NI_MAXHOST];
    const char *port = text ? strchr(text, ' ') : NULL;
    const struct addrinfo want = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (!port || (size_t)(port - text) >= sizeof host)
        return -1;
    snprintf(host, sizeof host, "%.*s", (int)(port - text), text);
    int fd = getaddrinfo(host, port + 1, &want, &found) == 0 ? connect_to(found) : -1;
    if (found)
        freeaddrinfo(found);
    return fd;
}

/* Asks the collector of rank 0 to listen, which it does only on request. */
static void ask_for_server(const struct clock *c)
{
    int fd = open(c->asked, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

/* returns 1 when there is nothing to ask, because this host answers */
static int find_server(struct clock *c)
{
    char own_host[256], own_boot[64];
    json_t *o = json_load_file(c->path, 0, NULL);
    const char *host = json_string_value(json_object_get(o, "host"));
    const char *boot = json_string_value(json_object_get(o, "boot_id"));
    const json_t *list = json_object_get(o, "addresses");
    int rc = -1;
    if (host && boot && read_word(c, json_string_value(json_object_get(o, "word"))) == 0) {
        snprintf(c->host, sizeof c->host, "%s", host);
        meta_host_name(own_host, sizeof own_host);
        meta_boot_id(own_boot, sizeof own_boot);
        if (strcmp(boot, own_boot) == 0 && strcmp(host, own_host) == 0) {
            rc = 1;
        } else if (!list) {
            ask_for_server(c);
            snprintf(c->why, sizeof c->why, "the collector of rank 0, on '%s', opened no port", host);
        } else {
            for (size_t i = 0; rc < 0 && i < json_array_size(list); i++) {
                c->socket = connect_by_text(json_string_value(json_array_get(list, i)));
                rc = c->socket < 0 ? -1 : 0;
            }
            if (rc)
                snprintf(c->why, sizeof c->why, "none of the %zu addresses of '%s' can be asked for the time: %s",
                         json_array_size(list), host, strerror(errno));
        }
    }
    json_decref(o);
    return rc;
}

static int ask(const struct clock *c, int64_t *offset, int64_t *error)
{
    *error = INT64_MAX;
    for (int i = 0; i < QUESTIONS; i++) {
        struct clock_request q = {.sent_ns = dcr_mono_ns()};
        struct clock_answer a;
        memcpy(q.word, c->word, sizeof q.word);
        if (send(c->socket, &q, sizeof q, MSG_NOSIGNAL) != (ssize_t)sizeof q ||
            recv(c->socket, &a, sizeof a, MSG_WAITALL) != (ssize_t)sizeof a || a.sent_ns != q.sent_ns ||
            memcmp(a.word, c->word, sizeof a.word) != 0)
            return -1;
        int64_t now = dcr_mono_ns(), way = (now - q.sent_ns) - (a.left_ns - a.arrived_ns);
        if (way < 0) /* there is no such server */
            return -1;
        if (way / 2 + 1 < *error) {
            *error = way / 2 + 1;
            *offset = ((a.arrived_ns - q.sent_ns) + (a.left_ns - now)) / 2;
        }
    }
    return 0;
}

static void exchange(struct clock *c)
{
    int found = c->socket < 0 ? find_server(c) : 0;
    c->answer.rc = found;
    if (found != 0)
        return;
    if (ask(c, &c->answer.offset, &c->answer.error) == 0) {
        c->answer.at_ns = dcr_mono_ns();
        return;
    }
    c->answer.rc = -1; /* rank 0 may end before this rank */
    close(c->socket);
    c->socket = -1;
    snprintf(c->why, sizeof c->why, "'%s' stopped answering", c->host);
}

static void *thread_main(void *arg)
{
    struct clock *c = arg;
    pthread_mutex_lock(&c->lock);
    while (!c->is_leaving) {
        if (c->state != ASKED) {
            pthread_cond_wait(&c->changed, &c->lock);
            continue;
        }
        pthread_mutex_unlock(&c->lock);
        exchange(c);
        pthread_mutex_lock(&c->lock);
        c->state = ANSWERED;
        pthread_cond_broadcast(&c->changed);
        if (c->is_leaving) { /* the waiting thread has left */
            pthread_mutex_unlock(&c->lock);
            release(c);
            return NULL;
        }
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ctx: the struct, which a thread that is still asking outlives */
static int configure(void *ctx, const struct source_config *config, struct dcr_err *err)
{
    struct clock *c = calloc(1, sizeof *c);
    const char *folder = config->clock_folder ? config->clock_folder : "";
    if (!c)
        return dcr_err_set(err, DCR_FAIL, "out of memory");
    c->socket = -1;
    c->retry_ms = RETRY_MS;
    c->patient_until_ns = dcr_mono_ns() + (int64_t)5000000000;
    c->is_asking = config->clock_folder != NULL;
    snprintf(c->path, sizeof c->path, "%s/" CLOCK_SERVER_FILE, folder);
    snprintf(c->asked, sizeof c->asked, "%s/" CLOCK_ASKED_FILE, folder);
    snprintf(
        c->why, sizeof c->why,
        "the collector of rank 0 wrote no address to '%.150s' (do all hosts see that folder? --clock sets another)",
        folder);
    thread_condition(&c->changed);
    pthread_mutex_init(&c->lock, NULL);
    if (c->is_asking && thread_start(&c->thread, thread_main, c) != 0) {
        release(c);
        return dcr_err_set(err, DCR_FAIL, "no thread to ask for the time");
    }
    *(struct clock **)ctx = c;
    return DCR_OK;
}

static void destroy(void *ctx)
{
    struct clock *c = *(struct clock **)ctx;
    if (!c)
        return;
    if (!c->is_asking) {
        release(c);
        return;
    }
    pthread_mutex_lock(&c->lock);
    int is_busy = c->state == ASKED;
    c->is_leaving = 1;
    pthread_cond_broadcast(&c->changed);
    pthread_t thread = c->thread;
    if (is_busy)
        pthread_detach(thread); /* a shared folder may take minutes */
    pthread_mutex_unlock(&c->lock);
    if (is_busy)
        return;
    pthread_join(thread, NULL);
    release(c);
}

/* Called with the lock held. At the end of the run it waits briefly for the answer. */
static void put_question(struct clock *c, int is_last)
{
    int64_t until_ns = dcr_mono_ns() + (int64_t)LAST_WAIT_MS * 1000000;
    struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
    if (c->state == IDLE) {
        c->state = ASKED;
        pthread_cond_broadcast(&c->changed);
    }
    while (is_last && c->state == ASKED && pthread_cond_timedwait(&c->changed, &c->lock, &until) != ETIMEDOUT)
        ;
}

static void put_row(const struct clock *c, const struct tick *now, struct dcr_buf *row)
{
    struct tick then = {.mono_ns = c->answer.at_ns,
                        .real_ms = now->real_ms - (now->mono_ns - c->answer.at_ns) / 1000000};
    cell_time(row, &then);
    cell_int(row, c->answer.at_ns);
    cell_int(row, c->answer.offset);
    cell_int(row, c->answer.error);
    cell_text(row, c->host);
    cell_end(row);
}

/* Takes the answer that has come. The collector of rank 0 may start a little later than this one. */
static int take_answer(struct clock *c, const struct tick *now, struct dcr_buf *row, struct dcr_err *err)
{
    c->state = IDLE;
    if (c->answer.rc == 1) {
        c->next_ns = INT64_MAX;
        return DCR_END;
    }
    if (c->answer.rc == 0) {
        c->next_ns = now->mono_ns + (int64_t)1000000000 * (c->n_rows++ ? LATER_S : 1);
        c->retry_ms = RETRY_MS;
        put_row(c, now, row);
        return DCR_OK;
    }
    c->next_ns = now->mono_ns + (int64_t)1000000 * c->retry_ms;
    c->retry_ms = c->retry_ms < MOST_RETRY_MS ? 2 * c->retry_ms : MOST_RETRY_MS;
    return c->n_rows || (now->mono_ns < c->patient_until_ns && !now->is_last)
               ? DCR_END
               : dcr_err_set(err, DCR_FAIL, "%s", c->why);
}

static int sample(void *ctx, const struct tick *now, struct dcr_buf *row, struct outputs *out, struct dcr_err *err)
{
    struct clock *c = *(struct clock **)ctx;
    int rc = DCR_END;
    (void)out;
    if (!c->is_asking)
        return rc;
    pthread_mutex_lock(&c->lock);
    if (c->state == ANSWERED) {
        rc = take_answer(c, now, row, err);
    } else if (c->state == ASKED || (c->next_ns != INT64_MAX && (now->mono_ns >= c->next_ns || now->is_last))) {
        put_question(c, now->is_last);
        if (now->is_last && c->state == ANSWERED)
            rc = take_answer(c, now, row, err);
        else if (now->is_last && c->n_rows == 0)
            rc = dcr_err_set(err, DCR_FAIL, "the run ended before the host of rank 0 answered with its time");
    }
    pthread_mutex_unlock(&c->lock);
    return rc;
}

const struct source source_clock = {
    "clock", DCR_CLOCK_MONITOR_COLUMNS(SOURCE_CELL), sizeof(struct clock *), configure, sample, destroy, NULL, 0};
