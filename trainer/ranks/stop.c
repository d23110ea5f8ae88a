/* stop.c - see stop.h. */
#include "trainer/ranks/stop.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    caught = number;
}

void stop_watch(void)
{
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = on_signal;
    sigemptyset(&a.sa_mask);
    /* RESTART: a write of metrics is not cut short. The handler stays: launchers pass the same signal on twice */
    a.sa_flags = SA_RESTART;
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGINT, &a, NULL);
}

int stop_signal(void)
{
    return caught;
}
