// SPDX-License-Identifier: BSD-3-Clause
// harness.h - runs the router's own libraries in one process: frames in, frames and drop reasons
// out
//
// The ports are net_ring devices: a frame that the test sends to a port is in a ring until a
// forwarder polls it; a frame that the router sends is in another ring until the test takes it. The
// test's only thread steps the forwarders, so everything happens when the test says so. The harness
// plays all other roles: it writes the tables (and takes the role of their writer for that), takes
// punted frames like tap_manager and held packets like neigh_manager, and counts them likewise.
//
//     path_test(a_packet_is_forwarded)
//     {
//         uint16_t in = rig_iface(0, 0, VR_DEFAULT), out = rig_iface(1, 0, VR_DEFAULT);
//         rig_route(VR_DEFAULT, "10.0.0.0/8", rig_adjacency(out, 1));
//         struct frame f = ip_frame(.src = "192.0.2.1", .dst = "10.1.2.3");
//         rig_forward(0, &f);
//         assert_true(rig_receive(1, &f));
//     }
//
// ICMP errors are off until a test calls rig_icmp_rate(). path_test() gives every test empty tables
// at the start, and checks at its end that the ledger is at 0 and no buffer is missing.
#ifndef PATH_HARNESS_H
#define PATH_HARNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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
#include "tests/unit.h"

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
    const char *src, *dst; // of the same family
    uint8_t ttl, proto;
    bool ttl_zero;
    uint8_t tos;
    uint16_t sport, dport;
    uint16_t fragment; // IPv4: flags and offset field, host order; 0x4000 = DF
    uint32_t flow_label;
    unsigned payload;  // bytes after the 8-byte UDP header; for other protocols `l4`, or
                       // 8 bytes more than this
    const void *l4;    // replaces the UDP header and payload
    unsigned l4_len;
    unsigned options;  // IPv4: bytes of options (NOP), a multiple of 4
    uint16_t vlan;     // VLAN tag, 0 = none
    uint16_t outer_tci, outer_tpid; // tag before it; tpid 0 = none
    uint16_t to_iface;
    const uint8_t *dst_mac;
    unsigned pad_to;   // zeros after the packet up to this frame length
};
struct frame frame_ip(const struct ip_spec *s);
#define ip_frame(...) frame_ip(&(struct ip_spec){__VA_ARGS__})
struct frame frame_raw(const void *bytes, unsigned n);
uint8_t *frame_l3(struct frame *f);        // after the Ethernet header and tag
bool frame_is_ip4_sound(
    const struct frame *f); // header checksum right, total length within the frame
// MAC of neighbor k: 02:00:00:00:00:k.
const uint8_t *neighbor_mac(unsigned k);
extern const uint8_t broadcast_mac[6];
void ip4_fix_checksum(struct frame *f);

// --- tables ---

// Creates an interface of port `port` with VLAN `vlan` (0 = the port's own), up, MTU 1500,
// addresses 10.255.P.V and 2001:db8:ff::P:V for ICMP errors. Returns its id.
uint16_t rig_iface(unsigned port, uint16_t vlan, uint16_t vr);
// The same with two tags; `tpid`: type of the outer tag, host order. Addresses and MAC by `vlan`.
uint16_t rig_iface_pair(unsigned port, uint16_t outer, uint16_t tpid, uint16_t vlan, uint16_t vr);
// Untagged interfaces of ports 0 and 1 in the default virtual router.
void rig_in_and_out(uint16_t *in, uint16_t *out);
// The same with routes: 10/8 and 2001:db8:a::/48 to neighbor 1 of `in`, 20/8 and 2001:db8:b::/48
// to neighbor 2 of `out`.
void rig_two_sides(uint16_t *in, uint16_t *out);
uint32_t rig_adjacency(uint16_t iface, unsigned neighbor);
uint32_t rig_neighbor(uint16_t iface, unsigned neighbor, const char *address); // an adjacency
uint32_t rig_nexthop(enum nexthop_kind kind, uint16_t iface);
uint32_t rig_group(const uint32_t *member, unsigned n);
void rig_route(uint16_t vr, const char *prefix, uint32_t nexthop);
void rig_routes(uint16_t vr, const char *prefix, const char *other, uint32_t nexthop);
void rig_link_local(uint16_t iface, const char *address); // address of the host
void rig_unroute(uint16_t vr, const char *prefix);
uint16_t rig_vr(const char *name);
void rig_icmp_rate(uint32_t per_s,
                   uint32_t burst);   // per interface; the router's total limit is off
// Creates a plan for forwarder `f`: rx[] has n (port, queue) pairs; it sends all ports by its own
// queue `f`, unless tx_owner says otherwise.
struct plan *rig_plan_new(unsigned f, const struct plan_rx *rx, unsigned n);
void rig_plan_set(unsigned f,
                  struct plan *p); // publishes it, frees the old one after a grace period

// --- traffic ---

struct forwarder *rig_forwarder(unsigned i);
void rig_send(unsigned port, const struct frame *f);           // on queue 0
void rig_send_n(unsigned port, const struct frame *f, unsigned n); // n copies
void rig_send_queue(unsigned port, unsigned queue, const struct frame *f);
struct rte_mbuf *rig_mbuf(const struct frame *f,
                          unsigned segment); // in segments of at most `segment` bytes
// The same with bytes of value `behind` after the data. Under AddressSanitizer everything outside
// the data is poisoned: reading it ends the program. The first rig_reach bytes are excepted: lanes
// load so far before they know the frame's length, and bytes after its end decide nothing
// (forwarder/lanes.c), as packet_storm shows. AddressSanitizer does not see loads of the AVX-512
// set: a test of that set may set 22 (two tags, EtherType), the bytes that ether_in looks at.
extern unsigned rig_reach;
struct rte_mbuf *rig_mbuf_before(const struct frame *f, unsigned segment, uint8_t behind);
void rig_send_mbuf(unsigned port, unsigned queue, struct rte_mbuf *m);
void rig_poll(void); // all forwarders, until they find no packets
void rig_forward(unsigned port, const struct frame *f);        // rig_send() and rig_poll()
void rig_step(unsigned forwarder);                             // one poll of one forwarder
void rig_steps(unsigned forwarder, unsigned n);
bool rig_receive(unsigned port, struct frame *f); // next frame sent on any queue; false = none
// rig_forward() to one port and rig_receive() from the other.
bool rig_passes(unsigned port, const struct frame *f, unsigned to, struct frame *g);
bool rig_receive_queue(unsigned port, unsigned queue, struct frame *f);
struct rte_mbuf *
rig_receive_mbuf(unsigned port); // as an mbuf; NULL = none; the test frees it
unsigned rig_discard(unsigned port);                           // number of sent frames
unsigned rig_poll_out(unsigned port);                          // the same after rig_poll()
void rig_tx_block(unsigned port, bool blocked); // fills or drains the port's transmit rings
bool rig_punted(enum punt_class c, struct frame *f, uint16_t *iface); // like tap_manager
// Takes a held packet like neigh_manager; the test passes it to rig_inject or rig_release.
struct rte_mbuf *rig_held(void);
void rig_release(struct rte_mbuf *m); // neigh_manager drops it: HOLD_GONE
int rig_inject(unsigned forwarder, struct rte_mbuf *m);
void rig_inject_frame(unsigned forwarder, uint16_t iface,
                      const struct frame *f); // like tap_manager

// --- results since the start of the test ---
uint64_t rig_drops(enum drop_reason r);
uint64_t rig_drops_all(void);
struct counter_iface rig_counted(uint16_t iface);
// The last n drops had this reason, and there were no others.
#define assert_only_drop(reason, count)                                                            \
    do {                                                                                           \
        assert_int_equal(rig_drops(reason), count);                                                \
        assert_int_equal(rig_drops_all(), count);                                                  \
    } while (0)
void rig_check_conservation(void);
unsigned rig_buffers_in_use(void); // of all pools

// --- the frame of a test program ---
void rig_begin(void); // a test program's own, if it has one: what rig_setup() ends with
int rig_setup(void **state);
int rig_teardown(void **state);

#define path_test(name) unit_test_of(name, rig_setup, rig_teardown)

#endif
