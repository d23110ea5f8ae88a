/* test_segment.c - the memory shared by program and collector: its layout, its tables of names; and the clock of the
 * library in the program. The library itself is tested inside programs (tests/integration/collect_trace.sh). */
#include "collect/guest/clock.c"
#include "collect/guest/names.c"

#include "collect/drain/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct shared shared;

static int make_segment(void **state)
{
    struct dcr_err err = {0};
    (void)state;
    memset(last, 0, sizeof last);
    if (shared_make(&shared, 8 << 20, "/nowhere/segment-x-1", &err) != 0) {
        print_error("%s\n", err.text);
        return -1;
    }
    return 0;
}

static int drop_segment(void **state)
{
    (void)state;
    shared_close(&shared, 1);
    return 0;
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

static uint32_t add(const char *text)
{
    uint32_t len, hash = names_hash(text, SIZE_MAX, &len);
    uint32_t id = names_intern(shared.segment, text, len, hash, 0, 0);
    assert_int_equal(names_find(shared.segment, text, len, hash), id);
    return id;
}

static void parts_lie_one_behind_the_other(void **state)
{
    (void)state;
    const struct segment *s = shared.segment;
    assert_true(sizeof *s <= s->processes_at);
    assert_true(s->processes_at + s->n_processes * sizeof(struct segment_process) <= s->names_at);
    assert_true(s->text_at + s->text_bytes <= s->states_at);
    assert_true(s->states_at + s->n_blocks * sizeof(uint32_t) <= s->blocks_at);
    assert_true(s->blocks_at + (uint64_t)s->n_blocks * SEGMENT_BLOCK_BYTES <= s->begin.bytes);
    assert_int_equal(s->blocks_at % 4096, 0);
    assert_true((uint64_t)s->n_blocks * SEGMENT_BLOCK_BYTES > s->begin.bytes * 7 / 10); /* most of it is for events */
}

static void a_small_share_of_memory_is_enough(void **state)
{
    (void)state;
    int64_t one = shared_bytes(8, 1, 1), many = shared_bytes(8, 1 << 20, 1);
    assert_true(one <= 8 << 20 && one >= 512 << 10);
    assert_int_equal(many, 512 << 10);
    struct shared small;
    assert_int_equal(shared_make(&small, many, "/nowhere/segment-x-2", NULL), 0);
    assert_true(small.segment->n_blocks >= 8);
    shared_close(&small, 1);
}

static void another_token_or_a_living_collector_is_refused(void **state)
{
    struct shared found;
    struct dcr_err err = {0};
    char path[256];
    (void)state;
    if (shared.is_nameless)
        skip();
    uint64_t token = shared.segment->token;
    snprintf(path, sizeof path, "%s", shared.path);
    assert_int_equal(shared_find(&found, path, token, &err), DCR_FAIL);
    assert_non_null(strstr(err.text, "a collector still records through '"));
    shared_close(&shared, 0); /* as when the collector is killed */
    assert_int_equal(shared_find(&found, path, token + 1, &err), DCR_FAIL);
    assert_int_equal(shared_find(&found, path, token, &err), 0);
    uint32_t n_blocks = found.segment->n_blocks, wrong = n_blocks + 1;
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, &wrong, sizeof wrong, offsetof(struct segment, n_blocks)), sizeof wrong);
    assert_int_equal(found.segment->n_blocks, n_blocks); /* writes of others into the header change nothing here */
    shared_close(&found, 0);
    close(fd);
    assert_int_equal(shared_find(&found, path, token, &err), DCR_FAIL);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(shared_find(&found, path, token, &err), DCR_END);
    assert_int_equal(make_segment(state), 0);
}

static void names_are_copied_and_found(void **state)
{
    (void)state;
    char text[32] = "forward";
    uint32_t id = add(text);
    assert_true(id > 1);
    strncpy(text, "backward", sizeof text); /* the program reuses its buffer */
    assert_string_equal(segment_text(shared.segment, id), "forward");
    assert_int_not_equal(id, add(text));
    assert_int_equal(add("forward"), id);
    uint32_t len, hash = names_hash("nothing", SIZE_MAX, &len);
    assert_int_equal(names_find(shared.segment, "nothing", len, hash), 0);
}

static void a_full_table_takes_no_more(void **state)
{
    (void)state;
    char text[32];
    uint32_t n = shared.segment->max_names;
    for (uint32_t i = 2; i < n; i++) {
        snprintf(text, sizeof text, "step %u", i);
        assert_int_not_equal(add(text), 0);
    }
    assert_int_equal(add("one too many"), 0);
    assert_int_equal(drop_segment(state), 0);
    assert_int_equal(make_segment(state), 0);
    for (uint32_t i = 2; i < n; i++) {
        uint32_t len, hash;
        snprintf(text, sizeof text, "step %u", i);
        hash = names_hash(text, SIZE_MAX, &len);
        names_intern(shared.segment, text, len, hash, 0, 1);
    }
    assert_int_not_equal(add("a file"), 0); /* an eighth is left for files */
    assert_int_not_equal(add("step 17"), 0);
    assert_string_equal(segment_text(shared.segment, SEGMENT_OVERFLOW), "(more names than the collector keeps)");
}

static void domains_have_numbers(void **state)
{
    (void)state;
    uint32_t first = names_domain(shared.segment, add("dcrnn"));
    assert_int_equal(first, 1);
    assert_int_equal(names_domain(shared.segment, add("dcrnn")), first);
    char text[32];
    for (int i = 0; i < SEGMENT_DOMAINS + 10; i++) {
        snprintf(text, sizeof text, "domain %d", i);
        uint32_t d = names_domain(shared.segment, add(text));
        assert_true(d > 0 && d < SEGMENT_DOMAINS);
    }
}

static void only_news_are_said(void **state)
{
    (void)state;
    struct segment *s = shared.segment;
    names_say(s, 1, DCT_CATEGORY, 1, 7, 2);
    names_say(s, 1, DCT_CATEGORY, 1, 7, 2);
    assert_int_equal(s->n_said, 1);
    names_say(s, 1, DCT_CATEGORY, 1, 7, 3); /* renamed */
    names_say(s, 1, DCT_CATEGORY, 2, 7, 2); /* another domain's 7 */
    assert_int_equal(s->n_said, 3);
    names_say(s, 1, DCT_SCHEMA, 1, 7, 2);
    names_say(s, 1, DCT_NOTE, 0, 0, 2);
    assert_int_equal(s->n_said, 5);
    assert_int_equal(segment_said(s)[1].name, 3);
    assert_int_equal(segment_said(s)[3].kind, DCT_SCHEMA);
    for (uint32_t i = 0; i < 2 * s->max_said; i++)
        names_say(s, 1, DCT_THREAD, 0, i, 2);
    assert_true(s->n_said >= s->max_said);
    assert_int_equal(segment_said(s)[s->max_said - 1].kind, DCT_THREAD);
}

/* The time of a track's clock lies between two looks at the system's, over half a second and on changing threads. */
static void clock_is_the_systems(void **state)
{
    (void)state;
    static struct clock_track c;
    clock_has_tsc = shared.segment->begin.has_tsc != 0;
    clock_begin();
    int64_t end = dcr_mono_ns() + 500000000, before_last = 0, worst = 0;
    long n = 0, n_by_counter = 0;
    do {
        int64_t before = dcr_mono_ns();
        n_by_counter += dcc_clock_rate.max_ticks != 0;
        int64_t now = clock_now_ns(&c);
        int64_t after = dcr_mono_ns();
        assert_true(now >= before_last);
        before_last = now;
        int64_t wrong = now < before ? before - now : now > after ? now - after : 0;
        worst = wrong > worst ? wrong : worst;
        n++;
    } while (before_last < end);
    print_message("clock: %ld looks, %ld by the counter, at most %lld ns beside CLOCK_MONOTONIC\n", n, n_by_counter,
                  (long long)worst);
    assert_true(worst <= CLOCK_MAX_ERROR_NS);
#if defined(__x86_64__)
    if (shared.segment->begin.has_tsc)
        assert_true(n_by_counter > 0);
#endif
}

#if defined(__x86_64__)
/* A rate that is wrong by a thousandth, as after a move to another machine: it is noticed. */
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
    int64_t end = dcr_mono_ns() + 200000000, worst_late = 0;
    while (dcr_mono_ns() < end) {
        int64_t before = dcr_mono_ns(), now = clock_now_ns(&c), after = dcr_mono_ns();
        int64_t wrong = now < before ? before - now : now > after ? now - after : 0;
        if (after > end - 100000000 && wrong > worst_late)
            worst_late = wrong;
    }
    assert_true(dcc_clock_rate.max_ticks == 0);
    assert_true(worst_late <= CLOCK_MAX_ERROR_NS);
}
#endif

int main(void)
{
#define WITH_SEGMENT(test) cmocka_unit_test_setup_teardown(test, make_segment, drop_segment)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_texts_are_cut_between_characters),
        WITH_SEGMENT(parts_lie_one_behind_the_other),
        cmocka_unit_test(a_small_share_of_memory_is_enough),
        WITH_SEGMENT(another_token_or_a_living_collector_is_refused),
        WITH_SEGMENT(names_are_copied_and_found),
        WITH_SEGMENT(a_full_table_takes_no_more),
        WITH_SEGMENT(domains_have_numbers),
        WITH_SEGMENT(only_news_are_said),
        WITH_SEGMENT(clock_is_the_systems),
#if defined(__x86_64__)
        cmocka_unit_test(wrong_rate_is_noticed),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
