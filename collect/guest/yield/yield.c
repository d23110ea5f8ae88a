/* yield.c - sched_yield() that sleeps, loaded on emulated nodes only (collect/nodes, DCREPORT_NODE). MPI polls while a
 * rank waits. On a node with a share of a core, polling uses up the share, so that the rank has no time left until the
 * next period when the message comes. Giving way does not help there, because no other thread wants the core. */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct timespec pause_of_yield;

__attribute__((constructor)) static void at_load(void)
{
    const char *text = getenv("DCC_YIELD_NS");
    long ns = text ? strtol(text, NULL, 10) : 0;
    pause_of_yield.tv_nsec = ns > 0 && ns < 1000000000 ? ns : 0;
}

__attribute__((visibility("default"))) int sched_yield(void);
int sched_yield(void)
{
    int saved_errno = errno;
    if (pause_of_yield.tv_nsec > 0)
        nanosleep(&pause_of_yield, NULL);
    else
        syscall(SYS_sched_yield);
    errno = saved_errno;
    return 0;
}
