// SPDX-License-Identifier: BSD-3-Clause
// config_effect.c - what a change will do beyond taking effect
//
// A value whose k:apply is port-restart, in an entry that was there before, restarts the thing that
// the entry describes: a port, a vport, a virtual router. Values of an entry that comes or goes
// restart nothing.
#include "yang/config_effect.h"

#include <libyang/libyang.h>
#include <string.h>

#include "base/vec.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

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

static void flush(struct effects *f)
{
    if (f->restarts.n)
        errors_add(f->notes, 0, "%s", f->restarts.s);
    text_clear(&f->restarts);
}

// Differences of one entry follow each other.
static void add_restart(struct effects *f, const struct lyd_node *entry, const char *leaf)
{
    struct text subject = {0};

    text_printf(&subject, "restarts ");
    config_path(entry, &subject);
    if (f->restarts.n && f->subject == subject.n && !strncmp(f->restarts.s, subject.s, subject.n)) {
        text_printf(&f->restarts, ", %s", leaf);
    } else {
        flush(f);
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

// `n` is new or gone, or is a leaf of something that stays.
static void look_at(struct effects *f, const struct lyd_node *n, bool entry_stays)
{
    if (!(n->schema->nodetype & (LYS_LEAF | LYS_LEAFLIST))) {
        for (const struct lyd_node *c = lyd_child(n); c; c = c->next)
            if (config_is_explicit(c))
                look_at(f, c, entry_stays && n->schema->nodetype != LYS_LIST);
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
    look_at(f, node, true);
}

unsigned config_diff_with_effects(const struct lyd_node *old, const struct lyd_node *new,
                                  struct text *t, struct errors *notes)
{
    struct effects f = {.change = t, .notes = notes};
    size_t from = t->n;

    config_diff_each(old, new, look_at_difference, &f);
    flush(&f);
    text_free(&f.restarts);
    return config_lines_from(t, from);
}
