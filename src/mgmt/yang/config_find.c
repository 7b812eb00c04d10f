// SPDX-License-Identifier: BSD-3-Clause
// config_find.c - finds nodes of a configuration tree by schema and key
//
// Inside a container or list entry libyang finds by hash; at the top it walks the siblings, which
// is fine for one search and too slow for many: those use a config_index.
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

// "[name='p0']"; NULL for a value that cannot be an XPath literal, and so cannot be in a tree
// either.
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

void config_link_behind(struct lyd_node **tree, struct lyd_node *last, struct lyd_node *node)
{
    if (!last) { // libyang finds the place
        lyd_insert_sibling(*tree, node, tree);
        return;
    }
    node->prev = last;
    node->next = last->next;
    if (node->next)
        node->next->prev = node;
    else
        (*tree)->prev = node;
    last->next = node;
}

void config_link_first(struct lyd_node **tree, struct lyd_node *node)
{
    node->next = *tree;
    if (*tree) {
        node->prev = (*tree)->prev;
        (*tree)->prev = node;
    }
    *tree = node;
}

// libyang's own copy of all siblings searches the place of each from the first sibling on.
struct lyd_node *config_dup(const struct lyd_node *tree)
{
    struct lyd_node *copy = NULL, *last = NULL, *mine;

    for (const struct lyd_node *n = tree; n; n = n->next, last = mine) {
        bug_on(lyd_dup_single(n, NULL, LYD_DUP_RECURSIVE | LYD_DUP_WITH_FLAGS, &mine));
        if (last)
            config_link_behind(&copy, last, mine);
        else
            copy = mine;
    }
    return copy;
}

static void settle_value(const struct lyd_value *v)
{
    lyd_value_get_canonical(yang_ctx, v);
    if (v->realtype->basetype == LY_TYPE_UNION) // prints through its member type
        settle_value(&v->subvalue->value);
}

void config_settle(const struct lyd_node *tree)
{
    for (const struct lyd_node *n = tree; n; n = n->next) {
        if (n->schema && n->schema->nodetype & (LYS_LEAF | LYS_LEAFLIST))
            settle_value(&((const struct lyd_node_term *)n)->value);
        config_settle(lyd_child(n));
    }
}
