/* step.cuh - a step as one unit of work: recorded once into a CUDA graph, then launched. */
#ifndef TRAINER_GPU_STEP_CUH
#define TRAINER_GPU_STEP_CUH

#include "trainer/gpu/model.cuh"

/** batch_bring - have the batch in one of the sets, copying it unless it was prefetched; g->set and g->n_batch say
 *  which. The main stream waits for the copy, the host does not.
 *  errors   DCR_FATAL; DCR_FAIL a batch larger than max_batch */
int batch_bring(struct gpu *g, const struct gpu_batch *b, struct dcr_err *err) DCR_MUST_CHECK;
/** batch_prefetch - start copying a batch into the set that is not in use. */
int batch_prefetch(struct gpu *g, const struct gpu_batch *b, struct dcr_err *err) DCR_MUST_CHECK;

/* What is to be done with the batch that batch_bring brought. */
struct task {
    int is_training; /* 0: forward and errors only */
    int has_truth, is_first, is_last;
    size_t n_tally;
};
/** task_run - launch it and wait; reports its phases through s (NULL: no reports). The answer is then in
 *  g->answer_host. */
int task_run(struct gpu *g, const struct task *t, const struct gpu_step *s, struct dcr_err *err) DCR_MUST_CHECK;

/** wait_for_main - the host waits for the main stream, watching the other ranks and the time. */
int wait_for_main(struct gpu *g, struct dcr_err *err) DCR_MUST_CHECK;
/** elapsed_ns - between two marks of the last task, or of the copy of its batch. */
int elapsed_ns(cudaEvent_t from, cudaEvent_t to, int64_t *ns, struct dcr_err *err) DCR_MUST_CHECK;

/** enqueue_loss, enqueue_update - parts of a task, for callers that do it piece by piece. */
int enqueue_loss(struct gpu *g, const struct task *t, struct dcr_err *err) DCR_MUST_CHECK;
int enqueue_update(struct gpu *g, int is_scaled, struct dcr_err *err) DCR_MUST_CHECK;

#endif
