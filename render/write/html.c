/* html.c - see html.h. */
#include "render/write/html.h"

#include "render/write/escape.h"

/* Data that the parts of one page share. */
struct page {
    struct dcr_buf *out;
    struct html_ids ids;
    int n_tables;
};

static void put_text(struct page *p, const struct doc_node *n)
{
    static const char *const open[] = {"", "<strong>", "<code>"}, *const close[] = {"", "</strong>", "</code>"};
    for (const struct doc_text *t = n->text; t; t = t->next) {
        dcr_buf_puts(p->out, open[t->style]);
        if (t->style == DOC_CODE)
            html_text(p->out, t->text);
        else
            html_prose(p->out, t->text);
        dcr_buf_puts(p->out, close[t->style]);
    }
}

static void put_heading(struct page *p, const struct doc_node *n)
{
    struct dcr_buf words = {0};
    for (const struct doc_text *t = n->text; t; t = t->next)
        dcr_buf_puts(&words, t->text);
    dcr_buf_printf(p->out, "<h%d id=\"", n->level);
    html_id(&p->ids, dcr_buf_text(&words), p->out);
    dcr_buf_puts(p->out, "\">");
    put_text(p, n);
    dcr_buf_printf(p->out, "</h%d>\n", n->level);
    p->out->failed |= words.failed;
    dcr_buf_release(&words);
}

static void put_list(struct page *p, const struct doc_node *list)
{
    const char *tag = list->level == DOC_NUMBERS ? "ol" : "ul";
    dcr_buf_printf(p->out, "<%s>\n", tag);
    for (const struct doc_node *item = list->first; item; item = item->next) {
        dcr_buf_puts(p->out, "<li>");
        put_text(p, item);
        dcr_buf_puts(p->out, "</li>\n");
    }
    dcr_buf_printf(p->out, "</%s>\n", tag);
}

static void put_cell(struct page *p, const char *tag, const struct doc_node *column, const struct doc_node *cell)
{
    dcr_buf_printf(p->out, "<%s%s%s>", tag, tag[1] == 'h' ? " scope=\"col\"" : "",
                   column->level == DOC_RIGHT ? " class=\"num\"" : "");
    if (cell)
        put_text(p, cell);
    dcr_buf_printf(p->out, "</%s>", tag);
}

static void put_row(struct page *p, const struct doc_node *table, const struct doc_node *row)
{
    const struct doc_node *cell = row->first;
    dcr_buf_puts(p->out, "<tr>");
    for (const struct doc_node *c = table->first; c && c->kind == DOC_COLUMN; c = c->next) {
        put_cell(p, "td", c, cell);
        cell = cell ? cell->next : NULL;
    }
    dcr_buf_puts(p->out, "</tr>\n");
}

static void put_table(struct page *p, const struct doc_node *table)
{
    const struct doc_node *n = table->first;
    dcr_buf_printf(p->out, "<section class=\"scroll\" tabindex=\"0\" aria-label=\"Table %d\"><table>\n<thead>\n<tr>",
                   ++p->n_tables);
    for (; n && n->kind == DOC_COLUMN; n = n->next)
        put_cell(p, "th", n, n);
    dcr_buf_puts(p->out, "</tr>\n</thead>\n<tbody>\n");
    for (; n; n = n->next)
        put_row(p, table, n);
    dcr_buf_puts(p->out, "</tbody>\n</table></section>\n");
}

static void put_blocks(struct page *p, const struct doc_node *n);

static void put_block(struct page *p, const struct doc_node *n)
{
    switch (n->kind) {
    case DOC_HEADING:
        put_heading(p, n);
        break;
    case DOC_LIST:
        put_list(p, n);
        break;
    case DOC_TABLE:
        put_table(p, n);
        break;
    case DOC_COMMAND:
        dcr_buf_puts(p->out, "<pre><code>");
        html_text(p->out, n->last_text->text);
        dcr_buf_puts(p->out, "\n</code></pre>\n");
        break;
    case DOC_DETAILS:
        dcr_buf_puts(p->out, "<details><summary>");
        put_text(p, n);
        dcr_buf_puts(p->out, "</summary>\n");
        put_blocks(p, n->first);
        dcr_buf_puts(p->out, "</details>\n");
        break;
    default:
        dcr_buf_puts(p->out, "<p>");
        put_text(p, n);
        dcr_buf_puts(p->out, "</p>\n");
    }
}

static void put_blocks(struct page *p, const struct doc_node *n)
{
    for (; n; n = n->next)
        if (n->text || n->first)
            put_block(p, n);
}

void write_html(const struct doc *d, struct dcr_buf *out)
{
    struct page p = {.out = out};
    put_blocks(&p, d->first);
    out->failed |= d->failed | p.ids.used.failed;
    dcr_buf_release(&p.ids.used);
}
