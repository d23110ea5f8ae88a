/* failed.c - see failed.h. Called by stepless.c and stepless_action.c. */
#include "render/narrate/failed.h"

#include "render/analyse/analyse.h"
#include "render/say/format.h"

#include <signal.h>

struct failure {
    struct run_ending is;        /* ENDING_OTHER = the run did not fail, as far as is known */
    const struct run_rank *rank; /* NULL = of the program as a whole */
};

/* The first rank that ended by itself: launchers end the others when one fails. */
static struct failure failure_of(const struct run *a)
{
    struct failure f = {0};
    if (a->is_complete || !*a->collector_version || a->n_epochs || a->summary.n_steps || a->n_traces || a->is_foreign)
        return f;
    for (int i = 0; i < a->n_endings && f.is.kind != ENDING_FAILED; i++)
        if (a->endings[i].kind == ENDING_FAILED || (a->endings[i].kind == ENDING_TOLD && !f.is.kind))
            f.is = a->endings[i];
    for (int i = 0; f.is.kind && i < a->ranks_len; i++)
        f.rank = a->ranks[i].rank == f.is.rank ? &a->ranks[i] : f.rank;
    return f;
}

static const char *host_of(const struct run *a, const struct failure *f)
{
    return f->rank && *f->rank->host ? f->rank->host : a->nodes_len == 1 ? a->nodes[0].host : "";
}

const char *failed_headline(struct report *rep, const struct run_result *r)
{
    const struct run *a = r->run;
    struct failure f = failure_of(a);
    if (r->has_steps || !f.is.kind)
        return "";
    double s = a->started_s > 0 && a->ended_s > a->started_s ? a->ended_s - a->started_s : 0;
    int is_bounded = s > 0 && s < 1e9;
    const char *after = is_bounded ? report_text(rep, "; the run lasted %s", fmt_time((int64_t)(s * 1e9)).text) : "";
    const char *host = host_of(a, &f), *inside = "";
    if (f.rank && *f.rank->ended_in)
        inside = report_text(rep, ", inside '%.80s'", f.rank->ended_in);
    return report_text(rep, "The run %s before any step was recorded: %s%s%s%s%s.",
                       f.is.kind == ENDING_TOLD ? "was ended from outside" : "failed", f.is.text, *host ? ", on " : "",
                       host, inside, after);
}

/* What a rank held when it was killed; "" when that is not known. */
static const char *memory_held(struct report *rep, const struct run *a, const struct failure *f)
{
    int64_t most = -1, of = 0;
    for (int i = 0; i < a->ranks_len; i++)
        if ((!f->rank || f->rank == &a->ranks[i]) && a->ranks[i].peak_rss_bytes > most)
            most = a->ranks[i].peak_rss_bytes;
    for (int i = 0; i < a->nodes_len; i++)
        of = a->nodes[i].memory_bytes > of ? a->nodes[i].memory_bytes : of;
    if (most < 0)
        return "";
    return report_text(rep, "; %s held %s of memory at most%s", f->rank ? "its processes" : "a rank",
                       fmt_bytes((double)most).text,
                       of > 0 ? report_text(rep, ", and a node has %s", fmt_bytes((double)of).text) : "");
}

const char *failed_action(struct report *rep, const struct run_result *r, const char *how_to_name)
{
    const struct run *a = r->run;
    struct failure f = failure_of(a);
    const char *host = *host_of(a, &f) ? host_of(a, &f) : "its host";
    const char *who = f.rank ? report_text(rep, "rank %d", f.rank->rank) : "the program";
    int by = f.is.signal ? f.is.signal : f.is.status > 128 && f.is.status < 128 + NSIG ? f.is.status - 128 : 0;
    const char *first = report_text(rep, "Read the last lines that %s wrote to its standard error", who);
    if (f.is.kind == ENDING_TOLD)
        first = "Find out who ended it: the job's time limit, a cancelled job, an interrupt, or a launcher whose "
                "other ranks had failed";
    else if (by == SIGKILL)
        first = report_text(rep,
                            "Look whether %s was killed for want of memory (dmesg on %s, the job's memory limit, "
                            "sacct's OUT_OF_MEMORY)%s",
                            who, host, memory_held(rep, a, &f));
    else if (by == SIGSEGV || by == SIGBUS || by == SIGABRT || by == SIGFPE || by == SIGILL)
        first = report_text(rep,
                            "%s; a crash like this leaves a core file where ulimit -c allows it, and gdb shows in it "
                            "where it was",
                            first);
    else if (by == SIGTERM || by == SIGINT || by == SIGHUP || by == SIGXCPU)
        first = "Find out who ended it: the job's time limit, a cancelled job, or an interrupt";
    else if (f.is.status == 127)
        first = report_text(rep,
                            "Look whether the command and its shared libraries are there on %s: status 127 is that "
                            "of a program that was not found",
                            host);
    else if (f.is.status == 126)
        first = report_text(rep,
                            "Look whether the command may be executed on %s: status 126 is that of a program that "
                            "could not be",
                            host);
    int is_long = a->ranges.n || a->ended_s - a->started_s > 60;
    return report_text(rep, "%s. Then record it again.%s%s", first, is_long ? " If it made steps all the same: " : "",
                       is_long ? how_to_name : "");
}
