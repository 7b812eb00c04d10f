// SPDX-License-Identifier: BSD-3-Clause
// port_stats.c - state, statistics and sensors of ports, for management
//
// Statistics only grow while the device is open: the sums of an earlier process are added, and
// clearing stores the values that readers subtract. Completed checksums and cut segments, which no
// device counts, come from the forwarders' counters since the device was opened. For a port without
// a device, each function asks the LAGs (port_lags).
#include <errno.h>
#include <rte_ethdev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "device/port_device.h"
#include "port/managed_port.h"
#include "table/iface.h"

struct counter_offload port_manager_offload(const char *name)
{
    const struct managed_port *p = managed_port_find(name);

    if (!p || !p->open)
        return (struct counter_offload){0};
    struct counter_offload sum = counter_sum_offload(p->device.id);
    return (struct counter_offload){sum.completed - p->offload_before.completed,
                                    sum.cut - p->offload_before.cut};
}

// Reads the sockets' counters: net_null, whose queues they hook, counts nothing.
static void socket_statistics(struct packet_socket *p, struct rte_eth_stats *st,
                              struct counter_offload *offload)
{
    struct packet_socket_stats s;

    packet_socket_read(p, &s);
    *st = (struct rte_eth_stats){.ipackets = s.rx_packets,
                                 .ibytes = s.rx_bytes,
                                 .opackets = s.tx_packets,
                                 .obytes = s.tx_bytes,
                                 .imissed = s.rx_missed,
                                 .ierrors = s.rx_errors,
                                 .oerrors = s.tx_errors,
                                 .rx_nombuf = s.rx_no_buffer};
    offload->completed += s.completed;
}

bool managed_port_statistics(struct managed_port *p, struct port_statistics *s)
{
    struct counter_offload offload = port_manager_offload(p->wish.name);
    struct rte_eth_stats st;

    *s = (struct port_statistics){0};
    if (!p->open || rte_eth_stats_get(p->device.id, &st))
        return false;
    if (p->device.sockets)
        socket_statistics(p->device.sockets, &st, &offload);
    *s = (struct port_statistics){
        .rx_packets = st.ipackets,
        .rx_bytes = st.ibytes,
        .tx_packets = st.opackets,
        .tx_bytes = st.obytes,
        .rx_missed = st.imissed,
        .rx_errors = st.ierrors,
        .rx_no_buffer = st.rx_nombuf,
        .tx_errors = st.oerrors,
        .checksum_completed = offload.completed,
        .offload_cut = offload.cut,
    };
    counter_add_words(s, &p->before, sizeof *s);
    return true;
}

void port_manager_restore(const char *name, const struct port_statistics *before)
{
    struct managed_port *p = managed_port_find(name);
    struct lag_port *l = port_lags->find(name);

    thread_must_be(ROLE_CONTROL);
    if (l)
        counter_add_words(&l->statistics, before, sizeof *before);
    if (!p || !p->open)
        return;
    p->before = *before;
    counter_add_words(&p->lag_counted, before, sizeof *before); // the LAG restores its own
}

int port_manager_clear(const char *name)
{
    struct managed_port *p = managed_port_find(name);
    struct lag_port *l = port_lags->find(name);
    struct port_state s;

    if (port_manager_state(name, &s) != 0)
        return -ENOENT;
    if (l || p->open) {
        *(l ? &l->cleared_wall_ns : &p->cleared_wall_ns) = clock_wall_ns();
        *(l ? &l->cleared : &p->cleared) = s.statistics;
    }
    return 0;
}

int port_manager_state(const char *name, struct port_state *s)
{
    struct managed_port *p = managed_port_find(name);
    struct lag_port *l = port_lags->find(name);
    struct rte_eth_link link = {0};

    thread_must_be(ROLE_CONTROL);
    if (!p)
        return l ? port_lags->state(l, s) : -ENOENT;
    const struct port_device *d = &p->device;
    *s = (struct port_state){
        .config = d->config,
        .id = d->id,
        .started = p->started || p->waiting || (p->gone && p->wish.enabled),
        .link_up = p->link_up,
        .rx_mode = p->started ? port_wait_mode(d) : d->config.rx_mode,
        .max_rx_queues = d->max_rx_queues,
        .max_tx_queues = d->max_tx_queues,
        .mtu_max = d->mtu_max,
        .rss_hf = d->rss_hf,
        .rx_offloads = d->rx_offloads,
        .tx_offloads = d->tx_offloads,
        .socket = p->open ? rte_eth_dev_socket_id(d->id) : -1,
        .cleared_wall_ns = p->cleared_wall_ns,
        .cleared = p->cleared,
    };
    snprintf(s->driver, sizeof s->driver, "%s", d->driver);
    memcpy(s->mac, d->config.mac, sizeof s->mac);
    if (!p->open)
        return 0;
    if (d->kernel_link.name[0] && p->started)
        (p->link_up ? kernel_link_explain : kernel_link_explain_down)(&d->kernel_link, name, s->why,
                                                                      sizeof s->why);
    if (p->started && port_device_link(&p->device, &link)) {
        s->full_duplex = link.link_duplex == RTE_ETH_LINK_FULL_DUPLEX;
        s->speed_mbps = link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed;
    }
    managed_port_statistics(p, &s->statistics);
    return 0;
}

uint64_t port_manager_link_changes(const char *name)
{
    const struct managed_port *p = managed_port_find(name);
    const struct lag_port *l = port_lags->find(name);

    return p ? p->link_changes : l ? l->link_changes : 0;
}

static bool is_set_down(const char *interface)
{
    const struct iface *i = iface_find_name(interface);

    return i && !i->admin_up;
}

bool port_manager_is_down(const char *name)
{
    const struct managed_port *p = managed_port_find(name);
    const struct lag_port *l = port_lags->find(name);

    thread_must_be(ROLE_CONTROL);
    if (!p)
        return l && l->wish.enabled && !l->up && !is_set_down(name);
    return p->wish.enabled && !p->link_up &&
           !is_set_down(p->wish.member_of[0] ? p->wish.member_of : name);
}

int port_manager_temperature(const char *name, int *celsius)
{
    const struct managed_port *p = managed_port_find(name);

    thread_must_be(ROLE_CONTROL);
    return p && p->open ? port_sensor_read(p->device.id, p->device.config.devargs,
                                           p->device.kernel_link.name, celsius)
                        : -ENODATA;
}

unsigned port_manager_list(char (*name)[16], unsigned max)
{
    unsigned n = 0;

    vec_foreach (&managed.port, p)
        if (n < max)
            memcpy(name[n++], (*p)->wish.name, sizeof *name);
    return n + port_lags->list(name + n, max - n);
}

int port_manager_xstats(const char *name, void (*fn)(void *ctx, const char *stat, uint64_t value),
                        void *ctx)
{
    struct managed_port *p = managed_port_find(name);

    if (!p || !p->open)
        return -ENOENT;
    if (p->device.sockets) // net_null's are about nothing
        return 0;
    int n = rte_eth_xstats_get(p->device.id, NULL, 0);
    if (n <= 0)
        return n;
    struct rte_eth_xstat *value = calloc((size_t)n, sizeof *value);
    struct rte_eth_xstat_name *text = calloc((size_t)n, sizeof *text);
    if (value && text && rte_eth_xstats_get(p->device.id, value, (unsigned)n) == n &&
        rte_eth_xstats_get_names(p->device.id, text, (unsigned)n) == n)
        for (int i = 0; i < n; i++)
            fn(ctx, text[value[i].id].name, value[i].value);
    free(value);
    free(text);
    return 0;
}
