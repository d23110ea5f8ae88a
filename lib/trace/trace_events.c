/* trace_events.c - makes events of slots. A range is kept open until its end comes; process ranges are in
 * trace_ranges.c. See trace_inside.h. */
#include "lib/trace/trace_inside.h"

#include <stdlib.h>

static inline void fill_names(struct dct_reader *r, struct dct_event *e, uint32_t domain, uint32_t name,
                              uint32_t category)
{
    e->domain = domain < r->n_domains && r->domains[domain] ? r->domains[domain] : "";
    e->name = name < r->n_names && r->names[name] ? r->names[name] : "";
    e->category = category ? dct_category(r, domain, category) : "";
}

static inline int is_event(int kind)
{
    return kind >= DCT_PUSH && kind <= DCT_SPAN;
}

/* The range, mark or call that begins with the slot. */
static inline struct open_range range_of(const struct track *t, const struct dct_slot *s)
{
    return (struct open_range){
        .track = t->id, .name = s->name, .domain = s->domain, .depth = (int)t->n_open, .start_ns = s->t_ns};
}

/* The end of a span that begins at t_ns. */
static int64_t end_of(int64_t t_ns, const struct dct_span *span)
{
    int64_t end_ns;
    return span->dur_ns < 0 || __builtin_add_overflow(t_ns, span->dur_ns, &end_ns) ? t_ns : end_ns;
}

static void keep_push(struct dct_reader *r, struct track *t, const struct dct_slot *s)
{
    if (t->n_open >= MAX_DEPTH || r->n_open_total >= MAX_OPEN) {
        ++*(t->n_open >= MAX_DEPTH ? &r->loss.n_too_deep : &r->loss.n_too_many);
        t->n_unread++;
        return;
    }
    if (t->n_open == t->cap)
        t->stack = arena_grow(&r->arena, t->stack, t->n_open, &t->cap, sizeof *t->stack);
    struct open_range *o = &t->stack[t->n_open];
    *o = range_of(t, s);
    if (s->n_extra)
        dct_keep_attr(o, s + 1);
    t->n_open++;
    r->n_open_total++;
}

/* Sets every field except io, which is large and used by DCT_FILE only. */
static inline void deliver(struct dct_reader *r, struct dct_event *out, int kind, const struct open_range *o,
                           int64_t end_ns)
{
    out->kind = kind;
    out->is_open = 0;
    out->bytes = 0;
    out->track = o->track;
    out->depth = o->depth;
    out->start_ns = o->start_ns;
    out->end_ns = end_ns > o->start_ns ? end_ns : o->start_ns;
    out->payload_type = (int)(o->attr.payload_type & 0xff);
    out->color = o->attr.payload_type >> 8;
    out->payload = o->attr.payload;
    out->raw = o->raw;
    out->file = "";
    r->delivered_raw = o->raw;
    r->delivered_domain = o->domain;
    fill_names(r, out, o->domain, o->name, o->attr.category);
    if (out->payload_type == DCT_PAYLOAD_FILE && o->attr.payload < r->n_names && r->names[o->attr.payload])
        out->file = r->names[o->attr.payload];
}

static int close_push(struct dct_reader *r, struct track *t, const struct dct_slot *s, struct dct_event *out)
{
    if (t->n_unread) {
        t->n_unread--;
        return 0;
    }
    uint32_t i = t->n_open;
    while (i > 0 && t->stack[i - 1].domain != s->domain)
        i--;
    if (i == 0) {
        r->loss.n_unmatched_pops += !t->is_cut;
        return 0;
    }
    if (s->n_extra)
        dct_add_attr(&t->stack[i - 1], s + 1);
    deliver(r, out, DCT_PUSH, &t->stack[i - 1], s->t_ns);
    if (i < t->n_open)
        memmove(&t->stack[i - 1], &t->stack[i], (t->n_open - i) * sizeof *t->stack);
    t->n_open--;
    r->n_open_total--;
    return 1;
}

static int put_range(struct dct_reader *r, struct track *t, const struct dct_slot *s, struct dct_event *out)
{
    struct open_range o;
    int64_t end_ns;
    if (s->kind == DCT_START ? !dct_keep_start(r, t, s, &o, &end_ns) : !dct_close_start(r, t, s, &o, &end_ns))
        return 0;
    deliver(r, out, DCT_START, &o, end_ns);
    return 1;
}

static int put_mark(struct dct_reader *r, struct track *t, const struct dct_slot *s, struct dct_event *out)
{
    struct open_range o = {.track = t->id, .name = s->name, .domain = s->domain, .start_ns = s->t_ns};
    if (s->n_extra)
        o.attr = dct_attr_in(s + 1);
    deliver(r, out, DCT_MARK, &o, s->t_ns);
    if (out->payload_type == DCT_PAYLOAD_RAW)
        out->raw = s + 2;
    return 1;
}

static int put_span(struct dct_reader *r, struct track *t, const struct dct_slot *s, struct dct_event *out)
{
    struct dct_span span;
    memcpy(&span, s + 1, sizeof span);
    struct open_range o = range_of(t, s);
    if (s->n_extra == 2)
        o.attr = dct_attr_in(s + 2);
    int64_t end_ns = end_of(s->t_ns, &span);
    deliver(r, out, DCT_SPAN, &o, end_ns);
    out->bytes = span.bytes;
    if (end_ns > r->last_ns)
        r->last_ns = end_ns;
    return 1;
}

static void deliver_file(struct dct_reader *r, uint32_t track, const struct dct_slot *s, const void *io,
                         struct dct_event *out)
{
    struct open_range o = {.track = track, .name = s->name, .domain = s->domain, .start_ns = s->t_ns};
    deliver(r, out, DCT_FILE, &o, s->t_ns);
    memcpy(out->io, io, sizeof out->io);
}

static int put_file(struct dct_reader *r, struct track *t, const struct dct_slot *s, struct dct_event *out)
{
    int is_named = s->name < r->n_names && r->names[s->name];
    if (!is_named && r->n_late < MAX_LATE_FILES) {
        r->late = arena_grow(&r->arena, r->late, r->n_late, &r->cap_late, sizeof *r->late);
        struct late_file *late = &r->late[r->n_late++];
        late->slot = *s;
        memcpy(late->io, s + 1, sizeof late->io);
        return 0;
    }
    deliver_file(r, t->id, s, s + 1, out);
    return 1;
}

static void pass_gpu(const struct dct_reader *r, const struct dct_slot *s)
{
    struct dct_span span;
    struct dct_gpu_event e = {.name = s->name < r->n_names && r->names[s->name] ? r->names[s->name] : "",
                              .start_ns = s->t_ns};
    if (!r->listener.gpu)
        return;
    memcpy(&span, s + 1, sizeof span);
    memcpy(&e.gpu, s + 2, sizeof e.gpu);
    if (s->n_extra == 5)
        memcpy(&e.kernel, s + 4, sizeof e.kernel);
    e.end_ns = end_of(s->t_ns, &span);
    e.bytes = span.bytes;
    if (s->t_ns >= 0 && e.gpu.activity < DCT_N_GPU)
        r->listener.gpu(r->listener.ctx, &e);
}

static uint64_t at_most_63_bits(uint64_t v)
{
    return v < INT64_MAX ? v : INT64_MAX;
}

static void pass_dropped(struct dct_reader *r, const struct dct_slot *s)
{
    struct dct_span span;
    struct dct_sum sum;
    struct dct_event names; /* only its three texts are used */
    if (!r->listener.dropped)
        return;
    memcpy(&span, s + 1, sizeof span);
    memcpy(&sum, s + 2, sizeof sum);
    fill_names(r, &names, s->domain, s->name, sum.kind == DCT_GPU ? 0 : sum.category);
    const struct dct_dropped d = {.kind = sum.kind <= DCT_GPU ? (int)sum.kind : 0,
                                  .domain = names.domain,
                                  .category = names.category,
                                  .name = names.name,
                                  .n = at_most_63_bits(sum.n),
                                  .ns = span.dur_ns > 0 ? (uint64_t)span.dur_ns : 0,
                                  .bytes = at_most_63_bits(span.bytes)};
    r->listener.dropped(r->listener.ctx, &d);
}

/* A slot without extra slots marks the beginning of a gap: ranges that were open since then but found room only later
 * begin at that time or after. */
static void pass_gap(struct dct_reader *r, struct track *t, const struct dct_slot *s)
{
    struct dct_span span;
    struct dct_sum sum;
    struct dct_event e;
    struct open_range o = range_of(t, s);
    if (s->n_extra == 0)
        t->last_ns = s->t_ns;
    if (s->n_extra == 0 || !r->listener.gap || s->t_ns < 0)
        return;
    memcpy(&span, s + 1, sizeof span);
    memcpy(&sum, s + 2, sizeof sum);
    int kind = (int)(sum.kind & 0xff);
    if (kind != DCT_PUSH && kind != DCT_SPAN)
        return;
    o.depth += (int)(sum.kind >> 8 & 0xff);
    o.attr.category = sum.category;
    o.attr.payload = at_most_63_bits(span.bytes);
    o.attr.payload_type = o.attr.payload ? DCT_PAYLOAD_U64 : DCT_PAYLOAD_NONE;
    deliver(r, &e, kind, &o, end_of(s->t_ns, &span));
    e.bytes = o.attr.payload;
    r->listener.gap(r->listener.ctx, &e);
}

/* A leaf is a range without inner ranges, by far the most frequent case: its end is the very next slot. s is a DCT_PUSH
 * without extra slots, and not the last of its block. */
static inline int is_leaf(const struct dct_slot *s)
{
    return s[1].kind == DCT_POP && !s[1].n_extra && s[1].domain == s->domain && s[1].t_ns >= 0;
}

/* The same as keep_push and close_push, without using the stack. returns  1 when *out holds it */
static inline int take_leaf(struct dct_reader *r, struct track *t, const struct dct_slot *s, struct dct_event *out)
{
    if (r->n_slots - r->at < 2 || !is_leaf(s) || t->n_unread || t->n_open >= MAX_DEPTH || r->n_open_total >= MAX_OPEN)
        return 0;
    int64_t end_ns = s[1].t_ns;
    r->at += 2;
    t->last_ns = end_ns;
    r->last_ns = s->t_ns > r->last_ns ? s->t_ns : r->last_ns;
    r->last_ns = end_ns > r->last_ns ? end_ns : r->last_ns;
    const struct open_range o = range_of(t, s);
    deliver(r, out, DCT_PUSH, &o, end_ns);
    return 1;
}

/* Skips leaves that the watcher does not need, one after the other, without making events.               returns  0:
 * there is none */
static int pass_over(struct dct_reader *r, struct track *t)
{
    struct dct_leave_out *w = r->leave_out;
    const struct dct_slot *first = &r->slots[r->at], *s = first, *last = &r->slots[r->n_slots - 1];
    int64_t last_ns = r->last_ns;
    if (w->track != t->id || t->n_unread || t->n_open >= MAX_DEPTH || r->n_open_total >= MAX_OPEN)
        return 0;
    while (s < last && s->kind == DCT_PUSH && !s->n_extra && is_leaf(s) && s->t_ns >= 0 && s[1].t_ns >= s->t_ns &&
           s[1].t_ns - s->t_ns < w->shorter_ns && s[1].t_ns <= w->latest_ns) {
        last_ns = s[1].t_ns > last_ns ? s[1].t_ns : last_ns;
        s += 2;
    }
    if (s == first)
        return 0;
    t->last_ns = s[-1].t_ns;
    r->last_ns = last_ns;
    r->at += (uint32_t)(s - first);
    w->n += (uint64_t)(s - first) / 2;
    return 1;
}

/* Consumes the slot at r->at. returns 1 when *out holds an event */
static int take_slot(struct dct_reader *r, struct dct_event *out)
{
    struct track *t = &r->tracks[r->current];
    const struct dct_slot *s = &r->slots[r->at];
    if ((s->kind == DCT_PUSH || s->kind == DCT_POP) && s->n_extra == 0 && r->is_sealed && s->t_ns >= 0) {
        if (s->kind == DCT_PUSH) {
            if (r->leave_out && pass_over(r, t))
                return 0;
            if (take_leaf(r, t, s, out))
                return 1;
        }
        r->at++; /* nearly all slots: a shortcut for the code below */
        t->last_ns = s->t_ns;
        r->last_ns = s->t_ns > r->last_ns ? s->t_ns : r->last_ns;
        if (s->kind == DCT_POP)
            return close_push(r, t, s, out);
        keep_push(r, t, s);
        return 0;
    }
    /* Within a track time does not run backwards. In a block without a checksum, a slot that does so is torn. Spans are
     * written at their end and carry their beginning. */
    int is_sound = dct_slot_is_sound(r, s) && !(is_event(s->kind) && s->t_ns < 0) &&
                   (r->is_sealed || !is_event(s->kind) || s->kind == DCT_SPAN || s->t_ns >= t->last_ns);
    if (!is_sound) {
        r->loss.n_bad_blocks++;
        r->at = r->n_slots;
        return 0;
    }
    r->at += 1u + s->n_extra;
    if (is_event(s->kind) && s->kind != DCT_SPAN) {
        t->last_ns = s->t_ns;
        if (s->t_ns > r->last_ns)
            r->last_ns = s->t_ns;
    }
    switch (s->kind) {
    case DCT_PUSH:
        keep_push(r, t, s);
        return 0;
    case DCT_POP:
        return close_push(r, t, s, out);
    case DCT_START:
    case DCT_END:
        return put_range(r, t, s, out);
    case DCT_MARK:
        return put_mark(r, t, s, out);
    case DCT_SPAN:
        return put_span(r, t, s, out);
    case DCT_FILE:
        return put_file(r, t, s, out);
    case DCT_GPU:
        pass_gpu(r, s);
        return 0;
    case DCT_SUM:
        pass_dropped(r, s);
        return 0;
    case DCT_GAP:
        pass_gap(r, t, s);
        return 0;
    case DCT_STRING:
    case DCT_DOMAIN:
    case DCT_CATEGORY:
    case DCT_THREAD:
    case DCT_NOTE:
    case DCT_SCHEMA:
        dct_define(r, s);
        return 0;
    default:
        return 0;
    }
}

/* Ends the innermost range of the track that was never closed. */
static int flush_one(struct dct_reader *r, struct track *t, int64_t end_ns, struct dct_event *out)
{
    if (!t->n_open)
        return 0;
    t->n_open--;
    r->n_open_total--;
    r->loss.n_open_ranges++;
    deliver(r, out, DCT_PUSH, &t->stack[t->n_open], end_ns);
    out->is_open = 1;
    return 1;
}

static int flush_at_end(struct dct_reader *r, struct dct_event *out)
{
    if (r->next_late < r->n_late) {
        const struct late_file *late = &r->late[r->next_late++];
        deliver_file(r, DCT_TRACK_PROCESS, &late->slot, late->io, out);
        return DCR_OK;
    }
    for (; r->flush_track < r->n_tracks; r->flush_track++)
        if (flush_one(r, &r->tracks[r->flush_track], r->last_ns, out))
            return DCR_OK;
    dct_drop_ends(r);
    if (!r->n_ranges)
        return DCR_END;
    r->n_ranges--;
    r->n_open_total--;
    r->loss.n_open_ranges++;
    deliver(r, out, DCT_START, &r->ranges[r->n_ranges], r->last_ns);
    out->is_open = 1;
    return DCR_OK;
}

static __attribute__((noinline)) int next_of_all(struct dct_reader *r, struct dct_event *out, struct dcr_err *err)
{
    if (r->delivered_raw) {
        free(r->delivered_raw);
        r->delivered_raw = NULL;
    }
    for (;;) {
        if (r->is_flushing) {
            struct track *t = &r->tracks[r->current];
            if (flush_one(r, t, t->last_ns, out))
                return DCR_OK;
            r->is_flushing = 0;
        }
        while (r->at < r->n_slots)
            if (take_slot(r, out))
                return DCR_OK;
        if (r->is_at_end)
            return flush_at_end(r, out);
        ssize_t n = dct_read_block(r, err);
        if (n < 0)
            return DCR_FATAL;
        if ((size_t)n < r->block_bytes)
            r->is_at_end = 1;
        if (n > 0)
            dct_accept_block(r, (size_t)n);
    }
}

/* A leaf takes a shortcut that saves no registers. */
int dct_next(struct dct_reader *r, struct dct_event *out, struct dcr_err *err)
{
    if (r->at < r->n_slots && r->is_sealed && !r->is_flushing && !r->delivered_raw && !r->leave_out) {
        const struct dct_slot *s = &r->slots[r->at];
        if (s->kind == DCT_PUSH && s->n_extra == 0 && s->t_ns >= 0 && take_leaf(r, &r->tracks[r->current], s, out))
            return DCR_OK;
    }
    return next_of_all(r, out, err);
}
