// SPDX-License-Identifier: BSD-3-Clause
// watch.h - consumers of frames, at one of four observation points
//
//     rx    as received
//     tx    as given to a port
//     drop  when dropped, with the reason
//     punt  for the kernel, with the class
//
// A watch is a capture, whose frames are copied into slots that control or tap_manager reads, or a
// mirror to a port, whose frames are copied and sent. Each watch is one bit: in struct port's
// watch_rx and watch_tx, and in watch_drop and watch_punt. Bits are checked once per burst; without
// watches there is no other cost.
//
// A watch at rx may sample (`every`): each forwarder skips a random number of a port's packets, 0
// to 2 * (every - 1), takes the next, and so on. A sample includes the packet's output (tag.way,
// out, gateway).
//
// A watch never delays traffic: a frame without an empty slot, a buffer or room in the port is
// counted as missed. Slots: `empty` --forwarder copies--> `full` --reader--> `empty`.
//
// Written by control: watch_new, then the bits; to end, clear the bits, and watch_free after a
// grace period. Read by every forwarder, and by the managers that drop packets. Each thread has its
// own counters.
#ifndef TABLE_WATCH_H
#define TABLE_WATCH_H

#include <rte_mbuf.h>
#include <rte_ring.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"
#include "core/thread.h"
#include "table/limits.h"

#define WATCH_FLOWS 16 // bits 0..15: captures, mirrors, exporters, traces; 16: the sample of flows
#define WATCH_MAX 17   // higher bits of the words below are free for other observers
#define WATCH_ALL ((1u << WATCH_MAX) - 1)
#define PORT_SUPERS (1u << 31) // in a port's watch_rx: it may deliver super-packets (table/super.h)
#define WATCH_SNAP_MAX 9728 // the largest frame of a port, with tags
#define WATCH_SLOTS_MAX 16384

enum watch_point { WATCH_RX, WATCH_TX, WATCH_DROP, WATCH_PUNT, WATCH_POINT_N };
extern const char *const watch_point_name[WATCH_POINT_N]; // "rx"

enum watch_to {
    WATCH_TO_NOBODY,
    WATCH_TO_SLOTS,
    WATCH_TO_PORT,
    WATCH_TO_TRACE /* table/trace.h */
};

struct watch_tag { // metadata of a frame
    uint16_t port;  // PORT_NONE = unknown
    uint16_t iface; // 0 = none
    uint8_t why;    // drop: enum drop_reason; punt: enum punt_class
    // for samples
    uint8_t way;            // enum nexthop_kind of its destination
    uint16_t out;           // output interface, 0 = none
    struct ip_addr gateway; // family 0 = none, or the destination is the gateway
};

struct watch_slot { // a copied frame
    uint64_t tsc;
    uint32_t len;  // length of the frame
    uint32_t kept; // bytes in data[]
    struct watch_tag tag;
    uint8_t point; // enum watch_point
    uint8_t data[];
};

struct rte_bpf;

#define WATCH_GONE 0xfffe // a missing port or interface: matches no frame

struct watch {
    // set by watch_new or control before the first bit, constant until watch_free
    uint8_t to; // enum watch_to
    uint16_t to_port; // WATCH_TO_PORT; WATCH_GONE: port missing
    bool wakes;       // tap_manager reads its slots: wake it after filling one
    bool flows;       // it is the sample of flows, which takes super-packets whole (WATCH_FLOWS)
    uint16_t port;                    // only frames of this port, PORT_NONE = any
    uint16_t iface;                   // only frames of this interface, 0 = any
    uint16_t vr; // only frames of the virtual router with this id + 1, by interface, 0 = any
    uint32_t snap;                    // bytes kept of a frame
    uint32_t every; // sample one packet in so many, 0 = no sampling; see watch_set_every
    uint8_t sample; // only of interfaces with this bit of enum iface_sample in their policy
    uint64_t seed;                    // of the random numbers
    const struct rte_bpf *filter;     // NULL: all frames
    uint64_t (*filter_code)(void *m); // its machine code, where there is a compiler for it
    struct rte_ring *empty, *full;
    // writer only: control
    void *memory;
    size_t bytes;
};
extern struct watch watch_table[WATCH_MAX];

struct watch_count {
    uint64_t taken;  // copied or sent
    uint64_t missed; // passed the filter, but found no free slot
    uint64_t bytes;  // full length of the frames taken
} __attribute__((aligned(64)));
extern struct watch_count watch_count[THREAD_SLOT_MAX][WATCH_MAX]; // [thread_slot()]

extern uint32_t watch_drop, watch_punt; // bits, like port.watch_rx and watch_tx
extern uint32_t watch_sampling;         // bits of the watches that sample

// --- control ---
// Makes a watch of `w`, whose fields from `to` to `filter_code` are filled in, with n_slots slots
// (0 unless to == WATCH_TO_SLOTS), a power of two. Returns its index, or -errno: -EBUSY: there are
// WATCH_MAX already.
int watch_new(const struct watch *w, unsigned n_slots);
void watch_set_every(unsigned index, uint32_t every); // of a watch that samples
void watch_free(unsigned index); // no bit may be set, a grace period must be over, no slot in use
struct watch_count watch_sum(unsigned index);
static inline void watch_bit_set(uint32_t *word, unsigned index, bool on)
{
    if (on)
        __atomic_or_fetch(word, 1u << index,
                          __ATOMIC_RELEASE); // partner: acquire loads of threads that offer frames
    else
        __atomic_and_fetch(word, ~(1u << index), __ATOMIC_RELAXED);
}

// --- the one reader of a watch with slots ---
// Takes at most n copied frames, oldest first of each thread; the reader gives them back.
unsigned watch_take(unsigned index, struct watch_slot **slot, unsigned n);
void watch_give_back(unsigned index, struct watch_slot **slot, unsigned n);

// --- forwarders and managers, RCU readers ---
static inline uint32_t watch_bits(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
// Offers n <= BURST_MAX frames to watch `index` with slots, at `point`. The caller keeps the
// frames, unchanged. Returns the number copied.
unsigned watch_copy(unsigned index, enum watch_point point, struct rte_mbuf *const *pkt,
                    const struct watch_tag *tag, unsigned n);
// Does the watch want the frame?
bool watch_wants(const struct watch *w, struct rte_mbuf *m, const struct watch_tag *tag);

#endif
