// SPDX-License-Identifier: BSD-3-Clause
// config_print.c - a configuration tree as canonical text
//
// Canonical: schema order, entries of system-ordered lists by their keys in natural order (p2
// before p10), one line for each value, defaults left out. Text printed here gives the same tree
// and the same text again, byte by byte; a value explicitly set to its default stays. Entries of
// one-line lists are one line each.
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

bool config_is_explicit(const struct lyd_node *node)
{
    if (!node->schema || !yang_is_config(node->schema))
        return false;
    if (node->schema->nodetype != LYS_CONTAINER || yang_is_presence(node->schema))
        return !(node->flags & LYD_DEFAULT);
    for (const struct lyd_node *c = lyd_child(node); c; c = c->next)
        if (config_is_explicit(c))
            return true;
    return false;
}

int config_compare(const struct lyd_node *a, const struct lyd_node *b)
{
    const struct lyd_node *x = lyd_child(a), *y = lyd_child(b);
    int d = 0;

    // Different texts with equal numbers ("p01", "p1") still need an order: strcmp after the
    // natural comparison.
    if (a->schema->nodetype == LYS_LEAFLIST) {
        d = natural_compare(lyd_get_value(a), lyd_get_value(b));
        return d ? d : strcmp(lyd_get_value(a), lyd_get_value(b));
    }
    if (a->schema->nodetype != LYS_LIST)
        return 0;
    for (; !d && x && y && lysc_is_key(x->schema); x = x->next, y = y->next) {
        d = natural_compare(lyd_get_value(x), lyd_get_value(y));
        d = d ? d : strcmp(lyd_get_value(x), lyd_get_value(y));
    }
    return d;
}

static int compare_items(const void *a, const void *b)
{
    return config_compare(*(const struct lyd_node *const *)a, *(const struct lyd_node *const *)b);
}

void config_sort(const struct lysc_node *s, struct lyd_nodes *v)
{
    if (!(s->nodetype & (LYS_LIST | LYS_LEAFLIST)) || s->flags & LYS_ORDBY_USER)
        return;
    for (size_t i = 1; i < v->n; i++)
        if (config_compare(v->item[i - 1], v->item[i]) > 0) {
            qsort(v->item, v->n, sizeof *v->item, compare_items);
            return;
        }
}

void config_children(const struct lyd_node *first, const struct lysc_node *s, struct lyd_nodes *v)
{
    for (const struct lyd_node *n = first; n; n = n->next)
        if (n->schema == s && config_is_explicit(n))
            *vec_push(v) = n;
    config_sort(s, v);
}

static void append_keys(const struct lyd_node *entry, struct text *t)
{
    for (const struct lyd_node *k = lyd_child(entry); k && lysc_is_key(k->schema); k = k->next) {
        text_append(t, " ", 1);
        words_quote(lyd_get_value(k), t);
    }
}

static void append_place(const struct lyd_node *node, struct text *t)
{
    if (lyd_parent(node)) {
        append_place(lyd_parent(node), t);
        text_append(t, " ", 1);
    }
    text_printf(t, "%s", node->schema->name);
    if (node->schema->nodetype == LYS_LIST)
        append_keys(node, t);
}

void config_path(const struct lyd_node *node, struct text *t)
{
    append_place(node, t);
}

static void next_word(struct text *t)
{
    if (t->n && t->s[t->n - 1] != ' ')
        text_append(t, " ", 1);
}

// The content of an entry of a one-line list, as words behind it.
static void print_words(const struct lyd_node *first, const struct lysc_node *parent,
                        struct text *t)
{
    for (const struct lysc_node *s = NULL; (s = yang_next(s, parent));) {
        struct lyd_nodes v = {0};

        if (!yang_is_config(s) || lysc_is_key(s))
            continue;
        config_children(first, s, &v);
        for (size_t i = 0; i < v.n; i++) {
            next_word(t);
            if (!yang_is_keywordless(s))
                text_append(t, s->name, strlen(s->name));
            if (s->nodetype == LYS_CONTAINER) {
                print_words(lyd_child(v.item[i]), s, t);
            } else if (!yang_is_flag(s)) {
                next_word(t);
                words_quote(lyd_get_value(v.item[i]), t);
            }
        }
        free(v.item);
    }
}

void config_print_words(const struct lyd_node *entry, struct text *t)
{
    print_words(lyd_child(entry), entry->schema, t);
}

void config_print_entry(const struct lyd_node *entry, struct text *t)
{
    append_keys(entry, t);
    text_append(t, " ", 1);
    config_print_words(entry, t);
}

// `place` is "port p0 ": the words between "set" and the node's name.
static void print_node(const struct lyd_node *node, struct text *place,
                       const struct config_lines *lines, struct text *t);

// Number of nodes printed.
static unsigned print_children(const struct lyd_node *first, const struct lysc_node *parent,
                               struct text *place, const struct config_lines *lines, struct text *t)
{
    unsigned n = 0;

    for (const struct lysc_node *s = NULL; (s = yang_next(s, parent));) {
        struct lyd_nodes v = {0};

        if (!yang_is_config(s) || lysc_is_key(s))
            continue;
        config_children(first, s, &v);
        for (size_t i = 0; i < v.n; i++)
            print_node(v.item[i], place, lines, t);
        n += (unsigned)v.n;
        free(v.item);
    }
    return n;
}

static void print_node(const struct lyd_node *node, struct text *place,
                       const struct config_lines *lines, struct text *t)
{
    const struct lysc_node *s = node->schema;
    size_t was = place->n;

    if (lines && s->nodetype == LYS_LIST && lines->known(lines->ctx, node, t))
        return;
    if (s->nodetype & (LYS_LEAF | LYS_LEAFLIST)) {
        text_printf(t, "set %s%s", text_str(place), yang_is_keywordless(s) ? "" : s->name);
        if (!yang_is_flag(s)) {
            next_word(t);
            words_quote(lyd_get_value(node), t);
        }
        text_append(t, "\n", 1);
        return;
    }
    if (yang_is_one_line(s)) {
        text_printf(t, "set %s%s", text_str(place), s->name);
        config_print_entry(node, t);
        text_append(t, "\n", 1);
        return;
    }
    text_printf(place, "%s", s->name);
    if (s->nodetype == LYS_LIST)
        append_keys(node, place);
    text_append(place, " ", 1);
    if (!print_children(lyd_child(node), s, place, lines, t))
        text_printf(t, "set %.*s\n", (int)place->n - 1, text_str(place));
    place->n = was;
    place->s[was] = 0;
}

void config_print_with(const struct lyd_node *tree, const struct config_lines *lines,
                       struct text *t)
{
    struct text place = {0};

    print_children(tree, NULL, &place, lines, t);
    text_free(&place);
}

void config_print(const struct lyd_node *tree, struct text *t)
{
    config_print_with(tree, NULL, t);
}

void config_print_node(const struct lyd_node *node, struct text *t)
{
    config_print_node_with(node, NULL, t);
}

void config_print_node_with(const struct lyd_node *node, const struct config_lines *lines,
                            struct text *t)
{
    struct text place = {0};

    if (lyd_parent(node)) {
        append_place(lyd_parent(node), &place);
        text_append(&place, " ", 1);
    }
    print_node(node, &place, lines, t);
    text_free(&place);
}
