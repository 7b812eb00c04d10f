// SPDX-License-Identifier: BSD-3-Clause
// acl.c - lists, searched one rule after the other
//
// Each change makes a new array of rules, sorted by number, publishes it by one store and retires the old one.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/set.h"

struct rules {
    struct rules *next; // retired ones
    uint64_t epoch;
    uint32_t n;
    struct entry {
        struct acl_rule rule;
        uint32_t slot;
    } e[];
};

struct acl {
    struct acl_config cfg;
    struct rules *rules; // readers
    struct rules *retired;
    uint64_t epoch;
    uint32_t slots;
};

struct acl *acl_new(const struct acl_config *cfg)
{
    struct acl *a = calloc(1, sizeof *a);

    if (!a || !(a->rules = calloc(1, sizeof *a->rules))) {
        free(a);
        return NULL;
    }
    a->cfg = *cfg;
    return a;
}

void acl_free(struct acl *a)
{
    if (!a)
        return;
    acl_reclaim(a, UINT64_MAX);
    free(a->rules);
    free(a);
}

static int by_number(const void *x, const void *y)
{
    uint32_t a = ((const struct entry *)x)->rule.number, b = ((const struct entry *)y)->rule.number;

    return (a > b) - (a < b);
}

static int publish(struct acl *a, struct rules *new)
{
    struct rules *old = a->rules;

    qsort(new->e, new->n, sizeof *new->e, by_number);
    for (uint32_t i = 1; i < new->n; i++)
        if (new->e[i].rule.number == new->e[i - 1].rule.number) {
            free(new);
            return -EEXIST;
        }
    __atomic_store_n(&a->rules, new, __ATOMIC_RELEASE); // partner: acl_classify4 and 6
    old->epoch = a->epoch;
    old->next = a->retired;
    a->retired = old;
    return 0;
}

static struct rules *with_room(uint32_t n)
{
    struct rules *new = calloc(1, sizeof *new + n * sizeof *new->e);

    if (new)
        new->n = n;
    return new;
}

int acl_load(struct acl *a, const struct acl_rule *r, size_t n)
{
    struct rules *new = with_room((uint32_t)n);
    char why[200];

    if (!new)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        if (acl_rule_check(&r[i], why, sizeof why)) {
            free(new);
            return -EINVAL;
        }
        new->e[i] = (struct entry){r[i], i};
    }
    int rc = publish(a, new);
    if (!rc)
        a->slots = (uint32_t)n;
    return rc;
}

int acl_add(struct acl *a, const struct acl_rule *r)
{
    struct rules *new = with_room(a->rules->n + 1);
    char why[200];
    int rc = acl_rule_check(r, why, sizeof why);

    if (!new || rc) {
        free(new);
        return rc ? rc : -ENOMEM;
    }
    memcpy(new->e, a->rules->e, a->rules->n * sizeof *new->e);
    new->e[new->n - 1] = (struct entry){*r, a->slots};
    rc = publish(a, new);
    if (!rc)
        a->slots++;
    return rc;
}

int acl_del(struct acl *a, uint32_t number)
{
    struct rules *old = a->rules, *new;
    uint32_t at = 0;

    while (at < old->n && old->e[at].rule.number != number)
        at++;
    if (at == old->n)
        return -ENOENT;
    new = with_room(old->n - 1);
    if (!new)
        return -ENOMEM;
    memcpy(new->e, old->e, at * sizeof *new->e);
    memcpy(new->e + at, old->e + at + 1, (new->n - at) * sizeof *new->e);
    return publish(a, new);
}

size_t acl_need(const struct acl_rule *r, size_t n)
{
    return n * sizeof(struct entry) + sizeof(struct rules);
}

uint64_t acl_epoch(struct acl *a)
{
    return a->epoch++;
}

void acl_reclaim(struct acl *a, uint64_t epoch)
{
    struct rules **at = &a->retired;

    while (*at) {
        struct rules *r = *at;

        if (r->epoch > epoch) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        free(r);
    }
}

const struct acl_rule *acl_rule_of(const struct acl *a, uint32_t slot)
{
    for (uint32_t i = 0; i < a->rules->n; i++)
        if (a->rules->e[i].slot == slot)
            return &a->rules->e[i].rule;
    return NULL;
}

uint32_t acl_slot_of(const struct acl *a, uint32_t number)
{
    for (uint32_t i = 0; i < a->rules->n; i++)
        if (a->rules->e[i].rule.number == number)
            return a->rules->e[i].slot;
    return ACL_MISS;
}

void acl_stats(const struct acl *a, struct acl_stats *s)
{
    *s = (struct acl_stats){.rules = a->rules->n, .slots = a->slots, .bytes = acl_need(NULL, a->rules->n)};
}

void acl_cost(const struct acl *a, struct acl_cost *c)
{
    *c = (struct acl_cost){0};
}

int acl_check(const struct acl *a, char *why, size_t n)
{
    for (uint32_t i = 1; i < a->rules->n; i++)
        if (a->rules->e[i - 1].rule.number >= a->rules->e[i].rule.number) {
            snprintf(why, n, "rule %u stands before rule %u", a->rules->e[i - 1].rule.number, a->rules->e[i].rule.number);
            return -EINVAL;
        }
    return 0;
}

void acl_classify4(const struct acl *a, const struct acl_key4 *key, uint32_t *slot, unsigned n)
{
    const struct rules *r = __atomic_load_n(&a->rules, __ATOMIC_ACQUIRE);

    for (unsigned i = 0; i < n; i++) {
        slot[i] = ACL_MISS;
        for (uint32_t j = 0; j < r->n && slot[i] == ACL_MISS; j++)
            if (acl_rule_matches4(&r->e[j].rule, &key[i], a->cfg.set))
                slot[i] = r->e[j].slot;
    }
}

void acl_classify6(const struct acl *a, const struct acl_key6 *key, uint32_t *slot, unsigned n)
{
    const struct rules *r = __atomic_load_n(&a->rules, __ATOMIC_ACQUIRE);

    for (unsigned i = 0; i < n; i++) {
        slot[i] = ACL_MISS;
        for (uint32_t j = 0; j < r->n && slot[i] == ACL_MISS; j++)
            if (acl_rule_matches6(&r->e[j].rule, &key[i], a->cfg.set))
                slot[i] = r->e[j].slot;
    }
}
