// SPDX-License-Identifier: BSD-3-Clause
// tuple.c - which tuples a list gets, and which guards
//
// Many tuples cost each packet a look at the filter for each; few make long blocks, because unlike rules share a key. So a
// rule first asks for a coarse tuple, its lengths rounded down (TupleMerge's idea: Daly et al., IEEE/ACM ToN 2019), and only
// when the block that it would join is long for one that says more: the destination port, exact lengths, both. What does not
// fit into CORE_TUPLES joins the shortest block that it can.
#include <string.h>

#include "acl/core.h"
#include "acl/rule.h"
#include "base/hash.h"

static const struct acl_side *side_of(const struct acl_rule *r, enum core_side s)
{
    return s == CORE_SRC ? &r->src : &r->dst;
}

static unsigned len_of(const struct acl_rule *r, enum core_side s)
{
    const struct acl_side *side = side_of(r, s);

    return side->set == ACL_NO_SET ? side->len : 0;
}

static unsigned set_of(const struct acl_rule *r, enum core_side s)
{
    const struct acl_side *side = side_of(r, s);

    return side->set == ACL_NO_SET ? CORE_NONE : side->set;
}

static bool has_port(const struct acl_rule *r)
{
    return !r->proto_any && r->dport[0] == r->dport[1];
}

static uint32_t digest(const struct core *c, enum core_side s, const struct acl_rule *r, unsigned len)
{
    const uint8_t *addr = side_of(r, s)->addr;

    if (c->family == ACL_IP4) {
        uint32_t a;
        memcpy(&a, addr, sizeof a);
        return digest4(c, s, __builtin_bswap32(a), len);
    }
    uint64_t a[2];
    memcpy(a, addr, sizeof a);
    a[0] = __builtin_bswap64(a[0]);
    a[1] = __builtin_bswap64(a[1]);
    return digest6(c, s, a, len);
}

uint32_t tuple_key(const struct core *c, const struct tuple *t, const struct acl_rule *r)
{
    uint32_t key = t->salt ^ digest(c, CORE_SRC, r, c->len[CORE_SRC][t->level[CORE_SRC]]) ^
                   digest(c, CORE_DST, r, c->len[CORE_DST][t->level[CORE_DST]]);

    return t->port ? key ^ digest_port(c, r->proto, r->dport[0]) : key;
}

uint32_t guard_key(const struct core *c, const struct guard *g, const struct acl_rule *r)
{
    return g->salt ^ digest(c, g->side, r, c->len[g->side][g->level]);
}

static uint32_t salt_of(const struct core *c, unsigned i)
{
    return hash_mix32((uint32_t)(c->secret[1][1] >> 32) + i);
}

// The level of a length; of the next shorter one there is if no more fit.
static unsigned level_of(struct core *c, enum core_side s, unsigned len)
{
    unsigned best = 0;

    for (unsigned i = 0; i < c->n_levels[s]; i++)
        if (c->len[s][i] <= len && c->len[s][i] >= c->len[s][best])
            best = i;
    if (c->len[s][best] == len || c->n_levels[s] == CORE_LEVELS)
        return best;
    c->len[s][c->n_levels[s]] = (uint8_t)len;
    // Readers cut to lengths that no tuple uses yet before they see one that does (partner: classify.h)
    __atomic_store_n(&c->n_levels[s], c->n_levels[s] + 1, __ATOMIC_RELEASE);
    return c->n_levels[s] - 1u;
}

// The tuple of these lengths (and the rule's sets), made if need be; CORE_NONE: no room.
static unsigned tuple_of(struct core *c, const struct acl_rule *r, const unsigned len[2], bool port)
{
    struct tuple t = {.port = port};

    for (unsigned s = 0; s < 2; s++) {
        t.set[s] = (uint8_t)set_of(r, s);
        t.level[s] = (uint8_t)level_of(c, s, len[s]);
    }
    for (unsigned i = 0; i < c->n_tuples; i++)
        if (!memcmp(c->tuple[i].level, t.level, 2) && !memcmp(c->tuple[i].set, t.set, 2) && c->tuple[i].port == port)
            return i;
    if (c->n_tuples == CORE_TUPLES)
        return CORE_NONE;
    t.salt = salt_of(c, c->n_tuples);
    guards_of_tuple(c, &t);
    if (port)
        __atomic_store_n(&c->ports, true, __ATOMIC_RELAXED);
    c->tuple[c->n_tuples] = t;
    __atomic_store_n(&c->n_tuples, c->n_tuples + 1, __ATOMIC_RELEASE); // partner: classify.h
    return c->n_tuples - 1;
}

static bool may_join(const struct core *c, const struct tuple *t, const struct acl_rule *r)
{
    for (unsigned s = 0; s < 2; s++)
        if ((t->set[s] != CORE_NONE && t->set[s] != set_of(r, s)) || c->len[s][t->level[s]] > len_of(r, s))
            return false;
    return !t->port || has_port(r);
}

struct choice {
    unsigned tuple, chain;
};

static bool better(struct core *c, const struct acl_rule *r, unsigned t, unsigned (*chain)(const struct core *, uint32_t), struct choice *best)
{
    unsigned n = chain(c, (uint32_t)(head_of(c, tuple_key(c, &c->tuple[t], r)) - c->head));

    if (best->tuple != CORE_NONE && n >= best->chain)
        return false;
    *best = (struct choice){t, n};
    return true;
}

unsigned tuple_choose(struct core *c, const struct acl_rule *r, unsigned (*chain)(const struct core *c, uint32_t head))
{
    const unsigned exact[2] = {len_of(r, CORE_SRC), len_of(r, CORE_DST)};
    const unsigned coarse[2] = {exact[0] - exact[0] % c->shape.step, exact[1] - exact[1] % c->shape.step};
    struct choice best = {CORE_NONE, 0};

    for (unsigned s = 0; s < 2; s++)
        if (set_of(r, s) != CORE_NONE)
            __atomic_store_n(&c->sets[s], c->sets[s] | UINT64_C(1) << set_of(r, s), __ATOMIC_RELAXED);
    for (unsigned i = 0; i < 4; i++) {
        if ((i & 1 && !has_port(r)) || (i >= 2 && exact[0] == coarse[0] && exact[1] == coarse[1]))
            continue;
        unsigned t = tuple_of(c, r, i < 2 ? coarse : exact, i & 1);
        if (t != CORE_NONE && better(c, r, t, chain, &best) && best.chain < c->shape.limit)
            return best.tuple;
    }
    for (unsigned t = 0; t < c->n_tuples && (best.tuple == CORE_NONE || best.chain >= c->shape.limit); t++)
        if (may_join(c, &c->tuple[t], r))
            better(c, r, t, chain, &best);
    return best.tuple;
}

// --- guards ---

void guards_of_tuple(struct core *c, struct tuple *t)
{
    for (unsigned s = 0; s < 2; s++) {
        t->guard[s] = CORE_NONE;
        for (uint8_t g = 0; g < c->n_guards; g++)
            if (c->guard[g].side == s && c->len[s][t->level[s]] >= c->len[s][c->guard[g].level])
                t->guard[s] = g;
    }
}

// About how many different keys the rules have on one side cut to a level's length (linear counting).
static double distinct(const struct core *c, const struct core_rules *r, enum core_side s, unsigned level, uint64_t *sketch)
{
    double bits = SKETCH_WORDS * 64.0, zero = bits;
    unsigned len = c->len[s][level];

    memset(sketch, 0, SKETCH_WORDS * sizeof *sketch);
    for (uint32_t i = 0; i < r->n; i++) {
        const struct acl_rule *rule = &r->rule[r->slot[i]];

        if (!(rule->families & c->family) || len_of(rule, s) < len)
            continue;
        uint32_t h = digest(c, s, rule, len) * CORE_MIX_HEAD, at = h >> 12;
        zero -= !(sketch[at / 64] >> at % 64 & 1);
        sketch[at / 64] |= UINT64_C(1) << at % 64;
    }
    return zero < 1 ? bits : -bits * __builtin_log(zero / bits);
}

// The length of a side that spares most looks of a packet with random addresses.
static void guard_choose(struct core *c, const struct core_rules *r, enum core_side s, uint64_t *sketch)
{
    double least = 0, keys = 0;
    unsigned best = CORE_NONE;

    for (unsigned i = 0; i < c->n_tuples; i++)
        least += c->len[s][c->tuple[i].level[s]] > 0;
    for (unsigned l = 0; l < c->n_levels[s]; l++) {
        double space = __builtin_exp2(c->len[s][l] < 60 ? c->len[s][l] : 60), cost = 1, pass, n;

        if (!c->len[s][l] || least <= 1)
            continue;
        n = distinct(c, r, s, l, sketch);
        pass = n / space;
        for (unsigned i = 0; i < c->n_tuples; i++) {
            unsigned len = c->len[s][c->tuple[i].level[s]];
            cost += len >= c->len[s][l] ? pass : len > 0;
        }
        if (cost < least) {
            least = cost;
            best = l;
            keys = n;
        }
    }
    if (best == CORE_NONE)
        return;
    c->guard[c->n_guards] = (struct guard){s, (uint8_t)best, salt_of(c, CORE_TUPLES + c->n_guards)};
    c->n_guards++;
    c->guard_keys += (uint64_t)keys;
}

void guards_choose(struct core *c, const struct core_rules *r, uint64_t *sketch)
{
    guard_choose(c, r, CORE_SRC, sketch);
    guard_choose(c, r, CORE_DST, sketch);
    for (unsigned i = 0; i < c->n_tuples; i++)
        guards_of_tuple(c, &c->tuple[i]);
}
