// SPDX-License-Identifier: BSD-3-Clause
// vr.h - a virtual router in rib_manager: its sockets, routes, links, next-hop objects
//
// Other headers of this folder describe the parts: store.h routes and the FIB, kernel.h kernel
// state, neigh.h neighbors, audit.h audits, rib_multicast.h multicast routes. rib_manager's thread
// only.
#ifndef RIB_VR_H
#define RIB_VR_H

#include "rib/audit.h"
#include "rib/kernel.h"
#include "rib/rib_label.h"
#include "rib/rib_map.h"
#include "rib/store.h"
#include "table/vr.h"
#include "table/vr_budget.h"

struct event;

#define RIB_TABLE_MAIN 254
#define RIB_TABLE_LOCAL 255

#define RIB_DEFAULT_RULES 3 // local, local later, main
struct rib_default_rule {
    bool there;
    uint8_t gen;
};

struct rib_vr {
    uint16_t id;
    uint32_t table;
    uint64_t namespace; // cookie from the kernel, 0 = unknown
    int netns;          // its descriptor, -1 = our own
    struct netlink events, requests;
    struct event *ev_events, *ev_requests, *ev_work;
    bool synced, no_managed;
    bool changed; // fib_commit has something to do
    // store.h
    struct rib rib[2];           // IPv4, IPv6
    VEC(struct rib_path *) path; // paths by number, from 1 on
    VEC(uint32_t) path_free;
    struct rib_map path_of_hash; // first path of each chain
    uint32_t n_mtu_paths;                // with an MTU
    uint32_t n_condemned;                // condemned paths
    VEC(uint32_t) dirty;                 // paths whose prefixes have to be re-examined
    struct rib_map object;               // struct nexthop_object
    uint32_t n_nexthops, n_neighbors;    // charged: neighbors' and groups' next hops; neighbors
    uint64_t refused_neighbors;          // for lack of budget
    bool lacks_nexthops, lacks_neighbors; // some were refused for lack of budget
    uint64_t retried_ns;                  // time of the last retry
    struct vr_limits limits;              // of routes and memory; a load uses one set throughout
    uint32_t memory_asked;               // requests since the memory in use was last added up
    bool memory_full;                    // it was at its limit (rib_budget.c)
    uint8_t sources[2];                  // IPv4, IPv6: enum rib_sources
    VEC(struct rib_counted) counted[2];  // IPv4, IPv6; sorted
    VEC(struct rib_import) import;       // routes that it imports from others
    VEC(uint16_t) importer;              // virtual routers that import from this one
    // kernel.h
    struct rib_map link;                 // struct rib_link
    unsigned n_macvlans, n_vrfs, n_uppers; // among the links; uppers stand on another link
    int addresses_of[2]; // ifindexes of the links that own vr.addr4 and vr.addr6
    bool ignore_linkdown_all4;
    uint8_t gen; // of links, addresses, objects, neighbors in the latest dump
    struct rib_sync sync;
    struct rib_map unfollowed; // keyed by a hash of the content (rib_unfollowed.c)
    struct rib_default_rule default_rule[2][RIB_DEFAULT_RULES]; // IPv4, IPv6
    bool has_mpls;               // the kernel can route labels
    struct rib_labels labels;    // rib_label.h
    bool has_rules[2];           // the kernel has some: policy routing
    struct rib_map mroutes; // struct rib_mroute, the first of each hash (rib_multicast.h)
    bool mroutes_full;      // the forwarders' table refused a route, and this was reported
    struct rib_audit audit;
    // counted
    uint64_t messages, batches, overruns, resyncs, swept, diverged;
    uint64_t window_ns, window_messages; // of the millisecond that detects a storm (rib_manager.c)
    uint64_t unexpected; // events that did not match our state
};

static inline struct rib *rib_of(struct rib_vr *v, uint8_t family)
{
    return &v->rib[family == IP6];
}

static inline struct rib_path *rib_path_at(const struct rib_vr *v, uint32_t id)
{
    return v->path.item[id];
}

static inline struct fib *rib_fib(const struct rib_vr *v, uint8_t family)
{
    return family == IP4 ? vr_get(v->id)->fib4 : vr_get(v->id)->fib6;
}

static inline bool rib_sync_running(const struct rib_vr *v)
{
    return v->sync.stage >= 0;
}

// --- rib_index.c: by number ---
struct rib_vr *rib_vr_find(uint16_t id);
void rib_vr_set(uint16_t id, struct rib_vr *v); // NULL: it is gone
struct rib_vr *rib_vr_next(const struct rib_vr *v); // in order of id; NULL: the first
#define rib_vr_each(v) for (struct rib_vr *v = rib_vr_next(NULL); v; v = rib_vr_next(v))
// True if they share a namespace, and so its links, with different tables.
bool rib_vr_shares(const struct rib_vr *a, const struct rib_vr *b);
struct rib_link *rib_link_find(const struct rib_vr *v, int ifindex);
bool rib_link_has_legs(const struct rib_vr *v, int ifindex); // some hop set uses it
struct rib_link *rib_link_get(struct rib_vr *v, int ifindex); // found or made (unknown yet)
bool rib_link_is_alive(const struct rib_link *l);             // does a packet get through?
// Frees links that the kernel no longer has; at the end, all.
void rib_link_free_unused(struct rib_vr *v, bool all);

// --- rib_walk.c: a hop as control sees it ---
void rib_hop_fill(struct rib_vr *v, struct rib_hop *h, const struct netlink_hop *key,
                  const struct neigh *n);

// --- rib_vr.c: life ---
struct rib_vr *rib_vr_new(uint16_t id, int netns_fd, uint32_t table); // NULL with errno
void rib_vr_free(struct rib_vr *v);
void rib_vr_set_synced(struct rib_vr *v); // its first dump is complete
// Runs one turn: reads events for at most some milliseconds, does pending work, commits. True =
// call again soon.
bool rib_vr_turn(struct rib_vr *v);
void rib_vr_read_answers(int fd, short what, void *v); // event of the request socket
extern size_t rib_receive_bytes; // of event sockets opened from now on

#endif
