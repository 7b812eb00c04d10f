// SPDX-License-Identifier: BSD-3-Clause
// config_check.c - checks a whole configuration against the schema
//
// libyang could validate the tree, but it keeps only its first error, in terms of schema paths and
// without the entry that lacks a value, and compares the entries at the top in pairs. So every rule
// of the schema is checked here, with messages in the words of a set line and in time that grows
// with the tree: values are checked as they are made, then counts, required values, references,
// choices, and duplicate entries. A test fails when the schema gets a new kind of rule, and has
// libyang validate the trees accepted here. Features check rules that the schema cannot express
// (config/model.h).
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/plain.h"
#include "yang/config_index.h"
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

// Adds a sentence about the place (NULL: the top), with the line of `at`.
__attribute__((format(printf, 4, 5))) static void add_at(struct errors *e,
                                                         const struct lyd_node *place,
                                                         const struct lyd_node *at,
                                                         const char *fmt, ...)
{
    struct text where = {0};
    char *sentence;
    va_list ap;

    va_start(ap, fmt);
    bug_on(vasprintf(&sentence, fmt, ap) < 0);
    va_end(ap);
    if (place)
        config_path(place, &where);
    errors_add(e, line_above(at), "%s%s%s", text_str(&where), place ? ": " : "", sentence);
    text_free(&where);
    free(sentence);
}

static void add_required(struct errors *e, const struct lyd_node *place,
                         const struct lysc_node *leaf)
{
    struct text expect = {0};

    yang_expected(leaf, &expect);
    add_at(e, place, place, "'%s' is required: %s", leaf->name, text_str(&expect));
    text_free(&expect);
}

// The mandatory choice that begins with `s`, or NULL.
static const struct lysc_node *choice_begun(const struct lysc_node *s)
{
    const struct lysc_node *a_case =
                               s->parent && s->parent->nodetype == LYS_CASE ? s->parent : NULL,
                           *choice = a_case ? a_case->parent : NULL;

    return choice && choice->flags & LYS_MAND_TRUE && lysc_node_child(choice) == a_case ? choice
                                                                                        : NULL;
}

static bool is_made(const struct lysc_node *choice, const struct lyd_node *first)
{
    for (const struct lyd_node *n = first; n; n = n->next)
        if (n->schema->parent && n->schema->parent->parent == choice)
            return true;
    return false;
}

static void add_no_choice(struct errors *e, const struct lyd_node *place,
                          const struct lysc_node *choice)
{
    struct text names = {0}, expect = {0};

    for (const struct lysc_node *c = lysc_node_child(choice); c; c = c->next) {
        const struct lysc_node *leaf = lysc_node_child(c);
        text_printf(&names, "%s'%s'", names.n ? " or " : "", leaf->name);
        text_printf(&expect, "%s", expect.n ? "; or " : "");
        yang_expected(leaf, &expect);
    }
    add_at(e, place, place, "%s is required: %s", text_str(&names), text_str(&expect));
    text_free(&names);
    text_free(&expect);
}

// Number of entries that the schema allows; UINT32_MAX: no limit.
static void entries_allowed(const struct lysc_node *s, unsigned *min, unsigned *max)
{
    const struct lysc_node_leaflist *leaves =
        s->nodetype == LYS_LEAFLIST ? (const struct lysc_node_leaflist *)s : NULL;
    const struct lysc_node_list *list =
        s->nodetype == LYS_LIST ? (const struct lysc_node_list *)s : NULL;

    *min = leaves ? leaves->min : list ? list->min : 0;
    *max = leaves ? leaves->max : list ? list->max : UINT32_MAX;
}

// Number of children of this schema node; at the top the index has counted them.
static unsigned count_children(struct config_index *top, const struct lyd_node *place,
                      const struct lyd_node *first, const struct lysc_node *s)
{
    unsigned n = 0;

    if (!place && s->nodetype == LYS_LIST)
        return config_index_count(top, s);
    for (const struct lyd_node *c = first; c; c = c->next)
        n += c->schema == s;
    return n;
}

static bool check_count(struct config_index *top, const struct lyd_node *place,
                        const struct lysc_node *s, struct errors *e)
{
    unsigned min, max, n;

    entries_allowed(s, &min, &max);
    if (!min && max == UINT32_MAX)
        return true;
    n = count_children(top, place, place ? lyd_child(place) : *top->tree, s);
    if (n < min)
        add_at(e, place, place, "at least %u '%s' is required", min, s->name);
    if (n > max)
        add_at(e, place, place, "%u '%s' are configured, expected at most %u", n, s->name, max);
    return n <= max;
}

static bool check_counts(struct config_index *top, const struct lyd_node *place, struct errors *e)
{
    bool ok = true;

    for (const struct lysc_node *s = NULL; (s = yang_next(s, place ? place->schema : NULL));)
        if (yang_is_config(s) && s->nodetype & (LYS_LIST | LYS_LEAFLIST))
            ok &= check_count(top, place, s, e);
    return ok;
}

static void check_required(const struct lyd_node *place, const struct lyd_node *first,
                           const struct lysc_node *parent, struct errors *e)
{
    for (const struct lysc_node *s = NULL; (s = yang_next(s, parent));) {
        const struct lysc_node *choice = choice_begun(s);

        if (s->nodetype == LYS_LEAF && s->flags & LYS_MAND_TRUE && yang_is_config(s) &&
            !lysc_is_key(s) && !config_find(first, s, NULL))
            add_required(e, place, s);
        if (choice && !is_made(choice, first))
            add_no_choice(e, place, choice);
    }
}

static const struct lyd_node *entry_around(const struct lyd_node *leaf,
                                           const struct lysc_node *list)
{
    const struct lyd_node *n = lyd_parent(leaf);

    while (n && n->schema != list)
        n = lyd_parent(n);
    return n;
}

// The entries of the list, except the entry of `leaf`, which cannot refer to itself.
static void list_names(const struct lyd_node *tree, const struct lysc_node *list,
                       const struct lyd_node *leaf, struct text *t)
{
    const struct lyd_node *own = entry_around(leaf, list);
    struct lyd_nodes v = {0};
    unsigned n = 0;

    config_children(tree, list, &v);
    for (size_t i = 0; i < v.n && n <= 8; i++) {
        if (v.item[i] == own)
            continue;
        if (n++ == 8)
            text_printf(t, " …");
        else
            text_printf(t, "%s%s", n > 1 ? ", " : "there is ", lyd_get_value(lyd_child(v.item[i])));
    }
    if (!n)
        text_printf(t, own ? "there is no other" : "none is configured");
    free(v.item);
}

static bool is_literal_member(const struct lyd_node *leaf)
{
    const struct lyd_value *v = &((const struct lyd_node_term *)leaf)->value;

    return yang_type(leaf->schema)->basetype == LY_TYPE_UNION &&
           v->subvalue->value.realtype->basetype != LY_TYPE_LEAFREF &&
           v->subvalue->value.realtype->basetype == LY_TYPE_ENUM;
}

static void check_reference(struct config_index *top, const struct lyd_node *leaf, struct errors *e)
{
    const struct lysc_node *list = yang_reference(yang_type(leaf->schema));
    const char *name = lyd_get_value(leaf);
    struct text what = {0}, names = {0};

    if (!list || is_literal_member(leaf) || config_index_find(top, list, &name))
        return;
    list_names(*top->tree, list, leaf, &names);
    text_printf(&what, lysc_is_key(leaf->schema) ? "it" : "'%s'", leaf->schema->name);
    if (!line_above(leaf))
        add_at(e, lyd_parent(leaf), leaf,
               "%s refers to %s '%s', which is not configured (%s): configure it, or delete this "
               "as well",
               text_str(&what), list->name, name, text_str(&names));
    else
        add_at(e, lyd_parent(leaf), leaf,
               "%s refers to %s '%s', which does not exist; expected the name of %s %s (%s)",
               text_str(&what), list->name, name, strchr("aeiou", *list->name) ? "an" : "a",
               list->name, text_str(&names));
    text_free(&what);
    text_free(&names);
}

// For all types: a value is printed as a part of a line, and on terminals.
static void check_plain(const struct lyd_node *leaf, struct errors *e)
{
    const char *value = lyd_get_value(leaf);

    if (!plain_text(value, strlen(value)))
        add_at(e, lyd_parent(leaf), leaf,
               "'%s' is '%s', expected text without control characters: no line ends, escapes or "
               "controls of the writing direction",
               leaf->schema->name, value);
}

// --- possible only with JSON ---------------------------------------------------------------------

static bool excludes(const struct lyd_node *a, const struct lyd_node *b)
{
    const struct lysc_node *mine = yang_case(a->schema), *other = yang_case(b->schema);

    return mine && other && mine != other && mine->parent == other->parent;
}

// Of two cases of a choice, the one just merged stays (RFC 7950, 7.9): returns the other one. NULL:
// there are no two.
static struct lyd_node *superseded(struct lyd_node *place, struct errors *e)
{
    for (struct lyd_node *n = lyd_child(place); n; n = n->next)
        for (struct lyd_node *m = yang_case(n->schema) ? n->next : NULL; m; m = m->next) {
            if (!excludes(n, m))
                continue;
            if ((n->flags ^ m->flags) & LYD_NEW)
                return m->flags & LYD_NEW ? n : m;
            add_at(e, place, n, "'%s' and '%s' exclude each other, expected only one",
                   n->schema->name, m->schema->name);
            return m; // in any case: libyang must not report it
        }
    return NULL;
}

static void settle_choices(struct lyd_node *place, struct errors *e)
{
    struct lyd_node *old;

    if (config_is_known(place))
        return;
    while ((old = superseded(place, e)))
        lyd_free_tree(old);
    for (struct lyd_node *n = lyd_child(place); n; n = n->next)
        settle_choices(n, e);
}

static void add_twice(const struct lyd_node *n, struct errors *e)
{
    struct text where = {0};

    config_path(n, &where);
    errors_add(e, line_above(n), "%s appears twice, expected it once", text_str(&where));
    text_free(&where);
}

static void check_twice(const struct lyd_node *n, struct errors *e)
{
    struct lyd_node *first = NULL;

    if (!lyd_find_sibling_first(n, n, &first) && first != n)
        add_twice(n, e);
}

// --- the whole check -----------------------------------------------------------------------------

static bool is_value(const struct lyd_node *n)
{
    return n->schema && n->schema->nodetype & (LYS_LEAF | LYS_LEAFLIST);
}

static void check_references(struct config_index *top, const struct lyd_node *n, struct errors *e)
{
    if (is_value(n))
        check_reference(top, n, e);
    for (const struct lyd_node *c = lyd_child(n); c; c = c->next)
        check_references(top, c, e);
}

static void check_place(struct config_index *top, struct lyd_node *place, struct errors *e)
{
    struct lyd_node *next;

    if (place && !check_counts(top, place, e))
        return;
    check_required(place, place ? lyd_child(place) : *top->tree, place ? place->schema : NULL, e);
    for (struct lyd_node *n = place ? lyd_child(place) : *top->tree; n; n = next) {
        next = n->next;
        if (!n->schema || !yang_is_config(n->schema) || config_is_certain(n))
            continue;
        if (config_is_known(n)) {
            check_references(top, n, e);
            continue;
        }
        n->flags &= ~(uint32_t)LYD_NEW;
        if (place)
            check_twice(n, e);
        if (is_value(n)) {
            check_plain(n, e);
            check_reference(top, n, e);
        } else {
            check_place(top, n, e);
        }
    }
}

bool config_check(struct lyd_node **tree, struct errors *e)
{
    struct config_index top = {.tree = tree};
    bool ok = check_counts(&top, NULL, e);

    if (ok) {
        for (struct lyd_node *n = *tree; n; n = n->next) // the schema has no choice at the top
            settle_choices(n, e);
        check_place(&top, NULL, e);
        if (top.twice)
            add_twice(top.twice, e);
        config_add_defaults(tree);
    }
    config_index_free(&top);
    return ok;
}
