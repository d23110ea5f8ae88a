/* cores.c - see cores.h. */
#include "render/read/cores.h"

#include "lib/base/cores.h"

static _Thread_local int shared; /* 0: no other thread reads */

int cores_free(void)
{
    int n = shared ? shared : dcr_cores();
    return n > CORES_MAX ? CORES_MAX : n;
}

void cores_share(int n)
{
    shared = n;
}
