/* backward.cu - the backward pass: which kernels and products, in which order, on which stream. With G the gradient of
 * a convolution's outputs, its terms' gradients are G W^T (a product), its input's the adjoint diffusion of these, its
 * weights' Z^T G. The chain through the cells runs on the main stream. Work that the chain does not wait for runs on
 * the side stream: a decoder cell's way to the step before, and the weight gradients, which are sums over all steps.
 * Weight gradients become final layer by layer, from the projection on, in the order of the gradient block, and are
 * then sent to the other ranks. */
#include "trainer/gpu/model.cuh"

/* ---- one cell ---------------------------------------------------------------------------------------------------- */

/* Through the candidate's convolution and both gates: columns c of g are input, r and u are written; dh is in progress.
 */
static int back_to_gates(struct gpu *g, const struct tiling *tiling, int is_decoder, int l, int s, struct dcr_err *err)
{
    const int depth = g->n_terms * g->width, ld = 3 * g->width;
    struct gates_back_args a = {};
    a.d = g->back;
    a.width = g->width;
    if (s > 0) {
        TRY(product_back(&g->on_main, n_rows(g, g->n_batch), depth, g->width, z_at(g, g_at(g, l, s), 2 * g->width), ld,
                         weights_at(g, g->at[is_decoder][l].c), g->width, g->dz_r, depth, err));
        a.dz = g->dz_r;
        a.h = h_at(g, l, s - 1);
    }
    a.ld_h = h_ld(g);
    a.act = act_at(g, l, s);
    a.dh = g->dh[l];
    a.g = g_at(g, l, s);
    return launch_gates_back(&a, tiling, g->main, err);
}

/* dh[l] = base + more + the part from dz, the gradient of the state's terms. Then the candidate's gradient of step s,
 * whose state dh[l] belongs to; s < 0: none. */
static struct state_back_args state_back(const struct gpu *g, int l, float *dz, const float *base, const float *more,
                                         int s)
{
    struct state_back_args a = {};
    a.d = g->back;
    a.width = g->width;
    a.dz = dz;
    a.base = base;
    a.more = more;
    a.dh = g->dh[l];
    if (s >= 0) {
        a.act = act_at(g, l, s);
        a.g = g_at(g, l, s);
    }
    return a;
}

/* dh[l] += the gradient that reaches the state before step s through the gates. Then, with `more` added, the
 * candidate's gradient of step s - 1 when `wants_candidate`. */
static int back_to_state(struct gpu *g, const struct tiling *tiling, struct products *p, cudaStream_t stream,
                         int is_decoder, int l, int s, const float *more, int wants_candidate, struct dcr_err *err)
{
    const int depth = g->n_terms * g->width;
    TRY(product_back(p, n_rows(g, g->n_batch), depth, 2 * g->width, g_at(g, l, s), 3 * g->width,
                     weights_at(g, g->at[is_decoder][l].ru), 2 * g->width, g->dz_h, depth, err));
    const struct state_back_args a = state_back(g, l, g->dz_h, g->dh[l], more, wants_candidate ? s - 1 : -1);
    return launch_state_back(&a, tiling, stream, err);
}

/* Gradients of the terms of layer l's input, l > 0, for n_steps steps from s on, in dz_x. */
static int back_to_input(struct gpu *g, int is_decoder, int l, int s, int n_steps, struct dcr_err *err)
{
    const int depth = g->n_terms * g->width;
    return product_back(&g->on_main, (size_t)n_steps * n_rows(g, g->n_batch), depth, 3 * g->width, g_at(g, l, s),
                        3 * g->width, weights_at(g, g->at[is_decoder][l].x), 3 * g->width, g->dz_x, depth, err);
}

/* ---- decoder ----------------------------------------------------------------------------------------------------- */

/* From the loss of forecast step t, and the input of step t + 1, to the candidate of the top layer. */
static int back_from_forecast(struct gpu *g, int t, struct dcr_err *err)
{
    const int top = g->c.n_layers - 1, s = g->c.n_in + t;
    struct top_back_args a = {};
    a.d = g->back;
    a.n_samples = g->n_batch;
    a.width = g->width;
    a.n_out = g->c.d_out;
    a.dz = t + 1 < g->c.n_out ? g->dz_feed : nullptr;
    a.ld_z = g->ld_x[1];
    a.coin = coins_of(g) + t;
    a.dy = g->d_pred + (size_t)t * n_rows(g, g->n_batch) * (size_t)g->c.d_out;
    a.w = g->packed + g->proj;
    a.base = t + 1 < g->c.n_out ? g->dh[top] : nullptr;
    a.dh = g->dh[top];
    a.act = act_at(g, top, s);
    a.g = g_at(g, top, s);
    a.is_bf16 = is_bf16(g);
    return launch_top_back(&a, g->main, err);
}

/* From layer l to the state of the layer below in the same step, and to its candidate. */
static int back_to_layer_below(struct gpu *g, const struct tiling *tiling, int l, int s, struct dcr_err *err)
{
    const int has_later = s + 1 < g->n_steps; /* the step after has sent a gradient too */
    TRY(back_to_input(g, 1, l, s, 1, err));
    if (has_later)
        CUDA_TRY(cudaStreamWaitEvent(g->main, g->state[l - 1], 0), err);
    const struct state_back_args a = state_back(g, l - 1, g->dz_x, has_later ? g->dh[l - 1] : nullptr, nullptr, s);
    return launch_state_back(&a, tiling, g->main, err);
}

static int back_decoder(struct gpu *g, const struct tiling *tiling, struct dcr_err *err)
{
    const int top = g->c.n_layers - 1;
    for (int t = g->c.n_out - 1; t >= 0; t--) {
        const int s = g->c.n_in + t;
        if (t + 1 < g->c.n_out)
            CUDA_TRY(cudaStreamWaitEvent(g->main, g->state[top], 0), err);
        TRY(back_from_forecast(g, t, err));
        for (int l = top; l >= 0; l--) {
            TRY(back_to_gates(g, tiling, 1, l, s, err));
            TRY(model_follow(g->side, g->main, g->h_product[l], err));
            TRY(back_to_state(g, tiling, &g->on_side, g->side, 1, l, s, nullptr, 0, err));
            CUDA_TRY(cudaEventRecord(g->state[l], g->side), err);
            if (l > 0)
                TRY(back_to_layer_below(g, tiling, l, s, err));
        }
        if (t > 0)
            TRY(launch_narrow_back((int)n_rows(g, g->n_batch), g->width, g->n_x[1], g_at(g, 0, s), is_bf16(g),
                                   g->packed + g->at[1][0].x, g->dz_feed, g->ld_x[1], g->main, err));
    }
    return model_follow(g->main, g->side, g->from_side, err);
}

/* ---- encoder ----------------------------------------------------------------------------------------------------- */

static int back_encoder_layer(struct gpu *g, const struct tiling *tiling, int l, struct dcr_err *err)
{
    const int last = g->c.n_in - 1;
    const size_t each = n_rows(g, g->n_batch) * (size_t)g->width;
    const float *dx = l + 1 < g->c.n_layers ? g->dx : nullptr; /* from the layer above */
    struct state_back_args a = state_back(g, l, nullptr, g->dh[l], dx ? dx + (size_t)last * each : nullptr, last);
    TRY(launch_state_back(&a, tiling, g->main, err));
    for (int s = last; s >= 0; s--) {
        TRY(back_to_gates(g, tiling, 0, l, s, err));
        if (s > 0)
            TRY(back_to_state(g, tiling, &g->on_main, g->main, 0, l, s, dx ? dx + (size_t)(s - 1) * each : nullptr, 1,
                              err));
    }
    if (l == 0)
        return 0;
    /* To all states of the layer below at once. */
    struct tiling all = tiling_choose(&g->limits, g->c.n_sensors, g->c.n_in * g->n_batch, g->width, is_bf16(g));
    TRY(back_to_input(g, 0, l, 0, g->c.n_in, err));
    a = state_back(g, l, g->dz_x, nullptr, nullptr, -1);
    a.dh = g->dx;
    return launch_state_back(&a, &all, g->main, err);
}

/* ---- weights: on the side stream --------------------------------------------------------------------------------- */

/* grads += z^T gradients over n_steps steps from s on, at `at` in the packed order: (M P, n). */
static int dense_weights(struct gpu *g, void *z, int s_z, int l, int s, int n_steps, int column, int n, size_t at,
                         struct dcr_err *err)
{
    const int depth = g->n_terms * g->width;
    const size_t rows = (size_t)n_steps * n_rows(g, g->n_batch), each = model_parts(g, rows, depth, n);
    if (n_steps <= 0)
        return 0;
    TRY(product_parts(&g->on_side, rows, each, depth, n, terms_at(g, z, s_z), depth,
                      z_at(g, g_at(g, l, s), (size_t)column), 3 * g->width, g->partial, err));
    return launch_gather((size_t)depth * (size_t)n, (int)((rows + each - 1) / each), (size_t)depth * (size_t)n,
                         g->partial, g->map + at, g->grads, g->side, err);
}

/* grads += the sum over rows that `a` describes, at `at` in the packed order; split into parts that fill the device. */
static int sum_outer(struct gpu *g, struct outer_args *a, size_t at, struct dcr_err *err)
{
    const size_t most = 4 * (size_t)g->limits.n_processors;
    const size_t n = (size_t)(a->n_narrow + a->has_ones) * (size_t)(a->n_wide + a->wide_has_ones);
    a->n_chunks = (int)(a->n_rows < most ? a->n_rows : most);
    a->out = g->partial;
    TRY(launch_outer(a, g->side, err));
    return launch_gather(n, a->n_chunks, n, g->partial, g->map + at, g->grads, g->side, err);
}

/* The narrow input's weights and the bias of a layer. */
static int outer_weights(struct gpu *g, const float *x, int ld_x, int n_x, int l, int s, int n_steps, size_t at,
                         struct dcr_err *err)
{
    struct outer_args a = {};
    a.n_rows = (size_t)n_steps * n_rows(g, g->n_batch);
    a.narrow = x;
    a.ld_narrow = ld_x;
    a.n_narrow = n_x;
    a.has_ones = 1;
    a.wide = g_at(g, l, s);
    a.ld_wide = a.n_wide = 3 * g->width;
    a.is_bf16 = is_bf16(g);
    return sum_outer(g, &a, at, err);
}

static int layer_weights(struct gpu *g, int is_decoder, int l, struct dcr_err *err)
{
    const struct packed_cell *w = &g->at[is_decoder][l];
    const int s0 = is_decoder ? g->c.n_in : 0, n = is_decoder ? g->c.n_out : g->c.n_in;
    const int first = s0 > 0 ? s0 : 1, n_state = s0 + n - first; /* step 0 has no state */
    if (l > 0) {
        TRY(dense_weights(g, g->zh[l - 1], s0, l, s0, n, 0, 3 * g->width, w->x, err));
        TRY(outer_weights(g, nullptr, 0, 0, l, s0, n, w->b, err));
    } else {
        TRY(outer_weights(g, g->x_terms[is_decoder], g->ld_x[is_decoder], g->n_x[is_decoder], l, s0, n, w->x, err));
    }
    TRY(dense_weights(g, g->zh[l], first - 1, l, first, n_state, 0, 2 * g->width, w->ru, err));
    return dense_weights(g, g->zr[l], first, l, first, n_state, 2 * g->width, g->width, w->c, err);
}

static int projection_weights(struct gpu *g, struct dcr_err *err)
{
    struct outer_args a = {};
    a.n_rows = (size_t)g->c.n_out * n_rows(g, g->n_batch);
    a.narrow = g->d_pred;
    a.ld_narrow = a.n_narrow = g->c.d_out;
    a.wide = h_at(g, g->c.n_layers - 1, g->c.n_in);
    a.ld_wide = (int)h_ld(g);
    a.n_wide = g->width;
    a.wide_has_ones = 1;
    return sum_outer(g, &a, g->proj, err);
}

/* ---- to the other ranks ------------------------------------------------------------------------------------------ */

/* The first n_final gradients are final on the side stream: those not yet sent are sent now, in buckets if wanted. */
static int send(struct gpu *g, size_t n_final, struct dcr_err *err)
{
    const size_t bucket = g->c.ranks.bucket_bytes / sizeof(float), all = g->c.n_params;
    int is_followed = 0;
    while (g->n_sent < n_final) {
        size_t n = n_final - g->n_sent;
        if (bucket && n >= bucket)
            n = bucket;
        else if (bucket && n_final < all)
            break; /* until the bucket is full */
        if (!is_followed)
            TRY(model_follow(g->reduce, g->side, g->to_reduce, err));
        is_followed = 1;
        TRY(gpu_comm_sum_f32(g->comm, g->grads + g->n_sent, n, g->reduce, err));
        g->n_sent += n;
    }
    return 0;
}

static int weights_and_send(struct gpu *g, int is_decoder, int l, int is_reduced, struct dcr_err *err)
{
    /* Layers are in the block from the top down: the tensor after this layer's is the end of the final part. */
    const size_t n_final = l > 0 ? g->c.at[is_decoder][l - 1].w_ru : is_decoder ? g->c.n_decoder : g->c.n_params;
    if (g->n_batch > 0)
        TRY(layer_weights(g, is_decoder, l, err));
    return is_reduced && !g->c.ranks.is_late ? send(g, n_final, err) : 0;
}

int enqueue_backward(struct gpu *g, int is_reduced, struct dcr_err *err)
{
    const int has_work = g->n_batch > 0;
    struct tiling tiling = tiling_choose(&g->limits, g->c.n_sensors, g->n_batch, g->width, is_bf16(g));
    g->n_sent = 0;
    if (has_work)
        TRY(back_decoder(g, &tiling, err));
    TRY(model_follow(g->side, g->main, g->to_side, err));
    if (has_work)
        TRY(projection_weights(g, err));
    for (int l = g->c.n_layers - 1; l >= 0; l--)
        TRY(weights_and_send(g, 1, l, is_reduced, err));
    for (int l = g->c.n_layers - 1; l >= 0; l--) {
        if (has_work)
            TRY(back_encoder_layer(g, &tiling, l, err));
        TRY(model_follow(g->side, g->main, g->to_side, err));
        TRY(weights_and_send(g, 0, l, is_reduced, err));
    }
    if (is_reduced)
        TRY(send(g, g->c.n_params, err));
    return model_follow(g->main, g->side, g->from_side, err);
}
