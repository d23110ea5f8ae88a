/* made_rules.h - runs with chosen parts and the results of the rules, for the tests of rules, cores and caveats. */
#ifndef DCR_MADE_RULES_H
#define DCR_MADE_RULES_H

#include "tests/unit/made_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static inline enum verdict verdict_of(struct run *r, enum cause_class cls, struct thresholds t)
{
    struct run *runs[] = {r};
    struct report rep = {0};
    struct analyse_options o = {.thresholds = t};
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    enum verdict v = rep.runs[0].classes[cls].verdict;
    if (v == VERDICT_NA)
        assert_true(rep.runs[0].classes[cls].why.code != REASON_NONE && *rep.runs[0].classes[cls].text);
    report_free(&rep);
    run_free(r);
    return v;
}

/* The slots of a sentence in the findings of a class; NULL: the sentence is not there. */
static inline const struct slot *found_of(const struct class_result *c, enum phrase_id id)
{
    for (int i = 0; i < SAID_MAX; i++)
        if (c->found[i].id == id)
            return c->found[i].slot;
    return NULL;
}

/* parts of a step of 100 ns on two ranks: communication, data, io; the rest is compute */
static inline struct run *parts(int64_t comm, int64_t data, int64_t io)
{
    return made_even_run(2, 64, 40, 100 - comm - data - io, comm, data, io);
}

static inline int has_note(struct run *r, enum note_id id, enum note_kind kind)
{
    struct run *runs[] = {r};
    struct report rep = {0};
    struct analyse_options o = made_options();
    int found = 0;
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    for (int i = 0; i < rep.n_notes; i++)
        found |= rep.notes[i].id == id && rep.notes[i].kind == kind;
    report_free(&rep);
    run_free(r);
    return found;
}

#endif
