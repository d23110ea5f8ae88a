/* spool_events.c - see spool.h. Puts events of every kind into slots of a thread's block, with and without a window. */
#include "collect/guest/spool.h"

#include "collect/guest/gap.h"
#include "collect/guest/hot.h"

#include <string.h>

#define DROPPED_RANGE (UINT64_C(1) << 63)
#define UNWANTED_RANGE (UINT64_C(1) << 62) /* the range began outside the window */

/* Each thread takes this many numbers of process ranges at a time, so that threads do not share a cache line for each
 * range. */
#define RANGE_IDS 1024u

/* Room for n slots besides those kept for pops, after the sums of lost events are written; NULL: none. */
static struct dct_slot *room(struct spool_track *t, uint32_t n)
{
    uint32_t n_gap = t->gap.n || t->n_lost || t->n_top ? gap_slots(t) : 0;
    uint32_t all = n_gap + n + t->open + (n_gap ? t->n_lost : 0);
    if (t->used + all > t->cap && (spool_next_block(t, 0) != 0 || all > t->cap))
        return NULL;
    if (n_gap)
        gap_write(t);
    return (struct dct_slot *)(t->block + 1) + t->used;
}

/* An event that began at start_ns finds no room. Either it does not count in a step's sums, or gap.h keeps its sums. */
static void lose(int kind, uint32_t domain, uint32_t name, uint32_t category, int64_t start_ns, int64_t end_ns,
                 uint64_t bytes)
{
    process_lost(kind, domain, name, category, 1, end_ns > start_ns ? (uint64_t)(end_ns - start_ns) : 0, bytes);
    process_incomplete(start_ns);
}

static void done(struct spool_track *t, uint32_t n)
{
    t->used += n;
    __atomic_store_n(&t->block->used_slots, t->used, __ATOMIC_RELEASE);
}

/* Number of slots after the head for attr and raw payload. */
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

/* ---- ranges of a thread ------------------------------------------------------------------------ */

static int level_of(const struct levels *l)
{
    return l->bottom + l->recorded + l->lost + l->top;
}

static void count_slow(struct spool_track *t)
{
    t->is_slow = dcc_window_is_used || t->n_lost || t->n_top || t->gap.n;
}

static int is_step(const struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr)
{
    return (spool_name_flags(t, name) & WINDOW_NAME_STEP) || window_is_step_category(domain, attr ? attr->category : 0);
}

/* The range is counted now, and its time when it ends. returns 0: there is no place to remember that it is open */
static int lose_push(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr, int level)
{
    int64_t now = clock_now_ns(&t->clock), number = number_of(attr);
    process_lost(DCT_PUSH, domain, name, attr ? attr->category : 0, 1, 0, 0);
    if (t->n_lost == LOST_OPEN || name == SEGMENT_OVERFLOW) /* an unknown name may be a step's */
        process_unsummed(now);
    if (t->n_lost == LOST_OPEN) {
        gap_give_up(t);
        return 0;
    }
    struct lost_range *r = &t->lost[t->n_lost++];
    *r = (struct lost_range){.domain = domain,
                             .name = name,
                             .level = level,
                             .is_step = is_step(t, domain, name, attr) != 0,
                             .is_counted = dcc_self->process != NULL,
                             .has_attr = attr != NULL,
                             .start_ns = now,
                             .bytes = number > 0 ? (uint64_t)number : 0,
                             .attr = attr ? *attr : (struct dct_attr){0}};
    if ((r->attr.payload_type & 0xff) == DCT_PAYLOAD_RAW) /* the bytes of a raw payload are not kept */
        r->attr.payload_type &= ~0xffu;
    gap_open(t);
    return 1;
}

/* The lost range of that level; NULL: it is not lost. */
static struct lost_range *lost_range(struct spool_track *t, uint32_t domain, int level)
{
    uint32_t i = t->n_lost;
    while (i > 0 && t->lost[i - 1].domain != domain)
        i--;
    return i > 0 && t->lost[i - 1].level == level ? &t->lost[i - 1] : NULL;
}

/* Sums of events lost inside a range are written before its end. Steps are never lost while the reserve lasts. */
static void write_gap_before_end(struct spool_track *t, uint32_t domain, int level)
{
    const struct lost_range *r = lost_range(t, domain, level);
    int is_needed = r ? r->is_step : t->gap.n && t->level[domain].recorded && !t->level[domain].top;
    if (is_needed && gap_flush(t) != 0)
        gap_give_up(t);
}

/* returns 1 when the range of that level was lost */
static int end_lost(struct spool_track *t, uint32_t domain, int level, int64_t t_ns)
{
    struct lost_range *at = lost_range(t, domain, level);
    if (!at)
        return 0;
    uint32_t i = (uint32_t)(at - t->lost);
    gap_close(t, i, t_ns);
    struct lost_range r = *at;
    memmove(at, at + 1, (t->n_lost - i - 1) * sizeof r);
    t->n_lost--;
    process_lost(DCT_PUSH, r.domain, r.name, r.attr.category, 0, t_ns > r.start_ns ? (uint64_t)(t_ns - r.start_ns) : 0,
                 0);
    process_incomplete(r.start_ns);
    return 1;
}

int spool_put_push(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr, const void *raw)
{
    struct levels *l = &t->level[domain];
    int level = level_of(l), is_open = 1;
    if (__builtin_expect(dcc_window_is_used, 0)) {
        window_push(&t->window, domain, spool_name_flags(t, name), attr ? attr->category : 0, number_of(attr), level);
        is_open = window_is_open(clock_now_ns(&t->clock));
    }
    uint32_t n = 1 + extra_of(attr, raw);
    struct dct_slot *s = is_open && !l->top ? room(t, n + 1) : NULL;
    if (s) {
        put_attr(s + 1, attr, raw);
        track_head(s, DCT_PUSH, n - 1, domain, name, clock_now_ns(&t->clock));
        done(t, n);
        t->open += t->open < MAX_KEPT_POPS;
        l->recorded++;
    } else if (is_open && (!l->top || !dcc_window_is_used) && lose_push(t, domain, name, attr, level)) {
        l->lost++;
    } else if (is_open || l->recorded || l->lost || l->top) {
        l->top++;
        t->n_top++;
    } else {
        l->bottom++;
    }
    count_slow(t);
    return level;
}

/* The pop of a recorded range has a reserved slot. Its payload may find no room. */
static void put_pop(struct spool_track *t, uint32_t domain, int64_t t_ns, const struct dct_attr *attr, const void *raw)
{
    uint32_t n = 1 + extra_of(attr, raw);
    struct dct_slot *s = n > 1 ? room(t, n) : NULL;
    if (!s) {
        n = 1;
        s = (struct dct_slot *)(t->block + 1) + t->used;
    } else {
        put_attr(s + 1, attr, raw);
    }
    track_head(s, DCT_POP, n - 1, domain, 0, clock_not_before(&t->clock, t_ns));
    done(t, n);
}

int spool_put_pop(struct spool_track *t, uint32_t domain, int64_t t_ns, const struct dct_attr *attr, const void *raw)
{
    struct levels *l = &t->level[domain];
    int level = level_of(l) - 1;
    if (t->gap.n || t->n_lost)
        write_gap_before_end(t, domain, level);
    if (end_lost(t, domain, level, t_ns)) {
        l->lost--;
    } else if (l->top) {
        l->top--;
        t->n_top--;
    } else if (l->recorded) {
        int has_slot = t->open > 0 || room(t, 1);
        l->recorded--;
        t->open -= t->open > 0;
        if (has_slot)
            put_pop(t, domain, t_ns, attr, raw);
        else
            process_unsummed(t_ns); /* the range stays open */
    } else if (l->bottom) {
        l->bottom--;
    } else if (!dcc_window_is_used || window_is_open(t_ns)) { /* without a range: the reader counts it */
        if (room(t, 1))
            put_pop(t, domain, t_ns, NULL, NULL);
        else
            process_incomplete(t_ns);
    }
    count_slow(t);
    if (__builtin_expect(dcc_window_is_used, 0))
        window_pop(&t->window, domain, level);
    return level;
}

uint64_t spool_put_start(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr,
                         const void *raw)
{
    if (!dcc_self->process) { /* another thread is about to take the entry of this process */
        process_drop();
        return DROPPED_RANGE;
    }
    if (t->next_range_id == t->end_range_id) {
        t->next_range_id = __atomic_fetch_add(&dcc_self->process->next_range_id, RANGE_IDS, __ATOMIC_RELAXED);
        t->end_range_id = t->next_range_id + RANGE_IDS;
    }
    uint64_t id = t->next_range_id++;
    if (__builtin_expect(dcc_window_is_used, 0)) {
        window_start(spool_name_flags(t, name), id);
        if (!window_is_open(clock_now_ns(&t->clock)))
            return id | UNWANTED_RANGE;
    }
    uint32_t n = 2 + extra_of(attr, raw);
    struct dct_slot *s = room(t, n);
    if (!s) {
        int64_t now = clock_now_ns(&t->clock);
        lose(DCT_START, domain, name, attr ? attr->category : 0, now, now, 0);
        process_beside();
        if (is_step(t, domain, name, attr))
            process_unsummed(now);
        return id | DROPPED_RANGE;
    }
    struct dct_slot *next = track_head(s, DCT_START, n - 1, domain, name, 0);
    next = put_attr(next, attr, raw);
    *next = (struct dct_slot){.t_ns = (int64_t)id};
    s->t_ns = clock_now_ns(&t->clock);
    done(t, n);
    return id;
}

void spool_put_end(struct spool_track *t, uint32_t domain, uint64_t id, int64_t t_ns, const struct dct_attr *attr,
                   const void *raw)
{
    if (__builtin_expect(dcc_window_is_used, 0))
        window_end(id & ~(UNWANTED_RANGE | DROPPED_RANGE));
    if (id & (UNWANTED_RANGE | DROPPED_RANGE))
        return;
    uint32_t n = 2 + extra_of(attr, raw);
    struct dct_slot *s = room(t, n);
    if (!s) { /* its payload is left out; the end itself has a reserved slot */
        attr = NULL;
        n = 2;
        s = t->block && t->used + n + t->open <= SEGMENT_SLOTS ? (struct dct_slot *)(t->block + 1) + t->used : NULL;
    }
    if (!s) {
        process_incomplete(t_ns); /* its range was recorded, and stays open */
        process_beside();
        return;
    }
    struct dct_slot *next = track_head(s, DCT_END, n - 1, domain, 0, clock_not_before(&t->clock, t_ns));
    next = put_attr(next, attr, raw);
    *next = (struct dct_slot){.t_ns = (int64_t)id};
    done(t, n);
}

void spool_put_mark(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr, const void *raw)
{
    if (__builtin_expect(dcc_window_is_used, 0) && !window_is_open(clock_now_ns(&t->clock)))
        return;
    uint32_t n = 1 + extra_of(attr, raw);
    struct dct_slot *s = room(t, n);
    if (!s) {
        int64_t now = clock_now_ns(&t->clock);
        lose(DCT_MARK, domain, name, attr ? attr->category : 0, now, now, 0);
        return;
    }
    put_attr(s + 1, attr, raw);
    track_head(s, DCT_MARK, n - 1, domain, name, clock_now_ns(&t->clock));
    done(t, n);
}

/* ---- intervals -------------------------------------------------------------------------------- */

static void put_span(struct spool_track *t, enum dcc_span kind, uint32_t domain, uint32_t name, int64_t start_ns,
                     int64_t end_ns, uint64_t bytes, const struct dct_attr *attr)
{
    if (__builtin_expect(dcc_window_is_used, 0) && !window_part(&start_ns, &end_ns))
        return;
    enum { N = 3 };
    struct dct_slot *s = room(t, N);
    if (!s) {
        lose(DCT_SPAN, domain, name, attr->category, start_ns, end_ns, bytes);
        if (kind == DCC_MPI_IN_FLIGHT)
            process_beside();
        else
            gap_call(t, domain, name, attr->category, start_ns, end_ns, bytes);
        count_slow(t);
        return;
    }
    struct dct_span span = {.dur_ns = end_ns > start_ns ? end_ns - start_ns : 0, .bytes = bytes};
    struct dct_slot *next = track_head(s, DCT_SPAN, N - 1, domain, name, start_ns);
    memcpy(next, &span, sizeof span);
    memcpy(next + 1, attr, sizeof *attr);
    done(t, N);
}

EXPORTED void dcc_guest_span(enum dcc_span kind, const char *name, int64_t start_ns, int64_t end_ns, uint64_t bytes,
                             uint64_t payload)
{
    static const struct {
        const char *domain, *category;
        uint32_t payload_type;
    } kinds[DCC_N_SPANS] = {
        [DCC_MPI_CALL] = {DCT_DOMAIN_MPI, "comm", DCT_PAYLOAD_MPI},
        [DCC_MPI_IN_FLIGHT] = {DCT_DOMAIN_MPI, DCT_IN_FLIGHT, DCT_PAYLOAD_MPI},
        [DCC_FILE_CALL] = {DCT_DOMAIN_IO, "io", DCT_PAYLOAD_FILE},
    };
    struct spool_track *t = hot_enter();
    if (!t)
        return;
    struct span_ids is = t->span[kind];
    if (!LIKELY(is.category)) {
        is.domain = spool_domain_by_text(t, kinds[kind].domain);
        is.category = spool_category_by_text(t, is.domain, kinds[kind].category);
        if (dcc_self->process) /* else the category is not published, and the next interval repeats it */
            t->span[kind] = is;
    }
    const struct dct_attr attr = {
        .category = is.category, .payload_type = kinds[kind].payload_type, .payload = payload};
    put_span(t, kind, is.domain, hot_name(t, name), start_ns, end_ns, bytes, &attr);
    hot_leave();
}

static void put_gpu(struct spool_track *t, uint32_t domain, uint32_t name, int64_t start_ns, int64_t end_ns,
                    uint64_t bytes, const struct dct_gpu *gpu, const struct dct_kernel *kernel)
{
    if (__builtin_expect(dcc_window_is_used, 0) && !window_was_open(start_ns))
        return;
    uint32_t n = kernel ? 6 : 4;
    struct dct_slot *s = room(t, n);
    if (!s) {
        lose(DCT_GPU, domain, name, gpu->activity, start_ns, end_ns, bytes);
        process_unsummed(start_ns); /* steps of device activity need every such event */
        return;
    }
    struct dct_span span = {.dur_ns = end_ns > start_ns ? end_ns - start_ns : 0, .bytes = bytes};
    struct dct_slot *next = track_head(s, DCT_GPU, n - 1, domain, name, start_ns);
    memcpy(next, &span, sizeof span);
    memcpy(next + 1, gpu, sizeof *gpu);
    if (kernel)
        memcpy(next + 3, kernel, sizeof *kernel);
    done(t, n);
}

EXPORTED void dcc_guest_gpu(const char *name, int64_t start_ns, int64_t end_ns, uint64_t bytes,
                            const struct dct_gpu *gpu, const struct dct_kernel *kernel)
{
    struct spool_track *t = hot_enter();
    if (!t)
        return;
    put_gpu(t, spool_domain_by_text(t, "cuda"), hot_name(t, name), start_ns, end_ns, bytes, gpu, kernel);
    hot_leave();
}
