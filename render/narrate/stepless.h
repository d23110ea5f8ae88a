/* stepless.h - what is said of a run whose steps are not known. Inside render/narrate only. */
#ifndef RENDER_NARRATE_STEPLESS_H
#define RENDER_NARRATE_STEPLESS_H

#include "render/analyse/report.h"

/** say_without_steps - headline and support of such a run: its GPU traces, else the first of its tables and monitors
 *  that has something to say. */
void say_without_steps(struct report *rep, struct run_result *r);

#endif
