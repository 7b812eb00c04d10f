// SPDX-License-Identifier: BSD-3-Clause
// config_diff.c - what differs between two configurations, as set/delete lines
//
// libyang's own difference is quadratic in the entries of a list; this one
// sorts the explicit entries of both sides as the printer does and merges them:
// n log n. Reading the lines into `old` gives `new`.
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "mgmt/config_tree.h"
#include "mgmt/yang.h"

static unsigned diff_children(const struct lyd_node *old, const struct lyd_node *new,
                              const struct lysc_node *parent, struct text *t);

// "delete port p0", "delete port p0 mtu", "delete thread 1 forwarder port p0 rx-queue 3"
static unsigned print_delete(const struct lyd_node *n, struct text *t)
{
    text_printf(t, "delete ");
    config_path(n, t);
    if (n->schema->nodetype == LYS_LEAFLIST) {
        text_append(t, " ", 1);
        words_quote(lyd_get_value(n), t);
    }
    text_append(t, "\n", 1);
    return 1;
}

static unsigned count_lines(const struct text *t, size_t from)
{
    unsigned n = 0;

    for (size_t i = from; i < t->n; i++)
        n += t->s[i] == '\n';
    return n;
}

static unsigned print_set(const struct lyd_node *n, struct text *t)
{
    size_t from = t->n;

    config_print_node(n, t);
    return count_lines(t, from);
}

static unsigned diff_same(const struct lyd_node *a, const struct lyd_node *b, struct text *t)
{
    if (a->schema->nodetype == LYS_LEAF)
        return strcmp(lyd_get_value(a), lyd_get_value(b)) ? print_set(b, t) : 0;
    if (a->schema->nodetype == LYS_LEAFLIST)
        return 0;
    return diff_children(lyd_child(a), lyd_child(b), a->schema, t);
}

static unsigned diff_schema(const struct lyd_node *old, const struct lyd_node *new,
                            const struct lysc_node *s, struct text *t)
{
    struct lyd_nodes a = {0}, b = {0};
    unsigned n = 0;
    size_t i = 0, j = 0;

    config_children(old, s, &a);
    config_children(new, s, &b);
    while (i < a.n || j < b.n) {
        int d = i == a.n ? 1 : j == b.n ? -1 : config_compare(a.item[i], b.item[j]);

        if (d < 0)
            n += print_delete(a.item[i++], t);
        else if (d > 0)
            n += print_set(b.item[j++], t);
        else
            n += diff_same(a.item[i++], b.item[j++], t);
    }
    free(a.item);
    free(b.item);
    return n;
}

static unsigned diff_children(const struct lyd_node *old, const struct lyd_node *new,
                              const struct lysc_node *parent, struct text *t)
{
    unsigned n = 0;

    for (const struct lysc_node *s = NULL; (s = yang_next(s, parent));)
        if (yang_is_config(s) && !lysc_is_key(s))
            n += diff_schema(old, new, s, t);
    return n;
}

unsigned config_diff(const struct lyd_node *old, const struct lyd_node *new, struct text *t)
{
    return diff_children(old, new, NULL, t);
}
