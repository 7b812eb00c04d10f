// SPDX-License-Identifier: BSD-3-Clause
// table_gen.c - generates a routing table from a seed (table_gen.h)
//
// Only the histograms of lengths and the popularity of halves come from real tables. A prefix is
// drawn bit by bit; the hash of the bits before decides which half is the popular one, and so all
// prefixes of a seed cluster in the same places. A prefix that exists or is not routable is drawn
// again with the same length, so the histogram stays.
#include "base/table_gen.h"

#include "base/hash.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Routes of each length in a full table.
static const uint32_t lengths4[33] = {
    [8] = 16,     [9] = 13,     [10] = 38,    [11] = 103,    [12] = 299,   [13] = 581,
    [14] = 1203,  [15] = 2100,  [16] = 13490, [17] = 8235,   [18] = 13798, [19] = 24870,
    [20] = 42611, [21] = 50750, [22] = 108623, [23] = 96510, [24] = 537698, [25] = 20,
    [26] = 3,     [27] = 11,    [28] = 18,    [29] = 17,     [30] = 3,     [31] = 3,
    [32] = 886,
};
static const uint32_t lengths6[129] = {
    [16] = 1,     [19] = 1,    [20] = 16,    [21] = 3,    [22] = 7,     [23] = 8,    [24] = 30,
    [25] = 8,     [26] = 15,   [27] = 20,    [28] = 193,  [29] = 4371,  [30] = 650,  [31] = 284,
    [32] = 22548, [33] = 2926, [34] = 2603,  [35] = 1043, [36] = 5996,  [37] = 880,  [38] = 1617,
    [39] = 1377,  [40] = 13418, [41] = 903,  [42] = 2301, [43] = 1001,  [44] = 14365, [45] = 1553,
    [46] = 3039,  [47] = 3153, [48] = 75488, [49] = 11,   [50] = 3,     [52] = 1,    [55] = 1,
    [56] = 24,    [58] = 20,   [60] = 2,     [64] = 184,  [112] = 2,    [122] = 1,   [124] = 4,
    [125] = 9,    [126] = 19,  [127] = 42,   [128] = 6,
};

struct random {
    uint64_t state;
};

static uint64_t random_number(struct random *r)
{
    r->state += 0x9e3779b97f4a7c15u;
    return hash_mix64(r->state);
}

static unsigned random_len(struct random *r, const uint32_t *lengths, unsigned n, uint64_t total)
{
    uint64_t at = (random_number(r) >> 32) * total >> 32;
    unsigned len = 0;

    while (len < n && at >= lengths[len])
        at -= lengths[len++];
    return len;
}

// How often, of 256, the popular half of the space behind bit `depth` is chosen. Fitted so that
// about as many /16 and /18 (IPv4), /20, /32 and /40 (IPv6) have routes as in the real table.
static unsigned popular_half(unsigned family, unsigned depth)
{
    if (family == 4)
        return depth < 8 ? 150 : depth < 20 ? 226 : 128;
    return depth < 12 ? 254 : depth < 20 ? 240 : depth < 32 ? 251 : depth < 44 ? 250 : 160;
}

static void random_bits(struct random *r, uint64_t seed, unsigned family, unsigned len,
                        uint8_t bytes[16])
{
    uint64_t path = hash_mix64(seed + family), choice = 0;
    unsigned depth = 0;

    memset(bytes, 0, 16);
    if (family == 6) {
        bytes[0] = 0x20; // 2000::/3
        depth = 3;
    }
    for (unsigned i = 0; depth < len; depth++, i++) {
        unsigned bit;

        if (i % 8 == 0)
            choice = random_number(r);
        path = hash_mix64(path + 1);
        bit = (path & 1) ^ ((choice & 255) >= popular_half(family, depth));
        choice >>= 8;
        path ^= bit + 2;
        bytes[depth / 8] |= bit << (7 - depth % 8);
    }
}

static bool is_routable(unsigned family, const uint8_t bytes[16])
{
    return family == 6 || (bytes[0] != 0 && bytes[0] != 10 && bytes[0] != 127 && bytes[0] < 224);
}

size_t table_gen(struct prefix *out, size_t n, uint64_t seed, unsigned family)
{
    const uint32_t *lengths = family == 4 ? lengths4 : lengths6;
    unsigned max_len = family == 4 ? 32 : 128;
    struct random r = {hash_mix64(seed) ^ family};
    uint64_t total = 0;
    size_t slots = 64, made = 0;
    unsigned len = 0;
    uint32_t *seen; // open hash of index + 1

    for (unsigned i = 0; i <= max_len; i++)
        total += lengths[i];
    while (slots < 2 * n)
        slots *= 2;
    seen = calloc(slots, sizeof(*seen));
    if (seen == NULL)
        return 0;
    for (size_t tries = 0, again = 0; made < n && tries < 64 * n; tries++) {
        struct prefix p = {.family = family};
        size_t at;

        if (again == 0) // a taken or unroutable prefix is replaced by one of the same length
            len = random_len(&r, lengths, max_len, total);
        p.len = len;
        random_bits(&r, seed, family, len, p.b);
        at = hash_bytes(p.b, sizeof(p.b), len) & (slots - 1);
        while (seen[at] != 0 && !prefix_equal(&out[seen[at] - 1], &p))
            at = (at + 1) & (slots - 1);
        again = seen[at] != 0 || !is_routable(family, p.b) ? (again + 1) % 64 : 0;
        if (seen[at] != 0 || !is_routable(family, p.b))
            continue;
        out[made++] = p;
        seen[at] = made;
    }
    free(seen);
    return made;
}
