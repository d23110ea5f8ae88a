/* follow.c - see follow.h. Test: tests/integration/collect_keep.sh */
#include "collect/drain/follow.h"

#include "lib/archive/member.h"
#include "lib/base/fs.h"
#include "lib/reduce/summary.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILD_FD = 3, LAST = 'l', PIECE = 'p' };

struct follow {
    pid_t pid;
    int fd;                    /* of the socket, -1 = ended */
    volatile uint32_t *n_read; /* shared with the child: number of pieces it has finished */
    uint32_t n_given;
    struct follow *next; /* in the list of follow_end */
};

/* The child's input: the pieces in a row. */
struct pieces_in {
    int fd; /* of the piece being read, -1 = none */
    off_t at;
    int is_whole; /* the collector announced the last piece */
    volatile uint32_t *n_read;
};

/* ---- the child -------------------------------------------------------------------------------- */

/* Receives the descriptor of the next piece. returns  -1 after the last piece */
static int next_piece(struct pieces_in *in)
{
    char what = 0;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec data = {&what, 1};
    struct msghdr m = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t n;
    while ((n = recvmsg(CHILD_FD, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        ;
    const struct cmsghdr *c = n == 1 ? CMSG_FIRSTHDR(&m) : NULL;
    int fd = -1;
    in->is_whole = n == 1 && what == LAST;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

static ssize_t read_pieces(void *ctx, void *out, size_t n, struct dcr_err *err)
{
    struct pieces_in *in = ctx;
    for (;;) {
        if (in->fd < 0 && (in->fd = next_piece(in)) < 0)
            return 0;
        ssize_t k = pread(in->fd, out, n, in->at);
        in->at += k > 0 ? k : 0;
        if (k > 0)
            return k;
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return dcr_err_sys(err, DCR_FATAL, "cannot read a trace");
        close(in->fd);
        in->fd = -1;
        in->at = 0;
        __atomic_fetch_add(in->n_read, 1, __ATOMIC_RELEASE);
    }
}

static int write_summary(struct pieces_in *in, const char *trace, const char *name)
{
    struct summary sum;
    struct dcr_arena a = {0};
    struct dcr_buf text = {.max = (size_t)4 << 30}, notes = {0};
    struct dcr_stream s = {read_pieces, in, name};
    char path[PATH_MAX + 64];
    char partial[PATH_MAX + 80];
    int fd, rc = dcr_summary_name(trace, path, sizeof path);
    snprintf(partial, sizeof partial, "%s.partial", path);
    if (rc || dcr_open_partial(path, partial, &fd, NULL) != 0) /* its lock tells `dccollect pack` to wait */
        return -1;
    rc = summary_of_trace(&sum, &a, &s, NULL);
    sum.trace_name = name;
    if (rc == 0 && !in->is_whole) {
        dcr_buf_printf(&notes, "%s%s" DCR_SUMS_END_NOTE, sum.notes, *sum.notes ? "\n" : "");
        sum.notes = dcr_buf_text(&notes);
    }
    if (rc == 0)
        summary_write(&sum, &text);
    if (rc || text.failed || dcr_write_all(fd, text.data, text.len) != 0 ||
        dcr_commit_file(fd, partial, path, NULL) != 0) {
        unlink(partial);
        return -1;
    }
    return 0;
}

/* The child ignores signals to the program's group, because it must finish when the collector does. */
static _Noreturn void be_child(int fd, volatile uint32_t *n_read, const char *trace, const char *name)
{
    static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE};
    struct pieces_in in = {.fd = -1, .n_read = n_read};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    signal(SIGABRT, SIG_DFL); /* out of memory */
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < CHILD_FD && null >= 0; i++)
        dup2(null, i); /* readers of the program's output must see its end */
    if (fd != CHILD_FD)
        dup2(fd, CHILD_FD);
    closefrom(CHILD_FD + 1);
    summary_bound_memory();
    _exit(write_summary(&in, trace, name) == 0 ? 0 : 1);
}

/* ---- the collector ---------------------------------------------------------------------------- */

int follow_start(struct follow **out, const char *trace, const char *name, void *segment, uint64_t n_bytes,
                 struct dcr_err *err)
{
    int ends[2] = {-1, -1};
    struct follow *f = calloc(1, sizeof *f);
    void *shared = mmap(NULL, sizeof *f->n_read, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *out = NULL;
    if (!f || shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        goto failed;
    f->n_read = shared;
    f->fd = ends[0];
    f->pid = fork();
    if (f->pid < 0)
        goto failed;
    if (f->pid == 0) {
        munmap(segment, n_bytes);
        be_child(ends[1], f->n_read, trace, name);
    }
    close(ends[1]);
    *out = f;
    return DCR_OK;
failed:
    dcr_err_sys(err, DCR_FAIL, "no process for the sums of events that are not kept");
    if (shared != MAP_FAILED)
        munmap(shared, sizeof *f->n_read);
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    free(f);
    return DCR_FAIL;
}

static int send_what(const struct follow *f, char what, int fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec data = {&what, 1};
    struct msghdr m = {.msg_iov = &data, .msg_iovlen = 1};
    if (fd >= 0) {
        m.msg_control = control.bytes;
        m.msg_controllen = sizeof control.bytes;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        *c = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd)};
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    ssize_t n;
    while ((n = sendmsg(f->fd, &m, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        ;
    return n == 1 ? 0 : -1;
}

int follow_give(struct follow *f, int fd, struct dcr_err *err)
{
    if (send_what(f, PIECE, fd) != 0)
        return dcr_err_sys(err, DCR_FAIL, "the process that sums up events has ended");
    f->n_given++;
    return DCR_OK;
}

uint32_t follow_n_waiting(const struct follow *f)
{
    return f->n_given - __atomic_load_n(f->n_read, __ATOMIC_ACQUIRE);
}

void follow_end(struct follow *f, struct follow **list)
{
    (void)send_what(f, LAST, -1);
    close(f->fd);
    f->fd = -1;
    f->next = *list;
    *list = f;
}

void follow_free(struct follow *f)
{
    if (f->fd >= 0)
        close(f->fd); /* the child sees that the end of the trace is missing */
    while (waitpid(f->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    munmap((void *)(uintptr_t)f->n_read, sizeof *f->n_read);
    free(f);
}

void follow_free_list(struct follow **list, int waits)
{
    while (*list) {
        struct follow *f = *list;
        siginfo_t info = {0};
        if (waits || waitid(P_PID, (id_t)f->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == f->pid) {
            *list = f->next;
            follow_free(f);
        } else {
            list = &f->next;
        }
    }
}

void follow_abandon(struct follow *f)
{
    kill(f->pid, SIGKILL);
    follow_free(f);
}
