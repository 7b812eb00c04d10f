// SPDX-License-Identifier: BSD-3-Clause
// config_diff.c - differences between two configurations, as set/delete lines, and their effects
//
// libyang's own difference is quadratic in the entries of a list. This one leaves out equal entries
// found side by side (config_known.c), sorts the other explicit entries of both sides as the
// printer does, and merges them. Reading the lines into `old` gives `new`.
#include <libyang/libyang.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

struct diff {
    void (*fn)(void *ctx, const struct lyd_node *node, bool set);
    void *ctx;
};

static void diff_children(const struct lyd_node *old, const struct lyd_node *new,
                          const struct lysc_node *parent, const struct diff *d);

static void note_difference(void *ctx, const struct lyd_node *node, bool set)
{
    *(bool *)ctx = true;
}

static void diff_same(const struct lyd_node *a, const struct lyd_node *b, const struct diff *d)
{
    if (a->schema->nodetype == LYS_LEAF) {
        if (strcmp(lyd_get_value(a), lyd_get_value(b)))
            d->fn(d->ctx, b, true);
    } else if (yang_is_one_line(a->schema)) { // the line has the whole entry
        bool differs = false;

        diff_children(lyd_child(a), lyd_child(b), a->schema,
                      &(struct diff){note_difference, &differs});
        if (differs)
            d->fn(d->ctx, b, true);
    } else if (a->schema->nodetype != LYS_LEAFLIST) {
        diff_children(lyd_child(a), lyd_child(b), a->schema, d);
    }
}

static void diff_schema(const struct lyd_node *old, const struct lyd_node *new,
                        const struct lysc_node *s, const struct diff *d)
{
    struct lyd_nodes a = {0}, b = {0};
    size_t i = 0, j = 0;

    config_unlike(old, new, s, &a, &b);
    while (i < a.n || j < b.n) {
        int c = i == a.n ? 1 : j == b.n ? -1 : config_compare(a.item[i], b.item[j]);

        if (c < 0)
            d->fn(d->ctx, a.item[i++], false);
        else if (c > 0)
            d->fn(d->ctx, b.item[j++], true);
        else
            diff_same(a.item[i++], b.item[j++], d);
    }
    free(a.item);
    free(b.item);
}

static void diff_children(const struct lyd_node *old, const struct lyd_node *new,
                          const struct lysc_node *parent, const struct diff *d)
{
    for (const struct lysc_node *s = NULL; (s = yang_next(s, parent));)
        if (yang_is_config(s) && !lysc_is_key(s))
            diff_schema(old, new, s, d);
}

void config_diff_each(const struct lyd_node *old, const struct lyd_node *new,
                      void (*fn)(void *ctx, const struct lyd_node *node, bool set), void *ctx)
{
    diff_children(old, new, NULL, &(struct diff){fn, ctx});
}

// --- as lines -----------------------------------------------------------------------------------

// "delete port p0", "delete port p0 mtu", "delete thread 1 forwarder port p0 rx-queue 3"
static void print_delete(const struct lyd_node *n, struct text *t)
{
    text_printf(t, "delete ");
    config_path(yang_is_keywordless(n->schema) ? lyd_parent(n) : n, t);
    if (n->schema->nodetype == LYS_LEAFLIST || yang_is_keywordless(n->schema)) {
        text_append(t, " ", 1);
        words_quote(lyd_get_value(n), t);
    }
    text_append(t, "\n", 1);
}

void config_print_difference(const struct lyd_node *node, bool set, struct text *t)
{
    if (set)
        config_print_node(node, t);
    else
        print_delete(node, t);
}

static void print_difference(void *ctx, const struct lyd_node *node, bool set)
{
    config_print_difference(node, set, ctx);
}

unsigned config_lines_from(const struct text *t, size_t from)
{
    unsigned n = 0;

    for (size_t i = from; i < t->n; i++)
        n += t->s[i] == '\n';
    return n;
}

unsigned config_diff(const struct lyd_node *old, const struct lyd_node *new, struct text *t)
{
    size_t from = t->n;

    config_diff_each(old, new, print_difference, t);
    return config_lines_from(t, from);
}

// --- effects beyond the change itself ------------------------------------------------------------
//
// A value whose k:apply is port-restart, in an entry that existed before, restarts the object that
// the entry describes: a port, a vport, a virtual router. Values of an added or deleted entry
// restart nothing.

const char *config_apply_of(const struct lysc_node *s)
{
    for (; s; s = s->parent) {
        const char *when = yang_extension(s, "apply");

        if (when)
            return when;
    }
    return "live";
}

struct effects {
    struct text *change; // all differences, as lines
    struct errors *notes;
    struct text restarts; // "restarts port p0: devargs" so far
    size_t subject;       // length of "restarts port p0"
};

static void flush_restarts(struct effects *f)
{
    if (f->restarts.n)
        errors_add(f->notes, 0, "%s", f->restarts.s);
    text_clear(&f->restarts);
}

// Differences of one entry are consecutive.
static void add_restart(struct effects *f, const struct lyd_node *entry, const char *leaf)
{
    struct text subject = {0};

    text_printf(&subject, "restarts ");
    config_path(entry, &subject);
    if (f->restarts.n && f->subject == subject.n && !strncmp(f->restarts.s, subject.s, subject.n)) {
        text_printf(&f->restarts, ", %s", leaf);
    } else {
        flush_restarts(f);
        f->subject = subject.n;
        text_printf(&f->restarts, "%s: %s", subject.s, leaf);
    }
    text_free(&subject);
}

static const struct lyd_node *entry_of(const struct lyd_node *n)
{
    while (n && n->schema->nodetype != LYS_LIST)
        n = lyd_parent(n);
    return n;
}

// `n` is new or gone, or is a leaf of an entry that stays.
static void look_at_effect(struct effects *f, const struct lyd_node *n, bool entry_stays)
{
    if (!(n->schema->nodetype & (LYS_LEAF | LYS_LEAFLIST))) {
        for (const struct lyd_node *c = lyd_child(n); c; c = c->next)
            if (config_is_explicit(c))
                look_at_effect(f, c, entry_stays && n->schema->nodetype != LYS_LIST);
        return;
    }
    const char *when = config_apply_of(n->schema);
    const struct lyd_node *entry = entry_of(n);

    if (!strcmp(when, "daemon-restart"))
        errors_add(f->notes, 0, "'%s' takes effect when kamueed is restarted", n->schema->name);
    else if (!strcmp(when, "port-restart") && entry_stays && entry)
        add_restart(f, entry, n->schema->name);
}

static void look_at_difference(void *ctx, const struct lyd_node *node, bool set)
{
    struct effects *f = ctx;

    config_print_difference(node, set, f->change);
    look_at_effect(f, node, true);
}

unsigned config_diff_with_effects(const struct lyd_node *old, const struct lyd_node *new,
                                  struct text *t, struct errors *notes)
{
    struct effects f = {.change = t, .notes = notes};
    size_t from = t->n;

    config_diff_each(old, new, look_at_difference, &f);
    flush_restarts(&f);
    text_free(&f.restarts);
    return config_lines_from(t, from);
}
