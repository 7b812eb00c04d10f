// SPDX-License-Identifier: BSD-3-Clause
// tunnel.h - tunnels: interfaces whose packets travel inside packets of another network
//
// TUNNEL_PORTS ports from PORT_TUNNEL on have no device. Each tunnel is a VLAN of one of them:
// frames that leave with that tag get the tunnel's outer header and continue as packets of the
// outer virtual router (forwarder/tunnel_out.c); packets that come by the tunnel are received by
// the port with that tag (forwarder/tunnel_in.c). So all features of interfaces work on tunnels. A
// tunnel's number combines its port and its VLAN.
//
// An entry has the prepared outer header, with the sum of its words, and the next hop of the remote
// address, which rib_manager keeps current: no second lookup. The index, a hash of struct
// tunnel_key, finds packets that end here; forwarders use it only for packets addressed to the
// router, and only if there is a tunnel.
//
// Written by control, except for rib_manager's fields. Invariants:
//   T1  a key is in the index once; an entry with a kind is complete;
//   T2  an entry is reused a grace period after it has lost its kind and its interface.
#ifndef TABLE_TUNNEL_H
#define TABLE_TUNNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "table/iface.h"
#include "table/limits.h"

#define TUNNEL_VLAN_BITS 12
#define TUNNEL_NUMBERS (TUNNEL_PORTS << TUNNEL_VLAN_BITS) // VLANs 0 and 4095 are not tunnels
#define TUNNEL_HEADER 56 // room for the outer IP header and everything after it
#define TUNNEL_PATH_ANY UINT16_MAX // path MTU unknown
#define TUNNEL_NESTED_MAX 4 // depth of tunnels inside tunnels
#define TUNNEL_PORT_GRE 4754   // RFC 8086
#define TUNNEL_PORT_VXLAN 4789 // RFC 7348

enum tunnel_kind {
    TUNNEL_NONE,
    TUNNEL_IPIP,    // RFC 2003, 2473, 4213: any family in any family
    TUNNEL_GRE,     // RFC 2784, 2890
    TUNNEL_GRE_UDP, // RFC 8086
    TUNNEL_VXLAN,   // RFC 7348
    TUNNEL_KIND_N
};
enum tunnel_dscp { TUNNEL_DSCP_COPY, TUNNEL_DSCP_FIXED, TUNNEL_DSCP_UNIFORM };

// Identifies packets that end here. All bytes count, so unused ones are 0.
struct tunnel_key {
    uint8_t local[16], remote[16];
    uint32_t key; // GRE's key, VNI
    uint16_t vr;  // of the outer packets
    uint8_t family, kind;
};
_Static_assert(sizeof(struct tunnel_key) == 40, "no hole");

struct tunnel_settings {
    struct tunnel_key id;
    bool keyed;         // GRE: has a key
    uint8_t ttl;        // of outer packets; 0: copies the inner packet's
    uint8_t dscp_mode;  // enum tunnel_dscp
    uint8_t dscp;       // for TUNNEL_DSCP_FIXED
    bool zero_checksum; // UDP over IPv6: sends and accepts zero checksums (RFC 6935)
    bool by_linux;      // its device is a Linux tunnel, not a TAP
    uint8_t only;       // carries only this family, enum ip_family; IP_NONE: both
};

enum tunnel_state { // reason why it carries nothing
    TUNNEL_UP,
    TUNNEL_NO_ROUTE,  // no route to the remote address
    TUNNEL_RECURSION, // that route leads into the tunnel itself, or is nested too deeply
};

struct tunnel { // two cache lines: the first for encapsulation, the second for decapsulation
    uint32_t nexthop;              // writer: rib_manager; next hop of outer packets, 0 = none
    uint32_t sum;                  // of the outer IPv4 header's words
    uint8_t header[TUNNEL_HEADER]; // ends with the outer header: lengths, DSCP, entropy are 0
    struct tunnel_key id;
    uint16_t iface;      // the tunnel's interface
    uint16_t path_mtu;   // writer: rib_manager; path MTU to the remote, or TUNNEL_PATH_ANY
    uint16_t out;        // writer: rib_manager; an output interface of the path, 0 = none
    uint16_t refuses_be; // EtherType that is refused, 0 = none
    uint8_t mac[6];      // of the interface, for frames without one
    uint8_t kind;        // id.kind; TUNNEL_NONE: free, or hidden
    uint8_t size;        // of the outer header
    uint8_t ttl, dscp;
    uint8_t state;         // writer: rib_manager; enum tunnel_state
    uint8_t dscp_mode : 2; // enum tunnel_dscp
    bool keyed : 1, zero_checksum : 1;
    bool by_linux : 1; // other packets for its end go to the kernel
    uint32_t made;     // serial number among all tunnels ever made
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct tunnel) == 128, "thousands of them");

extern struct tunnel *tunnel_table; // [TUNNEL_NUMBERS], by number; NULL before the first one
extern uint16_t tunnel_end;         // greater than all numbers in use
extern const struct tunnel_index *tunnel_index; // rcu_load; NULL: there is none
extern uint32_t tunnel_n_hidden; // starts at 1; data that forwarders cache about tunnels is valid
                                 // until it changes

// Bytes added in front of an inner IP packet: the outer header, and VXLAN's inner Ethernet header.
unsigned tunnel_overhead(uint8_t kind, uint8_t family, bool keyed);
const char *tunnel_kind_name(uint8_t kind);

static inline bool tunnel_is_ethernet(uint8_t kind) // else it carries IP
{
    return kind == TUNNEL_VXLAN;
}

static inline bool tunnel_is_udp(uint8_t kind)
{
    return kind == TUNNEL_GRE_UDP || kind == TUNNEL_VXLAN;
}

static inline struct tunnel *tunnel_get(uint16_t number)
{
    return &tunnel_table[number];
}

static inline uint16_t tunnel_number(uint16_t port, uint16_t vlan)
{
    return (uint16_t)((port - PORT_TUNNEL) << TUNNEL_VLAN_BITS | vlan);
}

static inline uint16_t tunnel_port(uint16_t number)
{
    return (uint16_t)(PORT_TUNNEL + (number >> TUNNEL_VLAN_BITS));
}

static inline uint16_t tunnel_vlan(uint16_t number)
{
    return number & ((1u << TUNNEL_VLAN_BITS) - 1);
}

// For an interface of kind IFACE_TUNNEL.
static inline uint16_t tunnel_of_iface(const struct iface *i)
{
    return tunnel_number(i->port, i->vlan);
}

static inline bool tunnel_is_port(uint16_t port)
{
    return port >= PORT_TUNNEL && port < PORT_TUNNEL + TUNNEL_PORTS;
}

// Its device is a tunnel made with `ip link add`.
static inline bool tunnel_is_by_linux(const struct iface *i)
{
    return i->kind == IFACE_TUNNEL && tunnel_get(tunnel_of_iface(i))->by_linux;
}

// An interface without neighbors: all its packets go to the other end of the tunnel.
static inline bool tunnel_is_point_to_point(const struct iface *i)
{
    return i->kind == IFACE_TUNNEL && !tunnel_is_ethernet(tunnel_get(tunnel_of_iface(i))->id.kind);
}

// The largest packet of a family that an interface takes. A tunnel takes at least IPv6's minimum
// MTU: its outer packets may be fragmented (RFC 4213 3.2.2, RFC 2473 7.1).
static inline uint16_t tunnel_iface_mtu(const struct iface *i, uint8_t family)
{
    return family == IP6 && i->kind == IFACE_TUNNEL && i->mtu < IP6_MTU_MIN ? IP6_MTU_MIN : i->mtu;
}

// --- reader: forwarder ---
// The number of the tunnel whose packet ends here; 0 = none.
uint16_t tunnel_find(const struct tunnel_index *x, const struct tunnel_key *k);
// Does any tunnel of that kind, not made by Linux, end at k->local?
bool tunnel_ends(const struct tunnel_index *x, const struct tunnel_key *k);

// --- control ---
// Returns a free number whose entry is complete except for its interface; 0: too many, or the key
// is in use (*taken is its tunnel).
uint16_t tunnel_new(const struct tunnel_settings *s, uint16_t *taken);
// Its interface is ready: packets find it after the next tunnel_index_update.
void tunnel_publish(uint16_t number, uint16_t iface, const uint8_t mac[6]);
// Packets no longer find it. Until the next update, other packets of its end may go to the kernel.
void tunnel_hide(uint16_t number);
void tunnel_free(uint16_t number); // after tunnel_hide, when its interface is gone
// After all changes of a commit; returns true if there were any.
bool tunnel_index_update(void);
void tunnel_table_fini(void);

// --- writer: rib_manager ---
void tunnel_set_path(struct tunnel *t, uint32_t nexthop, uint8_t state, uint16_t mtu);
void tunnel_set_out(struct tunnel *t, uint16_t iface); // an output interface of that path, 0 = none

#endif
