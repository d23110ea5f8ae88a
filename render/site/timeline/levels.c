/* levels.c - see levels.h. Called by timeline.c. */
#include "render/site/timeline/levels.h"

#include <stdlib.h>
#include <string.h>

/* Ranges that one tile of the last level should have on average. */
#define TILE_RANGES 20000

int levels_plan(const struct spans *s, struct level *out)
{
    int n = 1;
    while (n < LEVELS_MAX && s->n / TILE_RANGES > (size_t)2 << (2 * (n - 1)))
        n++;
    for (int k = 0; k < n; k++) {
        int n_tiles = 2 << (2 * k);
        int64_t tile_ns = s->total_ns / n_tiles + 1;
        out[k] = (struct level){k + 1 < n ? tile_ns / LEVEL_PIXELS + 1 : 0, tile_ns, n_tiles};
    }
    return n;
}

struct mark {
    int64_t start_ns, end_ns;
    int64_t name;
    uint64_t extra; /* of a block: ranges in it, 0 = empty */
};

/* Where a tile's text is: its row, and the start that it counts from. */
struct tile {
    int64_t row, at_ns;
};

/* printf would take most of the time for a timeline. */
static char *put_number(char *p, uint64_t v)
{
    char digits[20];
    int n = 0;
    do
        digits[n++] = (char)('0' + v % 10);
    while (v /= 10);
    while (n)
        *p++ = digits[--n];
    return p;
}

static char *put_signed(char *p, int64_t v)
{
    if (v < 0)
        *p++ = '-';
    return put_number(p, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

static void put_mark(const struct level *level, struct tile *tile, struct dcr_buf *out, uint32_t row,
                     const struct mark *m)
{
    int64_t first = m->start_ns / level->tile_ns, last = m->end_ns / level->tile_ns;
    for (int64_t t = first; t <= last && t < level->n_tiles; t++) {
        bool is_new = tile[t].row != (int64_t)row;
        if (is_new) {
            dcr_buf_printf(&out[t], "%s[%u,[", tile[t].row < 0 ? "[" : "]],", (unsigned)row);
            tile[t] = (struct tile){row, t * level->tile_ns};
        }
        char text[4 * 21 + 4], *p = text;
        if (!is_new)
            *p++ = ',';
        p = put_signed(p, m->start_ns - tile[t].at_ns);
        *p++ = ',';
        p = put_signed(p, m->end_ns - m->start_ns);
        *p++ = ',';
        p = put_signed(p, m->name);
        *p++ = ',';
        p = put_number(p, m->extra);
        dcr_buf_add(&out[t], text, (size_t)(p - text));
        tile[t].at_ns = m->start_ns;
    }
}

struct block {
    struct mark mark;
    int64_t time_ns[N_SPAN_COLOURS];
};

static void put_block(const struct level *level, struct tile *tile, struct dcr_buf *out, uint32_t row, struct block *b)
{
    if (b->mark.extra == 0)
        return;
    int most = 0;
    for (int c = 1; c < N_SPAN_COLOURS; c++)
        most = b->time_ns[c] > b->time_ns[most] ? c : most;
    b->mark.name = -1 - most;
    put_mark(level, tile, out, row, &b->mark);
    memset(b, 0, sizeof *b);
}

void level_tiles(const struct spans *s, const struct level *level, struct dcr_buf *out)
{
    struct tile *tile = calloc((size_t)level->n_tiles, sizeof *tile);
    struct block b = {0};
    if (!tile)
        abort();
    for (int t = 0; t < level->n_tiles; t++)
        tile[t].row = -1;
    for (size_t i = 0; i < s->n; i++) {
        const struct span *p = &s->span[i];
        int64_t end_ns = p->start_ns + p->dur_ns;
        bool is_block = p->name & SPAN_BLOCK;
        bool is_new_row = i > 0 && s->span[i - 1].row != p->row;
        if (is_new_row)
            put_block(level, tile, out, s->span[i - 1].row, &b);
        if (p->dur_ns >= level->width_ns) {
            put_block(level, tile, out, p->row, &b);
            put_mark(
                level, tile, out, p->row,
                &(struct mark){p->start_ns, end_ns, is_block ? -1 - spans_colour(s, p) : (int64_t)p->name, p->bytes});
            continue;
        }
        /* It is far from the block, or the block is long enough to be seen alone. */
        if (b.mark.extra &&
            (p->start_ns - b.mark.end_ns >= level->width_ns || b.mark.end_ns - b.mark.start_ns >= level->width_ns))
            put_block(level, tile, out, p->row, &b);
        if (b.mark.extra == 0)
            b.mark.start_ns = p->start_ns;
        b.mark.extra += is_block ? p->bytes : 1;
        b.mark.end_ns = end_ns > b.mark.end_ns ? end_ns : b.mark.end_ns;
        b.time_ns[spans_colour(s, p)] += p->dur_ns;
    }
    if (s->n)
        put_block(level, tile, out, s->span[s->n - 1].row, &b);
    for (int t = 0; t < level->n_tiles; t++)
        dcr_buf_puts(&out[t], tile[t].row < 0 ? "[]" : "]]]");
    free(tile);
}
