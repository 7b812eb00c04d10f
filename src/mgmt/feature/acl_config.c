// SPDX-License-Identifier: BSD-3-Clause
// model_acl.c - access lists and address sets of a configuration, and what they are bound to
//
// A rule of the tree is printed as its line and read by the grammar of rule files
// (manager/acl_line.h), so that there is one meaning of a rule.
#include "model/model_acl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "model/model_leaf.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

// --- rules ---------------------------------------------------------------------------------------

// Line to blame: the rule's own, or that of any word of it.
static unsigned line_below(const struct lyd_node *n)
{
    unsigned line = config_line_of(n);

    for (const struct lyd_node *c = lyd_child(n); c && !line; c = c->next)
        line = line_below(c);
    return line;
}

static void read_rule(struct acl_wanted_list *l, const struct lyd_node *entry, struct errors *e)
{
    struct text t = {0};
    struct words w;
    const char *why_words = "";
    char why[256] = "";

    config_print_entry(entry, &t);
    bug_on(words_split(text_str(&t), false, &w, &why_words)); // as the printer quotes them
    if (acl_line_parse(&l->rules, w.word, w.n, 0, why, sizeof why))
        errors_add(e, line_below(entry), "acl %s rule %s: %s", l->name, w.word[0], why);
    words_free(&w);
    text_free(&t);
}

// --- rules that are as they were -----------------------------------------------------------------

// Goes through the rules of a list and the lines of its text, which are in the same order.
struct earlier {
    const struct acl_wanted_list *list; // NULL: there was none
    size_t i;
    const char *line; // of rule i
};

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');

    return end ? end + 1 : line + strlen(line);
}

static struct earlier earlier_begin(const struct acl_wanted_list *l)
{
    struct earlier was = {.list = l};
    size_t n = 0;

    if (!l)
        return was;
    for (const char *at = text_str(&l->text); *at; at = next_line(at))
        n++;
    was.line = text_str(&l->text);
    for (; n > l->rules.rule.n; n--) // what stands before the rules
        was.line = next_line(was.line);
    return was;
}

// Whether the entry is known; `was` is at its rule then.
static bool earlier_find(struct earlier *was, const struct lyd_node *entry)
{
    if (!was->list || !config_is_known(entry))
        return false;
    uint32_t number = (uint32_t)strtoul(lyd_get_value(lyd_child(entry)), NULL, 10);
    while (was->i < was->list->rules.rule.n && was->list->rules.rule.item[was->i].number < number) {
        was->i++;
        was->line = next_line(was->line);
    }
    return was->i < was->list->rules.rule.n && was->list->rules.rule.item[was->i].number == number;
}

static void copy_rule(struct acl_lines *l, const struct earlier *was)
{
    struct acl_how how = was->list->rules.how.item[was->i];

    if (how.more) {
        *vec_push(&l->more) = was->list->rules.more.item[how.more - 1];
        how.more = (uint32_t)l->more.n;
    }
    *vec_push(&l->how) = how;
    *vec_push(&l->rule) = was->list->rules.rule.item[was->i];
}

static bool copy_line(void *ctx, const struct lyd_node *entry, struct text *t)
{
    struct earlier *was = ctx;

    if (!earlier_find(was, entry))
        return false;
    text_append(t, was->line, (size_t)(next_line(was->line) - was->line));
    return true;
}

static void read_list(struct acl_wanted *a, const struct lyd_node *entry,
                      const struct acl_wanted_list *known, struct errors *e)
{
    struct acl_wanted_list *l = vec_push(&a->list);
    struct earlier was = earlier_begin(known), lines = was;
    const struct lyd_node *first = lyd_child(entry);
    struct lyd_nodes v = {0};
    int verb;

    memset(l, 0, sizeof *l);
    leaf_copy(l->name, sizeof l->name, first, "name", "");
    leaf_copy(l->file, sizeof l->file, first, "file", "");
    verb = leaf_word(first, "default", acl_verb_name, 3);
    l->otherwise = verb < 0 ? ACL_DENY : (uint8_t)verb;
    l->line = leaf_line(entry, "file");
    config_children(first, yang_child(entry->schema, "rule", true), &v);
    if (known) { // rules name sets by their index
        memcpy(l->rules.set, known->rules.set, sizeof l->rules.set);
        l->rules.n_sets = known->rules.n_sets;
    }
    for (size_t i = 0; i < v.n; i++)
        if (earlier_find(&was, v.item[i]))
            copy_rule(&l->rules, &was);
        else
            read_rule(l, v.item[i], e);
    free(v.item);
    config_print_node_with(entry, &(struct config_lines){copy_line, &lines}, &l->text);
}

// --- sets ----------------------------------------------------------------------------------------

static void read_set(struct acl_wanted *a, const struct lyd_node *entry)
{
    struct acl_wanted_set *s = vec_push(&a->set);
    const struct lyd_node *first = lyd_child(entry);
    struct lyd_nodes v = {0};

    memset(s, 0, sizeof *s);
    leaf_copy(s->name, sizeof s->name, first, "name", "");
    leaf_copy(s->file, sizeof s->file, first, "file", "");
    s->line = leaf_line(entry, "file");
    config_children(first, yang_child(entry->schema, "prefix", true), &v);
    for (size_t i = 0; i < v.n; i++)
        bug_on(acl_member_parse(lyd_get_value(v.item[i]),
                                vec_push(&s->member.item))); // the schema has looked at it
    free(v.item);
    config_print_node(entry, &s->text);
}

static uint64_t machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 1ull << 32;
}

// Of a list that has no known rule, there may be none of the sets any more.
static const struct acl_wanted_list *find_known(const struct model *known,
                                                const struct lyd_node *entry)
{
    bool any = false;

    for (const struct lyd_node *n = lyd_child(entry); n && !any; n = n->next)
        any = config_is_known(n);
    return any ? acl_wanted_list_find(known->acl, lyd_get_value(lyd_child(entry))) : NULL;
}

void model_read_acls(struct model *m, const struct lyd_node *tree, const struct model *known,
                     struct errors *e)
{
    const struct lyd_node *limit = leaf_inside(tree, NULL, "acl-limit");
    uint64_t mib = leaf_number(limit, "memory", 0);
    struct lyd_nodes v = {0};

    m->acl = acl_wanted_new();
    m->acl->memory_bytes = mib ? mib << 20 : machine_memory() / 4;
    m->acl->build_ns = leaf_number(limit, "build-time", 60) * NS_PER_SECOND;
    config_children(tree, yang_child(NULL, "mirror-session", true), &v);
    for (size_t i = 0; i < v.n; i++)
        leaf_copy(vec_push(&m->acl->mirror)->name, ACL_NAME_MAX, lyd_child(v.item[i]), "name", "");
    vec_free(&v);
    config_children(tree, yang_child(NULL, "address-set", true), &v);
    for (size_t i = 0; i < v.n; i++)
        read_set(m->acl, v.item[i]);
    vec_free(&v);
    config_children(tree, yang_child(NULL, "acl", true), &v);
    for (size_t i = 0; i < v.n; i++)
        read_list(m->acl, v.item[i], find_known(known, v.item[i]), e);
    vec_free(&v);
}

// --- bindings ------------------------------------------------------------------------------------

struct model_acls model_read_binding(const struct lyd_node *first, const struct lysc_node *parent)
{
    const struct lyd_node *acl = leaf_inside(first, parent, "acl");
    struct model_acls b = {.in = ""};

    leaf_copy(b.in, sizeof b.in, acl, "in", "");
    leaf_copy(b.out, sizeof b.out, acl, "out", "");
    return b;
}

static void inherit_from(struct model_acls *b, const struct model_acls *from)
{
    if (!b->in[0])
        memcpy(b->in, from->in, sizeof b->in);
    if (!b->out[0])
        memcpy(b->out, from->out, sizeof b->out);
}

static void inherit(const struct model *m, struct model_acls *b, const char *vr)
{
    const struct model_vr *v = model_find_vr(m, vr);

    if (v)
        inherit_from(b, &v->acls);
    inherit_from(b, &m->settings.acls);
}

void model_inherit_acls(struct model *m)
{
    vec_foreach (&m->port, p)
        if (!p->config.member_of[0]) // a member of a LAG has no interface
            inherit(m, &p->acls, p->vr);
    vec_foreach (&m->vport, v)
        inherit(m, &v->acls, v->vr);
}
