/* escape.c - see escape.h. Only the template engine calls it, so no page can forget it. */
#include "render/write/escape.h"

#include "lib/base/utf8.h"
#include "render/doc/doc.h"

#include <stdio.h>
#include <string.h>

void html_text(struct dcr_buf *out, const char *text)
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
        else if (code == '"')
            dcr_buf_puts(out, "&quot;");
        else if (code == '\'')
            dcr_buf_puts(out, "&#39;");
        else
            dcr_buf_puts(out, c);
    }
}

/* Is the space at text one between a number and its unit? */
static int parts_unit(const char *start, const char *text)
{
    static const char *const units[] = {"%", "ms", "us", "ns", "s", "GB/s", "MB/s", "GB", "MB", "kB", "B"};
    if (text == start || text[-1] < '0' || text[-1] > '9')
        return 0;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t n = strlen(units[i]);
        if (!strncmp(text + 1, units[i], n) && !(text[1 + n] >= 'a' && text[1 + n] <= 'z'))
            return 1;
    }
    return 0;
}

void html_prose(struct dcr_buf *out, const char *text)
{
    struct dcr_buf run = {0}; /* plain text not yet written */
    for (const char *s = text; *s;) {
        size_t n = doc_option(text, s);
        if (n) {
            html_text(out, dcr_buf_text(&run));
            dcr_buf_clear(&run);
            dcr_buf_printf(out, "<code>%.*s</code>", (int)n, s);
            s += n;
        } else if (*s == ' ' && parts_unit(text, s)) {
            dcr_buf_puts(&run, "\xc2\xa0");
            s++;
        } else {
            dcr_buf_putc(&run, *s++);
        }
    }
    html_text(out, dcr_buf_text(&run));
    if (run.failed)
        out->failed = 1;
    dcr_buf_release(&run);
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

/* "section" when nothing of the heading can be used; an id begins with a letter. */
static void make_slug(const char *heading, char *out, size_t n)
{
    size_t len = 0;
    int hyphen = 0;
    for (; *heading && len + 2 < n; heading++) {
        unsigned char c = (unsigned char)*heading;
        if (len == 0 && c >= '0' && c <= '9' && n > 16) {
            memcpy(out, "at-", 3);
            len = 3;
        }
        if (c >= 'A' && c <= 'Z')
            c = (unsigned char)(c + 32);
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
            if (hyphen && len)
                out[len++] = '-';
            hyphen = 0;
            out[len++] = (char)c;
        } else {
            hyphen = 1;
        }
    }
    out[len] = '\0';
    if (len == 0 && n > 7)
        memcpy(out, "section", 8);
}

void html_id(struct html_ids *ids, const char *heading, struct dcr_buf *out)
{
    char slug[96], line[sizeof slug + 2];
    int n_before = 0;
    make_slug(heading, slug, sizeof slug);
    snprintf(line, sizeof line, "\n%s\n", slug);
    for (const char *s = dcr_buf_text(&ids->used); (s = strstr(s, line)); s++)
        n_before++;
    dcr_buf_puts(&ids->used, line);
    dcr_buf_puts(out, slug);
    if (n_before)
        dcr_buf_printf(out, "-%d", n_before + 1);
}

void base64_add(struct dcr_buf *out, const void *data, size_t n)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = data;
    for (size_t i = 0; i < n; i += 3) {
        unsigned v = (unsigned)bytes[i] << 16 | (i + 1 < n ? (unsigned)bytes[i + 1] << 8 : 0) |
                     (i + 2 < n ? (unsigned)bytes[i + 2] : 0);
        const char four[4] = {letters[v >> 18], letters[v >> 12 & 63], i + 1 < n ? letters[v >> 6 & 63] : '=',
                              i + 2 < n ? letters[v & 63] : '='};
        dcr_buf_add(out, four, sizeof four);
    }
}
