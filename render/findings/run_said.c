/* run_said.c - see run_said.h. */
#include "render/findings/rules/analyse.h"
#include "render/findings/rules/rules.h"
#include "render/findings/run_said.h"

#include "render/metrics/calls.h"
#include "render/metrics/cores.h"
#include "render/metrics/known.h"
#include "render/metrics/recorded.h"
#include "render/metrics/rule.h"
#include "render/findings/claims.h"
#include "render/findings/exchange.h"
#include "render/findings/shares.h"
#include "render/findings/stepless.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <math.h>
#include <string.h>

void said_some(struct said *s, struct phrase p)
{
    enum { MOST = 3 };
    if (s->support[MOST - 1].id == PHRASE_NONE)
        said_add(s, p);
}

static struct slot slot_share(const struct run_result *r, int64_t ns)
{
    return slot_percent(r->step.mean_ns > 0 ? (double)ns / (double)r->step.mean_ns : 0);
}

static struct phrase part_of_step(const struct run_result *r, int64_t ns)
{
    return PHRASE(PART_OF_STEP, slot_time(ns), slot_time(r->step.mean_ns));
}

struct phrase phrase_of_step(const struct report *rep, const struct run_result *r)
{
    const struct series_point *before = previous_point(rep, r);
    const struct slot now = slot_time(r->step.mean_ns);
    return before && before->step.mean_ns > 0 ? PHRASE(STEP_TIME_BEFORE, now, slot_time(before->step.mean_ns),
                                                       slot_things(before->n_nodes, counted_word(rep->unit)))
                                              : PHRASE(STEP_TIME, now);
}

struct phrase phrase_of_communication(const struct run_result *r, const int64_t part_ns[N_PARTS], int64_t step_ns)
{
    const struct class_result *transfer = &r->classes[CLASS_COMMUNICATION], *wait = &r->classes[CLASS_IMBALANCE];
    int64_t ns = part_ns[PART_TRANSFER] + part_ns[PART_WAIT];
    const struct slot time = slot_time(ns), ratio = slot_percent(step_ns > 0 ? (double)ns / (double)step_ns : 0);
    const double waiting = step_ns > 0 ? (double)part_ns[PART_WAIT] / (double)step_ns : 0;
    if (!r->has_steps || r->n_ranks < 2 || step_ns <= 0 || transfer->verdict == VERDICT_NA)
        return PHRASE(NONE);
    if (transfer->verdict == VERDICT_LIMITS)
        return PHRASE(COMMUNICATION_TOO, time, ratio);
    if (wait->verdict == VERDICT_LIMITS)
        return PHRASE(WAITING_TOO, slot_time(part_ns[PART_WAIT]), slot_percent(waiting));
    if (wait->why.code == REASON_WAITING_FOR_CORES)
        return PHRASE(COMMUNICATION_WAITS_FOR_CORES, slot_time(part_ns[PART_TRANSFER]), slot_time(part_ns[PART_WAIT]));
    if (wait->why.code == REASON_LATE_OR_CORELESS)
        return PHRASE(LATE_PERHAPS_BY_WORK, slot_count(r->straggler.rank), slot_percent(r->straggler.wins_ratio),
                      slot_name(rule_last_counts(&r->straggler)));
    return transfer->verdict == VERDICT_WATCH || wait->verdict == VERDICT_WATCH
               ? PHRASE(COMMUNICATION_NEAR, time, ratio)
               : PHRASE(COMMUNICATION_NOT_CAUSE, time, ratio);
}

/* ---- a cause that limits ------------------------------------------------------------------------------------- */

static const char *exchange_subject(struct report *rep, const struct run_result *r)
{
    const struct run *a = r->run;
    const int is_of_gpus = (a->n_traces && !run_is_of_hosts(a)) || strcmp(a->program.backend, "cuda") == 0;
    if (r->n_ranks == 1 && !a->is_foreign && !a->n_traces)
        return say_phrase(&rep->arena, &PHRASE(NAME_TO_ITSELF));
    return say_phrase(&rep->arena, is_gradient_exchange(r) ? &PHRASE(NAME_GRADIENTS)
                                   : is_of_gpus            ? &PHRASE(NAME_BETWEEN_GPUS)
                                                           : &PHRASE(NAME_BETWEEN_RANKS));
}

struct phrase phrase_of_small_messages(const struct run_result *r)
{
    struct small_messages m = small_messages(r);
    if (!m.call)
        return PHRASE(NONE);
    return m.bytes ? PHRASE(COMM_SMALL, slot_name(m.call), slot_count(m.n), slot_bytes((double)m.bytes))
                   : PHRASE(COMM_CALLS, slot_name(m.call), slot_count(m.n));
}

static void say_communication(struct report *rep, const struct run_result *r, struct said *s)
{
    struct exchange_share most = exchange_of(r);
    int64_t wait = r->part_ns[PART_WAIT];
    s->headline = PHRASE(COMM_LIMITS, slot_share(r, r->comm_ns), slot_name(exchange_subject(rep, r)));
    said_some(s, part_of_step(r, r->comm_ns));
    said_some(s, phrase_of_turns(rep, r));
    said_some(s, share_of_median_step(rep, r, CLASS_COMMUNICATION));
    said_some(s, share_before(rep, r, PART_TRANSFER, PART_WAIT));
    if (is_one_of_many(r))
        said_some(s, PHRASE(COMM_OF_ONE_RANK));
    else if (is_part_known(r, PART_WAIT))
        said_some(s, phrase_of_split(r, r->part_ns));
    said_some(s, phrase_of_small_messages(r));
    if (most.kind != EXCHANGE_UNKNOWN && most.kind != EXCHANGE_ALL_REDUCE)
        said_some(s, PHRASE(COMM_MOSTLY, slot_percent(most.ratio), slot_name(exchange_word(most.kind))));
    if (wait * 20 > r->step.mean_ns)
        said_some(s, phrase_of_waiting(rep, r));
}

/* Every collective of a step, or all its communication, counts for finding the last rank, so one kind is named only if
 * nearly all is of it. */
static struct phrase phrase_of_last(const struct run_result *r)
{
    const struct straggler *w = &r->straggler;
    struct exchange_share most = exchange_of(r);
    enum exchange kind = most.ratio > 0.9 ? most.kind : EXCHANGE_UNKNOWN;
    const struct slot rank = slot_count(w->rank), share = slot_percent(w->wins_ratio);
    return !w->is_of_steps ? PHRASE(STRAGGLER_LAST, rank, share, slot_name(exchange_words(kind)))
                           : PHRASE(STRAGGLER_WAITS_LEAST, rank, share,
                                    slot_name(kind == EXCHANGE_UNKNOWN ? "communication" : exchange_words(kind)));
}

/* Hosts of other tools have no name except that of their file; NULL: for other runs. */
static const char *file_of_rank(const struct run *a, int rank)
{
    for (int i = 0; run_is_of_hosts(a) && i < a->n_traces; i++)
        if (a->traces[i].rank == rank)
            return a->traces[i].file;
    return NULL;
}

static void say_imbalance(struct report *rep, const struct run_result *r, const struct class_result *k, struct said *s)
{
    const struct straggler *w = &r->straggler;
    int64_t ns = said_ns(r, k), wait = r->part_ns[PART_WAIT];
    s->headline = !w->has || w->wait_ratio <= 0.5 ? PHRASE(WAITING_LIMITS, slot_share(r, ns))
                  : r->alone.has                  ? phrase_of_alone(rep, r, r->step.mean_ns)
                                                  : PHRASE(STRAGGLER_LIMITS, slot_share(r, ns), slot_count(w->rank));
    if (r->alone.has)
        said_some(s, PHRASE(ALONE_IN_STEP, slot_count(r->alone.rank), slot_time(r->alone.own_ns)));
    const char *file = w->has ? file_of_rank(r->run, w->rank) : NULL;
    if (file)
        said_some(s, PHRASE(STRAGGLER_OF_FILE, slot_percent(w->wait_ratio), slot_name(file)));
    else if (r->alone.has)
        said_some(s, PHRASE(ALONE_CAUSES, slot_count(w->rank), slot_percent(w->wait_ratio), slot_share(r, wait)));
    else if (w->has && !w->is_mostly_last)
        said_some(s, PHRASE(STRAGGLER_CAUSES, slot_count(w->rank), slot_percent(w->wait_ratio)));
    else if (w->has)
        said_some(s, phrase_of_last(r));
    else
        said_some(s, part_of_step(r, ns));
    if (ns != wait && !r->alone.has)
        said_some(s, PHRASE(WAITING_IN_ALL, slot_share(r, wait)));
    if (!r->alone.has || r->late_range.name)
        said_some(s, phrase_of_waiting(rep, r));
    if (r->late_written > 0)
        said_some(s, PHRASE(LATE_WRITES, slot_count(w->rank), slot_bytes((double)r->late_written)));
    said_some(s, phrase_of_longer_phase(rep, r));
    if (ns == wait)
        said_some(s, share_before(rep, r, PART_WAIT, PART_WAIT));
}

/* Data loading and I/O are judged with the waiting that they cause on other ranks. Their time in the breakdown is
 * stated too. */
static void say_loading_or_files(struct report *rep, const struct run_result *r, const struct class_result *k,
                                 struct said *s)
{
    int is_data = k->cls == CLASS_DATA, is_caused = is_share_with_waiting(r, k->cls);
    int64_t own = k->share_ns - k->caused_ns, files = files_in_loading(r);
    enum part part = is_data ? PART_DATA : PART_IO;
    if (k->judged.by == JUDGED_RUN || k->judged.by == JUDGED_IO_WAIT) {
        s->headline = k->judged.by == JUDGED_RUN ? PHRASE(IO_LIMITS_RUN, slot_percent(k->judged.ratio))
                                                 : PHRASE(IO_WAIT_LIMITS, slot_percent(k->judged.ratio));
        said_some(s, PHRASE(FILES_OF_STEP, slot_time(own), slot_time(r->step.mean_ns)));
    } else {
        const char *work = is_data ? part_name(PART_DATA) : say_phrase(&rep->arena, &PHRASE(NAME_FILE_WORK));
        const struct slot what = slot_name(on_its_rank(rep, r, k->cls, work)), share = slot_percent(share_said(r, k));
        s->headline = is_data ? PHRASE(DATA_LIMITS, share, what) : PHRASE(IO_LIMITS, share, what);
        if (!is_caused)
            said_some(s, part_of_step(r, own));
    }
    if (is_caused)
        said_some(s, is_data ? PHRASE(LOADING_AND_WAITING, slot_time(own), slot_time(k->caused_ns))
                             : PHRASE(FILES_AND_WAITING, slot_time(own), slot_time(k->caused_ns)));
    if (is_data)
        said_some(s, phrase_of_loading(r));
    said_some(s, share_of_median_step(rep, r, k->cls));
    if ((double)files > rep->thresholds.loss_matters * (double)r->step.mean_ns)
        said_some(s, PHRASE(FILES_WHILE_LOADING, slot_time(files)));
    else if (!is_caused && k->judged.by == JUDGED_SHARE)
        said_some(s, share_before(rep, r, part, part));
    if (!is_data) {
        const struct file_time all = file_time(r->run);
        said_some(s, where_files_are(rep, &all));
    }
}

/* A run whose ranks use little processor time while compute is recorded. */
static void say_waiting_compute(const struct run_result *r, struct said *s)
{
    const struct processor *p = &r->processor;
    double others = p->used_cores - p->own_ready;
    int is_child = p->own_ready >= 0 && others > 0.1;
    s->headline =
        is_child ? PHRASE(PROCESS_WAITS, slot_percent(p->own_ready)) : PHRASE(RANKS_WAIT, slot_percent(p->used_cores));
    said_some(s, part_of_step(r, r->part_ns[PART_COMPUTE]));
    if (is_child)
        said_some(s, PHRASE(CHILDREN_COMPUTE, slot_percent(others)));
    said_some(s, PHRASE(WAIT_NOT_RECORDED));
}

/* The two operators with most time of their own, in a trace of a framework without GPUs. */
static struct phrase largest_operators(const struct run *a)
{
    const struct host_operators *all = a->n_traces == 1 && !a->traces[0].n_devices ? &a->traces[0].operators : NULL;
    const struct host_operator *most[2] = {NULL, NULL};
    int64_t sum = 0;
    for (int i = 0; all && i < all->n_names; i++) {
        const struct host_operator *o = &all->list[i]; /* longest first */
        if (o->kind != OPERATOR_OP || o->self_ns <= 0)
            continue;
        sum += o->self_ns;
        if (!most[0] || !most[1])
            most[most[0] != NULL] = o;
    }
    return most[1] ? PHRASE(COMPUTE_OPERATORS, slot_name(most[0]->name),
                            slot_percent((double)most[0]->self_ns / (double)sum), slot_name(most[1]->name),
                            slot_percent((double)most[1]->self_ns / (double)sum))
                   : PHRASE(NONE);
}

/* The named phase with most of the compute, if there are others. */
static struct phrase largest_phase(const struct run_result *r)
{
    const struct phase_result *most = NULL;
    int64_t compute = r->part_ns[PART_COMPUTE];
    int n = 0;
    for (int i = 0; i < r->n_phases; i++) {
        const struct phase_result *p = &r->phases[i];
        if (p->category != CAT_COMPUTE || p->is_whole)
            continue;
        n++;
        most = !most || p->spread.mean_ns > most->spread.mean_ns ? p : most;
    }
    return n > 1 && compute > 0 && most->spread.mean_ns <= compute
               ? PHRASE(COMPUTE_PHASE, slot_name(most->name),
                        slot_percent((double)most->spread.mean_ns / (double)compute))
               : PHRASE(NONE);
}

static void say_compute(const struct run_result *r, const struct class_result *k, struct said *s)
{
    const struct roofline *f = &r->roofline;
    if (k->gain_ns <= 0 && is_compute_waiting(r)) {
        say_waiting_compute(r, s);
        return;
    }
    s->headline = k->gain_ns > 0 ? PHRASE(KERNELS_LIMIT, slot_share(r, k->share_ns))
                                 : PHRASE(COMPUTE_LIMITS, slot_share(r, k->share_ns));
    said_some(s, part_of_step(r, k->share_ns));
    if (k->gain_ns > 0)
        said_some(s, PHRASE(KERNELS_BEST, slot_name(r->run->program.kernels_best),
                            slot_percent(r->run->program.kernels_best_ratio)));
    if (f->has && !f->of_attainable_why.code && f->of_attainable_ratio <= 1 && !f->is_of_step && !is_doubtful(r))
        said_some(s, PHRASE(COMPUTE_OF_PEAK, slot_percent(f->of_attainable_ratio), slot_name(peaks_word(f->peaks))));
    const struct phrase operators = largest_operators(r->run);
    said_some(s, operators.id ? operators : largest_phase(r));
}

struct slot said_where(const struct report *rep, const struct run_result *r)
{
    int is_of_several = r->n_nodes > 0 && r->series >= 0 && rep->series[r->series].n_points > 1;
    return is_of_several ? slot_things(r->n_nodes, counted_word(rep->unit)) : (struct slot){0};
}

struct said said_of_class(struct report *rep, const struct run_result *r, const struct class_result *k)
{
    struct said s = {.where = said_where(rep, r)};
    switch (k->cls) {
    case CLASS_COMMUNICATION:
        say_communication(rep, r, &s);
        break;
    case CLASS_IMBALANCE:
        say_imbalance(rep, r, k, &s);
        break;
    case CLASS_DATA:
    case CLASS_IO:
        say_loading_or_files(rep, r, k, &s);
        break;
    case CLASS_MEMORY:
        s.headline = PHRASE(MEMORY_LIMITS, slot_percent(k->judged.ratio), slot_name(peaks_word(r->roofline.peaks)));
        said_some(&s, PHRASE(MEMORY_TRAFFIC, slot_time(k->share_ns), slot_time(r->step.mean_ns)));
        break;
    case CLASS_COPY:
        s.headline = PHRASE(COPIES_LIMIT, slot_share(r, k->share_ns));
        said_some(&s, part_of_step(r, k->share_ns));
        said_some(&s, share_of_median_step(rep, r, CLASS_COPY));
        said_some(&s, share_before(rep, r, PART_COPY, PART_COPY));
        break;
    case CLASS_COMPUTE:
        say_compute(r, k, &s);
        break;
    case CLASS_HOST:
        s.headline = PHRASE(HOST_LIMITS, slot_share(r, k->share_ns));
        said_some(&s, part_of_step(r, k->share_ns));
        said_some(&s, PHRASE(GPU_BELOW_FLOOR, slot_percent(k->judged.ratio), slot_percent(k->judged.threshold_ratio)));
        said_some(&s, phrase_of_host_line(r->run->traces, r->run->n_traces));
        break;
    default: /* step time without a name is no cause, and shared cores are no class of the work */
        break;
    }
    return s;
}

/* ---- several causes; none ------------------------------------------------------------------------------------ */

static int continues_headline(struct phrase p)
{
    return p.id == PHRASE_PART_OF_STEP || p.id == PHRASE_SHARE_BEFORE || p.id == PHRASE_SHARE_OF_MEDIAN ||
           p.id == PHRASE_CORES_LEFT;
}

void said_why(struct said *s, const struct said *of)
{
    for (int i = 0; i < SAID_MAX; i++)
        if (!continues_headline(of->support[i]))
            said_some(s, of->support[i]);
}

struct phrase said_other_cause(const struct run_result *r, const struct class_result *k)
{
    const struct slot name = slot_name(class_words(k->cls, AS_TIME)), share = slot_percent(share_said(r, k));
    if (!*name.name || k->cls == CLASS_OVERHEAD)
        return PHRASE(NONE);
    return k->cls == CLASS_IMBALANCE && r->straggler.has && r->straggler.wait_ratio > 0.5
               ? PHRASE(OTHER_CAUSE_RANK, slot_count(r->straggler.rank), share)
               : PHRASE(OTHER_CAUSE, name, share);
}

void said_of_end(struct said *s, int at, int most, struct phrase ended)
{
    if (ended.id == PHRASE_NONE)
        return;
    while (at > 0 && s->support[at - 1].id == PHRASE_NONE)
        at--;
    while (at < most - 1 && continues_headline(s->support[at]))
        at++;
    memmove(&s->support[at + 1], &s->support[at], (size_t)(most - 1 - at) * sizeof *s->support);
    s->support[at] = ended;
}

void said_of_loss(struct said *s, const struct run_result *r)
{
    const struct recorded part = recorded_part(r->run);
    int is_since = part.n_lost > 0 && part.lost_from_ns >= 0 && part.watched_ns > 0;
    int at = 0;
    while (at < 2 && s->support[at].id != PHRASE_NONE)
        at++;
    s->support[at] = is_since ? PHRASE(EVENTS_LOST_AFTER, slot_count((int64_t)part.n_lost),
                                       slot_time(part.lost_from_ns), slot_time(part.watched_ns / r->run->ranks_len))
                              : PHRASE(EVENTS_LOST);
}

/* How near a class is to limiting, 1 = there. The host is judged by a floor of utilisation, so its limit is the rest of
 * the step. < 0: the class is not judged by a share. */
static double nearness(const struct report *rep, const struct class_result *k)
{
    if (k->judged.by && k->cls != CLASS_HOST)
        return isfinite(k->judged.ratio) ? k->judged.ratio / k->judged.threshold_ratio : -1;
    double most = k->cls == CLASS_HOST ? 1 - rep->thresholds.gpu_utilization : k->threshold_ratio;
    return k->has_share && most > 0 ? k->share_ratio / most : -1;
}

enum { NEAR_PERCENT = 40 }; /* percent of its threshold: a class farther away is no next limit */

/* The class that would limit next, however far away that is; is_near tells. */
static const struct class_result *next_limit(const struct report *rep, const struct run_result *r)
{
    const struct class_result *next = NULL;
    for (int c = 0; c < N_CLASSES; c++) {
        const struct class_result *k = &r->classes[c];
        if (c == CLASS_COMPUTE || c == CLASS_OVERHEAD || k->verdict == VERDICT_LIMITS || nearness(rep, k) < 0)
            continue;
        if (!next || nearness(rep, k) > nearness(rep, next))
            next = k;
    }
    return next;
}

static int is_near(const struct report *rep, const struct class_result *k)
{
    return 100 * nearness(rep, k) >= NEAR_PERCENT;
}

/* Names of causes inside a sentence. */
static const char *cause_name(struct report *rep, const struct run_result *r, enum cause_class c)
{
    if (c == CLASS_SHARED && r->shared.kind == SHARED_THROTTLED)
        return say_phrase(&rep->arena, &PHRASE(NAME_QUOTA));
    if (c == CLASS_SHARED && r->shared.kind == SHARED_STEAL)
        return say_phrase(&rep->arena, &PHRASE(NAME_STEAL));
    return c == CLASS_COMMUNICATION && is_one_of_many(r) ? "communication" : class_words(c, INSIDE_SENTENCE);
}

static struct phrase phrase_of_next(struct report *rep, const struct run_result *r, const struct class_result *next)
{
    const struct judged j = judged_of(next);
    const struct slot name = slot_name(cause_name(rep, r, next->cls)), threshold = slot_percent(j.threshold_ratio);
    if (next->cls == CLASS_HOST) {
        struct fmt floor = fmt_percent(j.threshold_ratio);
        if (j.ratio < j.threshold_ratio)
            return PHRASE(HOST_NOT_LATE, slot_percent(j.ratio));
        return fmt_is_same(fmt_percent(j.ratio), floor) ? PHRASE(NEXT_LIMIT_HOST_AT_FLOOR, threshold)
                                                        : PHRASE(NEXT_LIMIT_HOST, slot_percent(j.ratio), threshold);
    }
    /* Above its threshold, so something other than its size keeps it from limiting. */
    if (!j.by && j.ratio > j.threshold_ratio)
        return is_doubtful(r) ? PHRASE(SAVES_LITTLE_OF_CORES, name) : PHRASE(SAVES_LITTLE, name, slot_percent(j.ratio));
    if (j.by)
        return PHRASE(NEXT_LIMIT_OF, name, slot_name(report_text(rep, "%s", judged_share(next).text)), threshold);
    return is_share_with_waiting(r, next->cls) ? PHRASE(NEXT_LIMIT_WITH_WAITING, name, slot_percent(j.ratio), threshold)
                                               : PHRASE(NEXT_LIMIT, name, slot_percent(j.ratio), threshold);
}

/* Without a named phase nothing was ruled out. */
int is_mostly_unnamed(const struct run_result *r)
{
    return r->has_steps && !r->run->has_host_steps && r->classes[CLASS_OVERHEAD].verdict == VERDICT_WATCH &&
           r->part_ns[PART_OTHER] > r->part_ns[PART_COMPUTE];
}

struct said said_of_nothing(struct report *rep, const struct run_result *r)
{
    const struct class_result *next = next_limit(rep, r);
    struct said s = {.where = said_where(rep, r)};
    if (r->run->has_host_steps)
        s.headline = PHRASE(GPU_NOT_WHOLE);
    else if (is_mostly_unnamed(r))
        s.headline = run_is_torch_on_hosts(r->run) ? PHRASE(UNNAMED_ON_HOST, slot_share(r, r->part_ns[PART_OTHER]))
                                                   : PHRASE(UNNAMED_MOST, slot_share(r, r->part_ns[PART_OTHER]));
    else if (is_compute_waiting(r) && 2 * r->part_ns[PART_COMPUTE] > r->step.mean_ns)
        say_waiting_compute(r, &s);
    else
        s.headline = PHRASE(NOTHING_LIMITS, slot_share(r, r->part_ns[PART_COMPUTE]));
    if (s.support[0].id == PHRASE_NONE)
        said_some(&s, phrase_of_step(rep, r));
    if (is_mostly_unnamed(r) && r->unnamed_range.name)
        said_some(&s, PHRASE(UNNAMED_RANGE, slot_name(r->unnamed_range.name), slot_time(r->unnamed_range.ns)));
    if (next && !r->run->has_host_steps)
        said_some(&s, is_near(rep, next) ? phrase_of_next(rep, r, next) : PHRASE(NOTHING_NEAR));
    return s;
}

/* ---- what was ruled out, and what could not be judged -------------------------------------------------------- */

/* The marks of reasons for which a class could not be judged. Reasons that do not apply (no GPU, one rank) are only in
 * the table. */
static const char *const unjudged[] = {"S", "R", "C", "F", "L", "H", "X"};

static void add_judged(struct run_result *r, struct phrase p)
{
    for (int i = 0; i < JUDGED_MAX; i++)
        if (r->judged[i].id == PHRASE_NONE) {
            r->judged[i] = p;
            return;
        }
}

/* Not a cause, yet a large part of the step that another cause explains: loading that waits for files. */
static int is_large_part(const struct run_result *r, enum cause_class cls)
{
    const int64_t *part = r->part_ns;
    const int64_t ns = cls == CLASS_IMBALANCE ? part[PART_WAIT] : cls == CLASS_DATA ? part[PART_DATA] : 0;
    const double most = r->classes[cls].threshold_ratio;
    return most > 0 && (double)ns > most * (double)r->step.mean_ns;
}

/* The front page lists what the largest run of a series rules out, next to what limits each run. No cause may be in
 * both. */
static int is_limit_of_series(const struct report *rep, const struct run_result *r, enum cause_class cls)
{
    int is_limit = 0;
    for (int i = 0; i < rep->n_runs && r->series >= 0; i++) {
        const struct run_result *other = &rep->runs[i];
        if (other->series != r->series)
            continue;
        if (other->run->n_nodes > r->run->n_nodes)
            return 0;
        is_limit = is_limit || other->classes[cls].verdict == VERDICT_LIMITS;
    }
    return is_limit;
}

/* next: the class that has a separate sentence; NULL = none. */
static void add_ruled_out(struct report *rep, struct run_result *r, const struct class_result *next)
{
    static const enum cause_class order[] = {CLASS_SHARED, CLASS_COMMUNICATION, CLASS_IMBALANCE, CLASS_DATA,
                                             CLASS_IO,     CLASS_COPY,          CLASS_HOST,      CLASS_MEMORY};
    const char *names[N_CLASSES];
    int n = 0, is_out[N_CLASSES];
    for (int c = 0; c < N_CLASSES; c++)
        is_out[c] = r->classes[c].verdict == VERDICT_FINE && (!next || next->cls != (enum cause_class)c) &&
                    !is_large_part(r, (enum cause_class)c) && !is_limit_of_series(rep, r, (enum cause_class)c);
    int is_both = is_out[CLASS_COMMUNICATION] && is_out[CLASS_IMBALANCE];
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (!is_out[order[i]] || (is_both && order[i] == CLASS_IMBALANCE))
            continue;
        names[n++] = is_both && order[i] == CLASS_COMMUNICATION ? "communication" : cause_name(rep, r, order[i]);
    }
    if (n)
        add_judged(r, PHRASE(RULED_OUT, slot_name(say_list(&rep->arena, names, n))));
}

static void add_not_judged(struct report *rep, struct run_result *r)
{
    const struct class_result *host = &r->classes[CLASS_HOST];
    int is_without_gpu = host->verdict == VERDICT_NA && *say_row(host->why.code)->mark == 'G', n_said = 0;
    for (size_t i = 0; i < sizeof unjudged / sizeof *unjudged; i++) {
        const char *names[N_CLASSES];
        int n = 0;
        for (int c = 0; c < N_CLASSES; c++)
            if (r->classes[c].verdict == VERDICT_NA && !(is_without_gpu && c == CLASS_COPY) &&
                strcmp(say_row(r->classes[c].why.code)->mark, unjudged[i]) == 0)
                names[n++] = cause_name(rep, r, (enum cause_class)c);
        const struct slot what = slot_name(say_list(&rep->arena, names, n)), why = slot_name(say_mark(unjudged[i]));
        if (n)
            add_judged(r, n_said++ ? PHRASE(NOT_JUDGED_EITHER, what, why) : PHRASE(NOT_JUDGED, what, why));
    }
}

static void put_first(struct run_result *r, struct phrase p)
{
    for (int i = JUDGED_MAX - 1; i > 0; i--)
        r->judged[i] = r->judged[i - 1];
    r->judged[0] = p;
}

/* The class that the answer names as the largest other cause; N_CLASSES: it names none. */
static enum cause_class other_said(const struct report *rep, const struct run_result *r, const struct said *said)
{
    for (int i = 0; i < SAID_MAX; i++)
        if (said->support[i].id == PHRASE_OTHER_CAUSE || said->support[i].id == PHRASE_OTHER_CAUSE_RANK)
            for (int k = 1; k < r->n_claims; k++)
                if (rep->claims[r->claims[k]].cls != CLASS_SHARED)
                    return rep->claims[r->claims[k]].cls;
    return N_CLASSES;
}

/* Does a sentence of the answer state this limit by itself? */
static int is_told(const struct said *said, enum cause_class cls)
{
    for (int i = 0; i < SAID_MAX; i++) {
        enum phrase_id id = said->support[i].id;
        if ((cls == CLASS_COMMUNICATION && (id == PHRASE_COMMUNICATION_TOO || id == PHRASE_COMMUNICATION_LIMITS_ON)) ||
            (cls == CLASS_IMBALANCE && (id == PHRASE_WAITING_TOO || id == PHRASE_WAITING_LIMITS_ON)))
            return 1;
    }
    return 0;
}

struct phrase limits_too(struct report *rep, const struct run_result *r, enum cause_class cls, const struct said *said)
{
    const char *names[N_CLASSES];
    const enum cause_class other = other_said(rep, r, said);
    int n = 0;
    for (int i = 0; i < r->n_claims; i++) {
        enum cause_class k = rep->claims[r->claims[i]].cls;
        if (k != cls && k != other && k != CLASS_COMPUTE && !is_told(said, k))
            names[n++] = cause_name(rep, r, k);
    }
    return n ? PHRASE(LIMITS_TOO, slot_name(say_list(&rep->arena, names, n))) : PHRASE(NONE);
}

/* The next limit has a sentence if no other cause limits already. */
static const struct class_result *next_to_say(const struct report *rep, const struct run_result *r, int has_others)
{
    const struct class_result *next = has_others ? NULL : next_limit(rep, r);
    return next && is_near(rep, next) ? next : NULL;
}

enum cause_class next_of_run(const struct report *rep, const struct run_result *r)
{
    const struct class_result *next = next_to_say(rep, r, r->judged[0].id == PHRASE_LIMITS_TOO);
    return next && r->n_claims ? next->cls : N_CLASSES;
}

int n_judged(const struct phrase *judged)
{
    int n = 0;
    while (n < JUDGED_MAX && judged[n].id != PHRASE_NOT_JUDGED)
        n++;
    return n;
}

void say_judged(struct report *rep, struct run_result *r)
{
    const struct phrase others =
        r->n_claims ? limits_too(rep, r, rep->claims[r->claims[0]].cls, &r->said) : PHRASE(NONE);
    const struct class_result *next = next_to_say(rep, r, others.id != PHRASE_NONE);
    add_ruled_out(rep, r, next);
    add_not_judged(rep, r);
    if (r->n_claims && rep->claims[r->claims[0]].cls == CLASS_HOST)
        add_judged(r, phrase_of_stacks(r->run, r->run->traces, r->run->n_traces));
    if (others.id != PHRASE_NONE)
        put_first(r, others);
    else if (next && r->n_claims)
        put_first(r, phrase_of_next(rep, r, next));
    r->judged_text = say_phrases(&rep->arena, r->judged, JUDGED_MAX);
}
