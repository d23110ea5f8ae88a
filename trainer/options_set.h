/* options_set.h - what a single option of the command line does to struct options. Called by options.c, which knows the
 * words and what only all of them together say. */
#ifndef TRAINER_OPTIONS_SET_H
#define TRAINER_OPTIONS_SET_H

#include "trainer/option_list.h"
#include "trainer/options.h"

enum option_id {
    OPT_BASE = 255,
#define X(id, name, argument, help) id,
    OPTIONS(X)
#undef X
};

/** options_set - one option.
 *  id       which; in the order of option_list.h, so that a section is a range
 *  name     without dashes, for the sentence; arg: its value, NULL where it takes none; borrows as long as o lives
 *  errors   DCR_FAIL: the value is none that the option takes */
int options_set(struct options *o, int id, const char *name, const char *arg, struct dcr_err *err) DCR_MUST_CHECK;
/** options_is_scenario - does it say which scenario, and how? */
int options_is_scenario(int id);

#endif
