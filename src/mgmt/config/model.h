// SPDX-License-Identifier: BSD-3-Clause
// model.h - a configuration as plain structs, for the managers
//
// Made from a checked tree, with defaults filled in. Each feature has a part with a format that
// only the feature knows; others use its functions (model/model.h: model_find_port). A part
// remembers the line of each entry, so that a manager's refusal names it. On the heap; constant
// once made.
#ifndef CONFIG_MODEL_H
#define CONFIG_MODEL_H

#include "base/errors.h"
#include "mgmt/feature.h"

struct lyd_node;
struct model {
    void *part[FEATURE_N]; // NULL: the feature has no part
};

// NULL tree: the empty configuration. `tree` has passed config_check. Adds to `e` violations of
// rules that the schema cannot express: they cross lists (a name that is a port and a vport),
// compare values of two entries, or would cost XPath a product of two lists. Each takes n log n
// here. Marked entries (config_mark_known) are copied from `known`, NULL = none.
struct model *model_make(const struct lyd_node *tree, const struct model *known, struct errors *e);
void model_free(struct model *m);

// Any VEC of a part, as a list of its feature describes it.
struct feature_list;
struct model_rows {
    char *item;
    size_t n, cap;
};
struct model_rows *model_rows(const struct model *m, unsigned feature,
                              const struct feature_list *l);

// Order of a part's elements: natural, then by bytes.
int model_compare_names(const char *a, const char *b);
// Finds the element named `name` among n sorted ones whose first member is the name, a string; or
// NULL.
void *model_find(const void *item, size_t n, size_t size, const char *name);
#define model_find_in(vec, name) model_find((vec)->item, (vec)->n, sizeof *(vec)->item, name)
// Pointers to the n elements in an order of their own, for rules that compare neighbors; free().
void *model_sorted(const void *item, size_t n, size_t size,
                   int (*compare)(const void *a, const void *b));
#define model_sorted_in(vec, compare)                                                              \
    model_sorted((vec)->item, (vec)->n, sizeof *(vec)->item, compare)

#endif
