/* told.h - reports of runs built in memory, for the tests of the narration: made_run.h makes the numbers. Included
 * after cmocka.h. */
#ifndef TESTS_UNIT_TOLD_H
#define TESTS_UNIT_TOLD_H

#include "render/say/say.h"
#include "render/findings/claims.h"
#include "render/findings/narrate.h"
#include "render/pages/pages.h"
#include "tests/unit/made_run.h"

enum { MAX_RUNS = 8 };
struct fixture {
    struct report rep;
    struct run *runs[MAX_RUNS];
    int n;
};

static inline void tell(struct fixture *f)
{
    struct analyse_options o = made_options();
    struct dcr_err err = {0};
    assert_int_equal(analyse(&f->rep, f->runs, f->n, &o, &err), 0);
    narrate(&f->rep);
    assert_int_equal(documents_make(&f->rep, &err), 0);
}

static inline void release(struct fixture *f)
{
    report_free(&f->rep);
    for (int i = 0; i < f->n; i++)
        run_free(f->runs[i]);
}

static inline struct fixture strong(void)
{
    struct fixture f = {.n = 3};
    f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
    f.runs[1] = made_even_run(2, 64, 40, 42000000, 6000000, 0, 0);
    f.runs[2] = made_even_run(4, 64, 40, 21000000, 11000000, 0, 0);
    return f;
}

static inline void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' does not hold '%s'", text, part);
}

static inline void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("'%.400s' holds '%s'", text, part);
}

static inline void assert_finds(const struct said *s, enum phrase_id id)
{
    if (s->headline.id != id)
        fail_msg("'%s' was found, not '%s'", say_phrase_row(s->headline.id)->id, say_phrase_row(id)->id);
}

/* The slots of a sentence among n; fails if it is not there. */
static inline const struct slot *assert_says(const struct phrase *p, int n, enum phrase_id id)
{
    for (int i = 0; i < n; i++)
        if (p[i].id == id)
            return p[i].slot;
    fail_msg("'%s' is not said", say_phrase_row(id)->id);
    return NULL;
}

/* The same for a sentence of support. */
static inline const struct slot *assert_supports(const struct said *s, enum phrase_id id)
{
    return assert_says(s->support, SAID_MAX, id);
}

static inline int is_said(const struct said *s, enum phrase_id id)
{
    for (int i = 0; i < SAID_MAX; i++)
        if (s->support[i].id == id)
            return 1;
    return s->headline.id == id;
}

/* A share of a slot, in whole percent. */
static inline int percent_of(const struct slot *s)
{
    assert_int_equal(s->kind, SLOT_PERCENT);
    return (int)(100 * s->real + 0.5);
}

static inline const struct document *document(const struct report *rep, const char *path)
{
    for (int i = 0; i < rep->n_documents; i++)
        if (strcmp(rep->documents[i].path, path) == 0)
            return &rep->documents[i];
    fail_msg("no document '%s'", path);
    return NULL;
}

/* The leading class leads everywhere: headline, action, class table, list of actions. */
static inline void assert_one_story(const struct report *rep, enum cause_class cls, int last_run)
{
    const struct claim *order[64];
    int all[MAX_RUNS] = {0, 1, 2, 3, 4, 5, 6, 7};
    assert_true(rep->n_claims > 0 && rep->n_claims <= 64);
    assert_true(claims_in_order(rep, all, rep->n_runs, 1, order) > 0);
    assert_int_equal(order[0]->cls, cls);
    assert_ptr_equal(order[0], &rep->claims[rep->first_claim]);
    assert_string_equal(order[0]->sentence, rep->headline);
    assert_int_equal(rep->runs[last_run].classes[cls].verdict, VERDICT_LIMITS);
    const char *action = *order[0]->action.ours ? order[0]->action.ours : order[0]->action.generic;
    assert_contains(rep->first_action, action + 1);
}

/* Two ranks for 10 s: rank 0 waits in MPI for 4 s, and rank 1 for 0.4 s. Each lacked a core for run_delay_ns. */
static inline struct run *late_of_two(struct run_mpi_call *calls, int64_t run_delay_ns)
{
    struct run *a = made_run(2, 64);
    a->mpi_calls = calls;
    a->n_mpi_calls = 1;
    a->collector_version = "0.1.0";
    for (int k = 0; k < 2; k++) {
        a->ranks[k].process_seconds = 10;
        a->ranks[k].run_delay_ns = run_delay_ns;
        a->ranks[k].mpi_ns = k == 1 ? 400000000 : 4000000000;
    }
    return a;
}

#endif
