/* changes_said.h - what changed by name, in sentences. Test: tests/unit/test_changes.c */
#ifndef RENDER_FINDINGS_CHANGES_SAID_H
#define RENDER_FINDINGS_CHANGES_SAID_H

#include "render/metrics/changes.h"

/** narrate_changes - rep->changes->said. Where no steps were compared it becomes the report's headline.
 *  Needs rep->changes; NULL does nothing. */
void narrate_changes(struct report *rep);

#endif
