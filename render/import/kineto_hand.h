/* kineto_hand.h - batches of events on their way from the thread that reads a Chrome trace to the one that adds them
 * up: a few of them go round, so that the reader is never far ahead. Each holds the stretch of text that its events lie
 * in. Inside render/import only. Test: tests/unit/test_kineto.c; with SANITIZE=thread too */
#ifndef RENDER_IMPORT_KINETO_HAND_H
#define RENDER_IMPORT_KINETO_HAND_H

#include "render/import/json_index.h"
#include "render/import/kineto_pairs.h"

enum { BATCH_EVENTS = 4096 };

struct kineto_batch {
    char *data; /* the text, WINDOW_PAD bytes behind; NULL = none yet */
    size_t cap;
    struct json_index index; /* of it */
    struct kineto_raw *events;
    size_t n; /* 0 when the reader gets it */
};

struct kineto_hand;

/** kineto_hand_new - gives; free with kineto_hand_free. NULL: out of memory */
struct kineto_hand *kineto_hand_new(void);
/** kineto_hand_first - the reader's first batch.
 *  kineto_hand_on     what the reader has is full: the next one to fill; waits until there is one
 *  kineto_hand_end    what the reader has was the last */
struct kineto_batch *kineto_hand_first(struct kineto_hand *h);
struct kineto_batch *kineto_hand_on(struct kineto_hand *h);
void kineto_hand_end(struct kineto_hand *h);
/** kineto_hand_take - the next full batch, in order; waits. The one before is the reader's again. NULL: that was all */
const struct kineto_batch *kineto_hand_take(struct kineto_hand *h);
void kineto_hand_free(struct kineto_hand *h);

#endif
