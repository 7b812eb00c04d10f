// SPDX-License-Identifier: BSD-3-Clause
// model.c - a configuration as plain structs: what the managers are told
#include "mgmt/model.h"

#include <libyang/libyang.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "mgmt/config_tree.h"
#include "mgmt/yang.h"

static uint64_t number_of(const struct lyd_node *first, const char *leaf, uint64_t absent)
{
    const char *v = config_value(first, leaf);

    return v ? strtoull(v, NULL, 10) : absent;
}

static bool is_true(const struct lyd_node *first, const char *leaf)
{
    const char *v = config_value(first, leaf);

    return v && !strcmp(v, "true");
}

static void copy_of(char *to, size_t size, const struct lyd_node *first, const char *leaf,
                    const char *absent)
{
    const char *v = config_value(first, leaf);

    snprintf(to, size, "%s", v ? v : absent);
}

// Line to blame for an entry: of the leaf that decides, else of the entry, else of any of its
// leaves (an edit of an old entry).
static unsigned line_of(const struct lyd_node *entry, const char *leaf)
{
    unsigned any = config_line_of(entry);

    for (const struct lyd_node *c = lyd_child(entry); c; c = c->next) {
        if (leaf && config_line_of(c) && !strcmp(c->schema->name, leaf))
            return config_line_of(c);
        if (!any)
            any = config_line_of(c);
    }
    return any;
}

static int index_of(const char *const *words, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (word && !strcmp(words[i], word))
            return (int)i;
    return -1;
}

static uint8_t read_engine(const struct lyd_node *first, uint8_t absent)
{
    const char *v = config_value(first, "fib-engine");

    for (unsigned e = 0; v && e < FIB_ENGINES; e++)
        if (!strcmp(v, fib_engine_name((enum fib_engine)e)))
            return (uint8_t)e;
    return absent;
}

static struct flow_hash read_flow_hash(const struct lyd_node *first, struct flow_hash absent)
{
    const char *mode = config_value(first, "flow-hash"), *label = config_value(first, "flow-label");
    struct flow_hash h = absent;

    for (unsigned m = 0; mode && flow_hash_name(m); m++)
        if (!strcmp(mode, flow_hash_name(m)))
            h.mode = (uint8_t)m;
    if (label)
        h.label = !strcmp(label, "true");
    h.seed = (uint32_t)number_of(first, "flow-hash-seed", absent.seed);
    return h;
}

// The settings' seed and the name make one that no other virtual router has: a packet that passes two of them is
// not to be split alike by both.
static uint32_t seed_of_name(uint32_t seed, const char *name)
{
    uint32_t own = seed ? (uint32_t)hash_bytes(name, strlen(name), seed) : 0;

    return own || !seed ? own : 1;
}

static uint32_t read_limit(const struct lyd_node *first, const char *leaf, uint32_t absent)
{
    return (uint32_t)number_of(first, leaf, absent);
}

static void read_punt(struct model *m, const struct lyd_node *entry)
{
    const struct lyd_node *first = lyd_child(entry);
    int class = index_of(punt_class_name, PUNT_CLASS_N, config_value(first, "class"));

    bug_on(class < 0);
    struct punt_limit *p = &m->settings.punt[class];
    p->per_s = read_limit(first, "rate", p->per_s);
    p->burst = read_limit(first, "burst", p->burst);
    p->queue = read_limit(first, "queue", p->queue);
}

static void read_icmp(struct icmp_limit *l, const struct lyd_node *first)
{
    l->per_s = read_limit(first, "rate", icmp_limit_default.per_s);
    l->burst = read_limit(first, "burst", icmp_limit_default.burst);
    l->total_per_s = read_limit(first, "total-rate", icmp_limit_default.total_per_s);
    l->total_burst = read_limit(first, "total-burst", icmp_limit_default.total_burst);
}

static void read_settings(struct model_settings *s, const struct lyd_node *tree)
{
    static const char *const levels[] = {"error", "warning", "notice", "info", "debug"};
    static const char *const idles[] = {"performance", "balanced", "powersave"};
    static const char *const options[] = {"drop", "ignore", "process"};
    const struct lysc_node *forwarding = yang_child(NULL, "forwarding", true),
                           *netlink = yang_child(NULL, "netlink", true);
    const struct lyd_node *how = lyd_child(config_find(tree, forwarding, NULL));
    int level = index_of(levels, 5, config_value(tree, "log-level"));
    int idle = index_of(idles, 3, config_value(how, "idle"));
    int option = index_of(options, 3, config_value(how, "ipv4-options"));
    const char *pages = config_value(tree, "huge-pages");

    s->engine = read_engine(tree, FIB_POPTRIE);
    s->memory_mib = (unsigned)number_of(tree, "memory", 0);
    s->no_huge = pages && !strcmp(pages, "never");
    s->log_level = level < 0 ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR + level;
    s->idle = idle < 0 ? IDLE_BALANCED : (enum idle_mode)idle;
    s->receive_buffer = (uint32_t)number_of(lyd_child(config_find(tree, netlink, NULL)),
                                            "receive-buffer", 268435456);
    s->journal_mib = (uint32_t)number_of(
        lyd_child(config_find(tree, yang_child(NULL, "journal", true), NULL)), "size", 64);
    s->audit_interval_s = (uint32_t)number_of(
        lyd_child(config_find(tree, yang_child(NULL, "fib-audit", true), NULL)), "interval", 300);
    s->ip4_options = option < 0 ? IP4_OPTIONS_DROP : (uint8_t)option;
    s->flow_hash = read_flow_hash(how, flow_hash_default);
    memcpy(s->punt, punt_limit_default, sizeof s->punt);
    read_icmp(&s->icmp, lyd_child(config_find(tree, yang_child(NULL, "icmp", true), NULL)));
}

static void read_port(struct model *m, const struct lyd_node *entry)
{
    struct model_port *p = vec_push(&m->port);
    struct port_config *c = &p->config;
    const struct lyd_node *first = lyd_child(entry);
    const char *mac = config_value(first, "mac");

    memset(p, 0, sizeof *p);
    copy_of(c->name, sizeof c->name, first, "name", "");
    copy_of(c->devargs, sizeof c->devargs, first, "devargs", "");
    copy_of(c->netns, sizeof c->netns, first, "namespace", "");
    c->rx_queues = (uint16_t)number_of(first, "rx-queues", 0);
    c->tx_queues = (uint16_t)number_of(first, "tx-queues", 0);
    c->rx_descriptors = (uint16_t)number_of(first, "rx-descriptors", 0);
    c->tx_descriptors = (uint16_t)number_of(first, "tx-descriptors", 0);
    c->mtu = (uint16_t)number_of(first, "mtu", 1500);
    c->promiscuous = is_true(first, "promiscuous");
    c->enabled = is_true(first, "enabled");
    c->has_mac = mac && !text_parse_mac(mac, c->mac);
    snprintf(p->vr, sizeof p->vr, VR_DEFAULT_NAME);
    p->line = line_of(entry, "devargs");
    model_read_mirrors(m, entry);
}

static uint16_t read_tpid(const struct lyd_node *first)
{
    const char *v = config_value(first, "tpid");

    return v ? (uint16_t)strtoul(v, NULL, 16) : 0x88a8;
}

static void read_vport(struct model *m, const struct lyd_node *entry)
{
    struct model_vport *v = vec_push(&m->vport);
    const struct lyd_node *first = lyd_child(entry);

    memset(v, 0, sizeof *v);
    copy_of(v->name, sizeof v->name, first, "name", "");
    copy_of(v->port, sizeof v->port, first, "port", "");
    v->tags.vlan = (uint16_t)number_of(first, "vlan", 0);
    v->tags.outer = (uint16_t)number_of(first, "outer-vlan", 0);
    v->tags.tpid = v->tags.outer ? read_tpid(first) : 0;
    v->has_tpid = config_value(first, "tpid");
    v->mtu = (uint16_t)number_of(first, "mtu", 0);
    snprintf(v->vr, sizeof v->vr, VR_DEFAULT_NAME);
    v->line = line_of(entry, NULL);
}

static void read_vr(struct model *m, const struct lyd_node *entry)
{
    struct model_vr *v = vec_push(&m->vr);
    const struct lyd_node *first = lyd_child(entry);

    memset(v, 0, sizeof *v);
    copy_of(v->name, sizeof v->name, first, "name", "");
    copy_of(v->netns, sizeof v->netns, first, "namespace", "");
    v->table = (uint32_t)number_of(first, "table", 254);
    v->engine = read_engine(first, m->settings.engine);
    struct flow_hash inherited = m->settings.flow_hash;
    inherited.seed = seed_of_name(inherited.seed, v->name);
    v->flow_hash = read_flow_hash(first, inherited);
    v->line = line_of(entry, "namespace");
    v->engine_line = line_of(entry, "fib-engine");
}

static uint8_t read_urpf(const struct lyd_node *first, const char *family)
{
    static const char *const modes[] = {"off", "loose", "strict", "feasible"};
    int mode = index_of(modes, 4, config_value(first, family));

    return mode <= 0 ? URPF_OFF : (uint8_t)(mode | (is_true(first, "allow-default") ? URPF_ALLOW_DEFAULT : 0));
}

static void read_policy(struct iface_policy *p, const struct lyd_node *entry)
{
    const struct lyd_node *urpf = lyd_child(config_find(lyd_child(entry), yang_child(entry->schema, "urpf", true), NULL));

    p->urpf[0] = read_urpf(urpf, "ipv4");
    p->urpf[1] = read_urpf(urpf, "ipv6");
    p->redirect = is_true(lyd_child(entry), "redirect");
    p->directed_broadcast = is_true(lyd_child(entry), "directed-broadcast");
}

static void read_interface(struct model *m, const struct lyd_node *entry)
{
    struct model_interface *i = vec_push(&m->interface);
    const struct lyd_node *first = lyd_child(entry);

    memset(i, 0, sizeof *i);
    copy_of(i->name, sizeof i->name, first, "name", "");
    copy_of(i->vr, sizeof i->vr, first, "vr", VR_DEFAULT_NAME);
    i->line = line_of(entry, "vr");
    read_policy(&i->policy, entry);
    i->policy_line = line_of(entry, NULL);
}

static void read_thread_port(struct model *m, int core, const struct lyd_node *entry)
{
    const struct lysc_node *queue = yang_child(entry->schema, "rx-queue", true);
    struct lyd_nodes v = {0};

    config_children(lyd_child(entry), queue, &v);
    for (size_t i = 0; i < v.n; i++) {
        struct thread_assignment *a = vec_push(&m->thread);

        memset(a, 0, sizeof *a);
        a->core = core;
        copy_of(a->port, sizeof a->port, lyd_child(entry), "name", "");
        a->queue = (uint16_t)strtoul(lyd_get_value(v.item[i]), NULL, 10);
        *vec_push(&m->thread_line) = config_line_of(v.item[i]);
    }
    free(v.item);
}

static void read_thread(struct model *m, const struct lyd_node *entry)
{
    int core = (int)number_of(lyd_child(entry), "core", 0);
    const struct lysc_node *forwarder = yang_child(entry->schema, "forwarder", true);
    const struct lyd_node *f = config_find(lyd_child(entry), forwarder, NULL);
    struct lyd_nodes v = {0};

    config_children(lyd_child(f), yang_child(forwarder, "port", true), &v);
    for (size_t i = 0; i < v.n; i++)
        read_thread_port(m, core, v.item[i]);
    free(v.item);
}

static void read_list(struct model *m, const struct lyd_node *tree, const char *name,
                      void (*read)(struct model *m, const struct lyd_node *entry))
{
    struct lyd_nodes v = {0};

    config_children(tree, yang_child(NULL, name, true), &v);
    for (size_t i = 0; i < v.n; i++)
        read(m, v.item[i]);
    free(v.item);
}

static void read_multicast(struct model *m, const struct lyd_node *tree)
{
    const struct lysc_node *multicast = yang_child(NULL, "multicast", true);
    struct lyd_nodes v = {0};

    config_children(lyd_child(config_find(tree, multicast, NULL)), yang_child(multicast, "route", true), &v);
    for (size_t i = 0; i < v.n; i++)
        model_read_multicast(m, v.item[i]);
    free(v.item);
}

#define FIND(vec, member, wanted)                                                                  \
    ({                                                                                             \
        size_t lo = 0, hi = (vec).n;                                                               \
        while (lo < hi) {                                                                          \
            size_t mid = (lo + hi) / 2;                                                            \
            int d = natural_compare((vec).item[mid].member, wanted);                               \
            d = d ? d : strcmp((vec).item[mid].member, wanted);                                    \
            if (!d) {                                                                              \
                lo = mid;                                                                          \
                break;                                                                             \
            }                                                                                      \
            if (d < 0)                                                                             \
                lo = mid + 1;                                                                      \
            else                                                                                   \
                hi = mid;                                                                          \
        }                                                                                          \
        lo < hi ? &(vec).item[lo] : NULL;                                                          \
    })

struct model_vr *model_find_vr(const struct model *m, const char *name)
{
    return FIND(m->vr, name, name);
}

struct model_port *model_find_port(const struct model *m, const char *name)
{
    return FIND(m->port, config.name, name);
}

struct model_vport *model_find_vport(const struct model *m, const char *name)
{
    return FIND(m->vport, name, name);
}

// Puts each interface's virtual router and policy where apply looks for them.
static void bind_interfaces(struct model *m)
{
    vec_foreach (&m->interface, i) {
        struct model_port *p = model_find_port(m, i->name);
        struct model_vport *v = model_find_vport(m, i->name);

        if (p) {
            memcpy(p->vr, i->vr, sizeof p->vr);
            p->vr_line = i->line;
            p->policy = i->policy;
            p->policy_line = i->policy_line;
        }
        if (v) {
            memcpy(v->vr, i->vr, sizeof v->vr);
            v->vr_line = i->line;
            v->policy = i->policy;
            v->policy_line = i->policy_line;
        }
    }
}

static void inherit_mtu(struct model *m)
{
    vec_foreach (&m->vport, v) {
        const struct model_port *p = model_find_port(m, v->port);

        if (!v->mtu && p)
            v->mtu = p->config.mtu;
    }
}

struct model *model_new(const struct lyd_node *tree, struct errors *e)
{
    struct model *m = calloc(1, sizeof *m);

    bug_on(!m);
    read_settings(&m->settings, tree);
    read_list(m, tree, "vr", read_vr);
    read_list(m, tree, "port", read_port);
    read_list(m, tree, "vport", read_vport);
    read_list(m, tree, "interface", read_interface);
    read_list(m, tree, "thread", read_thread);
    read_list(m, tree, "punt", read_punt);
    read_multicast(m, tree);
    bind_interfaces(m);
    inherit_mtu(m);
    return m;
}

void model_free(struct model *m)
{
    if (!m)
        return;
    vec_free(&m->vr);
    vec_free(&m->port);
    vec_free(&m->vport);
    vec_free(&m->interface);
    vec_free(&m->mirror);
    vec_free(&m->multicast);
    vec_free(&m->thread);
    vec_free(&m->thread_line);
    free(m);
}
