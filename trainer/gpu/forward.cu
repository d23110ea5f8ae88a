/* forward.cu - the forward pass: which kernels and products, in which order, on which stream. A cell is [product with
 *     its input's terms]  product with the state's terms -> gates and terms of r * h -> product -> state The encoder
 *     runs layer by layer, so that one product per layer covers its inputs of all steps. In the decoder, where each
 *     step waits for the last, products with the previous state run on the side stream, beside the other layers. */
#include "trainer/gpu/model.cuh"

struct cell {
    int is_decoder, l, s;
    struct tiling tiling;
    int has_x_product, has_state;
    float *pre;
};

/* The fields that gates and candidate both read, and where both write; the rest of `a` is zero. */
template <typename A> static void set_cell(const struct gpu *g, const struct cell *k, A *a)
{
    const struct packed_cell *w = &g->at[k->is_decoder][k->l];
    const int t = k->is_decoder ? k->s - g->c.n_in : k->s;
    a->d = g->forward;
    a->width = g->width;
    a->bias = g->packed + w->b;
    a->ld_x = g->ld_x[k->is_decoder];
    if (k->l == 0 && (t > 0 || !k->is_decoder)) { /* the decoder starts from zeros */
        a->x_terms = g->x_terms[k->is_decoder] + (size_t)t * n_rows(g, g->n_batch) * (size_t)a->ld_x;
        a->n_x = g->n_x[k->is_decoder];
    }
    a->w_x = g->packed + w->x;
    a->h = k->has_state ? h_at(g, k->l, k->s - 1) : nullptr;
    a->ld_h = h_ld(g);
    a->act = act_at(g, k->l, k->s);
}

static int gates(const struct gpu *g, const struct cell *k, struct dcr_err *err)
{
    struct gates_args a = {};
    set_cell(g, k, &a);
    a.pre = k->has_x_product ? k->pre : nullptr;
    a.pre_h = k->has_state ? g->pre_h[k->l] : nullptr;
    a.z = terms_at(g, g->zr[k->l], k->s);
    return launch_gates(&a, &k->tiling, g->main, err);
}

static int state(const struct gpu *g, const struct cell *k, int wants_terms, struct dcr_err *err)
{
    struct state_args a = {};
    set_cell(g, k, &a);
    a.pre = k->has_x_product || k->has_state ? k->pre : nullptr;
    a.h_new = is_bf16(g) ? h_at(g, k->l, k->s) : nullptr;
    a.z = terms_at(g, g->zh[k->l], k->s);
    a.wants_terms = wants_terms;
    return launch_state(&a, &k->tiling, g->main, err);
}

/* The gates' share of the state after step s, for step s + 1. */
static int product_with_state(struct gpu *g, struct products *p, int is_decoder, int l, int s, struct dcr_err *err)
{
    const int depth = g->n_terms * g->width;
    return product_forward(p, n_rows(g, g->n_batch), 2 * g->width, depth, terms_at(g, g->zh[l], s), depth,
                           weights_at(g, g->at[is_decoder][l].ru), 2 * g->width, g->pre_h[l], 2 * g->width, 0, err);
}

/* The shares of the input of layer l > 0 for n_steps steps from s on, in pre. */
static int product_with_input(struct gpu *g, int is_decoder, int l, int s, int n_steps, float *pre, struct dcr_err *err)
{
    const int depth = g->n_terms * g->width;
    return product_forward(&g->on_main, (size_t)n_steps * n_rows(g, g->n_batch), 3 * g->width, depth,
                           terms_at(g, g->zh[l - 1], s), depth, weights_at(g, g->at[is_decoder][l].x), 3 * g->width,
                           pre, 3 * g->width, 0, err);
}

/* From the gates on; g->pre_h[l] is ready if the cell has a state. */
static int finish_cell(struct gpu *g, const struct cell *k, int wants_terms, struct dcr_err *err)
{
    const int depth = g->n_terms * g->width, ld = 3 * g->width;
    TRY(gates(g, k, err));
    if (k->has_state)
        TRY(product_forward(&g->on_main, n_rows(g, g->n_batch), g->width, depth, terms_at(g, g->zr[k->l], k->s), depth,
                            weights_at(g, g->at[k->is_decoder][k->l].c), g->width, k->pre + 2 * g->width, ld,
                            k->has_x_product, err));
    return state(g, k, wants_terms, err);
}

static int encode(struct gpu *g, const struct tiling *tiling, struct dcr_err *err)
{
    const size_t rows = n_rows(g, g->n_batch);
    TRY(launch_input(&g->forward, g->c.n_in * g->n_batch, g->c.d_in, g->sets[g->set].x, g->x_terms[0], g->ld_x[0],
                     g->main, err));
    for (int l = 0; l < g->c.n_layers; l++) {
        if (l > 0)
            TRY(product_with_input(g, 0, l, 0, g->c.n_in, g->pre, err));
        for (int s = 0; s < g->c.n_in; s++) {
            struct cell k = {0, l, s, *tiling, l > 0, s > 0, g->pre + (size_t)s * rows * 3 * (size_t)g->width};
            if (s > 0)
                TRY(product_with_state(g, &g->on_main, 0, l, s - 1, err));
            TRY(finish_cell(g, &k, 1, err));
        }
    }
    return 0;
}

static int project(const struct gpu *g, int t, int has_truth, struct dcr_err *err)
{
    const size_t rows = n_rows(g, g->n_batch), each = rows * (size_t)g->c.d_out;
    struct project_args a = {};
    a.d = g->forward;
    a.n_samples = g->n_batch;
    a.width = g->width;
    a.n_out = g->c.d_out;
    a.h = h_at(g, g->c.n_layers - 1, g->c.n_in + t);
    a.ld_h = h_ld(g);
    a.w = g->packed + g->proj;
    a.y = g->pred + (size_t)t * each;
    a.truth = has_truth ? g->sets[g->set].truth + (size_t)t * each : nullptr;
    a.coin = coins_of(g) + t;
    a.z = t + 1 < g->c.n_out ? g->x_terms[1] + (size_t)(t + 1) * rows * (size_t)g->ld_x[1] : nullptr;
    a.ld_z = g->ld_x[1];
    return launch_project(&a, g->main, err);
}

/* The side stream's part of a step. It may not overwrite pre_h[l] before the gates of the step before have read it, nor
 * read a state before it is written. The event state[l] ensures both. */
static int products_with_states(struct gpu *g, int s, struct dcr_err *err)
{
    for (int l = 0; l < g->c.n_layers; l++) {
        CUDA_TRY(cudaStreamWaitEvent(g->side, g->state[l], 0), err);
        TRY(product_with_state(g, &g->on_side, 1, l, s - 1, err));
        CUDA_TRY(cudaEventRecord(g->h_product[l], g->side), err);
    }
    return 0;
}

static int decode(struct gpu *g, const struct tiling *tiling, int has_truth, struct dcr_err *err)
{
    const int top = g->c.n_layers - 1, last = g->n_steps - 1;
    const size_t feed = n_rows(g, g->n_batch) * (size_t)g->ld_x[1] * sizeof(float);
    CUDA_TRY(cudaMemsetAsync(g->x_terms[1], 0, feed, g->main), err); /* the input of step 0, read by backward */
    for (int l = 0; l <= top; l++)
        CUDA_TRY(cudaEventRecord(g->state[l], g->main), err);
    for (int s = g->c.n_in; s <= last; s++) {
        TRY(products_with_states(g, s, err));
        for (int l = 0; l <= top; l++) {
            struct cell k = {1, l, s, *tiling, l > 0, 1, g->pre};
            if (l > 0)
                TRY(product_with_input(g, 1, l, s, 1, g->pre, err));
            CUDA_TRY(cudaStreamWaitEvent(g->main, g->h_product[l], 0), err);
            TRY(finish_cell(g, &k, s < last || l < top, err));
            CUDA_TRY(cudaEventRecord(g->state[l], g->main), err);
        }
        TRY(project(g, s - g->c.n_in, has_truth, err));
    }
    return 0;
}

int enqueue_forward(struct gpu *g, int is_training, int has_truth, struct dcr_err *err)
{
    g->is_training = is_training;
    if (g->n_batch == 0)
        return 0;
    struct tiling tiling = tiling_choose(&g->limits, g->c.n_sensors, g->n_batch, g->width, is_bf16(g));
    TRY(encode(g, &tiling, err));
    return decode(g, &tiling, has_truth, err);
}
