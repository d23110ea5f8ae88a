/* maps.h - what this process has mapped, asked of the kernel: no lock of the loader is taken, which another thread may
 * hold, or may have held when this process was forked. */
#ifndef DCC_INJECT_MAPS_H
#define DCC_INJECT_MAPS_H

#include <stddef.h>
#include <stdint.h>

struct mapping {
    uintptr_t begin, end;
    int may_write, may_run;
    uint64_t device, inode; /* of the file; 0: none */
    const char *path;       /* not terminated, valid during the call; NULL: none */
    size_t path_length;
};

/** maps_each - take(ctx, m) for every mapping, by address, until it returns not 0. By system calls and with 4 KiB on
 *  the stack, so that it can be called anywhere; mappings with longer lines are skipped.
 *  returns  the last return value of take; -1: the mappings cannot be read */
int maps_each(int (*take)(void *ctx, const struct mapping *m), void *ctx);

#endif
