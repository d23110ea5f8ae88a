/* test_spool.c - parts of the injected library that can be had alone: its checksum, its tables of names, its clock. The
 * library itself is tested inside programs (tests/integration/collect_trace.sh). */
#include "collect/guest/clock.c"
#include "collect/guest/crc32c.c"
#include "collect/guest/names.c"
#include "lib/base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void both_checksums_are_equal(void **state)
{
    (void)state;
    unsigned char bytes[300];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 37 + (i >> 3));
    /* RFC 3720, B.4: 32 bytes of zero */
    static const unsigned char zeros[32];
    assert_int_equal(dcc_crc32c(0, zeros, sizeof zeros), 0x8a9136aau);
    assert_int_equal(dcc_crc32c(0, "123456789", 9), 0xe3069283u);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        assert_int_equal(dcc_crc32c(0, bytes, n), dcr_crc32c(0, bytes, n));
        assert_int_equal(dcc_crc32c(dcc_crc32c(0, bytes, n / 3), bytes + n / 3, n - n / 3), dcr_crc32c(0, bytes, n));
        assert_int_equal(~crc_bitwise(~0u, bytes, n), dcr_crc32c(0, bytes, n));
    }
    /* Long enough to be taken three parts at a time. */
    static unsigned char many[20000];
    for (size_t i = 0; i < sizeof many; i++)
        many[i] = (unsigned char)(i * i * 31 + i / 7);
    for (size_t n = 3060; n <= sizeof many; n += n < 3100 ? 1 : 1021) {
        assert_int_equal(dcc_crc32c(0, many, n), ~crc_bitwise(~0u, many, n));
        assert_int_equal(dcc_crc32c(0x12345678, many + 3, n - 3), dcr_crc32c(0x12345678, many + 3, n - 3));
    }
}

static void long_texts_are_cut_between_characters(void **state)
{
    (void)state;
    uint32_t len, whole;
    assert_int_equal(names_hash("ab\xc3\xa9", 3, &len), names_hash("ab", SIZE_MAX, &whole));
    assert_int_equal(len, 2);
    names_hash("ab\xc3\xa9", 4, &len);
    assert_int_equal(len, 4);
    names_hash("\xf0\x9f\x98\x80x", 3, &len);
    assert_int_equal(len, 0);
    names_hash("abc", 2, &len);
    assert_int_equal(len, 2);
}

static uint32_t add(struct names *n, const char *text, int *is_new)
{
    uint32_t len, hash = names_hash(text, SIZE_MAX, &len);
    uint32_t id = names_add(n, text, len, hash, is_new);
    if (*is_new) {
        assert_int_equal(names_find(n, text, len, hash), 0);
        names_publish(n, id);
    }
    assert_int_equal(names_find(n, text, len, hash), n->n_names < NAMES_MAX || id > 1 ? id : 0);
    return id;
}

static void names_are_copied_and_found(void **state)
{
    (void)state;
    static struct names n;
    int is_new;
    assert_int_equal(names_init(&n, NAMES_TEXT_BYTES), 0);
    char text[32] = "forward";
    uint32_t id = add(&n, text, &is_new);
    assert_true(is_new);
    assert_true(id > 1);
    strncpy(text, "backward", sizeof text); /* the program reuses its buffer */
    assert_string_equal(n.name[id].text, "forward");
    uint32_t other = add(&n, text, &is_new);
    assert_true(is_new);
    assert_int_not_equal(id, other);
    assert_int_equal(add(&n, "forward", &is_new), id);
    assert_false(is_new);
    uint32_t len, hash = names_hash("nothing", SIZE_MAX, &len);
    assert_int_equal(names_find(&n, "nothing", len, hash), 0);
}

static void full_tables_share_one_name(void **state)
{
    (void)state;
    static struct names n;
    int is_new;
    char text[32];
    assert_int_equal(names_init(&n, NAMES_TEXT_BYTES), 0);
    for (int i = 0; i < NAMES_MAX + 1000; i++) {
        snprintf(text, sizeof text, "step %d", i);
        add(&n, text, &is_new);
    }
    assert_int_equal(n.n_names, NAMES_MAX);
    uint32_t id = add(&n, "one too many", &is_new);
    assert_false(is_new);
    assert_string_equal(n.name[id].text, NAMES_OVERFLOW);
    assert_string_equal(n.name[add(&n, "step 17", &is_new)].text, "step 17");
}

static void domains_and_categories(void **state)
{
    (void)state;
    static struct names n;
    int is_new;
    assert_int_equal(names_init(&n, NAMES_TEXT_BYTES), 0);
    uint32_t first = names_domain(&n, add(&n, "dcrnn", &is_new), &is_new);
    assert_true(is_new);
    assert_int_equal(first, 1);
    assert_int_equal(names_domain(&n, add(&n, "dcrnn", &is_new), &is_new), first);
    assert_false(is_new);
    char text[32];
    for (int i = 0; i < DOMAINS_MAX + 10; i++) {
        snprintf(text, sizeof text, "domain %d", i);
        uint32_t d = names_domain(&n, add(&n, text, &is_new), &is_new);
        assert_true(d > 0 && d < DOMAINS_MAX);
    }
    assert_int_equal(names_category(&n, 1, 7, 2), 1);
    assert_int_equal(names_category(&n, 1, 7, 2), 0);
    assert_int_equal(names_category(&n, 1, 7, 3), 1); /* renamed */
    assert_int_equal(names_category(&n, 2, 7, 2), 1); /* another domain's 7 */
    assert_int_equal(n.n_categories, 2);
    names_schema(&n, 1, 5, "schema 5 'a'", 12);
    names_schema(&n, 1, 5, "schema 5 'a'", 12);
    names_schema(&n, 1, 5, "schema 4294967301 'b'", 21); /* the same low half */
    assert_int_equal(n.n_schemas, 2);
    assert_string_equal(n.schema[1].text, "schema 4294967301 'b'");
    names_schema(&n, 1, 6, "schema 6 'c'", 12);
    names_schema(&n, 1, 5, "schema 5 'a'", 12); /* the first again: what a forked child must end with */
    assert_int_equal(n.n_schemas, 3);
    assert_string_equal(n.schema[0].text, "schema 4294967301 'b'");
    assert_string_equal(n.schema[1].text, "schema 6 'c'");
    assert_string_equal(n.schema[2].text, "schema 5 'a'");
    names_schema(&n, 1, 6, "schema 6 'c'", 12); /* no other of its number came since */
    assert_string_equal(n.schema[2].text, "schema 5 'a'");
    for (uint32_t i = 0; i < SCHEMAS_MAX + 10; i++)
        names_schema(&n, 2, i, "schema", 6);
    assert_int_equal(n.n_schemas, SCHEMAS_MAX);
}

/* What the clock of a track says lies between two looks at the system's, over half a second and changing threads. */
static void clock_is_the_systems(void **state)
{
    (void)state;
    static struct clock_track c;
    clock_begin();
    int64_t end = clock_system_ns() + 500000000, last = 0, worst = 0;
    long n = 0, n_by_counter = 0;
    do {
        int64_t before = clock_system_ns();
        n_by_counter += dcc_clock_rate.max_ticks != 0;
        int64_t now = clock_now_ns(&c);
        int64_t after = clock_system_ns();
        assert_true(now >= last);
        last = now;
        int64_t wrong = now < before ? before - now : now > after ? now - after : 0;
        worst = wrong > worst ? wrong : worst;
        n++;
    } while (last < end);
    print_message("clock: %ld looks, %ld by the counter, at most %lld ns beside CLOCK_MONOTONIC\n", n, n_by_counter,
                  (long long)worst);
    assert_true(worst <= CLOCK_MAX_ERROR_NS);
#if defined(__x86_64__)
    if (is_invariant() && kernel_uses_it())
        assert_true(n_by_counter > 0);
#endif
}

#if defined(__x86_64__)
/* A rate that is wrong by a thousandth, as after a move to another machine: noticed, measured anew, or given up. */
static void wrong_rate_is_noticed(void **state)
{
    (void)state;
    struct clock_track c = {0};
    if (__atomic_load_n(&state_of_counter, __ATOMIC_RELAXED) != KNOWN) {
        print_message("skipped: no invariant counter here\n");
        skip();
    }
    uint64_t right = dcc_clock_rate.ns_per_tick;
    dcc_clock_rate.ns_per_tick = right + right / 1000;
    int64_t end = clock_system_ns() + 200000000, worst_late = 0;
    while (clock_system_ns() < end) {
        int64_t before = clock_system_ns(), now = clock_now_ns(&c), after = clock_system_ns();
        int64_t wrong = now < before ? before - now : now > after ? now - after : 0;
        if (after > end - 100000000 && wrong > worst_late)
            worst_late = wrong;
    }
    assert_true(dcc_clock_rate.max_ticks == 0 || dcc_clock_rate.ns_per_tick < right + right / 2000);
    assert_true(worst_late <= CLOCK_MAX_ERROR_NS);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_checksums_are_equal),
        cmocka_unit_test(long_texts_are_cut_between_characters),
        cmocka_unit_test(names_are_copied_and_found),
        cmocka_unit_test(full_tables_share_one_name),
        cmocka_unit_test(domains_and_categories),
        cmocka_unit_test(clock_is_the_systems),
#if defined(__x86_64__)
        cmocka_unit_test(wrong_rate_is_noticed),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
