// SPDX-License-Identifier: BSD-3-Clause
// config_index.h - index of the top of a tree (except leaf-lists), by schema node and keys
//
// Inside a node libyang finds children by hash; at the top of a tree it walks. Code that looks up
// many entries there (the reader of lines, the check of references) uses this index. It is filled
// by the first query, and costs nothing before. Used by the thread that owns the tree.
#ifndef YANG_CONFIG_INDEX_H
#define YANG_CONFIG_INDEX_H

#include <libyang/libyang.h>
#include <stdbool.h>

#define INDEX_LISTS 64

struct config_index {
    struct lyd_node **tree;
    const struct lyd_node *twice; // an entry with the keys of another one; possible only with JSON
    void *root; // of a tree of <search.h>
    bool filled;
    struct index_list {
        const struct lysc_node *schema;
        struct lyd_node *last;
        unsigned n;
    } list[INDEX_LISTS];
    unsigned lists;
};

struct lyd_node *config_index_find(struct config_index *x, const struct lysc_node *schema,
                                   const char *const *key); // key: of a list
struct lyd_node *config_index_like(struct config_index *x,
                                   const struct lyd_node *node); // of the same schema and keys
unsigned config_index_count(struct config_index *x, const struct lysc_node *schema);
void config_index_add(struct config_index *x,
                      struct lyd_node *entry); // appends it to its list
void config_index_del(struct config_index *x, struct lyd_node *entry); // and frees it
void config_index_free(struct config_index *x);

#endif
