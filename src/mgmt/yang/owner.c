// SPDX-License-Identifier: BSD-3-Clause
// owner.c - ownership of entries by virtual routers, as marked in the schema
//
// Two walks follow the same rules: one over JSON (state, outputs, notifications), one over a tree
// (configuration). Everything below a visible node is visible, unless it has marks of its own.
#include "yang/owner.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "base/vec.h"
#include "yang/config_index.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

static const char *(*vr_of_interface)(const char *name);
static const struct lyd_node *(*what_runs)(void);

void owner_ask(const char *(*vr_of)(const char *interface), const struct lyd_node *(*running)(void))
{
    vr_of_interface = vr_of;
    what_runs = running;
}

bool owner_has_interface(const char *vr, const char *interface)
{
    const char *of = vr_of_interface ? vr_of_interface(interface) : NULL;

    return of && !strcmp(of, vr);
}

// --- marks --------------------------------------------------------------------------------------

// k:owner: "vr LEAF" or "interface LEAF" names the leaf with the owner of an entry; "subject LEAF":
// the leaf begins with the name of a virtual router; "parts": visible if some part of it is;
// "children": always. On a leaf, "vr" or "interface": kind of its value. Any other word is a list
// at the top, whose entries have owners.
struct mark {
    enum { OWNER_NONE, OWNER_VR, OWNER_INTERFACE, OWNER_SUBJECT, OWNER_PARTS, OWNER_ENTRY } kind;
    const char *leaf;             // "" = its own value
    const struct lysc_node *list; // of OWNER_ENTRY
};

// "acl name", "acl"
static struct mark mark_of_list(const char *text)
{
    size_t n = strcspn(text, " ");
    struct mark m = {OWNER_NONE, "", NULL};
    char name[32];

    snprintf(name, sizeof name, "%.*s", (int)n, text);
    m.list = yang_child(NULL, name, true);
    if (m.list)
        m.kind = OWNER_ENTRY, m.leaf = text + n + (text[n] == ' ');
    return m;
}

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
            return (struct mark){known[i].kind, text + n + (text[n] == ' '), NULL};
    }
    return text ? mark_of_list(text) : (struct mark){OWNER_NONE, "", NULL};
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

// `all`: it is below a visible node.
static bool is_shown(const struct lysc_node *s, const struct lysc_node *child, bool all)
{
    return lysc_is_key(child) || (yang_extension(s, "shown") ? owner_shows(s, child->name) : all);
}

// Owner of the entry of that name in the running configuration; "": none, or no such entry.
static const char *owner_of(const struct lysc_node *list, const char *name)
{
    struct mark m = mark_of(list);
    const struct lyd_node *entry = config_find(what_runs(), list, (const char *[]){name});
    const char *vr = entry && *m.leaf ? config_value(lyd_child(entry), m.leaf) : NULL;

    return vr ? vr : "";
}

bool owner_has(const char *vr, const char *list, const char *name)
{
    return !strcmp(owner_of(yang_child(NULL, list, true), name), vr);
}

static bool is_own(const char *vr, const struct mark *m, const char *name)
{
    if (m->kind == OWNER_ENTRY)
        return name && !strcmp(owner_of(m->list, name), vr);
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

// A leaf about an interface or virtual router that a sibling leaf names.
static bool goes_with(const char *vr, const struct lysc_node *s, const json_t *object)
{
    struct mark m = mark_of(s);

    return !(s->nodetype & (LYS_LEAF | LYS_LEAFLIST)) || !*m.leaf ||
           is_own(vr, &m, json_string_value(json_object_get(object, m.leaf)));
}

// Returns how many members are left that have content and are not keys.
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

// k:owner-only "LEAF WORD…": only entries whose leaf has one of these words; others may contain the
// name of a virtual router by chance.
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

// The leaf that names the owner of an entry that the client may make, or NULL.
static const char *makes_of(const struct lysc_node *s)
{
    return yang_extension(s, "owner-makes");
}

// k:owner-changes lists the children of an entry that its owner may change, including everything in
// them.
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

// Of a new entry, which may be marked as the client's.
static const struct lyd_node *find_unmakeable(const char *vr, const struct lyd_node *entry)
{
    const char *leaf = makes_of(entry->schema);
    const struct lyd_node *found = NULL;

    for (const struct lyd_node *c = lyd_child(entry); c && !found; c = c->next)
        if (!lysc_is_key(c->schema) && config_is_explicit(c) &&
            (strcmp(c->schema->name, leaf) || strcmp(lyd_get_value(c), vr)))
            found = find_unchangeable(c);
    return found;
}

// --- nodes that the client does not see ---------------------------------------------------------

#define KEYS_MAX 8

// The child of `there` that has the schema and keys of n, or NULL.
static const struct lyd_node *child_like(const struct lyd_node *there, const struct lyd_node *n)
{
    const char *key[KEYS_MAX] = {NULL};
    unsigned i = 0;

    if (n->schema->nodetype == LYS_LIST)
        for (const struct lyd_node *k = lyd_child(n); k && lysc_is_key(k->schema); k = k->next)
            key[i++] = lyd_get_value(k);
    else if (n->schema->nodetype == LYS_LEAFLIST)
        key[0] = lyd_get_value(n);
    return config_find(lyd_child(there), n->schema, key);
}

// The node at the same path in another tree, or NULL.
static const struct lyd_node *same_in(struct config_index *tree, const struct lyd_node *n)
{
    const struct lyd_node *above = lyd_parent(n), *there = above ? same_in(tree, above) : NULL;

    if (above && !there)
        return NULL;
    const struct lyd_node *found = above ? child_like(there, n) : config_index_like(tree, n);
    return found && config_is_explicit(found) ? found : NULL;
}

// Where the client sets a node, an existing one that it does not see: the provider's.
static const struct lyd_node *find_hidden(const struct lyd_node *n, struct config_index *part,
                                          struct config_index *all)
{
    const struct lyd_node *found = NULL;

    if (!same_in(all, n))
        return NULL;
    if (n->schema->nodetype != LYS_CONTAINER && !same_in(part, n))
        return n;
    for (const struct lyd_node *c = lyd_child(n); c && !found; c = c->next)
        if (!lysc_is_key(c->schema) && config_is_explicit(c))
            found = find_hidden(c, part, all);
    return found;
}

// An index for finding only.
static struct config_index index_of(const struct lyd_node *const *tree)
{
    return (struct config_index){.tree = (struct lyd_node **)(uintptr_t)tree};
}

struct looking {
    const struct owner_change *change;
    struct config_index from, all;
    const struct lyd_node *found;
};

static void look_at_difference(void *ctx, const struct lyd_node *node, bool set)
{
    struct looking *l = ctx;
    bool whole = makes_of(node->schema) && !lyd_parent(node);

    if (l->found || (whole && !set))
        return;
    l->found = whole ? find_unmakeable(l->change->vr, node) : find_unchangeable(node);
    if (!l->found && set)
        l->found = find_hidden(node, &l->from, &l->all);
}

bool owner_may_change(const struct owner_change *c, struct text *why)
{
    struct looking l = {.change = c, .from = index_of(&c->from), .all = index_of(&c->all)};

    config_diff_each(c->from, c->to, look_at_difference, &l);
    config_index_free(&l.from);
    config_index_free(&l.all);
    if (l.found)
        config_path(l.found, why);
    return !l.found;
}

// --- names and references of a part -------------------------------------------------------------

bool owner_name_is_of(const char *name, const char *vr)
{
    size_t n = strcspn(name, ":"), of = strlen(vr);

    return name[n] ? of == n && !strncmp(name, vr, n) : !of;
}

void owner_check_name(const char *what, const char *name, const char *vr, unsigned line,
                      struct errors *e)
{
    const char *own = strchr(name, ':');

    if (owner_name_is_of(name, vr))
        return;
    if (*vr)
        errors_add_of(e, vr, line,
                      "%s %s: it belongs to vr %s, so its name begins with '%s:': expected %s:%s",
                      what, name, vr, vr, vr, own ? own + 1 : name);
    else
        errors_add(e, line,
                   "%s %s: names with ':' belong to virtual routers: expected 'vr %.*s' in it, "
                   "or a name without ':'",
                   what, name, (int)(own - name), name);
}

void owner_fill_in(const char *vr, struct lyd_node *part)
{
    for (struct lyd_node *n = part; n; n = n->next) {
        const char *leaf = makes_of(n->schema);

        if (leaf && !config_value(lyd_child(n), leaf))
            bug_on(lyd_new_term(n, NULL, leaf, vr, 0, NULL));
    }
}

struct owned {
    const struct lysc_node *list;
    char name[32];
};

bool owner_rename(struct lyd_node *tree, const char *from, const char *to)
{
    VEC(struct owned) owned = {0};
    bool ok = true;

    for (const struct lyd_node *n = tree; n; n = n->next)
        if (makes_of(n->schema) && strchr(lyd_get_value(lyd_child(n)), ':') &&
            owner_name_is_of(lyd_get_value(lyd_child(n)), from)) {
            struct owned *o = vec_push(&owned);
            o->list = n->schema;
            snprintf(o->name, sizeof o->name, "%s", lyd_get_value(lyd_child(n)));
        }
    vec_foreach (&owned, o) {
        char name[64];

        snprintf(name, sizeof name, "%s%s", to, strchr(o->name, ':'));
        ok = ok && config_rename(tree, o->list, o->name, name);
    }
    vec_free(&owned);
    return ok;
}

static bool name_fits(const char *vr, const struct lyd_node *entry, struct text *why)
{
    const char *name = lyd_get_value(lyd_child(entry)), *own = strchr(name, ':');

    if (owner_name_is_of(name, vr))
        return true;
    text_printf(why, "%s %s: expected a name that begins with '%s:', as %s:%s", entry->schema->name,
                name, vr, vr, own ? own + 1 : name);
    return false;
}

// Checks references to lists with owners, or to the router's own; other lists are not secret or
// visible as a whole.
static bool is_found(struct config_index *part, const struct lyd_node *leaf, struct text *why)
{
    const struct lysc_node *list = yang_reference(yang_type(leaf->schema));
    const char *name = lyd_get_value(leaf);

    if (!list || list->parent || (owner_is_marked(list) && !makes_of(list)) ||
        config_index_find(part, list, &name))
        return true;
    config_path(leaf, why);
    text_printf(why, ": there is no %s '%s'", list->name, name);
    return false;
}

static bool references_are_found(struct config_index *part, const struct lyd_node *n,
                                 struct text *why)
{
    if (n->schema->nodetype & (LYS_LEAF | LYS_LEAFLIST))
        return !config_is_explicit(n) || is_found(part, n, why);
    for (const struct lyd_node *c = lyd_child(n); c; c = c->next)
        if (!references_are_found(part, c, why))
            return false;
    return true;
}

bool owner_names_fit(const char *vr, const struct lyd_node *part, struct text *why)
{
    for (const struct lyd_node *n = part; n; n = n->next)
        if (makes_of(n->schema) && !name_fits(vr, n, why))
            return false;
    return true;
}

bool owner_references_fit(const struct lyd_node *part, struct text *why)
{
    struct config_index index = index_of(&part);
    bool ok = true;

    for (const struct lyd_node *n = part; n && ok; n = n->next)
        ok = references_are_found(&index, n, why);
    config_index_free(&index);
    return ok;
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
    text_printf(why, "there is no %s '%s'",
                m->kind == OWNER_ENTRY ? m->list->name
                : m->kind == OWNER_VR  ? "vr"
                                       : "interface",
                name);
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

// The mark of the rpc itself: owner of the subject.
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
