// SPDX-License-Identifier: BSD-3-Clause
// ietf_interface.c - interfaces as ietf-interfaces has them (RFC 8343)
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "feature/ietf.h"
#include "port/port_manager.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/port.h"

static json_t *counter_json(uint64_t n)
{
    return json_sprintf("%" PRIu64, n);
}

// No counter has gone back since: what an operator clears is cleared for `show` alone.
static json_t *since_json(uint16_t id)
{
    time_t began = (time_t)(counter_since_iface(id) / NS_PER_SECOND);
    char text[32];
    struct tm tm;

    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&began, &tm));
    return json_string(text);
}

static json_t *statistics_json(const struct iface *i)
{
    struct counter_iface c;

    counter_sum_iface(i->id, &c);
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "discontinuity-time", since_json(i->id),
                     "in-octets", counter_json(c.rx_bytes), "in-unicast-pkts",
                     counter_json(c.rx_packets), "in-discards",
                     json_integer((json_int_t)(c.drop_packets & UINT32_MAX)), "out-octets",
                     counter_json(c.tx_bytes), "out-unicast-pkts", counter_json(c.tx_packets));
}

static json_t *interface_json(const struct iface *i)
{
    char mac[MAC_TEXT_MAX];
    struct port_state port;
    bool vport = i->kind == IFACE_VPORT;
    json_t *o = json_pack("{s:s, s:s, s:b, s:s, s:s, s:i, s:s, s:o}", "name", i->name, "type",
                          vport                       ? "iana-if-type:l2vlan"
                          : i->kind == IFACE_METALINK ? "iana-if-type:propVirtual"
                                                      : "iana-if-type:ethernetCsmacd",
                          "enabled",
                          i->admin_up, "admin-status", i->admin_up ? "up" : "down", "oper-status",
                          i->admin_up && i->carrier ? "up" : "down", "if-index",
                          i->ifindex > 0 ? i->ifindex : i->id, "phys-address",
                          text_format_mac(i->mac, mac), "statistics", statistics_json(i));

    if (vport)
        json_object_set_new(o, "lower-layer-if", json_pack("[s]", port_get(i->port)->name));
    if (!port_manager_state(port_get(i->port)->name, &port) && port.speed_mbps)
        json_object_set_new(o, "speed", counter_json((uint64_t)port.speed_mbps * 1000000));
    return o;
}

json_t *ietf_interfaces(const struct ietf_ip *ip)
{
    static json_t *by_id[IFACE_MAX];
    json_t *all = json_array();

    for (unsigned id = 1; id < IFACE_MAX; id++) {
        const struct iface *i = iface_get((uint16_t)id);

        by_id[id] = i->kind != IFACE_NONE ? interface_json(i) : NULL;
        if (by_id[id])
            json_array_append_new(all, by_id[id]);
    }
    ietf_ip_add(by_id, ip);
    return json_pack("{s:o}", "interface", all);
}
