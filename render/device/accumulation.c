/* accumulation.c - see accumulation.h. */
#include "render/device/accumulation.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

int step_mark_of(const char *name, size_t n)
{
    static const struct {
        const char *word;
        enum step_mark mark;
        int is_prefix;
    } words[] = {{"enumerate(DataLoader)", MARK_LOADED, 1},  {"DistributedDataParallel.forward", MARK_FORWARD_PASS, 0},
                 {"forward", MARK_FORWARD_PASS, 0},          {"## forward ##", MARK_FORWARD_PASS, 0},
                 {"backward", MARK_BACKWARD_PASS, 0},        {"## backward ##", MARK_BACKWARD_PASS, 0},
                 {"Optimizer.step#", MARK_OPTIMIZER_RUN, 1}, {"optimizer", MARK_OPTIMIZER_RUN, 0},
                 {"optimizer_step", MARK_OPTIMIZER_RUN, 0},  {"optimizer.step", MARK_OPTIMIZER_RUN, 0},
                 {"## optimizer ##", MARK_OPTIMIZER_RUN, 0}};
    if (n < sizeof "forward" - 1 || !strchr("eEdDfFbBoO#", name[0])) /* most names are of other operators */
        return -1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i].word);
        if ((words[i].is_prefix ? n >= len : n == len) && strncasecmp(name, words[i].word, len) == 0)
            return (int)words[i].mark;
    }
    return -1;
}

const char *step_mark_name(enum step_mark m)
{
    static const char *const names[N_STEP_MARKS] = {[MARK_LOADED] = "batches loaded",
                                                    [MARK_FORWARD_PASS] = "forward passes",
                                                    [MARK_BACKWARD_PASS] = "backward passes",
                                                    [MARK_OPTIMIZER_RUN] = "runs of the optimiser"};
    return names[m];
}

/* Number of marks of this name in steps in which the optimiser ran n_runs times, if four of five such steps agree, else
 * 0. */
static int64_t usual_count(const struct device_steps *s, int name, int n_runs)
{
    int64_t usual = 0, votes = 0, n = 0, n_alike = 0;
    for (size_t i = 0; i < s->n; i++) { /* Boyer and Moore's majority vote */
        if (device_step_runs(s, &s->list[i]) != n_runs)
            continue;
        usual = votes ? usual : s->list[i].n_mark[name];
        votes += s->list[i].n_mark[name] == usual ? 1 : -1;
    }
    for (size_t i = 0; i < s->n; i++)
        if (device_step_runs(s, &s->list[i]) == n_runs) {
            n++;
            n_alike += s->list[i].n_mark[name] == usual;
        }
    return 5 * n_alike >= 4 * n ? usual : 0;
}

/* Each micro-batch is loaded once and goes through the model once. A program that runs a micro-batch in parts or loads
 * from two places leaves more marks of one name, so the smallest count is the number of micro-batches. 0: there are no
 * marks. */
static int64_t micro_batches(const struct device_steps *s, int n_runs, enum step_mark *by)
{
    int64_t least = 0;
    for (int i = 0; i < s->n_names; i++) {
        int64_t n = s->names[i].kind == MARK_OPTIMIZER_RUN ? 0 : usual_count(s, i, n_runs);
        if (n > 0 && (least == 0 || n < least)) {
            least = n;
            *by = s->names[i].kind;
        }
    }
    return least;
}

/* Number of steps between two runs of the optimiser if it is constant and the ends of the trace do not contradict, else
 * 0. */
static int64_t distance(const struct device_steps *s)
{
    int64_t by = 0, last = -1;
    for (size_t i = 0; i < s->n; i++) {
        if (!device_step_runs(s, &s->list[i]))
            continue;
        int64_t since = (int64_t)i - last;
        if (last >= 0 && by && since != by)
            return 0;
        by = last >= 0 ? since : by;
        last = (int64_t)i;
    }
    if (by == 0 || (int64_t)s->n - 1 - last >= by)
        return 0;
    for (int64_t i = 0; i < (int64_t)s->n && !device_step_runs(s, &s->list[i]); i++)
        if (i + 1 >= by)
            return 0;
    return by;
}

void accumulation_of(const struct device_steps *s, struct accumulation *out)
{
    size_t n_with = 0, n_once = 0;
    enum step_mark by = MARK_OPTIMIZER_RUN;
    *out = (struct accumulation){.why = REASON(BATCHES_NO_OPTIMISER)};
    for (size_t i = 0; i < s->n; i++) {
        n_with += device_step_runs(s, &s->list[i]) > 0;
        n_once += device_step_runs(s, &s->list[i]) == 1;
    }
    if (n_with == 0)
        return;
    out->why = REASON(BATCHES_NO_PATTERN);
    if (n_once < n_with)
        return;
    if (n_with == s->n) {
        out->micro_batches = micro_batches(s, 1, &by);
        if (!out->micro_batches)
            out->why = REASON(BATCHES_NO_MARKS);
    } else if ((out->steps_between = distance(s)) > 0) {
        int64_t each = micro_batches(s, 0, &by);
        out->micro_batches = out->steps_between * (each ? each : 1);
    }
    if (out->micro_batches)
        out->why = REASON(NONE);
    out->by = step_mark_name(by);
}
