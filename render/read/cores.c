/* cores.c - see cores.h. */
#include "render/read/cores.h"

#include <sched.h>

static _Thread_local int shared; /* 0: nobody else reads */

int cores_free(void)
{
    cpu_set_t set;
    if (shared)
        return shared;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return n > CORES_MAX ? CORES_MAX : n;
}

void cores_share(int n)
{
    shared = n;
}
