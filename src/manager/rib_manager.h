// SPDX-License-Identifier: BSD-3-Clause
// rib_manager.h - the thread that turns kernel state into the FIB
//
// netlink (libmnl) -> RIB -> next hops -> FIB commit, one commit per drained
// netlink batch; neigh_manager runs on the same thread. Control talks to it by
// the calls below, which post to its mailbox; answers come back as calls on
// the control loop, so that a long walk pauses neither of them.
#ifndef MANAGER_RIB_MANAGER_H
#define MANAGER_RIB_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"
#include "table/fib.h"

int rib_manager_start(void); // control; starts the thread
void rib_manager_stop(void);
void rib_manager_set_receive_buffer(size_t bytes); // SO_RCVBUFFORCE of sockets opened from now on and of open ones

// --- control, waiting: used by vr_manager and iface_manager ---
// Opens a socket in the namespace (netns_fd, -1 = own), dumps links, addresses, neighbours, routes, and follows events.
int rib_manager_vr_add(uint16_t vr, int netns_fd, uint32_t table);
int rib_manager_vr_del(uint16_t vr);
// Live. 0; -errno; or > 0: the MiB of DPDK memory that it needs and has not got. Then the old engines stay.
int rib_manager_vr_engine(uint16_t vr, enum fib_engine engine);
int rib_manager_iface_add(uint16_t iface); // the interface has its TAP (ifindex) now: adjacencies and routes may use it
int rib_manager_iface_del(uint16_t iface); // nothing in nexthop table or FIB refers to it when this returns
int rib_manager_iface_changed(uint16_t iface); // MTU, MAC, VLAN, up/down or carrier: refresh adjacencies, next hops

// --- control, asking: rows are delivered in chunks by calls on the control loop ---
enum rib_route_type { RIB_UNICAST, RIB_LOCAL, RIB_BROADCAST, RIB_CONNECTED, RIB_BLACKHOLE, RIB_UNREACHABLE, RIB_PROHIBIT, RIB_MULTICAST };

struct rib_hop {
    char iface[16]; // the link in Linux, ours or not; "" = unknown
    struct ip_addr gateway; // family 0 = on link
    uint16_t weight;
    bool resolved, alive;
};

struct rib_row {
    struct prefix prefix;
    uint8_t type; // enum rib_route_type
    uint8_t protocol; // rtm_protocol: 186 BGP, 188 OSPF, 189 RIP, 4 static, 2 kernel…
    uint32_t metric;
    bool active; // in the FIB
    uint32_t nexthop; // id in the FIB, 0 = none
    const char *nexthop_kind; // nexthop_kind_name()
    uint16_t n_hops;  // hops shown, at most RIB_ROW_HOPS
#define RIB_ROW_HOPS 16
    struct rib_hop hop[RIB_ROW_HOPS];
};

struct rib_query {
    uint16_t vr;
    uint8_t family;
    enum { RIB_ALL, RIB_EXACT, RIB_LONGEST_MATCH /* prefix = host */, RIB_LONGER /* at or below prefix */ } match;
    struct prefix prefix;
    int protocol; // -1 = any
    int type;     // -1 = any
};

struct rib_walk; // an open query
// `rows` is called on the control loop with 1..256 rows; it returns true for "more, please" at once, or false to pause until
// rib_walk_more(). `done(ctx, 0 or -errno)` ends it. Changes during the walk are seen or not, never a crash or a duplicate.
struct rib_walk *rib_walk_open(const struct rib_query *q, bool (*rows)(void *ctx, const struct rib_row *row, unsigned n),
                               void (*done)(void *ctx, int result), void *ctx);
void rib_walk_more(struct rib_walk *w);
void rib_walk_close(struct rib_walk *w); // before done(): cancels; no call comes afterwards

struct neigh_row {
    uint16_t vr;
    struct ip_addr addr;
    char iface[16];
    uint8_t mac[6];
    const char *state; // "reachable", "stale", "incomplete", "failed", "permanent", "noarp", "delay", "probe"
    uint32_t nexthop;  // id of its adjacency
    uint32_t held;     // packets waiting
    bool gateway;      // a route uses it: kept resolved
    bool in_use;       // traffic lately
};
// All neighbours of a vr (vr = -1: all vrs), in one answer on the control loop; `n` rows owned by the caller until done returns.
int rib_manager_neigh(int vr, void (*done)(void *ctx, const struct neigh_row *row, unsigned n), void *ctx);

struct rib_stats {
    uint64_t routes4, routes6;          // kernel routes held (all candidates)
    uint64_t fib_routes4, fib_routes6;  // prefixes in the FIB
    uint64_t by_protocol4[256], by_protocol6[256];
    uint64_t messages, batches, overruns, resyncs, swept; // netlink messages, drained batches, ENOBUFS, re-dumps, entries removed by them
    uint64_t diverged;                  // prefixes that re-dumps found different and no event explains: silent changes we had not derived
    uint64_t ignored_rules;             // policy rules seen and ignored
    uint64_t updates4, updates6;        // FIB changes
    uint64_t last_change_ns, resync_ns; // clock of the last FIB change; duration of the last (re)sync
    uint64_t nexthops, neighbors, held;
    bool synced;                        // the first dump is complete
    enum fib_engine engine4, engine6;   // in use
    uint64_t engine_faults4, engine_faults6, engine_rebuilds4, engine_rebuilds6;
    uint64_t fib_bytes4, fib_bytes6, fib_nodes4, fib_nodes6, fib_leaves4, fib_leaves6, fib_control_bytes4, fib_control_bytes6, rib_bytes;
};
int rib_manager_stats(uint16_t vr, void (*done)(void *ctx, const struct rib_stats *s), void *ctx);

// Audit: dumps the kernel again, compares and heals; answers with the number of differences found.
int rib_manager_audit(uint16_t vr, void (*done)(void *ctx, int result, uint64_t checked, uint64_t diverged), void *ctx);

#endif
