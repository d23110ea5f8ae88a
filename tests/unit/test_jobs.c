/* test_jobs.c - finds the traces of a folder that are ranks of one job (render/read/jobs.c), from their beginnings. */
#include "lib/base/stream.h"
#include "render/import/import.h"
#include "render/read/jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    const char *bytes;
    size_t left;
};

static ssize_t text_read(void *ctx, void *out, size_t n, struct dcr_err *err)
{
    (void)err;
    struct text *t = ctx;
    n = n < t->left ? n : t->left;
    memcpy(out, t->bytes, n);
    t->bytes += n;
    t->left -= n;
    return (ssize_t)n;
}

static struct known_file known(const char *text)
{
    struct text t = {text, strlen(text)};
    struct dcr_stream s = {text_read, &t, "t"};
    struct known_file f;
    f.kind = import_job(&s, &f.job);
    return f;
}

/* One input with files of these names, split. */
static struct inputs split(char **names, const struct known_file *files, size_t n)
{
    struct inputs x = {0};
    x.list = arena_grow(&x.arena, NULL, 0, &x.cap, sizeof *x.list);
    x.list[0] = (struct input){.path = "top", .root = "top"};
    for (size_t i = 0; i < n; i++) {
        struct input *in = &x.list[0];
        in->names = arena_grow(&x.arena, in->names, in->n_names, &in->names_cap, sizeof *in->names);
        in->names[in->n_names++] = names[i];
    }
    x.n = 1;
    jobs_split(&x, 0, files);
    return x;
}

#define EVENTS(name) "\"traceEvents\":[{\"ph\":\"X\",\"name\":\"" name "\",\"rank\":7,\"world_size\":9}]}"
#define JOB(rank) "\"distributedInfo\":{\"backend\":\"gloo\",\"rank\":" rank ",\"world_size\":2},"

/* The first event does not identify the GPU: two ranks of one job stay together. */
static void test_no_gpu(void **state)
{
    (void)state;
    struct known_file files[] = {known("{\"deviceProperties\": [\n ],\n" JOB("0") EVENTS("aten::copy_")),
                                 known("{\"deviceProperties\": [\n ],\n" JOB("1") EVENTS("aten::add"))};
    char *names[] = {"rank0.json", "rank1.json"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(files[i].job.rank, i);
        assert_int_equal(files[i].job.world_size, 2);
        assert_string_equal(files[i].job.model, "");
    }
    struct inputs x = split(names, files, 2);
    assert_int_equal(x.n, 1);
    assert_int_equal(x.list[0].n_names, 2);
    inputs_release(&x);
    struct known_file f = known("{\"deviceProperties\":[{\"id\":0,\"x\":[\"]\\\"\"],\"name\":\"A\"}]," EVENTS("b"));
    assert_string_equal(f.job.model, "\"A\"");
    assert_int_equal(f.job.rank, -1);
    f = known("{\"distributedInfo\":{}," EVENTS("b"));
    assert_true(f.job.is_trace);
    assert_int_equal(f.job.rank, -1); /* nor are those of an event */
    assert_int_equal(f.job.world_size, -1);
}

/* Two jobs in two folders, a duplicate rank, one without a rank: in the order in which they were found. */
static void test_split(void **state)
{
    (void)state;
    char *names[] = {"b/1", "a/0", "b/0", "notes", "c/0", "a/1", "c/0x", "d", "log"};
    struct known_file one[] = {known("{" JOB("0") EVENTS("x")), known("{" JOB("1") EVENTS("x"))},
                      none = known("{" EVENTS("x"));
    struct known_file files[] = {one[1], one[0], one[0], {0}, one[0], one[1], one[0], none, {0}};
    struct inputs x = split(names, files, 9);
    static const char *const paths[] = {"top", "top/b", "top/a", "top/c/0", "top/c/0x", "top/d"};
    static const char *const want[] = {"", "b/1 b/0 notes log ", "a/0 a/1 ", "c/0 ", "c/0x ", "d "};
    assert_int_equal(x.n, 6);
    for (size_t i = 0; i < x.n; i++) {
        char got[64] = "";
        int n = 0;
        for (size_t k = 0; k < x.list[i].n_names; k++)
            n += snprintf(got + n, sizeof got - (size_t)n, "%s ", x.list[i].names[k]);
        assert_string_equal(x.list[i].path, paths[i]);
        assert_string_equal(got, want[i]);
    }
    inputs_release(&x);
}

/* As many folders as after a long campaign. Comparing each trace with each other would take a day per run. */
static void test_many(void **state)
{
    (void)state;
    enum { N = 40000, LENGTH = 16 };
    char(*text)[LENGTH] = malloc(N * sizeof *text), **names = malloc(N * sizeof *names);
    struct known_file *files = malloc(N * sizeof *files), f = known("{" JOB("0") EVENTS("x"));
    for (int i = 0; i < N; i++) {
        snprintf(text[i], sizeof text[i], "%05d/t", i / 2 * 2 + 1 - i % 2);
        names[i] = text[i];
        files[i] = f;
    }
    struct inputs x = split(names, files, N);
    assert_int_equal(x.n, N + 1);
    assert_int_equal(x.list[0].n_names, 0);
    for (int i = 0; i < N; i++)
        assert_string_equal(x.list[i + 1].names[0], names[i]);
    inputs_release(&x);
    free(text);
    free(names);
    free(files);
}

/* Facts after the events are found in the last bytes, whose first part may be anything. */
static void test_end(void **state)
{
    (void)state;
    static const char end[] = "\"distributedInfo\"}},{\"name\":\"x\"}],\"distributedInfo\": {\"backend\":\"nccl\","
                              "\"rank\":3,\"world_size\":4},\"deviceProperties\":[{\"id\":0,\"name\":\"A\"}]}";
    struct import_job job = {.is_trace = 1, .rank = -1, .world_size = -1};
    import_job_end(&job, end, sizeof end - 1);
    assert_int_equal(job.rank, 3);
    assert_int_equal(job.world_size, 4);
    assert_string_equal(job.model, "\"A\"");
    import_job_end(&job, "\"distributedInfo\":{\"rank\":1}", 29); /* already known */
    assert_int_equal(job.rank, 3);
    for (size_t n = 0; n < sizeof end; n++) { /* cut anywhere */
        job = (struct import_job){.is_trace = 1, .rank = -1, .world_size = -1};
        import_job_end(&job, end, n);
        assert_true(job.rank == -1 || job.rank == 3);
    }
}

/* A list of events names no rank, but the name of its file may. */
static void test_named(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int64_t rank;
    } of[] = {{"rank0.json", 0},           {"rank3/trace.json", -1},    {"out/node2-rank_12.json.gz", 12},
              {"Rank-7.pt.trace.json", 7}, {"rank1-of-rank2.json", -1}, {"rank1_rank1.json", 1},
              {"ranks.json", -1},          {"trace.json", -1}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct text t = {"[{\"ph\":\"X\",\"name\":\"x\"}]", 23};
        struct dcr_stream s = {text_read, &t, of[i].path};
        struct import_job job;
        assert_int_equal(import_job(&s, &job), IMPORT_PART);
        assert_int_equal(job.rank, of[i].rank);
    }
    struct text t = {"{\"traceEvents\":[{\"ph\":\"X\"}]}", 28};
    struct dcr_stream s = {text_read, &t, "rank5.json"};
    struct import_job job;
    assert_int_equal(import_job(&s, &job), IMPORT_PART);
    assert_int_equal(job.rank, -1);
}

static struct known_file recorded(int64_t begin_ns, int64_t end_ns)
{
    return (struct known_file){
        .kind = IMPORT_PART,
        .job = {.rank = -1, .world_size = -1, .is_nsys = 1, .begin_ns = begin_ns, .end_ns = end_ns}};
}

/* Ranks of one job were recorded at the same time; runs before and after a change were not. Files without a time stay
 * with the others. */
static void test_recordings_of_nsys(void **state)
{
    (void)state;
    static const char *const names[] = {"after.sqlite", "before-1.sqlite", "before-2.sqlite", "old.sqlite"};
    const struct known_file files[] = {recorded(9000, 9100), recorded(1000, 1100), recorded(1005, 1200),
                                       recorded(0, 0)};
    struct inputs x = split((char **)(uintptr_t)names, files, 4);
    assert_int_equal(x.n, 3);
    assert_int_equal(x.list[0].n_names, 1);
    assert_string_equal(x.list[0].names[0], "old.sqlite");
    assert_int_equal(x.list[1].n_names, 1);
    assert_string_equal(x.list[1].path, "top/after.sqlite");
    assert_int_equal(x.list[2].n_names, 2);
    assert_string_equal(x.list[2].names[0], "before-1.sqlite");
    assert_string_equal(x.list[2].names[1], "before-2.sqlite");
    inputs_release(&x);
    /* two ranks before and two after: both runs lie in one folder, so each is called by its first file */
    static const char *const pairs[] = {"f/after-0", "f/after-1", "f/before-0", "f/before-1"};
    const struct known_file pair[] = {recorded(9000, 9100), recorded(9010, 9200), recorded(1000, 1100),
                                      recorded(1005, 1200)};
    x = split((char **)(uintptr_t)pairs, pair, 4);
    assert_int_equal(x.n, 3);
    assert_string_equal(x.list[1].path, "top/f/after-0");
    assert_string_equal(x.list[2].path, "top/f/before-0");
    assert_int_equal(x.list[2].n_names, 2);
    inputs_release(&x);
    /* the first and the last do not overlap, but the one between them overlaps both, whatever the names */
    const struct known_file chain[3] = {recorded(1000, 1100), recorded(1050, 1300), recorded(1200, 1400)};
    for (int i = 0; i < 3; i++) {
        const struct known_file turned[3] = {chain[i], chain[(i + 1) % 3], chain[(i + 2) % 3]};
        x = split((char **)(uintptr_t)names, turned, 3);
        assert_int_equal(x.n, 1);
        inputs_release(&x);
    }
    x = split((char **)(uintptr_t)(names + 1), files + 1, 3); /* two overlap, and the third has no time of recording */
    assert_int_equal(x.n, 1);
    assert_int_equal(x.list[0].n_names, 3);
    inputs_release(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_gpu), cmocka_unit_test(test_split),
                                       cmocka_unit_test(test_many),   cmocka_unit_test(test_end),
                                       cmocka_unit_test(test_named),  cmocka_unit_test(test_recordings_of_nsys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
