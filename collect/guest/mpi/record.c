/* record.c - see record.h. */
#include "collect/guest/mpi/record.h"

#include "collect/guest/guest.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#define UNKNOWN_MPI \
    "MPI calls are not recorded: this program's MPI follows neither Open MPI's binary interface nor MPICH's"

static const struct mpiabi not_observed;
const struct mpiabi *record_abi; /* NULL: not known yet */
static void *known_type_size, *known_comm_size, *known_comm_rank, *known_test_inter, *known_remote_size;
/* Stack address of the thread's outermost observed call; 0: none. */
static __thread uintptr_t outermost __attribute__((tls_model("initial-exec")));

/* ---- the program's MPI ------------------------------------------------------------------------ */

struct libraries {
    const char *paths[8];
    int n;
};

/* libmpi.so (Open MPI, Intel MPI), libmpich.so, libmpi_cray.so and the like. */
static int is_mpi(struct dl_phdr_info *info, size_t size, void *out)
{
    struct libraries *l = out;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    (void)size;
    if (slash && (strncmp(slash + 1, "libmpi.", 7) == 0 || strncmp(slash + 1, "libmpi_", 7) == 0 ||
                  strncmp(slash + 1, "libmpich.", 9) == 0))
        l->paths[l->n++] = info->dlpi_name;
    return l->n == sizeof l->paths / sizeof *l->paths;
}

/* MPI that was opened by dlopen (by a Python module, for example) lies outside the scope that RTLD_NEXT searches. */
static void *find(const char *name)
{
    struct libraries l = {.n = 0};
    void *f = dlsym(RTLD_NEXT, name);
    if (!f)
        dl_iterate_phdr(is_mpi, &l);
    for (int i = 0; i < l.n && !f; i++) {
        void *library = dlopen(l.paths[i], RTLD_LAZY | RTLD_NOLOAD);
        if (!library)
            continue;
        f = dlsym(library, name);
        dlclose(library); /* the program still holds its own reference */
    }
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

/* Threads that arrive together come to the same answer, and one of them writes the note. */
static __attribute__((noinline)) const struct mpiabi *decide(void)
{
    const struct mpiabi *now = &not_observed, *before = NULL;
    int is_wanted = dcc_guest_is_wanted();
    if (is_wanted && find(mpiabi_open_mpi.symbol))
        now = &mpiabi_open_mpi;
    else if (is_wanted && find(mpiabi_mpich.symbol))
        now = &mpiabi_mpich;
    if (__atomic_compare_exchange_n(&record_abi, &before, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) && is_wanted &&
        now == &not_observed)
        dcc_guest_note(UNKNOWN_MPI);
    return now;
}

/* An inner call lies below the outer one on the stack. If it does not, a longjmp left the observed call. */
int record_enter(int64_t *start_ns)
{
    uintptr_t here = (uintptr_t)start_ns;
    if (outermost && here < outermost)
        return 0;
    const struct mpiabi *abi = __atomic_load_n(&record_abi, __ATOMIC_RELAXED);
    if (!abi)
        abi = decide();
    if (abi == &not_observed)
        return 0;
    outermost = here;
    *start_ns = dcc_guest_now();
    return 1;
}

void record_leave(void)
{
    outermost = 0;
}

uint64_t record_payload(mpiabi_handle comm, int peer)
{
    uint32_t size = comm ? (uint32_t)record_size(comm) : 0;
    return size | (uint64_t)(uint32_t)(peer >= 0 ? peer : -1) << 32;
}

void record_call(const char *name, int64_t start_ns, int64_t end_ns, uint64_t bytes, mpiabi_handle comm, int peer)
{
    dcc_guest_span(DCC_MPI_CALL, name, start_ns, end_ns, bytes, record_payload(comm, peer));
}

/* ---- bytes ------------------------------------------------------------------------------------ */

/* Calls an MPI function that returns an int for a handle. */
static int ask(void **known, const char *name, mpiabi_handle of)
{
    int (*f)(mpiabi_handle, int *);
    int answer = 0;
    *(void **)&f = record_next(known, name);
    return f && f(of, &answer) == MPIABI_SUCCESS && answer > 0 ? answer : 0;
}

/* If the count is 0, the type may be invalid. */
uint64_t record_bytes(int64_t count, mpiabi_handle type)
{
    return count > 0 ? (uint64_t)count * (uint64_t)ask(&known_type_size, "PMPI_Type_size", type) : 0;
}

int record_size(mpiabi_handle comm)
{
    return ask(&known_comm_size, "PMPI_Comm_size", comm);
}

int record_peers(mpiabi_handle comm)
{
    if (ask(&known_test_inter, "PMPI_Comm_test_inter", comm))
        return ask(&known_remote_size, "PMPI_Comm_remote_size", comm);
    return record_size(comm);
}

uint64_t record_sum(const int *counts, mpiabi_handle type, mpiabi_handle comm)
{
    int64_t sum = 0;
    for (int i = 0, n = counts ? record_peers(comm) : 0; i < n; i++)
        sum += counts[i];
    return record_bytes(sum, type);
}

uint64_t record_sum_types(const int *counts, const void *types, mpiabi_handle comm)
{
    uint64_t sum = 0;
    for (int i = 0, n = counts && types ? record_peers(comm) : 0; i < n; i++)
        sum += record_bytes(counts[i], mpiabi_handle_at(record_abi, types, i));
    return sum;
}

uint64_t record_own(const int *counts, mpiabi_handle type, mpiabi_handle comm)
{
    return counts ? record_bytes(counts[ask(&known_comm_rank, "PMPI_Comm_rank", comm)], type) : 0;
}
