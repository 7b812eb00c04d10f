// SPDX-License-Identifier: BSD-3-Clause
// queue.h - the queue manager of a port: who sends next, and when
//
// A port of rate C has clients: its virtual routers, and sub-interfaces that have a rate of their
// own. Each has a guarantee G, a maximum M, a weight W, and eight classes, strict ones before
// weighted ones. While clients have packets waiting, number i of them is sent at the rate
//
//     min(M_i, G_i + W_i / sum of W * what no guarantee uses)
//
// The idea is hClock's (Billaud and Gulati, EuroSys 2013): each client has a tag S, the time at
// which its next guaranteed byte is due, and a tag L, the time at which its next byte is allowed.
// Whose S has come is served first, the oldest S before others; what is left is shared by deficit
// round robin (Shreedhar and Varghese, 1995). S moves on with guaranteed service alone, L with all.
// Where G of all fit into C, nobody who stays within G waits for those who do not.
//
// Instead of heaps there are calendars of buckets (calendar.h): O(1) however many clients wait, and
// one that is over its maximum costs nothing until its time comes.
//
// A class is one queue, or flow queues (RFC 8290). It drops what comes when it is full, or by CoDel
// (RFC 8289) what has waited too long; with ECN, CoDel asks for a mark instead (RFC 3168, 9332).
//
// One thread owns a queue manager; there are no locks. Packets are opaque; lengths are what the
// rate counts, in bytes (RFC 1242: of the frame, with what the caller adds for the wire). Time is
// the caller's clock, in ticks; it may jump.
#ifndef QUEUE_QUEUE_H
#define QUEUE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUEUE_CLASSES 8u
#define QUEUE_WEIGHT_MAX 128u
#define QUEUE_CLIENTS_MAX 8192u
#define QUEUE_FLOWS_MAX 1024u
#define QUEUE_CLASS_OWN 0u     // of what the router itself sends
#define QUEUE_NEVER UINT64_MAX // no time

struct queue_config {
    uint64_t ticks_hz;    // of the clock
    uint64_t rate_bps;    // C
    uint32_t clients;     // ids 0 .. clients - 1, <= QUEUE_CLIENTS_MAX
    uint32_t packets_max; // that may wait, of all
    uint32_t frame_max;   // bytes of the longest frame
};

enum queue_discipline {
    QUEUE_TAIL_DROP, // what comes while the class is full is dropped
    QUEUE_CODEL,
    QUEUE_FQ_CODEL, // CoDel in each of `flows` queues, taken in turn
};

struct queue_class_config {
    uint8_t weight;        // among the weighted classes, 1 .. QUEUE_WEIGHT_MAX; 0: strict
    uint8_t discipline;    // enum queue_discipline
    bool ecn;              // CoDel marks what can be marked instead of dropping it
    uint16_t flows;        // of QUEUE_FQ_CODEL: a power of two <= QUEUE_FLOWS_MAX
    uint64_t rate_bps;     // of a strict class: above it, it comes after all others; 0: no limit
    uint32_t limit_bytes;  // that may wait
    uint32_t limit_us;     // what has waited longer is dropped; 0: no limit
    uint32_t target_us, interval_us; // of CoDel
    uint32_t step_us; // with QUEUE_FQ_CODEL and ecn: ECT(1) that has waited longer is marked (the
                      // step of RFC 9332); 0: it is treated as ECT(0)
};

struct queue_client_config {
    uint64_t guarantee_bps, maximum_bps; // 0 = none
    uint8_t weight;                      // 0: its guarantee alone
    uint32_t limit_bytes;                // that may wait, of all classes
    uint32_t reserve_packets; // places of packets_max that are its own. Above it, it may have as
                              // many as are neither taken nor reserved (Choudhury and Hahne, 1998)
    struct queue_class_config class[QUEUE_CLASSES]; // strict ones: the lower the number, the
                                                    // earlier
};

struct queue_packet {
    void *packet;
    uint32_t len; // below 2^24
    uint16_t client;
    uint8_t class;
    uint8_t ecn;   // the two bits of its IP header; 0: cannot be marked
    uint32_t hash; // of its flow; read for QUEUE_FQ_CODEL alone
};

enum queue_refusal { // why a packet was not taken
    QUEUE_TAKEN,
    QUEUE_CLASS_FULL,
    QUEUE_CLIENT_FULL,
    QUEUE_SHARE_FULL, // the client's share of packets_max
    QUEUE_PORT_FULL,  // packets_max
};

enum queue_verdict { // what becomes of a packet that was taken out
    QUEUE_SEND,
    QUEUE_SEND_MARKED, // with ECN's mark CE
    QUEUE_DROP_CODEL,
    QUEUE_DROP_OLD,  // limit_us
    QUEUE_DROP_FLOW, // of the longest flow queue, when its class was full
};

// Waits are counted by length: bucket i is those of QUEUE_WAIT_FIRST_US * 2^(i/2) microseconds and
// less, the last one all longer ones. Counted are samples: of one visit of a client in eight (a
// visit is a frame's worth of bytes at most; where there are more than 512 clients, in 32), and of
// each while 32 packets and less wait at the port, one packet.
#define QUEUE_WAIT_N 32u
#define QUEUE_WAIT_FIRST_US 4u

struct queue_class_stats { // of a class; all but waiting_* only grow
    uint64_t sent_packets, sent_bytes, marked;
    uint64_t refused_class, refused_client, refused_share; // packets, by enum queue_refusal
    uint64_t dropped_codel, dropped_old, dropped_flow;     // by enum queue_verdict
    uint64_t waiting_packets, waiting_bytes;
    uint32_t wait[QUEUE_WAIT_N]; // samples of what was sent, by how long it waited; modulo 2^32
};

struct queue_stats { // of a client
    uint64_t guaranteed_bytes; // sent because S had come
    uint64_t waiting_packets, waiting_bytes;
};

struct queue_manager;

// NULL: no memory. No client has a configuration yet: what comes for one is refused.
struct queue_manager *queue_make(const struct queue_config *c);
// What waits is given to `drop`, once each.
void queue_free(struct queue_manager *q, void (*drop)(void *ctx, void *packet), void *ctx);

// Is the configuration one that can be kept? 0; -ERANGE: a weight, a rate that is too low to be
// kept (below 8 kbit/s), a maximum below the guarantee, neither guarantee nor weight, a discipline,
// flows, CoDel without target or interval.
int queue_config_check(const struct queue_client_config *c);
// From now on, also while packets of it wait: none is lost, and those of a flow stay in order.
// 0; -ERANGE as above; -ENOSPC: the guarantees exceed 98 % of the port's rate, or the reserves
// packets_max. Then nothing has changed. It does not allocate.
int queue_configure(struct queue_manager *q, uint16_t client, const struct queue_client_config *c,
                    uint64_t now);
int queue_set_rate(struct queue_manager *q, uint64_t rate_bps, uint64_t now); // -ENOSPC as above
// At most as many as queue_make() got. Packets that wait stay, even if they are more.
void queue_set_packets_max(struct queue_manager *q, uint32_t packets_max);

// How many of the n packets, from the first on, need not wait at all: nobody else waits, and their
// rates allow it. The caller sends these at once, and puts the others; they are counted as sent.
unsigned queue_pass(struct queue_manager *q, const struct queue_packet *p, unsigned n,
                    uint64_t now);
// Puts n packets behind the others of their classes. refusal[i] says what became of the i-th; how
// many were taken.
unsigned queue_put(struct queue_manager *q, const struct queue_packet *p, unsigned n, uint64_t now,
                   uint8_t *refusal);
// What queue_put() would say to it now; any thread.
enum queue_refusal queue_judge(const struct queue_manager *q, const struct queue_packet *p);
// Takes out up to n packets that may leave now, in order, and those that are dropped instead;
// verdict[i] is what becomes of the i-th (enum queue_verdict). How many. What is dropped counts
// against no rate.
unsigned queue_take(struct queue_manager *q, uint64_t now, void **packet, uint8_t *verdict,
                    unsigned n);
// Until when queue_take() finds nothing unless something is put: QUEUE_NEVER when nothing waits.
uint64_t queue_due(const struct queue_manager *q);

// --- any thread; a word at a time is right while packets pass ---
void queue_stats(const struct queue_manager *q, uint16_t client, struct queue_stats *s);
void queue_class_stats(const struct queue_manager *q, uint16_t client, unsigned class,
                       struct queue_class_stats *s);
uint64_t queue_refused(const struct queue_manager *q); // QUEUE_PORT_FULL, of all
// Packets that were put and not taken: of all clients, and those of QUEUE_DROP_FLOW to come.
uint32_t queue_waiting(const struct queue_manager *q);
// The longest wait that is counted in bucket i, in nanoseconds; UINT64_MAX of the last one.
uint64_t queue_wait_ns(unsigned i);

// Every invariant of the structures; a sentence about the first that does not hold, or NULL. The
// owner.
const char *queue_check(const struct queue_manager *q);

#endif
