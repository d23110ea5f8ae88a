/* text.c - see text.h. */
#include "render/write/text.h"

#include <string.h>

enum { WIDTH = 96 };

/* Columns of a terminal that a text takes: characters, not bytes. */
static size_t width_of(const char *text, size_t n)
{
    size_t width = 0;
    for (size_t i = 0; i < n; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

static void pad(size_t n, char with, struct dcr_buf *out)
{
    for (size_t i = 0; i < n; i++)
        dcr_buf_putc(out, with);
}

/* Length of the word at s, with the unit that follows a number, so that "38 %" and "4 nodes" stay on one line. */
static size_t word_length(const char *s)
{
    static const char *const units[] = {"%", "ns", "us", "ms", "s", "node", "nodes", "step", "steps"};
    size_t n = strcspn(s, " ");
    if (n == 0 || s[n] != ' ' || s[n - 1] < '0' || s[n - 1] > '9')
        return n;
    size_t next = strcspn(s + n + 1, " "), bare = next;
    while (bare > 1 && strchr(".,;:)", s[n + bare]))
        bare--;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i]) == bare && strncmp(units[i], s + n + 1, bare) == 0)
            return n + 1 + next;
    return n;
}

/* The text of a block in one piece, because plain text has no styles. */
static void join(const struct doc_node *n, struct dcr_buf *out)
{
    for (const struct doc_text *t = n->text; t; t = t->next)
        dcr_buf_puts(out, t->text);
}

/* first precedes the first line, rest the others. */
static void put_wrapped(const char *text, const char *first, const char *rest, struct dcr_buf *out)
{
    size_t column = 0;
    const char *indent = first;
    for (const char *s = text; *s;) {
        size_t n = word_length(s), width = width_of(s, n);
        if (column && column + 1 + width > WIDTH) {
            dcr_buf_putc(out, '\n');
            column = 0;
        }
        if (column == 0) {
            dcr_buf_puts(out, indent);
            column = strlen(indent);
            indent = rest;
        } else {
            dcr_buf_putc(out, ' ');
            column++;
        }
        dcr_buf_add(out, s, n);
        column += width;
        s += n + strspn(s + n, " ");
    }
    dcr_buf_putc(out, '\n');
}

static void put_paragraph(const struct doc_node *n, const char *first, const char *rest, struct dcr_buf *out)
{
    struct dcr_buf text = {0};
    join(n, &text);
    put_wrapped(dcr_buf_text(&text), first, rest, out);
    out->failed |= text.failed;
    dcr_buf_release(&text);
}

static void put_heading(const struct doc_node *n, struct dcr_buf *out)
{
    size_t start = out->len;
    join(n, out);
    size_t width = out->failed ? 0 : width_of(out->data + start, out->len - start);
    dcr_buf_putc(out, '\n');
    pad(width, n->level == 1 ? '=' : '-', out);
    dcr_buf_putc(out, '\n');
}

/* Whole and unbroken, so that it can be copied. */
static void put_command(const struct doc_node *n, const char *indent, struct dcr_buf *out)
{
    dcr_buf_puts(out, indent);
    for (const struct doc_text *t = n->text; t; t = t->next)
        dcr_buf_printf(out, "%s%s", t->text, t->next ? ": " : "\n");
}

static void put_list(const struct doc_node *list, const char *indent, struct dcr_buf *out)
{
    int n = 0;
    for (const struct doc_node *item = list->first; item; item = item->next) {
        struct dcr_buf mark = {0}, rest = {0};
        if (list->level == DOC_NUMBERS)
            dcr_buf_printf(&mark, "%s%d. ", indent, ++n);
        else
            dcr_buf_printf(&mark, "%s- ", indent);
        pad(mark.len, ' ', &rest);
        put_paragraph(item, dcr_buf_text(&mark), dcr_buf_text(&rest), out);
        out->failed |= mark.failed | rest.failed;
        dcr_buf_release(&mark);
        dcr_buf_release(&rest);
    }
}

static size_t cell_width(const struct doc_node *cell)
{
    size_t width = 0;
    for (const struct doc_text *t = cell->text; t; t = t->next)
        width += width_of(t->text, strlen(t->text));
    return width;
}

struct column {
    enum doc_side side;
    size_t width;
};

/* The cells of a row, or the heads of the columns. Nothing is padded after the last text of a row. */
static void put_cells(const struct doc_node *cell, enum doc_kind kind, const struct column *column, int n_columns,
                      const char *indent, struct dcr_buf *out)
{
    size_t space = 0;
    dcr_buf_puts(out, indent);
    for (int i = 0; i < n_columns && cell && cell->kind == kind; cell = cell->next, i++) {
        size_t n = cell_width(cell), left = n < column[i].width ? column[i].width - n : 0;
        if (n) {
            pad(space + (column[i].side == DOC_RIGHT ? left : 0), ' ', out);
            join(cell, out);
            space = column[i].side == DOC_RIGHT ? 0 : left;
        } else
            space += left;
        space += 2;
    }
    dcr_buf_putc(out, '\n');
}

/* A row of one cell is a heading of the rows after it, so it makes no column wider. */
static void widen(struct column *column, int n_columns, const struct doc_node *row)
{
    int i = 0;
    for (const struct doc_node *c = row->first; c && i < n_columns; c = c->next, i++)
        if (c->next || i > 0)
            column[i].width = cell_width(c) > column[i].width ? cell_width(c) : column[i].width;
}

static void put_table(const struct doc_node *table, const char *indent, struct dcr_buf *out)
{
    struct dcr_arena arena = {0};
    int n_columns = 0, has_head = 0;
    const struct doc_node *n;
    for (n = table->first; n && n->kind == DOC_COLUMN; n = n->next)
        n_columns++;
    struct column *column = dcr_arena_alloc(&arena, (size_t)n_columns * sizeof *column);
    n = table->first;
    for (int i = 0; i < n_columns; i++, n = n->next) {
        column[i] = (struct column){(enum doc_side)n->level, cell_width(n)};
        has_head |= column[i].width > 0;
    }
    for (const struct doc_node *row = n; row; row = row->next)
        widen(column, n_columns, row);
    if (has_head)
        put_cells(table->first, DOC_COLUMN, column, n_columns, indent, out);
    for (; n; n = n->next)
        put_cells(n->first, DOC_CELL, column, n_columns, indent, out);
    dcr_arena_release(&arena);
}

static void put_blocks(const struct doc_node *n, const char *indent, struct dcr_buf *out);

static void put_block(const struct doc_node *n, const char *indent, struct dcr_buf *out)
{
    switch (n->kind) {
    case DOC_HEADING:
        put_heading(n, out);
        break;
    case DOC_LIST:
        put_list(n, indent, out);
        break;
    case DOC_TABLE:
        put_table(n, indent, out);
        break;
    case DOC_COMMAND:
        put_command(n, indent, out);
        break;
    case DOC_DETAILS:
        put_paragraph(n, indent, indent, out);
        put_blocks(n->first, "  ", out);
        break;
    default:
        put_paragraph(n, indent, indent, out);
    }
}

/* A heading, a list and a table have an empty line around them, except inside details. */
static int is_set_apart(const struct doc_node *before, const struct doc_node *n)
{
    return before->kind != n->kind || n->kind == DOC_HEADING || n->kind == DOC_TABLE;
}

static void put_blocks(const struct doc_node *n, const char *indent, struct dcr_buf *out)
{
    const struct doc_node *before = NULL;
    for (; n; n = n->next) {
        if (!n->text && !n->first)
            continue;
        if (before && !*indent && is_set_apart(before, n))
            dcr_buf_putc(out, '\n');
        put_block(n, indent, out);
        before = n;
    }
}

void write_text(const struct doc *d, struct dcr_buf *out)
{
    out->failed |= d->failed;
    put_blocks(d->first, "", out);
}
