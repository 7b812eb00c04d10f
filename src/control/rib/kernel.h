// SPDX-License-Identifier: BSD-3-Clause
// kernel.h - kernel state: links, route events, dumps, and Linux's silent changes
//
// Events change the store at once (rib_event.c, rib_link.c, rib_iface.c). Linux does not announce
// every change, and events may be lost, so dumps verify: rib_sync.c runs them, rib_row.c processes
// their route rows, and rib_gap.h tells which prefixes a dump may lack. Code that doubts our state
// requests the next dump (resync_request.c). rib_manager's thread only.
#ifndef RIB_KERNEL_H
#define RIB_KERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/vec.h"
#include "netlink/netlink.h"
#include "rib/rib_gap.h"
#include "rib/rib_map.h"
#include "rib/rib_manager.h"

struct neigh;
struct rib;
struct rib_path;
struct rib_vr;

// --- links ---

struct rib_address {
    struct ip_addr addr;
    uint8_t len, scope, gen;
    bool secondary, usable, automatic, deprecated;
};

struct rib_group { // joined on a link by the host
    struct ip_addr addr;
    uint8_t gen;
};

struct rib_link {
    int ifindex;
    bool known; // announced by the kernel
    bool up, carrier;
    bool ignore_linkdown[2]; // IPv4, IPv6
    bool multicast[2];       // a multicast routing daemon uses it: IPv4, IPv6
    bool labels;             // accepts packets with MPLS labels
    uint8_t gen;
    struct netlink_link told; // Kernel's last announcement
    uint16_t iface;           // our interface id, 0 = not ours
    // Outgoing interface, 0 = none: our own, the parent of a macvlan, or an interface of another
    // virtual router in this namespace (of_other; rib_iface.c).
    uint16_t via;
    bool of_other;
    uint64_t lent;      // MAC of a macvlan on our interface, while it is up and has addresses
                        // (table/iface.h); 0 = none
    uint32_t glean;     // next hop of its connected prefixes, held; 0 = none
    uint32_t broadcast; // next hop of its broadcast addresses, held; 0 = none
    char name[16];
    uint32_t n_pending; // hosts being resolved on it
    uint32_t n_legs;    // in hop sets
    VEC(struct rib_address) addr;
    VEC(struct rib_group) group; // groups with traffic from beyond the link
    LIST_HEAD(, neigh) neighs;
};

// Bit of a link in a set of links; several links share a bit. The top bit is free.
static inline uint64_t rib_link_bit(int ifindex)
{
    return 1ull << (unsigned)ifindex % 63;
}

// --- rib_link.c: links, addresses, next-hop objects; silent deletions of the kernel ---
void rib_event_link(struct rib_vr *v, const struct netlink_event *e);
void rib_event_addr(struct rib_vr *v, const struct netlink_event *e);
void rib_event_netconf(struct rib_vr *v, const struct netlink_netconf *m);
void rib_event_nexthop(struct rib_vr *v, const struct netlink_event *e);
void rib_link_gone(struct rib_vr *v, struct rib_link *l);
void rib_link_sweep_addr(struct rib_vr *v); // end of an address dump

// --- rib_iface.c: our interfaces among the links ---
void rib_iface_bind(struct rib_vr *v, uint16_t iface);
void rib_iface_unbind(struct rib_vr *v, uint16_t iface);
// Updates the source addresses of ICMP errors.
void rib_iface_addresses(struct rib_vr *v, struct rib_link *l);
void rib_iface_report(struct rib_vr *v, const struct rib_link *l, bool gone); // to control
void rib_iface_tunnel(struct rib_vr *v, const struct rib_link *l, bool gone); // if it is a tunnel
// Other virtual routers may have routes by this link, too.
void rib_iface_rehop_others(struct rib_vr *v, int ifindex);
bool rib_iface_has_vrf(const struct rib_vr *v); // some VRF device has our table
// The link or its addresses changed. The link may be a macvlan on one of our interfaces, an
// interface of another router, the VRF device of our table, a VLAN device on one of ours, or any
// other device on one of ours.
void rib_iface_update_via(struct rib_vr *v, struct rib_link *l);
void rib_iface_vrf(struct rib_vr *v, const struct rib_link *device);
void rib_iface_vlan(struct rib_vr *v, const struct rib_link *device);
void rib_iface_upper(struct rib_vr *v, const struct rib_link *l);
void rib_iface_suspect(struct rib_vr *v, int ifindex); // its sysctls may be wrong for a router

// --- rib_event.c: route events ---
void rib_event_route(struct rib_vr *v, const struct netlink_event *e);
bool rib_wants(struct rib_vr *v, const struct netlink_route *m); // the RIB should keep this route
// Deletes the condemned routes of a list before it changes; false: there were none.
bool rib_drop_condemned(struct rib_vr *v, struct rib *r, uint32_t node);
// IPv6: Linux merges all such routes of one metric into one multipath route.
bool rib_is_multipath6(const struct rib_path *p);

// --- rib_unfollowed.c: rules and routes that Linux follows and forwarding does not: policy rules,
// routes with a TOS, … "The FIB is the kernel's table" holds only while there are none. Rules and
// routes that the RIB cannot take are kept as announced; rib_unfollowed_report() finds RIB routes
// that lead elsewhere in Linux among the paths.
void rib_unfollowed_route(struct rib_vr *v, const struct netlink_route *m, bool del);
void rib_unfollowed_rule(struct rib_vr *v, const struct netlink_rule *m, bool del);
void rib_unfollowed_report(struct rib_vr *v, struct rib_unfollowed *u);
void rib_unfollowed_add(struct rib_unfollowed *u, enum rib_unfollowed_kind kind, uint64_t n,
                        const char *example);
void rib_unfollowed_fini(struct rib_vr *v);

// --- dumps ---

enum rib_stage { // stages of a dump, in this order
    RIB_STAGE_LINK,
    RIB_STAGE_NETCONF4,
    RIB_STAGE_NETCONF6,
    RIB_STAGE_NETCONF_LABEL,
    RIB_STAGE_ADDR,
    RIB_STAGE_RULE4,
    RIB_STAGE_RULE6,
    RIB_STAGE_NEXTHOP,
    RIB_STAGE_NEIGH,
    RIB_STAGE_MROUTE4,
    RIB_STAGE_MROUTE6,
    RIB_STAGE_GROUP4,
    RIB_STAGE_GROUP6,
    RIB_STAGE_LABEL,
    RIB_STAGE_ROUTE4,
    RIB_STAGE_ROUTE6,
    RIB_STAGE_N
};
#define RIB_STAGES_ALL ((1u << RIB_STAGE_N) - 1)
#define RIB_STAGES_ROUTES4 (1u << RIB_STAGE_NEXTHOP | 1u << RIB_STAGE_ROUTE4)
#define RIB_STAGES_ROUTES6 (1u << RIB_STAGE_NEXTHOP | 1u << RIB_STAGE_ROUTE6)

struct rib_shown { // rows of a prefix received so far
    struct prefix prefix;
    enum rib_gap_table table;
    bool overtaken; // an event of the prefix may be newer than its rows
    VEC(struct rib_shown_row {
        struct rib_path *path;
        uint32_t metric;
        uint8_t protocol;
    }) row;
};

struct rib_sync {
    // Request: stages of the next dump, and its time
    uint32_t want;       // stages
    uint32_t whole;      // stages wanted in full, not only for doubtful prefixes
    uint64_t want_at_ns; // not before
    bool overrun;        // events were lost: begin when the socket is drained
    unsigned tries;      // dumps since the last one that needed no repetition
    uint64_t since_ns;   // start of the first of them
    // The running dump
    uint32_t todo;    // its remaining stages
    int stage;        // current stage, -1 = no dump
    uint32_t seq;     // of its request
    uint32_t served;  // all its stages
    uint32_t judged;  // `whole` of its request
    bool local_next;  // routes: the router's table is being dumped, the local one follows
    bool interrupted; // NLM_F_DUMP_INTR seen, or the kernel refused a stage
    bool stirred;     // events changed the dumped objects (not routes): rows may be missing
    bool broken;      // events were lost meanwhile: begin again
    bool ending;      // all stages done; ends when the events queued so far have been read
    bool asked_again; // the same, and events that explain differences are among them
    bool row;         // the previous message was a row
    bool heard;       // got a message of the stage since the last rib_sync_watch()
    uint64_t heard_ns; // time of the last check that saw messages
    uint64_t begin_ns, took_ns;
    uint64_t checked; // rows compared
    uint32_t sweep;   // next route of the sweep, 0 = no sweep running
    struct rib_shown shown;
    struct rib_gaps gaps;     // prefixes that the dump may lack
    struct rib_gaps doubt[2]; // IPv4, IPv6: prefixes not yet covered by any dump
    // State from events during the dump
    struct prefix going; // IPv4: prefix of the last event if it was a deletion, since the route may
                         // still be there; family 0 = none
    uint64_t lost;       // links whose routes vanished without an event (rib_link_bit)
    struct rib_map touched;  // prefixes and other objects changed since the last row, by hash
    struct rib_map diverged; // differing prefixes (by hash) that no later event has explained:
                             // DIFFERS | links
};

// --- rib_row.c: route rows of a dump ---
enum rib_gap_table rib_gap_table(const struct rib_vr *v, uint32_t table);
void rib_row_route(struct rib_vr *v, const struct netlink_route *m);
void rib_rows_event(struct rib_vr *v, const struct prefix *p); // an event of the prefix arrived
void rib_rows_end(struct rib_vr *v);  // no more rows: the last prefix is complete
void rib_rows_drop(struct rib_vr *v); // the dump is abandoned

// --- resync_request.c: contents of the next dump ---
void rib_sync_want(struct rib_vr *v, uint32_t stages, uint64_t delay_ns);
// The same, but only for prefixes that the previous dump may have lacked.
void rib_sync_want_doubt(struct rib_vr *v, uint32_t stages, uint64_t delay_ns);
// An event changed the prefix, or another object with that hash (not 0).
void rib_sync_touch(struct rib_vr *v, const struct prefix *p);
void rib_sync_touch_key(struct rib_vr *v, uint32_t key);
bool rib_sync_is_touched(const struct rib_vr *v, const struct prefix *p);
bool rib_sync_is_touched_key(const struct rib_vr *v, uint32_t key);
// A dump differs from our state. gone, added: links (rib_path_links) of the routes that the kernel
// lacks, and of the routes that only the kernel had.
void rib_sync_diverge(struct rib_vr *v, const struct prefix *p, const char *how, uint64_t gone,
                      uint64_t added);
void rib_sync_diverge_key(struct rib_vr *v, uint32_t key);
// Routes by the link vanish without an event, now or a moment ago: not a difference.
void rib_sync_link_lost(struct rib_vr *v, int ifindex);

// --- rib_sync.c: dumps ---
void rib_unfollowed_sweep(struct rib_vr *v, enum rib_stage stage); // forgets entries that it lacked
void rib_sync_step(struct rib_vr *v, bool drained); // between batches: begins, sweeps, ends
void rib_sync_message(void *vr, const struct nlmsghdr *h); // for netlink_receive
void rib_sync_overrun(struct rib_vr *v);
bool rib_sync_is_due(const struct rib_vr *v, uint64_t now_ns); // something is due to begin or end
void rib_sync_watch(struct rib_vr *v, uint64_t now_ns); // repeats an unanswered request

#endif
