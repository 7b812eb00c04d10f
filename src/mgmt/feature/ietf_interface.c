// SPDX-License-Identifier: BSD-3-Clause
// ietf_interface.c - interfaces in ietf-interfaces (RFC 8343)
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "feature/ietf.h"
#include "feature/queue.h"
#include "interface/iface_manager.h"
#include "port/port_manager.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/port.h"

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
