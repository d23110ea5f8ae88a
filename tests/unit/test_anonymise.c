/* test_anonymise.c - names become the same words everywhere, and nothing else changes. A trace whose texts grow beyond
 * their blocks keeps its content. */
#include "collect/anonymise/trace.h"
#include "lib/base/hash.h"
#include "lib/archive/format.h"
#include "lib/reduce/summary.h"
#include "lib/trace/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct hide h;

static int set_up(void **state)
{
    (void)state;
    h = (struct hide){0};
    hide_learn(&h, HIDE_HOST, "gpu17.cluster.example.org");
    hide_learn(&h, HIDE_HOST, "step"); /* stays, because the report needs this word */
    hide_learn(&h, HIDE_USER, "alice");
    hide_learn(&h, HIDE_JOB, "acme-07");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hide_release(&h);
    return 0;
}

static void expect(void (*f)(struct hide *, const char *, struct dcr_buf *), const char *text, const char *want)
{
    struct dcr_buf b = {0};
    f(&h, text, &b);
    assert_string_equal(dcr_buf_text(&b), want);
    dcr_buf_release(&b);
}

static void names_are_replaced(void **state)
{
    (void)state;
    expect(hide_name, "step 12", "step 12");
    expect(hide_name, "aten::add / 2 (n/a)", "aten::add / 2 (n/a)");
    expect(hide_name, "alice", "user-1");
    expect(hide_name, "malice, alice's", "malice, user-1's");
    expect(hide_name, "run_alice-2:gpu17", "run_user-1-2:host-1");
    expect(hide_name, "on gpu17.cluster.example.org: done", "on host-1: done");
    expect(hide_name, "gpu17.", "host-1.");
    expect(hide_name, "load '/home/alice/a b.csv'", "load '/path-1/user-1/path-2 b.csv'");
    expect(hide_name, "/home/alice/a", "/path-1/user-1/path-2");
    expect(hide_name, "x=/scratch/alice/data.bin;", "x=/path-3/user-1/path-4.bin;");
    expect(hide_name, "10.1.2.3:4000 and fe80::1", "address-1:4000 and address-2");
    expect(hide_name, "4.1.4 at 12:30:45", "4.1.4 at 12:30:45");
    expect(hide_name, "git@host:p https://x.org/y", "address-3 address-4");
    expect(hide_name, "acme-07", "acme-07");
    expect(hide_sentence, "job acme-07: '/usr/lib/libc.so.6' and 'out/x' of 'program.json'",
           "job job-1: '/usr/lib/libc.so.6' and 'path-5/path-6' of 'program.json'");
    expect(hide_path, "/usr/lib/alice/libx.so", "/usr/lib/user-1/libx.so");
    expect(hide_path, "/usr/local/lib/libx.so", "/path-7/path-8/path-9/path-10.so");
    expect(hide_path, "../bin/python3", "../path-11/python3");
}

static void numbers_stay(void **state)
{
    (void)state;
    static const char *const numbers[] = {"1", "-2.5e9", "nan", "2024-01-02 10:11:12", "0-3,7", "0x1f"};
    static const char *const others[] = {"", "alice", "10.1.2.3", "1 node", "-"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_true(hide_is_number(numbers[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(hide_is_number(others[i]));
}

/* ---- a trace ---------------------------------------------------------------------------------------- */

enum { BLOCK = 4096, N_NAMES = 1000, N_BLOCKS = 40 };

static unsigned char trace[N_BLOCKS * BLOCK];
static size_t trace_bytes;

static void begin_block(uint32_t track, uint64_t seq)
{
    struct dct_block_header head = {.magic = DCT_BLOCK_MAGIC, .state = DCT_BLOCK_SEALED, .track = track, .seq = seq};
    memcpy(trace + trace_bytes, &head, sizeof head);
}

/* returns 0: the block is full */
static int put(const void *slots, uint32_t n)
{
    struct dct_block_header head;
    memcpy(&head, trace + trace_bytes, sizeof head);
    size_t at = sizeof head + (size_t)head.used_slots * DCT_SLOT_BYTES;
    if (at + n * DCT_SLOT_BYTES > BLOCK)
        return 0;
    memcpy(trace + trace_bytes + at, slots, n * DCT_SLOT_BYTES);
    head.used_slots += n;
    memcpy(trace + trace_bytes, &head, sizeof head);
    return 1;
}

static void end_block(uint32_t state)
{
    struct dct_block_header head;
    memcpy(&head, trace + trace_bytes, sizeof head);
    head.state = state;
    head.crc32c = dcr_crc32c(0, trace + trace_bytes + sizeof head, (size_t)head.used_slots * DCT_SLOT_BYTES);
    memcpy(trace + trace_bytes, &head, sizeof head);
    trace_bytes += BLOCK;
}

static void define(int kind, uint32_t id, const char *text, uint64_t *seq)
{
    struct dct_slot s[8] = {{.kind = (uint8_t)kind, .n_extra = 2, .name = id, .t_ns = (int64_t)strlen(text)}};
    memcpy(&s[1], text, strlen(text));
    if (put(s, 3))
        return;
    end_block(DCT_BLOCK_SEALED);
    begin_block(0, ++*seq);
    assert_true(put(s, 3));
}

static void put_range(uint32_t name, int64_t t, const char *payload)
{
    struct dct_slot s[5] = {{.kind = DCT_PUSH, .n_extra = 4, .name = name, .t_ns = t}};
    struct dct_attr a = {.payload_type = DCT_PAYLOAD_RAW, .payload = 48};
    struct dct_raw raw = {.schema = 1, .size = 32, .kept = 32};
    memcpy(&s[1], &a, sizeof a);
    memcpy(&s[2], &raw, sizeof raw);
    memcpy(&s[3], payload, strlen(payload));
    (void)put(s, 5);
    (void)put(&(struct dct_slot){.kind = DCT_POP, .t_ns = t + 10}, 1);
}

static void make_trace(void)
{
    struct dct_file_header f = {.magic = DCT_MAGIC, .version = DCT_VERSION, .block_bytes = BLOCK, .rank = 3, .pid = 7};
    uint64_t seq = 0;
    snprintf(f.host, sizeof f.host, "gpu17.cluster.example.org");
    memset(trace, 0, sizeof trace);
    memcpy(trace, &f, sizeof f);
    trace_bytes = BLOCK;
    begin_block(0, 0);
    for (uint32_t i = 1; i <= N_NAMES; i++) {
        char text[33];
        snprintf(text, sizeof text, i % 2 ? "/a/b/c/d/e/f/g/h/i/%u" : "layer %u", i);
        define(DCT_STRING, i, text, &seq);
    }
    define(DCT_NOTE, 0, "no room in '/home/alice/spool'", &seq);
    end_block(DCT_BLOCK_SEALED);
    for (uint64_t b = 0; b < 4; b++) { /* sealed, sealed, damaged, open */
        begin_block(7, b);
        for (uint32_t i = 0; i < 40; i++)
            put_range(1 + (uint32_t)(b * 40 + i) % N_NAMES, (int64_t)(1000000 * (b + 1) + 100 * i),
                      i % 2 ? "at /home/alice/x.csv now" : "\1\2\3\4\5\6\7");
        end_block(b == 3 ? DCT_BLOCK_OPEN : DCT_BLOCK_SEALED);
    }
    trace[trace_bytes - 2 * BLOCK + 200] ^= 1;
    memset(trace + trace_bytes, 0, BLOCK); /* reserved, never used */
    trace_bytes += BLOCK;
    assert_true(trace_bytes <= sizeof trace);
}

static int keep(void *ctx, const char *bytes, size_t n, struct dcr_err *err)
{
    (void)err;
    dcr_buf_add(ctx, bytes, n);
    return 0;
}

/* A line for each event, without names for which `skip` is not 0. */
static void tell(const char *bytes, size_t n, int skip, struct dcr_buf *out, struct dct_loss *loss)
{
    struct dcr_memory m = {bytes, n, 0};
    struct dcr_stream s = dcr_stream_memory(&m, "trace");
    struct dct_reader *r = NULL;
    struct dct_info info;
    struct dct_event e;
    int rc;
    assert_int_equal(dct_open(&r, &s, &info, NULL), 0);
    while ((rc = dct_next(r, &e, NULL)) == 0)
        dcr_buf_printf(out, "%d %u %lld %lld %s\n", e.kind, e.track, (long long)e.start_ns, (long long)e.end_ns,
                       skip && e.name[0] == '/' ? "" : e.name);
    assert_int_equal(rc, DCR_END);
    dct_get_loss(r, loss);
    dct_close(r);
}

static void trace_says_the_same(void **state)
{
    (void)state;
    struct dcr_memory m = {(const char *)trace, 0, 0};
    struct dcr_buf out = {0}, before = {0}, after = {0};
    uint32_t print;
    struct dct_loss was, is;
    make_trace();
    m.len = trace_bytes;
    struct dcr_stream s = dcr_stream_memory(&m, "trace");
    assert_int_equal(anonymise_trace(&h, &s, keep, &out, &print, NULL), 0);
    tell((const char *)trace, trace_bytes, 1, &before, &was);
    tell(out.data, out.len, 1, &after, &is);
    assert_string_equal(dcr_buf_text(&before), dcr_buf_text(&after));
    assert_true(before.len > 1000);
    assert_int_equal(was.n_bad_blocks, 1);
    assert_memory_equal(&was, &is, sizeof was);
    assert_true(out.len > trace_bytes); /* texts did not fit into their blocks */
    assert_null(memmem(out.data, out.len, "alice", 5));
    assert_null(memmem(out.data, out.len, "gpu17", 5));
    assert_null(memmem(out.data, out.len, "/a/b", 4));
    assert_non_null(memmem(out.data, out.len, "layer 20", 8));
    assert_non_null(memmem(out.data, out.len, "\1\2\3\4\5\6\7", 7));

    char path[] = "/tmp/test_anonymise.XXXXXX";
    int fd = mkstemp(path);
    int64_t size;
    uint32_t crc;
    assert_true(fd >= 0 && unlink(path) == 0 && write(fd, out.data, out.len) == (ssize_t)out.len);
    assert_int_equal(summary_fingerprint(fd, &size, &crc), 0);
    assert_int_equal(size, out.len);
    assert_int_equal(crc, print);
    close(fd);
    dcr_buf_release(&out);
    dcr_buf_release(&before);
    dcr_buf_release(&after);
}

/* A trace that is cut anywhere stays cut at the same place, and its events are the same. */
static void cut_trace_stays_cut(void **state)
{
    (void)state;
    make_trace();
    for (size_t n = BLOCK; n < trace_bytes; n += 397) {
        struct dcr_memory m = {(const char *)trace, n, 0};
        struct dcr_buf out = {0}, before = {0}, after = {0};
        struct dcr_stream s = dcr_stream_memory(&m, "trace");
        uint32_t print;
        struct dct_loss was, is;
        assert_int_equal(anonymise_trace(&h, &s, keep, &out, &print, NULL), 0);
        tell((const char *)trace, n, 1, &before, &was);
        tell(out.data, out.len, 1, &after, &is);
        assert_string_equal(dcr_buf_text(&before), dcr_buf_text(&after));
        assert_int_equal(was.is_torn, is.is_torn);
        assert_int_equal(was.n_bad_blocks, is.n_bad_blocks);
        assert_int_equal(was.n_open_blocks, is.n_open_blocks);
        dcr_buf_release(&out);
        dcr_buf_release(&before);
        dcr_buf_release(&after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_are_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(trace_says_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cut_trace_stays_cut, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
