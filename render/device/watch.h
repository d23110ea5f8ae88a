/* watch.h - hands single operations of a trace to the timeline.
 *
 * While a watcher is set, a struct activity hands on the events that importers give it. With is_beside it also makes
 * its sums. Without, its results are empty: the file is read again, because the timelines of all runs together did not
 * fit into memory the first time. Each thread has at most one watcher, and importers need not know of it. */
#ifndef RENDER_DEVICE_WATCH_H
#define RENDER_DEVICE_WATCH_H

#include "render/device/activity.h"

struct activity_watch {
    void *ctx;
    /* An operation of a device. kind as its name decides (OP_COMM for collectives); name is NUL-terminated, and stays
     * until the activity is freed. borrows */
    void (*op)(void *ctx, const struct device_op *op, enum op_kind kind, const char *name);
    /* An operator or a range of the host. thread  any number that tells threads apart */
    void (*host)(void *ctx, int64_t thread, const char *name, size_t len, int64_t start_ns, int64_t dur_ns);
    int is_beside;
};

/** activity_watch - from now on; NULL: stop watching. borrows until the next call. Test: tests/unit/test_timeline.c */
void activity_watch(const struct activity_watch *w);
/** activity_watcher - inside render/device. returns  NULL: no watcher */
const struct activity_watch *activity_watcher(void);

#endif
