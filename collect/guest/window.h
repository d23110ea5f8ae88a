/* window.h - the part of a run that is recorded: `dccollect run --steps A:B --delay S --duration S --capture-range
 * ...`, passed on in the environment. Outside the window events are neither written nor counted as dropped. Several
 * conditions must hold together. The state belongs to the process: one thread's step opens the window for all
 * threads. */
#ifndef DCC_INJECT_WINDOW_H
#define DCC_INJECT_WINDOW_H

#include <stdint.h>

/* The meaning of a name, found once when the name is new. */
enum { WINDOW_NAME_STEP = 1, WINDOW_NAME_CAPTURE = 2, WINDOW_NAME_EPOCH = 4, WINDOW_NAME_BATCH = 8 };

/* The ranges of a track whose end closes the window again: the outermost of each kind. */
struct window_track {
    int32_t step_level, capture_level; /* level + 1 within its domain; 0 = none open */
    uint32_t step_domain, capture_domain;
    int is_last_step;
    int is_batch; /* the step counts as one only until a step that is not a batch is found */
};

/** window_begin - call at load; reads DCC_FROM_NS, DCC_UNTIL_NS (CLOCK_MONOTONIC), DCC_STEPS (A:B), DCC_CAPTURE
 * (nvtx:NAME or cudaProfilerApi). */
void window_begin(void);
extern int dcc_window_is_used
    __attribute__((visibility("hidden"))); /* 0: everything is recorded, and nothing below needs to be called */

/** window_is_open - is it open for an event at now_ns? */
int window_is_open(int64_t now_ns);
/** window_abandon - a signal handler left this thread by siglongjmp(), perhaps while it was in this code. */
void window_abandon(void);
/** window_forget_others - call in a forked child: threads that were in this code no longer exist. */
void window_forget_others(void);
/** window_part - cut a call that has just ended to its part inside the window: inside the open piece, or else inside
 *  the last one.
 *  returns  0: the call lies outside */
int window_part(int64_t *start_ns, int64_t *end_ns);
/** window_tell - steps or captures may have opened or closed the window, or the process has a new trace: write the
 * times of the window into its header. */
void window_tell(void);
/** window_was_open - was it open for an event at t_ns that is reported later? GPUs report in batches. */
int window_was_open(int64_t t_ns);
unsigned window_name(const char *text);
/** window_category - a category of that number and name was defined. */
void window_category(uint32_t domain, uint32_t category, const char *name);
/** window_is_step_category - returns 0 for other categories; 1 for steps, 2 for batches */
int window_is_step_category(uint32_t domain, uint32_t category);
/** window_push / window_pop - a range of the track opens (before it is recorded) and closes (after).
 *  flags    of its name; category its number; number its payload, -1 = none; level of the range, from 0 */
void window_push(struct window_track *t, uint32_t domain, unsigned flags, uint32_t category, int64_t number, int level);
void window_pop(struct window_track *t, uint32_t domain, int level);
/** window_start / window_end - the same for a process range. */
void window_start(unsigned flags, uint64_t id);
void window_end(uint64_t id);

#endif
