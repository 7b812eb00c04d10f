// SPDX-License-Identifier: BSD-3-Clause
// nexthop_manager.h - next-hop ids, hop sets, next-hop objects: shared by many routes
//
// Maps the kernel's next hops (gateway and interface, next-hop objects and groups, multipath legs)
// to ids of table/nexthop.h:
//
//     (link, gateway)       one id per neighbor (neigh_manager): HOLD, ADJACENCY or FAILED
//     (link, no gateway)    one GLEAN id per interface
//     labels                one ENCAP id per stack and neighbor; also the operation of a label
//     several legs          one GROUP id per hop set; legs that are down are left out
//     local, blackhole ...  one id each, for all
//     extras of one prefix  an ALIAS of one of the above: for uRPF (rib_source.c), for a counter
//                           (rib_counted.c), for an MTU (rib_fib.c)
//
// Ids are reference-counted: hop sets, groups and FIB prefixes hold the ids that they name, and the
// id is freed at the commit after its last holder lets go. So a path may change its id at once, and
// its million prefixes follow. All calls: rib_manager.
#ifndef RIB_NEXTHOP_MANAGER_H
#define RIB_NEXTHOP_MANAGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "netlink/netlink.h"
#include "table/nexthop.h"

struct neigh;
struct rib_vr;

int nexthop_manager_init(void); // the shared ids; 0 or -errno
void nexthop_manager_fini(void);
// LOCAL, BLACKHOLE, UNREACHABLE, PROHIBIT, NO_ROUTE.
uint32_t nexthop_shared(enum nexthop_kind kind);

bool nexthop_has_room(struct rib_vr *v); // budget allows one more neighbor or group
// Held once; 0 when the table is full.
uint32_t nexthop_make(enum nexthop_kind kind, uint16_t iface);
void nexthop_hold(uint32_t id);       // 0 is fine
void nexthop_put(uint32_t id);        // 0 is fine
void nexthop_free_unused(void);       // after fib_commit: frees ids without holder
uint32_t nexthop_holders(uint32_t id);
bool nexthop_leads_on(uint32_t id); // leads to another host, not to us or nowhere
// Finds or makes the alias with that content; not held for the caller. Returns its target when the
// table is full.
uint32_t nexthop_alias(const struct nexthop_alias *a);
// The same of an ENCAP, charged to the virtual router if it has a `via`; its `vr` is that router's
// then. 0: the budget or the table has no room.
uint32_t nexthop_encap(struct rib_vr *v, const struct nexthop_encap *e);

struct hop {
    struct netlink_hop key;
    bool alone; // in its set, which is no group
    bool lost; // its link lost the last IPv4 address: dead until it gets one again or goes up
    struct neigh *neigh; // of the gateway, referenced; NULL = on link, or not our interface
    // With labels, held; 0 = none: its ENCAP; the adjacency behind it, if by MAC (NETLINK_VIA_MAC).
    uint32_t encap, by_mac;
};

struct hop_set {
    uint16_t n;
    uint8_t family; // whose ignore_routes_with_linkdown applies
    bool many;   // a group even with one leg left
    bool group;  // id is a group of our own
    bool usable; // the kernel would use it: some leg is not dead
    bool lacks;  // budget has no next hop for it
    uint8_t fixed; // enum nexthop_kind when its hops do not decide; 0 = they do
    uint32_t id; // held; 0 = none yet
    struct hop *hop;
};

// Replaces the hops and resolves them. True when id or usability changed: prefixes must follow.
bool hop_set_fill(struct rib_vr *v, struct hop_set *s, const struct netlink_hop *hop, unsigned n,
                  bool many);
bool hop_set_resolve(struct rib_vr *v, struct hop_set *s); // after a link or neighbor changed
void hop_set_clear(struct rib_vr *v, struct hop_set *s);   // releases everything
bool hop_set_uses(const struct hop_set *s, int ifindex);
// Next-hop id of the leg, 0 = it does not leave by one of our interfaces.
uint32_t hop_nexthop(struct rib_vr *v, struct hop *h);
// Would the kernel use this leg (dead)? Does a packet get through it now (alive)?
bool hop_is_dead(struct rib_vr *v, const struct netlink_hop *hop, uint8_t family);
bool hop_is_alive(struct rib_vr *v, const struct netlink_hop *hop);
int hop_compare(const void *a, const void *b); // of struct netlink_hop, for qsort

// A kernel next-hop object.
struct nexthop_object {
    uint32_t id;
    uint8_t gen;
    bool group;
    bool announced; // false: only named by routes and groups so far
    bool blackhole, unusable; // unusable: needs encapsulation, or is an FDB entry
    uint8_t encap; // of netlink_nexthop
    struct netlink_hop hop;
    VEC(struct nexthop_member {
        uint32_t id;
        uint16_t weight;
    }) member;
    struct hop_set set;
    VEC(uint32_t) path; // numbers of the paths that use it
};

// Finds it or makes it (not announced).
struct nexthop_object *nexthop_object_get(struct rib_vr *v, uint32_t id);
void nexthop_object_set(struct rib_vr *v, const struct netlink_nexthop *m); // new or replaced
// The kernel deleted it: groups shrink, its routes are gone.
void nexthop_object_del(struct rib_vr *v, uint32_t id);
// The kernel deleted all objects on that link.
void nexthop_object_link_lost(struct rib_vr *v, int ifindex);
// The object is about to be deleted, and its routes without an event.
void nexthop_object_links_lost(struct rib_vr *v, uint32_t id);
void nexthop_object_resolve(struct rib_vr *v, int ifindex); // with this link; 0 = all
void nexthop_object_sweep(struct rib_vr *v, uint8_t gen);   // deletes unconfirmed objects
void nexthop_object_put_path(struct rib_vr *v, struct nexthop_object *o, uint32_t path);
void nexthop_object_fini(struct rib_vr *v);

#endif
