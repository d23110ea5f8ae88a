/* arena.h - many small allocations, one release. dcr_arena_alloc never returns NULL on a normal
 * machine; on exhaustion it calls abort() after one line on stderr, since nothing sensible can follow. */
#ifndef DCR_ARENA_H
#define DCR_ARENA_H

#include <stddef.h>

struct dcr_arena {
    struct dcr_arena_chunk *head;
    size_t total_bytes; /* handed out so far */
};

/** dcr_arena_alloc - n zeroed bytes, aligned for any type. gives; freed by dcr_arena_release. */
void *dcr_arena_alloc(struct dcr_arena *a, size_t n);
/** dcr_arena_strdup - a copy of text. */
char *dcr_arena_strdup(struct dcr_arena *a, const char *text);
/** dcr_arena_strndup - a NUL-terminated copy of n bytes. */
char *dcr_arena_strndup(struct dcr_arena *a, const char *text, size_t n);
/** arena_grow - room for n + 1 elements in an array that lives in an arena.
 *  array    current array or NULL; cap its capacity in elements, updated
 *  returns  the array, moved when it had to grow; new elements are zero */
void *arena_grow(struct dcr_arena *a, void *array, size_t n, size_t *cap, size_t element_bytes);
void dcr_arena_release(struct dcr_arena *a);
/** dcr_arena_take - moves everything that `from` holds into a, at the same addresses; from is empty afterwards. */
void dcr_arena_take(struct dcr_arena *a, struct dcr_arena *from);

#endif
