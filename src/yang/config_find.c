// SPDX-License-Identifier: BSD-3-Clause
// config_find.c - nodes of a configuration tree by schema and key
//
// Inside a container or list entry libyang finds by hash; at the top it has to
// walk the siblings, which is why big lists belong into a container.
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

// "[name='p0']"; NULL for a value that no XPath literal can hold, which then is in no tree either.
static bool key_predicate(const struct lysc_node *list, const char *const *key, struct text *t)
{
    unsigned i = 0;

    for (const struct lysc_node *k = lysc_node_child(list); k && lysc_is_key(k); k = k->next, i++) {
        char q = strchr(key[i], '\'') ? '"' : '\'';

        if (strchr(key[i], q))
            return false;
        text_printf(t, "[%s=%c%s%c]", k->name, q, key[i], q);
    }
    return true;
}

struct lyd_node *config_find(const struct lyd_node *first, const struct lysc_node *s,
                             const char *const *key)
{
    struct lyd_node *match = NULL;
    struct text t = {0};

    if (!first)
        return NULL;
    if (s->nodetype & (LYS_LIST | LYS_LEAFLIST) && !key[0]) { // the first of them
        while (first && first->schema != s)
            first = first->next;
        return (struct lyd_node *)(uintptr_t)first;
    }
    if (s->nodetype == LYS_LIST) {
        if (key_predicate(s, key, &t) && lyd_find_sibling_val(first, s, text_str(&t), t.n, &match))
            match = NULL;
    } else if (s->nodetype == LYS_LEAFLIST) {
        if (lyd_find_sibling_val(first, s, key[0], strlen(key[0]), &match))
            match = NULL;
    } else if (lyd_find_sibling_val(first, s, NULL, 0, &match)) {
        match = NULL;
    }
    text_free(&t);
    return match;
}

const char *config_value(const struct lyd_node *first, const char *leaf)
{
    for (const struct lyd_node *n = first; n; n = n->next)
        if (n->schema && n->schema->nodetype == LYS_LEAF && !strcmp(n->schema->name, leaf))
            return lyd_get_value(n);
    return NULL;
}

void config_delete_node(struct lyd_node **tree, struct lyd_node *node)
{
    if (*tree == node)
        *tree = node->next;
    lyd_free_tree(node);
}

struct lyd_node *config_dup(const struct lyd_node *tree)
{
    struct lyd_node *copy = NULL;

    if (tree)
        bug_on(lyd_dup_siblings(tree, NULL, LYD_DUP_RECURSIVE | LYD_DUP_WITH_FLAGS, &copy));
    return copy;
}
