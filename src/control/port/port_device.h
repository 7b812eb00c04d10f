// SPDX-License-Identifier: BSD-3-Clause
// port_device.h - one DPDK device: probing, configuring, starting, closing
//
// Knows DPDK and nothing of plans, interfaces or names of other ports; those
// are port_manager's. Every call enters the namespace in which the device's kernel
// interface lives. Control role.
#ifndef PORT_PORT_DEVICE_H
#define PORT_PORT_DEVICE_H

#include <rte_ethdev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/kernel_link.h"
#include "port/port_manager.h"
#include "table/plan.h"

struct port_device {
    struct port_config config; // as applied: what was 0 is chosen
    uint16_t id;
    int netns;
    struct kernel_link kernel_link;
    struct rte_mempool *pool;
    uint8_t mac_own[6]; // the device's, before a configured one
    uint64_t rss_hf, rx_offloads, tx_offloads;
    uint16_t max_rx_queues, max_tx_queues, mtu_max;
    bool has_lsc, scatter;
    bool rx_interrupt;  // the device is configured to have receive interrupts
    struct rte_eth_conf conf; // as granted
    struct plan_wait wait[QUEUE_MAX]; // of its receive queues; found when it is started
    bool other_mac; // the interface has a MAC that the device did not take
    bool want_all;  // frames to more MACs than the device's are ours
    bool fast_free;     // transmit queues are set up with MBUF_FAST_FREE
    unsigned frame_size; // of a packet socket's ring, 0 = none: then the kernel interface's MTU
                         // counts, not DPDK's
    char driver[32];
};

// Attached and configured, not started. `workers`: queues that can be used. 0 or -errno with a
// sentence; nothing is left then.
int port_device_open(struct port_device *d, const struct port_config *cfg, unsigned workers,
                     char *err, size_t err_size);
void port_device_close(struct port_device *d); // stopped before

// -ENOTCONN: it calls another program's socket, and nobody has that (yet).
int port_device_start(struct port_device *d, char *err, size_t err_size);
bool port_device_calls_once(
    const struct port_device *
        d); // another program, when it is started (net_memif role=client): DPDK does not call again
void port_device_stop(struct port_device *d); // in no plan, a grace period ago

// Live; -EBUSY: the device has to be opened again for it.
int port_device_set_mtu(struct port_device *d, uint16_t mtu);
int port_device_set_promiscuous(struct port_device *d, bool on);
void port_device_force_promiscuous(struct port_device *d,
                          bool want); // promiscuous although it is not configured to be
int port_device_set_mac(struct port_device *d, const uint8_t mac[6]);
bool port_device_link(struct port_device *d, struct rte_eth_link *link); // true: up

#endif
