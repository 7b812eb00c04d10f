// SPDX-License-Identifier: BSD-3-Clause
// model.c - makes the model of a tree: every feature reads, resolves and checks its part (model.h)
//
// Three passes, because parts refer to each other: all features read, then all resolve, then all
// check. The features' tables describe their lists and single values; this file reads, checks and
// frees them. Rows begin with their name and are sorted by it, for the binary search of
// model_find().
#include "config/model.h"

#include <libyang/libyang.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "base/vec.h"
#include "config/feature_config.h"
#include "config/leaf.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

#define EACH_FEATURE(f)                                                                            \
    for (unsigned f##_id = 0; f##_id < FEATURE_N; f##_id++)                                        \
        for (const struct feature_config *f = features[f##_id]->config; f; f = NULL)
#define EACH_FEATURE_WITH(f, member)                                                               \
    EACH_FEATURE (f)                                                                               \
        if (f->member)

// --- lists of features ---------------------------------------------------------------------------

struct model_rows *model_rows(const struct model *m, unsigned feature, const struct feature_list *l)
{
    return (void *)((char *)m->part[feature] + l->at);
}

static void read_row(struct model *m, struct model_rows *rows, const struct feature_list *l,
                     const struct lyd_node *entry)
{
    if (rows->n == rows->cap)
        rows->item = vec_grow(rows->item, &rows->cap, l->row_size);
    char *row = memset(rows->item + rows->n * l->row_size, 0, l->row_size);
    if (l->line_at)
        *(unsigned *)(void *)(row + l->line_at) = leaf_line(entry, NULL);
    l->read(m, row, entry);
    rows->n += l->unnamed || *row;
}

static void read_lists(struct model *m, unsigned feature, const struct lyd_node *tree)
{
    for (const struct feature_list *l = features[feature]->config->lists; l && l->node; l++) {
        const struct lysc_node *parent = l->inside ? yang_child(NULL, l->inside, true) : NULL;

        if (!l->read)
            continue;
        leaf_foreach (l->inside ? leaf_inside(tree, NULL, l->inside) : tree, parent, l->node, entry)
            if (l->row_size)
                read_row(m, model_rows(m, feature, l), l, entry);
            else
                l->read(m, m->part[feature], entry);
    }
}

static void check_lists(const struct model *m, unsigned feature, struct errors *e)
{
    for (const struct feature_list *l = features[feature]->config->lists; l && l->node; l++) {
        if (!l->check)
            continue;
        const struct model_rows *rows = model_rows(m, feature, l);

        for (size_t i = 0; i < rows->n; i++)
            l->check(m, rows->item + i * l->row_size, e);
    }
}

static void free_lists(struct model *m, unsigned feature)
{
    for (const struct feature_list *l = features[feature]->config->lists; l && l->node; l++)
        if (l->row_size)
            vec_free(model_rows(m, feature, l));
}

static void read_values(struct model *m, unsigned feature, const struct lyd_node *tree)
{
    for (const struct feature_value *v = features[feature]->config->values; v && v->size; v++) {
        char *value = (char *)m->part[feature] + v->at;

        if (v->initial)
            memcpy(value, v->initial, v->size);
        if (v->read)
            v->read(leaf_inside(tree, NULL, v->inside), v->columns, value);
    }
}

struct model *model_make(const struct lyd_node *tree, const struct model *known, struct errors *e)
{
    struct model *m = calloc(1, sizeof *m);

    bug_on(!m);
    EACH_FEATURE_WITH (f, part_size) {
        m->part[f_id] = calloc(1, f->part_size);
        bug_on(!m->part[f_id]);
    }
    EACH_FEATURE (f) {
        read_values(m, f_id, tree);
        read_lists(m, f_id, tree);
        if (f->read)
            f->read(m, tree, known, e);
    }
    EACH_FEATURE_WITH (f, resolve)
        f->resolve(m);
    EACH_FEATURE (f) {
        check_lists(m, f_id, e);
        if (f->check)
            f->check(m, e);
    }
    return m;
}

void model_free(struct model *m)
{
    if (!m)
        return;
    EACH_FEATURE (f) {
        if (f->free)
            f->free(m);
        free_lists(m, f_id);
    }
    for (unsigned i = 0; i < FEATURE_N; i++)
        free(m->part[i]);
    free(m);
}

int model_compare_names(const char *a, const char *b)
{
    int d = natural_compare(a, b);

    return d ? d : strcmp(a, b);
}

void *model_find(const void *item, size_t n, size_t size, const char *name)
{
    for (size_t lo = 0, hi = n; lo < hi;) {
        size_t mid = (lo + hi) / 2;
        const char *at = (const char *)item + mid * size;
        int d = model_compare_names(at, name);

        if (!d)
            return (void *)(uintptr_t)at;
        if (d < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

void *model_sorted(const void *item, size_t n, size_t size,
                   int (*compare)(const void *a, const void *b))
{
    const void **by = malloc((n + 1) * sizeof *by);

    bug_on(!by);
    for (size_t i = 0; i < n; i++)
        by[i] = (const char *)item + i * size;
    qsort(by, n, sizeof *by, compare);
    return by;
}
