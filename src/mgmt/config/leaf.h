// SPDX-License-Identifier: BSD-3-Clause
// leaf.h - reads values from a checked tree, for features; control role
#ifndef CONFIG_LEAF_H
#define CONFIG_LEAF_H

#include <libyang/libyang.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "yang/config_tree.h"

// Value of a leaf among the siblings `first`; `absent` if it is missing.
uint64_t leaf_number(const struct lyd_node *first, const char *leaf, uint64_t absent);
void leaf_copy(char *to, size_t size, const struct lyd_node *first, const char *leaf,
               const char *absent);
bool leaf_true(const struct lyd_node *first, const char *leaf);
// Index of the value among n words; -1: none, or the leaf is missing.
int leaf_word(const struct lyd_node *first, const char *leaf, const char *const *words, size_t n);

// Children of the container `name` (of `parent`; NULL: at the top of `first`), or NULL.
const struct lyd_node *leaf_inside(const struct lyd_node *first, const struct lysc_node *parent,
                                   const char *name);

// Runs a statement for each entry of the list or leaf-list `name`, in canonical order; `first` and
// `parent` as for leaf_inside. The statement must not leave the loop.
//
//     leaf_foreach (lyd_child(port), port->schema, "mirror", entry)
//         read_mirror(m, entry);
#define leaf_foreach(first, parent, name, entry)                                                   \
    for (struct leaf_entries entry##_all = leaf_entries(first, parent, name);                      \
         leaf_entries_left(&entry##_all);)                                                         \
        for (const struct lyd_node *entry = entry##_all.v.item[entry##_all.i++]; entry;            \
             entry = NULL)
struct leaf_entries {
    struct lyd_nodes v;
    size_t i;
};
struct leaf_entries leaf_entries(const struct lyd_node *first, const struct lysc_node *parent,
                                 const char *name);
bool leaf_entries_left(struct leaf_entries *e); // false: it has been freed

// Line to report for an entry: of the leaf at fault, otherwise of the entry, otherwise of any of
// its leaves (an edit of an old entry).
unsigned leaf_line(const struct lyd_node *entry, const char *leaf);

// "2.5G", already checked by the schema: each of `suffixes` ("kMGT") is a thousand times the
// previous one.
uint64_t leaf_scaled(const char *text, const char *suffixes);

#endif
