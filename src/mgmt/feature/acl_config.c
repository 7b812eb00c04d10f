// SPDX-License-Identifier: BSD-3-Clause
// acl_config.c - access lists and address sets of a configuration
//
// A rule in the tree is printed as a line and read by the grammar of rule files
// (acl_manager/acl_line.h), so that a rule has one meaning.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acl_manager/acl_manager.h"
#include "acl_manager/acl_word.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "config/config_running.h"
#include "config/feature_config.h"
#include "config/leaf.h"
#include "core/aside.h"
#include "feature/acl.h"
#include "model/model.h"
#include "model/vr_budget.h"
#include "yang/config_tree.h"
#include "yang/owner.h"

static struct acl_desired **part_of(const struct model *m)
{
    return m->part[FEATURE_acl];
}

// --- rules ---------------------------------------------------------------------------------------

// Line to report in an error: the rule's own, or the line of any word in it.
static unsigned line_below(const struct lyd_node *n)
{
    unsigned line = config_line_of(n);

    for (const struct lyd_node *c = lyd_child(n); c && !line; c = c->next)
        line = line_below(c);
    return line;
}

static void read_rule(struct acl_desired_list *l, const struct lyd_node *entry, struct errors *e)
{
    struct text t = {0};
    struct words w;
    const char *why_words = "";
    char why[256] = "";

    config_print_entry(entry, &t);
    bug_on(words_split(text_str(&t), false, &w, &why_words)); // quoted by the printer
    if (acl_line_parse(&l->rules, w.word, w.n, 0, why, sizeof why))
        errors_add_of(e, l->owner, line_below(entry), "acl %s rule %s: %s", l->name, w.word[0],
                      why);
    words_free(&w);
    text_free(&t);
}

// --- unchanged rules -----------------------------------------------------------------------------

// Walks the rules of a list and the lines of its text, which have the same order.
struct earlier {
    const struct acl_desired_list *list; // NULL: no earlier list
    size_t i;
    const char *line; // of rule i
};

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');

    return end ? end + 1 : line + strlen(line);
}

static struct earlier earlier_begin(const struct acl_desired_list *l)
{
    struct earlier was = {.list = l};
    size_t n = 0;

    if (!l)
        return was;
    for (const char *at = text_str(&l->text); *at; at = next_line(at))
        n++;
    was.line = text_str(&l->text);
    for (; n > l->rules.rule.n; n--) // lines before the rules
        was.line = next_line(was.line);
    return was;
}

// Whether the entry is known; then `was` points to its rule.
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

static void read_list(struct acl_desired *a, const struct lyd_node *entry,
                      const struct acl_desired_list *known, struct errors *e)
{
    struct acl_desired_list *l = vec_push(&a->list);
    struct earlier was = earlier_begin(known), lines = was;
    const struct lyd_node *first = lyd_child(entry);
    int verb;

    memset(l, 0, sizeof *l);
    leaf_copy(l->name, sizeof l->name, first, "name", "");
    leaf_copy(l->file, sizeof l->file, first, "file", "");
    leaf_copy(l->owner, sizeof l->owner, first, "vr", "");
    verb = leaf_word(first, "default", acl_verb_name, 3);
    l->otherwise = verb < 0 ? ACL_DENY : (uint8_t)verb;
    l->line = leaf_line(entry, "file");
    if (known) { // rules refer to sets by index
        memcpy(l->rules.set, known->rules.set, sizeof l->rules.set);
        l->rules.n_sets = known->rules.n_sets;
    }
    leaf_foreach (first, entry->schema, "rule", rule)
        if (earlier_find(&was, rule))
            copy_rule(&l->rules, &was);
        else
            read_rule(l, rule, e);
    config_print_node_with(entry, &(struct config_lines){copy_line, &lines}, &l->text);
}

// --- sets ----------------------------------------------------------------------------------------

static void read_set(struct acl_desired *a, const struct lyd_node *entry)
{
    struct acl_desired_set *s = vec_push(&a->set);
    const struct lyd_node *first = lyd_child(entry);

    memset(s, 0, sizeof *s);
    leaf_copy(s->name, sizeof s->name, first, "name", "");
    leaf_copy(s->file, sizeof s->file, first, "file", "");
    leaf_copy(s->owner, sizeof s->owner, first, "vr", "");
    s->line = leaf_line(entry, "file");
    leaf_foreach(first, entry->schema, "prefix", prefix)
        bug_on(prefix_parse(lyd_get_value(prefix), vec_push(&s->member.item),
                            true)); // checked by the schema
    config_print_node(entry, &s->text);
}

static uint64_t host_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 1ull << 32;
}

// NULL for a list without known rules, because its sets may be gone.
static const struct acl_desired_list *find_known(const struct model *known,
                                                const struct lyd_node *entry)
{
    bool any = false;

    for (const struct lyd_node *n = lyd_child(entry); n && !any; n = n->next)
        any = config_is_known(n);
    return any ? acl_desired_list_find(*part_of(known), lyd_get_value(lyd_child(entry))) : NULL;
}

static void read_acls(struct model *m, const struct lyd_node *tree, const struct model *known,
                      struct errors *e)
{
    const struct lyd_node *limit = leaf_inside(tree, NULL, "acl-limit");
    uint64_t mib = leaf_number(limit, "memory", 0);

    struct acl_desired *a = acl_desired_new();
    *part_of(m) = a;
    a->memory_bytes = mib ? mib << 20 : host_memory() / 4;
    a->build_ns = leaf_number(limit, "build-time", 60) * NS_PER_SECOND;
    leaf_foreach (tree, NULL, "mirror-session", entry)
        leaf_copy(vec_push(&a->mirror)->name, ACL_NAME_MAX, lyd_child(entry), "name", "");
    leaf_foreach (tree, NULL, "address-set", entry)
        read_set(a, entry);
    leaf_foreach (tree, NULL, "acl", entry)
        read_list(a, entry, find_known(known, entry), e);
}

static void free_acls(struct model *m)
{
    acl_desired_put(*part_of(m));
}

// --- owners --------------------------------------------------------------------------------------

static void check_set_of_list(const struct acl_desired *a, const struct acl_desired_list *l,
                              const char *set, struct errors *e)
{
    const struct acl_desired_set *s = acl_desired_set_find(a, set);

    if (s && s->owner[0] && strcmp(s->owner, l->owner))
        errors_add(e, l->line,
                   "acl %s: address-set %s belongs to vr %s: expected one of the list's own "
                   "virtual router, or one that belongs to none",
                   l->name, set, s->owner);
    else if (s && l->owner[0] && !s->owner[0])
        errors_add(e, l->line,
                   "acl %s: it belongs to vr %s, and address-set %s does not: expected a set "
                   "'%s:…' with 'vr %s'",
                   l->name, l->owner, set, l->owner, l->owner);
}

// All lists share mirror sessions and redirect addresses, which are few.
static void check_owned_rule(const struct acl_desired_list *l, size_t rule, struct errors *e)
{
    const struct acl_more *more = acl_lines_more(&l->rules, rule);

    if (more && (more->mirror[0] || more->redirect.family))
        errors_add_of(e, l->owner, l->line,
                      "acl %s rule %u: the list belongs to vr %s, and '%s' is for lists of the "
                      "router: delete it there, or use a list without 'vr'",
                      l->name, l->rules.rule.item[rule].number, l->owner,
                      more->mirror[0] ? "mirror" : "redirect");
}

static void check_acls(const struct model *m, struct errors *e)
{
    const struct acl_desired *a = model_acls(m);

    vec_foreach (&a->set, s)
        owner_check_name("address-set", s->name, s->owner, s->line, e);
    vec_foreach (&a->list, l) {
        owner_check_name("acl", l->name, l->owner, l->line, e);
        for (unsigned i = 0; i < l->rules.n_sets; i++)
            check_set_of_list(a, l, l->rules.set[i], e);
        for (size_t i = 0; l->owner[0] && l->rules.more.n && i < l->rules.rule.n; i++)
            check_owned_rule(l, i, e);
    }
}

// Prints a list from its lines in the model.
static bool print_list(const struct model *m, const struct lyd_node *entry, struct text *t)
{
    const struct acl_desired_list *l = NULL;

    if (!lyd_parent(entry) && !strcmp(entry->schema->name, "acl"))
        l = acl_desired_list_find(model_acls(m), lyd_get_value(lyd_child(entry)));
    if (l)
        text_append(t, l->text.s, l->text.n);
    return l;
}

// --- building, which may take long ---------------------------------------------------------------

// Changes run in turns, so there is at most one preparation.
static struct {
    struct aside_wait *turn; // turn that waits for it, or NULL
    int result;
    struct text why;
} preparing;

static bool prepares_aside;

void acl_prepare_aside(bool on)
{
    prepares_aside = on;
}

static void abandon_prepared(void)
{
    if (acl_manager_prepared())
        acl_manager_end(false);
}

static void add_lines(struct errors *e, const char *lines)
{
    char *copy = strdup(lines), *next = copy;

    bug_on(!copy);
    for (char *line; (line = strsep(&next, "\n"));)
        errors_add(e, 0, "%s", line);
    free(copy);
}

static void prepared(int result, const char *why)
{
    if (!preparing.turn) { // kamueed is stopping
        abandon_prepared();
        return;
    }
    preparing.result = result;
    text_printf(&preparing.why, "%s", why);
    aside_go_on(preparing.turn);
}

static int wait_for_prepared(struct errors *e)
{
    struct aside_wait turn = {0};

    preparing.turn = &turn;
    bool over = aside_wait(&turn);
    preparing.turn = NULL;
    if (!over) {
        errors_add(e, 0, "kamueed is stopping; nothing was changed");
        return -ECANCELED;
    }
    if (preparing.result)
        add_lines(e, text_str(&preparing.why));
    text_free(&preparing.why);
    return preparing.result;
}

static int prepare_now(const struct acl_desired *wanted, struct errors *e) // outside a turn: tests
{
    struct text why = {0};
    int r = acl_manager_prepare_now(wanted, &why);

    if (r)
        add_lines(e, why.n ? why.s : strerror(-r));
    text_free(&why);
    return r;
}

// Checks budgets with the contents of files, which are known now.
static int check_budgets(const struct model *m, struct errors *e)
{
    unsigned n = e->n;

    vr_budget_check(m, true, e);
    if (e->n == n)
        return 0;
    abandon_prepared();
    return -EINVAL;
}

// Waits until acl_manager has everything ready.
static int prepare(const struct acl_prepare_request *ask, struct errors *e)
{
    if (!aside_is_turn())
        return prepare_now(ask->wanted, e);
    int r = acl_manager_prepare(ask);

    if (!r)
        return wait_for_prepared(e);
    errors_add(e, 0, "acl_manager is busy (%s); try again", strerror(-r));
    return r;
}

static int prepare_acls(const struct model *from, const struct model *to, struct errors *e)
{
    struct acl_desired *is = *part_of(to);
    int r = acl_desired_equal(*part_of(from), is)
                ? 0
                : prepare(&(struct acl_prepare_request){.wanted = is,
                                                      .aside = prepares_aside,
                                                      .done = prepared},
                        e);

    return r ? r : check_budgets(to, e);
}

// Changes temporary rules, which are not in the configuration.
static int change_now(struct acl_prepare_request *ask, struct errors *e)
{
    char err[512] = "";

    ask->wanted = acl_manager_desired();
    ask->done = prepared;
    int r = prepare(ask, e);
    r = r ? r : check_budgets(config_model(), e);
    if (r)
        return r;
    r = acl_manager_commit(err, sizeof err);
    acl_manager_end(!r);
    if (r)
        errors_add(e, 0, "%s", err);
    return r;
}

int acl_reload(const char *set, const char *list, struct errors *e)
{
    return change_now(&(struct acl_prepare_request){.set = set, .list = list}, e);
}

int acl_temporary_change(const struct acl_temporary *t, struct errors *e)
{
    return change_now(&(struct acl_prepare_request){.temporary = t}, e);
}

// --- steps ---------------------------------------------------------------------------------------

// acl_manager has prepared everything, so the step is one short call, forward or backward. It
// prepares and waits only at the start, and when a commit is reverted because it cannot be saved on
// disk.
static int run_acls(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct acl_desired *ready = acl_manager_prepared(), *wanted = to;

    if (to != s->to) {
        acl_manager_undo();
        return 0;
    }
    if (ready && acl_desired_equal(ready, wanted))
        return acl_manager_commit(err, n);
    struct text why = {0};
    int r = acl_manager_prepare_now(wanted, &why);
    if (r)
        snprintf(err, n, "%s", why.n ? why.s : strerror(-r));
    text_free(&why);
    return r ? r : acl_manager_commit(err, n);
}

static void plan_acls(struct change *c)
{
    static const struct step_kind acls = {"access lists", run_acls};

    if (!acl_desired_equal(model_acls(c->from), model_acls(c->to)))
        step_add(c, &acls, "", model_acls(c->from), model_acls(c->to), 0);
}

static void finish_acls(const struct model *from, const struct model *to, bool ok)
{
    if (acl_manager_prepared())
        acl_manager_end(ok && !acl_desired_equal(model_acls(from), model_acls(to)));
}

// --- completion ----------------------------------------------------------------------------------

static void each_acl_word(const struct acl_word *w, name_fn *fn, void *ctx)
{
    char help[24];

    for (; w->name; w++) {
        snprintf(help, sizeof help, "%u", w->number);
        fn(ctx, w->name, help);
    }
}

static void each_service(name_fn *fn, void *ctx)
{
    each_acl_word(acl_ports, fn, ctx);
}

static void each_protocol(name_fn *fn, void *ctx)
{
    fn(ctx, "ip", "all protocols of both families");
    fn(ctx, "ipv4", "all protocols of IPv4");
    fn(ctx, "ipv6", "all protocols of IPv6");
    each_acl_word(acl_protocols, fn, ctx);
}

static void each_icmp_type(name_fn *fn, void *ctx)
{
    each_acl_word(acl_icmp_types, fn, ctx);
    each_acl_word(acl_icmp6_types, fn, ctx);
}

static void each_dscp(name_fn *fn, void *ctx)
{
    each_acl_word(acl_dscps, fn, ctx);
}

const struct feature_config acl_config = {
    .part_size = sizeof(struct acl_desired *),
    .read = read_acls,
    .check = check_acls,
    .free = free_acls,
    .print = print_list,
    .prepare = prepare_acls,
    .abandon = abandon_prepared,
    .phases = (const struct feature_phase[]){{PHASE_LISTS, plan_acls}, {0}},
    .finish = finish_acls,
    .names = (const struct feature_names[]){{"service", each_service},
                                            {"protocol", each_protocol},
                                            {"icmp-type", each_icmp_type},
                                            {"dscp", each_dscp},
                                            {0}},
};
