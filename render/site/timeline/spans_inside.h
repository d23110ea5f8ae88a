/* spans_inside.h - what the files that make spans share. Inside render/site/spans*.c only. */
#ifndef RENDER_SITE_TIMELINE_SPANS_INSIDE_H
#define RENDER_SITE_TIMELINE_SPANS_INSIDE_H

#include "render/site/timeline/spans.h"

#define SPANS_DEPTH_MAX 63 /* deepest level of nested ranges; deeper ones are shown there */

struct activity_watch;

/* The part of the SPANS_MAX ranges for all collections that one holder uses. Zero to begin with. */
struct spans_share {
    size_t n;
};
/** spans_hold - sets the holder's number to n.  returns  false: that is too many; give ranges back */
bool spans_hold(struct spans_share *share, size_t n);

/* Ranges of one track being joined. */
struct span_block {
    struct span span; /* name and bytes: of the first range */
    uint64_t n;       /* 0: none */
    int64_t time_ns[N_SPAN_COLOURS];
};
/** spans_join_one - a range, or a block, shorter than least_ns. There must be room for one in s->span. */
void spans_join_one(struct spans *s, const struct span *p);
/** spans_join_room - there are too many: longer ones are joined too, until a quarter of the room is free. */
void spans_join_room(struct spans *s);
/** spans_name - index into s->names. */
uint32_t spans_name(struct spans *s, const char *domain, const char *category, const char *name);
/** spans_sort - by row, then start; equal ones keep their order. */
void spans_sort(struct spans *s, size_t n_rows);
/** spans_add_block - a block of another struct spans; track from spans_track. */
void spans_add_block(struct spans *s, size_t track, const struct span *p);

/** spans_knows - is it a trace of the run? */
bool spans_knows(const struct run *run, const char *file);
/** spans_foreign_begin, spans_foreign_free - for one trace, as in struct run_watch. */
void *spans_foreign_begin(struct activity_watch *w);
void spans_foreign_free(void *foreign);
/** spans_foreign_keep - adds the ranges collected for a file to s; takes foreign.
 *  returns  false: they were not collected, or not all of them */
bool spans_foreign_keep(struct spans *s, void *foreign, const char *file);
/** spans_foreign_place - sets the ranks of kept ranges; part of spans_place. */
void spans_foreign_place(struct spans *s, const struct run *run);

#endif
