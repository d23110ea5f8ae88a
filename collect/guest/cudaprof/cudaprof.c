/* cudaprof.c - cudaProfilerStart and cudaProfilerStop of a dynamically linked CUDA runtime, for `--capture-range
 * cudaProfilerApi`. Loaded only with that option. It passes the calls on. */
#include "collect/guest/guest.h"

#include <dlfcn.h>

EXPORTED int cudaProfilerStart(void);
EXPORTED int cudaProfilerStop(void);

static int pass_on(const char *name)
{
    int (*next)(void);
    *(void **)&next = dlsym(RTLD_NEXT, name);
    return next ? next() : 0; /* cudaSuccess */
}

int cudaProfilerStart(void)
{
    int rc = pass_on("cudaProfilerStart");
    dcc_guest_capture(1);
    return rc;
}

int cudaProfilerStop(void)
{
    dcc_guest_capture(0);
    return pass_on("cudaProfilerStop");
}
