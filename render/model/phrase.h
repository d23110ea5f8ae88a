/* phrase.h - a sentence of the report without its words: its id, and what fills its slots. The words are in
 * render/say/phrases.def, notes.def and causes.def, one row for each sentence, and render/say/say.h makes the text.
 * Findings use these, so that no decision has to read a sentence. */
#ifndef RENDER_MODEL_PHRASE_H
#define RENDER_MODEL_PHRASE_H

#include "lib/base/arena.h"
#include "render/model/reason.h"

enum phrase_id {
    PHRASE_NONE = 0, /* nothing is said */
#define P(id, slots, text) PHRASE_##id,
#include "render/say/phrases.def"
#include "render/say/notes.def"
#include "render/say/causes.def"
#undef P
    N_PHRASES
};

/* The slots are in the order of the row in phrases.def. */
struct phrase {
    enum phrase_id id;
    struct slot slot[SLOTS_MAX];
};

/** PHRASE - a phrase by its id without the prefix, and its slots: PHRASE(SCALING_GOOD, slot_factor(3.8)).
 */
#define PHRASE(id_, ...) ((struct phrase){.id = PHRASE_##id_, .slot = {__VA_ARGS__}})

enum { NOTE_PHRASES = 3 }; /* of a note */
/** is_same_phrase, are_same_phrases - the same sentence, or sentences, with the same in their slots? */
int is_same_phrase(const struct phrase *a, const struct phrase *b);
int are_same_phrases(const struct phrase a[NOTE_PHRASES], const struct phrase b[NOTE_PHRASES]);
/** keep_phrases - a copy whose names, made clean by text_clean, and reasons live as long as the arena. */
void keep_phrases(struct dcr_arena *a, const struct phrase said[NOTE_PHRASES], struct phrase kept[NOTE_PHRASES]);

/** phrase_put - adds a sentence after those in the list; PHRASE_NONE adds nothing. At most n: more are left out.
 *  list  shape (n) */
static inline void phrase_put(struct phrase *list, int n, struct phrase p)
{
    for (int i = 0; i < n && p.id != PHRASE_NONE; i++)
        if (list[i].id == PHRASE_NONE) {
            list[i] = p;
            return;
        }
}

enum { SAID_MAX = 9 };
/* A finding: a headline, and the sentences that support it. Those of PHRASE_NONE are left out. */
struct said {
    struct slot where; /* "4 nodes", before the headline of a run of a series; else SLOT_NONE */
    int is_on;         /* "On 4 nodes, ..." instead of "4 nodes: ..." */
    struct phrase headline;
    struct phrase support[SAID_MAX];
};

/** said_add - adds a sentence of support, as phrase_put. */
static inline void said_add(struct said *s, struct phrase p)
{
    phrase_put(s->support, SAID_MAX, p);
}

#endif
