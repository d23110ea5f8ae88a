/* json_window.c - see json_window.h. */
#include "render/import/text/json_window.h"

#include <stdlib.h>

enum { MAX_VALUE_BYTES = 1 << 28 };

/* A stream that fails gives its earlier bytes first; the next call fails. */
static int fill(struct window *w, struct dcr_err *err)
{
    const size_t before = w->len;
    ssize_t k = w->is_failed ? DCR_FAIL : 1;
    while (k > 0 && w->len < w->cap)
        if ((k = w->stream->read(w->stream->ctx, w->data + w->len, w->cap - w->len, &w->failure)) > 0)
            w->len += (size_t)k;
    w->is_end = k == 0;
    w->is_failed = k == DCR_FAIL;
    memset(w->data + w->len, 0, WINDOW_PAD);
    w->end = w->data + w->len;
    if (k >= 0 || (w->is_failed && w->len > before))
        return 0;
    if (err)
        *err = w->failure;
    return (int)k;
}

int window_open(struct window *w, struct dcr_stream *s, struct dcr_err *err)
{
    memset(w, 0, sizeof *w);
    w->stream = s;
    w->cap = WINDOW_BYTES;
    w->data = malloc(w->cap + WINDOW_PAD);
    if (!w->data)
        return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", s->name);
    w->at = w->data;
    return fill(w, err);
}

int window_more(struct window *w, struct dcr_err *err)
{
    size_t done = (size_t)(w->at - w->data), kept = w->len - done;
    if (w->is_end)
        return DCR_END;
    size_t cap = kept > w->cap / 2 ? 2 * w->cap : kept <= WINDOW_BYTES / 2 ? WINDOW_BYTES : w->cap;
    if (cap > MAX_VALUE_BYTES)
        return dcr_err_set(err, DCR_FAIL, "'%s' has one value of more than %d MiB at byte %lld", w->stream->name,
                           MAX_VALUE_BYTES >> 20, (long long)window_offset(w, w->at));
    if (cap != w->cap) {
        char *data = malloc(cap + WINDOW_PAD);
        if (!data)
            return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", w->stream->name);
        memcpy(data, w->at, kept);
        free(w->data);
        w->data = data;
        w->cap = cap;
    } else {
        memmove(w->data, w->at, kept);
    }
    w->n_copied += (int64_t)kept;
    w->offset += (int64_t)done;
    w->at = w->data;
    w->len = kept;
    return fill(w, err);
}

char *window_move(struct window *w, char *data)
{
    size_t done = (size_t)(w->at - w->data), kept = w->len - done;
    char *before = w->data;
    memcpy(data, w->at, kept);
    memset(data + kept, 0, WINDOW_PAD);
    w->n_copied += (int64_t)kept;
    w->offset += (int64_t)done;
    w->data = data;
    w->at = data;
    w->len = kept;
    w->end = data + kept;
    return before;
}

void window_close(struct window *w)
{
    free(w->data);
    w->data = NULL;
}

/* The next quote or bracket at or after p; may lie after end. */
static inline const char *next_structure(const char *p, const char *end)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
    const __m128i fold = _mm_set1_epi8(0x20); /* '[' | 0x20 is '{', ']' | 0x20 is '}' */
    for (; p < end; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p), f = _mm_or_si128(v, fold);
        __m128i hit =
            _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_or_si128(_mm_cmpeq_epi8(f, open), _mm_cmpeq_epi8(f, close)));
        unsigned m = (unsigned)_mm_movemask_epi8(hit);
        if (m)
            return p + __builtin_ctz(m);
    }
    return end;
#else
    while (p < end && *p != '"' && *p != '{' && *p != '}' && *p != '[' && *p != ']')
        p++;
    return p;
#endif
}

const char *json_skip(const char *p, const char *end)
{
    int depth = 0, is_escaped;
    if (p >= end)
        return NULL;
    if (*p != '"' && *p != '{' && *p != '[')
        return json_word_end(p, end);
    do {
        p = next_structure(p, end);
        if (p >= end)
            return NULL;
        if (*p == '"') {
            p = json_string_end(p + 1, end, &is_escaped);
            if (!p)
                return NULL;
        } else {
            depth += *p == '{' || *p == '[' ? 1 : -1;
        }
        p++;
    } while (depth > 0);
    return p;
}

int json_next_pair(const char **p, const char *end, struct json_pair *out)
{
    const char *at = *p;
    int is_escaped;
    while ((at = json_space(at, end)) < end && *at != '}') {
        const char *key = at + 1, *key_end = *at == '"' ? json_string_end(key, end, &is_escaped) : NULL;
        at = key_end ? json_space(key_end + 1, end) : key;
        if (!key_end || at >= end || *at != ':')
            continue; /* a comma, or something other than an object */
        out->key = key;
        out->n = (size_t)(key_end - key);
        out->value = json_space(at + 1, end);
        out->after = out->value < end ? json_skip(out->value, end) : NULL;
        *p = out->after ? out->after : end;
        return out->after != NULL;
    }
    *p = at;
    return 0;
}

static int hex4(const char *p, const char *end)
{
    int v = 0;
    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0)
            return -1;
        v = 16 * v + d;
    }
    return v;
}

static size_t put_utf8(char *out, size_t n, size_t cap, int c)
{
    char b[4];
    size_t k = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = k; i-- > 1; c >>= 6)
        b[i] = (char)(0x80 | (c & 0x3f));
    b[0] = (char)(lead[k] | c);
    if (n + k >= cap)
        return n;
    memcpy(out + n, b, k);
    return n + k;
}

size_t json_unescape(const char *raw, size_t n, char *out, size_t cap)
{
    static const char from[] = "bfnrt\"\\/", to[] = "\b\f\n\r\t\"\\/";
    const char *p = raw, *end = raw + n;
    size_t k = 0;
    while (p < end && k + 1 < cap) {
        if (*p != '\\') {
            out[k++] = *p++;
            continue;
        }
        p++;
        if (p < end && *p == 'u') {
            int c = hex4(p + 1, end), low;
            p += c >= 0 ? 5 : 1;
            if (c >= 0xd800 && c < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u' &&
                (low = hex4(p + 2, end)) >= 0xdc00 && low < 0xe000) {
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
                p += 6;
            }
            k = put_utf8(out, k, cap, c <= 0 || (c >= 0xd800 && c < 0xe000) ? '?' : c);
        } else {
            const char *hit = p < end && *p ? strchr(from, *p) : NULL;
            out[k++] = hit ? to[hit - from] : '?';
            p += p < end;
        }
    }
    out[k] = '\0';
    return k;
}
