/* tables.h - the captions and heads of the site's tables: rows of tables.def with their slots filled. In say.c.
 * Test: tests/unit/test_say.c */
#ifndef RENDER_SAY_TABLES_H
#define RENDER_SAY_TABLES_H

#include "render/say/say.h"

enum table_id {
#define T(id, slots, caption, columns) TABLE_##id,
#include "render/say/tables.def"
#undef T
    N_TABLES
};

/* The slots are in the order of the row in tables.def. */
struct table_said {
    enum table_id id;
    struct slot slot[SLOTS_MAX];
};

/** TABLE - a table by its id without the prefix, and its slots: TABLE(MEMBERS, slot_name("4node.tar")). lives as long
 *  as the enclosing block */
#define TABLE(id_, ...) (&(struct table_said){.id = TABLE_##id_, .slot = {__VA_ARGS__}})

/* A row of tables.def. */
struct table_row {
    const char *id; /* "MEMBERS" */
    struct slot_row slots[SLOTS_MAX + 1];
    const char *caption, *columns;
};

/** say_table_row - the row of a table. */
const struct table_row *say_table_row(enum table_id id);
/** say_caption, say_columns - of a table: "Members of 4node.tar", "Member|#Bytes". gives; live as long as the arena */
const char *say_caption(struct dcr_arena *a, const struct table_said *t);
const char *say_columns(struct dcr_arena *a, const struct table_said *t);

#endif
