/* trace_chunks.c - see trace_chunks.h. Test: tests/unit/test_trace_beside.c */
#include "lib/trace/trace_chunks.h"

#include "lib/trace/trace_inside.h"

#include <pthread.h>
#include <stdlib.h>

/* A chunk is so long that its lock costs little. It is so short that data read by one core are still in a cache when
 * both cores decode them. */
enum { CHUNK_BYTES = 256 << 10, N_CHUNKS = 8, N_AHEAD = 4, MAX_BLOCKS = CHUNK_BYTES / 4096 };

struct chunk {
    unsigned char *bytes;
    uint32_t n; /* blocks */
    struct {
        uint32_t n_bytes;
        int sum_is_right;
    } blocks[MAX_BLOCKS];
};

struct dct_chunks {
    struct dcr_stream *s;
    uint32_t block_bytes, n_per_chunk;
    unsigned char *bytes; /* of all chunks */
    struct chunk ring[N_CHUNKS];
    pthread_mutex_t lock; /* guards the members below, except next_block */
    pthread_cond_t changed;
    int64_t n_read; /* chunks */
    int is_reading, is_ended, rc;
    struct dcr_err err;
    struct {
        int64_t chunk; /* being decoded, -1 none so far; earlier chunks are finished */
        uint32_t next_block;
    } sides[2];
};

struct dct_chunks *dct_chunks_new(struct dcr_stream *s, uint32_t block_bytes)
{
    struct dct_chunks *c = block_bytes <= CHUNK_BYTES ? calloc(1, sizeof *c) : NULL;
    if (!c || !(c->bytes = malloc((size_t)N_CHUNKS * CHUNK_BYTES))) {
        free(c);
        return NULL;
    }
    c->s = s;
    c->block_bytes = block_bytes;
    c->n_per_chunk = CHUNK_BYTES / block_bytes;
    for (int i = 0; i < N_CHUNKS; i++)
        c->ring[i].bytes = c->bytes + (size_t)i * CHUNK_BYTES;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    c->sides[0].chunk = c->sides[1].chunk = -1;
    return c;
}

void dct_chunks_free(struct dct_chunks *c)
{
    if (!c)
        return;
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c->bytes);
    free(c);
}

void dct_chunks_leave(struct dct_chunks *c, int side)
{
    pthread_mutex_lock(&c->lock);
    c->sides[side].chunk = INT64_MAX;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

/* Reads block by block, so that the blocks before a failure can be used.                           returns  0: there
 * may be more */
static int fill(struct dct_chunks *c, struct chunk *k, int *is_ended, struct dcr_err *err)
{
    for (k->n = 0; k->n < c->n_per_chunk && !*is_ended; k->n++) {
        unsigned char *block = k->bytes + (size_t)k->n * c->block_bytes;
        ssize_t n = dcr_stream_read_full(c->s, block, c->block_bytes, err);
        *is_ended = n < (ssize_t)c->block_bytes;
        if (n <= 0)
            return (int)n;
        k->blocks[k->n].n_bytes = (uint32_t)n;
        k->blocks[k->n].sum_is_right = dct_sum_is_right(block, (size_t)n);
    }
    return 0;
}

/* The lock is held before and after reading, but not during it. */
static void read_locked(struct dct_chunks *c)
{
    struct dcr_err err = {0};
    int is_ended = 0;
    c->is_reading = 1;
    pthread_mutex_unlock(&c->lock);
    int rc = fill(c, &c->ring[c->n_read % N_CHUNKS], &is_ended, &err); /* only the reading thread changes n_read */
    pthread_mutex_lock(&c->lock);
    c->is_reading = 0;
    c->n_read++;
    c->is_ended = is_ended;
    c->rc = rc;
    c->err = err;
    pthread_cond_broadcast(&c->changed);
}

int dct_chunks_ahead(struct dct_chunks *c)
{
    pthread_mutex_lock(&c->lock);
    while (c->n_read < N_AHEAD && !c->is_ended)
        read_locked(c);
    int is_more = !c->is_ended;
    pthread_mutex_unlock(&c->lock);
    return is_more;
}

/* Chunks that some side has not finished. */
static int64_t n_kept(const struct dct_chunks *c)
{
    int64_t a = c->sides[0].chunk, b = c->sides[1].chunk;
    return c->n_read - (a < b ? a : b);
}

/* The side goes on to its next chunk.                                                          returns  0: at the
 * end */
static int go_on(struct dct_chunks *c, int side)
{
    pthread_mutex_lock(&c->lock);
    int64_t at = ++c->sides[side].chunk;
    c->sides[side].next_block = 0;
    if (n_kept(c) <= N_CHUNKS / 2) /* a side that waits for room gets several chunks at once, so that it sleeps less
                                    * often */
        pthread_cond_broadcast(&c->changed);
    while (at >= c->n_read && !c->is_ended)
        if (c->is_reading || n_kept(c) >= N_CHUNKS)
            pthread_cond_wait(&c->changed, &c->lock);
        else
            read_locked(c);
    int is_there = at < c->n_read;
    pthread_mutex_unlock(&c->lock);
    return is_there;
}

ssize_t dct_chunks_take(struct dct_chunks *c, int side, const unsigned char **block, int *sum_is_right,
                        struct dcr_err *err)
{
    for (;;) {
        int64_t at = c->sides[side].chunk;
        struct chunk *k = &c->ring[(at < 0 ? 0 : at) % N_CHUNKS];
        if (at >= 0 && c->sides[side].next_block < k->n) {
            uint32_t i = c->sides[side].next_block++;
            *block = k->bytes + (size_t)i * c->block_bytes;
            *sum_is_right = k->blocks[i].sum_is_right;
            return k->blocks[i].n_bytes;
        }
        if (!go_on(c, side)) {
            if (c->rc && err)
                *err = c->err;
            return c->rc;
        }
    }
}
