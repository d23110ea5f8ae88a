/* actions.c - see actions.h. */
#include "render/findings/actions.h"

#include "lib/reduce/summary.h"
#include "render/findings/rules/analyse.h"
#include "render/findings/rules/trials.h"
#include "render/metrics/calls.h"
#include "render/metrics/cores.h"
#include "render/metrics/device_shares.h"
#include "render/metrics/known.h"
#include "render/metrics/rule.h"
#include "render/findings/claims.h"
#include "render/findings/exchange.h"
#include "render/findings/shares.h"
#include "render/say/say.h"

#include <ctype.h>
#include <string.h>

static const enum advice of_class[N_CLASSES] = {
    [CLASS_COMPUTE] = ADVICE_COMPUTE,     [CLASS_MEMORY] = ADVICE_MEMORY,
    [CLASS_IMBALANCE] = ADVICE_BALANCE,   [CLASS_COMMUNICATION] = ADVICE_COMMUNICATION,
    [CLASS_DATA] = ADVICE_DATA,           [CLASS_IO] = ADVICE_CHECKPOINTS,
    [CLASS_COPY] = ADVICE_COPIES,         [CLASS_HOST] = ADVICE_LAUNCHES,
    [CLASS_OVERHEAD] = ADVICE_NAME_PHASES /* CLASS_SHARED: see below */
};

/* The machine holds the ranks back, so the advice is the same for every program, except for the names of options.
 * Own threads: for_own_threads. */
static const enum advice of_shared[N_SHARED_KINDS] = {
    [SHARED_OVERSUBSCRIBED] = ADVICE_CORES_FOR_RANKS, [SHARED_THROTTLED] = ADVICE_CPU_QUOTA,
    [SHARED_STEAL] = ADVICE_NO_OTHER_GUESTS,          [SHARED_BOUND] = ADVICE_CORES_FOR_THREADS,
    [SHARED_RUN_DELAY] = ADVICE_IDLE_CORES,
};

/* What helps depends on what travels: gradients, shards of the parameters, tokens and rows of tables, activations. */
static const enum advice of_exchange[N_EXCHANGES] = {
    [EXCHANGE_UNKNOWN] = ADVICE_OTHER_EXCHANGE,        [EXCHANGE_ALL_GATHER] = ADVICE_ALL_GATHER,
    [EXCHANGE_REDUCE_SCATTER] = ADVICE_REDUCE_SCATTER, [EXCHANGE_ALL_TO_ALL] = ADVICE_ALL_TO_ALL,
    [EXCHANGE_SEND_RECEIVE] = ADVICE_SEND_RECEIVE,     [EXCHANGE_PAIRS] = ADVICE_PAIRS,
    [EXCHANGE_BROADCAST] = ADVICE_BROADCAST,           [EXCHANGE_REDUCE] = ADVICE_REDUCE,
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
static enum advice of_files(const struct run *r)
{
    static const enum advice of[DCT_N_IO] = {
        [DCT_IO_READ] = ADVICE_READ_AHEAD, [DCT_IO_WRITE] = ADVICE_WRITE_LESS, [DCT_IO_OTHER] = ADVICE_SYNC_LESS};
    struct file_time f = file_time(r);
    int most = 0;
    for (int k = 1; k < DCT_N_IO; k++)
        most = f.kind_ns[k] > f.kind_ns[most] ? k : most;
    return of[most];
}

/* Does each rank leave a core free, or would the cores be enough for a step without its loading? A loader that waits,
 * for instance for a slow disk, frees its core. */
static int has_idle_cores(const struct run_result *r)
{
    const double exact = 1.05; /* of readings */
    double busy = 0, step = (double)r->step.mean_ns, left = step - (double)r->gain_ns[CLASS_DATA];
    int cores = 0;
    if (has_shares(r->run)) /* free cores of the host do not belong to the nodes */
        return 0;
    for (int i = 0; i < r->run->ranks_len; i++) {
        const struct ready k = ready_of(r->run, &r->run->ranks[i]);
        if (k.cores == 0) /* not recorded */
            return 0;
        busy += k.used + k.waiting;
    }
    for (int i = 0; i < machines_of(r->run) && i < r->run->nodes_len; i++)
        cores += r->run->nodes[i].cores;
    return busy + r->n_ranks <= cores || (step > 0 && busy * step <= exact * cores * left);
}

/* Cores that the advice needs for each rank; 0 = it needs none. Loaders that work ahead need one more than the rank. */
static int cores_asked(const struct run_result *r, enum cause_class cls)
{
    int threads = r->run->program.threads > 0 ? (int)r->run->program.threads : 1;
    if (cls == CLASS_DATA)
        return r->loading.is_waiting || has_idle_cores(r) ? 0 : threads + 1;
    if (cls != CLASS_SHARED || is_held_back(r))
        return 0;
    return r->shared.kind == SHARED_OWN_THREADS && !r->shared.has_neighbours ? threads + 1 : threads;
}

/* The cores that an advice needs if the recorded hosts do not have them; PHRASE_NONE: they have them, or that is not
 * known. */
static struct phrase too_few_cores(const struct run_result *r, enum cause_class cls)
{
    const struct run *a = r->run;
    int is_one = run_is_one_machine(a), asked = cores_asked(r, cls);
    for (int i = 0; i < a->nodes_len && !has_shares(a); i++) { /* their ranks have shares of cores */
        int cores = a->nodes[i].cores, ranks = is_one ? r->n_ranks : 0;
        for (int k = 0; k < a->ranks_len && !is_one; k++)
            ranks += a->ranks[k].node == a->nodes[i].node;
        if (cores > 0 && ranks * asked > cores)
            return machines_of(a) > 1
                       ? PHRASE(NEEDS_CORES_A_NODE, slot_count((int64_t)ranks * asked), slot_count(cores))
                       : PHRASE(NEEDS_CORES, slot_count((int64_t)ranks * asked), slot_count(cores));
    }
    return PHRASE(NONE);
}

/* May the ranks of every host run on all its cores already? */
static int is_host_full(const struct run *a)
{
    int is_known = 0;
    for (int i = 0; i < machines_of(a); i++) {
        struct others o = others_at(a, i);
        if (o.cores > 0 && o.cores < o.all_cores)
            return 0;
        is_known |= o.cores > 0;
    }
    return is_known;
}

/* Ranks wait for their own threads: for those that load, compute or exchange. A core more for each rank helps against
 * all of them, if the host has it. */
static enum advice for_own_threads(const struct run_result *r)
{
    int is_full = is_host_full(r->run), is_exchange = r->classes[CLASS_COMMUNICATION].verdict == VERDICT_LIMITS;
    if (r->loading.workers_cores > 0)
        return ADVICE_CORE_FOR_WORKERS;
    if (is_full && are_threads_many(r, r->processor.own_ready))
        return ADVICE_FEWER_THREADS;
    if (has_exchange_threads(r) && (is_exchange || are_threads_few(r)))
        return ADVICE_CORE_FOR_EXCHANGE;
    return is_full && has_workers(r->run) ? ADVICE_FEWER_WORKERS : ADVICE_CORE_FOR_HELPERS;
}

int is_advice_beside_cores(const struct action *a)
{
    return a->id == ADVICE_CORE_FOR_WORKERS || a->id == ADVICE_FEWER_THREADS || a->id == ADVICE_CORE_FOR_EXCHANGE ||
           a->id == ADVICE_FEWER_WORKERS;
}

struct choice {
    enum advice ours, generic; /* ours: for dcrnn-train, where its options say more; else the same as generic */
};

/* Can a rank use more threads? It uses at most half of its share of the cores, and its number of threads is below that
 * share or not known. */
static int are_threads_short(const struct run_result *r)
{
    int told = threads_told(r->run), each = cores_each(r);
    double used = r->processor.has && r->processor.own_ready > 0 ? r->processor.own_ready : told;
    return used > 0 && 2 * used <= each && told < each;
}

static enum advice for_compute(const struct run_result *r)
{
    if (is_compute_waiting(r))
        return ADVICE_FIND_WAITS_IN_COMPUTE;
    if (run_is_torch_on_hosts(r->run))
        return are_threads_short(r) ? ADVICE_COMPUTE_WITH_THREADS : ADVICE_COMPUTE_ON_HOST;
    if (r->run->n_traces)
        return has_idle_tensor_cores(r->run) ? ADVICE_TENSOR_CORES : ADVICE_COMPUTE_ON_GPU;
    /* Each core has a thread. Emulated nodes have no other cores. */
    if (strcmp(r->run->program.backend, "cuda") == 0 || cores_unused(r) != 0)
        return ADVICE_COMPUTE;
    return r->run->node_kind == NODES_EMULATED ? ADVICE_LARGER_MACHINE
           : r->run->node_kind == NODES_SHARES ? ADVICE_LARGER_SHARE
                                               : ADVICE_MORE_CORES_OR_NODES;
}

/* Did GPUs compute without any kernel that exchanges data? */
static int is_exchanged_by_hosts(const struct run *r)
{
    int64_t n_compute = 0, n_comm = 0;
    for (int i = 0; i < r->n_traces; i++)
        for (int k = 0; k < r->traces[i].n_devices; k++) {
            n_compute += r->traces[i].devices[k].value[DEV_KERNELS];
            n_comm += r->traces[i].devices[k].value[DEV_COMM_KERNELS];
        }
    return n_compute > 0 && n_comm == 0;
}

/* Fewer calls help in each case, but what can be joined depends on the call. */
static enum advice for_small_messages(const char *call, int is_torch)
{
    if (strcmp(call, "MPI_Barrier") == 0)
        return ADVICE_FEWER_BARRIERS;
    return is_torch                      ? ADVICE_SMALL_COLLECTIVES
           : summary_is_collective(call) ? ADVICE_FEWER_COLLECTIVES
                                         : ADVICE_SMALL_MESSAGES;
}

/* Messages between processes: their transfer may be waiting for a late sender. */
static int is_in_messages(const struct run_result *r)
{
    return r->has_steps && !r->pop.is_of_gpus && is_of_messages(r);
}

static struct choice for_communication(const struct run_result *r, int is_torch)
{
    if (is_one_of_many(r)) /* the right action depends on the missing traces */
        return (struct choice){ADVICE_TRACE_ALL_RANKS, ADVICE_TRACE_ALL_RANKS};
    if (r->n_ranks == 1 && r->has_steps) /* one rank has no other to exchange with */
        return (struct choice){ADVICE_NO_COLLECTIVES, ADVICE_NO_COLLECTIVES};
    enum advice exchange = is_torch ? of_exchange[exchange_of(r).kind] : ADVICE_NONE, ours = ADVICE_BF16;
    enum trial_kind first = trial_first(&r->run->program);
    if (first == TRIAL_OVERLAP)
        ours = ADVICE_OVERLAP;
    else if (first == TRIAL_LINK)
        ours = trial_advised(r)                             ? ADVICE_FASTER_LINK
               : r->n_nodes > 0 && r->n_ranks == r->n_nodes ? ADVICE_LARGER_BATCH
                                                            : ADVICE_FEWER_RANKS;
    const char *call = small_messages(r).call;
    int is_on_one = run_is_on_one_host(r->run);
    enum advice rest = call                                            ? for_small_messages(call, is_torch)
                       : is_in_messages(r)                             ? ADVICE_MESSAGES
                       : is_torch && r->accumulation.micro_batches > 1 ? ADVICE_LAST_MICRO_BATCH
                       : run_is_torch_on_hosts(r->run) /* with fp16_compress_hook their steps were 1.4x as long */
                           ? is_on_one ? ADVICE_COMMUNICATION_OF_CPUS_ON_HOST : ADVICE_COMMUNICATION_OF_CPUS
                           : is_on_one                       ? ADVICE_COMMUNICATION_ON_HOST
                             : is_exchanged_by_hosts(r->run) ? ADVICE_EXCHANGE_BY_GPUS
                                                             : ADVICE_COMMUNICATION;
    return (struct choice){ours, exchange && rest != ADVICE_EXCHANGE_BY_GPUS ? exchange : rest};
}

/* Do the options of dcrnn-train give every rank the same number of samples? */
static int has_equal_shares(const struct run_result *r)
{
    const struct run *a = r->run;
    for (int i = 0; i < a->n_command; i++)
        if (strncmp(a->command[i], "--rank", 6) == 0) /* --rank-weights, which may be shortened */
            return 0;
    return a->n_command > 0 && r->n_ranks > 0 && a->program.global_batch > 0 &&
           a->program.global_batch % r->n_ranks == 0;
}

/* A barrier sends no data that could arrive later, so a call that does not block does not replace it. With steps,
 * calls that are rarer than every second step are not part of the steps. */
static enum advice for_serial_part(const struct run_result *r)
{
    const char *call =
        r->alone.call ? r->alone.call : most_waited_call(r->run, r->alone.rank, r->has_steps ? (r->step.n + 1) / 2 : 1);
    return call && strcmp(call, "MPI_Barrier") == 0 ? ADVICE_ALONE_BARRIER
           : r->has_steps                           ? ADVICE_ALONE
                                                    : ADVICE_ALONE_MPI;
}

/* Then ranks are late by turns, and no rank or host is the cause. If several ranks do more in most steps, their means
 * are uneven. */
static int has_no_late_rank(const struct run_result *r)
{
    const double even = 0.95;
    return r->has_steps && r->pop.has && r->pop.load_balance_ratio >= even && !r->straggler.has &&
           !r->straggler.is_mostly_last && !is_doubtful(r);
}

/* Is most of the waiting for time in no known phase, of which the steps have some beside named compute? */
static int is_late_unnamed(const struct run_result *r)
{
    const double least = 0.05, nearly_all = 0.8; /* of a step; of the waiting, for one rank */
    return r->has_steps && waited_for_one(r) > nearly_all && !r->pop.is_of_gpus && waits_mostly_for(r, CAT_OTHER) &&
           r->part_ns[PART_COMPUTE] > 0 && (double)r->part_ns[PART_OTHER] > least * (double)r->step.mean_ns;
}

static enum advice for_imbalance(const struct run_result *r)
{
    if (r->late_file_ns > 0)
        return of_files(r->run);
    if (waits_mostly_for(r, CAT_COMM))
        return ADVICE_BETWEEN_STEPS;
    if (r->late_used_ratio > 0)
        return ADVICE_LATE_WAITS;
    if (r->late_range.name)
        return ADVICE_LATE_RANGE;
    if (r->late_written > 0)
        return ADVICE_LATE_WRITES;
    if (r->alone.has)
        return for_serial_part(r);
    if (is_late_unnamed(r))
        return ADVICE_LATE_UNNAMED;
    if (!r->has_steps) /* late ranks in MPI calls of any program */
        return ADVICE_BALANCE_MPI;
    if (has_no_late_rank(r))
        return ADVICE_UNEVEN_STEPS;
    int is_on_one = machines_of(r->run) == 1 && r->run->node_kind != NODES_SHARES;
    return is_on_one ? ADVICE_BALANCE_ON_NODE : ADVICE_BALANCE;
}

static struct choice choose(const struct run_result *r, enum cause_class cls, int is_torch)
{
    enum advice both = of_class[cls];
    switch (cls) {
    case CLASS_COMPUTE:
        both = for_compute(r);
        return (struct choice){r->gain_ns[CLASS_COMPUTE] > 0 ? ADVICE_BEST_KERNELS : both, both};
    case CLASS_COMMUNICATION:
        return for_communication(r, is_torch);
    case CLASS_IMBALANCE: /* the options are the same on one node and on many */
        return (struct choice){!r->has_steps || waits_mostly_for(r, CAT_COMM) || r->late_used_ratio > 0 ||
                                       r->alone.has || r->late_range.name || r->late_written > 0 || is_late_unnamed(r)
                                   ? ADVICE_NONE
                               : !has_equal_shares(r) ? ADVICE_BALANCE
                               : has_no_late_rank(r)  ? ADVICE_UNEVEN_STEPS
                                                      : ADVICE_LATE_HOST,
                               for_imbalance(r)};
    case CLASS_DATA: /* where the threads wait for each other's cores, more workers would wait too */
        both = r->loading.is_waiting                                                  ? ADVICE_DATA_WAITS
               : r->shared.own[0].id && r->shared.is_each_other && !has_idle_cores(r) ? ADVICE_DATA_WITHOUT_CORES
               : r->loading.workers_cores > 0                                         ? ADVICE_DATA_COMPUTES
               : run_is_torch_on_hosts(r->run)                                        ? ADVICE_DATA_OF_HOST
                                                                                      : both;
        break;
    case CLASS_IO:
        both = !r->has_steps                                                              ? of_files(r->run)
               : r->classes[cls].judged.by == JUDGED_SHARE && files_used(r) == FILES_READ ? ADVICE_READ_FILES
                                                                                          : both;
        break;
    case CLASS_HOST:
        both = is_inference(r->run) ? ADVICE_LAUNCHES_OF_INFERENCE : both;
        break;
    case CLASS_SHARED:
        both = r->shared.has_neighbours               ? ADVICE_IDLE_CORES_FOR_RANKS
               : r->shared.kind == SHARED_OWN_THREADS ? for_own_threads(r)
                                                      : of_shared[r->shared.kind];
        break;
    default:
        break;
    }
    return (struct choice){both, both};
}

/* The sentences of an advice and of its needs, without the last full stop. */
static const char *in_words(struct report *rep, const struct advised *a, enum advice_part part,
                            const struct phrase *needs)
{
    const char *text = say_advice(&rep->arena, a, part);
    if (!*text)
        return "";
    if (needs->id)
        return report_text(rep, "%s %s", text, say_phrase(&rep->arena, needs));
    char *s = dcr_arena_strdup(&rep->arena, text);
    s[strlen(s) - 1] = '\0';
    return s;
}

static struct action action_of(struct report *rep, const struct run_result *r, enum cause_class cls, struct choice c)
{
    int is_dcrnn = strcmp(r->run->program.name, "dcrnn-train") == 0, is_torch = is_dcrnn || run_may_be_torch(r->run);
    double limit = r->classes[cls].threshold_ratio;
    if (cls == CLASS_SHARED && r->shared.kind == SHARED_OVERSUBSCRIBED) /* found by counting, and seen by waiting */
        limit = rep->thresholds.run_delay_limits;
    if (cls == CLASS_IMBALANCE && r->straggler.has)
        limit = rep->thresholds.straggler_wait;
    int is_fewer = c.generic == ADVICE_FEWER_THREADS || c.generic == ADVICE_FEWER_WORKERS; /* needs no cores */
    struct phrase needs = is_fewer ? PHRASE(NONE) : too_few_cores(r, cls);
    struct action a = {.ours = "", .is_short_of_cores = needs.id != PHRASE_NONE, .check = ""};
    if (cls == CLASS_DATA && r->loading.n_workers > 0)
        needs = PHRASE(NEEDS_WORKERS, slot_count(r->loading.n_workers));
    struct advised said = {.id = c.ours, .slot = {slot_percent(limit), slot_name(r->late_range.name)}};
    const char *call = c.generic == ADVICE_FEWER_COLLECTIVES ? small_messages(r).call : NULL;
    if (call) { /* "MPI_Bcast": "MPI_Ibcast" does not block */
        said.slot[1] = slot_name(call);
        said.slot[2] = slot_name(report_text(rep, "MPI_I%c%s", tolower((unsigned char)call[4]), call + 5));
    }
    if (is_dcrnn)
        a.ours = in_words(rep, &said, ADVICE_OURS, &needs);
    said.id = c.generic;
    a.generic = in_words(rep, &said, is_torch ? ADVICE_TORCH : ADVICE_PLAIN, &needs);
    said.id = a.id = *a.ours ? c.ours : c.generic;
    const struct class_result *k = &r->classes[cls];
    int is_met = k->has_share && k->share_ratio < limit; /* judged by something else */
    int is_of_time = a.id == ADVICE_BF16;                /* half the bytes may stay above the limit */
    if (!is_of_time && (limit <= 0 || is_met))
        return a;
    a.check = say_advice(&rep->arena, &said, ADVICE_CHECK);
    if (is_of_time && r->has_steps)
        a.check = report_text(rep, "%s %s", a.check,
                              say_phrase(&rep->arena, &PHRASE(CHECK_TIME_NOW, slot_time(r->part_ns[PART_TRANSFER]))));
    else if (*a.check && k->has_share && !k->judged.by && limit == k->threshold_ratio && k->share_ratio - limit >= 0.01)
        a.check =
            report_text(rep, "%s %s", a.check,
                        say_phrase(&rep->arena, is_share_with_waiting(r, cls)
                                                    ? &PHRASE(CHECK_NOW_WITH_WAITING, slot_percent(k->share_ratio))
                                                    : &PHRASE(CHECK_NOW, slot_percent(k->share_ratio))));
    return a;
}

struct action action_for(struct report *rep, const struct run_result *r, enum cause_class cls)
{
    int is_torch = strcmp(r->run->program.name, "dcrnn-train") == 0 || run_may_be_torch(r->run);
    return action_of(rep, r, cls, choose(r, cls, is_torch));
}

int is_advice_to_measure(const struct run_result *r)
{
    return r->shared.kind &&
           (r->shared.has_neighbours || r->shared.kind == SHARED_STEAL || r->shared.kind == SHARED_RUN_DELAY);
}

struct action action_for_scaling(struct report *rep, const struct run_result *r, enum cause_class cls)
{
    static const struct choice more_work = {ADVICE_MORE_WORK_PER_RANK, ADVICE_MORE_WORK_PER_RANK};
    return cls == CLASS_COMPUTE ? action_of(rep, r, cls, more_work) : action_for(rep, r, cls);
}

struct advised advice_for_unnamed(const struct run_result *r)
{
    int64_t rest = r->part_ns[PART_OTHER], step = r->step.mean_ns;
    const struct slot share = slot_percent(step > 0 ? (double)rest / (double)step : 0);
    struct function_share f;
    if (!r->run->has_host_steps && largest_function(r->run->traces, r->run->n_traces, 1, &f))
        return (struct advised){.id = ADVICE_FIND_LINE,
                                .slot = {share, slot_percent(f.share), slot_name(f.function), slot_name(f.place)}};
    if (!r->run->has_host_steps && !r->run->n_traces && r->unnamed_range.name)
        return (struct advised){.id = ADVICE_NAME_RANGE,
                                .slot = {slot_name(r->unnamed_range.name), slot_time(r->unnamed_range.ns)}};
    return (struct advised){.id = r->run->has_host_steps                    ? ADVICE_GPU_WHOLE
                                  : !r->run->n_traces                       ? ADVICE_NAME_REST
                                  : run_is_torch_on_hosts(r->run)           ? ADVICE_FIND_PYTHON
                                  : foreign_is_nsys(r->run->traces[0].kind) ? ADVICE_NAME_REST_IN_NSYS
                                                                            : ADVICE_NAME_REST_IN_TRACE,
                            .slot = {share, slot_time(rest)}};
}

const char *action_for_unnamed(struct report *rep, const struct run_result *r)
{
    /* Unnamed time in which the GPU waits for its host has a known cause. */
    if (2 * r->classes[CLASS_HOST].share_ns > r->part_ns[PART_OTHER])
        return action_sentence(rep, action_for(rep, r, CLASS_HOST));
    struct advised a = advice_for_unnamed(r);
    char *s = dcr_arena_strdup(&rep->arena, say_advice(&rep->arena, &a, ADVICE_TORCH));
    s[strlen(s) - 1] = '\0';
    return s;
}

const char *advice_words(struct report *rep, const struct run *r, const struct advised *a)
{
    return say_advice(&rep->arena, a, run_may_be_torch(r) ? ADVICE_TORCH : ADVICE_PLAIN);
}
