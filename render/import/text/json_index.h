/* json_index.h - where the strings and the brackets of a stretch of JSON text are: two bitmaps, one bit a byte, made
 * in one pass of 64 bytes at a time. AVX2, SSE2 and plain C, whichever is the best that the processor has, give the
 * same bits. With them a reader of huge, mostly uninteresting JSON finds the end of a string or of a nested value by
 * counting zeros instead of looking at bytes. Inside render/import only. source: G. Langdale, D. Lemire, "Parsing
 * gigabytes of JSON per second", VLDB Journal 28 (2019), stage 1. Test: tests/unit/test_json_index.c */
#ifndef RENDER_IMPORT_TEXT_JSON_INDEX_H
#define RENDER_IMPORT_TEXT_JSON_INDEX_H

#include "render/import/text/json_window.h"

struct json_index {
    const char *from, *end;      /* the stretch; begins outside strings */
    uint64_t *quotes, *brackets; /* quotes that begin or end a string; { } [ ] outside strings. Bits from `end` on are
                                    set, so that a search ends there */
    size_t cap;                  /* words */
};

/** json_index_make - index [from, end). 64 bytes after end must be readable.
 *  x        zero to begin with; release with json_index_release
 *  returns  0; -1: out of memory */
int json_index_make(struct json_index *x, const char *from, const char *end);
/** json_index_way - force a way of making it, for tests: 0 the best, 1 SSE2, 2 plain C. */
void json_index_way(int way);
void json_index_release(struct json_index *x);

static inline const char *json_index_next(const struct json_index *x, const uint64_t *map, const char *p)
{
    size_t at = (size_t)(p - x->from), i = at >> 6;
    uint64_t bits = map[i] >> (at & 63);
    if (bits)
        return p + __builtin_ctzll(bits);
    while (!map[++i])
        ;
    return x->from + (i << 6) + __builtin_ctzll(map[i]);
}
/** json_index_quote - the first quote at or after p; x->end or a later place when there is none. p in [from, end] */
static inline const char *json_index_quote(const struct json_index *x, const char *p)
{
    return json_index_next(x, x->quotes, p);
}
/** json_index_close - the place after the object or array that begins at p; NULL when the stretch ends first. Brackets
 *  are counted, not matched by kind. */
static inline const char *json_index_close(const struct json_index *x, const char *p)
{
    for (int depth = 1; depth > 0;) {
        p = json_index_next(x, x->brackets, p + 1);
        if (p >= x->end)
            return NULL;
        depth += *p == '{' || *p == '[' ? 1 : -1;
    }
    return p + 1;
}
/** json_index_value - the place after the value that begins at p, as json_skip; NULL when the stretch ends first. */
static inline const char *json_index_value(const struct json_index *x, const char *p)
{
    if (*p == '"') {
        p = json_index_quote(x, p + 1);
        return p < x->end ? p + 1 : NULL;
    }
    return *p == '{' || *p == '[' ? json_index_close(x, p) : json_word_end(p, x->end);
}

#endif
