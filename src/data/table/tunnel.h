// SPDX-License-Identifier: BSD-3-Clause
// tunnel.h - tunnels: interfaces whose packets travel inside packets of another network
//
// Port PORT_TUNNEL has no device. Each tunnel is a VLAN of it: frames that leave with that tag get
// the tunnel's outer header and go on as packets of the outer virtual router
// (forwarder/tunnel_out.c); what comes by the tunnel is received by the port with that tag
// (forwarder/tunnel_in.c). So all that works on interfaces works on tunnels.
//
// An entry has the outer header ready made, with the sum of its words, and the next hop of the
// remote address, which rib_manager keeps up to date: no second lookup. What ends here is found by
// the index, a hash of struct tunnel_key; forwarders look there for no packet that is not addressed
// to the router, and for none while there is no tunnel.
//
// Written by control, but for the fields of rib_manager. Always true:
//   T1  a key is in the index once, and leads to an entry that is complete;
//   T2  an entry is used again a grace period after it has left the index and its interface has
//       gone.
#ifndef TABLE_TUNNEL_H
#define TABLE_TUNNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "table/iface.h"
#include "table/limits.h"

#define TUNNEL_HEADER 64 // room for the outer IP header and all that follows it
#define TUNNEL_NESTED_MAX 4 // a tunnel in a tunnel ...
#define TUNNEL_PORT_GRE 4754   // RFC 8086
#define TUNNEL_PORT_VXLAN 4789 // RFC 7348

enum tunnel_kind {
    TUNNEL_NONE,
    TUNNEL_IPIP,    // RFC 2003, 2473, 4213: either family in either
    TUNNEL_GRE,     // RFC 2784, 2890
    TUNNEL_GRE_UDP, // RFC 8086
    TUNNEL_VXLAN,   // RFC 7348
    TUNNEL_KIND_N
};
enum tunnel_dscp { TUNNEL_DSCP_COPY, TUNNEL_DSCP_FIXED, TUNNEL_DSCP_UNIFORM };

// What distinguishes packets that end here. All bytes count, so unused ones are 0.
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
    uint8_t ttl;        // of outer packets; 0: the inner packet's
    uint8_t dscp_mode;  // enum tunnel_dscp
    uint8_t dscp;       // of TUNNEL_DSCP_FIXED
    bool zero_checksum; // UDP over IPv6: sent and accepted without one (RFC 6935)
};

enum tunnel_state { // why it carries nothing
    TUNNEL_UP,
    TUNNEL_NO_ROUTE,  // to the remote address
    TUNNEL_RECURSION, // that route leads into the tunnel itself, or too deep into others
};

struct tunnel {
    uint8_t header[TUNNEL_HEADER]; // the outer header is its end: lengths, DSCP, entropy are 0
    uint32_t nexthop;              // writer: rib_manager; where outer packets go, 0 = nowhere
    uint32_t sum;                  // of the outer IPv4 header's words
    uint16_t iface, vr;            // the tunnel's interface; of the outer packets
    uint8_t size;                  // of the outer header
    uint8_t kind, family;          // 0, TUNNEL_NONE: free
    bool keyed, zero_checksum;
    uint8_t ttl, dscp_mode, dscp;
    uint8_t state;                 // writer: rib_manager; enum tunnel_state
    uint16_t path_mtu;             // writer: rib_manager; of the way to the remote, 0 = unknown
    uint8_t mac[6];                // of the interface, for frames that have none
    struct tunnel_key id;
} __attribute__((aligned(64)));

extern struct tunnel *tunnel_table;         // [TUNNEL_MAX + 1], by VLAN; NULL before the first one
extern const struct tunnel_index *tunnel_index; // rcu_load; NULL: there is none

// Bytes that it puts in front of an inner IP packet: the outer header, VXLAN's inner Ethernet.
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

static inline struct tunnel *tunnel_get(uint16_t vlan)
{
    return &tunnel_table[vlan];
}

// An interface without neighbors: all that leaves by it goes to the tunnel's other end.
static inline bool tunnel_is_point_to_point(const struct iface *i)
{
    return i->kind == IFACE_TUNNEL && !tunnel_is_ethernet(tunnel_get(i->vlan)->id.kind);
}

// --- reader: forwarder ---
// The tunnel of a packet that ends here, by its VLAN; 0 = none.
uint16_t tunnel_find(const struct tunnel_index *x, const struct tunnel_key *k);
// Does any tunnel of that kind end at k->local?
bool tunnel_ends(const struct tunnel_index *x, const struct tunnel_key *k);

// --- control ---
// A free VLAN whose entry is complete but for its interface; 0: too many, or the key is in use
// (*taken is whose).
uint16_t tunnel_new(const struct tunnel_settings *s, uint16_t *taken);
// Its interface is ready: packets find it.
int tunnel_publish(uint16_t vlan, uint16_t iface, const uint8_t mac[6]);
void tunnel_hide(uint16_t vlan); // packets no longer find it
void tunnel_free(uint16_t vlan); // after tunnel_hide, and when its interface is gone
void tunnel_table_fini(void);

// --- writer: rib_manager ---
void tunnel_set_path(struct tunnel *t, uint32_t nexthop, uint8_t state, uint16_t mtu);

#endif
