/* watch.h - who wants the single ranges of a run's native traces while they are read for their sums, so that they are
 * read once: the timeline. The model keeps what it made of them and does not look into it. */
#ifndef RENDER_MODEL_WATCH_H
#define RENDER_MODEL_WATCH_H

#include "lib/trace.h"

struct run_watch {
    void *(*begin)(void); /* gives; NULL = nothing of this run is wanted */
    /* returns  1: the trace is wanted: its events are handed to w->begin ... end. member: its name in the archive */
    int (*trace)(void *watched, const char *member, struct dct_watch *w);
    void (*free)(void *watched);
};

/** run_watch - from now on of every new run; NULL: nobody. borrows until the next call */
void run_watch(const struct run_watch *w);

#endif
