/* markdown_parts.c - see markdown_parts.h. */
#include "render/narrate/markdown_parts.h"

#include "render/say/say.h"

#include <string.h>

void md_escaped(struct dcr_buf *out, const char *text)
{
    for (const char *s = text; *s; s++) {
        if (strchr("\\`*_[]<>|&~#", *s))
            dcr_buf_putc(out, '\\');
        dcr_buf_putc(out, *s == '\n' ? ' ' : *s);
    }
}

void md_paragraph(struct dcr_buf *out, const char *text)
{
    if (!text || !*text)
        return;
    md_escaped(out, text);
    dcr_buf_puts(out, "\n\n");
}

void md_reason(struct dcr_buf *out, const struct reason *why)
{
    struct dcr_buf b = {0};
    say_put_reason(&b, why);
    md_escaped(out, dcr_buf_text(&b));
    dcr_buf_release(&b);
}

void md_clause(struct dcr_buf *out, const struct reason *why)
{
    struct dcr_buf b = {0};
    say_put_clause(&b, why);
    md_escaped(out, dcr_buf_text(&b));
    dcr_buf_release(&b);
}
