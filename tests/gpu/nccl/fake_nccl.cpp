/* fake_nccl.cpp - a libnccl.so.2 for tests without a GPU: the calls of nccl_abi.h between processes of one machine.
 * They add up in shared memory (a file in FAKE_NCCL_FOLDER) when the emulator's stream comes to a sum. FAKE_NCCL, a
 * list of words, orders the faults; built with -DFAKE_VERSION or -DFAKE_WITHOUT_ABORT it is a library that must be
 * refused. */
#include "tests/gpu/emulator/inside.h"
#include "trainer/gpu/nccl_abi.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef FAKE_VERSION
#define FAKE_VERSION 22809
#endif
#define EXPORT extern "C" __attribute__((visibility("default")))

enum { MOST_RANKS = 8, SYSTEM_ERROR = 2, INVALID_USAGE = 5, REMOTE_ERROR = 6 };
static const size_t SLOT_BYTES = (size_t)1 << 24; /* of a rank; only touched pages are memory */

struct shared {
    std::atomic<int> n_joined, n_here;
    std::atomic<unsigned> round;
};

struct communicator {
    int rank, n_ranks;
    struct shared *all;
    std::atomic<bool> is_aborted{false};
};

/* Results for the test, in the file FAKE_NCCL_LOG. */
static void note(const char *what)
{
    const char *path = getenv("FAKE_NCCL_LOG");
    FILE *f = path ? fopen(path, "a") : nullptr;
    if (!f)
        return;
    fprintf(f, "%s\n", what);
    fclose(f);
}

static bool ordered(const char *word)
{
    const char *orders = getenv("FAKE_NCCL");
    return orders && strstr(orders, word);
}

static size_t total_bytes(int n_ranks)
{
    return 4096 + (size_t)n_ranks * SLOT_BYTES;
}

static char *slot(const communicator *c, int rank)
{
    return (char *)c->all + 4096 + (size_t)rank * SLOT_BYTES;
}

/* All ranks are here, or this one was aborted. */
static void barrier(communicator *c)
{
    const unsigned round = c->all->round;
    if (++c->all->n_here == c->n_ranks) {
        c->all->n_here = 0;
        c->all->round++;
        return;
    }
    while (c->all->round == round && !c->is_aborted)
        sched_yield();
}

static float as_float(unsigned short bf16)
{
    return __uint_as_float((unsigned)bf16 << 16);
}

static unsigned short as_bf16(float x)
{
    unsigned u = __float_as_uint(x);
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/* In the order of the ranks, so that all get the same bits. */
template <typename T, typename Get, typename Put>
static void add_up(const communicator *c, void *to, size_t n, Get get, Put put)
{
    for (size_t i = 0; i < n; i++) {
        auto sum = get(((const T *)slot(c, 0))[i]);
        for (int r = 1; r < c->n_ranks; r++)
            sum = get(put(sum + get(((const T *)slot(c, r))[i])));
        ((T *)to)[i] = put(sum);
    }
}

static void sum_now(communicator *c, const void *from, void *to, size_t n, int type)
{
    const size_t bytes = n * (type == NCCL_ABI_FLOAT64 ? 8 : type == NCCL_ABI_FLOAT32 ? 4 : 2);
    emulator_check_range(from, bytes, "what a sum reads");
    emulator_check_range(to, bytes, "where a sum goes");
    memcpy(slot(c, c->rank), from, bytes);
    barrier(c);
    auto same_f = [](float v) { return v; };
    auto same_d = [](double v) { return v; };
    if (c->is_aborted)
        return;
    if (type == NCCL_ABI_FLOAT64)
        add_up<double>(c, to, n, same_d, same_d);
    else if (type == NCCL_ABI_FLOAT32)
        add_up<float>(c, to, n, same_f, same_f);
    else
        add_up<unsigned short>(c, to, n, as_float, as_bf16);
    barrier(c);
}

EXPORT int ncclGetVersion(int *version)
{
    *version = FAKE_VERSION;
    return NCCL_ABI_SUCCESS;
}

EXPORT const char *ncclGetErrorString(int result)
{
    return result == SYSTEM_ERROR   ? "unhandled system error"
           : result == REMOTE_ERROR ? "remote process exited"
                                    : "misuse";
}

EXPORT const char *ncclGetLastError(void *)
{
    return "the fake was told so";
}

EXPORT int ncclGetUniqueId(struct nccl_abi_id *id)
{
    static int n;
    if (ordered("no-id"))
        return SYSTEM_ERROR;
    const char *folder = getenv("FAKE_NCCL_FOLDER");
    snprintf(id->bytes, sizeof id->bytes, "%s/fake-nccl-%ld-%d", folder ? folder : "/dev/shm", (long)getpid(), n++);
    return NCCL_ABI_SUCCESS;
}

EXPORT int ncclCommInitRank(void **comm, int n_ranks, struct nccl_abi_id id, int rank)
{
    const char *connect = getenv("NCCL_RUNTIME_CONNECT");
    note(connect && strcmp(connect, "0") == 0 ? "connects at once" : "connects late");
    *comm = nullptr;
    if (ordered("no-join"))
        return SYSTEM_ERROR;
    if (n_ranks > MOST_RANKS || rank < 0 || rank >= n_ranks)
        return INVALID_USAGE;
    communicator *c = new communicator();
    c->rank = rank;
    c->n_ranks = n_ranks;
    int fd = open(id.bytes, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)total_bytes(n_ranks)) != 0)
        return SYSTEM_ERROR;
    c->all = (struct shared *)mmap(nullptr, total_bytes(n_ranks), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (c->all == MAP_FAILED)
        return SYSTEM_ERROR;
    c->all->n_joined++;
    while (c->all->n_joined < n_ranks) /* forever, as in the real one */
        sched_yield();
    unlink(id.bytes);
    *comm = c;
    return NCCL_ABI_SUCCESS;
}

EXPORT int ncclCommDestroy(void *comm)
{
    communicator *c = (communicator *)comm;
    note("destroy");
    while (ordered("stuck-destroy"))
        sleep(1);
    munmap(c->all, total_bytes(c->n_ranks));
    delete c;
    return NCCL_ABI_SUCCESS;
}

#ifndef FAKE_WITHOUT_ABORT
EXPORT int ncclCommAbort(void *comm)
{
    note("abort");
    ((communicator *)comm)->is_aborted = true;
    return NCCL_ABI_SUCCESS;
}
#endif

EXPORT int ncclCommGetAsyncError(void *, int *error)
{
    *error = ordered("async-error") ? REMOTE_ERROR : ordered("in-progress") ? (int)NCCL_ABI_IN_PROGRESS : 0;
    return ordered("no-state") ? SYSTEM_ERROR : (int)NCCL_ABI_SUCCESS;
}

EXPORT int ncclAllReduce(const void *from, void *to, size_t n, int type, int operation, void *comm, void *stream)
{
    communicator *c = (communicator *)comm;
    if (ordered("no-sum") || operation != NCCL_ABI_SUM || n * 8 > SLOT_BYTES)
        return INVALID_USAGE;
    if (ordered("stuck-sum") && c->rank != 0)
        return NCCL_ABI_SUCCESS; /* this rank never takes part */
    cudaError_t status = emulator_enqueue((cudaStream_t)stream, [=]() { sum_now(c, from, to, n, type); });
    return status == cudaSuccess ? (int)NCCL_ABI_SUCCESS : 1;
}
