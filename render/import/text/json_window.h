/* json_window.h - a window that slides over JSON text too large for memory, and the few moves a reader of huge, mostly
 * uninteresting JSON needs: skip space, skip a string, skip any value. Bytes are looked at sixteen at a time; nothing
 * is copied or built. The reader works on one value that lies wholly inside the window; when the window ends first, a
 * move returns NULL, the reader asks for more (window_more) and starts that value again.
 *
 * Skipped values are checked for balanced brackets and closed strings, not for more. A trace of hundreds of
 * megabytes is read for its times, and text that is not understood must not stop that. Used by render/import only. */
#ifndef RENDER_IMPORT_TEXT_JSON_WINDOW_H
#define RENDER_IMPORT_TEXT_JSON_WINDOW_H

#include "lib/base/stream.h"

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    WINDOW_PAD = 64,        /* readable bytes after the end: wide loads need no check */
    WINDOW_BYTES = 1 << 18, /* of a window, while no value is larger than half of it */
};

struct window {
    struct dcr_stream *stream;
    char *data; /* bytes [0, len), then WINDOW_PAD zeros */
    size_t len, cap;
    const char *at, *end; /* reading position and data + len */
    int64_t offset;       /* of data[0] in the (decompressed) file */
    int is_end;           /* the stream has no more */
    int is_failed;        /* the stream ended by a failure */
    struct dcr_err failure;
    int64_t n_copied; /* bytes of it that were moved within memory */
};

/** window_open - fill the first window.
 *  s        borrows until window_close
 *  errors   those of the stream */
int window_open(struct window *w, struct dcr_stream *s, struct dcr_err *err) DCR_MUST_CHECK;
/** window_more - keep [at, end) and read more after it; pointers into the window move. It grows for a large value and
 *  shrinks to WINDOW_BYTES again after it.
 *  returns  0; DCR_END when the stream has no more; DCR_FAIL when one value is larger than 256 MiB */
int window_more(struct window *w, struct dcr_err *err) DCR_MUST_CHECK;
/** window_move - keep [at, end) in other memory. The window is of WINDOW_BYTES.
 *  data     takes; WINDOW_BYTES + WINDOW_PAD
 *  returns  gives: the memory that it was in, as it was */
char *window_move(struct window *w, char *data);
/** window_offset - where in the file p lies. */
static inline int64_t window_offset(const struct window *w, const char *p)
{
    return w->offset + (p - w->data);
}
void window_close(struct window *w);

/** json_space - the first byte at or after p that is no space; may be end. */
static inline const char *json_space(const char *p, const char *end)
{
    while (p < end && (unsigned char)*p <= ' ')
        p++;
    return p;
}

/** json_margin - the same, for where a line may end and the next one be indented; WINDOW_PAD bytes follow end. */
static inline const char *json_margin(const char *p, const char *end)
{
    if ((unsigned char)*p > ' ')
        return p;
#ifdef __SSE2__
    const __m128i space = _mm_set1_epi8(' ');
    for (; p < end; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        unsigned m = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(v, space), v)) ^ 0xffff;
        if (m)
            return p + __builtin_ctz(m);
    }
    return end;
#else
    return json_space(p, end);
#endif
}

/** json_string_end - from after the opening quote to the closing one; NULL when the window ends first.
 *  is_escaped   set when there is a backslash in it, otherwise left alone */
static inline const char *json_string_end(const char *p, const char *end, int *is_escaped)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
    while (p < end) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        unsigned q = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, quote));
        unsigned b = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, backslash));
        unsigned any = q | b;
        if (!any) {
            p += 16;
            continue;
        }
        p += __builtin_ctz(any);
        if (p >= end)
            return NULL;
        if (*p == '"')
            return p;
        *is_escaped = 1;
        p += 2;
    }
#else
    for (; p < end; p++) {
        if (*p == '"')
            return p;
        if (*p == '\\') {
            *is_escaped = 1;
            p++;
        }
    }
#endif
    return NULL;
}

/** json_word_end - the place after the number or word that begins at p (NaN and Infinity occur too); NULL when the
 *  window ends first. WINDOW_PAD bytes follow the window. */
static inline const char *json_word_end(const char *p, const char *end)
{
#ifdef __SSE2__
    const __m128i fold = _mm_set1_epi8(0x20), close = _mm_set1_epi8('}'), comma = _mm_set1_epi8(',');
    for (; p < end; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(_mm_or_si128(v, fold), close), /* ']' | 0x20 is '}' */
                                   _mm_or_si128(_mm_cmpeq_epi8(v, comma), _mm_cmpeq_epi8(_mm_min_epu8(v, fold), v)));
        unsigned m = (unsigned)_mm_movemask_epi8(hit);
        if (m) {
            p += __builtin_ctz(m);
            break;
        }
    }
#else
    while (p < end && *p != ',' && *p != '}' && *p != ']' && (unsigned char)*p > ' ')
        p++;
#endif
    return p < end ? p : NULL;
}

/** json_skip - the place after the value that begins at p (no space before it): a string, a number or word, an object
 *  or array with all that is in it. NULL when the window ends first. Inside, brackets are counted, not matched by kind.
 */
const char *json_skip(const char *p, const char *end);

/* A key without its quotes (escapes are kept), and its value. */
struct json_pair {
    const char *key, *value, *after; /* after: first byte after the value */
    size_t n;                        /* of the key */
};

/** json_next_pair - the next key and value of the object that *p is in. Moves *p past them.
 *  returns  1; 0 at the end of the object, or when the window ends first */
int json_next_pair(const char **p, const char *end, struct json_pair *out);

/** json_text_is - is the raw text [p, p + n) this word? */
#define json_text_is(p, n, word) ((n) == sizeof(word) - 1 && memcmp((p), (word), sizeof(word) - 1) == 0)

/** json_unescape - a string as it is meant.
 *  raw, n   between the quotes
 *  out      UTF-8, NUL-terminated, cut at cap - 1 bytes; a lone surrogate or a broken escape becomes '?'
 *  returns  bytes in out */
size_t json_unescape(const char *raw, size_t n, char *out, size_t cap);

#endif
