// SPDX-License-Identifier: BSD-3-Clause
// rib_manager.h - the thread that turns kernel state into the FIB
//
// netlink (libmnl) -> RIB -> next hops -> FIB commit, one commit per drained netlink batch;
// neigh_manager runs on the same thread. Control makes changes by calls that wait, and queries by
// calls whose answers arrive on the control loop: a long walk blocks neither thread.
#ifndef RIB_RIB_MANAGER_H
#define RIB_RIB_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"
#include "netlink/netlink.h"
#include "table/fib.h"
#include "table/iface.h"
#include "table/multicast.h"
#include "table/tunnel.h"

int rib_manager_start(void); // control; starts the thread
void rib_manager_stop(void);
// SO_RCVBUFFORCE of open and future sockets.
void rib_manager_set_receive_buffer(size_t bytes);

// --- synchronous calls from control: used by vr_manager and iface_manager ---
// Opens a socket in the namespace (netns_fd, -1 = own), dumps links, addresses, neighbors, routes,
// and follows events.
int rib_manager_vr_add(uint16_t vr, int netns_fd, uint32_t table);
int rib_manager_vr_del(uint16_t vr);
bool rib_manager_is_behind(void); // the first dump of some virtual router is incomplete; any thread
// Works while it runs. 0; -errno; or > 0: MiB of DPDK memory that it needs but could not get; then
// the old engines stay.
int rib_manager_vr_engine(uint16_t vr, enum fib_engine engine);
// Facts that reverse-path checks of its interfaces need from the FIB of a family.
enum rib_sources {
    RIB_SOURCES_DEFAULT = 1, // whether the prefix is the default route
    RIB_SOURCES_ALL = 2      // all routes to a prefix
};
int rib_manager_vr_sources(uint16_t vr, uint8_t family, uint8_t sources);
// Its limits (table/vr_budget.h) changed.
int rib_manager_vr_budget(uint16_t vr);
// The interface now has its TAP (ifindex): adjacencies and routes may use it.
int rib_manager_iface_add(uint16_t iface);
// When this returns, no next hop or FIB entry refers to it.
int rib_manager_iface_del(uint16_t iface);
int rib_manager_iface_changed(uint16_t iface); // MTU, MAC or VLAN: refresh adjacencies, next hops
// A tunnel came or went. When this returns, existing tunnels have their next hop, and rib_manager
// uses no other tunnel.
int rib_manager_tunnels_changed(void);
// The carrier of the port's interfaces (table/iface.h) changed: groups drop or add their legs.
int rib_manager_iface_link(uint16_t iface); // the same of one interface
int rib_manager_port_link(uint16_t port);

// Import rule for routes of the virtual router `source`: prefixes below `prefix`, `ge` to `le` bits
// long, go into the importer's FIB. They follow the source's FIB; routes that the source itself
// imports are not passed on.
struct rib_import_rule {
    char source[16];
    struct prefix prefix;
    uint8_t ge, le;
};
int rib_manager_import(const char *vr, const struct rib_import_rule *r, bool on);

// A multicast route from the configuration; interfaces by name, since they come and go.
struct multicast_output {
    char iface[16];
    uint8_t ttl; // threshold
};
struct multicast_static {
    struct multicast_key key;
    char in[16];
    uint16_t n_out;
    struct multicast_output out[MULTICAST_OUT_MAX];
};
// Adds or replaces it; 0 or -errno.
int rib_manager_multicast_set(const char *vr, const struct multicast_static *s);
int rib_manager_multicast_del(const char *vr, const struct multicast_key *k);

// Starts or stops counting the packets of a prefix (table/nexthop_count.h). 0; -ENOENT: no such
// virtual router or prefix; -EEXIST; -ENOSPC: PREFIX_COUNT_MAX - 1 are counted.
int rib_manager_counted_add(const char *vr, const struct prefix *p);
int rib_manager_counted_del(const char *vr, const struct prefix *p);

// --- queries from control: rows arrive in chunks as calls on the control loop ---
enum rib_route_type {
    RIB_UNICAST,
    RIB_LOCAL,
    RIB_BROADCAST,
    RIB_CONNECTED,
    RIB_BLACKHOLE,
    RIB_UNREACHABLE,
    RIB_PROHIBIT,
    RIB_MULTICAST,
    RIB_THROW,
    RIB_ROUTE_TYPES
};

static inline const char *rib_route_type_name(enum rib_route_type type)
{
    static const char *const name[RIB_ROUTE_TYPES] = {
        [RIB_UNICAST] = "unicast",     [RIB_LOCAL] = "local",
        [RIB_BROADCAST] = "broadcast", [RIB_CONNECTED] = "connected",
        [RIB_BLACKHOLE] = "blackhole", [RIB_UNREACHABLE] = "unreachable",
        [RIB_PROHIBIT] = "prohibit",   [RIB_MULTICAST] = "multicast",
        [RIB_THROW] = "throw"};

    return type < RIB_ROUTE_TYPES ? name[type] : "unicast";
}

struct rib_hop {
    char iface[16]; // the link in Linux, ours or not; "" = unknown
    struct ip_addr gateway; // family 0 = on link
    struct label_stack labels;
    uint16_t weight;
    bool has_mac;   // a label's next hop by MAC, without gateway
    uint8_t mac[6];
    bool resolved, alive;
    bool foreign; // a unicast route by a link that is not one of our interfaces
};

struct rib_row {
    struct prefix prefix;
    uint8_t type; // enum rib_route_type
    uint8_t protocol; // rtm_protocol: 186 BGP, 188 OSPF, 189 RIP, 4 static, 2 kernel…
    uint32_t metric;
    uint16_t mtu; // of the route, 0 = none
    bool active; // in the FIB
    bool waits;  // would be, but exceeds the virtual router's budget
    const char *waits_for; // name of that budget (vr_budget.def)
    uint32_t nexthop; // id in the FIB, 0 = none
    const char *nexthop_kind; // nexthop_kind_name()
    bool imported;      // of another virtual router (rib_manager_import)
    uint16_t source_vr; // that virtual router
    uint16_t n_hops;  // hops shown, at most RIB_ROW_HOPS
#define RIB_ROW_HOPS 16
    struct rib_hop hop[RIB_ROW_HOPS];
};

struct rib_query {
    uint16_t vr;
    uint8_t family;
    enum {
        RIB_ALL,
        RIB_EXACT,
        RIB_LONGEST_MATCH, // prefix = host
        RIB_LONGER,        // at or below prefix
        RIB_FROM           // prefix and all that follow
    } match;
    struct prefix prefix;
    int protocol; // -1 = any
    int type;     // -1 = any
    bool all_waiting; // RIB_LONGEST_MATCH: also a waiting match, followed by the active one
};

struct rib_walk; // an open query
// `rows` is called on the control loop with 1..256 rows; it returns true to get more at once, or
// false to pause until rib_walk_more(). `done(ctx, 0 or -errno)` ends it. Concurrent changes may or
// may not be seen, but cause no crash and no duplicate.
struct rib_walk *rib_walk_open(const struct rib_query *q,
                               bool (*rows)(void *ctx, const struct rib_row *row, unsigned n),
                               void (*done)(void *ctx, int result), void *ctx);
void rib_walk_more(struct rib_walk *w);
void rib_walk_close(struct rib_walk *w); // before done(): cancels; no more calls follow

// Length of the prefix that routes an address.
struct rib_length {
    uint16_t vr;
    struct ip_addr addr; // family 0: no query
    uint8_t len; // of the longest matching prefix whose active route is the kernel's; 0 = none
};
// Answers all of `ask` in one call on the control loop; the callee owns `ask` until then. 0 or
// -errno.
int rib_manager_lengths(struct rib_length *ask, unsigned n, void (*done)(void *ctx), void *ctx);

struct neigh_row {
    uint16_t vr;
    uint16_t iface_id; // 0: the link is not one of our interfaces
    struct ip_addr addr;
    char iface[16];
    uint8_t mac[6];
    const char *state; // "reachable", "stale", "incomplete", "failed" …
    uint32_t nexthop;  // id of its adjacency
    uint32_t held;     // packets waiting
    bool gateway;      // used by a route: kept resolved
    bool in_use;       // traffic lately
};
// All neighbors. Here and below, one answer on the control loop has all rows; they belong to
// rib_manager again when `done` returns.
int rib_manager_neigh(void (*done)(void *ctx, const struct neigh_row *row, unsigned n), void *ctx);

// Asks the kernel to delete the neighbors of a vr (-1: of all), of the interface ("": of any), with
// the address (family IP_NONE: all), except permanent ones. `done` runs on the control loop with
// the number deleted and the last -errno. 0 or -errno.
int rib_manager_neigh_clear(int vr, const char *iface, const struct ip_addr *addr,
                            void (*done)(void *ctx, unsigned n, int error), void *ctx);

struct address_row { // address of one of our interfaces
    uint16_t vr, iface; // its id
    struct ip_addr addr;
    uint8_t len;
    bool secondary, usable; // neither tentative nor failed
};
int rib_manager_addresses(void (*done)(void *ctx, const struct address_row *row, unsigned n),
                          void *ctx);

struct nexthop_leg { // of a group
    uint32_t nexthop; // 0 = it does not leave by one of our interfaces
    char iface[16];
    struct ip_addr gateway; // family 0 = on link
    struct label_stack labels;
    uint16_t weight;
    bool alive;
    uint32_t buckets;
};

struct nexthop_row {
    uint32_t id;
    uint8_t kind; // enum nexthop_kind
    bool in_use;
    int vr;         // -1 = of all
    char iface[16]; // "" = none
    struct ip_addr gateway;
    uint8_t mac[6]; // of an adjacency
    struct label_stack labels; // of an ENCAP
    uint16_t mtu;
    uint32_t holders;   // prefixes, groups, neighbors that use it
    uint64_t packets;   // sent to it by groups
    uint64_t sent_packets, sent_bytes; // while next hops are counted
    uint32_t kernel_id; // of a group made from a next-hop object
    uint32_t buckets, first_leg, n_legs; // of a group
};
// All next hops in order of id.
int rib_manager_nexthops(void (*done)(void *ctx, const struct nexthop_row *row, unsigned n,
                                      const struct nexthop_leg *leg),
                         void *ctx);

struct label_row { // route of an MPLS label
    uint16_t vr;
    uint32_t label;
    uint8_t protocol;
    bool active; // forwarders know it
    uint32_t nexthop; // id in their table, 0 = none
    const char *kind; // nexthop_kind_name()
    uint32_t first_hop, n_hops;
};
// Labels of a virtual router (-1: of all) in order; label 0: all.
int rib_manager_labels(int vr, uint32_t label,
                       void (*done)(void *ctx, const struct label_row *row, unsigned n,
                                    const struct rib_hop *hop),
                       void *ctx);

struct counted_row {
    uint16_t vr;
    struct prefix prefix;
    bool active; // packets are counted: the prefix has a route, not to ourselves
    uint32_t nexthop;       // id in the FIB, 0 = none
    uint64_t packets, bytes; // IP packets with this longest match
};
// All counted prefixes in order.
int rib_manager_counted(void (*done)(void *ctx, const struct counted_row *row, unsigned n),
                        void *ctx);

struct multicast_row {
    uint16_t vr;
    uint8_t family;
    struct ip_addr source, group; // source.family 0: any
    bool is_static; // configured, not the kernel's
    bool by_kernel; // some output is not ours: the kernel forwards
    char in[16];    // Linux names of links; "" = none
    uint16_t n_out;
    struct multicast_output out[MULTICAST_OUT_MAX];
    uint64_t packets, bytes, wrong; // wrong: arrived on another interface
};
struct multicast_join_row { // a group joined by the host, with traffic from beyond the link
    uint16_t vr;
    char iface[16];
    struct ip_addr group;
};
// Of all virtual routers.
int rib_manager_multicast(void (*done)(void *ctx, const struct multicast_row *row, unsigned n,
                                       const struct multicast_join_row *join, unsigned n_join),
                          void *ctx);

// Rules and routes that Linux follows and forwarding does not (unfollowed.def).
enum rib_unfollowed_kind {
#define UNFOLLOWED(name, word, counts, sentence) UNFOLLOWED_##name,
#include "rib/unfollowed.def"
#undef UNFOLLOWED
    UNFOLLOWED_KIND_N
};
#define RIB_UNFOLLOWED_TEXT 128
struct rib_unfollowed {
    uint64_t n; // items of the kinds that count
    struct rib_unfollowed_of {
        uint64_t n;
        char example[RIB_UNFOLLOWED_TEXT];
    } of[UNFOLLOWED_KIND_N];
};

struct rib_stats {
    struct rib_family_stats {
        uint64_t routes; // in the kernel: all candidates
        uint64_t by_protocol[256];
        uint64_t fib_routes, updates; // prefixes in the FIB; their changes
        struct fib_stats fib;
    } family[2];                      // IPv4, IPv6
    uint64_t messages, batches;       // netlink messages; drained batches
    uint64_t overruns, resyncs;       // ENOBUFS; dumps after it, or for verification
    uint64_t swept;                   // entries removed by dumps
    uint64_t diverged;                // prefixes found different by dumps and explained by no
                                      // event: silent changes that we had not derived
    uint64_t ignored_rules;           // policy rules seen and ignored
    uint64_t unfollowed;              // rules and routes that Linux follows and we do not
    uint32_t netlink_port;            // of our event socket
    uint64_t nexthops, neighbors, held;
    uint64_t labels, label_updates;   // in the forwarders' table; their changes
    bool synced;                      // the first dump is complete
    uint64_t rib_bytes;
    struct rib_budget_stats {   // charged to the virtual router's budget
        uint64_t routes[2], waiting[2]; // IPv4, IPv6; prefixes beyond the budget
        uint64_t nexthops, neighbors, refused_neighbors, labels, refused_labels, memory;
    } budget;
};
int rib_manager_stats(uint16_t vr, void (*done)(void *ctx, const struct rib_stats *s), void *ctx);

// Audit: compares kernel, RIB, FIB and the forwarders' lookup, and repairs them (audit.h).
#define RIB_FINDINGS 16
struct rib_audit_report {
    int result;                // 0 or -errno
    uint64_t checked;          // rows of the kernel's dump
    uint64_t prefixes;         // of the FIB, added up
    uint64_t lookups;
    uint64_t blocks;           // compared prefix by prefix because their sums differed
    uint64_t diverged;         // differences, each repaired
    uint64_t took_ns, longest_ns; // longest time in which rib_manager did nothing else
    uint64_t ended_ns;         // CLOCK_MONOTONIC; 0 = no audit yet
    uint64_t runs, total;      // audits so far; differences in all of them
    unsigned n_findings;       // the first ones
    struct rib_finding {
        struct prefix prefix;
        const char *what;
    } finding[RIB_FINDINGS];
    struct rib_unfollowed unfollowed; // now
};
// Runs the next audit of a router at once and at full speed.
int rib_manager_audit(uint16_t vr, void (*done)(void *ctx, const struct rib_audit_report *r),
                      void *ctx);
// Report of the last audit, by any trigger.
int rib_manager_audit_report(uint16_t vr, void (*done)(void *ctx, const struct rib_audit_report *r),
                             void *ctx);
// Time between periodic audits of each router; 0 = none.
void rib_manager_set_audit_interval(uint32_t seconds);
int rib_manager_set_journal(uint32_t mib); // 0 or -ENOMEM
extern struct rib_audit_totals { // of all routers; any thread, relaxed
    uint64_t runs, fib_divergence, last_ns; // CLOCK_MONOTONIC
} rib_audit_totals;

// neigh_feed.c: ring that tells control of resolved, failed and removed neighbors. rib_manager
// writes, control reads, neither waits. When the ring is full, entries are dropped and counted.
// Nothing is written unless control wants it.
#define NEIGH_FEED_ROOM 1024 // rows; a power of two

enum neigh_change { NEIGH_RESOLVED = 1, NEIGH_FAILED, NEIGH_GONE };

struct neigh_news {
    uint16_t vr;
    uint8_t change; // enum neigh_change
    uint8_t mac[6]; // if resolved
    char iface[16];
    struct ip_addr addr;
};

// --- writer: rib_manager ---
struct neigh;
void neigh_feed_look(struct neigh *n); // its state may have changed
void neigh_feed_gone(struct neigh *n); // its record is about to be freed

// --- reader: control ---
void neigh_feed_want(bool on); // clears the ring
bool neigh_feed_take(struct neigh_news *row);
uint64_t neigh_feed_missed(void); // since the last call

// rib_iface.c: reports to control the operator's iproute2 changes to an interface's TAP.
struct iface_kernel_event {
    uint16_t vr, iface; // iface: id of that link at the time of the report, 0 = none
    int ifindex;
    bool gone;
    char master[16];    // bridge, bond, VRF … that contains it, "" = none
    uint32_t vrf_table; // table of that VRF; 0: not a VRF
    bool has_vrf;       // some VRF device has the table of the virtual router
    unsigned n_macs; // macvlans on it that are up and have addresses; if more than IFACE_MACS,
                     // mac[] has the first
    uint64_t mac[IFACE_MACS]; // their MACs in the format of iface_mac_word()
    char vlan_device[16]; // Linux VLAN device on top of it, "" = none
    uint16_t vlan;        // of vlan_device
    bool settings;  // check its sysctls (ifindex <= 0: "all"); the other fields are unset
    char upper[16]; // with `settings`: name of the device on top of it to check instead
};

// Control, before its loop runs: `fn` is called on that loop. Without it there are no reports.
void rib_iface_set_event(void (*fn)(const struct iface_kernel_event *e));

struct iface_tunnel_event { // a tunnel made with `ip link add` came or changed
    uint16_t vr;            // router with the namespace's main table
    bool gone;
    struct netlink_link link;
    char master[16]; // bridge, bond, VRF … that contains it, "" = none
    char dev[16];    // device for outer packets, "" = any, or not known
};

void rib_iface_set_tunnel_event(void (*fn)(const struct iface_tunnel_event *e)); // likewise

// rib_tunnel.c: the path to the remote end of each tunnel.

// Control, before its loop runs: `fn` is called on that loop when the state or the path MTU of the
// tunnel with that number changed (table/tunnel.h).
void rib_tunnel_set_event(void (*fn)(uint16_t number));
// Any manager: an ICMP error reported that an outer packet of the tunnel with these ends was too
// big for a link on the path; key known or not (RFC 1191, RFC 8201). Accepted for TUNNEL_TOLD_NS if
// such a tunnel exists, and not below the MTU that every link supports.
#define TUNNEL_TOLD_NS 600000000000ull // RFC 1191 6.3, RFC 8201 4: ten minutes
void rib_tunnel_too_big(const struct tunnel_key *k, bool has_key, uint16_t mtu);
// --- rib_manager ---
void rib_tunnel_tick(uint64_t now_ns); // a few times a second: refreshes, forgets outdated reports
void rib_tunnel_note(uint16_t vr, const struct prefix *p); // prefix changed in a FIB; NULL: all
void rib_tunnel_commit(void);  // FIBs have changed; call before next hops are freed
void rib_tunnel_iface_changed(uint16_t iface); // its MTU changed
void rib_tunnel_changed(void); // tunnels came or went

#endif
