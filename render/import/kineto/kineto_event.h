/* kineto_event.h - one event of a Chrome trace. Inside render/import only. */
#ifndef RENDER_IMPORT_KINETO_KINETO_EVENT_H
#define RENDER_IMPORT_KINETO_KINETO_EVENT_H

#include "render/device/activity.h"
#include "render/import/text/json_index.h"
#include "render/import/kineto/kineto_pairs.h"
#include "render/model/foreign.h"

enum { KNOWN_CALLS = 64, KNOWN_CALL_BYTES = 56, THREAD_BYTES = 24 };

struct kineto_sink {
    struct activity *activity;
    struct foreign_trace *trace;
    struct kineto_pairs *pairs;
    struct dcr_arena *arena;        /* of the trace */
    const struct json_index *index; /* of the text that the events lie in */
    char text[16384];               /* an unescaped name */
    /* Kinds of calls found so far, by a hash of their names: there are few of them. Empty: len 0. */
    struct known_call {
        size_t len;
        enum call_kind kind;
        char name[KNOWN_CALL_BYTES];
    } calls[KNOWN_CALLS];
    /* Successive events are often of one thread: its text, process before thread, and its number. */
    size_t pid_len, tid_len;
    char pid[THREAD_BYTES], tid[THREAD_BYTES];
    int64_t thread;
};

/** kineto_event - read the event that begins at p ('{').
 *  e        filled; borrows the text
 *  x        of the stretch that p is in; WINDOW_PAD readable bytes follow that
 *  wrong    set to the place that is not JSON, else left alone
 *  returns  the place after the event; NULL when the stretch ends first or *wrong is set (e is of no use) */
const char *kineto_event(struct kineto_raw *e, const struct json_index *x, const char *p, const char **wrong);
/** kineto_add - one event whose fields are known, into the sums. */
void kineto_add(struct kineto_sink *k, const struct kineto_raw *e);

#endif
