// SPDX-License-Identifier: BSD-3-Clause
// rib.h - the route store: every candidate the kernel has, and what the FIB got of it
//
//     prefix node --head--> route -> route -> ...      best first, the kernel's own order
//                             |        |
//                           path     path              what routes share: type and next hops
//                             |
//                          nexthop id                  nexthop_manager.h
//
// A route is 28 bytes, its node 24 (IPv4) and forks another few: about 65 bytes
// a prefix. A path is shared by all routes that lead the same way and lists
// them, so "everything through this interface or next-hop object" is a list
// and not a search. All of it belongs to rib_manager's thread; the files are
// rib_index.c (numbers), rib_list.c (lists), rib_path.c (paths), rib_work.c (their prefixes),
// rib_fib.c (best route into the FIB), rib_source.c (what uRPF asks), rib_counted.c (prefixes whose
// packets are counted), rib_event.c (what an event means), rib_row.c (what a dump's rows mean),
// rib_link.c (what the kernel does silently), rib_unfollowed.c (what the kernel routes by and we do
// not), resync_request.c, rib_sync.c and rib_gap.c (dumps), rib_audit.c and rib_compare.c (audits),
// journal_describe.c.
#ifndef RIB_RIB_H
#define RIB_RIB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/vec.h"
#include "netlink/netlink.h"
#include "rib/nexthop_manager.h"
#include "rib/rib_audit_book.h"
#include "rib/rib_gap.h"
#include "rib/rib_map.h"
#include "rib/rib_pool.h"
#include "rib/rib_trie.h"
#include "table/vr.h"

struct event;
struct neigh;

#define RIB_TABLE_MAIN 254
#define RIB_TABLE_LOCAL 255

enum rib_route_flag {
    RIB_ROUTE_LOCAL = 1, // from the kernel's local table, which is asked before the others
    RIB_ROUTE_HOST = 2,  // a neighbor on a link (neigh_manager); behind every route of the kernel;
                         // see host_behind in rib_fib.c
};

struct rib_route {
    uint32_t next; // candidate behind this one; also the pool's free link
    uint32_t node;
    uint32_t path; // path number; RIB_ROUTE_HOST: a next-hop id
    uint32_t path_prev, path_next;
    uint32_t metric;
    uint8_t protocol, flags, gen;
};

struct rib_path {
    // identity
    uint8_t family, type, scope; // type, scope: rtm_*
    uint8_t encap;               // of netlink_route; we cannot do it: unreachable
    uint32_t nhid, metrics_hash;
    struct ip_addr prefsrc;
    uint16_t n_hops;
    uint16_t mtu; // of the route, 0 = none
    // state
    bool queued;    // in v->dirty: its prefixes have to be looked at again
    bool condemned; // the kernel has deleted its routes: ours go, bit by bit
    uint32_t id, hash_next;
    uint64_t hash;
    uint32_t head, n_routes, cursor; // its routes; how far the second look has come
    struct hop_set own;              // of hop[], unless it has an object
    struct nexthop_object *object;   // of nhid
    struct netlink_hop hop[];        // sorted
};

struct rib { // of one family
    struct rib_trie trie;
    struct pool route;
    uint8_t gen;      // of the last dump begun; routes seen since carry it
    bool deferred;    // nothing goes to the FIB until the first dump is complete
    uint64_t n_fib, n_host, updates;
    uint64_t by_protocol[256], n_routes; // without hosts
    VEC(struct prefix) wide_local; // prefixes of the local table that are no host: 127.0.0.0/8
    struct rib_trie neigh;         // neighbors by address
    uint64_t sum[RIB_BLOCKS];      // of what is installed, by block (rib_audit.h)
};

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
    bool known, up, carrier; // known: the kernel has told about it
    bool ignore_linkdown[2]; // IPv4, IPv6
    bool multicast[2];       // a multicast routing daemon works on it: IPv4, IPv6
    uint8_t gen;
    struct netlink_link told; // what the kernel has told last
    uint16_t iface; // ours, 0 = not one of ours
    uint16_t via; // the interface that frames leave by: ours, the one that a macvlan stands on, or
                  // another virtual router's; 0 = none
    bool of_other;  // `via` is of another virtual router of this namespace (rib_iface.c)
    uint64_t lent;  // MAC of a macvlan that is ours as well while it is up and has addresses
                    // (table/iface.h); 0 = none
    uint32_t glean; // next hop of its connected prefixes, held; 0 = none
    uint32_t broadcast; // of its broadcast addresses, likewise
    char name[16];
    uint32_t n_pending; // hosts being resolved on it
    VEC(struct rib_address) addr;
    VEC(struct rib_group) group; // that may come from beyond the link
    LIST_HEAD(, neigh) neighs;
};

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
    bool overtaken;    // an event of the prefix may be newer than they are
    VEC(struct rib_shown_row {
        struct rib_path *path;
        uint32_t metric;
        uint8_t protocol;
    }) row;
};

struct rib_sync {
    uint32_t todo;      // stages of the dump that is running
    int stage;          // being dumped, -1 = no dump
    uint32_t seq;       // of its request
    uint32_t served;    // stages of this dump, also those done
    bool interrupted;   // NLM_F_DUMP_INTR seen, or the kernel refused a stage
    bool stirred; // events changed meanwhile what is being dumped (no routes), and the kernel may
                  // have skipped rows for it
    struct rib_shown shown;
    struct rib_gaps gaps; // of the dump of routes: of which prefixes it does not tell
    struct rib_gaps doubt[2]; // IPv4, IPv6: of which no dump has told yet
    bool broken;        // events were lost meanwhile: begin again
    unsigned tries;     // dumps of this sync
    uint32_t want;      // stages to dump next
    uint32_t whole;     // those of them that are not wanted for what is in doubt alone
    uint32_t judged;    // the same, of the dump that is running
    bool overrun;       // events were lost: begin when the socket has been drained
    uint64_t want_at_ns; // not before
    uint64_t since_ns;  // the first of them began
    uint64_t begin_ns, took_ns;
    uint64_t checked;   // rows compared in this dump
    uint32_t sweep;     // next route of the sweep, 0 = no sweep running
    bool ending;        // all stages done; ends when the events queued so far have been read
    bool asked_again;   // likewise, and those that explain what has been found different are among
                        // them
    bool row;           // the message before this one was a row
    bool heard;         // something of the running stage came since rib_sync_watch() looked last
    uint64_t heard_ns;  // when it saw that
    struct prefix going; // IPv4: the last event was the deletion of a route of it, which may still
                         // be there; family 0 = none
    uint64_t lost;           // links of which events have said that routes by them go in silence
    struct rib_map
        touched; // what events changed since the last row: prefixes and other things, by hash
    struct rib_map diverged; // prefixes (by hash) found different in this dump and not explained by
                             // an event since: DIFFERS | links
};

struct rib_counted { // a prefix whose packets are counted
    struct prefix prefix;
    uint16_t slot; // of table/prefix_count.h, held
};

#define RIB_DEFAULT_RULES 3 // local, local later, main
struct rib_default_rule {
    bool there;
    uint8_t gen;
};

struct rib_vr {
    uint16_t id;
    uint32_t table;
    uint64_t namespace; // cookie of the kernel's, 0 = not known
    struct netlink events, requests;
    struct event *ev_events, *ev_requests, *ev_work;
    struct rib rib[2]; // IPv4, IPv6
    VEC(struct rib_path *) path; // by number; 0 is nobody
    VEC(uint32_t) path_free;
    uint32_t *path_bucket, n_path_buckets, n_paths;
    uint32_t n_mtu_paths; // that have an MTU
    VEC(uint32_t) dirty; // paths whose prefixes wait for their second look
    struct rib_map link, object; // struct rib_link, struct nexthop_object
    struct rib_mroutes *mroutes; // rib_multicast.h; NULL = there never were any
    struct rib_sync sync;
    struct rib_audit audit;
    uint8_t gen; // of links, addresses, objects, neighbors in the dump begun last
    bool synced, no_managed, changed; // changed: something waits for fib_commit
    bool ignore_linkdown_all4;
    unsigned n_macvlans, n_vlans; // among the links
    uint8_t sources[2]; // IPv4, IPv6: enum rib_sources
    VEC(struct rib_counted) counted[2]; // IPv4, IPv6; sorted
    struct rib_map unfollowed; // by hash of what it is (rib_unfollowed.c)
    struct rib_default_rule default_rule[2][RIB_DEFAULT_RULES]; // IPv4, IPv6
    bool has_mpls;     // the kernel can route labels
    bool has_rules[2]; // the kernel has told of some: one without policy routing has none
    uint64_t messages, batches, overruns, resyncs, swept, diverged, last_change_ns;
    uint64_t window_ns, window_messages; // of the millisecond that tells a storm (rib_manager.c)
    uint64_t malformed, unexpected, fib_errors;
};

static inline struct rib *rib_of(struct rib_vr *v, uint8_t family)
{
    return &v->rib[family == IP6];
}

static inline struct rib_route *rib_route_at(const struct rib *r, uint32_t id)
{
    return pool_at(&r->route, id);
}

static inline struct fib *rib_fib(const struct rib_vr *v, uint8_t family)
{
    return family == IP4 ? vr_get(v->id)->fib4 : vr_get(v->id)->fib6;
}

// --- rib_index.c: by number ---
struct rib_vr *rib_vr_find(uint16_t id);
void rib_vr_set(uint16_t id, struct rib_vr *v); // NULL: it is gone
bool rib_vr_shares(
    const struct rib_vr *a,
    const struct rib_vr *b); // one namespace, and so its links, with different tables
struct rib_link *rib_link_find(const struct rib_vr *v, int ifindex);
struct rib_link *rib_link_get(struct rib_vr *v, int ifindex); // found or made (unknown yet)
bool rib_link_is_alive(const struct rib_link *l); // does a packet get through?
void rib_link_free_unused(struct rib_vr *v,
                          bool all); // those the kernel no longer has; at the end, all

// --- rib_list.c: lists of candidates ---
void rib_init(struct rib *r, uint8_t family);
void rib_fini(struct rib *r);
// Makes a route behind `prev` (0 = first) of the node's list; it is not looked at yet.
uint32_t rib_route_add(struct rib_vr *v, struct rib *r, uint32_t node, uint32_t prev,
                       struct rib_path *path, uint32_t metric, uint8_t protocol, uint8_t flags);
void rib_route_del(struct rib_vr *v, struct rib *r,
                   uint32_t route); // unlinked and freed; the node stays
void rib_route_move(struct rib *r, uint32_t route, uint32_t prev);   // behind prev (0 = first)
void rib_route_set_path(struct rib_vr *v, struct rib *r, uint32_t route, struct rib_path *path);
uint32_t rib_route_prev(const struct rib *r, uint32_t route); // 0 = it is the first
// A neighbor's host route comes or goes; that of another neighbor with the address, which has taken
// its place, stays.
void rib_host_set(struct rib_vr *v, const struct ip_addr *addr, uint32_t nexthop, bool on);
// Does the longest route of the kernel to the host lead onto that link without a gateway?
bool rib_is_connected(struct rib_vr *v, const struct ip_addr *addr, int ifindex);
int rib_check(struct rib_vr *v, struct rib *r, char *why,
              size_t n); // 0, or -EINVAL with a sentence

// --- rib_path.c: paths ---
// The path of this description, found or made; it lives while it has routes (rib_path_put ends an
// unused one).
struct rib_path *rib_path_get(struct rib_vr *v, const struct netlink_route *m);
void rib_path_put(struct rib_vr *v, struct rib_path *p);
static inline struct rib_path *rib_path_at(const struct rib_vr *v, uint32_t id)
{
    return v->path.item[id];
}
struct hop_set *rib_path_hops(struct rib_path *p);     // of the path or of its object; may be empty
bool rib_path_usable(const struct rib_vr *v, const struct rib_path *p);
static inline uint64_t
rib_link_bit(int ifindex) // a set of links, in which several share a bit; the top one is free
{
    return 1ull << (unsigned)ifindex % 63;
}
uint64_t rib_path_links(const struct rib_path *p);     // by which it goes
uint32_t rib_path_nexthop(const struct rib_path *p);   // for the FIB; 0 = nothing for the FIB
bool rib_path_is_connected(const struct rib_path *p,
                           int ifindex); // leads onto that link without a gateway
void rib_link_rehop(struct rib_vr *v,
                    int ifindex); // what leads through it is resolved again; 0 = everything
void rib_path_fini(struct rib_vr *v);

// --- rib_dirty.c, rib_work.c: paths whose prefixes have to be looked at again ---
void rib_path_unhash(struct rib_vr *v, struct rib_path *p);  // rib_path_get finds it no more
void rib_path_dirty(struct rib_vr *v, struct rib_path *p);   // its next hop or usability changed
void rib_path_condemn(struct rib_vr *v, struct rib_path *p); // the kernel has deleted its routes
bool rib_path_work(struct rib_vr *v,
                   unsigned budget); // looks at up to `budget` prefixes; true = more to do

// --- rib_fib.c: the best candidate goes to the FIB ---
void rib_fib_sources(struct rib_vr *v, uint8_t family,
                     uint8_t sources); // enum rib_sources; the FIB follows
uint32_t rib_best(struct rib_vr *v, struct rib *r,
                  uint32_t node); // route, 0 = none usable; hosts included
uint32_t rib_longest(
    struct rib_vr *v, struct rib *r,
    const struct prefix *host); // node that covers it, in force by a route of the kernel, or 0
void rib_evaluate(struct rib_vr *v, struct rib *r,
                  uint32_t node); // FIB := best; the node may be pruned
void rib_evaluate_prefix(struct rib_vr *v, const struct prefix *p); // if it is there; and commits
void rib_evaluate_host(struct rib_vr *v, struct rib *r,
                       uint32_t node);          // the same, after a change by neigh_manager
void rib_load(struct rib_vr *v, struct rib *r); // end of the deferral: everything at once
void rib_commit(struct rib_vr *v);              // end of a batch
bool rib_in_fib(
    const struct prefix *p,
    uint8_t type); // false: link-local and multicast prefixes, which forwarders judge themselves
// The FIB's entry of a node := what the route leads to (0 = none). False when nothing changed.
bool rib_install(struct rib_vr *v, struct rib *r, uint32_t node, uint32_t route);

// --- rib_source.c: what uRPF has to know of a prefix ---
// Fills is_default and the others of a->target.
void rib_source_ask(struct rib_vr *v, struct rib *r, const struct prefix *p, uint32_t best,
                    struct nexthop_alias *a);

// --- rib_counted.c: prefixes whose packets are counted; rib_evaluate_prefix follows a change ---
int rib_counted_add(struct rib_vr *v, const struct prefix *p); // 0, -EEXIST, -ENOSPC
int rib_counted_del(struct rib_vr *v, const struct prefix *p); // 0, -ENOENT
uint16_t rib_counted_slot(const struct rib_vr *v, const struct prefix *p,
                          uint32_t nexthop); // for the alias of that next hop; 0 = none
void rib_counted_fini(struct rib_vr *v);

// --- rib_engine.c: the structure behind the FIB, changed while it runs ---
int rib_engine_set(struct rib_vr *v, uint8_t family,
                   enum fib_engine engine); // 0, or -errno and the old one stays
bool rib_engine_fall_back(struct rib_vr *v, uint8_t family,
                          int error); // to poptrie; false: it is that already

// --- journal_describe.c: what next-hop ids mean, for the journal ---
void rib_journal_group(struct rib_vr *v, const struct hop_set *s); // a group's legs changed
// Hops of the route's path; NULL: p is a neighbor of its own.
void rib_journal_nexthop(struct rib_vr *v, const struct hop_set *s, const struct prefix *p,
                         uint32_t nexthop);

// --- rib_event.c: what a route event means ---
void rib_event_route(struct rib_vr *v, const struct netlink_event *e);
bool rib_wants(struct rib_vr *v, const struct netlink_route *m); // ours to keep
bool rib_drop_condemned(
    struct rib_vr *v, struct rib *r,
    uint32_t node); // of a list that is about to be changed; false: there were none
bool rib_is_multipath6(
    const struct rib_path *p); // IPv6: one route with all others of its metric that are so

// --- rib_row.c: what the rows of a dump mean ---
enum rib_gap_table rib_gap_table(const struct rib_vr *v, uint32_t table);
void rib_row_route(struct rib_vr *v, const struct netlink_route *m);
void rib_rows_event(struct rib_vr *v, const struct prefix *p); // an event of the prefix came
void rib_rows_end(struct rib_vr *v);  // no more rows: those of the last prefix are all
void rib_rows_drop(struct rib_vr *v); // the dump is given up
void rib_rows_fini(struct rib_vr *v);

// --- acl_target_resolve.c: addresses that access lists redirect to are kept resolved ---
void rib_redirect_tick(uint64_t now_ns); // a few times a second
void rib_redirect_vr_gone(const struct rib_vr *v);

// --- rib_link.c: links, addresses, next-hop objects; the kernel's silent deletes ---
void rib_event_link(struct rib_vr *v, const struct netlink_event *e);
void rib_event_addr(struct rib_vr *v, const struct netlink_event *e);
void rib_event_netconf(struct rib_vr *v, const struct netlink_netconf *m);
void rib_event_rule(struct rib_vr *v, const struct netlink_event *e);
void rib_event_nexthop(struct rib_vr *v, const struct netlink_event *e);
void rib_link_gone(struct rib_vr *v, struct rib_link *l);
void rib_link_sweep_addr(struct rib_vr *v);         // end of an address dump

// --- rib_iface.c: our interfaces among the links ---
void rib_iface_bind(struct rib_vr *v, uint16_t iface);
void rib_iface_unbind(struct rib_vr *v, uint16_t iface);
void rib_iface_addresses(struct rib_vr *v,
                         struct rib_link *l); // writes the addresses of ICMP errors
void rib_iface_report(struct rib_vr *v, const struct rib_link *l, bool gone); // to control
void rib_iface_way_out(struct rib_vr *v,
                       struct rib_link *l); // the link, or its addresses, changed: it may be a
                                            // macvlan on one of ours, or another router's
void rib_iface_rehop_others(struct rib_vr *v,
                            int ifindex); // other virtual routers may have routes by it, too
void rib_iface_vrf(
    struct rib_vr *v,
    const struct rib_link *device);             // likewise: it may be the VRF device of our table
bool rib_iface_has_vrf(const struct rib_vr *v); // has some VRF device our table?
void rib_iface_vlan(
    struct rib_vr *v,
    const struct rib_link *device); // likewise: it may be a VLAN device on one of ours
void rib_iface_suspect(struct rib_vr *v, int ifindex); // likewise: it may be set up as no router's
void rib_iface_upper(
    struct rib_vr *v,
    const struct rib_link *l); // likewise: it may stand on one of ours (VRRP's macvlan)

// --- resync_request.c: what the next dump is to show ---
void rib_sync_want(struct rib_vr *v, uint32_t stages, uint64_t delay_ns);
void rib_sync_want_doubt(struct rib_vr *v, uint32_t stages,
                         uint64_t delay_ns); // for what the dump before did not tell
void rib_sync_touch(struct rib_vr *v, const struct prefix *p);   // an event changed it
// A dump says something else than we had. gone, added: links (rib_path_links) of the routes that
// the kernel has no more, and of those that only the kernel had.
void rib_sync_diverge(struct rib_vr *v, const struct prefix *p, const char *how, uint64_t gone,
                      uint64_t added);
void rib_sync_link_lost(
    struct rib_vr *v,
    int ifindex); // routes by it go in silence, now or a moment ago: no difference
bool rib_sync_is_touched(const struct rib_vr *v, const struct prefix *p);
// The same for what is no prefix, by a hash, not 0.
void rib_sync_touch_key(struct rib_vr *v, uint32_t key);
bool rib_sync_is_touched_key(const struct rib_vr *v, uint32_t key);
void rib_sync_diverge_key(struct rib_vr *v, uint32_t key);

// --- rib_sync.c: dumps ---
void rib_sync_step(struct rib_vr *v, bool drained); // between batches: begins, sweeps, ends
void rib_sync_message(struct rib_vr *v, const struct nlmsghdr *h);
void rib_sync_overrun(struct rib_vr *v);
bool rib_sync_is_due(const struct rib_vr *v,
                     uint64_t now_ns); // rib_sync_step has something to begin or end
void rib_sync_watch(struct rib_vr *v,
                    uint64_t now_ns); // every few ms: asks again for a dump that has fallen silent
static inline bool rib_sync_running(const struct rib_vr *v)
{
    return v->sync.stage >= 0;
}

// --- rib_vr.c: life ---
struct rib_vr *rib_vr_new(uint16_t id, int netns_fd, uint32_t table); // NULL with errno
void rib_vr_free(struct rib_vr *v);
// One turn: reads events, at most some milliseconds' worth, does what waits, commits. True = call
// again soon.
bool rib_vr_turn(struct rib_vr *v);
void rib_vr_read_answers(struct rib_vr *v); // of the request socket
extern size_t rib_receive_bytes; // of event sockets opened from now on

#endif
