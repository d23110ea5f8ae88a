/* actions.c - see actions.h. Options of dcrnn-train as in docs/man/dcrnn-train.1. */
#include "render/narrate/actions.h"

#include "render/analyse/analyse.h"
#include "render/narrate/claims.h"
#include "render/narrate/exchange.h"
#include "render/say/format.h"

#include <string.h>

static const struct action catalogue[N_CLASSES] = {
    [CLASS_COMPUTE] = {"use more cores per rank with --threads, the best kernels with --kernels auto, or add nodes",
                       "lower precision (tf32, bf16), fused operations (torch.compile), or more nodes; with Slurm more "
                       "--cpus-per-task"},
    [CLASS_MEMORY] = {"give each pass over the weights more to do: a smaller --accumulate, or a larger --batch (which "
                      "changes what is trained); on a GPU "
                      "--precision bf16 halves the bytes",
                      "larger batches, fused operations, lower precision: more operations for each byte that is moved"},
    [CLASS_COMMUNICATION] =
        {"halve the bytes with --allreduce-dtype bf16, use fewer ranks with more --threads each, or give each "
         "all-reduce more work with a larger --batch (which changes what is trained)",
         "overlap the all-reduce with backward (DDP: bucket_cap_mb, gradient_as_bucket_view), send "
         "bf16 (bf16_compress_hook), accumulate gradients (no_sync), put MPI or NCCL on the fastest "
         "interface (NCCL_SOCKET_IFNAME, NCCL_IB_HCA), keep the nodes under one switch (Slurm "
         "--switches=1)"},
    [CLASS_IMBALANCE] =
        {"give all ranks equal shares (no --rank-weights, a --batch that divides by the number of ranks), and "
         "look at the host of the rank that comes last",
         "check that node for throttling, CPU binding (Slurm --cpu-bind=cores) and other jobs; give all ranks "
         "equal shards (DistributedSampler with drop_last)"},
    [CLASS_DATA] =
        {"make batches ahead with --loader-workers 2 --prefetch 4, and read --windows-format raw instead of text",
         "make batches ahead in the background, by as many workers as there are cores for (PyTorch: num_workers 8-16 "
         "per GPU, prefetch_factor, persistent_workers, pin_memory); a binary data set"},
    [CLASS_IO] =
        {"write checkpoints less often with --checkpoint-every and --checkpoint-fsync no, read windows ahead with "
         "--loader-workers and from memory or a local disk",
         "asynchronous or fewer checkpoints (torch.distributed.checkpoint.async_save), local scratch ($SLURM_TMPDIR) "
         "or "
         "a burst buffer"},
    [CLASS_COPY] =
        {"let loaders copy ahead with --loader-workers",
         "pinned memory and one non-blocking copy per batch (.to(non_blocking=True)); no .cpu() round trips"},
    [CLASS_HOST] = {"",
                    "CUDA graphs or torch.compile, fused optimiser, larger batches; no .item() or print in the loop"},
    [CLASS_OVERHEAD] = {"", "name more phases with NVTX ranges, so that this time has a cause"},
    [CLASS_SHARED] = {"", ""}, /* see below */
};

/* The generic ones for a program that is known not to be PyTorch's. NULL: the one above names nothing of PyTorch. */
static const char *const without_torch[N_CLASSES] = {
    [CLASS_COMPUTE] = "lower precision (TF32, bf16), fused or better kernels, or more nodes; with Slurm more "
                      "--cpus-per-task",
    [CLASS_COMMUNICATION] = "overlap communication with computing, send lower precision or less often, put MPI or NCCL "
                            "on the fastest interface (NCCL_SOCKET_IFNAME, NCCL_IB_HCA), keep the nodes under one "
                            "switch (Slurm --switches=1)",
    [CLASS_IMBALANCE] = "check that node for throttling, CPU binding (Slurm --cpu-bind=cores) and other jobs; give all "
                        "ranks equal parts",
    [CLASS_DATA] = "read input ahead in the background, by as many threads or processes as there are cores for; "
                   "binary files instead of text",
    [CLASS_IO] = "write checkpoints less often or by a thread of their own, to local scratch ($SLURM_TMPDIR) or a "
                 "burst buffer",
    [CLASS_COPY] = "pinned memory (cudaMallocHost, hipHostMalloc) and one asynchronous copy per step; no round trips "
                   "through the host",
    [CLASS_HOST] = "CUDA graphs, fused kernels, more work for each launch; no synchronisation in the loop, and no copy "
                   "to the host that the next launch waits for",
};

/* What holds the ranks back is a matter of the machine: the same advice for every program, but for the options' names.
 */
static const struct action shared[N_SHARED_KINDS] = {
    [SHARED_OVERSUBSCRIBED] =
        {"give every rank cores of its own (no more ranks times --threads than cores), then measure again",
         "give every rank cores of its own (no more ranks times threads than cores; --cpus-per-task), then measure "
         "again"},
    [SHARED_THROTTLED] = {"", "give the job more CPU time (a larger share or no CPU quota of its cgroup), or fewer "
                              "ranks on it, then measure "
                              "again"},
    [SHARED_STEAL] = {"", "measure on a machine whose cores other guests do not use"},
    [SHARED_OWN_THREADS] =
        {"give each rank one more core, or take fewer --loader-workers, then measure again",
         "give each rank one more core (Slurm: --cpus-per-task), or fewer helpers (num_workers of the DataLoader) and "
         "threads "
         "(torch.set_num_threads), then measure again"},
    [SHARED_BOUND] =
        {"give each rank as many cores as it has threads (mpirun --map-by slot:PE=N, Slurm --cpus-per-task), or fewer "
         "--threads, then measure again",
         "give each rank as many cores as it has threads (Slurm --cpus-per-task, mpirun --map-by slot:PE=N), or fewer "
         "threads (OMP_NUM_THREADS, torch.set_num_threads), then measure again"},
    [SHARED_RUN_DELAY] = {"", "measure while nothing else runs on these cores, and bind each rank to its own"},
};

/* What helps depends on what travels: gradients, shards of the parameters, tokens and rows of tables, activations. */
static const char *const travels[N_EXCHANGES] = {
    [EXCHANGE_UNKNOWN] = "overlap communication with computing, send lower precision, put MPI or NCCL on the fastest "
                         "interface (NCCL_SOCKET_IFNAME, NCCL_IB_HCA), keep the nodes under one switch (Slurm "
                         "--switches=1)",
    [EXCHANGE_ALL_GATHER] = "gather shards ahead of their use (FSDP: forward_prefetch, backward_prefetch=BACKWARD_PRE; "
                            "ZeRO-3: stage3_prefetch_bucket_size), shard within a node only (HYBRID_SHARD), gather in "
                            "bf16 (MixedPrecision param_dtype)",
    [EXCHANGE_REDUCE_SCATTER] = "reduce in bf16 (FSDP MixedPrecision reduce_dtype), overlap it with backward "
                                "(overlap_comm), accumulate gradients, shard within a node only (HYBRID_SHARD)",
    [EXCHANGE_ALL_TO_ALL] = "send fewer and smaller tokens or rows (lower precision, a lower capacity factor), overlap "
                            "the all-to-all with computing of another part of the batch, place experts or tables that "
                            "talk to each other on one node",
    [EXCHANGE_SEND_RECEIVE] = "send and receive while the next part computes (batch_isend_irecv; pipelines: more "
                              "micro-batches, an interleaved schedule), send lower precision, put ranks that talk to "
                              "each other on one node",
    [EXCHANGE_PAIRS] =
        "overlap sends, receives and all-to-alls with computing of another part of the batch, send lower "
        "precision, put ranks that talk to each other on one node",
    [EXCHANGE_BROADCAST] =
        "broadcast less often (DDP: broadcast_buffers=False; read data on every rank instead of one)",
    [EXCHANGE_REDUCE] = "reduce less often: log every n steps, not in each",
};

/* Time of products and convolutions without tensor cores matters from a fifth of kernel time on (device_notes.c). */
static int has_idle_tensor_cores(const struct run *r)
{
    int64_t kernels = 0, without = 0;
    for (int i = 0; i < r->n_traces; i++)
        for (int k = 0; k < r->traces[i].n_devices; k++) {
            const struct run_device *d = &r->traces[i].devices[k];
            kernels += d->value[DEV_KERNEL_SUM];
            without += d->eligible_ns - d->tensor_ns;
        }
    return kernels > 0 && (double)without > 0.2 * (double)kernels;
}

/* Operators were recorded, and neither an optimiser nor a backward pass is among them. */
static int is_inference(const struct run *r)
{
    int64_t n = 0;
    for (int i = 0; i < r->n_traces; i++) {
        const struct host_operators *all = &r->traces[i].operators;
        n += all->n;
        for (int k = 0; k < all->n_names; k++)
            if (strcasestr(all->list[k].name, "optimizer") || strcasestr(all->list[k].name, "backward"))
                return 0;
    }
    return n > 0;
}

/* Any program's calls on files: what helps depends on which take most time. */
static const char *files_action(const struct run *r)
{
    static const char *const what[DCT_N_IO] = {
        [DCT_IO_READ] = "read in larger calls and ahead of use (by a thread of its own), and keep the files in memory "
                        "or on a local disk ($SLURM_TMPDIR)",
        [DCT_IO_WRITE] = "write less often and in larger calls, by a thread of its own, or to a local disk "
                         "($SLURM_TMPDIR)",
        [DCT_IO_OTHER] = "open and sync files less often (fsync, close), or keep them on a local disk ($SLURM_TMPDIR)"};
    struct file_time f = file_time(r);
    int most = 0;
    for (int k = 1; k < DCT_N_IO; k++)
        most = f.kind_ns[k] > f.kind_ns[most] ? k : most;
    return what[most];
}

/* Cores that the advice needs for each rank; 0 = it needs none. Loaders that work ahead need one more than the rank. */
static int cores_asked(const struct run_result *r, enum cause_class cls)
{
    int threads = r->run->program.threads > 0 ? (int)r->run->program.threads : 1;
    if (cls == CLASS_DATA)
        return threads + 1;
    if (cls != CLASS_SHARED || r->shared.kind == SHARED_THROTTLED || r->shared.kind == SHARED_STEAL)
        return 0;
    return r->shared.kind == SHARED_OWN_THREADS && !r->shared.has_neighbours ? threads + 1 : threads;
}

/* " (needs 4 cores, and the recorded host has only 2)", for the first host with too few cores; "" if all have enough,
 * or their cores are not known. */
static const char *too_few_cores(struct report *rep, const struct run_result *r, enum cause_class cls)
{
    const struct run *a = r->run;
    int is_one = run_is_one_machine(a), asked = cores_asked(r, cls);
    for (int i = 0; i < a->nodes_len && !has_shares(a); i++) { /* their ranks have shares of cores */
        int cores = a->nodes[i].cores, ranks = is_one ? r->n_ranks : 0;
        for (int k = 0; k < a->ranks_len && !is_one; k++)
            ranks += a->ranks[k].node == a->nodes[i].node;
        if (cores > 0 && ranks * asked > cores)
            return report_text(rep, " (needs %d cores%s, and %s has only %d)", ranks * asked,
                               machines_of(a) > 1 ? " a node" : "",
                               machines_of(a) > 1 ? "a recorded node" : "the recorded host", cores);
    }
    return "";
}

/* Is a faster link the first change that one command can try? */
static int is_link_tried(const struct run_result *r)
{
    for (int i = 0; i < r->n_trials; i++)
        if (*r->trials[i].command)
            return r->trials[i].kind == TRIAL_LINK;
    return 0;
}

static struct action in_general(const struct run_result *r, enum cause_class cls)
{
    static const struct action with_neighbours = {
        "measure while nothing else runs on these cores, with a core for every rank (no more ranks times --threads "
        "than cores)",
        "measure while nothing else runs on these cores, with a core for every rank (--cpus-per-task, --exclusive)"};
    static const struct action no_core_left = {
        "use the best kernels with --kernels auto, faster cores or more nodes: every core computes already",
        "lower precision (tf32, bf16), fused operations (torch.compile), faster cores or more nodes: every core "
        "computes "
        "already"};
    static const struct action no_core_left_here = {
        "use the best kernels with --kernels auto, or a machine with more or faster cores: every core of this one "
        "computes already",
        "lower precision (tf32, bf16), fused operations (torch.compile), or a machine with more or faster cores: every "
        "core of this one computes already"};
    static const struct action no_core_left_plain = {
        "", "lower precision, better kernels, or more or faster cores: every core computes already"};
    static const struct action no_core_for_workers = {
        "read --windows-format raw instead of text, and give each rank one more core for its --loader-workers: the "
        "threads wait for each other's cores already",
        "a binary data set, and one more core per rank for the loader workers (Slurm --cpus-per-task): the threads "
        "wait "
        "for each other's cores already"};
    static const char on_one_node[] =
        "check which cores the rank that comes last is bound to (mpirun --report-bindings, Slurm --cpu-bind=verbose) "
        "and what else runs on them; give all ranks equal shards (DistributedSampler with drop_last)";
    static const char on_one_node_plain[] =
        "check which cores the rank that comes last is bound to (mpirun --report-bindings, Slurm --cpu-bind=verbose) "
        "and what else runs on them; give all ranks equal parts";
    int is_dcrnn = strcmp(r->run->program.name, "dcrnn-train") == 0;
    int is_torch = is_dcrnn || run_may_be_torch(r->run);
    struct action a = catalogue[cls];
    if (cls == CLASS_SHARED && r->shared.kind)
        a = r->shared.has_neighbours ? with_neighbours : shared[r->shared.kind];
    if (cls == CLASS_DATA && r->shared.own && r->shared.is_each_other) /* more workers would wait too */
        a = no_core_for_workers;
    if (cls == CLASS_COMPUTE && r->run->n_traces)
        a.generic =
            has_idle_tensor_cores(r->run)
                ? "mixed precision on tensor cores (autocast with bf16 or fp16, TF32), which a good part of the "
                  "kernel time could use and does not; fused operations (torch.compile)"
                : "fused operations (torch.compile), lower precision (bf16, fp8), or more GPUs";
    if (cls == CLASS_HOST && is_inference(r->run))
        a.generic = "CUDA graphs or torch.compile, larger batches; no .item() or print in the loop";
    if (!is_torch && without_torch[cls])
        a.generic = without_torch[cls];
    if (cls == CLASS_IMBALANCE && machines_of(r->run) == 1 && r->run->node_kind != NODES_SHARES) /* all on that node */
        a.generic = is_torch ? on_one_node : on_one_node_plain;
    if (cls == CLASS_COMMUNICATION && r->run->program.allreduce_is_overlapped == 0)
        a.ours = "leave --no-overlap out, so that gradients travel during the backward pass";
    else if (cls == CLASS_COMMUNICATION && strcmp(r->run->program.allreduce_dtype, "bf16") == 0)
        a.ours = is_link_tried(r)
                     ? "measure with links of twice the rate, to see what a faster network is worth; use fewer ranks "
                       "with more --threads each, or give each all-reduce more work with a larger --batch (which "
                       "changes what is trained)"
                     : "use fewer ranks with more --threads each, or give each all-reduce more work with a larger "
                       "--batch (which changes what is trained)";
    if (cls == CLASS_COMMUNICATION && is_torch && travels[exchange_of(r).kind])
        a.generic = travels[exchange_of(r).kind];
    /* A thread for every core; stand-ins for nodes have no others. */
    if (cls == CLASS_COMPUTE && !r->run->n_traces && strcmp(r->run->program.backend, "cuda") != 0 &&
        cores_unused(r) == 0)
        a = !is_torch ? no_core_left_plain : r->run->node_kind == NODES_EMULATED ? no_core_left_here : no_core_left;
    if (cls == CLASS_COMPUTE && is_compute_waiting(r))
        a = (struct action){"",
                            "find out what the ranks wait for in their phases of compute: look at the stacks of one "
                            "(gdb -p, py-spy dump) or its system calls (strace -f -T -p), and name what waits with "
                            "NVTX ranges"};
    if (cls == CLASS_COMPUTE && r->gain_ns[CLASS_COMPUTE] > 0)
        a.ours = "compute with the best kernels of this processor, --kernels auto";
    if (cls == CLASS_IMBALANCE && !r->has_steps) /* who is waited for in MPI: any program */
        a.generic =
            "look at the work and the host of the rank that is waited for: equal parts for all ranks, CPU binding "
            "(Slurm --cpu-bind=cores), throttling, other jobs";
    if (cls == CLASS_IO && !r->has_steps)
        a = (struct action){"", files_action(r->run)};
    if (!is_dcrnn)
        a.ours = "";
    if (cls == CLASS_COMMUNICATION && r->n_ranks == 1 && r->has_steps) /* nobody is there to exchange with */
        a = (struct action){"", is_torch ? "leave the collectives out: a job of one rank needs neither "
                                           "DistributedDataParallel nor all_reduce"
                                         : "leave the collectives out where there is one rank"};
    if (cls == CLASS_COMMUNICATION && is_one_of_many(r)) /* what to do depends on what is not known */
        a = (struct action){
            "", "trace all ranks in the same steps, to tell transfer from waiting for a late rank, and shorten "
                "what is longer"};
    return a;
}

struct action action_for(struct report *rep, const struct run_result *r, enum cause_class cls)
{
    struct action a = in_general(r, cls);
    const char *cores = too_few_cores(rep, r, cls);
    if (*cores && *a.generic)
        a.generic = report_text(rep, "%s%s", a.generic, cores);
    if (*cores && *a.ours)
        a.ours = report_text(rep, "%s%s", a.ours, cores);
    return a;
}

int is_advice_to_measure(const struct run_result *r)
{
    return r->shared.kind &&
           (r->shared.has_neighbours || r->shared.kind == SHARED_STEAL || r->shared.kind == SHARED_RUN_DELAY);
}

struct action action_for_scaling(struct report *rep, const struct run_result *r, enum cause_class cls)
{
    struct action a = action_for(rep, r, cls);
    if (cls == CLASS_COMPUTE) {
        a.generic = "give each rank more work per step (a larger batch), or use fewer ranks with more threads each";
        if (*a.ours)
            a.ours = "give each rank more work per step with a larger --batch (which changes what is trained), or use "
                     "fewer ranks with more --threads each";
    }
    return a;
}

const char *action_for_unnamed(struct report *rep, const struct run_result *r)
{
    const char *how =
        !r->run->n_traces
            ? "put NVTX ranges (nvtxRangePush, nvtxRangePop) around loading, computing, MPI calls and the "
              "writing of files in a step"
        : foreign_is_nsys(r->run->traces[0].kind)
            ? "put NVTX ranges around the parts of a step on the host, and trace the runtime's calls"
            : "put torch.profiler.record_function around the parts of the loop that launch nothing, or "
              "profile with_stack=True";
    const struct class_result *host = &r->classes[CLASS_HOST];
    int is_host = host->has_share && 2 * host->share_ns > r->part_ns[PART_OTHER];
    return report_text(
        rep, "Name what is in no named phase, %s%s: %s", of_step(rep, r, r->part_ns[PART_OTHER]),
        is_host ? report_text(rep, ", of which the GPU waits for its host for %s", fmt_time(host->share_ns).text) : "",
        how);
}
