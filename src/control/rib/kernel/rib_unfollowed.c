// SPDX-License-Identifier: BSD-3-Clause
// rib_unfollowed.c - rules and routes that Linux follows and forwarding does not
//
// The FIB is one table, looked up by destination. Linux may search more tables, in the order of its
// rules, and choose a route by TOS or source as well. This file keeps such rules and routes by a
// hash of their content, so that a repeated announcement counts once, and a dump sweeps those
// deleted silently by Linux. The first item of each kind is the example shown to the operator.
//
// Forwarding already behaves like the rules that every namespace begins with: here a missing one
// counts.
#include "rib/vr.h"

#include <linux/lwtunnel.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"

#define TABLE_DEFAULT 253
#define RULE_L3MDEV 1000
#define RULE_MAIN 32766
#define RULE_DEFAULT 32767

static const struct {
    const char *word;
    bool counts;
} kinds[UNFOLLOWED_KIND_N] = {
#define UNFOLLOWED(name, word, counts, sentence) {word, counts},
#include "rib/unfollowed.def"
#undef UNFOLLOWED
};

struct item {
    uint8_t kind, gen; // enum rib_unfollowed_kind
    uint8_t family;
    struct prefix prefix, source;
    uint32_t number; // priority, TOS or table
    uint32_t table, selectors; // of a rule
};

// --- store ---

static uint32_t key_of(const struct item *i)
{
    uint64_t h = hash_mix64((uint64_t)i->kind << 40 | (uint64_t)i->family << 32 | i->number) ^
                 hash_mix64((uint64_t)i->table << 32 | i->selectors);

    h = hash_bytes(i->prefix.b, 16, h ^ (uint64_t)i->prefix.len << 48);
    return (uint32_t)hash_bytes(i->source.b, 16, h ^ (uint64_t)i->source.len << 48) | 1;
}

static const char *item_text(const struct item *i, char *buf, size_t n)
{
    char prefix[PREFIX_TEXT_MAX], source[PREFIX_TEXT_MAX];

    switch (i->kind) {
    case UNFOLLOWED_RULE:
        snprintf(buf, n, i->table ? "IPv%u rule %u: lookup %u" : "IPv%u rule %u", i->family,
                 i->number, i->table);
        break;
    case UNFOLLOWED_TOS:
        snprintf(buf, n, "%s tos 0x%02x", prefix_format(&i->prefix, prefix), i->number);
        break;
    case UNFOLLOWED_SOURCE:
        snprintf(buf, n, "%s from %s", prefix_format(&i->prefix, prefix),
                 prefix_format(&i->source, source));
        break;
    default: snprintf(buf, n, "%s table %u", prefix_format(&i->prefix, prefix), i->number); break;
    }
    return buf;
}

static void keep_item(struct rib_vr *v, const struct item *what)
{
    uint32_t key = key_of(what);
    struct item *i = rib_map_find(&v->unfollowed, key);
    char text[RIB_UNFOLLOWED_TEXT];

    if (!i) {
        i = malloc(sizeof *i);
        bug_on(!i);
        *i = *what;
        rib_map_set(&v->unfollowed, key, i);
        log_warning("rib: not followed by forwarding: vr=%u kind=%s what=\"%s\"", v->id,
                    kinds[i->kind].word, item_text(i, text, sizeof text));
    }
    i->gen = v->gen;
}

static void forget_item(struct rib_vr *v, uint32_t key)
{
    free(rib_map_find(&v->unfollowed, key));
    rib_map_del(&v->unfollowed, key);
}

static enum rib_stage stage_of(const struct item *i)
{
    switch (i->kind) {
    case UNFOLLOWED_RULE: return i->family == IP6 ? RIB_STAGE_RULE6 : RIB_STAGE_RULE4;
    default: return i->family == IP6 ? RIB_STAGE_ROUTE6 : RIB_STAGE_ROUTE4;
    }
}

void rib_unfollowed_sweep(struct rib_vr *v, enum rib_stage stage)
{
    struct item *i;

    rib_map_each (&v->unfollowed, i)
        if (stage_of(i) == stage && i->gen != v->gen)
            forget_item(v, key_of(i));
    for (unsigned n = 0;
         n < RIB_DEFAULT_RULES && (stage == RIB_STAGE_RULE4 || stage == RIB_STAGE_RULE6); n++) {
        struct rib_default_rule *r = &v->default_rule[stage == RIB_STAGE_RULE6][n];
        r->there &= r->gen == v->gen;
    }
}

void rib_unfollowed_fini(struct rib_vr *v)
{
    struct item *i;

    rib_map_each (&v->unfollowed, i)
        free(i);
    rib_map_fini(&v->unfollowed);
}

// --- rules ---

// Rules that every namespace begins with; NOT_DEFAULT: none of them. Other harmless rules are
// HARMLESS: the table `default` is judged by its routes, and a VRF's tables have virtual routers of
// their own. The local table may be searched later, as VRF devices require, as long as that is
// before main.
enum { LOCAL, LOCAL_LATER, MAIN, HARMLESS, NOT_DEFAULT };
_Static_assert(HARMLESS == RIB_DEFAULT_RULES, "missed routes");

static int which_default(const struct netlink_rule *m)
{
    if (m->plain && m->priority < RULE_MAIN && m->table == RIB_TABLE_LOCAL)
        return m->priority ? LOCAL_LATER : LOCAL;
    if (m->plain && m->priority == RULE_MAIN && m->table == RIB_TABLE_MAIN)
        return MAIN;
    if ((m->plain && m->priority == RULE_DEFAULT && m->table == TABLE_DEFAULT) ||
        (m->priority == RULE_L3MDEV && !m->table))
        return HARMLESS;
    return NOT_DEFAULT;
}

void rib_unfollowed_rule(struct rib_vr *v, const struct netlink_rule *m, bool del)
{
    struct item i = {.kind = UNFOLLOWED_RULE,
                     .family = m->family,
                     .number = m->priority,
                     .table = m->table,
                     .selectors = m->selectors};
    int which = which_default(m);

    v->has_rules[m->family == IP6] = true;
    if (which < RIB_DEFAULT_RULES)
        v->default_rule[m->family == IP6][which] = (struct rib_default_rule){!del, v->gen};
    if (which != NOT_DEFAULT ||
        v->table != RIB_TABLE_MAIN) // another table is the configuration's choice
        return;
    if (del)
        forget_item(v, key_of(&i));
    else
        keep_item(v, &i);
}

// --- routes ---

// Why the route is in Linux's lookup but not in the RIB; UNFOLLOWED_KIND_N: it is not.
static enum rib_unfollowed_kind why_route(const struct rib_vr *v, const struct netlink_route *m)
{
    if (m->cloned || !m->type || m->type > RTN_THROW)
        return UNFOLLOWED_KIND_N;
    // Rule 32767 of IPv4, which exists from the start, searches it after main; IPv6 has no such
    // rule.
    if (m->table == TABLE_DEFAULT && v->table == RIB_TABLE_MAIN && m->prefix.family == IP4)
        return UNFOLLOWED_TABLE;
    if (m->table != v->table && !(m->table == RIB_TABLE_LOCAL && v->table == RIB_TABLE_MAIN))
        return UNFOLLOWED_KIND_N;
    return m->tos ? UNFOLLOWED_TOS : m->from ? UNFOLLOWED_SOURCE : UNFOLLOWED_KIND_N;
}

void rib_unfollowed_route(struct rib_vr *v, const struct netlink_route *m, bool del)
{
    struct item i = {.kind = (uint8_t)why_route(v, m),
                     .family = m->prefix.family,
                     .prefix = m->prefix,
                     .source = m->source};

    if (i.kind == UNFOLLOWED_KIND_N)
        return;
    i.number = i.kind == UNFOLLOWED_TOS ? m->tos : i.kind == UNFOLLOWED_TABLE ? m->table : 0;
    if (del)
        forget_item(v, key_of(&i));
    else
        keep_item(v, &i);
}

// --- report ---

void rib_unfollowed_add(struct rib_unfollowed *u, enum rib_unfollowed_kind kind, uint64_t n,
                        const char *example)
{
    struct rib_unfollowed_of *of = &u->of[kind];

    if (!of->n && example)
        snprintf(of->example, sizeof of->example, "%s", example);
    of->n += n;
    if (kinds[kind].counts)
        u->n += n;
}

static void report_missing(struct rib_unfollowed *u, bool there, bool six, const char *table)
{
    char text[RIB_UNFOLLOWED_TEXT];

    if (there)
        return;
    snprintf(text, sizeof text,
             "IPv%u rule 'lookup %s' is missing: forwarding continues as if it were there",
             six ? 6 : 4, table);
    rib_unfollowed_add(u, UNFOLLOWED_RULE, 1, text);
}

static void report_rules(struct rib_vr *v, struct rib_unfollowed *u)
{
    for (unsigned six = 0; v->synced && v->table == RIB_TABLE_MAIN && six < 2; six++) {
        const struct rib_default_rule *r = v->default_rule[six];

        if (!v->has_rules[six])
            continue;
        report_missing(u, r[LOCAL].there || r[LOCAL_LATER].there, six, "local");
        report_missing(u, r[MAIN].there, six, "main");
    }
}

// The path leaves by a link that is not one of our interfaces, for example a management port.
// Routes to the link's own subnets are not meant for forwarding and do not count.
static bool leaves_elsewhere(struct rib_vr *v, struct rib_path *p)
{
    const struct hop_set *s = rib_path_hops(p);

    if (p->type != RTN_UNICAST || !s->n)
        return false;
    for (unsigned i = 0; i < s->n; i++) {
        const struct rib_link *l = rib_link_find(v, s->hop[i].key.ifindex);
        if (!s->hop[i].key.gateway.family || !l || l->via)
            return false;
    }
    return true;
}

// Labels without a gateway, on a link with many hosts.
static bool lacks_gateway(struct rib_path *p)
{
    const struct hop_set *s = rib_path_hops(p);

    return s->n && s->hop[0].key.labels.n && !s->hop[0].key.gateway.family &&
           s->id == nexthop_shared(NEXTHOP_UNREACHABLE);
}

static uint8_t encap_of(struct rib_path *p)
{
    return p->encap ? p->encap : p->object && p->object->encap ? p->object->encap
           : lacks_gateway(p)                                    ? LWTUNNEL_ENCAP_MPLS
                                                                 : 0;
}

// iproute2's name of an encapsulation type; NULL: unknown type, or the route only rewrites the
// packet's destination.
static const char *encap_word(uint8_t encap)
{
    static const char *const word[] = {
        [LWTUNNEL_ENCAP_MPLS] = "mpls",
        [LWTUNNEL_ENCAP_IP] = "ip",
        [LWTUNNEL_ENCAP_ILA] = "ila",
        [LWTUNNEL_ENCAP_IP6] = "ip6",
        [LWTUNNEL_ENCAP_SEG6] = "seg6",
        [LWTUNNEL_ENCAP_BPF] = "bpf",
        [LWTUNNEL_ENCAP_SEG6_LOCAL] = "seg6local",
        [LWTUNNEL_ENCAP_RPL] = "rpl",
        [LWTUNNEL_ENCAP_IOAM6] = "ioam6",
        [LWTUNNEL_ENCAP_XFRM] = "xfrm",
    };

    return encap < sizeof word / sizeof *word ? word[encap] : NULL;
}

// VRF device of another table that the path leads into: Linux then searches that table. NULL: none.
static const struct rib_link *enters_vrf(const struct rib_vr *v, struct rib_path *p)
{
    const struct hop_set *s = rib_path_hops(p);

    for (unsigned i = 0; p->type == RTN_UNICAST && i < s->n; i++) {
        const struct rib_link *l = rib_link_find(v, s->hop[i].key.ifindex);
        if (l && l->told.kind == NETLINK_LINK_VRF && l->told.vrf_table != v->table)
            return l;
    }
    return NULL;
}

static enum rib_unfollowed_kind why_path(struct rib_vr *v, struct rib_path *p)
{
    if (p->type == RTN_THROW && v->table != RIB_TABLE_MAIN)
        return UNFOLLOWED_THROW;
    if (p->type == RTN_UNICAST && (p->encap || (p->object && p->object->unusable)))
        return UNFOLLOWED_ENCAP;
    if (enters_vrf(v, p))
        return UNFOLLOWED_VRF;
    if (rib_path_hops(p)->lacks)
        return UNFOLLOWED_BUDGET;
    if (leaves_elsewhere(v, p))
        return UNFOLLOWED_LINK;
    return lacks_gateway(p) ? UNFOLLOWED_ENCAP : UNFOLLOWED_KIND_N;
}

static void path_text(struct rib_vr *v, struct rib_path *p, enum rib_unfollowed_kind kind,
                      char text[RIB_UNFOLLOWED_TEXT])
{
    struct rib *r = rib_of(v, p->family);
    const struct hop_set *s = rib_path_hops(p);
    char buf[PREFIX_TEXT_MAX];
    struct prefix prefix = rib_trie_prefix(&r->trie, rib_route_at(r, p->head)->node);

    if (kind == UNFOLLOWED_LINK)
        snprintf(text, RIB_UNFOLLOWED_TEXT, "%s dev %s, which is not an interface of kamueed",
                 prefix_format(&prefix, buf), rib_link_find(v, s->hop[0].key.ifindex)->name);
    else if (kind == UNFOLLOWED_VRF)
        snprintf(text, RIB_UNFOLLOWED_TEXT, "%s dev %s", prefix_format(&prefix, buf),
                 enters_vrf(v, p)->name);
    else if (kind == UNFOLLOWED_ENCAP && encap_word(encap_of(p)))
        snprintf(text, RIB_UNFOLLOWED_TEXT, "%s encap %s", prefix_format(&prefix, buf),
                 encap_word(encap_of(p)));
    else if (kind == UNFOLLOWED_BUDGET)
        snprintf(text, RIB_UNFOLLOWED_TEXT, "%s: no next hop", prefix_format(&prefix, buf));
    else
        snprintf(text, RIB_UNFOLLOWED_TEXT, "%s", prefix_format(&prefix, buf));
}

static void report_paths(struct rib_vr *v, struct rib_unfollowed *u)
{
    char text[RIB_UNFOLLOWED_TEXT];

    for (uint32_t id = 1; id < v->path.n; id++) {
        struct rib_path *p = rib_path_at(v, id);
        enum rib_unfollowed_kind kind =
            p && p->n_routes && !p->condemned ? why_path(v, p) : UNFOLLOWED_KIND_N;

        if (kind == UNFOLLOWED_KIND_N)
            continue;
        path_text(v, p, kind, text);
        rib_unfollowed_add(u, kind, p->n_routes, text);
    }
}

// Interface routes in a table without a VRF device; only a VRF device makes them there.
static void report_device(struct rib_vr *v, struct rib_unfollowed *u)
{
    char text[RIB_UNFOLLOWED_TEXT];

    if (!v->synced || v->table == RIB_TABLE_MAIN || v->table == RIB_TABLE_LOCAL ||
        rib_iface_has_vrf(v))
        return;
    snprintf(text, sizeof text,
             "no VRF device has table %u: connected routes of its interfaces are in main",
             v->table);
    rib_unfollowed_add(u, UNFOLLOWED_DEVICE, 1, text);
}

// Prefixes beyond the budget of routes.
static void report_budget(struct rib_vr *v, struct rib_unfollowed *u)
{
    char text[RIB_UNFOLLOWED_TEXT];

    for (unsigned i = 0; i < 2; i++) {
        if (!rib_budget_waiting(&v->rib[i]))
            continue;
        rib_budget_text(&v->rib[i], text, sizeof text);
        rib_unfollowed_add(u, UNFOLLOWED_BUDGET, rib_budget_waiting(&v->rib[i]), text);
    }
}

void rib_unfollowed_report(struct rib_vr *v, struct rib_unfollowed *u)
{
    char text[RIB_UNFOLLOWED_TEXT];
    struct item *i;

    *u = (struct rib_unfollowed){0};
    rib_map_each (&v->unfollowed, i)
        rib_unfollowed_add(u, i->kind, 1, item_text(i, text, sizeof text));
    report_rules(v, u);
    report_paths(v, u);
    report_device(v, u);
    report_budget(v, u);
    rib_label_report(v, u);
}
