/* map.c - see map.h. Open addressing; at most half of the slots are taken. Test: tests/unit/test_lib.c */
#include "lib/base/map.h"

#include "lib/base/err.h"

#include <stdlib.h>

static uint32_t slot_of(struct dcr_map *m, uint64_t key)
{
    uint32_t i = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (m->cap - 1);
    for (m->n_looks++; m->values[i] && m->keys[i] != key; m->n_looks++)
        i = (i + 1) & (m->cap - 1);
    return i;
}

int dcr_map_get(struct dcr_map *m, uint64_t key, uint32_t *value)
{
    if (!m->cap)
        return 0;
    uint32_t i = slot_of(m, key);
    if (!m->values[i])
        return 0;
    *value = m->values[i] - 1;
    return 1;
}

static int grow(struct dcr_map *m)
{
    struct dcr_map big = {.cap = m->cap ? 2 * m->cap : 64, .n = m->n, .n_looks = m->n_looks};
    big.keys = calloc(big.cap, sizeof *big.keys);
    big.values = calloc(big.cap, sizeof *big.values);
    if (!big.keys || !big.values) {
        free(big.keys);
        free(big.values);
        return -1;
    }
    for (uint32_t i = 0; i < m->cap; i++) {
        if (!m->values[i])
            continue;
        uint32_t to = slot_of(&big, m->keys[i]);
        big.keys[to] = m->keys[i];
        big.values[to] = m->values[i];
    }
    free(m->keys);
    free(m->values);
    *m = big;
    return 0;
}

int dcr_map_put(struct dcr_map *m, uint64_t key, uint32_t value)
{
    if (2 * (m->n + 1) > m->cap && grow(m) != 0)
        return -1;
    uint32_t i = slot_of(m, key);
    m->n += m->values[i] == 0;
    m->keys[i] = key;
    m->values[i] = value + 1;
    return 0;
}

void dcr_map_set(struct dcr_map *m, uint64_t key, uint32_t value)
{
    if (dcr_map_put(m, key, value) != 0)
        dcr_die_of_memory();
}

void dcr_map_delete(struct dcr_map *m, uint64_t key)
{
    if (!m->cap)
        return;
    uint32_t hole = slot_of(m, key);
    if (!m->values[hole])
        return;
    m->values[hole] = 0;
    m->n--;
    for (uint32_t i = (hole + 1) & (m->cap - 1); m->values[i]; i = (i + 1) & (m->cap - 1)) {
        uint32_t value = m->values[i];
        m->values[i] = 0;
        uint32_t to = slot_of(m, m->keys[i]);
        m->keys[to] = m->keys[i];
        m->values[to] = value;
    }
}

uint64_t dcr_map_text(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u; /* FNV-1a */
    return (h ^ 0xff) * 0x100000001b3u;
}

void dcr_map_release(struct dcr_map *m)
{
    free(m->keys);
    free(m->values);
    *m = (struct dcr_map){0};
}
