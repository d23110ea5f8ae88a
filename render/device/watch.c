/* watch.c - see watch.h. */
#include "render/device/watch.h"

static _Thread_local const struct activity_watch *watcher;

void activity_watch(const struct activity_watch *w)
{
    watcher = w;
}

const struct activity_watch *activity_watcher(void)
{
    return watcher;
}
