/* wait.c - MPI's completion calls, interposed: the time that the thread waits, and the end of operations in flight. A
 * test that finds nothing complete is not recorded: programs poll by the million. */
#include "collect/guest/mpi/record.h"

#define EXPORTED __attribute__((visibility("default")))
#define P(...) __VA_ARGS__
/* Requests of one call that are followed; beyond, the call is recorded and the flights of its requests are not. */
#define MAX_AT_ONCE 1024

typedef mpiabi_request request_t;
typedef struct mpiabi_status status_t;

#define ENTRANCE(PREFIX, NAME, PARAMS, ARGS)                          \
    EXPORTED int PREFIX##NAME(PARAMS);                                \
    int PREFIX##NAME(PARAMS)                                          \
    {                                                                 \
        static void *known;                                           \
        int (*next)(PARAMS);                                          \
        *(void **)&next = record_next(&known, #PREFIX #NAME);         \
        return next ? observed_##NAME(next, ARGS) : MPIABI_ERR_OTHER; \
    }
/* BEFORE keeps what the call will overwrite; IS_DONE says whether it completed anything; COMPLETE tells which. */
#define CALL(NAME, PARAMS, ARGS, BEFORE, IS_DONE, COMPLETE)      \
    static int observed_##NAME(int (*next)(PARAMS), PARAMS)      \
    {                                                            \
        int64_t start;                                           \
        if (!record_enter(&start))                               \
            return next(ARGS);                                   \
        BEFORE;                                                  \
        int rc = next(ARGS);                                     \
        int is_done = rc == MPIABI_SUCCESS && (IS_DONE);         \
        if (is_done) {                                           \
            COMPLETE;                                            \
        }                                                        \
        record_leave("MPI_" #NAME, start, is_done, 0, NULL, -1); \
        return rc;                                               \
    }                                                            \
    ENTRANCE(MPI_, NAME, P(PARAMS), P(ARGS))                     \
    ENTRANCE(PMPI_, NAME, P(PARAMS), P(ARGS))

#define KEEP_ONE                   \
    request_t kept = *request;     \
    status_t own = {.source = -1}; \
    if (!status)                   \
    status = &own

CALL(Wait, P(request_t *request, status_t *status), P(request, status), KEEP_ONE, 1, record_complete(kept, status))
CALL(Test, P(request_t *request, int *flag, status_t *status), P(request, flag, status), KEEP_ONE, *flag,
     record_complete(kept, status))

/* Copies of the requests, which the call sets to null, and statuses of our own where the program wants none. */
struct kept {
    request_t request[MAX_AT_ONCE];
    status_t status[MAX_AT_ONCE];
};

static int keep(struct kept *k, int n, const request_t *requests)
{
    if (n > MAX_AT_ONCE)
        return 0;
    for (int i = 0; i < n; i++)
        k->request[i] = requests[i];
    return n;
}

static void complete_all(const struct kept *k, int n, const status_t *statuses)
{
    for (int i = 0; i < n; i++)
        record_complete(k->request[i], statuses ? &statuses[i] : NULL);
}

static void complete_some(const struct kept *k, int n_kept, int n, const int *indices, const status_t *statuses)
{
    for (int i = 0; i < n; i++)
        if (indices[i] >= 0 && indices[i] < n_kept)
            record_complete(k->request[indices[i]], statuses ? &statuses[i] : NULL);
}

#define KEEP_ALL                           \
    struct kept kept;                      \
    int n_kept = keep(&kept, n, requests); \
    if (!statuses && n_kept)               \
    statuses = kept.status

CALL(Waitall, P(int n, request_t *requests, status_t *statuses), P(n, requests, statuses), KEEP_ALL, 1,
     complete_all(&kept, n_kept, statuses))
CALL(Testall, P(int n, request_t *requests, int *flag, status_t *statuses), P(n, requests, flag, statuses), KEEP_ALL,
     *flag, complete_all(&kept, n_kept, statuses))
CALL(Waitsome, P(int n, request_t *requests, int *n_out, int *indices, status_t *statuses),
     P(n, requests, n_out, indices, statuses), KEEP_ALL, 1, complete_some(&kept, n_kept, *n_out, indices, statuses))
CALL(Testsome, P(int n, request_t *requests, int *n_out, int *indices, status_t *statuses),
     P(n, requests, n_out, indices, statuses), KEEP_ALL, *n_out > 0,
     complete_some(&kept, n_kept, *n_out, indices, statuses))

#define KEEP_ANY                           \
    struct kept kept;                      \
    int n_kept = keep(&kept, n, requests); \
    if (!status)                           \
    status = kept.status
CALL(Waitany, P(int n, request_t *requests, int *index, status_t *status), P(n, requests, index, status), KEEP_ANY, 1,
     complete_some(&kept, n_kept, 1, index, status))
CALL(Testany, P(int n, request_t *requests, int *index, int *flag, status_t *status),
     P(n, requests, index, flag, status), KEEP_ANY, *flag, complete_some(&kept, n_kept, 1, index, status))

/* ---- persistent requests ---------------------------------------------------------------------- */

static void start_all(int n, const request_t *requests, int64_t start_ns)
{
    for (int i = 0; i < n; i++)
        record_start(requests[i], start_ns);
}

CALL(Start, P(request_t *request), P(request), , 1, record_start(*request, start))
CALL(Startall, P(int n, request_t *requests), P(n, requests), , 1, start_all(n, requests, start))
CALL(Request_free, P(request_t *request), P(request), request_t kept = *request, 1, record_forget(kept))
