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
    double ratio; /* share of the time of all exchanges of known kind */
};
/** exchange_of - found from GPU traces, else from names of communication ranges in steps, else from MPI calls. GPU
 * traces give their collectives, else names of kernels: a kernel that serves all collectives tells nothing, and the
 * trace's ranges tell what a kernel of sends and receives was. EXCHANGE_UNKNOWN if nothing tells; the trainer only uses
 * all-reduce. Test: tests/unit/test_narrate.c */
struct exchange_share exchange_of(const struct run_result *r);
/** exchange_word - "all-reduce", "send and receive"; "collective" of an unknown kind. */
const char *exchange_word(enum exchange k);
/** exchange_words - plural: "all-reduces", "sends and receives", "collectives". */
const char *exchange_words(enum exchange k);
/** exchange_named - the kind that the name of a kernel, call or range gives: "ncclDevKernel_SendRecv(...)",
 *  "MPI_Alltoall", "all_reduce"; calls that wait or start give none. */
enum exchange exchange_named(const char *name);

/** is_gradient_exchange - are all-reduces most of the run's communication? Then the text calls it the synchronisation
 *  of gradients. */
int is_gradient_exchange(const struct run_result *r);

#endif
