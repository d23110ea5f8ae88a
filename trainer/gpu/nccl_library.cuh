/* nccl_library.cuh - finds NCCL at run time, see nccl_abi.h for why. Called by nccl.cu only. */
#ifndef TRAINER_GPU_NCCL_LIBRARY_CUH
#define TRAINER_GPU_NCCL_LIBRARY_CUH

#include "trainer/gpu/device.h"
#include "trainer/gpu/nccl_abi.h"

/** nccl_library - the calls of libnccl.so.2; opened once and kept, looked for beside this library, where it was built
 * and on LD_LIBRARY_PATH.
 *  out      borrows, until the program ends
 *  errors   DCR_FAIL: not there, too old, without a call that is needed */
int nccl_library(const struct nccl **out, struct dcr_err *err) DCR_MUST_CHECK;

#endif
