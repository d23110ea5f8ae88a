/* dcgm_activity.h - how busy the parts of a GPU were (multiprocessors, tensor cores, memory, links) by DCGM's profiling
 * counters, summed up into a table. Inside render/import only; for dcgm.c. source: DCGM Feature Overview, "Profiling
 * Metrics". Test: tests/unit/test_logs.c */
#ifndef RENDER_IMPORT_DCGM_ACTIVITY_H
#define RENDER_IMPORT_DCGM_ACTIVITY_H

#include "render/import/text/gpu_samples.h"

enum { DCGM_N_ACTIVITIES = 11 };
struct dcgm_gpu {
    int64_t node, id;
    struct {
        int64_t n;
        double sum, min, max;
    } of[DCGM_N_ACTIVITIES];
};
/* Zero to begin with. */
struct dcgm_activity {
    struct dcgm_gpu *gpus; /* in order of appearance; shape (n) */
    size_t n, cap;
};

/** dcgm_activity_of - which activity a field ("DCGM_FI_PROF_SM_ACTIVE", n bytes) or a column of dmon ("SMACT") is of.
 *  returns  -1: of none */
int dcgm_activity_of(const char *field, size_t n);
/** dcgm_activity_add - one value as DCGM writes it; text that is no value, or an impossible one, is left out and
 *  counted as for other samples.  returns  1 when it was one */
int dcgm_activity_add(struct run *r, struct dcgm_activity *a, int64_t node, int64_t id, int activity, const char *cell,
                      struct samples_left *left);
/** dcgm_activity_table - a table of the run with a row for each GPU and activity that was sampled; none: no table. */
void dcgm_activity_table(struct run *r, const struct dcgm_activity *a, const char *file);

#endif
