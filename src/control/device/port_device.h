// SPDX-License-Identifier: BSD-3-Clause
// port_device.h - one DPDK device: probing, configuring, starting, closing
// Knows only DPDK; plans, interfaces and other ports belong to its caller port_manager. Every call
// enters the namespace of the device's kernel interface. Control role.
#ifndef DEVICE_PORT_DEVICE_H
#define DEVICE_PORT_DEVICE_H

#include <rte_ethdev.h>
#include <rte_mempool.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/kernel_link.h"
#include "device/port_config.h"
#include "packet_socket/packet_socket.h"
#include "table/plan.h"

struct port_device {
    struct port_config config; // as applied: 0 replaced by the chosen value
    uint16_t id;
    int netns;
    struct kernel_link kernel_link;
    struct rte_mempool *pool;
    uint8_t mac_own[6]; // MAC of the device itself, without a configured one
    uint64_t rss_hf, rx_offloads, tx_offloads;
    uint16_t max_rx_queues, max_tx_queues, mtu_max;
    bool has_lsc, scatter;
    bool rx_interrupt;                     // configured with receive interrupts
    bool other_mac;                        // the interface has a MAC that the device rejected
    bool force_promiscuous;                // frames to other MACs than the device's are ours, too
    bool leaves_offloads, receives_supers; // see struct port's `offload`, table/super.h
    uint8_t sends_supers;                  // SUPER_TCP, SUPER_UDP
    bool fast_free;                        // transmit queues are set up with MBUF_FAST_FREE
    struct rte_eth_conf conf;              // as granted by the driver
    struct plan_wait wait[QUEUE_MAX];      // of its receive queues; port_wait_open fills it
    struct packet_socket *sockets; // of its kernel interface, which has MTU and MAC; NULL = none
    char driver[32];
};

// Probes and configures it, without starting. `workers`: number of usable queues. Returns 0, or
// -errno with a message in `err` and everything undone.
int port_device_open(struct port_device *d, const struct port_config *cfg, unsigned workers,
                     char *err, size_t err_size);
void port_device_close(struct port_device *d); // after it was stopped

// -ENOTCONN: no program listens on the socket to which it connects.
int port_device_start(struct port_device *d, char *err, size_t err_size);
// True if it connects to another program only when it starts (net_memif role=client).
bool port_device_calls_once(const struct port_device *d);
void port_device_stop(struct port_device *d); // it must be in no plan for a grace period

// Changes while it runs. -EBUSY: the device must be reopened.
int port_device_set_mtu(struct port_device *d, uint16_t mtu);
void port_device_keep(const struct port_device *d); // again the settings of its kernel interface
int port_device_set_promiscuous(struct port_device *d, bool on);
// Promiscuous regardless of the configuration.
void port_device_force_promiscuous(struct port_device *d, bool on);
int port_device_set_mac(struct port_device *d, const uint8_t mac[6]);
bool port_device_link(struct port_device *d, struct rte_eth_link *link); // true: up

// port_wait.c: how a port's receive queues wake a sleeping forwarder (table/plan.h).

// Fills d->wait[] of a device that was just started and is in no plan; leaves interrupts off.
void port_wait_open(struct port_device *d);
void port_wait_close(struct port_device *d); // before the device stops, once it is in no plan
// PORT_RX_INTERRUPT if every receive queue wakes its forwarder, else PORT_RX_POLL.
enum port_rx_mode port_wait_mode(const struct port_device *d);

// port_pool.c: packet buffers of ports. Most ports share exchange_pool. Buffers of a closed port
// may still be in rings, hold queues or transmit queues of other ports. So a port's own pool waits
// until all its buffers are back, and meanwhile can serve a later port with the same shape of
// buffers.

// Returns a pool of n buffers with `data_room` bytes (headroom included), preferably on memory node
// `socket`. `within_pages`: no buffer crosses a page, because the driver shares the buffers with
// the kernel (net_af_xdp). NULL with errno on failure.
struct rte_mempool *port_pool_get(unsigned n, uint16_t data_room, int socket, bool within_pages);
void port_pool_put(struct rte_mempool *pool, unsigned n); // n as in port_pool_get; or NULL
uint64_t port_pool_bytes(unsigned n, uint16_t data_room); // memory that such a pool takes
void port_pool_fini(void);                                // all ports must be closed

// port_sensor.c: temperature of a port's device: from Linux' sensors, else from its optical
// module. Linux has sensors for a device with a kernel driver; for a device that only DPDK drives,
// the optical module may be readable.

// Reads degrees Celsius of the PCI device in `devargs`, or of the device behind kernel interface
// `link`. Returns 0 or -ENODATA.
int port_sensor_read(uint16_t port, const char *devargs, const char *link, int *celsius);

// The two sources. `sysfs` is "/sys" or a recorded tree.
int port_sensor_of_host(const char *sysfs, const char *devargs, const char *link, int *celsius);
// A module's EEPROM (SFF-8472: SFP; SFF-8636, SFF-8436: QSFP); `type` as DPDK numbers them.
int port_sensor_of_module(uint32_t type, const uint8_t *eeprom, size_t n, int *celsius);

#endif
