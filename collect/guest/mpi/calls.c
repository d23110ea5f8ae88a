/* calls.c - MPI's communication calls, interposed. Both names of each are: C programs call MPI_<name>, Open MPI's
 * Fortran libraries (mpif.h, mpi and mpi_f08 alike) call PMPI_<name>. What a call puts in is its bytes: docs/FORMAT.md.
 * Waiting and testing are wait.c's. */
#include "collect/guest/mpi/record.h"

#define EXPORTED __attribute__((visibility("default")))
#define P(...) __VA_ARGS__

/* One name of a call: find the next library's function, pass on, or observe. */
#define ENTRANCE(PREFIX, NAME, PARAMS, ARGS)                          \
    EXPORTED int PREFIX##NAME(PARAMS);                                \
    int PREFIX##NAME(PARAMS)                                          \
    {                                                                 \
        static void *known;                                           \
        int (*next)(PARAMS);                                          \
        *(void **)&next = record_next(&known, #PREFIX #NAME);         \
        return next ? observed_##NAME(next, ARGS) : MPIABI_ERR_OTHER; \
    }

/* PREPARE runs before the call, BYTES and PEER are evaluated after it succeeded; AFTER then, with `start` and `bytes`.
 */
#define CALL(NAME, PARAMS, ARGS, PREPARE, BYTES, COMM, PEER, AFTER)                 \
    static int observed_##NAME(int (*next)(PARAMS), PARAMS)                         \
    {                                                                               \
        int64_t start;                                                              \
        if (!record_enter(&start))                                                  \
            return next(ARGS);                                                      \
        PREPARE;                                                                    \
        int rc = next(ARGS);                                                        \
        uint64_t bytes = rc == MPIABI_SUCCESS ? (BYTES) : 0;                        \
        if (rc == MPIABI_SUCCESS) {                                                 \
            AFTER;                                                                  \
        }                                                                           \
        record_leave("MPI_" #NAME, start, rc == MPIABI_SUCCESS, bytes, COMM, PEER); \
        return rc;                                                                  \
    }                                                                               \
    ENTRANCE(MPI_, NAME, P(PARAMS), P(ARGS))                                        \
    ENTRANCE(PMPI_, NAME, P(PARAMS), P(ARGS))

#define BLOCKING(NAME, PARAMS, ARGS, BYTES, COMM, PEER) CALL(NAME, P(PARAMS), P(ARGS), , BYTES, COMM, PEER, )
/* The call itself moves nothing that can be counted yet: the bytes are those of its flight. */
#define FLIGHT(NAME, PARAMS, ARGS, BYTES, COMM, PEER, FLAGS) \
    CALL(NAME, P(PARAMS), P(ARGS), , 0, COMM, PEER,          \
         record_begin(*request, "MPI_" #NAME, FLAGS, start, BYTES, comm, PEER))

typedef mpiabi_comm comm_t;
typedef mpiabi_type type_t;
typedef mpiabi_op op_t;
typedef mpiabi_request request_t;
typedef struct mpiabi_status status_t;

/* ---- begin and end ---------------------------------------------------------------------------- */

BLOCKING(Init, P(int *argc, char ***argv), P(argc, argv), 0, NULL, -1)
BLOCKING(Init_thread, P(int *argc, char ***argv, int required, int *provided), P(argc, argv, required, provided), 0,
         NULL, -1)

/* Finalize with an argument of its own: macros have no empty parameter list. MPI is gone after it. */
static int finalize(int (*next)(void))
{
    int64_t start;
    if (!record_enter(&start))
        return next();
    int rc = next();
    record_leave("MPI_Finalize", start, 1, 0, NULL, -1);
    return rc;
}
#define FINALIZE(NAME)                                   \
    EXPORTED int NAME(void);                             \
    int NAME(void)                                       \
    {                                                    \
        static void *known;                              \
        int (*next)(void);                               \
        *(void **)&next = record_next(&known, #NAME);    \
        return next ? finalize(next) : MPIABI_ERR_OTHER; \
    }
FINALIZE(MPI_Finalize)
FINALIZE(PMPI_Finalize)

/* ---- point to point --------------------------------------------------------------------------- */

#define SEND_PARAMS P(const void *buf, int count, type_t type, int dest, int tag, comm_t comm)
#define SEND_ARGS P(buf, count, type, dest, tag, comm)
#define COUNTED record_bytes((uint64_t)count, type)
BLOCKING(Send, SEND_PARAMS, SEND_ARGS, COUNTED, comm, dest)
BLOCKING(Bsend, SEND_PARAMS, SEND_ARGS, COUNTED, comm, dest)
BLOCKING(Ssend, SEND_PARAMS, SEND_ARGS, COUNTED, comm, dest)
BLOCKING(Rsend, SEND_PARAMS, SEND_ARGS, COUNTED, comm, dest)

#define ISEND_PARAMS P(SEND_PARAMS, request_t *request)
#define ISEND_ARGS P(SEND_ARGS, request)
FLIGHT(Isend, ISEND_PARAMS, ISEND_ARGS, COUNTED, comm, dest, RECORD_SEND)
FLIGHT(Ibsend, ISEND_PARAMS, ISEND_ARGS, COUNTED, comm, dest, RECORD_SEND)
FLIGHT(Issend, ISEND_PARAMS, ISEND_ARGS, COUNTED, comm, dest, RECORD_SEND)
FLIGHT(Irsend, ISEND_PARAMS, ISEND_ARGS, COUNTED, comm, dest, RECORD_SEND)
FLIGHT(Send_init, ISEND_PARAMS, ISEND_ARGS, COUNTED, comm, dest, RECORD_PERSISTENT)
FLIGHT(Bsend_init, ISEND_PARAMS, ISEND_ARGS, COUNTED, comm, dest, RECORD_PERSISTENT)
FLIGHT(Ssend_init, ISEND_PARAMS, ISEND_ARGS, COUNTED, comm, dest, RECORD_PERSISTENT)
FLIGHT(Rsend_init, ISEND_PARAMS, ISEND_ARGS, COUNTED, comm, dest, RECORD_PERSISTENT)

/* A program that ignores the status still tells us by ours what came from whom. */
#define OWN_STATUS                 \
    status_t own = {.source = -1}; \
    if (!status)                   \
    status = &own
CALL(Recv, P(void *buf, int count, type_t type, int source, int tag, comm_t comm, status_t *status),
     P(buf, count, type, source, tag, comm, status), OWN_STATUS, status->bytes, comm, status->source, )
CALL(Mrecv, P(void *buf, int count, type_t type, mpiabi_message *message, status_t *status),
     P(buf, count, type, message, status), OWN_STATUS, status->bytes, NULL, status->source, )
CALL(Probe, P(int source, int tag, comm_t comm, status_t *status), P(source, tag, comm, status), OWN_STATUS, 0, comm,
     status->source, )
CALL(Mprobe, P(int source, int tag, comm_t comm, mpiabi_message *message, status_t *status),
     P(source, tag, comm, message, status), OWN_STATUS, 0, comm, status->source, )
CALL(Sendrecv,
     P(const void *buf, int count, type_t type, int dest, int tag, void *rbuf, int rcount, type_t rtype, int source,
       int rtag, comm_t comm, status_t *status),
     P(buf, count, type, dest, tag, rbuf, rcount, rtype, source, rtag, comm, status), OWN_STATUS,
     COUNTED + status->bytes, comm, dest, )
CALL(Sendrecv_replace,
     P(void *buf, int count, type_t type, int dest, int tag, int source, int rtag, comm_t comm, status_t *status),
     P(buf, count, type, dest, tag, source, rtag, comm, status), OWN_STATUS, COUNTED + status->bytes, comm, dest, )

#define IRECV_PARAMS P(void *buf, int count, type_t type, int source, int tag, comm_t comm, request_t *request)
#define IRECV_ARGS P(buf, count, type, source, tag, comm, request)
FLIGHT(Irecv, IRECV_PARAMS, IRECV_ARGS, 0, comm, source, RECORD_RECEIVE)
FLIGHT(Recv_init, IRECV_PARAMS, IRECV_ARGS, 0, comm, source, RECORD_RECEIVE | RECORD_PERSISTENT)
CALL(Imrecv, P(void *buf, int count, type_t type, mpiabi_message *message, request_t *request),
     P(buf, count, type, message, request), , 0, NULL, -1,
     record_begin(*request, "MPI_Imrecv", RECORD_RECEIVE, start, 0, NULL, -1))

/* ---- collectives, each in its blocking and its non-blocking form ------------------------------ */

#define COLLECTIVE(NAME, INAME, PARAMS, ARGS, BYTES, ROOT) \
    BLOCKING(NAME, P(PARAMS), P(ARGS), BYTES, comm, ROOT)  \
    FLIGHT(INAME, P(PARAMS, request_t *request), P(ARGS, request), BYTES, comm, ROOT, RECORD_SEND)

#define IS_IN_PLACE(buffer) ((buffer) == MPIABI_IN_PLACE)
/* At the root of an inter-communicator (MPI_ROOT) and beside it (MPI_PROC_NULL) the other arguments mean nothing. */
#define ROOTED(bytes) (root < 0 ? 0 : (bytes))
#define SENT_OR_KEPT (IS_IN_PLACE(sbuf) ? record_bytes((uint64_t)rcount, rtype) : record_bytes((uint64_t)scount, stype))

COLLECTIVE(Barrier, Ibarrier, P(comm_t comm), P(comm), 0, -1)
COLLECTIVE(Bcast, Ibcast, P(void *buf, int count, type_t type, int root, comm_t comm), P(buf, count, type, root, comm),
           root == MPIABI_PROC_NULL ? 0 : COUNTED, root)
COLLECTIVE(Reduce, Ireduce, P(const void *sbuf, void *rbuf, int count, type_t type, op_t op, int root, comm_t comm),
           P(sbuf, rbuf, count, type, op, root, comm), ROOTED(COUNTED), root)
#define REDUCE_PARAMS P(const void *sbuf, void *rbuf, int count, type_t type, op_t op, comm_t comm)
#define REDUCE_ARGS P(sbuf, rbuf, count, type, op, comm)
COLLECTIVE(Allreduce, Iallreduce, REDUCE_PARAMS, REDUCE_ARGS, COUNTED, -1)
COLLECTIVE(Scan, Iscan, REDUCE_PARAMS, REDUCE_ARGS, COUNTED, -1)
COLLECTIVE(Exscan, Iexscan, REDUCE_PARAMS, REDUCE_ARGS, COUNTED, -1)
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, REDUCE_PARAMS, REDUCE_ARGS,
           COUNTED *(uint64_t)record_size(comm), -1)
COLLECTIVE(Reduce_scatter, Ireduce_scatter,
           P(const void *sbuf, void *rbuf, const int *counts, type_t type, op_t op, comm_t comm),
           P(sbuf, rbuf, counts, type, op, comm), record_sum(counts, type, comm), -1)

#define EACH_PARAMS P(const void *sbuf, int scount, type_t stype, void *rbuf, int rcount, type_t rtype)
#define EACH_ARGS P(sbuf, scount, stype, rbuf, rcount, rtype)
COLLECTIVE(Gather, Igather, P(EACH_PARAMS, int root, comm_t comm), P(EACH_ARGS, root, comm), ROOTED(SENT_OR_KEPT), root)
COLLECTIVE(Scatter, Iscatter, P(EACH_PARAMS, int root, comm_t comm), P(EACH_ARGS, root, comm),
           ROOTED(IS_IN_PLACE(rbuf) ? record_bytes((uint64_t)scount, stype) : record_bytes((uint64_t)rcount, rtype)),
           root)
COLLECTIVE(Allgather, Iallgather, P(EACH_PARAMS, comm_t comm), P(EACH_ARGS, comm), SENT_OR_KEPT, -1)
COLLECTIVE(Alltoall, Ialltoall, P(EACH_PARAMS, comm_t comm), P(EACH_ARGS, comm),
           SENT_OR_KEPT *(uint64_t)record_peers(comm), -1)
COLLECTIVE(Gatherv, Igatherv,
           P(const void *sbuf, int scount, type_t stype, void *rbuf, const int *rcounts, const int *displs,
             type_t rtype, int root, comm_t comm),
           P(sbuf, scount, stype, rbuf, rcounts, displs, rtype, root, comm),
           ROOTED(IS_IN_PLACE(sbuf) ? record_own(rcounts, rtype, comm) : record_bytes((uint64_t)scount, stype)), root)
COLLECTIVE(Scatterv, Iscatterv,
           P(const void *sbuf, const int *scounts, const int *displs, type_t stype, void *rbuf, int rcount,
             type_t rtype, int root, comm_t comm),
           P(sbuf, scounts, displs, stype, rbuf, rcount, rtype, root, comm),
           ROOTED(IS_IN_PLACE(rbuf) ? record_own(scounts, stype, comm) : record_bytes((uint64_t)rcount, rtype)), root)
COLLECTIVE(Allgatherv, Iallgatherv,
           P(const void *sbuf, int scount, type_t stype, void *rbuf, const int *rcounts, const int *displs,
             type_t rtype, comm_t comm),
           P(sbuf, scount, stype, rbuf, rcounts, displs, rtype, comm),
           IS_IN_PLACE(sbuf) ? record_own(rcounts, rtype, comm) : record_bytes((uint64_t)scount, stype), -1)
COLLECTIVE(Alltoallv, Ialltoallv,
           P(const void *sbuf, const int *scounts, const int *sdispls, type_t stype, void *rbuf, const int *rcounts,
             const int *rdispls, type_t rtype, comm_t comm),
           P(sbuf, scounts, sdispls, stype, rbuf, rcounts, rdispls, rtype, comm),
           IS_IN_PLACE(sbuf) ? record_sum(rcounts, rtype, comm) : record_sum(scounts, stype, comm), -1)
COLLECTIVE(Alltoallw, Ialltoallw,
           P(const void *sbuf, const int *scounts, const int *sdispls, const type_t *stypes, void *rbuf,
             const int *rcounts, const int *rdispls, const type_t *rtypes, comm_t comm),
           P(sbuf, scounts, sdispls, stypes, rbuf, rcounts, rdispls, rtypes, comm),
           IS_IN_PLACE(sbuf) ? record_sum_types(rcounts, rtypes, comm) : record_sum_types(scounts, stypes, comm), -1)
COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, P(EACH_PARAMS, comm_t comm), P(EACH_ARGS, comm),
           record_bytes((uint64_t)scount, stype), -1)
COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, P(EACH_PARAMS, comm_t comm), P(EACH_ARGS, comm),
           record_bytes((uint64_t)scount, stype), -1)

/* ---- communicators: collective too, and often where a job waits -------------------------------- */

BLOCKING(Comm_dup, P(comm_t comm, comm_t *out), P(comm, out), 0, comm, -1)
BLOCKING(Comm_split, P(comm_t comm, int color, int key, comm_t *out), P(comm, color, key, out), 0, comm, -1)
