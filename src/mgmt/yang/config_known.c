// SPDX-License-Identifier: BSD-3-Clause
// config_known.c - equal parts of a candidate and an already checked configuration
//
// A candidate begins as a copy, so almost all nodes stand where they stood in the original: walking
// both side by side finds the differences without sorting. Unchanged nodes are marked, and need no
// second check:
//
//   - an entry of a list at the top, as a whole. If an entry of such a list was deleted, the
//     references of the others are checked all the same (config_is_certain);
//   - where an entry contains one-line lists, only the entries of these: they are numerous (rules
//     of access lists), independent, and not referred to. They are marked only if no entry of a
//     list at the top was deleted.
#include <string.h>

#include "base/vec.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

static const char certain, alike; // alike: but an entry that it refers to may be deleted

bool config_is_known(const struct lyd_node *node)
{
    return node->priv == &certain || node->priv == &alike;
}

bool config_is_certain(const struct lyd_node *node)
{
    return node->priv == &certain;
}

bool config_same(const struct lyd_node *a, const struct lyd_node *b)
{
    if (a->schema != b->schema || (a->flags ^ b->flags) & LYD_DEFAULT)
        return false;
    if (a->schema->nodetype & (LYS_LEAF | LYS_LEAFLIST)) {
        const char *x = lyd_get_value(a), *y = lyd_get_value(b);
        return x == y || !strcmp(x, y); // libyang shares most strings
    }
    const struct lyd_node *x = lyd_child(a), *y = lyd_child(b);
    while (x && y && config_same(x, y)) {
        x = x->next;
        y = y->next;
    }
    return !x && !y;
}

static const struct lyd_node *from_here(const struct lyd_node *n, const struct lysc_node *s)
{
    while (n && n->schema != s)
        n = n->next;
    return n;
}

static const struct lyd_node *behind(const struct lyd_node *n)
{
    return from_here(n->next, n->schema);
}

struct twins {
    struct lyd_nodes *old, *new; // nodes without a twin; NULL: not wanted
    const char *mark;            // for nodes of `new` with a twin; NULL: none
};

static void alone(struct lyd_nodes *v, const struct lyd_node *n)
{
    if (v && config_is_explicit(n))
        *vec_push(v) = n;
}

static void twin(const struct twins *w, const struct lyd_node *b)
{
    if (w->mark)
        ((struct lyd_node *)(uintptr_t)b)->priv = (void *)(uintptr_t)w->mark;
}

static void find_twins(const struct lyd_node *old, const struct lyd_node *new,
                       const struct lysc_node *s, const struct twins *w)
{
    const struct lyd_node *a = from_here(old, s), *b = from_here(new, s);

    while (a && b) {
        const struct lyd_node *next_a = behind(a), *next_b = behind(b);

        if (config_same(a, b)) {
            twin(w, b);
        } else if (next_b && config_same(a, next_b)) { // b is new
            alone(w->new, b);
            b = next_b;
            continue;
        } else if (next_a && config_same(next_a, b)) { // a was deleted
            alone(w->old, a);
            a = next_a;
            continue;
        } else {
            alone(w->old, a);
            alone(w->new, b);
        }
        a = next_a;
        b = next_b;
    }
    for (; a; a = behind(a))
        alone(w->old, a);
    for (; b; b = behind(b))
        alone(w->new, b);
}

void config_unlike(const struct lyd_node *old, const struct lyd_node *new,
                   const struct lysc_node *s, struct lyd_nodes *a, struct lyd_nodes *b)
{
    find_twins(old, new, s, &(struct twins){.old = a, .new = b});
    config_sort(s, a);
    config_sort(s, b);
}

// --- marks --------------------------------------------------------------------------------------

static bool has_one_line(const struct lysc_node *parent)
{
    for (const struct lysc_node *s = NULL; (s = yang_next(s, parent));)
        if (s->nodetype & (LYS_LIST | LYS_CONTAINER) && (yang_is_one_line(s) || has_one_line(s)))
            return true;
    return false;
}

// Do all old entries exist, in the old order? A moved entry counts as deleted: then more is checked
// than necessary.
static bool all_there(const struct lyd_node *old, const struct lyd_node *new,
                      const struct lysc_node *s)
{
    const struct lyd_node *b = from_here(new, s);

    for (const struct lyd_node *a = from_here(old, s); a; a = behind(a)) {
        while (b && config_compare(a, b))
            b = behind(b);
        if (!b)
            return false;
        b = behind(b);
    }
    return true;
}

static void mark_below(const struct lyd_node *old, const struct lyd_node *new,
                       const struct lysc_node *parent)
{
    for (const struct lysc_node *s = NULL; (s = yang_next(s, parent));) {
        if (!(s->nodetype & (LYS_LIST | LYS_CONTAINER)) || !yang_is_config(s))
            continue;
        if (yang_is_one_line(s)) {
            find_twins(old, new, s, &(struct twins){.mark = &certain});
            continue;
        }
        const struct lyd_node *a = from_here(old, s); // all of them are in `new`, in this order
        for (const struct lyd_node *b = has_one_line(s) ? from_here(new, s) : NULL; a && b;
             b = behind(b)) {
            if (config_compare(a, b))
                continue;
            mark_below(lyd_child(a), lyd_child(b), s);
            a = behind(a);
        }
    }
}

void config_mark_known(const struct lyd_node *old, const struct lyd_node *new)
{
    bool all = true;

    for (const struct lysc_node *s = NULL; (s = yang_next(s, NULL));)
        all = all && (s->nodetype != LYS_LIST || !yang_is_config(s) || all_there(old, new, s));
    for (const struct lysc_node *s = NULL; (s = yang_next(s, NULL));)
        if (s->nodetype == LYS_LIST && yang_is_config(s) && !yang_is_one_line(s) &&
            !has_one_line(s))
            find_twins(old, new, s, &(struct twins){.mark = all ? &certain : &alike});
    if (all)
        mark_below(old, new, NULL);
}

// --- defaults -----------------------------------------------------------------------------------

static bool has_known(const struct lyd_node *first)
{
    for (const struct lyd_node *n = first; n; n = n->next)
        if (config_is_known(n) || has_known(lyd_child(n)))
            return true;
    return false;
}

static bool has_default(const struct lysc_node *s)
{
    if (s->nodetype == LYS_LEAF)
        return ((const struct lysc_node_leaf *)s)->dflt;
    if (s->nodetype == LYS_LEAFLIST)
        return ((const struct lysc_node_leaflist *)s)->dflts;
    return s->nodetype == LYS_CONTAINER && !yang_is_presence(s);
}

// Would libyang add a default directly here?
static bool lacks_default(const struct lyd_node *first, const struct lysc_node *parent)
{
    for (const struct lysc_node *s = NULL; (s = yang_next(s, parent));)
        if (yang_is_config(s) && has_default(s) && !from_here(first, s))
            return true;
    return false;
}

static void add_defaults(struct lyd_node *first)
{
    for (struct lyd_node *n = first; n; n = n->next) {
        if (config_is_known(n) || n->schema->nodetype & (LYS_LEAF | LYS_LEAFLIST))
            continue;
        if (lacks_default(lyd_child(n), n->schema) || !has_known(lyd_child(n)))
            lyd_new_implicit_tree(n, LYD_IMPLICIT_NO_STATE, NULL);
        else
            add_defaults(lyd_child(n));
    }
}

void config_add_defaults(struct lyd_node **tree)
{
    if (lacks_default(*tree, NULL) || !has_known(*tree))
        lyd_new_implicit_module(tree, yang_module, LYD_IMPLICIT_NO_STATE, NULL);
    else
        add_defaults(*tree);
}
