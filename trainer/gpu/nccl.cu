/* nccl.cu - sums over the devices of the ranks, by NCCL, which is found at run time (nccl_abi.h). Communicators are
 * blocking, because their sums can be recorded into a CUDA graph, while a non-blocking one enqueues from a separate
 * thread. Calls that may block without end if another rank is lost (joining, leaving, aborting) run in a thread, and
 * the wait for it is limited. */
#include "trainer/gpu/model.cuh"
#include "trainer/gpu/nccl_abi.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <unistd.h>

/* NCCL stops its running work at the beginning of an abort. The abort may never end while a graph holds its sums. */
static const double LEAVE_S = 5;

struct gpu_comm {
    const struct nccl *nccl;
    void *comm;
    int device, rank;
    char host[64];
    double timeout_s;
    int is_none; /* gradients stay where they are */
    bf16 *wire;  /* (n_wire), NULL when sums travel as fp32 */
    size_t n_wire;
    int is_broken; /* aborted, or a sum could not be enqueued */
};

/* ---- the library ------------------------------------------------------------------------------------------------- */

static int resolve(void *library, struct nccl *n, struct dcr_err *err)
{
    void *at = nullptr;
#define X(member, symbol, result, arguments)                                                            \
    at = dlsym(library, symbol);                                                                        \
    if (!at)                                                                                            \
        return dcr_err_set(err, DCR_FAIL,                                                               \
                           "the " NCCL_ABI_LIBRARY " found here has no %s; it must be NCCL's, 2.13 or " \
                           "later",                                                                     \
                           symbol);                                                                     \
    std::memcpy(&n->member, &at, sizeof at);
    NCCL_ABI_CALLS(X)
#undef X
    if (n->version(&n->version_code) != NCCL_ABI_SUCCESS || n->version_code < NCCL_ABI_OLDEST)
        return dcr_err_set(err, DCR_FAIL, "the NCCL found here has version code %d, at least %d (2.13) is needed",
                           n->version_code, NCCL_ABI_OLDEST);
    return 0;
}

static int open_library(struct nccl *n, struct dcr_err *err)
{
    /* All connections are made while the ranks join, under their deadline, and not in the first sum of a step. NCCL
     * reads this before its first call; a value set by the user stays. */
    setenv("NCCL_RUNTIME_CONNECT", "0", 0);
    /* NCCL would register the buffers of a sum that is recorded into a graph, and the ranks of a host talk to each
     * other for that. But a rank may record a step that another rank, with a batch of another size, still does piece by
     * piece, and would then wait without end. Gradients of some MB gain nothing by registration. */
    setenv("NCCL_GRAPH_REGISTER", "0", 0);
    void *library = dlopen(NCCL_ABI_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        return dcr_err_set(err, DCR_FAIL,
                           "several GPUs need NCCL, which cannot be loaded: %s; put its folder on LD_LIBRARY_PATH, or "
                           "start one rank",
                           why ? why : "no reason was given");
    }
    int rc = resolve(library, n, err);
    if (rc)
        dlclose(library);
    return rc;
}

/* Opened once and kept. Searched beside this library, where it was built, and on LD_LIBRARY_PATH. */
static int nccl_library(const struct nccl **out, struct dcr_err *err)
{
    static struct nccl calls;
    if (!calls.version_code) {
        struct nccl n = {};
        int rc = open_library(&n, err);
        if (rc)
            return rc;
        calls = n;
    }
    *out = &calls;
    return 0;
}

/* ---- in bounded time --------------------------------------------------------------------------------------------- */

/* Runs f in a thread and waits for its end, without limit when seconds is 0. returns whether it ended; else the thread
 * stays behind, so f must own everything it uses. */
template <typename F> static bool within(double seconds, F f)
{
    struct end {
        std::mutex lock;
        std::condition_variable came;
        bool is_there = false;
    };
    auto e = std::make_shared<end>();
    std::thread([e, f] {
        f();
        std::lock_guard<std::mutex> hold(e->lock);
        e->is_there = true;
        e->came.notify_all();
    }).detach();
    std::unique_lock<std::mutex> hold(e->lock);
    if (seconds > 0)
        return e->came.wait_for(hold, std::chrono::duration<double>(seconds), [&] { return e->is_there; });
    e->came.wait(hold, [&] { return e->is_there; });
    return true;
}

/* ---- what went wrong --------------------------------------------------------------------------------------------- */

static int nccl_failed(struct gpu_comm *c, const char *call, int result, struct dcr_err *err)
{
    const char *more = c->nccl->last_error(c->comm);
    c->is_broken = 1;
    return dcr_err_set(err, DCR_FATAL, "rank %d on %s: %s failed: %s%s%.400s; NCCL_DEBUG=WARN makes NCCL say more",
                       c->rank, c->host, call, c->nccl->describe(result), more && *more ? ": " : "", more ? more : "");
}

/* `how` is NCCL's call that ends a communicator. It may wait for the other ranks, of which one may have failed. */
static void leave(struct gpu_comm *c, int (*how)(void *))
{
    void *comm = c->comm;
    int device = c->device;
    c->comm = nullptr;
    if (!comm)
        return;
    try {
        (void)within(LEAVE_S, [how, comm, device] {
            (void)cudaSetDevice(device);
            (void)how(comm);
        });
    } catch (const std::system_error &) { /* no thread is available, so the communicator stays until the process ends */
    }
}

/* ---- joining ----------------------------------------------------------------------------------------------------- */

/* State of a thread that may have to be left behind. */
struct joining {
    const struct nccl *nccl;
    struct nccl_abi_id id;
    int device, rank, n_ranks;
    std::atomic<void *> comm{nullptr}; /* set once it exists */
    const char *call = "cudaSetDevice";
    int result = NCCL_ABI_SUCCESS;
    cudaError_t status = cudaSuccess;
};

/* A first sum shows that all ranks reach each other, before a step depends on it. */
static void first_sum(struct joining *j)
{
    float *one = nullptr;
    cudaStream_t stream = nullptr;
    j->call = "the first ncclAllReduce";
    j->status = cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0);
    if (j->status == cudaSuccess)
        j->status = cudaMalloc((void **)&one, sizeof *one);
    if (j->status == cudaSuccess)
        j->status = cudaMemsetAsync(one, 0, sizeof *one, stream);
    if (j->status == cudaSuccess)
        j->result = j->nccl->all_reduce(one, one, 1, NCCL_ABI_FLOAT32, NCCL_ABI_SUM, j->comm, stream);
    if (j->status == cudaSuccess && j->result == NCCL_ABI_SUCCESS)
        j->status = cudaStreamSynchronize(stream);
    if (one)
        (void)cudaFree(one);
    if (stream)
        (void)cudaStreamDestroy(stream);
}

static void join(struct joining *j)
{
    void *comm = nullptr;
    j->status = cudaSetDevice(j->device); /* a new thread begins on device 0 */
    if (j->status != cudaSuccess)
        return;
    j->call = "ncclCommInitRank";
    j->result = j->nccl->init_rank(&comm, j->n_ranks, j->id, j->rank);
    if (j->result != NCCL_ABI_SUCCESS)
        return;
    j->comm = comm;
    first_sum(j);
}

static int join_others(struct gpu_comm *c, const struct gpu_ranks *ranks, struct dcr_err *err)
{
    auto j = std::make_shared<joining>();
    j->nccl = c->nccl;
    j->device = c->device;
    j->rank = ranks->rank;
    j->n_ranks = ranks->n_ranks;
    static_assert(sizeof j->id == GPU_ID_BYTES, "an id of NCCL fits");
    std::memcpy(&j->id, ranks->id, sizeof j->id);
    bool is_over = false;
    try {
        is_over = within(c->timeout_s, [j] { join(j.get()); });
    } catch (const std::system_error &e) {
        return dcr_err_set(err, DCR_FATAL, "rank %d on %s: cannot start a thread: %s", c->rank, c->host, e.what());
    }
    c->comm = j->comm; /* kept even if its first sum is stuck, because closing stops it */
    if (!is_over)
        return dcr_err_set(err, DCR_FATAL,
                           "rank %d on %s: ncclCommInitRank: the %d ranks did not find each other within %g s; is one "
                           "lost, or is there no network between them that NCCL_SOCKET_IFNAME allows?",
                           c->rank, c->host, ranks->n_ranks, c->timeout_s);
    if (j->result != NCCL_ABI_SUCCESS)
        return nccl_failed(c, j->call, j->result, err);
    if (j->status != cudaSuccess)
        return dcr_err_set(err, DCR_FATAL, "rank %d on %s: %s: CUDA: %s", c->rank, c->host, j->call,
                           cudaGetErrorString(j->status));
    return 0;
}

static int fill(struct gpu_comm *c, const struct gpu_ranks *ranks, size_t largest, struct dcr_err *err)
{
    c->rank = ranks->rank;
    c->timeout_s = ranks->timeout_s;
    c->is_none = ranks->is_none;
    if (gethostname(c->host, sizeof c->host - 1))
        std::snprintf(c->host, sizeof c->host, "unknown-host");
    TRY(nccl_library(&c->nccl, err));
    CUDA_TRY(cudaGetDevice(&c->device), err);
    if (ranks->is_bf16 && !ranks->is_none) {
        CUDA_TRY(cudaMalloc((void **)&c->wire, largest * sizeof *c->wire), err);
        c->n_wire = largest;
    }
    return join_others(c, ranks, err);
}

int gpu_comm_open(struct gpu_comm **out, const struct gpu_ranks *ranks, size_t largest, struct dcr_err *err)
{
    struct gpu_comm *c = (struct gpu_comm *)std::calloc(1, sizeof *c);
    if (!c)
        return dcr_err_set(err, DCR_FATAL, "out of memory for a communicator");
    int rc = fill(c, ranks, largest, err);
    if (rc) {
        c->is_broken = 1;
        gpu_comm_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

void gpu_comm_close(struct gpu_comm *c)
{
    if (!c)
        return;
    if (c->comm)
        leave(c, c->is_broken ? c->nccl->abort : c->nccl->destroy);
    if (c->wire)
        (void)cudaFree(c->wire);
    std::free(c);
}

int gpu_comm_unique_id(unsigned char *id, struct dcr_err *err)
{
    const struct nccl *n = nullptr;
    struct nccl_abi_id made = {};
    TRY(nccl_library(&n, err));
    int result = n->unique_id(&made);
    if (result != NCCL_ABI_SUCCESS)
        return dcr_err_set(err, DCR_FATAL, "ncclGetUniqueId failed: %s: %.400s", n->describe(result),
                           n->last_error(nullptr));
    std::memcpy(id, &made, sizeof made);
    return 0;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static int all_reduce(struct gpu_comm *c, void *values, size_t n, int type, cudaStream_t stream, struct dcr_err *err)
{
    if (c->is_broken)
        return dcr_err_set(err, DCR_FATAL, "rank %d on %s: ncclAllReduce after a failure", c->rank, c->host);
    int result = c->nccl->all_reduce(values, values, n, type, NCCL_ABI_SUM, c->comm, stream);
    return result == NCCL_ABI_SUCCESS ? 0 : nccl_failed(c, "ncclAllReduce", result, err);
}

int gpu_comm_sum_f32(struct gpu_comm *c, float *values, size_t n, cudaStream_t stream, struct dcr_err *err)
{
    if (c->is_none)
        return 0;
    if (!c->wire)
        return all_reduce(c, values, n, NCCL_ABI_FLOAT32, stream, err);
    if (n > c->n_wire)
        return dcr_err_set(err, DCR_FATAL, "a sum of %zu gradients, but there is room for %zu", n, c->n_wire);
    if (n == 0)
        return 0;
    TRY(launch_to_wire(n, values, c->wire, stream, err));
    TRY(all_reduce(c, c->wire, n, NCCL_ABI_BFLOAT16, stream, err));
    return launch_from_wire(n, c->wire, values, stream, err);
}

int gpu_comm_sum_f64(struct gpu_comm *c, double *values, size_t n, cudaStream_t stream, struct dcr_err *err)
{
    return all_reduce(c, values, n, NCCL_ABI_FLOAT64, stream, err);
}

int gpu_comm_check(struct gpu_comm *c, double waited_s, struct dcr_err *err)
{
    int state = NCCL_ABI_SUCCESS, rc = 0;
    if (c->is_broken)
        return dcr_err_set(err, DCR_FATAL, "rank %d on %s: NCCL has failed before", c->rank, c->host);
    int result = c->nccl->async_error(c->comm, &state);
    if (result != NCCL_ABI_SUCCESS)
        rc = nccl_failed(c, "ncclCommGetAsyncError", result, err);
    else if (state != NCCL_ABI_SUCCESS && state != NCCL_ABI_IN_PROGRESS)
        rc = nccl_failed(c, "ncclAllReduce", state, err);
    else if (c->timeout_s > 0 && waited_s > c->timeout_s)
        rc =
            dcr_err_set(err, DCR_FATAL,
                        "rank %d on %s: ncclAllReduce: a step has not ended within %g s (--comm-timeout); another rank "
                        "is lost or stuck",
                        c->rank, c->host, c->timeout_s);
    if (rc) { /* work on the device is stopped, so that streams become free */
        c->is_broken = 1;
        leave(c, c->nccl->abort);
    }
    return rc;
}
