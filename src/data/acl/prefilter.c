// SPDX-License-Identifier: BSD-3-Clause
// prefilter.c - fences, gates and guards: what ends a packet before any tuple is asked
//
// The fence is the same for all lists: one bit for each /16, whatever the tuple. Then gates or
// guards, by a length that suits the rules. A length suits when few packets get past it: neither
// ones with random addresses, nor ones that match some rule, which should find few other tuples
// open. The longer, the better, until the gate no longer stays near the core.
#include "acl/prefilter.h"

#include <string.h>

#include "acl/entry.h"

#define GATE_KEYS_MAX (1u << 17)
#define GUARD_SPREAD 4u // as GATE_SPREAD: each key takes three bits of the filter

static unsigned tuple_len(const struct core *c, unsigned t, enum core_side s)
{
    return c->len[s][c->tuple[t].level[s]];
}

void fence_of_tuple(struct core *c, unsigned tuple)
{
    for (unsigned s = 0; s < 2; s++)
        if (c->tuple[tuple].set[s] != CORE_NONE || tuple_len(c, tuple, s) + GATE_SPREAD < FENCE_LEN)
            __atomic_store_n(&c->fence[s].always, c->fence[s].always | 1u << tuple,
                             __ATOMIC_RELAXED);
}

// Packets of random addresses that get past it: more than half are not worth the look.
void fence_judge(struct core *c)
{
    double in[2] = {0, 0}, pass;
    uint32_t used = 0;

    if (!c->fence[0].bits)
        return;
    for (unsigned t = 0; t < c->n_tuples; t++)
        used |= (uint32_t)(c->tuple[t].rules != 0) << t;
    for (unsigned s = 0; s < 2; s++)
        for (unsigned w = 0; w < FENCE_WORDS; w++)
            in[s] += __builtin_popcount(c->fence[s].bits[w]) / (FENCE_WORDS * 32.0);
    bool by_dst = used & c->fence[0].always, by_src = used & c->fence[1].always;
    pass = used & c->fence[0].always & c->fence[1].always ? 1
           : by_dst || by_src                             ? in[0] * by_src + in[1] * by_dst
                                                          : in[0] * in[1];
    if (pass > 0.5)
        c->fence[0].bits = c->fence[1].bits = NULL;
}

void guards_of_tuple(struct core *c, struct tuple *t)
{
    for (unsigned s = 0; s < 2; s++) {
        t->guard[s] = CORE_NONE;
        for (uint8_t g = 0; g < c->n_guards; g++)
            if (c->guard[g].side == s &&
                c->len[s][t->level[s]] + GUARD_SPREAD >= c->len[s][c->guard[g].level] &&
                c->len[s][t->level[s]])
                t->guard[s] = g;
    }
}

// About how many different keys the rules have on one side cut to `len`, of those that are in
// [least, most] long (linear counting).
static double distinct(const struct core *c, const struct core_rules *r, enum core_side s,
                       unsigned len, unsigned least, unsigned most, uint64_t *sketch)
{
    double bits = SKETCH_WORDS * 64.0, zero = bits;

    memset(sketch, 0, SKETCH_WORDS * sizeof *sketch);
    for (uint32_t i = 0; i < r->n; i++) {
        const struct acl_rule *rule = &r->rule[r->slot[i]];
        unsigned own = rule_len(rule, s);

        if (!(rule->families & c->family) || own < least || own > most)
            continue;
        uint32_t h = rule_digest(c, s, rule, len) * CORE_MIX_HEAD, at = h >> 12;
        zero -= !(sketch[at / 64] >> at % 64 & 1);
        sketch[at / 64] |= UINT64_C(1) << at % 64;
    }
    return zero < 1 ? bits : -bits * __builtin_log(zero / bits);
}

// Keys of this length that cover all rules whose tuples are not shorter by more than `spread`.
static double keys_of(const struct core *c, const struct core_rules *r, enum core_side s,
                      unsigned len, unsigned spread, uint64_t *sketch)
{
    double n = distinct(c, r, s, len, len, 128, sketch);

    for (unsigned i = 0; i < c->n_levels[s]; i++) {
        unsigned shorter = c->len[s][i];
        if (shorter && shorter < len && shorter + spread >= len)
            n += distinct(c, r, s, shorter, shorter, len - 1, sketch) * (1u << (len - shorter));
    }
    return n;
}

// Tuples that stay open for a random packet, and for one that matches, if each of n words opens
// those of its rules.
static double open_tuples(const struct core *c, enum core_side s, unsigned len, unsigned spread,
                          double n)
{
    double space = __builtin_exp2(len < 60 ? len : 60), open = 0;

    for (unsigned t = 0; t < c->n_tuples; t++) {
        double here = c->tuple[t].rules / (n + 1);
        if (tuple_len(c, t, s))
            open += tuple_len(c, t, s) + spread < len
                        ? 2
                        : (n < space ? n / space : 1) + (here < 1 ? here : 1);
    }
    return open;
}

static double shut_tuples(const struct core *c, enum core_side s) // that some length could shut
{
    double n = 0;

    for (unsigned t = 0; t < c->n_tuples; t++)
        n += tuple_len(c, t, s) && c->tuple[t].rules;
    return n;
}

struct length { // of a gate or a guard
    uint8_t level; // CORE_NONE: none pays for the look
    double open, keys;
};

static struct length length_choose(const struct core *c, const struct core_rules *r,
                                   enum core_side s, unsigned spread, double keys_max,
                                   uint64_t *sketch)
{
    struct length best = {CORE_NONE, 2 * shut_tuples(c, s) - 1, 0};

    for (uint8_t l = 0; l < c->n_levels[s] && best.open > 0; l++) {
        unsigned len = c->len[s][l];

        if (!len || (c->family == ACL_IP6 && len > 64))
            continue;
        double n = keys_of(c, r, s, len, spread, sketch), open = open_tuples(c, s, len, spread, n);
        if (n <= keys_max && open < best.open)
            best = (struct length){l, open, n};
    }
    return best;
}

static void guard_new(struct core *c, enum core_side s, const struct length *l)
{
    c->guard[c->n_guards] = (struct guard){s, l->level, core_salt(c, CORE_TUPLES + c->n_guards)};
    c->n_guards++;
    c->guard_keys += (uint64_t)l->keys;
}

void gates_choose(struct core *c, const struct core_rules *r, uint64_t *sketch, uint8_t gate_log[2])
{
    for (unsigned s = 0; s < 2; s++) {
        struct length gate = length_choose(c, r, s, GATE_SPREAD, GATE_KEYS_MAX, sketch);
        struct length guard = length_choose(c, r, s, GUARD_SPREAD, c->rules, sketch);

        gate_log[s] = 4;
        if (guard.level != CORE_NONE && guard.open < gate.open) {
            guard_new(c, s, &guard);
            gate.level = CORE_NONE;
        }
        while (gate.level != CORE_NONE && (1u << gate_log[s]) < 3 * gate.keys && gate_log[s] < 18)
            gate_log[s]++;
        c->gate[s].level = gate.level;
        c->gate[s].shift = 32 - gate_log[s];
        for (unsigned t = 0; t < c->n_tuples; t++)
            if (c->tuple[t].set[s] != CORE_NONE || gate.level == CORE_NONE ||
                tuple_len(c, t, s) + GATE_SPREAD < c->len[s][gate.level])
                c->gate[s].always |= 1u << t;
    }
    for (unsigned t = 0; t < c->n_tuples; t++) {
        guards_of_tuple(c, &c->tuple[t]);
        fence_of_tuple(c, t);
    }
}

// --- rules ---

struct covered { // the digests of all keys of a length that a rule's prefix covers
    struct acl_rule part;
    uint64_t top;
    unsigned len, n;
};

static struct covered covered_by(const struct acl_rule *r, enum core_side s, unsigned len)
{
    unsigned own = rule_len(r, s);
    struct covered v = {.part = *r, .len = len, .n = own < len ? 1u << (len - own) : 1};

    memcpy(&v.top, rule_side(r, s)->addr, sizeof v.top);
    v.top = __builtin_bswap64(v.top) & mask6(own < len ? own : 64, 0);
    return v;
}

static uint32_t covered_digest(struct covered *v, const struct core *c, enum core_side s,
                               unsigned i)
{
    uint64_t one = __builtin_bswap64(v->top | (uint64_t)i << (64 - v->len));

    memcpy(s == CORE_SRC ? v->part.src.addr : v->part.dst.addr, &one, sizeof one);
    return rule_digest(c, s, &v->part, v->len);
}

static void gate_open(const struct gate *g, uint32_t digest, unsigned tuple)
{
    uint32_t *word = gate_word(g, digest);

    __atomic_store_n(word, *word | 1u << tuple, __ATOMIC_RELAXED);
}

static void fence_add(const struct fence *f, unsigned tuple, const uint8_t *addr, unsigned len)
{
    uint32_t a;

    if (!f->bits || f->always >> tuple & 1)
        return;
    memcpy(&a, addr, sizeof a);
    a = __builtin_bswap32(a) & mask4(len);
    for (uint32_t i = a >> FENCE_LEN, n = len < FENCE_LEN ? 1u << (FENCE_LEN - len) : 1; n-- > 0;
         i++)
        __atomic_store_n(&f->bits[i / 32], f->bits[i / 32] | 1u << i % 32, __ATOMIC_RELAXED);
}

void gates_add(struct core *c, unsigned tuple, const struct acl_rule *r)
{
    for (unsigned s = 0; s < 2; s++) {
        fence_add(&c->fence[s], tuple, rule_side(r, s)->addr, rule_len(r, s));
        const struct gate *g = &c->gate[s];
        unsigned guard = c->tuple[tuple].guard[s];

        if (g->level != CORE_NONE && !(g->always >> tuple & 1)) {
            struct covered v = covered_by(r, s, c->len[s][g->level]);
            for (unsigned i = 0; i < v.n; i++)
                gate_open(g, covered_digest(&v, c, s, i), tuple);
        }
        if (guard != CORE_NONE) {
            struct covered v = covered_by(r, s, c->len[s][c->guard[guard].level]);
            for (unsigned i = 0; i < v.n; i++)
                filter_set(c, covered_digest(&v, c, s, i) ^ c->guard[guard].salt);
        }
    }
}
