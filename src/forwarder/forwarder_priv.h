// SPDX-License-Identifier: BSD-3-Clause
// forwarder_priv.h - what one forwarder owns, and its stages
//
// Everything here is written by the forwarder's own thread alone. Packets that
// leave a stage other than forwards are collected (dead, punt, hold, tx) and
// passed on once per burst by flush(): one ring or pool operation, not one per
// packet.
#ifndef FORWARDER_FORWARDER_PRIV_H
#define FORWARDER_FORWARDER_PRIV_H

#include <rte_mbuf.h>
#include <stdbool.h>
#include <stdint.h>

#include "forwarder/burst.h"
#include "forwarder/forwarder.h"
#include "forwarder/lanes.h"
#include "forwarder/record.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/nexthop.h"
#include "table/plan.h"
#include "table/port.h"
#include "table/watch.h"

// Room of a collecting array. A stage may add BURST_MAX packets to it without looking, so each is flushed when more than
// COLLECT_MAX - BURST_MAX are in it.
#define COLLECT_MAX 256u

struct collect {
    uint32_t n;
    struct rte_mbuf *pkt[COLLECT_MAX];
};

struct forwarder {
    unsigned index;
    unsigned node;                   // memory node of our core
    unsigned slot;                   // thread_slot()
    const struct plan *plan;         // of this poll, may be NULL
    struct counter_block *counter;   // ours
    uint8_t *used_mark;              // nexthop_used_mark[index]
    uint64_t *chosen;                // nexthop_chosen[index]
    uint8_t used_epoch;              // nexthop_used_epoch of this burst
    uint64_t now;                    // TSC at the start of the poll
    bool last_poll_busy;
    uint32_t tx_queued;              // packets in all of tx_pkt[][]
    uint64_t lap;                    // of a timed burst: TSC when the stage before this one was done
    uint32_t until_timed;            // bursts before the next timed one
    uint32_t handed;                 // bit g: forwarder g was handed packets in this poll, and may sleep
    bool punted, holds;              // this poll has put packets into the punt rings, the hold ring
    uint16_t icmp_id;                // IPv4 identification of the next error
    bool dry;                        // explain's: takes no tokens
    const struct lanes *lanes;       // vector code for this CPU
    struct arrivals rx;              // of the queue polled last
    struct burst in4, in6;           // transit, plain
    struct burst odd4, odd6;         // transit, to be looked at one by one
    struct burst local4, local6;     // may only be delivered here
    struct burst origin4, origin6;   // ICMP errors of this burst
    struct burst resumed;            // back from neigh_manager, one family at a time
    struct burst fragment;           // pieces of one packet
    struct collect dead, hold, punt[PUNT_CLASS_N];
    uint32_t dead_why[COLLECT_MAX];  // why dead.pkt[i] ended, see dead_word
    uint32_t punt_n;                 // packets in all of punt[]
    uint64_t tx_ports;               // bit p: tx_pkt[p] has packets
    uint64_t tx_word[PORT_MAX] __attribute__((aligned(64))); // of each port, see tx_word_n
    struct rte_mbuf *tx_pkt[PORT_MAX][COLLECT_MAX];
    struct record record;            // of the packet that goes alone
} __attribute__((aligned(64)));

_Static_assert(PORT_MAX <= 64, "tx_ports");

// What waits in tx_pkt[port], in one word so that a packet costs one store: bits 0-15 packets; 16-31 those of them that the
// port's own interface has still to count as sent, 32-63 their bytes.
#define TX_WORD_COUNTED (1ull | 1ull << 16)
static inline unsigned tx_word_n(uint64_t word)
{
    return word & 0xffff;
}

// Sets up forwarder `index` to count into `counter` and `chosen` and mark into `used_mark`.
void forwarder_init(struct forwarder *f, unsigned index, struct counter_block *counter, uint8_t *used_mark, uint64_t *chosen);
// The one frame in f->rx, of `port`, through all stages, each recorded (record.h); not flushed.
void path_recorded(struct forwarder *f, uint16_t port, struct plan_rx_stats *stats);

// --- stages, in the order of path.c ---

// Receives from one queue into f->rx; the number of packets.
unsigned rx(struct forwarder *f, uint16_t port, uint16_t queue);
// f->rx, of one port -> in4, in6, odd4, odd6, local4, local6, or an exit. The bytes of all frames.
uint64_t ether_in(struct forwarder *f, uint16_t port);
// Packets that are not plain: drops, punts, and lets go on.
void ip4_in(struct forwarder *f, struct burst *b);
void ip6_in(struct forwarder *f, struct burst *b);
// What the interfaces of the packets have been given beyond routing (b->features): survivors go on.
void features_in(struct forwarder *f, struct burst *b);
// Its features, each its own file: they drop what may not go on, and leave the rest in order.
void urpf(struct forwarder *f, struct burst *b);
void redirect4(struct forwarder *f, struct burst *b);
void redirect6(struct forwarder *f, struct burst *b);
void redirect4(struct forwarder *f, struct burst *b);
void redirect6(struct forwarder *f, struct burst *b);
// Next hop for each packet; survivors have an adjacency and a lowered TTL.
void ip4_fwd(struct forwarder *f, struct burst *b);
void ip6_fwd(struct forwarder *f, struct burst *b);
// The same without lookup: b->nh is set (BURST_RESUMED).
void ip4_resume(struct forwarder *f, struct burst *b);
void ip6_resume(struct forwarder *f, struct burst *b);
// Delivers what is ours, drops the rest (BURST_LOCAL).
void ip4_local(struct forwarder *f, struct burst *b);
void ip6_local(struct forwarder *f, struct burst *b);
// Writes the new Ethernet header and puts each packet into its port's tx array.
void ether_out(struct forwarder *f, struct burst *b);
void tx_flush(struct forwarder *f);
void tx_append(struct forwarder *f, struct rte_mbuf *m, uint16_t port);
// Packets others have for us: from the kernel, from neigh_manager, from forwarders without a queue of a port.
unsigned inject(struct forwarder *f);
// Sends what inject() has gathered in f->resumed.
void resume(struct forwarder *f);

// --- exits: each ends the packet's way through the stages ---

// Packet i of b can not use its next hop as it is (b->nh, b->word): ICMP error, hold, punt, fragments, drop.
void fwd_exit(struct forwarder *f, struct burst *b, unsigned i);
void dead_flush(struct forwarder *f);
// A packet that starts at its IP header gets the Ethernet header it would have come with.
void ether_restore(struct rte_mbuf *m, uint16_t iface, uint8_t family);
void punt(struct forwarder *f, struct rte_mbuf *m, uint16_t iface, enum punt_class c);
void punt_ip4(struct forwarder *f, struct rte_mbuf *m, const uint8_t *ip, uint16_t iface);
void punt_ip6(struct forwarder *f, struct rte_mbuf *m, const uint8_t *ip, uint16_t iface);
void punt_flush(struct forwarder *f);
void hold(struct forwarder *f, struct burst *b, unsigned i);
void hold_flush(struct forwarder *f);
// Packet i of b goes to the broadcast address of a subnet on another interface: out to everybody there, or why not.
enum drop_reason broadcast(struct forwarder *f, struct burst *b, unsigned i, bool expired);
// Sends packet i of b, larger than the next hop's MTU and without DF, in pieces. False: it could not.
bool fragment4(struct forwarder *f, struct burst *b, unsigned i);
// Cuts a packet that starts at its IP header into at most BURST_MAX pieces, which start at theirs, without checksums: how
// many, or -errno. `m` stays the caller's.
int fragment4_cut(struct rte_mbuf *m, struct rte_mbuf **piece, uint16_t mtu);
// Copies the pieces of a packet in one segment to buffers of exchange_pool: how many, or -errno.
int fragment4_copy(struct rte_mbuf *m, struct rte_mbuf **piece, uint16_t n_max, uint16_t mtu);
// Packet i of b, whose headers are sound, is for a group of more than this link: copied to the outputs of its route, up, or dropped.
void multicast(struct forwarder *f, struct burst *b, unsigned i);

// ICMP error about packet i of b to its source; says nothing when the rules or the rate forbid it. b->pkt[i] stays the caller's.
// `word`: the second one of the ICMP header, host order: the MTU, or a pointer (ICMPv4: in its highest byte).
void icmp4_error(struct forwarder *f, struct burst *b, unsigned i, uint8_t type, uint8_t code, uint32_t word);
void icmp6_error(struct forwarder *f, struct burst *b, unsigned i, uint8_t type, uint8_t code, uint32_t word);
// The packet is from a link-local address to another link: its source is told (RFC 4443 3.1, code 2), by the frame's sender.
void icmp6_beyond_scope(struct forwarder *f, struct burst *b, unsigned i);
// Writes the headers of an ICMPv6 message, with its checksum, into a packet of `len` bytes whose rest is there.
void icmp6_fill(uint8_t *ip, uint32_t len, const uint8_t *from, const uint8_t *to, uint8_t type, uint8_t code, uint32_t word);
bool icmp6_may_be_error(const uint8_t *ip, uint32_t readable); // is it an ICMPv6 error, or may it be one?
bool icmp_has_token(const struct forwarder *f, uint16_t iface, bool redirect);
// A frame of ours, untagged, out of an interface (packet_meta).
void inject_frame(struct forwarder *f, struct rte_mbuf *m);
// A buffer with `head` bytes of room for headers and up to `quote` bytes of packet i behind; NULL when there is none.
struct rte_mbuf *icmp_quote(struct burst *b, unsigned i, uint32_t head, uint32_t quote);
// A buffer with `head` bytes of room for headers and up to `quote` bytes of packet i behind; NULL when there is none.
struct rte_mbuf *icmp_quote(struct burst *b, unsigned i, uint32_t head, uint32_t quote);
// The options of packet i of b, whose header is sound: why it is dropped, or DROP_NONE; `*up`: it goes to the control plane.
enum drop_reason ip4_options(struct forwarder *f, struct burst *b, unsigned i, bool *up);

// --- who looks at frames (watch.c); called when some watch has its bit there ---

void watch_received(struct forwarder *f, uint16_t port);                                  // f->rx
void watch_sent(struct forwarder *f, uint16_t port, struct rte_mbuf *const *pkt, unsigned n); // all of one port
void watch_dropped(struct forwarder *f);                                                  // f->dead
// Frames for watch `index`, which leads to a port.
void mirror(struct forwarder *f, unsigned index, struct rte_mbuf *const *pkt, const struct watch_tag *tag, unsigned n);
void watch_punted(struct forwarder *f);                                                   // f->punt[]

// Why a packet ended, for who watches drops: bits 0-7 enum drop_reason, NONE = its work is done; 8-23 interface; 24 it starts
// at its IP header.
static inline uint32_t dead_word(uint16_t iface, enum drop_reason reason, bool bare)
{
    return (uint32_t)reason | (uint32_t)iface << 8 | (uint32_t)bare << 24;
}
_Static_assert(DROP_N <= 256, "dead_word");

// The buffer of `m` is not needed any more.
static inline void packet_end(struct forwarder *f, struct rte_mbuf *m, uint32_t word)
{
    if (unlikely(f->dead.n == COLLECT_MAX))
        dead_flush(f);
    f->dead_why[f->dead.n] = word;
    f->dead.pkt[f->dead.n++] = m;
}

// Ends packet `m`, which came in by (or was to leave by) `iface`, 0 = none.
static inline void packet_drop(struct forwarder *f, struct rte_mbuf *m, uint16_t iface,
                               enum drop_reason reason)
{
    f->counter->drop[reason]++;
    f->counter->iface[iface].drop_packets++;
    packet_end(f, m, dead_word(iface, reason, false));
}

// The same, of a packet that has no Ethernet header any more, or not yet: it starts at its IP header.
static inline void packet_drop_bare(struct forwarder *f, struct rte_mbuf *m, uint16_t iface,
                                    enum drop_reason reason)
{
    f->counter->drop[reason]++;
    f->counter->iface[iface].drop_packets++;
    packet_end(f, m, dead_word(iface, reason, true));
}

#endif
