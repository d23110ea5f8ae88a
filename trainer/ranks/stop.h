/* stop.h - a request to end early: SIGTERM (a scheduler's time limit) and SIGINT set a flag, the training loop asks
 * the ranks about it once per step and ends all of them after the same one. */
#ifndef TRAINER_RANKS_STOP_H
#define TRAINER_RANKS_STOP_H

/** stop_watch - catch SIGTERM and SIGINT from now on. */
void stop_watch(void);
/** stop_signal - the signal that came, 0 while none did. */
int stop_signal(void);

#endif
