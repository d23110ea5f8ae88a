/* caveats_ended.c - finds the rank that broke off from the ends of the traces: ranks that wait for a dead rank end
 * inside communication, the dead rank does not. Called by caveats.c. Test: tests/unit/test_caveats.c */
#include "render/findings/rules/analyse.h"

static int is_in_exchange(const struct run_rank *k)
{
    enum category c;
    return event_classify("", k->ended_in, &c) == EVENT_PHASE && c == CAT_COMM;
}

void caveat_of_end(struct report *rep, int run)
{
    const struct run_result *r = &rep->runs[run];
    const struct run *a = r->run;
    const struct run_rank *late = NULL, *waits = NULL;
    int n_late = 0, n_waiting = 0;
    for (int i = 0; i < a->ranks_len; i++) {
        const struct run_rank *k = &a->ranks[i];
        if (k->source != STEPS_TRACE || !*k->ended_in) /* its steps were over, or are unknown */
            continue;
        int is_waiting = is_in_exchange(k);
        n_waiting += is_waiting;
        n_late += !is_waiting;
        late = is_waiting ? late : k;
        waits = is_waiting ? k : waits;
    }
    if (a->is_complete || n_late != 1 || !n_waiting)
        return;
    const struct slot rank = slot_count(late->rank), waited_in = slot_name(waits->ended_in);
    report_add_note(rep, NOTE_CAVEAT, run, NOTE_BROKE_OFF,
                    PHRASE(BROKE_OFF, rank, slot_name(late->ended_in),
                           slot_count(steps_of_all(late->steps, late->n_steps, &late->seen).n)),
                    n_waiting == 1 ? PHRASE(ONE_WAITED, slot_count(waits->rank), waited_in, rank)
                                   : PHRASE(OTHERS_WAITED, slot_count(n_waiting), waited_in, rank),
                    PHRASE(LOOK_AT_RANK, rank));
}
