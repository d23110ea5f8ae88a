/* device.h - the interface between the program and the device library. dcrnn-train must run without CUDA, so everything
 * that needs CUDA is in libdcrnn-cuda.so, which is opened for --backend cuda. The two halves share only this header:
 * plain C, no CUDA types. The host half is backend_cuda.c, the device half api.cu.
 *
 * Functions return 0, or a grade of lib/base/err.h with one sentence in err. None is safe to call from two threads.
 * Arrays of a batch have the layouts of dcrnn.h. */
#ifndef TRAINER_GPU_DEVICE_H
#define TRAINER_GPU_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#include "lib/base/err.h"
#include "trainer/mark.h"
}
#else
#include "lib/base/err.h"
#include "trainer/mark.h"
#endif

/* Its hundreds are raised with every change below, because the two halves are built together and a stale library must
 * be recognised. A new phase changes the number too. */
#define GPU_API_VERSION (800 + MARK_N_RANGES)
#define GPU_API_SYMBOL "dcrnn_gpu_api"

#define GPU_MAX_LAYERS 8
#define GPU_MAX_SUPPORTS 2
#define GPU_ID_BYTES 128 /* size of the id by which ranks find each other; rank 0 makes it */

enum gpu_precision { GPU_FP32, GPU_TF32, GPU_BF16 };

/* A support in compressed rows, fields as in graph.h. */
struct gpu_sparse {
    const int *row_start, *col; /* shapes: (n_sensors + 1), (nnz) */
    const double *val;          /* shape: (nnz) */
};

/* Offsets of a cell's tensors in the flat blocks; shapes as in dcgru.h. */
struct gpu_tensors {
    size_t w_ru, b_ru, w_c, b_c;
};

/* How this rank reaches the others. n_ranks = 1: of the rest, only timeout_s is read. */
struct gpu_ranks {
    int rank, n_ranks;
    const unsigned char *id; /* borrows during join; from unique_id of rank 0      shape: (GPU_ID_BYTES) */
    int is_bf16;             /* gradients travel as bf16 */
    int is_none;         /* gradients are not sent: every rank keeps its own, and only the small sums are added up */
    int is_late;         /* only after the whole backward pass (--no-overlap) */
    size_t bucket_bytes; /* largest size of one all-reduce; 0 = gradients are sent as they become final */
    double timeout_s;    /* a wait for the device or the other ranks that takes longer is an error; 0 = for ever */
};

/* Everything borrows during create. */
struct gpu_config {
    int n_sensors, n_units, n_layers, n_in, n_out, d_in, d_out, k_hops, max_batch; /* as in dcrnn_config */
    int is_published;                                                              /* recursion */
    int n_supports;
    struct gpu_sparse support[GPU_MAX_SUPPORTS], transposed[GPU_MAX_SUPPORTS];
    size_t n_params, n_decoder; /* the first n_decoder gradients are final half-way through backward */
    size_t proj_w, proj_b;
    struct gpu_tensors at[2][GPU_MAX_LAYERS]; /* [0] encoder, [1] decoder */
    double mean, std;
    double beta1, beta2, eps;
    enum gpu_precision precision;
    int use_graph; /* one launch a step instead of hundreds */
    int device;
    struct gpu_ranks ranks;
};

struct gpu_batch {
    int n;
    const float *x, *truth_z, *raw; /* host memory */
    const uint8_t *coins;
};

/* As in struct backend_step. */
struct gpu_step {
    struct gpu_batch batch;
    int is_first, is_last;
    int64_t step; /* optimiser updates after this one */
    double lr, clip;
    double *tally;
    size_t n_tally;
    double norm;
    int is_updated; /* overwritten; 1: the norm was finite */
    /* as in struct backend_step; each may be NULL */
    void (*enters)(void *ctx, enum mark_range phase);
    void (*meanwhile)(void *ctx);
    void *ctx;
    int64_t ns[MARK_N_RANGES]; /* overwritten, by phase */
};

struct gpu_description {
    char name[256];            /* "NVIDIA H200" */
    char bus_id[16], uuid[33]; /* uuid: 32 hex digits; a MIG slice has another one, not seen in any driver yet */
    int major, minor;          /* compute capability */
    int n_devices;             /* visible to this process */
    int cublas;                /* 130100 = 13.1.0 */
    int is_emulated;           /* kernels ran on the CPU: results are valid, durations mean nothing */
};

enum gpu_block { GPU_PARAMS, GPU_GRADS, GPU_ADAM_M, GPU_ADAM_V, GPU_N_BLOCKS };

struct gpu;

struct gpu_api {
    uint32_t version; /* GPU_API_VERSION */

    /** describe - the device that create would use; it gets a context of this process. device -1: only the number of
     *  devices, without using any. errors: no driver, no device, one older than 7.5 */
    int (*describe)(int device, struct gpu_description *out, struct dcr_err *err);
    /** unique_id - rank 0 makes it, all pass it to create.                          shape: (GPU_ID_BYTES) */
    int (*unique_id)(unsigned char *id, struct dcr_err *err);

    /** create - makes everything on the device; parameters are zero. out gives.
     *  errors   no device, not enough memory (the sentence gives the amount) */
    int (*create)(struct gpu **out, const struct gpu_config *c, struct dcr_err *err);
    /** join - find the other ranks. Call it after create has succeeded on all of them, because a failed rank would keep
     *  them waiting. Collective; with one rank it does nothing.
     *  errors   the ranks do not find each other in time */
    int (*join)(struct gpu *g, struct dcr_err *err);
    void (*destroy)(struct gpu *g); /* NULL is fine */

    /** put, get - copy a flat block to or from the device.                          shape: (n_params) */
    int (*put)(struct gpu *g, enum gpu_block which, const float *from, struct dcr_err *err);
    int (*get)(struct gpu *g, enum gpu_block which, float *to, struct dcr_err *err);

    /* The calls of backend.h one by one, for tests and --gradient-to; no all-reduce. */
    int (*forward)(struct gpu *g, const struct gpu_batch *b, int is_training, struct dcr_err *err);
    /** loss - of the last forward, per forecast step: sums of |e|, e^2, |e| / target, and the count. shape: (H, 4) */
    int (*loss)(struct gpu *g, double *sums, struct dcr_err *err);
    int (*backward)(struct gpu *g, int is_first, struct dcr_err *err);
    int (*predictions)(struct gpu *g, float *out, struct dcr_err *err); /* shape: (H, B, N, Dout) */
    /** update - scale, clip, one Adam step; step is its number. norm: of scale * gradient, before clipping */
    int (*update)(struct gpu *g, int64_t step, double lr, double clip, double *norm, struct dcr_err *err);

    /** step - be->whole_step. */
    int (*step)(struct gpu *g, struct gpu_step *s, struct dcr_err *err);
    /** prefetch - start copying a batch that the next step or forward will get in the same arrays. */
    int (*prefetch)(struct gpu *g, const struct gpu_batch *b, struct dcr_err *err);

    /** host_alloc - page-locked memory; NULL if it cannot be had. host_free: NULL is fine. */
    void *(*host_alloc)(size_t bytes);
    void (*host_free)(void *p);
    size_t (*memory_bytes)(const struct gpu *g);
};

/** dcrnn_gpu_api - the only symbol of the library. returns NULL when it was built for another version. */
typedef const struct gpu_api *gpu_api_fn(uint32_t version);

/** gpu_library_open - the table of the device library; opened once and kept. Looks at $DCRNN_CUDA_LIBRARY, else in
 *  ../lib/dcreport beside the program, where it is built, installed and bundled.
 *  out      borrows, until the program ends
 *  errors   DCR_FAIL: not there (built without CUDA), cannot be loaded (which library is missing), of another version
 */
int gpu_library_open(const struct gpu_api **out, struct dcr_err *err) DCR_MUST_CHECK;

#endif
