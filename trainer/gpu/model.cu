/* model.cu - builds a model on a device and takes it down: sizes, streams, graph. Its memory is memory.cu's, its packed
 * weights packed.cu's. Called by api.cu. Layouts: model.cuh. */
#include "trainer/gpu/memory.cuh"

#include <cstdlib>
#include <cstring>

/* cuBLAS asks for so much to choose freely among its kernels. */
static size_t workspace_bytes(int major)
{
    return major >= 9 ? (size_t)32 << 20 : (size_t)4 << 20;
}

/* ---- sizes --------------------------------------------------------------------------------------------------------
 */

static void set_sizes(struct gpu *g)
{
    const struct gpu_config *c = &g->c;
    g->width = (c->n_units + 7) / 8 * 8; /* 16 bytes of bf16, as tensor cores want it */
    g->n_terms = 1 + c->n_supports * c->k_hops;
    g->n_steps = c->n_in + c->n_out;
    g->n_x[0] = g->n_terms * c->d_in;
    g->n_x[1] = g->n_terms * c->d_out;
    for (int d = 0; d < 2; d++)
        g->ld_x[d] = (g->n_x[d] + 3) / 4 * 4;
}

static const size_t LEAST_ROWS = 512; /* of a part */

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

size_t model_most_parts(const struct gpu *g, size_t rows, int m, int n)
{
    const size_t wanted = wanted_parts(g, m, n), most = (rows + LEAST_ROWS - 1) / LEAST_ROWS;
    return most < wanted ? most : wanted;
}

/* ---- graph --------------------------------------------------------------------------------------------------------
 */

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
        return dcr_err_set(err, DCR_FATAL, "no memory for a graph of %d edges", nnz);
    for (int i = 0; i < nnz; i++)
        host[i] = {from->col[i], from->val[i]};
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

/* ---- streams ------------------------------------------------------------------------------------------------------
 */

static int open_streams(struct gpu *g, struct dcr_err *err)
{
    int least = 0, greatest = 0; /* the chain of cells goes first, what fills its gaps after */
    CUDA_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest), err);
    CUDA_TRY(cudaStreamCreateWithPriority(&g->main, cudaStreamNonBlocking, greatest), err);
    CUDA_TRY(cudaStreamCreateWithPriority(&g->reduce, cudaStreamNonBlocking, greatest), err);
    CUDA_TRY(cudaStreamCreateWithPriority(&g->side, cudaStreamNonBlocking, least), err);
    CUDA_TRY(cudaStreamCreateWithPriority(&g->copy, cudaStreamNonBlocking, least), err);
    cudaEvent_t *const order[] = {&g->to_side, &g->from_side, &g->to_reduce, &g->from_reduce};
    for (cudaEvent_t *e : order)
        CUDA_TRY(cudaEventCreateWithFlags(e, cudaEventDisableTiming), err);
    for (int l = 0; l < g->c.n_layers; l++) {
        CUDA_TRY(cudaEventCreateWithFlags(&g->h_product[l], cudaEventDisableTiming), err);
        CUDA_TRY(cudaEventCreateWithFlags(&g->state[l], cudaEventDisableTiming), err);
    }
    for (cudaEvent_t &e : g->marks)
        CUDA_TRY(cudaEventCreateWithFlags(&e, cudaEventDefault), err);
    for (struct batch_set &s : g->sets) {
        CUDA_TRY(cudaEventCreateWithFlags(&s.begin, cudaEventDefault), err);
        CUDA_TRY(cudaEventCreateWithFlags(&s.end, cudaEventDefault), err);
        CUDA_TRY(cudaEventCreateWithFlags(&s.wanted, cudaEventDefault), err);
    }
    return 0;
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

/* Gradients on their way in bf16 have memory of their own, which joining takes (nccl.cu). */
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
    TRY(memory_allocate(g, p.name, 2 * workspace + wire_bytes(g), err));
    TRY(open_products(g, workspace, err));
    TRY(open_host_memory(g, err));
    TRY(copy_graph(g, err));
    TRY(packed_fill_map(g, err));
    CUDA_TRY(cudaDeviceSynchronize(), err); /* the copies above ran on no stream of ours */
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
        return dcr_err_set(err, DCR_FATAL, "no memory for a model");
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

static void free_event(cudaEvent_t e)
{
    if (e)
        (void)cudaEventDestroy(e);
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
    cudaEvent_t const order[] = {g->to_side, g->from_side, g->to_reduce, g->from_reduce};
    for (cudaEvent_t e : order)
        free_event(e);
    for (cudaEvent_t e : g->marks)
        free_event(e);
    for (int l = 0; l < GPU_MAX_LAYERS; l++) {
        free_event(g->h_product[l]);
        free_event(g->state[l]);
    }
    for (struct batch_set &s : g->sets) {
        free_event(s.begin);
        free_event(s.end);
        free_event(s.wanted);
    }
    for (int i = 0; i < g->n_blocks; i++)
        (void)cudaFree(g->blocks[i]);
    if (g->orders_host)
        (void)cudaFreeHost(g->orders_host);
    if (g->answer_host)
        (void)cudaFreeHost(g->answer_host);
    std::free(g);
}
