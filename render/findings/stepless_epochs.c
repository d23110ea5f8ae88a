/* stepless_epochs.c - where the time of an epoch goes by metrics.csv, for runs without steps. */
#include "render/findings/stepless.h"

#include "render/findings/rules/rules.h"

int say_epochs(const struct run *r, struct said *out)
{
    struct epoch_times t = epoch_times(r);
    if (!t.has)
        return 0;
    *out = (struct said){.headline = PHRASE(EPOCH, slot_time((int64_t)(t.whole_s / (double)t.n * 1e9)),
                                            slot_percent(t.computing_s / t.whole_s))};
    said_add(out, PHRASE(EPOCH_REST, slot_percent(t.loading_s / t.whole_s),
                         slot_percent((t.whole_s - t.loading_s - t.computing_s) / t.whole_s)));
    said_add(out, PHRASE(EPOCH_MEAN, slot_count((int64_t)t.n)));
    return 1;
}
