/* json_index.c - see json_index.h. */
#include "render/import/text/json_index.h"

#include <stdlib.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { WORD = 64 };

/* State that one block passes to the next. */
struct carried {
    uint64_t in_string;  /* all ones inside a string */
    uint64_t is_escaped; /* 1: the next byte follows an odd number of backslashes */
};

/* Bytes that an odd number of backslashes precedes. */
static inline uint64_t escaped(uint64_t backslash, uint64_t *carry)
{
    const uint64_t even = UINT64_C(0x5555555555555555);
    uint64_t sum;
    backslash &= ~*carry;
    uint64_t follows = backslash << 1 | *carry, odd_starts = backslash & ~even & ~follows;
    *carry = __builtin_add_overflow(odd_starts, backslash, &sum);
    return (even ^ sum << 1) & follows;
}

static inline void put(struct json_index *x, size_t i, struct carried *c, uint64_t quote, uint64_t backslash,
                       uint64_t bracket)
{
    if (backslash | c->is_escaped)
        quote &= ~escaped(backslash, &c->is_escaped);
    uint64_t in = quote; /* from each opening quote up to its closing one */
    for (int k = 1; k < WORD; k *= 2)
        in ^= in << k;
    in ^= c->in_string;
    c->in_string = (uint64_t)((int64_t)in >> 63);
    x->quotes[i] = quote;
    x->brackets[i] = bracket & ~in;
}

/* '[' | 0x20 is '{', ']' | 0x20 is '}'. */
static void make_plain(struct json_index *x, const char *p, size_t n)
{
    struct carried c = {0, 0};
    for (size_t i = 0; i < n; i++, p += WORD) {
        uint64_t quote = 0, backslash = 0, bracket = 0;
        for (int k = 0; k < WORD; k++) {
            char b = p[k], folded = (char)(b | 0x20);
            quote |= (uint64_t)(b == '"') << k;
            backslash |= (uint64_t)(b == '\\') << k;
            bracket |= (uint64_t)(folded == '{' || folded == '}') << k;
        }
        put(x, i, &c, quote, backslash, bracket);
    }
}

#ifdef __x86_64__
static void make_sse2(struct json_index *x, const char *p, size_t n)
{
    const __m128i fold = _mm_set1_epi8(0x20);
    struct carried c = {0, 0};
    for (size_t i = 0; i < n; i++, p += WORD) {
        uint64_t quote = 0, backslash = 0, bracket = 0;
        for (int k = 0; k < WORD; k += 16) {
            __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + k)), f = _mm_or_si128(v, fold);
            __m128i b = _mm_or_si128(_mm_cmpeq_epi8(f, _mm_set1_epi8('{')), _mm_cmpeq_epi8(f, _mm_set1_epi8('}')));
            quote |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8('"'))) << k;
            backslash |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8('\\'))) << k;
            bracket |= (uint64_t)(unsigned)_mm_movemask_epi8(b) << k;
        }
        put(x, i, &c, quote, backslash, bracket);
    }
}

__attribute__((target("avx2"))) static void make_avx2(struct json_index *x, const char *p, size_t n)
{
    const __m256i fold = _mm256_set1_epi8(0x20);
    struct carried c = {0, 0};
    for (size_t i = 0; i < n; i++, p += WORD) {
        uint64_t quote = 0, backslash = 0, bracket = 0;
        for (int k = 0; k < WORD; k += 32) {
            __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(p + k)), f = _mm256_or_si256(v, fold);
            __m256i b = _mm256_or_si256(_mm256_cmpeq_epi8(f, _mm256_set1_epi8('{')),
                                        _mm256_cmpeq_epi8(f, _mm256_set1_epi8('}')));
            quote |= (uint64_t)(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('"'))) << k;
            backslash |= (uint64_t)(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\'))) << k;
            bracket |= (uint64_t)(unsigned)_mm256_movemask_epi8(b) << k;
        }
        put(x, i, &c, quote, backslash, bracket);
    }
}
#endif

static int way;

void json_index_way(int w)
{
    way = w;
}

int json_index_make(struct json_index *x, const char *from, const char *end)
{
    size_t len = (size_t)(end - from), n = (len + WORD - 1) / WORD;
    if (n + 1 > x->cap) {
        size_t cap = 2 * (n + 1);
        json_index_release(x);
        x->quotes = malloc(2 * cap * sizeof *x->quotes);
        if (!x->quotes)
            return -1;
        x->brackets = x->quotes + cap;
        x->cap = cap;
    }
    x->from = from;
    x->end = end;
#ifdef __x86_64__
    if (way == 0 && __builtin_cpu_supports("avx2"))
        make_avx2(x, from, n);
    else if (way < 2)
        make_sse2(x, from, n);
    else
#endif
        make_plain(x, from, n);
    x->quotes[n] = x->brackets[n] = ~UINT64_C(0);
    if (len % WORD) {
        x->quotes[n - 1] |= ~UINT64_C(0) << len % WORD;
        x->brackets[n - 1] |= ~UINT64_C(0) << len % WORD;
    }
    return 0;
}

void json_index_release(struct json_index *x)
{
    free(x->quotes);
    *x = (struct json_index){0};
}
