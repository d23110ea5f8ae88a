/* tracefile_inside.h - the trace of a process on disk from inside: tracefile_open.c begins one, tracefile.c writes it.
 */
#ifndef COLLECT_TRACEFILE_INSIDE_H
#define COLLECT_TRACEFILE_INSIDE_H

#include "collect/drain/tracefile.h"

#include "lib/base/map.h"

enum { BATCH = 64, B = SEGMENT_BLOCK_BYTES, KEPT_FOR_SUMS = 4 };

struct tracefile {
    const struct segment *s;
    struct segment_process *entry;
    struct pieces pieces;
    int fd;
    uint64_t n_positions;   /* blocks in the file, including the header's and those of definitions */
    uint64_t max_positions; /* per piece */
    int has_tail;           /* copies follow after them */
    uint32_t *serials;      /* serials of the processes whose definitions apply */
    uint32_t n_serials;
    uint64_t *names; /* a bit per name: defined in the file */
    uint64_t domains[SEGMENT_DOMAINS / 64];
    uint32_t n_said; /* number of definitions in the segment that were looked at */
    int64_t stalled_ns;
    struct dcr_map track_of;
    uint64_t *next; /* by track: the number of its next block */
    uint32_t n_tracks, cap_tracks;
    unsigned char definitions[B];
    uint64_t definitions_at, n_definitions; /* definitions_at 0: no block of definitions yet */
    int is_dirty;                           /* the block of definitions must be written */
    int is_note_said;
    unsigned char *batch;
    uint32_t n_batch, put[BATCH]; /* track of each block in the batch */
    int is_copying, is_ending, may_exceed;
    uint32_t n_resumed; /* number of tracks that were in the file when it was resumed */
};

/** tracefile_index - index of a thread's number in the file.                returns  UINT32_MAX: no memory */
uint32_t tracefile_index(struct tracefile *t, uint32_t track);
void tracefile_release(struct tracefile *t);

#endif
