/* doc.h - a page as a tree of headings, paragraphs, lists and tables. The tree knows no format; render/write has one
 * writer for each.
 *
 * A page is built in reading order. Each block follows the one before it. Items go into the list that was opened last,
 * columns and rows into the table, cells into the row, and blocks between doc_details and doc_end into the details. All
 * text is plain: the writers escape it. The writers leave out blocks without text, so an optional sentence needs no
 * condition. Test: tests/unit/test_doc.c */
#ifndef RENDER_DOC_DOC_H
#define RENDER_DOC_DOC_H

#include "lib/base/arena.h"
#include "lib/base/buf.h"

enum doc_kind {
    DOC_HEADING,
    DOC_PARAGRAPH,
    DOC_LIST,
    DOC_ITEM, /* of a list */
    DOC_TABLE,
    DOC_COLUMN, /* of a table, before its rows; its text is the head */
    DOC_ROW,    /* of a table */
    DOC_CELL,   /* of a row */
    DOC_COMMAND,
    DOC_DETAILS, /* a line that names its content */
};
enum doc_style { DOC_PLAIN, DOC_STRONG, DOC_CODE };
enum doc_list_kind { DOC_BULLETS, DOC_NUMBERS };
enum doc_side { DOC_LEFT, DOC_RIGHT };

/* Text of one style. */
struct doc_text {
    enum doc_style style;
    const char *text;
    struct doc_text *next;
};
struct doc_node {
    enum doc_kind kind;
    int level; /* of a heading 1 and more, of a list enum doc_list_kind, of a column enum doc_side; else 0 */
    struct doc_text *text, *last_text;
    struct doc_node *first, *last; /* its content: items, columns and rows, cells, blocks of details */
    struct doc_node *next;
};
/* Zero it before use. */
struct doc {
    struct dcr_arena arena;
    struct doc_node *first, *last; /* blocks */
    struct doc_node *details;      /* open details, which blocks go into; NULL: none. Details do not nest */
    struct doc_node *list, *table; /* opened last */
    struct doc_node *now;          /* node that text is added to */
    int failed;                    /* a text could not be had: doc_buf */
};

/** doc_heading - level 1 is the page's title. */
void doc_heading(struct doc *d, int level, const char *fmt, ...) DCR_PRINTF(3, 4);
void doc_paragraph(struct doc *d, const char *fmt, ...) DCR_PRINTF(2, 3);
/** doc_command - a line for a shell, which no writer breaks or wraps.
 *  label  what it is for, where the format does not set it apart: "Try first" */
void doc_command(struct doc *d, const char *label, const char *command);
void doc_list(struct doc *d, enum doc_list_kind kind);
void doc_item(struct doc *d, const char *fmt, ...) DCR_PRINTF(2, 3);
/** doc_table - columns  heads joined by "|", a head with "#" in front is of numbers: "Cause|#Share|Verdict"; NULL:
 *  doc_column */
void doc_table(struct doc *d, const char *columns);
/** doc_column - one more column of a table that has no row yet. Without any head the table has no row of heads. */
void doc_column(struct doc *d, enum doc_side side, const char *fmt, ...) DCR_PRINTF(3, 4);
/** doc_row - a row of one cell in a table of several columns heads the rows after it. */
void doc_row(struct doc *d);
void doc_cell(struct doc *d, const char *fmt, ...) DCR_PRINTF(2, 3);
/** doc_details - begin blocks under a line that names them, which may be folded. */
void doc_details(struct doc *d, const char *fmt, ...) DCR_PRINTF(2, 3);
void doc_end(struct doc *d);

/** doc_open - as the function of that kind, but without text; not for headings, lists, tables and columns. */
void doc_open(struct doc *d, enum doc_kind kind);
/** doc_text, doc_strong, doc_code - add text to the block, item or cell that was opened last. */
void doc_text(struct doc *d, const char *fmt, ...) DCR_PRINTF(2, 3);
void doc_strong(struct doc *d, const char *fmt, ...) DCR_PRINTF(2, 3);
void doc_code(struct doc *d, const char *fmt, ...) DCR_PRINTF(2, 3);
/** doc_option - the length of the program's option ("--batch", "--cpu-bind=cores") that begins at `at`, a place in the
 * text `start`; 0: none begins there. Options in plain text are set as code. */
size_t doc_option(const char *start, const char *at);
/** doc_buf - add what b holds as text, and release b. A failed b makes the writers fail. */
void doc_buf(struct doc *d, struct dcr_buf *b);
void doc_release(struct doc *d);

#endif
