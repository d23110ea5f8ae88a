/* scenario_inside.h - what reading a scenario and running it share. Inside scenario*.c only. */
#ifndef TRAINER_SCENARIOS_SCENARIO_INSIDE_H
#define TRAINER_SCENARIOS_SCENARIO_INSIDE_H

#include "trainer/scenarios/scenario.h"

/* The numbers of ranks that a file may say something of: 1, 2, 4. */
extern const int scenario_n_ranks_of[SCENARIO_N_RANKS];

/** scenario_draw_index - which draw has a name of n bytes; -1: none (`seed` is none). */
int scenario_draw_index(const struct scenario *s, const char *name, size_t n);

#endif
