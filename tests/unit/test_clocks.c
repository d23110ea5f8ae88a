/* test_clocks.c - clock_monitor.csv into offsets, error and drift (lib/archive/clocks.c), and times of several hosts
 * on one axis. */
#include "lib/base/buf.h"
#include "render/model/build.h"
#include "render/read/members.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static struct run *read_text(const char *text)
{
    struct run *r = run_new("x.tar");
    run_node_at(r, 0)->host = "a";
    run_node_at(r, 1)->host = "b";
    struct dcr_memory m = {text, strlen(text), 0};
    struct dcr_stream s = dcr_stream_memory(&m, "node1/clock_monitor.csv");
    assert_int_equal(monitor_read(r, DCR_ROLE_CLOCK_MONITOR, 1, -1, &s, NULL), 0);
    return r;
}

#define HEADER "timestamp,t_ns,offset_ns,error_ns,reference\n"

static void offsets_on_the_line_between_looks(void **state)
{
    (void)state;
    struct run *r = read_text(HEADER "1,1000000000,500,20,a\n"
                                     "2,2000000000,1500,40,a\n"
                                     "5,5000000000,1500,30,a\n");
    assert_null(run_clock_of(r, "a"));
    const struct dcr_clock *c = run_clock_of(r, "b");
    assert_non_null(c);
    assert_string_equal(c->reference, "a");
    assert_int_equal(c->n, 3);
    assert_int_equal(dcr_clock_offset(c, 0), 500);
    assert_int_equal(dcr_clock_offset(c, 1000000000), 500);
    assert_int_equal(dcr_clock_offset(c, 1250000000), 750);
    assert_int_equal(dcr_clock_offset(c, 3000000000), 1500);
    assert_int_equal(dcr_clock_offset(c, 9000000000), 1500);
    assert_int_equal(dcr_clock_error(c), 40);
    double ppm, error_ppm;
    assert_int_equal(dcr_clock_drift(c, &ppm, &error_ppm), 0);
    assert_float_equal(ppm, 0.25, 1e-9);         /* 1000 ns in 4 s */
    assert_float_equal(error_ppm, 0.0125, 1e-9); /* 50 ns in 4 s */
    run_free(r);
}

static void rows_that_make_no_sense_are_left_out(void **state)
{
    (void)state;
    struct run *r = read_text(HEADER "1,1000,500,20,a\n1,900,500,20,a\n1,,500,20,a\n1,2000,x,20,a\n1,3000,1,-2,a\n"
                                     "1,9223372036854775807,1,1,a\n1,1000000500,700,20,a\n");
    const struct dcr_clock *c = run_clock_of(r, "b");
    assert_int_equal(c->n, 2);
    assert_int_equal(r->n_gaps, 1);
    double ppm, error_ppm;
    assert_int_equal(dcr_clock_drift(c, &ppm, &error_ppm), -1); /* within a second */
    run_free(r);
}

static void a_long_run_is_thinned_out(void **state)
{
    (void)state;
    struct dcr_buf b = {0};
    dcr_buf_puts(&b, HEADER);
    for (long long i = 0; i <= 10000; i++)
        dcr_buf_printf(&b, "1,%lld,%lld,5,a\n", i * 10000000000, i * 3);
    struct run *r = read_text(dcr_buf_text(&b));
    const struct dcr_clock *c = run_clock_of(r, "b");
    assert_in_range(c->n, 100, DCR_MAX_CLOCK_POINTS);
    assert_int_equal(c->points[0].offset_ns, 0);
    assert_int_equal(c->points[c->n - 1].offset_ns, 30000); /* the last point stays */
    for (int i = 1; i < c->n; i++)
        assert_true(c->points[i].t_ns > c->points[i - 1].t_ns);
    assert_int_equal(dcr_clock_offset(c, 50000000000000), 15000);
    run_free(r);
    dcr_buf_release(&b);
}

/* Host b began 3 s behind a and loses 100 ppm; c was never measured. */
static void hosts_on_one_calendar(void **state)
{
    (void)state;
    struct dcr_arena arena = {0};
    struct dcr_clock_point points[] = {{1000000000, 3000000000, 20}, {11000000000, 3001000000, 40}};
    const struct dcr_clock b_clock = {"a", points, 2};
    struct dcr_hosts hosts = {.arena = &arena};
    struct dcr_host a = dcr_host_of(&hosts, "a", 5000000000, 1700000005000000000, NULL);
    struct dcr_host b = dcr_host_of(&hosts, "b", 2000000000, 1600000000000000000, &b_clock); /* its calendar is wrong */
    struct dcr_host c = dcr_host_of(&hosts, "c", 0, 1700000009000000000, NULL);
    assert_int_equal(dcr_host_time(&a, 6000000000), 1700000006000000000);
    assert_int_equal(dcr_host_time(&b, 1000000000), 1700000004000000000);
    assert_int_equal(dcr_host_time(&b, 6000000000), 1700000009000500000);
    assert_int_equal(dcr_host_time(&b, 11000000000), 1700000014001000000);
    assert_int_equal(dcr_host_time(&c, 1), 1700000009000000001);
    assert_true(a.is_reference && !b.is_reference && !c.is_reference);
    assert_int_equal(hosts.n_seen, 3);
    assert_int_equal(hosts.n_measured, 1);
    assert_int_equal(hosts.error_ns, 40);
    /* Another process of b has other readings of the calendar, but the host's clock is the same. */
    struct dcr_host again = dcr_host_of(&hosts, "b", 2000000000, 1650000000000000000, &b_clock);
    assert_int_equal(dcr_host_time(&again, 1000000000), 1700000004000000000);
    assert_int_equal(hosts.n_seen, 3);
    dcr_arena_release(&arena);
}

/* Nothing of the reference was recorded, but the others still agree. */
static void hosts_without_their_reference(void **state)
{
    (void)state;
    struct dcr_arena arena = {0};
    struct dcr_clock_point point = {0, 7000000000, 10}, other = {0, -2000000000, 30};
    const struct dcr_clock b_clock = {"a", &point, 1}, c_clock = {"a", &other, 1};
    struct dcr_hosts hosts = {.arena = &arena};
    struct dcr_host b = dcr_host_of(&hosts, "b", 1000000000, 1700000000000000000, &b_clock);
    struct dcr_host c = dcr_host_of(&hosts, "c", 0, 1234, &c_clock);
    assert_int_equal(dcr_host_time(&b, 1000000000), 1700000000000000000);
    assert_int_equal(dcr_host_time(&c, 10000000000), 1700000000000000000); /* 8 s on a's clock, like 1 s on b's */
    struct dcr_host a = dcr_host_of(&hosts, "a", 8000000000, 0, NULL);
    assert_int_equal(dcr_host_time(&a, 8000000000), 1700000000000000000);
    assert_int_equal(hosts.n_seen, 3);
    dcr_arena_release(&arena);
}

/* The order of times is kept, also where the points are noisy. */
static void hosts_keep_the_order_of_times(void **state)
{
    (void)state;
    struct dcr_arena arena = {0};
    struct dcr_clock_point points[40];
    for (int i = 0; i < 40; i++)
        points[i] = (struct dcr_clock_point){i * 1000, i * i % 7, 1};
    const struct dcr_clock clock = {"a", points, 40};
    struct dcr_hosts hosts = {.arena = &arena};
    struct dcr_host b = dcr_host_of(&hosts, "b", 0, 0, &clock);
    for (int64_t t = -10; t < 40000; t++)
        assert_true(dcr_host_time(&b, t + 1) >= dcr_host_time(&b, t));
    struct dcr_host lies = dcr_host_of(&hosts, "lies", INT64_MIN, INT64_MAX, NULL);
    assert_int_equal(dcr_host_time(&lies, INT64_MAX), INT64_MAX);
    dcr_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_on_the_line_between_looks), cmocka_unit_test(rows_that_make_no_sense_are_left_out),
        cmocka_unit_test(a_long_run_is_thinned_out),         cmocka_unit_test(hosts_on_one_calendar),
        cmocka_unit_test(hosts_without_their_reference),     cmocka_unit_test(hosts_keep_the_order_of_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
