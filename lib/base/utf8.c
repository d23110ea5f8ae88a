/* utf8.c - see utf8.h. */
#include "lib/base/utf8.h"

#include <string.h>

/* The first character of text. returns its length in bytes; 0: not valid, or U+FFFE, or U+FFFF */
static size_t decode(const char *text, uint32_t *code)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000}; /* overlong forms are invalid */
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) {
        *code = s[0];
        return 1;
    }
    size_t n = s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : 0;
    if (n == 0)
        return 0;
    uint32_t v = s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        v = (v << 6) | (s[i] & 0x3fu);
    }
    if (v < least[n] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000) || v == 0xfffe || v == 0xffff)
        return 0;
    *code = v;
    return n;
}

/* source: Unicode 15.1, DerivedGeneralCategory.txt */
static int is_unseen(uint32_t code)
{
    static const uint32_t ranges[][2] = {{0, 0x1f},          {0x7f, 0x9f},       {0xad, 0xad},       {0x600, 0x605},
                                         {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},
                                         {0x8e2, 0x8e2},     {0x180e, 0x180e},   {0x200b, 0x200f},   {0x2028, 0x202e},
                                         {0x2060, 0x206f},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0x110bd, 0x110bd},
                                         {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
                                         {0xe0000, 0xe0fff}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges && code >= ranges[i][0]; i++)
        if (code <= ranges[i][1])
            return 1;
    return 0;
}

size_t utf8_next(const char *text, char out[5], uint32_t *code)
{
    size_t n = decode(text, code);
    if (n == 0 || is_unseen(*code)) {
        memcpy(out, "\xef\xbf\xbd", 4);
        *code = 0xfffd;
        return n ? n : 1;
    }
    memcpy(out, text, n);
    out[n] = '\0';
    return n;
}

size_t utf8_clean(const char *text, char *out, size_t out_size)
{
    size_t len = 0;
    while (*text) {
        char c[5];
        uint32_t code;
        size_t took = utf8_next(text, c, &code);
        size_t n = strlen(c);
        if (len + n + 1 > out_size)
            break;
        memcpy(out + len, c, n);
        len += n;
        text += took;
    }
    out[len] = '\0';
    return len;
}

void utf8_mask(char *text, size_t n, char blank)
{
    for (size_t at = 0; at < n;) {
        uint32_t code = 0;
        if (text[at] >= 0x20 && text[at] < 0x7f) { /* nearly every character */
            at++;
            continue;
        }
        size_t k = decode(text + at, &code);
        if (k == 1 && (text[at] == '\n' || text[at] == '\t' || (text[at] == '\r' && blank)))
            text[at] = blank ? blank : text[at];
        else if (k == 0 || at + k > n || is_unseen(code))
            memset(text + at, '?', k = k && at + k <= n ? k : 1);
        at += k;
    }
}

size_t utf8_mark(const char *text, size_t n)
{
    return n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}
