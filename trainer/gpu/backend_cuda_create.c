/* backend_cuda_create.c - creates the CUDA back end: opens the device library, gives each rank a device, describes
 * model and graph to it. Its calls are backend_cuda.c. */
#include "trainer/gpu/backend_cuda.h"
#include "trainer/gpu/library.h"
#include "trainer/gpu/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The supports and their transposes in the precision of the device. */
struct graph_f32 {
    struct graph_csr transposed[GPU_MAX_SUPPORTS];
    float *val[2][GPU_MAX_SUPPORTS];
};

static int as_rows(const struct graph_csr *m, float **val, struct gpu_sparse *out, struct dcr_err *err)
{
    size_t n = (size_t)graph_csr_nnz(m);
    *val = malloc((n ? n : 1) * sizeof **val);
    if (!*val)
        return dcr_err_set(err, DCR_FAIL, "no memory for a graph of %zu edges", n);
    for (size_t i = 0; i < n; i++)
        (*val)[i] = (float)m->val[i];
    *out = (struct gpu_sparse){m->row_start, m->col, *val};
    return 0;
}

static int set_graph(struct gpu_config *g, const struct graph_supports *supports, struct graph_f32 *f,
                     struct dcr_err *err)
{
    int rc = 0;
    g->n_supports = supports->n;
    for (int i = 0; i < supports->n && !rc; i++) {
        rc = as_rows(&supports->support[i], &f->val[0][i], &g->support[i], err);
        if (!rc)
            rc = graph_csr_transpose(&supports->support[i], &f->transposed[i], err);
        if (!rc)
            rc = as_rows(&f->transposed[i], &f->val[1][i], &g->transposed[i], err);
    }
    return rc;
}

static void release_graph(struct graph_f32 *f)
{
    for (int i = 0; i < GPU_MAX_SUPPORTS; i++) {
        graph_csr_free(&f->transposed[i]);
        free(f->val[0][i]);
        free(f->val[1][i]);
    }
}

/* Where a tensor stands, by its name: enc0_W_ru, dec1_b_c, proj_W, ... */
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

/* Ranks of a host take its devices in turn. Each learns the others' hosts from their hashes, by a sum. */
static int local_rank(struct comm *c)
{
    double *hash = calloc((size_t)c->n_ranks, sizeof *hash);
    int before = 0;
    if (!hash) { /* the others would wait in the sum */
        comm_abort(c, "no memory for a table of the ranks");
        return 0;
    }
    uint64_t h = 14695981039346656037u; /* FNV-1a, cut to what a double holds exactly */
    for (const char *p = c->host; *p; p++)
        h = (h ^ (unsigned char)*p) * 1099511628211u;
    hash[c->rank] = (double)(h >> 12);
    comm_sum_f64(c, hash, (size_t)c->n_ranks);
    for (int r = 0; r < c->rank; r++)
        before += hash[r] == hash[c->rank];
    free(hash);
    return before;
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

/* Before 8.0 cuBLAS would quietly compute in fp32, or not at all, under a name that promises something else. */
static int check_precision(enum backend_precision precision, const struct gpu_description *d, struct dcr_err *err)
{
    if (precision == BACKEND_FP32 || d->major >= 8)
        return 0;
    return dcr_err_set(err, DCR_FAIL,
                       "--precision %s needs compute capability 8.0, %s has %d.%d; leave it out to compute in fp32",
                       precision == BACKEND_TF32 ? "tf32" : "bf16", d->name, d->major, d->minor);
}

/* The device of this rank. Collective: every failure is told to all ranks before the next call that needs all. */
static int choose_device(struct cuda *s, int wanted, int may_share, enum backend_precision precision, int *device,
                         struct dcr_err *err)
{
    struct gpu_description d = {0};
    int rc = comm_first_failure(s->comm, s->api->describe(wanted < 0 ? -1 : wanted, &d, err), err);
    if (rc)
        return rc;
    *device = wanted < 0 ? local_rank(s->comm) % d.n_devices : wanted;
    rc = s->api->describe(*device, &d, err);
    snprintf(s->kernels, sizeof s->kernels, "%s%s, compute capability %d.%d, cuBLAS %d.%d",
             d.is_emulated ? "emulated: " : "", d.name, d.major, d.minor, d.cublas / 10000, d.cublas / 100 % 100);
    if (!rc)
        rc = check_precision(precision, &d, err);
    rc = comm_first_failure(s->comm, rc, err);
    return rc ? rc : share_check(s->comm, d.bus_id, d.name, may_share, &s->be.ranks_per_device, err);
}

static int create_on_device(struct cuda *s, const struct backend_config *c, const struct graph_supports *supports,
                            const struct backend_cuda_options *o, struct dcr_err *err)
{
    struct gpu_config g;
    struct graph_f32 graph = {0};
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
    rc = set_graph(&g, supports, &graph, err);
    if (!rc && g.ranks.n_ranks > 1 && g.ranks.rank == 0)
        rc = s->api->unique_id(id, err);
    rc = comm_first_failure(s->comm, rc, err);
    if (!rc) {
        comm_broadcast(s->comm, id, sizeof id);
        rc = comm_first_failure(s->comm, s->api->create(&s->gpu, &g, err), err);
    }
    if (!rc)
        rc = comm_first_failure(s->comm, s->api->join(s->gpu, err), err);
    release_graph(&graph);
    return rc;
}

static int prepare_host(struct cuda *s, const struct backend_config *c, const struct graph_supports *supports,
                        struct dcr_err *err)
{
    struct backend *be = &s->be;
    struct dcrnn_config m = c->model; /* nothing is computed with it: the least memory will do */
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
        return dcr_err_set(err, DCR_FAIL, "no memory for the optimiser of %zu parameters", be->n_params);
    return 0;
}

int backend_cuda_create(struct backend **out, const struct backend_config *c, const struct graph_supports *supports,
                        const struct backend_cuda_options *o, struct comm *comm, struct dcr_err *err)
{
    struct cuda *s = calloc(1, sizeof *s);
    int rc = 0;
    if (!s)
        rc = dcr_err_set(err, DCR_FAIL, "no memory for the model");
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
        fprintf(stderr, "dcrnn-train: note: the GPU is emulated on the CPU: results count, durations say nothing\n");
    *out = &s->be;
    return 0;
}
