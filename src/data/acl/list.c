// SPDX-License-Identifier: BSD-3-Clause
// list.c - the writer of a list: rule numbers, slots, and garbage that waits for a grace period
//
// Each family's rules are in a classifier, which has room for some more rules than it was built
// with. When that is used up, or so many rules were deleted that the filter is full of stale bits,
// the list builds a new one aside and swaps it in by one store. A family without rules has no
// classifier.
#include "acl/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acl/classifier_build.h"
#include "acl/rule.h"

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
    free(a->order.item);
    vec_free(&a->garbage);
    free(a->free_slot);
    free(a);
}

// --- numbers ---

// Place of the first rule with this number or a higher one.
static size_t order_at(const struct acl *a, uint32_t number)
{
    size_t lo = 0, hi = a->order.n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (a->order.item[mid] >> 32 < number)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void order_add(struct acl *a, uint32_t number, uint32_t slot)
{
    uint64_t *at = a->order.item + order_at(a, number);

    memmove(at + 1, at, (size_t)(a->order.item + a->order.n++ - at) * sizeof *at);
    *at = (uint64_t)number << 32 | slot;
}

static void order_remove(struct acl *a, uint32_t number)
{
    uint64_t *at = a->order.item + order_at(a, number);

    memmove(at, at + 1, (size_t)(a->order.item + --a->order.n - at) * sizeof *at);
}

uint32_t acl_slot_of(const struct acl *a, uint32_t number)
{
    size_t at = order_at(a, number);

    return at < a->order.n && a->order.item[at] >> 32 == number ? (uint32_t)a->order.item[at]
                                                                : ACL_MISS;
}

const struct acl_order *acl_order(const struct acl *a)
{
    return &a->order;
}

uint32_t acl_next_slot(const struct acl *a)
{
    return a->n_free ? a->free_slot[a->n_free - 1] : a->slots;
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
        !array_grow(&a->free_slot, a->room, room, sizeof *a->free_slot) ||
        !array_grow(&a->order.item, a->room, room, sizeof *a->order.item))
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
    uint32_t *slot = malloc((a->order.n + 1) * sizeof *slot);

    *n = 0;
    for (size_t i = 0; i < a->order.n && slot; i++)
        slot[(*n)++] = (uint32_t)a->order.item[i];
    return slot;
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
            classifier_lanes_build(c, &a->cfg, a->rule, &a->order, a->tuple[f]);
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

static void list_clear(struct acl *a)
{
    void **array[] = {(void **)&a->rule, (void **)&a->tuple[0], (void **)&a->tuple[1],
                      (void **)&a->order.item, (void **)&a->free_slot};

    for (unsigned i = 0; i < sizeof array / sizeof *array; i++) {
        free(*array[i]);
        *array[i] = NULL;
    }
    for (unsigned f = 0; f < 2; f++)
        if (a->classifier[f])
            classifier_swap(a, f, NULL);
    a->slots = a->room = a->n_free = 0;
    a->order.n = 0;
}

static int compare_places(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

    return (a > b) - (a < b);
}

// Fills the slots in turn. -EEXIST: two rules have the same number.
static int slots_fill(struct acl *a, const struct acl_rule *r, uint32_t n)
{
    bool sorted = true;
    uint64_t *item = a->order.item;

    for (uint32_t i = 0; i < n; i++) {
        a->rule[i] = r[i];
        item[i] = (uint64_t)r[i].number << 32 | i;
        sorted &= !i || item[i - 1] < item[i];
    }
    a->slots = n;
    a->order.n = n;
    if (!sorted)
        qsort(item, n, sizeof *item, compare_places);
    for (uint32_t i = 1; i < n; i++)
        if (item[i - 1] >> 32 == item[i] >> 32)
            return -EEXIST;
    return 0;
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
    rc = rc ? rc : slots_fill(a, r, (uint32_t)n);
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
    int rc = a->n_free ? 0 : slots_reserve(a, a->slots + 1);

    if (rc)
        return rc;
    *slot = acl_next_slot(a);
    if (a->n_free)
        a->n_free--;
    else
        a->slots++;
    return 0;
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
    order_remove(a, a->rule[slot].number);
    a->rule[slot].families = 0;
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
    a->rule[slot] = *r;
    order_add(a, r->number, slot);
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
        .rules = (uint32_t)a->order.n, .slots = a->slots, .writer_bytes = writer_bytes(a->room)};
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
        if (a->rule[slot[i]].number != a->order.item[i] >> 32 ||
            (i && a->order.item[i - 1] >= a->order.item[i]))
            rc = rule_error(why, n, "number %u does not lead to slot %u", a->rule[slot[i]].number,
                            slot[i]);
    for (unsigned f = 0; f < 2 && !rc; f++)
        if (a->classifier[f])
            rc = classifier_check(a->classifier[f], &r, a->tuple[f], why, n);
    free(slot);
    return rc;
}
