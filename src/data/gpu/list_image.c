// SPDX-License-Identifier: BSD-3-Clause
// list_image.c - see list_image.h
//
// Each rule goes under the tuple of its own fields. If these are too many tuples, prefix lengths
// are rounded down to multiples of 2, 4 ... until they fit; then more rules share a chain. If a
// chain would still be too long, the list is refused, so that no packet can cost more than
// GPU_TUPLES_MAX chains.
//
// A million rules take some hundred milliseconds: they are sorted by number once, and each family
// is traversed twice, to count the rules of each head and to store them.
#include "gpu/list_image.h"

#include "acl/acl.h"
#include "acl/rule.h"
#include "gpu/classify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADS_MIN 16u
#define LENGTHS 129u
#define FIELDS 8u
#define NO_TUPLE 0xffu
#define ALIGN 64u
// per family: with so many, acl_manager is busy for some seconds, and control may wait for it
#define RULES_MAX 2000000u

_Static_assert(sizeof(struct acl_key4) == 16 && sizeof(struct acl_key6) == 40, "keys");
_Static_assert(offsetof(struct acl_key_l4, dport) == 2 && offsetof(struct acl_key_l4, proto) == 4 &&
                   offsetof(struct acl_key_l4, tcp_flags) == 5 &&
                   offsetof(struct acl_key_l4, dscp) == 6 && offsetof(struct acl_key_l4, part) == 7,
               "gpu_flow_rest");
_Static_assert(sizeof(struct gpu_rule4) == 32 && sizeof(struct gpu_rule6) == 64, "rules");
_Static_assert(ACL_MISS == GPU_MISS, "no rule");
_Static_assert(GPU_TUPLES_MAX < NO_TUPLE && RULES_MAX < GPU_HEAD_RULE, "numbers have room");

struct numbered { // by number: rule and slot
    uint32_t number, slot;
};

struct maker {
    const struct acl *acl;
    struct numbered *order; // all rules, by number
    uint32_t n;
    char *why;
    size_t why_size;
    // of the current family
    bool six;
    uint32_t step; // prefix lengths are multiples of it
    uint8_t *tuple_of;     // [LENGTHS][LENGTHS][FIELDS]
    uint8_t *place;        // [n]: tuple of each rule
    struct gpu_rules part; // tuples in the order in which rules ask for them
    uint32_t rules, heads, longest;
};

// --- the fields of a rule ---

static bool is_of(const struct maker *m, const struct acl_rule *r)
{
    return r->families & (m->six ? ACL_IP6 : ACL_IP4);
}

static const struct acl_rule *rule_at(const struct maker *m, uint32_t i)
{
    return acl_rule_of(m->acl, m->order[i].slot);
}

static struct gpu_tuple tuple_like(const struct maker *m, const struct acl_rule *r)
{
    struct gpu_tuple t = {.len = {r->src.len, r->dst.len}, .least = r->number};

    for (unsigned s = 0; s < 2; s++)
        t.len[s] = (uint8_t)(t.len[s] - t.len[s] % m->step);
    if (!r->proto_any)
        t.fields |= GPU_BY_PROTO;
    if (r->sport[0] == r->sport[1])
        t.fields |= GPU_BY_SPORT;
    if (r->dport[0] == r->dport[1])
        t.fields |= GPU_BY_DPORT;
    return t;
}

static struct gpu_flow flow_like(const struct maker *m, const struct acl_rule *r)
{
    struct gpu_flow f = {.sport = r->sport[0], .dport = r->dport[0], .proto = r->proto};
    const struct acl_side *side[2] = {&r->src, &r->dst};

    for (unsigned s = 0; s < 2; s++) {
        uint8_t address[16] = {0};

        memcpy(address, side[s]->addr, m->six ? 16 : 4);
        memcpy(f.address[s], address, sizeof(f.address[s]));
        for (unsigned half = 0; half < 2; half++)
            f.address[s][half] = __builtin_bswap64(f.address[s][half]);
    }
    return f;
}

static struct gpu_rule_rest rest_of(const struct acl_rule *r, uint32_t slot)
{
    struct gpu_rule_rest e = {.sport = r->sport[0],
                              .sport_span = (uint16_t)(r->sport[1] - r->sport[0]),
                              .dport = r->dport[0],
                              .dport_span = (uint16_t)(r->dport[1] - r->dport[0]),
                              .number = r->number,
                              .slot = slot,
                              .proto = r->proto,
                              .dscp = r->dscp,
                              .compares = r->part,
                              .tcp_mask = r->tcp_mask,
                              .tcp_value = r->tcp_value,
                              .tcp_any = r->tcp_any,
                              .len = {r->src.len, r->dst.len}};

    if (rule_needs_header(r))
        e.compares &= (uint8_t)~ACL_LATER;
    if (!r->proto_any)
        e.compares |= GPU_RULE_PROTO;
    if (r->dscp != ACL_DSCP_ANY)
        e.compares |= GPU_RULE_DSCP;
    return e;
}

// --- tuples ---

// Assigns each rule to its tuple, with the current rounding of lengths. False: too many tuples.
static bool tuples_try(struct maker *m)
{
    memset(m->tuple_of, NO_TUPLE, LENGTHS * LENGTHS * FIELDS);
    m->part.n_tuples = 0;
    m->rules = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        const struct acl_rule *r = rule_at(m, i);
        struct gpu_tuple t;
        uint8_t *at;

        if (!is_of(m, r))
            continue;
        t = tuple_like(m, r);
        at = &m->tuple_of[(t.len[0] * LENGTHS + t.len[1]) * FIELDS + t.fields];
        if (*at == NO_TUPLE) {
            if (m->part.n_tuples == GPU_TUPLES_MAX)
                return false;
            *at = (uint8_t)m->part.n_tuples;
            m->part.tuple[m->part.n_tuples++] = t; // in the order of their lowest numbers
        }
        m->place[i] = *at;
        m->rules++;
    }
    return true;
}

static void tuples_choose(struct maker *m)
{
    m->step = 1;
    while (!tuples_try(m)) // with 128 at most 32 are left: two lengths a side, 8 sets of fields
        m->step *= 2;
}

// --- heads and rules ---

static uint64_t hash_of(const struct maker *m, uint32_t i, const struct acl_rule *r)
{
    const struct gpu_flow f = flow_like(m, r);

    return gpu_hash(&f, &m->part.tuple[m->place[i]], m->six);
}

static size_t rule_bytes(const struct maker *m)
{
    return m->six ? sizeof(struct gpu_rule6) : sizeof(struct gpu_rule4);
}

static void heads_size(struct maker *m)
{
    m->heads = HEADS_MIN;
    while (m->heads < 2 * m->rules)
        m->heads *= 2;
    m->part.head_mask = m->heads - 1;
}

// Places the family in the image at `at`. Returns its end.
static size_t part_place(struct maker *m, size_t at)
{
    m->part.heads = at;
    at += (m->heads * sizeof(uint32_t) + ALIGN - 1) / ALIGN * ALIGN;
    m->part.rules = at;
    return at + (m->rules + 1) * rule_bytes(m);
}

// Sets head[h] to the number of rules of h and of all heads before it. -ENOTSUP: a chain is too
// long.
static int heads_count(struct maker *m, uint32_t *head)
{
    uint32_t sum = 0;

    m->longest = 0;
    for (uint32_t i = 0; i < m->n; i++)
        if (is_of(m, rule_at(m, i)))
            head[hash_of(m, i, rule_at(m, i)) & m->part.head_mask]++;
    for (uint32_t h = 0; h < m->heads; h++) {
        m->longest = head[h] > m->longest ? head[h] : m->longest;
        head[h] = sum += head[h];
    }
    if (m->longest <= GPU_CHAIN_MAX)
        return 0;
    snprintf(m->why, m->why_size,
             "%u of its rules would have to be compared one by one, as they have the same "
             "addresses and ports but for ranges: at most %u can be",
             m->longest, GPU_CHAIN_MAX);
    return -ENOTSUP;
}

static struct gpu_rule_rest *rest_at(const struct maker *m, uint8_t *rules, uint32_t at)
{
    return m->six ? &((struct gpu_rule6 *)rules + at)->rest
                  : &((struct gpu_rule4 *)rules + at)->rest;
}

static void rule_put(const struct maker *m, uint8_t *rules, uint32_t at, const struct acl_rule *r,
                     uint32_t slot)
{
    const struct gpu_flow f = flow_like(m, r);

    for (unsigned s = 0; s < 2; s++)
        if (m->six)
            memcpy(((struct gpu_rule6 *)rules + at)->address[s], f.address[s],
                   sizeof(f.address[s]));
        else
            ((struct gpu_rule4 *)rules + at)->address[s] = (uint32_t)(f.address[s][0] >> 32);
    *rest_at(m, rules, at) = rest_of(r, slot);
}

// From the last rule to the first, so that chains are sorted by number; head[h] goes down to the
// place before its first rule.
static void rules_put(struct maker *m, uint8_t *image, uint32_t *head, uint8_t *last)
{
    uint32_t *tagged = (uint32_t *)(image + m->part.heads);
    uint8_t *rules = image + m->part.rules;

    for (uint32_t i = m->n; i-- > 0;) {
        const struct acl_rule *r = rule_at(m, i);
        uint32_t h, at, tag;
        uint64_t hash;

        if (!is_of(m, r))
            continue;
        hash = hash_of(m, i, r);
        h = hash & m->part.head_mask;
        at = head[h]--;
        tag = gpu_tag(hash);
        rule_put(m, rules, at, r, m->order[i].slot);
        if (!last[h])
            rest_at(m, rules, at)->slot |= GPU_RULE_LAST;
        else if (tagged[h] >> GPU_HEAD_RULE_BITS != tag)
            tag = 0;
        last[h] = 1;
        tagged[h] = tag << GPU_HEAD_RULE_BITS | at;
    }
}

// --- one family, appended to the image ---

static int image_extend(struct gpu_list_image *to, size_t bytes)
{
    size_t room = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    uint8_t *p = aligned_alloc(ALIGN, room);

    if (p == NULL)
        return -ENOMEM;
    if (to->n > 0)
        memcpy(p, to->bytes, to->n);
    memset(p + to->n, 0, room - to->n);
    free(to->bytes);
    to->bytes = p;
    to->n = room;
    return 0;
}

static int family_make(struct maker *m, struct gpu_list_image *to, bool six)
{
    uint32_t *head = NULL;
    uint8_t *last = NULL;
    int rc;

    m->six = six;
    memset(&m->part, 0, sizeof(m->part));
    tuples_choose(m);
    if (m->rules > RULES_MAX) {
        snprintf(m->why, m->why_size, "it has %u rules of a family: at most %u can be sent",
                 m->rules, RULES_MAX);
        return -ENOTSUP;
    }
    heads_size(m);
    head = calloc(m->heads, sizeof(*head));
    last = calloc(m->heads, sizeof(*last));
    rc = head == NULL || last == NULL ? -ENOMEM : heads_count(m, head);
    if (rc == 0)
        rc = image_extend(to, part_place(m, to->n));
    if (rc == 0) {
        struct gpu_image *image = to->bytes;
        rules_put(m, to->bytes, head, last);
        *(six ? &image->ip6 : &image->ip4) = m->part;
        to->rules[six] = m->rules;
        to->tuples = m->part.n_tuples > to->tuples ? m->part.n_tuples : to->tuples;
        to->chain = m->longest > to->chain ? m->longest : to->chain;
    }
    free(head);
    free(last);
    return rc;
}

// --- the list ---

static int by_number(const void *x, const void *y)
{
    const struct numbered *a = x, *b = y;

    return (a->number > b->number) - (a->number < b->number);
}

static int rules_collect(struct maker *m, uint32_t slots)
{
    for (uint32_t slot = 0; slot < slots; slot++) {
        const struct acl_rule *r = acl_rule_of(m->acl, slot);

        if (r == NULL)
            continue;
        if (r->src.set != ACL_NO_SET || r->dst.set != ACL_NO_SET) {
            snprintf(m->why, m->why_size,
                     "rule %u names an address set: those are searched by the CPU", r->number);
            return -ENOTSUP;
        }
        m->order[m->n++] = (struct numbered){r->number, slot};
    }
    qsort(m->order, m->n, sizeof(*m->order), by_number);
    return 0;
}

int gpu_list_image_make(struct gpu_list_image *to, const struct acl *a, char *why, size_t n)
{
    struct maker m = {.acl = a, .why = why, .why_size = n};
    struct acl_stats stats;
    int rc = -ENOMEM;

    memset(to, 0, sizeof(*to));
    acl_stats(a, &stats);
    m.order = malloc((stats.slots + 1) * sizeof(*m.order));
    m.place = malloc(stats.slots + 1);
    m.tuple_of = malloc(LENGTHS * LENGTHS * FIELDS);
    if (m.order != NULL && m.place != NULL && m.tuple_of != NULL)
        rc = rules_collect(&m, stats.slots);
    if (rc == 0)
        rc = image_extend(to, sizeof(struct gpu_image));
    if (rc == 0)
        rc = family_make(&m, to, false);
    if (rc == 0)
        rc = family_make(&m, to, true);
    free(m.order);
    free(m.place);
    free(m.tuple_of);
    if (rc != 0)
        gpu_list_image_free(to);
    return rc;
}

void gpu_list_image_free(struct gpu_list_image *i)
{
    free(i->bytes);
    memset(i, 0, sizeof(*i));
}
