/* nvtx_library.c - a shared object with a separate copy of NVTX, loaded by nvtx_all. */
#include <nvtx3/nvToolsExt.h>

void in_library(void);

void in_library(void)
{
    char name[] = "in library"; /* on the stack, so it is gone when the function returns */
    nvtxRangePushA(name);
    nvtxRangePop();
}
