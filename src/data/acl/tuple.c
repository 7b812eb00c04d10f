// SPDX-License-Identifier: BSD-3-Clause
// tuple.c - chooses the tuple of each rule
//
// Each tuple costs each packet a filter lookup; few tuples make long blocks, because different
// rules share a key. So a rule first asks for a coarse tuple, its lengths rounded down (TupleMerge:
// Daly et al., IEEE/ACM ToN 2019). Only if the block there is long, it asks for a finer one: with
// the destination port, with exact lengths, with both. If all TUPLES_MAX tuples exist, it joins the
// shortest block possible.
#include "acl/classifier_build.h"

#include <string.h>

#include "base/hash.h"

#define MANY_TUPLES 28u // from here on only long blocks get a new tuple
#define LONG_BLOCK 16u
#define SHORT_BLOCK 4u // rules of longer blocks use a finer tuple
// kinds of rules that are counted separately
#define WISHES_PLANNED 1021u

static unsigned set_of(const struct acl_rule *r, enum side_index s)
{
    const struct acl_side *side = rule_side(r, s);

    return side->set == ACL_NO_SET ? INDEX_NONE : side->set;
}

static bool has_port(const struct acl_rule *r)
{
    return !r->proto_any && r->dport[0] == r->dport[1];
}

// The level of a length, or of the next shorter length if there is no room for more levels.
static unsigned level_of(struct classifier *c, enum side_index s, unsigned len)
{
    unsigned best = 0;

    for (unsigned i = 0; i < c->n_levels[s]; i++)
        if (c->len[s][i] <= len && c->len[s][i] >= c->len[s][best])
            best = i;
    if (c->len[s][best] == len || c->n_levels[s] == LEVELS_MAX)
        return best;
    c->len[s][c->n_levels[s]] = (uint8_t)len;
    // Readers cut addresses to the new length before they see a tuple that uses it (partners:
    // classify_plain.c, classify_simd.c).
    __atomic_store_n(&c->n_levels[s], c->n_levels[s] + 1, __ATOMIC_RELEASE);
    return c->n_levels[s] - 1u;
}

static struct tuple tuple_like(const struct acl_rule *r, bool port)
{
    return (struct tuple){.port = port,
                          .set = {(uint8_t)set_of(r, SIDE_SRC), (uint8_t)set_of(r, SIDE_DST)}};
}

// The tuple of these lengths and the rule's sets, or INDEX_NONE.
static unsigned tuple_find(const struct classifier *c, const struct acl_rule *r,
                           const unsigned len[2], bool port)
{
    struct tuple like = tuple_like(r, port);

    for (unsigned i = 0; i < c->n_tuples; i++) {
        const struct tuple *t = &c->tuple[i];
        if (c->len[0][t->level[0]] == len[0] && c->len[1][t->level[1]] == len[1] &&
            !memcmp(t->set, like.set, 2) && t->port == port)
            return i;
    }
    return INDEX_NONE;
}

static unsigned tuple_make(struct classifier *c, const struct acl_rule *r, const unsigned len[2],
                           bool port)
{
    struct tuple t = tuple_like(r, port);

    if (c->n_tuples == TUPLES_MAX)
        return INDEX_NONE;
    for (unsigned s = 0; s < 2; s++)
        t.level[s] = (uint8_t)level_of(c, s, len[s]);
    t.salt = key_salt(c, c->n_tuples);
    side_filters_of_tuple(c, &t);
    if (port)
        __atomic_store_n(&c->ports, true, __ATOMIC_RELAXED);
    for (unsigned s = 0; s < 2; s++)
        if (c->tuple_index[s].level != INDEX_NONE &&
            (t.set[s] != INDEX_NONE ||
             c->len[s][t.level[s]] + INDEX_SPREAD < c->len[s][c->tuple_index[s].level]))
            __atomic_store_n(&c->tuple_index[s].always,
                             c->tuple_index[s].always | 1u << c->n_tuples, __ATOMIC_RELAXED);
    c->tuple[c->n_tuples] = t;
    bitmap_add_tuple(c, c->n_tuples);
    __atomic_store_n(&c->n_tuples, c->n_tuples + 1, __ATOMIC_RELEASE); // partner: key_burst_begin
    return c->n_tuples - 1;
}

static bool may_join(const struct classifier *c, const struct tuple *t, const struct acl_rule *r)
{
    for (unsigned s = 0; s < 2; s++)
        if ((t->set[s] != INDEX_NONE && t->set[s] != set_of(r, s)) ||
            c->len[s][t->level[s]] > rule_len(r, s))
            return false;
    return !t->port || has_port(r);
}

// --- choice ---

// The tuples that a rule asks for, best first: coarse lengths, with its port, exact lengths, both.
struct wishes {
    unsigned len[2][2]; // coarse, exact
    unsigned first, last;
};
#define WISHES 4u

static bool wish_port(unsigned wish)
{
    return wish & 1;
}

// If one side is any, most packets have other ports: asks for the port at once.
static struct wishes wishes_of(const struct classifier *c, const struct acl_rule *r)
{
    struct wishes w = {.last = WISHES};

    for (unsigned s = 0; s < 2; s++) {
        w.len[1][s] = rule_len(r, s);
        w.len[0][s] = w.len[1][s] - w.len[1][s] % (c->family == ACL_IP4 ? 8 : 16);
    }
    w.first = has_port(r) && (!w.len[0][0] || !w.len[0][1]);
    if (!memcmp(w.len[0], w.len[1], sizeof w.len[0]))
        w.last = 2;
    return w;
}

struct choice {
    unsigned tuple, chain, bits;
};

// Prefers a short block, then the finest tuple; else the shortest block.
static void tuple_consider(struct classifier *c, const struct acl_rule *r, unsigned t,
                           unsigned (*chain)(const struct classifier *, uint32_t),
                           struct choice *best)
{
    const struct tuple *p = &c->tuple[t];
    struct choice new = {t, chain(c, (uint32_t)(head_of(c, tuple_key(c, p, r)) - c->head)),
                         c->len[0][p->level[0]] + c->len[1][p->level[1]] + 16u * p->port +
                             32u * ((p->set[0] != INDEX_NONE) + (p->set[1] != INDEX_NONE))};
    bool is_short = new.chain < SHORT_BLOCK, was_short = best->chain < SHORT_BLOCK;

    if (best->tuple == INDEX_NONE || (is_short && (!was_short || new.bits > best->bits)) ||
        (!is_short && new.chain < best->chain))
        *best = new;
}

unsigned tuple_choose(struct classifier *c, const struct acl_rule *r,
                      unsigned (*chain)(const struct classifier *c, uint32_t head))
{
    const struct wishes w = wishes_of(c, r);
    struct choice best = {INDEX_NONE, 0, 0};

    for (unsigned s = 0; s < 2; s++)
        if (set_of(r, s) != INDEX_NONE)
            __atomic_store_n(&c->sets[s], c->sets[s] | UINT64_C(1) << set_of(r, s),
                             __ATOMIC_RELAXED);
    for (unsigned i = w.first; i < w.last; i++) {
        unsigned t = wish_port(i) && !has_port(r) ? INDEX_NONE
                                                  : tuple_find(c, r, w.len[i / 2], wish_port(i));
        if (t == INDEX_NONE)
            continue;
        tuple_consider(c, r, t, chain, &best);
        if (best.chain < SHORT_BLOCK)
            return best.tuple;
    }
    bool wished = best.tuple != INDEX_NONE;
    for (unsigned t = 1; t < c->n_tuples; t++) // not tuple 0, which every packet searches
        if (may_join(c, &c->tuple[t], r))
            tuple_consider(c, r, t, chain, &best);
    if (best.tuple != INDEX_NONE &&
        best.chain < (c->n_tuples < MANY_TUPLES ? wished ? SHORT_BLOCK : 0 : LONG_BLOCK))
        return best.tuple;
    for (unsigned i = w.first; i < w.last; i++)
        if ((!wish_port(i) || has_port(r)) &&
            tuple_find(c, r, w.len[i / 2], wish_port(i)) == INDEX_NONE) {
            unsigned t = tuple_make(c, r, w.len[i / 2], wish_port(i));
            if (t != INDEX_NONE)
                tuple_consider(c, r, t, chain, &best);
            break;
        }
    return best.tuple == INDEX_NONE ? 0 : best.tuple;
}

// --- plan: the tuples that most rules ask for, made before the list is built ---

struct wish {
    uint32_t rules, by; // slot of one of them
};

void tuples_plan(struct classifier *c, const struct classifier_rules *r, const uint8_t *tuple)
{
    struct wish wish[WISHES_PLANNED] = {0};

    for (uint32_t i = 0; i < r->n; i++) {
        const struct acl_rule *rule = &r->rule[r->slot[i]];
        uint32_t at;

        if (!is_for_tuples(c, r, i, tuple))
            continue;
        struct wishes w = wishes_of(c, rule);
        at = hash_mix32(w.len[0][0] << 8 | w.len[0][1] | w.first << 16 | set_of(rule, 0) << 17 |
                        set_of(rule, 1) << 25) %
             WISHES_PLANNED;
        wish[at].rules++;
        wish[at].by = r->slot[i];
    }
    while (c->n_tuples < MANY_TUPLES) {
        struct wish *most = wish;

        for (unsigned i = 1; i < WISHES_PLANNED; i++)
            if (wish[i].rules > most->rules)
                most = &wish[i];
        if (!most->rules)
            return;
        const struct acl_rule *rule = &r->rule[most->by];
        struct wishes w = wishes_of(c, rule);
        if (tuple_find(c, rule, w.len[0], wish_port(w.first)) == INDEX_NONE)
            tuple_make(c, rule, w.len[0], wish_port(w.first));
        most->rules = 0;
    }
}
