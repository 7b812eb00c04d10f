// SPDX-License-Identifier: BSD-3-Clause
// prefix_rules.c - the writer's half of prefix rules: choice, building, changes, check
// (prefix_rules.h)
//
// Invariant: first[] of a prefix names the lowest-numbered rule of that prefix and all prefixes
// around it. A change restores it by one walk over the prefixes inside the changed one, with a
// stack of the prefixes around the current one. An index gets its result before the Poptrie returns
// it.
#include "acl/prefix_rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/rule.h"
#include "poptrie/poptrie.h"

#define KEY_BITS(family) ((family) == ACL_IP4 ? 32u : 128u)
#define RULES_LEAST4 256u // rules of a side
#define RULES_SHARE 8u    // and this share of all rules: few rules gain little, and all packets pay
#define RESERVED4 64u     // bytes of address space for each prefix
#define RESERVED6 192u
#define FIXED4 ((size_t)2 << 20) // bytes of a Poptrie, estimates: fixed, and per prefix
#define EACH4 100u
#define RESERVED_LEAST ((size_t)4 << 20)

// --- which rules ---

bool rule_is_by_prefix(const struct acl_rule *r, uint8_t family, unsigned *side)
{
    *side = r->src.len ? 0 : 1;
    return r->families == family && rule_is_by_addresses(r) && r->src.set == ACL_NO_SET &&
           r->dst.set == ACL_NO_SET && !r->src.len != !r->dst.len;
}

static uint32_t room_for(uint32_t rules)
{
    uint32_t room = 1 + rules + rules / 8 + 64;

    return room < POPTRIE_VALUE_MAX + 1 ? room : POPTRIE_VALUE_MAX + 1;
}

struct prefix_rules_plan prefix_rules_plan(const uint32_t by_prefix[2], uint32_t rules,
                                           uint8_t family, uint32_t from)
{
    struct prefix_rules_plan plan = {{0, 0}, {0, 0}};
    uint32_t least = from ? from : RULES_LEAST4;

    for (unsigned s = 0; s < 2; s++) {
        // IPv6 only on request: packets that tuple indexes end early would take 50% longer.
        bool wanted = from || (family == ACL_IP4 && by_prefix[s] >= rules / RULES_SHARE);
        uint32_t tables = (by_prefix[s] + by_prefix[s] / 8) / POPTRIE_VALUE_MAX + 1;

        if (!wanted || by_prefix[s] < least || tables + plan.tables[0] > PREFIX_TABLES_MAX)
            continue;
        plan.tables[s] = tables;
        plan.rules[s] = by_prefix[s];
    }
    return plan;
}

// --- memory ---

uint64_t prefix_rules_bytes(const struct prefix_rules *p)
{
    struct poptrie_stats st;

    poptrie_usage(p->table, &st);
    return st.bytes_used + (uint64_t)p->room * sizeof *p->first + sizeof *p;
}

uint64_t prefix_rules_writer_bytes(const struct prefix_rules *p)
{
    struct poptrie_stats st;

    poptrie_usage(p->table, &st);
    return st.writer_bytes + (uint64_t)p->room * (sizeof *p->own + sizeof *p->free);
}

void prefix_rules_free(struct prefix_rules *p)
{
    if (!p)
        return;
    poptrie_free(p->table);
    free(p->first);
    free(p->own);
    free(p->free);
    free(p);
}

static struct prefix_rules *prefix_rules_new_empty(uint8_t family, unsigned side, uint32_t n,
                                                   uint64_t epoch)
{
    struct prefix_rules *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    // a Poptrie's first is 1
    *p = (struct prefix_rules){
        .family = family, .side = (uint8_t)side, .room = room_for(n), .ahead = (int64_t)epoch - 1};
    p->table = poptrie_new(&(struct poptrie_config){
        .key_bits = KEY_BITS(family),
        .max_bytes =
            RESERVED_LEAST + (size_t)p->room * (family == ACL_IP4 ? RESERVED4 : RESERVED6)});
    p->first = malloc(p->room * sizeof *p->first);
    p->own = malloc(p->room * sizeof *p->own);
    p->free = malloc(p->room * sizeof *p->free);
    if (!p->table || !p->first || !p->own || !p->free) {
        prefix_rules_free(p);
        return NULL;
    }
    memset(p->first, 0xff, p->room * sizeof *p->first);
    memset(p->own, 0xff, p->room * sizeof *p->own);
    return p;
}

// --- prefixes around prefixes ---

static bool key_inside(const uint8_t *key, const uint8_t *net, unsigned len)
{
    return !memcmp(key, net, len / 8) &&
           (len % 8 == 0 || !((key[len / 8] ^ net[len / 8]) & (uint8_t) ~(0xff >> len % 8)));
}

static uint64_t first_lower(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void first_set(struct prefix_rules *p, uint32_t index, uint64_t first)
{
    // partner: prefix_table_match in key_burst.c
    if (p->first[index] != first)
        __atomic_store_n(&p->first[index], first, __ATOMIC_RELEASE);
}

// First rule of the prefixes around this one, which need not exist itself.
static uint64_t first_around(const struct prefix_rules *p, const uint8_t *key, unsigned len)
{
    while (len-- > 0) {
        uint32_t index = p->length[len] ? poptrie_get(p->table, key, len) : POPTRIE_NONE;

        if (index != POPTRIE_NONE)
            return p->first[index];
    }
    return PREFIX_RULE_NONE;
}

struct prefixes_around { // the prefixes around the current one, widest first
    struct prefix_rules *p;
    const uint8_t *net; // the walk ends outside it
    unsigned net_len, n;
    struct {
        uint8_t key[16], len;
        uint64_t first;
    } at[130];
};

static void around_push(struct prefixes_around *w, const uint8_t *key, unsigned len, uint64_t first)
{
    memset(w->at[w->n].key, 0, sizeof w->at[w->n].key);
    memcpy(w->at[w->n].key, key, KEY_BITS(w->p->family) / 8);
    w->at[w->n].len = (uint8_t)len;
    w->at[w->n++].first = first;
}

static int first_rebuild(void *ctx, const uint8_t *key, unsigned len, uint32_t index)
{
    struct prefixes_around *w = ctx;
    uint64_t first;

    if (!key_inside(key, w->net, w->net_len))
        return 1;
    while (!key_inside(key, w->at[w->n - 1].key, w->at[w->n - 1].len))
        w->n--;
    first = first_lower(w->p->own[index], w->at[w->n - 1].first);
    first_set(w->p, index, first);
    around_push(w, key, len, first);
    return 0;
}

// Recomputes the first rule of all prefixes inside this one; `first`: the first rule around them.
static void inside_rebuild(struct prefix_rules *p, const uint8_t *key, unsigned len, uint64_t first)
{
    struct prefixes_around w = {.p = p, .net = key, .net_len = len};

    around_push(&w, key, len, first);
    poptrie_walk_after(p->table, key, len, first_rebuild, &w);
}

// --- build ---

void prefix_rule_row(struct prefix_rule_row *row, const struct acl_rule *r, uint32_t slot,
                     unsigned side)
{
    const struct acl_side *from = side ? &r->dst : &r->src;

    *row = (struct prefix_rule_row){.len = from->len, .own = (uint64_t)r->number << 32 | slot};
    memcpy(row->key, from->addr, (from->len + 7) / 8);
    if (from->len % 8)
        row->key[from->len / 8] &= (uint8_t) ~(0xff >> from->len % 8);
}

int prefix_rule_row_compare(const void *x, const void *y)
{
    const struct prefix_rule_row *a = x, *b = y;
    int key = memcmp(a->key, b->key, sizeof a->key);

    return key ? key : a->len != b->len ? a->len - b->len : (a->own > b->own) - (a->own < b->own);
}

struct prefix_rules *prefix_rules_new(uint8_t family, unsigned side,
                                      const struct prefix_rule_row *row, uint32_t n, uint64_t epoch)
{
    static const uint8_t all[16];
    struct prefix_rules *p = prefix_rules_new_empty(family, side, n, epoch);
    struct poptrie_route *route = calloc(n + 1, sizeof *route);

    if (!p || !route || n >= p->room) {
        free(route);
        prefix_rules_free(p);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        route[i] = (struct poptrie_route){.len = row[i].len, .value = i + 1};
        memcpy(route[i].key, row[i].key, sizeof route[i].key);
        p->own[i + 1] = row[i].own;
        p->length[row[i].len]++;
    }
    p->rules = n;
    for (uint32_t i = p->room - 1; i > n; i--)
        p->free[p->n_free++] = i;
    int rc = poptrie_load(p->table, route, n);
    free(route);
    if (rc) {
        prefix_rules_free(p);
        return NULL;
    }
    inside_rebuild(p, all, 0, PREFIX_RULE_NONE);
    return p;
}

// --- changes ---

int prefix_rules_add(struct prefix_rules *p, const struct acl_rule *r, uint32_t slot)
{
    struct prefix_rule_row row;
    int rc;

    prefix_rule_row(&row, r, slot, p->side);
    uint32_t index = poptrie_get(p->table, row.key, row.len);
    bool there = index != POPTRIE_NONE;
    if (there && p->own[index] != PREFIX_RULE_NONE)
        return -EEXIST;
    if (!there && !p->n_free)
        return -ENOSPC;
    uint64_t first = first_lower(row.own, first_around(p, row.key, row.len));
    if (!there) {
        index = p->free[p->n_free - 1];
        first_set(p, index, first); // before the Poptrie returns it
        if ((rc = poptrie_add(p->table, row.key, row.len, index)))
            return rc;
        p->n_free--;
        p->length[row.len]++;
    }
    p->own[index] = row.own;
    p->rules++;
    first_set(p, index, first);
    inside_rebuild(p, row.key, row.len, first);
    return 0;
}

uint32_t prefix_rules_del(struct prefix_rules *p, const struct acl_rule *r, uint32_t slot)
{
    struct prefix_rule_row row;

    prefix_rule_row(&row, r, slot, p->side);
    uint32_t index = poptrie_get(p->table, row.key, row.len);
    uint64_t prefixes_around = first_around(p, row.key, row.len);
    p->own[index] = PREFIX_RULE_NONE;
    p->rules--;
    inside_rebuild(p, row.key, row.len, prefixes_around);
    if (poptrie_del(p->table, row.key, row.len)) {
        first_set(p, index, prefixes_around);
        return 0;
    }
    p->length[row.len]--;
    return index;
}

void prefix_rules_give_back(struct prefix_rules *p, uint32_t index)
{
    p->free[p->n_free++] = index;
}

void prefix_rules_epoch(struct prefix_rules *p)
{
    poptrie_epoch(p->table);
}

void prefix_rules_reclaim(struct prefix_rules *p, uint64_t epoch)
{
    if ((int64_t)epoch > p->ahead)
        poptrie_reclaim(p->table, (uint64_t)((int64_t)epoch - p->ahead));
}

// --- check ---

struct prefix_rules_sweep {
    const struct prefix_rules *p;
    uint32_t rules;
    uint64_t wrong; // index
};

static int prefix_check(void *ctx, const uint8_t *key, unsigned len, uint32_t index)
{
    struct prefix_rules_sweep *c = ctx;
    uint64_t first = PREFIX_RULE_NONE;

    for (unsigned l = 0; l <= len; l++) {
        uint32_t prefixes_around = poptrie_get(c->p->table, key, l);
        if (prefixes_around != POPTRIE_NONE)
            first = first_lower(first, c->p->own[prefixes_around]);
    }
    c->rules += c->p->own[index] != PREFIX_RULE_NONE;
    c->wrong = first == c->p->first[index] ? 0 : index;
    return c->wrong != 0;
}

int prefix_rules_check(const struct prefix_rules *p, char *why, size_t n)
{
    struct prefix_rules_sweep c = {.p = p};
    int rc = poptrie_check(p->table, why, n);

    if (rc)
        return rc;
    if (poptrie_walk(p->table, prefix_check, &c))
        snprintf(why, n, "prefix %lu does not name the first rule around it",
                 (unsigned long)c.wrong);
    else if (c.rules != p->rules)
        snprintf(why, n, "%u prefix rules are counted and %u are there", p->rules, c.rules);
    else if (p->first[0] != PREFIX_RULE_NONE)
        snprintf(why, n, "the answer for no prefix names a rule");
    else
        return 0;
    return -EINVAL;
}

bool prefix_rules_has(const struct prefix_rules *p, const struct acl_rule *r, uint32_t slot)
{
    struct prefix_rule_row row;

    prefix_rule_row(&row, r, slot, p->side);
    uint32_t index = poptrie_get(p->table, row.key, row.len);
    return index != POPTRIE_NONE && p->own[index] == row.own;
}

size_t prefix_rules_need(const struct prefix_rules_plan *plan)
{
    size_t bytes = 0;

    for (unsigned s = 0; s < 2; s++)
        bytes += plan->tables[s] * FIXED4 + plan->rules[s] * EACH4;
    return bytes;
}
