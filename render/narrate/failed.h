/* failed.h - a run that ended badly before any of its steps was recorded: what ended it, and where to look first.
 * Advice on how to name steps would miss the point. Inside render/narrate only. Test: tests/unit/test_failed.c */
#ifndef RENDER_NARRATE_FAILED_H
#define RENDER_NARRATE_FAILED_H

#include "render/analyse/report.h"

/** failed_headline - "The run failed before any step was recorded: rank 1 on h2 ended with exit status 5, 0.6 s after
 *  its start."          "" for a run with steps or epochs, one that ended well, and one of which nobody knows */
const char *failed_headline(struct report *rep, const struct run_result *r);
/** failed_action - what to look at first, in sentences; only where failed_headline says something.
 *  how_to_name  what is said besides of a run that lasted long enough for steps without names */
const char *failed_action(struct report *rep, const struct run_result *r, const char *how_to_name);

#endif
