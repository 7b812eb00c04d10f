// SPDX-License-Identifier: BSD-3-Clause
// router.c - see router.h
#include "lib/router.h"

#include <errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <stdio.h>
#include <string.h>

#include "table/acl.h"
#include "table/acl_log.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/metalink.h"
#include "table/tunnel.h"
#include "table/multicast.h"
#include "table/nexthop.h"
#include "table/plan.h"
#include "table/port.h"
#include "table/vr.h"

void router_role(enum thread_role role)
{
    thread_adopt(role, role == ROLE_RIB_MANAGER   ? THREAD_SLOT_RIB_MANAGER
                       : role == ROLE_TAP_MANAGER ? THREAD_SLOT_TAP_MANAGER
                       : role == ROLE_ACL_MANAGER ? THREAD_SLOT_ACL_MANAGER
                       : role == ROLE_FORWARDER   ? THREAD_SLOT_FORWARDER
                                                  : THREAD_SLOT_CONTROL);
}

int router_tables_init(unsigned packets)
{
    router_role(ROLE_CONTROL);
    return counter_init() || port_table_init() || iface_table_init() || multicast_init() ||
                   nexthop_table_init() || vr_table_init() || plan_init() || acl_table_init() ||
                   acl_log_init() || exchange_init(packets, RTE_MBUF_DEFAULT_BUF_SIZE) ||
                   !vr_new("default")
               ? -ENOMEM
               : 0;
}

void router_tables_fini(void)
{
    exchange_fini();
    vr_table_fini();
    multicast_fini();
    acl_log_fini();
    acl_table_fini();
    plan_fini();
    nexthop_table_fini();
    iface_table_fini();
    tunnel_table_fini();
    port_table_fini();
    counter_fini();
}

int router_port_new(const char *name, struct rte_ring **rx, struct rte_ring **tx, uint16_t queues,
                    uint16_t descriptors, struct rte_mempool *pool)
{
    const struct rte_eth_conf conf = {0};
    int id = rte_eth_from_rings(name, rx, queues, tx, queues, 0);

    if (id < 0 || rte_eth_dev_configure((uint16_t)id, queues, queues, &conf))
        return -1;
    for (uint16_t q = 0; q < queues; q++)
        if (rte_eth_rx_queue_setup((uint16_t)id, q, descriptors, 0, NULL, pool) ||
            rte_eth_tx_queue_setup((uint16_t)id, q, descriptors, 0, NULL))
            return -1;
    return rte_eth_dev_start((uint16_t)id) ? -1 : id;
}

struct iface *router_iface_new(const char *name, uint16_t port, uint16_t outer, uint16_t vlan,
                               const uint8_t mac[6])
{
    router_role(ROLE_CONTROL);
    struct iface *i = iface_new(name);
    if (!i || port_lead(port_get(port), outer, vlan, i->id))
        return NULL;
    memcpy(i->mac, mac, 6);
    i->port = port;
    i->vlan = vlan;
    i->outer_vlan = outer;
    i->mtu = 1500;
    i->kind = vlan ? IFACE_VPORT : IFACE_PORT;
    i->flags |= IFACE_UP;
    return i;
}

int router_metalink_new(unsigned index, const uint16_t vr[2], uint16_t end[2])
{
    for (unsigned k = 0; k < 2; k++) {
        char name[32];
        snprintf(name, sizeof name, "m%u-%c", index, 'a' + (int)k);
        struct iface *i = router_iface_new(
            name, PORT_METALINK, 0, metalink_vlan(index, k),
            (uint8_t[6]){0x02, 0xbb, 0, (uint8_t)(index >> 8), (uint8_t)index, (uint8_t)k});
        if (!i)
            return -1;
        i->kind = IFACE_METALINK;
        i->vr = vr[k];
        end[k] = i->id;
    }
    port_get(PORT_METALINK)->used = true;
    for (unsigned k = 0; k < 2; k++)
        port_lead(port_get(PORT_METALINK), 0, metalink_vlan(index, k), end[!k]);
    return 0;
}

uint16_t router_tunnel_new(const struct tunnel_settings *s, uint16_t vr, uint32_t nexthop)
{
    char name[16];
    uint16_t taken, number;

    router_role(ROLE_CONTROL);
    number = tunnel_new(s, &taken);
    if (!number)
        return 0;
    snprintf(name, sizeof name, "t%u", number);
    struct iface *i =
        router_iface_new(name, tunnel_port(number), 0, tunnel_vlan(number),
                         (uint8_t[6]){0x02, 0xcc, 0, (uint8_t)(number >> 8), (uint8_t)number, 0});
    if (!i)
        return 0;
    tunnel_publish(number, i->id, i->mac);
    tunnel_index_update();
    i->kind = IFACE_TUNNEL;
    i->vr = vr;
    i->mtu = 1400;
    port_get(i->port)->used = true;
    router_role(ROLE_RIB_MANAGER);
    tunnel_set_path(tunnel_get(number), nexthop, nexthop ? TUNNEL_UP : TUNNEL_NO_ROUTE,
                    TUNNEL_PATH_ANY);
    return i->id;
}

uint32_t router_adjacency_new(uint16_t iface, const uint8_t mac[6])
{
    router_role(ROLE_RIB_MANAGER);
    uint32_t id = nexthop_new(NEXTHOP_HOLD, iface);
    if (id)
        nexthop_set_adjacency(id, iface, mac);
    return id;
}
