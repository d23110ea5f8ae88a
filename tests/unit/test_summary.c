/* test_summary.c - lib/reduce/summary.h: the sketch of durations, the time covered, and the text, written and read
 * back. */
#include "lib/reduce/summary.h"
#include "lib/archive/format.h"
#include "lib/reduce/summary_names.h"
#include "lib/trace/trace_end.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void test_sketch_has_no_gaps(void **state)
{
    (void)state;
    for (int b = 0; b < SKETCH_BUCKETS; b++) {
        uint64_t low = sketch_low(b), next = sketch_low(b + 1);
        assert_true(next > low);
        if (next > INT64_MAX)
            break;
        assert_int_equal(sketch_bucket((int64_t)low), b);
        assert_int_equal(sketch_bucket((int64_t)next - 1), b);
        /* The middle of the bucket is wrong by less than 1.6 % of any duration in it. */
        assert_true((double)(next - 1 - low) / 2 <= 0.016 * (double)(low ? low : 1) || next - low == 1);
    }
    assert_int_equal(sketch_bucket(-5), 0);
    assert_true(sketch_bucket(INT64_MAX) < SKETCH_BUCKETS);
}

static struct dct_event range(const char *name, uint32_t track, int64_t start, int64_t end)
{
    return (struct dct_event){.kind = DCT_PUSH,
                              .track = track,
                              .domain = "d",
                              .category = "c",
                              .name = name,
                              .start_ns = start,
                              .end_ns = end,
                              .file = ""};
}

/* Each event without a kept place, as if it were the first of its name. */
static void add(struct name_table *t, const struct dct_event *e)
{
    uint32_t place = 0;
    names_add(t, e, &place);
}

static void test_covered_time(void **state)
{
    (void)state;
    static const char a[] = "a", also_a[] = "a", b[] = "b";
    const struct dct_event events[] = {
        range(a, 1, 10, 20), range(a, 1, 30, 40), range(a, 1, 5, 50), /* around both */
        range(a, 2, 45, 60), range(a, 3, 0, 2),   range(a, 3, 2, 3),  range(also_a, 1, 90, 95), range(b, 1, 100, 100)};
    struct name_table *t = names_new(SUMMARY_NAMES);
    struct dcr_arena arena = {0};
    struct name_sum *names;
    size_t n;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        add(t, &events[i]);
    struct dct_event open = range(a, 1, 0, 1000);
    open.is_open = 1;
    add(t, &open);
    names_finish(t, &arena, &names, &n);
    assert_int_equal(n, 2); /* equal texts at two addresses are one name */
    assert_string_equal(names[0].name, "a");
    assert_int_equal(names[0].n, 7);
    assert_int_equal(names[0].sum_ns, 10 + 10 + 45 + 15 + 2 + 1 + 5);
    assert_int_equal(names[0].min_ns, 1);
    assert_int_equal(names[0].max_ns, 45);
    assert_int_equal(names[0].union_ns, 3 + 55 + 5);
    assert_int_equal(names[1].union_ns, 0);
    assert_int_equal(names[1].n_sketch, 1);
    uint64_t counted = 0;
    for (int i = 0; i < names[0].n_sketch; i++)
        counted += names[0].sketch[i].n;
    assert_int_equal(counted, 7);
    names_free(t);
    dcr_arena_release(&arena);
}

static struct dct_event at_depth(struct dct_event e, int depth)
{
    e.depth = depth;
    return e;
}

/* Thread 1: step [0, 100) around forward [10, 40) around kernel [15, 20) and kernel [25, 35), and around copy [50, 60);
 * a second step [100, 130) with nothing inside. Thread 2 beside it: step [0, 50) around kernel [0, 49). */
static void test_self_time(void **state)
{
    (void)state;
    static const char step[] = "step", forward[] = "forward", kernel[] = "kernel", copy[] = "copy";
    struct dct_event process = range(copy, 1, 0, 1000), observed = range("MPI_Send", 1, 52, 58);
    process.kind = DCT_START;
    observed.kind = DCT_SPAN;
    observed.depth = 2;
    const struct dct_event events[] = {at_depth(range(kernel, 1, 15, 20), 2),
                                       at_depth(range(kernel, 1, 25, 35), 2),
                                       at_depth(range(kernel, 2, 0, 49), 1),
                                       at_depth(range(forward, 1, 10, 40), 1),
                                       observed,
                                       process,
                                       at_depth(range(copy, 1, 50, 60), 1),
                                       at_depth(range(step, 1, 0, 100), 0),
                                       at_depth(range(step, 2, 0, 50), 0),
                                       at_depth(range(step, 1, 100, 130), 0)};
    static const struct {
        const char *name;
        int64_t sum_ns, self_ns;
    } expected[] = {{"MPI_Send", 6, -1},
                    {"copy", 10, 10},
                    {"copy", 1000, -1}, /* of the process: nothing nests in it */
                    {"forward", 30, 30 - 15},
                    {"kernel", 5 + 10 + 49, 5 + 10 + 49},
                    {"step", 100 + 50 + 30, (100 - 40) + 1 + 30}};
    for (int keep = SUMMARY_NAMES; keep <= SUMMARY_NAME_SUMS; keep++) {
        struct name_table *t = names_new((enum summary_names)keep);
        struct dcr_arena arena = {0};
        struct name_sum *names;
        size_t n;
        for (size_t i = 0; i < sizeof events / sizeof *events; i++)
            add(t, &events[i]);
        names_finish(t, &arena, &names, &n);
        assert_int_equal(n, sizeof expected / sizeof *expected);
        for (size_t i = 0; i < n; i++) {
            assert_string_equal(names[i].name, expected[i].name);
            assert_int_equal(names[i].sum_ns, expected[i].sum_ns);
            assert_int_equal(names[i].self_ns, expected[i].self_ns);
        }
        assert_int_equal(names[0].n_sketch, keep == SUMMARY_NAMES);
        names_free(t);
        dcr_arena_release(&arena);
    }
}

static void test_many_names_share_one(void **state)
{
    (void)state;
    static char texts[SUMMARY_MAX_NAMES + 100][16];
    struct name_table *t = names_new(SUMMARY_NAMES);
    struct dcr_arena arena = {0};
    struct name_sum *names;
    size_t n;
    for (int i = 0; i < SUMMARY_MAX_NAMES + 100; i++) {
        snprintf(texts[i], sizeof texts[i], "n%d", i);
        struct dct_event e = range(texts[i], 1, i, i + 1);
        add(t, &e);
    }
    names_finish(t, &arena, &names, &n);
    assert_int_equal(n, SUMMARY_MAX_NAMES);
    uint64_t total = 0, others = 0;
    for (size_t i = 0; i < n; i++) {
        total += names[i].n;
        others += strcmp(names[i].name, SUMMARY_OTHER_NAMES) == 0 ? names[i].n : 0;
    }
    assert_int_equal(total, SUMMARY_MAX_NAMES + 100);
    assert_int_equal(others, 101);
    names_free(t);
    dcr_arena_release(&arena);
}

/* A summary with something of everything. */
static struct summary sample(void)
{
    static int64_t forward[] = {30, 0}, reduce[] = {20, 40};
    static struct run_phase phases[] = {{.name = "forward", .category = CAT_COMPUTE, .ns = forward},
                                        {.name = "say \"re\\duce\"", .category = CAT_COMM, .ns = reduce}};
    static struct phase_stretch stretches[] = {{110, 130, 0}, {205, 240, 1}};
    static struct collective calls[] = {{.dur_ns = 20, .since_ns = {30}}, {.dur_ns = 40, .outside_ns = 9}};
    static struct step_record steps[] = {{.step = 7,
                                          .start_ns = 100,
                                          .step_ns = 60,
                                          .part_ns = {30, 20, 0, 0, 0, 10},
                                          .bytes = 8,
                                          .samples = -1,
                                          .n_collectives = 1},
                                         {.step = 8,
                                          .start_ns = 200,
                                          .step_ns = 40,
                                          .part_ns = {0, 40},
                                          .samples = -1,
                                          .first_collective = 1,
                                          .n_collectives = 1}};
    static struct observation observed[] = {{"MPI_Allreduce", -1, {2, 16, 60, 40}, 0, 0, 25},
                                            {"/data/x", DCT_IO_READ, {4, 2, 30, 9}, 20, 12, -1}};
    static struct sketch_bucket_count buckets[] = {{3, 1}, {70, 5}};
    static struct name_sum names[] = {{.domain = "", .category = "", .name = "mark", .kind = DCT_MARK, .n = 3},
                                      {.domain = "d",
                                       .category = "c",
                                       .name = "r",
                                       .kind = DCT_SPAN,
                                       .n = 6,
                                       .sum_ns = 100,
                                       .min_ns = 3,
                                       .max_ns = 60,
                                       .self_ns = 40,
                                       .union_ns = -1,
                                       .bytes = 12,
                                       .sketch = buckets,
                                       .n_sketch = 2}};
    return (struct summary){
        .info = {.rank = 5,
                 .node = -1,
                 .pid = 12,
                 .host = "h",
                 .mono_ns = -4,
                 .real_ns = 9,
                 .incomplete_ns = 77,
                 .has_step_sums = 1,
                 .unsummed_ns = 88,
                 .window = {.first_ns = 11, .last_ns = 22, .closed_ns = 33, .since_ns = 44, .until_ns = 55},
                 .n_dropped_gpu = 2,
                 .own_bytes = 65536,
                 .exit_ns = 77000000000,
                 .exit_status = 3,
                 .io = {1000, 70000, 3, 4}},
        .loss = {.n_dropped = 1,
                 .n_bad_blocks = 2,
                 .n_missing_blocks = 3,
                 .n_open_blocks = 4,
                 .n_unmatched_pops = 5,
                 .n_open_ranges = 6,
                 .is_torn = 1},
        .notes = "one\ntwo",
        .ended_in = "all_reduce",
        .n_events = 10,
        .n_mpi_calls = 2,
        .n_io_calls = 1,
        .n_gpu_events = 12,
        .n_overflow = 11,
        .steps = {.steps = steps,
                  .n_steps = 2,
                  .collectives = calls,
                  .n_collectives = 2,
                  .phases = phases,
                  .n_phases = 2,
                  .stretches = stretches,
                  .n_stretches = 2,
                  .outside_ns = {1, 2, 3, 4, 5, 6},
                  .validation_ns = 3,
                  .wall_ns = 140},
        .observed = observed,
        .n_observed = 2,
        .names = names,
        .n_names = 2,
        .trace_name = "rank5/trace-12.dct",
        .trace_bytes = 4096,
        .fingerprint = 0xdeadbeef};
}

static int read_text(struct summary *out, struct dcr_arena *a, const char *text, size_t n, struct dcr_err *err)
{
    struct dcr_memory memory = {.bytes = text, .len = n};
    struct dcr_stream s = dcr_stream_memory(&memory, "sum");
    return summary_read(out, a, &s, err);
}

static void test_there_and_back(void **state)
{
    (void)state;
    struct summary s = sample(), back;
    struct dcr_buf text = {0}, again = {0};
    struct dcr_arena a = {0};
    struct dcr_err err = {0};
    summary_write(&s, &text);
    assert_int_equal(read_text(&back, &a, text.data, text.len, &err), 0);
    summary_write(&back, &again);
    assert_string_equal(dcr_buf_text(&again), dcr_buf_text(&text));
    assert_int_equal(back.steps.n_steps, 2);
    assert_int_equal(back.steps.steps[1].part_ns[CAT_COMM], 40);
    assert_int_equal(back.steps.collectives[1].outside_ns, 9);
    assert_string_equal(back.steps.phases[1].name, "say \"re\\duce\"");
    assert_int_equal(back.steps.n_stretches, 2);
    assert_int_equal(back.steps.stretches[1].to_ns, 240);
    assert_int_equal(back.steps.stretches[1].phase, 1);
    assert_string_equal(back.notes, "one\ntwo");
    assert_string_equal(back.ended_in, "all_reduce");
    assert_int_equal(back.loss.is_torn, 1);
    assert_int_equal(back.info.incomplete_ns, 77);
    assert_true(back.info.has_step_sums);
    assert_int_equal(dct_unsummed_ns(&back.info), 88);
    assert_int_equal(back.info.window.since_ns, 44);
    assert_int_equal(back.info.window.until_ns, 55);
    assert_int_equal(dct_recorded_until(&back.info), 55);
    assert_int_equal(back.info.n_dropped_gpu, 2);
    assert_int_equal(back.info.own_bytes, 65536);
    assert_true(back.info.exit_ns == 77000000000);
    assert_int_equal(back.info.exit_status, 3);
    assert_int_equal(back.info.io[DCT_IO_WRITE_CHARS], 70000);
    assert_int_equal(back.names[1].union_ns, -1);
    assert_int_equal(back.observed[1].event_ns, 20);
    assert_int_equal(back.observed[1].loading_ns, 12);
    assert_int_equal(back.observed[0].before_ns, 25);
    assert_int_equal(back.observed[1].before_ns, -1);
    assert_int_equal(back.names[1].self_ns, 40);
    assert_int_equal(back.fingerprint, 0xdeadbeef);
    dcr_buf_release(&text);
    dcr_buf_release(&again);
    dcr_arena_release(&a);
}

/* Reserved space after the last used block is not part of a trace or its fingerprint. */
static void test_reserved_tail(void **state)
{
    (void)state;
    enum { BLOCK = 4096 };
    const struct dct_file_header h = {.magic = DCT_MAGIC, .version = DCT_VERSION, .block_bytes = BLOCK};
    const struct dct_block_header b = {.magic = DCT_BLOCK_MAGIC, .state = DCT_BLOCK_SEALED, .track = 1};
    FILE *f = tmpfile();
    int fd = fileno(f);
    int64_t size;
    uint32_t crc, with_tail;
    assert_int_equal(dct_used_bytes(fd), 0);
    assert_int_equal(pwrite(fd, &h, sizeof h, 0), sizeof h);
    assert_int_equal(ftruncate(fd, 4 * BLOCK), 0);
    assert_int_equal(dct_used_bytes(fd), BLOCK);
    assert_int_equal(pwrite(fd, &b, sizeof b, 2 * BLOCK), sizeof b); /* block 1 was never used */
    assert_int_equal(dct_used_bytes(fd), 3 * BLOCK);
    assert_int_equal(summary_fingerprint(fd, &size, &with_tail), 0);
    assert_int_equal(size, 3 * BLOCK);
    assert_int_equal(ftruncate(fd, 3 * BLOCK), 0);
    assert_int_equal(summary_fingerprint(fd, &size, &crc), 0);
    assert_int_equal(size, 3 * BLOCK);
    assert_int_equal(crc, with_tail);
    assert_int_equal(ftruncate(fd, 3 * BLOCK - 1), 0); /* torn: as it is */
    assert_int_equal(dct_used_bytes(fd), 3 * BLOCK - 1);
    fclose(f);
}

/* Threads take turns with every event: the search costs the same for any number of threads; and the caller keeps the
 * place of a name. */
static void test_many_threads(void **state)
{
    (void)state;
    enum { THREADS = 20000, ROUNDS = 3 };
    static const char name[] = "work";
    struct name_table *t = names_new(SUMMARY_NAME_SUMS);
    struct dcr_arena arena = {0};
    struct name_sum *names;
    uint32_t place = 0;
    size_t n;
    for (int r = 0; r < ROUNDS; r++)
        for (uint32_t i = 0; i < THREADS; i++) {
            struct dct_event e = range(name, 7 * i + 1, 10 * r, 10 * r + 3);
            names_add(t, &e, &place);
        }
    assert_true(names_looks(t) < 10ull * ROUNDS * THREADS);
    names_finish(t, &arena, &names, &n);
    assert_int_equal(n, 1);
    assert_int_equal(names[0].n, ROUNDS * THREADS);
    assert_int_equal(names[0].self_ns, 3 * ROUNDS * THREADS);
    names_free(t);
    dcr_arena_release(&arena);
}

/* If the other names are marks only, they have no durations, but the summary can be read. */
static void test_many_marks(void **state)
{
    (void)state;
    static char texts[SUMMARY_MAX_NAMES + 1][16];
    struct summary s = sample(), back;
    struct name_table *t = names_new(SUMMARY_NAMES);
    struct dcr_arena arena = {0};
    struct dcr_buf text = {0};
    struct dcr_err err = {0};
    for (int i = 0; i <= SUMMARY_MAX_NAMES; i++) {
        snprintf(texts[i], sizeof texts[i], "m%d", i);
        struct dct_event e = range(texts[i], 1, i, i);
        e.kind = DCT_MARK;
        add(t, &e);
    }
    names_finish(t, &arena, &s.names, &s.n_names);
    summary_write(&s, &text);
    assert_int_equal(read_text(&back, &arena, text.data, text.len, &err), 0);
    assert_int_equal(back.n_names, SUMMARY_MAX_NAMES);
    names_free(t);
    dcr_buf_release(&text);
    dcr_arena_release(&arena);
}

/* Every cut is noticed. Every changed byte is noticed too, or leaves a summary that can be written. */
/* Reads of a file: in the form of older collectors; and with a part that exceeds the whole. */
static void test_files_in_loading(void **state)
{
    (void)state;
    static const struct {
        const char *row;
        int rc, is_unknown;
    } c[] = {{",4,2,30,9,20,12]", 0, 0},
             {",4,2,30,9]", 0, 1},
             {",4,2,30,9,31,12]", DCR_FAIL, 0},
             {",4,2,30,9,20,21]", DCR_FAIL, 0},
             {",4,2,30,9,20]", DCR_FAIL, 0}};
    struct summary s = sample(), back;
    struct dcr_buf text = {0};
    summary_write(&s, &text);
    const char *at = strstr(dcr_buf_text(&text), c[0].row);
    assert_non_null(at);
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct dcr_arena a = {0};
        struct dcr_err err = {0};
        struct dcr_buf changed = {0};
        dcr_buf_add(&changed, text.data, (size_t)(at - text.data));
        dcr_buf_printf(&changed, "%s%s", c[i].row, at + strlen(c[0].row));
        assert_int_equal(read_text(&back, &a, changed.data, changed.len, &err), c[i].rc);
        assert_int_equal(c[i].rc == 0 && back.is_loading_unknown, c[i].is_unknown);
        dcr_buf_release(&changed);
        dcr_arena_release(&a);
    }
    dcr_buf_release(&text);
}

static void test_damage(void **state)
{
    (void)state;
    struct summary s = sample(), back;
    struct dcr_buf text = {0};
    struct dcr_err err = {0};
    summary_write(&s, &text);
    for (size_t n = 0; n + 1 < text.len; n++) {
        struct dcr_arena a = {0};
        assert_int_equal(read_text(&back, &a, text.data, n, &err), DCR_FAIL);
        dcr_arena_release(&a);
    }
    for (size_t i = 0; i < text.len; i++) {
        struct dcr_arena a = {0};
        struct dcr_buf out = {0};
        char kept = text.data[i];
        text.data[i] = (char)(kept ^ 0x11);
        if (read_text(&back, &a, text.data, text.len, &err) == 0)
            summary_write(&back, &out);
        text.data[i] = kept;
        dcr_buf_release(&out);
        dcr_arena_release(&a);
    }
    dcr_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sketch_has_no_gaps), cmocka_unit_test(test_covered_time),
        cmocka_unit_test(test_self_time),          cmocka_unit_test(test_many_names_share_one),
        cmocka_unit_test(test_many_threads),       cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_reserved_tail),      cmocka_unit_test(test_many_marks),
        cmocka_unit_test(test_files_in_loading),   cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
