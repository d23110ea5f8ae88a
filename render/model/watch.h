/* watch.h - hands the single ranges of a run's traces to the timeline while they are read for their sums, so that they
 * are read only once. The model keeps the timeline's result without looking into it. */
#ifndef RENDER_MODEL_WATCH_H
#define RENDER_MODEL_WATCH_H

#include "lib/trace/trace.h"

struct activity_watch;

struct run_watch {
    void *(*begin)(void); /* gives; NULL = nothing of this run is wanted */
    /* returns  1: the trace is wanted: its events are handed to w->begin ... end. member: its name in the archive */
    int (*trace)(void *watched, const char *member, struct dct_watch *w);
    void (*free)(void *watched);
    /* For a trace of another tool, while any thread reads it. w: filled, to be set for that thread
     * (render/device/watch.h). gives; NULL = not wanted */
    void *(*foreign)(struct activity_watch *w);
    void (*foreign_keep)(void *watched, void *foreign, const char *file); /* the trace was read: takes foreign */
    void (*foreign_free)(void *foreign);                                  /* the trace could not be read */
};

/** run_watch - sets the watcher of every new run from now on; NULL: none. borrows until the next call */
void run_watch(const struct run_watch *w);
/** run_watched_by - the watcher that is set now. */
const struct run_watch *run_watched_by(void);

#endif
