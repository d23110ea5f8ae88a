/* text.c - see text.h. */
#include "lib/base/text.h"

#include "lib/base/utf8.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *text_clean(struct dcr_arena *a, const char *text)
{
    enum { MAX_TEXT_BYTES = 4096 };
    if (!text || !*text)
        return "";
    size_t n = strnlen(text, MAX_TEXT_BYTES);
    char *out = dcr_arena_strndup(a, text, n);
    utf8_mask(out, n, ' ');
    return out;
}

void text_print(FILE *to, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    fputs(n < 0 ? "out of memory\n" : dcr_clean_text(text), to);
    free(n < 0 ? NULL : text);
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

void text_json(struct dcr_buf *out, const char *text)
{
    dcr_buf_putc(out, '"');
    while (*text) {
        char c[5];
        uint32_t code;
        text += utf8_next(text, c, &code);
        if (*c == '"' || *c == '\\')
            dcr_buf_putc(out, '\\');
        dcr_buf_puts(out, c);
    }
    dcr_buf_putc(out, '"');
}
