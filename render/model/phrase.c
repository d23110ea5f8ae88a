/* phrase.c - see phrase.h. */
#include "render/model/phrase.h"

#include "render/model/build.h"

#include <string.h>

static int is_same_slot(const struct slot *a, const struct slot *b)
{
    if (a->kind != b->kind)
        return 0;
    switch (a->kind) {
    case SLOT_NONE:
        return 1;
    case SLOT_COUNT:
    case SLOT_THINGS:
    case SLOT_TIME:
        return a->count == b->count;
    case SLOT_PERCENT:
    case SLOT_RATIO:
    case SLOT_FACTOR:
    case SLOT_NUMBER:
    case SLOT_BYTES:
        return !(a->real < b->real || a->real > b->real);
    case SLOT_NAME:
        return strcmp(a->name, b->name) == 0;
    case SLOT_REASON:
        return a->reason->code == b->reason->code;
    }
    return 0;
}

int is_same_phrase(const struct phrase *a, const struct phrase *b)
{
    for (int i = 0; i < SLOTS_MAX; i++)
        if (!is_same_slot(&a->slot[i], &b->slot[i]))
            return 0;
    return a->id == b->id;
}

int are_same_phrases(const struct phrase a[NOTE_PHRASES], const struct phrase b[NOTE_PHRASES])
{
    for (int i = 0; i < NOTE_PHRASES; i++)
        if (!is_same_phrase(&a[i], &b[i]))
            return 0;
    return 1;
}

static void keep_slots(struct dcr_arena *a, struct slot slot[SLOTS_MAX])
{
    for (int i = 0; i < SLOTS_MAX; i++) {
        if (slot[i].kind == SLOT_NAME)
            slot[i].name = text_clean(a, slot[i].name);
        if (slot[i].kind != SLOT_REASON)
            continue;
        struct reason *why = dcr_arena_alloc(a, sizeof *why);
        *why = *slot[i].reason;
        keep_slots(a, why->slot);
        slot[i].reason = why;
    }
}

void keep_phrases(struct dcr_arena *a, const struct phrase said[NOTE_PHRASES], struct phrase kept[NOTE_PHRASES])
{
    memcpy(kept, said, NOTE_PHRASES * sizeof *kept);
    for (int i = 0; i < NOTE_PHRASES; i++)
        keep_slots(a, kept[i].slot);
}
