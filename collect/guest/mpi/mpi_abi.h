/* mpi_abi.h - the facts about the two binary interfaces of MPI that the interposer needs, declared here so that it is
 * built without MPI and works with the program's MPI. Open MPI (1.10 to 5): a handle is a pointer. MPICH and other MPIs
 * with its ABI (Intel MPI, Cray MPICH, MVAPICH, ParaStation): a handle is an int. tests/unit/test_mpi_abi.c and
 * test_mpich_abi.c compare this with the real mpi.h of both. */
#ifndef DCC_MPI_ABI_H
#define DCC_MPI_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* An argument that is a handle uses one register or one slot of 8 bytes of the stack, whether int or pointer. So a
 * wrapper can pass it on without knowing its type. The upper half of an int is undefined. */
typedef uintptr_t mpiabi_handle;

/* Large enough for a status of either MPI, for statuses of our own. */
typedef struct {
    size_t words[3];
} mpiabi_status_room;

struct mpiabi {
    const char *symbol; /* exported by every MPI of this ABI and by no other */
    uintptr_t in_place, status_ignore;
    int proc_null;
    int handle_bytes, status_bytes, source_at;
};

static const struct mpiabi mpiabi_open_mpi = {.symbol = "ompi_mpi_comm_world",
                                              .in_place = 1,
                                              .status_ignore = 0,
                                              .proc_null = -2,
                                              .handle_bytes = 8,
                                              .status_bytes = 24,
                                              .source_at = 0};
/* Programs refer to MPIR_Dup_fn through MPI_DUP_FN of MPICH's mpi.h. */
static const struct mpiabi mpiabi_mpich = {.symbol = "MPIR_Dup_fn",
                                           .in_place = (uintptr_t)-1,
                                           .status_ignore = 1,
                                           .proc_null = -1,
                                           .handle_bytes = 4,
                                           .status_bytes = 20,
                                           .source_at = 8};

enum { MPIABI_SUCCESS = 0, MPIABI_ERR_OTHER = 16 };

/** mpiabi_handle_at - the i-th of an array of handles. */
static inline mpiabi_handle mpiabi_handle_at(const struct mpiabi *abi, const void *handles, int i)
{
    return abi->handle_bytes == 4 ? ((const uint32_t *)handles)[i] : ((const uintptr_t *)handles)[i];
}

static inline const void *mpiabi_status_at(const struct mpiabi *abi, const void *statuses, int i)
{
    return (const char *)statuses + (size_t)i * (size_t)abi->status_bytes;
}

/** mpiabi_source - the sender's rank; below 0: none. */
static inline int mpiabi_source(const struct mpiabi *abi, const void *status)
{
    int source;
    memcpy(&source, (const char *)status + abi->source_at, sizeof source);
    return source;
}

/** mpiabi_received - bytes that arrived. Open MPI keeps them in the last word. MPICH keeps the low half first, followed
 * by the high half, which is shifted by a flag. */
static inline uint64_t mpiabi_received(const struct mpiabi *abi, const void *status)
{
    uint64_t bytes;
    uint32_t halves[2];
    if (abi->status_bytes == 24) {
        memcpy(&bytes, (const char *)status + 16, sizeof bytes);
        return bytes;
    }
    memcpy(halves, status, sizeof halves);
    return halves[0] | (uint64_t)(halves[1] >> 1) << 32;
}

#endif
