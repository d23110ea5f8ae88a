/* calls.c - MPI's communication calls, interposed. Each has a row: its parameters and the bytes that the call sends
 * (docs/FORMAT.md). Waiting and testing are in wait.c. Functions whose name ends in _c are left out, because a program
 * that checks whether its MPI has them would find ours. */
#include "collect/guest/mpi/call.h"

#define BLOCKING(NAME, PARAMS, ARGS, BYTES, COMM, PEER) CALL(NAME, (PARAMS), (ARGS), , 1, P(BYTES), COMM, PEER, )
/* The call itself has no bytes to count yet: they belong to its flight. */
#define FLIGHT(NAME, PARAMS, ARGS, BYTES, COMM, PEER, FLAGS)                 \
    CALL(NAME, (PARAMS, void *request), (ARGS, request), , 1, 0, COMM, PEER, \
         P(flight_begin(request, "MPI_" #NAME, FLAGS, start, end, BYTES, COMM, PEER)))
/* The status is the last parameter. If the program ignores it, our own status tells source and size. */
#define RECEIVE(NAME, PARAMS, ARGS, BYTES, COMM, PEER) \
    CALL(NAME, (PARAMS, void *status), (ARGS, status), OWN_STATUS, 1, P(BYTES), COMM, PEER, )
#define OWN_STATUS          \
    mpiabi_status_room own; \
    status = record_status(status, &own)
#define RECEIVED mpiabi_received(record_abi, status)
#define SOURCE mpiabi_source(record_abi, status)
#define COLLECTIVE(NAME, INAME, PARAMS, ARGS, BYTES, ROOT)   \
    BLOCKING(NAME, P(PARAMS), P(ARGS), P(BYTES), comm, ROOT) \
    FLIGHT(INAME, P(PARAMS), P(ARGS), P(BYTES), comm, ROOT, FLIGHT_SEND)

#define SEND_PARAMS const void *buf, int count, handle_t type, int dest, int tag, handle_t comm
#define SEND_ARGS buf, count, type, dest, tag, comm
#define RECV_PARAMS void *buf, int count, handle_t type, int source, int tag, handle_t comm
#define RECV_ARGS buf, count, type, source, tag, comm
#define REDUCE_PARAMS const void *sbuf, void *rbuf, int count, handle_t type, handle_t op, handle_t comm
#define REDUCE_ARGS sbuf, rbuf, count, type, op, comm
#define EACH_PARAMS const void *sbuf, int scount, handle_t stype, void *rbuf, int rcount, handle_t rtype
#define EACH_ARGS sbuf, scount, stype, rbuf, rcount, rtype

#define COUNTED record_bytes(count, type)
/* Nothing is sent to MPI_PROC_NULL, the missing neighbour at the edge of a grid. */
#define SENT (dest == record_abi->proc_null ? 0 : COUNTED)
/* In an inter-communicator, the other arguments mean nothing on ranks that pass MPI_ROOT or MPI_PROC_NULL. */
#define ROOTED(BYTES) (root < 0 ? 0 : (BYTES))
#define SENT_OR_KEPT (record_is_in_place(sbuf) ? record_bytes(rcount, rtype) : record_bytes(scount, stype))

/* ---- begin and end ---------------------------------------------------------------------------- */

BLOCKING(Init, P(int *argc, char ***argv), P(argc, argv), 0, 0, -1)
BLOCKING(Init_thread, P(int *argc, char ***argv, int required, int *provided), P(argc, argv, required, provided), 0, 0,
         -1)
BLOCKING(Finalize, void, , 0, 0, -1)

/* ---- point to point --------------------------------------------------------------------------- */

BLOCKING(Send, P(SEND_PARAMS), P(SEND_ARGS), SENT, comm, dest)
BLOCKING(Bsend, P(SEND_PARAMS), P(SEND_ARGS), SENT, comm, dest)
BLOCKING(Ssend, P(SEND_PARAMS), P(SEND_ARGS), SENT, comm, dest)
BLOCKING(Rsend, P(SEND_PARAMS), P(SEND_ARGS), SENT, comm, dest)
FLIGHT(Isend, P(SEND_PARAMS), P(SEND_ARGS), SENT, comm, dest, FLIGHT_SEND)
FLIGHT(Ibsend, P(SEND_PARAMS), P(SEND_ARGS), SENT, comm, dest, FLIGHT_SEND)
FLIGHT(Issend, P(SEND_PARAMS), P(SEND_ARGS), SENT, comm, dest, FLIGHT_SEND)
FLIGHT(Irsend, P(SEND_PARAMS), P(SEND_ARGS), SENT, comm, dest, FLIGHT_SEND)
FLIGHT(Send_init, P(SEND_PARAMS), P(SEND_ARGS), SENT, comm, dest, FLIGHT_PERSISTENT)
FLIGHT(Bsend_init, P(SEND_PARAMS), P(SEND_ARGS), SENT, comm, dest, FLIGHT_PERSISTENT)
FLIGHT(Ssend_init, P(SEND_PARAMS), P(SEND_ARGS), SENT, comm, dest, FLIGHT_PERSISTENT)
FLIGHT(Rsend_init, P(SEND_PARAMS), P(SEND_ARGS), SENT, comm, dest, FLIGHT_PERSISTENT)
FLIGHT(Irecv, P(RECV_PARAMS), P(RECV_ARGS), 0, comm, source, FLIGHT_RECEIVE)
FLIGHT(Recv_init, P(RECV_PARAMS), P(RECV_ARGS), 0, comm, source, FLIGHT_RECEIVE | FLIGHT_PERSISTENT)
FLIGHT(Imrecv, P(void *buf, int count, handle_t type, void *message), P(buf, count, type, message), 0, 0, -1,
       FLIGHT_RECEIVE)
RECEIVE(Recv, P(RECV_PARAMS), P(RECV_ARGS), RECEIVED, comm, SOURCE)
RECEIVE(Mrecv, P(void *buf, int count, handle_t type, void *message), P(buf, count, type, message), RECEIVED, 0, SOURCE)
RECEIVE(Sendrecv,
        P(const void *buf, int count, handle_t type, int dest, int tag, void *rbuf, int rcount, handle_t rtype,
          int source, int rtag, handle_t comm),
        P(buf, count, type, dest, tag, rbuf, rcount, rtype, source, rtag, comm), SENT + RECEIVED, comm, dest)
RECEIVE(Sendrecv_replace,
        P(void *buf, int count, handle_t type, int dest, int tag, int source, int rtag, handle_t comm),
        P(buf, count, type, dest, tag, source, rtag, comm), SENT + RECEIVED, comm, dest)
RECEIVE(Probe, P(int source, int tag, handle_t comm), P(source, tag, comm), 0, comm, SOURCE)
RECEIVE(Mprobe, P(int source, int tag, handle_t comm, void *message), P(source, tag, comm, message), 0, comm, SOURCE)

/* ---- collectives, each in its blocking and its non-blocking form ------------------------------ */

COLLECTIVE(Barrier, Ibarrier, P(handle_t comm), P(comm), 0, -1)
COLLECTIVE(Bcast, Ibcast, P(void *buf, int count, handle_t type, int root, handle_t comm),
           P(buf, count, type, root, comm), root == record_abi->proc_null ? 0 : COUNTED, root)
COLLECTIVE(Reduce, Ireduce,
           P(const void *sbuf, void *rbuf, int count, handle_t type, handle_t op, int root, handle_t comm),
           P(sbuf, rbuf, count, type, op, root, comm), ROOTED(COUNTED), root)
COLLECTIVE(Allreduce, Iallreduce, P(REDUCE_PARAMS), P(REDUCE_ARGS), COUNTED, -1)
COLLECTIVE(Scan, Iscan, P(REDUCE_PARAMS), P(REDUCE_ARGS), COUNTED, -1)
COLLECTIVE(Exscan, Iexscan, P(REDUCE_PARAMS), P(REDUCE_ARGS), COUNTED, -1)
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, P(REDUCE_PARAMS), P(REDUCE_ARGS),
           COUNTED *(uint64_t)record_size(comm), -1)
COLLECTIVE(Reduce_scatter, Ireduce_scatter,
           P(const void *sbuf, void *rbuf, const int *counts, handle_t type, handle_t op, handle_t comm),
           P(sbuf, rbuf, counts, type, op, comm), record_sum(counts, type, comm), -1)
COLLECTIVE(Gather, Igather, P(EACH_PARAMS, int root, handle_t comm), P(EACH_ARGS, root, comm), ROOTED(SENT_OR_KEPT),
           root)
COLLECTIVE(Scatter, Iscatter, P(EACH_PARAMS, int root, handle_t comm), P(EACH_ARGS, root, comm),
           ROOTED(record_is_in_place(rbuf) ? record_bytes(scount, stype) : record_bytes(rcount, rtype)), root)
COLLECTIVE(Allgather, Iallgather, P(EACH_PARAMS, handle_t comm), P(EACH_ARGS, comm), SENT_OR_KEPT, -1)
COLLECTIVE(Alltoall, Ialltoall, P(EACH_PARAMS, handle_t comm), P(EACH_ARGS, comm),
           SENT_OR_KEPT *(uint64_t)record_peers(comm), -1)
COLLECTIVE(Gatherv, Igatherv,
           P(const void *sbuf, int scount, handle_t stype, void *rbuf, const int *rcounts, const int *displs,
             handle_t rtype, int root, handle_t comm),
           P(sbuf, scount, stype, rbuf, rcounts, displs, rtype, root, comm),
           ROOTED(record_is_in_place(sbuf) ? record_own(rcounts, rtype, comm) : record_bytes(scount, stype)), root)
COLLECTIVE(Scatterv, Iscatterv,
           P(const void *sbuf, const int *scounts, const int *displs, handle_t stype, void *rbuf, int rcount,
             handle_t rtype, int root, handle_t comm),
           P(sbuf, scounts, displs, stype, rbuf, rcount, rtype, root, comm),
           ROOTED(record_is_in_place(rbuf) ? record_own(scounts, stype, comm) : record_bytes(rcount, rtype)), root)
COLLECTIVE(Allgatherv, Iallgatherv,
           P(const void *sbuf, int scount, handle_t stype, void *rbuf, const int *rcounts, const int *displs,
             handle_t rtype, handle_t comm),
           P(sbuf, scount, stype, rbuf, rcounts, displs, rtype, comm),
           record_is_in_place(sbuf) ? record_own(rcounts, rtype, comm) : record_bytes(scount, stype), -1)
COLLECTIVE(Alltoallv, Ialltoallv,
           P(const void *sbuf, const int *scounts, const int *sdispls, handle_t stype, void *rbuf, const int *rcounts,
             const int *rdispls, handle_t rtype, handle_t comm),
           P(sbuf, scounts, sdispls, stype, rbuf, rcounts, rdispls, rtype, comm),
           record_is_in_place(sbuf) ? record_sum(rcounts, rtype, comm) : record_sum(scounts, stype, comm), -1)
COLLECTIVE(Alltoallw, Ialltoallw,
           P(const void *sbuf, const int *scounts, const int *sdispls, const void *stypes, void *rbuf,
             const int *rcounts, const int *rdispls, const void *rtypes, handle_t comm),
           P(sbuf, scounts, sdispls, stypes, rbuf, rcounts, rdispls, rtypes, comm),
           record_is_in_place(sbuf) ? record_sum_types(rcounts, rtypes, comm) : record_sum_types(scounts, stypes, comm),
           -1)
COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, P(EACH_PARAMS, handle_t comm), P(EACH_ARGS, comm),
           record_bytes(scount, stype), -1)
COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, P(EACH_PARAMS, handle_t comm), P(EACH_ARGS, comm),
           record_bytes(scount, stype), -1)

/* Also collective, and a frequent place of waiting. */
BLOCKING(Comm_dup, P(handle_t comm, void *out), P(comm, out), 0, comm, -1)
BLOCKING(Comm_split, P(handle_t comm, int color, int key, void *out), P(comm, color, key, out), 0, comm, -1)
