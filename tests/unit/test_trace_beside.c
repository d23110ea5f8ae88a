/* test_trace_beside.c - lib/trace_beside, lib/trace_chunks: a watcher on another core sees the same as on the reader's,
 * and the summary is the same; whole, damaged, torn and failing traces. */
#include "lib/base/cores.h"
#include "lib/base/hash.h"
#include "lib/reduce/summary.h"
#include "lib/trace/trace_beside.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* More blocks than all chunks hold at once. */
enum { BLOCK = 4096, N_BLOCKS = 900, SHORT = 60, SLOTS = (BLOCK - sizeof(struct dct_block_header)) / DCT_SLOT_BYTES };

static unsigned char *trace;

static struct dct_block_header *block_at(int i)
{
    return (struct dct_block_header *)(void *)(trace + (size_t)i * BLOCK);
}

static void put(struct dct_block_header *b, int kind, uint32_t name, int64_t t_ns)
{
    ((struct dct_slot *)(b + 1))[b->used_slots++] =
        (struct dct_slot){.kind = (uint8_t)kind, .name = name, .t_ns = t_ns};
}

static void put_text(struct dct_block_header *b, int kind, uint32_t id, const char *text)
{
    size_t n = strlen(text);
    put(b, kind, id, (int64_t)n);
    struct dct_slot *s = (struct dct_slot *)(b + 1) + b->used_slots;
    s[-1].n_extra = (uint8_t)((n + DCT_SLOT_BYTES - 1) / DCT_SLOT_BYTES);
    memcpy(s, text, n);
    b->used_slots += s[-1].n_extra;
}

static void seal(struct dct_block_header *b)
{
    b->state = DCT_BLOCK_SEALED;
    b->crc32c = dcr_crc32c(0, b + 1, (size_t)b->used_slots * DCT_SLOT_BYTES);
}

/* Two threads in turns, a step of each block around kernels of 10 to 310 ns, and a mark; a name that comes late. */
static int make_trace(void **state)
{
    (void)state;
    trace = calloc(N_BLOCKS, BLOCK);
    assert_non_null(trace);
    *(struct dct_file_header *)(void *)trace = (struct dct_file_header){.magic = DCT_MAGIC,
                                                                        .version = DCT_VERSION,
                                                                        .block_bytes = BLOCK,
                                                                        .rank = 3,
                                                                        .node = 1,
                                                                        .pid = 11,
                                                                        .host = "box",
                                                                        .dropped = 2};
    for (int i = 1; i < N_BLOCKS; i++) {
        struct dct_block_header *b = block_at(i);
        int is_text = i == 1 || i == N_BLOCKS / 2, turn = i - 2 - (i > N_BLOCKS / 2);
        *b = (struct dct_block_header){.magic = DCT_BLOCK_MAGIC,
                                       .track = is_text ? 0 : 11 + (uint32_t)turn % 2,
                                       .seq = (uint64_t)(is_text ? i > 1 : turn / 2)};
        if (i == 1) {
            put_text(b, DCT_STRING, 1, "step");
            put_text(b, DCT_STRING, 2, "kernel");
            put_text(b, DCT_THREAD, 11, "loader");
            put_text(b, DCT_NOTE, 0, "a note");
        } else if (is_text) {
            put_text(b, DCT_STRING, 3, "forward");
        } else {
            int64_t t = 1000000 * (int64_t)i;
            put(b, DCT_PUSH, 1, t);
            while (b->used_slots + 6 < SLOTS) {
                put(b, DCT_PUSH, 2 + b->used_slots / 2 % 2, t += 100);
                put(b, DCT_POP, 0, t += 10 + 50 * (b->used_slots % 7));
            }
            put(b, DCT_MARK, 2, t);
            put(b, DCT_POP, 0, t += 50);
        }
        seal(b);
    }
    return 0;
}

static int free_trace(void **state)
{
    (void)state;
    free(trace);
    return 0;
}

/* The observed events as one number, and the thread that observed them. */
struct seen {
    uint64_t sum, n, n_long, enough; /* enough: number of events after which it stops, 0 all */
    pthread_t by;
    int has_begun, is_ended;
    char thread[32];
    struct dct_loss loss;
    struct dct_leave_out leave_out;
};

static void see(struct seen *s, const void *bytes, size_t n)
{
    s->sum = s->sum * 31 + dcr_crc32c(0, bytes, n);
}

static void on_begin(void *ctx, const struct dct_info *info)
{
    struct seen *s = ctx;
    s->has_begun = info->rank == 3;
}

static int on_event(void *ctx, const struct dct_event *e)
{
    struct seen *s = ctx;
    int64_t numbers[] = {e->kind, e->is_open, e->track, e->depth, e->start_ns, e->end_ns, (int64_t)e->payload};
    s->by = pthread_self();
    s->n++;
    if (s->leave_out.shorter_ns) { /* short ones of thread 11 may be given or counted */
        s->n_long += e->kind == DCT_MARK || e->track != 11 || e->end_ns - e->start_ns >= s->leave_out.shorter_ns;
        return 0;
    }
    see(s, numbers, sizeof numbers);
    see(s, e->name, strlen(e->name));
    see(s, e->category, strlen(e->category));
    return s->n == s->enough;
}

static void on_end(void *ctx, struct dct_reader *r)
{
    struct seen *s = ctx;
    s->is_ended++;
    snprintf(s->thread, sizeof s->thread, "%s", dct_thread_name(r, 11));
    dct_get_loss(r, &s->loss);
}

struct failing {
    size_t n; /* bytes before the failure; more than exist: no failure */
    size_t at, len;
};

/* In pieces, as streams come. */
static ssize_t failing_read(void *ctx, void *out, size_t n, struct dcr_err *err)
{
    struct failing *f = ctx;
    if (f->at >= f->n)
        return dcr_err_set(err, DCR_FAIL, "cannot read: a stone in the way");
    n = n > 3000 ? 3000 : n;
    n = n > f->len - f->at ? f->len - f->at : n;
    memcpy(out, trace + f->at, n);
    f->at += n;
    return (ssize_t)n;
}

struct outcome {
    int rc;
    struct dcr_err err;
    struct seen seen;
    uint64_t sum; /* of the text of the summary */
};

static struct outcome read_until(uint64_t enough, size_t len, size_t fail_at, int64_t shorter_ns, int is_beside)
{
    struct outcome o = {.seen.enough = enough,
                        .seen.leave_out = {.track = 11, .shorter_ns = shorter_ns, .latest_ns = INT64_MAX}};
    struct dct_watch watch = {on_begin, on_event, on_end, &o.seen, shorter_ns ? &o.seen.leave_out : NULL};
    struct failing f = {.n = fail_at, .len = len};
    struct dcr_stream s = {failing_read, &f, "made"};
    struct dcr_arena a = {0};
    struct summary sum;
    int n_others = is_beside ? -1000 : 1000;
    dcr_cores_work(n_others); /* as if all cores were free, or none */
    o.rc = summary_of_trace_with_gpu(&sum, &a, &s, SUMMARY_NAMES, NULL, &watch, &o.err);
    dcr_cores_work(-n_others);
    if (o.rc == 0) {
        struct dcr_buf text = {0};
        summary_write(&sum, &text);
        o.sum = dcr_crc32c(0, dcr_buf_text(&text), text.len);
        assert_string_equal(sum.notes, "a note");
        dcr_buf_release(&text);
    }
    assert_true(o.seen.has_begun);
    assert_int_equal(o.seen.is_ended, 1);
    dcr_arena_release(&a);
    return o;
}

static struct outcome read_trace(size_t len, size_t fail_at, int64_t shorter_ns, int is_beside)
{
    return read_until(0, len, fail_at, shorter_ns, is_beside);
}

static struct outcome equal_both_ways(size_t len, size_t fail_at)
{
    struct outcome one = read_trace(len, fail_at, 0, 0), two = read_trace(len, fail_at, 0, 1);
    assert_true(pthread_equal(one.seen.by, pthread_self()));
    assert_int_equal(pthread_equal(two.seen.by, pthread_self()) == 0, len > (size_t)2 * SHORT * BLOCK);
    assert_int_equal(one.rc, two.rc);
    assert_string_equal(one.err.text, two.err.text);
    assert_int_equal(one.seen.n, two.seen.n);
    assert_int_equal(one.seen.sum, two.seen.sum);
    assert_int_equal(one.sum, two.sum);
    assert_string_equal(one.seen.thread, two.seen.thread);
    assert_memory_equal(&one.seen.loss, &two.seen.loss, sizeof one.seen.loss);
    return two;
}

static void test_whole(void **state)
{
    (void)state;
    struct outcome o = equal_both_ways((size_t)N_BLOCKS * BLOCK, SIZE_MAX);
    assert_int_equal(o.rc, 0);
    assert_string_equal(o.seen.thread, "loader");
    assert_int_equal(o.seen.n, (uint64_t)(N_BLOCKS - 3) * (2 + (SLOTS - 7 + 1) / 2));
    assert_int_equal(o.seen.loss.n_dropped, 2);
    equal_both_ways((size_t)SHORT * BLOCK, SIZE_MAX); /* not worth a thread */
}

static void test_damaged_and_torn(void **state)
{
    (void)state;
    unsigned char *wrong = trace + (size_t)400 * BLOCK + 200, *odd = trace + (size_t)700 * BLOCK + 4;
    *wrong ^= 1; /* against the checksum */
    *odd ^= 3;   /* the state */
    struct outcome o = equal_both_ways((size_t)N_BLOCKS * BLOCK - 1000, SIZE_MAX);
    *wrong ^= 1;
    *odd ^= 3;
    assert_int_equal(o.rc, 0);
    assert_true(o.seen.loss.n_bad_blocks >= 1 && o.seen.loss.n_missing_blocks >= 1 && o.seen.loss.n_open_ranges >= 2);
    assert_int_equal(o.seen.loss.is_torn, 1);
}

static void test_stream_fails(void **state)
{
    (void)state;
    struct outcome o = equal_both_ways((size_t)N_BLOCKS * BLOCK, (size_t)500 * BLOCK);
    assert_int_equal(o.rc, DCR_FATAL);
    assert_string_equal(o.err.text, "cannot read: a stone in the way");
    assert_true(o.seen.n > 400 * 100);
    o = read_trace((size_t)N_BLOCKS * BLOCK, (size_t)20 * BLOCK, 0, 1); /* before there could be a thread */
    assert_int_equal(o.rc, DCR_FATAL);
    assert_true(o.seen.n > 10 * 100);
}

static void test_leaves_out(void **state)
{
    (void)state;
    size_t len = (size_t)N_BLOCKS * BLOCK;
    struct outcome all = read_trace(len, SIZE_MAX, 0, 1), one = read_trace(len, SIZE_MAX, 150, 0),
                   two = read_trace(len, SIZE_MAX, 150, 1);
    assert_int_equal(one.seen.n, all.seen.n); /* another user of the events still gets all of them */
    assert_int_equal(two.seen.n_long, one.seen.n_long);
    assert_int_equal(two.seen.n + two.seen.leave_out.n, all.seen.n);
    assert_true(two.seen.leave_out.n > 10000);
    assert_int_equal(two.sum, all.sum);
    assert_memory_equal(&two.seen.loss, &all.seen.loss, sizeof all.seen.loss);
}

/* The watcher has seen enough: no more events are given, and the reader goes on alone. */
static void test_enough(void **state)
{
    (void)state;
    enum { ENOUGH = 1000 };
    size_t len = (size_t)N_BLOCKS * BLOCK;
    struct outcome all = read_trace(len, SIZE_MAX, 0, 0);
    for (int is_beside = 0; is_beside < 2; is_beside++) {
        struct outcome o = read_until(ENOUGH, len, SIZE_MAX, 0, is_beside);
        assert_int_equal(o.rc, 0);
        assert_int_equal(o.seen.n, ENOUGH);
        assert_int_equal(o.sum, all.sum);
    }
}

/* The caller stops early: no thread waits forever, and the watcher sees everything. */
static void test_caller_stops(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct dct_watch watch = {on_begin, on_event, on_end, &seen, NULL};
    struct failing f = {.n = SIZE_MAX, .len = (size_t)N_BLOCKS * BLOCK};
    struct dcr_stream s = {failing_read, &f, "made"};
    struct dct_reader *r;
    struct dct_info info;
    struct dct_event e;
    assert_int_equal(dct_open(&r, &s, &info, NULL), 0);
    dcr_cores_work(-1000);
    struct dct_beside *b = dct_beside_start(r, &watch);
    assert_non_null(b);
    for (int i = 0; i < 10; i++)
        assert_int_equal(dct_next(r, &e, NULL), 0);
    dct_beside_end(b);
    dcr_cores_work(1000);
    dct_close(r);
    assert_int_equal(seen.n, read_trace(f.len, SIZE_MAX, 0, 0).seen.n);
    assert_int_equal(seen.is_ended, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole),        cmocka_unit_test(test_damaged_and_torn),
                                       cmocka_unit_test(test_stream_fails), cmocka_unit_test(test_leaves_out),
                                       cmocka_unit_test(test_enough),       cmocka_unit_test(test_caller_stops)};
    return cmocka_run_group_tests(tests, make_trace, free_trace);
}
