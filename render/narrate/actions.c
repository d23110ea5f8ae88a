/* actions.c - see actions.h. Options of dcrnn-train as in docs/man/dcrnn-train.1. */
#include "render/narrate/actions.h"

#include <string.h>

static const struct action catalogue[N_CLASSES] = {
    [CLASS_COMPUTE] = {"use more cores per rank with --threads, or add nodes",
                       "lower precision (tf32, bf16), fused operations, or more nodes"},
    [CLASS_MEMORY] = {"", "fused operations, lower precision, larger arithmetic intensity"},
    [CLASS_COMMUNICATION] =
        {"give each all-reduce more work with a larger --batch, or use fewer ranks with more --threads "
         "each",
         "overlap the all-reduce with backward (DDP: bucket_cap_mb, gradient_as_bucket_view), send "
         "bf16, accumulate gradients, put MPI or NCCL on the fastest interface"},
    [CLASS_IMBALANCE] = {"look at the host of the rank that comes last, and choose --batch so that it divides by the "
                         "number of ranks",
                         "check that node for throttling, CPU binding and other jobs; give all ranks equal shards"},
    [CLASS_DATA] = {"keep the data in memory: read a smaller --data file or fewer --days, on a local disk",
                    "more loader workers (num_workers 8-16), prefetch_factor, persistent_workers, pin_memory; a binary "
                    "data set"},
    [CLASS_IO] = {"write checkpoints less often with --checkpoint-every, to a local disk with --out",
                  "asynchronous or fewer checkpoints, local scratch ($SLURM_TMPDIR) or a burst buffer"},
    [CLASS_COPY] = {"", "pinned memory and one non-blocking copy per batch; no .cpu() round trips"},
    [CLASS_HOST] = {"",
                    "CUDA graphs or torch.compile, fused optimiser, larger batches; no .item() or print in the loop"},
    [CLASS_OVERHEAD] = {"", "name more phases with NVTX ranges, so that this time has a cause"},
    [CLASS_SHARED] = {"run no more ranks times --threads than there are cores",
                      "run no more ranks than there are free cores, lift the CPU quota, then measure again"},
};

struct action action_for(const struct run_result *r, enum cause_class cls)
{
    struct action a = catalogue[cls];
    if (strcmp(r->run->program.name, "dcrnn-train") != 0)
        a.ours = "";
    return a;
}
