/* mapped.h - which shared objects this process has mapped, into the spool: a process may live for less than a sample of
 * the monitor. Once at load, and once more at exit(), but in no forked child. Equal lists, of a process or of several,
 * share a file, whose name is of its content: DCR_LIBRARIES_PREFIX, a path a line. No event of a trace waits for it. */
#ifndef DCC_INJECT_MAPPED_H
#define DCC_INJECT_MAPPED_H

/** mapped_begin - at load, when something is recorded: the list that the program begins with. */
void mapped_begin(void);

#endif
