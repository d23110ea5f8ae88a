/* nccl_abi.h - the few calls of NCCL that we use, as its library exports them. NCCL is not linked and its header is
 * not needed. Toolkits come without it, and a single GPU does not use it. The libnccl.so.2 found at run time may
 * differ from that of the build. Values and signatures have been the same since NCCL 2.13; if nccl.h is installed,
 * tests/unit/test_nccl_abi.c compares them with it. */
#ifndef TRAINER_GPU_NCCL_ABI_H
#define TRAINER_GPU_NCCL_ABI_H

#include <stddef.h>

#define NCCL_ABI_LIBRARY "libnccl.so.2"
/* bf16, sums inside CUDA graphs, ncclGetLastError */
#define NCCL_ABI_OLDEST 21300

/* ncclResult_t, ncclDataType_t, ncclRedOp_t */
enum { NCCL_ABI_SUCCESS = 0, NCCL_ABI_IN_PROGRESS = 7 };
enum { NCCL_ABI_FLOAT32 = 7, NCCL_ABI_FLOAT64 = 8, NCCL_ABI_BFLOAT16 = 9 };
enum { NCCL_ABI_SUM = 0 };

struct nccl_abi_id { /* ncclUniqueId, passed by value */
    char bytes[128];
};

/* X(member, symbol, result, arguments); a communicator is an opaque pointer, a stream a cudaStream_t */
#define NCCL_ABI_CALLS(X)                                                                              \
    X(version, "ncclGetVersion", int, (int *version))                                                  \
    X(describe, "ncclGetErrorString", const char *, (int result))                                      \
    X(last_error, "ncclGetLastError", const char *, (void *comm))                                      \
    X(unique_id, "ncclGetUniqueId", int, (struct nccl_abi_id * id))                                    \
    X(init_rank, "ncclCommInitRank", int, (void **comm, int n_ranks, struct nccl_abi_id id, int rank)) \
    X(destroy, "ncclCommDestroy", int, (void *comm))                                                   \
    X(abort, "ncclCommAbort", int, (void *comm))                                                       \
    X(async_error, "ncclCommGetAsyncError", int, (void *comm, int *error))                             \
    X(all_reduce, "ncclAllReduce", int,                                                                \
      (const void *from, void *to, size_t n, int type, int operation, void *comm, void *stream))

struct nccl {
#define X(member, symbol, result, arguments) result(*member) arguments;
    NCCL_ABI_CALLS(X)
#undef X
    int version_code; /* 22809 = 2.28.9 */
};

#endif
