/* exchange.h - which collective the ranks spend their communication in, and what it is called. */
#ifndef RENDER_FINDINGS_EXCHANGE_H
#define RENDER_FINDINGS_EXCHANGE_H

#include "render/metrics/report.h"

enum exchange {
    EXCHANGE_UNKNOWN,
    EXCHANGE_ALL_REDUCE,
    EXCHANGE_ALL_GATHER,
    EXCHANGE_REDUCE_SCATTER,
    EXCHANGE_ALL_TO_ALL,
    EXCHANGE_SEND_RECEIVE,
    EXCHANGE_PAIRS, /* NCCL's all-to-all, gather and scatter run the kernel of send and receive */
    EXCHANGE_BROADCAST,
    EXCHANGE_REDUCE,
    N_EXCHANGES
};

/* The kind with most time. */
struct exchange_share {
    enum exchange kind;
    double ratio; /* of the time of all whose kind is known */
};
/** exchange_of - by GPU traces (what they say of collectives, else names of kernels: one that serves all collectives
 *  says nothing, and one of sends and receives is what the trace's ranges say of the two), else names of communication
 * ranges in steps, else MPI calls. EXCHANGE_UNKNOWN when none says it; the trainer does nothing but all-reduce. Test:
 * tests/unit/test_narrate.c */
struct exchange_share exchange_of(const struct run_result *r);
/** exchange_word - "all-reduce", "send and receive"; "collective" of an unknown kind. */
const char *exchange_word(enum exchange k);
/** exchange_words - more of them: "all-reduces", "sends and receives", "collectives". */
const char *exchange_words(enum exchange k);
/** exchange_named - the kind that a name of a kernel, call or range says: "ncclDevKernel_SendRecv(...)",
 *  "MPI_Alltoall", "all_reduce"; waiting and starting calls say none. */
enum exchange exchange_named(const char *name);

/** is_gradient_exchange - are all-reduces most of the run's communication? Then it is said as the synchronisation of
 * gradients. */
int is_gradient_exchange(const struct run_result *r);

#endif
