// SPDX-License-Identifier: BSD-3-Clause
// list.c - the writer of a list: rule numbers, slots, and garbage that waits for a grace period
//
// Each family's rules are in a classifier, which has room for some more rules than it was built
// with. When that is used up, or so many rules were deleted that the filter is full of stale bits,
// the list builds a new one aside and swaps it in by one store. A family without rules has no
// classifier.
#include "acl/list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/classifier_build.h"
#include "acl/rule.h"
#include "base/hash.h"

#define LEAST_SLOTS 64u
#define CHEAP_REBUILD_RULES 1024u // rebuilding takes a moment

static uint8_t family_of(unsigned f)
{
    return f ? ACL_IP6 : ACL_IP4;
}

struct acl *acl_new(const struct acl_config *cfg)
{
    struct acl *a = calloc(1, sizeof *a);

    if (!a)
        return NULL;
    a->cfg = *cfg;
    return a;
}

// retired in this epoch or before
static void free_retired_classifiers(struct acl *a, uint64_t epoch)
{
    struct classifier **at = &a->retired;

    while (*at) {
        struct classifier *c = *at;

        if (c->epoch > epoch) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        classifier_free(c);
    }
}

void acl_free(struct acl *a)
{
    if (!a)
        return;
    free_retired_classifiers(a, UINT64_MAX);
    for (unsigned f = 0; f < 2; f++) {
        classifier_free(a->classifier[f]);
        free(a->tuple[f]);
    }
    free(a->rule);
    free(a->index);
    vec_free(&a->garbage);
    free(a->free_slot);
    free(a);
}

// --- numbers ---

static uint32_t index_at(const struct acl *a, uint32_t number)
{
    return hash_mix32(number) & (a->index_size - 1);
}

// its place, or the free place for it
static uint32_t *index_find(const struct acl *a, uint32_t number)
{
    uint32_t i = index_at(a, number);

    while (a->index[i] && a->rule[a->index[i] - 1].number != number)
        i = (i + 1) & (a->index_size - 1);
    return &a->index[i];
}

static void index_remove(struct acl *a, uint32_t number)
{
    uint32_t mask = a->index_size - 1, hole = (uint32_t)(index_find(a, number) - a->index),
             i = hole;

    for (;;) {
        a->index[hole] = 0;
        do {
            i = (i + 1) & mask;
            if (!a->index[i])
                return;
        } while (((i - index_at(a, a->rule[a->index[i] - 1].number)) & mask) < ((i - hole) & mask));
        a->index[hole] = a->index[i];
        hole = i;
    }
}

uint32_t acl_slot_of(const struct acl *a, uint32_t number)
{
    return a->index ? *index_find(a, number) - 1 : ACL_MISS;
}

const struct acl_rule *acl_rule_of(const struct acl *a, uint32_t slot)
{
    return slot < a->slots && a->rule[slot].families ? &a->rule[slot] : NULL;
}

// --- the writer's memory ---

static uint64_t writer_bytes(uint32_t slots)
{
    return slots * (sizeof(struct acl_rule) + 2 * sizeof(uint8_t) + 3 * sizeof(uint32_t)) +
           sizeof(struct acl);
}

static bool array_grow(void *array, uint32_t from, uint32_t to, size_t each)
{
    void **p = array, *new = realloc(*p, (size_t)to * each);

    if (!new)
        return false;
    memset((uint8_t *)new + (size_t)from *each, 0, (size_t)(to - from) * each);
    *p = new;
    return true;
}

static int index_grow(struct acl *a, uint32_t slots)
{
    uint32_t size = 1, *old = a->index;

    while (size < slots + slots / 2)
        size *= 2;
    if (size <= a->index_size)
        return 0;
    uint32_t *new = calloc(size, sizeof *new);
    if (!new)
        return -ENOMEM;
    a->index = new;
    a->index_size = size;
    for (uint32_t s = 0; s < a->slots; s++)
        if (a->rule[s].families)
            *index_find(a, a->rule[s].number) = s + 1;
    free(old);
    return 0;
}

static int slots_reserve(struct acl *a, uint32_t slots)
{
    if (slots <= a->room)
        return 0;
    if (slots > 1u << SLOT_BITS)
        return -ENOSPC;
    uint32_t room = slots < LEAST_SLOTS ? LEAST_SLOTS : a->room ? slots + slots / 4 : slots;
    if (!array_grow(&a->rule, a->room, room, sizeof *a->rule) ||
        !array_grow(&a->tuple[0], a->room, room, 1) ||
        !array_grow(&a->tuple[1], a->room, room, 1) ||
        !array_grow(&a->free_slot, a->room, room, sizeof *a->free_slot) || index_grow(a, room))
        return -ENOMEM;
    a->room = room;
    return 0;
}

// --- garbage ---

uint64_t acl_epoch(struct acl *a)
{
    for (unsigned f = 0; f < 2; f++)
        if (a->classifier[f])
            classifier_epoch(a->classifier[f]);
    return a->epoch++;
}

static void garbage_release(struct acl *a, uint64_t epoch)
{
    size_t kept = 0;

    free_retired_classifiers(a, epoch);
    vec_foreach (&a->garbage, g)
        if (g->epoch <= epoch)
            a->free_slot[a->n_free++] = g->slot;
        else
            a->garbage.item[kept++] = *g;
    a->garbage.n = kept;
    for (unsigned f = 0; f < 2; f++)
        if (a->classifier[f])
            classifier_reclaim(a->classifier[f], epoch);
}

// --- classifiers ---

// Slots by rule number; NULL: no memory.
static uint32_t *slots_by_number(const struct acl *a, uint32_t *n)
{
    uint64_t *key = malloc((a->rules + 1) * sizeof *key);

    *n = 0;
    if (!key)
        return NULL;
    for (uint32_t s = 0; s < a->slots; s++) {
        key[*n] = (uint64_t)a->rule[s].number << 32 | s;
        *n += a->rule[s].families != 0;
    }
    return rules_sort(key, *n);
}

static uint32_t family_rules(const struct acl *a, unsigned f)
{
    uint32_t n = 0;

    for (uint32_t s = 0; s < a->slots; s++)
        n += (a->rule[s].families & family_of(f)) != 0;
    return n;
}

static void classifier_swap(struct acl *a, unsigned f, struct classifier *new)
{
    struct classifier *old = a->classifier[f];

    __atomic_store_n(&a->classifier[f], new, __ATOMIC_RELEASE); // partner: list_classifier
    if (old) {
        old->epoch = a->epoch;
        old->next = a->retired;
        a->retired = old;
    }
}

static void lanes_build(struct acl *a)
{
    for (unsigned f = 0; f < 2; f++) {
        struct classifier *c = a->classifier[f];

        if (c && c->lanes_due)
            classifier_lanes_build(c, &a->cfg, a->rule);
    }
}

void acl_reclaim(struct acl *a, uint64_t epoch)
{
    garbage_release(a, epoch);
    lanes_build(a);
}

// Builds a new classifier from the current rules.
static int family_rebuild(struct acl *a, unsigned f)
{
    struct classifier_rules r = {.rule = a->rule};
    struct classifier *new = NULL;
    int rc = 0;
    uint32_t *slot = slots_by_number(a, &r.n);
    uint8_t *tuple = calloc(a->room + 1, 1);
    r.slot = slot;
    if (!slot || !tuple ||
        (family_rules(a, f) &&
         !(new = classifier_new(&a->cfg, family_of(f), &r, a->epoch, tuple)))) {
        rc = -ENOMEM;
    } else {
        classifier_swap(a, f, new);
        free(a->tuple[f]);
        a->tuple[f] = tuple;
        tuple = NULL;
    }
    free(tuple);
    free(slot);
    return rc;
}

// --- changes ---

static int slot_fill(struct acl *a, uint32_t slot, const struct acl_rule *r)
{
    uint32_t *place = index_find(a, r->number);

    if (*place)
        return -EEXIST;
    a->rule[slot] = *r;
    *place = slot + 1;
    a->rules++;
    return 0;
}

static void list_clear(struct acl *a)
{
    void **array[] = {(void **)&a->rule, (void **)&a->tuple[0], (void **)&a->tuple[1],
                      (void **)&a->index, (void **)&a->free_slot};

    for (unsigned i = 0; i < sizeof array / sizeof *array; i++) {
        free(*array[i]);
        *array[i] = NULL;
    }
    for (unsigned f = 0; f < 2; f++)
        if (a->classifier[f])
            classifier_swap(a, f, NULL);
    a->rules = a->slots = a->room = a->index_size = a->n_free = 0;
}

int acl_load(struct acl *a, const struct acl_rule *r, size_t n)
{
    char why[160];
    int rc;

    if (a->slots)
        return -EBUSY;
    for (size_t i = 0; i < n; i++)
        if (acl_rule_check(&r[i], why, sizeof why))
            return -EINVAL;
    rc = n > 1u << SLOT_BITS ? -ENOSPC : slots_reserve(a, (uint32_t)n);
    for (uint32_t i = 0; i < n && !rc; i++) {
        rc = slot_fill(a, i, &r[i]);
        a->slots = i + 1;
    }
    for (unsigned f = 0; f < 2 && !rc; f++)
        rc = family_rebuild(a, f);
    if (rc)
        list_clear(a);
    else
        lanes_build(a);
    return rc;
}

static int slot_new(struct acl *a, uint32_t *slot)
{
    int rc = 0;

    if (a->n_free)
        *slot = a->free_slot[--a->n_free];
    else if (!(rc = slots_reserve(a, a->slots + 1)))
        *slot = a->slots++;
    return rc;
}

static int family_add(struct acl *a, unsigned f, uint32_t slot)
{
    struct classifier *c = a->classifier[f];

    if (!(a->rule[slot].families & family_of(f)))
        return 0;
    // so that it becomes a set rule
    if (c && c->rules < CHEAP_REBUILD_RULES && rule_is_by_sets(&a->rule[slot]) &&
        !family_rebuild(a, f))
        return 0;
    c = a->classifier[f];
    if (c)
        c->changed = a->epoch;
    if (!c || c->deleted > c->room || classifier_add(c, &a->rule[slot], slot, &a->tuple[f][slot]))
        return family_rebuild(a, f);
    return 0;
}

static void family_del(struct acl *a, unsigned f, uint32_t slot)
{
    if (!(a->rule[slot].families & family_of(f)))
        return;
    a->classifier[f]->changed = a->epoch;
    classifier_del(a->classifier[f], &a->rule[slot], slot, a->tuple[f][slot]);
}

static void slot_retire(struct acl *a, uint32_t slot)
{
    index_remove(a, a->rule[slot].number);
    a->rule[slot].families = 0;
    a->rules--;
    *vec_push(&a->garbage) = (struct slot_garbage){a->epoch, slot};
}

int acl_add(struct acl *a, const struct acl_rule *r)
{
    char why[160];
    uint32_t slot;
    int rc;

    if (acl_rule_check(r, why, sizeof why))
        return -EINVAL;
    if (acl_slot_of(a, r->number) != ACL_MISS)
        return -EEXIST;
    if ((rc = slot_new(a, &slot)))
        return rc;
    slot_fill(a, slot, r);
    rc = family_add(a, 0, slot);
    if (rc) {
        slot_retire(a, slot);
        return rc;
    }
    rc = family_add(a, 1, slot);
    if (rc) {
        family_del(a, 0, slot);
        slot_retire(a, slot);
    }
    lanes_build(a);
    return rc;
}

int acl_del(struct acl *a, uint32_t number)
{
    uint32_t slot = acl_slot_of(a, number);

    if (slot == ACL_MISS)
        return -ENOENT;
    for (unsigned f = 0; f < 2; f++)
        family_del(a, f, slot);
    slot_retire(a, slot);
    lanes_build(a);
    return 0;
}

// --- sizes ---

size_t acl_need(const struct acl_rule *r, size_t n)
{
    size_t bytes = writer_bytes((uint32_t)n);

    for (unsigned f = 0; f < 2; f++)
        bytes += classifier_need(family_of(f), r, n);
    return bytes;
}

void acl_stats(const struct acl *a, struct acl_stats *s)
{
    *s = (struct acl_stats){
        .rules = a->rules, .slots = a->slots, .writer_bytes = writer_bytes(a->room)};
    for (unsigned f = 0; f < 2; f++)
        if (a->classifier[f]) {
            s->bytes += classifier_bytes(a->classifier[f]);
            s->writer_bytes += classifier_writer_bytes(a->classifier[f]);
        }
}

int acl_check(const struct acl *a, char *why, size_t n)
{
    struct classifier_rules r = {.rule = a->rule};
    uint32_t *slot = slots_by_number(a, &r.n);
    int rc = slot ? 0 : -ENOMEM;

    r.slot = slot;
    for (uint32_t i = 0; i < r.n && !rc; i++)
        if (acl_slot_of(a, a->rule[slot[i]].number) != slot[i]) {
            snprintf(why, n, "number %u does not lead to slot %u", a->rule[slot[i]].number,
                     slot[i]);
            rc = -EINVAL;
        }
    for (unsigned f = 0; f < 2 && !rc; f++)
        if (a->classifier[f])
            rc = classifier_check(a->classifier[f], &r, a->tuple[f], why, n);
    free(slot);
    return rc;
}
