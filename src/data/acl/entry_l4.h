// SPDX-License-Identifier: BSD-3-Clause
// entry_l4.h - the fields of a rule in a tuple's block, except addresses: how they are kept and
// compared
//
// Knows no field by name: it keeps struct rule_test (rule.h) in 24 bytes. A rule compares bytes 0
// and 2 of the test whole or not at all, so a bit stands for each of their masks; of byte 3 it only
// wants bits clear, so the mask takes the place of the value.
#ifndef ACL_ENTRY_L4_H
#define ACL_ENTRY_L4_H

#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "acl/acl.h"
#include "acl/rule.h"

#define SLOT_BITS 24u

enum entry_is {
    ENTRY_LAST = 1,
    ENTRY_BYTE0 = 2, // the whole byte is compared
    ENTRY_BYTE2 = 4,
    ENTRY_SRC_SET = 8,
    ENTRY_DST_SET = 16
};

struct entry_l4 {        // shared by entries of both families
    uint32_t port, span; // as in rule_test
    uint32_t number;
    uint32_t slot : SLOT_BITS, any : 8; // any: as in rule_test
    uint32_t value;                     // as in rule_test; byte 3: its mask
    uint8_t len[2]; // of the prefixes; 0 for a set, whose index is in the address
    uint8_t mask1;  // byte 1 of the mask
    uint8_t is;     // enum entry_is
};

// Byte 3 of a deleted entry, if there was no room for a shorter block: every packet is some part.
#define ENTRY_DEAD 0xff000000u

// --- writer ---

static inline void entry_l4_put(struct entry_l4 *e, const struct rule_test *t)
{
    e->port = t->port;
    e->span = t->span;
    e->any = t->any;
    e->value = t->value | (t->mask & 0xff000000);
    e->mask1 = (uint8_t)(t->mask >> 8);
    e->is |= (t->mask & 0xff ? ENTRY_BYTE0 : 0) | (t->mask & 0xff0000 ? ENTRY_BYTE2 : 0);
}

static inline bool entry_l4_is_dead(const struct entry_l4 *e)
{
    return e->value >= ENTRY_DEAD;
}

static inline void entry_l4_kill(struct entry_l4 *e) // partner: entry_l4_differs
{
    __atomic_store_n(&e->value, e->value | ENTRY_DEAD, __ATOMIC_RELAXED);
}

// --- reader ---

// 0 if they match. Bits instead of conditions: nearly every branch here would be unpredictable.
static inline uint32_t entry_l4_differs(const struct entry_l4 *e, const struct acl_key_l4 *k)
{
    static const uint32_t whole[4] = {0, 0x0000ff, 0xff0000, 0xff00ff}; // by ENTRY_BYTE0, 2
    // partner: entry_l4_kill
    uint32_t have, want = __atomic_load_n(&e->value, __ATOMIC_RELAXED);

    memcpy(&have, &k->proto, sizeof have);
    return ((have ^ want) & (whole[e->is >> 1 & 3] | (uint32_t)e->mask1 << 8)) |
           (have & want & 0xff000000) |
           ((uint16_t)(k->sport - (uint16_t)e->port) > (uint16_t)e->span) |
           ((uint16_t)(k->dport - (e->port >> 16)) > e->span >> 16) |
           ((e->any != 0) & !(have >> 8 & e->any));
}

#ifdef __AVX2__
// The same for eight entries, each with its own packet; e[2..7]: the entries' words 2..7.
static inline __attribute__((always_inline)) __m256i entry_l4_differ8(const __m256i *e,
                                                                      __m256i ports, __m256i have)
{
    const __m256i byte1 = _mm256_set1_epi32(0xff00), zero = _mm256_setzero_si256();
    __m256i beyond = _mm256_subs_epu16(_mm256_sub_epi16(ports, e[2]), e[3]);
    __m256i is_byte0 = _mm256_srai_epi32(_mm256_slli_epi32(e[7], 6), 31),
            is_byte2 = _mm256_srai_epi32(_mm256_slli_epi32(e[7], 5), 31);
    __m256i mask =
        _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(e[7], 8), byte1),
                        _mm256_or_si256(_mm256_and_si256(is_byte0, _mm256_set1_epi32(0xff)),
                                        _mm256_and_si256(is_byte2, _mm256_set1_epi32(0xff0000))));
    __m256i differ = _mm256_and_si256(_mm256_xor_si256(have, e[6]), mask);
    __m256i part =
        _mm256_and_si256(_mm256_and_si256(have, e[6]), _mm256_set1_epi32((int)0xff000000));
    __m256i any = _mm256_and_si256(_mm256_srli_epi32(e[5], 16), byte1);
    __m256i none = _mm256_cmpeq_epi32(_mm256_and_si256(any, have), zero);
    __m256i lacks = _mm256_andnot_si256(_mm256_cmpeq_epi32(any, zero), none);

    return _mm256_or_si256(_mm256_or_si256(beyond, differ), _mm256_or_si256(part, lacks));
}
#endif

#endif
