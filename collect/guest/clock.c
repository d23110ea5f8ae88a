/* clock.c - see clock.h. */
#include "collect/guest/clock.h"

#include "collect/guest/near.h"

#define LOOK_EVERY_NS 4000000
#define MEASURE_NS 20000000 /* two looks are exact to some 50 ns each, so the rate is then known to 5 ppm */
/* If the prediction is off by more than this between two looks, the rate has changed. NTP changes it by 500 ppm at
 * most. */
#define MAX_WRONG_PPM 300
#define MAX_STRIKES 3

struct clock_rate dcc_clock_rate;
NEAR int clock_has_tsc;

enum { UNSOUND = 0, MEASURING, KNOWN };
static int state_of_counter;
static unsigned strikes;
static uint64_t first_tsc;
static int64_t first_ns;
static int has_begun;

/* Reads the counter and the clock at one instant. returns 0, or -1 when every try was interrupted */
static int look(uint64_t *tsc, int64_t *ns)
{
    for (int i = 0; i < 4; i++) {
        uint64_t before = clock_counter();
        *ns = dcr_mono_ns();
        uint64_t took = clock_counter() - before;
        *tsc = before + took / 2;
        if (took < 1000) /* less than half a microsecond */
            return 0;
    }
    return -1;
}

/* A forked child goes on with the rate of its parent. */
void clock_begin(void)
{
    if (clock_has_tsc && !__atomic_exchange_n(&has_begun, 1, __ATOMIC_RELAXED) && look(&first_tsc, &first_ns) == 0)
        __atomic_store_n(&state_of_counter, MEASURING, __ATOMIC_RELEASE);
}

/* One thread sets the rate, once enough time has passed since the first look. */
static void measure(uint64_t tsc, int64_t ns)
{
    int expected = MEASURING;
    if (ns - first_ns < MEASURE_NS || tsc <= first_tsc ||
        !__atomic_compare_exchange_n(&state_of_counter, &expected, KNOWN, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    double ns_per_tick = (double)(ns - first_ns) / (double)(tsc - first_tsc);
    if (!(ns_per_tick > 0.05 && ns_per_tick < 10)) {
        __atomic_store_n(&state_of_counter, UNSOUND, __ATOMIC_RELEASE);
        return;
    }
    __atomic_store_n(&strikes, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&dcc_clock_rate.ns_per_tick, (uint64_t)(ns_per_tick * 4294967296.0), __ATOMIC_RELAXED);
    __atomic_store_n(&dcc_clock_rate.max_ticks, (uint64_t)(LOOK_EVERY_NS / ns_per_tick), __ATOMIC_RELEASE);
}

/* Checks the rate against the time that has passed since the track's last look. */
static void hold_against(const struct clock_track *c, uint64_t tsc, int64_t ns)
{
    int64_t passed_ns = ns - c->ns;
    int is_set = __atomic_load_n(&dcc_clock_rate.max_ticks, __ATOMIC_ACQUIRE) != 0; /* measure() is done */
    if (!is_set || !c->ns || passed_ns < LOOK_EVERY_NS / 2 || passed_ns > INT64_C(60000000000))
        return;
    uint64_t rate = __atomic_load_n(&dcc_clock_rate.ns_per_tick, __ATOMIC_RELAXED);
    double by_counter = (double)(int64_t)(tsc - c->tsc) * ((double)rate / 4294967296.0);
    double wrong = by_counter - (double)passed_ns;
    if (wrong < 0)
        wrong = -wrong;
    if (wrong <= (double)passed_ns * (MAX_WRONG_PPM / 1e6) + 500) {
        if (__atomic_load_n(&strikes, __ATOMIC_RELAXED))
            __atomic_store_n(&strikes, 0, __ATOMIC_RELAXED);
        return;
    }
    if (__atomic_add_fetch(&strikes, 1, __ATOMIC_RELAXED) < MAX_STRIKES)
        return;
    __atomic_store_n(&state_of_counter, UNSOUND, __ATOMIC_RELEASE);
    __atomic_store_n(&dcc_clock_rate.max_ticks, 0, __ATOMIC_RELEASE);
}

int64_t clock_look(struct clock_track *c)
{
    int now = __atomic_load_n(&state_of_counter, __ATOMIC_ACQUIRE);
    uint64_t tsc;
    int64_t ns;
    if (now == UNSOUND)
        return clock_not_before(c, dcr_mono_ns());
    if (look(&tsc, &ns) != 0) {
        c->ns = 0;
        c->tsc = tsc + (UINT64_C(1) << 62); /* the next event looks again */
        return clock_not_before(c, ns);
    }
    if (now == MEASURING)
        measure(tsc, ns);
    else
        hold_against(c, tsc, ns);
    c->tsc = tsc;
    c->ns = ns;
    return clock_not_before(c, ns);
}
