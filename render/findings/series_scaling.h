/* series_scaling.h - how far a series scales, and what is expected beyond it: all texts except what limits it
 * (series.c). Inside render/findings. Test: tests/unit/test_narrate_runs.c */
#ifndef RENDER_FINDINGS_SERIES_SCALING_H
#define RENDER_FINDINGS_SERIES_SCALING_H

#include "render/metrics/report.h"

/** series_scaling_texts - scaling_text, beyond_text, and what makes points unreliable. Two points at least. */
void series_scaling_texts(struct report *rep, struct series *s);

/** series_all_reduce_text - all_reduce.text, if there is a calibration or a log. (series_all_reduce.c) */
void series_all_reduce_text(struct report *rep, struct series *s);

/** series_shared_run - the repetition of a point whose ranks shared cores, NULL when none did. A quota that is equal on
 * all nodes and at all node counts is the speed of a node: it cannot explain a loss from one count to the next. */
const struct run_result *series_shared_run(const struct report *rep, const struct series_point *p);

#endif
