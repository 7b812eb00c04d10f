// SPDX-License-Identifier: BSD-3-Clause
// queue.h - the queue manager of a port: which client sends next, and when
//
// A port of rate C has clients: its virtual routers, and sub-interfaces with a rate of their own.
// Each has a guarantee G, a maximum M, a weight W, and eight classes, strict ones before weighted
// ones. While clients have packets waiting, client i is served at the rate
//
//     min(M_i, G_i + W_i / sum of W * capacity that guarantees leave)
//
// The algorithm follows hClock (Billaud and Gulati, EuroSys 2013): each client has a tag S, the
// time at which its next guaranteed byte is due, and a tag L, the time at which its next byte is
// allowed. Clients whose S has passed are served first, the oldest S before others; deficit round
// robin (Shreedhar and Varghese, 1995) shares the rest. S advances with guaranteed service only, L
// with all service. If the sum of all G fits into C, no client within its G waits for clients
// beyond theirs.
//
// Calendars of buckets (calendar.h) replace the heaps: O(1) for any number of waiting clients, and
// a client over its maximum costs nothing until its time comes.
//
// A class is one queue, or flow queues (RFC 8290). It drops new packets when it is full, and by
// CoDel (RFC 8289) packets that waited too long; with ECN, CoDel asks for a mark instead (RFC 3168,
// 9332).
//
// One thread owns a queue manager; there are no locks. Packets are opaque. Lengths are in bytes as
// the rate counts them (RFC 1242: the frame, plus what the caller adds for the wire). Time is the
// caller's clock, in ticks; it may jump.
#ifndef QUEUE_QUEUE_H
#define QUEUE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUEUE_CLASSES 8u
#define QUEUE_WEIGHT_MAX 128u
#define QUEUE_CLIENTS_MAX 8192u
#define QUEUE_FLOWS_MAX 1024u
#define QUEUE_CLASS_OWN 0u     // class of the router's own packets
#define QUEUE_NEVER UINT64_MAX // no time

struct queue_config {
    uint64_t ticks_hz;    // of the caller's clock
    uint64_t rate_bps;    // C
    uint32_t clients;     // ids 0 .. clients - 1, <= QUEUE_CLIENTS_MAX
    uint32_t packets_max; // limit of waiting packets, all clients together
    uint32_t frame_max;   // bytes of the longest frame
};

enum queue_discipline {
    QUEUE_TAIL_DROP, // a full class drops new packets
    QUEUE_CODEL,
    QUEUE_FQ_CODEL, // CoDel in each of `flows` queues, served in turn
};

struct queue_class_config {
    uint8_t weight;        // among the weighted classes, 1 .. QUEUE_WEIGHT_MAX; 0: strict
    uint8_t discipline;    // enum queue_discipline
    bool ecn;              // CoDel marks ECN-capable packets instead of dropping them
    uint16_t flows;        // QUEUE_FQ_CODEL: a power of two <= QUEUE_FLOWS_MAX
    uint64_t rate_bps;     // of a strict class: above it, all other classes go first; 0: no limit
    uint32_t limit_bytes;  // limit of waiting bytes
    uint32_t limit_us;     // drops packets that waited longer; 0: no limit
    uint32_t target_us, interval_us; // CoDel parameters
    uint32_t step_us; // with QUEUE_FQ_CODEL and ecn: marks ECT(1) packets that waited longer (the
                      // step of RFC 9332); 0: treats ECT(1) as ECT(0)
};

struct queue_client_config {
    uint64_t guarantee_bps, maximum_bps; // 0 = none
    uint8_t weight;                      // 0: only its guarantee
    uint32_t limit_bytes;                // limit of waiting bytes, all classes together
    uint32_t reserve_packets; // places of packets_max reserved for it. Above them, it may have as
                              // many as are neither taken nor reserved (Choudhury and Hahne, 1998)
    struct queue_class_config class[QUEUE_CLASSES]; // strict classes: lower numbers go first
};

struct queue_packet {
    void *packet;
    uint32_t len; // below 2^24
    uint16_t client;
    uint8_t class;
    uint8_t ecn;   // the two ECN bits of its IP header; 0: not ECN-capable
    uint32_t hash; // flow hash; used by QUEUE_FQ_CODEL only
};

enum queue_refusal { // why a packet was refused
    QUEUE_TAKEN,
    QUEUE_CLASS_FULL,
    QUEUE_CLIENT_FULL,
    QUEUE_SHARE_FULL, // the client's share of packets_max
    QUEUE_PORT_FULL,  // packets_max
};

enum queue_verdict { // what to do with a packet taken out
    QUEUE_SEND,
    QUEUE_SEND_MARKED, // set ECN CE
    QUEUE_DROP_CODEL,
    QUEUE_DROP_OLD,  // limit_us
    QUEUE_DROP_FLOW, // dropped from the longest flow queue of a full class
};

// Histogram of waits: bucket i counts waits of at most QUEUE_WAIT_FIRST_US * 2^(i/2) microseconds,
// the last bucket all longer ones. Waits are sampled: one packet on one visit of a client in eight
// (a visit is at most a frame's worth of bytes; one visit in 32 with more than 512 clients), and
// one packet on each visit while at most 32 packets wait at the port.
#define QUEUE_WAIT_N 32u
#define QUEUE_WAIT_FIRST_US 4u

struct queue_class_stats { // of a class; all but waiting_* only grow
    uint64_t sent_packets, sent_bytes, marked;
    uint64_t refused_class, refused_client, refused_share; // packets, by enum queue_refusal
    uint64_t dropped_codel, dropped_old, dropped_flow;     // by enum queue_verdict
    uint64_t waiting_packets, waiting_bytes;
    uint32_t wait[QUEUE_WAIT_N]; // sampled waits of sent packets; modulo 2^32
};

struct queue_stats { // of a client
    uint64_t guaranteed_bytes; // sent because S had passed
    uint64_t waiting_packets, waiting_bytes;
};

struct queue_manager;

// Returns NULL if there is no memory. Packets of a client are refused until it is configured.
struct queue_manager *queue_make(const struct queue_config *c);
// Passes each waiting packet to `drop`, exactly once.
void queue_free(struct queue_manager *q, void (*drop)(void *ctx, void *packet), void *ctx);

// Can the configuration be honored? 0; -ERANGE: invalid weight, rate below 8 kbit/s, maximum below
// the guarantee, neither guarantee nor weight, invalid discipline or flows, CoDel without target or
// interval.
int queue_config_check(const struct queue_client_config *c);
// Takes effect at once, also while packets of the client wait: none is lost, and packets of a flow
// stay in order. 0; -ERANGE as above; -ENOSPC: the guarantees exceed 98 % of the port's rate, or
// the reserves packets_max. An error changes nothing. Does not allocate.
int queue_configure(struct queue_manager *q, uint16_t client, const struct queue_client_config *c,
                    uint64_t now);
int queue_set_rate(struct queue_manager *q, uint64_t rate_bps, uint64_t now); // -ENOSPC as above
// At most the number given to queue_make(). Waiting packets stay, even beyond the new limit.
void queue_set_packets_max(struct queue_manager *q, uint32_t packets_max);

// Returns how many of the n packets, from the first on, need not wait: no packet waits, and the
// rates allow them. The caller sends these at once and puts the others; they are counted as sent.
unsigned queue_pass(struct queue_manager *q, const struct queue_packet *p, unsigned n,
                    uint64_t now);
// Appends n packets to their classes. refusal[i] (enum queue_refusal) tells the fate of packet i.
// Returns the number accepted.
unsigned queue_put(struct queue_manager *q, const struct queue_packet *p, unsigned n, uint64_t now,
                   uint8_t *refusal);
// Returns what queue_put() would answer now. Any thread.
enum queue_refusal queue_judge(const struct queue_manager *q, const struct queue_packet *p);
// Takes out up to n packets: in order, those allowed to leave now, and dropped ones; verdict[i]
// (enum queue_verdict) tells which. Returns the number. Drops count against no rate.
unsigned queue_take(struct queue_manager *q, uint64_t now, void **packet, uint8_t *verdict,
                    unsigned n);
// Returns the time before which queue_take() finds nothing unless a packet is put; QUEUE_NEVER if
// none waits.
uint64_t queue_due(const struct queue_manager *q);

// --- any thread; while packets pass, each word is right by itself ---
void queue_stats(const struct queue_manager *q, uint16_t client, struct queue_stats *s);
void queue_class_stats(const struct queue_manager *q, uint16_t client, unsigned class,
                       struct queue_class_stats *s);
uint64_t queue_refused(const struct queue_manager *q); // QUEUE_PORT_FULL, of all clients
// Returns the number of packets put but not yet taken, all clients together, including drops of
// flow queues that the caller has not taken yet.
uint32_t queue_waiting(const struct queue_manager *q);
// Returns the longest wait that bucket i counts, in nanoseconds; UINT64_MAX for the last one.
uint64_t queue_wait_ns(unsigned i);

// Checks every invariant of the structures. Returns a sentence about the first violation, or NULL.
// Owner only.
const char *queue_check(const struct queue_manager *q);

#endif
