// SPDX-License-Identifier: BSD-3-Clause
// table.c - hash tables and arrays that several forwarders write at once (table.h)
//
// A hash stores each key plus 1, so zeroed memory consists of free slots. A new key probes at most
// PROBES_MAX slots and takes the first free one by compare-and-swap. Slots are never freed, so a
// reader's probe ends at the first free slot. The count of taken slots is tested before it is
// raised: it may exceed `entries` by one for each forwarder.
#include "program/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/hash.h"
#include "core/mem.h"

#define PROBES_MAX 32u

static uint32_t slots_of(uint32_t entries)
{
    uint32_t n = 64;

    while (n < 2 * entries)
        n *= 2;
    return n;
}

struct program_table *program_table_new(const char *name, bool array, uint32_t entries)
{
    struct program_table *t = aligned_alloc(64, sizeof *t);
    uint64_t secret;

    if (!t)
        return NULL;
    if (getrandom(&secret, sizeof secret, 0) != sizeof secret)
        secret = (uintptr_t)t;
    *t = (struct program_table){
        .secret = secret, .mask = slots_of(entries) - 1, .entries = entries, .array = array};
    t->bytes = array ? entries * sizeof *t->value : (t->mask + 1) * sizeof *t->slot;
    t->slot = mem_map(name, t->bytes);
    if (t->slot)
        return t;
    free(t);
    return NULL;
}

void program_table_free(struct program_table *t)
{
    if (t)
        mem_unmap(t->slot, t->bytes);
    free(t);
}

static uint64_t slot_load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void slot_store(uint64_t *word, uint64_t v)
{
    __atomic_store_n(word, v, __ATOMIC_RELAXED);
}

void program_table_prefetch(const struct program_table *t, uint64_t key)
{
    if (!t->array)
        __builtin_prefetch(&t->slot[hash_mix64(key ^ t->secret) & t->mask]);
}

struct program_slot *program_table_slot(const struct program_table *t, uint64_t key)
{
    uint64_t at = hash_mix64(key ^ t->secret);

    for (unsigned k = 0; k < PROBES_MAX; k++) {
        struct program_slot *s = &t->slot[(at + k) & t->mask];
        uint64_t is = slot_load(&s->key);
        if (!is)
            break;
        if (is == key + 1)
            return s;
    }
    return NULL;
}

// The key's slot, taken now if it has none; NULL: no room.
static struct program_slot *slot_take(struct program_table *t, uint64_t key)
{
    uint64_t at = hash_mix64(key ^ t->secret);

    for (unsigned k = 0; k < PROBES_MAX; k++) {
        struct program_slot *s = &t->slot[(at + k) & t->mask];
        uint64_t is = slot_load(&s->key);
        if (is == key + 1)
            return s;
        if (is)
            continue;
        // May exceed `entries` by one for each forwarder.
        if (__atomic_load_n(&t->taken, __ATOMIC_RELAXED) >= t->entries)
            return NULL;
        if (__atomic_compare_exchange_n(&s->key, &is, key + 1, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            __atomic_fetch_add(&t->taken, 1, __ATOMIC_RELAXED);
            return s;
        }
        if (is == key + 1)
            return s;
    }
    return NULL;
}

int program_table_put(struct program_table *t, uint64_t key, uint64_t value)
{
    if (t->array) {
        if (key >= t->entries)
            return -1;
        slot_store(&t->value[key], value);
        return 0;
    }
    if (key == UINT64_MAX)
        return -1;
    if (value == PROGRAM_NOT_THERE && program_table_get(t, key) == PROGRAM_NOT_THERE)
        return 0;
    struct program_slot *s = slot_take(t, key);
    if (!s)
        return -1;
    program_slot_set(s, value);
    return 0;
}

bool program_table_next(const struct program_table *t, uint64_t *at, uint64_t *key, uint64_t *value)
{
    for (; *at < (t->array ? t->entries : t->mask + 1); ++*at) {
        *key = t->array ? *at : slot_load(&t->slot[*at].key) - 1;
        *value = t->array ? slot_load(&t->value[*at]) : ~slot_load(&t->slot[*at].value);
        if (t->array ? !*value : *key == UINT64_MAX || *value == PROGRAM_NOT_THERE)
            continue;
        ++*at;
        return true;
    }
    return false;
}
