// SPDX-License-Identifier: BSD-3-Clause
// exchange.h - the rings that carry packets between forwarders and managers
//
//     forwarder --punt[class]--> tap_manager          (to the kernel)
//     forwarder --hold---------> rib_manager/neigh    (neighbor not resolved)
//     tap_manager, neigh_manager, other forwarders --inject[f]--> forwarder f
//
// Rings are bounded; a full ring is a named drop of the sender. Metadata travels in the packet's
// private area (packet_meta). Packets in rings count as held in the ledger (exchange_held).
#ifndef TABLE_EXCHANGE_H
#define TABLE_EXCHANGE_H

#include <rte_mbuf.h>
#include <rte_ring.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/thread.h"
#include "core/waker.h"
#include "table/punt.h"

enum inject_kind {
    INJECT_FRAME,   // untagged Ethernet frame for `iface`: add its tags and send
    INJECT_NEXTHOP, // starts at the IP header, TTL already lowered: rewrite for `nexthop` and send
    INJECT_TX,      // complete frame for `port` from another forwarder: send on our transmit queue
};

struct packet_meta { // in the mbuf's private area, 64 bytes
    uint16_t iface;  // punt, hold: input interface; INJECT_FRAME, INJECT_TX: output interface
    uint16_t port;   // INJECT_TX
    uint16_t vr;
    uint8_t kind;    // enum inject_kind
    uint8_t family;  // hold, INJECT_NEXTHOP: enum ip_family; IP_NONE: it starts at its labels
    uint32_t nexthop; // hold, INJECT_NEXTHOP
    uint64_t since_ns; // hold: arrival at neigh_manager
    struct rte_mbuf *next_held; // hold, kept: the next one
    uint16_t mtu;    // hold, INJECT_NEXTHOP: MTU of route and next hop when held, 0 = none
    uint16_t member; // punted slow-protocol frame: 1 + port of the LAG member that received it (0 =
                     // for the TAP of `iface`)
    uint16_t queue;  // kept (forwarder/begin.c): with `port`, the receive queue
    uint16_t owner;  // punt, hold: virtual router of `iface` at that time, whose ledger counts it
    bool pushed;     // family IP_NONE: its labels are ours, so its source may get an error
    uint8_t spare[23];
};
_Static_assert(sizeof(struct packet_meta) == 64, "size of the private area");

static inline struct packet_meta *packet_meta(struct rte_mbuf *m)
{
    return (struct packet_meta *)rte_mbuf_to_priv(m);
}

#define EXCHANGE_HOLD_SIZE 1024
#define EXCHANGE_CACHE 256 // buffers cached by each thread
#define EXCHANGE_INJECT_SIZE 2048

extern struct rte_ring *exchange_punt[PUNT_CLASS_N];
extern struct waker exchange_punt_waker; // tap_manager's; wake it after filling a punt ring
extern struct rte_ring *exchange_hold;
extern struct waker exchange_hold_waker; // rib_manager's, likewise
extern struct rte_ring *exchange_inject[FORWARDER_MAX]; // exists for every slot from the start
// Buffers for injected frames, ICMP errors, and ports that get buffers from it; priv size =
// sizeof(struct packet_meta).
extern struct rte_mempool *exchange_pool;
// Set if there may be buffers of other pools, with several segments, or with several references:
// ports with fast_free then get copies. Set once, before the first such buffer is received.
extern bool exchange_mixed;
static inline void exchange_mix(void)
{
    __atomic_store_n(&exchange_mixed, true, __ATOMIC_RELAXED);
}

// Bytes behind each buffer that may be read but decide nothing. Forwarders load headers before they
// know a frame's length (forwarder/lanes.c), and a short frame from a tunnel may end where its
// buffer ends.
#define PACKET_BEHIND 64u

// A pool of n packet buffers with packet_meta and `data_room` bytes, headroom included, and
// PACKET_BEHIND behind; each thread caches `cache` of them. `within_pages`: no buffer crosses a
// page, for drivers that share buffers with the kernel (net_af_xdp). NULL with rte_errno. Control.
struct rte_mempool *packet_pool_new(const char *name, unsigned n, unsigned cache,
                                    uint16_t data_room, int socket, bool within_pages);
// A packet of `bytes` without content, in as many buffers as it takes; only the first has headroom.
// NULL: no buffer. Any thread.
struct rte_mbuf *packet_new(struct rte_mempool *pool, uint32_t bytes);

// Call after eal_init; exchange_pool gets n_mbufs buffers. 0 or -errno.
int exchange_init(unsigned n_mbufs, unsigned data_room);
void exchange_fini(void);       // frees packets left in the rings
uint64_t exchange_punted(void); // packets in the punt rings
uint64_t exchange_held(void);   // packets in all rings

#endif
