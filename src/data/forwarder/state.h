// SPDX-License-Identifier: BSD-3-Clause
// state.h - struct forwarder, all that one forwarder owns
//
// Only the forwarder's own thread writes it. Packets that leave otherwise than by a stage are
// collected (dead, punt, hold, tx) and leave once per burst, in path.c: one operation of a ring or
// pool, not one per packet.
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
#include "table/gpu.h"
#include "table/nexthop.h"
#include "table/packet_trace.h"
#include "table/plan.h"
#include "table/port.h"
#include "table/prefix_count.h"
#include "table/watch.h"

struct acl_cache;

// Room of a collecting array. A stage may add BURST_MAX packets without asking, so it is flushed
// when more than COLLECT_MAX - BURST_MAX are in it.
#define COLLECT_MAX 256u

struct collect {
    uint32_t n;
    struct rte_mbuf *pkt[COLLECT_MAX];
};

// The forwarder's state before the stage that is being recorded (record.h).
struct record {
    struct packet_trace *trace;
    bool on;        // a packet is being recorded
    uint16_t iface; // came in by
    uint8_t left;   // bit o: something of enum packet_trace_of o waits to be sent, held or punted
    uint64_t drop[DROP_N];
    struct counter_icmp icmp;
    uint32_t punt[PUNT_CLASS_N], hold, local, origin;
    uint16_t tx[PORT_MAX];
    // what an access list, a policer and a packet program said since then
    struct packet_trace_acl acl;
    struct packet_trace_police police;
    struct packet_trace_program program;
};

#define FRAME_QUEUE_ROOM 1024u
struct frame_queue { // frames that stay in the forwarder (frame_queue.h)
    uint32_t head, n;
    struct rte_mbuf *pkt[FRAME_QUEUE_ROOM];
};

#define BEGIN_KEPT_MAX 1024u
struct begin_kept { // packets that wait for the routes (begin.c), oldest first
    uint32_t n;
    struct rte_mbuf *first, *last;
};

struct sampling { // of one watch that samples (sample.c)
    uint64_t seed, dice;
    uint32_t every, skip; // packets to pass over before the next sample
};

struct redirected { // a packet that goes by another next hop than the lookup's
    uint8_t at;        // place in the burst
    uint16_t redirect; // acl_target.h
    uint32_t nexthop;
};

struct gpu_window { // what this window has shown of one kind of work (gpu_stage.c)
    uint64_t cpu_cycles, cpu_packets, gpu_cycles, gpu_packets, answers, late;
    uint32_t until_own, probes;
    enum gpu_verdict verdict; // of the window before
};

struct gpu_parked_burst {
    uint64_t since; // TSC when it came
    uint64_t batch; // serial; 0: not sent
    uint16_t at;    // place of its first packet there
    enum gpu_work work; // it waits for this
    bool answered; // by the device or not: it waits for those before it alone
    bool foreign;  // some of its packets wait for others alone
    // of work GPU_LIST
    bool timed;     // the CPU classifies, and is timed
    bool has_rules; // the device has
    uint16_t list;
    uint32_t epoch; // of the list, when it was sent
    uint32_t rule[BURST_MAX];
    uint32_t n_redirected; // by a program, before the list
    struct redirected redirected[BURST_MAX];
    struct burst b;
};

#define GPU_RING (GPU_PARKED_MAX + 1) // one goes on while the others wait
struct gpu_parked { // bursts that wait for a GPU's answer (gpu_stage.c), oldest first
    uint32_t head, n;
    uint32_t foreign; // of the n: all others wait behind these
    uint64_t serial;  // of the batch sent last
    uint64_t rested;  // TSC when the forwarder was quiescent last
    uint64_t window;  // TSC when it began
    struct gpu_window of[GPU_WORKS];
    struct gpu_parked_burst ring[GPU_RING];
};

#define REDIRECTED_MAX (3 * BURST_MAX) // by a program, a list, and another program

struct forwarder {
    unsigned index;
    unsigned node;                   // memory node of our core
    unsigned slot;                   // thread_slot()
    const struct plan *plan;         // of this poll, may be NULL
    struct counter_block *counter;   // ours
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
    uint64_t lap;                    // of a timed burst: TSC at the end of the stage before
    uint32_t until_timed;            // bursts before the next timed one
    uint32_t until_latency;          // timed bursts before the next whose latency is measured
    uint64_t taken;                  // of such a burst: TSC before it was taken; 0 = it is none
    uint16_t taken_from;             // its port
    uint32_t handed;                 // bit g: forwarder g got packets in this poll, and may sleep
    bool punted, holds;              // this poll put packets into the punt rings, the hold ring
    uint16_t icmp_id;                // IPv4 identification of the next error
    uint32_t outer_id;               // identification of the next outer packet in pieces
    bool dry;                        // explain's: no token is used up
    const struct lanes *lanes;       // vector code for this CPU
    struct arrivals rx;              // of the queue polled last
    struct burst in4, in6;           // transit, plain
    struct burst odd4, odd6;         // transit, to be looked at one by one
    struct burst local4, local6;     // may only be delivered here
    struct burst origin4, origin6;   // ICMP errors of this burst
    struct burst resumed;            // back from neigh_manager, one family at a time
    struct burst fragment;           // pieces of one packet
    struct burst outer4, outer6;     // packets of tunnels, with what they carry
    struct burst typed;              // frames of EtherTypes of packet programs; no family
    struct collect dead, hold, punt[PUNT_CLASS_N];
    uint32_t dead_why[COLLECT_MAX];  // why dead.pkt[i] ended, see dead_word
    uint32_t punt_n;                 // packets in all of punt[]
    uint64_t tx_ports;               // bit p: tx_pkt[p] may have packets
    uint64_t tx_word[PORT_MAX] __attribute__((aligned(64))); // of each port, see tx_word_n
    struct rte_mbuf *tx_pkt[PORT_MAX][COLLECT_MAX];
    uint32_t n_crossing;             // frames in the next three
    bool crossing;                   // path.c takes them
    struct frame_queue metalink;     // on their way to the other end of their metalink (metalink.c)
    struct frame_queue tunnel_out, tunnel_in; // leave by a tunnel, have come by one
    uint16_t tunnel_last;            // the last packet that came by a tunnel came by this one
    uint16_t tunnel_in_port;         // by which what tunnel_take_in took has come
    struct port tunnel_port; // by which untagged frames of one tunnel come: only `untagged` is used
    struct sampling sampling[WATCH_MAX];
    struct acl_cache *acl_cache;     // verdicts of access lists; NULL: none
    uint64_t acl_random;             // chooses the packets that they log
    uint32_t n_redirected;           // packets that a list or program sends to another next hop;
                                     // the later one of a packet counts
    struct redirected redirected[REDIRECTED_MAX];
    struct record record;            // of the packet that goes alone
    struct begin_kept kept;
    struct gpu_use *gpu_use;         // that this poll may use; NULL: none
    struct gpu_parked gpu;
    struct alikes alikes;            // what packets of tunnels look like
} __attribute__((aligned(64)));

_Static_assert(PORT_MAX <= 64, "tx_ports");

// What waits in tx_pkt[port], in one word so that a packet costs one store: bits 0-15 packets;
// 16-31 those of them that the port's own interface has still to count as sent, 32-63 their bytes.
#define TX_WORD_COUNTED (1ull | 1ull << 16)
static inline unsigned tx_word_n(uint64_t word)
{
    return word & 0xffff;
}

// Sets up forwarder `index` to count into `counter` and `chosen` and mark into `used_mark`.
void forwarder_init(struct forwarder *f, unsigned index, struct counter_block *counter,
                    uint8_t *used_mark, uint64_t *chosen);

#endif
