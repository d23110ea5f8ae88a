/* yields.c - gives way a thousand times and prints how many of them were sleeps. The system counts a sleep as a
 * voluntary switch, unless another process took the core just then, and a sched_yield by itself not. */
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>

int main(void)
{
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < 1000; i++)
        sched_yield();
    getrusage(RUSAGE_SELF, &after);
    long sleeps = after.ru_nvcsw - before.ru_nvcsw;
    printf("%s\n", sleeps >= 900 ? "all" : sleeps < 100 ? "none" : "some");
    return 0;
}
