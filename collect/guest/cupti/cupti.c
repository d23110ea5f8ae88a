/* cupti.c - see cupti.h. CUPTI is opened at run time. Without it, with one that is too old, or with a driver that
 * refuses (permission, another profiler), GPU activity is off, and a note in the trace says why. */
#include "collect/guest/cupti/cupti.h"

#include "collect/guest/guest.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)1 << 20) /* aligned to 8 bytes, as CUPTI asks */
#define MAX_BUFFERS 32                 /* above this CUPTI drops records and reports how many */
#define FLUSH_MS 1000                  /* a killed program loses at most this much */

static struct cupti library;
static struct cupti_clock clocks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the clocks, and allows one buffer at a time */
static size_t n_buffers;
static int is_on;
static pid_t owner; /* forked children have neither CUPTI nor its threads */

EXPORTED int InitializeInjection(void);

/* ---- buffers ------------------------------------------------------------------------------------------ */

static void requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = NULL;
    *size = *max_records = 0;
    if (__atomic_add_fetch(&n_buffers, 1, __ATOMIC_RELAXED) <= MAX_BUFFERS) {
        void *b = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (b != MAP_FAILED) {
            *buffer = b;
            *size = BUFFER_BYTES;
            return;
        }
    }
    __atomic_sub_fetch(&n_buffers, 1, __ATOMIC_RELAXED);
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    struct cuptiabi_record *record = NULL;
    size_t n_dropped = 0;
    pthread_mutex_lock(&lock);
    cupti_clock_look(&clocks, &library);
    while (buffer && valid && library.next_record(buffer, valid, &record) == CUPTIABI_SUCCESS && record)
        convert_record(record, &library, &clocks);
    if (library.dropped(context, stream, &n_dropped) == CUPTIABI_SUCCESS && n_dropped)
        dcc_guest_lost(n_dropped);
    pthread_mutex_unlock(&lock);
    if (buffer) {
        munmap(buffer, size);
        __atomic_sub_fetch(&n_buffers, 1, __ATOMIC_RELAXED);
    }
}

static void at_exit(void)
{
    if (getpid() == owner && __atomic_exchange_n(&is_on, 0, __ATOMIC_ACQ_REL))
        if (library.flush_all(CUPTIABI_FLUSH_FORCED) == CUPTIABI_SUCCESS)
            dcc_guest_note(DCR_GPU_WHOLE_NOTE);
}

/* ---- finding it ----------------------------------------------------------------------------------------- */

/* A CUPTI that the program has already loaded (PyTorch brings one) comes first, because two in one process cannot both
 * work. */
static void *open_library(void)
{
    static const char *const names[] = {"libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8",
                                        "libcupti.so.11.7", "libcupti.so.11.6", "libcupti.so"};
    static const char *const below[] = {"extras/CUPTI/lib64", "lib64"};
    enum { N = sizeof names / sizeof *names };
    const char *named = getenv("DCC_CUPTI"), *roots[] = {getenv("CUDA_HOME"), "/usr/local/cuda"};
    char path[4096];
    void *l = NULL;
    if (named && *named)
        return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    for (int i = 0; i < N && !l; i++)
        l = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    for (int i = 0; i < N && !l; i++)
        l = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    for (int i = 0; i < 4 && !l; i++)
        if (roots[i / 2] && *roots[i / 2] &&
            snprintf(path, sizeof path, "%s/%s/libcupti.so", roots[i / 2], below[i % 2]) < (int)sizeof path)
            l = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return l;
}

static int find_functions(void *l, const char **missing)
{
    *missing = NULL;
#define X(field, symbol, arguments)              \
    *(void **)&library.field = dlsym(l, symbol); \
    if (!library.field && !*missing)             \
        *missing = symbol;
    CUPTIABI_FUNCTIONS(X)
#undef X
#define X(field, symbol, arguments) *(void **)&library.field = dlsym(l, symbol);
    CUPTIABI_OPTIONAL(X)
#undef X
    return *missing ? -1 : 0;
}

static void off(const char *what, int status)
{
    char line[400];
    const char *why = NULL;
    if (status && library.result_string)
        (void)library.result_string(status, &why);
    snprintf(line, sizeof line, "GPU activity is not recorded: %s%s%s", what, why ? ": " : "", why ? why : "");
    dcc_guest_note(line);
}

/* Is it a call that starts, moves and waits for nothing? PyTorch makes about twenty of them for each kernel, and a
 * polling loop makes thousands in a step. Each would be a record. */
static int only_asks(const char *name)
{
    static const char *const words[] = {"Get", "Query", "IsCapturing", "Occupancy", "PeekAtLastError"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i]))
            return 1;
    return 0;
}

/* If CUPTI lacks these functions, all calls are recorded. */
static void leave_out_questions(uint32_t domain, int (*enable)(uint32_t id, uint8_t is_on))
{
    enum { MOST_CALLS = 2000 }; /* more than the number of runtime or driver calls of CUDA 13 */
    const char *name = NULL;
    for (uint32_t id = 1; enable && library.callback_name && id < MOST_CALLS; id++)
        if (library.callback_name(domain, id, &name) == CUPTIABI_SUCCESS && name && only_asks(name))
            (void)enable(id, 0);
}

/* Necessary kinds come first; CUPTI may lack some of the others. */
static int enable_all(void)
{
    static const uint32_t kinds[] = {CUPTIABI_CONCURRENT_KERNEL, CUPTIABI_MEMCPY,  CUPTIABI_MEMSET,
                                     CUPTIABI_RUNTIME,           CUPTIABI_DRIVER,  CUPTIABI_SYNCHRONIZATION,
                                     CUPTIABI_MEMORY2,           CUPTIABI_MEMCPY2, CUPTIABI_OVERHEAD};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int status = library.enable(kinds[i]);
        if (status != CUPTIABI_SUCCESS && i < 3) {
            off("CUPTI refuses", status);
            return -1;
        }
    }
    leave_out_questions(CUPTIABI_DOMAIN_RUNTIME, library.enable_runtime);
    leave_out_questions(CUPTIABI_DOMAIN_DRIVER, library.enable_driver);
    return 0;
}

/* Called by CUDA. The program goes on whatever the result is; 1 means success. */
int InitializeInjection(void)
{
    static int is_done;
    const char *missing;
    char line[200];
    uint32_t version = 0;
    if (!dcc_guest_is_wanted() || __atomic_exchange_n(&is_done, 1, __ATOMIC_ACQ_REL))
        return 1;
    void *l = open_library();
    if (!l) {
        off("no libcupti is found (DCC_CUPTI=FILE names one)", 0);
        return 1;
    }
    if (find_functions(l, &missing) != 0) {
        snprintf(line, sizeof line, "this libcupti is older than the collector can use (no %s)", missing);
        off(line, 0);
        return 1;
    }
    int status = library.get_version(&version);
    if (status == CUPTIABI_SUCCESS && library.thread_id_type)
        (void)library.thread_id_type(CUPTIABI_THREAD_ID_SYSTEM);
    if (status == CUPTIABI_SUCCESS)
        status = library.register_callbacks(requested, completed);
    if (status != CUPTIABI_SUCCESS) {
        off("CUPTI refuses", status);
        return 1;
    }
    cupti_clock_look(&clocks, &library);
    if (enable_all() != 0)
        return 1;
    int is_periodic = library.flush_period && library.flush_period(FLUSH_MS) == CUPTIABI_SUCCESS;
    owner = getpid();
    __atomic_store_n(&is_on, 1, __ATOMIC_RELEASE);
    atexit(at_exit);
    snprintf(line, sizeof line, DCR_GPU_NOTE " by CUPTI %u, which %s", version,
             is_periodic ? "hands it over every second"
                         : "is too old to hand it over by time: a program that is killed loses what CUPTI holds");
    dcc_guest_note(line);
    return 1;
}
