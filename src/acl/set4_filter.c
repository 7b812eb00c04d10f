// SPDX-License-Identifier: BSD-3-Clause
// set4_filter.c - the bits in front of an IPv4 set: coarse and small for small sets, fine for large ones
//
// A set of a thousand hosts touches 1 % of all /17s, so 16 KiB turn away 99 % of random addresses; a million need a bit for each /24.
#include "acl/set4.h"

#include <stdlib.h>

#include "acl/pages.h"

#define SHIFT_NODE 15u // a bit for each directory word
#define SHIFT_MIDDLE 12u
#define SHIFT_FINE 8u
#define MANY_FOR_NODE 2000u
#define MANY_FOR_MIDDLE 30000u

static size_t bits_bytes(unsigned shift)
{
    return ((size_t)1 << (32 - shift)) / 8;
}

size_t set4_filter_bytes(const struct set4_filter *f)
{
    return f ? sizeof *f + bits_bytes(f->shift) : 0;
}

void set4_filter_free(struct set4_filter *f)
{
    if (f)
        pages_unmap(f->word, bits_bytes(f->shift));
    free(f);
}

static struct set4_filter *filter_new(unsigned shift)
{
    struct set4_filter *f = malloc(sizeof *f);

    if (!f)
        return NULL;
    *f = (struct set4_filter){pages_map(bits_bytes(shift), shift == SHIFT_FINE), shift};
    if (!f->word) {
        free(f);
        return NULL;
    }
    return f;
}

// Of the 128 /24s of a directory word: which have anything that is in the set.
static void slot_used(const struct set4 *s, unsigned slot, uint64_t used[2])
{
    uint32_t w = s->dir[slot];
    const struct set4_shorts *n = set4_at(s, w);

    used[0] = used[1] = w & SET4_ALL ? UINT64_MAX : 0;
    for (unsigned i = 0; i < 4 && w & SET4_REF; i++)
        used[i / 2] |= (uint64_t)(n->longs[i] | (w & SET4_SHORTS ? n->all[i] : 0)) << 32 * (i % 2);
}

static void word_store(struct set4_filter *f, uint32_t at, uint32_t value)
{
    if (f->word[at] != value)
        __atomic_store_n(&f->word[at], value, __ATOMIC_RELEASE); // partner: the loads of set_find.c
}

static void filter_store(const struct set4 *s, struct set4_filter *f, unsigned slot)
{
    uint64_t used[2];

    slot_used(s, slot, used);
    if (f->shift == SHIFT_FINE) {
        for (unsigned i = 0; i < 4; i++)
            word_store(f, 4 * slot + i, (uint32_t)(used[i / 2] >> 32 * (i % 2)));
    } else if (f->shift == SHIFT_MIDDLE) {
        uint32_t bits = 0;
        for (unsigned i = 0; i < 8; i++)
            bits |= (used[i / 4] >> 16 * (i % 4) & 0xffff ? 1u : 0) << i;
        word_store(f, slot / 4, (f->word[slot / 4] & ~(0xffu << 8 * (slot % 4))) | bits << 8 * (slot % 4));
    } else {
        uint32_t bit = 1u << slot % 32;
        word_store(f, slot / 32, used[0] | used[1] ? f->word[slot / 32] | bit : f->word[slot / 32] & ~bit);
    }
}

void set4_filter_store(struct set4 *s, unsigned slot)
{
    filter_store(s, (struct set4_filter *)s->filter, slot);
}

// Only one filter is waiting for readers at a time: what comes sooner waits with it until the next change.
bool set4_filter_fit(struct set4 *s, uint64_t epoch)
{
    unsigned shift = s->members > MANY_FOR_MIDDLE ? SHIFT_FINE : s->members > MANY_FOR_NODE ? SHIFT_MIDDLE : SHIFT_NODE;
    struct set4_filter *f;

    if (s->filter && (shift >= s->filter->shift || s->old_filter))
        return true;
    if (s->filter && s->max_bytes && set4_bytes(s) + bits_bytes(shift) > s->max_bytes)
        return true; // the coarse one is slower, not wrong
    f = filter_new(shift);
    if (!f)
        return s->filter;
    for (unsigned slot = 0; slot < SET4_DIR; slot++)
        if (s->dir[slot])
            filter_store(s, f, slot);
    s->old_filter = (struct set4_filter *)s->filter;
    s->old_filter_epoch = epoch;
    __atomic_store_n(&s->filter, f, __ATOMIC_RELEASE); // partner: set_find.c
    return true;
}
