/* ranks.cpp - trainer/gpu/nccl.cu without a GPU: ranks are processes, CUDA is the emulator, NCCL is fake_nccl.cpp.
 *   ranks CASE    status 0 when all ranks succeed; faults are printed on stderr. tests/integration/gpu_ranks.sh runs
 * the cases. */
#include "tests/gpu/emulator/emulator.h"
#include "trainer/gpu/model.cuh"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>

/* Shared by all ranks of a case; rank 0's id reaches the others here, as through MPI in the program. */
static struct {
    unsigned char id[GPU_ID_BYTES];
    float result[8][64];
} * together;

#define EXPECT(condition)                                                                  \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "rank %d: line %d: not so: %s\n", rank, __LINE__, #condition); \
            return 1;                                                                      \
        }                                                                                  \
    } while (0)
#define DONE(call) EXPECT((call) == 0 || (fprintf(stderr, "%s\n", err.text), false))

static double now_s()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static gpu_ranks ranks_of(int rank, int n_ranks)
{
    gpu_ranks r = {};
    r.rank = rank;
    r.n_ranks = n_ranks;
    r.id = together->id;
    r.timeout_s = 20;
    return r;
}

static bool says(const dcr_err &err, const char *text)
{
    if (strstr(err.text, text))
        return true;
    fprintf(stderr, "the sentence is: %s\n", err.text);
    return false;
}

/* Values that differ in every place and rank, and are no round numbers. */
static float value(int rank, size_t i)
{
    return 0.37f * (float)(i % 1000) - 21.3f * (float)rank + 1e-3f * (float)(i % 7);
}

static float rounded(float x)
{
    unsigned u;
    memcpy(&u, &x, sizeof u);
    u = (u + 0x7fffu + (u >> 16 & 1u)) & 0xffff0000u;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* A sum as it has to come out, in the order of the ranks. */
static float sum_of(size_t i, int n_ranks, bool is_bf16)
{
    float sum = is_bf16 ? rounded(value(0, i)) : value(0, i);
    for (int r = 1; r < n_ranks; r++)
        sum = is_bf16 ? rounded(sum + rounded(value(r, i))) : sum + value(r, i);
    return sum;
}

/* ---- cases ---------------------------------------------------------------------------------------------------------
 */

static int sum(int rank, int n_ranks, bool is_bf16)
{
    const size_t sizes[] = {1, 255, 256, 1000, 300000}, largest = 300000;
    dcr_err err = {};
    gpu_comm *c = nullptr;
    gpu_ranks r = ranks_of(rank, n_ranks);
    cudaStream_t stream;
    float *device = nullptr;
    double *counts = nullptr, tally[5] = {1.25 + rank, (double)(1LL << 40) + rank, 0, -3, 1e-300};
    std::vector<float> host(largest);
    r.is_bf16 = is_bf16;
    EXPECT(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0) == cudaSuccess);
    EXPECT(cudaMalloc(&device, (largest + 1) * sizeof *device) == cudaSuccess);
    EXPECT(cudaMalloc(&counts, sizeof tally) == cudaSuccess);
    const int64_t n_live = emulator_count().n_live;
    DONE(gpu_comm_open(&c, &r, largest, &err));
    for (size_t n : sizes) {
        float *at = device + (n & 1); /* buckets begin anywhere */
        for (size_t i = 0; i < n; i++)
            host[i] = value(rank, i);
        EXPECT(cudaMemcpyAsync(at, host.data(), n * sizeof *at, cudaMemcpyHostToDevice, stream) == cudaSuccess);
        EXPECT(cudaMemcpyAsync(counts, tally, sizeof tally, cudaMemcpyHostToDevice, stream) == cudaSuccess);
        DONE(gpu_comm_sum_f64(c, counts, 5, stream, &err));
        DONE(gpu_comm_sum_f32(c, at, n, stream, &err));
        DONE(gpu_comm_check(c, 0.1, &err));
        EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
        EXPECT(cudaMemcpy(host.data(), at, n * sizeof *at, cudaMemcpyDeviceToHost) == cudaSuccess);
        for (size_t i = 0; i < n; i++)
            EXPECT(host[i] == sum_of(i, n_ranks, is_bf16));
        double got[5];
        EXPECT(cudaMemcpy(got, counts, sizeof got, cudaMemcpyDeviceToHost) == cudaSuccess);
        EXPECT(got[0] == 1.25 * n_ranks + n_ranks * (n_ranks - 1) / 2.0 && got[3] == -3.0 * n_ranks && got[2] == 0);
        EXPECT(got[1] == (double)(1LL << 40) * n_ranks + n_ranks * (n_ranks - 1) / 2.0);
    }
    if (is_bf16) {
        EXPECT(gpu_comm_sum_f32(c, device, largest + 1, stream, &err) == DCR_FATAL && says(err, "300001 gradients"));
    }
    gpu_comm_close(c);
    EXPECT(emulator_count().n_live == n_live);
    return 0;
}

/* Gradients stay as they are, counts are added up. */
static int none(int rank, int n_ranks)
{
    dcr_err err = {};
    gpu_comm *c = nullptr;
    gpu_ranks r = ranks_of(rank, n_ranks);
    cudaStream_t stream;
    float *device = nullptr, own = value(rank, 1), got = 0;
    double *counts = nullptr, tally = 3;
    r.is_none = 1;
    EXPECT(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0) == cudaSuccess);
    EXPECT(cudaMalloc(&device, sizeof *device) == cudaSuccess && cudaMalloc(&counts, sizeof *counts) == cudaSuccess);
    DONE(gpu_comm_open(&c, &r, 1, &err));
    EXPECT(cudaMemcpyAsync(device, &own, sizeof own, cudaMemcpyHostToDevice, stream) == cudaSuccess);
    EXPECT(cudaMemcpyAsync(counts, &tally, sizeof tally, cudaMemcpyHostToDevice, stream) == cudaSuccess);
    DONE(gpu_comm_sum_f32(c, device, 1, stream, &err));
    DONE(gpu_comm_sum_f64(c, counts, 1, stream, &err));
    EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
    EXPECT(cudaMemcpy(&got, device, sizeof got, cudaMemcpyDeviceToHost) == cudaSuccess && got == own);
    EXPECT(cudaMemcpy(&tally, counts, sizeof tally, cudaMemcpyDeviceToHost) == cudaSuccess && tally == 3 * n_ranks);
    gpu_comm_close(c);
    return 0;
}

/* Recorded once, launched with other values each time. */
static int recorded(int rank, int n_ranks, bool is_bf16)
{
    enum { N = 64 };
    dcr_err err = {};
    gpu_comm *c = nullptr;
    gpu_ranks r = ranks_of(rank, n_ranks);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    float *device = nullptr, host[N];
    r.is_bf16 = is_bf16;
    EXPECT(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0) == cudaSuccess);
    EXPECT(cudaMalloc(&device, sizeof host) == cudaSuccess);
    DONE(gpu_comm_open(&c, &r, N, &err));
    EXPECT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    DONE(gpu_comm_sum_f32(c, device, N / 2, stream, &err));
    DONE(gpu_comm_sum_f32(c, device + N / 2, N / 2, stream, &err));
    EXPECT(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    EXPECT(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    for (size_t launch = 0; launch < 4; launch++) {
        for (size_t i = 0; i < N; i++)
            host[i] = value(rank, i + launch);
        EXPECT(cudaMemcpyAsync(device, host, sizeof host, cudaMemcpyHostToDevice, stream) == cudaSuccess);
        EXPECT(cudaGraphLaunch(exec, stream) == cudaSuccess);
        while (cudaStreamQuery(stream) == cudaErrorNotReady)
            DONE(gpu_comm_check(c, 0.1, &err));
        EXPECT(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
        for (size_t i = 0; i < N; i++)
            EXPECT(host[i] == sum_of(i + launch, n_ranks, is_bf16));
    }
    EXPECT(cudaGraphExecDestroy(exec) == cudaSuccess && cudaGraphDestroy(graph) == cudaSuccess);
    gpu_comm_close(c);
    return 0;
}

/* A rank that never comes, or whose first sum never comes. */
static int lost(int rank, int n_ranks, const char *call)
{
    dcr_err err = {};
    gpu_comm *c = nullptr;
    gpu_ranks r = ranks_of(rank, n_ranks);
    char start[40];
    const double since = now_s();
    r.timeout_s = 1;
    snprintf(start, sizeof start, "rank %d on ", rank);
    EXPECT(gpu_comm_open(&c, &r, 1, &err) == DCR_FATAL);
    EXPECT(c == nullptr && now_s() - since < 1 + 5 + 2);
    EXPECT(strncmp(err.text, start, strlen(start)) == 0 && says(err, call) && says(err, "within 1 s"));
    return 0;
}

/* A rank whose part of the first sum the fake leaves out. */
static int joins(int rank, int n_ranks)
{
    dcr_err err = {};
    gpu_comm *c = nullptr;
    gpu_ranks r = ranks_of(rank, n_ranks);
    DONE(gpu_comm_open(&c, &r, 1, &err));
    return 0;
}

/* One rank alone is a communicator too, which is enough for the faults of the fake. */
static int open_alone(gpu_comm **c, dcr_err *err)
{
    gpu_ranks r = ranks_of(0, 1);
    r.timeout_s = 2;
    return gpu_comm_open(c, &r, 1, err);
}

static int refused(int rank, const char *call, const char *why)
{
    dcr_err err = {};
    gpu_comm *c = nullptr;
    EXPECT(open_alone(&c, &err) == DCR_FATAL && c == nullptr);
    EXPECT(says(err, "rank 0 on ") && says(err, call) && says(err, why) && says(err, "the fake was told so"));
    return 0;
}

/* A failure that shows while the host waits is reported once more, never summed again, and aborted once. */
static int broken(int rank, double waited_s, const char *text)
{
    dcr_err err = {};
    gpu_comm *c = nullptr;
    float *device = nullptr;
    EXPECT(cudaMalloc(&device, sizeof *device) == cudaSuccess);
    DONE(open_alone(&c, &err));
    EXPECT(gpu_comm_check(c, waited_s, &err) == DCR_FATAL && says(err, "rank 0 on ") && says(err, text));
    EXPECT(gpu_comm_check(c, 0, &err) == DCR_FATAL);
    EXPECT(gpu_comm_sum_f32(c, device, 1, nullptr, &err) == DCR_FATAL);
    EXPECT(gpu_comm_sum_f64(c, (double *)device, 1, nullptr, &err) == DCR_FATAL);
    gpu_comm_close(c);
    return 0;
}

static int patient(int rank)
{
    dcr_err err = {};
    gpu_comm *c = nullptr;
    DONE(open_alone(&c, &err));
    DONE(gpu_comm_check(c, 1.9, &err)); /* NCCL says "in progress": no failure */
    gpu_comm_close(c);
    gpu_ranks r = ranks_of(0, 1);
    r.timeout_s = 0; /* forever */
    DONE(gpu_comm_unique_id(together->id, &err));
    DONE(gpu_comm_open(&c, &r, 1, &err));
    DONE(gpu_comm_check(c, 1e9, &err));
    gpu_comm_close(c);
    gpu_comm_close(nullptr);
    return 0;
}

/* Leaving does not wait forever for ranks that are gone. */
static int stuck_destroy(int rank)
{
    dcr_err err = {};
    gpu_comm *c = nullptr;
    DONE(open_alone(&c, &err));
    const double since = now_s();
    gpu_comm_close(c);
    EXPECT(now_s() - since < 8);
    return 0;
}

static int no_library(int rank, const char *text)
{
    dcr_err err = {};
    EXPECT(gpu_comm_unique_id(together->id, &err) == DCR_FAIL && says(err, text));
    return 0;
}

/* ---- running them --------------------------------------------------------------------------------------------------
 */

/* Every rank is a process; ranks from `absent` on never begin. */
static int with_ranks(int n_ranks, int absent, const std::function<int(int)> &f)
{
    int failed = 0, status = 0;
    for (int rank = 0; rank < n_ranks && rank < absent; rank++)
        if (fork() == 0)
            _exit(f(rank));
    while (wait(&status) > 0)
        failed |= status != 0;
    return failed;
}

static int run(const char *name)
{
    dcr_err err = {};
    if (strcmp(name, "too-old") == 0)
        return no_library(0, "version code 20900, at least 21300");
    if (strcmp(name, "no-call") == 0)
        return no_library(0, "has no ncclCommAbort");
    if (strcmp(name, "no-library") == 0)
        return no_library(0, "several GPUs need NCCL, which cannot be loaded: ");
    const char *orders = getenv("FAKE_NCCL");
    if (orders && strcmp(orders, "no-id") == 0)
        return !(gpu_comm_unique_id(together->id, &err) == DCR_FATAL && says(err, "ncclGetUniqueId failed: unhandled"));
    if (gpu_comm_unique_id(together->id, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    const bool is_bf16 = strstr(name, "bf16") != nullptr;
    for (int n = 1; strncmp(name, "sum", 3) == 0 && n <= 3; n++)
        if (gpu_comm_unique_id(together->id, &err) || with_ranks(n, n, [=](int r) { return sum(r, n, is_bf16); }))
            return 1;
    if (strncmp(name, "sum", 3) == 0)
        return 0;
    if (strncmp(name, "graph", 5) == 0)
        return with_ranks(2, 2, [=](int r) { return recorded(r, 2, is_bf16); });
    if (strcmp(name, "none") == 0)
        return with_ranks(2, 2, [](int r) { return none(r, 2); });
    if (strcmp(name, "lost") == 0)
        return with_ranks(3, 2, [](int r) { return lost(r, 3, "ncclCommInitRank"); });
    if (strcmp(name, "stuck-sum") == 0) /* rank 0 waits in the first sum, which rank 1 leaves out */
        return with_ranks(2, 2, [](int r) { return r == 0 ? lost(r, 2, "did not find each other") : joins(r, 2); });
    if (strcmp(name, "no-join") == 0)
        return refused(0, "ncclCommInitRank", "unhandled system error");
    if (strcmp(name, "no-sum") == 0)
        return refused(0, "ncclAllReduce", "misuse");
    if (strcmp(name, "async-error") == 0)
        return broken(0, 0.1, "ncclAllReduce failed: remote process exited: the fake was told so");
    if (strcmp(name, "no-state") == 0)
        return broken(0, 0.1, "ncclCommGetAsyncError failed");
    if (strcmp(name, "late") == 0)
        return broken(0, 2.1, "a step has not ended within 2 s (--comm-timeout)");
    if (strcmp(name, "in-progress") == 0)
        return patient(0);
    if (strcmp(name, "stuck-destroy") == 0)
        return stuck_destroy(0);
    fprintf(stderr, "no case '%s'\n", name);
    return 2;
}

int main(int argc, char **argv)
{
    together =
        (decltype(together))mmap(nullptr, sizeof *together, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (argc != 2 || together == MAP_FAILED)
        return 2;
    int status = run(argv[1]);
    fflush(nullptr);
    _exit(status); /* do not wait for threads that were left behind */
}
