/* dcrnn_run.c - forward and backward through time, and the workers that share a batch.
 *
 * Order of evaluation. Samples depend on one another only through the gradient sums, so a batch is cut into tiles of
 * a few samples. Each tile runs through all steps and layers while its data are in the cache. Backward is two passes
 * over the tiles: first the decoder of all tiles, then the encoder, so that the decoder's gradients are final, and
 * can be sent, half-way. Tile i always belongs to the same worker and the workers' sums are added in the order of
 * the workers: results do not depend on scheduling. */
#include "trainer/model/dcrnn_model.h"

#include "lib/base/thread.h"

#include <string.h>

struct tile {
    struct dcrnn_worker *w;
    struct dcrnn_slab *slab;
    int index, first, n; /* samples first .. first + n - 1 of the batch */
    int rows;
};

static struct tile tile_at(struct dcrnn_worker *w, int index)
{
    struct dcrnn *m = w->model;
    struct tile t = {.w = w, .index = index, .first = index * m->tile_samples};
    t.n = m->n_batch - t.first < m->tile_samples ? m->n_batch - t.first : m->tile_samples;
    t.rows = t.n * m->c.n_sensors;
    t.slab = m->keep ? &m->slabs[index] : &w->slab;
    return t;
}

/* The rows of a tile for step t, in an array (steps, B, N, width). */
static ptrdiff_t rows_at(const struct dcrnn *m, const struct tile *tile, int t, int width)
{
    return ((ptrdiff_t)t * m->n_batch + tile->first) * m->c.n_sensors * width;
}

/* ---- workers ---------------------------------------------------------------------------------------------------- */

static void run_share(struct dcrnn_worker *w, void (*work)(struct tile *tile))
{
    struct dcrnn *m = w->model;
    int n_tiles = dcrnn_n_tiles(m, m->n_batch), n_workers = m->c.n_threads;
    for (int t = n_tiles * w->index / n_workers; t < n_tiles * (w->index + 1) / n_workers; t++) {
        struct tile tile = tile_at(w, t);
        work(&tile);
    }
}

/* A worker's thread sleeps between the rounds of run_tiles. */
static void *run_worker(void *arg)
{
    struct dcrnn_worker *w = arg;
    struct dcrnn_crew *crew = &w->model->crew;
    pthread_mutex_lock(&crew->lock);
    for (uint64_t seen = 0;;) {
        while (crew->round == seen && !crew->is_over)
            pthread_cond_wait(&crew->begin, &crew->lock);
        if (crew->is_over)
            break;
        seen = crew->round;
        pthread_mutex_unlock(&crew->lock);
        run_share(w, crew->work);
        pthread_mutex_lock(&crew->lock);
        if (--crew->n_busy == 0)
            pthread_cond_signal(&crew->end);
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

int dcrnn_start_workers(struct dcrnn *m, struct dcr_err *err)
{
    for (int i = 1; i < m->c.n_threads; i++) {
        int rc = thread_start(&m->workers[i].thread, run_worker, &m->workers[i]);
        if (rc)
            return dcr_err_set(err, DCR_FAIL, "cannot start all of %d threads: %s; lower --threads", m->c.n_threads,
                               strerror(rc));
        m->crew.n_threads++;
    }
    return 0;
}

void dcrnn_end_workers(struct dcrnn *m)
{
    pthread_mutex_lock(&m->crew.lock);
    m->crew.is_over = 1;
    pthread_cond_broadcast(&m->crew.begin);
    pthread_mutex_unlock(&m->crew.lock);
    for (int i = 1; i <= m->crew.n_threads; i++)
        pthread_join(m->workers[i].thread, NULL);
}

/* Runs all tiles of the batch, each by its worker. */
static void run_tiles(struct dcrnn *m, void (*work)(struct tile *tile))
{
    struct dcrnn_crew *crew = &m->crew;
    pthread_mutex_lock(&crew->lock);
    crew->work = work;
    crew->n_busy = crew->n_threads;
    crew->round++;
    pthread_cond_broadcast(&crew->begin);
    pthread_mutex_unlock(&crew->lock);
    run_share(&m->workers[0], work);
    pthread_mutex_lock(&crew->lock);
    while (crew->n_busy > 0)
        pthread_cond_wait(&crew->end, &crew->lock);
    pthread_mutex_unlock(&crew->lock);
}

/* ---- forward ---------------------------------------------------------------------------------------------------- */

static void pack(struct dcrnn *m)
{
    for (int d = 0; d < 2; d++)
        for (int l = 0; l < m->c.n_layers; l++)
            dcgru_pack(&m->cell[d][l], &m->at_params[d][l]);
    for (int o = 0; o < m->c.d_out; o++)
        for (int j = 0; j < m->c.n_units; j++)
            m->proj[o * m->up + j] = m->params[m->proj_w + (size_t)(j * m->c.d_out + o)];
}

/* The encoder's input of all steps, diffused at once: T * Din columns instead of T times Din. */
static void diffuse_input(const struct tile *tile)
{
    struct dcrnn *m = tile->w->model;
    int d_in = m->c.d_in;
    real *z = tile->w->x_terms;
    for (int t = 0; t < m->c.n_in; t++) {
        const real *x = m->x + rows_at(m, tile, t, d_in);
        for (int i = 0; i < tile->rows; i++)
            for (int f = 0; f < d_in; f++)
                z[i * m->x_row + t * d_in + f] = x[i * d_in + f];
    }
    gconv_diffuse(&m->g, tile->n, m->x_width, z, m->x_row, m->x_width);
}

/* The decoder's input at forecast step t: zeros (GO), the truth, or its own last prediction. */
static real *feed(const struct tile *tile, int t)
{
    struct dcrnn *m = tile->w->model;
    int d_out = m->c.d_out;
    size_t bytes = (size_t)tile->rows * (size_t)d_out * sizeof(real);
    real *fed = tile->slab->fed + (ptrdiff_t)t * m->tile_rows * d_out;
    if (t == 0)
        memset(fed, 0, bytes);
    else
        memcpy(fed, (m->coins[t - 1] ? m->truth_z : m->pred_z) + rows_at(m, tile, t - 1, d_out), bytes);
    return fed;
}

static void project(const struct tile *tile, const real *h, real *y)
{
    struct dcrnn *m = tile->w->model;
    int d_out = m->c.d_out;
    for (int i = 0; i < tile->rows; i++)
        memcpy(y + i * d_out, m->params + m->proj_b, (size_t)d_out * sizeof(real));
    m->g.kernels->dots(tile->rows, d_out, m->up, h, m->up, m->proj, m->up, y, d_out);
}

static void forward_tile(struct tile *tile)
{
    struct dcrnn *m = tile->w->model;
    struct dcgru_work *work = &tile->w->work;
    struct dcrnn_slab *slab = tile->slab;
    int n_in = m->c.n_in, top = m->c.n_layers - 1;
    diffuse_input(tile);
    for (int s = 0; s < n_in + m->c.n_out; s++) {
        int is_decoder = s >= n_in;
        for (int l = 0; l <= top; l++) {
            struct dcgru *cell = &m->cell[is_decoder][l];
            int has_terms = l == 0 && top == 1 && s > 0; /* the layer above has just made them */
            if (l > 0)
                dcgru_input(cell, work, tile->n, dcrnn_at(m, slab, s, l - 1, DCRNN_PEEK_H), m->up);
            else if (is_decoder)
                dcgru_input(cell, work, tile->n, feed(tile, s - n_in), m->c.d_out);
            else
                dcgru_input_diffused(cell, work, tile->n, tile->w->x_terms + s * m->c.d_in, m->x_row, m->x_width);
            dcgru_forward(cell, work, tile->n, s > 0 ? dcrnn_at(m, slab, s - 1, l, DCRNN_PEEK_H) : NULL, has_terms,
                          dcrnn_at(m, slab, s, l, DCRNN_PEEK_R), dcrnn_at(m, slab, s, l, DCRNN_PEEK_U),
                          dcrnn_at(m, slab, s, l, DCRNN_PEEK_C), dcrnn_at(m, slab, s, l, DCRNN_PEEK_H));
        }
        if (is_decoder)
            project(tile, dcrnn_at(m, slab, s, top, DCRNN_PEEK_H), m->pred_z + rows_at(m, tile, s - n_in, m->c.d_out));
    }
}

void dcrnn_forward(struct dcrnn *m, int n_batch, const real *x, const real *truth_z, const uint8_t *coins, int keep,
                   real *pred_z)
{
    m->n_batch = n_batch;
    m->x = x;
    m->truth_z = truth_z;
    m->keep = keep;
    m->pred_z = pred_z;
    for (int t = 0; t < m->c.n_out; t++)
        m->coins[t] = truth_z && coins && coins[t];
    if (n_batch == 0)
        return;
    pack(m);
    run_tiles(m, forward_tile);
}

/* ---- backward --------------------------------------------------------------------------------------------------- */

static real *d_state_at(const struct tile *tile, int layer)
{
    struct dcrnn *m = tile->w->model;
    return m->d_state + ((ptrdiff_t)tile->index * m->c.n_layers + layer) * m->tile_rows * m->up;
}

/* All layers of one step, from the top down. d_x belongs to the input of layer 0, NULL = not wanted. */
static void backward_step(struct tile *tile, int s, const real *x, int x_width, real *d_x)
{
    struct dcrnn *m = tile->w->model;
    struct dcrnn_slab *slab = tile->slab;
    int is_decoder = s >= m->c.n_in;
    for (int l = m->c.n_layers - 1; l >= 0; l--) {
        const real *in = l > 0 ? dcrnn_at(m, slab, s, l - 1, DCRNN_PEEK_H) : x;
        int in_width = l > 0 ? m->up : x_width;
        dcgru_backward(&m->cell[is_decoder][l], &tile->w->work, &tile->w->sums[is_decoder][l], tile->n, in, in_width,
                       s > 0 ? dcrnn_at(m, slab, s - 1, l, DCRNN_PEEK_H) : NULL, dcrnn_at(m, slab, s, l, DCRNN_PEEK_R),
                       dcrnn_at(m, slab, s, l, DCRNN_PEEK_U), dcrnn_at(m, slab, s, l, DCRNN_PEEK_C),
                       d_state_at(tile, l), l > 0 ? d_state_at(tile, l - 1) : d_x, in_width);
    }
}

static void backward_projection(struct tile *tile, int s, const real *dy)
{
    struct dcrnn *m = tile->w->model;
    const struct kernels *k = m->g.kernels;
    int d_out = m->c.d_out, top = m->c.n_layers - 1;
    const real *h = dcrnn_at(m, tile->slab, s, top, DCRNN_PEEK_H);
    k->gemm(d_out, m->up, tile->rows, dy, 1, d_out, h, m->up, k->panel, tile->w->sum_proj_w, m->up, 1);
    k->gemm(tile->rows, m->up, d_out, dy, d_out, 1, m->proj, m->up, k->panel, d_state_at(tile, top), m->up, 1);
    /* In double, because tens of thousands of equal terms would otherwise lose digits that depend on their order, and
     * so on the number of ranks. */
    for (int o = 0; o < d_out; o++) {
        double sum = 0;
        for (int i = 0; i < tile->rows; i++)
            sum += (double)dy[i * d_out + o];
        tile->w->sum_proj_b[o] += (real)sum;
    }
}

static void report_progress(const struct tile *tile, size_t n_final)
{
    const struct dcrnn_progress *p = tile->w->progress;
    if (p)
        p->call(p->ctx, n_final);
}

static void backward_decoder(struct tile *tile)
{
    struct dcrnn *m = tile->w->model;
    int d_out = m->c.d_out, n = tile->rows * d_out;
    real *dy = tile->w->dy, *d_fed = tile->w->d_fed;
    for (int l = 0; l < m->c.n_layers; l++)
        memset(d_state_at(tile, l), 0, (size_t)tile->rows * (size_t)m->up * sizeof(real));
    memset(d_fed, 0, (size_t)n * sizeof(real));
    for (int t = m->c.n_out - 1; t >= 0; t--) {
        const real *d_pred = m->d_pred + rows_at(m, tile, t, d_out);
        for (int i = 0; i < n; i++)
            dy[i] = d_pred[i] + d_fed[i];
        backward_projection(tile, m->c.n_in + t, dy);
        int wants_d_fed = t > 0 && !m->coins[t - 1]; /* the step was fed the prediction before it */
        memset(d_fed, 0, (size_t)n * sizeof(real));
        backward_step(tile, m->c.n_in + t, tile->slab->fed + (ptrdiff_t)t * m->tile_rows * d_out, d_out,
                      wants_d_fed ? d_fed : NULL);
        report_progress(tile, 0);
    }
}

static void backward_encoder(struct tile *tile)
{
    struct dcrnn *m = tile->w->model;
    for (int t = m->c.n_in - 1; t >= 0; t--) {
        backward_step(tile, t, m->x + rows_at(m, tile, t, m->c.d_in), m->c.d_in, NULL);
        report_progress(tile, m->n_decoder);
    }
}

static void clear_sums(struct dcrnn *m)
{
    for (int i = 0; i < m->c.n_threads; i++) {
        struct dcrnn_worker *w = &m->workers[i];
        for (int d = 0; d < 2; d++)
            for (int l = 0; l < m->c.n_layers; l++)
                dcgru_clear_sums(&m->cell[d][l], &w->sums[d][l]);
        memset(w->sum_proj_w, 0, (size_t)(m->c.d_out * m->up) * sizeof(real));
        memset(w->sum_proj_b, 0, (size_t)m->c.d_out * sizeof(real));
    }
}

static void add_sums(struct dcrnn *m, int is_decoder)
{
    for (int i = 0; i < m->c.n_threads; i++)
        for (int l = 0; l < m->c.n_layers; l++)
            dcgru_add_sums(&m->cell[is_decoder][l], &m->workers[i].sums[is_decoder][l], &m->at_grads[is_decoder][l]);
}

static void add_projection_sums(struct dcrnn *m)
{
    int d_out = m->c.d_out;
    for (int i = 0; i < m->c.n_threads; i++)
        for (int o = 0; o < d_out; o++) {
            for (int j = 0; j < m->c.n_units; j++)
                m->grads[m->proj_w + (size_t)(j * d_out + o)] += m->workers[i].sum_proj_w[o * m->up + j];
            m->grads[m->proj_b + (size_t)o] += m->workers[i].sum_proj_b[o];
        }
}

void dcrnn_backward(struct dcrnn *m, const real *d_pred, const struct dcrnn_progress *progress)
{
    if (m->n_batch > 0) {
        m->d_pred = d_pred;
        m->workers[0].progress = progress;
        clear_sums(m);
        run_tiles(m, backward_decoder);
        add_projection_sums(m);
        add_sums(m, 1);
        if (progress)
            progress->call(progress->ctx, m->n_decoder);
        run_tiles(m, backward_encoder);
        add_sums(m, 0);
    }
    if (progress)
        progress->call(progress->ctx, m->n_params);
}
