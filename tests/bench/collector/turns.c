/* turns.c - runs two programs on one machine in turns: while one runs, the other is stopped, so that both run in the
 * same minutes without disturbing each other. turns MILLISECONDS GROUPS 'COMMAND A' 'COMMAND B' After a turn each that
 * does not count, GROUPS times A B B A. Commands go to sh; B is a collector and its only child the program. Prints a
 * line per turn: off or on, its beginning and end (CLOCK_MONOTONIC ns), processor time of the program in it, and of the
 * collector. Both are asked to end (SIGTERM) when all is done, and killed when this program is. */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct side {
    const char *name;
    pid_t leader, program;
};

static struct side sides[2] = {{.name = "off"}, {.name = "on"}};

static void kill_both(void)
{
    for (int i = 0; i < 2; i++)
        if (sides[i].leader > 0)
            kill(-sides[i].leader, SIGKILL);
}

/* A stopped group would otherwise stay stopped for good. */
static void on_signal(int number)
{
    kill_both();
    signal(number, SIG_DFL);
    raise(number);
}

static int64_t ns_of(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) == 0 ? (int64_t)t.tv_sec * 1000000000 + t.tv_nsec : -1;
}

static int64_t cpu_of(pid_t pid)
{
    clockid_t clock;
    return clock_getcpuclockid(pid, &clock) == 0 ? ns_of(clock) : -1;
}

/* The command gets a separate group, so that all of it can be stopped. Signals wait until its number is known. */
static int start(struct side *s, const char *command)
{
    sigset_t ends, before;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, &before);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        signal(SIGHUP, SIG_DFL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* the kernel then also hangs up its stopped children, which have no parent */
        if (getppid() != parent)
            _exit(127);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    if (pid > 0)
        setpgid(pid, pid);
    s->program = s->leader = pid;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return pid > 0 ? 0 : -1;
}

static pid_t child_of(pid_t pid)
{
    char path[64];
    int child = -1;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%d", &child) != 1)
        child = -1;
    if (f)
        fclose(f);
    return child;
}

/* returns 1 stopped, 0 not yet, -1 ended: state of a thread, from the letter after the name in brackets */
static int is_thread_stopped(const char *stat_path)
{
    char text[512];
    FILE *f = fopen(stat_path, "r");
    if (!f)
        return -1;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    const char *bracket = strrchr(text, ')');
    char state = '\0';
    if (bracket && bracket[1] == ' ')
        state = bracket[2];
    return state == 'T' ? 1 : state == '\0' || state == 'Z' || state == 'X' ? -1 : 0;
}

/* The same for all threads of a process; threads that end meanwhile are skipped. */
static int is_stopped(pid_t pid)
{
    char path[400];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *d = opendir(path);
    int n = 0, are = 1;
    for (const struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/stat", (int)pid, e->d_name);
        int is = is_thread_stopped(path);
        n += is >= 0;
        are = are && is != 0;
    }
    if (d)
        closedir(d);
    return n == 0 ? -1 : are;
}

/* Waits until none of its processes runs into the other side's turn. returns 0, or -1 when it has ended */
static int wait_for_stop(pid_t pid)
{
    static const struct timespec moment = {.tv_nsec = 100000};
    int is;
    while ((is = is_stopped(pid)) == 0)
        nanosleep(&moment, NULL);
    return is > 0 ? 0 : -1;
}

/* returns 0, or -1 when the side has ended */
static int turn(const struct side *s, long ms, int counts)
{
    struct timespec length = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    int is_collected = s->program != s->leader, status;
    int64_t cpu = cpu_of(s->program), own = is_collected ? cpu_of(s->leader) : 0, from = ns_of(CLOCK_MONOTONIC);
    kill(-s->leader, SIGCONT);
    nanosleep(&length, NULL);
    int64_t to = ns_of(CLOCK_MONOTONIC);
    kill(-s->leader, SIGSTOP);
    if (waitpid(s->leader, &status, WUNTRACED) != s->leader || !WIFSTOPPED(status))
        return -1;
    if (wait_for_stop(s->leader) != 0 || (is_collected && wait_for_stop(s->program) != 0))
        return -1;
    int64_t cpu_after = cpu_of(s->program), own_after = is_collected ? cpu_of(s->leader) : 0;
    if (cpu < 0 || own < 0 || cpu_after < cpu || own_after < own)
        return -1;
    if (counts)
        printf("%s %lld %lld %lld %lld\n", s->name, (long long)from, (long long)to, (long long)(cpu_after - cpu),
               (long long)(own_after - own));
    return 0;
}

static int fail(const char *sentence)
{
    kill_both();
    fprintf(stderr, "turns: %s\n", sentence);
    return 2;
}

int main(int argc, char **argv)
{
    static const int order[] = {0, 1, 1, 0};
    long ms = argc == 5 ? strtol(argv[1], NULL, 10) : 0, groups = argc == 5 ? strtol(argv[2], NULL, 10) : 0;
    if (ms <= 0 || groups <= 0)
        return fail("say MILLISECONDS GROUPS 'COMMAND A' 'COMMAND B'");
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    signal(SIGHUP, on_signal);
    for (int i = 0; i < 2; i++) { /* one after the other, so that each starts with the machine to itself */
        if (start(&sides[i], argv[3 + i]) != 0 || turn(&sides[i], 1500, 0) != 0)
            return fail("a command ended before its turn");
    }
    sides[1].program = child_of(sides[1].leader);
    if (sides[1].program < 0)
        return fail("the second command has no child");
    for (long g = 0; g < groups; g++)
        for (int i = 0; i < 4; i++)
            if (turn(&sides[order[i]], ms, 1) != 0)
                return fail("a command ended before its last turn");
    for (int i = 0; i < 2; i++) {
        kill(sides[i].leader, SIGTERM);
        kill(-sides[i].leader, SIGCONT);
        waitpid(sides[i].leader, NULL, 0);
    }
    return 0;
}
