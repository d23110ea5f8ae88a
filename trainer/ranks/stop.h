/* stop.h - the early end of a run. A signal that asks for it: the training loop asks the ranks about it once per step
 * and ends all of them after the same one. And options that are not taken, found before any other rank is joined:
 * whatever launched the program, MPI is not asked, so neither a broken MPI nor its way of ending ranks can hide the
 * reason. */
#ifndef TRAINER_RANKS_STOP_H
#define TRAINER_RANKS_STOP_H

/** stop_watch - catch SIGTERM (a scheduler's time limit) and SIGINT from now on. */
void stop_watch(void);
/** stop_signal - the signal that came, 0 while none did. */
int stop_signal(void);

/** refuse - say why on standard error, once for all ranks that were started alike, and be ready to exit.
 *
 *  sentence  what is wrong
 *  returns   when the process may exit with its own status. The only rank: at once. Rank 0 of several says it, and
 * gives the others time to come here: a launcher ends those that are on their way with SIGTERM, whose status srun would
 * take for that of the job. The others wait for that SIGTERM, which they survive, and stay silent. Where rank 0 was not
 * refused they say it with their number and host: at once on rank 0's machine, which lets them know, elsewhere when no
 * SIGTERM has come for 8 s. */
void refuse(const char *sentence);

/** refuse_none - this process's options were taken, and it goes on: rank 0 lets the others of its machine know. */
void refuse_none(void);

/* What rank 0 lets the other ranks of its machine know before MPI is joined. It stands in a socket's name, which ends
 * with the process: nothing is written, nothing is left behind. */
enum verdict {
    VERDICT_NONE, /* rank 0 is not there yet, on another machine, or the launcher gave the job no name */
    VERDICT_TAKEN,
    VERDICT_REFUSED,
};

/** verdict_tell - of rank 0, until this process ends. Where it cannot be told, nobody learns of it. */
void verdict_tell(enum verdict v);
/** verdict_of_rank_0 - what rank 0 of this process's job has told so far on this machine. */
enum verdict verdict_of_rank_0(void);

#endif
