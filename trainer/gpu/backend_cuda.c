/* backend_cuda.c - the CUDA back end's host half, part of every build. It opens the device library, gives each rank
 * a device, describes model and graph to it, and passes the calls of backend.h on (device.h). The parameters' table
 * and initial bits are the CPU's. */
#include "trainer/gpu/device.h"
#include "trainer/gpu/share.h"
#include "trainer/model/backend.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cuda {
    struct backend be; /* first: a struct backend * is a struct cuda * */
    const struct gpu_api *api;
    struct gpu *gpu;
    struct comm *comm;
    struct dcrnn *model; /* only for the parameter block, its table and its initial values */
    int n_out;
    float *pred_z; /* shape: (H, max_batch, N, Dout) */
    double *sums;  /* shape: (H, 4) */
    char kernels[320];
    struct dcr_err err; /* of a call that returns no error */
};

static struct cuda *self(struct backend *be)
{
    return (struct cuda *)be;
}

/* A device failed in the middle of a run: no call can go on, and the other ranks would wait for this one. */
static void must(struct cuda *s, int rc)
{
    if (!rc)
        return;
    comm_abort(s->comm, s->err.text);
    dcr_say("dcrnn-train", "rank %d on %s: %s", s->comm->rank, s->comm->host, s->err.text);
    fflush(NULL);
    _exit(DCR_EXIT_INPUT);
}

static struct gpu_batch as_gpu(const struct backend_batch *b)
{
    return (struct gpu_batch){.n = b->n, .x = b->x, .truth_z = b->truth_z, .raw = b->raw, .coins = b->coins};
}

/* ---- the calls of backend.h -------------------------------------------------------------------------------------- */

static void cuda_fetch(struct backend *be)
{
    struct cuda *s = self(be);
    float *const blocks[GPU_N_BLOCKS] = {be->params, be->grads, be->adam_m, be->adam_v};
    for (int i = 0; i < GPU_N_BLOCKS; i++)
        must(s, s->api->get(s->gpu, (enum gpu_block)i, blocks[i], &s->err));
}

static void cuda_store(struct backend *be)
{
    struct cuda *s = self(be);
    const float *const blocks[GPU_N_BLOCKS] = {be->params, be->grads, be->adam_m, be->adam_v};
    for (int i = 0; i < GPU_N_BLOCKS; i++)
        must(s, s->api->put(s->gpu, (enum gpu_block)i, blocks[i], &s->err));
}

static void cuda_init(struct backend *be, uint64_t seed)
{
    dcrnn_init(self(be)->model, seed);
    memset(be->grads, 0, be->n_params * sizeof(float));
    memset(be->adam_m, 0, be->n_params * sizeof(float));
    memset(be->adam_v, 0, be->n_params * sizeof(float));
    be->step = 0;
    cuda_store(be);
}

static void cuda_forward(struct backend *be, const struct backend_batch *batch)
{
    struct cuda *s = self(be);
    struct gpu_batch b = as_gpu(batch);
    must(s, s->api->forward(s->gpu, &b, 1, &s->err));
}

static void read_sums(struct cuda *s)
{
    must(s, s->api->loss(s->gpu, s->sums, &s->err));
}

static void cuda_loss(struct backend *be, double *sum_abs, int64_t *n_valid)
{
    struct cuda *s = self(be);
    double sum = 0, count = 0;
    read_sums(s);
    for (int t = 0; t < s->n_out; t++) {
        sum += s->sums[4 * t];
        count += s->sums[4 * t + 3];
    }
    *sum_abs = sum;
    if (n_valid)
        *n_valid = (int64_t)count;
}

/* The gradient goes to the host, where the loop reduces and scales it if it does the step itself. */
static void cuda_backward(struct backend *be, int is_first, const struct dcrnn_progress *progress)
{
    struct cuda *s = self(be);
    must(s, s->api->backward(s->gpu, is_first, &s->err));
    must(s, s->api->get(s->gpu, GPU_GRADS, be->grads, &s->err));
    if (progress)
        progress->call(progress->ctx, be->n_params);
}

static double cuda_update(struct backend *be, double lr, double clip)
{
    struct cuda *s = self(be);
    double norm = NAN;
    must(s, s->api->put(s->gpu, GPU_GRADS, be->grads, &s->err));
    must(s, s->api->update(s->gpu, be->step + 1, lr, clip, &norm, &s->err));
    if (isfinite(norm)) {
        be->step++;
        must(s, s->api->get(s->gpu, GPU_PARAMS, be->params, &s->err));
    }
    return norm;
}

static void cuda_evaluate(struct backend *be, const struct backend_batch *batch, struct loss_horizon *sums)
{
    struct cuda *s = self(be);
    struct gpu_batch b = as_gpu(batch);
    must(s, s->api->forward(s->gpu, &b, 0, &s->err));
    read_sums(s);
    for (int t = 0; t < s->n_out; t++) {
        sums[t].abs += s->sums[4 * t];
        sums[t].square += s->sums[4 * t + 1];
        sums[t].relative += s->sums[4 * t + 2];
        sums[t].n_valid += s->sums[4 * t + 3];
    }
}

static const float *cuda_predictions(struct backend *be)
{
    struct cuda *s = self(be);
    must(s, s->api->predictions(s->gpu, s->pred_z, &s->err));
    return s->pred_z;
}

static int cuda_whole_step(struct backend *be, struct backend_step *b, struct dcr_err *err)
{
    struct cuda *s = self(be);
    struct gpu_step g = {.batch = as_gpu(b->batch),
                         .is_first = b->is_first,
                         .is_last = b->is_last,
                         .step = be->step + 1,
                         .lr = b->lr,
                         .clip = b->clip,
                         .tally = b->tally,
                         .n_tally = b->n_tally,
                         .enters = b->enters,
                         .meanwhile = b->meanwhile,
                         .ctx = b->ctx};
    int rc = s->api->step(s->gpu, &g, err);
    if (rc)
        return rc;
    memcpy(b->ns, g.ns, sizeof b->ns);
    if (b->is_last) {
        b->norm = g.norm;
        be->step += g.is_updated != 0;
    }
    return 0;
}

static void cuda_prefetch(struct backend *be, const struct backend_batch *batch)
{
    struct cuda *s = self(be);
    struct gpu_batch b = as_gpu(batch);
    must(s, s->api->prefetch(s->gpu, &b, &s->err));
}

static size_t cuda_memory_bytes(const struct backend *be)
{
    const struct cuda *s = (const struct cuda *)be;
    return s->api->memory_bytes(s->gpu);
}

static void cuda_free(struct backend *be)
{
    struct cuda *s = self(be);
    if (!s)
        return;
    if (s->gpu)
        s->api->destroy(s->gpu);
    dcrnn_free(s->model);
    free(be->adam_m);
    free(be->adam_v);
    free(s->pred_z);
    free(s->sums);
    free(s);
}

/* The fields that are data are filled at creation. `free` takes a back end in any state. */
static const struct backend cuda_calls = {.name = "cuda",
                                          .init = cuda_init,
                                          .forward = cuda_forward,
                                          .loss = cuda_loss,
                                          .backward = cuda_backward,
                                          .update = cuda_update,
                                          .evaluate = cuda_evaluate,
                                          .predictions = cuda_predictions,
                                          .whole_step = cuda_whole_step,
                                          .fetch = cuda_fetch,
                                          .store = cuda_store,
                                          .prefetch = cuda_prefetch,
                                          .memory_bytes = cuda_memory_bytes,
                                          .free = cuda_free};

/* ---- the device library ------------------------------------------------------------------------------------------ */

#define LIBRARY_VARIABLE "DCRNN_CUDA_LIBRARY"
#define BESIDE "../lib/dcreport/libdcrnn-cuda.so"

static int find(char *path, size_t size, struct dcr_err *err)
{
    const char *given = getenv(LIBRARY_VARIABLE);
    int n = 0;
    if (given && *given) {
        n = snprintf(path, size, "%s", given);
    } else {
        ssize_t length = readlink("/proc/self/exe", path, size - 1);
        if (length < 0)
            return dcr_err_sys(err, DCR_FAIL, "cannot find the program's own folder; set " LIBRARY_VARIABLE);
        path[length] = '\0';
        char *slash = strrchr(path, '/');
        size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
        n = (int)folder + snprintf(path + folder, size - folder, BESIDE);
    }
    if (n < 0 || (size_t)n >= size)
        return dcr_err_set(err, DCR_FAIL, "the name '%.200s...' is too long; choose a shorter one", path);
    if (access(path, R_OK) != 0)
        return dcr_err_set(
            err, DCR_FAIL,
            "--backend cuda: there is no CUDA part '%s' (%s); build with nvcc on the PATH, set " LIBRARY_VARIABLE
            ", or use --backend cpu",
            path, strerror(errno));
    return 0;
}

int gpu_library_open(const struct gpu_api **out, struct dcr_err *err)
{
    char path[4096];
    int rc = find(path, sizeof path, err);
    if (rc)
        return rc;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return dcr_err_set(err, DCR_FAIL,
                           "--backend cuda: cannot load the CUDA part: %s; put CUDA 13's libraries on LD_LIBRARY_PATH, "
                           "or use --backend cpu",
                           dlerror());
    gpu_api_fn *entry = NULL;
    void *symbol = dlsym(library, GPU_API_SYMBOL);
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from object to function pointer */
    *out = entry ? entry(GPU_API_VERSION) : NULL;
    if (!*out) {
        dlclose(library);
        return dcr_err_set(
            err, DCR_FAIL,
            "--backend cuda: '%s' belongs to another version; build program and library from the same source", path);
    }
    return 0;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

static struct gpu_sparse as_rows(const struct graph_csr *m)
{
    return (struct gpu_sparse){m->row_start, m->col, m->val};
}

/* transposed: gives, also after a failure */
static int set_graph(struct gpu_config *g, const struct graph_supports *supports,
                     struct graph_csr transposed[GPU_MAX_SUPPORTS], struct dcr_err *err)
{
    int rc = 0;
    g->n_supports = supports->n;
    for (int i = 0; i < supports->n && !rc; i++) {
        rc = graph_csr_transpose(&supports->support[i], &transposed[i], err);
        g->support[i] = as_rows(&supports->support[i]);
        g->transposed[i] = as_rows(&transposed[i]);
    }
    return rc;
}

/* The position of a tensor, by its name: enc0_W_ru, dec1_b_c, proj_W, ... */
static size_t *place_of(struct gpu_config *g, const char *name)
{
    int is_decoder = strncmp(name, "dec", 3) == 0;
    if (strcmp(name, "proj_W") == 0)
        return &g->proj_w;
    if (strcmp(name, "proj_b") == 0)
        return &g->proj_b;
    char *what = NULL;
    struct gpu_tensors *at = &g->at[is_decoder][strtol(name + 3, &what, 10)];
    return strcmp(what, "_W_ru") == 0   ? &at->w_ru
           : strcmp(what, "_b_ru") == 0 ? &at->b_ru
           : strcmp(what, "_W_c") == 0  ? &at->w_c
                                        : &at->b_c;
}

static void set_table(const struct backend *be, struct gpu_config *g)
{
    g->n_params = g->n_decoder = be->n_params;
    for (int i = 0; i < be->n_tensors; i++) {
        const struct dcrnn_tensor *t = &be->tensors[i];
        *place_of(g, t->name) = t->offset;
        if (strncmp(t->name, "enc", 3) == 0 && t->offset < g->n_decoder)
            g->n_decoder = t->offset;
    }
}

static void set_sizes(const struct backend_config *c, struct gpu_config *g)
{
    const struct dcrnn_config *m = &c->model;
    *g = (struct gpu_config){.n_sensors = m->n_sensors,
                             .n_units = m->n_units,
                             .n_layers = m->n_layers,
                             .n_in = m->n_in,
                             .n_out = m->n_out,
                             .d_in = m->d_in,
                             .d_out = m->d_out,
                             .k_hops = m->k_hops,
                             .max_batch = m->max_batch,
                             .is_published = m->recursion == DCRNN_PUBLISHED,
                             .mean = c->mean,
                             .std = c->std,
                             .beta1 = c->adam.beta1,
                             .beta2 = c->adam.beta2,
                             .eps = c->adam.eps,
                             .precision = (enum gpu_precision)c->precision};
}

/* Before 8.0 cuBLAS would silently compute in fp32, or not at all, although the name promises another precision. */
static int check_precision(enum backend_precision precision, const struct gpu_description *d, struct dcr_err *err)
{
    if (precision == BACKEND_FP32 || d->major >= 8)
        return 0;
    return dcr_err_set(err, DCR_FAIL,
                       "--precision %s needs compute capability 8.0, %s has %d.%d; leave it out to compute in fp32",
                       precision == BACKEND_TF32 ? "tf32" : "bf16", d->name, d->major, d->minor);
}

/* The device of this rank. Collective: every failure is reported to all ranks before the next collective call. */
static int choose_device(struct cuda *s, int wanted, int may_share, enum backend_precision precision, int *device,
                         struct dcr_err *err)
{
    struct gpu_description d = {0};
    int rc = comm_first_failure(s->comm, s->api->describe(wanted < 0 ? -1 : wanted, &d, err), err);
    if (rc)
        return rc;
    *device = wanted < 0 ? share_local_rank(s->comm) % d.n_devices : wanted;
    rc = s->api->describe(*device, &d, err);
    snprintf(s->kernels, sizeof s->kernels, "%s%s, compute capability %d.%d, cuBLAS %d.%d",
             d.is_emulated ? "emulated: " : "", d.name, d.major, d.minor, d.cublas / 10000, d.cublas / 100 % 100);
    if (!rc)
        rc = check_precision(precision, &d, err);
    rc = comm_first_failure(s->comm, rc, err);
    return rc ? rc : share_check(s->comm, &d, may_share, &s->be.ranks_per_device, err);
}

static int create_on_device(struct cuda *s, const struct backend_config *c, const struct graph_supports *supports,
                            const struct backend_cuda_options *o, struct dcr_err *err)
{
    struct gpu_config g;
    struct graph_csr transposed[GPU_MAX_SUPPORTS] = {0};
    unsigned char id[GPU_ID_BYTES] = {0};
    set_sizes(c, &g);
    set_table(&s->be, &g);
    g.use_graph = o->use_graph;
    g.ranks = (struct gpu_ranks){.rank = s->comm->rank,
                                 .n_ranks = s->comm->n_ranks,
                                 .id = id,
                                 .is_bf16 = o->all_reduce_bf16,
                                 .is_none = o->all_reduce_none,
                                 .is_late = !o->is_overlapped,
                                 .bucket_bytes = o->bucket_bytes,
                                 .timeout_s = o->timeout_s};
    int rc = choose_device(s, o->device, o->may_share, c->precision, &g.device, err);
    if (rc)
        return rc;
    rc = set_graph(&g, supports, transposed, err);
    if (!rc && g.ranks.n_ranks > 1 && g.ranks.rank == 0)
        rc = s->api->unique_id(id, err);
    rc = comm_first_failure(s->comm, rc, err);
    if (!rc) {
        comm_broadcast(s->comm, id, sizeof id);
        rc = comm_first_failure(s->comm, s->api->create(&s->gpu, &g, err), err);
    }
    if (!rc)
        rc = comm_first_failure(s->comm, s->api->join(s->gpu, err), err);
    for (int i = 0; i < GPU_MAX_SUPPORTS; i++)
        graph_csr_free(&transposed[i]);
    return rc;
}

static int prepare_host(struct cuda *s, const struct backend_config *c, const struct graph_supports *supports,
                        struct dcr_err *err)
{
    struct backend *be = &s->be;
    struct dcrnn_config m = c->model; /* it computes nothing, so it gets the least memory */
    m.max_batch = m.n_threads = 1;
    m.kernels = NULL;
    int rc = gpu_library_open(&s->api, err);
    if (!rc)
        rc = dcrnn_create(&s->model, &m, supports, err);
    if (rc)
        return rc;
    be->n_params = dcrnn_n_params(s->model);
    be->params = dcrnn_params(s->model);
    be->grads = dcrnn_grads(s->model);
    be->tensors = dcrnn_tensors(s->model, &be->n_tensors);
    be->host_alloc = s->api->host_alloc;
    be->host_free = s->api->host_free;
    s->n_out = c->model.n_out;
    size_t n_pred = (size_t)c->model.n_out * (size_t)c->model.max_batch * (size_t)c->model.n_sensors;
    be->adam_m = calloc(be->n_params, sizeof(float));
    be->adam_v = calloc(be->n_params, sizeof(float));
    s->pred_z = calloc(n_pred * (size_t)c->model.d_out, sizeof(float));
    s->sums = calloc((size_t)s->n_out * 4, sizeof *s->sums);
    if (!be->adam_m || !be->adam_v || !s->pred_z || !s->sums)
        return dcr_err_set(err, DCR_FAIL, "out of memory for the optimiser of %zu parameters", be->n_params);
    return 0;
}

int backend_cuda_create(struct backend **out, const struct backend_config *c, const struct graph_supports *supports,
                        const struct backend_cuda_options *o, struct comm *comm, struct dcr_err *err)
{
    struct cuda *s = calloc(1, sizeof *s);
    int rc = 0;
    if (!s)
        rc = dcr_err_set(err, DCR_FAIL, "out of memory for the model");
    if (s) {
        s->comm = comm;
        s->be = cuda_calls;
        s->be.kernels = s->kernels;
        rc = prepare_host(s, c, supports, err);
    }
    rc = comm_first_failure(comm, rc, err);
    if (!rc)
        rc = create_on_device(s, c, supports, o, err);
    if (rc) {
        if (s)
            s->be.free(&s->be);
        return rc;
    }
    if (comm->rank == 0 && strncmp(s->kernels, "emulated", strlen("emulated")) == 0)
        dcr_say("dcrnn-train", "note: the GPU is emulated on the CPU: results are valid, times are not");
    *out = &s->be;
    return 0;
}
