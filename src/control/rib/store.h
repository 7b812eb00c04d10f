// SPDX-License-Identifier: BSD-3-Clause
// store.h - the route store: every route of the kernel, and the ones in the FIB
//
// A virtual router has one store for IPv4 and one for IPv6 (struct rib). The store mirrors the
// kernel, and the FIB is derived from the store. rib_manager's thread alone reads and writes it, so
// there are no locks.
//
// Prefixes are the nodes of a trie (rib_trie.h). A node has a list of candidates: all routes that
// the kernel has for the prefix, not only the best one. When the best one goes, the kernel switches
// to the next without an event, and we must do the same. The list is in the kernel's order: routes
// of the local table, then the others by metric, and routes of one metric as the kernel appended,
// prepended or replaced them (rib_event.c). A resolved neighbor on a link adds a host route of its
// own (neigh.h). Linux has no such route, so it is the last candidate of its prefix.
//
// The FIB gets the first candidate that the kernel would use. rib_evaluate() finds it and updates
// the FIB at once. Each change of a list calls it; a repeated call is harmless. rib_commit() ends a
// batch of events: memory that its changes unlinked is retired, and next-hop ids that nobody holds
// are freed. A family is `deferred` until its first dump is complete: its lists fill, the FIB stays
// empty, and rib_load() then builds the whole FIB in the time of a few thousand single changes.
//
// A route stores only its protocol, its metric and its path. The path holds the common part of
// routes: type, scope, next hops, preferred source, metrics. Equal paths share one record, found by
// hash; a full table has a handful of them. So a prefix costs about 65 bytes: 28 for a route, 24
// for its node (IPv4), and a share of the forks. A path lists its routes, so each route is on two
// lists:
//
//     prefix node --head--> route -> route -> ...      candidates, best first
//                             |        |
//                           path     path              each lists its routes
//                             |
//                          hop set --> next-hop id     nexthop_manager.h
//
// So "all routes by this link" means some paths and their lists, not a search of all prefixes.
//
// The next hops of a path form a hop set: the path's own, or the hop set of the next-hop object
// that the route names. A hop set has one next-hop id of the FIB: the id of a neighbor or a link if
// it has one leg, of a group if it has more. While the set keeps its id, neighbors may move, legs
// may come and go, and a link may lose its carrier: one entry of the next-hop table changes, and no
// prefix.
//
// Prefixes have to follow only when the id itself changes, or when the path becomes usable or
// unusable. That may be 900,000 routes, and the thread must not block for them. So the path becomes
// dirty, and rib_path_work() re-examines a few thousand of its prefixes a turn. Two things make
// this safe. First, a FIB entry holds the id that it names, so a prefix that has not been
// re-examined yet forwards as before. Second, the path's cursor survives changes: deleting a route
// moves the cursor on; an added route stands before the cursor and is evaluated when it is added.
//
// Linux deletes IPv4 routes together with their link, address or next-hop object, without
// announcing it (rib_link.c). The path of such routes is condemned: it counts as unusable, and it
// is removed from the hash, so a returning route gets a new path. Re-examination deletes its routes
// one by one until none is left.
//
// Dumps find changes without events (kernel.h). A route dump of a family begins with a new
// generation (`gen`). Each row and each event writes it into its route; a route that still has an
// older generation at the end is no longer in the kernel, and is swept.
//
// A virtual router may have a budget of routes. Prefixes beyond it wait outside the FIB, in a queue
// (rib_budget.c), as if they had no usable candidate.
//
// Invariants, checked by rib_check(); tests call it after every step:
//   R1  a list is sorted by (host, main after local, metric);
//   R2  a route's node and path are alive, and the path's list has it;
//   R3  the counters by protocol equal the routes in the lists;
//   R4  node->nexthop is the next hop in the FIB for that prefix;
//   R5  the charge to the budget equals the installed prefixes, and no waiting prefix is installed.
#ifndef RIB_STORE_H
#define RIB_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "netlink/netlink.h"
#include "rib/audit.h"
#include "rib/nexthop_manager.h"
#include "rib/rib_map.h"
#include "rib/rib_pool.h"
#include "rib/rib_trie.h"
#include "table/fib.h"

enum rib_route_flag {
    RIB_ROUTE_LOCAL = 1, // of the kernel's local table, which Linux searches first
    RIB_ROUTE_HOST = 2,  // a neighbor on a link (neigh_manager); behind every route of the kernel
    RIB_ROUTE_IMPORT = 4, // from another virtual router (rib_import.c); behind all others
    RIB_ROUTE_DERIVED = RIB_ROUTE_HOST | RIB_ROUTE_IMPORT, // not the kernel's
};

struct rib_route {
    uint32_t next; // next candidate; free link in the pool
    uint32_t node;
    uint32_t path; // path number; RIB_ROUTE_DERIVED: a next-hop id, held by an import
    uint32_t path_prev, path_next;
    uint32_t metric; // RIB_ROUTE_IMPORT: its virtual router
    uint8_t protocol, flags, gen;
};

struct rib_path {
    // identity
    uint8_t family, type, scope; // type, scope: rtm_*
    uint8_t encap;               // of netlink_route; not supported: unreachable
    uint32_t nhid, metrics_hash;
    struct ip_addr prefsrc;
    uint16_t n_hops;
    uint16_t mtu; // of the route, 0 = none
    // state
    bool queued;    // in v->dirty
    bool condemned; // the kernel has deleted its routes
    uint32_t id, hash_next;
    uint64_t hash;
    uint32_t head, n_routes, cursor; // its routes; the next one to be re-examined
    struct hop_set own;              // of hop[], unless it has an object
    struct nexthop_object *object;   // of nhid
    struct netlink_hop hop[];        // sorted
};

struct rib_budget { // rib_budget.c
    uint32_t n_charged, n_free;  // prefixes in the FIB, without hosts
    struct rib_pool waiting;     // prefixes beyond the budget
    struct rib_map place;        // queue entry of a node
    uint32_t first, last;        // of the queue, 0 = none
    uint32_t admitted;           // node that may be admitted now, 0 = none
    // Pass that evicts prefixes for a lower limit, and continues behind the cursor.
    bool passing, evicted, stuck; // stuck: no prefix can be evicted
    struct prefix cursor;
    uint64_t kept;
};

struct rib { // of one family
    struct rib_trie trie;
    struct rib_pool route;
    uint8_t gen;   // of the latest dump
    bool deferred; // nothing goes to the FIB until the first dump is complete
    uint64_t loaded_ns; // time at which the whole FIB was loaded, 0 = not yet
    uint64_t n_fib, updates;
    uint64_t by_protocol[256], n_routes; // without hosts
    VEC(struct prefix) wide_local;       // local prefixes that are not hosts: 127.0.0.0/8
    struct rib_trie neigh;               // neighbors by address
    uint64_t *sum; // [RIB_BLOCKS] sums of installed prefixes, by block (audit.h); NULL: never any
    struct rib_budget budget;
};

static inline struct rib_route *rib_route_at(const struct rib *r, uint32_t id)
{
    return rib_pool_at(&r->route, id);
}

// --- rib_list.c: lists of candidates ---
void rib_init(struct rib *r, uint8_t family);
void rib_fini(struct rib *r);
// Makes a route behind `prev` (0 = first) of the node's list; the caller evaluates the node.
uint32_t rib_route_add(struct rib_vr *v, struct rib *r, uint32_t node, uint32_t prev,
                       struct rib_path *path, uint32_t metric, uint8_t protocol, uint8_t flags);
void rib_route_del(struct rib_vr *v, struct rib *r, uint32_t route); // the node stays
void rib_route_move(struct rib *r, uint32_t route, uint32_t prev);   // behind prev (0 = first)
void rib_route_set_path(struct rib_vr *v, struct rib *r, uint32_t route, struct rib_path *path);
// Adds or removes a neighbor's host route. If another neighbor took the address over, its route
// stays.
void rib_host_set(struct rib_vr *v, const struct ip_addr *addr, uint32_t nexthop, bool on);
// Sets the node's candidate from virtual router `source`; next hop 0: none. True if it changed; the
// caller then evaluates the node.
bool rib_import_set(struct rib *r, uint32_t node, uint16_t source, uint32_t nexthop,
                    uint8_t protocol);
int rib_check(struct rib_vr *v, struct rib *r, char *why, size_t n); // 0, or -EINVAL and a sentence

// --- rib_path.c: paths ---
// Finds or makes the path of this description; it lives while it has routes.
struct rib_path *rib_path_get(struct rib_vr *v, const struct netlink_route *m);
void rib_path_put(struct rib_vr *v, struct rib_path *p); // frees it if it has no routes
struct hop_set *rib_path_hops(struct rib_path *p);       // its own or its object's; may be empty
bool rib_path_usable(const struct rib_vr *v, const struct rib_path *p);
uint64_t rib_path_links(const struct rib_path *p);       // rib_link_bit() of each
uint32_t rib_path_nexthop(const struct rib_path *p);     // for the FIB; 0 = none
bool rib_path_is_connected(const struct rib_path *p, int ifindex); // on that link, without gateway
void rib_path_dirty(struct rib_vr *v, struct rib_path *p);   // its next hop or usability changed
void rib_path_condemn(struct rib_vr *v, struct rib_path *p); // the kernel has deleted its routes
void rib_path_fini(struct rib_vr *v);

// --- rib_fib.c: installs the best candidate in the FIB ---
// Best usable route of a node, 0 = none; includes host routes.
uint32_t rib_best(struct rib_vr *v, struct rib *r, uint32_t node);
// Longest node that covers the host and is in force by a route of the kernel; 0 = none.
uint32_t rib_longest(struct rib_vr *v, struct rib *r, const struct prefix *host);
// Path of that node's best route; NULL = none, or the first dump is incomplete.
const struct rib_path *rib_path_to(struct rib_vr *v, const struct ip_addr *addr);
// Does the path to the host lead onto that link without a gateway?
bool rib_is_connected(struct rib_vr *v, const struct ip_addr *addr, int ifindex);
struct neigh;
const struct neigh *rib_detour(const struct neigh *n); // rib_detour.c
void rib_evaluate(struct rib_vr *v, struct rib *r, uint32_t node); // the node may be pruned
void rib_evaluate_prefix(struct rib_vr *v, const struct prefix *p); // if it exists; commits
void rib_evaluate_host(struct rib_vr *v, struct rib *r, uint32_t node); // for neigh_manager
void rib_load(struct rib_vr *v, struct rib *r); // end of the deferral
void rib_commit(struct rib_vr *v);              // end of a batch
void rib_commit_all(void);                      // FIBs only, of all virtual routers
// False for link-local and multicast prefixes, which forwarders handle themselves.
bool rib_in_fib(const struct prefix *p, uint8_t type);
// Sets the FIB entry of a node to the route's next hop (0 = none). False when nothing changed.
bool rib_install(struct rib_vr *v, struct rib *r, uint32_t node, uint32_t route);
void rib_fib_sources(struct rib_vr *v, uint8_t family, uint8_t sources); // enum rib_sources

// --- rib_source.c: facts about a prefix for uRPF ---
// For the alias of a->target: fills is_default and the next hops of the other candidates.
void rib_source_ask(struct rib_vr *v, struct rib *r, const struct prefix *p, uint32_t best,
                    struct nexthop_alias *a);

// --- rib_budget.c: prefixes that wait for the virtual router's budget ---
void rib_budget_init(struct rib *r);
void rib_budget_fini(struct rib *r);
// May this route of the node enter the FIB? If not, the node waits from now on.
bool rib_budget_admits(struct rib_vr *v, struct rib *r, uint32_t node, uint32_t route);
void rib_budget_leave(struct rib *r, uint32_t node); // it has no entry for the FIB any more
bool rib_budget_waits(const struct rib *r, uint32_t node);
// The node's FIB entry is about to change (add false), or has changed.
void rib_budget_count(struct rib *r, const struct rib_node *n, bool add);
uint8_t rib_protocol_of(const struct rib_route *t); // for rib_node: recognizes hosts
void rib_budget_changed(struct rib_vr *v); // takes over the limits
void rib_budget_wait(const struct rib_vr *v, struct rib *r, uint32_t node); // at the end
uint32_t rib_budget_first(const struct rib *r);                             // that waits; 0 = none
uint64_t rib_budget_limit(const struct rib_vr *v, const struct rib *r);     // 0 = none
bool rib_budget_charges(const struct rib_node *n);
bool rib_budget_has_room(struct rib_vr *v, struct rib *r); // for one more prefix
bool rib_budget_is_over(const struct rib_vr *v, const struct rib *r);
uint32_t rib_budget_used(const struct rib *r);
uint32_t rib_budget_waiting(const struct rib *r);
const char *rib_budget_short(const struct rib_vr *v, const struct rib *r); // the exhausted limit
void rib_budget_text(const struct rib *r, char *text, size_t n); // the first waiting prefixes

// --- rib_work.c: prefixes that are evaluated again, some thousand a turn ---
bool rib_path_work(struct rib_vr *v, unsigned budget); // of queued paths; true = more to do
void rib_link_rehop(struct rib_vr *v, int ifindex);    // resolves hops again; 0 = all links
// Admits prefixes for which there is room now, and makes prefixes wait if too many are in: examines
// `budget` prefixes. True: there is more to do.
bool rib_budget_work(struct rib_vr *v, unsigned budget);
bool rib_budget_due(struct rib_vr *v);
// Retries refused next hops and neighbors, for which there may be room again. If memory is short,
// FIBs free the space of removed routes.
void rib_budget_tick(struct rib_vr *v, uint64_t now_ns);

// --- rib_budget.c: bytes ---
uint64_t rib_memory_bytes(const struct rib *r);      // of a family's RIB
uint64_t rib_memory_charged(const struct rib_vr *v); // to the budget: FIBs and RIBs

// --- rib_import.c: routes of other virtual routers ---
struct rib_import { // imports the source's routes below the prefix, ge to le bits long
    uint16_t source;
    uint8_t ge, le;
    struct prefix prefix;
};
struct rib_import_source { // origin of the candidate
    struct rib_vr *vr;
    struct rib *rib;
    uint32_t node, route;
};
int rib_import_add(struct rib_vr *v, const struct rib_import *i); // 0, or -ENOENT
int rib_import_del(struct rib_vr *v, const struct rib_import *i); // 0, or -ENOENT
// The FIB entry of a prefix changed in a virtual router from which others import.
void rib_import_note(const struct rib_vr *source, const struct prefix *p);
void rib_import_loaded(const struct rib_vr *source, uint8_t family); // its whole FIB was loaded
// Passes noted changes on and continues walks. True: FIBs of others may have changed.
bool rib_import_work(unsigned budget);
// False: the source has lost the route and the candidate is about to go, or the route is a
// neighbor's.
bool rib_import_source(const struct rib_vr *v, uint8_t family, uint32_t route,
                       struct rib_import_source *s);
void rib_import_vr_gone(struct rib_vr *v);

// --- rib_counted.c: prefixes with packet counters ---
struct rib_counted {
    struct prefix prefix;
    uint16_t slot; // of table/nexthop_count.h, held
};
// The caller evaluates the prefix.
int rib_counted_add(struct rib_vr *v, const struct prefix *p); // 0, -EEXIST, -ENOSPC
int rib_counted_del(struct rib_vr *v, const struct prefix *p); // 0, -ENOENT
// For the alias of that next hop; 0 = none.
uint16_t rib_counted_slot(const struct rib_vr *v, const struct prefix *p, uint32_t nexthop);
void rib_counted_fini(struct rib_vr *v);

// --- rib_engine.c: changes the FIB's data structure at run time ---
// 0, or -errno and the old one stays.
int rib_engine_set(struct rib_vr *v, uint8_t family, enum fib_engine engine);
// Falls back to poptrie; false: the FIB uses it already.
bool rib_engine_fall_back(struct rib_vr *v, uint8_t family, int error);

#endif
