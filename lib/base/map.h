/* map.h - maps 64-bit keys to small numbers (of tracks, of ranges, of texts) in memory that grows with the keys. */
#ifndef DCR_MAP_H
#define DCR_MAP_H

#include <stdint.h>

/* Zero to begin with; release with dcr_map_release. */
struct dcr_map {
    uint64_t *keys;
    uint32_t *values; /* value + 1; 0 = free */
    uint32_t cap, n;
    uint64_t n_looks; /* slots looked at so far, for tests: a few per call, whatever n is */
};

/** dcr_map_get - returns  1: the key is there, *value is set; 0: it is not */
int dcr_map_get(struct dcr_map *m, uint64_t key, uint32_t *value);
/** dcr_map_put - value < UINT32_MAX; replaces an earlier one.       returns  0; -1: no memory, nothing has changed */
int dcr_map_put(struct dcr_map *m, uint64_t key, uint32_t value);
/** dcr_map_set - the same, but no memory ends the program, as it does in an arena. */
void dcr_map_set(struct dcr_map *m, uint64_t key, uint32_t value);
/** dcr_map_delete - a key that is not there is fine. */
void dcr_map_delete(struct dcr_map *m, uint64_t key);
void dcr_map_release(struct dcr_map *m);

/** dcr_map_text - the key of a text that follows texts with the key h, 0 at first. Two texts may have one key, so the
 * caller compares texts and takes the next free key: for (key = ...; dcr_map_get(m, key, &at); key++). */
uint64_t dcr_map_text(uint64_t h, const char *text);

#endif
