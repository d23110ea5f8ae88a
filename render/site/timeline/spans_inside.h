/* spans_inside.h - what the files that make spans share. Inside render/site/spans*.c only. */
#ifndef RENDER_SITE_TIMELINE_SPANS_INSIDE_H
#define RENDER_SITE_TIMELINE_SPANS_INSIDE_H

#include "render/site/timeline/spans.h"

#define SPANS_DEPTH_MAX 63 /* of ranges inside ranges; deeper ones stand there */

struct activity_watch;

/* What somebody holds of the SPANS_MAX ranges that all collections together may hold. Zero to begin with. */
struct spans_share {
    size_t n;
};
/** spans_hold - n from now on.  returns  false: that is more than there may be; to be given back */
bool spans_hold(struct spans_share *share, size_t n);

/* Ranges of one track being joined. */
struct span_block {
    struct span span; /* name and bytes: of the first */
    uint64_t n;       /* 0: none */
    int64_t time_ns[N_SPAN_COLOURS];
};
/** spans_join_one - a range, or a block, shorter than least_ns. There must be room for one in s->span. */
void spans_join_one(struct spans *s, const struct span *p);
/** spans_join_room - full: longer ones are joined too, until a quarter of the room is free. */
void spans_join_room(struct spans *s);
/** spans_name - index into s->names. */
uint32_t spans_name(struct spans *s, const char *domain, const char *category, const char *name);
/** spans_sort - by row, then start; what is equal stays in order. */
void spans_sort(struct spans *s, size_t n_rows);
/** spans_add_block - a block of another struct spans; track from spans_track. */
void spans_add_block(struct spans *s, size_t track, const struct span *p);

/** spans_knows - is it a trace that the run was made of? */
bool spans_knows(const struct run *run, const char *file);
/** spans_foreign_begin, spans_foreign_free - of one trace, as struct run_watch has them. */
void *spans_foreign_begin(struct activity_watch *w);
void spans_foreign_free(void *foreign);
/** spans_foreign_keep - what was collected of a file becomes part of s; takes foreign.
 *  returns  false: it was not, or not all of it */
bool spans_foreign_keep(struct spans *s, void *foreign, const char *file);
/** spans_foreign_place - the ranks of what was kept: part of spans_place. */
void spans_foreign_place(struct spans *s, const struct run *run);

#endif
