/* failed.c - see failed.h. Called by stepless.c and stepless_action.c. */
#include "render/findings/failed.h"

#include "render/findings/rules/analyse.h"
#include "render/metrics/series/differing.h"
#include "lib/base/fs.h"

#include <signal.h>
#include <string.h>

struct failure {
    struct run_ending is;        /* ENDING_OTHER = the run is not known to have failed */
    const struct run_rank *rank; /* NULL = the program as a whole */
    int is_first;                /* only that this rank ended first is known; `is` is of its launcher */
};

static const struct run_ending *first_to_end(const struct run *a)
{
    for (int i = 0; i < a->n_endings; i++)
        if (a->endings[i].kind == ENDING_FIRST)
            return &a->endings[i];
    return NULL;
}

/* The first ending by itself, else the first of those that were told to end. */
static struct run_ending ending_among(const struct run *a, int is_of_launcher)
{
    struct run_ending is = {.rank = -1};
    for (int i = 0; i < a->n_endings && is.kind != ENDING_FAILED; i++) {
        const struct run_ending *e = &a->endings[i];
        if ((e->kind == ENDING_FAILED || (e->kind == ENDING_TOLD && !is.kind)) && !(is_of_launcher && e->rank >= 0))
            is = *e;
    }
    return is;
}

/* The first rank that ended by itself: launchers end the others when one fails. If the end of the rank that
 * was first is not known, the launcher's status tells more than those of later ranks. */
static struct failure failure_of(const struct run *a)
{
    struct failure f = {0};
    if (!run_ended_badly(a))
        return f;
    const struct run_ending *first = first_to_end(a);
    f.is = ending_among(a, first != NULL);
    f.is_first = first && f.is.kind == ENDING_FAILED;
    if (!f.is.kind)
        f.is = ending_among(a, 0);
    int rank = f.is_first ? first->rank : f.is.rank;
    for (int i = 0; f.is.kind && i < a->ranks_len; i++)
        f.rank = a->ranks[i].rank == rank ? &a->ranks[i] : f.rank;
    return f;
}

static const char *host_of(const struct run *a, const struct failure *f)
{
    return f->rank && *f->rank->host ? f->rank->host : a->nodes_len == 1 ? a->nodes[0].host : "";
}

/* The signal that ended it, or that its status may mean. */
static int signal_of(const struct run_ending *e)
{
    return e->signal ? e->signal : e->may_be_signal;
}

static const char *signal_words(struct report *rep, const char *word, int number)
{
    const char *words = sigdescr_np(number);
    return words ? report_text(rep, "%s %d (%s)", word, number, words) : report_text(rep, "%s %d", word, number);
}

/* "rank 1", "mpirun", "the program". The status of a launcher is not that of the program. */
static const char *who_ended(struct report *rep, const struct run *a, const struct run_ending *e)
{
    return e->rank >= 0           ? report_text(rep, "rank %d", e->rank)
           : launched_word(a) > 0 ? report_text(rep, "%.30s", dcr_last_part(a->command[0]))
                                  : "the program";
}

static struct phrase headline(struct report *rep, const struct run *a, const struct run_ending *e)
{
    struct slot rank = slot_count(e->rank), status = slot_count(e->status), who = slot_name(who_ended(rep, a, e));
    if (e->kind == ENDING_TOLD)
        return e->rank < 0 ? PHRASE(PROGRAM_TOLD) : PHRASE(RANK_TOLD, rank);
    if (!e->signal && e->rank < 0 && run_has_no_rank(a))
        return PHRASE(LAUNCHER_ALONE, who, status);
    if (!e->signal && e->rank < 0)
        return launched_word(a) > 0 ? PHRASE(LAUNCHER_FAILED, who, status) : PHRASE(PROGRAM_FAILED, status);
    if (!e->signal)
        return PHRASE(RANK_FAILED, rank, status);
    struct slot by = slot_name(signal_words(rep, "Signal", e->signal));
    return e->rank < 0 ? PHRASE(PROGRAM_KILLED, by, who) : PHRASE(RANK_KILLED, rank, by);
}

/* A launcher's status does not tell whether one of its ranks ended so, or which. */
static const char *who_or_rank(struct report *rep, const struct run *a, const struct failure *f)
{
    const char *who = who_ended(rep, a, &f->is);
    return f->is.rank < 0 && !f->is_first && launched_word(a) > 0 ? report_text(rep, "%s or one of its ranks", who)
                                                                  : who;
}

/* Did a rank end inside a range? A status other than 0 alone does not tell that work was left. */
static int is_early(const struct run *a, const struct failure *f)
{
    int is_inside = 0;
    for (int i = 0; i < a->ranks_len; i++)
        is_inside |= *a->ranks[i].ended_in != '\0';
    return f->is.signal || is_inside;
}

/* Time between the last step of any rank and the signal that told the run to end; -1: not known. */
static int64_t without_steps_ns(const struct run *a)
{
    int64_t last = 0;
    if (!a->told_ns || !(run_is_one_machine(a) || a->nodes_len == 1)) /* else the clocks differ */
        return -1;
    for (int i = 0; i < a->ranks_len; i++) {
        const struct run_rank *k = &a->ranks[i];
        if (k->source != STEPS_TRACE || !k->n_steps || k->seen.every || k->lost_from_ns ||
            k->window.until_ns) /* later steps may not be recorded, or are not kept */
            return -1;
        const struct step_record *s = &k->steps[k->n_steps - 1];
        last = s->start_ns + s->step_ns > last ? s->start_ns + s->step_ns : last;
    }
    return last && a->told_ns > last ? a->told_ns - last : -1;
}

/* It was told to end when it had not made a step for far longer than a step takes. */
static int64_t stopped_ns(const struct run_result *r)
{
    enum { TIMES_A_STEP = 10 };
    const struct run *a = r->run;
    int64_t without = r->has_steps && failure_of(a).is.kind == ENDING_TOLD ? without_steps_ns(a) : -1;
    const struct run_rank *k = without >= 0 ? &a->ranks[0] : NULL;
    return k && without >= 1000000000 && without / TIMES_A_STEP >= k->wall_ns / (int64_t)k->n_steps ? without : -1;
}

struct phrase phrase_of_early_end(struct report *rep, const struct run_result *r)
{
    const struct run *a = r->run;
    struct failure f = failure_of(a);
    const struct run_rank *late = rank_that_broke_off(a).late;
    if (!f.is.kind || !r->has_steps || stopped_ns(r) >= 0) /* say_stopped says it */
        return PHRASE(NONE);
    struct slot who = slot_name(who_ended(rep, a, &f.is)), status = slot_count(f.is.status);
    struct slot by = slot_name(signal_of(&f.is) ? signal_words(rep, "signal", signal_of(&f.is)) : "");
    if (f.is.kind == ENDING_TOLD)
        return PHRASE(TOLD_EARLY, who);
    if (f.is.signal)
        return PHRASE(KILLED_EARLY, by, who);
    if (f.is_first && f.rank)
        return signal_of(&f.is) ? PHRASE(FIRST_EARLY_PERHAPS, slot_count(f.rank->rank), who, status, by)
                                : PHRASE(FIRST_EARLY, slot_count(f.rank->rank), who, status);
    if (late && f.is.rank < 0)
        return PHRASE(BROKE_OFF_EARLY, slot_count(late->rank), who, status);
    struct slot how = slot_name(is_early(a, &f) ? "ended early" : "failed");
    who = slot_name(who_or_rank(rep, a, &f));
    return signal_of(&f.is) ? PHRASE(FAILED_EARLY_PERHAPS, how, who, status, by)
                            : PHRASE(FAILED_EARLY, how, who, status);
}

int say_stopped(struct report *rep, struct run_result *r)
{
    const struct run *a = r->run;
    int64_t without = stopped_ns(r);
    const char *how = strcmp(a->told_to_end, "SIGINT") == 0 ? "interrupted"
                      : *a->told_to_end                     ? report_text(rep, "told to end by %s", a->told_to_end)
                                                            : "told to end";
    if (without < 0)
        return 0;
    r->said = (struct said){.headline = PHRASE(STEPS_STOPPED, slot_time(without), slot_name(how))};
    double s = a->ended_s - a->started_s;
    if (a->started_s > 0 && s > 0 && s < 1e9)
        said_add(&r->said,
                 PHRASE(STOPPED_AFTER, slot_time((int64_t)(s * 1e9)), slot_count((int64_t)a->ranks[0].n_steps)));
    for (int i = 0; i < a->ranks_len && a->ranks_len <= 2; i++)
        if (*a->ranks[i].ended_in)
            said_add(&r->said, PHRASE(STOPPED_INSIDE, slot_count(a->ranks[i].rank),
                                      slot_name(report_text(rep, "%.80s", a->ranks[i].ended_in))));
    return 1;
}

int is_crashed(const struct run_result *r)
{
    struct failure f = failure_of(r->run);
    return r->has_steps &&
           ((f.is.kind == ENDING_FAILED && (signal_of(&f.is) || is_early(r->run, &f))) || stopped_ns(r) >= 0);
}

int is_failed(const struct run_result *r)
{
    return !r->has_steps && run_failed(r->run);
}

int say_failed(struct report *rep, const struct run_result *r, struct said *out)
{
    const struct run *a = r->run;
    struct failure f = failure_of(a);
    if (!is_failed(r))
        return 0;
    *out = (struct said){.headline = headline(rep, a, &f.is)};
    if (f.rank && f.is_first)
        said_add(out, PHRASE(FAILED_FIRST, slot_count(f.rank->rank)));
    if (*host_of(a, &f))
        said_add(out, PHRASE(FAILED_ON, slot_name(host_of(a, &f))));
    if (f.rank && *f.rank->ended_in)
        said_add(out, PHRASE(FAILED_INSIDE, slot_name(report_text(rep, "%.80s", f.rank->ended_in))));
    if (!f.is.signal && signal_of(&f.is))
        said_add(out, PHRASE(STATUS_MAY_MEAN, slot_count(f.is.status),
                             slot_name(signal_words(rep, "signal", signal_of(&f.is)))));
    double s = a->started_s > 0 && a->ended_s > a->started_s ? a->ended_s - a->started_s : 0;
    if (s > 0 && s < 1e9)
        said_add(out, PHRASE(FAILED_AFTER, slot_time((int64_t)(s * 1e9))));
    return 1;
}

/* What a rank held when it was killed. */
static struct phrase memory_held(const struct run *a, const struct failure *f)
{
    int64_t most = -1, of = 0;
    for (int i = 0; i < a->ranks_len; i++)
        if ((!f->rank || f->rank == &a->ranks[i]) && a->ranks[i].peak_rss_bytes > most)
            most = a->ranks[i].peak_rss_bytes;
    for (int i = 0; i < a->nodes_len; i++)
        of = a->nodes[i].memory_bytes > of ? a->nodes[i].memory_bytes : of;
    return most < 0 ? PHRASE(NONE)
           : of > 0 ? PHRASE(FAILED_HOLDING, slot_bytes((double)most), slot_bytes((double)of))
                    : PHRASE(FAILED_HOLDING_SOME, slot_bytes((double)most));
}

struct stepless_advice advise_failed(struct report *rep, const struct run_result *r, int *is_long)
{
    const struct run *a = r->run;
    struct failure f = failure_of(a);
    struct slot host = slot_name(*host_of(a, &f) ? host_of(a, &f) : "its host");
    struct slot who = slot_name(f.rank ? report_text(rep, "rank %d", f.rank->rank) : "the program");
    int by = signal_of(&f.is);
    struct stepless_advice out = {.first = ADVISE(READ_STDERR, who), .is_first = 1};
    *is_long = a->ranges.n || a->ended_s - a->started_s > 60;
    if (stopped_ns(r) >= 0) {
        out.first = ADVISE(FIND_HANG);
    } else if (f.is.kind == ENDING_TOLD || by == SIGTERM || by == SIGINT || by == SIGHUP || by == SIGXCPU) {
        out.first = ADVISE(FIND_WHO_ENDED);
    } else if (by == SIGKILL) {
        out.first = ADVISE(CHECK_MEMORY, who, host);
        out.result = memory_held(a, &f);
    } else if (by == SIGSEGV || by == SIGBUS || by == SIGABRT || by == SIGFPE || by == SIGILL) {
        out.first = ADVISE(READ_CORE_FILE, who);
    } else if (f.is.status == 126) {
        out.first = ADVISE(CHECK_PERMISSION, host);
    } else if (f.is.status == 127) {
        out.first = ADVISE(CHECK_COMMAND, host);
    } else if (run_has_no_rank(a)) {
        out.first = ADVISE(READ_LAUNCHER, slot_name(who_ended(rep, a, &f.is)));
    }
    return out;
}
