/* text.c - see text.h. */
#include "lib/text.h"

#include <string.h>

/* Length of the UTF-8 sequence at s, 0 when it is not one (RFC 3629: no overlong forms, no surrogates). */
static size_t utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    size_t n = s[0] >= 0xc2 && s[0] <= 0xdf ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4 : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

/* Marks that turn the direction of what follows (U+202A to 202E, U+2066 to 2069): a name could show as another. */
static int turns_direction(const unsigned char *s, size_t n)
{
    return n == 3 && s[0] == 0xe2 &&
           ((s[1] == 0x80 && s[2] >= 0xaa && s[2] <= 0xae) || (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9));
}

void text_clean_bytes(char *text, size_t n)
{
    size_t at = 0;
    while (at < n) {
        if (text[at] >= 0x20 && text[at] < 0x7f) { /* nearly all there is */
            at++;
            continue;
        }
        size_t k = utf8_length((const unsigned char *)text + at);
        if (k == 0 || at + k > n) {
            text[at++] = '?';
        } else {
            if (k == 1)
                text[at] = ' ';
            else if (turns_direction((const unsigned char *)text + at, k))
                memset(text + at, '?', k);
            at += k;
        }
    }
}

const char *text_clean(struct dcr_arena *a, const char *text)
{
    enum { MAX_TEXT_BYTES = 4096 };
    if (!text || !*text)
        return "";
    size_t n = strnlen(text, MAX_TEXT_BYTES);
    char *out = dcr_arena_strndup(a, text, n);
    text_clean_bytes(out, n);
    return out;
}

void text_xml(struct dcr_buf *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            dcr_buf_puts(out, "&amp;");
            break;
        case '<':
            dcr_buf_puts(out, "&lt;");
            break;
        case '>':
            dcr_buf_puts(out, "&gt;");
            break;
        case '"':
            dcr_buf_puts(out, "&quot;");
            break;
        default:
            dcr_buf_putc(out, (unsigned char)*text < ' ' ? ' ' : *text);
        }
}
