/* buf.c - see buf.h. */
#include "lib/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int reserve(struct dcr_buf *b, size_t extra)
{
    size_t max = b->max ? b->max : (size_t)1 << 30;
    if (b->failed)
        return -1;
    if (extra >= max || b->len > max - extra - 1) {
        b->failed = 1;
        return -1;
    }
    size_t need = b->len + extra + 1;
    if (need <= b->cap)
        return 0;
    size_t cap = b->cap ? b->cap : 256;
    while (cap < need)
        cap *= 2;
    char *p = realloc(b->data, cap);
    if (!p) {
        b->failed = 1;
        return -1;
    }
    b->data = p;
    b->cap = cap;
    return 0;
}

void dcr_buf_add(struct dcr_buf *b, const void *bytes, size_t n)
{
    if (reserve(b, n))
        return;
    if (n)
        memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void dcr_buf_puts(struct dcr_buf *b, const char *text)
{
    dcr_buf_add(b, text, strlen(text));
}

void dcr_buf_putc(struct dcr_buf *b, char c)
{
    dcr_buf_add(b, &c, 1);
}

void dcr_buf_printf(struct dcr_buf *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n >= 0 && reserve(b, (size_t)n) == 0) {
        vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    } else {
        b->failed = 1;
    }
    va_end(again);
}

const char *dcr_buf_text(struct dcr_buf *b)
{
    return b->failed || !b->data ? "" : b->data;
}

void dcr_buf_clear(struct dcr_buf *b)
{
    b->len = 0;
    b->failed = 0;
    if (b->data)
        b->data[0] = '\0';
}

void dcr_buf_release(struct dcr_buf *b)
{
    free(b->data);
    b->data = NULL;
    b->len = b->cap = 0;
    b->failed = 0;
}
