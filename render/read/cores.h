/* cores.h - the number of threads that may read at once. Inside render/read only. */
#ifndef RENDER_READ_CORES_H
#define RENDER_READ_CORES_H

enum { CORES_MAX = 16 };

/** cores_free - cores that this thread may use, itself included: those of the process (lib/base/cores.h), unless it
 * shares them. */
int cores_free(void);
/** cores_share - this thread shares the cores with others: cores_free is n from now on. */
void cores_share(int n);

#endif
