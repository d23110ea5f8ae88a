/* start.c - see start.h. */
#include "collect/run/start.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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
 * the group counts the signals that arrive: a signal that reached it reached the program too. It shares our memory, so
 * that no page of it is copied. */
static struct witness {
    pid_t pid, parent; /* pid 0: there is none */
    volatile sig_atomic_t counts[NSIG];
    sig_atomic_t seen[NSIG];
    sigset_t awaited;
} witness;

/* It may only make system calls that succeed, because errno and all other data of a thread belong to the collector's
 * main thread. */
__attribute__((no_sanitize("address", "undefined"))) static int be_witness(void *unused)
{
    (void)unused;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != witness.parent)
        return 0;
    closefrom(0); /* readers of our output must see its end */
    for (;;) {
        long signal = syscall(SYS_rt_sigtimedwait, &witness.awaited, NULL, NULL, (size_t)(_NSIG / 8));
        if (signal > 0 && signal < NSIG)
            witness.counts[signal]++;
    }
}

/* The process that will become the program starts the witness, so no signal can reach the witness alone. Without a
 * witness, only signals from the kernel count as sent to the group. */
static void start_witness(void)
{
    static _Alignas(64) char stack[16 << 10];
    our_signals(&witness.awaited);
    int pid = clone(be_witness, stack + sizeof stack, CLONE_VM | CLONE_PARENT | SIGCHLD, NULL);
    witness.pid = pid > 0 ? pid : 0;
}

static void kill_witness(void)
{
    if (witness.pid)
        kill(witness.pid, SIGKILL);
}

static void end_witness(void)
{
    kill_witness();
    while (witness.pid && waitpid(witness.pid, NULL, 0) < 0 && errno == EINTR)
        ;
    witness.pid = 0;
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

struct birth {
    char **argv;
    const sigset_t *mask;
    struct sigaction child_action;
    void (*before)(void *ctx);
    void *ctx;
    int why; /* errno of a failed exec */
};

/* Runs as after vfork(): in the collector's memory, while the thread that called clone() waits for the exec. */
static int be_program(void *ctx)
{
    struct birth *b = ctx;
    start_witness();
    if (b->before)
        b->before(b->ctx);
    sigaction(SIGCHLD, &b->child_action, NULL);
    sigprocmask(SIG_SETMASK, b->mask, NULL);
    execvp(b->argv[0], b->argv);
    b->why = errno;
    return 127;
}

/* Descriptors are shared until the exec, so that the collector gets those that `before` opens. fork() would copy page
 * tables and, later, each page that is written. */
static pid_t give_birth(struct birth *b)
{
    size_t n_words = 0, bytes = 256 << 10; /* execvp() copies the words of a script */
    while (b->argv[n_words])
        n_words++;
    bytes += n_words * sizeof *b->argv;
    char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return -1;
    int pid = clone(be_program, stack + bytes / 64 * 64, CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, b);
    int why = errno;
    munmap(stack, bytes);
    errno = why;
    return pid;
}

int start_program(char **argv, const sigset_t *mask, void (*before)(void *ctx), void *ctx, pid_t *pid,
                  struct dcr_err *err)
{
    struct birth b = {.argv = argv, .mask = mask, .before = before, .ctx = ctx};
    struct sigaction standard = {.sa_handler = SIG_DFL};
    /* With SIGCHLD ignored (some launchers do) there would be no status to wait for. The program gets the original
     * setting back. */
    sigaction(SIGCHLD, &standard, &b.child_action);
    witness = (struct witness){.parent = getpid()};
    *pid = give_birth(&b);
    if (*pid > 0 && b.why) {
        waitpid(*pid, NULL, 0);
        end_witness();
    }
    if (*pid > 0 && !b.why)
        return DCR_OK;
    if (b.why)
        errno = b.why;
    return dcr_err_sys(err, DCR_FAIL, "cannot start '%s'", argv[0]);
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
        if (signal > 0 && signal != SIGCHLD && !has_reached(pid, &info))
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
    kill_witness();
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
    end_witness();
    return e;
}
