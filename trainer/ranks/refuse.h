/* refuse.h - the end of a program that was started with options it does not take, before it has joined any other rank:
 * whatever launched it, MPI is not asked, so neither a broken MPI nor its way of ending ranks can hide the reason. */
#ifndef TRAINER_RANKS_REFUSE_H
#define TRAINER_RANKS_REFUSE_H

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

#endif
