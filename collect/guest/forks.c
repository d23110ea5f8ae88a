/* forks.c - see forks.h. */
#include "collect/guest/forks.h"

#include "collect/guest/nvtx/nvtx_copy.h"
#include "lib/base/mono.h"

#include <pthread.h>
#include <stdint.h>

#define MS INT64_C(1000000)
/* So long a thread gives way at one place of the program until it is asked whether it waits for an initialisation that
 * nobody does, and so often a process asks. */
enum { WAITING_MS = 20, MAX_ASKED = 16 };

static int is_child, n_inside, n_asked;
static __thread struct {
    int n_inside;
    const void *yields_at;
    int64_t yields_since_ns;
} self __attribute__((tls_model("initial-exec")));

static void in_child(void)
{
    is_child = 1;
    n_inside = self.n_inside;
    n_asked = 0;
}

void forks_begin(void)
{
    /* Without it a program has what it had: a fork() that may come at the wrong moment. */
    (void)pthread_atfork(NULL, NULL, in_child);
}

void forks_init_begins(void)
{
    self.n_inside++;
    __atomic_fetch_add(&n_inside, 1, __ATOMIC_ACQ_REL);
}

void forks_init_ends(void)
{
    __atomic_fetch_sub(&n_inside, 1, __ATOMIC_ACQ_REL);
    self.n_inside--;
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
    /* One that this child itself began comes to its end. */
    if (__atomic_load_n(&n_inside, __ATOMIC_ACQUIRE) == 0 &&
        __atomic_fetch_add(&n_asked, 1, __ATOMIC_RELAXED) < MAX_ASKED)
        (void)nvtx_copy_take_over(code);
}
