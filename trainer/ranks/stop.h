/* stop.h - the early end of a run. A signal that asks for it: the training loop asks the ranks about it once per step
 * and ends all of them after the same one. It also ends runs with wrong options, before any other rank is joined. MPI
 * is not used for it, whatever launched the program, so neither a broken MPI nor its way of ending ranks can hide the
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
 *  returns   when the process may exit with its own status. The only rank: at once. Rank 0 of several prints it, and
 * gives the others time to come here. A launcher would end those that are on their way with SIGTERM, and srun would
 * take its status for that of the job. The others wait for that SIGTERM, which they survive, and stay silent. If
 * rank 0 was not refused, they print it with their number and host. On rank 0's machine they do so at once, because
 * rank 0 tells them, elsewhere when no SIGTERM has come for 8 s. */
void refuse(const char *sentence);

/** refuse_none - this process's options were taken, and it goes on: rank 0 tells the others on its machine. */
void refuse_none(void);

/* What rank 0 tells the other ranks on its machine before MPI is joined. The message is the name of a socket, which
 * ends with the process, so nothing is left behind. */
enum verdict {
    VERDICT_NONE, /* rank 0 is not running yet, or on another machine, or the launcher gave the job no name */
    VERDICT_TAKEN,
    VERDICT_REFUSED,
};

/** verdict_tell - publishes the verdict of rank 0, until this process ends. If that fails, the other ranks get
 *  VERDICT_NONE. */
void verdict_tell(enum verdict v);
/** verdict_of_rank_0 - what rank 0 of this process's job has told so far on this machine. */
enum verdict verdict_of_rank_0(void);

#endif
