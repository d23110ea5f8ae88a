/* changes_said.h - what changed by name, in sentences. Test: tests/unit/test_changes.c */
#ifndef RENDER_FINDINGS_CHANGES_SAID_H
#define RENDER_FINDINGS_CHANGES_SAID_H

#include "render/metrics/changes.h"

/** narrate_changes - rep->changes->said. Where no steps were compared it becomes the report's headline.
 *  Needs rep->changes; NULL does nothing. */
void narrate_changes(struct report *rep);

/** changes_are_unequal - did both sides do steps, but not of as many samples in all? Sums then show how much was done
 * and not what changed. */
int changes_are_unequal(const struct changes *c);

/** said_no_changes - why nothing was compared by name; PHRASE_NONE: something was, or rep->no_comparison says it. */
struct phrase said_no_changes(const struct report *rep);

#endif
