/* changes_said.c - see changes_said.h. Less time in kernels does not mean a shorter step, so the sentences keep both
 * apart. */
#include "render/findings/changes_said.h"

#include "render/findings/claims.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <math.h>
#include <stdlib.h>

/* A change below this share of the mean of both totals does not count. */
static const double nothing_ratio = 0.001;

/* Means of a call that differ by less count as equal. */
static const double same_call = 0.01;

/* Shares of idle time that differ by less count as equal. */
static const double idle_matters = 0.005;

static int64_t change_of(const struct changed *c)
{
    return c->ns[AFTER] - c->ns[BEFORE];
}

static int is_nothing(int64_t change_ns, const struct changed *all)
{
    return (double)llabs(change_ns) <= nothing_ratio * (double)(all->ns[BEFORE] + all->ns[AFTER]) / 2;
}

static const struct changed_table *leading(const struct changes *c, enum changed_kind *kind)
{
    static const enum changed_kind order[] = {CHANGED_KERNELS, CHANGED_OPERATORS, CHANGED_MPI, CHANGED_FILES};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (c->of[order[i]].n_rows) {
            *kind = order[i];
            return &c->of[order[i]];
        }
    return NULL;
}

static int has_batches(const struct changes *c)
{
    return c->batch[BEFORE] > 0 && c->batch[AFTER] > 0;
}

/* Half as many steps of twice as many samples are equal work. */
int changes_are_unequal(const struct changes *c)
{
    if (!c || !c->has_steps)
        return 0;
    double before = (double)c->n_steps[BEFORE] * (has_batches(c) ? (double)c->batch[BEFORE] : 1),
           after = (double)c->n_steps[AFTER] * (has_batches(c) ? (double)c->batch[AFTER] : 1);
    return before != after;
}

/* What all names of the leading table take. sentences: NULL for the headline, else where a sentence below it lives */
static struct phrase total(struct dcr_arena *sentences, const struct changed_table *t, enum changed_kind kind)
{
    static const char *const subject[N_CHANGED_KINDS] = {[CHANGED_KERNELS] = "kernels",
                                                         [CHANGED_OPERATORS] = "operators",
                                                         [CHANGED_MPI] = "MPI calls",
                                                         [CHANGED_FILES] = "calls on files"};
    const struct slot what = slot_name(sentences ? say_capital(sentences, subject[kind]) : subject[kind]),
                      after = slot_time(t->all.ns[AFTER]), before = slot_time(t->all.ns[BEFORE]);
    if (is_nothing(change_of(&t->all), &t->all))
        return sentences ? PHRASE(CHANGED_NOTHING_BESIDE, what, after) : PHRASE(CHANGED_NOTHING, what, after);
    return sentences ? PHRASE(CHANGED_TOTAL_BESIDE, what, after, before) : PHRASE(CHANGED_TOTAL, what, after, before);
}

/* Without steps, the time of the whole run answers first, because sums over ranks are not the duration. */
static int is_run_first(const struct changes *c)
{
    return !c->has_steps && c->is_run_told;
}

static struct phrase headline(const struct changes *c, const struct changed_table *t, enum changed_kind kind)
{
    const struct slot after = slot_time(c->run_ns[AFTER]), before = slot_time(c->run_ns[BEFORE]);
    if (!is_run_first(c))
        return total(NULL, t, kind);
    return fmt_is_same(fmt_time(after.count), fmt_time(before.count))
               ? PHRASE(CHANGED_SAME_RUN, after)
               : PHRASE(CHANGED_RUN, after, before, slot_factor((double)c->run_ns[AFTER] / (double)c->run_ns[BEFORE]));
}

static struct phrase time_of_call(const struct changed *c)
{
    double ratio = (double)c->ns[AFTER] / (double)c->n[AFTER] / ((double)c->ns[BEFORE] / (double)c->n[BEFORE]);
    return ratio >= 2  ? PHRASE(CHANGED_TIMES_LONGER, slot_factor(ratio))
           : ratio > 1 ? PHRASE(CHANGED_LONGER, slot_percent(ratio - 1))
                       : PHRASE(CHANGED_SHORTER, slot_percent(1 - ratio));
}

/* Without steps, calls a second of the traces of the GPUs say how fast the program got on. span_ns: NULL = not known */
static struct phrase calls_of(const struct changed *c, const int64_t *span_ns)
{
    const struct slot after = slot_count(c->n[AFTER]), before = slot_count(c->n[BEFORE]), name = slot_name(c->name);
    double ratio =
        span_ns ? (double)c->n[AFTER] / (double)span_ns[AFTER] * (double)span_ns[BEFORE] / (double)c->n[BEFORE] : 1;
    if (fabs(ratio - 1) < 0.005 || ratio >= 2)
        return PHRASE(CHANGED_CALLS, after, before, name);
    return ratio < 1 ? PHRASE(CHANGED_CALLS_FEWER, after, before, name, slot_percent(1 - ratio))
                     : PHRASE(CHANGED_CALLS_MORE, after, before, name, slot_percent(ratio - 1));
}

static struct phrase same_call_of(const struct changed *c)
{
    double after = (double)c->ns[AFTER] / (double)c->n[AFTER], before = (double)c->ns[BEFORE] / (double)c->n[BEFORE];
    if (before <= 0 || fabs(after - before) >= same_call * before)
        return PHRASE(NONE);
    return fmt_is_same(fmt_time(llround(after)), fmt_time(llround(before)))
               ? PHRASE(CHANGED_SAME_CALL, slot_time(llround(after)))
               : PHRASE(CHANGED_ALIKE_CALL, slot_time(llround(after)), slot_time(llround(before)));
}

/* Why one name took more or less time: the larger of its two contributions. The page may put these sentences into
 * another paragraph than the one before, so they name it. */
static void say_why(struct said *s, const struct changed *c, const int64_t *span_ns)
{
    if (!c->n[BEFORE] || !c->n[AFTER]) {
        const struct slot name = slot_name(c->name);
        said_add(s, c->n[AFTER] ? PHRASE(CHANGED_NEW, name) : PHRASE(CHANGED_GONE, name));
    } else if (llabs(c->by_calls_ns) >= llabs(c->by_mean_ns)) {
        said_add(s, calls_of(c, span_ns));
        said_add(s, same_call_of(c));
    } else if (c->ns[BEFORE]) { /* else all of its time lay in other names before */
        said_add(s, time_of_call(c));
    }
}

/* Rows that stand for several names, such as "(other names)", are not named. */
static int is_one_name(const struct changed *c)
{
    return *c->name && *c->name != '(';
}

/* The largest change that counts.
 *  less  > 0: only names that take less than before; < 0: only those that take more; 0: both */
static const struct changed *largest(const struct changed_table *t, int less)
{
    for (int i = 0; i < t->n_rows; i++) {
        int64_t change = change_of(&t->rows[i]);
        if (is_one_name(&t->rows[i]) && !is_nothing(change, &t->all) && (!less || (change < 0) == (less > 0)))
            return &t->rows[i];
    }
    return NULL;
}

/* What compares although the runs did not do equal work. */
static void say_unequal(struct said *s, const struct changes *c, const struct changed_table *t)
{
    const struct changed *most = NULL;
    if (has_batches(c) && c->batch[BEFORE] != c->batch[AFTER]) { /* then a call is other work too */
        said_add(s, PHRASE(CHANGED_OTHER_SAMPLES, slot_count(c->n_steps[AFTER] * c->batch[AFTER]),
                           slot_count(c->n_steps[BEFORE] * c->batch[BEFORE])));
        return;
    }
    for (int i = 0; i < t->n_rows; i++) {
        const struct changed *row = &t->rows[i];
        if (is_one_name(row) && row->n[BEFORE] && row->n[AFTER] && row->ns[BEFORE] &&
            !is_nothing(row->by_mean_ns, &t->all) && (!most || llabs(row->by_mean_ns) > llabs(most->by_mean_ns)))
            most = row;
    }
    said_add(s, PHRASE(CHANGED_OTHER_STEPS, slot_count(c->n_steps[AFTER]), slot_count(c->n_steps[BEFORE])));
    if (!most)
        return;
    said_add(s, PHRASE(CHANGED_MOST_PER_CALL, slot_name(most->name)));
    said_add(s, time_of_call(most));
}

static void add_row(struct said *s, const struct changed *c, int is_first, const int64_t *span_ns)
{
    const struct slot name = slot_name(c->name), by = slot_time(llabs(change_of(c)));
    said_add(s, change_of(c) < 0 ? (is_first ? PHRASE(CHANGED_MOST_LESS, name, by) : PHRASE(CHANGED_ROW_LESS, name, by))
                : is_first       ? PHRASE(CHANGED_MOST_MORE, name, by)
                                 : PHRASE(CHANGED_ROW_MORE, name, by));
    say_why(s, c, span_ns);
}

/* Kernels that both sides have were called more or less often in windows of equal length. This must be most of the
 * whole change, because a kernel of another name may do the same work. */
static struct phrase work(const struct changes *c, const struct changed_table *t)
{
    double before = (double)c->gpu[DEV_SPAN][BEFORE] / c->n_gpus[BEFORE],
           after = (double)c->gpu[DEV_SPAN][AFTER] / c->n_gpus[AFTER];
    double by_calls = 0, by_mean = 0, n_more = 0, whole = (double)change_of(&t->all);
    if (before <= 0 || fabs(after - before) > SAME_WINDOW * before)
        return before > 0 ? PHRASE(CHANGED_WINDOW, slot_time((int64_t)after), slot_time((int64_t)before))
                          : PHRASE(NONE);
    for (int i = 0; i < t->n_rows; i++) {
        const struct changed *row = &t->rows[i];
        if (!row->n[BEFORE] || !row->n[AFTER])
            continue;
        by_calls += (double)row->by_calls_ns;
        by_mean += (double)row->by_mean_ns;
        n_more += (double)(row->n[AFTER] - row->n[BEFORE]);
    }
    if (is_nothing((int64_t)by_calls, &t->all) || fabs(by_calls) <= fabs(by_mean) ||
        2 * fabs(whole - by_calls - by_mean) > fabs(whole) || (by_calls < 0) != (n_more < 0) ||
        (by_calls < 0) != (whole < 0))
        return PHRASE(NONE);
    return by_calls < 0 ? PHRASE(CHANGED_LESS_WORK) : PHRASE(CHANGED_MORE_WORK);
}

static struct phrase idle(const struct changes *c)
{
    double of[N_SIDES];
    for (int side = 0; side < N_SIDES; side++) {
        if (c->gpu[DEV_SPAN][side] <= 0)
            return PHRASE(NONE);
        of[side] = (double)c->gpu[DEV_IDLE][side] / (double)c->gpu[DEV_SPAN][side];
    }
    if (fabs(of[AFTER] - of[BEFORE]) < idle_matters)
        return PHRASE(NONE);
    return PHRASE(CHANGED_IDLE, slot_percent(of[AFTER]), slot_percent(of[BEFORE]));
}

struct phrase said_no_changes(const struct report *rep)
{
    int is_said = rep->changes || rep->no_changes.code == rep->no_comparison.code;
    return is_said ? PHRASE(NONE) : PHRASE(NO_CHANGES, slot_reason(&rep->no_changes));
}

/* Without steps, the time of the whole run shows whether the program got faster, if the monitors know it. */
static struct phrase run_time(const struct changes *c)
{
    const struct slot after = slot_time(c->run_ns[AFTER]), before = slot_time(c->run_ns[BEFORE]);
    return c->run_ns[BEFORE] <= 0                                       ? PHRASE(CHANGED_STEPS_UNKNOWN)
           : fmt_is_same(fmt_time(after.count), fmt_time(before.count)) ? PHRASE(CHANGED_SAME_RUN_TIME, after)
                                                                        : PHRASE(CHANGED_RUN_TIME, after, before);
}

void narrate_changes(struct report *rep)
{
    struct changes *c = rep->changes;
    enum changed_kind kind = CHANGED_KERNELS;
    const struct changed_table *t = c ? leading(c, &kind) : NULL;
    if (!t)
        return;
    c->said = (struct said){.headline = changes_are_unequal(c) ? PHRASE(CHANGED_UNEQUAL) : headline(c, t, kind)};
    if (changes_are_unequal(c))
        say_unequal(&c->said, c, t);
    if (!c->has_steps && *c->program[BEFORE])
        said_add(&c->said, PHRASE(COMPARED_PROGRAMS, slot_name(c->program[BEFORE]), slot_name(c->program[AFTER])));
    if (!c->has_steps)
        said_add(&c->said, is_run_first(c) ? total(&rep->arena, t, kind) : run_time(c));
    const int64_t *span_ns = c->gpu[DEV_SPAN];
    int is_timed = kind == CHANGED_KERNELS && !c->has_steps && span_ns[BEFORE] > 0 && span_ns[AFTER] > 0;
    const struct phrase done = is_timed ? work(c, t) : PHRASE(NONE),
                        idled = kind == CHANGED_KERNELS ? idle(c) : PHRASE(NONE);
    /* Two sentences follow the headline, and then come paragraphs of three. */
    int is_idle_first = is_timed && done.id == PHRASE_NONE;
    said_add(&c->said, is_idle_first ? idled : done);
    const struct changed *most = changes_are_unequal(c) ? NULL : largest(t, 0),
                         *other = most ? largest(t, change_of(most) < 0 ? -1 : 1) : NULL;
    if (most)
        add_row(&c->said, most, 1, is_timed ? span_ns : NULL);
    if (other)
        add_row(&c->said, other, 0, is_timed ? span_ns : NULL);
    said_add(&c->said, is_idle_first ? PHRASE(NONE) : idled);
    phrase_put(c->sure[SURE_CAUSE], SAID_MAX,
               PHRASE(CHANGED_SUMS, slot_count(t->all.n[AFTER]), slot_count(t->all.n[BEFORE])));
    phrase_put(c->sure[SURE_DOUBT], SAID_MAX,
               PHRASE(CONFIDENCE, slot_name(confidence_word(CONFIDENCE_LOW)),
                      slot_name(say_phrase(&rep->arena, &PHRASE(DOUBT_NOT_REPEATED)))));
    phrase_put(c->sure[SURE_IMPROVE], SAID_MAX, PHRASE(REPEAT_BOTH));
    c->sentence = say_headline(&rep->arena, &c->said);
    c->support = say_support(&rep->arena, &c->said);
    if (!c->has_steps)
        top_of_changes(rep);
}
