/* stepless_action.c - what to do about a run without known steps: what follows from its traces or reports of other
 * tools, and how the next run can have steps. Test: tests/unit/test_narrate.c, test_devices_told.c */
#include "render/findings/actions.h"
#include "render/findings/claims.h"

#include "render/findings/rules/analyse.h"
#include "render/findings/stepless.h"
#include "render/metrics/calls.h"
#include "render/findings/failed.h"
#include "render/say/say.h"

/* How the steps of such a run can be known: by named ranges if it was watched, else by watching it. */
static struct advised steps_advice(const struct run *r)
{
    if (!*r->collector_version)
        return ADVISE(WATCH_NEXT_RUN);
    if (r->has_window && !r->ranges.n && r->nvtx.state == RECORDER_NOTHING)
        return ADVISE(WIDER_WINDOW);
    return r->ranges.n ? ADVISE(RENAME_RANGE) : ADVISE(NAME_STEPS);
}

int are_steps_missed(const struct run_result *r)
{
    const struct run *a = r->run;
    if (r->has_steps || r->advised.id == ADVICE_NOTHING_ONE_TRACE || (a->is_foreign && !a->n_traces))
        return 0;
    int is_training = *a->program.model || a->ranges.n_names || a->n_traces || run_may_be_torch(a);
    return is_training || !mpi_share(a).has;
}

/* For time in MPI calls without a late rank: if one call that moves data takes much of it, its data are the cause, or
 * its number if it moves few bytes each time. */
static struct advised mpi_advice(const struct report *rep, const struct run *a)
{
    const struct mpi_share m = mpi_share(a);
    if (is_mostly_at_rest(a))
        return ADVISE(FIND_WAITS);
    if (!is_mpi_moving(&rep->thresholds, &m))
        return m.ratio < 0.5 ? ADVISE(OUTSIDE_MPI, slot_percent(1 - m.ratio)) : ADVISE(NOTHING_MPI);
    const struct dct_io *sum = &m.largest->sum;
    const struct slot share = slot_percent((double)sum->ns / (double)m.wall_ns), call = slot_name(m.largest->name);
    double bytes = sum->n ? (double)sum->bytes / (double)sum->n : 0; /* 0 = not known */
    return bytes > 0 && bytes <= SMALL_MESSAGE_BYTES ? ADVISE(MPI_MESSAGES, share, call, slot_bytes(bytes))
                                                     : ADVISE(MPI_TRANSFER, share, call);
}

static struct stepless_advice advise(struct report *rep, const struct run_result *r)
{
    struct stepless_advice out, steps = {.first = steps_advice(r->run), .is_first = 1};
    struct said said;
    int is_long;
    if (say_failed(rep, r, &said)) {
        out = advise_failed(rep, r, &is_long);
        out.then = is_long ? steps.first : ADVISE(NONE);
        return out;
    }
    if (advise_devices(rep, r, &out))
        return out;
    /* The steps of a watched program can be named, whatever other evidence there is. */
    if (r->step.n || !advise_evidence(rep, r->run, &out) || (*r->run->collector_version && !out.is_first))
        return are_steps_missed(r)     ? steps
               : mpi_share(r->run).has ? (struct stepless_advice){.first = mpi_advice(rep, r->run)}
                                       : (struct stepless_advice){.first = ADVISE(WATCH_NEXT_RUN), .is_first = 1};
    return out;
}

void say_what_to_do_without_steps(struct report *rep, struct run_result *r)
{
    r->steps_action = r->stepless_advice = "";
    r->stepless_action = (struct to_do){.text = ""};
    r->advised = ADVISE(NONE);
    if (r->has_steps)
        return;
    struct stepless_advice todo = advise(rep, r);
    const char *words = todo.words ? todo.words : advice_words(rep, r->run, &todo.first);
    const char *result = say_phrase(&rep->arena, &todo.result), *then = "";
    if (todo.then.id)
        then = advice_words(rep, r->run, &todo.then);
    if (*then && todo.then.id == steps_advice(r->run).id) /* of a run that failed */
        then = report_text(rep, "%s %s", say_phrase(&rep->arena, &PHRASE(IF_IT_MADE_STEPS)), then);
    r->stepless_advice = report_text(rep, "%s%s%s%s%s", words, *result ? " " : "", result, *then ? " " : "", then);
    r->stepless_action = (struct to_do){.text = words, .is_first = todo.is_first, .result = result, .also = then};
    r->advised = todo.first;
    if ((*r->run->collector_version && are_steps_missed(r)) || todo.first.id == ADVICE_WATCH_NEXT_RUN) {
        struct advised steps = steps_advice(r->run);
        r->steps_action = advice_words(rep, r->run, &steps);
    }
}
