// SPDX-License-Identifier: BSD-3-Clause
// config_refer.c - references to an entry of a list in a configuration tree, by the schema's
// leafrefs
#include "base/vec.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

static bool refers(const struct lyd_node *n, const struct lysc_node *list, const char *name)
{
    return n->schema && n->schema->nodetype & (LYS_LEAF | LYS_LEAFLIST) && config_is_explicit(n) &&
           yang_reference(yang_type(n->schema)) == list && !strcmp(lyd_get_value(n), name);
}

void config_referrers(const struct lyd_node *tree, const struct lysc_node *list, const char *name,
                      struct lyd_nodes *v)
{
    for (const struct lyd_node *top = tree; top; top = top->next) {
        struct lyd_node *n;

        LYD_TREE_DFS_BEGIN(top, n)
        {
            if (refers(n, list, name))
                *vec_push(v) = n;
            LYD_TREE_DFS_END(top, n);
        }
    }
}

static bool rename_node(const struct lyd_node *n, const char *to)
{
    LY_ERR r = lyd_change_term((struct lyd_node *)(uintptr_t)n, to);

    return r == LY_SUCCESS || r == LY_EEXIST || r == LY_ENOT;
}

bool config_rename(struct lyd_node *tree, const struct lysc_node *list, const char *name,
                   const char *to)
{
    struct lyd_node *entry = config_find(tree, list, &name);
    struct lyd_nodes v = {0};
    bool ok = entry && rename_node(lyd_child(entry), to);

    config_referrers(tree, list, name, &v);
    for (size_t i = 0; i < v.n; i++)
        ok = rename_node(v.item[i], to) && ok;
    vec_free(&v);
    return ok;
}
