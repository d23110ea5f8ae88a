/* waiting.c - for whom and for what ranks wait: the sentences of it that claims are made of. See claims.h. */
#include "render/narrate/claims.h"

#include "render/analyse/analyse.h"
#include "render/say/format.h"

/* Of a phase: what rank `late` takes, and the others in the mean. */
static void times_of(const struct run_result *r, const struct phase_result *p, int64_t *late, int64_t *others)
{
    int64_t sum = 0;
    for (int i = 0; i < r->n_rank_results; i++) {
        int is_late = r->ranks[i].rank == r->straggler.rank;
        *late = is_late ? p->ranks[i].mean_ns : *late;
        sum += is_late ? 0 : p->ranks[i].mean_ns;
    }
    *others = sum / (r->n_rank_results - 1);
}

/* " Rank 2 takes 60.1 ms in backward, the others 20.1 ms in the mean (2.99x).": the two phases in which it loses most.
 */
static const char *longer_phases(struct report *rep, const struct run_result *r, enum category category)
{
    const struct phase_result *most[2] = {NULL, NULL};
    int64_t by[2] = {0, 0}, late = 0, others = 0;
    const char *text = "";
    for (int i = 0; i < r->n_phases && r->n_rank_results > 1; i++) {
        times_of(r, &r->phases[i], &late, &others);
        int64_t more = late - others;
        if (r->phases[i].category != category || r->phases[i].is_whole ||
            /* those hold each other: said twice */ others <= 0 ||
            (double)more <= rep->thresholds.straggler_wait * (double)r->step.mean_ns || more <= by[1])
            continue;
        int at = more > by[0] ? 0 : 1;
        if (at == 0) {
            most[1] = most[0];
            by[1] = by[0];
        }
        most[at] = &r->phases[i];
        by[at] = more;
    }
    for (int i = 0; i < 2 && most[i]; i++) {
        times_of(r, most[i], &late, &others);
        text =
            report_text(rep, "%s%s%s in %s, the others %s in the mean (%s)", text, i ? "; " : "", fmt_time(late).text,
                        most[i]->name, fmt_time(others).text, fmt_x((double)late / (double)others).text);
    }
    return *text ? report_text(rep, " Rank %d takes %s.", r->straggler.rank, text) : "";
}

const char *cause_of_waiting(struct report *rep, const struct run_result *r)
{
    static const char *const doing[N_CATEGORIES] = {
        [CAT_COMPUTE] = "computed longer than the others", [CAT_COMM] = "was busy between steps (validation, logging)",
        [CAT_DATA] = "loaded data longer than the others", [CAT_IO] = "wrote files",
        [CAT_COPY] = "copied longer than the others",      [CAT_OTHER] = "was late for no recorded reason (jitter)",
    };
    static const char idle[] = "had its GPU idle longer than the others: its host was late";
    int largest = CAT_OTHER;
    for (int c = 0; c < N_CATEGORIES; c++)
        if (r->wait_cause_ns[c] > r->wait_cause_ns[largest])
            largest = c;
    int64_t wait = r->part_ns[PART_WAIT];
    if (wait <= 0)
        return "";
    if (is_doubtful(r) && uneven_rank(rep, r) < 0)
        return "Unequal work explains nothing of the waiting: it is for ranks without a core.";
    return report_text(rep, "For %s of the waiting, the rank that came last %s.%s",
                       fmt_percent((double)r->wait_cause_ns[largest] / (double)wait).text,
                       largest == CAT_OTHER && r->run->n_traces && r->classes[CLASS_HOST].verdict == VERDICT_LIMITS
                           ? idle
                           : doing[largest],
                       r->straggler.has ? longer_phases(rep, r, (enum category)largest) : "");
}

const char *waiting_in_compute(struct report *rep, const struct run_result *r)
{
    const struct processor *p = &r->processor;
    if (p->own_ready >= 0 && p->used_cores - p->own_ready > 0.1)
        return report_text(rep,
                           "the process of a rank that makes the steps ran or was ready to run for %s of them, while "
                           "other processes of the rank used %s of a core: it waits for those, or for something that "
                           "is not recorded",
                           fmt_percent(p->own_ready).text, fmt_percent(p->used_cores - p->own_ready).text);
    return report_text(rep,
                       "the ranks used %s of a core in their steps: they wait for something that is not recorded (a "
                       "lock, a file system, a device without a trace)",
                       fmt_percent(r->processor.used_cores).text);
}
