// SPDX-License-Identifier: BSD-3-Clause
// config_index.c - index of the top of a tree, by schema node and keys (config_index.h)
//
// A balanced tree of the C library. The index remembers the last entry of each list and inserts
// behind it, because libyang would walk the list. An entry that is there twice is noted when the
// index is filled.
#include "yang/config_index.h"

#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "yang/config_tree.h"

#define KEYS_MAX 4

struct indexed {
    const struct lysc_node *schema;
    const char *key[KEYS_MAX]; // NULL behind the last one
    struct lyd_node *node;
};

static int compare_entries(const void *a, const void *b)
{
    const struct indexed *x = a, *y = b;
    int d = x->schema == y->schema ? 0 : x->schema < y->schema ? -1 : 1;

    for (unsigned i = 0; !d && i < KEYS_MAX && x->key[i]; i++)
        d = strcmp(x->key[i], y->key[i]);
    return d;
}

static struct indexed entry_of(const struct lyd_node *node)
{
    struct indexed e = {.schema = node->schema, .node = (struct lyd_node *)(uintptr_t)node};
    unsigned i = 0;

    for (const struct lyd_node *k = lyd_child(node); k && lysc_is_key(k->schema); k = k->next) {
        bug_on(i == KEYS_MAX);
        e.key[i++] = lyd_get_value(k);
    }
    return e;
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

static void take_entry(struct config_index *x, struct lyd_node *node)
{
    struct index_list *l = list_of(x, node->schema);
    struct indexed *e = malloc(sizeof *e);

    bug_on(!e);
    *e = entry_of(node);
    struct indexed **in = tsearch(e, &x->root, compare_entries);
    bug_on(!in);
    if (*in != e) {
        x->twice = node;
        free(e);
    }
    l->last = node;
    l->n++;
}

static void fill(struct config_index *x)
{
    if (x->filled)
        return;
    x->filled = true;
    for (struct lyd_node *n = *x->tree; n; n = n->next)
        if (n->schema && n->schema->nodetype & (LYS_LIST | LYS_CONTAINER | LYS_LEAF))
            take_entry(x, n);
}

static struct lyd_node *find_entry(struct config_index *x, const struct indexed *want)
{
    fill(x);
    struct indexed **found = tfind(want, &x->root, compare_entries);
    return found ? (*found)->node : NULL;
}

struct lyd_node *config_index_find(struct config_index *x, const struct lysc_node *schema,
                                   const char *const *key)
{
    struct indexed want = {.schema = schema};
    unsigned i = 0;

    for (const struct lysc_node *k = lysc_node_child(schema); k && lysc_is_key(k); k = k->next, i++)
        want.key[i] = key[i];
    return find_entry(x, &want);
}

struct lyd_node *config_index_like(struct config_index *x, const struct lyd_node *node)
{
    const struct indexed want = entry_of(node);

    return find_entry(x, &want);
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
    const struct indexed want = entry_of(entry);
    struct indexed **found = tfind(&want, &x->root, compare_entries), *e;

    bug_on(!found);
    e = *found;
    tdelete(e, &x->root, compare_entries);
    free(e);
    l->n--;
    if (l->last == entry) // `prev` of the first is the last of all
        l->last = entry != *x->tree && entry->prev->schema == entry->schema ? entry->prev : NULL;
    config_delete_node(x->tree, entry);
}

void config_index_free(struct config_index *x)
{
    tdestroy(x->root, free);
    *x = (struct config_index){0};
}
