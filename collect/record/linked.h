/* linked.h - the kinds of programs in a command line: launchers of ranks, programs linked with MPI. */
#ifndef COLLECT_LINKED_H
#define COLLECT_LINKED_H

/** linked_is_launcher - mpirun, srun and the like. */
int linked_is_launcher(const char *program);
/** linked_n_ranks - number of ranks that the options of a launcher give (-n, -np, --ntasks), before the program's own.
 *  words    the launcher and what follows
 *  returns  0: not known, also when there are several programs (":") */
int linked_n_ranks(char *const *words, int n_words);
/** linked_statically - the first program among the words into which no library can be loaded; NULL none. */
const char *linked_statically(char *const *words, int n_words);
/** linked_changes_user - the first word, or path among the others, that runs as another user or group than its caller
 * (sudo); NULL none. */
const char *linked_changes_user(char *const *words, int n_words);
/** linked_with_mpi - 1 when a program among the words is linked with an MPI, or when this is unknown, because a
 * script or an interpreter may start anything. The loader is asked how it resolves the libraries, and no code of the
 * program runs. Without MPI the loaded library does nothing. */
int linked_with_mpi(char *const *words, int n_words);

#endif
