/* verdict.h - what rank 0 lets the other ranks of its machine know before MPI is joined: whether its options were
 * taken. It stands in a socket's name, which ends with the process: nothing is written, nothing is left behind. */
#ifndef TRAINER_RANKS_VERDICT_H
#define TRAINER_RANKS_VERDICT_H

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
