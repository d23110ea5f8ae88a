/* advice.h - an advice without its words: its id, and what fills its slots. The words are in render/say/advice.def, one
 * row for each advice, and render/say/say.h makes the text. Decisions compare the ids. */
#ifndef RENDER_MODEL_ADVICE_H
#define RENDER_MODEL_ADVICE_H

#include "render/model/reason.h"

enum advice {
    ADVICE_NONE = 0, /* nothing is advised */
#define A(id, slots, ours, torch, plain, check) ADVICE_##id,
#include "render/say/advice.def"
#undef A
    N_ADVICES
};

/* The slots are in the order of the row in advice.def. */
struct advised {
    enum advice id;
    struct slot slot[SLOTS_MAX];
};

/** ADVISE - an advice by its id without the prefix, and its slots: ADVISE(MORE_TIME), ADVISE(READ_STDERR,
 * slot_name(who)).
 */
#define ADVISE(id_, ...) ((struct advised){.id = ADVICE_##id_, .slot = {__VA_ARGS__}})

#endif
