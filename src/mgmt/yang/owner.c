// SPDX-License-Identifier: BSD-3-Clause
// owner.c - what belongs to which virtual router, as the schema says it
//
// Two walks do the same: one over JSON (state, outputs, notifications), one over a tree
// (configuration). Below a node that is shown everything is, unless it has marks of its own.
#include "yang/owner.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

static const char *(*vr_of_interface)(const char *name);

void owner_ask_interfaces(const char *(*vr_of)(const char *name))
{
    vr_of_interface = vr_of;
}

bool owner_has_interface(const char *vr, const char *interface)
{
    const char *of = vr_of_interface ? vr_of_interface(interface) : NULL;

    return of && !strcmp(of, vr);
}

// --- marks --------------------------------------------------------------------------------------

// k:owner: "vr LEAF" or "interface LEAF" says whose an entry is; "subject LEAF": the leaf begins
// with the name of a virtual router; "parts": it is there if something
// in it is; "children": always. Of a leaf, "vr" or "interface": what its value names.
struct mark {
    enum { OWNER_NONE, OWNER_VR, OWNER_INTERFACE, OWNER_SUBJECT, OWNER_PARTS } kind;
    const char *leaf; // "" = its own value
};

static struct mark mark_of(const struct lysc_node *s)
{
    static const struct {
        const char *word;
        int kind;
    } known[] = {{"vr", OWNER_VR},
                 {"interface", OWNER_INTERFACE},
                 {"subject", OWNER_SUBJECT},
                 {"parts", OWNER_PARTS}};
    const char *text = yang_extension(s, "owner");

    for (size_t i = 0; text && i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i].word);

        if (!strncmp(text, known[i].word, n) && (!text[n] || text[n] == ' '))
            return (struct mark){known[i].kind, text + n + (text[n] == ' ')};
    }
    return (struct mark){OWNER_NONE, ""};
}

static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = list; (at = strstr(at, word)); at += n)
        if ((at == list || at[-1] == ' ') && (!at[n] || at[n] == ' '))
            return true;
    return false;
}

bool owner_is_marked(const struct lysc_node *s)
{
    return yang_extension(s, "owner");
}

bool owner_shows(const struct lysc_node *s, const char *child)
{
    const char *list = yang_extension(s, "shown");

    return list && has_word(list, child);
}

// `all`: it stands below what is shown.
static bool is_shown(const struct lysc_node *s, const struct lysc_node *child, bool all)
{
    return lysc_is_key(child) || (yang_extension(s, "shown") ? owner_shows(s, child->name) : all);
}

static bool is_own(const char *vr, const struct mark *m, const char *name)
{
    if (m->kind == OWNER_VR)
        return name && !strcmp(name, vr);
    if (m->kind == OWNER_SUBJECT)
        return name && strcspn(name, " ") == strlen(vr) && !strncmp(name, vr, strlen(vr));
    if (m->kind == OWNER_INTERFACE)
        return name && owner_has_interface(vr, name);
    return true;
}

// --- JSON ---------------------------------------------------------------------------------------

static bool keep_value(const char *vr, const struct lysc_node *s, json_t *v, bool all);

static const struct lysc_node *child_of_member(const struct lysc_node *s, const char *member)
{
    const char *colon = strchr(member, ':');

    return yang_child(s, colon ? colon + 1 : member, false);
}

static bool is_empty(const json_t *v)
{
    return (json_is_array(v) && !json_array_size(v)) ||
           (json_is_object(v) && !json_object_size(v));
}

// A leaf that is about an interface or virtual router that another leaf beside it names.
static bool goes_with(const char *vr, const struct lysc_node *s, const json_t *object)
{
    struct mark m = mark_of(s);

    return !(s->nodetype & (LYS_LEAF | LYS_LEAFLIST)) || !*m.leaf ||
           is_own(vr, &m, json_string_value(json_object_get(object, m.leaf)));
}

// Returns how many members are left that say something and are no keys.
static unsigned keep_members(const char *vr, const struct lysc_node *s, json_t *v, bool all)
{
    unsigned left = 0;
    const char *name;
    json_t *inner;
    void *next;

    json_object_foreach_safe(v, next, name, inner)
    {
        const struct lysc_node *child = child_of_member(s, name);

        if (!child || !is_shown(s, child, all) || !goes_with(vr, child, v) ||
            !keep_value(vr, child, inner, true))
            json_object_del(v, name);
        else
            left += !lysc_is_key(child) && !is_empty(inner);
    }
    return left;
}

// k:owner-only "LEAF WORD…": entries whose leaf is one of these words; others may have the name of
// a virtual router there by chance.
static bool is_of_kind(const struct lysc_node *s, const json_t *v)
{
    const char *only = yang_extension(s, "owner-only"), *value;
    char leaf[32];

    if (!only)
        return true;
    snprintf(leaf, sizeof leaf, "%.*s", (int)strcspn(only, " "), only);
    value = json_string_value(json_object_get(v, leaf));
    return value && has_word(only + strlen(leaf), value);
}

static bool keep_object(const char *vr, const struct lysc_node *s, json_t *v, bool all)
{
    struct mark m = mark_of(s);

    if (!is_of_kind(s, v))
        return false;
    if (*m.leaf && !is_own(vr, &m, json_string_value(json_object_get(v, m.leaf))))
        return false;
    unsigned left = keep_members(vr, s, v, all);
    return left || m.kind != OWNER_PARTS;
}

static bool keep_element(const char *vr, const struct lysc_node *s, json_t *v, bool all)
{
    struct mark m = mark_of(s);

    if (json_is_object(v))
        return keep_object(vr, s, v, all);
    return !(s->nodetype & (LYS_LEAF | LYS_LEAFLIST)) || *m.leaf ||
           is_own(vr, &m, json_string_value(v));
}

static bool keep_value(const char *vr, const struct lysc_node *s, json_t *v, bool all)
{
    if (!json_is_array(v))
        return keep_element(vr, s, v, all);
    for (size_t i = json_array_size(v); i--;)
        if (!keep_element(vr, s, json_array_get(v, i), all))
            json_array_remove(v, i);
    return true;
}

bool owner_keep_json(const char *vr, const struct lysc_node *s, json_t *value)
{
    return owner_is_marked(s) && keep_value(vr, s, value, false);
}

bool owner_keep_below(const char *vr, const struct lysc_node *s, json_t *value)
{
    return keep_value(vr, s, value, true);
}

// --- a configuration ----------------------------------------------------------------------------

static bool is_own_node(const char *vr, const struct lyd_node *n)
{
    struct mark m = mark_of(n->schema);

    if (n->schema->nodetype & (LYS_LEAF | LYS_LEAFLIST))
        return is_own(vr, &m, lyd_get_value(n));
    return !*m.leaf || is_own(vr, &m, config_value(lyd_child(n), m.leaf));
}

static bool keep_node(const char *vr, struct lyd_node *n, bool all)
{
    unsigned left = 0;

    if (!is_own_node(vr, n))
        return false;
    for (struct lyd_node *c = lyd_child(n), *next; c; c = next) {
        next = c->next;
        if (!is_shown(n->schema, c->schema, all) || !keep_node(vr, c, true))
            lyd_free_tree(c);
        else
            left += !lysc_is_key(c->schema) && config_is_explicit(c);
    }
    return left || mark_of(n->schema).kind != OWNER_PARTS;
}

struct lyd_node *owner_tree(const char *vr, const struct lyd_node *tree)
{
    struct lyd_node *copy = NULL, *last = NULL, *mine;

    for (const struct lyd_node *n = tree; n; n = n->next) {
        if (!owner_is_marked(n->schema) || !is_own_node(vr, n))
            continue;
        bug_on(lyd_dup_single(n, NULL, LYD_DUP_RECURSIVE | LYD_DUP_WITH_FLAGS, &mine));
        if (!keep_node(vr, mine, false)) {
            lyd_free_tree(mine);
            continue;
        }
        if (last)
            config_link_behind(&copy, last, mine);
        else
            copy = mine;
        last = mine;
    }
    return copy;
}

// --- changes ------------------------------------------------------------------------------------

// k:owner-changes lists the children of an entry that its owner may change, with all in them.
static bool is_changeable(const struct lyd_node *n)
{
    for (const struct lyd_node *above; (above = lyd_parent(n)); n = above) {
        const char *list = yang_extension(above->schema, "owner-changes");

        if (list && !lysc_is_key(n->schema) && has_word(list, n->schema->name))
            return true;
    }
    return false;
}

static const struct lyd_node *find_unchangeable(const struct lyd_node *n)
{
    const struct lyd_node *found = NULL;
    bool any = false;

    if (is_changeable(n))
        return NULL;
    for (const struct lyd_node *c = lyd_child(n); c && !found; c = c->next)
        if (config_is_explicit(c)) {
            found = find_unchangeable(c);
            any = true;
        }
    return any ? found : n;
}

struct looking {
    const struct lyd_node *found;
};

static void look_at_difference(void *ctx, const struct lyd_node *node, bool set)
{
    struct looking *l = ctx;

    if (!l->found)
        l->found = find_unchangeable(node);
}

bool owner_may_change(const struct lyd_node *old, const struct lyd_node *new, struct text *why)
{
    struct looking l = {0};

    config_diff_each(old, new, look_at_difference, &l);
    if (l.found)
        config_path(l.found, why);
    return !l.found;
}

// --- the input of an operation ------------------------------------------------------------------

static const char *given(const struct lyd_node *op, const char *leaf)
{
    for (const struct lyd_node *n = lyd_child(op); n; n = n->next)
        if (!strcmp(n->schema->name, leaf) && !(n->flags & LYD_DEFAULT))
            return lyd_get_value(n);
    return NULL;
}

static bool may_name(const char *vr, const struct mark *m, const char *name, struct text *why)
{
    if (is_own(vr, m, name))
        return true;
    text_printf(why, "there is no %s '%s'", m->kind == OWNER_VR ? "vr" : "interface", name);
    return false;
}

static void fill_in_vr(const char *vr, struct lyd_node *op, const char *leaf)
{
    struct lyd_node *n = lyd_child(op);

    while (n && strcmp(n->schema->name, leaf))
        n = n->next;
    if (n)
        lyd_free_tree(n);
    bug_on(lyd_new_term(op, NULL, leaf, vr, 0, NULL));
}

// What the rpc itself is marked with: whose it is about.
static bool look_at_subject(const char *vr, struct lyd_node *op, struct text *why)
{
    struct mark m = mark_of(op->schema);
    const char *name = *m.leaf ? given(op, m.leaf) : NULL;

    if (!*m.leaf)
        return true;
    if (!name && m.kind == OWNER_VR) {
        fill_in_vr(vr, op, m.leaf);
        return true;
    }
    if (!name) {
        text_printf(why, "'%s' is required", m.leaf);
        return false;
    }
    return may_name(vr, &m, name, why);
}

bool owner_input(const char *vr, struct lyd_node *op, struct text *why)
{
    const struct lysc_node *input =
        &((const struct lysc_node_action *)op->schema)->input.node;

    for (const struct lyd_node *n = lyd_child(op); n; n = n->next) {
        struct mark m = mark_of(n->schema);

        if (n->flags & LYD_DEFAULT)
            continue;
        if (!owner_shows(input, n->schema->name)) {
            text_printf(why, "'%s' is not for clients of one virtual router", n->schema->name);
            return false;
        }
        if (!may_name(vr, &m, lyd_get_value(n), why))
            return false;
    }
    return look_at_subject(vr, op, why);
}
