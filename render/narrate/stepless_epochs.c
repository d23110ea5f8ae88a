/* stepless_epochs.c - what metrics.csv says of where the time of an epoch goes, for runs without steps. */
#include "render/narrate/claims.h"

#include "render/analyse/analyse.h"
#include "render/say/format.h"

const char *epochs_headline(struct report *rep, const struct run *r)
{
    struct epoch_times t = epoch_times(r);
    if (!t.has)
        return "";
    return report_text(rep,
                       "By metrics.csv an epoch took %s in the mean of %s: %s computing, %s loading data, %s neither.",
                       fmt_time((int64_t)(t.whole_s / (double)t.n * 1e9)).text, fmt_count(t.n, "epoch").text,
                       fmt_percent(t.computing_s / t.whole_s).text, fmt_percent(t.loading_s / t.whole_s).text,
                       fmt_percent((t.whole_s - t.loading_s - t.computing_s) / t.whole_s).text);
}
