// SPDX-License-Identifier: BSD-3-Clause
// key_burst.c - set rules and prefix rules, applied before and beside the rules under tuples
//
// Called by classify.c. A lookup in a large set waits for memory, so it may run in steps
// (set4_find.h) between the work on tuples, or while the caller does other work.
#include "acl/key_burst.h"

#include <string.h>

#include "acl/key_l4.h"
#include "acl/set.h"
#include "poptrie/poptrie.h"

static void set_members_find(struct key_burst *b, const struct classifier *c, unsigned side)
{
    b->sets[side] = __atomic_load_n(&c->sets[side], __ATOMIC_RELAXED) | c->set_rule_sets[side];
    for (uint64_t sets = b->sets[side]; sets; sets &= sets - 1) {
        unsigned s = (unsigned)__builtin_ctzll(sets);
        if (b->walks && b->walk_side == side && b->walk_set == s)
            continue;
        b->member[side][s] = !c->set[s] ? 0
                             : c->family == ACL_IP4
                                 ? acl_set_find4(c->set[s], b->addr4[side], b->n)
                                 : acl_set_find6(c->set[s], b->addr6[side], b->n);
    }
}

// Clears packets in b->left that a set rule decides before all rules under tuples.
static void set_rules_decide(struct key_burst *b, const struct classifier *c)
{
    uint32_t least = __atomic_load_n(&c->least, __ATOMIC_RELAXED);
    uint64_t open = low_bits(b->n);

    for (unsigned r = 0; r < c->n_set_rules && open; r++) {
        const struct set_rule *p = &c->set_rule[r];
        uint32_t number = __atomic_load_n(&p->number, __ATOMIC_RELAXED); // partner: set_rule_del
        uint64_t hit = number == UINT32_MAX ? 0 : open;

        for (unsigned s = 0; s < 2; s++)
            if (p->set[s] != INDEX_NONE)
                hit &= b->member[s][p->set[s]];
        open &= ~hit;
        if (number < least)
            b->left &= ~hit;
        for (; hit; hit &= hit - 1) {
            unsigned i = (unsigned)__builtin_ctzll(hit);
            if (number < b->best[i]) {
                b->slot[i] = p->slot;
                b->best[i] = number;
            }
        }
    }
}

static void prefix_table_match(struct key_burst *b, const struct classifier *c,
                               const struct prefix_rules *p)
{
    uint32_t index[KEY_BURST];

    if (c->family == ACL_IP4)
        poptrie_find4_bulk(p->table, b->addr4[p->side], index, b->n);
    else
        poptrie_find6_bulk(p->table, b->addr6[p->side], index, b->n);
    for (unsigned i = 0; i < b->n; i++) {
        // partner: first_set
        uint64_t first = __atomic_load_n(&p->first[index[i]], __ATOMIC_ACQUIRE);
        uint32_t number = (uint32_t)(first >> 32), slot = (uint32_t)first;
        bool before = number < b->best[i];

        b->best[i] = before ? number : b->best[i];
        b->slot[i] = before ? slot : b->slot[i];
    }
}

// Clears packets in b->left that a prefix rule decides before all rules under tuples.
static void prefix_rules_decide(struct key_burst *b, const struct classifier *c)
{
    uint32_t least = __atomic_load_n(&c->least, __ATOMIC_RELAXED);
    uint64_t later = 0;

    for (unsigned t = 0; t < c->n_prefix_tables; t++)
        prefix_table_match(b, c, c->prefix_table[t]);
    for (unsigned i = 0; i < b->n && b->tuples; i++)
        later |= (uint64_t)(b->best[i] > least) << i;
    if (b->tuples)
        b->left &= later;
}

// Starts the lookup in one set, unless a rule under a tuple names it: that rule would need the
// result at once. Reads the set's filter.
static void set_walk_begin(struct key_burst *b, const struct classifier *c)
{
    b->walks = false;
    if (c->family != ACL_IP4 || !(b->tuples || b->ahead))
        return;
    for (uint8_t side = 0; side < 2 && !b->walks; side++) {
        uint64_t sets = c->set_rule_sets[side] & ~__atomic_load_n(&c->sets[side], __ATOMIC_RELAXED);
        if (!sets)
            continue;
        b->walk_side = side;
        b->walk_set = (uint8_t)__builtin_ctzll(sets);
        if (!c->set[b->walk_set])
            continue;
        b->walks = true;
        b->member[side][b->walk_set] = 0; // for a rule that is put under a tuple at this moment
        acl_set_walk4(c->set[b->walk_set], &b->walk, b->addr4[side], b->n);
        key_burst_walk(b);
    }
}

// Are many addresses in the set, or likely to be? Then it finishes the lookup first, because those
// packets need no further work.
static bool set_walk_is_wide(const struct key_burst *b)
{
    return (b->walk.set ? b->walk.n : 0) + (unsigned)__builtin_popcountll(b->walk.found) > b->n / 4;
}

static void set_walk_end(struct key_burst *b)
{
    while (b->walk.set)
        key_burst_walk(b);
    b->member[b->walk_side][b->walk_set] = b->walk.found;
    b->walks = false;
}

void key_burst_walk(struct key_burst *b)
{
    if (b->walks && b->walk.set)
        set4_walk_on(&b->walk);
}

bool key_burst_waits(struct key_burst *b)
{
    key_burst_walk(b); // requests nodes
    return b->walks && b->walk.set;
}

void key_burst_read_headers(struct key_burst *b, uint64_t which)
{
    const bool four = b->late->family == ACL_IP4;

    for (; which; which &= which - 1) {
        unsigned i = (unsigned)__builtin_ctzll(which);
        const uint8_t *ip = b->ip[i];
        struct acl_key_l4 *l4 = &b->l4[i];

        l4->proto = ip[four ? 9 : 6];
        l4->dscp = four ? ip[1] >> 2 : (uint8_t)((ip[0] & 15) << 2 | ip[1] >> 6);
        l4->part = ACL_WHOLE;
        acl_l4_read(ip + (four ? 20 : 40), acl_l4_bytes[l4->proto], l4->proto, l4);
    }
}

void key_burst_begin(struct key_burst *b, const struct classifier *c, uint32_t *slot, unsigned n)
{
    b->slot = slot;
    b->n = n;
    b->n_candidates = 0;
    // partner: tuple_make; sets and levels are read after it
    b->n_tuples = __atomic_load_n(&c->n_tuples, __ATOMIC_ACQUIRE);
    b->left = low_bits(n);
    memset(slot, 0xff, n * sizeof *slot); // ACL_MISS
    memset(b->best, 0xff, n * sizeof *b->best);
    set_walk_begin(b, c);
    if (c->n_prefix_tables)
        prefix_rules_decide(b, c);
    set_members_find(b, c, SIDE_SRC);
    set_members_find(b, c, SIDE_DST);
    if (b->walks && set_walk_is_wide(b))
        set_walk_end(b);
    if (!b->walks)
        set_rules_decide(b, c);
}

void key_burst_end(struct key_burst *b, const struct classifier *c)
{
    if (!b->walks)
        return;
    set_walk_end(b);
    set_rules_decide(b, c);
}
