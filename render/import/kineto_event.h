/* kineto_event.h - one event of a Chrome trace. Inside render/import only. */
#ifndef RENDER_IMPORT_KINETO_EVENT_H
#define RENDER_IMPORT_KINETO_EVENT_H

#include "render/device/activity.h"
#include "render/import/kineto_pairs.h"
#include "render/model/foreign.h"

struct kineto_sink {
    struct activity *activity;
    struct foreign_trace *trace;
    struct kineto_pairs *pairs;
    char text[16384]; /* an unescaped name */
    char call[64];    /* the name of the last call of the runtime */
    size_t call_len;
    enum call_kind call_kind;
};

/** kineto_event - read the event that begins at p ('{') and add it to the sink.
 *  end      of the window; WINDOW_PAD readable bytes follow
 *  wrong    set to the place that is not JSON, else left alone
 *  returns  behind the event; NULL when the window ends first (nothing was added) or *wrong is set */
const char *kineto_event(struct kineto_sink *k, const char *p, const char *end, const char **wrong);

#endif
