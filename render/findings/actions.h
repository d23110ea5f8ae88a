/* actions.h - what can be done about each class of cause: with the options of a known program, and in general. The
 * advice is chosen here; its words are in render/say/advice.def. */
#ifndef RENDER_FINDINGS_ACTIONS_H
#define RENDER_FINDINGS_ACTIONS_H

#include "render/metrics/report.h"

/** action_for - advice about a class for this run. If it needs more cores than the recorded host has, it says so.
 *  `ours` is "" for programs other than dcrnn-train.
 *  returns  its texts live as long as the report. Test: tests/unit/test_cores.c */
struct action action_for(struct report *rep, const struct run_result *r, enum cause_class cls);

/** is_advice_to_measure - is action_for of CLASS_SHARED to measure on cores that nothing else uses? */
int is_advice_to_measure(const struct run_result *r);

/** is_advice_beside_cores - does advice on ranks without a core begin with something else than more cores? Then what
 *  more cores save is not its gain. Test: tests/unit/test_cores.c */
int is_advice_beside_cores(const struct action *a);

/** action_for_scaling - advice where a class limits scaling: if compute does not shrink with more ranks, more work per
 *  rank helps, not more ranks. */
struct action action_for_scaling(struct report *rep, const struct run_result *r, enum cause_class cls);

/** advice_for_unnamed - how to name the unnamed rest of a step, depending on what recorded the run. Test:
 *  tests/unit/test_narrate.c */
struct advised advice_for_unnamed(const struct run_result *r);
/** action_for_unnamed - the same in words, without the full stop.
 *  returns  gives; lives as long as the report */
const char *action_for_unnamed(struct report *rep, const struct run_result *r);
/** advice_words - the words of an advice that names no options of dcrnn-train: PyTorch's words if this may be a run of
 *  PyTorch. returns  sentences; gives; lives as long as the report */
const char *advice_words(struct report *rep, const struct run *r, const struct advised *a);

#endif
