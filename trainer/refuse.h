/* refuse.h - the end of a program that was started with options it does not take, before it has joined any other rank:
 * whatever launched it, MPI is not asked, so neither a broken MPI nor its way of ending ranks can hide the reason. */
#ifndef TRAINER_REFUSE_H
#define TRAINER_REFUSE_H

/** refuse - say why on standard error, once for all ranks that were started alike, and be ready to exit.
 *
 *  sentence  what is wrong
 *  returns   when the process may exit with its own status: at once on rank 0 and without a launcher. Another rank
 * waits for a moment: where rank 0 was refused too, the launcher ends the others with SIGTERM, and they stay silent
 *            (and still exit with their own status); where it was not, this rank says it, with its number and host. */
void refuse(const char *sentence);

#endif
