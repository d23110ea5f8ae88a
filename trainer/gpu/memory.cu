/* memory.cu - see memory.cuh. What each array is for: model.cuh. */
#include "trainer/gpu/memory.cuh"

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Of the parts of the largest weight gradient. */
static size_t partial_floats(const struct gpu *g)
{
    const size_t rows = (size_t)(g->c.n_in > g->c.n_out ? g->c.n_in : g->c.n_out) * n_rows(g, g->c.max_batch);
    const size_t parts = 4 * (size_t)g->limits.n_processors, depth = (size_t)(g->n_terms * g->width);
    size_t most = parts * (size_t)(g->c.d_out * (g->width + 1));
    for (int d = 0; d < 2; d++)
        most = larger(most, parts * (size_t)(g->n_x[d] + 1) * 3 * (size_t)g->width);
    for (int n = g->width; n <= 3 * g->width; n += g->width)
        most = larger(most, model_most_parts(g, rows, (int)depth, n) * depth * (size_t)n);
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

int memory_allocate(struct gpu *g, const char *device, size_t others, struct dcr_err *err)
{
    size_t free_bytes = 0, total = 0;
    struct taker t = {g, 1, others, 0, err};
    take_all(&t);
    CUDA_TRY(cudaMemGetInfo(&free_bytes, &total), err);
    if (t.bytes > free_bytes)
        return dcr_err_set(err, DCR_FAIL,
                           "this model with a batch of %d needs %.2f GB of device memory, %s has %.2f GB free; take a "
                           "smaller --batch, or more micro-batches with --accumulate",
                           g->c.max_batch, (double)t.bytes / 1e9, device, (double)free_bytes / 1e9);
    g->bytes += t.bytes;
    t.is_counting = 0;
    take_all(&t);
    return t.rc;
}
