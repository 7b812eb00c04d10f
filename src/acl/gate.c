// SPDX-License-Identifier: BSD-3-Clause
// gate.c - gates and guards: what ends a packet before any tuple is asked
//
// A length suits when few packets get past it: neither ones with random addresses, nor ones that match some rule, which
// should find few other tuples open. The longer, the better, until the gate no longer stays near the core.
#include <string.h>

#include "acl/core.h"

#define GATE_KEYS_MAX (1u << 17)

static unsigned tuple_len(const struct core *c, unsigned t, enum core_side s)
{
    return c->len[s][c->tuple[t].level[s]];
}

uint32_t guard_key(const struct core *c, const struct guard *g, const struct acl_rule *r)
{
    return g->salt ^ rule_digest(c, g->side, r, c->len[g->side][g->level]);
}

void guards_of_tuple(struct core *c, struct tuple *t)
{
    for (unsigned s = 0; s < 2; s++) {
        t->guard[s] = CORE_NONE;
        for (uint8_t g = 0; g < c->n_guards; g++)
            if (c->guard[g].side == s && c->len[s][t->level[s]] >= c->len[s][c->guard[g].level])
                t->guard[s] = g;
    }
}

// About how many different keys the rules have on one side cut to `len`, of those that are in [least, most] long (linear
// counting).
static double distinct(const struct core *c, const struct core_rules *r, enum core_side s, unsigned len, unsigned least, unsigned most,
                       uint64_t *sketch)
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

// Words that a gate of this length fills.
static double gate_keys(const struct core *c, const struct core_rules *r, enum core_side s, unsigned len, uint64_t *sketch)
{
    double n = distinct(c, r, s, len, len, 128, sketch);

    for (unsigned i = 0; i < c->n_levels[s]; i++) {
        unsigned shorter = c->len[s][i];
        if (shorter && shorter < len && shorter + GATE_SPREAD >= len)
            n += distinct(c, r, s, shorter, shorter, len - 1, sketch) * (1u << (len - shorter));
    }
    return n;
}

// Tuples that stay open for a random packet, and for one that matches, if each of n words opens those of its rules.
static double open_tuples(const struct core *c, enum core_side s, unsigned len, unsigned spread, double n)
{
    double space = __builtin_exp2(len < 60 ? len : 60), open = 0;

    for (unsigned t = 0; t < c->n_tuples; t++) {
        double here = c->tuple[t].rules / (n + 1);
        if (tuple_len(c, t, s))
            open += tuple_len(c, t, s) + spread < len ? 2 : (n < space ? n / space : 1) + (here < 1 ? here : 1);
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

// The gate's length, or none, if it pays for the look.
static double gate_choose(struct core *c, const struct core_rules *r, enum core_side s, uint64_t *sketch)
{
    double least = 2 * shut_tuples(c, s) - 1, keys = 0;

    c->gate[s].level = CORE_NONE;
    for (uint8_t l = 0; l < c->n_levels[s]; l++) {
        double n = c->len[s][l] ? gate_keys(c, r, s, c->len[s][l], sketch) : 0, open = open_tuples(c, s, c->len[s][l], GATE_SPREAD, n);

        if (!c->len[s][l] || (c->family == ACL_IP6 && c->len[s][l] > 64) || n > GATE_KEYS_MAX || open >= least)
            continue;
        least = open;
        keys = n;
        c->gate[s].level = l;
    }
    return keys;
}

static void guard_choose(struct core *c, const struct core_rules *r, enum core_side s, uint64_t *sketch)
{
    double least = 2 * shut_tuples(c, s) - 1, keys = 0;
    unsigned best = CORE_NONE;

    for (unsigned l = 0; l < c->n_levels[s]; l++) {
        double n = c->len[s][l] ? distinct(c, r, s, c->len[s][l], c->len[s][l], 128, sketch) : 0, open = open_tuples(c, s, c->len[s][l], 0, n);

        if (!c->len[s][l] || open >= least)
            continue;
        least = open;
        keys = n;
        best = l;
    }
    if (best == CORE_NONE)
        return;
    c->guard[c->n_guards] = (struct guard){s, (uint8_t)best, core_salt(c, CORE_TUPLES + c->n_guards)};
    c->n_guards++;
    c->guard_keys += (uint64_t)keys;
}

void gates_choose(struct core *c, const struct core_rules *r, uint64_t *sketch, uint8_t gate_log[2])
{
    for (unsigned s = 0; s < 2; s++) {
        double keys = gate_choose(c, r, s, sketch);

        for (gate_log[s] = 4; c->gate[s].level != CORE_NONE && (1u << gate_log[s]) < 3 * keys && gate_log[s] < 18;)
            gate_log[s]++;
        c->gate[s].shift = 32 - gate_log[s];
        for (unsigned t = 0; t < c->n_tuples; t++)
            if (c->tuple[t].set[s] != CORE_NONE || c->gate[s].level == CORE_NONE ||
                tuple_len(c, t, s) + GATE_SPREAD < c->len[s][c->gate[s].level])
                c->gate[s].always |= 1u << t;
        if (c->gate[s].level == CORE_NONE)
            guard_choose(c, r, s, sketch);
    }
    for (unsigned t = 0; t < c->n_tuples; t++)
        guards_of_tuple(c, &c->tuple[t]);
}

static void gate_open(const struct gate *g, uint32_t digest, unsigned tuple)
{
    uint32_t *word = gate_word(g, digest);

    __atomic_store_n(word, *word | 1u << tuple, __ATOMIC_RELAXED);
}

static void gate_add(struct core *c, enum core_side s, unsigned tuple, const struct acl_rule *r)
{
    const struct gate *g = &c->gate[s];
    unsigned len = c->len[s][g->level], own = rule_len(r, s);
    struct acl_rule part = *r;
    uint8_t *addr = s == CORE_SRC ? part.src.addr : part.dst.addr;
    uint64_t top;

    if (own >= len) {
        gate_open(g, rule_digest(c, s, r, len), tuple);
        return;
    }
    memcpy(&top, addr, sizeof top);
    top = __builtin_bswap64(top) & mask6(own, 0);
    for (uint64_t i = 0; i < 1u << (len - own); i++) { // every word that it covers
        uint64_t one = __builtin_bswap64(top | i << (64 - len));
        memcpy(addr, &one, sizeof one);
        gate_open(g, rule_digest(c, s, &part, len), tuple);
    }
}

void gates_add(struct core *c, unsigned tuple, const struct acl_rule *r)
{
    for (unsigned s = 0; s < 2; s++)
        if (c->gate[s].level != CORE_NONE && !(c->gate[s].always >> tuple & 1))
            gate_add(c, s, tuple, r);
}
