/* test_kineto_stream.c - Chrome traces as streams: cut, broken, packed, larger than a window, read by two threads. */
#include "tests/unit/kineto_text.h"
#include "tests/unit/gaps.h"
#include "render/import/kineto/kineto.h"

#include <zlib.h>

/* snprintf into a buffer that is large enough. */
static __attribute__((format(printf, 2, 3))) size_t sprint(char *out, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(out, 4096, format, list);
    va_end(list);
    return (size_t)n;
}

/* Cut at every byte. Without a whole event there is a sentence with the file and the place, never a crash and never a
 * result. Whole events count, and the missing part is reported. */
static void test_cut(void **state)
{
    (void)state;
    static const char one[] =
        "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0}],\"traceEvents\":[" KERNEL("1", "2");
    static const char two[] = "," KERNEL("5.25", "2"), rest[] = "],\"traceName\":\"x\",\"n\":1}";
    char text[1024];
    size_t all = sprint(text, "%s%s%s", one, two, rest), first = sizeof one - 1, list = first + sizeof two - 1;
    for (size_t n = 20; n < all; n++) {
        assert_int_equal(import_bytes(text, n), n < first ? DCR_FAIL : 0);
        if (n < first) {
            assert_non_null(strstr(err.text, "t.json"));
            assert_non_null(strstr(err.text, "at byte"));
            assert_int_equal(run->n_traces, 0);
            continue;
        }
        assert_int_equal(device(0)->value[DEV_KERNELS], n < list ? 1 : 2);
        assert_int_equal(run->n_gaps, 1);
        if (n > list) { /* the ']' is there */
            const struct slot *slot = gap_slots(run, 0, PHRASE_TRACE_DAMAGED);
            if (slot)
                assert_true(slot[0].real > 0 && slot[0].real < (double)(n - list));
            else
                assert_non_null(strstr(assert_gap(run, 0, PHRASE_TRACE_REST_UNREAD)[0].name, "t.json"));
            continue;
        }
        assert_gap(run, 0, PHRASE_TRACE_UNCLOSED);
        int is_whole = n <= first + 1 || n == list;
        assert_gap(run, 0, is_whole ? PHRASE_TRACE_EVENTS : PHRASE_TRACE_EVENTS_BUT_LAST);
    }
    assert_int_equal(import_bytes(text, all), 0);
    assert_int_equal(run->n_gaps, 0);
}

/* Damaged in the middle: the events before and after count, and the bytes between them are reported. */
static void test_damaged(void **state)
{
    (void)state;
    static const char *const damaged[] = {"{\"ph\" \"X\"}", "{a:1}", "{\"ph\":", "{\"ts\":}",
                                          "{\"args\":{\"device\":0},]}"};
    char text[2048];
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
        for (int is_list = 0; is_list < 2; is_list++) {
            sprint(text, "%s%s,%s,%s]%s", is_list ? "[" : "{\"traceEvents\":[", KERNEL("1", "2"), damaged[i],
                   KERNEL("5", "2") "," KERNEL("9", "2"), is_list ? "" : "}");
            assert_int_equal(import_text(text), 0);
            assert_int_equal(device(0)->value[DEV_KERNELS], 3);
            assert_int_equal(run->n_gaps, 1);
            const struct slot *slot = assert_gap(run, 0, PHRASE_TRACE_DAMAGED);
            assert_true(slot[0].real == (double)strlen(damaged[i]) + 1); /* with the comma */
            assert_int_equal(slot[1].count, 1);
        }
}

/* A file that is itself the list of events may end after any event or inside one. The complete events count, and the
 * missing end is reported. */
static void test_list_without_end(void **state)
{
    (void)state;
    static const char one[] = "[" KERNEL("1", "2"), text[] = "[" KERNEL("1", "2") ",\n" KERNEL("5", "2") ",\n";
    for (size_t n = 20; n < sizeof text; n++) {
        int has_one = n >= sizeof one - 1, is_whole = n <= sizeof one + 1 || n >= sizeof text - 3;
        assert_int_equal(import_bytes(text, n), has_one ? 0 : DCR_FAIL);
        assert_int_equal(run->n_traces, has_one);
        if (!has_one) {
            assert_non_null(strstr(err.text, "in the middle of an event"));
            continue;
        }
        assert_int_equal(run->traces[0].devices[0].value[DEV_KERNELS], n < sizeof text - 3 ? 1 : 2);
        assert_int_equal(run->n_gaps, 1);
        assert_gap(run, 0, PHRASE_TRACE_UNCLOSED);
        assert_int_equal(assert_gap(run, 0, is_whole ? PHRASE_TRACE_EVENTS : PHRASE_TRACE_EVENTS_BUT_LAST)[0].count,
                         n < sizeof text - 3 ? 1 : 2);
    }
    assert_int_equal(import_text("[" KERNEL("1", "2") "]"), 0);
    assert_int_equal(run->n_gaps, 0);
}

/* Two traces in one file: the second one is not left out silently. */
static void test_more_behind(void **state)
{
    (void)state;
    static const char *const one[] = {"{\"traceEvents\":[" KERNEL("1", "2") "]}", "[" KERNEL("1", "2") "]"};
    char text[1024];
    for (int i = 0; i < 2; i++) {
        sprint(text, "%s \r\n\n", one[i]);
        assert_int_equal(import_text(text), 0);
        sprint(text, "%s\n%s", one[i], one[0]);
        assert_int_equal(import_text(text), 0);
        assert_int_equal(device(0)->value[DEV_KERNELS], 1);
        assert_int_equal(run->n_gaps, 1);
        assert_true(assert_gap(run, 0, PHRASE_TRACE_DAMAGED)[0].real == (double)strlen(one[0]));
    }
}

/* The list, with that many bytes, holds whole events and their separators of two bytes, and perhaps a cut event. */
static void check_cut_last(size_t list_bytes, size_t one_bytes)
{
    const size_t rest = list_bytes % one_bytes, n = list_bytes / one_bytes + (rest >= one_bytes - 2);
    assert_int_equal(device(0)->value[DEV_KERNELS], n);
    assert_int_equal(run->n_gaps, 1);
    assert_gap(run, 0, PHRASE_TRACE_UNCLOSED);
    int is_whole = rest == 0 || rest >= one_bytes - 2;
    assert_int_equal(assert_gap(run, 0, is_whole ? PHRASE_TRACE_EVENTS : PHRASE_TRACE_EVENTS_BUT_LAST)[0].count, n);
}

/* Cut inside an event at and around the place where the first window ends, where the bytes move when no more follow.
 * The old bytes after them in the window would complete the event with a wrong content. */
static void test_cut_at_window(void **state)
{
    (void)state;
    enum { WINDOW = 1 << 18 };
    static const char one[] = KERNEL("1", "2") ",\n";
    static char text[WINDOW + 256];
    for (size_t len = WINDOW - 4; len <= WINDOW + 4; len++) {
        size_t n = (size_t)snprintf(text, sizeof text, "{\"traceEvents\":[");
        while (n < len) {
            size_t k = len - n < sizeof one - 1 ? len - n : sizeof one - 1;
            memcpy(text + n, one, k);
            n += k;
        }
        assert_int_equal(import_bytes(text, len), 0);
        check_cut_last(len - (sizeof "{\"traceEvents\":[" - 1), sizeof one - 1);
    }
    /* The window ends in an event (the rest of the file is longer than it), whose pieces move to its beginning. */
    for (size_t head = 0; head < 140; head += 7) {
        size_t n = (size_t)snprintf(text, sizeof text, "{\"x\":\"%.*s\",\"traceEvents\":[", (int)head,
                                    "0123456789012345678901234567890123456789012345678901234567890123456789"
                                    "0123456789012345678901234567890123456789012345678901234567890123456789");
        const size_t list_bytes = WINDOW - n;
        while (n < WINDOW) {
            size_t k = WINDOW - n < sizeof one - 1 ? WINDOW - n : sizeof one - 1;
            memcpy(text + n, one, k);
            n += k;
        }
        assert_int_equal(import_bytes(text, WINDOW), 0);
        check_cut_last(list_bytes, sizeof one - 1);
    }
}

static void test_broken(void **state)
{
    (void)state;
    static const char *const texts[] = {"{\"traceEvents\":[{\"ph\" \"X\"}]}", "{\"traceEvents\":[{ph:1}]}",
                                        "{\"schemaVersion\" 1}", "{\"schemaVersion\":1, traceEvents:[]}",
                                        "{\"traceEvents\":[{\"ts\":}]}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(import_text(texts[i]), DCR_FAIL);
        assert_non_null(strstr(err.text, "it is not JSON"));
        /* A file with a list of events is a trace, however broken. */
        assert_int_equal(err.kind, strstr(texts[i], "\"traceEvents\"") ? DCR_ERR_ANY : DCR_ERR_NO_TRACE);
    }
    assert_int_equal(import_text("{\"schemaVersion\":1}"), DCR_FAIL);
    assert_int_equal(import_text("{\"a\":1}"), DCR_END);
    assert_int_equal(import_text(""), DCR_END);
    assert_int_equal(import_text("[[-1, 1]]"), DCR_END);
}

static size_t gzip(char *out, size_t cap, const char *text)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (uInt)strlen(text);
    z.next_out = (unsigned char *)out;
    z.avail_out = (uInt)cap;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t n = z.total_out;
    deflateEnd(&z);
    return n;
}

/* Two members and padding; cut at every byte of both; other bytes behind them. */
static void test_gzip(void **state)
{
    (void)state;
    char bytes[4096] = {0};
    size_t n = gzip(bytes, 2000, "{\"traceEvents\":[" KERNEL("1", "2"));
    size_t all = n + gzip(bytes + n, 2000, "," KERNEL("5", "2") "]}");
    assert_int_equal(import_bytes(bytes, all), 0);
    assert_int_equal(device(0)->value[DEV_KERNELS], 2);
    assert_int_equal(import_bytes(bytes, all + 512), 0);
    int n_read = 0;
    for (size_t k = 3; k < all; k++) {
        int rc = import_bytes(bytes, k);
        assert_true(rc == DCR_FAIL || rc == 0);
        if (rc == DCR_FAIL) {
            assert_string_not_equal(err.text, "");
            assert_int_equal(n_read, 0); /* more bytes never give less */
            continue;
        }
        n_read++;
        assert_in_range(device(0)->value[DEV_KERNELS], 1, 2);
        assert_true(run->n_gaps >= 1);
    }
    assert_in_range(n_read, all - n, all);
    bytes[all] = 'x';
    assert_int_equal(import_bytes(bytes, all + 1), 0);
    assert_int_equal(device(0)->value[DEV_KERNELS], 2);
    assert_gap(run, 0, PHRASE_TRACE_REST_UNREAD);
    bytes[all] = 0;
    bytes[n + 20] ^= 0x55;
    assert_int_equal(import_bytes(bytes, all), 0);
    /* The damaged byte can be a letter of the name; then both kernels count. */
    assert_in_range(device(0)->value[DEV_KERNELS], 1, 2);
    assert_gap(run, run->n_gaps - 1, PHRASE_TRACE_REST_UNREAD);
    n = gzip(bytes, 2000, "[" KERNEL("1", "2") ",{\"ph\":");
    assert_int_equal(import_bytes(bytes, n), 0);
    assert_int_equal(run->n_gaps, 1);
    assert_gap(run, 0, PHRASE_TRACE_UNCLOSED);
    assert_int_equal(import_bytes(bytes, n - 1), 0);
    assert_gap(run, 0, PHRASE_TRACE_REST_UNREAD);
}

/* Larger than the first window: whole, cut at some places, broken JSON that leaves bytes after it. */
static void test_large_gzip(void **state)
{
    (void)state;
    enum { N = 20000, CAP = 1 << 21 };
    char *text = malloc(CAP), *bytes = malloc(CAP);
    size_t len = 1;
    assert_non_null(text);
    assert_non_null(bytes);
    text[0] = '[';
    for (int i = 0; i < N; i++)
        len += (size_t)snprintf(text + len, CAP - len,
                                "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k%d\",\"pid\":0,\"ts\":%d,\"dur\":2},",
                                i % 97, 3 * i);
    memcpy(text + len - 1, "]", 2);
    size_t n = gzip(bytes, CAP, text);
    assert_int_equal(import_bytes(bytes, n), 0);
    assert_int_equal(device(0)->value[DEV_KERNELS], N);
    assert_int_equal(device(0)->value[DEV_BUSY], 2000 * (int64_t)N);
    int64_t n_before = 0;
    for (size_t k = 1; k < 8; k++) {
        assert_int_equal(import_bytes(bytes, n * k / 8), 0);
        const char *why = assert_gap(run, 0, PHRASE_TRACE_REST_UNREAD)[0].name;
        assert_non_null(strstr(why, "is cut in the middle of its gzip data"));
        assert_in_range(device(0)->value[DEV_KERNELS], n_before + 1, N - 1);
        n_before = device(0)->value[DEV_KERNELS];
    }
    assert_int_equal(import_bytes(text, len - 9), 0); /* inside the last event, far behind the first window */
    assert_int_equal(device(0)->value[DEV_KERNELS], N - 1);
    assert_int_equal(run->n_gaps, 1);
    text[200] = '\\';
    text[201] = '"';
    memcpy(text + 100, "}{\"x\" 5", 7);
    n = gzip(bytes, CAP, text);
    assert_int_equal(import_bytes(bytes, n), 0);
    assert_int_equal(run->n_gaps, 1);
    assert_gap(run, 0, PHRASE_TRACE_DAMAGED);
    assert_int_equal(device(0)->value[DEV_KERNELS], N - 2);
    free(text);
    free(bytes);
}

enum { TINY_EVENTS = 200000 };

/* Some windows of text: kernels, pairs that reach across, a value larger than a window, thousands of tiny events, some
 * of them in the large window, a header behind them. */
static char *large_trace(size_t *len)
{
    enum { LONG = 600000 };
    char *text = malloc(4 << 20), *p = text;
    p += sprint(
        p, "{\"traceEvents\":[{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"a\\u0041\",\"pid\":1,\"tid\":1,\"ts\":5}");
    for (int i = 0; i < 6000; i++) {
        p += sprint(
            p,
            ",\n "
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k%d\\n\",\"pid\":0,\"tid\":7,\"ts\":%d.%d,\"dur\":%d,\"args\":"
            "{\"device\":%d,\"stream\":7,\"correlation\":%d}}",
            i % 13, 1000 + 20 * i, i % 1000, i % 17, i % 2, i);
        if (i == 3000) {
            p += sprint(p, ",{\"ph\":\"X\",\"x\":\"");
            memset(p, 'y', LONG);
            p += LONG;
            p += sprint(p, "\"}");
            for (int k = 0; k < TINY_EVENTS / 2; k++)
                p += sprint(p, ",{}");
        }
    }
    for (int i = 0; i < TINY_EVENTS / 2; i++)
        p += sprint(p, ",{}");
    p += sprint(p, ",{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":900000}],\"distributedInfo\":{\"rank\":3}}");
    *len = (size_t)(p - text);
    return text;
}

/* Read in one thread and in two: the same numbers, the same losses. */
static void test_apart(void **state)
{
    (void)state;
    size_t n;
    char *text = large_trace(&n);
    const size_t ends[] = {n, n - 1, n - 30000, 300000, 280000, 262144};
    for (size_t k = 0; k <= sizeof ends / sizeof *ends; k++) {
        size_t end = k < sizeof ends / sizeof *ends ? ends[k] : n;
        if (k == sizeof ends / sizeof *ends)
            memcpy(strstr(text + n - 40000, ",{},{}"), ",{a:1}", 6);
        kineto_way(KINETO_ALONE);
        int rc = import_bytes(text, end);
        int64_t work = kineto_work();
        struct dcr_err why = err;
        struct run *alone = run;
        run = NULL;
        kineto_way(KINETO_APART);
        assert_int_equal(import_bytes(text, end), rc);
        assert_int_equal(rc, 0);
        assert_string_equal(err.text, why.text);
        assert_int_equal(alone->n_traces, 1);
        assert_int_equal(run->n_traces, 1);
        assert_in_range(work, end, 3 * n); /* no byte is moved or indexed for each batch of events */
        assert_in_range(kineto_work(), end, 3 * n);
        const struct foreign_trace *x = &alone->traces[0], *y = &run->traces[0];
        assert_int_equal(x->n_events, y->n_events);
        assert_int_equal(x->n_unclosed, y->n_unclosed);
        assert_int_equal(x->n_damaged, y->n_damaged);
        assert_int_equal(x->damaged_bytes, y->damaged_bytes);
        assert_int_equal(x->n_devices, 2);
        assert_int_equal(y->n_devices, 2);
        for (int i = 0; i < 2; i++)
            assert_memory_equal(x->devices[i].value, y->devices[i].value, sizeof x->devices[i].value);
        assert_int_equal(run->n_gaps, alone->n_gaps);
        assert_true(k == 0 || run->n_gaps > 0);
        if (k == 0) {
            assert_int_equal(x->n_events, 6003 + TINY_EVENTS);
            assert_int_equal(y->rank, 3);
            assert_int_equal(run->n_gaps, 0);
            assert_int_equal(y->operators.n, 1);
            assert_string_equal(y->operators.list[0].name, "aA");
            assert_int_equal(y->operators.list[0].total_ns, 899995000);
        } else if (k == sizeof ends / sizeof *ends) { /* damage does not end at an object without "ph": up to the last
                                                       * event */
            assert_in_range(x->n_events, 6003 + TINY_EVENTS - 14000, 6003 + TINY_EVENTS - 1);
            assert_int_equal(x->n_damaged, 1);
            assert_int_equal(y->operators.n, 1);
            assert_int_equal(run->n_gaps, 1);
        }
        run_free(alone);
    }
    kineto_way(KINETO_AS_CORES);
    free(text);
}

/* A pair whose arguments are larger than a window. A pair with more text than is kept for open ones: it is left out
 * with everything in it, but ends nothing around it. */
static void test_large_pairs(void **state)
{
    (void)state;
    size_t large = 17 << 20;
    char *text = malloc(large + 4096), *p = text;
    for (int is_too_large = 0; is_too_large < 2; is_too_large++) {
        size_t n = is_too_large ? large : 300000;
        p = text;
        p += sprint(p, "[{\"ph\":\"B\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":1},"
                       "{\"ph\":\"B\",\"cat\":\"gpu_memcpy\",\"name\":\"m\",\"ts\":2,\"args\":{\"x\":\"");
        memset(p, 'x', n);
        p += n;
        sprint(p, "\"}},{\"ph\":\"B\",\"cat\":\"gpu_memset\",\"name\":\"s\",\"ts\":3},{\"ph\":\"E\",\"ts\":4},"
                  "{\"ph\":\"E\",\"ts\":6},{\"ph\":\"E\",\"ts\":10}]");
        assert_int_equal(import_text(text), 0);
        assert_int_equal(device(0)->value[DEV_COMPUTE], 9000);
        assert_int_equal(device(0)->value[DEV_MEMCPY], is_too_large ? 0 : 4000);
        assert_int_equal(device(0)->value[DEV_MEMSETS], is_too_large ? 0 : 1);
        assert_int_equal(run->traces[0].n_unpaired, is_too_large ? 4 : 0);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_apart, forget),       cmocka_unit_test_teardown(test_cut, forget),
        cmocka_unit_test_teardown(test_damaged, forget),     cmocka_unit_test_teardown(test_list_without_end, forget),
        cmocka_unit_test_teardown(test_more_behind, forget), cmocka_unit_test_teardown(test_cut_at_window, forget),
        cmocka_unit_test_teardown(test_broken, forget),      cmocka_unit_test_teardown(test_gzip, forget),
        cmocka_unit_test_teardown(test_large_gzip, forget),  cmocka_unit_test_teardown(test_large_pairs, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
