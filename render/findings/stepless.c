/* stepless.c - headline and support of runs without known steps, from what else is in their files. Called by claims.c.
 */
#include "render/findings/stepless.h"

#include "render/metrics/calls.h"
#include "render/metrics/cores.h"
#include "render/metrics/recorded.h"
#include "render/metrics/rule.h"
#include "render/findings/actions.h"
#include "render/findings/claims.h"
#include "render/findings/failed.h"
#include "render/findings/run_said.h"
#include "render/say/say.h"

#include <string.h>

/* Cores that a rank used on average, over its run; -1 = not known of every rank. */
static double used_by_rank(const struct run *a)
{
    double sum = 0;
    for (int i = 0; i < a->ranks_len; i++) {
        const struct ready k = ready_of(a, &a->ranks[i]);
        if (k.ran <= 0) /* no samples of its processes */
            return -1;
        sum += k.used;
    }
    return a->ranks_len ? sum / a->ranks_len : -1;
}

int is_mostly_at_rest(const struct run *a)
{
    const double known = 0.5; /* of the time: work, and calls that may wait */
    double used = used_by_rank(a);
    return used >= 0 && used + mpi_share(a).ratio + file_time(a).ratio < known;
}

/* MPI calls without a claim about them: the headline if there is no other, else support for it. */
static void say_mpi(const struct report *rep, struct said *s, const struct run *a)
{
    struct mpi_share m = mpi_share(a);
    int is_headline = s->headline.id == PHRASE_STEPS_UNKNOWN;
    if (!m.has || (!is_headline && m.ratio < rep->thresholds.loss_matters))
        return;
    struct phrase share = PHRASE(MPI_SHARE, slot_percent(m.ratio));
    if (!is_headline) {
        said_add(s, share);
    } else {
        s->headline = share;
        said_add(s, PHRASE(MPI_TIMES, slot_time(m.ns), slot_time(m.wall_ns)));
    }
    if (is_headline && is_mostly_at_rest(a))
        said_add(s, PHRASE(RANKS_REST, slot_number(used_by_rank(a))));
    if (m.ns > 0)
        said_add(
            s, PHRASE(MPI_LARGEST, slot_name(m.largest->name), slot_percent((double)m.largest->sum.ns / (double)m.ns)));
}

static struct phrase lost(const struct run *a)
{
    struct recorded part = recorded_part(a);
    struct slot events = slot_count((int64_t)part.n_lost), after = slot_time(part.lost_from_ns);
    if (!part.n_ranks_lost)
        return PHRASE(NONE);
    if (part.lost_from_ns < 0 || part.watched_ns <= 0)
        return part.n_lost ? PHRASE(LOST, events) : PHRASE(LOST_SOME);
    struct slot of = slot_time(part.watched_ns / a->ranks_len);
    return part.n_lost ? PHRASE(LOST_AFTER, events, after, of) : PHRASE(LOST_SOME_AFTER, after, of);
}

/* How long the recorded part of a run was. */
static struct phrase window(const struct run *a)
{
    struct recorded part = recorded_part(a);
    if (!part.is_part || (!part.is_never_open && (part.ns <= 0 || part.watched_ns <= 0)))
        return PHRASE(NONE);
    return part.is_never_open
               ? PHRASE(RECORDED_NOTHING)
               : PHRASE(RECORDED_PART, slot_time(part.ns / a->ranks_len), slot_time(part.watched_ns / a->ranks_len));
}

static int64_t mpi_of(const struct run *a, int rank)
{
    for (int i = 0; i < a->ranks_len; i++)
        if (a->ranks[i].rank == rank)
            return a->ranks[i].mpi_ns;
    return 0;
}

/* A claim about a run without steps. */
static struct claim *add_claim(struct report *rep, struct run_result *r, enum cause_class cls, const char *anchor,
                               const struct said *said)
{
    struct claim *c = claim_add(rep);
    c->said = *said;
    c->sentence = say_headline(&rep->arena, said);
    c->support = say_support(&rep->arena, said);
    c->run = (int)(r - rep->runs);
    c->cls = cls;
    c->id = report_text(rep, "%s.%s", r->slug, class_key(cls));
    c->confidence = confidence_without_steps(rep, r, &c->confidence_because);
    claim_grounds(rep, c, r, cls);
    c->gain_why = REASON(GAIN_WITHOUT_STEPS);
    c->evidence = report_text(rep, "runs/%s/index.html#%s", r->slug, anchor);
    c->action = action_for(rep, r, cls);
    c->is_measuring = cls == CLASS_SHARED && is_advice_to_measure(r);
    r->claims[r->n_claims++] = rep->n_claims - 1;
    return c;
}

static struct phrase who_is_late(struct report *rep, const struct run_result *r, const struct mpi_late *l, int64_t wall)
{
    const char *names[MPI_LATE_NAMED];
    int other = l->n == 1 ? other_of_two(r->run, l->ranks[0]) : -1;
    struct slot share = slot_percent((double)l->waited_ns / (double)wall);
    if (r->alone.has)
        return phrase_of_alone(rep, r, wall);
    if (l->n == 1)
        return other >= 0 ? PHRASE(LATE_OF_TWO, slot_count(other), slot_count(l->ranks[0]), share)
                          : PHRASE(LATE_ONE, slot_count(l->ranks[0]), share);
    for (int i = 0; i < l->n; i++)
        names[i] = report_text(rep, "%d", l->ranks[i]);
    return PHRASE(LATE_SEVERAL, slot_name(say_list(&rep->arena, names, l->n)), share);
}

static void late_number(struct report *rep, struct claim *c, const struct run_result *r, int rank)
{
    claim_number(rep, c, report_text(rep, "runs.%s.mpi_ranks.%d.time_ns", r->slug, rank), "ns",
                 (double)mpi_of(r->run, rank));
}

/* Waiting ranks spend time in MPI, late ranks do not. This is known without any named step. */
static void add_late_claim(struct report *rep, struct run_result *r, const struct mpi_late *l, int64_t wall)
{
    struct said s = {.headline = who_is_late(rep, r, l, wall)};
    int other = l->n == 1 ? other_of_two(r->run, l->ranks[0]) : -1;
    struct slot late_ns = slot_time(l->most_ns), others_ns = slot_time(l->others_least_ns);
    said_add(&s, r->alone.has ? PHRASE(ALONE_BEFORE, slot_count(r->alone.rank), slot_name(r->alone.call),
                                       slot_time(r->alone.call_ns))
                              : PHRASE(LATE_WAITED, slot_time(l->waited_ns), slot_time(wall)));
    said_add(&s,
             r->late_file_ns > 0      ? PHRASE(LATE_IN_FILES, slot_count(l->ranks[0]), slot_time(r->late_file_ns))
             : r->late_used_ratio > 0 ? PHRASE(LATE_SLEEPS, slot_count(l->ranks[0]), slot_percent(r->late_used_ratio))
             : other >= 0 ? PHRASE(LATE_IN_MPI_OF_TWO, slot_count(other), others_ns, slot_count(l->ranks[0]), late_ns)
                          : PHRASE(LATE_IN_MPI, late_ns, others_ns));
    if (r->late_written > 0 && !r->late_file_ns)
        said_add(&s, PHRASE(LATE_WRITES, slot_count(l->ranks[0]), slot_bytes((double)r->late_written)));
    struct claim *c = add_claim(rep, r, CLASS_IMBALANCE, "mpi", &s);
    c->threshold_ratio = rep->thresholds.straggler_wait;
    c->threshold_name = "straggler_wait";
    for (int i = 0; i < l->n; i++)
        late_number(rep, c, r, l->ranks[i]);
}

static struct phrase largest_kind(const struct file_time *f)
{
    static const enum phrase_id of[DCT_N_IO] = {[DCT_IO_READ] = PHRASE_FILES_READING,
                                                [DCT_IO_WRITE] = PHRASE_FILES_WRITING,
                                                [DCT_IO_OTHER] = PHRASE_FILES_OTHER};
    int most = 0;
    for (int k = 1; k < DCT_N_IO; k++)
        most = f->kind_ns[k] > f->kind_ns[most] ? k : most;
    return (struct phrase){.id = of[most], .slot = {slot_percent((double)f->kind_ns[most] / (double)f->ns)}};
}

static void add_files_claim(struct report *rep, struct run_result *r, const struct file_time *f)
{
    struct said s = {.headline = PHRASE(FILES_SHARE, slot_percent(f->ratio))};
    said_add(&s, largest_kind(f));
    said_add(&s, where_files_are(rep, f));
    said_add(&s, PHRASE(FILES_TIMES, slot_time(f->ns), slot_time(f->wall_ns)));
    struct claim *c = add_claim(rep, r, CLASS_IO, "io", &s);
    c->threshold_ratio = rep->thresholds.io_limits;
    c->threshold_name = "io_limits";
    claim_number(rep, c, report_text(rep, "runs.%s.files_share.ratio", r->slug), "ratio", f->ratio);
    claim_number(rep, c, report_text(rep, "runs.%s.files_share.time_ns", r->slug), "ns", (double)f->ns);
}

static void add_memory_claim(struct report *rep, struct run_result *r)
{
    struct said s = {.headline = PHRASE(MEMORY_LIMITS, slot_percent(r->counted.used_ratio),
                                        slot_name(peaks_word(r->counted.peaks)))};
    said_add(&s, found_counted(&rep->thresholds, &r->counted));
    said_add(&s, found_stalled(r));
    struct claim *c = add_claim(rep, r, CLASS_MEMORY, "monitors", &s);
    c->threshold_ratio = rep->thresholds.memory_bound;
    c->threshold_name = "memory_bound";
    const char *of = counted_memory_key(&r->counted);
    claim_number(rep, c, report_text(rep, "runs.%s.%s.used_ratio", r->slug, of), "ratio", r->counted.used_ratio);
    claim_number(rep, c, report_text(rep, "runs.%s.%s.gb_per_s", r->slug, of), "GB/s", r->counted.gb_per_s);
}

/* Ranks that wait for a core are late, so waiting in MPI then proves no other cause (as in runs with steps). */
static void add_shared_claim(struct report *rep, struct run_result *r, const struct mpi_late *l, int64_t wall,
                             const struct file_time *f)
{
    struct said s = {.headline = PHRASE(RUN_SHARES_CORES, slot_name(r->shared.because))};
    said_add(&s, is_doubtful(r) ? PHRASE(CORES_DOUBT) : PHRASE(CORES_EQUAL_QUOTA));
    if (f)
        said_add(&s, PHRASE(FILES_SHARE, slot_percent(f->ratio)));
    if (l)
        said_add(&s, who_is_late(rep, r, l, wall));
    struct claim *c = add_claim(rep, r, CLASS_SHARED, "monitors", &s);
    shared_numbers(rep, c, r);
    for (int i = 0; l && i < l->n; i++)
        late_number(rep, c, r, l->ranks[i]);
}

/* Did the ranks wait for the late one more than twice as long as any of them waited for a core? Then a core for each
 * rank would not end the waiting. */
static int is_late_beyond_cores(const struct run_result *r, const struct mpi_late *l, int64_t wall)
{
    int is_of_ranks = r->shared.kind == SHARED_RUN_DELAY || r->shared.kind == SHARED_BOUND; /* else it is of a node */
    return is_of_ranks && r->shared.run_ratio >= 0 && (double)l->waited_ns > 2 * r->shared.run_ratio * (double)wall;
}

/* Does also the late rank spend longer in MPI than the others wait for it, mostly in a call that moves data? Equal
 * parts of the work would save less than moving fewer data. */
static int is_transfer_longer(const struct report *rep, const struct run_result *r, const struct mpi_late *l)
{
    const struct mpi_share m = mpi_share(r->run);
    return l->least_ns > l->waited_ns && is_mpi_moving(&rep->thresholds, &m);
}

/* Adds claims about a watched program without named steps, the larger share of the run first. Ranks that shared cores
 * come first, unless that cannot explain the waiting for a late rank.
 *  returns  number of claims */
static int add_claims(struct report *rep, struct run_result *r)
{
    struct mpi_late l = mpi_late(&rep->thresholds, r->run);
    struct file_time f = file_time(r->run);
    int64_t wall = r->run->ranks_len ? recorded_part(r->run).ns / r->run->ranks_len : 0;
    int has_late = l.has && mpi_share(r->run).has && !is_transfer_longer(rep, r, &l),
        has_files = f.has && f.ratio > rep->thresholds.io_limits;
    int is_late_first = has_late && (double)l.waited_ns >= f.ratio * (double)wall;
    int is_late_own = has_late && (!r->shared.kind || is_late_beyond_cores(r, &l, wall));
    r->alone.has &= is_late_own;
    if (is_late_own && is_late_first)
        add_late_claim(rep, r, &l, wall);
    if (r->shared.kind)
        add_shared_claim(rep, r, has_late && !is_late_own ? &l : NULL, wall, has_files ? &f : NULL);
    if (has_files)
        add_files_claim(rep, r, &f);
    if (is_late_own && !is_late_first)
        add_late_claim(rep, r, &l, wall);
    if (!r->counted.why.code && r->counted.used_ratio > rep->thresholds.memory_bound)
        add_memory_claim(rep, r);
    return r->n_claims;
}

/* Did the ranks spend more than twice as long in MPI as any of them waited for a core? Missing cores then explain at
 * most half of it. */
static int is_mpi_beyond_cores(const struct run_result *r)
{
    struct mpi_share m = mpi_share(r->run);
    return m.has && r->shared.run_ratio >= 0 && m.ratio > 2 * r->shared.run_ratio;
}

/* The first claim, its support, and the second claim if the first does not include it. */
static void say_claims(const struct report *rep, const struct run_result *r, struct said *s)
{
    const struct claim *first = &rep->claims[r->claims[0]];
    if (r->n_claims == 1 && first->cls == CLASS_SHARED && is_mpi_beyond_cores(r)) {
        s->headline = PHRASE(STEPS_UNKNOWN);
        say_mpi(rep, s, r->run);
        said_add(s, first->said.headline);
        return;
    }
    s->headline = first->said.headline;
    for (int i = 0; i < SAID_MAX; i++)
        said_add(s, first->said.support[i]);
    if (r->n_claims > 1 && first->cls != CLASS_SHARED)
        said_add(s, rep->claims[r->claims[1]].said.headline);
}

static void say_what_is_known(struct report *rep, struct run_result *r, struct said *s)
{
    const struct run *a = r->run;
    struct phrase events_lost = lost(a);
    if (say_devices(rep, a, r->has_steps, s) || (!r->step.n && (say_evidence(rep, a, s) || say_epochs(a, s)))) {
        said_add(s, events_lost);
    } else {
        s->headline = events_lost.id ? PHRASE(LIMIT_LOST) : r->step.n ? PHRASE(PHASES_UNKNOWN) : PHRASE(STEPS_UNKNOWN);
        said_add(s, events_lost);
    }
    if (!a->is_foreign && !a->n_traces && add_claims(rep, r)) {
        *s = (struct said){0};
        said_add(s, events_lost);
        say_claims(rep, r, s);
    }
    if (r->has_throughput)
        said_add(s, PHRASE(THROUGHPUT, slot_number(r->throughput)));
    said_add(s, window(a));
    say_mpi(rep, s, a);
}

void say_without_steps(struct report *rep, struct run_result *r)
{
    enum { SHOWN = 3 }; /* the first claims matter most; a longer paragraph is not read */
    struct said s = {0};
    if (!say_failed(rep, r, &s)) /* what was recorded before a failure shows how the run failed, not what limits it */
        say_what_is_known(rep, r, &s);
    for (int i = SHOWN; i < SAID_MAX; i++)
        s.support[i] = PHRASE(NONE);
    r->said = s;
    r->headline = say_headline(&rep->arena, &s);
    r->support = say_support(&rep->arena, &s);
}
