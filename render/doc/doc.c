/* doc.c - see doc.h. */
#include "render/doc/doc.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static struct doc_node *append(struct doc *d, struct doc_node **first, struct doc_node **last, enum doc_kind kind)
{
    struct doc_node *n = dcr_arena_alloc(&d->arena, sizeof *n);
    n->kind = kind;
    if (*last)
        (*last)->next = n;
    else
        *first = n;
    *last = n;
    d->now = n;
    return n;
}

static struct doc_node *append_inside(struct doc *d, struct doc_node *of, enum doc_kind kind)
{
    return append(d, &of->first, &of->last, kind);
}

static struct doc_node *append_block(struct doc *d, enum doc_kind kind)
{
    return d->details ? append_inside(d, d->details, kind) : append(d, &d->first, &d->last, kind);
}

size_t doc_option(const char *start, const char *at)
{
    bool is_word = at == start || at[-1] == ' ' || at[-1] == '(';
    if (!is_word || at[0] != '-' || at[1] != '-' || at[2] < 'a' || at[2] > 'z')
        return 0;
    static const char of_name[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    size_t n = 2 + strspn(at + 2, of_name);
    n += at[n] == '=' ? strcspn(at + n, " )") : 0;
    while (strchr(".,:", at[n - 1]))
        n--;
    return n;
}

static void add_styled(struct doc *d, enum doc_style style, const char *text)
{
    if (!*text)
        return;
    struct doc_text *t = dcr_arena_alloc(&d->arena, sizeof *t);
    *t = (struct doc_text){style, text, NULL};
    if (d->now->last_text)
        d->now->last_text->next = t;
    else
        d->now->text = t;
    d->now->last_text = t;
}

static void add_text(struct doc *d, enum doc_style style, const char *text)
{
    const char *from = text;
    for (const char *at = text; *at && style == DOC_PLAIN;) {
        size_t n = doc_option(text, at);
        if (n) {
            add_styled(d, DOC_PLAIN, dcr_arena_strndup(&d->arena, from, (size_t)(at - from)));
            add_styled(d, DOC_CODE, dcr_arena_strndup(&d->arena, at, n));
            from = at + n;
        }
        at += n ? n : 1;
    }
    add_styled(d, style, from);
}

DCR_PRINTF(3, 0) static void add_printed(struct doc *d, enum doc_style style, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n <= 0)
        return;
    char *text = dcr_arena_alloc(&d->arena, (size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, fmt, args);
    add_text(d, style, text);
}

/* A va_list can be used only once, so each function that has one ends with this macro. */
#define ADD(d, style, fmt)                \
    do {                                  \
        va_list args;                     \
        va_start(args, fmt);              \
        add_printed(d, style, fmt, args); \
        va_end(args);                     \
    } while (0)

void doc_text(struct doc *d, const char *fmt, ...)
{
    ADD(d, DOC_PLAIN, fmt);
}

void doc_strong(struct doc *d, const char *fmt, ...)
{
    ADD(d, DOC_STRONG, fmt);
}

void doc_code(struct doc *d, const char *fmt, ...)
{
    ADD(d, DOC_CODE, fmt);
}

void doc_buf(struct doc *d, struct dcr_buf *b)
{
    d->failed |= b->failed;
    add_text(d, DOC_PLAIN, dcr_arena_strndup(&d->arena, dcr_buf_text(b), b->failed ? 0 : b->len));
    dcr_buf_release(b);
}

void doc_open(struct doc *d, enum doc_kind kind)
{
    if (kind == DOC_ITEM)
        append_inside(d, d->list, kind);
    else if (kind == DOC_ROW)
        append_inside(d, d->table, kind);
    else if (kind == DOC_CELL)
        append_inside(d, d->table->last, kind);
    else
        append_block(d, kind);
}

void doc_heading(struct doc *d, int level, const char *fmt, ...)
{
    append_block(d, DOC_HEADING)->level = level;
    ADD(d, DOC_PLAIN, fmt);
}

void doc_paragraph(struct doc *d, const char *fmt, ...)
{
    doc_open(d, DOC_PARAGRAPH);
    ADD(d, DOC_PLAIN, fmt);
}

void doc_command(struct doc *d, const char *label, const char *command)
{
    doc_open(d, DOC_COMMAND);
    add_text(d, DOC_PLAIN, dcr_arena_strdup(&d->arena, label));
    add_text(d, DOC_CODE, dcr_arena_strdup(&d->arena, command));
}

void doc_list(struct doc *d, enum doc_list_kind kind)
{
    d->list = append_block(d, DOC_LIST);
    d->list->level = (int)kind;
}

void doc_item(struct doc *d, const char *fmt, ...)
{
    doc_open(d, DOC_ITEM);
    ADD(d, DOC_PLAIN, fmt);
}

void doc_table(struct doc *d, const char *columns)
{
    d->table = append_block(d, DOC_TABLE);
    for (const char *s = columns; s;) {
        int is_number = *s == '#';
        s += is_number;
        const char *end = strchr(s, '|');
        doc_column(d, is_number ? DOC_RIGHT : DOC_LEFT, "%.*s", (int)(end ? (size_t)(end - s) : strlen(s)), s);
        s = end ? end + 1 : NULL;
    }
}

void doc_column(struct doc *d, enum doc_side side, const char *fmt, ...)
{
    append_inside(d, d->table, DOC_COLUMN)->level = (int)side;
    ADD(d, DOC_PLAIN, fmt);
}

void doc_row(struct doc *d)
{
    doc_open(d, DOC_ROW);
}

void doc_cell(struct doc *d, const char *fmt, ...)
{
    doc_open(d, DOC_CELL);
    ADD(d, DOC_PLAIN, fmt);
}

void doc_details(struct doc *d, const char *fmt, ...)
{
    doc_end(d);
    struct doc_node *details = append_block(d, DOC_DETAILS);
    ADD(d, DOC_PLAIN, fmt);
    d->details = details;
}

void doc_end(struct doc *d)
{
    d->details = NULL;
}

void doc_release(struct doc *d)
{
    dcr_arena_release(&d->arena);
    *d = (struct doc){0};
}
