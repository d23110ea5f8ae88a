/* test_watchdog.c - a wait that lasts too long is noticed, and a wait that ends is not (trainer/ranks/watchdog.h). */
#include "trainer/ranks/watchdog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <string.h>
#include <time.h>

static atomic_int n_stuck;
static const char *stuck_call;
static double stuck_s;

static void on_stuck(void *ctx, const char *call, double waited_s)
{
    stuck_call = call;
    stuck_s = waited_s;
    atomic_fetch_add((atomic_int *)ctx, 1);
}

static void sleep_ms(int ms)
{
    const struct timespec t = {.tv_nsec = ms * 1000000L};
    nanosleep(&t, NULL);
}

static void open_with(double patience_s)
{
    struct dcr_err err = {0};
    const struct watchdog_config c = {.patience_s = patience_s, .on_stuck = on_stuck, .ctx = &n_stuck};
    atomic_store(&n_stuck, 0);
    if (watchdog_open(&c, &err))
        fail_msg("%s", err.text);
}

static void a_long_wait_is_noticed_once(void **state)
{
    (void)state;
    open_with(0.05);
    watchdog_begin("a call");
    for (int i = 0; i < 500 && !atomic_load(&n_stuck); i++)
        sleep_ms(10);
    assert_int_equal(atomic_load(&n_stuck), 1);
    assert_string_equal(stuck_call, "a call");
    assert_true(stuck_s >= 0.05);
    sleep_ms(100);
    assert_int_equal(atomic_load(&n_stuck), 1);
    watchdog_end();
    watchdog_close();
}

/* Many short waits together may exceed the patience, and so may the time between them. */
static void short_waits_and_work_are_not(void **state)
{
    (void)state;
    open_with(0.4);
    for (int i = 0; i < 30; i++) {
        watchdog_begin("short");
        sleep_ms(10);
        watchdog_end();
        sleep_ms(i == 0 ? 500 : 10);
    }
    assert_int_equal(atomic_load(&n_stuck), 0);
    watchdog_close();
}

static void without_patience_nothing_is_watched(void **state)
{
    (void)state;
    open_with(0);
    watchdog_begin("for ever");
    sleep_ms(50);
    watchdog_end();
    assert_int_equal(atomic_load(&n_stuck), 0);
    watchdog_close();
    watchdog_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_wait_is_noticed_once),
        cmocka_unit_test(short_waits_and_work_are_not),
        cmocka_unit_test(without_patience_nothing_is_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
