/* trace.c - see trace.h. Every number read from the file is taken for hostile until checked. */
#include "lib/trace.h"

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/hash.h"
#include "lib/map.h"
#include "lib/payload.h"

#include <stdio.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Ceilings, far above what a run leaves behind, so that a damaged file cannot ask for all memory. */
#define MAX_BLOCK_BYTES (16u << 20)
#define MAX_NAME_ID (1u << 20)
#define MAX_TEXT_TOTAL ((size_t)256 << 20)
#define MAX_TRACKS (1u << 16)
#define MAX_DEPTH 16384u
#define MAX_OPEN (1u << 20)
#define MAX_NOTES_BYTES ((size_t)64 << 10)

/* ---- the reader ------------------------------------------------------------------------------ */

struct open_range {
    uint64_t id; /* of a process range */
    uint32_t track, name;
    uint16_t domain;
    int depth;
    struct dct_attr attr;
    int64_t start_ns;
    void *raw; /* own copy of a raw payload, or NULL */
};

struct track {
    uint32_t id;
    uint64_t next_seq, dropped;
    int64_t last_ns;
    struct open_range *stack;
    uint32_t n_open, cap;
    uint64_t n_unread; /* pushes that are not kept; their pops come first */
};

struct dct_reader {
    void (*on_gpu)(void *ctx, const struct dct_gpu_event *e); /* NULL = GPU events are passed over */
    void *gpu_ctx;
    struct dcr_stream *s;
    uint32_t block_bytes;
    unsigned char *block;
    const struct dct_slot *slots; /* of the current block */
    uint32_t n_slots, at;
    int is_sealed;
    uint32_t current; /* index of the block's track */
    int is_at_end;

    struct dcr_arena arena;
    const char **names;
    uint32_t n_names;
    const char **domains; /* by id, NULL = never defined */
    uint32_t n_domains;
    struct dcr_map category_of, thread_of, schema_of;
    const char **texts; /* of categories, threads and schemas, in order of definition */
    uint32_t n_texts, cap_texts;

    struct dcr_map track_of;
    struct track *tracks;
    uint32_t n_tracks, cap_tracks;

    struct dcr_map range_of; /* process ranges by id */
    struct open_range *ranges;
    uint32_t n_ranges, cap_ranges;

    uint32_t n_open_total;
    int is_flushing; /* the current track's open ranges are being delivered */
    uint32_t flush_track;
    int64_t last_ns;
    struct dct_loss loss;
    uint64_t dropped_without_block, dropped_of_ended;
    struct dcr_buf notes;
    int has_said_unread;
    void *delivered_raw; /* of the event given out last */
    uint32_t delivered_domain;
};

static int grow_array(void *array, uint32_t *cap, uint32_t need, size_t item)
{
    void **p = array;
    if (need <= *cap)
        return 0;
    uint32_t want = *cap ? *cap : 16;
    while (want < need)
        want *= 2;
    void *bigger = realloc(*p, (size_t)want * item);
    if (!bigger)
        return -1;
    memset((char *)bigger + (size_t)*cap * item, 0, (size_t)(want - *cap) * item);
    *p = bigger;
    *cap = want;
    return 0;
}

int dct_open(struct dct_reader **out, struct dcr_stream *s, struct dct_info *info, struct dcr_err *err)
{
    *out = NULL;
    struct dct_file_header h;
    ssize_t n = dcr_stream_read_full(s, &h, sizeof h, err);
    if (n < 0)
        return (int)n;
    if ((size_t)n < sizeof h)
        return dcr_err_set(err, DCR_FAIL, "'%s' is not a trace: it ends after %zd bytes", s->name, n);
    if (h.magic != DCT_MAGIC)
        return dcr_err_set(err, DCR_FAIL, "'%s' is not a trace: it does not begin with the mark of one", s->name);
    if (h.version > DCT_VERSION)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s' was made by a newer dccollect: it is a trace of version %u, this program reads up to "
                           "%d; use a later one",
                           s->name, h.version, DCT_VERSION);
    if (h.version < DCT_OLDEST_VERSION)
        return dcr_err_set(err, DCR_FAIL, "'%s' is not a trace: version %u", s->name, h.version);
    if (h.block_bytes < 4096 || h.block_bytes > MAX_BLOCK_BYTES || h.block_bytes % 4096)
        return dcr_err_set(err, DCR_FAIL, "'%s' is not a trace: block size %u", s->name, h.block_bytes);

    struct dct_reader *r = calloc(1, sizeof *r);
    if (r)
        r->block = malloc(h.block_bytes);
    if (!r || !r->block) {
        dct_close(r);
        return dcr_err_mark(err, DCR_ERR_MACHINE, dcr_err_set(err, DCR_FAIL, "no memory to read '%s'", s->name));
    }
    r->s = s;
    r->block_bytes = h.block_bytes;
    r->notes.max = MAX_NOTES_BYTES;
    r->dropped_without_block = h.dropped;
    r->last_ns = h.mono_ns;
    if (info) {
        *info =
            (struct dct_info){.rank = h.rank, .node = h.node, .pid = h.pid, .mono_ns = h.mono_ns, .real_ns = h.real_ns};
        memcpy(info->host, h.host, sizeof h.host);
    }
    n = dcr_stream_read_full(s, r->block, h.block_bytes - sizeof h, err);
    if (n < 0) {
        dct_close(r);
        return (int)n;
    }
    r->loss.is_torn = (size_t)n < h.block_bytes - sizeof h;
    *out = r;
    return DCR_OK;
}

void dct_close(struct dct_reader *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; i < r->n_tracks; i++) {
        for (uint32_t k = 0; k < r->tracks[i].n_open; k++)
            free(r->tracks[i].stack[k].raw);
        free(r->tracks[i].stack);
    }
    for (uint32_t i = 0; i < r->n_ranges; i++)
        free(r->ranges[i].raw);
    free(r->delivered_raw);
    free(r->tracks);
    free(r->ranges);
    free(r->names);
    free(r->domains);
    free(r->texts);
    dcr_map_release(&r->category_of);
    dcr_map_release(&r->thread_of);
    dcr_map_release(&r->schema_of);
    dcr_map_release(&r->track_of);
    dcr_map_release(&r->range_of);
    dcr_buf_release(&r->notes);
    dcr_arena_release(&r->arena);
    free(r->block);
    free(r);
}

void dct_on_gpu(struct dct_reader *r, void (*f)(void *ctx, const struct dct_gpu_event *e), void *ctx)
{
    r->on_gpu = f;
    r->gpu_ctx = ctx;
}

static uint64_t category_key(uint32_t domain, uint32_t category)
{
    return (uint64_t)domain << 32 | category;
}

static const char *schema_text(void *ctx, uint64_t id)
{
    struct dct_reader *r = ctx;
    uint32_t i;
    return dcr_map_get(&r->schema_of, category_key(r->delivered_domain, (uint32_t)id), &i) ? r->texts[i] : NULL;
}

void dct_put_payload(struct dct_reader *r, const struct dct_event *e, struct dcr_buf *out)
{
    if (e->payload_type == DCT_PAYLOAD_RAW && e->raw)
        payload_put(out, e->raw, e->payload, schema_text, r);
}

void dct_get_loss(const struct dct_reader *r, struct dct_loss *out)
{
    *out = r->loss;
    out->n_dropped = r->dropped_without_block + r->dropped_of_ended;
    for (uint32_t i = 0; i < r->n_tracks; i++)
        out->n_dropped += r->tracks[i].dropped;
}

static void note_unread(struct dct_reader *r, uint64_t n, const char *why)
{
    if (!n)
        return;
    r->notes.max += 200;
    dcr_buf_printf(&r->notes, "%s%" PRIu64 " range%s%s", r->notes.len ? "\n" : "", n, n == 1 ? " was" : "s were", why);
}

const char *dct_notes(struct dct_reader *r)
{
    if (!r->has_said_unread) {
        char deep[100], many[100];
        snprintf(deep, sizeof deep, " recorded inside %u others of the thread, and not read", MAX_DEPTH);
        snprintf(many, sizeof many, " recorded while %u others of the process were open, and not read", MAX_OPEN);
        note_unread(r, r->loss.n_too_deep, deep);
        note_unread(r, r->loss.n_too_many, many);
        note_unread(r, r->loss.n_no_memory, " recorded, and not read: the reader had no memory for them");
        r->has_said_unread = 1;
    }
    return dcr_buf_text(&r->notes);
}

const char *dct_thread_name(struct dct_reader *r, uint32_t track)
{
    uint32_t i;
    return dcr_map_get(&r->thread_of, track, &i) ? r->texts[i] : "";
}

/* ---- definitions ----------------------------------------------------------------------------- */

static void set_text(struct dct_reader *r, struct dcr_map *m, uint64_t key, const char *text)
{
    if (r->n_texts >= MAX_NAME_ID || grow_array(&r->texts, &r->cap_texts, r->n_texts + 1, sizeof *r->texts) != 0 ||
        dcr_map_put(m, key, r->n_texts) != 0)
        return;
    r->texts[r->n_texts++] = text;
}

static void define(struct dct_reader *r, const struct dct_slot *s)
{
    const char *bytes = (const char *)(s + 1);
    size_t len = (size_t)s->t_ns;
    if (s->kind == DCT_NOTE) {
        if (r->notes.len && !r->notes.failed)
            dcr_buf_putc(&r->notes, '\n');
        dcr_buf_add(&r->notes, bytes, len);
        return;
    }
    if (r->arena.total_bytes + len > MAX_TEXT_TOTAL)
        return;
    const char *text = dcr_arena_strndup(&r->arena, bytes, len);
    switch (s->kind) {
    case DCT_STRING:
        if (s->name < MAX_NAME_ID && grow_array(&r->names, &r->n_names, s->name + 1, sizeof *r->names) == 0)
            r->names[s->name] = text;
        break;
    case DCT_DOMAIN:
        if (grow_array(&r->domains, &r->n_domains, s->domain + 1u, sizeof *r->domains) == 0)
            r->domains[s->domain] = text;
        break;
    case DCT_CATEGORY:
        set_text(r, &r->category_of, category_key(s->domain, s->name), text);
        break;
    case DCT_THREAD:
        set_text(r, &r->thread_of, s->name, text);
        break;
    case DCT_SCHEMA:
        set_text(r, &r->schema_of, category_key(s->domain, s->name), text);
        break;
    default:
        break;
    }
}

static const char *category_text(struct dct_reader *r, uint32_t domain, uint32_t category)
{
    uint32_t i;
    if (!category)
        return "";
    if (dcr_map_get(&r->category_of, category_key(domain, category), &i))
        return r->texts[i];
    char number[16];
    snprintf(number, sizeof number, "#%u", category);
    const char *text = dcr_arena_strdup(&r->arena, number);
    set_text(r, &r->category_of, category_key(domain, category), text);
    return text;
}

static void fill_names(struct dct_reader *r, struct dct_event *e, uint32_t domain, uint32_t name, uint32_t category)
{
    e->domain = domain < r->n_domains && r->domains[domain] ? r->domains[domain] : "";
    e->name = name < r->n_names && r->names[name] ? r->names[name] : "";
    e->category = category_text(r, domain, category);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static struct track *track_of(struct dct_reader *r, uint32_t id, uint32_t *index)
{
    if (dcr_map_get(&r->track_of, id, index))
        return &r->tracks[*index];
    if (r->n_tracks >= MAX_TRACKS || grow_array(&r->tracks, &r->cap_tracks, r->n_tracks + 1, sizeof *r->tracks) != 0 ||
        dcr_map_put(&r->track_of, id, r->n_tracks) != 0)
        return NULL;
    *index = r->n_tracks++;
    r->tracks[*index].id = id;
    return &r->tracks[*index];
}

static int is_zero(const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i])
            return 0;
    return 1;
}

/* Take the block just read; n_bytes of it are there. */
static void accept_block(struct dct_reader *r, size_t n_bytes)
{
    struct dct_block_header h;
    r->n_slots = r->at = 0;
    if (n_bytes < r->block_bytes)
        r->loss.is_torn = 1;
    /* Space reserved ahead and never used. */
    if (is_zero(r->block, n_bytes < sizeof h ? n_bytes : sizeof h))
        return;
    if (n_bytes < sizeof h)
        return;
    memcpy(&h, r->block, sizeof h);
    uint32_t max_slots = (uint32_t)((r->block_bytes - sizeof h) / DCT_SLOT_BYTES);
    uint32_t slots_here = (uint32_t)((n_bytes - sizeof h) / DCT_SLOT_BYTES);
    struct track *t = NULL;
    int is_sealed = h.state == DCT_BLOCK_SEALED && h.used_slots <= slots_here;
    if (h.magic != DCT_BLOCK_MAGIC || (h.state != DCT_BLOCK_OPEN && h.state != DCT_BLOCK_SEALED) ||
        h.used_slots > max_slots ||
        (is_sealed && dcr_crc32c(0, r->block + sizeof h, (size_t)h.used_slots * DCT_SLOT_BYTES) != h.crc32c) ||
        (t = track_of(r, h.track, &r->current)) == NULL || (h.seq < t->next_seq && h.seq != 0)) {
        r->loss.n_bad_blocks++;
        return;
    }
    if (!is_sealed)
        r->loss.n_open_blocks++;
    if (h.seq < t->next_seq) { /* the kernel gave the number of a thread that has ended to a new one */
        r->dropped_of_ended += t->dropped;
        t->dropped = t->next_seq = t->n_unread = 0;
        r->is_flushing = t->n_open > 0;
    }
    if (h.seq > t->next_seq) { /* whatever was open may have been closed in the part that is missing */
        r->loss.n_missing_blocks += h.seq - t->next_seq;
        r->is_flushing = t->n_open > 0;
        t->n_unread = 0;
    }
    t->next_seq = h.seq + 1;
    if (h.dropped > t->dropped)
        t->dropped = h.dropped;
    r->slots = (const struct dct_slot *)(const void *)(r->block + sizeof h);
    r->n_slots = h.used_slots < slots_here ? h.used_slots : slots_here;
    r->is_sealed = is_sealed;
}

static struct dct_attr attr_in(const struct dct_slot *s)
{
    struct dct_attr a;
    memcpy(&a, s, sizeof a);
    return a;
}

/* n slots that hold nothing, or an attr with as much behind it as it says. */
static int attr_is_sound(const struct dct_slot *s, uint32_t n)
{
    if (n == 0)
        return 1;
    struct dct_attr a = attr_in(s);
    if ((a.payload_type & 0xff) != DCT_PAYLOAD_RAW)
        return n == 1;
    return a.payload <= DCT_MAX_RAW && n == 1 + (a.payload + DCT_SLOT_BYTES - 1) / DCT_SLOT_BYTES;
}

/* Is the slot at r->at what its kind says, as far as one can tell? */
static int slot_is_sound(const struct dct_reader *r, const struct dct_slot *s)
{
    uint32_t n = s->n_extra;
    if (n >= r->n_slots - r->at)
        return 0;
    switch (s->kind) {
    case DCT_PUSH:
    case DCT_MARK:
        return attr_is_sound(s + 1, n);
    case DCT_POP:
        return attr_is_sound(s + 1, n);
    case DCT_START:
        return n >= 1 && attr_is_sound(s + 1, n - 1);
    case DCT_SPAN:
        return n == 1 || n == 2;
    case DCT_FILE:
        return n == DCT_N_IO * sizeof(struct dct_io) / DCT_SLOT_BYTES;
    case DCT_GPU:
        return n == 3 || n == 5;
    case DCT_END:
        return n >= 1 && attr_is_sound(s + 1, n - 1);
    case DCT_STRING:
    case DCT_DOMAIN:
    case DCT_CATEGORY:
    case DCT_THREAD:
    case DCT_NOTE:
    case DCT_SCHEMA:
        return s->t_ns >= 0 && s->t_ns <= (int64_t)n * DCT_SLOT_BYTES;
    case DCT_NONE:
        return 0;
    default:
        return r->is_sealed; /* a kind of a later writer; the checksum vouches for its length */
    }
}

static int is_event(int kind)
{
    return kind >= DCT_PUSH && kind <= DCT_SPAN;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* The attr of an event that ends later, with a copy of its raw payload. */
static void keep_attr(struct open_range *o, const struct dct_slot *s)
{
    o->attr = attr_in(s);
    if ((o->attr.payload_type & 0xff) == DCT_PAYLOAD_RAW && o->attr.payload) {
        o->raw = malloc(o->attr.payload);
        if (o->raw)
            memcpy(o->raw, s + 1, o->attr.payload);
    }
}

/* A payload that came with the end of a range: behind the raw one of its beginning. A plain number of the beginning
 * stays alone. */
static void add_attr(struct open_range *o, const struct dct_slot *s)
{
    struct dct_attr a = attr_in(s);
    uint32_t type = o->attr.payload_type & 0xff;
    size_t before = type == DCT_PAYLOAD_RAW && o->raw ? o->attr.payload : 0;
    if ((a.payload_type & 0xff) != DCT_PAYLOAD_RAW || !a.payload || (type != DCT_PAYLOAD_NONE && !before))
        return;
    /* whole slots, so that the next item begins where it may */
    size_t padded = (before + DCT_SLOT_BYTES - 1) / DCT_SLOT_BYTES * DCT_SLOT_BYTES;
    char *both = calloc(1, padded + a.payload);
    if (!both)
        return;
    if (before)
        memcpy(both, o->raw, before);
    memcpy(both + padded, s + 1, a.payload);
    free(o->raw);
    o->raw = both;
    o->attr.payload_type = (o->attr.payload_type & ~0xffu) | DCT_PAYLOAD_RAW;
    o->attr.payload = padded + a.payload;
}

/* Why one more range of the process cannot be kept open. */
static uint64_t *unread(struct dct_reader *r)
{
    return r->n_open_total >= MAX_OPEN ? &r->loss.n_too_many : &r->loss.n_no_memory;
}

static void keep_push(struct dct_reader *r, struct track *t, const struct dct_slot *s)
{
    if (t->n_open >= MAX_DEPTH || r->n_open_total >= MAX_OPEN ||
        (t->n_open == t->cap && grow_array(&t->stack, &t->cap, t->n_open + 1, sizeof *t->stack) != 0)) {
        uint64_t *why = t->n_open >= MAX_DEPTH ? &r->loss.n_too_deep : unread(r);
        ++*why;
        t->n_unread++;
        return;
    }
    struct open_range *o = &t->stack[t->n_open];
    *o = (struct open_range){
        .track = t->id, .name = s->name, .domain = s->domain, .depth = (int)t->n_open, .start_ns = s->t_ns};
    if (s->n_extra)
        keep_attr(o, s + 1);
    t->n_open++;
    r->n_open_total++;
}

/* Every field is set but io, which is large and of DCT_FILE only. */
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
        r->loss.n_unmatched_pops++;
        return 0;
    }
    if (s->n_extra)
        add_attr(&t->stack[i - 1], s + 1);
    deliver(r, out, DCT_PUSH, &t->stack[i - 1], s->t_ns);
    if (i < t->n_open)
        memmove(&t->stack[i - 1], &t->stack[i], (t->n_open - i) * sizeof *t->stack);
    t->n_open--;
    r->n_open_total--;
    return 1;
}

static void keep_start(struct dct_reader *r, struct track *t, const struct dct_slot *s)
{
    uint32_t known;
    uint64_t id = (uint64_t)s[s->n_extra].t_ns;
    if (dcr_map_get(&r->range_of, id, &known)) { /* a number given twice: one of the two is never closed */
        r->loss.n_open_ranges++;
        return;
    }
    if (r->n_open_total >= MAX_OPEN ||
        grow_array(&r->ranges, &r->cap_ranges, r->n_ranges + 1, sizeof *r->ranges) != 0 ||
        dcr_map_put(&r->range_of, id, r->n_ranges) != 0) {
        ++*unread(r);
        return;
    }
    struct open_range *o = &r->ranges[r->n_ranges++];
    *o = (struct open_range){.id = id, .track = t->id, .name = s->name, .domain = s->domain, .start_ns = s->t_ns};
    if (s->n_extra >= 2)
        keep_attr(o, s + 1);
    r->n_open_total++;
}

static int close_start(struct dct_reader *r, const struct dct_slot *s, struct dct_event *out)
{
    uint32_t i;
    uint64_t id = (uint64_t)s[s->n_extra].t_ns;
    if (!dcr_map_get(&r->range_of, id, &i)) {
        r->loss.n_unmatched_pops++;
        return 0;
    }
    if (s->n_extra >= 2)
        add_attr(&r->ranges[i], s + 1);
    deliver(r, out, DCT_START, &r->ranges[i], s->t_ns);
    dcr_map_delete(&r->range_of, id);
    r->n_ranges--;
    r->n_open_total--;
    if (i != r->n_ranges) { /* the last one fills the gap */
        r->ranges[i] = r->ranges[r->n_ranges];
        (void)dcr_map_put(&r->range_of, r->ranges[i].id, i);
    }
    return 1;
}

static int put_mark(struct dct_reader *r, struct track *t, const struct dct_slot *s, struct dct_event *out)
{
    struct open_range o = {.track = t->id, .name = s->name, .domain = s->domain, .start_ns = s->t_ns};
    if (s->n_extra)
        o.attr = attr_in(s + 1);
    deliver(r, out, DCT_MARK, &o, s->t_ns);
    if (out->payload_type == DCT_PAYLOAD_RAW)
        out->raw = s + 2;
    return 1;
}

static int put_span(struct dct_reader *r, struct track *t, const struct dct_slot *s, struct dct_event *out)
{
    struct dct_span span;
    memcpy(&span, s + 1, sizeof span);
    struct open_range o = {
        .track = t->id, .name = s->name, .domain = s->domain, .depth = (int)t->n_open, .start_ns = s->t_ns};
    if (s->n_extra == 2)
        o.attr = attr_in(s + 2);
    int64_t end_ns;
    if (span.dur_ns < 0 || __builtin_add_overflow(s->t_ns, span.dur_ns, &end_ns))
        end_ns = s->t_ns;
    deliver(r, out, DCT_SPAN, &o, end_ns);
    out->bytes = span.bytes;
    if (end_ns > r->last_ns)
        r->last_ns = end_ns;
    return 1;
}

static int put_file(struct dct_reader *r, struct track *t, const struct dct_slot *s, struct dct_event *out)
{
    struct open_range o = {.track = t->id, .name = s->name, .domain = s->domain, .start_ns = s->t_ns};
    deliver(r, out, DCT_FILE, &o, s->t_ns);
    memcpy(out->io, s + 1, sizeof out->io);
    return 1;
}

static void pass_gpu(const struct dct_reader *r, const struct dct_slot *s)
{
    struct dct_span span;
    struct dct_gpu_event e = {.name = s->name < r->n_names && r->names[s->name] ? r->names[s->name] : "",
                              .start_ns = s->t_ns};
    if (!r->on_gpu)
        return;
    memcpy(&span, s + 1, sizeof span);
    memcpy(&e.gpu, s + 2, sizeof e.gpu);
    if (s->n_extra == 5)
        memcpy(&e.kernel, s + 4, sizeof e.kernel);
    if (span.dur_ns < 0 || __builtin_add_overflow(s->t_ns, span.dur_ns, &e.end_ns))
        e.end_ns = s->t_ns;
    e.bytes = span.bytes;
    if (s->t_ns >= 0 && e.gpu.activity < DCT_N_GPU)
        r->on_gpu(r->gpu_ctx, &e);
}

/* A range without any inside it, by far the most frequent one: its end is the very next slot. The same as keep_push and
 * close_push, without the way over the stack. returns  1 when *out holds it */
static inline int take_leaf(struct dct_reader *r, struct track *t, const struct dct_slot *s, struct dct_event *out)
{
    if (r->n_slots - r->at < 2 || s[1].kind != DCT_POP || s[1].n_extra || s[1].domain != s->domain || s[1].t_ns < 0 ||
        t->n_unread || t->n_open >= MAX_DEPTH || r->n_open_total >= MAX_OPEN)
        return 0;
    int64_t end_ns = s[1].t_ns;
    r->at += 2;
    t->last_ns = end_ns;
    r->last_ns = s->t_ns > r->last_ns ? s->t_ns : r->last_ns;
    r->last_ns = end_ns > r->last_ns ? end_ns : r->last_ns;
    out->kind = DCT_PUSH;
    out->is_open = 0;
    out->bytes = 0;
    out->track = t->id;
    out->depth = (int)t->n_open;
    out->start_ns = s->t_ns;
    out->end_ns = end_ns > s->t_ns ? end_ns : s->t_ns;
    out->payload_type = 0;
    out->color = 0;
    out->payload = 0;
    out->raw = NULL;
    out->file = "";
    r->delivered_raw = NULL;
    fill_names(r, out, s->domain, s->name, 0);
    return 1;
}

/* Consume the slot at r->at. returns 1 when *out holds an event */
static int take_slot(struct dct_reader *r, struct dct_event *out)
{
    struct track *t = &r->tracks[r->current];
    const struct dct_slot *s = &r->slots[r->at];
    if ((s->kind == DCT_PUSH || s->kind == DCT_POP) && s->n_extra == 0 && r->is_sealed && s->t_ns >= 0) {
        if (s->kind == DCT_PUSH && take_leaf(r, t, s, out))
            return 1;
        r->at++; /* nearly all there is: the same as below, in short */
        t->last_ns = s->t_ns;
        r->last_ns = s->t_ns > r->last_ns ? s->t_ns : r->last_ns;
        if (s->kind == DCT_POP)
            return close_push(r, t, s, out);
        keep_push(r, t, s);
        return 0;
    }
    /* Within a track time does not run backwards; in a block without checksum that would be a torn slot. Spans are
     * written at their end and carry their beginning. */
    int is_sound = slot_is_sound(r, s) && !(is_event(s->kind) && s->t_ns < 0) &&
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
        keep_start(r, t, s);
        return 0;
    case DCT_END:
        return close_start(r, s, out);
    case DCT_MARK:
        return put_mark(r, t, s, out);
    case DCT_SPAN:
        return put_span(r, t, s, out);
    case DCT_FILE:
        return put_file(r, t, s, out);
    case DCT_GPU:
        pass_gpu(r, s);
        return 0;
    case DCT_STRING:
    case DCT_DOMAIN:
    case DCT_CATEGORY:
    case DCT_THREAD:
    case DCT_NOTE:
    case DCT_SCHEMA:
        define(r, s);
        return 0;
    default:
        return 0;
    }
}

/* The innermost range of the track that was never closed. */
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
    for (; r->flush_track < r->n_tracks; r->flush_track++)
        if (flush_one(r, &r->tracks[r->flush_track], r->last_ns, out))
            return DCR_OK;
    if (!r->n_ranges)
        return DCR_END;
    r->n_ranges--;
    r->n_open_total--;
    r->loss.n_open_ranges++;
    deliver(r, out, DCT_START, &r->ranges[r->n_ranges], r->last_ns);
    out->is_open = 1;
    return DCR_OK;
}

int dct_next(struct dct_reader *r, struct dct_event *out, struct dcr_err *err)
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
        ssize_t n = dcr_stream_read_full(r->s, r->block, r->block_bytes, err);
        if (n < 0)
            return DCR_FATAL;
        if ((size_t)n < r->block_bytes)
            r->is_at_end = 1;
        if (n > 0)
            accept_block(r, (size_t)n);
    }
}
