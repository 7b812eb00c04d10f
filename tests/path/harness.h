// SPDX-License-Identifier: BSD-3-Clause
// harness.h - the router's own libraries in one process, frames in, frames and drop reasons out
//
// The ports are net_ring devices: what a test sends to a port lies in a ring
// until a forwarder polls it; what the router sends lies in another until the
// test takes it. Forwarders are stepped by the test's only thread, so everything happens
// when the test says so. The harness plays all other roles: it writes the tables (adopting
// the role of their writer for the moment), takes punted frames as tap_manager would
// and held packets as neigh_manager would, and counts them so.
//
//     static void a_packet_is_forwarded(void **state)
//     {
//         uint16_t in = rig_iface(0, 0, VR_DEFAULT), out = rig_iface(1, 0, VR_DEFAULT);
//         rig_route(VR_DEFAULT, "10.0.0.0/8", rig_adjacency(out, 1));
//         struct frame f = frame_ip(&(struct ip_spec){.src = "192.0.2.1", .dst = "10.1.2.3"});
//         rig_send(0, &f);
//         rig_poll();
//         assert_true(rig_receive(1, &f));
//     }
//
// ICMP errors are off until a test says rig_icmp_rate().
// Every test starts with empty tables and ends with the ledger at 0 and no buffer
// missing: path_test() wraps both around it.
#ifndef PATH_HARNESS_H
#define PATH_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/ip.h"
#include "forwarder/forwarder.h"
#include "lib/router.h"
#include "table/acl.h"
#include "table/acl_log.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/iface.h"
#include "table/multicast.h"
#include "table/nexthop.h"
#include "table/plan.h"
#include "table/port.h"
#include "table/vr.h"

#define RIG_PORTS 4
#define RIG_QUEUES 2
#define RIG_FORWARDERS 2
#define FRAME_MAX 10240

// --- frames ---

struct frame {
    unsigned n; // bytes, without FCS
    uint8_t b[FRAME_MAX];
};

// Zero means: TTL 64, UDP, ports 1000 and 2000, to the MAC of `to_iface` (0: of the first
// interface), untagged.
struct ip_spec {
    const char *src, *dst; // both of one family
    uint8_t ttl, proto;
    bool ttl_zero;
    uint8_t tos;
    uint16_t sport, dport;
    uint16_t fragment; // IPv4: flags and offset field, host order; 0x4000 = DF
    uint32_t flow_label;
    unsigned payload;  // bytes behind the 8-byte UDP header; for other protocols `l4` or these many
                       // bytes more
    const void *l4;    // replaces the UDP header and payload
    unsigned l4_len;
    unsigned options;  // IPv4: bytes of options (NOP), a multiple of 4
    uint16_t vlan;     // tag of the frame, 0 = none
    uint16_t outer_tci, outer_tpid; // tag in front of that; tpid 0 = none
    uint16_t to_iface;
    const uint8_t *dst_mac;
    unsigned pad_to;   // zeros behind the packet up to this frame length
};
struct frame frame_ip(const struct ip_spec *s);
struct frame frame_raw(const void *bytes, unsigned n);
uint8_t *frame_l3(struct frame *f);        // behind the Ethernet header and tag
bool frame_is_ip4_sound(
    const struct frame *f); // header checksum right, total length within the frame
// 02:00:00:00:00:k of neighbor k.
const uint8_t *neighbor_mac(unsigned k);
extern const uint8_t broadcast_mac[6];
void ip4_fix_checksum(struct frame *f);

// --- tables ---

// A new interface of port `port` with VLAN `vlan` (0 = the port's own), up, MTU 1500;
// addresses 10.255.P.V and 2001:db8:ff::P:V for ICMP errors. Its id.
uint16_t rig_iface(unsigned port, uint16_t vlan, uint16_t vr);
// The same with two tags; `tpid`: type of the outer one, host order. Addresses and MAC by `vlan`.
uint16_t rig_iface_pair(unsigned port, uint16_t outer, uint16_t tpid, uint16_t vlan, uint16_t vr);
uint32_t rig_adjacency(uint16_t iface, unsigned neighbor);
uint32_t rig_nexthop(enum nexthop_kind kind, uint16_t iface);
uint32_t rig_group(const uint32_t *member, unsigned n);
void rig_route(uint16_t vr, const char *prefix, uint32_t nexthop);
void rig_link_local(uint16_t iface, const char *address); // the host has it there
void rig_unroute(uint16_t vr, const char *prefix);
uint16_t rig_vr(const char *name);
void rig_icmp_rate(uint32_t per_s,
                   uint32_t burst);   // of each interface; the router's total is no limit
// A plan for forwarder `f`: rx[] of n (port, queue) pairs; all ports sent by own queue `f`, unless
// tx_owner says otherwise.
struct plan *rig_plan_new(unsigned f, const struct plan_rx *rx, unsigned n);
void rig_plan_set(unsigned f,
                  struct plan *p); // publishes it, frees the old one after a grace period

// --- traffic ---

struct forwarder *rig_forwarder(unsigned i);
void rig_send(unsigned port, const struct frame *f);           // on queue 0
void rig_send_queue(unsigned port, unsigned queue, const struct frame *f);
struct rte_mbuf *rig_mbuf(const struct frame *f,
                          unsigned segment); // in segments of at most `segment` bytes
// The same with bytes of that value behind the data. Under AddressSanitizer what lies outside the
// data is poisoned: reading it ends the program. But for the first rig_reach bytes: lanes load so
// far before they know the length of a frame, and what they find behind it decides nothing
// (forwarder/lanes.c), as packet_storm shows. AddressSanitizer does not see what the AVX-512 set
// loads: who runs that one may set 22 (two tags, EtherType), which is what ether_in looks at.
extern unsigned rig_reach;
struct rte_mbuf *rig_mbuf_before(const struct frame *f, unsigned segment, uint8_t behind);
void rig_send_mbuf(unsigned port, unsigned queue, struct rte_mbuf *m);
void rig_poll(void); // all forwarders, until they find nothing
void rig_step(unsigned forwarder);                             // one poll of one
bool rig_receive(unsigned port, struct frame *f); // the next frame sent by any queue; false = none
bool rig_receive_queue(unsigned port, unsigned queue, struct frame *f);
struct rte_mbuf *
rig_receive_mbuf(unsigned port); // the same as the port has it; NULL = none; the test frees it
unsigned rig_discard(unsigned port);                           // all frames sent: how many
void rig_tx_block(unsigned port, bool blocked); // fills or drains the port's transmit rings
bool rig_punted(enum punt_class c, struct frame *f, uint16_t *iface); // as tap_manager takes it
// As neigh_manager takes it: the packet is the test's, which passes it to rig_inject or
// rig_release.
struct rte_mbuf *rig_held(void);
void rig_release(struct rte_mbuf *m); // dropped by neigh_manager: HOLD_GONE
int rig_inject(unsigned forwarder, struct rte_mbuf *m);
void rig_inject_frame(unsigned forwarder, uint16_t iface,
                      const struct frame *f); // as tap_manager does

// --- what happened since the test began ---
uint64_t rig_drops(enum drop_reason r);
uint64_t rig_drops_all(void);
// The last n drops were of this reason, and no others happened.
#define assert_only_drop(reason, count)                                                            \
    do {                                                                                           \
        assert_int_equal(rig_drops(reason), count);                                                \
        assert_int_equal(rig_drops_all(), count);                                                  \
    } while (0)
void rig_check_conservation(void);
unsigned rig_buffers_in_use(void); // of all pools

// --- the frame of a test program ---
int rig_setup(void **state);
int rig_teardown(void **state);
int rig_group_setup(void **state);
int rig_group_teardown(void **state);
#define path_test(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)
#define path_run(tests) cmocka_run_group_tests(tests, rig_group_setup, rig_group_teardown)

#endif
