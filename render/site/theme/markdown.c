/* markdown.c - see markdown.h. cmark parses and renders; tables and heading ids are put in its tree as custom nodes.
 * Called by page_method.c for the formulas and the glossary. Test: tests/unit/test_markdown.c */
#include "render/site/theme/markdown.h"

#include "render/write/escape.h"

#include <cmark.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS (CMARK_OPT_DEFAULT | CMARK_OPT_VALIDATE_UTF8)
#define COLUMNS_MAX 32

struct line {
    const char *text;
    size_t len;
};

static struct line line_at(const char *text, size_t len, int number)
{
    const char *at = text, *end = text + len;
    for (int i = 1; i < number && at < end; i++) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        at = eol ? eol + 1 : end;
    }
    const char *eol = memchr(at, '\n', (size_t)(end - at));
    struct line l = {at, (size_t)((eol ? eol : end) - at)};
    while (l.len && (l.text[0] == ' ' || l.text[0] == '\t')) {
        l.text++;
        l.len--;
    }
    while (l.len && strchr(" \t\r", l.text[l.len - 1]))
        l.len--;
    return l;
}

/* Cut a row at its pipes; "\|" and pipes inside `code` do not cut. returns  the number of cells */
static int cut_row(struct line row, struct line cell[COLUMNS_MAX])
{
    if (row.len && row.text[0] == '|') {
        row.text++;
        row.len--;
    }
    int n = 0, in_code = 0;
    size_t start = 0;
    for (size_t i = 0; i <= row.len && n < COLUMNS_MAX; i++) {
        if (i < row.len && row.text[i] == '`')
            in_code = !in_code;
        if (i < row.len && row.text[i] == '\\' && i + 1 < row.len)
            i++;
        else if (i == row.len || (row.text[i] == '|' && !in_code)) {
            if (i == row.len && start == i && n > 0)
                break; /* the pipe at the end of the row closes it */
            cell[n++] = (struct line){row.text + start, i - start};
            start = i + 1;
        }
    }
    return n;
}

enum side { SIDE_NONE, SIDE_LEFT, SIDE_MIDDLE, SIDE_RIGHT };

/* The row of dashes under a table's head. returns  the columns, 0 when it is none */
static int read_rule(struct line row, enum side side[COLUMNS_MAX])
{
    struct line cell[COLUMNS_MAX];
    if (!memchr(row.text, '-', row.len) || !memchr(row.text, '|', row.len))
        return 0;
    int n = cut_row(row, cell);
    for (int i = 0; i < n; i++) {
        size_t dashes = 0;
        int left = 0, right = 0;
        for (size_t k = 0; k < cell[i].len; k++) {
            char c = cell[i].text[k];
            if (c == '-')
                dashes++;
            else if (c == ':' && dashes == 0)
                left = 1;
            else if (c == ':')
                right = 1;
            else if (c != ' ')
                return 0;
        }
        if (dashes == 0)
            return 0;
        side[i] = left && right ? SIDE_MIDDLE : right ? SIDE_RIGHT : left ? SIDE_LEFT : SIDE_NONE;
    }
    return n;
}

/* A cell is converted as a paragraph, whose tags are then removed. A no-break space in front, which is also removed,
 * forces a paragraph: otherwise "-" would be a list and "# x" a heading. */
static int put_cell(struct line cell, struct dcr_buf *out)
{
    static const char before[] = "\xc2\xa0", open[] = "<p>\xc2\xa0", close[] = "</p>\n";
    struct dcr_buf plain = {0};
    size_t first = 0;
    while (first < cell.len && (cell.text[first] == ' ' || cell.text[first] == '\t'))
        first++;
    dcr_buf_puts(&plain, before);
    for (size_t i = first; i < cell.len; i++) {
        if (cell.text[i] == '\\' && i + 1 < cell.len && cell.text[i + 1] == '|')
            continue;
        dcr_buf_putc(&plain, cell.text[i]);
    }
    char *html = cmark_markdown_to_html(dcr_buf_text(&plain), plain.len, OPTIONS);
    dcr_buf_release(&plain);
    if (!html)
        return -1;
    size_t n = strlen(html), around = sizeof open - 1 + sizeof close - 1;
    if (n >= around)
        dcr_buf_add(out, html + sizeof open - 1, n - around);
    free(html);
    return 0;
}

static int put_row(struct line row, const enum side *side, int n_columns, int is_head, struct dcr_buf *out)
{
    static const char *const classes[] = {"", "", " class=\"mid\"", " class=\"num\""};
    struct line cell[COLUMNS_MAX];
    int n = cut_row(row, cell);
    dcr_buf_puts(out, "<tr>");
    for (int i = 0; i < n_columns; i++) {
        dcr_buf_printf(out, "<%s%s%s>", is_head ? "th" : "td", is_head ? " scope=\"col\"" : "", classes[side[i]]);
        if (i < n && put_cell(cell[i], out))
            return -1;
        dcr_buf_puts(out, is_head ? "</th>" : "</td>");
    }
    dcr_buf_puts(out, "</tr>\n");
    return 0;
}

/* name  tells the table from all others of a page
 * returns  1 when the paragraph is a table and was added to out, 0 when not, -1 without memory */
static int put_table(cmark_node *paragraph, const char *text, size_t len, const char *name, struct dcr_buf *out)
{
    enum side side[COLUMNS_MAX];
    int first = cmark_node_get_start_line(paragraph), last = cmark_node_get_end_line(paragraph);
    if (last <= first)
        return 0;
    struct line head = line_at(text, len, first);
    int n_columns = read_rule(line_at(text, len, first + 1), side);
    if (n_columns == 0 || !memchr(head.text, '|', head.len))
        return 0;
    dcr_buf_puts(out, "<section class=\"scroll\" tabindex=\"0\" aria-label=\"");
    html_text(out, name);
    dcr_buf_puts(out, "\"><table>\n<thead>\n");
    if (put_row(head, side, n_columns, 1, out))
        return -1;
    dcr_buf_puts(out, "</thead>\n<tbody>\n");
    for (int i = first + 2; i <= last; i++)
        if (put_row(line_at(text, len, i), side, n_columns, 0, out))
            return -1;
    dcr_buf_puts(out, "</tbody>\n</table></section>\n");
    return 1;
}

static void collect_text(cmark_node *node, struct dcr_buf *out)
{
    cmark_iter *it = cmark_iter_new(node);
    cmark_event_type event;
    while ((event = cmark_iter_next(it)) != CMARK_EVENT_DONE) {
        cmark_node_type type = cmark_node_get_type(cmark_iter_get_node(it));
        if (event == CMARK_EVENT_ENTER && (type == CMARK_NODE_TEXT || type == CMARK_NODE_CODE))
            dcr_buf_puts(out, cmark_node_get_literal(cmark_iter_get_node(it)));
        else if (type == CMARK_NODE_SOFTBREAK)
            dcr_buf_putc(out, ' ');
    }
    cmark_iter_free(it);
}

/* words  gets the text of the heading */
static void put_heading(cmark_node *heading, const char *prefix, struct html_ids *ids, struct dcr_buf *words,
                        struct dcr_buf *out)
{
    int level = cmark_node_get_heading_level(heading);
    cmark_node_set_heading_level(heading, level < 6 ? level + 1 : 6);
    dcr_buf_clear(words);
    collect_text(heading, words);
    char *html = cmark_render_html(heading, OPTIONS);
    dcr_buf_printf(out, "<h%d id=\"%s", cmark_node_get_heading_level(heading), prefix);
    html_id(ids, dcr_buf_text(words), out);
    dcr_buf_printf(out, "\"%s", html ? html + 3 : ">");
    free(html);
}

static void put_custom(cmark_node *old, struct dcr_buf *html)
{
    cmark_node *custom = cmark_node_new(CMARK_NODE_CUSTOM_BLOCK);
    cmark_node_set_on_enter(custom, dcr_buf_text(html));
    if (cmark_node_replace(old, custom))
        cmark_node_free(old);
    else
        cmark_node_free(custom);
}

/* Cells are converted separately, so their links are found in the text of the whole. */
static void prefix_links(const char *html, const char *prefix, struct dcr_buf *out)
{
    static const char link[] = "<a href=\"#";
    for (const char *next; (next = strstr(html, link)); html = next) {
        next += sizeof link - 1;
        dcr_buf_add(out, html, (size_t)(next - html));
        dcr_buf_puts(out, prefix);
    }
    dcr_buf_puts(out, html);
}

static int replace_blocks(cmark_node *root, const char *text, size_t len, const char *prefix)
{
    struct dcr_buf html = {0}, heading = {0}, name = {0};
    struct html_ids ids = {0};
    int rc = 0, n_tables = 0;
    cmark_node *next;
    for (cmark_node *node = cmark_node_first_child(root); node && rc == 0; node = next) {
        next = cmark_node_next(node);
        dcr_buf_clear(&html);
        if (cmark_node_get_type(node) == CMARK_NODE_HEADING) {
            put_heading(node, prefix, &ids, &heading, &html);
            put_custom(node, &html);
        } else if (cmark_node_get_type(node) == CMARK_NODE_PARAGRAPH) {
            dcr_buf_clear(&name); /* a page may hold several documents, each of which counts its tables from 1 */
            dcr_buf_printf(&name, "%s%stable %d", dcr_buf_text(&heading), heading.len ? ", " : "", n_tables + 1);
            int is_table = put_table(node, text, len, dcr_buf_text(&name), &html);
            n_tables += is_table > 0;
            if (is_table > 0)
                put_custom(node, &html);
            else if (is_table < 0)
                rc = -1;
        }
        if (html.failed || ids.used.failed || heading.failed || name.failed)
            rc = -1;
    }
    dcr_buf_release(&html);
    dcr_buf_release(&heading);
    dcr_buf_release(&name);
    dcr_buf_release(&ids.used);
    return rc;
}

int markdown_to_html(const char *text, size_t len, const char *prefix, struct dcr_buf *out, struct dcr_err *err)
{
    int rc = 0;
    char *html = NULL;
    cmark_node *root = cmark_parse_document(text, len, OPTIONS);
    if (!root || replace_blocks(root, text, len, prefix) || !(html = cmark_render_html(root, OPTIONS)))
        rc = dcr_err_set(err, DCR_FATAL, "out of memory turning Markdown into HTML");
    else
        prefix_links(html, prefix, out);
    if (rc == 0 && out->failed)
        rc = dcr_err_set(err, DCR_FATAL, "out of memory turning Markdown into HTML");
    free(html);
    if (root)
        cmark_node_free(root);
    return rc;
}
