/* refuse.h - the end of a program that was started with options it does not take, before it has joined any other rank:
 * whatever launched it, MPI is not asked, so neither a broken MPI nor its way of ending ranks can hide the reason. */
#ifndef TRAINER_REFUSE_H
#define TRAINER_REFUSE_H

/** refuse - say why on standard error, once for all ranks that were started alike, and be ready to exit.
 *
 *  sentence  what is wrong
 *  returns   when the process may exit with its own status. The only rank: at once. Rank 0 of several says it, and
 * gives the others time to come here: a launcher ends those that are on their way with SIGTERM, whose status srun would
 * take for that of the job. The others wait for that SIGTERM, which they survive, and stay silent; when none comes,
 * rank 0 was not refused, and they say it with their number and host. */
void refuse(const char *sentence);

#endif
