/* test_timeline.c - the timeline's data: rows and lanes, levels of detail that lose no time, a bound on memory. */
#include "render/model/build.h"
#include "render/site/timeline/levels.h"

#include "lib/base/cores.h"
#include "render/device/watch.h"
#include "render/import/kineto/kineto.h"
#include "render/site/timeline/spans_inside.h"

#include <jansson.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include <string.h>
#include <unistd.h>

static void test_rows_by_rank_and_depth(void **state)
{
    (void)state;
    struct spans s;
    spans_start(&s);
    size_t b = spans_track(&s, 1, 0, 0, 77, false);
    spans_add(&s, b, 0, "", "step", "step", 1000, 2000, 3);
    size_t a = spans_track(&s, 0, 0, 1, 66, false);
    spans_add(&s, a, 1, "", "compute", "forward", 1100, 1400, 0);
    spans_add(&s, a, 0, "", "step", "step", 1050, 1950, 3);
    spans_finish(&s);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.n_rows, 3);
    assert_int_equal(s.tracks[0].rank, 0);
    assert_int_equal(s.tracks[0].n_rows, 2);
    assert_int_equal(s.tracks[1].first_row, 2);
    assert_int_equal(s.total_ns, 1000); /* begins at the first range */
    assert_int_equal(s.span[0].start_ns, 50);
    assert_int_equal(s.span[0].row, 0);
    assert_int_equal(s.span[2].row, 2);
    assert_int_equal(s.n_names, 2);
    assert_int_equal(s.names[0].count, 2);
    assert_int_equal(s.names[0].total_ns, 1900);
    assert_int_equal(s.names[0].longest[0].dur_ns, 1000);
    assert_int_equal(s.names[0].colour, SPAN_STEP);
    assert_int_equal(s.names[1].colour, CAT_COMPUTE);
    spans_release(&s);
}

/* Threads take turns with every range: the search costs the same for any number of threads. */
static void test_many_tracks(void **state)
{
    (void)state;
    enum { TRACKS = 5000, ROUNDS = 3 };
    struct spans s;
    spans_start(&s);
    for (int r = 0; r < ROUNDS; r++)
        for (uint32_t i = 0; i < TRACKS; i++) {
            size_t t = spans_track(&s, 0, 0, i % 3, 7 * i + 1, i % 2);
            assert_int_equal(t, i);
            spans_add(&s, t, 0, "", "", "x", 10 * r, 10 * r + 5, 0);
        }
    assert_true(s.track_of.n_looks < 10ull * ROUNDS * TRACKS);
    spans_finish(&s);
    assert_int_equal(s.n_rows, TRACKS);
    assert_int_equal(s.n, ROUNDS * TRACKS);
    spans_release(&s);
}

static void test_overlapping_ranges_get_lanes(void **state)
{
    (void)state;
    struct spans s;
    spans_start(&s);
    size_t t = spans_track(&s, 0, 0, 0, 0, true);
    spans_add(&s, t, 0, "", "", "x", 0, 100, 0);
    spans_add(&s, t, 0, "", "", "x", 50, 150, 0);
    spans_add(&s, t, 0, "", "", "x", 100, 200, 0);
    spans_finish(&s);
    assert_int_equal(s.n_rows, 2);
    assert_int_equal(s.span[0].row, 0);
    assert_int_equal(s.span[1].row, 0);
    assert_int_equal(s.span[1].start_ns, 100);
    assert_int_equal(s.span[2].row, 1);
    spans_release(&s);
}

/* Many short ranges under few long ones, as a trace has them. */
static void fill(struct spans *s, int n_ranks, int n)
{
    spans_start(s);
    for (int r = 0; r < n_ranks; r++) {
        size_t t = spans_track(s, r, r, (uint32_t)r, 1, false);
        for (int i = 0; i < n; i++) {
            int64_t at = (int64_t)i * 1000;
            spans_add(s, t, 1, "", "compute", i % 7 ? "forward" : "all_reduce", at, at + 400 + i % 300, (uint64_t)i);
            if (i % 1000 == 999)
                spans_add(s, t, 0, "", "step", "step", at - 999000, at + 1000, (uint64_t)(i / 1000));
        }
    }
    spans_finish(s);
}

struct told {
    uint64_t n;         /* ranges, in blocks or alone, counted where they begin */
    int64_t most_marks; /* of one row of one tile */
};

static struct told read_back(const struct spans *s, const struct level *level)
{
    struct told told = {0};
    struct dcr_buf *tile = calloc((size_t)level->n_tiles, sizeof *tile);
    level_tiles(s, level, tile);
    for (int t = 0; t < level->n_tiles; t++) {
        json_t *rows = json_loadb(tile[t].data, tile[t].len, 0, NULL);
        assert_true(json_is_array(rows));
        for (size_t r = 0; r < json_array_size(rows); r++) {
            const json_t *marks = json_array_get(json_array_get(rows, r), 1);
            int64_t at = t * level->tile_ns, n = (int64_t)json_array_size(marks) / 4;
            assert_int_equal(json_array_size(marks) % 4, 0);
            told.most_marks = n > told.most_marks ? n : told.most_marks;
            for (int64_t i = 0; i < n; i++) {
                int64_t v[4];
                for (int k = 0; k < 4; k++)
                    v[k] = json_integer_value(json_array_get(marks, (size_t)(4 * i + k)));
                at += v[0];
                assert_true(at + v[1] >= t * level->tile_ns);
                assert_true(at < (t + 1) * level->tile_ns);
                if (at >= t * level->tile_ns)
                    told.n += v[2] < 0 ? (uint64_t)v[3] : 1;
            }
        }
        json_decref(rows);
        dcr_buf_release(&tile[t]);
    }
    free(tile);
    return told;
}

static void test_every_level_tells_of_every_range(void **state)
{
    (void)state;
    struct spans s;
    struct level levels[LEVELS_MAX];
    fill(&s, 4, 60000);
    int n = levels_plan(&s, levels);
    assert_true(n >= 2);
    for (int k = 0; k < n; k++) {
        struct told told = read_back(&s, &levels[k]);
        assert_int_equal(told.n, s.n);
        if (k + 1 < n) {
            assert_true(levels[k].width_ns > 0);
            assert_true(told.most_marks <= 2 * LEVEL_PIXELS + 2);
        } else {
            assert_int_equal(levels[k].width_ns, 0);
        }
    }
    spans_release(&s);
}

static void test_more_than_fits_leaves_the_shortest_out(void **state)
{
    (void)state;
    struct spans s;
    spans_start(&s);
    size_t t = spans_track(&s, 0, 0, 0, 1, false);
    const int64_t n = (int64_t)SPANS_MAX + 1000;
    for (int64_t i = 0; i < n; i++)
        spans_add(&s, t, 0, "", "", "x", i * 10000, i * 10000 + (i % 2 ? 500 : 5000), 0);
    spans_finish(&s);
    assert_true(s.n <= SPANS_MAX);
    assert_true(s.least_ns > 500);
    assert_int_equal(s.n + s.n_left_out, n);
    for (size_t i = 0; i < s.n; i++)
        assert_int_equal(s.span[i].dur_ns, 5000);
    spans_release(&s);
}

/* Nothing of a large trace of another tool is left out: ranges that are too short are drawn joined with their
 * neighbours on their track. */
static void test_large_traces_join_the_shortest(void **state)
{
    (void)state;
    enum { N = 1200000 };
    struct spans s;
    struct level levels[LEVELS_MAX];
    spans_start(&s);
    size_t t[2] = {spans_track(&s, 0, 0, 0, 1, true), spans_track(&s, 0, 0, 0, 2, true)};
    uint64_t n_long = 0;
    for (int64_t i = 0; i < N; i++) {
        bool is_long = i % 100 == 0;
        n_long += is_long;
        spans_add(&s, t[i % 2], 0, "", i % 4 < 2 ? "comm" : "compute", "x", i * 1000,
                  i * 1000 + (is_long ? 90000 : 700), 7);
        if (s.n > SPANS_IN_FULL && !s.blocks)
            spans_join(&s);
    }
    spans_join_end(&s);
    spans_finish(&s);
    assert_true(s.n <= SPANS_OF_LARGE);
    assert_true(s.joined_ns > 700 && s.joined_ns < 90000);
    assert_int_equal(s.n_left_out, 0);
    uint64_t n = 0, n_found = 0;
    for (size_t i = 0; i < s.n; i++) {
        bool is_block = s.span[i].name & SPAN_BLOCK;
        n += is_block ? s.span[i].bytes : 1;
        n_found += s.span[i].dur_ns == 90000 && !is_block;
        if (is_block)
            assert_true(s.span[i].dur_ns < 3 * s.joined_ns); /* neighbours, not the whole track */
    }
    assert_int_equal(n, N);
    assert_int_equal(n_found, n_long);
    /* By name they count as if they were drawn one by one: half are comm, all long ones among them. */
    assert_int_equal(s.n_names, 2);
    assert_int_equal(s.names[0].count, N / 2);
    assert_int_equal(s.names[0].total_ns, 588000ll * 700 + 12000ll * 90000);
    assert_int_equal(s.names[0].longest[0].dur_ns, 90000);
    assert_int_equal(s.names[0].joined_ns, 700);
    assert_int_equal(s.names[1].count, N / 2);
    assert_int_equal(s.names[1].total_ns, 600000ll * 700);
    assert_int_equal(s.names[1].joined_ns, 700);
    int n_levels = levels_plan(&s, levels);
    for (int k = 0; k < n_levels; k++)
        assert_int_equal(read_back(&s, &levels[k]).n, N);
    spans_release(&s);
}

/* What is there until spans_finish: by name the joined ranges and those that are there one by one, and how many there
 * are in blocks. */
struct known {
    int64_t count, total_ns, n_drawn;
};

static struct known known_of(const struct spans *s)
{
    struct known k = {0};
    for (size_t i = 0; i < s->n_names; i++) {
        k.count += s->names[i].count;
        k.total_ns += s->names[i].total_ns;
    }
    for (size_t i = 0; i < s->n; i++) {
        bool is_block = s->span[i].name & SPAN_BLOCK;
        k.n_drawn += is_block ? (int64_t)s->span[i].bytes : 1;
        k.count += !is_block;
        k.total_ns += is_block ? 0 : s->span[i].dur_ns;
    }
    return k;
}

/* Traces of many ranks, some too large to be drawn in full, share one bound. The first is taken unchanged, the others
 * are appended. */
static void test_many_large_traces_stay_within_the_bound(void **state)
{
    (void)state;
    enum { EVERY = 6 };
    static const int64_t n_of[] = {SPANS_IN_FULL + 1, SPANS_IN_FULL + 1, SPANS_IN_FULL, SPANS_IN_FULL};
    int64_t n = 0, n_long = 0;
    struct known k;
    struct spans s;
    struct activity_watch w;
    spans_start(&s);
    for (int f = 0; f < 4; f++) {
        void *foreign = spans_foreign_begin(&w);
        assert_non_null(foreign);
        for (int64_t i = 0; i < n_of[f]; i++) {
            bool is_long = i % EVERY == 0;
            struct device_op op = {.start_ns = i * 1000, .dur_ns = is_long ? 1000000 : 300, .device = f};
            w.op(w.ctx, &op, is_long ? OP_COMM : OP_COMPUTE, is_long ? "long" : "short");
        }
        assert_true(spans_foreign_keep(&s, foreign, "trace.json"));
        assert_true(s.cap <= SPANS_MAX);
        n += n_of[f];
        n_long += (n_of[f] + EVERY - 1) / EVERY;
        k = known_of(&s);
        assert_int_equal(k.n_drawn + (int64_t)s.n_left_out, n);
        assert_int_equal(s.n_left_out > 0, f == 3);
        assert_int_equal(k.count, n - (int64_t)s.n_left_out);
        assert_int_equal(k.total_ns, n_long * 1000000 + (k.count - n_long) * 300);
    }
    assert_int_equal(s.names[0].joined_ns, -1); /* no long one was joined */
    assert_int_equal(s.names[1].joined_ns, 300);
    uint64_t n_left_out = s.n_left_out;
    spans_add_block(&s, 0, &(struct span){.dur_ns = s.least_ns - 1, .bytes = 40, .name = SPAN_BLOCK | CAT_COMPUTE});
    assert_int_equal(s.n_left_out, n_left_out + 40);
    spans_release(&s);
}

/* Two files of one run, written out of order, on clocks a day apart. */
static void test_streams_of_gpu_traces(void **state)
{
    (void)state;
    static const char first[] =
        "{\"traceEvents\":["
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"ts\":1010,\"dur\":20,\"args\":{\"device\":0,\"stream\":7}"
        "},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclKernel_AllReduce\",\"ts\":1015,\"dur\":30,\"args\":{"
        "\"device\":0,"
        "\"stream\":20}},"
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy "
        "HtoD\",\"ts\":1000,\"dur\":5,\"args\":{\"device\":0,\"stream\":7}},"
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#12\",\"pid\":1,\"tid\":1,\"ts\":1000,"
        "\"dur\":60},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":1002,\"dur\":4}]}";
    static const char second[] =
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"ts\":86400000000,\"dur\":20,"
        "\"args\":{\"device\":0,\"stream\":7}}]}";
    struct run *run = run_new("traces");
    run_add_trace(run, &(struct foreign_trace){.file = "a.json", .rank = 1});
    run_add_trace(run, &(struct foreign_trace){.file = "b.json", .rank = 0});
    struct dcr_memory memory[] = {{first, sizeof first - 1, 0}, {second, sizeof second - 1, 0}};
    static const char *const files[] = {"a.json", "b.json"};
    struct spans s;
    struct dcr_err err = {0};
    spans_start(&s);
    for (uint32_t i = 0; i < 2; i++) {
        struct dcr_stream in = dcr_stream_memory(&memory[i], files[i]);
        assert_int_equal(spans_read_foreign(&s, run, &in, &err), 0);
    }
    spans_settle(&s, run);
    assert_int_equal(s.n, 6);
    assert_int_equal(s.n_device_ops, 4);
    assert_true(s.is_aligned);
    assert_int_equal(s.total_ns, 60000); /* not a day */
    assert_int_equal(s.n_tracks, 4);     /* rank 0: one stream; rank 1: the thread, then its streams ascending */
    static const struct {
        int rank;
        enum track_kind kind;
        int64_t stream;
        uint32_t n_rows;
    } want[] = {{0, TRACK_STREAM, 7, 1}, {1, TRACK_HOST, 0, 2}, {1, TRACK_STREAM, 7, 1}, {1, TRACK_STREAM, 20, 1}};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(s.tracks[i].rank, want[i].rank);
        assert_int_equal(s.tracks[i].kind, want[i].kind);
        assert_int_equal(s.tracks[i].stream, want[i].stream);
        assert_int_equal(s.tracks[i].n_rows, want[i].n_rows); /* of nested ranges each depth has its row */
    }
    for (size_t i = 0; i < s.n_names; i++) {
        const struct span_name *k = &s.names[i];
        int colour = strstr(k->name, "nccl")        ? CAT_COMM
                     : strcmp(k->name, "gemm") == 0 ? CAT_COMPUTE
                     : strstr(k->name, "Memcpy")    ? CAT_COPY
                     : strstr(k->name, "Step")      ? SPAN_STEP
                                                    : SPAN_PLAIN;
        assert_int_equal(k->colour, colour);
        if (colour == SPAN_STEP)
            assert_int_equal(k->longest[0].bytes, 12);
    }
    spans_release(&s);
    run_free(run);
}

static atomic_int n_threads;

/* Replaces the C library's function, which it calls. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    atomic_fetch_add(&n_threads, 1);
    return real(thread, attr, run, arg);
}

/* The thread that reads a trace again for its timeline already works; a second thread needs a second core. */
static void test_one_core_is_one_thread(void **state)
{
    (void)state;
    enum { N = 10000 };
    char root[] = "/tmp/dcreport-timeline-XXXXXX", path[64], file[] = "a.json", *names[] = {file};
    cpu_set_t all, one;
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof path, "%s/%s", root, file);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs("{\"traceEvents\":[", out);
    for (int i = 0; i < N; i++) /* more than is read at once */
        fprintf(out,
                "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"ts\":%d,\"dur\":2,"
                "\"args\":{\"device\":0,\"stream\":7}}",
                i ? "," : "", 10 * i);
    fputs("]}", out);
    assert_int_equal(fclose(out), 0);
    struct input in = {.path = root, .root = root, .names = names, .n_names = 1};
    struct run *run = run_new("trace");
    run_add_trace(run, &(struct foreign_trace){.file = file, .rank = 0});
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (size_t c = 0; CPU_COUNT(&one) == 0; c++)
        if (CPU_ISSET(c, &all))
            CPU_SET(c, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    for (int is_apart = 0; is_apart < 2; is_apart++) {
        struct spans s;
        struct dcr_err err = {0};
        kineto_way(is_apart ? KINETO_APART : KINETO_AS_CORES);
        assert_int_equal(spans_read(&s, &in, run, &err), 0);
        assert_int_equal(s.n, N);
        assert_int_equal(atomic_load(&n_threads), is_apart);
        spans_release(&s);
    }
    kineto_way(KINETO_AS_CORES);
    assert_true(dcr_cores_spare()); /* no thread works any more */
    dcr_cores_work(-1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    run_free(run);
    unlink(path);
    rmdir(root);
}

static void test_nothing(void **state)
{
    (void)state;
    struct spans s;
    struct level levels[LEVELS_MAX];
    spans_start(&s);
    spans_finish(&s);
    assert_int_equal(levels_plan(&s, levels), 1);
    assert_int_equal(read_back(&s, &levels[0]).n, 0);
    spans_release(&s);
}

/* A native trace of two threads in turns, as its reader for the timeline gets it: every range, or without those that
 * the timeline leaves out. */
static void watch_ranges(struct spans *s, bool is_passing_over)
{
    struct dct_file_header h = {.magic = DCT_MAGIC, .version = DCT_VERSION, .block_bytes = 4096, .rank = 0};
    struct dcr_memory memory = {.bytes = (const char *)&h, .len = sizeof h};
    struct dcr_stream stream = dcr_stream_memory(&memory, "made");
    struct dct_reader *reader;
    struct dct_info info;
    struct dct_watch w;
    run_watch(&spans_watch);
    struct run *run = run_new("trace");
    run_watch(NULL);
    assert_int_equal(dct_open(&reader, &stream, &info, NULL), 0);
    assert_int_equal(run->watch->trace(run->watched, "rank0/trace-1.dct", &w), 1);
    w.begin(w.ctx, &info);
    for (int64_t i = 0; i < (int64_t)SPANS_MAX + 200000; i++) {
        int64_t start = 10000 * i, dur = i * 7919 % 9000;
        struct dct_event e = {.kind = i % 5000 ? DCT_PUSH : DCT_START,
                              .track = 1 + (uint32_t)(i / 3000 % 2),
                              .domain = "",
                              .category = "",
                              .name = "kernel",
                              .file = "",
                              .start_ns = start,
                              .end_ns = start + dur,
                              .depth = 1};
        const struct dct_leave_out *l = w.leave_out;
        if (is_passing_over && e.kind == DCT_PUSH && e.track == l->track && dur < l->shorter_ns &&
            e.end_ns <= l->latest_ns)
            w.leave_out->n++;
        else
            w.event(w.ctx, &e);
    }
    w.end(w.ctx, reader);
    assert_int_equal(w.leave_out->n > 0, is_passing_over);
    dct_close(reader);
    assert_true(spans_take(s, run));
    run_free(run);
}

static void test_what_is_left_out_need_not_be_seen(void **state)
{
    (void)state;
    struct spans all, few;
    watch_ranges(&all, false);
    watch_ranges(&few, true);
    assert_true(all.n_left_out > 0);
    assert_int_equal(all.n_left_out, few.n_left_out);
    assert_int_equal(all.least_ns, few.least_ns);
    assert_int_equal(all.n_tracks, few.n_tracks);
    assert_int_equal(all.n, few.n);
    assert_memory_equal(all.span, few.span, all.n * sizeof *all.span);
    spans_release(&all);
    spans_release(&few);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_by_rank_and_depth),
        cmocka_unit_test(test_many_tracks),
        cmocka_unit_test(test_overlapping_ranges_get_lanes),
        cmocka_unit_test(test_every_level_tells_of_every_range),
        cmocka_unit_test(test_more_than_fits_leaves_the_shortest_out),
        cmocka_unit_test(test_what_is_left_out_need_not_be_seen),
        cmocka_unit_test(test_large_traces_join_the_shortest),
        cmocka_unit_test(test_many_large_traces_stay_within_the_bound),
        cmocka_unit_test(test_streams_of_gpu_traces),
        cmocka_unit_test(test_one_core_is_one_thread),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
