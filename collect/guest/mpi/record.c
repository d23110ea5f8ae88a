/* record.c - see record.h. */
#include "collect/guest/mpi/record.h"

#include "collect/guest/guest.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

enum { UNKNOWN = 0, OBSERVED, NOT_OBSERVED };
enum { N_REQUESTS = 1 << 14, MAX_REQUESTS = N_REQUESTS / 2 };

#define NOT_OPEN_MPI "MPI calls are not recorded: this program's MPI is not an Open MPI (it has no ompi_mpi_comm_world)"
#define TOO_MANY "not every non-blocking MPI operation was followed: more than 8192 were in flight at once"

static int state;
static void *known_type_size, *known_comm_size, *known_comm_rank, *known_test_inter, *known_remote_size;
static __thread int depth __attribute__((tls_model("initial-exec")));

/* ---- the program's MPI ------------------------------------------------------------------------ */

static int is_mpi(struct dl_phdr_info *info, size_t size, void *out)
{
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    (void)size;
    if (!slash || strncmp(slash + 1, "libmpi.so", 9) != 0)
        return 0;
    *(const char **)out = info->dlpi_name;
    return 1;
}

/* MPI that was opened by dlopen (a Python module's, say) lies outside the scope that RTLD_NEXT searches. */
static void *find(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);
    const char *path = NULL;
    if (f || !dl_iterate_phdr(is_mpi, (void *)&path))
        return f;
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return NULL;
    f = dlsym(library, name);
    dlclose(library); /* the program's own reference stays */
    return f;
}

void *record_next(void **known, const char *name)
{
    void *f = __atomic_load_n(known, __ATOMIC_ACQUIRE);
    if (!f) {
        f = find(name);
        __atomic_store_n(known, f, __ATOMIC_RELEASE);
    }
    return f;
}

static int decide(void)
{
    int now = NOT_OBSERVED;
    if (dcc_guest_is_wanted()) {
        now = find("ompi_mpi_comm_world") ? OBSERVED : NOT_OBSERVED;
        if (now == NOT_OBSERVED)
            dcc_guest_note(NOT_OPEN_MPI);
    }
    __atomic_store_n(&state, now, __ATOMIC_RELEASE);
    return now;
}

int record_enter(int64_t *start_ns)
{
    if (depth)
        return 0;
    int now = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
    if (now == UNKNOWN)
        now = decide();
    if (now != OBSERVED)
        return 0;
    depth = 1;
    *start_ns = dcc_guest_now();
    return 1;
}

static uint64_t mpi_payload(mpiabi_comm comm, int peer)
{
    uint32_t size = comm ? (uint32_t)record_size(comm) : 0;
    return size | (uint64_t)(uint32_t)(peer >= 0 ? peer : -1) << 32;
}

void record_leave(const char *name, int64_t start_ns, int is_worth, uint64_t bytes, mpiabi_comm comm, int peer)
{
    struct dcc_span span = {.domain = DCT_DOMAIN_MPI,
                            .category = "comm",
                            .name = name,
                            .start_ns = start_ns,
                            .bytes = bytes,
                            .payload_type = DCT_PAYLOAD_MPI};
    if (is_worth) {
        span.end_ns = dcc_guest_now();
        span.payload = mpi_payload(comm, peer);
        dcc_guest_span(&span);
    }
    depth = 0;
}

/* ---- bytes ------------------------------------------------------------------------------------ */

uint64_t record_bytes(uint64_t count, mpiabi_type type)
{
    int (*type_size)(mpiabi_type, int *);
    int size = 0;
    *(void **)&type_size = record_next(&known_type_size, "PMPI_Type_size");
    /* The type of nothing may be no type at all. */
    if (!count || !type_size || type_size(type, &size) != MPIABI_SUCCESS || size < 0)
        return 0;
    return count * (uint64_t)size;
}

static int ask(void **known, const char *name, mpiabi_comm comm)
{
    int (*f)(mpiabi_comm, int *);
    int answer = 0;
    *(void **)&f = record_next(known, name);
    return f && f(comm, &answer) == MPIABI_SUCCESS ? answer : 0;
}

int record_size(mpiabi_comm comm)
{
    return ask(&known_comm_size, "PMPI_Comm_size", comm);
}

int record_peers(mpiabi_comm comm)
{
    if (ask(&known_test_inter, "PMPI_Comm_test_inter", comm))
        return ask(&known_remote_size, "PMPI_Comm_remote_size", comm);
    return record_size(comm);
}

uint64_t record_sum(const int *counts, mpiabi_type type, mpiabi_comm comm)
{
    uint64_t sum = 0;
    for (int i = 0, n = counts ? record_peers(comm) : 0; i < n; i++)
        sum += (uint64_t)counts[i];
    return record_bytes(sum, type);
}

uint64_t record_sum_types(const int *counts, const mpiabi_type *types, mpiabi_comm comm)
{
    uint64_t sum = 0;
    for (int i = 0, n = counts && types ? record_peers(comm) : 0; i < n; i++)
        sum += record_bytes((uint64_t)counts[i], types[i]);
    return sum;
}

uint64_t record_own(const int *counts, mpiabi_type type, mpiabi_comm comm)
{
    int rank = ask(&known_comm_rank, "PMPI_Comm_rank", comm);
    return counts ? record_bytes((uint64_t)counts[rank], type) : 0;
}

/* ---- operations in flight --------------------------------------------------------------------- */

struct operation {
    mpiabi_request request; /* NULL = free */
    const char *name;
    int64_t start_ns; /* 0: persistent and not started */
    uint64_t bytes, payload;
    int flags;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct operation *table; /* [N_REQUESTS], open addressing */
static int n_operations, is_overflow_noted;

static uint32_t slot_of(mpiabi_request r)
{
    uint32_t i = (uint32_t)(((uintptr_t)r >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (N_REQUESTS - 1);
    while (table[i].request && table[i].request != r)
        i = (i + 1) & (N_REQUESTS - 1);
    return i;
}

static void remove_at(uint32_t hole)
{
    table[hole].request = NULL;
    n_operations--;
    for (uint32_t i = (hole + 1) & (N_REQUESTS - 1); table[i].request; i = (i + 1) & (N_REQUESTS - 1)) {
        struct operation o = table[i];
        table[i].request = NULL;
        table[slot_of(o.request)] = o;
    }
}

static int have_table(void)
{
    if (!table) {
        void *p = mmap(NULL, N_REQUESTS * sizeof *table, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        table = p == MAP_FAILED ? NULL : p;
    }
    return table != NULL;
}

void record_begin(mpiabi_request r, const char *name, int flags, int64_t start_ns, uint64_t bytes, mpiabi_comm comm,
                  int peer)
{
    struct operation o = {.request = r,
                          .name = name,
                          .start_ns = flags & RECORD_PERSISTENT ? 0 : start_ns,
                          .bytes = flags & RECORD_RECEIVE ? 0 : bytes,
                          .payload = mpi_payload(comm, peer),
                          .flags = flags};
    int is_full = 0;
    if (!r)
        return;
    pthread_mutex_lock(&lock);
    if (have_table()) {
        uint32_t i = slot_of(r);
        is_full = !table[i].request && n_operations >= MAX_REQUESTS;
        if (!is_full) {
            n_operations += !table[i].request; /* a known one was completed out of our sight */
            table[i] = o;
        }
    }
    is_full = is_full && !is_overflow_noted++;
    pthread_mutex_unlock(&lock);
    if (is_full)
        dcc_guest_note(TOO_MANY);
}

void record_start(mpiabi_request r, int64_t start_ns)
{
    pthread_mutex_lock(&lock);
    if (table) {
        struct operation *o = &table[slot_of(r)];
        if (o->request)
            o->start_ns = start_ns;
    }
    pthread_mutex_unlock(&lock);
}

void record_complete(mpiabi_request r, const struct mpiabi_status *status)
{
    struct operation o = {0};
    if (!r)
        return;
    pthread_mutex_lock(&lock);
    if (table) {
        uint32_t i = slot_of(r);
        o = table[i];
        if (o.request && (o.flags & RECORD_PERSISTENT))
            table[i].start_ns = 0;
        else if (o.request)
            remove_at(i);
    }
    pthread_mutex_unlock(&lock);
    if (!o.request || !o.start_ns)
        return;
    struct dcc_span span = {.domain = DCT_DOMAIN_MPI,
                            .category = DCT_IN_FLIGHT,
                            .name = o.name,
                            .start_ns = o.start_ns,
                            .end_ns = dcc_guest_now(),
                            .bytes = o.bytes,
                            .payload_type = DCT_PAYLOAD_MPI,
                            .payload = o.payload};
    if ((o.flags & RECORD_RECEIVE) && status && status->source >= 0) {
        span.bytes = status->bytes;
        span.payload = (span.payload & UINT32_MAX) | (uint64_t)(uint32_t)status->source << 32;
    }
    dcc_guest_span(&span);
}

void record_forget(mpiabi_request r)
{
    pthread_mutex_lock(&lock);
    if (table && r) {
        uint32_t i = slot_of(r);
        if (table[i].request)
            remove_at(i);
    }
    pthread_mutex_unlock(&lock);
}
