/* dcgru.c - see dcgru.h. Called by dcrnn_run.c. It handles one cell and one step, not time, layers or batches.
 *
 * Order of evaluation. Forward: terms of x once for both convolutions, then terms of h, one product, gates; terms of
 * r * h replace those of h, one product, candidate and state. Backward, one gate after another (c, r, u), so that
 * fewer terms fill the cache. The adjoint terms Q of a gate's output gradient give both its input gradient (Q W^T)
 * and its weight gradient (input^T Q), see gconv_adjoint. */
#include "trainer/model/dcgru.h"

#include <string.h>

#ifndef DCR_REAL_F64
void *dcgru_pool_take(struct dcgru_pool *pool, size_t n_bytes)
{
    char *p = pool->base ? pool->base + pool->used : NULL;
    pool->used += (n_bytes + 63) / 64 * 64;
    return p;
}
#endif

static real *take(struct dcgru_pool *pool, ptrdiff_t rows, ptrdiff_t cols)
{
    return dcgru_pool_take(pool, (size_t)rows * (size_t)cols * sizeof(real));
}

static int pad(int n)
{
    return (n + KERNELS_LANES - 1) / KERNELS_LANES * KERNELS_LANES;
}

void dcgru_shape(struct dcgru *cell, const struct gconv *g, int n_x, int n_units, int is_wide)
{
    memset(cell, 0, sizeof *cell);
    cell->g = g;
    cell->f = n_x;
    cell->u = n_units;
    cell->up = pad(n_units);
    cell->is_wide = is_wide;
    cell->xp = is_wide ? cell->up : n_x;
}

static void place_matrix(const struct dcgru *cell, struct dcgru_matrix *m, int k, int n, struct dcgru_pool *pool)
{
    int panel = cell->g->kernels->panel, width = n < panel ? n : panel;
    m->k = k;
    m->n = n;
    m->row = width;
    m->panel = (ptrdiff_t)k * width;
    m->p = take(pool, (n + width - 1) / width, m->panel);
}

static void place_back(const struct dcgru *cell, struct dcgru_back *b, int gates, struct dcgru_pool *pool)
{
    int rows = gates * cell->g->n_terms * cell->up;
    b->gates = gates;
    place_matrix(cell, &b->h, rows, cell->up, pool);
    if (cell->is_wide)
        place_matrix(cell, &b->x, rows, cell->up, pool);
    else
        b->narrow = take(pool, cell->xp, rows);
}

void dcgru_place(struct dcgru *cell, struct dcgru_pool *pool)
{
    int terms = cell->g->n_terms, up = cell->up;
    place_matrix(cell, &cell->ru, terms * (up + cell->xp), 2 * up, pool);
    place_matrix(cell, &cell->c, terms * (up + cell->xp), up, pool);
    place_back(cell, &cell->back_ru, 2, pool);
    place_back(cell, &cell->back_c, 1, pool);
    cell->b_ru = take(pool, 1, 2 * up);
    cell->b_c = take(pool, 1, up);
}

void dcgru_place_sums(const struct dcgru *cell, struct dcgru_sums *sums, struct dcgru_pool *pool)
{
    int terms = cell->g->n_terms, up = cell->up;
    sums->w_ru = take(pool, up + cell->xp, terms * 2 * up);
    sums->w_c = take(pool, up + cell->xp, terms * up);
    sums->b_ru = take(pool, 1, 2 * up);
    sums->b_c = take(pool, 1, up);
}

void dcgru_clear_sums(const struct dcgru *cell, struct dcgru_sums *sums)
{
    size_t terms = (size_t)cell->g->n_terms, up = (size_t)cell->up, rows = up + (size_t)cell->xp;
    memset(sums->w_ru, 0, rows * terms * 2 * up * sizeof(real));
    memset(sums->w_c, 0, rows * terms * up * sizeof(real));
    memset(sums->b_ru, 0, 2 * up * sizeof(real));
    memset(sums->b_c, 0, up * sizeof(real));
}

void dcgru_place_work(const struct dcgru *cell, int n_narrow, int rows, struct dcgru_work *w, struct dcgru_pool *pool)
{
    int terms = cell->g->n_terms, up = cell->up;
    w->z_row = gconv_odd_lines(terms * (2 * up + n_narrow));
    w->q_row = gconv_odd_lines(terms * up);
    w->z = take(pool, rows, w->z_row);
    w->q = take(pool, rows, w->q_row);
    w->pre = take(pool, rows, 2 * up);
    w->rh = take(pool, rows, up);
    w->scratch = take(pool, rows, gconv_scratch_row(cell->g, up));
}

/* ---- packing: a cell's tensors in the order of the kernels, and gradients back ---------------------------------- */

/* Part of one row of a matrix, from column `column` on. */
static void pack_row(const struct dcgru_matrix *to, int row, int column, const real *from, int n)
{
    for (int width = (int)to->row; n > 0;) {
        int at = column % width, piece = n < width - at ? n : width - at;
        memcpy(to->p + column / width * to->panel + row * to->row + at, from, (size_t)piece * sizeof *from);
        column += piece;
        from += piece;
        n -= piece;
    }
}

/* Rows k .. k + n - 1 of a matrix with a column per feature, from weights with a row per feature, `stride` apart. It
 * works panel by panel, so that the output is written in order. */
static void pack_turned(const struct dcgru_matrix *to, int k, const real *from, ptrdiff_t stride, int n_features, int n)
{
    int width = (int)to->row;
    for (int first = 0; first < n_features; first += width) {
        int count = n_features - first < width ? n_features - first : width;
        real *panel = to->p + first / width * to->panel + k * to->row;
        for (int o = 0; o < n; o++)
            for (int j = 0; j < count; j++)
                panel[o * width + j] = from[(first + j) * stride + o];
    }
}

/* One convolution with back->gates groups of U outputs each, every group padded to up columns. */
static void pack_convolution(const struct dcgru *cell, const real *weights, const struct dcgru_matrix *forward,
                             const struct dcgru_back *back)
{
    int terms = cell->g->n_terms, up = cell->up, u = cell->u, gates = back->gates;
    ptrdiff_t stride = (ptrdiff_t)terms * gates * u; /* from a feature to the next */
    for (int m = 0; m < terms; m++)
        for (int gate = 0; gate < gates; gate++) {
            const real *x = weights + (m * gates + gate) * u, *h = x + cell->f * stride;
            int column = gate * up, k = (gate * terms + m) * up;
            for (int i = 0; i < cell->f; i++)
                pack_row(forward, terms * up + m * cell->xp + i, column, x + i * stride, u);
            for (int i = 0; i < u; i++)
                pack_row(forward, m * up + i, column, h + i * stride, u);
            pack_turned(&back->h, k, h, stride, u, u);
            if (cell->is_wide)
                pack_turned(&back->x, k, x, stride, cell->f, u);
            for (int i = 0; i < cell->f && !cell->is_wide; i++)
                memcpy(back->narrow + (ptrdiff_t)i * terms * gates * up + k, x + i * stride, (size_t)u * sizeof *x);
        }
}

/* The padding was zeroed with the memory and is never written. */
void dcgru_pack(struct dcgru *cell, const struct dcgru_tensors *params)
{
    pack_convolution(cell, params->w_ru, &cell->ru, &cell->back_ru);
    pack_convolution(cell, params->w_c, &cell->c, &cell->back_c);
    for (int o = 0; o < cell->u; o++) {
        cell->b_ru[o] = params->b_ru[o];
        cell->b_ru[cell->up + o] = params->b_ru[cell->u + o];
        cell->b_c[o] = params->b_c[o];
    }
}

static void add_convolution(const struct dcgru *cell, int gates, const real *restrict sums, real *restrict grads)
{
    int terms = cell->g->n_terms, up = cell->up;
    for (int i = 0; i < cell->f + cell->u; i++) {
        int row = i < cell->f ? up + i : i - cell->f;
        for (int m = 0; m < terms; m++)
            for (int gate = 0; gate < gates; gate++) {
                const real *from = sums + ((ptrdiff_t)(row * gates + gate) * terms + m) * up;
                for (int o = 0; o < cell->u; o++)
                    grads[o] += from[o];
                grads += cell->u;
            }
    }
}

void dcgru_add_sums(const struct dcgru *cell, const struct dcgru_sums *sums, const struct dcgru_tensors *grads)
{
    add_convolution(cell, 2, sums->w_ru, grads->w_ru);
    add_convolution(cell, 1, sums->w_c, grads->w_c);
    for (int o = 0; o < cell->u; o++) {
        grads->b_ru[o] += sums->b_ru[o];
        grads->b_ru[cell->u + o] += sums->b_ru[cell->up + o];
        grads->b_c[o] += sums->b_c[o];
    }
}

/* ---- forward ---------------------------------------------------------------------------------------------------- */

/* Terms of a state, then those of the input. A narrow cell's state is where a wide cell's input is, because both are
 * the same when the wide cell is above the narrow one. */
static real *terms_of(const struct dcgru *cell, const struct dcgru_work *w)
{
    return w->z + (cell->is_wide ? 0 : cell->g->n_terms * cell->up);
}

static void copy_rows(int rows, int width, const real *from, ptrdiff_t from_row, real *to, ptrdiff_t to_row)
{
    for (int i = 0; i < rows; i++)
        memcpy(to + i * to_row, from + i * from_row, (size_t)width * sizeof(real));
}

void dcgru_input(const struct dcgru *cell, struct dcgru_work *w, int n_samples, const real *x, ptrdiff_t x_row)
{
    real *z_x = terms_of(cell, w) + cell->g->n_terms * cell->up;
    copy_rows(n_samples * cell->g->n_sensors, cell->xp, x, x_row, z_x, w->z_row);
    gconv_diffuse(cell->g, n_samples, cell->xp, z_x, w->z_row, cell->xp);
}

void dcgru_input_diffused(const struct dcgru *cell, struct dcgru_work *w, int n_samples, const real *terms,
                          ptrdiff_t row, ptrdiff_t term)
{
    int rows = n_samples * cell->g->n_sensors;
    real *z_x = terms_of(cell, w) + cell->g->n_terms * cell->up;
    for (int m = 0; m < cell->g->n_terms; m++)
        copy_rows(rows, cell->xp, terms + m * term, row, z_x + m * cell->xp, w->z_row);
}

/* pre = Z W; without a state only the x terms and their rows of W take part. */
static void convolve(const struct dcgru *cell, const struct dcgru_work *w, int rows, int has_state,
                     const struct dcgru_matrix *weights)
{
    int skip = has_state ? 0 : cell->g->n_terms * cell->up;
    cell->g->kernels->gemm(rows, weights->n, weights->k - skip, terms_of(cell, w) + skip, w->z_row, 1,
                           weights->p + skip * weights->row, weights->row, weights->panel, w->pre, weights->n, 0);
}

void dcgru_forward(const struct dcgru *cell, struct dcgru_work *w, int n_samples, const real *h, int has_terms, real *r,
                   real *u, real *c, real *h_new)
{
    const struct kernels *k = cell->g->kernels;
    int rows = n_samples * cell->g->n_sensors, up = cell->up;
    real *z = terms_of(cell, w);
    if (h && !has_terms) {
        copy_rows(rows, up, h, up, z, w->z_row);
        gconv_diffuse(cell->g, n_samples, up, z, w->z_row, up);
    }
    convolve(cell, w, rows, h != NULL, &cell->ru);
    k->gates(rows, up, w->pre, cell->b_ru, h, r, u, z, w->z_row);
    if (h)
        gconv_diffuse(cell->g, n_samples, up, z, w->z_row, up);
    convolve(cell, w, rows, h != NULL, &cell->c);
    k->state(rows, up, w->pre, cell->b_c, u, h, c, h_new);
}

/* ---- backward --------------------------------------------------------------------------------------------------- */

/* Each strip reads the whole state, which is fast while the state is in the second cache: half of one of 512 KB. */
enum { STATE_BYTES_FOR_STRIPS = 256 << 10 };

/* Weight sums += [state, x]^T Q, strip by strip: the part of Q that the state read is still in the cache when x reads
 * it. A state too large for that is read once. */
static void sum_weights(const struct dcgru *cell, int rows, const real *x, ptrdiff_t x_row, const real *state,
                        const struct dcgru_work *w, real *sum_w, ptrdiff_t sum_row)
{
    const struct kernels *k = cell->g->kernels;
    int up = cell->up, all = cell->g->n_terms * up, strip = k->panel < all ? k->panel : all;
    if ((size_t)rows * (size_t)up * sizeof(real) > STATE_BYTES_FOR_STRIPS)
        strip = all;
    for (int j = 0; j < all; j += strip) {
        int n = all - j < strip ? all - j : strip;
        if (state)
            k->gemm(up, n, rows, state, 1, up, w->q + j, w->q_row, k->panel, sum_w + j, sum_row, 1);
        k->gemm(cell->xp, n, rows, x, 1, x_row, w->q + j, w->q_row, k->panel, sum_w + up * sum_row + j, sum_row, 1);
    }
}

/* One gate's convolution backward, its output gradient (rows, up) being term 0 of w->q. state is h or r * h, NULL =
 * zero. d_state += or = Q W_h^T as `add` says; dx += Q W_x^T; weight sums += [state, x]^T Q. */
static void convolve_backward(const struct dcgru *cell, struct dcgru_work *w, int n_samples,
                              const struct dcgru_back *weights, int gate, const real *x, ptrdiff_t x_row,
                              const real *state, real *d_state, int add, real *dx, ptrdiff_t dx_row, real *sum_w)
{
    const struct kernels *k = cell->g->kernels;
    const struct dcgru_matrix *to_h = &weights->h, *to_x = &weights->x;
    int rows = n_samples * cell->g->n_sensors, up = cell->up, all = cell->g->n_terms * up;
    ptrdiff_t first = (ptrdiff_t)gate * all, row = (ptrdiff_t)weights->gates * all;
    gconv_adjoint(cell->g, n_samples, up, w->q, w->q_row, w->scratch);
    sum_weights(cell, rows, x, x_row, state, w, sum_w + first, row);
    if (state)
        k->gemm(rows, up, all, w->q, w->q_row, 1, to_h->p + first * to_h->row, to_h->row, to_h->panel, d_state, up,
                add);
    if (dx && cell->is_wide)
        k->gemm(rows, up, all, w->q, w->q_row, 1, to_x->p + first * to_x->row, to_x->row, to_x->panel, dx, dx_row, 1);
    else if (dx)
        k->dots(rows, cell->xp, all, w->q, w->q_row, weights->narrow + first, row, dx, dx_row);
}

void dcgru_backward(const struct dcgru *cell, struct dcgru_work *w, struct dcgru_sums *sums, int n_samples,
                    const real *x, ptrdiff_t x_row, const real *h, const real *r, const real *u, const real *c,
                    real *dh, real *dx, ptrdiff_t dx_row)
{
    const struct kernels *k = cell->g->kernels;
    int rows = n_samples * cell->g->n_sensors, up = cell->up;
    real *d_rh = w->pre, *g_u = w->pre + (ptrdiff_t)rows * up;
    if (h)
        k->multiply((ptrdiff_t)rows * up, r, h, w->rh);
    k->back_candidate(rows, up, dh, u, c, w->q, w->q_row, sums->b_c);
    convolve_backward(cell, w, n_samples, &cell->back_c, 0, x, x_row, h ? w->rh : NULL, d_rh, 0, dx, dx_row, sums->w_c);
    k->back_gates(rows, up, d_rh, h, r, u, c, dh, w->q, w->q_row, g_u, sums->b_ru);
    if (h) /* without h, r has no gradient */
        convolve_backward(cell, w, n_samples, &cell->back_ru, 0, x, x_row, h, dh, 1, dx, dx_row, sums->w_ru);
    copy_rows(rows, up, g_u, up, w->q, w->q_row);
    convolve_backward(cell, w, n_samples, &cell->back_ru, 1, x, x_row, h, dh, 1, dx, dx_row, sums->w_ru);
}
