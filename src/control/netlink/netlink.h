// SPDX-License-Identifier: BSD-3-Clause
// netlink.h - rtnetlink as typed events, and the sockets they come from
//
// netlink_parse() converts one kernel message into a struct netlink_event and checks its lengths;
// no other code reads attributes. The other half opens sockets inside a namespace, requests dumps
// and reads batches.
//
// Dumps are requested on the event socket. Rows and events then share one queue in the order in
// which the kernel created them, so no row can undo a newer event (but see rib_sync.c). One thread
// owns each socket.
#ifndef NETLINK_NETLINK_H
#define NETLINK_NETLINK_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/label_stack.h"

#define NETLINK_HOPS 256         // legs of a multipath route or members of a group; others are
                                 // ignored
#define NETLINK_BATCH 128        // datagrams that netlink_receive reads at most
#define NETLINK_RECEIVE_DEFAULT (256u << 20) // bytes; one queued event costs the kernel about 760

enum netlink_event_kind {
    NETLINK_EVENT_LINK,
    NETLINK_EVENT_ADDR,
    NETLINK_EVENT_NEIGH,
    NETLINK_EVENT_ROUTE,
    NETLINK_EVENT_NEXTHOP,
    NETLINK_EVENT_RULE,
    NETLINK_EVENT_NETCONF,
    NETLINK_EVENT_MROUTE,
    NETLINK_EVENT_GROUP,
    NETLINK_EVENT_LABEL, // a route of an MPLS label
};

enum netlink_link_kind {
    NETLINK_LINK_OTHER,
    NETLINK_LINK_MACVLAN,
    NETLINK_LINK_VLAN,
    NETLINK_LINK_VRF
};

enum netlink_tunnel_kind { // by the format of outer packets
    NETLINK_TUNNEL_NONE,
    NETLINK_TUNNEL_IP,        // ipip, sit, ip6tnl
    NETLINK_TUNNEL_GRE,       // gre, ip6gre
    NETLINK_TUNNEL_GRE_OTHER, // gretap, erspan: GRE that carries no IP
    NETLINK_TUNNEL_VXLAN,
    NETLINK_TUNNEL_OTHER // only the kind's name is read
};

struct netlink_tunnel { // host byte order, except addresses
    uint8_t kind;       // enum netlink_tunnel_kind
    uint8_t family;     // of the end addresses; IP_NONE: no addresses
    uint8_t ttl, tos, proto;
    bool elsewhere;     // outer packets belong to another namespace
    bool external;      // each packet brings its own end addresses (collect metadata)
    bool zero_sent, zero_taken; // VXLAN over IPv6: UDP without checksum, sent and accepted
    bool special;       // VXLAN header with more than a VNI; or GRE ignores DF
    bool ttl_inherited; // VXLAN only; other kinds express it by TTL 0
    int dev;            // ifindex of the output device of outer packets, 0 = any
    uint16_t port;      // UDP port
    uint16_t encap;     // extra header: FOU, GUE
    uint16_t iflags, oflags; // GRE_*
    uint32_t ikey, okey, flags, flowinfo, mark;
    uint8_t local[16], remote[16];
    char word[12]; // "gre", the name in iproute2
};

struct netlink_link {
    int ifindex;
    int lower;  // device below it in this namespace, 0 = none
    int master; // bridge, bond, VRF …, 0 = none
    uint32_t mtu;
    uint32_t vrf_table; // of a VRF
    uint16_t vlan;      // of a VLAN device
    bool up, carrier;
    uint8_t kind; // enum netlink_link_kind
    uint8_t mac[6]; // zeros: no Ethernet MAC
    char name[16];     // "#" and the ifindex if Linux's name is not valid for an interface of ours
    char odd_name[16]; // Linux's name in that case, any bytes; else ""
    struct netlink_tunnel tunnel;
};

struct netlink_addr {
    int ifindex;
    struct ip_addr addr; // local address
    uint8_t len, scope;
    bool secondary, usable; // usable: neither tentative nor failed
    bool automatic;  // link-local address that the kernel generated (Linux 5.18 and later)
    bool deprecated; // other addresses are preferred as source
};

struct netlink_neigh {
    int ifindex;
    struct ip_addr addr;
    uint16_t state; // NUD_*
    uint8_t flags;  // NTF_*
    bool has_mac;
    uint8_t mac[6];
};

struct netlink_hop {
    struct ip_addr gateway; // family IP_NONE: on link
    int ifindex;
    uint16_t weight; // >= 1
    bool onlink;
    bool dead; // RTNH_F_DEAD; a state, not part of the hop's identity
    struct label_stack labels;
};

#define NETLINK_ENCAP_OTHER 255 // encapsulation without a type: RTA_NEWDST in a route of IP
#define NETLINK_VIA_MAC 17 // gateway.family of a label's next hop: gateway.b begins with a MAC

struct netlink_route {
    struct prefix prefix; // NETLINK_EVENT_LABEL: prefix_of_label()
    uint8_t type, protocol, scope, tos; // rtm_*
    // Required encapsulation besides hop[].labels: LWTUNNEL_ENCAP_* or NETLINK_ENCAP_OTHER, 0 =
    // none. LWTUNNEL_ENCAP_MPLS: more labels than LABEL_STACK_MAX.
    uint8_t encap;
    bool cloned, from;                  // cache entry; has a source prefix
    struct prefix source;
    uint32_t table, metric, nhid;
    struct ip_addr prefsrc;
    uint32_t metrics_hash; // hash of RTA_METRICS; keeps routes apart that differ only there
    uint16_t mtu;          // from RTA_METRICS, bytes of layer 3, 0 = none
    bool multipath;        // arrived as RTA_MULTIPATH
    uint16_t n_hops;
    struct netlink_hop hop[NETLINK_HOPS];
};

struct netlink_nexthop {
    uint32_t id;
    bool blackhole, fdb, group;
    uint8_t encap; // as in a route
    struct netlink_hop hop; // if it is a single next hop
    uint16_t n_members;     // if it is a group
    struct {
        uint32_t id;
        uint16_t weight;
    } member[NETLINK_HOPS];
};

struct netlink_rule {
    uint8_t family;
    uint32_t priority, table;
    uint32_t selectors; // hash of all selectors
    bool plain; // no selector: matches every packet
};

struct netlink_netconf {
    uint8_t family; // enum ip_family; IP_LABEL: MPLS
    int ifindex;            // NETCONFA_IFINDEX_ALL, _DEFAULT or a link
    bool has_ignore_linkdown, ignore_linkdown;
    bool has_multicast, multicast; // a multicast routing daemon works on the link
    bool has_labels, labels; // MPLS: the link accepts packets with labels
    bool suspect; // forwarding is off or a reverse-path filter on: not set up as a router interface
    bool forwards; // forwarding is on
};

#define NETLINK_OUTS 32 // output interfaces that the kernel supports in a multicast route

struct netlink_mroute {
    uint8_t family; // enum ip_family
    uint32_t table;
    bool resolved;                 // else packets wait in the kernel for the daemon
    uint8_t source[16], group[16]; // zeros: any
    int in;                        // ifindex, 0 = none
    uint8_t n_out;
    struct {
        int ifindex;
        uint8_t ttl; // packets with a larger TTL pass
    } out[NETLINK_OUTS];
};

struct netlink_group { // multicast group that the host joined on a link
    int ifindex;
    struct ip_addr addr;
};

struct netlink_event {
    uint8_t kind; // enum netlink_event_kind
    bool del;
    bool replace, append, create, excl; // NLM_F_*: how the route entered the kernel's list
    union {
        struct netlink_link link;
        struct netlink_addr addr;
        struct netlink_neigh neigh;
        struct netlink_route route;
        struct netlink_nexthop nexthop;
        struct netlink_rule rule;
        struct netlink_netconf netconf;
        struct netlink_mroute mroute;
        struct netlink_group group;
    };
};

// Headers of kernels before 6.14, which announce no joins, lack these.
#define RTM_NEWMULTICAST 56
#define RTM_DELMULTICAST 57
#define RTNLGRP_IPV4_MCADDR 37
#define RTNLGRP_IPV6_MCADDR 38

// Returns 1: `e` is filled in; 0: the message does not concern a router; -EBADMSG: malformed. The
// whole message [h, h + nlmsg_len) must be readable and aligned to 4 bytes.
int netlink_parse(const struct nlmsghdr *h, struct netlink_event *e);
int netlink_parse_mroute(const struct nlmsghdr *h, struct netlink_mroute *r); // netlink_multicast.c
int netlink_parse_group(const struct nlmsghdr *h, struct netlink_group *g);
// netlink_tunnel.c: parse the kind in IFLA_INFO_KIND, then the IFLA_INFO_DATA of a tunnel.
void netlink_tunnel_word(const struct nlattr *kind, struct netlink_tunnel *t);
void netlink_tunnel_data(const struct nlattr *data, struct netlink_tunnel *t, bool *damaged);

// --- sockets ---

struct netlink {
    unsigned batch; // datagrams to read at once in a dump; 0 = NETLINK_BATCH
    int fd; // -1 = closed
    uint32_t portid, seq; // seq: of the last dump
    uint64_t datagrams; // number read so far
    struct netlink_ahead *ahead; // reads the next batch of a large dump; NULL: inactive
    uint64_t ahead_batches;      // number of batches that it read
};

// Opens a socket in namespace netns_fd (-1 = our own); with `events`, joins every group that a
// router needs. Returns 0 or -errno.
int netlink_open(struct netlink *n, int netns_fd, size_t receive_bytes, bool events);
void netlink_close(struct netlink *n);
int netlink_set_receive_buffer(struct netlink *n, size_t bytes); // 0 or -errno
// Limits route events to this table and the local table from now on. Returns 0 or -errno.
int netlink_filter_table(struct netlink *n, uint32_t table);
bool netlink_has_more(const struct netlink *n); // data is available or being read ahead
// True if the next netlink_receive() would wait while the kernel builds rows.
bool netlink_would_wait(const struct netlink *n);

// Requests a dump of `type` (RTM_GET*) in one family or AF_UNSPEC. Returns 0 or -errno.
int netlink_dump(struct netlink *n, uint16_t type, int family);
// Requests a dump of one routing table. If it does not exist, the kernel answers ENOENT.
int netlink_dump_table(struct netlink *n, int family, uint32_t table);

// Reads at most NETLINK_BATCH datagrams and calls fn for each whole message. Returns their number,
// 0 if the socket is empty, -ENOBUFS if the kernel dropped events (or a datagram was cut), or
// another -errno.
int netlink_receive(struct netlink *n, void (*fn)(void *ctx, const struct nlmsghdr *h), void *ctx);

enum netlink_neigh_want {
    NETLINK_NEIGH_USE,   // resolve now, once (NTF_USE); also ends NTF_MANAGED
    NETLINK_NEIGH_GROUP, // entry of a multicast group, also when the table is full
                         // (NTF_EXT_LEARNED)
    NETLINK_NEIGH_MANAGED, // keep resolved (NTF_EXT_MANAGED), also when the table is full
                           // (NTF_EXT_LEARNED)
    NETLINK_NEIGH_DELETE,  // netlink_neigh_delete()
};
// The kernel answers only to refuse: NLMSG_ERROR with `want` as sequence number. Returns 0 or
// -errno.
int netlink_neigh_request(struct netlink *n, int ifindex, const struct ip_addr *addr,
                          enum netlink_neigh_want want);
int netlink_neigh_delete(struct netlink *n, int ifindex, const struct ip_addr *addr);

// Iterates over the messages in a buffer of `len` bytes. Returns false if the last message is cut
// or has a wrong length.
bool netlink_walk(const void *buf, size_t len, void (*fn)(void *ctx, const struct nlmsghdr *h),
                  void *ctx);

#endif
