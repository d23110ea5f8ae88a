/* start.c - see start.h. */
#include "collect/run/start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int forwarded[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU};

static void our_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
        sigaddset(set, forwarded[i]);
}

void start_block_file_signal(sigset_t *old)
{
    sigset_t file;
    sigemptyset(&file);
    sigaddset(&file, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &file, old);
}

void start_block_signals(void)
{
    sigset_t ours;
    our_signals(&ours);
    pthread_sigmask(SIG_BLOCK, &ours, NULL);
}

int start_program(char **argv, const char *spool, const sigset_t *mask, void (*before)(void *ctx, pid_t pid), void *ctx,
                  pid_t *pid, struct dcr_err *err)
{
    int report[2], gate[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        return dcr_err_sys(err, DCR_FAIL, "cannot make a pipe");
    if (pipe2(gate, O_CLOEXEC) != 0) {
        dcr_err_sys(err, DCR_FAIL, "cannot make a pipe");
        close(report[0]);
        close(report[1]);
        return DCR_FAIL;
    }
    /* With SIGCHLD ignored (some launchers do) there would be no status to wait for; the program gets its own back. */
    struct sigaction child_action, standard = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &standard, &child_action);
    pid_t child = fork();
    if (child < 0) {
        dcr_err_sys(err, DCR_FAIL, "cannot start '%s'", argv[0]);
        close(report[0]);
        close(report[1]);
        close(gate[0]);
        close(gate[1]);
        return DCR_FAIL;
    }
    if (child == 0) {
        char end;
        close(gate[1]);
        while (read(gate[0], &end, 1) < 0 && errno == EINTR)
            ;
        sigaction(SIGCHLD, &child_action, NULL);
        sigprocmask(SIG_SETMASK, mask, NULL);
        setenv("DCC_SPOOL", spool, 1);
        execvp(argv[0], argv);
        int why = errno;
        ssize_t ignored = write(report[1], &why, sizeof why);
        (void)ignored;
        _exit(127);
    }
    close(report[1]);
    close(gate[0]);
    if (before)
        before(ctx, child);
    close(gate[1]); /* go */
    int why = 0;
    ssize_t n;
    do
        n = read(report[0], &why, sizeof why);
    while (n < 0 && errno == EINTR);
    close(report[0]);
    if (n == (ssize_t)sizeof why) {
        waitpid(child, NULL, 0);
        errno = why;
        return dcr_err_sys(err, DCR_FAIL, "cannot start '%s'", argv[0]);
    }
    *pid = child;
    return DCR_OK;
}

static int tells_to_end(int signal)
{
    return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGTERM;
}

/* What killed the program may have been sent to its whole group, and waits here still. */
static void look_behind(const sigset_t *ours, struct ended *e)
{
    static const struct timespec at_once;
    int signal;
    while (!e->told && (signal = sigtimedwait(ours, NULL, &at_once)) > 0)
        e->told = tells_to_end(signal) ? signal : 0;
}

/* Wait until the program has ended. e->told gets the first signal that told it to end. */
static void wait_for_end(pid_t pid, const sigset_t *ours, struct ended *e)
{
    for (;;) {
        siginfo_t info = {0};
        int rc = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
        if ((rc == 0 && info.si_pid == pid) || (rc < 0 && errno != EINTR))
            return;
        int signal = sigwaitinfo(ours, &info);
        if (!e->told && signal > 0 && tells_to_end(signal))
            e->told = signal;
        if (signal > 0 && signal != SIGCHLD && info.si_code != SI_KERNEL)
            kill(pid, signal);
    }
}

struct ended start_wait(pid_t pid, void (*last_look)(void *ctx), void *ctx)
{
    sigset_t ours;
    struct ended e = {.exit_status = -1};
    int status;
    our_signals(&ours);
    wait_for_end(pid, &ours, &e);
    if (last_look)
        last_look(ctx);
    pid_t ended;
    while ((ended = wait4(pid, &status, 0, &e.usage)) < 0 && errno == EINTR)
        ;
    if (ended == pid) {
        e.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        e.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        look_behind(&ours, &e);
    }
    return e;
}
