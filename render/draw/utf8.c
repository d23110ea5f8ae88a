/* utf8.c - see utf8.h. */
#include "render/draw/utf8.h"

#include <stdbool.h>
#include <string.h>

/* Decodes one character as RFC 3629 has it (no surrogates, no long forms). returns  its bytes, 0 when there is none */
static size_t decode(const unsigned char *s, uint32_t *code)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
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

/* Control characters, and those that turn the direction of what stands behind them: a name must not turn a sentence. */
static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x202a && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

size_t utf8_next(const char *text, char out[5], uint32_t *code)
{
    size_t n = decode((const unsigned char *)text, code);
    if (n == 0 || is_control(*code)) {
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
