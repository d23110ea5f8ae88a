/* readings.h - counters of monitors over a part of a run. For render/metrics only. Test: tests/unit/test_cores.c */
#ifndef RENDER_METRICS_READINGS_H
#define RENDER_METRICS_READINGS_H

#include "render/model/run.h"

struct reading_window {
    int64_t from, to; /* on the clock of the readings; equal: none */
};

/** window_of_steps - from the first step's start to the last step's end, because start-up and shutdown are not
 *  training. Without steps it is the recorded part of the run, because calls of MPI and on files were counted there. */
struct reading_window window_of_steps(const struct run_rank *k);
/** window_of_counted - the same without the steps at the start that are left out: in the first one, the loader's
 * workers may start. */
struct reading_window window_of_counted(const struct run_rank *k);
/** readings_cover - do the readings cover the window? The last one may be missing, and a twentieth at the start: a
 *  spawned process is known as a rank only when it joins the others. Test: tests/unit/test_cores.c */
int readings_cover(const struct run_reading *list, int n, struct reading_window w);
/** reading_at - the counters at a moment, interpolated linearly between two readings, or continued before the first. n
 * > 1 */
struct run_reading reading_at(const struct run_reading *list, int n, int64_t t_ns);

#endif
