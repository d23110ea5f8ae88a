/* dcrnn.c - builds a model: checks the sizes, lays out its memory, names its parameters, counts its operations. Forward
 * and backward are in dcrnn_run.c. */
#include "trainer/model/dcrnn_model.h"

#include "trainer/model/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* From this number of rows on, the products of a tile are efficient. More samples would only need more cache. */
#define MIN_TILE_ROWS 192

static int check_size(const char *what, int value, int low, int high, struct dcr_err *err)
{
    if (value < low || value > high)
        return dcr_err_set(err, DCR_FAIL, "a model takes %d to %d %s, not %d", low, high, what, value);
    return 0;
}

static int check_config(const struct dcrnn_config *c, const struct graph_supports *supports, struct dcr_err *err)
{
    int rc = check_size("sensors", c->n_sensors, 1, 1 << 20, err);
    if (rc == 0)
        rc = check_size("units", c->n_units, 1, 4096, err);
    if (rc == 0)
        rc = check_size("layers", c->n_layers, 1, DCRNN_MAX_LAYERS, err);
    if (rc == 0)
        rc = check_size("input steps", c->n_in, 1, 4096, err);
    if (rc == 0)
        rc = check_size("forecast steps", c->n_out, 1, 4096, err);
    if (rc == 0)
        rc = check_size("input features", c->d_in, 1, 64, err);
    if (rc == 0)
        rc = check_size("output features", c->d_out, 1, 64, err);
    if (rc == 0)
        rc = check_size("hops", c->k_hops, 1, DCRNN_MAX_K, err);
    if (rc == 0)
        rc = check_size("samples a batch", c->max_batch, 1, 1 << 20, err);
    if (rc == 0)
        rc = check_size("threads", c->n_threads, 1, 1024, err);
    double states = 4.0 * sizeof(real) * c->n_layers * ((double)c->n_in + c->n_out) * c->max_batch * c->n_sensors *
                    ((double)c->n_units + KERNELS_LANES);
    if (rc == 0 && states > 1e14) /* so that no size below overflows */
        rc = dcr_err_set(err, DCR_FAIL, "a model of these sizes needs %.0f GB; use a smaller --batch", states / 1e9);
    if (rc == 0 && supports->n_sensors != c->n_sensors)
        rc = dcr_err_set(err, DCR_FAIL,
                         "the graph has %d sensors, the model %d; give the graph of the sensors of the data",
                         supports->n_sensors, c->n_sensors);
    return rc;
}

/* ---- parameters ------------------------------------------------------------------------------------------------- */

static size_t add_tensor(struct dcrnn *m, const char *prefix, const char *name, int rows, int cols, int rank)
{
    struct dcrnn_tensor *t = &m->tensors[m->n_tensors++];
    snprintf(t->name, sizeof t->name, "%s_%s", prefix, name);
    t->rows = rows;
    t->cols = cols;
    t->rank = rank;
    t->offset = m->n_params;
    m->n_params += (size_t)rows * (size_t)cols;
    return t->offset;
}

static int cell_inputs(const struct dcrnn_config *c, int is_decoder, int layer)
{
    return layer > 0 ? c->n_units : is_decoder ? c->d_out : c->d_in;
}

/* Backward reaches the projection first, then the decoder's layers from the top down, then the encoder's. */
static void name_tensors(struct dcrnn *m, size_t at[2][DCRNN_MAX_LAYERS][4])
{
    const struct dcrnn_config *c = &m->c;
    m->proj_w = add_tensor(m, "proj", "W", c->n_units, c->d_out, 2);
    m->proj_b = add_tensor(m, "proj", "b", 1, c->d_out, 1);
    for (int decoder = 1; decoder >= 0; decoder--) {
        for (int l = c->n_layers - 1; l >= 0; l--) {
            char prefix[16];
            snprintf(prefix, sizeof prefix, "%s%d", decoder ? "dec" : "enc", l);
            int rows = (cell_inputs(c, decoder, l) + c->n_units) * m->g.n_terms;
            at[decoder][l][0] = add_tensor(m, prefix, "W_ru", rows, 2 * c->n_units, 2);
            at[decoder][l][1] = add_tensor(m, prefix, "b_ru", 1, 2 * c->n_units, 1);
            at[decoder][l][2] = add_tensor(m, prefix, "W_c", rows, c->n_units, 2);
            at[decoder][l][3] = add_tensor(m, prefix, "b_c", 1, c->n_units, 1);
        }
        if (decoder)
            m->n_decoder = m->n_params;
    }
}

static void point_tensors(struct dcrnn *m, size_t at[2][DCRNN_MAX_LAYERS][4])
{
    for (int d = 0; d < 2; d++)
        for (int l = 0; l < m->c.n_layers; l++) {
            const size_t *o = at[d][l];
            m->at_params[d][l] =
                (struct dcgru_tensors){m->params + o[0], m->params + o[1], m->params + o[2], m->params + o[3]};
            m->at_grads[d][l] =
                (struct dcgru_tensors){m->grads + o[0], m->grads + o[1], m->grads + o[2], m->grads + o[3]};
        }
}

/* Uniform within 1 / sqrt(units), as in the PyTorch port. Xavier's deviation is 2.4 times as large for one output. With
 * it the first forecasts are far off, and Adam's first steps, all as long as the learning rate, overshoot. */
static void init_projection(struct dcrnn *m, const struct dcrnn_tensor *t, uint64_t seed)
{
    double bound = 1 / sqrt((double)m->c.n_units);
    for (size_t k = 0; k < (size_t)t->rows * (size_t)t->cols; k++)
        m->params[t->offset + k] = (real)(bound * (2 * rng_uniform(seed, RNG_INIT, t->offset + k) - 1));
}

void dcrnn_init(struct dcrnn *m, uint64_t seed)
{
    for (int i = 0; i < m->n_tensors; i++) {
        const struct dcrnn_tensor *t = &m->tensors[i];
        size_t n = (size_t)t->rows * (size_t)t->cols;
        real *p = m->params + t->offset;
        if (t->offset == m->proj_w || t->offset == m->proj_b) {
            init_projection(m, t, seed);
            continue;
        }
        double deviation = sqrt(2.0 / (t->rows + t->cols));
        int is_gate_bias = t->rank == 1 && strstr(t->name, "_b_ru") != NULL;
        for (size_t k = 0; k < n; k++)
            p[k] = t->rank == 2 ? (real)(deviation * rng_normal(seed, RNG_INIT, t->offset + k)) : is_gate_bias ? 1 : 0;
    }
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static real *take(struct dcgru_pool *pool, ptrdiff_t a, ptrdiff_t b, ptrdiff_t c, ptrdiff_t d)
{
    return dcgru_pool_take(pool, (size_t)a * (size_t)b * (size_t)c * (size_t)d * sizeof(real));
}

static void place_slab(const struct dcrnn *m, struct dcrnn_slab *slab, int n_slots, struct dcgru_pool *pool)
{
    slab->n_slots = n_slots;
    slab->states = take(pool, n_slots, m->c.n_layers * 4, m->tile_rows, m->up);
    slab->fed = take(pool, m->c.n_out, 1, m->tile_rows, m->c.d_out);
}

static void place_worker(const struct dcrnn *m, struct dcrnn_worker *w, struct dcgru_pool *pool)
{
    const struct dcrnn_config *c = &m->c;
    dcgru_place_work(&m->cell[0][0], c->d_in > c->d_out ? c->d_in : c->d_out, m->tile_rows, &w->work, pool);
    for (int d = 0; d < 2; d++)
        for (int l = 0; l < c->n_layers; l++)
            dcgru_place_sums(&m->cell[d][l], &w->sums[d][l], pool);
    w->sum_proj_w = take(pool, 1, 1, c->d_out, m->up);
    w->sum_proj_b = take(pool, 1, 1, 1, c->d_out);
    w->x_terms = take(pool, 1, 1, m->tile_rows, m->x_row);
    w->dy = take(pool, 1, 1, m->tile_rows, c->d_out);
    w->d_fed = take(pool, 1, 1, m->tile_rows, c->d_out);
    place_slab(m, &w->slab, 2, pool);
}

/* Called twice: to count, then to place. Memory that every step uses comes first, the kept states last. */
static void place(struct dcrnn *m, struct dcgru_pool *pool)
{
    const struct dcrnn_config *c = &m->c;
    m->params = take(pool, 1, 1, 1, (ptrdiff_t)m->n_params);
    m->grads = take(pool, 1, 1, 1, (ptrdiff_t)m->n_params);
    for (int d = 0; d < 2; d++)
        for (int l = 0; l < c->n_layers; l++)
            dcgru_place(&m->cell[d][l], pool);
    m->proj = take(pool, 1, 1, c->d_out, m->up);
    for (int i = 0; i < c->n_threads; i++)
        place_worker(m, &m->workers[i], pool);
    m->d_state = take(pool, m->n_slabs, c->n_layers, m->tile_rows, m->up);
    for (int i = 0; i < m->n_slabs; i++)
        place_slab(m, &m->slabs[i], c->n_in + c->n_out, pool);
}

static int reserve(struct dcrnn *m, struct dcr_err *err)
{
    struct dcgru_pool pool = {0};
    place(m, &pool);
    m->memory_bytes = pool.used;
    /* Zero pages that become real on first use; large pages spare the products most TLB misses. */
    void *p = mmap(NULL, m->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return dcr_err_set(err, DCR_FAIL, "out of memory for a model of %.0f MB; use a smaller --batch",
                           (double)m->memory_bytes / 1e6);
    m->memory = p;
    (void)madvise(p, m->memory_bytes, MADV_HUGEPAGE);
    pool = (struct dcgru_pool){.base = p};
    place(m, &pool);
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------------------------- */

static void shape(struct dcrnn *m)
{
    const struct dcrnn_config *c = &m->c;
    for (int d = 0; d < 2; d++)
        for (int l = 0; l < c->n_layers; l++)
            dcgru_shape(&m->cell[d][l], &m->g, cell_inputs(c, d, l), c->n_units, l > 0);
    m->up = m->cell[0][0].up;
    int most = (MIN_TILE_ROWS + c->n_sensors - 1) / c->n_sensors, n_tiles = (c->max_batch + most - 1) / most;
    m->tile_samples = (c->max_batch + n_tiles - 1) / n_tiles; /* the tiles of a full batch have nearly equal sizes */
    m->tile_rows = m->tile_samples * c->n_sensors;
    m->x_width = (c->n_in * c->d_in + KERNELS_LANES - 1) / KERNELS_LANES * KERNELS_LANES;
    m->x_row = (ptrdiff_t)m->g.n_terms * m->x_width;
    m->n_slabs = dcrnn_n_tiles(m, c->max_batch);
}

int dcrnn_create(struct dcrnn **out, const struct dcrnn_config *c, const struct graph_supports *supports,
                 struct dcr_err *err)
{
    const struct kernels *kernels = NULL;
    struct dcrnn *m = NULL;
    size_t at[2][DCRNN_MAX_LAYERS][4];
    int rc = check_config(c, supports, err);
    if (rc == 0)
        rc = kernels_choose(c->kernels, &kernels, err);
    if (rc)
        goto out;
    m = calloc(1, sizeof *m);
    if (!m) {
        rc = dcr_err_set(err, DCR_FAIL, "out of memory for the model");
        goto out;
    }
    m->c = *c;
    m->crew = (struct dcrnn_crew){
        .lock = PTHREAD_MUTEX_INITIALIZER, .begin = PTHREAD_COND_INITIALIZER, .end = PTHREAD_COND_INITIALIZER};
    rc = gconv_init(&m->g, supports, c->k_hops, c->recursion, kernels, err);
    if (rc)
        goto out;
    shape(m);
    name_tensors(m, at);
    m->workers = calloc((size_t)c->n_threads, sizeof *m->workers);
    m->slabs = calloc((size_t)m->n_slabs, sizeof *m->slabs);
    m->coins = calloc((size_t)c->n_out, 1);
    if (!m->workers || !m->slabs || !m->coins) {
        rc = dcr_err_set(err, DCR_FAIL, "out of memory for the model");
        goto out;
    }
    rc = reserve(m, err);
    if (rc)
        goto out;
    point_tensors(m, at);
    for (int i = 0; i < c->n_threads; i++) {
        m->workers[i].model = m;
        m->workers[i].index = i;
    }
    rc = dcrnn_start_workers(m, err);
    if (rc)
        goto out;
    *out = m;
    m = NULL;
out:
    dcrnn_free(m);
    return rc;
}

void dcrnn_free(struct dcrnn *m)
{
    if (!m)
        return;
    dcrnn_end_workers(m);
    if (m->memory)
        munmap(m->memory, m->memory_bytes);
    gconv_release(&m->g);
    free(m->coins);
    free(m->slabs);
    free(m->workers);
    free(m);
}

size_t dcrnn_n_params(const struct dcrnn *m)
{
    return m->n_params;
}

real *dcrnn_params(struct dcrnn *m)
{
    return m->params;
}

real *dcrnn_grads(struct dcrnn *m)
{
    return m->grads;
}

const struct dcrnn_tensor *dcrnn_tensors(const struct dcrnn *m, int *n)
{
    *n = m->n_tensors;
    return m->tensors;
}

const char *dcrnn_kernels(const struct dcrnn *m)
{
    return m->g.kernels->name;
}

size_t dcrnn_memory_bytes(const struct dcrnn *m)
{
    return m->memory_bytes;
}

void dcrnn_peek(const struct dcrnn *m, enum dcrnn_peek_what what, int is_decoder, int layer, int t, real *out)
{
    int step = is_decoder ? m->c.n_in + t : t, n_tiles = dcrnn_n_tiles(m, m->n_batch);
    int rows_left = m->n_batch * m->c.n_sensors;
    for (int tile = 0; tile < n_tiles; tile++) {
        const real *from = dcrnn_at(m, &m->slabs[tile], step, layer, (int)what);
        int rows = rows_left < m->tile_rows ? rows_left : m->tile_rows;
        for (int i = 0; i < rows; i++, out += m->c.n_units)
            memcpy(out, from + (ptrdiff_t)i * m->up, (size_t)m->c.n_units * sizeof(real));
        rows_left -= rows;
    }
}

/* ---- what does not depend on the precision ----------------------------------------------------------------------- */

#ifndef DCR_REAL_F64
static const char *const recursion_names[] = {
#define X(id, text) text,
    DCRNN_RECURSIONS(X)
#undef X
};

const char *dcrnn_recursion_name(enum dcrnn_recursion r)
{
    return recursion_names[r];
}

int dcrnn_recursion_parse(const char *text, enum dcrnn_recursion *out, struct dcr_err *err)
{
    for (int r = DCRNN_PUBLISHED; r <= DCRNN_RESET; r++)
        if (strcmp(text, recursion_names[r]) == 0) {
            *out = (enum dcrnn_recursion)r;
            return 0;
        }
    return dcr_err_set(err, DCR_FAIL, "unknown recursion '%s'; use published or reset", text);
}

struct dcrnn_config dcrnn_config_default(void)
{
    return (struct dcrnn_config){
        .n_sensors = 207,
        .n_units = 64,
        .n_layers = 2,
        .n_in = 12,
        .n_out = 12,
        .d_in = 2,
        .d_out = 1,
        .k_hops = 2,
        .recursion = DCRNN_PUBLISHED,
        .max_batch = 64,
        .n_threads = 1,
    };
}

struct dcrnn_count dcrnn_count_step(const struct dcrnn_config *c, int n_supports, int64_t nnz, int n_batch)
{
    double rows = (double)n_batch * c->n_sensors, units = c->n_units, layers = c->n_layers;
    double terms = 1.0 + n_supports * c->k_hops;
    double in_encoder = (c->d_in + units) + (layers - 1) * 2 * units; /* sum of I over the layers */
    double in_decoder = (c->d_out + units) + (layers - 1) * 2 * units;
    double in_all = in_encoder * c->n_in + in_decoder * c->n_out; /* over layers and steps */
    /* Per column of input, each of two convolutions multiplies every support K times and applies 2 a - b K-1 times. */
    double per_support_nnz = n_supports ? (double)nnz / n_supports : 0;
    double dense = 2 * rows * terms * 3 * units * in_all;
    double sparse = 2 * (double)n_supports * c->k_hops * 2 * per_support_nnz * in_all * n_batch;
    double update = 2 * (double)n_supports * (c->k_hops - 1) * 2 * rows * in_all;
    double projection = 2 * rows * units * c->d_out * c->n_out;
    double n_params =
        (in_encoder + in_decoder) * terms * 3 * units + 2 * layers * 3 * units + units * c->d_out + c->d_out;
    return (struct dcrnn_count){
        .dense_flop = 3 * dense,
        .sparse_flop = 2 * sparse,
        .update_flop = 2 * update,
        .projection_flop = 3 * projection,
        .forward_flop = dense + sparse + update + projection,
        .params_bytes = 4 * n_params,
    };
}
#endif
