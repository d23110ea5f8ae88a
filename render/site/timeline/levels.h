/* levels.h - ranges at several levels of detail, as script files that a page loads as it needs them.
 *
 * Level k has tiles of equal length, 2 * 4^k of them. The last level has every range. In the others a range shorter
 * than the level's width w_k is drawn together with its neighbours as one block. So a tile holds at most a few
 * thousand marks a row, and a page never needs more than a few tiles. */
#ifndef RENDER_SITE_TIMELINE_LEVELS_H
#define RENDER_SITE_TIMELINE_LEVELS_H

#include "lib/base/buf.h"
#include "render/site/timeline/spans.h"

#define LEVELS_MAX 5
#define LEVEL_PIXELS 2048 /* a tile is this many times the level's width long */

struct level {
    int64_t width_ns; /* 0: the last level, every range */
    int64_t tile_ns;
    int n_tiles;
};

/** levels_plan - the levels for these ranges.
 *  out      shape (LEVELS_MAX)
 *  returns  number of levels, 1 or more. Test: tests/unit/test_timeline.c */
int levels_plan(const struct spans *s, struct level *out);

/** level_tiles - write the tiles of one level as JSON: [[row, [start, duration, name, extra, ...]], ...].
 *  start     ns; in each row from the range before, the first from the tile's own start
 *  name      index, with the bytes as extra; or -1 - colour with, as extra, the number of ranges drawn as one
 *  out       shape (level->n_tiles): appended to. Every tile that a range reaches into contains it */
void level_tiles(const struct spans *s, const struct level *level, struct dcr_buf *out);

#endif
