/* facts.h - names with values: rows of facts.def with their slots filled. In say.c. Test: tests/unit/test_say.c */
#ifndef RENDER_SAY_FACTS_H
#define RENDER_SAY_FACTS_H

#include "render/say/say.h"

enum fact_id {
#define F(id, slots, name, text) FACT_##id,
#include "render/say/facts.def"
#undef F
    N_FACTS
};

/* The slots are in the order of the row in facts.def. */
struct fact {
    enum fact_id id;
    struct slot slot[SLOTS_MAX];
};

/** FACT - a fact by its id without the prefix, and its slots: FACT(MODEL, slot_name("DCRNN")). lives as long as the
 *  enclosing block */
#define FACT(id_, ...) (&(struct fact){.id = FACT_##id_, .slot = {__VA_ARGS__}})

/* A row of facts.def. */
struct fact_row {
    const char *id; /* "MODEL" */
    struct slot_row slots[SLOTS_MAX + 1];
    const char *name, *text;
};

/** say_fact_row - the row of a fact. */
const struct fact_row *say_fact_row(enum fact_id id);
/** say_fact_name, say_fact - "Model", "DCRNN". gives; live as long as the arena */
const char *say_fact_name(struct dcr_arena *a, const struct fact *f);
const char *say_fact(struct dcr_arena *a, const struct fact *f);

#endif
