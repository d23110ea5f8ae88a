/* arena.c - see arena.h. */
#include "lib/base/arena.h"

#include "lib/base/err.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dcr_arena_chunk {
    struct dcr_arena_chunk *next;
    size_t used, size;
    max_align_t bytes[];
};

void *dcr_arena_alloc(struct dcr_arena *a, size_t n)
{
    const size_t align = sizeof(max_align_t);
    if (n > SIZE_MAX - 2 * align)
        n = SIZE_MAX / 2; /* cannot succeed; let malloc say so */
    size_t size = (n + align - 1) / align * align;
    if (!a->head || a->head->size - a->head->used < size) {
        size_t chunk = size > 65536 ? size : 65536;
        struct dcr_arena_chunk *c = malloc(sizeof *c + chunk);
        if (!c)
            dcr_die_of_memory();
        c->next = a->head;
        c->used = 0;
        c->size = chunk;
        a->head = c;
    }
    void *p = (char *)a->head->bytes + a->head->used;
    a->head->used += size;
    a->total_bytes += size;
    memset(p, 0, size);
    return p;
}

char *dcr_arena_strndup(struct dcr_arena *a, const char *text, size_t n)
{
    char *p = dcr_arena_alloc(a, n + 1);
    memcpy(p, text, n);
    return p;
}

char *dcr_arena_strdup(struct dcr_arena *a, const char *text)
{
    return dcr_arena_strndup(a, text, strlen(text));
}

void dcr_arena_release(struct dcr_arena *a)
{
    while (a->head) {
        struct dcr_arena_chunk *next = a->head->next;
        free(a->head);
        a->head = next;
    }
    a->total_bytes = 0;
}

void dcr_arena_take(struct dcr_arena *a, struct dcr_arena *from)
{
    struct dcr_arena_chunk **end = &from->head;
    while (*end)
        end = &(*end)->next;
    *end = a->head;
    a->head = from->head;
    a->total_bytes += from->total_bytes;
    *from = (struct dcr_arena){0};
}

void *arena_grow(struct dcr_arena *a, void *array, size_t n, size_t *cap, size_t element_bytes)
{
    if (n < *cap)
        return array;
    size_t more = *cap ? 2 * *cap : 16;
    void *bigger = dcr_arena_alloc(a, more * element_bytes);
    if (n)
        memcpy(bigger, array, n * element_bytes);
    *cap = more;
    return bigger;
}
