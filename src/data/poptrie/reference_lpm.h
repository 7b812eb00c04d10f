// SPDX-License-Identifier: BSD-3-Clause
// reference_lpm.h - naive longest-prefix match, the reference of tests
//
// A list of routes and a linear search: too simple to be wrong, and nothing in common with the
// table. The random source clusters prefixes around a few stems and at the depths where the table
// changes its representation, because uniformly random prefixes hardly ever interact.
#ifndef POPTRIE_REFERENCE_LPM_H
#define POPTRIE_REFERENCE_LPM_H

#include "poptrie/poptrie.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LPM_MAX 4096

struct lpm {
    unsigned key_bits;
    size_t n;
    struct poptrie_route r[LPM_MAX];
};

static inline bool lpm_covers(const uint8_t *prefix, unsigned len, const uint8_t *key)
{
    if (memcmp(prefix, key, len / 8) != 0)
        return false;
    return len % 8 == 0 || ((prefix[len / 8] ^ key[len / 8]) >> (8 - len % 8)) == 0;
}

static inline void lpm_mask(uint8_t *key, unsigned len)
{
    for (unsigned i = 0; i < 16; i++)
        if (len < 8 * (i + 1))
            key[i] &= len <= 8 * i ? 0 : 0xff << (8 * (i + 1) - len);
}

static inline struct poptrie_route *lpm_at(struct lpm *m, const uint8_t *key, unsigned len)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->r[i].len == len && lpm_covers(m->r[i].key, len, key))
            return &m->r[i];
    return NULL;
}

static inline void lpm_set(struct lpm *m, const uint8_t *key, unsigned len, uint32_t value)
{
    struct poptrie_route *r = lpm_at(m, key, len);

    if (r == NULL) {
        r = &m->r[m->n++];
        memcpy(r->key, key, 16);
        lpm_mask(r->key, len);
        r->len = len;
    }
    r->value = value;
}

static inline bool lpm_del(struct lpm *m, const uint8_t *key, unsigned len)
{
    struct poptrie_route *r = lpm_at(m, key, len);

    if (r == NULL)
        return false;
    *r = m->r[--m->n];
    return true;
}

static inline uint32_t lpm_find(const struct lpm *m, const uint8_t *key)
{
    uint32_t best = POPTRIE_NONE;
    int best_len = -1;

    for (size_t i = 0; i < m->n; i++)
        if (m->r[i].len > best_len && lpm_covers(m->r[i].key, m->r[i].len, key)) {
            best = m->r[i].value;
            best_len = m->r[i].len;
        }
    return best;
}

// --- random keys ---

static inline uint64_t lpm_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * 0x2545f4914f6cdd1dull;
}

// A key that shares a random number of leading bits with one of eight stems.
static inline void lpm_random_key(uint64_t *state, unsigned key_bits, uint8_t key[16])
{
    static const uint8_t stem[8][16] = {
        {10, 1, 2, 3},
        {10, 1, 0x40, 0},
        {192, 168, 255, 255},
        {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
        {0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1},
        {0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 2, 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99, 0x88},
        {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x12, 0x34, 0x56, 0xff, 0xfe, 0x78, 0x9a, 0xbc},
        {0x3f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
    };
    uint64_t r = lpm_random(state);
    unsigned keep = (r >> 8) % (key_bits + 1), s = r & 7;

    for (unsigned i = 0; i < 16; i++) {
        unsigned kept = keep >= 8 * (i + 1) ? 8 : keep <= 8 * i ? 0 : keep - 8 * i;
        uint8_t mask = 0xff << (8 - kept);

        key[i] = (stem[s][i] & mask) | ((lpm_random(state) >> 32) & (uint8_t)~mask);
    }
}

static inline unsigned lpm_random_len(uint64_t *state, unsigned key_bits)
{
    static const uint8_t edge4[] = {0, 1, 6, 7, 17, 18, 19, 23, 24, 25, 29, 30, 31, 32, 32, 24};
    static const uint8_t edge6[] = {0,  1,  2,  3,  4,  23, 24, 25,  32,  48,  59,  60,  61,  63,
                                    64, 65, 66, 70, 71, 96, 97, 123, 124, 125, 127, 128, 128, 64};
    uint64_t r = lpm_random(state);

    if ((r & 1) != 0)
        return (r >> 8) % (key_bits + 1);
    return key_bits == 32 ? edge4[(r >> 8) % sizeof(edge4)] : edge6[(r >> 8) % sizeof(edge6)];
}

#endif
