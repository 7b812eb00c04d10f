// SPDX-License-Identifier: BSD-3-Clause
// config_rebase.c - merges two changes of the same configuration
//
// The difference of each side from the base becomes a list of changed values and deletions, sorted
// by path. Paths are words separated by blanks, so everything below a path follows it and begins
// with it and a blank.
#include "config/config_rebase.h"

#include <libyang/libyang.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

struct node_change {
    char *path;  // "port p0 mtu", "thread 1 forwarder port p0 rx-queue 3"
    char *value; // as a word, or words for the entry of a one-line list; "" if the path is all
    bool set;
};

struct node_changes {
    VEC(struct node_change) item;
};

static void add_change(struct node_changes *c, const struct lyd_node *n, bool set)
{
    bool is_value = n->schema->nodetype & (LYS_LEAF | LYS_LEAFLIST);
    struct text path = {0}, value = {0};

    config_path(n, &path);
    if (yang_is_one_line(n->schema) && set)
        config_print_words(n, &value);
    if (is_value)
        words_quote(lyd_get_value(n), &value);
    if (n->schema->nodetype == LYS_LEAFLIST)
        text_printf(&path, " %s", text_str(&value));
    if (n->schema->nodetype == LYS_LEAFLIST || (!set && !yang_is_keywordless(n->schema)))
        text_clear(&value);
    *vec_push(&c->item) = (struct node_change){path.s, value.s ? value.s : strdup(""), set};
}

// Adds new values one by one; an entry without values except its keys as such.
static void add_values(struct node_changes *c, const struct lyd_node *n)
{
    bool any = false;

    if (n->schema->nodetype & (LYS_LEAF | LYS_LEAFLIST) || yang_is_one_line(n->schema)) {
        add_change(c, n, true);
        return;
    }
    for (const struct lyd_node *child = lyd_child(n); child; child = child->next)
        if (!lysc_is_key(child->schema) && config_is_explicit(child)) {
            add_values(c, child);
            any = true;
        }
    if (!any)
        add_change(c, n, true);
}

static void add_difference(void *ctx, const struct lyd_node *node, bool set)
{
    if (set)
        add_values(ctx, node);
    else
        add_change(ctx, node, false);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct node_change *)a)->path, ((const struct node_change *)b)->path);
}

static void changes_free(struct node_changes *c)
{
    vec_foreach (&c->item, i) {
        free(i->path);
        free(i->value);
    }
    vec_free(&c->item);
}

// The first change at or behind the path.
static size_t at_or_behind(const struct node_changes *c, const char *path)
{
    size_t lo = 0, hi = c->item.n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (strcmp(c->item.item[mid].path, path) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static const struct node_change *find_change(const struct node_changes *c, const char *path)
{
    size_t i = at_or_behind(c, path);

    return i < c->item.n && !strcmp(c->item.item[i].path, path) ? &c->item.item[i] : NULL;
}

// A deletion by them above the path.
static const struct node_change *gone_above(const struct node_changes *theirs, const char *path)
{
    const struct node_change *found = NULL;
    char *above = strdup(path), *blank;

    bug_on(!above);
    while (!found && (blank = strrchr(above, ' '))) {
        *blank = 0;
        found = find_change(theirs, above);
        if (found && found->set)
            found = NULL;
    }
    free(above);
    return found;
}

// A value set by them below the path.
static const struct node_change *set_below(const struct node_changes *theirs, const char *path)
{
    const struct node_change *found = NULL;
    struct text below = {0};

    text_printf(&below, "%s ", path);
    for (size_t i = at_or_behind(theirs, below.s);
         !found && i < theirs->item.n && !strncmp(theirs->item.item[i].path, below.s, below.n); i++)
        if (theirs->item.item[i].set)
            found = &theirs->item.item[i];
    text_free(&below);
    return found;
}

static void print_change(const struct node_change *c, struct text *t)
{
    if (!c->set)
        text_printf(t, "deleted %s", c->path);
    else
        text_printf(t, "set %s%s%s", c->path, *c->value ? " " : "", c->value);
}

static void collide(const struct node_change *mine, const struct node_change *theirs,
                    struct errors *conflicts)
{
    struct text a = {0}, b = {0};

    print_change(mine, &a);
    print_change(theirs, &b);
    errors_add(conflicts, 0, "you %s, but meanwhile someone else %s", a.s, b.s);
    text_free(&a);
    text_free(&b);
}

static void judge(const struct node_change *mine, const struct node_changes *theirs,
                  struct errors *conflicts)
{
    const struct node_change *same = find_change(theirs, mine->path), *other = NULL;

    if (same && (same->set != mine->set || strcmp(same->value, mine->value)))
        other = same;
    else if (!same)
        other = mine->set ? gone_above(theirs, mine->path) : set_below(theirs, mine->path);
    if (other)
        collide(mine, other, conflicts);
}

// Prints deleted values of a container one by one: the tree may contain more than the two sides.
static void print_loss(const struct lyd_node *n, struct text *t)
{
    if (n->schema->nodetype != LYS_CONTAINER || yang_is_presence(n->schema)) {
        config_print_difference(n, false, t);
        return;
    }
    for (const struct lyd_node *child = lyd_child(n); child; child = child->next)
        if (config_is_explicit(child))
            print_loss(child, t);
}

static void print_to_repeat(void *ctx, const struct lyd_node *node, bool set)
{
    if (set)
        config_print_node(node, ctx);
    else
        print_loss(node, ctx);
}

void config_repeat(const struct lyd_node *base, const struct lyd_node *mine, struct lyd_node **tree)
{
    struct text t = {0};

    config_diff_each(base, mine, print_to_repeat, &t);
    config_read_change(tree, text_str(&t));
    text_free(&t);
}

struct lyd_node *config_rebase(const struct lyd_node *base, const struct lyd_node *mine,
                               const struct lyd_node *theirs, struct errors *conflicts)
{
    struct lyd_node *result = config_dup(theirs);
    struct node_changes m = {0}, t = {0};
    struct text lines = {0};

    config_diff_each(base, mine, add_difference, &m);
    config_diff_each(base, theirs, add_difference, &t);
    if (t.item.n)
        qsort(t.item.item, t.item.n, sizeof *t.item.item, by_path);
    vec_foreach (&m.item, c)
        judge(c, &t, conflicts);
    config_diff(base, mine, &lines);
    config_read_change(&result, text_str(&lines));
    text_free(&lines);
    changes_free(&m);
    changes_free(&t);
    return result;
}
