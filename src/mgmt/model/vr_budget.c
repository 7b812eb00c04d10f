// SPDX-License-Identifier: BSD-3-Clause
// vr_budget.c - see vr_budget.h
//
// The writers enforce budgets (table/vr_budget.h). This file has the parts that only control knows:
// interfaces, rules and set members of a configuration, and the punted packets of the last second.
#include "model/vr_budget.h"

#include <stdio.h>
#include <string.h>

#include "acl_manager/acl_manager.h"
#include "base/clock.h"
#include "base/vec.h"
#include "config/config_running.h"
#include "config/leaf.h"
#include "mgmt/feature.h"
#include "model/model.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/vr.h"

struct vr_limits vr_budget_read(const struct lyd_node *first, const struct lysc_node *parent)
{
    const struct lyd_node *budget = leaf_inside(first, parent, "budget");
    struct vr_limits l;

    for (unsigned k = 0; k < VR_BUDGET_N; k++)
        l.of[k] = leaf_number(budget, vr_budget_info[k].word, 0) * vr_budget_info[k].step;
    return l;
}

// --- configured rules and set members ------------------------------------------------------------

struct bound { // bound to interfaces of one virtual router
    VEC(const struct acl_desired_list *) list;
    VEC(const struct acl_desired_set *) set;
};

#define ADD_ONCE(v, what)                                                                          \
    do {                                                                                           \
        bool there_ = false;                                                                       \
        vec_foreach (&(v), known_)                                                                 \
            there_ |= *known_ == (what);                                                           \
        if (!there_ && (what))                                                                     \
            *vec_push(&(v)) = (what);                                                              \
    } while (0)

static void add_list(struct bound *b, const struct acl_desired *all, const char *name)
{
    const struct acl_desired_list *l = name[0] ? acl_desired_list_find(all, name) : NULL;

    ADD_ONCE(b->list, l);
    for (unsigned i = 0; l && i < l->rules.n_sets; i++) {
        const struct acl_desired_set *s = acl_desired_set_find(all, l->rules.set[i]);

        ADD_ONCE(b->set, s);
    }
}

static void add_owned(struct bound *b, const struct acl_desired *all, const char *vr)
{
    vec_foreach (&all->list, l)
        if (!strcmp(l->owner, vr))
            add_list(b, all, l->name);
    vec_foreach (&all->set, s)
        if (!strcmp(s->owner, vr))
            ADD_ONCE(b->set, s);
}

static uint64_t rules_of(const struct acl_desired_list *l, bool files)
{
    return (files ? acl_manager_rules(l->name) : l->rules.rule.n) + (l->owner[0] != 0);
}

static uint64_t members_of(const struct acl_desired_set *s, bool files)
{
    return (files ? acl_manager_members(s->name) : s->member.item.n) + (s->owner[0] != 0);
}

// Contents of files are not known before they are read. A list or policer that belongs to the
// virtual router counts as one more rule, since a list without rules takes space too.
static void count_bound(const struct model *m, const char *vr, bool files, struct vr_limits *used)
{
    struct bound b = {0};

    used->of[VR_BUDGET_SET_MEMBERS] = 0;
    used->of[VR_BUDGET_RULES] = 0;
    vec_foreach (&model_policers(m)->policer, p)
        used->of[VR_BUDGET_RULES] += !strcmp(p->owner, vr);
    add_owned(&b, model_acls(m), vr);
    if (model_acls(m)->list.n)
        vec_foreach (&model_interfaces(m)->interface, i)
            if (!strcmp(i->vr, vr)) {
                add_list(&b, model_acls(m), i->acls.in);
                add_list(&b, model_acls(m), i->acls.out);
            }
    vec_foreach (&b.list, l)
        used->of[VR_BUDGET_RULES] += rules_of(*l, files);
    vec_foreach (&b.set, s)
        used->of[VR_BUDGET_SET_MEMBERS] += members_of(*s, files);
    vec_free(&b.list);
    vec_free(&b.set);
}

// Of the running configuration, recounted after each change.
static struct {
    uint64_t version; // of the configuration, + 1; 0 = none
    unsigned lists;   // version of the lists in force
    struct vr_limits used;
} counted[VR_MAX];

static struct vr_limits running_bound(uint16_t vr)
{
    const struct model *m = config_model();

    if (m && (counted[vr].version != config_version() + 1 ||
              counted[vr].lists != acl_manager_version())) {
        count_bound(m, vr_get(vr)->name, true, &counted[vr].used);
        counted[vr].version = config_version() + 1;
        counted[vr].lists = acl_manager_version();
    }
    return counted[vr].used;
}

// Command that raises the budget: "set vr blue budget", "set forwarding budget".
static const char *raise_command(const char *vr, char *buf, size_t n)
{
    if (!strcmp(vr, VR_DEFAULT_NAME))
        snprintf(buf, n, "set forwarding budget");
    else
        snprintf(buf, n, "set vr %s budget", vr);
    return buf;
}

// Configured interfaces and tunnels. Above the budget, interfaces created by Linux are left to
// Linux (tunnel/tunnel_linux.c).
static void count_configured(const struct model *m, const char *vr, struct vr_limits *used)
{
    vec_foreach (&model_interfaces(m)->interface, i)
        used->of[VR_BUDGET_INTERFACES] += !strcmp(i->vr, vr);
    vec_foreach (&model_tunnels(m)->tunnel, t)
        used->of[VR_BUDGET_TUNNELS] += !strcmp(t->vr, vr);
}

static void check_vr(const struct model *m, const char *vr, const struct vr_limits *limits,
                     unsigned line, bool files, struct errors *e)
{
    static const struct {
        enum vr_budget_kind kind;
        const char *has, *remedy;
    } checks[] = {
        {VR_BUDGET_INTERFACES, "it has", "delete some"},
        {VR_BUDGET_TUNNELS, "it has", "delete some"},
        {VR_BUDGET_RULES, "its access lists have", "delete some or bind fewer"},
        {VR_BUDGET_SET_MEMBERS, "its access lists have", "delete some or bind fewer"},
    };
    struct vr_limits used = {0};
    char command[48];

    if (limits->of[VR_BUDGET_INTERFACES] || limits->of[VR_BUDGET_TUNNELS])
        count_configured(m, vr, &used);
    if (limits->of[VR_BUDGET_RULES] || limits->of[VR_BUDGET_SET_MEMBERS])
        count_bound(m, vr, files, &used);
    for (unsigned i = 0; i < sizeof checks / sizeof *checks; i++) {
        uint64_t n = used.of[checks[i].kind], most = limits->of[checks[i].kind];
        const struct vr_budget_info *info = &vr_budget_info[checks[i].kind];

        if (most && n > most)
            errors_add_of(e, vr, line,
                          "vr %s: %s %lu %s, and its budget '%s' is %lu: %s, or raise the budget: "
                          "%s %s %lu",
                          vr, checks[i].has, n, info->unit, info->word, most, checks[i].remedy,
                          raise_command(vr, command, sizeof command), info->word, n);
    }
}

void vr_budget_check(const struct model *m, bool files, struct errors *e)
{
    check_vr(m, VR_DEFAULT_NAME, &model_vrs(m)->set.budget, 0, files, e);
    vec_foreach (&model_vrs(m)->vr, v)
        check_vr(m, v->name, &v->set.budget, v->line, files, e);
}

// --- use of budgets ------------------------------------------------------------------------------

static struct {
    uint64_t at_ns;
    uint64_t punted[VR_MAX]; // total
    uint64_t rate[VR_MAX];   // packets per second, recent
} punts;

static struct { // existing ones
    uint32_t changes; // version of the table when they were counted
    uint16_t n[VR_MAX], n_tunnels[VR_MAX];
} interfaces;

static void count_interfaces(bool again)
{
    if (!again && interfaces.changes == iface_changes())
        return;
    memset(&interfaces, 0, sizeof interfaces);
    interfaces.changes = iface_changes();
    for (uint16_t id = 1; id < iface_id_end(); id++) {
        const struct iface *i = iface_get(id);
        interfaces.n[i->vr] += i->kind != IFACE_NONE;
        interfaces.n_tunnels[i->vr] += i->kind == IFACE_TUNNEL;
    }
}

void vr_budget_look(uint64_t now_ns)
{
    static uint64_t sum[VR_MAX];
    const struct counter_block *c = counter_of_slot(THREAD_SLOT_TAP_MANAGER);
    uint64_t passed_ns = now_ns - punts.at_ns;

    memset(sum, 0, sizeof sum);
    for (unsigned i = 1; i < IFACE_MAX; i++)
        if (iface_get((uint16_t)i)->kind != IFACE_NONE)
            sum[iface_get((uint16_t)i)->vr] +=
                __atomic_load_n(&c->iface[i].punt_packets, __ATOMIC_RELAXED);
    for (unsigned v = 0; v < VR_MAX; v++) {
        uint64_t grown = sum[v] > punts.punted[v] ? sum[v] - punts.punted[v] : 0;

        punts.rate[v] = punts.at_ns && passed_ns ? grown * NS_PER_SECOND / passed_ns : 0;
        punts.punted[v] = sum[v];
    }
    punts.at_ns = now_ns;
    count_interfaces(true); // a new one may not have been in the table at the last count
}

unsigned vr_budget_captures(uint16_t vr)
{
    unsigned n = 0;

    for (unsigned f = 0; f < FEATURE_N; f++)
        n += features[f]->captures ? features[f]->captures(vr) : 0;
    return n;
}

struct vr_limits vr_budget_used(uint16_t vr, const struct rib_stats *r)
{
    struct vr_limits used = running_bound(vr);

    count_interfaces(false);
    used.of[VR_BUDGET_INTERFACES] = interfaces.n[vr];
    used.of[VR_BUDGET_TUNNELS] = interfaces.n_tunnels[vr];
    used.of[VR_BUDGET_IPV4_ROUTES] = r->budget.routes[0];
    used.of[VR_BUDGET_IPV6_ROUTES] = r->budget.routes[1];
    used.of[VR_BUDGET_LABELS] = r->budget.labels;
    used.of[VR_BUDGET_NEXTHOPS] = r->budget.nexthops;
    used.of[VR_BUDGET_NEIGHBORS] = r->budget.neighbors;
    used.of[VR_BUDGET_MEMORY] = r->budget.memory;
    used.of[VR_BUDGET_CAPTURES] = vr_budget_captures(vr);
    used.of[VR_BUDGET_PUNT_RATE] = punts.rate[vr];
    return used;
}

// Number of routes that wait for space, or of neighbors refused since the start.
static void write_refused(struct jwrite *j, unsigned kind, const struct rib_budget_stats *b)
{
    if (kind == VR_BUDGET_IPV4_ROUTES || kind == VR_BUDGET_IPV6_ROUTES)
        jwrite_u64(j, "waiting", b->waiting[kind - VR_BUDGET_IPV4_ROUTES]);
    else if (kind == VR_BUDGET_LABELS)
        jwrite_u64(j, "refused", b->refused_labels);
    else if (kind == VR_BUDGET_NEIGHBORS)
        jwrite_u64(j, "refused", b->refused_neighbors);
}

void vr_budget_write(struct jwrite *j, uint16_t vr, const struct rib_stats *r)
{
    struct vr_limits used = vr_budget_used(vr, r);

    jwrite_begin(j, "budget", '[');
    for (unsigned k = 0; k < VR_BUDGET_N; k++) {
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "name", vr_budget_info[k].word);
        jwrite_string(j, "unit", vr_budget_info[k].unit);
        jwrite_u64(j, "used", used.of[k]);
        if (vr_budget_limit(vr, k))
            jwrite_u64(j, "limit", vr_budget_limit(vr, k));
        write_refused(j, k, &r->budget);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}
