/* dcgru.h - one DCGRU cell (diffusion-convolutional gated recurrent unit), forward and backward, on a tile of samples.
 *     [r, u] = sigmoid(G_ru([x, h]))     c = tanh(G_c([x, r * h]))     h' = u * h + (1 - u) * c
 * Source: Li et al. 2018, section 2.3; u = 1 keeps the old state, as in the authors' repository.
 *
 * A tile is a few samples whose work fits the L2 cache: n_samples * N rows. Units are padded with zeros to `up`, a
 * multiple of KERNELS_LANES; padded units stay 0 through forward and backward, so no loop has a tail. An input that is
 * another layer's state is padded the same way (wide); one of a few features is not (narrow). */
#ifndef TRAINER_MODEL_DCGRU_H
#define TRAINER_MODEL_DCGRU_H

#include "trainer/model/gconv.h"

#define dcgru REAL_FN(dcgru)
#define dcgru_matrix REAL_FN(dcgru_matrix)
#define dcgru_back REAL_FN(dcgru_back)
#define dcgru_tensors REAL_FN(dcgru_tensors)
#define dcgru_sums REAL_FN(dcgru_sums)
#define dcgru_work REAL_FN(dcgru_work)
#define dcgru_shape REAL_FN(dcgru_shape)
#define dcgru_place REAL_FN(dcgru_place)
#define dcgru_place_sums REAL_FN(dcgru_place_sums)
#define dcgru_place_work REAL_FN(dcgru_place_work)
#define dcgru_clear_sums REAL_FN(dcgru_clear_sums)
#define dcgru_pack REAL_FN(dcgru_pack)
#define dcgru_add_sums REAL_FN(dcgru_add_sums)
#define dcgru_input REAL_FN(dcgru_input)
#define dcgru_input_diffused REAL_FN(dcgru_input_diffused)
#define dcgru_forward REAL_FN(dcgru_forward)
#define dcgru_backward REAL_FN(dcgru_backward)

/* A right-hand matrix of the gemm kernel in packed form. */
struct dcgru_matrix {
    int k, n;
    ptrdiff_t row, panel; /* b_row and b_panel */
    real *p;
};

/* The tensors of a cell in a flat block, unpadded, rows i * M + m with x features before units. */
struct dcgru_tensors {
    real *w_ru, *b_ru, *w_c, *b_c; /* shapes: ((F+U) M, 2U), (2U), ((F+U) M, U), (U) */
};

/* Gradient sums of one worker: padded, rows h units first (up), then x features; columns (gate, m, o). */
struct dcgru_sums {
    real *w_ru; /* shape: (up + xp, 2 * M * up) */
    real *w_c;  /* shape: (up + xp, M * up) */
    real *b_ru, *b_c;
};

/* The weights of a convolution as its backward pass reads them, rows (gate, m, o). */
struct dcgru_back {
    int gates;                /* 2 for r and u, 1 for c */
    struct dcgru_matrix h, x; /* towards the state and a wide input                     (gates M up, up) each */
    real *narrow;             /* towards a narrow input, one row per feature            (F, gates M up) */
};

struct dcgru {
    const struct gconv *g; /* borrows */
    int f, u;              /* F, U */
    int up, xp;            /* padded U; columns of x: up when wide, F when narrow */
    int is_wide;
    struct dcgru_matrix ru, c; /* forward: rows [h terms, x terms]                    (M (up+xp), 2up), (.., up) */
    struct dcgru_back back_ru, back_c;
    real *b_ru, *b_c; /* (2up), (up) */
};

/* Memory that one worker needs while it computes a cell; shared by all cells of a model. */
struct dcgru_work {
    ptrdiff_t z_row, q_row;
    real *z;       /* diffusion terms of a tile: [h terms, wide x terms or h terms of a narrow cell, narrow x terms]
                                                                                              (rows, z_row) */
    real *q;       /* adjoint terms of one gate                                               (rows, q_row) */
    real *pre;     /* pre-activations, later d(r*h) and u's gradient                          (rows, 2up) */
    real *rh;      /* r * h                                                                   (rows, up) */
    real *scratch; /* gconv_adjoint's */
};

/* A bump allocator over memory that the caller counted first: with base NULL it only counts. */
struct dcgru_pool {
    char *base;
    size_t used; /* bytes */
};
/** dcgru_pool_take - n bytes, aligned to 64; NULL while counting. */
void *dcgru_pool_take(struct dcgru_pool *pool, size_t n_bytes);

/** dcgru_shape - fix the sizes of a cell. n_x = F; is_wide says that x is a state of the same width. */
void dcgru_shape(struct dcgru *cell, const struct gconv *g, int n_x, int n_units, int is_wide);
/** dcgru_place, dcgru_place_sums, dcgru_place_work - take the memory of each from a pool (or count it). Work is for
 * tiles of up to `rows` rows and for every cell of as many units whose input is narrow, at most n_narrow features, or
 * wide. */
void dcgru_place(struct dcgru *cell, struct dcgru_pool *pool);
void dcgru_place_sums(const struct dcgru *cell, struct dcgru_sums *sums, struct dcgru_pool *pool);
void dcgru_place_work(const struct dcgru *cell, int n_narrow, int rows, struct dcgru_work *work,
                      struct dcgru_pool *pool);
/** dcgru_clear_sums - zero. */
void dcgru_clear_sums(const struct dcgru *cell, struct dcgru_sums *sums);

/** dcgru_pack - bring the parameters into the order the kernels read. For every change of parameters. */
void dcgru_pack(struct dcgru *cell, const struct dcgru_tensors *params);
/** dcgru_add_sums - add a worker's padded sums to the flat gradient block. */
void dcgru_add_sums(const struct dcgru *cell, const struct dcgru_sums *sums, const struct dcgru_tensors *grads);

/** dcgru_input - put x and its diffusion terms in place for dcgru_forward.
 *  x        borrows; row leading dimension x_row                            shape: (n_samples * N, xp) */
void dcgru_input(const struct dcgru *cell, struct dcgru_work *w, int n_samples, const real *x, ptrdiff_t x_row);
/** dcgru_input_diffused - the same from terms already computed.
 *  terms    row r, term m, feature f at terms[r * row + m * term + f] */
void dcgru_input_diffused(const struct dcgru *cell, struct dcgru_work *w, int n_samples, const real *terms,
                          ptrdiff_t row, ptrdiff_t term);
/** dcgru_forward - one step, after dcgru_input.
 *  h        borrows; previous state, NULL = zero (its products are then left out)
 *  has_terms  for a narrow cell: dcgru_input of the wide cell above it has put its terms in place
 *  r, u, c, h_new  overwritten                                              shape: (n_samples * N, up) each */
void dcgru_forward(const struct dcgru *cell, struct dcgru_work *w, int n_samples, const real *h, int has_terms, real *r,
                   real *u, real *c, real *h_new);

/** dcgru_backward - gradients of one step.
 *  x, h     borrows; as in forward. r, u, c: from forward
 *  dh       in: d objective / d h_new; out: d objective / d h (left as it is when h is NULL)
 *  dx       accumulated into, NULL = not wanted; leading dimension dx_row    shape: (n_samples * N, xp)
 *  sums     accumulated into */
void dcgru_backward(const struct dcgru *cell, struct dcgru_work *w, struct dcgru_sums *sums, int n_samples,
                    const real *x, ptrdiff_t x_row, const real *h, const real *r, const real *u, const real *c,
                    real *dh, real *dx, ptrdiff_t dx_row);

#endif
