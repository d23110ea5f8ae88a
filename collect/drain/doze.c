/* doze.c - how the drain's thread sleeps. See drain_inside.h.
 *
 * A segment fills up in some tenths of a second, so the drain looks that often. When nothing was written for a while
 * and no process runs, it sleeps until one does. The kernel counts the processor time of the processes, and a timer on
 * that clock ends the sleep after some milliseconds of it. A process that begins to record also ends it (by the
 * segment's word `sleeps`). So a burst is noticed as early as by looking often, and idle processes cost nothing. */
#include "collect/drain/drain_inside.h"

#include "lib/base/mono.h"

#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id /* glibc has the field, but not its documented name */
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum {
    IDLE_ROUNDS = 5,
    MOST_WATCHED = 16,
    BUDGET_MS = 1, /* the kernel's tick turns this into 4 */
    LONGEST_DOZE_MS = 1000,
    ALONE_DOZE_MS = 30000,    /* no process records: the first one that does ends the sleep */
    SMALLEST_BYTES = 4 << 20, /* a smaller segment would fill up before a sleep ends */
    BUSY_PARTS = 10
};

/* ---- the word `sleeps` ------------------------------------------------------------------------ */

void drain_wake(const struct drain *d)
{
    uint32_t *word = &segment_of(d)->sleeps;
    if (__atomic_exchange_n(word, SLEEPS_NOT, __ATOMIC_SEQ_CST) != SLEEPS_NOT)
        syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void let_timers(const struct drain *d, int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    if (d->is_listening)
        pthread_sigmask(how, &set, NULL);
}

/* returns 1 when the sleep ended early */
static int sleep_until(const struct drain *d, int64_t until_ns)
{
    int64_t left_ns = until_ns - dcr_mono_ns();
    struct timespec t = {.tv_sec = left_ns / 1000000000, .tv_nsec = left_ns % 1000000000};
    uint32_t *word = &segment_of(d)->sleeps, how = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    let_timers(d, SIG_UNBLOCK); /* after the load: a late timer changes the word */
    if (left_ns > 0 && how != SLEEPS_NOT)
        syscall(SYS_futex, word, FUTEX_WAIT, how, &t, NULL, 0);
    let_timers(d, SIG_BLOCK);
    __atomic_store_n(word, SLEEPS_NOT, __ATOMIC_SEQ_CST);
    return dcr_mono_ns() < until_ns;
}

/* ---- processes that do not run ---------------------------------------------------------------- */

int64_t drain_time_used(const struct drain *d, uint32_t i)
{
    struct timespec t;
    clockid_t clock;
    pid_t pid = (pid_t)(__atomic_load_n(&segment_process(segment_of(d), i)->state, __ATOMIC_ACQUIRE) >> 8);
    if (d->procs[i].pidfd < 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return -1;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void on_timer(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    __atomic_store_n((uint32_t *)info->si_value.sival_ptr, SLEEPS_NOT, __ATOMIC_SEQ_CST);
}

/* Called when there is a process to watch. Then the program has already started, so the change does not affect its
 * handling of this signal. */
static void listen_to_timers(struct drain *d)
{
    struct sigaction action = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART};
    if (d->is_listening)
        return;
    sigaction(SIGRTMIN, &action, NULL);
    d->is_listening = 1;
}

static int set_timer(struct drain *d, uint32_t i, int64_t at_ns)
{
    struct proc *p = &d->procs[i];
    struct itimerspec at = {.it_value = {.tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000}};
    listen_to_timers(d);
    if (!p->has_timer) {
        pid_t pid = (pid_t)(__atomic_load_n(&segment_process(segment_of(d), i)->state, __ATOMIC_ACQUIRE) >> 8);
        struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};
        e.sigev_value.sival_ptr = &segment_of(d)->sleeps;
        e.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
        clockid_t clock;
        p->has_timer = clock_getcpuclockid(pid, &clock) == 0 && timer_create(clock, &e, &p->timer) == 0;
    }
    return p->has_timer && timer_settime(p->timer, TIMER_ABSTIME, &at, NULL) == 0 ? 0 : -1;
}

void drain_forget_timer(struct proc *p)
{
    if (p->has_timer)
        timer_delete(p->timer);
    p->has_timer = 0;
}

/* Did no process run since the last look, and will a timer report the first one that runs?
 * n_resting  number of these processes */
static int all_rest(struct drain *d, uint32_t *n_resting)
{
    const struct segment *s = segment_of(d);
    int64_t used[MOST_WATCHED], now = dcr_mono_ns(), since_ns = now - d->watched_ns;
    uint32_t who[MOST_WATCHED], n = 0;
    int is_resting = 1;
    d->watched_ns = now;
    drain_find_entries(d);
    for (uint32_t i = 0; i < d->n_entries; i++) {
        struct proc *p = &d->procs[i];
        uint64_t state = __atomic_load_n(&segment_process(s, i)->state, __ATOMIC_SEQ_CST);
        if ((state & 0xff) != PROCESS_FREE && (!p->serial || p->is_dead || !p->file || n == MOST_WATCHED ||
                                               now < p->retry_ns + DRAIN_RETRY_MS * DRAIN_MS))
            return 0; /* there is work to do, or there are too many processes to watch */
        if (!p->serial)
            continue;
        who[n] = i;
        used[n] = drain_time_used(d, i);
        is_resting = is_resting && used[n] >= 0 && used[n] - p->used_ns < since_ns / BUSY_PARTS;
        p->used_ns = used[n++];
    }
    for (uint32_t k = 0; k < n && is_resting; k++)
        is_resting = set_timer(d, who[k], used[k] + BUDGET_MS * DRAIN_MS) == 0;
    *n_resting = n;
    return is_resting;
}

/* ---- sleeping --------------------------------------------------------------------------------- */

int drain_sleep(struct drain *d, uint32_t n_written, int64_t pause_ns)
{
    int64_t now = dcr_mono_ns();
    uint32_t n_resting = 0;
    d->n_idle_rounds = n_written || pause_ns < DRAIN_LONGEST_MS * DRAIN_MS ? 0 : d->n_idle_rounds + 1;
    int is_long = d->n_idle_rounds >= IDLE_ROUNDS;
    if (is_long) {
        __atomic_store_n(&segment_of(d)->sleeps, SLEEPS_LONG, __ATOMIC_SEQ_CST);
        is_long = all_rest(d, &n_resting); /* after the store: a process that begins to record from now on sees it */
        is_long = is_long && (!n_resting || segment_of(d)->begin.bytes >= SMALLEST_BYTES);
    }
    if (!is_long)
        __atomic_store_n(&segment_of(d)->sleeps, SLEEPS_SHORTLY, __ATOMIC_SEQ_CST);
    else
        pause_ns = (n_resting ? LONGEST_DOZE_MS : ALONE_DOZE_MS) * DRAIN_MS;
    if (is_long && n_resting && d->copy_ns && d->next_copy_ns < now + pause_ns)
        pause_ns = d->next_copy_ns - now;
    if (__atomic_load_n(&d->is_stopping, __ATOMIC_SEQ_CST))
        return 0;
    return sleep_until(d, now + pause_ns) && is_long;
}
