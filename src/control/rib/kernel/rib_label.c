// SPDX-License-Identifier: BSD-3-Clause
// rib_label.c - routes of MPLS labels, from the kernel into table/label.h (rib_label.h)
#include "rib/rib_label.h"

#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "netlink/netns.h"
#include "rib/journal.h"
#include "rib/vr.h"
#include "table/iface.h"
#include "table/label.h"
#include "table/vr_budget.h"

#define STAGES (1u << RIB_STAGE_LABEL | 1u << RIB_STAGE_NETCONF_LABEL)
#define READ_NS NS_PER_SECOND

// --- table/label.h follows the store ---

// Only ENCAPs, and groups of them, can forward a label.
static uint32_t nexthop_for_table(const struct rib_label *l)
{
    enum nexthop_kind kind = nexthop_word_kind(nexthop_word(nexthop_get(l->set.id)));

    return !l->encap && (kind == NEXTHOP_ENCAP || kind == NEXTHOP_GROUP) ? l->set.id : 0;
}

static void install(struct rib_vr *v, struct rib_label *l, uint32_t is, uint8_t was_protocol)
{
    uint32_t was = l->nexthop;
    struct prefix p = prefix_of_label(l->label);

    if (was == is)
        return;
    if (label_set(v->id, l->label, is)) {
        log_error("rib: no memory for a label: vr=%u label=%u", v->id, l->label);
        is = 0;
        label_set(v->id, l->label, 0);
    }
    nexthop_hold(is);
    if (is)
        journal_describe_nexthop(v, &l->set, &p, is);
    journal_route(v->id, &p, was, was_protocol, is, l->protocol);
    nexthop_put(was);
    l->nexthop = is;
    v->labels.n_installed += (is != 0) - (was != 0);
    v->labels.updates++;
}

static void free_label(struct rib_vr *v, struct rib_label *l)
{
    install(v, l, 0, l->protocol);
    rib_map_del(&v->labels.of, l->label);
    hop_set_clear(v, &l->set);
    free(l);
}

static void free_all(struct rib_vr *v)
{
    struct rib_label *l;

    rib_map_each (&v->labels.of, l)
        free_label(v, l);
}

// --- events and rows ---

static bool is_same(const struct rib_label *l, const struct netlink_route *m)
{
    bool same = l->protocol == m->protocol && l->encap == m->encap && l->set.n == m->n_hops;

    for (unsigned i = 0; same && i < m->n_hops; i++)
        same = !hop_compare(&l->set.hop[i].key, &m->hop[i]);
    return same;
}

static void fill(struct rib_vr *v, struct rib_label *l, const struct netlink_route *m)
{
    struct netlink_hop hop[NETLINK_HOPS];
    uint8_t was_protocol = l->protocol;

    for (unsigned i = 0; i < m->n_hops; i++) {
        hop[i] = m->hop[i];
        hop[i].dead = false; // the link tells it
    }
    l->protocol = m->protocol;
    l->encap = m->encap;
    l->gen = v->gen;
    l->set.family = IP4;
    hop_set_fill(v, &l->set, hop, m->n_hops, m->n_hops > 1);
    install(v, l, nexthop_for_table(l), was_protocol);
}

// The kernel has MPLS, perhaps only from now on: everything that it showed before is unknown.
static void has_mpls(struct rib_vr *v)
{
    if (v->has_mpls)
        return;
    v->has_mpls = true;
    rib_sync_want(v, STAGES, 0);
}

static void refuse(struct rib_vr *v, uint32_t label)
{
    struct rib_labels *s = &v->labels;

    if (!s->lacks)
        log_warning("rib: not followed by forwarding: vr=%u kind=budget what=\"label %u\"", v->id,
                    label);
    s->lacks = true;
    if (!s->n_refused++)
        s->refused = label;
}

void rib_label_event(struct rib_vr *v, const struct netlink_event *e, bool is_row)
{
    const struct netlink_route *m = &e->route;
    uint32_t label = prefix_label(&m->prefix);
    struct rib_label *l;

    has_mpls(v);
    if (label < LABEL_FIRST || !v->labels.wanted)
        return;
    if (is_row)
        v->sync.checked++;
    else
        rib_sync_touch(v, &m->prefix);
    l = rib_map_find(&v->labels.of, label);
    if (e->del) {
        if (l)
            free_label(v, l);
        return;
    }
    if (l && is_same(l, m)) {
        l->gen = v->gen;
        return;
    }
    if (!l && !vr_budget_has_room(v->id, VR_BUDGET_LABELS, v->labels.of.n)) {
        refuse(v, label);
        return;
    }
    if (is_row)
        rib_sync_diverge(v, &m->prefix,
                         l ? "different in the kernel" : "in the kernel but not in the RIB", 0, 0);
    if (!l) {
        l = calloc(1, sizeof *l);
        bug_on(!l);
        l->label = label;
        rib_map_set(&v->labels.of, label, l);
    }
    fill(v, l, m);
}

void rib_label_dump_begins(struct rib_vr *v)
{
    v->labels.n_refused = 0;
    v->labels.lacks = false;
}

void rib_label_sweep(struct rib_vr *v)
{
    struct rib_label *l;

    rib_map_each (&v->labels.of, l) {
        struct prefix p = prefix_of_label(l->label);

        if (l->gen == v->gen)
            continue;
        rib_sync_diverge(v, &p, "no longer in the kernel", 0, 0);
        free_label(v, l);
        v->swept++;
    }
}

// --- links that accept labels ---

// A router of a VRF keeps the routes only while it can receive labels.
static void check_wanted(struct rib_vr *v)
{
    bool wanted = v->table == RIB_TABLE_MAIN;
    struct rib_link *l;

    if (!wanted)
        rib_map_each (&v->link, l)
            wanted |= l->iface && l->labels;
    if (wanted == v->labels.wanted)
        return;
    v->labels.wanted = wanted;
    if (wanted)
        rib_sync_want(v, 1u << RIB_STAGE_LABEL, 0);
    else
        free_all(v);
}

void rib_label_netconf(struct rib_vr *v, const struct netlink_netconf *m, bool del)
{
    struct rib_link *l = del ? rib_link_find(v, m->ifindex) : rib_link_get(v, m->ifindex);

    has_mpls(v);
    if (!l || !(del || m->has_labels))
        return;
    l->labels = !del && m->labels;
    rib_label_bound(v, l);
}

void rib_label_bound(struct rib_vr *v, const struct rib_link *l)
{
    if (!l->iface)
        return;
    iface_set_mpls(l->iface, l->labels);
    check_wanted(v);
}

void rib_label_unbound(struct rib_vr *v, uint16_t iface)
{
    iface_set_mpls(iface, false);
    check_wanted(v);
}

// --- changes around the routes ---

void rib_label_rehop(struct rib_vr *v, int ifindex)
{
    struct rib_label *l;

    rib_map_each (&v->labels.of, l)
        if ((!ifindex || hop_set_uses(&l->set, ifindex)) && hop_set_resolve(v, &l->set))
            install(v, l, nexthop_for_table(l), l->protocol);
}

void rib_label_vr_changed(struct rib_vr *v)
{
    rib_vr_each (other) {
        struct rib_link *l;

        if (!other->labels.of.n || !rib_vr_shares(v, other))
            continue;
        rib_map_each (&other->link, l)
            if (l->n_legs && (v->table == RIB_TABLE_MAIN ? !strcmp(l->name, "lo")
                                                         : l->told.vrf_table == v->table))
                rib_label_rehop(other, l->ifindex);
    }
}

// They are those of the namespace; its routers need not read them one by one.
static bool reads_sysctls(const struct rib_vr *v)
{
    rib_vr_each (other)
        if (rib_vr_shares(v, other) && other->id < v->id)
            return false;
    return v->has_mpls;
}

static void read_sysctls(struct rib_vr *v)
{
    int back = netns_enter(v->netns), propagate, ttl;

    if (back < 0 && v->netns >= 0)
        return;
    propagate = netns_sysctl_get("mpls/ip_ttl_propagate", "");
    ttl = netns_sysctl_get("mpls/default_ttl", "");
    netns_leave(back);
    if (propagate < 0 || ttl <= 0)
        return;
    rib_vr_each (other)
        if (other == v || rib_vr_shares(v, other))
            vr_set_mpls(other->id, (struct vr_mpls){propagate > 0, (uint8_t)ttl});
}

static void shed_excess(struct rib_vr *v)
{
    uint64_t limit = vr_budget_limit(v->id, VR_BUDGET_LABELS);
    struct rib_label *l;

    rib_map_each (&v->labels.of, l) {
        if (!limit || v->labels.of.n <= limit)
            return;
        refuse(v, l->label);
        free_label(v, l);
    }
}

// Linux announces neither of the sysctls.
void rib_label_tick(struct rib_vr *v, uint64_t now_ns)
{
    if (!v->has_mpls || now_ns - v->labels.read_ns < READ_NS)
        return;
    v->labels.read_ns = now_ns;
    if (reads_sysctls(v))
        read_sysctls(v);
    shed_excess(v);
    if (v->labels.lacks && vr_budget_has_room(v->id, VR_BUDGET_LABELS, v->labels.of.n)) {
        v->labels.lacks = false;
        rib_sync_want(v, 1u << RIB_STAGE_LABEL, NS_PER_SECOND);
    }
}

void rib_label_init(struct rib_vr *v)
{
    int back = netns_enter(v->netns);

    v->has_mpls = netns_sysctl_get("mpls/platform_labels", "") >= 0;
    netns_leave(back);
    v->labels.wanted = v->table == RIB_TABLE_MAIN;
}

void rib_label_fini(struct rib_vr *v)
{
    struct rib_label *l;

    label_table_drop(v->id);
    rib_map_each (&v->labels.of, l) {
        nexthop_put(l->nexthop);
        hop_set_clear(v, &l->set);
        free(l);
    }
    rib_map_fini(&v->labels.of);
}

// --- report and audit ---

void rib_label_report(struct rib_vr *v, struct rib_unfollowed *u)
{
    struct rib_label *l;
    char text[PREFIX_TEXT_MAX];

    rib_map_each (&v->labels.of, l) {
        struct prefix p = prefix_of_label(l->label);

        if (v->labels.n_installed == v->labels.of.n)
            break;
        if (!l->nexthop)
            rib_unfollowed_add(u, l->set.lacks ? UNFOLLOWED_BUDGET : UNFOLLOWED_MPLS, 1,
                               prefix_format(&p, text));
    }
    if (v->labels.n_refused) {
        struct prefix p = prefix_of_label(v->labels.refused);
        rib_unfollowed_add(u, UNFOLLOWED_BUDGET, v->labels.n_refused, prefix_format(&p, text));
    }
}

void rib_label_compare(struct rib_vr *v)
{
    struct rib_label *l;

    rib_map_each (&v->labels.of, l) {
        struct prefix p = prefix_of_label(l->label);

        if (label_get(v->id, l->label) == l->nexthop)
            continue;
        rib_audit_finding(v, &p, "forwarders had a different next hop");
        label_set(v->id, l->label, l->nexthop);
    }
}
