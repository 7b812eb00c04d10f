// SPDX-License-Identifier: BSD-3-Clause
// restconf_config.c - reading the configuration by RESTCONF
//
// libyang prints the nodes: a few at once, many aside, in a turn (core/aside.h), while the loop
// serves other requests. They are read from the snapshot that was in force when the request came.
#include <libyang/libyang.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/config_running.h"
#include "core/aside.h"
#include "http/refuse.h"
#include "restconf/bound.h"
#include "restconf/path.h"
#include "restconf/restconf_priv.h"

#define NODES_AT_ONCE 1000 // printed in about five milliseconds

static const struct lyd_node *next_node(const struct data_answer *a, const struct lyd_node *n)
{
    do
        n = n && (a->only || a->datastore) ? n->next : NULL;
    while (n && a->only && n->schema != a->only);
    return n;
}

static const struct lyd_node *first_node(const struct data_answer *a)
{
    return a->first && a->only && a->first->schema != a->only ? next_node(a, a->first) : a->first;
}

static bool is_large(const struct data_answer *a)
{
    const struct lyd_node *inner;
    unsigned n = 0;

    for (const struct lyd_node *top = first_node(a); top; top = next_node(a, top)) {
        LYD_TREE_DFS_BEGIN(top, inner)
        {
            if (++n > NODES_AT_ONCE)
                return true;
            LYD_TREE_DFS_END(top, inner);
        }
    }
    return false;
}

static ssize_t append(void *text, const void *bytes, size_t n)
{
    text_append(text, bytes, n);
    return (ssize_t)n;
}

// Appends libyang's text of the node without its first and last characters.
static void print_node(struct jwrite *j, const struct lyd_node *n, uint32_t options, size_t before,
                       size_t behind)
{
    size_t start = j->t->n, from = start + before, length;

    bug_on(lyd_print_clb(append, j->t, n, LYD_JSON, LYD_PRINT_SHRINK | options));
    length = j->t->n > from + behind ? j->t->n - from - behind : 0;
    if (length && j->comma)
        j->t->s[start++] = ',';
    if (length)
        memmove(j->t->s + start, j->t->s + from, length);
    j->comma |= length > 0;
    j->t->n = start + length;
    if (j->t->s)
        j->t->s[j->t->n] = 0;
}

// Each entry is printed as {"kamuee:NAME":[ENTRY]}.
static void print_list(struct data_answer *a)
{
    struct jwrite *j = &a->show.out;
    uint64_t row = 0;
    char name[80];

    snprintf(name, sizeof name, "kamuee:%s", a->only->name);
    jwrite_begin(j, name, '[');
    for (const struct lyd_node *n = first_node(a); n; n = next_node(a, n), row++)
        if (row >= a->query.page.offset && row - a->query.page.offset < a->query.page.limit)
            print_node(j, n, a->query.defaults, strlen(name) + 5, 2);
    jwrite_end(j, ']');
    a->query.page = (struct page){.limit = UINT64_MAX};
}

static void print_nodes(void *arg)
{
    struct data_answer *a = arg;

    if (a->only)
        print_list(a);
    else if (a->first)
        print_node(&a->show.out, a->first,
                   a->query.defaults | (a->datastore ? LYD_PRINT_WITHSIBLINGS : 0), 1, 1);
}

static void print_aside(void *arg)
{
    struct data_answer *a = arg;

    if (!http_left(a->http))
        aside(print_nodes, a);
    http_turn(a->http, &a->turn, a->written, a);
}

void config_write(struct data_answer *a, void (*done)(void *answer))
{
    a->snapshot = snapshot_ref(bound_snapshot(a->http));
    if (!is_large(a)) {
        print_nodes(a);
        done(a);
        return;
    }
    a->written = done;
    answer_aside(a, print_aside);
}

// --- one resource -------------------------------------------------------------------------------

static void send_config(void *answer)
{
    answer_send(answer, 0);
}

void config_not_there(struct http *h, const struct path *p)
{
    const struct path_segment *g = path_last(p);

    if (g->n_keys)
        http_refuse(h, 404, "invalid-value", "there is no %s '%s'", g->schema->name, g->key[0]);
    else
        http_refuse(h, 404, "invalid-value", "'%s' is not configured", g->schema->name);
}

void config_get(struct http *h, const struct path *p, struct query *q)
{
    const struct path_segment *g = path_last(p);
    const struct lyd_node *parent = path_find(p, p->n - 1, bound_running(h));
    const struct lyd_node *node = path_find(p, p->n, bound_running(h));
    bool all = g->schema->nodetype & (LYS_LIST | LYS_LEAFLIST) && !g->n_keys;

    if ((p->n > 1 && !parent) || (!all && !node) ||
        (g->schema->nodetype == LYS_LEAF && (node->flags & LYD_DEFAULT) &&
         q->defaults != LYD_PRINT_WD_ALL)) {
        config_not_there(h, p);
        return;
    }
    struct data_answer *a = answer_new(h, q);
    a->first = !all ? node : parent ? lyd_child(parent) : bound_running(h);
    a->only = all ? g->schema : NULL;
    config_write(a, send_config);
}
