/* pieces.h - a trace on disk that keeps its newest events: it is written in pieces of equal size, each a file that can
 * be read by itself, and the oldest is removed when there are too many. The newest is <trace>, those before are
 * <trace>.1, <trace>.2 ... A trace in an archive is all its pieces in a row (docs/FORMAT.md, Pieces). Before the first
 * one is removed, a process starts that sums up all of them (follow.h). */
#ifndef COLLECT_PIECES_H
#define COLLECT_PIECES_H

#include "collect/drain/follow.h"
#include "collect/guest/segment.h"

#include <limits.h>

/* What stays of a trace. */
struct bounds {
    int64_t max_bytes; /* of the trace of a process; 0 = no limit */
    int n_pieces;      /* 0: one piece, which is full at max_bytes; else so many at a time */
};

struct pieces {
    struct bounds bounds;
    struct segment *segment;       /* borrows */
    struct segment_process *entry; /* borrows; gets a copy of the next two, for drain_rescue */
    uint32_t n_old, n_removed;     /* earlier pieces, and how many of them are gone */
    char path[PATH_MAX], name[64]; /* of the newest; its name in an archive */
    struct follow *follow;         /* NULL = none has been removed */
    int is_lost;                   /* they were removed without being summed */
};

/** pieces_next - the piece of *fd, which is complete on disk, becomes an older one, and *fd an empty new one; older
 * ones are removed as the bounds say. errors   DCR_FAIL: not now; all is as it was */
int pieces_next(struct pieces *p, int *fd, struct dcr_err *err) DCR_MUST_CHECK;
/** pieces_end - the piece of fd was the last one.
 *  returns  gives; who sums them up: NULL = nobody has to */
struct follow *pieces_end(struct pieces *p, int fd);

#endif
