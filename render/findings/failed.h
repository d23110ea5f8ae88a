/* failed.h - a run that ended badly: what ended it, and, before any of its steps was recorded, where to look first.
 * Advice on how to name steps would not help. Inside render/findings. Test: tests/unit/test_failed.c */
#ifndef RENDER_FINDINGS_FAILED_H
#define RENDER_FINDINGS_FAILED_H

#include "render/findings/stepless.h"

/** is_failed - it ended badly before any of its steps was recorded, and it is known how. */
int is_failed(const struct run_result *r);
/** say_failed - what ended the run, where, and after how long.
 *  returns  0: it has steps or epochs, ended well, or its end is unknown; nothing is written */
int say_failed(struct report *rep, const struct run_result *r, struct said *out);
/** phrase_of_early_end - "The run ended early: signal 9 (Killed) ended rank 1."; none for a run without steps
 * and for a run that is not known to have ended badly. */
struct phrase phrase_of_early_end(struct report *rep, const struct run_result *r);
/** say_stopped - replaces what is said of a run that was told to end when it had made no step for long: its steps until
 *  then do not explain that.
 *  returns  0: it is no such run; nothing is written */
int say_stopped(struct report *rep, struct run_result *r);
/** is_crashed - did a signal end it after steps were recorded, or perhaps a signal, or did it break off inside a range?
 * Or was it told to end when it made no steps any more? The first action is then to find out why. */
int is_crashed(const struct run_result *r);
/** advise_failed - what to look at first; only of a run that is_failed or is_crashed.
 *  is_long  gets 1 if it lasted long enough for steps without names */
struct stepless_advice advise_failed(struct report *rep, const struct run_result *r, int *is_long);

#endif
