/* dcrnn_model.h - inside of a model, shared by dcrnn.c (build, parameters) and dcrnn_run.c (forward, backward) only. */
#ifndef TRAINER_MODEL_DCRNN_MODEL_H
#define TRAINER_MODEL_DCRNN_MODEL_H

#include "trainer/model/dcgru.h"
#include "trainer/model/dcrnn.h"

#include <pthread.h>

#define DCRNN_MAX_TENSORS (2 * DCRNN_MAX_LAYERS * 4 + 2)

#define dcrnn_worker REAL_FN(dcrnn_worker)
#define dcrnn_slab REAL_FN(dcrnn_slab)
#define dcrnn_crew REAL_FN(dcrnn_crew)
#define dcrnn_start_workers REAL_FN(dcrnn_start_workers)
#define dcrnn_end_workers REAL_FN(dcrnn_end_workers)

/* r, u, c, h of every step and layer of one tile, and the inputs of the decoder. Steps are numbered through: 0 .. T-1
 * are the encoder's, T .. T+H-1 the decoder's. If nothing is kept, steps use two slots in turn. */
struct dcrnn_slab {
    int n_slots;
    real *states; /* shape: (n_slots, layers, 4, rows, up) */
    real *fed;    /* shape: (H, rows, Dout) */
};

struct dcrnn_worker {
    struct dcrnn *model;
    int index;
    struct dcgru_work work;
    struct dcgru_sums sums[2][DCRNN_MAX_LAYERS]; /* [0] encoder, [1] decoder */
    real *sum_proj_w, *sum_proj_b;               /* shapes: (Dout, up), (Dout) */
    real *x_terms;                               /* the encoder input of all steps, diffused  (rows, x_row) */
    real *dy, *d_fed;                            /* (rows, Dout) */
    struct dcrnn_slab slab;                      /* for forward without keep */
    const struct dcrnn_progress *progress;       /* of worker 0, else NULL */
    pthread_t thread;                            /* worker 0 is the caller and has none */
};

/* The conditions for which the workers' threads and the caller wait. */
struct tile;
struct dcrnn_crew {
    pthread_mutex_t lock;
    pthread_cond_t begin, end;       /* of a round: all tiles of a batch, once */
    void (*work)(struct tile *tile); /* of this round */
    uint64_t round;                  /* rounds begun */
    int n_threads;                   /* started */
    int n_busy;                      /* threads that have not finished this round */
    int is_over;                     /* the threads end */
};

struct dcrnn {
    struct dcrnn_config c;
    struct gconv g;
    int up;           /* padded units */
    int tile_samples; /* samples of one tile */
    int tile_rows;    /* tile_samples * N */
    int x_width;      /* T * Din, padded */
    ptrdiff_t x_row;

    size_t n_params, n_decoder; /* the first n_decoder parameters are the decoder's and the projection's */
    real *params, *grads;       /* shape: (n_params) */
    int n_tensors;
    struct dcrnn_tensor tensors[DCRNN_MAX_TENSORS];
    struct dcgru_tensors at_params[2][DCRNN_MAX_LAYERS], at_grads[2][DCRNN_MAX_LAYERS];
    size_t proj_w, proj_b; /* offsets */

    struct dcgru cell[2][DCRNN_MAX_LAYERS];
    real *proj; /* packed: (Dout, up) */
    struct dcrnn_worker *workers;
    struct dcrnn_crew crew;
    struct dcrnn_slab *slabs; /* one for each tile of max_batch */
    int n_slabs;
    real *d_state; /* gradient of the state handed from encoder to decoder: (n_slabs, layers, rows, up) */

    /* the last forward with keep = 1 */
    int n_batch;
    const real *x, *truth_z;
    uint8_t *coins; /* shape: (H) */
    real *pred_z;   /* borrows from the caller of dcrnn_forward, during the call */
    const real *d_pred;
    int keep;

    void *memory;
    size_t memory_bytes;
};

/** dcrnn_start_workers, dcrnn_end_workers - the threads of workers 1 .. n_threads - 1, which live as long as the model.
 *  errors   DCR_FAIL: no more threads; dcrnn_end_workers ends those that started */
int dcrnn_start_workers(struct dcrnn *m, struct dcr_err *err) DCR_MUST_CHECK;
void dcrnn_end_workers(struct dcrnn *m);

static inline int dcrnn_n_tiles(const struct dcrnn *m, int n_batch)
{
    return (n_batch + m->tile_samples - 1) / m->tile_samples;
}

/* One of r, u, c, h (enum dcrnn_peek_what) of a step and layer. */
static inline real *REAL_FN(dcrnn_at)(const struct dcrnn *m, const struct dcrnn_slab *slab, int step, int layer,
                                      int what)
{
    ptrdiff_t slot = step % slab->n_slots, one = (ptrdiff_t)m->tile_rows * m->up;
    return slab->states + ((slot * m->c.n_layers + layer) * 4 + what) * one;
}
#define dcrnn_at REAL_FN(dcrnn_at)

#endif
