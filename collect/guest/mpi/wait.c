/* wait.c - MPI's completion calls, interposed: the waiting time of the thread, and the end of operations in flight. A
 * test that finds nothing complete is not recorded, because programs poll by the million. */
#include "collect/guest/mpi/call.h"

/* Memory for the values that a completion call overwrites, and for statuses that the program ignores. For few requests
 * it is on the caller's stack, which may be small; else it is one of a few tables. */
enum { N_SMALL = 48, N_TABLES = 4 };
struct kept {
    int n;
    uintptr_t *requests;
    void *statuses;
    struct table *table;
    uintptr_t small_requests[N_SMALL];
    mpiabi_status_room small_statuses[N_SMALL];
};
static struct table {
    int is_taken;
    uintptr_t requests[FLIGHT_MAX];
    mpiabi_status_room statuses[FLIGHT_MAX];
} tables[N_TABLES];

static struct table *take_table(void)
{
    for (int i = 0; i < N_TABLES; i++)
        if (!__atomic_exchange_n(&tables[i].is_taken, 1, __ATOMIC_ACQUIRE))
            return &tables[i];
    return NULL;
}

/* Without a table the call is recorded, but the flights of its requests are not. */
static void keep(struct kept *k, int n, const void *requests)
{
    k->n = n;
    k->requests = k->small_requests;
    k->statuses = k->small_statuses;
    k->table = n > N_SMALL && n <= FLIGHT_MAX ? take_table() : NULL;
    if (k->table) {
        k->requests = k->table->requests;
        k->statuses = k->table->statuses;
    } else if (n > N_SMALL) {
        k->n = 0;
        flight_missed();
    }
    for (int i = 0; i < k->n; i++)
        k->requests[i] = mpiabi_handle_at(record_abi, requests, i);
}

static void drop(const struct kept *k)
{
    if (k->table)
        __atomic_store_n(&k->table->is_taken, 0, __ATOMIC_RELEASE);
}

static void *wanted_statuses(struct kept *k, void *statuses)
{
    return k->n ? record_status(statuses, k->statuses) : statuses;
}

static void complete_all(const struct kept *k, const void *statuses, int64_t end)
{
    for (int i = 0; i < k->n; i++)
        flight_complete(k->requests[i], mpiabi_status_at(record_abi, statuses, i), end);
}

/* indices: the complete requests, each with a status; n is MPI_UNDEFINED, which is below 0, if there was none. */
static void complete_some(const struct kept *k, int n, const int *indices, const void *statuses, int64_t end)
{
    for (int i = 0; i < n; i++)
        if (indices[i] >= 0 && indices[i] < k->n)
            flight_complete(k->requests[indices[i]], mpiabi_status_at(record_abi, statuses, i), end);
}

static void start_all(int n, const void *requests, int64_t start)
{
    for (int i = 0; i < n; i++)
        flight_start(mpiabi_handle_at(record_abi, requests, i), start);
}

#define COMPLETION(NAME, PARAMS, ARGS, PREPARE, IS_WORTH, AFTER) \
    CALL(NAME, PARAMS, ARGS, PREPARE, IS_WORTH, 0, 0, -1, P(AFTER))

#define KEEP_ONE                                                   \
    mpiabi_handle kept = mpiabi_handle_at(record_abi, request, 0); \
    mpiabi_status_room own;                                        \
    status = record_status(status, &own)
COMPLETION(Wait, (void *request, void *status), (request, status), KEEP_ONE, 1, flight_complete(kept, status, end))
COMPLETION(Test, (void *request, int *flag, void *status), (request, flag, status), KEEP_ONE, *flag,
           flight_complete(kept, status, end))

#define KEEP(STATUSES)                               \
    __attribute__((cleanup(drop))) struct kept kept; \
    keep(&kept, n, requests);                        \
    STATUSES = wanted_statuses(&kept, STATUSES)
COMPLETION(Waitall, (int n, void *requests, void *statuses), (n, requests, statuses), KEEP(statuses), 1,
           complete_all(&kept, statuses, end))
COMPLETION(Testall, (int n, void *requests, int *flag, void *statuses), (n, requests, flag, statuses), KEEP(statuses),
           *flag, complete_all(&kept, statuses, end))
COMPLETION(Waitsome, (int n, void *requests, int *n_out, int *indices, void *statuses),
           (n, requests, n_out, indices, statuses), KEEP(statuses), 1,
           complete_some(&kept, *n_out, indices, statuses, end))
COMPLETION(Testsome, (int n, void *requests, int *n_out, int *indices, void *statuses),
           (n, requests, n_out, indices, statuses), KEEP(statuses), *n_out > 0,
           complete_some(&kept, *n_out, indices, statuses, end))
COMPLETION(Waitany, (int n, void *requests, int *index, void *status), (n, requests, index, status), KEEP(status), 1,
           complete_some(&kept, 1, index, status, end))
COMPLETION(Testany, (int n, void *requests, int *index, int *flag, void *status), (n, requests, index, flag, status),
           KEEP(status), *flag, complete_some(&kept, 1, index, status, end))

/* ---- persistent requests ---------------------------------------------------------------------- */

COMPLETION(Start, (void *request), (request), , 1, start_all(1, request, start))
COMPLETION(Startall, (int n, void *requests), (n, requests), , 1, start_all(n, requests, start))
COMPLETION(Request_free, (void *request), (request), mpiabi_handle kept = mpiabi_handle_at(record_abi, request, 0), 1,
           flight_forget(kept))
