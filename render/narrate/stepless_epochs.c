/* stepless_epochs.c - what metrics.csv says of where the time of an epoch goes, for runs without steps. */
#include "render/narrate/claims.h"

#include "render/analyse/analyse.h"
#include "render/narrate/format.h"

const char *epochs_headline(struct report *rep, const struct run *r)
{
    const int whole = run_metric("epoch_time_sec"), load = run_metric("data_load_time_sec");
    const int compute = run_metric("compute_time_sec");
    double time = 0, loading = 0, computing = 0;
    int64_t n = 0;
    for (size_t i = 0; i < r->n_epochs; i++) {
        const double *v = r->epochs[i].value;
        /* Not a number compares false; a trainer that loads beside computing counts more than there is. */
        if (!(v[whole] > 0 && v[load] >= 0 && v[compute] >= 0 && v[load] + v[compute] <= v[whole]))
            continue;
        time += v[whole];
        loading += v[load];
        computing += v[compute];
        n++;
    }
    if (n == 0 || !(loading + computing > 0))
        return "";
    return report_text(rep,
                       "By metrics.csv an epoch took %s in the mean of %s: %s computing, %s loading data, %s neither.",
                       fmt_time((int64_t)(time / (double)n * 1e9)).text, fmt_count(n, "epoch").text,
                       fmt_percent(computing / time).text, fmt_percent(loading / time).text,
                       fmt_percent((time - loading - computing) / time).text);
}
