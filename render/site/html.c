/* html.c - see html.h. Called by the template engine and by nothing that could forget it. */
#include "render/site/html.h"

#include "render/draw/utf8.h"

#include <string.h>

static void put_escaped(struct dcr_buf *out, const char *text, int quotes)
{
    while (*text) {
        char c[5];
        uint32_t code;
        if (*text == '\n' || *text == '\t') {
            dcr_buf_putc(out, *text++);
            continue;
        }
        text += utf8_next(text, c, &code);
        if (code == '&')
            dcr_buf_puts(out, "&amp;");
        else if (code == '<')
            dcr_buf_puts(out, "&lt;");
        else if (code == '>')
            dcr_buf_puts(out, "&gt;");
        else if (quotes && code == '"')
            dcr_buf_puts(out, "&quot;");
        else if (quotes && code == '\'')
            dcr_buf_puts(out, "&#39;");
        else
            dcr_buf_puts(out, c);
    }
}

void html_text(struct dcr_buf *out, const char *text)
{
    put_escaped(out, text, 0);
}

void html_attribute(struct dcr_buf *out, const char *text)
{
    put_escaped(out, text, 1);
}

void html_url(struct dcr_buf *out, const char *path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/#";
    /* Two slashes in front would name a host. */
    while (path[0] == '/' && path[1] == '/')
        path++;
    for (; *path; path++) {
        if (strchr(plain, *path))
            dcr_buf_putc(out, *path);
        else
            dcr_buf_printf(out, "%%%02X", (unsigned)(unsigned char)*path);
    }
}
