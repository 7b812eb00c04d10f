// SPDX-License-Identifier: BSD-3-Clause
// packet_socket.h - receives and sends the frames of a kernel interface, super-packets included
//
// The driver of ports with `kernel-interface` (docs/adr/0029). Each queue is a packet socket of
// Linux. DPDK has no public way to register a driver, so the port is a net_null device without
// traffic, and callbacks of its queues receive and send: forwarders see an ordinary port.
//
// Control opens and closes it; a queue belongs to the forwarder that polls or sends by it.
#ifndef PACKET_SOCKET_PACKET_SOCKET_H
#define PACKET_SOCKET_PACKET_SOCKET_H

#include <rte_mempool.h>
#include <stdbool.h>
#include <stdint.h>

struct packet_socket;

struct packet_socket_settings {
    uint16_t port; // of DPDK, configured and stopped
    int ifindex;   // in the current network namespace
    uint16_t n_rx, n_tx;
    uint16_t mtu;
    unsigned descriptors; // frames that a receive queue holds, or more
    struct rte_mempool *pool;
};

// --- control ---

// Hooks the queues of the port; frames wait in the sockets from now on. Returns 0 with *out, or
// -errno.
int packet_socket_open(const struct packet_socket_settings *s, struct packet_socket **out);
void packet_socket_close(struct packet_socket *p); // the port is in no plan; or NULL
// Also frames to other MACs; frames to groups are received anyhow. 0 or -errno.
int packet_socket_set_promiscuous(struct packet_socket *p, bool on);

// Can it send super-packets of UDP? Linux before 6.2 has no name for them in a virtio header, and
// drops received ones.
bool packet_socket_sends_udp(void);

// --- any thread ---

// Readable while frames wait in receive queue `queue`.
int packet_socket_fd(const struct packet_socket *p, uint16_t queue);

// Sums over all queues, since it was opened. A super-packet counts as its segments, with their
// bytes on the wire.
struct packet_socket_stats {
    uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
    uint64_t rx_missed;    // no room in a receive queue
    uint64_t rx_no_buffer; // polls that found no packet buffer
    uint64_t rx_errors;    // the kernel's header is not plausible
    uint64_t tx_errors;    // refused by the kernel: longer than its MTU, the interface is down
    uint64_t completed;    // checksums that the sender had left unfinished
};
void packet_socket_read(struct packet_socket *p, struct packet_socket_stats *sum);

#endif
