// SPDX-License-Identifier: BSD-3-Clause
// config_check.c - whether a whole configuration makes sense to the schema
//
// libyang validates a tree but keeps only its first complaint, in terms of
// schema paths and without the entry that lacks a value. So the rules an
// operator breaks most (a required value, too few or too many entries, a reference to
// nothing) are looked for here, all of them, in the words of a set line. After
// them and the rules of model_X.c libyang has the last word.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "yang/config_tree.h"
#include "yang/yang.h"

unsigned config_line_of(const struct lyd_node *node)
{
    return config_is_known(node) ? 0 : (unsigned)(uintptr_t)node->priv;
}

// Line of the node, or of the nearest ancestor that has one.
static unsigned line_above(const struct lyd_node *n)
{
    for (; n; n = lyd_parent(n))
        if (config_line_of(n))
            return config_line_of(n);
    return 0;
}

static void add_required(struct errors *e, const struct lyd_node *place,
                         const struct lysc_node *leaf)
{
    struct text where = {0}, expect = {0};

    if (place)
        config_path(place, &where);
    yang_expected(leaf, &expect);
    errors_add(e, place ? line_above(place) : 0, "%s%s'%s' is required: %s", text_str(&where),
               place ? ": " : "", leaf->name, text_str(&expect));
    text_free(&where);
    text_free(&expect);
}

static void add_too_few(struct errors *e, const struct lyd_node *place, const struct lysc_node *s,
                        unsigned min)
{
    struct text where = {0};

    if (place)
        config_path(place, &where);
    errors_add(e, place ? line_above(place) : 0, "%s%sat least %u '%s' is required",
               text_str(&where), place ? ": " : "", min, s->name);
    text_free(&where);
}

static void add_too_many(struct errors *e, const struct lyd_node *place, const struct lysc_node *s, unsigned n, unsigned max)
{
    struct text where = {0};

    if (place)
        config_path(place, &where);
    errors_add(e, place ? line_above(place) : 0, "%s%s%u '%s' are configured, at most %u are possible", text_str(&where), place ? ": " : "", n,
               s->name, max);
    text_free(&where);
}

// How many entries the schema allows; UINT32_MAX: as many as you like.
static void entries_allowed(const struct lysc_node *s, unsigned *min, unsigned *max)
{
    const struct lysc_node_leaflist *leaves = s->nodetype == LYS_LEAFLIST ? (const struct lysc_node_leaflist *)s : NULL;
    const struct lysc_node_list *list = s->nodetype == LYS_LIST ? (const struct lysc_node_list *)s : NULL;

    *min = leaves ? leaves->min : list ? list->min : 0;
    *max = leaves ? leaves->max : list ? list->max : UINT32_MAX;
}

static void check_required(const struct lyd_node *place, const struct lyd_node *first,
                           const struct lysc_node *parent, struct errors *e)
{
    for (const struct lysc_node *s = NULL; (s = yang_next(s, parent));) {
        if (!yang_is_config(s) || lysc_is_key(s))
            continue;
        if (s->nodetype == LYS_LEAF && (s->flags & LYS_MAND_TRUE) && !config_find(first, s, NULL))
            add_required(e, place, s);
        unsigned n = 0, min, max;
        entries_allowed(s, &min, &max);
        for (const struct lyd_node *c = first; c && (min || max != UINT32_MAX); c = c->next)
            n += c->schema == s;
        if (n < min)
            add_too_few(e, place, s, min);
        if (n > max)
            add_too_many(e, place, s, n, max);
    }
}

static void list_names(const struct lyd_node *tree, const struct lysc_node *list, struct text *t)
{
    struct lyd_nodes v = {0};

    config_children(tree, list, &v);
    if (!v.n)
        text_printf(t, "none is configured");
    for (size_t i = 0; i < v.n && i < 8; i++)
        text_printf(t, "%s%s", i ? ", " : "there is ", lyd_get_value(lyd_child(v.item[i])));
    if (v.n > 8)
        text_printf(t, " …");
    free(v.item);
}

static bool is_literal_member(const struct lyd_node *leaf)
{
    const struct lyd_value *v = &((const struct lyd_node_term *)leaf)->value;

    return yang_type(leaf->schema)->basetype == LY_TYPE_UNION &&
           v->subvalue->value.realtype->basetype != LY_TYPE_LEAFREF &&
           v->subvalue->value.realtype->basetype == LY_TYPE_ENUM;
}

static void check_reference(const struct lyd_node *tree, const struct lyd_node *leaf,
                            struct errors *e)
{
    const struct lysc_node *list = yang_reference(yang_type(leaf->schema));
    const char *name = lyd_get_value(leaf);
    struct text where = {0}, names = {0};

    if (!list || is_literal_member(leaf) || config_find(tree, list, &name))
        return;
    config_path(lyd_parent(leaf), &where);
    list_names(tree, list, &names);
    const char *own = lysc_is_key(leaf->schema) ? "" : leaf->schema->name;
    if (!line_above(leaf))
        errors_add(e, 0, "%s:%s%s%s refers to %s '%s', which is not configured (%s): configure it, or delete this too",
                   text_str(&where), *own ? " '" : "", own, *own ? "'" : " it", list->name, name, text_str(&names));
    else
        errors_add(
            e, line_above(leaf),
            "%s:%s%s%s refers to %s '%s', which does not exist; expected the name of %s %s (%s)",
            text_str(&where), *own ? " '" : "", own, *own ? "'" : " it", list->name, name,
            strchr("aeiou", *list->name) ? "an" : "a", list->name, text_str(&names));
    text_free(&where);
    text_free(&names);
}

static void check_place(const struct lyd_node *tree, const struct lyd_node *place, struct errors *e)
{
    const struct lyd_node *first = place ? lyd_child(place) : tree;

    check_required(place, first, place ? place->schema : NULL, e);
    for (const struct lyd_node *n = first; n; n = n->next) {
        if (!n->schema || !yang_is_config(n->schema) || config_is_known(n))
            continue;
        if (n->schema->nodetype & (LYS_LEAF | LYS_LEAFLIST))
            check_reference(tree, n, e);
        else
            check_place(tree, n, e);
    }
}

void config_check(struct lyd_node **tree, struct errors *e)
{
    check_place(*tree, NULL, e);
    config_add_defaults(tree);
}

void config_validate(struct lyd_node **tree, struct errors *e)
{
    struct lyd_node *rest;
    bool apart = config_dup_rest(*tree, &rest);
    struct text t = {0};

    if (lyd_validate_module(apart ? &rest : tree, yang_module, LYD_VALIDATE_NO_STATE, NULL)) {
        yang_say_error(&t);
        errors_add(e, 0, "%s", text_str(&t));
        text_free(&t);
    }
    lyd_free_all(rest);
}
