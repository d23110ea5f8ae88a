/* nvtx_copy.h - a copy of NVTX in a program's module that began to initialise itself, found without its help. Every
 * module whose sources use NVTX 3 has a copy: nvtxGlobals, a state word and what a tool is given, in a writable
 * segment. */
#ifndef DCC_INJECT_NVTX_COPY_H
#define DCC_INJECT_NVTX_COPY_H

#include "collect/inject/nvtx_abi.h"

struct nvtx_copy {
    volatile uint32_t *state;
    /* What NVTX calls for nvtxInitialize() as long as it is not initialised: it initialises it. */
    void (*initialize)(const void *reserved);
};

/** nvtx_copy_find_started - a copy that is being initialised, in the module that has this code.
 *  code     an address in a function of the module
 *  returns  1 with *copy, 0 when there is none. Reads the module's writable segments once; allocates nothing. */
int nvtx_copy_find_started(const void *code, struct nvtx_copy *copy);

#endif
