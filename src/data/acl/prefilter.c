// SPDX-License-Identifier: BSD-3-Clause
// prefilter.c - chooses and fills net bitmaps, tuple indexes and side filters
//
// The bitmap is the same for all lists: one bit for each /16. Tuple indexes and side filters use a
// prefix length that suits the rules: it should leave few tuples open, both for random packets and
// for packets that match a rule. Longer is better until the index exceeds the caches near the core.
#include "acl/classifier_build.h"

#include <string.h>

#define INDEX_KEYS_MAX (1u << 17)
// as INDEX_SPREAD; smaller, because each key takes three bits of the filter
#define SIDE_FILTER_SPREAD 4u

static unsigned tuple_len(const struct classifier *c, unsigned t, enum side_index s)
{
    return c->len[s][c->tuple[t].level[s]];
}

void bitmap_add_tuple(struct classifier *c, unsigned tuple)
{
    for (unsigned s = 0; s < 2; s++)
        if (c->tuple[tuple].set[s] != INDEX_NONE ||
            tuple_len(c, tuple, s) + INDEX_SPREAD < BITMAP_LEN)
            __atomic_store_n(&c->bitmap[s].always, c->bitmap[s].always | 1u << tuple,
                             __ATOMIC_RELAXED);
}

// Drops the bitmap if more than half of all random packets would pass.
void bitmap_drop_if_useless(struct classifier *c)
{
    double in[2] = {0, 0}, pass;
    uint32_t used = 0;

    if (!c->bitmap[0].bits)
        return;
    for (unsigned t = 0; t < c->n_tuples; t++)
        used |= (uint32_t)(c->tuple[t].rules != 0) << t;
    for (unsigned s = 0; s < 2; s++)
        for (unsigned w = 0; w < BITMAP_WORDS; w++)
            in[s] += __builtin_popcount(c->bitmap[s].bits[w]) / (BITMAP_WORDS * 32.0);
    bool by_dst = used & c->bitmap[0].always, by_src = used & c->bitmap[1].always;
    pass = used & c->bitmap[0].always & c->bitmap[1].always ? 1
           : by_dst || by_src                               ? in[0] * by_src + in[1] * by_dst
                                                            : in[0] * in[1];
    if (pass > 0.5)
        c->bitmap[0].bits = c->bitmap[1].bits = NULL;
}

void side_filters_of_tuple(struct classifier *c, struct tuple *t)
{
    for (unsigned s = 0; s < 2; s++) {
        t->side_filter[s] = INDEX_NONE;
        for (uint8_t g = 0; g < c->n_side_filters; g++)
            if (c->side_filter[g].side == s &&
                c->len[s][t->level[s]] + SIDE_FILTER_SPREAD >= c->len[s][c->side_filter[g].level] &&
                c->len[s][t->level[s]])
                t->side_filter[s] = g;
    }
}

// Estimates the number of different keys on one side, cut to `len`, of rules with prefixes of
// [least, most] bits (linear counting).
static double keys_distinct(const struct classifier *c, const struct classifier_rules *r,
                            enum side_index s, unsigned len, unsigned least, unsigned most,
                            uint64_t *sketch)
{
    double bits = SKETCH_WORDS * 64.0, zero = bits;

    memset(sketch, 0, SKETCH_WORDS * sizeof *sketch);
    for (uint32_t i = 0; i < r->n; i++) {
        const struct acl_rule *rule = &r->rule[r->slot[i]];
        unsigned own = rule_len(rule, s);

        if (!(rule->families & c->family) || own < least || own > most)
            continue;
        uint32_t h = rule_digest(c, s, rule, len) * KEY_MIX_HEAD, at = h >> 12;
        zero -= !(sketch[at / 64] >> at % 64 & 1);
        sketch[at / 64] |= UINT64_C(1) << at % 64;
    }
    return zero < 1 ? bits : -bits * __builtin_log(zero / bits);
}

// Keys of this length that cover all rules whose tuples are at most `spread` bits shorter.
static double keys_covering(const struct classifier *c, const struct classifier_rules *r,
                            enum side_index s, unsigned len, unsigned spread, uint64_t *sketch)
{
    double n = keys_distinct(c, r, s, len, len, 128, sketch);

    for (unsigned i = 0; i < c->n_levels[s]; i++) {
        unsigned shorter = c->len[s][i];
        if (shorter && shorter < len && shorter + spread >= len)
            n +=
                keys_distinct(c, r, s, shorter, shorter, len - 1, sketch) * (1u << (len - shorter));
    }
    return n;
}

// Tuples left open for a random packet, plus for a matching one, if each of n words opens the
// tuples of its rules.
static double open_tuples(const struct classifier *c, enum side_index s, unsigned len,
                          unsigned spread, double n)
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

// Tuples that some length could close.
static double tuples_with_prefixes(const struct classifier *c, enum side_index s)
{
    double n = 0;

    for (unsigned t = 0; t < c->n_tuples; t++)
        n += tuple_len(c, t, s) && c->tuple[t].rules;
    return n;
}

struct length {    // of a tuple index or a side filter
    uint8_t level; // INDEX_NONE: none pays
    double open, keys;
};

static struct length length_choose(const struct classifier *c, const struct classifier_rules *r,
                                   enum side_index s, unsigned spread, double keys_max,
                                   uint64_t *sketch)
{
    struct length best = {INDEX_NONE, 2 * tuples_with_prefixes(c, s) - 1, 0};

    for (uint8_t l = 0; l < c->n_levels[s] && best.open > 0; l++) {
        unsigned len = c->len[s][l];

        if (!len || (c->family == ACL_IP6 && len > 64))
            continue;
        double n = keys_covering(c, r, s, len, spread, sketch),
               open = open_tuples(c, s, len, spread, n);
        if (n <= keys_max && open < best.open)
            best = (struct length){l, open, n};
    }
    return best;
}

static void side_filter_new(struct classifier *c, enum side_index s, const struct length *l)
{
    c->side_filter[c->n_side_filters] =
        (struct side_filter){s, l->level, key_salt(c, TUPLES_MAX + c->n_side_filters)};
    c->n_side_filters++;
    c->side_filter_keys += (uint64_t)l->keys;
}

void prefilter_choose(struct classifier *c, const struct classifier_rules *r, uint64_t *sketch,
                      uint8_t index_log[2])
{
    for (unsigned s = 0; s < 2; s++) {
        struct length tuple_index = length_choose(c, r, s, INDEX_SPREAD, INDEX_KEYS_MAX, sketch);
        struct length side_filter = length_choose(c, r, s, SIDE_FILTER_SPREAD, c->rules, sketch);

        index_log[s] = 4;
        if (side_filter.level != INDEX_NONE && side_filter.open < tuple_index.open) {
            side_filter_new(c, s, &side_filter);
            tuple_index.level = INDEX_NONE;
        }
        while (tuple_index.level != INDEX_NONE && (1u << index_log[s]) < 3 * tuple_index.keys &&
               index_log[s] < 18)
            index_log[s]++;
        c->tuple_index[s].level = tuple_index.level;
        c->tuple_index[s].shift = 32 - index_log[s];
        for (unsigned t = 0; t < c->n_tuples; t++)
            if (c->tuple[t].set[s] != INDEX_NONE || tuple_index.level == INDEX_NONE ||
                tuple_len(c, t, s) + INDEX_SPREAD < c->len[s][tuple_index.level])
                c->tuple_index[s].always |= 1u << t;
    }
    for (unsigned t = 0; t < c->n_tuples; t++) {
        side_filters_of_tuple(c, &c->tuple[t]);
        bitmap_add_tuple(c, t);
    }
}

// --- rules ---

struct covered { // the digests of all keys of a length that a rule's prefix covers
    struct acl_rule part;
    uint64_t top;
    unsigned len, n;
};

static struct covered covered_by(const struct acl_rule *r, enum side_index s, unsigned len)
{
    unsigned own = rule_len(r, s);
    struct covered v = {.part = *r, .len = len, .n = own < len ? 1u << (len - own) : 1};

    memcpy(&v.top, rule_side(r, s)->addr, sizeof v.top);
    v.top = __builtin_bswap64(v.top) & mask6(own < len ? own : 64, 0);
    return v;
}

static uint32_t covered_digest(struct covered *v, const struct classifier *c, enum side_index s,
                               unsigned i)
{
    uint64_t one = __builtin_bswap64(v->top | (uint64_t)i << (64 - v->len));

    memcpy(s == SIDE_SRC ? v->part.src.addr : v->part.dst.addr, &one, sizeof one);
    return rule_digest(c, s, &v->part, v->len);
}

static void tuple_index_add(const struct tuple_index *g, uint32_t digest, unsigned tuple)
{
    uint32_t *word = tuple_index_word(g, digest);

    __atomic_store_n(word, *word | 1u << tuple, __ATOMIC_RELAXED);
}

static void bitmap_add_prefix(const struct net_bitmap *f, unsigned tuple, const uint8_t *addr,
                              unsigned len)
{
    uint32_t a;

    if (!f->bits || f->always >> tuple & 1)
        return;
    memcpy(&a, addr, sizeof a);
    a = __builtin_bswap32(a) & mask4(len);
    for (uint32_t i = a >> BITMAP_LEN, n = len < BITMAP_LEN ? 1u << (BITMAP_LEN - len) : 1; n-- > 0;
         i++)
        __atomic_store_n(&f->bits[i / 32], f->bits[i / 32] | 1u << i % 32, __ATOMIC_RELAXED);
}

void prefilter_add_rule(struct classifier *c, unsigned tuple, const struct acl_rule *r)
{
    for (unsigned s = 0; s < 2; s++) {
        bitmap_add_prefix(&c->bitmap[s], tuple, rule_side(r, s)->addr, rule_len(r, s));
        const struct tuple_index *g = &c->tuple_index[s];
        unsigned side_filter = c->tuple[tuple].side_filter[s];

        if (g->level != INDEX_NONE && !(g->always >> tuple & 1)) {
            struct covered v = covered_by(r, s, c->len[s][g->level]);
            for (unsigned i = 0; i < v.n; i++)
                tuple_index_add(g, covered_digest(&v, c, s, i), tuple);
        }
        if (side_filter != INDEX_NONE) {
            struct covered v = covered_by(r, s, c->len[s][c->side_filter[side_filter].level]);
            for (unsigned i = 0; i < v.n; i++)
                filter_set(c, covered_digest(&v, c, s, i) ^ c->side_filter[side_filter].salt);
        }
    }
}
