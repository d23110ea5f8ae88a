/* forks.c - see forks.h. */
#include "collect/inject/forks.h"

#include "collect/inject/nvtx_copy.h"
#include "lib/mono.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#define MS INT64_C(1000000)
/* Longest waits: for an initialisation that is in the tool; for one that has only asked for the tool, since a program
 * may ask out of curiosity; and after the tool has returned, for NVTX to mark itself as initialised. */
enum { INSIDE_MS = 2000, SOUGHT_MS = 50, ENDED_MS = 1 };
enum { COPIES = 64 };
/* So long a thread gives way at one place of the program until it is asked whether it waits for an initialisation that
 * nobody does, and so often a process asks. */
enum { WAITING_MS = 20, MAX_ASKED = 16 };

static int n_inside;
static int64_t sought_ns, fork_ns; /* CLOCK_MONOTONIC, 0 = not */
static struct {
    volatile uint32_t *state;
    int64_t ended_ns; /* INT64_MAX: not yet */
} copies[COPIES];     /* of NVTX, the last ones */
static uint32_t n_copies;
static int is_child;
static uint32_t n_asked;
static __thread struct {
    int n_inside;
    int64_t sought_ns;
    const void *yields_at;
    int64_t yields_since_ns;
} self __attribute__((tls_model("initial-exec")));

/* The last one ended so shortly before now that NVTX may not have marked it. */
static int is_ending(int64_t now)
{
    uint32_t n = __atomic_load_n(&n_copies, __ATOMIC_ACQUIRE);
    int64_t last = n ? __atomic_load_n(&copies[(n - 1) % COPIES].ended_ns, __ATOMIC_ACQUIRE) : 0;
    return last && last != INT64_MAX && now - last < ENDED_MS * MS;
}

static int is_under_way(int64_t now)
{
    int64_t sought = __atomic_load_n(&sought_ns, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&n_inside, __ATOMIC_ACQUIRE) > 0 ||
           (sought && sought != self.sought_ns && now - sought < SOUGHT_MS * MS) || is_ending(now);
}

static void before_fork(void)
{
    int saved_errno = errno;
    int64_t begin = dcr_mono_ns(), now = begin;
    /* Who initialises would wait for itself. */
    for (; !self.n_inside && now - begin < INSIDE_MS * MS && is_under_way(now); now = dcr_mono_ns())
        nanosleep(&(struct timespec){.tv_nsec = MS / 20}, NULL);
    fork_ns = now;
    errno = saved_errno;
}

/* What began after the wait and before the child was made is begun again by the child, when it comes to it. */
static void in_child(void)
{
    for (uint32_t i = 0; i < COPIES && !self.n_inside; i++)
        if (copies[i].state && copies[i].ended_ns > fork_ns - ENDED_MS * MS &&
            *copies[i].state == NVTXABI_STATE_STARTED)
            *copies[i].state = NVTXABI_STATE_FRESH;
    n_inside = self.n_inside;
    sought_ns = 0;
    is_child = 1;
}

/* An initialisation that another thread had begun when the child was made, and that had not come to the tool: the
 * thread that waits for its end does it. */
static void take_over(const void *code)
{
    struct nvtx_copy copy;
    uint32_t started = NVTXABI_STATE_STARTED;
    if (nvtx_copy_find_started(code, &copy) &&
        __atomic_compare_exchange_n(copy.state, &started, NVTXABI_STATE_FRESH, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        copy.initialize(NULL);
}

void forks_yields(const void *code)
{
    if (!is_child || self.n_inside)
        return;
    int64_t now = dcr_mono_ns();
    if (self.yields_at != code) {
        self.yields_at = code;
        self.yields_since_ns = now;
    }
    if (now - self.yields_since_ns < WAITING_MS * MS)
        return;
    self.yields_at = NULL;
    if (!is_under_way(now) && __atomic_fetch_add(&n_asked, 1, __ATOMIC_RELAXED) < MAX_ASKED)
        take_over(code);
}

void forks_begin(void)
{
    /* Without it a program has what it had: a fork() that may come at the wrong moment. */
    (void)pthread_atfork(before_fork, NULL, in_child);
}

void forks_init_sought(void)
{
    self.sought_ns = dcr_mono_ns();
    __atomic_store_n(&sought_ns, self.sought_ns, __ATOMIC_RELEASE);
}

uint32_t forks_init_begins(volatile uint32_t *state)
{
    self.n_inside++;
    __atomic_fetch_add(&n_inside, 1, __ATOMIC_ACQ_REL);
    uint32_t copy = __atomic_fetch_add(&n_copies, 1, __ATOMIC_ACQ_REL) % COPIES;
    __atomic_store_n(&copies[copy].ended_ns, INT64_MAX, __ATOMIC_RELEASE);
    __atomic_store_n(&copies[copy].state, state, __ATOMIC_RELEASE);
    int64_t own = self.sought_ns; /* that of another thread, with a copy of NVTX of its own, stays */
    if (own)
        (void)__atomic_compare_exchange_n(&sought_ns, &own, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    return copy;
}

void forks_init_ends(uint32_t copy)
{
    __atomic_store_n(&copies[copy].ended_ns, dcr_mono_ns(), __ATOMIC_RELEASE);
    __atomic_fetch_sub(&n_inside, 1, __ATOMIC_ACQ_REL);
    self.n_inside--;
}
