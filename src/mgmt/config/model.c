// SPDX-License-Identifier: BSD-3-Clause
// model.c - makes the model of a tree: every feature reads, resolves and checks its part
#include "config/model.h"

#include <libyang/libyang.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "config/feature_config.h"
#include "config/leaf.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

#define EACH_FEATURE(f, member)                                                                    \
    for (unsigned f##_id = 0; f##_id < FEATURE_N; f##_id++)                                        \
        for (const struct feature_config *f = features[f##_id]->config; f && f->member; f = NULL)

void model_read_list(struct model *m, const struct lyd_node *tree, const char *inside,
                     const char *name, void (*read)(struct model *m, const struct lyd_node *entry))
{
    const struct lysc_node *parent = inside ? yang_child(NULL, inside, true) : NULL;
    struct lyd_nodes v = {0};

    config_children(inside ? leaf_inside(tree, NULL, inside) : tree, yang_child(parent, name, true),
                    &v);
    for (size_t i = 0; i < v.n; i++)
        read(m, v.item[i]);
    free(v.item);
}

struct model *model_make(const struct lyd_node *tree, const struct model *known, struct errors *e)
{
    struct model *m = calloc(1, sizeof *m);

    bug_on(!m);
    EACH_FEATURE(f, part_size) {
        m->part[f_id] = calloc(1, f->part_size);
        bug_on(!m->part[f_id]);
    }
    EACH_FEATURE(f, read)
        f->read(m, tree, known, e);
    EACH_FEATURE(f, resolve)
        f->resolve(m);
    EACH_FEATURE(f, check)
        f->check(m, e);
    return m;
}

void model_free(struct model *m)
{
    if (!m)
        return;
    EACH_FEATURE(f, free)
        f->free(m);
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
