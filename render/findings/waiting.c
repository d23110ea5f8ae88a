/* waiting.c - which rank the others wait for, and why it is late. See run_said.h. */
#include "render/findings/run_said.h"
#include "render/metrics/known.h"

#include "render/metrics/calls.h"
#include "render/metrics/cores.h"
#include "render/metrics/gain.h"
#include "render/metrics/rule.h"
#include "render/say/say.h"

#include <math.h>
#include <string.h>

/* The time of a phase on the late rank, and its mean on the others. p NULL: of code outside of known phases */
static void times_of(const struct run_result *r, const struct phase_result *p, int64_t *late, int64_t *others)
{
    int64_t sum = 0;
    for (int i = 0; i < r->n_rank_results; i++) {
        int is_late = r->ranks[i].rank == r->straggler.rank;
        int64_t ns = p ? p->ranks[i].mean_ns : r->ranks[i].part_ns[PART_OTHER];
        *late = is_late ? ns : *late;
        sum += is_late ? 0 : ns;
    }
    *others = sum / (r->n_rank_results - 1);
}

/* Is the rank late by at least the time that makes a straggler? */
static int is_much(const struct report *rep, const struct run_result *r, int64_t more)
{
    return (double)more > rep->thresholds.straggler_wait * (double)r->step.mean_ns;
}

static enum category largest_cause(const struct run_result *r)
{
    enum category largest = CAT_OTHER;
    for (int c = 0; c < N_CATEGORIES; c++)
        if (r->wait_cause_ns[c] > r->wait_cause_ns[largest])
            largest = (enum category)c;
    return largest;
}

static int is_for_cores(const struct report *rep, const struct run_result *r)
{
    return is_doubtful(r) && uneven_rank(rep, r) < 0;
}

struct phrase phrase_of_longer_phase(const struct report *rep, const struct run_result *r)
{
    const struct phase_result *longest = NULL;
    int64_t most = 0, late = 0, others = 0;
    if (!r->straggler.has || is_for_cores(rep, r) || largest_cause(r) == CAT_COMM) /* it is late before the step */
        return PHRASE(NONE);
    for (int i = 0; i < r->n_phases && r->n_rank_results > 1; i++) {
        const struct phase_result *p = &r->phases[i];
        times_of(r, p, &late, &others);
        int64_t more = late - others;
        if (p->category != largest_cause(r) || p->is_whole || /* such phases contain each other */ others <= 0 ||
            !is_much(rep, r, more) || more <= most)
            continue;
        longest = p;
        most = more;
    }
    const struct slot rank = slot_count(r->straggler.rank);
    if (r->late_range.name)
        return PHRASE(LONGER_RANGE, slot_name(r->late_range.name), rank, slot_time(r->late_range.ns),
                      slot_time(r->late_range.others_ns));
    if (!longest && r->n_rank_results > 1 && largest_cause(r) == CAT_OTHER) {
        times_of(r, NULL, &late, &others);
        return is_much(rep, r, late - others) ? PHRASE(LONGER_UNNAMED, rank, slot_time(late), slot_time(others))
                                              : PHRASE(NONE);
    }
    if (!longest)
        return PHRASE(NONE);
    times_of(r, longest, &late, &others);
    const struct slot rest = slot_time(others), phase = slot_name(longest->name), own = slot_time(late),
                      ratio = slot_factor((double)late / (double)others);
    int other = r->ranks[r->ranks[0].rank == r->straggler.rank].rank;
    return r->n_rank_results == 2 ? PHRASE(LONGER_PHASE_OF_TWO, rank, rest, phase, own, ratio, slot_count(other))
                                  : PHRASE(LONGER_PHASE, rank, rest, phase, own, ratio);
}

struct phrase phrase_of_waiting(const struct report *rep, const struct run_result *r)
{
    static const enum phrase_id doing[N_CATEGORIES] = {
        [CAT_COMPUTE] = PHRASE_WAITED_FOR_COMPUTE, [CAT_COMM] = PHRASE_WAITED_BETWEEN_STEPS,
        [CAT_DATA] = PHRASE_WAITED_FOR_DATA,       [CAT_COPY] = PHRASE_WAITED_FOR_COPIES,
        [CAT_OTHER] = PHRASE_WAITED_FOR_NOTHING,
    };
    enum category largest = largest_cause(r);
    int64_t wait = r->part_ns[PART_WAIT];
    if (wait <= 0)
        return PHRASE(NONE);
    if (r->classes[CLASS_IMBALANCE].why.code == REASON_LATE_OR_CORELESS)
        return PHRASE(LATE_PERHAPS_BY_WORK, slot_count(r->straggler.rank), slot_percent(r->straggler.wins_ratio),
                      slot_name(rule_last_counts(&r->straggler)));
    if (is_for_cores(rep, r))
        return PHRASE(WAITED_FOR_CORES);
    if (r->late_used_ratio > 0) /* compute is the largest cause then */
        return PHRASE(WAITED_FOR_SLEEPER, slot_percent((double)r->wait_cause_ns[CAT_COMPUTE] / (double)wait),
                      slot_percent(r->late_used_ratio));
    int is_host = largest == CAT_OTHER && r->run->n_traces && r->classes[CLASS_HOST].verdict == VERDICT_LIMITS;
    if (r->late_range.name && !is_host)
        return PHRASE(WAITED_FOR_RANGE, slot_percent(r->late_range.wait_ratio), slot_name(r->late_range.name),
                      slot_count(r->straggler.rank));
    static const char *const did[] = {[FILES_BOTH] = "used", [FILES_READ] = "read", [FILES_WRITTEN] = "wrote"};
    if (largest == CAT_IO)
        return PHRASE(WAITED_FOR_FILES, slot_percent((double)r->wait_cause_ns[CAT_IO] / (double)wait),
                      slot_name(did[files_used(r)]));
    return (struct phrase){.id = is_host ? PHRASE_WAITED_FOR_HOST : doing[largest],
                           .slot = {slot_percent((double)r->wait_cause_ns[largest] / (double)wait)}};
}

bool is_in_turn(const struct report *rep, const struct run_result *r)
{
    const struct pop *p = &r->pop;
    const struct thresholds *t = &rep->thresholds;
    const double least_wait = 0.4; /* of the step: in a chain it is a half, less the noise */
    double together = p->parallel_ratio * r->n_rank_results;
    return p->has && !p->is_of_gpus && !is_doubtful(r) && r->straggler.has && r->straggler.is_mostly_last &&
           p->load_balance_ratio >= t->load_balance && p->transfer_ratio >= 1 - t->loss_matters &&
           fabs(together - 1) <= t->loss_matters && r->straggler.caused_ratio >= least_wait;
}

bool may_be_in_turn(const struct run_result *r)
{
    const struct pop *p = &r->pop;
    const double alike = 0.9, least = 0.85, most = 1.05; /* of the step: the messages take some of it */
    double together = p->parallel_ratio * r->n_rank_results;
    return p->has && !p->is_of_gpus && !is_doubtful(r) && is_of_messages(r) && !small_messages(r).call &&
           p->load_balance_ratio >= alike && together >= least && together <= most;
}

struct phrase phrase_of_split(const struct run_result *r, const int64_t part[N_PARTS])
{
    const struct slot transfer = slot_time(part[PART_TRANSFER]), wait = slot_time(part[PART_WAIT]);
    return is_of_messages(r) ? PHRASE(COMM_SPLIT_AT_MOST, transfer, wait) : PHRASE(COMM_SPLIT, transfer, wait);
}

struct phrase phrase_of_turns(const struct report *rep, const struct run_result *r)
{
    const struct slot work = slot_time(r->pop.useful_mean_ns * r->n_rank_results), step = slot_time(r->step.mean_ns);
    return is_in_turn(rep, r)  ? PHRASE(IN_TURN, work, step)
           : may_be_in_turn(r) ? PHRASE(MAYBE_IN_TURN, work, step)
                               : PHRASE(NONE);
}

int other_of_two(const struct run *a, int rank)
{
    return a->ranks_len != 2 ? -1 : a->ranks[a->ranks[0].rank == rank].rank;
}

struct phrase phrase_of_alone(struct report *rep, const struct run_result *r, int64_t whole_ns)
{
    int other = other_of_two(r->run, r->alone.rank);
    const struct slot rank = slot_count(r->alone.rank),
                      share = slot_percent((double)r->alone.own_ns / (double)whole_ns),
                      of = slot_name(
                          say_phrase(&rep->arena, r->has_steps ? &PHRASE(NAME_A_STEP) : &PHRASE(NAME_THE_TIME)));
    return other >= 0 ? PHRASE(LATE_ALONE_OF_TWO, rank, share, of, slot_count(other))
                      : PHRASE(LATE_ALONE, rank, share, of);
}

struct phrase where_files_are(struct report *rep, const struct file_time *f)
{
    if (f->largest && 2 * f->largest_ns > f->ns) {
        const char *base = strrchr(f->largest->name, '/');
        return PHRASE(FILES_IN_ONE, slot_name(base && base[1] ? base + 1 : f->largest->name));
    }
    if (f->n_in_folder > 1 && 2 * f->folder_ns > f->ns)
        return PHRASE(FILES_IN_FOLDER, slot_count(f->n_in_folder),
                      slot_name(report_text(rep, "%.*s", f->folder_len, f->folder)));
    return PHRASE(NONE);
}
