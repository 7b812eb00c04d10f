// SPDX-License-Identifier: BSD-3-Clause
// counter.h - per-thread counters, and the zero-loss ledger
//
// Each thread slot owns one struct counter_block, on its own cache lines, and is its only writer;
// readers sum over the slots. The ledger:
//
//     rx + inject = tx + punt + held + sum of drops            (packets)
//
//   rx      taken from a port's receive queue by a forwarder
//   inject  created here: read from a TAP (kernel to port), or made by us (ICMP errors)
//   tx      taken by a port's transmit queue
//   punt    written to a TAP
//   held    inside the router now: rings, hold queues, unsent bursts (counted there, not derived)
//   drops   ended by a reason of drops.def
#ifndef TABLE_COUNTER_H
#define TABLE_COUNTER_H

#include <stddef.h>
#include <stdint.h>

#include "core/thread.h"
#include "table/limits.h"
#include "table/punt.h"

enum drop_reason {
    DROP_NONE, // not a drop
#define DROP(name, severity, sentence, source) DROP_##name,
#include "table/drops.def"
#undef DROP
    DROP_N
};

struct drop_info {
    const char *name;     // lower case: "ip4_no_route"
    const char *severity; // "normal", "config", "loss", "attack"
    const char *sentence;
    const char *source; // RFC and section, or ""
};
extern const struct drop_info drop_info[DROP_N];

struct counter_iface { // plain packets touch only the first cache line
#define IFACE_COUNTER(member, ...) uint64_t member;
#include "table/counter_iface.def"
#undef IFACE_COUNTER
} __attribute__((aligned(64)));

typedef uint64_t counter_pair __attribute__((vector_size(16), may_alias));
_Static_assert(offsetof(struct counter_iface, rx_packets) % 16 == 0 &&
                   offsetof(struct counter_iface, rx_bytes) % 16 == 8,
               "a pair");
_Static_assert(offsetof(struct counter_iface, tx_packets) % 16 == 0 &&
                   offsetof(struct counter_iface, tx_bytes) % 16 == 8,
               "a pair");

// Adds a packet of `bytes` to rx_packets and rx_bytes, or to tx_packets and tx_bytes, with one load
// and one store. Owning thread only.
static inline void counter_pair_add(uint64_t *packets, uint64_t bytes)
{
    *(counter_pair *)(void *)packets += (counter_pair){1, bytes};
}

// Part of a virtual router's ledger (table/ledger_vr.h) that its interfaces do not count.
struct counter_vr {
    uint64_t no_iface; // frames received by its port for no interface, which it drops
    uint64_t copies;   // of its packets: fragments, and all multicast outputs but one
    uint64_t entered, left; // routed from and to another virtual router
    uint64_t opened;        // outer packets of tunnels; the inner ones are received by the tunnel
    uint64_t held, resumed; // given to neigh_manager; sent or dropped by it
} __attribute__((aligned(64)));

struct counter_offload { // of a port: packets whose sender left work to a NIC that is not there
                         // (forwarder/offload.c)
    uint64_t completed; // TCP and UDP checksums
    uint64_t cut;       // segments longer than the link, dropped as offload_cut
};

struct counter_punt { // packets of one class
    uint64_t passed;  // accepted by the kernel
    uint64_t policed; // over the rate
    uint64_t full;    // queue full
};

struct counter_icmp { // our errors, and TCP resets of access lists
    uint64_t sent;
    uint64_t limited;   // over the limit of the interface or the router
    uint64_t forbidden; // packets that must not cause errors, or no source address
};

// Stages whose cost is shown. OTHER: packets off the fast path (local, ICMP errors, held, dropped).
enum stage {
    STAGE_RX,
    STAGE_ETHER_IN,
    STAGE_LABELS,
    STAGE_IP4_IN,
    STAGE_IP4_FWD,
    STAGE_IP6_IN,
    STAGE_IP6_FWD,
    STAGE_CHECKS_IN,
    STAGE_CHECKS_OUT,
    STAGE_ETHER_OUT,
    STAGE_TX,
    STAGE_OTHER,
    STAGE_N
};
extern const char *const stage_name[STAGE_N]; // "ether_in"

struct counter_stage { // of timed bursts
    uint64_t calls, packets;
    uint64_t cycles; // TSC
};

#define BURST_SIZE_N                                                                               \
    7 // bursts of 1, 2-3, 4-7, 8-15, 16-31, 32-63, 64 packets: bucket i begins at 1 << i

struct counter_block {
    uint64_t rx, inject, tx, punt; // ledger sums of this thread, as in struct ledger
    // Gauge: packets in private queues of this thread (hold queues, unsent bursts).
    uint64_t held;
    uint64_t drop[DROP_N];
    struct counter_punt punt_class[PUNT_CLASS_N];
    struct counter_icmp icmp;
    // forwarders only
    // Poll-loop iterations, idle ones, bursts handled.
    uint64_t polls, polls_idle, bursts;
    uint64_t busy_cycles, idle_cycles;  // TSC
    uint64_t burst_size[BURST_SIZE_N];
    struct counter_stage stage[STAGE_N];
    struct counter_offload offload[PORT_MAX];
    struct counter_iface iface[IFACE_MAX];
    uint64_t vr_drop[VR_MAX][DROP_N]; // part of drop[], by the interface's virtual router
    struct counter_vr vr[VR_MAX];
} __attribute__((aligned(128)));
_Static_assert(offsetof(struct counter_iface, urpf_packets) == 56, "the end of the first line");
_Static_assert(sizeof(struct counter_block) % 128 == 0,
               "no cache line belongs to two threads; CPUs fetch them in pairs");

// Counts a packet that moves from virtual router `from` to `to`.
static inline void counter_cross(struct counter_block *c, uint16_t from, uint16_t to)
{
    if (__builtin_expect(from != to, 0)) {
        c->vr[from].left++;
        c->vr[to].entered++;
    }
}

int counter_init(void); // maps all blocks (committed when touched); 0 or -errno
void counter_fini(void);

// --- the owning thread ---
// Adds counters of `bytes` in all; their writer may be another thread.
static inline void counter_add_words(void *to, const void *from, size_t bytes)
{
    uint64_t *sum = to;
    const uint64_t *more = from;

    for (size_t i = 0; i < bytes / sizeof *sum; i++)
        sum[i] += __atomic_load_n(&more[i], __ATOMIC_RELAXED);
}

struct counter_block *counter_mine(void); // of thread_slot(); it never moves: keep the pointer

// --- any thread: sums, each word read atomically (relaxed) ---
const struct counter_block *counter_of_slot(unsigned slot);
void counter_sum_iface(uint16_t iface, struct counter_iface *sum);
uint64_t counter_sum_drop(enum drop_reason reason);
uint64_t counter_sum_vr_drop(uint16_t vr, enum drop_reason reason);
void counter_sum_vr(uint16_t vr, struct counter_vr *sum);
struct counter_punt counter_sum_punt(enum punt_class class);
struct counter_icmp counter_sum_icmp(void);
struct counter_offload counter_sum_offload(uint16_t port);

// --- control ---
// Resets to 0, when an id is reused after a grace period.
void counter_begin_iface(uint16_t iface);
void counter_begin_vr(uint16_t vr);

// Counters only grow, because SNMP, metrics and RESTCONF read them. This is their state when an
// operator cleared them; the CLI subtracts it.
struct counter_cleared {
    uint64_t wall_ns; // since 1970; 0: never
    struct counter_iface at;
};
void counter_clear_iface(uint16_t iface);
const struct counter_cleared *counter_cleared_iface(uint16_t iface);
uint64_t counter_since_iface(uint16_t iface); // wall clock when they were 0

struct ledger {
    uint64_t rx, inject, tx, punt, held, drops;
    int64_t imbalance; // rx + inject - tx - punt - held - drops
};
// Reads until two passes agree, at most `tries` times: under traffic the words move, at rest the
// result is exact.
void ledger_read(struct ledger *l, unsigned tries);

// --- control: continues counters of an earlier process (saved/saved_state.h). Values are added to
// control's block, on top of counts since the start ---
// `cleared`: from counter_cleared_iface(); `since_wall_ns`: from counter_since_iface().
void counter_restore_iface(uint16_t iface, const struct counter_iface *c, uint64_t since_wall_ns,
                           const struct counter_cleared *cleared);
// Only the sums of `l`, which balance with the drops and nothing held.
void counter_restore_ledger(const struct ledger *l, const uint64_t drop[DROP_N]);
// Adds a virtual router's part of the drops.
void counter_restore_vr_drop(uint16_t vr, enum drop_reason reason, uint64_t packets);
void counter_restore_punt(enum punt_class class, const struct counter_punt *c);
void counter_restore_icmp(const struct counter_icmp *c);

#endif
