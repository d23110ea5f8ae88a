/* nvtx_library.c - a shared object with its own copy of NVTX, loaded by nvtx_all. */
#include <nvtx3/nvToolsExt.h>

void in_library(void);

void in_library(void)
{
    char name[] = "in library"; /* on the stack: gone when the library is */
    nvtxRangePushA(name);
    nvtxRangePop();
}
