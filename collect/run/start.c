/* start.c - see start.h. */
#include "collect/run/start.h"

#include "lib/base/mono.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
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

/* ---- signals to the whole group --------------------------------------------------------------- */

/* A signal to the process group reaches the program without us, whether a terminal, mpirun or kill -- -GROUP sent it,
 * and must not be passed on. No field of a signal says that it went to a group. So a helper process (the witness) in
 * the group counts the signals that arrive: a signal that reached it reached the program too. */
static struct witness {
    pid_t pid;                     /* 0: there is none */
    volatile sig_atomic_t *counts; /* shared with the witness; shape (NSIG) */
    sig_atomic_t seen[NSIG];
} witness;

static void count_signal(int signal)
{
    witness.counts[signal]++;
}

static void be_witness(pid_t parent)
{
    sigset_t none;
    struct sigaction count = {.sa_handler = count_signal};
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
        sigaction(forwarded[i], &count, NULL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(0);
    closefrom(0); /* readers of our output must see its end */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (;;)
        pause();
}

/* Without a witness, only signals from the kernel count as sent to the group. */
static void start_witness(void)
{
    pid_t parent = getpid();
    void *shared = mmap(NULL, NSIG * sizeof *witness.counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return;
    witness = (struct witness){.counts = shared};
    witness.pid = fork();
    if (witness.pid == 0)
        be_witness(parent);
    if (witness.pid > 0)
        return;
    munmap(shared, NSIG * sizeof *witness.counts);
    witness.pid = 0;
}

static void end_witness(void)
{
    if (!witness.pid)
        return;
    kill(witness.pid, SIGKILL);
    while (waitpid(witness.pid, NULL, 0) < 0 && errno == EINTR)
        ;
    munmap((void *)(uintptr_t)witness.counts, NSIG * sizeof *witness.counts);
    witness = (struct witness){0};
}

/* Did the program also get the signal that has just arrived here? The witness may need a moment to run. */
static int has_reached(pid_t pid, const siginfo_t *info)
{
    static const struct timespec moment = {.tv_nsec = 1000000};
    int signal = info->si_signo, is_seen = 0;
    if (getpgid(pid) != getpgrp())
        return 0;
    if (!witness.pid)
        return info->si_code == SI_KERNEL;
    for (int i = 0; i < 20 && !is_seen; i++) {
        is_seen = witness.counts[signal] != witness.seen[signal];
        if (!is_seen)
            nanosleep(&moment, NULL);
    }
    witness.seen[signal] = witness.counts[signal];
    return is_seen;
}

/* ---- the program ------------------------------------------------------------------------------ */

/* A shell's user may forget that a program in this folder needs ./ before its name. */
static int not_started(const char *name, struct dcr_err *err)
{
    struct stat st;
    int why = errno, has_path = strchr(name, '/') != NULL, is_there = has_path && access(name, F_OK) == 0,
        is_here = !has_path && stat(name, &st) == 0 && S_ISREG(st.st_mode) && access(name, X_OK) == 0;
    errno = why;
    if (why == ENOENT && !is_here && !is_there)
        return dcr_err_sys(err, DCR_FAIL, "cannot start '%s'; check the name, or give the whole path", name);
    if (why != ENOENT)
        return dcr_err_file(err, DCR_FAIL, "cannot start '%s'", name);
    if (is_there)
        dcr_err_set(err, DCR_FAIL,
                    "cannot start '%s': its interpreter or loader is missing; look at its first line, or install it",
                    name);
    else
        dcr_err_set(err, DCR_FAIL, "cannot start '%s': it is in this folder, not in PATH; write ./%s", name, name);
    err->sys = ENOENT;
    return DCR_FAIL;
}

int start_program(char **argv, const char *spool, const sigset_t *mask, struct perf *perf, pid_t *pid,
                  struct dcr_err *err)
{
    int report[2], gate[2];
    if (pipe2(report, O_CLOEXEC) != 0 || pipe2(gate, O_CLOEXEC) != 0)
        return dcr_err_sys(err, DCR_FAIL, "cannot make a pipe");
    /* With SIGCHLD ignored (some launchers do) there would be no status to wait for. The program gets the original
     * setting back. */
    struct sigaction child_action, standard = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &standard, &child_action);
    pid_t child = fork();
    if (child < 0)
        return dcr_err_file(err, DCR_FAIL, "cannot start '%s'", argv[0]);
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
    if (perf)
        perf_open(perf, child);
    start_witness();
    close(gate[1]); /* go */
    int why = 0;
    ssize_t n;
    do
        n = read(report[0], &why, sizeof why);
    while (n < 0 && errno == EINTR);
    close(report[0]);
    if (n == (ssize_t)sizeof why) {
        waitpid(child, NULL, 0);
        end_witness();
        errno = why;
        return not_started(argv[0], err);
    }
    *pid = child;
    return DCR_OK;
}

static int tells_to_end(int signal)
{
    return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGTERM;
}

static void note_told(struct ended *e, int signal)
{
    if (e->told || !tells_to_end(signal))
        return;
    e->told = signal;
    e->told_ns = dcr_mono_ns();
}

void start_wait(pid_t pid, struct ended *e)
{
    sigset_t ours;
    our_signals(&ours);
    for (;;) {
        siginfo_t info = {0};
        int rc = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
        if ((rc == 0 && info.si_pid == pid) || (rc < 0 && errno != EINTR))
            return;
        int signal = sigwaitinfo(&ours, &info);
        note_told(e, signal);
        if (signal > 0 && signal != SIGCHLD && !has_reached(pid, &info))
            kill(pid, signal);
    }
}

void start_reap(pid_t pid, struct ended *e)
{
    static const struct timespec at_once;
    sigset_t ours;
    int status, signal;
    pid_t ended;
    e->exit_status = -1;
    while ((ended = wait4(pid, &status, 0, &e->usage)) < 0 && errno == EINTR)
        ;
    if (ended == pid) {
        e->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        e->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        /* A signal that killed the program may have been sent to its whole group, and then it still waits here. */
        our_signals(&ours);
        while (!e->told && (signal = sigtimedwait(&ours, NULL, &at_once)) > 0)
            note_told(e, signal);
    }
    end_witness();
}
