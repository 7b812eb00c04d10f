// SPDX-License-Identifier: BSD-3-Clause
// set4_leaf.c - the members of 25..32 bits in one /24: in a word, a list or a bitmap (set4.h)
//
// The writer unpacks a leaf into a bitmap of codes, changes that, and writes it in the smallest
// form: up to three codes of 9 bits in the word, up to 16 entries of octet and mask in a list that
// vectors compare, else the bitmap itself.
#include "acl/set4.h"

#define IN_WORD 3u
#define LIST_MAX 16u

static unsigned leaf_count(const struct set4_leaf *l)
{
    unsigned n = 0;

    for (unsigned i = 0; i < 8; i++)
        n += (unsigned)__builtin_popcountll(l->code[i]);
    return n;
}

static void leaf_put(struct set4_leaf *l, unsigned code)
{
    l->code[code / 64] |= 1ull << code % 64;
}

// A code's list entry: the first octet of its range, and the mask.
static uint16_t entry_of(unsigned code)
{
    unsigned rest = (unsigned)__builtin_clz(code) - 23; // bits behind the prefix

    return (uint16_t)((0xff << rest & 0xff) << 8 | (code << rest & 0xff));
}

static unsigned code_of(uint16_t entry)
{
    unsigned rest = (unsigned)__builtin_ctz(entry >> 8);

    return (256u | (entry & 0xff)) >> rest;
}

void set4_leaf_read(const struct set4 *s, uint32_t word, struct set4_leaf *l)
{
    enum set4_kind kind = word >> SET4_KIND_SHIFT & SET4_KIND;

    *l = (struct set4_leaf){0};
    if (!(word & SET4_LIST)) {
        for (; word; word >>= 9)
            leaf_put(l, word & 511);
    } else if (kind == SET4_BITS) {
        memcpy(l, set4_at(s, word), sizeof *l);
    } else {
        const uint16_t *list = set4_at(s, word);
        for (unsigned i = 0; i < 8u * (kind + 1); i++)
            leaf_put(l, code_of(list[i]));
    }
}

static void *block_new(struct set4 *s, enum set4_kind kind, size_t bytes, uint32_t *word)
{
    uint32_t ref = pool_alloc(&s->pool, bytes);

    if (!ref)
        return NULL;
    *vec_push(&s->fresh) = ref;
    *word = SET4_LIST | (uint32_t)kind << SET4_KIND_SHIFT | ref;
    return pool_at(&s->pool, ref);
}

bool set4_leaf_write(struct set4 *s, const struct set4_leaf *l, uint32_t *word)
{
    unsigned n = leaf_count(l), at = 0;
    uint16_t list[LIST_MAX];

    *word = 0;
    if (n > LIST_MAX) {
        void *block = block_new(s, SET4_BITS, sizeof *l, word);
        if (block)
            memcpy(block, l, sizeof *l);
        return block;
    }
    for (unsigned i = 0; i < 8; i++)
        for (uint64_t m = l->code[i]; m; m &= m - 1) {
            unsigned code = 64 * i + (unsigned)__builtin_ctzll(m);
            if (n <= IN_WORD)
                *word |= code << 9 * at++;
            else
                list[at++] = entry_of(code);
        }
    if (n <= IN_WORD)
        return true;
    enum set4_kind kind = n > 8 ? SET4_LIST16 : SET4_LIST8;
    size_t bytes = 16u * (kind + 1);
    while (at < bytes / 2) // fill the rest with the last one
        list[at] = list[at - 1], at++;
    void *block = block_new(s, kind, bytes, word);
    if (block)
        memcpy(block, list, bytes);
    return block;
}

void set4_leaf_retire(struct set4 *s, uint32_t word)
{
    if (word & SET4_LIST)
        *vec_push(&s->dead) = word & SET4_REF;
}
