/* spool_events.c - see spool.h. Events as slots of a thread's block: every kind, with and without a window. */
#include "collect/guest/spool.h"

#include "collect/guest/file.h"
#include "collect/guest/hot.h"

#include <string.h>

#define DROPPED_RANGE (UINT64_C(1) << 63)
#define UNWANTED_RANGE (UINT64_C(1) << 62) /* began outside the window */

/* Each thread takes this many numbers of process ranges at a time, so that threads do not share a cache line for each
 * range. */
#define RANGE_IDS 1024u

/* Room for n slots; NULL = none, and the drop is counted. since_ns: when the event began; INT64_MAX = now */
static struct dct_slot *room_since(struct spool_track *t, uint32_t n, int64_t since_ns)
{
    if (t->used + n > t->cap && spool_next_block(t) != 0) {
        t->cap = t->used; /* a shorter event might still fit: a pop whose push was dropped */
        spool_count_drop(t);
        spool_incomplete(since_ns);
        return NULL;
    }
    return (struct dct_slot *)(t->block + 1) + t->used;
}

static struct dct_slot *room(struct spool_track *t, uint32_t n)
{
    return room_since(t, n, INT64_MAX);
}

static void done(struct spool_track *t, uint32_t n)
{
    t->used += n;
    __atomic_store_n(&t->block->used_slots, t->used, __ATOMIC_RELEASE);
}

/* Slots behind the head for attr and raw payload. */
static uint32_t extra_of(const struct dct_attr *attr, const void *raw)
{
    return !attr ? 0 : !raw ? 1 : 1 + (uint32_t)((attr->payload + DCT_SLOT_BYTES - 1) / DCT_SLOT_BYTES);
}

static struct dct_slot *put_attr(struct dct_slot *s, const struct dct_attr *attr, const void *raw)
{
    if (!attr)
        return s;
    memcpy(s, attr, sizeof *attr);
    if (!raw)
        return s + 1;
    memcpy(s + 1, raw, attr->payload);
    return s + extra_of(attr, raw);
}

static int64_t number_of(const struct dct_attr *attr)
{
    int type = attr ? (int)(attr->payload_type & 0xff) : DCT_PAYLOAD_NONE;
    return (type == DCT_PAYLOAD_U64 || type == DCT_PAYLOAD_I64) && attr->payload <= INT64_MAX ? (int64_t)attr->payload
                                                                                              : -1;
}

static __attribute__((noinline)) int is_unwanted_push(struct spool_track *t, uint32_t domain, uint32_t name,
                                                      const struct dct_attr *attr, int level)
{
    struct levels *l = &t->level[domain];
    window_push(&t->window, domain, dcc_names.name[name].flags, attr ? attr->category : 0, number_of(attr), level);
    if (window_is_open(spool_track_now(t)) && !l->top)
        return 0;
    if (l->recorded || l->top)
        l->top++;
    else
        l->bottom++;
    return 1;
}

int spool_put_push_raw(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr,
                       const void *raw)
{
    struct levels *l = &t->level[domain];
    int level = l->bottom + l->recorded + l->top;
    if (__builtin_expect(dcc_window_is_used, 0) && is_unwanted_push(t, domain, name, attr, level))
        return level;
    l->recorded++;
    uint32_t n = 1 + extra_of(attr, raw);
    struct dct_slot *s = room(t, n);
    if (!s)
        return level;
    put_attr(s + 1, attr, raw);
    track_head(s, DCT_PUSH, n - 1, domain, name, clock_now_ns(&t->clock));
    done(t, n);
    return level;
}

int spool_put_push(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr)
{
    return spool_put_push_raw(t, domain, name, attr, NULL);
}

/* returns 1 when the pop belongs to a range that is not recorded, or to none outside the window */
static __attribute__((noinline)) int is_unwanted_pop(struct spool_track *t, uint32_t domain, int64_t t_ns)
{
    struct levels *l = &t->level[domain];
    if (l->top)
        l->top--;
    else if (l->recorded)
        return 0;
    else if (l->bottom)
        l->bottom--;
    else
        return !window_is_open(t_ns);
    return 1;
}

int spool_put_pop_raw(struct spool_track *t, uint32_t domain, int64_t t_ns, const struct dct_attr *attr,
                      const void *raw)
{
    struct levels *l = &t->level[domain];
    int level = l->bottom + l->recorded + l->top - 1;
    if (__builtin_expect(dcc_window_is_used, 0) && is_unwanted_pop(t, domain, t_ns)) {
        window_pop(&t->window, domain, level);
        return level;
    }
    if (l->recorded)
        l->recorded--;
    uint32_t n = 1 + extra_of(attr, raw);
    struct dct_slot *s = room(t, n);
    if (s) {
        put_attr(s + 1, attr, raw);
        track_head(s, DCT_POP, n - 1, domain, 0, clock_not_before(&t->clock, t_ns));
        done(t, n);
    }
    if (__builtin_expect(dcc_window_is_used, 0))
        window_pop(&t->window, domain, level);
    return level;
}

int spool_put_pop(struct spool_track *t, uint32_t domain, int64_t t_ns)
{
    return spool_put_pop_raw(t, domain, t_ns, NULL, NULL);
}

uint64_t spool_put_start_raw(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr,
                             const void *raw)
{
    if (t->next_range_id == t->end_range_id) {
        t->next_range_id = __atomic_fetch_add(&file_process()->next_range_id, RANGE_IDS, __ATOMIC_RELAXED);
        t->end_range_id = t->next_range_id + RANGE_IDS;
    }
    uint64_t id = t->next_range_id++;
    if (__builtin_expect(dcc_window_is_used, 0)) {
        window_start(dcc_names.name[name].flags, id);
        if (!window_is_open(spool_track_now(t)))
            return id | UNWANTED_RANGE;
    }
    uint32_t n = 2 + extra_of(attr, raw);
    struct dct_slot *s = room(t, n);
    if (!s)
        return id | DROPPED_RANGE;
    struct dct_slot *next = track_head(s, DCT_START, n - 1, domain, name, 0);
    next = put_attr(next, attr, raw);
    *next = (struct dct_slot){.t_ns = (int64_t)id};
    s->t_ns = clock_now_ns(&t->clock);
    done(t, n);
    return id;
}

uint64_t spool_put_start(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr)
{
    return spool_put_start_raw(t, domain, name, attr, NULL);
}

void spool_put_end_raw(struct spool_track *t, uint32_t domain, uint64_t id, int64_t t_ns, const struct dct_attr *attr,
                       const void *raw)
{
    if (__builtin_expect(dcc_window_is_used, 0))
        window_end(id & ~(UNWANTED_RANGE | DROPPED_RANGE));
    if (id & UNWANTED_RANGE)
        return;
    if (id & DROPPED_RANGE) {
        spool_count_drop(t);
        return;
    }
    uint32_t n = 2 + extra_of(attr, raw);
    struct dct_slot *s = room(t, n);
    if (!s)
        return;
    struct dct_slot *next = track_head(s, DCT_END, n - 1, domain, 0, clock_not_before(&t->clock, t_ns));
    next = put_attr(next, attr, raw);
    *next = (struct dct_slot){.t_ns = (int64_t)id};
    done(t, n);
}

void spool_put_end(struct spool_track *t, uint32_t domain, uint64_t id, int64_t t_ns)
{
    spool_put_end_raw(t, domain, id, t_ns, NULL, NULL);
}

void spool_put_mark_raw(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr,
                        const void *raw)
{
    if (__builtin_expect(dcc_window_is_used, 0) && !window_is_open(spool_track_now(t)))
        return;
    uint32_t n = 1 + extra_of(attr, raw);
    struct dct_slot *s = room(t, n);
    if (!s)
        return;
    put_attr(s + 1, attr, raw);
    track_head(s, DCT_MARK, n - 1, domain, name, clock_now_ns(&t->clock));
    done(t, n);
}

void spool_put_mark(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr)
{
    spool_put_mark_raw(t, domain, name, attr, NULL);
}

void spool_put_span(struct spool_track *t, uint32_t domain, uint32_t name, int64_t start_ns, int64_t end_ns,
                    uint64_t bytes, const struct dct_attr *attr)
{
    if (__builtin_expect(dcc_window_is_used, 0) && !window_part(&start_ns, &end_ns))
        return;
    uint32_t n = attr ? 3 : 2;
    struct dct_slot *s = room_since(t, n, start_ns);
    if (!s)
        return;
    struct dct_span span = {.dur_ns = end_ns > start_ns ? end_ns - start_ns : 0, .bytes = bytes};
    struct dct_slot *next = track_head(s, DCT_SPAN, n - 1, domain, name, start_ns);
    memcpy(next, &span, sizeof span);
    if (attr)
        memcpy(next + 1, attr, sizeof *attr);
    done(t, n);
}

void spool_put_gpu(struct spool_track *t, uint32_t domain, uint32_t name, int64_t start_ns, int64_t end_ns,
                   uint64_t bytes, const struct dct_gpu *gpu, const struct dct_kernel *kernel)
{
    if (__builtin_expect(dcc_window_is_used, 0) && !window_was_open(start_ns))
        return;
    uint32_t n = kernel ? 6 : 4;
    struct dct_slot *s = room_since(t, n, start_ns);
    if (!s)
        return;
    struct dct_span span = {.dur_ns = end_ns > start_ns ? end_ns - start_ns : 0, .bytes = bytes};
    struct dct_slot *next = track_head(s, DCT_GPU, n - 1, domain, name, start_ns);
    memcpy(next, &span, sizeof span);
    memcpy(next + 1, gpu, sizeof *gpu);
    if (kernel)
        memcpy(next + 3, kernel, sizeof *kernel);
    done(t, n);
}
