/* tiled.cuh - launches the kernels that diffuse: a block per sample and group of columns. Called by cell_forward.cu and
 * cell_backward.cu. */
#ifndef TRAINER_GPU_TILED_CUH
#define TRAINER_GPU_TILED_CUH

#include "trainer/gpu/diffuse.cuh"

/* kernel<Z, IN_SHARED> for the storage type and the place of the recursion. */
#define LAUNCH_TILED(kernel, args, t, stream, err)                                            \
    launch_tiled((t)->is_bf16     ? (t)->in_shared ? kernel<bf16, true> : kernel<bf16, false> \
                     : (t)->in_shared ? kernel<float, true>                                   \
                                  : kernel<float, false>,                                     \
                 #kernel, args, t, stream, err)

template <typename A>
static inline int launch_tiled(void (*kernel)(A), const char *name, const A *args, const struct tiling *t,
                               cudaStream_t stream, struct dcr_err *err)
{
    const unsigned n_blocks = (unsigned)t->n_samples * (unsigned)(t->width / t->columns);
    A own = *args;
    own.columns = t->columns;
    TRY(allow_shared(kernel, t->shared_bytes, t->shared_limit, err));
    LAUNCH_AS(name, kernel, n_blocks, t->threads, t->shared_bytes, stream, own);
    return launched(name, err);
}

#endif
