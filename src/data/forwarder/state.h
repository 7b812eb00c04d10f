// SPDX-License-Identifier: BSD-3-Clause
// state.h - struct forwarder, the complete state of a forwarder
//
// Only the forwarder's own thread writes it. Packets that leave the stages early are collected
// (dead, punt, hold, tx) and leave once per burst, in path.c: one operation of a ring or pool per
// burst, not per packet.
#ifndef FORWARDER_STATE_H
#define FORWARDER_STATE_H

#include <rte_mbuf.h>
#include <stdbool.h>
#include <stdint.h>

#include "forwarder/budget.h"
#include "forwarder/burst.h"
#include "forwarder/forwarder.h"
#include "forwarder/lanes.h"
#include "forwarder/tunnel_alike.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/lookaside.h"
#include "table/nexthop.h"
#include "table/packet_trace.h"
#include "table/plan.h"
#include "table/port.h"
#include "table/nexthop_count.h"
#include "table/watch.h"

struct acl_cache;
struct trial;

// Size of a collecting array. A stage may add BURST_MAX packets without a check, so it is flushed
// when it has more than COLLECT_MAX - BURST_MAX.
#define COLLECT_MAX 256u

struct collect {
    uint32_t n;
    struct rte_mbuf *pkt[COLLECT_MAX];
};

// The forwarder's state before the stage that is being recorded (record.h).
struct record {
    struct packet_trace *trace;
    bool on;        // a packet is being recorded
    uint16_t iface; // input interface
    uint8_t left;   // bit o: a packet of kind o (enum packet_trace_of) waits to be sent, held or
                    // punted
    uint64_t drop[DROP_N];
    struct counter_icmp icmp;
    uint32_t punt[PUNT_CLASS_N], hold, local, origin;
    uint16_t tx[PORT_MAX];
    // results of an access list, a policer and a packet program since then
    struct packet_trace_acl acl;
    struct packet_trace_police police;
    struct packet_trace_program program;
};

#define FRAME_QUEUE_ROOM 1024u
struct frame_queue { // frames that stay in the forwarder (crossing.h)
    uint32_t head, n;
    struct rte_mbuf *pkt[FRAME_QUEUE_ROOM];
};

#define BEGIN_KEPT_MAX 1024u
struct begin_kept { // packets that wait for the routes (begin.c), oldest first
    uint32_t n;
    struct rte_mbuf *first, *last;
};

struct sampling { // of one sampling watch (sample.c)
    uint64_t seed, dice;
    uint32_t every, skip; // packets to skip before the next sample
};

struct forwarder {
    unsigned index;
    unsigned node;                   // memory node of our core
    unsigned slot;                   // thread_slot()
    const struct plan *plan;         // of this poll, may be NULL
    struct counter_block *counter;   // our counter block
    uint8_t *used_mark;              // nexthop_used_mark[index]
    uint64_t *chosen;                // nexthop_chosen[index]
    struct prefix_count *prefix_count; // prefix_count_row(index)
    uintptr_t counting;              // nexthop_counting[index] of this poll
    uint8_t used_epoch;              // nexthop_used_epoch of this burst
    uint64_t now;                    // TSC at the start of the poll
    bool last_poll_busy;
    struct budget budget;
    uint64_t queue_due;              // TSC when a queue of ours may send next, QUEUE_NEVER: none
    uint32_t tx_queued;              // packets in all of tx_pkt[][]
    uint64_t lap;                    // timed burst: TSC at the end of the previous stage
    uint32_t until_timed;            // bursts before the next timed one
    uint32_t until_latency;          // timed bursts before the next latency measurement
    uint64_t taken;                  // TSC before such a burst was taken; 0 = none
    uint16_t taken_from;             // its port
    uint32_t handed;                 // bit g: forwarder g got packets in this poll, may sleep
    bool punted, holds;              // this poll put packets into the punt rings, the hold ring
    uint16_t icmp_id;                // IPv4 identification of the next error
    uint32_t outer_id;               // identification of the next fragmented outer packet
    bool dry;                        // for explain: takes no tokens
    bool supers;                     // there may be super-packets in this poll (super.h)
    uint64_t merge_after;            // TSC from which super_merge() may join segments
    const struct lanes *lanes;       // vector code for this CPU
    struct arrivals rx;              // of the queue polled last
    struct burst in4, in6;           // transit, plain
    struct burst odd4, odd6;         // transit, to be checked one by one
    struct burst local4, local6;     // may only be delivered here
    struct burst origin4, origin6;   // ICMP errors of this burst
    struct burst resumed;            // back from neigh_manager, one family at a time
    struct burst fragment;           // fragments of one packet
    struct burst piece;              // segment of a super-packet
    struct burst outer4, outer6;     // outer packets of tunnels
    uint32_t odd;                    // bursts of this poll that are neither plain nor local
    struct burst labels;             // packets with labels
    struct burst bare4, bare6;       // without their last label, next hop known
    struct burst pushed;             // packets that get labels
    struct burst labeled;           // labeled packets made here
    struct burst typed;              // frames of EtherTypes of packet programs; no family
    struct collect dead, hold, punt[PUNT_CLASS_N];
    uint32_t dead_why[COLLECT_MAX];  // why dead.pkt[i] ended, see dead_word
    uint32_t punt_n;                 // packets in all of punt[]
    uint64_t tx_ports;               // bit p: tx_pkt[p] may have packets
    uint64_t tx_word[PORT_MAX] __attribute__((aligned(64))); // of each port, see tx_word_n
    struct rte_mbuf *tx_pkt[PORT_MAX][COLLECT_MAX];
    uint32_t n_crossing;             // frames in the next three queues
    bool crossing;                   // crossing.c is taking them
    struct frame_queue metalink;     // on their way to the other end of their metalink (metalink.c)
    struct frame_queue tunnel_out, tunnel_in; // leaving by a tunnel; come by one
    uint16_t tunnel_last;            // tunnel of the last packet that came by one
    uint16_t tunnel_in_port;         // input port of the frames from tunnel_take_in
    struct port tunnel_port; // input port for untagged frames of one tunnel: uses only `untagged`
    struct sampling sampling[WATCH_MAX];
    struct acl_cache *acl_cache;     // verdicts of access lists; NULL: none
    uint64_t acl_random;             // selects the packets that they log
    struct record record;            // of the recorded packet
    const struct trial *trial;       // explain: attributes that a commit would give, or NULL
    struct begin_kept kept;
    struct lookaside *lookaside;     // since a poll, until it rests; NULL: none
    struct alikes alikes;            // patterns of packets of tunnels
} __attribute__((aligned(64)));

_Static_assert(PORT_MAX <= 64, "tx_ports");

// State of tx_pkt[port] in one word, so that a packet costs one store: bits 0-15 packets; 16-31 the
// packets among them that the port's own interface has yet to count as sent, 32-63 their bytes.
#define TX_WORD_COUNTED (1ull | 1ull << 16)
static inline unsigned tx_word_n(uint64_t word)
{
    return word & 0xffff;
}

// Sets up forwarder `index` to count into `counter` and `chosen` and mark into `used_mark`.
void forwarder_init(struct forwarder *f, unsigned index, struct counter_block *counter,
                    uint8_t *used_mark, uint64_t *chosen);

#endif
