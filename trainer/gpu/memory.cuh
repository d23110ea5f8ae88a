/* memory.cuh - memory of a model on its device. Every block is kept in g->blocks, for model_destroy. */
#ifndef TRAINER_GPU_MEMORY_CUH
#define TRAINER_GPU_MEMORY_CUH

#include "trainer/gpu/model.cuh"

/* Counts with is_counting, else allocates. */
struct taker {
    struct gpu *g;
    int is_counting;
    size_t bytes;
    int rc;
    struct dcr_err *err;
};

template <typename T> static inline void take(struct taker *t, T **out, size_t n)
{
    const size_t bytes = (n ? n : 1) * sizeof(T);
    struct gpu *g = t->g;
    t->bytes += (bytes + 511) / 512 * 512; /* what an allocation really takes */
    if (t->is_counting || t->rc)
        return;
    void *p = nullptr;
    if (g->n_blocks == MAX_BLOCKS)
        t->rc = dcr_err_set(t->err, DCR_FATAL, "too many blocks of device memory: raise MAX_BLOCKS in model.cuh");
    else
        t->rc = CUDA_CHECK(cudaMalloc(&p, bytes), t->err);
    if (!t->rc)
        g->blocks[g->n_blocks++] = p;
    *out = (T *)p;
}

/** memory_allocate - parameters, batches, activations: all that grows with the model, or nothing.
 *  device  its name, for the sentence
 *  others  bytes that will be asked for besides
 *  errors  DCR_FAIL: it does not fit (how much is needed and free), the device failed */
int memory_allocate(struct gpu *g, const char *device, size_t others, struct dcr_err *err) DCR_MUST_CHECK;

#endif
