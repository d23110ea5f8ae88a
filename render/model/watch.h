/* watch.h - who wants the single ranges of a run's traces while they are read for their sums, so that they are
 * read once: the timeline. The model keeps what it made of them and does not look into it. */
#ifndef RENDER_MODEL_WATCH_H
#define RENDER_MODEL_WATCH_H

#include "lib/trace/trace.h"

struct activity_watch;

struct run_watch {
    void *(*begin)(void); /* gives; NULL = nothing of this run is wanted */
    /* returns  1: the trace is wanted: its events are handed to w->begin ... end. member: its name in the archive */
    int (*trace)(void *watched, const char *member, struct dct_watch *w);
    void (*free)(void *watched);
    /* Of a trace of another tool, while it is read by any thread. w: filled, to be set for that thread
     * (render/device/watch.h). gives; NULL = not wanted */
    void *(*foreign)(struct activity_watch *w);
    void (*foreign_keep)(void *watched, void *foreign, const char *file); /* it was read: takes foreign */
    void (*foreign_free)(void *foreign);                                  /* it was not */
};

/** run_watch - from now on of every new run; NULL: nobody. borrows until the next call */
void run_watch(const struct run_watch *w);
/** run_watched_by - who that is now. */
const struct run_watch *run_watched_by(void);

#endif
