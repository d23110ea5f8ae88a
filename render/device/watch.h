/* watch.h - who wants single operations of a trace: the timeline.
 *
 * While somebody watches, a struct activity hands on what importers give it, and makes its sums as well (is_beside). Or
 * that is all, and its results are empty: the file is read again, since the timelines of all runs together did not fit
 * into memory the first time. One watcher at a time of each thread: importers need not know. */
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

/** activity_watch - from now on; NULL: nobody. borrows until the next call. Test: tests/unit/test_timeline.c */
void activity_watch(const struct activity_watch *w);
/** activity_watcher - inside render/device. returns  NULL: nobody */
const struct activity_watch *activity_watcher(void);

#endif
