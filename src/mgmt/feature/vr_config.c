// SPDX-License-Identifier: BSD-3-Clause
// vr_config.c - configured virtual routers
//
// A virtual router stays while its namespace and kernel table stay, even under another name;
// otherwise it is deleted and created again. Settings of one that stays are changed one by one. An
// entry without its own engine or flow hash has the default virtual router's.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "config/config_running.h"
#include "config/feature_config.h"
#include "config/host.h"
#include "config/leaf.h"
#include "config/model.h"
#include "core/aside.h"
#include "interface/vr_manager.h"
#include "model/model.h"
#include "model/vr_budget.h"
#include "netlink/netns_own.h"
#include "table/fib.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

// --- reading -------------------------------------------------------------------------------------

static uint8_t read_engine(const struct lyd_node *first, uint8_t absent)
{
    const char *v = config_value(first, "fib-engine");

    for (unsigned e = 0; v && e < FIB_ENGINES; e++)
        if (!strcmp(v, fib_engine_name((enum fib_engine)e)))
            return (uint8_t)e;
    return absent;
}

static void read_flow_hash(struct flow_hash *h, const struct lyd_node *first)
{
    const char *mode = config_value(first, "flow-hash"), *label = config_value(first, "flow-label");

    for (unsigned m = 0; mode && flow_hash_name(m); m++)
        if (!strcmp(mode, flow_hash_name(m)))
            h->mode = (uint8_t)m;
    if (label)
        h->label = !strcmp(label, "true");
    h->seed = (uint32_t)leaf_number(first, "flow-hash-seed", h->seed);
}

static void read_settings(struct vr_settings *s, const struct lyd_node *first,
                          const struct lysc_node *parent)
{
    read_flow_hash(&s->flow_hash, first);
    s->cpu_weight = (uint8_t)leaf_number(first, "cpu-weight", 1);
    s->budget = vr_budget_read(first, parent);
}

// Derives the seed from the default one's and the name, so that two virtual routers on a packet's
// path do not split flows alike.
static uint32_t seed_of_name(uint32_t seed, const char *name)
{
    uint32_t own = seed ? (uint32_t)hash_bytes(name, strlen(name), seed) : 0;

    return own || !seed ? own : 1;
}

static bool is_set(const struct lyd_node *first, const char *leaf)
{
    for (const struct lyd_node *n = first; n; n = n->next)
        if (n->schema && !strcmp(n->schema->name, leaf))
            return config_is_explicit(n);
    return false;
}

static void read_object(struct model_vr *v, const struct lyd_node *first)
{
    int daemon = leaf_word(first, "routing-daemon", vr_daemon_names, VR_DAEMONS);

    leaf_copy(v->description, sizeof v->description, first, "description", "");
    v->enabled = leaf_true(first, "enabled");
    v->daemon = daemon > 0 ? (uint8_t)daemon : VR_DAEMON_NONE;
    v->own_netns = !v->netns[0] && !is_set(first, "table");
    if (v->own_netns)
        snprintf(v->netns, sizeof v->netns, "%s", v->name);
}

static void read_vr(struct model_vrs *all, const struct lyd_node *entry)
{
    struct model_vr *v = vec_push(&all->vr);
    const struct lyd_node *first = lyd_child(entry);

    memset(v, 0, sizeof *v);
    leaf_copy(v->name, sizeof v->name, first, "name", "");
    leaf_copy(v->netns, sizeof v->netns, first, "namespace", "");
    v->table = (uint32_t)leaf_number(first, "table", 254);
    read_object(v, first);
    v->set.engine = read_engine(first, all->set.engine);
    v->set.flow_hash = all->set.flow_hash;
    v->set.flow_hash.seed = seed_of_name(all->set.flow_hash.seed, v->name);
    read_settings(&v->set, first, entry->schema);
    v->line = leaf_line(entry, "namespace");
    v->engine_line = leaf_line(entry, "fib-engine");
    v->acls = acl_binding_read(first, entry->schema);
}

// Entries are in the order of `known`; entries marked as known are copied from it.
static void read_entries(struct model_vrs *all, const struct lyd_nodes *entry,
                         const struct model_vrs *known)
{
    size_t k = 0;

    for (size_t i = 0; i < entry->n; i++) {
        const char *name = lyd_get_value(lyd_child(entry->item[i]));

        if (!known || !config_is_known(entry->item[i])) {
            read_vr(all, entry->item[i]);
            continue;
        }
        while (k < known->vr.n && strcmp(known->vr.item[k].name, name))
            k++;
        bug_on(k == known->vr.n);
        struct model_vr *v = vec_push(&all->vr);
        *v = known->vr.item[k++];
        v->line = v->engine_line = 0; // it has no line in this candidate
    }
}

// Whether both give the same values to an entry without its own.
static bool inherits_as(const struct model_vrs *a, const struct model_vrs *b)
{
    return a->set.engine == b->set.engine &&
           !memcmp(&a->set.flow_hash, &b->set.flow_hash, sizeof a->set.flow_hash);
}

static void read_vrs(struct model *m, const struct lyd_node *tree, const struct model *known,
                     struct errors *e)
{
    struct lyd_nodes entry = {0};
    struct model_vrs *all = m->part[FEATURE_vr];

    all->set.engine = read_engine(tree, FIB_POPTRIE);
    all->set.flow_hash = flow_hash_default;
    read_settings(&all->set, leaf_inside(tree, NULL, "forwarding"),
                  yang_child(NULL, "forwarding", true));
    config_children(tree, yang_child(NULL, "vr", true), &entry);
    read_entries(all, &entry,
                 known && inherits_as(model_vrs(known), all) ? model_vrs(known) : NULL);
    free(entry.item);
}

// --- rules ---------------------------------------------------------------------------------------

static int compare_table(const void *pa, const void *pb)
{
    const struct model_vr *a = *(const struct model_vr *const *)pa,
                          *b = *(const struct model_vr *const *)pb;
    int d = strcmp(a->netns, b->netns);

    return d                      ? d
           : a->table != b->table ? (a->table < b->table ? -1 : 1)
           : a < b                ? -1
                                  : a > b;
}

// Two virtual routers with one kernel table would fight over its routes.
static void check_unique_table(const struct model_vrs *all, struct errors *e)
{
    const struct model_vr **by = model_sorted_in(&all->vr, compare_table);

    for (size_t i = 1; i < all->vr.n; i++)
        if (!strcmp(by[i - 1]->netns, by[i]->netns) && by[i - 1]->table == by[i]->table)
            errors_add(e, by[i]->line,
                       "vr %s: expected a 'namespace' or 'table' that vr %s does not use",
                       by[i]->name, by[i - 1]->name);
    free(by);
}

// Its own daemon would read and write routes of other virtual routers.
static void check_daemon(const struct model_vr *v, struct errors *e)
{
    if (v->daemon == VR_DAEMON_NONE)
        return;
    if (!v->netns[0])
        errors_add(e, v->line,
                   "vr %s: 'routing-daemon %s' needs a network namespace, but it has table %u of "
                   "kamueed's: delete 'table', or use one daemon for several VRFs",
                   v->name, vr_daemon_names[v->daemon], v->table);
    else if (v->daemon == VR_DAEMON_FRR && strchr(v->name, '.'))
        errors_add(e, v->line,
                   "vr %s: FRR allows no '.' in the name of a pathspace: rename the virtual "
                   "router, or use 'routing-daemon bird'",
                   v->name);
}

static void check_vr(const struct model *m, const void *row, struct errors *e)
{
    const struct model_vr *v = row;
    char what[32];

    if (!v->netns[0] && v->table == 254)
        errors_add(e, v->line,
                   "vr %s: expected another 'table' or none: the main table of "
                   "kamueed's namespace belongs to '" VR_DEFAULT_NAME "'",
                   v->name);
    check_daemon(v, e);
    snprintf(what, sizeof what, "vr %s", v->name);
    acl_binding_check(&v->acls, model_acls(m), what, v->name, v->line, e);
}

static void check_vrs(const struct model *m, struct errors *e)
{
    check_unique_table(model_vrs(m), e);
    vr_budget_check(m, false, e);
}

// --- host ----------------------------------------------------------------------------------------

// Calls fn for each difference: a new virtual router (old NULL), a removed one (new NULL), or
// changed settings. Both lists are sorted by name, so a change of another word costs one comparison
// for each of thousands of virtual routers.
static void each_unlike(const struct model *from, const struct model *to,
                        void (*fn)(void *ctx, const struct model_vr *old,
                                   const struct model_vr *new),
                        void *ctx)
{
    const struct model_vr *a = model_vrs(from)->vr.item, *a_end = vec_end(&model_vrs(from)->vr),
                          *b = model_vrs(to)->vr.item, *b_end = vec_end(&model_vrs(to)->vr);

    while (a < a_end || b < b_end) {
        int d = a == a_end ? 1 : b == b_end ? -1 : model_compare_names(a->name, b->name);

        if (d || memcmp(a, b, offsetof(struct model_vr, line)))
            fn(ctx, d <= 0 ? a : NULL, d >= 0 ? b : NULL);
        if (d <= 0)
            a++;
        if (d >= 0)
            b++;
    }
}

static void check_namespace(void *ctx, const struct model_vr *old, const struct model_vr *v)
{
    struct errors *e = ctx;

    if (v && !v->own_netns && (!old || strcmp(old->netns, v->netns)))
        host_check_netns("vr", v->name, v->netns, v->line, e);
    if (v && v->own_netns && !(old && old->own_netns) && vr_other_name(v->name) == v->name &&
        !netns_own_may_make(v->netns))
        errors_add(e, v->line,
                   "vr %s: there is a network namespace %s that kamueed has not made: use it with "
                   "'set vr %s namespace %s', or remove it (ip netns del %s)",
                   v->name, v->netns, v->name, v->netns, v->netns);
}

static void check_namespaces(const struct model *from, const struct model *to, struct errors *e)
{
    each_unlike(from, to, check_namespace, e);
}

// Notes a virtual router whose table gets no interface routes from Linux.
static void note_vrf(void *ctx, const struct model_vr *old, const struct model_vr *v)
{
    struct errors *notes = ctx;

    if (!v || (old && old->table == v->table && !strcmp(old->netns, v->netns)))
        return;
    aside_pause();
    if (!vr_manager_has_vrf(v->netns, v->table))
        errors_add(notes, 0,
                   "vr %s: no VRF device has table %u, so connected routes of its interfaces "
                   "stay in Linux's main table and packets to those hosts are rejected; "
                   "create one: ip link add %s type vrf table %u",
                   v->name, v->table, v->name, v->table);
}

static void note_vrfs(const struct model *from, const struct model *to, struct errors *notes)
{
    each_unlike(from, to, note_vrf, notes);
}

// --- steps ---------------------------------------------------------------------------------------

static int run_vr(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct model_vr *v = to;

    if (from)
        return vr_manager_del(s->name, err, n);
    int r = v->own_netns ? netns_own_make(v->netns, err, n) : 0;
    r = r ? r
          : vr_manager_add(s->name, v->netns, v->table, (enum fib_engine)v->set.engine,
                           &v->set.budget, err, n);
    r = r ? r : vr_manager_set_flow_hash(s->name, v->set.flow_hash, err, n);
    r = r ? r : vr_manager_set_enabled(s->name, v->enabled, err, n);
    return r ? r : vr_manager_set_cpu_weight(s->name, v->set.cpu_weight, err, n);
}

static int run_rename(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct model_vr *old = from, *new = to;

    return vr_manager_rename(old->name, new->name, new->netns, err, n);
}

static int run_enabled(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return vr_manager_set_enabled(s->name, *(const bool *)to, err, n);
}

static int run_engine(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return vr_manager_set_engine(s->name, (enum fib_engine) * (const uint8_t *)to, err, n);
}

static int run_flow_hash(const struct step *s, const void *from, const void *to, char *err,
                         size_t n)
{
    return vr_manager_set_flow_hash(s->name, *(const struct flow_hash *)to, err, n);
}

static int run_cpu_weight(const struct step *s, const void *from, const void *to, char *err,
                          size_t n)
{
    return vr_manager_set_cpu_weight(s->name, *(const uint8_t *)to, err, n);
}

static int run_budget(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return vr_manager_set_budget(s->name, to, err, n);
}

static const struct step_kind vr_kind = {"vr", run_vr}, engine_kind = {"vr", run_engine},
                              flow_hash_kind = {"vr", run_flow_hash},
                              cpu_weight_kind = {"vr", run_cpu_weight},
                              rename_kind = {"vr", run_rename}, enabled_kind = {"vr", run_enabled},
                              budget_kind = {"vr", run_budget};

static void plan_remove_one(void *c, const struct model_vr *old, const struct model_vr *new)
{
    if (old && !vr_stays(c, old->name))
        step_add(c, &vr_kind, old->name, old, NULL, 0);
}

static void plan_remove(struct change *c)
{
    each_unlike(c->from, c->to, plan_remove_one, c);
}

static void plan_add_one(void *c, const struct model_vr *old, const struct model_vr *new)
{
    if (new && !vr_stays(c, new->name))
        step_add(c, &vr_kind, new->name, NULL, new, new->line);
}

static void plan_add(struct change *c)
{
    each_unlike(c->from, c->to, plan_add_one, c);
}

static void plan_settings(struct change *c, const char *name, const struct vr_settings *from,
                          const struct vr_settings *to, unsigned line, unsigned engine_line)
{
    if (from->engine != to->engine)
        step_add(c, &engine_kind, name, &from->engine, &to->engine, engine_line);
    if (memcmp(&from->flow_hash, &to->flow_hash, sizeof to->flow_hash))
        step_add(c, &flow_hash_kind, name, &from->flow_hash, &to->flow_hash, line);
    if (from->cpu_weight != to->cpu_weight)
        step_add(c, &cpu_weight_kind, name, &from->cpu_weight, &to->cpu_weight, line);
    if (memcmp(&from->budget, &to->budget, sizeof to->budget))
        step_add(c, &budget_kind, name, &from->budget, &to->budget, line);
}

static void plan_change_one(void *ctx, const struct model_vr *same, const struct model_vr *v)
{
    struct change *c = ctx;
    const struct model_vr *old = v ? vr_before(c, v) : NULL;

    if (!old)
        return;
    if (strcmp(old->name, v->name))
        step_add(c, &rename_kind, v->name, old, v, v->line);
    if (old->enabled != v->enabled)
        step_add(c, &enabled_kind, v->name, &old->enabled, &v->enabled, v->line);
    plan_settings(c, v->name, &old->set, &v->set, v->line, v->engine_line);
}

static void plan_change(struct change *c)
{
    plan_settings(c, VR_DEFAULT_NAME, &model_vrs(c->from)->set, &model_vrs(c->to)->set, 0, 0);
    each_unlike(c->from, c->to, plan_change_one, c);
}

static bool is_needed(void *ctx, const char *netns)
{
    const struct model_vr *v = model_find_vr(ctx, netns);

    return v && v->own_netns;
}

// Namespaces of removed virtual routers are deleted after all steps, when no failed step can need
// them again; a namespace that the configuration now names belongs to the operator. A start that
// fails leaves everything to the next start.
static void yield_netns(void *ctx, const struct model_vr *old, const struct model_vr *new)
{
    const struct model_vr *now = *(const bool *)ctx ? new : old;

    if (now && !now->own_netns && now->netns[0])
        netns_own_forget(now->netns);
}

static void finish_vrs(const struct model *from, const struct model *to, bool ok)
{
    static bool started;
    const struct model *now = ok ? to : from;

    started = started || ok;
    if (!started)
        return;
    each_unlike(from, to, yield_netns, &ok);
    netns_own_sweep(is_needed, (void *)(uintptr_t)now);
}

// --- completion ----------------------------------------------------------------------------------

static void each_vr(name_fn *fn, void *ctx)
{
    char help[96];

    fn(ctx, VR_DEFAULT_NAME, "kamueed's own namespace, main table");
    vec_foreach (&model_vrs(config_model())->vr, v) {
        snprintf(help, sizeof help, "%s%.50s%stable %u", v->netns[0] ? "namespace " : "", v->netns,
                 v->netns[0] ? ", " : "", v->table);
        fn(ctx, v->name, help);
    }
}

static void each_netns(name_fn *fn, void *ctx)
{
    host_each_entry("/run/netns", fn, ctx);
}

const struct feature_config vr_config = {
    .part_size = sizeof(struct model_vrs),
    .lists =
        (const struct feature_list[]){
            {.node = "vr", LIST_ROWS(struct model_vrs, vr), .check = check_vr}, {0}},
    .read = read_vrs,
    .check = check_vrs,
    .check_host = check_namespaces,
    .note = note_vrfs,
    .finish = finish_vrs,
    .phases = (const struct feature_phase[]){{PHASE_REMOVE_VRS, plan_remove},
                                             {PHASE_CHANGE_VRS, plan_change},
                                             {PHASE_ADD_VRS, plan_add},
                                             {0}},
    .names = (const struct feature_names[]){{"vr", each_vr}, {"netns", each_netns}, {0}},
};
