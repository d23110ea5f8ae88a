/* caveats_ended.c - who broke off, as the ends of the traces show it: ranks that wait for one that died are inside
 * communication when they are ended, the one that died is not. Called by caveats.c. Test: tests/unit/test_caveats.c */
#include "render/findings/rules/analyse.h"

#include "render/say/format.h"

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
        if (k->source != STEPS_TRACE || !*k->ended_in) /* its steps were over, or are not known */
            continue;
        int is_waiting = is_in_exchange(k);
        n_waiting += is_waiting;
        n_late += !is_waiting;
        late = is_waiting ? late : k;
        waits = is_waiting ? k : waits;
    }
    if (a->is_complete || n_late != 1 || !n_waiting)
        return;
    report_add_note(rep, NOTE_CAVEAT, run, NOTE_BROKE_OFF,
                    "the trace of rank %d breaks off inside '%.80s', behind %s, while %s inside '%.80s': they "
                    "waited for rank %d, which is where to look first.",
                    late->rank, late->ended_in, fmt_count((int64_t)late->n_steps, "whole step").text,
                    n_waiting == 1 ? report_text(rep, "that of rank %d ends", waits->rank)
                                   : report_text(rep, "those of %d other ranks end", n_waiting),
                    waits->ended_in, late->rank);
}
