/* api.cu - the table of device.h: the functions that the program may call. */
#include "trainer/gpu/model.cuh"

#include <cmath>
#include <cstdio>
#include <cstring>

/* CUDA 13 supports no older devices. */
enum { OLDEST_MAJOR = 7, OLDEST_MINOR = 5 };

/* Says what a user can do about it, instead of giving an error number. */
static int check_devices(int *n, struct dcr_err *err)
{
    *n = 0;
    cudaError_t status = cudaGetDeviceCount(n);
    if (status == cudaErrorInsufficientDriver) {
        int driver = 0;
        if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
            return dcr_err_set(err, DCR_FAIL, "this machine has no NVIDIA driver; use --backend cpu");
        return dcr_err_set(err, DCR_FAIL,
                           "the NVIDIA driver here is for CUDA %d.%d, this program needs %d.%d; update it or use "
                           "--backend cpu",
                           driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    }
    if (status == cudaErrorNoDevice || (status == cudaSuccess && *n == 0))
        return dcr_err_set(err, DCR_FAIL,
                           "there is no CUDA device (CUDA_VISIBLE_DEVICES may hide it); use --backend cpu");
    return CUDA_CHECK(status, err);
}

/* It needs no handle, and so no device. 130100 = 13.1.0 */
static int cublas_version(int *out, struct dcr_err *err)
{
    int major = 0, minor = 0, patch = 0;
    if (cublasGetProperty(MAJOR_VERSION, &major) != CUBLAS_STATUS_SUCCESS ||
        cublasGetProperty(MINOR_VERSION, &minor) != CUBLAS_STATUS_SUCCESS ||
        cublasGetProperty(PATCH_LEVEL, &patch) != CUBLAS_STATUS_SUCCESS)
        return dcr_err_set(err, DCR_FATAL, "CUDA: cublasGetProperty failed");
    *out = major * 10000 + minor * 100 + patch;
    return 0;
}

static int describe(int device, struct gpu_description *out, struct dcr_err *err)
{
    struct cudaDeviceProp p;
    std::memset(out, 0, sizeof *out);
    TRY(check_devices(&out->n_devices, err));
    /* Setting a device creates a context, which takes memory, or is refused if the device allows only one. */
    if (device < 0)
        return 0;
    if (device >= out->n_devices)
        return dcr_err_set(err, DCR_FAIL, "there is no CUDA device %d: this process sees %d", device, out->n_devices);
    CUDA_TRY(cudaGetDeviceProperties(&p, device), err);
    if (p.major * 10 + p.minor < OLDEST_MAJOR * 10 + OLDEST_MINOR)
        return dcr_err_set(err, DCR_FAIL,
                           "%s has compute capability %d.%d, at least %d.%d is needed; use --backend cpu", p.name,
                           p.major, p.minor, OLDEST_MAJOR, OLDEST_MINOR);
    std::snprintf(out->name, sizeof out->name, "%s", p.name);
    CUDA_TRY(cudaDeviceGetPCIBusId(out->bus_id, sizeof out->bus_id, device), err);
    for (int i = 0; i < 16; i++)
        std::snprintf(out->uuid + 2 * i, 3, "%02x", (unsigned)(unsigned char)p.uuid.bytes[i]);
    out->major = p.major;
    out->minor = p.minor;
    TRY(cublas_version(&out->cublas, err));
#ifdef DCRNN_EMULATED
    out->is_emulated = 1;
#endif
    return CUDA_CHECK(cudaSetDevice(device), err);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static float *block_of(struct gpu *g, enum gpu_block which)
{
    float *const blocks[GPU_N_BLOCKS] = {g->params, g->grads, g->adam_m, g->adam_v};
    return blocks[which];
}

static int put(struct gpu *g, enum gpu_block which, const float *from, struct dcr_err *err)
{
    const size_t bytes = g->c.n_params * sizeof *from;
    CUDA_TRY(cudaMemcpyAsync(block_of(g, which), from, bytes, cudaMemcpyHostToDevice, g->main), err);
    if (which == GPU_PARAMS)
        TRY(launch_pack(g->n_packed, g->map, g->params, g->packed, g->packed_bf16, g->main, err));
    return wait_for_main(g, err);
}

static int get(struct gpu *g, enum gpu_block which, float *to, struct dcr_err *err)
{
    CUDA_TRY(cudaMemcpyAsync(to, block_of(g, which), g->c.n_params * sizeof *to, cudaMemcpyDeviceToHost, g->main), err);
    return wait_for_main(g, err);
}

/* ---- piece by piece ---------------------------------------------------------------------------------------------- */

static void set_coins(struct gpu *g, const struct gpu_batch *b)
{
    uint8_t *coins = (uint8_t *)(g->orders_host + 1);
    for (int t = 0; t < g->c.n_out; t++)
        coins[t] = b->truth_z && b->coins && b->coins[t];
}

static int forward(struct gpu *g, const struct gpu_batch *b, int is_training, struct dcr_err *err)
{
    struct task t = {};
    TRY(batch_bring(g, b, err));
    set_coins(g, b);
    if (!is_training) {
        t.is_first = 1;
        return task_run(g, &t, nullptr, err);
    }
    CUDA_TRY(cudaMemcpyAsync(g->orders, g->orders_host, g->orders_bytes, cudaMemcpyHostToDevice, g->main), err);
    t.is_training = t.is_first = 1;
    TRY(enqueue_forward(g, 1, b->truth_z != nullptr, err));
    TRY(enqueue_loss(g, &t, err));
    CUDA_TRY(cudaMemcpyAsync(g->answer_host, g->answer, g->answer_bytes, cudaMemcpyDeviceToHost, g->main), err);
    return wait_for_main(g, err);
}

static int loss(struct gpu *g, double *sums, struct dcr_err *)
{
    std::memcpy(sums, g->answer_host->horizons, (size_t)g->c.n_out * 4 * sizeof *sums);
    return 0;
}

static int backward(struct gpu *g, int is_first, struct dcr_err *err)
{
    if (!g->is_training)
        return dcr_err_set(err, DCR_FATAL, "backward was called after an evaluation");
    if (is_first)
        CUDA_TRY(cudaMemsetAsync(g->grads, 0, g->c.n_params * sizeof *g->grads, g->main), err);
    TRY(enqueue_backward(g, 0, err));
    return wait_for_main(g, err);
}

static int predictions(struct gpu *g, float *out, struct dcr_err *err)
{
    const size_t n = (size_t)g->c.n_out * n_rows(g, g->n_batch) * (size_t)g->c.d_out;
    if (n > 0)
        CUDA_TRY(cudaMemcpyAsync(out, g->pred, n * sizeof *out, cudaMemcpyDeviceToHost, g->main), err);
    return wait_for_main(g, err);
}

static void set_rates(struct gpu *g, int64_t step, double lr, double clip)
{
    struct orders *o = g->orders_host;
    o->rate = (float)(lr / (1 - std::pow(g->c.beta1, (double)step)));
    o->root = (float)(1 / std::sqrt(1 - std::pow(g->c.beta2, (double)step)));
    o->clip = (float)clip;
}

static int update(struct gpu *g, int64_t step, double lr, double clip, double *norm, struct dcr_err *err)
{
    set_rates(g, step, lr, clip);
    CUDA_TRY(cudaMemcpyAsync(g->orders, g->orders_host, g->orders_bytes, cudaMemcpyHostToDevice, g->main), err);
    TRY(enqueue_update(g, 1, err));
    CUDA_TRY(cudaMemcpyAsync(g->answer_host, g->answer, g->answer_bytes, cudaMemcpyDeviceToHost, g->main), err);
    TRY(wait_for_main(g, err));
    *norm = g->answer_host->norm;
    return 0;
}

/* ---- the whole step ---------------------------------------------------------------------------------------------- */

/* For a copy made during the step before: the time that this step did not hide. */
static int read_copy_time(struct gpu *g, int64_t *exposed_ns, struct dcr_err *err)
{
    const struct batch_set *set = &g->sets[g->set];
    int64_t whole_ns = 0, waited_ns = 0;
    TRY(elapsed_ns(set->begin, set->end, &whole_ns, err));
    TRY(elapsed_ns(set->wanted, set->end, &waited_ns, err));
    waited_ns = waited_ns < whole_ns ? waited_ns : whole_ns;
    *exposed_ns = waited_ns > 0 ? waited_ns : 0;
    return 0;
}

static int read_times(struct gpu *g, struct gpu_step *s, struct dcr_err *err)
{
    static const enum mark_range between[N_MARKS - 1] = {MARK_FORWARD, MARK_BACKWARD, MARK_ALL_REDUCE, MARK_OPTIMIZER};
    std::memset(s->ns, 0, sizeof s->ns);
    for (int i = 0; i < N_MARKS - 1; i++)
        TRY(elapsed_ns(g->marks[i], g->marks[i + 1], &s->ns[between[i]], err));
    return read_copy_time(g, &s->ns[MARK_H2D], err);
}

static int step(struct gpu *g, struct gpu_step *s, struct dcr_err *err)
{
    struct task t = {1, s->batch.truth_z != nullptr, s->is_first, s->is_last, s->is_last ? s->n_tally : 2};
    if (s->is_last && (s->n_tally < 2 || s->n_tally > GPU_MAX_TALLY))
        return dcr_err_set(err, DCR_FATAL, "a tally of %zu sums does not fit: raise GPU_MAX_TALLY", s->n_tally);
    TRY(batch_bring(g, &s->batch, err));
    set_coins(g, &s->batch);
    if (s->is_last) {
        set_rates(g, s->step, s->lr, s->clip);
        std::memcpy(g->orders_host->tally, s->tally, s->n_tally * sizeof *s->tally);
    }
    TRY(task_run(g, &t, s, err));
    TRY(read_times(g, s, err));
    if (s->is_last) {
        std::memcpy(s->tally, g->answer_host->tally, s->n_tally * sizeof *s->tally);
        s->norm = g->answer_host->norm;
        s->is_updated = g->answer_host->is_updated != 0;
    }
    return 0;
}

/* ---- memory for the host ----------------------------------------------------------------------------------------- */

static void *host_alloc(size_t bytes)
{
    void *p = nullptr;
    if (cudaHostAlloc(&p, bytes ? bytes : 1, cudaHostAllocDefault) == cudaSuccess)
        return p;
    (void)cudaGetLastError(); /* otherwise the next launch would report it */
    return nullptr;
}

static void host_free(void *p)
{
    if (p)
        (void)cudaFreeHost(p);
}

static size_t memory_bytes(const struct gpu *g)
{
    return g->bytes;
}

/* In the order of device.h; no two members have one type. */
static const struct gpu_api api = {
    GPU_API_VERSION,
    describe,
    gpu_comm_unique_id,
    model_create,
    model_join,
    model_destroy,
    put,
    get,
    forward,
    loss,
    backward,
    predictions,
    update,
    step,
    batch_prefetch,
    host_alloc,
    host_free,
    memory_bytes,
};

extern "C" __attribute__((visibility("default"))) const struct gpu_api *dcrnn_gpu_api(uint32_t version)
{
    return version == GPU_API_VERSION ? &api : nullptr;
}
