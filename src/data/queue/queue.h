// SPDX-License-Identifier: BSD-3-Clause
// queue.h - the queue manager of a port: who sends next, and when
//
// A port of rate C has virtual routers, each with a guarantee G, a maximum M and a weight W; each
// of these has eight classes, strict ones before weighted ones. While virtual routers have packets
// waiting, number i of them is sent at the rate
//
//     min(M_i, G_i + W_i / sum of W * what no guarantee uses)
//
// The idea is hClock's (Billaud and Gulati, EuroSys 2013): each virtual router has a tag S, the
// time at which its next guaranteed byte is due, and a tag L, the time at which its next byte is
// allowed. Whose S has come is served first, the oldest S before others; what is left is shared by
// deficit round robin (Shreedhar and Varghese, 1995). S moves on with guaranteed service alone, L
// with all. Where G of all fit into C, nobody who stays within G waits for those who do not.
//
// Instead of heaps there are calendars of buckets (calendar.h): O(1) however many virtual routers
// wait, and one that is over its maximum costs nothing until its time comes.
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
#define QUEUE_VRS_MAX 8192u
#define QUEUE_NEVER UINT64_MAX // no time

struct queue_config {
    uint64_t ticks_hz;    // of the clock
    uint64_t rate_bps;    // C
    uint32_t vrs;         // ids 0 .. vrs - 1, <= QUEUE_VRS_MAX
    uint32_t packets_max; // that may wait, of all
    uint32_t frame_max;   // bytes of the longest frame
};

struct queue_class_config {
    uint8_t weight;       // among the weighted classes, 1 .. QUEUE_WEIGHT_MAX; 0: strict
    uint32_t limit_bytes; // that may wait
};

struct queue_vr_config {
    uint64_t guarantee_bps, maximum_bps; // 0 = none
    uint8_t weight;                      // 0: its guarantee alone
    uint32_t limit_bytes;                // that may wait, of all classes
    struct queue_class_config class[QUEUE_CLASSES]; // strict ones: the lower the number, the
                                                    // earlier
};

struct queue_packet {
    void *packet;
    uint32_t len;
    uint16_t vr;
    uint8_t class;
};

enum queue_refusal { // why a packet was not taken
    QUEUE_TAKEN,
    QUEUE_CLASS_FULL,
    QUEUE_VR_FULL,
    QUEUE_PORT_FULL, // packets_max
};

struct queue_stats {
    uint64_t sent_packets, sent_bytes, guaranteed_bytes; // guaranteed: sent because S had come
    uint64_t refused_class, refused_vr; // packets, by enum queue_refusal
    uint64_t waiting_packets, waiting_bytes;
};

struct queue_manager;

// NULL: no memory. No virtual router has a configuration yet: what comes for one is refused.
struct queue_manager *queue_make(const struct queue_config *c);
// What waits is given to `drop`, once each.
void queue_free(struct queue_manager *q, void (*drop)(void *ctx, void *packet), void *ctx);

// From now on, also while packets of it wait. 0; -ERANGE: a weight, or a rate that is too low to
// be kept (below 8 kbit/s), or a maximum below the guarantee; -ENOSPC: the guarantees exceed 98 %
// of the port's rate. Then nothing has changed.
int queue_configure(struct queue_manager *q, uint16_t vr, const struct queue_vr_config *c,
                    uint64_t now);
int queue_set_rate(struct queue_manager *q, uint64_t rate_bps, uint64_t now); // -ENOSPC as above

// Puts n packets behind the others of their classes. refusal[i] says what became of the i-th; how
// many were taken.
unsigned queue_put(struct queue_manager *q, const struct queue_packet *p, unsigned n, uint64_t now,
                   uint8_t *refusal);
// Takes up to n packets that may leave now, in order; how many.
unsigned queue_take(struct queue_manager *q, uint64_t now, void **packet, unsigned n);
// Until when queue_take() finds nothing unless something is put: QUEUE_NEVER when nothing waits.
uint64_t queue_due(const struct queue_manager *q);

void queue_stats(const struct queue_manager *q, uint16_t vr, struct queue_stats *s);
uint64_t queue_refused(const struct queue_manager *q); // QUEUE_PORT_FULL, of all
// Every invariant of the structures; a sentence about the first that does not hold, or NULL.
const char *queue_check(const struct queue_manager *q);

#endif
