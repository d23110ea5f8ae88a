/* caveats_ended.c - finds the rank that broke off from the ends of the traces: ranks that wait for a dead rank end
 * inside communication, the dead rank does not. Called by caveats.c. Test: tests/unit/test_caveats.c */
#include "render/findings/rules/analyse.h"

static int is_in_exchange(const struct run_rank *k)
{
    enum category c;
    return event_classify("", k->ended_in, &c) == EVENT_PHASE && c == CAT_COMM;
}

struct broke_off rank_that_broke_off(const struct run *a)
{
    struct broke_off b = {0};
    int n_late = 0;
    for (int i = 0; i < a->ranks_len; i++) {
        const struct run_rank *k = &a->ranks[i];
        if (k->source != STEPS_TRACE || !*k->ended_in) /* its steps were over, or are unknown */
            continue;
        int is_waiting = is_in_exchange(k);
        b.n_waiting += is_waiting;
        n_late += !is_waiting;
        b.late = is_waiting ? b.late : k;
        b.waits = is_waiting ? k : b.waits;
    }
    return a->is_complete || n_late != 1 || !b.n_waiting ? (struct broke_off){0} : b;
}

void caveat_of_end(struct report *rep, int run)
{
    const struct broke_off b = rank_that_broke_off(rep->runs[run].run);
    if (!b.late)
        return;
    const struct slot rank = slot_count(b.late->rank), waited_in = slot_name(b.waits->ended_in);
    report_add_note(rep, NOTE_CAVEAT, run, NOTE_BROKE_OFF,
                    PHRASE(BROKE_OFF, rank, slot_name(b.late->ended_in),
                           slot_count(steps_of_all(b.late->steps, b.late->n_steps, &b.late->seen).n)),
                    b.n_waiting == 1 ? PHRASE(ONE_WAITED, slot_count(b.waits->rank), waited_in, rank)
                                     : PHRASE(OTHERS_WAITED, slot_count(b.n_waiting), waited_in, rank),
                    PHRASE(LOOK_AT_RANK, rank));
}
