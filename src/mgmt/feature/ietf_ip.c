// SPDX-License-Identifier: BSD-3-Clause
// ietf_ip.c - addresses and neighbors of interfaces in ietf-ip (RFC 8344)
//
// The kernel does not report the origin of an address or whether a neighbor is a router, so those
// leaves are missing. Neighbors without a MAC are missing too, because the model requires one.
#include <string.h>

#include "base/text.h"
#include "feature/ietf.h"
#include "table/iface.h"

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

void ietf_ip_add(json_t *const interface[], const struct ietf_ip *ip)
{
    vec_foreach (&ip->address, a)
        if (interface[a->iface])
            add_address(interface[a->iface], a);
    vec_foreach (&ip->neighbor, n)
        if (n->iface_id && interface[n->iface_id])
            add_neighbor(interface[n->iface_id], n);
}
