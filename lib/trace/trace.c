/* trace.c - see trace.h. No number from the file is trusted before it is checked. */
#include "lib/trace/trace_inside.h"

#include "lib/trace/payload.h"
#include "lib/trace/trace_chunks.h"

#include <inttypes.h>
#include <stdlib.h>

struct dct_reader *dct_reader_new(void)
{
    struct dcr_arena a = {0};
    struct dct_reader *r = dcr_arena_alloc(&a, sizeof *r);
    r->arena = a;
    return r;
}

/* Limits impossible values of clocks and counters, so that the sum of two fits into 63 bits. */
static int64_t harmless(int64_t t_ns)
{
    return t_ns < 0 ? 0 : t_ns < INT64_MAX / 4 ? t_ns : INT64_MAX / 4;
}

static struct dct_window window_of(const struct dct_file_header *h)
{
    return (struct dct_window){.until_ns = harmless(h->window_until_ns),
                               .first_ns = harmless(h->window_first_ns),
                               .last_ns = harmless(h->window_last_ns),
                               .closed_ns = harmless(h->window_closed_ns),
                               .since_ns = harmless(h->window_since_ns)};
}

void dct_take_header(struct dct_reader *r, const struct dct_file_header *h)
{
    struct dct_info *info = r->info;
    r->dropped_without_block = h->dropped;
    if (!info)
        return;
    *info = (struct dct_info){.rank = h->rank < 0 ? -1 : h->rank,
                              .node = h->node < 0 ? -1 : h->node,
                              .pid = h->pid,
                              .mono_ns = h->mono_ns,
                              .real_ns = h->real_ns,
                              .incomplete_ns = harmless(h->incomplete_ns),
                              .window = window_of(h),
                              .n_dropped_gpu = h->dropped_gpu,
                              .has_step_sums = (h->flags & DCT_HAS_STEP_SUMS) != 0,
                              .unsummed_ns = harmless(h->unsummed_ns),
                              .n_dropped_beside = h->dropped_beside,
                              .own_bytes = harmless((int64_t)h->own_bytes),
                              .exit_ns = harmless(h->exit_ns),
                              .exit_status = (int)(h->exit_status & 0xff),
                              .n_blocks_before = info->n_blocks_before,
                              .n_pieces = info->n_pieces + 1};
    for (int i = 0; i < DCT_N_IO_TOTALS; i++)
        info->io[i] = harmless((int64_t)h->io[i]);
    memcpy(info->host, h->host, sizeof h->host);
}

int64_t dct_unsummed_ns(const struct dct_info *info)
{
    return info->has_step_sums ? info->unsummed_ns : info->incomplete_ns;
}

int64_t dct_recorded_until(const struct dct_info *info)
{
    const struct dct_window *w = &info->window;
    /* A step's end is timed before it closes the window, and by a clock that may be ahead of the window's clock. */
    int64_t closed = w->last_ns + DCT_CLOCK_ERROR_NS;
    int64_t until = w->until_ns == 0 ? INT64_MAX : w->since_ns ? w->until_ns : closed;
    int64_t lost = dct_unsummed_ns(info);
    return lost && lost < until ? lost : until;
}

int dct_open(struct dct_reader **out, struct dcr_stream *s, struct dct_info *info, struct dcr_err *err)
{
    *out = NULL;
    struct dct_file_header h;
    ssize_t n = dcr_stream_read_full(s, &h, sizeof h, err);
    if (n < 0)
        return (int)n;
    if ((size_t)n < sizeof h)
        return dcr_err_set(err, DCR_FAIL, "'%s' is not a trace: it ends after %zd bytes; copy it again", s->name, n);
    if (h.magic != DCT_MAGIC)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s' is not a trace: it does not begin with the mark of one; name a .dct file of a run",
                           s->name);
    if (h.version > DCT_VERSION)
        return dcr_err_set(
            err, DCR_FAIL,
            "cannot read '%s': trace version %u, this program reads up to %d; use a later version of dcreport", s->name,
            h.version, DCT_VERSION);
    if (h.version < DCT_OLDEST_VERSION)
        return dcr_err_set(err, DCR_FAIL, "'%s' is not a trace: version %u; copy it again", s->name, h.version);
    if (h.block_bytes < 4096 || h.block_bytes > MAX_BLOCK_BYTES || h.block_bytes % 4096)
        return dcr_err_set(err, DCR_FAIL, "'%s' is not a trace: block size %u; copy it again", s->name, h.block_bytes);

    struct dct_reader *r = dct_reader_new();
    r->own = dcr_arena_alloc(&r->arena, h.block_bytes);
    r->s = s;
    r->block_bytes = h.block_bytes;
    r->notes.max = MAX_NOTES_BYTES;
    r->last_ns = h.mono_ns;
    r->info = info;
    r->is_cut = h.blocks_before > 0;
    if (info)
        *info = (struct dct_info){.n_blocks_before = harmless((int64_t)h.blocks_before)};
    dct_take_header(r, &h);
    n = dcr_stream_read_full(s, r->own, h.block_bytes - sizeof h, err);
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
    for (uint32_t i = 0; i < r->n_tracks; i++)
        for (uint32_t k = 0; k < r->tracks[i].n_open; k++)
            free(r->tracks[i].stack[k].raw);
    for (uint32_t i = 0; i < r->n_ranges; i++)
        free(r->ranges[i].raw);
    for (; r->first_end < r->next_end; r->first_end++)
        free(r->ends[r->first_end % MAX_ENDS].raw);
    free(r->delivered_raw);
    dcr_map_release(&r->category_of);
    dcr_map_release(&r->thread_of);
    dcr_map_release(&r->schema_of);
    dcr_map_release(&r->track_of);
    dcr_map_release(&r->range_of);
    dcr_map_release(&r->end_of);
    dcr_buf_release(&r->notes);
    if (r->side == 0)
        dct_chunks_free(r->chunks);
    struct dcr_arena a = r->arena;
    dcr_arena_release(&a);
}

void dct_listen(struct dct_reader *r, struct dct_listener l)
{
    r->listener = l;
}

static const char *schema_text(void *ctx, uint64_t id)
{
    struct dct_reader *r = ctx;
    uint32_t i;
    return dcr_map_get(&r->schema_of, dct_domain_key(r->delivered_domain, (uint32_t)id), &i) ? r->texts[i] : NULL;
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

static void note_unread(struct dct_reader *r, uint64_t n, const char *where, uint32_t most, const char *of_what)
{
    if (!n)
        return;
    r->notes.max += 200;
    dcr_buf_printf(&r->notes, "%s%" PRIu64 " range%s recorded %s %u others of the %s, and not read",
                   r->notes.len ? "\n" : "", n, n == 1 ? " was" : "s were", where, most, of_what);
}

const char *dct_notes(struct dct_reader *r)
{
    if (!r->has_said_unread) {
        note_unread(r, r->loss.n_too_deep, "inside", MAX_DEPTH, "thread");
        note_unread(r, r->loss.n_too_many, "while", MAX_OPEN, "process were open");
        r->has_said_unread = 1;
    }
    return dcr_buf_text(&r->notes);
}

const char *dct_thread_name(struct dct_reader *r, uint32_t track)
{
    uint32_t i;
    return dcr_map_get(&r->thread_of, track, &i) ? r->texts[i] : "";
}
