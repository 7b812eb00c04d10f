// SPDX-License-Identifier: BSD-3-Clause
// rib_map.h - map from a kernel number (ifindex, next-hop id) to our record
//
// Open addressing with linear probing, at most half full; deletion shifts the followers back, so
// there are no tombstones. Key 0 means none. One thread.
#ifndef RIB_RIB_MAP_H
#define RIB_RIB_MAP_H

#include <stdint.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/log.h"

struct rib_map {
    struct rib_map_slot {
        uint32_t key;
        void *value;
    } *slot;
    uint32_t n, mask; // mask + 1 slots
};

static inline uint32_t rib_map_index(const struct rib_map *m, uint32_t key)
{
    uint32_t i = hash_mix32(key) & m->mask;

    while (m->slot[i].key && m->slot[i].key != key)
        i = (i + 1) & m->mask;
    return i;
}

static inline void *rib_map_find(const struct rib_map *m, uint32_t key)
{
    return m->slot ? m->slot[rib_map_index(m, key)].value : NULL;
}

static inline void rib_map_set(struct rib_map *m, uint32_t key, void *value)
{
    bug_on(!key || !value);
    if (!m->slot || ((m->n + 1) * 2 > m->mask && !rib_map_find(m, key))) {
        struct rib_map old = *m;

        m->mask = old.slot ? old.mask * 2 + 1 : 15;
        m->slot = calloc(m->mask + 1, sizeof *m->slot);
        bug_on(!m->slot);
        for (uint32_t i = 0; old.slot && i <= old.mask; i++)
            if (old.slot[i].key)
                m->slot[rib_map_index(m, old.slot[i].key)] = old.slot[i];
        free(old.slot);
    }
    struct rib_map_slot *s = &m->slot[rib_map_index(m, key)];
    m->n += !s->key;
    *s = (struct rib_map_slot){key, value};
}

static inline void rib_map_del(struct rib_map *m, uint32_t key)
{
    uint32_t i, j;

    if (!m->slot || !m->slot[i = rib_map_index(m, key)].key)
        return;
    for (j = i;;) {
        j = (j + 1) & m->mask;
        if (!m->slot[j].key)
            break;
        uint32_t home = hash_mix32(m->slot[j].key) & m->mask;
        if (((j - home) & m->mask) >= ((j - i) & m->mask)) { // may move back to the hole
            m->slot[i] = m->slot[j];
            i = j;
        }
    }
    m->slot[i] = (struct rib_map_slot){0};
    m->n--;
}

// A map to numbers, 0 = absent.
static inline uint32_t rib_map_number(const struct rib_map *m, uint32_t key)
{
    return (uint32_t)(uintptr_t)rib_map_find(m, key);
}

static inline void rib_map_set_number(struct rib_map *m, uint32_t key, uint32_t number)
{
    if (number)
        rib_map_set(m, key, (void *)(uintptr_t)number);
    else
        rib_map_del(m, key);
}

static inline void rib_map_fini(struct rib_map *m)
{
    free(m->slot);
    *m = (struct rib_map){0};
}

// An empty slot, where no run of entries that deletion shifts crosses the table's end.
static inline uint32_t rib_map_gap(const struct rib_map *m)
{
    uint32_t i = 0;

    while (m->slot && m->slot[i].key)
        i++;
    return i;
}

// Visits every entry, from the gap downwards: entries may be deleted in the loop, which may visit
// some twice then, but not added.
#define rib_map_each(m, v)                                                                         \
    for (uint32_t map_i_ = rib_map_gap(m), map_n_ = 0; (m)->slot && map_n_ <= (m)->mask;           \
         map_i_ = (map_i_ - 1) & (m)->mask, map_n_++)                                              \
        if (((v) = (m)->slot[map_i_].value))

#endif
