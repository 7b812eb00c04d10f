// SPDX-License-Identifier: BSD-3-Clause
// set4_filter.c - the filter in front of an IPv4 set: coarse for small sets, fine for large ones
// (set4.h)
//
// A word stands for 1 << shift addresses. For each of its 128 items (32 in the finest filter) that
// has a member, it has two or three bits, chosen by a hash. All bits of an item without members may
// be set by other items; then the directory decides.
//
//     shift 20, items /19    16 KiB   a thousand hosts: one random address in a hundred passes
//     shift 17, items /22   128 KiB
//     shift 15, items /24   512 KiB   a bit for each /24 would take 2 MiB, too much for the caches
//     shift 13, items /24     2 MiB   if the one above would be full
#include "acl/set4.h"

#include <stdlib.h>

#include "acl/pages.h"

#define SHIFT_FEW 20u
#define SHIFT_SOME 17u
#define SHIFT_MANY 15u
#define SHIFT_MOST 13u
#define SOME 4000u // members
#define MANY 30000u
#define MOST_USED 450000u // /24s: 3.4 per word of SHIFT_MANY

#define HASH(i) (((i) | SET4_ITEMS) * SET4_HASH)
#define ITEM(i) (1u << (HASH(i) >> 27) | 1u << (HASH(i) >> 22 & 31) | 1u << (HASH(i) >> 17 & 31))
#define ITEM4(i) ITEM(i), ITEM(i + 1), ITEM(i + 2), ITEM(i + 3)
#define ITEM16(i) ITEM4(i), ITEM4(i + 4), ITEM4(i + 8), ITEM4(i + 12)

const uint32_t set4_item[SET4_ITEMS] = {ITEM16(0u),  ITEM16(16u), ITEM16(32u), ITEM16(48u),
                                        ITEM16(64u), ITEM16(80u), ITEM16(96u), ITEM16(112u)};

static size_t words_bytes(unsigned shift)
{
    return sizeof(uint32_t) << (32 - shift);
}

size_t set4_filter_bytes(const struct set4_filter *f)
{
    return f ? sizeof *f + words_bytes(f->shift) : 0;
}

void set4_filter_free(struct set4_filter *f)
{
    if (f)
        pages_unmap(f->word, words_bytes(f->shift));
    free(f);
}

static struct set4_filter *filter_new(unsigned shift)
{
    struct set4_filter *f = malloc(sizeof *f);

    if (!f)
        return NULL;
    *f = (struct set4_filter){pages_map(words_bytes(shift), shift <= SHIFT_MANY), shift,
                              shift > SHIFT_MANY ? shift - 7 : 8};
    if (!f->word) {
        free(f);
        return NULL;
    }
    return f;
}

unsigned set4_used(const struct set4 *s, unsigned slot, uint64_t used[2])
{
    uint32_t w = s->dir[slot];
    const struct set4_shorts *n = set4_at(s, w);

    used[0] = used[1] = w & SET4_ALL ? UINT64_MAX : 0;
    for (unsigned i = 0; i < 4 && w & SET4_REF; i++)
        used[i / 2] |= (uint64_t)(n->longs[i] | (w & SET4_SHORTS ? n->all[i] : 0)) << 32 * (i % 2);
    return (unsigned)(__builtin_popcountll(used[0]) + __builtin_popcountll(used[1]));
}

static void word_store(struct set4_filter *f, uint32_t at, uint32_t value)
{
    // partner: set4_filter_word
    if (f->word[at] != value)
        __atomic_store_n(&f->word[at], value, __ATOMIC_RELEASE);
}

// The bits for the used /24s of half a /17, whose first /24 has number `at`.
static uint32_t items_of(const struct set4_filter *f, uint64_t used, uint32_t at)
{
    unsigned shift = f->item_shift - 8;
    uint64_t one = (1ull << (1u << shift)) - 1; // all /24s of one item
    uint32_t bits = 0;

    while (used) {
        unsigned i = (unsigned)__builtin_ctzll(used) >> shift << shift;
        bits |= set4_item[(at + i) >> shift & (SET4_ITEMS - 1)];
        used &= ~(one << i);
    }
    return bits;
}

// A word that several /17s share.
static uint32_t shared_word(const struct set4 *s, const struct set4_filter *f, unsigned from,
                            unsigned n)
{
    uint32_t bits = 0, all = SET4_ALL;
    uint64_t used[2];

    for (unsigned slot = from; slot < from + n; slot++) {
        all &= s->dir[slot];
        if (!s->dir[slot])
            continue;
        set4_used(s, slot, used);
        bits |= items_of(f, used[0], slot << 7) | items_of(f, used[1], slot << 7 | 64);
    }
    return all ? SET4_WHOLE : bits;
}

static void filter_store(const struct set4 *s, struct set4_filter *f, unsigned from, unsigned to)
{
    unsigned each = f->shift > SHIFT_MANY ? 1u << (f->shift - SHIFT_MANY) : 1;
    uint64_t used[2];

    for (unsigned slot = from & ~(each - 1); slot < to; slot += each) {
        if (f->shift >= SHIFT_MANY) {
            word_store(f, slot / each, shared_word(s, f, slot, each));
            continue;
        }
        set4_used(s, slot, used);
        for (unsigned i = 0; i < 4; i++)
            word_store(f, 4 * slot + i,
                       s->dir[slot] & SET4_ALL
                           ? SET4_WHOLE
                           : items_of(f, used[i / 2] & UINT32_MAX * (i % 2 ? 1ull << 32 : 1ull),
                                      slot << 7 | (i / 2) << 6));
    }
}

void set4_filter_store(struct set4 *s, unsigned from, unsigned to)
{
    filter_store(s, (struct set4_filter *)s->filter, from, to);
}

// Only one old filter at a time waits for readers; until it is freed, a finer one must wait.
bool set4_filter_fit(struct set4 *s, size_t room, uint64_t epoch)
{
    unsigned shift = s->used > MOST_USED ? SHIFT_MOST
                     : s->members > MANY ? SHIFT_MANY
                     : s->members > SOME ? SHIFT_SOME
                                         : SHIFT_FEW;
    struct set4_filter *f;

    if (s->filter && (shift >= s->filter->shift || s->old_filter))
        return true;
    // the coarse one is slower, but correct
    if (s->filter && words_bytes(shift) > room)
        return true;
    f = filter_new(shift);
    if (!f)
        return s->filter;
    filter_store(s, f, 0, SET4_DIR);
    s->old_filter = (struct set4_filter *)s->filter;
    s->old_filter_epoch = epoch;
    __atomic_store_n(&s->filter, f, __ATOMIC_RELEASE); // partners: acl_set_find4, acl_set_walk4
    return true;
}
