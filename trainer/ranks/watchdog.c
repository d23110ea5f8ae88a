/* watchdog.c - the thread that measures waits. */
#include "trainer/ranks/watchdog.h"

#include "lib/base/mono.h"
#include "lib/base/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

static struct {
    struct watchdog_config c;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int is_running, is_over; /* under the lock */
    /* Number of the wait, odd while one is under way. The text belongs to the wait with that number. */
    atomic_uint_fast64_t wait;
    _Atomic(const char *) call;
} dog = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Interval between looks, so fine that patience is exceeded by at most a tenth. */
static int64_t period_ns(void)
{
    const int64_t longest = 500 * 1000000LL, shortest = 5 * 1000000LL;
    double tenth = dog.c.patience_s * 1e9 / 10;
    return tenth > (double)longest ? longest : tenth < (double)shortest ? shortest : (int64_t)tenth;
}

static void sleep_until(int64_t t_ns)
{
    const struct timespec t = {.tv_sec = t_ns / 1000000000, .tv_nsec = t_ns % 1000000000};
    while (!dog.is_over && pthread_cond_timedwait(&dog.wake, &dog.lock, &t) == 0)
        ;
}

static void *watch(void *arg)
{
    (void)arg;
    const int64_t period = period_ns();
    uint_fast64_t seen = 0;
    int64_t waited = 0, before = dcr_mono_ns();
    pthread_mutex_lock(&dog.lock);
    while (!dog.is_over) {
        sleep_until(before + period);
        int64_t now = dcr_mono_ns(), passed = now - before;
        uint_fast64_t wait = atomic_load(&dog.wait);
        before = now;
        if (wait % 2 == 0 || wait != seen) {
            seen = wait;
            waited = 0;
            continue;
        }
        /* After a much longer period this process was suspended, so only one period counts. */
        waited += passed < 4 * period ? passed : period;
        if (!dog.is_over && (double)waited > dog.c.patience_s * 1e9) {
            const char *call = atomic_load(&dog.call);
            pthread_mutex_unlock(&dog.lock);
            dog.c.on_stuck(dog.c.ctx, call, (double)waited * 1e-9);
            return NULL;
        }
    }
    pthread_mutex_unlock(&dog.lock);
    return NULL;
}

int watchdog_open(const struct watchdog_config *c, struct dcr_err *err)
{
    dog.c = *c;
    dog.is_over = 0;
    if (c->patience_s <= 0)
        return 0;
    thread_condition(&dog.wake);
    int rc = thread_start(&dog.thread, watch, NULL);
    if (rc)
        return dcr_err_set(err, DCR_FATAL, "cannot start the watchdog of --comm-timeout: %s", strerror(rc));
    dog.is_running = 1;
    return 0;
}

void watchdog_close(void)
{
    if (!dog.is_running)
        return;
    pthread_mutex_lock(&dog.lock);
    dog.is_over = 1;
    pthread_cond_signal(&dog.wake);
    pthread_mutex_unlock(&dog.lock);
    pthread_join(dog.thread, NULL);
    pthread_cond_destroy(&dog.wake);
    dog.is_running = 0;
}

void watchdog_begin(const char *call)
{
    atomic_store_explicit(&dog.call, call, memory_order_relaxed);
    atomic_fetch_add_explicit(&dog.wait, 1, memory_order_release);
}

void watchdog_end(void)
{
    atomic_fetch_add_explicit(&dog.wait, 1, memory_order_release);
}
