/* step_name.h - is the name of a range that of a training step? "step", "Step: 12", "step[12]", "iter_12", "iteration
 * 12 of 100", "epoch 3 step 12/100", "train_step_12 (epoch 3)". Recorder and reader share this grammar. It is a header
 * that needs only libc because the recorder runs inside other people's processes.
 *   name   = [epoch gap] word [gap number [total]] [gap epoch] end       epoch = "epoch" [gap number [total]]
 *   total  = "/" number, "of" number           gap  = any of " _#:-=.,/|[(" (as many as there are), or nothing
 * Any other text rules it out: "step_size 3", "nsteps", "substep 1", "step 12 of 20x" and "step 1.5" are not steps.
 * Test: tests/unit/test_reduce.c */
#ifndef DCR_STEP_NAME_H
#define DCR_STEP_NAME_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum step_name {
    STEP_NAME_NONE = 0,
    STEP_NAME_STEP,
    STEP_NAME_BATCH, /* "batch 7": a step if the program calls nothing else a step, otherwise a part of a step or its
                      * loading */
    STEP_NAME_EPOCH, /* "epoch", "epoch 3": encloses steps */
};

static inline const char *step_name_gap(const char *p)
{
    return p + strspn(p, " _#:-=.,/|[(");
}

/* Case is ignored; "_" of the word also matches a space and a dash. returns the text after the word, NULL for another
 * word. */
static inline const char *step_name_word(const char *p, const char *word)
{
    for (; *word; p++, word++)
        if (*word == '_' ? !*p || !strchr("_ -", *p) : (*p | 0x20) != *word)
            return NULL;
    return p;
}

/* "12", "12]", "12/100", "[12/100]", "12 of 100". returns  the text after it, NULL when there is no number */
static inline const char *step_name_number(const char *p, int64_t *number)
{
    size_t n = strspn(p, "0123456789");
    if (n == 0)
        return NULL;
    *number = n < 18 ? strtoll(p, NULL, 10) : -1;
    p += n;
    const char *q = p + strspn(p, " _])"), *of = *q == '/' ? q + 1 : strncasecmp(q, "of", 2) == 0 ? q + 2 : NULL;
    if (of && strspn(of + strspn(of, " _["), "0123456789")) {
        p = of + strspn(of, " _[");
        p += strspn(p, "0123456789");
    }
    return p + strspn(p, "])");
}

/* "epoch", "Epoch [3/10]". returns  the text after it, NULL when it is not an epoch */
static inline const char *step_name_epoch(const char *p)
{
    int64_t ignored;
    const char *q = step_name_word(p, "epoch"), *number = q ? step_name_number(step_name_gap(q), &ignored) : NULL;
    return number ? number : q;
}

/** step_name_of - classifies a range by its name.
 *  word     out: the name without numbers and epoch ("train_step"), static; NULL unless it is a step or batch
 *  number   out: of the step, -1 = the name has none */
static inline enum step_name step_name_of(const char *text, const char **word, int64_t *number)
{
    static const char *const words[] =
        {"step",          "iteration",  "iter", "train_step", "train_iter", "training_iteration", "train_iteration",
         "training_step", "global_step"},
                             batch[] = "batch";
    const char *p = text + strspn(text, "[("), *q, *after = NULL;
    *word = NULL;
    *number = -1;
    if (!*p || !strchr("sStTiIgGbBeE", *p)) /* rejects most names early */
        return STEP_NAME_NONE;
    if ((q = step_name_epoch(p)) != NULL) {
        p = step_name_gap(q);
        if (!*p)
            return STEP_NAME_EPOCH;
        if (p == q)
            return STEP_NAME_NONE;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if ((q = step_name_word(p, words[i])) != NULL && (!after || q > after)) {
            after = q;
            *word = words[i];
        }
    enum step_name kind = after ? STEP_NAME_STEP : STEP_NAME_BATCH;
    if (!after && (after = step_name_word(p, batch)) != NULL)
        *word = batch;
    if (!after)
        return STEP_NAME_NONE;
    q = step_name_gap(after);
    const char *behind = step_name_number(q, number);
    /* A bare "batch" may be the loading of one, and "batch32" its size. */
    int is_one = kind == STEP_NAME_STEP ? behind || q == after : behind && q > after;
    const char *rest = behind ? behind : after, *epoch = step_name_gap(rest);
    if (behind && epoch > rest && (q = step_name_epoch(epoch)) != NULL)
        rest = q;
    rest += strspn(rest, behind ? " :)]" : ")]");
    if (is_one && !*rest)
        return kind;
    *word = NULL;
    *number = -1;
    return STEP_NAME_NONE;
}

#endif
