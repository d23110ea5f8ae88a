/* exchange.c - see exchange.h. */
#include "render/findings/exchange.h"

#include "render/metrics/recorded.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *word, *words;
} called[N_EXCHANGES] = {
    [EXCHANGE_UNKNOWN] = {"exchange", "exchanges"},
    [EXCHANGE_ALL_REDUCE] = {"all-reduce", "all-reduces"},
    [EXCHANGE_ALL_GATHER] = {"all-gather", "all-gathers"},
    [EXCHANGE_REDUCE_SCATTER] = {"reduce-scatter", "reduce-scatters"},
    [EXCHANGE_ALL_TO_ALL] = {"all-to-all", "all-to-alls"},
    [EXCHANGE_SEND_RECEIVE] = {"send and receive", "sends and receives"},
    [EXCHANGE_PAIRS] = {"send and receive, or all-to-all", "sends, receives and all-to-alls"},
    [EXCHANGE_BROADCAST] = {"broadcast", "broadcasts"},
    [EXCHANGE_REDUCE] = {"reduce", "reduces"},
};

const char *exchange_word(enum exchange k)
{
    return called[k].word;
}

const char *exchange_words(enum exchange k)
{
    return called[k].words;
}

enum exchange exchange_named(const char *name)
{
    /* Longer words first: "allreduce" holds "reduce", "reduce_scatter" too. */
    static const struct {
        const char *word;
        enum exchange kind;
    } known[] = {{"allreduce", EXCHANGE_ALL_REDUCE},    {"reducescatter", EXCHANGE_REDUCE_SCATTER},
                 {"allgather", EXCHANGE_ALL_GATHER},    {"alltoall", EXCHANGE_ALL_TO_ALL},
                 {"sendrecv", EXCHANGE_SEND_RECEIVE},   {"broadcast", EXCHANGE_BROADCAST},
                 {"bcast", EXCHANGE_BROADCAST},         {"ncclsend", EXCHANGE_SEND_RECEIVE},
                 {"ncclrecv", EXCHANGE_SEND_RECEIVE},   {"mpisend", EXCHANGE_SEND_RECEIVE},
                 {"mpirecv", EXCHANGE_SEND_RECEIVE},    {"mpireduce", EXCHANGE_REDUCE},
                 {"ncclkernelreduce", EXCHANGE_REDUCE}, {"nccldevkernelreduce", EXCHANGE_REDUCE}};
    char plain[128];
    size_t n = 0;
    for (; *name && n + 1 < sizeof plain; name++)
        if (*name != '_' && *name != '-' && *name != ' ' && *name != ':')
            plain[n++] = *name;
    plain[n] = '\0';
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasestr(plain, known[i].word))
            return known[i].kind;
    return strcasecmp(plain, "send") == 0 || strcasecmp(plain, "recv") == 0 ? EXCHANGE_SEND_RECEIVE
           : strcasecmp(plain, "reduce") == 0                               ? EXCHANGE_REDUCE
                                                                            : EXCHANGE_UNKNOWN;
}

/* NCCL has one kernel for sends, receives and collectives made of them. Only the host's ranges tell which one it was.
 */
static enum exchange kernel_kind(const struct foreign_trace *t, const char *name)
{
    enum exchange k = exchange_named(name);
    int is_called[N_EXCHANGES] = {0};
    for (int i = 0; k == EXCHANGE_SEND_RECEIVE && i < t->operators.n_names; i++)
        is_called[exchange_named(t->operators.list[i].name)] = 1;
    if (k != EXCHANGE_SEND_RECEIVE || is_called[EXCHANGE_SEND_RECEIVE] > is_called[EXCHANGE_ALL_TO_ALL])
        return k;
    return is_called[EXCHANGE_ALL_TO_ALL] > is_called[EXCHANGE_SEND_RECEIVE] ? EXCHANGE_ALL_TO_ALL : EXCHANGE_PAIRS;
}

static void add_device(const struct foreign_trace *t, const struct run_device *d, double ns[N_EXCHANGES])
{
    double said = 0;
    for (int i = 0; i < d->n_collectives; i++) {
        enum exchange k = exchange_named(d->collectives[i].name);
        ns[k] += k ? (double)d->collectives[i].sum_ns : 0;
        said += k ? (double)d->collectives[i].sum_ns : 0;
    }
    for (int i = 0; said <= 0 && i < d->n_names; i++)
        if (d->names[i].kind == OP_COMM)
            ns[kernel_kind(t, d->names[i].name)] += (double)d->names[i].sum_ns;
}

/* Adds a host's exchanges: the ranges of its backends, "gloo:all_reduce". */
static void add_host(const struct foreign_trace *t, double ns[N_EXCHANGES])
{
    static const char *const backends[] = {"gloo:", "mpi:", "nccl:"};
    for (int i = 0; i < t->operators.n_names; i++)
        for (size_t k = 0; k < sizeof backends / sizeof *backends; k++)
            if (strncmp(t->operators.list[i].name, backends[k], strlen(backends[k])) == 0)
                ns[exchange_named(t->operators.list[i].name)] += (double)t->operators.list[i].total_ns;
}

static struct exchange_share largest(const double ns[N_EXCHANGES])
{
    struct exchange_share s = {EXCHANGE_UNKNOWN, 0};
    double all = 0;
    for (int k = 1; k < N_EXCHANGES; k++) {
        all += ns[k];
        if (ns[k] > (s.kind ? ns[s.kind] : 0))
            s.kind = (enum exchange)k;
    }
    s.ratio = all > 0 ? ns[s.kind] / all : 0;
    return s;
}

struct exchange_share exchange_of(const struct run_result *r)
{
    const struct run *a = r->run;
    double ns[N_EXCHANGES] = {0};
    for (int i = 0; i < a->n_traces; i++) {
        for (int k = 0; k < a->traces[i].n_devices; k++)
            add_device(&a->traces[i], &a->traces[i].devices[k], ns);
        if (run_is_of_hosts(a))
            add_host(&a->traces[i], ns);
    }
    ns[EXCHANGE_UNKNOWN] = 0;
    struct exchange_share s = largest(ns);
    for (int i = 0; s.kind == EXCHANGE_UNKNOWN && i < r->n_phases; i++)
        if (r->phases[i].category == CAT_COMM)
            ns[exchange_named(r->phases[i].name)] += (double)r->phases[i].spread.mean_ns;
    ns[EXCHANGE_UNKNOWN] = 0;
    s = largest(ns);
    int is_known = s.kind == EXCHANGE_UNKNOWN && !recorded_part(a).n_ranks_lost_sums;
    for (int i = 0; is_known && i < a->n_mpi_calls; i++)
        ns[exchange_named(a->mpi_calls[i].name)] += (double)a->mpi_calls[i].sum.ns;
    ns[EXCHANGE_UNKNOWN] = 0;
    s = largest(ns);
    if (s.kind == EXCHANGE_UNKNOWN && strcmp(a->program.name, "dcrnn-train") == 0)
        s = (struct exchange_share){EXCHANGE_ALL_REDUCE, 1};
    return s;
}

/* Other programs use all-reduces too, so the run must show that it trains: a trace of a framework, the number of
 * parameters, or a phase of training. */
static int is_training(const struct run_result *r)
{
    if (r->run->is_foreign || r->run->n_traces || r->run->program.parameters > 0)
        return 1;
    for (int i = 0; i < r->n_phases; i++)
        if (strcasecmp(r->phases[i].name, "backward") == 0 || strncasecmp(r->phases[i].name, "optimizer", 9) == 0)
            return 1;
    return 0;
}

int is_gradient_exchange(const struct run_result *r)
{
    struct exchange_share most = exchange_of(r);
    return most.kind == EXCHANGE_ALL_REDUCE && most.ratio > 0.5 && is_training(r);
}
