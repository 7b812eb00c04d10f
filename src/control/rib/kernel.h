// SPDX-License-Identifier: BSD-3-Clause
// kernel.h - what the kernel says, and what it does in silence: links, route events, dumps
//
// Events change the store at once (rib_event.c, rib_link.c, rib_iface.c). Linux does not announce
// all it does, and events may be lost, so dumps verify: rib_sync.c runs them, rib_row.c takes
// their rows of routes, rib_gap.h says which prefixes a dump may lack. A doubt about
// our state asks for the next dump (resync_request.c). rib_manager's thread only.
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
    bool known; // the kernel has announced it
    bool up, carrier;
    bool ignore_linkdown[2]; // IPv4, IPv6
    bool multicast[2];       // a multicast routing daemon works on it: IPv4, IPv6
    uint8_t gen;
    struct netlink_link told; // the kernel's last announcement
    uint16_t iface;           // ours, 0 = not one of ours
    // The interface that frames leave by, 0 = none: ours, the one that a macvlan stands on, or one
    // of another virtual router in this namespace (of_other; rib_iface.c).
    uint16_t via;
    bool of_other;
    uint64_t lent;      // MAC of a macvlan on our interface, while it is up and has addresses
                        // (table/iface.h); 0 = none
    uint32_t glean;     // next hop of its connected prefixes, held; 0 = none
    uint32_t broadcast; // of its broadcast addresses, likewise
    char name[16];
    uint32_t n_pending; // hosts being resolved on it
    uint32_t n_legs;    // of hop sets
    VEC(struct rib_address) addr;
    VEC(struct rib_group) group; // that may come from beyond the link
    LIST_HEAD(, neigh) neighs;
};

// A set of links, of which several share a bit; the top bit is free.
static inline uint64_t rib_link_bit(int ifindex)
{
    return 1ull << (unsigned)ifindex % 63;
}

// --- rib_link.c: links, addresses, next-hop objects; the kernel's silent deletes ---
void rib_event_link(struct rib_vr *v, const struct netlink_event *e);
void rib_event_addr(struct rib_vr *v, const struct netlink_event *e);
void rib_event_netconf(struct rib_vr *v, const struct netlink_netconf *m);
void rib_event_nexthop(struct rib_vr *v, const struct netlink_event *e);
void rib_link_gone(struct rib_vr *v, struct rib_link *l);
void rib_link_sweep_addr(struct rib_vr *v); // end of a dump of addresses

// --- rib_iface.c: our interfaces among the links ---
void rib_iface_bind(struct rib_vr *v, uint16_t iface);
void rib_iface_unbind(struct rib_vr *v, uint16_t iface);
// Writes the addresses of ICMP errors.
void rib_iface_addresses(struct rib_vr *v, struct rib_link *l);
void rib_iface_report(struct rib_vr *v, const struct rib_link *l, bool gone); // to control
void rib_iface_tunnel(struct rib_vr *v, const struct rib_link *l, bool gone); // if it is one
// Other virtual routers may have routes by the link, too.
void rib_iface_rehop_others(struct rib_vr *v, int ifindex);
bool rib_iface_has_vrf(const struct rib_vr *v); // some VRF device has our table
// The link or its addresses changed. It may be a macvlan on one of ours, or another router's; the
// VRF device of our table; a VLAN device on one of ours; or any device on one of ours.
void rib_iface_update_via(struct rib_vr *v, struct rib_link *l);
void rib_iface_vrf(struct rib_vr *v, const struct rib_link *device);
void rib_iface_vlan(struct rib_vr *v, const struct rib_link *device);
void rib_iface_upper(struct rib_vr *v, const struct rib_link *l);
void rib_iface_suspect(struct rib_vr *v, int ifindex); // its sysctls may not be a router's

// --- rib_event.c: what a route event means ---
void rib_event_route(struct rib_vr *v, const struct netlink_event *e);
bool rib_wants(struct rib_vr *v, const struct netlink_route *m); // ours to keep
// Deletes condemned routes of a list that is about to be changed; false: there were none.
bool rib_drop_condemned(struct rib_vr *v, struct rib *r, uint32_t node);
// IPv6: one route together with all others of its metric that are so.
bool rib_is_multipath6(const struct rib_path *p);

// --- rib_unfollowed.c: what Linux routes by and forwarding does not: rules, routes with a TOS, …
// "The FIB is the kernel's table" is true only while there is nothing of it. What the RIB cannot
// take is kept as it is announced; what is in the RIB but leads elsewhere than in Linux is found
// among the paths when rib_unfollowed_report() is called.
void rib_unfollowed_route(struct rib_vr *v, const struct netlink_route *m, bool del);
void rib_unfollowed_rule(struct rib_vr *v, const struct netlink_rule *m, bool del);
void rib_unfollowed_mpls(struct rib_vr *v, const struct netlink_mpls *m, bool del);
void rib_unfollowed_report(struct rib_vr *v, struct rib_unfollowed *u);
void rib_unfollowed_fini(struct rib_vr *v);

// --- dumps ---

enum rib_stage { // of a dump, in this order
    RIB_STAGE_LINK,
    RIB_STAGE_NETCONF4,
    RIB_STAGE_NETCONF6,
    RIB_STAGE_ADDR,
    RIB_STAGE_RULE4,
    RIB_STAGE_RULE6,
    RIB_STAGE_NEXTHOP,
    RIB_STAGE_NEIGH,
    RIB_STAGE_MROUTE4,
    RIB_STAGE_MROUTE6,
    RIB_STAGE_GROUP4,
    RIB_STAGE_GROUP6,
    RIB_STAGE_MPLS,
    RIB_STAGE_ROUTE4,
    RIB_STAGE_ROUTE6,
    RIB_STAGE_N
};
#define RIB_STAGES_ALL ((1u << RIB_STAGE_N) - 1)
#define RIB_STAGES_ROUTES4 (1u << RIB_STAGE_NEXTHOP | 1u << RIB_STAGE_ROUTE4)
#define RIB_STAGES_ROUTES6 (1u << RIB_STAGE_NEXTHOP | 1u << RIB_STAGE_ROUTE6)

struct rib_shown { // the rows of a prefix that have come so far
    struct prefix prefix;
    enum rib_gap_table table;
    bool overtaken; // an event of the prefix may be newer than they are
    VEC(struct rib_shown_row {
        struct rib_path *path;
        uint32_t metric;
        uint8_t protocol;
    }) row;
};

struct rib_sync {
    // the request: what to dump next, and when
    uint32_t want;       // stages
    uint32_t whole;      // those of them that are not wanted for what is in doubt alone
    uint64_t want_at_ns; // not before
    bool overrun;        // events were lost: begin when the socket has been drained
    unsigned tries;      // dumps since the last one that left nothing to be repeated
    uint64_t since_ns;   // the first of them began
    // the dump that is running
    uint32_t todo;    // its stages to come
    int stage;        // being dumped, -1 = no dump
    uint32_t seq;     // of its request
    uint32_t served;  // all its stages
    uint32_t judged;  // `whole` of its request
    bool local_next;  // of routes: the router's table is being dumped, the local one comes next
    bool interrupted; // NLM_F_DUMP_INTR seen, or the kernel refused a stage
    bool stirred;     // events changed what is being dumped (no routes): rows may be missing
    bool broken;      // events were lost meanwhile: begin again
    bool ending;      // all stages done; ends when the events queued so far have been read
    bool asked_again; // likewise, and those that explain differences are among them
    bool row;         // the message before this one was a row
    bool heard;       // something of the stage came since rib_sync_watch() looked last
    uint64_t heard_ns; // when it saw that
    uint64_t begin_ns, took_ns;
    uint64_t checked; // rows compared
    uint32_t sweep;   // next route of the sweep, 0 = no sweep running
    struct rib_shown shown;
    struct rib_gaps gaps;     // prefixes of which it does not tell
    struct rib_gaps doubt[2]; // IPv4, IPv6: which no dump has covered yet
    // what events say meanwhile
    struct prefix going; // IPv4: of the last event, if that was a deletion, since the route may
                         // still be there; family 0 = none
    uint64_t lost;       // links by which routes have gone in silence (rib_link_bit)
    struct rib_map touched;  // changed since the last row: prefixes and other things, by hash
    struct rib_map diverged; // prefixes (by hash) found different and not explained by an event
                             // since: DIFFERS | links
};

// --- rib_row.c: what the rows of a dump mean ---
enum rib_gap_table rib_gap_table(const struct rib_vr *v, uint32_t table);
void rib_row_route(struct rib_vr *v, const struct netlink_route *m);
void rib_rows_event(struct rib_vr *v, const struct prefix *p); // an event of the prefix came
void rib_rows_end(struct rib_vr *v);  // no more rows: those of the last prefix are all
void rib_rows_drop(struct rib_vr *v); // the dump is given up
void rib_rows_fini(struct rib_vr *v);

// --- resync_request.c: what the next dump is to show ---
void rib_sync_want(struct rib_vr *v, uint32_t stages, uint64_t delay_ns);
// The same, only for what the dump before did not tell.
void rib_sync_want_doubt(struct rib_vr *v, uint32_t stages, uint64_t delay_ns);
// An event changed the prefix, or what has that hash (not 0) and is no prefix.
void rib_sync_touch(struct rib_vr *v, const struct prefix *p);
void rib_sync_touch_key(struct rib_vr *v, uint32_t key);
bool rib_sync_is_touched(const struct rib_vr *v, const struct prefix *p);
bool rib_sync_is_touched_key(const struct rib_vr *v, uint32_t key);
// A dump says something else than we had. gone, added: links (rib_path_links) of the routes that
// the kernel has no more, and of those that only the kernel had.
void rib_sync_diverge(struct rib_vr *v, const struct prefix *p, const char *how, uint64_t gone,
                      uint64_t added);
void rib_sync_diverge_key(struct rib_vr *v, uint32_t key);
// Routes by the link go in silence, now or a moment ago: no difference.
void rib_sync_link_lost(struct rib_vr *v, int ifindex);

// --- rib_sync.c: dumps ---
void rib_unfollowed_sweep(struct rib_vr *v, enum rib_stage stage); // forgets what it did not show
void rib_sync_step(struct rib_vr *v, bool drained); // between batches: begins, sweeps, ends
void rib_sync_message(struct rib_vr *v, const struct nlmsghdr *h);
void rib_sync_overrun(struct rib_vr *v);
bool rib_sync_is_due(const struct rib_vr *v, uint64_t now_ns); // to begin or end something
void rib_sync_watch(struct rib_vr *v, uint64_t now_ns); // every few ms: repeats a silent request

#endif
