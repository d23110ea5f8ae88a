/* flight.c - see flight.h. A table of fixed size. A thread owns a slot after it has written TAKEN over the slot's key,
 * so no thread waits and nothing is allocated. If a signal handler, a longjmp or a fork stops a thread there, one slot
 * stays unused. */
#include "collect/guest/mpi/flight.h"

#include "collect/guest/guest.h"

/* Number of slots, from its hash on, in which an operation may lie. */
enum { N_PROBES = 64 };
/* Keys that are not requests; results that are not slots. */
enum { FREE = 0, TAKEN = 1, NO_ROOM = -1, SHARED = -2 };

#define MISSED "not every non-blocking MPI operation was followed: too many were in flight at once"

struct flight {
    const char *name;
    int64_t start_ns; /* 0: persistent and not started */
    uint64_t bytes, payload;
    int flags;
};

static uintptr_t keys[FLIGHT_MAX]; /* requests */
static struct flight flights[FLIGHT_MAX];
static int is_missed;

static uint32_t first_slot(uintptr_t request)
{
    return (uint32_t)(request * UINT64_C(0x9e3779b97f4a7c15) >> 40);
}

void flight_missed(void)
{
    if (!__atomic_exchange_n(&is_missed, 1, __ATOMIC_RELAXED))
        dcc_guest_note(MISSED);
}

/* Takes the slot of a request, or a free one for a new request.
 *  returns  the slot. NO_ROOM if there is no such slot. SHARED if an earlier slot already has the new request */
static inline int take(uintptr_t request, int is_new)
{
    uint32_t first = first_slot(request);
    for (uint32_t i = 0; i < N_PROBES && request > TAKEN; i++) {
        uintptr_t *at = &keys[(first + i) & (FLIGHT_MAX - 1)], key = __atomic_load_n(at, __ATOMIC_RELAXED);
        if (is_new && key == request)
            return SHARED;
        if (key == (is_new ? FREE : request) &&
            __atomic_compare_exchange_n(at, &key, TAKEN, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return (int)(at - keys);
    }
    return NO_ROOM;
}

static void give(int slot, uintptr_t key)
{
    __atomic_store_n(&keys[slot], key, __ATOMIC_RELEASE);
}

static void put(const struct flight *f, int64_t end_ns)
{
    dcc_guest_span(DCC_MPI_IN_FLIGHT, f->name, f->start_ns, end_ns, f->bytes, f->payload);
}

/* MPI uses one request for all operations that were complete when their call returned. The flights of further ones with
 * this request end with the call. */
void flight_begin(const void *request, const char *name, int flags, int64_t start_ns, int64_t end_ns, uint64_t bytes,
                  mpiabi_handle comm, int peer)
{
    uintptr_t r = mpiabi_handle_at(record_abi, request, 0);
    struct flight f = {.name = name,
                       .start_ns = flags & FLIGHT_PERSISTENT ? 0 : start_ns,
                       .bytes = flags & FLIGHT_RECEIVE ? 0 : bytes,
                       .payload = record_payload(comm, peer),
                       .flags = flags};
    int slot = take(r, 1);
    if (slot >= 0) {
        flights[slot] = f;
        give(slot, r);
    } else if (slot == NO_ROOM) {
        flight_missed();
    } else if (f.start_ns) {
        put(&f, end_ns);
    }
}

void flight_start(mpiabi_handle request, int64_t start_ns)
{
    int slot = take(request, 0);
    if (slot < 0)
        return;
    flights[slot].start_ns = start_ns;
    give(slot, request);
}

void flight_complete(mpiabi_handle request, const void *status, int64_t end_ns)
{
    int slot = take(request, 0);
    if (slot < 0)
        return;
    struct flight f = flights[slot];
    int is_kept = f.flags & FLIGHT_PERSISTENT, source = mpiabi_source(record_abi, status);
    if (is_kept)
        flights[slot].start_ns = 0;
    give(slot, is_kept ? request : FREE);
    if ((f.flags & FLIGHT_RECEIVE) && source >= 0) {
        f.bytes = mpiabi_received(record_abi, status);
        f.payload = (f.payload & UINT32_MAX) | (uint64_t)(uint32_t)source << 32;
    }
    if (f.start_ns)
        put(&f, end_ns);
}

void flight_forget(mpiabi_handle request)
{
    int slot = take(request, 0);
    if (slot >= 0)
        give(slot, FREE);
}
