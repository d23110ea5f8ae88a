/* test_changes.c - before and after by name: names of kernels, sums, and the split of a difference
 * (render/metrics/changes.c), and its sentences (render/findings/changes_said.c). */
#include "render/findings/changes_said.h"
#include "render/findings/rules/compare.h"
#include "render/metrics/stats.h"
#include "render/model/build.h"
#include "tests/unit/made_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_short_names(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128, (bool)0>, (bool)1>(flash::Flash_fwd_params)",
         "flash_fwd_kernel"},
        {"void at::native::(anonymous namespace)::indexSelect<float, 2>(int, T1)", "indexSelect"},
        {"void at::native::vectorized<(int)8, f(at::Iter &)::[lambda(float) (instance 1)], std::array<char *, "
         "2ul>>(int)",
         "vectorized"},
        {"void a<b<int>>::c::d<(e)1>(f)", "d"},
        {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)", "ncclDevKernel_SendRecv"},
        {"nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN", "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN"},
        {"(other operations)", "(other operations)"},
        {"void cut<int", "cut"},
        {"", ""}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t len;
        const char *s = kernel_short_name(names[i][0], &len);
        assert_int_equal(len, strlen(names[i][1]));
        assert_memory_equal(s, names[i][1], len);
    }
}

/* The two parts always add up to the difference. Calls of unchanged length change only by their number. */
static void test_split(void **state)
{
    (void)state;
    struct draws d = {7};
    for (int i = 0; i < 2000; i++) {
        struct changed c = {.n = {1 + (int64_t)draw_below(&d, 1000), 1 + (int64_t)draw_below(&d, 1000)},
                            .ns = {(int64_t)draw_below(&d, 1U << 30) << draw_below(&d, 20), 0}};
        c.ns[AFTER] = i % 2 ? (int64_t)draw_below(&d, 1U << 30) : c.ns[BEFORE] / c.n[BEFORE] * c.n[AFTER];
        changed_split(&c);
        assert_true(c.by_calls_ns + c.by_mean_ns == c.ns[AFTER] - c.ns[BEFORE]);
        if (i % 2 == 0) /* the mean before was cut to whole ns */
            assert_true(llabs(c.by_mean_ns) <= c.n[AFTER] + 1);
    }
    struct changed is_new = {.n = {0, 3}, .ns = {0, 30}}, is_gone = {.n = {2, 0}, .ns = {50, 0}},
                   both = {.n = {68, 60}, .ns = {272, 241}};
    changed_split(&is_new);
    changed_split(&is_gone);
    changed_split(&both);
    assert_int_equal(is_new.by_calls_ns, 30);
    assert_int_equal(is_gone.by_calls_ns, -50);
    assert_int_equal(both.by_calls_ns, -32); /* 8 calls of 4 ns */
    assert_int_equal(both.by_mean_ns, 1);
}

struct kernel {
    const char *name;
    int64_t n, sum_ns;
};

static struct run *made_gpu(const struct kernel *kernels, int n, int64_t span_ns, int64_t idle_ns)
{
    struct run *r = run_new("trace");
    r->run_id = "trace";
    r->is_foreign = 1;
    struct run_device *d = dcr_arena_alloc(&r->arena, sizeof *d);
    d->names = dcr_arena_alloc(&r->arena, (size_t)n * sizeof *d->names);
    for (int i = 0; i < n; i++)
        d->names[d->n_names++] = (struct device_name){
            .name = kernels[i].name, .kind = OP_COMPUTE, .n = kernels[i].n, .sum_ns = kernels[i].sum_ns};
    d->value[DEV_KERNELS] = 1;
    d->value[DEV_SPAN] = span_ns;
    d->value[DEV_IDLE] = idle_ns;
    struct foreign_trace t = {
        .file = "0.sqlite", .kind = FOREIGN_NSYS_SQLITE, .rank = -1, .devices = d, .n_devices = 1};
    run_add_trace(r, &t);
    return r;
}

static void test_by_name(void **state)
{
    (void)state;
    static const struct kernel before[] = {{"void f<1>(int)", 4, 400}, {"void f<2>(int)", 6, 300}, {"g", 10, 100}},
                               after[] = {{"void f<2>(int)", 8, 400}, {"g", 10, 150}, {"h", 1, 7}};
    struct run *a = made_gpu(before, 3, 1000, 100), *b = made_gpu(after, 3, 1005, 300);
    struct dcr_arena arena = {0};
    struct changes c = changes_between(&arena, a, b);
    const struct changed_table *t = &c.of[CHANGED_KERNELS], *full = &c.of[CHANGED_FULL];
    assert_int_equal(t->n_rows, 3);
    assert_string_equal(t->rows[0].name, "f"); /* 700 to 400: 10 calls to 8 */
    assert_int_equal(t->rows[0].n[BEFORE], 10);
    assert_int_equal(t->rows[0].ns[AFTER], 400);
    assert_int_equal(t->rows[0].by_calls_ns, -140);
    assert_int_equal(t->rows[0].by_mean_ns, -160);
    assert_string_equal(t->rows[1].name, "g");
    assert_int_equal(t->rows[1].by_mean_ns, 50);
    assert_string_equal(t->rows[2].name, "h");
    assert_int_equal(t->all.ns[AFTER] - t->all.ns[BEFORE], -243);
    assert_int_equal(t->all.by_calls_ns + t->all.by_mean_ns, -243);
    assert_int_equal(full->n_rows, 4);
    assert_string_equal(full->rows[0].name, "void f<1>(int)"); /* gone */
    assert_int_equal(full->all.ns[BEFORE], t->all.ns[BEFORE]);
    assert_int_equal(c.of[CHANGED_MPI].n_rows, 0);
    assert_int_equal(c.gpu[DEV_IDLE][AFTER], 300);
    dcr_arena_release(&arena);
    run_free(a);
    run_free(b);
}

/* A short name unfolds to its full names, which sum to it even where only the largest have a row. */
static void test_full_names(void **state)
{
    (void)state;
    enum { N = 450 };
    static char names[N][32];
    static struct kernel sides[N_SIDES][N];
    struct draws d = {5};
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], i % 50 ? "void k%d<%d>(int)" : "plain%d_%d", i % 3, i);
        for (int side = 0; side < N_SIDES; side++)
            sides[side][i] = (struct kernel){names[i], 1 + (int64_t)draw_below(&d, 9), (int64_t)draw_below(&d, 100000)};
    }
    for (int n = 40; n <= N; n += N - 40) {
        struct run *a = made_gpu(sides[BEFORE], n, 1000, 100), *b = made_gpu(sides[AFTER], n - 1, 1005, 300);
        struct dcr_arena arena = {0};
        struct changes c = changes_between(&arena, a, b);
        int n_others = 0, n_plain = 0, n_rows = 0;
        for (int i = 0; i < c.of[CHANGED_KERNELS].n_rows; i++) {
            const struct changed *row = &c.of[CHANGED_KERNELS].rows[i];
            struct changed_table full = changed_full_names(&arena, &c, row);
            int64_t sum[4] = {0};
            for (int k = 0; k < full.n_rows; k++) {
                const struct changed *x = &full.rows[k];
                for (int side = 0; side < N_SIDES; side++)
                    sum[side] += x->n[side], sum[2 + side] += x->ns[side];
                n_others += strcmp(x->name, CHANGED_OTHERS) == 0;
                assert_true(x->by_calls_ns + x->by_mean_ns == x->ns[AFTER] - x->ns[BEFORE]);
            }
            n_rows += full.n_rows;
            n_plain += full.n_rows == 0;
            assert_true(full.n_rows == 0 || (sum[0] == row->n[BEFORE] && sum[1] == row->n[AFTER] &&
                                             sum[2] == row->ns[BEFORE] && sum[3] == row->ns[AFTER]));
            assert_int_equal(full.n_rows == 0, strncmp(row->name, "plain", 5) == 0);
        }
        assert_int_equal(n_plain, n > 50 ? N / 50 : 1);
        assert_true(n > 200 ? n_others == 3 && n_rows > 190 : n_others == 0 && n_rows == n - 1);
        dcr_arena_release(&arena);
        run_free(a);
        run_free(b);
    }
}

/* A profiler's operators and the native ranges of a run show the same time, which counts once. A side that lacks the
 * one is compared by the other. */
static void test_operators_of_two_recorders(void **state)
{
    (void)state;
    static struct host_operator operators[] = {{.name = "aten::mm", .n = 2, .self_ns = 70}},
                                ranges[] = {{.name = "forward", .n = 1, .self_ns = 100}};
    static const struct kernel none[] = {{"k", 1, 1}};
    static const struct {
        int has_operators[N_SIDES], has_ranges[N_SIDES];
        const char *name; /* NULL: nothing compares */
    } cases[] = {{{1, 1}, {1, 1}, "aten::mm"},
                 {{1, 1}, {0, 1}, "aten::mm"},
                 {{1, 0}, {1, 1}, "forward"},
                 {{0, 0}, {1, 1}, "forward"},
                 {{0, 0}, {1, 0}, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run *runs[N_SIDES];
        for (int side = 0; side < N_SIDES; side++) {
            runs[side] = made_gpu(none, 1, 1000, 100);
            runs[side]->traces[0].operators =
                (struct host_operators){.list = operators, .n_names = cases[i].has_operators[side]};
            runs[side]->ranges = (struct host_operators){.list = ranges, .n_names = cases[i].has_ranges[side]};
        }
        struct dcr_arena arena = {0};
        struct changes c = changes_between(&arena, runs[BEFORE], runs[AFTER]);
        const struct changed_table *t = &c.of[CHANGED_OPERATORS];
        assert_int_equal(t->n_rows, cases[i].name != NULL);
        if (cases[i].name) {
            assert_string_equal(t->rows[0].name, cases[i].name);
            assert_int_equal(t->rows[0].ns[BEFORE], t->rows[0].ns[AFTER]);
        }
        dcr_arena_release(&arena);
        run_free(runs[BEFORE]);
        run_free(runs[AFTER]);
    }
}

/* A file in the spool of its run is the same file before and after. */
static void test_files_in_spools(void **state)
{
    (void)state;
    struct run_file files[N_SIDES][2] = {{{.name = "/r/.spool-4node-1/program/a.csv"}, {.name = "/data/x"}},
                                         {{.name = "/r/fix/.spool-4node-2/program/a.csv"}, {.name = "/data/x"}}};
    struct run *runs[N_SIDES];
    for (int side = 0; side < N_SIDES; side++) {
        runs[side] = run_new("made");
        for (int i = 0; i < 2; i++)
            files[side][i].sum[DCT_IO_WRITE] = (struct dct_io){.n = 10, .ns = side ? 300 : 200, .max_ns = 40};
        runs[side]->files = files[side];
        runs[side]->n_files = 2;
    }
    struct dcr_arena arena = {0};
    struct changes c = changes_between(&arena, runs[BEFORE], runs[AFTER]);
    const struct changed_table *t = &c.of[CHANGED_FILES];
    assert_int_equal(t->n_rows, 2);
    for (int i = 0; i < 2; i++) {
        assert_true(strcmp(t->rows[i].name, "program/a.csv") == 0 || strcmp(t->rows[i].name, "/data/x") == 0);
        assert_int_equal(t->rows[i].by_mean_ns, 100);
        assert_int_equal(t->rows[i].by_calls_ns, 0);
    }
    dcr_arena_release(&arena);
    for (int side = 0; side < N_SIDES; side++)
        run_free(runs[side]);
}

/* Names of a run: a folder of its own, and ids of processes. Ranks stay apart, and so do files of several candidates.
 */
static void test_files_of_each_run(void **state)
{
    (void)state;
    enum { N = 5 };
    static const char *const names[N_SIDES][N] = {
        {"/runs/on/rank0.csv", "/runs/on/rank1.csv", "/tmp/ompi.h/pid.27455", "/data/a/x", "/both/2024/y"},
        {"/runs/off/rank0.csv", "/runs/off/rank1.csv", "/tmp/ompi.h/pid.31914", "/data/b/x", "/data/c/x"}};
    struct run_file files[N_SIDES][N] = {0};
    struct run *runs[N_SIDES];
    for (int side = 0; side < N_SIDES; side++) {
        runs[side] = run_new("made");
        for (int i = 0; i < N; i++) {
            files[side][i].name = names[side][i];
            files[side][i].sum[DCT_IO_READ] = (struct dct_io){.n = 1, .ns = (uint64_t)(100 + i), .max_ns = 200};
        }
        runs[side]->files = files[side];
        runs[side]->n_files = N;
    }
    struct dcr_arena arena = {0};
    struct changes c = changes_between(&arena, runs[BEFORE], runs[AFTER]);
    const struct changed_table *t = &c.of[CHANGED_FILES];
    static const char *const joined[] = {"/runs/*/rank0.csv", "/runs/*/rank1.csv", "/tmp/ompi.h/pid.*"};
    int n_joined = 0;
    for (int i = 0; i < t->n_rows; i++)
        for (size_t k = 0; k < sizeof joined / sizeof *joined; k++)
            if (strcmp(t->rows[i].name, joined[k]) == 0) {
                assert_int_equal(t->rows[i].n[BEFORE], 1);
                assert_int_equal(t->rows[i].n[AFTER], 1);
                assert_int_equal(t->rows[i].ns[AFTER], 100 + (int)k);
                n_joined++;
            }
    assert_int_equal(n_joined, 3);
    assert_int_equal(t->n_rows, 3 + 4); /* x of three folders, and y */
    assert_int_equal(t->all.n[BEFORE] + t->all.n[AFTER], 2 * N);
    dcr_arena_release(&arena);
    for (int side = 0; side < N_SIDES; side++)
        run_free(runs[side]);
}

struct made {
    struct kernel kernels[2];
    int64_t span_ns, idle_ns;
    int lacks_kernels, n_more_gpus, n_steps, n_more_runs;
    int64_t batch;  /* 0 = not known */
    int64_t run_ns; /* that the process of its rank ran */
    const char *program;
    const char *const *command; /* of 5 words; NULL = not known */
};

/* Why the last said_of compared nothing. */
static enum reason_code why_not;

/* Findings for a run before and one after; PHRASE_NONE as the headline: nothing. Steps are compared if both have some.
 */
static struct said said_of(struct made before, struct made after)
{
    struct run *runs[N_SIDES];
    struct run_result results[N_SIDES] = {{0}};
    struct report rep = {.n_runs = 1 + after.n_more_runs, .runs = &results[AFTER]},
                  old = {.n_runs = 1, .runs = &results[BEFORE]};
    struct said said = {0};
    for (int side = 0; side < N_SIDES; side++) {
        const struct made *m = side ? &after : &before;
        runs[side] = made_gpu(m->kernels, 2, m->span_ns, m->idle_ns);
        runs[side]->traces[0].lacks_kernels = m->lacks_kernels;
        runs[side]->program.global_batch = m->batch;
        runs[side]->program.name = m->program ? m->program : "";
        runs[side]->command = (const char **)m->command;
        runs[side]->n_command = m->command ? 5 : 0;
        if (m->run_ns) {
            run_rank_at(runs[side], 0)->process_seconds = (double)m->run_ns / 1e9;
            runs[side]->n_ranks = runs[side]->is_complete = 1;
            runs[side]->collector_version = "1.0.0";
        }
        if (m->n_more_gpus) {
            struct foreign_trace t = runs[side]->traces[0];
            t.file = "1.sqlite";
            run_add_trace(runs[side], &t);
        }
        results[side].run = runs[side];
        results[side].n_steps = m->n_steps;
        results[side].has_steps = m->n_steps > 0;
    }
    rep.n_comparisons = before.n_steps && after.n_steps;
    rep.no_comparison = rep.n_comparisons ? REASON(NONE) : REASON(COMPARE_NO_STEPS);
    changes_of_report(&rep, &old);
    narrate_changes(&rep);
    why_not = rep.no_changes.code;
    assert_true(!rep.changes == (why_not != REASON_NONE));
    if (rep.changes) {
        said = rep.changes->said;
        if (!rep.n_comparisons) {
            assert_string_equal(rep.headline, rep.changes->sentence);
            assert_string_equal(rep.confidence, "low");
        }
        const struct phrase *total =
            &said.support[*rep.changes->program[BEFORE] ? 1 : 0]; /* it begins with a capital */
        assert_true(total->id != PHRASE_CHANGED_TOTAL_BESIDE || strcmp(total->slot[0].name, "Kernels") == 0);
    }
    for (int i = 0; i < SAID_MAX; i++) /* names live in the report */
        for (int k = 0; k < SLOTS_MAX; k++)
            if (said.support[i].slot[k].kind == SLOT_NAME)
                said.support[i].slot[k].name = strcmp(said.support[i].slot[k].name, "f") == 0 ? "f" : "g";
    dcr_arena_release(&rep.arena);
    run_free(runs[BEFORE]);
    run_free(runs[AFTER]);
    return said;
}

static int says(const struct said *s, enum phrase_id id)
{
    for (int i = 0; i < SAID_MAX; i++)
        if (s->support[i].id == id)
            return 1;
    return 0;
}

static const struct made before = {
    .kernels = {{"f", 10, 500000}, {"g", 10, 100000}}, .span_ns = 1000000, .idle_ns = 100000};

/* Fewer calls of f, longer ones of g, in windows of one length. */
static void test_less_work(void **state)
{
    (void)state;
    struct said s = said_of(
        before, (struct made){.kernels = {{"f", 8, 400000}, {"g", 10, 130000}}, .span_ns = 1001000, .idle_ns = 300000});
    static const enum phrase_id is[SAID_MAX] = {
        PHRASE_CHANGED_STEPS_UNKNOWN, PHRASE_CHANGED_LESS_WORK, PHRASE_CHANGED_MOST_LESS, PHRASE_CHANGED_CALLS_FEWER,
        PHRASE_CHANGED_SAME_CALL,     PHRASE_CHANGED_ROW_MORE,  PHRASE_CHANGED_LONGER,    PHRASE_CHANGED_IDLE};
    assert_int_equal(s.headline.id, PHRASE_CHANGED_TOTAL);
    assert_int_equal(s.headline.slot[1].count, 530000);
    assert_int_equal(s.headline.slot[2].count, 600000);
    for (int i = 0; i < SAID_MAX; i++)
        assert_int_equal(s.support[i].id, is[i]);
    assert_string_equal(s.support[2].slot[0].name, "f");
    assert_int_equal(s.support[3].slot[0].count, 8);
    assert_string_equal(s.support[3].slot[2].name, "f"); /* not "it", which may begin a paragraph */
    assert_true(s.support[3].slot[3].real > 0.2 &&
                s.support[3].slot[3].real < 0.202); /* 8 / 1001 instead of 10 / 1000 */
    assert_int_equal(s.support[4].slot[0].count, 50000);
    assert_string_equal(s.support[5].slot[0].name, "g");
    assert_true(s.support[6].slot[0].real > 0.299 && s.support[6].slot[0].real < 0.301);
}

/* Without steps, the time of the runs shows it, unless the monitors look too seldom. Other programs come first. */
static void test_run_times(void **state)
{
    (void)state;
    struct made x = before, y = before;
    x.run_ns = 2300000000;
    y.run_ns = 1400000000;
    struct said s = said_of(x, y); /* of commands that are not known */
    assert_int_equal(s.headline.id, PHRASE_CHANGED_NOTHING);
    assert_int_equal(s.support[0].id, PHRASE_CHANGED_RUN_TIME);
    assert_int_equal(s.support[0].slot[0].count, 1400000000);
    assert_int_equal(s.support[0].slot[1].count, 2300000000);
    x.program = "f";
    y.program = "fixed";
    s = said_of(x, y);
    assert_int_equal(s.support[0].id, PHRASE_COMPARED_PROGRAMS);
    assert_int_equal(s.support[1].id, PHRASE_CHANGED_RUN_TIME);
    y.run_ns = 2300000001;
    s = said_of(x, y);
    assert_int_equal(s.support[1].id, PHRASE_CHANGED_SAME_RUN_TIME);
    y.run_ns = 900000000;
    s = said_of(x, y);
    assert_int_equal(s.support[1].id, PHRASE_CHANGED_STEPS_UNKNOWN);
}

/* Of one program, the time of the runs is the answer, and the sums by name follow. A new name of the program alone does
 * not change the command. */
static void test_run_time_first(void **state)
{
    (void)state;
    static const char *const slow[] = {"mpirun", "-n", "2", "./heat", "300"},
                             *const fixed[] = {"mpirun", "-n", "2", "./heat_fix", "300"},
                             *const longer[] = {"mpirun", "-n", "2", "./heat_fix", "900"},
                             *const script[] = {"mpirun", "-n", "2", "/usr/bin/python3", "train.py"},
                             *const other_script[] = {"mpirun", "-n", "2", "/usr/bin/python3", "train_fix.py"};
    static const struct {
        const char *const *before, *const *after;
        int is_first, is_renamed;
    } cases[] = {{slow, slow, 1, 0},
                 {fixed, longer, 1, 0},
                 {slow, fixed, 1, 1},
                 {slow, longer, 0, 1},
                 {script, other_script, 1, 1}};
    struct made x = before, y = before;
    x.run_ns = 2000000000;
    y.run_ns = 1000000000;
    y.kernels[0].sum_ns = 200000;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        x.command = cases[i].before;
        y.command = cases[i].after;
        struct said s = said_of(x, y);
        int at = cases[i].is_renamed;
        assert_int_equal(s.support[0].id == PHRASE_COMPARED_PROGRAMS, cases[i].is_renamed);
        assert_int_equal(s.headline.id, cases[i].is_first ? PHRASE_CHANGED_RUN : PHRASE_CHANGED_TOTAL);
        assert_int_equal(s.support[at].id, cases[i].is_first ? PHRASE_CHANGED_TOTAL_BESIDE : PHRASE_CHANGED_RUN_TIME);
        assert_false(cases[i].is_first && says(&s, PHRASE_CHANGED_RUN_TIME));
        assert_true(!cases[i].is_first || fabs(s.headline.slot[2].real - 0.5) < 1e-9);
    }
    y.command = slow;
    x.command = slow;
    y.run_ns = 2000000001;
    assert_int_equal(said_of(x, y).headline.id, PHRASE_CHANGED_SAME_RUN);
    y.run_ns = 900000000; /* not known */
    assert_int_equal(said_of(x, y).headline.id, PHRASE_CHANGED_TOTAL);
    x.n_steps = y.n_steps = 3;
    y.run_ns = 1000000000;
    assert_int_equal(said_of(x, y).headline.id, PHRASE_CHANGED_TOTAL);
}

/* Shorter calls, a kernel of another name, or another window: the amount of work is not judged. */
static void test_no_less_work(void **state)
{
    (void)state;
    struct said s = said_of(
        before,
        (struct made){.kernels = {{"f", 10, 400000}, {"g", 10, 100000}}, .span_ns = 1000000, .idle_ns = 300000});
    assert_int_equal(s.support[1].id, PHRASE_CHANGED_IDLE);
    assert_int_equal(s.support[3].id, PHRASE_CHANGED_SHORTER);
    assert_int_equal(s.support[4].id, PHRASE_NONE);
    s = said_of(
        before,
        (struct made){.kernels = {{"new", 20, 400000}, {"g", 10, 100000}}, .span_ns = 1000000, .idle_ns = 300000});
    assert_true(says(&s, PHRASE_CHANGED_GONE) && says(&s, PHRASE_CHANGED_NEW));
    for (int i = 0; i < SAID_MAX; i++)
        if (s.support[i].id == PHRASE_CHANGED_GONE)
            assert_string_equal(s.support[i].slot[0].name, "f");
    assert_false(says(&s, PHRASE_CHANGED_LESS_WORK));
    s = said_of(before,
                (struct made){.kernels = {{"f", 8, 400000}, {"g", 10, 100000}}, .span_ns = 700000, .idle_ns = 300000});
    assert_int_equal(s.support[1].id, PHRASE_CHANGED_WINDOW);
    assert_int_equal(s.support[1].slot[0].count, 700000);
    s = said_of(before, (struct made){.kernels = {{"f", 10, 1000000}, {"g", 10, 100000}}, .span_ns = 1000000});
    assert_true(says(&s, PHRASE_CHANGED_TIMES_LONGER) && !says(&s, PHRASE_CHANGED_LONGER)); /* 2x, not 100 % */
    /* all time of f was in other kernels before */
    s = said_of((struct made){.kernels = {{"f", 10, 0}, {"g", 10, 100000}}, .span_ns = 1000000, .idle_ns = 100000},
                before);
    assert_int_equal(s.support[1].id, PHRASE_CHANGED_MOST_MORE);
    assert_int_equal(s.support[2].id, PHRASE_NONE);
    /* the same on both sides */
    s = said_of(before, before);
    assert_int_equal(s.headline.id, PHRASE_CHANGED_NOTHING);
    assert_int_equal(s.support[1].id, PHRASE_NONE);
}

/* Runs of another number of steps have sums of other work. Only means are compared. */
static void test_unequal_steps(void **state)
{
    (void)state;
    struct made some = before, less = {.kernels = {{"f", 5, 250000}, {"g", 5, 65000}}, .span_ns = 500000};
    some.n_steps = 6;
    less.n_steps = 3;
    struct said s = said_of(some, less);
    assert_int_equal(s.headline.id, PHRASE_CHANGED_UNEQUAL);
    assert_int_equal(s.support[0].id, PHRASE_CHANGED_OTHER_STEPS);
    assert_int_equal(s.support[0].slot[0].count, 3);
    assert_int_equal(s.support[0].slot[1].count, 6);
    assert_int_equal(s.support[1].id, PHRASE_CHANGED_MOST_PER_CALL);
    assert_string_equal(s.support[1].slot[0].name, "g");
    assert_int_equal(s.support[2].id, PHRASE_CHANGED_LONGER);
    assert_false(says(&s, PHRASE_CHANGED_MOST_LESS) || says(&s, PHRASE_CHANGED_CALLS));
    less.n_steps = 6;
    s = said_of(some, less);
    assert_int_equal(s.headline.id, PHRASE_CHANGED_TOTAL);
    assert_false(says(&s, PHRASE_CHANGED_OTHER_STEPS));
    some.batch = 64;
    less.batch = 128; /* then a call is other work too */
    s = said_of(some, less);
    assert_int_equal(s.headline.id, PHRASE_CHANGED_UNEQUAL);
    assert_int_equal(s.support[0].id, PHRASE_CHANGED_OTHER_SAMPLES);
    assert_int_equal(s.support[0].slot[0].count, 6 * 128);
    assert_int_equal(s.support[0].slot[1].count, 6 * 64);
    assert_false(says(&s, PHRASE_CHANGED_MOST_PER_CALL) || says(&s, PHRASE_CHANGED_LONGER));
    less.n_steps = 3; /* as many samples in half as many steps */
    assert_int_equal(said_of(some, less).headline.id, PHRASE_CHANGED_TOTAL);
    less.batch = 0;
    assert_int_equal(said_of(some, less).support[0].id, PHRASE_CHANGED_OTHER_STEPS);
}

/* If kernels are missing on a side, or one has more GPUs, their sums are not compared, and the report says why. */
static void test_not_compared(void **state)
{
    (void)state;
    struct made cut = before, more = before;
    cut.lacks_kernels = 1;
    more.n_more_gpus = 1;
    assert_int_equal(said_of(before, cut).headline.id, PHRASE_NONE);
    assert_int_equal(why_not, REASON_NAMES_NOT_ON_BOTH);
    assert_int_equal(said_of(cut, before).headline.id, PHRASE_NONE);
    assert_int_equal(said_of(before, more).headline.id, PHRASE_NONE);
    assert_int_equal(why_not, REASON_NAMES_OTHER_GPUS);
    struct made several = before, stepped = before;
    several.n_more_runs = 1;
    stepped.n_steps = 3;
    assert_int_equal(said_of(before, several).headline.id, PHRASE_NONE);
    assert_int_equal(why_not, REASON_NAMES_SEVERAL_RUNS);
    assert_int_equal(said_of(before, stepped).headline.id, PHRASE_NONE);
    assert_int_equal(why_not, REASON_COMPARE_NO_STEPS); /* the reason of the comparison of steps */
}

/* MPI calls that every program makes once are left out, and names after the first 200 share a row. */
static void test_many_names(void **state)
{
    (void)state;
    struct run *runs[N_SIDES];
    for (int side = 0; side < N_SIDES; side++) {
        struct run *r = runs[side] = run_new("mpi");
        struct dct_io once = {.n = 1, .ns = side ? 9000000 : 1};
        run_observe_mpi(r, "MPI_Init", &once);
        for (int i = 0; i < 230; i++) {
            char name[32];
            struct dct_io io = {.n = 2, .ns = (uint64_t)(side ? 1000 + i : 1000)};
            snprintf(name, sizeof name, "MPI_Call_%03d", i);
            run_observe_mpi(r, name, &io);
        }
        run_sort_observed(r);
    }
    struct dcr_arena arena = {0};
    struct changes c = changes_between(&arena, runs[BEFORE], runs[AFTER]);
    const struct changed_table *t = &c.of[CHANGED_MPI];
    assert_int_equal(t->n_rows, 201);
    assert_string_equal(t->rows[0].name, "MPI_Call_229");
    assert_string_equal(t->rows[200].name, CHANGED_OTHERS);
    assert_int_equal(t->rows[200].ns[AFTER], 30 * 1000 + 29 * 30 / 2);
    assert_int_equal(t->all.ns[AFTER] - t->all.ns[BEFORE], 229 * 230 / 2);
    assert_int_equal(t->all.n[BEFORE], 460);
    dcr_arena_release(&arena);
    run_free(runs[BEFORE]);
    run_free(runs[AFTER]);
}

/* If a side has more names than its reader keeps, a name that only the other side shows may be among them. */
static void test_other_names(void **state)
{
    (void)state;
    static const struct kernel few[] = {{"f", 1, 100}, {"g", 1, 50}},
                               many[] = {{"f", 1, 90}, {"(other operations)", 3, 70}};
    struct run *a = made_gpu(few, 2, 1000, 0), *b = made_gpu(many, 2, 1000, 0);
    struct dcr_arena arena = {0};
    struct changes c = changes_between(&arena, a, b);
    const struct changed_table *t = &c.of[CHANGED_FULL];
    assert_int_equal(t->n_rows, 2);
    assert_string_equal(t->rows[0].name, "(other operations)");
    assert_int_equal(t->rows[0].ns[BEFORE], 50);
    assert_int_equal(t->rows[0].n[AFTER], 3);
    assert_int_equal(t->all.ns[BEFORE], 150);
    dcr_arena_release(&arena);
    run_free(a);
    run_free(b);
}

/* Sums that another program saturated, or a crafted file holds, do not overflow. */
static void test_extremes(void **state)
{
    (void)state;
    static const struct kernel most[] = {{"f", 1, INT64_MAX}, {"f", INT64_MAX, INT64_MAX}},
                               least[] = {{"f", INT64_MAX, 0}, {"f", 1, 1}};
    struct run *a = made_gpu(most, 2, INT64_MAX, 1), *b = made_gpu(least, 2, 1, 1);
    struct dcr_arena arena = {0};
    struct changes c = changes_between(&arena, a, b), back = changes_between(&arena, b, a);
    assert_true(c.of[CHANGED_KERNELS].all.ns[BEFORE] > 0 && c.of[CHANGED_KERNELS].rows[0].by_mean_ns < 0);
    assert_true(back.of[CHANGED_KERNELS].all.ns[AFTER] > 0);
    dcr_arena_release(&arena);
    run_free(a);
    run_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_short_names),
                                       cmocka_unit_test(test_split),
                                       cmocka_unit_test(test_by_name),
                                       cmocka_unit_test(test_full_names),
                                       cmocka_unit_test(test_operators_of_two_recorders),
                                       cmocka_unit_test(test_files_in_spools),
                                       cmocka_unit_test(test_files_of_each_run),
                                       cmocka_unit_test(test_run_times),
                                       cmocka_unit_test(test_run_time_first),
                                       cmocka_unit_test(test_less_work),
                                       cmocka_unit_test(test_no_less_work),
                                       cmocka_unit_test(test_unequal_steps),
                                       cmocka_unit_test(test_not_compared),
                                       cmocka_unit_test(test_many_names),
                                       cmocka_unit_test(test_other_names),
                                       cmocka_unit_test(test_extremes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
