/* test_report_json.c - report.json has all its keys, for names of any bytes, or the program fails
 * (render/write/json/json_values.h). */
#include "render/findings/narrate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/told.h"

#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t count_keys(const json_t *v)
{
    size_t n = 0, i;
    const char *key;
    json_t *inner;
    json_object_foreach((json_t *)(uintptr_t)v, key, inner) n += 1 + count_keys(inner);
    json_array_foreach(v, i, inner) n += 1 + count_keys(inner);
    return n;
}

static json_t *report_of(const struct report *rep)
{
    struct dcr_buf out = {0};
    narrate_report_json(rep, &out);
    json_t *root = out.failed ? NULL : json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL); /* only UTF-8 */
    dcr_buf_release(&out);
    return root;
}

/* Runs in which everything has this name. */
static struct fixture named(const char *name)
{
    struct fixture f = strong();
    for (int i = 0; i < f.n; i++) {
        struct run *r = f.runs[i];
        r->archive = r->run_id = r->config_hash = r->scheduler = r->job_id = r->collector_version = name;
        r->program.name = r->program.version = r->program.model = r->program.precision = r->program.blas = name;
        r->program.mpi = r->program.dataset = name;
        for (int k = 0; k < r->nodes_len; k++)
            r->nodes[k].host = r->nodes[k].cpu_model = r->nodes[k].kernel = name;
        r->files = dcr_arena_alloc(&r->arena, sizeof *r->files);
        r->files[0].name = name;
        r->n_files = 1;
        r->mpi_calls = dcr_arena_alloc(&r->arena, sizeof *r->mpi_calls);
        r->mpi_calls[0] = (struct run_mpi_call){.name = name, .sum = {.n = 20}};
        r->n_mpi_calls = 1;
        run_add_gap(r, PHRASE(ENDING, slot_name(name)));
    }
    return f;
}

static void test_bytes_that_are_no_text(void **state)
{
    (void)state;
    static const char *const names[] = {"plain", "a\xff\xfe", "\xc3", "\xed\xa0\x80", "a\x01"};
    size_t n_keys = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct fixture f = named(names[i]);
        tell(&f);
        report_add_note(&f.rep, NOTE_GAP, 0, NOTE_MISSING, PHRASE(ENDING, slot_name(names[i])));
        for (int k = 0; k < f.rep.n_runs; k++)
            f.rep.runs[k].label = f.rep.runs[k].headline = names[i];
        json_t *root = report_of(&f.rep);
        assert_non_null(root);
        n_keys = n_keys ? n_keys : count_keys(root);
        assert_int_equal(count_keys(root), n_keys);
        json_decref(root);
        release(&f);
    }
}

/* A long text is not cut, least of all within a character. */
static void test_long_text(void **state)
{
    (void)state;
    enum { N = 10001 };
    static char text[N];
    for (int i = 0; i + 1 < N; i += 2)
        memcpy(text + i, "\xc3\xa4", 2);
    struct fixture f = strong();
    tell(&f);
    report_add_note(&f.rep, NOTE_GAP, 0, NOTE_MISSING, PHRASE(ENDING, slot_name(text)));
    assert_int_equal(strlen(f.rep.notes[f.rep.n_notes - 1].text), strlen(f.rep.runs[0].label) + N - 1 + strlen(": ."));
    assert_int_equal(strlen(report_text(&f.rep, "%s", text)), N - 1);
    release(&f);
}

/* Values that are not finite become null; their keys stay. */
static void test_no_number(void **state)
{
    (void)state;
    size_t n_keys = 0;
    for (int is_nan = 0; is_nan < 2; is_nan++) {
        struct fixture f = strong();
        tell(&f);
        if (is_nan) {
            f.rep.runs[2].pop.parallel_ratio = NAN;
            f.rep.runs[2].step.cv_ratio = INFINITY;
            f.rep.thresholds.data_limits = NAN;
        }
        json_t *root = report_of(&f.rep);
        n_keys = n_keys ? n_keys : count_keys(root);
        assert_int_equal(count_keys(root), n_keys);
        json_decref(root);
        release(&f);
    }
}

static int n_left;

static void *all_but_one(size_t n)
{
    return n_left-- == 0 ? NULL : malloc(n);
}

/* Run in the child, with one allocation failing after the given number. returns  0: none failed; 1: the failure is
 * reported; 2: it is not */
static int write_with(const struct report *rep, int n_blocks)
{
    struct dcr_buf out = {0};
    n_left = n_blocks;
    json_set_alloc_funcs(all_but_one, free);
    narrate_report_json(rep, &out);
    return out.failed ? 1 : n_left < 0 ? 2 : 0;
}

static void test_without_memory(void **state)
{
    (void)state;
    struct fixture f = strong();
    tell(&f);
    int status = -1, n_failed = 0;
    for (int n_blocks = 0; n_blocks < 1 << 20; n_blocks = 2 * n_blocks + 1) {
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            if (!freopen("/dev/null", "w", stderr))
                _exit(3);
            _exit(write_with(&f.rep, n_blocks));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        int is_failed = WIFSIGNALED(status) ? WTERMSIG(status) == SIGABRT : WEXITSTATUS(status) == 1;
        assert_true(is_failed || (WIFEXITED(status) && WEXITSTATUS(status) == 0)); /* never a report with less in it */
        n_failed += is_failed;
    }
    assert_true(n_failed >= 5);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0); /* the last had enough */
    release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_that_are_no_text),
        cmocka_unit_test(test_long_text),
        cmocka_unit_test(test_no_number),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
