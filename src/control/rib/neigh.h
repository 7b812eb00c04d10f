// SPDX-License-Identifier: BSD-3-Clause
// neigh.h - neighbors: the kernel resolves them, the FIB follows
//
// Mirrors the kernel's neighbor tables (ARP, ND), keeps gateways resolved, gives each resolved host
// on a link its own /32 or /128 in the FIB, and holds packets for hosts being resolved
// (neigh_take.c, neigh_hold.c). There is one struct neigh per (vr, link, address), with one
// next-hop id, whose kind follows the state:
//
//     HOLD       not resolved: packets come here and start the resolution
//     ADJACENCY  resolved
//     FAILED     did not answer lately (NEIGH_NEGATIVE_NS), or its link is down
//
// All calls: rib_manager.
#ifndef RIB_NEIGH_H
#define RIB_NEIGH_H

#include <linux/neighbour.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/ip.h"
#include "netlink/netlink.h"

struct rib_link;
struct rib_vr;
struct rte_mbuf;

#define NEIGH_HOLD_MAX 32 // packets waiting for one neighbor
// Hosts being resolved at a time, or half of the kernel's table if that is less.
#define NEIGH_PENDING_MAX 1024
#define NEIGH_RATE 500                  // new resolutions per second, and burst size
#define NEIGH_HOLD_NS 3000000000ull     // maximum wait of a packet
#define NEIGH_NEGATIVE_NS 3000000000ull // how long a failure is remembered
#define NEIGH_KEPT_NS 10000000000ull    // how long a host in use outlives its kernel entry
#define NEIGH_EPOCH_NS 4000000000ull    // of the "used lately" marks

struct neigh {
    uint32_t next; // number of a neighbor with this address on another link; free link in the pool
    int ifindex;
    struct rib_vr *vr; // NULL: a freed record
    struct ip_addr addr;
    LIST_ENTRY(neigh) on_link;
    // Kernel's view
    uint16_t state; // NUD_*
    bool in_kernel, has_mac;
    uint8_t mac[6];
    uint8_t gen;
    // Our view
    bool host;     // has a host route in the FIB
    bool managed;  // the kernel was asked to keep it resolved
    bool pending;  // packets or a resolution wait: in the pending list
    uint8_t kind;  // current enum nexthop_kind of its id
    uint16_t iface; // of its id
    uint16_t way_iface; // outgoing interface of its id's rewrite; differs from iface on a detour
    uint8_t way_mac[6];
    bool detour;   // rib_detour.c
    uint8_t told, told_mac[6]; // last state reported by neigh_feed.c
    uint32_t refs; // hops that lead through it
    uint32_t nexthop; // held, 0 = none yet
    uint64_t failed_until_ns, asked_ns;
    uint64_t kept_until_ns; // in use, but evicted by the kernel: its MAC stays valid until then
    uint32_t n_held;
    struct rte_mbuf *held, **held_tail; // oldest first
    LIST_ENTRY(neigh) on_pending;
};

// Services of the route store for neighbors. The store is layered above neighbors, so it registers
// itself at the start.
struct neigh_routes {
    // Does the host's longest route lead onto that link?
    bool (*is_connected)(struct rib_vr *v, const struct ip_addr *addr, int ifindex);
    // The host's own FIB entry comes or goes.
    void (*set_host)(struct rib_vr *v, const struct ip_addr *addr, uint32_t nexthop, bool on);
    // Gateway of the default route whose rewrite the neighbor's next hop borrows, or NULL.
    const struct neigh *(*detour)(const struct neigh *n);
};
int neigh_manager_init(const struct neigh_routes *routes);
void neigh_manager_fini(void);

// --- for next hops ---
// One more hop leads through it, or one less.
struct neigh *neigh_get(struct rib_vr *v, int ifindex, const struct ip_addr *addr);
void neigh_put(struct neigh *n);         // NULL is fine
bool neigh_lacks_nexthop(const struct neigh *n); // budget of next hops has none for it

// --- for the event loop ---
void neigh_event(struct rib_vr *v, const struct netlink_neigh *m, bool del);
void neigh_sweep(struct rib_vr *v, uint8_t gen); // forgets entries missing from this dump
bool neigh_is_group(const struct ip_addr *a);    // multicast
void neigh_groups_keep(struct rib_vr *v, const struct rib_link *l);
// Up, down, carrier, became ours or is no longer ours.
void neigh_link_changed(struct rib_vr *v, struct rib_link *l);
void neigh_link_gone(struct rib_vr *v, struct rib_link *l);
// Carrier of the link's port changed: its gateways begin or end their detours.
void neigh_carrier_changed(struct rib_link *l);
void neigh_tick(uint64_t now_ns); // a few times a second: timeouts, refresh, epoch
void neigh_refused(struct rib_vr *v, int error); // the kernel refused a request
void neigh_vr_gone(struct rib_vr *v);            // forgets all of its neighbors

// --- for routes ---
// The best route of p changed: host routes below it may come and go.
void neigh_recheck(struct rib_vr *v, const struct prefix *p);

// --- neigh_take.c: packets from forwarders ---
unsigned neigh_hold_poll(uint64_t now_ns); // takes packets of forwarders; returns their number
void neigh_pending_tick(uint64_t now_ns);  // ends resolutions that took too long

// --- neigh_hold.c: waiting packets, hosts being resolved ---
void neigh_hold_add(struct neigh *n, struct rte_mbuf *m, uint64_t now_ns);
void neigh_hold_flush(struct neigh *n); // resolved: send its packets
void neigh_hold_fail(struct neigh *n);  // no answer: a forwarder informs the senders
void neigh_hold_drop(struct neigh *n, int reason); // enum drop_reason
void neigh_hold_send(struct rte_mbuf *m, uint32_t nexthop); // sends a packet that need not wait
void neigh_hold_count(int reason, struct rte_mbuf *m);      // counts a packet that may not wait
void neigh_pending_add(struct neigh *n);
void neigh_pending_del(struct neigh *n);
unsigned neigh_pending_count(void);
struct neigh *neigh_pending_first(void); // next: LIST_NEXT(n, on_pending)

// --- acl_target_resolve.c: keeps redirect targets of access lists resolved ---
void acl_target_resolve_tick(uint64_t now_ns); // a few times a second
void acl_target_resolve_vr_gone(const struct rib_vr *v);

// --- shared by the files, and for show ---
struct neigh *neigh_find(struct rib_vr *v, int ifindex, const struct ip_addr *addr);
struct neigh *neigh_make(struct rib_vr *v, int ifindex, const struct ip_addr *addr); // or finds it
struct neigh *neigh_of_nexthop(uint32_t id); // NULL if the id is not a neighbor's
// Does the virtual router's budget allow one more neighbor?
bool neigh_has_room(struct rib_vr *v);
void neigh_want(struct neigh *n, uint64_t now_ns); // asks the kernel, at most once a second
// Kind, host route and lifetime follow the state; n may be freed.
void neigh_update(struct neigh *n, uint64_t now_ns);
// By the kernel, now.
static inline bool neigh_is_resolved(const struct neigh *n)
{
    return n->in_kernel && n->has_mac &&
           (n->state &
            (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY));
}
bool neigh_is_used(const struct neigh *n); // by traffic, lately
bool neigh_is_ours(const struct neigh *n); // on a link of one of our interfaces
uint32_t neigh_count(int vr);              // of ours; -1 = all
// The neighbors of a virtual router (-1: of all); n may be freed in the loop.
struct neigh *neigh_next(uint32_t *number, int vr); // behind that number; NULL: none
#define neigh_each(n, vr) for (uint32_t neigh_i_ = 0; ((n) = neigh_next(&neigh_i_, (vr)));)

// neigh_limit.c: capacity of the kernel's neighbor tables. One ARP table and one ND table serve
// all namespaces of a machine. From gc_thresh2 entries on, the kernel evicts entries that are not
// refreshed; beyond gc_thresh3 it resolves no new neighbor. The limits do not count permanent and
// externally learned entries (kamueed makes some of these for each interface, neigh_groups_keep),
// but the reported number of entries includes them. So we watch refusals and evictions instead of
// the number: we ask every few seconds (RTM_GETNEIGHTBL) and warn the operator of either. Hosts
// being resolved may fill half of a table, so that a scan leaves room for hosts that answer.
struct nlmsghdr;

struct neigh_table {
    uint32_t entries;      // including those not counted by the limits
    uint32_t full, limit;  // gc_thresh2, gc_thresh3; limit 0: unknown
    uint64_t refused;      // entries refused by the kernel's full table, since start
    uint64_t evictions;    // times that the kernel made room because it had more than gc_thresh2
};

int neigh_limit_init(void); // uses the kernel's defaults until it answers; 0 or -errno
void neigh_limit_fini(void);
void neigh_limit_tick(uint64_t now_ns); // sends requests, reads answers, warns the operator
void neigh_limit_refused(void);         // the kernel's table is full: it refused an entry
// Hosts that may be resolved at the same time; half of them on one link.
unsigned neigh_limit_pending(uint8_t family);
const struct neigh_table *neigh_limit_table(uint8_t family);

// Parses one message of the answer: 0 if it is not for one of our tables. Also for the fuzzer and
// tests.
uint8_t neigh_limit_parse(const struct nlmsghdr *h, struct neigh_table *t); // enum ip_family

#endif
