// SPDX-License-Identifier: BSD-3-Clause
// ietf.c - state in IETF models, read-only
//
//     /restconf/data/ietf-interfaces:interfaces/…               RFC 8343, ietf-ip (RFC 8344)
//     /restconf/data/ietf-routing:routing/…                     RFC 8349, without the routes,
//     /restconf/data/ietf-routing:routing/ribs/rib=NAME/routes  which are streamed
//
// A rib is one family of a virtual router: default-ipv4. Everything is built from the same tables
// as kamuee:state. The modules are not loaded: they have few lists, all keyed by a name or an
// address.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/vec.h"
#include "feature/queue.h"
#include "feature/route.h"
#include "http/refuse.h"
#include "interface/iface_manager.h"
#include "mgmt/feature.h"
#include "port/port_manager.h"
#include "restconf/path.h"
#include "restconf/reply.h"
#include "restconf/restconf.h"
#include "rib/rib_manager.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/port.h"
#include "table/vr.h"

// --- addresses and neighbors of interfaces -------------------------------------------------------

// The kernel does not report the origin of an address or whether a neighbor is a router, so those
// leaves are missing. Neighbors without a MAC are missing too, because the model requires one.
struct ietf_ip { // rib_manager's rows of interfaces
    VEC(struct address_row) address;
    VEC(struct neigh_row) neighbor;
};

#define IPV6_MTU_MIN 1280 // RFC 8200 5: minimum in the model

// Returns the interface's container of the family; creates it at first use.
static json_t *family_of(json_t *interface, uint16_t id, uint8_t family)
{
    const char *name = family == IP4 ? "ietf-ip:ipv4" : "ietf-ip:ipv6";
    json_t *o = json_object_get(interface, name);
    uint16_t mtu = iface_get(id)->mtu;

    if (o)
        return o;
    o = json_pack("{s:b}", "forwarding", 1);
    if (family == IP4 || mtu >= IPV6_MTU_MIN)
        json_object_set_new(o, "mtu", json_integer(mtu));
    json_object_set_new(interface, name, o);
    return o;
}

static void append_entry(json_t *family, const char *list, json_t *entry)
{
    json_t *all = json_object_get(family, list);

    if (!all)
        json_object_set_new(family, list, all = json_array());
    json_array_append_new(all, entry);
}

static void add_address(json_t *interface, const struct address_row *a)
{
    char ip[IP_TEXT_MAX];
    json_t *o = json_pack("{s:s, s:i}", "ip", ip_format(&a->addr, ip), "prefix-length", a->len);

    if (a->addr.family == IP6)
        json_object_set_new(o, "status", json_string(a->usable ? "preferred" : "tentative"));
    append_entry(family_of(interface, a->iface, a->addr.family), "address", o);
}

static void add_neighbor(json_t *interface, const struct neigh_row *n)
{
    static const uint8_t unknown[6];
    static const char *const states[] = {"incomplete", "reachable", "stale", "delay", "probe"};
    char ip[IP_TEXT_MAX], mac[MAC_TEXT_MAX];

    if (!memcmp(n->mac, unknown, sizeof unknown))
        return;
    json_t *o = json_pack("{s:s, s:s, s:s}", "ip", ip_format(&n->addr, ip), "link-layer-address",
                          text_format_mac(n->mac, mac), "origin",
                          strcmp(n->state, "permanent") ? "dynamic" : "static");
    for (size_t i = 0; n->addr.family == IP6 && i < sizeof states / sizeof *states; i++)
        if (!strcmp(states[i], n->state))
            json_object_set_new(o, "state", json_string(states[i]));
    append_entry(family_of(interface, n->iface_id, n->addr.family), "neighbor", o);
}

static void add_ip(json_t *const interface[], const struct ietf_ip *ip)
{
    vec_foreach (&ip->address, a)
        if (interface[a->iface])
            add_address(interface[a->iface], a);
    vec_foreach (&ip->neighbor, n)
        if (n->iface_id && interface[n->iface_id])
            add_neighbor(interface[n->iface_id], n);
}

// --- interfaces ----------------------------------------------------------------------------------

static json_t *counter_json(uint64_t n)
{
    return json_sprintf("%" PRIu64, n);
}

static json_t *time_json(uint64_t wall_ns)
{
    time_t t = (time_t)(wall_ns / NS_PER_SECOND);
    char text[32];
    struct tm tm;

    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
    return json_string(text);
}

static json_t *statistics_json(const struct iface *i)
{
    struct counter_iface c;

    counter_sum_iface(i->id, &c);
    // These counters never go back: clearing affects only `show`.
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "discontinuity-time",
                     time_json(counter_since_iface(i->id)),
                     "in-octets", counter_json(c.rx_bytes), "in-unicast-pkts",
                     counter_json(c.rx_packets), "in-discards",
                     json_integer((json_int_t)(c.drop_packets & UINT32_MAX)), "out-octets",
                     counter_json(c.tx_bytes), "out-unicast-pkts", counter_json(c.tx_packets),
                     "out-discards",
                     json_integer((json_int_t)(queue_drops_of(i->id) & UINT32_MAX)));
}

static json_t *interface_json(const struct iface *i)
{
    char mac[MAC_TEXT_MAX], description[256];
    struct port_state port;
    bool vport = i->kind == IFACE_VPORT;
    int number = iface_manager_number(i);
    json_t *o = json_pack("{s:s, s:s, s:b, s:s, s:s, s:o, s:s, s:o}", "name", i->name, "type",
                          vport                       ? "iana-if-type:l2vlan"
                          : i->kind == IFACE_METALINK ? "iana-if-type:propVirtual"
                          : i->kind == IFACE_TUNNEL   ? "iana-if-type:tunnel"
                                                      : "iana-if-type:ethernetCsmacd",
                          "enabled",
                          i->admin_up, "admin-status", i->admin_up ? "up" : "down", "oper-status",
                          i->admin_up && i->carrier ? "up" : "down", "last-change",
                          time_json(iface_manager_changed_ns(i->id)), "phys-address",
                          text_format_mac(i->mac, mac), "statistics", statistics_json(i));

    iface_manager_description(i->id, description);
    if (description[0])
        json_object_set_new(o, "description", json_string(description));
    if (number > 0)
        json_object_set_new(o, "if-index", json_integer(number));
    if (vport)
        json_object_set_new(o, "lower-layer-if", json_pack("[s]", port_get(i->port)->name));
    if (!port_manager_state(port_get(i->port)->name, &port) && port.speed_mbps)
        json_object_set_new(o, "speed", counter_json((uint64_t)port.speed_mbps * 1000000));
    return o;
}

static json_t *interface_list(const struct ietf_ip *ip)
{
    static json_t *by_id[IFACE_MAX];
    json_t *all = json_array();

    memset(by_id, 0, sizeof by_id);
    iface_each (i) {
        by_id[i->id] = interface_json(i);
        json_array_append_new(all, by_id[i->id]);
    }
    add_ip(by_id, ip);
    return json_pack("{s:o}", "interface", all);
}

// --- routes --------------------------------------------------------------------------------------

static const char *source_protocol(const struct rib_row *r)
{
    static const struct {
        uint8_t protocol;
        const char *name;
    } sources[] = {
        {2, "kamuee-routing:kernel"}, {3, "kamuee-routing:boot"},   {4, "ietf-routing:static"},
        {9, "kamuee-routing:ra"},     {12, "kamuee-routing:bird"},  {186, "kamuee-routing:bgp"},
        {187, "kamuee-routing:isis"}, {188, "kamuee-routing:ospf"}, {189, "kamuee-routing:rip"},
        {190, "kamuee-routing:rip"},  {196, "ietf-routing:static"}};

    if (r->type == RIB_CONNECTED || r->type == RIB_LOCAL)
        return "ietf-routing:direct";
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (sources[i].protocol == r->protocol)
            return sources[i].name;
    return "kamuee-routing:protocol";
}

static const char *special_nexthop(const struct rib_row *r)
{
    static const char *const names[] = {
        [RIB_LOCAL] = "receive",       [RIB_BROADCAST] = "receive",
        [RIB_BLACKHOLE] = "blackhole", [RIB_UNREACHABLE] = "unreachable",
        [RIB_PROHIBIT] = "prohibit",   [RIB_THROW] = "unreachable"};

    return r->type < sizeof names / sizeof *names ? names[r->type] : NULL;
}

// The list of several next hops and the container of one name the address differently (RFC 8349,
// 7).
static void write_hop(struct jwrite *j, const struct rib_row *r, const struct rib_hop *h,
                      bool in_list)
{
    char name[64];

    jwrite_string_any(j, "outgoing-interface", h->iface);
    snprintf(name, sizeof name, "ietf-%s-unicast-routing:%s",
             r->prefix.family == IP4 ? "ipv4" : "ipv6", in_list ? "address" : "next-hop-address");
    if (h->gateway.family == r->prefix.family)
        jwrite_ip(j, name, &h->gateway);
}

static void write_hops(struct jwrite *j, const struct rib_row *r)
{
    jwrite_begin(j, "next-hop", '{');
    if (special_nexthop(r)) {
        jwrite_string(j, "special-next-hop", special_nexthop(r));
    } else if (r->n_hops == 1) {
        write_hop(j, r, &r->hop[0], false);
    } else if (r->n_hops) {
        jwrite_begin(j, "next-hop-list", '{');
        jwrite_begin(j, "next-hop", '[');
        for (unsigned i = 0; i < r->n_hops; i++) {
            jwrite_begin(j, NULL, '{');
            write_hop(j, r, &r->hop[i], true);
            jwrite_end(j, '}');
        }
        jwrite_end(j, ']');
        jwrite_end(j, '}');
    }
    jwrite_end(j, '}');
}

static void write_route(struct jwrite *j, const struct rib_row *r)
{
    jwrite_begin(j, NULL, '{');
    jwrite_prefix(j,
                  r->prefix.family == IP4 ? "ietf-ipv4-unicast-routing:destination-prefix"
                                          : "ietf-ipv6-unicast-routing:destination-prefix",
                  &r->prefix);
    jwrite_int(j, "route-preference", r->metric);
    write_hops(j, r);
    jwrite_string(j, "source-protocol", source_protocol(r));
    if (r->active)
        jwrite_raw(j, "active", "[null]");
    jwrite_end(j, '}');
}

static json_t *rib_list(void)
{
    json_t *all = json_array();

    for (unsigned i = 0; i < VR_MAX; i++) {
        const struct vr *v = vr_get((uint16_t)i);

        if (!v->name[0])
            continue;
        for (unsigned six = 0; six < 2; six++)
            json_array_append_new(
                all, json_pack("{s:o, s:s, s:b}", "name",
                               json_sprintf("%s-%s", v->name, six ? "ipv6" : "ipv4"),
                               "address-family", six ? "ietf-routing:ipv6" : "ietf-routing:ipv4",
                               "default-rib", !strcmp(v->name, "default")));
    }
    return json_pack("{s:{s:o}}", "ribs", "rib", all);
}

// --- the resource of a path ----------------------------------------------------------------------

enum top { INTERFACES, ROUTING };
static const char *const tops[] = {
    [INTERFACES] = "ietf-interfaces:interfaces", [ROUTING] = "ietf-routing:routing"};

static const char *without_module(const char *name)
{
    const char *colon = strchr(name, ':');

    return colon ? colon + 1 : name;
}

// New reference to the child in the segment; a list entry comes in an array of one. NULL: it does
// not exist.
static json_t *child_named(const json_t *at, char *segment)
{
    char *key = strchr(segment, '=');
    json_t *v, *entry;
    size_t i;

    if (key)
        *key++ = 0;
    const json_t *holder = json_is_array(at) ? json_array_get(at, 0) : at;
    v = json_object_get(holder, segment); // of a module other than its parent's
    v = v ? v : json_object_get(holder, without_module(segment));
    if (!key || !percent_decode(key))
        return key ? NULL : json_incref(v);
    json_array_foreach(v, i, entry)
    {
        const json_t *name = json_object_get(entry, "name");
        const char *is = json_string_value(name ? name : json_object_get(entry, "ip"));
        if (is && !strcmp(is, key))
            return json_pack("[O]", entry);
    }
    return NULL;
}

// `made` is everything below the top; this function frees it.
static void send_part(struct http *h, enum top top, const char *rest, json_t *made)
{
    char *copy = strdup(rest), *next = copy, *last = NULL, name[120], module[40];
    json_t *at = made;

    bug_on(!copy);
    snprintf(module, sizeof module, "%.*s", (int)strcspn(tops[top], ":"), tops[top]);
    while (at && next && *next) {
        last = strsep(&next, "/");
        json_t *inner = child_named(at, last);

        if (strchr(last, ':'))
            snprintf(module, sizeof module, "%.*s", (int)strcspn(last, ":"), last);
        json_decref(at);
        at = inner;
    }
    snprintf(name, sizeof name, "%s:%s", module, without_module(last ? last : tops[top]));
    if (at)
        restconf_json(h, json_pack("{s:o}", name, at));
    else
        http_refuse(h, 404, "invalid-value", "there is no '%s' in %s", rest, tops[top]);
    free(copy);
}

// --- interfaces: asks rib_manager for addresses, then for neighbors ----------------------------

struct ietf_question {
    struct http *http;
    char *rest; // rest of the path
    struct ietf_ip ip;
};

static void send_interfaces(struct ietf_question *q, int error)
{
    if (error)
        http_refuse_busy(q->http, "rib_manager", error);
    else
        send_part(q->http, INTERFACES, q->rest, interface_list(&q->ip));
    vec_free(&q->ip.address);
    vec_free(&q->ip.neighbor);
    free(q->rest);
    free(q);
}

static void keep_neighbors(void *ctx, const struct neigh_row *row, unsigned n)
{
    struct ietf_question *q = ctx;

    for (unsigned i = 0; i < n; i++)
        *vec_push(&q->ip.neighbor) = row[i];
    send_interfaces(q, 0);
}

static void keep_addresses(void *ctx, const struct address_row *row, unsigned n)
{
    struct ietf_question *q = ctx;

    for (unsigned i = 0; i < n; i++)
        *vec_push(&q->ip.address) = row[i];
    int r = rib_manager_neigh(keep_neighbors, q);
    if (r)
        send_interfaces(q, r);
}

static void get_interfaces(struct http *h, const char *rest)
{
    struct ietf_question *q = calloc(1, sizeof *q);

    bug_on(!q);
    *q = (struct ietf_question){.http = h, .rest = strdup(rest)};
    bug_on(!q->rest);
    int r = rib_manager_addresses(keep_addresses, q);
    if (r)
        send_interfaces(q, r);
}

// "ribs/rib=NAME/routes": streams that table. False: another path.
static bool get_routes(struct http *h, const char *rest)
{
    static const struct route_dialect ietf = {"{\"ietf-routing:routes\":{\"route\":[", "]}}\n",
                                              write_route};
    char name[32], family[5], more[2];

    if (sscanf(rest, "ribs/rib=%31[^/]/%1[r]outes", name, more) != 2 ||
        strcmp(strchr(rest + 5, '/'), "/routes"))
        return false;
    char *dash = strrchr(name, '-');
    snprintf(family, sizeof family, "%s", dash ? dash + 1 : "");
    if (dash)
        *dash = 0;
    if (strcmp(family, "ipv4") && strcmp(family, "ipv6"))
        http_refuse(h, 404, "invalid-value",
                    "there is no RIB of that name, expected one such as default-ipv4");
    else
        route_stream_as(h, name, family, &ietf);
    return true;
}

static bool get_view(struct http *h, const char *path)
{
    for (unsigned i = 0; i < sizeof tops / sizeof *tops; i++) {
        size_t n = strlen(tops[i]);
        const char *rest = path + n;

        if (strncmp(path, tops[i], n) || (*rest && *rest != '/'))
            continue;
        rest += *rest == '/';
        if (strcmp(http_method(h), "GET") && strcmp(http_method(h), "HEAD"))
            http_refuse_method(h, "GET, HEAD");
        else if (!restconf_query_ok(h))
            ; // done
        else if (i == INTERFACES)
            get_interfaces(h, rest);
        else if (!get_routes(h, rest))
            send_part(h, ROUTING, rest, rib_list());
        return true;
    }
    return false;
}

static json_t *view_modules(void)
{
    static const struct {
        const char *name, *revision, *namespace;
    } module[] = {
        {"ietf-interfaces", "2018-02-20", "urn:ietf:params:xml:ns:yang:ietf-interfaces"},
        {"ietf-ip", "2018-02-22", "urn:ietf:params:xml:ns:yang:ietf-ip"},
        {"iana-if-type", "2017-01-19", "urn:ietf:params:xml:ns:yang:iana-if-type"},
        {"ietf-routing", "2018-03-13", "urn:ietf:params:xml:ns:yang:ietf-routing"},
        {"ietf-ipv4-unicast-routing", "2018-03-13",
         "urn:ietf:params:xml:ns:yang:ietf-ipv4-unicast-routing"},
        {"ietf-ipv6-unicast-routing", "2018-03-13",
         "urn:ietf:params:xml:ns:yang:ietf-ipv6-unicast-routing"},
        {"kamuee-routing", "2026-11-22", "urn:kamuee:routing"},
    };
    json_t *all = json_array();

    for (unsigned i = 0; i < sizeof module / sizeof *module; i++)
        json_array_append_new(all, json_pack("{s:s, s:s, s:s}", "name", module[i].name, "revision",
                                             module[i].revision, "namespace", module[i].namespace));
    json_object_set_new(json_array_get(all, 0), "feature", json_pack("[s]", "if-mib"));
    json_object_set_new(json_array_get(all, 3), "feature", json_pack("[s]", "multiple-ribs"));
    return all;
}

const struct feature ietf_feature = {
    "ietf",
    .view = &(const struct feature_view){get_view, view_modules},
};
