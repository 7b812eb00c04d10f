// SPDX-License-Identifier: BSD-3-Clause
// config_index.c - index of the top of a tree, by schema node and keys (config_index.h)
//
// An open hash table; a deleted slot is marked, so that searches continue behind it. The index
// remembers the last entry of each list and inserts behind it, because libyang would walk the list.
// An entry that is there twice is noted when the index is filled.
#include "yang/config_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "yang/config_tree.h"

static struct lyd_node gone; // marks a deleted slot: a search continues

static uint64_t add_hash(uint64_t h, const char *key)
{
    return hash_bytes(key, strlen(key) + 1, h);
}

static uint64_t hash_of(const struct lyd_node *entry)
{
    uint64_t h = (uintptr_t)entry->schema;

    for (const struct lyd_node *k = lyd_child(entry); k && lysc_is_key(k->schema); k = k->next)
        h = add_hash(h, lyd_get_value(k));
    return h;
}

static bool has_keys(const struct lyd_node *entry, const struct lysc_node *schema,
                     const char *const *key)
{
    unsigned i = 0;

    if (entry->schema != schema)
        return false;
    for (const struct lyd_node *k = lyd_child(entry); k && lysc_is_key(k->schema); k = k->next, i++)
        if (strcmp(lyd_get_value(k), key[i]))
            return false;
    return true;
}

static struct index_list *list_of(struct config_index *x, const struct lysc_node *schema)
{
    for (unsigned i = 0; i < x->lists; i++)
        if (x->list[i].schema == schema)
            return &x->list[i];
    bug_on(x->lists == INDEX_LISTS);
    x->list[x->lists] = (struct index_list){.schema = schema};
    return &x->list[x->lists++];
}

static void put_entry(struct config_index *x, struct lyd_node *entry)
{
    size_t i = hash_of(entry) & (x->slots - 1);

    while (x->slot[i])
        i = (i + 1) & (x->slots - 1);
    x->slot[i] = entry;
    x->used++;
}

static size_t entries(const struct config_index *x)
{
    size_t n = 0;

    for (unsigned i = 0; i < x->lists; i++)
        n += x->list[i].n;
    return n;
}

// Doubles the slots, or rebuilds the same number if most used ones are deleted.
static void make_room(struct config_index *x)
{
    struct lyd_node **old = x->slot;
    size_t n = x->slots;

    if (old && x->used < n / 2)
        return;
    x->slots = !n ? 256 : entries(x) > n / 4 ? 2 * n : n;
    x->slot = calloc(x->slots, sizeof *x->slot);
    bug_on(!x->slot);
    x->used = 0;
    for (size_t i = 0; i < n; i++)
        if (old[i] && old[i] != &gone)
            put_entry(x, old[i]);
    free(old);
}

static struct lyd_node **find_slot(struct config_index *x, uint64_t hash,
                                   const struct lysc_node *schema, const char *const *key)
{
    for (size_t i = hash & (x->slots - 1); x->slot[i]; i = (i + 1) & (x->slots - 1))
        if (x->slot[i] != &gone && has_keys(x->slot[i], schema, key))
            return &x->slot[i];
    return NULL;
}

#define KEYS_MAX 4

static void keys_of(const struct lyd_node *entry, const char *key[KEYS_MAX])
{
    unsigned i = 0;

    for (const struct lyd_node *k = lyd_child(entry); k && lysc_is_key(k->schema); k = k->next) {
        bug_on(i == KEYS_MAX);
        key[i++] = lyd_get_value(k);
    }
}

static void take_entry(struct config_index *x, struct lyd_node *entry)
{
    struct index_list *l = list_of(x, entry->schema);

    make_room(x);
    put_entry(x, entry);
    l->last = entry;
    l->n++;
}

static void fill(struct config_index *x)
{
    if (x->slot)
        return;
    make_room(x);
    for (struct lyd_node *n = *x->tree; n; n = n->next) {
        const char *key[KEYS_MAX];

        if (!n->schema || !(n->schema->nodetype & (LYS_LIST | LYS_CONTAINER | LYS_LEAF)))
            continue;
        keys_of(n, key);
        if (find_slot(x, hash_of(n), n->schema, key))
            x->twice = n;
        take_entry(x, n);
    }
}

struct lyd_node *config_index_find(struct config_index *x, const struct lysc_node *schema,
                                   const char *const *key)
{
    uint64_t h = (uintptr_t)schema;
    unsigned i = 0;

    fill(x);
    for (const struct lysc_node *k = lysc_node_child(schema); k && lysc_is_key(k); k = k->next)
        h = add_hash(h, key[i++]);
    struct lyd_node **slot = find_slot(x, h, schema, key);
    return slot ? *slot : NULL;
}

struct lyd_node *config_index_like(struct config_index *x, const struct lyd_node *node)
{
    const char *key[KEYS_MAX];

    keys_of(node, key);
    return config_index_find(x, node->schema, key);
}

unsigned config_index_count(struct config_index *x, const struct lysc_node *schema)
{
    fill(x);
    return list_of(x, schema)->n;
}

void config_index_add(struct config_index *x, struct lyd_node *entry)
{
    fill(x);
    config_link_behind(x->tree, list_of(x, entry->schema)->last, entry);
    take_entry(x, entry);
}

void config_index_del(struct config_index *x, struct lyd_node *entry)
{
    fill(x);
    struct index_list *l = list_of(x, entry->schema);
    const char *key[KEYS_MAX];

    keys_of(entry, key);
    struct lyd_node **slot = find_slot(x, hash_of(entry), entry->schema, key);
    bug_on(!slot);
    *slot = &gone;
    l->n--;
    if (l->last == entry) // `prev` of the first is the last of all
        l->last = entry != *x->tree && entry->prev->schema == entry->schema ? entry->prev : NULL;
    config_delete_node(x->tree, entry);
}

void config_index_free(struct config_index *x)
{
    free(x->slot);
    *x = (struct config_index){0};
}
