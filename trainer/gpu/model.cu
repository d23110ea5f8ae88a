/* model.cu - builds a model on a device and destroys it: sizes, memory, streams, graph. Called by api.cu. model.cuh
 * describes each array. */
#include "trainer/gpu/model.cuh"

#include <cstdlib>
#include <cstring>

/* cuBLAS needs this much to choose freely among its kernels. */
static size_t workspace_bytes(int major)
{
    return major >= 9 ? (size_t)32 << 20 : (size_t)4 << 20;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static void set_sizes(struct gpu *g)
{
    const struct gpu_config *c = &g->c;
    g->width = (c->n_units + 7) / 8 * 8; /* multiples of 16 bytes of bf16, which tensor cores need */
    g->n_terms = 1 + c->n_supports * c->k_hops;
    g->n_steps = c->n_in + c->n_out;
    g->n_x[0] = g->n_terms * c->d_in;
    g->n_x[1] = g->n_terms * c->d_out;
    for (int d = 0; d < 2; d++)
        g->ld_x[d] = (g->n_x[d] + 3) / 4 * 4;
}

static const size_t LEAST_ROWS = 512; /* smallest part */

/* Parts of an (m, n) result that fill the device. */
static size_t wanted_parts(const struct gpu *g, int m, int n)
{
    const size_t tile = 128, tiles = ((size_t)m + tile - 1) / tile * (((size_t)n + tile - 1) / tile);
    return (2 * (size_t)g->limits.n_processors + tiles - 1) / tiles;
}

size_t model_parts(const struct gpu *g, size_t rows, int m, int n)
{
    const size_t wanted = wanted_parts(g, m, n);
    size_t each = (rows + wanted - 1) / wanted;
    each = each < LEAST_ROWS ? LEAST_ROWS : each;
    return (each + 7) / 8 * 8;
}

/* For this many rows or fewer, which may be split into more parts. */
static size_t most_parts(const struct gpu *g, size_t rows, int m, int n)
{
    const size_t wanted = wanted_parts(g, m, n), most = (rows + LEAST_ROWS - 1) / LEAST_ROWS;
    return most < wanted ? most : wanted;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Counts with is_counting, else allocates. */
struct taker {
    struct gpu *g;
    int is_counting;
    size_t bytes;
    int rc;
    struct dcr_err *err;
};

template <typename T> static inline void take(struct taker *t, T **out, size_t n)
{
    const size_t bytes = (n ? n : 1) * sizeof(T);
    struct gpu *g = t->g;
    t->bytes += (bytes + 511) / 512 * 512; /* granularity of an allocation */
    if (t->is_counting || t->rc)
        return;
    void *p = nullptr;
    if (g->n_blocks == MAX_BLOCKS)
        t->rc = dcr_err_set(t->err, DCR_FATAL, "too many blocks of device memory: raise MAX_BLOCKS in model.cuh");
    else
        t->rc = CUDA_CHECK(cudaMalloc(&p, bytes), t->err);
    if (!t->rc)
        g->blocks[g->n_blocks++] = p;
    *out = (T *)p;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Size of the parts of the largest weight gradient. */
static size_t partial_floats(const struct gpu *g)
{
    const size_t rows = (size_t)(g->c.n_in > g->c.n_out ? g->c.n_in : g->c.n_out) * n_rows(g, g->c.max_batch);
    const size_t parts = 4 * (size_t)g->limits.n_processors, depth = (size_t)(g->n_terms * g->width);
    size_t most = parts * (size_t)(g->c.d_out * (g->width + 1));
    for (int d = 0; d < 2; d++)
        most = larger(most, parts * (size_t)(g->n_x[d] + 1) * 3 * (size_t)g->width);
    for (int n = g->width; n <= 3 * g->width; n += g->width)
        most = larger(most, most_parts(g, rows, (int)depth, n) * depth * (size_t)n);
    return most;
}

/* An array of storage type. */
static void take_z(struct taker *t, void **out, size_t n)
{
    char *p = nullptr;
    take(t, &p, n * (is_bf16(t->g) ? sizeof(bf16) : sizeof(float)));
    *out = p;
}

static void take_parameters(struct taker *t)
{
    struct gpu *g = t->g;
    take(t, &g->params, g->c.n_params);
    take(t, &g->grads, g->c.n_params);
    take(t, &g->adam_m, g->c.n_params);
    take(t, &g->adam_v, g->c.n_params);
    take(t, &g->map, g->n_packed);
    take(t, &g->packed, g->n_packed);
    if (is_bf16(g))
        take(t, &g->packed_bf16, g->n_packed);
}

static void take_batches(struct taker *t, size_t rows)
{
    struct gpu *g = t->g;
    const size_t n_y = (size_t)g->c.n_out * rows * (size_t)g->c.d_out;
    char *p = nullptr;
    for (int i = 0; i < N_SETS; i++) {
        take(t, &g->sets[i].x, (size_t)g->c.n_in * rows * (size_t)g->c.d_in);
        take(t, &g->sets[i].truth, n_y);
        take(t, &g->sets[i].raw, n_y);
    }
    take(t, &g->pred, n_y);
    take(t, &g->d_pred, n_y);
    take(t, &p, g->orders_bytes);
    g->orders = (struct orders *)p;
    take(t, &p, g->answer_bytes);
    g->answer = (struct answer *)p;
    take(t, &g->loss_partial, (size_t)g->c.n_out * LOSS_BLOCKS * 4);
    take(t, &g->norm_partial, NORM_BLOCKS);
}

static void take_activations(struct taker *t, size_t rows)
{
    struct gpu *g = t->g;
    const size_t u = rows * (size_t)g->width, terms = u * (size_t)g->n_terms, steps = (size_t)g->n_steps;
    const size_t n_in = (size_t)g->c.n_in;
    take(t, &g->x_terms[0], n_in * rows * (size_t)g->ld_x[0]);
    take(t, &g->x_terms[1], (size_t)g->c.n_out * rows * (size_t)g->ld_x[1]);
    take(t, &g->pre, n_in * 3 * u);
    for (int l = 0; l < g->c.n_layers; l++) {
        take(t, &g->pre_h[l], 2 * u);
        take(t, &g->act[l], steps * 3 * u);
        take(t, &g->dh[l], u);
        take_z(t, &g->zh[l], steps * terms);
        take_z(t, &g->zr[l], steps * terms);
        take_z(t, &g->g[l], steps * 3 * u);
        if (is_bf16(g))
            take(t, &g->h32[l], steps * u);
    }
    take(t, &g->dz_r, terms);
    take(t, &g->dz_h, terms);
    take(t, &g->dz_feed, rows * (size_t)g->ld_x[1]);
    if (g->c.n_layers > 1) {
        take(t, &g->dz_x, n_in * terms);
        take(t, &g->dx, n_in * u);
    }
    take(t, &g->partial, partial_floats(g));
}

static void take_all(struct taker *t)
{
    const size_t rows = n_rows(t->g, t->g->c.max_batch);
    take_parameters(t);
    take_batches(t, rows);
    take_activations(t, rows);
}

/* Parameters, batches, activations: allocates everything that grows with the model, or nothing.
 *  others  bytes that will be needed besides
 *  errors  DCR_FAIL: it does not fit (how much is needed and free), the device failed */
static int allocate(struct gpu *g, const char *device, size_t others, struct dcr_err *err)
{
    size_t free_bytes = 0, total = 0;
    struct taker t = {g, 1, others, 0, err};
    take_all(&t);
    CUDA_TRY(cudaMemGetInfo(&free_bytes, &total), err);
    if (t.bytes > free_bytes)
        return dcr_err_set(err, DCR_FAIL,
                           "this model with a batch of %d needs %.2f GB of device memory, %s has %.2f GB free; use a "
                           "smaller --batch, or more micro-batches with --accumulate",
                           g->c.max_batch, (double)t.bytes / 1e9, device, (double)free_bytes / 1e9);
    g->bytes += t.bytes;
    t.is_counting = 0;
    take_all(&t);
    return t.rc;
}

/* ---- graph ------------------------------------------------------------------------------------------------------- */

static int copy_support(struct gpu *g, const struct gpu_sparse *from, struct diffusion *d, int which,
                        struct dcr_err *err)
{
    const int n = g->c.n_sensors, nnz = from->row_start[n];
    int *row_start = nullptr;
    struct edge *edges = nullptr;
    struct taker t = {g, 0, 0, 0, err};
    take(&t, &row_start, (size_t)n + 1);
    take(&t, &edges, (size_t)nnz);
    TRY(t.rc);
    g->bytes += t.bytes;
    struct edge *host = (struct edge *)std::malloc((size_t)(nnz ? nnz : 1) * sizeof *host);
    if (!host)
        return dcr_err_set(err, DCR_FATAL, "out of memory for a graph of %d edges", nnz);
    for (int i = 0; i < nnz; i++)
        host[i] = {from->col[i], (float)from->val[i]};
    int rc = CUDA_CHECK(cudaMemcpy(edges, host, (size_t)nnz * sizeof *host, cudaMemcpyHostToDevice), err);
    std::free(host);
    TRY(rc);
    CUDA_TRY(cudaMemcpy(row_start, from->row_start, ((size_t)n + 1) * sizeof *row_start, cudaMemcpyHostToDevice), err);
    d->row_start[which] = row_start;
    d->edges[which] = edges;
    return 0;
}

static int copy_graph(struct gpu *g, struct dcr_err *err)
{
    struct diffusion d = {};
    d.n_sensors = g->c.n_sensors;
    d.n_supports = g->c.n_supports;
    d.k_hops = g->c.k_hops;
    d.n_terms = g->n_terms;
    d.is_published = g->c.is_published;
    g->forward = g->back = d;
    for (int i = 0; i < g->c.n_supports; i++) {
        TRY(copy_support(g, &g->c.support[i], &g->forward, i, err));
        TRY(copy_support(g, &g->c.transposed[i], &g->back, i, err));
    }
    return 0;
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

/* Calls f(event, flags) for all of them. */
template <typename F> static void for_each_event(struct gpu *g, F f)
{
    for (cudaEvent_t *e : {&g->to_side, &g->from_side, &g->to_reduce, &g->from_reduce})
        f(e, cudaEventDisableTiming);
    for (int l = 0; l < g->c.n_layers; l++) {
        f(&g->h_product[l], cudaEventDisableTiming);
        f(&g->state[l], cudaEventDisableTiming);
    }
    for (cudaEvent_t &e : g->marks)
        f(&e, cudaEventDefault);
    for (struct batch_set &s : g->sets)
        for (cudaEvent_t *e : {&s.begin, &s.end, &s.wanted})
            f(e, cudaEventDefault);
}

static int open_streams(struct gpu *g, struct dcr_err *err)
{
    int rc = 0, least = 0, greatest = 0; /* the chain of cells has priority, and other work fills its gaps */
    CUDA_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest), err);
    CUDA_TRY(cudaStreamCreateWithPriority(&g->main, cudaStreamNonBlocking, greatest), err);
    CUDA_TRY(cudaStreamCreateWithPriority(&g->reduce, cudaStreamNonBlocking, greatest), err);
    CUDA_TRY(cudaStreamCreateWithPriority(&g->side, cudaStreamNonBlocking, least), err);
    CUDA_TRY(cudaStreamCreateWithPriority(&g->copy, cudaStreamNonBlocking, least), err);
    for_each_event(g, [&](cudaEvent_t *e, unsigned flags) {
        if (!rc)
            rc = CUDA_CHECK(cudaEventCreateWithFlags(e, flags), err);
    });
    return rc;
}

static int open_products(struct gpu *g, size_t bytes, struct dcr_err *err)
{
    char *on_main = nullptr, *on_side = nullptr;
    struct taker t = {g, 0, 0, 0, err};
    take(&t, &on_main, bytes);
    take(&t, &on_side, bytes);
    TRY(t.rc);
    TRY(products_open(&g->on_main, g->c.precision, g->main, on_main, bytes, err));
    return products_open(&g->on_side, g->c.precision, g->side, on_side, bytes, err);
}

static int open_host_memory(struct gpu *g, struct dcr_err *err)
{
    void *p = nullptr;
    CUDA_TRY(cudaHostAlloc(&p, g->orders_bytes, cudaHostAllocDefault), err);
    g->orders_host = (struct orders *)p;
    std::memset(p, 0, g->orders_bytes);
    CUDA_TRY(cudaHostAlloc(&p, g->answer_bytes, cudaHostAllocDefault), err);
    g->answer_host = (struct answer *)p;
    std::memset(p, 0, g->answer_bytes);
    return 0;
}

static int clear(struct gpu *g, struct dcr_err *err)
{
    float *const blocks[] = {g->params, g->grads, g->adam_m, g->adam_v};
    for (float *b : blocks)
        CUDA_TRY(cudaMemsetAsync(b, 0, g->c.n_params * sizeof *b, g->main), err);
    CUDA_TRY(cudaMemsetAsync(g->answer, 0, g->answer_bytes, g->main), err);
    CUDA_TRY(cudaMemsetAsync(g->orders, 0, g->orders_bytes, g->main), err);
    return launch_pack(g->n_packed, g->map, g->params, g->packed, g->packed_bf16, g->main, err);
}

/* Gradients sent in bf16 need separate memory, which joining allocates (nccl.cu). */
static size_t wire_bytes(const struct gpu *g)
{
    const struct gpu_ranks *r = &g->c.ranks;
    return r->n_ranks > 1 && r->is_bf16 && !r->is_none ? g->c.n_params * sizeof(bf16) : 0;
}

static int build(struct gpu *g, struct dcr_err *err)
{
    struct cudaDeviceProp p;
    CUDA_TRY(cudaSetDevice(g->c.device), err);
    CUDA_TRY(cudaGetDeviceProperties(&p, g->c.device), err);
    g->limits = {p.multiProcessorCount, p.sharedMemPerBlockOptin};
    if (g->c.n_params > 0x7fffffff)
        return dcr_err_set(err, DCR_FAIL, "a model of %zu parameters is too large for this back end", g->c.n_params);
    set_sizes(g);
    packed_place(g);
    g->orders_bytes = sizeof(struct orders) + (size_t)g->c.n_out;
    g->answer_bytes = sizeof(struct answer) + (size_t)g->c.n_out * 4 * sizeof(double);
    const size_t workspace = workspace_bytes(p.major);
    TRY(open_streams(g, err));
    TRY(allocate(g, p.name, 2 * workspace + wire_bytes(g), err));
    TRY(open_products(g, workspace, err));
    TRY(open_host_memory(g, err));
    TRY(copy_graph(g, err));
    TRY(packed_fill_map(g, err));
    CUDA_TRY(cudaDeviceSynchronize(), err); /* the copies above ran on none of our streams */
    TRY(clear(g, err));
    CUDA_TRY(cudaDeviceSynchronize(), err);
    return 0;
}

int model_join(struct gpu *g, struct dcr_err *err)
{
    int rc = 0;
    CUDA_TRY(cudaSetDevice(g->c.device), err);
    if (g->c.ranks.n_ranks > 1)
        rc = gpu_comm_open(&g->comm, &g->c.ranks, g->c.n_params, err);
    g->c.ranks.id = nullptr;
    return rc;
}

int model_create(struct gpu **out, const struct gpu_config *c, struct dcr_err *err)
{
    struct gpu *g = (struct gpu *)std::calloc(1, sizeof *g);
    if (!g)
        return dcr_err_set(err, DCR_FATAL, "out of memory for the model");
    g->c = *c;
    int rc = build(g, err);
    if (rc) {
        model_destroy(g);
        return rc;
    }
    std::memset(g->c.support, 0, sizeof g->c.support);
    std::memset(g->c.transposed, 0, sizeof g->c.transposed);
    *out = g;
    return 0;
}

/* In any state, also after the device failed: nothing is checked. */
void model_destroy(struct gpu *g)
{
    if (!g)
        return;
    (void)cudaDeviceSynchronize();
    for (struct recorded &r : g->recorded)
        if (r.exec)
            (void)cudaGraphExecDestroy(r.exec);
    gpu_comm_close(g->comm);
    products_close(&g->on_main);
    products_close(&g->on_side);
    cudaStream_t const streams[] = {g->main, g->side, g->copy, g->reduce};
    for (cudaStream_t s : streams)
        if (s)
            (void)cudaStreamDestroy(s);
    for_each_event(g, [](cudaEvent_t *e, unsigned) {
        if (*e)
            (void)cudaEventDestroy(*e);
    });
    for (int i = 0; i < g->n_blocks; i++)
        (void)cudaFree(g->blocks[i]);
    if (g->orders_host)
        (void)cudaFreeHost(g->orders_host);
    if (g->answer_host)
        (void)cudaFreeHost(g->answer_host);
    std::free(g);
}
