// SPDX-License-Identifier: BSD-3-Clause
// exchange.h - the rings by which packets pass between forwarders and managers
//
//     forwarder --punt[class]--> tap_manager          (to the kernel)
//     forwarder --hold---------> rib_manager/neigh    (destination not resolved)
//     tap_manager, neigh_manager, other forwarders --inject[f]--> forwarder f
//
// Rings are bounded; a full ring is a named drop of the sender. What travels
// beside the packet is in its private area (packet_meta). Packets in
// rings count as held in the ledger (exchange_held).
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
    INJECT_FRAME,   // Ethernet frame for `iface`, untagged: add its tags and send
    INJECT_NEXTHOP, // starts at its IP header, TTL already lowered: rewrite for `nexthop` and send
    INJECT_TX,      // complete frame for `port`, of another forwarder: send by our transmit queue
};

struct packet_meta { // in the mbuf's private area, 64 bytes
    uint16_t iface;  // punt, hold: came in by; INJECT_FRAME: leaves by
    uint16_t port;   // INJECT_TX
    uint16_t vr;
    uint8_t kind;    // enum inject_kind
    uint8_t family;  // hold, INJECT_NEXTHOP: enum ip_family
    uint32_t nexthop; // hold, INJECT_NEXTHOP
    uint64_t since_ns; // hold: arrival at neigh_manager
    struct rte_mbuf *next_held; // hold, kept: the next one
    uint16_t mtu;    // hold, INJECT_NEXTHOP: of route and next hop when it was held, 0 = none
    uint16_t member; // punt of a slow-protocol frame: 1 + port, a member of a LAG, that it came by
                     // (0 = for the TAP of `iface`)
    uint16_t queue;  // kept (forwarder/begin.c): with `port`, where it was received
    uint16_t owner;  // punt, hold: the virtual router whose ledger has it: of `iface`, at that time
    uint8_t spare[24];
};
_Static_assert(sizeof(struct packet_meta) == 64, "size of the private area");

static inline struct packet_meta *packet_meta(struct rte_mbuf *m)
{
    return (struct packet_meta *)rte_mbuf_to_priv(m);
}

#define EXCHANGE_HOLD_SIZE 1024
#define EXCHANGE_CACHE 256 // buffers kept by each thread
#define EXCHANGE_INJECT_SIZE 2048

extern struct rte_ring *exchange_punt[PUNT_CLASS_N];
extern struct waker exchange_punt_waker; // tap_manager's: wake it after filling a punt ring
extern struct rte_ring *exchange_hold;
extern struct waker exchange_hold_waker; // rib_manager's, in the same way
extern struct rte_ring *exchange_inject[FORWARDER_MAX]; // exists for every slot from the start
// Buffers for injected frames, ICMP errors, and the ports that find room in it; priv size =
// sizeof(struct packet_meta).
extern struct rte_mempool *exchange_pool;
// There may be buffers of other pools, with several segments, or with several owners: a port with
// fast_free gets copies of them. Set once, before the first of them is received.
extern bool exchange_mixed;
static inline void exchange_mix(void)
{
    __atomic_store_n(&exchange_mixed, true, __ATOMIC_RELAXED);
}

// A pool of packet buffers with room for packet_meta: n buffers of `data_room` bytes, headroom
// included; `cache` of them kept by each thread. `within_pages`: none crosses a page, for drivers
// that show buffers to the kernel (net_af_xdp). NULL with rte_errno. Control.
struct rte_mempool *packet_pool_new(const char *name, unsigned n, unsigned cache,
                                    uint16_t data_room, int socket, bool within_pages);

// After eal_init; n_mbufs buffers in exchange_pool. 0 or -errno.
int exchange_init(unsigned n_mbufs, unsigned data_room);
void exchange_fini(void);       // frees what is left in the rings
uint64_t exchange_punted(void); // packets in the punt rings now
uint64_t exchange_held(void);   // packets in all rings now

#endif
