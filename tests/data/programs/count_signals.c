/* count_signals.c - FILE: counts the SIGINT, SIGTERM and SIGUSR1 that come within 2 s, then writes the three numbers.
 * The file exists as soon as the program counts. */
#include <signal.h>
#include <stdio.h>
#include <time.h>

int main(int argc, char **argv)
{
    const int kinds[3] = {SIGINT, SIGTERM, SIGUSR1};
    const struct timespec moment = {.tv_nsec = 1000000};
    int counts[3] = {0};
    struct timespec now, end;
    sigset_t set;
    if (argc != 2)
        return 2;
    sigemptyset(&set);
    for (int i = 0; i < 3; i++)
        sigaddset(&set, kinds[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    FILE *f = fopen(argv[1], "w");
    if (!f)
        return 1;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += 2;
    do {
        int signal = sigtimedwait(&set, NULL, &moment);
        for (int i = 0; i < 3; i++)
            counts[i] += signal == kinds[i];
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
    fprintf(f, "%d %d %d\n", counts[0], counts[1], counts[2]);
    return fclose(f) != 0;
}
