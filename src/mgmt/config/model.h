// SPDX-License-Identifier: BSD-3-Clause
// model.h - a configuration as plain structs, which the managers get
//
// Made from a checked tree, with defaults filled in. Each feature has a part, which it alone knows
// the shape of; others ask it (feature/port.h: model_find_port). A part remembers the line of each
// entry, so that a manager's refusal names it. Heap; constant once it is made.
#ifndef CONFIG_MODEL_H
#define CONFIG_MODEL_H

#include "base/errors.h"
#include "mgmt/feature.h"

struct lyd_node;
struct model {
    void *part[FEATURE_N]; // NULL: the feature has none
};

// NULL tree: the empty configuration. `tree` has been through config_check. Adds to `e` what breaks
// rules that the schema cannot say: they cross lists (a name that is a port and a vport), compare
// values of two entries, or would cost XPath a product of two lists. Each is n log n here. Entries
// that are marked (config_mark_known) are taken from `known`, NULL = none.
struct model *model_make(const struct lyd_node *tree, const struct model *known, struct errors *e);
void model_free(struct model *m);

// For readers: each entry of the list `name` inside the container `inside` (NULL: at the top).
void model_read_list(struct model *m, const struct lyd_node *tree, const char *inside,
                     const char *name,
                     void (*read)(struct model *m, const struct lyd_node *entry));

// The order of a part's elements: naturally, then by bytes.
int model_compare_names(const char *a, const char *b);
// The element of n sorted ones whose first member, a string, is `name`; or NULL.
void *model_find(const void *item, size_t n, size_t size, const char *name);

#endif
