/* judge.c - is a run complete, by how its program and ranks ended? See parts.h. */
#include "collect/pack/parts.h"

#include "collect/record/spool_layout.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { MAX_RANK_REASONS = 8 };

/* It ended as programs do that are told to: by the signal, or by the status that stands for it. */
static int is_of_signal(json_int_t signal, json_int_t status, const char *told)
{
    static const struct {
        const char *name;
        int number;
    } known[] = {{"SIGINT", SIGINT}, {"SIGTERM", SIGTERM}, {"SIGHUP", SIGHUP}, {"SIGQUIT", SIGQUIT}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, told) == 0)
            return signal == known[i].number || status == 128 + known[i].number;
    return 0;
}

static int judge_record(struct pack *p, const json_t *record, const char *who)
{
    json_int_t signal = pack_json_int(record, "signal", 0), status = pack_json_int(record, "exit_status", 0);
    const char *told = pack_json_text(record, "told_to_end");
    char how[64] = "", after[80] = "";
    snprintf(how, sizeof how, "%s (%.20s)", strcmp(told, "SIGINT") == 0 ? "interrupted" : "told to end", told);
    if (*told)
        snprintf(after, sizeof after, ", after it was %s", how);
    if (strcmp(pack_json_text(record, "state"), SPOOL_RUNNING) == 0)
        pack_reason(p, "%s has no end record: it or its collector was killed, or still runs", who);
    else if (*told && is_of_signal(signal, status, told))
        pack_reason(p, "%s was %s", who, how);
    else if (signal > 0)
        pack_reason(p, "%s was ended by signal %d (%s)%s", who, (int)signal, strsignal((int)signal), after);
    else if (status > 128 && status < 128 + NSIG && strsignal((int)status - 128)) /* as shells and launchers say it */
        pack_reason(p, "%s ended with exit status %d, which stands for signal %d (%s)%s", who, (int)status,
                    (int)status - 128, strsignal((int)status - 128), after);
    else if (status != 0)
        pack_reason(p, "%s ended with exit status %d%s", who, (int)status, after);
    else
        return 0;
    return 1;
}

void pack_judge(struct pack *p)
{
    int n_bad = 0;
    json_int_t world = 0;
    if (p->launcher)
        (void)judge_record(p, p->launcher, "the program");
    for (size_t i = 0; i < p->n_ranks; i++) {
        const json_t *record = p->ranks[i].record;
        char who[32];
        snprintf(who, sizeof who, "rank %d", p->ranks[i].rank);
        if (pack_json_int(record, "world_size", 0) > world)
            world = pack_json_int(record, "world_size", 0);
        if (p->launcher || !*pack_json_text(record, "state"))
            continue;
        if (n_bad < MAX_RANK_REASONS)
            n_bad += judge_record(p, record, who);
    }
    if (n_bad == MAX_RANK_REASONS)
        pack_reason(p, "further ranks may have failed too");
    if (world > (json_int_t)p->n_ranks)
        pack_reason(p, "%lld of %lld ranks left nothing", (long long)(world - (json_int_t)p->n_ranks),
                    (long long)world);
}
