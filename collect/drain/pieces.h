/* pieces.h - a trace on disk that keeps its newest events. It is written in pieces of equal size, each a file that
 * can be read by itself. The oldest is removed when there are too many. The newest piece is <trace>, older ones are
 * <trace>.1, <trace>.2 ... A trace in an archive is all its pieces in a row (docs/FORMAT.md, Pieces). Before the
 * first one is removed, a process starts that sums up all of them (follow.h). */
#ifndef COLLECT_PIECES_H
#define COLLECT_PIECES_H

#include "collect/drain/follow.h"
#include "collect/guest/segment.h"

#include <limits.h>

/* How much of a trace is kept. */
struct bounds {
    int64_t max_bytes; /* per trace of a process; 0 = no limit */
    int n_pieces;      /* 0: one piece, which is full at max_bytes; else the number of pieces kept */
};

struct pieces {
    struct bounds bounds;
    struct segment *segment;       /* borrows */
    struct segment_process *entry; /* borrows; gets a copy of n_old and n_removed, for drain_rescue */
    uint32_t n_old, n_removed;     /* number of earlier pieces, and how many of them were removed */
    char path[PATH_MAX], name[64]; /* path of the newest piece; its name in an archive */
    struct follow *follow;         /* NULL = no piece has been removed */
    int is_lost;                   /* pieces were removed without being summed up */
};

/** pieces_next - the piece of *fd, which is complete on disk, becomes an older one, and *fd an empty new one. Old
 * pieces are removed as the bounds demand. errors   DCR_FAIL: not possible now; nothing has changed */
int pieces_next(struct pieces *p, int *fd, struct dcr_err *err) DCR_MUST_CHECK;
/** pieces_end - the piece of fd was the last one.
 *  list     gets the process that sums the pieces up, if one is needed */
void pieces_end(struct pieces *p, int fd, struct follow **list);

#endif
