/* turns.c - two programs on one machine in turns: while one runs, the other is stopped, so that both see the same
 * minutes and neither the other. turns MILLISECONDS GROUPS 'COMMAND A' 'COMMAND B' After a turn each that does not
 * count, GROUPS times A B B A. Commands go to sh; B is a collector and its only child the program. Prints a line per
 * turn: off or on, its beginning and end (CLOCK_MONOTONIC ns), processor time of the program in it, and of the
 * collector. Both are asked to end (SIGTERM) when all is done. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct side {
    const char *name;
    pid_t leader, program;
};

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

/* A group of its own, so that all of it can be stopped. */
static pid_t start(const char *command)
{
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    setpgid(pid, pid);
    return pid;
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
    if (counts)
        printf("%s %lld %lld %lld %lld\n", s->name, (long long)from, (long long)to,
               (long long)(cpu_of(s->program) - cpu), (long long)(is_collected ? cpu_of(s->leader) - own : 0));
    return 0;
}

static int fail(const struct side *sides, const char *sentence)
{
    for (int i = 0; i < 2; i++)
        if (sides[i].leader > 0)
            kill(-sides[i].leader, SIGKILL);
    fprintf(stderr, "turns: %s\n", sentence);
    return 2;
}

int main(int argc, char **argv)
{
    static const int order[] = {0, 1, 1, 0};
    struct side sides[2] = {{.name = "off"}, {.name = "on"}};
    long ms = argc == 5 ? strtol(argv[1], NULL, 10) : 0, groups = argc == 5 ? strtol(argv[2], NULL, 10) : 0;
    if (ms <= 0 || groups <= 0)
        return fail(sides, "say MILLISECONDS GROUPS 'COMMAND A' 'COMMAND B'");
    for (int i = 0; i < 2; i++) { /* one after the other, each with the machine for itself as it begins */
        sides[i].program = sides[i].leader = start(argv[3 + i]);
        if (sides[i].leader < 0 || turn(&sides[i], 1500, 0) != 0)
            return fail(sides, "a command ended before its turn");
    }
    sides[1].program = child_of(sides[1].leader);
    if (sides[1].program < 0)
        return fail(sides, "the second command has no child");
    for (long g = 0; g < groups; g++)
        for (int i = 0; i < 4; i++)
            if (turn(&sides[order[i]], ms, 1) != 0)
                return fail(sides, "a command ended before its last turn");
    for (int i = 0; i < 2; i++) {
        kill(sides[i].leader, SIGTERM);
        kill(-sides[i].leader, SIGCONT);
        waitpid(sides[i].leader, NULL, 0);
    }
    return 0;
}
