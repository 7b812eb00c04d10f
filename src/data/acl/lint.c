// SPDX-License-Identifier: BSD-3-Clause
// lint.c - finds rules of a list that never decide (lint.h)
//
// A rule that covers another compares the same fields or fewer bits of them. So rules are sorted
// into classes by the fields that they compare (prefix lengths, sets, exact fields) and hashed by
// their exact fields. For each rule, one lookup per class that may cover it finds the rules with
// equal exact fields; ranges and flags are then compared one by one. Addresses are hashed once per
// prefix length, and nearly all lookups end at a bit of a small filter.
#include "acl/lint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acl/rule.h"
#include "acl/set.h"
#include "base/hash.h"
#include "base/vec.h"

#define LOOK_MAX 256       // rules compared per lookup
#define FILTER_BITS 16u    // per rule

enum port_class { PORT_ANY, PORT_EXACT, PORT_RANGE };

struct class
{
    uint8_t src_len, dst_len;
    uint16_t src_set, dst_set;
    uint8_t sport, dport; // enum port_class
    bool proto_any;
};

struct acl_lint {
    struct acl_rule *rule;
    uint32_t *does, *class_of, *next, *head; // next, head: 1 + index
    size_t n, done, buckets;
    struct acl_set *set[ACL_SETS_MAX];
    VEC(struct class) class;
    VEC(uint8_t) length[2]; // lengths in use: source, destination
    uint64_t *filter;       // a bit for each hash in use
    VEC(struct acl_finding) finding;
    bool incomplete;
};

struct hashes { // of a rule's addresses, by prefix length
    uint64_t side[2][129];
};

// --- does one cover the other? -------------------------------------------------------------------

static bool bits_equal(const uint8_t *a, const uint8_t *b, unsigned len)
{
    unsigned whole = len / 8, rest = len % 8;

    return !memcmp(a, b, whole) && (!rest || !((a[whole] ^ b[whole]) >> (8 - rest)));
}

// Is the whole prefix in one member of the set?
static bool set_covers(const struct acl_set *s, const struct acl_side *b, uint8_t families)
{
    struct prefix p;

    if (families == ACL_BOTH)
        return false;
    for (unsigned len = 0; len <= b->len; len++) {
        p = (struct prefix){.family = families == ACL_IP6 ? IP6 : IP4, .len = (uint8_t)len};
        memcpy(p.b, b->addr, sizeof p.b);
        prefix_canon(&p);
        if (acl_set_has(s, &p))
            return true;
    }
    return false;
}

static bool side_covers(const struct acl_side *a, const struct acl_side *b, uint8_t families,
                        struct acl_set *const *set)
{
    if (a->set != ACL_NO_SET)
        return b->set != ACL_NO_SET ? a->set == b->set : set_covers(set[a->set], b, families);
    if (b->set != ACL_NO_SET)
        return !a->len;
    return a->len <= b->len && bits_equal(a->addr, b->addr, a->len);
}

static bool range_covers(uint32_t from, uint32_t span, uint32_t inner_from, uint32_t inner_span)
{
    return from <= inner_from && inner_from + inner_span <= from + span;
}

static bool test_covers(const struct rule_test *a, const struct rule_test *b)
{
    const uint8_t set = (uint8_t)((b->value & b->mask) >> TEST_FLAGS); // flags that b wants set

    return !(a->mask & ~b->mask) && !((a->value ^ b->value) & a->mask) &&
           (!a->any || set & a->any || (b->any && !(b->any & ~a->any))) &&
           range_covers((uint16_t)a->port, (uint16_t)a->span, (uint16_t)b->port,
                        (uint16_t)b->span) &&
           range_covers(a->port >> 16, a->span >> 16, b->port >> 16, b->span >> 16);
}

bool acl_rule_covers(const struct acl_rule *a, const struct acl_rule *b, struct acl_set *const *set)
{
    const struct rule_test ta = rule_test(a), tb = rule_test(b);

    return !(b->families & ~a->families) && test_covers(&ta, &tb) &&
           side_covers(&a->src, &b->src, b->families, set) &&
           side_covers(&a->dst, &b->dst, b->families, set);
}

// --- classes -------------------------------------------------------------------------------------

static uint8_t port_class(const uint16_t p[2])
{
    return p[0] == p[1] ? PORT_EXACT : p[0] == 0 && p[1] == UINT16_MAX ? PORT_ANY : PORT_RANGE;
}

static struct class class_of(const struct acl_rule *r)
{
    struct class c;

    memset(&c, 0, sizeof c);
    c.src_set = r->src.set;
    c.dst_set = r->dst.set;
    c.src_len = r->src.set == ACL_NO_SET ? r->src.len : 0;
    c.dst_len = r->dst.set == ACL_NO_SET ? r->dst.len : 0;
    c.sport = port_class(r->sport);
    c.dport = port_class(r->dport);
    c.proto_any = r->proto_any;
    return c;
}

static uint64_t hash_side(const struct acl_side *s, unsigned len, uint64_t h)
{
    uint8_t b[16] = {0};
    unsigned whole = len / 8, rest = len % 8;

    memcpy(b, s->addr, whole);
    if (rest)
        b[whole] = (uint8_t)(s->addr[whole] & 0xff << (8 - rest));
    return hash_bytes(b, sizeof b, h);
}

static void hash_sides(const struct acl_lint *l, const struct acl_rule *r, struct hashes *h)
{
    for (unsigned side = 0; side < 2; side++)
        vec_foreach (&l->length[side], len)
            h->side[side][*len] = hash_side(side ? &r->dst : &r->src, *len, side);
}

// Hash of the class's exact fields, with rule r's values.
static uint64_t hash_in(uint32_t number, const struct class *c, const struct acl_rule *r,
                        const struct hashes *h)
{
    uint64_t rest = (c->proto_any ? 0 : r->proto) |
                    (uint64_t)(c->sport == PORT_EXACT ? r->sport[0] : 0) << 16 |
                    (uint64_t)(c->dport == PORT_EXACT ? r->dport[0] : 0) << 32;

    return hash_mix64(hash_mix64(rest ^ (uint64_t)number << 48 ^ number) ^ h->side[0][c->src_len] ^
                      h->side[1][c->dst_len]);
}

static uint64_t *bloom_word(const struct acl_lint *l, uint64_t hash)
{
    return &l->filter[(hash >> 6) & (l->buckets * FILTER_BITS / 64 - 1)];
}

static uint32_t class_number(struct acl_lint *l, const struct acl_rule *r, uint32_t *index,
                             size_t slots)
{
    struct class c = class_of(r);
    size_t at = hash_bytes(&c, sizeof c, 0) & (slots - 1);

    for (; index[at]; at = (at + 1) & (slots - 1))
        if (!memcmp(&l->class.item[index[at] - 1], &c, sizeof c))
            return index[at] - 1;
    *vec_push(&l->class) = c;
    index[at] = (uint32_t)l->class.n;
    return index[at] - 1;
}

static bool may_cover(const struct class *a, const struct class *b)
{
    bool src = a->src_set == ACL_NO_SET
                   ? (b->src_set == ACL_NO_SET ? a->src_len <= b->src_len : !a->src_len)
                   : b->src_set == ACL_NO_SET || a->src_set == b->src_set;
    bool dst = a->dst_set == ACL_NO_SET
                   ? (b->dst_set == ACL_NO_SET ? a->dst_len <= b->dst_len : !a->dst_len)
                   : b->dst_set == ACL_NO_SET || a->dst_set == b->dst_set;

    return src && dst && (a->proto_any || !b->proto_any) &&
           (a->sport != PORT_EXACT || b->sport == PORT_EXACT) &&
           (a->dport != PORT_EXACT || b->dport == PORT_EXACT);
}

// --- a list --------------------------------------------------------------------------------------

static void keep_lengths(struct acl_lint *l)
{
    bool seen[2][129] = {0};

    vec_foreach (&l->class, c)
        seen[0][c->src_len] = seen[1][c->dst_len] = true;
    for (unsigned side = 0; side < 2; side++)
        for (unsigned len = 0; len <= 128; len++)
            if (seen[side][len])
                *vec_push(&l->length[side]) = (uint8_t)len;
}

static void classes_fill(struct acl_lint *l)
{
    struct hashes h;
    size_t slots = 64;
    uint32_t *index;

    while (slots < 2 * l->n + 2)
        slots *= 2;
    index = calloc(slots, sizeof *index);
    bug_on(!index);
    for (size_t i = 0; i < l->n; i++)
        l->class_of[i] = class_number(l, &l->rule[i], index, slots);
    free(index);
    keep_lengths(l);
    for (size_t i = l->n; i--;) { // so that chains begin with the lowest number
        uint32_t c = l->class_of[i];
        hash_sides(l, &l->rule[i], &h);
        uint64_t hash = hash_in(c, &l->class.item[c], &l->rule[i], &h);
        uint32_t *head = &l->head[hash >> 32 & (l->buckets - 1)];
        *bloom_word(l, hash) |= 1ull << (hash & 63);
        l->next[i] = *head;
        *head = (uint32_t)i + 1;
    }
}

struct acl_lint *acl_lint_new(const struct acl_rule *r, const uint32_t *does, size_t n,
                              struct acl_set *const *set)
{
    struct acl_lint *l = calloc(1, sizeof *l);

    if (!l)
        return NULL;
    l->n = n;
    for (l->buckets = 64; l->buckets < n;) // a power of two
        l->buckets *= 2;
    l->rule = malloc((n + 1) * sizeof *r);
    l->does = malloc((n + 1) * sizeof *does);
    l->class_of = malloc((n + 1) * sizeof *l->class_of);
    l->next = malloc((n + 1) * sizeof *l->next);
    l->head = calloc(l->buckets, sizeof *l->head);
    l->filter = calloc(l->buckets * FILTER_BITS / 64, sizeof *l->filter);
    if (!l->filter || !l->rule || !l->does || !l->class_of || !l->next || !l->head) {
        acl_lint_free(l);
        errno = ENOMEM;
        return NULL;
    }
    memcpy(l->rule, r, n * sizeof *r);
    memcpy(l->does, does, n * sizeof *does);
    memcpy(l->set, set, sizeof l->set);
    classes_fill(l);
    return l;
}

void acl_lint_free(struct acl_lint *l)
{
    if (!l)
        return;
    free(l->rule);
    free(l->does);
    free(l->class_of);
    free(l->next);
    free(l->head);
    free(l->filter);
    vec_free(&l->class);
    vec_free(&l->length[0]);
    vec_free(&l->length[1]);
    vec_free(&l->finding);
    free(l);
}

// The first rule of class c before j that covers it; l->n: none.
static size_t cover_in_class(struct acl_lint *l, uint32_t c, size_t j, const struct hashes *h)
{
    uint64_t hash = hash_in(c, &l->class.item[c], &l->rule[j], h);
    unsigned looked = 0;

    if (!(*bloom_word(l, hash) >> (hash & 63) & 1))
        return l->n;
    uint32_t i = l->head[hash >> 32 & (l->buckets - 1)];
    for (; i && i - 1 < j; i = l->next[i - 1]) {
        if (l->class_of[i - 1] != c)
            continue;
        if (acl_rule_covers(&l->rule[i - 1], &l->rule[j], l->set))
            return i - 1;
        if (++looked == LOOK_MAX) {
            l->incomplete = true;
            break;
        }
    }
    return l->n;
}

// The first rule before j that covers it; l->n: none.
static size_t rule_first_cover(struct acl_lint *l, size_t j)
{
    uint32_t mine = l->class_of[j];
    size_t by = l->n;
    struct hashes h;

    hash_sides(l, &l->rule[j], &h);
    for (uint32_t c = 0; c < l->class.n; c++) {
        size_t i =
            may_cover(&l->class.item[c], &l->class.item[mine]) ? cover_in_class(l, c, j, &h) : l->n;
        by = i < by ? i : by;
    }
    return by;
}

static void rule_judge(struct acl_lint *l, size_t j)
{
    size_t by = rule_first_cover(l, j);

    if (by == l->n)
        return;
    bool same = l->does[by] == l->does[j];
    bool exactly = acl_rule_covers(&l->rule[j], &l->rule[by], l->set);
    *vec_push(&l->finding) = (struct acl_finding){(uint32_t)j, (uint32_t)by,
                                                  same      ? ACL_REDUNDANT
                                                  : exactly ? ACL_CONTRADICTING
                                                            : ACL_SHADOWED};
}

bool acl_lint_step(struct acl_lint *l, size_t rules)
{
    for (; rules-- && l->done < l->n; l->done++)
        rule_judge(l, l->done);
    return l->done == l->n;
}

const struct acl_finding *acl_lint_findings(const struct acl_lint *l, size_t *n)
{
    *n = l->finding.n;
    return l->finding.item;
}

bool acl_lint_complete(const struct acl_lint *l)
{
    return !l->incomplete;
}
