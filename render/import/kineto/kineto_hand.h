/* kineto_hand.h - batches of events on their way from the thread that reads a Chrome trace to the one that adds them
 * up. A few of them are reused in turn, so that the reader is never far ahead. The stretches of text that hold their
 * events are reused in turn too. A stretch serves all batches that its events fill, so that no byte is copied or
 * indexed again for a batch. Inside render/import only. Test: tests/unit/test_kineto_stream.c; with SANITIZE=thread
 * too */
#ifndef RENDER_IMPORT_KINETO_KINETO_HAND_H
#define RENDER_IMPORT_KINETO_KINETO_HAND_H

#include "render/import/text/json_index.h"
#include "render/import/kineto/kineto_pairs.h"

enum { BATCH_EVENTS = 4096 };

/* Text of WINDOW_BYTES, and WINDOW_PAD. The stretch that is being read belongs to the window, which may grow it. */
struct kineto_stretch {
    char *data; /* NULL = none yet, or it belongs to the window */
    struct json_index index;
};

struct kineto_batch {
    const struct json_index *index; /* of the stretch that the events lie in */
    struct kineto_raw *events;
    size_t n; /* 0 when the reader gets it */
};

struct kineto_hand;

/** kineto_hand_new - gives; free with kineto_hand_free. NULL: out of memory */
struct kineto_hand *kineto_hand_new(void);
/** kineto_hand_first - the reader's first batch.
 *  kineto_hand_on     the reader's batch is full: the next one to fill; waits until there is one
 *  kineto_hand_end    the reader's batch was the last */
struct kineto_batch *kineto_hand_first(struct kineto_hand *h);
struct kineto_batch *kineto_hand_on(struct kineto_hand *h);
void kineto_hand_end(struct kineto_hand *h);
/** kineto_hand_stretch - the first stretch, then the next one. Ask for the next one only after a batch of the one
 *  before was handed over. Then it is not in use any more, because there is one for each batch.
 *  kineto_hand_wait       until all that was handed over has been added up */
struct kineto_stretch *kineto_hand_stretch(struct kineto_hand *h);
void kineto_hand_wait(struct kineto_hand *h);
/** kineto_hand_take - the next full batch, in order; waits. Gives the previous batch back to the reader. NULL: there
 *  are no more */
const struct kineto_batch *kineto_hand_take(struct kineto_hand *h);
void kineto_hand_free(struct kineto_hand *h);

#endif
