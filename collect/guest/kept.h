/* kept.h - what the collector said in the environment, kept from the moment of loading: a program may clear its
 * environment, or write over it (setproctitle), or change its root, before it names its first range. */
#ifndef DCC_INJECT_KEPT_H
#define DCC_INJECT_KEPT_H

/** kept_begin - at load, before the program runs. */
void kept_begin(void);
/** kept_env - the variable's value now, else that at load when the program has lost its whole environment since (a
 *  single variable that it took out is respected). NULL: none. Only the variables listed in kept.c */
const char *kept_env(const char *name);
/** kept_hold_spool - the program is about to change its root: the spool folder is held open. */
void kept_hold_spool(void);
/** kept_spool - descriptor of the spool folder of that name, for openat(). The caller closes it.
 *  returns  -1: there is none */
int kept_spool(const char *spool);
/** kept_move_high - out of the way of programs that count on getting 3, 4, 5 ...; gives the number that counts now */
int kept_move_high(int fd);

#endif
