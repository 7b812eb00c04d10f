// SPDX-License-Identifier: BSD-3-Clause
// port_device.h - one DPDK device: probing, configuring, starting, closing
// Knows DPDK and nothing of plans, interfaces or other ports; those are port_manager's, its caller.
// Every call enters the namespace of the device's kernel interface. Control role.
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
    struct port_config config; // as applied: 0 replaced by what was chosen
    uint16_t id;
    int netns;
    struct kernel_link kernel_link;
    struct rte_mempool *pool;
    uint8_t mac_own[6]; // the device's, before a configured one
    uint64_t rss_hf, rx_offloads, tx_offloads;
    uint16_t max_rx_queues, max_tx_queues, mtu_max;
    bool has_lsc, scatter;
    bool rx_interrupt;                // configured with receive interrupts
    bool other_mac;                   // the interface has a MAC that the device rejected
    bool force_promiscuous;           // frames to more MACs than the device's are ours
    bool fast_free;                   // transmit queues are set up with MBUF_FAST_FREE
    struct rte_eth_conf conf;         // as granted
    struct plan_wait wait[QUEUE_MAX]; // of its receive queues; port_wait_open fills it
    unsigned frame_size; // of a packet socket's ring, whose kernel interface has the MTU; 0 = none
    char driver[32];
};

// Probes and configures it, without starting. `workers`: usable queues. 0, or -errno with a
// sentence and everything undone.
int port_device_open(struct port_device *d, const struct port_config *cfg, unsigned workers,
                     char *err, size_t err_size);
void port_device_close(struct port_device *d); // after it was stopped

// -ENOTCONN: no program listens on the socket that it calls.
int port_device_start(struct port_device *d, char *err, size_t err_size);
// It calls another program only when it is started (net_memif role=client).
bool port_device_calls_once(const struct port_device *d);
void port_device_stop(struct port_device *d); // in no plan for a grace period

// While it runs. -EBUSY: only by reopening the device.
int port_device_set_mtu(struct port_device *d, uint16_t mtu);
void port_device_keep(const struct port_device *d); // settings of its kernel interface, if any
int port_device_set_promiscuous(struct port_device *d, bool on);
// Promiscuous regardless of the configuration.
void port_device_force_promiscuous(struct port_device *d, bool on);
int port_device_set_mac(struct port_device *d, const uint8_t mac[6]);
bool port_device_link(struct port_device *d, struct rte_eth_link *link); // true: up

#endif
