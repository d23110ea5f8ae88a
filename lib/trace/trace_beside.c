/* trace_beside.c - see trace_beside.h. Test: tests/unit/test_trace_beside.c */
#include "lib/trace/trace_beside.h"

#include "lib/base/cores.h"
#include "lib/trace/trace_chunks.h"
#include "lib/trace/trace_inside.h"

#include <pthread.h>
#include <stdlib.h>

struct dct_beside {
    struct dct_chunks *chunks; /* the caller's */
    struct dct_reader *twin;   /* the caller's reader: the twin reads the same blocks but has separate state */
    const struct dct_watch *watch;
    pthread_t thread;
};

static void *look_on(void *ctx)
{
    struct dct_beside *b = ctx;
    struct dct_event e;
    int is_enough = 0;
    while (!is_enough && dct_next(b->twin, &e, NULL) == DCR_OK) /* the caller meets the same failure and reports it */
        is_enough = b->watch->event(b->watch->ctx, &e);
    dct_chunks_leave(b->chunks, 1);
    return NULL;
}

static void release(struct dct_beside *b)
{
    dct_close(b->twin);
    dcr_cores_work(-1);
}

struct dct_beside *dct_beside_start(struct dct_reader *r, const struct dct_watch *w)
{
    struct dct_beside *b = NULL;
    r->chunks = dct_chunks_new(r->s, r->block_bytes);
    if (r->chunks && dct_chunks_ahead(r->chunks) && dcr_cores_spare()) {
        struct dct_reader *twin = dct_reader_new();
        *twin = (struct dct_reader){.arena = twin->arena,
                                    .s = r->s,
                                    .block_bytes = r->block_bytes,
                                    .chunks = r->chunks,
                                    .side = 1,
                                    .is_cut = r->is_cut,
                                    .leave_out = w->leave_out,
                                    .notes = {.max = r->notes.max},
                                    .last_ns = r->last_ns,
                                    .loss = r->loss,
                                    .dropped_without_block = r->dropped_without_block};
        b = dcr_arena_alloc(&twin->arena, sizeof *b);
        *b = (struct dct_beside){.chunks = r->chunks, .twin = twin, .watch = w};
        if (pthread_create(&b->thread, NULL, look_on, b) != 0) {
            release(b);
            b = NULL;
        }
    }
    if (r->chunks && !b)
        dct_chunks_leave(r->chunks, 1);
    return b;
}

void dct_beside_end(struct dct_beside *b)
{
    if (!b)
        return;
    dct_chunks_leave(b->chunks, 0); /* if the caller stopped early, the other thread must not wait for room */
    pthread_join(b->thread, NULL);
    b->watch->end(b->watch->ctx, b->twin);
    release(b);
}
