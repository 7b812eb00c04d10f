// SPDX-License-Identifier: BSD-3-Clause
// ietf_route.c - a route in ietf-routing (RFC 8349)
#include <stdio.h>

#include "feature/ietf.h"

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

void ietf_route_write(struct jwrite *j, const struct rib_row *r)
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
