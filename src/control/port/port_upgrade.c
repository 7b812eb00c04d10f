// SPDX-License-Identifier: BSD-3-Clause
// port_upgrade.c - discards, closes and opens the devices of ports during an upgrade
//
// Closing bypasses port_manager: the interface must not hear of a lost link, because the new
// kamueed has it already. Devices that only one process can open are closed first, because the new
// kamueed waits for them. Opening goes through managed_port_reopen, from the last port to the
// first, so that the ids that DPDK assigns meet no placeholder.
#include "port/port_manager.h"

#include <rte_ethdev.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/progress.h"
#include "core/thread.h"
#include "device/devargs.h"
#include "device/port_probe.h"
#include "netlink/netns.h"
#include "port/managed_port.h"
#include "thread/thread_manager.h"

#define BURST 64
#define ROUNDS_MAX 1024 // per queue: frames may arrive faster than they are discarded

void port_upgrade_each(void (*fn)(void *ctx, const struct port_upgrade *p), void *ctx)
{
    thread_must_be(ROLE_CONTROL);
    vec_foreach (&managed.port, p) {
        struct port_upgrade u = {.up = (*p)->link_up};
        snprintf(u.name, sizeof u.name, "%s", (*p)->wish.name);
        memcpy(u.mac, (*p)->device.config.mac, sizeof u.mac);
        fn(ctx, &u);
    }
}

static uint32_t discard_queue(uint16_t port, uint16_t queue)
{
    struct rte_mbuf *m[BURST] = {NULL};
    uint32_t all = 0;
    uint16_t n = BURST;

    for (unsigned i = 0; n && i < ROUNDS_MAX; i++, all += n) {
        n = rte_eth_rx_burst(port, queue, m, BURST);
        rte_pktmbuf_free_bulk(m, n);
    }
    return all;
}

// Statistics of the new kamueed's port start with the first forwarded frame.
void port_upgrade_discard(void (*fn)(const char *port, uint32_t n))
{
    thread_must_be(ROLE_CONTROL);
    vec_foreach (&managed.port, p) {
        uint32_t n = 0;
        if (!(*p)->started)
            continue;
        for (uint16_t q = 0; q < (*p)->device.config.rx_queues; q++)
            n += discard_queue((*p)->device.id, q);
        if (thread_manager_is_held())
            rte_eth_stats_reset((*p)->device.id);
        if (fn)
            fn((*p)->wish.name, n);
    }
}

static void close_device(struct managed_port *p)
{
    int back = netns_enter(p->device.netns);

    if (p->started)
        rte_eth_dev_stop(p->device.id);
    port_probe_remove(p->device.id);
    netns_leave(back);
    p->open = p->started = false;
}

void port_upgrade_close(void)
{
    thread_must_be(ROLE_CONTROL);
    for (unsigned overlap = 0; overlap < 2; overlap++) // first the devices the new kamueed awaits
        vec_foreach (&managed.port, p)
            if ((*p)->open &&
                (overlap || !devargs_is_shared((*p)->device.config.devargs)))
                close_device(*p);
}

// Opens it with its former MAC, because drivers choose one at random.
static int open_again(struct managed_port *p, char *err, size_t err_size)
{
    struct port_config cfg = p->wish;

    p->has_kernel_mac = !cfg.has_mac;
    memcpy(p->kernel_mac, p->device.config.mac, sizeof p->kernel_mac);
    int r = managed_port_reopen(p, &cfg, err, err_size);
    if (!memcmp(p->kernel_mac, p->device.mac_own, sizeof p->kernel_mac))
        p->has_kernel_mac = false;
    return r;
}

// From the last port to the first: placeholder ids are above the ids that DPDK assigns.
void port_upgrade_open(void)
{
    struct progress w = {0};
    char err[480];

    thread_must_be(ROLE_CONTROL);
    port_manager_defer(NULL);
    for (size_t i = managed.port.n; i--;) {
        struct managed_port *p = managed.port.item[i];
        if (!p->open && !p->gone && open_again(p, err, sizeof err))
            log_error("port_upgrade: the device cannot be opened: %s", err);
        progress_at(&w, managed.port.n - i, managed.port.n); // a card takes seconds
    }
}
