/* markdown.c - see markdown.h. */
#include "render/write/markdown.h"

#include <string.h>

/* Control characters would end a line, and with it a cell or a heading. */
static char printable(char c)
{
    return (unsigned char)c < ' ' ? ' ' : c;
}

/* source: CommonMark 0.30, section 2.4; forges also use "~" */
static void put_escaped(const char *text, struct dcr_buf *out)
{
    for (const char *s = text; *s; s++) {
        int begins_nothing = s[0] == '<' && s[1] == ' ';
        if (strchr("\\`*_[]<>|&~#", *s) && !begins_nothing)
            dcr_buf_putc(out, '\\');
        dcr_buf_putc(out, printable(*s));
    }
}

/* "- a", "+ a", "---" and "1. a" at the begin of a block would begin a list or a rule, so the character that does this
 * is escaped.
 *  returns  the rest of text */
static const char *put_begin(const char *text, struct dcr_buf *out)
{
    size_t digits = strspn(text, "0123456789"), n = digits;
    if (digits ? strchr(".)", text[n]) : strchr("-+=", text[n])) {
        const char *behind = text + n + 1;
        if (text[n] && (strchr(" -=", *behind) || !*behind)) {
            dcr_buf_printf(out, "%.*s\\%c", (int)digits, text, text[n]);
            return behind;
        }
    }
    return text;
}

/* Code has no escapes except, in a table, for the pipe. */
static void put_code(const char *text, int is_cell, struct dcr_buf *out)
{
    dcr_buf_putc(out, '`');
    for (const char *s = text; *s; s++) {
        if (is_cell && *s == '|')
            dcr_buf_putc(out, '\\');
        dcr_buf_putc(out, *s == '`' ? '\'' : printable(*s));
    }
    dcr_buf_putc(out, '`');
}

static void put_text(const struct doc_node *n, struct dcr_buf *out)
{
    for (const struct doc_text *t = n->text; t; t = t->next)
        if (t->style == DOC_CODE)
            put_code(t->text, n->kind == DOC_CELL, out);
        else {
            int is_begin = t == n->text && t->style == DOC_PLAIN && n->kind != DOC_CELL && n->kind != DOC_COLUMN;
            dcr_buf_puts(out, t->style == DOC_STRONG ? "**" : "");
            put_escaped(is_begin ? put_begin(t->text, out) : t->text, out);
            dcr_buf_puts(out, t->style == DOC_STRONG ? "**" : "");
        }
}

/* The fence is longer than any row of backticks inside. */
static void put_command(const struct doc_node *n, struct dcr_buf *out)
{
    const char *command = n->last_text->text;
    size_t fence = 3;
    for (const char *s = command; (s = strchr(s, '`')); s += strspn(s, "`"))
        fence = strspn(s, "`") >= fence ? strspn(s, "`") + 1 : fence;
    for (size_t i = 0; i < fence; i++)
        dcr_buf_putc(out, '`');
    dcr_buf_putc(out, '\n');
    for (const char *s = command; *s; s++)
        dcr_buf_putc(out, printable(*s));
    dcr_buf_putc(out, '\n');
    for (size_t i = 0; i < fence; i++)
        dcr_buf_putc(out, '`');
    dcr_buf_putc(out, '\n');
}

static void put_list(const struct doc_node *list, struct dcr_buf *out)
{
    int n = 0;
    for (const struct doc_node *item = list->first; item; item = item->next) {
        if (list->level == DOC_NUMBERS)
            dcr_buf_printf(out, "%d. ", ++n);
        else
            dcr_buf_puts(out, "- ");
        put_text(item, out);
        dcr_buf_putc(out, '\n');
    }
}

static void put_cell(const struct doc_node *n, struct dcr_buf *out)
{
    if (n && n->text) {
        dcr_buf_putc(out, ' ');
        put_text(n, out);
    }
    dcr_buf_puts(out, " |");
}

static void put_table(const struct doc_node *table, struct dcr_buf *out)
{
    const struct doc_node *n;
    dcr_buf_putc(out, '|');
    for (n = table->first; n && n->kind == DOC_COLUMN; n = n->next)
        put_cell(n, out);
    dcr_buf_puts(out, "\n|");
    for (n = table->first; n && n->kind == DOC_COLUMN; n = n->next)
        dcr_buf_puts(out, n->level == DOC_RIGHT ? " ---: |" : " --- |");
    dcr_buf_putc(out, '\n');
    for (; n; n = n->next) {
        const struct doc_node *cell = n->first;
        dcr_buf_putc(out, '|');
        for (const struct doc_node *c = table->first; c && c->kind == DOC_COLUMN; c = c->next) {
            put_cell(cell, out);
            cell = cell ? cell->next : NULL;
        }
        dcr_buf_putc(out, '\n');
    }
}

static void put_blocks(const struct doc_node *n, struct dcr_buf *out);

static void put_block(const struct doc_node *n, struct dcr_buf *out)
{
    switch (n->kind) {
    case DOC_LIST:
        put_list(n, out);
        break;
    case DOC_TABLE:
        put_table(n, out);
        break;
    case DOC_COMMAND:
        put_command(n, out);
        break;
    case DOC_DETAILS:
        dcr_buf_puts(out, "**");
        put_text(n, out);
        dcr_buf_puts(out, "**\n");
        put_blocks(n->first, out);
        break;
    case DOC_HEADING:
        for (int i = 0; i < n->level; i++)
            dcr_buf_putc(out, '#');
        dcr_buf_putc(out, ' ');
        /* fall through */
    default:
        put_text(n, out);
        dcr_buf_putc(out, '\n');
    }
}

static void put_blocks(const struct doc_node *n, struct dcr_buf *out)
{
    for (; n; n = n->next) {
        if (!n->text && !n->first)
            continue;
        if (out->len)
            dcr_buf_putc(out, '\n');
        put_block(n, out);
    }
}

void write_markdown(const struct doc *d, struct dcr_buf *out)
{
    out->failed |= d->failed;
    put_blocks(d->first, out);
}
