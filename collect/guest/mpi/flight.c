/* flight.c - see flight.h. A table of fixed size in which a slot belongs to the thread that has written TAKEN over its
 * key: nothing is waited for and nothing is allocated. A thread that a signal handler, a longjmp or a fork stops in
 * between leaves one slot unused. */
#include "collect/guest/mpi/flight.h"

#include "collect/guest/guest.h"

/* Slots from its own on in which an operation may lie. */
enum { N_PROBES = 64 };
/* Keys that are no request. */
enum { FREE = 0, TAKEN = 1 };

#define MISSED "not every non-blocking MPI operation was followed: too many were in flight at once"

struct flight {
    const char *name;
    int64_t start_ns; /* 0: persistent and not started */
    uint64_t bytes, payload;
    int flags;
};

static uintptr_t
    keys[FLIGHT_MAX]; /* a request, which several operations may share: MPI has one for those done at once */
static struct flight flights[FLIGHT_MAX];
static int is_missed;

void flight_missed(void)
{
    if (!__atomic_exchange_n(&is_missed, 1, __ATOMIC_RELAXED))
        dcc_guest_note(MISSED);
}

/* Takes a slot that has this key, for which the request says where to look. returns -1: there is none */
static int take(uintptr_t key, uintptr_t request)
{
    uint32_t first = (uint32_t)(request * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    for (uint32_t i = 0; i < N_PROBES; i++) {
        uintptr_t *at = &keys[(first + i) & (FLIGHT_MAX - 1)], expected = key;
        if (__atomic_load_n(at, __ATOMIC_RELAXED) == key &&
            __atomic_compare_exchange_n(at, &expected, TAKEN, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return (int)(at - keys);
    }
    return -1;
}

static void give(int slot, uintptr_t key)
{
    __atomic_store_n(&keys[slot], key, __ATOMIC_RELEASE);
}

void flight_begin(const void *request, const char *name, int flags, int64_t start_ns, uint64_t bytes,
                  mpiabi_handle comm, int peer)
{
    uintptr_t r = mpiabi_handle_at(record_abi, request, 0);
    uint64_t payload = record_payload(comm, peer);
    int slot = r > TAKEN ? take(FREE, r) : -1;
    if (slot < 0) {
        flight_missed();
        return;
    }
    flights[slot] = (struct flight){.name = name,
                                    .start_ns = flags & FLIGHT_PERSISTENT ? 0 : start_ns,
                                    .bytes = flags & FLIGHT_RECEIVE ? 0 : bytes,
                                    .payload = payload,
                                    .flags = flags};
    give(slot, r);
}

void flight_start(mpiabi_handle request, int64_t start_ns)
{
    int slot = request > TAKEN ? take(request, request) : -1;
    if (slot < 0)
        return;
    flights[slot].start_ns = start_ns;
    give(slot, request);
}

void flight_complete(mpiabi_handle request, const void *status, int64_t end_ns)
{
    int slot = request > TAKEN ? take(request, request) : -1;
    if (slot < 0)
        return;
    struct flight f = flights[slot];
    int is_kept = f.flags & FLIGHT_PERSISTENT;
    if (is_kept)
        flights[slot].start_ns = 0;
    give(slot, is_kept ? request : FREE);
    if (!f.start_ns)
        return;
    struct dcc_span span = {.domain = DCT_DOMAIN_MPI,
                            .category = DCT_IN_FLIGHT,
                            .name = f.name,
                            .start_ns = f.start_ns,
                            .end_ns = end_ns,
                            .bytes = f.bytes,
                            .payload_type = DCT_PAYLOAD_MPI,
                            .payload = f.payload};
    int source = mpiabi_source(record_abi, status);
    if ((f.flags & FLIGHT_RECEIVE) && source >= 0) {
        span.bytes = mpiabi_received(record_abi, status);
        span.payload = (span.payload & UINT32_MAX) | (uint64_t)(uint32_t)source << 32;
    }
    dcc_guest_span(&span);
}

void flight_forget(mpiabi_handle request)
{
    int slot = request > TAKEN ? take(request, request) : -1;
    if (slot >= 0)
        give(slot, FREE);
}
